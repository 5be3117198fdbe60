"""Consolidation: passes over memory with their counts, ordering and scheduling a pass, and possible duplicates."""

from dataclasses import dataclass

from django.contrib import messages
from django.db import transaction
from django.forms import Form
from django.http import HttpRequest, HttpResponse, QueryDict
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_POST, require_safe

from memory import adapter, memory_health, memory_policy, tasks
from memory.api.passes import LOOK_ALIKE, choice_of
from memory.forms import PassForm, PassScheduleForm
from memory.host import access, exports, ids, pages, registrations, tenancy
from memory.host.errors import Conflict
from memory.host.pages import Cleaned
from memory.host.paging import Page
from memory.host.tenancy import TenantScope
from memory.models import Pass, PassSchedule, Verb
from memory.passes import distillation, lookalikes, orders, pass_reports, pass_schedules
from memory.passes.lookalikes import Pair
from memory.passes.orders import KINDS, RequestedPass
from memory.passes.pass_schedules import PassTimes
from memory.views.passes import COLUMNS, document

HERE = ("consolidate", "compact")
WHAT = "Consolidation merges entries that say the same, and keeps what each merged entry was made from."
REFS_OFFERED, SCHEDULES_SHOWN = 500, 100


@dataclass(frozen=True, slots=True)
class Scheduled:
    """A schedule with the last pass it has made."""

    row: PassSchedule
    last: Pass | None


@pages.parameters("kind", "ref", *pages.LIST)
@require_safe
def consolidation(request: HttpRequest) -> HttpResponseBase:
    """The passes, newest first; those of one kind or ref when the address says so."""
    scope, kinds, ref = tenancy.scope_of(request), _kinds(request), pages.text_of(request, "ref")
    if not memory_health.advertises(registrations.advertised_capabilities(), "agents.memoryConsolidation"):
        scope.check("memory:read")
        return pages.unsupported(request, "consolidation", "Consolidation", "agents.memoryConsolidation", WHAT)
    if file_format := pages.file_format(request):
        scope.check("memory:read")
        rows = (document(row) for row in orders.export_passes(scope, kinds=kinds, memory_ref=ref))
        return exports.listing(file_format, "passes", rows, columns=COLUMNS)
    return _page(request, scope, PassForm(initial={"ref": ref}), PassScheduleForm(initial={"ref": ref}))


def _kinds(request: HttpRequest) -> tuple[str, ...]:
    """The kinds that the address asks for."""
    wanted = pages.word_of(request, "kind", (*sorted(KINDS), "all"))
    return tuple(sorted(KINDS)) if wanted == "all" else (wanted,) if wanted else HERE


def _page(
    request: HttpRequest, scope: TenantScope, form: PassForm, times: PassScheduleForm, *, status: int = 200
) -> HttpResponse:
    cursor, kinds, ref = pages.Cursor.from_request(request, "pass"), _kinds(request), pages.text_of(request, "ref")
    page = orders.page(scope, kinds=kinds, memory_ref=ref, before=cursor.after, size=pages.PAGE)
    context = {
        "nav": "consolidation",
        "now": timezone.now(),
        "rows": [pass_reports.summary(row) for row in page.rows],
        "kind": pages.text_of(request, "kind"),
        "ref": ref,
        "total": page.total,
        **cursor.links(len(page.rows), page.after),
        **pages.files(request),
        "filtered": bool(ref or kinds != HERE),
    }
    context |= {} if pages.wants_fragment(request) else _around(scope, form, times)
    fragment = "memory/consolidation_list.html"
    return pages.render(request, "memory/consolidation.html", context, fragment=fragment, status=status)


def _around(scope: TenantScope, form: PassForm, times: PassScheduleForm) -> dict[str, object]:
    """What stands around the list: the forms, the schedules, and whether a repeated pass was idle."""
    page = pass_schedules.page(scope, size=SCHEDULES_SHOWN)
    last = pass_schedules.last_passes(scope, page.rows)
    policy = memory_policy.policy_of(scope.tenant_id)
    return {
        "form": form,
        "times": times,
        "can_run": scope.can("passes:run"),
        "refs": adapter.console.distinct_values(scope, "ref", limit=REFS_OFFERED),
        "schedules": [Scheduled(row, last.get(row.id)) for row in page.rows],
        "schedules_total": page.total,
        "policy": policy,
        "next_night": policy.night_after(timezone.now()),
        "repeat": pass_reports.last_repeat(scope),
        "names": access.names_of(scope.tenant_id, {row.written_by for row in page.rows}),
    }


@pages.creates()
@require_POST
def order(request: HttpRequest) -> HttpResponse:
    """Order a pass and queue it, in one transaction, and lead to its page."""
    scope = tenancy.scope_of(request)
    scope.check("passes:run")
    form = PassForm(request.POST)
    sent = pages.submit(form, lambda data: _ordered(scope, data), called={"memoryRef": "ref"}, not_found="ref")
    if sent.result:
        return redirect("pass", ids.wire("pass", sent.result.id))
    return _page(request, scope, form, PassScheduleForm(), status=sent.status)


@transaction.atomic
def _ordered(scope: TenantScope, data: Cleaned) -> Pass:
    wanted = RequestedPass(data["kind"], data["ref"], dry_run=data["dry_run"])
    row = orders.order_now(scope, wanted, now=timezone.now())
    tasks.enqueue_pass(row)
    return row


@require_POST
def schedule(request: HttpRequest) -> HttpResponse:
    """The ref has this schedule for this kind from now on."""
    scope = tenancy.scope_of(request)
    scope.check("passes:run")
    times = PassScheduleForm(request.POST)
    sent = pages.submit(
        times,
        lambda data: pass_schedules.set_schedule(scope, _times(data), now=timezone.now()),
        called={"tokenBudget": "budget", "targetTokens": "target", "memoryRef": "ref"},
        not_found="ref",
    )
    if sent.result:
        messages.success(request, "The schedule is saved.")
        return redirect("consolidation")
    return _page(request, scope, PassForm(), times, status=sent.status)


def _times(data: Cleaned) -> PassTimes:
    return PassTimes(
        data["kind"],
        data["ref"],
        data["cron"],
        data["timezone"] or "UTC",
        distillation.options_of(budget=data["budget"], target=data["target"]),
        enabled=not data["rests"],
        keeps_options=True,
    )


@require_POST
def unschedule(request: HttpRequest, schedule_id: str) -> HttpResponse:
    """The schedule is gone; the passes that it has made stay."""
    pass_schedules.remove(tenancy.scope_of(request), ids.parse("psc", schedule_id), now=timezone.now())
    messages.success(request, "The schedule is removed. Its past passes are kept.")
    return redirect("consolidation")


SHOWN = 20
DONE = {Verb.MERGE: "Merged", Verb.REPLACE: "Replaced the older entry of", Verb.KEEP: "Kept both entries of"}
PAIR_COLUMNS = ("id", "memoryRef", "percent", "alikeIn", "foundAt", "older", "newer", "mergedInto", "sha256")


@pages.parameters("ref", "entry", *pages.LIST)
@require_safe
def look_alikes(request: HttpRequest) -> HttpResponseBase:
    """The pairs that wait, the most alike first; of one ref or with one entry when the address says so."""
    scope = tenancy.scope_of(request)
    if file_format := pages.file_format(request):
        rows = (LOOK_ALIKE.document(pair) for pair in _pair_page(scope, request, size=lookalikes.MOST_LISTED).rows)
        return exports.listing(file_format, "look-alikes", rows, columns=PAIR_COLUMNS)
    return _render_pairs(request, scope)


def _pair_page(scope: TenantScope, request: HttpRequest, *, size: int) -> Page[Pair]:
    return lookalikes.page(
        scope,
        memory_ref=pages.text_of(request, "ref"),
        entry_id=ids.parse("mem", pages.text_of(request, "entry")),
        after=pages.Cursor.from_request(request, "dup").after,
        size=size,
        now=timezone.now(),
    )


def _render_pairs(request: HttpRequest, scope: TenantScope, *, conflict: Conflict | None = None) -> HttpResponse:
    found, cursor = _pair_page(scope, request, size=SHOWN), pages.Cursor.from_request(request, "dup")
    context = {
        "nav": "look-alikes",
        "now": timezone.now(),
        "pairs": found.rows,
        "total": found.total,
        "ref": pages.text_of(request, "ref"),
        "entry": pages.text_of(request, "entry"),
        "can_decide": scope.can("passes:run"),
        "here": pages.canonical_address(request),
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
    choices, place = [choice_of(pair, digest) for pair, digest, _ in chosen], chosen[0][2]
    sent = pages.submit(Form(request.POST), lambda _: [lookalikes.decide(scope, verb, choices, now=timezone.now())])
    if sent.conflict or not sent.result:
        return _render_pairs(request, scope, conflict=sent.conflict)
    number = f"{len(choices)} pair{'s' if len(choices) > 1 else ''}"
    undo = " What was removed can be restored from its pass." if sent.result[0] else ""
    messages.success(request, f"{DONE[Verb(verb)]} {number}.{undo}")
    return redirect(f"{back}#next-{place if place.isdecimal() else 1}")


def _chosen(given: QueryDict) -> tuple[str, list[list[str]]]:
    """What is decided, and the pairs: of each its id, the digest of what was read, and its place on the page."""
    for verb in Verb.values:
        if value := given.get(verb):
            return verb, [_parts(value)]
    return given.get("decision", ""), [_parts(each) for each in dict.fromkeys(given.getlist("pair"))]


def _parts(value: str) -> list[str]:
    return [*value.split(":", 2), "", ""][:3]
