"""The log of a run has one order for every reader, also while it is written (openwop-host 3.4)."""

from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest

from tests import sse
from tests.conformance.conftest import Host
from tests.conformance.test_streamModes import started

pytestmark = pytest.mark.console

TERMINAL = {"run.completed", "run.failed", "run.cancelled"}


def test_the_log_is_numbered_without_a_gap_in_the_order_of_time_and_the_terminal_event_is_last(host: Host) -> None:
    events = host.events(host.run("conformance-multi-node")["runId"])
    assert [event["sequence"] for event in events] == list(range(len(events)))
    assert [event["timestamp"] for event in events] == sorted(event["timestamp"] for event in events)
    assert [event["type"] in TERMINAL for event in events] == [False] * (len(events) - 1) + [True]


def polled(client: httpx.Client, run_id: str) -> list[dict]:
    found: list[dict] = []
    complete = False
    while not complete:
        last = found[-1]["sequence"] if found else -1
        page = client.get(f"/v1/runs/{run_id}/events/poll", params={"lastSequence": last, "timeout": 10}).json()
        found, complete = found + page["events"], page["isComplete"]
    return found


def test_readers_at_once_by_stream_batch_and_poll_see_the_same_events_in_the_same_order(host: Host) -> None:
    with host.client() as client, ThreadPoolExecutor(4) as together:
        run_id = started(client, delayMs=700)
        streams = [
            together.submit(sse.read, client, run_id, streamMode="debug", **more) for more in ({}, {"bufferMs": 150})
        ]
        poll = together.submit(polled, client, run_id)
        seen = [[each for frame in stream.result() for each in frame.documents] for stream in streams]
        assert seen == [poll.result()] * 2 == [host.events(run_id)] * 2


def test_runs_at_once_have_logs_of_their_own(host: Host) -> None:
    with host.client() as client, ThreadPoolExecutor(4) as together:
        run_ids = [started(client, "conformance-multi-node") for _ in range(8)]
        logs = list(together.map(lambda run_id: sse.read(client, run_id, streamMode="debug"), run_ids))
    for run_id, log in zip(run_ids, logs, strict=True):
        assert {frame.data["runId"] for frame in log} == {run_id}
        assert [frame.id for frame in log] == list(range(len(log)))
        assert log[-1].event == "run.completed"
