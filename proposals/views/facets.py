"""The choices of the inbox in words: its facets with what stands behind each value, and what is set."""

from dataclasses import dataclass, replace
from typing import Any

from proposals import inbox
from proposals.inbox import Counts, InboxFilter
from proposals.models import Kind, Purpose, State

SHOWS = {inbox.NEEDS_ME: "Needs me", inbox.MINE: "Mine", inbox.ALL: "All"}
AGES = {"24h": "Last 24 hours", "7d": "Last 7 days", "30d": "Last 30 days", "older": "30 days or older"}
# Gates, kinds, states and purposes are told by the words that rows, badges and the API have for them.
STANDINGS = {word: word for word in inbox.STANDINGS}
KINDS = {kind: kind for kind in Kind.values}
STATES = {state: state for state in State.values}
PURPOSES = {purpose: purpose for purpose in Purpose.values}
DUPLICATES = {"yes": "Restates something", "no": "New"}
PEOPLE = {inbox.NOBODY: "People and keys"}
# What such a word stands for, where it does not say so itself.
PLAIN: dict[str, str] = {
    Kind.AGENT_PACK: "agents",
    Kind.WORKFLOW_CHAIN_PACK: "steps in a row",
    Kind.PROMPT_TEMPLATE: "prompts",
    Kind.AUTOMATION: "runs by the clock",
    "waiting": "for votes",
}


@dataclass(frozen=True, slots=True)
class Option:
    """One choice of a facet; ``plain`` says what its label stands for."""

    value: str
    label: str
    selected: bool
    count: int | None = None
    plain: str = ""


@dataclass(frozen=True, slots=True)
class Facet:
    """One group of choices; ``more`` values are not listed."""

    name: str
    legend: str
    options: list[Option]
    kind: str = "checkbox"
    folded: bool = False
    more: int = 0


@dataclass(frozen=True, slots=True)
class Chip:
    """One filter that is set, and the filter without it."""

    label: str
    value: str
    without: InboxFilter


@dataclass(frozen=True, slots=True)
class _Group:
    name: str
    legend: str
    field: str
    words: dict[Any, str]


GROUPS = (
    _Group("gate", "Gate", "gates", STANDINGS),
    _Group("state", "State", "states", STATES),
    _Group("kind", "Kind", "kinds", KINDS),
    _Group("age", "Age", "age", AGES),
    _Group("synthesizer", "Synthesizer", "synthesizers", PEOPLE),
    _Group("duplicate", "Duplicate", "duplicates", DUPLICATES),
    _Group("purpose", "Purpose", "purposes", PURPOSES),
)
FOLDED = frozenset({"duplicate", "purpose"})


def of(wanted: InboxFilter, counts: Counts) -> list[Facet]:
    """Every facet with its choices; one that is set stays on offer, whether or not anything has it."""
    return [_facet(group, wanted, counts) for group in GROUPS]


def _facet(group: _Group, wanted: InboxFilter, counts: Counts) -> Facet:
    behind, chosen = counts.facets[group.name], _chosen(group, wanted)
    values = list(dict.fromkeys([*group.words, *sorted(behind), *chosen]))
    options = [_option(group, each, each in chosen, behind.get(each, 0)) for each in values]
    if group.name == "age":
        return Facet(group.name, group.legend, [Option("", "Any", not chosen), *options], "radio")
    more = counts.synthesizers - len(behind) if group.name == "synthesizer" else 0
    return Facet(group.name, group.legend, options, folded=group.name in FOLDED and not chosen, more=more)


def _option(group: _Group, value: str, selected: bool, count: int) -> Option:
    plain = PLAIN.get(value, "") if value in group.words else ""
    return Option(value, group.words.get(value, value), selected, count, plain)


def _chosen(group: _Group, wanted: InboxFilter) -> tuple[str, ...]:
    value = getattr(wanted, group.field)
    return value if isinstance(value, tuple) else (value,) if value else ()


def chips(wanted: InboxFilter) -> list[Chip]:
    """What is set besides the scope, value by value."""
    found = [
        Chip(group.legend, group.words.get(value, value), _without(wanted, group, value))
        for group in GROUPS
        for value in _chosen(group, wanted)
    ]
    return [*found, *([Chip("Text", wanted.text, replace(wanted, text=""))] if wanted.text else [])]


def _without(wanted: InboxFilter, group: _Group, value: str) -> InboxFilter:
    left = tuple(each for each in _chosen(group, wanted) if each != value)
    changes: dict[str, Any] = {group.field: left if isinstance(getattr(wanted, group.field), tuple) else ""}
    return replace(wanted, **changes)
