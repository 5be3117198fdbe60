"""What memory says no with (RFC-0015, "Error Handling").

Where the published client is installed these are kinds of its own errors, so code that catches those goes on working.
"""

from typing import TYPE_CHECKING, Any

import httpx

if TYPE_CHECKING:
    from openwop_console_client.standing_in import (
        AuthenticationError,
        ConflictError,
        NotFoundError,
        OpenIntentError,
        ValidationError,
    )
else:
    try:
        from openintent.exceptions import (
            AuthenticationError,
            ConflictError,
            NotFoundError,
            OpenIntentError,
            ValidationError,
        )
    except ImportError:
        from openwop_console_client.standing_in import (
            AuthenticationError,
            ConflictError,
            NotFoundError,
            OpenIntentError,
            ValidationError,
        )

Json = dict[str, Any]


class MemoryConflictError(ConflictError):
    """Somebody was faster, or has the key (409). ``current`` is the entry as it is, where one may read it."""

    def __init__(self, message: str, *, current: Json | None = None, **more: Any) -> None:
        super().__init__(message, **more)
        self.current = current
        self.current_value: Json | None = current.get("value") if current else None


class MemoryCapacityError(OpenIntentError):
    """There is no room (429); ``limit_kind`` says which bound it is."""

    def __init__(
        self,
        message: str,
        *,
        current_count: int | None = None,
        max_capacity: int | None = None,
        limit_kind: str = "",
        **more: Any,
    ) -> None:
        super().__init__(message, **more)
        self.current_count, self.max_capacity, self.limit_kind = current_count, max_capacity, limit_kind


class MemoryUnavailableError(OpenIntentError):
    """The server is busy or away (503), or was asked too often (429). ``retry_after`` is in seconds, None where the
    server did not say when."""

    def __init__(self, message: str, *, retry_after: int | None = None, **more: Any) -> None:
        super().__init__(message, **more)
        self.retry_after = retry_after


class MemoryAuthenticationError(AuthenticationError):
    """The key is not one of the server, or not any more (401)."""


class MemoryAccessError(OpenIntentError):
    """This agent may not (403)."""


class MemoryNotFoundError(NotFoundError):
    """There is no such entry (404), or there is none any more."""


class MemoryInvalidError(ValidationError):
    """The server did not accept what it was given (400)."""


class TaskClosedError(OpenIntentError):
    """The task has ended and takes no memory any more (409)."""


def raise_for(answer: httpx.Response) -> None:
    """Nothing for an answer that is good; for any other the error that it stands for."""
    if answer.status_code < 300:
        return
    body = body_of(answer)
    unknown = f"{answer.url.copy_with(query=None)} answered {answer.status_code}, as no console does; is it one?"
    message = str(body.get("message") or unknown)
    said: Json = {"status_code": answer.status_code, "response": body}
    if answer.status_code == 503 or (answer.status_code == 429 and "max_capacity" not in body):
        raise MemoryUnavailableError(message, retry_after=retry_after(answer), **said)
    raise _error(answer.status_code, message, body, said)


def raise_unless_gone(answer: httpx.Response) -> None:
    """The same for the answer to a deletion, which is good when there was nothing: another client was faster."""
    if answer.status_code != httpx.codes.NOT_FOUND:
        raise_for(answer)


def retry_after(answer: httpx.Response) -> int | None:
    """The seconds after which the server wants to be asked again; None where it does not say."""
    wait = answer.headers.get("Retry-After", "")
    return int(wait) if wait.isdecimal() else None


def body_of(answer: httpx.Response) -> Json:
    """The JSON object of the answer; an empty one when it has none."""
    try:
        body = answer.json()
    except ValueError:
        return {}
    return body if isinstance(body, dict) else {}


def _error(status: int, message: str, body: Json, said: Json) -> OpenIntentError:
    if status == 409 and body.get("error") == "TASK_CLOSED":
        return TaskClosedError(message, **said)
    if status == 409:
        return conflict(message, body, **said)
    if status == 429:
        bounds = {key: body[key] for key in ("current_count", "max_capacity", "limit_kind") if key in body}
        return MemoryCapacityError(message, **bounds, **said)
    if status in {400, 422}:
        errors = body.get("errors")
        found: list[Any] = errors if isinstance(errors, list) else []
        return MemoryInvalidError(_with_reason(message, found), errors=found, **said)
    return KINDS.get(status, OpenIntentError)(message, **said)


KINDS: dict[int, type[OpenIntentError]] = {
    401: MemoryAuthenticationError,
    403: MemoryAccessError,
    404: MemoryNotFoundError,
}


def _with_reason(message: str, errors: list[Any]) -> str:
    """The message with the first field that is wrong and why, which it does not say itself."""
    first = errors[0] if errors and isinstance(errors[0], dict) else {}
    reason = ": ".join(str(first[name]) for name in ("field", "message") if first.get(name))
    return message if not reason or str(first.get("message")) in message else f"{message} {reason}"


def conflict(message: str, body: Json, **said: Any) -> MemoryConflictError:
    """The conflict of a 409, with the state that it tells of."""
    current = body.get("current")
    found = current if isinstance(current, dict) else None
    if found is None and isinstance(body.get("current_value"), dict):
        found = {"value": body["current_value"], "version": body.get("current_version")}
    version = body.get("current_version") or (found or {}).get("version")
    return MemoryConflictError(message, current=found, current_version=version, **said)
