"""What the templates compute: words for times and numbers, visible marks, places in a drawing."""

import re
from datetime import UTC, datetime, timedelta, timezone
from types import SimpleNamespace
from typing import Any

import pytest
from django.template import Context, Template

from openwop_console.templatetags import console, drawings

NOW = datetime(2025, 11, 20, 14, 20, 33, tzinfo=UTC)
RUN = "run_0199f0a3b1c27d6e8f90a1b2c3d4e5f6"


def rendered(source: str, **context: Any) -> str:
    return Template("{% load console %}" + source).render(Context(context))


@pytest.mark.parametrize(
    ("passed", "words"),
    [
        ({"seconds": 59}, "just now"),
        ({"seconds": -20}, "just now"),
        ({"minutes": 3, "seconds": 59}, "3 min ago"),
        ({"hours": 47}, "47 h ago"),
        ({"days": 2}, "2 d ago"),
        ({"days": 13, "hours": 23}, "14 d ago"),
        ({"days": 61}, "2 mo ago"),
        ({"days": 800}, "2 y ago"),
        ({"hours": -3}, "in 3 h"),
    ],
)
def test_a_moment_past_is_told_in_one_unit_the_nearest_when_far(passed: dict[str, int], words: str) -> None:
    assert console.ago(NOW - timedelta(**passed), NOW) == words


@pytest.mark.parametrize(
    ("ahead", "words"),
    [
        ({"hours": 3}, "in 3 h"),
        ({"hours": 3, "minutes": 59}, "in 3 h"),
        ({"days": 13, "hours": 23, "minutes": 59}, "in 14 d"),
        ({"days": 13, "hours": 2}, "in 13 d"),
        ({"seconds": 9}, "in less than 1 min"),
        ({"seconds": -9}, "just now"),
        ({"hours": -3}, "3 h ago"),
    ],
)
def test_a_moment_to_come_is_told_in_one_unit(ahead: dict[str, int], words: str) -> None:
    assert console.until(NOW + timedelta(**ahead), NOW) == words


def test_a_moment_that_never_was_is_never_and_not_a_blank() -> None:
    assert (console.ago(None), console.until(None), console.stamp(None), console.iso(None)) == ("never",) * 3 + ("",)


def test_without_a_now_of_the_page_the_clock_is_read() -> None:
    assert console.ago(datetime.now(UTC)) == "just now"
    assert console.until(datetime.now(UTC) + timedelta(hours=3, seconds=9)) == "in 3 h"


def test_an_instant_is_written_in_utc_wherever_it_came_from() -> None:
    moment = NOW.astimezone(timezone(timedelta(hours=2)))
    assert console.stamp(moment) == "2025-11-20 14:20 UTC"
    assert console.stamp(moment, "seconds") == "2025-11-20 14:20:33 UTC"
    assert console.iso(moment) == "2025-11-20T14:20:33.000Z"


@pytest.mark.parametrize(
    ("length", "words"),
    [
        (None, "unknown"),
        (0.85, "850 ms"),
        (34, "34 s"),
        (timedelta(seconds=134), "2 min 14 s"),
        (3900, "1 h 5 min"),
        (60, "1 min"),
        (3600, "1 h"),
    ],
)
def test_a_length_of_time_is_told_in_its_two_largest_units(length: timedelta | float | None, words: str) -> None:
    assert console.elapsed(length) == words


@pytest.mark.parametrize(
    ("number", "noun", "word"),
    [
        (1, "proposals", "proposal"),
        (1, "entries", "entry"),
        (1, "passes", "pass"),
        (1, "archives and failures", "archive or failure"),
        (0, "proposals", "proposals"),
        (1200, "entries", "entries"),
    ],
)
def test_of_one_thing_the_noun_is_one(number: int, noun: str, word: str) -> None:
    assert console.counted(number, noun) == word


def test_a_page_of_one_thing_says_so_where_it_is_read_and_announced() -> None:
    page = '{% include "components/pager.html" with first=first last=last total=total noun="proposals" only %}'
    one = rendered(page, first=1, last=1, total=1)
    assert 'data-announce="1 proposal"><strong>1</strong> of 1 proposal</p>' in one
    assert "<strong>1–2</strong> of 3 proposals" in rendered(page, first=1, last=2, total=3)  # noqa: RUF001


def test_a_share_is_never_rounded_to_all_or_nothing() -> None:
    shares = (0, 0.001, 0.01, 0.5, 0.99, 0.999, 1)
    assert [console.percent(each) for each in shares] == ["0 %", "< 1 %", "1 %", "50 %", "99 %", "> 99 %", "100 %"]


def test_an_absent_number_is_unknown_and_not_zero() -> None:
    assert (console.thousands(12304), console.thousands(0), console.thousands(None)) == ("12,304", "0", "unknown")


def test_an_id_is_shortened_in_the_middle_and_its_pieces_are_the_whole_id() -> None:
    cut = console.pieces(RUN)
    assert console.middle(RUN) == "run_0199…d4e5f6"
    assert cut.head + cut.middle + cut.tail == RUN
    assert console.middle("short-id") == "short-id"


@pytest.mark.parametrize(
    ("hostile", "shown"),
    [
        ("plain", "plain"),
        ("two\nlines\tand\r\nmore", "two\nlines\tand\r\nmore"),
        ("txt\u202eexe", "txt⟦RLO U+202E⟧exe"),
        ("bell\x07", "bell⟦U+0007⟧"),
        ("a\rb", "a⟦U+000D⟧b"),
        ("zero\u200bwidth", "zero⟦ZWSP U+200B⟧width"),
        ("tag\U000e0041", "tag⟦U+E0041⟧"),
        ("smuggled\U000e0101", "smuggled⟦U+E0101⟧"),
        ("half\ud800", "half⟦U+D800⟧"),
        ("a\u200db", "a⟦ZWJ U+200D⟧b"),
        ("Zażółć 👩‍💻 שלום ❤️", "Zażółć 👩‍💻 שלום ❤️"),
    ],
)
def test_what_a_reader_could_not_see_is_shown_as_a_mark(hostile: str, shown: str) -> None:
    assert console.show_bidi(hostile) == shown


def test_marked_text_is_still_escaped() -> None:
    assert rendered("{{ text|show_bidi }}", text="<b>\u202e</b>") == "&lt;b&gt;⟦RLO U+202E⟧&lt;/b&gt;"


def test_an_icon_is_silent_unless_it_has_words_of_its_own() -> None:
    assert 'aria-hidden="true"' in rendered('{% icon "copy" %}')
    assert 'role="img" aria-label="Say &lt;it&gt;"' in rendered('{% icon "copy" label=words %}', words="Say <it>")


def test_a_word_looks_the_same_everywhere_and_an_unlisted_one_is_neutral() -> None:
    known, unknown = rendered('{% badge "degraded" %}'), rendered("{% badge word %}", word="<un>heard-of")
    assert "badge-warn" in known
    assert "#triangle-alert" in known
    assert unknown == '<span class="badge badge-neutral">&lt;un&gt;heard-of</span>'


def test_a_badge_may_say_its_state_in_other_words() -> None:
    shown = rendered('{% badge "degraded" label="degraded (2)" title=hint tone="bad" icon="x" %}', hint='two "of" them')
    assert 'class="badge badge-bad" title="two &quot;of&quot; them"' in shown
    assert "#x" in shown
    assert shown.endswith("degraded (2)</span>")


def test_a_time_says_both_or_one_of_them_with_the_other_in_its_title() -> None:
    at, now = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC), datetime(2026, 1, 2, 6, 4, 5, tzinfo=UTC)
    both = rendered("{% time at=at now=now %}", at=at, now=now)
    assert "3 h ago" in both
    assert "2026-01-02 03:04 UTC" in both
    assert 'title="2026-01-02 03:04:05 UTC"' in rendered('{% time at=at now=now show="relative" %}', at=at, now=now)
    assert 'title="3 h ago"' in rendered('{% time at=at now=now show="absolute" %}', at=at, now=now)
    assert "in 3 h" in rendered("{% time at=now now=at ahead=True %}", at=at, now=now)
    assert rendered("{% time at=at absent=word %}", at=None, word="<no>") == '<span class="faint">&lt;no&gt;</span>'


def test_an_id_is_shortened_in_sight_and_whole_in_the_text() -> None:
    text = f"<run>_{'0' * 26}abcdef"
    shown = rendered("{% id id=text url=url %}", text=text, url="/x?a=1&b=2")
    assert "".join(re.sub("<.*?>", "", shown).split()) == text.replace("<", "&lt;").replace(">", "&gt;")
    assert 'href="/x?a=1&amp;b=2"' in shown
    assert 'data-copy="&lt;run&gt;' in shown
    assert "data-copy" not in rendered('{% id id=text copy="no" %}', text=text)


def test_the_steps_before_the_current_one_are_done() -> None:
    assert [step.state for step in console.steps("Find, Preview, Confirm", "Preview")] == ["done", "current", "todo"]


def test_a_choice_has_a_value_and_a_word() -> None:
    shown = console.switch("clock", "Times", "local", "utc:UTC,local:Local")
    assert re.findall(r'data-value="(.*?)" aria-pressed="(.*?)">(.*?)<', shown) == [
        ("utc", "false", "UTC"),
        ("local", "true", "Local"),
    ]


def test_the_tallest_bar_fills_the_drawing_and_a_zero_keeps_a_foot() -> None:
    drawn = drawings.bars([("Mon", 0), ("Tue", 13), ("Wed", 26)])
    assert [(bar.x, bar.y, bar.height) for bar in drawn.bars] == [(0, 27.0, 1.0), (8, 15.0, 13.0), (16, 2.0, 26.0)]
    assert (drawn.width, drawings.bars([]).width) == (22, 6)
    assert drawings.bars([("Mon", 13)], 26).bars[0].height == 13, "drawings that are compared share their top"


def test_the_events_of_a_strip_fill_the_page_in_their_order_and_each_node_is_named_once() -> None:
    def drawn(*nodes: str) -> drawings.Strip:
        return drawings.strip([SimpleNamespace(node=node) for node in nodes])

    few, many = drawn("", "a-long-name-of-a-node", "b"), drawn(*["a-long-name-of-a-node"] * 2, *["b"] * 40)
    assert [(place.x, place.name) for place in few.places] == [(84, ""), (180, "a-long-name-…"), (276, "b")]
    assert (few.width, drawn().width) == (296, 104)
    assert [place.name for place in many.places] == ["a-long…", "", "b", *[""] * 39]
    assert many.width == 104 + 41 * 26, "those that do not fit scroll"
