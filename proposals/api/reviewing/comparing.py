"""The two texts of a diff that is asked for by name, and the lines of it as JSON."""

from dataclasses import dataclass
from typing import Any

from memory.differences import DiffRow, Hunk, Piece
from memory.host import ids
from memory.host.errors import NotFound
from proposals import diffs
from proposals.models import Revision
from proposals.review import Detail

INSTALLED, NOTHING = "installed", "nothing"


@dataclass(frozen=True, slots=True)
class Side:
    """One text: a revision, what runs resolve in its place, or nothing. ``ref`` and ``sha256`` are those of one
    installed version; where agents stand beside it, or alone, there are none.
    """

    label: str
    text: str = ""
    revision: int | None = None
    ref: str | None = None
    sha256: str | None = None

    def document(self) -> dict[str, Any]:
        return {"label": self.label, "revision": self.revision, "ref": self.ref, "sha256": self.sha256}


def diff_document(told: Detail, older: str, newer: int | None) -> dict[str, Any]:
    """The diff between two sides of the proposal; without a word of what, the last step against the one before it."""
    new = _numbered(told, newer) if newer else told.current
    before, after = _older(told, older, new), _of_revision(new)
    found = diffs.between(before.text, after.text)
    return {
        "proposalId": ids.wire("prop", told.proposal.id),
        "older": before.document(),
        "newer": after.document(),
        "added": found.added,
        "removed": found.removed,
        "notCompared": found.not_compared,
        "skippedAfter": found.skipped_after,
        "hunks": [_hunk(each) for each in found.hunks],
    }


def _older(told: Detail, chosen: str, new: Revision) -> Side:
    if chosen == NOTHING:
        return Side(NOTHING)
    if chosen == INSTALLED or (not chosen and new.number == 1):
        return _installed(told)
    return _of_revision(_numbered(told, int(chosen) if chosen else new.number - 1))


def _installed(told: Detail) -> Side:
    stands, version = told.effect.stands, told.effect.installed_now
    if stands is None:
        return Side(NOTHING)
    exactly = version if version and not stands.agents else None
    named = (exactly.ref, exactly.sha256) if exactly else (None, None)
    return Side(f"installed {stands.label}", stands.text, None, *named)


def _of_revision(revision: Revision) -> Side:
    return Side(f"revision {revision.number}", revision.text, revision.number, None, revision.sha256)


def _numbered(told: Detail, number: int) -> Revision:
    found = told.revision(number)
    if found is None:
        raise NotFound("The proposal has no revision of that number.")
    return found


def _hunk(hunk: Hunk) -> dict[str, Any]:
    return {"skipped": hunk.skipped, "lines": [_line(row) for row in hunk.rows]}


def _line(row: DiffRow) -> dict[str, Any]:
    return {
        "kind": row.kind,
        "oldNumber": row.old_number,
        "newNumber": row.new_number,
        "old": _joined(row.old),
        "new": _joined(row.new),
    }


def _joined(pieces: list[Piece] | None) -> str | None:
    return None if pieces is None else "".join(piece.text for piece in pieces)
