"""Ending several proposals at once: what would happen, why, and then all of it or nothing."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_http_methods

from memory.host import ids, pages, tenancy
from memory.host.errors import Conflict
from memory.host.tenancy import TenantScope
from proposals import denials, inbox, selections
from proposals.forms import EndForm
from proposals.inbox import Row
from proposals.selections import Drift, Selection
from proposals.views import filters

DONE = {"reject": "rejected", "archive": "archived"}


@dataclass(frozen=True, slots=True)
class Note:
    """Something about one of the proposals; ``title`` is None for one that is not there."""

    wire_id: str
    title: str | None
    words: str


@pages.parameters("next", "id", "every", "chosen", "action")
@require_http_methods(["GET", "HEAD", "POST"])
def end(request: HttpRequest) -> HttpResponse:
    """Say what would happen to those that were chosen, and ask why; then reject or archive all of them, or none."""
    scope, now = tenancy.scope_of(request), timezone.now()
    given = request.POST if request.method == "POST" else request.GET
    if request.method == "POST":
        asked = [each for each in selections.ACTIONS if each == given.get("action")]
        denials.authorize_one_of(scope, asked or selections.ACTIONS, now=now)
    if not any(given.get(name) for name in ("chosen", "every", "id")):
        messages.error(request, "Choose at least one proposal.")
        return redirect(pages.back(request, reverse("proposals")))
    action, selection = given.get("action", ""), _selection(scope, given)
    if request.method != "POST":
        drift = selections.drift(scope, selection, now=now)
        news: dict[str, Any] = {"drifted": _news(scope, drift, now)} if drift else {}
        return _confirm(request, scope, action, selection, now, status=409 if drift else 200, **news)
    form = EndForm(request.POST)
    sent = pages.submit(form, lambda data: selections.end(scope, action, selection, reason=data["reason"], now=now))
    if sent.result:
        number = len(sent.result)
        messages.success(request, f"{number} proposal{'s are' if number > 1 else ' is'} {DONE[action]}.")
        return redirect(_back(selection))
    more = _refused(scope, sent.conflict, now) if sent.conflict else {}
    return _confirm(request, scope, action, selection, now, form=form, status=sent.status, **more)


def _selection(scope: TenantScope, given: QueryDict) -> Selection:
    """What was chosen: a selection of before, everything that matched, or the boxes that were ticked."""
    sealed = given.get("chosen") or given.get("every")
    return selections.unseal(scope, sealed) if sealed else selections.of_ids(given.getlist("id"))


def _back(selection: Selection) -> str:
    return filters.address(filters.query_of(selection.wanted) if selection.wanted else "")


def _confirm(
    request: HttpRequest,
    scope: TenantScope,
    action: str,
    selection: Selection,
    now: datetime,
    *,
    form: EndForm | None = None,
    status: int = 200,
    **more: Any,
) -> HttpResponse:
    """What would happen, with the reason to be given; more is what stood in the way."""
    plan = selections.plan(scope, action, selection, now=now)
    chosen = selections.seal(scope, selection)
    left = selections.seal(scope, Selection(tuple(plan.possible))) if plan.possible and not plan.stands else ""
    renewed = selections.all_matching(scope, selection.wanted, now=now) if selection.wanted else None
    context = {
        "nav": "proposals",
        "permalink": "",
        "action": action,
        "done": DONE[action],
        "plan": plan,
        "lines": [(row, plan.obstacles.get(row.proposal.id, "")) for row in plan.rows],
        "missing": [ids.wire("prop", each) for each in plan.missing],
        "total": len(selection.ids),
        "form": form or EndForm(initial={"action": action, "chosen": chosen}),
        "left": left,
        "again": selections.seal(scope, renewed) if renewed and "drifted" in more else "",
        "again_count": len(renewed.ids) if renewed else 0,
        "back": _back(selection),
        **more,
    }
    return pages.render(request, "proposals/inbox_end.html", context, status=status)


def _refused(scope: TenantScope, conflict: Conflict, now: datetime) -> dict[str, Any]:
    """Why nothing was changed: the world is another one, or some cannot be ended."""
    told = conflict.details
    if "problems" in told:
        found = {each["id"]: each["message"] for each in told["problems"]}
        return {"problems": _notes(scope, found, now)}
    came, went = ([each for text in told[name] if (each := ids.parse("prop", text))] for name in ("came", "went"))
    return {"drifted": _news(scope, Drift(came, went), now)}


def _news(scope: TenantScope, drift: Drift, now: datetime) -> list[Note]:
    came = {ids.wire("prop", each): "matches now, and was not among those you chose." for each in drift.came}
    went = {ids.wire("prop", each): "was chosen, and does not match any more." for each in drift.went}
    return _notes(scope, {**came, **went}, now)


def _notes(scope: TenantScope, told: dict[str, str], now: datetime) -> list[Note]:
    rows = _by_id(inbox.chosen(scope, [each for text in told if (each := ids.parse("prop", text))], now=now))
    return [Note(text, rows[text].proposal.title if text in rows else None, words) for text, words in told.items()]


def _by_id(rows: Iterable[Row]) -> dict[str, Row]:
    return {ids.wire("prop", row.proposal.id): row for row in rows}
