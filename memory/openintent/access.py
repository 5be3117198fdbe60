"""Who may touch working, episodic and semantic memory (RFC-0015 2, 6.4, 9.1; R20 to R43, R71). One place for all doors.

A permission of the credential is needed and the rule of the tier: neither is enough (RFC-0015 6.4). Each rule is one
condition on addresses: a list is filtered by it, and an entry is asked about with the same.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any
from uuid import UUID

from django.db.models import CharField, Exists, F, OuterRef, Q, QuerySet, TextField, Value
from django.db.models.functions import Coalesce, Concat
from django.db.models.lookups import In

from memory import addresses
from memory.adapter import openintent
from memory.addresses import PREFIX, SEALED, Address, Tier
from memory.host import sql
from memory.host.errors import Forbidden, GuardrailViolation, Invalid, NotFound
from memory.host.tenancy import Reserved, TenantScope
from memory.models import Assignment, Grant, Intent, Namespace, Task
from memory.openintent import work

if TYPE_CHECKING:
    from memory.models.address import EntryAddress


READ, WRITE = "memory:read", "memory:write"
WORKING, EPISODIC, SEMANTIC = Q(tier="working"), Q(tier="episodic"), Q(tier="semantic")
RULE = "memory-tier"
SHARED = f"{PREFIX}{Tier.SEMANTIC}/"


# The caller: an agent and its credential.
@dataclass(frozen=True, slots=True)
class Caller:
    """The agent of a request, and its credential. An operator acts for any agent of its tenant (C19).

    ``alone`` limits the answer to what the agent may do itself, without its credential's other rights.
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
        return not self.alone and work.authority.is_operator(self.scope)

    @property
    def looks_on(self) -> bool:
        """Whether it is no agent, but a key that may not write and looks on as any: it is shown nothing sealed."""
        return not self.operates and work.authority.may_act_as_any(self.scope) and not self.scope.can(WRITE)


# Which namespaces the coordinators of an agent's tasks leave open to it (RFC-0015 6.6; R79, R80), and its access to
# each (RFC-0015 2.3; R38 to R43).


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


def fence_of(caller: Caller, *, now: datetime | None) -> Fence:
    """What the active coordinators of all intents in which the agent took up a task allow, combined.

    An operator has no fence. Without a time, a coordinator counts until its lapse is recorded.
    """
    if caller.operates:
        return Fence()
    rails = work.tasks.guardrails_over(caller.tenant_id, caller.agent_id, now=now)
    return Fence(rails.allowed, rails.denied)


def at_least(least: str) -> tuple[str, ...]:
    """The kinds of access that include this one: none < read < write < admin."""
    return Namespace.ACCESS[Namespace.ACCESS.index(least) :]


def namespaces_for(caller: Caller, now: datetime | None, fence: Fence | None = None) -> "QuerySet[Any, Any]":
    """The namespaces inside the caller's guardrails, each with the caller's ``access``."""
    ruled = Coalesce(openintent.AccessOf("allow", caller.agent_id), F("default"), output_field=CharField())
    mine = Value("admin") if caller.operates else ruled
    inside = (fence or fence_of(caller, now=now)).condition()
    rows: QuerySet[Any, Any] = Namespace.objects.of(caller.tenant_id).filter(inside).annotate(access=mine)
    return rows


def namespace_access(caller: Caller, names: Sequence[str], *, now: datetime) -> dict[str, str]:
    """The caller's access to each of these: its rule, or else the default; none where a guardrail keeps it out.

    An operator administers all (C19), and there is no access to a namespace that does not exist.
    """
    found = namespaces_for(caller, now).filter(name__in=names).values_list("name", "access")
    return {**dict.fromkeys(names, "none"), **dict(found)}


def namespaces_with(
    caller: Caller, least: str, *, now: datetime | None, fence: Fence | None = None
) -> "QuerySet[Any, Any]":
    """The names of the namespaces in which the caller has at least this access, for a subquery; inside ``fence``, which
    is looked up unless it is known."""
    return namespaces_for(caller, now, fence).filter(access__in=at_least(least)).values("name")


def namespaces_readable_by(tenant_id: UUID, agents: Collection[str]) -> "QuerySet[Namespace]":
    """The namespaces that one of these agents may read: a condition for each, and as many queries however many."""
    rails, any_of = work.tasks.guardrails_over_each(tenant_id, agents, now=None), Q(pk__in=())
    for agent_id in sorted(agents):
        ruled = Coalesce(openintent.AccessOf("allow", agent_id), F("default"), output_field=CharField())
        over = rails.get(agent_id)
        fence = Fence(over.allowed, over.denied) if over else Fence()
        any_of |= Q(In(ruled, at_least("read"))) & fence.condition()
    rows: QuerySet[Namespace] = Namespace.objects.of(tenant_id).filter(any_of)
    return rows


# What a caller may read, as one condition on addresses (RFC-0015 2, 6.5, 8.1, 9.1; R24 to R27, R35, R40, R74, R88).
#
# Every part is worked out from the caller's side, in the database: the tasks it coordinates, was given or inherits
# from.
def visible(caller: Caller, *, tier: str = "", own: bool = False, fence: Fence | None = None, now: datetime) -> Q:
    """True of the addresses that the caller may read, among those of its tenant; says nothing of expiry.

    Who asks for one ``tier`` alone, or for what is of the caller as an agent, is given the parts that are about it.
    Refuses when the credential lacks ``memory:read``: the tier's rule alone is not enough (R71). Who only looks on is
    shown what the agent sees that it names, and nothing that is sealed (C19).
    """
    caller.scope.check(READ)
    if caller.operates:
        return Q()
    found = _readable_at(caller, tier, own, fence, now)
    return found & ~Q(sensitivity__in=SEALED) if caller.looks_on else found


def _readable_at(caller: Caller, tier: str, own: bool, fence: Fence | None, now: datetime) -> Q:
    if tier == "semantic":
        return shared(caller, "read", now, fence)
    owned = ~SEMANTIC & Q(agent_id=caller.agent_id)
    if own:
        return owned if tier else owned | shared(caller, "read", now, fence)
    if tier == "working":
        return owned | (WORKING & _lent(caller, now))
    overseen = EPISODIC & _overseen(caller, now)
    if tier == "episodic":
        return owned | overseen
    return owned | (WORKING & _lent(caller, now)) | overseen | shared(caller, "read", now, fence)


def shared(caller: Caller, least: str, now: datetime, fence: Fence | None = None) -> Q:
    """Semantic memory of the namespaces in which the caller has at least this access (RFC-0015 2.3, R40)."""
    return SEMANTIC & Q(namespace__in=namespaces_with(caller, least, now=now, fence=fence))


def granted(caller: Caller, permissions: tuple[str, ...], now: datetime) -> Q:
    """Working memory of a task or an intent on which the caller holds a grant that has not expired (RFC-0011, R26)."""
    of_intent = _grants(caller, permissions, now).filter(task_id=None)
    whole = Q(task_id="", intent_id__in=of_intent.values_list(sql.wire_id("intent", "intent_id")))
    return in_tasks(tasks_granted(caller, permissions, now)) | whole


def tasks_granted(caller: Caller, permissions: tuple[str, ...], now: datetime) -> "QuerySet[Task]":
    """The tasks with such a grant, on them or on their intent."""
    grants = _grants(caller, permissions, now)
    on_task, on_intent = grants.exclude(task_id=None).values("task_id"), grants.filter(task_id=None).values("intent_id")
    tasks: QuerySet[Task] = Task.objects.of(caller.tenant_id).filter(Q(id__in=on_task) | Q(intent_id__in=on_intent))
    return tasks


def _grants(caller: Caller, permissions: tuple[str, ...], now: datetime) -> "QuerySet[Grant]":
    rows = work.rows.grants_in_force(caller.tenant_id, now=now)
    return rows.filter(agent_id=caller.agent_id, permission__in=permissions)


def in_tasks(tasks: "QuerySet[Task]") -> Q:
    """True of what was remembered in one of these tasks."""
    return Q(task_id__in=tasks.values_list(sql.wire_id("task", "id")))


def _lent(caller: Caller, now: datetime) -> Q:
    """Working memory of others that the caller may read: the four exceptions of 2.1, 6.5 and 8.1 (C9)."""
    heirs = work.tasks.heirs(caller.tenant_id, caller.agent_id)
    parents = Task.objects.of(caller.tenant_id).filter(id__in=heirs.values("parent_task_id"))
    return (
        in_tasks(work.rows.coordinated_by(caller.tenant_id, caller.agent_id, now=now))
        | granted(caller, ("read", "write"), now)
        | in_tasks(parents)
        | _taken_over(caller)
    )


def _taken_over(caller: Caller) -> Q:
    """What the agents before it remembered in a task that is the caller's now, and in no other (RFC-0015 8.1, R88)."""
    own = work.rows.live_tasks(caller.tenant_id, caller.agent_id)
    before = Assignment.objects.of(caller.tenant_id).filter(task_id__in=own.values("id")).exclude(until=None)
    pairs = Concat(sql.wire_id("task", "task_id"), F("agent_id"), output_field=TextField())
    return Q(In(Concat("task_id", "agent_id", output_field=TextField()), before.values_list(pairs)))


def _overseen(caller: Caller, now: datetime) -> Q:
    """Episodic memory of agents that are at work for the caller, and agreed to be: no grant ever opens it (RFC-0015
    2.2, R35)."""
    return Q(agent_id__in=work.rows.overseen_by(caller.tenant_id, caller.agent_id, now=now).values("agent_id"))


# What a caller may change or delete, as one condition on addresses (RFC-0015 2, 8.2, 9.1; R24 to R26, R40, R89).
def writable(caller: Caller, *, tier: str = "", now: datetime) -> Q:
    """The condition for addresses that the caller may change, among those of its tenant, or of one ``tier`` of it.

    Refused when the credential lacks ``memory:write``. Reading another agent's memory never allows changing it: for a
    coordinator, an agent that took a task over, and one that inherits. A grant to write covers working memory alone.
    """
    caller.scope.check(WRITE)
    if caller.operates:
        return Q()
    if tier == "semantic":
        return shared(caller, "write", now)
    own = ~SEMANTIC & Q(agent_id=caller.agent_id)
    if tier == "episodic":
        return own
    working = (own & ~(WORKING & _lost(caller))) | (WORKING & granted(caller, ("write",), now))
    return working if tier == "working" else working | shared(caller, "write", now)


def _lost(caller: Caller) -> Q:
    """Tasks that were taken from the caller because it had failed: one that comes back does not write there (C15)."""
    return Q(task_id__in=dead_assignments(caller).values_list(sql.wire_id("task", "task_id")))


def dead_assignments(caller: Caller) -> "QuerySet[Assignment]":
    """The caller's assignments that ended dead and were its last ones of their tasks."""
    own: QuerySet[Assignment] = Assignment.objects.of(caller.tenant_id).filter(agent_id=caller.agent_id)
    later = own.filter(task_id=OuterRef("task_id"), since__gt=OuterRef("since"))
    return own.filter(~Exists(later), dead=True)


def takes_part(caller: Caller, task: Task, now: datetime) -> bool:
    """Whether the caller had the task before, directs its intent, or holds a grant to write in it."""
    had = Assignment.objects.of(caller.tenant_id).filter(task_id=task.id, agent_id=caller.agent_id)
    intent = Intent.objects.of(caller.tenant_id).get(id=task.intent_id)
    return (
        work.authority.directs(caller.scope, intent, caller.agent_id, now=now)
        or had.exists()
        or tasks_granted(caller, ("write",), now).filter(id=task.id).exists()
    )


def has_voice_in(caller: Caller, intent: Intent, now: datetime) -> bool:
    """Whether the caller's memory events go to the log of the intent: it directs the intent, joined it, has or had a
    task of it that it did not lose, or may write everywhere in it."""
    if work.authority.may_act_as_any(caller.scope) or caller.agent_id in intent.agents:
        return True
    tasks = Task.objects.of(caller.tenant_id).filter(intent_id=intent.id)
    had = Assignment.objects.of(caller.tenant_id).filter(agent_id=caller.agent_id, dead=False)
    granted_all = work.rows.grants_in_force(caller.tenant_id, now=now).filter(intent_id=intent.id, task_id=None)
    return (
        work.authority.directs(caller.scope, intent, caller.agent_id, now=now)
        or had.filter(task_id__in=tasks.values("id")).exists()
        or granted_all.filter(agent_id=caller.agent_id, permission="write").exists()
    )


# One entry, asked about: may it be read, changed, made (RFC-0015 6.4)? A door refuses with what is said here.
def may_read(caller: Caller, row: "EntryAddress", now: datetime) -> bool:
    """Whether the entry is among what the caller may read."""
    if not caller.scope.can(READ) or row.tenant_id != caller.tenant_id:
        return False
    own = _owns(caller, row) and not caller.looks_on
    return caller.operates or own or openintent.meets_condition(row, visible(caller, tier=row.tier, now=now))


def may_write(caller: Caller, row: "EntryAddress", now: datetime) -> bool:
    """Whether the entry is among what the caller may change or delete."""
    if not caller.scope.can(WRITE) or row.tenant_id != caller.tenant_id:
        return False
    return caller.operates or openintent.meets_condition(row, writable(caller, tier=row.tier, now=now))


def require_read(caller: Caller, row: "EntryAddress", *, now: datetime) -> None:
    """Refuses a stranger by id (C7), a missing permission, and what a guardrail forbids."""
    caller.scope.check(READ)
    if not may_read(caller, row, now):
        _require_there(row)
        _require_fence(caller, row.tier, row.namespace, now)
        raise Forbidden("This agent may not read that memory entry.", rule=RULE)


def require_write(caller: Caller, row: "EntryAddress", *, now: datetime) -> None:
    """Refuses callers who may not change or delete the entry, readers included."""
    caller.scope.check(WRITE)
    if not may_write(caller, row, now):
        _require_there(row)
        _require_fence(caller, row.tier, row.namespace, now)
        raise Forbidden("This agent may not change that memory entry.", rule=RULE)


def require_create(caller: Caller, address: Address, *, now: datetime) -> None:
    """Refuses an entry in another agent's name, in work that is not the caller's, or in a namespace closed to it.

    A namespace that does not exist yet is created before this check (``namespaces.lock_namespaces``, C14).
    """
    caller.scope.check(WRITE)
    if address.agent_id != caller.agent_id and not caller.operates:
        raise Forbidden("An agent can create entries only in its own name.", rule="agent-binding")
    _require_place(caller, address, now)
    if address.tier == Tier.SEMANTIC:
        _require_namespace(caller, address.namespace, now)


def _require_namespace(caller: Caller, namespace: str, now: datetime) -> None:
    """``namespace`` is the name as it is kept."""
    if namespace_access(caller, [namespace], now=now)[namespace] not in at_least("write"):
        _require_fence(caller, Tier.SEMANTIC, namespace, now)
        raise Forbidden("This agent may not write in that namespace.", rule="namespace-permission")


def _require_place(caller: Caller, address: Address, now: datetime) -> None:
    """Refuses a task with the intent of another, and callers without a part in the task: its capacity is not shared
    (RFC-0015 6.5).

    A key that is bound to no agent may act as any, so also as the one that has the task.
    """
    task = work.rows.task(caller.tenant_id, address.task_id) if address.task_id else None
    intent = work.rows.intent(caller.tenant_id, address.intent_id) if address.intent_id else None
    if task and intent and task.intent_id != intent.id:
        problem = {"field": "scope.intent_id", "message": "is not the intent of that task"}
        raise Invalid("The entry cannot be in both.", errors=[problem])
    if task and not caller.operates:
        _require_task(caller, task, address.tier, now)


def _require_task(caller: Caller, task: Task, tier: Tier, now: datetime) -> None:
    if task.assigned_agent == caller.agent_id:
        return
    if tier == Tier.WORKING and dead_assignments(caller).filter(task_id=task.id).exists():
        raise Forbidden("The task was taken from this agent when it failed.", rule="reassigned")
    if task.assigned_agent and not work.authority.may_act_as_any(caller.scope) and not takes_part(caller, task, now):
        raise Forbidden("This agent has no part in that task.", rule=RULE)


def _require_fence(caller: Caller, tier: str, namespace: str, now: datetime) -> None:
    if tier == Tier.SEMANTIC and not fence_of(caller, now=now).lets_in(namespace):
        raise GuardrailViolation("A guardrail of the coordinator closes that namespace.", rule="guardrail")


def _require_there(row: "EntryAddress") -> None:
    """An entry removed since it was found is reported as missing, before any other refusal."""
    if not openintent.meets_condition(row, Q()):
        raise NotFound("There is no memory entry by that id.")


def _owns(caller: Caller, row: "EntryAddress") -> bool:
    return row.tier != Tier.SEMANTIC and row.agent_id == caller.agent_id


def can_reach(scope: TenantScope, ref: str) -> bool:
    """Whether the agents of ``scope`` may reach the ref: their own memory, and namespaces that one of them may read."""
    agents = scope.principal.agent_ids
    if agents is None:
        return True
    if ref.startswith(SHARED):
        open_ones = namespaces_readable_by(scope.tenant_id, agents)
        return open_ones.filter(name=ref.removeprefix(SHARED)).exists()
    return addresses.owner_of(ref) in agents


def unreadable_refs(scope: TenantScope) -> "Collection[str] | QuerySet[Namespace, str]":
    """The shared refs that no agent of ``scope`` may read; a subquery, since there may be many."""
    agents = scope.principal.agent_ids
    if agents is None:
        return []
    open_ones = namespaces_readable_by(scope.tenant_id, agents)
    rest = Namespace.objects.of(scope.tenant_id).exclude(id__in=open_ones.values("id"))
    refs: QuerySet[Namespace, str] = rest.values_list(
        Concat(Value(SHARED), "name", output_field=TextField()), flat=True
    )
    return refs


REF_RULE = Reserved(PREFIX, can_reach, unreadable_refs)
