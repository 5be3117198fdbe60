"""``/v1/host/console/synthesis``: the host is asked to look at its own traces, and tells what came of it."""

from django.db import transaction
from django.utils import timezone
from rest_framework.decorators import api_view
from rest_framework.request import Request
from rest_framework.response import Response

from memory.host import ids
from memory.host.operations import operation
from memory.host.serializing import checked
from memory.host.tenancy import scope_of
from proposals import synthesis, tasks
from proposals.api.synthesis.schemas import SYNTHESIS
from proposals.api.synthesis.serializers import Nothing, OrderSynthesis, synthesis_document

READ, RUN = "proposals:read", "passes:run"
TAG = "proposals"


@operation("orderSynthesis", scope=RUN, takes=OrderSynthesis, gives={202: SYNTHESIS}, tag=TAG)
@api_view(["POST"])
@transaction.atomic
def synthesis_order(request: Request) -> Response:
    """On record and queued together, or neither."""
    wanted = checked(OrderSynthesis, request.data).wanted()
    row = synthesis.order(scope_of(request), **wanted, now=timezone.now())
    tasks.enqueue_synthesis(row)
    return Response(synthesis_document(row), status=202)


@operation("getSynthesis", scope=READ, gives={200: SYNTHESIS}, tag=TAG)
@api_view(["GET"])
def one_synthesis(request: Request, pass_id: str) -> Response:
    return Response(synthesis_document(synthesis.find(scope_of(request), ids.parse("pass", pass_id))))


@operation("stopSynthesis", scope=RUN, gives={202: SYNTHESIS}, tag=TAG)
@api_view(["POST"])
def synthesis_stop(request: Request, pass_id: str) -> Response:
    """The synthesis leaves off before its next proposal; what it has proposed stands."""
    checked(Nothing, request.data)
    row = synthesis.stop(scope_of(request), ids.parse("pass", pass_id), now=timezone.now())
    return Response(synthesis_document(row), status=202)
