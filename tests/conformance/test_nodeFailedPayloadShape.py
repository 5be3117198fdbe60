"""``node.failed`` carries its error as an object (openwop-host 3.4)."""

from tests.conformance import schemas
from tests.conformance.conftest import Host


def test_the_error_of_a_failed_node_is_an_object_with_code_and_message(host: Host) -> None:
    events = host.events(host.run("conformance-failure")["runId"])
    failed = [event for event in events if event["type"] == "node.failed"]
    assert len(failed) == 1
    schemas.check_payload("nodeFailed", failed[0]["payload"])
    assert failed[0]["payload"]["nodeId"] == failed[0]["nodeId"] == "fail"
    assert set(failed[0]["payload"]["error"]) >= {"code", "message"}
