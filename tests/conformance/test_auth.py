"""``auth``: 401 is for who one is, 403 for what one may, and both come before what there is (openwop-host 4.2)."""

import httpx
import pytest
from django.utils import timezone

from memory.host import api_keys
from memory.host.models import ApiKey
from tests import building
from tests.conformance import schemas
from tests.conformance.conftest import Host


def refused(answer: httpx.Response, status: int, code: str) -> dict:
    assert (answer.status_code, answer.json()["error"]) == (status, code)
    schemas.check("error-envelope", answer.json())
    return answer.json()


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"Authorization": "Bearer"},
        {"Authorization": "Bearer nonsense"},
        {"Authorization": "Basic YTpi"},
        {"Authorization": f"Bearer owk_{'0' * 32}_{'0' * 32}_secret"},
        {"X-API-Key": "nonsense"},
    ],
    ids=["missing", "empty", "malformed", "another scheme", "unknown", "malformed key header"],
)
def test_a_credential_that_is_none_is_401_and_never_403(host: Host, headers: dict[str, str]) -> None:
    answer = host.stranger.get("/v1/workflows/conformance-noop", headers=headers)
    refused(answer, 401, "unauthenticated")
    assert answer.headers["www-authenticate"] == "Bearer"


def test_a_key_with_one_letter_changed_is_unknown(host: Host) -> None:
    key = host.keys["acme/owner"]
    other = key[:-1] + ("A" if key[-1] != "A" else "B")
    answer = host.stranger.get("/v1/workflows/conformance-noop", headers={"Authorization": f"Bearer {other}"})
    refused(answer, 401, "unauthenticated")


@pytest.mark.engines
@pytest.mark.parametrize(("field", "code"), [("revoked_at", "key_revoked"), ("expires_at", "key_expired")])
def test_a_key_that_was_good_says_what_became_of_it(host: Host, field: str, code: str) -> None:
    headers = {"Authorization": f"Bearer {building.key(role='viewer', name='was good')}"}
    address = "/v1/workflows/conformance-noop"
    assert host.stranger.get(address, headers=headers).status_code == 200
    ApiKey.objects.written_by(api_keys.WRITER).filter(name="was good").update(**{field: timezone.now()})
    answer = host.stranger.get(address, headers=headers)
    refused(answer, 401, code)
    assert answer.headers["www-authenticate"] == "Bearer"


def test_a_good_key_without_the_scope_is_403_with_the_scope_it_lacks(host: Host) -> None:
    with host.client("acme/viewer") as viewer:
        body = refused(viewer.post("/v1/runs", json={"workflowId": "conformance-noop"}), 403, "forbidden")
    assert body["details"] == {"requiredScope": "runs:create"}


def test_authentication_comes_before_existence(host: Host) -> None:
    for path in (
        "/v1/runs/run_unknown/artifacts/unknown",
        "/v1/runs/run_unknown",
        "/v1/nothing-of-the-kind",
        "/v1/audit/verify",
        "/v1/host/console/audit",
    ):
        refused(host.stranger.get(path), 401, "unauthenticated")
    with host.client("acme/viewer") as viewer:
        assert viewer.get("/v1/runs/run_unknown/artifacts/unknown").status_code == 404


def test_a_scope_is_asked_for_before_what_there_is(host: Host) -> None:
    with host.client("acme/auditor") as auditor:
        refused(auditor.get("/v1/runs/run_unknown"), 403, "forbidden")
        refused(auditor.get("/v1/workflows/nothing"), 403, "forbidden")
