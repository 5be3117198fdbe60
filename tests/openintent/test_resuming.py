"""Another agent takes a task over: what it may read, and what it may not change (RFC-0015 8; R88 to R90, C15)."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from django.utils import timezone
from openintent import OpenIntentClient
from openintent.exceptions import OpenIntentError

from memory.models import Assignment
from memory.openintent import work
from memory.openintent.work.rows import NewAgent, NewIntent, NewTask, TaskChange
from tests import building
from tests.openintent.conftest import Served


@dataclass
class Relay:
    """Agent A had a task of the chief's, and B has it now."""

    served: Served
    chief: OpenIntentClient
    a: OpenIntentClient
    b: OpenIntentClient
    task: str
    entry: str
    other: str

    def hands_over(self, **why: Any) -> None:
        found = self.chief.get_task(self.task)
        self.chief.update_task(self.task, found.version, assigned_agent=self.b.agent_id, **why)

    def status_of(self, method: str, agent: OpenIntentClient, entry: str) -> int:
        with self.served.http(agent.agent_id) as raw:
            body = {"value": {"n": 2}} if method == "PATCH" else None
            return raw.request(method, f"/api/v1/memory/{entry}", headers={"If-Match": "1"}, json=body).status_code


@pytest.fixture
def relay(served: Served) -> Iterator[Relay]:
    with (
        served.client(served.agent("chief")) as chief,
        served.client(served.agent("a")) as a,
        served.client(served.agent("b")) as b,
    ):
        intent = chief.create_intent("Invoices").id
        task, other = (chief.create_task(intent, name, assigned_agent=a.agent_id).id for name in ("one", "other"))
        entry = a.create_memory(a.agent_id, "invoices", "progress", {"last_id": "inv_789"}, scope={"task_id": task})
        beside = a.create_memory(a.agent_id, "invoices", "other", {"n": 1}, scope={"task_id": other})
        yield Relay(served, chief, a, b, task, entry.id, beside.id)


def test_R88_the_agent_that_takes_over_reads_what_was_remembered_in_that_task_alone(relay: Relay) -> None:
    with pytest.raises(OpenIntentError) as refused:
        relay.b.get_memory(relay.entry)
    assert refused.value.status_code == 403
    relay.hands_over()
    assert relay.b.get_memory(relay.entry).value == {"last_id": "inv_789"}
    with relay.served.http(relay.b.agent_id) as raw:
        asked = {"scope.task_id": relay.task, "memory_type": "working"}
        found = raw.get("/api/v1/memory", params=asked).json()
    assert ([each["id"] for each in found["entries"]], found["total"]) == ([relay.entry], 1)
    with pytest.raises(OpenIntentError) as beside:
        relay.b.get_memory(relay.other)
    assert beside.value.status_code == 403


def test_R88_an_agent_that_only_claims_what_was_another_s_reads_nothing(relay: Relay) -> None:
    found = relay.chief.get_task(relay.task)
    relay.chief.update_task(relay.task, found.version, assigned_agent="")
    with pytest.raises(OpenIntentError):
        relay.b.update_task(relay.task, found.version + 1, status="claimed")
    assert relay.status_of("GET", relay.b, relay.entry) == 403


def test_R89_what_was_taken_over_is_read_only_and_its_keys_are_free(relay: Relay) -> None:
    relay.hands_over()
    assert relay.status_of("PATCH", relay.b, relay.entry) == 403
    assert relay.status_of("DELETE", relay.b, relay.entry) == 403
    own = relay.b.create_memory(
        relay.b.agent_id, "invoices", "progress", {"resumed_from": relay.entry}, scope={"task_id": relay.task}
    )
    assert (own.version, own.value["resumed_from"]) == (1, relay.entry)


def test_R90_every_entry_says_who_made_it(relay: Relay) -> None:
    relay.hands_over()
    made = relay.served.remembers(relay.b.agent_id, scope={"task_id": relay.task})
    with relay.served.http(relay.b.agent_id) as raw:
        assert raw.get(f"/api/v1/memory/{relay.entry}").json()["created_by"] == relay.a.agent_id
    assert made["created_by"] == relay.b.agent_id


def test_C15_an_agent_that_was_relieved_keeps_its_own_and_one_that_failed_only_reads_it(relay: Relay) -> None:
    relay.hands_over()
    assert relay.status_of("PATCH", relay.a, relay.entry) == 200
    relay.a.register_agent(relay.a.agent_id)
    relay.a.update_agent_status(relay.a.agent_id, "dead")
    found = relay.chief.list_tasks(relay.chief.get_task(relay.task).intent_id)
    other = next(each for each in found if each.id != relay.task)
    relay.chief.update_task(other.id, other.version, assigned_agent=relay.b.agent_id)
    assert relay.status_of("GET", relay.a, relay.other) == 200
    assert relay.status_of("PATCH", relay.a, relay.other) == 403


def test_C15_the_change_itself_says_that_the_agent_failed(relay: Relay) -> None:
    relay.hands_over(reason="crashed")
    assert relay.status_of("PATCH", relay.a, relay.entry) == 403


# --- the domain -------------------------------------------------------------------------------------------------------


def the_rows() -> list[tuple[str, bool, bool]]:
    """Whose the one task was, whether it still is, and whether that ended with a failure; in order."""
    rows = Assignment.objects.order_by("since", "id")
    return [(row.agent_id, row.until is None, row.dead) for row in rows]


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("status", "change", "dead"),
    [
        ("active", {}, False),
        ("draining", {}, False),
        ("unhealthy", {}, True),
        ("dead", {}, True),
        ("deregistered", {}, True),
        ("active", {"reason": "failed"}, True),
        ("active", {"reason": "offline"}, True),
        ("active", {"reason": "B is quicker"}, False),
        ("active", {"record": {"error": "out of memory"}}, True),
    ],
)
def test_R88_every_hand_over_leaves_a_row(status: str, change: dict[str, Any], dead: bool) -> None:
    scope, now = building.scope(), timezone.now()
    intent = work.intents.create_intent(scope, NewIntent("x"), actor="chief", now=now)
    row = work.tasks.create_task(
        scope, NewTask(f"intent_{intent.id.hex}", "x", assigned_agent="a"), actor="chief", now=now
    )
    work.coordinators.register_agent(scope, NewAgent("a"), actor="a", now=now)
    work.coordinators.update_agent_status(scope, "a", status, actor="a", now=now)
    task = f"task_{row.id.hex}"
    work.tasks.update_task(
        scope, task, TaskChange(assigned_agent="b", **change), version=1, actor="chief", now=timezone.now()
    )
    assert the_rows() == [("a", False, dead), ("b", True, False)]
    work.tasks.update_task(scope, task, TaskChange(assigned_agent="b"), version=2, actor="chief", now=timezone.now())
    assert len(the_rows()) == 2
    work.tasks.update_task(scope, task, TaskChange(status="failed"), version=3, actor="b", now=timezone.now())
    assert the_rows() == [("a", False, dead), ("b", False, False)]
