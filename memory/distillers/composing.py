"""A selection as an archive says it: with topics where there is room for them, and never beyond its budget. Pure."""

from collections.abc import Sequence
from dataclasses import replace

from memory import token_budget
from memory.distillers import rendering
from memory.distillers.filling import select
from memory.distillers.ranking import Step, ranked
from memory.distillers.selection import MAX_TEXT_BYTES, Choice, Selection
from memory.distillers.sentences import split
from memory.distillers.sources import Distilled, Kept, NothingToKeep, Section, Source
from memory.distillers.words import may_head

MAX_TOPIC = 40


def distil(sources: Sequence[Source], budget: int, *, step: Step | None = None) -> Distilled:
    """What is worth keeping of ``sources``, in whatever order given, within ``budget`` tokens of input and output.

    Raises ``BudgetTooSmall`` when nothing meaningful fits, and ``NothingToKeep`` when there is nothing, or nothing
    short enough. ``step`` is told now and then how many of how many sources have been read.
    """
    found = ranked(sorted(sources, key=lambda source: (source.said_at, source.id)), step)
    selection = select(found, budget)
    while True:
        made = _composed(selection)
        if _fits(made, budget):
            return made
        selection.undo()


def told(plan: Distilled, answer: str, budget: int) -> Distilled:
    """What an endpoint said of the sources of ``plan``: as many of its sentences, whole, as the budget has room for.

    They come from all the sources together. Raises ``NothingToKeep`` when none fits.
    """
    title = rendering.title(len(plan.covered), plan.corpus_count)
    left = budget - plan.input_tokens - token_budget.count(title)
    room = MAX_TEXT_BYTES - len(title)
    kept: list[Kept] = []
    for sentence in dict.fromkeys(split(answer)):
        line = rendering.item(sentence)
        tokens, size = token_budget.count(line), len(line.encode())
        if tokens <= left and size <= room:
            left, room = left - tokens, room - size
            kept.append(Kept(sentence, ()))
    while kept:
        made = _retold(plan, kept)
        if _fits(made, budget):
            return made
        kept.pop()
    raise NothingToKeep("the endpoint answered with no sentence that fits")


def _fits(made: Distilled, budget: int) -> bool:
    return made.tokens_used <= budget and len(made.text.encode()) <= MAX_TEXT_BYTES


def _retold(plan: Distilled, kept: list[Kept]) -> Distilled:
    sections = (Section("", tuple(kept)),)
    text = rendering.text_of(sections, covered=len(plan.covered), corpus=plan.corpus_count)
    return replace(plan, sections=sections, text=text, output_tokens=token_budget.count(text))


def _composed(selection: Selection) -> Distilled:
    """With as many topics as there is room for: all, or none."""
    plain = _with_topics(selection, [""] * len(selection.chosen))
    topics = rendering.topics_of([_about(selection, choice) for choice in selection.chosen])
    headed = _with_topics(selection, topics)
    return headed if _fits(headed, selection.budget) else plain


def _with_topics(selection: Selection, topics: list[str]) -> Distilled:
    sources = selection.ranked.sources
    kept = [_kept(selection, choice) for choice in selection.chosen]
    sections = rendering.sections_of(kept, topics)
    text = rendering.text_of(sections, covered=len(selection.covered), corpus=len(sources))
    return Distilled(
        sections,
        tuple(sources[number].id for number in sorted(selection.covered)),
        len(sources),
        sum(sources[number].tokens for number in selection.covered),
        token_budget.count(text),
        text,
    )


def _kept(selection: Selection, choice: Choice) -> Kept:
    sources, saying = selection.ranked.sources, selection.ranked.sayings[choice.number]
    verbatim = [number for number in saying.texts[choice.text] if number in selection.covered]
    others = sorted(selection.covered.intersection(saying.speakers).difference(verbatim))
    return Kept(choice.text, tuple(sources[n].id for n in verbatim), tuple(sources[n].id for n in others))


def _about(selection: Selection, choice: Choice) -> list[tuple[str, float]]:
    """What a topic may be made of: the telling words of the sentence, and the tags of where it stands."""
    found = selection.ranked
    terms = ((found.names[term], found.gains[term] ** 2) for term in found.sayings[choice.number].terms)
    words = {term: gain for term, gain in terms if may_head(term)}
    tags = {tag: found.tag_gains[tag] ** 2 for tag in found.sources[choice.source].tags if _may_head(tag)}
    return list((words | tags).items())


def _may_head(tag: str) -> bool:
    return 0 < len(tag.strip()) == len(tag) <= MAX_TOPIC and tag.isprintable()
