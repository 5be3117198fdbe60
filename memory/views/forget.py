"""Forget a subject, step by step: find, preview, confirm, run, verify, receipt. Every step is an address of its own."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.contrib import messages
from django.db import transaction
from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from memory import adapter, ledger_search, memory_policy, redaction, tasks
from memory.api.serializers import HOLD
from memory.forget import consequences, execution, holds, plans, receipts
from memory.forget.erasers.special_stores import EXPORTED_FILES, UPLOADED_FILES
from memory.forms import ConfirmForm, EndHoldForm, HoldForm, SubjectForm
from memory.host import access, erasure, exports, ids, pages, tenancy
from memory.host.erasure import Eraser
from memory.host.errors import Conflict, SubjectOnHold
from memory.host.json_types import JSONObject
from memory.host.pages import Cleaned, PlainForm
from memory.host.tenancy import TenantScope
from memory.ledger_search import LedgerFilter
from memory.models import Decision, ForgetHold, ForgetRequest, ForgetState
from memory.passes import archive_reports
from memory.passes.archive_reports import Withdrawn
from memory.templatetags.memory_words import page_of
from memory.wire import instant

STEPS = {
    ForgetState.BUILDING: "Preview",
    ForgetState.FAILED: "Preview",
    ForgetState.PREVIEWED: "Preview",
    ForgetState.AWAITING: "Confirm",
    ForgetState.CONFIRMED: "Run",
    ForgetState.RESIDUE: "Verify",
    ForgetState.FORGOTTEN: "Receipt",
    ForgetState.LAPSED: "Preview",
}
CONFIRMABLE = (ForgetState.PREVIEWED, ForgetState.AWAITING)
ARCHIVES_SHOWN = 200
HOLDS_SHOWN = 10
FIELD = "decision-"
SAMPLE = 2000
HOLD_COLUMNS = ("holdId", "names", "reason", "setBy", "since", "endedAt", "endedBy", "endReason")
COLUMNS = ("id", "state", "subjectKey", "requestedBy", "confirmedAt", "dueAt", "finishedAt", "reason")


@dataclass(frozen=True, slots=True)
class Sample:
    """A row that a preview opens: its text, and its page when it has one."""

    text: str
    url: str


UNREAD = frozenset({EXPORTED_FILES.store, UPLOADED_FILES.store})


@dataclass(frozen=True, slots=True)
class Store:
    """One store's line of a preview."""

    name: str
    plan: JSONObject
    samples: list[Sample]

    @property
    def withdraw(self) -> int:
        """Archives are withdrawn: their bytes go, their ids and checksums stay."""
        return int(self.plan["erase"]) if self.name == consequences.ARCHIVES else 0

    @property
    def erase(self) -> int:
        return int(self.plan["erase"]) - self.withdraw

    @property
    def is_unread(self) -> bool:
        """Whether what it holds goes whatever it says."""
        return self.name in UNREAD


@pages.creates()
@pages.parameters("from", *pages.LIST)
@require_http_methods(["GET", "HEAD", "POST"])
def forget(request: HttpRequest) -> HttpResponseBase:
    """Step 1, Find, above the list of requests. A POST makes a preview."""
    scope, now = tenancy.scope_of(request), timezone.now()
    scope.check("memory:forget")
    if request.method == "POST":
        return _preview(request, scope)
    if file_format := pages.file_format(request):
        rows = (_row(found) for found in plans.export_requests(scope))
        return exports.listing(file_format, "requests", rows, columns=COLUMNS)
    found = (
        adapter.console.find_entry(scope, entry_id, now=now)
        if (entry_id := ids.parse("mem", request.GET.get("from", "")))
        else None
    )
    form = SubjectForm(initial={"subject": found.subject if found else ""})
    return pages.render(request, "memory/forget.html", _find_context(request, scope, form) | {"found": found})


def _preview(request: HttpRequest, scope: TenantScope) -> HttpResponse:
    form = SubjectForm(request.POST)
    sent = pages.submit(form, lambda _: _request_preview(scope, form.names))
    if sent.result:
        return redirect("forget-request", ids.wire("fgt", sent.result.id))
    return pages.render(request, "memory/forget.html", _find_context(request, scope, form), status=sent.status)


@transaction.atomic
def _request_preview(scope: TenantScope, names: list[str]) -> ForgetRequest:
    """Asked for and queued together, or neither."""
    found = execution.request_preview(scope, names, now=timezone.now())
    tasks.enqueue_preview(found)
    return found


def _find_context(request: HttpRequest, scope: TenantScope, form: SubjectForm) -> dict[str, object]:
    cursor = pages.Cursor.from_request(request, "fgt")
    page, now = plans.newest(scope, before=cursor.after, limit=pages.PAGE), timezone.now()
    on_hold = holds.active(scope, limit=HOLDS_SHOWN)
    newest = ledger_search.sample(scope, LedgerFilter(state="all"), size=ledger_search.SAMPLED, now=now)
    return {
        "nav": "forget",
        "now": now,
        "returned": plans.returned(scope, [each.subject for each in newest]),
        "form": form,
        "holds": on_hold.rows,
        "holds_total": on_hold.total,
        "by_two": memory_policy.policy_of(scope.tenant_id).forget_second_person,
        "names": _setters(scope, on_hold.rows),
        "requests": page.rows,
        "total": page.total,
        **cursor.links(len(page.rows), page.after),
        **pages.files(request),
    }


def _row(found: ForgetRequest) -> dict[str, object]:
    return {
        "id": ids.wire("fgt", found.id),
        "state": found.state,
        "subjectKey": found.subject_key,
        "requestedBy": found.requested_by,
        "reason": found.reason,
        "confirmedAt": instant(found.confirmed_at),
        "dueAt": instant(found.due_at),
        "finishedAt": instant(found.finished_at),
    }


@pages.parameters(*pages.LIST)
@require_safe
def forget_request(request: HttpRequest, forget_id: str) -> HttpResponse:
    """Where a request stands: its preview, its progress, its residue, or its receipt."""
    scope = tenancy.scope_of(request)
    found = plans.find(scope, ids.parse("fgt", forget_id))
    if pages.file_format(request) == "json":
        withdrawn = archive_reports.withdrawn_by_receipt(found.tenant_id, found.receipt)
        beside = {"archives": [_withdrawn(each) for each in withdrawn]} if found.signature else {}
        return exports.document(_row(found) | receipts.proof(found) | beside)
    if found.state in CONFIRMABLE:
        if pages.wants_fragment(request):  # the page that asked for progress is to be read anew, with what was found
            response = HttpResponse()
            response["HX-Redirect"] = request.path
            return response
        return _preview_page(request, scope, found, forget_id)
    context = _context(request, found, forget_id)
    withdrawn = archive_reports.withdrawn_by_receipt(found.tenant_id, found.receipt)
    stores, empty = _counted(found)
    context |= {"genuine": receipts.is_genuine(found), "stores": stores, "empty": empty}
    context |= {"failure": execution.failure_of(found)}
    context |= {
        "undecided": found.undecided,
        "undecided_then": sum(each.get("undecided", 0) for each in stores.values()),
    }
    context |= {"withdrawn": withdrawn[:ARCHIVES_SHOWN]}
    context |= {"withdrawn_total": len(withdrawn)}
    status = pages.poll_status(request, over=found.state not in (ForgetState.BUILDING, ForgetState.CONFIRMED))
    return pages.render(
        request, "memory/forget_request.html", context, fragment="memory/forget_state.html", status=status
    )


def _withdrawn(each: Withdrawn) -> dict[str, object]:
    made = {"id": each.made_id, "sha256": each.made.sha256, "state": each.made.state} if each.made else None
    work = {"distilledAnewBy": each.pass_id or None, "passState": each.pass_state or None}
    return {"id": each.id, "sha256": each.sha256, **work, "archive": made}


def _stores(found: ForgetRequest) -> tuple[list[Store], list[str]]:
    """The stores with something in them, and the names of the others."""
    erasers = {each.store: each for each in erasure.registered()}
    stores = [
        Store(name, entry, _samples(found, erasers[name], entry["shown"]) if name in erasers else [])
        for name, entry in found.plan.items()
        if entry["erase"] or entry["suspected"] or entry["stays"]
    ]
    return stores, [name for name in found.plan if name not in {store.name for store in stores}]


def _counted(found: ForgetRequest) -> tuple[dict[str, Any], list[str]]:
    """The stores of a receipt with something in them, and the names of the others."""
    every = found.receipt["stores"] if found.receipt and found.signature else {}
    stores = {
        name: counts
        for name, counts in every.items()
        if any(number for column, number in counts.items() if column != "staysBecause")
    }
    return stores, [name for name in every if name not in stores]


def _samples(found: ForgetRequest, eraser: Eraser, shown: list[str]) -> list[Sample]:
    """A few of the rows that would go, as they read now; their texts are kept nowhere."""
    rows = [UUID(hex=row) for row in shown]
    texts, places = eraser.texts(found.tenant_id, rows), eraser.found_in(found.tenant_id, rows)
    redact = redaction.for_tenant(found.tenant_id).redact
    return [
        Sample(redact("\n".join(texts[row])).text[:SAMPLE], page_of(places.get(row, "")))
        for row in rows
        if texts.get(row)
    ]


def _totals(found: ForgetRequest) -> dict[str, int]:
    plan = found.plan.values()
    totals = {name: sum(entry.get(name, 0) for entry in plan) for name in ("erase", "suspected", "stays", "rebuild")}
    withdraw = found.plan.get(consequences.ARCHIVES, {}).get("erase", 0)
    return totals | {"erase": totals["erase"] - withdraw, "withdraw": withdraw}


def _decided(found: ForgetRequest) -> dict[str, int]:
    """How many suspects were decided how, of all stores."""
    counts = dict.fromkeys(Decision.values, 0)
    for (_, decision), number in plans.count_decisions(found).items():
        counts[decision] += number
    return counts


def _preview_page(request: HttpRequest, scope: TenantScope, found: ForgetRequest, forget_id: str) -> HttpResponse:
    """Step 2. Suspects come by page, each with the words around its mention."""
    cursor = pages.Cursor.from_request(request, "sus")
    rows, last = plans.suspects(found, after=cursor.after, limit=pages.PAGE)
    terms = execution.terms_of(scope, found)
    suspects = plans.suspects_in_context(found, terms, rows)
    stores, empty = _stores(found)
    runs, runs_total = consequences.runs_of(scope, found)
    context = _context(request, found, forget_id) | {
        "runs": runs,
        "runs_total": runs_total,
        "backups": consequences.backups_of(scope.tenant_id, now=timezone.now()),
        "stores": stores,
        "empty": empty,
        "subject": ", ".join(terms),
        "totals": _totals(found),
        "decided": _decided(found),
        "is_first": found.state == ForgetState.AWAITING and execution.is_first_person(scope, found),
        "suspects": suspects,
        **_on_hold(scope, found),
        **cursor.links(len(suspects), last),
        "here": pages.canonical_address(request),
        "choices": ((Decision.TICKED, "Forget"), (Decision.SPARED, "Keep"), (Decision.UNDECIDED, "Undecided")),
    }
    return pages.render(request, "memory/forget_preview.html", context)


def _setters(scope: TenantScope, rows: list[ForgetHold]) -> dict[str, str]:
    """What those are called who set these holds, or ended them."""
    return access.names_of(scope.tenant_id, [who for each in rows for who in (each.set_by, each.ended_by)])


def _on_hold(scope: TenantScope, found: ForgetRequest) -> dict[str, object]:
    """The holds in force for which a preview cannot be confirmed, and what those are called who set them."""
    on_hold = holds.active_on(scope.tenant_id, execution.terms_of(scope, found))
    people = [found.requested_by, found.first_confirmed_by]
    return {"holds": on_hold, "names": _setters(scope, on_hold) | access.names_of(scope.tenant_id, people)}


def _context(request: HttpRequest, found: ForgetRequest, forget_id: str) -> dict[str, object]:
    now = timezone.now()
    since = found.confirmed_at or found.created_at
    named = (found.receipt or {}).get("confirmations", ())  # receipts of earlier releases name none
    confirmations = [each | {"at": datetime.fromisoformat(each["at"])} for each in named]
    people = [found.requested_by, found.first_confirmed_by, *(each["principal"] for each in confirmations)]
    return {
        "nav": "forget",
        "now": now,
        "found": found,
        "forget_id": forget_id,
        "step": STEPS[ForgetState(found.state)],
        "seconds": (now - since).total_seconds(),
        "lapsed": found.lapses_at <= now,
        **pages.files(request, "json"),
        "stays": receipts.STAYS,
        "confirmations": confirmations,
        "names": access.names_of(found.tenant_id, people),
    }


@require_POST
def suspects(request: HttpRequest, forget_id: str) -> HttpResponse:
    """What was decided on a page of suspects stands; on to the next page, or to the confirmation."""
    scope, now = tenancy.scope_of(request), timezone.now()
    found = plans.find(scope, ids.parse("fgt", forget_id))
    execution.decide(scope, found.id, _decisions(request), now=now)
    if (decision := request.POST.get("rest")) in (Decision.TICKED, Decision.SPARED):
        number = execution.decide_rest(scope, found.id, decision, now=now)
        rows = "1 undecided row" if number == 1 else f"{number:,} undecided rows"
        messages.success(request, f"{rows} {'will be erased' if decision == Decision.TICKED else 'will be kept'}.")
    if "confirm" in request.POST:
        return redirect("forget-confirm", forget_id)
    return redirect(pages.back(request, reverse("forget-request", args=[forget_id])))


def _decisions(request: HttpRequest) -> dict[UUID, str]:
    """The fields ``decision-sus_...`` of a page."""
    given = ((ids.parse("sus", name.removeprefix(FIELD)), name) for name in request.POST if name.startswith(FIELD))
    return {row: request.POST[name] for row, name in given if row and request.POST[name] in Decision.values}


@require_http_methods(["GET", "HEAD", "POST"])
def confirm(request: HttpRequest, forget_id: str) -> HttpResponse:
    """Step 3. The form that is shown posts the subject, and only that confirms."""
    scope = tenancy.scope_of(request)
    found = plans.find(scope, ids.parse("fgt", forget_id))
    is_shut = found.state == ForgetState.AWAITING and execution.is_first_person(scope, found)
    if found.state not in CONFIRMABLE or (is_shut and request.method != "POST"):
        return redirect("forget-request", forget_id)
    if request.method == "POST":
        return _confirm(request, scope, found, ConfirmForm(request.POST))
    return _confirmation_page(request, scope, found, ConfirmForm().focus("typed"))


def _confirm(request: HttpRequest, scope: TenantScope, found: ForgetRequest, form: ConfirmForm) -> HttpResponse:
    email = request.user.get_username()
    sent = pages.submit(
        form,
        lambda data: _carry_out(scope, found, data),
        checks=(
            lambda data: execution.check_confirmation(scope, found, data.get("typed"), data.get("reason")),
            lambda data: _check_password(email, data),
        ),
        called={"subject": "typed"},
    )
    forget_id = ids.wire("fgt", found.id)
    if sent.result or plans.find(scope, found.id).state not in CONFIRMABLE:  # sent twice, and confirmed by the other
        return redirect("forget-request", forget_id)
    if sent.conflict:
        return _refused(request, scope, found, sent.conflict)
    return _confirmation_page(request, scope, found, form, status=422)


def _refused(request: HttpRequest, scope: TenantScope, found: ForgetRequest, conflict: Conflict) -> HttpResponse:
    """What has changed since the preview, or the holds that the subject is on."""
    context = _context(request, found, ids.wire("fgt", found.id))
    context |= {"changes": _changes(conflict), "conflict": conflict}
    if isinstance(conflict, SubjectOnHold):
        context |= _on_hold(scope, found)
    return pages.render(request, "memory/forget_conflict.html", context, status=409)


def _check_password(email: str, data: Cleaned) -> None:
    """Refuse a wrong password of the signed-in person; an empty field does not count as an attempt."""
    if "password" in data:
        access.require_password(email, data["password"], field="password", now=timezone.now())


def _carry_out(scope: TenantScope, found: ForgetRequest, data: Cleaned) -> ForgetRequest:
    """Confirmed and queued together, or neither."""
    given = {"typed": data["typed"], "reason": data["reason"], "now": timezone.now()}
    return execution.confirm(scope, found.id, **given, queue=tasks.enqueue_forget)


def _confirmation_page(
    request: HttpRequest, scope: TenantScope, found: ForgetRequest, form: ConfirmForm, status: int = 200
) -> HttpResponse:
    decided, files = _decided(found), sum(entry["erase"] for name, entry in found.plan.items() if name in UNREAD)
    totals = _totals(found)
    certain = totals["erase"] - files
    context = _context(request, found, ids.wire("fgt", found.id)) | {
        "step": "Confirm",
        "subject": ", ".join(execution.terms_of(scope, found)),
        "form": form,
        "totals": totals,
        "certain": certain,
        "files": files,
        "decided": decided,
        "going": certain + decided[Decision.TICKED],
        "by_two": memory_policy.policy_of(scope.tenant_id).forget_second_person,
        **_on_hold(scope, found),
    }
    return pages.render(request, "memory/forget_confirm.html", context, status=status)


def _changes(conflict: Conflict) -> list[str]:
    """What moved since the preview, in words."""
    words = {"erase": "rows to erase", "suspected": "suspected rows"}
    return [
        f"{store}: {number:+,} {words[kind]}" if number else f"{store}: other {words[kind]}"
        for store, moved in conflict.details.get("changed", {}).items()
        for kind, number in moved.items()
        if number or kind == "erase"
    ]


@require_POST
def copy(request: HttpRequest, forget_id: str) -> HttpResponseBase:
    """Everything about the subject of a preview, as a download. A POST, since it is put on record."""
    scope = tenancy.scope_of(request)
    found = plans.find(scope, ids.parse("fgt", forget_id))
    sent = pages.submit(PlainForm({}), lambda _: execution.open_copy(scope, found.id, now=timezone.now()))
    if sent.conflict:
        return _refused(request, scope, found, sent.conflict)
    assert sent.result is not None, "an empty form holds nothing invalid"
    response = StreamingHttpResponse(sent.result.pieces(), content_type="application/zip")
    response["Content-Disposition"] = f'attachment; filename="{forget_id}.zip"'
    response["Cache-Control"] = "no-store"
    return response


@require_POST
def withdraw(request: HttpRequest, forget_id: str) -> HttpResponse:
    """A request that awaits a second person is over."""
    scope = tenancy.scope_of(request)
    execution.withdraw(scope, ids.parse("fgt", forget_id), now=timezone.now())
    messages.success(request, "The request is withdrawn. Nothing was removed.")
    return redirect("forget-request", forget_id)


@pages.creates()
@require_POST
@transaction.atomic
def preview_again(request: HttpRequest, forget_id: str) -> HttpResponse:
    """A fresh preview of the same subject, after the world has changed or the old preview lapsed."""
    scope = tenancy.scope_of(request)
    fresh = execution.request_again(scope, ids.parse("fgt", forget_id), now=timezone.now())
    tasks.enqueue_preview(fresh)
    return redirect("forget-request", ids.wire("fgt", fresh.id))


@require_POST
@transaction.atomic
def retry(request: HttpRequest, forget_id: str) -> HttpResponse:
    """A request that left residue is carried out again."""
    scope = tenancy.scope_of(request)
    found = plans.find(scope, ids.parse("fgt", forget_id))
    sent = pages.submit(PlainForm({}), lambda _: _run_again(scope, found))
    if isinstance(sent.conflict, SubjectOnHold):
        return _refused(request, scope, found, sent.conflict)
    if sent.conflict:
        raise sent.conflict
    return redirect("forget-request", forget_id)


def _run_again(scope: TenantScope, found: ForgetRequest) -> ForgetRequest:
    confirmed = execution.retry(scope, found.id, now=timezone.now())
    tasks.enqueue_forget(confirmed)
    return confirmed


@pages.creates()
@pages.parameters(*pages.LIST)
@require_http_methods(["GET", "HEAD", "POST"])
def hold_list(request: HttpRequest) -> HttpResponseBase:
    """The legal holds, ended ones too, newest first; a POST sets one."""
    scope = tenancy.scope_of(request)
    scope.check(holds.SCOPE)
    form = HoldForm(request.POST) if request.method == "POST" else HoldForm()
    conflict, status = None, 200
    if request.method == "POST":
        sent = pages.submit(
            form, lambda data: holds.place(scope, form.names, reason=data["reason"], now=timezone.now())
        )
        if sent.result:
            messages.success(request, "The subject is on legal hold. It cannot be forgotten until the hold is ended.")
            return redirect("forget-hold", ids.wire("hld", sent.result.id))
        conflict, status = sent.conflict, sent.status
    cursor = pages.Cursor.from_request(request, "hld")
    page = holds.newest(scope, before=cursor.after, limit=pages.PAGE)
    if file_format := pages.file_format(request):
        rows = (HOLD.document(each) for each in holds.export_holds(scope))
        return exports.listing(file_format, "holds", rows, columns=HOLD_COLUMNS)
    context = {
        "nav": "forget",
        "now": timezone.now(),
        "form": form,
        "conflict": conflict,
        "holds": page.rows,
        "names": _setters(scope, page.rows),
        "total": page.total,
        **cursor.links(len(page.rows), page.after),
        **pages.files(request),
    }
    return pages.render(request, "memory/forget_holds.html", context, status=status)


@pages.parameters("format")
@require_http_methods(["GET", "HEAD", "POST"])
def hold(request: HttpRequest, hold_id: str) -> HttpResponse:
    """One legal hold; a POST ends it."""
    scope = tenancy.scope_of(request)
    found, conflict, status = holds.find(scope, ids.parse("hld", hold_id)), None, 200
    form = EndHoldForm(request.POST) if request.method == "POST" else EndHoldForm()
    if request.method == "POST":
        sent = pages.submit(form, lambda data: holds.end(scope, found.id, reason=data["reason"], now=timezone.now()))
        if sent.result:
            messages.success(request, "The hold is ended. The subject can be forgotten.")
            return redirect("forget-hold", hold_id)
        conflict, status = sent.conflict, sent.status
    if pages.file_format(request) == "json":
        return exports.document(HOLD.document(found))
    context = {
        "nav": "forget",
        "now": timezone.now(),
        "hold": found,
        "hold_id": hold_id,
        "names": _setters(scope, [found]),
        "form": form,
        "conflict": conflict,
        **pages.files(request, "json"),
    }
    return pages.render(request, "memory/forget_hold.html", context, status=status)
