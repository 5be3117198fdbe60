"""Exports of the ledger: a worker makes the file, one person gets it, and nothing forgotten stays in it."""

import csv
import io
import json
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.utils import timezone

from memory import adapter, ledger, ledger_exports, passes, tasks
from memory.addresses import Address, Tier
from memory.forget import execution
from memory.host import erasure, ids, tenancy, vault
from memory.host.errors import Conflict, Forbidden, Gone, Invalid, NotFound
from memory.host.models import AuditRecord
from memory.host.tenancy import TenantScope
from memory.ledger.addressed import NewAddressedEntry
from memory.ledger.entries import AddressedValue
from memory.ledger_search import LedgerFilter
from memory.models import ExportPart, ForgetState, Pass, PassState
from tests import building
from tests.memory.test_forgetting import carry_out

pytestmark = pytest.mark.django_db
ANA = "ana.q@exquis.org"


@pytest.fixture
def acme() -> TenantScope:
    """Acme of seven entries, which are read two at a time."""
    building.tenant("globex")
    building.write_each(building.scope("globex"), "of Globex")
    building.write_each(building.scope(), *[f"entry {number}" for number in range(7)])
    return building.scope()


@pytest.fixture(autouse=True)
def small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(adapter.console, "EXPORTED", 2)
    monkeypatch.setattr(adapter.console, "EXPORTED", 2)


def ordered(scope: TenantScope, form: str = "csv", **wanted: Any) -> Pass:
    return ledger_exports.order(scope, LedgerFilter(**wanted), form, now=timezone.now())


def made(scope: TenantScope, form: str = "csv", **wanted: Any) -> Pass:
    """An export as its worker left it."""
    row = ordered(scope, form, **wanted)
    tasks.carry_out_pass(row.tenant_id.hex, row.id.hex)
    found = passes.find(row.tenant_id, row.id)
    assert found is not None
    return found


def file_of(scope: TenantScope) -> str:
    _, pieces = ledger_exports.open_file(scope, now=timezone.now())
    return b"".join(pieces).decode()


def contents(scope: TenantScope) -> list[str]:
    return [row["content"] for row in csv.DictReader(io.StringIO(file_of(scope), newline=""))]


def is_there(scope: TenantScope) -> bool:
    found = ledger_exports.latest(scope, now=timezone.now())
    return found is not None and found.is_there


@pytest.mark.engines
def test_the_file_has_what_is_filtered_and_the_pass_says_how_much(acme: TenantScope) -> None:
    work = made(acme)
    assert (work.state, work.done, work.total) == (PassState.DONE, 7, 7)
    assert (work.outcome["rows"], work.outcome["leftOut"]) == (7, 0)
    assert contents(acme) == [f"entry {number}" for number in range(6, -1, -1)]
    building.write_each(acme, "elsewhere", memory_ref="other")
    made(acme, memory_ref="other")
    assert contents(acme) == ["elsewhere"]
    assert ExportPart.objects.of(acme.tenant_id).values("pass_id").distinct().count() == 1  # the earlier file is gone


@pytest.mark.engines
def test_json_lines_are_imported_elsewhere_with_the_same_ids(acme: TenantScope, tmp_path: Path) -> None:
    made(acme, "jsonl")
    file = tmp_path / "memory"
    file.write_text(file_of(acme))
    building.tenant("initech")
    call_command("import_memory", str(file), "--tenant", "initech")
    there = building.scope("initech")
    rows = [json.loads(line) for line in file.read_text().splitlines()]
    assert [row["content"] for row in rows] == [f"entry {number}" for number in range(7)]
    listed = adapter.console.export_all(there, now=timezone.now())
    assert [row.id for chunk in listed for row in chunk] == [row["id"] for row in rows]
    with pytest.raises(Invalid):
        ordered(acme, "jsonl", state="all")


def test_only_who_asked_gets_the_file_and_only_while_they_may_see_as_much(acme: TenantScope) -> None:
    made(acme)
    for other in (building.scope(), building.scope(role="viewer"), building.scope("globex")):
        assert ledger_exports.latest(other, now=timezone.now()) is None
        with pytest.raises(NotFound):
            ledger_exports.open_file(other, now=timezone.now())
        with pytest.raises(NotFound):
            ledger_exports.remove(other, now=timezone.now())
    with pytest.raises(Forbidden):
        ordered(building.scope(role="auditor"))
    globex = building.scope("globex")
    made(globex)
    assert contents(globex) == ["of Globex"]


def test_whoever_may_not_read_any_more_gets_no_file(acme: TenantScope) -> None:
    person = building.operator(role="viewer")
    viewer = access_scope(person)
    row = ordered(viewer)
    building.deactivate(person)
    tasks.carry_out_pass(row.tenant_id.hex, row.id.hex)
    found = passes.find(row.tenant_id, row.id)
    assert found is not None
    assert found.state == PassState.REFUSED
    assert not ExportPart.objects.exists()


def access_scope(person: Any) -> TenantScope:

    return tenancy.scope_without_request(building.tenant().id, ids.wire("usr", person.id), now=timezone.now())


def test_asking_and_downloading_are_on_record_without_what_was_sought(acme: TenantScope) -> None:
    made(acme, text=ANA)
    file_of(acme)
    asked = AuditRecord.objects.get(action="export.asked")
    assert asked.details == {"format": "csv", "filteredBy": ["state", "text"]}
    assert AuditRecord.objects.get(action="export.downloaded").target == asked.target
    ledger_exports.remove(acme, now=timezone.now())
    assert AuditRecord.objects.filter(action="export.removed", target=asked.target).exists()
    with pytest.raises(Gone):
        file_of(acme)


def test_no_file_has_a_secret_and_no_filter_names_one(acme: TenantScope) -> None:
    vault.store_secret(acme.tenant_id, "crm", "hunter2-hunter2", now=timezone.now())
    run = building.open_run(acme)
    vault.resolve(run, "crm", now=timezone.now())
    building.write(acme, run, "the token is hunter2-hunter2")
    made(acme)
    assert "the token is [REDACTED:crm]" in file_of(acme)
    with pytest.raises(Invalid):
        ordered(acme, text="hunter2-hunter2")


@pytest.mark.engines
def test_one_export_at_a_time_which_can_be_cancelled_before_and_while_it_is_made(
    acme: TenantScope, monkeypatch: pytest.MonkeyPatch
) -> None:
    waiting = ordered(acme)
    with pytest.raises(Conflict):
        ordered(acme)
    ledger_exports.remove(acme, now=timezone.now())
    assert Pass.objects.get(id=waiting.id).state == PassState.CANCELLED
    keep = ledger_exports._store_part

    def keep_and_cancel(work: Pass, number: int, body: bytes) -> None:
        keep(work, number, body)
        if number == 1:
            passes.request_stop(work.tenant_id, work.id, now=timezone.now())

    monkeypatch.setattr(ledger_exports, "_store_part", keep_and_cancel)
    work = made(acme)
    assert work.state == PassState.CANCELLED
    assert not ExportPart.objects.exists()


@pytest.mark.engines
def test_an_export_whose_worker_was_killed_is_made_from_its_beginning_by_the_next(acme: TenantScope) -> None:
    row = ordered(acme)
    now = timezone.now()
    work = passes.claim(row.tenant_id, row.id, holder="dead/1", now=now)
    assert work is not None
    ledger_exports._store_part(work, 0, b"half a file")
    tasks.carry_out_pass(row.tenant_id.hex, row.id.hex)
    assert not is_there(acme)  # the dead worker's lease still holds
    passes.LEASE.release_held_by("dead", now=now)
    (found,) = [each for each in passes.unclaimed(now=timezone.now()) if each.kind == ledger_exports.KIND]
    tasks.carry_out_pass(found.tenant_id.hex, found.id.hex)
    assert len(contents(acme)) == 7


@pytest.mark.engines
def test_a_file_is_gone_after_a_day(acme: TenantScope) -> None:
    made(acme)
    later = timezone.now() + timedelta(hours=25)
    assert ledger_exports.sweep(now=timezone.now()) == 0
    found = ledger_exports.latest(acme, now=later)
    assert found is not None
    assert not found.is_there
    assert ledger_exports.sweep(now=later) == 5  # the head, and four chunks
    assert not ExportPart.objects.exists()


def forgotten(scope: TenantScope) -> Any:
    found = execution.preview(scope, [ANA], now=timezone.now()).request
    return carry_out(execution.confirm(scope, found.id, typed=ANA, reason="ticket 17", now=timezone.now()))


def test_a_forget_removes_every_file_of_its_tenant_and_no_other(acme: TenantScope) -> None:
    building.remember("acme", "she likes tea", subject=ANA)  # which her name is not in
    globex = building.scope("globex")
    made(globex)
    made(acme)
    done = forgotten(acme)
    assert done.state == ForgetState.FORGOTTEN
    assert done.receipt["stores"]["saved exports"]["erased"] == 1
    with pytest.raises(Gone):
        file_of(acme)
    assert contents(globex) == ["of Globex"]


def test_an_export_that_was_asked_for_by_a_name_that_is_forgotten_before_it_is_made_fails(acme: TenantScope) -> None:
    building.remember("acme", "she likes tea", subject=ANA)
    row = ordered(acme, subject=ANA)
    assert forgotten(acme).state == ForgetState.FORGOTTEN
    tasks.carry_out_pass(row.tenant_id.hex, row.id.hex)
    found = passes.find(row.tenant_id, row.id)
    assert found
    assert (found.state, ANA in str(found.options)) == (PassState.REFUSED, False)
    assert not is_there(acme)


@pytest.mark.engines
def test_an_export_under_way_begins_again_when_something_is_forgotten(
    acme: TenantScope, monkeypatch: pytest.MonkeyPatch
) -> None:
    building.write_each(acme, "she likes tea", subject=ANA)
    bodies = ledger_exports._bodies
    done: list[Any] = []

    def forget_between(*given: Any) -> Iterator[Any]:
        for number, part in enumerate(bodies(*given)):  # which was read before
            if number == 1 and not done:
                done.append(forgotten(acme))
            yield part

    monkeypatch.setattr(ledger_exports, "_bodies", forget_between)
    row = made(acme)
    assert row.state == PassState.CLAIMED  # and nobody's: the next worker has it
    assert not is_there(acme)
    assert not [text for _, text in ledger_exports.texts(acme.tenant_id) if "tea" in text]
    tasks.carry_out_pass(row.tenant_id.hex, row.id.hex)
    assert len(contents(acme)) == 7
    assert "tea" not in file_of(acme)


@pytest.mark.engines
def test_the_files_are_erased_behind_the_entries() -> None:

    stores = [each.store for each in erasure.registered()]
    assert stores.index("saved exports") > stores.index(erasure.ENTRIES)


def test_what_is_kept_encrypted_is_left_out_of_json_lines(acme: TenantScope) -> None:

    run = building.open_run(acme)
    place = Address(Tier.EPISODIC, "bot", "facts", "secret", sensitivity="restricted")
    ledger.addressed.write_addressed(
        acme,
        [NewAddressedEntry(AddressedValue(place, {"n": "QUAGGA"}, ()), run.id, "node")],
        actor="bot",
        now=timezone.now(),
    )
    work = made(acme, "jsonl")
    assert (work.outcome["rows"], work.outcome["leftOut"]) == (7, 1)
    assert "QUAGGA" not in file_of(acme)
