"""Schedules and heartbeats as stores of a forget: what they are called, what they start runs with, what was seen.

One whose name, workflow or predicate spoke of the subject is not what it was any more, and stands still.
"""

from abc import ABC, abstractmethod
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import transaction

from memory.erasers.kept_values import KeptValues
from memory.host import heartbeats, scheduling
from memory.host.erasure import Identifiers
from memory.host.models import Heartbeat, Schedule
from memory.matching import Rule, rule_for

GOES_ON = frozenset({"inputs", "prior_state"})


class Timed(KeptValues, ABC):
    """What both share: the rows are locked, and a name that had to go is replaced by one that nobody else has."""

    def erase(
        self, tenant_id: UUID, subject: Identifiers, rows: tuple[UUID, ...], *, ticked: bool, now: datetime
    ) -> int:
        with transaction.atomic():
            locked = self.table.objects.of(tenant_id).select_for_update().filter(id__in=rows).order_by("id")
            found = [(row, self._changes(row, subject, rule_for(ticked=ticked))) for row in locked]
            changed = [(row, values) for row, values in found if values]
            for row, values in changed:
                self.write(row, values)
        return len(changed)

    def _changes(self, row: Any, subject: Identifiers, rule: Rule) -> dict[str, Any]:
        changes = self.cleaned(row, subject, rule)
        if "name" in changes:
            changes["name"] = f"forgotten-{row.id.hex}"
        return changes | ({"enabled": False, "next_at": None} if changes.keys() - GOES_ON else {})

    @abstractmethod
    def write(self, row: Any, values: dict[str, Any]) -> None:
        """The locked row has these values from here on."""


class ScheduleValues(Timed):
    """Values that schedules keep."""

    store = "schedules"
    table = Schedule
    columns = ("name", "workflow_id", "agent_id", "inputs")

    def write(self, row: Any, values: dict[str, Any]) -> None:
        scheduling.erase_kept(row, **values)


class HeartbeatValues(Timed):
    """Values that heartbeats keep."""

    store = "heartbeats"
    table = Heartbeat
    columns = ("name", "workflow_id", "predicate", "inputs", "prior_state")

    def write(self, row: Any, values: dict[str, Any]) -> None:
        heartbeats.erase_kept(row, **values)


SCHEDULE_VALUES = ScheduleValues()
HEARTBEAT_VALUES = HeartbeatValues()
