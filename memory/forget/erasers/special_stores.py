"""Erasers of stores that need more than a declaration, or of which nothing is erased: notes, tasks, files, logs.

Commitments come after the entries in the order of stores, so that those of a forgotten entry are found by it. A
commitment whose entry exists is judged by the entry's text; one whose entry a pass removed for good, by the entries
that it went into, and by the stems of the name in its predicate. The eraser waits for inference that is reading the
ledger.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any, NamedTuple, Protocol
from uuid import UUID

from django.db import transaction
from django_q.models import Task

from memory import adapter, event_notes, ledger_exports, ledger_imports, provenance, workspace
from memory.forget.erasers.declared import Declared
from memory.forget.erasers.entries import naming, traces
from memory.host import audit, event_log, registry, sql
from memory.host.erasure import Holding, Identifiers, Kept, Remains
from memory.host.json_types import JSONObject
from memory.host.models import Operator, Tenant
from memory.host.models.base import ERASED
from memory.models import Commitment, CommitmentWatch
from memory.text import intentions
from memory.text.matching import (
    Mention,
    Rule,
    counted,
    is_mentioned,
    mention,
    mentioned_in,
    rule_for,
    second_look,
    shadows,
    whole_text,
    without_subject,
)

SNAPSHOT, VALUE = "snapshot", "value"
ARTIFACTS_STAY = (
    "Installed workflows, agents and prompts are what runs execute; install a version without the subject instead."
)
EVENTS_STAY = (
    "Events are never changed. These name the subject in a memory_ref, a label, a path, or what a workflow, a node, an "
    "agent or a task is called; keep names out of all of these."
)
RECORDS_STAY = (
    "Audit records are chained and never changed. These name the subject in what was acted on, or in their details."
)
HOLDS_STAY = "Legal holds in force are kept as they are until they are ended; these name the subject."
ACCOUNTS_STAY = (
    "Operators sign in with their address, and the tenant goes by its name; deactivate or rename them instead."
)


# Notes of events as a store of a forget: what events of RFC-0015 say beyond ids.
#
# The event stays as it is and reads without its note. Of a snapshot of archived memory the entries that name the
# subject lose their values, and say so.


class EventNotes(Declared):
    """Namespaces, keys, tags and payloads, and the values of archived memory."""

    def left_of(self, values: list[Any], subject: Identifiers, rule: Rule) -> object:
        return [_kept_of(body, subject, rule) for body in values]

    def changes(self, row: Any, subject: Identifiers, rule: Rule) -> JSONObject:
        is_named = mentioned_in(subject.terms, row.body, rule)
        return {"body": _kept_of(row.body, subject, rule)} if is_named else {}


def _kept_of(body: JSONObject, subject: Identifiers, rule: Rule) -> JSONObject:
    """What stays of a note that names the subject: of a snapshot all that does not."""
    if event_notes.REASON in body:
        return {event_notes.REASON: ERASED}
    archived = body.get(SNAPSHOT)
    return {SNAPSHOT: [_without(subject, each, rule) for each in archived]} if isinstance(archived, list) else {}


def _without(subject: Identifiers, archived: object, rule: Rule) -> object:
    """An archived entry as it may stay: of one that names the subject the value goes whole, and each of its names."""
    if not isinstance(archived, dict) or not mentioned_in(subject.terms, archived, rule):
        return archived
    rest = {name: value for name, value in archived.items() if name != VALUE}
    return {**without_subject(subject.terms, rest, rule), "value_redacted": True}


# Tasks that failed in a worker as a store of a forget: what they were given, and the error as it was said.


class FailedTasks:
    """An error may quote what it stumbled over. One that names the subject goes whole. The queue has no tenants, so
    those of a tenant are the ones that were given its id. One that was given nothing did the work of every tenant: it
    goes when it certainly names the subject, and is shown to no tenant."""

    store = "failed tasks"
    covers: Mapping[str, tuple[str, ...]] = {"django_q_task": ("args", "kwargs", "result")}

    def find(self, tenant_id: UUID, subject: Identifiers) -> Holding:
        found = {row: how for row, how in _mentions(tenant_id, subject) if how}
        exact = tuple(row for row, how in found.items() if how is Mention.EXACT)
        return Holding(self.store, exact, tuple(row for row in found if row not in exact))

    def texts(self, tenant_id: UUID, rows: Sequence[UUID]) -> dict[UUID, list[str]]:
        wanted = set(rows)
        return {row: [said] for row, said, is_own in _task_texts(tenant_id) if row in wanted and is_own}

    def found_in(self, tenant_id: UUID, rows: Sequence[UUID]) -> dict[UUID, str]:
        return {}

    def erase(
        self, tenant_id: UUID, subject: Identifiers, rows: tuple[UUID, ...], *, ticked: bool, now: datetime
    ) -> int:
        return int(Task.objects.filter(id__in=[row.hex for row in rows]).delete()[0])

    def remains(
        self, tenant_id: UUID, subject: Identifiers, *, chosen: frozenset[UUID], spared: frozenset[UUID]
    ) -> Remains:
        return counted(_mentions(tenant_id, subject), chosen, spared)


def _mentions(tenant_id: UUID, subject: Identifiers) -> Iterable[tuple[UUID, Mention]]:
    for row, said, is_own in _task_texts(tenant_id):
        how = mention(subject.terms, said)
        yield row, how if is_own or how is Mention.EXACT else Mention.NONE


def _task_texts(tenant_id: UUID) -> Iterable[tuple[UUID, str, bool]]:
    """What every task of the tenant and of none says, and whether it is the tenant's own."""
    rows: Iterable[Any] = Task.objects.order_by("id").values_list("id", "args", "kwargs", "result").iterator()
    for row, args, kwargs, result in rows:
        is_own = tenant_id.hex in map(str, args or ())
        if is_own or not args:
            yield UUID(hex=row), f"{args} {kwargs} {result}", is_own


FAILED_TASKS = FailedTasks()


# Installed artifacts as a store of a forget: they stay, and the receipt says how many name the subject.
#
# What is installed is what runs execute, byte for byte; it is changed by installing another version, through the gate.


class InstalledArtifacts(Kept):
    """Workflows, agents and prompt templates; nothing of them is erased."""

    store = "installed artifacts"
    covers: Mapping[str, tuple[str, ...]] = {"host_installation": ("text",), "host_definition": ("text",)}

    def find(self, tenant_id: UUID, subject: Identifiers) -> Holding:
        texts = registry.texts_of(tenant_id)
        stays = sum(1 for text in texts if is_mentioned(subject.terms, text))
        return Holding(self.store, stays=stays, stays_because=ARTIFACTS_STAY if stays else "")


INSTALLED = InstalledArtifacts()


# The event log and the audit log as stores of a forget: both stay, and the receipt counts the rows with the subject.
#
# Events hold ids, refs, labels and paths: a name in one of them, or in what an agent or a task is called, is on the log
# for good (RFC 0080). Audit records hold ids and given names (of secrets, files, schedules); reasons are kept apart.


class EventNames(Kept):
    """Events whose refs, labels or paths name the subject; nothing of them is erased."""

    store = "names on the event log"
    covers: Mapping[str, tuple[str, ...]] = {"host_runevent": ("node_id", "payload")}

    def find(self, tenant_id: UUID, subject: Identifiers) -> Holding:
        stays = 0
        for texts in event_log.texts(tenant_id):
            if shadows(subject.terms, "\n".join(texts)):
                stays += sum(is_mentioned(subject.terms, text) for text in texts)
        return Holding(self.store, stays=stays, stays_because=EVENTS_STAY if stays else "")


class AuditNames(Kept):
    """Records whose target or details name the subject; nothing of them is erased."""

    store = "names on the audit log"
    covers: Mapping[str, tuple[str, ...]] = {"host_auditrecord": ("target", "details")}

    def find(self, tenant_id: UUID, subject: Identifiers) -> Holding:
        named = (mentioned_in(subject.terms, [each.target, each.details]) for each in audit.export_records(tenant_id))
        stays = sum(named)
        return Holding(self.store, stays=stays, stays_because=RECORDS_STAY if stays else "")


EVENT_NAMES, AUDIT_NAMES = EventNames(), AuditNames()


# Workspace files as a store of a forget: every version of every file.
#
# A text that names the subject is replaced as a whole, and the version stays. A file whose very path names the subject
# goes with all its versions. Records of a path stay, and are counted.


class WorkspaceFiles(Declared):
    """Contents, paths and content types."""

    @transaction.atomic
    def erase(
        self, tenant_id: UUID, subject: Identifiers, rows: tuple[UUID, ...], *, ticked: bool, now: datetime
    ) -> int:
        """How many versions were changed or are gone."""
        rule = rule_for(ticked=ticked)
        return sum(self._erase_one(tenant_id, row, subject, rule) for row in rows)

    def _erase_one(self, tenant_id: UUID, row_id: UUID, subject: Identifiers, rule: Rule) -> int:
        file = workspace.locked(tenant_id, row_id)
        changed: dict[str, object] = self.changes(file, subject, rule) if file else {}
        if file is None or not changed:
            return 0
        if "path" in changed:
            return workspace.remove(tenant_id, file.path)
        workspace.erase_kept(file, **changed)
        return 1


# Legal holds as a store of a forget: what is in force stays, counted; of what has ended the texts go.


class LegalHolds(Declared):
    """Names, reasons, and reasons of the end."""

    def rows(self, tenant_id: UUID) -> Iterable[tuple[UUID, list[Any]]]:
        found = self.table.objects.of(tenant_id).filter(ended_at__isnull=False).order_by("id")
        for row, *values in found.values_list("id", *self.columns).iterator():
            yield row, values

    def find(self, tenant_id: UUID, subject: Identifiers) -> Holding:
        return replace(super().find(tenant_id, subject), **self._stay(tenant_id, subject))

    def remains(
        self, tenant_id: UUID, subject: Identifiers, *, chosen: frozenset[UUID], spared: frozenset[UUID]
    ) -> Remains:
        found = super().remains(tenant_id, subject, chosen=chosen, spared=spared)
        return replace(found, **self._stay(tenant_id, subject))

    def _stay(self, tenant_id: UUID, subject: Identifiers) -> JSONObject:
        active = self.table.objects.of(tenant_id).filter(ended_at__isnull=True).values_list(*self.columns)
        stays = sum(mentioned_in(subject.terms, list(values)) for values in active.iterator())
        return {"stays": stays, "stays_because": HOLDS_STAY if stays else ""}


# Accounts of operators and the tenant as a store of a forget: they stay, counted.


class OperatorAccounts(Kept):
    """Accounts of this tenant, and the tenant itself; nothing of them is erased."""

    store = "operator accounts"
    covers: Mapping[str, tuple[str, ...]] = {
        "host_operator": ("email",),
        "account_emailaddress": ("email",),
        "socialaccount_socialaccount": ("uid",),
        "host_tenant": ("slug", "name"),
    }

    def find(self, tenant_id: UUID, subject: Identifiers) -> Holding:
        members = Operator.objects.filter(memberships__tenant_id=tenant_id).values_list("email", flat=True)
        stays = sum(is_mentioned(subject.terms, email) for email in members)
        named = Tenant.objects.filter(id=tenant_id).values_list("slug", "name")
        stays += sum(mentioned_in(subject.terms, list(names)) for names in named)
        return Holding(self.store, stays=stays, stays_because=ACCOUNTS_STAY if stays else "")


OPERATOR_ACCOUNTS = OperatorAccounts()


# Files as stores of a forget: every file of the tenant goes.
#
# A file has entries as they were when it was made, of which one may be about the subject without its name. An export is
# made again by who needs it, and who uploaded a file has it. The names of the stores sort after that of the entries:
# what is erased in turn is gone from the ledger before, so that an export which begins again finds it no more, and an
# import has stored what it had read.


class FilesModule(Protocol):
    """The module that keeps the files."""

    def with_files(self, tenant_id: UUID) -> list[UUID]: ...
    def forget(self, tenant_id: UUID, rows: Iterable[UUID], /, *, now: datetime) -> int: ...
    def texts(self, tenant_id: UUID) -> Iterator[tuple[UUID, str]]: ...


class StoredFiles:
    """Files that exports of the ledger have made and exports under way, or files that were uploaded to be imported."""

    def __init__(self, store: str, module: FilesModule, covers: Mapping[str, tuple[str, ...]]) -> None:
        self.store, self._module, self.covers = store, module, covers

    def find(self, tenant_id: UUID, subject: Identifiers) -> Holding:
        return Holding(self.store, tuple(self._module.with_files(tenant_id)))

    def texts(self, tenant_id: UUID, rows: Sequence[UUID]) -> dict[UUID, list[str]]:
        return {}

    def found_in(self, tenant_id: UUID, rows: Sequence[UUID]) -> dict[UUID, str]:
        return {}

    def erase(
        self, tenant_id: UUID, subject: Identifiers, rows: tuple[UUID, ...], *, ticked: bool, now: datetime
    ) -> int:
        return self._module.forget(tenant_id, rows, now=now)

    def remains(
        self, tenant_id: UUID, subject: Identifiers, *, chosen: frozenset[UUID], spared: frozenset[UUID]
    ) -> Remains:
        """By what the files say. One that was made since has what is still in the ledger, which its store answers
        for."""
        named = {row for row, text in self._module.texts(tenant_id) if mention(subject.terms, text) is Mention.EXACT}
        return Remains(left=len(named))


EXPORTED_FILES = StoredFiles("saved exports", ledger_exports, {"memory_exportpart": ("body",)})
UPLOADED_FILES = StoredFiles("uploaded imports", ledger_imports, {"memory_uploadpart": ("body",)})
STORES = (EXPORTED_FILES, UPLOADED_FILES, FAILED_TASKS, INSTALLED, EVENT_NAMES, AUDIT_NAMES, OPERATOR_ACCOUNTS)


LONGEST_LINEAGE = 20
Remove = Callable[[UUID, Sequence[UUID]], int]


class Orphan(NamedTuple):
    """A commitment whose own entry is not in the database any more, what it looks for, and what the entry went into."""

    id: UUID
    words: frozenset[str]
    into: frozenset[UUID]


class CommitmentRows(Declared):
    """Refs, reasons and predicates. Their writer is on a higher floor and is passed in by ``apps``."""

    def __init__(self, remove: Remove) -> None:
        super().__init__(Commitment)
        self._remove = remove

    def find(self, tenant_id: UUID, subject: Identifiers) -> Holding:
        named, entries = super().find(tenant_id, subject), naming(tenant_id, subject)
        orphans = _orphans(tenant_id)
        exact = {*named.erase, *_standing_in(tenant_id, entries.exact, orphans), *_from_forgotten(tenant_id, orphans)}
        every = {*named.suspected, *_standing_in(tenant_id, entries.suspected, orphans)}
        every |= _in_stems(subject, orphans)
        return Holding(self.store, tuple(sorted(exact)), tuple(sorted(every - exact)))

    def texts(self, tenant_id: UUID, rows: Sequence[UUID]) -> dict[UUID, list[str]]:
        """With the text of their entries, where the mention often is."""
        found = super().texts(tenant_id, rows)
        entries = dict(Commitment.objects.of(tenant_id).filter(id__in=rows).values_list("id", "entry_id"))
        said = adapter.forget.searched_texts(tenant_id, list(entries.values()))
        return {row: [*filter(None, said.get(entries[row], ())), *texts] for row, texts in found.items()}

    def erase(
        self, tenant_id: UUID, subject: Identifiers, rows: tuple[UUID, ...], *, ticked: bool, now: datetime
    ) -> int:
        return self._remove(tenant_id, rows)

    @transaction.atomic
    def remains(
        self, tenant_id: UUID, subject: Identifiers, *, chosen: frozenset[UUID], spared: frozenset[UUID]
    ) -> Remains:
        """Over every column of every row, over stems, and over the entries that are suspected still; and by the
        tombstones, nothing has come from what was forgotten."""
        CommitmentWatch.objects.of(tenant_id).select_for_update().filter(id=tenant_id).first()
        orphans, entries = _orphans(tenant_id), traces(tenant_id, subject)
        suspected = [row for row, how in entries.items() if how is Mention.SUSPECTED]
        found = dict.fromkeys(
            _standing_in(tenant_id, suspected, orphans) | _in_stems(subject, orphans), Mention.SUSPECTED
        )
        found |= dict.fromkeys(_from_forgotten(tenant_id, orphans), Mention.EXACT)
        for row, *values in Commitment.objects.of(tenant_id).values_list("id", *self.columns).iterator(sql.CHUNK):
            found[row] = max(found.get(row, Mention.NONE), second_look(subject.terms, whole_text(values)))
        return counted(found.items(), chosen, spared)


def _standing_in(tenant_id: UUID, entry_ids: Collection[UUID], orphans: Sequence[Orphan]) -> set[UUID]:
    """The commitments whose intention is in one of these entries, or whose entry went into one and is gone."""
    wanted = frozenset(entry_ids)
    entry_ids_of = Commitment.objects.of(tenant_id).values_list("id", "entry_id")
    found = {row for row, entry in entry_ids_of if entry in wanted} if wanted else set()
    return found | {each.id for each in orphans if not each.into.isdisjoint(wanted)}


def _from_forgotten(tenant_id: UUID, orphans: Sequence[Orphan]) -> set[UUID]:
    """The commitments whose entry, or what it went into, was forgotten, for any subject."""
    forgotten = adapter.forget.forgotten_entries(tenant_id, list({entry for each in orphans for entry in each.into}))
    return {each.id for each in orphans if not each.into.isdisjoint(forgotten)}


def _in_stems(subject: Identifiers, orphans: Sequence[Orphan]) -> set[UUID]:
    """Those that look for every word of a name, as far as its stem tells: it may be another word."""
    names = [frozenset(intentions.words_of(term)) for term in subject.terms]
    return {each.id for each in orphans if any(name and name <= each.words for name in names)}


def _orphans(tenant_id: UUID) -> list[Orphan]:
    every = list(Commitment.objects.of(tenant_id).order_by("id").values_list("id", "entry_id", "predicate"))
    entries = {entry for _, entry, _ in every}
    gone = entries - adapter.passes.stored_ids(tenant_id, entries)
    into = _went_into(tenant_id, gone)
    return [
        Orphan(row, intentions.all_words(predicate.get("words", ())), frozenset(into[entry]))
        for row, entry, predicate in every
        if entry in gone
    ]


def _went_into(tenant_id: UUID, entry_ids: Collection[UUID]) -> dict[UUID, set[UUID]]:
    """Of each of these, itself and everything that came of it, however far."""
    found = {entry: {entry} for entry in entry_ids}
    edge = {entry: {entry} for entry in entry_ids}
    for _ in range(LONGEST_LINEAGE):
        asked = {each for ends in edge.values() for each in ends}
        came: dict[UUID, set[UUID]] = {}
        for part in sql.in_chunks(asked):
            rows = provenance.descendants_of(tenant_id, part)
            came |= {source: {each.target_id for each in of_one} for source, of_one in rows.items()}
        edge = {
            entry: {target for end in ends for target in came.get(end, ())} - found[entry]
            for entry, ends in edge.items()
        }
        edge = {entry: ends for entry, ends in edge.items() if ends}
        for entry, ends in edge.items():
            found[entry] |= ends
        if not edge:
            break
    return found
