"""Steps as a store of a forget: the outputs that nodes left for the nodes behind them."""

from collections.abc import Iterable
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import transaction

from memory.host.erasure import Holding, Identifiers
from memory.matching import is_exact, mentioned_in, without_subject
from openwop_console.runtime import steps
from openwop_console.runtime.models import Step


class StepOutputs:
    """Outputs of nodes; a string that names the subject is replaced as a whole."""

    store = "node outputs"

    def find(self, tenant_id: UUID, subject: Identifiers) -> Holding:
        found = list(self._mentions(tenant_id, subject))
        exact = tuple(row for row, outputs in found if mentioned_in(subject.terms, outputs, is_exact))
        certain = set(exact)
        return Holding(self.store, exact, tuple(row for row, _ in found if row not in certain))

    def erase(self, tenant_id: UUID, subject: Identifiers, rows: tuple[UUID, ...], *, now: datetime) -> int:
        with transaction.atomic():
            found = list(Step.objects.of(tenant_id).select_for_update().filter(id__in=rows))
            for step in found:
                steps.erase_outputs(step, without_subject(subject.terms, step.outputs))
        return len(found)

    def residue(self, tenant_id: UUID, subject: Identifiers, *, spared: tuple[UUID, ...]) -> int:
        return sum(1 for row, _ in self._mentions(tenant_id, subject) if row not in set(spared))

    def _mentions(self, tenant_id: UUID, subject: Identifiers) -> Iterable[tuple[UUID, Any]]:
        rows = Step.objects.of(tenant_id).order_by("id").values_list("id", "outputs")
        for row, outputs in rows.iterator(chunk_size=1000):
            if mentioned_in(subject.terms, outputs):
                yield row, outputs


STEP_OUTPUTS = StepOutputs()
