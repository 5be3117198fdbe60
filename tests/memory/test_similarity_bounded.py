"""What comparing costs where very many statements are of the same words: it grows with them, not with their square."""

import gettext
import random
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from io import BytesIO
from itertools import product
from pathlib import Path
from string import ascii_lowercase
from uuid import UUID

import django
import pytest

from memory.text import intentions
from memory.text.similarity import Reconciliation, Statement, reconcile, reconciling, tokens
from tests.budgets import cpu_within, examples

START = datetime(2026, 1, 5, tzinfo=UTC)
WORDS = "apple bridge candle desert engine forest garden hammer island jungle kettle ladder".split()  # noqa: SIM905
EACH = 100


def shuffled(count: int, form: str = "{}") -> list[Statement]:
    """Statements of the same twelve words, each in another order."""
    chance, found = random.Random("orders"), []
    for number in range(count):
        words = chance.sample(WORDS, len(WORDS))
        text = form.format(" ".join(words), pairs="; ".join(f"{word}=1" for word in words), number=number + 5)
        found.append(Statement(UUID(int=number + 1), text, START + timedelta(minutes=number)))
    return found


def counted(monkeypatch: pytest.MonkeyPatch, name: str) -> Callable[[], int]:
    """How often the rule of that name has been asked."""
    asked, rule = [0], getattr(reconciling, name)

    def counting(*args: object) -> object:
        asked[0] += 1
        return rule(*args)

    monkeypatch.setattr(reconciling, name, counting)
    return lambda: asked[0]


def test_statements_of_one_set_of_words_are_held_against_a_few_of_them(monkeypatch: pytest.MonkeyPatch) -> None:
    asked, loosely = counted(monkeypatch, "agree"), counted(monkeypatch, "agree_in_gist")
    reconcile(shuffled(700))
    once = asked(), loosely()
    reconcile(shuffled(1400))
    assert 0 < min(once) <= max(once) < 4_000
    assert max(asked() - once[0], loosely() - once[1]) < 4_000


def test_lists_in_every_order_are_one_after_few_comparisons(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = counted(monkeypatch, "agree")
    found = reconcile(shuffled(400, "{pairs}"))
    assert sum(len(each.merged) for each in found.merges) == 399
    assert asked() < 400 * 10


def test_claims_of_one_set_of_words_are_held_against_a_few_of_them(monkeypatch: pytest.MonkeyPatch) -> None:
    asked, loosely = counted(monkeypatch, "still_about"), counted(monkeypatch, "on_one_topic")
    reconcile(shuffled(600, "The limit is now {number} for {}"))
    assert 0 < asked() < 3 * (reconciling.MOST_PAIRS + 600)
    assert 0 < loosely() < 3 * (reconciling.MOST_PAIRS + 600)


def test_what_is_equal_is_found_among_very_many_that_are_not() -> None:
    said = shuffled(EACH)
    again = [Statement(UUID(int=each.id.int + EACH), f"{each.text}.", each.said_at, each.tags) for each in said]
    found = reconcile([*said, *again])
    assert sum(len(each.merged) for each in found.merges) >= EACH
    gone = {merged for each in found.merges for merged in each.merged}
    assert reconcile([each for each in [*said, *again] if each.id not in gone]) == Reconciliation((), ())


@pytest.mark.parametrize("text", ["ab" * 5000, "\n" * 65_000, "%" * 65_000, "a;" * 32_500, "a:" * 32_500])
def test_a_text_without_end_or_sense_is_compared_in_a_moment(text: str) -> None:
    with cpu_within(3):
        reconcile([Statement(UUID(int=n), f"{text}{end}", START) for n, end in enumerate(("", " x"))])


def test_tokens_are_kept_by_how_many_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tokens, "KEPT_CHUNKS", 2_000)
    known, most = tokens.Tokens(), 0
    for number in range(40):
        known[f"{number}{'́' * 400}"]
        most = max(most, sum(map(len, known.values())))
    assert 1_000 < most < 2_500


def test_a_word_of_any_length_and_ending_is_read() -> None:
    short = ["", *ascii_lowercase, *map("".join, product(ascii_lowercase, repeat=2))]
    texts = [f"{word}{ending}" for word in short for ending in ("", "ing", "ed", "s", "ies", "ied", "y", "'s")]
    reconcile([Statement(UUID(int=number), text, START) for number, text in enumerate(texts)])
    for text in texts[: 8 * 27]:
        intentions.found_in(f"We {text} it, please {text} once Ana {text}.", zone="UTC", written_at=START)


def test_a_statement_that_begins_with_and_is_read() -> None:
    again = ["And was told to wait.", "And has a new owner now.", "And"]
    reconcile([Statement(UUID(int=number), text, START) for number, text in enumerate(again)])


def test_messages_of_another_program_are_read_in_their_languages() -> None:
    folders = Path(django.__file__).parent.rglob("locale/*/LC_MESSAGES/django.mo")
    files = sorted(each for each in folders if each.parts[-3] in ("de", "en", "es", "fr", "ja", "pl"))
    messages = {
        text
        for each in files
        for text in vars(gettext.GNUTranslations(BytesIO(each.read_bytes())))["_catalog"].values()
    }
    texts = random.Random("messages").sample(sorted(filter(None, messages)), examples(2400))
    found = reconcile([Statement(UUID(int=number), text, START) for number, text in enumerate(texts)])
    assert len(found.superseded) < 0.01 * len(texts)
    for text in texts:
        intentions.found_in(text, zone="UTC", written_at=START)
