"""The inbox of proposals: filters, search, saved filters, pages, export, and bulk rejection or archiving."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any
from urllib.parse import urlencode

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, QueryDict
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from memory import saved_filters
from memory.forms import SavedFilterForm
from memory.host import access, exports, ids, pages, paging, registrations, tenancy
from memory.host.errors import Conflict, NotFound
from memory.host.models import SavedFilter
from memory.host.pages import Chip, Facet, Option, Tab
from memory.host.tenancy import TenantScope
from memory.wire import instant
from proposals import bulk_actions, inbox, rules
from proposals.bulk_actions import Drift, Selection
from proposals.forms import EndForm
from proposals.inbox import Counts, InboxFilter, InboxPage, Row
from proposals.models import Kind, Purpose, State
from proposals.views import review

SHOWS = {inbox.NEEDS_ME: "Needs me", inbox.MINE: "Mine", inbox.ALL: "All"}
AGES = {"24h": "Last 24 hours", "7d": "Last 7 days", "30d": "Last 30 days", "older": "30 days or older"}
# Gates, kinds, states and purposes are labelled with the same words as in rows, badges and the API.
STANDINGS = {word: word for word in inbox.STANDINGS} | {
    inbox.GRANTED: "approved",
    inbox.REFUSED: "rejected or changes requested",
}
KINDS = {kind: kind for kind in Kind.values}
STATES = {state: state for state in State.values}
PURPOSES = {purpose: purpose for purpose in Purpose.values}
DUPLICATES = {"yes": "Possible duplicate", "no": "New"}
PEOPLE = {inbox.NO_MODEL: "People and API keys"}
# An explanation for the words that need one.
PLAIN: dict[str, str] = {
    Kind.AGENT_PACK: "agents",
    Kind.WORKFLOW_CHAIN_PACK: "workflow chain",
    Kind.PROMPT_TEMPLATE: "prompts",
    Kind.AUTOMATION: "scheduled runs",
    "waiting": "for votes",
    inbox.NONE: "or cancelled, or void",
}
# Query parameter -> field of the filter: ``SEVERAL`` may repeat, ``ONE`` have one value.
SEVERAL = {
    "gate": "gates",
    "state": "states",
    "kind": "kinds",
    "synthesizer": "synthesizers",
    "duplicate": "duplicates",
    "purpose": "purposes",
}
ONE = {"age": "age", "q": "text", "agent": "agent"}
MOST_VALUES = 50
COLUMNS = (
    "id",
    "kind",
    "purpose",
    "state",
    "title",
    "revision",
    "sha256",
    "linesAdded",
    "linesRemoved",
    "gateState",
    "votes",
    "quorum",
    "overridden",
    "sourceRunIds",
    "duplicateOf",
    "synthesizer",
    "agentId",
    "author",
    "createdAt",
    "updatedAt",
    "installedArtifactRef",
    "overtakenBy",
)
DONE = {"reject": "rejected", "archive": "archived"}


# The facets of the inbox with the count of each value, and the chips of the filters that are set.


@dataclass(frozen=True, slots=True)
class _Group:
    name: str
    legend: str
    field: str
    words: dict[Any, str]


GROUPS = (
    _Group("gate", "Approval", "gates", STANDINGS),
    _Group("state", "State", "states", STATES),
    _Group("kind", "Kind", "kinds", KINDS),
    _Group("age", "Age", "age", AGES),
    _Group("synthesizer", "Synthesizer", "synthesizers", PEOPLE),
    _Group("duplicate", "Duplicate", "duplicates", DUPLICATES),
    _Group("purpose", "Purpose", "purposes", PURPOSES),
)


FOLDED = frozenset({"duplicate", "purpose"})


def facets_of(wanted: InboxFilter, counts: Counts) -> list[Facet]:
    """Every facet that has choices: what proposals have, and selected values even when none has them."""
    return [facet for group in GROUPS if (facet := _facet(group, wanted, counts)).options]


def _facet(group: _Group, wanted: InboxFilter, counts: Counts) -> Facet:
    behind, chosen = counts.facets[group.name], _chosen(group, wanted)
    values = dict.fromkeys([*group.words, *sorted(behind), *chosen])
    options = [
        _option(group, each, each in chosen, behind.get(each, 0))
        for each in values
        if behind.get(each) or each in chosen
    ]
    if group.name == "age":
        choices = [Option("", "Any", not chosen), *options] if options else []
        return Facet(group.name, group.legend, choices, kind="radio")
    more = counts.synthesizers - len(behind) if group.name == "synthesizer" else 0
    return Facet(group.name, group.legend, options, folded=group.name in FOLDED and not chosen, more=more)


def _option(group: _Group, value: str, selected: bool, count: int) -> Option:
    plain = PLAIN.get(value, "") if value in group.words else ""
    return Option(value, group.words.get(value, value), selected, count, plain=plain)


def _chosen(group: _Group, wanted: InboxFilter) -> tuple[str, ...]:
    value = getattr(wanted, group.field)
    return value if isinstance(value, tuple) else (value,) if value else ()


def filter_chips(wanted: InboxFilter) -> list[Chip]:
    """One chip for each value that is set, apart from the scope."""
    found = [
        Chip(group.legend, group.words.get(value, value), _without(wanted, group, value))
        for group in GROUPS
        for value in _chosen(group, wanted)
    ]
    if wanted.agent:
        found.append(Chip("Agent", wanted.agent, address(query_of(replace(wanted, agent="")))))
    if wanted.text:
        found.append(Chip("Text", wanted.text, address(query_of(replace(wanted, text="")))))
    return found


def _without(wanted: InboxFilter, group: _Group, value: str) -> str:
    left = tuple(each for each in _chosen(group, wanted) if each != value)
    changes: dict[str, Any] = {group.field: left if isinstance(getattr(wanted, group.field), tuple) else ""}
    return address(query_of(replace(wanted, **changes)))


# The filter in a URL of the inbox, and saved filters.


def filter_of_query(query: QueryDict) -> InboxFilter:
    """The filter in the query, with NUL characters dropped and lengths and counts bounded."""
    show = pages.one_of(inbox.SHOWS, "show", _clean(query.get("show", ""))) or inbox.ALL
    several = {field: tuple(_values(query, name)) for name, field in SEVERAL.items()}
    one = {field: _clean(query.get(name, "")) for name, field in ONE.items()}
    return InboxFilter(show, **several, **one)  # type: ignore[arg-type]


def _values(query: QueryDict, name: str) -> list[str]:
    return list(dict.fromkeys(value for each in query.getlist(name)[:MOST_VALUES] if (value := _clean(each))))


def _clean(text: str) -> str:
    return text.replace("\x00", "").strip()[: pages.LONGEST]


def query_of(wanted: InboxFilter) -> str:
    """The query string of this filter; "" for everything."""
    pairs = [("show", wanted.show)] if wanted.show != inbox.ALL else []
    pairs += [(name, value) for name, field in SEVERAL.items() for value in getattr(wanted, field)]
    pairs += [(name, value) for name, field in ONE.items() if (value := getattr(wanted, field))]
    return urlencode(pairs)


def address(query: str, **place: object) -> str:
    """The URL of the inbox with this query; ``place`` are parameters of the position in the list."""
    more = urlencode({name: value for name, value in place.items() if value not in ("", None)})
    whole = "&".join(part for part in (query, more) if part)
    return f"{reverse('proposals')}?{whole}" if whole else reverse("proposals")


@dataclass(frozen=True, slots=True)
class Saved:
    """A saved filter in the inbox's menu; ``chosen`` when the URL names it."""

    row: SavedFilter
    url: str
    mine: bool
    chosen: bool

    @property
    def wire_id(self) -> str:
        return ids.wire("flt", self.row.id)


def saved(scope: TenantScope, slug: str) -> list[Saved]:
    """The saved filters that this principal may use, by name; ``NotFound`` when none of them has ``slug``.

    A filter whose slug resolves to another one is linked by its query instead.
    """
    kept = saved_filters.list_filters(scope, saved_filters.INBOX)
    meant = saved_filters.by_slug(scope, kept)
    if slug and slug not in meant:
        raise NotFound("There is no saved filter by that name.")
    return [_saved_filter(scope, each, meant[each.slug] is each, slug) for each in kept]


def _saved_filter(scope: TenantScope, row: SavedFilter, is_meant: bool, slug: str) -> Saved:
    url = address(urlencode({"saved": row.slug}) if is_meant else row.query)
    return Saved(row, url, row.owner == scope.principal.id, is_meant and row.slug == slug)


@pages.parameters("show", *ONE, several=SEVERAL)
@require_http_methods(["GET", "HEAD", "POST"])
def save_filter(request: HttpRequest) -> HttpResponse:
    """Ask for a name, then save the filter of the inbox under it."""
    scope, now = tenancy.scope_of(request), timezone.now()
    scope.check("proposals:read")
    given = QueryDict(request.POST.get("query", "")) if request.method == "POST" else request.GET
    wanted = filter_of_query(given)
    query = query_of(wanted)
    form = SavedFilterForm({**request.POST.dict(), "query": query} if request.method == "POST" else None).focus("name")
    if form.is_bound:
        sent = pages.submit(form, lambda data: saved_filters.save_filter(scope, saved_filters.INBOX, **data, now=now))
        if sent.result:
            messages.success(request, "The filter is saved.")
            return redirect(address(urlencode({"saved": sent.result.slug})))
        if sent.conflict:
            form.add_error("name", sent.conflict.message)
    context = {
        "nav": "proposals",
        "permalink": "",
        "form": form,
        "query": query,
        "chips": filter_chips(wanted),
        "show": SHOWS[wanted.show],
        "back": address(query),
    }
    return pages.render(request, "proposals/inbox_filter.html", context, status=422 if form.is_bound else 200)


@pages.parameters("next")
@require_POST
def remove(request: HttpRequest, filter_id: str) -> HttpResponse:
    """Remove a saved filter of this principal and return to the list it showed."""
    scope = tenancy.scope_of(request)
    scope.check("proposals:read")
    saved_filters.remove_filter(scope, saved_filters.INBOX, ids.parse("flt", filter_id))
    messages.success(request, "The saved filter is removed.")
    return redirect(pages.back(request, reverse("proposals")))


@pages.parameters("saved", "show", *ONE, *pages.LIST, several=SEVERAL)
@require_safe
def inbox_page(request: HttpRequest) -> HttpResponseBase:
    """The list of proposals, newest first, as a page or a file; ``saved`` in the URL selects a saved filter."""
    scope, now = tenancy.scope_of(request), timezone.now()
    if "proposals" not in registrations.advertised_capabilities().get("agents", {}):
        text = "Changes proposed by agents and people. Nothing takes effect until approved."
        return pages.unsupported(request, "proposals", "Proposals", "agents.proposals", text)
    scope.check("proposals:read")
    offered = saved(scope, pages.text_of(request, "saved"))
    chosen = next((each for each in offered if each.chosen), None)
    wanted = filter_of_query(QueryDict(chosen.row.query) if chosen else request.GET)
    if file_format := pages.file_format(request):
        rows = map(_document, inbox.export_rows(scope, wanted, now=now))
        return exports.listing(file_format, "proposals", rows, columns=COLUMNS)
    return _page(request, scope, wanted, offered, chosen, now)


def _page(
    request: HttpRequest,
    scope: TenantScope,
    wanted: InboxFilter,
    offered: list[Saved],
    chosen: Saved | None,
    now: datetime,
) -> HttpResponseBase:
    cursor = pages.Cursor.from_request(request, "prop")
    page = inbox.page(scope, wanted, after=cursor.after, seen=cursor.seen, now=now)
    base = urlencode({"saved": chosen.row.slug}) if chosen else query_of(wanted)
    here = address(base, after=request.GET.get("after") if cursor.after else "", seen=cursor.seen or "")
    context = {
        "nav": "proposals",
        "now": now,
        "page": page,
        "wanted": wanted,
        "offered": offered,
        "saved": chosen,
        "names": access.names_of(scope.tenant_id, _principals(page, offered)),
        "own_search": True,
        "oob": pages.wants_fragment(request),
        **_choices(scope, wanted, now),
        **_addresses(page, cursor, base, here),
        **_acts(scope, wanted, page, now),
        **review.latest(scope),
    }
    response = pages.render(request, "proposals/inbox.html", context, fragment="proposals/inbox_list.html")
    response["HX-Push-Url"] = here
    return response


def _principals(page: InboxPage, offered: list[Saved]) -> set[str]:
    return {row.proposal.author for row in page.rows} | {each.row.owner for each in offered}


def _choices(scope: TenantScope, wanted: InboxFilter, now: datetime) -> dict[str, object]:
    """The context of the filter panel: scopes and facets with their counts, and the values that are set."""
    counts = inbox.counts(scope, wanted, now=now)
    return {
        "shows": [_tab(show, label, counts.shows[show]) for show, label in SHOWS.items()],
        "anything": counts.shows[inbox.ALL],
        "facets": facets_of(wanted, counts),
        "chips": filter_chips(wanted),
        "cleared": address(query_of(InboxFilter(wanted.show))),
        "query": query_of(wanted),
    }


def _tab(show: str, label: str, count: int) -> Tab:
    return Tab(show, label, f"{reverse('proposals')}?show={show}", count)


def _addresses(page: InboxPage, cursor: pages.Cursor, base: str, here: str) -> dict[str, object]:
    after = paging.cursor("prop", page.after)
    return {
        "permalink": here,
        "older": address(base, after=after, seen=page.last) if after else "",
        "newest": address(base) if cursor.after else "",
        "as_json": address(base, format="json"),
        "as_csv": address(base, format="csv"),
    }


def _acts(scope: TenantScope, wanted: InboxFilter, page: InboxPage, now: datetime) -> dict[str, object]:
    """The actions this principal may take on rows, and a selection of all matches when they exceed the page."""
    may = {action: rules.denial(scope, action, None) is None for action in (*bulk_actions.ACTIONS, "decide")}
    may_end = may["reject"] or may["archive"]
    more = may_end and len(page.rows) < page.total <= bulk_actions.MOST
    everything = bulk_actions.all_matching(scope, wanted, now=now) if more else None
    return {
        "may": may,
        "may_end": may_end,
        "most": bulk_actions.MOST,
        "every": bulk_actions.seal(scope, everything) if everything else "",
        "every_count": len(everything.ids) if everything else 0,
    }


def _document(row: Row) -> dict[str, object]:
    """A row as JSON: the proposal, its current revision and its latest gate, without the artifact."""
    proposal, gate = row.proposal, row.gate
    return {
        "id": ids.wire("prop", proposal.id),
        "kind": proposal.kind,
        "purpose": proposal.purpose,
        "state": proposal.state,
        "title": proposal.title,
        "revision": proposal.revision,
        "sha256": row.sha256,
        "linesAdded": row.added,
        "linesRemoved": row.removed,
        "gateState": row.word,
        "votes": row.grants if gate else None,
        "quorum": gate.quorum if gate else None,
        "overridden": row.overridden,
        "sourceRunIds": proposal.source_run_ids,
        "duplicateOf": proposal.duplicate_of,
        "synthesizer": proposal.synthesizer_model or None,
        "agentId": proposal.agent_id or None,
        "author": proposal.author,
        "createdAt": instant(proposal.created_at),
        "updatedAt": instant(proposal.updated_at),
        "installedArtifactRef": proposal.installed_ref,
        "overtakenBy": row.overtaken_by or None,
    }


# Bulk rejection and archiving: a confirmation page, then all or nothing.


@dataclass(frozen=True, slots=True)
class Note:
    """A remark about one of the proposals; ``title`` is None for one that does not exist."""

    wire_id: str
    title: str | None
    words: str


@pages.parameters("next", "every", "chosen", "action", several=("id",))
@require_http_methods(["GET", "HEAD", "POST"])
def end(request: HttpRequest) -> HttpResponse:
    """Show the effect on the selected proposals and ask for a reason; then reject or archive all of them or none."""
    scope, now = tenancy.scope_of(request), timezone.now()
    given = request.POST if request.method == "POST" else request.GET
    if request.method == "POST":
        asked = [each for each in bulk_actions.ACTIONS if each == given.get("action")]
        rules.authorize_one_of(scope, asked or bulk_actions.ACTIONS, now=now)
    if not any(given.get(name) for name in ("chosen", "every", "id")):
        messages.error(request, "Choose at least one proposal.")
        return redirect(pages.back(request, reverse("proposals")))
    action, selection = given.get("action", ""), _selection(scope, given)
    if request.method != "POST":
        drift = bulk_actions.drift(scope, selection, now=now)
        news: dict[str, Any] = {"drifted": _news(scope, drift, now)} if drift else {}
        return _confirm(request, scope, action, selection, now, status=409 if drift else 200, **news)
    form = EndForm(request.POST)
    sent = pages.submit(form, lambda data: bulk_actions.end(scope, action, selection, reason=data["reason"], now=now))
    if sent.result:
        number = len(sent.result)
        messages.success(request, f"{number} proposal{'s are' if number > 1 else ' is'} {DONE[action]}.")
        return redirect(_back(selection))
    more = _refused(scope, sent.conflict, now) if sent.conflict else {}
    return _confirm(request, scope, action, selection, now, form=form, status=sent.status, **more)


def _selection(scope: TenantScope, given: QueryDict) -> Selection:
    """The selection: a sealed one from an earlier page, all that matched, or the ticked boxes."""
    sealed = given.get("chosen") or given.get("every")
    return bulk_actions.unseal(scope, sealed) if sealed else bulk_actions.select_ids(given.getlist("id"))


def _back(selection: Selection) -> str:
    return address(query_of(selection.wanted) if selection.wanted else "")


def _confirm(
    request: HttpRequest,
    scope: TenantScope,
    action: str,
    selection: Selection,
    now: datetime,
    *,
    form: EndForm | None = None,
    status: int = 200,
    **more: object,
) -> HttpResponse:
    """The confirmation page with the reason field; ``more`` explains why nothing was changed."""
    plan = bulk_actions.plan(scope, action, selection, now=now)
    chosen = bulk_actions.seal(scope, selection)
    left = bulk_actions.seal(scope, Selection(tuple(plan.possible))) if plan.possible and not plan.stands else ""
    renewed = bulk_actions.all_matching(scope, selection.wanted, now=now) if selection.wanted else None
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
        "again": bulk_actions.seal(scope, renewed) if renewed and "drifted" in more else "",
        "again_count": len(renewed.ids) if renewed else 0,
        "back": _back(selection),
        **more,
    }
    return pages.render(request, "proposals/inbox_end.html", context, status=status)


def _refused(scope: TenantScope, conflict: Conflict, now: datetime) -> dict[str, object]:
    """Why nothing was changed: the filter now matches other proposals, or some cannot be ended."""
    details = conflict.details
    if "problems" in details:
        found = {each["id"]: each["message"] for each in details["problems"]}
        return {"problems": _notes(scope, found, now)}
    came, went = ([each for text in details[name] if (each := ids.parse("prop", text))] for name in ("came", "went"))
    return {"drifted": _news(scope, Drift(came, went), now)}


def _news(scope: TenantScope, drift: Drift, now: datetime) -> list[Note]:
    came = {ids.wire("prop", each): "matches now, and was not among those you chose." for each in drift.came}
    went = {ids.wire("prop", each): "was chosen, and does not match any more." for each in drift.went}
    return _notes(scope, {**came, **went}, now)


def _notes(scope: TenantScope, reasons: dict[str, str], now: datetime) -> list[Note]:
    rows = _by_id(inbox.chosen(scope, [each for text in reasons if (each := ids.parse("prop", text))], now=now))
    return [Note(text, rows[text].proposal.title if text in rows else None, words) for text, words in reasons.items()]


def _by_id(rows: Iterable[Row]) -> dict[str, Row]:
    return {ids.wire("prop", row.proposal.id): row for row in rows}
