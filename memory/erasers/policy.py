"""The memory policy as a store of a forget: a workflow, an address, a model or a secret may be called after somebody.

What named the subject is empty then; an endpoint that lost a part of itself distils no more.
"""

from datetime import datetime
from uuid import UUID

from memory import policies
from memory.erasers.kept_values import KeptValues
from memory.host.erasure import Identifiers
from memory.matching import rule_for
from memory.models import MemoryPolicy


class PolicyValues(KeptValues):
    """Values that the policy keeps."""

    store = "memory policy"
    table = MemoryPolicy
    columns = ("commitment_workflow", "endpoint_url", "endpoint_model", "endpoint_secret")

    def erase(
        self, tenant_id: UUID, subject: Identifiers, rows: tuple[UUID, ...], *, ticked: bool, now: datetime
    ) -> int:
        found = MemoryPolicy.objects.of(tenant_id).filter(id__in=rows).first()
        named = set(self.cleaned(found, subject, rule_for(ticked=ticked))) if found else set()
        return policies.clear(tenant_id, named) if named else 0


POLICY_VALUES = PolicyValues()
