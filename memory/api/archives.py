"""Archives, and how a tenant's memory is kept, over HTTP: the console's extension of the OpenWOP face."""

from operator import attrgetter

from django.db import transaction
from django.http import HttpResponse
from django.urls import path
from django.utils import timezone
from rest_framework import serializers
from rest_framework.decorators import api_view
from rest_framework.request import Request
from rest_framework.response import Response

from memory import memory_policy, tasks
from memory.host import ids
from memory.host.http import (
    COUNT,
    FLAG,
    POSITIVE,
    SHA256,
    STRING,
    TEXT,
    TIME,
    After,
    Answer,
    Closed,
    Schema,
    SoughtRef,
    Text,
    Whole,
    checked,
    closed,
    listed,
    nullable,
    operation,
    query_of,
    words,
)
from memory.host.json_types import JSONObject
from memory.host.paging import DEFAULT_LIMIT, Page, cursor
from memory.host.tenancy import scope_of
from memory.memory_policy import ENDPOINT, EXTRACTIVE, LONGEST_DAYS, MOST_DISTILL_ABOVE, MOST_TARGET, Policy
from memory.models import Archive, ArchiveState
from memory.passes import archive_reports, archives
from memory.reasons import MAX_REASON
from memory.wire import instant
from memory.workspace import Precondition

# What is known of an archive, withdrawn or not; its text is in the bytes alone.
ARCHIVE = Answer[Archive](
    "Archive",
    id=(TEXT, lambda row: ids.wire("arc", row.id)),
    memoryRef=(TEXT, lambda row: row.memory_ref),
    state=(words(ArchiveState.values), lambda row: row.state),
    sha256=(SHA256, lambda row: row.sha256),
    distiller=(TEXT, lambda row: row.distiller),
    tokenizer=(TEXT, lambda row: row.tokenizer),
    trigger=(TEXT, lambda row: row.trigger),
    tokenBudget=(COUNT, lambda row: row.token_budget),
    tokensUsed=(COUNT, lambda row: row.tokens_used),
    outputTokens=(COUNT, lambda row: row.output_tokens),
    sourceCount=(COUNT, lambda row: row.source_count),
    corpusCount=(COUNT, lambda row: row.corpus_count),
    indexUpdated=(FLAG, lambda row: row.index_updated),
    runId=(TEXT, lambda row: ids.wire("run", row.run_id)),
    entryId=(nullable(TEXT), lambda row: ids.wire("mem", row.entry_id)),
    createdAt=(TIME, lambda row: instant(row.created_at)),
    keepUntil=(nullable(TIME), lambda row: instant(row.keep_until)),
    withdrawnAt=(nullable(TIME), lambda row: instant(row.withdrawn_at)),
    withdrawnBecause=(nullable(TEXT), lambda row: row.withdrawn_because or None),
)
ARCHIVES = closed("ArchivePage", memoryRef=nullable(STRING), archives=listed(ARCHIVE), total=COUNT, next=nullable(TEXT))
# The bytes as they were stored: a later version of the document may hold more.
DOCUMENT: Schema = {
    "title": "ArchiveDocument",
    "type": "object",
    "required": ["version", "memoryRef", "sources", "text"],
    "properties": {
        "version": COUNT,
        "memoryRef": TEXT,
        "sources": listed({"type": "object", "required": ["id", "sha256"]}),
        "text": STRING,
    },
}
# What a policy is called on the wire: its field of ``Policy``, and its schema.
FIELDS: dict[str, tuple[str, Schema]] = {
    "archiveDays": ("archive_days", POSITIVE),
    "restoreDays": ("restore_days", POSITIVE),
    "staleDays": ("stale_days", POSITIVE),
    "timezone": ("timezone", TEXT),
    "commitmentWorkflow": ("commitment_workflow", STRING),
    "distiller": ("distiller", words((EXTRACTIVE, ENDPOINT))),
    "targetTokens": ("target_tokens", COUNT),
    "endpointUrl": ("endpoint_url", STRING),
    "endpointModel": ("endpoint_model", STRING),
    "endpointSecret": ("endpoint_secret", STRING),
    "embeddingUrl": ("embedding_url", STRING),
    "embeddingModel": ("embedding_model", STRING),
    "embeddingSecret": ("embedding_secret", STRING),
    "nightly": ("nightly", FLAG),
    "nightAt": ("night_at", TEXT),
    "distillAbove": ("distill_above", COUNT),
    "forgetSecondPerson": ("forget_second_person", FLAG),
}
POLICY = Answer[Policy](
    "MemoryPolicy", **{name: (schema, attrgetter(field)) for name, (field, schema) in FIELDS.items()}
)
CALLED = {field: name for name, (field, _) in FIELDS.items()}
READ = "memory:read"
TAG = "archives"
BASE = "v1/host/console"


class ArchivesQuery(Closed):
    """The newest first, of one ref when it is named; ``after`` is what ``next`` gave."""

    memoryRef = SoughtRef()
    limit = serializers.IntegerField(required=False, min_value=1, max_value=1000)
    after = After("arc")


class ArchiveWithdrawal(Closed):
    """Why, and whether each ref that loses its current archive is distilled anew."""

    reason = Text(required=False, allow_blank=True, max_length=MAX_REASON)
    distillAnew = serializers.BooleanField(required=False)


class PolicyChange(Closed):
    """What is not named stays as it was. ``endpointSecret`` and ``embeddingSecret`` are names of secrets of the vault,
    never their values. Without ``embeddingUrl`` no search goes by meaning."""

    archiveDays = Whole(required=False, min_value=1, max_value=LONGEST_DAYS)
    restoreDays = Whole(required=False, min_value=1, max_value=LONGEST_DAYS)
    staleDays = Whole(required=False, min_value=1, max_value=LONGEST_DAYS)
    timezone = Text(required=False, max_length=64)
    commitmentWorkflow = Text(required=False, allow_blank=True, max_length=128)
    distiller = serializers.ChoiceField(choices=(EXTRACTIVE, ENDPOINT), required=False)
    targetTokens = Whole(required=False, min_value=0, max_value=MOST_TARGET)
    endpointUrl = Text(required=False, allow_blank=True, max_length=500)
    endpointModel = Text(required=False, allow_blank=True, max_length=128)
    endpointSecret = Text(required=False, allow_blank=True, max_length=128)
    embeddingUrl = Text(required=False, allow_blank=True, max_length=500)
    embeddingModel = Text(required=False, allow_blank=True, max_length=128)
    embeddingSecret = Text(required=False, allow_blank=True, max_length=128)
    nightly = serializers.BooleanField(required=False)
    nightAt = Text(required=False, max_length=5)
    distillAbove = Whole(required=False, min_value=0, max_value=MOST_DISTILL_ABOVE)
    forgetSecondPerson = serializers.BooleanField(required=False)

    def changes(self) -> JSONObject:
        return {FIELDS[name][0]: value for name, value in self.validated_data.items()}


def page_document(page: Page[Archive], memory_ref: str) -> JSONObject:
    return {
        "memoryRef": memory_ref or None,
        "archives": ARCHIVE.documents(page.rows),
        "total": page.total,
        "next": cursor("arc", page.after),
    }


@operation("listArchives", scope=READ, query=ArchivesQuery, gives={200: ARCHIVES}, tag=TAG)
@api_view(["GET"])
def archive_list(request: Request) -> Response:
    """Withdrawn ones too. A key that is bound to agents is shown none."""
    given = checked(ArchivesQuery, query_of(request)).validated_data
    memory_ref, limit = given.get("memoryRef", ""), given.get("limit", DEFAULT_LIMIT)
    page = archive_reports.list_archives(
        scope_of(request), memory_ref=memory_ref, before=given.get("after"), limit=limit
    )
    return Response(page_document(page, memory_ref))


@operation("getArchive", scope=READ, headers=("If-None-Match",), gives={200: DOCUMENT, 304: None}, tag=TAG)
@api_view(["GET"])
def archive(request: Request, archive_id: str) -> HttpResponse:
    """The very bytes that were stored (RFC 0062 B.4), with their SHA-256; 410 when the archive was withdrawn."""
    found = archives.find(scope_of(request), ids.parse("arc", archive_id))
    headers = {"ETag": f'"{found.sha256}"', "X-Content-SHA256": found.sha256}
    if not Precondition(if_none_match=request.headers.get("If-None-Match")).holds(headers["ETag"]):
        return HttpResponse(status=304, headers=headers)
    return HttpResponse(bytes(found.body), content_type="application/json", headers=headers)


@operation("withdrawArchive", scope="memory:retire memory:read", takes=ArchiveWithdrawal, gives={200: ARCHIVE}, tag=TAG)
@api_view(["POST"])
def archive_withdraw(request: Request, archive_id: str) -> Response:
    """The archive and what was distilled from it are withdrawn for good, with ``distillAnew`` for another from what is
    active now; 410 when it was withdrawn before."""
    scope, found = scope_of(request), ids.parse("arc", archive_id)
    given = checked(ArchiveWithdrawal, request.data).validated_data
    anew = given.get("distillAnew", False)
    if anew:
        scope.check("passes:run")
    with transaction.atomic():
        made = archives.withdraw_for_person(
            scope, found, reason=given.get("reason", ""), distil_anew=anew, now=timezone.now()
        )
        for each in made:
            tasks.enqueue_pass(each)
    return Response(ARCHIVE.document(archives.get_archive(scope, found)))


@operation("getMemoryPolicy", method="GET", scope=READ, gives={200: POLICY}, tag="memory")
@operation(
    "changeMemoryPolicy",
    method="PUT",
    scope="policies:manage",
    takes=PolicyChange,
    gives={200: POLICY},
    tag="memory",
)
@api_view(["GET", "PUT"])
def policy(request: Request) -> Response:
    """For how long memory is kept, in whose zone, who distils it, who makes the vectors for a search by meaning,
    whether and when a night of passes comes, and whether a forget is confirmed by two people. What a PUT does not name
    stays as it was."""
    scope = scope_of(request)
    if request.method == "PUT":
        changes = checked(PolicyChange, request.data).changes()
        changed = memory_policy.change(scope, changes, called=CALLED, now=timezone.now())
        return Response(POLICY.document(changed))
    scope.check(READ)
    return Response(POLICY.document(memory_policy.policy_of(scope.tenant_id)))


urlpatterns = [
    path(f"{BASE}/archives", archive_list, name="api-archives"),
    path(f"{BASE}/archives/<str:archive_id>:withdraw", archive_withdraw, name="api-archive-withdraw"),
    path(f"{BASE}/archives/<str:archive_id>", archive, name="api-archive"),
    path(f"{BASE}/memory-policy", policy, name="api-memory-policy"),
]
