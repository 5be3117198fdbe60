"""The registration point of interrupt resolvers: who decides about a run that waits at a node of some type.

The run surface stands above and may not know who brings a node type (the approval gate is ``proposals``'); it asks here
for the resolver of the node's type, and a type without one cannot be answered.
"""

from collections.abc import Callable
from datetime import datetime
from typing import Any

from memory.host.models import Run
from memory.host.tenancy import TenantScope

# ``resolve(scope, run, node_id, resume_value, now)``: it refuses, or the answer stands when it returns.
Resolver = Callable[[TenantScope, Run, str, Any, datetime], None]

_resolvers: dict[str, Resolver] = {}


def register(type_id: str, function: Resolver) -> None:
    """Interrupts at nodes of ``type_id`` are answered through ``function`` from now on."""
    _resolvers[type_id] = function


def resolver_of(type_id: str) -> Resolver | None:
    """Who answers at nodes of this type, or None: then nobody can."""
    return _resolvers.get(type_id)
