"""Archives, and the texts that an endpoint distilled, as stores of a forget.

An archive goes when it names the subject, and when something it was distilled from goes (design.md 3.13): its bytes
cannot be changed, so it is withdrawn as a whole. What is left is distilled anew once nothing of the subject is there.
"""

import json
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import transaction

from memory import adapter, archives
from memory.erasers.entries import naming
from memory.erasers.kept_values import KeptValues
from memory.host.erasure import Holding, Identifiers, Remains
from memory.matching import judged, mentioned_in, rule_for, texts_in, whole_text
from memory.models import Archive, ArchiveState, Distillate

CHUNK = 16  # an archive may have a megabyte


class Archives(KeptValues):
    """Bytes and refs."""

    store = "archives"
    table = Archive
    columns = ("memory_ref", "body")
    opens = ("arc", "id")
    goes_whole = True
    chunk = CHUNK

    def find(self, tenant_id: UUID, subject: Identifiers) -> Holding:
        named, entries = super().find(tenant_id, subject), naming(tenant_id, subject)
        certain = {*named.erase, *archives.resting_on_forgotten(tenant_id)}
        exact = {*certain, *archives.all_resting_on(tenant_id, certain, entries.exact)}
        rest = archives.all_resting_on(tenant_id, named.suspected, entries.suspected)
        suspected = tuple(sorted({*named.suspected, *rest} - exact))
        return Holding(self.store, tuple(sorted(exact)), suspected)

    def _mentions(self, tenant_id: UUID, subject: Identifiers) -> Iterable[tuple[UUID, list[Any]]]:
        for row in _rows(tenant_id):
            values = [row.memory_ref, _said(row)]
            if mentioned_in(subject.terms, values):
                yield row.id, values

    def texts(self, tenant_id: UUID, rows: Sequence[UUID]) -> dict[UUID, list[str]]:
        shown = Archive.objects.of(tenant_id).filter(id__in=rows).iterator(chunk_size=CHUNK)
        return {row.id: [str(_said(row).get("text", "")), row.memory_ref, *texts_in(_said(row))] for row in shown}

    @transaction.atomic
    def erase(
        self, tenant_id: UUID, subject: Identifiers, rows: tuple[UUID, ...], *, ticked: bool, now: datetime
    ) -> int:
        withdrawn = archives.withdraw(tenant_id, rows, archives.FORGOTTEN, now=now)
        refs = Archive.objects.of(tenant_id).filter(id__in=rows).values_list("id", "memory_ref")
        named = [row for row, ref in refs if mentioned_in(subject.terms, ref, rule_for(ticked=ticked))]
        return max(withdrawn, archives.unname(tenant_id, named))

    def remains(
        self, tenant_id: UUID, subject: Identifiers, *, chosen: frozenset[UUID], spared: frozenset[UUID]
    ) -> Remains:
        """Over all the words of each row at once; and by its own list, no archive is made of what was forgotten."""
        texts: list[tuple[UUID, str]] = []
        sources: dict[UUID, UUID] = {}
        for row in _rows(tenant_id):
            document = _said(row)
            texts.append((row.id, whole_text([row.memory_ref, document])))
            sources |= dict.fromkeys(archives.sources_of(bytes(row.body)), row.id) if document else {}
        found = judged(subject.terms, texts, chosen, spared)
        stale = {sources[each] for each in adapter.forgotten_among(tenant_id, list(sources))}
        return Remains(found.left + len(stale), found.undecided)


def _rows(tenant_id: UUID) -> Iterable[Archive]:
    rows: Iterable[Archive] = Archive.objects.of(tenant_id).order_by("id").iterator(chunk_size=CHUNK)
    return rows


def _said(row: Archive) -> dict[str, Any]:
    """The document of an archive; nothing of a withdrawn one."""
    document: dict[str, Any] = {} if row.state == ArchiveState.WITHDRAWN else json.loads(bytes(row.body))
    return document


class Distillates(KeptValues):
    """Texts that an endpoint made, kept so that the same request gives the same archive."""

    store = "distillation cache"
    table = Distillate
    columns = ("memory_ref", "text")
    goes_whole = True

    def erase(
        self, tenant_id: UUID, subject: Identifiers, rows: tuple[UUID, ...], *, ticked: bool, now: datetime
    ) -> int:
        return archives.drop_distillates(tenant_id, rows)


ARCHIVES = Archives()
DISTILLATES = Distillates()
