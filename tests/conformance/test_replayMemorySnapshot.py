"""A replay whose reads were forgotten is refused: ``replay_memory_snapshot_unavailable``, behind the bounds check."""

import time

import httpx
import pytest

from tests.conformance import schemas
from tests.conformance.conftest import Host


def forget(client: httpx.Client, name: str) -> None:
    """The subject is forgotten, with a receipt."""
    preview = client.post("/v1/host/console/forget/previews", json={"subject": name}).json()
    body = {"previewId": preview["previewId"], "subject": name, "reason": "a test"}
    deadline = time.monotonic() + 20
    while client.get(f"/v1/host/console/forget/previews/{preview['previewId']}").json()["state"] != "ready":
        assert time.monotonic() < deadline
        time.sleep(0.1)
    confirmed = client.post("/v1/host/console/forget", json=body)
    assert confirmed.status_code < 300, confirmed.text
    forget_id, deadline = confirmed.json()["forgetId"], time.monotonic() + 20
    while client.get(f"/v1/host/console/forget/{forget_id}").json()["state"] != "forgotten":
        assert time.monotonic() < deadline
        time.sleep(0.1)


@pytest.mark.engines
def test_what_was_read_and_forgotten_is_not_replayed_and_bounds_come_first(host: Host) -> None:
    source = host.run("conformance-agent-memory-roundtrip")["runId"]
    with host.client() as client:

        def fork(**body: object) -> httpx.Response:
            return client.post(f"/v1/runs/{source}:fork", json={"mode": "replay", **body})

        first = fork()
        assert first.status_code == 201
        host.finished(client, first.json()["runId"])  # a forget is confirmed for what its preview has counted
        forget(client, source)  # the probe writes the id of its run
        assert (fork(fromSeq=999).status_code, fork(fromSeq=999).json()["error"]) == (422, "invalid_from_seq")
        refused = fork()
        schemas.check("error-envelope", refused.json())
        assert (refused.status_code, refused.json()["error"]) == (422, "replay_memory_snapshot_unavailable")
        details = refused.json()["details"]
        assert details == {"fromSeq": 0, "sourceRunId": source, "reason": "retention_expired"}
        assert fork(mode="branch", fromSeq=0).status_code == 201
