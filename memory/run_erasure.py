"""Runs as a store of a forget: the inputs, variables, options and labels that are kept beside the log.

The event log itself is content-free and stays as it was (RFC 0080).
"""

from collections.abc import Iterable
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import transaction

from memory.host import runs
from memory.host.erasure import Holding, Identifiers, Remains
from memory.host.models import Run
from memory.matching import Rule, is_exact, judged, mentioned_in, rule_for, search_form, whole_text, without_subject

KEPT = ("inputs", "variables", "metadata", "configurable", "tags")


class RunValues:
    """Values that runs keep; a string that names the subject is replaced as a whole."""

    store = "run inputs and variables"

    def find(self, tenant_id: UUID, subject: Identifiers) -> Holding:
        found = list(self._mentions(tenant_id, subject))
        exact = tuple(row for row, values in found if mentioned_in(subject.terms, values, is_exact))
        certain = set(exact)
        return Holding(self.store, exact, tuple(row for row, _ in found if row not in certain))

    def erase(
        self, tenant_id: UUID, subject: Identifiers, rows: tuple[UUID, ...], *, ticked: bool, now: datetime
    ) -> int:
        rule = rule_for(ticked=ticked)
        return sum(self._erase_one(tenant_id, row, subject.terms, rule) for row in rows)

    def _erase_one(self, tenant_id: UUID, row: UUID, terms: tuple[str, ...], rule: Rule) -> bool:
        with transaction.atomic():
            run = runs.locked(tenant_id, row)
            before = {name: getattr(run, name) for name in KEPT}
            kept = {name: without_subject(terms, value, rule) for name, value in before.items()}
            if kept != before:
                runs.erase_kept(run, **kept)
            return kept != before

    def remains(
        self, tenant_id: UUID, subject: Identifiers, *, chosen: frozenset[UUID], spared: frozenset[UUID]
    ) -> Remains:
        """Over every column of every run, each as one text."""
        rows = Run.objects.of(tenant_id).order_by("id").values().iterator(chunk_size=1000)
        return judged(subject.terms, ((row["id"], search_form(whole_text(row))) for row in rows), chosen, spared)

    def _mentions(self, tenant_id: UUID, subject: Identifiers) -> Iterable[tuple[UUID, list[Any]]]:
        rows = Run.objects.of(tenant_id).order_by("id").values_list("id", *KEPT)
        for row, *values in rows.iterator(chunk_size=1000):
            if mentioned_in(subject.terms, values):
                yield row, values


RUN_VALUES = RunValues()
