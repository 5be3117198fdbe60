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

from memory.host import ids
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
    Answer,
    Closed,
    Omittable,
    StrictJSONParser,
    closed,
    listed,
    nullable,
    page_answer,
    words,
)
from memory.host.json_types import JSONObject
from memory.host.models import ArtifactKind, Installation
from memory.host.paging import Page
from memory.host.tenancy import TenantScope
from memory.wire import instant
from proposals import artifacts, rules
from proposals.drafts import Change, ProposalDraft
from proposals.inbox import InboxFilter
from proposals.lifecycle import Activation
from proposals.models import Decision, Gate, GateState, Kind, Proposal, Revision, State, Vote
from proposals.review import Ballot

DEFAULT_LIMIT, DEFAULT_REVISIONS = 100, 20
MAX_BODY = 2 * artifacts.MAX_BYTES
SPACE = " \t\n\r"
ARTIFACT = "artifact"
SOURCES = Answer[Proposal](
    sourceRunIds=(listed(TEXT), lambda proposal: proposal.source_run_ids),
    synthesizerModel=(Omittable(STRING), lambda proposal: proposal.synthesizer_model or None),
)
ACTIVATION = Answer[Proposal](
    approvalId=(nullable(TEXT), lambda proposal: ids.wire("gate", proposal.approval_id)),
    installedArtifactRef=(TEXT, lambda proposal: proposal.installed_ref),
)
# The Proposal of the schema, with the artifact of the revision that stands.
PROPOSAL = Answer[Revision](
    "Proposal",
    id=(TEXT, lambda revision: ids.wire("prop", revision.proposal.id)),
    kind=(words(Kind.values), lambda revision: revision.proposal.kind),
    state=(words(State.values), lambda revision: revision.proposal.state),
    title=(STRING, lambda revision: revision.proposal.title),
    rationale=(STRING, lambda revision: revision.proposal.rationale),
    artifact=(OBJECT, lambda revision: json.loads(revision.text)),
    provenance=(SOURCES, lambda revision: SOURCES.document(revision.proposal)),
    duplicateOf=(nullable(TEXT), lambda revision: revision.proposal.duplicate_of),
    owner=(
        closed(tenant=TEXT, principal=TEXT),
        lambda revision: {"tenant": revision.proposal.tenant.slug, "principal": revision.proposal.author},
    ),
    activation=(
        nullable(ACTIVATION),
        lambda revision: ACTIVATION.document(revision.proposal) if revision.proposal.state == State.APPLIED else None,
    ),
    createdAt=(TIME, lambda revision: instant(revision.proposal.created_at)),
    updatedAt=(TIME, lambda revision: instant(revision.proposal.updated_at)),
)
PROPOSALS = page_answer("Proposals", "proposals", PROPOSAL, "prop")
APPLIED = closed("AppliedProposal", installedArtifactRef=TEXT)
PENDING = Answer[Gate](
    "PendingActivation",
    state=({"const": "pending"}, lambda gate: "pending"),
    activation=({"const": "approval-gate"}, lambda gate: "approval-gate"),
    proposalId=(TEXT, lambda gate: ids.wire("prop", gate.proposal_id)),
    approvalId=(TEXT, lambda gate: ids.wire("gate", gate.id)),
    runId=(TEXT, lambda gate: ids.wire("run", gate.run_id)),
    nodeId=(TEXT, lambda gate: gate.node_id),
)
REVISION = Answer[Revision](
    "Revision",
    revision=(POSITIVE, lambda revision: revision.number),
    title=(STRING, lambda revision: revision.title),
    rationale=(STRING, lambda revision: revision.rationale),
    note=(STRING, lambda revision: revision.note),
    text=(STRING, lambda revision: revision.text),
    sha256=(SHA256, lambda revision: revision.sha256),
    canonicalSha256=(SHA256, lambda revision: revision.canonical_sha256),
    revisedBy=(TEXT, lambda revision: revision.revised_by),
    createdAt=(TIME, lambda revision: instant(revision.created_at)),
)
VOTE = Answer[Vote](
    "Vote",
    principal=(TEXT, lambda vote: vote.principal),
    person=(TEXT, lambda vote: vote.person),
    decision=(words(Decision.values), lambda vote: vote.decision),
    override=(FLAG, lambda vote: vote.overrides),
    reason=(STRING, lambda vote: vote.reason),
    revision=(POSITIVE, lambda vote: vote.revision),
    sha256=(SHA256, lambda vote: vote.sha256),
    at=(TIME, lambda vote: instant(vote.at)),
)
GATE = Answer[Ballot](
    "Gate",
    approvalId=(TEXT, lambda ballot: ids.wire("gate", ballot.gate.id)),
    runId=(TEXT, lambda ballot: ids.wire("run", ballot.gate.run_id)),
    nodeId=(TEXT, lambda ballot: ballot.gate.node_id),
    state=(words(GateState.values), lambda ballot: ballot.gate.state),
    revision=(POSITIVE, lambda ballot: ballot.gate.revision),
    sha256=(SHA256, lambda ballot: ballot.gate.sha256),
    quorum=(
        closed(granted=COUNT, required=POSITIVE),
        lambda ballot: {"granted": ballot.grants, "required": ballot.gate.quorum},
    ),
    requiredScope=(TEXT, lambda ballot: ballot.gate.required_scope),
    openedBy=(TEXT, lambda ballot: ballot.gate.opened_by),
    openedAt=(TIME, lambda ballot: instant(ballot.gate.opened_at)),
    closedAt=(nullable(TIME), lambda ballot: instant(ballot.gate.closed_at)),
    votes=(listed(VOTE), lambda ballot: VOTE.documents(ballot.votes)),
)
REVISIONS = closed(
    "Revisions",
    proposalId=TEXT,
    total=COUNT,
    next=nullable(POSITIVE),
    revisions=listed(REVISION),
    gates=listed(GATE),
)
# An installed artifact: its bytes as ``text``, and their SHA-256.
INSTALLATION = Answer[Installation](
    "InstalledArtifact",
    ref=(TEXT, lambda installed: installed.ref),
    kind=(words(ArtifactKind.values), lambda installed: installed.kind),
    name=(TEXT, lambda installed: installed.name),
    version=(TEXT, lambda installed: installed.version),
    text=(STRING, lambda installed: installed.text),
    sha256=(SHA256, lambda installed: installed.sha256),
    source=(TEXT, lambda installed: installed.source),
    installedBy=(TEXT, lambda installed: installed.installed_by),
    installedAt=(TIME, lambda installed: instant(installed.installed_at)),
    supersededAt=(nullable(TIME), lambda installed: instant(installed.superseded_at)),
    disabled=(FLAG, lambda installed: installed.is_disabled),
)


class Verbatim(str):
    """A member of a body as it was written."""

    __slots__ = ()


class ArtifactParser(StrictJSONParser):
    """Like the parser of all faces; a top-level ``artifact`` is replaced by its ``Verbatim`` text."""

    def parse(
        self, stream: Any, media_type: str | None = None, parser_context: Mapping[str, object] | None = None
    ) -> Any:
        raw = stream.read(MAX_BODY + 1)
        if len(raw) > MAX_BODY:
            raise TooLarge(f"The body has at most {MAX_BODY} bytes.", maxBytes=MAX_BODY)
        value = super().parse(BytesIO(raw), media_type, parser_context)
        if isinstance(value, dict) and ARTIFACT in value:
            value[ARTIFACT] = verbatim(raw.decode(), ARTIFACT)
        return value


def verbatim(body: str, *path: str) -> Verbatim:
    """The text of the artifact at ``path`` in ``body``, which is known to be a JSON object that has one there."""
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
        rules.authorize_one_of(scope, actions, proposal_id, now=now)
        raise


def optional_text(**options: Any) -> serializers.CharField:
    """A text that may be left out and may be empty; how long it may be is for the domain to say."""
    return serializers.CharField(required=False, allow_blank=True, trim_whitespace=False, **options)


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

    kind = serializers.CharField(max_length=64)
    artifact = ArtifactField()
    title = optional_text()
    rationale = optional_text()
    sourceRunIds = serializers.ListField(child=serializers.CharField(max_length=128), required=False, max_length=100)
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


def applied_document(activation: Activation) -> tuple[JSONObject, int]:
    """What apply answers: installed, or pending at the gate and without any word of an installed ref."""
    if activation.gate is None:
        return {"installedArtifactRef": activation.installed_ref}, 200
    return PENDING.document(activation.gate), 202


def revisions_document(proposal: Proposal, page: Page[Revision], ballots: list[Ballot]) -> JSONObject:
    """What reviewers know: revisions with their verbatim texts and digests, and every gate with its votes."""
    return {
        "proposalId": ids.wire("prop", proposal.id),
        "total": page.total,
        "next": page.after,
        "revisions": REVISION.documents(page.rows),
        "gates": GATE.documents(ballots),
    }
