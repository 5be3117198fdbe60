"""Finds the installed artifact or open proposal that a draft duplicates, for ``duplicateOf`` (openwop-host 1.10).

By structure: it does the same, under any name. By text: it is wired alike and its prose is nearly the same. A signal,
never a block. A version of the same name that does something else is a revision, not a duplicate; one that does the
same as the installed version is a duplicate.

The facts about a text are cached by its digest, without the text, so that a draft rarely reads the others.
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
MOST_READ = 500_000  # characters of all texts of one query; to compare the prose of a million takes 0.8 s
Texts = QuerySet[Revision] | QuerySet[Installation]


@dataclass(frozen=True, slots=True)
class _Facts:
    """The facts about a text: digests of its structure, wiring and name, and the number of words in its prose."""

    structure: str
    skeleton: str
    name: str
    words: int


@dataclass(frozen=True, slots=True)
class _Candidate:
    """A candidate: its reference, row id and digests."""

    reference: str
    id: UUID
    sha256: str
    structure: str = ""


class _Known:
    """An LRU cache of facts, per process. Never stale: the key is the digest of the text."""

    def __init__(self, most: int) -> None:
        self._most, self._facts, self._lock = most, OrderedDict[tuple[str, str], _Facts](), Lock()

    def get(self, kind: str, sha256: str) -> _Facts | None:
        with self._lock:
            found = self._facts.get((kind, sha256))
            if found:
                self._facts.move_to_end((kind, sha256))
            return found

    def store(self, kind: str, sha256: str, facts: _Facts) -> None:
        with self._lock:
            self._facts[kind, sha256] = facts
            if len(self._facts) > self._most:
                self._facts.popitem(last=False)


_known = _Known(KEPT)


def find(tenant_id: UUID, kind: str, text: str, *, besides: UUID | None = None) -> str | None:
    """The ref of an installed artifact, or else the id of a proposal under review, that ``text`` duplicates; or None.

    Considers the newest ``LOOKED_AT`` of each; equal structure comes before similar prose. ``besides`` is the proposal
    that ``text`` belongs to.
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


def _wired(mine: _Facts, there: Iterable[_Candidate], about: dict[UUID, _Facts]) -> dict[UUID, str]:
    """By row id: the references of candidates with another name, the same wiring and prose of similar length."""

    def may_say_the_same(one: _Facts) -> bool:
        shorter, longer = sorted((one.words, mine.words))
        return one.name != mine.name and one.skeleton == mine.skeleton and shorter >= ALIKE * longer

    return {each.id: each.reference for each in there if each.id in about and may_say_the_same(about[each.id])}


def _said_alike(rows: Texts, text: str, wired: dict[UUID, str]) -> Iterator[tuple[float, str]]:
    """The similarity of each candidate's prose to ``text`` (0 to 1) with its reference, in the order of ``wired``."""
    words = fingerprints.words_of(text) if wired else frozenset()
    likeness = {row: fingerprints.likeness(words, fingerprints.words_of(other)) for row, other in _texts(rows, wired)}
    return ((likeness[row], reference) for row, reference in wired.items() if row in likeness)


def _facts(rows: Texts, kind: str, there: list[_Candidate]) -> dict[UUID, _Facts]:
    """By row id: the facts, of which only the missing ones are computed from texts."""
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
        _known.store(kind, sha256, facts)
    return facts


def _texts(rows: Texts, wanted: Iterable[UUID]) -> Iterator[tuple[UUID, str]]:
    """The texts of the newest of these rows, until ``MOST_READ`` is exceeded; ``AT_ONCE`` in memory at a time."""
    listed, left = list(wanted), MOST_READ
    if not listed:
        return
    newest = rows.filter(id__in=listed).order_by("-id").values_list("id", "text")
    for row, text in newest.iterator(chunk_size=AT_ONCE):
        yield row, text
        left -= len(text)
        if left < 0:
            return


def _installed(tenant_id: UUID, kind: str) -> list[_Candidate]:
    rows = Installation.objects.of(tenant_id).filter(kind=kind, superseded_at=None).order_by("-id")
    return [_Candidate(ref, row, sha256) for ref, row, sha256 in rows.values_list("ref", "id", "sha256")[:LOOKED_AT]]


def _proposed(tenant_id: UUID, kind: str, besides: UUID | None) -> list[_Candidate]:
    rows = Revision.objects.of(tenant_id).filter(
        number=F("proposal__revision"), proposal__kind=kind, proposal__state__in=UNDER_REVIEW
    )
    rows = (rows.exclude(proposal_id=besides) if besides else rows).order_by("-proposal_id")
    looked_at = rows.values_list("proposal_id", "id", "sha256", "structure")[:LOOKED_AT]
    return [
        _Candidate(ids.wire("prop", proposal_id), row, sha256, structure)
        for proposal_id, row, sha256, structure in looked_at
    ]
