"""Semantic memory and its namespaces: who reads, who writes, who decides about that (RFC-0015 2.3, 6.6; R38 to R43)."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any
from urllib.parse import quote

import pytest
from openintent import OpenIntentError

from tests.openintent.conftest import Served

BASE = "/api/v1/memory/namespaces"


def shared(served: Served, agent: str, namespace: str, key: str = "k", **more: Any) -> dict[str, Any]:
    return served.remembers(agent, key, namespace=namespace, memory_type="semantic", **more)


def permit(served: Served, namespace: str, **permissions: Any) -> dict[str, Any]:
    """What an operator says of the namespace."""
    with served.http(role="operator") as client:
        answer = client.patch(f"{BASE}/{quote(namespace, safe='')}", json={"permissions": permissions})
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


def refused(served: Served, agent: str, namespace: str, key: str = "other") -> str:
    """The code with which the agent is kept from making an entry."""
    with served.http(agent) as client:
        given = {"namespace": namespace, "key": key, "value": {}, "memory_type": "semantic"}
        answer = client.post("/api/v1/memory", json=given)
    assert answer.status_code == 403, answer.text
    return str(answer.json()["error"])


def test_R38_who_may_write_in_a_namespace_makes_its_entries(served: Served) -> None:
    curator, other, name = served.agent("curator"), served.agent(), served.agent("policies")
    shared(served, curator, name)
    assert refused(served, other, name) == "ACCESS_DENIED"
    permit(served, name, allow=[{"agent": other, "access": "write"}])
    assert shared(served, other, name, "other")["created_by"] == other
    assert refused(served, curator, name, "third") == "ACCESS_DENIED"
    with served.http(role="operator") as client:
        given = {"namespace": name, "key": "by-hand", "value": {}, "memory_type": "semantic"}
        assert client.post("/api/v1/memory", json=given).status_code == 201


def test_R38_the_first_writer_makes_the_namespace_and_everybody_reads_it(served: Served) -> None:
    curator, other, name = served.agent("curator"), served.agent(), served.agent("facts")
    entry = shared(served, curator, name)
    assert served.acting(other).get_memory(entry["id"]).value == {"n": 1}
    with served.http(other) as client:
        found = client.get(f"{BASE}/{name}").json()
    rules = {"default": "read", "allow": [{"agent": curator, "access": "write"}]}
    assert (found["permissions"], found["access"], found["created_by"]) == (rules, "read", curator)


@pytest.mark.console
@pytest.mark.engines
def test_R38_of_many_first_writers_one_makes_the_namespace(served: Served) -> None:
    name = served.agent("race")
    agents = [served.agent() for _ in range(6)]
    key = served.key()

    def write(agent: str) -> int:
        given = {"namespace": name, "key": agent, "value": {}, "memory_type": "semantic"}
        with served.http(agent) as client:
            client.headers["X-API-Key"] = key
            return client.post("/api/v1/memory", json=given).status_code

    with ThreadPoolExecutor(len(agents)) as pool:
        answers = list(pool.map(write, agents))
    assert sorted(answers) == [201, 403, 403, 403, 403, 403]


def test_R39_semantic_memory_is_in_nobody_s_way_and_outlives_its_task(served: Served) -> None:
    agent, name = served.agent(), served.agent("facts")
    client = served.acting(agent)
    intent = client.create_intent("Ends")
    task = client.create_task(intent.id, "Ends")
    entry = shared(served, agent, name, scope={"task_id": task.id})
    client.update_task(task.id, task.version, status="completed")
    assert client.get_memory(entry["id"]).version == 1
    assert client.get_memory(entry["id"]).expires_at is None


def test_R40_reading_needs_read_at_every_door(served: Served) -> None:
    curator, other, name = served.agent("curator"), served.agent(), served.agent("secret")
    word = served.agent("pelican")
    entry = shared(served, curator, name, value={"word": word})
    permit(served, name, default="none", allow=[{"agent": curator, "access": "write"}])
    with served.http(other) as client:
        by_id = client.get(f"/api/v1/memory/{entry['id']}")
        wrong = client.patch(f"/api/v1/memory/{entry['id']}", json={"value": {}}, headers={"If-Match": "7"})
        taken = client.post(
            "/api/v1/memory",
            json={"namespace": name, "key": entry["key"], "value": {}, "memory_type": "semantic"},
        )
        query = client.get("/api/v1/memory", params={"memory_type": "semantic", "namespace": name})
        listed = client.get(f"/api/v1/agents/{other}/memory", params={"memory_type": "semantic", "limit": 1000})
        swept = client.request(
            "DELETE", "/api/v1/memory/batch", json={"filter": {"memory_type": "semantic", "namespace": name}}
        )
    answers = (by_id, wrong, taken, query, listed, swept)
    assert not [each.text for each in answers if word in each.text]
    assert [each.status_code for each in answers[:3]] == [403, 403, 403]
    assert (query.json()["total"], query.json()["entries"]) == (0, [])
    assert swept.status_code == 403 or swept.json()["deleted"] == 0
    assert served.acting(curator).get_memory(entry["id"]).value == {"word": word}


def test_R40_writing_needs_write_and_deciding_needs_admin(served: Served) -> None:
    reader, writer, admin = (served.agent(name) for name in ("reader", "writer", "admin"))
    name = served.agent("facts")
    rules = [{"agent": writer, "access": "write"}, {"agent": admin, "access": "admin"}]
    permit(served, name, default="read", allow=rules)
    entry = shared(served, writer, name)
    with pytest.raises(OpenIntentError) as no:
        served.acting(reader).update_memory(entry["id"], 1, value={"n": 2})
    assert no.value.status_code == 403
    assert served.acting(writer).update_memory(entry["id"], 1, value={"n": 2}).version == 2
    for agent, status in ((reader, 403), (writer, 403), (admin, 200)):
        with served.http(agent) as client:
            assert client.patch(f"{BASE}/{name}", json={"default": "read"}).status_code == status


def test_R41_a_rule_comes_before_the_default_and_level_is_another_word_for_access(served: Served) -> None:
    curator, one, other, name = served.agent("curator"), served.agent(), served.agent(), served.agent("facts")
    entry = shared(served, curator, name)
    allow = [{"agent": one, "level": "none"}, {"agent": curator, "access": "write"}]
    found = permit(served, name, default="read", allow=allow)
    assert found["permissions"] == {
        "default": "read",
        "allow": [{"agent": one, "access": "none"}, {"agent": curator, "access": "write"}],
    }
    served.acting(other).get_memory(entry["id"])
    with pytest.raises(OpenIntentError):
        served.acting(one).get_memory(entry["id"])


def test_R42_who_wrote_last_curates(served: Served) -> None:
    one, other, name = served.agent(), served.agent(), served.agent("facts")
    permit(served, name, allow=[{"agent": each, "access": "write"} for each in (one, other)])
    entry = shared(served, one, name)
    assert entry["curated_by"] == one
    changed = served.acting(other).update_memory(entry["id"], 1, value={"n": 2})
    assert changed.curated_by == other
    assert changed.agent_id == one


def test_R43_the_client_lists_what_is_shared_with_it(served: Served) -> None:
    curator, other = served.agent("curator"), served.agent()
    mine, hidden = served.agent("mine"), served.agent("hidden")
    seen, unseen = shared(served, curator, mine), shared(served, curator, hidden)
    permit(served, hidden, default="none")
    client = served.acting(other)
    own = client.create_memory(other, "ns", "k", {"own": True})
    listed = [each.id for each in client.list_memory(other, memory_type="semantic", limit=1000)]
    assert seen["id"] in listed
    assert unseen["id"] not in listed
    assert [each.id for each in client.list_memory(other)] == [own.id]
    assert [each.id for each in client.list_memory(other, memory_type="semantic", namespace=mine)] == [seen["id"]]


def guarded(served: Served, agent: str, **guardrails: Any) -> tuple[str, str]:
    """The agent has a task under way, under a coordinator with these guardrails: the task, and the coordinator."""
    boss = served.acting(served.agent("boss"))
    intent = boss.create_intent("Guarded")
    task = boss.create_task(intent.id, "Guarded")
    boss.update_task(task.id, task.version, status="running", assigned_agent=agent)
    with served.http(boss.agent_id) as client:
        given = {"intent_id": intent.id, "agent_id": boss.agent_id, "guardrails": guardrails}
        made = client.post("/api/v1/coordinators", json=given)
    assert made.status_code < 300, made.text
    return task.id, boss.agent_id


@pytest.mark.engines
def test_R79_agents_of_a_coordinator_touch_only_the_namespaces_it_allows(served: Served) -> None:
    agent, curator = served.agent(), served.agent("curator")
    inside, outside = served.agent("inside"), served.agent("outside")
    entries = [shared(served, curator, name) for name in (inside, outside)]
    permit(served, outside, default="write")
    permit(served, inside, default="write")
    task, boss = guarded(served, agent, allowed_semantic_namespaces=[inside])
    client = served.acting(agent)
    assert client.get_memory(entries[0]["id"]).namespace == inside
    with pytest.raises(OpenIntentError) as no:
        client.get_memory(entries[1]["id"])
    assert (no.value.status_code, no.value.response["error"]) == (403, "GUARDRAIL_VIOLATION")
    assert refused(served, agent, outside) == refused(served, agent, served.agent("new")) == "GUARDRAIL_VIOLATION"
    shared(served, agent, inside, "mine")
    assert {each.namespace for each in client.list_memory(agent, memory_type="semantic")} == {inside}
    with served.http(agent) as plain:
        assert [each["namespace"] for each in plain.get(BASE).json()["namespaces"]] == [inside]
        assert plain.get(f"{BASE}/{outside}").json()["error"] == "GUARDRAIL_VIOLATION"
    overseer = served.acting(boss)
    overseer.update_task(task, overseer.get_task(task).version, status="completed")
    assert client.get_memory(entries[1]["id"]).namespace == outside


def test_R79_no_list_of_namespaces_allows_all(served: Served) -> None:
    agent, name = served.agent(), served.agent("facts")
    guarded(served, agent, allowed_semantic_namespaces=None, max_working_memory_per_task=5)
    assert shared(served, agent, name)["namespace"] == name


def test_R80_what_is_denied_stays_so_although_it_is_allowed(served: Served) -> None:
    agent, name, other = served.agent(), served.agent("facts"), served.agent("facts")
    entry = shared(served, served.agent("curator"), name)
    guarded(served, agent, allowed_semantic_namespaces=[name, other], denied_semantic_namespaces=[name])
    with pytest.raises(OpenIntentError) as no:
        served.acting(agent).get_memory(entry["id"])
    assert no.value.response["error"] == "GUARDRAIL_VIOLATION"
    assert refused(served, agent, name) == "GUARDRAIL_VIOLATION"
    shared(served, agent, other)


def test_R102_the_list_has_what_one_may_read_with_access_and_live_entries(served: Served) -> None:
    agent, curator = served.agent(), served.agent("curator")
    read, write, none = (served.agent(word) for word in ("read", "write", "none"))
    for name in (read, write, none):
        shared(served, curator, name)
    shared(served, curator, read, "second")
    gone = shared(served, curator, read, "third")
    served.acting(curator).delete_memory(gone["id"])
    permit(served, write, allow=[{"agent": agent, "access": "write"}])
    permit(served, none, default="none")
    with served.http(agent) as client:
        found = {each["namespace"]: each for each in client.get(BASE).json()["namespaces"]}
    assert (found[read]["access"], found[read]["entry_count"]) == ("read", 2)
    assert (found[write]["access"], found[write]["entry_count"]) == ("write", 1)
    assert none not in found
    with served.http(role="operator") as client:
        found = {each["namespace"]: each for each in client.get(BASE).json()["namespaces"]}
    assert found[none]["access"] == "admin"


@pytest.mark.engines
def test_R102_the_list_is_whole_or_the_page_that_is_asked_for(served: Served) -> None:
    curator, mark = served.agent("curator"), served.agent("p")
    names = [f"{mark}.{number}" for number in range(3)]
    for name in names:
        shared(served, curator, name)
    with served.http(role="operator") as client:
        whole = client.get(BASE).json()
        at = [each["namespace"] for each in whole["namespaces"]].index(names[0])
        page = client.get(BASE, params={"limit": 2, "offset": at + 1}).json()
        wrong = client.get(BASE, params={"limit": 0, "offset": "x"})
    assert [each["namespace"] for each in page["namespaces"]] == names[1:]
    assert (page["total"], page["limit"], page["offset"]) == (whole["total"], 2, at + 1)
    assert page["namespaces"][0]["permissions"]["default"] == "read"
    assert (wrong.status_code, [each["field"] for each in wrong.json()["errors"]]) == (400, ["limit", "offset"])


def test_R103_one_namespace_for_its_readers_whatever_it_is_called(served: Served) -> None:
    agent, mark = served.agent(), served.agent("a")
    name = f"{mark}.b/c d%2Fe?f#g~ü"
    shared(served, agent, name)
    with served.http(agent) as client:
        found = client.get(f"{BASE}/{quote(name, safe='')}")
        assert (found.status_code, found.json()["namespace"]) == (200, name)
        assert found.headers["ETag"] == '"1"'
        assert client.get(f"{BASE}/{served.agent('none')}").status_code == 404
        slashes = f"{BASE}/{quote(name, safe='/')}"
        assert client.get(slashes).json()["namespace"] == name
    permit(served, name, default="none", allow=[])
    with served.http(agent) as client:
        assert client.get(f"{BASE}/{quote(name, safe='')}").status_code == 403


def test_R104_who_administers_changes_permissions_and_nobody_else(served: Served) -> None:
    agent, name = served.agent(), served.agent("facts")
    assert permit(served, name, default="none")["version"] == 1
    with served.http(agent) as client:
        assert client.patch(f"{BASE}/{name}", json={"default": "read"}).status_code == 403
        assert client.patch(f"{BASE}/{served.agent('new')}", json={"default": "read"}).status_code == 403
    with served.http(agent, role="viewer") as client:
        assert client.patch(f"{BASE}/{name}", json={"default": "read"}).status_code == 403
    assert permit(served, name, allow=[{"agent": agent, "access": "admin"}])["version"] == 2
    with served.http(agent) as client:
        answer = client.patch(f"{BASE}/{name}", json={"allow": []})
        assert (answer.status_code, answer.json()["access"]) == (200, "none")
        assert client.get(f"{BASE}/{name}").status_code == 403


def test_R104_a_version_that_is_given_has_to_be_the_current_one(served: Served) -> None:
    name = served.agent("facts")
    permit(served, name, default="read")
    with served.http(role="operator") as client:
        wrong = client.patch(f"{BASE}/{name}", json={"default": "none"}, headers={"If-Match": "4"})
        assert (wrong.status_code, wrong.json()["error"], wrong.json()["current_version"]) == (
            409,
            "VERSION_MISMATCH",
            1,
        )
        right = client.patch(f"{BASE}/{name}", json={"default": "none"}, headers={"If-Match": '"1"'})
        assert (right.status_code, right.headers["ETag"]) == (200, '"2"')


NOT_UNDERSTOOD: list[tuple[dict[str, Any], str]] = [
    ({"permissions": {"default": "everything"}}, "permissions.default"),
    ({"permissions": {"allow": [{"agent": "a", "access": "rwx"}]}}, "permissions.allow.0.access"),
    ({"permissions": {"allow": [{"access": "read"}]}}, "permissions.allow.0.agent"),
    ({"permissions": {"allow": [{"agent": "a"}]}}, "permissions.allow.0.access"),
    ({"permissions": {"allow": [{"agent": "a", "access": "read"}] * 2}}, "permissions.allow"),
    ({"permissions": {"allow": [{"agent": f"a{n}", "access": "read"} for n in range(501)]}}, "permissions.allow"),
    ({"permissions": {"allow": {}}}, "permissions.allow"),
    ({"permissions": {"deny": []}}, "permissions.deny"),
    ({"permissions": "read"}, "permissions"),
    ({"permissions": {}}, "permissions.default"),
    ({}, "default"),
    ({"default": "x"}, "default"),
    ({"allow": [{"agent": 1, "access": "read"}]}, "allow.0.agent"),
]


def test_R104_permissions_that_nobody_understands_are_refused_by_field(served: Served) -> None:
    with served.http(role="operator") as client:
        for body, field in NOT_UNDERSTOOD:
            answer = client.patch(f"{BASE}/facts-of-nobody", json=body)
            assert answer.status_code == 400, (field, answer.text)
            assert field in {each["field"] for each in answer.json()["errors"]}, (field, answer.text)
        assert client.get(f"{BASE}/facts-of-nobody").status_code == 404


@pytest.mark.parametrize("name", ["a" * 201, "a/../b", "../b", "a\x01b"])
def test_R104_no_namespace_has_a_name_that_no_ref_could_hold(served: Served, name: str) -> None:
    with served.http(role="operator") as client:
        answer = client.patch(f"{BASE}/{quote(name, safe='').replace('.', '%2E')}", json={"default": "read"})
    assert answer.status_code in {400, 404}, answer.text


def test_namespaces_are_listed_by_their_labels_as_far_as_the_caller_may_read_them(served: Served) -> None:
    agent, other, root = served.agent(), served.agent(), served.agent("top").replace(".", "-")
    for name in (f"{root}.a.", f"{root}.a.x.", f"{root}.hidden.", f"{root}", f"{root}.unlabelled"):
        shared(served, agent, name)
    permit(served, f"{root}.hidden.", default="none", allow=[])

    def listed(by: str, **wanted: Any) -> Any:
        with served.http(by) as client:
            answer = client.get(BASE, params={"prefix": f"{root}.", **wanted})
        assert answer.status_code == 200, answer.text
        return [each["namespace"] for each in answer.json()["namespaces"]], answer.json()["total"]

    assert listed(other) == ([f"{root}.a.", f"{root}.a.x."], 2)
    assert listed(other, max_depth=2) == ([f"{root}.a."], 1)
    assert listed(other, suffix="x", limit=1, offset=1) == ([], 1)
    assert listed(other, suffix="*.x.") == ([f"{root}.a.x."], 1)
    for name in (f"{root}.b+.x.", f"{root}.bb.x.", f"{root}.(c.x."):  # a label is no pattern
        shared(served, agent, name)
    for label in ("b+", "(c"):
        assert listed(other, prefix=f"{root}.{label}.") == ([f"{root}.{label}.x."], 1)
        assert listed(other, suffix=f"{label}.x.") == ([f"{root}.{label}.x."], 1)


def test_labels_that_make_no_sense_are_refused(served: Served) -> None:
    wrong = [{"prefix": each} for each in ("", ".", "a..b", ".a", "a" * 257, "a\nb", "a\0")]
    wrong += [{"max_depth": each} for each in ("", "0", "-1", "x", "1.5", "9" * 40, "\u0661")]
    with served.http(served.agent()) as client:
        for given in (*wrong, {"suffix": "a..", "limit": "0"}):
            answer = client.get(BASE, params=given)
            assert answer.status_code == 400, (given, answer.text)
            assert {each["field"] for each in answer.json()["errors"]} == set(given)
