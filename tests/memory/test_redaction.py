"""SR-1: known secrets never reach a text, in any form they take."""

import base64
import json
import random
import string
import time
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.encodings import forms_of
from memory.redaction import MIN_LENGTH, MOST_REPEATED, SHAPES, Redactor, rewrite_marks, secret_shapes

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
    began = time.process_time()
    made = redactor(long=value)
    assert time.process_time() - began < 1
    for form in forms_of(value):
        assert made.redact(f"<{form}>").text in ("<[REDACTED:long]>", "<[REDACTED:long]=>", "<[REDACTED:long]==>")
    assert made.redact(f"x {unit * 3} y").text == f"x {unit * 3} y" or len(unit) * 3 >= MOST_REPEATED


def test_many_lengths_of_one_repetition_cost_a_repetitive_text_no_more_than_one() -> None:
    made = Redactor((f"s{length}", "a" * length) for length in range(8, 600))
    began = time.process_time()
    assert made.redact("a" * 20_000).text.startswith("[REDACTED:s")
    assert time.process_time() - began < 10


@given(st.text("ab", min_size=1, max_size=40), st.integers(1, 300), st.text("ab", max_size=30))
def test_no_part_of_a_secret_that_repeats_itself_is_left_behind(unit: str, times: int, tail: str) -> None:
    value = unit * times + tail
    if len(value) >= MIN_LENGTH:
        assert redactor(x=value).redact(f"<{value}>").text == "<[REDACTED:x]>"


def test_overlapping_secrets_leave_no_part_behind() -> None:
    found = redactor(first="abcdefgh", second="efghijkl").redact("x abcdefghijkl y")
    assert found.text == "x [REDACTED:first] y"
    assert "ijkl" not in found.text


def test_a_secret_inside_a_longer_one_is_redacted_as_the_longer() -> None:
    found = redactor(part="password", whole="password-of-the-vault").redact("is password-of-the-vault, a password")
    assert found.text == "is [REDACTED:whole], a [REDACTED:part]"


def test_two_secrets_beside_each_other_are_two_marks() -> None:
    assert redactor(a="aaaaaaaa", b="bbbbbbbb").redact("aaaaaaaabbbbbbbb").text == "[REDACTED:a][REDACTED:b]"


@pytest.mark.parametrize(
    "form",
    [
        SECRET,
        json.dumps({"k": SECRET}),
        json.dumps({"k": SECRET}, ensure_ascii=False),
        quote(SECRET, safe=""),
        quote(SECRET, safe="").lower().replace("t%c3", "T%c3"),
        base64.b64encode(SECRET.encode()).decode(),
        base64.b64encode(b"x" + SECRET.encode() + b"yz").decode(),
        base64.b64encode(b"xy" + SECRET.encode() + b"z").decode(),
        base64.urlsafe_b64encode(b"user:" + SECRET.encode()).decode(),
    ],
)
def test_the_forms_a_secret_takes_on_its_way_are_found(form: str) -> None:
    found = redactor(byok=SECRET).redact(f"header {form} footer")
    assert "[REDACTED:byok]" in found.text
    assert found.text.startswith("header ")
    assert found.text.endswith(" footer")


@given(PRINTABLE, PRINTABLE, st.lists(st.integers(0, 60), max_size=4))
def test_no_secret_survives_in_any_text_around_it(secret: str, around: str, cuts: list[int]) -> None:
    text = around
    for cut in cuts:
        text = text[:cut] + secret + text[cut:]
    assert secret not in redactor(s=secret).redact(text).text.replace("[REDACTED:s]", "\x00")


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


def test_two_keys_that_hold_secrets_stay_two_members() -> None:
    made = redactor(crm="tok-12345678").redact_json({"tok-12345678": 1, "dG9rLTEyMzQ1Njc4": 2})
    assert made == {"[REDACTED:crm]": 1, "[REDACTED:crm] (2)": 2}


def test_five_thousand_secrets_are_looked_for_in_one_pass() -> None:
    rng = random.Random(7)
    secrets = {f"s{number}": "".join(rng.choices(string.ascii_letters, k=24)) for number in range(5000)}
    text = " ".join(["nothing to see"] * 50 + [secrets["s4321"]])
    assert redactor(**secrets).redact(text).text.endswith("[REDACTED:s4321]")


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
