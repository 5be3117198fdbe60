"""Origins: what an external agent states about a write of its own: system, run, thread, node.

It is a statement and no observation: this host has seen none of it. Loaded with the models, so it does without DRF; its
request fields are in ``wire``.
"""

import unicodedata
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields, replace

from memory.host import trace_context
from memory.host.errors import Invalid
from memory.host.json_types import JSONObject

MAX_TEXT = 128
MAX_SOURCES = 32
LARGEST_STEP = 2**53 - 1
NO_TEXT = f"must be a text of 1 to {MAX_TEXT} characters, one of them visible, without control characters"
TEXTS = ("system", "runId", "threadId", "checkpointId", "node", "taskId")
STEP, TRACE, SOURCES = "step", trace_context.HEADER, "sourceIds"
MEMBERS = (*TEXTS[:-1], STEP, TRACE, SOURCES, "taskId")  # in the order of the fields of ``Origin``
REST = ("checkpointId", "taskId", STEP, TRACE, SOURCES)


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a write came from, in the agent's own words. ``task_id`` is one execution of the node: several may run in
    one step. ``step`` is as it was sent: a number or a text, or None."""

    system: str
    run_ref: str = ""
    thread_id: str = ""
    checkpoint_id: str = ""
    node: str = ""
    step: int | str | None = None
    traceparent: str = ""
    source_ids: tuple[str, ...] = ()
    task_id: str = ""

    @property
    def document(self) -> JSONObject:
        """The origin as it was given, without what was not said."""
        values = (getattr(self, each.name) for each in fields(self))
        said = {name: value for name, value in zip(MEMBERS, values, strict=True) if value not in ("", None, ())}
        return {**said, SOURCES: list(self.source_ids)} if self.source_ids else said

    @property
    def rest(self) -> JSONObject:
        """The part of the document that no list filters by."""
        return {name: value for name, value in self.document.items() if name in REST}

    def within(self, traceparent: str) -> "Origin":
        """The same as part of this trace, unless it names one itself."""
        return self if self.traceparent else replace(self, traceparent=traceparent)

    def with_texts(self, change: Callable[[str], str]) -> "Origin":
        """The same with every text changed."""
        values = {each.name: getattr(self, each.name) for each in fields(self)}
        texts = {name: change(value) for name, value in values.items() if value and isinstance(value, str)}
        return replace(self, **texts, source_ids=tuple(map(change, self.source_ids)))


def parse(said: object) -> Origin:
    """The origin in a document; refuses one that is none, naming every field as ``origin.node``."""
    found = dict(problems(said))
    if found or not isinstance(said, dict):
        errors = [{"field": f"origin.{name}" if name else "origin", "message": found[name]} for name in sorted(found)]
        raise Invalid("The origin of the memory entry is not valid.", errors=errors)
    return of_document(said)


def of_document(said: JSONObject) -> Origin:
    """The origin in a document that has no problems."""
    system, run_ref, thread_id, checkpoint_id, node, task_id = (str(said.get(name, "")) for name in TEXTS)
    trace, sources = str(said.get(TRACE, "")), tuple(said.get(SOURCES, ()))
    return Origin(system, run_ref, thread_id, checkpoint_id, node, said.get(STEP), trace, sources, task_id)


def problems(said: object) -> Iterator[tuple[str, str]]:
    """What is wrong with each member of the document; the empty name is the document itself."""
    if not isinstance(said, dict):
        yield "", "must be a JSON object"
        return
    for name in sorted(set(said) - set(MEMBERS)):
        yield str(name)[:100], "is not a field of an origin"
    if "system" not in said:
        yield "system", "is required"
    for name in TEXTS:
        if name in said and not is_text(said[name]):
            yield name, NO_TEXT
    if STEP in said and not _is_step(said[STEP]):
        yield STEP, f"must be a whole number, or {NO_TEXT.removeprefix('must be ')}"
    if TRACE in said and not trace_context.is_traceparent(said[TRACE]):
        yield TRACE, "must be a traceparent of W3C Trace Context"
    sources = said.get(SOURCES, [])
    if not (isinstance(sources, list) and len(sources) <= MAX_SOURCES and all(map(is_text, sources))):
        yield SOURCES, f"must be a list of at most {MAX_SOURCES} texts of 1 to {MAX_TEXT} characters"


def is_text(value: object) -> bool:
    """Whether that can be one of the texts of an origin."""
    if not isinstance(value, str) or not 0 < len(value) <= MAX_TEXT:
        return False
    kinds = {unicodedata.category(each) for each in value}
    return kinds.isdisjoint({"Cc", "Cs"}) and any(kind[0] not in "CZ" for kind in kinds)


def require_fitting(origin: Origin) -> None:
    """Refuse texts that the mark of a short secret has made too long to be stored."""
    document = origin.document
    long = [name for name in MEMBERS if any(len(text) > MAX_TEXT for text in _texts_of(document.get(name)))]
    if long:
        message = f"is longer than {MAX_TEXT} characters once its secrets are replaced"
        errors = [{"field": f"origin.{name}", "message": message} for name in long]
        raise Invalid("The origin of the memory entry cannot be stored.", errors=errors)


def _texts_of(value: object) -> list[str]:
    return [value] if isinstance(value, str) else value if isinstance(value, list) else []


def _is_step(value: object) -> bool:
    if isinstance(value, int) and not isinstance(value, bool):
        return abs(value) <= LARGEST_STEP
    return is_text(value)
