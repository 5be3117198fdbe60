"""Consolidation: the passes over memory with what went in and came out, one to be asked for, and when they come."""

from dataclasses import dataclass
from typing import Any

from django.contrib import messages
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.utils import timezone
from django.views.decorators.http import require_POST, require_safe

from memory import adapter, capabilities, policies, tasks
from memory.forms import PassForm, PassScheduleForm
from memory.host import access, advertised, exports, ids, pages, tenancy
from memory.host.tenancy import TenantScope
from memory.models import Pass, PassSchedule
from memory.passes import distillation, orders, pass_reports, schedules
from memory.passes.orders import KINDS, Wanted
from memory.passes.schedules import PassTimes
from memory.views.passes import document

HERE = ("consolidate", "compact")
WHAT = "Consolidation merges entries that say the same, and keeps what each merged entry was made from."
REFS_OFFERED, SCHEDULES_SHOWN = 500, 100
COLUMNS = (
    "id", "kind", "memoryRef", "state", "code", "trigger", "dryRun", "in", "out", "unusual", "runId", "requestedBy",
    "createdAt", "finishedAt",
)  # fmt: skip


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
    if not capabilities.advertises(advertised.document(), "agents.memoryConsolidation"):
        scope.check("memory:read")
        return pages.unsupported(request, "consolidation", "Consolidation", "agents.memoryConsolidation", WHAT)
    if request.GET.get("format") in exports.FORMATS:
        scope.check("memory:read")
        rows = (document(row) for row in orders.every(scope, kinds=kinds, memory_ref=ref))
        return exports.listing(request.GET["format"], "passes", rows, columns=COLUMNS)
    return _page(request, scope, PassForm(initial={"ref": ref}), PassScheduleForm(initial={"ref": ref}))


def _kinds(request: HttpRequest) -> tuple[str, ...]:
    """The kinds that the address asks for."""
    wanted = pages.word_of(request, "kind", (*sorted(KINDS), "all"))
    return tuple(sorted(KINDS)) if wanted == "all" else (wanted,) if wanted else HERE


def _page(
    request: HttpRequest, scope: TenantScope, form: PassForm, times: PassScheduleForm, *, status: int = 200
) -> HttpResponse:
    cursor, kinds, ref = pages.Cursor.of(request, "pass"), _kinds(request), pages.text_of(request, "ref")
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
    page = schedules.page(scope, size=SCHEDULES_SHOWN)
    last = schedules.last_passes(scope, page.rows)
    policy = policies.policy_of(scope.tenant_id)
    return {
        "form": form,
        "times": times,
        "can_run": scope.can("passes:run"),
        "refs": adapter.values_of(scope, "ref", limit=REFS_OFFERED),
        "schedules": [Scheduled(row, last.get(row.id)) for row in page.rows],
        "schedules_total": page.total,
        "policy": policy,
        "next_night": policy.night_after(timezone.now()),
        "repeat": pass_reports.last_repeat(scope),
        "names": access.names_of(scope.tenant_id, {row.written_by for row in page.rows}),
    }


@require_POST
def order(request: HttpRequest) -> HttpResponse:
    """A pass is asked for, and queued, or neither; its page tells the rest."""
    scope = tenancy.scope_of(request)
    scope.check("passes:run")
    form = PassForm(request.POST)
    sent = pages.submit(form, lambda data: _ordered(scope, data), called={"memoryRef": "ref"}, not_found="ref")
    if sent.result:
        return redirect("pass", ids.wire("pass", sent.result.id))
    return _page(request, scope, form, PassScheduleForm(), status=sent.status)


@transaction.atomic
def _ordered(scope: TenantScope, data: dict[str, Any]) -> Pass:
    wanted = Wanted(data["kind"], data["ref"], dry_run=data["dry_run"])
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
        lambda data: schedules.set_schedule(scope, _times(data), now=timezone.now()),
        called={"tokenBudget": "budget", "targetTokens": "target", "memoryRef": "ref"},
        not_found="ref",
    )
    if sent.result:
        messages.success(request, "The schedule is kept.")
        return redirect("consolidation")
    return _page(request, scope, PassForm(), times, status=sent.status)


def _times(data: dict[str, Any]) -> PassTimes:
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
    schedules.remove(tenancy.scope_of(request), ids.parse("psc", schedule_id), now=timezone.now())
    messages.success(request, "The schedule is removed. The passes that it has made stay.")
    return redirect("consolidation")
