"""How the ledger is read for commitments: in parts, without a lock, each entry once, whatever happens meanwhile."""

import re
import threading
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest
from django.db import connection

from memory import commitments, ledger
from memory.commitments import inference, lifecycle
from memory.host import ids
from memory.models import Commitment, CommitmentState, CommitmentWatch
from memory.models.entry import MemoryEntry
from memory.text import intentions
from openwop_console.runtime import commitment_firing
from tests import building

pytestmark = pytest.mark.django_db
MONDAY = datetime(2026, 11, 16, 10, tzinfo=UTC)
UNDERSTANDING = ("found_in", "called_off", "vocabulary", "verdict")
Act = Callable[[], object]


class Desk:
    """Acme's ledger, and a worker that reads it for commitments."""

    def __init__(self, slug: str = "acme") -> None:
        self.scope = building.scope(slug)
        self.run = building.open_run(self.scope)

    @property
    def tenant_id(self) -> UUID:
        return self.scope.tenant_id

    def says(self, text: str) -> UUID:
        return building.write(self.scope, self.run, text, now=MONDAY).id

    def read_next(self) -> bool:
        return inference.read_next(self.tenant_id, now=MONDAY)

    def read(self) -> None:
        while self.read_next():
            pass

    @property
    def position(self) -> int:
        return lifecycle.watch_position(self.tenant_id)

    @property
    def said(self) -> set[UUID]:
        """The entries that made commitments; one that made two of the same is a fault."""
        found = list(Commitment.objects.of(self.tenant_id).values_list("entry_id", "starts"))
        assert len(found) == len(set(found))
        return {entry for entry, _ in found}


@pytest.fixture
def desk() -> Desk:
    return Desk()


@pytest.fixture
def meanwhile(monkeypatch: pytest.MonkeyPatch) -> Callable[[Act], None]:
    """Has something done while a text is understood, the first time."""

    def arrange(act: Act) -> None:
        find, acts = intentions.found_in, [act]

        def finding(*args: Any, **named: Any) -> object:
            if acts:
                acts.pop()()
            return find(*args, **named)

        monkeypatch.setattr(intentions, "found_in", finding)

    return arrange


def in_a_thread(act: Act) -> None:
    """Done on a connection of its own."""
    failed: list[BaseException] = []

    def work() -> None:
        try:
            act()
        except BaseException as problem:  # noqa: BLE001
            failed.append(problem)
        finally:
            connection.close()

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    if failed:
        raise failed[0]


# --- without a lock ---------------------------------------------------------------------------------------------------


@pytest.mark.engines
@pytest.mark.django_db(transaction=True)
def test_no_transaction_is_open_while_a_text_is_understood(monkeypatch: pytest.MonkeyPatch) -> None:
    desk, inside = Desk(), set()

    def watched(name: str) -> None:
        understand = getattr(intentions, name)

        def understanding(*args: Any, **named: Any) -> object:
            inside.add((name, connection.in_atomic_block))
            return understand(*args, **named)

        monkeypatch.setattr(intentions, name, understanding)

    for name in UNDERSTANDING:
        watched(name)
    desk.says("When the invoice clears, tell finance. Call Ana in 3 days.")
    desk.says("The invoice cleared. No need to call Ana in 3 days.")
    desk.read()
    assert inside == {(name, False) for name in UNDERSTANDING}
    states = Commitment.objects.of(desk.tenant_id).order_by("id").values_list("state", "holds")
    assert list(states) == [(CommitmentState.ARMED, True), (CommitmentState.CANCELLED, False)]


@pytest.mark.engines
@pytest.mark.django_db(transaction=True)
def test_another_tenant_writes_while_a_text_is_understood(meanwhile: Callable[[Act], None]) -> None:
    desk, globex = Desk(), Desk("globex")
    written: list[UUID] = []
    desk.says("Call Ana in 3 days.")
    meanwhile(lambda: in_a_thread(lambda: written.append(globex.says("Something else."))))
    desk.read()
    assert len(written) == 1
    assert len(desk.said) == 1


# --- what happens meanwhile -------------------------------------------------------------------------------------------


def test_an_entry_that_is_forgotten_while_it_is_understood_makes_no_commitment(
    desk: Desk, meanwhile: Callable[[Act], None]
) -> None:
    first, other = desk.says("Call Zebedee in 3 days."), desk.says("Call Bob in 3 days.")
    meanwhile(lambda: ledger.erase.remove_entries(desk.tenant_id, (first,), reason="forgotten", now=MONDAY))
    desk.read()
    desk.read()
    assert desk.said == {other}
    assert desk.position == ledger.head.position(desk.tenant_id)


def test_what_is_retired_while_it_is_understood_says_nothing(desk: Desk, meanwhile: Callable[[Act], None]) -> None:
    desk.says("When the invoice clears, tell finance.")
    desk.read()
    gone = desk.says("The invoice cleared.")
    meanwhile(lambda: ledger.retirement.retire_entry(desk.scope, gone, reason="", now=MONDAY))
    desk.read()
    assert not Commitment.objects.of(desk.tenant_id).get().holds


def test_a_text_that_is_redacted_while_it_is_understood_is_read_again(
    desk: Desk, meanwhile: Callable[[Act], None]
) -> None:
    entry = desk.says("The word is hunter2-hunter2. Call Ana in 3 days.")
    shorter = "The word is *. Call Ana in 3 days."
    rows = MemoryEntry.objects.written_by("memory.ledger").filter(id=entry)
    meanwhile(lambda: rows.update(content=shorter))
    assert desk.read_next()
    assert desk.said == set()
    desk.read()
    row = Commitment.objects.of(desk.tenant_id).get()
    assert shorter[row.starts : row.ends] == "Call Ana in 3 days."


def test_what_another_worker_has_read_meanwhile_is_not_recorded_twice(
    desk: Desk, meanwhile: Callable[[Act], None]
) -> None:
    entry = desk.says("Call Ana in 3 days. When the invoice clears, tell finance.")
    desk.says("The invoice cleared.")

    def read_and_fire() -> None:
        desk.read()
        commitment_firing.process_commitments(desk.tenant_id, clock=lambda: MONDAY)

    meanwhile(read_and_fire)
    assert desk.read_next()
    desk.read()
    assert desk.said == {entry}
    assert commitment_firing.process_commitments(desk.tenant_id, clock=lambda: MONDAY) == 0
    assert sorted(Commitment.objects.of(desk.tenant_id).values_list("fired_count", flat=True)) == [0, 1]


def test_a_condition_that_comes_up_meanwhile_has_the_part_read_again(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk.says("When the invoice clears, tell finance.")
    desk.read()
    desk.says("The invoice cleared.")
    with monkeypatch.context() as patching:
        patching.setattr(lifecycle, "conditions_by_ref", lambda _tenant, refs, _denying: {ref: set() for ref in refs})
        before = desk.position
        assert desk.read_next()
        assert desk.position == before
    desk.read()
    assert Commitment.objects.of(desk.tenant_id).get().holds


def test_an_entry_calls_off_nothing_that_a_later_one_of_its_part_says(desk: Desk) -> None:
    desk.says("No need to ring the museum on Friday.")
    desk.says("Ring the museum on Friday.")
    desk.says("Ring the harbour on Friday.")
    desk.says("No need to ring the harbour on Friday.")
    desk.read()
    states = Commitment.objects.of(desk.tenant_id).order_by("id").values_list("state", flat=True)
    assert list(states) == [CommitmentState.ARMED, CommitmentState.CANCELLED]


@pytest.mark.engines
@pytest.mark.parametrize("at", ["store", "record_conditions", "advance_watch"])
@pytest.mark.django_db(transaction=True)
def test_a_worker_that_dies_while_it_records_leaves_all_to_the_next(at: str, monkeypatch: pytest.MonkeyPatch) -> None:
    desk = Desk()
    entry = desk.says("When the invoice clears, tell finance.")
    desk.says("The invoice cleared.")
    act = getattr(lifecycle, at)

    def dying(*args: Any, **named: Any) -> None:
        act(*args, **named)
        raise KeyboardInterrupt

    with monkeypatch.context() as patching:
        patching.setattr(lifecycle, at, dying)
        with pytest.raises(KeyboardInterrupt):
            desk.read()
    assert (desk.said, desk.position) == (set(), 0)
    desk.read()
    assert desk.said == {entry}
    assert Commitment.objects.of(desk.tenant_id).get().predicate["turn"] == 1


# --- within limits ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("problem", ["a fault", "too long"])
def test_a_text_that_cannot_be_understood_is_passed_by_and_named_in_the_log(
    problem: str, desk: Desk, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    bad, good = desk.says("Call Zebedee in 3 days."), desk.says("Call Bob in 3 days.")
    find = intentions.found_in

    def finding(text: str, **named: Any) -> object:
        if "Zebedee" in text and problem == "a fault":
            raise ValueError
        if "Zebedee" in text:
            re.fullmatch("(a+)+b", "a" * 60)  # takes a thousand years
        return find(text, **named)

    monkeypatch.setattr(intentions, "found_in", finding)
    monkeypatch.setattr(inference, "ENTRY_SECONDS", 0.2)
    desk.read()
    assert desk.said == {good}
    assert desk.position == ledger.head.position(desk.tenant_id)
    assert ids.wire("mem", bad) in caplog.text
    assert "Zebedee" not in caplog.messages[0]


@pytest.mark.parametrize("limit", ["PART_SECONDS", "PART_TEXT"])
def test_a_part_ends_in_time_and_has_one_entry_at_least(
    limit: str, desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(inference, limit, 0)
    entries = [desk.says(f"Call customer {number} in 3 days.") for number in range(3)]
    assert [(desk.read_next(), len(desk.said)) for _ in entries] == [(True, 1), (True, 2), (False, 3)]
    assert desk.said == set(entries)


def test_a_tenant_with_much_to_read_gives_way_to_others_and_has_another_turn(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(inference, "PART_SECONDS", 0)
    monkeypatch.setattr(commitment_firing, "TURN_SECONDS", 0)
    for number in range(3):
        desk.says(f"Call customer {number} in 3 days.")
    for read in range(1, 4):
        found = commitments.inference.due_tenants(since=MONDAY, whole=False, now=MONDAY + timedelta(seconds=read))
        assert desk.tenant_id in found.tenants
        assert lifecycle.lease_watch(desk.tenant_id, "a", now=MONDAY)
        commitment_firing.process_commitments(desk.tenant_id, holder="a", whole=False, clock=lambda: MONDAY)
        assert len(desk.said) == read
        assert CommitmentWatch.objects.of(desk.tenant_id).get().lease_until is None
    found = commitments.inference.due_tenants(since=MONDAY, whole=False, now=MONDAY + timedelta(seconds=9))
    assert desk.tenant_id not in found.tenants
