"""``conformance-interrupt-auth-required``: a gate that a token does not open (openwop-host 3.8 and 3.9)."""

from tests.conformance.asking import answer, refusal, waiting
from tests.conformance.conftest import Host

ACCEPT = {"action": "accept"}


def test_no_token_is_given_and_an_authenticated_approver_decides(host: Host) -> None:
    with host.client() as client:
        snapshot = waiting(client, "conformance-interrupt-auth-required")
        assert not {"interruptToken", "callbackUrl"} & set(snapshot["interrupt"])
        assert answer(client, snapshot["runId"], "gate", ACCEPT).status_code == 200
        assert host.finished(client, snapshot["runId"])["status"] == "completed"


def test_a_key_without_the_permission_is_refused_and_the_run_waits_on(host: Host) -> None:
    with host.client() as client, host.client("acme/viewer") as viewer:
        run_id = waiting(client, "conformance-interrupt-auth-required")["runId"]
        assert refusal(answer(viewer, run_id, "gate", ACCEPT)) == (403, "forbidden")
        assert client.get(f"/v1/runs/{run_id}").json()["status"] == "waiting-approval"
