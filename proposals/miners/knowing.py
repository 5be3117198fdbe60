"""The memories that are read for a prompt nearly every time it is used."""

from collections import defaultdict
from collections.abc import Collection, Iterable

from proposals.miners import lines, sentences
from proposals.miners.lines import Line
from proposals.miners.traces import Evidence, Reading

HEADING = "Known:"
LEAST_RUNS = 5  # runs that read the same memory
LEAST_SHARE = 0.8  # of the runs that used the prompt lately


def lines_of(readings: Iterable[Reading], lately: Collection[str]) -> list[Line]:
    """One line for each memory that enough of the runs ``lately`` have read, in the words it has now."""
    read: dict[str, list[Reading]] = defaultdict(list)
    for reading in readings:
        if reading.run_id in lately:
            read[reading.memory_id].append(reading)
    found = (_line(memory_id, each, len(lately)) for memory_id, each in sorted(read.items()))
    by_key = {line.key: line for line in found if line}
    return list(by_key.values())


def _line(memory_id: str, read: list[Reading], lately: int) -> Line | None:
    text = sentences.cleaned(max(read, key=lambda each: (each.at, each.content)).content)
    key = sentences.folded(text)
    same = [each for each in read if text and sentences.folded(sentences.cleaned(each.content)) == key]
    runs = lines.latest((each.run_id, each.at) for each in same)
    if len(runs) < max(LEAST_RUNS, LEAST_SHARE * lately):
        return None
    told = Evidence("memory", memory_id, "read-again")
    used = [(at, Evidence("run", run_id, "used-prompt")) for run_id, at in runs.items()]
    return Line(HEADING, text, key, runs, (told, *lines.newest(used)))
