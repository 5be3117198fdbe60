"""Runs as a store of a forget: the inputs, variables, options and labels that are kept beside the log.

The event log itself is content-free and stays as it was (RFC 0080).
"""

from collections.abc import Sequence
from uuid import UUID

from django.db import transaction

from memory import masking
from memory.erasers.kept_values import RowByRow
from memory.host import runs
from memory.host.erasure import Identifiers
from memory.host.models import Run
from memory.matching import Rule, texts_in


class RunValues(RowByRow):
    """Values that runs keep."""

    store = "run inputs and variables"
    table = Run
    columns = ("inputs", "variables", "metadata", "configurable", "tags", "workspace", "scope_id", "agent_id", "error")
    opens = ("run", "id")

    def texts(self, tenant_id: UUID, rows: Sequence[UUID]) -> dict[UUID, list[str]]:
        """Without what the workflow declares sensitive, as on the page of the run."""
        found = Run.objects.of(tenant_id).filter(id__in=rows).select_related("definition")
        return {
            row.id: list(texts_in([masking.of_run(row).value(getattr(row, name)) for name in self.columns]))
            for row in found
        }

    def erase_one(self, tenant_id: UUID, row_id: UUID, subject: Identifiers, rule: Rule) -> bool:
        with transaction.atomic():
            if not Run.objects.of(tenant_id).filter(id=row_id).exists():
                return False
            run = runs.locked(tenant_id, row_id)
            changed = self.cleaned(run, subject, rule)
            if changed:
                runs.erase_kept(run, **changed)
        return bool(changed)


RUN_VALUES = RunValues()
