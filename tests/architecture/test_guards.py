"""The guards at run time, and those in the database itself."""

import pytest
from django.db import DatabaseError, IntegrityError, connection, transaction
from django.utils import timezone

from memory.host import audit, event_log, ids, runs, sql
from memory.host.events import NodeCompleted
from memory.host.models import Run, RunEvent, WriteGuard
from memory.models.entry import MemoryEntry
from tests import building

pytestmark = [pytest.mark.django_db, pytest.mark.engines]


def test_a_model_saved_by_anybody_else_raises_and_says_where_to_go() -> None:
    remembered = building.remember("acme", "kept")
    entry = MemoryEntry.objects.of(remembered.run.tenant_id).get()
    entry.content = "changed behind the ledger's back"
    with pytest.raises(WriteGuard, match=r"only memory\.ledger writes these rows"):
        entry.save()
    with pytest.raises(WriteGuard, match=r"memory\.ledger"):
        entry.delete()


@pytest.mark.parametrize("attempt", ["update", "delete", "create", "bulk_create", "get_or_create"])
def test_no_queryset_writes_around_the_guard(attempt: str) -> None:
    building.remember("acme", "kept")
    rows = MemoryEntry.objects.all()
    arguments: tuple[list[MemoryEntry], ...] = ([],) if attempt == "bulk_create" else ()
    with pytest.raises(WriteGuard):
        getattr(rows, attempt)(*arguments)
    assert MemoryEntry.objects.count() == 1


def test_naming_another_module_as_the_writer_opens_nothing() -> None:
    with pytest.raises(WriteGuard):
        Run.objects.written_by("memory.ledger")
    with pytest.raises(WriteGuard):
        sql.insert(Run, ("id",), [], by="memory.ledger")


@pytest.mark.parametrize("statement", ["UPDATE host_runevent SET type = 'x'", "DELETE FROM host_runevent"])
def test_the_database_keeps_events(statement: str) -> None:
    building.remember("acme", "kept")
    before = RunEvent.objects.count()
    with pytest.raises(DatabaseError, match="kept forever"), transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(statement)
    assert RunEvent.objects.count() == before > 0


@pytest.mark.parametrize("statement", ["UPDATE host_auditrecord SET actor = 'x'", "DELETE FROM host_auditrecord"])
def test_the_database_keeps_audit_records(statement: str) -> None:
    acme = building.tenant()
    audit.append(acme.id, actor="ada", action="test", now=timezone.now())
    with pytest.raises(DatabaseError, match="kept forever"), transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(statement)
    assert building.verified(acme.id).intact


@pytest.mark.only_db("postgres")
def test_the_log_cannot_be_truncated() -> None:
    with pytest.raises(DatabaseError, match="kept forever"), transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("TRUNCATE host_runevent")


def test_a_row_that_points_at_another_tenant_s_row_is_refused_by_the_database() -> None:
    foreign = building.remember("globex", "secret of globex")
    acme = building.scope("acme")
    ours = building.open_run(acme)
    with pytest.raises(IntegrityError), transaction.atomic():
        MemoryEntry(
            tenant_id=acme.tenant_id,
            memory_ref="notes",
            content="x",
            search_text="x",
            position=1,
            run_id=foreign.run.id,
            created_at=timezone.now(),
            tokens=1,
            sha256="0" * 64,
        ).insert(by=MemoryEntry.writer)
        connection.check_constraints()
    assert runs.find(acme.tenant_id, ours.id).id == ours.id


@pytest.mark.django_db(transaction=True)
def test_an_event_outside_a_transaction_of_its_change_is_a_bug() -> None:
    run = building.open_run(building.scope())
    with pytest.raises(RuntimeError, match="in the transaction of the change"):
        event_log.append(run.tenant_id, run.id, NodeCompleted("node"), now=timezone.now())


def test_the_audit_chain_says_where_it_was_broken() -> None:
    acme = building.tenant()
    for number in range(3):
        audit.append(acme.id, actor="ada", action=f"act-{number}", now=timezone.now())
    with connection.cursor() as cursor:
        if connection.vendor == "sqlite":
            cursor.execute("DROP TRIGGER host_auditrecord_keeps_its_rows_update")
        else:
            cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
            cursor.execute("ALTER TABLE host_auditrecord DISABLE TRIGGER USER")
        cursor.execute("UPDATE host_auditrecord SET actor = 'mallory' WHERE seq = 1")
    verdict = building.verified(acme.id)
    assert not verdict.intact
    assert verdict.broken_at == 1
    assert verdict.breaks[0].expected != verdict.breaks[0].actual


def test_ids_rise_and_a_malformed_one_is_nothing() -> None:
    made = [ids.new_id() for _ in range(100)]
    assert made == sorted(made)
    for text in [
        "",
        "run",
        "run_",
        "run_zz",
        "mem_" + made[0].hex,
        "run_" + made[0].hex.upper(),
        "run_" + "0" * 33,
        "\x00",
    ]:
        assert ids.parse("run", text) is None
    assert ids.parse("run", ids.wire("run", made[0])) == made[0]
