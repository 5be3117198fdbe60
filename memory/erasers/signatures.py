"""Signatures of consolidation as a store of a forget: numbers, but made of what the entries said.

Of a ref whose name, or one of whose entries, names the subject nothing is kept; the next pass over it is a full one.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime
from uuid import UUID

from memory import reconciled
from memory.erasers.entries import naming, traces
from memory.host.erasure import Holding, Identifiers, Remains
from memory.matching import Mention, is_exact, judged, mention
from memory.models import Reconciled
from memory.similarity import Signatures


class KeptSignatures:
    """What the last pass over each ref left; a ref counts as one row."""

    store = "consolidation signatures"
    covers: Mapping[str, tuple[str, ...]] = {"memory_reconciled": ("memory_ref", "signatures")}

    def find(self, tenant_id: UUID, subject: Identifiers) -> Holding:
        entries = naming(tenant_id, subject)
        exact, suspected = _made_of(tenant_id, entries.exact), _made_of(tenant_id, entries.suspected)
        for row, memory_ref in _refs(tenant_id):
            how = mention(subject.terms, memory_ref)
            exact |= {row} if how is Mention.EXACT else set()
            suspected |= {row} if how is Mention.SUSPECTED else set()
        return Holding(self.store, tuple(sorted(exact)), tuple(sorted(suspected - exact)))

    def found_in(self, tenant_id: UUID, rows: Sequence[UUID]) -> dict[UUID, str]:
        return {}

    def texts(self, tenant_id: UUID, rows: Sequence[UUID]) -> dict[UUID, list[str]]:
        wanted = set(rows)
        return {row: [memory_ref] for row, memory_ref in _refs(tenant_id) if row in wanted}

    def erase(
        self, tenant_id: UUID, subject: Identifiers, rows: tuple[UUID, ...], *, ticked: bool, now: datetime
    ) -> int:
        """How many refs nothing is known of any more."""
        named = [memory_ref for row, memory_ref in _refs(tenant_id) if row in rows]
        reconciled.drop(tenant_id, named)
        return len(named)

    def remains(
        self, tenant_id: UUID, subject: Identifiers, *, chosen: frozenset[UUID], spared: frozenset[UUID]
    ) -> Remains:
        """By the other path to the entries, and by the names of the refs."""
        refs = dict(_refs(tenant_id))
        if not refs:
            return Remains()
        exact = [row for row, how in traces(tenant_id, subject).items() if how is Mention.EXACT]
        named = judged(subject.terms, refs.items(), chosen, spared)
        made = {row for row in _made_of(tenant_id, exact) if not is_exact(subject.terms, refs[row])}
        return Remains(named.left + len(made), named.undecided)


def _refs(tenant_id: UUID) -> Iterable[tuple[UUID, str]]:
    return Reconciled.objects.of(tenant_id).filter(chunk=0).values_list("id", "memory_ref")  # type: ignore[no-any-return]


def _made_of(tenant_id: UUID, entry_ids: Collection[UUID]) -> set[UUID]:
    """The rows of refs whose signatures hold one of these entries."""
    if not entry_ids:
        return set()
    wanted = list(entry_ids)
    rows = Reconciled.objects.of(tenant_id).filter(chunk__gt=0).order_by("memory_ref", "chunk")
    found = {
        memory_ref
        for memory_ref, stored in rows.values_list("memory_ref", "signatures").iterator(chunk_size=1)
        if Signatures.from_bytes(bytes(stored)).holds_any(wanted)
    }
    return {row for row, memory_ref in _refs(tenant_id) if memory_ref in found}


SIGNATURES = KeptSignatures()
