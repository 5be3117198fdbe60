"""A chain of nodes that workflows repeat becomes a pack of that chain: the longest that were seen often enough.

Equal are nodes of one type whose configs and ports have the same members; values that differ become parameters. Two
definitions of one workflow repeat nothing: the second is a revision of the first.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from typing import Any

from proposals.miners import fragments
from proposals.miners.fragments import Document, last_part
from proposals.miners.sequences import LONGEST, SHORTEST, Key, Row, rows_of, stands_of
from proposals.miners.sightings import (
    canonical,
    count,
    digest,
    evidence_of_runs,
    listed,
    named_in_part,
    newest,
    pattern,
    period,
    shown_name,
    zone_of,
)
from proposals.miners.traces import Finding, RunTrace, Traces

KIND = "workflow-chain-pack"
LEAST_RUNS = 3  # completed runs in which the chain was seen
LEAST_WORKFLOWS = 2  # workflows that have it
NEAR = 2  # a chain that shares one half of its nodes, in a row, with a longer one is not proposed beside it
ENGINES = {"openwop": ">=1.0.0 <2.0.0"}
VERSION = "1.0.0"
PACK = "private.learned."
LONGEST_SLUG, LONGEST_LABEL = 80, 200
MOST_PARAMETERS = 50  # a chain that leaves more open repeats nothing

Rows = list[Row]


def find(traces: Traces, *, now: datetime) -> list[Finding]:
    """The chains that are worth a pack, each once."""
    there = _Installed(traces.chains)
    new = (rows for rows in _maximal(_repeated(traces.runs)) if not there.covers(rows))
    return [finding for rows in new if (finding := _finding(rows, traces))]


def _repeated(runs: Iterable[RunTrace]) -> list[Rows]:
    """Rows that are the same but for their values, where there are enough of them."""
    learnt = [run for run in runs if run.status == "completed" and not run.builtin]
    groups: dict[Key, Rows] = defaultdict(list)
    for stand in stands_of(learnt):
        for row in rows_of(stand):
            groups[row.forms].append(row)
    return [rows for rows in groups.values() if _is_often(rows)]


def _is_often(rows: Rows) -> bool:
    return len({row.stand.workflow_id for row in rows}) >= LEAST_WORKFLOWS and len(_runs(rows)) >= LEAST_RUNS


def _runs(rows: Rows) -> dict[str, RunTrace]:
    return {run.run_id: run for row in rows for run in row.stand.runs}


def _maximal(groups: list[Rows]) -> Iterator[Rows]:
    """The longest: none that is a part of another, and none that shares much with one that is taken."""
    parts, taken = set[Key](), set[Key]()
    ranked = sorted(groups, key=lambda rows: (-len(rows[0].nodes), -len(_runs(rows)), rows[0].forms))
    for rows in ranked:
        kinds = rows[0].kinds
        is_part = kinds in parts
        parts.update(part for length in range(SHORTEST, len(kinds)) for part in _parts(kinds, length))
        if not is_part and taken.isdisjoint(_parts(kinds, max(SHORTEST, -(-len(kinds) // NEAR)))):
            taken.update(part for length in range(SHORTEST, LONGEST + 1) for part in _parts(kinds, length))
            yield rows


def _parts(key: Sequence[str], length: int) -> list[Key]:
    """Every part of that length."""
    return [tuple(key[at : at + length]) for at in range(len(key) - length + 1)]


class _Installed:
    """The chains that are there already: the configs of every part of them, by the types of its nodes."""

    def __init__(self, documents: Iterable[Document | Any]) -> None:
        self._parts: dict[Key, list[list[Any]]] = defaultdict(list)
        for document in documents:
            for chain in document.get("chains", [document]):
                self._add(chain.get("dag", chain).get("nodes", []))

    def _add(self, nodes: list[Document]) -> None:
        for length in range(SHORTEST, LONGEST + 1):
            for at in range(len(nodes) - length + 1):
                part = nodes[at : at + length]
                types = tuple(str(node.get("typeId")) for node in part)
                self._parts[types].append([node.get("config", {}) for node in part])

    def covers(self, rows: Rows) -> bool:
        """Whether one of them is what ``rows`` are: equal, but for what is a parameter of either."""
        types = tuple(node.type_id for node in rows[0].nodes)
        if types not in self._parts:
            return False
        _, dag = fragments.chain_of(rows)
        configs = [node["config"] for node in dag["nodes"]]
        return any(_is_alike(configs, there) for there in self._parts[types])


def _is_alike(one: Any, other: Any) -> bool:
    for value in (one, other):
        if isinstance(value, str) and fragments.PLACEHOLDER.search(value):
            return True
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_is_alike(value, other[name]) for name, value in one.items())
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_is_alike, one, other))
    return canonical(one) == canonical(other)


def _finding(rows: Rows, traces: Traces) -> Finding | None:
    runs = list(_runs(rows).values())
    types = [node.type_id for node in rows[0].nodes]
    parameters, dag = fragments.chain_of(rows)
    if len(parameters.schemas) > MOST_PARAMETERS:
        return None
    named = newest(runs)
    name = _name(types, rows[0].forms)
    return Finding(
        kind=KIND,
        title=f"A chain of {len(types)} nodes: {', '.join(map(last_part, types))}",
        rationale=_rationale(rows, runs, len(parameters.schemas), traces.timezone),
        artifact=_pack(name, types, parameters, dag),
        pattern=pattern(KIND, name, rows[0].forms, "new"),
        source_run_ids=named,
        evidence=evidence_of_runs(named, "repeats-chain"),
    )


def _name(types: list[str], forms: Key) -> str:
    """The same for the same sight, and another for another."""
    slug = "-".join(map(last_part, types))[:LONGEST_SLUG].strip("-")
    return f"{PACK}{slug}-{digest(list(forms))[:8]}"


def _pack(name: str, types: list[str], parameters: fragments.Parameters, dag: Document) -> Document:
    description = f"{len(types)} nodes in a row, as several workflows repeat them: {', '.join(map(last_part, types))}."
    chain = {
        "chainId": name,
        "version": VERSION,
        "label": ", ".join(map(last_part, types)).capitalize()[:LONGEST_LABEL],
        "description": description,
        "parameters": parameters.schema(),
        "dag": dag,
    }
    return {
        "name": name,
        "version": VERSION,
        "kind": "workflow-chain",
        "description": description,
        "engines": dict(ENGINES),
        "chains": [chain],
    }


def _rationale(rows: Rows, runs: list[RunTrace], parameters: int, timezone: str) -> str:
    workflows = {row.stand.workflow_id for row in rows}
    types = ", ".join(shown_name(node.type_id) for node in rows[0].nodes)
    when = period((run.created_at for run in runs), zone_of(timezone))
    left_open = f" What differs, or comes from outside, is left open: {count(parameters, 'parameter')}."
    return (
        f"The workflows {listed(workflows)} have the same {len(rows[0].nodes)} nodes in a row ({types}). "
        f"{count(len(runs), 'completed run')} went through them {when}."
        f"{left_open if parameters else ''}{named_in_part(len(runs))}"
    )
