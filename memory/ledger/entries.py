"""Writes entries: redacted, stored, the fact on the log; one at a time or many at once (SR-1, RFC 0057).

One entry is stored in one statement where the engine can; many with one statement for each table. Derived text is
redacted by every secret of the tenant and by the shapes of secrets, not only by what one run has resolved (SR-1
carry-forward; RFC 0012, 0068), and its ``memory.written`` names no node. The origin that an external agent states is
stored with its entry, and redacted with it.
"""

import hashlib
import json
import re
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cache
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db import connection, transaction

from memory import addresses, consolidation_state, entry_drafts, origins, redaction
from memory.addresses import Address
from memory.entry_drafts import EntryDraft
from memory.host import audit, event_log, ids, sql, vault
from memory.host.errors import CapabilityNotProvided, Conflict, Invalid, NotFound, StreamClosed
from memory.host.events import MemoryWritten
from memory.host.json_types import JSONObject
from memory.host.models import Run, VaultKey
from memory.host.tenancy import MemoryScope, TenantScope
from memory.host.vault import Resealed, VaultLocked
from memory.ledger import index
from memory.ledger.head import WRITER, advance_head, locked_entry, removal_times
from memory.models import EntryOrigin
from memory.models.address import EntryAddress
from memory.models.entry import EntryTag, MemoryEntry, Strength, Tombstone
from memory.origins import Origin
from memory.text import redactor, token_budget
from memory.text.matching import hidden_form, search_form
from memory.text.redactor import Redact, Redactor, unchanged
from memory.text.storable import ESCAPED_SURROGATE

# Only a tag that is a plain word may go on the log, which cannot be erased; any other may hold a name.
LABEL = re.compile(r"[a-z0-9]+(?:[-_.][a-z0-9]+)*")
COLUMNS = (
    "tenant_id", "id", "memory_ref", "content", "search_text", "hidden_text", "tags", "subject", "run_id", "node_id",
    "agent_id", "principal", "created_at", "expires_at", "retired_reason", "tokens", "sha256", "redactions",
    "secret_shapes", "ephemeral",
)  # fmt: skip
INSERT_ENTRY = f"INSERT INTO memory_memoryentry ({', '.join(COLUMNS)}, position) "
ENTRY = ", ".join(["%s"] * len(COLUMNS))
SEARCH_TEXT = 4
INSERT_TAGS = "INSERT INTO memory_entrytag (tenant_id, id, tag) "
TAKE_POSITION = (
    "INSERT INTO memory_ledgerhead (tenant_id, id, position, entries, retired) {values} "
    "ON CONFLICT (tenant_id, id) DO UPDATE SET position = memory_ledgerhead.position + 1, "
    "entries = memory_ledgerhead.entries + 1 RETURNING position"
)
# That the run has resolved these versions of these secrets and no others (``vault.versions_known_to``).
SAME_SECRETS = (
    "(SELECT COALESCE(string_agg(known.secret_id || ':' || held.version, ' ' ORDER BY known.secret_id), '') "
    "FROM host_secretresolution AS known "
    "JOIN host_secret AS held ON held.tenant_id = known.tenant_id AND held.id = known.secret_id "
    "WHERE known.tenant_id = %s AND known.run_id = %s) = %s"
)


@dataclass(frozen=True, slots=True)
class Written:
    """What the ledger stored: the id, and the redacted texts."""

    id: UUID
    memory_ref: str
    content: str
    tags: tuple[str, ...]
    created_at: datetime
    expires_at: datetime | None
    position: int


def write_entry(scope: MemoryScope, draft: EntryDraft, *, run: Run, node_id: str | None, now: datetime) -> Written:
    """Store the entry under ``scope`` and append ``memory.written`` to ``run``; both or neither.

    ``node_id`` is None for a host write, and for nothing else (RFC 0057 B). Raises ``Invalid`` for content that cannot
    be stored, ``NotFound`` when the run is another tenant's, and ``CapabilityNotProvided`` on a read-only host.
    """
    require_writable(scope, run)
    require_plain_ref(scope)
    if sql.is_postgres() and (last := redaction.last_for_run(run.tenant_id, run.id)):
        redactor, secrets = last
        with suppress(Invalid):  # it may only be so with the secrets of then
            entry = redact_draft(scope, draft, redactor.redact, now)
            if written := _store_entry(entry, draft, run, node_id, now, only_with=secrets):
                return written
    entry = redact_draft(scope, draft, redaction.for_run(run.tenant_id, run.id).redact, now)
    written = _store_entry(entry, draft, run, node_id, now)
    if written is None:
        raise StreamClosed
    return written


def _store_entry(
    entry: "RedactedDraft",
    draft: EntryDraft,
    run: Run,
    node_id: str | None,
    now: datetime,
    *,
    only_with: vault.Versions | None = None,
) -> Written | None:
    """Store the redacted entry and append its fact to ``run``; None when the run's log is closed or, on PostgreSQL, it
    has resolved other secrets than ``only_with``."""
    fact = MemoryWritten(entry.memory_ref, entry.id, node_id, draft.agent_id or None, entry.labels)
    row = column_values(entry, draft, run.tenant_id, run.id, node_id, run.principal, now)
    if sql.is_postgres():
        position = _store_at_once(run, entry, row, fact, only_with, now)
    else:
        position = _store_in_steps(run, entry, row, fact, now)
    if position is None:
        return None
    if index.should_index(position, row[SEARCH_TEXT]):
        index.catch_up(run.tenant_id)
    return Written(entry.id, entry.memory_ref, entry.content, entry.tags, now, draft.expires_at, position)


def require_plain_ref(scope: MemoryScope) -> None:
    """Refuse a ref of OpenIntent."""
    if scope.memory_ref.startswith(addresses.PREFIX):
        problem = {"field": "memoryRef", "message": "belongs to OpenIntent, where an entry needs a namespace and a key"}
        raise Invalid("The memory entry cannot be stored.", errors=[problem])


def require_writable(scope: MemoryScope, run: Run) -> None:
    """Refuse a run of another tenant, a replay, a principal that may not write, and a host with read-only memory."""
    if run.tenant_id != scope.tenant_id:
        raise NotFound("There is no run by that id.")
    run.refuse_effects()
    require_open(scope)


def require_open(scope: MemoryScope) -> None:
    """Refuse a principal that may not write, and a host with read-only memory."""
    scope.tenant.check("memory:write")
    if not settings.OPENWOP_MEMORY_WRITABLE:
        raise CapabilityNotProvided("The memory of this host is read-only.", capability="memory.writable")


def require_durable(capability: str) -> None:
    """Refuse, on a host whose memory is gone when it starts again, what would outlive it or is for the long term."""
    if settings.OPENWOP_MEMORY_INSTANCE:
        raise CapabilityNotProvided("The memory of this host is not durable.", capability=capability)


def redact_draft(scope: MemoryScope, draft: EntryDraft, redact: Redact, now: datetime) -> "RedactedDraft":
    """The draft as it will be stored; raises ``Invalid`` when it cannot be."""
    tags = entry_drafts.check_draft(draft, now)
    content = redact(draft.content)
    entry = RedactedDraft(
        id=ids.new_id_at(now),
        memory_ref=redact(scope.memory_ref).text,
        content=content.text,
        tags=tuple(dict.fromkeys(redact(tag).text for tag in tags)),
        subject=redact(draft.subject).text,
        redactions=content.count,
        findable=tuple(redact(text).text for text in draft.findable),
    )
    entry_drafts.require_fitting(memory_ref=entry.memory_ref, subject=entry.subject, tags=entry.tags)
    return entry


@dataclass(frozen=True, slots=True)
class RedactedDraft:
    """A draft after redaction: the only texts that are stored."""

    id: UUID
    memory_ref: str
    content: str
    tags: tuple[str, ...]
    subject: str
    redactions: int
    findable: tuple[str, ...] = ()

    @property
    def labels(self) -> tuple[str, ...]:
        """The tags that may stand on the log: of what has an address none, which is not for all who read the run."""
        if self.memory_ref.startswith(addresses.PREFIX):
            return ()
        return tuple(tag for tag in self.tags if LABEL.fullmatch(tag))


def search_texts(entry: RedactedDraft, hidden: Callable[[str], str] = hidden_form) -> tuple[str, str]:
    """The texts of the entry in search form, and the texts that each of them decodes to. They are decoded one by one:
    in a column, tags look like base64 broken into lines."""
    labels = (*entry.tags, entry.subject, entry.memory_ref, *entry.findable)
    found = dict.fromkeys((hidden_form(entry.content), *map(hidden, labels)))
    return search_form("\n".join((entry.content, *labels))), "\n".join(filter(None, found))


def column_values(
    entry: RedactedDraft,
    draft: EntryDraft,
    tenant_id: UUID,
    run_id: UUID,
    node_id: str | None,
    principal: str,
    now: datetime,
    *,
    hidden: Callable[[str], str] = hidden_form,
) -> list[Any]:
    """The values of ``COLUMNS``, as the engine takes them. ``hidden`` is ``hidden_form`` for labels, which in a batch
    are often the same."""
    search_text, hidden_text = search_texts(entry, hidden)
    return [
        sql.key(tenant_id),
        sql.key(entry.id),
        entry.memory_ref,
        entry.content,
        search_text,
        hidden_text,
        sql.document(entry.tags),
        entry.subject,
        sql.key(run_id),
        node_id or "",
        draft.agent_id,
        principal,
        sql.time_parameter(now),
        sql.time_parameter(draft.expires_at),
        "",
        token_budget.count(entry.content),
        hashlib.sha256(entry.content.encode()).hexdigest(),
        entry.redactions,
        redactor.secret_shapes(entry.content),
        settings.OPENWOP_MEMORY_INSTANCE,
    ]


@cache
def storing_statement(columns: tuple[str, ...] = COLUMNS, *, beside: str = "") -> str:
    """The PostgreSQL statement that follows ``event_log.with_facts`` and stores an entry at once: position, entry,
    tags, and what is ``beside``.

    Its parameters are the tenant twice, the ``columns``, and tenant, id and tags of the entry.
    """
    entry, marks = f"INSERT INTO memory_memoryentry ({', '.join(columns)}, position)", ", ".join(["%s"] * len(columns))
    return (
        f", head AS ({TAKE_POSITION.format(values='SELECT %s, %s, 1, 1, 0 FROM numbered')}), "  # noqa: S608
        f"entry AS ({entry} SELECT {marks}, position FROM head), "
        f"tag AS ({INSERT_TAGS} SELECT %s, %s, tag FROM numbered, unnest(%s::text[]) AS tag) "
        f"{beside} SELECT position FROM head"
    )


def _store_at_once(
    run: Run,
    entry: RedactedDraft,
    row: list[object],
    fact: MemoryWritten,
    only_with: vault.Versions | None,
    now: datetime,
) -> int | None:
    """PostgreSQL: fact, position, entry and tags are one statement, and so one transaction. With ``only_with`` it
    compares the run's secrets as well, which saves the round trip of asking for them first."""
    tenant, run_key = sql.key(run.tenant_id), sql.key(run.id)
    only_if = None if only_with is None else (SAME_SECRETS, [tenant, run_key, versions_text(only_with)])
    parameters = [tenant, tenant, *row, tenant, sql.key(entry.id), list(entry.tags)]
    statement = event_log.with_facts(
        run.tenant_id, run.id, [fact], storing_statement(), parameters, only_if=only_if, now=now
    )
    stored = sql.rows(*statement)
    if not stored:
        return None
    if only_if:
        event_log.tell_followers(run.tenant_id, run.id, [fact], now=now)
    return int(stored[0][0])


def versions_text(versions: vault.Versions) -> str:
    """Return the versions of secrets as ``SAME_SECRETS`` compares them."""
    return " ".join(f"{secret_id}:{version}" for secret_id, version in versions)


@transaction.atomic
def _store_in_steps(run: Run, entry: RedactedDraft, row: list[Any], fact: MemoryWritten, now: datetime) -> int:
    """SQLite, which has no such statement and no round trips to save."""
    tenant, key = sql.key(run.tenant_id), sql.key(entry.id)
    event_log.append(run.tenant_id, run.id, fact, now=now)
    with connection.cursor() as cursor:
        cursor.execute(TAKE_POSITION.format(values="VALUES (%s, %s, 1, 1, 0)"), [tenant, tenant])
        position = int(cursor.fetchone()[0])
        cursor.execute(f"{INSERT_ENTRY} VALUES ({ENTRY}, %s)", [*row, position])
        if entry.tags:
            cursor.executemany(f"{INSERT_TAGS} VALUES (%s, %s, %s)", [[tenant, key, tag] for tag in entry.tags])
    return position


def value_of(row: EntryAddress) -> JSONObject:
    """The value of the entry, opened when it is sealed; refused when the seal does not open or it was tampered with."""
    value = value_or_none(row)
    if value is None:
        raise vault.SealBroken
    return value


def value_or_none(row: EntryAddress) -> JSONObject | None:
    """The value for a list; None when its seal does not open or it was tampered with, so that one does not fail the
    list."""
    text = row.entry.content
    if row.is_sealed:
        if row.sealed is None or row.vault_key is None:
            return None
        try:
            text = vault.open_value(row.vault_key, row.tenant_id, row.id, bytes(row.sealed))
        except VaultLocked:
            return None
    return value_in(text)


def value_in(content: str) -> JSONObject | None:
    """The value that the content of an addressed entry is; None when it was tampered with and is none."""
    try:
        value = json.loads(content)
        if ESCAPED_SURROGATE.search(content):  # as an escape, which we never write; alone it is no text
            json.dumps(value, ensure_ascii=False).encode()
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def reseal(fresh: VaultKey, old: list[VaultKey]) -> Resealed:
    """Every sealed value is under the fresh key of a rotation, but for those that were tampered with: they stay."""

    def reseal_one(row: EntryAddress, key: VaultKey) -> None:
        assert row.sealed is not None
        text = vault.open_value(key, row.tenant_id, row.id, bytes(row.sealed))
        row.sealed, row.vault_key = vault.reseal_value(fresh, row.tenant_id, row.id, text), fresh
        row.save(by=WRITER, update_fields=["sealed", "vault_key"])

    return vault.reseal_in_parts(fresh, old, lambda key: EntryAddress.objects.filter(vault_key=key), reseal_one)


# How many entries are searched for secrets together; with a hit they are searched again one by one.
TOGETHER = 50
OF_ENTRY = (*COLUMNS, "derived", "protected", "sealed")
INSERTED = (*OF_ENTRY, "position")
TAGGED = ("tenant_id", "id", "tag")


@dataclass(frozen=True, slots=True)
class EntryToInsert:
    """An entry as it will be stored, without secrets; which run wrote it where with whose credential, or which kind of
    pass."""

    entry: RedactedDraft
    draft: EntryDraft
    run_id: UUID
    principal: str
    node_id: str | None = None
    derived: str = ""
    protected: bool = False
    sealed: bool = False
    created_at: datetime | None = None  # when that was not now

    @property
    def fact(self) -> MemoryWritten:
        entry = self.entry
        return MemoryWritten(entry.memory_ref, entry.id, self.node_id, self.draft.agent_id or None, entry.labels)


def write_entries(
    scope: MemoryScope, drafts: Sequence[EntryDraft], *, run: Run, node_id: str | None, now: datetime
) -> list[Written]:
    """``write_entry`` for each of the drafts, in their order; all or none."""
    require_plain_ref(scope)
    require_writable(scope, run)
    redactor = redaction.for_run(run.tenant_id, run.id)
    made = [
        EntryToInsert(redact_draft(scope, draft, redact, now), draft, run.id, run.principal, node_id)
        for part in sql.in_chunks(drafts, TOGETHER)
        for redact in [redactor_of(redactor, (scope.memory_ref, *(text for each in part for text in each.texts)))]
        for draft in part
    ]
    if not made:
        return []
    with transaction.atomic():
        event_log.append(run.tenant_id, run.id, *(each.fact for each in made), now=now)
        rows = insert_entries(run.tenant_id, made, now=now)
    return written_entries(made, rows, now)


@dataclass(frozen=True, slots=True)
class AddressedValue:
    """An entry as a caller wants it: the whole of it, at creation and after a change alike."""

    address: Address
    value: JSONObject
    tags: tuple[str, ...] = ()
    expires_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class ImportedEntry:
    """An entry from elsewhere, which keeps its id and its time: with an address, or without one as a draft."""

    entry_id: UUID
    created_at: datetime
    what: EntryDraft | AddressedValue
    origin: Origin | None = None


def known_ids(tenant_id: UUID, entry_ids: Sequence[UUID]) -> dict[UUID, str]:
    """Those of these ids that entries of the tenant have or had, with why one is gone."""
    here = MemoryEntry.objects.of(tenant_id).filter(id__in=entry_ids).values_list("id", flat=True)
    stones = Tombstone.objects.of(tenant_id).filter(id__in=entry_ids).values_list("id", "reason")
    return dict.fromkeys(here, "") | dict(stones)


def redactor_of(redactor: Redactor, texts: Iterable[str]) -> Redact:
    """The redactor of each of ``texts``; the empty one when together they contain no secret."""
    return unchanged if redactor.is_clean(texts) else redactor.redact


def insert_entries(tenant_id: UUID, made: Sequence[EntryToInsert], *, now: datetime) -> list[list[object]]:
    """Insert the entries in their order, with their tags; returns the values of ``INSERTED`` of each.

    The caller appends their facts before, in the same transaction.
    """
    last = advance_head(tenant_id, entries=len(made), retired=0, steps=len(made))
    tenant, hidden = sql.key(tenant_id), cache(hidden_form)
    rows = [
        [*values_to_insert(tenant_id, each, now, hidden=hidden), position]
        for position, each in enumerate(made, last - len(made) + 1)
    ]
    sql.insert(MemoryEntry, INSERTED, rows, by=WRITER)
    tags = [(tenant, sql.key(each.entry.id), tag) for each in made for tag in each.entry.tags]
    sql.insert(EntryTag, TAGGED, tags, by=WRITER)
    index.index_after_bulk(tenant_id, last, len(made), longest=max(len(row[SEARCH_TEXT]) for row in rows))
    return rows


def values_to_insert(
    tenant_id: UUID, made: EntryToInsert, now: datetime, *, hidden: Callable[[str], str] = hidden_form
) -> list[Any]:
    """The values of ``OF_ENTRY``."""
    at = made.created_at or now
    row = column_values(made.entry, made.draft, tenant_id, made.run_id, made.node_id, made.principal, at, hidden=hidden)
    return [*row, made.derived, made.protected, made.sealed]


def written_entries(made: Sequence[EntryToInsert], rows: Sequence[list[Any]], now: datetime) -> list[Written]:
    """What the ledger stored of these."""
    return [
        Written(e.entry.id, e.entry.memory_ref, e.entry.content, e.entry.tags, now, e.draft.expires_at, row[-1])
        for e, row in zip(made, rows, strict=True)
    ]


def stored_entry(tenant_id: UUID, made: EntryToInsert, row: list[object], now: datetime) -> MemoryEntry:
    """The entry that was inserted with these values of ``INSERTED``, without reading it back."""
    values, entry = dict(zip(INSERTED, row, strict=True)), made.entry
    own: JSONObject = {
        "tenant_id": tenant_id,
        "id": entry.id,
        "run_id": sql.as_uuid(values["run_id"]),
        "tags": list(entry.tags),
        "created_at": now,
        "expires_at": made.draft.expires_at,
        "retired_at": None,
        "retired_kind": "",
    }
    stored: MemoryEntry = sql.build_row(MemoryEntry, values | own)
    return stored


@dataclass(frozen=True, slots=True)
class Derivation:
    """An entry to be made, and by which kind of pass: ``merged``, ``compacted`` or ``distilled``."""

    draft: EntryDraft
    derived: str
    protected: bool = False


@transaction.atomic
def write_derived(scope: MemoryScope, made: Sequence[Derivation], *, run: Run, now: datetime) -> list[Written]:
    """The entries are stored in their order, each with its ``memory.written`` on ``run``; all or none."""
    require_writable(scope, run)
    redact = redaction.for_derived(scope.tenant_id)
    prepared = [
        EntryToInsert(
            redact_draft(scope, each.draft, redact, now),
            each.draft,
            run.id,
            run.principal,
            derived=each.derived,
            protected=each.protected,
        )
        for each in made
    ]
    if not prepared:
        return []
    event_log.append(scope.tenant_id, run.id, *(each.fact for each in prepared), now=now)
    return written_entries(prepared, insert_entries(scope.tenant_id, prepared, now=now), now)


def strengthen(tenant_id: UUID, found: Sequence[tuple[UUID, int, datetime]]) -> None:
    """Set how many sources support each entry, and when the last was written; in the transaction of a merge."""
    tenant = sql.key(tenant_id)
    rows = [(tenant, sql.key(entry_id), sources, sql.time_parameter(last)) for entry_id, sources, last in found]
    renewing = ("sources", "last_said_at")
    sql.insert(Strength, ("tenant_id", "id", *renewing), rows, by=WRITER, renewing=renewing)


@transaction.atomic
def protect(scope: TenantScope, entry_id: UUID, *, protected: bool, now: datetime) -> MemoryEntry:
    """Protect the entry from merges and put it first in archives, or end that. Audited. Ending it is a change of the
    ledger: the next pass considers the entry again."""
    scope.check("memory:retire")
    entry = locked_entry(scope.tenant_id, entry_id)
    if entry.protected != protected:
        entry.protected = protected
        entry.save(by=WRITER, update_fields=["protected"])
        if not protected:
            advance_head(scope.tenant_id, entries=0, retired=0)
            consolidation_state.drop(scope.tenant_id, [entry.memory_ref])
        action = "memory.protected" if protected else "memory.unprotected"
        target = ids.wire("mem", entry.id)
        audit.append(scope.tenant_id, actor=scope.principal.id, action=action, target=target, now=now)
    return entry


# A change of an entry's tags on the audit log, by whether the tag was added.
TAG_ACTIONS = {True: "memory.tagged", False: "memory.untagged"}


def require_taggable(entry: MemoryEntry) -> None:
    """Refuse entries whose tags are not a person's to change."""
    if EntryAddress.objects.of(entry.tenant_id).filter(id=entry.id).exists():
        raise Conflict(
            "The tags of an OpenIntent entry are changed at its address, by those who may write its namespace."
        )
    if entry.derived == "distilled":
        raise Conflict("This is the text of an archive, whose tags are the archive's.")


@transaction.atomic
def tag_entry(scope: TenantScope, entry_id: UUID, tag: str, *, tagged: bool, now: datetime) -> MemoryEntry:
    """Put the tag last among the entry's tags, or take it off. Audited. A change of the ledger: searches find the entry
    by the tag at once, and the next pass considers it again. Runs in progress see it too: a tag has no history."""
    scope.check("memory:retire")
    entry = locked_entry(scope.tenant_id, entry_id)
    require_taggable(entry)
    if redaction.for_derived(scope.tenant_id)(tag).text != tag:
        raise Invalid("The tag was not changed.", errors=[{"field": "tag", "message": "holds a secret"}])
    if (tag in entry.tags) == tagged:
        return entry
    tags = entry_drafts.check_tags([*entry.tags, tag] if tagged else [each for each in entry.tags if each != tag])
    entry.tags, before = list(tags), entry.search_text
    entry.search_text, entry.hidden_text = search_texts(
        RedactedDraft(entry.id, entry.memory_ref, entry.content, tags, entry.subject, entry.redactions)
    )
    entry.save(by=WRITER, update_fields=["tags", "search_text", "hidden_text"])
    allowed = EntryTag.objects.written_by(WRITER)
    if tagged:
        allowed.bulk_create([EntryTag(tenant_id=scope.tenant_id, id=entry.id, tag=tag)])
    else:
        allowed.filter(tenant_id=scope.tenant_id, id=entry.id, tag=tag).delete()
    gone = None if tagged else removal_times(now, at_once=False)
    advance_head(scope.tenant_id, entries=0, retired=0, gone=gone)
    index.replace_in_index(scope.tenant_id, entry.position, before, entry.search_text)
    consolidation_state.drop(scope.tenant_id, [entry.memory_ref])
    action, target, said = TAG_ACTIONS[tagged], ids.wire("mem", entry.id), f"Tag: {tag}"
    audit.append(scope.tenant_id, actor=scope.principal.id, action=action, target=target, reason=said, now=now)
    return entry


ORIGIN_COLUMNS = (
    "tenant_id", "id", "entry_id", "run_id", "sequence", "current", "system", "run_ref", "thread_id", "node", "more",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class StatedWrite:
    """A write of an external agent: the run on whose log it is recorded here, and what the agent states."""

    run_id: UUID
    origin: Origin

    def redacted(self, redact: Redact) -> "StatedWrite":
        """Without any secret; refused when it does not fit any more."""
        origin = self.origin.with_texts(lambda text: redact(text).text)
        origins.require_fitting(origin)
        return StatedWrite(self.run_id, origin)


def write_stated(scope: MemoryScope, draft: EntryDraft, origin: Origin | None, *, run: Run, now: datetime) -> Written:
    """``write_entry`` for an external agent, on the ``run`` that represents its own: the log names no node, since the
    agent only states it, and everything is redacted by every secret of the tenant."""
    require_writable(scope, run)
    require_plain_ref(scope)
    redact = redaction.for_tenant(run.tenant_id).redact
    made = EntryToInsert(redact_draft(scope, draft, redact, now), draft, run.id, scope.tenant.principal.id)
    stated = [(made.entry.id, StatedWrite(run.id, origin).redacted(redact))] if origin else []
    with transaction.atomic():
        sequence = event_log.append(run.tenant_id, run.id, made.fact, now=now)
        rows = insert_entries(run.tenant_id, [made], now=now)
        _store_origins(run.tenant_id, [(*each, sequence) for each in stated])
    [written] = written_entries([made], rows, now)
    return written


def import_drafts(placed: Sequence[tuple[MemoryScope, ImportedEntry]], *, run: Run, now: datetime) -> None:
    """Each entry is under its scope, without any secret of the tenant, with its fact on ``run``, and with what was
    stated of it elsewhere; all or none, in their order. Of many refs as of one: each statement costs more than a row.
    """
    for scope in dict.fromkeys(scope for scope, _ in placed):
        require_plain_ref(scope)
        require_writable(scope, run)
    redactor = redaction.for_tenant(run.tenant_id)
    made: list[EntryToInsert] = []
    stated: dict[int, tuple[UUID, StatedWrite]] = {}
    for part in sql.in_chunks(placed, TOGETHER):
        drafts = [(scope, each, each.what) for scope, each in part if isinstance(each.what, EntryDraft)]
        texts = (text for scope, _, draft in drafts for text in (scope.memory_ref, draft.agent_id, *draft.texts))
        redact = redactor_of(redactor, texts)
        for scope, each, draft in drafts:
            if redact(draft.agent_id).count:
                problem = {"field": "agentId", "message": addresses.NEVER_AN_ID}
                raise Invalid("The memory entry cannot be stored.", errors=[problem])
            entry = replace(redact_draft(scope, draft, redact, now), id=each.entry_id)
            if each.origin:
                stated[len(made)] = each.entry_id, StatedWrite(run.id, each.origin).redacted(redactor.redact)
            made.append(EntryToInsert(entry, draft, run.id, run.principal, created_at=each.created_at))
    if not made:
        return
    with transaction.atomic():
        last = event_log.append(run.tenant_id, run.id, *(each.fact for each in made), now=now)
        insert_entries(run.tenant_id, made, now=now)
        first = last - len(made) + 1
        _store_origins(run.tenant_id, [(*each, first + place) for place, each in stated.items()])


def append_stated(
    tenant_id: UUID, facts: Iterable[tuple[MemoryWritten, StatedWrite]], redact: Redact, *, now: datetime
) -> None:
    """Append the facts to the logs of the runs that they are stated to be of, which the caller has locked."""
    rows = [
        (fact.memory_id, stated.redacted(redact), event_log.append(tenant_id, stated.run_id, fact, now=now))
        for fact, stated in facts
    ]
    _store_origins(tenant_id, rows)


def _store_origins(tenant_id: UUID, stated_writes: Iterable[tuple[UUID, StatedWrite, int]]) -> None:
    """Store what was stated of these entries' last writes, with its event's number on the run's log."""
    tenant, key = sql.key(tenant_id), sql.key
    rows = [
        [
            tenant,
            key(ids.new_id()),
            key(entry_id),
            key(stated.run_id),
            sequence,
            True,
            stated.origin.system,
            stated.origin.run_ref,
            stated.origin.thread_id,
            stated.origin.node,
            sql.document(stated.origin.rest),
        ]
        for entry_id, stated, sequence in stated_writes
    ]
    sql.insert(EntryOrigin, ORIGIN_COLUMNS, rows, by=WRITER)


def mark_outdated(tenant_id: UUID, entry_ids: Sequence[UUID]) -> None:
    """The entries are written again: earlier stated origins no longer describe their last writes."""
    rows = EntryOrigin.objects.written_by(WRITER).filter(tenant_id=tenant_id, entry_id__in=entry_ids, current=True)
    rows.update(current=False)
