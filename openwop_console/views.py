"""Pages that span the apps: Needs you, what is installed, the search of the header, and Settings."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any
from uuid import UUID

from django.conf import settings as configuration
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils import timezone
from django.utils.functional import SimpleLazyObject
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from memory import artifact_stops, memory_policy
from memory.forms import AuditedForm
from memory.host import access, audit_access, exports, ids, key_management, pages, registrations, registry, tenancy
from memory.host.errors import NotFound
from memory.host.json_types import JSONObject
from memory.host.models import Installation
from memory.host.tenancy import TenantScope
from memory.passes import orders
from memory.wire import instant
from openwop_console import VERSION, command_palette, glossary, health, installed, openapi, sign_in
from openwop_console.health import HostState
from openwop_console.installed import History, InForce
from openwop_console.needs_you import NeedsYou, nav_counts, what_waits
from openwop_console.oauth import tokens
from openwop_console.runtime import schedules
from proposals import diffs, lifecycle, rules
from proposals import policies as approval_policies
from proposals.views.actions import rolled_back

READS = "manifest:read"  # every role but the auditor's has it
HEALTH = "passes:run"  # for those who run the host: its numbers cover all tenants
PASSES_SHOWN = 5


@dataclass(frozen=True, slots=True)
class Permission:
    """One line of the roles matrix: what it allows, and which roles have it, in the order of the columns."""

    scope: str
    words: str
    carried: list[bool]
    mine: bool


@pages.parameters("format")
@require_safe
def needs_you(request: HttpRequest) -> HttpResponse:
    """Show what waits for this operator, oldest first; a principal that may only read the audit log is sent there."""
    scope, now = tenancy.scope_of(request), timezone.now()
    if scope.can(audit_access.SCOPE) and not scope.can(READS):
        return redirect("audit")
    scope.check(READS)
    found = what_waits(scope, registrations.advertised_capabilities(), now=now)
    if pages.file_format(request) == "json":
        return exports.document(_needs(found))
    context = {"nav": "needs-you", "now": now, "needs": found, **pages.files(request, "json")}
    context["nav_counts"] = found.by_section  # the page has counted it all
    return pages.render(request, "console/needs_you.html", context)


def in_navigation(request: HttpRequest) -> JSONObject:
    """Context processor: the navigation's counts, computed lazily for whole pages only, and the version."""
    return {"nav_counts": SimpleLazyObject(lambda: _nav_counts(request)), "console_version": VERSION}


def _nav_counts(request: HttpRequest) -> dict[str, str]:
    signed_in = getattr(request, "principal", None) is not None
    return nav_counts(tenancy.scope_of(request), now=timezone.now()) if signed_in else {}


def _needs(found: NeedsYou) -> dict[str, object]:
    """Return the page's counts as JSON; None where a permission is missing."""
    return {
        **{name: each.total if each else None for name, each in found.waiting.items()},
        "moreThanCounted": sorted(name for name, each in found.waiting.items() if each and each.inexact),
        "policyChanges": None if found.policies is None else [ids.wire("chg", each.id) for each in found.policies],
        "degradedAgents": None if found.degraded is None else [row.entry.agent_id for row in found.degraded],
        "host": found.host,
        "residue": len(found.residue),
        "overridden": [ids.wire("prop", vote.gate.proposal_id) for vote in overridden.rows]
        if (overridden := found.waiting["overridden"])
        else [],
        "chain": {"state": found.chain.state, "verifiedAt": instant(found.chain.verified_at)} if found.chain else None,
    }


@pages.parameters("q")
@require_safe
def search(request: HttpRequest) -> HttpResponse:
    """Redirect to the page of an id of this tenant; otherwise search memory."""
    scope, words = tenancy.scope_of(request), pages.text_of(request, "q")
    place = command_palette.find_address(scope, words, now=timezone.now()) if words else ""
    return redirect(place or command_palette.search_for(words))


@pages.parameters("q")
@require_safe
def go_to(request: HttpRequest) -> HttpResponse:
    """List the places that words may mean: the command palette's list, and a page of its own without scripts."""
    scope, words = tenancy.scope_of(request), pages.text_of(request, "q")
    context = {"places": command_palette.suggestions(scope, words, now=timezone.now()), "words": words}
    return pages.render(request, "console/go_to.html", context, fragment="console/go_to_list.html")


# Installed artifacts: the list, the page of each version, its emergency stop, and the rollback to an earlier one.

STATES = ("enabled", "disabled")
INSTALLED_COLUMNS = ("ref", "kind", "name", "version", "state", "since", "proposalId", "uses", "lastUsedAt", "nextAt")


@pages.parameters("kind", "state", *pages.LIST)
@require_safe
def installed_list(request: HttpRequest) -> HttpResponseBase:
    """Show what runs resolve now, the latest installed first, and the schedules that start runs."""
    return _installed_page(request, tenancy.scope_of(request))


@require_POST
def schedule_pause(request: HttpRequest, schedule: str) -> HttpResponseBase:
    """Pause the schedule, for the reason given; it starts no run until it is resumed."""
    return _switch_schedule(request, schedule, "{} is paused.", enabled=False)


@require_POST
def schedule_resume(request: HttpRequest, schedule: str) -> HttpResponseBase:
    """Resume the schedule from its next time on, for the reason given."""
    return _switch_schedule(request, schedule, "{} is resumed.", enabled=True)


def _switch_schedule(request: HttpRequest, name: str, words: str, *, enabled: bool) -> HttpResponseBase:
    scope, now = tenancy.scope_of(request), timezone.now()
    schedules.require_manager(scope, name)
    form, changes = AuditedForm(request.POST), {"enabled": enabled}
    sent = pages.submit(form, lambda data: schedules.change(scope, name, changes, reason=data["reason"], now=now))
    if sent.result:
        messages.success(request, words.format(name))
        return redirect(f"{reverse('installed')}#schedules")
    problem = sent.conflict.message if sent.conflict else f"{name}: {form.errors['reason'][0]}"
    messages.error(request, problem)
    return _installed_page(request, scope, status=sent.status)


def _installed_page(request: HttpRequest, scope: TenantScope, *, status: int = 200) -> HttpResponseBase:
    cursor = pages.Cursor.from_request(request, "inst")
    kind = pages.word_of(request, "kind", tuple(registry.REF_PREFIX))
    state = pages.word_of(request, "state", STATES)
    narrowed: dict[str, Any] = {"kind": kind, "disabled": None if not state else state == "disabled"}
    if file_format := pages.file_format(request):
        rows = map(_installed_row, installed.every(scope, **narrowed))
        return exports.listing(file_format, "installed", rows, columns=INSTALLED_COLUMNS)
    page = installed.page(scope, **narrowed, before=cursor.after, size=pages.PAGE)
    context = {
        "nav": "installed",
        "now": timezone.now(),
        "rows": page.rows,
        "total": page.total,
        "kind": kind,
        "state": state,
        "kinds": list(registry.REF_PREFIX),
        "filtered": bool(kind or state),
        "may_stop": artifact_stops.denial(scope) is None,
        "names": access.names_of(scope.tenant_id, {row.installation.installed_by for row in page.rows}),
        **cursor.links(len(page.rows), page.after),
        **pages.files(request),
    }
    if not pages.wants_fragment(request):
        context |= {"schedules": installed.schedules(scope), "may_pause": scope.can("schedules:manage")}
    fragment = "console/installed_list.html"
    return pages.render(request, "console/installed.html", context, fragment=fragment, status=status)


def _installed_row(row: InForce) -> dict[str, object]:
    there = row.installation
    return {
        "ref": there.ref,
        "kind": there.kind,
        "name": there.name,
        "version": there.version,
        "state": "disabled" if there.disabled_at else "enabled",
        "since": instant(row.since),
        "proposalId": ids.wire("prop", row.proposal.id) if row.proposal else None,
        "uses": row.uses.count,
        "lastUsedAt": instant(row.uses.last_at),
        "nextAt": instant(row.next_at),
    }


@pages.parameters("compare", "mode")
@require_safe
def artifact(request: HttpRequest, ref: str) -> HttpResponse:
    """Show one installed version, current or not."""
    scope = tenancy.scope_of(request)
    return _artifact_page(request, scope, artifact_stops.find(scope, ref), AuditedForm())


@require_POST
def artifact_disable(request: HttpRequest, ref: str) -> HttpResponse:
    """Disable the version for all runs, for the reason given."""
    return _stop_or_start(request, ref, artifact_stops.disable, "{} is disabled.")


@require_POST
def artifact_enable(request: HttpRequest, ref: str) -> HttpResponse:
    """Enable the version for runs again, for the reason given."""
    return _stop_or_start(request, ref, artifact_stops.enable, "{} is enabled.")


def _stop_or_start(request: HttpRequest, ref: str, act: Callable[..., Installation], words: str) -> HttpResponse:
    scope, now = tenancy.scope_of(request), timezone.now()
    artifact_stops.authorize(scope, now=now)
    form = AuditedForm(request.POST)
    sent = pages.submit(form, lambda data: act(scope, ref, reason=data["reason"], now=now))
    if sent.result:
        messages.success(request, words.format(ref))
        return redirect("artifact", ref)
    if sent.conflict:
        messages.error(request, sent.conflict.message)
    return _artifact_page(request, scope, artifact_stops.find(scope, ref), form, status=sent.status)


@pages.creates()
@require_POST
def artifact_roll_back(request: HttpRequest, ref: str) -> HttpResponse:
    """Propose to make that version current again, and request the approval."""
    scope, now = tenancy.scope_of(request), timezone.now()
    rules.authorize(scope, "create", now=now)
    found = artifact_stops.find(scope, ref)
    sent = pages.submit(pages.PlainForm(request.POST), lambda _: lifecycle.roll_back(scope, ref, now=now))
    if sent.result:
        messages.success(request, rolled_back(sent.result))
        return redirect("proposal", ids.wire("prop", sent.result.proposal.id))
    if sent.conflict:
        messages.error(request, sent.conflict.message)
    return _artifact_page(request, scope, found, AuditedForm(), status=sent.status)


def _artifact_page(
    request: HttpRequest, scope: TenantScope, found: Installation, form: AuditedForm, *, status: int = 200
) -> HttpResponse:
    stopped = found if found.disabled_at else found.part_of if found.is_disabled else None
    history = installed.history_of(scope, found)
    people = {found.installed_by, stopped.disabled_by if stopped else "", *(vote.person for vote in history.votes)}
    people |= {history.proposal.closed_by} if history.proposal else set()
    context: dict[str, object] = {
        "nav": "installed",
        "now": timezone.now(),
        "artifact": found,
        "parts": registry.parts_of(found),
        "stopped": stopped,
        "history": history,
        "may_stop": artifact_stops.denial(scope) is None and not found.superseded_at,
        "may_roll_back": scope.can(rules.scope_for("create")) and installed.can_be_proposed(found),
        "form": form,
        "names": access.names_of(scope.tenant_id, people),
        **_compared(request, found, history),
    }
    return pages.render(request, "console/artifact.html", context, status=status)


def _compared(request: HttpRequest, found: Installation, history: History) -> JSONObject:
    """Return the difference between the version named in the address and the one shown."""
    refs = {each.installation.ref: each.installation for each in history.versions}
    other = refs.get(pages.word_of(request, "compare", tuple(refs)))
    if other is None:
        return {}
    mode = pages.word_of(request, "mode", ("side", "unified"))
    return {
        "other": other,
        "diff": diffs.between(other.text, found.text),
        "mode": mode,
        "unified_url": pages.address(request, mode=""),
        "side_url": pages.address(request, mode="side"),
    }


@pages.parameters("next")
@require_http_methods(["GET", "HEAD", "POST"])
def tenants(request: HttpRequest) -> HttpResponse:
    """List the tenants that the person may sign in to; a POST moves the session to one of them."""
    scope = tenancy.scope_of(request)
    found = access.memberships_of(ids.parse("usr", scope.principal.id) or UUID(int=0))
    target = pages.back(request, "/")
    if request.method == "POST":
        chosen = next((each for each in found if each.tenant.slug == request.POST.get("tenant", "")), None)
        if chosen is None:
            raise NotFound("You are not an operator of that tenant.")
        sign_in.switch(request, chosen)
        return redirect(target)
    choices = [(each, access.roles_of(each.tenant_id, scope.principal.id)) for each in found]
    context = {"choices": choices, "next": target, "current": scope.tenant_id}
    return pages.render(request, "console/tenants.html", context)


@pages.parameters("format")
@require_safe
def settings(request: HttpRequest) -> HttpResponse:
    """Show the roles and their permissions, and this host's settings."""
    scope, document = tenancy.scope_of(request), registrations.advertised_capabilities()
    scope.check(READS)
    if pages.file_format(request) == "json":
        return exports.document(document)
    context = {
        "nav": "settings",
        "roles": list(access.ROLES),
        "mine": access.roles_of(scope.tenant_id, scope.principal.id),
        "permissions": _permissions(scope.principal.scopes),
        "grants": key_management.list_grants(scope, now=timezone.now()),
        "now": timezone.now(),
        "policies": approval_policies.overview(scope) if scope.can("proposals:read") else None,
        "document": document,
        "advertised": json.dumps(document, indent=2),
        "engine": configuration.DATABASES["default"]["ENGINE"].rpartition(".")[2],
        "backend": configuration.OPENWOP_MEMORY_BACKEND,
        "activation": configuration.OPENWOP_PROPOSALS_ACTIVATION,
        **pages.files(request, "json"),
    }
    return pages.render(request, "console/settings.html", context)


@pages.parameters()
@require_POST
def revoke_grant(request: HttpRequest, key_id: str) -> HttpResponse:
    """End the client's access at once."""
    row = tokens.revoke(tenancy.scope_of(request), ids.parse("key", key_id), now=timezone.now())
    messages.success(request, f"{row.name} no longer has access.")
    return redirect(f"{reverse('settings')}#clients")


def _permissions(mine: frozenset[str]) -> list[Permission]:
    carried = {scope: [scope in held for held in access.ROLES.values()] for scope in access.PERMISSIONS}
    return [Permission(scope, words, carried[scope], scope in mine) for scope, words in access.PERMISSIONS.items()]


@pages.parameters("format")
@require_safe
def host_health(request: HttpRequest) -> HttpResponse:
    """Show the state of this host: workers, queue, passes, database, disk, slow requests, and the audit chain."""
    scope, now = tenancy.scope_of(request), timezone.now()
    scope.check(HEALTH)
    state = health.host_state(now=now)
    if pages.file_format(request) == "json":
        return exports.document(_health_document(state))
    policy = memory_policy.policy_of(scope.tenant_id)
    context = {
        "nav": "settings",
        "now": now,
        "state": state,
        "passes": orders.page(scope, before=None, size=PASSES_SHOWN).rows,
        "next_night": policy.night_after(now),
        **pages.files(request, "json"),
    }
    return pages.render(request, "console/health.html", context)


def _health_document(state: HostState) -> JSONObject:
    return {
        "version": VERSION,
        "workerAlive": state.worker_alive,
        "queue": {
            "waiting": state.waiting,
            "running": state.running,
            "oldestWaitingAt": instant(state.oldest_waiting),
        },
        "database": {
            "engine": state.engine,
            "version": state.database_version,
            "bytes": state.database_bytes,
            "unappliedMigrations": state.unapplied,
        },
        "vaultLocked": state.vault_locked,
        "disk": {"freeBytes": state.disk_free, "totalBytes": state.disk_total},
        "slowRequests": [
            {
                "at": instant(each.at),
                "method": each.method,
                "route": each.route,
                "status": each.status,
                "seconds": each.seconds,
            }
            for each in state.slow
        ],
    }


@require_safe
def api(request: HttpRequest) -> HttpResponse:
    """Show the API of this host, from the document that clients read."""
    tenancy.scope_of(request)
    document = openapi.document()
    context = {
        "nav": "settings",
        "info": document["info"],
        "openapi": document["openapi"],
        "count": sum(1 for _ in openapi.operations_in(document)),
        "reference": _api_reference(),
        "as_json": reverse("api-document"),
        "address": pages.public_url(request),
    }
    return pages.render(request, "console/api.html", context)


@cache
def _api_reference() -> str:
    """What the page says of each operation, made once a process: 800 kB of HTML that take longer than all else."""
    document = openapi.document()
    context = {"groups": openapi.groups(document), "schemas": openapi.schemas(document)}
    return render_to_string("console/api_reference.html", context)


@pages.parameters()
@require_safe
def glossary_page(request: HttpRequest) -> HttpResponse:
    """Show what the words of the console mean; every role may."""
    tenancy.scope_of(request)
    return pages.render(request, "console/glossary.html", {"nav": "settings", "groups": glossary.groups()})
