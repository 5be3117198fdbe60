"""The refs of OpenIntent as OpenWOP reaches them: whose they are decides, for runs and for keys bound to agents (R91).

What an agent may not read there resolves to nothing, as an unknown ref does (CTI-1). People, and keys that are bound to
no agent, see all memory of their tenant.
"""

from collections.abc import Collection
from typing import Any

from django.db.models import QuerySet, TextField, Value
from django.db.models.functions import Concat

from memory import addresses
from memory.addresses import PREFIX, Tier
from memory.host.tenancy import Reserved, TenantScope
from memory.models import Namespace
from memory.openintent import namespaces

SHARED = f"{PREFIX}{Tier.SEMANTIC}/"


def allows(scope: TenantScope, ref: str) -> bool:
    """Whether the agents behind ``scope`` reach the ref: their own memory, and namespaces that one of them may read."""
    agents = scope.principal.agent_ids
    if agents is None:
        return True
    if ref.startswith(SHARED):
        open_ones = namespaces.readable_by(scope.tenant_id, agents)
        return open_ones.filter(name=ref.removeprefix(SHARED)).exists()
    return addresses.owner_of(ref) in agents


def closed(scope: TenantScope) -> "Collection[str] | QuerySet[Any, str]":
    """The shared refs that none of the agents behind ``scope`` may read; a subquery, for they may be many."""
    agents = scope.principal.agent_ids
    if agents is None:
        return []
    open_ones = namespaces.readable_by(scope.tenant_id, agents)
    rest = Namespace.objects.of(scope.tenant_id).exclude(id__in=open_ones.values("id"))
    refs: QuerySet[Any, str] = rest.values_list(Concat(Value(SHARED), "name", output_field=TextField()), flat=True)
    return refs


RULE = Reserved(PREFIX, allows, closed)
