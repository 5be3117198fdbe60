"""Possible duplicates: two entries side by side that may say the same, for a person to merge, replace or keep."""

from django.contrib import messages
from django.forms import Form
from django.http import HttpRequest, HttpResponse, QueryDict
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_POST, require_safe

from memory.api.lookalikes import choice_of, look_alike_document
from memory.host import exports, ids, pages, tenancy
from memory.host.errors import Conflict
from memory.host.paging import Page
from memory.host.tenancy import TenantScope
from memory.models import Verb
from memory.passes import lookalikes
from memory.passes.lookalikes import Pair

SHOWN = 20
DONE = {Verb.MERGE: "Merged", Verb.REPLACE: "Replaced the older entry of", Verb.KEEP: "Kept both entries of"}
COLUMNS = ("id", "memoryRef", "percent", "foundAt", "older", "newer", "mergedInto", "sha256")


@pages.parameters("ref", "entry", *pages.LIST)
@require_safe
def look_alikes(request: HttpRequest) -> HttpResponseBase:
    """The pairs that wait, newest first; of one ref or with one entry when the address says so."""
    scope = tenancy.scope_of(request)
    if request.GET.get("format") in exports.FORMATS:
        rows = (look_alike_document(pair) for pair in _page(scope, request, size=lookalikes.MOST_LISTED).rows)
        return exports.listing(request.GET["format"], "look-alikes", rows, columns=COLUMNS)
    return _shown(request, scope)


def _page(scope: TenantScope, request: HttpRequest, *, size: int) -> Page[Pair]:
    return lookalikes.page(
        scope,
        memory_ref=pages.text_of(request, "ref"),
        entry_id=ids.parse("mem", pages.text_of(request, "entry")),
        after=pages.Cursor.of(request, "dup").after,
        size=size,
        now=timezone.now(),
    )


def _shown(request: HttpRequest, scope: TenantScope, *, conflict: Conflict | None = None) -> HttpResponse:
    found, cursor = _page(scope, request, size=SHOWN), pages.Cursor.of(request, "dup")
    context = {
        "nav": "look-alikes",
        "now": timezone.now(),
        "pairs": found.rows,
        "total": found.total,
        "ref": pages.text_of(request, "ref"),
        "entry": pages.text_of(request, "entry"),
        "can_decide": scope.can("passes:run"),
        "here": pages.here(request),
        "conflict": conflict,
        "problems": sorted({each["message"] for each in conflict.details.get("problems", [])}) if conflict else [],
        **cursor.links(len(found.rows), found.after),
        **pages.files(request),
    }
    fragment = "memory/look_alikes_list.html"
    return pages.render(request, "memory/look_alikes.html", context, fragment=fragment, status=409 if conflict else 200)


@pages.parameters("next")
@require_POST
def decide(request: HttpRequest) -> HttpResponse:
    """The pairs that were chosen are decided, all or none; or the one beside whose texts the button stands."""
    scope = tenancy.scope_of(request)
    scope.check("passes:run")
    verb, chosen = _chosen(request.POST)
    back = pages.back(request, reverse("look-alikes"))
    if not chosen or verb not in DONE:
        messages.error(request, "Nothing was decided. Select at least one pair and choose what to do.")
        return redirect(back)
    choices = [choice_of(*each.partition(":")[::2]) for each in chosen]
    sent = pages.submit(Form(request.POST), lambda _: [lookalikes.decide(scope, verb, choices, now=timezone.now())])
    if sent.conflict or not sent.result:
        return _shown(request, scope, conflict=sent.conflict)
    number = f"{len(choices)} pair{'s' if len(choices) > 1 else ''}"
    undo = " What was taken away can be restored from its pass." if sent.result[0] else ""
    messages.success(request, f"{DONE[Verb(verb)]} {number}.{undo}")
    return redirect(f"{back}#next")


def _chosen(given: QueryDict) -> tuple[str, list[str]]:
    for verb in Verb.values:
        if value := given.get(verb):
            return verb, [value]
    return given.get("decision", ""), list(dict.fromkeys(given.getlist("pair")))
