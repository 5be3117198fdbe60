"""Synthesis over HTTP: ordered, read and stopped."""

from django.db import transaction
from django.urls import path
from django.utils import timezone
from rest_framework import serializers
from rest_framework.decorators import api_view
from rest_framework.request import Request
from rest_framework.response import Response

from memory.api.passes import WORK
from memory.host import ids
from memory.host.http import (
    Answer,
    Closed,
    Nothing,
    checked,
    operation,
)
from memory.host.tenancy import scope_of
from memory.models import Pass
from memory.tasks import enqueue_pass
from proposals import learning

# Of a dry run, ``outcome`` has titles too.
SYNTHESIS = Answer[Pass]("Synthesis", **WORK)
READ, RUN = "proposals:read", "passes:run"
TAG = "proposals"
ROUTE = "v1/host/console/synthesis"


class SynthesisOptions(Closed):
    """``endpoint``: the drafts are worded by the one that the tenant's memory policy names."""

    endpoint = serializers.BooleanField(required=False)


class OrderSynthesis(Closed):
    """The closed body of an order, which may be empty."""

    dryRun = serializers.BooleanField(required=False)
    options = SynthesisOptions(required=False)

    def wanted(self) -> dict[str, bool]:
        given = self.validated_data
        return {"dry_run": given.get("dryRun", False), "endpoint": given.get("options", {}).get("endpoint", False)}


@operation("orderSynthesis", scope=RUN, takes=OrderSynthesis, gives={202: SYNTHESIS}, tag=TAG)
@api_view(["POST"])
@transaction.atomic
def synthesis_order(request: Request) -> Response:
    """On record and queued together, or neither."""
    wanted = checked(OrderSynthesis, request.data).wanted()
    row = learning.order(scope_of(request), **wanted, now=timezone.now())
    enqueue_pass(row)
    return Response(SYNTHESIS.document(row), status=202)


@operation("getSynthesis", scope=READ, gives={200: SYNTHESIS}, tag=TAG)
@api_view(["GET"])
def one_synthesis(request: Request, pass_id: str) -> Response:
    return Response(SYNTHESIS.document(learning.find(scope_of(request), ids.parse("pass", pass_id))))


@operation("stopSynthesis", scope=RUN, gives={202: SYNTHESIS}, tag=TAG)
@api_view(["POST"])
def synthesis_stop(request: Request, pass_id: str) -> Response:
    """The synthesis leaves off before its next proposal; what it has proposed stands."""
    checked(Nothing, request.data)
    row = learning.stop(scope_of(request), ids.parse("pass", pass_id), now=timezone.now())
    return Response(SYNTHESIS.document(row), status=202)


urlpatterns = [
    path(ROUTE, synthesis_order, name="api-syntheses"),
    path(f"{ROUTE}/<str:pass_id>", one_synthesis, name="api-synthesis"),
    path(f"{ROUTE}/<str:pass_id>/stop", synthesis_stop, name="api-synthesis-stop"),
]
