"""The inbox of proposals: whose, in which state, of which kind; paged to the end, and as a file."""

from dataclasses import dataclass
from typing import Any

from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_safe

from memory.host import exports, ids, pages, tenancy
from memory.host.tenancy import TenantScope
from memory.wire import instant
from proposals import inbox as lists
from proposals.inbox import InboxFilter, InboxPage
from proposals.models import Kind, Revision, State

SHOWS = {lists.NEEDS_ME: "Needs me", lists.MINE: "Mine", lists.ALL: "All"}
COLUMNS = (
    "id",
    "kind",
    "state",
    "title",
    "revision",
    "sha256",
    "author",
    "createdAt",
    "updatedAt",
    "installedArtifactRef",
)


@dataclass(frozen=True, slots=True)
class Option:
    """One choice of a facet."""

    value: str
    label: str
    selected: bool
    count: int | None = None


@dataclass(frozen=True, slots=True)
class Tab:
    """One tab of the review, an address of its own."""

    name: str
    label: str
    url: str
    count: int | None = None


@require_safe
def inbox(request: HttpRequest) -> HttpResponseBase:
    """The proposals, newest first."""
    scope, wanted = tenancy.scope_of(request), _wanted(request)
    cursor = pages.Cursor.of(request, "prop")
    page = lists.page(scope, wanted, after=cursor.after, seen=cursor.seen)
    if request.GET.get("format") in exports.FORMATS:
        rows = map(_row, lists.listing(scope, wanted))
        return exports.listing(request.GET["format"], "proposals", rows, columns=COLUMNS)
    context = {"nav": "proposals", "now": timezone.now(), "page": page, "wanted": wanted, **_choices(scope, wanted)}
    context |= _addresses(request, page, cursor)
    return pages.render(request, "proposals/inbox.html", context, fragment="proposals/inbox_list.html")


def _wanted(request: HttpRequest) -> InboxFilter:
    show = pages.text_of(request, "show")
    state, kind = pages.text_of(request, "state"), pages.text_of(request, "kind")
    return InboxFilter(show if show in SHOWS else lists.ALL, state, kind)


def _addresses(request: HttpRequest, page: InboxPage, cursor: pages.Cursor) -> dict[str, Any]:
    after = ids.wire("prop", page.after) if page.after else ""
    return {
        "older": pages.address(request, after=after, seen=page.last) if after else "",
        "newest": pages.address(request) if cursor.after else "",
        "as_json": pages.address(request, format="json"),
        "as_csv": pages.address(request, format="csv"),
    }


def _choices(scope: TenantScope, wanted: InboxFilter) -> dict[str, Any]:
    """The scopes and facets, each with how many there are behind it."""
    counts = lists.counts(scope, wanted)
    inbox_url = reverse("proposals")
    return {
        "shows": [Tab(show, label, f"{inbox_url}?show={show}", counts.shows[show]) for show, label in SHOWS.items()],
        "states": _options(list(State.values), counts.states, wanted.state),
        "kinds": _options(list(Kind.values), counts.kinds, wanted.kind),
    }


def _options(values: list[str], counts: dict[str, int], chosen: str) -> list[Option]:
    return [
        Option("", "Any", not chosen),
        *(Option(value, value, value == chosen, counts.get(value, 0)) for value in values),
    ]


def _row(revision: Revision) -> dict[str, Any]:
    """The proposal with its standing revision, without the artifact."""
    proposal = revision.proposal
    return {
        "id": ids.wire("prop", proposal.id),
        "kind": proposal.kind,
        "state": proposal.state,
        "title": proposal.title,
        "revision": revision.number,
        "sha256": revision.sha256,
        "author": proposal.author,
        "createdAt": instant(proposal.created_at),
        "updatedAt": instant(proposal.updated_at),
        "installedArtifactRef": proposal.installed_ref,
    }
