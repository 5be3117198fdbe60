"""The wire forms of proposals; camelCase stops here. The Proposal is closed: what reviewers know stands elsewhere."""

import json
from typing import Any

from rest_framework import serializers

from memory.host import ids
from memory.host.http import After, Closed
from memory.host.json_types import JSONObject
from memory.host.models import Installation
from memory.host.paging import Page, cursor
from memory.wire import instant
from proposals.api.bodies import ArtifactField
from proposals.drafts import Change, ProposalDraft
from proposals.inbox import InboxFilter
from proposals.lifecycle import Activation
from proposals.models import Gate, Proposal, Revision, State, Vote
from proposals.review import Ballot

DEFAULT_LIMIT, DEFAULT_REVISIONS = 100, 20


class Text(serializers.CharField):
    """A JSON string; a number or a boolean is none."""

    def to_internal_value(self, data: object) -> str:
        if not isinstance(data, str):
            raise serializers.ValidationError("must be a string")
        return str(super().to_internal_value(data))


def words(**options: Any) -> Text:
    """A text that may be left out and may be empty; how long it may be is for the domain to say."""
    return Text(required=False, allow_blank=True, trim_whitespace=False, **options)


class ListQuery(Closed):
    """Any word may be asked for; one that is no state or kind matches nothing."""

    state = words(max_length=64)
    kind = words(max_length=64)
    limit = serializers.IntegerField(required=False, min_value=1, max_value=200)
    after = After("prop")

    def wanted(self) -> InboxFilter:
        states, kinds = ((word,) if (word := self.validated_data.get(name, "")) else () for name in ("state", "kind"))
        return InboxFilter(states=states, kinds=kinds)

    def part(self) -> JSONObject:
        """Which part of the list."""
        return {"after": self.validated_data.get("after"), "limit": self.validated_data.get("limit", DEFAULT_LIMIT)}


class RevisionsQuery(Closed):
    """The newest first; ``before`` is the number of a revision."""

    limit = serializers.IntegerField(required=False, min_value=1, max_value=50)
    before = serializers.IntegerField(required=False, min_value=1, max_value=2**31 - 1)

    def part(self) -> JSONObject:
        given = self.validated_data
        return {"before": given.get("before"), "limit": given.get("limit", DEFAULT_REVISIONS)}


class CreateProposal(Closed):
    """The body of ``POST /v1/host/console/proposals``."""

    kind = Text(max_length=64)
    artifact = ArtifactField()
    title = words()
    rationale = words()
    sourceRunIds = serializers.ListField(child=Text(max_length=128), required=False, max_length=100)
    synthesizerModel = words()
    agentId = words()

    def draft(self) -> ProposalDraft:
        given = self.validated_data
        return ProposalDraft(
            kind=given["kind"],
            artifact=given["artifact"],
            title=given.get("title", ""),
            rationale=given.get("rationale", ""),
            source_run_ids=tuple(given.get("sourceRunIds", ())),
            synthesizer_model=given.get("synthesizerModel", ""),
            agent_id=given.get("agentId", ""),
        )


class ReviseProposal(Closed):
    """The body of PATCH. Whatever else a Proposal has is the host's to set, and refused by name."""

    artifact = ArtifactField(required=False)
    title = words()
    rationale = words()
    note = words()

    def change(self) -> Change:
        return Change(**self.validated_data)


class RejectProposal(Closed):
    """The body of reject and of withdraw: a ``reason``, or a ``note`` as the public client calls it."""

    note = words()
    reason = words()

    def given_reason(self) -> str:
        given = self.validated_data
        return str(given.get("reason") or given.get("note", ""))


def proposal_document(revision: Revision) -> JSONObject:
    """The Proposal of the schema, with the artifact of the revision that stands."""
    proposal = revision.proposal
    applied = proposal.state == State.APPLIED
    provenance = {"sourceRunIds": proposal.source_run_ids}
    if proposal.synthesizer_model:
        provenance["synthesizerModel"] = proposal.synthesizer_model
    return {
        "id": ids.wire("prop", proposal.id),
        "kind": proposal.kind,
        "state": proposal.state,
        "title": proposal.title,
        "rationale": proposal.rationale,
        "artifact": json.loads(revision.text),
        "provenance": provenance,
        "duplicateOf": proposal.duplicate_of,
        "owner": {"tenant": proposal.tenant.slug, "principal": proposal.author},
        "activation": _activation(proposal) if applied else None,
        "createdAt": instant(proposal.created_at),
        "updatedAt": instant(proposal.updated_at),
    }


def listing_document(found: Page[Revision]) -> JSONObject:
    return {
        "proposals": [proposal_document(each) for each in found.rows],
        "total": found.total,
        "next": cursor("prop", found.after),
    }


def _activation(proposal: Proposal) -> JSONObject:
    approval = ids.wire("gate", proposal.approval_id) if proposal.approval_id else None
    return {"approvalId": approval, "installedArtifactRef": proposal.installed_ref}


def applied_document(activation: Activation) -> tuple[JSONObject, int]:
    """What apply answers: installed, or pending at the gate and without any word of an installed ref."""
    if activation.gate is None:
        return {"installedArtifactRef": activation.installed_ref}, 200
    pending = {
        "state": "pending",
        "activation": "approval-gate",
        "proposalId": ids.wire("prop", activation.proposal.id),
    }
    return pending | _gate_address(activation.gate), 202


def _gate_address(gate: Gate) -> JSONObject:
    return {"approvalId": ids.wire("gate", gate.id), "runId": ids.wire("run", gate.run_id), "nodeId": gate.node_id}


def revisions_document(proposal: Proposal, page: Page[Revision], ballots: list[Ballot]) -> JSONObject:
    """What reviewers know: revisions with their verbatim texts and digests, and every gate with its votes."""
    return {
        "proposalId": ids.wire("prop", proposal.id),
        "total": page.total,
        "next": page.after,
        "revisions": [_revision_document(each) for each in page.rows],
        "gates": [ballot_document(each) for each in ballots],
    }


def _revision_document(revision: Revision) -> JSONObject:
    return {
        "revision": revision.number,
        "title": revision.title,
        "rationale": revision.rationale,
        "note": revision.note,
        "text": revision.text,
        "sha256": revision.sha256,
        "canonicalSha256": revision.canonical_sha256,
        "revisedBy": revision.revised_by,
        "createdAt": instant(revision.created_at),
    }


def ballot_document(ballot: Ballot) -> JSONObject:
    """A gate with its votes."""
    gate = ballot.gate
    return {
        **_gate_address(gate),
        "state": gate.state,
        "revision": gate.revision,
        "sha256": gate.sha256,
        "quorum": {"granted": ballot.grants, "required": gate.quorum},
        "requiredScope": gate.required_scope,
        "openedBy": gate.opened_by,
        "openedAt": instant(gate.opened_at),
        "closedAt": instant(gate.closed_at) if gate.closed_at else None,
        "votes": [_vote_document(vote) for vote in ballot.votes],
    }


def _vote_document(vote: Vote) -> JSONObject:
    return {
        "principal": vote.principal,
        "person": vote.person,
        "decision": vote.decision,
        "override": vote.overrides,
        "reason": vote.reason,
        "revision": vote.revision,
        "sha256": vote.sha256,
        "at": instant(vote.at),
    }


def installation_document(installed: Installation) -> JSONObject:
    """An installed artifact: its bytes as ``text``, and their SHA-256."""
    return {
        "ref": installed.ref,
        "kind": installed.kind,
        "name": installed.name,
        "version": installed.version,
        "text": installed.text,
        "sha256": installed.sha256,
        "source": installed.source,
        "installedBy": installed.installed_by,
        "installedAt": instant(installed.installed_at),
        "supersededAt": instant(installed.superseded_at) if installed.superseded_at else None,
        "disabled": installed.is_disabled,
    }
