"""Lists as files: JSON and CSV, streamed whole, whatever their length. A spreadsheet finds no formula in them."""

import csv
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from django.http import HttpResponse, StreamingHttpResponse

FORMATS = ("json", "csv")
# What spreadsheets take for the beginning of a formula, the full-width forms too.
FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20")

Row = Mapping[str, Any]


def cell(value: object) -> str:
    """``value`` as one cell that no spreadsheet calculates."""
    text = "" if value is None else _text(value)
    return f"'{text}" if text.startswith(FORMULA) else text


def _text(value: object) -> str:
    if isinstance(value, dict):
        return json.dumps(value, ensure_ascii=False)
    return " ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)


def listing(wanted: str, name: str, rows: Iterable[Row], *, columns: Sequence[str]) -> StreamingHttpResponse:
    """Every row of ``rows`` in the ``wanted`` format; a CSV is a download called after ``name``."""
    if wanted == "csv":
        response = StreamingHttpResponse(_csv(rows, columns), content_type="text/csv; charset=utf-8")
        response["Content-Disposition"] = f'attachment; filename="{name}.csv"'
        return response
    return StreamingHttpResponse(_json(name, rows), content_type="application/json")


def document(body: Mapping[str, object]) -> HttpResponse:
    """One object as JSON, for reading."""
    return HttpResponse(json.dumps(body, indent=2, ensure_ascii=False), content_type="application/json")


def _json(name: str, rows: Iterable[Row]) -> Iterator[str]:
    yield f'{{"{name}": ['
    total = 0
    for total, row in enumerate(rows, start=1):
        yield (",\n" if total > 1 else "\n") + json.dumps(row, ensure_ascii=False)
    yield f'\n], "total": {total}}}\n'


class _Line:
    """What ``csv`` writes to: it hands the line back."""

    def write(self, line: str) -> str:
        return line


def _csv(rows: Iterable[Row], columns: Sequence[str]) -> Iterator[str]:
    writer = csv.writer(_Line())
    yield writer.writerow(columns)
    for row in rows:
        yield writer.writerow([cell(row.get(column)) for column in columns])
