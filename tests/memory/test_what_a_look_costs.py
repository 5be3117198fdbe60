"""The clock looks four times a second: nothing that it asks when nothing is due grows with what waits."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from memory import commitments, passes
from memory.forget.erasers.entries import NAMES_BESIDE_ENTRIES
from memory.host.erasure import Identifiers
from memory.passes import PassOrder
from openwop_console.process import scheduler
from openwop_console.runtime import tasks
from tests import building
from tests.memory.test_commitments import Desk

pytestmark = pytest.mark.django_db


def plans(look: Callable[[], Any]) -> list[str]:
    """How the database answers every SELECT of a look, when it need not read whole tables for want of rows."""
    asked: list[tuple[str, Any]] = []

    def noted(execute: Any, statement: str, parameters: Any, many: bool, context: Any) -> Any:
        asked.append((statement, parameters))
        return execute(statement, parameters, many, context)

    with connection.execute_wrapper(noted):
        look()
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            cursor.execute("ANALYZE")
            cursor.execute("SET LOCAL enable_seqscan = off")
            cursor.execute("SET LOCAL enable_bitmapscan = off")
        return [_plan(cursor, *each) for each in asked if each[0].startswith("SELECT")]


def _plan(cursor: Any, statement: str, parameters: Any) -> str:
    explain = "EXPLAIN" if connection.vendor == "postgresql" else "EXPLAIN QUERY PLAN"
    cursor.execute(f"{explain} {statement}", parameters)
    return "\n".join(str(row[-1]) for row in cursor.fetchall())


def lines_about(plan: str, table: str) -> list[str]:
    """Where a plan reads ``table``, each with the conditions under it."""
    lines = plan.splitlines()
    if connection.vendor != "postgresql":
        return [line for line in lines if f" {table}" in line or " U0 " in line]
    return [" ".join(lines[at : at + 3]) for at, line in enumerate(lines) if f" on {table} " in line]


@pytest.mark.engines
def test_no_look_at_commitments_reads_more_than_a_place_in_an_index_for_each_tenant() -> None:
    desk = Desk(at=timezone.now())
    for number in range(40):
        desk.says(f"Call customer {number} in 3 days. When invoice {number} clears, tell finance.")
    desk.keeps()
    later = desk.at + timedelta(seconds=2)
    found = plans(lambda: commitments.inference.due_tenants(whole=True, since=desk.at, now=later))
    about = [line for plan in found for line in lines_about(plan, "memory_commitment")]
    assert len(about) >= 4
    for name in ("due", "watching", "state", "may_return") if connection.vendor == "sqlite" else ():
        assert any(f"memory_commitment_{name}" in line for line in about), name
    for line in about:
        assert "tenant_id = " in line or "tenant_id=?" in line, line
        assert "SCAN" not in line, line


def test_a_look_asks_as_much_of_many_as_of_one() -> None:
    for number in range(10):
        desk = Desk(f"t{number}", at=timezone.now())
        desk.says("Call Ana in 3 days. When the invoice clears, tell finance.")
        desk.keeps()
        if number in (0, 9):
            with CaptureQueriesContext(connection) as asked:
                found = commitments.inference.due_tenants(
                    whole=False, since=desk.at, now=desk.at + timedelta(seconds=1)
                )
            assert (len(asked), found.tenants, found.after) == (3, [], None)


@pytest.mark.engines
def test_a_round_over_many_tenants_is_a_part_a_look_and_leaves_none_out(monkeypatch: pytest.MonkeyPatch) -> None:
    desks = [Desk(f"t{number}", at=timezone.now()) for number in range(5)]
    for desk in desks:
        desk.says("Call Ana in 3 days.")
    monkeypatch.setattr(commitments.inference, "PART", 2)
    found: set[UUID] = set()
    after, parts = None, 0
    while parts == 0 or after is not None:
        part = commitments.inference.due_tenants(whole=False, since=desk.at, after=after, now=desk.at)
        found, after, parts = found | set(part.tenants), part.after, parts + 1
        assert len(part.tenants) <= 2
    assert (found, parts) == ({desk.tenant_id for desk in desks}, 3)


def test_the_clock_goes_on_where_its_last_look_ended_and_back_to_when_the_round_began(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[tuple[Any, Any, bool]] = []
    ends = iter(["a", None, None, None])

    def looked(now: Any, *, since: Any, after: Any, whole: bool) -> tuple[int, Any]:
        asked.append((after, since, whole))
        return 0, next(ends)

    monkeypatch.setattr(tasks, "enqueue_commitments", looked)
    loop, at = scheduler.Scheduler(), timezone.now()
    for seconds in (0, 0.5, 1, 2, 40):
        loop.tick(at + timedelta(seconds=seconds))
    assert asked == [
        (None, at - scheduler.PATIENCE, True),
        ("a", at - scheduler.PATIENCE, True),
        (None, at, False),
        (None, at + timedelta(seconds=2), True),
    ]


@pytest.mark.engines
def test_passes_that_nobody_holds_are_found_among_the_open_ones_alone() -> None:
    owner, now = building.scope(), timezone.now()
    for number in range(60):
        row = passes.request(owner.tenant_id, PassOrder("compact", str(number), "host"), now=now)
        passes.request_stop(owner.tenant_id, row.id, now=now)
    passes.request(owner.tenant_id, PassOrder("compact", "open", "host"), now=now)
    (plan,) = plans(lambda: passes.unclaimed(now=now))
    assert "memory_pass_unfinished" in plan
    assert len(passes.unclaimed(now=now)) == 1


@pytest.mark.engines
def test_a_thorough_look_at_one_tenant_is_a_part_of_its_commitments_and_comes_to_all(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    desk = Desk(at=timezone.now())
    for number in range(5):
        desk.says(f"When invoice {number} clears, tell finance.", expires_at=desk.at + timedelta(hours=2))
    desk.keeps()
    monkeypatch.setattr(commitments.due, "PART", 2)
    desk.at += timedelta(hours=3)
    stale = []
    for _ in range(3):
        desk.keeps()
        stale.append(sum(row.state == "stale" for row in desk.all))
    assert stale == [2, 4, 5]


def rows_read(look: Callable[[], Any], table: str) -> int:
    """How many rows come into Python from the SELECTs of a look that name ``table``."""
    asked: list[tuple[str, Any]] = []

    def noted(execute: Any, statement: str, parameters: Any, many: bool, context: Any) -> Any:
        if table in statement and statement.lstrip().startswith(("SELECT", "WITH")):
            asked.append((statement, parameters))
        return execute(statement, parameters, many, context)

    with connection.execute_wrapper(noted):
        look()
    assert asked
    with connection.cursor() as cursor:
        return sum(len(cursor.execute(*each).fetchall()) for each in asked)


@pytest.mark.engines
def test_the_names_beside_entries_are_looked_through_once_each_however_many_entries_have_them(client: Any) -> None:
    key = {"HTTP_X_API_KEY": building.key("acme", "agent", agents=("acme.writer",))}

    def found() -> int:
        subject = Identifiers(("marta@example.com",))
        return rows_read(lambda: NAMES_BESIDE_ENTRIES.find(building.tenant().id, subject), "memory_entryaddress")

    def remember(numbers: range) -> None:
        for number in numbers:
            body = {"namespace": "ns", "key": f"k{number}", "value": {"n": number}}
            made = client.post("/api/v1/memory", body, "application/json", **key)
            assert made.status_code == 201, made.content

    remember(range(2))
    few = found()
    remember(range(2, 30))
    assert found() == few
