"""Saved filters as a store of a forget: one whose name or query speaks of the subject goes as a whole."""

from collections.abc import Sequence
from datetime import datetime
from urllib.parse import unquote_plus
from uuid import UUID

from memory.erasers.kept_values import KeptValues
from memory.host import saved_filters
from memory.host.erasure import Identifiers
from memory.host.models import SavedFilter
from memory.matching import rule_for


class SavedFilters(KeptValues):
    """Names and queries."""

    store = "saved filters"
    table = SavedFilter
    columns = ("name", "slug", "query")
    goes_whole = True

    def texts(self, tenant_id: UUID, rows: Sequence[UUID]) -> dict[UUID, list[str]]:
        found = self.table.objects.of(tenant_id).filter(id__in=rows).values_list("id", "name", "query")
        return {row: [name, unquote_plus(query)] for row, name, query in found}

    def erase(
        self, tenant_id: UUID, subject: Identifiers, rows: tuple[UUID, ...], *, ticked: bool, now: datetime
    ) -> int:
        found, rule = self.table.objects.of(tenant_id).filter(id__in=rows), rule_for(ticked=ticked)
        return saved_filters.erase(tenant_id, [row.id for row in found if self.cleaned(row, subject, rule)])


SAVED_FILTERS = SavedFilters()
