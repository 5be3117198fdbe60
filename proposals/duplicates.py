"""Whether a draft restates what is there already: the one reference that ``duplicateOf`` names (openwop-host 1.10).

By structure: it does the same, whatever it is called. By text: it is wired alike and its prose says nearly the same.
A signal, never a block. Another version of a name that does something else is a revision of it, not its duplicate; one
that does the same as the installed version restates it.

What was found out about a text is kept by its digest, without a word of it, so that a draft reads few of the others.
"""

from collections import OrderedDict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from threading import Lock
from uuid import UUID

from django.db.models import F, QuerySet

from memory.host import ids, registry
from memory.host.models import Installation
from proposals import artifacts, fingerprints
from proposals.models import UNDER_REVIEW, Revision

ALIKE = 0.8
LOOKED_AT = 500
KEPT = 20_000
AT_ONCE = 20
Texts = QuerySet[Revision] | QuerySet[Installation]


@dataclass(frozen=True, slots=True)
class _Facts:
    """What is known of a text: digests of what it does, how it is wired and what it is called; how much prose."""

    structure: str
    skeleton: str
    name: str
    words: int


@dataclass(frozen=True, slots=True)
class _There:
    """What is there: the reference to it, its row, and the digest of its text."""

    reference: str
    id: UUID
    sha256: str
    structure: str = ""


class _Known:
    """The facts about the texts that were looked at last, in this process; a text never changes under its digest."""

    def __init__(self, most: int) -> None:
        self._most, self._facts, self._lock = most, OrderedDict[tuple[str, str], _Facts](), Lock()

    def get(self, kind: str, sha256: str) -> _Facts | None:
        with self._lock:
            found = self._facts.get((kind, sha256))
            if found:
                self._facts.move_to_end((kind, sha256))
            return found

    def keep(self, kind: str, sha256: str, facts: _Facts) -> None:
        with self._lock:
            self._facts[kind, sha256] = facts
            if len(self._facts) > self._most:
                self._facts.popitem(last=False)


_known = _Known(KEPT)


def find(tenant_id: UUID, kind: str, text: str, *, besides: UUID | None = None) -> str | None:
    """The ref of what is installed, or else the id of a proposal under review, that ``text`` restates; or None.

    Looked at are the newest 500 of each, the ones that do the same before those that say nearly the same; ``besides``
    is the proposal that ``text`` belongs to.
    """
    mine = _facts_of(kind, text)
    installed, proposed = _installed(tenant_id, kind), _proposed(tenant_id, kind, besides)
    about = _facts(Installation.objects.of(tenant_id), kind, installed)
    same = [each.reference for each in installed if each.id in about and about[each.id].structure == mine.structure]
    same += [each.reference for each in proposed if each.structure == mine.structure]
    if same or not mine.words:
        return next(iter(same), None)
    about |= _facts(Revision.objects.of(tenant_id), kind, proposed)
    alike = [
        *_said_alike(Installation.objects.of(tenant_id), text, _wired(mine, installed, about)),
        *_said_alike(Revision.objects.of(tenant_id), text, _wired(mine, proposed, about)),
    ]
    likeness, reference = max(alike, key=lambda each: each[0], default=(0.0, ""))
    return reference if likeness >= ALIKE else None


def _wired(mine: _Facts, there: Iterable[_There], about: dict[UUID, _Facts]) -> dict[UUID, str]:
    """The references of those under another name that are wired alike, and have about as much to say."""

    def may_say_the_same(one: _Facts) -> bool:
        shorter, longer = sorted((one.words, mine.words))
        return one.name != mine.name and one.skeleton == mine.skeleton and shorter >= ALIKE * longer

    return {each.id: each.reference for each in there if each.id in about and may_say_the_same(about[each.id])}


def _said_alike(rows: Texts, text: str, wired: dict[UUID, str]) -> Iterator[tuple[float, str]]:
    """How much each of these says of the same, in the order of ``wired``."""
    words = fingerprints.words_of(text) if wired else frozenset()
    likeness = {row: fingerprints.likeness(words, fingerprints.words_of(other)) for row, other in _texts(rows, wired)}
    return ((likeness[row], reference) for row, reference in wired.items() if row in likeness)


def _facts(rows: Texts, kind: str, there: list[_There]) -> dict[UUID, _Facts]:
    """The facts about each; only texts that are not known yet are read."""
    found = {each.id: facts for each in there if (facts := _known.get(kind, each.sha256))}
    unknown = [each.id for each in there if each.id not in found]
    return found | {row: _facts_of(kind, text) for row, text in _texts(rows, unknown)}


def _facts_of(kind: str, text: str) -> _Facts:
    sha256 = registry.digest(text)
    facts = _known.get(kind, sha256)
    if facts is None:
        name = registry.digest(artifacts.name_in(kind, text))
        structure, skeleton = fingerprints.structure_of(text), fingerprints.skeleton_of(text)
        facts = _Facts(structure, skeleton, name, len(fingerprints.words_of(text)))
        _known.keep(kind, sha256, facts)
    return facts


def _texts(rows: Texts, wanted: Iterable[UUID]) -> Iterator[tuple[UUID, str]]:
    """The texts of these rows, a few in memory at a time."""
    listed = list(wanted)
    return rows.filter(id__in=listed).values_list("id", "text").iterator(chunk_size=AT_ONCE) if listed else iter(())


def _installed(tenant_id: UUID, kind: str) -> list[_There]:
    rows = Installation.objects.of(tenant_id).filter(kind=kind, superseded_at=None).order_by("-id")
    return [_There(ref, row, sha256) for ref, row, sha256 in rows.values_list("ref", "id", "sha256")[:LOOKED_AT]]


def _proposed(tenant_id: UUID, kind: str, besides: UUID | None) -> list[_There]:
    rows = Revision.objects.of(tenant_id).filter(
        number=F("proposal__revision"), proposal__kind=kind, proposal__state__in=UNDER_REVIEW
    )
    rows = (rows.exclude(proposal_id=besides) if besides else rows).order_by("-proposal_id")
    told = rows.values_list("proposal_id", "id", "sha256", "structure")[:LOOKED_AT]
    return [
        _There(ids.wire("prop", proposal_id), row, sha256, structure) for proposal_id, row, sha256, structure in told
    ]
