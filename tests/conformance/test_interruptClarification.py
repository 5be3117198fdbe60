"""``conformance-clarification``: a question and its answer (openwop-host 3.8 and 3.9)."""

from typing import Any

import pytest

from tests.conformance.asking import answer, asked, refusal, waiting
from tests.conformance.conftest import Host


@pytest.mark.parametrize("value", [{"answers": {"q1": "blue"}}, {"answers": [{"id": "q1", "answer": "blue"}]}])
def test_an_answered_question_lets_the_run_complete(host: Host, value: dict[str, Any]) -> None:
    with host.client() as client:
        snapshot = waiting(client, "conformance-clarification")
        assert (snapshot["status"], snapshot["currentNodeId"]) == ("waiting-input", "ask")
        asked(snapshot)
        assert answer(client, snapshot["runId"], "ask", value).status_code == 200
        ended = host.finished(client, snapshot["runId"])
    assert ended["status"] == "completed"
    assert ended["variables"]["clarification"]["answers"] == {"q1": "blue"}
    assert "blue" not in str(host.events(snapshot["runId"]))


@pytest.mark.parametrize(
    "value", [{}, {"answers": {}}, {"answers": {"q1": ""}}, {"answers": {"q2": 1}}, {"answers": "blue"}, "blue"]
)
def test_an_answer_that_is_missing_or_unasked_is_refused_by_its_field(host: Host, value: object) -> None:
    with host.client() as client:
        run_id = waiting(client, "conformance-clarification")["runId"]
        refused = answer(client, run_id, "ask", value)
        assert refusal(refused) == (400, "validation_error")
        assert refused.json()["details"]["errors"][0]["field"].startswith("resumeValue")
        assert client.get(f"/v1/runs/{run_id}").json()["status"] == "waiting-input"


def test_clarifications_are_advertised(host: Host) -> None:
    with host.client() as client:
        document = client.get("/.well-known/openwop").json()
    assert "clarification.request" in document["supportedEnvelopes"]
    assert document["schemaVersions"]["clarification.request"] == 1
    assert "conformance-clarification" in document["fixtures"]
