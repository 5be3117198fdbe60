"""``conformance-agent-memory-ttl``: an entry past its end never surfaces."""

from tests.conformance.conftest import Host


def test_the_fresh_entry_is_listed_and_the_expired_one_is_not(host: Host) -> None:
    variables = host.run("conformance-agent-memory-ttl")["variables"]
    listed = [entry["id"] for entry in variables["memoryList"]]
    assert variables["freshId"] in listed
    assert variables["expiredId"] not in listed


def test_the_expired_entry_is_not_to_be_had_by_its_id_either(host: Host) -> None:
    expired = host.run("conformance-agent-memory-ttl")["variables"]["expiredId"]
    with host.client() as client:
        assert client.get(f"/v1/host/console/memory/{expired}").status_code == 404
