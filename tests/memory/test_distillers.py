"""Distillation without a database: what is kept of a corpus, in which budget, and as which bytes."""

import random
import string
import time
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta

import pytest
import rfc8785
from hypothesis import given
from hypothesis import strategies as st
from rs_bpe.bpe import openai

from memory.text import distillers, token_budget
from memory.text.distillers import BudgetTooSmall, Distilled, Kept, NothingToKeep, Source
from memory.text.distillers.sentences import split
from tests.budgets import keeps_less_than, tries

MORNING = datetime(2026, 3, 1, 8, tzinfo=UTC)
WORDS = [
    *("acme", "invoice", "renewal", "must", "never", "Berlin", "42", "$49.50", "ana@x.example", "likes", "tea."),
    *("coffee!", "weather?", "maybe", "数据。", "always"),
]
TEXTS = st.lists(st.sampled_from([*WORDS, "\n", "[REDACTED:crm]"]), min_size=1, max_size=25).map(" ".join)


def sources(*texts: str, protected: tuple[int, ...] = ()) -> list[Source]:
    return [
        Source(
            f"mem_{number:04}",
            text,
            MORNING + timedelta(minutes=number),
            token_budget.count(text),
            protected=number in protected,
        )
        for number, text in enumerate(texts)
    ]


def kept(distilled: Distilled) -> list[Kept]:
    return [sentence for section in distilled.sections for sentence in section.sentences]


@st.composite
def corpora(draw: st.DrawFn) -> list[Source]:
    texts = draw(st.lists(TEXTS.filter(lambda text: any(map(str.isalnum, text))), min_size=1, max_size=12))
    protected = draw(st.sets(st.integers(0, len(texts) - 1), max_size=2))
    return sources(*texts, protected=tuple(protected))


def test_a_text_is_split_where_its_sentences_end() -> None:
    for text, sentences in (
        ("Dr. Smith met J. Doe at 3.5 km. He left.", ["Dr. Smith met J. Doe at 3.5 km.", "He left."]),
        ("See https://x.org/a.b?c=1. Mail a@b.co.uk. Done", ["See https://x.org/a.b?c=1.", "Mail a@b.co.uk.", "Done"]),
        ("It is due on Jan. 5 at No. 7. Pay $1,234.56!", ["It is due on Jan. 5 at No. 7.", "Pay $1,234.56!"]),
        ("no capitals here. but two sentences", ["no capitals here.", "but two sentences"]),
        ("Left... and ran. Wow! Yes?", ["Left... and ran.", "Wow!", "Yes?"]),
        ("- one\n* two\n3. three\n(b) four\n- [x] five", ["one", "two", "three", "four", "five"]),
        ("これは文です。次の文！最後？はい", ["これは文です。", "次の文！", "最後？", "はい"]),  # noqa: RUF001
        ("nothing ends here and nothing begins", ["nothing ends here and nothing begins"]),
        (
            "A line that is long enough to be wrapped\nby hand. Yes",
            ["A line that is long enough to be wrapped\nby hand.", "Yes"],
        ),
        ("Heading\r\nbody of it\n\nnew", ["Heading", "body of it", "new"]),
        (
            "It has neither a false condition nor a count.  The flag,\nwhich is true at first, is cleared. Yes",
            ["It has neither a false condition nor a count.", "The flag,\nwhich is true at first, is cleared.", "Yes"],
        ),
        ("> Quoted by a person.\n> And again", ["Quoted by a person.", "And again"]),
        ("The key is [REDACTED:my. Key]. Next", ["The key is [REDACTED:my. Key].", "Next"]),
        (" ... \n -- ", []),
    ):
        assert split(text) == sentences, (text, sentences)


BUILD = "```sh\nmake image\n\nmake push\n```"


@pytest.mark.parametrize(
    ("text", "kept_of_it"),
    [
        (f"Build the image.\n\n{BUILD}\nNever on Friday.", ["Build the image.", BUILD, "Never on Friday."]),
        (f"Run this:\n\n{BUILD}\n", [f"Run this:\n\n{BUILD}"]),
        ("Restart it.\n\n    for each in hosts:\n        restart(each)\n", None),
        ("Set:\n\n       -d  Print all.\n       -e  Stop there.\n", ["Set:", "-d  Print all.", "-e  Stop there."]),
        ("The entry ends here.\n```py\nfor i in range(6):\n", ["The entry ends here."]),
        ("Example:\n```py\nfor i in range(6):\n", []),
        ("result = parse(text)\nprint(result)\n```\nIt begins there.", ["It begins there."]),
        ("```\nThen install it:\n\n```sh\nmake\n```", ["Then install it:\n\n```sh\nmake\n```"]),
        ("# Deploy\n\nNever on Friday.\n\nWhy\n===\nNo one is here.", ["Never on Friday.", "No one is here."]),
        (f"First:\n{BUILD}\nThen again:\n{BUILD}", [f"First:\n{BUILD}", f"Then again:\n{BUILD}"]),
        ("# Never on Friday", ["Never on Friday"]),
        ("These are closed:\n\n# Depots\nPorto and Lyon.", ["These are closed:", "Porto and Lyon."]),
        ("# the port of the proxy\n# and no more\nport = 80", ["the port of the proxy", "and no more", "port = 80"]),
        ('<p align="center">\n  <img src="a.svg"\n  alt="A">\n</p>\nThey sell <b>tea</b>.', ["They sell <b>tea</b>."]),
        ("[![Build](https://x.example/b.svg)](https://x.example)\nIt works.", ["It works."]),
        ("<Response [200 OK]>\n[docs]: https://x.example/docs\n<!-- begin\nlist -->\nIt works.", ["It works."]),
    ],
)  # fmt: skip
def test_a_block_of_code_is_kept_whole_or_not_at_all_and_markup_alone_is_no_sentence(text, kept_of_it) -> None:
    whole = ["Restart it.", "    for each in hosts:\n        restart(each)"]
    assert split(text) == (whole if kept_of_it is None else kept_of_it)


@pytest.mark.parametrize(
    ("value", "kept_of_it"),
    [
        ('{"text":"Avahi is a framework.\\nIt needs no set-up. \\"Yes\\""}',
         ["Avahi is a framework.", "It needs no set-up.", '"Yes"']),
        ('{"limit": 100, "unit": "ms"}', ['{"limit": 100, "unit": "ms"}']),
        ('["red", "blue"]', ['["red", "blue"]']),
        ('{"who": {"name": "Acme"}, "note": "Wants invoices by post.", "prio": 2, "done": false}',
         ["who.name: Acme, prio: 2", "Wants invoices by post."]),
        ('{"note": "Water the plants daily.", "prio": 2, "done": false}', ["Water the plants daily."]),
        ('{"pin": [REDACTED:pin], "n": "It opens. Twice."}', ['{"pin": [REDACTED:pin], "n": "It opens. Twice."}']),
        ('{"a": {}}', ['{"a": {}}']),
        ('{"a":' * 980 + '"It opens at noon."' + "}" * 980, None),
        ("[x] Pay. [B] Wait.", ["[x] Pay.", "[B] Wait."]),
        ("{}", []),
        ('{"text": "发票寄到柏林办公室。"}', ["发票寄到柏林办公室。"]),
    ],
)  # fmt: skip
def test_the_texts_of_a_json_document_are_read_and_a_document_without_any_is_kept_whole(value, kept_of_it) -> None:
    assert split(value) == ([value] if kept_of_it is None else kept_of_it)


def test_an_archive_never_shows_half_a_document_or_half_a_block() -> None:
    texts = [
        '{"text": "Depot 1 is in Lyon.\\n\\nIt closes at 6 pm. It has 4 gates.", "key": "k1"}',
        '{"limit": 100}',
        "It runs at night.\n```sh\n# every day\nmake backup\n```\nIt takes an hour.",
    ]
    made = distillers.distil(sources(*texts), 1000)
    assert made.text.split("\n")[1:] == [
        "key: k1",
        "Depot 1 is in Lyon. It closes at 6 pm. It has 4 gates.",
        '{"limit": 100}',
        "It runs at night.",
        *("```sh", "# every day", "make backup", "```"),
        "It takes an hour.",
    ]
    assert [sentence.sources for sentence in kept(made)] == [
        *[("mem_0000",)] * 4, ("mem_0001",), *[("mem_0002",)] * 3,
    ]  # fmt: skip
    again = distillers.distil(sources(distillers.body_of(made.text)), 1000)
    assert "```sh\n# every day\nmake backup\n```" in again.text


def test_prose_goes_before_code() -> None:
    code = "```py\ndef deposit(account, currency, amount, ledger):\n    ledger[account, currency] += amount\n```"
    made = distillers.distil(
        sources(code, "The depot in Porto closes at six.", "Acme pays late in May."), 1000, target=36
    )
    assert "```" not in made.text
    assert len(kept(made)) == 2


def test_what_begins_small_does_not_read_as_the_rest_of_another_sentence() -> None:
    made = distillers.distil(sources("Ana left Acme in May.\nsince the flag is down it counts as closed."), 1000)
    assert "May. since" not in made.text


@pytest.mark.parametrize(
    "text",
    [
        *(
            "." * 60_000 + "x",
            " " * 60_000 + "x",
            "[REDACTED:" * 6_000,
            "a-" * 30_000,
            "```\n" * 15_000,
            "<a>\n" * 15_000,
        ),
        *("\n\n    " * 9_000, "[![a](" * 9_000, '{"a":' * 12_000, "```py\nx\n```\n" * 5_000),
    ],
)
def test_no_text_takes_long_to_split(text) -> None:
    started = datetime.now(UTC)
    split(text)
    assert datetime.now(UTC) - started < timedelta(seconds=2)


@tries(60)
@given(corpora(), st.integers(0, 400), st.randoms(use_true_random=False))
def test_whatever_is_given_the_budget_holds_and_the_minimum_is_exact(corpus, more, chance) -> None:
    with pytest.raises(BudgetTooSmall) as refused:
        distillers.distil(corpus, 1)
    minimum = refused.value.minimum
    with pytest.raises(BudgetTooSmall, match=str(minimum)):
        distillers.distil(corpus, minimum - 1)
    for budget in (minimum, minimum + more):
        made = distillers.distil(corpus, budget)
        assert made.tokens_used <= budget
        assert made.output_tokens == token_budget.count(made.text)
        assert made.input_tokens == sum(source.tokens for source in corpus if source.id in made.covered)
        assert kept(made)
        shuffled = chance.sample(corpus, len(corpus))
        assert distillers.distil(shuffled, budget) == made


@tries(60)
@given(corpora(), st.integers(40, 2000))
def test_every_sentence_stands_word_for_word_in_its_sources(corpus, budget) -> None:
    texts = {source.id: source.text for source in corpus}
    try:
        made = distillers.distil(corpus, budget)
    except BudgetTooSmall:
        return
    for sentence in kept(made):
        assert sentence.sources
        assert all(sentence.text in texts[source] for source in sentence.sources)
        assert {*sentence.sources, *sentence.restated_by} <= set(made.covered)
        assert sentence.text in made.text
    said = [sentence.text for sentence in kept(made)]
    assert len(said) == len(set(said))


def test_what_is_said_again_is_kept_once_with_all_who_say_it() -> None:
    made = distillers.distil(
        sources("Invoices go to Berlin.", "Reminder: invoices go to Berlin!", "Invoices go to Berlin."), 500
    )
    (sentence,) = kept(made)
    assert {*sentence.sources, *sentence.restated_by} == {"mem_0000", "mem_0001", "mem_0002"}
    assert len(made.covered) == 3


def test_sentences_that_differ_in_a_number_or_a_negation_are_both_kept() -> None:
    made = distillers.distil(sources("Acme pays 49 EUR.", "Acme pays 59 EUR.", "Acme does not pay.", "Acme pays."), 500)
    assert len(kept(made)) == 4


def test_a_corpus_that_fits_is_covered_whole() -> None:
    made = distillers.distil(sources("One fact.", "Another fact.", "A third."), 1000)
    assert len(made.covered) == made.corpus_count == 3
    assert len(kept(made)) == 3


def test_the_title_says_what_an_archive_is_about() -> None:
    texts = [f"Depot {n} ordered spare parts for the turbine of Globex." for n in range(30)]
    made = distillers.distil(sources("The tram was late.", *texts), 2000)
    assert made.text.startswith(f"# {made.title}\n")
    assert {"Globex", "turbine"} <= set(made.title.split(", "))


def test_the_title_has_what_the_sources_come_back_to_and_names_in_full_but_not_who_speaks() -> None:
    said = [
        "Ines: The kiln at the studio is broken again.",
        "Otto: I asked Marta Kowalska to look at the kiln on Friday.",
        "Ines: Good, because the glaze for the school is waiting.",
        "Otto: We told Marta Kowalska that the kiln trips the fuse.",
        "Ines: It was a way to pass some time.",
    ]
    words = distillers.distil(sources(*said), 2000).title.split(", ")
    assert {"kiln", "marta kowalska"} <= {word.casefold() for word in words}
    assert not {"ines", "otto", "way", "time", "fri"} & {word.casefold() for word in words}


def title_words(*texts: str) -> set[str]:
    return {word.casefold() for word in distillers.distil(sources(*texts), 5000).title.replace(",", "").split()}


def test_a_title_names_things_and_no_deeds_of_a_changelog() -> None:
    texts = [
        f"turbine {n}.{n}-1: - {deed} the gearbox of rotor {n} [ Ana Ek ] - {deed} a file upstream (Closes: #{n}00{n})"
        for n, deed in enumerate(["Add", "Fix", "Close", "Drop", "Add", "Fix", "Update", "Remove", "Add", "Fix"])
    ]
    words = title_words(*texts)
    assert {"turbine", "gearbox"} <= words
    assert not {"add", "fix", "close", "closes", "drop", "update", "remove", "file"} & words


@pytest.mark.parametrize(
    ("texts", "named", "unnamed"),
    [
        (
            ["Для файла архива не задан ключ.", "Невозможно открыть файла для записи или чтения.", "Или ключ архива."],
            {"ключ", "архива"},
            {"для", "или", "невозможно"},
        ),
        (
            ["Diese Turbine ist alt.", "Für diese Turbine werden Ersatzteile bestellt.", "Die Turbine wird geprüft."],
            {"turbine"},
            {"diese", "für", "werden", "wird"},
        ),
        (
            ["Turbina jest stara.", "Czy turbina jest sprawna?", "Jeśli turbina stoi, to można się wspinać."],
            {"turbina"},
            {"jest", "można", "jeśli", "się"},
        ),
    ],
)
def test_a_title_has_no_function_words_of_the_language(texts, named, unnamed) -> None:
    words = title_words(*texts)
    assert named <= words
    assert not unnamed & words


def test_a_title_has_no_keys_of_members_and_no_keywords() -> None:
    values = [
        f'{{"text": "The turbine of depot {n} stands still.", "status": "open", "unit": "kW{n}"}}' for n in range(9)
    ]
    words = title_words(*values, *(f"It returns True or False of the turbine at step {n}." for n in range(9)))
    assert "turbine" in words
    assert not {"text", "status", "unit", "true", "false", "returns"} & words


def test_a_title_keeps_the_words_of_a_name_together_and_leaves_out_those_before_it() -> None:
    texts = [f"It fails On Windows {n} times, and the dance studio of Ines pays for it." for n in range(5)]
    title = distillers.distil(sources(*texts, *(f"Ines likes place {n}." for n in range(5))), 2000).title
    assert {each.casefold() for each in title.split(", ")} == {"windows", "dance studio", "ines"}
    begun = [f"Otilia {what}." for what in ("paints boats", "sings in Porto", "left Acme", "has a cat", "bakes pies")]
    assert "Otilia" in distillers.distil(sources(*begun), 2000).title


def test_what_all_entries_are_tagged_with_is_no_heading() -> None:
    tagged = [
        Source(
            f"mem_{n}", f"The {what} is late.", MORNING, 20, tags=("imported", "billing") if n < 4 else ("imported",)
        )
        for n, what in enumerate(["tram", "bus", "train", "ferry", "plane", "taxi", "tide", "post"])
    ]
    text = distillers.distil(tagged, 1000).text
    assert "## billing\n" in text
    assert "imported" not in text


def written(*texts: str, days: int = 1) -> list[Source]:
    return [
        replace(each, written_on=(MORNING + timedelta(days=days * number)).date())
        for number, each in enumerate(sources(*texts))
    ]


@pytest.mark.parametrize(
    ("text", "is_dated"),
    [
        ("I ran a race last Saturday.", True),
        ("The kids saw the museum yesterday.", True),
        ("Ben began with it three years ago.", True),
        ("Der Laden öffnet morgen um neun.", True),
        ("Guten Morgen zusammen, der Laden ist offen.", False),
        ("Ana llegó la semana pasada, por la mañana.", True),
        ("Ana llega siempre por la mañana.", False),
        ("Il est arrivé il y a deux jours.", True),
        ("Przyszło dwa dni temu.", True),
        ("Мы переехали в прошлом году.", True),
        ("我们昨天搬家了。", True),
        ("The race is on 5 March 2027.", False),
        ("The last train leaves at nine.", False),
    ],
)
def test_a_time_that_is_counted_from_the_day_of_writing_has_that_day_before_it(text, is_dated) -> None:
    made = distillers.distil(written(text), 1000)
    assert made.text.split("\n")[1:] == [f"[2026-03-01] {text}" if is_dated else text]
    assert kept(made)[0].text == text
    assert made.output_tokens == token_budget.count(made.text)
    assert "[2026" not in distillers.distil(sources(text), 1000).text


def test_days_take_only_the_room_that_the_sentences_leave() -> None:
    texts = [f"Customer {n} moved to depot {n * 7} last week with {n % 5} lorries." for n in range(60)]
    for target in (90, 200, 400, 2000):
        dated, plain = (distillers.distil(each, 100_000, target=target) for each in (written(*texts), sources(*texts)))
        assert {each.text for each in kept(dated)} == {each.text for each in kept(plain)}
        assert dated.output_tokens <= target
        shown = dated.text.count("\n[2026-")
        assert shown == sum(each.shows_day for each in kept(dated))
        assert all(each.said_on for each in kept(dated))
    assert shown == 60


def test_the_document_tells_the_days_in_canonical_form_and_they_belong_to_the_work() -> None:
    corpus = written("I ran a race last Saturday. It was wet.")
    made = distillers.distil(corpus, 1000)
    document = distillers.document(
        made, memory_ref="notes", token_budget_given=1000, target_tokens=250, method=distillers.EXTRACTIVE,
        digests={"mem_0000": "0" * 64},
    )  # fmt: skip
    body = distillers.canonical(document)
    assert body == rfc8785.dumps(document)
    assert body.count(b'"saidOn":"2026-03-01","sources":') == 1
    assert made.text.endswith("\n[2026-03-01] I ran a race last Saturday. It was wet.")
    first, other = (
        distillers.digest_of(each, memory_ref="n", budget=9, target=9, method=distillers.EXTRACTIVE, about=())
        for each in (corpus, [replace(corpus[0], written_on=date(2026, 3, 2))])
    )
    assert first != other


def test_an_archive_reads_as_text_in_the_order_in_which_it_was_said() -> None:
    made = distillers.distil(
        sources("Ana left Acme in May. She joined Globex.", "It rains.", "Ben leads it now."), 1000
    )
    assert made.text.split("\n")[1:] == ["Ana left Acme in May. She joined Globex.", "It rains.", "Ben leads it now."]


@pytest.mark.parametrize("target", [80, 200, 1000])
def test_an_archive_has_no_more_tokens_than_its_target(target) -> None:
    corpus = sources(*(f"Customer {n} is served by team {n % 7} of {n % 11} from May on." for n in range(300)))
    made = distillers.distil(corpus, 1_000_000, target=target)
    assert target * 0.6 < made.output_tokens <= target
    assert len(made.covered) == 300


def test_one_sentence_is_kept_though_it_is_more_than_the_target() -> None:
    assert len(kept(distillers.distil(sources("Acme pays 49 EUR in May.", "Globex pays 59 EUR."), 1000, target=1))) == 1


def test_greetings_and_bare_reactions_are_left_out_before_what_tells_something() -> None:
    talk = ["Hey Ben! How are you?", "Wow, that sounds great!", "I moved to Porto in March.", "Thanks, good to hear!"]
    made = distillers.distil(sources(*talk, "You must be so happy!", "My sister paints boats."), 1000, target=30)
    assert [sentence.text for sentence in kept(made)] == ["I moved to Porto in March.", "My sister paints boats."]


def test_lines_without_a_word_are_left_out_unless_they_answer_or_there_is_nothing_else() -> None:
    log = "Reading the database ...\n" + "".join(f"{n}%\n" for n in range(5, 105, 5)) + "[=====>  ] 99.5\nIt is read."
    made = distillers.distil(sources(log, "When does it start?", "15:00.", "7", protected=(3,)), 1000)
    told = [sentence.text for sentence in kept(made)]
    assert told == ["Reading the database ...", "It is read.", "When does it start?", "15:00.", "7"]
    assert [sentence.text for sentence in kept(distillers.distil(sources("42"), 100))] == ["42"]


def test_a_formula_that_many_entries_have_goes_after_what_one_entry_tells() -> None:
    texts = [f"Team upload.\nThe gearbox of turbine {n} was oiled by Ines." for n in range(40)]
    made = distillers.distil(sources(*texts, "Lena keeps the key."), 100_000, target=80)
    assert "Team upload." not in made.text
    assert "Lena keeps the key." in made.text


def test_what_was_done_is_kept_before_what_is_felt() -> None:
    given = sources("Ben got a job at the harbour.", "Ben appreciates kindness and honest talk.")
    assert [each.text for each in kept(distillers.distil(given, 1000, target=28))] == ["Ben got a job at the harbour."]


def test_an_answer_that_says_too_little_alone_stays_with_its_question() -> None:
    talk = ["Nice to see you.", "Which day does the Lisbon depot reopen?", "Thursday, 12 March."]
    made = distillers.distil(sources(*talk), 1000, target=38)
    assert [sentence.text for sentence in kept(made)][-2:] == talk[1:3]


def test_what_is_protected_goes_first() -> None:
    texts = [f"The deadline for project {n} must be kept: {n} March." for n in range(300)]
    made = distillers.distil(sources("the tree in the yard is old", *texts, protected=(0,)), 150)
    assert "the tree in the yard is old" in made.text
    assert "mem_0000" in made.covered


def test_the_newest_goes_before_what_is_as_good() -> None:
    made = distillers.distil(sources(*(f"Room {chr(65 + n)} is painted {chr(97 + n)}." for n in range(20))), 80)
    assert "mem_0019" in made.covered
    assert "mem_0000" not in made.covered


def test_a_text_that_is_too_long_is_left_out_and_never_cut() -> None:
    long = "word " * 13_200
    made = distillers.distil(sources(long, "A short fact."), 1_000_000)
    assert [sentence.text for sentence in kept(made)] == ["A short fact."]
    assert len(made.covered) == 2
    assert len(made.text.encode()) <= distillers.MAX_TEXT_BYTES
    with pytest.raises(NothingToKeep):
        distillers.distil(sources("x" * 70_000), 100_000)
    with pytest.raises(NothingToKeep):
        distillers.distil(sources("..."), 100)


def test_texts_without_spaces_are_not_kept_after_they_were_distilled() -> None:
    def distil(first: int, last: int) -> None:
        chance = random.Random(first)
        signs = [chr(0x4E00 + number) for number in range(20_000)]
        distillers.distil(sources(*("".join(chance.choices(signs, k=10_000)) for _ in range(first, last))), 100_000)

    distil(0, 1)  # what any distillation keeps is there
    with keeps_less_than(4):
        distil(1, 7)


def test_a_long_archive_fits_into_one_entry() -> None:
    chance = random.Random(1)
    texts = [" ".join("".join(chance.choices(string.ascii_lowercase, k=7)) for _ in range(20)) for _ in range(900)]
    made = distillers.distil(sources(*texts), 1_000_000)
    assert 60_000 < len(made.text.encode()) <= 65_536
    assert len(made.covered) == 900


def test_sentences_stand_under_their_topics() -> None:
    texts = [f"The {what} of {who} is number {n}." for n, (who, what) in enumerate(
        (who, what) for who in ("Acme", "Globex", "Initech") for what in ("invoice", "contract", "shipment", "depot")
    )]  # fmt: skip
    made = distillers.distil(sources(*texts), 2000)
    topics = [section.topic for section in made.sections]
    assert topics
    assert all(
        topic.casefold() in sentence.text.casefold()
        for topic, section in zip(topics, made.sections, strict=True)
        if topic
        for sentence in section.sentences
    )
    assert any(topics)


def test_the_tags_of_entries_may_be_topics() -> None:
    tagged = [
        Source(f"mem_{n}", text, MORNING, 20, tags=("billing rules",) if n < 4 else ())
        for n, text in enumerate(["Pay early.", "Send it twice.", "Ask Ana.", "Use blue ink.", "Rain.", "Snow melts."])
    ]
    assert "## billing rules\n" in distillers.distil(tagged, 1000).text


def test_budgets_agree_with_another_vocabulary_within_a_tenth() -> None:
    texts = [f"Customer {n} prefers e-mail; the renewal on {n % 28 + 1} March costs {n * 7} EUR." for n in range(200)]
    made = distillers.distil(sources(*texts), 6000)
    other = openai.cl100k_base()
    covered = sum(other.count(source.text) for source in sources(*texts) if source.id in made.covered)
    assert (covered + other.count(made.text)) == pytest.approx(made.tokens_used, rel=0.1)


def buried_facts(chance: random.Random) -> tuple[list[str], list[Source]]:
    """Facts that are restated and worded as such, among three times as many entries of small talk."""
    who = [
        f"{first}{last}" for first in ("Nor", "Bel", "Kar", "Vin", "Osk") for last in ("tia", "mont", "dale", "wick")
    ]
    facts = [
        chance.choice(
            [
                f"{name} must be billed in {chance.choice(['EUR', 'CHF', 'GBP'])}",
                f"{name} decided to renew for {chance.randrange(12, 60)} months",
                f"never call {name} before {chance.randrange(8, 12)} o'clock",
                f"the discount of {name} is {chance.randrange(5, 40)} percent",
            ]
        )
        for name in who
    ]
    talk = [
        *("we", "had", "some", "talk", "about", "the", "garden", "and", "train", "then", "went", "back", "to", "it"),
        *("with", "nothing", "new", "for", "anyone"),
    ]
    entries = []
    for fact in facts:
        for lead in chance.sample(["", "Note: ", "As discussed, ", "To confirm, "], chance.randrange(1, 4)):
            said = f"{lead}{fact}."
            chat = f"{' '.join(chance.sample(talk, 8)).capitalize()}."
            entries.append(chance.choice([said, f"{said} {chat}", f"{chat} {said[0].upper()}{said[1:]}"]))
    entries += [f"{' '.join(chance.sample(talk, chance.randrange(6, 14))).capitalize()}." for _ in range(120)]
    chance.shuffle(entries)
    return facts, sources(*entries)


@pytest.mark.parametrize(("share", "at_least"), [(0.5, 0.95), (0.25, 0.7), (0.1, 0.3)])
def test_facts_are_kept_where_reading_from_the_front_or_at_random_loses_them(share, at_least) -> None:
    chance = random.Random(7)
    facts, corpus = buried_facts(chance)
    budget = int(share * sum(source.tokens for source in corpus))

    def found(text: str) -> float:
        return sum(fact.casefold() in text.casefold() for fact in facts) / len(facts)

    def taken(order: list[Source]) -> float:
        texts, left = [], budget
        for source in order:
            if 2 * source.tokens <= left:
                left -= 2 * source.tokens
                texts.append(source.text)
        return found("\n".join(texts))

    ours = found(distillers.distil(corpus, budget).text)
    others = max(taken(corpus), taken(corpus[::-1]), taken(chance.sample(corpus, len(corpus))))
    assert ours >= at_least
    assert ours >= others + 0.25


def test_ten_times_the_corpus_takes_about_ten_times_as_long() -> None:
    texts = [f"Customer {n} of region {n % 97} prefers day {n % 365}. Thanks for the chat." for n in range(8_000)]
    corpus = sources(*texts)

    def seconds(part: list[Source]) -> float:
        started = time.process_time()
        distillers.distil(part, 20_000)
        return time.process_time() - started

    small = min(seconds(corpus[:800]) for _ in range(3))
    assert seconds(corpus) < 25 * small + 0.3


def test_lines_that_cost_more_together_than_apart_still_keep_the_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    apart = token_budget.count
    corpus = sources(*(f"The invoice of depot {n} must be paid." for n in range(40)))
    plan = distillers.distil(corpus, 400)
    monkeypatch.setattr(token_budget, "count", lambda text: apart(text) + 4 * text.count("\n", 0, -1))
    made = distillers.distil(corpus, 400)
    assert 0 < made.tokens_used <= 400
    assert made.output_tokens == token_budget.count(made.text)
    told = distillers.fit_answer(plan, "\n".join(f"Depot {n} pays." for n in range(40)), plan.input_tokens + 100)
    assert 20 < told.output_tokens <= 100


def test_an_answer_is_held_to_the_room_of_one_entry() -> None:
    plan = distillers.distil(sources("Acme renews in March."), 200)
    told = distillers.fit_answer(plan, "\n".join(f"Depot {n} pays {'early ' * 20}." for n in range(2000)), 1_000_000)
    assert 60_000 < len(told.text.encode()) <= distillers.MAX_TEXT_BYTES


def test_there_are_at_most_a_dozen_topics() -> None:
    names = [f"{first}{last}" for first in ("nor", "bel", "kar", "vin") for last in ("tia", "mont", "dale", "wick")]
    colours = ("red", "blue", "green")
    made = distillers.distil(
        sources(*(f"{name}'s paint: {colour}{n}" for n, name in enumerate(names) for colour in colours)), 5000
    )
    assert 1 < len([section for section in made.sections if section.topic]) <= 12


def test_what_is_written_without_gaps_is_weighed_too() -> None:
    made = distillers.distil(sources("東京の請求書は月末に支払う。東京の倉庫。", "我", "請求書は月末。"), 500)
    assert len(kept(made)) == 4


def test_progress_is_told_while_a_corpus_is_read() -> None:
    told: list[tuple[int, int]] = []
    distillers.distil(sources(*["A fact."] * 2500), 500, step=lambda done, total: told.append((done, total)))
    assert told == [(0, 2500), (1000, 2500), (2000, 2500)]


KEYS = st.text(st.characters(codec="utf-8"))
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53) + 1, 2**53 - 1) | st.floats(allow_nan=False, allow_infinity=False)
    | KEYS,
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(KEYS, inner, max_size=5),
    max_leaves=20,
)  # fmt: skip


@tries(300)
@given(JSON)
def test_bytes_are_those_of_rfc_8785(value) -> None:
    assert distillers.canonical(value) == rfc8785.dumps(value)


@pytest.mark.parametrize("value", [{"b": 1, "\ue000": 2, "\U0001f600": 3}, [1.0, 1e21], {"a": {"b": None}}])
def test_bytes_are_those_of_rfc_8785_where_sorting_and_numbers_are_hard(value) -> None:
    assert distillers.canonical(value) == rfc8785.dumps(value)


@pytest.mark.parametrize("value", [2**53, float("nan"), {1: 2}])
def test_what_has_no_canonical_form_is_refused(value) -> None:
    with pytest.raises((rfc8785.CanonicalizationError, AttributeError)):
        distillers.canonical(value)


@pytest.mark.parametrize("method", [distillers.EXTRACTIVE, distillers.Method("endpoint", "1", "some-model")], ids=str)
def test_a_document_is_written_as_rfc_8785_would_and_holds_no_time(method: distillers.Method) -> None:
    corpus = sources('Say "ü" and \U0001f600\x7f.', "Rest\u2028here must stay.")
    digests = {source.id: distillers.content_digest(source.text) for source in corpus}
    made = distillers.distil(corpus, 500)
    document = distillers.document(
        made, memory_ref="notes", token_budget_given=500, target_tokens=125, method=method, digests=digests
    )
    body = distillers.canonical(document)
    assert body == rfc8785.dumps(document)
    assert b"2026" not in body
    assert document["sources"] == [{"id": source.id, "sha256": digests[source.id]} for source in corpus]
    assert document["coverage"] == {"covered": 2, "of": 2, "text": "2 of 2 entries", "topics": 0}
    assert body.startswith(b'{"coverage":{"covered":2')


def test_an_archive_that_is_distilled_again_gives_its_sentences_and_not_what_it_says_of_itself() -> None:
    texts = [f"The invoice of depot {n} must be paid." for n in range(5)]
    text = distillers.distil(sources(*texts), 1000).text
    again = distillers.distil(sources(distillers.body_of(text)), 1000)
    assert "## " in text
    assert sorted(sentence.text for sentence in kept(again)) == texts


def test_an_endpoint_is_held_to_whole_sentences_that_fit() -> None:
    plan = distillers.distil(sources("Acme renews in March.", "Acme pays in EUR."), 200)
    told = distillers.fit_answer(plan, "Acme renews in March and pays in EUR. " + "More and more of it. " * 3, 200)
    assert [sentence.text for sentence in kept(told)] == [
        "Acme renews in March and pays in EUR.",
        "More and more of it.",
    ]
    assert told.covered == plan.covered
    tight = distillers.fit_answer(plan, f"Short. Much {'very ' * 300}long.", plan.input_tokens + 20)
    assert [sentence.text for sentence in kept(tight)] == ["Short."]
    with pytest.raises(NothingToKeep):
        distillers.fit_answer(plan, "very " * 300, plan.input_tokens + 20)
