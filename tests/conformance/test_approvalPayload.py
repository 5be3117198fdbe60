"""The payload of an approval, and the words that are its vocabulary (suspend-request, ApprovalData)."""

from tests.conformance import schemas
from tests.conformance.asking import waiting
from tests.conformance.conftest import Host

ACTIONS = {"accept", "reject", "refine", "edit-accept", "ask"}


def test_the_question_has_what_an_approval_needs_on_the_log_and_in_the_snapshot(host: Host) -> None:
    with host.client() as client:
        snapshot = waiting(client, "conformance-approval")
    payload = snapshot["interrupt"]["payload"]
    assert {"artifactId", "artifactType", "title", "actions"} <= set(payload)
    assert set(payload["actions"]) <= ACTIONS
    requested = next(each for each in host.events(snapshot["runId"]) if each["type"] == "interrupt.requested")
    assert requested["nodeId"] == "gate"
    data = requested["payload"]["data"]
    assert data["actions"] == payload["actions"]
    schemas.check("suspend-request", {"kind": "approval", "key": requested["payload"]["key"], "data": data})


def test_the_older_word_for_an_edit_is_nowhere_in_discovery(host: Host) -> None:
    with host.client() as client:
        assert '"edit"' not in client.get("/.well-known/openwop").text
