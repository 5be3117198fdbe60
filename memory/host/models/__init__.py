"""The tables of the ground floor."""

from memory.host.models.audit import AuditChain, AuditRecord
from memory.host.models.base import Guarded, TenantFK, TenantOwned, WriteGuard, tenant_link
from memory.host.models.registry import ArtifactKind, Installation, Resolution
from memory.host.models.run import TERMINAL, Definition, Interrupt, Run, RunEvent, RunStatus, Stream
from memory.host.models.secret import Secret, SecretResolution, SecretScope, VaultKey
from memory.host.models.tenant import ApiKey, Operator, RoleGrant, Tenant

__all__ = [
    "TERMINAL",
    "ApiKey",
    "ArtifactKind",
    "AuditChain",
    "AuditRecord",
    "Definition",
    "Guarded",
    "Installation",
    "Interrupt",
    "Operator",
    "Resolution",
    "RoleGrant",
    "Run",
    "RunEvent",
    "RunStatus",
    "Secret",
    "SecretResolution",
    "SecretScope",
    "Stream",
    "Tenant",
    "TenantFK",
    "TenantOwned",
    "VaultKey",
    "WriteGuard",
    "tenant_link",
]
