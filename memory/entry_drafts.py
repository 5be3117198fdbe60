"""An entry before it is stored, and the check whether it can be.

A draft is refused as a whole, naming every field; an error never repeats the draft's content.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from memory.host.errors import Invalid
from memory.text.storable import UNSTORABLE, UNSTORABLE_IN_LABEL

MAX_CONTENT_BYTES = 65_536
MAX_TAGS = 64
MAX_LABEL = 256


@dataclass(frozen=True, slots=True)
class EntryDraft:
    """An entry to be written, before redaction. ``findable`` is searched with the content."""

    content: str
    tags: tuple[str, ...] = ()
    subject: str = ""
    agent_id: str = ""
    expires_at: datetime | None = None
    findable: tuple[str, ...] = ()

    @property
    def texts(self) -> tuple[str, ...]:
        """All of it that may hold a secret."""
        return (self.content, self.subject, *self.tags, *self.findable)


def check_draft(draft: EntryDraft, now: datetime) -> tuple[str, ...]:
    """Return the draft's tags in order, each once; refuses a draft that cannot be stored, naming every field."""
    tags = tuple(dict.fromkeys(tag for tag in draft.tags if tag))
    problems = [
        ("content", _content_problem(draft.content)),
        ("tags", _tags_problem(tags)),
        ("subject", _label_problem(draft.subject)),
        ("agentId", _label_problem(draft.agent_id)),
        ("expiresAt", "is in the past" if draft.expires_at and draft.expires_at <= now else ""),
    ]
    errors = [{"field": field, "message": problem} for field, problem in problems if problem]
    if errors:
        raise Invalid("The memory entry cannot be stored.", errors=errors)
    return tags


def check_tags(tags: Sequence[str]) -> tuple[str, ...]:
    """Return the tags; refuses too many, or one that cannot be stored."""
    if problem := _tags_problem(tuple(tags)):
        raise Invalid("The tags cannot be stored.", errors=[{"field": "tag", "message": problem}])
    return tuple(tags)


def require_fitting(*, memory_ref: str, subject: str, tags: tuple[str, ...]) -> None:
    """Refuse labels that the mark of a short secret has made too long to be stored."""
    labels = (("memoryRef", memory_ref), ("subject", subject), *(("tags", tag) for tag in tags))
    long = dict.fromkeys(field for field, label in labels if len(label) > MAX_LABEL)
    if long:
        message = f"is longer than {MAX_LABEL} characters once its secrets are replaced"
        errors = [{"field": field, "message": message} for field in long]
        raise Invalid("The memory entry cannot be stored.", errors=errors)


def _content_problem(content: str) -> str:
    if not content:
        return "is empty"
    if UNSTORABLE.search(content):
        return "holds a NUL or half a surrogate pair"
    if len(content.encode()) > MAX_CONTENT_BYTES:
        return f"is longer than {MAX_CONTENT_BYTES} bytes"
    return ""


def _tags_problem(tags: tuple[str, ...]) -> str:
    if len(tags) > MAX_TAGS:
        return f"are more than {MAX_TAGS}"
    return next((problem for problem in map(_label_problem, tags) if problem), "")


def _label_problem(label: str) -> str:
    if len(label) > MAX_LABEL:
        return f"is longer than {MAX_LABEL} characters"
    return "holds a control character" if UNSTORABLE_IN_LABEL.search(label) else ""
