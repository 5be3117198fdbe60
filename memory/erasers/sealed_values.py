"""Sealed values as a store of a forget: each is opened and looked through, and is shown to nobody.

An entry whose confidential value names the subject goes whole. One whose seal does not open may name anybody: a person
decides about it.
"""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from memory import adapter, addresses, ledger
from memory.erasers.entries import LedgerEntries
from memory.host.erasure import Holding, Identifiers, Remains
from memory.matching import Mention, judged, mention, texts_in


class SealedValues(LedgerEntries):
    """Values of confidential and restricted entries. One may have been public once: what was made of it then goes with
    it."""

    store = "sealed values"
    covers = {"memory_entryaddress": ("sealed",)}

    def find(self, tenant_id: UUID, subject: Identifiers) -> Holding:
        exact: list[UUID] = []
        suspected: list[UUID] = []
        for row in adapter.sealed(tenant_id):
            value = ledger.value_if_whole(row)
            text = None if value is None else _words(value)
            how = Mention.SUSPECTED if text is None else mention(subject.terms, text)
            if how is Mention.EXACT:
                exact.append(row.id)
            elif how is Mention.SUSPECTED:
                suspected.append(row.id)
        return Holding(self.store, tuple(exact), tuple(suspected))

    def texts(self, tenant_id: UUID, rows: Sequence[UUID]) -> dict[UUID, list[str]]:
        """Nothing: a sealed value is opened on the page of its entry alone, and that is on record."""
        return {}

    def remains(
        self, tenant_id: UUID, subject: Identifiers, *, chosen: frozenset[UUID], spared: frozenset[UUID]
    ) -> Remains:
        """Over each value as it is written, whole; and none that does not open is left undecided."""
        values = [(row.id, ledger.value_if_whole(row)) for row in adapter.sealed(tenant_id)]
        written = ((row, addresses.canonical(value)) for row, value in values if value is not None)
        found = judged(subject.terms, written, chosen, spared)
        locked = {row for row, value in values if value is None}
        return Remains(found.left + len(locked & chosen), found.undecided + len(locked - chosen - spared))


def _words(value: dict[str, Any]) -> str:
    """All that a value says, its numbers too."""
    return f"{' '.join(texts_in(value))} {addresses.canonical(value)}"


SEALED_VALUES = SealedValues()
