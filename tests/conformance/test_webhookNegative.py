"""``webhook-negative``: what no host sends to is refused at registration (webhooks.md, SSRF protection)."""

import pytest

from tests.conformance import schemas
from tests.conformance.conftest import Host


def test_webhooks_are_advertised_with_their_signature(host: Host) -> None:
    document = host.stranger.get("/.well-known/openwop").json()
    told = {"supported": True, "signatureAlgorithms": ["v1"]}
    assert document["webhooks"] == document["capabilities"]["webhooks"] == told


@pytest.mark.parametrize(
    "url",
    [
        "http://example.com/hook",
        "https://127.0.0.1/hook",
        "https://10.0.0.7/hook",
        "https://169.254.169.254/latest/meta-data",
        "https://[::1]/hook",
        "https://[fc00::1]/hook",
        "https://localhost/hook",
        "https://metadata.google.internal/computeMetadata/v1",
    ],
)
def test_an_address_that_is_not_public_is_refused(host: Host, url: str) -> None:
    with host.client() as client:
        answer = client.post("/v1/webhooks", json={"url": url, "events": ["run.completed"]})
    schemas.check("error-envelope", answer.json())
    assert (answer.status_code, answer.json()["error"]) == (400, "webhook_url_rejected")


def test_a_subscription_to_nothing_is_refused_and_one_that_is_not_there_is_not_found(host: Host) -> None:
    with host.client() as client:
        empty = client.post("/v1/webhooks", json={"url": "https://example.com/hook", "events": []})
        gone = client.delete("/v1/webhooks/sub_1")
    assert (empty.status_code, empty.json()["error"]) == (400, "validation_error")
    assert (gone.status_code, gone.json()["error"]) == (404, "subscription_not_found")


def test_a_callback_is_refused_and_not_forgotten_about(host: Host) -> None:
    body = {"workflowId": "conformance-noop", "callbackUrl": "http://169.254.169.254/latest"}
    with host.client() as client:
        refused = client.post("/v1/runs", json=body)
    assert (refused.status_code, refused.json()["details"]["capability"]) == (501, "runs.callbackUrl")
