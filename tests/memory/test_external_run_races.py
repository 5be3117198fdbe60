"""Agents elsewhere that begin at the same moment: whoever comes first opens the run, and all write on its log."""

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from django.utils import timezone

from memory import external_runs
from memory.addresses import Address, Tier
from memory.entry_drafts import EntryDraft
from memory.host import event_log
from memory.host.models import Run
from memory.ledger.entries import AddressedValue
from memory.models import EntryOrigin, ExternalRun
from memory.models.address import EntryAddress
from memory.openintent import entries
from memory.openintent.access import Caller
from memory.origins import Origin
from tests import building
from tests.proposals.test_races import at_once, refusals

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.engines]
ABREAST = 6
AGENT = "bot"


def note(origin: Origin, number: int) -> Any:
    draft = EntryDraft(f"note {number}", agent_id=AGENT)
    return external_runs.write_entry(building.scope(), "notes", draft, origin, now=timezone.now())


def address(origin: Origin, number: int) -> Any:
    given = AddressedValue(Address(Tier.EPISODIC, AGENT, "ns", f"k{number}", created_by=AGENT), {"n": number})
    return entries.create(Caller(building.scope(), AGENT), given, origin=origin, now=timezone.now())


def open_run(origin: Origin, number: int) -> Any:
    return external_runs.find_or_open(building.scope(), AGENT, origin, now=timezone.now())


def written(acts: list[Callable[[], Any]]) -> list[Run]:
    """The external runs that are there when all have acted at once, none of which was refused."""
    building.tenant()
    assert refusals(at_once(*acts)) == []
    found = Run.objects.of(building.tenant().id).filter(external=True)
    assert {run.id for run in found} == set(ExternalRun.objects.values_list("id", flat=True))
    return list(found)


@pytest.mark.parametrize("origin", [Origin("langgraph", "run-7", node="plan"), Origin("langgraph", "", "thread-1")])
@pytest.mark.parametrize("door", [note, address])
def test_first_writes_at_the_same_moment_open_exactly_one_run(door: Callable[..., Any], origin: Origin) -> None:
    [run] = written([partial(door, origin, number) for number in range(ABREAST)])
    told = [event.type for event in event_log.read(run.tenant_id, run.id, after=-1)]
    assert (told[0], told[1:]) == ("run.started", ["memory.written"] * ABREAST)
    assert set(EntryOrigin.objects.values_list("run_id", flat=True)) == {run.id}


def test_opening_and_writing_at_the_same_moment_is_one_run() -> None:
    origin = Origin("langgraph", "run-7")
    doors = [note, address, open_run] * 2
    [run] = written([partial(door, origin, number) for number, door in enumerate(doors)])
    assert event_log.length(run.tenant_id, run.id) == 5


def test_first_writes_of_two_runs_at_the_same_moment_open_two() -> None:
    origins = [Origin("langgraph", f"run-{number % 2}") for number in range(ABREAST)]
    runs = written([partial(note, origin, number) for number, origin in enumerate(origins)])
    assert [event_log.length(run.tenant_id, run.id) for run in runs] == [1 + ABREAST // 2] * 2


def test_puts_at_one_address_at_the_same_moment_are_one_entry_with_each_write_on_the_run_it_names() -> None:
    at = Address(Tier.EPISODIC, AGENT, "ns", "one", created_by=AGENT)

    def put(number: int) -> Any:
        value, origin = {"n": number}, Origin("langgraph", f"run-{number % 2}", node=f"node-{number}")
        caller = Caller(building.scope(), AGENT)
        return entries.put_entry(
            caller, AddressedValue(at, value), {"value": value}, fixed={}, origin=origin, now=timezone.now()
        )

    runs = written([partial(put, number) for number in range(ABREAST)])
    row = EntryAddress.objects.get()
    assert row.version == ABREAST
    assert EntryOrigin.objects.filter(entry_id=row.id).count() == ABREAST
    assert EntryOrigin.objects.filter(entry_id=row.id, current=True).count() == 1
    stated = {(each.run_ref, each.node, each.run_id) for each in EntryOrigin.objects.all()}
    by_ref = {each.ref: each.id for each in ExternalRun.objects.all()}
    assert stated == {(f"run-{n % 2}", f"node-{n}", by_ref[f"run-{n % 2}"]) for n in range(ABREAST)}
    assert {run.id for run in runs} == set(by_ref.values())
