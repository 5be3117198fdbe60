"""Shared by the miners: evidence and wording of a finding, and the form and version of its artifact."""

import hashlib
import json
import re
import unicodedata
from collections.abc import Collection, Iterable, Sequence
from datetime import datetime
from itertools import count
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


# Whether a value can be stored as an artifact: its texts, numbers, depth and size.


def fits(artifact: JSONObject) -> bool:
    """Whether the artifact is within the bounds on size, depth and content that a proposal has."""
    if not is_shallow(artifact, MOST_LEVELS) or any("\x00" in text for text in texts_in(artifact)):
        return False
    try:
        return len(rfc8785.dumps(artifact)) <= MOST_BYTES
    except (rfc8785.CanonicalizationError, UnicodeError):
        return False


def is_shallow(value: object, levels: int) -> bool:
    """Whether ``value`` nests at most ``levels`` objects and lists."""
    inside: list[object] = [value]
    for _ in range(levels + 1):
        inside = [each for outer in inside for each in _members(outer)]
        if not inside:
            return True
    return False


def _members(value: object) -> list[object]:
    if isinstance(value, dict):
        return list(value.values())
    return list(value) if isinstance(value, list | tuple) else []


# The evidence of a finding: a stable pattern, its source runs, and a rationale with counts, days and names.
#
# Names are shown without control and direction characters; the words never hold a person's text.


def canonical(value: object) -> str:
    """A canonical JSON text: equal values have equal texts."""
    return json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"))


def digest(value: object) -> str:
    """A digest of a JSON value, 16 hex digits."""
    return hashlib.sha256(canonical(value).encode("utf-8", "surrogatepass")).hexdigest()[:16]


def pattern(kind: str, name: str, sight: object, base: str) -> str:
    """The identity of a finding: kind, name, digest of the observation, and the version it revises."""
    return f"{kind}|{name}|{digest(sight)}|{base}"


def zone_of(name: str) -> ZoneInfo:
    """The time zone of that name; UTC for an unknown one."""
    return ZoneInfo(name if cron.is_zone(name) else "UTC")


def newest(runs: Iterable[RunTrace]) -> tuple[str, ...]:
    """The wire ids of the newest ``MOST_NAMED`` runs, oldest first."""
    ordered = sorted({(run.created_at, run.run_id) for run in runs})
    return tuple(run_id for _, run_id in ordered[-MOST_NAMED:])


def evidence_of_runs(run_ids: Sequence[str], why: str) -> tuple[Evidence, ...]:
    return tuple(Evidence("run", run_id, why) for run_id in run_ids)


def counted_noun(number: int, one: str, many: str = "") -> str:
    """ "1 run", "3 runs"."""
    return f"{number} {one if number == 1 else many or one + 's'}"


def period(moments: Iterable[datetime], zone: ZoneInfo) -> str:
    """The days of the first and the last moment in ``zone``, as ``on …`` or ``from … to …``."""
    days = sorted({moment.astimezone(zone).date().isoformat() for moment in moments})
    return f"on {days[0]}" if len(days) == 1 else f"from {days[0]} to {days[-1]}"


def quote_names(names: Iterable[str]) -> str:
    """The first ``MOST_LISTED`` names in quotation marks, and the number of the others."""
    every = sorted(set(names))
    shown = [f'"{shown_name(name)}"' for name in every[:MOST_LISTED]]
    more = len(every) - len(shown)
    if more:
        return f"{', '.join(shown)} and {more} more"
    return " and ".join([", ".join(shown[:-1]), shown[-1]] if len(shown) > 1 else shown)


def shown_name(name: str) -> str:
    """A name for use in a sentence: one line, no control or direction characters, at most ``LONGEST_NAME`` long."""
    plain = "".join(letter for letter in name if not unicodedata.category(letter).startswith("C"))
    one_line = " ".join(plain.split()).replace('"', "'")
    return one_line if len(one_line) <= LONGEST_NAME else f"{one_line[: LONGEST_NAME - 1]}…"


def named_in_part(total: int) -> str:
    """A sentence for a finding that names only the newest runs; "" when it names all."""
    return f" The newest {MOST_NAMED} of them are named here." if total > MOST_NAMED else ""


# The version of a revision: the next one after its base that was never used.


def next_minor(version: str, taken: Collection[str] = ()) -> str:
    """The first minor version after ``version`` that is not ``taken``; "" when ``version`` is not semantic."""
    parts = _parts(version)
    return _free(parts[0], parts[1] + 1, None, taken) if parts else ""


def next_patch(version: str, taken: Collection[str] = ()) -> str:
    """The first patch version after ``version`` that is not ``taken``; "" when ``version`` is not semantic."""
    parts = _parts(version)
    return _free(parts[0], parts[1], parts[2] + 1, taken) if parts else ""


def _parts(version: str) -> tuple[int, int, int] | None:
    found = SEMVER.fullmatch(version)
    return (int(found[1]), int(found[2]), int(found[3])) if found else None


def _free(major: int, minor: int, patch: int | None, taken: Collection[str]) -> str:
    """The first free version, counting up the patch when one is given, else the minor."""
    names = (f"{major}.{minor + n}.0" if patch is None else f"{major}.{minor}.{patch + n}" for n in count())
    return next(name for name in names if name not in taken)
