"""Standing commitments: inferred once, fired once an occasion, never from a replay, gone with what they came from."""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest
from django.db import connection
from django.utils import timezone

from memory import agents, commitments, ledger, memory_policy, provenance
from memory.commitments import lifecycle
from memory.entry_drafts import EntryDraft
from memory.forget import execution
from memory.forget.erasers.special_stores import CommitmentRows
from memory.host import ids, runs, vault
from memory.host.erasure import Identifiers
from memory.host.errors import Conflict, Forbidden, Invalid, NotFound
from memory.host.models import Run, RunEvent
from memory.ledger.retirement import EntryToRetire
from memory.models import Commitment, CommitmentState, CommitmentWatch, Firing
from memory.provenance import Descent
from openwop_console.runtime import commitment_firing, replay, schedules
from tests import building

pytestmark = pytest.mark.django_db
MONDAY = datetime(2026, 11, 16, 10, tzinfo=UTC)
S = CommitmentState


class Desk:
    """Acme's ledger with one run that writes, and a clock that the test sets."""

    def __init__(self, slug: str = "acme", at: datetime = MONDAY) -> None:
        self.scope = building.scope(slug)
        self.run = building.open_run(self.scope)
        self.at = at

    @property
    def tenant_id(self) -> UUID:
        return self.scope.tenant_id

    def says(self, text: str, **options: Any) -> UUID:
        """An entry with that text, written now."""
        return building.write(self.scope, self.run, text, now=self.at, **options).id

    def keeps(self, *, hours: float = 0) -> int:
        """How many commitments have fired when a worker looks after so many more hours."""
        self.at += timedelta(hours=hours)
        return commitment_firing.process_commitments(self.tenant_id, clock=lambda: self.at)

    @property
    def all(self) -> list[Commitment]:
        return list(Commitment.objects.of(self.tenant_id).order_by("id"))

    @property
    def only(self) -> Commitment:
        assert len(self.all) == 1
        return self.all[0]

    @property
    def facts(self) -> list[dict[str, Any]]:
        """The payload of every ``commitment.fired`` on the tenant's log."""
        fired = RunEvent.objects.of(self.tenant_id).filter(type="commitment.fired").order_by("id")
        return list(fired.values_list("payload", flat=True))


@pytest.fixture
def desk() -> Desk:
    return Desk()


# --- inference --------------------------------------------------------------------------------------------------------


def test_an_intention_that_a_run_wrote_is_armed_and_bound_to_its_entry_ref_and_tenant(desk: Desk) -> None:
    entry = desk.says("Ana was angry. Call her back in 3 days.", agent_id="acme.writer")
    desk.keeps()
    found = desk.only
    assert (found.entry_id, found.memory_ref, found.agent_id, found.state) == (entry, "notes", "acme.writer", S.ARMED)
    assert (found.starts, found.ends, found.condition) == (15, 39, "time")
    assert found.due_at == datetime(2026, 11, 19, 9, tzinfo=UTC)


@pytest.mark.engines
def test_reading_again_from_the_beginning_arms_nothing_twice(desk: Desk) -> None:
    desk.says("Call Ana in 3 days. When the invoice clears, tell finance.")
    desk.keeps()
    CommitmentWatch.objects.written_by(lifecycle.WRITER).filter(tenant_id=desk.tenant_id).update(position=0)
    desk.keeps()
    assert len(desk.all) == 2


def test_a_ledger_longer_than_one_part_is_read_to_its_end(desk: Desk) -> None:
    for number in range(7):
        desk.says(f"Call customer {number} in 3 days.")
    parts = 0
    while commitments.inference.read_next(desk.tenant_id, now=desk.at, limit=2):
        parts += 1
    assert (len(desk.all), parts) == (7, 3)


def test_what_passes_and_the_host_wrote_was_retired_or_has_expired_makes_no_commitment(desk: Desk) -> None:
    gone = desk.says("Call Ana in 3 days.")
    ledger.retirement.retire_entry(desk.scope, gone, reason="", now=desk.at)
    desk.says("Call Bob in 3 days.", expires_at=desk.at + timedelta(minutes=1))
    derived = ledger.entries.Derivation(EntryDraft("Call Carl in 3 days."), "merged")
    ledger.entries.write_derived(building.ref(desk.scope, "notes"), [derived], run=desk.run, now=desk.at)
    desk.keeps(hours=1)
    assert desk.all == []


def test_the_zone_is_the_tenants(desk: Desk) -> None:
    memory_policy.change(desk.scope, {"timezone": "Asia/Tokyo"}, now=desk.at)
    desk.says("Call Ana tomorrow at 9:30.")
    desk.keeps()
    assert (desk.only.due_at, desk.only.timezone) == (datetime(2026, 11, 17, 0, 30, tzinfo=UTC), "Asia/Tokyo")


def test_an_old_ledger_arms_nothing_that_would_be_stale(desk: Desk) -> None:
    desk.says("When the invoice clears, tell finance. Call Ana in 3 days.")
    desk.keeps(hours=24 * 200)
    assert desk.all == []


def test_tenants_are_apart(desk: Desk) -> None:
    globex = Desk("globex")
    desk.says("When the invoice clears, tell finance.")
    desk.keeps()
    globex.says("The invoice cleared.")
    assert (globex.keeps(), desk.keeps(), globex.all) == (0, 0, [])
    with pytest.raises(NotFound):
        commitments.lifecycle.find(globex.scope, desk.only.id, now=desk.at)


# --- firing: time -----------------------------------------------------------------------------------------------------


def test_a_time_fires_once_and_the_fact_has_ids_alone(desk: Desk) -> None:
    entry = desk.says("Call Ana in 3 days about the secret plan.")
    assert desk.keeps() == 0
    assert desk.keeps(hours=71) == 1
    assert desk.keeps(hours=1000) == 0
    assert desk.facts == [
        {
            "commitmentId": ids.wire("cmt", desk.only.id),
            "memoryRef": "notes",
            "condition": "time",
            "memoryId": ids.wire("mem", entry),
        }
    ]
    assert (desk.only.state, desk.only.fired_count) == (S.FIRED, 1)
    told = runs.find(desk.tenant_id, Firing.objects.of(desk.tenant_id).get().run_id)
    assert (told.system, told.status) == (True, "completed")


@pytest.mark.engines
def test_a_time_that_comes_again_fires_once_an_instant_and_stays_armed(desk: Desk) -> None:
    desk.says("Every Friday send the report.")
    desk.keeps()
    fired = [desk.keeps(hours=24) for _ in range(21)]
    assert (sum(fired), desk.only.state, desk.only.fired_count) == (3, S.ARMED, 3)
    assert len({each.occasion for each in Firing.objects.of(desk.tenant_id)}) == 3


def test_every_other_friday_fires_each_second_one_in_step_also_after_an_outage_and_when_put_off(desk: Desk) -> None:
    desk.says("Every other Friday send the report.")
    desk.keeps()
    assert desk.only.due_at == datetime(2026, 11, 20, 9, tzinfo=UTC)
    fired = sum(desk.keeps(hours=24) for _ in range(28))
    assert (fired, desk.only.due_at) == (2, datetime(2026, 12, 18, 9, tzinfo=UTC))
    assert desk.keeps(hours=24 * 40) == 1
    assert Firing.objects.order_by("id").last().occasion == "2027-01-15T09:00:00+00:00"
    until = datetime(2027, 1, 30, tzinfo=UTC)
    put_off = commitments.lifecycle.snooze(desk.scope, desk.only.id, until=until, now=desk.at)
    assert put_off.due_at == datetime(2027, 2, 12, 9, tzinfo=UTC)


@pytest.mark.engines
def test_after_an_outage_the_latest_instant_stands_for_all(desk: Desk) -> None:
    desk.says("Check the queue every day at 8:00.")
    desk.keeps()
    assert desk.keeps(hours=24 * 10) == 1
    assert Firing.objects.of(desk.tenant_id).get().occasion == "2026-11-26T08:00:00+00:00"
    assert desk.only.due_at == datetime(2026, 11, 27, 8, tzinfo=UTC)


def test_a_time_that_nobody_looked_at_for_too_long_is_stale(desk: Desk) -> None:
    memory_policy.change(desk.scope, {"stale_days": 2}, now=desk.at)
    desk.says("Call Ana in 3 days.")
    desk.keeps()
    assert desk.keeps(hours=24 * 6) == 0
    assert (desk.only.state, desk.only.reason) == (S.STALE, lifecycle.UNFIRED)


# --- firing: predicates -----------------------------------------------------------------------------------------------


def test_a_condition_fires_once_each_time_it_turns_from_false_to_true(desk: Desk) -> None:
    desk.says("When the invoice clears, tell finance.")
    told = [
        ("The invoice will clear soon.", 0),
        ("The invoice cleared.", 1),
        ("The invoice cleared, says the bank.", 0),
        ("The invoice has not cleared: the payment was reversed.", 0),
        ("The invoice cleared.", 1),
    ]
    causes = []
    for text, fires in told:
        entry = desk.says(text)
        assert desk.keeps(hours=1) == fires, text
        causes += [entry] * fires
    assert (len(desk.facts), desk.only.state, desk.only.fired_count) == (2, S.FIRED, 2)
    firings = commitments.lifecycle.firings_of(desk.scope, desk.only.id)
    assert [(each.cause_entry_id, each.cause_run_id) for each in firings] == [(each, None) for each in causes[::-1]]
    assert not commitments.lifecycle.find(desk.scope, desk.only.id, now=desk.at).twice


def test_what_is_said_of_its_writer_is_met_by_the_writer_alone_and_a_copy_of_it_meets_nothing(desk: Desk) -> None:
    desk.says("I'll tell you once I'm done reading it.")
    told = [
        ("Otto is done reading it.", 0),
        ("I'll tell you once I'm done reading it.", 0),
        ("I have read it to the end.", 2),
    ]
    for text, fires in told:
        desk.says(text)
        assert desk.keeps(hours=1) == fires, text


def test_only_later_entries_of_the_same_ref_decide(desk: Desk) -> None:
    desk.says("The invoice cleared.")
    desk.says("When the invoice clears, tell finance.")
    desk.says("The invoice cleared.", memory_ref="other")
    assert desk.keeps() == 0
    desk.says("Cleared.", tags=("invoice",))
    assert desk.keeps() == 1


def test_what_the_entry_of_an_intention_says_beside_it_decides_about_earlier_ones_alone(desk: Desk) -> None:
    desk.says("When the invoice clears, tell finance.")
    desk.says("The invoice cleared. When the invoice clears, call the bank.")
    assert desk.keeps() == 1
    assert [each.state for each in desk.all] == [S.FIRED, S.ARMED]


def test_what_came_true_in_the_same_part_of_the_ledger_fires_as_well(desk: Desk) -> None:
    desk.says("When the invoice clears, tell finance.")
    desk.says("The invoice cleared.")
    desk.says("The invoice has not cleared after all.")
    assert (desk.keeps(), desk.keeps(), desk.only.state) == (1, 0, S.ARMED)


def test_a_denied_condition_fires_when_it_is_denied(desk: Desk) -> None:
    desk.says("Tell me if the server is no longer reachable.")
    desk.says("The server is reachable.")
    assert desk.keeps() == 0
    desk.says("The server is not reachable.")
    assert desk.keeps() == 1


def test_a_run_that_ends_may_be_what_was_waited_for() -> None:
    desk = Desk(at=timezone.now() - timedelta(seconds=5))
    building.install("acme", building.definition("nightly-report", building.remember_node("Done.")))
    desk.says("Notify ops as soon as the nightly-report run completes.")
    desk.says("Notify ops as soon as the nightly-report run fails.")
    desk.keeps()
    run = building.execute(desk.scope, "nightly-report")
    desk.at = timezone.now() + timedelta(seconds=1)
    assert (desk.keeps(), desk.keeps()) == (1, 0)
    assert [(each.cause_entry_id, each.cause_run_id) for each in Firing.objects.all()] == [(None, run.id)]
    assert [row.state for row in desk.all] == [S.FIRED, S.ARMED]


def test_the_run_that_wrote_the_intention_does_not_fulfil_it_by_ending() -> None:
    text = "Notify ops as soon as the nightly-report run completes."
    building.install("acme", building.definition("nightly-report", building.remember_node(text)))
    desk = Desk(at=timezone.now())
    building.execute(desk.scope, "nightly-report")
    desk.at = timezone.now() + timedelta(seconds=1)
    assert (desk.keeps(), desk.only.state) == (0, S.ARMED)


# --- what a firing starts ---------------------------------------------------------------------------------------------


def started(desk: Desk) -> list[Run]:
    return list(Run.objects.of(desk.tenant_id).filter(workflow_id="on-commitment"))


def test_a_firing_starts_the_workflow_that_the_tenant_chose_as_the_host_and_tells_it_ids(desk: Desk) -> None:
    building.install("acme", building.definition("on-commitment", building.remember_node("Fired.")))
    memory_policy.change(desk.scope, {"commitment_workflow": "on-commitment"}, now=desk.at)
    entry = desk.says("Call Ana in 3 days.")
    desk.keeps(hours=72)
    (run,) = started(desk)
    known = {"commitmentId": ids.wire("cmt", desk.only.id), "memoryRef": "notes", "memoryId": ids.wire("mem", entry)}
    assert (run.principal, run.inputs) == ("host", known)
    assert run.metadata == {"origin": {"commitment": known["commitmentId"]}}
    assert desk.facts[0]["enqueuedRunId"] == ids.wire("run", run.id)
    assert desk.only.last_run_id == run.id
    assert building.advance(run).status == "completed"


def test_a_start_that_is_refused_is_on_record_with_its_code_and_the_commitment_has_fired(desk: Desk) -> None:
    needs = [{"name": "who", "type": "string", "required": True}]
    building.install("acme", building.definition("on-commitment", building.remember_node("x"), variables=needs))
    memory_policy.change(desk.scope, {"commitment_workflow": "on-commitment"}, now=desk.at)
    desk.says("Call Ana in 3 days.")
    assert desk.keeps(hours=72) == 1
    fired = Firing.objects.of(desk.tenant_id).get()
    assert (fired.code, fired.enqueued_run_id, desk.only.last_code) == ("validation_error", None, "validation_error")
    assert started(desk) == []
    assert "enqueuedRunId" not in desk.facts[0]


def test_a_crash_between_the_run_and_the_firing_leaves_neither(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    building.install("acme", building.definition("on-commitment", building.remember_node("x")))
    memory_policy.change(desk.scope, {"commitment_workflow": "on-commitment"}, now=desk.at)
    desk.says("Call Ana in 3 days.")
    desk.keeps()

    def killed(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patching:
        patching.setattr(commitments.due, "settle", killed)
        with pytest.raises(KeyboardInterrupt):
            desk.keeps(hours=72)
    assert (started(desk), desk.facts, desk.only.state) == ([], [], S.ARMED)
    assert (desk.keeps(), len(started(desk)), len(desk.facts)) == (1, 1, 1)


def test_a_fault_of_the_host_is_not_tried_for_ever(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    desk.says("Call Ana in 3 days.")
    desk.keeps()

    def broken(*_: Any, **__: Any) -> None:
        raise RuntimeError("a bug")

    monkeypatch.setattr(schedules, "start", broken)
    monkeypatch.setattr(commitment_firing, "_append_fact", broken)
    assert desk.keeps(hours=72) == 0
    assert (desk.only.state, desk.only.last_code) == (S.STALE, "internal_error")


def test_a_replay_of_the_run_that_remembered_infers_and_fires_nothing() -> None:
    made = building.remember("acme", "Call back in 3 days.")
    desk = Desk(at=timezone.now())
    desk.keeps()
    forked = replay.fork(desk.scope, made.run.id, replay.ForkRequest("replay"), now=timezone.now())
    assert building.advance(forked).status == "completed"
    desk.keeps()
    assert (len(desk.all), desk.keeps(hours=24 * 4)) == (1, 1)
    assert (desk.keeps(hours=24), len(desk.facts)) == (0, 1)


# --- put off, cancelled, stale ----------------------------------------------------------------------------------------


def test_a_snoozed_time_fires_when_the_snooze_ends(desk: Desk) -> None:
    desk.says("Call Ana in 3 days.")
    desk.keeps()
    until = desk.at + timedelta(days=5)
    commitments.lifecycle.snooze(desk.scope, desk.only.id, until=until, now=desk.at)
    assert (desk.only.state, desk.keeps(hours=24 * 4), desk.keeps(hours=24)) == (S.SNOOZED, 0, 1)


def test_a_snooze_that_ends_before_the_time_makes_nothing_stale_sooner(desk: Desk) -> None:
    memory_policy.change(desk.scope, {"stale_days": 2}, now=desk.at)
    desk.says("Call Ana in 3 days.")
    desk.keeps()
    commitments.lifecycle.snooze(desk.scope, desk.only.id, until=desk.at + timedelta(hours=12), now=desk.at)
    assert desk.keeps(hours=24 * 4) == 1


@pytest.mark.engines
def test_a_snoozed_time_that_comes_again_leaves_out_what_lies_before(desk: Desk) -> None:
    desk.says("Check the queue every day at 8:00.")
    desk.keeps()
    commitments.lifecycle.snooze(desk.scope, desk.only.id, until=desk.at + timedelta(days=3), now=desk.at)
    assert desk.only.due_at == datetime(2026, 11, 20, 8, tzinfo=UTC)
    assert (desk.keeps(hours=24 * 4), desk.only.state) == (1, S.ARMED)


@pytest.mark.engines
def test_what_came_true_while_a_condition_was_put_off_fires_later_unless_it_was_denied(desk: Desk) -> None:
    desk.says("When the invoice clears, tell finance.")
    desk.says("When the contract is signed, tell legal.")
    desk.says("When the shipment arrives, tell Bob.")
    desk.keeps()
    for row in desk.all:
        commitments.lifecycle.snooze(desk.scope, row.id, until=desk.at + timedelta(days=2), now=desk.at)
    for text in ("The invoice cleared.", "The contract was signed.", "The contract was not signed."):
        desk.says(text)
    assert desk.keeps(hours=1) == 0
    assert desk.keeps(hours=48) == 1
    assert [row.state for row in desk.all] == [S.FIRED, S.ARMED, S.ARMED]


def test_a_cancelled_commitment_never_fires_and_its_reason_holds_no_secret(desk: Desk) -> None:
    vault.set_secret(desk.scope, "crm", "hunter2-hunter2", kind="tenant", owner="", now=desk.at)
    desk.says("Call Ana in 3 days.")
    desk.keeps()
    commitments.lifecycle.cancel(desk.scope, desk.only.id, reason="see hunter2-hunter2", now=desk.at)
    assert (desk.only.state, desk.only.reason) == (S.CANCELLED, "see [REDACTED:crm]")
    assert desk.keeps(hours=1000) == 0
    with pytest.raises(Conflict):
        commitments.lifecycle.cancel(desk.scope, desk.only.id, reason="", now=desk.at)


@pytest.mark.parametrize("days", [0, -1, 91])
def test_a_snooze_ends_within_the_horizon(desk: Desk, days: int) -> None:
    desk.says("Call Ana in 3 days.")
    desk.keeps()
    with pytest.raises(Invalid):
        commitments.lifecycle.snooze(desk.scope, desk.only.id, until=desk.at + timedelta(days=days), now=desk.at)


def test_who_may_not_retire_memory_changes_no_commitment(desk: Desk) -> None:
    desk.says("Call Ana in 3 days.")
    desk.keeps()
    viewer = building.scope("acme", "viewer")
    with pytest.raises(Forbidden):
        commitments.lifecycle.cancel(viewer, desk.only.id, reason="", now=desk.at)
    with pytest.raises(Forbidden):
        commitments.lifecycle.snooze(viewer, desk.only.id, until=desk.at + timedelta(days=1), now=desk.at)


@pytest.mark.engines
def test_a_key_bound_to_agents_sees_what_came_from_their_entries(desk: Desk) -> None:
    desk.says("Call Ana in 3 days.", agent_id="acme.one")
    desk.says("Call Bob in 3 days.", agent_id="acme.two")
    desk.keeps()
    bound = building.scope("acme", "agent", agents=["acme.one"])
    page = commitments.lifecycle.page(bound, commitments.lifecycle.CommitmentFilter(), now=desk.at)
    assert ([each.intention for each in page.rows], page.total) == (["Call Ana in 3 days."], 1)
    with pytest.raises(NotFound):
        commitments.lifecycle.find(bound, desk.all[1].id, now=desk.at)


def test_an_agent_s_row_counts_what_it_may_still_do(desk: Desk) -> None:
    building.install_agent("acme", {"agentId": "private.acme.one"})
    for text in ("Call Ana in 3 days.", "When the invoice clears, tell finance.", "Call Bob in 3 days."):
        desk.says(text, agent_id="private.acme.one")
    desk.keeps()
    commitments.lifecycle.cancel(desk.scope, desk.all[0].id, reason="", now=desk.at)
    (row,) = agents.agent_rows(desk.scope, {}, now=desk.at)
    assert row.armed == 2


def test_a_condition_that_did_not_come_true_for_too_long_is_stale(desk: Desk) -> None:
    desk.says("When the invoice clears, tell finance.")
    desk.keeps()
    desk.keeps(hours=24 * 91)
    assert (desk.only.state, desk.only.reason) == (S.STALE, lifecycle.UNFIRED)
    desk.says("The invoice cleared.")
    assert desk.keeps() == 0


def test_no_state_follows_another_but_by_the_table(desk: Desk) -> None:
    desk.says("Call Ana in 3 days.")
    desk.keeps(hours=72)
    for to in set(S) - lifecycle.NEXT_STATES[S.FIRED]:
        with pytest.raises(Conflict):
            lifecycle.change_state(desk.only, to, now=desk.at)


# --- where it came from -----------------------------------------------------------------------------------------------


def test_a_commitment_whose_entry_somebody_retired_is_stale_and_does_not_fire(desk: Desk) -> None:
    entry = desk.says("Call Ana in 3 days.")
    desk.keeps()
    ledger.retirement.retire_entry(desk.scope, entry, reason="", now=desk.at)
    desk.at += timedelta(days=4)
    assert commitment_firing.fire(desk.tenant_id, desk.only.id, now=desk.at) is None
    assert (desk.only.state, desk.only.reason, desk.facts) == (S.STALE, lifecycle.GONE, [])


def test_one_that_is_too_old_when_its_turn_comes_is_stale_and_does_not_fire(desk: Desk) -> None:
    memory_policy.change(desk.scope, {"stale_days": 2}, now=desk.at)
    desk.says("Call Ana in 3 days.")
    desk.keeps()
    desk.at += timedelta(days=6)
    assert commitment_firing.fire(desk.tenant_id, desk.only.id, now=desk.at) is None
    assert (desk.only.state, desk.only.reason, desk.facts) == (S.STALE, lifecycle.UNFIRED, [])


def test_of_two_whose_entries_were_merged_since_the_last_look_the_first_alone_fires(desk: Desk) -> None:
    sources = [desk.says("Call Ana in 3 days."), desk.says("Call Ana in 3 days.")]
    desk.keeps()
    merged = ledger.entries.Derivation(EntryDraft("Call Ana in 3 days."), "merged")
    (into,) = ledger.entries.write_derived(building.ref(desk.scope, "notes"), [merged], run=desk.run, now=desk.at)
    ledger.retirement.retire_entries(desk.tenant_id, [EntryToRetire(each, "merged") for each in sources], now=desk.at)
    descents = [Descent(each, into.id, "merged") for each in sources]
    provenance.record(desk.tenant_id, descents, pass_id=None, now=desk.at)
    first, second = sorted(row.id for row in desk.all)
    desk.at += timedelta(days=4)
    assert commitment_firing.fire(desk.tenant_id, second, now=desk.at) is None
    assert commitment_firing.fire(desk.tenant_id, first, now=desk.at) is not None
    assert [(row.state, row.reason) for row in sorted(desk.all, key=lambda row: row.id)] == [
        (S.FIRED, ""),
        (S.STALE, lifecycle.MERGED),
    ]


def test_one_whose_entry_has_expired_is_stale_at_the_next_thorough_look(desk: Desk) -> None:
    desk.says("When the invoice clears, tell finance.", expires_at=desk.at + timedelta(hours=2))
    desk.keeps()
    desk.keeps(hours=3)
    assert (desk.only.state, desk.only.reason) == (S.STALE, lifecycle.GONE)


def test_one_whose_entry_was_merged_goes_on_and_names_the_entry_that_says_so_now(desk: Desk) -> None:
    entry = desk.says("Call Ana in 3 days.")
    desk.keeps()
    merged = ledger.entries.Derivation(EntryDraft("Call Ana in 3 days."), "merged")
    (into,) = ledger.entries.write_derived(building.ref(desk.scope, "notes"), [merged], run=desk.run, now=desk.at)
    ledger.retirement.retire_entries(desk.tenant_id, [EntryToRetire(entry, "merged")], now=desk.at)
    provenance.record(desk.tenant_id, [Descent(entry, into.id, "merged")], pass_id=None, now=desk.at)
    ledger.erase.remove_entries(desk.tenant_id, (entry,), reason="merged", now=desk.at)
    assert desk.keeps(hours=73) == 1
    assert [fact["memoryId"] for fact in desk.facts] == [ids.wire("mem", into.id)]


def test_a_forgotten_subject_takes_its_commitments_along(desk: Desk) -> None:
    desk.at = timezone.now()
    desk.says("Call Zebedee Quux in 3 days.")
    desk.says("When the invoice of Zebedee Quux clears, tell finance.")
    desk.says("Call Bob in 3 days.")
    desk.keeps()
    found = execution.preview(desk.scope, ["Zebedee Quux"], now=desk.at)
    stores = {holding.store: len(holding.erase) for holding in found.holdings}
    assert stores["standing commitments"] == 2
    request = execution.confirm(
        desk.scope, found.request.id, typed="Zebedee Quux", reason="asked", ticked=set(), now=desk.at
    )
    done = execution.execute(desk.tenant_id, request.id, holder="test/1", now=timezone.now(), clock=timezone.now)
    assert done is not None
    assert done.state == "forgotten"
    shown = commitments.lifecycle.find(desk.scope, desk.only.id, now=timezone.now())
    assert shown.intention == "Call Bob in 3 days."


def test_a_commitment_that_was_read_from_an_entry_just_before_it_was_forgotten_is_residue(desk: Desk) -> None:
    entry = desk.says("Call Zebedee Quux in 3 days.")
    desk.keeps()
    ledger.erase.remove_entries(desk.tenant_id, (entry,), reason="forgotten", now=desk.at)
    eraser, subject = CommitmentRows(commitments.lifecycle.remove), Identifiers(("zebedee quux",))
    assert eraser.remains(desk.tenant_id, subject, chosen=frozenset(), spared=frozenset()).left == 1
    desk.keeps()
    assert desk.all == []
    assert eraser.remains(desk.tenant_id, subject, chosen=frozenset(), spared=frozenset()).left == 0


def test_the_words_of_memory_are_read_there_and_redacted(desk: Desk) -> None:
    entry = desk.says("Call Ana in 3 days about hunter2-hunter2.")
    desk.keeps()
    vault.set_secret(desk.scope, "crm", "hunter2-hunter2", kind="tenant", owner="", now=desk.at)
    assert commitments.lifecycle.find(desk.scope, desk.only.id, now=desk.at).intention == (
        "Call Ana in 3 days about [REDACTED:crm]."
    )
    ledger.erase.remove_entries(desk.tenant_id, (entry,), reason="expired", now=desk.at)
    assert commitments.lifecycle.find(desk.scope, desk.only.id, now=desk.at).intention is None


# --- who looks --------------------------------------------------------------------------------------------------------


def test_a_lease_is_one_workers_until_it_ends(desk: Desk) -> None:
    assert commitments.lifecycle.lease_watch(desk.tenant_id, "a", now=MONDAY)
    assert not commitments.lifecycle.lease_watch(desk.tenant_id, "b", now=MONDAY + timedelta(seconds=29))
    assert commitments.lifecycle.lease_watch(desk.tenant_id, "b", now=MONDAY + timedelta(seconds=30))
    commitments.lifecycle.release_watch(desk.tenant_id, "a")
    assert not commitments.lifecycle.lease_watch(desk.tenant_id, "c", now=MONDAY + timedelta(seconds=31))
    commitments.lifecycle.release_watch(desk.tenant_id, "b")
    assert commitments.lifecycle.lease_watch(desk.tenant_id, "c", now=MONDAY + timedelta(seconds=31))


def test_a_tenant_is_looked_after_when_there_is_news_or_something_is_due(desk: Desk) -> None:
    def wanted() -> bool:
        return desk.tenant_id in commitments.inference.due_tenants(since=desk.at, whole=False, now=desk.at).tenants

    assert not wanted()
    desk.says("Call Ana in 3 days.")
    assert wanted()
    desk.keeps()
    assert not wanted()
    assert desk.tenant_id in commitments.inference.due_tenants(since=desk.at, whole=True, now=desk.at).tenants
    desk.at += timedelta(days=3)
    assert wanted()
    desk.keeps()
    assert not wanted()
    assert desk.tenant_id not in commitments.inference.due_tenants(since=desk.at, whole=True, now=desk.at).tenants


def at_once(count: int, act: Callable[[], Any]) -> None:
    """``act`` is done by so many threads that begin together; what one of them fails with is raised here."""
    barrier = threading.Barrier(count)

    def work() -> None:
        try:
            barrier.wait()
            act()
        finally:
            connection.close()

    with ThreadPoolExecutor(count) as pool:
        for done in [pool.submit(work) for _ in range(count)]:
            done.result()


@pytest.mark.engines
@pytest.mark.django_db(transaction=True)
def test_workers_at_once_arm_each_intention_once_and_fire_each_occasion_once() -> None:
    desk = Desk()
    building.install("acme", building.definition("on-commitment", building.remember_node("x")))
    memory_policy.change(desk.scope, {"commitment_workflow": "on-commitment"}, now=desk.at)
    for number in range(5):
        desk.says(f"Call customer {number} in 3 days. When invoice {number} clears, tell finance.")
        desk.says(f"Invoice {number} cleared.")
    at_once(4, desk.keeps)
    assert len(desk.all) == 10
    desk.at += timedelta(days=3)
    at_once(4, desk.keeps)
    assert {row.fired_count for row in desk.all} == {1}
    assert (len(desk.facts), len(started(desk))) == (10, 10)
    assert ledger.head.position(desk.tenant_id) == CommitmentWatch.objects.of(desk.tenant_id).get().position


def test_what_is_far_away_is_dormant_and_armed_when_it_is_near() -> None:
    desk, agent = Desk(), "private.acme.leases"
    building.install_agent("acme", {"agentId": agent})
    desk.says("Renew the lease on 5 March 2027.", agent_id=agent)
    desk.keeps()
    assert (desk.only.state, desk.only.due_at) == (S.DORMANT, datetime(2027, 3, 5, 9, tzinfo=UTC))
    [shown] = agents.agent_rows(desk.scope, {}, now=desk.at)
    assert shown.armed == 1, "an agent's number has what its tab lists as open"
    desk.keeps(hours=24 * 25)
    assert desk.only.state == S.ARMED
    desk.at = datetime(2027, 3, 5, 10, tzinfo=UTC)
    assert desk.keeps() == 1


def test_a_later_entry_of_the_ref_calls_one_off_and_no_other() -> None:
    desk = Desk()
    desk.says("Ring the museum on Friday.")
    desk.says("Ring the harbour on Friday.")
    desk.keeps()
    desk.says("No need to ring anybody but me on Friday.")
    desk.keeps(hours=1)
    assert [row.state for row in desk.all] == [S.ARMED, S.ARMED]
    desk.says("No need to ring the museum on Friday.")
    desk.keeps(hours=1)
    assert [row.state for row in desk.all] == [S.CANCELLED, S.ARMED]
