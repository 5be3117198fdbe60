"""Interrupts as a store of a forget: what was asked, what was answered, and who was named to decide.

The event log holds ids and the words of workflow definitions alone, and stays as it was (RFC 0080).
"""

from datetime import datetime
from uuid import UUID

from django.db import transaction

from memory.erasers.kept_values import KeptValues
from memory.host import runs, suspensions
from memory.host.erasure import Identifiers
from memory.host.models import Interrupt
from memory.matching import Rule, rule_for


class InterruptValues(KeptValues):
    """Questions and answers of runs."""

    store = "questions and answers of runs"
    table = Interrupt
    columns = ("data", "resume_value", "policy")

    def erase(
        self, tenant_id: UUID, subject: Identifiers, rows: tuple[UUID, ...], *, ticked: bool, now: datetime
    ) -> int:
        rule = rule_for(ticked=ticked)
        return sum(self._erase_one(tenant_id, row, subject, rule) for row in rows)

    @transaction.atomic
    def _erase_one(self, tenant_id: UUID, row: UUID, subject: Identifiers, rule: Rule) -> bool:
        """Under the lock of the run, as every change of an interrupt."""
        found: Interrupt = Interrupt.objects.of(tenant_id).get(id=row)
        runs.locked(tenant_id, found.run_id)
        interrupt: Interrupt = Interrupt.objects.of(tenant_id).get(id=row)
        changed = self.cleaned(interrupt, subject, rule)
        if changed:
            suspensions.erase_kept(interrupt, **changed)
        return bool(changed)


INTERRUPT_VALUES = InterruptValues()
