"""Bodies, queries and answers of the proposals' routes, and the JSON Schemas of the answers for the OpenAPI document.

An artifact in a body is kept as the text that was received: what a reviewer approves and the host installs are those
bytes (RFC 0096), so they are cut out of the body, not serialized again from what a parser made of them.
"""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from io import BytesIO
from typing import Any
from uuid import UUID

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers
from rest_framework.exceptions import APIException, ParseError

from memory.host import http, ids
from memory.host.errors import TooLarge
from memory.host.http import (
    COUNT,
    FLAG,
    OBJECT,
    POSITIVE,
    SHA256,
    STRING,
    TEXT,
    TIME,
    After,
    Closed,
    StrictJSONParser,
    also,
    closed,
    listed,
    nullable,
    words,
)
from memory.host.json_types import JSONObject
from memory.host.models import ArtifactKind, Installation
from memory.host.paging import Page, cursor
from memory.host.tenancy import TenantScope
from memory.wire import instant
from proposals import artifacts, denials
from proposals.drafts import Change, ProposalDraft
from proposals.inbox import InboxFilter
from proposals.lifecycle import Activation
from proposals.models import Decision, Gate, GateState, Kind, Proposal, Revision, State, Vote
from proposals.review import Ballot

DEFAULT_LIMIT, DEFAULT_REVISIONS = 100, 20
MAX_BODY = 2 * artifacts.MAX_BYTES
SPACE = " \t\n\r"
ARTIFACT = "artifact"
PROPOSAL = closed(
    "Proposal",
    id=TEXT,
    kind=words(Kind.values),
    state=words(State.values),
    title=STRING,
    rationale=STRING,
    artifact=OBJECT,
    provenance=also(closed(sourceRunIds=listed(TEXT)), synthesizerModel=STRING),
    duplicateOf=nullable(TEXT),
    owner=closed(tenant=TEXT, principal=TEXT),
    activation=nullable(closed(approvalId=nullable(TEXT), installedArtifactRef=TEXT)),
    createdAt=TIME,
    updatedAt=TIME,
)
PROPOSALS = closed("Proposals", proposals=listed(PROPOSAL), total=COUNT, next=nullable(TEXT))
APPLIED = closed("AppliedProposal", installedArtifactRef=TEXT)
PENDING = closed(
    "PendingActivation",
    state={"const": "pending"},
    activation={"const": "approval-gate"},
    proposalId=TEXT,
    approvalId=TEXT,
    runId=TEXT,
    nodeId=TEXT,
)
REVISION = closed(
    "Revision",
    revision=POSITIVE,
    title=STRING,
    rationale=STRING,
    note=STRING,
    text=STRING,
    sha256=SHA256,
    canonicalSha256=SHA256,
    revisedBy=TEXT,
    createdAt=TIME,
)
VOTE = closed(
    "Vote",
    principal=TEXT,
    person=TEXT,
    decision=words(Decision.values),
    override=FLAG,
    reason=STRING,
    revision=POSITIVE,
    sha256=SHA256,
    at=TIME,
)
GATE = closed(
    "Gate",
    approvalId=TEXT,
    runId=TEXT,
    nodeId=TEXT,
    state=words(GateState.values),
    revision=POSITIVE,
    sha256=SHA256,
    quorum=closed(granted=COUNT, required=POSITIVE),
    requiredScope=TEXT,
    openedBy=TEXT,
    openedAt=TIME,
    closedAt=nullable(TIME),
    votes=listed(VOTE),
)
REVISIONS = closed(
    "Revisions",
    proposalId=TEXT,
    total=COUNT,
    next=nullable(POSITIVE),
    revisions=listed(REVISION),
    gates=listed(GATE),
)
INSTALLATION = closed(
    "InstalledArtifact",
    ref=TEXT,
    kind=words(ArtifactKind.values),
    name=TEXT,
    version=TEXT,
    text=STRING,
    sha256=SHA256,
    source=TEXT,
    installedBy=TEXT,
    installedAt=TIME,
    supersededAt=nullable(TIME),
    disabled=FLAG,
)


class Verbatim(str):
    """A member of a body as it was written."""

    __slots__ = ()


class ArtifactParser(StrictJSONParser):
    """Like the parser of all faces; a top-level ``artifact`` is replaced by its ``Verbatim`` text."""

    def parse(self, stream: Any, media_type: str | None = None, parser_context: Mapping[str, Any] | None = None) -> Any:
        raw = stream.read(MAX_BODY + 1)
        if len(raw) > MAX_BODY:
            raise TooLarge(f"The body has at most {MAX_BODY} bytes.", maxBytes=MAX_BODY)
        value = super().parse(BytesIO(raw), media_type, parser_context)
        if isinstance(value, dict) and ARTIFACT in value:
            value[ARTIFACT] = verbatim(raw.decode(), ARTIFACT)
        return value


def verbatim(body: str, *path: str) -> Verbatim:
    """The text of the artifact at ``path`` in ``body``, which is known to be a JSON object that has one there."""
    deepest = artifacts.MAX_DEPTH + len(path)
    if http.depth_of(body) > deepest:
        raise ParseError(f"The body is nested more than {deepest} levels deep.")
    for step in path:
        found = [text for name, text in _members(body) if name == step]
        if len(found) != 1:
            raise ParseError(f"The body names its {step} twice.")
        body = found[0]
    return Verbatim(body)


def _members(body: str) -> Iterator[tuple[str, str]]:
    """Each member of the object in ``body``: its name, and its value as it is written."""
    decoder = json.JSONDecoder()
    at = _behind_space(body, _behind_space(body, 0) + 1)
    while body[at] != "}":
        name, at = decoder.raw_decode(body, at)
        start = _behind_space(body, _behind_space(body, at) + 1)
        _, end = decoder.raw_decode(body, start)
        yield name, body[start:end]
        at = _behind_space(body, end)
        at = _behind_space(body, at + 1) if body[at] == "," else at


def _behind_space(body: str, at: int) -> int:
    while body[at] in SPACE:
        at += 1
    return at


@extend_schema_field({"type": "object"})
class ArtifactField(serializers.Field[str, Any, Any, Any]):
    """The artifact's text. That it is an object, and one of its kind, is for the domain to find."""

    def to_internal_value(self, data: object) -> str:
        assert isinstance(data, Verbatim), "the view has no ArtifactParser"
        return str(data)


@contextmanager
def before_the_body(
    scope: TenantScope, *actions: str, proposal_id: UUID | None = None, now: datetime
) -> Iterator[None]:
    """Around the reading of a body, which may be any of ``actions``: a bad one is refused as such only to who may take
    one of them. What a good one asks for is authorized, and a denial of it recorded, by what carries it out."""
    try:
        yield
    except APIException:
        denials.authorize_one_of(scope, actions, proposal_id, now=now)
        raise


class Text(serializers.CharField):
    """A JSON string; a number or a boolean is none."""

    def to_internal_value(self, data: object) -> str:
        if not isinstance(data, str):
            raise serializers.ValidationError("must be a string")
        return str(super().to_internal_value(data))


def optional_text(**options: Any) -> Text:
    """A text that may be left out and may be empty; how long it may be is for the domain to say."""
    return Text(required=False, allow_blank=True, trim_whitespace=False, **options)


class ListQuery(Closed):
    """Any word may be asked for; one that is no state or kind matches nothing."""

    state = optional_text(max_length=64)
    kind = optional_text(max_length=64)
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
    title = optional_text()
    rationale = optional_text()
    sourceRunIds = serializers.ListField(child=Text(max_length=128), required=False, max_length=100)
    synthesizerModel = optional_text()
    agentId = optional_text()

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
    title = optional_text()
    rationale = optional_text()
    note = optional_text()

    def change(self) -> Change:
        return Change(**self.validated_data)


class RejectProposal(Closed):
    """The body of reject and of withdraw: a ``reason``, or a ``note`` as the public client calls it."""

    note = optional_text()
    reason = optional_text()

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
