"""``workspace-cross-tenant-isolation`` (WCT-1): a file of another tenant is as one that is not there."""

from tests.conformance.conftest import Host

FILES = "/v1/host/workspace/files"
PATH = f"{FILES}/conformance/isolation.md"


def test_a_foreign_file_is_not_found_not_listed_and_not_changed(host: Host) -> None:
    with host.client("acme/owner") as acme, host.client("globex/owner") as globex:
        made = acme.put(PATH, json={"content": "of acme"})
        assert made.status_code == 200
        foreign, missing = globex.get(PATH), globex.get(f"{FILES}/conformance/none.md")
        assert (foreign.status_code, foreign.json()) == (404, missing.json())
        assert globex.get(FILES, params={"prefix": "conformance/isolation"}).json() == {"files": []}
        assert globex.delete(PATH).status_code == 404
        conflict = globex.put(PATH, json={"content": "y"}, headers={"If-Match": made.json()["etag"]})
        assert conflict.json()["details"] == {"currentVersion": 0}
        assert globex.put(PATH, json={"content": "of globex"}).json()["version"] == 1
        assert acme.get(PATH).json()["content"] == "of acme"
        for client in (acme, globex):
            assert client.delete(PATH).status_code == 204


def test_the_snapshot_of_a_run_names_files_of_its_own_tenant_alone(host: Host) -> None:
    with host.client("acme/owner") as acme:
        acme.put(PATH, json={"content": "of acme"})
        run = host.run("conformance-noop", key="globex/owner")
        assert "conformance/isolation.md" not in str(run["workspace"])
        acme.delete(PATH)


def test_the_seam_is_not_there(host: Host) -> None:
    body = {"tenant": "one", "workspace": "w", "op": "list"}
    with host.client() as client:
        assert client.post("/v1/host/sample/workspace/op", json=body).status_code == 404
