"""What the nodes of a run have left (openwop-host 3.1)."""

from django.utils import timezone
from rest_framework.decorators import api_view
from rest_framework.request import Request
from rest_framework.response import Response

from memory.host import ids
from memory.host.http import operation
from memory.host.tenancy import scope_of
from openwop_console.runtime import runs
from openwop_console.runtime.api import schemas
from openwop_console.runtime.api.serializers import artifact_document


@operation("listRunArtifacts", scope="artifacts:read", gives={200: schemas.ARTIFACTS}, tag="runs")
@api_view(["GET"])
def run_artifacts(request: Request, run_id: str) -> Response:
    found = runs.read_artifacts(scope_of(request), ids.parse("run", run_id), now=timezone.now())
    return Response({"artifacts": [artifact_document(run_id, artifact) for artifact in found], "total": len(found)})


@operation("getRunArtifact", scope="artifacts:read", gives={200: schemas.ARTIFACT}, tag="runs")
@api_view(["GET"])
def run_artifact(request: Request, run_id: str, artifact_id: str) -> Response:
    found = runs.read_artifact(scope_of(request), ids.parse("run", run_id), artifact_id, now=timezone.now())
    return Response(artifact_document(run_id, found))
