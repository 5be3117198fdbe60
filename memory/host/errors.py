"""Refusals: the errors that the domain raises. One table (``openwop_console.errors``) maps them to responses.

A refusal carries a stable code, a message fit for a stranger, and details without content or secrets.
"""

from typing import Any

MOST_PROBLEMS = 200  # of a body that one answer names


class Refusal(Exception):
    """The base of every expected refusal. ``code`` is stable; ``details`` holds no entry data."""

    code = "refused"
    message = "The request was refused."

    def __init__(self, message: str | None = None, **details: Any) -> None:
        self.message = message or self.message
        self.details = details
        super().__init__(self.message)

    @property
    def in_words(self) -> str:
        """The message, and every field that it is about, in one line."""
        fields = "; ".join(f"{row['field']} {row['message']}" for row in self.details.get("errors", []))
        return f"{self.message}{f' ({fields})' if fields else ''}"


class Unauthenticated(Refusal):
    """No credential, or an unknown one; never says which."""

    code = "unauthenticated"
    message = "A valid credential is required."


class KeyExpired(Unauthenticated):
    code = "key_expired"
    message = "This API key has expired."


class KeyRevoked(Unauthenticated):
    code = "key_revoked"
    message = "This API key was revoked."


class Forbidden(Refusal):
    """The principal is known and lacks the right. ``details`` names the missing scope or the rule.

    ``on_record`` is set when the denial is recorded, which happens once.
    """

    code = "forbidden"
    message = "This credential may not do that."
    on_record = False


class NotFound(Refusal):
    """Missing, foreign and malformed ids, indistinguishable (CTI-1)."""

    code = "not_found"
    message = "There is nothing here by that id."


class WorkflowNotFound(NotFound):
    code = "workflow_not_found"
    message = "This tenant has no workflow by that id."


class Invalid(Refusal):
    """The request cannot be understood. ``errors`` is a list of ``{"field", "message"}``."""

    code = "validation_error"
    message = "The request is not valid."

    def __init__(self, message: str | None = None, *, errors: list[dict[str, str]] | None = None, **details: Any):
        super().__init__(message, **({"errors": errors} if errors else {}), **details)


class UnknownParameter(Invalid):
    """A query parameter that this address does not have; ignoring it would answer a different question."""

    message = "This address has no such query parameter."


class RepeatedParameter(UnknownParameter):
    """A single-valued query parameter that is given more than once; choosing one would be a guess."""

    message = "This address takes each of its query parameters once."


class Unprocessable(Invalid):
    """Well formed, but not valid for its kind (422)."""


class Conflict(Refusal):
    """The current state does not allow it; ``details`` holds that state."""

    code = "conflict"
    message = "The current state does not allow that."


class TooLarge(Refusal):
    code = "payload_too_large"
    message = "The request is larger than this host accepts."


class RequestTimeout(Refusal):
    """The body did not arrive in time."""

    code = "request_timeout"
    message = "The body of the request did not arrive in time."


class MethodNotAllowed(Refusal):
    code = "method_not_allowed"
    message = "This address does not answer that method."


class RateLimited(Refusal):
    code = "rate_limited"
    message = "Too many attempts; try again later."


class CapabilityNotProvided(Refusal):
    code = "capability_not_provided"
    message = "This host does not offer that capability."


class StreamClosed(Conflict):
    """The stream has its terminal event, and nothing may follow it."""

    message = "The run has ended; its event log is closed."


class UnsupportedMediaType(Refusal):
    code = "unsupported_media_type"
    message = "Send the body as application/json."


class CrossSiteForgery(Forbidden):
    message = "The form was not sent from a page of this console, or you have signed in again since. Load it again."


class Gone(Refusal):
    """It existed, and will not exist again."""

    code = "gone"
    message = "That no longer exists."


class Busy(Refusal):
    """The host has no capacity for this now; ``retryAfterMs`` is when to retry."""

    code = "busy"
    message = "This host has no room for that now; try again later."


class StoreUnavailable(Busy):
    """The database does not answer, is locked, or is full; a commit whose answer was lost may have succeeded."""

    code = "store_unavailable"
    message = "The database of this host does not answer now; try again in a moment."

    def __init__(self, message: str = "") -> None:
        super().__init__(message, retryAfterMs=2000)


class VaultUnavailable(Busy):
    """The host was started with another secret key than the one that its vault was sealed with."""

    code = "vault_locked"
    message = "The vault of this host was sealed with another OPENWOP_SECRET_KEY."

    def __init__(self) -> None:
        super().__init__(retryAfterMs=60_000)


class RunForbidden(Forbidden):
    code = "run_forbidden"
    message = "That run belongs to another person."


class ForceEngineVersionForbidden(Forbidden):
    code = "force_engine_version_forbidden"
    message = "This host runs one engine; a caller does not choose another."


class ArtifactNotFound(NotFound):
    code = "artifact_not_found"
    message = "That run has no artifact by that id."


class SubscriptionNotFound(NotFound):
    code = "subscription_not_found"
    message = "There is no webhook subscription by that id."


class WebhookUrlRejected(Invalid):
    """The address is refused for its form, its scheme, or its destination."""

    code = "webhook_url_rejected"
    message = "This host does not send webhooks to that address."


class UnsupportedStreamMode(Invalid):
    code = "unsupported_stream_mode"
    message = "There is no such stream mode."


class ScheduleHorizonExceeded(Invalid):
    code = "schedule_horizon_exceeded"
    message = "That is farther in the future than this host schedules."


class PackPeerDependencyMissing(Unprocessable):
    """``missing`` names the capabilities that the pack requires and this host does not advertise."""

    code = "pack_peer_dependency_missing"
    message = "The pack needs a capability that this host does not advertise."


class ChainParameterInvalid(Unprocessable):
    """A value for a parameter of a workflow chain does not match the chain's declaration (RFC 0013)."""

    code = "chain_parameter_invalid"
    message = "The parameters of the chain do not allow these inputs."


class InvalidFromSeq(Unprocessable):
    code = "invalid_from_seq"
    message = "A fork begins at an event of its source run, or right behind the last one, which is maxSeq."


class ReplayMemorySnapshotUnavailable(Unprocessable):
    """What the source run read is no longer stored; ``reason`` is one of the contract's two words."""

    code = "replay_memory_snapshot_unavailable"
    message = "What the source run read from memory can no longer be served."


class EffectInReplay(Conflict):
    """A replay repeats its source's record; it changes nothing and sends no second notification."""

    code = "effect_in_replay"
    message = "A replay has no effects."


class IdempotencyKeyMismatch(Conflict):
    code = "idempotency_key_mismatch"
    message = "That idempotency key was used with another body."


class IdempotencyInFlight(Conflict):
    code = "idempotency_in_flight"
    message = "The same request is still being processed. Try again in a moment."


class RunAlreadyActive(Conflict):
    code = "run_already_active"
    message = "A run of that scope is active."


class LastOwner(Conflict):
    code = "last_owner"
    message = "That is the last active owner of the tenant; make another one first."


class SubjectOnHold(Conflict):
    """A legal hold prevents forgetting the subject; ``details`` has its ``reason``, who set it and when."""

    code = "subject_on_hold"
    message = "The subject is on legal hold and is not forgotten until the hold is ended."


class SecondPersonNeeded(Conflict):
    """The tenant's policy requires two people to confirm a forget, and this person was the first."""

    code = "second_person_needed"
    message = "You have confirmed this forget. Another person who may forget has to confirm it too."


class WorkspaceConflict(Conflict):
    code = "workspace_conflict"
    message = "The file has changed since."


class WorkspaceTooLarge(TooLarge):
    code = "workspace_too_large"
    message = "The workspace has no room for that file."


class TokenBudgetExceeded(Unprocessable):
    """Nothing meaningful fits the budget (RFC 0062 B.2); ``details`` has ``budget`` and ``minimumRequired``."""

    code = "token_budget_exceeded"
    message = "The budget is too small for this source set."


class NothingToCompact(Unprocessable):
    """A compaction needs at least two entries; ``details`` has how many were eligible."""

    code = "nothing_to_compact"
    message = "There are not two entries here that could become one."


class PassCancelled(Conflict):
    """The pass stopped because its cancellation was requested."""

    code = "pass_cancelled"
    message = "The pass was cancelled."


class EndpointFailed(Refusal):
    """The distillation endpoint gave no usable answer; ``reason`` is one of a few words."""

    code = "distiller_unavailable"
    message = "The endpoint that distils gave no usable answer."


class KeyExists(Conflict):
    """The key is in use (RFC-0015 1.2); ``details`` has ``current_version``, and ``current`` if the caller may read
    it."""

    code = "key_exists"
    message = "There is already an entry with that key."


class VersionMismatch(Conflict):
    """The entry has another version now (RFC-0015 3.2); ``details`` has ``current_version`` and the entry."""

    code = "version_mismatch"
    message = "The entry has changed since that version."


class TaskClosed(Conflict):
    code = "task_closed"
    message = "The task has ended and accepts no more memory."


class PreconditionRequired(Refusal):
    code = "precondition_required"
    message = "Name the version to change in If-Match."


class CapacityExceeded(Refusal):
    """The capacity is used up (RFC-0015 9.4); ``details`` has ``current_count``, ``max_capacity`` and
    ``limit_kind``."""

    code = "capacity_exceeded"
    message = "There is no room for another entry."


class GuardrailViolation(Forbidden):
    """A coordinator's guardrail forbids it (RFC-0015 6.6)."""

    code = "guardrail_violation"
    message = "A guardrail of the coordinator does not allow that."


class Internal(Refusal):
    """A bug; the caller gets nothing but a correlation id."""

    code = "internal_error"
    message = "The host failed to answer; the failure was recorded."
