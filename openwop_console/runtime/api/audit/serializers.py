"""The wire forms of the audit log and of the tenant's own log; camelCase stops here."""

from typing import Any

from rest_framework import serializers

from memory.host import auditing, checkpoints
from memory.host.audit import AuditFilter, Break
from memory.host.auditing import AuditPage
from memory.host.checkpoints import Finding
from memory.host.models import AuditCheckpoint
from memory.host.serializing import Closed, Instant, Text

MOST_RECORDS = 1000


def sequence() -> serializers.RegexField:
    """A sequence number, in digits and nothing else."""
    return serializers.RegexField(r"\A[0-9]{1,15}\Z", required=False)


class AuditRange(Closed):
    """The range to verify, both ends included."""

    fromSeq = sequence()
    toSeq = sequence()

    def ends(self) -> tuple[int | None, int | None]:
        given = self.validated_data
        first, last = (int(given[name]) if name in given else None for name in ("fromSeq", "toSeq"))
        return first, last


class AuditQuery(Closed):
    """Records older than number ``before``, newest first: of one action, from ``since`` on, before ``until``."""

    action = Text(required=False, max_length=64)
    since = Instant(required=False)
    until = Instant(required=False)
    before = sequence()
    limit = serializers.IntegerField(required=False, min_value=1, max_value=MOST_RECORDS)

    def wanted(self) -> AuditFilter:
        given = self.validated_data
        return AuditFilter(given.get("action", ""), given.get("since"), given.get("until"))


class CheckpointsQuery(Closed):
    """Checkpoints behind the number ``after``, the oldest first; ``after`` is what ``next`` gave."""

    after = sequence()
    limit = serializers.IntegerField(required=False, min_value=1, max_value=MOST_RECORDS)


class TenantEventsQuery(Closed):
    """Events behind ``after``, which is exclusive."""

    after = serializers.IntegerField(required=False, min_value=-1, max_value=2**62)
    limit = serializers.IntegerField(required=False, min_value=1, max_value=MOST_RECORDS)


def finding_document(found: Finding) -> dict[str, Any]:
    """The AuditVerifyResult."""
    return {
        "fromSeq": found.first,
        "toSeq": found.last,
        "chainValid": found.intact,
        "checkpointsValid": not found.forged,
        "checkpoints": [_checkpoint_document(each) for each in found.checkpoints],
        "anomalies": [_anomaly_document(each) for each in found.breaks],
    }


def _checkpoint_document(checkpoint: AuditCheckpoint) -> dict[str, Any]:
    return {**checkpoints.statement(checkpoint), "signature": checkpoint.signature}


def _anomaly_document(found: Break) -> dict[str, Any]:
    """The first record has nothing before it; the schema wants a text all the same."""
    return {"atSeq": found.at_seq, "expectedPrevHash": found.expected or "null", "actualPrevHash": found.actual}


def records_document(page: AuditPage) -> dict[str, Any]:
    oldest = page.records[-1].seq if page.records else 0
    return {
        "records": [auditing.document_of(record) for record in page.records],
        "total": page.total,
        "totalIsExact": not page.inexact,
        "next": oldest or None,
    }
