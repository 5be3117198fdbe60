"""The memory ledger: every entry of the tenant, filtered, searched, paged to the end, and as a file."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.utils import timezone
from django.views.decorators.http import require_safe

from memory import adapter, entry_files, search
from memory.addresses import Sensitivity, Tier
from memory.host import exports, pages, tenancy
from memory.host.tenancy import TenantScope
from memory.search import LedgerFilter

FIELDS = {
    "agent": "agent",
    "run": "run",
    "node": "node",
    "tag": "tag",
    "ref": "memory_ref",
    "q": "text",
    "state": "state",
    "tier": "tier",
    "namespace": "namespace",
    "sensitivity": "sensitivity",
    "system": "system",
    "thread": "thread",
    "order": "order",
}
LABELS = {"agent": "Agent", "node": "Node", "tag": "Tag", "ref": "Memory ref"}
KINDS: dict[str, tuple[str, type[StrEnum]]] = {"tier": ("Tier", Tier), "sensitivity": ("Sensitivity", Sensitivity)}
WORDS = {
    **LABELS,
    "run": "Run",
    "q": "Text",
    "state": "State",
    "tier": "Tier",
    "namespace": "Namespace",
    "sensitivity": "Sensitivity",
    "system": "System, as stated",
    "thread": "Thread, as stated",
    "order": "Order",
}
LISTED, OFFERED = 8, 500


@dataclass(frozen=True, slots=True)
class Option:
    value: str
    label: str
    selected: bool


@dataclass(frozen=True, slots=True)
class Facet:
    """One group of the sidebar: a short list of choices, or a menu when there are many."""

    name: str
    legend: str
    options: list[Option]
    folded: bool

    @property
    def is_long(self) -> bool:
        return len(self.options) > LISTED + 1


@dataclass(frozen=True, slots=True)
class Chip:
    """One filter that is set, and the address without it."""

    label: str
    value: str
    url: str


@pages.parameters(*FIELDS, *pages.LIST)
@require_safe
def ledger(request: HttpRequest) -> HttpResponseBase:
    """The ledger as a page, as its list alone, or as a file."""
    scope, now, wanted = tenancy.scope_of(request), timezone.now(), _wanted(request)
    cursor = pages.Cursor.of(request, "mem")
    page = search.ledger_page(scope, wanted, after=cursor.after, seen=cursor.seen, size=pages.PAGE, now=now)
    if request.GET.get("format") == "csv":
        return exports.download("entries", entry_files.csv_parts(search.export_chunks(scope, wanted, now=now)))
    if request.GET.get("format") == "json":
        entries = map(entry_files.document_of, search.export_entries(scope, wanted, now=now))
        return exports.listing("json", "entries", entries, columns=())
    context = {"nav": "memory", "now": now, "page": page, "wanted": wanted, **_addresses(request, page, cursor)}
    context["can_select"] = scope.can("memory:retire")
    context |= {} if pages.wants_fragment(request) else _around(scope, wanted)
    response = pages.render(request, "memory/ledger.html", context, fragment="memory/ledger_entries.html")
    response["HX-Push-Url"] = pages.here(request)
    return response


def _wanted(request: HttpRequest) -> LedgerFilter:
    given = {field: pages.text_of(request, name) for name, field in FIELDS.items()}
    state = given["state"] if given["state"] in search.STATES else "present"
    order = given["order"] if given["order"] in search.ORDERS else ""
    return LedgerFilter(**(given | {"state": state, "order": order}))


def _addresses(request: HttpRequest, page: search.LedgerPage, cursor: pages.Cursor) -> dict[str, Any]:
    """Where the links of the list lead, each with the filter that is set."""
    return {
        "oob": True,
        "permalink": pages.here(request),
        **cursor.links(len(page.entries), page.after),
        **pages.files(request),
        "chips": [
            Chip(WORDS[name], value, pages.address(request, **{name: ""}))
            for name in FIELDS
            if (value := pages.text_of(request, name)) and (name, value) != ("state", "present")
        ],
    }


def _around(scope: TenantScope, wanted: LedgerFilter) -> dict[str, Any]:
    """What stands around the list."""
    shared = adapter.values_of(scope, "namespace", limit=OFFERED)
    return {"facets": _facets(scope, wanted), "namespaces": shared, "oob": False}


def _facets(scope: TenantScope, wanted: LedgerFilter) -> list[Facet]:
    found = [_facet(scope, name, legend, getattr(wanted, FIELDS[name])) for name, legend in LABELS.items()]
    return [*found, *(_words(name, getattr(wanted, name)) for name in KINDS)]


def _words(name: str, chosen: str) -> Facet:
    """The words there are, of which OpenIntent's entries have one; folded until one is set."""
    legend, kind = KINDS[name]
    options = [Option("", "Any", not chosen), *(Option(each, each.value, each == chosen) for each in kind)]
    return Facet(name, legend, options, folded=not chosen)


def _facet(scope: TenantScope, name: str, legend: str, chosen: str) -> Facet:
    """The values there are; one that is set stays on offer, whether or not an entry has it."""
    values = adapter.values_of(scope, name, limit=OFFERED)
    values = values if chosen in {"", *values} else [chosen, *values]
    options = [Option("", "Any", not chosen), *(Option(value, value, value == chosen) for value in values)]
    return Facet(name, legend, options, folded=name == "ref" and not chosen)
