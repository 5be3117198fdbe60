"""Passes and their schedules as stores of a forget: the ref they go over, what they were asked, and what they told.

A pass that was over a ref with the subject's name stays on record, over a ref that nobody has; a schedule of it rests.
"""

from collections.abc import Callable
from datetime import datetime
from typing import Any, ClassVar
from uuid import UUID

from django.db import transaction

from memory import passes
from memory.erasers.kept_values import KeptValues
from memory.host.erasure import Identifiers
from memory.matching import rule_for
from memory.models import Pass, PassSchedule


class PassValues(KeptValues):
    """Values that passes keep."""

    store = "passes"
    table: ClassVar[Any] = Pass
    columns: ClassVar[tuple[str, ...]] = ("memory_ref", "options", "outcome", "doing")

    def erase(
        self, tenant_id: UUID, subject: Identifiers, rows: tuple[UUID, ...], *, ticked: bool, now: datetime
    ) -> int:
        rule = rule_for(ticked=ticked)
        with transaction.atomic():
            locked = self.table.objects.of(tenant_id).select_for_update().filter(id__in=rows).order_by("id")
            found = [(row, self.cleaned(row, subject, rule)) for row in locked]
            changed = [(row, values) for row, values in found if values]
            for row, values in changed:
                self.write(row, self._renamed(row, values))
        return len(changed)

    def _renamed(self, row: Any, values: dict[str, Any]) -> dict[str, Any]:
        """A ref that had to go is replaced by one that no other row has."""
        return {**values, "memory_ref": f"forgotten-{row.id.hex}"} if "memory_ref" in values else values

    def write(self, row: Any, values: dict[str, Any]) -> None:
        passes.erase_kept(row, **values)


class PassScheduleValues(PassValues):
    """Values that schedules of passes keep. Their writer stands on a higher floor and is handed in by ``apps``."""

    store = "pass schedules"
    table = PassSchedule
    columns = ("memory_ref", "options")

    def __init__(self, keep: Callable[..., None]) -> None:
        self._keep = keep

    def write(self, row: Any, values: dict[str, Any]) -> None:
        self._keep(row, **values, enabled=False, next_at=None)


PASS_VALUES = PassValues()
