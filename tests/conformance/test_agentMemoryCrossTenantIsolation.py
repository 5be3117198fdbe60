"""``conformance-agent-memory-cross-tenant``: a ref of another tenant answers nothing (CTI-1)."""

import pytest

from tests.conformance.conftest import Host


def test_the_owner_finds_its_entry_and_a_foreign_ref_finds_nothing(host: Host) -> None:
    variables = host.run("conformance-agent-memory-cross-tenant")["variables"]
    assert isinstance(variables["ownerProbe"], list)
    assert variables["ownerEntryId"] in [entry["id"] for entry in variables["ownerProbe"]]
    assert variables["crossTenantProbe"] == []


@pytest.mark.engines
def test_another_tenant_sees_neither_the_run_nor_the_entry_by_any_call(host: Host) -> None:
    snapshot = host.run("conformance-agent-memory-cross-tenant")
    entry = snapshot["variables"]["ownerEntryId"]
    missing = "run_" + "0" * 32
    with host.client("globex/owner") as globex:
        for path in ("", "/events", "/events/poll?timeout=1"):
            foreign = globex.get(f"/v1/runs/{snapshot['runId']}{path}")
            assert foreign.status_code == 404
            assert foreign.json() == globex.get(f"/v1/runs/{missing}{path}").json()
        assert globex.post(f"/v1/runs/{snapshot['runId']}/cancel").status_code == 404
        assert globex.get(f"/v1/host/console/memory/{entry}").status_code == 404
        listed = globex.get("/v1/host/console/memory", params={"memoryRef": "conformance/agent-memory", "state": "all"})
        assert entry not in listed.text


def test_write_events_stand_on_their_own_tenant_s_stream_alone(host: Host) -> None:
    acme = host.run("conformance-agent-memory-roundtrip")
    globex = host.run("conformance-agent-memory-roundtrip", key="globex/owner")
    assert acme["variables"]["memoryReadback"]["id"] not in str(host.events(globex["runId"], "globex/owner"))
