"""``/api/v1/memory/namespaces``: namespaces of semantic memory and their permissions (RFC-0015 2.3; R102 to R104)."""

from collections.abc import Mapping
from datetime import datetime

from django.urls import URLPattern, path
from django.utils import timezone
from rest_framework import serializers
from rest_framework.decorators import api_view, parser_classes
from rest_framework.request import Request
from rest_framework.response import Response

from memory.addresses import MAX_NAME
from memory.host import ids
from memory.host.errors import Invalid
from memory.host.http import Closed, Text, checked
from memory.host.json_types import JSONObject
from memory.models import Grant, Intent, Namespace
from memory.openintent import namespaces
from memory.openintent.access import READ, WRITE
from memory.openintent.api import intents, schemas
from memory.openintent.api.entries import version_of
from memory.openintent.api.http import ExactJSONParser, Problems, caller_of, described, page_of, permitted_first
from memory.openintent.api.serializers import AgentId, Moment, Word, is_clean
from memory.openintent.namespaces import MAX_RULES, SEPARATOR, Labelled, Permissions
from memory.openintent.queries import MAX_LIMIT
from memory.openintent.work import grants
from memory.openintent.work.grants import MAX_GRANTS, PERMISSIONS, NewGrant

CLOSED = "closed"


class RuleBody(Closed):
    """One rule; ``level`` is RFC-0011's word for ``access``."""

    agent = AgentId()
    access = Word(Namespace.ACCESS, required=False)
    level = Word(Namespace.ACCESS, required=False)

    def validate(self, given: dict[str, object]) -> dict[str, object]:
        said = {given[word] for word in ("access", "level") if word in given}
        if len(said) != 1:
            raise serializers.ValidationError({"access": ["must be none, read, write or admin"]})
        return {"agent": given["agent"], "access": said.pop()}


class PermissionsBody(Closed):
    """What is not named stays as it is; ``allow`` is replaced whole."""

    default = Word(Namespace.ACCESS, required=False)
    allow = serializers.ListField(child=RuleBody(), required=False, max_length=MAX_RULES)

    def validate_allow(self, rules: list[JSONObject]) -> list[JSONObject]:
        if len({each["agent"] for each in rules}) < len(rules):
            raise serializers.ValidationError("names an agent twice")
        return rules

    def validate(self, given: dict[str, object]) -> dict[str, object]:
        if not given:
            raise serializers.ValidationError({"default": ["must have default, allow, or both"]})
        return given


class ChangeBody(Closed):
    permissions = PermissionsBody()


@described("listNamespaces", scope=READ, query=schemas.SoughtNamespaces, gives={200: schemas.NAMESPACES})
@api_view(["GET"])
def listing(request: Request) -> Response:
    """Those that the caller may read, by name: all that a page holds, or the page that is asked for. Where ``prefix``,
    ``suffix`` or ``max_depth`` asks by labels, the names alone: a name that is cut may stand for many."""
    problems: Problems = []
    limit, offset = page_of(request.query_params, problems, default=MAX_LIMIT)
    labelled = _labelled(request.query_params, problems)
    if problems:
        raise Invalid("The namespaces cannot be listed like that.", errors=problems)
    caller, now = caller_of(request), timezone.now()
    if labelled:
        names = namespaces.list_labelled(caller, labelled, limit=limit, offset=offset, now=now)
        listed, total = [{"namespace": each} for each in names.names], names.total
    else:
        page = namespaces.list_namespaces(caller, limit=limit, offset=offset, now=now)
        listed, total = schemas.NAMESPACE.documents(page.found), page.total
    return Response({"namespaces": listed, "total": total, "limit": limit, "offset": offset})


def _labelled(given: Mapping[str, str], problems: Problems) -> Labelled | None:
    """What is asked by labels, if anything; what is wrong with it is added to ``problems``."""
    if not {"prefix", "suffix", "max_depth"} & given.keys():
        return None
    parts = {
        name: given[name].removesuffix(SEPARATOR).split(SEPARATOR) for name in ("prefix", "suffix") if name in given
    }
    for name, labels in parts.items():
        if len(given[name]) > MAX_NAME or not all(labels) or not is_clean(given[name]):
            message = f"must be labels separated by dots, at most {MAX_NAME} characters"
            problems.append({"field": name, "message": message})
    depth = given.get("max_depth")
    if depth is not None and not (depth.isascii() and depth.isdigit() and 0 < int(depth[:4]) <= MAX_NAME):
        problems.append({"field": "max_depth", "message": f"must be a whole number from 1 to {MAX_NAME}"})
        depth = None
    return Labelled(**{name: tuple(labels) for name, labels in parts.items()}, max_depth=int(depth) if depth else None)


@described("getNamespace", method="GET", scope=READ, gives={200: schemas.NAMESPACE})
@described(
    "changeNamespace",
    method="PATCH",
    scope=WRITE,
    headers=("If-Match",),
    takes=schemas.NAMESPACE_CHANGE,
    gives={200: schemas.NAMESPACE},
)
@api_view(["GET", "PATCH"])
@parser_classes([ExactJSONParser])
def namespace(request: Request, name: str) -> Response:
    """A namespace of semantic memory and who may do what in it."""
    caller, now = caller_of(request), timezone.now()
    if request.method == "PATCH":
        with permitted_first(lambda: namespaces.require_admin(caller, name, now=now)):
            wanted, version = _wanted(request.data), version_of(request)
        found = namespaces.change(caller, name, wanted, version=version, now=now)
    else:
        found = namespaces.get_namespace(caller, name, now=now)
    return Response(schemas.NAMESPACE.document(found), headers={"ETag": f'"{found.row.version}"'})


def _wanted(body: object) -> Permissions:
    """Flat or under ``permissions``, as the caller likes."""
    nested = isinstance(body, dict) and "permissions" in body
    given = checked(ChangeBody if nested else PermissionsBody, body).validated_data
    return Permissions(**(given["permissions"] if nested else given))


urlpatterns: list[URLPattern] = [
    path("api/v1/memory/namespaces", listing, name="openintent-namespaces"),
    path("api/v1/memory/namespaces/<path:name>", namespace, name="openintent-namespace"),
]


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
        with permitted_first(lambda: intents.require_direction(caller, intent_id)):
            given = [_wanted_grant(each) for each in checked(AclBody, request.data).validated_data["entries"]]
        about, rows = grants.replace(caller.scope, intent_id, given, actor=caller.agent_id, now=now)
    else:
        about, rows = grants.grants_of_intent(caller.scope, intent_id, actor=caller.agent_id, now=now)
    return Response(_acl_document(about, rows))


@described("grantAccess", scope=WRITE, takes=GrantBody, gives={201: schemas.GRANT})
@api_view(["POST"])
@parser_classes([ExactJSONParser])
def acl_entries(request: Request, intent_id: str) -> Response:
    """One more grant."""
    caller = caller_of(request)
    with permitted_first(lambda: intents.require_direction(caller, intent_id)):
        given = _wanted_grant(checked(GrantBody, request.data).validated_data)
    row = grants.grant(caller.scope, intent_id, given, actor=caller.agent_id, now=timezone.now())
    return Response(schemas.GRANT.document(row), status=201)


@described("revokeAccess", scope=WRITE, gives={204: None})
@api_view(["DELETE"])
def acl_entry(request: Request, intent_id: str, entry_id: str) -> Response:
    """The grant holds no more."""
    caller = caller_of(request)
    grants.revoke(caller.scope, intent_id, entry_id, actor=caller.agent_id, now=timezone.now())
    return Response(status=204)


def _wanted_grant(given: JSONObject) -> NewGrant:
    ends: datetime | None = given.get("expires_at")
    return NewGrant(given["principal_id"], given["permission"], given.get("task_id") or "", ends)


def _acl_document(about: Intent, rows: list[Grant]) -> JSONObject:
    return {
        "intent_id": ids.wire("intent", about.id),
        "default_policy": CLOSED,
        "entries": schemas.GRANT.documents(rows),
    }


acl_patterns: list[URLPattern] = [
    path("api/v1/intents/<str:intent_id>/acl", acl, name="openintent-acl"),
    path("api/v1/intents/<str:intent_id>/acl/entries", acl_entries, name="openintent-acl-entries"),
    path("api/v1/intents/<str:intent_id>/acl/entries/<str:entry_id>", acl_entry, name="openintent-acl-entry"),
]
