"""What people told runs to change, and what runs read of memory, behind and before the prompts that they used.

Somebody's text is read here and nowhere else in the synthesis. A memory whose entry is retired, expired or gone is not
learnt from, and neither is an answer that was forgotten or given by a program.
"""

from collections.abc import Collection, Iterable, Iterator
from datetime import datetime
from typing import Any
from uuid import UUID

from memory import adapter, kept_reads
from memory.host import ids, interrupts
from memory.host.models import Interrupt, Tenant
from memory.host.tenancy import host_scope
from proposals.miners.traces import Correction, Reading
from proposals.synthesis.executed import Executed, parts
from proposals.synthesis.learnable import Sieve

APPROVAL, CLARIFICATION = "approval", "clarification"
ASKS_FOR_CHANGES = frozenset({"refine", "edit-accept", "reject"})
IN_WORDS = ("text", "feedback", "reason", "comment", "message", "instructions")
LIVE = "live"


def corrections_of(
    tenant_id: UUID, found: Iterable[Executed], sieve: Sieve, programs: Collection[str]
) -> list[Correction]:
    """What people asked to be changed at nodes behind a prompt, the oldest first; once, however often it was forked.

    ``programs`` are the keys of agents, with which nobody answers but a program.
    """
    using = {each.run.id: each for each in found if each.prompts}
    said = [
        correction
        for row in _answered(tenant_id, using)
        for correction in _corrections_in(row, using[row.run_id], programs)
        if sieve.passes(correction.text)
    ]
    return sorted(said, key=lambda each: (each.at, each.evidence_id))


def _corrections_in(row: Interrupt, executed: Executed, programs: Collection[str]) -> list[Correction]:
    """What one answer says, when a person gave it behind a prompt."""
    value: Any = row.resume_value
    by, prompt = _person(value, programs), executed.prompt_before(row.node_id)
    if not by or not prompt or row.resolved_at is None:
        return []
    known_by = ids.wire("int", row.id)
    return [
        Correction(executed.run_id, row.node_id, prompt, text, by, row.resolved_at, known_by)
        for text in _words_of(row.kind, value)
    ]


def _answered(tenant_id: UUID, using: dict[UUID, Executed]) -> Iterator[Interrupt]:
    """The plain questions of these runs that were answered; a branch has no prompt before what it took over."""
    for part in parts(using):
        rows = Interrupt.objects.of(tenant_id).filter(run_id__in=part, kind__in=(APPROVAL, CLARIFICATION))
        rows = rows.filter(policy__plain=True, outcome=interrupts.ANSWERED, resume_value__isnull=False)
        yield from rows.defer("data").order_by("id")


def _person(value: Any, programs: Collection[str]) -> str:
    """Who gave the answer; "" for a program, for nobody in particular, and for the voice of several."""
    by = str(value.get("decidedBy", "")) if isinstance(value, dict) else ""
    known = by.partition("_")[0] in ("usr", "key")
    return by if known and by not in programs else ""


def _words_of(kind: str, value: dict[str, Any]) -> list[str]:
    """What the answer says in words."""
    if kind == CLARIFICATION:
        return _texts(value.get("answers", {}))
    if value.get("action") not in ASKS_FOR_CHANGES:
        return []
    feedback = value.get("refineFeedback")
    return [*_texts(_named(feedback)), *_texts(_named(value))]


def _named(value: Any) -> dict[str, Any]:
    return {name: value[name] for name in IN_WORDS if name in value} if isinstance(value, dict) else {}


def _texts(values: Any) -> list[str]:
    given = values.values() if isinstance(values, dict) else ()
    return [text.strip() for text in given if isinstance(text, str) and text.strip()]


def readings_of(tenant_id: UUID, found: Iterable[Executed], sieve: Sieve, *, now: datetime) -> list[Reading]:
    """The memories that these runs read on the way to a prompt, the oldest first; each once a run and prompt."""
    using = {each.run.id: each for each in found if each.prompts and not each.is_fork}
    seen: dict[tuple[str, str, str], Reading] = {}
    for run_id, node_id, document in kept_reads.of_runs(tenant_id, using):
        executed = using[run_id]
        for prompt, at in executed.prompts:
            if executed.workflow.leads(node_id, at) and sieve.passes(document["content"]):
                reading = _reading(executed, prompt, document)
                seen.setdefault((reading.run_id, prompt, reading.memory_id), reading)
    there = _live(tenant_id, {each.memory_id for each in seen.values()}, now)
    return sorted((each for each in seen.values() if each.memory_id in there), key=lambda each: (each.at, each.run_id))


def _reading(executed: Executed, prompt: str, document: dict[str, Any]) -> Reading:
    return Reading(executed.run_id, prompt, document["id"], document["content"], executed.run.created_at)


def _live(tenant_id: UUID, memory_ids: set[str], now: datetime) -> set[str]:
    """Those of these memories that can be read now."""
    wanted = {known: memory_id for memory_id in memory_ids if (known := ids.parse("mem", memory_id))}
    scope = host_scope(Tenant.objects.get(id=tenant_id)) if wanted else None
    states = adapter.states_of(scope, sorted(wanted), now=now) if scope else {}
    return {wanted[row] for row, state in states.items() if state == LIVE}
