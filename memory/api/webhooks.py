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
    Answer,
    Closed,
    Nothing,
    Text,
    checked,
    listed,
    nullable,
    operation,
    page_answer,
    query_of,
    words,
)
from memory.host.models import DeliveryState, Webhook, WebhookDelivery, WebhookState
from memory.host.paging import DEFAULT_LIMIT
from memory.host.tenancy import scope_of
from memory.host.webhooks import NewSecret
from memory.wire import instant

FINGERPRINT = {"type": "string", "pattern": "^[0-9a-f]{8}$"}
TYPE = words(webhooks.TYPES)
# A subscription as it is read; the secret is not in it.
WEBHOOK = Answer[Webhook](
    "Webhook",
    id=(TEXT, webhooks.wire_id),
    url=(TEXT, lambda row: row.url),
    events=(listed(TYPE), lambda row: row.events),
    tags=(listed(TEXT), lambda row: row.tags),
    state=(words(WebhookState), lambda row: row.state),
    secretFingerprint=(FINGERPRINT, lambda row: row.fingerprint),
    signatureAlgorithm=({"const": webhooks.ALGORITHM}, lambda row: webhooks.ALGORITHM),
    createdBy=(TEXT, lambda row: row.created_by),
    createdAt=(TIME, lambda row: instant(row.created_at)),
)
WEBHOOKS = page_answer("WebhookPage", "webhooks", WEBHOOK, "whk")
# The secret is shown in the first answer; the one that an Idempotency-Key brings again has null in its place.
NEW_WEBHOOK = Answer[NewSecret](
    "NewWebhook",
    id=(TEXT, lambda made: webhooks.wire_id(made.webhook)),
    webhookId=(TEXT, lambda made: webhooks.wire_id(made.webhook)),
    secret=(nullable(TEXT), lambda made: made.text),
    secretFingerprint=(FINGERPRINT, lambda made: made.webhook.fingerprint),
    signatureAlgorithm=({"const": webhooks.ALGORITHM}, lambda made: webhooks.ALGORITHM),
)


# A line of the log of deliveries; ``messageId`` is the ``webhook-id`` of every attempt.
DELIVERY = Answer[WebhookDelivery](
    "WebhookDelivery",
    id=(TEXT, lambda row: ids.wire("dlv", row.id)),
    messageId=(TEXT, lambda row: ids.wire("msg", row.id)),
    type=(TYPE, lambda row: row.type),
    state=(words(DeliveryState), lambda row: row.state),
    attempts=(COUNT, lambda row: row.attempts),
    status=(nullable(COUNT), lambda row: row.status),
    code=(nullable(TEXT), lambda row: row.code or None),
    createdAt=(TIME, lambda row: instant(row.created_at)),
    lastAttemptAt=(nullable(TIME), lambda row: instant(row.last_at)),
    nextAttemptAt=(nullable(TIME), lambda row: instant(row.next_at)),
    endedAt=(nullable(TIME), lambda row: instant(row.ended_at)),
)
DELIVERIES = page_answer("WebhookDeliveryPage", "deliveries", DELIVERY, "dlv")


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
    return Response(NEW_WEBHOOK.document(made), status=201)


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
    return Response(WEBHOOKS.document(page))


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
    return Response(DELIVERIES.document(page))


@operation("redeliverWebhook", scope=webhooks.SCOPE, gives={200: DELIVERY}, tag="webhooks")
@api_view(["POST"])
def delivery_again(request: Request, webhook_id: str, delivery_id: str) -> Response:
    webhooks.check_manager(scope_of(request))
    checked(Nothing, request.data)
    wanted = ids.parse("whk", webhook_id), ids.parse("dlv", delivery_id)
    return Response(DELIVERY.document(webhooks.redeliver(scope_of(request), *wanted, now=timezone.now())))


@operation("readWebhook", scope=webhooks.SCOPE, gives={200: WEBHOOK}, tag="webhooks")
@api_view(["GET"])
def webhook(request: Request, webhook_id: str) -> Response:
    return Response(WEBHOOK.document(webhooks.find(scope_of(request), ids.parse("whk", webhook_id))))


@operation(
    "rotateWebhookSecret", scope=webhooks.SCOPE, gives={200: NEW_WEBHOOK}, tag="webhooks", shown_once=("secret",)
)
@api_view(["POST"])
def webhook_rotate(request: Request, webhook_id: str) -> Response:
    webhooks.check_manager(scope_of(request))
    checked(Nothing, request.data)
    made = webhooks.rotate_secret(scope_of(request), ids.parse("whk", webhook_id), now=timezone.now())
    return Response(NEW_WEBHOOK.document(made))
