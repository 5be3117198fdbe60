"""Agents of the demo that work over OpenIntent: an intent with its tasks, and what they remember, as flows keep it."""

from uuid import UUID

from django.db import transaction

from memory import work
from memory.addresses import Address, Tier
from memory.agent_memory import entries
from memory.host import ids
from memory.host.models import Tenant
from memory.host.tenancy import TenantScope
from memory.ledger import Given
from memory.models import Intent
from memory.tiers import Caller
from memory.work import NewIntent, NewTask, TaskChange
from openwop_console.demo.running import Clock
from openwop_console.demo.story import Document, Endeavour


def missing(tenant_id: UUID, wanted: list[Endeavour]) -> list[Endeavour]:
    """Those of which there is no intent yet."""
    titles = [each.title for each in wanted]
    there = set(Intent.objects.of(tenant_id).filter(title__in=titles).values_list("title", flat=True))
    return [each for each in wanted if each.title not in there]


@transaction.atomic
def carry_out(scope: TenantScope, wanted: Endeavour, clock: Clock) -> bool:
    """The intent is there with all that belongs to it, once, by however many seedings; whether this one made it."""
    Tenant.objects.select_for_update().get(id=scope.tenant_id)
    if not missing(scope.tenant_id, [wanted]):
        return False
    new = NewIntent(wanted.title, description=wanted.description)
    intent = work.create_intent(scope, new, actor=wanted.by, now=clock())
    intent_id = ids.wire("intent", intent.id)
    for agent in wanted.agents:
        work.assign_agent(scope, intent_id, agent, actor=wanted.by, now=clock())
    for task in wanted.tasks:
        _carry_out_task(scope, wanted, task, intent_id, clock)
    for given in wanted.remembers:
        _remember(scope, given, given["agent"], {}, clock)
    return True


def _carry_out_task(scope: TenantScope, wanted: Endeavour, task: Document, intent_id: str, clock: Clock) -> None:
    agent = task["agent"]
    new = NewTask(intent_id, task["name"], status="running", assigned_agent=agent)
    row = work.create_task(scope, new, actor=wanted.by, now=clock())
    task_id = ids.wire("task", row.id)
    for given in task["remembers"]:
        _remember(scope, given, agent, {"task_id": task_id, "intent_id": intent_id}, clock)
    if task["status"] != "running":
        change = TaskChange(status=task["status"])
        work.update_task(scope, task_id, change, version=row.version, actor=agent, now=clock())


def _remember(scope: TenantScope, given: Document, agent: str, place: dict[str, str], clock: Clock) -> None:
    """The entry, in as many versions as are told."""
    caller, tier = Caller(scope, agent), Tier(given.get("tier", "working"))
    said: Document = {name: given[name] for name in ("pinned", "priority", "sensitivity") if name in given}
    address = Address(tier, agent, given["namespace"], given["key"], **(said | place))
    row = entries.create(caller, Given(address, given["value"], tuple(given.get("tags", ()))), now=clock())
    for value in given.get("then", ()):
        row = entries.update(caller, row.id, row.version, {"value": value}, now=clock())
