"""The redaction harness: the vault's secrets and the pure redactor, put together (SR-1).

A text of a run is redacted for what that run has resolved; a text that belongs to no run, for all the tenant holds.
"""

from uuid import UUID

from memory.host import vault
from memory.host.models import Secret
from memory.redaction import Redactor

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
    secrets = vault.held_by(tenant_id)
    if not secrets:
        return NOTHING
    return _built.get(_versions(secrets)) or _build(secrets)


def _versions(secrets: list[Secret]) -> Versions:
    return tuple((secret.id, secret.version) for secret in secrets)


def _build(secrets: list[Secret]) -> Redactor:
    """Once for each set of secrets and versions; a rotation or a new value makes another set."""
    if len(_built) >= KEPT:
        _built.clear()
    return _built.setdefault(_versions(secrets), Redactor([(secret.name, vault.unseal(secret)) for secret in secrets]))
