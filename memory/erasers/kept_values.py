"""Stores of a forget that keep JSON values beside the log: rows of a table, some columns of which may name the subject.

A string that names the subject is replaced as a whole. The second look goes over the columns of every row as one text.
It leaves out the other columns of the table: they belong to another store, or hold the host's own words, which would
stay undecided for ever where a name is a part of them (Ted of "completed").
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, ClassVar
from uuid import UUID

from memory.host import ids
from memory.host.erasure import Holding, Identifiers, Remains
from memory.matching import Rule, is_exact, judged, mentioned_in, rule_for, texts_in, whole_text, without_subject

CHUNK = 1000


class KeptValues:
    """What such stores share; each brings its table, its columns, and how one row is written.

    ``opens`` is the prefix of what has a page, and the column that holds its id; no prefix when nothing has.
    """

    store: str
    table: ClassVar[Any]
    columns: ClassVar[tuple[str, ...]]
    chunk: ClassVar[int] = CHUNK
    opens: ClassVar[tuple[str, str]] = ("", "id")

    # Whether a row that names the subject goes as a whole, or loses the values that do.
    goes_whole: ClassVar[bool] = False

    @property
    def covers(self) -> Mapping[str, tuple[str, ...]]:
        """The columns that it looks through, by table."""
        return {self.table._meta.db_table: self.columns}

    def find(self, tenant_id: UUID, subject: Identifiers) -> Holding:
        """A row with an exact and a suspected mention is both, when the second would still be there without the first:
        then a person decides about it."""
        exact, suspected = [], []
        for row, values in self._mentions(tenant_id, subject):
            rest = values
            if mentioned_in(subject.terms, values, is_exact):
                exact.append(row)
                rest = self.left_of(values, subject)
            if mentioned_in(subject.terms, rest):
                suspected.append(row)
        return Holding(self.store, tuple(exact), tuple(suspected))

    def left_of(self, values: list[Any], subject: Identifiers) -> Any:
        """What is left of a row's values when the exact mentions have gone."""
        return [] if self.goes_whole else without_subject(subject.terms, values, is_exact)

    def _mentions(self, tenant_id: UUID, subject: Identifiers) -> Iterable[tuple[UUID, list[Any]]]:
        rows = self.table.objects.of(tenant_id).order_by("id").values_list("id", *self.columns)
        for row, *values in rows.iterator(chunk_size=self.chunk):
            if mentioned_in(subject.terms, values):
                yield row, values

    def texts(self, tenant_id: UUID, rows: Sequence[UUID]) -> dict[UUID, list[str]]:
        found = self.table.objects.of(tenant_id).filter(id__in=rows).values_list("id", *self.columns)
        return {row: list(texts_in(values)) for row, *values in found}

    def found_in(self, tenant_id: UUID, rows: Sequence[UUID]) -> dict[UUID, str]:
        prefix, column = self.opens
        if not prefix:
            return {}
        found = self.table.objects.of(tenant_id).filter(id__in=rows).values_list("id", column)
        return {row: ids.wire(prefix, of) for row, of in found}

    def remains(
        self, tenant_id: UUID, subject: Identifiers, *, chosen: frozenset[UUID], spared: frozenset[UUID]
    ) -> Remains:
        """Over all columns of every row, as one text."""
        rows = self.table.objects.of(tenant_id).order_by("id").values_list("id", *self.columns)
        texts = ((row, whole_text(values)) for row, *values in rows.iterator(chunk_size=self.chunk))
        return judged(subject.terms, texts, chosen, spared)

    def cleaned(self, row: Any, subject: Identifiers, rule: Rule) -> dict[str, Any]:
        """The columns of ``row`` that have to change, with the values they are to have."""
        before = {name: getattr(row, name) for name in self.columns}
        after = {name: without_subject(subject.terms, value, rule) for name, value in before.items()}
        return {name: value for name, value in after.items() if value != before[name]}


class RowByRow(KeptValues, ABC):
    """Those of which each row is written by itself, in a transaction of its own."""

    def erase(
        self, tenant_id: UUID, subject: Identifiers, rows: tuple[UUID, ...], *, ticked: bool, now: datetime
    ) -> int:
        rule = rule_for(ticked=ticked)
        return sum(self.erase_one(tenant_id, row, subject, rule) for row in rows)

    @abstractmethod
    def erase_one(self, tenant_id: UUID, row_id: UUID, subject: Identifiers, rule: Rule) -> int:
        """The row names the subject no more; how many rows were changed for it, or are gone."""
