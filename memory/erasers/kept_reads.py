"""Kept reads as a store of a forget: the texts that runs have read, which replays are served.

A text that names the subject is blanked as a whole; a replay that needs it is refused from then on.
"""

import json
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import transaction

from memory import kept_reads
from memory.erasers.kept_values import CHUNK, KeptValues
from memory.host.erasure import Identifiers, Remains
from memory.matching import judged, mentioned_in, rule_for, texts_in, whole_text
from memory.models import KeptContent


class KeptTexts(KeptValues):
    """Entries as runs read them."""

    store = "recorded reads"
    table = KeptContent
    columns = ("text",)
    goes_whole = True

    def _mentions(self, tenant_id: UUID, subject: Identifiers) -> Iterable[tuple[UUID, list[Any]]]:
        for row, text in self._texts(tenant_id):
            document = json.loads(text)
            if mentioned_in(subject.terms, document):
                yield row, [document]

    def _texts(self, tenant_id: UUID) -> Iterable[tuple[UUID, str]]:
        rows = KeptContent.objects.of(tenant_id).exclude(text=None).order_by("id")
        yield from rows.values_list("id", "text").iterator(chunk_size=CHUNK)

    def texts(self, tenant_id: UUID, rows: Sequence[UUID]) -> dict[UUID, list[str]]:
        found = KeptContent.objects.of(tenant_id).filter(id__in=rows).exclude(text=None).values_list("id", "text")
        return {row: list(texts_in(json.loads(text))) for row, text in found}

    def erase(
        self, tenant_id: UUID, subject: Identifiers, rows: tuple[UUID, ...], *, ticked: bool, now: datetime
    ) -> int:
        rule, blanked = rule_for(ticked=ticked), 0
        with transaction.atomic():
            locked = KeptContent.objects.of(tenant_id).select_for_update().filter(id__in=rows).order_by("id")
            for content in locked.exclude(text=None):
                if mentioned_in(subject.terms, json.loads(content.text), rule):
                    kept_reads.blank(content)
                    blanked += 1
        return blanked

    def remains(
        self, tenant_id: UUID, subject: Identifiers, *, chosen: frozenset[UUID], spared: frozenset[UUID]
    ) -> Remains:
        """Over all the words of each text at once."""
        rows = ((row, whole_text(json.loads(text))) for row, text in self._texts(tenant_id))
        return judged(subject.terms, rows, chosen, spared)


KEPT_READS = KeptTexts()
