"""What the memory makes of texts that its rules were not written for, and of a folder of more."""

import gzip
import json
from pathlib import Path

import pytest

from tools.bench import unseen
from tools.bench.outcomes import Outcome
from tools.bench.plan import Plan
from tools.bench.quality import texts
from tools.bench.quality.texts import CONTRARY, DIFFERENT, Pair

OWN, UNREAD = texts.shipped(), texts.held()


def plan(folder: Path | None = None) -> Plan:
    return Plan("sqlite", 1000, 1, 1, 1000, folder)


def fates(pairs: list[Pair]) -> set[str]:
    return {unseen.fate_of(pair.older, pair.newer) for pair in pairs}


@pytest.mark.parametrize("pair", [pair for pair in OWN.pairs if pair.label == DIFFERENT], ids=lambda pair: pair.newer)
def test_what_differs_is_left_alone(pair: Pair) -> None:
    assert unseen.fate_of(pair.older, pair.newer) == unseen.LEFT
    assert unseen.fate_of(pair.newer, pair.older) == unseen.LEFT


def test_different_facts_that_look_alike_are_left_alone() -> None:
    different = [pair for pair in UNREAD.pairs if pair.label == DIFFERENT]
    assert len(different) > 1000
    touched = [pair for pair in different if unseen.fate_of(pair.older, pair.newer) != unseen.LEFT]
    assert touched == []


def test_what_says_the_contrary_is_never_merged() -> None:
    pairs = [pair for pair in OWN.pairs if pair.label == CONTRARY]
    assert unseen.MERGED not in fates(pairs) | fates([Pair(*pair[::2], pair.older) for pair in pairs])


def found_in(outcomes: list[Outcome], what: str, name: str = OWN.name) -> float | None:
    (found,) = [each for each in outcomes if what in each.workload and each.workload.startswith(f"{name}:")]
    return found.measured


def test_pairs_of_one_meaning_are_merged_and_older_values_replaced() -> None:
    outcomes = list(unseen.reconciled(plan()))
    assert (found_in(outcomes, "of one meaning") or 0) >= 0.5
    assert (found_in(outcomes, "with a newer value") or 0) >= 0.9


def test_so_they_are_of_pairs_that_nobody_has_read() -> None:
    outcomes = list(unseen.reconciled(plan()))
    assert (found_in(outcomes, "of one meaning", UNREAD.name) or 0) >= 0.5
    assert (found_in(outcomes, "with a newer value", UNREAD.name) or 0) >= 0.55


def test_pairs_by_another_hand_are_never_touched_where_they_differ() -> None:
    read, unread = (texts.second(half).name for half in ("read", "unread"))
    outcomes = list(unseen.reconciled(plan()))
    assert [found_in(outcomes, "pairs that differ", name) for name in (read, unread)] == [0, 0]
    assert (found_in(outcomes, "of one meaning", read) or 0) >= 0.7
    assert (found_in(outcomes, "with a newer value", read) or 0) >= 0.8
    assert (found_in(outcomes, "of one meaning", unread) or 0) >= 0.45
    assert (found_in(outcomes, "with a newer value", unread) or 0) >= 0.4


def test_commitments_are_found_and_nothing_else_is_taken_for_one() -> None:
    outcomes = list(unseen.committed(plan()))
    assert found_in(outcomes, "precision") == 1
    assert (found_in(outcomes, "recall") or 0) >= 0.8
    assert found_in(outcomes, "precision", UNREAD.name) == 1
    assert (found_in(outcomes, "recall", UNREAD.name) or 0) >= 0.75


def test_so_are_commitments_conditions_and_corrections_by_another_hand() -> None:
    read = texts.second("read").name
    orders, conditions = list(unseen.committed(plan())), list(unseen.fired(plan()))
    assert found_in(orders, "precision", read) == 1
    assert (found_in(orders, "recall", read) or 0) >= 0.95
    assert (found_in(conditions, "conditions met", read) or 0) >= 0.9
    assert found_in(conditions, "not met", read) == 0
    grouped, joined = [each.measured for each in unseen.asked(plan()) if each.workload.startswith(f"{read}:")]
    assert (grouped or 0) >= 0.9
    assert joined == 0


def test_a_quarter_of_a_talk_keeps_more_answers_than_random_turns() -> None:
    by_target, by_budget = [outcome.measured or 0 for outcome in unseen.distilled(plan())]
    assert by_target >= 0.4
    assert by_budget >= 0.2


def test_a_folder_of_more_texts_is_judged_as_well(tmp_path: Path) -> None:
    pairs = [
        {"id": "a", "label": "merge", "older": "The shop opens at 9 am.", "newer": "The shop opens at 9:00."},
        {"id": "b", "label": "supersede", "older": "Ticket 7 is open.", "newer": "Ticket 7 is closed."},
        {"id": "c", "label": "keep", "older": "Ana likes tea.", "newer": "Ben likes tea."},
    ]
    order, later = "Tell me when the parcel arrives.", "The parcel has arrived."
    written = {
        "my-pairs": pairs,
        "my-commitments": [{"text": order, "commitment": True}],
        "my-firing": [{"commitment": order, "follow": later, "fires": True}],
        "my-corrections": [{"corrections": ["Be brief.", "Shorter.", "Too long."], "other": "Add details."}],
        "my-questions": [{"pair": "b", "question": "Is ticket 7 open?"}],
    }
    for name, document in written.items():
        (tmp_path / f"{name}.json").write_text(json.dumps(document))
    assert [each.measured for each in unseen.reconciled(plan(tmp_path))][6:9] == [1, 1, 0]
    assert [each.measured for each in unseen.committed(plan(tmp_path))][4:6] == [1, 1]
    assert [each.measured for each in unseen.fired(plan(tmp_path))][2:4] == [1, None]
    assert [each.measured for each in unseen.asked(plan(tmp_path))][:2] == [1, 0]
    (notes,) = texts.of_folder(tmp_path).notes
    assert notes.turns[notes.questions[0].places[0]] == "Ticket 7 is open."


def test_a_talk_of_the_folder_has_its_turns_and_the_questions_that_it_answers(tmp_path: Path) -> None:
    conversation = {
        "session_1_date_time": "1 May",
        "session_1": [{"speaker": "Ana", "dia_id": "D1:1", "text": "Hi! I have moved to Faro."}],
    }
    asked = [
        {"question": "Where does Ana live?", "answer": "Faro", "evidence": ["D1:1"], "category": 1},
        {"question": "Where does Ben live?", "evidence": ["D1:1"], "category": texts.NO_ANSWER},
    ]
    observed = {"session_1_observation": {"Ana": [["Ana lives in Faro.", "D1:1"], ["Ana likes tea.", "D1:2"]]}}
    document = json.dumps([{"conversation": conversation, "qa": asked, "observation": observed}]).encode()
    (tmp_path / "locomo-mine.json.gz").write_bytes(gzip.compress(document))
    (talk,) = texts.of_folder(tmp_path).talks
    (facts,) = texts.of_folder(tmp_path).facts
    assert [question.places for question in facts.questions] == [(0,)]
    assert talk.turns == ("Ana: Hi! I have moved to Faro.",)
    assert [question.text for question in talk.questions] == ["Where does Ana live?"]
    assert list(talk.answering()) == ["I have moved to Faro."]
