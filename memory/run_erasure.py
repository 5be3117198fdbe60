"""Runs as a store of a forget: the inputs, variables and metadata that are kept beside the log.

The event log itself is content-free and stays as it was (RFC 0080).
"""

from collections.abc import Iterable
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import transaction

from memory.host import runs
from memory.host.erasure import Holding, Identifiers
from memory.host.models import Run
from memory.matching import is_exact, mentioned_in, without_subject

KEPT = ("inputs", "variables", "metadata")


class RunValues:
    """Values that runs keep; a string that names the subject is replaced as a whole."""

    store = "run inputs and variables"

    def find(self, tenant_id: UUID, subject: Identifiers) -> Holding:
        found = list(self._mentions(tenant_id, subject))
        exact = tuple(row for row, values in found if mentioned_in(subject.terms, values, is_exact))
        certain = set(exact)
        return Holding(self.store, exact, tuple(row for row, _ in found if row not in certain))

    def erase(self, tenant_id: UUID, subject: Identifiers, rows: tuple[UUID, ...], *, now: datetime) -> int:
        for row in rows:
            with transaction.atomic():
                run = runs.locked(tenant_id, row)
                kept = {name: without_subject(subject.terms, getattr(run, name)) for name in KEPT}
                runs.erase_kept(run, **kept)
        return len(rows)

    def residue(self, tenant_id: UUID, subject: Identifiers, *, spared: tuple[UUID, ...]) -> int:
        return sum(1 for row, _ in self._mentions(tenant_id, subject) if row not in set(spared))

    def _mentions(self, tenant_id: UUID, subject: Identifiers) -> Iterable[tuple[UUID, list[Any]]]:
        rows = Run.objects.of(tenant_id).order_by("id").values_list("id", *KEPT)
        for row, *values in rows.iterator(chunk_size=1000):
            if mentioned_in(subject.terms, values):
                yield row, values


RUN_VALUES = RunValues()
