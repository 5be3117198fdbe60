"""Saved filters as a store of a forget: one whose name or query speaks of the subject goes as a whole.

A query is the part of an address behind the question mark, so it is read as a browser writes it and decoded.
"""

from collections.abc import Iterable
from datetime import datetime
from typing import Any
from urllib.parse import unquote_plus
from uuid import UUID

from memory.erasers.kept_values import KeptValues
from memory.host import saved_filters
from memory.host.erasure import Identifiers, Remains
from memory.host.models import SavedFilter
from memory.matching import judged, mentioned_in, rule_for, search_form, whole_text


class SavedFilters(KeptValues):
    """Names and queries."""

    store = "saved filters"
    table = SavedFilter
    columns = ("name", "slug", "query")

    def _mentions(self, tenant_id: UUID, subject: Identifiers) -> Iterable[tuple[UUID, list[Any]]]:
        rows = self.table.objects.of(tenant_id).order_by("id").values_list("id", *self.columns)
        for row, *values in rows.iterator(chunk_size=self.chunk):
            said = [*values, *map(unquote_plus, values)]
            if mentioned_in(subject.terms, said):
                yield row, said

    def erase(
        self, tenant_id: UUID, subject: Identifiers, rows: tuple[UUID, ...], *, ticked: bool, now: datetime
    ) -> int:
        rule, wanted = rule_for(ticked=ticked), set(rows)
        found = ((row, values) for row, values in self._mentions(tenant_id, subject) if row in wanted)
        return saved_filters.erase(tenant_id, [row for row, said in found if mentioned_in(subject.terms, said, rule)])

    def remains(
        self, tenant_id: UUID, subject: Identifiers, *, chosen: frozenset[UUID], spared: frozenset[UUID]
    ) -> Remains:
        """Over every column of every row, as it stands and decoded."""
        rows = self.table.objects.of(tenant_id).order_by("id").values().iterator(chunk_size=self.chunk)
        texts = ((row["id"], whole_text(row)) for row in rows)
        both = ((row, search_form(f"{text} {unquote_plus(text)}")) for row, text in texts)
        return judged(subject.terms, both, chosen, spared)


SAVED_FILTERS = SavedFilters()
