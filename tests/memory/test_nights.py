"""Nights: what is new is consolidated and what has grown is distilled, once a night, where the policy says so."""

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from itertools import count, product
from typing import Any

import pytest
from django.core.management import call_command
from django.db import connection
from django.utils import timezone

from memory import memory_policy
from memory.addresses import Address, Tier
from memory.host import scheduling, vault
from memory.host.errors import Invalid
from memory.host.models import Run, Tenant
from memory.ledger.entries import AddressedValue
from memory.models import Archive, MemoryPolicy, Pass
from memory.openintent import entries
from memory.openintent.access import Caller
from memory.passes import nights, orders
from openwop_console.process.scheduler import TIMERS, Scheduler
from tests import building
from tests.fixtures_queue import Drain

pytestmark = pytest.mark.django_db
SAME = "The billing contact of Initech is Bill Lumbergh."
LONG = "Invoice {n} of supplier {n} was paid in week {n} by the team in hall {n}."


def switched_on(**changes: Any) -> datetime:
    """Acme's nights are on; the instant of the first."""
    memory_policy.change(building.scope(), {"nightly": True, **changes}, now=timezone.now())
    return next_night()


def next_night(slug: str = "acme") -> datetime:
    found = MemoryPolicy.objects.get(tenant__slug=slug).next_night_at
    assert found is not None
    return found


def come(now: datetime) -> list[Pass]:
    """What the night at that moment has ordered, carried out."""
    made: list[Pass] = []
    nights.order_nights(queue=made.append, now=now)
    return [ended for row in made if (ended := carried_out(row))]


def carried_out(row: Pass) -> Pass | None:
    return orders.run_pass(row.tenant_id, row.id, holder="here/1", clock=timezone.now)


def kinds(made: list[Pass]) -> list[tuple[str, str, str]]:
    return [(row.kind, row.memory_ref, row.state) for row in made]


@pytest.mark.engines
def test_the_night_of_a_new_tenant_consolidates_what_its_runs_wrote() -> None:
    call_command("create_tenant", "acme")
    building.remember("acme", SAME, SAME, "Milton sits in the basement.")
    building.remember("acme", "alone", memory_ref="alone")
    assert come(next_night() - timedelta(minutes=1)) == []
    [row] = come(next_night())
    assert (row.kind, row.memory_ref, row.state, row.outcome["merged"]) == ("consolidate", "notes", "done", 1)
    assert (row.trigger, row.requested_by) == ("scheduled", "host")
    assert Run.objects.of(row.tenant_id).get(id=row.run_id).status == "completed"


def test_a_new_tenant_has_an_hour_before_its_first_night() -> None:
    made = datetime(2026, 3, 2, 2, 30, tzinfo=UTC)
    acme = building.tenant()
    memory_policy.begin_nights(acme.id, now=made)
    assert next_night() == datetime(2026, 3, 3, 3, tzinfo=UTC)


def test_a_provisioned_tenant_has_its_nights_and_one_that_was_there_keeps_its_own(tmp_path: Any) -> None:
    building.tenant("globex")
    file = tmp_path / "world.json"
    file.write_text('{"tenants": [{"slug": "acme"}, {"slug": "globex"}]}')
    call_command("provision", str(file))
    nightly = {each.slug: memory_policy.policy_of(each.id).nightly for each in Tenant.objects.all()}
    assert nightly == {"acme": True, "globex": False}


def test_a_tenant_whose_nights_are_off_has_none() -> None:
    first = switched_on()
    building.write_each(building.scope(), SAME, SAME)
    building.write_each(building.scope("globex"), SAME, SAME)
    memory_policy.change(building.scope(), {"nightly": False}, now=timezone.now())
    assert come(first + timedelta(days=2)) == []
    assert Pass.objects.count() == 0


def test_a_night_goes_only_where_something_is_new_since_the_last() -> None:
    first = switched_on()
    building.write_each(building.scope(), SAME, SAME)
    building.write_each(building.scope(), "one", "two", memory_ref="other")
    assert sorted(row.memory_ref for row in come(first)) == ["notes", "other"]
    assert come(next_night()) == []
    building.write_each(building.scope(), "three", memory_ref="other")
    assert kinds(come(next_night())) == [("consolidate", "other", "done")]


def test_a_ref_is_not_new_to_the_next_night_because_somebody_wrote_elsewhere_during_its_pass() -> None:
    first = switched_on()
    building.write_each(building.scope(), SAME, SAME, "Milton sits in the basement.")
    made: list[Pass] = []
    nights.order_nights(queue=made.append, now=first)
    looks = count(1)

    def clock() -> datetime:
        if next(looks) == 2:  # the first is the claim, the second when the ref is looked at
            building.write_each(building.scope(), "elsewhere", memory_ref="elsewhere")
        return timezone.now()

    ended = orders.run_pass(made[0].tenant_id, made[0].id, holder="here/1", clock=clock)
    assert ended
    assert ended.state == "done"
    assert come(next_night()) == []


def test_after_an_outage_one_night_stands_for_all() -> None:
    first = switched_on()
    building.write_each(building.scope(), SAME, SAME)
    late = first + timedelta(days=3, hours=7)
    assert len(come(late)) == 1
    assert come(late + timedelta(minutes=1)) == []
    assert next_night() == first + timedelta(days=4)


@pytest.mark.engines
@pytest.mark.django_db(transaction=True)
def test_workers_that_look_at_once_have_one_night_between_them() -> None:
    first = switched_on()
    building.write_each(building.scope(), SAME, SAME)

    def look(number: int) -> int:
        try:
            return nights.order_nights(queue=lambda row: None, now=first)
        finally:
            connection.close()

    with ThreadPoolExecutor(4) as pool:
        assert sum(pool.map(look, range(4))) == 1
    assert Pass.objects.count() == 1


def test_a_ref_is_distilled_when_it_has_grown_by_more_than_the_policy_says() -> None:
    first = switched_on(distill_above=300)
    building.write_each(building.scope(), *(LONG.format(n=n) for n in range(30)))
    assert kinds(come(first)) == [("consolidate", "notes", "done"), ("distill", "notes", "done")]
    assert Archive.objects.get().memory_ref == "notes"
    building.write_each(building.scope(), "One more was paid.")
    assert kinds(come(next_night())) == [("consolidate", "notes", "done")]
    building.write_each(building.scope(), *(LONG.format(n=n) for n in range(30, 60)))
    assert kinds(come(next_night())) == [("consolidate", "notes", "done"), ("distill", "notes", "done")]
    memory_policy.change(building.scope(), {"distill_above": 0}, now=timezone.now())
    building.write_each(building.scope(), *(LONG.format(n=n) for n in range(60, 90)))
    assert kinds(come(next_night())) == [("consolidate", "notes", "done")]


def test_a_night_orders_no_more_than_its_most_and_the_longest_waiting_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nights, "MOST", 2)
    first = switched_on()
    for ref in ("a", "b", "c"):
        building.write_each(building.scope(), "one", "two", memory_ref=ref)
    assert [row.memory_ref for row in come(first)] == ["a", "b"]
    building.write_each(building.scope(), "three", memory_ref="a")
    assert [row.memory_ref for row in come(next_night())] == ["c", "a"]


def test_what_a_full_night_leaves_for_the_next_is_on_record_with_its_number(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nights, "MOST", 1)
    first = switched_on()
    for ref in ("a", "b", "c"):
        building.write_each(building.scope(), "one", "two", memory_ref=ref)
    come(first)
    [left] = Pass.objects.filter(memory_ref="").select_related("run")
    assert (left.kind, left.state, left.code) == ("consolidate", "refused", "night_full")
    assert "2 more wait for the next one" in (left.run.error or {})["message"]
    come(first)
    assert Pass.objects.filter(code="night_full").count() == 1


def test_the_night_comes_by_the_clock_of_the_tenants_zone() -> None:
    memory_policy.change(
        building.scope(),
        {"nightly": True, "night_at": "02:30", "timezone": "America/New_York"},
        now=datetime(2026, 7, 1, 12, tzinfo=UTC),
    )
    assert next_night() == datetime(2026, 7, 2, 6, 30, tzinfo=UTC)
    changed = datetime(2026, 7, 3, 12, tzinfo=UTC)
    memory_policy.change(building.scope(), {"stale_days": 60}, now=changed)
    assert next_night() == datetime(2026, 7, 2, 6, 30, tzinfo=UTC)  # one that was missed is not lost
    memory_policy.change(building.scope(), {"night_at": "04:00"}, now=changed)
    assert next_night() == datetime(2026, 7, 4, 8, tzinfo=UTC)


@pytest.mark.parametrize("night_at", ["3:00", "24:00", "03:60", "noon", ""])
def test_a_time_that_is_none_is_refused(night_at: str) -> None:
    with pytest.raises(Invalid) as refused:
        memory_policy.change(building.scope(), {"night_at": night_at}, now=timezone.now())
    assert refused.value.details["errors"][0]["field"] == "night_at"


def test_the_due_loop_begins_the_night_and_workers_carry_it_out(drain: Drain) -> None:
    switched_on()
    building.write_each(building.scope(), SAME, SAME)
    now = timezone.now()
    MemoryPolicy.objects.written_by(memory_policy.WRITER).update(next_night_at=now)
    scheduling.sync_timers([each for each in TIMERS if each.name == "nights"], now=now - scheduling.QUIET_START)
    Scheduler().tick(now)
    drain()
    assert Pass.objects.get().state == "done"


def test_a_night_goes_over_no_ref_that_holds_a_secret_and_over_nothing_of_openintent() -> None:
    first, acme = switched_on(distill_above=1), Caller(building.scope(), "billing-01")
    building.remember("acme", SAME, SAME, memory_ref="tok-4711-4711-4711")
    vault.store_secret(acme.scope.tenant_id, "crm", "tok-4711-4711-4711", now=timezone.now())
    for tier, number in product((Tier.WORKING, Tier.EPISODIC), range(2)):
        address = Address(tier=tier, agent_id="billing-01", namespace="invoices", key=f"{tier}-{number}")
        entries.create(acme, AddressedValue(address, {"text": SAME}, ()), now=timezone.now())
    assert come(first) == []
    assert Pass.objects.count() == 0


def test_a_night_that_cannot_be_looked_up_stops_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    first = switched_on()
    memory_policy.begin_nights(building.tenant("globex").id, now=timezone.now())
    building.write_each(building.scope("globex"), SAME, SAME)
    acme, look = building.tenant().id, nights.plan_night

    def broken(tenant_id: Any, *, now: datetime) -> Any:
        if tenant_id == acme:
            raise ValueError("a bug")
        return look(tenant_id, now=now)

    monkeypatch.setattr(nights, "plan_night", broken)
    due = max(first, next_night("globex"))
    assert [row.memory_ref for row in come(due)] == ["notes"]
    assert next_night() > due
