"""Steps as a store of a forget: the outputs that nodes left for the nodes behind them."""

from collections.abc import Iterable
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import transaction

from memory.host.erasure import Holding, Identifiers, Remains
from memory.matching import is_exact, judged, mentioned_in, rule_for, search_form, whole_text, without_subject
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

    def erase(
        self, tenant_id: UUID, subject: Identifiers, rows: tuple[UUID, ...], *, ticked: bool, now: datetime
    ) -> int:
        rule = rule_for(ticked=ticked)
        with transaction.atomic():
            locked = Step.objects.of(tenant_id).select_for_update().filter(id__in=rows).order_by("id")
            found = [(step, without_subject(subject.terms, step.outputs, rule)) for step in locked]
            changed = [(step, outputs) for step, outputs in found if outputs != step.outputs]
            for step, outputs in changed:
                steps.erase_outputs(step, outputs)
        return len(changed)

    def remains(
        self, tenant_id: UUID, subject: Identifiers, *, chosen: frozenset[UUID], spared: frozenset[UUID]
    ) -> Remains:
        """Over every column of every step, each as one text."""
        rows = Step.objects.of(tenant_id).order_by("id").values().iterator(chunk_size=1000)
        return judged(subject.terms, ((row["id"], search_form(whole_text(row))) for row in rows), chosen, spared)

    def _mentions(self, tenant_id: UUID, subject: Identifiers) -> Iterable[tuple[UUID, Any]]:
        rows = Step.objects.of(tenant_id).order_by("id").values_list("id", "outputs")
        for row, outputs in rows.iterator(chunk_size=1000):
            if mentioned_in(subject.terms, outputs):
                yield row, outputs


STEP_OUTPUTS = StepOutputs()
