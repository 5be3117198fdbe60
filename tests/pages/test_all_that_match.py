"""All entries that match a filter are retired, protected or tagged, or the contrary: at once, or by a worker."""

import itertools
import re
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from django.test import Client
from django.utils import timezone

from memory import entry_selection, ledger, ledger_search, passes, tasks
from memory.addresses import Address, Tier
from memory.entry_drafts import MAX_TAGS
from memory.entry_selection import Matching
from memory.host import audit, ids, vault
from memory.host.errors import Conflict, Unprocessable
from memory.host.models import Membership
from memory.ledger.entries import AddressedValue
from memory.ledger_search import LedgerFilter
from memory.models import Pass, PassState
from memory.models.entry import EntryTag, MemoryEntry
from memory.openintent import entries
from memory.openintent.access import Caller
from tests import archiving, building
from tests.pages.conftest import SignIn, body_of

pytestmark = pytest.mark.django_db


def written(*texts: str, **draft: Any) -> list[str]:
    owner = building.scope()
    run = building.open_run(owner)
    return [ids.wire("mem", building.write(owner, run, text, **draft).id) for text in texts]


def parsed(mem_id: str) -> UUID:
    found = ids.parse("mem", mem_id)
    assert found
    return found


def retired() -> set[str]:
    return set(MemoryEntry.objects.filter(retired_at__isnull=False).values_list("content", flat=True))


def asked(browser: Client, action: str, matching: str) -> dict[str, str]:
    """The page that asks first, as the form on it would be sent."""
    shown = body_of(browser.get("/memory/selected", {"action": action, "all": "yes", "matching": matching}))
    form = shown[shown.index('action="/memory/selected"') :]
    return dict(re.findall(r'<input type="hidden" name="(\w+)" value="([^"]*)"', form.replace("&amp;", "&")))


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(entry_selection, "AT_ONCE", 3)
    monkeypatch.setattr(entry_selection, "STEP", 2)


def test_entries_with_only_one_of_the_words_are_neither_shown_nor_changed(ada: Client) -> None:
    written("the pump is red", "a red lamp")
    shown = body_of(ada.get("/memory/selected", {"action": "retire", "all": "yes", "matching": "q=red pump"}))
    assert ("the pump is red" in shown, "a red lamp" in shown) == (True, False)
    ada.post("/memory/selected", {**asked(ada, "retire", "q=red pump"), "reason": "cleared"})
    assert retired() == {"the pump is red"}


@pytest.mark.engines
def test_all_that_match_are_changed_and_nothing_else_is(ada: Client) -> None:
    written("the pump is red", "a red pump", tags=("red",), subject="s-1", memory_ref="shop", agent_id="a")
    written("something else", tags=("blue",))
    for query in ["tag=red", "q=pump", "subject=s-1", "ref=shop", "agent=a", "age=1h&tag=red"]:
        with building.undone():
            form = asked(ada, "retire", query)
            assert ada.post("/memory/selected", {**form, "reason": "cleared"}).status_code == 302, query
            assert retired() == {"the pump is red", "a red pump"}, query
            assert len(audit.newest(building.tenant().id, audit.AuditFilter(action="memory.retired"))) == 2, query
            ada.post("/memory/selected", asked(ada, "restore", f"{query}&state=all"))
            assert retired() == set(), query


@pytest.mark.engines
@pytest.mark.parametrize("query", ["tag=red", "q=pump"])
def test_what_is_written_after_the_number_was_shown_is_not_touched(ada: Client, query: str) -> None:
    written("a red pump", tags=("red",))
    form = asked(ada, "retire", query)
    written("a later red pump", tags=("red",))
    ada.post("/memory/selected", form)
    assert retired() == {"a red pump"}


@pytest.mark.engines
@pytest.mark.usefixtures("small")
def test_of_many_a_worker_changes_them_as_a_pass_with_its_numbers(ada: Client) -> None:
    written(*(f"note {number}" for number in range(7)), tags=("red",))
    form = asked(ada, "protect", "tag=red")
    written("a later note", tags=("red",))
    answer = ada.post("/memory/selected", form)
    assert answer["Location"].startswith("/passes/pass_")
    work = Pass.objects.get(kind=entry_selection.KIND)
    assert "Waiting for a worker" in body_of(ada.get(answer["Location"]))
    tasks.carry_out_pass(work.tenant_id.hex, work.id.hex)
    work.refresh_from_db()
    assert (work.state, work.done, work.outcome) == (PassState.DONE, 7, {"changed": 7, "left": 0})
    shown = body_of(ada.get(answer["Location"]))
    assert "Protect all entries that match a filter" in shown
    assert MemoryEntry.objects.filter(protected=True).count() == 7
    assert len(audit.newest(building.tenant().id, audit.AuditFilter(action="memory.protected"))) == 7
    ada.post("/memory/selected", asked(ada, "unprotect", "tag=red"))
    work = Pass.objects.exclude(id=work.id).get(kind=entry_selection.KIND)
    tasks.carry_out_pass(work.tenant_id.hex, work.id.hex)
    assert not MemoryEntry.objects.filter(protected=True).exists()


@pytest.mark.engines
@pytest.mark.usefixtures("small")
def test_a_worker_acts_with_the_rights_that_the_person_has_by_then(ada: Client) -> None:
    written(*(f"note {number}" for number in range(5)), tags=("red",))
    ada.post("/memory/selected", asked(ada, "retire", "tag=red"))
    work = Pass.objects.get(kind=entry_selection.KIND)
    building.deactivate(Membership.objects.get().operator)
    tasks.carry_out_pass(work.tenant_id.hex, work.id.hex)
    work.refresh_from_db()
    assert work.state == PassState.REFUSED
    assert retired() == set()


@pytest.mark.usefixtures("small")
def test_a_worker_ends_when_the_rights_of_the_person_are_taken_back_meanwhile(
    ada: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    written(*(f"note {number}" for number in range(7)), tags=("red",))
    ada.post("/memory/selected", {**asked(ada, "retire", "tag=red"), "reason": "cleared"})
    apply = entry_selection.apply

    def take_back(*given: Any, **named: Any) -> int:
        found = apply(*given, **named)
        building.deactivate(Membership.objects.get().operator)
        return found

    monkeypatch.setattr(entry_selection, "apply", take_back)
    work = Pass.objects.get(kind=entry_selection.KIND)
    tasks.carry_out_pass(work.tenant_id.hex, work.id.hex)
    work.refresh_from_db()
    assert (work.state, len(retired())) == (PassState.REFUSED, 2)


@pytest.mark.engines
@pytest.mark.usefixtures("small")
def test_a_worker_that_takes_over_counts_what_the_one_before_it_has_changed(
    ada: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    written(*(f"note {number}" for number in range(7)), tags=("red",))
    ada.post("/memory/selected", {**asked(ada, "retire", "tag=red"), "reason": "cleared"})
    work = Pass.objects.get(kind=entry_selection.KIND)
    begun = passes.claim(work.tenant_id, work.id, holder="killed", now=timezone.now())
    assert begun
    apply = entry_selection.apply

    def die(*given: Any, **named: Any) -> int:
        if len(retired()) >= 4:
            raise building.Killed
        return apply(*given, **named)

    with monkeypatch.context() as patched, pytest.raises(building.Killed):
        patched.setattr(entry_selection, "apply", die)
        entry_selection.carry_out(begun, clock=timezone.now)
    later = timezone.now() + timedelta(minutes=10)
    taken = passes.claim(work.tenant_id, work.id, holder="next", now=later)
    assert taken
    entry_selection.carry_out(taken, clock=lambda: later)
    work.refresh_from_db()
    assert (len(retired()), work.total, work.outcome) == (7, 7, {"changed": 7, "left": 0})


def die_at(monkeypatch: pytest.MonkeyPatch, call: int) -> None:
    """The worker is killed at that call of ``apply``, the first of which has the number 0."""
    apply, calls = entry_selection.apply, itertools.count()

    def die(*given: Any, **named: Any) -> int:
        if next(calls) == call:
            raise building.Killed
        return apply(*given, **named)

    monkeypatch.setattr(entry_selection, "apply", die)


def begun(action: str, wanted: LedgerFilter) -> Pass:
    """The pass over what matches, which a worker left when it was killed at its third part."""
    owner, now = building.scope(), timezone.now()
    matching = Matching.now(owner, wanted)
    work = entry_selection.apply_to_all(owner, action, matching, reason="cleared", tag="quarter", now=now)
    assert isinstance(work, Pass)
    claimed = passes.claim(work.tenant_id, work.id, holder="killed", now=now)
    assert claimed
    with pytest.MonkeyPatch.context() as patched, pytest.raises(building.Killed):
        die_at(patched, 2)
        entry_selection.carry_out(claimed, clock=timezone.now)
    return work


def taken_over(work: Pass) -> Pass:
    """The pass as the next worker ended it."""
    later = timezone.now() + timedelta(minutes=10)
    taken = passes.claim(work.tenant_id, work.id, holder="next", now=later)
    assert taken
    entry_selection.carry_out(taken, clock=lambda: later)
    return taken


@pytest.mark.engines
@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("text", ["", "note"])
@pytest.mark.parametrize(
    ("action", "state"),
    [("retire", "present"), ("retire", "all"), ("restore", "all"), ("tag", "present"), ("protect", "present")],
)
def test_a_worker_that_takes_over_counts_no_entry_twice(action: str, state: str, text: str) -> None:
    owner = building.scope()
    made = [parsed(each) for each in written(*(f"note {number}" for number in range(7)))]
    if action == "restore":
        entry_selection.apply(owner, "retire", made, now=timezone.now())
    work = begun(action, LedgerFilter(text=text, state=state))
    work.refresh_from_db()
    assert (work.outcome["looked"], work.outcome["changed"]) == (4, 4)
    done = taken_over(work)
    assert (done.total, done.outcome) == (7, {"changed": 7, "left": 0})
    done_to = {"retire": 7, "restore": 0, "tag": 0, "protect": 0}[action]
    assert MemoryEntry.objects.filter(retired_at__isnull=False).count() == done_to


@pytest.mark.engines
@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("text", ["", "note"])
def test_what_was_restored_before_another_worker_takes_over_is_not_retired_again(text: str) -> None:
    """Nor is it where the last entry of the first worker is gone by then."""
    owner = building.scope()
    made = [parsed(each) for each in written(*(f"note {number}" for number in range(7)))]
    work = begun("retire", LedgerFilter(text=text))
    newest_first = made[::-1]
    ledger.retirement.restore_entry(owner, newest_first[0], now=timezone.now())
    ledger.erase.remove_entries(owner.tenant_id, [newest_first[3]], reason="deleted", now=timezone.now())
    done = taken_over(work)
    assert (done.total, done.outcome) == (7, {"changed": 7, "left": 0})
    assert retired() == {f"note {number}" for number in (0, 1, 2, 4, 5)}


@pytest.mark.engines
@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("number", [3, 7])
@pytest.mark.parametrize("action", ["retire", "restore", "protect", "unprotect", "tag", "untag"])
def test_an_entry_that_goes_meanwhile_is_skipped_and_the_others_are_changed(
    monkeypatch: pytest.MonkeyPatch, action: str, number: int
) -> None:
    owner = building.scope()
    written(*(f"note {each}" for each in range(number)), tags=("red",))
    apply, gone = entry_selection.apply, list[UUID]()

    def then_applied(scope: Any, action: str, entry_ids: list[UUID], **named: Any) -> int:
        if not gone:
            gone.append(min(entry_ids))
            ledger.erase.remove_entries(owner.tenant_id, gone, reason="deleted", now=timezone.now())
        return apply(scope, action, entry_ids, **named)

    monkeypatch.setattr(entry_selection, "apply", then_applied)
    matching, now = Matching.now(owner, LedgerFilter(state="all")), timezone.now()
    done = entry_selection.apply_to_all(owner, action, matching, reason="cleared", tag="quarter", now=now)
    assert isinstance(done, Pass) == (number == 7)
    if isinstance(done, Pass):
        tasks.carry_out_pass(done.tenant_id.hex, done.id.hex)
        done.refresh_from_db()
        assert (done.state, done.outcome) == (PassState.DONE, {"changed": 6, "left": 1})
    else:
        assert done == 2
    if action == "retire":
        assert len(retired()) == number - 1


@pytest.mark.engines
@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("number", [3, 7])
def test_an_entry_whose_key_was_taken_meanwhile_is_not_restored_and_the_others_are(
    monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    owner = building.scope()

    def put(key: str) -> UUID:
        given = AddressedValue(Address(Tier.EPISODIC, "billing-01", "invoices", key), {"total": 47})
        return entries.create(Caller(owner, "billing-01"), given, now=timezone.now()).id

    made = [put(f"k{each}") for each in range(number)]
    entry_selection.apply(owner, "retire", made, now=timezone.now())
    occupied, restore = ledger.addressed.without_occupied_keys, list[UUID]()

    def then_taken(*given: Any) -> list[UUID]:
        found = occupied(*given)
        if not restore:
            restore.append(put(f"k{number - 1}"))
        return found

    monkeypatch.setattr(ledger.addressed, "without_occupied_keys", then_taken)
    matching, now = Matching.now(owner, LedgerFilter(state="retired")), timezone.now()
    done = entry_selection.apply_to_all(owner, "restore", matching, now=now)
    if isinstance(done, Pass):
        tasks.carry_out_pass(done.tenant_id.hex, done.id.hex)
        done.refresh_from_db()
        assert (done.state, done.outcome) == (PassState.DONE, {"changed": 6, "left": 1})
    else:
        assert done == 2
    assert list(MemoryEntry.objects.filter(retired_at__isnull=False).values_list("id", flat=True)) == [made[-1]]


@pytest.mark.engines
@pytest.mark.django_db(transaction=True)
def test_a_bulk_change_waits_for_those_of_single_entries_and_none_of_them_fails() -> None:
    """Each locked an entry after it had the head of the ledger, and PostgreSQL ended one of them as a deadlock."""
    owner, now = building.scope(), timezone.now()
    made: list[UUID] = []

    def act(number: int) -> None:
        if number == 0:
            entry_selection.apply(owner, "retire", made, skipping=True, now=now)
        elif number == 1:
            for each in made[9::-1]:
                ledger.retirement.retire_entry(owner, each, reason="", now=now)
        else:
            for each in made[10:14]:
                ledger.erase.remove_entries(owner.tenant_id, (each,), reason="deleted", now=now)

    for _ in range(4):
        made = building.write_each(owner, *(f"note {number}" for number in range(20)))
        building.at_once(act, 3)
        left = MemoryEntry.objects.filter(id__in=made)
        assert (left.count(), left.filter(retired_at=None).count()) == (16, 0)


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("number", [3, 7])
def test_an_entry_without_room_for_a_tag_is_skipped(number: int) -> None:
    owner = building.scope()
    written("full", tags=tuple(f"t{each}" for each in range(MAX_TAGS)))
    written(*(f"note {each}" for each in range(number - 1)))
    matching, now = Matching.now(owner, LedgerFilter()), timezone.now()
    done = entry_selection.apply_to_all(owner, "tag", matching, tag="quarter", now=now)
    if isinstance(done, Pass):
        tasks.carry_out_pass(done.tenant_id.hex, done.id.hex)
        done.refresh_from_db()
        assert (done.state, done.outcome) == (PassState.DONE, {"changed": 6, "left": 1})
    else:
        assert done == 2
    assert EntryTag.objects.filter(tag="quarter").count() == number - 1


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("place", ["filter", "tag"])
def test_a_filter_or_a_tag_that_names_a_forgotten_person_changes_nothing(place: str) -> None:
    written(*(f"note {number} of [FORGOTTEN]" for number in range(5)))
    scope, now = building.scope(), timezone.now()
    work = entry_selection.apply_to_all(scope, "tag", Matching.now(scope, LedgerFilter()), tag="quarter", now=now)
    assert isinstance(work, Pass)
    begun = passes.claim(work.tenant_id, work.id, holder="test/1", now=now)
    assert begun
    begun.options[place] = {"text": "[FORGOTTEN]"} if place == "filter" else "[FORGOTTEN]"
    with pytest.raises(Conflict, match="was forgotten"):
        entry_selection.carry_out(begun, clock=timezone.now)
    assert not EntryTag.objects.exists()


@pytest.mark.usefixtures("small")
def test_a_secret_in_the_filter_or_the_tag_of_a_change_for_a_worker_is_refused_and_not_stored() -> None:
    secret, scope, now = "sk-live-4eC39HqLyjWDarjtT1zdp7dc", building.scope(), timezone.now()
    written(*(f"note {number}" for number in range(5)), memory_ref=secret)
    vault.store_secret(scope.tenant_id, "stripe", secret, now=now)
    for wanted, tag in ((LedgerFilter(memory_ref=secret), "quarter"), (LedgerFilter(), secret)):
        with pytest.raises(Unprocessable):
            entry_selection.apply_to_all(scope, "tag", Matching.now(scope, wanted), tag=tag, now=now)
    assert not Pass.objects.filter(kind=entry_selection.KIND).exists()


@pytest.mark.engines
@pytest.mark.parametrize("number", [1, 7])
@pytest.mark.usefixtures("small")
def test_all_that_match_are_tagged_but_the_text_of_an_archive(ada: Client, number: int) -> None:
    written(*(f"note {each}" for each in range(number)), tags=("red",))
    archiving.distilled("acme", "a red note")
    form = asked(ada, "tag", "state=all")
    answer = ada.post("/memory/selected", {**form, "action": "tag", "tag": "quarter"})
    passes = list(Pass.objects.filter(kind=entry_selection.KIND))
    assert len(passes) == (number == 7), "a worker does it where there are many"
    for work in passes:
        assert answer["Location"].startswith("/passes/pass_")
        tasks.carry_out_pass(work.tenant_id.hex, work.id.hex)
        work.refresh_from_db()
        assert work.outcome == {"changed": number + 1, "left": 1}
    of_runs = MemoryEntry.objects.exclude(derived="distilled")
    assert {tuple(row.tags[-1:]) for row in of_runs} == {("quarter",)}
    assert EntryTag.objects.filter(tag="quarter").count() == number + 1


def test_the_ledger_offers_all_that_match_where_a_page_is_not_all(ada: Client) -> None:
    written(*(f"note {number}" for number in range(51)), tags=("red",))
    shown = body_of(ada.get("/memory?tag=red&age=24h"))
    assert "All 51 that match" in shown
    assert re.search(r'name="matching" value="tag=red&amp;state=present&amp;since=20[^"]+"', shown)
    assert "that match</label>" not in body_of(ada.get("/memory?q=17"))


def test_without_a_place_up_to_which_nothing_is_changed(ada: Client) -> None:
    written("a red pump", tags=("red",))
    for upto in ["", "-1", "many"]:
        ada.post("/memory/selected", {"action": "retire", "all": "yes", "matching": "tag=red", "upto": upto})
        assert retired() == set(), upto


def test_who_may_not_retire_is_refused(sign_in: SignIn) -> None:
    written("a red pump", tags=("red",))
    given = {"action": "retire", "all": "yes", "matching": "tag=red", "upto": "99"}
    assert sign_in(role="viewer").post("/memory/selected", given).status_code == 403
    assert retired() == set()


@pytest.mark.engines
def test_another_tenant_s_entries_match_nothing(sign_in: SignIn) -> None:
    written("a red pump", tags=("red",))
    sign_in("globex").post("/memory/selected", {"action": "retire", "all": "yes", "matching": "tag=red", "upto": "999"})
    assert retired() == set()


@pytest.mark.engines
def test_every_match_is_found_once_in_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("memory.host.sql.CHUNK", 3)
    written(*(f"pump {number}" for number in range(8)), tags=("red",))
    scope, now = building.scope(), timezone.now()
    for wanted in (LedgerFilter(), LedgerFilter(tag="red"), LedgerFilter(text="pump")):
        upto = Matching.now(scope, wanted).upto
        found = [each for part in ledger_search.every_match(scope, wanted, upto=upto, now=now) for each in part]
        assert len(found) == len(set(found)) == 8, wanted
