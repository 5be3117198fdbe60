"""The eraser of a table that declares what of it may name a person (``Personal``): finding, showing, erasing, and the
second look, for every such table alike.

The second look goes over the columns of every row as one text. It leaves out the other columns of the table: they
belong to another store, or hold the host's own words, which would stay undecided for ever where a name is a part of
them (Ted of "completed").
"""

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from functools import cached_property
from typing import Any
from uuid import UUID

from django.apps import apps
from django.db import transaction
from django.db.models import CharField, F, JSONField, TextField
from django.db.models.functions import Cast

from memory import redaction
from memory.host import erasure, ids, sql
from memory.host.erasure import Holding, Identifiers, Remains
from memory.host.json_types import JSONObject
from memory.host.models import Run
from memory.text.matching import (
    FORGOTTEN,
    Mention,
    Remembered,
    Rule,
    judged,
    mentioned_in,
    passages_in,
    whole_text,
    without_subject,
)

STRETCH = 500  # rows, one after another, that are compared by one digest
NO_ROW, LAST_ROW = UUID(int=0), UUID(int=2**128 - 1)
FoundRow = tuple[UUID, bool, bool]


class Stretch:
    """Rows of a table that were searched one after another, and what was found in them."""

    def __init__(self) -> None:
        self.rows, self.last, self.found = 0, NO_ROW, list[FoundRow]()
        self._stored = hashlib.sha256()

    def add(self, row: UUID, stored: list[str | None]) -> None:
        self.rows, self.last = self.rows + 1, row
        self._stored.update(row.bytes)
        for text in stored:
            raw = b"" if text is None else text.encode("utf-8", "surrogatepass")
            self._stored.update(b"-" if text is None else len(raw).to_bytes(8))
            self._stored.update(raw)

    def digest(self) -> str:
        return self._stored.hexdigest()

    def summary(self) -> tuple[str, str, str]:
        """The last row, the digest of what is stored, and that of what was found."""
        return self.last.hex, self.digest(), _digest_of(self.found)


def _digest_of(found: list[FoundRow]) -> str:
    """A digest of which rows were found and how; empty when none was."""
    rows = b"".join(row.bytes + bytes(how) for row, *how in found)
    return hashlib.sha256(rows).hexdigest() if rows else ""


class Declared:
    """One table. What a store does otherwise it says in a class of its own that derives from this one."""

    def __init__(self, table: Any) -> None:
        self.table, self.personal = table, table.personal
        self.store: str = self.personal.store
        self.columns: tuple[str, ...] = self.personal.columns or _words_of(table)
        self.at_once: int = self.personal.at_once or sql.CHUNK
        fields = (each for each in table._meta.concrete_fields if isinstance(each, JSONField))
        self._json = frozenset(each.attname for each in fields)

    @property
    def covers(self) -> Mapping[str, tuple[str, ...]]:
        """The columns that it looks through, by table."""
        return {self.table._meta.db_table: self.columns}

    def find(self, tenant_id: UUID, subject: Identifiers) -> Holding:
        if type(self) is not Declared:  # it reads its rows in a way of its own
            return self._holding(self._found(self.rows(tenant_id), subject))
        stretches = [Stretch()]
        for row, stored in self._stored(tenant_id):
            if stretches[-1].rows == STRETCH:
                stretches.append(Stretch())
            stretches[-1].add(row, stored)
            stretches[-1].found += self._found([(row, self._parsed(stored))], subject)
        found = [each for stretch in stretches for each in stretch.found]
        return self._holding(found, tuple(each.summary() for each in stretches if each.rows))

    def is_as_found(self, tenant_id: UUID, subject: Identifiers, looked: Sequence[Sequence[str]]) -> bool:
        """Whether a search would find now what it found when it returned ``looked``.

        What is stored is compared as it stands, which takes a small part of the time of a search. Where it differs, the
        rows of that stretch are searched, and so are those that came later.
        """
        ends, now = [UUID(hex=last) for last, *_ in looked], [Stretch() for _ in looked]
        at = 0
        for row, stored in self._stored(tenant_id, until=ends[-1]):
            while row > ends[at]:
                at += 1
            now[at].add(row, stored)
        same = [each.digest() == digest for each, (_, digest, _) in zip(now, looked, strict=True)]
        parts = zip([NO_ROW, *ends], [*ends, None], [*same, False], [*(found for *_, found in looked), ""], strict=True)
        return all(
            is_same or _digest_of(self._found(self._values(tenant_id, after, until), subject)) == found
            for after, until, is_same, found in parts
        )

    def _found(self, rows: Iterable[tuple[UUID, list[object]]], subject: Identifiers) -> list[FoundRow]:
        """The rows that mention the subject: whether exactly, and whether so that a person has to decide.

        A row with an exact and a suspected mention is both, when the second would still be there without the first.
        """
        found, known = [], remembered(subject)
        for row, values in rows:
            mentions = {known.mention(subject.terms, text) for text in set(passages_in(values))}
            is_exact = Mention.EXACT in mentions
            if is_exact and Mention.SUSPECTED in mentions:
                rest = self.left_of(values, subject, known.is_exact)
                mentions = {known.mention(subject.terms, text) for text in set(passages_in(rest))}
            if is_exact or Mention.SUSPECTED in mentions:
                found.append((row, is_exact, Mention.SUSPECTED in mentions))
        return found

    def _holding(self, found: list[FoundRow], looked: tuple[tuple[str, ...], ...] = ()) -> Holding:
        exact = tuple(row for row, is_exact, _ in found if is_exact)
        return Holding(self.store, exact, tuple(row for row, _, is_doubtful in found if is_doubtful), looked=looked)

    def _values(self, tenant_id: UUID, after: UUID, until: UUID | None) -> Iterator[tuple[UUID, list[Any]]]:
        for row, stored in self._stored(tenant_id, after=after, until=until):
            yield row, self._parsed(stored)

    def _stored(
        self, tenant_id: UUID, *, after: UUID | None = None, until: UUID | None = None
    ) -> Iterator[tuple[UUID, list[str | None]]]:
        """The rows after and up to these ids with what is stored in the columns, as texts."""
        last = after or NO_ROW
        while found := self._next.fetch(tenant_id, last, until or LAST_ROW):
            for row, *stored in found:
                last = sql.as_uuid(row)
                yield last, stored
            if len(found) < self.at_once:
                return

    @cached_property
    def _next(self) -> sql.CompiledQuery:
        """The next rows of a tenant. Most tables have none, or few, and to build the query takes longer than to ask."""
        tenant, after, until = UUID(int=1), UUID(int=2), UUID(int=3)
        texts = [Cast(name, TextField()) if name in self._json else F(name) for name in self.columns]
        found = self.table.objects.of(tenant).filter(id__gt=after, id__lte=until).order_by("id")
        return sql.CompiledQuery(found.values_list("id", *texts)[: self.at_once], tenant, after, until)

    @cached_property
    def _any(self) -> sql.CompiledQuery:
        """Whether a tenant has a row. Most tables have none, and to build the query of all takes longer."""
        tenant = UUID(int=1)
        return sql.CompiledQuery(self.table.objects.of(tenant).values_list("id")[:1], tenant)

    def _parsed(self, stored: list[str | None]) -> list[Any]:
        pairs = zip(self.columns, stored, strict=True)
        parsed = [json.loads(text) if text is not None and name in self._json else text for name, text in pairs]
        return self._read(parsed)

    def rows(self, tenant_id: UUID) -> Iterable[tuple[UUID, list[Any]]]:
        """Every row with the values that are looked through."""
        if not self._any.fetch(tenant_id):
            return
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
        return {row: list(passages_in(self._read(values))) for row, *values in found.values_list("id", *self.columns)}

    def _shown(self, row: Any) -> list[str]:
        if self.personal.shown:
            return list(self.personal.shown(row))
        run = row if self.personal.sensitive_of == "self" else getattr(row, self.personal.sensitive_of)
        return list(passages_in([redaction.mask_of_run(run).value(getattr(row, name)) for name in self.columns]))

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

    def changes(self, row: object, subject: Identifiers, rule: Rule) -> JSONObject:
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
