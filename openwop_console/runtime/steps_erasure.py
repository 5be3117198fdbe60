"""Steps as a store of a forget: the outputs that nodes left for the nodes behind them."""

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from django.db import transaction

from memory import masking
from memory.erasers.values import KeptValues
from memory.host.erasure import Identifiers
from memory.text.matching import rule_for, texts_in
from openwop_console.runtime import steps
from openwop_console.runtime.models import Step


class StepOutputs(KeptValues):
    """Outputs of nodes, the variables they set, and why they failed."""

    store = "node outputs"
    table = Step
    columns = ("outputs", "variables", "error")
    opens = ("run", "run_id")

    def texts(self, tenant_id: UUID, rows: Sequence[UUID]) -> dict[UUID, list[str]]:
        """Without what the workflow declares sensitive, as on the page of the run."""
        found = Step.objects.of(tenant_id).filter(id__in=rows).select_related("run__definition")
        return {
            row.id: list(texts_in([masking.of_run(row.run).value(getattr(row, name)) for name in self.columns]))
            for row in found
        }

    def erase(
        self, tenant_id: UUID, subject: Identifiers, rows: tuple[UUID, ...], *, ticked: bool, now: datetime
    ) -> int:
        with transaction.atomic():
            locked = Step.objects.of(tenant_id).select_for_update().filter(id__in=rows).order_by("id")
            found = [(step, self.cleaned(step, subject, rule_for(ticked=ticked))) for step in locked]
            changed = [(step, values) for step, values in found if values]
            for step, values in changed:
                steps.erase_kept(step, **values)
        return len(changed)


STEP_OUTPUTS = StepOutputs()
