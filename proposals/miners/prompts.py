"""What people keep asking of a prompt, and what is read for it every time, becomes a revision of its template.

The text gets a short section for each, with the sentences as they were said; nothing of it is taken away. Counted is
what was said and read since the template was installed as it is.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from itertools import islice
from typing import Any

from proposals.miners import asking, evidence, knowing, sentences
from proposals.miners.evidence import (
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
from proposals.miners.lines import Line
from proposals.miners.traces import Evidence, Finding, InstalledPrompt, RunTrace, Traces

KIND = "prompt-template"
LATELY = timedelta(days=30)
MOST_LINES = 6  # sentences that one revision adds to a section; those with the most runs behind them
LONGEST_TEXT = 65_536

Document = dict[str, Any]


def find(traces: Traces, *, now: datetime) -> list[Finding]:
    """One revision for each template of which something was learnt."""
    corrections, readings = _by_prompt(traces.corrections), _by_prompt(traces.readings)
    used = _runs_by_prompt(traces.runs)
    found = []
    for name, installed in sorted(_current(traces.prompts).items()):
        since = installed.installed_at
        lately = {run.run_id for run in used[name] if max(since, now - LATELY) <= run.created_at <= now}
        asked = asking.lines_of(each for each in corrections[name] if since <= each.at <= now)
        known = knowing.lines_of((each for each in readings[name] if since <= each.at <= now), lately)
        revised = _Revision(installed, asked, known)
        found += [_finding(revised, traces, len(lately))] if revised.lines and revised.version else []
    return found


def _by_prompt(rows: Iterable[Any]) -> dict[str, list[Any]]:
    found: dict[str, list[Any]] = defaultdict(list)
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
    """The one that is installed, by its name; of several the last."""
    ordered = sorted(prompts, key=lambda each: (each.installed_at, canonical(dict(each.document))))
    return {str(each.document.get("templateId", "")): each for each in ordered}


class _Revision:
    """The installed template with the lines that it has not got yet, as many as there is room for."""

    def __init__(self, installed: InstalledPrompt, *sections: Sequence[Line]) -> None:
        self.base = dict(installed.document)
        self.version = evidence.next_minor(str(self.base.get("version", "")), installed.taken)
        self.document: Document = {**self.base, "version": self.version}
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
    """``text`` with the sentence as the last item below the last such heading, which is added where there is none.

    The text before it stays as it is, letter for letter.
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
        title=f"Prompt {shown_name(name)} {revised.version}: {counted_noun(len(revised.lines), 'sentence')} more",
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
    asked = [len(line.runs) for line in revised.lines if line.heading == asking.HEADING]
    known = [len(line.runs) for line in revised.lines if line.heading == knowing.HEADING]
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
