"""Single entries: created, read, changed and deleted (RFC-0015 1 to 3). Without access, a refusal reveals no state.

The task, the agent or the namespace is locked first: entries are counted and keys are looked up under that lock, so
that two requests at once run one after the other.
"""

import re
from calendar import monthrange
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, overload
from uuid import UUID

from django.db import transaction

from memory import adapter, addresses, external_runs, ledger, origins, provenance, recordings, redaction
from memory.addresses import MAX_VALUE_BYTES, PRIORITIES, SEALED, TASK_LIFETIME, Address, Tier
from memory.host import audit, ids, sql, tenancy, vault
from memory.host.errors import Forbidden, Invalid, KeyExists, NotFound, TaskClosed, TooLarge, VersionMismatch
from memory.host.expiry import has_expired
from memory.host.json_types import JSONObject
from memory.host.models import Tenant
from memory.host.tenancy import TenantScope
from memory.ledger.addressed import NewAddressedEntry
from memory.ledger.entries import AddressedValue, StatedWrite
from memory.models import Agent, EntryOrigin, LineageKind, Task
from memory.models.work import ENDED
from memory.openintent import access, namespaces, work
from memory.openintent.access import Caller
from memory.openintent.capacity import Room
from memory.openintent.namespaces import Changed
from memory.origins import Origin
from memory.passes import archives

if TYPE_CHECKING:
    from memory.models.address import EntryAddress


TAKEN_IN = frozenset({LineageKind.MERGED, LineageKind.COMPACTED})
REASON = "forgotten"
DURATION = "duration:"
MAX_LENGTH = 64
MAX_YEARS = 1000
NUMBER = r"([0-9]{1,12}(?:[.,][0-9]{1,12})?)"
FORM = re.compile(
    "P(?=[0-9T])"
    + "".join(f"(?:{NUMBER}{unit})?" for unit in "YMWD")
    + "(?:T(?=[0-9])"
    + "".join(f"(?:{NUMBER}{unit})?" for unit in "HMS")
    + ")?"
)
SECONDS = (604_800, 86_400, 3_600, 60, 1)
MUTABLE = ("value", "tags", "pinned", "priority", "sensitivity", "ttl", "expires_at")
OF_ADDRESS = ("pinned", "priority", "sensitivity", "ttl")
OUTSIDE = "openintent"
ORIGIN = "origin"  # in the note of a deletion


@overload
def openintent_time(at: datetime) -> str: ...


@overload
def openintent_time(at: datetime | None) -> str | None: ...


def openintent_time(at: datetime | None) -> str | None:
    """``2026-02-08T10:00:00.123456+00:00``, which every Python that the client runs on can parse; None for None."""
    return (at if at.tzinfo is UTC else at.astimezone(UTC)).isoformat(timespec="microseconds") if at else None


def entry_document(row: "EntryAddress", *, inherited_from: str = "") -> JSONObject:
    """The full entry, its value opened. Only what may be absent by RFC-0015 1.1 is ever null.

    A sealed value that does not open is shown as empty, and the document says so.

    The last three fields say where it is in the ledger and which node of which run wrote it, for readers of the ledger.
    ``inherited_from`` names the task whose entry a sub-task sees here (RFC-0015 6.5).
    """
    entry, value = row.entry, ledger.entries.value_or_none(row)
    scope = {name: text for name, text in (("task_id", row.task_id), ("intent_id", row.intent_id)) if text}
    document = {
        "id": ids.wire("mem", row.id),
        "agent_id": row.agent_id,
        "namespace": row.namespace,
        "key": row.key,
        "value": {} if value is None else value,
        "memory_type": str(row.tier),
        "version": row.version,
        "scope": scope or None,
        "tags": list(entry.tags),
        "ttl": row.ttl or None,
        "pinned": row.pinned,
        "priority": PRIORITIES[row.priority],
        "sensitivity": row.sensitivity or None,
        "curated_by": row.curated_by or None,
        "created_by": row.created_by or None,
        "created_at": openintent_time(row.created_at),
        "updated_at": openintent_time(row.updated_at),
        "expires_at": openintent_time(entry.expires_at),
        "memory_ref": entry.memory_ref,
        "run_id": ids.wire("run", entry.run_id),
        "node_id": entry.node_id or None,
    }
    if value is None:
        document["value_unreadable"] = True
    if inherited_from:
        document["inherited_from"] = inherited_from
    return document


def stated_origin(row: "EntryAddress") -> JSONObject:
    """What an agent elsewhere states of the last write of the entry, as a member of its document."""
    found = EntryOrigin.objects.of(row.tenant_id).filter(entry_id=row.id, current=True).first()
    return {"stated_origin": found.origin.document} if found else {}


# What of an entry can be stored: how large its value is, and that its end lies ahead (R12, R18).
def require_size(value: JSONObject) -> int:
    """The size that limits count; refused when it exceeds the limit of an entry."""
    size = addresses.size_of(value)
    if max(size, len(addresses.canonical(value).encode())) > MAX_VALUE_BYTES:
        raise TooLarge(
            f"A value has at most {MAX_VALUE_BYTES} bytes.",
            limit=MAX_VALUE_BYTES,
            size=size,
            hint="Store bulk data as an attachment, and its attachment_id in the value.",
        )
    return size


def require_future(expires_at: datetime | None, *, now: datetime) -> None:
    """Refuse an entry that would expire at once."""
    if has_expired(expires_at, now):
        problem = {"field": "expires_at", "message": "is in the past"}
        raise Invalid("The memory entry cannot be stored.", errors=[problem])


# An entry that becomes confidential (RFC-0015 9.2, R93): what it said in the open is nowhere in clear from then on.
#
# The ledger seals the entry itself. What passes made of it goes here, and what runs read of it or of that is blanked: a
# replay that needs it is refused. What a run has made of it by itself is that run's.
def dependents(tenant_id: UUID, entry_id: UUID) -> list[UUID]:
    """The entries to lock with it before anything changes: those that passes made of it, their other sources, and those
    that represent archives."""
    made = _made_of(tenant_id, entry_id)
    archived = archives.dependent_entries(tenant_id, [entry_id, *made])
    return sorted({*made, *_sources_of(tenant_id, made), *archived} - {entry_id})


def remove_derived(row: "EntryAddress", *, now: datetime) -> None:
    """Remove every entry and archive that passes made from it, and what runs read of all these. Its other sources are
    restored, and their ref is distilled again from what remains.

    In the transaction of the change, after it, and under its locks.
    """
    tenant_id, made = row.tenant_id, _made_of(row.tenant_id, row.id)
    others = _sources_of(tenant_id, made) - {row.id, *made}
    for part in sql.in_chunks(made):
        ledger.erase.remove_entries(tenant_id, part, reason=REASON, now=now)
    lost = archives.withdraw_of_sealed(tenant_id, [row.id, *made], row.entry.memory_ref, now=now)
    read = [each.entry_id for each in lost if each.entry_id]
    recordings.blank_entries(tenant_id, [row.id, *made, *read])
    if others:
        host = tenancy.host_scope(Tenant.objects.get(id=tenant_id), scopes=frozenset({"memory:retire"}))
        ledger.retirement.restore_retired(host, others, now=now)
    archives.redistil(tenant_id, lost, now=now)


def _made_of(tenant_id: UUID, entry_id: UUID) -> list[UUID]:
    """The entries that have the text of this one in them, because a pass put it there."""
    found: set[UUID] = set()
    fresh: Collection[UUID] = {entry_id}
    while fresh:
        came = provenance.descendants_of(tenant_id, fresh)
        into = {each.target_id for rows in came.values() for each in rows if each.kind in TAKEN_IN}
        fresh = adapter.forget.derived_entries(tenant_id, list(into - found))
        found |= fresh
    return sorted(found)


def _sources_of(tenant_id: UUID, made: Collection[UUID]) -> set[UUID]:
    rows = provenance.sources_of(tenant_id, made).values() if made else []
    return {each.source_id for of_one in rows for each in of_one if each.kind in TAKEN_IN}


# How long an entry lives (RFC-0015 1.1 ``ttl`` and ``expires_at``; R9, R12, C13).
#
# A duration is one of ISO 8601: years and months by the calendar, everything else by the clock.
@dataclass(frozen=True, slots=True)
class Duration:
    """A length of time: so many months of the calendar, and so much by the clock."""

    months: int
    clock: timedelta

    def after(self, moment: datetime) -> datetime:
        """The end of it; a day that the month does not have is the month's last."""
        years, month = divmod(moment.month - 1 + self.months, 12)
        year = moment.year + years
        day = min(moment.day, monthrange(year, month + 1)[1])
        return moment.replace(year=year, month=month + 1, day=day) + self.clock


def parse(text: str) -> str:
    """``task_lifetime`` or ``duration:<ISO 8601>`` for what was sent; a duration may be sent without the prefix."""
    problem = duration_problem(text)
    if problem:
        raise Invalid("That is not a valid lifetime.", errors=[{"field": "ttl", "message": problem}])
    return text if text == TASK_LIFETIME else DURATION + text.removeprefix(DURATION)


def duration_problem(text: str) -> str:
    """Why that is no lifetime; empty for one that is. None is nothing long, or longer than ``MAX_YEARS``."""
    found = None if text == TASK_LIFETIME else _read(text.removeprefix(DURATION))
    return found if isinstance(found, str) else ""


def end_of(ttl: str, created_at: datetime) -> datetime | None:
    """When an entry of that normalised ``ttl`` ends by itself; None when time alone does not end it.

    ``task_lifetime`` ends with the task (``archival``), and never when there is none (C13).
    """
    found = _read(ttl.removeprefix(DURATION)) if ttl.startswith(DURATION) else None
    return found.after(created_at) if isinstance(found, Duration) else None


def expiry(ttl: str, expires_at: datetime | None, *, since: datetime) -> datetime | None:
    """When the entry lapses: ``expires_at`` where it was given, which wins over ``ttl`` (RFC-0015 1.1)."""
    return expires_at or end_of(ttl, since)


def _read(text: str) -> Duration | str:
    """The duration, or what is wrong with it."""
    found = FORM.fullmatch(text) if len(text) <= MAX_LENGTH else None
    if found is None:
        return "must be task_lifetime, or a duration of ISO 8601 such as duration:PT24H"
    parts = [part.replace(",", ".") if part else "" for part in found.groups()]
    given = [part for part in parts if part]
    if any("." in part for part in [*given[:-1], *parts[:2]]):
        return "may have a fraction only in its last part, and none in years and months"
    return _duration([Decimal(part or 0) for part in parts])


def _duration(parts: list[Decimal]) -> Duration | str:
    months = int(parts[0] * 12 + parts[1])
    seconds = sum((part * each for part, each in zip(parts[2:], SECONDS, strict=True)), Decimal())
    if months > MAX_YEARS * 12 or seconds > MAX_YEARS * 365 * 86_400:
        return f"is longer than {MAX_YEARS} years"
    duration = Duration(months, timedelta(microseconds=int(seconds * 1_000_000)))
    return duration if months or duration.clock else "must be longer than nothing"


# What an update makes of an entry (RFC-0015 3.2, R47): the fields that it names are replaced whole, the rest stays.
def request_of(row: "EntryAddress") -> AddressedValue:
    """The stored entry in the form of a request."""
    address = Address(
        tier=Tier(row.tier),
        agent_id=row.agent_id,
        namespace=row.namespace,
        key=row.key,
        task_id=row.task_id,
        intent_id=row.intent_id,
        pinned=row.pinned,
        priority=PRIORITIES[row.priority],
        sensitivity=row.sensitivity,
        ttl=row.ttl,
        created_by=row.created_by,
        curated_by=row.curated_by,
    )
    return AddressedValue(address, ledger.entries.value_of(row), tuple(row.entry.tags), row.entry.expires_at)


def apply_fields(before: AddressedValue, named: JSONObject, *, created_at: datetime, now: datetime) -> AddressedValue:
    """The entry with the ``named`` ones of ``MUTABLE`` in the place of its own."""
    address = replace(before.address, **{name: named[name] for name in OF_ADDRESS if name in named})
    return AddressedValue(
        address,
        named.get("value", before.value),
        tuple(named.get("tags", before.tags)),
        _end(before, named, address.ttl, created_at, now),
    )


def same(one: AddressedValue, other: AddressedValue) -> bool:
    """Whether nothing is different to a reader of JSON: ``1`` and ``true`` are two values, ``1`` and ``1.0`` one."""
    alike = addresses.canonical(one.value) == addresses.canonical(other.value)
    return alike and replace(one, value={}) == replace(other, value={})


def _end(before: AddressedValue, named: JSONObject, ttl: str, created_at: datetime, now: datetime) -> datetime | None:
    """When the entry expires: as stated, or by its ``ttl``, which starts again when it is given again (C13)."""
    if named.get("expires_at"):
        end: datetime = named["expires_at"]
        return end
    if "ttl" in named and ("expires_at" in named or _ends_by_itself(before)):
        return end_of(ttl, now)
    return _by_itself(ttl, created_at, now) if "expires_at" in named else before.expires_at


def _by_itself(ttl: str, created_at: datetime, now: datetime) -> datetime | None:
    """The expiry by a lifetime counted from creation; refused when it has passed and only a stated expiry kept the
    entry."""
    end = end_of(ttl, created_at)
    if end is not None and end <= now:
        message = "has run out since the entry was made; it counts from now when it is given again"
        raise Invalid("The entry would end at once.", errors=[{"field": "ttl", "message": message}])
    return end


def _ends_by_itself(given: AddressedValue) -> bool:
    """Whether the expiry follows from the lifetime alone, as far as the row shows."""
    return given.expires_at is None or given.address.ttl.startswith(DURATION)


# Where new entries belong, and what is locked before them: a namespace, a task, an agent, a stream (RFC-0015 2, 5).
#
# Rows are locked in the order of all others (``ledger.head.lock_entries``): entries are counted and keys are looked up
# under those locks, so that two at once run one after the other.
@dataclass(frozen=True, slots=True)
class Owners:
    """The tasks and agents that entries belong to, and the logs for their facts."""

    tasks: dict[str, Task]
    agents: dict[str, Agent]
    logs: frozenset["UUID"]
    intents: dict[str, "UUID"]


def lock_namespaces(caller: Caller, places: Sequence[Address], *, now: datetime) -> list[Changed]:
    """Lock the namespaces of the semantic ones, creating missing ones (C14); returns those created."""
    names = {each.namespace for each in places if each.tier == Tier.SEMANTIC}
    for name in sorted(names):
        namespaces.require_name(caller.scope, name)
    return namespaces.lock_namespaces(caller, names, now=now)


def lock_owners(
    caller: Caller, places: Sequence[Address], rows: Sequence["EntryAddress"] = (), *, now: datetime
) -> Owners:
    """Tasks and agents of the new entries at these places and of the ``rows``, as far as they bound what they hold."""
    bound = {each.task_id for each in places if each.tier != Tier.SEMANTIC or each.ttl == TASK_LIFETIME}
    bound |= {row.task_id for row in rows}
    wanted = sorted({each.task_id for each in places} | bound)
    tasks = {text: work.rows.task(caller.tenant_id, text, lock=text in bound) for text in wanted if text}
    known = {text: task for text, task in tasks.items() if task}
    own = {each.agent_id for each in places if each.tier != Tier.SEMANTIC}
    names = sorted({each.agent_id for each in places})
    agents = {
        name: (work.rows.locked_agent if name in own else work.rows.agent)(
            caller.tenant_id, name, by=caller.scope.principal.id, now=now
        )
        for name in names
    }
    owners = Owners(known, agents, frozenset(), _logs_of(caller, places, known, now))
    return replace(owners, logs=frozenset(_log_of(owners, each) for each in places))


def _logs_of(caller: Caller, places: Sequence[Address], tasks: dict[str, Task], now: datetime) -> dict[str, "UUID"]:
    """The intents that entries name, on whose logs the caller is heard; elsewhere its own stream has to do."""
    named = sorted({each.intent_id for each in places if each.intent_id and each.task_id not in tasks})
    found = ((text, work.rows.intent(caller.tenant_id, text)) for text in named)
    return {text: intent.id for text, intent in found if intent and access.has_voice_in(caller, intent, now)}


def _log_of(owners: Owners, place: Address) -> "UUID":
    """Where the facts of a new entry stand: on the log of its task's intent, of its intent, or on its agent's."""
    task = owners.tasks.get(place.task_id)
    return task.intent_id if task else owners.intents.get(place.intent_id, owners.agents[place.agent_id].run_id)


def resolve_places(caller: Caller, given: AddressedValue, owners: Owners, *, now: datetime) -> NewAddressedEntry:
    """The entry with what the server says of it: who made it, whether it is pinned, when it ends (R13, R42, R86).

    Refuses one that would end with a task that has ended, and one that would be gone at once.
    """
    address = given.address
    if address.tier == Tier.WORKING or address.ttl == TASK_LIFETIME:
        require_under_way(owners.tasks.get(address.task_id), address.task_id)
    shared, own = address.tier == Tier.SEMANTIC, address.tier == Tier.EPISODIC
    stamped = replace(
        address,
        created_by=caller.agent_id,
        curated_by=caller.agent_id if shared else "",
        pinned=address.pinned or (own and address.namespace in owners.agents[address.agent_id].pinned_namespaces),
    )
    ends = expiry(address.ttl, given.expires_at, since=now)
    require_future(ends, now=now)
    node_id = address.task_id if address.task_id in owners.tasks else OUTSIDE
    return NewAddressedEntry(replace(given, address=stamped, expires_at=ends), _log_of(owners, address), node_id)


def with_statement(new: NewAddressedEntry, stated: StatedWrite | None) -> NewAddressedEntry:
    """The entry as one that a run elsewhere writes, whose node is only stated."""
    if stated is None:
        return new
    return replace(new, stated=stated, node_id="" if new.node_id == OUTSIDE else new.node_id)


def require_under_way(task: Task | None, task_id: str) -> None:
    """Refuse what would end with a task that has ended already; a task of another host is not known to end."""
    if task and task.status in ENDED:
        raise TaskClosed(task_id=task_id, status=task.status)


def lock_rows(
    caller: Caller, owners: Owners, rows: Collection["UUID"], *, seals: bool = False, now: datetime
) -> list["UUID"]:
    """Lock what comes after the owners: the vault's key where something is sealed, the streams, the entries; returns
    those that exist. A single stream is locked by the first fact on it."""
    if seals:
        vault.hold_key(now=now)
    if rows or len(owners.logs) > 1:
        return ledger.head.lock_entries(caller.tenant_id, runs=owners.logs, entries=rows)
    return []


def remove(caller: Caller, rows: Sequence["UUID"], reason: str, *, now: datetime) -> None:
    """Remove the locked entries: ``evicted`` for others, or ``expired`` under a key that is wanted again."""
    lapsed, actor = reason == "expired", "" if reason == "expired" else caller.agent_id
    for part in sql.in_chunks(rows):
        ledger.erase.remove_entries(
            caller.tenant_id, part, reason=reason, actor=actor, lapsed=lapsed, held=True, now=now
        )


@transaction.atomic
def create(caller: Caller, given: AddressedValue, *, origin: Origin | None = None, now: datetime) -> "EntryAddress":
    """Create the entry, in its first version. It replaces a lapsed one with its key."""
    caller.scope.check(access.WRITE)
    places = [given.address]
    if given.address.tier == Tier.SEMANTIC:  # its namespace is locked by the name that is kept
        places = ledger.addressed.redacted_addresses(redaction.for_tenant(caller.tenant_id), places)
    made = lock_namespaces(caller, places, now=now)
    access.require_create(caller, places[0], now=now)
    size = require_size(given.value)
    owners = lock_owners(caller, places, now=now)
    # Read after the locks, which may have taken time.
    redactor, place, held = ledger.addressed.find_by_key_without_secrets(caller.tenant_id, given.address)
    new = resolve_places(caller, given, owners, now=now)
    lapsed = _require_free(caller, held, now)
    if stated := _stated(caller, origin, now):
        owners = replace(owners, logs=owners.logs | {stated.run_id})
        new = with_statement(new, stated)
    _make_room(caller, place, size, owners, lapsed, now)
    [row] = ledger.addressed.write_addressed(caller.scope, [new], actor=caller.agent_id, redactor=redactor, now=now)
    namespaces.audit_changes(made, actor=caller.scope.principal.id, now=now)
    return row


def _stated(caller: Caller, origin: Origin | None, now: datetime) -> StatedWrite | None:
    return stated_write(caller, origin, now=now) if origin else None


def stated_write(caller: Caller, origin: Origin, *, now: datetime) -> StatedWrite:
    """The write as one of the run elsewhere that its origin names, which is open and held from here on."""
    run = external_runs.find_or_open(caller.scope, caller.agent_id, origin, now=now)
    return StatedWrite(run.id, origin.within(caller.scope.traceparent))


class _Unchanged(Exception):
    """Nothing of the entry would be different: the run that was opened for the write goes with its transaction."""

    def __init__(self, row: "EntryAddress") -> None:
        super().__init__()
        self.row = row


def put_entry(
    caller: Caller,
    given: AddressedValue,
    named: dict[str, object],
    *,
    fixed: Mapping[str, str],
    version: int | None = None,
    origin: Origin | None = None,
    now: datetime,
) -> tuple["EntryAddress", bool]:
    """The entry at its address, and whether it is new: an existing one has the ``named`` fields replaced, in any
    version unless one is given. ``fixed`` is what the request says that no change can alter."""
    try:
        return _put_entry(caller, given, named, fixed=fixed, version=version, origin=origin, now=now)
    except _Unchanged as same:
        return same.row, False


@transaction.atomic
def _put_entry(
    caller: Caller,
    given: AddressedValue,
    named: dict[str, object],
    *,
    fixed: Mapping[str, str],
    version: int | None,
    origin: Origin | None,
    now: datetime,
) -> tuple["EntryAddress", bool]:
    caller.scope.check(access.WRITE)
    places = ledger.addressed.redacted_addresses(redaction.for_tenant(caller.tenant_id), [given.address])
    made = lock_namespaces(caller, places, now=now)
    access.require_create(caller, places[0], now=now)
    lock_owners(caller, places, now=now)  # from here on no other request creates the entry
    held = ledger.addressed.find_by_key(caller.tenant_id, places[0])
    if held and _is_kept(caller, held, given.address, origin, now):
        require_same_place(caller, held, fixed)
        return _update(caller, held.id, version, named, origin=origin, now=now), False
    if version is not None:
        raise VersionMismatch("The entry no longer exists.", current_version=0)
    row = create(caller, given, origin=origin, now=now)
    namespaces.audit_changes(made, actor=caller.scope.principal.id, now=now)
    return row, True


def _is_kept(caller: Caller, held: "EntryAddress", place: Address, origin: Origin | None, now: datetime) -> bool:
    """Whether the entry is there, and stays there while it is changed: it is locked, as by a change of it."""
    if not adapter.openintent.is_live(held, now):
        return False
    access.require_write(caller, held, now=now)
    _stated(caller, origin, now)
    if place.is_sealed or held.is_sealed:
        vault.hold_key(now=now)
    opened = dependents(caller.tenant_id, held.id) if place.is_sealed and not held.is_sealed else []
    return held.id in ledger.head.lock_entries(caller.tenant_id, entries=[held.id, *opened])


def require_same_place(caller: Caller, row: "EntryAddress", said: Mapping[str, str]) -> None:
    """Refuse a request that states another place than the entry's, which cannot change (R47)."""
    redactor, shared = redaction.for_tenant(caller.tenant_id), row.tier == Tier.SEMANTIC
    now = {"agent_id": row.agent_id, "namespace": row.namespace, "key": row.key, "memory_type": row.tier}
    now |= {"task_id": row.task_id, "intent_id": row.intent_id}
    texts = {name: redactor.redact(text).text for name, text in said.items()}
    wrong = [name for name, text in texts.items() if text != now[name] and not (name == "agent_id" and shared)]
    if wrong:
        problems = [{"field": name, "message": "is not that of the entry, and never changes"} for name in wrong]
        raise Invalid("An entry keeps its place.", errors=problems)


def get(caller: Caller, entry_id: UUID | None, *, now: datetime) -> "EntryAddress":
    """The entry, for readers; it is evicted last when its owner has read it (R37). Refused when its value is sealed and
    does not open."""
    row = find_entry(caller, entry_id, now)
    if not adapter.openintent.is_plain(row):
        access.require_read(caller, row, now=now)
    if row.is_sealed:
        ledger.entries.value_of(row)
    refresh(caller, [row], now=now)
    return row


def refresh(caller: Caller, rows: Sequence["EntryAddress"], *, now: datetime) -> None:
    """Record an access of those that are the caller's own and could be evicted."""
    own = [row.id for row in rows if row.tier == Tier.EPISODIC and row.agent_id == caller.agent_id]
    if own:
        ledger.addressed.touch(caller.tenant_id, own, now=now)


def update(
    caller: Caller,
    entry_id: UUID | None,
    version: int | None,
    named: JSONObject,
    *,
    origin: Origin | None = None,
    now: datetime,
) -> "EntryAddress":
    """The entry with the ``named`` fields replaced whole, in its next version; as it was when nothing is different.

    Refuses with ``VersionMismatch``, and the entry as it is, unless ``version`` is the current one, where one is said
    (RFC-0015 3.1).
    """
    try:
        return _update(caller, entry_id, version, named, origin=origin, now=now)
    except _Unchanged as same:
        return same.row


@transaction.atomic
def _update(
    caller: Caller,
    entry_id: UUID | None,
    version: int | None,
    named: JSONObject,
    *,
    origin: Origin | None,
    now: datetime,
) -> "EntryAddress":
    seals, binds = named.get("sensitivity") in SEALED, named.get("ttl") == TASK_LIFETIME
    row, task, stated = _locked(caller, entry_id, version, now, seals=seals, binds=binds, origin=origin)
    was_sealed, wanted = row.is_sealed, revise(caller, row, named, task, Room(now=now), now=now)
    if wanted is None:
        if stated:
            raise _Unchanged(row)
        return row
    changed = ledger.addressed.rewrite(caller.scope, row, wanted, actor=caller.agent_id, stated=stated, now=now)
    if changed.is_sealed and not was_sealed:
        remove_derived(changed, now=now)
    return changed


def revise(
    caller: Caller, row: "EntryAddress", named: dict[str, object], task: Task | None, room: Room, *, now: datetime
) -> AddressedValue | None:
    """What the locked entry is with the ``named`` fields, as it may be stored; None when nothing is different."""
    before = request_of(row)
    wanted = apply_fields(before, named, created_at=row.created_at, now=now)
    if same(before, wanted):
        return None
    size = require_size(wanted.value)
    require_future(wanted.expires_at, now=now)
    room.grow(row, size, task)
    if row.tier == Tier.SEMANTIC:
        wanted = replace(wanted, address=replace(wanted.address, curated_by=caller.agent_id))
    return wanted


@transaction.atomic
def delete(
    caller: Caller, entry_id: UUID | None, version: int | None, *, origin: Origin | None = None, now: datetime
) -> UUID:
    """Delete the entry for good and return it. ``version`` is checked when given (R48). The event says ``origin``, as
    the agent states it; what is stated of a sealed entry is not told."""
    row, _, _ = _locked(caller, entry_id, version, now)
    said = _note_of_origin(caller, origin) if origin and not row.is_sealed else {}
    ledger.erase.remove_entries(
        caller.tenant_id,
        (row.id,),
        reason="deleted",
        actor=caller.agent_id,
        by=caller.scope.principal.id,
        said=said,
        held=True,
        now=now,
    )
    return UUID(bytes=row.id.bytes)


def _note_of_origin(caller: Caller, origin: Origin) -> JSONObject:
    redact = redaction.for_tenant(caller.tenant_id).redact
    stated = origin.within(caller.scope.traceparent).with_texts(lambda text: redact(text).text)
    origins.require_fitting(stated)
    return {ORIGIN: stated.document}


@transaction.atomic
def delete_at(
    caller: Caller, place: Address, version: int | None, *, origin: Origin | None = None, now: datetime
) -> UUID:
    """Delete the entry at this address for good and return it. Callers who may not create one there learn nothing."""
    [kept] = ledger.addressed.redacted_addresses(redaction.for_tenant(caller.tenant_id), [place])
    if kept.tier != Tier.SEMANTIC or namespaces.exists(caller.tenant_id, kept.namespace):
        access.require_create(caller, kept, now=now)
    held = ledger.addressed.find_by_key(caller.tenant_id, kept)
    if held is None or held.tier != kept.tier:
        raise NotFound("There is no memory entry at that address.")
    return delete(caller, held.id, version, origin=origin, now=now)


def find_entry(caller: Caller, entry_id: UUID | None, now: datetime) -> "EntryAddress":
    """The entry of that id; one that a run wrote for who may read it, and only for reading."""
    row = adapter.openintent.readable(caller.tenant_id, entry_id, now=now) if entry_id else None
    return row or _plain(caller, entry_id, now)


def _plain(caller: Caller, entry_id: UUID | None, now: datetime) -> "EntryAddress":
    """What a run wrote in the name of an agent, for that agent and for operators."""
    caller.scope.check(access.READ)
    row = adapter.openintent.plain_entry(caller.tenant_id, entry_id, now=now) if entry_id else None
    if row is None:
        raise NotFound("There is no memory entry by that id.")
    if not caller.operates and row.agent_id != caller.agent_id:
        raise Forbidden("This agent may not read that memory entry.", rule="memory-tier")
    return row


def _locked(
    caller: Caller,
    entry_id: UUID | None,
    version: int | None,
    now: datetime,
    *,
    seals: bool = False,
    binds: bool = False,
    origin: Origin | None = None,
) -> tuple["EntryAddress", Task | None, StatedWrite | None]:
    """The entry for a caller who may change it, locked after its task and the external run that ``origin`` names; of
    that version when one is given (R45, R46).

    With a sealed value, before or after, the vault's key is locked too: a rotation locks that first and the entries
    next. A change that binds the entry to its task needs an open task.
    """
    seen = require_change(caller, entry_id, now=now)
    task = None
    if seen.tier == Tier.WORKING or binds:
        task = work.rows.task(caller.tenant_id, seen.task_id, lock=True)
        if seen.tier != Tier.WORKING:
            require_under_way(task, seen.task_id)
    stated = _stated(caller, origin, now)
    if seals or seen.is_sealed:
        vault.hold_key(now=now)
    opened = dependents(caller.tenant_id, seen.id) if seals and not seen.is_sealed else []
    runs = [stated.run_id] if stated else []
    row = ledger.addressed.lock_address(caller.tenant_id, seen.id, beside=opened, runs=runs)
    require_version(row, version, now)
    return row, task, stated


def require_change(caller: Caller, entry_id: UUID | None, *, now: datetime) -> "EntryAddress":
    """The entry, for callers who may change or delete it; others are refused."""
    seen = find_entry(caller, entry_id, now)
    require_addressed(seen)
    access.require_write(caller, seen, now=now)
    return seen


def require_version(row: "EntryAddress", version: int | None, now: datetime) -> None:
    """Refuse when the locked entry is gone or in another version than the given one."""
    if not adapter.openintent.is_live(row, now):
        raise NotFound("There is no memory entry by that id.")
    if version is not None and row.version != version:
        raise VersionMismatch(current_value=ledger.entries.value_of(row), **state_of(row))


def require_addressed(row: "EntryAddress") -> None:
    """Refuse to change what a run wrote: it has no version, and other runs read it as it is."""
    if adapter.openintent.is_plain(row):
        raise Forbidden("The entry was written through OpenWOP, and is only read here.", rule="openwop-entry")


def _require_free(caller: Caller, held: "EntryAddress | None", now: datetime) -> list[UUID]:
    """Refuse a key that an entry has, naming it only to callers who may read it (R17). A lapsed entry does not occupy
    its key."""
    if held is None:
        return []
    if not adapter.openintent.is_live(held, now):
        return [held.id]
    if access.may_read(caller, held, now):
        raise KeyExists(**state_of(held))
    raise KeyExists


def _make_room(caller: Caller, place: Address, size: int, owners: Owners, lapsed: list[UUID], now: datetime) -> None:
    """Evict what must go so that there is room at the place and its key is free; all of that is locked in one go."""
    task, agent = owners.tasks.get(place.task_id), owners.agents[place.agent_id]
    room = Room([place], now=now)
    room.take(place, size, task, agent)
    going = room.evicted([agent])
    lock_rows(caller, owners, [*lapsed, *going], seals=place.is_sealed, now=now)
    remove(caller, going, "evicted", now=now)
    remove(caller, lapsed, "expired", now=now)


def state_of(row: "EntryAddress") -> JSONObject:
    """What a refusal tells of the entry to who may read it."""
    return {"current_version": row.version, "current": entry_document(row)}


# A sealed value, shown to a person who may retire memory (RFC-0015 9.2). Every time is on the audit log.
@transaction.atomic
def reveal(scope: TenantScope, entry_id: UUID, *, now: datetime) -> JSONObject:
    """The value of the entry, opened; who asked is on record, and nothing of what was shown."""
    scope.check("memory:retire")
    if adapter.console.find_entry(scope, entry_id, now=now) is None:
        raise NotFound("There is no memory entry by that id.")
    value = ledger.entries.value_of(ledger.addressed.lock_address(scope.tenant_id, entry_id))
    target = ids.wire("mem", entry_id)
    audit.append(scope.tenant_id, actor=scope.principal.id, action="memory.revealed", target=target, now=now)
    return value
