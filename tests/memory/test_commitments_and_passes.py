"""Commitments beside passes and forgets: none is lost to one, none fires twice because of one, no name outlives one."""

from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from django.utils import timezone

from memory import commitments, ledger, provenance, retention_sweep
from memory.commitments import lifecycle
from memory.entry_drafts import EntryDraft
from memory.forget import execution, plans
from memory.forget.erasers.special_stores import CommitmentRows
from memory.host import ids
from memory.host.erasure import Identifiers
from memory.ledger.retirement import EntryToRetire
from memory.models import Commitment, CommitmentState, ForgetRequest, PassState
from memory.passes import orders
from memory.passes.orders import RequestedPass
from memory.provenance import Descent
from openwop_console.runtime import commitment_firing
from tests import building
from tests.memory.test_commitments import Desk as Keeping

pytestmark = pytest.mark.django_db
S = CommitmentState
CALL = "Remind me in 3 days to call Bob about the contract."
MAIL = "Remind me in 3 days to mail the report to Ana."
WAIT = "When Jones pays the invoice, tell finance."


class Desk(Keeping):
    """Acme's ledger, over which passes go as well."""

    def __init__(self) -> None:
        super().__init__(at=timezone.now())

    def passes(self, kind: str = "consolidate") -> dict[str, Any]:
        """The outcome of one pass of that kind, done now."""
        row = orders.order(self.scope, RequestedPass(kind, "notes"), now=self.at)
        done = orders.run_pass(row.tenant_id, row.id, holder="test/1", clock=lambda: self.at)
        assert done is not None
        assert done.state == PassState.DONE, done.outcome
        return done.outcome

    def takes(self, *sources: UUID, text: str, kind: str) -> UUID:
        """The entry that a pass has made of these, which are hidden now."""
        made = ledger.entries.Derivation(EntryDraft(text), kind)
        (into,) = ledger.entries.write_derived(building.ref(self.scope, "notes"), [made], run=self.run, now=self.at)
        ledger.retirement.retire_entries(self.tenant_id, [EntryToRetire(each, kind) for each in sources], now=self.at)
        descents = [Descent(each, into.id, kind) for each in sources]
        provenance.record(self.tenant_id, descents, pass_id=None, now=self.at)
        return UUID(str(into.id))

    def forgets(self, name: str) -> ForgetRequest:
        found = execution.preview(self.scope, [name], now=timezone.now())
        request = execution.confirm(
            self.scope, found.request.id, typed=name, reason="asked", ticked=set(), now=timezone.now()
        )
        clock = timezone.now
        done = execution.execute(self.tenant_id, request.id, holder="test/1", now=clock(), clock=clock)
        assert done is not None
        return done

    @property
    def ends(self) -> list[tuple[str, str]]:
        return [(row.state, row.reason) for row in self.all]


@pytest.fixture
def desk() -> Desk:
    return Desk()


# --- a pass that comes before the watch -------------------------------------------------------------------------------


def test_an_intention_that_a_pass_merged_before_it_was_read_is_armed_and_fires_once(desk: Desk) -> None:
    desk.says(CALL, tags=("x",))
    desk.says(CALL, tags=("y",))
    assert desk.passes()["merged"]
    desk.keeps()
    assert sorted(desk.ends) == [(S.ARMED, ""), (S.STALE, lifecycle.MERGED)]
    assert desk.keeps(hours=24 * 4) == 1


def test_an_intention_that_a_pass_compacted_before_it_was_read_is_armed(desk: Desk) -> None:
    desk.says(CALL)
    desk.says("Ana likes tea.")
    desk.passes("compact")
    desk.keeps()
    assert (desk.only.state, desk.keeps(hours=24 * 4)) == (S.ARMED, 1)


def test_what_a_pass_took_away_before_it_was_read_still_says_that_a_condition_holds(desk: Desk) -> None:
    desk.says("When the invoice clears, tell finance.")
    told = desk.says("The invoice cleared.")
    desk.takes(told, text="The invoice cleared.", kind="merged")
    assert desk.keeps() == 1


# --- two that became one ----------------------------------------------------------------------------------------------


@pytest.mark.engines
def test_of_two_equal_ones_whose_entries_became_one_the_earlier_fires_and_the_later_is_merged(desk: Desk) -> None:
    first, second = desk.says(CALL), desk.says(CALL)
    desk.keeps()
    assert [row.entry_id for row in desk.all] == [first, second]
    desk.passes()
    assert desk.keeps(hours=24 * 4) == 1
    assert (desk.ends, len(desk.facts)) == ([(S.FIRED, ""), (S.STALE, lifecycle.MERGED)], 1)


@pytest.mark.engines
@pytest.mark.parametrize("whole", [True, False])
def test_two_equal_conditions_fire_once_whoever_looks(desk: Desk, whole: bool) -> None:
    one, two = desk.says(WAIT), desk.says(f"{WAIT[:-1]}!")
    desk.keeps()
    into = desk.takes(one, two, text=WAIT, kind="merged")
    desk.says("Jones paid the invoice.")
    fired = commitment_firing.process_commitments(desk.tenant_id, whole=whole, clock=lambda: desk.at)
    assert (fired, desk.ends) == (1, [(S.FIRED, ""), (S.STALE, lifecycle.MERGED)])
    assert [fact["memoryId"] for fact in desk.facts] == [ids.wire("mem", into)]


@pytest.mark.engines
def test_of_two_entries_that_were_merged_each_intention_stays_once(desk: Desk) -> None:
    one, two = desk.says(f"{CALL} {MAIL}"), desk.says(f"Please {CALL[0].lower()}{CALL[1:]} {MAIL}")
    desk.keeps()
    assert len(desk.all) == 4
    desk.takes(one, two, text=f"{CALL} {MAIL}", kind="merged")
    assert desk.keeps(hours=24 * 4) == 2
    assert [row.state for row in desk.all if row.entry_id == one] == [S.FIRED, S.FIRED]


def test_different_intentions_for_one_time_that_were_compacted_into_one_entry_both_fire(desk: Desk) -> None:
    one, two, three = desk.says(CALL), desk.says(MAIL), desk.says(CALL)
    desk.keeps()
    desk.takes(one, two, three, text=f"{CALL} {MAIL}", kind="compacted")
    assert desk.keeps(hours=24 * 4) == 2
    assert [row.state for row in desk.all] == [S.FIRED, S.FIRED, S.STALE]


def test_two_that_are_equal_in_entries_of_their_own_both_fire(desk: Desk) -> None:
    desk.says(CALL)
    desk.says(CALL)
    desk.keeps()
    assert desk.keeps(hours=24 * 4) == 2


# --- an entry that comes back -----------------------------------------------------------------------------------------


def test_a_commitment_whose_retired_entry_was_restored_is_armed_again_and_fires(desk: Desk) -> None:
    entry = desk.says(CALL)
    desk.keeps()
    due = desk.only.due_at
    ledger.retirement.retire_entry(desk.scope, entry, reason="", now=desk.at)
    desk.keeps()
    assert desk.ends == [(S.STALE, lifecycle.GONE)]
    assert desk.tenant_id in commitments.inference.due_tenants(whole=True, since=desk.at, now=desk.at).tenants
    ledger.retirement.restore_entry(desk.scope, entry, now=desk.at)
    desk.keeps()
    assert (desk.ends, desk.only.due_at) == ([(S.ARMED, "")], due)
    assert desk.keeps(hours=24 * 4) == 1


def test_a_condition_whose_restored_entry_is_back_is_waited_for_again(desk: Desk) -> None:
    entry = desk.says(WAIT)
    desk.keeps()
    ledger.retirement.retire_entry(desk.scope, entry, reason="", now=desk.at)
    desk.keeps()
    ledger.retirement.restore_entry(desk.scope, entry, now=desk.at)
    desk.keeps()
    desk.says("Jones paid the invoice.")
    assert desk.keeps() == 1


@pytest.mark.engines
def test_a_time_that_comes_again_leaves_out_what_lay_in_the_time_without_its_entry(desk: Desk) -> None:
    entry = desk.says("Check the queue every day at 8:00.")
    desk.keeps()
    ledger.retirement.retire_entry(desk.scope, entry, reason="", now=desk.at)
    desk.keeps(hours=1)
    ledger.retirement.restore_entry(desk.scope, entry, now=desk.at)
    assert desk.keeps(hours=24 * 10) == 0
    assert (desk.only.state, desk.only.stale_at, desk.keeps(hours=24)) == (S.ARMED, None, 1)


def test_what_was_put_off_waits_for_that_again(desk: Desk) -> None:
    entry = desk.says(WAIT)
    desk.keeps()
    commitments.lifecycle.snooze(desk.scope, desk.only.id, until=desk.at + timedelta(days=5), now=desk.at)
    ledger.retirement.retire_entry(desk.scope, entry, reason="", now=desk.at)
    desk.keeps()
    ledger.retirement.restore_entry(desk.scope, entry, now=desk.at)
    desk.says("Jones paid the invoice.")
    assert (desk.keeps(), desk.keeps(hours=24 * 4), desk.keeps(hours=24)) == (0, 0, 1)


def test_an_entry_that_comes_back_too_late_or_never_leaves_its_commitment_stale_without_its_words(desk: Desk) -> None:
    late, removed = desk.says(WAIT), desk.says("When Smith signs the contract, tell legal.")
    desk.says(CALL)
    desk.keeps()
    for entry in (late, removed):
        ledger.retirement.retire_entry(desk.scope, entry, reason="", now=desk.at)
    desk.keeps()
    assert [bool(row.predicate.get("words")) for row in desk.all] == [True, True, False]
    ledger.erase.remove_entries(desk.tenant_id, (removed,), reason="expired", now=desk.at)
    desk.keeps()
    assert [bool(row.predicate.get("words")) for row in desk.all] == [True, False, False]
    desk.keeps(hours=24 * 91)
    ledger.retirement.restore_entry(desk.scope, late, now=desk.at)
    desk.keeps()
    assert [row.predicate for row in desk.all] == [{"turn": 0}, {"turn": 0}, {}]
    assert desk.ends[:2] == [(S.STALE, lifecycle.GONE)] * 2


# --- what a name leaves behind ----------------------------------------------------------------------------------------


def test_the_stem_of_a_name_goes_with_the_entry_into_which_its_own_was_merged(desk: Desk) -> None:
    one, two = desk.says(WAIT), desk.says(WAIT)
    desk.keeps()
    desk.takes(one, two, text=WAIT, kind="merged")
    assert retention_sweep.sweep_merged(now=desk.at + timedelta(days=40)) == 2
    assert desk.forgets("Jones").state == "forgotten"
    assert desk.all == []


def test_a_commitment_whose_own_entry_is_there_and_names_nobody_stays(desk: Desk) -> None:
    """What stands beside it in the entry that was made of both is not about it."""
    mine, other = desk.says("When the parcel arrives, tell finance."), desk.says("Zebedee Quux likes tea.")
    desk.keeps()
    desk.takes(mine, other, text="When the parcel arrives, tell finance. Zebedee Quux likes tea.", kind="compacted")
    assert desk.forgets("Zebedee Quux").state == "forgotten"
    assert desk.only.predicate["words"]
    desk.keeps()
    assert desk.only.predicate["words"], "the review knows whose entry was forgotten"


def test_stems_that_may_be_a_name_are_for_a_person_to_decide_when_no_text_is_left(desk: Desk) -> None:
    entry = desk.says(WAIT)
    desk.says("When Jones signs the contract, tell legal.")
    desk.keeps()
    ledger.erase.remove_entries(desk.tenant_id, (entry,), reason="merged", now=desk.at)
    eraser, subject = CommitmentRows(commitments.lifecycle.remove), Identifiers(("jones",))
    alone, standing = (row.id for row in desk.all)
    held = eraser.find(desk.tenant_id, subject)
    assert (held.erase, held.suspected) == ((standing,), (alone,))
    left = eraser.remains(desk.tenant_id, subject, chosen=frozenset({alone}), spared=frozenset())
    assert (left.left, left.undecided) == (1, 0)
    open_one = eraser.remains(desk.tenant_id, subject, chosen=frozenset(), spared=frozenset())
    assert (open_one.left, open_one.undecided) == (0, 1)
    spared = eraser.remains(desk.tenant_id, subject, chosen=frozenset(), spared=frozenset({alone}))
    assert (spared.left, spared.undecided) == (0, 0)
    commitments.lifecycle.remove(desk.tenant_id, [alone])
    assert eraser.remains(desk.tenant_id, subject, chosen=frozenset(), spared=frozenset()).undecided == 0


def test_the_stem_of_whose_a_thing_is_may_be_a_name_as_well(desk: Desk) -> None:
    entry = desk.says("Let Jonas know when his badge is printed.")
    desk.keeps()
    ledger.erase.remove_entries(desk.tenant_id, (entry,), reason="merged", now=desk.at)
    held = CommitmentRows(commitments.lifecycle.remove).find(desk.tenant_id, Identifiers(("jonas",)))
    assert held.suspected == (desk.only.id,)


@pytest.mark.engines
def test_a_suspected_commitment_is_shown_with_the_text_of_its_entry(desk: Desk) -> None:
    desk.says("When Zebediah pays the invoice, tell finance.")
    desk.keeps()
    request = execution.preview(desk.scope, ["zebed"], now=timezone.now()).request
    suspects, _ = plans.suspects(request, after=None, limit=9)
    [suspect] = [each for each in suspects if each.row_id == desk.only.id]
    [shown] = plans.suspects_in_context(request, ("zebed",), [suspect])
    assert (shown.excerpt.before, shown.excerpt.mention) == ("When ", "Zebed")


@pytest.mark.engines
def test_a_commitment_of_a_suspected_entry_is_undecided_until_a_person_decides(desk: Desk) -> None:
    entry = desk.says("When Zebediah pays the invoice, tell finance.")
    desk.keeps()
    Commitment.objects.written_by(Commitment.writer).update(predicate={"words": ["invoic"]})
    request = execution.preview(desk.scope, ["zebed"], now=timezone.now()).request
    assert request.plan["standing commitments"]["suspected"] == 1
    eraser, subject, row = CommitmentRows(commitments.lifecycle.remove), Identifiers(("zebed",)), desk.only.id

    def remains(chosen: frozenset[UUID], spared: frozenset[UUID]) -> tuple[int, int]:
        found = eraser.remains(desk.tenant_id, subject, chosen=chosen, spared=spared)
        return found.left, found.undecided

    assert remains(frozenset(), frozenset()) == (0, 1)
    assert remains(frozenset(), frozenset({row})) == (0, 0)
    assert remains(frozenset({row}), frozenset({entry})) == (1, 0)


@pytest.mark.engines
def test_a_commitment_that_has_ended_for_good_keeps_no_word_of_memory(desk: Desk) -> None:
    desk.says(WAIT)
    desk.says("When Smith signs the contract, tell legal.")
    desk.says("Jones paid the invoice.")
    assert desk.keeps() == 1
    desk.says("Jones did not pay the invoice.")
    desk.keeps()
    commitments.lifecycle.cancel(desk.scope, desk.all[0].id, reason="", now=desk.at)
    desk.keeps(hours=24 * 91)
    assert [row.predicate for row in desk.all] == [{"turn": 1}, {"turn": 0}]
    assert desk.ends == [(S.CANCELLED, ""), (S.STALE, lifecycle.UNFIRED)]
    assert not commitments.lifecycle.find(desk.scope, desk.all[0].id, now=desk.at).twice
