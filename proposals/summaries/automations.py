"""What another version of an automation changes (RFC 0052): what it starts, and when, in words."""

from datetime import datetime
from itertools import islice
from typing import Any

from django.utils.dateparse import parse_datetime

from memory.host import ticks
from proposals.summaries.lines import Line, change, gain, named, sets, value

TICKS = 5
FIRE_ONCE = "fire-once"
POLICIES = {FIRE_ONCE: "the latest missed tick fires once", "skip": "missed ticks are skipped"}

Document = dict[str, Any]


def compare(old: Document, new: Document) -> list[Line]:
    before, after = _when(old), _when(new)
    when = [gain(f"Starts {named(new['workflowId'])}: {after}")] if not old else []
    when += [change(f"When: {before} → {after}")] if old and before != after else []
    inputs = _inputs(old)
    changed = [name for name, given in _inputs(new).items() if name in inputs and inputs[name] != given]
    return [
        *value("Version", old.get("version"), new.get("version")),
        *when,
        *(value("Workflow", old.get("workflowId"), new.get("workflowId")) if old else ()),
        *(value("When ticks were missed", _missed(old), _missed(new)) if old else ()),
        *sets("Inputs", inputs, _inputs(new)),
        *(change(f"Input {named(name)} has another value") for name in changed),
    ]


def _inputs(document: Document) -> dict[str, Any]:
    return document.get("inputs", {}) or {}


def _missed(document: Document) -> str:
    return POLICIES.get(document.get("missedTickPolicy", FIRE_ONCE), "")


def _when(document: Document) -> str:
    """The time of an automation as people would say it."""
    if not document:
        return ""
    zone = document.get("timezone", "UTC")
    if "fireAt" in document:
        return f"once, at {document['fireAt']}"
    return f"{ticks.in_words(five_fields(document['cron']))} ({zone})"


def five_fields(cron: str) -> str:
    """The expression without its field of seconds, which is ``0`` where there is one."""
    fields = cron.split()
    return " ".join(fields[1:] if len(fields) == 6 else fields)


def ticks_of(document: Document, now: datetime) -> tuple[datetime, ...]:
    """The next five instants at which it would tick, or as many as there are."""
    if "fireAt" in document:
        at = parse_datetime(document["fireAt"])
        return (at,) if at and at.tzinfo and at > now else ()
    cron = five_fields(document["cron"])
    if ticks.problem_of(cron):
        return ()
    return tuple(islice(ticks.following(cron, document.get("timezone", "UTC"), now), TICKS))
