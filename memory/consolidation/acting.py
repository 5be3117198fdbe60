"""The changes of a pass, made in short transactions: each is whole, with its lineage, and says what was done so far.

What somebody else retired, protected or forgot since it was read is respected: no lineage of it, nothing made of it,
and nothing goes into what is not there any more.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from uuid import UUID

from django.db import transaction

from memory import adapter, ledger, lineage, passes, token_budget
from memory.adapter import CorpusEntry
from memory.consolidation.looking import Strengths
from memory.consolidation.planning import Change, Redact, draft_of, is_lacking
from memory.host.tenancy import MemoryScope
from memory.ledger import Derivation, Hidden
from memory.lineage import Descent
from memory.models import LineageKind, Pass

ROOM = ledger.CHUNK - 1


@dataclass(frozen=True, slots=True)
class Totals:
    """What a pass has done: how many entries, how many tokens less, and by how many steps it moved the ledger."""

    merged: int = 0
    superseded: int = 0
    strengthened: int = 0
    written: int = 0
    tokens: int = 0
    steps: int = 0

    def plus(self, other: "Totals") -> "Totals":
        return Totals(**{name: value + getattr(other, name) for name, value in asdict(self).items()})


class TargetGone(Exception):
    """An entry that others were to go into is there no more."""

    def __init__(self, entry_ids: set[UUID]) -> None:
        self.entry_ids = entry_ids


class Acting:
    """One pass at work: what it has done, what stands for each target now, and of how many sources each speaks."""

    def __init__(self, work: Pass, scope: MemoryScope, redact: Redact, strengths: Strengths, done: Totals) -> None:
        self.work, self.scope, self.redact = work, scope, redact
        self.strengths, self.done = dict(strengths), done
        self.stands: dict[UUID, CorpusEntry] = {}
        self.hidden: set[UUID] = set()

    def act(self, changes: Sequence[Change], clock: Callable[[], datetime]) -> None:
        """All of ``changes`` are made, part by part; progress is told between them."""
        total, at = sum(len(change.sources) for change in changes), 0
        for part in parts(changes):
            passes.progress(self.work, done=at, total=total, doing="merging", now=clock())
            self._make(part, clock())
            at += sum(len(change.sources) for change in part)

    def _make(self, part: list[Change], now: datetime) -> None:
        """The part is made, but for what was to go into entries that are gone, and for what has expired by now."""
        there = {entry.id for change in part for entry in change.sources if _is_live(entry, now)}
        part = [change for change in _of_those(part, there) if _is_live(self._target(change), now)]
        while part:
            try:
                with transaction.atomic():
                    self._settle(part, now)
                return
            except TargetGone as gone:  # known before anything else of the part was
                part = [change for change in part if self._target(change).id not in gone.entry_ids]

    def _target(self, change: Change) -> CorpusEntry:
        return self.stands.get(change.target.id, change.target)

    def _settle(self, part: list[Change], now: datetime) -> None:
        """Hidden first, because the ledger's lock then holds everybody else back until the commit."""
        tenant = self.work.tenant_id
        anew = [change for change in part if self._is_lacking(change)]
        away = [Hidden(entry.id, change.kind) for change in part for entry in change.sources]
        away += [Hidden(self._target(change).id, LineageKind.MERGED) for change in anew]
        hidden = set(ledger.hide(tenant, away, now=now))
        done = list(_of_those(part, hidden))
        self._require_there(done, {self._target(change).id for change in anew}, hidden, now)
        lacking = {change.target.id for change in anew}
        written = self._write([change for change in done if change.target.id in lacking], now)
        descents = [
            Descent(entry.id, self._target(change).id, change.kind) for change in done for entry in change.sources
        ]
        lineage.record(tenant, [*written, *descents], pass_id=self.work.id, now=now)
        stronger = self._strengthen([change for change in done if change.kind == LineageKind.MERGED])
        self._count(done, len(written), stronger, bool(hidden))
        self.hidden |= hidden
        passes.note(self.work, {**self.work.outcome, "totals": asdict(self.done)})

    def _is_lacking(self, change: Change) -> bool:
        target = self._target(change)
        return change.lacking and is_lacking(target, draft_of(target, change.sources), self.redact)

    def _require_there(self, done: list[Change], anew: set[UUID], hidden: set[UUID], now: datetime) -> None:
        """Every target is there still; one that is to be written anew was until just now, and has something to take."""
        targets = {self._target(change).id for change in done}
        standing = adapter.still_there(self.scope, targets - anew - hidden, now=now)
        gone = (targets - anew - hidden - standing) | {each for each in anew if (each in hidden) != (each in targets)}
        if gone:
            raise TargetGone(gone)

    def _write(self, changes: list[Change], now: datetime) -> list[Descent]:
        """An entry of its words stands for each target that lacks something of its group."""
        if not changes:
            return []
        drafts = [draft_of(self._target(change), change.sources) for change in changes]
        made = [Derivation(draft, "merged") for draft in drafts]
        written = ledger.write_derived(self.scope, made, run=self.work.run, now=now)
        descents, tokens = [], 0
        for change, draft, entry in zip(changes, drafts, written, strict=True):
            before = self._target(change)
            after = before._replace(
                id=entry.id,
                content=entry.content,
                tags=entry.tags,
                subject=draft.subject,
                expires_at=entry.expires_at,
                tokens=token_budget.count(entry.content),
                derived="merged",
            )
            descents.append(Descent(before.id, after.id, LineageKind.MERGED))
            self.strengths[after.id] = self._strength(before)
            self.stands[change.target.id] = after
            tokens += before.tokens - after.tokens
        self.done = self.done.plus(Totals(written=len(written), steps=len(written), tokens=tokens))
        return descents

    def _strength(self, entry: CorpusEntry) -> tuple[int, datetime]:
        return self.strengths.get(entry.id, (1, entry.created_at))

    def _strengthen(self, changes: list[Change]) -> int:
        """Each target speaks for all that went into it, and was said when the last of them was."""
        found: dict[UUID, tuple[int, datetime]] = {}
        for change in changes:
            target = self._target(change)
            each = [self._strength(entry) for entry in (target, *change.sources)]
            found[target.id] = sum(sources for sources, _ in each), max(last for _, last in each)
            self.strengths[target.id] = found[target.id]
        ledger.strengthen(self.work.tenant_id, [(entry, *strength) for entry, strength in found.items()])
        return len(found)

    def _count(self, done: list[Change], written: int, stronger: int, moved: bool) -> None:
        by_kind = {
            kind: sum(len(change.sources) for change in done if change.kind == kind)
            for kind in (LineageKind.MERGED, LineageKind.SUPERSEDED)
        }
        tokens = sum(entry.tokens for change in done for entry in change.sources)
        self.done = self.done.plus(
            Totals(by_kind[LineageKind.MERGED], by_kind[LineageKind.SUPERSEDED], stronger, 0, tokens, int(moved))
        )


def _is_live(entry: CorpusEntry, now: datetime) -> bool:
    return entry.expires_at is None or entry.expires_at > now


def _of_those(changes: Iterable[Change], taken: set[UUID]) -> Iterator[Change]:
    """The changes as far as their sources were taken."""
    for change in changes:
        sources = tuple(entry for entry in change.sources if entry.id in taken)
        if sources:
            yield change if len(sources) == len(change.sources) else replace(change, sources=sources)


def parts(changes: Sequence[Change]) -> Iterator[list[Change]]:
    """The changes in parts that the ledger takes at once; one that is larger is made in several, one target in each."""
    part: list[Change] = []
    targets: set[UUID] = set()
    room = ROOM
    for change in changes:
        for first in range(0, len(change.sources), ROOM - 1):
            sources = change.sources[first : first + ROOM - 1]
            needed = len(sources) + change.lacking
            if needed > room or change.target.id in targets:
                yield part
                part, targets, room = [], set(), ROOM
            part.append(replace(change, sources=sources))
            targets.add(change.target.id)
            room -= needed
    if part:
        yield part
