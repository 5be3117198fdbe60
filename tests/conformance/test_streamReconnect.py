"""``Last-Event-ID``: a reader that comes back misses nothing and gets nothing twice (openwop-host 3.6)."""

import time

import pytest

from tests import sse
from tests.conformance.conftest import Host
from tests.conformance.test_streamModes import started

pytestmark = pytest.mark.console


def test_a_reader_that_comes_back_in_the_middle_misses_nothing_and_gets_nothing_twice(host: Host) -> None:
    with host.client() as client:
        run_id = started(client, delayMs=1500)
        with sse.opened(client, run_id, streamMode="debug") as answer:
            first = next(sse.frames(answer.iter_text()))
        rest = sse.read(client, run_id, streamMode="debug", last=first.id)
    assert [first.data, *(frame.data for frame in rest)] == host.events(run_id)


@pytest.mark.parametrize("last", [0, 1, 2])
def test_a_stream_of_an_ended_run_goes_on_behind_the_given_event(host: Host, last: int) -> None:
    run_id = host.run("conformance-delay", inputs={"delayMs": 10})["runId"]
    with host.client() as client:
        found = sse.read(client, run_id, streamMode="debug", last=last)
    assert [frame.data for frame in found] == host.events(run_id)[last + 1 :]


@pytest.mark.parametrize("beyond", [0, 1000])
def test_behind_the_terminal_event_the_stream_is_empty_and_closed_at_once(host: Host, beyond: int) -> None:
    run_id = host.run("conformance-noop")["runId"]
    last = host.events(run_id)[-1]["sequence"] + beyond
    with host.client() as client:
        began = time.monotonic()
        assert sse.read(client, run_id, last=last) == []
    assert time.monotonic() - began < 2


@pytest.mark.parametrize("last", ["garbage", "-1", "1.5", "9" * 40, "evt_1", ""])
def test_an_id_that_is_none_means_from_the_start(host: Host, last: str) -> None:
    run_id = host.run("conformance-noop")["runId"]
    with host.client() as client:
        found = sse.read(client, run_id, streamMode="debug", last=last)
    assert [frame.data for frame in found] == host.events(run_id)


def test_who_is_ahead_of_a_running_run_gets_what_comes_and_its_end(host: Host) -> None:
    with host.client() as client:
        run_id = started(client, delayMs=800)
        deadline = time.monotonic() + 10
        while len(host.events(run_id)) < 2:
            assert time.monotonic() < deadline
            time.sleep(0.05)
        assert sse.types(sse.read(client, run_id, last=1000)) == ["node.completed", "run.completed"]


def test_a_poll_that_is_ahead_of_a_running_run_is_answered_when_the_run_ends(host: Host) -> None:
    with host.client() as client:
        run_id = started(client, delayMs=800)
        began = time.monotonic()
        poll = client.get(f"/v1/runs/{run_id}/events/poll", params={"lastSequence": 999, "timeout": 20})
        again = client.get(f"/v1/runs/{run_id}/events/poll", params={"lastSequence": 999})
    assert poll.json() == again.json() == {"events": [], "isComplete": True}
    assert time.monotonic() - began < 10
