"""Commitments: what agents mean to do, what each waits for, and putting one off or cancelling it.

Created and cancelled are records of this console; the wire knows only that one has fired.
"""

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta
from uuid import UUID

from django.contrib import messages
from django.forms import Form
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_http_methods, require_safe

from memory import commitments
from memory.commitments.lifecycle import CommitmentFilter, Shown
from memory.forms import CancelForm, SnoozeForm
from memory.host import exports, ids, pages, registrations, tenancy
from memory.host.pages import Tab
from memory.host.tenancy import TenantScope
from memory.models import Commitment, CommitmentState
from memory.wire import instant

POSSIBLE_SHOWN = 10
COLUMNS = (
    "id",
    "state",
    "intention",
    "condition",
    "dueAt",
    "timezone",
    "cron",
    "every",
    "words",
    "memoryRef",
    "memoryId",
    "agentId",
    "fireCount",
    "fireLimit",
    "lastFiredAt",
    "lastRunId",
    "lastCode",
    "reason",
    "createdAt",
)


@pages.parameters("state", "ref", "agent", *pages.LIST)
@require_safe
def commitment_list(request: HttpRequest) -> HttpResponseBase:
    """The board: every commitment with what it waits for, newest first."""
    scope, now, wanted = tenancy.scope_of(request), timezone.now(), _read_filter(request)
    if "commitments" not in registrations.advertised_capabilities()["agents"]:
        return _unsupported(request, scope)
    scope.check("memory:read")  # the rows of a file are read when it is too late to refuse it
    if file_format := pages.file_format(request):
        rows = (_row(each) for each in commitments.lifecycle.export_commitments(scope, wanted, now=now))
        return exports.listing(file_format, "commitments", rows, columns=COLUMNS)
    cursor = pages.Cursor.from_request(request, "cmt")
    listed = commitments.lifecycle.page(scope, wanted, after=cursor.after, size=pages.PAGE, now=now)
    possible = [] if cursor.after else _possible(scope, wanted, now)
    above = {each.row.id for each in possible}
    context = {
        "nav": "commitments",
        "now": now,
        "listed": listed,
        "rows": [each for each in listed.rows if each.row.id not in above],
        "wanted": wanted,
        "tabs": _tabs(request, commitments.lifecycle.count_by_state(scope, wanted)),
        "open_states": commitments.lifecycle.OPEN,
        "possible": possible,
        "here": pages.canonical_address(request),
        "can_change": scope.can("memory:retire"),
        **cursor.links(len(listed.rows), listed.after),
        **pages.files(request),
    }
    return pages.render(request, "memory/commitments.html", context, fragment="memory/commitments_list.html")


def _possible(scope: TenantScope, wanted: CommitmentFilter, now: datetime) -> list[Shown]:
    """The first of those that wait for a decision, above the list of the others."""
    if wanted.state:
        return []
    undecided = replace(wanted, state=CommitmentState.POSSIBLE)
    return commitments.lifecycle.page(scope, undecided, size=POSSIBLE_SHOWN, now=now).rows


def _unsupported(request: HttpRequest, scope: TenantScope) -> HttpResponse:
    """Without memory that lasts and can be written there are none, and the page says so."""
    scope.check("memory:read")
    text = "Commitments are intentions that an agent has remembered and that fire when their condition is met."
    return pages.unsupported(request, "commitments", "Commitments", "agents.commitments", text)


def _read_filter(request: HttpRequest) -> CommitmentFilter:
    state = pages.text_of(request, "state")
    ref, agent = pages.text_of(request, "ref"), pages.text_of(request, "agent")
    return CommitmentFilter(state if state in CommitmentState.values else "", ref, agent)


def _tabs(request: HttpRequest, counts: dict[str, int]) -> list[Tab]:
    every = Tab("", "All", pages.address(request, state=""), sum(counts.values()))
    return [every, *(Tab(s, s.capitalize(), pages.address(request, state=s), n) for s, n in counts.items())]


@pages.parameters("format")
@require_safe
def commitment(request: HttpRequest, cmt_id: str) -> HttpResponse:
    """One commitment, with its firings."""
    scope, now = tenancy.scope_of(request), timezone.now()
    shown = _commitment(scope, cmt_id, now)
    if pages.file_format(request) == "json":
        return exports.document(_row(shown))
    return _page(request, scope, shown, SnoozeForm())


def _page(
    request: HttpRequest, scope: TenantScope, shown: Shown, form: SnoozeForm, *, status: int = 200
) -> HttpResponse:
    context = {
        "nav": "commitments",
        "now": timezone.now(),
        "shown": shown,
        "row": shown.row,
        "cmt_id": ids.wire("cmt", shown.row.id),
        "firings": commitments.lifecycle.firings_of(scope, shown.row.id),
        "form": form,
        "can_change": scope.can("memory:retire"),
        "can_snooze": commitments.lifecycle.can_become(shown.row, CommitmentState.SNOOZED),
        "can_cancel": commitments.lifecycle.can_become(shown.row, CommitmentState.CANCELLED),
        "is_possible": shown.row.state == CommitmentState.POSSIBLE,
        "as_json": reverse("commitment", args=[ids.wire("cmt", shown.row.id)]) + "?format=json",
    }
    return pages.render(request, "memory/commitment.html", context, status=status)


def _commitment(scope: TenantScope, cmt_id: str, now: datetime) -> Shown:
    return commitments.lifecycle.find(scope, ids.parse("cmt", cmt_id), now=now)


@pages.parameters("next")
@require_http_methods(["POST"])
def snooze(request: HttpRequest, cmt_id: str) -> HttpResponse:
    """Snooze for as long as was chosen."""
    scope, now = tenancy.scope_of(request), timezone.now()
    shown, form = _commitment(scope, cmt_id, now), SnoozeForm(request.POST)
    scope.check("memory:retire")
    sent = pages.submit(form, lambda data: _put_off(scope, shown.row.id, data["hours"], now))
    if sent.result:
        messages.success(
            request,
            f"The commitment is snoozed. It does not fire before {sent.result.snoozed_until:%Y-%m-%d %H:%M} UTC.",
        )
        return redirect(pages.back(request, reverse("commitment", args=[cmt_id])))
    if sent.conflict:
        messages.error(request, sent.conflict.message)
    return _page(request, scope, _commitment(scope, cmt_id, now), form, status=sent.status)


def _put_off(scope: TenantScope, commitment_id: UUID, hours: int, now: datetime) -> Commitment:
    return commitments.lifecycle.snooze(scope, commitment_id, until=now + timedelta(hours=hours), now=now)


@pages.parameters("next")
@require_http_methods(["POST"])
def arm(request: HttpRequest, cmt_id: str) -> HttpResponse:
    """A possible commitment was meant."""
    return _decide(request, cmt_id, commitments.lifecycle.arm, "The commitment is armed.")


@pages.parameters("next")
@require_http_methods(["POST"])
def dismiss(request: HttpRequest, cmt_id: str) -> HttpResponse:
    """A possible commitment was not meant."""
    return _decide(request, cmt_id, commitments.lifecycle.dismiss, "The commitment is dismissed.")


def _decide(request: HttpRequest, cmt_id: str, act: Callable[..., object], words: str) -> HttpResponse:
    scope, now = tenancy.scope_of(request), timezone.now()
    shown = _commitment(scope, cmt_id, now)
    sent = pages.submit(Form(request.POST), lambda _: act(scope, shown.row.id, now=now))
    if sent.result:
        messages.success(request, words)
    elif sent.conflict:
        messages.error(request, sent.conflict.message)
    return redirect(pages.back(request, reverse("commitment", args=[cmt_id])))


@require_http_methods(["GET", "HEAD", "POST"])
def cancel(request: HttpRequest, cmt_id: str) -> HttpResponse:
    """Ask why, then let it never fire again."""
    scope, now = tenancy.scope_of(request), timezone.now()
    shown = _commitment(scope, cmt_id, now)
    scope.check("memory:retire")
    form = CancelForm(request.POST if request.method == "POST" else None).focus()
    conflict, status = None, 200
    if request.method == "POST":
        sent = pages.submit(
            form, lambda data: commitments.lifecycle.cancel(scope, shown.row.id, reason=data["reason"], now=now)
        )
        if sent.result:
            messages.success(request, "The commitment is cancelled. It never fires again.")
            return redirect("commitment", cmt_id)
        conflict, status = sent.conflict, sent.status
    context = {"nav": "commitments", "shown": shown, "cmt_id": cmt_id, "form": form, "conflict": conflict}
    return pages.render(request, "memory/commitment_cancel.html", context, status=status)


def _row(shown: Shown) -> dict[str, object]:
    row = shown.row
    return {
        "id": ids.wire("cmt", row.id),
        "state": row.state,
        "intention": shown.intention,
        "condition": row.condition,
        "dueAt": instant(row.due_at or shown.once_at),
        "timezone": row.timezone,
        "cron": row.repeats or None,
        "every": row.every,
        "words": shown.words,
        "memoryRef": row.memory_ref,
        "memoryId": ids.wire("mem", row.entry_id),
        "agentId": row.agent_id or None,
        "fireCount": row.fired_count,
        "fireLimit": shown.allowed,
        "lastFiredAt": instant(row.last_fired_at),
        "lastRunId": ids.wire("run", row.last_run_id),
        "lastCode": row.last_code or None,
        "reason": row.reason or None,
        "createdAt": instant(row.created_at),
    }
