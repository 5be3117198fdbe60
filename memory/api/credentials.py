"""``/v1/host/console/keys`` and ``/v1/host/console/operators``: what was given to whom, and taking it back; and the
secrets that runs resolve by name."""

from django.utils import timezone
from rest_framework.decorators import api_view
from rest_framework.request import Request
from rest_framework.response import Response

from memory.api import serializers
from memory.host import access, ids, key_management, operators, vault
from memory.host.api_keys import NewKey
from memory.host.http import (
    FLAG,
    STRING,
    TEXT,
    TIME,
    Answer,
    Nothing,
    checked,
    closed,
    listed,
    nullable,
    operation,
    page_answer,
    query_of,
    words,
)
from memory.host.json_types import JSONObject
from memory.host.key_management import KeyRecord
from memory.host.operators import OperatorRecord
from memory.host.paging import DEFAULT_LIMIT
from memory.host.tenancy import scope_of
from memory.wire import instant

ROLE = words(access.ROLES)
KEY = Answer[KeyRecord](
    "ApiKey",
    id=(TEXT, lambda record: ids.wire("key", record.row.id)),
    name=(STRING, lambda record: record.row.name),
    roles=(listed(ROLE), lambda record: record.roles),
    person=(nullable(TEXT), lambda record: record.person or None),
    agents=(listed(TEXT), lambda record: record.row.agents),
    state=(words(key_management.STATES), lambda record: record.state),
    createdAt=(TIME, lambda record: instant(record.row.created_at)),
    rotatedAt=(nullable(TIME), lambda record: instant(record.row.rotated_at)),
    lastUsedAt=(nullable(TIME), lambda record: instant(record.row.last_used_at)),
    expiresAt=(nullable(TIME), lambda record: instant(record.row.expires_at)),
    revokedAt=(nullable(TIME), lambda record: instant(record.row.revoked_at)),
)
# The text is shown in the first answer; the one that an Idempotency-Key brings again has null in its place.
NEW_KEY = closed("NewApiKey", **KEY["properties"], key=nullable(TEXT))
KEYS = page_answer("ApiKeyPage", "keys", KEY, "key")
OPERATOR = Answer[OperatorRecord](
    "Operator",
    id=(TEXT, lambda record: record.principal),
    email=(TEXT, lambda record: record.email),
    roles=(listed(ROLE), lambda record: record.roles),
    active=(FLAG, lambda record: record.row.is_active),
    createdAt=(TIME, lambda record: instant(record.row.created_at)),
)
OPERATORS = page_answer("OperatorPage", "operators", OPERATOR, "usr")


@operation(
    "listApiKeys", method="GET", scope=key_management.SCOPE, query=serializers.KeysQuery, gives={200: KEYS}, tag="keys"
)
@operation(
    "createApiKey",
    method="POST",
    scope=key_management.SCOPE,
    takes=serializers.NewKeyRequest,
    gives={201: NEW_KEY},
    tag="keys",
    shown_once=("key",),
)
@api_view(["GET", "POST"])
def key_list(request: Request) -> Response:
    scope, now = scope_of(request), timezone.now()
    scope.check(key_management.SCOPE)
    if request.method == "GET":
        given = checked(serializers.KeysQuery, query_of(request)).validated_data
        page = key_management.list_keys(
            scope, after=given.get("after"), limit=given.get("limit", DEFAULT_LIMIT), now=now
        )
        return Response(KEYS.document(page))
    given = checked(serializers.NewKeyRequest, request.data).validated_data
    made = key_management.create(
        scope,
        role=given["role"],
        agents=tuple(given.get("agents", ())),
        name=given.get("name", ""),
        person=given.get("person", ""),
        expires_at=given.get("expiresAt"),
        now=now,
    )
    return Response(_new_key_document(key_management.find(scope, made.key_id, now=now), made), status=201)


@operation("revokeApiKey", scope=key_management.SCOPE, gives={204: None}, tag="keys")
@api_view(["DELETE"])
def key(request: Request, key_id: str) -> Response:
    key_management.revoke(scope_of(request), ids.parse("key", key_id), now=timezone.now())
    return Response(status=204)


@operation("rotateApiKey", scope=key_management.SCOPE, gives={200: NEW_KEY}, tag="keys", shown_once=("key",))
@api_view(["POST"])
def key_rotate(request: Request, key_id: str) -> Response:
    scope, now = scope_of(request), timezone.now()
    key_management.check_manager(scope, key_management.SCOPE)
    checked(Nothing, request.data)
    made = key_management.rotate(scope, ids.parse("key", key_id), now=now)
    return Response(_new_key_document(key_management.find(scope, made.key_id, now=now), made))


@operation(
    "listOperators", scope=operators.SCOPE, query=serializers.OperatorsQuery, gives={200: OPERATORS}, tag="operators"
)
@api_view(["GET"])
def operator_list(request: Request) -> Response:
    scope = scope_of(request)
    scope.check(operators.SCOPE)
    given = checked(serializers.OperatorsQuery, query_of(request)).validated_data
    page = operators.list_operators(scope, after=given.get("after"), limit=given.get("limit", DEFAULT_LIMIT))
    return Response(OPERATORS.document(page))


@operation(
    "changeOperator", scope=operators.SCOPE, takes=serializers.OperatorChange, gives={200: OPERATOR}, tag="operators"
)
@api_view(["PATCH"])
def operator(request: Request, operator_id: str) -> Response:
    scope = scope_of(request)
    found = operators.find(scope, ids.parse("usr", operator_id))
    given = checked(serializers.OperatorChange, request.data).validated_data
    changed = operators.change(scope, found.row.operator_id, **given, now=timezone.now())
    return Response(OPERATOR.document(changed))


def _new_key_document(record: KeyRecord, made: NewKey) -> JSONObject:
    return {**KEY.document(record), "key": made.text}


@operation(
    "putSecret", method="PUT", scope="secrets:manage", takes=serializers.SecretValue, gives={204: None}, tag="secrets"
)
@operation(
    "deleteSecret",
    method="DELETE",
    scope="secrets:manage",
    query=serializers.SecretPlace,
    gives={204: None},
    tag="secrets",
)
@api_view(["PUT", "DELETE"])
def secret(request: Request, name: str) -> Response:
    """Write-only: a value goes in, is replaced or removed, and never comes out."""
    if request.method == "DELETE":
        place = checked(serializers.SecretPlace, query_of(request)).place()
        vault.remove_secret(scope_of(request), name, now=timezone.now(), **place)
    else:
        given = checked(serializers.SecretValue, request.data)
        value = given.validated_data["value"]
        vault.set_secret(scope_of(request), name, value, now=timezone.now(), **given.place())
    return Response(status=204)
