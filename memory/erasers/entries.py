"""The ledger as a store of a forget: entries and their tags, and with each the archives that were distilled from it."""

from collections.abc import Mapping
from datetime import datetime
from uuid import UUID

from django.db import transaction

from memory import adapter, archives, ledger
from memory.host.erasure import Holding, Identifiers, Remains
from memory.matching import FORGOTTEN, Mention, counted, judged, mention, rule_for

SAMPLES = 5


class LedgerEntries:
    """Entries that name the subject in content, tags, subject or ref; exact and suspected ones apart."""

    store = "memory entries"
    covers: Mapping[str, tuple[str, ...]] = {
        "memory_memoryentry": ("memory_ref", "content", "search_text", "hidden_text", "tags", "subject", "words"),
        "memory_entrytag": ("tag",),
        "memory_entryaddress": ("namespace", "key"),
        # The index of SQLite: a word is deleted there with its last entry.
        "memory_searchword": ("word",),
    }

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


class RetiredReasons:
    """Why people have retired entries that say nothing of the subject themselves."""

    store = "reasons of retired entries"
    covers: Mapping[str, tuple[str, ...]] = {"memory_memoryentry": ("retired_reason",)}

    def find(self, tenant_id: UUID, subject: Identifiers) -> Holding:
        found = {row: mention(subject.terms, reason) for row, reason in adapter.reasons_of_retired(tenant_id)}
        exact = tuple(row for row, how in found.items() if how is Mention.EXACT)
        return Holding(self.store, exact, tuple(row for row, how in found.items() if how is Mention.SUSPECTED))

    def erase(
        self, tenant_id: UUID, subject: Identifiers, rows: tuple[UUID, ...], *, ticked: bool, now: datetime
    ) -> int:
        rule = rule_for(ticked=ticked)
        found = adapter.reasons_of_retired(tenant_id, rows)
        named = [row for row, reason in found if rule(subject.terms, reason)]
        return ledger.erase_reasons(tenant_id, named, FORGOTTEN)

    def remains(
        self, tenant_id: UUID, subject: Identifiers, *, chosen: frozenset[UUID], spared: frozenset[UUID]
    ) -> Remains:
        return judged(subject.terms, adapter.reasons_of_retired(tenant_id), chosen, spared)


ENTRIES, RETIRED_REASONS = LedgerEntries(), RetiredReasons()
