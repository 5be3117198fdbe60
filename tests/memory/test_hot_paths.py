"""SQL by hand: it stores and answers what the ORM would, uses the indexes, and is heard by those who listen."""

import hashlib
import json
from collections.abc import Callable
from contextlib import nullcontext, suppress
from copy import copy
from datetime import timedelta
from importlib import import_module
from typing import Any
from uuid import UUID

import pytest
from django.apps import apps
from django.core.exceptions import FieldDoesNotExist
from django.db import DatabaseError, IntegrityError, connection, transaction
from django.db.models import F, Model, Q, Value
from django.db.models.functions import Lower
from django.db.transaction import TransactionManagementError
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries

from memory import adapter, ledger, ledger_search
from memory.adapter.runs import RunView
from memory.addresses import Address, Tier
from memory.host import audit, event_log, ids, runs, sql, vault
from memory.host.audit import AuditFilter
from memory.host.errors import Forbidden, NotFound, StreamClosed
from memory.host.models import Installation, Run, RunEvent, RunStatus, Stream, Tenant, base
from memory.host.tenancy import TenantScope
from memory.ledger.entries import SAME_SECRETS, AddressedValue, versions_text
from memory.ledger_search import LedgerFilter
from memory.models.address import EntryAddress
from memory.models.entry import EntryTag, LedgerHead, MemoryEntry
from memory.openintent import entries
from memory.openintent.access import Caller
from memory.text import redactor, token_budget
from openwop_console.runtime import run_operations, steps
from openwop_console.runtime.models import Step
from openwop_console.runtime.run_operations import RunRequest
from tests import building
from tools.bench import ground

pytestmark = [pytest.mark.django_db, pytest.mark.engines]
HOUR = timedelta(hours=1)


def test_what_the_ledger_stores_is_what_the_orm_reads() -> None:
    acme = building.scope()
    run = building.open_run(acme)
    now = timezone.now()
    draft: dict[str, Any] = {
        "tags": ("crm", "ü"),
        "subject": "Ana",
        "agent_id": "acme.bot",
        "expires_at": now + timedelta(hours=1),
    }
    written = building.write(acme, run, "Ça va %s?", now=now, **draft)
    row = MemoryEntry.objects.of(acme.tenant_id).get()
    assert (row.id, row.run_id, row.position, row.memory_ref) == (written.id, run.id, written.position, "notes")
    assert (row.content, row.tags, row.subject) == ("Ça va %s?", ["crm", "ü"], "Ana")
    assert (row.agent_id, row.node_id, row.redactions, row.secret_shapes) == ("acme.bot", "node", 0, 0)
    assert (row.created_at, row.expires_at) == (now, now + timedelta(hours=1))
    assert (row.retired_at, row.retired_reason) == (None, "")
    assert (row.tokens, row.search_text) == (token_budget.count("Ça va %s?"), "ça va %s? crm ü ana notes")
    assert row.sha256 == hashlib.sha256("Ça va %s?".encode()).hexdigest()
    assert set(EntryTag.objects.of(acme.tenant_id).values_list("id", "tag")) == {(row.id, "crm"), (row.id, "ü")}


def test_every_write_moves_the_head_and_the_stream_by_one() -> None:
    acme = building.scope()
    run = building.open_run(acme)
    before = event_log.length(acme.tenant_id, run.id)
    positions = [building.write(acme, run, f"entry {number}").position for number in range(3)]
    head = LedgerHead.objects.of(acme.tenant_id).get()
    assert positions == [1, 2, 3]
    assert (head.position, head.entries, head.retired) == (3, 3, 0)
    assert Stream.objects.of(acme.tenant_id).get(id=run.id).next_sequence == before + 3
    assert [event.sequence for event in event_log.read(acme.tenant_id, run.id)] == list(range(before + 3))


def test_the_event_log_answers_what_the_orm_would() -> None:
    acme = building.scope()
    run = building.open_run(acme)
    for number in range(3):
        building.write(acme, run, f"entry {number}", tags=("ü",), node_id=None if number else "node")
    rows = RunEvent.objects.of(acme.tenant_id).filter(stream_id=run.id).order_by("sequence")
    expected = [(e.id, e.stream_id, e.sequence, e.type, e.node_id, e.timestamp, e.payload) for e in rows]
    read = event_log.read(acme.tenant_id, run.id)
    found = [(e.event_id, e.run_id, e.sequence, e.type, e.node_id, e.timestamp, e.payload) for e in read]
    assert found == expected
    assert event_log.read(acme.tenant_id, run.id, after=1, limit=2) == read[2:4]
    assert event_log.read(building.scope("globex").tenant_id, run.id) == []
    assert list(rows.filter(type="memory.written").values_list("subject_id", flat=True)) == list(
        MemoryEntry.objects.of(acme.tenant_id).order_by("id").values_list("id", flat=True)
    )


def fields_of(row: Model) -> dict[str, Any]:
    """What the object holds, with what stands in the objects that were read with it."""
    own = {name: value for name, value in vars(row).items() if name != "_state"}
    return own | {name: fields_of(other) for name, other in row._state.fields_cache.items()}


def test_what_is_read_of_a_run_is_what_the_orm_would_read() -> None:
    acme = building.scope()
    building.install("acme", building.definition("two", building.remember_node("a"), building.node("end", "core.noop")))
    run = building.execute(acme, "two")
    rows = Run.objects.of(acme.tenant_id).filter(id=run.id).select_related("tenant", "definition")
    ended = Step.objects.of(acme.tenant_id).filter(run_id=run.id).order_by("id")
    assert len(ended) == 2
    for _ in range(2):  # the first time it is written, and then asked again
        assert fields_of(runs.find(acme.tenant_id, run.id)) == fields_of(rows.get())
        assert fields_of(runs.locked(acme.tenant_id, run.id)) == fields_of(rows.get())
        found = steps.steps_of_run(acme.tenant_id, run.id)
        assert [fields_of(step) for step in found.values()] == [fields_of(step) for step in ended]
        assert list(found) == [step.node_id for step in ended]
    with pytest.raises(NotFound):
        runs.find(building.scope("globex").tenant_id, run.id)


def test_a_row_that_is_written_by_a_kept_statement_is_the_one_that_the_orm_would_write() -> None:
    acme = building.scope()
    run = building.open_run(acme)
    run.variables, run.tags, run.error = {"ü": [1, None, {"a": "b"}]}, ["x"], None
    run.started_at, run.ready_at, run.executions, run.draining = timezone.now(), None, 3, True
    names = ["variables", "tags", "error", "started_at", "ready_at", "executions", "draining"]
    rows = Run.objects.of(acme.tenant_id).filter(id=run.id)
    Model.save(run, update_fields=names)
    expected = rows.values().get()
    rows.written_by(runs.WRITER).update(variables={}, tags=[], started_at=None, executions=0, draining=False)
    for _ in range(2):  # the first time it is made, and then kept
        run.save(by=runs.WRITER, update_fields=names)
        assert rows.values().get() == expected

    fresh = Installation(tenant=acme_row(acme), ref="a@1", kind="agent", name="a", version="1", text="{}", sha256="0")
    fresh.installed_at, fresh.installed_by, fresh.source = timezone.now(), "host", Lower(Value("HOST"))
    assert not base.write_row(fresh, force_insert=True), "an expression is left to the ORM"
    fresh.source = "host"
    by_hand, by_orm = copy(fresh), copy(fresh)
    by_hand.id, by_orm.id, by_orm.ref, by_orm.name = ids.new_id(), ids.new_id(), "b@1", "b"
    by_hand.insert(by=fresh.writer)
    Model.save(by_orm, force_insert=True)
    assert not by_hand._state.adding
    first, second = Installation.objects.of(acme.tenant_id).order_by("id").values_list()
    assert len({first, second}) == 2
    own = {by_hand.id, by_hand.ref, by_hand.name, by_orm.id, by_orm.ref, by_orm.name}
    assert [each for each in first if each not in own] == [each for each in second if each not in own]


def acme_row(scope: TenantScope) -> Tenant:
    return Tenant.objects.get(id=scope.tenant_id)


def test_a_row_that_is_not_there_is_not_changed_and_one_that_is_there_is_not_made_again() -> None:
    run = building.open_run(building.scope())
    run.id, kept = ids.new_id(), run.id
    with pytest.raises(DatabaseError, match="did not affect any rows"):
        run.save(by=runs.WRITER, update_fields=["holder"])
    run.id = kept
    with pytest.raises(IntegrityError), transaction.atomic():
        run.insert(by=runs.WRITER)
    unknown = ["holders"]
    with pytest.raises(FieldDoesNotExist):
        run.save(by=runs.WRITER, update_fields=unknown)
    with transaction.atomic():
        with pytest.raises(IntegrityError):
            run.insert(by=runs.WRITER)
        with pytest.raises(TransactionManagementError):
            Run.objects.count()
        transaction.set_rollback(True)


def test_a_run_is_claimed_as_any_other_lease() -> None:
    acme = building.scope()
    now = timezone.now()
    claimed = [run_operations.create_run(acme, RunRequest("conformance-noop"), now=now) for _ in range(2)]
    where, more = Q(ready_at__isnull=False), {"attempts": F("attempts") + 1}
    for at, expected in ((now - HOUR, False), (now, True), (now + timedelta(seconds=1), False), (now + HOUR, True)):
        one, other = claimed
        assert runs.claim(acme.tenant_id, one.id, holder="a/1", now=at) is expected
        assert runs.LEASE.claim(acme.tenant_id, other.id, holder="a/1", now=at, where=where, **more) is expected
        found = Run.objects.of(acme.tenant_id).values_list("holder", "ready_at", "attempts")
        assert len(set(found)) == 1
    runs.rest(runs.find(acme.tenant_id, one.id), RunStatus.PENDING, ready_at=None, now=now)
    assert not runs.claim(acme.tenant_id, one.id, holder="a/1", now=now + HOUR)


def queries_of(call: Callable[[], object]) -> int:
    """How many statements ``call`` sends, without those that begin and end transactions and their parts."""
    with CaptureQueriesContext(connection) as sent:
        call()
    beside = ("BEGIN", "COMMIT", "SAVEPOINT", "RELEASE")
    return len([each for each in sent.captured_queries if not each["sql"].startswith(beside)])


def test_a_run_of_one_node_is_carried_out_with_few_queries() -> None:
    acme = building.scope()
    building.execute(acme, "conformance-noop")
    wakes = connection.vendor == "postgresql"
    order = RunRequest("conformance-noop")
    made: list[Run] = []
    created = queries_of(lambda: made.append(run_operations.create_run(acme, order, now=timezone.now())))
    assert created == 5 + wakes  # secrets, workspace, stream, definition, run
    advanced = queries_of(lambda: building.advance(made[0])) - 1  # ``advance`` reads the run at its end
    assert advanced == (17 if wakes else 25), "PostgreSQL numbers and inserts an event in one statement"
    assert runs.find(acme.tenant_id, made[0].id).status == "completed"


LONG = 2_000


def test_a_step_reads_the_outputs_that_its_node_names_and_no_others(monkeypatch: pytest.MonkeyPatch) -> None:
    fill = {"v": {"type": "static", "value": "~" * 20}}
    nodes = [
        building.node(f"n{at}", "vendor.console.compose", {"text": "{{v}}" * (LONG // 20)}, inputs=fill)
        for at in range(12)
    ]
    ports = {
        "one": {"type": "connection", "nodeId": "n1", "outputKey": "text"},
        "two": {"type": "expression", "expression": "[length(nodes.n2.text), length(nodes.n3.text)]"},
        "all": {"type": "expression", "expression": "length(values(nodes))"},
    }
    for name, port in ports.items():
        nodes.append(building.node(name, "core.noop", inputs={name: port}))
    document = building.definition("long", *nodes)
    document["edges"][5]["condition"] = {"type": "expression", "expression": "outputs.text"}
    acme = building.scope()
    building.install("acme", document)
    read, loads = [], json.loads

    def counted(text: Any, **options: Any) -> Any:
        if text.count("~") >= LONG:
            read.append(text.count("~"))
        return loads(text, **options)

    monkeypatch.setattr(json, "loads", counted)
    run = building.execute(acme, "long")
    monkeypatch.undo()
    found = steps.steps_of_run(acme.tenant_id, run.id)
    assert run.status == "completed"
    assert [len(found["one"].outputs["one"]), found["two"].outputs["two"]] == [LONG, [LONG, LONG]]
    assert found["all"].outputs["all"] == 14
    assert read == [LONG] * (1 + 1 + 2 + 13), (
        "the condition, the port, the two of an expression, and those of all nodes"
    )


def test_the_events_of_a_run_are_read_with_four_queries(client: Client) -> None:
    run = building.execute(building.scope(), "conformance-noop")
    headers, path = building.headers(), f"/v1/runs/{ids.wire('run', run.id)}/events"
    assert queries_of(lambda: client.get(path, **headers)) == 4  # key, run, events, origins


def test_objects_made_of_rows_are_those_of_the_orm(django_assert_num_queries: DjangoAssertNumQueries) -> None:
    acme, now = building.scope(), timezone.now()
    run = building.open_run(acme)
    building.write(acme, run, "one", tags=("ü", "b"), expires_at=now + timedelta(hours=1))
    retired = building.write(acme, run, "two")
    ledger.retirement.retire_entry(acme, retired.id, reason="", now=now)
    named = ("id", "tags", "created_at", "expires_at", "retired_at", "protected", "run_id", "run__system")
    rows = MemoryEntry.objects.of(acme.tenant_id).select_related("run").only(*named).order_by("id")
    with django_assert_num_queries(1):
        found = sql.fetch(rows)
        assert not any(each.run.system for each in found)
    for one, other in zip(found, rows, strict=True):
        assert (one, _fields(one)) == (other, _fields(other))
        assert (one.run, _fields(one.run)) == (other.run, _fields(other.run))
        assert (one.content, one.position) == (other.content, other.position)
    assert sql.fetch(rows.none()) == []


def test_a_ledger_page_compiled_for_one_filter_serves_another(monkeypatch: pytest.MonkeyPatch) -> None:
    """Agents, refs, subjects, tags and keys may be called what a statement says by itself, and what each is called."""
    monkeypatch.setattr(sql, "_statements", {})
    acme, now = building.scope(), timezone.now()
    run = building.open_run(acme)
    names = ("present", "1", "system", "memory_memoryentry", "")
    for name in filter(None, names):
        run.principal = name
        more: dict[str, Any] = {"agent_id": name, "subject": name, "tags": (name, "common"), "memory_ref": name}
        retired = building.write(acme, run, f"retired of {name}", now=now, **more)
        ledger.retirement.retire_entry(acme, retired.id, reason="", now=now)
        building.write(acme, run, f"of {name}", now=now, **more)
        building.write(acme, run, f"lapsed of {name}", now=now - 2 * HOUR, expires_at=now - HOUR, **more)
    for name in (*names, *reversed(names)):
        for field in ledger_search.SHAPED if name else ("agent",):
            for state, words in ("present", ("of",)), ("retired", ("retired of",)), ("all", ("of", "retired of")):
                wanted = LedgerFilter(**{field: name}, state=state)  # type: ignore[arg-type]
                page = ledger_search.ledger_page(acme, wanted, now=now)
                whose = [name] if name else [each for each in reversed(names) if each]
                assert [each.content for each in page.entries] == [f"{word} {each}" for each in whose for word in words]
                older = ledger_search.ledger_page(acme, wanted, after=page.entries[0].id, now=now)
                assert older.entries == page.entries[1:]
                counted = ledger_search.facet_counts(acme, LedgerFilter(state=state), now=now)[field].of
                assert set(counted) == {*filter(None, names), *(["common"] if field == "tag" else [])}


def test_a_ledger_page_compiled_for_a_reader_is_not_read_by_who_may_not() -> None:
    acme, auditor, now = building.scope(), building.scope(role="auditor"), timezone.now()
    building.write(acme, building.open_run(acme), "private", now=now)
    for read in (ledger_search.ledger_page, ledger_search.sample):
        assert read(acme, LedgerFilter(), size=1, now=now)
        with pytest.raises(Forbidden):
            read(auditor, LedgerFilter(), size=1, now=now)


def test_pages_of_every_length_do_not_fill_the_memory_with_statements(monkeypatch: pytest.MonkeyPatch) -> None:
    kept: dict[Any, Any] = {}
    monkeypatch.setattr(sql, "_statements", kept)
    monkeypatch.setattr(sql, "MOST_SHAPES", 3)
    acme, now = building.scope(), timezone.now()
    for number in range(9):
        building.remember("acme", f"note {number}")
    found = [len(ledger_search.ledger_page(acme, LedgerFilter(), size=size, now=now).entries) for size in range(1, 9)]
    assert found == list(range(1, 9))
    assert 0 < len(kept) <= 3


def test_a_constant_of_a_compiled_statement_is_what_it_was() -> None:
    acme = building.scope()
    run = building.open_run(acme)
    for text in (
        "plain",
        "",
        "it's",
        "100 %s",
        "ü",
        'a "b"',
        "--",
        "?",
    ):
        for each in (text, "other"):
            building.write(acme, run, each or "empty", agent_id=each)
        rows = MemoryEntry.objects.of(acme.tenant_id).filter(agent_id=text, redactions=0, sealed=False)
        asked = sql.CompiledQuery(rows, acme.tenant_id)
        assert asked.objects(acme.tenant_id) == list(rows), text
        assert [row.agent_id for row in asked.objects(acme.tenant_id)] == [text], text


def _fields(row: Model) -> dict[str, Any]:
    return {name: value for name, value in row.__dict__.items() if name != "_state"}


def test_the_vault_s_versions_are_those_of_the_secrets_it_gives() -> None:
    acme = building.scope()
    run = building.open_run(acme)
    for name in ("crm", "mail"):
        vault.store_secret(acme.tenant_id, name, f"{name}-123456789", now=timezone.now())
        vault.resolve(run, name, now=timezone.now())
    vault.store_secret(acme.tenant_id, "crm", "another-123456789", now=timezone.now())
    known = vault.known_to(acme.tenant_id, run.id)
    assert vault.versions_known_to(acme.tenant_id, run.id) == tuple((row.id, row.version) for row in known)
    assert building.write(acme, run, "crm-123456789").content == "[REDACTED:crm]"


@pytest.mark.only_db("postgres")
def test_a_further_write_of_a_run_is_one_statement_that_redacts_what_was_resolved_in_between(
    django_assert_num_queries: DjangoAssertNumQueries, monkeypatch: pytest.MonkeyPatch
) -> None:
    acme = building.scope()
    run, other = building.open_run(acme), building.open_run(acme)
    for name in ("crm", "mail"):
        vault.store_secret(acme.tenant_id, name, f"{name}-123456789", now=timezone.now())
    heard: list[UUID] = []
    monkeypatch.setattr(
        event_log, "_followers", [lambda _tenant, stream, events, _now: heard.extend([stream] * len(events))]
    )
    building.write(acme, other, "crm-123456789")
    building.write(acme, run, "first")
    for resolved, shown in (
        ((), "crm-123456789 mail-123456789"),
        (("mail",), "crm-123456789 [REDACTED:mail]"),
        (("crm",), "[REDACTED:crm] [REDACTED:mail]"),
    ):
        for name in resolved:
            vault.resolve(run, name, now=timezone.now())
        with django_assert_num_queries(4 if resolved else 1):
            assert building.write(acme, run, "crm-123456789 mail-123456789").content == shown
        with django_assert_num_queries(1):
            assert building.write(acme, run, "crm-123456789 mail-123456789").content == shown
    vault.store_secret(acme.tenant_id, "crm", "another-123456789", now=timezone.now())
    vault.resolve(run, "crm", now=timezone.now())
    assert building.write(acme, run, "crm-123456789 another-123456789").content == "[REDACTED:crm] [REDACTED:crm]"
    kinds = [event.type for event in event_log.read(acme.tenant_id, run.id)]
    assert kinds.count("memory.written") == heard.count(run.id) == 8
    runs.complete(run, now=timezone.now())
    with pytest.raises(StreamClosed):
        building.write(acme, run, "too late")


@pytest.mark.only_db("postgres")
def test_the_ledger_compares_the_secrets_of_a_run_as_the_vault_gives_them() -> None:
    acme = building.scope()
    run = building.open_run(acme)
    for number in range(4):
        known = vault.versions_known_to(acme.tenant_id, run.id)
        asked = [acme.tenant_id, run.id, versions_text(known)]
        assert sql.rows(f"SELECT {SAME_SECRETS}", asked) == [(True,)]
        assert len(known) == number
        vault.store_secret(acme.tenant_id, f"s{number}", f"{number}-123456789", now=timezone.now())
        vault.resolve(run, f"s{number}", now=timezone.now())
        assert sql.rows(f"SELECT {SAME_SECRETS}", asked) == [(False,)]


def test_tags_that_become_one_by_redaction_are_one_tag() -> None:
    acme = building.scope()
    run = building.open_run(acme)
    vault.store_secret(acme.tenant_id, "crm", "tok 123456789", now=timezone.now())
    vault.resolve(run, "crm", now=timezone.now())
    assert building.write(acme, run, "x", tags=("tok 123456789", "tok%20123456789")).tags == ("[REDACTED:crm]",)


def plan_of(call: Any) -> str:
    """The plan of the statement that ``call`` sends, where a scan or a sort is the last thing the planner would do."""
    statement, parameters = ground.query_of(call)
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            for way in ("seqscan", "bitmapscan", "sort"):
                cursor.execute(f"SET LOCAL enable_{way} = off")
        explain = "EXPLAIN" if connection.vendor == "postgresql" else "EXPLAIN QUERY PLAN"
        cursor.execute(f"{explain} {statement}", parameters)
        return "\n".join(str(row[-1]) for row in cursor.fetchall())


@pytest.mark.parametrize("view", [False, True])
def test_a_page_is_read_from_the_index_in_its_order(view: bool) -> None:
    acme = building.scope()
    run = building.open_run(acme)
    for number in range(60):  # with less than that, every index is as good as any other
        building.write(acme, run, "x", memory_ref=f"notes{number}" if number else "notes")
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("ANALYZE memory_memoryentry")
    seen = RunView.for_run(run) if view else None
    plan = plan_of(lambda: adapter.runs.list_entries(building.ref(acme, "notes"), now=timezone.now(), view=seen))
    assert "memory_entry_ref" in plan
    assert "sort" not in plan.lower()
    assert "TEMP B-TREE" not in plan


@pytest.mark.only_db("sqlite")
def test_the_table_of_tags_is_its_own_key_and_made_so_it_keeps_its_tags() -> None:
    migration = import_module("memory.migrations.0030_tags_without_rowids")
    acme, editor = building.scope(), connection.schema_editor()
    for number in range(3):
        building.write(acme, building.open_run(acme), "x", tags=(f"t{number}", "t"))
    made = "SELECT sql FROM sqlite_master WHERE tbl_name = 'memory_entrytag' AND sql <> '' ORDER BY type DESC"
    as_it_is, tags = sql.rows(made, []), sorted(EntryTag.objects.values_list("tenant_id", "tag", "id"))
    assert as_it_is[0][0].endswith("WITHOUT ROWID")
    assert [index for (index,) in as_it_is[1:] if "memory_entrytag_entry" in index]
    migration.restore_rowids(None, editor)
    assert sql.rows("SELECT COUNT(rowid) FROM memory_entrytag", []) == [(6,)]
    migration.remove_rowids(None, editor)
    assert (sql.rows(made, []), sorted(EntryTag.objects.values_list("tenant_id", "tag", "id"))) == (as_it_is, tags)


def test_a_page_of_a_tag_is_read_in_the_order_of_the_tag() -> None:
    acme = building.scope()
    run = building.open_run(acme)
    for number in range(60):  # with less than that, every index is as good as any other
        building.write(acme, run, "x", tags=(f"t{number}" if number else "t",))
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("ANALYZE memory_memoryentry, memory_entrytag")
    plan = plan_of(lambda: adapter.runs.list_entries(building.ref(acme, "notes"), now=timezone.now(), tag="t"))
    assert "memory_entrytag_pk" in plan or "SEARCH t USING PRIMARY KEY (tenant_id=? AND tag=?)" in plan
    assert "SCAN" not in plan
    assert "Seq Scan" not in plan
    assert "sort" not in plan.lower()
    assert "TEMP B-TREE" not in plan


def test_who_listens_to_queries_hears_those_that_go_to_the_driver() -> None:
    acme = building.scope()
    with CaptureQueriesContext(connection) as heard:
        assert building.contents(acme) == []
        assert adapter.runs.get_entry(building.ref(acme, "notes"), ids.new_id(), now=timezone.now()) is None
    assert len([query for query in heard if "memory_memoryentry" in query["sql"]]) == 2


def test_a_statement_of_many_parameters_has_each_in_its_place() -> None:
    given = [f"{number} $1 ? 100 %" for number in range(120)]
    as_text = "CAST(%s AS text)"
    assert sql.rows(f"SELECT {', '.join([as_text] * len(given))}", given) == [tuple(given)]


@pytest.mark.parametrize("observed", [True, False])
def test_many_rows_are_inserted_all_or_none_whoever_listens(observed: bool) -> None:
    acme = building.scope()
    entry_id = building.write(acme, building.open_run(acme), "kept").id
    rows = [[sql.key(acme.tenant_id), sql.key(entry_id), tag] for tag in ("a", "%s", "a")]
    for wanted, expected in ((rows, set()), (rows[:2], {"a", "%s"})):
        listener = CaptureQueriesContext(connection) if observed else nullcontext()
        with suppress(IntegrityError), listener, transaction.atomic():
            sql.insert(EntryTag, ("tenant_id", "id", "tag"), wanted, by="memory.ledger")
        assert set(EntryTag.objects.of(acme.tenant_id).values_list("tag", flat=True)) == expected


def test_an_entry_at_its_address_is_returned_as_it_would_be_read() -> None:
    caller, now = Caller(building.scope(), "acme.bot"), timezone.now()
    given = AddressedValue(
        Address(Tier.WORKING, "acme.bot", "cases", "one"), {"text": "Ça va?"}, ("crm", "ü"), now + HOUR
    )
    made = entries.create(caller, given, now=now)
    read = EntryAddress.objects.select_related("entry").get(id=made.id)
    assert not made.get_deferred_fields() | made.entry.get_deferred_fields(), "nothing of it is read anew"
    for ours, orms in ((made, read), (made.entry, read.entry)):
        for name in [field.attname for field in orms._meta.concrete_fields]:
            assert getattr(ours, name) == getattr(orms, name), name


def test_a_broken_transaction_reads_nothing() -> None:
    scope = building.ref(building.scope(), "notes")
    with pytest.raises(IntegrityError), transaction.atomic():
        try:
            with transaction.atomic(savepoint=False):
                raise IntegrityError
        except IntegrityError:
            with pytest.raises(TransactionManagementError):
                adapter.runs.list_entries(scope, now=timezone.now())
            raise


def test_when_the_automaton_gives_up_each_rule_is_run_by_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    class GaveUp:
        def Match(self, text: str) -> None:
            return None

    texts = ["nothing here", "ghp_" + "a" * 36, "postgres://me:secret@host and password=abcdefghijkl"]
    found = [redactor.secret_shapes(text) for text in texts]
    monkeypatch.setattr(redactor, "_shapes", GaveUp())
    assert [redactor.secret_shapes(text) for text in texts] == found == [0, 1, 2]


def test_the_rows_of_a_tenant_are_asked_for_as_the_orm_would() -> None:
    tenant_id, a_row = ids.new_id(), Q(tenant__slug="acme")
    owned = [model for model in apps.get_models() if isinstance(model._default_manager, base.TenantManager)]
    assert len(owned) > 40
    for model in owned:
        rows: Any = model._default_manager
        for asked, written in (
            (rows.of(tenant_id), rows.filter(tenant_id=tenant_id)),
            (rows.of(tenant_id).exclude(a_row), rows.filter(tenant_id=tenant_id).exclude(a_row)),
            (rows.filter(a_row).of(tenant_id), rows.filter(a_row).filter(tenant_id=tenant_id)),
        ):
            assert asked.query.sql_with_params() == written.query.sql_with_params(), model
    either = MemoryEntry.objects.filter(tags=[]) | MemoryEntry.objects.filter(subject="Ana")
    assert str(either.of(tenant_id).query) == str(either.filter(tenant_id=tenant_id).query)
    assert not MemoryEntry.objects.none().of(tenant_id)


@pytest.mark.only_db("sqlite")
@pytest.mark.parametrize(("of", "given"), [("request", {"request_id": "r-1"}), ("target", {"target": "prop_1"})])
def test_the_audit_records_of_a_request_or_a_target_are_found_by_their_index(of: str, given: dict[str, Any]) -> None:
    wanted = AuditFilter(actor="ada", action="act", **given)
    with CaptureQueriesContext(connection) as asked:
        audit.newest(building.tenant().id, wanted, limit=5)
    with connection.cursor() as cursor:
        cursor.execute(f"EXPLAIN QUERY PLAN {asked.captured_queries[-1]['sql']}")
        plan = [str(row[3]) for row in cursor.fetchall()]
    assert [
        step for step in plan if f"USING INDEX host_audit_of_{of} (tenant_id=? AND {next(iter(given))}=?" in step
    ], plan
