"""A person's sessions in browsers: what each may be recognised by, and its end.

Django keeps sessions by a random key; ours also carry the person, so that they can be listed. The key opens the session
and is never shown: a session is named by a digest of it.
"""

import hashlib
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from itertools import chain
from typing import Any, cast
from uuid import UUID

from django.contrib.auth import HASH_SESSION_KEY, SESSION_KEY
from django.contrib.sessions.backends.db import SessionStore as DatabaseStore
from django.db import transaction
from django.utils import timezone
from django.utils.crypto import constant_time_compare

from memory.host import access, audit, ids, sql
from memory.host.errors import NotFound
from memory.host.key_management import check_manager
from memory.host.models import Membership, Operator, OperatorSession
from memory.host.tenancy import TenantScope

WRITER = "memory.host.sessions"
SCOPE = "operators:manage"
# Session keys: the tenant, the generation of the membership when the session began, and how it began.
TENANT, GENERATION, BEGAN = "tenant", "generation", "began"
MOST_LISTED = 100
KEY = re.compile("[a-z0-9]{32}")
# What a user agent names itself by, in the order to look for: most claim to be several others too.
BROWSERS = (
    ("Edg", "Edge"), ("OPR", "Opera"), ("Firefox", "Firefox"), ("FxiOS", "Firefox"), ("CriOS", "Chrome"),
    ("Chrome", "Chrome"), ("Safari", "Safari"),
)  # fmt: skip
SYSTEMS = (
    ("iPhone", "iOS"), ("iPad", "iOS"), ("Android", "Android"), ("Windows", "Windows"), ("Mac OS X", "macOS"),
    ("CrOS", "ChromeOS"), ("Linux", "Linux"),
)  # fmt: skip


class SessionStore(DatabaseStore):
    """Django's sessions in the database, in our table."""

    @classmethod
    def get_model_class(cls) -> type[OperatorSession]:
        return OperatorSession

    def _get_session_from_db(self) -> OperatorSession | None:
        """As Django's, but compiled once: every page begins with it."""
        found = _session_asked().objects(sql.Text(self.session_key or ""), timezone.now())
        if not found:
            self._session_key = None
        return next(iter(found), None)

    def create_model_instance(self, data: dict[str, Any]) -> OperatorSession:
        row = cast("OperatorSession", super().create_model_instance(data))
        row.operator_id = UUID(data[SESSION_KEY]) if SESSION_KEY in data else None
        return row

    def _validate_session_key(self, key: str | None) -> bool:
        """A key that Django never makes opens nothing. It is not looked for: PostgreSQL fails on some characters."""
        return bool(KEY.fullmatch(key or ""))


@cache
def _session_asked() -> sql.CompiledQuery:
    """The query for the key of a session and now."""
    key, now = sql.Text("key"), datetime(1, 1, 1, tzinfo=UTC)
    return sql.CompiledQuery(OperatorSession.objects.filter(session_key=key, expire_date__gt=now), key, now)


@dataclass(frozen=True, slots=True)
class BrowserSession:
    """A session that is signed in to ``tenant``.

    ``network`` lacks the part that identifies one machine.
    """

    name: str
    tenant_id: UUID
    tenant: str
    began_at: datetime | None
    browser: str
    network: str
    expires_at: datetime
    is_current: bool


def browser_of(user_agent: str) -> str:
    """Name the browser and the system, as far as their user agent does."""
    known = [next((name for mark, name in names if mark in user_agent), "") for names in (BROWSERS, SYSTEMS)]
    return " on ".join(filter(None, known)) or "Unknown browser"


def list_own(operator: Operator, *, current: str, now: datetime) -> list[BrowserSession]:
    """Return the person's sessions in every tenant, newest first; ``current`` is the key of the one that asks."""
    found = _live(operator, access.memberships_of(operator.id), current, now)
    return [session for _, session in found[:MOST_LISTED]]


def list_of_member(
    scope: TenantScope, operator_id: UUID | None, *, current: str, now: datetime
) -> list[BrowserSession]:
    """Return the person's sessions in this tenant, newest first."""
    check_manager(scope, SCOPE)
    return [session for _, session in _of_member(scope, operator_id, current, now)[:MOST_LISTED]]


@transaction.atomic
def end_own(operator: Operator, name: str, *, current: str, actor: str, now: datetime) -> int:
    """End the person's session of that name, or with the name ``""`` all but the current one; return how many."""
    found = _live(operator, access.memberships_of(operator.id), current, now)
    chosen = [each for each in found if (each[1].name == name if name else not each[1].is_current)]
    if name and not chosen:
        raise NotFound
    _end(operator, chosen, actor=actor, now=now)
    return len(chosen)


@transaction.atomic
def end_of_member(scope: TenantScope, operator_id: UUID | None, name: str, *, now: datetime) -> None:
    """End a session of the person in this tenant; the others go on."""
    check_manager(scope, SCOPE, *_roles_of(scope, operator_id))
    chosen = [each for each in _of_member(scope, operator_id, "", now) if each[1].name == name]
    if not chosen:
        raise NotFound
    _end(_member(scope, operator_id).operator, chosen, actor=scope.principal.id, now=now)


def sweep(*, now: datetime) -> int:
    """Delete the sessions that have expired; return how many."""
    return OperatorSession.objects.filter(expire_date__lt=now).delete()[0]


def _of_member(
    scope: TenantScope, operator_id: UUID | None, current: str, now: datetime
) -> list[tuple[OperatorSession, BrowserSession]]:
    membership = _member(scope, operator_id)
    return _live(membership.operator, [membership], current, now)


def _member(scope: TenantScope, operator_id: UUID | None) -> Membership:
    rows = Membership.objects.of(scope.tenant_id).select_related("operator", "tenant")
    found: Membership | None = rows.filter(operator_id=operator_id).first() if operator_id else None
    if found is None:
        raise NotFound
    return found


def _roles_of(scope: TenantScope, operator_id: UUID | None) -> Iterable[str]:
    return access.roles_of(scope.tenant_id, ids.wire("usr", operator_id)) if operator_id else ()


def _live(
    operator: Operator, memberships: Iterable[Membership], current: str, now: datetime
) -> list[tuple[OperatorSession, BrowserSession]]:
    """The sessions that would be let in to one of these tenants now."""
    tenants = {ids.wire("tenant", each.tenant_id): each for each in memberships if each.is_active}
    hashes = list(chain([operator.get_session_auth_hash()], operator.get_session_auth_fallback_hash()))
    rows = OperatorSession.objects.filter(operator_id=operator.id, expire_date__gt=now).order_by("-expire_date")
    found = []
    for row in rows.iterator():
        data = SessionStore().decode(row.session_data)
        membership = tenants.get(data.get(TENANT, ""))
        known = any(constant_time_compare(data.get(HASH_SESSION_KEY, ""), each) for each in hashes)
        if known and membership and membership.generation == data.get(GENERATION):
            found.append((row, _shown(row, data, membership, current)))
    return found


def _shown(row: OperatorSession, data: Mapping[str, Any], membership: Membership, current: str) -> BrowserSession:
    began = data.get(BEGAN, {})
    return BrowserSession(
        name=hashlib.sha256(row.session_key.encode()).hexdigest()[:32],
        tenant_id=membership.tenant_id,
        tenant=membership.tenant.name,
        began_at=datetime.fromisoformat(began["at"]) if "at" in began else None,
        browser=began.get("browser", ""),
        network=began.get("network", ""),
        expires_at=row.expire_date,
        is_current=row.session_key == current,
    )


def _end(
    operator: Operator, chosen: list[tuple[OperatorSession, BrowserSession]], *, actor: str, now: datetime
) -> None:
    OperatorSession.objects.filter(session_key__in=[row.session_key for row, _ in chosen]).delete()
    who = ids.wire("usr", operator.id)
    for _, session in chosen:
        audit.append(session.tenant_id, actor=actor, action="operator.session_ended", target=who, now=now)
