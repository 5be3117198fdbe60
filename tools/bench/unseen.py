"""Q3 to Q8: what the memory makes of texts that the rules were not written for.

The texts that the project ships, and those of a folder of one's own when ``--texts`` names one.
"""

from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from functools import partial
from random import Random
from statistics import mean
from uuid import UUID

from django.utils import timezone

from memory import adapter, ledger
from memory.host import ids, tenancy
from memory.text import distillers, intentions, token_budget
from memory.text.distillers import Distilled, Source
from memory.text.distillers.sentences import split
from memory.text.search_words import sought
from memory.text.similarity import Statement, reconcile
from proposals.learning.miners import sentences
from tools.bench import ground
from tools.bench.outcomes import Outcome
from tools.bench.plan import Plan
from tools.bench.quality import keeping, texts
from tools.bench.quality.judging import Share
from tools.bench.quality.labels import Labelled
from tools.bench.quality.texts import CONTRARY, DIFFERENT, NEWER, SAME, Condition, Talk, Texts

REF = "bench/talk"
MERGED, REPLACED, LEFT = "merged", "replaced", "left"
WROTE = datetime(2026, 11, 22, 9, tzinfo=UTC)
FIRST, CONTEXT, PERCENT = 10, 2000, 25
PERCENTS = (50, 25, 10)
RANDOM_TIMES = 5


def _texts(plan: Plan) -> list[Texts]:
    return [texts.shipped(), *([texts.of_folder(plan.texts)] if plan.texts else [])]


def _statements(plan: Plan) -> list[Texts]:
    """Those that have pairs and sentences."""
    shipped, *others = _texts(plan)
    return [shipped, texts.held(), *others]


def _with_others(given: list[Texts]) -> list[Texts]:
    """With what other hands have written."""
    return [*given, *_halves(texts.second, texts.third)]


def _halves(*written: Callable[[str], Texts]) -> Iterator[Texts]:
    return (each(half) for each in written for half in ("read", "unread"))


def fate_of(older: str, newer: str) -> str:
    """What a pass would make of the two."""
    said = [
        Statement(UUID(int=number), text, WROTE + timedelta(hours=number)) for number, text in enumerate((older, newer))
    ]
    found = reconcile(said)
    if found.merges:
        return MERGED
    return REPLACED if found.superseded else LEFT


def reconciled(plan: Plan) -> Iterator[Outcome]:
    """Q3: pairs that mean the same, of which the newer replaces the older, and of which both have to stay."""
    for given in (*_with_others(_statements(plan)), *_halves(texts.fourth, texts.sixth)):
        found = {
            label: [fate_of(*each[1:]) for each in given.pairs if each.label == label]
            for label in (SAME, NEWER, DIFFERENT, CONTRARY)
        }
        wrong = sum(fate != LEFT for fate in found[DIFFERENT]) + sum(fate == MERGED for fate in found[CONTRARY])
        for what, label, fate in (
            ("of one meaning, merged", SAME, MERGED),
            ("with a newer value, replaced", NEWER, REPLACED),
        ):
            share = Share(found[label].count(fate), len(found[label]))
            yield _share("Q3", f"pairs {what}", given, plan, share, 0.55)
        kept = Share(wrong, len(found[DIFFERENT]) + len(found[CONTRARY]))
        yield _share("Q3", "pairs that differ, merged or replaced", given, plan, kept, 0.005, at_least=False)


def committed(plan: Plan) -> Iterator[Outcome]:
    """Q4: found sentences that are commitments; those in doubt do not count."""
    for given in _with_others(_statements(plan)):
        found = [each.commits for each in given.orders if intentions.found_in(each.text, zone="UTC", written_at=WROTE)]
        right, there = sum(found), sum(each.commits for each in given.orders)
        yield _share("Q4", "commitments, precision", given, plan, Share(right, len(found)), 0.95)
        yield _share("Q4", "commitments, recall", given, plan, Share(right, there), 0.75)


def fired(plan: Plan) -> Iterator[Outcome]:
    """Q5: conditions that are met, and that are not."""
    for given in (*_with_others(_texts(plan)), *_halves(texts.fifth, texts.sixth)):
        for wanted, what, goal in ((True, "met", 0.8), (False, "not met", 1 / 30)):
            said = [fires(each) for each in given.conditions if each.fires is wanted]
            share = Share(sum(said), len(said))
            yield _share("Q5", f"conditions {what} that fired", given, plan, share, goal, at_least=wanted)


def fires(condition: Condition) -> bool:
    """Whether what is said later is taken to say that the condition of the first is met."""
    for found in intentions.found_in(condition.text, zone="UTC", written_at=WROTE):
        speaks = found.words and intentions.may_speak(found.words, intentions.vocabulary(condition.later))
        holds = intentions.verdict(found.words, condition.later, own=found.own) if speaks else None
        if holds is not None and holds != found.negated:
            return True
    return False


def asked(plan: Plan) -> Iterator[Outcome]:
    """Q8: corrections that ask for the same in three phrasings, and others that are taken for it."""
    for given in _with_others(_texts(plan)[1:]):
        same, joined = Share(), Share()
        for *phrasings, other in given.asks:
            heads = _heads((*phrasings, other))
            same.count(len(set(_heads(phrasings))) == 1)
            joined.count(heads[-1] in heads[:-1])
        yield _share("Q8", "a correction in three phrasings, grouped", given, plan, same, None)
        yield _share("Q8", "another correction, grouped with it", given, plan, joined, None)


def _heads(corrections: Sequence[str]) -> list[str]:
    """The group of each of these."""
    keys = [sentences.folded(each) for each in corrections]
    said = {
        key: (text, WROTE + timedelta(hours=at)) for at, (key, text) in enumerate(zip(keys, corrections, strict=True))
    }
    stands, _ = sentences.groups_of(said, reworded=True)
    return [stands[key] for key in keys]


def searched(plan: Plan) -> Iterator[Outcome]:
    """Q6: what answers a question, among the first of a search and in what goes into a context: of a talk the share
    of the turns that a question needs, of notes whether there is one."""
    for given in _texts(plan):
        for name, talks, every, goal in (("a talk", given.talks, True, 0.6), ("notes", given.notes, False, 0.9)):
            found = [each for talk in talks for each in _answers(talk, every=every)]
            first, context = ([each[place] for each in found] for place in (0, 1))
            yield _mean("Q6", f"evidence in {name}, in the first {FIRST} of a search", given, plan, first, goal)
            wanted = f"evidence in {name}, inside {CONTEXT:,} tokens, or a quarter of less"
            yield _mean("Q6", wanted, given, plan, context, 0.77)


def _answers(talk: Talk, *, every: bool) -> Iterator[tuple[float, float]]:
    """For each question what the first of a search have, and what the context has."""
    owner = ground.tenant()
    entries = tuple(
        Labelled(ids.new_id(), text, WROTE + timedelta(minutes=number), (), 0, 0, "", "", False, None)
        for number, text in enumerate(talk.turns)
    )
    scope = ground.tell(ground.running_run(owner), REF, entries)
    while ledger.index.catch_up(owner.id, most=1000):
        pass
    reading = tenancy.host_scope(owner)
    budget = min(CONTEXT, sum(map(token_budget.count, talk.turns)) // 4)
    for question in talk.questions:
        best = adapter.fulltext.best_matches(reading, None, sought(question.text), limit=FIRST).positions
        wanted = adapter.runs.Injection(budget, adapter.runs.RELEVANCE, question.text)
        put_in = {each.id for each in adapter.runs.list_entries(scope, now=timezone.now(), wanted=wanted)}
        first = [place + 1 in best for place in question.places]
        context = [entries[place].id in put_in for place in question.places]
        yield (mean(first), mean(context)) if every else (any(first), any(context))


def distilled(plan: Plan) -> Iterator[Outcome]:
    """Q7: of the sentences that answer a question, those that stay when a talk is distilled to a quarter; and of short
    facts, beside a plain way to choose them."""
    ways: Sequence[tuple[str, Callable[[Talk], str], float]] = (
        ("targetTokens", partial(_distilled, by_target=True), 0.4),
        ("a tokenBudget", partial(_distilled, by_target=False), 0.2),
    )
    for given in _texts(plan):
        for name, way, goal in ways:
            kept, drawn = Share(), Share()
            for talk in given.talks:
                said, answering = way(talk), list(talk.answering())
                for sentence in answering:
                    kept.count(sentence in said)
                _count_drawn(talk, len(said), answering, drawn)
            what = f"sentences with an answer kept by {name} of {PERCENT} % (random turns {drawn.value:.2f})"
            yield _share("Q7", what, given, plan, kept, goal)

        for percent in PERCENTS if given.facts else ():
            ours, plain = Share(), Share()
            for talk in given.facts:
                _count_facts(talk, percent, ours, plain)
            what = f"short facts with an answer kept by targetTokens of {percent} % (greedy idf {plain.value:.2f})"
            yield _share("Q7", what, given, plan, ours, plain.value)


def _count_facts(talk: Talk, percent: int, ours: Share, plain: Share) -> None:
    """Whether each fact with an answer is kept whole, and whether greedy coverage of words keeps it at that length."""
    tokens = [token_budget.count(text) for text in talk.turns]
    found = _distillate(talk, 3 * sum(tokens), sum(tokens) * percent // 100)
    said = {sentence.text for section in found.sections for sentence in section.sentences}
    greedy = set(keeping.greedy(talk.turns, tokens, found.output_tokens))
    for question in talk.questions:
        for place in question.places:
            ours.count(said.issuperset(split(talk.turns[place])))
            plain.count(talk.turns[place] in greedy)


def _distillate(talk: Talk, budget: int, target: int | None) -> Distilled:
    given = [
        Source(
            str(number), text, at := WROTE + timedelta(minutes=number), token_budget.count(text), written_on=at.date()
        )
        for number, text in enumerate(talk.turns)
    ]
    return distillers.distil(given, budget, target=target)


def _distilled(talk: Talk, *, by_target: bool) -> str:
    tokens = sum(map(token_budget.count, talk.turns))
    target = tokens * PERCENT // 100
    found = _distillate(talk, 3 * tokens if by_target else target, target if by_target else None)
    return "\n".join(sentence.text for section in found.sections for sentence in section.sentences)


def _count_drawn(talk: Talk, length: int, answering: Sequence[str], drawn: Share) -> None:
    for seed in range(RANDOM_TIMES):
        taken = ""
        for turn in Random(seed).sample(talk.turns, len(talk.turns)):  # noqa: S311
            if len(taken) + len(turn) > length:
                break
            taken += f"\n{turn}"
        for sentence in answering:
            drawn.count(sentence in taken)


def _share(
    row: str, what: str, given: Texts, plan: Plan, share: Share, goal: float | None, *, at_least: bool = True
) -> Outcome:
    workload = f"{given.name}: {what} ({share.of:,})"
    if not share.of:
        return Outcome(row, workload, plan.engine, None, goal, at_least, unit="", note="no such texts")
    return Outcome(row, workload, plan.engine, share.value, goal, at_least, unit="")


def _mean(row: str, what: str, given: Texts, plan: Plan, found: Sequence[float], goal: float) -> Outcome:
    return _share(row, what, given, plan, Share(sum(found), len(found)), goal)
