"""Refusals: what the domain says no with. One table (``openwop_console.error_envelope``) turns them into answers.

A refusal carries a stable code, a message fit for a stranger, and details without content or secrets.
"""

from typing import Any


class Refusal(Exception):
    """The base of every expected no. ``code`` is stable; ``details`` holds no entry data."""

    code = "refused"
    message = "The request was refused."

    def __init__(self, message: str | None = None, **details: Any) -> None:
        self.message = message or self.message
        self.details = details
        super().__init__(self.message)


class Unauthenticated(Refusal):
    """No credential, or one that is not ours; never says which."""

    code = "unauthenticated"
    message = "A valid credential is required."


class KeyExpired(Unauthenticated):
    code = "key_expired"
    message = "This API key has expired."


class KeyRevoked(Unauthenticated):
    code = "key_revoked"
    message = "This API key was revoked."


class Forbidden(Refusal):
    """The principal is known and may not. ``details`` names the missing scope or the rule."""

    code = "forbidden"
    message = "This credential may not do that."


class NotFound(Refusal):
    """Missing, foreign and malformed ids, all alike (CTI-1)."""

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


class Unprocessable(Invalid):
    """Well formed, but not valid for its kind (422)."""


class Conflict(Refusal):
    """The state does not allow it; ``details`` holds the state it is in."""

    code = "conflict"
    message = "The current state does not allow that."


class TooLarge(Refusal):
    code = "payload_too_large"
    message = "The request is larger than this host accepts."


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
    """The stream has its terminal event; nothing follows it (the last event of a run is its last)."""

    message = "The run has ended; its event log is closed."


class UnsupportedMediaType(Refusal):
    code = "unsupported_media_type"
    message = "Send the body as application/json."


class CrossSiteForgery(Forbidden):
    message = "The form was not sent from a page of this console, or the page was open too long. Load it again."


class Internal(Refusal):
    """What a caller learns about a bug: nothing but a correlation id."""

    code = "internal_error"
    message = "The host failed to answer; the failure was recorded."
