"""Archives: the list with the nights that came to none, one with its sources and what has changed, and a new one."""

from datetime import datetime

from django.contrib import messages
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.utils import timezone
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from memory import adapter, memory_health, tasks
from memory.forms import DistillForm, WithdrawForm
from memory.host import exports, ids, pages, registrations, tenancy
from memory.host.pages import Cleaned
from memory.host.tenancy import TenantScope
from memory.models import Archive, ArchiveState, Pass
from memory.passes import archive_reports, archives, distillation, orders
from memory.passes.archive_reports import ArchiveOutcome, Reference, Report
from memory.passes.orders import RequestedPass
from memory.wire import instant

REFS_OFFERED = 500
SOURCES = 50
WHAT = "Archives are summaries of memory within a token budget."
COLUMNS = (
    "id", "memoryRef", "agents", "state", "trigger", "tokenBudget", "tokensUsed", "outputTokens", "tokenizer",
    "distiller", "sourceCount", "corpusCount", "sha256", "indexUpdated", "createdAt", "keepUntil", "withdrawnBecause",
    "code", "minimumRequired", "runId",
)  # fmt: skip


@pages.parameters("ref", *pages.LIST)
@require_safe
def archive_list(request: HttpRequest) -> HttpResponseBase:
    """The archives and the distillations that failed, newest first; of one ref when the address says so."""
    scope, ref, cursor = (
        tenancy.scope_of(request),
        pages.text_of(request, "ref"),
        pages.Cursor.from_request(request, "arc"),
    )
    page = archive_reports.list_outcomes(scope, memory_ref=ref, before=cursor.after, limit=pages.PAGE)
    if not memory_health.advertises(registrations.advertised_capabilities(), "memory.distillation"):
        return pages.unsupported(request, "archives", "Archives", "memory.distillation", WHAT)
    if file_format := pages.file_format(request):
        rows = map(_row, archive_reports.export_outcomes(scope, memory_ref=ref))
        return exports.listing(file_format, "archives", rows, columns=COLUMNS)
    now = timezone.now()
    context = {
        "nav": "archives",
        "now": now,
        "page": archive_reports.with_titles(scope, page, now=now),
        "ref": ref,
        **cursor.links(len(page.rows), page.after),
        **pages.files(request),
    }
    if not pages.wants_fragment(request):
        context |= {"refs": archive_reports.refs_of(scope), "can_run": scope.can("passes:run")}
    return pages.render(request, "memory/archives.html", context, fragment="memory/archives_list.html")


def _row(night: ArchiveOutcome) -> dict[str, object]:
    """One line of the file: an archive, or the pass that made none."""
    if night.archive:
        return archive_row(night.archive) | {"agents": night.agents}
    missed = night.missed
    assert missed is not None, "a night is an archive or a pass"
    return {
        "id": ids.wire("pass", missed.id),
        "memoryRef": missed.memory_ref,
        "agents": night.agents,
        "state": missed.state,
        "trigger": missed.trigger,
        "tokenBudget": missed.options.get("tokenBudget"),
        "createdAt": instant(missed.created_at),
        "code": missed.code,
        "minimumRequired": night.minimum,
        "runId": ids.wire("run", missed.run_id),
    }


def archive_row(row: Archive) -> dict[str, object]:
    """What is known of an archive, without what it says."""
    return {
        "id": ids.wire("arc", row.id),
        "memoryRef": row.memory_ref,
        "state": row.state,
        "trigger": row.trigger,
        "tokenBudget": row.token_budget,
        "tokensUsed": row.tokens_used,
        "outputTokens": row.output_tokens,
        "tokenizer": row.tokenizer,
        "distiller": row.distiller,
        "sourceCount": row.source_count,
        "corpusCount": row.corpus_count,
        "sha256": row.sha256,
        "indexUpdated": row.index_updated,
        "createdAt": instant(row.created_at),
        "keepUntil": instant(row.keep_until),
        "withdrawnBecause": row.withdrawn_because or None,
        "runId": ids.wire("run", row.run_id),
    }


@pages.parameters("source", "mode", "format")
@require_safe
def archive(request: HttpRequest, arc_id: str) -> HttpResponse:
    """One archive with its sources; a withdrawn one says why, and what came after it."""
    scope, now = tenancy.scope_of(request), timezone.now()
    row = archives.get_archive(scope, ids.parse("arc", arc_id))
    context = {
        "nav": "archives",
        "now": now,
        "archive": row,
        "arc_id": arc_id,
        **pages.files(request, "json"),
        "can_run": scope.can("passes:run"),
        "can_retire": scope.can("memory:retire"),
    }
    if row.state == ArchiveState.WITHDRAWN:
        if pages.file_format(request) == "json":
            return exports.document(archive_row(row))
        context |= {"successor": archives.successor_of(row)}
        return pages.render(request, "memory/archive_withdrawn.html", context)
    report = archive_reports.report_archive(scope, row, now=now)
    if pages.file_format(request) == "json":
        return exports.document(archive_row(row) | {"sources": report.states, "document": report.document})
    read_as = adapter.console.find_entry(scope, row.entry_id, now=now) if row.entry_id else None
    context |= {
        "report": report,
        "read_as": read_as,
        "index": archive_reports.index_of(scope),
        **_view_options(request, report),
    }
    first, last = _shown_sources(request, report)
    context["texts"] = _texts(scope, report.references[first - 1 : last], now)
    return pages.render(request, "memory/archive.html", context)


def _shown_sources(request: HttpRequest, report: Report) -> tuple[int, int]:
    """The numbers of the first and the last source of this page."""
    count = len(report.references)
    asked = pages.number_of(request, "source") or 1
    first = asked if asked <= count else 1
    return first, min(first + SOURCES - 1, count)


def _texts(scope: TenantScope, sources: list[Reference], now: datetime) -> dict[str, str]:
    """What each source says, by its wire id; of one that is gone or sealed, nothing."""
    known = [entry_id for each in sources if (entry_id := ids.parse("mem", each.id))]
    found = adapter.console.entries_by_id(scope, known, now=now)
    return {ids.wire("mem", row.id): row.content for row in found.values() if not row.sealed}


def _view_options(request: HttpRequest, report: Report) -> dict[str, object]:
    """Which part of the sources is shown, and how the difference is."""
    count = len(report.references)
    first, last = _shown_sources(request, report)
    return {
        "sources": report.references[first - 1 : last],
        "first": first,
        "last": last,
        "next_sources": f"{pages.address(request, source=last + 1)}#sources" if last < count else "",
        "first_sources": f"{pages.address(request, source='')}#sources" if first > 1 else "",
        "mode": "side" if request.GET.get("mode") == "side" else "unified",
        "unified_url": f"{pages.address(request, mode='')}#changes",
        "side_url": f"{pages.address(request, mode='side')}#changes",
    }


@pages.parameters()
@require_http_methods(["GET", "HEAD", "POST"])
def withdraw(request: HttpRequest, arc_id: str) -> HttpResponse:
    """Ask why, then delete the archive and the entry that agents read, and have the ref distilled anew if asked to."""
    scope, now = tenancy.scope_of(request), timezone.now()
    scope.check("memory:retire")
    row = archives.get_archive(scope, ids.parse("arc", arc_id))
    if row.state == ArchiveState.WITHDRAWN:
        return redirect("archive", arc_id)
    form = WithdrawForm(request.POST if request.method == "POST" else None).focus()
    if request.method == "POST":
        sent = pages.submit(form, lambda data: _withdraw(scope, row, data, now))
        if sent.result is not None:
            anew = (
                " Its ref is being distilled again; the new archive appears here when the pass is done."
                if sent.result
                else ""
            )
            messages.success(request, f"The archive is withdrawn.{anew}")
            return redirect("archive", arc_id)
    above = archives.all_dependent_archives(scope.tenant_id, [row.id], ()) - {row.id}
    context = {"nav": "archives", "now": now, "archive": row, "arc_id": arc_id, "form": form, "above": sorted(above)}
    context["can_run"] = scope.can("passes:run")
    return pages.render(request, "memory/archive_withdraw.html", context, status=422 if form.is_bound else 200)


@transaction.atomic
def _withdraw(scope: TenantScope, row: Archive, data: Cleaned, now: datetime) -> int:
    """Withdrawn, and the passes that make another queued, or neither; returns how many passes."""
    made = archives.withdraw_for_person(
        scope, row.id, reason=data["reason"], distil_anew=data["anew"] and scope.can("passes:run"), now=now
    )
    for each in made:
        tasks.enqueue_pass(each)
    return len(made)


@require_POST
def compare(request: HttpRequest, arc_id: str) -> HttpResponse:
    """Compute the checksum anew, of the stored bytes and where it can be of the same work, and say how they compare."""
    found = distillation.compare(tenancy.scope_of(request), ids.parse("arc", arc_id), clock=timezone.now)
    if found.agrees:
        message = f"The checksum matches: the stored bytes give {found.computed}, as recorded."
        messages.success(request, f"{message} {_distilled_again(found.anew)}" if found.comes_out_again else message)
    else:
        messages.error(
            request,
            f"The checksum does not match: {found.recorded} is on record, the stored bytes give {found.computed}"
            f"{'' if found.canonical else ', and they are not in canonical form'}.",
        )
    if not found.comes_out_again:
        message = f"Distilled again from the same memory, the result differs: {found.anew}"
        messages.error(request, f"{message}, where {found.recorded} is on record.")
    return redirect("archive", arc_id)


def _distilled_again(anew: str | None) -> str:
    if anew:
        return "So does an archive distilled again from the same memory."
    return "It was not distilled again: its memory has changed since, or is too large, or an endpoint made it."


@pages.creates()
@pages.parameters("ref")
@require_http_methods(["GET", "HEAD", "POST"])
def distill(request: HttpRequest) -> HttpResponse:
    """Ask what is to be distilled and for how much, and have a worker do it; its pass tells the rest."""
    scope, now = tenancy.scope_of(request), timezone.now()
    scope.check("passes:run")
    form = DistillForm(
        request.POST if request.method == "POST" else None, initial={"ref": pages.text_of(request, "ref")}
    )
    if request.method == "POST":
        called = {"tokenBudget": "budget", "targetTokens": "target", "memoryRef": "ref"}
        sent = pages.submit(form, lambda data: _order(scope, data, now), called=called, not_found="ref")
        if sent.result:
            return redirect("pass", ids.wire("pass", sent.result.id))
    context = {
        "nav": "archives",
        "form": form,
        "refs": adapter.console.distinct_values(scope, "ref", limit=REFS_OFFERED),
    }
    return pages.render(request, "memory/archives_distill.html", context, status=422 if form.is_bound else 200)


@transaction.atomic
def _order(scope: TenantScope, data: Cleaned, now: datetime) -> Pass:
    """On record and queued together, or neither."""
    options = distillation.options_of(budget=data["budget"], target=data["target"])
    row = orders.order_now(
        scope, RequestedPass(archives.DISTILL, data["ref"], options, dry_run=data["dry_run"]), now=now
    )
    tasks.enqueue_pass(row)
    return row
