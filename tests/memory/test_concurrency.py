"""Several at once: writers on one ledger, workers on one run, auditors on one chain."""

import json
from collections import Counter
from contextlib import suppress
from threading import Barrier, BrokenBarrierError
from typing import Any

import pytest
from django.db import connection, transaction
from django.test import Client
from django.utils import timezone

from memory import adapter, entry_files, ledger
from memory.forget import execution, receipts
from memory.host import access, audit, audit_chain, event_log, ids, operators, runs
from memory.host.errors import LastOwner, NotFound
from memory.host.models import AuditRecord, ForkMode, Membership, Run
from memory.models import ForgetRequest, ForgetState, Pass
from memory.models.address import EntryAddress
from memory.models.entry import LedgerHead, MemoryEntry
from memory.passes import orders
from memory.passes.orders import RequestedPass
from openwop_console.runtime import engine, replay, run_operations
from openwop_console.runtime.replay import ForkRequest
from openwop_console.runtime.run_operations import RunRequest
from tests import building
from tests.building import at_once
from tests.desks import Desk
from tests.memory.test_transfers import line

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.engines]
AT_ONCE = 8


def test_writers_at_once_number_their_changes_and_events_without_a_gap() -> None:
    acme = building.scope()
    run = building.open_run(acme)
    before = event_log.length(acme.tenant_id, run.id)
    written = at_once(lambda number: building.write(acme, run, f"entry {number}", tags=("t",)), 40)
    assert sorted(entry.position for entry in written) == list(range(1, 41))
    events = event_log.read(acme.tenant_id, run.id)
    assert [event.sequence for event in events] == list(range(before + 40))
    assert LedgerHead.objects.of(acme.tenant_id).get().entries == MemoryEntry.objects.count() == 40


@pytest.mark.parametrize("tier", ["episodic", "semantic"])
def test_clients_that_put_one_address_at_once_are_all_answered(tier: str) -> None:
    """What a first write makes beside the entry, each once: the agent, its log, the namespace and the external run."""
    headers = building.headers("acme", "agent")
    place = {"agent_id": "bot", "memory_type": tier, "namespace": "ns", "origin": {"system": "cron", "threadId": "t"}}

    def put(number: int) -> int:
        said = json.dumps({**place, "key": f"k{number // AT_ONCE}", "value": {"n": number}})
        client = Client(headers={"X-Agent-ID": "bot"})
        return int(client.put("/api/v1/memory", said, content_type="application/json", **headers).status_code)

    assert Counter(at_once(put, 2 * AT_ONCE)) == {201: 2, 200: 2 * AT_ONCE - 2}
    assert sorted(EntryAddress.objects.values_list("key", "version")) == [(f"k{each}", AT_ONCE) for each in range(2)]


def test_an_entry_that_is_retired_and_removed_at_once_is_counted_once() -> None:
    acme = building.scope()
    run = building.open_run(acme)
    rows = [building.write(acme, run, f"entry {number}").id for number in range(16)]

    def act(number: int) -> None:
        if number % 2:
            ledger.erase.remove_entries(acme.tenant_id, tuple(rows), reason="expired", now=timezone.now())
        else:
            with suppress(NotFound):
                ledger.retirement.retire_entry(acme, rows[number], reason="", now=timezone.now())

    at_once(act, 16)
    head = LedgerHead.objects.of(acme.tenant_id).get()
    assert (head.entries, head.retired, MemoryEntry.objects.count()) == (0, 0, 0)
    assert adapter.console.count_entries(acme, now=timezone.now()) == 0


def test_imports_of_one_file_at_once_store_each_entry_once_and_all_end() -> None:
    acme, lines = building.scope(), [(number, line(number).encode()) for number in range(60)]

    def import_file(_: int) -> Counter[str]:
        run, counts = entry_files.begin_import(acme, "same", now=timezone.now()), Counter[str]()
        for part in (lines[at : at + 5] for at in range(0, len(lines), 5)):
            results = entry_files.import_lines(acme, run, part, entry_files.FileForm(), now=timezone.now())
            counts.update(result.outcome for result in results)
        entry_files.end_import(acme, run, counts, now=timezone.now())
        return counts

    found = at_once(import_file, 4)
    assert sum(found, Counter()) == {entry_files.STORED: 60, entry_files.THERE: 180}
    assert MemoryEntry.objects.count() == 60
    assert [each.status for each in Run.objects.all()] == ["completed"]
    assert AuditRecord.objects.filter(action="memory.imported").count() == 4


def test_of_two_owners_who_deactivate_each_other_at_once_one_stays() -> None:
    people = [building.operator(email=f"owner{number}@acme.example") for number in range(2)]
    scopes = [building.scope(owner=person) for person in people]

    def act(number: int) -> str:
        change: dict[str, Any] = {"active": False} if number % 4 < 2 else {"role": "viewer"}
        try:
            operators.change(scopes[number % 2], people[1 - number % 2].id, **change, now=timezone.now())
        except LastOwner:
            return "refused"
        return "done"

    answers = at_once(act, 8)
    active = Membership.objects.of(scopes[0].tenant_id).filter(is_active=True)
    held = [access.roles_of(each.tenant_id, ids.wire("usr", each.operator_id)) for each in active]
    owners = [roles for roles in held if roles == ["owner"]]
    assert len(owners) == 1
    assert "refused" in answers


def test_a_pass_that_two_people_mark_as_reviewed_at_once_is_on_record_once(monkeypatch: pytest.MonkeyPatch) -> None:
    desk, both = Desk(), Barrier(2)
    desk.say("The lift is out of order.", memory_ref="notes")
    work = desk.work(orders.order(desk.owner, RequestedPass("consolidate", "notes"), now=timezone.now()))
    review_of = orders.review_of

    def looked(work: Pass) -> AuditRecord | None:
        found = review_of(work)
        with suppress(BrokenBarrierError):  # without a lock, both look before either writes
            both.wait(0.15)
        return found

    monkeypatch.setattr(orders, "review_of", looked)
    found = at_once(lambda number: orders.review_pass(desk.owner, work.id, now=timezone.now()).seq, 2)
    assert found[0] == found[1]
    assert AuditRecord.objects.filter(action=orders.REVIEWED).count() == 1


def test_forgets_of_one_subject_at_once_end_and_leave_nothing() -> None:
    acme, name = building.scope(), "marta.kowalska@example.com"
    building.write_each(acme, *[f"{number} of {name}" for number in range(30)], "the Gold plan")
    asked = []
    for _ in range(3):
        found = execution.preview(acme, [name], now=timezone.now())
        asked.append(
            execution.confirm(acme, found.request.id, typed=name, reason="r", ticked=set(), now=timezone.now())
        )

    def act(number: int) -> str:
        given: dict[str, Any] = {"holder": f"worker/{number}", "now": timezone.now(), "clock": timezone.now}
        ended = execution.execute(acme.tenant_id, asked[number % 3].id, **given)
        return str(ended and ended.state)

    for _ in range(3):  # one at a time goes over the tenant; the others wait for their turn
        at_once(act, 6)
    rows = ForgetRequest.objects.of(acme.tenant_id).filter(id__in=[each.id for each in asked])
    assert {row.state for row in rows} == {ForgetState.FORGOTTEN}
    assert all(receipts.is_genuine(row) for row in rows)
    assert sum(row.receipt["stores"]["memory entries"]["erased"] for row in rows) == 30
    assert building.contents(acme) == ["the Gold plan"]


def test_others_write_between_the_transactions_of_a_forget(monkeypatch: pytest.MonkeyPatch) -> None:
    acme, name = building.scope(), "marta.kowalska@example.com"
    building.write_each(acme, *[f"{number} of {name}" for number in range(60)])
    found, run = execution.preview(acme, [name], now=timezone.now()), building.open_run(acme)
    given: dict[str, Any] = {"typed": name, "reason": "r", "ticked": set(), "now": timezone.now()}
    execution.confirm(acme, found.request.id, **given)
    breathe, left = execution.Pace.breathe, list[int]()

    def write(_: int) -> int:
        building.write(acme, run, "the Gold plan")
        return MemoryEntry.objects.filter(content__contains=name).count()

    def write_beside(pace: execution.Pace, rows: int, seconds: float) -> None:
        breathe(pace, rows, seconds)
        left.extend(at_once(write, 1))

    monkeypatch.setattr(execution.Pace, "breathe", write_beside)
    done = execution.execute(acme.tenant_id, found.request.id, holder="w/1", now=timezone.now(), clock=timezone.now)
    assert done
    assert done.state == ForgetState.FORGOTTEN
    assert len({number for number in left if 0 < number < 60}) >= 2, "some of them were gone, and others not yet"
    assert building.contents(acme) == ["the Gold plan"] * len(left)


def test_workers_at_once_execute_a_run_once() -> None:
    building.install("acme", building.definition("flow", *(building.remember_node("x", node_id=n) for n in "abc")))
    run = run_operations.create_run(building.scope(), RunRequest("flow"), now=timezone.now())
    at_once(
        lambda number: engine.advance(run.tenant_id, run.id, holder=f"worker/{number}", clock=timezone.now), AT_ONCE
    )
    assert runs.find(run.tenant_id, run.id).status == "completed"
    assert MemoryEntry.objects.count() == 3
    events = event_log.read(run.tenant_id, run.id)
    assert [event.type for event in events].count("node.completed") == 3
    assert events[-1].type == "run.completed"


def test_acts_at_once_stand_in_one_unbroken_chain() -> None:
    acme = building.tenant()
    before = audit_chain.total(acme.id)
    at_once(lambda number: audit.append(acme.id, actor="ada", action=f"act.{number}", now=timezone.now()), 40)
    verdict = building.verified(acme.id)
    assert (verdict.intact, verdict.checked) == (True, before + 40)


@pytest.mark.only_db("postgres")
def test_an_act_is_recorded_while_a_tenant_is_locked() -> None:
    """Whoever has the tenant waits for the chain next: one that has the chain must not wait for the tenant."""
    tenant = building.tenant()

    def act(_: int) -> None:
        with connection.cursor() as cursor:
            cursor.execute("SET lock_timeout = 5000")
        audit.append(tenant.id, actor="ada", action="tested", target="x", details={}, now=timezone.now())

    with transaction.atomic():
        access.lock_tenant(tenant.id)
        at_once(act, 1)
    assert AuditRecord.objects.of(tenant.id).filter(action="tested").count() == 1


def test_a_cancel_and_a_completion_at_once_leave_one_end() -> None:
    acme = building.scope()
    made = [run_operations.create_run(acme, RunRequest("conformance-multi-node"), now=timezone.now()) for _ in range(8)]

    def act(number: int) -> None:
        run = made[number // 2]
        if number % 2:
            run_operations.cancel_run(acme, run.id, now=timezone.now())
        engine.advance(run.tenant_id, run.id, holder=f"worker/{number}", clock=timezone.now)

    at_once(act, 16)
    for run in made:
        building.advance(run)
        types = [event.type for event in event_log.read(run.tenant_id, run.id)]
        assert types[-1] in {"run.completed", "run.cancelled"}
        assert sum(kind in {"run.completed", "run.cancelled"} for kind in types) == 1
        assert runs.find(run.tenant_id, run.id).status == types[-1].removeprefix("run.")


def test_a_run_is_forked_and_cancelled_at_once_by_many_and_nobody_waits_for_ever() -> None:
    acme = building.scope()
    source = building.execute(acme, "conformance-noop").id

    def act(number: int) -> None:
        if number % 2:
            replay.fork(acme, source, ForkRequest(ForkMode.BRANCH, from_seq=0), now=timezone.now())
        else:
            run_operations.cancel_run(acme, source, now=timezone.now())

    at_once(act, 32)
    assert Run.objects.filter(source_run_id=source).count() == 16
