"""Authorised access to the audit log, which is itself audited. Records are appended in ``audit``, the chain of their
hashes is verified in ``audit_chain``.

Every face and page that shows audit records calls these functions.
"""

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

from memory.host import access, audit, audit_chain, event_log, ids, signing, sql
from memory.host.audit import AuditFilter, Offered
from memory.host.audit_chain import Finding
from memory.host.errors import Invalid
from memory.host.event_log import Recorded
from memory.host.json_types import JSONObject
from memory.host.models import AuditCheckpoint, AuditRecord
from memory.host.models.audit import result_of
from memory.host.paging import cut
from memory.host.tenancy import TenantScope

SCOPE = "audit:read"
EXPORTED = "audit.exported"
UNREADABLE = "unreadable"
VIEWED_ONCE_IN = timedelta(minutes=10)
CHECKPOINTS_SHOWN = 10
# The most matches of a filter that are counted.
COUNTED = 10_000


@dataclass(frozen=True, slots=True)
class AuditPage:
    """A page of records, newest first, and the newest checkpoints, with both totals.

    The total of a filter is a lower bound beyond ``COUNTED``. ``proven`` is the record of the last export of
    checkpoints: a removal after it cannot be proven.
    """

    records: list[AuditRecord]
    total: int
    checkpoints: list[AuditCheckpoint]
    checkpoints_total: int
    proven: AuditRecord | None
    inexact: bool = False


def view(
    scope: TenantScope, wanted: AuditFilter | None = None, *, before: int | None = None, limit: int, now: datetime
) -> AuditPage:
    """Return records that match, older than ``before``.

    The view itself is audited, once in ten minutes per principal.
    """
    scope.check(SCOPE)
    tenant_id, who = scope.tenant_id, scope.principal.id
    audit.append_once(tenant_id, within=VIEWED_ONCE_IN, actor=who, action="audit.viewed", now=now)
    wanted = wanted or AuditFilter()
    counted = audit.count(tenant_id, wanted, most=COUNTED + 1)
    inexact = counted > COUNTED and not wanted.is_empty
    return AuditPage(
        audit.newest(tenant_id, wanted, before=before, limit=limit),
        COUNTED if inexact else counted,
        *audit_chain.newest_checkpoints(tenant_id, limit=CHECKPOINTS_SHOWN),
        audit.last_of(tenant_id, EXPORTED, what="checkpoints"),
        inexact,
    )


def list_filter_choices(scope: TenantScope) -> Offered:
    """Return the choices of the actor and action filters."""
    scope.check(SCOPE)
    return audit.list_filter_choices(scope.tenant_id)


def list_records_about(scope: TenantScope, targets: Collection[str], *, limit: int, now: datetime) -> list[AuditRecord]:
    """Return the newest records about any of ``targets``.

    The view itself is audited, once in ten minutes per principal.
    """
    scope.check(SCOPE)
    tenant_id, who = scope.tenant_id, scope.principal.id
    audit.append_once(tenant_id, within=VIEWED_ONCE_IN, actor=who, action="audit.viewed", now=now)
    return audit.list_records_about(tenant_id, targets, limit=limit)


def export(scope: TenantScope, wanted: AuditFilter | None = None, *, now: datetime) -> Iterator[JSONObject]:
    """Yield every matching record with its hash, oldest first.

    The export itself is audited first, so without a filter its own record is the last one.
    """
    scope.check(SCOPE)
    _exported(scope, {"what": "records"}, now)
    return (document_of(record) for record in audit.export_records(scope.tenant_id, wanted))


def with_names(scope: TenantScope, rows: Iterator[JSONObject]) -> Iterator[JSONObject]:
    """Add the result, and the names of actor and target, to exported records; the result of one that cannot be read is
    ``unreadable``. Names are looked up a chunk at a time."""
    for chunk in sql.in_chunks(rows):
        readable = [row for row in chunk if UNREADABLE not in row]
        names = access.names_of(scope.tenant_id, {row[field] for row in readable for field in ("actor", "target")})
        for row in chunk:
            if UNREADABLE in row:
                yield {**row, "result": UNREADABLE}
                continue
            called = {"actorName": names.get(row["actor"], ""), "targetName": names.get(row["target"], "")}
            yield {**row, **called, "result": result_of(row["action"], row["details"])}


def document_of(record: AuditRecord) -> JSONObject:
    """Return a record as a verifier needs it: the hashed members (RFC 8785, SHA-256), and the hash.

    ``unhashed`` names the members of ``details`` that the hash does not cover: the reason, which a forget can erase. A
    verifier removes them from ``details``, and ``unhashed`` and ``entryHash`` from the document. A record that was
    tampered with so that it has no such form is named by its number.
    """
    if not record.is_readable:
        bare = {"tenant": str(record.tenant_id), "seq": record.seq, "entryHash": record.entry_hash}
        return {**bare, UNREADABLE: True}
    document = {**audit_chain.form_of(record), "details": record.facts, "entryHash": record.entry_hash}
    return document if record.reason is None else {**document, "unhashed": ["reason"]}


def proofs(scope: TenantScope, *, after: int = -1, limit: int | None = None, now: datetime) -> JSONObject:
    """Return the checkpoints after ``after``, oldest first, and the keys that verify them, to be stored elsewhere.

    Without a ``limit`` all are returned; with one, ``next`` is the cursor for the next page, and null at the end.
    """
    scope.check(SCOPE)
    tenant_id = scope.tenant_id
    found = (
        list(audit_chain.all_checkpoints(tenant_id, first=after + 1))
        if limit is None
        else audit_chain.list_checkpoints(tenant_id, after=after, size=limit + 1)
    )
    found, last = cut(found, limit) if limit is not None else (found, None)
    _exported(scope, {"what": "checkpoints", "atSequence": found[-1].at_seq if found else None}, now)
    return {
        "tenant": str(scope.tenant_id),
        "exportedAt": now.isoformat(),
        "checkpoints": [
            {
                **audit_chain.checkpoint_statement(each),
                "signature": each.signature,
                "keyId": each.key_id,
                "createdAt": each.created_at.isoformat(),
            }
            for each in found
        ],
        "total": audit_chain.count_checkpoints(tenant_id),
        "next": last.at_seq if last else None,
        "publicKeys": public_keys(),
    }


def public_keys() -> list[dict[str, str]]:
    """Return the keys that verify this host's checkpoints: SPKI in DER, base64; the current one first."""
    return [{"keyId": key.key_id, "publicKey": key.spki} for key in signing.public_keys(signing.CHECKPOINTS)]


def _exported(scope: TenantScope, details: JSONObject, now: datetime) -> None:
    audit.append(scope.tenant_id, actor=scope.principal.id, action=EXPORTED, details=details, now=now)


def verify(scope: TenantScope, *, first: int | None = None, last: int | None = None) -> Finding:
    """Recompute the records ``first`` to ``last`` and the checkpoints among them; the whole log by default.

    A range that ends after the newest record ends with it. One whose start is after its end is refused.
    """
    scope.check(SCOPE)
    end = audit_chain.expected_end(scope.tenant_id)
    start, until = first or 0, end if last is None else last
    until = min(until, end)
    if start > max(until, 0):
        message = f"Record {start} is behind the end of the range, which is {until}"
        raise Invalid("There is no such range of the audit log.", errors=[{"field": "fromSeq", "message": message}])
    return audit_chain.verify(scope.tenant_id, first=start, last=until) if end >= 0 else Finding(0, 0)


def verify_between(scope: TenantScope, since: datetime, until: datetime) -> Finding | None:
    """Recompute the records that were appended from ``since`` to ``until``, the first ``COUNTED`` of them; None when
    there is none."""
    scope.check(SCOPE)
    found = audit.numbers_between(scope.tenant_id, since, until)
    if found is None:
        return None
    first, last = found
    return audit_chain.verify(scope.tenant_id, first=first, last=min(last, first + COUNTED - 1))


def last_number_at(scope: TenantScope, moment: datetime) -> int | None:
    """Return the number of the last record that had been appended at ``moment``; None for none."""
    scope.check(SCOPE)
    return audit.last_number_at(scope.tenant_id, moment)


def events(scope: TenantScope, *, after: int = -1, limit: int) -> tuple[list[Recorded], int]:
    """Return the events of the tenant's own log after ``after``, and its length."""
    scope.check(SCOPE)
    return event_log.read_tenant_log(scope.tenant_id, after=after, limit=limit), event_log.tenant_log_length(
        scope.tenant_id
    )


def log_id(scope: TenantScope) -> str:
    """Return the id under which events refer to the tenant's own log."""
    return ids.wire("tenant", scope.tenant_id)
