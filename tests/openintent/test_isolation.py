"""Memory of one agent, and of one tenant, as others find it: not at all (RFC-0015 2, 8, 9.1; R20 to R27, R108)."""

import re
from itertools import pairwise, product
from typing import Any
from urllib.parse import quote

import httpx
import pytest
from django.urls import URLPattern, URLResolver, get_resolver
from openintent import OpenIntentClient, OpenIntentError
from openintent.models import Permission

from tests.openintent.conftest import Served

SECRET = {"word": "pelican"}


class Work:
    """An intent of ``boss`` with a task of ``owner``, who has remembered something in it."""

    def __init__(self, served: Served, tenant: str = "acme") -> None:
        self.served, self.tenant = served, tenant
        self.boss = served.acting(served.agent("boss"), tenant=tenant)
        self.owner = served.acting(served.agent("owner"), tenant=tenant)
        self.intent = self.boss.create_intent("An intent")
        self.task = self.boss.create_task(self.intent.id, "A task")
        self.assign(self.owner)
        self.entry = self.remember("k")

    def assign(self, client: OpenIntentClient, **more: Any) -> None:
        task = self.boss.get_task(self.task.id)
        self.boss.update_task(task.id, task.version, status="running", assigned_agent=client.agent_id, **more)

    def remember(self, key: str, tier: str = "working", by: OpenIntentClient | None = None) -> Any:
        client = by or self.owner
        scope = {"scope": {"task_id": self.task.id}} if tier == "working" else {}
        return client.create_memory(client.agent_id, "ns", key, SECRET, memory_type=tier, **scope)

    def coordinate(self) -> OpenIntentClient:
        """A client that coordinates the intent."""
        agent = self.served.agent("coordinator")
        with self.plain(self.boss) as client:
            answer = client.post("/api/v1/coordinators", json={"intent_id": self.intent.id, "agent_id": agent})
        assert answer.status_code < 300, answer.text
        return self.served.acting(agent, tenant=self.tenant)

    def plain(self, client: OpenIntentClient) -> httpx.Client:
        return self.served.http(client.agent_id, tenant=self.tenant)

    def end(self, status: str = "completed") -> None:
        self.boss.update_task(self.task.id, self.boss.get_task(self.task.id).version, status=status)


@pytest.fixture
def work(served: Served) -> Work:
    return Work(served)


def status(call: Any, *given: Any, **named: Any) -> int:
    """The status that the client's call is refused with."""
    with pytest.raises(OpenIntentError) as no:
        call(*given, **named)
    return int(getattr(no.value, "status_code", None) or 404)


def working(work: Work, client: OpenIntentClient) -> list[str]:
    """What the client finds of the owner's working memory, by both lists, which agree."""
    owner = work.owner.agent_id
    array = [each.key for each in client.list_memory(owner, memory_type="working")]
    with work.plain(client) as plain:
        query = plain.get("/api/v1/memory", params={"agent_id": owner, "memory_type": "working"}).json()
    assert [each["key"] for each in query["entries"]] == array
    assert query["total"] == len(array)
    return array


def stranger(work: Work) -> OpenIntentClient:
    return work.served.acting(work.served.agent("stranger"), tenant=work.tenant)


def test_R20_the_owner_remembers_at_any_time_in_a_task_and_outside_of_any(work: Work) -> None:
    work.assign(work.owner)
    assert work.remember("later").scope.task_id == work.task.id
    alone = work.owner.create_memory(work.owner.agent_id, "ns", "alone", SECRET)
    assert alone.scope is None
    elsewhere = work.owner.create_memory(
        work.owner.agent_id, "ns", "other", SECRET, scope={"task_id": "task-of-theirs"}
    )
    assert elsewhere.scope.task_id == "task-of-theirs"
    assert working(work, work.owner) == ["other", "alone", "later", "k"]
    with pytest.raises(OpenIntentError):
        work.coordinate().get_memory(alone.id)


def test_R20_nobody_remembers_in_another_agent_s_name(work: Work) -> None:
    call = stranger(work).create_memory
    assert status(call, work.owner.agent_id, "ns", "theirs", {}, scope={"task_id": work.task.id}) == 403


def test_R24_the_owner_reads_changes_and_deletes_what_it_remembers(work: Work) -> None:
    assert work.owner.get_memory(work.entry.id).value == SECRET
    assert work.owner.update_memory(work.entry.id, 1, value={"n": 2}).version == 2
    work.owner.delete_memory(work.entry.id)
    assert status(work.owner.get_memory, work.entry.id) == 404


def test_R25_the_coordinator_reads_while_the_task_is_under_way_and_changes_nothing(work: Work) -> None:
    coordinator = work.coordinate()
    assert coordinator.get_memory(work.entry.id).value == SECRET
    assert working(work, coordinator) == ["k"]
    assert status(coordinator.update_memory, work.entry.id, 1, value={}) == 403
    assert status(coordinator.delete_memory, work.entry.id) == 403
    work.end()
    assert status(coordinator.get_memory, work.entry.id) == 404
    assert working(work, coordinator) == []


@pytest.mark.engines
def test_R26_others_find_nothing_and_are_refused_by_id(work: Work) -> None:
    other = stranger(work)
    assert status(other.get_memory, work.entry.id) == 403
    assert status(other.update_memory, work.entry.id, 1, value={}) == 403
    assert status(other.delete_memory, work.entry.id) == 403
    assert working(work, other) == []


def test_R26_a_grant_lets_read_until_it_is_revoked(work: Work) -> None:
    other = stranger(work)
    made = work.boss.grant_access(work.intent.id, other.agent_id, permission=Permission.READ, reason="to help")
    assert (made.principal_id, made.permission, made.granted_by) == (
        other.agent_id,
        Permission.READ,
        work.boss.agent_id,
    )
    assert other.get_memory(work.entry.id).value == SECRET
    assert working(work, other) == ["k"]
    assert status(other.update_memory, work.entry.id, 1, value={}) == 403
    assert [each.id for each in work.boss.get_acl(work.intent.id).entries] == [made.id]
    work.boss.revoke_access(work.intent.id, made.id)
    assert status(other.get_memory, work.entry.id) == 403
    assert working(work, other) == []


def test_R26_a_grant_to_write_lets_change(work: Work) -> None:
    other = stranger(work)
    work.boss.grant_access(work.intent.id, other.agent_id, permission=Permission.WRITE)
    assert other.update_memory(work.entry.id, 1, value={"n": 2}).version == 2
    assert work.owner.get_memory(work.entry.id).value == {"n": 2}


def test_R26_a_grant_on_a_task_is_on_no_other(work: Work) -> None:
    other = stranger(work)
    elsewhere = work.boss.create_task(work.intent.id, "Another")
    given = {"principal_id": other.agent_id, "principal_type": "agent", "permission": "read", "task_id": elsewhere.id}
    with work.plain(work.boss) as client:
        assert client.post(f"/api/v1/intents/{work.intent.id}/acl/entries", json=given).status_code == 201
        foreign = client.post(f"/api/v1/intents/{work.boss.create_intent('Other').id}/acl/entries", json=given)
        assert foreign.status_code == 400
    assert status(other.get_memory, work.entry.id) == 403


def test_R26_only_who_directs_the_intent_grants(work: Work) -> None:
    other = stranger(work)
    for client in (other, work.owner):
        assert status(client.grant_access, work.intent.id, other.agent_id) == 403
        assert status(client.get_acl, work.intent.id) == 403
    made = work.coordinate().grant_access(work.intent.id, other.agent_id)
    assert status(other.revoke_access, work.intent.id, made.id) == 403
    assert [each.id for each in other.get_acl(work.intent.id).entries] == [made.id]
    kinds = [each.event_type.value for each in work.boss.get_events(work.intent.id)]
    assert "access_granted" in kinds
    acl = f"/api/v1/intents/{work.intent.id}/acl"
    with work.plain(work.boss) as client:
        open_ = client.put(acl, json={"default_policy": "open", "entries": []})
        assert (open_.status_code, open_.json()["errors"][0]["field"]) == (400, "default_policy")
        closed = client.put(acl, json={"default_policy": "closed", "entries": [{"principal_id": "x"}]})
        assert [each["principal_id"] for each in closed.json()["entries"]] == ["x"]
        assert client.post(f"{acl}/entries", json={"principal_id": "x", "permission": "admin"}).status_code == 400


def test_R27_what_was_archived_is_read_from_the_log_and_not_from_memory(work: Work) -> None:
    work.end()
    reader, other = stranger(work), stranger(work)
    work.boss.grant_access(work.intent.id, reader.agent_id)
    assert status(other.get_events, work.intent.id) == 403
    [event] = [each for each in reader.get_events(work.intent.id) if each.event_type.value == "memory.archived"]
    assert event.payload["snapshot"] == [{"namespace": "ns", "key": "k", "value": SECRET, "tags": []}]
    for client in (work.owner, reader):
        assert status(client.get_memory, work.entry.id) == 404
        assert working(work, client) == []


def test_R35_episodic_memory_is_personal_but_for_the_coordinator_of_a_task_of_the_agent(work: Work) -> None:
    entry, coordinator, other = work.remember("habit", "episodic"), work.coordinate(), stranger(work)
    work.boss.grant_access(work.intent.id, other.agent_id, permission=Permission.WRITE)
    assert coordinator.get_memory(entry.id).value == SECRET
    assert status(coordinator.update_memory, entry.id, 1, value={}) == 403
    assert status(other.get_memory, entry.id) == 403
    listed = [client.list_memory(work.owner.agent_id, memory_type="episodic") for client in (coordinator, other)]
    assert [len(each) for each in listed] == [1, 0]
    work.end()
    assert status(coordinator.get_memory, entry.id) == 403
    assert work.owner.get_memory(entry.id).value == SECRET


def test_R71_without_the_permission_to_write_the_owner_itself_only_reads(work: Work) -> None:
    for role in ("viewer", "author", "reviewer"):
        same = work.served.acting(work.owner.agent_id, role=role)
        assert same.get_memory(work.entry.id).value == SECRET, role
        for call, given in (
            (same.update_memory, (work.entry.id, 1)),
            (same.delete_memory, (work.entry.id,)),
            (same.create_memory, (work.owner.agent_id, "ns", "new", {})),
        ):
            with pytest.raises(OpenIntentError) as no:
                call(*given, **({"value": {}} if call == same.update_memory else {}))
            assert (no.value.status_code, no.value.response["requiredScope"]) == (403, "memory:write"), role


def test_R71_without_the_permission_to_read_the_owner_itself_sees_nothing(work: Work) -> None:
    auditor = work.served.acting(work.owner.agent_id, role="auditor")
    assert status(auditor.get_memory, work.entry.id) == 403
    assert status(auditor.list_memory, work.owner.agent_id) == 403


def test_R74_the_agent_of_a_child_reads_what_its_parent_remembers_when_it_inherits(work: Work) -> None:
    heir, other = stranger(work), stranger(work)
    children = []
    for client, inherits in ((heir, True), (other, False)):
        policy = {"inherit_from_parent": inherits}
        child = work.boss.create_task(work.intent.id, "A child", parent_task_id=work.task.id, memory_policy=policy)
        work.boss.update_task(child.id, child.version, status="running", assigned_agent=client.agent_id)
        children.append(child.id)
    assert heir.get_memory(work.entry.id).value == SECRET
    assert status(heir.update_memory, work.entry.id, 1, value={}) == 403
    assert status(other.get_memory, work.entry.id) == 403
    with work.plain(heir) as client:
        query = {"scope.task_id": children[0], "memory_type": "working"}
        found = client.get("/api/v1/memory", params=query).json()["entries"]
    assert [(each["id"], each["inherited_from"]) for each in found] == [(work.entry.id, work.task.id)]


def test_R88_who_takes_a_task_over_reads_what_was_remembered_in_it_and_nothing_else(work: Work) -> None:
    other = stranger(work)
    elsewhere = work.owner.create_memory(work.owner.agent_id, "ns", "elsewhere", SECRET)
    work.assign(other)
    assert other.get_memory(work.entry.id).value == SECRET
    assert working(work, other) == ["k"]
    with work.plain(other) as client:
        query = {"scope.task_id": work.task.id, "memory_type": "working"}
        assert [each["key"] for each in client.get("/api/v1/memory", params=query).json()["entries"]] == ["k"]
    assert status(other.get_memory, elsewhere.id) == 403
    third = stranger(work)
    work.assign(third)
    assert third.get_memory(work.entry.id).value == SECRET
    assert status(other.get_memory, work.entry.id) == 403


def test_R88_who_had_the_task_before_reads_nothing_of_who_has_it_now(work: Work) -> None:
    other = stranger(work)
    work.assign(other)
    entry = work.remember("mine", by=other)
    assert status(work.owner.get_memory, entry.id) == 403
    assert work.owner.update_memory(work.entry.id, 1, value={"n": 2}).version == 2


def test_R89_what_was_taken_over_is_only_read_and_the_same_key_is_free(work: Work) -> None:
    other = stranger(work)
    work.assign(other)
    assert status(other.update_memory, work.entry.id, 1, value={}) == 403
    assert status(other.delete_memory, work.entry.id) == 403
    entry = work.remember("k", by=other)
    assert (entry.agent_id, entry.version) == (other.agent_id, 1)
    assert work.owner.get_memory(work.entry.id).value == SECRET


def test_R89_an_agent_that_failed_and_comes_back_does_not_write_in_the_task_it_lost(work: Work) -> None:
    with work.plain(work.boss) as client:
        task = work.boss.get_task(work.task.id)
        body = {"status": "running", "assigned_agent": work.served.agent("next"), "reason": "failed"}
        answer = client.patch(f"/api/v1/tasks/{task.id}", json=body, headers={"If-Match": str(task.version)})
        assert answer.status_code == 200, answer.text
    assert work.owner.get_memory(work.entry.id).value == SECRET
    assert status(work.owner.update_memory, work.entry.id, 1, value={}) == 403
    assert status(work.owner.create_memory, work.owner.agent_id, "ns", "new", {}, scope={"task_id": task.id}) == 403
    assert work.owner.create_memory(work.owner.agent_id, "ns", "free", {}).version == 1


@pytest.mark.engines
def test_R91_no_path_shows_a_stranger_anything(work: Work) -> None:
    habit, other = work.remember("habit", "episodic"), stranger(work)
    owner = work.owner.agent_id
    with work.plain(other) as client:
        answers = [client.get(f"/api/v1/memory/{each.id}") for each in (work.entry, habit)]
        answers += [
            client.get("/api/v1/memory", params={"agent_id": owner}),
            client.get("/api/v1/memory", params={"scope.task_id": work.task.id}),
            client.get("/api/v1/memory", params={"key": "k", "agent_id": owner, "namespace": "*"}),
            client.get(f"/api/v1/agents/{owner}/memory"),
            client.get(f"/api/v1/agents/{owner}/memory/summary"),
            client.get(f"/api/v1/agents/{owner}/events"),
            client.get(f"/api/v1/agents/{owner}/subscribe", headers={"Accept": "text/event-stream"}),
            client.patch(f"/api/v1/memory/{habit.id}", json={"value": {}}, headers={"If-Match": "9"}),
            client.request("DELETE", f"/api/v1/memory/{habit.id}", headers={"If-Match": "9"}),
            client.post("/api/v1/memory/batch", json={"entries": [{"id": habit.id, "version": 9, "value": {}}]}),
            client.request("DELETE", "/api/v1/memory/batch", json={"filter": {"agent_id": owner}}),
            client.get("/api/v1/memory/namespaces"),
        ]
    for answer in answers:
        assert answer.status_code in {200, 403}, answer.request.url
        assert not [word for word in ("pelican", habit.id, work.entry.id) if word in answer.text], answer.text
    assert [answers[n].json()["total"] for n in (2, 3, 4)] == [0, 0, 0]
    assert len(work.owner.list_memory(owner)) == 2


def test_R108_C19_a_key_is_the_first_agent_it_was_given_and_the_header_chooses_another(served: Served) -> None:
    first, second, other = served.agent("zed"), served.agent("abe"), served.agent()
    with served.plain(**{"X-API-Key": served.key("agent", first, second)}) as client:
        given = {"namespace": "ns", "key": "k", "value": {}}
        assert client.post("/api/v1/memory", json=given).json()["agent_id"] == first
        chosen = client.post("/api/v1/memory", json=given, headers={"X-Agent-ID": second})
        assert chosen.json()["agent_id"] == second
        strange = client.post("/api/v1/memory", json=given, headers={"X-Agent-ID": other})
        assert (strange.status_code, strange.json()["error"]) == (403, "ACCESS_DENIED")
        named = client.post("/api/v1/memory", json={**given, "agent_id": other})
        assert named.status_code == 403


def test_R108_a_bearer_is_as_good_as_a_header_and_no_key_is_401_in_json(served: Served) -> None:
    agent, given = served.agent(), {"namespace": "ns", "key": "k", "value": {}}
    bearer = {"Authorization": f"Bearer {served.key()}", "X-Agent-ID": agent}
    with served.plain() as client:
        assert client.post("/api/v1/memory", json=given, headers=bearer).status_code == 201
        for headers in ({}, {"X-API-Key": "owk_wrong"}, {"Authorization": "Bearer x"}):
            answer = client.post("/api/v1/memory", json=given, headers=headers)
            assert (answer.status_code, answer.json()["error"]) == (401, "UNAUTHENTICATED")
    with pytest.raises(OpenIntentError) as no, OpenIntentClient(served.url, "wrong", agent) as wrong:
        wrong.list_memory(agent)
    assert no.value.status_code == 401


@pytest.mark.engines
def test_R108_an_operator_acts_for_any_agent_of_its_tenant(work: Work) -> None:
    operator = work.served.acting("somebody-else", role="operator")
    assert operator.get_memory(work.entry.id).value == SECRET
    assert operator.create_memory(work.owner.agent_id, "ns", "by-hand", {}).agent_id == work.owner.agent_id
    listed = operator.list_memory(work.owner.agent_id, memory_type="working")
    assert [each.key for each in listed] == ["by-hand", "k"]


PREFIX = "api/v1/"
PARAMETER = re.compile(r"<(?:\w+:)?(\w+)>")
METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE")
# A word of the tenant's own choice: what it leads to is the caller's, whoever else has such a name.
OWN_NAMES = {"agents/agent_id", "namespaces/name"}
UNKNOWN = {
    "memory/entry_id": "mem_" + "0" * 32,
    "entries/entry_id": "acl_" + "0" * 32,
    "intents/intent_id": "intent_" + "0" * 32,
    "tasks/task_id": "task_" + "0" * 32,
    "coordinators/coordinator_id": "coord_" + "0" * 32,
    "agents/agent_id": "nobody",
    "namespaces/name": "nowhere",
}
# What each address takes, so that it is the id that is refused and not the body.
SOUND: dict[tuple[str, str], Any] = {
    ("PATCH", "memory/entry_id"): {"value": {}},
    ("POST", "acl/entries"): {"principal_id": "x"},
    ("POST", "intent_id/status"): {"status": "active"},
    ("POST", "intent_id/events"): {"event_type": "comment", "payload": {}},
    ("PATCH", "tasks/task_id"): {"status": "running"},
    ("PATCH", "coordinators/coordinator_id"): {"status": "paused"},
}


def addresses(patterns: Any = None, prefix: str = "") -> list[str]:
    """Every address of the API, as it is configured."""
    found = []
    for each in get_resolver().url_patterns if patterns is None else patterns:
        text = prefix + str(each.pattern)
        if isinstance(each, URLResolver):
            found += addresses(each.url_patterns, text)
        elif isinstance(each, URLPattern) and text.startswith(PREFIX):
            found.append(text)
    return found


def parameters(address: str) -> dict[str, str]:
    """The parameters of an address, and what each is of: the word before it and its own."""
    parts = address.split("/")
    named = {before: PARAMETER.fullmatch(part) for before, part in pairwise(parts)}
    return {found[1]: f"{before}/{found[1]}" for before, found in named.items() if found}


class Told:
    """What an address answered: its status and its text, without the ids that were asked for."""

    def __init__(self, client: httpx.Client, method: str, address: str, values: dict[str, str]) -> None:
        known = parameters(address)
        path = PARAMETER.sub(lambda found: quote(values[known[found[1]]], safe=""), address)
        body: Any = next((each for (verb, end), each in SOUND.items() if verb == method and _ends(address, end)), {})
        headers = {"If-Match": "1", "Connection": "close"}
        with client.stream(method, f"/{path}", json=body, headers=headers) as answer:
            self.status = answer.status_code
            held = answer.headers.get("Content-Type", "").startswith("text/event-stream")
            self.text = "" if held else answer.read().decode()
        for value in sorted(values.values(), key=len, reverse=True):
            self.text = self.text.replace(value, "<asked>")


def _ends(address: str, end: str) -> bool:
    return PARAMETER.sub(lambda found: found[1], address).endswith(end)


@pytest.fixture
def globex(served: Served) -> dict[str, str]:
    """Globex's own ids, all of them of something that is there."""
    work = Work(served, "globex")
    name = work.served.agent("globex-words")
    semantic = {"namespace": name, "key": "k", "value": SECRET, "memory_type": "semantic"}
    with work.plain(work.owner) as client:
        assert client.post("/api/v1/memory", json=semantic).status_code == 201
    with work.plain(work.boss) as client:
        given = {"intent_id": work.intent.id, "agent_id": work.boss.agent_id}
        coordinator = client.post("/api/v1/coordinators", json=given).json()
    return {
        "memory/entry_id": work.entry.id,
        "entries/entry_id": work.boss.grant_access(work.intent.id, "somebody").id,
        "intents/intent_id": work.intent.id,
        "tasks/task_id": work.task.id,
        "coordinators/coordinator_id": coordinator["id"],
        "agents/agent_id": work.owner.agent_id,
        "namespaces/name": name,
    }


def test_R91_what_is_globex_s_is_not_there_for_acme(served: Served, globex: dict[str, str]) -> None:
    found = {known for each in addresses() for known in parameters(each).values()}
    assert found == set(globex) == set(UNKNOWN), "add what is missing to UNKNOWN and to Globex"
    about_something = [each for each in addresses() if PARAMETER.search(each)]
    with served.http("agent", role="owner") as client:
        for address, method in product(about_something, METHODS):
            foreign, unknown = (Told(client, method, address, values) for values in (globex, UNKNOWN))
            assert foreign.status == unknown.status, (method, address)
            if set(parameters(address).values()) <= OWN_NAMES:
                assert not [word for word in ("pelican", *globex.values()) if word in foreign.text], foreign.text
            else:
                assert foreign.status in {404, 405}, (method, address, foreign.text)
                assert foreign.text == unknown.text, (method, address)
    with served.http("agent", role="owner", tenant="globex") as client:
        entry = client.get(f"/api/v1/memory/{globex['memory/entry_id']}")
        assert (entry.json()["version"], entry.json()["value"]) == (1, SECRET)
        assert client.get(f"/api/v1/memory/namespaces/{globex['namespaces/name']}").json()["version"] == 1


@pytest.mark.engines
def test_R91_a_list_of_acme_holds_nothing_of_globex(served: Served, globex: dict[str, str]) -> None:
    lists = [each for each in addresses() if not PARAMETER.search(each)]
    asked: list[dict[str, str]] = [
        {},
        {"agent_id": globex["agents/agent_id"]},
        {"scope.task_id": globex["tasks/task_id"]},
    ]
    with served.http("agent", role="owner") as client:
        for address, query in product(lists, asked):
            with client.stream("GET", f"/{address}", params=query) as answer:
                text = answer.read().decode()
            assert answer.status_code in {200, 404, 405}, (address, text)
            marks = {*globex.values()} - set(query.values())
            assert not [mark for mark in marks if mark in text], (address, text)
