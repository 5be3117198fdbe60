"""Summarises in words, by kind, what a new version of an artifact changes: what a reviewer reads before the diff.

Gains such as permissions and tools come first, then losses, changes and notes. Names from an artifact are untrusted
text; they are shortened, and shown as text.
"""

import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from typing import Any
from zoneinfo import ZoneInfo

from django.utils.dateparse import parse_datetime

from memory.host import cron, node_types
from memory.host.json_types import JSONMapping, JSONObject
from proposals.models import Kind

GAIN, LOSS, CHANGE, NOTE = "gain", "loss", "change", "note"
TONES = (GAIN, LOSS, CHANGE, NOTE)
MOST_LINES = 60
LONGEST_NAME = 80
MEMORY = {"scratchpad": "a scratchpad", "conversation": "its conversation", "longTerm": "what lasts across runs"}
TICKS = 5
FIRE_ONCE = "fire-once"
POLICIES = {FIRE_ONCE: "the latest missed tick fires once", "skip": "missed ticks are skipped"}
PLACEHOLDER = re.compile(r"\{\{\s*([a-zA-Z_][a-zA-Z0-9_]{0,63})\s*\}\}")


# The lines of a summary, and how they are put together.


@dataclass(frozen=True, slots=True)
class Line:
    """One change. ``tone`` is ``gain``, ``loss``, ``change`` or ``note``."""

    tone: str
    words: str


@dataclass(frozen=True, slots=True)
class Summary:
    """The lines of a change; ``ticks`` are the next instants of a new automation."""

    lines: tuple[Line, ...]
    ticks: tuple[datetime, ...] = ()


def gain(words: str) -> Line:
    return Line(GAIN, words)


def loss(words: str) -> Line:
    return Line(LOSS, words)


def change(words: str) -> Line:
    return Line(CHANGE, words)


def note(words: str) -> Line:
    return Line(NOTE, words)


def short_name(name: object) -> str:
    """A name from an artifact on one line, at most ``LONGEST_NAME`` characters."""
    text = " ".join(str(name).split())
    return text if len(text) <= LONGEST_NAME else f"{text[: LONGEST_NAME - 1]}…"


def join_names(names: Iterable[object]) -> str:
    return ", ".join(short_name(name) for name in names)


def ordered(lines: Iterable[Line]) -> tuple[Line, ...]:
    """The lines by tone, gains first; one note counts those beyond ``MOST_LINES``."""
    found = sorted(lines, key=lambda line: TONES.index(line.tone))
    rest = len(found) - MOST_LINES
    return (*found[:MOST_LINES], note(f"And {rest} more changes.")) if rest > 0 else tuple(found)


def sets(what: str, old: Iterable[str], new: Iterable[str]) -> list[Line]:
    """One gain for the items only in ``new``, and one loss for those only in ``old``."""
    before, after = list(old), list(new)
    gained = [each for each in after if each not in before]
    lost = [each for each in before if each not in after]
    lines = [gain(f"{what}: {join_names(gained)}")] if gained else []
    return lines + ([loss(f"{what}: {join_names(lost)}")] if lost else [])


def value(what: str, old: object, new: object) -> list[Line]:
    """The line of a changed value; none when it is the same, a note when there was none before."""
    if old == new:
        return []
    if old in (None, ""):
        return [note(f"{what}: {short_name(new)}")]
    return [change(f"{what}: {short_name(old)} → {short_name(new) if new not in (None, '') else 'none'}")]


def words_in(what: str, old: str, new: str) -> list[Line]:
    """The line with the number of words that a text has gained and lost."""
    if old == new:
        return []
    before, after = old.split(), new.split()
    if not before:
        return [note(f"{what}: {len(after):,} words")]
    gained, lost = _counted(after, before), _counted(before, after)
    return [change(f"{what}: +{gained:,} \N{MINUS SIGN}{lost:,} words")]


def _counted(these: list[str], others: list[str]) -> int:
    rest = dict[str, int]()
    for word in others:
        rest[word] = rest.get(word, 0) + 1
    found = 0
    for word in these:
        left = rest.get(word, 0)
        rest[word] = left - 1
        found += left <= 0
    return found


def by(items: Iterable[Mapping[str, object]], key: str) -> dict[str, JSONMapping]:
    """Index the items by one of their members."""
    return {str(each[key]): each for each in items}


# Agent packs (RFC 0003): the agents, and the tools, memory and settings of each.


def compare_agents(old: JSONObject, new: JSONObject) -> list[Line]:
    before, after = by(old.get("agents", ()), "agentId"), by(new.get("agents", ()), "agentId")
    return [
        *value("Version", old.get("version"), new.get("version")),
        *sets("Agents", before, after),
        *(line for name in after for line in _agent(name, before.get(name, {}), after[name])),
        *sets("Permissions of the pack", _requires(old), _requires(new)),
        *sets("Capabilities it needs of the host", old.get("peerDependencies", ()), new.get("peerDependencies", ())),
    ]


def _requires(pack: JSONObject) -> list[str]:
    return list(pack.get("runtime", {}).get("requires", ()))


def _agent(name: str, old: Any, new: Any) -> list[Line]:
    """The changes of one agent; a new one lists everything."""
    who = short_name(name)
    return [
        *sets(f"Tools of {who}", old.get("toolAllowlist", ()), new.get("toolAllowlist", ())),
        *_memory(who, old.get("memoryShape", {}), new.get("memoryShape", {})),
        *sets(f"Capabilities of {who}", old.get("requiresCapabilities", ()), new.get("requiresCapabilities", ())),
        *(value(f"Persona of {who}", old.get("persona"), new.get("persona")) if old else ()),
        *value(f"Model class of {who}", old.get("modelClass"), new.get("modelClass")),
        *_confidence(who, old, new),
        *words_in(f"Prompt of {who}", str(old.get("systemPrompt", "")), str(new.get("systemPrompt", ""))),
    ]


def _memory(who: str, old: dict[str, bool], new: dict[str, bool]) -> list[Line]:
    lines = []
    for key, words in MEMORY.items():
        before, after = old.get(key) is True, new.get(key) is True
        if after and not before:
            lines.append(gain(f"Memory of {who}: {words}"))
        elif before and not after:
            lines.append(loss(f"Memory of {who}: {words}"))
    return lines


def _confidence(who: str, old: Any, new: Any) -> list[Line]:
    before = old.get("confidence", {}).get("defaultThreshold")
    after = new.get("confidence", {}).get("defaultThreshold")
    if before == after:
        return []
    return [change(f"Confidence threshold of {who}: {before if before is not None else 'none'} → {after}")]


# Automations (RFC 0052): the workflow, its inputs, and the schedule in words.


def compare_automations(old: JSONObject, new: JSONObject) -> list[Line]:
    before, after = _when(old), _when(new)
    when = [gain(f"Starts {short_name(new['workflowId'])}: {after}")] if not old else []
    when += [change(f"When: {before} → {after}")] if old and before != after else []
    inputs = _inputs(old)
    changed = [name for name, given in _inputs(new).items() if name in inputs and inputs[name] != given]
    return [
        *value("Version", old.get("version"), new.get("version")),
        *when,
        *(value("Workflow", old.get("workflowId"), new.get("workflowId")) if old else ()),
        *(value("When ticks were missed", _missed(old), _missed(new)) if old else ()),
        *sets("Inputs", inputs, _inputs(new)),
        *(change(f"Input {short_name(name)} has another value") for name in changed),
    ]


def _inputs(document: JSONObject) -> JSONObject:
    return document.get("inputs", {}) or {}


def _missed(document: JSONObject) -> str:
    return POLICIES.get(document.get("missedTickPolicy", FIRE_ONCE), "")


def _when(document: JSONObject) -> str:
    """The schedule of an automation in words."""
    if not document:
        return ""
    zone = document.get("timezone", "UTC")
    if "fireAt" in document:
        return f"once, at {document['fireAt']}"
    return f"{cron.in_words(five_fields(document['cron']))} ({zone})"


def five_fields(expression: str) -> str:
    """Drop the seconds field of a six-field cron expression, which is always ``0``."""
    fields = expression.split()
    return " ".join(fields[1:] if len(fields) == 6 else fields)


def ticks_of(document: JSONObject, now: datetime) -> tuple[datetime, ...]:
    """The next ``TICKS`` times of an automation by its clock, fewer when it ends before; empty for an invalid cron."""
    if "fireAt" in document:
        at = parse_datetime(document["fireAt"])
        return (at,) if at and at.tzinfo and at > now else ()
    expression = five_fields(document["cron"])
    if cron.problem_of(expression):
        return ()
    timezone = document.get("timezone", "UTC")
    ticks = islice(cron.ticks_after(expression, timezone, now), TICKS)
    return tuple(tick.astimezone(ZoneInfo(timezone)) for tick in ticks)


# Workflow-chain packs (RFC 0013): chains, nodes, the tools they use, parameters.


def compare_chains(old: JSONObject, new: JSONObject) -> list[Line]:
    before, after = by(old.get("chains", ()), "chainId"), by(new.get("chains", ()), "chainId")
    return [
        *value("Version", old.get("version"), new.get("version")),
        *sets("Chains", before, after),
        *(line for name in after for line in _chain(name, before.get(name, {}), after[name])),
        *sets("Packs it depends on", old.get("dependencies", ()), new.get("dependencies", ())),
    ]


def _chain(name: str, old: Any, new: Any) -> list[Line]:
    who = short_name(name)
    before, after = _nodes(old), _nodes(new)
    return [
        *sets(f"Tools used by {who}", _tools(before), _tools(after)),
        *sets(f"Traits of {who}", old.get("capabilities", ()), new.get("capabilities", ())),
        *_node_lines(who, before, after),
        *sets(f"Parameters of {who}", _parameters(old), _parameters(new)),
        *_edges(who, old, new),
    ]


def _nodes(chain: Any) -> JSONObject:
    return by(chain.get("dag", {}).get("nodes", ()), "id")


def _tools(nodes: JSONObject) -> list[str]:
    found = (tool for node in nodes.values() for tool in node_types.tools_of(node["typeId"], node.get("config", {})))
    return list(dict.fromkeys(found))


def _parameters(chain: Any) -> list[str]:
    return list(chain.get("parameters", {}).get("properties", ()))


def _node_lines(who: str, old: JSONObject, new: JSONObject) -> list[Line]:
    if not old:
        return [note(f"{who} is: {' → '.join(short_name(node['typeId']) for node in new.values())}")]
    added = [f"{node['typeId']} ({name})" for name, node in new.items() if name not in old]
    removed = [f"{node['typeId']} ({name})" for name, node in old.items() if name not in new]
    lines = [gain(f"Nodes of {who}: {join_names(added)}")] if added else []
    lines += [loss(f"Nodes of {who}: {join_names(removed)}")] if removed else []
    for name, node in new.items():
        if name in old and old[name]["typeId"] != node["typeId"]:
            lines.append(change(f"Node {short_name(name)} is another: {old[name]['typeId']} → {node['typeId']}"))
        elif name in old and old[name] != node:
            lines.append(change(f"Node {short_name(name)} ({node['typeId']}) is set otherwise"))
    return lines


def _edges(who: str, old: Any, new: Any) -> list[Line]:
    before, after = (sorted(map(_edge, chain.get("dag", {}).get("edges", ()))) for chain in (old, new))
    return [change(f"{who} goes another way: its edges changed")] if before and before != after else []


def _edge(edge: JSONObject) -> str:
    return f"{edge.get('from')} {edge.get('to')} {edge.get('condition')}"


# Prompt templates (RFC 0027): variables first, then the text.


def compare_prompts(old: JSONObject, new: JSONObject) -> list[Line]:
    before, after = by(old.get("variables", ()), "name"), by(new.get("variables", ()), "name")
    return [
        *value("Version", old.get("version"), new.get("version")),
        *value("Kind of prompt", old.get("kind"), new.get("kind")),
        *sets("Variables", before, after),
        *(line for name in after if name in before for line in _variable(before[name], after[name])),
        *_undeclared(new, set(after)),
        *words_in("Text", str(old.get("text", "")), str(new.get("text", ""))),
        *sets("Tags", old.get("tags", ()), new.get("tags", ())),
    ]


def _variable(old: Any, new: Any) -> list[Line]:
    name = short_name(new["name"])
    lines = value(f"Type of {name}", old.get("type"), new.get("type"))
    required = bool(new.get("required"))
    if bool(old.get("required")) != required:
        lines.append(change(f"Variable {name} is {'required now' if required else 'not required any more'}"))
    return lines


def _undeclared(new: JSONObject, declared: set[str]) -> list[Line]:
    """Notes on undeclared placeholders, which fail a node without a value for them, and on unused variables."""
    used = dict.fromkeys(PLACEHOLDER.findall(str(new.get("text", ""))))
    unknown = [name for name in used if name not in declared]
    unused = [name for name in declared if name not in used]
    lines = [note(f"Used in the text and declared by no variable: {join_names(unknown)}")] if unknown else []
    return lines + ([note(f"Declared and not used in the text: {join_names(sorted(unused))}")] if unused else [])


Comparison = Callable[[JSONObject, JSONObject], list[Line]]


_COMPARISONS: dict[str, Comparison] = {
    Kind.PROMPT_TEMPLATE: compare_prompts,
    Kind.AGENT_PACK: compare_agents,
    Kind.WORKFLOW_CHAIN_PACK: compare_chains,
    Kind.AUTOMATION: compare_automations,
}


def summary(kind: str, old_text: str, new_text: str, *, also: Iterable[Line] = (), now: datetime) -> Summary:
    """Summarise the change from ``old_text``, "" when nothing is installed, to ``new_text``.

    ``also`` are lines to add to those of the comparison. The summary has ``ticks`` for an automation. For a text that
    is not an artifact of its kind it is a single note.
    """
    old, new = _read(old_text), _read(new_text)
    if new is None or (old_text and old is None):
        return Summary((note("One of the two is not an artifact that can be read."),))
    try:
        lines = _COMPARISONS[kind](old or {}, new)
        ticks = ticks_of(new, now) if kind == Kind.AUTOMATION else ()
    except (LookupError, TypeError, ValueError, AttributeError):
        return Summary((note("One of the two is not a valid artifact of its kind."),))
    if old_text and not lines:
        lines = [note("The two do the same.")]
    return Summary(ordered([*also, *lines]), ticks)


def _read(text: str) -> JSONObject | None:
    try:
        document = json.loads(text) if text else {}
    except (ValueError, RecursionError):
        return None
    return document if isinstance(document, dict) else None
