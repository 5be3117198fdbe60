"""BYOK secrets, sealed at rest, and the record of which run has resolved which (SR-1).

A value is sealed with AES-256-GCM under a data key and bound to its own row; data keys are wrapped by a key derived
from ``OPENWOP_SECRET_KEY``. Plaintext goes only to a running node and the redactor, and is never logged.
"""

import logging
import os
import time
from collections.abc import Callable, Collection, Iterable, Mapping
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
from django.db.models import OuterRef, QuerySet, Subquery, Sum
from django.db.models.functions import Length

from memory.host import audit, ids, sql, tenancy
from memory.host.errors import Gone, Invalid, NotFound, Refusal
from memory.host.models import GIVEN_SCOPES, Run, Secret, SecretResolution, SecretScope, Tenant, VaultKey
from memory.host.paging import Page, read_page
from memory.host.tenancy import TenantScope

log = logging.getLogger(__name__)
NONCE, TAG = 12, 16
WRITER = "memory.host.vault"
MAX_VALUE_BYTES = 16_384
MAX_TENANT_BYTES = 512 * 1024  # of all values together: every write is compared with all of them
MAX_NAME = 128
SHORTEST = 8  # of a value that is looked for in texts (SR-1 notes)
AT_ONCE, BREATH_S = 100, 0.02  # of a rotation: values per transaction, and the pause after each
TAKEN_UP = timedelta(days=1)  # how long an interrupted rotation is resumed; later, a fresh key is made
AUDITED = (
    SecretScope.TENANT,
    SecretScope.USER,
)  # a run's own are not audited, a webhook's are audited with the webhook


HOLDS = "holds a secret of the vault"

Versions = tuple[tuple[UUID, int], ...]
# For these versions of a tenant's secrets, a function that says whether a text holds one of them in any form. The rules
# of texts are above this floor.
Finder = Callable[[UUID, Versions], Callable[[str], bool]]
_finder: list[Finder] = []


class VaultLocked(RuntimeError):
    """No configured key opens the vault: ``OPENWOP_SECRET_KEY`` is not the one it was sealed with."""


class SealTampered(VaultLocked):
    """The key opens, but the stored value is not the one that was sealed under it for that row."""


def unwrap(key: VaultKey) -> bytes:
    """Return the data key; raises ``VaultLocked`` when no configured key opens it."""
    for wrapping_key in wrapping_keys():
        try:
            return opened(wrapping_key, bytes(key.wrapped), key.id.bytes)
        except InvalidTag:
            continue
    raise VaultLocked("the vault was sealed with another OPENWOP_SECRET_KEY")


def is_locked() -> bool:
    """Return whether a data key does not open, so that what is sealed under it cannot be read."""
    try:
        _unwrapped()
    except VaultLocked:
        return True
    return False


def wrapping_keys() -> list[bytes]:
    """Return the keys that wrap data keys: the first wraps new ones, all of them open."""
    return [_derived(text) for text in (settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS)]


@cache
def _derived(secret: str) -> bytes:
    return HKDF(algorithm=hashes.SHA256(), length=32, salt=None, info=b"openwop-console vault").derive(secret.encode())


def seal(key: bytes, plaintext: bytes, binding: bytes) -> bytes:
    """Seal the text for one row."""
    nonce = os.urandom(NONCE)
    return nonce + AESGCM(key).encrypt(nonce, plaintext, binding)


def opened(key: bytes, sealed: bytes, binding: bytes) -> bytes:
    """Open the result of ``seal``; raises ``InvalidTag`` when it has another key or row, or was changed."""
    if len(sealed) < NONCE:
        raise InvalidTag
    return AESGCM(key).decrypt(sealed[:NONCE], sealed[NONCE:], binding)


def new_key() -> bytes:
    """Generate a data key, not wrapped yet."""
    return AESGCM.generate_key(256)


class Resealed(NamedTuple):
    """The number of values resealed under the fresh key, and the old key of each value that does not open."""

    sealed: int
    broken: tuple[UUID, ...] = ()


# Moves one kind of sealed values to the first key from any of the others, for a rotation.
Resealing = Callable[[VaultKey, list[VaultKey]], Resealed]


class SealBroken(Gone):
    """The stored value is not the one sealed for that row, or no key opens it any more."""

    code = "seal_broken"
    message = "The value of this entry does not open: what is stored of it was changed, or its key is gone."


@transaction.atomic
def store_secret(
    tenant_id: UUID,
    name: str,
    value: str,
    *,
    scope: str = SecretScope.TENANT,
    owner: str = "",
    actor: str = "host",
    now: datetime,
) -> Secret:
    """Store ``value`` sealed under ``name``; a change of a tenant's or a user's secret is audited.

    A replaced value that runs have resolved is kept, sealed, to redact their writes.
    """
    _require_storable(name, value, scope, owner)
    key = _current_key(now)  # locked before the secret, in the same order as a rotation
    rows = Secret.objects.of(tenant_id).select_for_update().filter(scope=scope, owner=owner, name=name)
    found = rows.first()
    _require_room(tenant_id, value, found)
    if found is None and scope != SecretScope.WEBHOOK:  # whose names are this host's own
        _require_plain_name(tenant_id, name, value)
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
    """Rename a secret that runs have resolved, so that it is kept but its name no longer opens it.

    Return whether runs have resolved it.
    """
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


def _require_plain_name(tenant_id: UUID, name: str, value: str) -> None:
    """Refuse a new name that holds a secret, its own value too: it stands on the audit log and in every mark.

    The values are compared as they are: to build what finds all their forms, for each new secret, costs a second in a
    large vault.
    """
    held = Secret.objects.of(tenant_id).annotate(size=Length("sealed")).select_related("key")
    short = held.filter(size__lte=NONCE + TAG + len(name.encode()))
    values = [value]
    for each in short:
        with suppress(VaultLocked):  # what does not open keeps nothing else from being stored
            values.append(unseal(each))
    if any(each in name for each in values if len(each) >= SHORTEST):
        raise Invalid("The secret cannot be stored.", errors=[{"field": "name", "message": HOLDS}])


def _require_room(tenant_id: UUID, value: str, replaced: Secret | None) -> None:
    """Refuse a value that would take the tenant's secrets, kept ones included, over MAX_TENANT_BYTES."""
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
    """Remove the secret; False when there is none. One that runs have resolved is kept, sealed, to redact their
    writes."""
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
    """Return the plaintext of ``name`` for this run: its own, else its principal's, else the tenant's.

    The principal of a fork is the one who asked for it. With ``of_tenant`` only the tenant's own counts. A principal's
    own secret opens only while that principal may start runs here; otherwise it is refused as missing, and the tenant's
    does not replace it. The resolution is recorded before the value is returned, so no later write of the run in any
    process can miss it. A replay gets the redaction mark, and opens nothing.
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
    """Whether the run's principal is admitted and may start runs now. A refusal is logged by ids."""
    try:
        tenancy.scope_without_request(run.tenant_id, run.principal, now=now).check("runs:create")
    except Refusal as refusal:
        of_run, code = ids.wire("run", run.id), refusal.code
        log.warning("secret %s was not resolved for %s: its principal is refused (%s)", secret.id, of_run, code)
        return False
    return True


def take_over(fork: Run, source: Run, *, now: datetime) -> None:
    """Redact the source's resolved secrets in the fork's writes too. This opens nothing to the fork."""
    rows = SecretResolution.objects.of(source.tenant_id).filter(run_id=source.id).order_by("secret_id")
    for secret_id in rows.values_list("secret_id", flat=True):
        mine = SecretResolution(tenant_id=fork.tenant_id, run_id=fork.id, secret_id=secret_id, resolved_at=now)
        mine.insert(by=WRITER)


def known_to(tenant_id: UUID, run_id: UUID) -> list[Secret]:
    """Return the secrets this run has resolved, sealed, by id."""
    rows = SecretResolution.objects.of(tenant_id).filter(run_id=run_id).select_related("secret__key")
    return [row.secret for row in rows.order_by("secret_id")]


def versions_known_to(tenant_id: UUID, run_id: UUID) -> Versions:
    """Return id and version of the secrets this run has resolved; queried at each of its writes."""
    return tuple((sql.as_uuid(secret_id), version) for secret_id, version in _versions_known().fetch(tenant_id, run_id))


@cache
def _versions_known() -> sql.CompiledQuery:
    tenant_id, run_id = UUID(int=0), UUID(int=1)
    known = SecretResolution.objects.of(tenant_id).filter(run_id=run_id).order_by("secret_id")
    return sql.CompiledQuery(known.values_list("secret_id", "secret__version"), tenant_id, run_id)


def versions_held_by(tenant_id: UUID) -> Versions:
    """Return id and version of the tenant's secrets; queried at each write that no run makes."""
    return tuple((sql.as_uuid(secret_id), version) for secret_id, version in _versions_held().fetch(tenant_id))


@cache
def _versions_held() -> sql.CompiledQuery:
    tenant_id = UUID(int=0)
    return sql.CompiledQuery(Secret.objects.of(tenant_id).order_by("id").values_list("id", "version"), tenant_id)


def held_by(tenant_id: UUID) -> list[Secret]:
    """Return every secret of the tenant, sealed, to redact text that belongs to no run."""
    return list(Secret.objects.of(tenant_id).select_related("key").order_by("id"))


def provide_finder(function: Finder) -> None:
    """Set the function that finds secrets in texts; called once, from the ``apps.py`` of the app that has the rules."""
    _finder[:] = [function]


def fields_with_secrets(tenant_id: UUID, fields: Mapping[str, Iterable[str]]) -> list[str]:
    """Return the names of the fields with a text that holds a secret of the tenant. One query when it has none."""
    versions = versions_held_by(tenant_id)
    if not versions:
        return []
    [find] = _finder
    holds = find(tenant_id, versions)
    return [name for name, texts in fields.items() if any(map(holds, texts))]


def require_plain(tenant_id: UUID, message: str, fields: Mapping[str, Iterable[str]]) -> None:
    """Refuse names and addresses that hold a secret of the tenant, which they would show (SR-1).

    For what is stored as it is; texts are redacted instead. The refusal names the fields, and does not repeat them.
    """
    if found := fields_with_secrets(tenant_id, fields):
        raise Invalid(message, errors=[{"field": name, "message": HOLDS} for name in found])


def has_secret(tenant_id: UUID, name: str) -> bool:
    """Whether the tenant itself has a secret by that name."""
    return bool(Secret.objects.of(tenant_id).filter(scope=SecretScope.TENANT, owner="", name=name).exists())


def open_webhook_secrets(tenant_id: UUID, owner: str) -> dict[str, str]:
    """Return the plaintext signing secrets of a webhook, by name; raises ``VaultLocked`` when one does not open."""
    rows = Secret.objects.of(tenant_id).filter(scope=SecretScope.WEBHOOK, owner=owner).select_related("key")
    return {row.name: unseal(row) for row in rows}


def unseal(secret: Secret) -> str:
    """Return the plaintext; raises ``VaultLocked`` when no key opens it or the row was tampered with."""
    try:
        return opened(unwrap(secret.key), bytes(secret.sealed), _binding(secret)).decode()
    except InvalidTag:
        raise SealTampered(f"secret {secret.id} does not open; was its row changed?") from None


def rotate(*, reseal: Resealing, now: datetime) -> Resealed:
    """Reseal every secret under a fresh data key, wrapped by the first configured key, then drop the old keys.

    ``reseal`` does the same for the values of the ledger. It works in parts, between which others write: new values are
    under the fresh key from the first part on, and the old keys stay until nothing is under them. An interrupted
    rotation is resumed by the next one. A tampered value that does not open stays under its old key, which is kept for
    nothing else. Raises ``VaultLocked`` and changes nothing when a key itself does not open: then
    ``OPENWOP_SECRET_KEY`` is wrong.
    """
    begun = _interrupted_rotation(now)
    done = _reseal_all(*begun, reseal) if begun else None
    if not begun or not done or not done.sealed:  # all that the last rotation left is broken
        begun = _begin(now)
        done = _reseal_all(*begun, reseal)
    _end(begun[1], done.broken, now)
    return done


def _interrupted_rotation(now: datetime) -> tuple[VaultKey, list[VaultKey]] | None:
    """Return the fresh key of a rotation that may have been interrupted, and the keys before it.

    An older fresh key was made for a reason unknown to this rotation, so it does not count.
    """
    keys = _unwrapped()
    newest = keys.pop() if len(keys) > 1 else None
    return (newest, keys) if newest and newest.created_at > now - TAKEN_UP and _is_wrapped_first(newest) else None


@transaction.atomic
def _begin(now: datetime) -> tuple[VaultKey, list[VaultKey]]:
    """Make a fresh key and return it with the keys before it.

    A transaction that seals under an old key holds its lock until its end, or sees the fresh key.
    """
    hold_key(now=now)
    old = _unwrapped()
    return _new_key(now), old


def _unwrapped() -> list[VaultKey]:
    """Return all data keys, the newest last; raises ``VaultLocked`` when one does not open."""
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
    """Delete the old keys, except those of broken values. Another rotation may have deleted some already."""
    for key in VaultKey.objects.select_for_update().filter(id__in=[each.id for each in old]).order_by("id"):
        _keep_for_broken(key) if key.id in broken else key.delete(by=WRITER)
    for tenant_id in Secret.objects.order_by("tenant_id").values_list("tenant_id", flat=True).distinct():
        audit.append(tenant_id, actor="host", action="vault.rotated", now=now)


def _keep_for_broken(key: VaultKey) -> None:
    """Rewrap the key under the first configured one, so that no later rotation needs an older one for it."""
    key.wrapped = seal(wrapping_keys()[0], unwrap(key), key.id.bytes)
    key.save(by=WRITER, update_fields=["wrapped"])


def reseal_in_parts(
    fresh: VaultKey,
    old: list[VaultKey],
    rows_under: Callable[[VaultKey], QuerySet[Any]],
    reseal_one: Callable[[Any, VaultKey], None],
) -> Resealed:
    """Call ``reseal_one`` for every row under an old key; it raises ``SealTampered`` for a row that stays there.

    ``AT_ONCE`` rows share a transaction, with a pause after it in which others use the database.
    """
    count, broken = 0, []
    for tenant_id in Tenant.objects.order_by("id").values_list("id", flat=True):
        for key in old:
            rows, after = rows_under(key).filter(tenant_id=tenant_id).select_for_update().order_by("id"), UUID(int=0)
            while True:
                with transaction.atomic():
                    VaultKey.objects.select_for_update().get(id=fresh.id)  # locked before its rows, as in every seal
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
    """Lock the current data key in advance, for a transaction that holds other locks when it seals."""
    _current_key(now)


def seal_value(tenant_id: UUID, row_id: UUID, text: str, *, now: datetime) -> tuple[VaultKey, bytes]:
    """Seal a text for one row of the tenant under the newest data key; return key and result (RFC-0015 9.2).

    The key's row is locked, so that no rotation misses what this transaction stores.
    """
    key = _current_key(now)
    return key, seal(unwrap(key), text.encode(), tenant_id.bytes + row_id.bytes)


def reseal_value(fresh: VaultKey, tenant_id: UUID, row_id: UUID, text: str) -> bytes:
    """Seal the text under the fresh key of a rotation."""
    return seal(unwrap(fresh), text.encode(), tenant_id.bytes + row_id.bytes)


def open_value(key: VaultKey, tenant_id: UUID, row_id: UUID, sealed: bytes) -> str:
    """Open the result of ``seal_value``; raises ``VaultLocked`` when no key opens it or the row was tampered with."""
    try:
        return opened(unwrap(key), bytes(sealed), tenant_id.bytes + row_id.bytes).decode()
    except InvalidTag:
        raise SealTampered(f"the value of entry {row_id} does not open; was its row changed?") from None


def seal_note(binding: UUID, text: str) -> bytes:
    """Seal a short text for one row, outside the rotation of data keys, for work in progress."""
    return seal_bytes(binding, text.encode())


def open_note(binding: UUID, sealed: bytes) -> str:
    """Open the result of ``seal_note``; raises ``VaultLocked`` when no configured key opens it."""
    return open_bytes(binding, sealed).decode()


def seal_bytes(binding: UUID, body: bytes) -> bytes:
    """``seal_note`` for what is no text."""
    return seal(wrapping_keys()[0], body, binding.bytes)


def open_bytes(binding: UUID, sealed: bytes) -> bytes:
    """Open the result of ``seal_bytes``; raises ``VaultLocked`` when no configured key opens it."""
    for key in wrapping_keys():
        try:
            return opened(key, sealed, binding.bytes)
        except InvalidTag:
            continue
    raise VaultLocked("what was sealed does not open with the configured OPENWOP_SECRET_KEY")


def _current_key(now: datetime) -> VaultKey:
    """Return the newest data key, locked, so that no rotation begins before this change is committed.

    After waiting for the beginning of a rotation it queries again, since PostgreSQL returns the earlier newest key.
    """
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


def set_secret(scope: TenantScope, name: str, value: str, *, kind: str, owner: str, now: datetime) -> None:
    """Store the secret that runs of the tenant resolve by ``name``; audited."""
    scope.check("secrets:manage")
    store_secret(scope.tenant_id, name, value, scope=kind, owner=owner, actor=scope.principal.id, now=now)


def remove_secret(scope: TenantScope, name: str, *, kind: str, owner: str, now: datetime) -> None:
    """Remove the secret; audited. Raises ``NotFound`` when there is none by that name."""
    scope.check("secrets:manage")
    actor = scope.principal.id
    is_possible = kind in GIVEN_SCOPES and (name + owner).isprintable()  # PostgreSQL cannot be asked for a NUL
    if not is_possible or not remove(scope.tenant_id, name, scope=kind, owner=owner, actor=actor, now=now):
        raise NotFound("The vault holds no secret by that name.")


class SecretRecord(NamedTuple):
    """A secret as it is listed, sealed; when a run resolved it last, and that run."""

    row: Secret
    used_at: datetime | None
    used_by: UUID | None


def list_secrets(scope: TenantScope, *, after: UUID | None = None, limit: int) -> Page[SecretRecord]:
    """Return the tenant's and users' secrets, newest first; without those of single runs and webhooks."""
    page: Page[Any] = read_page(_listed(scope), after, limit)
    return page.with_rows([SecretRecord(each, each.used_at, each.used_by) for each in page.rows])


def find_secret(scope: TenantScope, name: str, *, kind: str, owner: str) -> SecretRecord:
    """Return one of ``list_secrets``; raises ``NotFound``."""
    row: Any = _listed(scope).filter(name=name, scope=kind, owner=owner).first()
    if row is None:
        raise NotFound("There is no such secret.")
    return SecretRecord(row, row.used_at, row.used_by)


def _listed(scope: TenantScope) -> Any:
    scope.check("secrets:manage")
    used = SecretResolution.objects.filter(tenant_id=OuterRef("tenant_id"), secret_id=OuterRef("id"))
    last = used.order_by("-resolved_at")
    rows = Secret.objects.of(scope.tenant_id).filter(scope__in=(SecretScope.TENANT, SecretScope.USER))
    rows = rows.exclude(owner__startswith="removed:")  # kept for redaction alone
    return rows.annotate(used_at=Subquery(last.values("resolved_at")[:1]), used_by=Subquery(last.values("run_id")[:1]))
