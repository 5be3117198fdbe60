"""The wire forms of commitments; camelCase stops here."""

from collections.abc import Iterable
from datetime import datetime
from typing import Any
from uuid import UUID

from rest_framework import serializers

from memory.commitments import Shown, Wanted
from memory.host import ids
from memory.host.serializing import After, Closed, Instant, SoughtRef, Text
from memory.models import CommitmentState, Firing
from memory.wire import instant


class CommitmentsQuery(Closed):
    """The newest first, of one state or ref when it is named; ``after`` is what ``next`` gave."""

    state = serializers.ChoiceField(choices=CommitmentState.choices, required=False)
    memoryRef = SoughtRef()
    limit = serializers.IntegerField(required=False, min_value=1, max_value=1000)
    after = After("cmt")

    def wanted(self) -> Wanted:
        return Wanted(self.validated_data.get("state", ""), self.validated_data.get("memoryRef", ""))


class SnoozeCommitment(Closed):
    """When it may fire again, with its offset from UTC."""

    until = Instant()


class CancelCommitment(Closed):
    """Why it shall not fire."""

    reason = Text(max_length=500)

    def validate_reason(self, value: str) -> str:
        if not value.strip():
            raise serializers.ValidationError("must say why")
        return value


def commitment_document(shown: Shown) -> dict[str, Any]:
    """A commitment; ``intention`` is read from memory at this moment, and null when the entry is gone."""
    row = shown.row
    return {
        "id": ids.wire("cmt", row.id),
        "memoryRef": row.memory_ref,
        "memoryId": ids.wire("mem", row.entry_id),
        "agentId": row.agent_id or None,
        "intention": shown.intention,
        "condition": row.condition,
        "dueAt": _at(row.due_at),
        "timezone": row.timezone,
        "cron": row.repeats or None,
        "words": row.predicate.get("words", []),
        "negated": row.predicate.get("negated", False),
        "holds": row.holds,
        "state": row.state,
        "snoozedUntil": _at(row.snoozed_until),
        "staleAt": _at(row.stale_at),
        "reason": row.reason or None,
        "fireCount": row.fired_count,
        "fireLimit": shown.allowed,
        "lastFiredAt": _at(row.last_fired_at),
        "lastRunId": _run(row.last_run_id),
        "lastCode": row.last_code or None,
        "createdAt": instant(row.created_at),
        "changedAt": instant(row.changed_at),
    }


def with_firings(shown: Shown, firings: Iterable[Firing]) -> dict[str, Any]:
    return commitment_document(shown) | {"firings": [_firing_document(each) for each in firings]}


def _firing_document(firing: Firing) -> dict[str, Any]:
    return {
        "occasion": firing.occasion,
        "firedAt": instant(firing.fired_at),
        "runId": ids.wire("run", firing.run_id),
        "enqueuedRunId": _run(firing.enqueued_run_id),
        "code": firing.code or None,
    }


def _at(value: datetime | None) -> str | None:
    return instant(value) if value else None


def _run(value: UUID | None) -> str | None:
    return ids.wire("run", value) if value else None
