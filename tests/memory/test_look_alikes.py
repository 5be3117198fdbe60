"""Look-alikes: what no rule decides is offered to a person, once, and done in that person's name like any pass."""

from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from django.test import Client
from django.utils import timezone
from pytest_django.fixtures import Settings

from memory import adapter, embeddings, ledger, passes, provenance, tasks
from memory.adapter.passes import CorpusEntry
from memory.host import event_log, vault
from memory.host.errors import Conflict, Forbidden
from memory.host.tenancy import MemoryScope
from memory.models import LookAlike, Pass, PassState, Verb
from memory.models.entry import MemoryEntry
from memory.passes import PassOrder, lookalikes, orders
from memory.passes.lookalikes import Choice, Pair
from memory.passes.orders import RequestedPass
from memory.text.similarity import likeness
from tests import building, desks, embedding
from tests.memory.test_forgetting import forget

pytestmark = pytest.mark.django_db
KEPT, HELD = "The invoices are kept in the blue cabinet.", "Our blue cabinet in the hall holds all invoices."
HERE = "notes"


class Desk(desks.Desk):
    """One that looks for entries alike."""

    def say(self, *texts: str, **draft: Any) -> list[UUID]:
        return super().say(*texts, **{"memory_ref": HERE} | draft)

    def consolidate(self, memory_ref: str = HERE) -> Pass:
        done = self.work(orders.order(self.owner, RequestedPass("consolidate", memory_ref), now=timezone.now()))
        assert done.state == PassState.DONE
        return done

    def look(self, memory_ref: str = HERE) -> list[Pair]:
        lookalikes.find_pairs(self.consolidate(memory_ref), clock=timezone.now)
        return self.pairs()

    def pairs(self) -> list[Pair]:
        return lookalikes.page(self.owner, after=None, size=100, now=timezone.now()).rows

    def decide(self, verb: str, *pairs: Pair, owner: Any = None) -> list[Pass]:
        chosen = [Choice(pair.row.id, pair.sha256) for pair in pairs]
        return lookalikes.decide(owner or self.owner, verb, chosen, now=timezone.now())

    def refused(self, verb: str, *pairs: Pair) -> list[str]:
        """The words for each pair that stood in the way; nothing has changed."""
        before = self.texts(), Pass.objects.count()
        with pytest.raises(Conflict) as refusal:
            self.decide(verb, *pairs)
        assert (self.texts(), Pass.objects.count()) == before
        return [each["message"] for each in refusal.value.details.get("problems", [{"message": refusal.value.message}])]

    def texts(self) -> list[str]:
        return sorted(building.contents(self.owner, HERE))


@pytest.fixture
def desk() -> Desk:
    return Desk()


@pytest.fixture
def pair(desk: Desk) -> Pair:
    desk.say(KEPT, "The lift is out of order.", HELD)
    (found,) = desk.look()
    return found


def test_a_restatement_is_offered_and_what_is_about_another_thing_is_not(desk: Desk) -> None:
    older, _, newer = desk.say(KEPT, "The lift is out of order.", HELD)
    desk.say("The fern stands in the kitchen.", "The fern stands in the cellar.", "Ticket 881 is for Omar.")
    assert [(each.older.id, each.newer.id) for each in desk.look()] == [(older, newer)]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Ticket 881 was closed by Omar.", "Ticket 882 was closed by Omar."),
        ("Acme sued Globex last year.", "Globex sued Acme last year."),
        ("The flat in Warsaw has two balconies.", "The flat in Gdynia has two balconies."),
        ("Hanna prefers green tea.", "Anna prefers green tea."),
        ("The course covers basic statistics.", "The course covers basic accounting."),
        ("Thanks a lot!", "Thanks, see you."),
    ],
)
def test_statements_that_differ_in_one_place_alone_are_not_alike(one: str, other: str) -> None:
    assert likeness(one, other) == 0


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (KEPT, HELD),
        ("Frau Berger wohnt in der Altstadt von Bern.", "Frau Berger lebt in der Altstadt von Bern."),
        ("Payments are processed by Stripe.", "We use Stripe to process payments."),
        ("The lift takes twelve people.", "Twelve people fit into the lift."),
    ],
)
def test_the_same_in_other_words_is_alike_whichever_comes_first(one: str, other: str) -> None:
    assert likeness(one, other) == likeness(other, one) > 0


@pytest.mark.engines
def test_the_most_alike_pairs_come_first_on_each_page(desk: Desk) -> None:
    desk.say(KEPT, HELD)
    desk.say("Payments are processed by Stripe.", "We use Stripe to process payments.")
    desk.say("The lift takes twelve people.", "Twelve people fit into the lift.")
    found = desk.look()
    assert [each.row.percent for each in found] == sorted((each.row.percent for each in found), reverse=True)
    after: UUID | None = None
    for each in found:
        page = lookalikes.page(desk.owner, after=after, size=1, now=timezone.now())
        assert [one.row.id for one in page.rows] == [each.row.id]
        after = page.after
    assert after is None


UNLIKE = ("Anna waters plants daily", "Berlin office closes early", "Invoices arrive quarterly", "Parking costs extra")


@pytest.mark.engines
def test_entries_that_share_no_word_are_offered_where_their_vectors_are_near(
    desk: Desk, settings: Settings, client: Client
) -> None:
    settings.OPENWOP_OUTBOUND_ALLOW = ["127.0.0.1/32"]
    with embedding.serving() as endpoint:
        embedding.switch_on("acme", endpoint)
        older, *_, newer = desk.say("Physician repaired vehicle", *UNLIKE, "Surgeon fixing automobile")
        embeddings.embed_entries(clock=timezone.now)
        (found,) = desk.look()
        assert (found.older.id, found.newer.id, found.row.percent, found.row.by_meaning) == (older, newer, 100, True)
        (late,) = desk.say("Doctor mend car")
        assert len(desk.look()) == 1  # it waits for its vector
        embeddings.embed_entries(clock=timezone.now)
        assert [each.newer.id for each in desk.look()] == [late, late, newer]
    client.force_login(building.operator(slug="acme"))
    assert "100 % alike in meaning" in client.get("/consolidation/duplicates").content.decode()


def test_an_endpoint_that_fails_leaves_the_comparison_of_words(desk: Desk, settings: Settings) -> None:
    settings.OPENWOP_OUTBOUND_ALLOW = ["127.0.0.1/32"]
    with embedding.serving() as endpoint:
        embedding.switch_on("acme", endpoint)
        endpoint.answers = lambda _: (500, b"{}")
        desk.say(KEPT, HELD)
        embeddings.embed_entries(clock=timezone.now)
        (found,) = desk.look()
        assert not found.row.by_meaning


def test_what_consolidation_may_not_merge_is_not_offered(desk: Desk) -> None:
    desk.say(KEPT)
    desk.say(HELD, memory_ref="elsewhere")
    desk.say(HELD, agent_id="private.acme.other")
    desk.say(HELD, tags=("customer:globex",), subject="globex")
    (kept,) = desk.say("All invoices: blue cabinet, in the hall.", subject="acme")
    ledger.entries.protect(desk.owner, kept, protected=True, now=timezone.now())
    (gone,) = desk.say("In the blue cabinet are all our invoices.", subject="acme")
    ledger.retirement.retire_entry(desk.owner, gone, reason="", now=timezone.now())
    offered = {frozenset((each.older.content, each.newer.content)) for each in desk.look()}
    assert offered == {frozenset((KEPT, HELD))}  # the one about globex: who the other is about, nobody has said
    assert LookAlike.objects.count() == 1


@pytest.mark.engines
def test_only_what_is_new_is_looked_at_and_only_so_much_of_it(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lookalikes, "MOST_LOOKED", 2)
    asked: list[str] = []

    def most_about(scope: MemoryScope, text: str, **more: Any) -> list[CorpusEntry]:
        asked.append(text)
        return look(scope, text, **more)

    look = adapter.passes.corpus_about
    monkeypatch.setattr(adapter.passes, "corpus_about", most_about)
    desk.say("one", "two", KEPT)
    desk.look()
    assert asked == ["one", "two"]
    desk.look()
    desk.look()
    assert asked == ["one", "two", KEPT]
    desk.say(HELD)
    assert len(desk.look()) == 1


def test_how_far_one_ref_was_looked_at_says_nothing_of_another(desk: Desk) -> None:
    desk.say(KEPT, HELD, memory_ref="other")
    desk.consolidate("other")
    desk.say("The lift is out of order.")
    assert desk.look() == []
    assert len(desk.look("other")) == 1


def test_what_is_about_two_people_is_not_offered(desk: Desk) -> None:
    desk.say(KEPT, subject="marta")
    desk.say(HELD, subject="hannes")
    assert desk.look() == []


@pytest.mark.engines
def test_no_more_wait_than_there_is_room_for_and_the_most_alike_come_first(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk.say(KEPT, HELD, "Invoices are in the blue cabinet.", "Invoices? The blue cabinet in the hall holds them.")
    with building.undone():
        every = [each.row.percent for each in desk.look()]
    assert every[1] > every[-1]
    monkeypatch.setattr(lookalikes, "MOST_OPEN", 2)
    found = desk.look()
    assert [each.row.percent for each in found] == every[:2]
    desk.say("Look for invoices in the blue cabinet in the hall.")
    assert len(desk.look()) == 2
    desk.decide(Verb.KEEP, *found)
    assert len(desk.look()) > 0


@pytest.mark.engines
def test_a_merge_keeps_the_fuller_text_and_all_that_both_carried(desk: Desk) -> None:
    older, newer = desk.say(KEPT, tags=("office",)) + desk.say(HELD, tags=("paper",))
    (pair,) = desk.look()
    (work,) = desk.decide(Verb.MERGE, pair)
    assert desk.texts() == [HELD]
    (left,) = adapter.console.entries_by_id(
        desk.owner, [entry for entry in _ids() if entry not in (older, newer)], now=timezone.now()
    ).values()
    assert sorted(left.tags) == ["office", "paper"]
    assert (work.kind, work.state, work.requested_by) == ("consolidate", "done", desk.owner.principal.id)
    assert {row.source_id for row in provenance.lineage_of_pass(work.tenant_id, work.id, limit=9)} == {older, newer}
    told = [event.payload for event in event_log.read(work.tenant_id, work.run_id) if "consolidated" in event.type]
    assert [(each["inputCount"], each["outputCount"]) for each in told] == [(2, 1)]
    assert desk.look() == []


def _ids() -> list[UUID]:
    return list(MemoryEntry.objects.values_list("id", flat=True))


def test_what_was_merged_can_be_restored_and_is_left_alone_from_then_on(desk: Desk, pair: Pair) -> None:
    desk.decide(Verb.MERGE, pair)
    ledger.retirement.restore_entry(desk.owner, pair.older.id, now=timezone.now())
    assert {KEPT, HELD} <= set(desk.texts())
    assert desk.look() == []


def test_the_newer_replaces_the_older(desk: Desk, pair: Pair) -> None:
    (work,) = desk.decide(Verb.REPLACE, pair)
    assert KEPT not in desk.texts()
    assert HELD in desk.texts()
    assert (work.outcome["merged"], work.outcome["superseded"]) == (0, 1)
    (row,) = provenance.descendants_of(work.tenant_id, [pair.older.id])[pair.older.id]
    assert (row.kind, row.target_id) == ("superseded", pair.newer.id)


def test_both_are_kept_for_good_and_never_asked_about_again(desk: Desk, pair: Pair) -> None:
    assert desk.decide(Verb.KEEP, pair) == []
    assert {KEPT, HELD} <= set(desk.texts())
    ledger.retirement.retire_entry(desk.owner, pair.older.id, reason="", now=timezone.now())
    ledger.retirement.restore_entry(desk.owner, pair.older.id, now=timezone.now())  # its ref is looked at anew
    assert desk.look() == []
    row = LookAlike.objects.get(id=pair.row.id)
    assert (row.decision, row.decided_by) == ("keep", desk.owner.principal.id)


def test_a_decision_to_keep_stands_for_what_the_entries_are_merged_into(desk: Desk, pair: Pair) -> None:
    desk.decide(Verb.KEEP, pair)
    desk.say(HELD.lower(), tags=("paper",))
    assert desk.look() == []
    assert HELD not in desk.texts()


@pytest.mark.engines
def test_many_are_decided_at_once_also_where_they_share_an_entry(desk: Desk) -> None:
    desk.say(KEPT, HELD, "All our invoices: in the hall, the blue cabinet, on top, as ever.")
    pairs = desk.look()
    assert len(pairs) > 1
    (work,) = desk.decide(Verb.MERGE, *pairs)
    assert work.outcome["merged"] == 2
    assert desk.texts() == ["All our invoices: in the hall, the blue cabinet, on top, as ever."]


def test_pairs_of_one_ref_that_share_no_entry_are_merged_apart(desk: Desk) -> None:
    spare, stored = "The spare keys hang behind the door.", "Behind the kitchen door all spare keys hang."
    desk.say(KEPT, HELD, spare, stored)
    pairs = desk.look()
    assert len(pairs) == 2
    (work,) = desk.decide(Verb.MERGE, *pairs)
    assert work.outcome["merged"] == 2
    assert desk.texts() == sorted([HELD, stored])


def test_the_last_of_several_replaces_all_that_came_before_it(desk: Desk) -> None:
    older, newer, last = desk.say(KEPT, HELD, "All our invoices: in the hall, the blue cabinet, on top, as ever.")
    (work,) = desk.decide(Verb.REPLACE, *desk.look())
    into = {row.source_id: row.target_id for row in provenance.lineage_of_pass(work.tenant_id, work.id, limit=9)}
    assert into == {older: last, newer: last}
    assert desk.texts() == ["All our invoices: in the hall, the blue cabinet, on top, as ever."]


def test_a_pair_of_which_one_went_is_refused_in_words(desk: Desk, pair: Pair) -> None:
    ledger.retirement.retire_entry(desk.owner, pair.newer.id, reason="", now=timezone.now())
    assert desk.pairs() == []
    for verb in Verb.values:
        assert "changed, retired or forgotten" in desk.refused(verb, pair)[0]


def test_a_pair_that_was_forgotten_or_decided_is_refused_in_words(desk: Desk, pair: Pair) -> None:
    desk.say("Basil waters the big fern on Mondays.", "On Mondays the big fern gets water from Basil.")
    (other,) = (each for each in desk.look() if each.row.id != pair.row.id)
    desk.decide(Verb.KEEP, other)
    assert "decided" in desk.refused(Verb.MERGE, pair, other)[0]
    forget(desk.owner, "cabinet", typed="cabinet")
    assert "forgotten" in desk.refused(Verb.MERGE, pair)[0]


def test_a_refused_decision_names_each_pair_that_stood_in_the_way(desk: Desk, pair: Pair) -> None:
    desk.say("Basil waters the big fern on Mondays.", "On Mondays the big fern gets water from Basil.")
    pairs = desk.look()
    desk.decide(Verb.KEEP, *pairs)
    with pytest.raises(Conflict) as refusal:
        desk.decide(Verb.MERGE, *pairs)
    expected = sorted(pairs, key=lambda each: each.row.id)
    assert [each["id"] for each in refusal.value.details["problems"]] == [each.id for each in expected]


def test_a_text_that_changed_since_it_was_read_is_not_decided_about(desk: Desk, pair: Pair) -> None:
    with pytest.raises(Conflict) as refusal:
        lookalikes.decide(desk.owner, Verb.MERGE, [Choice(pair.row.id, "0" * 64)], now=timezone.now())
    assert "changed" in refusal.value.details["problems"][0]["message"]
    assert {KEPT, HELD} <= set(desk.texts())


def test_what_expires_sooner_replaces_nothing(desk: Desk) -> None:
    desk.say(KEPT)
    desk.say(HELD, expires_at=timezone.now() + timedelta(hours=1))
    (pair,) = desk.look()
    assert "expires before" in desk.refused(Verb.REPLACE, pair)[0]


def test_entries_whose_tags_find_no_room_in_one_are_not_merged(desk: Desk) -> None:
    desk.say(KEPT, tags=tuple(f"a{number}" for number in range(60)))
    desk.say(HELD, tags=tuple(f"b{number}" for number in range(60)))
    (pair,) = desk.look()
    assert "tags" in desk.refused(Verb.MERGE, pair)[0]


@pytest.mark.engines
def test_entries_of_two_people_are_not_merged_by_way_of_one_that_is_nobody_s(desk: Desk) -> None:
    desk.say(KEPT, subject="marta")
    desk.say(HELD)
    desk.say("All our invoices: in the hall, the blue cabinet, on top, as ever.", subject="hannes")
    pairs = desk.look()
    assert len(pairs) == 2
    assert set(desk.refused(Verb.MERGE, *pairs)) == {lookalikes.OF_TWO}
    (work,) = desk.decide(Verb.MERGE, pairs[0])
    assert work.outcome["merged"] == 1


def test_while_another_pass_is_at_work_on_the_ref_nothing_is_decided(desk: Desk, pair: Pair) -> None:
    now = timezone.now()
    row = passes.request(desk.owner.tenant_id, PassOrder("consolidate", "w", "host", HERE), now=now)
    assert passes.claim(desk.owner.tenant_id, row.id, holder="test/2", now=now)
    assert "Another pass" in desk.refused(Verb.MERGE, pair)[0]
    assert desk.decide(Verb.KEEP, pair) == []


def test_what_is_written_in_the_place_of_both_holds_no_secret_of_the_vault(desk: Desk) -> None:
    desk.say(KEPT, tags=("office",))
    desk.say("Our blue cabinet holds all invoices, under the code hunter22hunter.", tags=("paper",))
    vault.store_secret(desk.owner.tenant_id, "door", "hunter22hunter", now=timezone.now())
    (pair,) = desk.look()
    desk.decide(Verb.MERGE, pair)
    assert "hunter22" not in " ".join(desk.texts())


def test_a_viewer_and_another_tenant_decide_nothing(desk: Desk, pair: Pair) -> None:
    with pytest.raises(Forbidden):
        desk.decide(Verb.MERGE, pair, owner=building.scope(role="viewer"))
    globex = building.scope("globex")
    assert lookalikes.page(globex, after=None, size=9, now=timezone.now()).rows == []
    with pytest.raises(Conflict):
        desk.decide(Verb.MERGE, pair, owner=globex)
    assert len(desk.pairs()) == 1


@pytest.mark.engines
def test_a_forget_takes_the_pairs_of_what_it_erases(desk: Desk, pair: Pair) -> None:
    desk.decide(Verb.KEEP, pair)
    desk.say("Basil waters the big fern on Mondays.", "On Mondays the big fern gets water from Basil.")
    assert len(desk.look()) == 1
    forget(desk.owner, "hall", typed="hall")
    (left,) = LookAlike.objects.all()
    assert left.id != pair.row.id


def test_a_worker_looks_for_pairs_after_each_consolidation(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    queued: list[tuple[str, ...]] = []
    monkeypatch.setattr(tasks, "async_task", lambda name, *given, **_: queued.append((name, *given)))
    desk.say(KEPT, HELD)
    row = orders.order(desk.owner, RequestedPass("consolidate", HERE), now=timezone.now())
    tasks.carry_out(row.tenant_id, row.id)
    ((name, *given),) = queued
    assert name == "memory.tasks.find_look_alikes"
    tasks.find_look_alikes(*given)
    assert len(desk.pairs()) == 1
