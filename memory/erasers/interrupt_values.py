"""Interrupts as a store of a forget: what was asked, what was answered, and who was named to decide.

The event log holds ids and the words of workflow definitions alone, and stays as it was (RFC 0080).
"""

from collections.abc import Sequence
from uuid import UUID

from django.db import transaction

from memory import masking
from memory.erasers.kept_values import RowByRow
from memory.host import interrupts, runs
from memory.host.erasure import Identifiers
from memory.host.models import Interrupt, InterruptVote
from memory.matching import Rule, texts_in


class InterruptValues(RowByRow):
    """Questions and answers of runs."""

    store = "questions and answers of runs"
    table = Interrupt
    columns = ("data", "resume_value", "policy")
    opens = ("run", "run_id")

    def texts(self, tenant_id: UUID, rows: Sequence[UUID]) -> dict[UUID, list[str]]:
        """Without what the workflow declares sensitive, as on the page of the run."""
        found = Interrupt.objects.of(tenant_id).filter(id__in=rows).select_related("run__definition")
        return {
            row.id: list(texts_in([masking.of_run(row.run).value(getattr(row, name)) for name in self.columns]))
            for row in found
        }

    @transaction.atomic
    def erase_one(self, tenant_id: UUID, row_id: UUID, subject: Identifiers, rule: Rule) -> bool:
        """Under the lock of the run, as every change of an interrupt."""
        found: Interrupt | None = Interrupt.objects.of(tenant_id).filter(id=row_id).first()
        if found is None:
            return False
        runs.locked(tenant_id, found.run_id)
        interrupt: Interrupt = Interrupt.objects.of(tenant_id).get(id=row_id)
        changed = self.cleaned(interrupt, subject, rule)
        if changed:
            interrupts.erase_kept(interrupt, **changed)
        return bool(changed)


class Voters(RowByRow):
    """Whose voices were counted: persons by their ids, and names that a test of the protocol gave."""

    store = "voices at questions of runs"
    table = InterruptVote
    columns = ("voter",)

    @transaction.atomic
    def erase_one(self, tenant_id: UUID, row_id: UUID, subject: Identifiers, rule: Rule) -> bool:
        vote: InterruptVote | None = InterruptVote.objects.of(tenant_id).select_for_update().filter(id=row_id).first()
        changed = self.cleaned(vote, subject, rule) if vote else {}
        if vote and changed:
            interrupts.erase_voter(vote, f"forgotten-{vote.id.hex}")
        return bool(changed)


INTERRUPT_VALUES, VOTERS = InterruptValues(), Voters()
