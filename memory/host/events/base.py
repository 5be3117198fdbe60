"""What every event is, and its form on the wire."""

from dataclasses import dataclass, fields, is_dataclass
from functools import cache
from typing import Any, ClassVar
from uuid import UUID

from memory.host import ids


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a run or node failed: a stable code and the fixed sentence that belongs to it."""

    code: str
    message: str


@dataclass(frozen=True, slots=True)
class Owner:
    """RFC 0048: opaque ids, never a person's data."""

    tenant: str
    principal: str


@dataclass(frozen=True, slots=True)
class Event:
    """The base: ``type`` on the wire, whether it ends its stream, and the row it is about.

    ``wire_names`` are the fields that the wire calls otherwise than this house, or than Python lets us; ``beside`` are
    those that stand on the event and not in its payload, because the wire's is closed.
    """

    type: ClassVar[str]
    terminal: ClassVar[bool] = False
    wire_names: ClassVar[dict[str, str]] = {}
    beside: ClassVar[frozenset[str]] = frozenset()

    @property
    def node(self) -> str:
        return str(getattr(self, "node_id", None) or "")

    @property
    def subject(self) -> UUID | None:
        """The memory entry or proposal this event is about, for the index that answers "who wrote this?"."""
        return None


WIRE_PREFIX = {
    "memory_id": "mem",
    "entry_id": "mem",
    "output_id": "mem",
    "source_ids": "mem",
    "merged_ids": "mem",
    "proposal_id": "prop",
    "commitment_id": "cmt",
}


def payload_of(event: Any) -> dict[str, Any]:
    """The wire form of an event: camelCase keys, wire ids, no absent optional."""
    beside: frozenset[str] = getattr(event, "beside", frozenset())
    values = ((field.name, getattr(event, field.name)) for field in fields(event) if field.name not in beside)
    names: dict[str, str] = getattr(event, "wire_names", {})
    return {names.get(name) or _camel(name): _plain(name, value) for name, value in values if value is not None}


def _plain(name: str, value: Any) -> Any:
    if isinstance(value, UUID):
        return ids.wire(WIRE_PREFIX[name], value)
    if is_dataclass(value):
        return payload_of(value)
    return [_plain(name, item) for item in value] if isinstance(value, tuple) else value


@cache
def _camel(name: str) -> str:
    head, *rest = name.split("_")
    return head + "".join(part.capitalize() for part in rest)
