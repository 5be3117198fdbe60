"""Installs proposed artifacts: the only place that makes them available to runs (RFC 0096, no re-synthesis).

It installs the stored text, byte for byte, after checking that its digest is the approved one.
"""

import json
from datetime import datetime
from uuid import UUID

from memory.host import registry, runs
from memory.host.errors import Conflict
from memory.host.events import NodeCompleted, NodeStarted
from memory.host.json_types import JSONMapping
from memory.host.models import Installation, Run
from memory.host.paging import Page, read_page
from memory.host.registry import Artifact, Installer
from memory.host.runs import RunOrder
from memory.host.tenancy import TenantScope
from proposals import artifacts, gate
from proposals.models import Kind, Proposal, Purpose, Revision

SOURCE = registry.OF_A_PROPOSAL


class DigestMismatch(Conflict):
    """The stored text does not have the approved digest; nothing is installed."""

    code = "digest_mismatch"
    message = "The stored artifact is not the one that was approved; nothing was installed."


def require_installable(proposal: Proposal, text: str) -> Artifact:
    """The artifact to install for ``text``; refuses one that is invalid for its kind, or whose ref or part is taken.

    A rollback must be exactly what was installed before.
    """
    tenant_id = proposal.tenant_id
    artifact = artifacts.artifact_of(tenant_id, proposal.kind, text)
    there = registry.by_ref(tenant_id, artifact.ref)
    if proposal.purpose == Purpose.ROLLBACK:
        if there is None or there.sha256 != artifact.sha256:
            raise Conflict(f"{artifact.ref} is not what was installed; a rollback changes nothing of it.")
    elif there and (there.sha256 != artifact.sha256 or there.superseded_at):
        raise Conflict(
            f"{artifact.ref} has been installed already; give the artifact a new version.",
            installedArtifactRef=there.ref,
            installedSha256=there.sha256,
        )
    for part in _parts(artifact):
        _require_free(tenant_id, artifact, part)
    return artifact


def require_news(proposal: Proposal, artifact: Artifact) -> None:
    """Refuse an artifact that runs resolve already with all its parts. A rollback is exempt: another one may have
    restored the version meanwhile."""
    there = registry.by_ref(proposal.tenant_id, artifact.ref)
    if proposal.purpose == Purpose.ROLLBACK or there is None or there.superseded_at:
        return
    resolved = (there, *registry.parts_of(there))
    if there.sha256 == artifact.sha256 and all(not (each.superseded_at or each.disabled_at) for each in resolved):
        message = f"{artifact.ref} is what is installed already; there is nothing to apply."
        raise Conflict(message, installedArtifactRef=there.ref)


def _parts(artifact: Artifact) -> list[Artifact]:
    return list(artifacts.require_installable(artifact.kind).parts(artifacts.read(artifact.text)))


def _require_free(tenant_id: UUID, pack: Artifact, part: Artifact) -> None:
    """Refuse a part whose ref is installed with other content, or whose name belongs to another pack."""
    there = registry.by_ref(tenant_id, part.ref)
    same = there and there.sha256 == part.sha256 and there.part_of_id and there.part_of.ref == pack.ref
    if there and not same:
        raise Conflict(f"{part.ref} is installed already; give the pack a new version.", installedArtifactRef=there.ref)
    current = registry.current(tenant_id, part.kind, part.name)
    if current is None:
        return
    owner = current.part_of if current.part_of_id else None
    if owner and (owner.kind, owner.name) != (pack.kind, pack.name):
        raise Conflict(f"{part.name} belongs to {owner.ref}.", installedArtifactRef=owner.ref)
    declared = None if owner else json.loads(current.text).get("packName")
    if declared not in (None, pack.name):
        raise Conflict(f"{part.name} says that it belongs to another pack.", installedArtifactRef=current.ref)


def list_installed(
    scope: TenantScope, *, kind: str = "", name: str = "", before: UUID | None = None, limit: int
) -> Page[Installation]:
    """All versions ever installed in this tenant, latest first, with their packs loaded."""
    scope.check("artifacts:read")
    exact = {field: value for field, value in (("kind", kind), ("name", name)) if value}
    matching = Installation.objects.of(scope.tenant_id).filter(**exact)
    return read_page(matching.select_related("part_of"), before, limit)


def install(proposal: Proposal, revision: Revision, *, sha256: str, by: str, now: datetime) -> Installation:
    """Make exactly the text with the digest ``sha256`` what runs resolve. The caller holds the proposal's lock."""
    if registry.digest(revision.text) != sha256:
        raise DigestMismatch(revision=revision.number, approvedSha256=sha256)
    artifact = require_installable(proposal, revision.text)
    artifacts.require_timely(artifact.kind, revision.text, now=now)
    before = registry.current(proposal.tenant_id, artifact.kind, artifact.name)
    if before and before.ref != artifact.ref:
        _take_out(before, now=now)
    there = registry.by_ref(proposal.tenant_id, artifact.ref)
    if there is None:
        installed = registry.install(proposal.tenant_id, artifact, source=SOURCE, installed_by=by, now=now)
    else:
        registry.restore(there, now=now)
        installed = there
    for part in _parts(artifact):
        _install_part(installed, part, by=by, now=now)
    artifacts.require_installable(artifact.kind).on_current(installed, now)
    return installed


def _install_part(pack: Installation, part: Artifact, *, by: str, now: datetime) -> None:
    there = registry.by_ref(pack.tenant_id, part.ref)
    if there is None:
        registry.install(pack.tenant_id, part, source=SOURCE, installed_by=by, part_of_id=pack.id, now=now)
    else:
        registry.restore(there, now=now)


def uninstall(tenant_id: UUID, ref: str, *, now: datetime) -> bool:
    """Take the version and its parts out of use for new runs; False when it was not current any more."""
    found = registry.by_ref(tenant_id, ref)
    if found is None or found.superseded_at:
        return False
    _take_out(found, now=now)
    return True


def _take_out(installation: Installation, *, now: datetime) -> None:
    """Supersede the version and its parts, and notify its installer."""
    for part in registry.parts_of(installation):
        registry.supersede(part, now=now)
    registry.supersede(installation, now=now)
    installer = registry.installer_of(installation.kind)
    if installer:
        installer.on_superseded(installation, now)


def begin_directly(tenant_id: UUID, *, by: str, pins: dict[str, str], now: datetime) -> Run:
    """Start the one-node activation run of a host without gates, with its node running."""
    definition = gate.activation((gate.INSTALL_NODE, gate.INSTALL_TYPE))
    order = RunOrder(gate.WORKFLOW, definition, by, system=True, inputs=dict(pins))
    run = runs.open_running(tenant_id, order, now=now)
    runs.note(run, NodeStarted(gate.INSTALL_NODE, gate.INSTALL_TYPE, 1), now=now)
    return run


def end_directly(run: Run, *, now: datetime) -> None:
    """Complete the one-node activation run."""
    runs.complete(run, NodeCompleted(gate.INSTALL_NODE), now=now)


def _name_and_version(document: JSONMapping) -> tuple[str, str]:
    return document["templateId"], document["version"]


INSTALLER = Installer(Kind.PROMPT_TEMPLATE, _name_and_version)
