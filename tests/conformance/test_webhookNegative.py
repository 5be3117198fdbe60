"""Webhooks are not advertised, so nothing of them answers as if they were (openwop-host 3.1, 3.10)."""

from tests.conformance import schemas
from tests.conformance.conftest import Host


def test_webhooks_are_not_advertised_and_both_addresses_answer_the_envelope(host: Host) -> None:
    document = host.stranger.get("/.well-known/openwop").json()
    assert "webhooks" not in document
    assert "webhooks" not in document["capabilities"]
    with host.client() as client:
        made = client.post("/v1/webhooks", json={"url": "https://example.com/hook", "events": ["run.completed"]})
        gone = client.delete("/v1/webhooks/sub_1")
    for answer in (made, gone):
        schemas.check("error-envelope", answer.json())
        assert (answer.status_code, answer.json()["error"]) == (404, "not_found")


def test_a_callback_is_refused_and_not_forgotten_about(host: Host) -> None:
    body = {"workflowId": "conformance-noop", "callbackUrl": "http://169.254.169.254/latest"}
    with host.client() as client:
        refused = client.post("/v1/runs", json=body)
    assert (refused.status_code, refused.json()["details"]["capability"]) == (501, "webhooks")
