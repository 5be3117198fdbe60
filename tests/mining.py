"""Builders of traces for the rules of learning: plain values, without a database."""

import json
import random
from collections.abc import Iterator
from dataclasses import fields, replace
from datetime import UTC, datetime, timedelta
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator
from referencing import Registry, Resource

from memory.host.models import ArtifactKind
from proposals import artifacts
from proposals.learning import miners
from proposals.learning.miners.traces import (
    Correction,
    Finding,
    InstalledAgent,
    InstalledPrompt,
    NodeTrace,
    Origin,
    Reading,
    RunTrace,
    Traces,
)

NOW = datetime(2026, 3, 31, 12, tzinfo=UTC)
EARLIER = NOW - timedelta(days=60)
BASE = "https://openwop.dev/spec/v1/"
PROMPT_KINDS = ["system", "user", "few-shot", "schema-hint"]
CONTRACTS = Path(__file__).parent / "contracts"
READ, WRITE = "openwop:memory.read", "openwop:memory.write"
RECALL, COMPOSE, REMEMBER = "vendor.console.recall", "vendor.console.compose", "vendor.console.remember"
HOSTILE = (
    "{{ticket}}",
    "{{{a}}}",
    "a\x00b",
    "\u202eevil",
    "שמור על קצר {{x}}",
    "x" * 100_000,
    "<script>",
    "{{params.x}}",
)
OF_KIND = {
    "workflow-chain-pack": "workflow-chain-pack-manifest",
    "prompt-template": "prompt-template",
    "agent-pack": "node-pack-manifest",
}


def node(name: str, type_id: str = "core.noop", config: dict[str, Any] | None = None, **changes: Any) -> NodeTrace:
    return NodeTrace(**{"node_id": name, "type_id": type_id, "state": "completed", "config": config or {}, **changes})


def run(number: int, workflow: str = "flow", *nodes: NodeTrace, **changes: Any) -> RunTrace:
    """A run of nodes in a row, one a day, the last yesterday for number 1."""
    given: dict[str, Any] = {
        "run_id": f"run_{workflow}_{number:05}",
        "workflow_id": workflow,
        "origin": Origin.HOST,
        "created_at": NOW - timedelta(days=number % 28, minutes=number),
        "status": "completed",
        "nodes": nodes,
        "edges": tuple((one.node_id, other.node_id) for one, other in pairwise(nodes)),
    }
    return RunTrace(**{**given, **changes})


def correction(number: int, text: str, prompt: str = "triage", **changes: Any) -> Correction:
    at = NOW - timedelta(days=number % 20, minutes=number)
    given = {"run_id": f"run_{number:05}", "node_id": "ask", "by": "usr_1", "at": at}
    return Correction(**{"prompt": prompt, "text": text, "evidence_id": f"int_{number:05}", **given, **changes})


def reading(used_by: RunTrace, memory_id: str, content: str, prompt: str = "triage") -> Reading:
    return Reading(used_by.run_id, prompt, memory_id, content, used_by.created_at)


def prompt(name: str = "triage", text: str = "Summarise {{ticket}}.", **changes: Any) -> InstalledPrompt:
    document = {"templateId": name, "version": "1.0.0", "kind": "system", "text": text, **changes}
    return InstalledPrompt(document, EARLIER)


def agent(agent_id: str = "private.acme.clerk", version: str = "1.0.0", **manifest: Any) -> InstalledAgent:
    about = {"persona": "Clerk", "modelClass": "general", "systemPrompt": "You file what comes in."}
    return InstalledAgent({"agentId": agent_id, **about, **manifest}, version, EARLIER)


def found(traces: Traces, kind: str = "", *, now: datetime = NOW) -> list[Finding]:
    """What the rules find, each valid by the schemas of the contract and of this host."""
    every = miners.mine(traces, now=now)
    for finding in every:
        assert problems_of(finding) == []
        assert finding.title
        assert finding.rationale
    return [finding for finding in every if kind in ("", finding.kind)]


def problems_of(finding: Finding) -> list[str]:
    """What the schemas find wrong; the text must be one that this host would read, too."""
    artifacts.read(json.dumps(finding.artifact))
    assert finding.kind in ArtifactKind.values
    validators = [validator(artifacts.SCHEMAS / f"{finding.kind}.schema.json")]
    if finding.kind in OF_KIND:
        validators.append(validator(CONTRACTS / f"{OF_KIND[finding.kind]}.schema.json"))
    return [
        f"{problem.json_path} {problem.validator}"
        for each in validators
        for problem in each.iter_errors(finding.artifact)
    ]


@cache
def validator(path: Path) -> Any:
    return Draft202012Validator(json.loads(path.read_text()), registry=Registry().with_resources(_resources()).crawl())


def _resources() -> Iterator[tuple[str, Any]]:
    """The schemas of the contract by their names, and the one that is not among them, as the contract says it."""
    kinds = {"$schema": "https://json-schema.org/draft/2020-12/schema", "enum": PROMPT_KINDS}
    yield f"{BASE}prompt-kind.schema.json", Resource.from_contents(kinds)
    for path in CONTRACTS.glob("*.schema.json"):
        yield f"{BASE}{path.name}", Resource.from_contents(json.loads(path.read_text()))


def shuffled(traces: Traces, seed: int) -> Traces:
    """The same traces, the rows of each sort in another order."""
    chance = random.Random(seed)
    rows: dict[str, Any] = {
        field.name: tuple(chance.sample(value, len(value)))
        for field in fields(traces)
        if isinstance(value := getattr(traces, field.name), tuple)
    }
    return replace(traces, **rows)


def as_bytes(findings: list[Finding]) -> list[str]:
    """Everything of the findings, letter for letter."""
    return [json.dumps(finding.artifact) + repr(finding) for finding in findings]
