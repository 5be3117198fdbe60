"""Lists of memory over HTTP, both of them, by the published client where it can (RFC-0015 4; R37, R43, R50 to R63)."""

import time
from collections.abc import Callable
from itertools import product
from typing import Any

import httpx
import pytest
from openintent.exceptions import ValidationError

from memory.adapter import fulltext
from tests.awaiting import awaited
from tests.openintent.conftest import Served

Asked = dict[str, Any]


def asked(served: Served, caller: str, **params: Any) -> httpx.Response:
    """What the envelope answers the caller; ``scope__task_id`` stands for ``scope.task_id``."""
    with served.http(caller) as client:
        return client.get("/api/v1/memory", params={name.replace("__", "."): value for name, value in params.items()})


def of_agent(served: Served, caller: str, agent: str, **params: Any) -> httpx.Response:
    """The same of the list of one agent."""
    given = {name.replace("__", "."): value for name, value in params.items()}
    with served.http(caller) as client:
        return client.get(f"/api/v1/agents/{agent}/memory", params=given)


def keys(served: Served, caller: str, agent: str, **params: Any) -> list[str]:
    """The keys of both lists, which are one: that of the agent, and the envelope when it is asked for the agent."""
    array, envelope = of_agent(served, caller, agent, **params), asked(served, caller, agent_id=agent, **params)
    assert (array.status_code, envelope.status_code) == (200, 200), array.text + envelope.text
    assert array.json() == envelope.json()["entries"]
    assert array.headers["X-Total-Count"] == str(envelope.json()["total"])
    return [entry["key"] for entry in array.json()]


def refused(answer: httpx.Response, *fields: str) -> None:
    body = answer.json()
    assert (answer.status_code, body["error"]) == (400, "VALIDATION_ERROR"), answer.text
    assert {each["field"] for each in body["errors"]} == set(fields), answer.text


@pytest.fixture
def agent(served: Served) -> str:
    return served.agent()


@pytest.fixture
def remember(served: Served, agent: str) -> Callable[..., dict[str, Any]]:
    """An entry of the agent's."""
    return lambda key, **more: served.remembers(agent, key, **more)


Remember = Callable[..., dict[str, Any]]


@pytest.mark.engines
def test_R37_what_its_owner_s_query_returned_is_evicted_last(served: Served, remember: Remember, agent: str) -> None:
    with served.http(agent) as client:
        given = {"agent_id": agent, "name": agent, "episodic_memory": {"capacity": 2}}
        assert client.post("/api/v1/agents/register", json=given).status_code in (200, 201)
    for key in ("first", "second"):
        remember(key, memory_type="episodic", tags=[key])
    assert keys(served, agent, agent, tags="first") == ["first"]
    with served.http(role="operator") as operator:
        assert len(operator.get(f"/api/v1/agents/{agent}/memory", params={"tags": "second"}).json()) == 1
    remember("third", memory_type="episodic")
    assert keys(served, agent, agent) == ["third", "first"]


@pytest.mark.engines
def test_R43_an_agent_s_list_of_semantic_memory_is_all_that_it_may_read(served: Served, agent: str) -> None:
    other, space = served.agent(), served.agent("space")
    served.remembers(agent, "mine", namespace=f"{space}.mine", memory_type="semantic")
    served.remembers(other, "theirs", namespace=f"{space}.theirs", memory_type="semantic")
    with served.client(agent) as client:
        every = client.list_memory(agent, namespace=f"{space}*", memory_type="semantic")
        own = client.list_memory(agent, namespace=f"{space}*")
    assert [entry.key for entry in every] == ["theirs", "mine"]
    assert [(entry.key, entry.agent_id) for entry in own] == [("mine", agent)]


@pytest.mark.engines
def test_R50_working_and_episodic_memory_needs_an_agent_or_a_task(served: Served, agent: str) -> None:
    for tier in ("working", "episodic"):
        refused(asked(served, agent, memory_type=tier), "agent_id")
        assert asked(served, agent, memory_type=tier, agent_id=agent).status_code == 200
        assert asked(served, agent, memory_type=tier, scope__task_id="task_1").status_code == 200


def test_R50_another_agent_s_list_is_empty_and_not_forbidden(served: Served, remember: Remember, agent: str) -> None:
    remember("working"), remember("episodic", memory_type="episodic")
    assert keys(served, served.agent(), agent) == []
    with served.http(role="operator") as operator:
        answer = operator.get(f"/api/v1/agents/{agent}/memory")
    assert [entry["key"] for entry in answer.json()] == ["episodic", "working"]


@pytest.mark.engines
def test_R50_without_agent_task_and_tier_one_sees_one_s_own_and_what_is_shared(served: Served, agent: str) -> None:
    other, space = served.agent(), served.agent("space")
    for owner, tier in ((agent, "working"), (other, "working"), (other, "semantic"), (agent, "semantic")):
        who = "me" if owner == agent else "other"
        served.remembers(owner, f"{tier} of {who}", namespace=f"{space}.{who}", memory_type=tier)
    found = asked(served, agent, namespace=f"{space}.*").json()
    assert [entry["key"] for entry in found["entries"]] == ["semantic of me", "semantic of other", "working of me"]
    assert found["total"] == 3


BY_NAMESPACE = {
    "billing": "a", "billing.*": "b", "billing*": "eba", "*": "fedcba", "b%": "c", "b%*": "c", "b_l*": "d",
    "BILLING*": "", "Billing*": "f", "billing**": "",
}  # fmt: skip


@pytest.mark.engines
def test_R51_a_namespace_is_meant_exactly_or_by_how_it_begins(served: Served, remember: Remember, agent: str) -> None:
    names = ["billing", "billing.invoices", "b%", "b_lling", "billings", "Billing"]
    for key, namespace in zip("abcdef", names, strict=True):
        remember(key, namespace=namespace)
    for wanted, found in BY_NAMESPACE.items():
        assert keys(served, agent, agent, namespace=wanted) == list(found), wanted


@pytest.mark.engines
def test_R52_a_key_is_meant_exactly(served: Served, remember: Remember, agent: str) -> None:
    remember("k"), remember("kk"), remember("K"), remember("k", namespace="other")
    assert keys(served, agent, agent, key="k") == ["k", "k"]
    assert keys(served, agent, agent, key="k", namespace="ns") == ["k"]
    assert keys(served, agent, agent, key="k", namespace="n*") == ["k"]


def test_R53_a_tier_is_one_of_three(served: Served, remember: Remember, agent: str) -> None:
    remember("w"), remember("e", memory_type="episodic")
    assert keys(served, agent, agent, memory_type="working") == ["w"]
    assert keys(served, agent, agent, memory_type="episodic") == ["e"]
    refused(asked(served, agent, memory_type="Working"), "memory_type")
    with served.client(agent) as client, pytest.raises(ValidationError) as refusal:
        client.list_memory(agent, memory_type="forever")
    assert [each["field"] for each in refusal.value.errors] == ["memory_type"]


@pytest.fixture
def tagged(remember: Remember) -> None:
    remember("both", tags=["red", "round"])
    remember("red", tags=["red"])
    remember("round", tags=["round", "in progress"])
    remember("none")


@pytest.mark.usefixtures("tagged")
def test_R54_all_of_the_tags_are_meant(served: Served, agent: str) -> None:
    assert keys(served, agent, agent, tags="red") == ["red", "both"]
    assert keys(served, agent, agent, tags="red,round") == ["both"]
    assert keys(served, agent, agent, tags="round,in progress") == ["round"]
    assert keys(served, agent, agent, tags="red,square") == []
    assert keys(served, agent, agent, tags="Red") == []
    with served.client(agent) as client:
        assert [entry.key for entry in client.list_memory(agent, tags=["round", "red"])] == ["both"]


@pytest.mark.console
@pytest.mark.usefixtures("tagged")
def test_R54_all_of_the_tags_are_meant_by_the_async_client_too(served: Served, agent: str) -> None:
    async def listed() -> list[str]:
        async with served.async_client(agent) as client:
            return [entry.key for entry in await client.list_memory(agent, tags=["red", "round"])]

    assert awaited(listed()) == ["both"]


@pytest.mark.engines
@pytest.mark.usefixtures("tagged")
def test_R55_one_of_the_tags_is_enough_and_with_both_both_hold(served: Served, agent: str) -> None:
    assert keys(served, agent, agent, tags_any="red,round") == ["round", "red", "both"]
    assert keys(served, agent, agent, tags_any="square,in progress") == ["round"]
    assert keys(served, agent, agent, tags="round", tags_any="red,in progress") == ["round", "both"]
    assert keys(served, agent, agent, tags="red", tags_any="in progress") == []


def test_R54_R55_tags_are_tags(served: Served, agent: str) -> None:
    refused(asked(served, agent, tags=",", tags_any=""), "tags", "tags_any")
    refused(asked(served, agent, tags=",".join(str(n) for n in range(65))), "tags")
    refused(asked(served, agent, tags_any="a\0"), "tags_any")


@pytest.mark.engines
def test_R56_a_scope_is_asked_for_with_a_dot(served: Served, remember: Remember, agent: str) -> None:
    remember("t", scope={"task_id": "task_1", "intent_id": "intent_1"})
    remember("i", scope={"intent_id": "intent_1"}, memory_type="episodic")
    remember("n")
    assert keys(served, agent, agent, scope__task_id="task_1") == ["t"]
    assert keys(served, agent, agent, scope__intent_id="intent_1") == ["i", "t"]
    assert keys(served, agent, agent, scope__intent_id="intent_1", scope__task_id="task_1") == ["t"]
    assert [entry["key"] for entry in asked(served, agent, scope__intent_id="intent_1").json()["entries"]] == ["i", "t"]
    assert keys(served, agent, agent, scope__task_id="task_2") == []
    assert keys(served, agent, agent, task_id="task_2") == ["n", "i", "t"]


@pytest.mark.engines
def test_R57_only_episodic_entries_are_pinned_or_not(served: Served, remember: Remember, agent: str) -> None:
    remember("working"), remember("loose", memory_type="episodic")
    remember("fast", memory_type="episodic", pinned=True)
    assert keys(served, agent, agent, pinned="true") == ["fast"]
    assert keys(served, agent, agent, pinned="false") == ["loose"]
    assert keys(served, agent, agent, pinned="false", memory_type="working") == []
    for wrong in ("yes", "1", "", "null"):
        refused(asked(served, agent, pinned=wrong), "pinned")


@pytest.mark.engines
def test_R58_between_two_times_neither_counts(served: Served, remember: Remember, agent: str) -> None:
    first, second, third = (remember(key)["updated_at"] for key in "abc")
    assert keys(served, agent, agent, updated_after=first) == ["c", "b"]
    assert keys(served, agent, agent, updated_before=third) == ["b", "a"]
    assert keys(served, agent, agent, updated_after=first, updated_before=third) == ["b"]
    assert keys(served, agent, agent, updated_after=second, updated_before=second) == []
    naive = second.removesuffix("+00:00")
    for form in (naive, f"{naive}Z", naive.replace("T", " "), f"{naive} 00:00"):
        assert keys(served, agent, agent, updated_after=form) == ["c"], form
    with served.http(agent) as client:  # a plus that nobody escaped
        answer = client.get(f"/api/v1/agents/{agent}/memory?updated_after={second}")
    assert [entry["key"] for entry in answer.json()] == ["c"]
    for wrong in ("yesterday", "", "2026-02-30T00:00:00Z", "0001-01-01T00:00:00+14:00", "1700000000000000000000"):
        refused(asked(served, agent, updated_after=wrong), "updated_after")


@pytest.mark.engines
def test_R59_a_limit_is_at_most_a_thousand(served: Served, agent: str) -> None:
    limits = {"": 100, "1": 1, "1000": 1000, "1001": 1000, str(2**63): 1000, "9" * 5000: 1000}
    for given, echoed in limits.items():
        answer = asked(served, agent, **({"limit": given} if given else {}))
        assert (answer.status_code, answer.json()["limit"], answer.json()["offset"]) == (200, echoed, 0), given


def test_R59_pages_follow_each_other(served: Served, remember: Remember, agent: str) -> None:
    for key in "abcde":
        remember(key)
    assert [keys(served, agent, agent, limit=2, offset=at) for at in (0, 2, 4, 5, 6)] == [
        ["e", "d"], ["c", "b"], ["a"], [], [],
    ]  # fmt: skip
    with served.client(agent) as client:
        assert [entry.key for entry in client.list_memory(agent, limit=2, offset=3)] == ["b", "a"]
    far = asked(served, agent, agent_id=agent, offset=str(2**63)).json()
    assert (far["entries"], far["total"]) == ([], 5)
    for wrong in ("0", "-1", "1.5", "ten", "", "٣", "1e3", "0x10"):
        refused(asked(served, agent, limit=wrong), "limit")
    for wrong in ("-1", "none", ""):
        refused(asked(served, agent, offset=wrong), "offset")


def test_R60_the_envelope_counts_what_the_caller_may_see(served: Served, remember: Remember, agent: str) -> None:
    for key in "abc":
        remember(key)
    found = asked(served, agent, agent_id=agent, limit=2).json()
    assert set(found) == {"entries", "total", "limit", "offset"}
    assert (len(found["entries"]), found["total"], found["limit"], found["offset"]) == (2, 3, 2, 0)
    # Behind the end too, also where all that match are read at once: those of a rare tag, and the one at an address.
    mine = remember("d", tags=["rare"])
    for wanted, total in (({}, 4), ({"tags": "rare"}, 1), ({"namespace": mine["namespace"], "key": "d"}, 1)):
        told = [asked(served, agent, agent_id=agent, offset=at, **wanted).json() for at in (0, total, 9)]
        assert [(len(each["entries"]), each["total"]) for each in told] == [(total, total), (0, total), (0, total)]
    hidden = asked(served, served.agent(), agent_id=agent, limit=2).json()
    assert (hidden["entries"], hidden["total"]) == ([], 0)


def test_R61_the_latest_change_comes_first(served: Served, remember: Remember, agent: str) -> None:
    first, *_ = (remember(key) for key in "abc")
    for key in "bc":
        remember(key, namespace="ns2")
    with served.client(agent) as client:
        client.update_memory(first["id"], 1, tags=["late"])
    found = of_agent(served, agent, agent).json()
    assert found[0]["key"] == "a"
    assert found == sorted(sorted(found, key=lambda e: e["id"]), key=lambda e: e["updated_at"], reverse=True)


def test_R62_what_has_expired_is_in_no_list_before_it_is_swept(served: Served, remember: Remember, agent: str) -> None:
    remember("stays"), remember("goes", ttl="duration:PT2S", tags=["brief"])
    with served.http(agent) as client:
        while client.get(f"/api/v1/agents/{agent}/memory", params={"key": "goes"}).json():
            time.sleep(0.05)
    assert keys(served, agent, agent) == ["stays"]
    assert keys(served, agent, agent, tags="brief") == []
    assert asked(served, agent, agent_id=agent, limit=1).json()["total"] == 1


def test_R63_parameters_that_nobody_knows_change_nothing(served: Served, remember: Remember, agent: str) -> None:
    remember("a")
    assert keys(served, agent, agent, sort="key", fields="id", search="zebra") == ["a"]


def test_a_text_that_no_entry_has_is_refused_by_name(served: Served, agent: str) -> None:
    names = ("agent_id", "namespace", "key", "scope.task_id", "scope.intent_id")
    with served.http(agent) as client:
        for name, wrong in product(names, ("", "a\0b", "x" * 300)):
            refused(client.get("/api/v1/memory", params={name: wrong}), name)


def test_every_wrong_parameter_is_named_at_once(served: Served, agent: str) -> None:
    wrong = {"memory_type": "x", "pinned": "x", "updated_after": "x", "updated_before": "x", "limit": "x"}
    refused(asked(served, agent, **wrong), *wrong)


def test_R74_a_query_by_a_task_has_what_its_parent_lends(served: Served) -> None:
    boss, worker, stranger = served.agent("boss"), served.agent("worker"), served.agent()
    with served.http(boss) as client:
        intent = client.post("/api/v1/intents", json={"title": "t", "created_by": boss}).json()["id"]
        parent = client.post("/api/v1/tasks", json={"intent_id": intent, "name": "parent"}).json()["id"]
        lent = served.remembers(boss, "lent", scope={"task_id": parent})
        for inherits in (True, False):
            given = {"intent_id": intent, "name": "child", "parent_task_id": parent, "assigned_agent": worker}
            policy = {"inherit_from_parent": inherits}
            child = client.post("/api/v1/tasks", json=given | {"memory_policy": policy}).json()["id"]
            own = served.remembers(worker, f"own {inherits}", scope={"task_id": child})
            inherited = [lent | {"inherited_from": parent}] if inherits else []
            found = asked(served, worker, scope__task_id=child).json()
            assert (found["entries"], found["total"]) == ([own, *inherited], 1 + inherits)
            assert of_agent(served, worker, worker, scope__task_id=child).json() == [own, *inherited]
            assert asked(served, stranger, scope__task_id=child).json()["total"] == 0


# --- a search --------------------------------------------------------------------------------------------------------


@pytest.fixture
def texts(remember: Remember) -> None:
    remember("ask", value={"text": "Refunds need the order number"}, tags=["rule"])
    remember("late", value={"text": "A refund that is late is refunded with a voucher"}, memory_type="episodic")
    remember("plain", value={"text": "The office closes at noon"}, namespace="office")


@pytest.mark.engines
@pytest.mark.usefixtures("texts")
def test_a_search_finds_any_of_its_words_in_all_their_forms_and_the_best_first(served: Served, agent: str) -> None:
    assert keys(served, agent, agent, q="refunding vouchers") == ["late", "ask"]
    assert keys(served, agent, agent, q="which order number was it?") == ["ask"]
    assert keys(served, agent, agent, q='refund "order number"') == ["ask"]
    assert keys(served, agent, agent, q="zebra") == []
    assert keys(served, agent, agent, q="8412%") == []
    found = asked(served, agent, q="refund noon").json()
    assert ({each["key"] for each in found["entries"]}, found["total"]) == ({"ask", "late", "plain"}, 3)


@pytest.mark.engines
@pytest.mark.usefixtures("texts")
def test_a_search_is_narrowed_by_every_other_parameter(served: Served, agent: str, remember: Remember) -> None:
    remember("scoped", value={"text": "A refund in a task"}, scope={"task_id": "task_1", "intent_id": "intent_1"})
    pinned = remember("pinned", value={"text": "A refund to be kept"}, memory_type="episodic", pinned=True)
    narrowed: list[tuple[Asked, list[str]]] = [
        ({"memory_type": "episodic", "pinned": "false"}, ["late"]),
        ({"tags": "rule"}, ["ask"]),
        ({"tags": "rule,none"}, []),
        ({"tags": ["rule", "none"]}, []),
        ({"tags_any": "rule,none"}, ["ask"]),
        ({"namespace": "ns", "key": "ask"}, ["ask"]),
        ({"key": "ask"}, ["ask"]),
        ({"namespace": "off*"}, []),
        ({"scope__task_id": "task_1"}, ["scoped"]),
        ({"scope__intent_id": "intent_1"}, ["scoped"]),
        ({"pinned": "true"}, ["pinned"]),
        ({"updated_after": pinned["updated_at"]}, []),
    ]
    for more, found in narrowed:
        assert keys(served, agent, agent, q="refunds", **more) == found, more


@pytest.mark.engines
def test_a_search_finds_and_counts_nothing_that_the_caller_may_not_see(served: Served, agent: str) -> None:
    other, space = served.agent(), served.agent("closed")
    served.remembers(other, "own", {"text": "a quokka of another"})
    served.remembers(other, "secret", {"text": "a quokka of nobody"}, namespace=space, memory_type="semantic")
    shut = {"permissions": {"default": "none", "allow": [{"agent": other, "access": "admin"}]}}
    with served.http("root", role="operator") as root:
        version = root.get(f"/api/v1/memory/namespaces/{space}").headers.get("ETag", "")
        answer = root.patch(f"/api/v1/memory/namespaces/{space}", json=shut, headers={"If-Match": version})
        assert answer.status_code == 200, answer.text
    served.remembers(agent, "mine", {"text": "a quokka of mine"})
    served.remembers(agent, "sealed", {"text": "a quokka"}, sensitivity="confidential")
    served.remembers(agent, "brief", {"text": "a quokka for a moment"}, ttl="duration:PT2S")
    with served.http(agent) as client:
        while client.get("/api/v1/memory", params={"key": "brief"}).json()["total"]:
            time.sleep(0.05)
    for more in ({}, {"agent_id": agent}, {"memory_type": "semantic"}, {"agent_id": other}):
        found = asked(served, agent, q="quokka", **more).json()
        expected = [] if more in ({"memory_type": "semantic"}, {"agent_id": other}) else ["mine"]
        assert ([each["key"] for each in found["entries"]], found["total"]) == (expected, len(expected)), more
    with served.http(served.agent(), tenant="globex") as stranger:
        assert stranger.get("/api/v1/memory", params={"q": "quokka"}).json()["total"] == 0


@pytest.mark.engines
def test_the_pages_of_a_search_follow_each_other(
    served: Served, remember: Remember, agent: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However many it has to choose among: few, more than are looked at at once, more than are ranked by themselves."""
    for number in range(7):
        remember(f"k{number}", value={"text": "walrus " * (number + 1)})
    served.remembers(served.agent(), "other", {"text": "walrus walrus"})
    for narrow in (10_000, 3):
        for chunk in (1000, 2):
            monkeypatch.setattr(fulltext, "CHUNK", chunk)
            monkeypatch.setattr(fulltext, "NARROW", narrow)
            whole = keys(served, agent, agent, q="walrus")
            assert (whole[0], len(whole)) == ("k6", 7)
            paged = [asked(served, agent, agent_id=agent, q="walrus", limit=3, offset=at).json() for at in (0, 3, 6, 9)]
            assert [each["key"] for page in paged for each in page["entries"]] == whole
            exact = (narrow, chunk) != (3, 2)
            assert all(page["total"] == 7 if exact else page["total"] > page["offset"] for page in paged[:3])
            assert [page["total"] for page in paged[2:]] == [7, 7]
            assert asked(served, agent, q="walrus", offset=str(2**63)).json()["entries"] == []
            assert keys(served, agent, agent, q='"walrus walrus"') == whole[:-1]


@pytest.mark.parametrize("wrong", ["", " ", "?!", "a\0b", "x" * 2001])
def test_a_search_that_has_no_words_is_refused(served: Served, agent: str, wrong: str) -> None:
    for answer in (asked(served, agent, q=wrong), of_agent(served, agent, agent, q=wrong)):
        refused(answer, "q")


def test_a_search_deletes_nothing(served: Served, remember: Remember, agent: str) -> None:
    remember("a", value={"text": "refund"})
    with served.http(agent) as client:
        refused(client.request("DELETE", "/api/v1/memory/batch", params={"q": "refund", "agent_id": agent}), "q")
        given = {"filter": {"q": "refund", "agent_id": agent}}
        refused(client.request("DELETE", "/api/v1/memory/batch", json=given), "q")
    assert keys(served, agent, agent) == ["a"]
