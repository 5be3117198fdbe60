"""``workspace``: versioned files, optimistic concurrency, redaction, and what a run sees (RFC 0059)."""

from typing import Any

import httpx

from memory import workspace
from memory.workspace import MAX_FILE_BYTES
from tests.conformance import schemas
from tests.conformance.conftest import Host

FILES = "/v1/host/workspace/files"


def put(client: httpx.Client, path: str, content: str, **headers: str) -> httpx.Response:
    return client.put(f"{FILES}/{path}", json={"content": content}, headers=headers)


def test_the_capability_is_advertised_with_its_bounds(host: Host) -> None:
    block = host.stranger.get("/.well-known/openwop").json()["workspace"]
    assert block == {
        "supported": True,
        "versioned": True,
        "maxFileBytes": MAX_FILE_BYTES,
        "maxFiles": workspace.MAX_FILES,
        "maxVersions": workspace.MAX_VERSIONS,
    }


def test_a_file_is_created_read_listed_versioned_and_deleted(host: Host) -> None:
    path = "conformance/round-trip.md"
    with host.client() as client:
        for version, content in enumerate(("one", "two"), 1):
            made = put(client, path, content)
            assert made.status_code == 200, made.text
            schemas.check("workspace-file", made.json())
            assert made.json()["version"] == version
        assert client.get(f"{FILES}/{path}").json()["content"] == "two"
        assert client.get(f"{FILES}/{path}", params={"version": 1}).json()["content"] == "one"
        [row] = client.get(FILES, params={"prefix": path}).json()["files"]
        assert (row["path"], row["version"], "content" in row) == (path, 2, False)
        assert client.get(f"{FILES}/conformance%2Fround-trip.md").json()["version"] == 2
        assert client.delete(f"{FILES}/{path}").status_code == 204
        assert client.get(f"{FILES}/{path}").json()["error"] == "not_found"
        assert put(client, path, "again").json()["version"] == 1
        assert client.delete(f"{FILES}/{path}").status_code == 204


def test_a_stale_tag_is_409_with_the_current_version(host: Host) -> None:
    path = "conformance/conflict.md"
    with host.client() as client:
        first = put(client, path, "one").json()["etag"]
        assert put(client, path, "two", **{"If-Match": first}).status_code == 200
        stale = put(client, path, "three", **{"If-Match": first})
        assert (stale.status_code, stale.json()["error"]) == (409, "workspace_conflict")
        assert stale.json()["details"] == {"currentVersion": 2}
        schemas.check("error-envelope", stale.json())
        client.delete(f"{FILES}/{path}")


def test_what_is_too_large_or_no_path_is_refused(host: Host) -> None:
    with host.client() as client:
        large = put(client, "conformance/large.md", "x" * (MAX_FILE_BYTES + 1))
        assert (large.status_code, large.json()["error"]) == (413, "workspace_too_large")
        for path in ("%2e%2e/secret", "a/%2e%2e/b", "%2Fetc", "a%00b"):
            assert put(client, path, "x").status_code in {400, 404}, path
        extra = client.put(f"{FILES}/a.md", json={"content": "x", "path": "b.md"})
        assert (extra.status_code, extra.json()["error"]) == (400, "validation_error")


def test_a_secret_of_the_vault_is_stored_as_its_mark(host: Host) -> None:
    with host.client() as client:
        client.put("/v1/host/console/secrets/workspace-key", json={"value": "canary-workspace-1234"})
        kept = put(client, "conformance/secret.md", "the key is canary-workspace-1234").json()
        assert kept["content"] == "the key is [REDACTED:workspace-key]"
        assert "canary-workspace" not in client.get(f"{FILES}/conformance/secret.md").text
        client.delete(f"{FILES}/conformance/secret.md")
        client.delete("/v1/host/console/secrets/workspace-key")


def test_a_run_keeps_the_snapshot_of_its_creation(host: Host) -> None:
    path = "conformance/snapshot.md"
    with host.client() as client:
        put(client, path, "one")
        run = host.run("conformance-noop")
        put(client, path, "two")
        later: dict[str, Any] = client.get(f"/v1/runs/{run['runId']}").json()
        assert {"path": path, "version": 1} in later["workspace"]
        assert later["workspace"] == run["workspace"]
        client.delete(f"{FILES}/{path}")


def test_scopes_are_asked_for(host: Host) -> None:
    with host.client("acme/viewer") as viewer:
        assert viewer.get(FILES).status_code == 200
        refused = put(viewer, "a.md", "x")
        assert (refused.status_code, refused.json()["details"]["requiredScope"]) == (403, "workspace:write")
    assert host.stranger.get(FILES).status_code == 401
