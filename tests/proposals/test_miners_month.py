"""A month of a team's work with patterns planted in it: all of them are found, and nothing else is."""

import random
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from proposals import artifacts
from proposals.learning.miners.traces import (
    Correction,
    Firing,
    InstalledPrompt,
    InstalledSchedule,
    NodeTrace,
    Origin,
    Reading,
    RunTrace,
    Traces,
)
from tests import building, mining
from tests.mining import COMPOSE, READ, RECALL, REMEMBER, WRITE, agent, found, node, prompt, run

ZONE = ZoneInfo("Europe/Warsaw")
FIRST = datetime(2026, 3, 2, tzinfo=ZONE)  # a Monday; the clocks change on the 29th
DAYS = 30
NOW = datetime(2026, 3, 31, 20, tzinfo=ZONE)
CLERK, SCOUT, QUIET = "private.acme.clerk", "private.acme.scout", "private.acme.quiet"
FILES = "openwop:workspace.read"
NOISE = ("parse", "fetch", "score", "split", "rank", "mail", "sort", "tell")
ASKED = ("Keep it to two sentences.", "keep it to TWO sentences", "Please keep it to two sentences!")
ONCE = ("Name the customer.", "Too formal.", "Which order was it?", "Mention the refund.", "Use the new logo.")


@dataclass
class Month:
    """The rows of a team's month, as they come."""

    chance: random.Random
    runs: list[RunTrace] = field(default_factory=list)
    corrections: list[Correction] = field(default_factory=list)
    readings: list[Reading] = field(default_factory=list)
    firings: list[Firing] = field(default_factory=list)

    def at(self, day: int, hour: int, minute: int = 0) -> datetime:
        wall = FIRST + timedelta(days=day)
        return wall.replace(hour=hour, minute=minute).astimezone(UTC)

    def add(self, workflow: str, at: datetime, *nodes: NodeTrace, **changes: Any) -> RunTrace:
        given = {"run_id": f"run_{len(self.runs):06}", "created_at": at, **changes}
        self.runs.append(run(1, workflow, *nodes, **given))
        return self.runs[-1]

    def noise(self, count: int) -> None:
        """Workflows of nodes in any order, started at any time by anybody, with inputs of their own."""
        for number in range(count):
            kinds = self.chance.sample(NOISE, 4)
            workflow = f"noise-{number % 9}-{''.join(kind[0] for kind in kinds)}"
            types = [f"vendor.acme.{kind}-{workflow}" for kind in kinds]
            at = self.at(self.chance.randrange(DAYS - 1), self.chance.randrange(24), self.chance.randrange(60))
            origin = self.chance.choice([Origin.PERSON, Origin.KEY, Origin.HOST])
            nodes = [node(kind, name) for kind, name in zip(kinds, types, strict=True)]
            self.add(workflow, at, *nodes, origin=origin, inputs={"ticket": number})

    def traces(self) -> Traces:
        installed: tuple[InstalledPrompt, ...] = (prompt("triage"), prompt("billing"), prompt("digest"))
        return Traces(
            runs=tuple(self.runs),
            corrections=tuple(self.corrections),
            readings=tuple(self.readings),
            firings=tuple(self.firings),
            agents=(
                agent(CLERK, toolAllowlist=[READ]),
                agent(SCOUT, toolAllowlist=[READ, FILES]),
                agent(QUIET, toolAllowlist=[READ], memoryShape={"longTerm": True}),
            ),
            prompts=installed,
            schedules=(InstalledSchedule("planned", "0 8 * * *", "Europe/Warsaw"),),
            timezone="Europe/Warsaw",
        )


def chains(month: Month) -> None:
    """Planted: recall, compose, remember in two workflows. Not: a pair that only one workflow has."""
    for number in range(14):
        name = ("support", "sales")[number % 2]
        nodes = (
            node("a", RECALL, {"memoryRef": name, "limit": 5}, tools=(READ,)),
            node("b", COMPOSE, {"template": "digest"}),
            node("c", REMEMBER, {"memoryRef": name}, tools=(WRITE,)),
        )
        month.add(name, month.at(number, 3 + number, number), *nodes, inputs={"n": number})
        month.add("alone", month.at(number, 5), node("a", "vendor.acme.scan"), node("b", "vendor.acme.file"))


def prompts(month: Month) -> None:
    """Planted: a correction of triage, a memory of billing. Not: what is said once, and what is seldom read."""
    for number in range(9):
        uses = (("triage", "compose"), ("billing", "compose"))
        used = month.add(f"asking-{number % 3}", month.at(3 * number, 6, 11 * number % 60), prompts=uses)
        text = ASKED[number % 3] if number < 5 else ONCE[number - 5]
        about = {"run_id": used.run_id, "at": used.created_at}
        month.corrections.append(mining.correction(number, text, "triage", **about))
        month.corrections.append(mining.correction(100 + number, ONCE[number % 5], "billing", **about))
        month.readings.append(mining.reading(used, "mem_known", "Acme closes its books on the 25th", "billing"))
        month.readings.append(mining.reading(used, f"mem_{number % 3}", f"Customer {number % 3} called", "triage"))


def habits(month: Month) -> None:
    """Planted: a report on weekdays, a sync every day, a reminder of a commitment every Monday.

    Not: what has a schedule, what comes at all hours, and what somebody stopped doing a week ago.
    """
    for day in range(DAYS):
        date = month.at(day, 9).astimezone(ZONE)
        minute = month.chance.randrange(15)
        if date.weekday() < 5:
            month.add("report", month.at(day, 8, minute), origin=Origin.PERSON, inputs={"to": "team"})
        month.add("sync", month.at(day, 17, 30 + minute // 2), origin=Origin.KEY)
        month.add("planned", month.at(day, 8, minute), origin=Origin.PERSON)
        month.add("whenever", month.at(day, month.chance.randrange(24), minute), origin=Origin.PERSON)
        if day < DAYS - 8:
            month.add("stopped", month.at(day, 10, minute), origin=Origin.PERSON)
        if date.weekday() == 0:
            month.firings.append(Firing("cmt_1", "notes", "remind", month.at(day, 7), f"run_remind_{day}"))
        if day in (3, 11, 12):
            month.firings.append(Firing("cmt_2", "notes", "nudge", month.at(day, day), f"run_nudge_{day}"))


def agents(month: Month) -> None:
    """Planted: a clerk that is refused to write, a scout that reads no files. Not: an agent with too little to do."""
    for number in range(22):
        wants = node("x", REMEMBER, state="failed", error_code="tool_not_allowed", tools=(WRITE,), agent_id=CLERK)
        works = node("y", RECALL, tools=(READ,), agent_id=(SCOUT, CLERK)[number % 11 == 0])
        month.add("desk", month.at(number, 12, number), *([wants] if number % 5 == 0 else []), works)
        month.add("look", month.at(number, 13, number), node("z", RECALL, tools=(READ,), agent_id=SCOUT))
    for number in range(8):
        month.add("rare", month.at(number, 14), node("q", "vendor.acme.think", agent_id=QUIET))


PLANTED = {
    ("workflow-chain-pack", "recall, compose, remember"),
    ("prompt-template", "triage"),
    ("prompt-template", "billing"),
    ("automation", "report at 8 * * 1-5"),
    ("automation", "sync at 17 * * *"),
    ("automation", "remind at 7 * * 1"),
    ("agent-pack", CLERK),
    ("agent-pack", SCOUT),
}


def labels(traces: Traces) -> list[tuple[str, str]]:
    """What was found, as it is called in the list above; the minute is chance's."""
    told = []
    for each in found(traces, now=NOW):
        made = each.artifact
        name = {
            "workflow-chain-pack": lambda made=made: made["chains"][0]["label"].lower(),
            "prompt-template": lambda made=made: made["templateId"],
            "automation": lambda made=made: f"{made['workflowId']} at {made['cron'].split(maxsplit=1)[1]}",
            "agent-pack": lambda made=made: made["name"],
        }[each.kind]
        told.append((each.kind, name()))
    return told


@pytest.mark.parametrize("seed", range(6))
def test_all_that_was_planted_is_found_and_nothing_else(seed: int) -> None:
    month = Month(random.Random(seed))
    for plant in (chains, prompts, habits, agents):
        plant(month)
    month.noise(400)
    told = labels(month.traces())
    assert len(told) == len(set(told))
    assert set(told) == PLANTED


@pytest.mark.parametrize("seed", range(6))
def test_in_a_month_of_noise_nothing_is_found(seed: int) -> None:
    month = Month(random.Random(seed))
    month.noise(600)
    assert labels(month.traces()) == []


@pytest.mark.django_db
def test_this_host_would_install_what_was_found() -> None:
    tenant = building.tenant()
    for workflow in ("report", "sync", "remind"):
        building.install("acme", building.definition(workflow, building.node("only", "core.noop")))
    month = Month(random.Random(1))
    for plant in (chains, prompts, habits, agents):
        plant(month)
    findings = found(month.traces(), now=NOW)
    assert len(findings) == len(PLANTED)
    for finding in findings:
        artifacts.require_valid(tenant.id, finding.kind, finding.artifact)


def test_a_month_is_learnt_alike_whatever_order_its_rows_come_in() -> None:
    month = Month(random.Random(7))
    for plant in (chains, prompts, habits, agents):
        plant(month)
    month.noise(100)
    traces = month.traces()
    first, again = found(traces, now=NOW), found(mining.shuffled(traces, 3), now=NOW)
    assert mining.as_bytes(first) == mining.as_bytes(again)
