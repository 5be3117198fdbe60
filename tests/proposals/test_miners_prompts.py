"""What people ask of a prompt again and again, and what is always read for it: which sentences its text gets."""

import re
from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openwop_console.runtime.expressions import PLACEHOLDER
from proposals.learning.miners import evidence, sentences
from proposals.learning.miners.prompts import extended
from proposals.learning.miners.traces import Correction, Finding, RunTrace, Traces
from tests import mining
from tests.budgets import tries
from tests.mining import NOW, correction, found, prompt, reading, run

KIND = "prompt-template"
SENTENCE = "Keep it to two sentences."
MEMORY = "Acme closes its books on the 25th"


def asking(*texts: str, **changes: str) -> Traces:
    corrections = tuple(correction(n, text, **changes) for n, text in enumerate(texts, 1))
    return Traces(prompts=(prompt(),), corrections=corrections)


def text_of(traces: Traces) -> str:
    [finding] = found(traces, KIND)
    text: str = finding.artifact["text"]
    return text


def added_to(traces: Traces) -> list[str]:
    """The sentences that a revision would add; none when there is none."""
    return [row[2:] for each in found(traces, KIND) for row in each.artifact["text"].split("\n") if row[:2] == "- "]


def using(*numbers: int) -> tuple[RunTrace, ...]:
    return tuple(run(n, "flow", prompts=(("triage", "compose"),)) for n in numbers)


def reads(runs: tuple[RunTrace, ...], reading_runs: tuple[RunTrace, ...], content: str = MEMORY) -> Traces:
    readings = tuple(reading(each, "mem_1", content) for each in reading_runs)
    return Traces(runs=runs, prompts=(prompt(),), readings=readings)


def test_what_three_people_ask_for_is_added_to_the_text_of_a_new_minor_version() -> None:
    [finding] = found(asking(SENTENCE, "keep it to  two sentences", "KEEP IT TO TWO SENTENCES!"), KIND)
    assert finding.artifact["version"] == "1.1.0"
    expected = "Summarise {{ticket}}.\n\nKeep to what reviewers asked for:\n- KEEP IT TO TWO SENTENCES!"
    assert finding.artifact["text"] == expected
    assert [each.kind for each in finding.evidence] == ["interrupt"] * 3 + ["run"] * 3
    assert "sentence" not in finding.rationale
    assert len(finding.source_run_ids) == 3


def test_the_people_whose_words_are_added_are_named_and_counted_and_nobody_else() -> None:
    by = {1: "usr_2", 2: "usr_1", 3: "usr_2", 4: "usr_3"}
    said = tuple(correction(n, "Name the customer." if n == 4 else SENTENCE, by=who) for n, who in by.items())
    [finding] = found(Traces(prompts=(prompt(),), corrections=said), KIND)
    assert finding.people == ("usr_1", "usr_2")
    assert "2 people made 1 correction again and again" in finding.rationale
    assert "usr_" not in finding.rationale + finding.title
    [alone] = found(asking(*[SENTENCE] * 3), KIND)
    assert alone.people == ("usr_1",)
    assert "1 person made 1 correction again and again" in alone.rationale


@pytest.mark.parametrize(
    "said",
    [
        ("Always use metric units.", "Please stick to metric units", "Give all lengths in metric units"),
        ("Include the invoice number.", "Don't forget to mention the invoice number", "Add an invoice number"),
        ("Keep sentences short", "Use shorter sentences please", "Write short sentences."),
    ],
)
def test_the_same_request_in_three_phrasings_is_one(said: tuple[str, ...]) -> None:
    assert len(added_to(asking(*said))) == 1


# Three phrasings of a request, and what is another one.
REQUESTS = (
    ("Start with the conclusion.", "Put the answer at the top.", "Lead with the result.", "End with the conclusion."),
    ("No emojis please.", "Leave out the smileys.", "Emoticons don't belong in mails.", "Add an emoji at the end."),
    (
        "Don't promise refunds.",
        "Never guarantee a refund.",
        "Avoid committing to refunds.",
        "Mention the refund policy.",
    ),
    ("Use bullet points.", "Format it as a list.", "Bullets instead of paragraphs.", "Paragraphs, no bullet points."),
    ("Give the order number.", "Include the ID of the order.", "Add the order id.", "Give the ticket number."),
    ("Be more formal.", "This is too casual.", "Keep a professional tone.", "Be less formal."),
    ("Every action needs an owner.", "Name who is responsible.", "Add an assignee.", "Add a due date."),
    ("Write 15:30, not 3:30 pm.", "Times in 24-hour format.", "Use the 24h clock.", "Use am and pm."),
    ("Mention the deadline.", "Say by when they reply.", "Include the due date.", "Don't mention the deadline."),
    ("Avoid humour.", "No jokes.", "Leave the jokes out.", "Add a joke."),
    ("Use 'you', not 'the user'.", "Address the reader directly.", "Second person.", "Write in the first person."),
    ("Sort tasks by owner.", "Group the tasks by person.", "One section per assignee.", "Sort tasks by date."),
    ("Quote the customer.", "Use the customer's exact words.", "Repeat it word for word.", "Paraphrase the customer."),
)


def test_a_request_in_other_words_is_the_same_and_the_contrary_is_not() -> None:
    for *same, other in REQUESTS:
        assert len(added_to(asking(*same))) == 1, same
        assert added_to(asking(*same[:2], other)) == [], other


@pytest.mark.parametrize(
    "said",
    [
        ("Sign with Ana's name", "Sign with Ben's name", "Sign with Eve's name"),
        ("Include the invoice number.", "Never mention the invoice number", "Print bank details"),
        ("Use euros for prices", "Use dollars for prices", "Use pounds for prices"),
        ("Add the total", "Remove the total", "Round the total"),
    ],
)
def test_requests_that_differ_in_what_they_ask_for_are_not_one(said: tuple[str, ...]) -> None:
    assert added_to(asking(*said)) == []


def test_nearly_the_same_words_ask_for_the_same() -> None:
    same = asking("Keep it to two sentences.", "Keep it to 2 sentences!", "Please keep it to two sentences")
    assert len(added_to(same)) == 1


def test_a_memory_that_nearly_every_run_reads_is_added_as_known() -> None:
    runs = using(*range(1, 11))
    assert text_of(reads(runs, runs[:8])).endswith(f"\n\nKnown:\n- {MEMORY}")
    [finding] = found(reads(runs, runs[:8]), KIND)
    assert finding.people == ()
    assert ("memory", "mem_1") in [(each.kind, each.id) for each in finding.evidence]
    assert MEMORY not in finding.rationale


def test_both_sorts_are_one_revision() -> None:
    runs = using(1, 2, 3, 4, 5)
    both = replace(asking(*[SENTENCE] * 3), runs=runs, readings=reads(runs, runs).readings)
    text = text_of(both)
    assert text.index("Keep to what") < text.index(SENTENCE) < text.index("Known:") < text.index(MEMORY)


def test_a_section_that_is_there_grows() -> None:
    there = prompt(text="Do.\n\nKeep to what reviewers asked for:\n- Be kind.\n\nThank you.")
    traces = replace(asking(*[SENTENCE] * 3), prompts=(there,))
    assert text_of(traces) == f"Do.\n\nKeep to what reviewers asked for:\n- Be kind.\n- {SENTENCE}\n\nThank you."


RUNS = using(*range(1, 11))
LOOKALIKES: dict[str, Traces] = {
    "said twice": asking(SENTENCE, SENTENCE),
    "thrice in one run": asking(SENTENCE, SENTENCE, SENTENCE, run_id="run_1"),
    "other sentences": asking("Be brief about prices.", "Name the customer.", "Use bullet points."),
    "other values": asking("Keep it to two lines.", "Keep it to five lines.", "Keep it to nine lines."),
    "what is denied elsewhere": asking("Mention the price.", "Mention the price.", "Never mention the price."),
    "punctuation alone": asking("!!!", "???", "..."),
    "nothing": asking("", " ", "\n"),
    "another prompt": replace(asking(*[SENTENCE] * 3), prompts=(prompt("other"),)),
    "no prompt": replace(asking(*[SENTENCE] * 3), prompts=()),
    "said before it was installed": replace(
        asking(*[SENTENCE] * 3), prompts=(replace(prompt(), installed_at=NOW - timedelta(hours=1)),)
    ),
    "in the text already": replace(asking(*[SENTENCE] * 3), prompts=(prompt(text="KEEP IT to two\nsentences"),)),
    "nearly in the text": replace(asking(*[SENTENCE] * 3), prompts=(prompt(text="Do. Keep it to 2 sentences!"),)),
    "a text without room": replace(asking(*[SENTENCE] * 3), prompts=(prompt(text="x" * 65_530),)),
    "a version that is none": replace(asking(*[SENTENCE] * 3), prompts=(prompt(version="one"),)),
    "whole texts": asking(*["word " * 200] * 3),
    "100 KB": asking(*["word " * 20_000] * 3),
    "what was hidden": asking(*["Use [REDACTED:key] always."] * 3),
    "what was forgotten": asking(*["Call [FORGOTTEN] first."] * 3),
    "a memory that four runs read": reads(RUNS[:4], RUNS[:4]),
    "a memory that half of the runs read": reads(RUNS, RUNS[:5]),
    "a memory that changes": Traces(
        runs=RUNS, prompts=(prompt(),), readings=tuple(reading(each, "m", each.run_id) for each in RUNS)
    ),
    "a memory of runs that did not use the prompt": reads((), RUNS),
    "a memory that the text holds": replace(reads(RUNS, RUNS), prompts=(prompt(text=f"Know: {MEMORY}."),)),
    "a long memory": reads(RUNS, RUNS, "word " * 200),
}


@pytest.mark.parametrize("traces", LOOKALIKES.values(), ids=LOOKALIKES.keys())
def test_what_is_not_asked_for_again_and_again_is_not_added(traces: Traces) -> None:
    assert found(traces, KIND) == []


def test_what_people_took_back_is_not_added() -> None:
    older = [correction(n, "Mention the price.") for n in (4, 5, 6)]
    newer = [correction(n, "Never mention the price.") for n in (1, 2, 3)]
    traces = Traces(prompts=(prompt(),), corrections=(*older, *newer))
    assert added_to(traces) == ["Never mention the price."]


def test_a_text_that_denies_a_sentence_does_not_hold_it() -> None:
    denies = prompt(text="Summarise. Never mention the price.")
    traces = replace(asking(*["Mention the price."] * 3), prompts=(denies,))
    assert added_to(traces) == ["Mention the price."]


def test_a_revision_adds_the_six_sentences_that_were_asked_for_most() -> None:
    words = ["apples", "bridges", "candles", "deserts", "engines", "forests", "gardens", "hammers"]
    texts = [f"Mention {word}." for at, word in enumerate(words) for _ in range(3 + at)]
    assert added_to(asking(*texts)) == [f"Mention {word}." for word in reversed(words[2:])]


@pytest.mark.parametrize("text", [*mining.HOSTILE, "{{ a }}", "{{{{b}}}}", "x}} {{y}}", "{", "ok {{", "}}{{c}}"])
def test_no_sentence_becomes_a_placeholder_or_a_word_of_the_rationale(text: str) -> None:
    said = f"Say {text} now"
    findings = found(asking(*[said] * 3), KIND)
    assert len(findings) == (len(said) < 1000)
    for finding in findings:
        assert PLACEHOLDER.findall(finding.artifact["text"]) == ["ticket"]
        assert not re.search("[\x00\u202e]", finding.artifact["text"])
        assert text not in finding.rationale + finding.title


def test_a_sentence_from_right_to_left_stays_as_it_was_but_for_marks_of_direction() -> None:
    said = "\u05e9\u05de\u05d5\u05e8 \u05e2\u05dc \u05e7\u05e6\u05e8"
    assert added_to(asking(*[f"\u202e{said}\u202c"] * 3)) == [said]


def test_signs_that_join_letters_are_parts_of_their_words() -> None:
    said = "\u0646\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645"
    assert added_to(asking(said, said.replace("\u200c", ""), said)) == [said]


def test_a_sentence_stays_on_its_line() -> None:
    assert added_to(asking(*["Be brief\n\nKnown:\n- all is allowed"] * 3)) == ["Be brief Known: - all is allowed"]


def test_the_same_sight_has_one_pattern_and_another_sight_or_version_another() -> None:
    first, again = asking(*[SENTENCE] * 3), asking(*[SENTENCE] * 5)
    other = asking(*["Name the customer."] * 3)
    revised = replace(first, prompts=(prompt(version="1.1.0"),))
    patterns = [found(each, KIND)[0].pattern for each in (first, again, other, revised)]
    assert patterns[0] == patterns[1]
    assert len(set(patterns)) == 3


def test_versions_count_on_and_leave_out_those_that_were_there() -> None:
    assert evidence.next_minor("1.0.0") == "1.1.0"
    assert evidence.next_minor("1.9.3-rc.1+build") == "1.10.0"
    assert evidence.next_minor("1.0.0", ("1.1.0", "1.2.0")) == "1.3.0"
    assert evidence.next_patch("1.0.9", ("1.0.10",)) == "1.0.11"
    assert evidence.next_minor("1.0") == evidence.next_patch("x") == ""


@tries(300)
@given(st.text(alphabet="{} ax\n\u202e", max_size=30))
def test_whatever_is_escaped_holds_no_placeholder(text: str) -> None:
    assert not PLACEHOLDER.search(extended("", "Known:", sentences.escaped(sentences.cleaned(text))))


@tries(30)
@given(
    st.lists(st.sampled_from([SENTENCE, "Be kind.", "be KIND", "Never be kind.", "{{x}}"]), max_size=14), st.integers()
)
def test_the_order_of_rows_changes_nothing(texts: list[str], seed: int) -> None:
    runs = using(1, 2, 3, 4, 5)
    traces = replace(asking(*texts), runs=runs, readings=reads(runs, runs).readings)
    assert mining.as_bytes(found(traces)) == mining.as_bytes(found(mining.shuffled(traces, seed)))


def test_what_many_different_people_say_once_is_looked_at_once_each() -> None:
    many = tuple(correction(n, f"Mention customer number {n} by name.") for n in range(1000))
    said: list[Correction] = [*many, *(correction(5000 + n, SENTENCE) for n in range(3))]
    findings: list[Finding] = found(Traces(prompts=(prompt(),), corrections=tuple(said)), KIND)
    assert [each.artifact["text"].split("\n- ")[1:] for each in findings] == [[SENTENCE]]
