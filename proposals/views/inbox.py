"""The inbox of proposals: whose, filtered and searched, paged to the end, and as a file."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any
from urllib.parse import urlencode

from django.http import HttpRequest, QueryDict
from django.http.response import HttpResponseBase
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_safe

from memory.host import access, advertised, exports, ids, pages, tenancy
from memory.host.tenancy import TenantScope
from memory.wire import instant
from proposals import inbox as proposals_inbox
from proposals import rules, selections
from proposals.inbox import InboxFilter, InboxPage, Row
from proposals.views import facets, filters, review
from proposals.views.facets import Option
from proposals.views.filters import Saved

__all__ = ["Option", "Tab", "inbox"]

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
)


@dataclass(frozen=True, slots=True)
class Tab:
    """One tab of the review, an address of its own."""

    name: str
    label: str
    url: str
    count: int | None = None


@pages.parameters("saved", "show", *filters.SEVERAL, *filters.ONE, *pages.LIST)
@require_safe
def inbox(request: HttpRequest) -> HttpResponseBase:
    """The proposals, newest first; ``saved`` in the address stands for the filter of that name."""
    scope, now = tenancy.scope_of(request), timezone.now()
    if "proposals" not in advertised.document().get("agents", {}):
        text = "Proposals are what agents and people would change in production; a gate decides about each."
        return pages.unsupported(request, "proposals", "Proposals", "agents.proposals", text)
    scope.check("proposals:read")
    offered = filters.saved(scope, pages.text_of(request, "saved"))
    chosen = next((each for each in offered if each.chosen), None)
    wanted = filters.of_query(QueryDict(chosen.row.query) if chosen else request.GET)
    if request.GET.get("format") in exports.FORMATS:
        rows = map(_document, proposals_inbox.every(scope, wanted, now=now))
        return exports.listing(request.GET["format"], "proposals", rows, columns=COLUMNS)
    return _page(request, scope, wanted, offered, chosen, now)


def _page(
    request: HttpRequest,
    scope: TenantScope,
    wanted: InboxFilter,
    offered: list[Saved],
    chosen: Saved | None,
    now: datetime,
) -> HttpResponseBase:
    cursor = pages.Cursor.of(request, "prop")
    page = proposals_inbox.page(scope, wanted, after=cursor.after, seen=cursor.seen, now=now)
    base = urlencode({"saved": chosen.row.slug}) if chosen else filters.query_of(wanted)
    here = filters.address(base, after=request.GET.get("after") if cursor.after else "", seen=cursor.seen or "")
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


def _choices(scope: TenantScope, wanted: InboxFilter, now: datetime) -> dict[str, Any]:
    """The scopes and facets, each with how many there are behind it, and what is set."""
    counts = proposals_inbox.counts(scope, wanted, now=now)
    chips = facets.chips(wanted)
    return {
        "shows": [_tab(show, label, counts.shows[show]) for show, label in facets.SHOWS.items()],
        "anything": counts.shows[proposals_inbox.ALL],
        "facets": facets.of(wanted, counts),
        "chips": [(chip, filters.address(filters.query_of(chip.without))) for chip in chips],
        "cleared": filters.address(filters.query_of(InboxFilter(wanted.show))),
        "query": filters.query_of(wanted),
    }


def _tab(show: str, label: str, count: int) -> Tab:
    return Tab(show, label, f"{reverse('proposals')}?show={show}", count)


def _addresses(page: InboxPage, cursor: pages.Cursor, base: str, here: str) -> dict[str, Any]:
    after = ids.wire("prop", page.after) if page.after else ""
    return {
        "permalink": here,
        "older": filters.address(base, after=after, seen=page.last) if after else "",
        "newest": filters.address(base) if cursor.after else "",
        "as_json": filters.address(base, format="json"),
        "as_csv": filters.address(base, format="csv"),
    }


def _acts(scope: TenantScope, wanted: InboxFilter, page: InboxPage, now: datetime) -> dict[str, Any]:
    """What this principal may do to rows, and all that match as a selection when the page is not all of them."""
    may = {action: rules.denial(scope, action, None) is None for action in (*selections.ACTIONS, "decide")}
    may_end = may["reject"] or may["archive"]
    more = may_end and len(page.rows) < page.total <= selections.MOST
    everything = selections.all_matching(scope, wanted, now=now) if more else None
    return {
        "may": may,
        "may_end": may_end,
        "most": selections.MOST,
        "every": selections.seal(scope, everything) if everything else "",
        "every_count": len(everything.ids) if everything else 0,
    }


def _document(row: Row) -> dict[str, Any]:
    """The proposal with its standing revision and its latest gate, without the artifact."""
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
        "gateState": row.standing,
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
    }
