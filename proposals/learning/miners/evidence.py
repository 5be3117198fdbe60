"""What miners share: how a finding states its evidence, and the version and form of what it proposes."""

import hashlib
import json
import re
import unicodedata
from collections.abc import Collection, Iterable, Sequence
from datetime import datetime
from itertools import count
from typing import Any
from zoneinfo import ZoneInfo

import rfc8785

from memory.host import cron
from memory.host.json_types import JSONObject
from memory.text.matching import texts_in
from proposals.learning.miners.traces import Evidence, RunTrace

MOST_BYTES = 128 * 1024
MOST_LEVELS = 32
MOST_NAMED = 25  # runs, and pieces of evidence, that a finding names; the newest, where there are more
MOST_LISTED = 5  # names in a sentence
LONGEST_NAME = 80
SEMVER = re.compile(r"([0-9]{1,9})\.([0-9]{1,9})\.([0-9]{1,9})(?:[-+][0-9A-Za-z.+-]*)?")


# Whether a value can be kept as an artifact: texts, numbers and a size that every reader of JSON takes.


def fits(artifact: JSONObject) -> bool:
    """Whether it is small enough, and holds nothing that is refused when a proposal is made."""
    if not is_shallow(artifact, MOST_LEVELS) or any("\x00" in text for text in texts_in(artifact)):
        return False
    try:
        return len(rfc8785.dumps(artifact)) <= MOST_BYTES
    except (rfc8785.CanonicalizationError, UnicodeError):
        return False


def is_shallow(value: object, levels: int) -> bool:
    """Whether nothing in ``value`` lies deeper than ``levels`` objects and lists."""
    inside: list[Any] = [value]
    for _ in range(levels + 1):
        inside = [each for outer in inside for each in _members(outer)]
        if not inside:
            return True
    return False


def _members(value: object) -> list[Any]:
    if isinstance(value, dict):
        return list(value.values())
    return list(value) if isinstance(value, list | tuple) else []


# How a finding tells what it saw: a stable pattern, the runs behind it, and plain words with counts, days and names.
#
# Names are shown without what could disguise them; nobody's text is ever among these words.


def canonical(value: object) -> str:
    """The same text for equal JSON values."""
    return json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"))


def digest(value: object) -> str:
    """Sixteen characters that stand for a JSON value."""
    return hashlib.sha256(canonical(value).encode("utf-8", "surrogatepass")).hexdigest()[:16]


def pattern(kind: str, name: str, sight: object, base: str) -> str:
    """What was seen: of which kind, of what, the sight itself as a digest, and the version it is a revision of."""
    return f"{kind}|{name}|{digest(sight)}|{base}"


def zone_of(name: str) -> ZoneInfo:
    """The zone of that name; UTC when there is none."""
    return ZoneInfo(name if cron.is_zone(name) else "UTC")


def newest(runs: Iterable[RunTrace]) -> tuple[str, ...]:
    """The wire ids of the newest of the runs, the oldest of them first."""
    ordered = sorted({(run.created_at, run.run_id) for run in runs})
    return tuple(run_id for _, run_id in ordered[-MOST_NAMED:])


def evidence_of_runs(run_ids: Sequence[str], why: str) -> tuple[Evidence, ...]:
    return tuple(Evidence("run", run_id, why) for run_id in run_ids)


def counted_noun(number: int, one: str, many: str = "") -> str:
    """ "1 run", "3 runs"."""
    return f"{number} {one if number == 1 else many or one + 's'}"


def period(moments: Iterable[datetime], zone: ZoneInfo) -> str:
    """The days from the first of the moments to the last, as the clock in ``zone`` has them."""
    days = sorted({moment.astimezone(zone).date().isoformat() for moment in moments})
    return f"on {days[0]}" if len(days) == 1 else f"from {days[0]} to {days[-1]}"


def listed(names: Iterable[str]) -> str:
    """The names in quotation marks, and how many more there are."""
    every = sorted(set(names))
    shown = [f'"{shown_name(name)}"' for name in every[:MOST_LISTED]]
    more = len(every) - len(shown)
    if more:
        return f"{', '.join(shown)} and {more} more"
    return " and ".join([", ".join(shown[:-1]), shown[-1]] if len(shown) > 1 else shown)


def shown_name(name: str) -> str:
    """A name as it may stand in a sentence: on one line, without marks of direction or of control, and not too long."""
    plain = "".join(letter for letter in name if not unicodedata.category(letter).startswith("C"))
    one_line = " ".join(plain.split()).replace('"', "'")
    return one_line if len(one_line) <= LONGEST_NAME else f"{one_line[: LONGEST_NAME - 1]}…"


def named_in_part(total: int) -> str:
    """The sentence that says so when a finding names fewer runs than there were."""
    return f" The newest {MOST_NAMED} of them are named here." if total > MOST_NAMED else ""


# The version that a revision gets: what it is revised from, counted on, and never one that has been used before.


def next_minor(version: str, taken: Collection[str] = ()) -> str:
    """The first minor version behind ``version`` that is not ``taken``; "" when ``version`` is none."""
    parts = _parts(version)
    return _free(parts[0], parts[1] + 1, None, taken) if parts else ""


def next_patch(version: str, taken: Collection[str] = ()) -> str:
    """The first patch version behind ``version`` that is not ``taken``; "" when ``version`` is none."""
    parts = _parts(version)
    return _free(parts[0], parts[1], parts[2] + 1, taken) if parts else ""


def _parts(version: str) -> tuple[int, int, int] | None:
    found = SEMVER.fullmatch(version)
    return (int(found[1]), int(found[2]), int(found[3])) if found else None


def _free(major: int, minor: int, patch: int | None, taken: Collection[str]) -> str:
    """Counts on in the place that was raised: the patch when one is given, else the minor."""
    names = (f"{major}.{minor + n}.0" if patch is None else f"{major}.{minor}.{patch + n}" for n in count())
    return next(name for name in names if name not in taken)
