"""The ledger as a store of a forget: entries and their tags, and with each the archives that were distilled from it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.db import transaction

from memory import adapter, archives, ledger
from memory.host import ids
from memory.host.erasure import ENTRIES as ENTRIES_STORE
from memory.host.erasure import Holding, Identifiers, Remains
from memory.matching import FORGOTTEN, Mention, counted, judged, mention, rule_for


@dataclass(frozen=True, slots=True)
class Naming:
    """The entries that name a subject: certainly, and perhaps."""

    exact: tuple[UUID, ...]
    suspected: tuple[UUID, ...]


def naming(tenant_id: UUID, subject: Identifiers) -> Naming:
    """The entries whose text names the subject, looked for once a look."""
    found: Naming | None = subject.seen.get("entries")
    if found is None:
        rows = _looked_for(tenant_id, subject)
        exact, suspected = (
            tuple(row for row, how in rows.items() if how is wanted) for wanted in (Mention.EXACT, Mention.SUSPECTED)
        )
        found = subject.seen["entries"] = Naming(exact, suspected)
    return found


def _looked_for(tenant_id: UUID, subject: Identifiers) -> dict[UUID, Mention]:
    """All of the ledger is looked through, or what was written since the earlier look."""
    earlier = subject.earlier
    if earlier is None:
        return adapter.mentions(tenant_id, subject.terms)
    known = dict.fromkeys(earlier.exact, Mention.EXACT) | dict.fromkeys(earlier.suspected, Mention.SUSPECTED)
    there = adapter.unchanged_among(tenant_id, list(known), since=earlier.position)
    fresh = adapter.mentions(tenant_id, subject.terms, since=earlier.position)
    return dict(sorted({**{row: how for row, how in known.items() if row in there}, **fresh}.items()))


def traces(tenant_id: UUID, subject: Identifiers) -> dict[UUID, Mention]:
    """The entries with a trace of the subject, by the other path, looked for once a look."""
    found: dict[UUID, Mention] | None = subject.seen.get("traces")
    if found is None:
        found = subject.seen["traces"] = adapter.traces(tenant_id, subject.terms)
    return found


class LedgerEntries:
    """Entries that name the subject in content, tags, subject or ref; exact and suspected ones apart."""

    store = ENTRIES_STORE
    covers: Mapping[str, tuple[str, ...]] = {
        "memory_memoryentry": ("memory_ref", "content", "search_text", "hidden_text", "tags", "subject", "words"),
        "memory_entrytag": ("tag",),
        "memory_entryaddress": ("namespace", "key"),
        # The index of SQLite: a word is deleted there with its last entry.
        "memory_searchword": ("word",),
    }

    def find(self, tenant_id: UUID, subject: Identifiers) -> Holding:
        found = naming(tenant_id, subject)
        return Holding(self.store, found.exact, found.suspected)

    def found_in(self, tenant_id: UUID, rows: Sequence[UUID]) -> dict[UUID, str]:
        return {row: ids.wire("mem", row) for row in rows}

    def texts(self, tenant_id: UUID, rows: Sequence[UUID]) -> dict[UUID, list[str]]:
        return adapter.said_by(tenant_id, rows)

    @transaction.atomic
    def erase(
        self, tenant_id: UUID, subject: Identifiers, rows: tuple[UUID, ...], *, ticked: bool, now: datetime
    ) -> int:
        """How many of ``rows`` are gone, those among them that went with their archive."""
        removed = ledger.remove(tenant_id, rows, reason="forgotten", now=now)
        archives.withdraw_made_of(tenant_id, rows, now=now)
        return removed if removed == len(rows) else len(adapter.forgotten_among(tenant_id, rows))

    def remains(
        self, tenant_id: UUID, subject: Identifiers, *, chosen: frozenset[UUID], spared: frozenset[UUID]
    ) -> Remains:
        return counted(traces(tenant_id, subject).items(), chosen, spared)


class RetiredReasons:
    """Why people have retired entries that say nothing of the subject themselves."""

    store = "reasons of retired entries"
    covers: Mapping[str, tuple[str, ...]] = {"memory_memoryentry": ("retired_reason",)}

    def find(self, tenant_id: UUID, subject: Identifiers) -> Holding:
        found = {row: mention(subject.terms, reason) for row, reason in adapter.reasons_of_retired(tenant_id)}
        exact = tuple(row for row, how in found.items() if how is Mention.EXACT)
        return Holding(self.store, exact, tuple(row for row, how in found.items() if how is Mention.SUSPECTED))

    def found_in(self, tenant_id: UUID, rows: Sequence[UUID]) -> dict[UUID, str]:
        return {row: ids.wire("mem", row) for row in rows}

    def texts(self, tenant_id: UUID, rows: Sequence[UUID]) -> dict[UUID, list[str]]:
        return {row: [reason] for row, reason in adapter.reasons_of_retired(tenant_id, rows)}

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
