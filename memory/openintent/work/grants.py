"""Who else may read or write the working memory of an intent, or of one task of it (RFC-0011; R26)."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.db import transaction
from django.db.models import QuerySet

from memory.host import ids
from memory.host.errors import Forbidden, NotFound
from memory.host.expiry import expired, has_expired
from memory.host.tenancy import TenantScope
from memory.models import Grant, Intent
from memory.openintent.work import authority
from memory.openintent.work.intents import find_intent, log
from memory.openintent.work.rows import WRITER, grants_in_force, task

PERMISSIONS = ("read", "write")
MAX_GRANTS = 1000


@dataclass(frozen=True, slots=True)
class NewGrant:
    """To whom and what; without a task it is on the whole intent, and without an end it holds until it is revoked."""

    agent_id: str
    permission: str = "read"
    task_id: str = ""
    expires_at: datetime | None = None


def grants_of_intent(scope: TenantScope, intent_id: str, *, actor: str, now: datetime) -> tuple[Intent, list[Grant]]:
    """The grants in force, oldest first, for callers who direct the intent or hold one of them."""
    scope.check(authority.READ)
    about = find_intent(scope, intent_id)
    rows = list(_in_force(about, now).order_by("id"))
    if not authority.directs(scope, about, actor, now=now) and actor not in {each.agent_id for each in rows}:
        raise Forbidden("This agent does not direct that intent.", rule=authority.RULE)
    return about, rows


@transaction.atomic
def grant(scope: TenantScope, intent_id: str, given: NewGrant, *, actor: str, now: datetime) -> Grant:
    """Grant access to the agent, with an event on the intent's log. Only callers who direct the intent may."""
    about = _directed(scope, intent_id, actor, now)
    return _grant(about, given, actor, now)


@transaction.atomic
def replace(
    scope: TenantScope, intent_id: str, given: Sequence[NewGrant], *, actor: str, now: datetime
) -> tuple[Intent, list[Grant]]:
    """These are the grants from here on, and no others."""
    about = _directed(scope, intent_id, actor, now)
    for row in list(_in_force(about, now)):
        _revoke(about, row, actor, now)
    return about, [_grant(about, each, actor, now) for each in given]


@transaction.atomic
def revoke(scope: TenantScope, intent_id: str, grant_id: str, *, actor: str, now: datetime) -> None:
    """Revoke the grant and the access it gave, with an event on the intent's log."""
    about = _directed(scope, intent_id, actor, now)
    row_id = ids.parse("acl", grant_id)
    row = Grant.objects.of(about.tenant_id).filter(intent_id=about.id, id=row_id).first() if row_id else None
    if row is None:
        raise NotFound("That intent has no access entry by that id.")
    _revoke(about, row, actor, now)


def _grant(about: Intent, given: NewGrant, actor: str, now: datetime) -> Grant:
    authority.agent_name(about.tenant_id, "principal_id", given.agent_id)
    authority.one_of("permission", given.permission, PERMISSIONS)
    if has_expired(given.expires_at, now):
        raise authority.refuse("expires_at", "is over already")
    _housekeep(about, now)
    row: Grant = Grant(
        tenant_id=about.tenant_id,
        intent_id=about.id,
        task_id=_task_of(about, given.task_id),
        agent_id=given.agent_id,
        permission=given.permission,
        granted_by=actor,
        granted_at=now,
        expires_at=given.expires_at,
    ).insert(by=WRITER)
    _append_fact(about, "access_granted", row, actor, now)
    return row


def _task_of(about: Intent, task_id: str) -> UUID | None:
    if not task_id:
        return None
    found = task(about.tenant_id, task_id)
    if found is None or found.intent_id != about.id:
        raise authority.refuse("task_id", "is not a task of that intent")
    return found.id


def _housekeep(about: Intent, now: datetime) -> None:
    """What has expired goes; refuses when there are too many left."""
    rows = Grant.objects.written_by(WRITER).filter(tenant_id=about.tenant_id, intent_id=about.id)
    rows.filter(expired(now)).delete()
    if rows.count() >= MAX_GRANTS:
        raise authority.refuse("intent_id", f"has {MAX_GRANTS} access entries already")


def _revoke(about: Intent, row: Grant, actor: str, now: datetime) -> None:
    Grant.objects.written_by(WRITER).filter(tenant_id=about.tenant_id, id=row.id).delete()
    _append_fact(about, "access_revoked", row, actor, now)


def _append_fact(about: Intent, kind: str, row: Grant, actor: str, now: datetime) -> None:
    note = {
        "entry_id": ids.wire("acl", row.id),
        "principal_id": row.agent_id,
        "permission": row.permission,
        **({"task_id": ids.wire("task", row.task_id)} if row.task_id else {}),
    }
    log(about.tenant_id, about.id, kind, actor, note, now=now)


def _directed(scope: TenantScope, intent_id: str, actor: str, now: datetime) -> Intent:
    """The intent, locked, when the caller directs it."""
    about = find_intent(scope, intent_id, lock=True)
    authority.require_direction(scope, about, actor, now=now)
    return about


def _in_force(about: Intent, now: datetime) -> "QuerySet[Grant]":
    return grants_in_force(about.tenant_id, now=now).filter(intent_id=about.id)
