"""Who may do what to an entry of each tier, as one table (RFC-0015 2, 6.4 to 6.6, 8, 9.1; C7, C9, C15, C19).

A new role, tier or verb has no answer in the table, and fails until it has one.
"""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import timedelta
from itertools import product
from typing import Any

import pytest
from django.db import transaction
from django.test import Client
from django.utils import timezone
from pytest_django import DjangoDbBlocker

from memory import ledger
from memory.addresses import Address, Tier
from memory.host import access, ids, tenancy
from memory.host.tenancy import TenantScope
from memory.models import Intent, Namespace, Task
from memory.models.address import EntryAddress
from memory.openintent import access as openintent_access
from memory.openintent import entries
from memory.openintent.access import Caller
from memory.openintent.namespaces import Permissions, change
from memory.openintent.work import coordinators, grants, intents, tasks
from memory.openintent.work.grants import NewGrant
from memory.openintent.work.rows import CoordinatorChange, NewCoordinator, NewIntent, NewTask, TaskChange
from tests import building
from tests.budgets import THOROUGH

pytestmark = pytest.mark.django_db
VERBS = ("get", "list", "total", "conflict", "summary", "patch", "delete", "batch", "sweep", "create")
# One mark a verb, in their order: with ``+`` it is done or shows the entry. With ``-`` it is refused with 403, or shows
# nothing and changes nothing. With ``0`` there is no such entry. ``create`` is in the owner's name, and of semantic
# memory in its namespace; the summary is the owner's.
TABLE = """
who                              | working    | episodic   | semantic
owner                            | ++++++++++ | ++++++++++ | ++++++++++
other agent                      | ---------- | ---------- | +++-------
coordinator                      | +++-+----- | +++-+----- | +++-+-----
coordinator of an ended task     | ---------- | ---------- | +++-------
coordinator that has ended       | ---------- | ---------- | +++-------
coordinator whose time is over   | ---------- | ---------- | +++-------
coordinator of another intent    | ---------- | ---------- | +++-------
granted reader of the task       | +++------- | ---------- | +++-------
granted writer of the task       | ++++-++++- | ---------- | +++-------
granted reader of the intent     | +++------- | ---------- | +++-------
granted writer of the intent     | ++++-++++- | ---------- | +++-------
granted reader of another task   | ---------- | ---------- | +++-------
granted once, expired            | ---------- | ---------- | +++-------
granted once, revoked            | ---------- | ---------- | +++-------
newly assigned                   | +++------- | ---------- | +++-------
assigned to another task         | ---------- | ---------- | +++-------
previously assigned              | ++++++++++ | ++++++++++ | ++++++++++
previously assigned, dead        | +++-+----- | ++++++++++ | ++++++++++
agent of a child that inherits   | +++------- | ---------- | +++-------
agent of an ended child          | ---------- | ---------- | +++-------
agent of a child                 | ---------- | ---------- | +++-------
reader by rule                   | ---------- | ---------- | +++-------
writer by rule                   | ---------- | ---------- | ++++-+++++
administrator by rule            | ---------- | ---------- | ++++-+++++
shut out by rule                 | ---------- | ---------- | ----------
inside its guardrails            | ---------- | ---------- | ++++-+++++
outside its guardrails           | ---------- | ---------- | ----------
denied by its guardrails         | ---------- | ---------- | ----------
operator                         | ++++++++++ | ++++++++++ | ++++++++++
tenant's owner                   | ++++++++++ | ++++++++++ | ++++++++++
operator's key bound to an agent | ---------- | ---------- | +++-------
viewer as the owner              | +++-+----- | +++-+----- | +++-+-----
author as the owner              | +++-+----- | +++-+----- | +++-+-----
reviewer as the owner            | +++-+----- | +++-+----- | +++-+-----
auditor as the owner             | ---------- | ---------- | ----------
same agent of another tenant     | 0--0-000-+ | 0--0-000-+ | 0--0-000-+
owner of another tenant          | 0--0-000-+ | 0--0-000-+ | 0--0-000-+
"""
# What is sealed is shown to whom the rest is, but for keys that only look on: bound to no agent, they may not write.
SHOWN = ("get", "list", "total")
SEALED_TABLE = """
who                              | working | episodic | semantic
owner                            | +++     | +++      | +++
coordinator                      | +++     | +++      | +++
granted reader of the task       | +++     | ---      | +++
newly assigned                   | +++     | ---      | +++
other agent                      | ---     | ---      | +++
operator                         | +++     | +++      | +++
tenant's owner                   | +++     | +++      | +++
viewer as the owner              | ---     | ---      | ---
author as the owner              | ---     | ---      | ---
reviewer as the owner            | ---     | ---      | ---
auditor as the owner             | ---     | ---      | ---
"""
# The other three ask the same rule as one of these. In a quick run they are tried by those in whose lines every mark of
# each of them is, and `make test-all` tries them by all. What an agent may read and write in a tier is asked of the two
# rules themselves for each line (`require_the_line`), so that of the others that are agents a quick run asks no more
# than one verb of each rule.
FIRST_VERBS = tuple(verb for verb in VERBS if verb not in {"total", "delete", "batch"})
RULES_VERBS = ("get", "summary", "create")
ALL_VERBS = {
    "owner", "other agent", "coordinator", "granted reader of the task", "granted writer of the task", "writer by rule",
    "viewer as the owner", "auditor as the owner", "same agent of another tenant",
}  # fmt: skip
HEAD, *LINES = [[part.strip() for part in line.split("|")] for line in TABLE.strip().splitlines()]
KEYS = ("seen", "patch", "delete", "batch", "sweep")
CALLER = Client()
TIERS = HEAD[1:]
ANSWERS = {line[0]: dict(zip(TIERS, line[1:], strict=True)) for line in LINES}
OF_SEALED = [[part.strip() for part in line.split("|")] for line in SEALED_TABLE.strip().splitlines()[1:]]


@dataclass
class House:
    """Acme, where the agent ``owner`` has a task under way, and an entry for each verb in each tier."""

    scope: TenantScope = field(default_factory=lambda: building.scope("acme", "agent"))
    task: Task = field(init=False)
    intent: Intent = field(init=False)
    entries: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.intent = self.new_intent()
        self.task = self.new_task(self.intent, "owner")

    def new_intent(self) -> Intent:
        return intents.create_intent(self.scope, NewIntent("An intent"), actor="owner", now=timezone.now())

    def new_task(self, intent: Intent, agent: str, **more: Any) -> Task:
        wanted = NewTask(ids.wire("intent", intent.id), "A task", assigned_agent=agent, **more)
        return tasks.create_task(self.scope, wanted, actor="owner", now=timezone.now())

    def change_task(self, task: Task, **how: Any) -> None:
        change, now = TaskChange(**how), timezone.now()
        tasks.update_task(self.scope, ids.wire("task", task.id), change, version=1, actor="owner", now=now)

    def coordinator(self, intent: Intent, **more: Any) -> str:
        now = more.pop("now", timezone.now())
        wanted = NewCoordinator(ids.wire("intent", intent.id), "who", **more)
        made = coordinators.create_coordinator(self.scope, wanted, actor="owner", now=now)
        return ids.wire("coord", made.id)

    def grant(self, intent: Intent, permission: str = "read", task: Task | None = None, **more: Any) -> str:
        on = ids.wire("task", task.id) if task else ""
        wanted = NewGrant("who", permission, on, more.get("expires_at"))
        about, now = ids.wire("intent", intent.id), more.get("now", timezone.now())
        return ids.wire("acl", grants.grant(self.scope, about, wanted, actor="owner", now=now).id)

    def rule(self, access_: str) -> None:
        """One rule more for the namespace; the owner keeps its own."""
        allow = [{"agent": "owner", "access": "write"}, {"agent": "who", "access": access_}]
        operator = Caller(building.scope("acme", "operator"), "admin")
        change(operator, "shared", Permissions(allow=allow), now=timezone.now())

    def remember(self, tier: str, sensitivity: str = "") -> None:
        for key in KEYS:
            task = ids.wire("task", self.task.id) if tier == "working" else ""
            address = Address(Tier(tier), "owner", "shared", f"{tier}-{key}", task_id=task, sensitivity=sensitivity)
            made = entries.create(
                Caller(self.scope, "owner"),
                ledger.entries.AddressedValue(address, {"secret": "pelican"}),
                now=timezone.now(),
            )
            self.entries[f"{tier}-{key}"] = ids.wire("mem", made.id)


@dataclass
class Door:
    """Somebody at the API, by a key of its own."""

    house: House
    tier: str = ""
    tenant: str = "acme"
    role: str = "agent"
    agent: str = "who"
    bound: bool = False

    def __post_init__(self) -> None:
        self.key = building.key(self.tenant, self.role, **({"agents": (self.agent,)} if self.bound else {}))

    def ask(self, method: str, path: str, body: Any = None, **headers: Any) -> Any:
        sent = json.dumps(body) if body is not None else ""
        named = {"HTTP_X_API_KEY": self.key, "HTTP_X_AGENT_ID": self.agent, **headers}
        url = f"/api/v1/{path}"
        return CALLER.generic(method, url, sent, content_type="application/json", **named)

    @property
    def caller(self) -> Caller:
        return Caller(tenancy.tenant_scope(tenancy.key_principal(self.key, now=timezone.now())), self.agent)


def mark(answer: Any, done: int = 200) -> str:
    """The mark of the answer, which shows nothing of the entry when it refuses."""
    marks = {done: "+", 403: "-", 404: "0"}
    assert answer.status_code in marks, (answer.status_code, answer.content)
    assert answer.status_code == done or b"pelican" not in answer.content
    return marks[answer.status_code]


def get(door: Door, entry: str) -> str:
    return mark(door.ask("GET", f"memory/{entry}"))


def query(door: Door) -> Any:
    owner = "" if door.tier == "semantic" else "&agent_id=owner"
    return door.ask("GET", f"memory?memory_type={door.tier}&key={door.tier}-seen{owner}")


def listed(door: Door, entry: str) -> str:
    """By both lists, which agree."""
    of = door.agent if door.tier == "semantic" else "owner"
    array = door.ask("GET", f"agents/{of}/memory?memory_type={door.tier}&limit=1000")
    answer = query(door)
    if answer.status_code != 200:
        return mark(array) and mark(answer)
    one, other = ([each["id"] for each in found] for found in (answer.json()["entries"], array.json()))
    assert (entry in one) == (entry in other)
    assert (b"pelican" in answer.content) == bool(one)
    return "+" if entry in one else "-"


def total(door: Door, entry: str) -> str:
    answer = query(door)
    if answer.status_code != 200:
        return mark(answer)
    shown = answer.json()["total"]
    return {0: "-", 1: "+"}[shown]


def conflict(door: Door, entry: str) -> str:
    """What a wrong version shows of the entry."""
    answer = door.ask("PATCH", f"memory/{entry}", {"value": {}}, HTTP_IF_MATCH="7")
    assert answer.status_code != 409 or answer.json()["current_value"] == {"secret": "pelican"}
    return mark(answer, 409)


def summary(door: Door, entry: str) -> str:
    answer = door.ask("GET", "agents/owner/memory/summary")
    found = answer.json()
    nothing = answer.status_code == 200 and not found["working"]["entry_count"] + found["episodic"]["entry_count"]
    return "-" if nothing and door.tenant != "acme" else mark(answer)


def patch(door: Door, entry: str) -> str:
    return mark(door.ask("PATCH", f"memory/{entry}", {"value": {"n": 2}}, HTTP_IF_MATCH="1"))


def delete(door: Door, entry: str) -> str:
    return mark(door.ask("DELETE", f"memory/{entry}"))


def batch(door: Door, entry: str) -> str:
    return mark(door.ask("POST", "memory/batch", {"entries": [{"id": entry, "version": 1, "value": {"n": 2}}]}))


def sweep(door: Door, entry: str) -> str:
    owner = {} if door.tier == "semantic" else {"agent_id": "owner"}
    wanted = {"filter": {"memory_type": door.tier, "key": f"{door.tier}-sweep", **owner}}
    answer = door.ask("DELETE", "memory/batch", wanted)
    if answer.status_code != 200:
        return mark(answer)
    assert answer.json()["ids"] in ([], [entry])
    return "+" if answer.json()["deleted"] else "-"


def create(door: Door, entry: str) -> str:
    scope = {"scope": {"task_id": ids.wire("task", door.house.task.id)}} if door.tier == "working" else {}
    owner = {} if door.tier == "semantic" else {"agent_id": "owner"}
    given = {
        "namespace": "shared",
        "key": f"{door.tier}-fresh",
        "value": {},
        "memory_type": door.tier,
        **scope,
        **owner,
    }
    return mark(door.ask("POST", "memory", given), 201)


ASKED: dict[str, Callable[[Door, str], str]] = {
    "get": get,
    "list": listed,
    "total": total,
    "conflict": conflict,
    "summary": summary,
    "patch": patch,
    "delete": delete,
    "batch": batch,
    "sweep": sweep,
    "create": create,
}


def nothing(house: House) -> None:
    """The caller is nobody to the owner."""


def ended_task(house: House) -> None:
    other = house.new_intent()
    house.coordinator(other)
    house.change_task(house.new_task(other, "owner"), status="completed")


def ended_coordinator(house: House) -> None:
    made, now = house.coordinator(house.intent), timezone.now()
    over = CoordinatorChange(status="completed")
    coordinators.update_coordinator(house.scope, made, over, version=1, actor="owner", now=now)


def late_coordinator(house: House) -> None:
    then = timezone.now() - timedelta(hours=2)
    house.coordinator(house.intent, now=then, expires_at=then + timedelta(hours=1))


def other_coordinator(house: House) -> None:
    other = house.new_intent()
    house.new_task(other, "somebody")
    house.coordinator(other)


def expired_grant(house: House) -> None:
    then = timezone.now() - timedelta(hours=2)
    house.grant(house.intent, "write", now=then, expires_at=then + timedelta(hours=1))


def revoked_grant(house: House) -> None:
    about, now = ids.wire("intent", house.intent.id), timezone.now()
    grants.revoke(house.scope, about, house.grant(house.intent, "write"), actor="owner", now=now)


def reassigned(house: House, to: str = "who", reason: str = "") -> None:
    house.change_task(house.task, assigned_agent=to, reason=reason)


def child(house: House, *, inherits: bool | None, ended: bool = False) -> None:
    policy = None if inherits is None else {"inherit_from_parent": inherits}
    under = ids.wire("task", house.task.id)
    made = house.new_task(house.intent, "who", parent_task_id=under, memory_policy=policy)
    if ended:
        house.change_task(made, status="completed")


def guarded(house: House, allowed: list[str] | None, denied: list[str]) -> None:
    house.rule("write")
    other = house.new_intent()
    house.new_task(other, "who")
    rails = {"allowed_semantic_namespaces": allowed, "denied_semantic_namespaces": denied}
    wanted = NewCoordinator(ids.wire("intent", other.id), "boss", rails)
    coordinators.create_coordinator(house.scope, wanted, actor="owner", now=timezone.now())


PEOPLE: dict[str, tuple[Callable[[House], Any], dict[str, Any]]] = {
    "owner": (nothing, {"agent": "owner"}),
    "other agent": (nothing, {}),
    "coordinator": (lambda house: house.coordinator(house.intent), {}),
    "coordinator of an ended task": (ended_task, {}),
    "coordinator that has ended": (ended_coordinator, {}),
    "coordinator whose time is over": (late_coordinator, {}),
    "coordinator of another intent": (other_coordinator, {}),
    "granted reader of the task": (lambda house: house.grant(house.intent, "read", house.task), {}),
    "granted writer of the task": (lambda house: house.grant(house.intent, "write", house.task), {}),
    "granted reader of the intent": (lambda house: house.grant(house.intent, "read"), {}),
    "granted writer of the intent": (lambda house: house.grant(house.intent, "write"), {}),
    "granted reader of another task": (
        lambda house: house.grant(house.intent, "read", house.new_task(house.intent, "owner")),
        {},
    ),
    "granted once, expired": (expired_grant, {}),
    "granted once, revoked": (revoked_grant, {}),
    "newly assigned": (reassigned, {}),
    "assigned to another task": (lambda house: house.new_task(house.intent, "who"), {}),
    "previously assigned": (lambda house: reassigned(house, "somebody"), {"agent": "owner"}),
    "previously assigned, dead": (lambda house: reassigned(house, "somebody", "failed"), {"agent": "owner"}),
    "agent of a child that inherits": (lambda house: child(house, inherits=True), {}),
    "agent of an ended child": (lambda house: child(house, inherits=True, ended=True), {}),
    "agent of a child": (lambda house: child(house, inherits=None), {}),
    "reader by rule": (lambda house: house.rule("read"), {}),
    "writer by rule": (lambda house: house.rule("write"), {}),
    "administrator by rule": (lambda house: house.rule("admin"), {}),
    "shut out by rule": (lambda house: house.rule("none"), {}),
    "inside its guardrails": (lambda house: guarded(house, ["shared"], []), {}),
    "outside its guardrails": (lambda house: guarded(house, ["elsewhere"], []), {}),
    "denied by its guardrails": (lambda house: guarded(house, ["shared"], ["shared"]), {}),
    "operator": (nothing, {"role": "operator"}),
    "tenant's owner": (nothing, {"role": "owner"}),
    "operator's key bound to an agent": (nothing, {"role": "operator", "bound": True}),
    "viewer as the owner": (nothing, {"role": "viewer", "agent": "owner"}),
    "author as the owner": (nothing, {"role": "author", "agent": "owner"}),
    "reviewer as the owner": (nothing, {"role": "reviewer", "agent": "owner"}),
    "auditor as the owner": (nothing, {"role": "auditor", "agent": "owner"}),
    "same agent of another tenant": (nothing, {"tenant": "globex", "agent": "owner"}),
    "owner of another tenant": (nothing, {"tenant": "globex", "agent": "owner", "role": "owner"}),
}


@pytest.fixture(scope="module")
def house(request: pytest.FixtureRequest, django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[House]:
    """The house with the owner's entries of this sensitivity, built once; each test undoes what it did there."""
    with django_db_blocker.unblock(), transaction.atomic():
        built = House()
        for tier in TIERS:
            built.remember(tier, request.param)
        yield built
        transaction.set_rollback(True)


def arranged(house: House, who: str) -> Door:
    """The caller at the door, and the owner's entries behind it."""
    prepare, how = PEOPLE[who]
    prepare(house)
    return Door(house, **how)


@pytest.mark.parametrize("house", [""], ids=["open"], indirect=True)
@pytest.mark.parametrize("who", list(ANSWERS))
def test_the_table_is_what_happens(house: House, who: str) -> None:
    door = arranged(house, who)
    require_the_line(who, *require_one_rule(door))
    found, meant = dict.fromkeys(TIERS, ""), dict.fromkeys(TIERS, "")
    for verb, tier in product(asked_by(who), TIERS):
        door.tier = tier
        found[tier] += ASKED[verb](door, door.house.entries[f"{tier}-{verb if verb in KEYS else 'seen'}"])
        meant[tier] += ANSWERS[who][tier][VERBS.index(verb)]
    assert found == meant


@pytest.mark.parametrize("house", ["restricted"], indirect=True)
@pytest.mark.parametrize(("who", *TIERS), OF_SEALED)
def test_the_table_of_what_is_sealed_is_what_happens(
    house: House, who: str, working: str, episodic: str, semantic: str
) -> None:
    door = arranged(house, who)
    require_one_rule(door)
    found = dict.fromkeys(TIERS, "")
    for verb, tier in product(SHOWN, TIERS):
        door.tier = tier
        found[tier] += ASKED[verb](door, door.house.entries[f"{tier}-seen"])
    assert found == {"working": working, "episodic": episodic, "semantic": semantic}


def asked_by(who: str) -> tuple[str, ...]:
    """The verbs that are tried over the wire."""
    if THOROUGH or who in ALL_VERBS:
        return VERBS
    return FIRST_VERBS if PEOPLE[who][1] else RULES_VERBS


def require_the_line(who: str, readable: set[str], writable: set[str]) -> None:
    """The tiers that the rules let an agent read and write are those of its line in the table."""
    if PEOPLE[who][1].get("role", "agent") == "agent" and "tenant" not in PEOPLE[who][1]:
        line = ANSWERS[who]
        for verb, tiers in {"get": readable, "list": readable, "patch": writable, "sweep": writable}.items():
            assert {tier for tier in TIERS if line[tier][VERBS.index(verb)] == "+"} == tiers, verb


def require_one_rule(door: Door) -> tuple[set[str], set[str]]:
    """A list shows exactly what may be read one by one, and a filter deletes exactly what may be deleted one by one.

    The entries of a tier differ in their key alone, so one of each is asked about. Returned are the tiers that
    may be read and those that may be written.
    """
    caller, now = door.caller, timezone.now()
    seen = EntryAddress.objects.filter(key__endswith="-seen")
    rows, own = list(seen.select_related("entry")), seen.filter(tenant_id=caller.tenant_id)
    assert len(rows) == len(TIERS)
    readable = {row.id for row in rows if openintent_access.may_read(caller, row, now)}
    writable = {row.id for row in rows if openintent_access.may_write(caller, row, now)}
    if caller.scope.can("memory:read"):
        assert readable == set(own.filter(openintent_access.visible(caller, now=now)).values_list("id", flat=True))
    if caller.scope.can("memory:write"):
        assert writable == set(own.filter(openintent_access.writable(caller, now=now)).values_list("id", flat=True))
    assert writable <= readable
    return ({row.tier for row in rows if row.id in readable}, {row.tier for row in rows if row.id in writable})


def test_the_table_has_an_answer_for_every_role_tier_and_verb() -> None:
    assert list(ANSWERS) == list(PEOPLE)
    assert [str(tier) for tier in Tier] == TIERS
    assert list(ASKED) == list(VERBS)
    for who, cells in ANSWERS.items():
        assert all(len(cell) == len(VERBS) and set(cell) <= set("+-0") for cell in cells.values()), who
    asked = {how.get("role", "agent") for _, how in PEOPLE.values()}
    assert asked == set(access.ROLES), "every role of the console has a row"
    assert set(Namespace.ACCESS) == {"none", "read", "write", "admin"}
