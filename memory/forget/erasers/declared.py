"""The eraser of a table that declares what of it may name a person (``Personal``): finding, showing, erasing, and the
second look, for every such table alike.

The second look goes over the columns of every row as one text. It leaves out the other columns of the table: they
belong to another store, or hold the host's own words, which would stay undecided for ever where a name is a part of
them (Ted of "completed").
"""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from django.apps import apps
from django.db import transaction
from django.db.models import CharField, JSONField, TextField

from memory import redaction
from memory.host import erasure, ids, sql
from memory.host.erasure import Holding, Identifiers, Remains
from memory.host.models import Run
from memory.text.matching import (
    FORGOTTEN,
    Mention,
    Remembered,
    Rule,
    judged,
    mentioned_in,
    texts_in,
    whole_text,
    without_subject,
)


class Declared:
    """One table. What a store does otherwise it says in a class of its own that derives from this one."""

    def __init__(self, table: Any) -> None:
        self.table, self.personal = table, table.personal
        self.store: str = self.personal.store
        self.columns: tuple[str, ...] = self.personal.columns or _words_of(table)
        self.at_once: int = self.personal.at_once or sql.CHUNK

    @property
    def covers(self) -> Mapping[str, tuple[str, ...]]:
        """The columns that it looks through, by table."""
        return {self.table._meta.db_table: self.columns}

    def find(self, tenant_id: UUID, subject: Identifiers) -> Holding:
        """A row with an exact and a suspected mention is both, when the second would still be there without the first:
        then a person decides about it."""
        exact, suspected, known = [], [], remembered(subject)
        for row, values in self.rows(tenant_id):
            found = {known.mention(subject.terms, text) for text in set(texts_in(values))}
            if Mention.EXACT in found:
                exact.append(row)
                if Mention.SUSPECTED in found:
                    rest = self.left_of(values, subject, known.is_exact)
                    found = {known.mention(subject.terms, text) for text in set(texts_in(rest))}
            if Mention.SUSPECTED in found:
                suspected.append(row)
        return Holding(self.store, tuple(exact), tuple(suspected))

    def rows(self, tenant_id: UUID) -> Iterable[tuple[UUID, list[Any]]]:
        """Every row with the values that are looked through."""
        found = self.table.objects.of(tenant_id).order_by("id").values_list("id", *self.columns)
        for row, *values in found.iterator(chunk_size=self.at_once):
            yield row, self._read(values)

    def left_of(self, values: list[object], subject: Identifiers, rule: Rule) -> object:
        """What is left of a row's values when the mentions by ``rule`` have gone."""
        return [] if self.personal.goes_whole else without_subject(subject.terms, values, rule)

    def texts(self, tenant_id: UUID, rows: Sequence[UUID]) -> dict[UUID, list[str]]:
        """Without what a workflow declares sensitive, as on the page of the run."""
        found = self.table.objects.of(tenant_id).filter(id__in=rows)
        run = self.personal.sensitive_of
        if run:
            found = found.select_related("definition" if run == "self" else f"{run}__definition")
        if run or self.personal.shown:
            return {row.id: self._shown(row) for row in found}
        return {row: list(texts_in(self._read(values))) for row, *values in found.values_list("id", *self.columns)}

    def _shown(self, row: Any) -> list[str]:
        if self.personal.shown:
            return list(self.personal.shown(row))
        run = row if self.personal.sensitive_of == "self" else getattr(row, self.personal.sensitive_of)
        return list(texts_in([redaction.mask_of_run(run).value(getattr(row, name)) for name in self.columns]))

    def found_in(self, tenant_id: UUID, rows: Sequence[UUID]) -> dict[UUID, str]:
        prefix, column = self.personal.page
        if not prefix:
            return {}
        found = self.table.objects.of(tenant_id).filter(id__in=rows).values_list("id", column)
        return {row: ids.wire(prefix, of) for row, of in found}

    @transaction.atomic
    def erase(
        self, tenant_id: UUID, subject: Identifiers, rows: tuple[UUID, ...], *, ticked: bool, now: datetime
    ) -> int:
        """Locks the rows in the order of their ids, after their runs where those are locked first."""
        known, erased = remembered(subject), 0
        rule = known.is_mentioned if ticked else known.is_exact
        if self.personal.under_lock_of_run:
            self._lock_runs(tenant_id, rows)
        for part in sql.in_chunks(sorted(rows), self.at_once):
            locked = self.table.objects.of(tenant_id).select_for_update().filter(id__in=part).order_by("id")
            changes = [(row, changed) for row in locked if (changed := self.changes(row, subject, rule))]
            if self.personal.deleted:
                going = self.table.objects.written_by(self.table.writer).filter(tenant_id=tenant_id)
                erased += sql.delete_in_chunks(going, [row.id for row, _ in changes])
                continue
            for row, changed in changes:
                row.overwrite(**changed)
            erased += len(changes)
        return erased

    def _lock_runs(self, tenant_id: UUID, rows: Sequence[UUID]) -> None:
        wanted = set(self.table.objects.of(tenant_id).filter(id__in=rows).values_list("run_id", flat=True))
        list(Run.objects.of(tenant_id).select_for_update().filter(id__in=wanted).order_by("id").values_list("id"))

    def changes(self, row: object, subject: Identifiers, rule: Rule) -> dict[str, Any]:
        """The columns of ``row`` to change, with their new values; none when it does not name the subject."""
        before = {name: getattr(row, name) for name in self.columns}
        if self.personal.goes_whole:
            is_named = mentioned_in(subject.terms, self._read(list(before.values())), rule)
            return (dict(self.personal.blanked) or before) if is_named else {}
        cleaned = {name: without_subject(subject.terms, value, rule) for name, value in before.items()}
        changed = {
            name: self._replacement(row, name, value, subject, rule)
            for name, value in cleaned.items()
            if value != before[name]
        }
        return changed | (self.personal.along if changed.keys() - set(self.personal.harmless) else {})

    def _replacement(self, row: Any, name: str, cleaned: object, subject: Identifiers, rule: Rule) -> object:
        """The new value of this column, where ``cleaned`` is the value without the subject."""
        before, own = getattr(row, name), f"forgotten-{row.id.hex}"
        if self.personal.emptied:
            return ""
        if name in self.personal.unnamed:
            return [own if each == FORGOTTEN else each for each in cleaned] if isinstance(cleaned, list) else own
        if self.personal.shortened and isinstance(before, list):
            return [each for each in before if not mentioned_in(subject.terms, each, rule)]
        return cleaned

    def remains(
        self, tenant_id: UUID, subject: Identifiers, *, chosen: frozenset[UUID], spared: frozenset[UUID]
    ) -> Remains:
        """Over all columns of every row, as one text."""
        texts = ((row, whole_text(values)) for row, values in self.rows(tenant_id))
        return judged(subject.terms, texts, chosen, spared)

    def _read(self, values: list[Any]) -> list[str]:
        """The values of the columns, of which some are texts that hold JSON."""
        if not self.personal.json_text:
            return values
        pairs = zip(self.columns, values, strict=True)
        return [parse_value(value) if name in self.personal.json_text else value for name, value in pairs]


def remembered(subject: Identifiers) -> Remembered:
    """What was said of texts in this look, by all the tables that are looked through."""
    known: Remembered = subject.seen.setdefault("texts", Remembered())
    return known


def parse_value(text: str | None) -> Any:
    """The JSON value in a text, or the text itself when it is not JSON."""
    try:
        return text if text is None else json.loads(text)
    except ValueError:
        return text


def _words_of(table: Any) -> tuple[str, ...]:
    """The columns of a table that hold words, but for those whose words are the host's own choices."""
    fields = [each for each in table._meta.concrete_fields if isinstance(each, CharField | TextField | JSONField)]
    return tuple(each.attname for each in fields if not each.choices)


def register_tables(app_label: str, *, otherwise: Mapping[object, Callable[[object], Declared]] | None = None) -> None:
    """Every table of the app that declares what is personal takes part in every forget; those that need more than the
    declaration by the class named for them."""
    for table in apps.get_app_config(app_label).get_models():
        if getattr(table, "personal", None):
            erasure.register((otherwise or {}).get(table, Declared)(table))
