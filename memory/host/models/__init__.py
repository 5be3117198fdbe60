"""The tables of the ground floor."""

from memory.host.models.audit import AuditChain, AuditCheckpoint, AuditReason, AuditRecord
from memory.host.models.base import Personal, TenantFK, TenantOwned, WriteGuard, tenant_link
from memory.host.models.idempotency import IdempotencyRecord
from memory.host.models.registry import ArtifactKind, Installation, Resolution
from memory.host.models.run import (
    TERMINAL,
    Definition,
    ForkMode,
    Interrupt,
    InterruptVote,
    Run,
    RunEvent,
    RunStatus,
    Stream,
)
from memory.host.models.schedule import (
    Heartbeat,
    HostTimer,
    MissedFirePolicy,
    Schedule,
    ScheduleKind,
    ScheduleTick,
)
from memory.host.models.secret import GIVEN_SCOPES, Secret, SecretResolution, SecretScope, VaultKey
from memory.host.models.tenant import (
    ApiKey,
    Membership,
    Operator,
    OperatorSession,
    RoleGrant,
    SavedFilter,
    Tenant,
    Throttle,
)
from memory.host.models.webhook import DeliveryState, OutboxEvent, Webhook, WebhookDelivery, WebhookState

__all__ = [
    "GIVEN_SCOPES",
    "TERMINAL",
    "ApiKey",
    "ArtifactKind",
    "AuditChain",
    "AuditCheckpoint",
    "AuditReason",
    "AuditRecord",
    "Definition",
    "DeliveryState",
    "ForkMode",
    "Heartbeat",
    "HostTimer",
    "IdempotencyRecord",
    "Installation",
    "Interrupt",
    "InterruptVote",
    "Membership",
    "MissedFirePolicy",
    "Operator",
    "OperatorSession",
    "OutboxEvent",
    "Personal",
    "Resolution",
    "RoleGrant",
    "Run",
    "RunEvent",
    "RunStatus",
    "SavedFilter",
    "Schedule",
    "ScheduleKind",
    "ScheduleTick",
    "Secret",
    "SecretResolution",
    "SecretScope",
    "Stream",
    "Tenant",
    "TenantFK",
    "TenantOwned",
    "Throttle",
    "VaultKey",
    "Webhook",
    "WebhookDelivery",
    "WebhookState",
    "WriteGuard",
    "tenant_link",
]
