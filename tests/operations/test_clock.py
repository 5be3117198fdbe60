"""Consoles whose clocks differ go by that of their database."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest
import time_machine
from django.core.cache import caches
from django.db import connection
from django.test import Client
from django.utils import timezone

from memory.host import clock, ids
from openwop_console import health

pytestmark = pytest.mark.django_db
ON_POSTGRES = pytest.mark.only_db("postgres")


@pytest.fixture(autouse=True)
def own_clock() -> Iterator[None]:
    yield
    clock._followed = None
    ids.go_by(None)


def there() -> datetime:
    with connection.cursor() as cursor:
        cursor.execute("SELECT clock_timestamp()")
        at: datetime = cursor.fetchone()[0]
        return at


@ON_POSTGRES
@pytest.mark.parametrize("off", [timedelta(minutes=4), timedelta(minutes=-4), timedelta(hours=-2)])
def test_a_console_whose_clock_is_wrong_goes_by_its_database(off: timedelta, caplog: pytest.LogCaptureFixture) -> None:
    with time_machine.travel(datetime.now(UTC) + off):
        clock.look(connection)
        assert abs(clock.now() - there()) < timedelta(seconds=1)
        assert ids.first_of(there(), off=timedelta(seconds=-1)) < ids.new_id() < ids.new_id()
        assert ids.new_id() < ids.first_of(there(), off=timedelta(seconds=1))
        near = ids.new_id_at(clock.now() + timedelta(seconds=30))
        assert near < ids.new_id_at(clock.now()), "ids of near moments have the order in which they are made"
    assert abs(clock.now() - there()) < timedelta(seconds=1), "whatever is done to this host's clock meanwhile"
    clock.look(connection)
    assert clock._followed is None
    assert [f"{round(off.total_seconds())} s ahead" in each for each in caplog.messages] == [True, False]


@pytest.mark.engines
def test_a_clock_that_is_right_is_its_own(caplog: pytest.LogCaptureFixture) -> None:
    clock._connected(connection)
    assert (clock._followed, caplog.messages) == (None, [])


@ON_POSTGRES
def test_a_worker_is_heard_of_by_a_host_whose_clock_is_ahead(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(timezone, "now", clock.now)
    health.WorkerStatistics("", {}).set("django_q:statistics", "of a worker", 3)
    with time_machine.travel(datetime.now(UTC) + timedelta(minutes=4)):
        assert client.get("/readyz").status_code == 503
        clock.look(connection)
        assert client.get("/readyz").status_code == 200
        caches["default"].set(health.HEARTBEAT, clock.now() - timedelta(minutes=1), 900)
        assert client.get("/readyz").status_code == 503
