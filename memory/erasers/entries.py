"""The ledger as a store of a forget: entries and their tags, and with each the archives that were distilled from it."""

from datetime import datetime
from uuid import UUID

from django.db import transaction

from memory import adapter, archives, ledger
from memory.host.erasure import Holding, Identifiers, Remains
from memory.matching import Mention, counted

SAMPLES = 5


class LedgerEntries:
    """Entries that name the subject in content, tags, subject or ref; exact and suspected ones apart."""

    store = "memory entries"

    def find(self, tenant_id: UUID, subject: Identifiers) -> Holding:
        rows = adapter.mentions(tenant_id, subject.terms)
        exact = tuple(row for row, how in rows.items() if how is Mention.EXACT)
        suspected = tuple(row for row, how in rows.items() if how is Mention.SUSPECTED)
        shown = adapter.samples(tenant_id, (*exact[:SAMPLES], *suspected[:SAMPLES]))
        return Holding(self.store, exact, suspected, samples={row.hex: text for row, text in shown.items()})

    @transaction.atomic
    def erase(
        self, tenant_id: UUID, subject: Identifiers, rows: tuple[UUID, ...], *, ticked: bool, now: datetime
    ) -> int:
        removed = ledger.remove(tenant_id, rows, reason="forgotten", now=now)
        archives.withdraw_made_of(tenant_id, rows, now=now)
        return removed

    def remains(
        self, tenant_id: UUID, subject: Identifiers, *, chosen: frozenset[UUID], spared: frozenset[UUID]
    ) -> Remains:
        return counted(adapter.traces(tenant_id, subject.terms).items(), chosen, spared)


ENTRIES = LedgerEntries()
