"""``/v1/webhooks`` and ``/v1/host/console/webhooks``: who is told of events, as the protocol has it and beyond."""

from django.utils import timezone
from rest_framework import serializers
from rest_framework.decorators import api_view
from rest_framework.request import Request
from rest_framework.response import Response

from memory.host import ids, webhooks
from memory.host.http import (
    COUNT,
    TEXT,
    TIME,
    After,
    Closed,
    Text,
    checked,
    closed,
    listed,
    nullable,
    operation,
    query_of,
    words,
)
from memory.host.json_types import JSONObject
from memory.host.models import DeliveryState, Webhook, WebhookDelivery, WebhookState
from memory.host.paging import DEFAULT_LIMIT, cursor
from memory.host.tenancy import scope_of
from memory.host.webhooks import NewSecret
from memory.wire import instant

FINGERPRINT = {"type": "string", "pattern": "^[0-9a-f]{8}$"}
TYPE = words(webhooks.TYPES)
WEBHOOK = closed(
    "Webhook",
    id=TEXT,
    url=TEXT,
    events=listed(TYPE),
    tags=listed(TEXT),
    state=words(WebhookState),
    secretFingerprint=FINGERPRINT,
    signatureAlgorithm={"const": webhooks.ALGORITHM},
    createdBy=TEXT,
    createdAt=TIME,
)
WEBHOOKS = closed("WebhookPage", webhooks=listed(WEBHOOK), total=COUNT, next=nullable(TEXT))
# The secret is shown in the first answer; the one that an Idempotency-Key brings again has null in its place.
NEW_WEBHOOK = closed(
    "NewWebhook",
    id=TEXT,
    webhookId=TEXT,
    secret=nullable(TEXT),
    secretFingerprint=FINGERPRINT,
    signatureAlgorithm={"const": webhooks.ALGORITHM},
)


DELIVERY = closed(
    "WebhookDelivery",
    id=TEXT,
    messageId=TEXT,
    type=TYPE,
    state=words(DeliveryState),
    attempts=COUNT,
    status=nullable(COUNT),
    code=nullable(TEXT),
    createdAt=TIME,
    lastAttemptAt=nullable(TIME),
    nextAttemptAt=nullable(TIME),
    endedAt=nullable(TIME),
)
DELIVERIES = closed("WebhookDeliveryPage", deliveries=listed(DELIVERY), total=COUNT, next=nullable(TEXT))


class NewWebhookRequest(Closed):
    """``POST /v1/webhooks``; with ``tags``, events of runs that have one of them."""

    url = Text()
    events = serializers.ListField(
        child=serializers.ChoiceField(choices=webhooks.TYPES), allow_empty=False, max_length=len(webhooks.TYPES)
    )
    tenantId = Text(required=False, max_length=128)
    tags = serializers.ListField(child=Text(min_length=1, max_length=256), required=False, max_length=webhooks.MAX_TAGS)


class WebhookPlace(Closed):
    """``DELETE /v1/webhooks/{id}``: the tenant may be named, which is the credential's."""

    tenantId = Text(required=False, max_length=128)


class WebhooksQuery(Closed):
    """``GET /v1/host/console/webhooks``; ``after`` is the id that ``next`` gave."""

    after = After("whk")
    limit = serializers.IntegerField(required=False, min_value=1, max_value=200)


class DeliveriesQuery(Closed):
    """``GET /v1/host/console/webhooks/{id}/deliveries``; ``after`` is the id that ``next`` gave."""

    after = After("dlv")
    limit = serializers.IntegerField(required=False, min_value=1, max_value=200)


@operation(
    "registerWebhook",
    scope=webhooks.SCOPE,
    takes=NewWebhookRequest,
    gives={201: NEW_WEBHOOK},
    tag="webhooks",
    shown_once=("secret",),
)
@api_view(["POST"])
def webhook_registration(request: Request) -> Response:
    scope = scope_of(request)
    webhooks.check_manager(scope)
    given = checked(NewWebhookRequest, request.data).validated_data
    made = webhooks.create_webhook(
        scope,
        given["url"],
        given["events"],
        tags=given.get("tags", []),
        tenant_slug=given.get("tenantId", ""),
        now=timezone.now(),
    )
    return Response(new_document(made), status=201)


@operation("unregisterWebhook", scope=webhooks.SCOPE, query=WebhookPlace, gives={204: None}, tag="webhooks")
@api_view(["DELETE"])
def webhook_removal(request: Request, webhook_id: str) -> Response:
    scope = scope_of(request)
    webhooks.check_manager(scope)
    slug = checked(WebhookPlace, query_of(request)).validated_data.get("tenantId", "")
    webhooks.remove_webhook(scope, ids.parse("whk", webhook_id), tenant_slug=slug, now=timezone.now())
    return Response(status=204)


@operation("listWebhooks", scope=webhooks.SCOPE, query=WebhooksQuery, gives={200: WEBHOOKS}, tag="webhooks")
@api_view(["GET"])
def webhook_list(request: Request) -> Response:
    scope = scope_of(request)
    webhooks.check_manager(scope)
    given = checked(WebhooksQuery, query_of(request)).validated_data
    page = webhooks.list_webhooks(scope, after=given.get("after"), limit=given.get("limit", DEFAULT_LIMIT))
    found = [webhook_document(each) for each in page.rows]
    return Response({"webhooks": found, "total": page.total, "next": cursor("whk", page.after)})


@operation(
    "listWebhookDeliveries", scope=webhooks.SCOPE, query=DeliveriesQuery, gives={200: DELIVERIES}, tag="webhooks"
)
@api_view(["GET"])
def delivery_list(request: Request, webhook_id: str) -> Response:
    scope = scope_of(request)
    webhooks.check_manager(scope)
    given = checked(DeliveriesQuery, query_of(request)).validated_data
    found, limit = ids.parse("whk", webhook_id), given.get("limit", DEFAULT_LIMIT)
    page = webhooks.list_deliveries(scope, found, after=given.get("after"), limit=limit)
    rows = [delivery_document(each) for each in page.rows]
    return Response({"deliveries": rows, "total": page.total, "next": cursor("dlv", page.after)})


@operation("redeliverWebhook", scope=webhooks.SCOPE, gives={200: DELIVERY}, tag="webhooks")
@api_view(["POST"])
def delivery_again(request: Request, webhook_id: str, delivery_id: str) -> Response:
    wanted = ids.parse("whk", webhook_id), ids.parse("dlv", delivery_id)
    return Response(delivery_document(webhooks.redeliver(scope_of(request), *wanted, now=timezone.now())))


@operation("readWebhook", scope=webhooks.SCOPE, gives={200: WEBHOOK}, tag="webhooks")
@api_view(["GET"])
def webhook(request: Request, webhook_id: str) -> Response:
    return Response(webhook_document(webhooks.find(scope_of(request), ids.parse("whk", webhook_id))))


@operation(
    "rotateWebhookSecret", scope=webhooks.SCOPE, gives={200: NEW_WEBHOOK}, tag="webhooks", shown_once=("secret",)
)
@api_view(["POST"])
def webhook_rotate(request: Request, webhook_id: str) -> Response:
    made = webhooks.rotate_secret(scope_of(request), ids.parse("whk", webhook_id), now=timezone.now())
    return Response(new_document(made))


def webhook_document(row: Webhook) -> JSONObject:
    """A subscription as it is read; the secret is not in it."""
    return {
        "id": webhooks.wire_id(row),
        "url": row.url,
        "events": row.events,
        "tags": row.tags,
        "state": row.state,
        "secretFingerprint": row.fingerprint,
        "signatureAlgorithm": webhooks.ALGORITHM,
        "createdBy": row.created_by,
        "createdAt": instant(row.created_at),
    }


def new_document(made: NewSecret) -> JSONObject:
    return {
        "id": webhooks.wire_id(made.webhook),
        "webhookId": webhooks.wire_id(made.webhook),
        "secret": made.text,
        "secretFingerprint": made.webhook.fingerprint,
        "signatureAlgorithm": webhooks.ALGORITHM,
    }


def delivery_document(row: WebhookDelivery) -> JSONObject:
    """A line of the log of deliveries; ``messageId`` is the ``webhook-id`` of every attempt."""
    moments = {"lastAttemptAt": row.last_at, "nextAttemptAt": row.next_at, "endedAt": row.ended_at}
    return {
        "id": ids.wire("dlv", row.id),
        "messageId": ids.wire("msg", row.id),
        "type": row.type,
        "state": row.state,
        "attempts": row.attempts,
        "status": row.status,
        "code": row.code or None,
        "createdAt": instant(row.created_at),
        **{name: instant(moment) if moment else None for name, moment in moments.items()},
    }
