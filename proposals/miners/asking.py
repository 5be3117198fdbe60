"""The corrections that people make again and again."""

from collections import Counter, defaultdict
from collections.abc import Iterable
from datetime import datetime

from proposals.miners import lines, sentences
from proposals.miners.lines import Line
from proposals.miners.traces import Correction, Evidence

HEADING = "Keep to what reviewers asked for:"
LEAST_RUNS = 3  # runs in which people asked for the same


def lines_of(corrections: Iterable[Correction]) -> list[Line]:
    """One line for all that ask for the same, where enough runs were asked. What was taken back later is not there."""
    said: dict[str, list[tuple[str, Correction]]] = defaultdict(list)
    for correction in corrections:
        if text := sentences.cleaned(correction.text):
            said[sentences.folded(text)].append((text, correction))
    stands, taken_back = sentences.groups_of({key: _last(each) for key, each in said.items()})
    groups: dict[str, list[tuple[str, Correction]]] = defaultdict(list)
    for key, each in said.items():
        groups[stands[key]] += each
    return [_line(each) for key, each in sorted(groups.items()) if key not in taken_back and _is_often(each)]


def _last(said: list[tuple[str, Correction]]) -> tuple[str, datetime]:
    return min(text for text, _ in said), max(each.at for _, each in said)


def _is_often(said: list[tuple[str, Correction]]) -> bool:
    return len({each.run_id for _, each in said}) >= LEAST_RUNS


def _line(said: list[tuple[str, Correction]]) -> Line:
    """In the form that was written most; known by how it was said first."""
    forms = Counter(text for text, _ in said)
    text = min(forms, key=lambda form: (-forms[form], form))
    _, key = min((each.at, sentences.folded(form)) for form, each in said)
    runs = lines.latest((each.run_id, each.at) for _, each in said)
    told = [(each.at, Evidence("interrupt", each.evidence_id, "correction")) for _, each in said]
    used = [(at, Evidence("run", run_id, "corrected")) for run_id, at in runs.items()]
    people = frozenset(each.by for _, each in said)
    return Line(HEADING, text, key, runs, (*lines.newest(told), *lines.newest(used)), people)
