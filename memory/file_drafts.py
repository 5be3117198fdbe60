"""What somebody wants a workspace file to hold, and what is said of the file as it stands (RFC 0059). Pure.

A draft is refused as a whole, naming the field; nothing of a refused draft is echoed.
"""

import re
from dataclasses import dataclass

from memory.drafts import UNSTORABLE, UNSTORABLE_IN_LABEL
from memory.host.errors import Invalid, WorkspaceTooLarge

MAX_FILE_BYTES = 1_048_576
MAX_CONTENT_TYPE = 128
DEFAULT_CONTENT_TYPE = "text/markdown"
PATH = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/-]{0,255}")
ENTITY_TAG = re.compile(r'(W/)?("[^"]*")')


@dataclass(frozen=True, slots=True)
class FileDraft:
    """What a file is to hold, before it is redacted."""

    content: str
    content_type: str = DEFAULT_CONTENT_TYPE


@dataclass(frozen=True, slots=True)
class Precondition:
    """What a caller says of the file as it stands: the texts of If-Match and If-None-Match, None when not given."""

    if_match: str | None = None
    if_none_match: str | None = None

    def holds(self, etag: str | None) -> bool:
        """Whether it is true of a file with ``etag``; None is a file that is not there (RFC 9110, 13.1)."""
        return self._matches(etag) and self._differs(etag)

    def _matches(self, etag: str | None) -> bool:
        if self.if_match is None:
            return True
        strong = {tag for weak, tag in ENTITY_TAG.findall(self.if_match) if not weak}
        return etag is not None and (self.if_match.strip() == "*" or etag in strong)

    def _differs(self, etag: str | None) -> bool:
        if self.if_none_match is None:
            return True
        named = {tag for _, tag in ENTITY_TAG.findall(self.if_none_match)}
        return etag is None or (self.if_none_match.strip() != "*" and etag not in named)


WHATEVER = Precondition()


def checked_path(path: str) -> str:
    """The path, if a file can have it: the pattern of the schema, no ``..``, and no empty or ``.`` segment."""
    if not PATH.fullmatch(path) or ".." in path or {"", "."} & set(path.split("/")):
        message = "must be 1 to 256 letters, digits and . _ - / that begin with a letter or digit, without '..'"
        raise invalid("path", message)
    return path


def check(draft: FileDraft) -> None:
    """Refuse what cannot be stored, whatever the tenant's secrets are."""
    if UNSTORABLE.search(draft.content):
        raise invalid("content", "holds a NUL or half a surrogate pair")
    if not 0 < len(draft.content_type) <= MAX_CONTENT_TYPE or UNSTORABLE_IN_LABEL.search(draft.content_type):
        raise invalid("contentType", f"must be 1 to {MAX_CONTENT_TYPE} characters of plain text")
    require_size(draft)


def require_size(draft: FileDraft) -> None:
    provided = len(draft.content.encode())
    if provided > MAX_FILE_BYTES:
        message = f"A file has at most {MAX_FILE_BYTES} bytes."
        raise WorkspaceTooLarge(message, maxBytes=MAX_FILE_BYTES, providedBytes=provided)


def invalid(field: str, message: str) -> Invalid:
    return Invalid("The file cannot be stored.", errors=[{"field": field, "message": message}])
