"""Workspace files: versions, preconditions, redaction, what a run sees, and forgetting (RFC 0059)."""

from datetime import timedelta
from functools import partial
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from memory import workspace
from memory.forget import execution
from memory.forget.erasers.declared import Declared
from memory.host import audit, event_log, runs, tenancy, vault
from memory.host.erasure import Identifiers
from memory.host.errors import Forbidden, Invalid, NotFound, WorkspaceConflict, WorkspaceTooLarge
from memory.host.models import Run, RunEvent
from memory.host.tenancy import TenantScope
from memory.models import ForgetRequest, WorkspaceFile
from memory.workspace import MAX_FILE_BYTES, FileDraft, Precondition
from openwop_console.runtime import run_operations
from openwop_console.runtime.models import Step
from openwop_console.runtime.node_execution import NodeFiles
from openwop_console.runtime.run_operations import RunRequest
from tests import building
from tests.building import at_once

pytestmark = pytest.mark.django_db
MARTA = "marta.kowalska@example.com"


def put(owner: TenantScope, path: str, content: str, **options: Any) -> WorkspaceFile:
    given = {"now": timezone.now(), **options}
    return workspace.write_file(owner, path, FileDraft(content), **given)


def drop(owner: TenantScope, path: str, **options: Any) -> None:
    workspace.delete_file(owner, path, now=timezone.now(), **options)


def text_of(owner: TenantScope, path: str, version: int | None = None) -> str:
    return workspace.read_file(owner, path, version=version).content


def facts(recorded: list[Any]) -> list[dict[str, Any]]:
    return [event.payload for event in recorded if event.type == "workspace.updated"]


@pytest.mark.engines
def test_each_write_is_a_version_and_every_kept_one_is_read() -> None:
    acme = building.scope()
    assert [put(acme, "AGENTS.md", text).version for text in ("one", "two", "three")] == [1, 2, 3]
    assert text_of(acme, "AGENTS.md") == "three"
    assert [text_of(acme, "AGENTS.md", number) for number in (1, 2, 3)] == ["one", "two", "three"]
    assert [row.version for row in workspace.versions_of(acme, "AGENTS.md")] == [3, 2, 1]


@pytest.mark.engines
def test_only_the_newest_versions_are_kept() -> None:
    acme = building.scope()
    for number in range(1, workspace.MAX_VERSIONS + 3):
        put(acme, "log.md", f"version {number}")
    assert [row.version for row in workspace.versions_of(acme, "log.md")] == list(range(22, 2, -1))
    with pytest.raises(NotFound):
        workspace.read_file(acme, "log.md", version=2)


def test_a_deleted_file_is_gone_with_its_versions_and_begins_at_one_again() -> None:
    acme = building.scope()
    before = [put(acme, "a.md", text) for text in ("one", "two")]
    drop(acme, "a.md")
    for version in (None, 1, 2):
        with pytest.raises(NotFound):
            workspace.read_file(acme, "a.md", version=version)
    with pytest.raises(NotFound):
        drop(acme, "a.md")
    again = put(acme, "a.md", "one")
    assert again.version == 1
    assert again.etag not in {each.etag for each in before}


def test_a_list_is_by_path_and_loads_no_content() -> None:
    acme = building.scope()
    for path in ("b.md", "a/z.md", "a/b.md", "A.md", "a.md"):
        put(acme, path, "x")
    with CaptureQueriesContext(connection) as asked:
        assert [row.path for row in workspace.list_files(acme)] == ["A.md", "a.md", "a/b.md", "a/z.md", "b.md"]
        assert [row.path for row in workspace.list_files(acme, prefix="a/")] == ["a/b.md", "a/z.md"]
        assert workspace.list_files(acme, prefix="A/") == []
    assert len(asked) == 3
    assert not [query for query in asked.captured_queries if '"content"' in query["sql"]]


PATHS = ["", "/a", "a/", "a//b", "a/./b", "a/../b", "..", "a..b", ".hidden", "a b", "a\n", "a\\b", "ä", "x" * 257, "a?"]


def test_a_path_that_no_file_can_have_is_refused_by_every_call() -> None:
    acme = building.scope()
    for path in PATHS:
        for act in (partial(put, acme, path, "x"), partial(text_of, acme, path), partial(drop, acme, path)):
            with pytest.raises(Invalid):
                act()


def test_what_is_expected_of_a_file_decides() -> None:
    acme = building.scope()
    with pytest.raises(WorkspaceConflict) as missing:
        put(acme, "a.md", "x", expected=Precondition(if_match="*"))
    assert missing.value.details == {"currentVersion": 0}
    first = put(acme, "a.md", "one", expected=Precondition(if_none_match="*"))
    with pytest.raises(WorkspaceConflict) as there:
        put(acme, "a.md", "two", expected=Precondition(if_none_match="*"))
    assert there.value.details == {"currentVersion": 1}
    second = put(acme, "a.md", "two", expected=Precondition(if_match=f'"x", {first.etag}'))
    for stale in (first.etag, f"W/{second.etag}", second.etag.strip('"'), ""):
        with pytest.raises(WorkspaceConflict) as conflict:
            put(acme, "a.md", "three", expected=Precondition(if_match=stale))
        assert conflict.value.details == {"currentVersion": 2}
        with pytest.raises(WorkspaceConflict):
            drop(acme, "a.md", expected=Precondition(if_match=stale))
    assert put(acme, "a.md", "three", expected=Precondition(if_match="*")).version == 3
    assert text_of(acme, "a.md") == "three"


def test_a_file_has_a_megabyte_of_utf_8_and_not_one_byte_more() -> None:
    acme = building.scope()
    full = "ö" * (MAX_FILE_BYTES // 2)
    assert put(acme, "big.md", full).size == MAX_FILE_BYTES
    with pytest.raises(WorkspaceTooLarge) as refused:
        put(acme, "big.md", full + "x")
    assert refused.value.details == {"maxBytes": MAX_FILE_BYTES, "providedBytes": MAX_FILE_BYTES + 1}
    assert put(acme, "empty.md", "").size == 0


def test_a_full_workspace_takes_new_versions_but_no_new_file(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workspace, "MAX_FILES", 2)
    acme = building.scope()
    put(acme, "a.md", "x")
    put(acme, "b.md", "x")
    put(building.scope("globex"), "c.md", "x")
    with pytest.raises(WorkspaceTooLarge) as refused:
        put(acme, "c.md", "x")
    assert refused.value.details == {"maxFiles": 2}
    assert put(acme, "b.md", "y").version == 2
    drop(acme, "a.md")
    assert put(acme, "c.md", "x").version == 1


def test_a_change_stands_on_the_tenant_s_own_log_and_is_audited_without_its_content() -> None:
    acme = building.scope()
    put(acme, "a.md", "the content")
    put(acme, "a.md", "another")
    drop(acme, "a.md")
    versions = [{"path": "a.md", "version": number} for number in (1, 2, 2)]
    assert facts(event_log.read_tenant_log(acme.tenant_id)) == versions
    kept = [record for record in audit.newest(acme.tenant_id) if record.action.startswith("workspace.")]
    assert [(record.action, record.target, record.actor) for record in kept] == [
        ("workspace.deleted", "a.md", acme.principal.id),
        ("workspace.written", "a.md", acme.principal.id),
        ("workspace.written", "a.md", acme.principal.id),
    ]
    assert kept[0].details == kept[1].details
    assert {len(record.details["sha256"]) for record in kept} == {64}
    assert "content" not in str([record.details for record in kept])


@pytest.mark.engines
def test_a_change_that_cannot_record_its_fact_leaves_nothing_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    acme = building.scope()
    put(acme, "a.md", "one")

    def broken(*args: Any, **options: Any) -> None:
        raise RuntimeError("the log is full")

    monkeypatch.setattr(event_log, "append", broken)
    with pytest.raises(RuntimeError):
        put(acme, "a.md", "two")
    with pytest.raises(RuntimeError):
        drop(acme, "a.md")
    assert [(row.version, row.current) for row in WorkspaceFile.objects.all()] == [(1, True)]


@pytest.mark.engines
def test_a_secret_of_the_tenant_is_stored_as_its_mark_and_refused_in_a_name() -> None:
    acme = building.scope()
    vault.store_secret(acme.tenant_id, "crm-api-key", "tok-123456789", now=timezone.now())
    assert put(acme, "a.md", "call with tok-123456789").content == "call with [REDACTED:crm-api-key]"
    for path, content_type in (("tok-123456789.md", "text/plain"), ("a.md", "tok-123456789")):
        with pytest.raises(Invalid):
            workspace.write_file(acme, path, FileDraft("x", content_type), now=timezone.now())
    with connection.cursor() as cursor:
        cursor.execute("SELECT content, path FROM memory_workspacefile")
        assert "tok-123456789" not in str(cursor.fetchall())


@pytest.mark.parametrize(
    "draft", [FileDraft("a\x00b"), FileDraft("\ud800"), FileDraft("x", ""), FileDraft("x", "a\nb")]
)
def test_what_cannot_be_stored_is_refused(draft: FileDraft) -> None:
    with pytest.raises(Invalid):
        workspace.write_file(building.scope(), "a.md", draft, now=timezone.now())
    assert not WorkspaceFile.objects.exists()


def test_who_may_not_is_told_which_permission_is_missing() -> None:
    viewer, auditor = building.scope(role="viewer"), building.scope(role="auditor")
    for act in (lambda: put(viewer, "a.md", "x"), lambda: drop(viewer, "a.md")):
        with pytest.raises(Forbidden) as refused:
            act()
        assert refused.value.details == {"requiredScope": "workspace:write"}
    for read in (workspace.list_files, lambda scope: workspace.read_file(scope, "a.md")):
        with pytest.raises(Forbidden):
            read(auditor)


def test_a_key_that_is_bound_to_agents_reads_and_writes() -> None:
    bound = building.scope(role="agent", agents=("acme.writer",))
    put(bound, "a.md", "x")
    assert text_of(bound, "a.md") == "x"


def test_another_tenant_has_other_files() -> None:
    acme, globex = building.scope(), building.scope("globex")
    put(acme, "a.md", "of acme")
    with pytest.raises(NotFound):
        text_of(globex, "a.md")
    with pytest.raises(NotFound):
        drop(globex, "a.md")
    assert workspace.list_files(globex) == workspace.versions_of(globex, "a.md") == []
    assert put(globex, "a.md", "of globex").version == 1
    assert text_of(acme, "a.md") == "of acme"
    other = building.open_run(globex)
    with pytest.raises(NotFound):
        put(acme, "a.md", "x", run=other)


# --- what a run sees ------------------------------------------------------------------------------------------------


def reader(path: str, node_id: str = "read") -> dict[str, Any]:
    return building.node(node_id, "vendor.console.read-file", {"path": path})


def writer(path: str, content: str, node_id: str = "write", **config: Any) -> dict[str, Any]:
    return building.node(node_id, "vendor.console.write-file", {"path": path, "content": content, **config})


def outputs_of(run: Run, node_id: str = "read") -> dict[str, Any]:
    return dict(Step.objects.of(run.tenant_id).get(run_id=run.id, node_id=node_id).outputs)


def created(owner: TenantScope, *nodes: dict[str, Any]) -> Run:
    """A run of these nodes that no worker has begun."""
    building.install("acme", building.definition("files", *nodes))
    return run_operations.create_run(owner, RunRequest("files"), now=timezone.now())


def test_a_run_reads_the_workspace_as_it_stood_at_its_creation() -> None:
    acme = building.scope()
    put(acme, "a.md", "as it stood")
    run = created(acme, reader("a.md"))
    put(acme, "a.md", "later")
    put(acme, "b.md", "later")
    done = building.advance(run)
    assert done.status == "completed"
    assert outputs_of(done)["content"] == "as it stood"
    assert outputs_of(done)["version"] == 1
    assert [(noted["path"], noted["version"]) for noted in done.workspace] == [("a.md", 1)]


def test_a_node_that_writes_at_a_bad_path_fails_and_names_the_field() -> None:
    run = building.advance(created(building.scope(), writer("a b?.md", "text")))
    assert run.error
    assert run.error["message"].startswith("The file cannot be stored. (path ")


@pytest.mark.engines
def test_a_run_reads_its_own_writes_and_they_stand_on_its_log_by_node() -> None:
    acme = building.scope()
    put(acme, "a.md", "one")
    run = building.advance(created(acme, writer("a.md", "of the run"), reader("a.md")))
    assert run.status == "completed", run.error
    assert (outputs_of(run)["content"], outputs_of(run)["version"]) == ("of the run", 2)
    [fact] = [event for event in event_log.read(acme.tenant_id, run.id) if event.type == "workspace.updated"]
    assert (fact.node_id, fact.payload) == ("write", {"path": "a.md", "version": 2})
    assert len(facts(event_log.read_tenant_log(acme.tenant_id))) == 1
    assert [(noted["path"], noted["version"]) for noted in run.workspace] == [("a.md", 1)]
    assert text_of(acme, "a.md") == "of the run"


def purge(acme: TenantScope) -> None:
    for number in range(workspace.MAX_VERSIONS):
        put(acme, "a.md", f"later {number}")


def remake(acme: TenantScope) -> None:
    drop(acme, "a.md")
    put(acme, "a.md", "another file at version 1")


@pytest.mark.parametrize("happens", [purge, remake, lambda acme: drop(acme, "a.md")])
def test_a_version_that_is_kept_no_more_fails_the_node_and_is_never_replaced_by_another(happens: Any) -> None:
    acme = building.scope()
    put(acme, "a.md", "as it stood")
    run = created(acme, reader("a.md"))
    happens(acme)
    done = building.advance(run)
    assert (done.status, done.error["code"]) == ("failed", "workspace_version_gone")


def test_a_file_that_the_run_does_not_see_fails_the_node_that_needs_it() -> None:
    acme = building.scope()
    run = created(acme, reader("a.md"))
    put(acme, "a.md", "too late")
    assert building.advance(run).error["code"] == "workspace_file_missing"


@pytest.mark.engines
def test_a_node_that_fails_takes_its_write_back() -> None:
    acme = building.scope()
    run = building.advance(created(acme, writer("a.md", "x", contentType="")))
    assert (run.status, run.error["code"]) == ("failed", "validation_error")
    assert not WorkspaceFile.objects.exists()
    assert facts(event_log.read(acme.tenant_id, run.id)) == []


def test_a_secret_that_a_node_resolved_is_written_as_its_mark() -> None:
    acme = building.scope()
    vault.store_secret(acme.tenant_id, "crm-api-key", "tok-123456789", now=timezone.now())
    node = writer("a.md", "key {{key}}", secrets={"key": "crm-api-key"})
    assert building.advance(created(acme, node)).status == "completed"
    assert text_of(acme, "a.md") == "key [REDACTED:crm-api-key]"


def test_a_node_lists_what_its_run_sees() -> None:
    acme = building.scope()
    put(acme, "a/1.md", "x")
    run = run_operations.create_run(acme, RunRequest("conformance-noop"), now=timezone.now())
    put(acme, "a/2.md", "later")
    files = NodeFiles(runs.find(run.tenant_id, run.id), "node", timezone.now())
    files.write("a/3.md", "own")
    files.write("b.md", "own")
    assert files.list("a/") == [{"path": "a/1.md", "version": 1}, {"path": "a/3.md", "version": 1}]
    assert len(files.list()) == 3
    with pytest.raises(Invalid):
        files.read("../a")


def test_a_tenant_without_files_pays_one_query_for_the_snapshot_of_a_run() -> None:
    acme = building.scope()
    with CaptureQueriesContext(connection) as asked:
        assert workspace.snapshot(acme) == []
    assert len(asked) == 1


# --- forgetting -----------------------------------------------------------------------------------------------------


def forget(owner: TenantScope, *names: str, tick: bool = False) -> ForgetRequest:
    found = execution.preview(owner, list(names), now=timezone.now())
    suspected = {row.hex for holding in found.holdings for row in holding.suspected} if tick else set()
    confirmed = execution.confirm(
        owner, found.request.id, typed=names[0], reason="ticket 17", ticked=suspected, now=timezone.now()
    )
    done = execution.execute(owner.tenant_id, confirmed.id, holder="test/1", now=timezone.now(), clock=timezone.now)
    assert done is not None
    return done


def test_a_forgotten_subject_is_in_no_version_and_the_versions_stay() -> None:
    acme = building.scope()
    for text in (f"write to {MARTA}.", "nothing", f"again {MARTA.upper()}", f"x{MARTA}"):
        put(acme, "people.md", text)
    tags = {row.version: row.etag for row in workspace.versions_of(acme, "people.md")}
    events = list(RunEvent.objects.of(acme.tenant_id).filter(type="workspace.updated").values_list("payload"))
    done = forget(acme, MARTA)
    assert done.state == "forgotten"
    assert done.receipt["stores"]["workspace files"]["erased"] == 2
    texts = ["[FORGOTTEN]", "nothing", "[FORGOTTEN]", f"x{MARTA}"]
    assert [text_of(acme, "people.md", number) for number in (1, 2, 3, 4)] == texts
    changed = {row.version for row in workspace.versions_of(acme, "people.md") if row.etag != tags[row.version]}
    assert changed == {1, 3}
    assert workspace.read_file(acme, "people.md", version=1).size == len("[FORGOTTEN]")
    assert list(RunEvent.objects.of(acme.tenant_id).filter(type="workspace.updated").values_list("payload")) == events


@pytest.mark.engines
def test_a_search_for_a_subject_goes_on_to_the_last_file_however_few_are_read_at_a_time() -> None:
    acme, files, marta = building.scope(), Declared(WorkspaceFile), Identifiers((MARTA,))
    files.at_once = 2
    for number in range(4):
        put(acme, f"{number}.md", f"write to {MARTA}")
    found = files.find(acme.tenant_id, marta)
    assert len(found.erase) == 4
    put(acme, "4.md", "nothing")
    assert files.is_as_found(acme.tenant_id, marta, found.looked)
    put(acme, "5.md", f"write to {MARTA}")
    assert not files.is_as_found(acme.tenant_id, marta, found.looked)
    assert len(files.find(acme.tenant_id, marta).erase) == 5


def test_a_suspected_version_goes_when_it_is_ticked() -> None:
    acme = building.scope()
    put(acme, "people.md", f"x{MARTA}")
    assert forget(acme, MARTA, tick=True).state == "forgotten"
    assert text_of(acme, "people.md") == "[FORGOTTEN]"


@pytest.mark.engines
def test_a_file_whose_path_names_the_subject_goes_and_what_is_on_record_of_it_is_counted() -> None:
    acme = building.scope()
    put(acme, "people/kowalska/notes.md", "x")
    put(acme, "people/kowalska/notes.md", "y")
    put(acme, "people/other.md", "y")
    run = run_operations.create_run(acme, RunRequest("conformance-noop"), now=timezone.now())
    done = forget(acme, "Kowalska")
    assert done.state == "forgotten"
    assert [row.path for row in workspace.list_files(acme)] == ["people/other.md"]
    stores = done.receipt["stores"]
    assert stores["names on the event log"]["stays"] == 2
    assert stores["names on the audit log"]["stays"] == 2
    assert [noted["path"] for noted in runs.find(run.tenant_id, run.id).workspace] == ["[FORGOTTEN]", "people/other.md"]
    assert put(acme, "people/kowalska/notes.md", "new").version == 1


def test_a_file_whose_path_may_name_the_subject_stays_unless_it_is_ticked() -> None:
    acme = building.scope()
    put(acme, "kowalska.md", "x")
    undecided = forget(acme, "Kowalska")
    assert (undecided.state, undecided.receipt["stores"]["workspace files"]["undecided"]) == ("forgotten", 1)
    assert text_of(acme, "kowalska.md") == "x"
    assert forget(acme, "Kowalska", tick=True).state == "forgotten"
    assert workspace.list_files(acme) == []


# --- several at once ------------------------------------------------------------------------------------------------


@pytest.mark.engines
@pytest.mark.django_db(transaction=True)
def test_writers_at_once_take_one_number_each() -> None:
    acme = building.scope()
    written = at_once(lambda number: put(acme, "a.md", f"text {number}").version, 16)
    assert sorted(written) == list(range(1, 17))
    assert [row.version for row in workspace.versions_of(acme, "a.md") if row.current] == [16]
    assert [fact["version"] for fact in facts(event_log.read_tenant_log(acme.tenant_id))] == list(range(1, 17))


@pytest.mark.engines
@pytest.mark.django_db(transaction=True)
def test_of_writers_at_once_who_have_seen_the_same_version_one_wins() -> None:
    acme = building.scope()
    seen = Precondition(if_match=put(acme, "a.md", "one").etag)

    def act(number: int) -> int:
        try:
            return put(acme, "a.md", f"text {number}", expected=seen).version
        except WorkspaceConflict as conflict:
            return -int(conflict.details["currentVersion"])

    assert sorted(at_once(act, 8)) == [-2] * 7 + [2]


@pytest.mark.engines
@pytest.mark.django_db(transaction=True)
def test_new_files_at_once_never_pass_the_most_there_may_be(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workspace, "MAX_FILES", 3)
    acme = building.scope()

    def act(number: int) -> bool:
        try:
            put(acme, f"{number}.md", "x")
        except WorkspaceTooLarge:
            return False
        return True

    assert sum(at_once(act, 8)) == 3


@pytest.mark.engines
@pytest.mark.django_db(transaction=True)
def test_runs_and_people_write_one_file_at_once() -> None:
    acme = building.scope()
    open_runs = [building.open_run(acme) for _ in range(4)]

    def act(number: int) -> int:
        if number % 2:
            run = open_runs[number // 2]
            return put(tenancy.run_scope(run), "a.md", "of a run", run=run, node_id="node").version
        return put(acme, "a.md", "of a person").version

    assert sorted(at_once(act, 8)) == list(range(1, 9))


def test_the_time_of_a_write_is_the_caller_s() -> None:
    acme, at = building.scope(), timezone.now() - timedelta(hours=1)
    assert workspace.read_file(acme, put(acme, "a.md", "x", now=at).path).updated_at == at
