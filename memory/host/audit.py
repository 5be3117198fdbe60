"""The audit log: append and lists (openwop-host 2.4); ``audit_chain`` verifies it.

Each record carries the SHA-256 of the JCS form (RFC 8785) of the previous one. The row of the tenant's chain is the
lock, so two appends never take the same number.
"""

import json
import logging
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cache
from uuid import UUID

from django.db import IntegrityError, transaction
from django.db.models import QuerySet, TextField, Value
from django.db.models.functions import Cast, Coalesce

from memory.host import audit_chain, ids, request_ids, sql
from memory.host.audit_chain import MOST
from memory.host.json_types import JSONObject
from memory.host.models import AuditChain, AuditReason, AuditRecord, Interrupt
from memory.host.models.audit import with_result

log = logging.getLogger(__name__)
WRITER = "memory.host.audit"
# How many of the newest records the choices of a filter come from.
OFFERED = 500
ACTIONS = 1000  # different ones of a tenant that are looked through for those that begin with a word
NEVER = datetime.min.replace(tzinfo=UTC)


@transaction.atomic
def append(
    tenant_id: UUID,
    *,
    actor: str,
    action: str,
    target: str = "",
    details: JSONObject | None = None,
    reason: str = "",
    now: datetime,
) -> AuditRecord:
    """Append an audit record, chained to the previous one, in the caller's transaction.

    ``reason`` is text that a person typed, redacted by the caller. It is stored apart from the record and not hashed,
    so that a forget can erase it; ``details`` hold no such text.
    """
    chain = _locked_chain(tenant_id)
    record = AuditRecord(
        tenant_id=tenant_id,
        seq=chain.next_seq,
        occurred_at=now,
        actor=actor,
        action=action,
        target=target,
        details=details or {},
        prev_hash=chain.head_hash,
        request_id=request_ids.current(),
    )
    record.entry_hash = audit_chain.hash_of(record)
    record.insert(by=WRITER)
    if reason:
        record.reason = reason
        AuditReason(tenant_id=tenant_id, record_id=record.id, text=reason).insert(by=WRITER)
    chain.next_seq, chain.head_hash = record.seq + 1, record.entry_hash
    chain.save(by=WRITER, update_fields=["next_seq", "head_hash"])
    audit_chain.checkpoint_when_due(record, now)
    return record


def sign_checkpoints_anew(*, now: datetime) -> int:
    """Sign what a former ``OPENWOP_SECRET_KEY`` has signed with the present one, on record in each tenant's chain, so
    that all of it verifies under the one advertised key (RFC 0218). Returns how many checkpoints that were.

    A failure for one tenant is logged and does not stop the others.
    """
    tenants = audit_chain.signed_formerly().order_by().values_list("tenant_id", flat=True).distinct()
    return sum(_sign_anew(tenant_id, now) for tenant_id in list(tenants))


def _sign_anew(tenant_id: UUID, now: datetime) -> int:
    done = 0
    after: int | None = -1
    try:
        while after is not None:
            with transaction.atomic():
                numbers, after = audit_chain.sign_anew(tenant_id, after=after)
                if numbers:
                    details = {"checkpoints": len(numbers), "firstAtSeq": numbers[0], "lastAtSeq": numbers[-1]}
                    append(tenant_id, actor="host", action="audit.checkpoints_signed_anew", details=details, now=now)
            done += len(numbers)
    except Exception:
        log.exception("The checkpoints of tenant %s were not signed anew", tenant_id)
    return done


@transaction.atomic
def append_once(
    tenant_id: UUID,
    *,
    within: timedelta,
    actor: str,
    action: str,
    target: str = "",
    details: JSONObject | None = None,
    now: datetime,
) -> AuditRecord | None:
    """``append`` unless the same act was recorded since ``within`` ago; then return None.

    Checked again under the lock of the chain, so of concurrent calls only one appends.
    """
    same = {"actor": actor, "action": action, "target": target}
    wanted = details or {}
    if _is_on_record(tenant_id, same, wanted, now - within):
        return None
    _locked_chain(tenant_id)
    if _is_on_record(tenant_id, same, wanted, now - within):
        return None
    return append(tenant_id, **same, details=wanted, now=now)


def is_on_record(
    tenant_id: UUID, *, within: timedelta, actor: str, action: str, target: str, details: JSONObject, now: datetime
) -> bool:
    """Whether the same act was recorded since ``within`` ago: the check of ``append_once``, without the lock."""
    return _is_on_record(tenant_id, {"actor": actor, "action": action, "target": target}, details, now - within)


def _is_on_record(tenant_id: UUID, same: dict[str, str], details: JSONObject, since: datetime) -> bool:
    def is_there() -> bool:
        stored = _alike().fetch(tenant_id, same["actor"], same["action"], same["target"], since)
        return any(json.loads(found) == details for (found,) in stored)

    return bool(audit_chain.attempt(is_there))


@cache
def _alike() -> sql.CompiledQuery:
    """The details of an act's records, newest first. Every denial asks for them."""
    tenant_id, act, since = UUID(int=0), ("actor", "action", "target"), NEVER
    of = dict(zip(act, act, strict=True))
    rows = AuditRecord.objects.of(tenant_id).filter(**of, occurred_at__gt=since).order_by("-occurred_at")
    return sql.CompiledQuery(rows.values_list(Cast("details", TextField())), tenant_id, *act, since)


def _locked_chain(tenant_id: UUID) -> AuditChain:
    if there := _chain().fetch(sql.key(tenant_id)):
        return there[0]
    try:
        with transaction.atomic():
            AuditChain(tenant_id=tenant_id).insert(by=WRITER)
    except IntegrityError:
        pass  # another process opened the chain first; its row is the lock
    [found] = _chain().fetch(sql.key(tenant_id))
    return found


@cache
def _chain() -> sql.PositionalQuery[AuditChain]:
    """Every append begins with this query."""
    return sql.PositionalQuery(AuditChain.objects.of(UUID(int=0)).select_for_update())


@dataclass(frozen=True, slots=True)
class AuditFilter:
    """Which records to list; empty means all.

    ``action`` is a name, or the word before its first dot: "run" is every "run.…". ``target`` is the id of what was
    acted on, and of a run matches the questions that it asked too. ``request_id`` is that of the request, task or
    command, ``result`` one of ``allowed``, ``denied`` and ``failed``. ``since`` is inclusive, ``until`` exclusive.
    """

    actor: str = ""
    action: str = ""
    target: str = ""
    request_id: str = ""
    result: str = ""
    since: datetime | None = None
    until: datetime | None = None

    @property
    def is_empty(self) -> bool:
        return self == AuditFilter()


@dataclass(frozen=True, slots=True)
class Offered:
    """The choices of the filters, from the newest records."""

    actors: frozenset[str]
    actions: frozenset[str]


def newest(
    tenant_id: UUID, wanted: AuditFilter | None = None, *, before: int | None = None, limit: int = 50
) -> list[AuditRecord]:
    """Return the matching records, newest first; ``before`` is the number of the last one seen."""
    if wanted is None or wanted.is_empty:
        every = AuditRecord.objects.of(tenant_id).filter(seq__lte=MOST if before is None else before - 1)
        return _loaded(tenant_id, every.order_by("-seq")[:limit])
    last = None if before is None else _first(AuditRecord.objects.of(tenant_id).filter(seq=before))

    def newest_of(actions: list[str]) -> list[AuditRecord]:
        rows, at = _matching(tenant_id, wanted, actions), "occurred_at"
        if ids.parse("run", wanted.target):
            # For several targets SQLite would rather read the log by time; it has no index of this.
            rows, at = rows.alias(at=Coalesce(at, at)), "at"
        if last and last.is_readable:
            rows = rows.filter(sql.behind(at, last.occurred_at, last.seq, id_column="seq"))
        elif last:
            rows = rows.filter(seq__lt=before)
        return audit_chain.read_for_display(rows.order_by(f"-{at}", "-seq")[:limit])

    actions = _actions(tenant_id, wanted.action)
    if len(actions) < 2 or wanted.target or wanted.request_id:
        return _with_reasons(tenant_id, newest_of(actions))
    # The index has each action in the order of time, and several of them in none.
    found = [record for each in actions for record in newest_of([each])]
    found.sort(key=lambda record: (record.occurred_at if record.is_readable else NEVER, record.seq), reverse=True)
    return _with_reasons(tenant_id, found[:limit])


def _actions(tenant_id: UUID, action: str) -> list[str]:
    """The names on record that a filter by ``action`` finds: of a word before a dot all that begin with it."""
    word = action.removesuffix(".")
    if not action or "." in word:
        return [action] if action else []
    # A range of names would depend on the collation, so every name is looked at.
    table = AuditRecord._meta.db_table
    every = audit_chain.attempt(lambda: sql.distinct_values(table, "action", tenant_id, limit=ACTIONS)) or []
    names = [name for name in every if isinstance(name, str)]  # others were tampered with
    return [each for each in names if each == action or each.startswith(f"{word}.")] or [action]


def _first(rows: QuerySet[AuditRecord]) -> AuditRecord | None:
    return next(iter(audit_chain.read_for_display(rows[:1])), None)


def _loaded(tenant_id: UUID, records: QuerySet[AuditRecord]) -> list[AuditRecord]:
    """Return the records with their reasons; one that was tampered with may have its number and hash alone."""
    return _with_reasons(tenant_id, audit_chain.read_for_display(records))


def _with_reasons(tenant_id: UUID, found: list[AuditRecord]) -> list[AuditRecord]:
    rows = AuditReason.objects.of(tenant_id).filter(record_id__in=[record.id for record in found])
    given = dict(rows.values_list("record_id", "text"))
    for record in found:
        record.reason = given.get(record.id)
    return found


def numbers_between(tenant_id: UUID, since: datetime, until: datetime) -> tuple[int, int] | None:
    """Return the numbers of the first and the last record from ``since`` to ``until``; None when there is none."""
    rows = AuditRecord.objects.of(tenant_id).filter(occurred_at__gte=since, occurred_at__lte=until)
    first = rows.order_by("occurred_at", "seq").values_list("seq", flat=True).first()
    last = rows.order_by("-occurred_at", "-seq").values_list("seq", flat=True).first()
    return None if first is None or last is None else (min(first, last), max(first, last))


def last_number_at(tenant_id: UUID, moment: datetime) -> int | None:
    """Return the number of the last record of that moment, or before it; None for none."""
    rows = AuditRecord.objects.of(tenant_id).filter(occurred_at__lte=moment)
    found: int | None = rows.order_by("-occurred_at", "-seq").values_list("seq", flat=True).first()
    return found


def count(tenant_id: UUID, wanted: AuditFilter, *, most: int) -> int:
    """Count the matching records, up to ``most``; without a filter the chain's length is returned."""
    if wanted.is_empty:
        return audit_chain.total(tenant_id)
    actions = _actions(tenant_id, wanted.action)
    return int(_matching(tenant_id, wanted, actions).order_by().values("seq")[:most].count())


def _matching(tenant_id: UUID, wanted: AuditFilter, actions: list[str]) -> QuerySet[AuditRecord]:
    """Return the matching records, of one of ``actions`` where there are any.

    A request or a target has few records, while an actor or an action may have most of them. With one of the two,
    SQLite, which has no statistics, must not use the index on actor or action, so these are wrapped.
    """
    rows, actor, action = AuditRecord.objects.of(tenant_id), "actor", "action"
    if wanted.target or wanted.request_id:
        rows, actor, action = rows.alias(who=Coalesce(actor, Value("")), act=Coalesce(action, Value(""))), "who", "act"
    targets = _targets(tenant_id, wanted.target)
    asked = {
        actor: wanted.actor,
        action if len(actions) == 1 else f"{action}__in": actions[0] if len(actions) == 1 else actions,
        "target": "" if len(targets) > 1 else wanted.target,
        "target__in": targets if len(targets) > 1 else [],
        "request_id": wanted.request_id,
        "occurred_at__gte": wanted.since,
        "occurred_at__lt": wanted.until,
    }
    rows = rows.filter(**{field: value for field, value in asked.items() if value})
    return rows.filter(with_result(wanted.result)) if wanted.result else rows


def _targets(tenant_id: UUID, target: str) -> list[str]:
    """Return the target, and of a run also its questions: an answer is a record about the question."""
    if (run_id := ids.parse("run", target)) is None:
        return [target]
    asked = Interrupt.objects.of(tenant_id).filter(run_id=run_id).values_list("id", flat=True)
    return [target, *(ids.wire("int", each) for each in asked)]


def list_records_about(tenant_id: UUID, targets: Collection[str], *, limit: int = 50) -> list[AuditRecord]:
    """Return the newest records whose target is one of these."""
    rows = AuditRecord.objects.of(tenant_id).filter(target__in=list(targets))
    return _loaded(tenant_id, rows.order_by("-occurred_at", "-seq")[:limit])


def export_records(tenant_id: UUID, wanted: AuditFilter | None = None) -> Iterator[AuditRecord]:
    """Yield all records, or those that match, in chain order."""
    wanted = wanted or AuditFilter()
    rows = _matching(tenant_id, wanted, _actions(tenant_id, wanted.action)).filter(seq__lte=MOST)
    numbers = rows.order_by("seq").values_list("seq", flat=True)
    for part in sql.in_chunks(numbers.iterator(chunk_size=1000)):
        yield from _loaded(tenant_id, AuditRecord.objects.of(tenant_id).filter(seq__in=part).order_by("seq"))


def list_filter_choices(tenant_id: UUID) -> Offered:
    newest = AuditRecord.objects.of(tenant_id).order_by("-seq").values_list("actor", "action")[:OFFERED]
    rows = [
        pair for pair in audit_chain.attempt(lambda: list(newest)) or [] if all(isinstance(each, str) for each in pair)
    ]
    return Offered(frozenset(actor for actor, _ in rows), frozenset(action for _, action in rows))


def last_of(tenant_id: UUID, action: str, **details: object) -> AuditRecord | None:
    """Return the newest record of that action with these details."""
    rows = AuditRecord.objects.of(tenant_id).filter(action=action)
    wanted = {f"details__{name}": value for name, value in details.items()}
    return _first(rows.filter(**wanted).order_by("-occurred_at", "-seq"))
