"""The ledger as a store of a forget: entries and their tags, and with each the archives that were distilled from it."""

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import transaction

from memory import adapter, archives, ledger
from memory.erasers.kept_values import CHUNK, KeptValues
from memory.host.erasure import Holding, Identifiers, Remains
from memory.matching import FORGOTTEN, Mention, counted, is_mentioned, judged, rule_for
from memory.models.entry import MemoryEntry, Retirement

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


class RetiredReasons(KeptValues):
    """Why people have retired entries that say nothing of the subject themselves."""

    store = "reasons of retired entries"
    table = MemoryEntry
    columns = ("retired_reason",)
    goes_whole = True

    def _mentions(self, tenant_id: UUID, subject: Identifiers) -> Iterable[tuple[UUID, list[Any]]]:
        for row, reason in _reasons(tenant_id):
            if is_mentioned(subject.terms, reason):
                yield row, [reason]

    def erase(
        self, tenant_id: UUID, subject: Identifiers, rows: tuple[UUID, ...], *, ticked: bool, now: datetime
    ) -> int:
        found, rule = MemoryEntry.objects.of(tenant_id).filter(id__in=rows), rule_for(ticked=ticked)
        named = [row.id for row in found.only("id", "retired_reason") if self.cleaned(row, subject, rule)]
        return ledger.erase_reasons(tenant_id, named, FORGOTTEN)

    def remains(
        self, tenant_id: UUID, subject: Identifiers, *, chosen: frozenset[UUID], spared: frozenset[UUID]
    ) -> Remains:
        return judged(subject.terms, _reasons(tenant_id), chosen, spared)


def _reasons(tenant_id: UUID) -> Iterable[tuple[UUID, str]]:
    retired = Retirement.objects.of(tenant_id).values("entry_id")
    rows = MemoryEntry.objects.of(tenant_id).filter(id__in=retired).exclude(retired_reason="").order_by("id")
    return rows.values_list("id", "retired_reason").iterator(chunk_size=CHUNK)  # type: ignore[no-any-return]


ENTRIES, RETIRED_REASONS = LedgerEntries(), RetiredReasons()
