"""B4, B20, B21: a distillation over HTTP, canonical archives, the speed; and Q2: which key facts are still said."""

import hashlib
import http.client
import json
from collections.abc import Callable, Iterator
from functools import partial
from itertools import count
from math import log
from statistics import linear_regression, median
from typing import Any

import rfc8785
from django.utils import timezone

from memory.host import api_keys
from memory.text import distillers
from memory.text.distillers import Distilled, Source
from tools.bench import ground, rounds, serving
from tools.bench.outcomes import Outcome
from tools.bench.plan import Plan
from tools.bench.quality import keeping
from tools.bench.quality.keyfacts import CaseFile, case_file

SOURCES, SIZE = 400, 200
SEAM = "/v1/host/sample/memory/distill"
BUDGET = 100_000  # which all of the sources fit
ARCHIVED = 10_000
LABELLED = 2_000
BUDGETS = (50, 25, 10)
RANKED = 25


def sources(case: CaseFile) -> list[Source]:
    return [
        Source(each.id, each.text, each.said_at, each.tokens, each.tags, each.protected, each.corroboration)
        for each in case.notes
    ]


def said(distilled: Distilled) -> list[str]:
    """The sentences that are kept."""
    return [sentence.text for section in distilled.sections for sentence in section.sentences]


def served(plan: Plan) -> Iterator[Outcome]:
    """B4: sources are sent, and a pass makes an archive of them; against the bytes and digest of that archive alone."""
    words, numbers = " ".join(each.text for each in case_file(LABELLED).notes), count()
    texts = [words[start : start + SIZE] for start in range(0, SOURCES * SIZE, SIZE)]
    given = [Source(f"source:{number}", text, timezone.now(), SIZE) for number, text in enumerate(texts)]
    document = _document(given, "bench/served", BUDGET)
    key = api_keys.create_api_key(ground.tenant(), role="owner", now=timezone.now()).text
    with serving.server(OPENWOP_TEST_SEAM_ENABLED="true") as address:
        client = http.client.HTTPConnection(address.host, address.port, timeout=60)

        def ours() -> None:
            asked = {"memoryRef": f"bench/served-{next(numbers)}", "tokenBudget": BUDGET, "sources": texts}
            client.request("POST", SEAM, json.dumps(asked), {"X-API-Key": key, "Content-Type": "application/json"})
            answer = client.getresponse()
            if not answer.read() or answer.status != http.client.OK:
                raise serving.NotServed(f"The seam answered with {answer.status}.")

        theirs = partial(_digest, rfc8785.dumps, document)
        calls = max(plan.calls // 20, 3)
        times = rounds.ratio_apart(ours, theirs, rounds=plan.rounds, calls=calls, quick_calls=plan.calls)
        client.close()
    workload = f"distillation of {SOURCES} sources of {SIZE} bytes over HTTP, times JCS and SHA-256 of its archive"
    yield Outcome("B4", workload, plan.engine, times, 6)


def archived(plan: Plan) -> Iterator[Outcome]:
    """B20: the archive of entries that all fit, as bytes and their digest."""
    size = min(ARCHIVED, plan.largest)
    case = case_file(size)
    document = _document(sources(case), "bench/archived", 3 * case.tokens)
    ours, theirs = partial(_digest, distillers.canonical, document), partial(_digest, rfc8785.dumps, document)
    faster = rounds.ratio_apart(theirs, ours, rounds=plan.rounds, calls=3, quick_calls=max(plan.calls // 2, 3))
    name = f"archive of {size:,} entries: canonical bytes and SHA-256"
    yield Outcome("B20", f"{name}, times faster than rfc8785", plan.engine, faster, 25, at_least=True)
    yield Outcome("B20", f"{name}, equal to its bytes", plan.engine, float(ours() == theirs()), 1, True, unit="")


def _document(given: list[Source], memory_ref: str, budget: int) -> Any:
    """The archive of entries that all fit."""
    return distillers.document(
        distillers.distil(given, budget),
        memory_ref=memory_ref,
        token_budget_given=budget,
        target_tokens=budget,
        method=distillers.EXTRACTIVE,
        digests={each.id: hashlib.sha256(each.text.encode()).hexdigest() for each in given},
    )


def _digest(canonical: Callable[[Any], bytes], document: Any) -> str:
    return hashlib.sha256(canonical(document)).hexdigest()


def ranked(plan: Plan) -> Iterator[Outcome]:
    """B21: a quarter of the tokens may be read and written."""
    cases = {size: case_file(size) for size in plan.pass_sizes}
    calls: list[rounds.Call] = [
        partial(distillers.distil, sources(case), case.tokens * RANKED // 100) for case in cases.values()
    ]
    times = rounds.rounds_of(calls, rounds=plan.pass_rounds, calls=1)
    largest = max(cases)
    rate = median(largest / round_[-1] for round_ in times)
    name = f"distillation of {largest:,} entries to {RANKED}%"
    yield Outcome("B21", f"{name}, entries ranked in a second", plan.engine, rate, 5_000, at_least=True, unit="")
    slopes = [linear_regression([log(size) for size in cases], [log(t) for t in round_]).slope for round_ in times]
    over = ", ".join(f"{size:,}" for size in cases)
    yield Outcome("B21", f"distillation, growth over {over} entries", plan.engine, median(slopes), 1.2, unit="")


def judged(plan: Plan) -> Iterator[Outcome]:
    """Q2: the share of key facts that are kept, which must be more than any simpler way keeps."""
    case = case_file(min(LABELLED, plan.largest))
    given = sources(case)
    for percent in BUDGETS:
        budget = case.tokens * percent // 100
        found = keeping.kept(case, said(distillers.distil(given, budget)))
        others = keeping.baselines(case, budget)
        name = f"key facts kept at {percent}% of the tokens"
        beside = ", ".join(f"{way} {share:.2f}" for way, share in others.items())
        yield Outcome("Q2", f"{name} ({beside})", plan.engine, found.all.value, max(others.values()), True, unit="")
        for kind, share in sorted(found.by_kind.items()):
            yield Outcome("Q2", f"{name}, {kind} ({share.of})", plan.engine, share.value, None, unit="")
