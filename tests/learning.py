"""Builders of traces to learn from. Runs are executed by the engine, and people answer them as they always do."""

from collections.abc import Callable
from datetime import datetime
from typing import Any

import pytest
from django.utils import timezone

from memory import passes
from memory.host import registry
from memory.host.models import ArtifactKind, Run
from memory.host.tenancy import TenantScope
from memory.models import Pass
from openwop_console.runtime import run_operations
from proposals import learning as synthesis
from proposals import tasks
from proposals.learning import miners
from proposals.learning.miners.traces import Evidence, Finding, Traces
from tests import building, proposing

PROMPT = "triage.summary"
WORKFLOW = "triage"
WORDY = "Please keep it to two sentences."


def install_prompt(slug: str = "acme", **changes: Any) -> None:
    """The template that ``triage`` uses is installed in the tenant."""
    text = proposing.artifact(version="1.0.0", **changes)
    made = registry.Artifact(ArtifactKind.PROMPT_TEMPLATE, PROMPT, "1.0.0", text)
    registry.install(building.tenant(slug).id, made, source="host", installed_by="host", now=timezone.now())


def install_triage(slug: str = "acme", *, kind: str = "core.approvalGate", **config: Any) -> None:
    """A workflow that recalls, composes by a prompt, and asks somebody."""
    install_prompt(slug)
    asking = {"actions": ["accept", "reject", "refine", "edit-accept"], **config}
    compose = building.node("compose", "vendor.console.compose", {"template": PROMPT})
    compose["inputs"] = {"ticket": building.from_input("ticket")}
    recall = building.node("recall", "vendor.console.recall", {"memoryRef": "notes"})
    building.install(slug, building.definition(WORKFLOW, recall, compose, building.node("ask", kind, asking)))


def asked(owner: TenantScope, **inputs: Any) -> Run:
    """A run of ``triage`` that waits for somebody."""
    return building.execute(owner, WORKFLOW, **{"ticket": "T-1", **inputs})


def answered(owner: TenantScope, run: Run, value: dict[str, Any]) -> Run:
    """The run as it ended, after ``owner`` has answered it."""
    run_operations.resolve_interrupt(owner, run.id, "ask", value, now=timezone.now())
    return building.advance(run)


def corrected(owner: TenantScope, text: str = WORDY, **inputs: Any) -> Run:
    """A run that somebody asked to do otherwise."""
    value = {"action": "refine", "refineFeedback": {"scope": "whole", "text": text}}
    return answered(owner, asked(owner, **inputs), value)


def finding(pattern: str = "a pattern", **changes: Any) -> Finding:
    """What a rule could have found: a prompt that could be shorter."""
    given: dict[str, Any] = {
        "kind": "prompt-template",
        "title": "A shorter summary",
        "rationale": "Three runs were corrected alike.",
        "artifact": dict(proposing.TEMPLATE),
        "pattern": pattern,
        "source_run_ids": (),
        "evidence": (Evidence("interrupt", "int_" + "0" * 32, "correction"),),
    }
    return Finding(**{**given, **changes})


def rules_that_find(monkeypatch: pytest.MonkeyPatch, *found: Finding) -> list[Traces]:
    """The rules find just this, whatever they look at; what they were shown is collected in the list."""
    shown: list[Traces] = []

    def mine(traces: Traces, *, now: datetime) -> list[Finding]:
        shown.append(traces)
        return list(found)

    monkeypatch.setattr(miners, "mine", mine)
    return shown


def ordered(scope: TenantScope | None = None, **options: Any) -> Pass:
    """A synthesis of Acme's, as an operator asks for it."""
    return synthesis.order(scope or building.scope(role="operator"), **options, now=timezone.now())


def carried_out(row: Pass | None = None, **options: Any) -> Pass:
    """The synthesis as it ended."""
    waiting = row or ordered(**options)
    ended = tasks.carry_out(waiting.tenant_id, waiting.id)
    assert ended is not None
    return ended


def ending_with(row: Pass, state: str = "done") -> dict[str, Any]:
    """What the synthesis tells, once it has ended as it should."""
    assert (row.state, row.code) == (state, "" if state == "done" else row.code), row.run.error
    outcome: dict[str, Any] = row.outcome
    return outcome


def worker(number: int) -> Callable[[Pass], Pass | None]:
    """A worker of its own name, which takes a pass."""
    return lambda row: passes.claim(row.tenant_id, row.id, holder=f"worker/{number}", now=timezone.now())
