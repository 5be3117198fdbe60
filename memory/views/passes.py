"""The pages of one pass (progress, outcome, its text compared with the one before) and of one night."""

from datetime import date, datetime
from typing import TYPE_CHECKING, Any

from django.contrib import messages
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from memory import commitments, passes, tasks
from memory.adapter.passes import RetiredCounts
from memory.api.commitments import FIRING
from memory.api.passes import night_document
from memory.forms import AuditedForm
from memory.host import access, exports, ids, pages, tenancy
from memory.host.errors import Invalid
from memory.host.json_types import JSONObject
from memory.host.paging import Page
from memory.host.tenancy import TenantScope
from memory.memory_policy import policy_of
from memory.models import Firing, Pass, PassState
from memory.passes import nights, orders, pass_reports
from memory.passes.nights import REMOVALS, SHOWS, Night
from memory.passes.orders import Restored
from memory.passes.pass_reports import Group, Place, Report
from memory.wire import instant

if TYPE_CHECKING:
    from memory.models.entry import Tombstone

SOURCES = 20
COLUMNS = (
    "id", "kind", "memoryRef", "state", "code", "trigger", "dryRun", "in", "out", "unusual", "runId", "requestedBy",
    "createdAt", "finishedAt",
)  # fmt: skip
FIRED_COLUMNS = ("commitmentId", "occasion", "firedAt", "runId", "enqueuedRunId", "code")
REMOVED_COLUMNS = ("id", "reason", "runId", "removedAt")
NAV = {"distill": "archives", passes.SELECTED: "memory"}
FIGURES = {
    "changed": "Entries changed",
    "left": "Left as they were",
    "inputCount": "Entries before",
    "outputCount": "Entries after",
    "restored": "Restored since",
    "merged": "Merged away",
    "superseded": "Superseded",
    "strengthened": "Strengthened",
    "written": "Written anew",
    "tokensBefore": "Tokens before",
    "tokensAfter": "Tokens after",
    "sourceCount": "Sources",
    "eligibleCount": "Eligible entries",
    "corpusCount": "Entries under the ref",
    "byteSize": "Bytes",
    "tokenBudget": "Token budget",
    "targetTokens": "Target tokens",
    "tokensUsed": "Tokens read and written",
    "outputTokens": "Tokens of the archive",
    "indexUpdated": "Index updated",
    "minimumRequired": "Minimum budget",
    "budget": "Budget",
    "eligible": "Eligible entries",
    "archiveChecksum": "SHA-256 of the archive",
    "distiller": "Distiller",
}


@pages.parameters(*pages.LIST)
@require_safe
def one_pass(request: HttpRequest, pass_id: str) -> HttpResponse:
    """The pass; while it is under way its state is asked for again every second."""
    scope, now = tenancy.scope_of(request), timezone.now()
    work = orders.find(scope, ids.parse("pass", pass_id))
    cursor = pages.text_of(request, "after"), pages.number_of(request, "seen") or 0
    found = pass_reports.report(scope, work, after=cursor[0], seen=cursor[1], size=SOURCES, now=now)
    if pages.file_format(request) == "json":
        return exports.document(document(work) | {"groups": [_group(each) for each in found.groups]} | _rest(found))
    context = _context(request, scope, work, found) | {"now": now, "pass_id": pass_id}
    status = pages.poll_status(request, over=work.state in passes.OVER)
    return pages.render(request, "memory/pass.html", context, fragment="memory/pass_state.html", status=status)


def _context(request: HttpRequest, scope: TenantScope, work: Pass, found: Report) -> dict[str, object]:
    over, now = work.state in passes.OVER, timezone.now()
    ended = work.finished_at or now
    taken = orders.retired_counts(scope, [work.id], now=now).get(work.id, orders.NOTHING)
    summary = pass_reports.summary(work, taken)
    reviewed = orders.review_of(work) if over and summary.unusual else None
    return {
        "nav": NAV.get(work.kind, "consolidation"),
        "work": work,
        "is_over": over,
        "can_repeat": bool(over and work.state != PassState.DONE and work.memory_ref),
        "can_run": scope.can("passes:run"),
        "can_retire": scope.can("memory:retire"),
        "seconds": (ended - work.created_at).total_seconds(),
        "figures": [*_figures(_outcome(work, taken)), *_figures(work.outcome.get("details", {}))],
        "taken": taken,
        "refusal": (work.run.error or {}).get("message", "") if work.code else "",
        "problems": work.outcome.get("details", {}).get("errors", []),
        "summary": summary,
        "reviewed": reviewed,
        "report": found,
        "sources_left_out": _is_plan(work) and found.total < work.outcome.get("sourceCount", 0),
        "groups_left_out": max(0, work.outcome.get("groupCount", 0) - len(work.outcome.get("groups", []))),
        "names_ids": pass_reports.names_merged_entries(work) if work.state == PassState.DONE else None,
        "names": access.names_of(work.tenant_id, [work.requested_by, *([reviewed.actor] if reviewed else [])]),
        "older": pages.address(request, after=found.after, seen=found.last) if found.after else "",
        "newest": pages.address(request) if "after" in request.GET else "",
        **pages.files(request, "json"),
        "here": pages.canonical_address(request),
    }


def _is_plan(work: Pass) -> bool:
    """Whether it is a dry run of a distillation, which has named what it would cover."""
    return work.dry_run and work.kind == "distill" and "groups" in work.outcome


def _outcome(work: Pass, taken: RetiredCounts) -> dict[str, object]:
    """What came of it then, and how many entries were restored since; of a dry run, what would have become of the
    index."""
    outcome: JSONObject = work.outcome
    if taken.restored:
        outcome = outcome | {"restored": taken.restored}
    if not work.dry_run or "indexUpdated" not in outcome:
        return outcome
    would = "would be" if work.options.get("indexEmitted", True) else "would not be"
    return {**outcome, "indexUpdated": would}


def _figures(outcome: JSONObject) -> list[tuple[str, object]]:
    return [(label, outcome[name]) for name, label in FIGURES.items() if outcome.get(name) is not None]


def document(work: Pass) -> dict[str, object]:
    """A pass as a row of a file."""
    figures = pass_reports.summary(work)
    return {
        "id": ids.wire("pass", work.id),
        "kind": work.kind,
        "memoryRef": work.memory_ref,
        "state": work.state,
        "code": work.code or None,
        "trigger": work.trigger,
        "dryRun": work.dry_run,
        "in": figures.went_in,
        "out": figures.came_out,
        "unusual": figures.unusual or None,
        "runId": ids.wire("run", work.run_id),
        "requestedBy": work.requested_by,
        "createdAt": instant(work.created_at),
        "finishedAt": instant(work.finished_at),
    }


def _group(group: Group) -> dict[str, object]:
    return {
        "result": _place(group.result) if group.result else None,
        "sources": [{**_place(each.place), "kind": each.kind, "why": each.why} for each in group.sources],
    }


def _place(place: Place) -> dict[str, object]:
    return {"id": place.id, "content": place.entry.content if place.entry else None, "gone": place.gone or None}


def _rest(found: Report) -> dict[str, object]:
    return {"total": found.total, "next": found.after or None}


@pages.parameters("next")
@require_http_methods(["GET", "HEAD", "POST"])
def undo(request: HttpRequest, pass_id: str) -> HttpResponse:
    """Ask why, then restore what the pass took away."""
    scope, now = tenancy.scope_of(request), timezone.now()
    work = orders.find(scope, ids.parse("pass", pass_id))
    scope.check("memory:retire")
    form, conflict, status = AuditedForm(request.POST if request.method == "POST" else None).focus(), None, 200
    place = pages.back(request, reverse("pass", args=[pass_id]))
    if request.method == "POST":
        sent = pages.submit(form, lambda data: orders.restore_pass(scope, work.id, reason=data["reason"], now=now))
        if sent.result:
            messages.success(request, _restored_message(sent.result))
            return redirect(place)
        conflict, status = sent.conflict, sent.status
    taken = orders.retired_counts(scope, [work.id], now=now).get(work.id, orders.NOTHING)
    context = {
        "nav": NAV.get(work.kind, "consolidation"),
        "work": work,
        "pass_id": pass_id,
        "form": form,
        "taken": taken,
        "conflict": conflict,
        "most": orders.MOST,
        "place": place,
    }
    return pages.render(request, "memory/pass_undo.html", context, status=status)


def _restored_message(done: Restored) -> str:
    """What one request has restored, and what it could not."""
    words = [f"{done.entries:,} {'entry' if done.entries == 1 else 'entries'} restored."]
    left = done.taken.restorable
    if left and done.entries == orders.MOST:
        words.append(f"{left:,} more can be restored: send the form again.")
    elif left:
        stay, their = ("stays", "its key") if left == 1 else ("stay", "their keys")
        words.append(f"{left:,} {stay} retired because another entry has {their}.")
    if done.taken.lost:
        words.append(f"{done.taken.lost:,} can't be restored: deleted, or retired again since.")
    return " ".join(words)


@require_POST
def stop(request: HttpRequest, pass_id: str) -> HttpResponse:
    """The pass leaves off at its next step."""
    work = orders.stop(tenancy.scope_of(request), ids.parse("pass", pass_id), now=timezone.now())
    over = work.state in passes.OVER
    messages.success(request, "The pass is cancelled." if over else "The pass stops at its next step.")
    return redirect("pass", pass_id)


@require_POST
def review(request: HttpRequest, pass_id: str) -> HttpResponse:
    """What the pass left is as it should be."""
    orders.review_pass(tenancy.scope_of(request), ids.parse("pass", pass_id), now=timezone.now())
    messages.success(request, "Marked as reviewed. Needs you no longer lists this pass.")
    return redirect("pass", pass_id)


@pages.creates()
@require_POST
@transaction.atomic
def repeat_pass(request: HttpRequest, pass_id: str) -> HttpResponse:
    """Asked for once more, and queued, or neither."""
    fresh = orders.repeat(tenancy.scope_of(request), ids.parse("pass", pass_id), now=timezone.now())
    tasks.enqueue_pass(fresh)
    return redirect("pass", ids.wire("pass", fresh.id))


PREFIXES = {"fired": "fir"} | dict.fromkeys(REMOVALS, "mem")


@pages.parameters("night", "show", *pages.LIST)
@require_safe
def night_report(request: HttpRequest) -> HttpResponseBase:
    """The night that begins on the day ``night``, or the last one; ``show`` says which list stands below."""
    scope, now = tenancy.scope_of(request), timezone.now()
    scope.check("memory:read")
    night = nights.night_of(scope, _day(request), now=now)
    show = pages.word_of(request, "show", SHOWS) or "passes"
    if pages.file_format(request) == "csv":
        rows = map(_night_row, nights.export(scope, night, show))
        columns = FIRED_COLUMNS if show == "fired" else REMOVED_COLUMNS if show in REMOVALS else COLUMNS
        return exports.listing("csv", f"night-{night.day}-{show}", rows, columns=columns)
    figures = nights.figures(scope, night)
    if pages.file_format(request) == "json":
        return exports.document(night_document(night, figures))
    cursor = pages.Cursor.from_request(request, PREFIXES.get(show, "pass"))
    context: JSONObject = {
        "nav": "nights",
        "now": now,
        "night": night,
        "figures": figures,
        "show": show,
        "policy": policy_of(scope.tenant_id),
        "can_retire": scope.can("memory:retire"),
        "url": f"{reverse('nights')}?night={night.day}",
        **pages.files(request),
        "here": pages.canonical_address(request),
    }
    context |= _night_list(scope, night, show, cursor, now)
    return pages.render(request, "memory/nights.html", context, fragment="memory/nights_list.html")


def _night_row(row: "Pass | Firing | Tombstone") -> dict[str, object]:
    """A row of the file of one figure."""
    if isinstance(row, Pass):
        return document(row)
    if isinstance(row, Firing):
        return {"commitmentId": ids.wire("cmt", row.commitment_id), **FIRING.document(row)}
    run = ids.wire("run", row.run_id)
    return {"id": ids.wire("mem", row.id), "reason": row.reason, "runId": run, "removedAt": instant(row.removed_at)}


def _night_list(scope: TenantScope, night: Night, show: str, cursor: pages.Cursor, now: datetime) -> JSONObject:
    """The rows behind the figure ``show``, and the pages around them."""
    after, size = cursor.after, pages.PAGE
    page: Page[Any]
    names: dict[str, str] = {}
    if show == "fired":
        page = nights.page_of_firings(scope, night, after=after, size=size)
        fired = commitments.lifecycle.find_many(scope, {each.commitment_id for each in page.rows}, now=now)
        page = page.with_rows([(each, fired.get(each.commitment_id)) for each in page.rows])
    elif show in REMOVALS:
        page = nights.page_of_removed(scope, night, show, after=after, size=size)
    else:
        page = nights.page_of_passes(scope, night, show, after=after, size=size, now=now)
        names = access.names_of(scope.tenant_id, {each.work.requested_by for each in page.rows})
    return {"rows": page.rows, "names": names, "total": page.total, **cursor.links(len(page.rows), page.after)}


def _day(request: HttpRequest) -> date | None:
    text = pages.text_of(request, "night")
    try:
        return date.fromisoformat(text) if text else None
    except ValueError:
        raise Invalid(errors=[{"field": "night", "message": "must be a day (2026-01-31)"}]) from None
