"""Passes as such: asked for once, done once, taken over when a worker dies, stopped, refused, and run again by hand."""

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db import connection
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries

from memory import passes, tasks
from memory.forget import execution
from memory.host import event_log, vault
from memory.host.errors import Conflict, Forbidden, Invalid, NotFound, PassCancelled, TokenBudgetExceeded
from memory.host.models import AuditRecord, Run
from memory.host.paging import Page
from memory.host.tenancy import TenantScope
from memory.models import Pass, PassSchedule
from memory.passes import orders, pass_schedules
from memory.passes.orders import RequestedPass
from memory.passes.pass_schedules import PassTimes
from tests import building

pytestmark = pytest.mark.django_db
NOW = datetime(2026, 3, 2, 12, 0, 30, tzinfo=UTC)
MARTA = "marta.kowalska@example.com"


class Counting:
    """A flow that counts to ``size`` and tells of it; ``between`` is called before each step."""

    KIND = "counting"

    def __init__(self) -> None:
        self.most = 100
        self.finished = 0
        self.between: Callable[[Pass, int], None] = lambda work, step: None

    def checked_options(self, options: dict[str, Any]) -> dict[str, Any]:
        size = options.get("size", 2)
        if not isinstance(size, int) or size > self.most:
            raise Invalid(errors=[{"field": "options.size", "message": "must be a small number"}])
        return {"size": size}

    def carry_out(self, work: Pass, *, clock: Callable[[], datetime]) -> None:
        size = work.options["size"]
        for step in range(size):
            self.between(work, step)
            passes.progress(work, done=step, total=size, doing="counting", now=clock())
        passes.finish(work, outcome={"counted": size}, now=clock())
        self.finished += 1


@pytest.fixture
def flow(monkeypatch: pytest.MonkeyPatch) -> Counting:
    found = Counting()
    monkeypatch.setitem(orders.KINDS, Counting.KIND, found)
    return found


def order(owner: TenantScope, *, window: str = "", now: datetime = NOW, **given: Any) -> Pass:
    wanted = {"kind": "counting", "memory_ref": "notes", **given}
    return orders.order(owner, RequestedPass(**wanted), window=window, now=now)


def carry_out(row: Pass, *, holder: str = "here/1", at: datetime = NOW) -> Pass | None:
    return orders.run_pass(row.tenant_id, row.id, holder=holder, clock=lambda: at)


def types(row: Pass) -> list[str]:
    return [each.type for each in event_log.read(row.tenant_id, row.run_id)]


def test_a_pass_is_a_small_system_run_of_its_asker_and_ends_with_its_outcome(flow: Counting) -> None:
    acme = building.scope()
    row = order(acme, options={"size": 3})
    assert (row.state, row.trigger, row.requested_by) == ("waiting", "on-demand", acme.principal.id)
    done = carry_out(row)
    assert done
    assert (done.state, done.outcome, done.done, done.total) == ("done", {"counted": 3}, 3, 3)
    run = Run.objects.of(acme.tenant_id).get(id=row.run_id)
    assert (run.system, run.workflow_id, run.status) == (True, "host-counting", "completed")
    assert types(row) == ["run.started", "run.completed"]


def test_a_window_is_one_pass_however_often_it_is_asked_for(flow: Counting) -> None:
    acme = building.scope()
    first, second = order(acme, window="night"), order(acme, window="night")
    assert first.id == second.id
    assert order(acme).id != order(acme).id
    carry_out(first)
    assert carry_out(second) is None
    assert flow.finished == 1


def test_a_pass_whose_worker_died_is_taken_over_after_its_lease_and_finished_once(flow: Counting) -> None:
    acme = building.scope()
    row = order(acme)
    assert passes.claim(acme.tenant_id, row.id, holder="dead/1", now=NOW)
    assert carry_out(row, holder="other/1", at=passes.LEASE.end(NOW) - timedelta(seconds=1)) is None
    late = passes.LEASE.end(NOW)
    assert [each.id for each in passes.unclaimed(now=late)] == [row.id]
    done = carry_out(row, holder="other/1", at=late)
    assert done
    assert (done.state, done.attempts) == ("done", 2)
    assert types(row) == ["run.started", "run.completed"]


def test_a_worker_that_lost_its_pass_leaves_it_to_the_one_that_has_it(flow: Counting) -> None:
    acme = building.scope()
    row = order(acme)
    late = NOW + passes.LEASE.lasts * 2

    def slow(work: Pass, step: int) -> None:
        if work.holder == "slow/1":
            flow.between = lambda work, step: None
            assert carry_out(row, holder="quick/1", at=late)

    flow.between = slow
    assert carry_out(row, holder="slow/1") is None
    assert flow.finished == 1
    assert types(row) == ["run.started", "run.completed"]


def test_workers_that_die_again_and_again_end_it_as_failed(flow: Counting) -> None:
    acme = building.scope()
    row, at = order(acme), NOW
    for number in range(passes.MAX_ATTEMPTS):
        assert passes.claim(acme.tenant_id, row.id, holder=f"dead/{number}", now=at)
        at += passes.LEASE.lasts
    failed = carry_out(row, at=at)
    assert failed
    assert (failed.state, failed.code, flow.finished) == ("failed", "worker_lost", 0)
    assert passes.unclaimed(now=passes.LEASE.end(at)) == []


def test_a_refusal_is_on_record_with_its_code_and_details_and_can_be_run_again(flow: Counting) -> None:
    acme = building.scope()
    row = order(acme)

    def refuse(work: Pass, step: int) -> None:
        raise TokenBudgetExceeded(budget=10, minimumRequired=40)

    flow.between = refuse
    refused = carry_out(row)
    assert refused
    assert (refused.state, refused.code) == ("refused", "token_budget_exceeded")
    assert refused.outcome == {"details": {"budget": 10, "minimumRequired": 40}}
    assert types(row)[-1] == "run.failed"
    flow.between = lambda work, step: None
    second = orders.repeat(acme, row.id, now=NOW)
    assert (second.options, second.memory_ref, second.state) == (row.options, "notes", "waiting")
    done = carry_out(second)
    assert done
    assert done.state == "done"
    with pytest.raises(Conflict):
        orders.repeat(acme, done.id, now=NOW)


def test_a_bug_is_a_failure_that_tells_nothing(flow: Counting, caplog: Any) -> None:
    acme = building.scope()
    row = order(acme)

    def crash(work: Pass, step: int) -> None:
        raise RuntimeError("s3cret")

    flow.between = crash
    failed = carry_out(row)
    assert failed
    assert (failed.state, failed.code, failed.outcome) == ("failed", "internal_error", {})


def test_a_pass_that_is_stopped_leaves_off_at_its_next_step(flow: Counting) -> None:
    acme = building.scope()
    row = order(acme, options={"size": 5})

    def stop_at_two(work: Pass, step: int) -> None:
        if step == 2:
            orders.stop(acme, row.id, now=NOW)

    flow.between = stop_at_two
    stopped = carry_out(row)
    assert stopped
    assert (stopped.state, stopped.code, stopped.done, flow.finished) == ("cancelled", "pass_cancelled", 2, 0)
    assert types(row)[-1] == "run.cancelled"
    assert AuditRecord.objects.of(acme.tenant_id).order_by("-seq")[0].action == "pass.stopped"
    with pytest.raises(Conflict):
        orders.stop(acme, row.id, now=NOW)


def test_short_steps_are_on_record_once_in_a_moment_and_see_a_stop_and_a_lost_claim_with_the_next(
    flow: Counting, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    acme = building.scope()
    work = passes.claim(acme.tenant_id, order(acme).id, holder="here/1", now=NOW)
    assert work

    def report(done: int, later: timedelta) -> None:
        passes.report(work, done=done, total=9, doing="counting", now=NOW + later)

    with django_assert_num_queries(0):
        report(1, passes.MOMENT / 2)
    with django_assert_num_queries(1):
        report(2, passes.MOMENT)
        report(3, passes.MOMENT * 1.5)
    kept = Pass.objects.of(acme.tenant_id).get(id=work.id)
    assert (kept.done, kept.lease_until) == (2, passes.LEASE.end(NOW + passes.MOMENT))
    orders.stop(acme, work.id, now=NOW)
    with pytest.raises(PassCancelled):
        report(4, passes.MOMENT * 2)
    assert passes.claim(acme.tenant_id, work.id, holder="other/1", now=NOW + passes.LEASE.lasts * 2)
    with pytest.raises(passes.LostClaim):
        report(5, passes.LEASE.lasts * 2)


def test_a_pass_that_nobody_has_taken_yet_is_stopped_at_once(flow: Counting) -> None:
    acme = building.scope()
    row = order(acme)
    assert orders.stop(acme, row.id, now=NOW).state == "cancelled"
    assert carry_out(row) is None


REFUSED = {"../notes": Invalid, "a\x00b": Invalid, "": Invalid, "tenant/globex/notes": NotFound}


@pytest.mark.engines
@pytest.mark.parametrize("ref", [*REFUSED, "of s3cret-canary-value"])
def test_a_malformed_ref_is_refused_and_a_foreign_one_is_not_found(flow: Counting, ref: str) -> None:
    acme = building.scope()
    vault.store_secret(acme.tenant_id, "crm", "s3cret-canary-value", now=NOW)
    with pytest.raises(REFUSED.get(ref, NotFound)):
        order(acme, memory_ref=ref)
    assert not Pass.objects.of(acme.tenant_id).exists()


def test_a_secret_of_the_vault_is_kept_in_no_option() -> None:
    acme = building.scope()
    vault.store_secret(acme.tenant_id, "crm", "s3cret-canary-value", now=NOW)
    row = order(acme, kind="distill", options={"sources": ["it is s3cret-canary-value"]})
    assert row.options["sources"] == [{"content": "it is [REDACTED:crm]", "tags": []}]


def test_an_unknown_kind_names_those_there_are(flow: Counting) -> None:
    with pytest.raises(Invalid) as refused:
        order(building.scope(), kind="forget")
    assert "consolidate" in refused.value.details["errors"][0]["message"]


@pytest.mark.parametrize("role", ["viewer", "author", "agent", "reviewer", "auditor"])
def test_who_may_not_run_passes_is_told_which_permission_is_missing(flow: Counting, role: str) -> None:
    row = order(building.scope())
    other = building.scope(role=role)
    for act in (
        lambda: order(other),
        lambda: orders.stop(other, row.id, now=NOW),
    ):
        with pytest.raises(Forbidden) as refused:
            act()
        assert refused.value.details["requiredScope"] == "passes:run"


@pytest.mark.engines
def test_passes_are_listed_by_kind_and_ref_and_those_of_others_are_not_there(flow: Counting) -> None:
    acme, globex = building.scope(), building.scope("globex")
    first, second = order(acme), order(acme, memory_ref="other")
    order(globex)
    assert orders.page(acme, size=10) == Page([second, first], 2)
    assert orders.page(acme, before=second.id, size=10) == Page([first], 2)
    assert orders.page(acme, memory_ref="other", size=10) == Page([second], 1)
    assert orders.page(acme, kinds=("distill",), size=10) == Page([], 0)
    with pytest.raises(NotFound):
        orders.find(globex, first.id)


def test_another_tenant_finds_no_pass_by_its_id_or_its_run(flow: Counting) -> None:
    globex, row = building.scope("globex"), order(building.scope())
    assert passes.find_by_run(row.tenant_id, row.run_id) == passes.find(row.tenant_id, row.id) == row
    assert passes.find_by_run(globex.tenant_id, row.run_id) is passes.find(globex.tenant_id, row.id) is None
    assert passes.find_many(globex.tenant_id, [row.id]) == []


def test_a_forgotten_subject_is_in_no_pass_and_in_no_schedule_of_one(flow: Counting) -> None:
    acme = building.scope()
    rows = [order(acme, memory_ref=f"of/{MARTA}", window=window) for window in ("tick/1", "tick/2")]
    kept = pass_schedules.set_schedule(acme, PassTimes("counting", f"of/{MARTA}", "* * * * *"), now=NOW)
    other = pass_schedules.set_schedule(acme, PassTimes("counting", "notes", "* * * * *"), now=NOW)
    carry_out(rows[0])
    found = execution.preview(acme, [MARTA], now=timezone.now())
    agreed: dict[str, Any] = {"typed": MARTA, "reason": "ticket 17", "ticked": set(), "now": timezone.now()}
    request = execution.confirm(acme, found.request.id, **agreed)
    now = timezone.now()
    done = execution.execute(acme.tenant_id, request.id, holder="test/1", now=now, clock=timezone.now)
    assert done
    assert done.state == "forgotten"
    for table in (Pass, PassSchedule):
        assert MARTA not in str(list(table.objects.of(acme.tenant_id).values()))
    assert len(set(Pass.objects.of(acme.tenant_id).values_list("memory_ref", flat=True))) == 3
    schedules = {row.id: row.next_at for row in PassSchedule.objects.of(acme.tenant_id)}
    assert schedules == {kept.id: None, other.id: other.next_at}


# --- one ref, one pass at a time --------------------------------------------------------------------------------------


def test_a_second_pass_over_a_ref_waits_until_the_first_is_over_whatever_its_kind(flow: Counting) -> None:
    acme = building.scope()
    first, second = order(acme), order(acme, kind="compact")
    meanwhile: list[Any] = []

    def also(work: Pass, step: int) -> None:
        meanwhile.append((carry_out(second), passes.next_waiting(acme.tenant_id, first.id, now=NOW)))

    flow.between = also
    assert carry_out(first)
    assert meanwhile == [(None, None)] * 2
    waiting = passes.next_waiting(acme.tenant_id, first.id, now=NOW)
    assert waiting
    assert (waiting.id, waiting.state, waiting.attempts) == (second.id, "waiting", 0)
    ended = carry_out(second)
    assert ended
    assert (ended.code, ended.attempts) == ("nothing_to_compact", 1)
    assert passes.next_waiting(acme.tenant_id, first.id, now=NOW) is None


def test_passes_over_other_refs_of_other_tenants_and_dry_runs_wait_for_none(flow: Counting) -> None:
    acme, globex = building.scope(), building.scope("globex")
    busy = order(acme)
    assert passes.claim(acme.tenant_id, busy.id, holder="busy/1", now=NOW)
    for free in (order(acme, memory_ref="other"), order(globex), order(acme, dry_run=True)):
        done = carry_out(free)
        assert done
        assert done.state == "done"
    assert carry_out(order(acme)) is None


def test_a_dry_run_and_a_pass_whose_worker_died_hold_nobody_up(flow: Counting) -> None:
    acme = building.scope()
    tried, dead = order(acme, dry_run=True), order(acme)
    assert passes.claim(acme.tenant_id, tried.id, holder="busy/1", now=NOW)
    assert passes.claim(acme.tenant_id, dead.id, holder="dead/1", now=NOW)
    late = passes.LEASE.end(NOW)
    done = carry_out(order(acme), at=late)
    assert done
    assert done.state == "done"
    taken_over = carry_out(dead, at=late)
    assert taken_over
    assert (taken_over.state, taken_over.attempts) == ("done", 2)


def test_a_pass_that_had_to_wait_is_queued_when_the_other_one_ends(drain: Callable[..., int]) -> None:
    acme = building.scope()
    building.remember("acme", "the same", "the same", "something else")
    held, *waiting = [order(acme, kind="consolidate", now=timezone.now()) for _ in range(3)]
    assert passes.claim(acme.tenant_id, held.id, holder="dead/1", now=timezone.now())
    for row in waiting:
        tasks.enqueue_pass(row)
    drain()
    assert {row.state for row in passes.find_many(acme.tenant_id, [row.id for row in waiting])} == {"waiting"}
    passes.LEASE.release_held_by("dead", now=timezone.now())
    tasks.carry_out_pass(acme.tenant_id.hex, held.id.hex)
    drain()
    assert {row.state for row in passes.find_many(acme.tenant_id, [row.id for row in waiting])} == {"done"}


@pytest.mark.engines
@pytest.mark.django_db(transaction=True)
def test_passes_that_are_taken_at_once_over_one_ref_count_what_each_of_them_found() -> None:
    acme = building.scope()
    building.write_each(acme, *[f"The till of shop {number % 20} was counted at noon." for number in range(60)])
    rows = [order(acme, kind="consolidate", now=timezone.now()) for _ in range(4)]

    def until_over(row: Pass) -> Pass:
        try:
            while (found := tasks.carry_out(row.tenant_id, row.id)) is None:
                time.sleep(0.02)
            return found
        finally:
            connection.close()

    with ThreadPoolExecutor(4) as pool:
        ended = list(pool.map(until_over, rows))
    assert {row.state for row in ended} == {"done"}
    counts = sorted((row.outcome["inputCount"], row.outcome["outputCount"]) for row in ended)
    assert counts == [(20, 20), (20, 20), (20, 20), (60, 20)]
    assert len(building.contents(acme)) == 20
