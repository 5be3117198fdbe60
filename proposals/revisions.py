"""Revisions: added, read, and blanked by a forget, never changed otherwise. The only writer of their table."""

import json
from datetime import datetime

import rfc8785

from memory.host import audit, ids, registry
from memory.host.errors import Conflict
from memory.host.json_types import JSONObject
from memory.host.paging import Page, read_page
from memory.text.matching import FORGOTTEN
from proposals import diffs, fingerprints
from proposals.artifacts import Sealed
from proposals.drafts import Texts
from proposals.models import Gate, Proposal, Revision

WRITER = "proposals.revisions"
BLANK = json.dumps({"forgotten": FORGOTTEN}, separators=(",", ":"))


def add(proposal: Proposal, sealed: Sealed, texts: Texts, *, against: str = "", by: str, now: datetime) -> Revision:
    """Store the revision with the proposal's current number and the size of its change against the text ``against``.

    The caller holds the lock of the proposal.
    """
    added, removed = diffs.size_of_change(against, sealed.text)
    return Revision(
        tenant_id=proposal.tenant_id,
        proposal_id=proposal.id,
        number=proposal.revision,
        title=texts.title,
        rationale=texts.rationale,
        text=sealed.text,
        sha256=sealed.sha256,
        canonical_sha256=sealed.canonical_sha256,
        structure=fingerprints.structure_of(sealed.text),
        lines_added=added,
        lines_removed=removed,
        revised_by=by,
        note=texts.note,
        created_at=now,
    ).insert(by=WRITER)


def require_current(revision: Revision, expected: int | None) -> None:
    """Refuse a request about another revision number than the current one; None skips the check."""
    if expected not in (None, revision.number):
        raise Conflict(
            f"Revision {revision.number} is the current one; look at it first.",
            revision=revision.number,
            sha256=revision.sha256,
        )


def current(proposal: Proposal) -> Revision:
    """The current revision."""
    return get_by_number(proposal, proposal.revision)


def get_by_number(proposal: Proposal, number: int) -> Revision:
    """The revision with this number, which must exist."""
    found: Revision = Revision.objects.of(proposal.tenant_id).get(proposal_id=proposal.id, number=number)
    return found


def current_with_tenant(proposal: Proposal) -> Revision:
    """The current revision with its proposal and tenant loaded, for a serializer."""
    rows = Revision.objects.of(proposal.tenant_id).select_related("proposal__tenant")
    found: Revision = rows.get(proposal_id=proposal.id, number=proposal.revision)
    return found


def list_all(proposal: Proposal) -> list[Revision]:
    """Every revision, newest first."""
    return list(Revision.objects.of(proposal.tenant_id).filter(proposal_id=proposal.id).order_by("-number"))


def page(proposal: Proposal, *, before: int | None = None, limit: int) -> Page[Revision]:
    """The newest ``limit`` revisions before the number ``before``."""
    made = Revision.objects.of(proposal.tenant_id).filter(proposal_id=proposal.id)
    return read_page(made, before, limit, order="-number")


def blank(proposal: Proposal, *, installed: int | None = None, now: datetime) -> None:
    """Blank every text of the revisions except the artifact of the ``installed`` one.

    Authors and times stay; the digests become those of the blanked text.
    """
    rows = Revision.objects.written_by(WRITER).filter(tenant_id=proposal.tenant_id, proposal_id=proposal.id)
    rows.update(title=FORGOTTEN, rationale=FORGOTTEN, note="")
    rows.exclude(number=installed or 0).update(
        text=BLANK,
        structure="",
        sha256=registry.digest(BLANK),
        canonical_sha256=registry.digest(rfc8785.dumps(json.loads(BLANK)).decode()),
        forgotten_at=now,
    )


# Audit records of a proposal: one per step, with ids and digests, never its texts.


def audit_step(proposal: Proposal, action: str, *, by: str, now: datetime, **details: object) -> None:
    """Audit a step in the caller's transaction. Call it last: it locks the audit chain of the whole tenant."""
    target = ids.wire("prop", proposal.id)
    audit.append(proposal.tenant_id, actor=by, action=f"proposal.{action}", target=target, details=details, now=now)


def gate_details(gate: Gate) -> JSONObject:
    """The details of a gate for an audit record."""
    return {
        "approvalId": ids.wire("gate", gate.id),
        "runId": ids.wire("run", gate.run_id),
        "nodeId": gate.node_id,
        "revision": gate.revision,
        "sha256": gate.sha256,
        "quorum": gate.quorum,
    }
