"""Lists as JSON and CSV files, streamed whole at any length. Cells are escaped against spreadsheet formulas.

The ledger, which may be long, has files of its own, made in the background: ``memory.entry_files``.
"""

import csv
import io
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain

import orjson
from django.http import HttpResponse, StreamingHttpResponse

from memory.host import sql
from memory.host.json_types import JSONMapping

FORMATS = ("json", "csv")
# Characters that start a formula in a spreadsheet, including full-width forms.
FORMULA = frozenset(("=", "+", "-", "@", "\t", "\r", "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20"))
# Rows per chunk of the response: a chunk costs more than a row.
AT_ONCE = 200

Row = JSONMapping


def cell(value: object) -> str:
    """Return ``value`` as a cell that no spreadsheet evaluates."""
    text = value if isinstance(value, str) else "" if value is None else _text(value)
    return f"'{text}" if text[:1] in FORMULA else text


def _text(value: object) -> str:
    if isinstance(value, dict):
        return json.dumps(value, ensure_ascii=False)
    return " ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)


def listing(wanted: str, name: str, rows: Iterable[Row], *, columns: Sequence[str] = ()) -> StreamingHttpResponse:
    """Return every row in the ``wanted`` format; a CSV is a download named ``name``, with these ``columns``."""
    if wanted == "csv":
        return download(name, _csv(columns, ([cell(row.get(column)) for column in columns] for row in rows)))
    return StreamingHttpResponse(_json(name, rows), content_type="application/json")


def download(name: str, parts: Iterable[str]) -> StreamingHttpResponse:
    """Return a CSV download named ``name``."""
    response = StreamingHttpResponse(parts, content_type="text/csv; charset=utf-8")
    response["Content-Disposition"] = f'attachment; filename="{name}.csv"'
    return response


def document(body: Mapping[str, object]) -> HttpResponse:
    """Return one object as indented JSON."""
    return HttpResponse(json.dumps(body, indent=2, ensure_ascii=False), content_type="application/json")


def _json(name: str, rows: Iterable[Row]) -> Iterator[str]:
    yield f'{{"{name}": ['
    total, before = 0, "\n"
    for part in sql.in_chunks(rows, AT_ONCE):
        yield before + ",\n".join(orjson.dumps(row).decode() for row in part)
        total, before = total + len(part), ",\n"
    yield f'\n], "total": {total}}}\n'


def _csv(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    for part in sql.in_chunks(chain([columns], rows), AT_ONCE):
        written = io.StringIO(newline="")
        csv.writer(written).writerows(part)
        yield written.getvalue()
