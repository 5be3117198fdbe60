"""Files of the ledger: what any reader of CSV gets back, read in chunks that know nothing of one another."""

import csv
import io
from collections.abc import Iterator
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from memory import adapter, entry_files, ledger_search
from memory.host import exports
from memory.host.tenancy import TenantScope
from tests import building

pytestmark = [pytest.mark.django_db, pytest.mark.engines]
HARD = ["plain", 'says "no", twice', "two\nlines", "carriage\rreturn", "=1+1", '="x,y"', "  spaces ", "é🎉", "a,b"]


@pytest.fixture
def acme() -> TenantScope:
    building.tenant("globex")
    building.remember("globex", "of another tenant")
    return building.scope()


def chunks(scope: TenantScope, **wanted: Any) -> Iterator[list[adapter.console.Exported]]:
    return ledger_search.export_chunks(scope, ledger_search.LedgerFilter(**wanted), now=timezone.now())


def table(scope: TenantScope) -> list[dict[str, str]]:
    text = "".join(entry_files.csv_parts(chunks(scope)))
    return list(csv.DictReader(io.StringIO(text, newline="")))


def test_a_reader_of_csv_gets_every_text_back_and_no_formula(acme: TenantScope) -> None:
    run = building.open_run(acme)
    for text in HARD:
        building.write(acme, run, text, tags=("-a", 'b "c"'), agent_id="acme.bot")
    rows = table(acme)
    assert [row["content"] for row in reversed(rows)] == [exports.cell(text) for text in HARD]
    assert {(row["tags"], row["agentId"]) for row in rows} == {('\'-a b "c"', "acme.bot")}
    assert {len(row) for row in rows} == {len(entry_files.COLUMNS)}
    assert {None} & {key for row in rows for key in row} == set()


def test_a_file_is_read_in_chunks_without_a_gap_while_others_write(
    acme: TenantScope, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(adapter.console, "EXPORTED", 3)
    run = building.open_run(acme)
    texts = [f"entry {number}" for number in range(8)]
    for text in texts:
        building.write(acme, run, text)
    parts = chunks(acme)
    found = [row.content for row in next(parts)]
    building.write(acme, run, "written while somebody reads slowly")
    assert [*found, *(row.content for part in parts for row in part)] == texts[::-1]


def test_rows_of_a_file_cost_no_statement_of_their_own(acme: TenantScope) -> None:
    run = building.open_run(acme)
    counts = []
    for number in (5, 45):
        for each in range(number):
            building.write(acme, run, f"entry {each}")
        with CaptureQueriesContext(connection) as told:
            assert len(table(acme)) >= number
        counts.append(len(told))
    assert counts[0] == counts[1]
