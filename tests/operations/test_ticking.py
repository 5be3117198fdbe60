"""The clock ticks while the console runs, whatever a tick does."""

import threading
from datetime import UTC, datetime

import pytest

from openwop_console import ticking
from openwop_console.runtime import clock

pytestmark = pytest.mark.engines


@pytest.mark.django_db(transaction=True)
def test_a_tick_that_fails_is_logged_and_the_next_one_comes(monkeypatch, caplog):
    heard, enough = [], threading.Event()

    def tick(now):
        heard.append(now)
        if len(heard) == 1:
            raise ValueError("this tick failed")
        enough.set()

    monkeypatch.setattr(clock, "tick", tick)
    monkeypatch.setattr(ticking, "AFTER_A_FAILURE", 0.01)

    with ticking.running():
        assert enough.wait(5)

    assert "this tick failed" in caplog.text
    assert all(now.tzinfo is UTC for now in heard)


@pytest.mark.django_db(transaction=True)
def test_after_its_block_the_clock_stands_still(monkeypatch):
    heard: list[datetime] = []
    monkeypatch.setattr(clock, "tick", heard.append)

    with ticking.running():
        pass

    assert "ticking" not in {thread.name for thread in threading.enumerate()}
