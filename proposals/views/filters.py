"""What an address of the inbox asks for, and the filters that were saved under a name."""

from dataclasses import dataclass
from urllib.parse import urlencode

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_http_methods, require_POST

from memory.host import ids, pages, saved_filters, tenancy
from memory.host.errors import NotFound
from memory.host.models import SavedFilter
from memory.host.tenancy import TenantScope
from proposals import inbox
from proposals.forms import SavedFilterForm
from proposals.inbox import InboxFilter
from proposals.views import facets

PAGE = "proposals"
# The field of the filter behind each name in an address. Those of one value come last.
SEVERAL = {
    "gate": "gates",
    "state": "states",
    "kind": "kinds",
    "synthesizer": "synthesizers",
    "duplicate": "duplicates",
    "purpose": "purposes",
}
ONE = {"age": "age", "q": "text"}
MOST_VALUES = 50


def of_query(query: QueryDict) -> InboxFilter:
    """What the query asks for, as far as a database could hold it."""
    show = _clean(query.get("show", ""))
    several = {field: tuple(_values(query, name)) for name, field in SEVERAL.items()}
    one = {field: _clean(query.get(name, "")) for name, field in ONE.items()}
    return InboxFilter(show if show in inbox.SHOWS else inbox.ALL, **several, **one)  # type: ignore[arg-type]


def _values(query: QueryDict, name: str) -> list[str]:
    return list(dict.fromkeys(value for each in query.getlist(name)[:MOST_VALUES] if (value := _clean(each))))


def _clean(text: str) -> str:
    return text.replace("\x00", "").strip()[: pages.LONGEST]


def query_of(wanted: InboxFilter) -> str:
    """The query that asks for this; empty for everything."""
    pairs = [("show", wanted.show)] if wanted.show != inbox.ALL else []
    pairs += [(name, value) for name, field in SEVERAL.items() for value in getattr(wanted, field)]
    pairs += [(name, value) for name, field in ONE.items() if (value := getattr(wanted, field))]
    return urlencode(pairs)


def address(query: str, **place: object) -> str:
    """The address of the inbox with this query, and where in the list it is."""
    more = urlencode({name: value for name, value in place.items() if value not in ("", None)})
    whole = "&".join(part for part in (query, more) if part)
    return f"{reverse('proposals')}?{whole}" if whole else reverse("proposals")


@dataclass(frozen=True, slots=True)
class Saved:
    """A saved filter, as the inbox offers it."""

    row: SavedFilter
    url: str
    mine: bool
    chosen: bool

    @property
    def wire_id(self) -> str:
        return ids.wire("flt", self.row.id)


def saved(scope: TenantScope, slug: str) -> list[Saved]:
    """Those this principal may use, by name; the one of that slug is the chosen one, and refused when there is none.

    Where a slug means another one, a filter is reached by what it asks for.
    """
    kept = saved_filters.of_page(scope, PAGE)
    meant = saved_filters.by_slug(scope, kept)
    if slug and slug not in meant:
        raise NotFound("There is no saved filter by that name.")
    return [_offered(scope, each, meant[each.slug] is each, slug) for each in kept]


def _offered(scope: TenantScope, row: SavedFilter, is_meant: bool, slug: str) -> Saved:
    url = address(urlencode({"saved": row.slug}) if is_meant else row.query)
    return Saved(row, url, row.owner == scope.principal.id, is_meant and row.slug == slug)


@pages.parameters("show", *SEVERAL, *ONE)
@require_http_methods(["GET", "HEAD", "POST"])
def keep(request: HttpRequest) -> HttpResponse:
    """Ask for a name, then keep the filter that the inbox had under it."""
    scope, now = tenancy.scope_of(request), timezone.now()
    scope.check("proposals:read")
    given = QueryDict(request.POST.get("query", "")) if request.method == "POST" else request.GET
    wanted = of_query(given)
    query = query_of(wanted)
    form = SavedFilterForm({**request.POST.dict(), "query": query} if request.method == "POST" else None)
    if form.is_bound:
        sent = pages.submit(form, lambda data: saved_filters.keep(scope, PAGE, **data, now=now))
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
        "chips": facets.chips(wanted),
        "show": facets.SHOWS[wanted.show],
        "back": address(query),
    }
    return pages.render(request, "proposals/inbox_filter.html", context, status=422 if form.is_bound else 200)


@pages.parameters("next")
@require_POST
def remove(request: HttpRequest, filter_id: str) -> HttpResponse:
    """One's own saved filter is gone; the list it showed stays on the page."""
    scope = tenancy.scope_of(request)
    scope.check("proposals:read")
    saved_filters.remove(scope, ids.parse("flt", filter_id))
    messages.success(request, "The saved filter is removed.")
    return redirect(pages.back(request, reverse("proposals")))
