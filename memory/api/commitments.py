"""Standing commitments over HTTP: the console's extension of the OpenWOP face."""

from collections.abc import Iterable

from django.urls import URLPattern, path
from django.utils import timezone
from rest_framework import serializers
from rest_framework.decorators import api_view
from rest_framework.request import Request
from rest_framework.response import Response

from memory import commitments
from memory.commitments.lifecycle import CommitmentFilter, Shown
from memory.host import ids
from memory.host.http import (
    COUNT,
    FLAG,
    STRING,
    TEXT,
    TIME,
    After,
    Answer,
    Closed,
    Instant,
    Nothing,
    SoughtRef,
    Text,
    also,
    checked,
    listed,
    nullable,
    operation,
    page_answer,
    query_of,
    words,
)
from memory.host.json_types import JSONObject
from memory.host.paging import DEFAULT_LIMIT
from memory.host.tenancy import TenantScope, scope_of
from memory.models import CommitmentState, Condition, Firing
from memory.reasons import MAX_REASON
from memory.wire import instant

FIRING = Answer[Firing](
    "CommitmentFiring",
    occasion=(TEXT, lambda firing: firing.occasion),
    firedAt=(TIME, lambda firing: instant(firing.fired_at)),
    runId=(TEXT, lambda firing: ids.wire("run", firing.run_id)),
    enqueuedRunId=(nullable(TEXT), lambda firing: ids.wire("run", firing.enqueued_run_id)),
    causeMemoryId=(nullable(TEXT), lambda firing: ids.wire("mem", firing.cause_entry_id)),
    causeRunId=(nullable(TEXT), lambda firing: ids.wire("run", firing.cause_run_id)),
    code=(nullable(TEXT), lambda firing: firing.code or None),
)
# A commitment; ``intention`` is read from memory at this moment, and null when the entry is gone.
COMMITMENT = Answer[Shown](
    "Commitment",
    id=(TEXT, lambda shown: ids.wire("cmt", shown.row.id)),
    memoryRef=(TEXT, lambda shown: shown.row.memory_ref),
    memoryId=(TEXT, lambda shown: ids.wire("mem", shown.row.entry_id)),
    agentId=(nullable(TEXT), lambda shown: shown.row.agent_id or None),
    intention=(nullable(STRING), lambda shown: shown.intention),
    condition=(words(Condition.values), lambda shown: shown.row.condition),
    dueAt=(nullable(TIME), lambda shown: instant(shown.row.due_at)),
    timezone=(TEXT, lambda shown: shown.row.timezone),
    cron=(nullable(TEXT), lambda shown: shown.row.repeats or None),
    every=(COUNT, lambda shown: shown.row.every),
    words=(listed(TEXT), lambda shown: shown.words),
    negated=(FLAG, lambda shown: shown.row.predicate.get("negated", False)),
    holds=(FLAG, lambda shown: shown.row.holds),
    state=(words(CommitmentState.values), lambda shown: shown.row.state),
    snoozedUntil=(nullable(TIME), lambda shown: instant(shown.row.snoozed_until)),
    staleAt=(nullable(TIME), lambda shown: instant(shown.row.stale_at)),
    reason=(nullable(STRING), lambda shown: shown.row.reason or None),
    fireCount=(COUNT, lambda shown: shown.row.fired_count),
    fireLimit=(nullable(COUNT), lambda shown: shown.allowed),
    lastFiredAt=(nullable(TIME), lambda shown: instant(shown.row.last_fired_at)),
    lastRunId=(nullable(TEXT), lambda shown: ids.wire("run", shown.row.last_run_id)),
    lastCode=(nullable(TEXT), lambda shown: shown.row.last_code or None),
    createdAt=(TIME, lambda shown: instant(shown.row.created_at)),
    changedAt=(TIME, lambda shown: instant(shown.row.changed_at)),
)
COMMITMENTS = page_answer("Commitments", "commitments", COMMITMENT, "cmt")
ONE = also(COMMITMENT | {"title": "CommitmentWithFirings"}, firings=listed(FIRING))
PLACE = "v1/host/console/commitments"


class CommitmentsQuery(Closed):
    """The newest first, of one state or ref when it is named; ``after`` is what ``next`` gave."""

    state = serializers.ChoiceField(choices=CommitmentState.choices, required=False)
    memoryRef = SoughtRef()
    limit = serializers.IntegerField(required=False, min_value=1, max_value=1000)
    after = After("cmt")

    def wanted(self) -> CommitmentFilter:
        return CommitmentFilter(self.validated_data.get("state", ""), self.validated_data.get("memoryRef", ""))


class SnoozeCommitment(Closed):
    """When it may fire again, with its offset from UTC."""

    until = Instant()


class CancelCommitment(Closed):
    """Why it shall not fire."""

    reason = Text(max_length=MAX_REASON)

    def validate_reason(self, value: str) -> str:
        if not value.strip():
            raise serializers.ValidationError("must say why")
        return value


def with_firings(shown: Shown, firings: Iterable[Firing]) -> JSONObject:
    return COMMITMENT.document(shown) | {"firings": FIRING.documents(firings)}


@operation(
    "listCommitments",
    scope="memory:read",
    query=CommitmentsQuery,
    gives={200: COMMITMENTS},
    tag="commitments",
)
@api_view(["GET"])
def commitment_list(request: Request) -> Response:
    query = checked(CommitmentsQuery, query_of(request))
    given = query.validated_data
    page = commitments.lifecycle.page(
        scope_of(request),
        query.wanted(),
        after=given.get("after"),
        size=given.get("limit", DEFAULT_LIMIT),
        now=timezone.now(),
    )
    return Response(COMMITMENTS.document(page))


@operation("getCommitment", scope="memory:read", gives={200: ONE}, tag="commitments")
@api_view(["GET"])
def commitment(request: Request, commitment_id: str) -> Response:
    scope = scope_of(request)
    return Response(_document(scope, _commitment(scope, commitment_id)))


@operation(
    "snoozeCommitment",
    scope="memory:retire memory:read",
    takes=SnoozeCommitment,
    gives={200: ONE},
    tag="commitments",
)
@api_view(["POST"])
def snooze(request: Request, commitment_id: str) -> Response:
    scope, until = scope_of(request), checked(SnoozeCommitment, request.data).validated_data["until"]
    commitments.lifecycle.snooze(scope, ids.parse("cmt", commitment_id), until=until, now=timezone.now())
    return Response(_document(scope, _commitment(scope, commitment_id)))


@operation(
    "cancelCommitment",
    scope="memory:retire memory:read",
    takes=CancelCommitment,
    gives={200: ONE},
    tag="commitments",
)
@api_view(["POST"])
def cancel(request: Request, commitment_id: str) -> Response:
    scope, given = scope_of(request), checked(CancelCommitment, request.data).validated_data
    commitments.lifecycle.cancel(scope, ids.parse("cmt", commitment_id), reason=given["reason"], now=timezone.now())
    return Response(_document(scope, _commitment(scope, commitment_id)))


@operation("armCommitment", scope="memory:retire memory:read", takes=Nothing, gives={200: ONE}, tag="commitments")
@api_view(["POST"])
def arm(request: Request, commitment_id: str) -> Response:
    """A possible commitment was meant: it fires from now on as others do."""
    checked(Nothing, request.data)
    scope = scope_of(request)
    commitments.lifecycle.arm(scope, ids.parse("cmt", commitment_id), now=timezone.now())
    return Response(_document(scope, _commitment(scope, commitment_id)))


@operation("dismissCommitment", scope="memory:retire memory:read", takes=Nothing, gives={200: ONE}, tag="commitments")
@api_view(["POST"])
def dismiss(request: Request, commitment_id: str) -> Response:
    """A possible commitment was not meant: it is cancelled."""
    checked(Nothing, request.data)
    scope = scope_of(request)
    commitments.lifecycle.dismiss(scope, ids.parse("cmt", commitment_id), now=timezone.now())
    return Response(_document(scope, _commitment(scope, commitment_id)))


def _commitment(scope: TenantScope, commitment_id: str) -> Shown:
    return commitments.lifecycle.find(scope, ids.parse("cmt", commitment_id), now=timezone.now())


def _document(scope: TenantScope, shown: Shown) -> dict[str, object]:
    return with_firings(shown, commitments.lifecycle.firings_of(scope, shown.row.id))


urlpatterns: list[URLPattern] = [
    path(PLACE, commitment_list, name="api-commitments"),
    path(f"{PLACE}/<str:commitment_id>", commitment, name="api-commitment"),
    path(f"{PLACE}/<str:commitment_id>/arm", arm, name="api-commitment-arm"),
    path(f"{PLACE}/<str:commitment_id>/dismiss", dismiss, name="api-commitment-dismiss"),
    path(f"{PLACE}/<str:commitment_id>/snooze", snooze, name="api-commitment-snooze"),
    path(f"{PLACE}/<str:commitment_id>/cancel", cancel, name="api-commitment-cancel"),
]
