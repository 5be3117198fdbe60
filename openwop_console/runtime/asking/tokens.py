"""Signed tokens of interrupts: an address at which somebody without a key may answer one question, once, for a while.

``base64url(JSON) "." base64url(HMAC-SHA256)`` under a key of its own, derived from ``OPENWOP_SECRET_KEY``. A token is
stored nowhere: an interrupt is answered once, and that is how often any of its tokens works.
"""

import hashlib
import hmac
import json
from base64 import b64decode, urlsafe_b64encode
from binascii import Error as Base64Error
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.conf import settings

from memory.host import ids
from memory.host.interrupts import InterruptExpired, InterruptNotFound
from memory.host.models import Interrupt
from memory.wire import instant

LIFETIME = timedelta(minutes=30)
LONGEST = 4096
RESOLVE, INSPECT = "resolve", "inspect"


@dataclass(frozen=True, slots=True)
class Claims:
    """What a genuine token says."""

    tenant_id: UUID
    run_id: UUID
    interrupt_id: UUID
    expires_at: datetime
    intent: str


def mint(interrupt: Interrupt, *, intent: str = RESOLVE, now: datetime) -> str:
    """A token of the interrupt for half an hour, and never beyond the interrupt's own time."""
    expires_at = min(now + LIFETIME, interrupt.timeout_at or now + LIFETIME)
    claims = {
        "tenant": str(interrupt.tenant_id),
        "runId": ids.wire("run", interrupt.run_id),
        "nodeId": interrupt.node_id,
        "interruptId": ids.wire("int", interrupt.id),
        "expiresAt": instant(expires_at),
        "intent": intent,
    }
    body = _encoded(json.dumps(claims, separators=(",", ":")).encode())
    return f"{body}.{_encoded(_signature(body, settings.SECRET_KEY))}"


def read(text: str, *, now: datetime) -> Claims:
    """What the token says. Malformed, forged and foreign ones are one refusal; a genuine one may have expired."""
    claims = _genuine(text)
    if claims is None:
        raise InterruptNotFound
    if claims.expires_at <= now:
        raise InterruptExpired
    return claims


def answering(text: str, *, now: datetime) -> Claims | None:
    """What a genuine token says that answers and has time left; None for any other text."""
    claims = _genuine(text)
    return claims if claims and claims.intent == RESOLVE and claims.expires_at > now else None


def _genuine(text: str) -> Claims | None:
    body, _, signature = text.partition(".")
    if len(text) > LONGEST or not text.isascii() or not _is_signed(body, signature):
        return None
    said = json.loads(_decoded(body))
    return Claims(
        UUID(said["tenant"]),
        _id("run", said["runId"]),
        _id("int", said["interruptId"]),
        datetime.fromisoformat(said["expiresAt"]),
        said["intent"],
    )


def _id(prefix: str, text: str) -> UUID:
    found = ids.parse(prefix, text)
    if found is None:
        raise InterruptNotFound
    return found


def fingerprint(tenant_id: UUID, value: Any) -> str:
    """A keyed digest of ``value``, the same whenever it is the same: what the log holds instead of it."""
    key = hmac.new(settings.SECRET_KEY.encode(), b"interrupt correlation" + tenant_id.bytes, hashlib.sha256).digest()
    return hmac.new(key, json.dumps(value, sort_keys=True).encode(), hashlib.sha256).hexdigest()


def _is_signed(body: str, signature: str) -> bool:
    given = _decoded(signature)
    keys = [settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS]
    return any(hmac.compare_digest(_signature(body, key), given) for key in keys)


def _signature(body: str, secret: str) -> bytes:
    key = hmac.new(secret.encode(), b"interrupt tokens", hashlib.sha256).digest()
    return hmac.new(key, body.encode(), hashlib.sha256).digest()


def _encoded(raw: bytes) -> str:
    return urlsafe_b64encode(raw).rstrip(b"=").decode()


def _decoded(text: str) -> bytes:
    """The bytes behind ``text``; none when it is no base64url."""
    try:
        return b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
    except Base64Error:
        return b""
