"""What holds of work whichever door it came through: policies, guardrails, authority, ends (R72 to R81, C15, C19)."""

from datetime import datetime, timedelta
from typing import Any

import pytest
from django.utils import timezone
from openintent.models import EventType, TaskStatus

from memory.host import event_log, vault
from memory.host.errors import Conflict, Forbidden, Invalid, VersionMismatch
from memory.host.models import Run
from memory.host.tenancy import TenantScope
from memory.models import Assignment, Coordinator, EventNote, Task
from memory.openintent import work
from memory.openintent.work import grants
from memory.openintent.work.grants import NewGrant
from memory.openintent.work.rows import (
    KINDS,
    OF_STATUS,
    CoordinatorChange,
    NewAgent,
    NewCoordinator,
    NewIntent,
    NewTask,
    TaskChange,
)
from tests import building


class Desk:
    """An intent of ``chief`` in Acme, and what is done with it, minute by minute."""

    def __init__(self) -> None:
        self.scope = building.scope()
        self.now = timezone.now()
        self.intent = work.intents.create_intent(self.scope, NewIntent("Invoices"), actor="chief", now=self.now)

    @property
    def intent_id(self) -> str:
        return f"intent_{self.intent.id.hex}"

    def task(self, **more: Any) -> Any:
        return work.tasks.create_task(self.scope, NewTask(self.intent_id, "fetch", **more), actor="chief", now=self.now)

    def change(self, task: Any, **change: Any) -> Any:
        wire = f"task_{task.id.hex}"
        version = work.tasks.find_task(self.scope, wire).version
        return work.tasks.update_task(
            self.scope, wire, TaskChange(**change), version=version, actor="chief", now=timezone.now()
        )

    def rails(self, agent: str = "chief", ends: datetime | None = None, **guardrails: Any) -> Coordinator:
        new = NewCoordinator(self.intent_id, agent, guardrails or None, expires_at=ends)
        return work.coordinators.create_coordinator(self.scope, new, actor="chief", now=self.now)

    def grant(self, agent: str, **more: Any) -> Any:
        return grants.grant(self.scope, self.intent_id, NewGrant(agent, "read", **more), actor="chief", now=self.now)

    def patch(self, *patches: dict[str, Any]) -> Any:
        version = work.intents.find_intent(self.scope, self.intent_id).version
        return work.intents.update_state(
            self.scope, self.intent_id, list(patches), version=version, actor="chief", now=self.now
        )


def coordinated(desk: Desk, agent_id: str, now: datetime) -> int:
    """How many tasks under way the agent coordinates."""
    return work.rows.coordinated_by(desk.scope.tenant_id, agent_id, now=now).count()


@pytest.fixture
def desk(db: None) -> Desk:
    return Desk()


def test_the_words_of_the_log_are_those_of_the_published_client() -> None:
    known = {each.value for each in EventType}
    assert known - KINDS == {each for each in known if each.startswith("memory.")}
    assert known >= KINDS
    assert set(OF_STATUS.values()) <= KINDS
    assert set(OF_STATUS) == {each.value for each in TaskStatus}


def test_a_secret_in_work_is_kept_nowhere(desk: Desk) -> None:
    vault.store_secret(desk.scope.tenant_id, "API", "sk-super-secret-4711", now=desk.now)
    task = desk.task(description="use sk-super-secret-4711", record={"input": {"sk-super-secret-4711": 1}})
    desk.change(task, reason="sk-super-secret-4711 is old", assigned_agent="a")
    work.intents.log_event(
        desk.scope, desk.intent_id, "comment", {"t": ["sk-super-secret-4711"]}, actor="chief", now=desk.now
    )
    rows = [
        str(work.tasks.find_task(desk.scope, f"task_{task.id.hex}").__dict__),
        *map(str, EventNote.objects.values()),
    ]
    assert not [row for row in rows if "sk-super" in row]


def test_the_log_itself_has_no_words(desk: Desk) -> None:
    desk.task(description="of Marta Kowalska")
    events = event_log.read(desk.scope.tenant_id, desk.intent.id)
    payloads = [each.payload for each in events if each.type == "openintent.logged"]
    assert payloads == [{"kind": "intent_created", "actor": "chief"}, {"kind": "task.created", "actor": "chief"}]
    run = Run.objects.of(desk.scope.tenant_id).get(id=desk.intent.id)
    assert (run.workflow_id, run.system) == ("openintent-intent", True)


def test_R73_R74_what_a_task_says_nothing_of_is_archived_and_not_inherited(desk: Desk) -> None:
    assert work.tasks.policy_of(desk.task(), now=desk.now) == work.tasks.Policy()
    given = {"archive_on_completion": False, "inherit_from_parent": True}
    assert work.tasks.policy_of(desk.task(memory_policy=given), now=desk.now) == work.tasks.Policy(False, True)


def test_R87_a_task_s_policy_overrides_its_intent_s_key_by_key(desk: Desk) -> None:
    policy = {"archive_on_completion": False, "max_entries": 50}
    of_file = work.intents.create_intent(desk.scope, NewIntent("File", policy=policy), actor="chief", now=desk.now)
    new = NewTask(f"intent_{of_file.id.hex}", "x", memory_policy={"max_entries": 100})
    task = work.tasks.create_task(desk.scope, new, actor="chief", now=desk.now)
    assert work.tasks.policy_of(task, now=desk.now) == work.tasks.Policy(False, False, 100)


def test_R77_R78_R81_guardrails_of_several_coordinators_hold_together(desk: Desk) -> None:
    task = desk.task(
        assigned_agent="worker",
        memory_policy={"archive_on_completion": False, "max_entries": 9, "max_total_size_kb": 4},
    )
    agent = work.coordinators.register_agent(desk.scope, NewAgent("worker", capacity=40), actor="chief", now=desk.now)
    assert work.tasks.capacity_of(agent, now=desk.now) == 40
    desk.rails(max_working_memory_per_task=7, memory_archive_required=False, allowed_semantic_namespaces=["a", "b"])
    assert work.tasks.policy_of(task, now=desk.now) == work.tasks.Policy(False, False, 7, 4)
    second = desk.rails("deputy", max_episodic_memory_per_agent=30, allowed_semantic_namespaces=["b"])
    assert work.tasks.policy_of(task, now=desk.now) == work.tasks.Policy(True, False, 7, 4)
    assert work.tasks.capacity_of(agent, now=desk.now) == 30
    assert work.tasks.guardrails_over(desk.scope.tenant_id, "worker", now=desk.now).allowed == frozenset({"b"})
    change = work.rows.CoordinatorChange(status="completed")
    wire = f"coord_{second.id.hex}"
    work.coordinators.update_coordinator(desk.scope, wire, change, version=1, actor="chief", now=desk.now)
    assert work.tasks.policy_of(task, now=desk.now) == work.tasks.Policy(False, False, 7, 4)
    desk.change(task, status="completed")
    assert work.tasks.capacity_of(agent, now=desk.now) == 40


def test_R81_a_coordinator_without_guardrails_demands_nothing(desk: Desk) -> None:
    task = desk.task(memory_policy={"archive_on_completion": False})
    desk.rails()
    assert work.tasks.policy_of(task, now=desk.now).archive_on_completion is False


def test_a_coordinator_whose_time_is_over_lapses(desk: Desk) -> None:
    desk.task()
    row = desk.rails("deputy", ends=desk.now + timedelta(minutes=1))
    later = desk.now + timedelta(minutes=2)
    assert [coordinated(desk, "deputy", now) for now in (desk.now, later)] == [1, 0]
    assert work.coordinators.lapse(now=desk.now) == 0
    assert work.coordinators.lapse(now=later) == 1
    assert coordinated(desk, "deputy", desk.now) == 0
    assert work.coordinators.find_coordinator(desk.scope, f"coord_{row.id.hex}").status == "unresponsive"


def test_who_coordinates_one_intent_directs_no_other(desk: Desk) -> None:
    bound = building.scope(role="agent", agents=("deputy",))
    other = work.intents.create_intent(desk.scope, NewIntent("Taxes"), actor="chief", now=desk.now)
    desk.rails("deputy")
    both = (desk.intent, other)
    assert [work.authority.directs(bound, each, "deputy", now=desk.now) for each in both] == [True, False]


def test_who_ends_a_task_is_its_coordinator_no_more(desk: Desk) -> None:
    task = desk.task(assigned_agent="worker")
    desk.rails("chief")
    tenant = desk.scope.tenant_id
    assert coordinated(desk, "chief", desk.now) == 1
    assert [each.id for each in work.rows.live_tasks(tenant, "worker")] == [task.id]
    desk.change(task, status="skipped")
    assert coordinated(desk, "chief", desk.now) == 0
    assert list(work.rows.live_tasks(tenant, "worker")) == []


def test_the_memory_of_a_task_is_archived_once_within_its_end(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    called: list[tuple[str, str]] = []
    monkeypatch.setattr(
        "memory.openintent.work.tasks.archive", lambda row, actor, now: called.append((row.status, actor))
    )
    task = desk.task()
    desk.change(task, status="running")
    assert called == []
    desk.change(task, status="failed")
    with pytest.raises(Conflict):
        desk.change(task, status="completed")
    assert called == [("failed", "chief")]


def test_a_change_that_fails_changes_nothing(desk: Desk) -> None:
    task = desk.task()
    with pytest.raises(Invalid):
        desk.change(task, assigned_agent="worker", status="asleep")
    assert work.tasks.find_task(desk.scope, f"task_{task.id.hex}").version == 1
    assert Assignment.objects.count() == 0
    with pytest.raises(VersionMismatch):
        change = TaskChange(status="running")
        work.tasks.update_task(desk.scope, f"task_{task.id.hex}", change, version=7, actor="chief", now=desk.now)


def test_an_agent_that_only_joined_directs_nothing(desk: Desk) -> None:
    bound = building.scope("acme", "agent", agents=("guest",))
    work.intents.assign_agent(bound, desk.intent_id, "guest", actor="guest", now=desk.now)
    with pytest.raises(Forbidden):
        work.intents.assign_agent(bound, desk.intent_id, "friend", actor="guest", now=desk.now)
    with pytest.raises(Forbidden):
        new = NewCoordinator(desk.intent_id, "guest")
        work.coordinators.create_coordinator(bound, new, actor="guest", now=desk.now)


def bound(agent_id: str) -> TenantScope:
    """The credential of one agent and no other."""
    return building.scope(role="agent", agents=(agent_id,))


def test_an_agent_gives_itself_no_task_and_so_no_memory_in_the_intent_of_another(desk: Desk) -> None:
    mine = work.intents.create_intent(bound("mal"), NewIntent("Mine"), actor="mal", now=desk.now)
    theirs = f"task_{desk.task().id.hex}"
    for intent_id, parent in ((desk.intent_id, ""), (desk.intent_id, theirs), (f"intent_{mine.id.hex}", theirs)):
        new = NewTask(intent_id, "look", assigned_agent="mal", parent_task_id=parent)
        with pytest.raises((Forbidden, Invalid)):
            work.tasks.create_task(bound("mal"), new, actor="mal", now=desk.now)
    assert Task.objects.filter(assigned_agent="mal").count() == 0


def test_to_have_joined_gives_a_voice_and_no_part(desk: Desk) -> None:
    mal = bound("mal")
    with pytest.raises(Forbidden):
        work.intents.log_event(mal, desk.intent_id, "comment", {"t": "hi"}, actor="mal", now=desk.now)
    joined = work.intents.assign_agent(mal, desk.intent_id, "mal", actor="mal", now=desk.now)
    assert work.intents.log_event(mal, desk.intent_id, "comment", {"t": "hi"}, actor="mal", now=desk.now)
    with pytest.raises(Forbidden):
        work.intents.set_status(mal, desk.intent_id, "abandoned", version=joined.version, actor="mal", now=desk.now)


def test_a_coordinator_whose_time_is_over_does_not_bring_itself_back(desk: Desk) -> None:
    wire = f"coord_{desk.rails('second').id.hex}"
    over = CoordinatorChange(status="failed_over")
    work.coordinators.update_coordinator(desk.scope, wire, over, version=1, actor="chief", now=desk.now)
    with pytest.raises(Forbidden):
        back = CoordinatorChange(status="active")
        work.coordinators.update_coordinator(bound("second"), wire, back, version=2, actor="second", now=desk.now)


def test_who_has_a_task_does_not_open_its_parent_s_memory_to_itself(desk: Desk) -> None:
    parent = desk.task(assigned_agent="other")
    child = desk.task(assigned_agent="mal", parent_task_id=f"task_{parent.id.hex}")
    change = TaskChange(memory_policy={"inherit_from_parent": True})
    with pytest.raises(Forbidden):
        work.tasks.update_task(bound("mal"), f"task_{child.id.hex}", change, version=1, actor="mal", now=desk.now)


def test_an_intent_has_room_for_so_much_and_no_more(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    for module, bound in ((work.coordinators, "MAX_OF_INTENT"), (work.tasks, "MAX_OF_INTENT"), (grants, "MAX_GRANTS")):
        monkeypatch.setattr(module, bound, 1)
    for bound in ("MAX_AGENTS", "MAX_PATCHES"):
        monkeypatch.setattr(work.intents, bound, 1)
    with_one = [
        lambda n: desk.rails(f"agent-{n}"),
        lambda n: desk.task(),
        lambda n: desk.grant(f"agent-{n}"),
        lambda n: work.intents.assign_agent(desk.scope, desk.intent_id, f"agent-{n}", actor="chief", now=desk.now),
        lambda n: desk.patch(*[{"path": "n", "value": n}] * n),
    ]
    for more in with_one:
        more(1)
        with pytest.raises(Invalid) as refused:
            more(2)
        assert refused.value.details["errors"]
    assert Desk().grant("agent-2"), "another intent has room of its own"


def test_a_name_that_is_too_long_once_its_secrets_are_marks_is_refused(desk: Desk) -> None:
    vault.store_secret(desk.scope.tenant_id, "crm", "pelican-4711", now=desk.now)
    title = "pelican-4711 " * 38
    with pytest.raises(Invalid) as refused:
        work.intents.create_intent(desk.scope, NewIntent(title), actor="chief", now=desk.now)
    assert "marks of secrets included" in str(refused.value.details)


def test_a_grant_that_is_over_already_is_refused(desk: Desk) -> None:
    with pytest.raises(Invalid):
        desk.grant("clerk", expires_at=desk.now - timedelta(seconds=1))
