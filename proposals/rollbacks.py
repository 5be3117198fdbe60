"""Going back to an earlier version: a proposal like any other, whose artifact is what was installed, and its gate."""

from datetime import datetime

from memory import artifact_stops
from memory.host import registry
from memory.host.errors import Conflict, NotFound
from memory.host.tenancy import TenantScope
from proposals import denials, lifecycle
from proposals.drafts import ProposalDraft
from proposals.models import Kind, Proposal, Purpose


def propose(scope: TenantScope, ref: str, *, rationale: str = "", now: datetime) -> Proposal:
    """A draft that, once it is granted and applied, makes the installed version ``ref`` the current one again.

    Refused when it is the current one now, and for what no proposal could install.
    """
    denials.authorize(scope, "create", now=now)
    found = artifact_stops.find(scope, ref)
    if found.kind not in Kind.values:
        raise NotFound("No proposal could install that.")
    if found.superseded_at is None:
        raise Conflict(f"{ref} is what runs resolve now.", installedArtifactRef=ref)
    current = registry.current(scope.tenant_id, found.kind, found.name)
    away_from = f" from {current.version}" if current else ""
    title = f"Roll {found.name} back{away_from} to {found.version}"[:200]
    draft = ProposalDraft(found.kind, found.text, title=title, rationale=rationale, purpose=Purpose.ROLLBACK)
    return lifecycle.create(scope, draft, now=now)
