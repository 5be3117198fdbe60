"""Installed artifacts over HTTP: every version, its bytes, and rolling back, disabling and enabling it."""

from collections.abc import Callable

from django.utils import timezone
from rest_framework import serializers
from rest_framework.decorators import api_view
from rest_framework.request import Request
from rest_framework.response import Response

from memory import artifact_stops
from memory.host import ids
from memory.host.http import (
    FLAG,
    SHA256,
    STRING,
    TEXT,
    TIME,
    After,
    Answer,
    Closed,
    checked,
    nullable,
    operation,
    page_answer,
    query_of,
    words,
)
from memory.host.models import ArtifactKind, Installation
from memory.host.paging import DEFAULT_LIMIT
from memory.host.tenancy import scope_of
from memory.reasons import MAX_REASON
from memory.wire import instant
from proposals import installation, lifecycle, revisions
from proposals.api.serializers import (
    INSTALLATION,
    PROPOSAL,
    before_the_body,
)

TAG = "proposals"
# An installed version without its text, which stands under its ref.
INSTALLED_VERSION = Answer[Installation](
    "InstalledVersion",
    id=(TEXT, lambda row: ids.wire("inst", row.id)),
    ref=(TEXT, lambda row: row.ref),
    kind=(words(ArtifactKind.values), lambda row: row.kind),
    name=(TEXT, lambda row: row.name),
    version=(TEXT, lambda row: row.version),
    sha256=(SHA256, lambda row: row.sha256),
    source=(TEXT, lambda row: row.source),
    partOf=(nullable(TEXT), lambda row: row.part_of.ref if row.part_of_id else None),
    current=(FLAG, lambda row: row.superseded_at is None),
    disabled=(FLAG, lambda row: _disabled(row) is not None),
    disabledAt=(nullable(TIME), lambda row: instant(stop.disabled_at) if (stop := _disabled(row)) else None),
    disabledBy=(nullable(TEXT), lambda row: stop.disabled_by if (stop := _disabled(row)) else None),
    disabledReason=(nullable(STRING), lambda row: stop.disabled_reason if (stop := _disabled(row)) else None),
    installedBy=(TEXT, lambda row: row.installed_by),
    installedAt=(TIME, lambda row: instant(row.installed_at)),
    supersededAt=(nullable(TIME), lambda row: instant(row.superseded_at)),
)
INSTALLED_VERSIONS = page_answer("InstalledVersions", "artifacts", INSTALLED_VERSION, "inst")


def _disabled(row: Installation) -> Installation | None:
    """The version that was disabled, itself or its pack: who disabled it and why stand there."""
    return row if row.disabled_at else row.part_of if row.is_disabled else None


class ArtifactsQuery(Closed):
    """The latest installed first, current or not; of one kind or name when they are given."""

    kind = serializers.CharField(required=False, max_length=64)
    name = serializers.CharField(required=False, max_length=256)
    limit = serializers.IntegerField(required=False, min_value=1, max_value=1000)
    after = After("inst")


class RollBack(Closed):
    """Why the earlier version is to come back."""

    rationale = serializers.CharField(required=False, allow_blank=True)


class StopReason(Closed):
    """Why an installed artifact is disabled, or enabled again."""

    reason = serializers.CharField(max_length=MAX_REASON)


@operation("getInstalledArtifact", scope="artifacts:read", gives={200: INSTALLATION}, tag=TAG)
@api_view(["GET"])
def artifact(request: Request, ref: str) -> Response:
    return Response(INSTALLATION.document(artifact_stops.find(scope_of(request), ref)))


@operation(
    "listInstalledArtifacts",
    scope="artifacts:read",
    query=ArtifactsQuery,
    gives={200: INSTALLED_VERSIONS},
    tag=TAG,
)
@api_view(["GET"])
def artifact_list(request: Request) -> Response:
    """Every version that was ever installed, the latest first; the text of one stands under its ref."""
    given = dict(checked(ArtifactsQuery, query_of(request)).validated_data)
    before, limit = given.pop("after", None), given.pop("limit", DEFAULT_LIMIT)
    page = installation.list_installed(scope_of(request), **given, before=before, limit=limit)
    return Response(INSTALLED_VERSIONS.document(page))


@operation("rollBackArtifact", scope="proposals:create", takes=RollBack, gives={201: PROPOSAL}, tag=TAG)
@api_view(["POST"])
def artifact_rollback(request: Request, ref: str) -> Response:
    """A proposal to make that version the current one again; its gate decides."""
    scope, now = scope_of(request), timezone.now()
    with before_the_body(scope, "create", now=now):
        rationale = checked(RollBack, request.data).validated_data.get("rationale", "")
    made = lifecycle.propose(scope, ref, rationale=rationale, now=now)
    return Response(PROPOSAL.document(revisions.current_with_tenant(made)), status=201)


@operation(
    "disableArtifact",
    scope=artifact_stops.SCOPE,
    takes=StopReason,
    gives={200: INSTALLED_VERSION},
    tag=TAG,
)
@api_view(["POST"])
def artifact_disable(request: Request, ref: str) -> Response:
    """No run uses the current version any more; one that needs it fails with ``artifact_disabled``."""
    return _stopped_or_started(request, ref, artifact_stops.disable)


@operation(
    "enableArtifact",
    scope=artifact_stops.SCOPE,
    takes=StopReason,
    gives={200: INSTALLED_VERSION},
    tag=TAG,
)
@api_view(["POST"])
def artifact_enable(request: Request, ref: str) -> Response:
    """Runs use the version again, and an automation keeps its time."""
    return _stopped_or_started(request, ref, artifact_stops.enable)


def _stopped_or_started(request: Request, ref: str, act: Callable[..., Installation]) -> Response:
    scope, now = scope_of(request), timezone.now()
    artifact_stops.authorize(scope, now=now)
    reason = checked(StopReason, request.data).validated_data["reason"]
    return Response(INSTALLED_VERSION.document(act(scope, ref, reason=reason, now=now)))
