"""Forget a subject, step by step: find, preview, confirm, run, verify, receipt. Every step is an address of its own."""

from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from memory import adapter, archive_reports, forget_requests, forgetting, receipts, tasks
from memory.archive_reports import Withdrawn
from memory.erasers.archives import ARCHIVES
from memory.erasers.entries import ENTRIES
from memory.erasers.run_values import RUN_VALUES
from memory.forms import ConfirmForm, SubjectForm
from memory.host import access, exports, ids, pages, tenancy
from memory.host.erasure import Holding
from memory.host.errors import Conflict
from memory.host.tenancy import TenantScope
from memory.models import ForgetRequest, ForgetState
from memory.wire import instant

STEPS = {
    ForgetState.PREVIEWED: "Preview",
    ForgetState.CONFIRMED: "Run",
    ForgetState.RESIDUE: "Verify",
    ForgetState.FORGOTTEN: "Receipt",
    ForgetState.LAPSED: "Preview",
}
ARCHIVES_SHOWN = 200
COLUMNS = ("id", "state", "subjectKey", "requestedBy", "confirmedAt", "finishedAt", "reason")


@dataclass(frozen=True, slots=True)
class Sample:
    """A row a preview opens: its key, its text when the store shows it, and its page when it has one."""

    row: str
    text: str
    url: str


@dataclass(frozen=True, slots=True)
class Store:
    """One store's line of a preview."""

    holding: Holding
    certain: list[Sample]
    suspected: list[Sample]


@pages.parameters("from", *pages.LIST)
@require_http_methods(["GET", "HEAD", "POST"])
def forget(request: HttpRequest) -> HttpResponseBase:
    """Step 1, Find, above the list of requests. A POST makes a preview."""
    scope, now = tenancy.scope_of(request), timezone.now()
    scope.check("memory:forget")
    if request.method == "POST":
        return _preview(request, scope)
    if request.GET.get("format") in exports.FORMATS:
        rows = (_row(found) for found in forget_requests.every(scope))
        return exports.listing(request.GET["format"], "requests", rows, columns=COLUMNS)
    found = (
        adapter.entry(scope, entry_id, now=now) if (entry_id := ids.parse("mem", request.GET.get("from", ""))) else None
    )
    form = SubjectForm(initial={"subject": found.subject if found else ""})
    return pages.render(request, "memory/forget.html", _find_context(request, scope, form) | {"found": found})


def _preview(request: HttpRequest, scope: TenantScope) -> HttpResponse:
    form = SubjectForm(request.POST)
    sent = pages.submit(form, lambda _: forgetting.preview(scope, form.names, now=timezone.now()))
    if sent.result:
        return redirect("forget-request", ids.wire("fgt", sent.result.request.id))
    return pages.render(request, "memory/forget.html", _find_context(request, scope, form), status=sent.status)


def _find_context(request: HttpRequest, scope: TenantScope, form: SubjectForm) -> dict[str, Any]:
    cursor = pages.Cursor.of(request, "fgt")
    found = forget_requests.newest(scope, before=cursor.after, limit=pages.PAGE + 1)
    last = cursor.seen + len(found[: pages.PAGE])
    after = ids.wire("fgt", found[pages.PAGE - 1].id) if len(found) > pages.PAGE else ""
    return {
        "nav": "forget",
        "now": timezone.now(),
        "form": form,
        "requests": found[: pages.PAGE],
        "total": forget_requests.total(scope),
        "first": cursor.seen + 1,
        "last": last,
        "older": pages.address(request, after=after, seen=last) if after else "",
        "newest": pages.address(request) if cursor.after else "",
        "as_json": pages.address(request, format="json"),
        "as_csv": pages.address(request, format="csv"),
    }


def _row(found: ForgetRequest) -> dict[str, Any]:
    return {
        "id": ids.wire("fgt", found.id),
        "state": found.state,
        "subjectKey": found.subject_key,
        "requestedBy": found.requested_by,
        "reason": found.reason,
        "confirmedAt": instant(found.confirmed_at) if found.confirmed_at else None,
        "finishedAt": instant(found.finished_at) if found.finished_at else None,
    }


@pages.parameters("format")
@require_safe
def forget_request(request: HttpRequest, forget_id: str) -> HttpResponse:
    """Where a request stands: its preview, its progress, its residue, or its receipt."""
    scope = tenancy.scope_of(request)
    found = forget_requests.find(scope, ids.parse("fgt", forget_id))
    if request.GET.get("format") == "json":
        withdrawn = archive_reports.of_receipt(found.tenant_id, found.receipt)
        beside = {"archives": [_withdrawn(each) for each in withdrawn]} if found.signature else {}
        return exports.document(_row(found) | receipts.proof(found) | beside)
    context = _context(request, found, forget_id)
    if found.state == ForgetState.PREVIEWED:
        stores = [_store(holding) for holding in forgetting.holdings_of(scope, found)]
        return pages.render(request, "memory/forget_preview.html", context | _totals(stores))
    withdrawn = archive_reports.of_receipt(found.tenant_id, found.receipt)
    context |= {"genuine": receipts.is_genuine(found), "withdrawn": withdrawn[:ARCHIVES_SHOWN]}
    context |= {"withdrawn_total": len(withdrawn)}
    status = pages.poll_status(request, over=found.state != ForgetState.CONFIRMED)
    return pages.render(
        request, "memory/forget_request.html", context, fragment="memory/forget_state.html", status=status
    )


def _withdrawn(each: Withdrawn) -> dict[str, Any]:
    made = {"id": each.made_id, "sha256": each.made.sha256, "state": each.made.state} if each.made else None
    work = {"distilledAnewBy": each.pass_id or None, "passState": each.pass_state or None}
    return {"id": each.id, "sha256": each.sha256, **work, "archive": made}


def _store(holding: Holding) -> Store:
    """What one store holds, with samples opened; every suspected row is shown, because a person decides about it."""
    url = URLS.get(holding.store, _no_url)
    certain = [
        Sample(row.hex, holding.samples[row.hex], url(row)) for row in holding.erase if row.hex in holding.samples
    ]
    suspected = [Sample(row.hex, holding.samples.get(row.hex, ""), url(row)) for row in holding.suspected]
    return Store(holding, certain, suspected)


def _entry_url(row: UUID) -> str:
    return reverse("memory-entry", args=[ids.wire("mem", row)])


def _run_url(row: UUID) -> str:
    return reverse("run", args=[ids.wire("run", row)])


def _archive_url(row: UUID) -> str:
    return reverse("archive", args=[ids.wire("arc", row)])


def _no_url(row: UUID) -> str:
    return ""


URLS = {ARCHIVES.store: _archive_url, ENTRIES.store: _entry_url, RUN_VALUES.store: _run_url}


def _totals(stores: list[Store]) -> dict[str, Any]:
    holdings = [store.holding for store in stores]
    return {
        "stores": stores,
        "erase": sum(len(holding.erase) for holding in holdings),
        "suspected": sum(len(holding.suspected) for holding in holdings),
        "stay": sum(holding.stays for holding in holdings),
    }


def _context(request: HttpRequest, found: ForgetRequest, forget_id: str) -> dict[str, Any]:
    now = timezone.now()
    since = found.confirmed_at or found.created_at
    return {
        "nav": "forget",
        "now": now,
        "found": found,
        "forget_id": forget_id,
        "step": STEPS[ForgetState(found.state)],
        "seconds": (now - since).total_seconds(),
        "lapsed": found.lapses_at <= now,
        "as_json": pages.address(request, format="json"),
        "stays": receipts.STAYS,
        "names": access.names_of(found.tenant_id, [found.requested_by]),
    }


@require_http_methods(["GET", "HEAD", "POST"])
def confirm(request: HttpRequest, forget_id: str) -> HttpResponse:
    """Step 3. The preview posts its ticks here; the form that is shown posts the subject, and only that confirms."""
    scope = tenancy.scope_of(request)
    found = forget_requests.find(scope, ids.parse("fgt", forget_id))
    if found.state != ForgetState.PREVIEWED:
        return redirect("forget-request", forget_id)
    suspected = [row for store in found.plan.values() for row in store["suspected"]]
    ticked = [row for row in request.POST.getlist("ticked") if row in set(suspected)]
    if "typed" in request.POST:
        return _confirm(request, scope, found, ConfirmForm(request.POST, suspected=suspected))
    form = ConfirmForm(initial={"ticked": ticked}, suspected=suspected)
    return _ask(request, found, form, ticked)


def _confirm(request: HttpRequest, scope: TenantScope, found: ForgetRequest, form: ConfirmForm) -> HttpResponse:
    sent = pages.submit(form, lambda data: _carry_out(scope, found, data))
    forget_id = ids.wire("fgt", found.id)
    if sent.result:
        return redirect("forget-request", forget_id)
    if sent.conflict:
        context = _context(request, found, forget_id) | {"changes": _changes(sent.conflict), "conflict": sent.conflict}
        return pages.render(request, "memory/forget_conflict.html", context, status=409)
    return _ask(request, found, form, request.POST.getlist("ticked"), status=422)


@transaction.atomic
def _carry_out(scope: TenantScope, found: ForgetRequest, data: dict[str, Any]) -> ForgetRequest:
    """Confirmed and queued together, or neither."""
    confirmed = forgetting.confirm(
        scope, found.id, typed=data["typed"], reason=data["reason"], ticked=set(data["ticked"]), now=timezone.now()
    )
    tasks.enqueue_forget(confirmed)
    return confirmed


def _ask(
    request: HttpRequest, found: ForgetRequest, form: ConfirmForm, ticked: list[str], status: int = 200
) -> HttpResponse:
    certain = sum(len(store["erase"]) for store in found.plan.values())
    context = _context(request, found, ids.wire("fgt", found.id)) | {
        "step": "Confirm",
        "form": form,
        "certain": certain,
        "ticked": len(ticked),
        "going": certain + len(ticked),
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
def again(request: HttpRequest, forget_id: str) -> HttpResponse:
    """A fresh preview of the same subject, after the world has changed or the old preview lapsed."""
    scope = tenancy.scope_of(request)
    fresh = forgetting.look_again(scope, ids.parse("fgt", forget_id), now=timezone.now())
    return redirect("forget-request", ids.wire("fgt", fresh.request.id))


@require_POST
@transaction.atomic
def retry(request: HttpRequest, forget_id: str) -> HttpResponse:
    """A request that left residue is carried out again."""
    scope = tenancy.scope_of(request)
    found = forgetting.retry(scope, ids.parse("fgt", forget_id), now=timezone.now())
    tasks.enqueue_forget(found)
    return redirect("forget-request", forget_id)
