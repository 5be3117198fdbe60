"""The artifacts of a run: the outputs of its nodes that declare an ``artifactType``."""

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from memory import redaction
from memory.host.errors import ArtifactNotFound
from memory.host.json_types import JSONObject
from memory.host.models import Run
from openwop_console.runtime import steps
from openwop_console.runtime.models import StepState


@dataclass(frozen=True, slots=True)
class RunArtifact:
    """One artifact of one run; ``content`` is the node's outputs, redacted and with sensitive variables masked."""

    artifact_id: str
    artifact_type: str
    node_id: str
    content: JSONObject
    created_at: datetime


def artifact_id(node_id: str) -> str:
    """The id of a node's artifact inside its run, which a replay reproduces."""
    return f"art_{hashlib.sha256(node_id.encode()).hexdigest()[:32]}"


def artifacts_of_run(run: Run) -> Iterator[RunArtifact]:
    """The run's artifacts, in the order in which their nodes began."""
    kinds = {node["id"]: node.get("artifactType") for node in json.loads(run.definition.text)["nodes"]}
    mask = redaction.mask_of_run(run)
    for node_id, step in steps.steps_of_run(run.tenant_id, run.id).items():
        if step.state == StepState.DONE and kinds.get(node_id):
            yield RunArtifact(artifact_id(node_id), kinds[node_id], node_id, mask.value(step.outputs), step.started_at)


def find(run: Run, artifact_id: str) -> RunArtifact:
    """The artifact with that id; raises ArtifactNotFound."""
    for artifact in artifacts_of_run(run):
        if artifact.artifact_id == artifact_id:
            return artifact
    raise ArtifactNotFound
