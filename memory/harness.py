"""The redaction harness: the vault's secrets and the pure redactor, put together (SR-1).

A text of a run is redacted for what that run has resolved; a text that belongs to no run, for all the tenant holds.
"""

from uuid import UUID

from memory.host import vault
from memory.host.models import Secret
from memory.redaction import Redactor

NOTHING = Redactor(())
KEPT = 256

_built: dict[tuple[tuple[UUID, int], ...], Redactor] = {}


def for_run(tenant_id: UUID, run_id: UUID) -> Redactor:
    """The redactor of everything this run writes, in whichever process it writes it."""
    return _redactor(vault.known_to(tenant_id, run_id))


def for_tenant(tenant_id: UUID) -> Redactor:
    """The redactor of titles, rationales, reasons and artifacts: every secret of the tenant."""
    return _redactor(vault.held_by(tenant_id))


def _redactor(secrets: list[Secret]) -> Redactor:
    """Built once for each set of secrets and versions; a rotation or a new value makes another set."""
    if not secrets:
        return NOTHING
    versions = tuple((secret.id, secret.version) for secret in secrets)
    if versions not in _built:
        if len(_built) >= KEPT:
            _built.clear()
        _built[versions] = Redactor([(secret.name, vault.unseal(secret)) for secret in secrets])
    return _built[versions]
