"""A workflow that somebody starts at regular times, or a commitment that keeps firing, becomes an automation.

Regular is what it is by the clock of the tenant's zone. A workflow that has a schedule already gets no other. An
automation starts what it starts with all inputs and as no agent, so that nothing else is learnt from.
"""

import json
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

from proposals.miners.fitting import is_shallow
from proposals.miners.rhythms import Rhythm, rhythms_of
from proposals.miners.sightings import (
    MOST_NAMED,
    canonical,
    count,
    digest,
    evidence_of_runs,
    named_in_part,
    pattern,
    period,
    shown_name,
    zone_of,
)
from proposals.miners.traces import Evidence, Finding, Firing, Origin, RunTrace, Traces

KIND = "automation"
LEAST_STARTS = 4  # days on which somebody started it
LEAST_FIRINGS = 3  # days on which the commitment fired
BY_HAND = frozenset({Origin.PERSON, Origin.KEY})
VERSION = "1.0.0"
MISSED = "fire-once"
MOST_LEVELS = 16
HALF_AN_HOUR = 30
NOT_A_NAME = re.compile(r"[^a-z0-9_-]+")

LONGEST_SLUG = 100

Document = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Started:
    """A start of a workflow with its inputs: by hand, or by the commitment ``commitment_id``."""

    at: datetime
    run_id: str
    commitment_id: str = ""


Groups = dict[tuple[str, str, str], set[Started]]


@dataclass(frozen=True, slots=True)
class Habit:
    """What the same was started with, and when."""

    workflow_id: str
    inputs: Document
    starts: tuple[Started, ...]
    rhythm: Rhythm

    @property
    def commitment_id(self) -> str:
        return self.starts[0].commitment_id


def find(traces: Traces, *, now: datetime) -> list[Finding]:
    """One automation for each rhythm, of which the one that people keep comes before a commitment's."""
    built_in = {run.workflow_id for run in traces.runs if run.builtin}
    standing = built_in | {each.workflow_id for each in traces.schedules}
    by_hand = _grouped(_started_by_hand(traces.runs), standing)
    fired = _grouped(_fired(traces.firings), standing)
    habits = [*_habits(by_hand, LEAST_STARTS, traces, now), *_habits(fired, LEAST_FIRINGS, traces, now)]
    found: dict[str, Finding] = {}
    for habit in habits:
        finding = _finding(habit, zone_of(traces.timezone))
        found.setdefault(finding.artifact["automationId"], finding)
    return list(found.values())


def _started_by_hand(runs: Iterable[RunTrace]) -> Iterator[tuple[str, Document, Started]]:
    for run in runs:
        if run.origin in BY_HAND and run.status == "completed" and not run.agent_id and not run.incomplete:
            yield run.workflow_id, dict(run.inputs), Started(run.created_at, run.run_id)


def _fired(firings: Iterable[Firing]) -> Iterator[tuple[str, Document, Started]]:
    for firing in firings:
        if firing.workflow_id and not firing.incomplete:
            yield firing.workflow_id, dict(firing.inputs), Started(firing.at, firing.run_id, firing.commitment_id)


def _grouped(started: Iterable[tuple[str, Document, Started]], standing: set[str]) -> Groups:
    """The starts that were the same: of one workflow, with the same inputs, and by the same commitment if by one."""
    found: Groups = defaultdict(set)
    for workflow_id, inputs, each in started:
        if workflow_id not in standing and is_shallow(inputs, MOST_LEVELS):
            found[workflow_id, canonical(inputs), each.commitment_id].add(each)
    return found


def _habits(groups: Groups, times: int, traces: Traces, now: datetime) -> list[Habit]:
    zone = zone_of(traces.timezone)
    found = []
    for (workflow_id, inputs, _), same in sorted(groups.items(), key=lambda each: each[0]):
        starts = sorted(same, key=lambda each: (each.at, each.run_id))
        for rhythm in rhythms_of([each.at for each in starts], zone, now=now, times=times):
            regular = tuple(starts[place] for place in rhythm.places)
            found.append(Habit(workflow_id, json.loads(inputs), regular, rhythm))
    return found


def _finding(habit: Habit, zone: ZoneInfo) -> Finding:
    rhythm, workflow = habit.rhythm, shown_name(habit.workflow_id)
    runs = tuple(start.run_id for start in habit.starts if start.run_id)[-MOST_NAMED:]
    why = "fired-regularly" if habit.commitment_id else "started-by-hand"
    told = (Evidence("commitment", habit.commitment_id, "keeps-firing"),) if habit.commitment_id else ()
    about = [habit.inputs, rhythm.weekdays, round(rhythm.minute / HALF_AN_HOUR), zone.key]
    return Finding(
        kind=KIND,
        title=f"Start {workflow} {rhythm.in_words} at {rhythm.clock}",
        rationale=_rationale(habit, zone),
        artifact=_artifact(habit, zone),
        pattern=pattern(KIND, habit.workflow_id, about, "new"),
        source_run_ids=runs,
        evidence=(*told, *evidence_of_runs(runs, why)),
    )


def _artifact(habit: Habit, zone: ZoneInfo) -> Document:
    rhythm = habit.rhythm
    when = f"{rhythm.in_words} at {rhythm.clock} ({zone.key})"
    by = "a commitment fired" if habit.commitment_id else "somebody started it"
    return {
        "automationId": _name(habit),
        "version": VERSION,
        "workflowId": habit.workflow_id,
        "cron": rhythm.cron,
        "timezone": zone.key,
        "missedTickPolicy": MISSED,
        "inputs": habit.inputs,
        "description": f"Starts {shown_name(habit.workflow_id)} {when}, as {by} until now.",
    }


def _name(habit: Habit) -> str:
    """The same for the same workflow, inputs and rhythm, however often it was seen."""
    what = NOT_A_NAME.sub("-", habit.workflow_id.lower())[:LONGEST_SLUG].strip("-_") or "workflow"
    return f"{what}-{digest([habit.workflow_id, habit.inputs, habit.rhythm.cron])[:8]}"


def _rationale(habit: Habit, zone: ZoneInfo) -> str:
    rhythm, number = habit.rhythm, len(habit.starts)
    when = period((start.at for start in habit.starts), zone)
    if habit.commitment_id:
        what = f"A commitment that starts {shown_name(habit.workflow_id)} has fired {count(number, 'time')}"
        besides = "Nothing but that commitment starts it by time yet."
    else:
        what = f"Somebody started {shown_name(habit.workflow_id)} by hand or with a key {count(number, 'time')}"
        besides = "Nothing starts it by time yet."
    inputs = "with the same inputs each time" if habit.inputs else "without inputs"
    return (
        f"{what}, {inputs}: {rhythm.in_words} at about {rhythm.clock} ({zone.key}), {when}. "
        f"{besides}{named_in_part(number)}"
    )
