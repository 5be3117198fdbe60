"""The work that memory belongs to, over HTTP: intents, tasks, coordinators, agents (contract 2.2; R72, R82, C19)."""

import asyncio
from typing import Any

import httpx
import pytest
from openintent import OpenIntentClient
from openintent.exceptions import ConflictError, NotFoundError, OpenIntentError, ValidationError
from openintent.models import EventType, IntentStatus, MemoryPolicy, TaskStatus

from tests.awaiting import awaited
from tests.openintent.conftest import Served


def an_intent(client: OpenIntentClient, **more: Any) -> str:
    return client.create_intent("Invoices of May", **more).id


@pytest.mark.engines
def test_an_intent_is_made_read_listed_and_changed_under_its_version(served: Served) -> None:
    agent = served.agent("planner")
    with served.client(agent) as client:
        made = client.create_intent(
            "Invoices", "All of May", constraints={"rules": ["no calls"]}, initial_state={"n": 1}
        )
        assert (made.version, made.status, made.created_by) == (1, IntentStatus.ACTIVE, agent)
        patched = client.update_state(made.id, 1, {"n": 2, "done": ["a"]})
        assert (patched.version, patched.state.data) == (2, {"n": 2, "done": ["a"]})
        with pytest.raises(ConflictError) as refused:
            client.update_state(made.id, 1, {"n": 3})
        assert refused.value.current_version == 2
        ended = client.set_status(made.id, 2, IntentStatus.COMPLETED, reason="all paid")
        assert client.get_intent(made.id).status == ended.status == IntentStatus.COMPLETED
        assert made.id in {each.id for each in client.list_intents(status=IntentStatus.COMPLETED)}
        child = client.create_intent("Reminders", parent_intent_id=made.id, depends_on=[made.id])
        assert (child.parent_intent_id, child.depends_on) == (made.id, [made.id])


def test_a_state_is_changed_by_patches_in_their_order_all_or_none(served: Served) -> None:
    with served.http(served.agent("planner")) as raw:
        intent = raw.post("/api/v1/intents", json={"title": "Invoices", "state": {"n": 1, "old": True}}).json()["id"]

        def patched(version: int, *patches: dict[str, Any]) -> httpx.Response:
            body = {"patches": list(patches)}
            return raw.post(f"/api/v1/intents/{intent}/state", json=body, headers={"If-Match": str(version)})

        append = [{"op": "append", "path": "/done", "value": each} for each in ("a", "b")]
        answer = patched(1, *append, {"op": "remove", "path": "old"}, {"op": "remove", "path": "never"}, {"path": "n"})
        assert (answer.status_code, answer.json()["state"]) == (200, {"done": ["a", "b"], "n": None}), answer.text
        for wrong, field in (
            ({"op": "append", "path": "n", "value": 1}, "patches.path"),
            ({"path": "/", "value": 1}, "patches.path"),
            ({"path": {"name": "n"}, "value": 1}, "patches.path"),
            ({"op": "move", "path": "n"}, "patches.op"),
        ):
            refused = patched(2, {"path": "n", "value": 2}, wrong)
            assert (refused.status_code, refused.json()["errors"][0]["field"]) == (400, field), wrong
        assert raw.get(f"/api/v1/intents/{intent}").json()["state"] == answer.json()["state"]


def test_what_was_made_says_where_it_is_and_is_not_sent_again_to_who_has_it(served: Served) -> None:
    agent = served.agent("planner")
    with served.http(agent) as http:
        intent = http.post("/api/v1/intents", json={"title": "Invoices", "description": "of May"})
        assert (intent.json()["title"], intent.json()["description"]) == ("Invoices", "of May")
        about = {"intent_id": intent.json()["id"], "agent_id": agent}
        task = http.post("/api/v1/tasks", json={"intent_id": about["intent_id"], "name": "Send them"})
        for made in (intent, task, http.post("/api/v1/coordinators", json=about)):
            assert made.status_code == 201, made.text
            found = http.get(made.headers["Location"])
            assert (found.json()["id"], found.headers["ETag"]) == (made.json()["id"], made.headers["ETag"])
            again = http.get(made.headers["Location"], headers={"If-None-Match": found.headers["ETag"]})
            assert (again.status_code, again.content) == (304, b"")


def test_constraints_are_an_object_or_the_list_of_rules_that_older_clients_send(served: Served) -> None:
    with served.http(served.agent("planner")) as http:
        for said in ({"rules": ["no calls"]}, ["no calls"]):
            made = http.post("/api/v1/intents", json={"title": "Invoices", "constraints": said})
            assert (made.status_code, made.json().get("constraints")) == (201, {"rules": ["no calls"]}), made.text
        for wrong in ("no calls", 7, ["\0"]):
            assert http.post("/api/v1/intents", json={"title": "x", "constraints": wrong}).status_code == 400, wrong


@pytest.mark.engines
def test_numbers_of_a_state_come_back_as_they_were(served: Served) -> None:
    """jsonb keeps no exponent, and would give 1e22 back as an integer."""
    numbers = [1e22, -1.7976931348623157e308, 1.5e17, 5e-324, 0.1, 1.0, 2**53 + 1, 2**64, "1e22", "x: [1e22, -2e30]"]
    with served.client(served.agent("planner")) as client:
        made = client.create_intent("Numbers", initial_state={"n": numbers})
        assert repr(client.get_intent(made.id).state.data["n"]) == repr(numbers)
        client.update_state(made.id, 1, {"n": numbers[::-1]})
        assert repr(client.get_intent(made.id).state.data["n"]) == repr(numbers[::-1])
        patched = client.get_events(made.id, event_type=EventType.STATE_PATCHED)[-1]
        assert repr(patched.payload["patches"][0]["value"]) == repr(numbers[::-1])


def test_agents_join_an_intent_and_leave_it(served: Served) -> None:
    planner, worker = served.agent("planner"), served.agent("worker")
    with served.client(planner) as client, served.client(worker) as other:
        intent = an_intent(client)
        assert client.assign_agent(intent, worker)["agent_id"] == worker
        other.assign_agent(intent)
        assert client._handle_response(client._client.get(f"/api/v1/intents/{intent}")).get("agents") == [worker]
        other.unassign_agent(intent)
        with pytest.raises(NotFoundError):
            other.unassign_agent(intent)


@pytest.mark.engines
def test_a_task_goes_through_its_statuses_and_ends_once(served: Served) -> None:
    planner, worker = served.agent("planner"), served.agent("worker")
    with served.client(planner) as client, served.client(worker) as other:
        intent = an_intent(client)
        task = client.create_task(intent, "fetch", description="all pages", priority="high", input={"from": 1})
        assert (task.status, task.version, task.assigned_agent) == (TaskStatus.PENDING, 1, None)
        task = client.update_task(task.id, 1, status="claimed", assigned_agent=worker)
        task = other.update_task(task.id, task.version, status="running")
        task = other.update_task(task.id, task.version, status="completed", output={"pages": 7})
        read = client.get_task(task.id)
        assert (read.status, read.output, read.input, read.priority) == (
            TaskStatus.COMPLETED,
            {"pages": 7},
            {"from": 1},
            "high",
        )
        assert read.completed_at is not None
        assert read.started_at is not None
        assert [each.id for each in client.list_tasks(intent, status=TaskStatus.COMPLETED)] == [task.id]
        assert client.list_tasks(intent, status=TaskStatus.PENDING) == []
        with pytest.raises(ConflictError) as refused:
            client.update_task(task.id, read.version, status="pending")
        assert refused.value.response["error"] == "TASK_CLOSED"


def test_the_agent_that_is_named_at_creation_has_the_task(served: Served) -> None:
    planner, worker = served.agent("planner"), served.agent("worker")
    with served.client(planner) as client:
        task = client.create_task(an_intent(client), "fetch", assigned_agent=worker)
        assert client.get_task(task.id).assigned_agent == worker


@pytest.mark.engines
def test_a_task_that_was_nobody_s_is_claimed_by_any_agent_and_changed_by_no_stranger(served: Served) -> None:
    planner, worker, stranger = (served.agent(name) for name in ("planner", "worker", "stranger"))
    with served.client(planner) as client, served.client(worker) as other, served.client(stranger) as third:
        task = client.create_task(an_intent(client), "fetch")
        with pytest.raises(OpenIntentError) as refused:
            third.update_task(task.id, 1, status="completed")
        assert (refused.value.status_code, refused.value.response["error"]) == (403, "ACCESS_DENIED")
        task = other.update_task(task.id, 1, status="claimed")
        assert task.assigned_agent == worker
        with pytest.raises(OpenIntentError) as taken:
            third.update_task(task.id, 2, status="claimed")
        assert taken.value.status_code == 403
        assert client.update_task(task.id, 2, assigned_agent="").version == 3
        with pytest.raises(OpenIntentError):
            third.update_task(task.id, 3, status="claimed")


def test_a_change_says_its_version(served: Served) -> None:
    planner = served.agent("planner")
    with served.client(planner) as client, served.http(planner) as raw:
        task = client.create_task(an_intent(client), "fetch")
        address = f"/api/v1/tasks/{task.id}"
        assert raw.patch(address, json={"status": "running"}).status_code == 428
        assert raw.patch(address, json={"status": "running"}, headers={"If-Match": "soon"}).status_code == 400
        stale = raw.patch(address, json={"status": "running"}, headers={"If-Match": '"9"'})
        assert (stale.status_code, stale.json()["current_version"]) == (409, 1)
        assert "lease" not in stale.text
        assert raw.patch(address, json={"status": "running"}, headers={"If-Match": '"1"'}).json()["version"] == 2


@pytest.mark.engines
def test_R72_a_memory_policy_is_kept_and_given_back_as_it_was_sent(served: Served) -> None:
    policy = {"archive_on_completion": False, "inherit_from_parent": True, "max_entries": 3, "max_total_size_kb": 8}
    with served.client(served.agent()) as client:
        intent = an_intent(client)
        task = client.create_task(intent, "fetch", memory_policy=policy)
        assert client.get_task(task.id).memory_policy == MemoryPolicy.from_dict(policy)
        assert client.create_task(intent, "send").memory_policy is None
        changed = client.update_task(task.id, 1, memory_policy={"max_entries": 5})
        assert changed.memory_policy == MemoryPolicy(max_entries=5)
        for wrong in ({"max_entries": "many"}, {"archive": True}, {"max_entries": -1}, {"inherit_from_parent": 1}):
            with pytest.raises(ValidationError) as refused:
                client.create_task(intent, "fetch", memory_policy=wrong)
            assert refused.value.errors[0]["field"] == f"memory_policy.{next(iter(wrong))}"


def test_R82_attachments_and_context_packing_are_plain_values_to_this_host(served: Served) -> None:
    value = {"attachment_id": "att_01HXYZ", "summary": "47,000 rows", "llm": {"context_window": 8000}}
    agent = served.agent()
    entry = served.remembers(agent, value=value)
    with served.client(agent) as client:
        assert client.get_memory(entry["id"]).value == value


def test_a_coordinator_is_appointed_read_and_alive(served: Served) -> None:
    planner = served.agent("planner")
    rails = {"max_working_memory_per_task": 5, "denied_semantic_namespaces": ["internal_config"]}
    with served.client(planner) as client:
        intent = an_intent(client)
        made = client.create_coordinator_lease(planner, intent, guardrails=rails, heartbeat_interval_seconds=10)
        read = client.get_coordinator_lease(made.id)
        assert (read.agent_id, read.intent_id) == (planner, intent)
        assert read.guardrails.max_working_memory_per_task == 5
        assert read.guardrails.memory_archive_required is True
        assert client.coordinator_heartbeat(made.id)["status"] == "ok"
        listed = client.list_coordinator_leases(intent)
        assert [each.id for each in listed] == [made.id]
        assert listed[0].last_heartbeat is not None
        for wrong in (
            {"max_working_memory_per_task": "5"},
            {"on_exceed": "explode"},
            {"allowed_semantic_namespaces": 1},
        ):
            with pytest.raises(ValidationError):
                client.create_coordinator_lease(planner, intent, guardrails=wrong)
        assert len(client.list_coordinator_leases(intent)) == 1


def test_a_bound_key_does_not_appoint_itself_over_what_others_made(served: Served) -> None:
    planner, intruder = served.agent("planner"), served.agent("intruder")
    with served.client(planner) as client:
        intent = an_intent(client)
    with served.http(intruder, bound=True) as raw:
        body = {"agent_id": intruder, "intent_id": intent}
        assert raw.post("/api/v1/coordinators", json=body).status_code == 403
    with served.http(planner, bound=True) as raw:
        assert raw.post("/api/v1/coordinators", json={**body, "agent_id": "chief"}).status_code == 201


@pytest.mark.engines
def test_guardrails_and_status_of_a_coordinator_change_under_its_version(served: Served) -> None:
    planner = served.agent("planner")
    with served.client(planner) as client, served.http(planner) as raw:
        made = client.create_coordinator_lease(planner, an_intent(client))
        address, first = f"/api/v1/coordinators/{made.id}", {"If-Match": "1"}
        changed = raw.patch(address, json={"status": "paused", "guardrails": {"max_tasks_per_plan": 2}}, headers=first)
        assert (changed.json()["status"], changed.json()["version"]) == ("paused", 2)
        assert raw.patch(address, json={"status": "active"}, headers=first).status_code == 409


@pytest.mark.engines
def test_an_agent_registers_beats_and_dies(served: Served) -> None:
    agent = served.agent("worker")
    with served.client(agent) as client:
        with pytest.raises(NotFoundError):
            client.get_agent_record(agent)
        made = client.register_agent(agent, ["billing"], name="Billing", role_id="clerk", metadata={"zone": 1})
        assert (made.agent_id, made.capabilities, made.name, made.version) == (agent, ["billing"], "Billing", 1)
        assert client.agent_heartbeat(agent, current_load=2, tasks_in_progress=["t"])["status"] == "ok"
        assert client.get_agent_record(agent).last_heartbeat_at is not None
        assert client.update_agent_status(agent, "dead")["status"] == "dead"
        client.agent_heartbeat(agent)
        assert client.get_agent_record(agent).status.value == "dead"
        assert agent in {each.agent_id for each in client.list_agents(status="dead", role_id="clerk")}
        assert client.register_agent(agent).status.value == "active"
        assert client.update_agent_status(agent, "draining")["status"] == "draining"
    with served.http(agent) as raw:
        told = [(each["type"], each["data"]) for each in raw.get(f"/api/v1/agents/{agent}/events").json()]
    own = {"agent_id": agent}
    assert told == [
        ("agent.registered", own),
        ("agent.dead", own | {"from": "active", "to": "dead"}),
        ("agent.registered", own),
        ("agent.status_changed", own | {"from": "active", "to": "draining"}),
    ]
    with served.http(served.agent("stranger"), bound=True) as raw:
        assert raw.patch(f"/api/v1/agents/{agent}/status", json={"status": "dead"}).status_code == 403


def test_agents_tell_on_the_log_of_an_intent_what_the_client_knows(served: Served) -> None:
    planner = served.agent("planner")
    with served.client(planner) as client:
        intent = an_intent(client)
        told = client.log_event(intent, EventType.COMMENT, {"text": "half done"}, trace_id="t-1")
        assert (told.event_type, told.actor, told.trace_id) == (EventType.COMMENT, planner, "t-1")
        assert told.payload["text"] == "half done"
        own = {"text": "done", "trace_id": "t-2"}
        kept = client.log_event(intent, EventType.COMMENT, own, trace_id="t-1", parent_event_id="e-1")
        assert kept.payload == own | {"parent_event_id": "e-1"}, "a payload is kept as it was sent"
        with pytest.raises(ValidationError):
            client.log_event(intent, EventType.MEMORY_DELETED, {})
        task = client.create_task(intent, "fetch", assigned_agent=planner)
        client.update_task(task.id, 1, status="running")
        client.update_task(task.id, 2, status="blocked", blocked_reason="waits")
        kinds = [each.event_type.value for each in client.get_events(intent)]
        assert kinds == ["intent_created", "comment", "comment", "task.created", "task.started", "task.blocked"]


@pytest.mark.console
def test_the_async_client_does_the_same(served: Served) -> None:
    planner, worker = served.agent("planner"), served.agent("worker")

    async def work_through() -> tuple[Any, ...]:
        async with served.async_client(planner) as client:
            intent = await client.create_intent("Invoices", "All of May")
            task = await client.create_task(intent.id, "fetch", memory_policy={"max_entries": 2})
            task = await client.update_task(task.id, 1, status="running", assigned_agent=worker)
            await client.create_coordinator_lease(planner, intent.id)
            await client.register_agent(worker, ["x"])
            coordinators = await client.list_coordinator_leases(intent.id)
            return task, coordinators, await client.get_agent_record(worker), await client.list_tasks(intent.id)

    task, coordinators, record, tasks = awaited(work_through())
    assert (task.status.value, task.assigned_agent, task.memory_policy.max_entries) == ("running", worker, 2)
    assert ([each.agent_id for each in coordinators], record.agent_id) == ([planner], worker)
    assert [each.id for each in tasks] == [task.id]


def test_C19_who_only_looks_makes_no_work(served: Served) -> None:
    planner = served.agent("planner")
    with served.client(planner) as client:
        intent = an_intent(client)
        task = client.create_task(intent, "fetch", assigned_agent=planner)
    tries: list[tuple[str, str, dict[str, Any]]] = [
        ("POST", "/api/v1/intents", {"title": "x"}),
        ("POST", "/api/v1/tasks", {"intent_id": intent, "name": "x"}),
        ("PATCH", f"/api/v1/tasks/{task.id}", {"status": "running"}),
        ("POST", "/api/v1/coordinators", {"intent_id": intent, "agent_id": planner}),
        ("POST", "/api/v1/agents/register", {"agent_id": planner}),
        ("POST", f"/api/v1/intents/{intent}/events", {"event_type": "comment", "payload": {}}),
        ("POST", f"/api/v1/intents/{intent}/agents", {"agent_id": planner}),
        ("POST", f"/api/v1/intents/{intent}/state", {"patches": []}),
    ]
    for role in ("viewer", "auditor", "author"):
        with served.http(planner, role=role) as raw:
            for method, address, body in tries:
                answer = raw.request(method, address, json=body, headers={"If-Match": "1"})
                assert answer.status_code == 403, (role, address)
            reads = raw.get(f"/api/v1/tasks/{task.id}").status_code
            assert reads == (403 if role == "auditor" else 200), role


@pytest.mark.parametrize("role", ["agent", "operator", "owner"])
def test_C19_who_works_makes_work(served: Served, role: str) -> None:
    with served.client(served.agent("planner"), role=role) as client:
        assert client.create_task(an_intent(client), "fetch").version == 1


def test_an_operator_names_any_agent_and_an_agent_only_itself(served: Served) -> None:
    planner = served.agent("planner")
    body = {"title": "Invoices", "created_by": "somebody"}
    with served.http(planner) as raw:
        assert raw.post("/api/v1/intents", json=body).json()["error"] == "ACCESS_DENIED"
    with served.http(planner, role="operator") as raw:
        assert raw.post("/api/v1/intents", json=body).json()["created_by"] == "somebody"


def test_another_tenant_s_work_is_nowhere(served: Served) -> None:
    planner = served.agent("planner")
    with served.client(planner) as client:
        intent = an_intent(client)
        task = client.create_task(intent, "fetch")
        coordinator = client.create_coordinator_lease(planner, intent)
    with served.client(planner, tenant="globex", role="owner") as foreign:
        for look in (
            lambda: foreign.get_intent(intent),
            lambda: foreign.get_task(task.id),
            lambda: foreign.list_tasks(intent),
            lambda: foreign.get_coordinator_lease(coordinator.id),
            lambda: foreign.create_task(intent, "x"),
            lambda: foreign.create_coordinator_lease("x", intent),
            lambda: foreign.update_task(task.id, 1, status="running"),
            lambda: foreign.create_intent("x", parent_intent_id=intent),
        ):
            with pytest.raises(NotFoundError):
                look()
        assert intent not in {each.id for each in foreign.list_intents(limit=1000)}


BAD: list[tuple[str, dict[str, Any], str]] = [
    ("/api/v1/intents", {}, "title"),
    ("/api/v1/intents", {"title": ""}, "title"),
    ("/api/v1/intents", {"title": "x" * 501}, "title"),
    ("/api/v1/intents", {"title": "x", "state": []}, "state"),
    ("/api/v1/intents", {"title": "x", "state": {"big": "x" * 70_000}}, "state"),
    ("/api/v1/intents", {"title": "x", "governance_policy": {"max_cost": 1}}, "governance_policy"),
    ("/api/v1/intents", {"title": "x", "colour": "red"}, "colour"),
    ("/api/v1/tasks", {"name": "x"}, "intent_id"),
    ("/api/v1/tasks", {"intent_id": "INTENT", "name": "x", "status": "completed"}, "status"),
    ("/api/v1/tasks", {"intent_id": "INTENT", "name": "x", "status": "asleep"}, "status"),
    ("/api/v1/tasks", {"intent_id": "INTENT", "name": "x", "requires_tools": [{"scopes": []}]}, "requires_tools"),
    ("/api/v1/tasks", {"intent_id": "INTENT", "name": "x", "assigned_agent": "a\nb"}, "assigned_agent"),
    ("/api/v1/tasks", {"intent_id": "INTENT", "name": "x", "timeout_seconds": 2**63}, "timeout_seconds"),
    ("/api/v1/coordinators", {"agent_id": "x"}, "intent_id"),
    ("/api/v1/coordinators", {"agent_id": "x", "intent_id": "INTENT", "coordinator_type": "moon"}, "coordinator_type"),
    (
        "/api/v1/coordinators",
        {"agent_id": "x", "intent_id": "INTENT", "expires_at": "1999-01-01T00:00:00Z"},
        "expires_at",
    ),
    ("/api/v1/coordinators", {"agent_id": " x", "intent_id": "INTENT"}, "agent_id"),
    ("/api/v1/intents", {"title": " \t "}, "title"),
    ("/api/v1/agents/register", {"agent_id": ""}, "agent_id"),
    ("/api/v1/agents/register", {"agent_id": "x", "capacity": {"current_load": -1}}, "capacity.current_load"),
]


def test_what_cannot_be_understood_is_refused_by_field(served: Served) -> None:
    planner = served.agent("planner")
    with served.client(planner) as client, served.http(planner) as raw:
        intent = an_intent(client)
        for address, body, field in BAD:
            answer = raw.post(address, json={**body, **({"intent_id": intent} if "intent_id" in body else {})})
            told = answer.json()
            assert (answer.status_code, told["error"]) == (400, "VALIDATION_ERROR"), (address, field)
            assert told["errors"][0]["field"].split("[")[0].startswith(field), (address, field)
        assert client.list_tasks(intent) == []
        assert client.list_coordinator_leases(intent) == []


@pytest.mark.parametrize(
    "body", [b'{"title": "x", "title": "y"}', b'{"title": "\\u0000"}', b'{"title": "\\ud800"}', b'{"title": NaN}', b"["]
)
def test_hostile_bytes_are_no_work(served: Served, body: bytes) -> None:
    with served.http(served.agent()) as raw:
        answer = raw.post("/api/v1/intents", content=body, headers={"Content-Type": "application/json"})
    assert answer.status_code == 400


@pytest.mark.engines
def test_lists_have_bounds_and_say_how_many_there_are(served: Served) -> None:
    planner = served.agent("planner")
    with served.client(planner) as client, served.http(planner) as raw:
        intent = an_intent(client)
        names = [client.create_task(intent, f"step {number}").name for number in range(3)]
        assert [each.name for each in client.list_tasks(intent, limit=2, offset=1)] == names[1:]
        page = raw.get(f"/api/v1/intents/{intent}/tasks?limit={2**63}")
        assert (len(page.json()), page.headers["X-Total-Count"]) == (3, "3")
        assert raw.get(f"/api/v1/intents/{intent}/tasks?limit=0").status_code == 400
        assert raw.get(f"/api/v1/intents/{intent}/tasks?offset=x").status_code == 400
        assert raw.get("/api/v1/intents?limit=1").json()["limit"] == 1


@pytest.mark.console
@pytest.mark.engines
def test_of_many_changes_at_one_version_one_wins(served: Served) -> None:
    planner = served.agent("planner")
    with served.client(planner) as client:
        task = client.create_task(an_intent(client), "fetch")
    key = served.key("agent")

    async def race() -> list[int]:
        named = {"X-API-Key": key, "X-Agent-ID": planner, "If-Match": "1"}
        async with httpx.AsyncClient(base_url=served.url, headers=named, timeout=30) as raw:
            tries = (raw.patch(f"/api/v1/tasks/{task.id}", json={"output": {"n": n}}) for n in range(8))
            return [answer.status_code for answer in await asyncio.gather(*tries)]

    assert sorted(awaited(race())) == [200] + [409] * 7
