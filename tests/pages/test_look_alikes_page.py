"""Possible duplicates: read side by side, and decided by a button, by a key or without scripts."""

import json
from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone

from memory import external_runs, ledger, origins
from memory.entry_drafts import EntryDraft
from memory.host import ids
from memory.passes import lookalikes
from memory.passes.lookalikes import Pair
from tests import building
from tests.memory.test_look_alikes import HELD, HERE, KEPT, Desk
from tests.pages.conftest import SignIn, body_of

pytestmark = pytest.mark.django_db
URL = "/consolidation/duplicates"
FERN = ("Basil waters the big fern on Mondays.", "On Mondays the big fern gets water from Basil.")


@pytest.fixture
def desk() -> Desk:
    found = Desk()
    found.say(KEPT, HELD, *FERN)
    assert len(found.look()) == 2
    return found


def value_of(pair: Pair) -> str:
    return f"{pair.id}:{pair.sha256}"


def with_text(desk: Desk, text: str) -> Pair:
    return next(pair for pair in desk.pairs() if pair.older.content == text)


def test_both_texts_stand_side_by_side_with_their_differing_words_and_their_writers(ada: Client, desk: Desk) -> None:
    shown = body_of(ada.get(URL))
    assert (
        "<mark>Our</mark> blue cabinet in the <mark>hall</mark> <mark>holds</mark> <mark>all</mark> invoices." in shown
    )
    pair = with_text(desk, KEPT)
    for words in (f'href="/memory/{ids.wire("mem", pair.older.id)}"', f'href="/runs/{ids.wire("run", desk.run.id)}"'):
        assert words in shown
    assert shown.count("stays when merged") == 2
    assert "by node <code>node</code>" in shown


def test_a_node_that_an_agent_states_is_said_to_be_stated_beside_its_text(ada: Client) -> None:
    desk, stated = Desk(), origins.of_document({"system": "crew", "node": "plan"})
    desk.say(KEPT)
    external_runs.write_entry(desk.owner, HERE, EntryDraft(HELD), stated, now=timezone.now())
    desk.look()
    assert "by node <code>plan</code> of crew, stated by the agent in run" in body_of(ada.get(URL))


def test_the_button_beside_a_pair_decides_that_pair(ada: Client, desk: Desk) -> None:
    for verb, said, left in [
        ("merge", "Merged 1 pair.", {HELD, *FERN}),
        ("replace", "Replaced the older entry of 1 pair.", {HELD, *FERN}),
        ("keep", "Kept both entries of 1 pair.", {KEPT, HELD, *FERN}),
    ]:
        with building.undone():
            pair, other = with_text(desk, KEPT), with_text(desk, FERN[0])
            answer = ada.post(URL + "/decide", {verb: f"{value_of(pair)}:2", "pair": value_of(other), "next": URL})
            assert answer.headers["Location"] == f"{URL}#next-2", verb
            shown = body_of(ada.get(URL))
            assert said in shown, verb
            assert set(desk.texts()) == left, verb
            assert "Our</mark> blue cabinet" not in shown, verb
            assert len(desk.pairs()) == 1, verb


def test_the_bar_decides_every_selected_pair(ada: Client, desk: Desk) -> None:
    ada.post(URL + "/decide", {"decision": "replace", "pair": [value_of(pair) for pair in desk.pairs()]})
    assert set(desk.texts()) == {HELD, FERN[1]}
    assert "No possible duplicates" in body_of(ada.get(URL))


def test_a_decision_is_no_consolidation_that_should_have_changed_nothing(ada: Client, desk: Desk) -> None:
    for verb in ("replace", "merge"):
        ada.post(URL + "/decide", {verb: value_of(desk.pairs()[0])})
        assert "Not tested yet" in body_of(ada.get("/consolidation")), verb
    idle = desk.consolidate()
    assert not idle.outcome["merged"] + idle.outcome["superseded"]
    shown = body_of(ada.get("/consolidation"))
    assert "It changed nothing, as it should." in shown
    assert f"/passes/{ids.wire('pass', idle.id)}" in shown.split('id="idempotence"')[1].split("</section>")[0]


def test_a_pair_that_changed_meanwhile_is_refused_in_words_and_nothing_is_changed(ada: Client, desk: Desk) -> None:
    values = [value_of(pair) for pair in desk.pairs()]
    ledger.retirement.retire_entry(desk.owner, with_text(desk, KEPT).newer.id, reason="", now=timezone.now())
    before = desk.texts()
    refused = ada.post(URL + "/decide", {"decision": "merge", "pair": values})
    assert refused.status_code == 409
    assert "Nothing was changed" in body_of(refused)
    assert "changed, retired or forgotten" in body_of(refused)
    assert desk.texts() == before


def test_nothing_selected_changes_nothing(ada: Client, desk: Desk) -> None:
    for form in ({}, {"decision": "merge"}, {"decision": "burn", "pair": "x"}):
        assert ada.post(URL + "/decide", form).status_code == 302
    assert ada.post(URL + "/decide", {"merge": "x"}).status_code == 409
    assert len(desk.texts()) == 4


def test_a_viewer_reads_the_pairs_and_decides_nothing(sign_in: SignIn, desk: Desk) -> None:
    viewer = sign_in(role="viewer")
    shown = body_of(viewer.get(URL))
    assert "Our</mark> blue cabinet" in shown
    assert 'name="merge"' not in shown
    assert "bulk-bar" not in shown
    assert "passes:run" in shown
    assert viewer.post(URL + "/decide", {"merge": value_of(desk.pairs()[0])}).status_code == 403
    assert len(desk.texts()) == 4


def test_another_tenant_sees_no_pair_and_decides_none(sign_in: SignIn, desk: Desk) -> None:
    gil = sign_in("globex")
    assert "cabinet" not in body_of(gil.get(URL))
    assert gil.post(URL + "/decide", {"merge": value_of(desk.pairs()[0])}).status_code == 409
    assert len(desk.texts()) == 4


def test_the_pairs_are_reached_from_the_first_page_the_navigation_and_the_entry(ada: Client, desk: Desk) -> None:
    pair = with_text(desk, KEPT)
    mem = ids.wire("mem", pair.older.id)
    assert 'Duplicates <span class="count">2</span>' in body_of(ada.get("/consolidation"))
    assert f'href="{URL}?entry={mem}">1 possible duplicate</a> waits for a decision' in body_of(
        ada.get(f"/memory/{mem}")
    )
    assert ada.get("/?format=json").json()["duplicates"] == 2
    one = body_of(ada.get(f"{URL}?entry={mem}"))
    assert "</mark> blue cabinet" in one
    assert "fern" not in one
    assert "No pairs match" in body_of(ada.get(f"{URL}?ref=elsewhere"))


def test_the_list_is_a_file_as_well(ada: Client, desk: Desk) -> None:
    rows = json.loads(body_of(ada.get(f"{URL}?format=json")))["look-alikes"]
    assert [each["older"]["content"] for each in rows] == [pair.older.content for pair in desk.pairs()]
    assert body_of(ada.get(f"{URL}?format=csv")).count("dup_") == 2


def test_pairs_are_paged(ada: Client, desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("memory.views.consolidation.SHOWN", 1)
    first, second = desk.pairs()
    shown = body_of(ada.get(URL))
    assert first.id in shown
    assert second.id not in shown
    behind = lookalikes.page(building.scope(), after=first.row.id, size=1, now=timezone.now() + timedelta(seconds=1))
    assert [each.id for each in behind.rows] == [second.id]
    assert second.id in body_of(ada.get(f"{URL}?after={first.id}&seen=1"))
