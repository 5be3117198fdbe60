"""B10 and B11: secrets out of text, and the shapes of secrets, against the loops that one would write first."""

import re
from collections.abc import Iterator
from functools import partial
from random import Random

from memory.host import ids
from memory.text import encodings, redactor
from memory.text.redactor import Redactor
from tools.bench import rounds
from tools.bench.outcomes import Outcome
from tools.bench.plan import Plan
from tools.bench.quality.corpus import corpus

SECRETS = (1, 50, 5_000)
TEXTS = 20
SENTENCES = 4
INSIDE = 3
LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_/+"


def redacted(plan: Plan) -> Iterator[Outcome]:
    """B10: the cost hardly grows with the secrets; a loop over all forms of all of them does the same job."""
    rng = Random("secrets")  # noqa: S311
    known = [(f"sec_{number}", "".join(rng.choices(LETTERS, k=24))) for number in range(SECRETS[-1])]
    text = " ".join([*(each.text for each in corpus(100).entries[:TEXTS]), *(value for _, value in known[:INSIDE])])
    ours = {many: partial(Redactor(known[:many]).redact, text) for many in SECRETS}
    most = SECRETS[-1]
    theirs = partial(_replaced, sorted(_forms(known), key=lambda form: -len(form[0])), text)
    faster = rounds.ratio_apart(
        theirs, ours[most], rounds=plan.rounds, calls=max(plan.calls // 40, 2), quick_calls=plan.calls
    )
    name = f"redaction of {len(text):,} characters"
    workload = f"{name}, {most:,} secrets: times faster than replacing each form"
    yield Outcome("B10", workload, plan.engine, faster, 100, at_least=True)
    growth = rounds.ratio(ours[most], ours[1], rounds=plan.rounds, calls=plan.calls * 5)
    yield Outcome("B10", f"{name}: {most:,} secrets against one", plan.engine, growth, 8)


def _forms(known: list[tuple[str, str]]) -> list[tuple[str, str]]:
    return [(form, ids.redacted(secret_id)) for secret_id, value in known for form in encodings.forms_of(value)]


def _replaced(forms: list[tuple[str, str]], text: str) -> str:
    for form, mark in forms:
        text = text.replace(form, mark)
    return text


def scanned(plan: Plan) -> Iterator[Outcome]:
    """B11: text without anything that looks like a secret, entry by entry."""
    rules = [re.compile(shape) for shape in redactor.SHAPES]
    said = [each.text for each in corpus(1_000).entries]
    texts = [" ".join(said[first : first + SENTENCES]) for first in range(0, TEXTS * SENTENCES, SENTENCES)]
    assert not any(map(redactor.secret_shapes, texts))
    faster = rounds.ratio_apart(
        lambda: [sum(1 for rule in rules if rule.search(text)) for text in texts],
        lambda: [redactor.secret_shapes(text) for text in texts],
        rounds=plan.rounds,
        calls=plan.calls,
        quick_calls=plan.calls * 5,
    )
    length = sum(map(len, texts)) // TEXTS
    workload = f"scan of clean texts of {length} characters for secrets: times faster than each rule by `re`"
    yield Outcome("B11", workload, plan.engine, faster, 40, at_least=True)
