"""SR-1: known secrets never reach a text, in any form they take."""

import base64
import html
import json
import random
import string
import time
from collections.abc import Callable
from itertools import product
from typing import Any
from urllib.parse import quote

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from memory.text.encodings import broken_runs, forms_of
from memory.text.redactor import (
    MIN_LENGTH,
    MOST_REPEATED,
    SHAPES,
    Redactor,
    in_strings,
    rewrite_marks,
    secret_shapes,
    strings_in,
)
from tests.budgets import cpu_within, tries

SECRET = 'sk-Tä+/"key"=ü&9'
PRINTABLE = st.text(st.characters(codec="utf-8", exclude_categories=("Cs", "Cc")), min_size=8, max_size=40)


def redactor(**secrets: str) -> Redactor:
    return Redactor(secrets.items())


def test_every_occurrence_is_replaced_by_its_mark() -> None:
    found = redactor(crm="tok-12345678").redact("a tok-12345678 b tok-12345678")
    assert found.text == "a [REDACTED:crm] b [REDACTED:crm]"
    assert found.count == 2


def test_seven_characters_are_left_and_eight_are_not() -> None:
    assert redactor(short="1234567").redact("1234567").text == "1234567"
    assert redactor(long="12345678").redact("12345678").text == "[REDACTED:long]"


@pytest.mark.parametrize("unit", ["a", "ab", "-=", "abc" * 50])
def test_a_repetitive_secret_is_redacted_whole_and_its_redactor_is_built_at_once(unit: str) -> None:
    value = (unit * 4000)[:4000]
    with cpu_within(1):
        made = redactor(long=value)
    for form in forms_of(value):
        assert made.redact(f"<{form}>").text in ("<[REDACTED:long]>", "<[REDACTED:long]=>", "<[REDACTED:long]==>")
    assert made.redact(f"x {unit * 3} y").text == f"x {unit * 3} y" or len(unit) * 3 >= MOST_REPEATED


def test_many_lengths_of_one_repetition_cost_a_repetitive_text_no_more_than_one() -> None:
    made = Redactor((f"s{length}", "a" * length) for length in range(8, 600))
    with cpu_within(10):
        assert made.redact("a" * 20_000).text.startswith("[REDACTED:s")


@tries(400)
@given(st.text("ab", min_size=1, max_size=40), st.integers(1, 300), st.text("ab", max_size=30))
@example("its beginning-", 3, "and then no more: " + "".join(map(str, range(50))))
def test_no_part_of_a_secret_that_repeats_itself_is_left_behind(unit: str, times: int, tail: str) -> None:
    value = unit * times + tail
    if len(value) >= MIN_LENGTH:
        assert redactor(x=value).redact(f"<{value}>").text == "<[REDACTED:x]>"


def every_pattern(secrets: list[tuple[str, str]]) -> dict[str, tuple[str, int]]:
    owners: dict[str, tuple[str, int]] = {}
    for secret_id, value in sorted(secrets, key=lambda each: (len(each[1]), each[0])):
        for form in forms_of(value) if len(value) >= MIN_LENGTH else ():
            period = next(at for at in range(1, len(form) + 1) if form.startswith(form[at:]))
            enough = max(2 * period, MOST_REPEATED)
            pieces = {form[:enough], form[-enough:]} if len(form) > MOST_REPEATED and enough < len(form) else {form}
            owners |= dict.fromkeys(pieces, (secret_id, len(value)))
    return owners


def redacted_by_definition(secrets: list[tuple[str, str]], text: str) -> str:
    """Every overlapping occurrence of every pattern, put together where two share a letter; in broken base64 too."""
    runs = [[place for piece in pieces for place in range(*piece)] for pieces in broken_runs(text)]
    found = sorted(
        {
            (places[at], places[at + len(pattern) - 1] + 1, *owner)
            for places in (list(range(len(text))), *runs)
            for said in ["".join(text[place] for place in places)]
            for pattern, owner in every_pattern(secrets).items()
            for at in range(len(said))
            if said.startswith(pattern, at)
        }
    )
    unions: list[tuple[int, int, list[tuple[int, int, str, int]]]] = []
    for each in found:
        if unions and each[0] < unions[-1][1]:
            start, end, inside = unions.pop()
            unions.append((start, max(end, each[1]), [*inside, each]))
        else:
            unions.append((each[0], each[1], [each]))
    for start, end, inside in reversed(unions):
        text = f"{text[:start]}[REDACTED:{max(inside, key=lambda each: each[3])[2]}]{text[end:]}"
    return text


@tries(300)
@given(st.randoms(use_true_random=False))
def test_few_patterns_redact_as_all_of_them_would(rng: random.Random) -> None:
    letters = rng.choice(["a", "ab", "abc", "a/", "a \u00e9"])

    def word(most: int) -> str:
        unit = "".join(rng.choices(letters, k=rng.randint(1, 12)))
        return (unit * most)[: rng.randint(1, most)] + "".join(rng.choices(letters, k=rng.randint(0, 6)))

    values = [word(rng.choice([12, 40, 130])) for _ in range(rng.randint(1, 6))]
    values += [each[: rng.randint(1, len(each))] for each in values]
    secrets = [(f"s{number}", value) for number, value in enumerate(values)]
    pieces = [rng.choice([*forms_of(value), value]) for value in values]
    pieces = [each[rng.randint(0, 3) :][: rng.choice([1000, len(each) - 1])] for each in pieces]
    text = "".join(rng.choice([*pieces, word(40), " ", "-"]) for _ in range(rng.randint(1, 8)))
    assert Redactor(secrets).redact(text).text == redacted_by_definition(secrets, text)


def test_of_what_is_broken_the_longest_secret_is_named_though_shorter_ones_cover_it() -> None:
    secrets = [("long", "a" * 13), ("short", "a" * 10)]
    text = "FhYmJhYWmFhYmJhaaaaaaahaaabaaaabaaaaaaaaaaa aaaaaaa"
    assert Redactor(secrets).redact(text).text == redacted_by_definition(secrets, text)
    assert "[REDACTED:long]" in Redactor(secrets).redact(text).text


def cost_of(act: Callable[[], object]) -> float:
    """The least seconds of CPU of three tries: other processes make one dearer, and none cheaper."""

    def once() -> float:
        began = time.process_time()
        act()
        return time.process_time() - began

    return min(once() for _ in range(3))


def test_a_long_repetition_costs_what_any_long_text_costs() -> None:
    many = Redactor((f"s{length}", "a" * length) for length in range(8, 600))
    one = Redactor([("s8", "a" * 8)])
    text = "a" * 60_000
    assert cost_of(lambda: many.redact(text)) < 4 * cost_of(lambda: one.redact(text))


def test_a_tenant_s_fill_of_unicode_secrets_is_built_in_a_moment() -> None:
    rng = random.Random(5)
    secrets = [(f"s{number}", "".join(chr(rng.randrange(0x4E00, 0x9FFF)) for _ in range(1800))) for number in range(96)]
    with cpu_within(1):
        made = Redactor(secrets)
    assert made.redact(f"x {secrets[17][1]} y {quote(secrets[90][1])}").text == "x [REDACTED:s17] y [REDACTED:s90]"


def test_overlapping_secrets_leave_no_part_behind() -> None:
    found = redactor(first="abcdefgh", second="efghijkl").redact("x abcdefghijkl y")
    assert found.text == "x [REDACTED:first] y"
    assert "ijkl" not in found.text


def test_a_secret_inside_a_longer_one_is_redacted_as_the_longer() -> None:
    found = redactor(part="password", whole="password-of-the-vault").redact("is password-of-the-vault, a password")
    assert found.text == "is [REDACTED:whole], a [REDACTED:part]"


def test_two_secrets_beside_each_other_are_two_marks() -> None:
    assert redactor(a="aaaaaaaa", b="bbbbbbbb").redact("aaaaaaaabbbbbbbb").text == "[REDACTED:a][REDACTED:b]"


def test_the_forms_a_secret_takes_on_its_way_are_found() -> None:
    for form in (
        SECRET,
        json.dumps({"k": SECRET}),
        json.dumps({"k": SECRET}, ensure_ascii=False),
        quote(SECRET, safe=""),
        quote(SECRET, safe="").lower().replace("t%c3", "T%c3"),
        base64.b64encode(SECRET.encode()).decode(),
        base64.b64encode(b"x" + SECRET.encode() + b"yz").decode(),
        base64.b64encode(b"xy" + SECRET.encode() + b"z").decode(),
        base64.urlsafe_b64encode(b"user:" + SECRET.encode()).decode(),
        json.dumps({"arguments": json.dumps({"k": SECRET})}),
        json.dumps({"arguments": json.dumps({"k": SECRET}, ensure_ascii=False)}, ensure_ascii=False),
        quote(quote(SECRET, safe=""), safe=""),
        html.escape(SECRET),
        html.escape(SECRET, quote=False),
        html.escape(SECRET).replace("&quot;", "&#34;"),
        SECRET.encode().hex(),
        SECRET.encode().hex().upper(),
    ):
        found = redactor(byok=SECRET).redact(f"header {form} footer")
        assert "[REDACTED:byok]" in found.text, form
        assert found.text.startswith("header "), form
        assert found.text.endswith(" footer"), form


def test_json_as_programs_in_other_languages_escape_it_is_redacted_and_inside_base64() -> None:
    written = {
        "PHP": r"{\u00fcber\/\"<&>'+=\n",
        "PHP, unescaped": r"{über\/\"<&>'+=\n",
        "Go": r"{über/\"\u003c\u0026\u003e'+=\n",
        "Gson": r"{über/\"\u003c\u0026\u003e\u0027+\u003d\n",
        "Django": r"{\u00FCber/\"\u003C\u0026\u003E'+=\n",
        "Jinja": r"{\u00fcber/\"\u003c\u0026\u003e\u0027+=\n",
        "Jackson": r"{\u00FCber/\"<&>'+=\n",
        ".NET": r"{\u00FCber/\u0022\u003C\u0026\u003E\u0027\u002B=\n",
    }
    known = redactor(key="{über/\"<&>'+=\n")
    missed = {by for by, text in written.items() if known.redact(f'"{text}"').text != '"[REDACTED:key]"'}
    missed |= {
        f"{by} twice" for by, text in written.items() if not known.redact(json.dumps(text, ensure_ascii=False)).count
    }
    missed |= {
        f"{by} in base64 at {shift}"
        for by, text in [("JSON", json.dumps("{über/\"<&>'+=\n")), ("Go", written["Go"])]
        for shift in range(3)
        if not known.redact(base64.b64encode(b"x" * shift + text.encode()).decode()).count
    }
    assert missed == set()


@pytest.mark.parametrize("by", [" ", "\n", "\r\n", "\\n"])
def test_base64_that_is_broken_into_lines_or_groups_is_redacted(by: str) -> None:
    secret = "correct-horse-battery-staple " * 3
    for shift, width in product(range(3), [1, 4, 5, 64, 76]):
        whole = base64.b64encode(b"(" * shift + secret.encode() + b")").decode()
        text = f"header: {by.join(whole[at : at + width] for at in range(0, len(whole), width))} footer."
        found = redactor(byok=secret).redact(text)
        before, mark, after = found.text.partition("[REDACTED:byok]")
        assert (bool(mark), found.count) == (True, 1), text
        shared = len(before.removeprefix("header: ").replace(by, ""))
        assert shared <= 3, f"the letters that it shares with what is beside: {text}"
        assert len(after.removesuffix(" footer.").replace(by, "")) <= 4, text


def test_a_secret_in_words_is_not_found_across_them() -> None:
    assert redactor(word="passport").redact("pass port").count == 0


@tries(400)
@given(PRINTABLE, PRINTABLE, st.lists(st.integers(0, 60), max_size=4))
def test_no_secret_survives_in_any_text_around_it(secret: str, around: str, cuts: list[int]) -> None:
    text = around
    for cut in cuts:
        text = text[:cut] + secret + text[cut:]
    assert secret not in redactor(s=secret).redact(text).text.replace("[REDACTED:s]", "\x00")


@tries(400)
@given(st.lists(PRINTABLE, min_size=2, max_size=5, unique=True), st.data())
def test_of_several_secrets_mixed_together_none_survives(secrets: list[str], data: st.DataObject) -> None:
    parts = data.draw(st.lists(st.sampled_from([*secrets, " ", "-"]), max_size=8))
    kept = redactor(**{f"s{number}": value for number, value in enumerate(secrets)}).redact("".join(parts)).text
    for number in range(len(secrets)):
        kept = kept.replace(f"[REDACTED:s{number}]", "\x00")
    assert not any(secret in kept for secret in secrets)


def test_json_is_redacted_in_keys_and_values_and_keeps_its_shape() -> None:
    value = {"tok-12345678": ["tok-12345678", 3, None, {"deep": "x tok-12345678"}]}
    mark = "[REDACTED:crm]"
    assert redactor(crm="tok-12345678").redact_json(value) == {mark: [mark, 3, None, {"deep": f"x {mark}"}]}


WRITTEN = sorted(forms_of(SECRET)) + [
    form[:at] + gap + form[at:] for form in sorted(forms_of(SECRET)) for at, gap in ((4, "\n"), (5, " "), (7, "\\n"))
]
TEXTS_OF_JSON = st.one_of(
    st.sampled_from(["", "plain", "\0", "sk-Tä+", SECRET[1:], "\\", "n"]), st.sampled_from(WRITTEN)
)
VALUES = st.recursive(
    st.one_of(TEXTS_OF_JSON, st.none(), st.integers()),
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(TEXTS_OF_JSON, inner, max_size=4)),
    max_leaves=8,
)


@tries(400)
@given(VALUES)
def test_json_without_a_secret_is_left_alone_and_any_other_redacted_text_by_text(value: Any) -> None:
    known = redactor(crm=SECRET)
    wanted = in_strings(value, lambda text: known.redact(text).text)
    assert known.redact_json(value) == wanted
    assert known.redact_json(value) is value or not known.is_clean(strings_in(value))


def test_two_keys_that_hold_secrets_stay_two_members() -> None:
    made = redactor(crm="tok-12345678").redact_json({"tok-12345678": 1, "dG9rLTEyMzQ1Njc4": 2})
    assert made == {"[REDACTED:crm]": 1, "[REDACTED:crm] (2)": 2}


def test_two_thousand_secrets_are_looked_for_in_one_pass() -> None:
    rng = random.Random(7)
    secrets = {f"s{number}": "".join(rng.choices(string.ascii_letters, k=24)) for number in range(2000)}
    text = " ".join(["nothing to see"] * 50 + [secrets["s1987"]])
    assert redactor(**secrets).redact(text).text.endswith("[REDACTED:s1987]")


def test_every_form_is_long_enough_to_be_no_accident() -> None:
    assert all(len(form) >= MIN_LENGTH for form in forms_of("12345678"))


@pytest.mark.parametrize(
    "text",
    [
        "AKIAIOSFODNN7EXAMPLE",
        "-----BEGIN RSA PRIVATE KEY-----",
        "Authorization: Bearer abcdefghijklmnop",
        "postgres://ada:hunter22@db/console",
        "password = 'correct-horse-battery'",
        "ghp_" + "a" * 36,
    ],
)
def test_a_text_that_looks_like_a_secret_is_noticed(text: str) -> None:
    assert secret_shapes(f"the log says {text} here") >= 1


def test_ordinary_prose_is_not_taken_for_a_secret() -> None:
    assert secret_shapes("The customer asked for a refund of order 10234 and prefers e-mail on Mondays.") == 0
    assert len(SHAPES) >= 25


@pytest.mark.parametrize("form", ["[BYOK:{}]", "<REDACTED:{}>", "{{{{secret:{}}}}}", "${{secret:{}}}"])
def test_a_placeholder_of_a_credential_becomes_a_mark_and_an_id_that_is_a_secret_is_not_told(form: str) -> None:
    assert rewrite_marks(f"use {form.format('crm-token')} here") == "use [REDACTED:crm-token] here"
    leaked = "AKIA" + "ABCDEFGHIJKLMNOP"
    assert rewrite_marks(f"use {form.format(leaked)} here") == "use [REDACTED:secret] here"
