"""BYOK secrets, sealed at rest, and what each run has resolved (SR-1).

A value is sealed with AES-256-GCM under a data key and bound to its own row; data keys are wrapped by a key derived
from ``OPENWOP_SECRET_KEY``. Plaintext leaves only towards a running node and the redactor, and is logged nowhere.
"""

import logging
import os
import time
from collections.abc import Callable, Collection
from contextlib import suppress
from datetime import datetime, timedelta
from functools import cache
from typing import Any, NamedTuple
from uuid import UUID

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from django.conf import settings
from django.db import transaction
from django.db.models import QuerySet, Sum
from django.db.models.functions import Length

from memory.host import audit, ids, sql, tenancy
from memory.host.errors import Gone, Invalid, NotFound, Refusal
from memory.host.models import Run, Secret, SecretResolution, SecretScope, Tenant, VaultKey

log = logging.getLogger(__name__)
NONCE = 12
WRITER = "memory.host.vault"
MAX_VALUE_BYTES = 16_384
MAX_TENANT_BYTES = 512 * 1024  # of all values together: what is written is compared with all of them
MAX_NAME = 128
AT_ONCE, BREATH_S = 100, 0.02  # of a rotation: values in one transaction, and the pause behind it
TAKEN_UP = timedelta(days=1)  # so long a rotation that was cut off is gone on with; later, there is a fresh key
AUDITED = (SecretScope.TENANT, SecretScope.USER)  # a run's own are its matter, a webhook's are audited with the webhook


class VaultLocked(RuntimeError):
    """No configured key opens the vault: ``OPENWOP_SECRET_KEY`` is not the one it was sealed with."""


class SealTampered(VaultLocked):
    """The key is there, and what is stored is not what was sealed under it for that row."""


def unwrap(key: VaultKey) -> bytes:
    """The data key; raises ``VaultLocked`` when no configured key opens it."""
    for wrapping_key in wrapping_keys():
        try:
            return opened(wrapping_key, bytes(key.wrapped), key.id.bytes)
        except InvalidTag:
            continue
    raise VaultLocked("the vault was sealed with another OPENWOP_SECRET_KEY")


def wrapping_keys() -> list[bytes]:
    """The keys that wrap data keys: the first wraps, all open."""
    configured = [settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS]
    return [
        HKDF(algorithm=hashes.SHA256(), length=32, salt=None, info=b"openwop-console vault").derive(text.encode())
        for text in configured
    ]


def seal(key: bytes, plaintext: bytes, binding: bytes) -> bytes:
    """The text, sealed for one row."""
    nonce = os.urandom(NONCE)
    return nonce + AESGCM(key).encrypt(nonce, plaintext, binding)


def opened(key: bytes, sealed: bytes, binding: bytes) -> bytes:
    """The text of ``seal``; raises ``InvalidTag`` when it was sealed under another key, for another row, or changed."""
    if len(sealed) < NONCE:
        raise InvalidTag
    return AESGCM(key).decrypt(sealed[:NONCE], sealed[NONCE:], binding)


def new_key() -> bytes:
    """A data key, not wrapped yet."""
    return AESGCM.generate_key(256)


class Resealed(NamedTuple):
    """How many values are under the fresh key, and of each that does not open the old key that it stays under."""

    sealed: int
    broken: tuple[UUID, ...] = ()


# What a rotation does with a kind of sealed values: they are to be under the first key and are under one of the others.
Resealing = Callable[[VaultKey, list[VaultKey]], Resealed]


class SealBroken(Gone):
    """What is stored of a sealed value is not what was sealed for that row, or no key opens it any more."""

    code = "seal_broken"
    message = "The value of this entry does not open: what is stored of it was changed, or its key is gone."


@transaction.atomic
def put(
    tenant_id: UUID,
    name: str,
    value: str,
    *,
    scope: str = SecretScope.TENANT,
    owner: str = "",
    actor: str = "host",
    now: datetime,
) -> Secret:
    """The vault holds ``value`` under ``name``, sealed, and the change of a tenant's or a user's secret is audited.

    A value that runs have resolved is replaced and stays, sealed, to redact their writes by.
    """
    _require_storable(name, value, scope, owner)
    key = _current_key(now)  # before the secret, as a rotation
    rows = Secret.objects.of(tenant_id).select_for_update().filter(scope=scope, owner=owner, name=name)
    found = rows.first()
    _require_room(tenant_id, value, found)
    if found and _keep_for_redaction(found):
        found = None
    secret = found or Secret(tenant_id=tenant_id, scope=scope, owner=owner, name=name, version=0)
    secret.key, secret.version, secret.updated_at = key, secret.version + 1, now
    secret.sealed = seal(unwrap(key), value.encode(), _binding(secret))
    secret.save(by=WRITER, force_insert=found is None)
    if scope in AUDITED:
        audit.append(tenant_id, actor=actor, action="secret.set", target=name, now=now)
    return secret


def _keep_for_redaction(secret: Secret) -> bool:
    """Whether runs have resolved this value: it then opens under its name no more, and stays."""
    if not SecretResolution.objects.of(secret.tenant_id).filter(secret_id=secret.id).exists():
        return False
    secret.owner = f"removed:{secret.id.hex}"
    secret.save(by=WRITER, update_fields=["owner"])
    return True


def _require_storable(name: str, value: str, scope: str, owner: str) -> None:
    errors = []
    if not 0 < len(name) <= MAX_NAME or not name.isprintable() or "]" in name:
        errors.append({"field": "name", "message": f"must be 1 to {MAX_NAME} printable characters without a bracket"})
    if not value or len(value.encode("utf-8", "surrogatepass")) > MAX_VALUE_BYTES:
        errors.append({"field": "value", "message": f"must be 1 to {MAX_VALUE_BYTES} bytes"})
    if scope not in SecretScope.values or (scope == SecretScope.TENANT) != (owner == ""):
        errors.append({"field": "scope", "message": "must be tenant, or user or run with the id it belongs to"})
    if errors:
        raise Invalid("The secret cannot be stored.", errors=errors)


def _require_room(tenant_id: UUID, value: str, replaced: Secret | None) -> None:
    """Refuse a value with which the secrets of the tenant, kept ones too, would be larger than may be looked for."""
    others = Secret.objects.of(tenant_id).exclude(id=replaced.id) if replaced else Secret.objects.of(tenant_id)
    held = others.aggregate(total=Sum(Length("sealed")))["total"] or 0
    if held + len(value.encode("utf-8", "surrogatepass")) > MAX_TENANT_BYTES:
        message = f"would make the secrets of the tenant larger than {MAX_TENANT_BYTES} bytes together"
        raise Invalid("The secret cannot be stored.", errors=[{"field": "value", "message": message}])


@transaction.atomic
def remove(
    tenant_id: UUID,
    name: str,
    *,
    scope: str = SecretScope.TENANT,
    owner: str = "",
    actor: str = "host",
    now: datetime,
) -> bool:
    """The secret opens for nobody any more. One that runs have resolved stays, sealed, to redact their writes by."""
    rows = Secret.objects.of(tenant_id).select_for_update().filter(scope=scope, owner=owner, name=name)
    secret = rows.first()
    if secret is None:
        return False
    if not _keep_for_redaction(secret):
        secret.delete(by=WRITER)
    if scope != SecretScope.WEBHOOK:
        audit.append(tenant_id, actor=actor, action="secret.removed", target=name, now=now)
    return True


@transaction.atomic
def resolve(run: Run, name: str, *, of_tenant: bool = False, now: datetime) -> str:
    """The plaintext of ``name`` as this run sees it: its own, then its principal's, then the tenant's. A fork's
    principal is who asked for it. With ``of_tenant`` it is the tenant's own, whatever else has that name.

    A principal's own secret opens only while that principal may start runs here. Otherwise it is refused as one that is
    not there, and the tenant's does not take its place.
    That the run has resolved it is on record before the value is returned, so no later write of the run in any process
    can miss it. A replay is given what was kept instead of the value, and opens nothing.
    """
    if run.is_replay:
        return ids.redacted(name)
    owners = [(SecretScope.RUN, ids.wire("run", run.id)), (SecretScope.USER, run.principal), (SecretScope.TENANT, "")]
    owners = owners[-1:] if of_tenant else owners
    found = {(row.scope, row.owner): row for row in Secret.objects.of(run.tenant_id).filter(name=name)}
    secret = next((found[owner] for owner in owners if owner in found), None)
    if secret is None or (secret.scope == SecretScope.USER and not _may_open(run, secret, now)):
        raise NotFound("The vault holds no secret by that name for this run.")
    noted = SecretResolution.objects.of(run.tenant_id).filter(run_id=run.id, secret_id=secret.id)
    if not noted.exists():
        SecretResolution(tenant_id=run.tenant_id, run_id=run.id, secret_id=secret.id, resolved_at=now).insert(by=WRITER)
    return unseal(secret)


def _may_open(run: Run, secret: Secret, now: datetime) -> bool:
    """Whether the principal of the run is let in and may start runs at this moment. A refusal is logged by ids."""
    try:
        tenancy.standing_scope(run.tenant_id, run.principal, now=now).check("runs:create")
    except Refusal as refusal:
        of_run, code = ids.wire("run", run.id), refusal.code
        log.warning("secret %s was not resolved for %s: its principal is refused (%s)", secret.id, of_run, code)
        return False
    return True


def take_over(fork: Run, source: Run, *, now: datetime) -> None:
    """What the source has resolved is redacted in what its fork writes too. The fork opens nothing by it."""
    rows = SecretResolution.objects.of(source.tenant_id).filter(run_id=source.id).order_by("secret_id")
    for secret_id in rows.values_list("secret_id", flat=True):
        mine = SecretResolution(tenant_id=fork.tenant_id, run_id=fork.id, secret_id=secret_id, resolved_at=now)
        mine.insert(by=WRITER)


def known_to(tenant_id: UUID, run_id: UUID) -> list[Secret]:
    """The secrets this run has resolved, sealed, in the order of their ids."""
    rows = SecretResolution.objects.of(tenant_id).filter(run_id=run_id).select_related("secret__key")
    return [row.secret for row in rows.order_by("secret_id")]


def versions_known_to(tenant_id: UUID, run_id: UUID) -> tuple[tuple[UUID, int], ...]:
    """Which secrets this run has resolved, and in which version: asked of the database at every write."""
    return tuple((sql.as_uuid(secret_id), version) for secret_id, version in _versions_known().fetch(tenant_id, run_id))


@cache
def _versions_known() -> sql.Written:
    tenant_id, run_id = UUID(int=0), UUID(int=1)
    known = SecretResolution.objects.of(tenant_id).filter(run_id=run_id).order_by("secret_id")
    return sql.Written(known.values_list("secret_id", "secret__version"), tenant_id, run_id)


def versions_held_by(tenant_id: UUID) -> tuple[tuple[UUID, int], ...]:
    """Which secrets the tenant has, and in which version: asked of the database at every write that no run makes."""
    return tuple((sql.as_uuid(secret_id), version) for secret_id, version in _versions_held().fetch(tenant_id))


@cache
def _versions_held() -> sql.Written:
    tenant_id = UUID(int=0)
    return sql.Written(Secret.objects.of(tenant_id).order_by("id").values_list("id", "version"), tenant_id)


def held_by(tenant_id: UUID) -> list[Secret]:
    """Every secret of the tenant, sealed: what text that belongs to no run is redacted for."""
    return list(Secret.objects.of(tenant_id).select_related("key").order_by("id"))


def holds(tenant_id: UUID, name: str) -> bool:
    """Whether the tenant itself has a secret by that name, which opens."""
    return bool(Secret.objects.of(tenant_id).filter(scope=SecretScope.TENANT, owner="", name=name).exists())


def open_webhook_secrets(tenant_id: UUID, owner: str) -> dict[str, str]:
    """The plaintexts of what a webhook signs with, by name; raises ``VaultLocked`` when one does not open."""
    rows = Secret.objects.of(tenant_id).filter(scope=SecretScope.WEBHOOK, owner=owner).select_related("key")
    return {row.name: unseal(row) for row in rows}


def unseal(secret: Secret) -> str:
    """The plaintext; raises ``VaultLocked`` when no key opens it or the row was tampered with."""
    try:
        return opened(unwrap(secret.key), bytes(secret.sealed), _binding(secret)).decode()
    except InvalidTag:
        raise SealTampered(f"secret {secret.id} does not open; was its row changed?") from None


def rotate(*, reseal: Resealing, now: datetime) -> Resealed:
    """Every secret is sealed under a fresh data key, wrapped by the first configured key, and ``reseal`` does the same
    to the values of the ledger: no other key opens anything afterwards.

    In parts, between which others write: what is written meanwhile is under the fresh key from the first part on, and
    the old keys are there until nothing is under them. A rotation that was cut off is taken up by the next one. What
    was tampered with, so that it does not open, is left under its old key, which is kept for nothing else. Raises
    ``VaultLocked`` and changes nothing when a key itself does not open: then ``OPENWOP_SECRET_KEY`` is the wrong one.
    """
    begun = _begun(now)
    done = _reseal_all(*begun, reseal) if begun else None
    if not begun or not done or not done.sealed:  # what the last rotation has left is broken, all of it
        begun = _begin(now)
        done = _reseal_all(*begun, reseal)
    _end(begun[1], done.broken, now)
    return done


def _begun(now: datetime) -> tuple[VaultKey, list[VaultKey]] | None:
    """The fresh key of a rotation that may have been cut off, and the keys before it. An older one was made for a
    reason that this rotation does not know of."""
    keys = _unwrapped()
    newest = keys.pop() if len(keys) > 1 else None
    return (newest, keys) if newest and newest.created_at > now - TAKEN_UP and _is_wrapped_first(newest) else None


@transaction.atomic
def _begin(now: datetime) -> tuple[VaultKey, list[VaultKey]]:
    """A fresh key and the keys before it. Who seals under one of these holds it until then, or sees the fresh one."""
    hold_key(now=now)
    old = _unwrapped()
    return _new_key(now), old


def _unwrapped() -> list[VaultKey]:
    """All data keys, the newest last; raises ``VaultLocked`` when one does not open."""
    found = list(VaultKey.objects.order_by("id"))
    for key in found:
        unwrap(key)
    return found


def _is_wrapped_first(key: VaultKey) -> bool:
    with suppress(InvalidTag):
        return bool(opened(wrapping_keys()[0], bytes(key.wrapped), key.id.bytes))
    return False


def _reseal_all(fresh: VaultKey, old: list[VaultKey], reseal: Resealing) -> Resealed:
    done = [function(fresh, old) for function in (_reseal_secrets, reseal)]
    return Resealed(sum(each.sealed for each in done), tuple(key_id for each in done for key_id in each.broken))


@transaction.atomic
def _end(old: list[VaultKey], broken: Collection[UUID], now: datetime) -> None:
    """The old keys are gone, but for those of what is broken. Another rotation may have ended some already."""
    for key in VaultKey.objects.select_for_update().filter(id__in=[each.id for each in old]).order_by("id"):
        _keep_for_broken(key) if key.id in broken else key.delete(by=WRITER)
    for tenant_id in Secret.objects.order_by("tenant_id").values_list("tenant_id", flat=True).distinct():
        audit.append(tenant_id, actor="host", action="vault.rotated", now=now)


def _keep_for_broken(key: VaultKey) -> None:
    """The key is as all others under the first configured one, so that no later rotation needs an older one for it."""
    key.wrapped = seal(wrapping_keys()[0], unwrap(key), key.id.bytes)
    key.save(by=WRITER, update_fields=["wrapped"])


def reseal_in_parts(
    fresh: VaultKey,
    old: list[VaultKey],
    rows_under: Callable[[VaultKey], QuerySet[Any]],
    reseal_one: Callable[[Any, VaultKey], None],
) -> Resealed:
    """``reseal_one`` for every row under one of the old keys, which raises ``SealTampered`` for one that stays there:
    ``AT_ONCE`` in a transaction, with a pause behind it in which others have the database."""
    count, broken = 0, []
    for tenant_id in Tenant.objects.order_by("id").values_list("id", flat=True):
        for key in old:
            rows, after = rows_under(key).filter(tenant_id=tenant_id).select_for_update().order_by("id"), UUID(int=0)
            while True:
                with transaction.atomic():
                    VaultKey.objects.select_for_update().get(id=fresh.id)  # before its rows, as all who seal
                    part = list(rows.filter(id__gt=after)[:AT_ONCE])
                    for row in part:
                        try:
                            reseal_one(row, key)
                            count += 1
                        except SealTampered:
                            broken.append(key.id)
                if len(part) < AT_ONCE:
                    break
                after = part[-1].id
                time.sleep(BREATH_S)
    return Resealed(count, tuple(broken))


def _reseal_secrets(fresh: VaultKey, old: list[VaultKey]) -> Resealed:
    def reseal_one(secret: Secret, key: VaultKey) -> None:
        secret.key = key
        plaintext = unseal(secret)
        secret.key, secret.sealed = fresh, seal(unwrap(fresh), plaintext.encode(), _binding(secret))
        secret.save(by=WRITER, update_fields=["key", "sealed"])

    return reseal_in_parts(fresh, old, lambda key: Secret.objects.filter(key=key), reseal_one)


def hold_key(*, now: datetime) -> None:
    """The key under which this transaction seals is locked already: for one that holds other locks when it seals."""
    _current_key(now)


def seal_value(tenant_id: UUID, row_id: UUID, text: str, *, now: datetime) -> tuple[VaultKey, bytes]:
    """A text sealed for one row of the tenant's under the newest data key, and that key (AES-256-GCM, RFC-0015 9.2).

    The key's row is locked, so that no rotation misses what this transaction stores.
    """
    key = _current_key(now)
    return key, seal(unwrap(key), text.encode(), tenant_id.bytes + row_id.bytes)


def reseal_value(fresh: VaultKey, tenant_id: UUID, row_id: UUID, text: str) -> bytes:
    """The same under the fresh key of a rotation."""
    return seal(unwrap(fresh), text.encode(), tenant_id.bytes + row_id.bytes)


def open_value(key: VaultKey, tenant_id: UUID, row_id: UUID, sealed: bytes) -> str:
    """The text of ``seal_value``; raises ``VaultLocked`` when no key opens it or the row was tampered with."""
    try:
        return opened(unwrap(key), bytes(sealed), tenant_id.bytes + row_id.bytes).decode()
    except InvalidTag:
        raise SealTampered(f"the value of entry {row_id} does not open; was its row changed?") from None


def seal_note(binding: UUID, text: str) -> bytes:
    """A short text sealed for one row, outside the rotation of data keys: what work in progress must remember."""
    return seal(wrapping_keys()[0], text.encode(), binding.bytes)


def open_note(binding: UUID, sealed: bytes) -> str:
    """The text of ``seal_note``; raises ``VaultLocked`` when no configured key opens it."""
    for key in wrapping_keys():
        try:
            return opened(key, sealed, binding.bytes).decode()
        except InvalidTag:
            continue
    raise VaultLocked("a sealed note does not open with the configured OPENWOP_SECRET_KEY")


def _current_key(now: datetime) -> VaultKey:
    """The newest data key, locked: no rotation begins before this change is in. Whoever has waited for the beginning of
    one looks again, since PostgreSQL gives them the key that was the newest before."""
    keys = VaultKey.objects.order_by("-id")
    while found := keys.select_for_update().first():
        if not keys.filter(id__gt=found.id).exists():
            return found
    return _new_key(now)


def _new_key(now: datetime) -> VaultKey:
    key = VaultKey(created_at=now)
    key.wrapped = seal(wrapping_keys()[0], new_key(), key.id.bytes)
    key.save(by=WRITER, force_insert=True)
    return key


def _binding(secret: Secret) -> bytes:
    return secret.tenant_id.bytes + secret.id.bytes
