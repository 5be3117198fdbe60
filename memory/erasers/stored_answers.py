"""Answers kept for an ``Idempotency-Key`` as a store of a forget: one that names the subject goes as a whole.

They are gone after a day in any case. A client that repeats its request after that is answered afresh.
"""

import json
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from memory.erasers.kept_values import KeptValues
from memory.host import idempotency
from memory.host.erasure import Identifiers, Remains
from memory.host.models import IdempotencyRecord
from memory.matching import judged, mentioned_in, texts_in, whole_text

CHUNK = 16  # an answer may be a file of a megabyte


class StoredAnswers(KeptValues):
    """Answers, and the addresses that were asked."""

    store = "idempotency cache"
    table = IdempotencyRecord
    columns = ("endpoint", "headers", "body")
    goes_whole = True

    def _mentions(self, tenant_id: UUID, subject: Identifiers) -> Iterable[tuple[UUID, list[Any]]]:
        rows = self.table.objects.of(tenant_id).order_by("id").values_list("id", *self.columns)
        for row, endpoint, headers, body in rows.iterator(chunk_size=CHUNK):
            values = [endpoint, headers, said(body)]
            if mentioned_in(subject.terms, values):
                yield row, values

    def texts(self, tenant_id: UUID, rows: Sequence[UUID]) -> dict[UUID, list[str]]:
        found = self.table.objects.of(tenant_id).filter(id__in=rows).values_list("id", "endpoint", "headers", "body")
        return {row: [endpoint, *texts_in(headers), *texts_in(said(body))] for row, endpoint, headers, body in found}

    def erase(
        self, tenant_id: UUID, subject: Identifiers, rows: tuple[UUID, ...], *, ticked: bool, now: datetime
    ) -> int:
        return idempotency.remove(tenant_id, rows)

    def remains(
        self, tenant_id: UUID, subject: Identifiers, *, chosen: frozenset[UUID], spared: frozenset[UUID]
    ) -> Remains:
        rows = self.table.objects.of(tenant_id).order_by("id").values_list("id", *self.columns)
        texts = (
            (row, whole_text([endpoint, headers, said(body)]))
            for row, endpoint, headers, body in rows.iterator(chunk_size=CHUNK)
        )
        return judged(subject.terms, texts, chosen, spared)


def said(body: str) -> Any:
    """What a stored body says: its JSON value, so that no escape hides a name."""
    try:
        return json.loads(body)
    except ValueError:
        return body


STORED_ANSWERS = StoredAnswers()
