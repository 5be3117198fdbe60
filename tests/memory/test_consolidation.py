"""Consolidation: what says the same becomes one, nothing is lost, and a second pass finds nothing to do."""

import json
from dataclasses import asdict
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.test import override_settings
from django.utils import timezone

from memory import adapter, ledger, memory_policy, passes, provenance, retention_sweep
from memory.adapter.runs import RunView
from memory.forget import execution
from memory.host import event_log, ids, vault
from memory.host.errors import Invalid
from memory.host.models import Run
from memory.host.tenancy import TenantScope
from memory.models import Pass, PassState, Reconciled
from memory.models.entry import MemoryEntry, Tombstone
from memory.passes import LostClaim, consolidation, orders
from memory.passes.orders import RequestedPass
from memory.text.similarity import reading, reconciling
from tests import building, desks
from tests.desks import counts, interrupted_at, told

pytestmark = pytest.mark.django_db
SAME = ("The Pro plan includes weekly reports", "Please note that the pro plan includes weekly reports.")
OLD, NEW = "The Pro plan costs $49 per month", "The Pro plan now costs $59 per month"
HERE = "notes"


class Desk(desks.Desk):
    """One that consolidates."""

    def order(self, **options: Any) -> Pass:
        return orders.order(self.owner, RequestedPass("consolidate", HERE, **options), now=timezone.now())

    def consolidate(self, **options: Any) -> Pass:
        done = self.work(self.order(**options))
        assert done.state == PassState.DONE, done.outcome
        return done

    def texts(self) -> list[str]:
        return sorted(building.contents(self.owner, HERE))


@pytest.fixture
def desk() -> Desk:
    return Desk()


def test_what_says_the_same_becomes_one_and_an_older_value_rests(desk: Desk) -> None:
    one, other = desk.say(*SAME)
    old, new = desk.say(OLD, NEW)
    desk.say("Ana prefers email")

    done = desk.consolidate()

    assert desk.texts() == sorted([SAME[0], NEW, "Ana prefers email"]) or desk.texts() == sorted(
        [SAME[1], NEW, "Ana prefers email"]
    )
    assert counts(done) == (5, 3)
    [event] = told(done)
    gone = {each.source_id for each in provenance.lineage_of_pass(done.tenant_id, done.id, limit=10)}
    assert set(event.pop("mergedIds")) == {ids.wire("mem", each) for each in gone}
    assert event == {"memoryRef": HERE, "inputCount": 5, "outputCount": 3, "trigger": "on-demand"}
    assert old in gone
    assert gone - {old} < {one, other}
    assert provenance.descendants_of(done.tenant_id, [old])[old][0].target_id == new


def test_a_second_pass_changes_nothing_and_says_so(desk: Desk) -> None:
    desk.say(*SAME, OLD, NEW)
    desk.consolidate()
    before = desk.texts()

    for options in ({}, {"full": True}):
        again = desk.consolidate(options=options)
        assert counts(again) == (2, 2)
        assert desk.texts() == before
        assert len(told(again)) == 1


def test_the_figures_add_up(desk: Desk) -> None:
    desk.say(*SAME, *SAME, OLD, NEW)
    total = adapter.passes.count_live(building.ref(desk.owner, HERE), now=timezone.now())

    outcome = desk.consolidate().outcome

    left = adapter.passes.count_live(building.ref(desk.owner, HERE), now=timezone.now())
    assert (outcome["inputCount"], outcome["outputCount"]) == (total.entries, left.entries)
    assert (outcome["tokensBefore"], outcome["tokensAfter"]) == (total.tokens, left.tokens)
    assert (outcome["merged"], outcome["superseded"], outcome["strengthened"]) == (3, 1, 1)


def test_a_survivor_speaks_for_all_that_went_into_it(desk: Desk) -> None:
    desk.say(*SAME, *SAME)
    desk.consolidate()
    desk.say(SAME[0])
    desk.consolidate()

    [(sources, last)] = adapter.passes.strengths_of_ref(building.ref(desk.owner, HERE)).values()

    assert (sources, last) == (5, desk.now)


def test_what_the_group_carries_is_carried_on(desk: Desk) -> None:
    soon = timezone.now() + timedelta(hours=1)
    desk.say(SAME[0], tags=("a", "b"), expires_at=soon)
    desk.say(SAME[0], tags=("b", "c"), subject="ana@example.com", expires_at=soon + timedelta(days=1))

    done = desk.consolidate()

    [row] = MemoryEntry.objects.of(desk.owner.tenant_id).filter(retired_at=None)
    assert (row.derived, row.content, row.subject) == ("merged", SAME[0], "ana@example.com")
    assert set(row.tags) == {"a", "b", "c"}
    assert row.expires_at == soon + timedelta(days=1)
    assert counts(done) == (2, 1)
    assert done.outcome["written"] == 1
    assert len(told(done)[0]["mergedIds"]) == 2
    written = [event for event in event_log.read(done.tenant_id, done.run_id) if event.type == "memory.written"]
    assert [event.payload.get("nodeId") for event in written] == [None]
    assert counts(desk.consolidate()) == (1, 1)


def test_entries_of_different_subjects_or_owners_stay_apart(desk: Desk) -> None:
    desk.say(SAME[0], subject="ana@example.com")
    desk.say(SAME[0], subject="ben@example.com")
    desk.say("Prefers email", tags=("customer:acme",))
    desk.say("Prefers email", tags=("customer:globex",))

    assert counts(desk.consolidate()) == (4, 4)


def test_a_newer_value_that_expires_sooner_replaces_nothing(desk: Desk) -> None:
    desk.say(OLD)
    desk.say(NEW, expires_at=timezone.now() + timedelta(days=1))

    assert counts(desk.consolidate()) == (2, 2)


def test_protected_entries_are_left_alone(desk: Desk) -> None:
    [first, *_] = desk.say(SAME[0], SAME[0], OLD, NEW)
    [old] = desk.say("The Team plan costs $9")
    desk.say("The Team plan now costs $12")
    for entry in (first, old):
        ledger.entries.protect(desk.owner, entry, protected=True, now=timezone.now())

    assert counts(desk.consolidate()) == (6, 5)
    assert {first, old} <= set(MemoryEntry.objects.filter(retired_at=None).values_list("id", flat=True))


def test_nothing_outside_the_one_ref_is_touched(desk: Desk) -> None:
    desk.say(*SAME)
    desk.say(*SAME, memory_ref="elsewhere")
    other = building.scope("globex")
    run = building.open_run(other)
    for text in SAME:
        building.write(other, run, text)
    before = list(MemoryEntry.objects.exclude(memory_ref=HERE).order_by("id").values())
    before += list(MemoryEntry.objects.of(other.tenant_id).order_by("id").values())

    desk.consolidate()

    after = list(MemoryEntry.objects.exclude(memory_ref=HERE).order_by("id").values())
    after += list(MemoryEntry.objects.of(other.tenant_id).order_by("id").values())
    assert after == before
    assert len(desk.texts()) == 1


def test_a_dry_run_writes_nothing_but_its_outcome(desk: Desk) -> None:
    desk.say(*SAME, OLD, NEW)
    desk.say("Ana prefers tea", tags=("x",))
    desk.say("Ana prefers tea", tags=("y",))
    before = list(MemoryEntry.objects.order_by("id").values())

    foreseen = desk.consolidate(dry_run=True)

    assert list(MemoryEntry.objects.order_by("id").values()) == before
    assert not told(foreseen)
    assert not Reconciled.objects.exists()
    done = desk.consolidate()
    same = {name: value for name, value in foreseen.outcome.items() if name not in ("groups", "groupCount")}
    assert same == {name: value for name, value in done.outcome.items() if name != "reasons"}
    assert {(group["kind"], group["why"]) for group in foreseen.outcome["groups"]} == {
        ("merged", "same"),
        ("superseded", "amount"),
    }
    assert all(len(group["from"]) == 1 for group in foreseen.outcome["groups"])
    assert NEW not in json.dumps(foreseen.outcome)


@pytest.mark.engines
def test_a_later_pass_sees_what_is_new_against_what_was_there(desk: Desk) -> None:
    desk.say(*(f"Customer {number} prefers email" for number in range(20)), OLD)
    desk.consolidate()
    looked = Reconciled.objects.filter(memory_ref=HERE).count()
    desk.say("customer 7 prefers e-mail.", NEW, "Somebody else wrote")

    done = desk.consolidate()

    assert counts(done) == (24, 22)
    assert Reconciled.objects.filter(memory_ref=HERE).count() == looked + 1
    assert NEW in desk.texts()
    assert OLD not in desk.texts()
    assert counts(desk.consolidate()) == (22, 22)


def test_what_was_retired_and_came_back_is_seen_again(desk: Desk) -> None:
    desk.say(*(f"Customer {number} prefers email" for number in range(20)))
    [back] = desk.say(SAME[0])
    ledger.retirement.retire_entry(desk.owner, back, reason="", now=timezone.now())
    desk.say(SAME[1])
    desk.consolidate()
    ledger.retirement.restore_entry(desk.owner, back, now=timezone.now())

    assert counts(desk.consolidate()) == (22, 21)


@pytest.mark.parametrize("known", [True, False], ids=["that was looked at before", "that never was"])
def test_an_entry_that_is_protected_no_more_is_seen_again(desk: Desk, known: bool) -> None:
    desk.say(*(f"Customer {number} prefers email" for number in range(20)))
    [kept] = desk.say(SAME[0])
    if known:
        desk.consolidate()
    ledger.entries.protect(desk.owner, kept, protected=True, now=timezone.now())
    desk.say(SAME[1])
    assert counts(desk.consolidate()) == (22, 22)

    ledger.entries.protect(desk.owner, kept, protected=False, now=timezone.now())

    assert counts(desk.consolidate()) == (22, 21)
    assert counts(desk.consolidate()) == (21, 21)


def test_what_was_looked_at_retired_and_came_back_is_seen_again(desk: Desk) -> None:
    desk.say(*(f"Customer {number} prefers email" for number in range(20)))
    [back] = desk.say(SAME[0])
    desk.consolidate()
    ledger.retirement.retire_entry(desk.owner, back, reason="", now=timezone.now())
    desk.say(SAME[1])
    desk.consolidate()

    ledger.retirement.restore_entry(desk.owner, back, now=timezone.now())

    assert counts(desk.consolidate()) == (22, 21)


@pytest.mark.engines
def test_what_is_protected_no_more_while_a_pass_goes_on_is_seen_by_the_next(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk.say(*(f"Customer {number} prefers email" for number in (1, 1, 2, 3, 4, 5, 6, 7, 8, 9)))
    [kept, _] = desk.say(*SAME)
    ledger.entries.protect(desk.owner, kept, protected=True, now=timezone.now())
    interrupted_at(
        monkeypatch, 1, lambda: ledger.entries.protect(desk.owner, kept, protected=False, now=timezone.now())
    )
    assert counts(desk.consolidate()) == (12, 11)

    assert counts(desk.consolidate()) == (11, 10)


def test_an_expired_entry_does_not_count(desk: Desk) -> None:
    now = timezone.now()
    desk.say("Ana prefers tea", expires_at=now + timedelta(seconds=30))
    desk.say("Ben prefers tea")
    desk.consolidate()

    assert counts(desk.work(desk.order(), lambda: now + timedelta(minutes=1))) == (1, 1)


def test_what_was_merged_away_can_be_restored_and_is_then_left_alone(desk: Desk) -> None:
    desk.say(*SAME)
    done = desk.consolidate()
    [gone] = provenance.lineage_of_pass(done.tenant_id, done.id, limit=2)

    back = ledger.retirement.restore_entry(desk.owner, gone.source_id, now=timezone.now())

    assert back.protected
    assert counts(desk.consolidate()) == (2, 2)
    assert desk.texts() == sorted(SAME)


@pytest.mark.engines
def test_behind_the_window_it_is_gone_with_a_tombstone(desk: Desk) -> None:
    desk.say(*SAME, OLD, NEW)
    done = desk.consolidate()
    now = timezone.now()
    memory_policy.change(desk.owner, {"restore_days": 2}, now=now)

    assert retention_sweep.sweep_merged(now=now + timedelta(days=1)) == 0
    assert retention_sweep.sweep_merged(now=now + timedelta(days=3)) == 2

    stones = {row.id: row.reason for row in Tombstone.objects.of(desk.owner.tenant_id)}
    rows = provenance.lineage_of_pass(done.tenant_id, done.id, limit=3)
    assert stones == {row.source_id: row.kind for row in rows}
    assert sorted(stones.values()) == ["merged", "superseded"]
    assert len(desk.texts()) == 2


def test_a_run_that_started_before_still_reads_the_sources(desk: Desk) -> None:
    desk.say(*SAME)
    before = building.open_run(desk.owner)

    desk.consolidate()

    seen = building.contents(desk.owner, HERE, view=RunView.for_run(before))
    assert sorted(seen) == sorted(SAME)


def test_no_secret_stands_in_what_others_went_into(desk: Desk) -> None:
    text = "Acme signs in with hunter2-hunter2 and AKIAABCDEFGHIJKLMNOP, not <REDACTED:old-key>"
    desk.say(text, text)
    vault.store_secret(desk.owner.tenant_id, "crm", "hunter2-hunter2", now=timezone.now())

    done = desk.consolidate()

    assert desk.texts() == ["Acme signs in with [REDACTED:crm] and [REDACTED:secret-shape], not [REDACTED:old-key]"]
    assert done.outcome["written"] == 1
    assert counts(desk.consolidate()) == (1, 1)


@pytest.mark.engines
def test_a_forget_takes_the_signatures_along(desk: Desk) -> None:
    desk.say("ana@example.com prefers email", "ana@example.com prefers e-mail.", "Ben prefers tea")
    desk.consolidate()
    desk.say("Nothing of note", memory_ref="elsewhere")
    orders.run_pass(
        desk.owner.tenant_id,
        orders.order(desk.owner, RequestedPass("consolidate", "elsewhere"), now=timezone.now()).id,
        holder="test/1",
        clock=timezone.now,
    )

    forget(desk.owner, "ana@example.com")

    assert set(Reconciled.objects.values_list("memory_ref", flat=True)) == {"elsewhere"}
    assert desk.texts() == ["Ben prefers tea"]
    assert counts(desk.consolidate()) == (1, 1)


def forget(owner: TenantScope, name: str) -> None:
    found = execution.preview(owner, [name], now=timezone.now())
    request = execution.confirm(
        owner, found.request.id, typed=name, reason="ticket 17", ticked=set(), now=timezone.now()
    )
    done = execution.execute(request.tenant_id, request.id, holder="test/1", now=timezone.now(), clock=timezone.now)
    assert done is not None
    assert done.state == "forgotten"


def test_a_read_only_host_refuses(desk: Desk) -> None:
    desk.say(*SAME)
    with override_settings(OPENWOP_MEMORY_WRITABLE=False):
        done = desk.work(desk.order())
    assert (done.state, done.code) == (PassState.REFUSED, "capability_not_provided")
    assert desk.texts() == sorted(SAME)


@pytest.mark.parametrize("options", [{"full": "yes"}, {"deep": True}])
def test_an_option_that_makes_no_sense_is_refused(desk: Desk, options: dict[str, Any]) -> None:
    with pytest.raises(Invalid):
        desk.order(options=options)


@pytest.fixture
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(consolidation, "ROOM", 3)


def crash() -> None:
    raise LostClaim("the worker is gone")


@pytest.mark.engines
@pytest.mark.usefixtures("small_parts")
def test_a_pass_that_is_taken_over_comes_to_the_same_end_and_tells_it_once(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk.say(*(f"Customer {number} prefers email" for number in range(4) for _ in range(3)), OLD, NEW)
    desk.say(SAME[0], tags=("a",))
    desk.say(*[SAME[0]] * 4, tags=("b",))
    order = desk.order()
    with monkeypatch.context() as patching:
        interrupted_at(patching, 4, crash)
        assert orders.run_pass(order.tenant_id, order.id, holder="test/1", clock=timezone.now) is None
    later = timezone.now() + timedelta(minutes=5)
    assert 6 < len(desk.texts()) < 19

    done = desk.work(order, lambda: later)

    assert done.state == PassState.DONE
    assert desk.texts() == sorted([*(f"Customer {number} prefers email" for number in range(4)), NEW, SAME[0]])
    assert counts(done) == (19, 6)
    [event] = told(done)
    hidden = set(MemoryEntry.objects.exclude(retired_at=None).values_list("id", flat=True))
    assert {ids.parse("mem", each) for each in event["mergedIds"]} == hidden
    [kept] = MemoryEntry.objects.of(desk.owner.tenant_id).filter(content=SAME[0], retired_at=None)
    assert set(kept.tags) == {"a", "b"}
    strengths = adapter.passes.strengths_of_ref(building.ref(desk.owner, HERE))
    assert sorted(sources for sources, _ in strengths.values()) == [3, 3, 3, 3, 5]
    assert counts(desk.consolidate()) == (6, 6)


@pytest.mark.usefixtures("small_parts")
def test_a_pass_keeps_in_a_word_why_each_was_superseded_when_it_was_taken_over_too(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    fees = [f"The {name} plan costs ${{}} per month" for name in ("Pro", "Basic", "Plus", "Team")]
    older = desk.say(*(fee.format(49) for fee in fees))
    desk.say(*(fee.format(59) for fee in fees))
    order = desk.order()
    with monkeypatch.context() as patching:
        interrupted_at(patching, 2, crash)
        assert orders.run_pass(order.tenant_id, order.id, holder="test/1", clock=timezone.now) is None
    assert 4 < len(desk.texts()) < 8

    done = desk.work(order, lambda: timezone.now() + timedelta(minutes=5))

    assert done.outcome["reasons"] == dict.fromkeys((ids.wire("mem", each) for each in older), "amount")
    assert "reasons" not in desk.consolidate().outcome


@pytest.mark.usefixtures("small_parts")
def test_a_pass_that_is_stopped_leaves_what_it_has_done(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    desk.say(*(f"Customer {number} prefers email" for number in range(4) for _ in range(3)))
    order = desk.order()
    interrupted_at(monkeypatch, 2, lambda: passes.request_stop(order.tenant_id, order.id, now=timezone.now()))

    done = desk.work(order)

    assert done.state == PassState.CANCELLED
    assert 4 < len(desk.texts()) < 12
    [event] = told(done)
    assert (event["inputCount"], event["outputCount"]) == counts(done, PassState.CANCELLED) == (12, len(desk.texts()))
    assert counts(desk.consolidate())[1] == 4


@pytest.mark.parametrize("doing", ["reading", "comparing"])
def test_a_pass_that_is_stopped_while_it_reads_or_compares_takes_nothing_away(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, doing: str
) -> None:
    for module in (reading, reconciling):
        monkeypatch.setattr(module, "OFTEN", 5)
    desk.say(*[SAME[0]] * 12)
    order = desk.order()

    def clock() -> datetime:
        row = Pass.objects.get(id=order.id)
        if (row.doing, row.done, row.stopping) == (doing, 12, False):
            passes.request_stop(order.tenant_id, order.id, now=timezone.now())
        return timezone.now()

    done = orders.run_pass(order.tenant_id, order.id, holder="test/1", clock=clock)

    assert done
    assert done.state == PassState.CANCELLED
    assert len(desk.texts()) == 12


@pytest.mark.parametrize("tags", [(), ("more",)])
def test_nothing_goes_into_what_was_taken_away_meanwhile(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, tags: tuple[str, ...]
) -> None:
    first, second = desk.say(SAME[0], tags=tags) + desk.say(SAME[0])
    tenant = desk.owner.tenant_id
    interrupted_at(
        monkeypatch, 1, lambda: ledger.erase.remove_entries(tenant, (second,), reason="forgotten", now=timezone.now())
    )

    done = desk.consolidate()

    assert list(MemoryEntry.objects.filter(retired_at=None).values_list("id", flat=True)) == [first]
    assert not provenance.lineage_of_pass(tenant, done.id, limit=1)
    assert done.outcome["merged"] == 0


@pytest.mark.engines
def test_a_source_that_was_protected_meanwhile_stays(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    first, second, third = desk.say(SAME[0], SAME[0], SAME[0])
    interrupted_at(
        monkeypatch, 1, lambda: ledger.entries.protect(desk.owner, first, protected=True, now=timezone.now())
    )

    done = desk.consolidate()

    left = set(MemoryEntry.objects.filter(retired_at=None).values_list("id", flat=True))
    assert left == {first, third}
    assert [row.source_id for row in provenance.lineage_of_pass(done.tenant_id, done.id, limit=5)] == [second]


def test_more_than_a_hundred_ids_are_not_named(desk: Desk) -> None:
    desk.say(*[SAME[0]] * 102)

    [event] = told(desk.consolidate())

    assert "mergedIds" not in event
    assert (event["inputCount"], event["outputCount"]) == (102, 1)


def test_its_kind_is_what_it_is_asked_for_by() -> None:
    assert consolidation.KIND == "consolidate"
    assert set(asdict(consolidation.Totals())) >= {"merged", "superseded"}
    assert Run.objects.count() == 0
