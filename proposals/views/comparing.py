"""The Changes tab: which two texts are compared, what the difference means, and its lines."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from urllib.parse import urlencode

from django.http import HttpRequest
from django.urls import reverse

from memory.host import ids, pages
from proposals import diffs, sources, summaries
from proposals.models import Revision
from proposals.review import Detail
from proposals.sources import Duplicate
from proposals.summaries import Line, Summary

INSTALLED, REPLACED, NOTHING, DUPLICATE = "installed", "replaced", "nothing", "duplicate"
NUMBER_DIGITS = 9


@dataclass(frozen=True, slots=True)
class Side:
    """One text that may be compared, as a choice of the form; ``text`` is what it says."""

    value: str
    label: str
    text: str = ""
    selected: bool = False


@dataclass(frozen=True, slots=True)
class Short:
    """What a change means, and against what it is told."""

    against: str
    told: Summary


def comparison(request: HttpRequest, told: Detail, *, now: datetime) -> dict[str, Any]:
    """What the Changes tab shows: what production gains and loses, the two sides, their difference, the other views."""
    new = told.revision(pages.number_of(request, "to") or 0) or told.current
    offered = _offered(told, sources.duplicate_of(told.proposal))
    before = _first(offered, _in_production(told))
    old = _first(offered, (request.GET.get("from", "")[:NUMBER_DIGITS], str(new.number - 1), before.value))
    mode = "side" if request.GET.get("mode") == "side" else "unified"
    shorts = list(_shorts(told, before, old, new, now))
    return {
        "shorts": shorts,
        "ticks": shorts[0].told.ticks if told.under_review or _is_current(told) else (),
        "diff": diffs.between(old.text, new.text),
        "old": old.label,
        "new": f"revision {new.number}",
        "mode": mode,
        "unified_url": _address(told, old, new.number),
        "side_url": _address(told, old, new.number, mode="side"),
        "sides": [Side(each.value, each.label, selected=each is old) for each in offered.values()],
        "newer": [Side(str(each.number), f"revision {each.number}", selected=each is new) for each in told.revisions],
        "note": new.note,
        "note_of": new.number,
    }


def _address(told: Detail, old: Side, new: int, **more: str) -> str:
    """The address of this very comparison, wherever it is shown."""
    url = reverse("proposal", args=[ids.wire("prop", told.proposal.id)])
    return f"{url}?{urlencode({'from': old.value, 'to': new, **more})}"


def _offered(told: Detail, duplicate: Duplicate | None) -> dict[str, Side]:
    """Everything that a revision may be compared with, by its value in the address."""
    offered = [Side(str(each.number), f"revision {each.number}", each.text) for each in told.revisions]
    stands, replaced = told.effect.stands, told.effect.replaced
    if replaced:
        offered.append(Side(REPLACED, f"{replaced.label}, which it replaced", replaced.text))
    if stands:
        offered.append(Side(INSTALLED, f"installed {stands.label}", stands.text))
    if duplicate:
        offered.append(Side(DUPLICATE, f"duplicate {duplicate.ref}", duplicate.text))
    offered.append(Side(NOTHING, "nothing"))
    return {each.value: each for each in offered}


def _in_production(told: Detail) -> tuple[str, ...]:
    """What runs resolve without this proposal: what it replaced, or would replace; or nothing."""
    return (REPLACED, NOTHING) if told.effect.installation else (INSTALLED, NOTHING)


def _first(offered: dict[str, Side], wanted: tuple[str, ...]) -> Side:
    return next(offered[each] for each in wanted if each in offered)


def _is_current(told: Detail) -> bool:
    installation = told.effect.installation
    return installation is not None and installation.superseded_at is None


def _shorts(told: Detail, before: Side, old: Side, new: Revision, now: datetime) -> Iterator[Short]:
    """What production gains and loses, and then, when something else is compared, what that is about."""
    for side in (before,) if old is before else (before, old):
        also = _also(told, side)
        found = summaries.summary(told.proposal.kind, side.text, new.text, also=also, now=now)
        yield Short(_against(told, side), found)


def _against(told: Detail, before: Side) -> str:
    if before.value != NOTHING:
        return f"Compared with {before.label}"
    return "New: replaced no version" if told.effect.installation else "New: nothing installed yet"


def _also(told: Detail, side: Side) -> list[Line]:
    """Which agents an administrator had installed, each by itself, whose place a pack takes."""
    stands, replaced = told.effect.stands, told.effect.replaced
    if side.value == INSTALLED and stands and told.under_review:
        return [summaries.change(f"Replaces {ref}, which is installed by itself") for ref in stands.alone]
    if side.value == REPLACED and replaced:
        return [summaries.change(f"Replaced {ref}, which was installed by itself") for ref in replaced.alone]
    return []
