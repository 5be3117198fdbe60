"""Who is at the door: an agent, and the credential behind it."""

from dataclasses import dataclass
from uuid import UUID

from memory import work
from memory.host.tenancy import TenantScope

READ, WRITE = "memory:read", "memory:write"


@dataclass(frozen=True, slots=True)
class Caller:
    """An agent at the door, and the credential behind it. An operator acts for any agent of its tenant (C19).

    ``alone`` asks what the agent may by itself, whatever else its credential may.
    """

    scope: TenantScope
    agent_id: str
    alone: bool = False

    @property
    def tenant_id(self) -> UUID:
        return self.scope.tenant_id

    @property
    def operates(self) -> bool:
        """Whether it may see and change what belongs to any agent: an operator's or an owner's credential.

        A key that is bound to agents is those agents, whatever its role.
        """
        return not self.alone and work.operates(self.scope)

    @property
    def looks_on(self) -> bool:
        """Whether it is no agent, but a key that may not write and looks on as any: it is shown nothing sealed."""
        return not self.operates and work.stands_for_any(self.scope) and not self.scope.can(WRITE)
