"""What the memory makes of texts that its rules were not written for, and of a folder of more."""

import gzip
import json
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import TypeAlias

import pytest

from tools.bench import unseen
from tools.bench.outcomes import Outcome
from tools.bench.plan import Plan
from tools.bench.quality import texts
from tools.bench.quality.texts import CONTRARY, DIFFERENT, Pair

OWN, UNREAD = texts.shipped(), texts.held()
Judged: TypeAlias = Callable[[Plan], Iterator[Outcome]]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of more texts."""
    order, later, path = "Tell me when the parcel arrives.", "The parcel has arrived.", tmp_path_factory.mktemp("texts")
    pairs = [
        {"id": "a", "label": "merge", "older": "The shop opens at 9 am.", "newer": "The shop opens at 9:00."},
        {"id": "b", "label": "supersede", "older": "Ticket 7 is open.", "newer": "Ticket 7 is closed."},
        {"id": "c", "label": "keep", "older": "Ana likes tea.", "newer": "Ben likes tea."},
    ]
    written = {
        "my-pairs": pairs,
        "my-commitments": [{"text": order, "commitment": True}],
        "my-firing": [{"commitment": order, "follow": later, "fires": True}],
        "my-corrections": [{"corrections": ["Be brief.", "Shorter.", "Too long."], "other": "Add details."}],
        "my-questions": [{"pair": "b", "question": "Is ticket 7 open?"}],
    }
    for name, document in written.items():
        (path / f"{name}.json").write_text(json.dumps(document))
    return path


@pytest.fixture(scope="module")
def judge(folder: Path) -> Callable[[Judged], list[Outcome]]:
    """What one of the figures says of every text, those of the folder too; worked out once."""
    return cache(lambda figure: list(figure(plan(folder))))


def plan(folder: Path | None = None) -> Plan:
    return Plan("sqlite", 1000, 1, 1, 1000, folder)


def fates(pairs: list[Pair]) -> set[str]:
    return {unseen.fate_of(pair.older, pair.newer) for pair in pairs}


def test_what_differs_is_left_alone_whichever_is_the_newer() -> None:
    different = [pair for pair in OWN.pairs if pair.label == DIFFERENT]
    assert len(different) > 100
    for pair in different:
        assert unseen.fate_of(pair.older, pair.newer) == unseen.LEFT, pair
        assert unseen.fate_of(pair.newer, pair.older) == unseen.LEFT, pair


def test_what_says_the_contrary_is_never_merged() -> None:
    pairs = [pair for pair in OWN.pairs if pair.label == CONTRARY]
    assert unseen.MERGED not in fates(pairs) | fates([Pair(*pair[::2], pair.older) for pair in pairs])


def found_in(outcomes: list[Outcome], what: str, name: str = OWN.name) -> float | None:
    (found,) = [each for each in outcomes if what in each.workload and each.workload.startswith(f"{name}:")]
    return found.measured


def test_pairs_of_one_meaning_are_merged_older_values_replaced_and_others_left_alone(
    judge: Callable[[Judged], list[Outcome]],
) -> None:
    """Also of pairs that no rule was made for, and of those by another hand."""
    outcomes, hands = judge(unseen.reconciled), [texts.second(half).name for half in ("read", "unread")]
    assert len([pair for pair in UNREAD.pairs if pair.label == DIFFERENT]) > 1000
    for name, same, newer in (
        (OWN.name, 0.5, 0.9),
        (UNREAD.name, 0.5, 0.55),
        (hands[0], 0.7, 0.8),
        (hands[1], 0.45, 0.4),
    ):
        assert (found_in(outcomes, "of one meaning", name) or 0) >= same, name
        assert (found_in(outcomes, "with a newer value", name) or 0) >= newer, name
        assert found_in(outcomes, "pairs that differ", name) == 0, name
    assert [each.measured for each in outcomes][6:9] == [1, 1, 0], "those of the folder"


def test_commitments_are_found_and_nothing_else_is_taken_for_one(judge: Callable[[Judged], list[Outcome]]) -> None:
    outcomes = judge(unseen.committed)
    for name, recall in ((OWN.name, 0.8), (UNREAD.name, 0.75), (texts.second("read").name, 0.95)):
        assert found_in(outcomes, "precision", name) == 1, name
        assert (found_in(outcomes, "recall", name) or 0) >= recall, name
    assert [each.measured for each in outcomes][4:6] == [1, 1], "those of the folder"


def test_conditions_are_met_and_corrections_grouped_that_another_hand_has_written(
    judge: Callable[[Judged], list[Outcome]],
) -> None:
    read, conditions, corrections = texts.second("read").name, judge(unseen.fired), judge(unseen.asked)
    assert (found_in(conditions, "conditions met", read) or 0) >= 0.9
    assert found_in(conditions, "not met", read) == 0
    grouped, joined = [each.measured for each in corrections if each.workload.startswith(f"{read}:")]
    assert (grouped or 0) >= 0.9
    assert joined == 0
    assert [each.measured for each in conditions][2:4] == [1, None], "those of the folder"
    assert [each.measured for each in corrections][:2] == [1, 0], "those of the folder"


def test_a_question_about_notes_of_the_folder_is_answered_by_one_of_them(folder: Path) -> None:
    (notes,) = texts.of_folder(folder).notes
    assert notes.turns[notes.questions[0].places[0]] == "Ticket 7 is open."


def test_a_quarter_of_a_talk_keeps_more_answers_than_random_turns() -> None:
    by_target, by_budget = [outcome.measured or 0 for outcome in unseen.distilled(plan())]
    assert by_target >= 0.4
    assert by_budget >= 0.2


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
