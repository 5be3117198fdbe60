"""What a pass is going to do: who goes into whom, and which survivors are written anew so that nothing is lost.

A survivor stays as it is when it alone carries what its group carries. When it lacks a tag, a later expiry or the
subject, or its text holds what derived text may not, an entry of its words takes its place. Equals whose tags find no
room in one entry stay apart, and are replaced together.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from uuid import UUID

from memory.adapter import CorpusEntry
from memory.consolidation.looking import Look, uncollected
from memory.drafts import MAX_CONTENT_BYTES, MAX_LABEL, MAX_TAGS, EntryDraft
from memory.models import LineageKind
from memory.redaction import Redacted
from memory.similarity import Merge, Supersession, resolved

Redact = Callable[[str], Redacted]


@dataclass(frozen=True, slots=True)
class Change:
    """``sources`` go into ``target``: merged, or superseded by it, with the fixed word for why.

    A ``target`` that is ``lacking`` is written anew, with what the group carries; one that is superseded itself is not.
    """

    target: CorpusEntry
    sources: tuple[CorpusEntry, ...]
    kind: str
    why: str
    lacking: bool = False


@uncollected()
def planned(look: Look, redact: Redact) -> list[Change]:
    """The changes, merges first; none of them can be refused when it is written.

    In the order of what they take away, so that rows that stand side by side are changed in one transaction.
    """
    found = resolved(look.reading)
    merges, apart = _merges(look, found.merges, redact)
    replaced = _replaced(look, found.superseded, merges, apart)
    gone = {entry.id for change in replaced for entry in change.sources}
    merges = [replace(change, lacking=change.lacking and change.target.id not in gone) for change in merges]
    return sorted(merges, key=_place) + sorted(replaced, key=_place)


def _merges(look: Look, found: Iterable[Merge], redact: Redact) -> tuple[list[Change], dict[UUID, list[UUID]]]:
    """The merges that can be made, and by their survivors the entries that stay apart from it all the same."""
    merges, apart = [], {}
    for each in found:
        target, sources = look.entries[each.survivor], _entries(look, each.merged)
        change = _merge(target, _with_room(target, sources), redact)
        if not change.sources or (change.lacking and not fits(change, redact)):
            change = replace(change, sources=())
        else:
            merges.append(change)
        if len(change.sources) < len(sources):
            taken = {entry.id for entry in change.sources}
            apart[target.id] = [entry.id for entry in sources if entry.id not in taken]
    return merges, apart


def _replaced(
    look: Look, found: Iterable[Supersession], merges: list[Change], apart: dict[UUID, list[UUID]]
) -> list[Change]:
    """What is replaced by what is there at least as long, whatever went into either."""
    ends = {change.target.id: draft_of(change.target, change.sources).expires_at for change in merges}

    def end(entry_id: UUID) -> datetime | None:
        return ends[entry_id] if entry_id in ends else look.entries[entry_id].expires_at

    older: dict[tuple[UUID, str], list[UUID]] = {}
    for each in found:
        for entry_id in (each.older, *apart.get(each.older, ())):
            if _outlives(end(each.newer), end(entry_id)):
                older.setdefault((each.newer, each.why), []).append(entry_id)
    return [
        Change(look.entries[newer], _entries(look, ids), LineageKind.SUPERSEDED, why)
        for (newer, why), ids in older.items()
    ]


def _place(change: Change) -> UUID:
    return change.sources[0].id


def _merge(target: CorpusEntry, sources: tuple[CorpusEntry, ...], redact: Redact) -> Change:
    lacking = is_lacking(target, draft_of(target, sources), redact)
    return Change(target, sources, LineageKind.MERGED, "same", lacking)


def _with_room(target: CorpusEntry, sources: tuple[CorpusEntry, ...]) -> tuple[CorpusEntry, ...]:
    """As many of ``sources`` as have room for all their tags beside those of ``target``."""
    tags = set(target.tags)
    if len(tags.union(*(entry.tags for entry in sources))) <= MAX_TAGS:
        return sources
    taken = []
    for entry in sources:
        if len(tags.union(entry.tags)) <= MAX_TAGS:
            tags.update(entry.tags)
            taken.append(entry)
    return tuple(taken)


def _entries(look: Look, ids: Iterable[UUID]) -> tuple[CorpusEntry, ...]:
    return tuple(look.entries[each] for each in ids)


def _outlives(end: datetime | None, other: datetime | None) -> bool:
    """Whether what ends then is there at least as long as the other."""
    return end is None or (other is not None and end >= other)


def draft_of(target: CorpusEntry, sources: Sequence[CorpusEntry]) -> EntryDraft:
    """The words of ``target`` with all that the group carries."""
    group = (target, *sources)
    tags = dict.fromkeys(tag for entry in group for tag in entry.tags)
    ends = [entry.expires_at for entry in group]
    last = None if None in ends else max(end for end in ends if end)
    subject = next((entry.subject for entry in group if entry.subject), "")
    return EntryDraft(target.content, tuple(tags), subject, target.agent_id, last)


def is_lacking(target: CorpusEntry, draft: EntryDraft, redact: Redact) -> bool:
    """Whether ``target`` cannot stand for what the draft holds, and the draft has to be written."""
    carried = (tuple(target.tags), target.subject, target.expires_at)
    return carried != (draft.tags, draft.subject, draft.expires_at) or redact(draft.content).text != draft.content


def fits(change: Change, redact: Redact) -> bool:
    """Whether what would have to be written can be stored when its secrets are replaced."""
    draft = draft_of(change.target, change.sources)
    labels = (draft.subject, *draft.tags)
    return (
        len(redact(draft.content).text.encode()) <= MAX_CONTENT_BYTES
        and all(len(redact(label).text) <= MAX_LABEL for label in labels)
        and redact(change.target.content).text != ""
    )
