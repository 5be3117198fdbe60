"""One entry written: redacted, stored, its fact on the log; in one statement where the engine can (SR-1, RFC 0057)."""

import hashlib
import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db import connection, transaction

from memory import addresses, entry_drafts, redaction
from memory.entry_drafts import EntryDraft
from memory.host import event_log, ids, sql, vault
from memory.host.errors import CapabilityNotProvided, Invalid, NotFound, StreamClosed
from memory.host.events import MemoryWritten
from memory.host.json_types import JSONObject
from memory.host.models import Run, VaultKey
from memory.host.tenancy import MemoryScope
from memory.host.vault import Resealed, VaultLocked
from memory.ledger import index
from memory.ledger.head import WRITER
from memory.models.address import EntryAddress
from memory.models.entry import MemoryEntry
from memory.text import redactor, token_budget
from memory.text.matching import hidden_form, search_form
from memory.text.redactor import Redacted

Redact = Callable[[str], Redacted]
# Only a tag that is a plain word may go on the log, which cannot be erased; any other may hold a name.
LABEL = re.compile(r"[a-z0-9]+(?:[-_.][a-z0-9]+)*")
COLUMNS = (
    "tenant_id", "id", "memory_ref", "content", "search_text", "hidden_text", "tags", "subject", "run_id", "node_id",
    "agent_id", "created_at", "expires_at", "retired_reason", "tokens", "sha256", "redactions", "secret_shapes",
    "ephemeral",
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
    entry = redacted(scope, draft, redaction.for_run(run.tenant_id, run.id).redact, now)
    return store(entry, draft, run=run, node_id=node_id, now=now)


def store(entry: "Redraft", draft: EntryDraft, *, run: Run, node_id: str | None, now: datetime) -> Written:
    """Store the redacted entry and append its fact to ``run``."""
    fact = MemoryWritten(entry.memory_ref, entry.id, node_id, draft.agent_id or None, entry.labels)
    row = row_of(entry, draft, run.tenant_id, run.id, node_id, now)
    position = (_store_at_once if sql.is_postgres() else _store_in_steps)(run, entry, row, fact, now)
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


def redacted(scope: MemoryScope, draft: EntryDraft, redact: Redact, now: datetime) -> "Redraft":
    """The draft as it will be stored; raises ``Invalid`` when it cannot be."""
    tags = entry_drafts.checked(draft, now)
    content = redact(draft.content)
    entry = Redraft(
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
class Redraft:
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


def search_texts(entry: Redraft, hidden: Callable[[str], str] = hidden_form) -> tuple[str, str]:
    """The texts of the entry in search form, and the texts that each of them decodes to. They are decoded one by one:
    in a column, tags look like base64 broken into lines."""
    labels = (*entry.tags, entry.subject, entry.memory_ref, *entry.findable)
    found = dict.fromkeys((hidden_form(entry.content), *map(hidden, labels)))
    return search_form("\n".join((entry.content, *labels))), "\n".join(filter(None, found))


def row_of(
    entry: Redraft,
    draft: EntryDraft,
    tenant_id: UUID,
    run_id: UUID,
    node_id: str | None,
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
        sql.instant(now),
        sql.instant(draft.expires_at),
        "",
        token_budget.count(entry.content),
        hashlib.sha256(entry.content.encode()).hexdigest(),
        entry.redactions,
        redactor.secret_shapes(entry.content),
        settings.OPENWOP_MEMORY_INSTANCE,
    ]


def stored(
    tenant_id: UUID, made: Redraft, values: dict[str, Any], now: datetime, expires_at: datetime | None
) -> MemoryEntry:
    """The entry inserted with these column values, without reading it back."""
    own = {"tenant_id": tenant_id, "id": made.id, "run_id": sql.as_uuid(values["run_id"]), "tags": list(made.tags)}
    return MemoryEntry(**(values | own | {"created_at": now, "expires_at": expires_at}))


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


def _store_at_once(run: Run, entry: Redraft, row: list[Any], fact: MemoryWritten, now: datetime) -> int:
    """PostgreSQL: fact, position, entry and tags are one statement, and so one transaction."""
    tenant = sql.key(run.tenant_id)
    parameters = [tenant, tenant, *row, tenant, sql.key(entry.id), list(entry.tags)]
    stored = sql.rows(*event_log.with_facts(run.tenant_id, run.id, [fact], storing_statement(), parameters, now=now))
    if not stored:
        raise StreamClosed
    return int(stored[0][0])


@transaction.atomic
def _store_in_steps(run: Run, entry: Redraft, row: list[Any], fact: MemoryWritten, now: datetime) -> int:
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
    """The value of the entry, opened when it is sealed; refused when the seal does not open."""
    value = value_or_none(row)
    if value is None:
        raise vault.SealBroken
    return value


def value_or_none(row: EntryAddress) -> JSONObject | None:
    """The value for a list; None when its seal does not open, so that one broken seal does not fail the list."""
    text = row.entry.content
    if row.is_sealed:
        if row.sealed is None or row.vault_key is None:
            return None
        try:
            text = vault.open_value(row.vault_key, row.tenant_id, row.id, bytes(row.sealed))
        except VaultLocked:
            return None
    value: JSONObject = json.loads(text)
    return value


def reseal(fresh: VaultKey, old: list[VaultKey]) -> Resealed:
    """Every sealed value is under the fresh key of a rotation, but for those that were tampered with: they stay."""

    def reseal_one(row: EntryAddress, key: VaultKey) -> None:
        assert row.sealed is not None
        text = vault.open_value(key, row.tenant_id, row.id, bytes(row.sealed))
        row.sealed, row.vault_key = vault.reseal_value(fresh, row.tenant_id, row.id, text), fresh
        row.save(by=WRITER, update_fields=["sealed", "vault_key"])

    return vault.reseal_in_parts(fresh, old, lambda key: EntryAddress.objects.filter(vault_key=key), reseal_one)
