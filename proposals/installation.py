"""Installing an artifact: the one place where what was proposed becomes usable by runs (RFC 0096, no re-synthesis).

What is installed is the stored text, byte for byte, after its digest was found to be the approved one.
"""

from datetime import datetime
from uuid import UUID

from memory.host import registry, runs
from memory.host.errors import Conflict, NotFound
from memory.host.events import NodeCompleted, NodeStarted
from memory.host.models import Installation, Run
from memory.host.registry import Artifact
from memory.host.run_orders import RunOrder
from memory.host.tenancy import TenantScope
from proposals import artifacts, gate
from proposals.models import Proposal, Revision

SOURCE = "proposal"


class DigestMismatch(Conflict):
    """The stored bytes are not the approved ones; nothing is installed."""

    code = "digest_mismatch"
    message = "The stored artifact is not the one that was approved; nothing was installed."


def require_installable(tenant_id: UUID, kind: str, text: str) -> Artifact:
    """What would be installed for ``text``; refuses one that is not valid for its kind, and a ref that is taken."""
    artifact = artifacts.artifact_of(kind, text)
    there = registry.by_ref(tenant_id, artifact.ref)
    if there and (there.sha256 != artifact.sha256 or there.superseded_at):
        raise Conflict(
            f"{artifact.ref} has been installed already; give the artifact a new version.",
            installedArtifactRef=there.ref,
            installedSha256=there.sha256,
        )
    return artifact


def find(scope: TenantScope, ref: str) -> Installation:
    """What is installed in this tenant under ``ref``, current or superseded; or ``NotFound``."""
    scope.check("artifacts:read")
    found = registry.by_ref(scope.tenant_id, ref)
    if found is None:
        raise NotFound("Nothing is installed by that ref.")
    return found


def install(proposal: Proposal, revision: Revision, *, sha256: str, by: str, now: datetime) -> Installation:
    """Exactly the bytes with the digest ``sha256`` are what runs resolve from now on. The proposal is locked."""
    if registry.digest(revision.text) != sha256:
        raise DigestMismatch(revision=revision.number, approvedSha256=sha256)
    artifact = require_installable(proposal.tenant_id, proposal.kind, revision.text)
    return registry.install(proposal.tenant_id, artifact, source=SOURCE, installed_by=by, now=now)


def begin_directly(tenant_id: UUID, *, by: str, pins: dict[str, str], now: datetime) -> Run:
    """The one-node activation run of a host without gates, at its only node."""
    definition = gate.definition_of((gate.INSTALL_NODE, gate.INSTALL_TYPE))
    order = RunOrder(gate.WORKFLOW, definition, by, system=True, inputs=dict(pins))
    run = runs.open_run(tenant_id, order, now=now, ready=False)
    runs.start(run, snapshot_position=0, now=now)
    runs.note(run, NodeStarted(gate.INSTALL_NODE, gate.INSTALL_TYPE, 1), now=now)
    return run


def end_directly(run: Run, *, now: datetime) -> None:
    """The one-node activation run has completed."""
    runs.complete(run, NodeCompleted(gate.INSTALL_NODE), now=now)
