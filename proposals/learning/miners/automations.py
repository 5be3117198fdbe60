"""Mines workflows that people start at regular times, and commitments that fire regularly, and proposes automations.

Times are those of the tenant's time zone. A workflow with a schedule gets no second one. An automation starts its
workflow with all inputs and as no agent, so only starts with complete inputs and without an agent count.
"""

import json
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from zoneinfo import ZoneInfo

from memory.host.json_types import JSONObject
from proposals.learning.miners.evidence import (
    MOST_NAMED,
    canonical,
    counted_noun,
    digest,
    evidence_of_runs,
    is_shallow,
    named_in_part,
    pattern,
    period,
    shown_name,
    zone_of,
)
from proposals.learning.miners.traces import Evidence, Finding, Firing, Origin, RunTrace, Traces

WITHIN = 20 * 60  # seconds from the earliest time of day to the latest
MOST_GAPS, TIMES_A_GAP = 1, 10  # missed times allowed: one, and one more per ten kept
LOOK_BACK = timedelta(days=42)
DAYS_BACK = timedelta(days=14)  # for what comes every day, or every weekday
LEAST_SHARE = 0.75  # of the starts since the rhythm began
MOST_SLOTS = 3  # times of day at which the same is started
DAY = 24 * 60 * 60
EVERY_DAY, WEEKDAYS = tuple(range(7)), tuple(range(5))
STEPS = (60, 30, 15, 10, 5, 1)  # minutes; the roundest time that fits is proposed
NAMES = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
Wall = tuple[datetime, int]
KIND = "automation"
LEAST_STARTS = 4  # days on which people started it
LEAST_FIRINGS = 3  # days on which the commitment fired
BY_HAND = frozenset({Origin.PERSON, Origin.KEY})
VERSION = "1.0.0"
MISSED = "fire-once"
MOST_LEVELS = 16
HALF_AN_HOUR = 30
NOT_A_NAME = re.compile(r"[^a-z0-9_-]+")
LONGEST_SLUG = 100


# Rhythms: every day, on weekdays, or on fixed days of the week, at the same wall-clock time.
#
# A rhythm lasts until now, and most starts since it began belong to it. Days and hours are local, so a change to
# daylight saving time breaks none.


@dataclass(frozen=True, slots=True)
class Rhythm:
    """A minute of the day on days of the week (0 is Monday); ``places`` are the indices of its moments."""

    weekdays: tuple[int, ...]
    minute: int
    days: tuple[date, ...]
    places: tuple[int, ...]

    @property
    def cron(self) -> str:
        days = {EVERY_DAY: "*", WEEKDAYS: "1-5"}.get(self.weekdays)
        named = sorted((day + 1) % 7 for day in self.weekdays)
        return f"{self.minute % 60} {self.minute // 60} * * {days or ','.join(map(str, named))}"

    @property
    def in_words(self) -> str:
        names = [NAMES[day] for day in self.weekdays]
        every = f"every {' and '.join([', '.join(names[:-1]), names[-1]] if len(names) > 1 else names)}"
        return {EVERY_DAY: "every day", WEEKDAYS: "on weekdays"}.get(self.weekdays, every)

    @property
    def clock(self) -> str:
        return f"{self.minute // 60:02}:{self.minute % 60:02}"


@dataclass(frozen=True, slots=True)
class Slot:
    """A window of ``WITHIN`` seconds from ``first`` (seconds after midnight), with its moments.

    Each moment is the day on which the slot began, its seconds after that midnight, and its index.
    """

    first: int
    walls: tuple[tuple[date, int, int], ...]

    @property
    def days(self) -> set[date]:
        return {day for day, _, _ in self.walls}


def rhythms_of(moments: Sequence[datetime], zone: ZoneInfo, *, now: datetime, times: int) -> list[Rhythm]:
    """The rhythms in ``moments``, each of at least ``times`` days; empty when too many moments belong to none."""
    clock = now.astimezone(zone).replace(tzinfo=None)
    walls = sorted((moment.astimezone(zone).replace(tzinfo=None), at) for at, moment in enumerate(moments))
    lately = [wall for wall in walls if clock - LOOK_BACK <= wall[0] <= clock]
    left, found = lately, list[Rhythm]()
    for _ in range(MOST_SLOTS):
        slot = _busiest(left)
        if slot is None or len(slot.days) < times:
            break
        rhythm = _rhythm(slot, clock, times)
        found += [rhythm] if rhythm else []
        inside = {place for _, _, place in slot.walls}
        left = [wall for wall in left if wall[1] not in inside]
    return found if _is_most(found, lately) else []


def _is_most(found: list[Rhythm], walls: list[Wall]) -> bool:
    if not found:
        return False
    began = datetime.combine(min(day for rhythm in found for day in rhythm.days), time())
    since = sum(1 for moment, _ in walls if moment >= began)
    return sum(len(rhythm.places) for rhythm in found) >= LEAST_SHARE * since


def _busiest(walls: list[Wall]) -> Slot | None:
    """The slot with moments on the most days, then with the most moments, then the earliest; None without moments."""
    around = sorted((_second(wall), wall.date(), at) for wall, at in walls)
    around += [(second + DAY, day - timedelta(days=1), at) for second, day, at in around]
    counted: Counter[date] = Counter()
    best, end = (0, 0, 0, 0), 0
    for start in range(len(walls)):
        first = around[start][0]
        while end < len(around) and around[end][0] <= first + WITHIN:
            counted[around[end][1]] += 1
            end += 1
        best = max(best, (len(counted), end - start, -first, -start))
        counted[around[start][1]] -= 1
        if not counted[around[start][1]]:
            del counted[around[start][1]]
    if not best[0]:
        return None
    inside = around[-best[3] : -best[3] + best[1]]
    return Slot(-best[2], tuple((day, second, at) for second, day, at in inside))


def _second(wall: datetime) -> int:
    return wall.hour * 3600 + wall.minute * 60 + wall.second


def _rhythm(slot: Slot, clock: datetime, times: int) -> Rhythm | None:
    """The first pattern of days (weekdays, every day, some days) with at least ``times`` days up to now; or None."""
    last = _last_day(slot, clock)
    for weekdays, days in (
        _on_weekdays(slot.days, last),
        _every_day(slot.days, last),
        _on_some(slot.days, last, times),
    ):
        if len(days) >= times:
            return _rhythm_of(slot, weekdays, set(days))
    return None


def _last_day(slot: Slot, clock: datetime) -> date:
    """The last day on which the slot has passed or has a start."""
    passed = (clock - timedelta(seconds=slot.first + WITHIN)).date()
    return max(passed, *slot.days)


def _on_weekdays(days: set[date], last: date) -> tuple[tuple[int, ...], list[date]]:
    """The days of a rhythm on weekdays; none unless it spans a weekend without a start."""
    found = _trail(days, last, _weekday_before, last - DAYS_BACK)
    if not found:
        return WEEKDAYS, []
    span = (last - timedelta(days=back) for back in range((last - found[-1]).days + 1))
    weekend = [day in days for day in span if day.weekday() not in WEEKDAYS]
    return WEEKDAYS, found if weekend and not any(weekend) else []


def _every_day(days: set[date], last: date) -> tuple[tuple[int, ...], list[date]]:
    return EVERY_DAY, _trail(days, last, lambda day: day - timedelta(days=1), last - DAYS_BACK)


def _on_some(days: set[date], last: date, times: int) -> tuple[tuple[int, ...], list[date]]:
    """The days of the week that each recur in at least ``times`` weeks, and their dates."""
    found: dict[int, list[date]] = {}
    for back in range(7):
        latest = last - timedelta(days=back)
        trail = _trail(days, latest, lambda day: day - timedelta(days=7), latest - LOOK_BACK)
        if len(trail) >= times:
            found[latest.weekday()] = trail
    return tuple(sorted(found)), [day for trail in found.values() for day in trail]


def _trail(days: set[date], last: date, before: Callable[[date], date], first: date) -> list[date]:
    """The days from ``last`` back to ``first``, until more are missed than allowed."""
    day, missed, found = last, 0, list[date]()
    if day.weekday() not in WEEKDAYS and before is _weekday_before:
        day = before(day)
    while day >= first and missed <= MOST_GAPS + len(found) // TIMES_A_GAP:
        if day in days:
            found.append(day)
        else:
            missed += 1
        day = before(day)
    return found


def _weekday_before(day: date) -> date:
    return day - timedelta(days={0: 3, 6: 2}.get(day.weekday(), 1))


def _rhythm_of(slot: Slot, weekdays: tuple[int, ...], days: set[date]) -> Rhythm:
    """The rhythm at its roundest time; in a slot across midnight that time may be on the next day."""
    members = [each for each in slot.walls if each[0] in days]
    minute = _roundest(sorted(second for _, second, _ in members))
    if minute >= DAY // 60:
        minute, weekdays = minute - DAY // 60, tuple(sorted((day + 1) % 7 for day in weekdays))
    return Rhythm(weekdays, minute, tuple(sorted(days)), tuple(sorted(at for _, _, at in members)))


def _roundest(seconds: Sequence[int]) -> int:
    """The roundest minute of the day between the earliest and latest second; of several, the nearest to the median."""
    middle = seconds[len(seconds) // 2]
    for step in STEPS:
        fitting = _multiples(seconds[0], seconds[-1], step * 60)
        if fitting:
            return min(fitting, key=lambda second: (abs(second - middle), second)) // 60
    return middle // 60


def _multiples(low: int, high: int, step: int) -> Iterable[int]:
    return range(-(-low // step) * step, high + 1, step)


@dataclass(frozen=True, slots=True)
class Started:
    """A start of a workflow with its inputs: by hand, or by the commitment ``commitment_id``."""

    at: datetime
    run_id: str
    commitment_id: str = ""


Groups = dict[tuple[str, str, str], set[Started]]


@dataclass(frozen=True, slots=True)
class Habit:
    """A workflow with its inputs, the starts that belong to a rhythm, and the rhythm."""

    workflow_id: str
    inputs: JSONObject
    starts: tuple[Started, ...]
    rhythm: Rhythm

    @property
    def commitment_id(self) -> str:
        return self.starts[0].commitment_id


def find(traces: Traces, *, now: datetime) -> list[Finding]:
    """One finding for each rhythm; one that people keep takes precedence over the same one of a commitment."""
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


def _started_by_hand(runs: Iterable[RunTrace]) -> Iterator[tuple[str, JSONObject, Started]]:
    for run in runs:
        if run.origin in BY_HAND and run.status == "completed" and not run.agent_id and not run.incomplete:
            yield run.workflow_id, dict(run.inputs), Started(run.created_at, run.run_id)


def _fired(firings: Iterable[Firing]) -> Iterator[tuple[str, JSONObject, Started]]:
    for firing in firings:
        if firing.workflow_id and not firing.incomplete:
            yield firing.workflow_id, dict(firing.inputs), Started(firing.at, firing.run_id, firing.commitment_id)


def _grouped(started: Iterable[tuple[str, JSONObject, Started]], standing: set[str]) -> Groups:
    """Group the starts by workflow, inputs and commitment ("" for none), without workflows in ``standing``."""
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
    about_commitment = (Evidence("commitment", habit.commitment_id, "keeps-firing"),) if habit.commitment_id else ()
    about = [habit.inputs, rhythm.weekdays, round(rhythm.minute / HALF_AN_HOUR), zone.key]
    return Finding(
        kind=KIND,
        title=f"Start {workflow} {rhythm.in_words} at {rhythm.clock}",
        rationale=_rationale(habit, zone),
        artifact=_artifact(habit, zone),
        pattern=pattern(KIND, habit.workflow_id, about, "new"),
        source_run_ids=runs,
        evidence=(*about_commitment, *evidence_of_runs(runs, why)),
    )


def _artifact(habit: Habit, zone: ZoneInfo) -> JSONObject:
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
    """A name that is stable for the same workflow, inputs and rhythm."""
    what = NOT_A_NAME.sub("-", habit.workflow_id.lower())[:LONGEST_SLUG].strip("-_") or "workflow"
    return f"{what}-{digest([habit.workflow_id, habit.inputs, habit.rhythm.cron])[:8]}"


def _rationale(habit: Habit, zone: ZoneInfo) -> str:
    rhythm, number = habit.rhythm, len(habit.starts)
    when = period((start.at for start in habit.starts), zone)
    if habit.commitment_id:
        what = f"A commitment that starts {shown_name(habit.workflow_id)} has fired {counted_noun(number, 'time')}"
        besides = "Only that commitment starts it so far."
    else:
        what = f"Someone started {shown_name(habit.workflow_id)} by hand or with a key {counted_noun(number, 'time')}"
        besides = "No schedule starts it yet."
    inputs = "with the same inputs each time" if habit.inputs else "without inputs"
    return (
        f"{what}, {inputs}: {rhythm.in_words} at about {rhythm.clock} ({zone.key}), {when}. "
        f"{_confidence(habit, zone)} {besides}{named_in_part(number)}"
    )


def _confidence(habit: Habit, zone: ZoneInfo) -> str:
    """A sentence with the share of days that were kept and the largest deviation in minutes."""
    rhythm = habit.rhythm
    between = range((rhythm.days[-1] - rhythm.days[0]).days + 1)
    weekdays = {day.weekday() for day in rhythm.days}
    expected = sum((rhythm.days[0] + timedelta(days=number)).weekday() in weekdays for number in between)
    walls = [start.at.astimezone(zone) for start in habit.starts]
    off = [abs(wall.hour * 60 + wall.minute - rhythm.minute) for wall in walls]
    scatter = max(min(each, DAY // 60 - each) for each in off)
    days, minutes = counted_noun(expected, "day"), counted_noun(scatter, "minute")
    return f"It came on {len(rhythm.days)} of {days}, at most {minutes} off."
