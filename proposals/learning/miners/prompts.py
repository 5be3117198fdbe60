"""Mines repeated corrections and repeatedly read memories of a prompt, and revises its template.

The text gains a short section for each, with the sentences as they were written; nothing is removed. Only corrections
and reads since the current version was installed count.
"""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import islice
from typing import Any

from memory.host.json_types import JSONObject
from proposals.learning.miners import evidence, sentences
from proposals.learning.miners.evidence import (
    MOST_NAMED,
    canonical,
    counted_noun,
    fits,
    named_in_part,
    pattern,
    period,
    shown_name,
    zone_of,
)
from proposals.learning.miners.traces import Correction, Evidence, Finding, InstalledPrompt, Reading, RunTrace, Traces

ASKED_HEADING = "Keep to what reviewers asked for:"
ASKED_RUNS = 3  # runs in which people requested the same
READ_HEADING = "Known:"
READ_RUNS = 5  # runs that read the same memory
LEAST_SHARE = 0.8  # of the runs that used the prompt within LATELY
KIND = "prompt-template"
LATELY = timedelta(days=30)
MOST_LINES = 6  # sentences that one revision adds to a section; those seen in the most runs
LONGEST_TEXT = 65_536


# A sentence to add to a prompt, with its evidence.


@dataclass(frozen=True, slots=True)
class Line:
    """A sentence for a section of a prompt. ``key`` identifies it across wordings; ``runs`` maps its source runs to the
    last time it was seen there; ``people`` are the principals who said it."""

    heading: str
    text: str
    key: str
    runs: dict[str, datetime]
    evidence: tuple[Evidence, ...]
    people: frozenset[str] = frozenset()


def latest(moments: Iterable[tuple[str, datetime]]) -> dict[str, datetime]:
    """By run: the last of its moments, in chronological order."""
    return dict(sorted(moments, key=lambda each: (each[1], each[0])))


def newest(dated: Iterable[tuple[datetime, Evidence]]) -> tuple[Evidence, ...]:
    """The newest ``MOST_NAMED`` pieces of evidence, oldest first."""
    ordered = sorted(dated, key=lambda each: (each[0], each[1].kind, each[1].id))
    return tuple(evidence for _, evidence in ordered[-MOST_NAMED:])


# Corrections that people repeat.


def asked_lines(corrections: Iterable[Correction]) -> list[Line]:
    """One line per group of equal requests that at least ``ASKED_RUNS`` runs got, without those reversed later."""
    said: dict[str, list[tuple[str, Correction]]] = defaultdict(list)
    for correction in corrections:
        if text := sentences.cleaned(correction.text):
            said[sentences.folded(text)].append((text, correction))
    stands, taken_back = sentences.groups_of({key: _last(each) for key, each in said.items()}, reworded=True)
    groups: dict[str, list[tuple[str, Correction]]] = defaultdict(list)
    for key, each in said.items():
        groups[stands[key]] += each
    return [_asked_line(each) for key, each in sorted(groups.items()) if key not in taken_back and _is_often(each)]


def _last(said: list[tuple[str, Correction]]) -> tuple[str, datetime]:
    return min(text for text, _ in said), max(each.at for _, each in said)


def _is_often(said: list[tuple[str, Correction]]) -> bool:
    return len({each.run_id for _, each in said}) >= ASKED_RUNS


def _asked_line(said: list[tuple[str, Correction]]) -> Line:
    """The line of one group: the text is its most frequent form, the key is its first one."""
    forms = Counter(text for text, _ in said)
    text = min(forms, key=lambda form: (-forms[form], form))
    _, key = min((each.at, sentences.folded(form)) for form, each in said)
    runs = latest((each.run_id, each.at) for _, each in said)
    corrections = [(each.at, Evidence("interrupt", each.evidence_id, "correction")) for _, each in said]
    used = [(at, Evidence("run", run_id, "corrected")) for run_id, at in runs.items()]
    people = frozenset(each.by for _, each in said)
    return Line(ASKED_HEADING, text, key, runs, (*newest(corrections), *newest(used)), people)


# Memories that are read in nearly every run that uses a prompt.


def read_lines(readings: Iterable[Reading], lately: Collection[str]) -> list[Line]:
    """One line for each memory that enough of the runs ``lately`` have read, in its newest wording."""
    read: dict[str, list[Reading]] = defaultdict(list)
    for reading in readings:
        if reading.run_id in lately:
            read[reading.memory_id].append(reading)
    found = (_read_line(memory_id, each, len(lately)) for memory_id, each in sorted(read.items()))
    by_key = {line.key: line for line in found if line}
    return list(by_key.values())


def _read_line(memory_id: str, read: list[Reading], lately: int) -> Line | None:
    text = sentences.cleaned(max(read, key=lambda each: (each.at, each.content)).content)
    key = sentences.folded(text)
    same = [each for each in read if text and sentences.folded(sentences.cleaned(each.content)) == key]
    runs = latest((each.run_id, each.at) for each in same)
    if len(runs) < max(READ_RUNS, LEAST_SHARE * lately):
        return None
    read_again = Evidence("memory", memory_id, "read-again")
    used = [(at, Evidence("run", run_id, "used-prompt")) for run_id, at in runs.items()]
    return Line(READ_HEADING, text, key, runs, (read_again, *newest(used)))


def find(traces: Traces, *, now: datetime) -> list[Finding]:
    """One finding for each template with a new line."""
    corrections, readings = _by_prompt(traces.corrections), _by_prompt(traces.readings)
    used = _runs_by_prompt(traces.runs)
    found = []
    for name, installed in sorted(_current(traces.prompts).items()):
        since = installed.installed_at
        lately = {run.run_id for run in used[name] if max(since, now - LATELY) <= run.created_at <= now}
        asked = asked_lines(each for each in corrections[name] if since <= each.at <= now)
        known = read_lines((each for each in readings[name] if since <= each.at <= now), lately)
        revised = _Revision(installed, asked, known)
        found += [_finding(revised, traces, len(lately))] if revised.lines and revised.version else []
    return found


def _by_prompt(rows: Iterable[Any]) -> dict[str, list[Any]]:
    found: dict[str, list[object]] = defaultdict(list)
    for row in rows:
        found[row.prompt].append(row)
    return found


def _runs_by_prompt(runs: Iterable[RunTrace]) -> dict[str, list[RunTrace]]:
    found: dict[str, list[RunTrace]] = defaultdict(list)
    for run in runs:
        for name in {name for name, _ in run.prompts}:
            found[name].append(run)
    return found


def _current(prompts: Iterable[InstalledPrompt]) -> dict[str, InstalledPrompt]:
    """The installed templates by name; of several with one name the latest."""
    ordered = sorted(prompts, key=lambda each: (each.installed_at, canonical(dict(each.document))))
    return {str(each.document.get("templateId", "")): each for each in ordered}


class _Revision:
    """The installed template with the lines that its text does not say yet, as many as fit."""

    def __init__(self, installed: InstalledPrompt, *sections: Sequence[Line]) -> None:
        self.base = dict(installed.document)
        self.version = evidence.next_minor(str(self.base.get("version", "")), installed.taken)
        self.document: JSONObject = {**self.base, "version": self.version}
        self.lines: list[Line] = []
        text = str(self.base.get("text", ""))
        there, parts = sentences.folded(text), sentences.parts_of(text)
        for section in sections:
            ordered = sorted(section, key=lambda line: (-len(line.runs), line.key))
            fresh = (line for line in ordered if not sentences.says(there, parts, line.text))
            for line in islice(fresh, MOST_LINES):
                self._add(line)

    def _add(self, line: Line) -> None:
        text = extended(str(self.document.get("text", "")), line.heading, sentences.escaped(line.text))
        longer = {**self.document, "text": text}
        if len(text) <= LONGEST_TEXT and fits(longer):
            self.document = longer
            self.lines.append(line)


def extended(text: str, heading: str, sentence: str) -> str:
    """``text`` with the sentence as the last item below the last such heading, which is added if missing.

    The existing text is unchanged.
    """
    rows = text.split("\n")
    places = [at for at, row in enumerate(rows) if row.strip() == heading]
    if not places:
        gap = "" if not text or text.endswith("\n\n") else "\n" if text.endswith("\n") else "\n\n"
        return f"{text}{gap}{heading}\n- {sentence}"
    at = places[-1] + 1
    while at < len(rows) and rows[at].startswith("- "):
        at += 1
    return "\n".join([*rows[:at], f"- {sentence}", *rows[at:]])


def _finding(revised: _Revision, traces: Traces, lately: int) -> Finding:
    name, base = str(revised.base["templateId"]), str(revised.base["version"])
    runs = {run_id: at for line in revised.lines for run_id, at in line.runs.items()}
    named = [run_id for _, run_id in sorted((at, run_id) for run_id, at in runs.items())][-MOST_NAMED:]
    evidence = sorted({each for line in revised.lines for each in line.evidence}, key=_place)
    return Finding(
        kind=KIND,
        title=f"Add {counted_noun(len(revised.lines), 'sentence')} to prompt {shown_name(name)} ({revised.version})",
        rationale=_rationale(revised, runs, lately, traces.timezone),
        artifact=revised.document,
        pattern=pattern(KIND, name, sorted([line.heading, line.key] for line in revised.lines), base),
        source_run_ids=tuple(named),
        evidence=tuple(each for each in evidence if each.kind != "run" or each.id in named),
        people=_people(revised),
    )


def _people(revised: _Revision) -> tuple[str, ...]:
    return tuple(sorted({person for line in revised.lines for person in line.people}))


def _place(each: Evidence) -> tuple[str, str, str]:
    return each.kind, each.id, each.why


def _rationale(revised: _Revision, runs: dict[str, datetime], lately: int, timezone: str) -> str:
    asked = [len(line.runs) for line in revised.lines if line.heading == ASKED_HEADING]
    known = [len(line.runs) for line in revised.lines if line.heading == READ_HEADING]
    name, base = shown_name(str(revised.base["templateId"])), shown_name(str(revised.base["version"]))
    said = []
    if asked:
        times = ", ".join(map(str, asked))
        people = counted_noun(len(_people(revised)), "person", "people")
        corrections = counted_noun(len(asked), "correction")
        said.append(f"{people} made {corrections} again and again (runs of each: {times}).")
    if known:
        times = f"{min(known)} or more of the {counted_noun(lately, 'run')} that used the prompt lately"
        said.append(f"{counted_noun(len(known), 'memory was', 'memories were')} read in {times}.")
    when = period(runs.values(), zone_of(timezone))
    return f"Seen with the prompt {name} {base} {when}. {' '.join(said)}{named_in_part(len(runs))}"
