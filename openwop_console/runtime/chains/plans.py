"""What a run of a workflow is going to execute, and with which inputs: the one place where a chain becomes a run.

A run of a chain pins its definition with the placeholders in it, and they are filled in whenever the run goes on: what
somebody gave as a parameter is kept with the run's inputs alone, where a forget finds it.
"""

import json
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from memory.host import registry
from memory.host.errors import ChainParameterInvalid
from memory.host.models import ArtifactKind, Installation, Run
from openwop_console.runtime import definitions, json_schemas
from openwop_console.runtime.chains import placeholders
from openwop_console.runtime.definitions import MARK, ErrorList


@dataclass(frozen=True, slots=True)
class Plan:
    """What a run would pin: ``text``, and what is in it; ``installed`` is None for a workflow of the host."""

    text: str
    definition: dict[str, Any]
    installed: Installation | None

    @property
    def part(self) -> Installation | None:
        """What a pack has brought it as, if one did."""
        return self.installed if self.installed and self.installed.part_of_id else None

    def require_enabled(self) -> None:
        """Refuse to start a run of what is disabled."""
        if self.installed:
            registry.require_enabled(self.installed)


def find(tenant_id: UUID, workflow_id: str) -> Plan | None:
    """What a run of ``workflow_id`` would be now; None when the tenant has no such workflow."""
    if workflow_id in registry.builtin_ids():
        text = registry.workflow_text(tenant_id, workflow_id)
        return Plan(text, json.loads(text), None) if text else None
    own = registry.current(tenant_id, ArtifactKind.WORKFLOW, workflow_id)
    return Plan(own.text, json.loads(own.text), own) if own else None


def check_inputs(definition: dict[str, Any], inputs: dict[str, Any]) -> None:
    """Refuse inputs that the parameters of a chain do not allow, by field; a workflow of its own has none."""
    errors = input_problems(definition, inputs) if MARK in definition["metadata"] else []
    if errors:
        raise ChainParameterInvalid(errors=errors)


def input_problems(definition: dict[str, Any], inputs: dict[str, Any]) -> ErrorList:
    """What keeps a run with these inputs from being started, by field."""
    missing = definitions.missing_in(definition, inputs)
    errors = [{"field": f"inputs.{name}", "message": "is required by the workflow"} for name in missing]
    chain = definition["metadata"].get(MARK)
    if errors or chain is None:
        return errors
    values = _values_of(definition, inputs)
    return (
        json_schemas.problems(chain["parameters"], values, field="inputs")
        or _smuggled(definition, values)
        or _senseless(definition, values)
    )


def _smuggled(definition: dict[str, Any], values: dict[str, Any]) -> ErrorList:
    """The inputs that would change more of the workflow than the place they are given."""
    problems = {
        name: problem
        for _, _, text in placeholders.texts_in(definition)
        if (problem := placeholders.problem_of(text, values))
        for name in placeholders.guilty_in(text, values)
    }
    return [{"field": f"inputs.{name}", "message": problem} for name, problem in problems.items()]


def _senseless(definition: dict[str, Any], values: dict[str, Any]) -> ErrorList:
    """Whether the workflow, with the values in it, is still one that this host can execute."""
    if definitions.problems_of(placeholders.filled(definition, values)):
        return [{"field": "inputs", "message": "make of the workflow one that cannot be executed"}]
    return []


def _values_of(definition: dict[str, Any], inputs: dict[str, Any]) -> dict[str, Any]:
    defaults = {each["name"]: each["defaultValue"] for each in definition["variables"] if "defaultValue" in each}
    return {**defaults, **inputs}


def definition_of(run: Run) -> dict[str, Any]:
    """What the run executes: the definition it has pinned; that of a chain with the run's inputs filled in."""
    definition: dict[str, Any] = json.loads(run.definition.text)
    if MARK in definition["metadata"]:
        return placeholders.filled(definition, _values_of(definition, run.inputs))
    return definition


def note_use_again(source: Run, fork: Run, *, now: datetime) -> None:
    """A fork of a run of a chain executes what its source did, and that is on record."""
    for use in registry.used_by(source):
        if use.installation.kind == ArtifactKind.WORKFLOW:
            registry.note_use(fork, use.installation, now=now)
