"""Webhook subscriptions: the only writer of them. What is sent, and when, is in ``deliveries``."""

import base64
import hashlib
import secrets as random_secrets
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import urlsplit
from uuid import UUID

from django.db import transaction

from memory.host import access, audit, events, ids, outbound, vault
from memory.host.errors import Conflict, Forbidden, SubscriptionNotFound, WebhookUrlRejected
from memory.host.models import SecretScope, Webhook, WebhookState
from memory.host.paging import Page, read_page
from memory.host.tenancy import TenantScope

WRITER = "memory.host.webhooks"
SCOPE = "webhooks:manage"
ALGORITHM = "v1"
MAX_WEBHOOKS = 20
MAX_TAGS = 20
MAX_URL = 2000
SECRET_BYTES = 32
OVERLAP = timedelta(hours=24)
CURRENT, PREVIOUS = "current", "previous"
# Names that lead to this machine, or to the metadata of a cloud, whatever a resolver says of them.
INNER_NAMES = ("localhost", "metadata", "metadata.google.internal")
# What the console tells besides the types of the log.
CONSOLE_TYPES = ("gate.opened", "gate.decided", "run.waiting", "run.ended", "pass.finished", "forget.finished")
TYPES = (*events.TYPES, *CONSOLE_TYPES)


@dataclass(frozen=True, slots=True)
class NewSecret:
    """A subscription and its secret, as it is shown once."""

    webhook: Webhook
    text: str


@transaction.atomic
def create_webhook(
    scope: TenantScope, url: str, types: list[str], *, tags: list[str], tenant_slug: str = "", now: datetime
) -> NewSecret:
    """Events of these types are sent to ``url`` from now on, signed with the secret that is returned; audited."""
    check_manager(scope, tenant_slug)
    check_url(url)
    access.lock_tenant(scope.tenant_id)
    if Webhook.objects.of(scope.tenant_id).count() >= MAX_WEBHOOKS:
        raise Conflict(f"A tenant has at most {MAX_WEBHOOKS} webhooks; remove one first.", limit=MAX_WEBHOOKS)
    secret = _new_secret()
    webhook = Webhook(
        tenant_id=scope.tenant_id,
        url=url,
        events=list(dict.fromkeys(types)),
        tags=list(dict.fromkeys(tags)),
        fingerprint=fingerprint_of(secret),
        created_by=scope.principal.id,
        created_at=now,
    ).insert(by=WRITER)
    _store_secret(webhook, CURRENT, secret, now)
    record_act(scope, webhook, "webhook.created", now, events=webhook.events)
    return NewSecret(webhook, secret)


@transaction.atomic
def rotate_secret(scope: TenantScope, webhook_id: UUID | None, *, now: datetime) -> NewSecret:
    """The webhook has a new secret, which is returned; the one before signs as well for OVERLAP. Audited.

    A third one that was still in its overlap signs nothing any more.
    """
    check_manager(scope)
    webhook = _locked(scope, webhook_id)
    held, secret = vault.open_webhook_secrets(webhook.tenant_id, wire_id(webhook)), _new_secret()
    _store_secret(webhook, PREVIOUS, held[CURRENT], now)
    _store_secret(webhook, CURRENT, secret, now)
    webhook.fingerprint, webhook.overlap_until = fingerprint_of(secret), now + OVERLAP
    webhook.save(by=WRITER, update_fields=["fingerprint", "overlap_until"])
    record_act(scope, webhook, "webhook.secret_rotated", now)
    return NewSecret(webhook, secret)


@transaction.atomic
def remove_webhook(scope: TenantScope, webhook_id: UUID | None, *, tenant_slug: str = "", now: datetime) -> None:
    """Nothing is sent any more, also of what waits; the log of its deliveries goes with it. Audited."""
    check_manager(scope, tenant_slug)
    webhook = _locked(scope, webhook_id)
    for name in (CURRENT, PREVIOUS):
        vault.remove(webhook.tenant_id, name, scope=SecretScope.WEBHOOK, owner=wire_id(webhook), now=now)
    Webhook.objects.written_by(WRITER).filter(tenant_id=webhook.tenant_id, id=webhook.id).delete()
    record_act(scope, webhook, "webhook.removed", now)


def list_webhooks(scope: TenantScope, *, after: UUID | None = None, limit: int) -> Page[Webhook]:
    """Subscriptions older than ``after``, the newest first."""
    check_manager(scope)
    return read_page(Webhook.objects.of(scope.tenant_id), after, limit)


def find(scope: TenantScope, webhook_id: UUID | None) -> Webhook:
    check_manager(scope)
    return _there(Webhook.objects.of(scope.tenant_id).filter(id=webhook_id).first() if webhook_id else None)


def mark_failed(tenant_id: UUID, webhook_id: UUID, *, now: datetime) -> None:
    """Nothing is sent to the webhook any more; whoever wants it again registers its address anew. Audited."""
    rows = Webhook.objects.written_by(WRITER).filter(tenant_id=tenant_id, id=webhook_id, state=WebhookState.ACTIVE)
    if rows.update(state=WebhookState.FAILED):
        target = ids.wire("whk", webhook_id)
        audit.append(tenant_id, actor="host", action="webhook.failed", target=target, now=now)


def check_manager(scope: TenantScope, tenant_slug: str = "") -> None:
    """Refuse who may not manage webhooks, and another tenant than that of the credential.

    A webhook tells of every agent's runs, so a key that is bound to agents manages none.
    """
    scope.check(SCOPE)
    if scope.principal.agent_ids is not None:
        raise Forbidden("A key that is bound to agents manages no webhooks.", rule="agent-binding")
    if tenant_slug not in ("", scope.principal.tenant_slug):
        raise Forbidden("A webhook belongs to the tenant of its credential.", rule="tenant")


def check_url(url: str) -> None:
    """Refuse an address that nothing may be sent to. Where a name leads is looked up, and checked, at each delivery."""
    if problem := _problem_of(url):
        raise WebhookUrlRejected(errors=[{"field": "url", "message": problem}])


def _problem_of(url: str) -> str:
    try:
        parts = urlsplit(url)
        host, named = parts.hostname or "", parts.port != 0
    except ValueError:
        host, named = "", False
    plain = url.isascii() and url.isprintable() and " " not in url and len(url) <= MAX_URL
    if not (host and named and plain):
        return f"must be an address of at most {MAX_URL} plain characters"
    if parts.username or parts.password or parts.fragment:
        return "must have neither credentials nor a fragment"
    if outbound.is_listed(host):
        return "" if parts.scheme in ("https", "http") else "must begin with https://"
    if parts.scheme != "https":
        return "must begin with https://"
    address = outbound.literal_address(host)
    inner = host.rstrip(".") in INNER_NAMES or host.rstrip(".").endswith(".localhost")
    if inner or (address and not outbound.may_connect(host, address)):
        return "must not lead to an address that is not public"
    return ""


def fingerprint_of(secret: str) -> str:
    """By what logs and people tell secrets apart."""
    return hashlib.sha256(secret.encode()).hexdigest()[:8]


def wire_id(webhook: Webhook) -> str:
    return ids.wire("whk", webhook.id)


def _new_secret() -> str:
    return "whsec_" + base64.b64encode(random_secrets.token_bytes(SECRET_BYTES)).decode()


def _store_secret(webhook: Webhook, name: str, secret: str, now: datetime) -> None:
    vault.put(webhook.tenant_id, name, secret, scope=SecretScope.WEBHOOK, owner=wire_id(webhook), now=now)


def _locked(scope: TenantScope, webhook_id: UUID | None) -> Webhook:
    rows = Webhook.objects.of(scope.tenant_id).select_for_update()
    return _there(rows.filter(id=webhook_id).first() if webhook_id else None)


def _there(webhook: Webhook | None) -> Webhook:
    if webhook is None:
        raise SubscriptionNotFound
    return webhook


def record_act(scope: TenantScope, webhook: Webhook, action: str, now: datetime, **details: Any) -> None:
    """By id and fingerprint: the address may name a person, and an audit record is never erased."""
    details |= {"fingerprint": webhook.fingerprint}
    audit.append(
        webhook.tenant_id,
        actor=scope.principal.id,
        action=action,
        target=wire_id(webhook),
        details=details,
        now=now,
    )
