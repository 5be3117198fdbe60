"""The memory ledger: every entry of the tenant, filtered, searched, paged to the end, and as a file."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.utils import timezone
from django.views.decorators.http import require_safe

from memory import adapter, origins, search
from memory.addresses import Sensitivity, Tier
from memory.host import exports, pages, tenancy
from memory.host.tenancy import TenantScope
from memory.origins import Origin
from memory.search import LedgerFilter
from memory.wire import address_document

if TYPE_CHECKING:
    from memory.models.address import EntryAddress

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
OF_ADDRESS = ("tier", "namespace", "key", "version", "pinned", "priority", "sensitivity", "sealed")
NO_ADDRESS = ("",) * len(OF_ADDRESS)
NO_ORIGIN = ("",) * len(origins.MEMBERS)
COLUMNS = (
    "id", "memoryRef", "agentId", "nodeId", "runId", "content", "tags", "createdAt", "expiresAt", "state",
    *OF_ADDRESS, *(f"origin.{name}" for name in origins.MEMBERS),
)  # fmt: skip


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
        return exports.table("entries", COLUMNS, _cells(scope, wanted, now))
    if request.GET.get("format") == "json":
        return exports.listing(
            "json", "entries", map(row_of, search.export_entries(scope, wanted, now=now)), columns=()
        )
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


def _cells(scope: TenantScope, wanted: LedgerFilter, now: datetime) -> Iterator[list[str]]:
    """The cells of ``COLUMNS`` of each entry; in a table the parts of an address and of an origin have columns of their
    own."""
    cell = exports.cell
    for entry in search.export_entries(scope, wanted, now=now):
        at = entry.address
        yield [
            entry.id,
            cell(entry.memory_ref),
            cell(entry.agent_id),
            cell(entry.node_id),
            entry.run_id,
            cell(entry.content),
            cell(" ".join(entry.tags)),
            entry.created_at,
            entry.expires_at,
            "retired" if entry.retired_at else "present",
            *(NO_ADDRESS if at is None else _address_cells(at)),
            *(NO_ORIGIN if entry.origin is None else _origin_cells(entry.origin)),
        ]


def _address_cells(at: "EntryAddress") -> list[str]:
    document = address_document(at)["address"]
    return [exports.cell(document[name]) for name in OF_ADDRESS]


def _origin_cells(origin: Origin) -> list[str]:
    document = origin.document
    return [exports.cell(document.get(name)) for name in origins.MEMBERS]


def row_of(entry: adapter.Exported) -> dict[str, Any]:
    """An entry as files and APIs have it: the protocol's, and what the console knows beside it."""
    expires = {"expiresAt": entry.expires_at} if entry.expires_at else {}
    retired = {"retiredAt": entry.retired_at} if entry.retired_at else {}
    return {
        "id": entry.id,
        "content": entry.content,
        "tags": entry.tags,
        "createdAt": entry.created_at,
        **expires,
        "memoryRef": entry.memory_ref,
        "runId": entry.run_id,
        "nodeId": entry.node_id or None,
        "agentId": entry.agent_id or None,
        "state": "retired" if entry.retired_at else "present",
        **retired,
        **address_document(entry.address),
        **({"origin": entry.origin.document} if entry.origin else {}),
    }
