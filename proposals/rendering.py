"""A prompt template filled in by one of a proposal's source runs: with the text before, and with that after."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass

from memory import run_timeline
from memory.host import event_log, ids, registry
from memory.host.models import Run
from memory.host.tenancy import TenantScope
from memory.text import differences
from memory.text.differences import Diff
from proposals import artifacts, impact
from proposals.models import Kind, Proposal
from proposals.summaries import PLACEHOLDER

RUNS, EVENTS = 3, 500  # how many source runs are looked at, and of how many events each


@dataclass(frozen=True, slots=True)
class Rendering:
    """The difference of what the node of the run was told and what it would be told."""

    run_id: str
    node_id: str
    diff: Diff


def rendering_of(scope: TenantScope, proposal: Proposal, old: str, new: str) -> Rendering | None:
    """None for another kind, for who may not read what runs were told, and where no source run used the template."""
    if proposal.kind != Kind.PROMPT_TEMPLATE or not (scope.can("runs:read") and scope.can("memory:read")):
        return None
    name = artifacts.name_in(proposal.kind, new)
    for source in impact.runs_of(proposal)[:RUNS]:
        if source.run and (found := _inputs_of(source.run, name)):
            node_id, inputs = found
            before, after = (_filled(text, inputs).splitlines() for text in (old, new))
            return Rendering(ids.wire("run", source.run.id), node_id, differences.diff_lines(before, after))
    return None


def _inputs_of(run: Run, name: str) -> tuple[str, Mapping[str, object]] | None:
    """The first node of the run that filled the template of this name, and with what."""
    events = event_log.read(run.tenant_id, run.id, limit=EVENTS)
    reports = run_timeline.reports_of(run, events, registry.used_by(run))
    used = ((node, each.inputs) for node, each in reports.items() if each.template_name == name)
    return next(((node, inputs) for node, inputs in used if inputs is not None), None)


def _filled(text: str, inputs: Mapping[str, object]) -> str:
    """The template's text with its placeholders filled; one without a value stays as it is."""
    template = str(json.loads(text).get("text", "")) if text else ""

    def value_of(match: re.Match[str]) -> str:
        return str(inputs.get(match[1], match[0]))

    return PLACEHOLDER.sub(value_of, template)
