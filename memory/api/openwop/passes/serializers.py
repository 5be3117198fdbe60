"""The wire forms of passes and of their schedules; camelCase stops here."""

from typing import Any

from rest_framework import serializers

from memory import pass_schedules
from memory.background import KINDS, Wanted
from memory.host import ids
from memory.host.serializing import After, Closed, Flag, SoughtRef, Text, Whole
from memory.models import Pass, PassSchedule
from memory.pass_schedules import PassTimes
from memory.wire import instant

MOST = 2**31 - 1


class PassOptions(Closed):
    """What a pass is to keep to; each kind refuses those that are not its own."""

    tokenBudget = Whole(required=False, min_value=1, max_value=MOST)
    indexEmitted = Flag(required=False)
    includeArchives = Flag(required=False)
    includeExpiring = Flag(required=False)
    maxInputEntries = Whole(required=False, min_value=1, max_value=MOST)
    maxOutputBytes = Whole(required=False, min_value=1, max_value=MOST)
    full = Flag(required=False)


OPTIONS = frozenset(PassOptions().fields)


class OrderPass(Closed):
    """The closed body of an order: a kind of pass over one ref, for real or as a dry run."""

    kind = serializers.ChoiceField(choices=sorted(KINDS))
    memoryRef = Text()
    dryRun = Flag(required=False)
    options = PassOptions(required=False)

    def wanted(self) -> Wanted:
        given = self.validated_data
        return Wanted(given["kind"], given["memoryRef"], dict(given.get("options", {})), given.get("dryRun", False))


class PassesQuery(Closed):
    """The newest first, of one kind or ref when it is named; ``after`` is what ``next`` gave."""

    kind = serializers.ChoiceField(choices=sorted(KINDS), required=False)
    memoryRef = SoughtRef()
    limit = serializers.IntegerField(required=False, min_value=1, max_value=1000)
    after = After("pass")


class PassSchedulesQuery(PassesQuery):
    """In the order of their making, of one kind or ref when it is named."""

    after = After("psc")


class Nothing(Closed):
    """No body, or an empty one."""


class KeepPassSchedule(Closed):
    """The closed body of a schedule. Its kind and ref name it: a ref has one schedule of a kind."""

    kind = serializers.ChoiceField(choices=sorted(KINDS))
    memoryRef = Text()
    cron = Text(max_length=120)
    timezone = Text(required=False, max_length=64)
    options = PassOptions(required=False)
    enabled = Flag(required=False)

    def times(self) -> PassTimes:
        given = self.validated_data
        return PassTimes(
            kind=given["kind"],
            memory_ref=given["memoryRef"],
            cron=given["cron"],
            timezone=given.get("timezone", "UTC"),
            options=dict(given.get("options", {})),
            enabled=given.get("enabled", True),
        )


def work_document(row: Pass) -> dict[str, Any]:
    """What is told of every pass, whatever became of it. ``outcome`` is numbers, codes and ids."""
    return {
        "id": ids.wire("pass", row.id),
        "state": row.state,
        "trigger": row.trigger,
        "dryRun": row.dry_run,
        "options": row.options,
        "done": row.done,
        "total": row.total,
        "doing": row.doing,
        "code": row.code or None,
        "outcome": row.outcome,
        "runId": ids.wire("run", row.run_id),
        "requestedBy": row.requested_by,
        "createdAt": instant(row.created_at),
        "finishedAt": instant(row.finished_at) if row.finished_at else None,
    }


def pass_document(row: Pass) -> dict[str, Any]:
    """A pass over memory."""
    return work_document(row) | {
        "kind": row.kind,
        "memoryRef": row.memory_ref,
        "options": {name: value for name, value in row.options.items() if name in OPTIONS},
        "stopping": row.stopping,
        "details": row.outcome.get("details"),
        "outcome": {name: value for name, value in row.outcome.items() if name != "details"},
    }


def schedule_document(row: PassSchedule) -> dict[str, Any]:
    coming = [instant(tick) for tick in pass_schedules.coming(row)]
    return {
        "id": ids.wire("psc", row.id),
        "kind": row.kind,
        "memoryRef": row.memory_ref,
        "cron": row.cron,
        "timezone": row.timezone,
        "options": {name: value for name, value in row.options.items() if name in OPTIONS},
        "enabled": row.enabled,
        "principal": row.written_by,
        "createdAt": instant(row.created_at),
        "nextTick": coming[0] if coming else None,
        "nextTicks": coming,
        "lastPassId": ids.wire("pass", row.last_pass_id) if row.last_pass_id else None,
    }
