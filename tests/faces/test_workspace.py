"""``/v1/host/workspace/files`` and its seam: statuses, codes and entity tags as the contract has them (RFC 0059)."""

import json
from typing import Any

import pytest
from django.conf import settings as configuration
from django.test import Client
from django.utils import timezone
from pytest_django.fixtures import Settings

from memory import workspace
from memory.host.models import Tenant
from memory.models import WorkspaceFile
from memory.workspace import MAX_FILE_BYTES, FileDraft
from tests import building
from tests.conformance import schemas

pytestmark = pytest.mark.django_db
FILES = "/v1/host/workspace/files"
SEAM = "/v1/host/sample/workspace/op"


class Caller:
    """One key at the workspace's door."""

    def __init__(self, client: Client, slug: str = "acme", role: str = "owner", **options: Any) -> None:
        self.client, self.headers = client, building.headers(slug, role, **options)

    def put(self, path: str, body: Any, **headers: Any) -> Any:
        raw = body if isinstance(body, str) else json.dumps(body)
        kind = "application/json"
        return self.client.put(f"{FILES}/{path}", raw, content_type=kind, **self.headers, headers=headers)

    def get(self, path: str = "", query: Any = None, **headers: Any) -> Any:
        return self.client.get(f"{FILES}/{path}" if path else FILES, query, **self.headers, headers=headers)

    def delete(self, path: str, **headers: Any) -> Any:
        return self.client.delete(f"{FILES}/{path}", **self.headers, headers=headers)

    def op(self, tenant: str, op: str, *, workspace: str = "w", **more: Any) -> Any:
        body = {"tenant": tenant, "workspace": workspace, "op": op, **more}
        return self.client.post(SEAM, json.dumps(body), content_type="application/json", **self.headers)


@pytest.fixture
def acme(client: Client) -> Caller:
    return Caller(client)


def refused(answer: Any, status: int, code: str) -> dict[str, Any]:
    body: dict[str, Any] = answer.json()
    assert (answer.status_code, body["error"]) == (status, code), body
    schemas.check("error-envelope", body)
    details: dict[str, Any] = body.get("details", {})
    return details


def test_white_space_around_a_file_is_a_part_of_it(acme: Caller) -> None:
    assert acme.put("AGENTS.md", {"content": "\n  indented \n"}).status_code in {200, 201}
    assert acme.get("AGENTS.md").json()["content"] == "\n  indented \n"


def test_a_file_goes_in_comes_out_and_goes(acme: Caller) -> None:
    made = acme.put("notes/AGENTS.md", {"content": "# hello\n"})
    assert made.status_code == 200
    schemas.check("workspace-file", made.json())
    assert (made.json()["version"], made.json()["contentType"]) == (1, "text/markdown")
    read = acme.get("notes/AGENTS.md")
    assert (read.status_code, read.json()) == (200, made.json())
    assert read["ETag"] == made["ETag"] == made.json()["etag"]
    gone = acme.delete("notes/AGENTS.md")
    assert (gone.status_code, gone.content) == (204, b"")
    refused(acme.get("notes/AGENTS.md"), 404, "not_found")
    refused(acme.delete("notes/AGENTS.md"), 404, "not_found")
    assert acme.put("notes/AGENTS.md", {"content": "again"}).json()["version"] == 1


def test_white_space_and_the_content_type_are_kept_as_they_were_sent(acme: Caller) -> None:
    made = acme.put("a.json", {"content": "  {}\r\n ", "contentType": "application/json; charset=utf-8"}).json()
    assert (made["content"], made["contentType"]) == ("  {}\r\n ", "application/json; charset=utf-8")
    assert acme.put("empty", {"content": ""}).json()["content"] == ""


def test_a_list_has_no_content_and_is_by_path(acme: Caller) -> None:
    for path in ("b.md", "a/b.md", "a/a.md"):
        acme.put(path, {"content": "secretive"})
    listed = acme.get()
    assert [row["path"] for row in listed.json()["files"]] == ["a/a.md", "a/b.md", "b.md"]
    assert set(listed.json()["files"][0]) == {"path", "contentType", "version", "etag", "updatedAt"}
    assert "secretive" not in listed.content.decode()
    assert [row["path"] for row in acme.get(query={"prefix": "a/"}).json()["files"]] == ["a/a.md", "a/b.md"]
    for prefix in ("x", "%", "_", "..", "\x00"):
        assert acme.get(query={"prefix": prefix}).status_code in {200, 400}
        assert not acme.get(query={"prefix": prefix}).json().get("files")


def test_a_slash_in_a_path_may_be_escaped_and_nothing_redirects(acme: Caller) -> None:
    acme.put("a%2Fb.md", {"content": "x"})
    assert acme.get("a/b.md").json()["path"] == "a/b.md"
    refused(acme.get("a/b.md/"), 400, "validation_error")
    refused(acme.get(query=None, path="/"), 400, "validation_error")
    refused(acme.client.get(f"{FILES}/", **acme.headers), 404, "not_found")


@pytest.mark.parametrize(
    "path", ["a/../b", "%2e%2e/b", "a..b", "-a", "a//b", "./a", "a%20b", "%C3%A4", "a%5Cb", "x" * 257]
)
def test_a_path_that_no_file_can_have_is_400(acme: Caller, path: str) -> None:
    for answer in (acme.put(path, {"content": "x"}), acme.get(path), acme.delete(path)):
        assert refused(answer, 400, "validation_error")["errors"][0]["field"] == "path"


BODIES = [
    {},
    {"content": 5},
    {"content": None},
    {"content": "x", "path": "b.md"},
    {"content": "x", "version": 2},
    {"content": "x", "contentType": ""},
    {"content": "x", "contentType": "y" * 129},
    {"content": "a\x00b"},
    ["content"],
    '{"content": "\\ud800"}',
    "not json",
]


@pytest.mark.parametrize("body", BODIES)
def test_a_body_that_is_none_is_400(acme: Caller, body: Any) -> None:
    refused(acme.put("a.md", body), 400, "validation_error")
    assert not WorkspaceFile.objects.exists()


@pytest.mark.parametrize("version", ["0", "-1", "01", "1.0", "x", "", "1 ", "9999999999", "\u0661"])
def test_a_version_that_is_none_is_400(acme: Caller, version: str) -> None:
    acme.put("a.md", {"content": "x"})
    refused(acme.get("a.md", {"version": version}), 400, "validation_error")


def test_every_kept_version_is_read_and_a_purged_one_is_not_found(acme: Caller) -> None:
    for number in range(1, workspace.MAX_VERSIONS + 2):
        assert acme.put("a.md", {"content": f"text {number}"}).json()["version"] == number
    assert acme.get("a.md", {"version": 2}).json()["content"] == "text 2"
    for version in (1, 22, 999_999_999):
        refused(acme.get("a.md", {"version": version}), 404, "not_found")


def test_a_stale_tag_is_409_and_says_which_version_is_there(acme: Caller) -> None:
    assert refused(acme.put("a.md", {"content": "x"}, **{"If-Match": "*"}), 409, "workspace_conflict") == {
        "currentVersion": 0
    }
    first = acme.put("a.md", {"content": "one"}, **{"If-None-Match": "*"}).json()["etag"]
    second = acme.put("a.md", {"content": "two"}, **{"If-Match": first})
    assert second.status_code == 200
    stale: list[dict[str, Any]] = [{"If-Match": first}, {"If-None-Match": "*"}, {"If-Match": "nonsense"}]
    for headers in stale:
        conflict = acme.put("a.md", {"content": "three"}, **headers)
        assert refused(conflict, 409, "workspace_conflict") == {"currentVersion": 2}
    assert refused(acme.delete("a.md", **{"If-Match": first}), 409, "workspace_conflict") == {"currentVersion": 2}
    assert acme.get("a.md").json()["content"] == "two"
    assert acme.delete("a.md", **{"If-Match": second["ETag"]}).status_code == 204


def test_a_reader_who_has_it_already_is_told_so(acme: Caller) -> None:
    tag = acme.put("a.md", {"content": "x"})["ETag"]
    for given in (tag, f'"other", W/{tag}', "*"):
        same = acme.get("a.md", **{"If-None-Match": given})
        assert (same.status_code, same.content, same["ETag"]) == (304, b"", tag)
    assert acme.get("a.md", **{"If-None-Match": '"other"'}).status_code == 200


def test_the_largest_file_fits_however_its_json_is_escaped(acme: Caller) -> None:
    body = json.dumps({"content": "\u0416" * (MAX_FILE_BYTES // 2)})
    assert len(body) > configuration.DATA_UPLOAD_MAX_MEMORY_SIZE
    assert acme.put("big.md", body).status_code == 200
    larger = acme.put("big.md", {"content": "x" * (MAX_FILE_BYTES + 1)})
    sizes = {"maxBytes": MAX_FILE_BYTES, "providedBytes": MAX_FILE_BYTES + 1}
    assert refused(larger, 413, "workspace_too_large") == sizes
    refused(acme.put("big.md", {"content": "x" * 7 * MAX_FILE_BYTES}), 413, "workspace_too_large")
    assert acme.get("big.md").json()["version"] == 1


def test_a_full_workspace_is_413_and_says_how_many_there_may_be(acme: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workspace, "MAX_FILES", 1)
    acme.put("a.md", {"content": "x"})
    assert refused(acme.put("b.md", {"content": "x"}), 413, "workspace_too_large") == {"maxFiles": 1}


def test_who_may_not_is_403_with_the_permission_and_a_visitor_is_401(client: Client, acme: Caller) -> None:
    acme.put("a.md", {"content": "x"})
    viewer, auditor = Caller(client, role="viewer"), Caller(client, role="auditor")
    assert viewer.get("a.md").status_code == 200
    for answer in (viewer.put("a.md", {"content": "y"}), viewer.delete("a.md")):
        assert refused(answer, 403, "forbidden")["requiredScope"] == "workspace:write"
    for answer in (auditor.get(), auditor.get("a.md"), auditor.get("none.md")):
        assert refused(answer, 403, "forbidden")["requiredScope"] == "workspace:read"
    assert client.get(f"{FILES}/a.md").status_code == client.get(FILES).status_code == 401
    bound = Caller(client, role="agent", agents=("acme.writer",))
    assert bound.put("a.md", {"content": "y"}).json()["version"] == 2


def test_a_run_says_which_version_of_each_file_it_sees(client: Client, acme: Caller) -> None:
    acme.put("b.md", {"content": "x"})
    acme.put("a.md", {"content": "x"})
    acme.put("a.md", {"content": "y"})
    kind = "application/json"
    made = client.post("/v1/runs", json.dumps({"workflowId": "conformance-noop"}), content_type=kind, **acme.headers)
    acme.put("a.md", {"content": "z"})
    snapshot = client.get(f"/v1/runs/{made.json()['runId']}", **acme.headers).json()
    assert snapshot["workspace"] == [{"path": "a.md", "version": 2}, {"path": "b.md", "version": 1}]
    schemas.check("run-snapshot", snapshot)


# --- the seam -------------------------------------------------------------------------------------------------------


@pytest.fixture
def seams(settings: Settings) -> None:
    settings.OPENWOP_TEST_SEAM_ENABLED = True


@pytest.mark.usefixtures("seams")
def test_two_owners_in_one_hand_share_nothing(acme: Caller) -> None:
    made = acme.op("one", "put", path="a.md", content="of one")
    assert made.status_code == 200
    schemas.check("workspace-file", made.json())
    assert acme.op("one", "get", path="a.md", version=1).json() == made.json()
    for tenant, owned in (("two", "w"), ("one", "v")):
        refused(acme.op(tenant, "get", workspace=owned, path="a.md"), 404, "not_found")
        refused(acme.op(tenant, "delete", workspace=owned, path="a.md"), 404, "not_found")
        assert acme.op(tenant, "list", workspace=owned).json() == {"files": []}
        assert acme.op(tenant, "put", workspace=owned, path="a.md", content="x").json()["version"] == 1
    assert [row["version"] for row in acme.op("one", "list", prefix="a").json()["files"]] == [1]
    stale = acme.op("one", "put", path="a.md", content="y", ifMatch='"stale"')
    assert refused(stale, 409, "workspace_conflict") == {"currentVersion": 1}
    assert acme.op("one", "put", path="a.md", content="y", contentType="text/plain").json()["version"] == 2
    assert acme.op("one", "delete", path="a.md").json() == {"ok": True}


@pytest.mark.usefixtures("seams")
def test_naming_a_tenant_never_reaches_it(client: Client, acme: Caller) -> None:
    at = timezone.now()
    for slug in ("acme", "globex"):
        workspace.write_file(building.scope(slug), "a.md", FileDraft(f"of {slug}"), now=at)
    for tenant in ("acme", "globex", "nobody"):
        refused(acme.op(tenant, "get", path="a.md"), 404, "not_found")
        acme.op(tenant, "put", path="a.md", content="overwritten")
        acme.op(tenant, "delete", path="a.md")
    assert acme.op("globex", "put", path="b.md", content="x").status_code == 200
    assert Caller(client, "globex").op("globex", "list").json() == {"files": []}
    for slug in ("acme", "globex"):
        [kept] = workspace.list_files(building.scope(slug))
        assert workspace.read_file(building.scope(slug), kept.path).content == f"of {slug}"


@pytest.mark.usefixtures("seams")
@pytest.mark.parametrize(
    "body",
    [{"op": "move"}, {"op": "get"}, {"op": "put", "path": "a.md"}, {"op": "put", "path": "../a", "content": "x"},
     {"op": "list", "surprise": 1}, {"op": "get", "path": "a.md", "version": 0}, {"op": "list", "tenant": 7}],
)  # fmt: skip
def test_an_op_that_is_none_is_400(acme: Caller, body: dict[str, Any]) -> None:
    refused(acme.op(**{"tenant": "one", **body}), 400, "validation_error")


@pytest.mark.usefixtures("seams")
def test_the_seam_asks_for_the_permissions_of_the_workspace(client: Client) -> None:
    viewer = Caller(client, role="viewer")
    assert viewer.op("one", "list").status_code == 200
    assert refused(viewer.op("one", "delete", path="a.md"), 403, "forbidden")["requiredScope"] == "workspace:write"
    before = Tenant.objects.count()
    viewer.op("one", "put", path="a.md", content="x")
    assert Tenant.objects.count() == before
    assert client.post(SEAM, "{}", content_type="application/json").status_code == 401
