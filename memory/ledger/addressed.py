"""Addressed entries (RFC-0015): found, locked, written and renewed at their address."""

import hashlib
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import IntegrityError, transaction
from django.db.models import Exists, OuterRef

from memory import addresses, consolidation_state, event_notes, redaction
from memory.addresses import PRIORITIES, Address, Tier
from memory.entry_drafts import EntryDraft
from memory.event_notes import Note
from memory.host import sql, tenancy, vault
from memory.host.errors import Invalid, KeyExists, NotFound, StreamClosed
from memory.host.events import (
    EntryCreated,
    EntryDeleted,
    EntryEvicted,
    EntryExpired,
    EntryLifecycle,
    EntryUpdated,
    Event,
    MemoryWritten,
)
from memory.host.models import Run
from memory.host.tenancy import MemoryScope, TenantScope
from memory.ledger import entries, index
from memory.ledger.entries import AddressedValue, EntryToInsert, ImportedEntry, RedactedDraft, StatedWrite
from memory.ledger.head import WRITER, advance_head, lock_entries, removal_times
from memory.models import EntryOrigin
from memory.models.address import EntryAddress
from memory.models.entry import EntryTag
from memory.text import token_budget
from memory.text.redactor import MARK, Redact, Redacted, Redactor, in_strings, secret_shapes, strings_in

# To its agent a forgotten entry was deleted; the fact of an archived one is appended by the archival.
REMOVALS: dict[str, type[EntryLifecycle]] = {
    "deleted": EntryDeleted,
    "forgotten": EntryDeleted,
    "evicted": EntryEvicted,
    "expired": EntryExpired,
}
# The conditions are those of the two indexes, word for word: no other rows are looked at.
OWNED = (
    "SELECT id FROM memory_entryaddress WHERE tenant_id = %s AND agent_id = %s AND namespace = %s "
    "AND {} AND NOT (tier = 'semantic') AND NOT hidden"
)
SHARED = (
    "SELECT id FROM memory_entryaddress WHERE tenant_id = %s AND namespace = %s "
    "AND {} AND tier = 'semantic' AND NOT hidden"
)
BY_KEY = '"key" = %s'
# The secrets of a tenant, whose versions begin at 1.
HELD = "SELECT version, id FROM host_secret WHERE tenant_id = %s"
ACTOR = "X-Agent-ID"
# The columns that hold names, and the request fields they come from.
NAMES = {
    "agent_id": "agent_id",
    "task_id": "scope.task_id",
    "intent_id": "scope.intent_id",
    "created_by": ACTOR,
    "curated_by": ACTOR,
}
# What a change replaces of an address, and of the entry itself.
OF_ADDRESS = ("pinned", "priority", "sensitivity", "ttl", "curated_by", "size", "sealed", "vault_key")
OF_ENTRY = (
    "content", "tags", "position", "expires_at", "search_text", "hidden_text", "tokens", "secret_shapes", "sha256",
    "redactions", "sealed", "protected", "principal",
)  # fmt: skip
# The columns of a new address, besides its key, its times and its seal.
AS_GIVEN = (
    "tier", "agent_id", "namespace", "key", "task_id", "intent_id", "pinned", "priority", "sensitivity", "ttl",
    "created_by", "curated_by", "size", "sealed",
)  # fmt: skip
ADDRESS_COLUMNS = (
    "tenant_id", "id", "created_at", "updated_at", "accessed_at", "version", "hidden", "vault_key_id", *AS_GIVEN,
)  # fmt: skip
ADDRESS = (
    f", address AS (INSERT INTO memory_entryaddress ({', '.join(ADDRESS_COLUMNS)}) "  # noqa: S608
    f"SELECT {', '.join(['%s'] * len(ADDRESS_COLUMNS))} FROM head)"
)
BY = "by"
NOTHING_SAID: Note = {}
NOTHING_STATED: Mapping[UUID, StatedWrite] = {}
Told = tuple[UUID, Event, Note]
Streams = dict[UUID, list[tuple[Event, Note]]]


def note_of(address: EntryAddress, tags: Sequence[str], by: str) -> Note:
    """What the events of an entry say beyond ids (RFC-0015 5.2, R67), and for operators the principal who did it.

    The protocol's actor is an agent, never a key (R70); which key acted as it is for who looks into a leak.
    """
    scope = {name: text for name in ("task_id", "intent_id") if (text := getattr(address, name))}
    return {
        "namespace": address.namespace,
        "key": address.key,
        "tags": list(tags),
        **({"scope": scope} if scope else {}),
        **({BY: by} if by else {}),
    }


def lifecycle_event(kind: type[EntryLifecycle], address: EntryAddress, actor: str, **more: Any) -> EntryLifecycle:
    return kind(
        entry_id=address.id,
        tier=address.tier,
        version=address.version,
        agent_id=address.agent_id,
        actor=actor or address.agent_id,
        **more,
    )


def record_removal(
    tenant_id: UUID, rows: list[UUID], *, reason: str, actor: str, by: str, said: Note = NOTHING_SAID, now: datetime
) -> None:
    """Append the facts of those of ``rows`` that have an address, each to the stream of the run that wrote it.

    ``by`` is the principal who had them removed, empty for the host; ``said`` is what was said of it, redacted.
    """
    if kind := REMOVALS.get(reason):
        _record(tenant_id, rows, kind, named=reason != "forgotten", actor=actor, by=by, said=said, now=now)


def record_return(tenant_id: UUID, rows: list[UUID], *, actor: str, by: str, said: Note, now: datetime) -> None:
    """Append that those of ``rows`` that have an address are there again: to their agents they are created anew."""
    _record(tenant_id, rows, EntryCreated, named=True, actor=actor, by=by, said=said, now=now)


def _record(
    tenant_id: UUID,
    rows: list[UUID],
    kind: type[EntryLifecycle],
    *,
    named: bool,
    actor: str,
    by: str,
    said: Note,
    now: datetime,
) -> None:
    found = EntryAddress.objects.of(tenant_id).filter(id__in=rows).select_related("entry").order_by("id")
    actor = redaction.for_tenant(tenant_id).redact(actor).text if actor else actor
    streams: Streams = {}
    for address in found:
        note = note_of(address, address.entry.tags, by) | said if named else {}
        streams.setdefault(address.entry.run_id, []).append((lifecycle_event(kind, address, actor), note))
    _append_facts(tenant_id, streams, now)


def release_keys(tenant_id: UUID, rows: list[UUID]) -> None:
    """Free the keys of retired entries."""
    among = sql.is_among("id", rows)
    EntryAddress.objects.written_by(WRITER).filter(among, tenant_id=tenant_id).update(hidden=True)


def without_occupied_keys(tenant_id: UUID, rows: list[UUID]) -> list[UUID]:
    """Those of the retired ``rows`` that can have their keys again: no live entry has them, nor an earlier one of
    ``rows``."""
    addresses = EntryAddress.objects.of(tenant_id).filter(id__in=rows).order_by("id")
    wanted = {row.id: Address(Tier(row.tier), row.agent_id, row.namespace, row.key) for row in addresses}
    having = EntryAddress.objects.of(tenant_id).filter(id__in=find_by_keys(tenant_id, list(wanted.values())))
    taken = {row.unique for row in having}
    left: set[UUID] = set()
    for entry_id, address in wanted.items():
        if address.unique in taken:
            left.add(entry_id)
        taken.add(address.unique)
    return [row for row in rows if row not in left]


def reclaim_keys(tenant_id: UUID, rows: list[UUID]) -> None:
    """Give the restored entries their keys back; refused when another entry has one."""
    try:
        with transaction.atomic():
            EntryAddress.objects.written_by(WRITER).filter(tenant_id=tenant_id, id__in=rows).update(hidden=False)
    except IntegrityError:
        raise KeyExists("Another entry has that key now; remove it before you restore this one.") from None


# Entries that have an address, as they are stored: locked and accessed.
def lock_address(
    tenant_id: UUID, entry_id: UUID, *, beside: Collection[UUID] = (), runs: Collection[UUID] = ()
) -> EntryAddress:
    """The address with its entry, locked until the transaction ends, also of a retired or lapsed entry.

    Lock order: streams (its own and of these ``runs``), the entry, then its address, with the entries of ``beside``
    that change with it.
    """
    lock_entries(tenant_id, runs=runs, entries=[entry_id, *beside])
    for row in lock_addresses(tenant_id, [entry_id]):
        return row
    raise NotFound("There is no memory entry by that id.")


def lock_addresses(tenant_id: UUID, entries: Sequence[UUID]) -> list[EntryAddress]:
    """The addresses of entries that are held already, locked in the order of their ids; those there are."""
    stated = EntryOrigin.objects.filter(tenant_id=OuterRef("tenant_id"), entry_id=OuterRef("id"), current=True)
    rows = EntryAddress.objects.of(tenant_id).select_for_update(of=("self",)).select_related("entry")
    rows = rows.annotate(**{"is_stated": Exists(stated)})  # noqa: PIE804  # mypy: the model has the attribute
    return [row for part in sql.in_chunks(sorted(entries)) for row in rows.filter(id__in=part).order_by("id")]


@transaction.atomic
def touch(tenant_id: UUID, rows: Sequence[UUID], *, now: datetime) -> None:
    """Record that the owner has read these, so that they are evicted last (R37). Rows locked by another transaction are
    skipped."""
    free = EntryAddress.objects.of(tenant_id).select_for_update(of=("self",), skip_locked=True)
    found = list(free.filter(id__in=rows).values_list("id", flat=True))
    EntryAddress.objects.written_by(WRITER).filter(tenant_id=tenant_id, id__in=found).update(accessed_at=now)


# Which entry has a key (RFC-0015 1.2). Every write checks, and mostly the key is free: hence SQL by hand.
def find_by_key(tenant_id: UUID, address: Address) -> EntryAddress | None:
    """The entry with that key, lapsed or not; never a retired one, whose key is free."""
    for entry_id in _ids_at(tenant_id, address, [address.key]):
        rows = EntryAddress.objects.of(tenant_id).select_related("entry", "vault_key")
        found: EntryAddress | None = rows.filter(id=entry_id).first()
        return found
    return None


def find_by_key_without_secrets(tenant_id: UUID, address: Address) -> tuple[Redactor, Address, EntryAddress | None]:
    """The tenant's redactor, the address without its secrets, and the entry with that key: one statement, where the key
    is free and has no secret in it."""
    shared = address.tier == Tier.SEMANTIC
    at_key = (SHARED if shared else OWNED).format(BY_KEY)
    statement = f"{HELD} UNION ALL SELECT 0, id FROM ({at_key}) AS at_key"  # noqa: S608
    owner, tenant = [] if shared else [address.agent_id], sql.key(tenant_id)
    found = sql.rows(statement, [tenant, tenant, *owner, address.namespace, address.key])
    versions = sorted((sql.as_uuid(secret_id), version) for version, secret_id in found if version)
    redactor = redaction.for_versions(tenant_id, tuple(versions))
    [place] = redacted_addresses(redactor, [address])
    is_free = place == address and len(versions) == len(found)
    return redactor, place, None if is_free else find_by_key(tenant_id, place)


def find_by_keys(tenant_id: UUID, wanted: Sequence[Address]) -> list[UUID]:
    """The entries with these keys, unordered; one query for all keys of one namespace."""
    places: dict[object, list[Address]] = {}
    for each in wanted:
        shared = each.tier == Tier.SEMANTIC
        places.setdefault((shared, each.namespace, None if shared else each.agent_id), []).append(each)
    return [
        entry_id for those in places.values() for entry_id in _ids_at(tenant_id, those[0], [each.key for each in those])
    ]


def _ids_at(tenant_id: UUID, address: Address, keys: Sequence[str]) -> list[UUID]:
    shared = address.tier == Tier.SEMANTIC
    owner = [] if shared else [address.agent_id]
    condition, among = sql.among('"key"', keys) if len(keys) > 1 else (BY_KEY, keys[0])
    statement = (SHARED if shared else OWNED).format(condition)
    found = sql.rows(statement, [sql.key(tenant_id), *owner, address.namespace, among])
    return [sql.as_uuid(entry_id) for (entry_id,) in found]


# Preparing the input of an addressed entry: redacted, with its memory_ref (SR-1).
#
# What is text is redacted. What names an agent, a task or an intent is an id that must not change, and is refused.


class _Counting:
    """Redacts, and counts what it has replaced."""

    def __init__(self, redact: Redact) -> None:
        self._redact, self.count = redact, 0

    def text(self, text: str) -> str:
        found = self._redact(text)
        self.count += found.count
        return found.text


def redact_given(redact: Redact, given: AddressedValue, *, actor: str, names: bool) -> tuple[AddressedValue, int]:
    """The entry without any secret of the tenant, and how many places were replaced: an addressed write has no run
    whose resolved secrets would do. Refuses an ``actor``, and with ``names`` an address, that contains a secret."""
    _require_plain(redact, ACTOR, actor)
    for name, field in NAMES.items() if names else ():
        _require_plain(redact, field, getattr(given.address, name))
    counting = _Counting(redact)
    namespace, key = (counting.text(text) for text in (given.address.namespace, given.address.key))
    address = replace(given.address, namespace=namespace, key=key)
    tags = tuple(counting.text(tag) for tag in given.tags)
    value = in_strings(given.value, counting.text)
    return replace(given, address=address, value=value, tags=tags), counting.count


def redacted_addresses(redactor: Redactor, given: Sequence[Address]) -> list[Address]:
    """The addresses with every secret of the tenant replaced."""
    return [
        replace(each, namespace=redactor.redact(each.namespace).text, key=redactor.redact(each.key).text)
        for each in given
    ]


def has_mark(given: AddressedValue) -> bool:
    """Whether any of these texts was redacted earlier."""
    texts = (addresses.canonical(given.value), given.address.namespace, given.address.key, *given.tags)
    return any(MARK in text for text in texts)


def _texts_of(given: AddressedValue) -> Iterator[str]:
    """All of it that may hold a secret."""
    address = given.address
    yield from (address.namespace, address.key, *given.tags, *(getattr(address, name) for name in NAMES))
    yield from strings_in(given.value)


def _require_plain(redact: Redact, field: str, name: str) -> None:
    """Refuse a secret as a name; which one it is is not said again."""
    if redact(name).count:
        problem = {"field": field, "message": addresses.NEVER_AN_ID}
        raise Invalid("The memory entry cannot be stored.", errors=[problem])


def scope_of_address(scope: TenantScope, address: Address) -> MemoryScope:
    """The scope of the memory_ref that follows from the address; refused when its names do not fit there."""
    if max(len(address.namespace), len(address.key)) > addresses.MAX_NAME:
        message = f"is longer than {addresses.MAX_NAME} characters once its secrets are replaced"
        raise Invalid("The memory entry cannot be stored.", errors=[{"field": "key", "message": message}])
    place = tenancy.memory_scope_without_rules(scope, address.memory_ref)
    if place is None:
        problem = {"field": "namespace", "message": "cannot be part of a memory ref"}
        raise Invalid("The memory entry cannot be stored.", errors=[problem])
    return place


def draft_of(given: AddressedValue) -> EntryDraft:
    """The entry as the ledger stores every entry."""
    address = given.address
    return EntryDraft(
        content=addresses.kept_form(address, given.value),
        tags=given.tags,
        agent_id=address.agent_id,
        expires_at=given.expires_at,
        findable=(address.namespace, address.key),
    )


# Entries with addresses stored and changed, any number in one go (RFC-0015 1 to 3; R100): redacted, with their facts.
#
# What is the same for all of them is asked once. Who calls has locked what they change (``lock_entries``). A
# confidential or restricted value is sealed before anything is stored, and is nowhere in clear.
@dataclass(frozen=True, slots=True)
class NewAddressedEntry:
    """An entry to be stored, the stream of its facts, and the task it belongs to or what made it. With ``stated``,
    ``memory.written`` goes to the log of the external run."""

    given: AddressedValue
    run_id: UUID
    node_id: str
    imported: ImportedEntry | None = None
    stated: StatedWrite | None = None


@dataclass(frozen=True, slots=True)
class _RedactedAddressed:
    """An entry as it will be stored: without secrets, its value sealed where it has to be."""

    draft: EntryDraft
    entry: RedactedDraft
    address: EntryAddress


def import_addressed(
    scope: TenantScope, imported: Sequence[ImportedEntry], *, run: Run, logs: Mapping[str, UUID], now: datetime
) -> None:
    """``write_addressed`` for entries from elsewhere, each on the log of its agent; what is stated of them stands on
    that of ``run``."""
    new = [
        NewAddressedEntry(
            each.what,
            logs[each.what.address.agent_id],
            "",
            each,
            StatedWrite(run.id, each.origin) if each.origin else None,
        )
        for each in imported
        if isinstance(each.what, AddressedValue)
    ]
    write_addressed(scope, new, actor="", now=now)


def write_addressed(
    scope: TenantScope, new: Sequence[NewAddressedEntry], *, actor: str, now: datetime, redactor: Redactor | None = None
) -> list[EntryAddress]:
    """Store the entries at their addresses in order, each with ``memory.written`` and RFC-0015's fact on its run; all
    or none. Raises ``KeyExists`` when an address is occupied, after which the caller's transaction is unusable, and
    otherwise as ``write_entry``.

    ``redactor`` is the tenant's, from a caller that looked it up under its own locks; by default it is looked up here.
    """
    redactor = redactor or redaction.for_tenant(scope.tenant_id)
    texts = [text for each in new for text in _texts_of(each.given)]
    redact = entries.redactor_of(redactor, (actor, *texts)) if len(new) > 1 else redactor.redact
    ready = [_redact_new(scope, each, redact, actor, now) for each in new]
    prepared = [_to_insert(each, made, scope.principal.id) for each, made in zip(new, ready, strict=True)]
    streams = _by_stream(_created(new, ready, actor, scope.principal.id))
    store = _store_at_once if len(new) == 1 and sql.is_postgres() else _store_in_steps
    try:
        with transaction.atomic(savepoint=False):  # the caller's own ends with what is refused here
            stored = store(scope.tenant_id, streams, prepared, ready, now)
            _append_stated(scope.tenant_id, [each.stated for each in new], ready, redact, now)
    except IntegrityError:
        raise KeyExists from None
    for made, each, row in zip(ready, prepared, stored, strict=True):
        made.address.entry = entries.stored_entry(scope.tenant_id, each, row, each.created_at or now)
    return [each.address for each in ready]


def _store_at_once(
    tenant_id: UUID,
    streams: Streams,
    prepared: Sequence[EntryToInsert],
    ready: Sequence[_RedactedAddressed],
    now: datetime,
) -> list[list[Any]]:
    """PostgreSQL, of a single entry: facts, notes, position, entry, tags and address are one statement."""
    [made], [each], [(stream_id, noted)] = prepared, ready, streams.items()
    tenant, row = sql.key(tenant_id), entries.values_to_insert(tenant_id, made, now)
    own = [tenant, sql.key(made.entry.id), list(made.entry.tags)]
    parameters = [tenant, tenant, *row, *own, *_values(each.address)]
    change = entries.storing_statement(entries.OF_ENTRY, beside=ADDRESS)
    stored = sql.rows(*event_notes.with_notes(tenant_id, stream_id, noted, change, parameters, now=now))
    if not stored:
        raise StreamClosed
    position = int(stored[0][0])
    if index.should_index(position, row[entries.SEARCH_TEXT]):
        index.catch_up(tenant_id)
    return [[*row, position]]


def _store_in_steps(
    tenant_id: UUID,
    streams: Streams,
    prepared: Sequence[EntryToInsert],
    ready: Sequence[_RedactedAddressed],
    now: datetime,
) -> list[list[Any]]:
    _append_facts(tenant_id, streams, now)
    stored = entries.insert_entries(tenant_id, prepared, now=now)
    sql.insert(EntryAddress, ADDRESS_COLUMNS, [_values(each.address) for each in ready], by=WRITER)
    return stored


def _append_stated(
    tenant_id: UUID,
    stated: Sequence[StatedWrite | None],
    ready: Sequence[_RedactedAddressed],
    redact: Redact,
    now: datetime,
) -> None:
    stated_facts = [
        (_written(made.entry, made.address.id, "", made.draft.agent_id), each)
        for each, made in zip(stated, ready, strict=True)
        if each
    ]
    if stated_facts:
        entries.append_stated(tenant_id, stated_facts, redact, now=now)


def rewrite(
    scope: TenantScope,
    row: EntryAddress,
    given: AddressedValue,
    *,
    actor: str,
    stated: StatedWrite | None = None,
    now: datetime,
) -> EntryAddress:
    """``rewrite_all`` for one entry."""
    return rewrite_all(scope, [(row, given)], actor=actor, stated={row.id: stated} if stated else {}, now=now)[0]


@transaction.atomic
def rewrite_all(
    scope: TenantScope,
    changes: Sequence[tuple[EntryAddress, AddressedValue]],
    *,
    actor: str,
    stated: Mapping[UUID, StatedWrite] = NOTHING_STATED,
    now: datetime,
) -> list[EntryAddress]:
    """The locked entries are as given from here on, each in its next version, with its facts (RFC-0015 3).

    They are changes of the ledger: runs that started before see the entries no more, neither as they were nor as they
    are. Tier, owner, namespace, key and scope stay as they are. ``stated`` has the runs elsewhere that write, by entry.
    """
    tenant_id, rows = scope.tenant_id, [row for row, _ in changes]
    redactor = redaction.for_tenant(tenant_id)
    ready = [_redact_changed(scope, row, given, redactor, actor, now) for row, given in changes]
    before = [(row.entry.position, row.entry.search_text) for row in rows]
    gone = removal_times(
        now, at_once=any(row.is_sealed or each.address.is_sealed for row, each in zip(rows, ready, strict=True))
    )
    for row, each in zip(rows, ready, strict=True):
        _apply_next_version(row, each, scope.principal.id)
    _append_facts(tenant_id, _by_stream(_updated(rows, ready, actor, scope.principal.id, stated)), now)
    last = advance_head(tenant_id, entries=0, retired=0, steps=len(rows), gone=gone)
    index.remove_from_index(tenant_id, before)
    first = last - len(rows) + 1
    for position, row in enumerate(rows, first):
        row.entry.position = position
        row.entry.save(by=WRITER, update_fields=OF_ENTRY)
        row.save(by=WRITER, update_fields=["version", "updated_at", "accessed_at", *OF_ADDRESS])
    _replace_tags(tenant_id, rows)
    if stated_ids := [row.id for row in rows if row.is_stated]:
        entries.mark_outdated(tenant_id, stated_ids)
    _append_stated(tenant_id, [stated.get(row.id) for row in rows], ready, redactor.redact, now)
    index.index_after_bulk(tenant_id, last, len(rows), longest=max(len(row.entry.search_text) for row in rows))
    consolidation_state.drop(tenant_id, sorted({row.entry.memory_ref for row in rows}))
    return rows


def _redact_new(
    scope: TenantScope, new: NewAddressedEntry, redact: Redact, actor: str, now: datetime
) -> _RedactedAddressed:
    redacted, count = redact_given(redact, new.given, actor=actor, names=True)
    if new.imported is None:
        return _check_and_seal(scope, redacted, count, None, now)
    made = _check_and_seal(scope, redacted, count, new.imported.entry_id, now)
    row, at = made.address, new.imported.created_at
    row.created_at = row.updated_at = row.accessed_at = at
    return made


def _redact_changed(
    scope: TenantScope, row: EntryAddress, given: AddressedValue, redactor: Redactor, actor: str, now: datetime
) -> _RedactedAddressed:
    redacted, count = redact_given(redactor.redact, given, actor=actor, names=False)
    count = count or (row.entry.redactions if has_mark(redacted) else 0)
    return _check_and_seal(scope, redacted, count, row.id, now)


def _check_and_seal(
    scope: TenantScope, given: AddressedValue, count: int, known: UUID | None, now: datetime
) -> _RedactedAddressed:
    place = scope_of_address(scope, given.address)
    entries.require_open(place)
    draft = draft_of(given)
    entry = entries.redact_draft(place, draft, lambda text: Redacted(text, count), now)
    entry = replace(entry, id=known) if known else entry
    return _RedactedAddressed(draft, entry, _row(scope.tenant_id, entry.id, given, now))


def _row(tenant_id: UUID, entry_id: UUID, given: AddressedValue, now: datetime) -> EntryAddress:
    address = given.address
    key, sealed = None, None
    if address.is_sealed:
        key, sealed = vault.seal_value(tenant_id, entry_id, addresses.canonical(given.value), now=now)
    return EntryAddress(
        tenant_id=tenant_id,
        id=entry_id,
        tier=address.tier,
        agent_id=address.agent_id,
        namespace=address.namespace,
        key=address.key,
        task_id=address.task_id,
        intent_id=address.intent_id,
        pinned=address.pinned,
        priority=PRIORITIES.index(address.priority),
        sensitivity=address.sensitivity,
        ttl=address.ttl,
        created_by=address.created_by,
        curated_by=address.curated_by,
        created_at=now,
        updated_at=now,
        accessed_at=now,
        size=addresses.size_of(given.value),
        sealed=sealed,
        vault_key=key,
    )


def _created(
    new: Sequence[NewAddressedEntry], ready: Sequence[_RedactedAddressed], actor: str, by: str
) -> Iterable[Told]:
    for each, made in zip(new, ready, strict=True):
        entry, row = made.entry, made.address
        known = each.node_id if each.node_id and row.task_id == each.node_id else None
        if each.stated is None:
            yield each.run_id, _written(entry, row.id, each.node_id, made.draft.agent_id), {}
        yield each.run_id, lifecycle_event(EntryCreated, row, actor, task_id=known), note_of(row, entry.tags, by)


def _updated(
    rows: Sequence[EntryAddress],
    ready: Sequence[_RedactedAddressed],
    actor: str,
    by: str,
    stated: Mapping[UUID, StatedWrite],
) -> Iterable[Told]:
    for row, made in zip(rows, ready, strict=True):
        run_id, node_id = row.entry.run_id, row.entry.node_id
        known = row.task_id if node_id and row.task_id == node_id else None
        if row.id not in stated:
            yield run_id, _written(made.entry, row.id, node_id, actor), {}
        fact = lifecycle_event(EntryUpdated, row, actor, previous_version=row.version - 1, task_id=known)
        yield run_id, fact, note_of(row, made.entry.tags, by)


def _written(entry: RedactedDraft, entry_id: UUID, node_id: str, agent_id: str) -> MemoryWritten:
    return MemoryWritten(entry.memory_ref, entry_id, node_id or None, agent_id or None, entry.labels)


def _by_stream(facts: Iterable[Told]) -> Streams:
    streams: Streams = {}
    for stream_id, fact, note in facts:
        streams.setdefault(stream_id, []).append((fact, note))
    return streams


def _append_facts(tenant_id: UUID, streams: Streams, now: datetime) -> None:
    """The facts stand on their streams, on each in their order."""
    for stream_id, noted in sorted(streams.items()):
        event_notes.append(tenant_id, stream_id, noted, now=now)


def _to_insert(new: NewAddressedEntry, made: _RedactedAddressed, principal: str) -> EntryToInsert:
    address = made.address
    return EntryToInsert(
        made.entry,
        made.draft,
        new.run_id,
        principal,
        new.node_id,
        protected=address.pinned,
        sealed=address.sealed is not None,
        created_at=new.imported.created_at if new.imported else None,
    )


def _values(row: EntryAddress) -> list[Any]:
    """The values of ``ADDRESS_COLUMNS``, as the engine takes them."""
    key, at = sql.key, sql.time_parameter(row.created_at)
    own = [key(row.tenant_id), key(row.id), at, at, at, row.version, row.hidden, key(row.vault_key_id)]
    return [*own, *(getattr(row, name) for name in AS_GIVEN)]


def _apply_next_version(row: EntryAddress, made: _RedactedAddressed, principal: str) -> None:
    """The row and its entry say what the next version says; nothing is stored yet."""
    entry, fresh, after = row.entry, made.address, made.entry
    row.version, row.updated_at, row.accessed_at = row.version + 1, fresh.updated_at, fresh.accessed_at
    for name in OF_ADDRESS:
        setattr(row, name, getattr(fresh, name))
    entry.content, entry.tags, entry.expires_at = after.content, list(after.tags), made.draft.expires_at
    entry.search_text, entry.hidden_text = entries.search_texts(after)
    entry.tokens, entry.secret_shapes = token_budget.count(after.content), secret_shapes(after.content)
    entry.sha256 = hashlib.sha256(after.content.encode()).hexdigest()
    entry.redactions, entry.sealed, entry.protected = after.redactions, row.sealed is not None, row.pinned
    entry.principal = principal


def _replace_tags(tenant_id: UUID, rows: Sequence[EntryAddress]) -> None:
    allowed = EntryTag.objects.written_by(WRITER)
    allowed.filter(tenant_id=tenant_id, id__in=[row.id for row in rows]).delete()
    allowed.bulk_create([EntryTag(tenant_id=tenant_id, id=row.id, tag=tag) for row in rows for tag in row.entry.tags])
