"""``/api/v1/intents/{id}/acl``: grants of RFC-0011, in the shapes of the published client (C18)."""

from datetime import datetime
from typing import Any

from django.urls import URLPattern, path
from django.utils import timezone
from rest_framework import serializers
from rest_framework.decorators import api_view, parser_classes
from rest_framework.request import Request
from rest_framework.response import Response

from memory.api.openintent import schemas
from memory.api.openintent.bodies import ExactJSONParser
from memory.api.openintent.calling import caller_of, described, permitted_first
from memory.api.openintent.documents import instant
from memory.api.openintent.serializers import AgentId, Moment, Word
from memory.api.openintent.work import calls
from memory.host import ids
from memory.host.serializing import Closed, Text, checked
from memory.models import Grant, Intent
from memory.tiers import READ, WRITE
from memory.work import grants
from memory.work.grants import MAX_GRANTS, PERMISSIONS, NewGrant

CLOSED = "closed"


class GrantBody(Closed):
    """``reason`` is for the reader of the request; it is not kept."""

    principal_id = AgentId()
    principal_type = Word(("agent",), default="agent")
    permission = Word(PERMISSIONS, default="read")
    task_id = Text(required=False, allow_null=True, allow_blank=True, max_length=128)
    expires_at = Moment(required=False, allow_null=True)
    reason = Text(required=False, allow_null=True, allow_blank=True, max_length=2000)


class AclBody(Closed):
    """Memory is nobody else's unless somebody says so (RFC-0015 9.1): an open default is refused."""

    default_policy = Word((CLOSED,), default=CLOSED)
    entries = serializers.ListField(child=GrantBody(), max_length=MAX_GRANTS, default=list)


@described("getAcl", method="GET", scope=READ, gives={200: schemas.ACL})
@described("replaceAcl", method="PUT", scope=WRITE, takes=AclBody, gives={200: schemas.ACL})
@api_view(["GET", "PUT"])
@parser_classes([ExactJSONParser])
def acl(request: Request, intent_id: str) -> Response:
    """The grants of an intent: read, or replaced whole."""
    caller, now = caller_of(request), timezone.now()
    if request.method == "PUT":
        with permitted_first(lambda: calls.require_direction(caller, intent_id)):
            given = [_wanted(each) for each in checked(AclBody, request.data).validated_data["entries"]]
        about, rows = grants.replace(caller.scope, intent_id, given, actor=caller.agent_id, now=now)
    else:
        about, rows = grants.of_intent(caller.scope, intent_id, actor=caller.agent_id, now=now)
    return Response(_acl_document(about, rows))


@described("grantAccess", scope=WRITE, takes=GrantBody, gives={201: schemas.GRANT})
@api_view(["POST"])
@parser_classes([ExactJSONParser])
def acl_entries(request: Request, intent_id: str) -> Response:
    """One more grant."""
    caller = caller_of(request)
    with permitted_first(lambda: calls.require_direction(caller, intent_id)):
        given = _wanted(checked(GrantBody, request.data).validated_data)
    row = grants.grant(caller.scope, intent_id, given, actor=caller.agent_id, now=timezone.now())
    return Response(_grant_document(row), status=201)


@described("revokeAccess", scope=WRITE, gives={204: None})
@api_view(["DELETE"])
def acl_entry(request: Request, intent_id: str, entry_id: str) -> Response:
    """The grant holds no more."""
    caller = caller_of(request)
    grants.revoke(caller.scope, intent_id, entry_id, actor=caller.agent_id, now=timezone.now())
    return Response(status=204)


def _wanted(given: dict[str, Any]) -> NewGrant:
    ends: datetime | None = given.get("expires_at")
    return NewGrant(given["principal_id"], given["permission"], given.get("task_id") or "", ends)


def _acl_document(about: Intent, rows: list[Grant]) -> dict[str, Any]:
    return {
        "intent_id": ids.wire("intent", about.id),
        "default_policy": CLOSED,
        "entries": [_grant_document(row) for row in rows],
    }


def _grant_document(row: Grant) -> dict[str, Any]:
    return {
        "id": ids.wire("acl", row.id),
        "principal_id": row.agent_id,
        "principal_type": "agent",
        "permission": row.permission,
        "task_id": ids.wire("task", row.task_id) if row.task_id else None,
        "granted_by": row.granted_by,
        "granted_at": instant(row.granted_at),
        "expires_at": instant(row.expires_at) if row.expires_at else None,
        "reason": None,
    }


urlpatterns: list[URLPattern] = [
    path("api/v1/intents/<str:intent_id>/acl", acl, name="openintent-acl"),
    path("api/v1/intents/<str:intent_id>/acl/entries", acl_entries, name="openintent-acl-entries"),
    path("api/v1/intents/<str:intent_id>/acl/entries/<str:entry_id>", acl_entry, name="openintent-acl-entry"),
]
