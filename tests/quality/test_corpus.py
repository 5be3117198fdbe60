"""What the generator of the labelled corpus promises, without any rule."""

import os
import re
import subprocess
import sys
from collections import Counter, defaultdict
from random import Random

import pytest
from django.conf import settings

from tools.bench.quality import facts, operators, slots, words
from tools.bench.quality.corpus import SHARES, corpus
from tools.bench.quality.keyfacts import CLASSES, case_file
from tools.bench.quality.labels import CHATTER, LOOK_ALIKE, NEWER, PARAPHRASE, PLAIN

SIZE = 3_000
WORD = re.compile(r"[^\W_]+(?:[-.'][^\W_]+)*")
DIGEST = """
import hashlib
from tools.bench.quality.corpus import corpus
found = corpus(500)
print(hashlib.sha256(repr((found.entries, found.lookalikes)).encode()).hexdigest())
"""


@pytest.fixture(scope="module")
def labelled():
    return corpus(SIZE)


@pytest.fixture(scope="module")
def large():
    return corpus(4 * SIZE)


def said(text: str) -> list[str]:
    return WORD.findall(text.casefold())


def plain(text: str) -> str:
    return " ".join(text.casefold().split())


def filled(template: facts.Template, rng: Random) -> tuple[facts.Pieces, dict[str, str]]:
    given = facts.filled(template.say[0], rng)
    return facts.pieces(template.say[0], given), given


def restatements(name: str) -> list[tuple[facts.Pieces, facts.Pieces]]:
    """Every English fact before and after the operator, where it has anything to do."""
    rng = Random(name)
    befores = [filled(template, rng)[0] for template in facts.templates() if not template.plain for _ in range(3)]
    return [(before, after) for before in befores if (after := operators.OPERATORS[name](before, rng)) is not None]


def one_edit(word: str, other: str) -> bool:
    ends = {(word[:at], word[at:]) for at in range(len(word) + 1)}
    letters = "abcdefghijklmnopqrstuvwxyz"
    return other in (
        {a + b[1:] for a, b in ends}
        | {a + b[1] + b[0] + b[2:] for a, b in ends if len(b) > 1}
        | {a + c + b[1:] for a, b in ends for c in letters}
        | {a + c + b for a, b in ends for c in letters}
    )


def test_a_seed_gives_one_corpus_in_every_process() -> None:
    found = set()
    for salt in ("1", "2"):
        command = [sys.executable, "-c", DIGEST]
        environment = os.environ | {"PYTHONHASHSEED": salt}
        found.add(
            subprocess.run(command, cwd=settings.BASE_DIR, env=environment, capture_output=True, check=True).stdout
        )
    assert len(found) == 1


def test_another_seed_gives_another_corpus(labelled) -> None:
    texts = {each.text for each in labelled.entries}
    others = [each.text for each in corpus(SIZE, seed="2").entries]
    assert sum(text in texts for text in others) < SIZE / 100


def test_statements_stand_in_the_order_of_their_time_with_ids_that_rise(labelled) -> None:
    assert [each.id for each in labelled.entries] == sorted({each.id for each in labelled.entries})
    times = [each.said_at for each in labelled.entries]
    assert times == sorted(times)


def test_the_classes_keep_their_shares_as_the_corpus_grows(labelled, large) -> None:
    small, large = (Counter(each.made_by for each in one.entries) for one in (labelled, large))
    for name in (PLAIN, PARAPHRASE, LOOK_ALIKE, CHATTER, NEWER, *operators.NAMES):
        assert small[name] / SIZE == pytest.approx(large[name] / (4 * SIZE), abs=0.03), name


def test_no_text_says_two_things(labelled) -> None:
    meanings = defaultdict(set)
    for each in labelled.entries:
        meanings[plain(each.text)].add((each.fact, each.value))
    assert [text for text, found in meanings.items() if len(found) > 1] == []


def test_what_restates_came_later_and_says_the_same_value(labelled) -> None:
    known = {each.id: each for each in labelled.entries}
    followers = [each for each in labelled.entries if each.of]
    assert len(followers) > SIZE / 5
    for each in followers:
        first = known[each.of]
        assert (first.fact, first.value) == (each.fact, each.value)
        assert first.said_at < each.said_at


def test_newer_values_came_later_in_other_words_than_the_older(labelled) -> None:
    by_fact = defaultdict(list)
    for each in labelled.entries:
        by_fact[each.fact].append(each)
    chains = [found for found in by_fact.values() if len({each.value for each in found}) > 1]
    assert max(len({each.value for each in found}) for found in chains) == 3
    for found in chains:
        assert [each.value for each in found] == sorted(each.value for each in found)
        assert len({each.kind for each in found}) == 1
        assert found[0].kind


def test_look_alikes_are_two_facts_said_once_each(labelled) -> None:
    times = Counter(each.fact for each in labelled.entries)
    texts = {each.fact: each.text for each in labelled.entries}
    assert len(labelled.lookalikes) > SIZE / 20
    for pair in labelled.lookalikes:
        assert times[pair.one] == times[pair.other] == 1
        assert plain(texts[pair.one]) != plain(texts[pair.other])


def test_every_kind_of_look_alike_is_there(large) -> None:
    listed = set(slots.data("lookalikes"))
    made = {
        "other identity",
        "other identity and value",
        "same family name",
        "same first name",
        "near name",
        "other digits",
        "happened again",
    }
    found = Counter(pair.kind for pair in large.lookalikes)
    assert set(found) == listed | made
    assert min(found.values()) > 5


def test_a_supersession_is_allowed_of_few_look_alikes(labelled) -> None:
    allowed = {pair.kind for pair in labelled.lookalikes if pair.may_supersede}
    assert allowed == {"negation", "opposite state", "unit"}
    assert sum(pair.may_supersede for pair in labelled.lookalikes) < len(labelled.lookalikes) / 3


def test_a_hot_template_makes_the_share_that_was_asked_for() -> None:
    found = corpus(SIZE, hot=1 / 3).entries
    hot = [each for each in found if "asked twice" in re.sub(r"\s+", " ", each.text.casefold())]
    assert len(hot) / len(found) == pytest.approx(1 / 3, abs=0.05)


def test_some_are_protected_and_most_are_not(labelled) -> None:
    assert 0 < sum(each.protected for each in labelled.entries) < SIZE / 20


def test_the_word_orders_of_a_fact_have_the_same_words() -> None:
    loose = set(words.FUNCTION_WORDS)
    for template in facts.templates():
        orders = {tuple(sorted(word for word in said(text) if word not in loose)) for text in template.say}
        assert len(orders) == 1, template.id


def test_a_fact_has_one_set_of_slots_and_names_its_value() -> None:
    assert len(facts.templates()) >= 90
    for template in facts.templates():
        for text in (*template.say, *template.update):
            assert set(facts.slots_of(text)) == set(template.slots), text
        for text in template.paraphrase:
            assert set(facts.slots_of(text)) <= set(template.slots), text
        assert template.identities, template.id
        assert not template.value or template.value in template.slots, template.id
        assert set(template.dependent) < set(template.identities), template.id


@pytest.mark.parametrize("name", operators.OPERATORS)
def test_no_operator_touches_a_name_or_a_value(name: str) -> None:
    found = restatements(name)
    assert len(found) > 100
    for before, after in found:
        text = facts.rendered(after).casefold()
        assert [piece.text for piece in before if piece.fixed and piece.text.casefold() not in text] == []


def test_another_case_is_the_same_but_for_case() -> None:
    for before, after in restatements("case"):
        assert facts.rendered(before).casefold() == facts.rendered(after).casefold()


def test_punctuation_leaves_the_words() -> None:
    for before, after in restatements("punctuation"):
        assert said(facts.rendered(before)) == said(facts.rendered(after))


def test_filler_adds_words_of_the_list_and_no_other() -> None:
    listed = [*words.FILLER_IN_FRONT, *words.FILLER_BEHIND, *words.FILLER_INSIDE]
    fillers = {tuple(sorted(said(each))) for each in listed}
    for before, after in restatements("filler"):
        added = Counter(said(facts.rendered(after))) - Counter(said(facts.rendered(before)))
        assert tuple(sorted(added.elements())) in fillers


def test_only_function_words_are_dropped() -> None:
    for before, after in restatements("function words"):
        gone = Counter(said(facts.rendered(before))) - Counter(said(facts.rendered(after)))
        assert gone
        assert set(gone) <= set(words.FUNCTION_WORDS)


def test_synonyms_are_those_of_the_list() -> None:
    for before, after in restatements("synonyms"):
        changed = [
            (one, other)
            for one, other in zip(said(facts.rendered(before)), said(facts.rendered(after)), strict=True)
            if one != other
        ]
        assert changed
        assert all(words.OTHER_WORD[one] == other for one, other in changed)


def test_every_synonym_of_the_list_is_used_and_stands_for_one_other() -> None:
    spelled = {
        word for template in facts.templates() for text in (*template.say, *template.update) for word in said(text)
    }
    assert [pair for pair in words.SYNONYMS if spelled.isdisjoint(pair)] == []
    assert len(words.OTHER_WORD) == 2 * len(words.SYNONYMS) >= 80


def test_a_typo_is_one_edit_in_a_long_word_that_gives_no_other_word() -> None:
    for before, after in restatements("typos"):
        pairs = zip(facts.rendered(before).split(), facts.rendered(after).split(), strict=True)
        changed = [(one.strip(".,;:"), other.strip(".,;:")) for one, other in pairs if one != other]
        assert 1 <= len(changed) <= 2
        for one, other in changed:
            assert len(one) >= words.LONG_WORD
            assert one[0] == other[0]
            assert one_edit(one, other)
            assert other not in operators.vocabulary()


def test_classes_of_the_corpus_are_those_that_have_a_share() -> None:
    assert sum(SHARES.values()) > 0
    assert all(share > 0 for share in SHARES.values())


def test_a_case_file_says_every_key_fact_in_its_notes() -> None:
    case = case_file(1_000)
    text = "\n".join(note.text for note in case.notes)
    assert {fact.kind for fact in case.facts} == set(CLASSES)
    for fact in case.facts:
        assert all(sentence in text for sentence in fact.sentences)
        assert (len(fact.sentences) > 1) == (fact.kind == "repeated")


def test_a_case_file_buries_its_facts_and_is_told_in_order() -> None:
    case = case_file(1_000)
    sentences = {sentence for fact in case.facts for sentence in fact.sentences}
    telling = [note for note in case.notes if any(sentence in note.text for sentence in sentences)]
    assert len(telling) < len(case.notes) / 3
    assert [note.said_at for note in case.notes] == sorted(note.said_at for note in case.notes)
    assert case.tokens == sum(note.tokens for note in case.notes)
    assert case_file(1_000) == case
