"""What a pass must not lose: an expiry, a tag, who said it, and the record of what it did before it ended short."""

from datetime import datetime, timedelta
from typing import Any

import pytest
from django.utils import timezone

from memory import adapter, memory_policy, passes
from memory.host import ids
from memory.host.errors import Conflict, PassCancelled
from memory.models import Pass, PassState
from memory.models.entry import MemoryEntry
from memory.passes import consolidation, orders
from memory.passes.orders import RequestedPass
from tests import building, desks
from tests.desks import counts, interrupted_at, told

pytestmark = pytest.mark.django_db
SAME = ("The Pro plan includes weekly reports", "The Pro plan includes weekly reports.")
OLD, ALSO_OLD, NEW = (
    "The Pro plan costs $49 per month",
    "The Pro plan costs $49 per month.",
    "The Pro plan now costs $59 per month",
)
SOON, LATER = timedelta(days=2), timedelta(days=3)


class Desk(desks.Desk):
    """One that has passes of all kinds carried out."""

    def order(self, kind: str = "consolidate", **options: Any) -> Pass:
        return orders.order(self.owner, RequestedPass(kind, "notes", options), now=timezone.now())

    def carried_out(self, kind: str = "consolidate", **options: Any) -> Pass:
        return self.work(self.order(kind, **options))

    def texts(self, after: timedelta = timedelta()) -> list[str]:
        return sorted(building.contents(self.owner, now=self.start + after + timedelta(minutes=1)))

    def read_by(self, agent: str) -> list[tuple[str, list[str]]]:
        """What a key that is bound to the agent reads, with its tags."""
        bound = building.scope("acme", agents=[agent])
        rows = adapter.console.visible_entries(bound, now=timezone.now()).filter(retired_at=None).order_by("id")
        return [(row.content, row.tags) for row in rows]


@pytest.fixture
def desk() -> Desk:
    return Desk()


# --- how long ---------------------------------------------------------------------------------------------------------


def test_a_fact_without_an_expiry_is_not_replaced_by_way_of_an_equal_one_that_has_one(desk: Desk) -> None:
    desk.say(OLD)
    desk.say(ALSO_OLD, expires_at=desk.start + SOON)
    desk.say(NEW, expires_at=desk.start + LATER)

    assert counts(desk.carried_out()) == (3, 2)

    assert len(desk.texts()) == 2
    [left] = desk.texts(after=timedelta(days=4))
    assert "$49" in left
    assert counts(desk.carried_out()) == (2, 2)


def test_equals_are_replaced_together_by_what_outlives_them_all(desk: Desk) -> None:
    desk.say(OLD, expires_at=desk.start + SOON)
    desk.say(ALSO_OLD)
    desk.say(NEW)

    assert counts(desk.carried_out()) == (3, 1)
    assert desk.texts() == [NEW]


class Slow:
    """A clock that stands still until the first part of a pass is to be made, and is then past the expiry."""

    def __init__(self, desk: Desk, monkeypatch: pytest.MonkeyPatch, *, of_call: int = 1) -> None:
        self.at, self.calls = desk.start, 0
        act = consolidation.ChangeWriter._make

        def late(acts: consolidation.ChangeWriter, part: Any, now: datetime) -> None:
            self.calls += 1
            if self.calls >= of_call:
                self.at = desk.start + timedelta(seconds=40)
            act(acts, part, self.at)

        monkeypatch.setattr(consolidation.ChangeWriter, "_make", late)

    def __call__(self) -> datetime:
        return self.at


@pytest.mark.engines
@pytest.mark.parametrize("others", [("b",), ("a",)])
def test_what_expires_while_a_pass_goes_on_is_left_out_and_the_rest_is_done(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, others: tuple[str, ...]
) -> None:
    soon = desk.start + timedelta(seconds=30)
    desk.say("Ana works in the sales team", expires_at=soon, tags=("a",))
    desk.say("Ana works in the sales team.", expires_at=soon, tags=others)
    for text in SAME:
        desk.say(text)

    done = desk.work(desk.order(), Slow(desk, monkeypatch))

    assert counts(done) == (4, 3)
    assert desk.texts() == [SAME[1]]
    expired = MemoryEntry.objects.filter(expires_at=soon)
    assert {(row.retired_kind, row.derived) for row in expired} == {("", "")}


@pytest.mark.engines
def test_an_equal_that_outlives_the_one_that_expires_meanwhile_stays_as_it_was(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    [first] = desk.say(SAME[0], tags=("a",))
    desk.say(SAME[1], expires_at=desk.start + timedelta(seconds=30), tags=("b",))

    desk.work(desk.order(), Slow(desk, monkeypatch))

    [row] = MemoryEntry.objects.of(desk.owner.tenant_id).filter(retired_at=None, expires_at=None)
    assert (row.id, row.tags) == (first, ["a"])


@pytest.mark.engines
@pytest.mark.parametrize("including", [False, True])
def test_an_archive_holds_what_expires_before_it_only_when_that_is_asked_for(desk: Desk, including: bool) -> None:
    kept = timedelta(days=memory_policy.policy_of(desk.owner.tenant_id).archive_days)
    desk.say("The door code of Anna is four seven one one.", expires_at=desk.start + timedelta(hours=1))
    desk.say("The badge of Anna works for a month.", expires_at=desk.start + kept - timedelta(minutes=1))
    desk.say("The lease of the office ends in two years.", expires_at=desk.start + kept + timedelta(days=1))
    desk.say("The office closes at six in the evening.")

    done = desk.carried_out("distill", targetTokens=500, **({"includeExpiring": True} if including else {}))

    assert done.options["includeExpiring"] is including
    eligible = 4 if including else 2
    assert (done.outcome["sourceCount"], done.outcome["corpusCount"]) == (eligible, eligible)
    [archive] = [text for text in desk.texts(after=timedelta(hours=2)) if text.startswith("# ")]
    assert ("door code" in archive, "badge" in archive) == (including, including)
    assert "The lease" in archive
    expires_at = MemoryEntry.objects.get(derived="distilled").expires_at
    assert expires_at
    assert expires_at >= desk.start + kept


@pytest.mark.engines
def test_a_ref_of_which_nothing_outlives_the_archive_is_not_distilled(desk: Desk) -> None:
    desk.say("The door code of Anna is four seven one one.", expires_at=desk.start + timedelta(hours=1))

    assert desk.carried_out("distill").code == "validation_error"
    assert desk.carried_out("distill", includeExpiring=True).state == PassState.DONE


# --- who said it ------------------------------------------------------------------------------------------------------


def test_what_two_agents_say_alike_stays_two_and_each_finds_its_own(desk: Desk) -> None:
    desk.say(SAME[0], agent_id="acme.a", tags=("patient:jones",))
    desk.say(SAME[1], agent_id="acme.b", tags=("vip",))
    desk.say(SAME[0], agent_id="acme.b")
    desk.say(SAME[0])

    assert counts(desk.carried_out()) == (4, 3)

    assert desk.read_by("acme.a") == [(SAME[0], ["patient:jones"])]
    [(_, tags)] = desk.read_by("acme.b")
    assert tags == ["vip"]
    assert counts(desk.carried_out(full=True)) == (3, 3)


@pytest.mark.parametrize(("one", "other"), [("acme.a", "acme.b"), ("acme.a", ""), ("", "acme.a")])
def test_the_newer_value_of_one_agent_replaces_none_of_another(desk: Desk, one: str, other: str) -> None:
    desk.say(OLD, agent_id=one)
    desk.say(NEW, agent_id=other)

    assert counts(desk.carried_out()) == (2, 2)
    desk.say("The Pro plan now costs $69 per month", agent_id=one)
    assert counts(desk.carried_out()) == (3, 2)
    assert desk.texts() == ["The Pro plan now costs $59 per month", "The Pro plan now costs $69 per month"]


@pytest.mark.parametrize("agent", ["acme.b", ""])
def test_a_slip_of_the_pen_of_one_agent_is_no_statement_of_another(desk: Desk, agent: str) -> None:
    desk.say("Ana will recieve the parcel on Monday", agent_id="acme.a")
    desk.say("Ana will receive the parcel on Monday", agent_id=agent)
    assert counts(desk.carried_out()) == (2, 2)

    desk.say("Ana will receive the parcel on Monday", agent_id="acme.a")
    assert counts(desk.carried_out()) == (3, 2)


def test_compaction_takes_the_entries_of_one_agent_at_a_time(desk: Desk) -> None:
    for number in (1, 2):
        for agent in ("acme.a", "acme.b", ""):
            desk.say(f"{agent or 'nobody'} {number}", agent_id=agent)

    done = [desk.carried_out("compact") for _ in range(4)]

    assert [work.code for work in done] == ["", "", "", "nothing_to_compact"]
    assert desk.texts() == ["acme.a 1\nacme.a 2", "acme.b 1\nacme.b 2", "nobody 1\nnobody 2"]
    assert [text for text, _ in desk.read_by("acme.a")] == ["acme.a 1\nacme.a 2"]


# --- what it is filed under -------------------------------------------------------------------------------------------


def many(letter: str, count: int) -> tuple[str, ...]:
    return tuple(f"{letter}{number}" for number in range(count))


def tags_of(desk: Desk) -> set[str]:
    rows = MemoryEntry.objects.of(desk.owner.tenant_id).filter(retired_at=None)
    return {tag for row in rows for tag in row.tags}


def test_equals_whose_tags_find_no_room_together_stay_apart(desk: Desk) -> None:
    desk.say(SAME[0], tags=many("a", 64))
    desk.say(SAME[0], tags=many("b", 64))

    assert counts(desk.carried_out()) == (2, 2)
    assert tags_of(desk) == {*many("a", 64), *many("b", 64)}


def test_as_many_equals_become_one_as_their_tags_find_room_and_a_second_pass_agrees(desk: Desk) -> None:
    for letter in "abcde":
        desk.say(SAME[0], tags=many(letter, 24))
    desk.say(SAME[1], tags=("a1", "e1"))

    first = desk.carried_out()

    assert counts(first) == (6, 4)
    assert tags_of(desk) == {tag for letter in "abcde" for tag in many(letter, 24)}
    for full in (False, True):
        assert counts(desk.carried_out(full=full)) == (4, 4)


def test_equals_that_found_no_room_together_are_replaced_together(desk: Desk) -> None:
    desk.say(OLD, tags=many("a", 64))
    desk.say(ALSO_OLD, tags=many("b", 64))
    desk.say(NEW)

    assert counts(desk.carried_out()) == (3, 1)
    assert desk.texts() == [NEW]


@pytest.mark.engines
def test_a_compaction_takes_no_entry_whose_tags_find_no_room(desk: Desk) -> None:
    for letter in "abc":
        desk.say(f"note {letter}", tags=many(letter, 28))
    desk.say("note d", tags=("a1", "b1"))

    done = desk.carried_out("compact")

    assert done.outcome["sourceCount"] == 3
    assert tags_of(desk) >= {tag for letter in "abc" for tag in many(letter, 28)}
    assert desk.texts() == ["note a\nnote b\nnote d", "note c"]
    made = MemoryEntry.objects.get(derived="compacted")
    assert "compacted" in made.tags
    assert any(tag.startswith("compacted-from:") for tag in made.tags)


# --- what was done ----------------------------------------------------------------------------------------------------


@pytest.fixture
def _small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(consolidation, "ROOM", 3)


@pytest.mark.engines
@pytest.mark.usefixtures("_small_parts")
@pytest.mark.parametrize("end", ["refused", "failed", "cancelled"])
def test_a_pass_that_ends_short_says_what_it_did(desk: Desk, monkeypatch: pytest.MonkeyPatch, end: str) -> None:
    for number in range(6):
        for mark in ("", "."):
            desk.say(f"Customer {number} prefers email{mark}")
    desk.say(OLD)
    desk.say(NEW)
    row = desk.order()

    def stop() -> None:
        if end == "cancelled":
            passes.request_stop(row.tenant_id, row.id, now=timezone.now())
        elif end == "refused":
            raise Conflict("Somebody else is at it.", state="busy")
        else:
            raise RuntimeError("a bug")

    interrupted_at(monkeypatch, 2, stop)
    done = desk.work(row)

    assert done.state == end
    hidden = set(MemoryEntry.objects.exclude(retired_kind="").values_list("id", flat=True))
    assert 0 < len(hidden) < 7
    assert done.outcome["merged"] + done.outcome["superseded"] == len(hidden)
    assert (done.outcome["inputCount"], done.outcome["outputCount"]) == (14, 14 - len(hidden))
    assert bool(done.outcome.get("details")) == (end == "refused")
    [event] = told(done)
    assert (event["inputCount"], event["outputCount"]) == (14, 14 - len(hidden))
    assert {ids.parse("mem", each) for each in event["mergedIds"]} == hidden
    assert counts(desk.carried_out())[1] == 7


@pytest.mark.engines
@pytest.mark.usefixtures("_small_parts")
def test_a_pass_whose_workers_die_again_and_again_says_what_they_did(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(6):
        for mark in ("", "."):
            desk.say(f"Customer {number} prefers email{mark}")
    row = desk.order()

    def die() -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patching:
        interrupted_at(patching, 2, die)
        with pytest.raises(KeyboardInterrupt):
            desk.work(row)
    monkeypatch.setattr(passes, "MAX_ATTEMPTS", 1)

    done = desk.work(row, lambda: timezone.now() + timedelta(minutes=5))

    assert (done.state, done.code) == ("failed", "worker_lost")
    hidden = MemoryEntry.objects.exclude(retired_kind="").count()
    assert 0 < hidden == done.outcome["merged"] == len(told(done)[0]["mergedIds"])


def test_a_pass_that_ends_before_it_did_anything_tells_of_nothing(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    for text in SAME:
        desk.say(text)
    row = desk.order()
    interrupted_at(monkeypatch, 1, lambda: passes.request_stop(row.tenant_id, row.id, now=timezone.now()))
    monkeypatch.setattr(consolidation.ChangeWriter, "_settle", cancelled)

    done = desk.work(row)

    assert done.state == "cancelled"
    assert told(done) == []
    assert "totals" not in done.outcome


def cancelled(*_: Any) -> None:
    raise PassCancelled
