"""Memory as a file: exported here, imported there with the same ids; and from other stores."""

import hashlib
import json
from datetime import UTC, datetime, timedelta
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from django.db.migrations.loader import MigrationLoader
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from memory import adapter, entry_files, external_runs, ledger, ledger_search, provenance, retention_sweep
from memory.addresses import Address, Tier
from memory.entry_drafts import EntryDraft
from memory.entry_files import FileForm
from memory.host import audit, event_log, ids, runs, vault
from memory.host.models import Run
from memory.host.models.run import IMPORT
from memory.host.tenancy import TenantScope
from memory.ledger.addressed import NewAddressedEntry
from memory.ledger.entries import AddressedValue
from memory.ledger_search import LedgerFilter
from memory.models import Agent
from memory.models.address import EntryAddress
from memory.models.entry import MemoryEntry
from memory.openintent import entries
from memory.openintent.access import Caller
from memory.origins import Origin
from openwop_console.management.commands import import_memory
from tests import building
from tests.faces.test_origins import forget

pytestmark = pytest.mark.django_db
MENDING = "0029_imported_entries_on_the_log_of_their_agent"


@pytest.fixture(autouse=True)
def tenants() -> None:
    building.tenant("acme")
    building.tenant("globex")


def run_import(capsys: pytest.CaptureFixture[str], file: Path, *words: str, tenant: str = "globex") -> list[str]:
    """The report, a line for each line of the file."""
    capsys.readouterr()
    call_command("import_memory", str(file), "--tenant", tenant, *words)
    return capsys.readouterr().out.splitlines()


def export(capsys: pytest.CaptureFixture[str], tenant: str = "acme") -> str:
    capsys.readouterr()
    call_command("export_memory", "--tenant", tenant)
    return str(capsys.readouterr().out)


def stored(slug: str) -> list[tuple[Any, ...]]:
    columns = ("id", "memory_ref", "content", "tags", "subject", "agent_id", "created_at", "expires_at", "search_text")
    return list(MemoryEntry.objects.of(building.tenant(slug).id).order_by("position").values_list(*columns))


THEN = datetime(2025, 1, 1, tzinfo=UTC)


def line(number: int, **more: Any) -> str:
    said = {
        "id": ids.wire("mem", ids.new_id()),
        "memoryRef": "notes",
        "content": f"entry {number}",
        "createdAt": timezone.now().isoformat(),
    }
    return json.dumps(said | more)


@pytest.mark.engines
def test_what_was_exported_is_imported_elsewhere_with_the_same_ids(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    acme = building.scope()
    run = building.open_run(acme)
    for number in range(3):
        building.write(acme, run, f"Ça va {number}?", tags=("crm", "ü"), subject="Ana", agent_id="acme.bot")
    gone = building.write(acme, run, "retired")
    ledger.retirement.retire_entry(building.scope(), gone.id, reason="", now=timezone.now())
    (tmp_path / "memory").write_text(export(capsys))
    assert len(run_import(capsys, tmp_path / "memory")) == 3
    expected = [row for row in stored("acme") if row[0] != gone.id]
    assert stored("globex") == expected
    assert export(capsys, "globex") == (tmp_path / "memory").read_text()
    actions = audit.list_filter_choices(building.tenant("globex").id).actions
    assert {"memory.imported", "memory.exported"} <= set(actions)


@pytest.mark.engines
def test_entries_with_addresses_are_exported_too_but_no_sealed_value(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    acme, now = building.scope(), timezone.now()
    run = building.open_run(acme)
    places = [
        Address(Tier.SEMANTIC, "bot", "facts", "k1", priority="high", created_by="bot"),
        Address(Tier.EPISODIC, "bot", "facts", "k2", pinned=True),
        Address(Tier.WORKING, "bot", "facts", "k3", task_id="t-1"),
        Address(Tier.EPISODIC, "bot", "facts", "secret", sensitivity="restricted"),
    ]
    new = [NewAddressedEntry(AddressedValue(place, {"n": 1, "say": "ü"}, ("t",)), run.id, "node") for place in places]
    ledger.addressed.write_addressed(acme, new, actor="bot", now=now)
    (tmp_path / "memory").write_text(export(capsys))
    assert len(run_import(capsys, tmp_path / "memory")) == 3
    assert stored("globex") == [row for row in stored("acme") if "sealed" not in row[2]]
    columns = (
        "id",
        "tier",
        "agent_id",
        "namespace",
        "key",
        "task_id",
        "pinned",
        "priority",
        "created_by",
        "updated_at",
    )
    rows = [
        list(
            EntryAddress.objects.of(building.tenant(slug).id).exclude(key="secret").order_by("id").values_list(*columns)
        )
        for slug in ("acme", "globex")
    ]
    assert rows[0] == rows[1]
    assert export(capsys, "globex") == (tmp_path / "memory").read_text()


@pytest.mark.parametrize(
    "earlier",
    [False, pytest.param(True, marks=pytest.mark.engines)],
    ids=["imported now", "imported by an earlier release"],
)
def test_an_imported_entry_with_an_address_can_be_changed_deleted_expired_and_forgotten(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], earlier: bool
) -> None:
    globex, now = building.scope("globex"), timezone.now()
    ends = {"updated": "", "deleted": "", "expired": "PT1H", "forgotten": ""}
    lines = []
    for key, ttl in ends.items():
        address = {"tier": "episodic", "agent_id": "bot", "created_by": "bot", "namespace": "facts", "key": key}
        said = {"value": {"to": "ana@x.org" if key == "forgotten" else "nobody"}, "origin": {"system": "elsewhere"}}
        expiry = {"expiresAt": (now + timedelta(hours=1)).isoformat()} if ttl else {}
        lines.append(line(0, memoryRef="", address={**address, "ttl": ttl}, **said, **expiry))
    (tmp_path / "memory").write_text("\n".join(lines))
    assert len(run_import(capsys, tmp_path / "memory")) == len(ends)
    if earlier:
        begun = _log_of_agent(globex, "bot")
        _as_before_decision_134(globex)
        migrated = import_module(f"memory.migrations.{MENDING}")
        migrated.move(MigrationLoader(connection).project_state(("memory", MENDING)).apps, None)
        assert _log_of_agent(globex, "bot") == begun, "of an agent that was not here yet"
    bot, ids_of = Caller(globex, "bot"), {row.key: row.id for row in EntryAddress.objects.of(globex.tenant_id)}
    changed = entries.update(bot, ids_of["updated"], 1, {"value": {"n": 2}}, now=now)
    assert changed.version == 2
    entries.delete(bot, ids_of["deleted"], None, now=now)
    assert retention_sweep.sweep(now=now + timedelta(hours=2)) == 1
    assert forget("globex", "ana@x.org").state == "forgotten"
    left = EntryAddress.objects.of(globex.tenant_id).values_list("key", flat=True)
    assert list(left) == ["updated"]


def _log_of_agent(scope: TenantScope, name: str) -> list[tuple[Any, ...]]:
    """How the log of the agent begins, and its run."""
    run = Run.objects.of(scope.tenant_id).get(agent_id=name, id__in=Agent.objects.values("run_id"))
    columns = (run.status, run.system, run.principal, run.definition_id, run.snapshot_position, run.workflow_id)
    [first, *_] = event_log.read(scope.tenant_id, run.id)
    return [columns, (first.sequence, first.type, first.payload)]


def _as_before_decision_134(scope: TenantScope) -> None:
    """Every entry on the log of its import, and its agent unknown."""
    run = Run.objects.of(scope.tenant_id).get(workflow_id=IMPORT)
    MemoryEntry.objects.written_by(MemoryEntry.writer).filter(tenant_id=scope.tenant_id).update(run_id=run.id)
    Agent.objects.written_by(Agent.writer).filter(tenant_id=scope.tenant_id).delete()


@pytest.mark.engines
def test_lines_of_many_refs_cost_no_more_statements_than_those_of_one() -> None:
    """A store of LangGraph has a prefix for each user."""
    globex, counts = building.scope("globex"), []
    run = building.open_run(globex)
    for refs in (1, 40):
        lines = [(n, line(n, memoryRef=f"users/{refs}/{n % refs}").encode()) for n in range(40)]
        with CaptureQueriesContext(connection) as asked:
            results = entry_files.import_lines(globex, run, lines, FileForm(), now=timezone.now())
        assert {each.outcome for each in results} == {"stored"}
        counts.append(len(asked))
    assert counts[1] <= counts[0]
    assert [row[2] for row in stored("globex")] == 2 * [f"entry {n}" for n in range(40)], "in the order of the file"


@pytest.mark.engines
def test_an_import_that_broke_off_is_begun_again(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    globex, lines = building.scope("globex"), [line(number) for number in range(4)]
    now = timezone.now()
    file = tmp_path / "memory"
    file.write_text("\n".join([*lines, lines[0]]))
    digest = hashlib.sha256(file.read_bytes()).hexdigest()
    broken_off = entry_files.begin_import(globex, digest, now=now)
    read = [entry_files.read_line(each.encode(), FileForm("jsonl"), now=now) for each in lines[:2]]
    assert entry_files.import_entries(globex, broken_off, read, now=now) == ["stored", "stored"]
    ledger.erase.remove_entries(globex.tenant_id, [read[0].entry.entry_id], reason="forgotten", now=now)
    outcomes = [
        "was here and is gone (forgotten)",
        "already here",
        "stored",
        "stored",
        "was here and is gone (forgotten)",
    ]
    assert run_import(capsys, file) == [f"{number}: {each}" for number, each in enumerate(outcomes, 1)]
    assert [row[2] for row in stored("globex")] == ["entry 1", "entry 2", "entry 3"]
    run_ids = set(MemoryEntry.objects.of(globex.tenant_id).values_list("run_id", flat=True))
    assert run_ids == {broken_off.id}
    assert runs.find(globex.tenant_id, broken_off.id).status == "completed"
    assert run_import(capsys, file)[1:] == [
        "2: already here",
        "3: already here",
        "4: already here",
        "5: " + outcomes[0],
    ]


def test_an_import_that_broke_off_and_is_not_begun_again_ends_when_it_was_long_silent() -> None:
    """The file may have changed since, and then no import goes on with that run."""
    now, globex = timezone.now(), building.scope("globex", "owner")
    broken_off = entry_files.begin_import(globex, "0" * 64, now=now)
    assert entry_files.end_interrupted(now=now + external_runs.silence() / 2) == 0
    assert runs.find(globex.tenant_id, broken_off.id).status == "running"
    assert entry_files.end_interrupted(now=now + external_runs.silence()) == 1
    assert runs.find(globex.tenant_id, broken_off.id).status == "cancelled"
    last = event_log.read(globex.tenant_id, broken_off.id)[-1]
    assert (last.type, last.payload["cancelledBy"]) == ("run.cancelled", "host")
    assert runs.find(globex.tenant_id, broken_off.id).cancelled_by == "host"
    line = json.dumps({"id": str(broken_off.id), "memory": "tea", "created_at": now.isoformat()}).encode()
    [late] = entry_files.import_lines(globex, broken_off, [(1, line)], FileForm("mem0", "mem0"), now=now)
    assert late.outcome == "refused"
    assert "This import was ended" in late.reason
    assert entry_files.begin_import(globex, "0" * 64, now=now).id != broken_off.id


def test_a_dry_run_says_of_lines_with_one_id_or_address_what_the_import_says(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(import_memory, "AT_ONCE", 4)
    place = {"tier": "semantic", "agent_id": "scout", "namespace": "n", "key": "k"}
    addressed = [line(number, address=place, value={"n": number}) for number in range(2)]
    once = line(2)
    file = tmp_path / "memory"
    file.write_text("\n".join([once, addressed[0], "no entry", addressed[1], once, line(3), addressed[1]]))
    reports = []
    for words in (["--dry-run"], []):
        capsys.readouterr()
        with pytest.raises(CommandError, match="3 lines of"):
            call_command("import_memory", str(file), "--tenant", "globex", *words)
        reports.append(capsys.readouterr().out)
    assert reports[0].replace("would be stored", "stored") == reports[1]
    assert reports[1].count(": stored") == 3


@pytest.mark.engines
def test_every_line_that_is_no_entry_is_refused_by_itself(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bad = [
        "not json",
        "[]",
        "[" * 10_000 + "]" * 10_000,
        line(1, id="mem_1"),
        line(1, id=f"mem_{'f' * 32}"),  # would stand before every newer one
        line(1, content=""),
        line(1, content="a\0b"),
        line(1, memoryRef=""),
        line(1, memoryRef="../x"),
        line(1, memoryRef="openintent/semantic/x"),
        line(1, memoryRef="tenant/acme/x"),
        line(1, createdAt="2999-01-01T00:00:00Z"),
        line(1, expiresAt="2001-01-01T00:00:00Z"),
        line(1, tags=["x" * 300]),
        line(1, value={}, address={"tier": "episodic", "agent_id": "a", "namespace": "n", "key": "k" * 300}),
        line(1, value={}, address={"tier": "semantic", "agent_id": "a", "namespace": "..", "key": "k"}),
    ]
    file = tmp_path / "memory"
    file.write_text("\n".join([line(0), *bad, line(2)]))
    for words, outcome, expected in ((["--dry-run"], "would be stored", 0), ([], "stored", 2)):
        with pytest.raises(CommandError, match="16 lines"):
            run_import(capsys, file, *words)
        told = capsys.readouterr().out.splitlines()
        assert (told[0], told[-1]) == (f"1: {outcome}", f"18: {outcome}")
        assert all(": refused: " in each for each in told[1:-1]), told
        assert len(stored("globex")) == expected


@pytest.mark.engines
def test_a_refused_line_says_why_and_repeats_nothing_of_itself(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    reasons = {
        b"x" * (entry_files.LONGEST + 10): "has more than 1,000,000 bytes",
        b'{"content": "\xff"}': "is not UTF-8 from its byte 14 on",
        b'{"a\0": 1}': "it holds a NUL",
        b'{"a": 1,}': "is not JSON: ",
        b"7": "is not a JSON object",
        line(1, createdAt="yesterday").encode(): "createdAt is not a time",
        line(1, createdAt="2999-01-01T00:00:00Z").encode(): "createdAt is in the future",
        b'{"id": "%s", "createdAt": "2025-01-01"}'
        % ids.wire("mem", ids.new_id_at(THEN)).encode(): "content is missing",
        b'{"id": "%s", "createdAt": "2025-01-01"}' % ids.wire("mem", ids.new_id()).encode(): "id is of another time",
        line(1, tags="hunter2").encode(): "tags is not a list of texts",
        line(1, content="").encode(): "content is empty",
    }
    (tmp_path / "memory").write_bytes(b"\n\n" + b"\r\n \n".join(reasons))
    with pytest.raises(CommandError, match="11 lines"):
        run_import(capsys, tmp_path / "memory")
    told = capsys.readouterr().out.splitlines()
    for place, (said, reason) in enumerate(zip(told, reasons.values(), strict=True)):
        assert said.startswith(f"{3 + 2 * place}: refused: "), "blank lines count, as in an editor"
        assert reason in said
    assert "hunter2" not in str(told)


@pytest.mark.engines
def test_entries_of_other_stores_go_to_the_ref_and_the_agent_that_are_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    at = "2025-01-02T03:04:05Z"
    mem0: dict[str, Any] = {"id": "1", "memory": "Likes tea", "created_at": at}
    item: dict[str, Any] = {"prefix": "users.ana", "key": "k", "value": {"a": 1}, "created_at": at}
    wanted = ("--memory-ref", "crm/notes", "--agent", "acme.bot")
    for form, said in (("mem0", mem0), ("langgraph", item)):
        (tmp_path / form).write_text(json.dumps(said))
        assert entry_files.detect_form([b"{", json.dumps(said).encode()]) == form
        assert run_import(capsys, tmp_path / form, "--format", form, *wanted) == ["1: stored"]
        assert run_import(capsys, tmp_path / form, "--format", form) == ["1: already here"], "it keeps its id"
    assert [(row[1], row[5]) for row in stored("globex")] == [
        ("crm/notes", "acme.bot"),
        ("crm/notes/users/ana", "acme.bot"),
    ]
    assert entry_files.detect_form([line(1).encode()]) == "jsonl"
    for ref, agent in (("openintent/semantic/x", ""), ("../x", ""), ("tenant/acme/x", ""), ("", "a\nb")):
        with pytest.raises(CommandError, match="Nothing can be imported this way"):
            run_import(capsys, tmp_path / "mem0", "--memory-ref", ref, "--agent", agent)


@pytest.mark.engines
def test_an_import_holds_no_secret_of_the_tenant(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    vault.store_secret(building.tenant("globex").id, "crm", "tok-93fb0c1d7e", now=timezone.now())
    (tmp_path / "memory").write_text(
        "\n".join([line(1), line(2, content="it is tok-93fb0c1d7e", tags=["tok-93fb0c1d7e"])])
    )
    assert run_import(capsys, tmp_path / "memory") == ["1: stored", "2: stored"]
    (tmp_path / "named").write_text(line(3, agentId="tok-93fb0c1d7e"))
    with pytest.raises(CommandError, match="1 lines"):
        run_import(capsys, tmp_path / "named")
    assert [row[2] for row in stored("globex")] == ["entry 1", "it is [REDACTED:crm]"]
    assert "tok-93" not in str(stored("globex"))


@pytest.mark.engines
def test_memories_of_other_stores_keep_one_id_however_often_they_come(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    mem0 = {
        "id": "3f1c2f9e-0f4e-4a3e-9c52-6f1f6f1c8a11",
        "memory": "Likes tea",
        "user_id": "ana",
        "metadata": None,
        "created_at": "2025-01-02T03:04:05-08:00",
    }
    item = {"prefix": ["users", "ana"], "key": "k", "value": {"b": 1, "a": "x"}, "created_at": "2025-01-02T03:04:05"}
    for form, said, expected in (
        ("mem0", mem0, ("mem0", "Likes tea", [], "ana")),
        ("langgraph", item, ("langgraph/users/ana", '{"a":"x","b":1}', ["k"], "")),
    ):
        (tmp_path / form).write_text(json.dumps(said))
        assert run_import(capsys, tmp_path / form, "--format", form) == ["1: stored"]
        assert run_import(capsys, tmp_path / form, "--format", form) == ["1: already here"]
        assert stored("globex")[-1][1:5] == expected
        assert stored("globex")[-1][6].isoformat().startswith("2025-01-02T")


@pytest.mark.engines
def test_a_line_of_another_store_that_is_no_memory_is_refused_by_itself(tmp_path: Path, capsys: Any) -> None:
    mem0: dict[str, Any] = {"id": "1", "memory": "Likes tea", "created_at": "2025-01-02T03:04:05Z"}
    item: dict[str, Any] = {
        "prefix": "users.ana",
        "key": "k",
        "value": {"a": 1},
        "created_at": "2025-01-02T03:04:05Z",
        "updated_at": "2025-02-02T03:04:05Z",
    }
    cases: list[tuple[str, dict[str, Any], list[dict[str, Any]]]] = [
        ("mem0", mem0, [{"memory": 7}, {"memory": ""}, {"created_at": "soon"}, {"id": None}, {"categories": [1]}]),
        ("langgraph", item, [{"prefix": None}, {"prefix": [".."]}, {"key": 1}, {"value": "x"}, {"created_at": None}]),
    ]
    for form, good, changes in cases:
        named = "id" if form == "mem0" else "key"
        lines = [good | {named: str(number)} | change for number, change in enumerate([{}, *changes])]
        (tmp_path / form).write_text("\n".join(map(json.dumps, lines)))
        for words, outcome, kept in ((["--dry-run"], "would be stored", False), ([], "stored", True)):
            with pytest.raises(CommandError, match="5 lines"):
                run_import(capsys, tmp_path / form, "--format", form, *words)
            first, *rest = capsys.readouterr().out.splitlines()
            assert first == f"1: {outcome}"
            assert all(": refused: " in each for each in rest), rest
            assert any(row[1].startswith(form) for row in stored("globex")) == kept


ORIGIN = Origin("langgraph", "run-7", "t-1", "cp-3", "plan", 3, f"00-{'1' * 32}-{'2' * 16}-01", ("doc-1",), "task-9")


@pytest.mark.engines
def test_what_was_stated_of_an_entry_is_exported_and_stays_stated_elsewhere(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    acme, now = building.scope(), timezone.now()
    said = external_runs.write_entry(acme, "notes", EntryDraft("a"), ORIGIN, now=now)
    plain = external_runs.write_entry(acme, "notes", EntryDraft("b"), None, now=now)
    place = Address(Tier.EPISODIC, "bot", "facts", "k", created_by="bot")
    kept = entries.create(Caller(acme, "bot"), AddressedValue(place, {"n": 1}), origin=ORIGIN, now=now)
    (tmp_path / "memory").write_text(export(capsys))
    lines = [json.loads(each) for each in (tmp_path / "memory").read_text().splitlines()]
    assert [each.get("origin") for each in lines] == [ORIGIN.document, None, ORIGIN.document]
    assert run_import(capsys, tmp_path / "memory") == ["1: stored", "2: stored", "3: stored"]
    assert run_import(capsys, tmp_path / "memory") == ["1: already here", "2: already here", "3: already here"]
    assert sorted(export(capsys, "globex").splitlines()) == sorted((tmp_path / "memory").read_text().splitlines())
    globex = building.scope("globex")
    for entry_id, origin, verdict in (
        (said.id, ORIGIN, "stated"),
        (plain.id, None, "host"),
        (kept.id, ORIGIN, "stated"),
    ):
        found = adapter.console.find_entry(globex, entry_id, now=timezone.now())
        assert found
        told = provenance.provenance_of_entry(globex, found)
        assert (told.verdict, told.origin, len(told.writes)) == (verdict, origin, 1)
    listed = ledger_search.ledger_page(globex, LedgerFilter(thread="t-1"), now=timezone.now()).entries
    assert [(row.id, row.origin) for row in listed] == [(kept.id, ORIGIN), (said.id, ORIGIN)]


@pytest.mark.engines
def test_an_origin_that_is_none_is_refused_by_its_field_and_one_with_a_secret_is_redacted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    vault.store_secret(building.tenant("globex").id, "crm", "tok-93fb0c1d7e", now=timezone.now())
    origin = {"system": "x", "node": "tok-93fb0c1d7e"}
    (tmp_path / "memory").write_text("\n".join([line(1, origin={"system": "x", "node": 7}), line(2, origin=origin)]))
    with pytest.raises(CommandError, match="1 lines"):
        run_import(capsys, tmp_path / "memory")
    report = capsys.readouterr().out.splitlines()
    assert report[0].startswith("1: refused: The origin of the memory entry is not valid. (origin.node")
    assert report[1] == "2: stored"
    assert json.loads(export(capsys, "globex"))["origin"] == {"system": "x", "node": "[REDACTED:crm]"}


def test_a_forgotten_person_is_gone_from_the_origin_of_an_import(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "memory").write_text(line(1, origin={"system": "x", "threadId": "ana@acme.example"}))
    run_import(capsys, tmp_path / "memory")
    forget("globex", "ana@acme.example")
    assert "ana@acme.example" not in export(capsys, "globex")
