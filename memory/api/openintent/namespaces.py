"""``/api/v1/memory/namespaces``: namespaces of semantic memory and their permissions (RFC-0015 2.3; R102 to R104)."""

from typing import Any

from django.urls import URLPattern, path
from django.utils import timezone
from rest_framework import serializers
from rest_framework.decorators import api_view, parser_classes
from rest_framework.request import Request
from rest_framework.response import Response

from memory import namespaces
from memory.agent_memory.queries import MAX_LIMIT
from memory.api.openintent import schemas
from memory.api.openintent.bodies import ExactJSONParser
from memory.api.openintent.calling import caller_of, described, permitted_first
from memory.api.openintent.documents import instant
from memory.api.openintent.entries import version_of
from memory.api.openintent.paging import Problems, page_of
from memory.api.openintent.serializers import AgentId, Word
from memory.host.errors import Invalid
from memory.host.serializing import Closed, checked
from memory.models import Namespace
from memory.namespaces import MAX_RULES, Held, Permissions
from memory.tiers import READ, WRITE


class RuleBody(Closed):
    """One rule; ``level`` is RFC-0011's word for ``access``."""

    agent = AgentId()
    access = Word(Namespace.ACCESS, required=False)
    level = Word(Namespace.ACCESS, required=False)

    def validate(self, given: dict[str, Any]) -> dict[str, Any]:
        said = {given[word] for word in ("access", "level") if word in given}
        if len(said) != 1:
            raise serializers.ValidationError({"access": ["say one of none, read, write and admin"]})
        return {"agent": given["agent"], "access": said.pop()}


class PermissionsBody(Closed):
    """What is not named stays as it is; ``allow`` is replaced whole."""

    default = Word(Namespace.ACCESS, required=False)
    allow = serializers.ListField(child=RuleBody(), required=False, max_length=MAX_RULES)

    def validate_allow(self, rules: list[dict[str, Any]]) -> list[dict[str, Any]]:
        if len({each["agent"] for each in rules}) < len(rules):
            raise serializers.ValidationError("names an agent twice")
        return rules

    def validate(self, given: dict[str, Any]) -> dict[str, Any]:
        if not given:
            raise serializers.ValidationError({"default": ["say default, allow, or both"]})
        return given


class ChangeBody(Closed):
    permissions = PermissionsBody()


@described("listNamespaces", scope=READ, query=schemas.Paged, gives={200: schemas.NAMESPACES})
@api_view(["GET"])
def listing(request: Request) -> Response:
    """Those that the caller may read, by name: all that a page holds, or the page that is asked for."""
    problems: Problems = []
    limit, offset = page_of(request.query_params, problems, default=MAX_LIMIT)
    if problems:
        raise Invalid("The namespaces cannot be listed like that.", errors=problems)
    page = namespaces.held(caller_of(request), limit=limit, offset=offset, now=timezone.now())
    listed = [_document(each) for each in page.found]
    return Response({"namespaces": listed, "total": page.total, "limit": limit, "offset": offset})


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
        found = namespaces.one(caller, name, now=now)
    return Response(_document(found), headers={"ETag": f'"{found.row.version}"'})


def _wanted(body: Any) -> Permissions:
    """Flat or under ``permissions``, as the caller likes."""
    nested = isinstance(body, dict) and "permissions" in body
    given = checked(ChangeBody if nested else PermissionsBody, body).validated_data
    return Permissions(**(given["permissions"] if nested else given))


def _document(held: Held) -> dict[str, Any]:
    row = held.row
    return {
        "namespace": row.name,
        "access": held.access,
        "entry_count": held.entry_count,
        "permissions": {"default": row.default, "allow": row.allow},
        "version": row.version,
        "created_by": row.created_by,
        "created_at": instant(row.created_at),
        "updated_at": instant(row.updated_at),
    }


urlpatterns: list[URLPattern] = [
    path("api/v1/memory/namespaces", listing, name="openintent-namespaces"),
    path("api/v1/memory/namespaces/<path:name>", namespace, name="openintent-namespace"),
]
