"""The version that a revision gets: what it is revised from, counted on, and never one that has been used before."""

import re
from collections.abc import Collection
from itertools import count

SEMVER = re.compile(r"([0-9]{1,9})\.([0-9]{1,9})\.([0-9]{1,9})(?:[-+][0-9A-Za-z.+-]*)?")


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
