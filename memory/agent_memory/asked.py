"""What a list of memory was asked for: the thirteen parameters of RFC-0015 4.1, understood or refused (R50 to R59).

They come from a query string, where all are texts, or from the JSON filter of a batch delete, which may nest ``scope``
and list its tags, and where a number is a number and a boolean a boolean.
Parameters that the RFC does not know are ignored (R63).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from memory.addresses import MAX_NAME, Tier
from memory.host.errors import Invalid

DEFAULT_LIMIT, MAX_LIMIT = 100, 1000
FARTHEST = 2**31 - 1
MAX_TAGS, MAX_TAG = 64, 256
OWNED = (Tier.WORKING, Tier.EPISODIC)
PAGING = ("limit", "offset")


@dataclass(frozen=True, slots=True)
class Wanted:
    """The parameters as they hold; empty and None ask for nothing. ``listed`` is the list of the agent in the path."""

    agent_id: str = ""
    namespace: str = ""
    key: str = ""
    memory_type: Tier | None = None
    tags: tuple[str, ...] = ()
    tags_any: tuple[str, ...] = ()
    task_id: str = ""
    intent_id: str = ""
    pinned: bool | None = None
    updated_after: datetime | None = None
    updated_before: datetime | None = None
    limit: int = DEFAULT_LIMIT
    offset: int = 0
    listed: bool = False

    @property
    def narrows(self) -> bool:
        """Whether anything is asked for but a page."""
        return Wanted(limit=self.limit, offset=self.offset, listed=self.listed) != self


@dataclass
class _Reading:
    """Parameters while they are read, with what is wrong with them."""

    given: Mapping[str, Any]
    is_json: bool = False
    errors: list[dict[str, str]] = field(default_factory=list)

    def refuse(self, name: str, message: str) -> None:
        self.errors.append({"field": name, "message": message})

    def text(self, name: str, *, longest: int = MAX_NAME) -> str:
        value = self._value(name)
        if value is None:
            return ""
        if not isinstance(value, str) or not value:
            self.refuse(name, "must be a text that is not empty")
        elif len(value) > longest or not _is_sound(value):
            self.refuse(name, f"must be at most {longest} characters that can be stored")
        else:
            return value
        return ""

    def tags(self, name: str) -> tuple[str, ...]:
        value = self._value(name)
        if value is None:
            return ()
        parts = value.split(",") if isinstance(value, str) else value
        if not isinstance(parts, list | tuple) or not all(isinstance(part, str) for part in parts):
            self.refuse(name, "must be tags with commas between them")
            return ()
        found = tuple(dict.fromkeys(part for part in parts if part))
        if not 0 < len(found) <= MAX_TAGS or not all(len(tag) <= MAX_TAG and _is_sound(tag) for tag in found):
            self.refuse(name, f"must be 1 to {MAX_TAGS} tags of at most {MAX_TAG} characters")
            return ()
        return found

    def tier(self, name: str) -> Tier | None:
        value = self._value(name)
        if value is None:
            return None
        if value not in [each.value for each in Tier]:
            self.refuse(name, f"must be one of {', '.join(Tier)}")
            return None
        return Tier(value)

    def flag(self, name: str) -> bool | None:
        value = self._value(name)
        if value is None or (self.is_json and isinstance(value, bool)):
            return value
        known = {"true": True, "false": False}
        if self.is_json or not isinstance(value, str) or value.lower() not in known:
            self.refuse(name, "must be true or false")
            return None
        return known[value.lower()]

    def moment(self, name: str) -> datetime | None:
        value = self._value(name)
        if value is None:
            return None
        found = moment_of(value) if isinstance(value, str) else None
        if found is None:
            self.refuse(name, "must be a time in ISO 8601")
        return found

    def number(self, name: str, default: int, *, least: int, most: int) -> int:
        """A whole number; one that is too large is the largest there is (R59)."""
        value = self._value(name)
        if value is None:
            return default
        kind = int if self.is_json else str
        digits = str(value) if isinstance(value, kind) and not isinstance(value, bool) else ""
        if not (digits.isascii() and digits.isdigit()) or (len(digits) < 20 and int(digits) < least):
            self.refuse(name, f"must be a whole number of at least {least}")
            return default
        return most if len(digits) >= 20 else min(int(digits), most)

    def _value(self, name: str) -> Any:
        """As it was given: a list of texts for what came as a list."""
        group, _, inner = name.partition(".")
        nested = self.given.get(group) if inner else None
        return nested.get(inner) if isinstance(nested, Mapping) and name not in self.given else self.given.get(name)


def parse(given: Mapping[str, Any], *, agent_id: str = "", is_json: bool = False) -> Wanted:
    """The parameters, or a refusal that names each one that makes no sense. ``agent_id`` is the agent of the path."""
    named = {"agent_id": agent_id} if agent_id else {}
    reading = _Reading({**{name: given.get(name) for name in given}, **named}, is_json)
    wanted = Wanted(
        agent_id=reading.text("agent_id"),
        namespace=reading.text("namespace", longest=MAX_NAME + 1),
        key=reading.text("key"),
        memory_type=reading.tier("memory_type"),
        tags=reading.tags("tags"),
        tags_any=reading.tags("tags_any"),
        task_id=reading.text("scope.task_id"),
        intent_id=reading.text("scope.intent_id"),
        pinned=reading.flag("pinned"),
        updated_after=reading.moment("updated_after"),
        updated_before=reading.moment("updated_before"),
        limit=reading.number("limit", DEFAULT_LIMIT, least=1, most=MAX_LIMIT),
        offset=reading.number("offset", 0, least=0, most=FARTHEST),
        listed=bool(agent_id),
    )
    if wanted.memory_type in OWNED and not wanted.agent_id and not wanted.task_id:
        reading.refuse("agent_id", f"is needed for {wanted.memory_type} memory, or scope.task_id")
    if reading.errors:
        raise Invalid("The query cannot be understood.", errors=reading.errors)
    return wanted


def moment_of(text: str) -> datetime | None:
    """The time in ISO 8601, or None. Without an offset it is UTC; a space before one was a ``+`` in a query string."""
    for form in (text, "+".join(text.rsplit(" ", 1))):
        try:
            found = datetime.fromisoformat(form)
            return found.replace(tzinfo=UTC) if found.tzinfo is None else found.astimezone(UTC)
        except (ValueError, OverflowError):
            continue
    return None


def _is_sound(text: str) -> bool:
    """Whether a database can be asked for it: no NUL, no half of a surrogate pair."""
    return "\0" not in text and not any("\ud800" <= character <= "\udfff" for character in text)
