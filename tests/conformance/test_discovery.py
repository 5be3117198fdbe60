"""Discovery: public, valid, cacheable, and only what is honoured."""

from tests.conformance import schemas
from tests.conformance.asking import waiting
from tests.conformance.conftest import Host


def test_discovery_is_public_valid_and_cacheable(host: Host) -> None:
    answer = host.stranger.get("/.well-known/openwop")
    assert answer.status_code == 200
    assert answer.headers["cache-control"] == "public, max-age=300"
    document = answer.json()
    schemas.check("capabilities", document)
    same = host.stranger.get("/.well-known/openwop", headers={"If-None-Match": answer.headers["etag"]})
    assert (same.status_code, same.content) == (304, b"")
    assert '"edit"' not in answer.text


def test_families_stand_at_the_root_and_under_the_wrapper_alike(host: Host) -> None:
    document = host.stranger.get("/.well-known/openwop").json()
    for family, block in document["capabilities"].items():
        assert document[family] == block


WAITS = {
    "conformance-approval": "waiting-approval",
    "conformance-clarification": "waiting-input",
    "conformance-interrupt-auth-required": "waiting-approval",
    "conformance-interrupt-external-event": "waiting-external",
    "conformance-interrupt-quorum": "waiting-approval",
}
FAILS = {"conformance-failure", "conformance-capability-missing"}


def test_every_advertised_fixture_runs_to_its_end_or_waits_as_it_should(host: Host) -> None:
    fixtures = host.stranger.get("/.well-known/openwop").json()["fixtures"]
    assert set(fixtures) >= {*WAITS, "conformance-idempotent", "conformance-replay-side-effect"}
    with host.client() as client:
        for fixture in set(fixtures) - {"conformance-cancellable"}:
            if fixture in WAITS:
                assert waiting(client, fixture)["status"] == WAITS[fixture]
            else:
                ended = host.run(fixture, inputs={"nonce": "n-1", "payload": {}})["status"]
                assert ended == ("failed" if fixture in FAILS else "completed"), fixture


def test_every_role_is_published_with_its_scopes(host: Host) -> None:
    block = host.stranger.get("/.well-known/openwop").json()["authorization"]
    roles = {row["role"]: set(row["scopes"]) for row in block["roles"]}
    assert set(roles) == {"viewer", "author", "agent", "reviewer", "operator", "auditor", "owner"}
    assert block["failClosed"] is True
    assert "approvals:respond" not in roles["agent"] | roles["author"]
    assert roles["auditor"] == {"audit:read"}


def test_seams_are_off_and_an_anonymous_caller_learns_nothing(host: Host) -> None:
    seams = [
        "/v1/host/sample/memory/distill",
        "/v1/host/sample/governance/approval-gate",
        "/v1/host/sample/test/mock-ai/program",
        "/v1/test/memory/seed",
    ]
    with host.client() as client:
        for seam in seams:
            refused = client.post(seam, json={})
            assert refused.status_code == 404
            schemas.check("error-envelope", refused.json())
            assert host.stranger.get(seam).status_code == 401
