"""``identity``: whose a run is, and that the run of another is nobody's to read."""

from tests.conformance.conftest import Host

SEAMS = "/v1/host/sample/identity"


def test_a_read_across_the_boundary_is_refused_and_on_record(seamed: Host) -> None:
    with seamed.client("acme/viewer") as client:
        answer = client.post(f"{SEAMS}/cross-workspace-read", json={})
    assert (answer.status_code, answer.json()["error"]) == (403, "run_forbidden")
    with seamed.client("acme/auditor") as auditor:
        records = auditor.get("/v1/host/console/audit").json()["records"]
    assert any(each["details"].get("action") == "POST seam-cross-read" for each in records)


def test_a_run_says_whose_it_is(seamed: Host) -> None:
    for key, tenant in (("acme/viewer", "acme"), ("globex/owner", "globex")):
        with seamed.client(key) as client:
            found = client.get(f"{SEAMS}/owned-run").json()
            assert found["owner"]["tenant"] == tenant
            if key == "globex/owner":
                assert client.get(f"/v1/runs/{found['runId']}").json()["owner"] == found["owner"]


def test_the_surface_itself_answers_that_a_foreign_run_is_not_there(host: Host) -> None:
    run_id = host.run("conformance-noop", key="globex/owner")["runId"]
    with host.client("acme/owner") as client:
        assert client.get(f"/v1/runs/{run_id}").status_code == 404
