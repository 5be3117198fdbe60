"""The redaction harness: the vault's secrets and the pure redactor, put together (SR-1).

A text of a run is redacted for what that run has resolved; a text that belongs to no run, for all the tenant holds.
"""

from collections.abc import Callable
from uuid import UUID

from memory.host import vault
from memory.host.models import Secret
from memory.redaction import Redacted, Redactor, rewrite_marks, scrub

Versions = tuple[tuple[UUID, int], ...]

NOTHING = Redactor(())
KEPT = 256

_built: dict[Versions, Redactor] = {}


def for_run(tenant_id: UUID, run_id: UUID) -> Redactor:
    """The redactor of everything this run writes, in whichever process it writes it."""
    versions = vault.versions_known_to(tenant_id, run_id)
    if not versions:
        return NOTHING
    return _built.get(versions) or _build(vault.known_to(tenant_id, run_id))


def for_tenant(tenant_id: UUID) -> Redactor:
    """The redactor of titles, rationales, reasons and artifacts: every secret of the tenant."""
    versions = vault.versions_held_by(tenant_id)
    if not versions:
        return NOTHING
    return _built.get(versions) or _build(vault.held_by(tenant_id))


def for_derived(tenant_id: UUID) -> Callable[[str], Redacted]:
    """What derived text goes through: every secret of the tenant, then whatever has the shape of one; old marks are
    rewritten. What was redacted in a source stays so in what is made of it (RFC 0012 D, SR-1 carry-forward)."""
    redactor = for_tenant(tenant_id)

    def redact(text: str) -> Redacted:
        known = redactor.redact(rewrite_marks(text))
        shaped = scrub(known.text)
        return Redacted(shaped.text, known.count + shaped.count)

    return redact


def _versions(secrets: list[Secret]) -> Versions:
    return tuple((secret.id, secret.version) for secret in secrets)


def _build(secrets: list[Secret]) -> Redactor:
    """Once for each set of secrets and versions; a rotation or a new value makes another set."""
    if len(_built) >= KEPT:
        _built.clear()
    return _built.setdefault(_versions(secrets), Redactor([(secret.name, vault.unseal(secret)) for secret in secrets]))
