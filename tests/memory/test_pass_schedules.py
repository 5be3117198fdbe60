"""Schedules of passes: a tick is the window of one pass, whoever looks, and what is refused is on record."""

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db import connection, transaction

from memory import passes, tasks
from memory.host import access, api_keys, ids, scheduling, vault
from memory.host.errors import Forbidden, Invalid, NotFound, ScheduleHorizonExceeded
from memory.host.models import AuditRecord, Run
from memory.host.paging import Page
from memory.host.tenancy import TenantScope
from memory.models import Pass, PassSchedule
from memory.passes import orders, pass_schedules
from memory.passes.pass_schedules import PassTimes
from openwop_console.process import recovery, scheduler
from tests import building
from tests.fixtures_queue import Drain
from tests.memory.test_passes import Counting, flow

pytestmark = pytest.mark.django_db
NOW = datetime(2026, 3, 2, 12, 0, 30, tzinfo=UTC)
__all__ = ["flow"]


@pytest.fixture(autouse=True)
def counting(flow: Counting) -> Counting:
    """Every kind is a small flow of the tests."""
    return flow


def keep(owner: TenantScope, ref: str = "notes", *, now: datetime = NOW, **given: Any) -> PassSchedule:
    times = {"kind": "counting", "memory_ref": ref, "cron": "* * * * *", **given}
    return pass_schedules.set_schedule(owner, PassTimes(**times), now=now)


def minutes(count: float) -> datetime:
    """The middle of the minute ``count`` minutes from now."""
    return NOW + timedelta(minutes=count)


def fire_due(now: datetime) -> int:
    return pass_schedules.fire_due(queue=lambda row: None, now=now)


def made(owner: TenantScope) -> list[tuple[str, str, str]]:
    """The window, state and code of each pass of the tenant, oldest first."""
    return list(Pass.objects.of(owner.tenant_id).order_by("id").values_list("window", "state", "code"))


@pytest.mark.engines
def test_a_tick_is_one_pass_of_its_writer_however_often_one_looks() -> None:
    acme = building.scope()
    schedule = keep(acme, options={"size": 3})
    assert fire_due(NOW) == 0
    assert [fire_due(minutes(1)) for _ in range(3)] == [1, 0, 0]
    [row] = Pass.objects.of(acme.tenant_id)
    assert (row.kind, row.memory_ref, row.options, row.trigger) == ("counting", "notes", {"size": 3}, "scheduled")
    assert (row.window, row.requested_by) == ("tick/2026-03-02T12:01:00.000Z", acme.principal.id)
    fresh = pass_schedules.find(acme, schedule.id)
    assert (fresh.last_pass_id, fresh.next_at) == (row.id, datetime(2026, 3, 2, 12, 2, tzinfo=UTC))
    assert pass_schedules.last_passes(acme, [fresh]) == {schedule.id: row}


def test_the_clock_of_the_console_fires_and_a_worker_carries_out(drain: Drain) -> None:
    for slug in ("acme", "globex"):
        keep(building.scope(slug))
    scheduler.Scheduler().tick(minutes(1))
    drain()
    for slug in ("acme", "globex"):
        assert [state for _, state, _ in made(building.scope(slug))] == ["done"]


def test_after_an_outage_one_tick_stands_for_all() -> None:
    acme = building.scope()
    keep(acme, cron="0 13 * * *")
    assert [fire_due(NOW + timedelta(days=3, hours=2)) for _ in range(2)] == [1, 0]
    assert made(acme) == [("tick/2026-03-05T13:00:00.000Z", "waiting", "")]


def test_a_schedule_made_anew_does_not_do_a_tick_again() -> None:
    acme = building.scope()
    schedule = keep(acme)
    fire_due(minutes(1))
    pass_schedules.remove(acme, schedule.id, now=minutes(1))
    keep(acme, now=NOW)
    fire_due(minutes(1))
    assert len(made(acme)) == 1


def _revoked(owner: TenantScope) -> None:
    key_id = ids.parse("key", owner.principal.id)
    assert key_id
    api_keys.revoke_api_key(owner.tenant_id, key_id, now=NOW)


def test_a_writer_who_may_not_any_more_is_refused_on_record_and_stops_nobody() -> None:
    acme, other = building.scope(), building.scope()
    schedule = keep(acme)
    keep(other, "others")
    _revoked(acme)
    assert fire_due(minutes(1)) == 1
    refused = pass_schedules.last_passes(other, [pass_schedules.find(other, schedule.id)])[schedule.id]
    assert (refused.state, refused.code, refused.requested_by) == ("refused", "key_revoked", acme.principal.id)
    assert Run.objects.of(acme.tenant_id).get(id=refused.run_id).status == "failed"


def test_options_that_make_no_sense_any_more_are_refused_on_record(counting: Counting) -> None:
    acme = building.scope()
    keep(acme, options={"size": 3})
    counting.most = 2
    fire_due(minutes(1))
    assert made(acme) == [("tick/2026-03-02T12:01:00.000Z", "refused", "validation_error")]


@pytest.mark.engines
@pytest.mark.parametrize(
    ("spoil", "next_at"),
    [
        ({"cron": "not a cron"}, None),
        ({"timezone": "Mars/Olympus"}, None),
        ({"kind": "gone", "options": None}, datetime(2026, 3, 2, 12, 2, tzinfo=UTC)),
    ],
)
def test_a_bad_row_is_on_record_and_the_others_go_on(
    spoil: dict[str, Any], next_at: datetime | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    acme = building.scope()
    bad = keep(acme, "bad")
    keep(acme, "good")
    if "options" in spoil:
        spoil = {"kind": "broken"}
        monkeypatch.setitem(orders.KINDS, "broken", object())
    PassSchedule.objects.written_by(pass_schedules.WRITER).filter(id=bad.id).update(**spoil)
    assert fire_due(minutes(1)) == 1
    assert fire_due(minutes(1)) == 0
    of_bad = Pass.objects.of(acme.tenant_id).get(memory_ref="bad")
    assert (of_bad.state, of_bad.code) == ("failed", "internal_error")
    assert pass_schedules.find(acme, bad.id).next_at == next_at


@pytest.mark.engines
@pytest.mark.django_db(transaction=True)
def test_ten_who_look_at_once_make_one_pass_and_two_who_take_it_do_it_once(counting: Counting) -> None:
    acme = building.scope()
    for number in range(3):
        keep(acme, f"s{number}")

    def look(number: int) -> int:
        try:
            fired = fire_due(minutes(1))
            for row in Pass.objects.of(acme.tenant_id):
                orders.run_pass(acme.tenant_id, row.id, holder=f"host{number}/1", clock=lambda: minutes(1))
            return fired
        finally:
            connection.close()

    with ThreadPoolExecutor(10) as pool:
        assert sum(pool.map(look, range(10))) == 3
    assert [state for _, state, _ in made(acme)] == ["done"] * 3
    assert counting.finished == 3


def test_a_firing_that_dies_leaves_nothing_and_is_made_again() -> None:
    acme = building.scope()
    schedule = keep(acme)
    queued: list[Pass] = []
    with pytest.raises(RuntimeError), transaction.atomic():
        assert pass_schedules.fire(acme.tenant_id, schedule.id, queue=queued.append, now=minutes(1))
        raise RuntimeError("the process died before the commit")
    assert made(acme) == []
    assert pass_schedules.fire(acme.tenant_id, schedule.id, queue=queued.append, now=minutes(1))
    assert len(queued) == 2


# --- asking for schedules ---------------------------------------------------------------------------------------------


@pytest.mark.engines
def test_a_ref_has_one_schedule_of_a_kind_and_keeping_it_again_changes_it() -> None:
    acme = building.scope()
    first = keep(acme)
    again = keep(acme, cron=" 0  3 * * * ", timezone="Europe/Berlin")
    assert (again.id, again.cron) == (first.id, "0 3 * * *")
    assert again.next_at == datetime(2026, 3, 3, 2, 0, tzinfo=UTC)
    assert pass_schedules.page(acme, size=10) == Page([again], 1)
    acts = AuditRecord.objects.of(acme.tenant_id).filter(action__startswith="pass-schedule.").order_by("seq")
    assert [act.action for act in acts] == ["pass-schedule.created", "pass-schedule.changed"]


def test_a_schedule_that_rests_ticks_no_more_until_it_is_enabled() -> None:
    acme = building.scope()
    schedule = keep(acme)
    assert scheduling.list_next_ticks(keep(acme, enabled=False)) == []
    assert fire_due(minutes(5)) == 0
    woken = keep(acme, now=minutes(5))
    assert scheduling.list_next_ticks(woken)[0] == minutes(6).replace(second=0)
    assert len(scheduling.list_next_ticks(woken)) == 5
    kept = keep(acme, now=minutes(30), options={"size": 1})
    assert kept.next_at == woken.next_at
    assert kept.id == schedule.id


def test_what_cannot_be_honoured_is_refused_with_its_field() -> None:
    for given, field in (
        ({"cron": "* * * *"}, "cron"),
        ({"cron": ""}, "cron"),
        ({"cron": "0 0 31 2 *"}, "cron"),
        ({"timezone": "Europe/Atlantis"}, "timezone"),
        ({"kind": "forget"}, "kind"),
        ({"options": {"size": "many"}}, "options.size"),
    ):
        with pytest.raises(Invalid) as refused:
            keep(building.scope(), **given)
        assert [error["field"] for error in refused.value.details["errors"]] == [field], (given, field)


def test_a_tick_beyond_the_horizon_is_refused() -> None:
    with pytest.raises(ScheduleHorizonExceeded):
        keep(building.scope(), cron="0 0 1 12 *")


REFUSED = {"../notes": Invalid, "": Invalid, "x" * 257: Invalid, "tenant/globex/notes": NotFound}


@pytest.mark.engines
@pytest.mark.parametrize("ref", [*REFUSED, "of s3cret-canary-value"])
def test_a_malformed_ref_is_refused_and_a_foreign_one_is_not_found(ref: str) -> None:
    acme = building.scope()
    vault.store_secret(acme.tenant_id, "crm", "s3cret-canary-value", now=NOW)
    with pytest.raises(REFUSED.get(ref, NotFound)):
        keep(acme, ref)
    assert not PassSchedule.objects.of(acme.tenant_id).exists()


def test_who_may_not_run_passes_schedules_none() -> None:
    for role in sorted(access.ROLES.keys() - {"operator", "owner"}):
        owner = building.scope()
        schedule = keep(owner)
        other = building.scope(role=role)
        with pytest.raises(Forbidden):
            keep(other, "mine")
        with pytest.raises(Forbidden):
            pass_schedules.remove(other, schedule.id, now=NOW)


def test_another_tenant_s_schedule_is_not_there() -> None:
    schedule = keep(building.scope())
    globex = building.scope("globex")
    for act in (pass_schedules.find, lambda scope, each: pass_schedules.remove(scope, each, now=NOW)):
        with pytest.raises(NotFound):
            act(globex, schedule.id)
    assert pass_schedules.page(globex, size=10) == Page([], 0)


def test_what_a_dead_console_held_is_taken_up_at_its_next_start(counting: Counting, drain: Drain) -> None:
    acme = building.scope()
    keep(acme)
    fire_due(minutes(1))
    [row] = Pass.objects.of(acme.tenant_id)
    assert passes.claim(acme.tenant_id, row.id, holder="here/7", now=minutes(1))
    assert passes.claim(acme.tenant_id, row.id, holder="here/8", now=minutes(1.1)) is None
    recovery.recover("elsewhere", minutes(1.1))
    assert passes.claim(acme.tenant_id, row.id, holder="here/8", now=minutes(1.1)) is None
    recovery.recover("here", minutes(1.1))
    assert tasks.enqueue_unattended() == 1
    drain()
    assert made(acme)[0][1] == "done"
    assert counting.finished == 1
