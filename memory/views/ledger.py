"""The memory ledger page: entries filtered, searched and paged, and their export as a file, also in the background."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import datetime
from functools import partial
from urllib.parse import parse_qsl, urlencode

from django.contrib import messages
from django.db import transaction
from django.http import HttpRequest, HttpResponse, QueryDict, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from memory import (
    adapter,
    entry_files,
    entry_selection,
    ledger_exports,
    ledger_search,
    saved_filters,
    tasks,
)
from memory.entry_selection import Matching
from memory.forms import ExportForm, SavedFilterForm
from memory.host import access, exports, ids, pages, tenancy
from memory.host.errors import Conflict
from memory.host.models import SavedFilter
from memory.host.pages import Chip, Facet, Option
from memory.host.tenancy import TenantScope
from memory.ledger_search import FacetCounts, LedgerFilter, LedgerPage
from memory.models import Pass
from memory.recordings import Reader
from memory.run_timeline import OPENINTENT
from memory.templatetags.memory_words import last_part
from memory.wire import instant

# Query parameter -> field of the filter.
FIELD_OF = {each.parameter: name for name, each in ledger_search.FIELDS.items()}
BOUNDS = ("since", "until")
BY = ledger_search.FIELDS["principal"].parameter
TIMES = {"age": "Created", "since": "From", "until": "To"}
WORDS = {**{each.parameter: each.label for each in ledger_search.FIELDS.values()}, **TIMES}
STATES = {"": "Active", "retired": "Retired", "all": "Active and retired"}
AGES = {"": "Any time", "1h": "Last hour", "24h": "Last 24 hours", "7d": "Last 7 days", "30d": "Last 30 days"}
# The columns that a person may leave out, by the words in their heads; tags stand in the first, beside the text.
TABLE = {"tags": "Tags", "agent": "Agent and ref", "writer": "Written by", "created": "Created", "expires": "Expires"}
YEAR = 365 * 86_400
OFFERED = 500
TYPED = frozenset({"tag", "subject", "memory_ref"})


@pages.parameters(*FIELD_OF, *TIMES, *pages.LIST, "columns", several=("column",))
@require_safe
def ledger(request: HttpRequest) -> HttpResponseBase:
    """The ledger as a page, as its list alone, or as a file."""
    if request.GET.get("columns"):
        return _choose_columns(request)
    scope, now = tenancy.scope_of(request), timezone.now()
    wanted = wanted_of(request, now)
    cursor = pages.Cursor.from_request(request, "mem")
    scope.check("memory:read")  # a file is read after its headers are sent
    if pages.file_format(request) == "csv":
        return exports.download("entries", entry_files.csv_parts(ledger_search.export_chunks(scope, wanted, now=now)))
    if pages.file_format(request) == "json":
        entries = map(entry_files.document_of, ledger_search.export_entries(scope, wanted, now=now))
        return exports.listing("json", "entries", entries)
    page = ledger_search.ledger_page(scope, wanted, after=cursor.after, seen=cursor.seen, size=pages.PAGE, now=now)
    context = {"nav": "memory", "now": now, "page": page, "wanted": wanted, **_addresses(request, scope, page, cursor)}
    context["narrower"] = _narrower(request, wanted) if page.is_ranked else {}
    context |= _acts(scope, wanted, page, now)
    context["columns"] = columns = _columns(request)
    context |= _around(request, scope, wanted, page, now)
    context["shown"] = [Option(name, label, name in columns) for name, label in TABLE.items()]
    context |= {"set": _filter_items(request), **_saved(request, scope)}
    response = pages.render(request, "memory/ledger.html", context, fragment="memory/ledger_entries.html")
    response["HX-Push-Url"] = pages.canonical_address(request)
    return response


def _choose_columns(request: HttpRequest) -> HttpResponseBase:
    """The columns are kept in a cookie, like the other preferences of this browser."""
    answer = redirect(pages.address(request, columns="", column=""))
    chosen = [each for each in TABLE if each in request.GET.getlist("column")]
    kept = ".".join(chosen) or "none"
    secure = request.is_secure()
    answer.set_cookie("columns", kept, max_age=YEAR, samesite="Lax", secure=secure, httponly=True)
    return answer


def _columns(request: HttpRequest) -> list[str]:
    """Those that this browser was told to show; all, when it was told nothing."""
    kept = request.COOKIES.get("columns")
    return [each for each in TABLE if each in kept.split(".")] if kept else list(TABLE)


@pages.parameters(*FIELD_OF, *TIMES)
@require_http_methods(["GET", "HEAD", "POST"])
def save_filter(request: HttpRequest) -> HttpResponse:
    """Ask for a name, then keep the filter that the ledger had under it."""
    scope, now = tenancy.scope_of(request), timezone.now()
    scope.check("memory:read")
    query = request.POST.get("query", "") if request.method == "POST" else urlencode(_filter_items(request))
    filter_of(query, now)  # refuses what the ledger would refuse
    form = SavedFilterForm(request.POST if request.method == "POST" else None).focus("name")
    save = partial(saved_filters.save_filter, scope, saved_filters.LEDGER, now=now)
    return _name_filter(request, scope, query, form, save, "The view is saved.")


@require_http_methods(["GET", "HEAD", "POST"])
def rename_filter(request: HttpRequest, filter_id: str) -> HttpResponse:
    """Ask for another name of one's own saved filter."""
    scope, row_id = tenancy.scope_of(request), ids.parse("flt", filter_id)
    row = saved_filters.own_filter(scope, saved_filters.LEDGER, row_id)
    given = {**request.POST.dict(), "query": row.query} if request.method == "POST" else None
    form = SavedFilterForm(given, initial={"name": row.name, "shared": row.shared}).focus("name")
    rename = partial(saved_filters.rename_filter, scope, saved_filters.LEDGER, row_id)
    return _name_filter(request, scope, row.query, form, rename, "The view is renamed.", filter_id=filter_id)


def _name_filter(
    request: HttpRequest,
    scope: TenantScope,
    query: str,
    form: SavedFilterForm,
    act: Callable[..., SavedFilter],
    done: str,
    *,
    filter_id: str = "",
) -> HttpResponse:
    """The form that names a filter, until ``act`` has stored what it says; ``filter_id`` is that of a saved one."""
    if form.is_bound:
        sent = pages.submit(form, lambda data: act(**data))
        if sent.result:
            messages.success(request, done)
            return redirect(f"{reverse('memory')}?{sent.result.query}")
        if sent.conflict:
            form.add_error("name", sent.conflict.message)
    chips = _chips(scope, [(name, value) for name, value in parse_qsl(query) if name in WORDS])
    context = {"nav": "memory", "permalink": "", "form": form, "query": query, "chips": chips, "filter_id": filter_id}
    return pages.render(request, "memory/ledger_view.html", context, status=422 if form.is_bound else 200)


@pages.parameters("next")
@require_POST
def remove_filter(request: HttpRequest, filter_id: str) -> HttpResponse:
    """One's own saved filter is gone; the list stays as it is."""
    saved_filters.remove_filter(tenancy.scope_of(request), saved_filters.LEDGER, ids.parse("flt", filter_id))
    messages.success(request, "The saved view is removed.")
    return redirect(pages.back(request, reverse("memory")))


def _filter_items(request: HttpRequest) -> list[tuple[str, str]]:
    """The filter as the address has it."""
    return [(name, value) for name in (*FIELD_OF, *TIMES) if (value := pages.text_of(request, name))]


def _saved(request: HttpRequest, scope: TenantScope) -> dict[str, object]:
    query = urlencode(_filter_items(request))
    offered = [] if pages.wants_fragment(request) else saved_filters.list_filters(scope, saved_filters.LEDGER)
    gone = {"state": "all", **dict(_filter_items(request))}
    where = f"{reverse('memory-reach')}?{urlencode(gone)}" if scope.can("runs:read") else ""
    return {"views": offered, "query": query, "me": scope.principal.id, "where": where}


def _acts(scope: TenantScope, wanted: LedgerFilter, page: ledger_search.LedgerPage, now: datetime) -> dict[str, object]:
    """What can be done with entries that are selected, and the filter of all that match, when a page is not all."""
    return {
        "can_select": scope.can("memory:retire"),
        "matching": query_of(wanted) if page.total > len(page.entries) else None,
        "can_forget": scope.can("memory:forget"),
    }


def query_of(wanted: LedgerFilter) -> str:
    """The query that asks for this, with its times as they are now."""
    said = {name: getattr(wanted, field) for name, field in FIELD_OF.items()}
    times = {name: at.isoformat() for name in BOUNDS if (at := getattr(wanted, name))}
    return urlencode({name: value for name, value in {**said, **times}.items() if value})


def filter_of(query: str, now: datetime) -> LedgerFilter:
    """The filter that a query asks for."""
    request = HttpRequest()
    request.GET = QueryDict(query)
    return wanted_of(request, now)


def wanted_of(request: HttpRequest, now: datetime) -> LedgerFilter:
    """The filter that an address of the ledger says."""
    given = {}
    for field, declared in ledger_search.FIELDS.items():
        name, words = declared.parameter, declared.words
        if value := pages.word_of(request, name, words) if words else pages.text_of(request, name):
            given[field] = value
    age = pages.word_of(request, "age", ledger_search.AGES)
    since, until = pages.moment_of(request, "since"), pages.moment_of(request, "until", end=True)
    if age:
        since = max(filter(None, (since, now - ledger_search.AGES[age])))
    return LedgerFilter(**given, since=since, until=until)


def _addresses(
    request: HttpRequest, scope: TenantScope, page: ledger_search.LedgerPage, cursor: pages.Cursor
) -> dict[str, object]:
    """Where the links of the list lead, each with the filter that is set."""
    return {
        "oob": pages.wants_fragment(request),
        "permalink": pages.canonical_address(request),
        **cursor.links(len(page.entries), page.after),
        **pages.files(request),
        "chips": _chips_set(request, scope),
        "as_export": reverse("memory-export") + pages.address(request).removeprefix(request.path),
    }


def _narrower(request: HttpRequest, wanted: LedgerFilter) -> dict[str, str]:
    """Where a search that any of its words matches asks for every word, and for the words as they were typed; empty
    for one that has a single word to match, or is taken as typed already."""
    if not ledger_search.matches_any_word(wanted):
        return {}
    return {
        "every_word": pages.address(request, order=ledger_search.NEWEST),
        "as_typed": pages.address(request, q=wanted.text_in_quotes()),
    }


def _chips_set(request: HttpRequest, scope: TenantScope) -> list[Chip]:
    """What the address filters by, each with the address without it."""
    chosen = [each for each in _filter_items(request) if each != ("state", "present")]
    return [
        replace(chip, url=pages.address(request, **{name: ""}))
        for (name, _), chip in zip(chosen, _chips(scope, chosen), strict=True)
    ]


def _chips(scope: TenantScope, chosen: list[tuple[str, str]]) -> list[Chip]:
    names = (
        access.names_of(scope.tenant_id, [value for name, value in chosen if name == BY])
        if dict(chosen).get(BY)
        else {}
    )
    spoken = {"age": AGES, BY: names, "state": STATES}
    return [Chip(WORDS[name], spoken.get(name, {}).get(value, value)) for name, value in chosen]


def _around(
    request: HttpRequest, scope: TenantScope, wanted: LedgerFilter, page: LedgerPage, now: datetime
) -> dict[str, object]:
    """The choices beside the list; an older page of it has the same."""
    if pages.wants_fragment(request) and request.GET.get("after"):
        return {}
    counted = ledger_search.facet_counts(scope, wanted, now=now)
    names = access.names_of(scope.tenant_id, {*counted["principal"].of, wanted.principal} - {""})
    age, bounds = pages.text_of(request, "age"), {name: pages.text_of(request, name) for name in BOUNDS}
    offered = [
        _fixed("state", STATES, wanted.state.removeprefix("present"), counted["state"], unset="present"),
        _fixed("age", AGES, age, counted["age"]),
        *(_facet(name, getattr(wanted, name), counted[name], names) for name in ledger_search.FACETS),
    ]
    days = {name: (text, "date" if not text or pages.DAY.fullmatch(text) else "text") for name, text in bounds.items()}
    shared = [] if pages.wants_fragment(request) else adapter.console.distinct_values(scope, "namespace", limit=OFFERED)
    return {"facets": [_as_far_as_known(each, page) for each in offered if each], "namespaces": shared, "days": days}


def _fixed(name: str, words: dict[str, str], chosen: str, counted: FacetCounts, *, unset: str = "") -> Facet:
    """A facet with the same choices in every ledger; the one that is ``unset`` in an address has this name among what
    is counted."""
    behind = {value: counted.of.get(value or unset, 0) if value or unset else None for value in words}
    options = [Option(each, word, each == chosen, behind[each], counted.is_bound) for each, word in words.items()]
    return Facet(name, WORDS[name], options)


def _as_far_as_known(facet: Facet, page: LedgerPage) -> Facet:
    """The facet where only some entries were counted: the page's own total stands behind the option that is chosen, and
    nothing behind one that none of them has."""
    options = []
    for each in facet.options:
        if each.selected and each.is_bound and page.total > (each.count or 0):
            options.append(replace(each, count=page.total, is_bound=not page.total_is_exact))
        else:
            options.append(replace(each, count=None) if each.is_bound and not each.count else each)
    return replace(facet, options=options)


def _facet(name: str, chosen: str, counted: FacetCounts, principals: Mapping[str, str]) -> Facet | None:
    """The values that most of the entries have; the chosen one stays on offer, whether or not one has it. None where
    there is nothing to choose from."""
    most = sorted(counted.of, key=lambda value: (-counted.of[value], value))[:OFFERED]
    values = most if chosen in {"", *most} else [chosen, *most]
    if not values:
        return None
    spoken: dict[str, Callable[[str], str]] = {
        "agent": last_part,
        "node": _node_name,
        "principal": lambda each: principals.get(each, each),
    }
    field, short = ledger_search.FIELDS[name], spoken.get(name, str)
    options = [
        Option(each, short(each), each == chosen, counted.of.get(each, 0), counted.is_bound, each) for each in values
    ]
    any_value = Option("", "Any", not chosen)
    folded = field.folded and not chosen
    return Facet(field.parameter, field.label, [any_value, *options], folded=folded, is_typed=name in TYPED)


def _node_name(node_id: str) -> str:
    """What a facet calls a node; what an agent writes over OpenIntent, outside of a task, no node wrote."""
    return "None: over OpenIntent" if node_id == OPENINTENT else node_id


READER_COLUMNS = ("runId", "workflowId", "status", "startedBy", "entriesRead", "readAt")


@pages.parameters(*FIELD_OF, *TIMES, "format")
@require_safe
def reach(request: HttpRequest) -> HttpResponseBase:
    """Where the entries that the address filters have gone: which runs read them, which archives keep their text, and
    what they replaced. Its files have the runs."""
    scope, now = tenancy.scope_of(request), timezone.now()
    matching = Matching.now(scope, wanted_of(request, now))
    if file_format := pages.file_format(request):
        rows = map(_reader_row, entry_selection.every_reader(scope, matching, now=now))
        return exports.listing(file_format, "readers", rows, columns=READER_COLUMNS)
    found = entry_selection.reach_of_all(scope, matching, now=now)
    page = ledger_search.ledger_page(scope, matching.wanted, size=1, now=now)
    context = {"nav": "memory", "now": now, "reach": found, "page": page, "chips": _chips_set(request, scope)}
    context["names"] = access.names_of(scope.tenant_id, {each.run.principal for each in found.readers.shown})
    context["list"] = reverse("memory") + pages.address(request).removeprefix(request.path)
    return pages.render(request, "memory/reach.html", context | pages.files(request))


def _reader_row(each: Reader) -> dict[str, object]:
    return {
        "runId": ids.wire("run", each.run.id),
        "workflowId": each.run.workflow_id,
        "status": each.run.status,
        "startedBy": each.run.principal,
        "entriesRead": each.entries,
        "readAt": instant(each.read_at),
    }


CONTENT_TYPES = {
    ledger_exports.CSV: "text/csv; charset=utf-8",
    ledger_exports.JSON_LINES: "application/jsonl; charset=utf-8",
}


@pages.creates()
@pages.parameters(*FIELD_OF, *TIMES)
@require_http_methods(["GET", "HEAD", "POST"])
def ledger_export(request: HttpRequest) -> HttpResponse:
    """What the address filters goes into a file: a form to begin with it, and this person's export."""
    scope = tenancy.scope_of(request)
    scope.check("memory:read")
    wanted = wanted_of(request, timezone.now())
    if request.method != "POST":
        return _page(request, scope, wanted, ExportForm())
    form = ExportForm(request.POST)
    sent = pages.submit(form, lambda data: _ordered(scope, wanted, data["format"]))
    if sent.result:
        return redirect(pages.address(request))
    return _page(request, scope, wanted, form, conflict=sent.conflict, status=sent.status)


@transaction.atomic
def _ordered(scope: TenantScope, wanted: LedgerFilter, form: str) -> Pass:
    """Asked for and queued together, or neither."""
    row = ledger_exports.order(scope, wanted, form, now=timezone.now())
    tasks.enqueue_pass(row)
    return row


def _page(
    request: HttpRequest,
    scope: TenantScope,
    wanted: LedgerFilter,
    form: ExportForm,
    *,
    conflict: Conflict | None = None,
    status: int = 200,
) -> HttpResponse:
    now = timezone.now()
    found = ledger_exports.latest(scope, now=now)
    context: dict[str, object] = {"nav": "memory", "now": now, "export": found, "here": pages.address(request)}
    if found:
        context["seconds"] = ((found.work.finished_at or now) - found.work.created_at).total_seconds()
    if pages.wants_fragment(request):
        status = pages.poll_status(request, over=found is None or not found.is_open)
    else:
        context |= {"form": form, "conflict": conflict, "chips": _chips_set(request, scope)}
        context["page"] = ledger_search.ledger_page(scope, wanted, size=1, now=now)
    return pages.render(request, "memory/export.html", context, fragment="memory/export_state.html", status=status)


@require_POST
def download(request: HttpRequest) -> HttpResponseBase:
    """The file. A POST, since it is put on record."""
    found, pieces = ledger_exports.open_file(tenancy.scope_of(request), now=timezone.now())
    response = StreamingHttpResponse(pieces, content_type=CONTENT_TYPES[found.format])
    response["Content-Disposition"] = f'attachment; filename="{found.name}"'
    response["Cache-Control"] = "no-store"
    return response


@require_POST
def remove(request: HttpRequest) -> HttpResponse:
    """The export is cancelled, or its file deleted."""
    ledger_exports.remove(tenancy.scope_of(request), now=timezone.now())
    return redirect(pages.back(request, reverse("memory-export")))
