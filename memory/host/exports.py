"""Lists as files: JSON and CSV, streamed whole, whatever their length. A spreadsheet finds no formula in them."""

import csv
import io
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

import orjson
from django.http import HttpResponse, StreamingHttpResponse

from memory.host import sql

FORMATS = ("json", "csv")
# What spreadsheets take for the beginning of a formula, the full-width forms too.
FORMULA = frozenset(("=", "+", "-", "@", "\t", "\r", "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20"))
# Rows that are written out together: each piece of an answer costs more than a row.
AT_ONCE = 200

Row = Mapping[str, Any]


def cell(value: object) -> str:
    """``value`` as one cell that no spreadsheet calculates."""
    text = value if isinstance(value, str) else "" if value is None else _text(value)
    return f"'{text}" if text[:1] in FORMULA else text


def _text(value: object) -> str:
    if isinstance(value, dict):
        return json.dumps(value, ensure_ascii=False)
    return " ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)


def listing(wanted: str, name: str, rows: Iterable[Row], *, columns: Sequence[str]) -> StreamingHttpResponse:
    """Every row of ``rows`` in the ``wanted`` format; a CSV is a download called after ``name``."""
    if wanted == "csv":
        return download(name, _csv(columns, ([cell(row.get(column)) for column in columns] for row in rows)))
    return StreamingHttpResponse(_json(name, rows), content_type="application/json")


def download(name: str, parts: Iterable[str]) -> StreamingHttpResponse:
    """A CSV, as a download called after ``name``."""
    response = StreamingHttpResponse(parts, content_type="text/csv; charset=utf-8")
    response["Content-Disposition"] = f'attachment; filename="{name}.csv"'
    return response


def document(body: Mapping[str, object]) -> HttpResponse:
    """One object as JSON, for reading."""
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
