"""Other rows that hold personal text as stores of a forget: notes, logs, answers, files, names of keys."""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, ClassVar
from urllib.parse import unquote_plus
from uuid import UUID

from django.db import transaction
from django_q.models import Task

from memory import event_notes, kept_reads, workspace
from memory.erasers.values import KeptValues, RowByRow
from memory.host import access, audit, event_log, idempotency, registry, saved_filters, sql, vault
from memory.host.erasure import Holding, Identifiers, Kept, Remains
from memory.host.models import ApiKey, IdempotencyRecord, Installation, Operator, SavedFilter, Secret, Tenant
from memory.models import EventNote, ForgetRequest, KeptContent, WorkspaceFile
from memory.text.matching import (
    FORGOTTEN,
    Mention,
    Rule,
    counted,
    is_exact,
    is_mentioned,
    judged,
    mention,
    mentioned_in,
    rule_for,
    shadows,
    texts_in,
    whole_text,
    without_subject,
)

NOTES_AT_ONCE = 16  # a snapshot may have a megabyte
SNAPSHOT, VALUE = "snapshot", "value"
ARTIFACTS_STAY = (
    "Installed workflows, agents and prompts are what runs execute; install a version without the subject instead."
)
EVENTS_STAY = (
    "Events are never changed. These name the subject in a memory_ref, a label, a path, or what a workflow, a node, an "
    "agent or a task is called; keep names out of all of these."
)
RECORDS_STAY = (
    "Audit records are chained and never changed. These name the subject in what was acted on, or in a reason."
)
ANSWERS_AT_ONCE = 16  # an answer may be a file of a megabyte
ACCOUNTS_STAY = (
    "Operators sign in with their address, and the tenant goes by its name; deactivate or rename them instead."
)


# Notes beside the log as a store of a forget: what events of RFC-0015 say beyond ids.
#
# The event stays as it is and reads without its note. Of a snapshot of archived memory the entries that name the
# subject lose their values, and say so (design.md 3.12).


class EventNotes(RowByRow):
    """Namespaces, keys, tags and payloads, and the values of archived memory."""

    store = "notes beside the event log"
    table = EventNote
    columns = ("body",)
    chunk = NOTES_AT_ONCE

    def left_of(self, values: list[Any], subject: Identifiers) -> Any:
        return [_kept_of(body, subject, is_exact) for body in values]

    @transaction.atomic
    def erase_one(self, tenant_id: UUID, row_id: UUID, subject: Identifiers, rule: Rule) -> bool:
        note: EventNote | None = EventNote.objects.of(tenant_id).select_for_update().filter(id=row_id).first()
        if note is None or not mentioned_in(subject.terms, note.body, rule):
            return False
        event_notes.erase_kept(note, _kept_of(note.body, subject, rule))
        return True


def _kept_of(body: dict[str, Any], subject: Identifiers, rule: Rule) -> dict[str, Any]:
    """What stays of a note that names the subject: of a snapshot all that does not."""
    if event_notes.REASON in body:
        return {event_notes.REASON: event_notes.ERASED}
    archived = body.get(SNAPSHOT)
    return {SNAPSHOT: [_without(subject, each, rule) for each in archived]} if isinstance(archived, list) else {}


def _without(subject: Identifiers, archived: Any, rule: Rule) -> Any:
    """An archived entry as it may stay: of one that names the subject the value goes whole, and each of its names."""
    if not isinstance(archived, dict) or not mentioned_in(subject.terms, archived, rule):
        return archived
    rest = {name: value for name, value in archived.items() if name != VALUE}
    return {**without_subject(subject.terms, rest, rule), "value_redacted": True}


EVENT_NOTES = EventNotes()


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
        return {row: [said] for row, said, is_own in _said(tenant_id) if row in wanted and is_own}

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
    for row, said, is_own in _said(tenant_id):
        how = mention(subject.terms, said)
        yield row, how if is_own or how is Mention.EXACT else Mention.NONE


def _said(tenant_id: UUID) -> Iterable[tuple[UUID, str, bool]]:
    """What every task of the tenant and of none says, and whether it is the tenant's own."""
    rows: Iterable[Any] = Task.objects.order_by("id").values_list("id", "args", "kwargs", "result").iterator()
    for row, args, kwargs, result in rows:
        is_own = tenant_id.hex in map(str, args or ())
        if is_own or not args:
            yield UUID(hex=row), f"{args} {kwargs} {result}", is_own


FAILED_TASKS = FailedTasks()


# Installed artifacts as a store of a forget: they stay, and the receipt says how many name the subject. Why one is
# disabled is erased.
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


class StopReasons(RowByRow):
    """Why installed artifacts are disabled; they stay disabled."""

    store = "reasons of disabled artifacts"
    table = Installation
    columns: ClassVar[tuple[str, ...]] = ("disabled_reason",)

    @transaction.atomic
    def erase_one(self, tenant_id: UUID, row_id: UUID, subject: Identifiers, rule: Rule) -> bool:
        row: Installation | None = Installation.objects.of(tenant_id).select_for_update().filter(id=row_id).first()
        changed = self.cleaned(row, subject, rule) if row else {}
        if row and changed:
            registry.blank_stop_reason(row, str(changed["disabled_reason"]))
        return bool(changed)


INSTALLED, STOP_REASONS = InstalledArtifacts(), StopReasons()


# Kept reads as a store of a forget: the texts that runs have read, which replays are served.
#
# A text that names the subject is blanked as a whole; a replay that needs it is refused from then on.


class KeptTexts(KeptValues):
    """Entries as runs read them."""

    store = "recorded reads"
    table = KeptContent
    columns = ("text",)
    goes_whole = True

    def _mentions(self, tenant_id: UUID, subject: Identifiers) -> Iterable[tuple[UUID, list[Any]]]:
        for row, text in self._texts(tenant_id):
            document = json.loads(text)
            if mentioned_in(subject.terms, document):
                yield row, [document]

    def _texts(self, tenant_id: UUID) -> Iterable[tuple[UUID, str]]:
        rows = KeptContent.objects.of(tenant_id).exclude(text=None).order_by("id")
        yield from rows.values_list("id", "text").iterator(chunk_size=sql.CHUNK)

    def texts(self, tenant_id: UUID, rows: Sequence[UUID]) -> dict[UUID, list[str]]:
        found = KeptContent.objects.of(tenant_id).filter(id__in=rows).exclude(text=None).values_list("id", "text")
        return {row: list(texts_in(json.loads(text))) for row, text in found}

    def erase(
        self, tenant_id: UUID, subject: Identifiers, rows: tuple[UUID, ...], *, ticked: bool, now: datetime
    ) -> int:
        rule, blanked = rule_for(ticked=ticked), 0
        with transaction.atomic():
            locked = KeptContent.objects.of(tenant_id).select_for_update().filter(id__in=rows).order_by("id")
            for content in locked.exclude(text=None):
                if mentioned_in(subject.terms, json.loads(content.text), rule):
                    kept_reads.blank(content)
                    blanked += 1
        return blanked

    def remains(
        self, tenant_id: UUID, subject: Identifiers, *, chosen: frozenset[UUID], spared: frozenset[UUID]
    ) -> Remains:
        """Over all the words of each text at once."""
        rows = ((row, whole_text(json.loads(text))) for row, text in self._texts(tenant_id))
        return judged(subject.terms, rows, chosen, spared)


KEPT_READS = KeptTexts()


# The event log and the audit log as stores of a forget: both stay, and the receipt counts the rows with the subject.
#
# Events hold ids, refs, labels and paths: a name in one of them, or in what an agent or a task is called, is on the log
# for good (RFC 0080). Audit records hold ids, given names (of secrets, files, schedules), and reasons of overrides.


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
        named = (mentioned_in(subject.terms, [each.target, each.details]) for each in audit.every(tenant_id))
        stays = sum(named)
        return Holding(self.store, stays=stays, stays_because=RECORDS_STAY if stays else "")


EVENT_NAMES = EventNames()


AUDIT_NAMES = AuditNames()


# Reasons of earlier forget requests as a store of a forget: none may name its own subject, but it may name another.


class RequestReasons(RowByRow):
    """Their writer stands on a higher floor and is handed in by ``apps``."""

    store = "reasons of forget requests"
    table = ForgetRequest
    columns: ClassVar[tuple[str, ...]] = ("reason",)

    def __init__(self, keep: Callable[..., None]) -> None:
        self._keep = keep

    @transaction.atomic
    def erase_one(self, tenant_id: UUID, row_id: UUID, subject: Identifiers, rule: Rule) -> bool:
        row = ForgetRequest.objects.of(tenant_id).select_for_update().filter(id=row_id).first()
        changed = self.cleaned(row, subject, rule) if row else {}
        if changed:
            self._keep(row, **changed)
        return bool(changed)


# Saved filters as a store of a forget: one whose name or query speaks of the subject goes as a whole.


class SavedFilters(KeptValues):
    """Names and queries."""

    store = "saved filters"
    table = SavedFilter
    columns = ("name", "slug", "query")
    goes_whole = True

    def texts(self, tenant_id: UUID, rows: Sequence[UUID]) -> dict[UUID, list[str]]:
        found = self.table.objects.of(tenant_id).filter(id__in=rows).values_list("id", "name", "query")
        return {row: [name, unquote_plus(query)] for row, name, query in found}

    def erase(
        self, tenant_id: UUID, subject: Identifiers, rows: tuple[UUID, ...], *, ticked: bool, now: datetime
    ) -> int:
        found, rule = self.table.objects.of(tenant_id).filter(id__in=rows), rule_for(ticked=ticked)
        return saved_filters.erase(tenant_id, [row.id for row in found if self.cleaned(row, subject, rule)])


SAVED_FILTERS = SavedFilters()


# Answers kept for an ``Idempotency-Key`` as a store of a forget: one that names the subject goes as a whole.
#
# They are gone after a day in any case. A client that repeats its request after that is answered afresh.


class StoredAnswers(KeptValues):
    """Answers, and the addresses that were asked."""

    store = "idempotency cache"
    table = IdempotencyRecord
    columns = ("endpoint", "headers", "body")
    goes_whole = True

    def _mentions(self, tenant_id: UUID, subject: Identifiers) -> Iterable[tuple[UUID, list[Any]]]:
        rows = self.table.objects.of(tenant_id).order_by("id").values_list("id", *self.columns)
        for row, endpoint, headers, body in rows.iterator(chunk_size=ANSWERS_AT_ONCE):
            values = [endpoint, headers, said(body)]
            if mentioned_in(subject.terms, values):
                yield row, values

    def texts(self, tenant_id: UUID, rows: Sequence[UUID]) -> dict[UUID, list[str]]:
        found = self.table.objects.of(tenant_id).filter(id__in=rows).values_list("id", "endpoint", "headers", "body")
        return {row: [endpoint, *texts_in(headers), *texts_in(said(body))] for row, endpoint, headers, body in found}

    def erase(
        self, tenant_id: UUID, subject: Identifiers, rows: tuple[UUID, ...], *, ticked: bool, now: datetime
    ) -> int:
        return idempotency.remove(tenant_id, rows)

    def remains(
        self, tenant_id: UUID, subject: Identifiers, *, chosen: frozenset[UUID], spared: frozenset[UUID]
    ) -> Remains:
        rows = self.table.objects.of(tenant_id).order_by("id").values_list("id", *self.columns)
        texts = (
            (row, whole_text([endpoint, headers, said(body)]))
            for row, endpoint, headers, body in rows.iterator(chunk_size=ANSWERS_AT_ONCE)
        )
        return judged(subject.terms, texts, chosen, spared)


def said(body: str) -> Any:
    """What a stored body says: its JSON value, so that no escape hides a name."""
    try:
        return json.loads(body)
    except ValueError:
        return body


STORED_ANSWERS = StoredAnswers()


# Workspace files as a store of a forget: every version of every file.
#
# A text that names the subject is replaced as a whole, and the version stays. A file whose very path names the subject
# goes with all its versions. What stands on record of a path stays there, counted.


class WorkspaceFiles(RowByRow):
    """Contents, paths and content types."""

    store = "workspace files"
    table = WorkspaceFile
    columns = ("path", "content", "content_type")
    chunk = 16  # a file may have a megabyte

    @transaction.atomic
    def erase_one(self, tenant_id: UUID, row_id: UUID, subject: Identifiers, rule: Rule) -> int:
        """How many versions were changed or are gone."""
        file = workspace.locked(tenant_id, row_id)
        changed: dict[str, Any] = self.cleaned(file, subject, rule) if file else {}
        if file is None or not changed:
            return 0
        if "path" in changed:
            return workspace.remove(tenant_id, file.path)
        workspace.erase_kept(file, **changed)
        return 1


WORKSPACE_FILES = WorkspaceFiles()


# Names of secrets and keys as stores of a forget: what people have called them, and whom they belong to.
#
# A credential goes on as what it is, under a name that nobody else has; a workflow that resolves it by its old name
# fails and says so. What is sealed in a secret is not looked through: it is replaced, not read.


class SecretNames(RowByRow):
    """Names, and the principals or runs that secrets belong to."""

    store = "names of secrets"
    table = Secret
    columns = ("name", "owner")

    @transaction.atomic
    def erase_one(self, tenant_id: UUID, row_id: UUID, subject: Identifiers, rule: Rule) -> bool:
        secret: Secret | None = Secret.objects.of(tenant_id).select_for_update().filter(id=row_id).first()
        changed = self.cleaned(secret, subject, rule) if secret else {}
        if secret and changed:
            vault.erase_names(secret, **dict.fromkeys(changed, f"forgotten-{secret.id.hex}"))
        return bool(changed)


class KeyNames(RowByRow):
    """Names of API keys, and the agents that they are bound to. One that loses an agent stays bound: to nobody."""

    store = "names and agents of keys"
    table = ApiKey
    columns = ("name", "agents")

    @transaction.atomic
    def erase_one(self, tenant_id: UUID, row_id: UUID, subject: Identifiers, rule: Rule) -> bool:
        key: ApiKey | None = ApiKey.objects.of(tenant_id).select_for_update().filter(id=row_id).first()
        changed: dict[str, Any] = self.cleaned(key, subject, rule) if key else {}
        if key and "agents" in changed:
            unnamed = f"forgotten-{key.id.hex}"
            changed["agents"] = [unnamed if each == FORGOTTEN else each for each in changed["agents"]]
        if key and changed:
            access.erase_names(key, **changed)
        return bool(changed)


class OperatorAccounts(Kept):
    """Accounts of this tenant, and the tenant itself; nothing of them is erased."""

    store = "operator accounts"
    covers: Mapping[str, tuple[str, ...]] = {
        "host_operator": ("email",),
        "account_emailaddress": ("email",),
        "host_tenant": ("slug", "name"),
    }

    def find(self, tenant_id: UUID, subject: Identifiers) -> Holding:
        members = Operator.objects.filter(memberships__tenant_id=tenant_id).values_list("email", flat=True)
        stays = sum(is_mentioned(subject.terms, email) for email in members)
        named = Tenant.objects.filter(id=tenant_id).values_list("slug", "name")
        stays += sum(mentioned_in(subject.terms, list(names)) for names in named)
        return Holding(self.store, stays=stays, stays_because=ACCOUNTS_STAY if stays else "")


SECRET_NAMES, KEY_NAMES, OPERATOR_ACCOUNTS = SecretNames(), KeyNames(), OperatorAccounts()
