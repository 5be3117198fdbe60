"""A copy of everything that memory holds of a subject: a ZIP of JSON and of a page to read, for whom it is about."""

import tempfile
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import IO
from uuid import UUID

import orjson
from django.db.models import Q
from django.template.loader import render_to_string

from memory import redaction
from memory.host import erasure, ids, sql
from memory.host.erasure import ENTRIES, Eraser, Holding, Identifiers
from memory.host.errors import Conflict
from memory.models import ForgetRequest
from memory.wire import instant

IN_MEMORY = 4 << 20  # bytes, above which a copy is written to disk
JSON_NAME, PAGE_NAME = "subject.json", "subject.html"


@dataclass(frozen=True, slots=True)
class CopiedRow:
    """A row with its text, without secrets; ``found_in`` is the wire id of what it belongs to, as far as it has one."""

    found_in: str
    texts: list[str]


@dataclass(frozen=True, slots=True)
class SubjectCopy:
    """What is copied: the exact matches of a preview and the suspects that a person has chosen. The others may be about
    another person, and are not handed out."""

    request: ForgetRequest
    terms: tuple[str, ...]
    holdings: Sequence[Holding]
    chosen: Mapping[str, frozenset[UUID]]
    made_at: datetime

    @property
    def total(self) -> int:
        return sum(len(rows) for _, rows in self.stores())

    def stores(self) -> Iterator[tuple[Eraser, list[UUID]]]:
        """The stores with something to copy, and the rows."""
        erasers = {each.store: each for each in erasure.registered()}
        for holding in self.holdings:
            rows = sorted({*holding.erase, *self.chosen.get(holding.store, ())})
            if rows:
                yield erasers[holding.store], rows

    def rows(self, eraser: Eraser, wanted: Sequence[UUID]) -> Iterator[list[CopiedRow]]:
        """The rows of a store in parts. Of a sealed value there is no text: it is opened on the page of its entry."""
        redact = redaction.for_tenant(self.request.tenant_id).redact
        silent: set[UUID] = set()
        for part in sql.in_chunks(wanted):
            texts = eraser.texts(self.request.tenant_id, part)
            if eraser.store == ENTRIES and len(texts) < len(part):
                raise _changed()
            places = eraser.found_in(self.request.tenant_id, part)
            yield [
                CopiedRow(places.get(row, ""), [redact(text).text for text in texts.get(row, ()) if text])
                for row in part
            ]
            silent.update(row for row in part if not texts.get(row))
        self._require_there(eraser, silent)

    def _require_there(self, eraser: Eraser, silent: set[UUID]) -> None:
        """Refuse where one of these rows, of which nothing was read, is no longer there, whatever deleted it."""
        if silent:
            found = eraser.find(self.request.tenant_id, Identifiers(self.terms))
            if not silent.issubset({*found.erase, *found.suspected}):
                raise _changed()

    def pieces(self) -> Iterator[bytes]:
        """The bytes of the ZIP. Both files are written in one go, so they say the same.

        Raises ``Conflict``, before the first byte, when rows went while it was made, by a confirmed forget or by a
        sweep.
        """
        with tempfile.SpooledTemporaryFile(IN_MEMORY) as made, tempfile.SpooledTemporaryFile(IN_MEMORY) as page:
            with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as bundle:
                with bundle.open(JSON_NAME, "w") as data:
                    self._write_both(data, page)
                    self._require_unconfirmed()
                with bundle.open(PAGE_NAME, "w") as file:
                    for piece in _read(page):
                        file.write(piece)
            yield from _read(made)

    def _require_unconfirmed(self) -> None:
        rows = ForgetRequest.objects.of(self.request.tenant_id).filter(subject_key=self.request.subject_key)
        if rows.filter(Q(confirmed_at__gte=self.made_at) | Q(finished_at__gte=self.made_at)).exists():
            raise _changed()

    def _write_both(self, data: IO[bytes], page: IO[bytes]) -> None:
        head = {
            "request": ids.wire("fgt", self.request.id),
            "names": list(self.terms),
            "madeAt": instant(self.made_at),
            "planSha256": self.request.plan_sha256,
            "rows": self.total,
        }
        data.write(orjson.dumps(head)[:-1] + b',"stores":[')
        page.write(render_to_string("memory/forget_copy.html", {"copy": self, "head": head}).encode())
        for place, (eraser, wanted) in enumerate(self.stores()):
            data.write(b"," * bool(place) + b'\n{"store":' + orjson.dumps(eraser.store) + b',"rows":[')
            page.write(_html(store=eraser.store, total=len(wanted)))
            for number, rows in enumerate(self.rows(eraser, wanted)):
                lines = [orjson.dumps({"foundIn": row.found_in or None, "texts": row.texts}) for row in rows]
                data.write(b"," * bool(number) + b"\n" + b",\n".join(lines))
                page.write(_html(rows=rows))
            data.write(b"\n]}")
        data.write(b"\n]}\n")
        page.write(b"</main></body></html>\n")


def _changed() -> Conflict:
    return Conflict("What is stored about the subject changed while the copy was made; look for the subject again.")


def _html(**named: object) -> bytes:
    return render_to_string("memory/forget_copy_rows.html", named).encode()


def _read(file: IO[bytes]) -> Iterator[bytes]:
    file.seek(0)
    while piece := file.read(1 << 16):
        yield piece
