"""What is started at regular times: by the wall clock of the tenant's zone, and what only looks regular."""

from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.host import cron
from proposals.learning.miners.traces import Finding, Firing, InstalledSchedule, Origin, RunTrace, Traces
from tests import mining
from tests.budgets import tries
from tests.mining import found, run

KIND = "automation"
ZONE = "Europe/Warsaw"  # on 29 March 2026 its clocks go from 02:00 to 03:00
TODAY = date(2026, 3, 31)  # a Tuesday
NOON = datetime(2026, 3, 31, 12, tzinfo=ZoneInfo(ZONE))


def wall(day: date, clock: str) -> datetime:
    return datetime.fromisoformat(f"{day}T{clock}").replace(tzinfo=ZoneInfo(ZONE)).astimezone(UTC)


def started(days: list[int], clock: str | list[str] = "09:00", **changes: Any) -> tuple[RunTrace, ...]:
    """Starts by hand that many days ago, at that time of day or at those."""
    clocks = clock if isinstance(clock, list) else [clock] * len(days)
    return tuple(
        run(at, created_at=wall(TODAY - timedelta(days=day), time), **{"origin": Origin.PERSON, **changes})
        for at, (day, time) in enumerate(zip(days, clocks, strict=True))
    )


def seen(*runs: RunTrace, **changes: Any) -> Traces:
    return Traces(runs=runs, **{"timezone": ZONE, **changes})


def automations(traces: Traces) -> list[Finding]:
    every = found(traces, KIND, now=NOON)
    for each in every:
        assert cron.problem_of(each.artifact["cron"]) == ""
        assert cron.is_zone(each.artifact["timezone"])
    return every


def crons(traces: Traces) -> list[str]:
    return [each.artifact["cron"] for each in automations(traces)]


def fired(days: list[int], clock: str = "18:30", workflow: str = "remind") -> tuple[Firing, ...]:
    inputs = {"commitmentId": "cmt_1"}
    return tuple(
        Firing("cmt_1", "notes", workflow, wall(TODAY - timedelta(days=day), clock), f"run_{day}", inputs)
        for day in days
    )


def test_what_somebody_starts_every_morning_becomes_an_automation() -> None:
    [finding] = automations(seen(*started([0, 1, 2, 3, 4], ["08:55", "09:01", "09:12", "09:03", "08:58"])))
    artifact = finding.artifact
    assert (artifact["cron"], artifact["timezone"], artifact["workflowId"]) == ("0 9 * * *", ZONE, "flow")
    assert (artifact["version"], artifact["missedTickPolicy"], artifact["inputs"]) == ("1.0.0", "fire-once", {})
    assert finding.source_run_ids == tuple(f"run_flow_{n:05}" for n in (4, 3, 2, 1, 0))
    assert "5 times" in finding.rationale
    assert "from 2026-03-27 to 2026-03-31" in finding.rationale
    assert "It came on 5 of 5 days, at most 12 minutes off." in finding.rationale


def test_one_miss_in_ten_breaks_no_rhythm_and_is_told() -> None:
    clocks = ["08:51", "09:09"] * 6
    [finding] = automations(seen(*started([0, 1, 3, 4, 5, 6, 7, 8, 9, 10, 11, 13], clocks)))
    assert finding.artifact["cron"] == "0 9 * * *"
    assert "It came on 12 of 14 days, at most 9 minutes off." in finding.rationale


UTC_MORNINGS = tuple(
    run(n, created_at=datetime(2026, 3, day, 8, tzinfo=UTC), origin=Origin.PERSON)
    for n, day in enumerate((26, 27, 28, 29, 30, 31))
)
WEEKDAYS = [0, 1, 4, 5, 6, 7, 8]
MONDAYS = [1, 8, 15, 22]
RHYTHMS: dict[str, tuple[Traces, str]] = {
    "four days": (seen(*started([0, 1, 2, 3])), "0 9 * * *"),
    "one day was missed": (seen(*started([0, 1, 3, 4])), "0 9 * * *"),
    "not yet today": (seen(*started([1, 2, 3, 4], "17:00")), "0 17 * * *"),
    "weekdays": (seen(*started(WEEKDAYS)), "0 9 * * 1-5"),
    "weekdays, and the week has just begun": (seen(*started([4, 5, 6, 7, 8, 1])), "0 9 * * 1-5"),
    "Mondays": (seen(*started(MONDAYS, "14:07")), "7 14 * * 1"),
    "Mondays and Thursdays": (seen(*started([*MONDAYS, 5, 12, 19, 26])), "0 9 * * 1,4"),
    "around midnight": (seen(*started([1, 2, 1, 4], ["00:05", "00:02", "23:58", "23:56"])), "0 0 * * *"),
    "Mondays just before midnight, meaning Tuesday": (
        seen(*started([1, 8, 15, 21], ["23:59", "23:58", "23:59", "00:10"])),
        "0 0 * * 2",
    ),
    "a few more at other times": (seen(*started([0, 1, 2, 3, 4, 5, 2], [*["09:00"] * 6, "15:40"])), "0 9 * * *"),
    "twice in one morning": (
        seen(*started([0, 0, 1, 2, 3], ["09:00", "09:05", "09:02", "09:01", "09:04"])),
        "0 9 * * *",
    ),
    "with a key": (seen(*started([0, 1, 2, 3], origin=Origin.KEY)), "0 9 * * *"),
    "across the change to daylight saving time": (seen(*started([0, 1, 2, 3, 4, 5], "09:00")), "0 9 * * *"),
    "by a clock elsewhere": (seen(*UTC_MORNINGS, timezone="Asia/Kolkata"), "30 13 * * *"),
    "by a clock that nobody knows": (seen(*UTC_MORNINGS, timezone="Mars/Base"), "0 8 * * *"),
}


@pytest.mark.parametrize(("traces", "cron"), RHYTHMS.values(), ids=RHYTHMS.keys())
def test_a_rhythm_is_told_as_cron(traces: Traces, cron: str) -> None:
    assert crons(traces) == [cron]


def test_a_weekend_that_has_begun_without_a_start_makes_it_weekdays() -> None:
    traces = seen(*started([4, 5, 6, 7]))
    saturday = wall(date(2026, 3, 28), "12:00")
    assert [each.artifact["cron"] for each in found(traces, KIND, now=saturday - timedelta(days=1))] == ["0 9 * * *"]
    assert [each.artifact["cron"] for each in found(traces, KIND, now=saturday)] == ["0 9 * * 1-5"]


def test_seconds_of_one_minute_are_that_minute() -> None:
    assert crons(seen(*started([0, 1, 2, 3], ["09:07:20", "09:07:30", "09:07:40", "09:07:50"]))) == ["7 9 * * *"]


def test_mornings_and_evenings_are_two_automations() -> None:
    traces = seen(*started([0, 1, 2, 3]), *started([1, 2, 3, 4], "18:00"))
    findings = automations(replace(traces, runs=tuple(replace(r, run_id=str(n)) for n, r in enumerate(traces.runs))))
    assert {each.artifact["cron"] for each in findings} == {"0 9 * * *", "0 18 * * *"}
    assert len({each.artifact["automationId"] for each in findings}) == 2


DAILY = [0, 1, 2, 3, 4]
LOOKALIKES: dict[str, Traces] = {
    "three days": seen(*started([0, 1, 2])),
    "two days were missed": seen(*started([0, 2, 3, 5])),
    "long ago": seen(*started([12, 13, 14, 15, 16])),
    "it stopped three days ago": seen(*started([3, 4, 5, 6])),
    "another hour each day": seen(*started(DAILY, ["09:00", "11:30", "14:00", "16:30", "19:00"])),
    "half an hour apart": seen(*started([0, 1, 2, 3], ["09:00", "09:25", "09:50", "10:15"])),
    "all on one day": seen(*started([0] * 6, ["09:00", "09:02", "09:04", "09:06", "09:08", "09:10"])),
    "at all hours, so that some meet": seen(
        *started([day for day in DAILY for _ in range(6)], [f"{hour:02}:00" for _ in DAILY for hour in range(4, 10)])
    ),
    "other inputs each time": seen(*(replace(each, inputs={"n": n}) for n, each in enumerate(started(DAILY)))),
    "a schedule is there": seen(*started(DAILY), schedules=(InstalledSchedule("flow", "0 9 * * *", ZONE),)),
    "a schedule at another time is there": seen(
        *started(DAILY), schedules=(InstalledSchedule("flow", "0 1 * * 0", "UTC"),)
    ),
    "started by a schedule": seen(*started(DAILY, origin=Origin.SCHEDULE)),
    "started by a heartbeat": seen(*started(DAILY, origin=Origin.HEARTBEAT)),
    "forks": seen(*started(DAILY, origin=Origin.FORK)),
    "a program started it": seen(*started(DAILY, origin=Origin.AGENT)),
    "it acted as an agent": seen(*started(DAILY, agent_id="acme.writer")),
    "an input of it was hidden": seen(*started(DAILY, inputs={"ticket": "T-1"}, incomplete=True)),
    "a commitment whose run had a hidden input": seen(
        firings=tuple(replace(each, incomplete=True) for each in fired([1, 2, 3]))
    ),
    "the host's own workflow": seen(*started(DAILY, builtin=True)),
    "it never came to an end": seen(*started(DAILY, status="failed")),
    "three Mondays": seen(*started([1, 8, 15])),
    "a day of every week, another each time": seen(*started([1, 9, 17, 25])),
    "by the clock of Greenwich, over the change": seen(*UTC_MORNINGS),
    "a commitment that fired twice": seen(firings=fired([0, 1])),
    "a commitment that fires now and then": seen(firings=(*fired([1]), *fired([4], "07:00"), *fired([9], "12:00"))),
    "a commitment without a workflow": seen(firings=fired([1, 2, 3, 4], workflow="")),
    "a commitment whose workflow has a schedule": seen(
        firings=fired([1, 2, 3]), schedules=(InstalledSchedule("remind", "0 9 * * *", ZONE),)
    ),
}


@pytest.mark.parametrize("traces", LOOKALIKES.values(), ids=LOOKALIKES.keys())
def test_what_is_not_regular_is_not_automated(traces: Traces) -> None:
    assert automations(traces) == []


def test_a_commitment_that_keeps_firing_becomes_an_automation() -> None:
    [finding] = automations(seen(firings=fired([1, 2, 3])))
    assert (finding.artifact["workflowId"], finding.artifact["cron"]) == ("remind", "30 18 * * *")
    assert finding.artifact["inputs"] == {"commitmentId": "cmt_1"}
    assert (finding.evidence[0].kind, finding.evidence[0].id) == ("commitment", "cmt_1")
    assert finding.source_run_ids == ("run_3", "run_2", "run_1")
    assert "Only that commitment starts it so far." in finding.rationale


def test_the_same_sight_has_one_pattern_and_another_sight_another() -> None:
    first, later = seen(*started([1, 2, 3, 4])), seen(*started([0, 1, 2, 3, 4, 5], "09:02"))
    hourly = seen(*started([0, 1, 2, 3], "10:30"))
    inputs = seen(*started([0, 1, 2, 3], inputs={"a": 1}))
    patterns = [automations(each)[0].pattern for each in (first, later, hourly, inputs)]
    assert patterns[0] == patterns[1]
    assert len(set(patterns)) == 3


@pytest.mark.parametrize("text", mining.HOSTILE)
def test_hostile_inputs_are_kept_as_they_are_or_not_at_all(text: str) -> None:
    traces = seen(*started([0, 1, 2, 3], inputs={"note": text}))
    for finding in automations(traces):
        assert finding.artifact["inputs"] == {"note": text}
        assert text not in finding.rationale + finding.title + finding.artifact["description"]
    assert ("\x00" in text) == (automations(traces) == [])


def test_inputs_that_no_artifact_may_have_are_left_alone() -> None:
    deep: Any = "x"
    for _ in range(200):
        deep = [deep]
    for bad in (deep, float("inf"), 2**70, "x" * 140_000):
        assert automations(seen(*started([0, 1, 2, 3], inputs={"bad": bad}))) == []


@tries(60)
@given(st.lists(st.tuples(st.integers(0, 20), st.sampled_from(["09:00", "09:10", "09:25", "17:00", "23:55", "00:05"]))),
       st.integers(0, 1000))  # fmt: skip
def test_the_order_of_rows_changes_nothing(when: list[tuple[int, str]], seed: int) -> None:
    traces = seen(*started([day for day, _ in when], [clock for _, clock in when], inputs={"b": 1, "a": 2}))
    mixed = mining.shuffled(traces, seed)
    assert mining.as_bytes(found(traces, now=NOON)) == mining.as_bytes(found(mixed, now=NOON))
