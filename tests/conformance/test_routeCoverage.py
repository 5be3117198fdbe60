"""``routeCoverage``: every address under ``/v1/`` answers JSON in the one envelope, routed or not."""

import pytest

from tests.conformance import schemas
from tests.conformance.conftest import Host

REQUIRED = [
    ("GET", "/.well-known/openwop"),
    ("GET", "/v1/openapi.json"),
    ("GET", "/v1/workflows/conformance-noop"),
    ("GET", "/v1/workflows/no-such-workflow"),
    ("POST", "/v1/runs"),
    ("GET", "/v1/runs/no-such-run"),
    ("GET", "/v1/runs/no-such-run/events"),
    ("GET", "/v1/runs/no-such-run/events/poll"),
    ("POST", "/v1/runs/no-such-run/cancel"),
    ("POST", "/v1/runs:bulk-cancel"),
    ("POST", "/v1/runs/no-such-run:fork"),
    ("POST", "/v1/runs/no-such-run:pause"),
    ("POST", "/v1/runs/no-such-run:resume"),
    ("POST", "/v1/runs/no-such-run/interrupts/gate"),
    ("GET", "/v1/interrupts/no-such-token"),
    ("POST", "/v1/interrupts/no-such-token"),
    ("GET", "/v1/runs/no-such-run/artifacts/no-such-artifact"),
    ("POST", "/v1/webhooks"),
    ("DELETE", "/v1/webhooks/no-such-subscription"),
    ("GET", "/v1/agents"),
    ("GET", "/v1/audit/verify"),
    ("GET", "/v1/no-such-route"),
    ("DELETE", "/v1/no/such/route"),
]


@pytest.mark.parametrize(("method", "path"), REQUIRED, ids=lambda part: part)
def test_an_address_answers_json_and_a_refusal_is_the_envelope(host: Host, method: str, path: str) -> None:
    with host.client() as client:
        answer = client.request(method, path, json={} if method == "POST" else None)
    assert answer.status_code < 500 or answer.status_code == 501
    assert answer.headers["content-type"].split(";")[0] == "application/json"
    if answer.status_code >= 400:
        schemas.check("error-envelope", answer.json())


@pytest.mark.parametrize(("method", "path"), REQUIRED, ids=lambda part: part)
def test_without_a_credential_it_is_401_before_any_look_for_what_is_there(host: Host, method: str, path: str) -> None:
    if path in {"/.well-known/openwop", "/v1/openapi.json"} or path.startswith("/v1/interrupts/"):
        pytest.skip("public, or opened by its token")
    answer = host.stranger.request(method, path, json={} if method == "POST" else None)
    assert (answer.status_code, answer.json()["error"]) == (401, "unauthenticated")
    schemas.check("error-envelope", answer.json())


def test_the_api_document_is_public_and_openapi_3(host: Host) -> None:
    document = host.stranger.get("/v1/openapi.json").json()
    assert document["openapi"].startswith("3.1")
    assert document["paths"]["/v1/runs"]["post"]["x-required-scope"] == "runs:create"
