"""What a proposal came from: its source runs, what its synthesis saw, and what it restates. Reads only.

What is cited may be gone by now; then it is named all the same, and opens nothing.
"""

from dataclasses import dataclass
from uuid import UUID

from memory.host import ids, registry
from memory.host.models import Interrupt, Run
from proposals.models import Proposal, Revision


@dataclass(frozen=True, slots=True)
class Source:
    """A run that the proposal names, and why, as far as that is known, in fixed words; ``run`` is None when this tenant
    has no such run any more."""

    run_id: str
    run: Run | None
    whys: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Citation:
    """One thing that led to the proposal, why in fixed words, and the wire id of what shows it ("" for nothing)."""

    kind: str
    id: str
    whys: tuple[str, ...]
    opens: str


@dataclass(frozen=True, slots=True)
class Duplicate:
    """What the proposal restates: its ref or id, its text, and the proposal that it is or came with, if any."""

    ref: str
    text: str
    proposal_id: UUID | None


def runs_of(proposal: Proposal) -> list[Source]:
    """The source runs, in the order in which they were named."""
    wanted = {each: ids.parse("run", each) for each in proposal.source_run_ids}
    known = {found for found in wanted.values() if found}
    runs = {run.id: run for run in Run.objects.of(proposal.tenant_id).filter(id__in=known)} if known else {}
    whys = _whys(proposal)
    return [Source(each, runs.get(found) if found else None, whys.get(each, ())) for each, found in wanted.items()]


def citations(proposal: Proposal) -> list[Citation]:
    """What the synthesis saw beside the source runs, each once and in its order; a question opens the run that asked
    it."""
    asked = [found for each in proposal.evidence if (found := ids.parse("int", each["id"]))]
    rows = Interrupt.objects.of(proposal.tenant_id).filter(id__in=asked).values_list("id", "run_id") if asked else []
    opens = {ids.wire("int", interrupt): ids.wire("run", run) for interrupt, run in rows}
    kinds = {each["id"]: each["kind"] for each in proposal.evidence if each["id"] not in proposal.source_run_ids}
    whys = _whys(proposal)
    return [
        Citation(kind, cited, whys[cited], opens.get(cited, "" if cited.startswith("int_") else cited))
        for cited, kind in kinds.items()
    ]


def _whys(proposal: Proposal) -> dict[str, tuple[str, ...]]:
    """Why each thing was cited, by its id; every word once."""
    found: dict[str, dict[str, None]] = {}
    for each in proposal.evidence:
        found.setdefault(each["id"], {})[each["why"]] = None
    return {cited: tuple(whys) for cited, whys in found.items()}


def duplicate_of(proposal: Proposal) -> Duplicate | None:
    """What the proposal restates, as it stands now; None when it restates nothing, or that is gone."""
    ref = proposal.duplicate_of or ""
    if other := ids.parse("prop", ref):
        rows = Revision.objects.of(proposal.tenant_id).filter(proposal_id=other).order_by("-number")
        standing: Revision | None = rows.first()
        return Duplicate(ref, standing.text, other) if standing else None
    installed = registry.by_ref(proposal.tenant_id, ref) if ref else None
    if installed is None:
        return None
    brought = Proposal.objects.of(proposal.tenant_id).filter(installed_ref=ref).order_by("-id")
    return Duplicate(ref, installed.text, brought.values_list("id", flat=True).first())
