"""Commitments as a store of a forget: those that stand in an entry about the subject, or name it themselves, go whole.

They come behind the entries in the order of stores, so what came from a forgotten entry is known by that too. What is
being read from the ledger at that moment is waited for. One whose own entry is there is judged by its text; one whose
entry a pass took away for good, by what that went into, and by the stems of the name in what it looks for.
"""

from collections.abc import Callable, Collection, Sequence
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from django.db import transaction

from memory import adapter, provenance
from memory.forget.erasers.declared import Declared
from memory.forget.erasers.entries import naming, traces
from memory.host import sql
from memory.host.erasure import Holding, Identifiers, Remains
from memory.models import Commitment, CommitmentWatch
from memory.text import intentions
from memory.text.matching import Mention, counted, second_look, whole_text

LONGEST_LINEAGE = 20
Remove = Callable[[UUID, Sequence[UUID]], int]


class Orphan(NamedTuple):
    """A commitment whose own entry is not in the database any more, what it looks for, and what the entry went into."""

    id: UUID
    words: frozenset[str]
    into: frozenset[UUID]


class CommitmentRows(Declared):
    """Refs, reasons and what is looked for. Their writer stands on a higher floor and is handed in by ``apps``."""

    def __init__(self, remove: Remove) -> None:
        super().__init__(Commitment)
        self._remove = remove

    def find(self, tenant_id: UUID, subject: Identifiers) -> Holding:
        named, entries = super().find(tenant_id, subject), naming(tenant_id, subject)
        orphans = _orphans(tenant_id)
        exact = {*named.erase, *_standing_in(tenant_id, entries.exact, orphans), *_from_forgotten(tenant_id, orphans)}
        every = {*named.suspected, *_standing_in(tenant_id, entries.suspected, orphans)}
        every |= _in_stems(subject, orphans)
        return Holding(self.store, tuple(sorted(exact)), tuple(sorted(every - exact)))

    def texts(self, tenant_id: UUID, rows: Sequence[UUID]) -> dict[UUID, list[str]]:
        """With the text of their entries: that is where the mention often stands."""
        found = super().texts(tenant_id, rows)
        entries = dict(Commitment.objects.of(tenant_id).filter(id__in=rows).values_list("id", "entry_id"))
        said = adapter.said_by(tenant_id, list(entries.values()))
        return {row: [*filter(None, said.get(entries[row], ())), *texts] for row, texts in found.items()}

    def erase(
        self, tenant_id: UUID, subject: Identifiers, rows: tuple[UUID, ...], *, ticked: bool, now: datetime
    ) -> int:
        return self._remove(tenant_id, rows)

    @transaction.atomic
    def remains(
        self, tenant_id: UUID, subject: Identifiers, *, chosen: frozenset[UUID], spared: frozenset[UUID]
    ) -> Remains:
        """Over every column of every row, over stems, and over the entries that are suspected still; and by the
        tombstones, nothing has come from what was forgotten."""
        CommitmentWatch.objects.of(tenant_id).select_for_update().filter(id=tenant_id).first()
        orphans, entries = _orphans(tenant_id), traces(tenant_id, subject)
        suspected = [row for row, how in entries.items() if how is Mention.SUSPECTED]
        found = dict.fromkeys(
            _standing_in(tenant_id, suspected, orphans) | _in_stems(subject, orphans), Mention.SUSPECTED
        )
        found |= dict.fromkeys(_from_forgotten(tenant_id, orphans), Mention.EXACT)
        for row, *values in Commitment.objects.of(tenant_id).values_list("id", *self.columns).iterator(sql.CHUNK):
            found[row] = max(found.get(row, Mention.NONE), second_look(subject.terms, whole_text(values)))
        return counted(found.items(), chosen, spared)


def _standing_in(tenant_id: UUID, entry_ids: Collection[UUID], orphans: Sequence[Orphan]) -> set[UUID]:
    """The commitments whose intention stands in one of these entries, or whose entry went into one and is gone."""
    wanted = frozenset(entry_ids)
    standing = Commitment.objects.of(tenant_id).values_list("id", "entry_id")
    found = {row for row, entry in standing if entry in wanted} if wanted else set()
    return found | {each.id for each in orphans if not each.into.isdisjoint(wanted)}


def _from_forgotten(tenant_id: UUID, orphans: Sequence[Orphan]) -> set[UUID]:
    """The commitments whose entry, or what it went into, was forgotten, whoever it was about."""
    forgotten = adapter.forgotten_among(tenant_id, list({entry for each in orphans for entry in each.into}))
    return {each.id for each in orphans if not each.into.isdisjoint(forgotten)}


def _in_stems(subject: Identifiers, orphans: Sequence[Orphan]) -> set[UUID]:
    """Those that look for every word of a name, as far as its stem tells: it may be another word."""
    names = [frozenset(intentions.words_of(term)) for term in subject.terms]
    return {each.id for each in orphans if any(name and name <= each.words for name in names)}


def _orphans(tenant_id: UUID) -> list[Orphan]:
    every = list(Commitment.objects.of(tenant_id).order_by("id").values_list("id", "entry_id", "predicate"))
    entries = {entry for _, entry, _ in every}
    gone = entries - adapter.stored_among(tenant_id, entries)
    into = _went_into(tenant_id, gone)
    return [
        Orphan(row, frozenset(predicate.get("words", ())), frozenset(into[entry]))
        for row, entry, predicate in every
        if entry in gone
    ]


def _went_into(tenant_id: UUID, entry_ids: Collection[UUID]) -> dict[UUID, set[UUID]]:
    """Of each of these, itself and everything that came of it, however far."""
    found = {entry: {entry} for entry in entry_ids}
    edge = {entry: {entry} for entry in entry_ids}
    for _ in range(LONGEST_LINEAGE):
        asked = {each for ends in edge.values() for each in ends}
        came: dict[UUID, set[UUID]] = {}
        for part in sql.in_chunks(asked):
            rows = provenance.came_of(tenant_id, part)
            came |= {source: {each.target_id for each in of_one} for source, of_one in rows.items()}
        edge = {
            entry: {target for end in ends for target in came.get(end, ())} - found[entry]
            for entry, ends in edge.items()
        }
        edge = {entry: ends for entry, ends in edge.items() if ends}
        for entry, ends in edge.items():
            found[entry] |= ends
        if not edge:
            break
    return found
