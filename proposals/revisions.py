"""Revisions: added, read, and blanked by a forget; never changed otherwise. The only writer of their table."""

import json
from datetime import datetime

import rfc8785

from memory.host import registry
from memory.matching import FORGOTTEN
from proposals.artifacts import Sealed
from proposals.drafts import Texts
from proposals.models import Proposal, Revision

WRITER = "proposals.revisions"
BLANK = json.dumps({"forgotten": FORGOTTEN}, separators=(",", ":"))


def add(proposal: Proposal, sealed: Sealed, texts: Texts, *, by: str, now: datetime) -> Revision:
    """The revision with the proposal's current number is on record. The proposal is locked."""
    return Revision(
        tenant_id=proposal.tenant_id,
        proposal_id=proposal.id,
        number=proposal.revision,
        title=texts.title,
        rationale=texts.rationale,
        text=sealed.text,
        sha256=sealed.sha256,
        canonical_sha256=sealed.canonical_sha256,
        revised_by=by,
        note=texts.note,
        created_at=now,
    ).insert(by=WRITER)


def current(proposal: Proposal) -> Revision:
    """The revision that stands now."""
    return numbered(proposal, proposal.revision)


def numbered(proposal: Proposal, number: int) -> Revision:
    """The revision with this number; that it is there is the proposal's own promise."""
    found: Revision = Revision.objects.of(proposal.tenant_id).get(proposal_id=proposal.id, number=number)
    return found


def standing(proposal: Proposal) -> Revision:
    """The revision that stands now, with its proposal and tenant at hand, as a face writes them."""
    rows = Revision.objects.of(proposal.tenant_id).select_related("proposal__tenant")
    found: Revision = rows.get(proposal_id=proposal.id, number=proposal.revision)
    return found


def all_of(proposal: Proposal) -> list[Revision]:
    """Every revision, the newest first."""
    return list(Revision.objects.of(proposal.tenant_id).filter(proposal_id=proposal.id).order_by("-number"))


def blank(proposal: Proposal, *, now: datetime) -> None:
    """No word of any revision is left; who revised when stays, and each digest is again that of its text."""
    rows = Revision.objects.written_by(WRITER).filter(tenant_id=proposal.tenant_id, proposal_id=proposal.id)
    rows.update(
        title=FORGOTTEN,
        rationale=FORGOTTEN,
        note="",
        text=BLANK,
        sha256=registry.digest(BLANK),
        canonical_sha256=registry.digest(rfc8785.dumps(json.loads(BLANK)).decode()),
        forgotten_at=now,
    )
