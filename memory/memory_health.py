"""The eight memory dimensions, the degraded projection (RFC 0080 A and C), and what else is advertised.

Both are derived from the very document that discovery serves, so the two cannot drift.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from memory.host.json_types import JSONMapping


@dataclass(frozen=True, slots=True)
class Dimension:
    """One dimension: its name, the advertised path it is read from, and what it means when it is missing.

    ``remedy`` is what an administrator does about it; empty where no setting of this host changes it.
    """

    name: str
    source: str
    effect: str
    satisfied: Callable[[JSONMapping], bool]
    remedy: str = ""


def _memory(document: JSONMapping) -> JSONMapping:
    found = document.get("memory")
    return found if isinstance(found, Mapping) else {}


def _agents(document: JSONMapping) -> JSONMapping:
    found = document.get("agents")
    return found if isinstance(found, Mapping) else {}


def _supported(block: object) -> bool:
    return isinstance(block, Mapping) and block.get("supported") is True


def _long_term(document: JSONMapping) -> bool:
    return "long-term" in _agents(document).get("memoryBackends", [])


def _replays(document: JSONMapping) -> bool:
    model = document.get("multiAgent", {}).get("executionModel", {})
    return _long_term(document) and model.get("version", 0) >= 2


def _writes(document: JSONMapping) -> bool:
    return _supported(_memory(document)) and _memory(document).get("writable") is not False


def _compacts(document: JSONMapping) -> bool:
    return any(_supported(_memory(document).get(name)) for name in ("compaction", "distillation"))


def _retains(document: JSONMapping) -> bool:
    block = _memory(document).get("retention", {})
    return block.get("ttl") is True or block.get("forget") is True


LONG_TERM = "set OPENWOP_MEMORY_BACKEND=long-term and restart the console"
DIMENSIONS = (
    Dimension("read", "memory.supported", "agents start without memory", lambda d: _supported(_memory(d))),
    Dimension("write", "memory.writable", "nothing an agent learns is kept", _writes),
    Dimension(
        "search",
        "memory.search",
        "memory is listed, not searched",
        lambda d: _supported(_memory(d).get("search")),
    ),
    Dimension(
        "long-term-durability",
        "agents.memoryBackends",
        "memory is lost when the host restarts",
        _long_term,
        LONG_TERM,
    ),
    Dimension("compaction", "memory.compaction", "memory grows and is never condensed", _compacts),
    Dimension(
        "attribution",
        "memory.attribution",
        "which node wrote an entry is not on record",
        lambda d: _supported(_memory(d).get("attribution")),
    ),
    Dimension(
        "replay-snapshot",
        "multiAgent.executionModel",
        "replays may see different memory than the original run",
        _replays,
    ),
    Dimension("retention", "memory.retention", "entries neither expire nor can be forgotten", _retains),
)
REQUESTED = {
    "longTerm": ("read", "write", "long-term-durability"),
    "scratchpad": ("read", "write"),
    "conversation": ("read", "write"),
}


def degraded_dimensions(memory_shape: Mapping[str, object], document: JSONMapping) -> list[str]:
    """The dimensions an agent of this shape asks for and the host does not satisfy, in the order of the RFC."""
    asked = _requested(memory_shape)
    return [each.name for each in DIMENSIONS if each.name in asked and not each.satisfied(document)]


@dataclass(frozen=True, slots=True)
class DimensionState:
    """The state of one dimension for one agent: ``asked`` is None when its manifest declares no memory shape."""

    dimension: Dimension
    asked: bool | None
    satisfied: bool

    @property
    def verdict(self) -> str:
        """``satisfied``, ``degraded``, ``unknown`` (nothing declared), or ``not required``."""
        if self.asked is None:
            return "unknown"
        if not self.asked:
            return "not required"
        return "satisfied" if self.satisfied else "degraded"


def dimension_states(memory_shape: Mapping[str, object] | None, document: JSONMapping) -> list[DimensionState]:
    """All eight dimensions for an agent of this shape, in the order of the RFC."""
    asked = _requested(memory_shape) if memory_shape is not None else None
    return [
        DimensionState(each, None if asked is None else each.name in asked, each.satisfied(document))
        for each in DIMENSIONS
    ]


def _requested(memory_shape: Mapping[str, object]) -> set[str]:
    return {name for key, names in REQUESTED.items() if memory_shape.get(key) is True for name in names}


def unmet(keys: Iterable[str], document: JSONMapping) -> list[str]:
    """Those of ``keys`` that the host does not advertise, each once, in their order (RFC 0072 C, RFC 0092)."""
    return [key for key in dict.fromkeys(keys) if not advertises(document, key)]


def advertises(document: JSONMapping, key: str) -> bool:
    """Whether the capability at the dotted ``key`` is claimed; a leading ``host.`` is the vocabulary's own word."""
    segments = key.removeprefix("host.").split(".")
    found: object = document
    for at, segment in enumerate(segments):
        if isinstance(found, list):
            return found.count(segment) > 0 and at == len(segments) - 1
        if not isinstance(found, Mapping) or segment not in found:
            return False
        found = found[segment]
    return _claimed(found, is_family=len(segments) == 1)


def _claimed(value: object, *, is_family: bool = False) -> bool:
    """True itself, a name or a number; a list with something in it; a block that says ``supported``, or needs not to.

    A family without ``supported`` promises its parts and not itself.
    """
    if isinstance(value, Mapping):
        parts = value.values()
        return value["supported"] is True if "supported" in value else not is_family and any(map(_claimed, parts))
    return value is not False and bool(value)
