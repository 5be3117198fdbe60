"""``bufferMs``: events in batches, and what waits for no batch (openwop-host 3.6)."""

import time

import pytest

from tests import sse
from tests.conformance.conftest import Host
from tests.conformance.test_streamModes import started

pytestmark = pytest.mark.console


def test_buffered_events_come_in_batches_whose_id_is_the_highest_sequence(host: Host) -> None:
    with host.client() as client:
        run_id = started(client, delayMs=1000)
        found = sse.read(client, run_id, bufferMs=200, streamMode="debug")
    assert {frame.event for frame in found} == {"batch"}
    assert [frame.id for frame in found] == [frame.data[-1]["sequence"] for frame in found]
    assert [document for frame in found for document in frame.data] == host.events(run_id)


def test_the_end_of_a_run_does_not_wait_for_the_buffer_time(host: Host) -> None:
    with host.client() as client:
        run_id = started(client, delayMs=1000)
        found = sse.read(client, run_id, bufferMs=4000)
        closed = time.monotonic()
        ended = client.get(f"/v1/runs/{run_id}").json()["status"]
    assert ended == "completed"
    assert sse.types(found)[-1] == "run.completed"
    assert closed - found[-1].at < 1
    assert found[-1].at - found[0].at < 3.5, "the terminal batch waited for its time"


def test_without_a_buffer_time_there_are_no_batches(host: Host) -> None:
    with host.client() as client:
        found = sse.read(client, started(client, delayMs=300), bufferMs=0)
    assert "batch" not in {frame.event for frame in found}


def test_a_finished_run_comes_as_one_batch_and_the_stream_is_closed_at_once(host: Host) -> None:
    run_id = host.run("conformance-multi-node")["runId"]
    with host.client() as client:
        began = time.monotonic()
        (only,) = sse.read(client, run_id, bufferMs=5000, streamMode="debug")
    assert time.monotonic() - began < 2
    assert only.data == host.events(run_id)


def test_a_buffered_reader_of_values_gets_the_newest_state_of_each_buffer_time(host: Host) -> None:
    with host.client() as client:
        run_id = started(client, delayMs=500)
        found = sse.read(client, run_id, bufferMs=100, streamMode="values")
    assert {frame.event for frame in found} == {"batch"}
    assert [len(frame.data) for frame in found] == [1] * len(found)
    assert found[-1].data[0]["status"] == "completed"
