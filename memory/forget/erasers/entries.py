"""The ledger as a store of a forget: entries and their tags, and with each the archives that were distilled from it."""

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import chain
from typing import Any
from uuid import UUID

from django.db import transaction

from memory import adapter, addresses, consolidation_state, ledger
from memory.forget.erasers.declared import Declared
from memory.host import ids
from memory.host.erasure import ENTRIES as ENTRIES_STORE
from memory.host.erasure import Holding, Identifiers, Remains
from memory.host.json_types import JSONObject
from memory.models import Archive, ArchiveState, Reconciled
from memory.passes import archives
from memory.text.matching import (
    FORGOTTEN,
    Mention,
    counted,
    is_exact,
    is_mentioned,
    judged,
    mention,
    mentioned_in,
    passages_in,
    rule_for,
    texts_in,
    whole_text,
    without_subject,
)
from memory.text.similarity import Signatures

ARCHIVES_AT_ONCE = Archive.personal.at_once


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
        return adapter.forget.find_mentions(tenant_id, subject.terms)
    known = dict.fromkeys(earlier.exact, Mention.EXACT) | dict.fromkeys(earlier.suspected, Mention.SUSPECTED)
    there = adapter.forget.unchanged_since(tenant_id, list(known), since=earlier.position)
    fresh = adapter.forget.find_mentions(tenant_id, subject.terms, since=earlier.position)
    return dict(sorted({**{row: how for row, how in known.items() if row in there}, **fresh}.items()))


def traces(tenant_id: UUID, subject: Identifiers) -> dict[UUID, Mention]:
    """The entries with a trace of the subject, by the other path, looked for once a look."""
    found: dict[UUID, Mention] | None = subject.seen.get("traces")
    if found is None:
        found = subject.seen["traces"] = adapter.forget.find_traces(tenant_id, subject.terms)
    return found


class _RowsOfEntries:
    """A store whose rows have the ids of entries."""

    def found_in(self, tenant_id: UUID, rows: Sequence[UUID]) -> dict[UUID, str]:
        return {row: ids.wire("mem", row) for row in rows}


class LedgerEntries(_RowsOfEntries):
    """Entries that name the subject in content, tags, subject or ref; exact and suspected ones apart."""

    store = ENTRIES_STORE
    covers: Mapping[str, tuple[str, ...]] = {
        "memory_memoryentry": ("memory_ref", "content", "search_text", "hidden_text", "tags", "subject"),
        "memory_entrytag": ("tag",),
        "memory_entryaddress": ("namespace", "key"),
        # The index of full text: a word is deleted there with its last entry.
        "memory_searchword": ("word",),
        "memory_searchstem": ("stem",),
        "memory_searchblock": ("postings",),
        # From a vector much of its text can be guessed: it goes with its entry.
        "memory_vector": ("vector",),
        "memory_vectorsign": ("signs",),
    }

    def find(self, tenant_id: UUID, subject: Identifiers) -> Holding:
        found = naming(tenant_id, subject)
        return Holding(self.store, found.exact, found.suspected)

    def texts(self, tenant_id: UUID, rows: Sequence[UUID]) -> dict[UUID, list[str]]:
        return adapter.forget.searched_texts(tenant_id, rows)

    @transaction.atomic
    def erase(
        self, tenant_id: UUID, subject: Identifiers, rows: tuple[UUID, ...], *, ticked: bool, now: datetime
    ) -> int:
        """How many of ``rows`` are gone, those among them that went with their archive."""
        removed = ledger.erase.remove_entries(tenant_id, rows, reason="forgotten", now=now)
        archives.withdraw_of_forgotten(tenant_id, rows, now=now)
        return removed if removed == len(rows) else len(adapter.forget.forgotten_entries(tenant_id, rows))

    def portion(self, tenant_id: UUID, rows: Sequence[UUID]) -> int:
        return ledger.index.whole_blocks(tenant_id, rows)

    def remains(
        self, tenant_id: UUID, subject: Identifiers, *, chosen: frozenset[UUID], spared: frozenset[UUID]
    ) -> Remains:
        return counted(traces(tenant_id, subject).items(), chosen, spared)


class RetiredReasons(_RowsOfEntries):
    """Why people have retired entries that say nothing of the subject themselves."""

    store = "reasons of retired entries"
    covers: Mapping[str, tuple[str, ...]] = {"memory_memoryentry": ("retired_reason",)}

    def find(self, tenant_id: UUID, subject: Identifiers) -> Holding:
        found = {row: mention(subject.terms, reason) for row, reason in adapter.forget.retirement_reasons(tenant_id)}
        exact = tuple(row for row, how in found.items() if how is Mention.EXACT)
        return Holding(self.store, exact, tuple(row for row, how in found.items() if how is Mention.SUSPECTED))

    def texts(self, tenant_id: UUID, rows: Sequence[UUID]) -> dict[UUID, list[str]]:
        return {row: [reason] for row, reason in adapter.forget.retirement_reasons(tenant_id, rows)}

    def erase(
        self, tenant_id: UUID, subject: Identifiers, rows: tuple[UUID, ...], *, ticked: bool, now: datetime
    ) -> int:
        rule = rule_for(ticked=ticked)
        found = adapter.forget.retirement_reasons(tenant_id, rows)
        named = [row for row, reason in found if rule(subject.terms, reason)]
        return ledger.erase.erase_reasons(tenant_id, named, FORGOTTEN)

    def remains(
        self, tenant_id: UUID, subject: Identifiers, *, chosen: frozenset[UUID], spared: frozenset[UUID]
    ) -> Remains:
        return judged(subject.terms, adapter.forget.retirement_reasons(tenant_id), chosen, spared)


ENTRIES, RETIRED_REASONS = LedgerEntries(), RetiredReasons()


# Names in other columns of entries, as a store of a forget: writer and curator, task and intent.
#
# An entry that names the subject in its value, key, namespace or tags goes whole, and is the ledger's own store. One
# that does not stays, and says ``[FORGOTTEN]`` where it named the subject.


class EntryNames(_RowsOfEntries):
    """Agents, tasks and intents."""

    store = "entry aliases"
    covers: Mapping[str, tuple[str, ...]] = {
        "memory_entryaddress": ("agent_id", "created_by", "curated_by", "task_id", "intent_id"),
        "memory_memoryentry": ("agent_id",),
    }

    def find(self, tenant_id: UUID, subject: Identifiers) -> Holding:
        naming = [name for name in adapter.forget.all_names(tenant_id) if mentioned_in(subject.terms, name)]
        rows: dict[tuple[str, ...], set[UUID]] = {}  # many entries share the same names
        for row, names in adapter.forget.entries_with_name(tenant_id, naming):
            rows.setdefault(tuple(names.values()), set()).add(row)
        exact: set[UUID] = set()
        suspected: set[UUID] = set()
        for beside, having in rows.items():
            values = list(beside)
            if mentioned_in(subject.terms, values, is_exact):
                exact |= having
                values = without_subject(subject.terms, values, is_exact)
            if mentioned_in(subject.terms, values):
                suspected |= having
        return Holding(self.store, tuple(sorted(exact)), tuple(sorted(suspected)))

    def texts(self, tenant_id: UUID, rows: Sequence[UUID]) -> dict[UUID, list[str]]:
        said: dict[UUID, list[str]] = {}
        for row, names in adapter.forget.names_of_entries(tenant_id, rows):
            said.setdefault(row, []).extend(filter(None, names.values()))
        return said

    def erase(
        self, tenant_id: UUID, subject: Identifiers, rows: tuple[UUID, ...], *, ticked: bool, now: datetime
    ) -> int:
        """How many entries name the subject no more; those that went whole are not among them."""
        rule, changed = rule_for(ticked=ticked), set()
        for row, names in adapter.forget.names_of_entries(tenant_id, rows):
            after = {name: without_subject(subject.terms, value, rule) for name, value in names.items()}
            anew = {name: value for name, value in after.items() if value != names[name]}
            if anew and ledger.erase.erase_names(tenant_id, row, anew):
                changed.add(row)
        return len(changed)

    def remains(
        self, tenant_id: UUID, subject: Identifiers, *, chosen: frozenset[UUID], spared: frozenset[UUID]
    ) -> Remains:
        """Over the names of every address, as one text, and over who wrote an entry; namespace and key belong to the
        entry."""
        whole = ((row, whole_text(values)) for row, values in adapter.forget.addresses_with_writers(tenant_id))
        writers = [name for name in adapter.forget.all_names(tenant_id) if is_mentioned(subject.terms, name)]
        written = ((row, names["agent_id"]) for row, names in adapter.forget.entries_written_by(tenant_id, writers))
        return judged(subject.terms, chain(whole, written), chosen, spared)


NAMES_BESIDE_ENTRIES = EntryNames()


# Sealed values as a store of a forget: each is opened and searched, and never shown.
#
# An entry whose confidential value names the subject goes whole. One whose seal does not open may name any
# person: an operator decides about it.


class SealedValues(LedgerEntries):
    """Values of confidential and restricted entries. One may have been public once: what was made of it then goes with
    it."""

    store = "sealed values"
    covers = {"memory_entryaddress": ("sealed",)}

    def find(self, tenant_id: UUID, subject: Identifiers) -> Holding:
        exact: list[UUID] = []
        suspected: list[UUID] = []
        for row in adapter.forget.sealed_addresses(tenant_id):
            value = ledger.entries.value_or_none(row)
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
        values = [(row.id, ledger.entries.value_or_none(row)) for row in adapter.forget.sealed_addresses(tenant_id)]
        written = ((row, addresses.canonical(value)) for row, value in values if value is not None)
        found = judged(subject.terms, written, chosen, spared)
        locked = {row for row, value in values if value is None}
        return Remains(found.left + len(locked & chosen), found.undecided + len(locked - chosen - spared))


def _words(value: JSONObject) -> str:
    """All that a value says, its numbers too."""
    return f"{' '.join(texts_in(value))} {addresses.canonical(value)}"


SEALED_VALUES = SealedValues()


# Signatures of consolidation as a store of a forget: numbers, but made of what the entries said.
#
# Of a ref whose name, or one of whose entries, names the subject nothing is kept; the next pass over it is a full one.


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
        consolidation_state.drop(tenant_id, named)
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
    return Reconciled.objects.of(tenant_id).filter(chunk=0).values_list("id", "memory_ref")


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


# Archives as a store of a forget.
#
# An archive goes when it names the subject, and when something it was distilled from goes. Its bytes cannot be
# changed, so it is withdrawn as a whole. What is left is distilled anew once nothing of the subject is there.


class Archives(Declared):
    """Bytes and refs."""

    def find(self, tenant_id: UUID, subject: Identifiers) -> Holding:
        named, entries = super().find(tenant_id, subject), naming(tenant_id, subject)
        certain = {*named.erase, *archives.archives_of_forgotten(tenant_id)}
        exact = {*certain, *archives.all_dependent_archives(tenant_id, certain, entries.exact)}
        rest = archives.all_dependent_archives(tenant_id, named.suspected, entries.suspected)
        suspected = tuple(sorted({*named.suspected, *rest} - exact))
        return Holding(self.store, tuple(sorted(exact)), suspected)

    def rows(self, tenant_id: UUID) -> Iterable[tuple[UUID, list[Any]]]:
        for row in _rows(tenant_id):
            yield row.id, [row.memory_ref, _document(row)]

    def texts(self, tenant_id: UUID, rows: Sequence[UUID]) -> dict[UUID, list[str]]:
        shown = Archive.objects.of(tenant_id).filter(id__in=rows).iterator(chunk_size=ARCHIVES_AT_ONCE)
        return {
            row.id: [str(_document(row).get("text", "")), row.memory_ref, *passages_in(_document(row))] for row in shown
        }

    @transaction.atomic
    def erase(
        self, tenant_id: UUID, subject: Identifiers, rows: tuple[UUID, ...], *, ticked: bool, now: datetime
    ) -> int:
        withdrawn = archives.withdraw(tenant_id, rows, archives.FORGOTTEN, now=now)
        refs = Archive.objects.of(tenant_id).filter(id__in=rows).values_list("id", "memory_ref")
        named = [row for row, ref in refs if mentioned_in(subject.terms, ref, rule_for(ticked=ticked))]
        return max(withdrawn, archives.erase_ref_name(tenant_id, named))

    def remains(
        self, tenant_id: UUID, subject: Identifiers, *, chosen: frozenset[UUID], spared: frozenset[UUID]
    ) -> Remains:
        """Over all the words of each row at once; and by its own list, no archive is made of what was forgotten."""
        texts: list[tuple[UUID, str]] = []
        sources: dict[UUID, UUID] = {}
        for row in _rows(tenant_id):
            document = _document(row)
            texts.append((row.id, whole_text([row.memory_ref, document])))
            sources |= dict.fromkeys(archives.sources_of(bytes(row.body)), row.id) if document else {}
        found = judged(subject.terms, texts, chosen, spared)
        stale = {sources[each] for each in adapter.forget.forgotten_entries(tenant_id, list(sources))}
        return Remains(found.left + len(stale), found.undecided)


def _rows(tenant_id: UUID) -> Iterable[Archive]:
    rows: Iterable[Archive] = Archive.objects.of(tenant_id).order_by("id").iterator(chunk_size=ARCHIVES_AT_ONCE)
    return rows


def _document(row: Archive) -> JSONObject:
    """The document of an archive; nothing of a withdrawn one."""
    document: JSONObject = {} if row.state == ArchiveState.WITHDRAWN else json.loads(bytes(row.body))
    return document


STORES = (ENTRIES, RETIRED_REASONS, NAMES_BESIDE_ENTRIES, SEALED_VALUES, SIGNATURES)
