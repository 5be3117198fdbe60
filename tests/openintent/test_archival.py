"""Working memory goes with its task: archived on the intent's log, or cleared (RFC-0015 2.1; R21-R23, R27-R29, R73,
R81, C2, C4)."""

import asyncio
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import httpx
import pytest
from django.utils import timezone
from openintent import OpenIntentClient
from openintent.exceptions import ConflictError, NotFoundError
from openintent.models import EventType

from memory import adapter, ledger
from memory.addresses import Address, Tier
from memory.host import event_log, vault
from memory.host.errors import TaskClosed
from memory.ledger.entries import AddressedValue
from memory.models import EventNote
from memory.models.address import EntryAddress
from memory.models.entry import EntryTag, MemoryEntry, Tombstone
from memory.openintent import entries, work
from memory.openintent.access import Caller
from memory.openintent.work import tasks
from memory.openintent.work.rows import NewCoordinator, NewIntent, NewTask, TaskChange
from tests import building
from tests.awaiting import awaited
from tests.openintent.conftest import Served

ENDS = ("completed", "failed", "cancelled", "skipped")


@dataclass
class Desk:
    """A chief with an intent that it coordinates, and a worker with a task of it."""

    served: Served
    chief: OpenIntentClient
    worker: OpenIntentClient
    intent: str
    task: str

    @property
    def scope(self) -> dict[str, str]:
        return {"task_id": self.task, "intent_id": self.intent}

    def remembers(self, key: str, value: dict[str, Any] | None = None, **more: Any) -> str:
        made = self.worker.create_memory(
            self.worker.agent_id, "invoices", key, value or {"n": 1}, **{"scope": self.scope, **more}
        )
        return made.id

    def ends(self, status: str = "completed", task: str = "") -> None:
        found = self.chief.get_task(task or self.task)
        self.chief.update_task(found.id, found.version, status=status)

    def archives(self) -> list[dict[str, Any]]:
        told = self.chief.get_events(self.intent, event_type=EventType.MEMORY_ARCHIVED)
        return [each.payload for each in told]

    def kinds(self) -> list[str]:
        return [each.event_type.value for each in self.chief.get_events(self.intent)]


class Desks:
    """Desks of one test. Their clients are closed behind it."""

    def __init__(self, served: Served, open_until_the_end: ExitStack) -> None:
        self.served, self._end = served, open_until_the_end

    def client(self, name: str) -> OpenIntentClient:
        client = self.served.client(self.served.agent(name))
        return self._end.enter_context(client)

    def desk(self, *, guardrails: dict[str, Any] | None = None, **task: Any) -> Desk:
        chief, worker = self.client("chief"), self.client("worker")
        intent = chief.create_intent("Invoices").id
        chief.create_coordinator_lease(chief.agent_id, intent, **({"guardrails": guardrails} if guardrails else {}))
        made = chief.create_task(intent, "fetch", assigned_agent=worker.agent_id, **task)
        return Desk(self.served, chief, worker, intent, made.id)


@pytest.fixture
def desks(served: Served) -> Iterator[Desks]:
    with ExitStack() as open_until_the_end:
        yield Desks(served, open_until_the_end)


@pytest.fixture
def desk(desks: Desks) -> Desk:
    return desks.desk()


@pytest.mark.parametrize("status", ENDS)
def test_R21_memory_of_a_task_that_ends_is_archived_and_cleared(desk: Desk, status: str) -> None:
    entry = desk.remembers("progress", {"done": 47})
    elsewhere = desk.remembers("elsewhere", scope={"task_id": "task_of_another_host"})
    desk.ends(status)
    with pytest.raises(NotFoundError):
        desk.worker.get_memory(entry)
    assert desk.worker.get_memory(elsewhere).value == {"n": 1}
    assert desk.kinds()[-2:] == ["memory.archived", f"task.{status}"]
    with pytest.raises(ConflictError) as refused:
        desk.remembers("late")
    assert refused.value.response["error"] == "TASK_CLOSED"


def test_R21_a_status_that_is_no_end_clears_nothing(desk: Desk) -> None:
    entry = desk.remembers("progress")
    for status in ("ready", "claimed", "running", "blocked"):
        desk.ends(status)
    assert desk.worker.get_memory(entry).version == 1
    assert desk.archives() == []


def test_R22_one_archive_for_each_agent_of_the_task(desks: Desks) -> None:
    desk, other = desks.desk(), desks.client("helper")
    desk.remembers("a", {"deep": {"ünïcode": [1, 2.5, None]}}, tags=["x", "y"])
    desk.remembers("b", {"n": 2**70})
    other.create_memory(other.agent_id, "help", "c", {"m": 3}, scope=desk.scope)
    desk.ends()
    told = desk.chief.get_events(desk.intent, event_type=EventType.MEMORY_ARCHIVED)
    assert [each.payload["entries_archived"] for each in told] == [1, 2]
    assert told[1].payload["snapshot"] == [
        {"namespace": "invoices", "key": "a", "value": {"deep": {"ünïcode": [1, 2.5, None]}}, "tags": ["x", "y"]},
        {"namespace": "invoices", "key": "b", "value": {"n": 2**70}, "tags": []},
    ]
    assert told[0].payload["snapshot"] == [{"namespace": "help", "key": "c", "value": {"m": 3}, "tags": []}]
    assert {each.actor for each in told} == {desk.chief.agent_id}


def test_R22_C1_an_archive_has_values_of_nothing_confidential(desk: Desk) -> None:
    levels = (None, "public", "internal", "confidential", "restricted")
    for level in levels:
        desk.remembers(f"of {level}", {"iban": "PELICAN-4711"}, sensitivity=level)
    desk.ends()
    (archive,) = desk.archives()
    shown = {each["key"]: each.get("value") for each in archive["snapshot"]}
    assert shown == {f"of {level}": {"iban": "PELICAN-4711"} for level in levels[:3]} | {
        f"of {level}": None for level in levels[3:]
    }
    assert [each["key"] for each in archive["snapshot"] if each.get("value_redacted")] == [
        "of confidential",
        "of restricted",
    ]


def test_R22_C2_what_was_deleted_before_the_end_is_in_no_snapshot(desk: Desk) -> None:
    gone = desk.remembers("gone")
    desk.remembers("stays")
    desk.worker.delete_memory(gone)
    desk.ends()
    assert [each["key"] for each in desk.archives()[0]["snapshot"]] == ["stays"]


def test_R22_a_task_without_memory_ends_without_an_archive(desk: Desk) -> None:
    desk.ends()
    assert desk.archives() == []


@pytest.mark.engines
def test_R23_afterwards_nobody_finds_it_by_id_or_in_a_list(desk: Desk) -> None:
    entry = desk.remembers("progress")
    desk.ends()
    for client in (desk.worker, desk.chief):
        with pytest.raises(NotFoundError):
            client.get_memory(entry)
    assert desk.worker.list_memory(desk.worker.agent_id) == []
    with desk.served.http(desk.chief.agent_id) as raw:
        found = raw.get("/api/v1/memory", params={"scope.task_id": desk.task, "memory_type": "working"})
        assert (found.status_code, found.json()["total"]) == (200, 0)
        assert raw.patch(f"/api/v1/memory/{entry}", json={"pinned": True}, headers={"If-Match": "1"}).status_code == 404


def test_R27_who_reads_the_intent_s_log_reads_the_snapshot(desk: Desk) -> None:
    desk.remembers("progress", {"done": 47})
    desk.ends()
    with desk.served.client(desk.served.agent(), role="operator") as operator:
        (told,) = operator.get_events(desk.intent, event_type=EventType.MEMORY_ARCHIVED)
    assert told.payload["snapshot"][0]["value"] == {"done": 47}
    assert desk.archives()[0] == told.payload
    with (
        desk.served.client(desk.served.agent(), role="owner", tenant="globex") as foreign,
        pytest.raises(NotFoundError),
    ):
        foreign.get_events(desk.intent)


def test_R28_a_task_that_has_ended_takes_no_memory(desk: Desk) -> None:
    desk.ends()
    with pytest.raises(ConflictError) as refused:
        desk.remembers("late")
    assert refused.value.response["error"] == "TASK_CLOSED"
    assert "lease" not in str(refused.value.response)
    desk.remembers("learned", memory_type="episodic")


def test_R29_episodic_and_semantic_memory_outlive_task_and_intent(desk: Desk) -> None:
    learned = desk.remembers("learned", memory_type="episodic")
    shared = desk.worker.create_memory(
        desk.worker.agent_id, desk.served.agent("policies"), "rule", {"n": 1}, memory_type="semantic", scope=desk.scope
    )
    desk.ends()
    intent = desk.chief.get_intent(desk.intent)
    desk.chief._client.post(
        f"/api/v1/intents/{desk.intent}/status",
        json={"status": "completed"},
        headers={"If-Match": str(intent.version)},
    ).raise_for_status()
    assert desk.worker.get_memory(learned).scope.task_id == desk.task
    assert desk.worker.get_memory(shared.id).version == 1
    assert desk.archives() == []


@pytest.mark.parametrize("tier", list(Tier))
def test_R9_R39_C13_what_lives_as_long_as_its_task_ends_with_it_in_every_tier(desk: Desk, tier: Tier) -> None:
    space, end = desk.served.agent("space"), (timezone.now() + timedelta(days=1)).isoformat()
    place = {"namespace": space, "memory_type": tier, "value": {"word": "pelican"}}

    def made(key: str, **more: Any) -> str:
        return str(desk.served.remembers(desk.worker.agent_id, key, **{**place, "scope": desk.scope, **more})["id"])

    bound, lasting = made("bound", ttl="task_lifetime"), made("lasting")
    late = made("late")
    desk.worker.update_memory(late, 1, ttl="task_lifetime")
    told_an_end = made("told", ttl="task_lifetime", expires_at=end)
    nobody_s = made("nobody's", ttl="task_lifetime", scope={})
    desk.ends()
    with desk.served.http(desk.worker.agent_id) as raw:
        codes = [raw.get(f"/api/v1/memory/{each}").status_code for each in (bound, late, lasting, told_an_end)]
        working = tier == Tier.WORKING
        assert codes == ([404] * 4 if working else [404, 404, 200, 200])
        assert raw.get(f"/api/v1/memory/{nobody_s}").status_code == 200
    expired = desk.chief.get_events(desk.intent, event_type=EventType.MEMORY_EXPIRED)
    assert {each.payload["entry_id"] for each in expired} == (set() if working else {bound, late})
    assert len(desk.archives()) == working
    assert desk.kinds()[-1] == "task.completed"


@pytest.mark.parametrize("tier", [Tier.EPISODIC, Tier.SEMANTIC])
def test_R9_R28_nothing_is_bound_to_a_task_that_has_ended(desk: Desk, tier: Tier) -> None:
    place: dict[str, Any] = {"namespace": desk.served.agent("space"), "memory_type": tier, "scope": desk.scope}
    lasting = desk.served.remembers(desk.worker.agent_id, "lasting", **place)
    desk.ends()
    with desk.served.http(desk.worker.agent_id) as raw:
        body = {**place, "key": "late", "value": {}, "ttl": "task_lifetime"}
        late = raw.post("/api/v1/memory", json=body)
        bound = raw.patch(f"/api/v1/memory/{lasting['id']}", json={"ttl": "task_lifetime"}, headers={"If-Match": '"1"'})
        items = [{"id": lasting["id"], "version": 1, "ttl": "task_lifetime"}]
        together = raw.post("/api/v1/memory/batch", json={"entries": items})
        told = [(each.status_code, each.json()["error"]) for each in (late, bound, together)]
        assert told == [(409, "TASK_CLOSED")] * 3
        assert raw.get(f"/api/v1/memory/{lasting['id']}").json()["ttl"] is None


@pytest.mark.engines
def test_R73_C4_a_policy_without_an_archive_clears_without_a_snapshot(desks: Desks) -> None:
    desk = desks.desk(memory_policy={"archive_on_completion": False})
    entry = desk.remembers("progress", {"iban": "PELICAN"})
    desk.ends()
    with pytest.raises(NotFoundError):
        desk.worker.get_memory(entry)
    assert desk.archives() == []
    (told,) = desk.chief.get_events(desk.intent, event_type=EventType.MEMORY_EXPIRED)
    assert told.payload["entry_id"] == entry
    assert "PELICAN" not in str(told.to_dict())


def test_R81_a_guardrail_that_demands_archival_overrules_the_policy(desks: Desks) -> None:
    for guardrails, archived in (
        ({"memory_archive_required": True}, 1),
        ({"max_tasks_per_plan": 3}, 1),
        ({"memory_archive_required": False}, 0),
    ):
        desk = desks.desk(guardrails=guardrails, memory_policy={"archive_on_completion": False})
        desk.remembers("progress")
        desk.ends()
        assert len(desk.archives()) == archived, guardrails


def test_R74_the_end_of_a_sub_task_leaves_its_parent_s_memory_alone(desk: Desk) -> None:
    child = desk.chief.create_task(desk.intent, "part", parent_task_id=desk.task, assigned_agent=desk.worker.agent_id)
    parents = desk.remembers("of parent")
    children = desk.remembers("of child", scope={"task_id": child.id})
    desk.ends(task=child.id)
    assert desk.worker.get_memory(parents).version == 1
    with pytest.raises(NotFoundError):
        desk.worker.get_memory(children)
    desk.ends()
    with pytest.raises(NotFoundError):
        desk.worker.get_memory(parents)


@pytest.mark.console
@pytest.mark.engines
@pytest.mark.parametrize("_", range(3))
def test_R28_what_races_the_end_of_a_task_is_archived_or_refused(desk: Desk, _: int) -> None:
    version, key = desk.chief.get_task(desk.task).version, desk.served.key("agent")
    before = [desk.remembers(f"before {number}") for number in range(4)]
    named = {"X-API-Key": key, "X-Agent-ID": desk.worker.agent_id, "If-Match": "1"}

    async def race() -> list[int]:
        async with httpx.AsyncClient(base_url=desk.served.url, headers=named, timeout=60) as raw:

            def entry(number: int) -> Any:
                body = {"namespace": "race", "key": str(number), "value": {"n": number}, "scope": desk.scope}
                return raw.post("/api/v1/memory", json=body)

            def change(entry_id: str) -> Any:
                return raw.patch(f"/api/v1/memory/{entry_id}", json={"value": {"n": 2}})

            end = raw.patch(f"/api/v1/tasks/{desk.task}", json={"status": "failed"}, headers={"If-Match": str(version)})
            answers = (map(entry, range(4)), map(change, before), [end], map(entry, range(4, 8)))
            return [each.status_code for each in await asyncio.gather(*(one for part in answers for one in part))]

    answers = awaited(race())
    made, changed, ended = answers[:4] + answers[9:], answers[4:8], answers[8]
    assert ended == 200
    assert set(made) <= {201, 409}
    assert set(changed) <= {200, 404}
    snapshot = [each for archive in desk.archives() for each in archive["snapshot"]]
    assert len(snapshot) == made.count(201) + 4
    assert [each["value"]["n"] for each in snapshot if each["key"].startswith("before")].count(2) == changed.count(200)
    assert desk.worker.list_memory(desk.worker.agent_id) == []


# --- the domain -------------------------------------------------------------------------------------------------------


class Room:
    """The same in Acme's database, without a console."""

    def __init__(self, **task: Any) -> None:
        self.scope = building.scope()
        self.intent = work.intents.create_intent(self.scope, NewIntent("Invoices"), actor="chief", now=timezone.now())
        new = NewTask(f"intent_{self.intent.id.hex}", "fetch", assigned_agent="worker", **task)
        self.task = f"task_{work.tasks.create_task(self.scope, new, actor='chief', now=timezone.now()).id.hex}"

    def remembers(self, key: str, value: dict[str, Any] | None = None, **more: Any) -> EntryAddress:
        expires_at = more.pop("expires_at", None)
        address = Address(Tier.WORKING, "worker", "ns", key, task_id=self.task, **more)
        given = AddressedValue(address, value or {"n": 1}, ("t",), expires_at)
        return entries.create(Caller(self.scope, "worker"), given, now=timezone.now())

    def ends(self, **when: Any) -> Any:
        change, version = TaskChange(status="completed"), work.tasks.find_task(self.scope, self.task).version
        moment = when.get("now") or timezone.now()
        return work.tasks.update_task(self.scope, self.task, change, version=version, actor="chief", now=moment)

    def log(self) -> list[str]:
        return [each.type for each in event_log.read(self.scope.tenant_id, self.intent.id)]


@pytest.fixture
def room(db: None) -> Room:
    return Room()


def test_what_is_archived_leaves_nothing_but_a_tombstone_and_a_note(room: Room) -> None:
    entry = room.remembers("a", {"word": "pelican"})
    room.ends()
    assert MemoryEntry.objects.count() == EntryAddress.objects.count() == EntryTag.objects.count() == 0
    stone = Tombstone.objects.get()
    assert (stone.id, stone.reason) == (entry.id, "archived")
    told = event_log.read(room.scope.tenant_id, room.intent.id)
    assert "pelican" not in str([each.payload for each in told])
    (note,) = [each.body for each in EventNote.objects.all() if "snapshot" in each.body]
    assert note["snapshot"][0]["value"] == {"word": "pelican"}


def test_what_had_lapsed_or_was_retired_is_cleared_and_not_archived(room: Room) -> None:
    lapsed = room.remembers("lapsed", expires_at=timezone.now() + timedelta(minutes=1))
    retired = room.remembers("retired")
    room.remembers("live")
    ledger.retirement.retire_entry(room.scope, retired.id, reason="", now=timezone.now())
    room.ends(now=timezone.now() + timedelta(minutes=2))
    assert {stone.id: stone.reason for stone in Tombstone.objects.all()}[lapsed.id] == "expired"
    (note,) = [each.body for each in EventNote.objects.all() if "snapshot" in each.body]
    assert [each["key"] for each in note["snapshot"]] == ["live"]
    assert room.log().count("openintent.memory.expired") == 2
    assert MemoryEntry.objects.count() == 0


def test_a_secret_that_came_later_is_in_no_snapshot(room: Room) -> None:
    room.remembers("a", {"token": "sk-super-secret-4711"})
    vault.store_secret(room.scope.tenant_id, "API", "sk-super-secret-4711", now=timezone.now())
    room.ends()
    (note,) = [each.body for each in EventNote.objects.all() if "snapshot" in each.body]
    assert note["snapshot"][0]["value"] == {"token": "[REDACTED:API]"}


def test_a_large_task_is_archived_in_several_events_and_in_chunks(room: Room, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tasks, "MAX_SNAPSHOT", 2_000)
    for number in range(9):
        room.remembers(f"k{number}", {"text": "x" * 500})
    room.ends()
    notes = [each.body["snapshot"] for each in EventNote.objects.order_by("sequence") if "snapshot" in each.body]
    assert [len(each) for each in notes] == [3, 3, 3]
    assert [each["key"] for part in notes for each in part] == [f"k{number}" for number in range(9)]
    assert MemoryEntry.objects.count() == 0


def test_an_end_that_fails_leaves_every_entry_and_the_status(room: Room, monkeypatch: pytest.MonkeyPatch) -> None:
    entry = room.remembers("a")
    monkeypatch.setattr(ledger.erase, "remove_entries", lambda *_, **__: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        room.ends()
    assert work.tasks.find_task(room.scope, room.task).status == "pending"
    assert adapter.console.find_entry(room.scope, entry.id, now=timezone.now())
    assert "openintent.memory.archived" not in room.log()


def test_an_ended_task_is_closed_to_whoever_asks(room: Room) -> None:
    ended = room.ends()
    with pytest.raises(TaskClosed) as refused:
        work.tasks.require_open(ended)
    assert refused.value.details == {"task_id": room.task, "status": "completed"}
    with pytest.raises(TaskClosed):
        room.remembers("late")


def test_guardrails_hold_at_the_end_and_not_before(db: None) -> None:
    room = Room(memory_policy={"archive_on_completion": False})
    room.remembers("a")
    new = NewCoordinator(f"intent_{room.intent.id.hex}", "chief", {})
    work.coordinators.create_coordinator(room.scope, new, actor="chief", now=timezone.now())
    room.ends()
    assert "openintent.memory.archived" in room.log()
