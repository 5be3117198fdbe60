"""Bodies, queries and answers of the console's memory extension; camelCase stops here."""

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from rest_framework import serializers

from memory import agents, entry_drafts, external_runs
from memory.adapter.runs import RANKS, RELEVANCE, Injection
from memory.addresses import Sensitivity, Tier
from memory.agents import AgentEntry
from memory.embeddings import RANKINGS, WHY
from memory.entry_drafts import EntryDraft
from memory.forget import receipts
from memory.forget.plans import InContext
from memory.host import access, ids, vault
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
    Instant,
    Omittable,
    Schema,
    SoughtRef,
    Text,
    also,
    closed,
    listed,
    nullable,
    page_answer,
    words,
)
from memory.host.json_types import JSONObject
from memory.host.models import GIVEN_SCOPES, Run, RunStatus, SecretScope
from memory.host.paging import cursor
from memory.ledger_search import FIELDS, ORDERS, STATES, LedgerFilter, LedgerPage
from memory.memory_health import DIMENSIONS, REQUESTED
from memory.models import (
    Archive,
    ArchiveState,
    Decision,
    ForgetHold,
    ForgetRequest,
    ForgetState,
    PassState,
    WorkspaceFile,
)
from memory.origins import MAX_TEXT, Origin
from memory.passes import archive_reports
from memory.passes.archive_reports import Withdrawn
from memory.provenance import Provenance, VerdictKind, Write
from memory.reasons import MAX_REASON
from memory.wire import ADDRESS, ORIGIN, OriginField, OriginText, address_document, entry_document, instant
from memory.workspace import DEFAULT_CONTENT_TYPE, FileDraft

if TYPE_CHECKING:
    from memory.models.entry import MemoryEntry

# A file without its content.
FILE_ROW = Answer[WorkspaceFile](
    path=({"type": "string", "pattern": "^[A-Za-z0-9][A-Za-z0-9._/-]{0,255}$"}, lambda file: file.path),
    contentType=(TEXT, lambda file: file.content_type),
    version=(POSITIVE, lambda file: file.version),
    etag=(TEXT, lambda file: file.etag),
    updatedAt=(TIME, lambda file: instant(file.updated_at)),
)
FILE = closed(content=STRING, **FILE_ROW["properties"])
FILES = closed(files={"type": "array", "items": FILE_ROW})
DONE = closed(ok={"const": True})

KEYS = listed(TEXT) | {"uniqueItems": True, "minItems": 1}
SHAPE: Schema = {
    "type": "object",
    "additionalProperties": False,
    "properties": dict.fromkeys(REQUESTED, FLAG),
}
# The AgentInventoryEntry (openwop-host 5).
AGENT = Answer[AgentEntry](
    "AgentInventoryEntry",
    agentId=(TEXT, lambda entry: entry.agent_id),
    persona=(TEXT, lambda entry: entry.persona),
    label=(TEXT, lambda entry: entry.label),
    modelClass=(TEXT, lambda entry: entry.model_class),
    packName=(TEXT, lambda entry: entry.pack_name),
    packVersion=(TEXT, lambda entry: entry.pack_version),
    toolAllowlist=(listed(TEXT), lambda entry: list(entry.tool_allowlist)),
    hasHandoffSchemas=(FLAG, lambda entry: False),
    description=(Omittable(STRING), lambda entry: entry.description or None),
    memoryShape=(Omittable(SHAPE), lambda entry: None if entry.memory_shape is None else dict(entry.memory_shape)),
    confidenceThreshold=(
        Omittable({"type": "number", "minimum": 0, "maximum": 1}),
        lambda entry: entry.confidence_threshold,
    ),
    degraded=(Omittable(KEYS), lambda entry: list(entry.degraded) or None),
    memoryDegraded=(Omittable({"const": True}), lambda entry: True if entry.degraded_dimensions else None),
    degradedMemoryDimensions=(
        Omittable({**KEYS, "items": words(each.name for each in DIMENSIONS)}),
        lambda entry: list(entry.degraded_dimensions or ()) or None,
    ),
)
AGENTS = closed("AgentInventory", agents=listed(AGENT), total=COUNT)
DISPATCHED = closed(
    "DispatchedAgent",
    status=words(("completed", "escalated", "failed")),
    runId=TEXT,
    events=listed(closed(type=TEXT, agentId=TEXT)),
)
MANIFEST: Schema = {
    key: value for key, value in json.loads(agents.SCHEMA.read_text()).items() if not key.startswith("$")
}

ENTRY = also(
    closed("MemoryEntry", id=TEXT, content=STRING, tags=listed(STRING), createdAt=TIME),
    expiresAt=TIME,
    address=ADDRESS,
    origin=ORIGIN,
    memoryRef=TEXT,
    runId=TEXT,
    nodeId=TEXT,
    agentId=TEXT,
)
MEMORY_PAGE = also(
    closed(
        "MemoryPage",
        memoryRef=nullable(STRING),
        entries=listed(ENTRY),
        total=COUNT,
        totalIsExact=FLAG,
        next=nullable(TEXT),
    ),
    ranking=words(RANKINGS),
    rankingReason=words(WHY),
)
WRITE = Answer[Write](
    "MemoryWrite",
    runId=(TEXT, lambda write: write.run_id),
    workflowId=(TEXT, lambda write: write.run.workflow_id),
    sequence=(COUNT, lambda write: write.sequence),
    timestamp=(TIME, lambda write: instant(write.timestamp)),
    tags=(listed(STRING), lambda write: list(write.tags)),
    nodeId=(Omittable(TEXT), lambda write: write.node_id or None),
    agentId=(Omittable(TEXT), lambda write: write.agent_id or None),
    origin=(Omittable(ORIGIN), lambda write: write.origin.document if write.origin else None),
)
PROVENANCE = Answer[Provenance](
    "Provenance",
    verdict=(words(VerdictKind), lambda found: found.verdict),
    origin=(Omittable(ORIGIN), lambda found: found.origin.document if found.origin else None),
    writes=(listed(WRITE), lambda found: WRITE.documents(found.writes)),
    sha256WhenWritten=(nullable(SHA256), lambda found: found.sha256_when_written),
    sha256Now=(SHA256, lambda found: found.sha256_now),
)
WRITTEN = closed("WrittenEntry", id=TEXT)
EXTERNAL_RUN = Answer[Run](
    "ExternalRun",
    id=(TEXT, lambda run: ids.wire("run", run.id)),
    status=(words(RunStatus.values), lambda run: run.status),
)
RETIREMENT: "Answer[MemoryEntry]" = Answer(
    "EntryRetirement",
    id=(TEXT, lambda row: ids.wire("mem", row.id)),
    retiredAt=(nullable(TIME), lambda row: instant(row.retired_at)),
)
LIVE_ENTRY = closed("AttributedEntry", memoryRef=TEXT, entry=ENTRY, provenance=PROVENANCE)
MEMORY_ENTRY = also(LIVE_ENTRY, retiredAt=TIME)
# ``erase`` counts the archives too, which are withdrawn; ``rebuild`` is the number of memory refs distilled anew.
PLANNED = closed(erase=COUNT, rebuild=COUNT, suspected=COUNT, stays=COUNT, staysBecause=STRING)
PROGRESS = nullable(closed(done=COUNT, total=COUNT, doing=STRING))
CONTEXT = closed(before=STRING, mention=STRING, after=STRING)
SUSPECT = Answer[InContext](
    "ForgetSuspect",
    row=(TEXT, lambda each: each.suspect.row_id.hex),
    store=(TEXT, lambda each: each.suspect.store),
    decision=(words(Decision.values), lambda each: each.suspect.decision),
    foundIn=(nullable(TEXT), lambda each: each.found_in or None),
    context=(
        CONTEXT,
        lambda each: {"before": each.excerpt.before, "mention": each.excerpt.mention, "after": each.excerpt.after},
    ),
)
# A hold, in force as long as ``endedAt`` is null.
HOLD = Answer[ForgetHold](
    "LegalHold",
    holdId=(TEXT, lambda hold: ids.wire("hld", hold.id)),
    names=(listed(TEXT), lambda hold: list(hold.terms)),
    reason=(TEXT, lambda hold: hold.reason),
    setBy=(TEXT, lambda hold: hold.set_by),
    since=(TIME, lambda hold: instant(hold.created_at)),
    endedAt=(nullable(TIME), lambda hold: instant(hold.ended_at)),
    endedBy=(nullable(TEXT), lambda hold: hold.ended_by or None),
    endReason=(nullable(TEXT), lambda hold: hold.end_reason or None),
)
HOLDS = page_answer("LegalHoldPage", "holds", HOLD, "hld")
PREVIEW_STATES = sorted({*ForgetState.values, "ready"} - {ForgetState.PREVIEWED.value})
PREVIEW = closed(
    "ForgetPreview",
    previewId=TEXT,
    state=words(PREVIEW_STATES),
    progress=PROGRESS,
    lapsesAt=TIME,
    firstConfirmedBy=nullable(TEXT),
    planSha256=nullable(SHA256),
    stores={"type": "object", "additionalProperties": PLANNED},
    holds=listed(HOLD),
    suspects=listed(SUSPECT),
    next=nullable(TEXT),
)
MADE_ANEW = Answer[Archive](
    id=(TEXT, lambda made: ids.wire("arc", made.id)),
    sha256=(SHA256, lambda made: made.sha256),
    state=(words(ArchiveState.values), lambda made: made.state),
)
WITHDRAWN = Answer[Withdrawn](
    id=(TEXT, lambda each: each.id),
    sha256=(SHA256, lambda each: each.sha256),
    distilledAnewBy=(nullable(TEXT), lambda each: each.pass_id or None),
    passState=(nullable(words(PassState.values)), lambda each: each.pass_state or None),
    archive=(nullable(MADE_ANEW), lambda each: MADE_ANEW.document(each.made) if each.made else None),
)
FORGET = also(
    closed(
        "ForgetRequest",
        forgetId=TEXT,
        state=words(ForgetState.values),
        firstConfirmedBy=nullable(TEXT),
        confirmations=listed(closed(person=TEXT, principal=TEXT, at=TIME, auditSeq=COUNT)),
        progress=PROGRESS,
        receipt=nullable(OBJECT),
        signature=nullable(TEXT),
        undecided=COUNT,
        archives=listed(WITHDRAWN),
    ),
    algorithm=TEXT,
    canonicalization=TEXT,
    signedBytes=TEXT,
    publicKeys=listed(closed(keyId=TEXT, publicKey=TEXT)),
)


INJECTION = ("tokenBudget", "rank", "query")
BESIDE_INJECTION = ("memoryRef", "tag", "limit", *INJECTION)


class MemoryQuery(Closed):
    """``GET /v1/host/console/memory``; ``after`` is the id that ``next`` gave."""

    memoryRef = SoughtRef()
    tag = serializers.CharField(required=False, max_length=256)
    q = serializers.CharField(required=False, max_length=500)
    order = serializers.ChoiceField(choices=ORDERS, required=False)
    agentId = serializers.CharField(required=False, max_length=256)
    runId = serializers.CharField(required=False, max_length=128)
    nodeId = serializers.CharField(required=False, max_length=256)
    principal = serializers.CharField(required=False, max_length=64)
    threadId = serializers.CharField(required=False, max_length=MAX_TEXT)
    system = serializers.CharField(required=False, max_length=MAX_TEXT)
    state = serializers.ChoiceField(choices=STATES, required=False)
    tier = serializers.ChoiceField(choices=[each.value for each in Tier], required=False)
    namespace = serializers.CharField(required=False, max_length=255, trim_whitespace=False)
    sensitivity = serializers.ChoiceField(choices=[each.value for each in Sensitivity], required=False)
    limit = serializers.IntegerField(required=False, min_value=1, max_value=1000)
    after = After("mem")
    tokenBudget = serializers.IntegerField(required=False, min_value=1, max_value=2**31 - 1)
    rank = serializers.ChoiceField(choices=RANKS, required=False)
    query = serializers.CharField(required=False, max_length=2000)

    def validate(self, attrs: dict[str, object]) -> dict[str, object]:
        """The adapter's own options list one ref, and stand beside none of the ledger's filters but the tag."""
        if any(name in attrs for name in INJECTION):
            alone = [name for name in attrs if name not in BESIDE_INJECTION]
            errors = {name: ["does not go with a token budget or a rank"] for name in alone}
            errors |= {} if "memoryRef" in attrs else {"memoryRef": ["is needed for a token budget or a rank"]}
            if attrs.get("rank") == RELEVANCE and "query" not in attrs:
                errors["query"] = ["is needed for relevance"]
            if errors:
                raise serializers.ValidationError(errors)
        return attrs

    def injection(self) -> Injection | None:
        """What goes into a context, when that is what was asked for (RFC 0113)."""
        given = self.validated_data
        if not any(name in given for name in INJECTION):
            return None
        return Injection(given.get("tokenBudget", 0), given.get("rank", ""), given.get("query", ""))

    def filter(self) -> LedgerFilter:
        given = self.validated_data
        return LedgerFilter(**{name: given[each.wire] for name, each in FIELDS.items() if each.wire in given})


class EntryReason(Closed):
    """Why an entry is retired or restored."""

    reason = Text(required=False, allow_blank=True, max_length=MAX_REASON)


class EntryWrite(Closed):
    """A new entry, in the name of the key's agent."""

    memoryRef = Text(max_length=256)
    content = Text(max_length=entry_drafts.MAX_CONTENT_BYTES)
    tags = serializers.ListField(
        child=Text(max_length=entry_drafts.MAX_LABEL), required=False, max_length=entry_drafts.MAX_TAGS
    )
    subject = Text(required=False, allow_blank=True, max_length=entry_drafts.MAX_LABEL)
    expiresAt = Instant(required=False)
    origin = OriginField()

    def draft(self) -> EntryDraft:
        given = self.validated_data
        tags, ends = tuple(given.get("tags", ())), given.get("expiresAt")
        return EntryDraft(given["content"], tags, given.get("subject", ""), expires_at=ends)


class ExternalRunOpen(Closed):
    """A run that an agent executes elsewhere, by that system's own id."""

    system = OriginText()
    runId = OriginText()
    threadId = OriginText(required=False)

    def origin(self) -> Origin:
        given = self.validated_data
        return Origin(given["system"], given["runId"], given.get("threadId", ""))


class ExternalRunEnd(Closed):
    """How the run ended: it completed, unless something else is said."""

    status = serializers.ChoiceField(choices=[str(each) for each in external_runs.ENDINGS], required=False)


class ForgetSubject(Closed):
    """What to forget: a subject and its other names."""

    subject = serializers.CharField(max_length=256)
    aliases = serializers.ListField(child=serializers.CharField(max_length=256), required=False, max_length=9)


class HoldRequest(ForgetSubject):
    """What not to forget, and why not."""

    reason = serializers.CharField(max_length=MAX_REASON)


class HoldEnd(Closed):
    """Why a hold is over."""

    reason = serializers.CharField(max_length=MAX_REASON)


class HoldsQuery(Closed):
    """``GET /v1/host/console/forget/holds``; ``after`` is the id that ``next`` gave."""

    after = After("hld")
    limit = serializers.IntegerField(required=False, min_value=1, max_value=200)


class Row(serializers.RegexField):
    """A row of a store, as a preview gives it."""

    def __init__(self, **options: Any) -> None:
        super().__init__(r"\A[0-9a-f]{32}\Z", **options)


class ForgetConfirmation(Closed):
    """The confirmation of a preview: the subject again, a reason, and which suspected rows go and which are spared. The
    others stay undecided, and the receipt says so."""

    previewId = serializers.CharField(max_length=64)
    subject = serializers.CharField(max_length=256)
    reason = serializers.CharField(max_length=MAX_REASON)
    suspected = serializers.ListField(child=Row(), required=False)
    spared = serializers.ListField(child=Row(), required=False)


class SuspectQuery(Closed):
    """``GET /v1/host/console/forget/previews/{id}``; ``after`` is the id that ``next`` gave."""

    after = After("sus")
    limit = serializers.IntegerField(required=False, min_value=1, max_value=200)


class SecretPlace(Closed):
    """Whose secret it is: the tenant's, or that of one user or run, by its wire id."""

    scope = serializers.ChoiceField(choices=[str(each) for each in GIVEN_SCOPES], required=False)
    principal = serializers.CharField(required=False, max_length=64)

    def place(self) -> dict[str, str]:
        given = self.validated_data
        return {"kind": given.get("scope", SecretScope.TENANT), "owner": given.get("principal", "")}


class SecretValue(SecretPlace):
    """A secret's value; it is never given back."""

    value = Text(max_length=vault.MAX_VALUE_BYTES)


class FilesQuery(Closed):
    """``GET /v1/host/workspace/files``."""

    prefix = Text(required=False, allow_blank=True, max_length=256)


class FileQuery(Closed):
    """``version`` is a number from 1, without a sign or leading zeros."""

    version = serializers.RegexField(r"\A[1-9][0-9]{0,8}\Z", required=False, trim_whitespace=False)

    def version_wanted(self) -> int | None:
        given = self.validated_data.get("version")
        return int(given) if given else None


class WorkspaceFileCreate(Closed):
    """The closed body of a write (RFC 0059); the path is the address's."""

    content = Text(allow_blank=True)
    contentType = Text(required=False)

    def draft(self) -> FileDraft:
        given = self.validated_data
        return FileDraft(given["content"], given.get("contentType", DEFAULT_CONTENT_TYPE))


class DispatchAgent(Closed):
    """The task, whatever it is. The agent has no tool in a dispatch, whichever are available."""

    task = serializers.JSONField(required=False)
    validateHandoff = serializers.BooleanField(required=False)
    availableTools = serializers.ListField(child=serializers.CharField(max_length=256), required=False, max_length=256)


class WorkspaceOp(Closed):
    """One operation in the name of an owner (openwop-memory 2.6)."""

    tenant = Text(max_length=128)
    workspace = Text(max_length=128)
    op = serializers.ChoiceField(choices=("list", "get", "put", "delete"))
    path = Text(required=False)
    content = Text(required=False, allow_blank=True)
    contentType = Text(required=False)
    ifMatch = Text(required=False)
    prefix = Text(required=False, allow_blank=True, max_length=256)
    version = serializers.IntegerField(required=False, min_value=1, max_value=999_999_999)

    def validate(self, attrs: JSONObject) -> dict[str, object]:
        """A ``put`` has a content, and all but ``list`` have a path."""
        needed = {"list": (), "put": ("path", "content")}.get(attrs["op"], ("path",))
        missing = [name for name in needed if name not in attrs]
        if missing:
            raise serializers.ValidationError({name: ["is needed for this op"] for name in missing})
        return attrs


def entry_of(row: "MemoryEntry") -> JSONObject:
    document = entry_document(row.id, row.content, row.tags, row.created_at, row.expires_at)
    return document | address_document(row.address) | _origin_document(row.origin)


def page_document(page: LedgerPage, memory_ref: str) -> JSONObject:
    """A page of one ref, whose entries have the form of the contract, or of any: each entry then says its ref, and who
    wrote it."""
    return {
        "memoryRef": memory_ref or None,
        "entries": [entry_of(row) | ({} if memory_ref else _place_document(row)) for row in page.entries],
        "total": page.total,
        "totalIsExact": page.total_is_exact,
        "next": cursor("mem", page.after),
        **({"ranking": page.meaning.ranking} if page.meaning else {}),
        **({"rankingReason": page.meaning.reason} if page.meaning and page.meaning.reason else {}),
    }


def _place_document(row: "MemoryEntry") -> JSONObject:
    """The ref of the entry, and the run, node and agent that wrote it; the node of a run elsewhere is the stated one.
    The address of an entry says its agent."""
    if row.address:
        return {"memoryRef": row.memory_ref}
    named = {"nodeId": row.node_id or (row.origin.node if row.origin else ""), "agentId": row.agent_id}
    written_by = {"runId": ids.wire("run", row.run_id), **{name: text for name, text in named.items() if text}}
    return {"memoryRef": row.memory_ref, **written_by}


def file_document(file: WorkspaceFile) -> JSONObject:
    return FILE_ROW.document(file) | {"content": file.content}


def _origin_document(origin: Origin | None) -> JSONObject:
    return {"origin": origin.document} if origin else {}


def preview_document(
    request: ForgetRequest,
    suspects: list[InContext],
    following: str | None = None,
    on_hold: Sequence[ForgetHold] = (),
) -> JSONObject:
    """A preview: its progress while it is built; when it is ready what would go, with a page of its suspects, and the
    holds for which it cannot be confirmed."""
    work, is_ready = request.background, request.state in (ForgetState.PREVIEWED, ForgetState.AWAITING)
    document: JSONObject = {
        "previewId": ids.wire("fgt", request.id),
        "state": "ready" if request.state == ForgetState.PREVIEWED else request.state,
        "progress": {"done": work.done, "total": work.total, "doing": work.doing} if work else None,
        "lapsesAt": instant(request.lapses_at),
        "firstConfirmedBy": request.first_confirmed_by or None,
        "planSha256": request.plan_sha256 if is_ready else None,
        "stores": {},
        "holds": HOLD.documents(on_hold),
        "suspects": SUSPECT.documents(suspects),
        "next": following,
    }
    if is_ready:
        document["stores"] = {
            store: {"rebuild": entry.get("rebuild", 0)}
            | {name: entry[name] for name in ("erase", "suspected", "stays", "staysBecause")}
            for store, entry in request.plan.items()
        }
    return document


def forget_document(request: ForgetRequest) -> JSONObject:
    """A request; what its receipt signs, and beside that the archives that were made since."""
    work = request.background
    return {
        "forgetId": ids.wire("fgt", request.id),
        "state": request.state,
        "firstConfirmedBy": request.first_confirmed_by or None,
        "confirmations": receipts.confirmations(request),
        "progress": {"done": work.done, "total": work.total, "doing": work.doing} if work else None,
        "receipt": request.receipt,
        "signature": None,
        "undecided": request.undecided,
        "archives": WITHDRAWN.documents(archive_reports.withdrawn_by_receipt(request.tenant_id, request.receipt)),
        **receipts.proof(request),
    }


class KeysQuery(Closed):
    """The newest first; ``after`` is what ``next`` gave."""

    limit = serializers.IntegerField(required=False, min_value=1, max_value=1000)
    after = After("key")


class NewKeyRequest(Closed):
    """``person`` is the address of an active operator whose key it is; the maker's own without it."""

    role = serializers.ChoiceField(choices=list(access.ROLES))
    name = Text(required=False, allow_blank=True, max_length=access.MAX_NAME)
    agents = serializers.ListField(child=Text(max_length=128), required=False, max_length=100)
    person = Text(required=False, max_length=254)
    expiresAt = Instant(required=False)


class OperatorsQuery(Closed):
    """In the order in which they joined; ``after`` is what ``next`` gave."""

    limit = serializers.IntegerField(required=False, min_value=1, max_value=1000)
    after = After("usr")


class OperatorChange(Closed):
    """What is not named stays as it is."""

    role = serializers.ChoiceField(choices=list(access.ROLES), required=False)
    active = serializers.BooleanField(required=False)
