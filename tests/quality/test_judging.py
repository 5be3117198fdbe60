"""The judges, held against rules so simple that one knows what they deserve."""

from uuid import UUID, uuid4

import pytest

from tools.bench.quality import judging, keeping
from tools.bench.quality.corpus import BEGAN, corpus
from tools.bench.quality.judging import Verdict, judged
from tools.bench.quality.keyfacts import CaseFile, KeyFact, Note, case_file
from tools.bench.quality.labels import Corpus, Labelled, LookAlikes

Pair = tuple[UUID, UUID]


@pytest.fixture(scope="module")
def labelled() -> Corpus:
    return corpus(2_000)


def statement(fact: int, value: int = 0, *, of: Labelled | None = None, made_by: str = "case", **more) -> Labelled:
    return Labelled(
        uuid4(),
        f"fact {fact}",
        BEGAN,
        (),
        fact,
        value,
        made_by,
        "money",
        more.get("protected", False),
        of.id if of else None,
    )


def merged_by(labelled: Corpus, key) -> list[Pair]:
    """The first with that key stays; all others go into it."""
    first: dict[object, Labelled] = {}
    return [
        (first[key(each)].id, each.id) for each in labelled.entries if first.setdefault(key(each), each) is not each
    ]


def by_label(labelled: Corpus) -> Verdict:
    last = {each.fact: each for each in labelled.entries}
    merges = merged_by(labelled, lambda each: (each.fact, each.value))
    kept = {each.id for each in labelled.entries if each.protected}
    replaced = [(each.id, last[each.fact].id) for each in labelled.entries if each.value < last[each.fact].value]
    return judged(
        labelled,
        merges=[pair for pair in merges if pair[1] not in kept],
        supersessions=[pair for pair in replaced if pair[0] not in kept],
    )


def test_a_rule_that_knows_the_labels_is_faultless(labelled: Corpus) -> None:
    found = by_label(labelled)
    shares = (found.merges, found.restatements, found.paraphrases, found.supersessions, found.superseded)
    assert [share.value for share in shares] == [1.0] * 5
    assert min(share.of for share in shares) > 20
    assert (found.lookalikes_merged, found.lookalikes_superseded, found.protected_taken) == (0, 0, 0)
    assert not found.examples


def test_a_rule_that_does_nothing_finds_nothing_and_takes_nothing(labelled: Corpus) -> None:
    found = judged(labelled, merges=[], supersessions=[])
    assert (found.merges.of, found.restatements.found, found.superseded.found, found.protected_taken) == (0, 0, 0, 0)
    assert found.restatements.of == by_label(labelled).restatements.of


def test_a_rule_that_merges_everything_is_found_out(labelled: Corpus) -> None:
    found = judged(labelled, merges=merged_by(labelled, lambda each: 0), supersessions=[])
    assert found.merges.value < 0.01
    assert found.restatements.value == 1
    assert found.lookalikes_merged == len(labelled.lookalikes)
    assert found.protected_taken == sum(each.protected for each in labelled.entries)


def test_a_rule_that_merges_equal_texts_finds_exact_repetitions_alone(labelled: Corpus) -> None:
    found = judged(labelled, merges=merged_by(labelled, lambda each: each.text), supersessions=[])
    assert found.merges.value == 1
    assert found.by_operator["exact"].value == 1
    assert max(found.by_operator[name].value for name in ("typos", "filler", "synonyms")) == 0


def test_merges_count_through_others_and_through_entries_that_a_pass_made() -> None:
    first = statement(1, made_by="plain")
    second, third = statement(1, of=first), statement(1, of=first, made_by="typos")
    made = uuid4()
    found = judged(
        Corpus((first, second, third), ()),
        merges=[(made, first.id), (made, second.id), (second.id, third.id)],
        supersessions=[],
    )
    assert (found.merges.found, found.merges.of, found.restatements.value) == (3, 3, 1.0)


def test_a_newer_value_replaces_an_older_one_and_not_the_other_way_round() -> None:
    older, newer = statement(1, 0, made_by="plain"), statement(1, 1, made_by="newer")
    labelled = Corpus((older, newer), ())
    assert judged(labelled, merges=[], supersessions=[(older.id, newer.id)]).by_kind["money"].value == 1
    turned = judged(labelled, merges=[], supersessions=[(newer.id, older.id)])
    assert (turned.supersessions.value, turned.superseded.value) == (0, 0)


def test_a_restatement_of_an_older_value_need_not_be_merged_when_both_are_superseded() -> None:
    older = statement(1, 0, made_by="plain")
    again, newer = statement(1, 0, of=older), statement(1, 1, made_by="newer")
    found = judged(
        Corpus((older, again, newer), ()), merges=[], supersessions=[(older.id, newer.id), (again.id, newer.id)]
    )
    assert (found.restatements.value, found.superseded.value, found.superseded.of) == (1, 1, 1)


def test_what_was_merged_is_superseded_with_what_it_went_into() -> None:
    older = statement(1, 0, made_by="plain")
    again, newer, made = statement(1, 0, of=older), statement(1, 1, made_by="newer"), uuid4()
    found = judged(
        Corpus((older, again, newer), ()),
        merges=[(made, older.id), (made, again.id)],
        supersessions=[(made, newer.id)],
    )
    assert (found.supersessions.value, found.superseded.value) == (1, 1)


def test_a_stranger_in_a_supersession_is_wrong() -> None:
    only = statement(1, made_by="plain")
    assert judged(Corpus((only,), ()), merges=[], supersessions=[(uuid4(), only.id)]).supersessions.value == 0


@pytest.mark.parametrize(("allowed", "counted"), [(True, 0), (False, 1)])
def test_look_alikes_supersede_only_where_their_label_allows(allowed: bool, counted: int) -> None:
    one, other = statement(1, made_by="look-alike"), statement(2, made_by="look-alike")
    labelled = Corpus((one, other), (LookAlikes("negation", 1, 2, allowed),))
    found = judged(labelled, merges=[], supersessions=[(one.id, other.id)])
    assert (found.supersessions.of, found.supersessions.found, found.lookalikes_superseded) == (counted, 0, counted)


def test_unrelated_statements_never_supersede() -> None:
    one, other = statement(1, made_by="plain"), statement(2, made_by="plain")
    found = judged(Corpus((one, other), ()), merges=[], supersessions=[(one.id, other.id)])
    assert (found.supersessions.value, found.lookalikes_superseded) == (0, 0)
    assert found.examples["superseded wrongly (plain)"] == [("fact 1", "fact 2")]


def test_what_is_protected_is_not_looked_for() -> None:
    first = statement(1, made_by="plain")
    kept, old = statement(1, of=first, protected=True), statement(2, 0, made_by="plain", protected=True)
    newer = statement(2, 1, made_by="newer")
    found = judged(Corpus((first, kept, old, newer), ()), merges=[], supersessions=[])
    assert (found.restatements.of, found.superseded.of) == (0, 0)
    taken = judged(Corpus((first, kept, old, newer), ()), merges=[(first.id, kept.id)], supersessions=[])
    assert taken.protected_taken == 1


def test_the_table_shows_every_operator(labelled: Corpus) -> None:
    shown = judging.table(by_label(labelled))
    assert "restatements that were merged" in shown
    assert "  by function words" in shown
    assert "look-alikes merged" in shown


def note(text: str, tokens: int) -> Note:
    return Note("mem_1", text, BEGAN, tokens, (), False, 1)


def test_a_key_fact_is_kept_when_one_of_its_sentences_is_said() -> None:
    case = CaseFile((), (KeyFact("repeated", ["The price is $49.", "$49 is the price."]), KeyFact("single", ["No."])))
    found = keeping.kept(case, ["Important: the PRICE is  $49"])
    assert (found.all.found, found.all.of) == (1, 2)
    assert (found.by_kind["repeated"].value, found.by_kind["single"].value) == (1, 0)


def test_a_sentence_is_not_kept_by_parts_of_words_or_by_two_sentences() -> None:
    case = CaseFile((), (KeyFact("single", ["The price is 4"]),))
    assert keeping.kept(case, ["The price is 49"]).all.found == 0
    assert keeping.kept(case, ["The price", "is 4"]).all.found == 0


def test_a_baseline_reads_and_writes_whole_entries_within_the_budget() -> None:
    notes = [note("one", 10), note("two", 10), note("three", 10)]
    assert keeping.taken(notes, 40) == ["one", "two"]
    assert keeping.taken(notes, 39) == ["one"]


def test_a_baseline_keeps_about_what_it_reads() -> None:
    case = case_file(1_000)
    shares = keeping.baselines(case, case.tokens // 2)
    assert set(shares) == {"lead", "newest", "random", "greedy idf"}
    assert shares.pop("greedy idf") > 0.6
    assert all(0.2 < share < 0.6 for share in shares.values())
