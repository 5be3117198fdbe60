"""The errors of the published client, for where it is not installed: the same names with the same arguments."""

from typing import Any


class OpenIntentError(Exception):
    """The server said no; ``response`` is what it said."""

    def __init__(self, message: str, status_code: int | None = None, response: dict[str, Any] | None = None) -> None:
        super().__init__(message)
        self.message, self.status_code, self.response = message, status_code, response


class AuthenticationError(OpenIntentError):
    """The key is not valid."""


class NotFoundError(OpenIntentError):
    """It is not there."""


class ConflictError(OpenIntentError):
    """It has changed since."""

    def __init__(self, message: str, current_version: int | None = None, **more: Any) -> None:
        super().__init__(message, **more)
        self.current_version = current_version


class ValidationError(OpenIntentError):
    """It was not understood; ``errors`` says which fields."""

    def __init__(self, message: str, errors: list[Any] | None = None, **more: Any) -> None:
        super().__init__(message, **more)
        self.errors = errors or []
