"""Which namespaces the coordinators of an agent's tasks leave open to it (RFC-0015 6.6; R79, R80)."""

from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from django.db.models import Q

from memory import work

if TYPE_CHECKING:
    from memory.tiers import Caller


@dataclass(frozen=True, slots=True)
class Fence:
    """``allowed`` is None where nothing is said: all of them. What is denied stays so, allowed or not."""

    allowed: frozenset[str] | None = None
    denied: frozenset[str] = frozenset()

    def lets_in(self, name: str) -> bool:
        return name not in self.denied and (self.allowed is None or name in self.allowed)

    def condition(self) -> Q:
        """The same, of namespaces in the database."""
        outside = Q(name__in=self.denied) if self.denied else Q(name__in=())
        return ~outside if self.allowed is None else Q(name__in=self.allowed - self.denied)


def fence_of(caller: "Caller", *, now: datetime | None) -> Fence:
    """What the coordinators at work allow in whose intents the agent took up a task, all of them taken together.

    An operator is under nobody. Who knows no time finds a coordinator's fence until it is told that it lapsed.
    """
    if caller.operates:
        return Fence()
    rails = work.rails_over(caller.tenant_id, caller.agent_id, now=now)
    return Fence(rails.allowed, rails.denied)
