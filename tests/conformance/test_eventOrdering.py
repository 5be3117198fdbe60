"""Events of a run: numbered from zero, in order, exactly one terminal and that the last (openwop-host 3.4)."""

import pytest

from tests.conformance import schemas
from tests.conformance.conftest import Host

TERMINAL = {"run.completed", "run.failed", "run.cancelled"}


@pytest.mark.parametrize("workflow", ["conformance-noop", "conformance-multi-node", "conformance-failure"])
def test_one_terminal_event_stands_last_and_nothing_is_missing_before_it(host: Host, workflow: str) -> None:
    events = host.events(host.run(workflow)["runId"])
    assert [event["sequence"] for event in events] == list(range(len(events)))
    assert [event["type"] for event in events if event["type"] in TERMINAL] == [events[-1]["type"]]
    assert [event["timestamp"] for event in events] == sorted(event["timestamp"] for event in events)
    assert events[0]["type"] == "run.started"
    for event in events:
        schemas.check("run-event", event)


def test_a_node_starts_before_it_ends_and_the_next_starts_after(host: Host) -> None:
    events = host.events(host.run("conformance-multi-node")["runId"])
    steps = [(event["type"], event["nodeId"]) for event in events if event["type"].startswith("node.")]
    assert steps == [(kind, node) for node in "abc" for kind in ("node.started", "node.completed")]


def test_json_poll_and_a_second_reading_tell_the_same(host: Host) -> None:
    run_id = host.run("conformance-multi-node")["runId"]
    with host.client() as client:
        poll = client.get(f"/v1/runs/{run_id}/events/poll").json()
    assert poll == {"events": host.events(run_id), "isComplete": True}
