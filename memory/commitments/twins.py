"""Commitments that have become one: what said the same at two places is said at one now, and is to fire once.

They are equal when they wait for the same and either their entries were merged, which says the same at the same place,
or their own words are equal. Two that stand in one summary and share nothing but the time are two.
"""

from collections import defaultdict
from collections.abc import Collection, Hashable, Iterable, Sequence
from datetime import datetime
from uuid import UUID

from memory import adapter
from memory.commitments import rows, sources
from memory.commitments.sources import Source
from memory.host import sql
from memory.models import Commitment, CommitmentState
from memory.text import intentions

Spoken = tuple[Commitment, Source]


def later_ones(tenant_id: UUID, spoken: Iterable[Spoken]) -> dict[UUID, UUID]:
    """Those that an earlier one of another entry says already, each with that one; what is put off comes first."""
    groups: dict[Hashable, list[Spoken]] = defaultdict(list)
    for row, source in spoken:
        groups[source.today, _waits_for(row)].append((row, source))
    doubtful = [each for each in groups.values() if len({row.entry_id for row, _ in each}) > 1]
    if not doubtful:
        return {}
    entries = {row.entry_id for group in doubtful for row, _ in group}
    texts, ranks = adapter.texts_of(tenant_id, entries), _ranks(tenant_id, entries)
    found: dict[UUID, UUID] = {}
    for group in doubtful:
        found |= _later_in([(row, _marks(row, source, texts, ranks)) for row, source in group])
    return found


def _waits_for(row: Commitment) -> Hashable:
    looked_for = (tuple(row.predicate.get("words", ())), row.predicate.get("negated"))
    return row.agent_id, row.condition, row.due_at, row.timezone, row.repeats, row.holds, looked_for


def _ranks(tenant_id: UUID, entry_ids: Collection[UUID]) -> dict[tuple[UUID, int], int]:
    """Of every intention of these entries, as the how-many-eth it stands there."""
    places: dict[UUID, list[int]] = defaultdict(list)
    for part in sql.in_chunks(entry_ids):
        of_them = Commitment.objects.of(tenant_id).filter(entry_id__in=part)
        for entry_id, starts in of_them.values_list("entry_id", "starts"):
            places[entry_id].append(starts)
    return {(entry, starts): rank for entry, each in places.items() for rank, starts in enumerate(sorted(each))}


def _marks(
    row: Commitment, source: Source, texts: dict[UUID, str], ranks: dict[tuple[UUID, int], int]
) -> list[Hashable]:
    """By each of these it is known again."""
    words = intentions.words_of(texts.get(row.entry_id, "")[row.starts : row.ends])
    place = ("place", source.merged, ranks[row.entry_id, row.starts])
    return [place, ("words", words)] if words else [place]


def _later_in(marked: Sequence[tuple[Commitment, list[Hashable]]]) -> dict[UUID, UUID]:
    known: dict[Hashable, Commitment] = {}
    found: dict[UUID, UUID] = {}
    for row, marks in sorted(marked, key=lambda each: (each[0].state != CommitmentState.SNOOZED, each[0].id)):
        said = (known[mark] for mark in marks if mark in known)
        first = next((each for each in said if each.entry_id != row.entry_id), row)
        if first is not row:
            found[row.id] = first.id
        for mark in marks:
            known.setdefault(mark, first)
    return found


def later_ones_of(row: Commitment, source: Source, *, now: datetime) -> dict[UUID, UUID]:
    """``later_ones`` among all that stand where ``row`` does today and wait for the same."""
    if source.today is None:
        return {}
    entries = list(sources.taken_into(row.tenant_id, source.today))
    if len(entries) == 1:
        return {}
    alike = [each for each in rows.open_in(row.tenant_id, entries) if _waits_for(each) == _waits_for(row)]
    found = sources.sources_of(row.tenant_id, {each.entry_id for each in alike}, now=now)
    here = [(each, found[each.entry_id]) for each in alike if found[each.entry_id].today == source.today]
    return later_ones(row.tenant_id, here)
