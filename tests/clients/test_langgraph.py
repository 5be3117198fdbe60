"""The store for LangGraph: what it answers, beside ``InMemoryStore``, and what a real graph leaves in the ledger."""

import asyncio
import json
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, TypedDict, cast

import httpx
import langgraph.runtime
import pytest
from django.core.management import call_command
from django.test import Client
from langchain_core.messages import AIMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.config import get_store
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.store.base import (
    BaseStore,
    GetOp,
    InvalidNamespaceError,
    ListNamespacesOp,
    MatchCondition,
    PutOp,
    SearchOp,
)
from langgraph.store.memory import InMemoryStore
from langgraph.types import Send

from openwop_console_client.errors import MemoryAccessError, MemoryInvalidError
from openwop_console_client.langgraph import ConsoleStore
from tests import building, in_process

pytestmark = pytest.mark.django_db
TWICE, CONTRADICTION = (
    ListNamespacesOp(match_conditions=tuple(MatchCondition("prefix", path) for path in paths))
    for paths in ((("users", "*"), ("*", "u1", "*")), (("users",), ("teams",)))
)
USERS, FIRST, SECOND = ("users",), ("users", "u1"), ("users", "u1", "likes")


class Counting(in_process.Crossing):
    """The console, with the requests that it was sent."""

    def __init__(self, application: in_process.Application) -> None:
        super().__init__(application)
        self.sent: list[str] = []

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        self.sent.append(f"{request.method} {request.url.path}")
        return super().handle_request(request)

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        self.sent.append(f"{request.method} {request.url.path}")
        return await super().handle_async_request(request)


@pytest.fixture
def transport(application: in_process.Application) -> Counting:
    return Counting(application)


@pytest.fixture
def store(transport: Counting) -> Iterator[ConsoleStore]:
    with ConsoleStore(in_process.URL, building.key(role="agent"), agent_id="planner", transport=transport) as made:
        yield made


class Awaiting:
    """The store, asked by its asynchronous methods."""

    def __init__(self, store: ConsoleStore, transport: Counting) -> None:
        self._store, self._transport = store, transport

    def __getattr__(self, name: str) -> Callable[..., Any]:
        method = getattr(self._store, f"a{name}")
        return lambda *given, **named: self._transport.run(lambda: asyncio.run(method(*given, **named)))


@pytest.fixture(params=["synchronous", "asynchronous"])
def asked(request: pytest.FixtureRequest, store: ConsoleStore, transport: Counting) -> BaseStore:
    """The store, asked in both ways."""
    return store if request.param == "synchronous" else cast("BaseStore", Awaiting(store, transport))


@pytest.fixture
def operator(transport: Counting, client: Client) -> Iterator[httpx.Client]:
    """A person who is signed in, and has a key."""
    client.force_login(building.operator())
    cookies = {name: each.value for name, each in client.cookies.items()}
    headers = {"X-API-Key": building.key(role="owner")}
    with httpx.Client(base_url=in_process.URL, headers=headers, cookies=cookies, transport=transport) as made:
        yield made


def said(found: Any) -> Any:
    """What a store answered, without the moments of it and without an order of the items."""
    if isinstance(found, list) and found and not isinstance(found[0], tuple):
        return sorted((said(each) for each in found), key=repr)
    return (found.namespace, found.key, found.value) if hasattr(found, "namespace") else found


def filled(store: BaseStore) -> None:
    store.put(FIRST, "a", {"kind": "note", "n": 1, "done": True, "meta": {"lang": "de", "page": 3}})
    store.put(FIRST, "b", {"kind": "note", "n": 2, "done": False, "meta": {"lang": "en"}, "gone": None})
    store.put(SECOND, "a", {"kind": "task", "n": 2.5, "tags": ["x", "y"]})
    store.put(("usersx",), "a", {"kind": "note", "n": 7})
    store.put(("teams", "blue"), "Ünïcode key / %", {"kind": 'a "note"', "n": 0, "text": "grüße"})


READS: dict[str, Callable[[BaseStore], Any]] = {
    "an item": lambda store: store.get(FIRST, "a"),
    "an item that is not there": lambda store: store.get(FIRST, "z"),
    "a key of any characters": lambda store: store.get(("teams", "blue"), "Ünïcode key / %"),
    "all below a prefix": lambda store: store.search(USERS),
    "a whole namespace": lambda store: store.search(SECOND),
    "everything": lambda store: store.search(()),
    "a namespace that is not there": lambda store: store.search(("nobody",)),
    "as many as asked for": lambda store: len(store.search(USERS, limit=2)),
    "those behind them": lambda store: len(store.search(USERS, limit=10, offset=2)),
    "the last of everything": lambda store: len(store.search((), limit=3, offset=4)),
    "a field": lambda store: store.search((), filter={"kind": "note"}),
    "two fields": lambda store: store.search(USERS, filter={"kind": "note", "done": False}),
    "a nested field": lambda store: store.search(USERS, filter={"meta": {"lang": "de"}}),
    "a field that is null": lambda store: store.search(USERS, filter={"gone": None}),
    "a list": lambda store: store.search(USERS, filter={"tags": ["x", "y"]}),
    "equal": lambda store: store.search(USERS, filter={"n": {"$eq": 2}}),
    "not equal": lambda store: store.search(USERS, filter={"kind": {"$ne": "note"}}),
    "between": lambda store: store.search((), filter={"n": {"$gt": 1, "$lte": 2.5}}),
    "a part of those with a field": lambda store: len(store.search((), filter={"n": {"$gte": 2}}, limit=9, offset=2)),
    "the namespaces": lambda store: store.list_namespaces(),
    "those with a prefix": lambda store: store.list_namespaces(prefix=USERS),
    "those with a suffix": lambda store: store.list_namespaces(suffix=("likes",)),
    "those with any label": lambda store: store.list_namespaces(prefix=("*", "u1"), suffix=("*",)),
    "to a depth": lambda store: store.list_namespaces(max_depth=1),
    "a part of them": lambda store: store.list_namespaces(limit=2, offset=1),
    "a part of what is left of a depth": lambda store: store.list_namespaces(max_depth=1, limit=1, offset=1),
    "those with a label that is not there": lambda store: store.list_namespaces(prefix=("users.u1",)),
    "those that two conditions are about": lambda store: store.batch([TWICE, CONTRADICTION]),
    "several at once": lambda store: [said(each) for each in store.batch([GetOp(FIRST, "a"), SearchOp(SECOND)])],
}


@pytest.mark.engines
def test_every_read_is_answered_as_by_the_store_in_memory(asked: BaseStore) -> None:
    other = InMemoryStore()
    filled(asked)
    filled(other)
    assert {name: said(read(asked)) for name, read in READS.items()} == {
        name: said(read(other)) for name, read in READS.items()
    }


LISTED = (
    *(("a", "b", "c"), ("a", "b", "d", "e"), ("a", "b", "d", "i"), ("a", "b", "f"), ("a", "c", "f"), ("b", "a", "f")),
    *(("users", "123"), ("users", "456", "settings"), ("users", "789", "settings"), ("admin", "users", "789")),
    *(("guests", "123"), ("guests", "456", "preferences"), ("a",), ("a-b",), ("A", "b"), ("ä", "100%", "x_y")),
)
# What LangGraph's own tests ask of the namespaces of a store, and what an index or a pattern could get wrong.
LISTINGS: tuple[dict[str, Any], ...] = (
    {},
    {"limit": 5},
    {"limit": 5, "offset": 5},
    {"limit": 5, "offset": 15},
    {"prefix": ("a", "b")},
    {"suffix": ("f",)},
    {"prefix": ("a",), "suffix": ("f",)},
    {"prefix": ("a", "b"), "max_depth": 3},
    {"prefix": ("a", "b"), "limit": 2},
    {"prefix": ("a", "b"), "offset": 2},
    {"prefix": ("a", "*", "f")},
    {"suffix": ("*", "f")},
    {"prefix": ("nonexistent",)},
    {"prefix": ("users", "123")},
    {"prefix": ("users", "*")},
    {"suffix": ("*", "preferences")},
    {"prefix": ("*", "users"), "suffix": ("*", "settings")},
    {"prefix": ("*", "*", "*"), "suffix": ("*", "*")},
    {"prefix": ("users", "456", "settings"), "suffix": ("users", "456", "settings")},
    {"max_depth": 1},
    {"max_depth": 2, "limit": 3, "offset": 2},
    {"prefix": ("ä", "100%")},
    {"suffix": ("x_y",)},
    {"suffix": ("xzy",)},
    {"prefix": ("a.b",)},
    {"prefix": ("",)},
    {"prefix": ("[^a]",)},
)


def test_namespaces_are_listed_as_by_the_store_in_memory(store: ConsoleStore) -> None:
    other = InMemoryStore()
    for each in (store, other):
        assert each.list_namespaces() == []
        for place, namespace in enumerate(LISTED):
            each.put(namespace, f"id_{place}", {"data": place})
    for listing in LISTINGS:
        assert store.list_namespaces(**listing) == other.list_namespaces(**listing), listing


@pytest.mark.engines
def test_searches_say_what_the_tests_of_langgraph_say(store: ConsoleStore) -> None:
    docs = {
        "doc1": ("red apple", 4.5),
        "doc2": ("red car", 3.0),
        "doc3": ("green apple", 4.0),
        "doc4": ("blue car", 3.5),
    }
    for key, (text, score) in docs.items():
        store.put(("test",), key, {"text": text, "color": text.split()[0], "score": score})

    def found(query: str | None, **more: Any) -> list[str]:
        return [each.key for each in store.search(("test",), query=query, **more)]

    assert found("apple", filter={"color": "red"})[0] == "doc1"
    assert found("car", filter={"color": "red"})[0] == "doc2"
    assert found("blue car", filter={"score": {"$gt": 3.2}})[0] == "doc4"
    assert found("apple", filter={"score": {"$gte": 4.0}, "color": "green"}) == ["doc3"]
    assert len(found("")) == len(found(None)) == 4
    assert found("car " * 100) == found("car") == found("car!@#$%^&*()")
    first, second = found("red car", limit=2), found("red car", limit=2, offset=2)
    assert [*first, *second] == found("red car", limit=10)
    assert len({*first, *second}) == 3
    before = store.search(("test",), query="green apple")[0]
    store.put(("test",), "doc3", {"text": "new text about dogs"})
    assert "doc3" not in found("green apple")
    assert before.key == "doc3" == found("text about dogs")[0]


def test_writes_come_to_the_same_as_in_the_store_in_memory(asked: BaseStore) -> None:
    def written(to: BaseStore) -> list[Any]:
        filled(to)
        to.put(FIRST, "a", {"n": 9})
        to.delete(FIRST, "b")
        to.delete(FIRST, "never there")
        read, *_ = to.batch(
            [GetOp(FIRST, "a"), PutOp(FIRST, "a", {"n": 10}), PutOp(FIRST, "a", {"n": 11}), PutOp(SECOND, "a", None)]
        )
        return [said(read), *(said(to.search(where)) for where in (USERS, ("teams",)))]

    assert written(asked) == written(InMemoryStore())
    item = asked.get(FIRST, "a")
    assert item
    assert item.created_at < item.updated_at


def test_what_the_store_in_memory_refuses_is_refused(store: ConsoleStore, transport: Counting) -> None:
    for to in (store, InMemoryStore()):
        for namespace in cast("list[tuple[str, ...]]", [(), ("a.b",), ("",), ("langgraph",), (1,)]):
            with pytest.raises(InvalidNamespaceError):
                to.put(namespace, "a", {})
        with pytest.raises(NotImplementedError):
            to.put(FIRST, "a", {}, ttl=5)
    assert transport.sent == []
    with pytest.raises(MemoryInvalidError) as refused:
        store.search(USERS, filter={"n": {"$near": 2}})
    assert [each["field"] for each in refused.value.errors] == ["filter"]


def test_a_put_is_one_request_and_so_is_a_search(store: ConsoleStore, transport: Counting) -> None:
    store.put(FIRST, "a", {"n": 1})
    store.put(FIRST, "a", {"n": 2})
    store.search(FIRST, query="anything", filter={"n": 2})
    store.get(FIRST, "a")
    assert transport.sent == ["PUT /api/v1/memory"] * 2 + ["GET /api/v1/memory"] * 2


def test_a_deletion_is_one_request_and_so_are_the_namespaces(store: ConsoleStore, transport: Counting) -> None:
    store.put(SECOND, "a", {"n": 1})
    transport.sent.clear()
    store.delete(SECOND, "a")
    store.delete(SECOND, "a")
    store.delete(("never", "there"), "a")
    assert transport.sent == ["DELETE /api/v1/memory"] * 3
    transport.sent.clear()
    assert store.list_namespaces(prefix=("*",), suffix=("likes",), max_depth=2, limit=3) == [("users", "u1")]
    assert transport.sent == ["GET /api/v1/memory/namespaces"]


def test_a_deletion_that_is_not_permitted_is_refused(store: ConsoleStore, transport: Counting) -> None:
    store.put(FIRST, "a", {"n": 1})
    with ConsoleStore(in_process.URL, building.key(role="agent"), agent_id="reader", transport=transport) as other:
        for key in ("a", "never there"):
            with pytest.raises(MemoryAccessError):
                other.delete(FIRST, key)
    assert store.get(FIRST, "a")


def test_items_found_by_words_have_the_scores_of_the_server_and_others_have_none(store: ConsoleStore) -> None:
    store.put(FIRST, "ask", {"text": "Refunds need the order number", "kind": "rule"})
    store.put(FIRST, "late", {"text": "A late refund is refunded with a voucher", "kind": "rule"})
    for found in (
        store.search(USERS, query="refunding vouchers"),
        store.search(USERS, query="refunding vouchers", filter={"kind": "rule"}),
        store.search((), query="refunding vouchers"),
    ):
        best, second = [each.score for each in found]
        assert (best or 0) > (second or 0) > 0
    assert [each.score for each in store.search(USERS)] == [None, None]


def test_a_search_with_words_is_ranked_by_the_server(store: ConsoleStore) -> None:
    store.put(FIRST, "ask", {"text": "Refunds need the order number"})
    store.put(FIRST, "late", {"text": "A late refund is refunded with a voucher"})
    store.put(FIRST, "noon", {"text": "The office closes at noon"})
    assert [each.key for each in store.search(USERS, query="refunding vouchers")] == ["late", "ask"]
    assert store.search(USERS, query="zebra") == store.search(USERS, query=" ?") == []


LONG = "zebra " * 1000


# Long queries, and whether the word about refunds is among the first 2,000 characters of each, and whole.
LONG_QUERIES = {
    f"refunding vouchers {LONG}": True,
    f'the phrase "late refund {LONG}': True,
    f"{LONG} refunding vouchers": False,
    "zebra " * 332 + "a refund": True,
    "zebra " * 332 + "a refund with": True,
    "zebra " * 332 + "no refund": False,
    "zebra " * 332 + "a refunding": False,
    "語" * 3000: False,
    f"refund {'?' * 3000}": True,
    " ?" * 3000: False,
}


def test_of_a_long_query_the_first_words_count(store: ConsoleStore) -> None:
    store.put(FIRST, "late", {"text": "A late refund is refunded with a voucher"})
    assert {query: bool(store.search(USERS, query=query)) for query in LONG_QUERIES} == LONG_QUERIES


def test_entries_of_no_store_are_not_among_its_items(store: ConsoleStore, transport: Counting) -> None:
    headers = {"X-API-Key": building.key(role="agent"), "X-Agent-ID": "planner"}
    with httpx.Client(base_url=in_process.URL, headers=headers, transport=transport) as plain:
        body = {"namespace": "users", "key": "a", "memory_type": "semantic", "value": {"n": 1}}
        assert plain.put("/api/v1/memory", json=body).status_code == 201
    store.put(FIRST, "a", {"n": 2})
    store.put(FIRST, "b", {"n": 3})
    assert [each.key for each in store.search((), limit=1, offset=1)] == ["a"]
    assert len(store.search(())) == 2
    assert store.list_namespaces() == [FIRST]


def test_more_than_a_page_of_the_server_is_fetched(store: ConsoleStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("openwop_console_client.langgraph.PAGE", 2)
    filled(store)
    assert len(store.search((), limit=10)) == len(store.list_namespaces()) + 1 == 5
    assert len(store.search(USERS, limit=3)) == 3


def test_it_closes_what_either_kind_of_use_has_opened(transport: Counting) -> None:
    key = building.key(role="agent")

    def store() -> ConsoleStore:
        return ConsoleStore(in_process.URL, key, agent_id="planner", transport=transport)

    def is_closed(used: ConsoleStore) -> bool:
        assert used._async_http
        return used._http.is_closed and used._async_http[1].is_closed

    async def awaited() -> list[bool]:
        async with store() as first:
            await first.aput(FIRST, "a", {"n": 1})
        with store() as second:
            await second.aget(FIRST, "a")
        await asyncio.sleep(0.01)  # the loop closes them meanwhile
        return [is_closed(each) for each in (first, second)]

    left = store()
    assert transport.run(lambda: asyncio.run(awaited())) == [True, True]
    transport.run(lambda: asyncio.run(left.aget(FIRST, "a")))
    left.close()
    transport.run(lambda: asyncio.run(left.aclose()))  # its loop has ended with its connections
    assert left._http.is_closed


def test_another_tenant_has_none_of_it(store: ConsoleStore, transport: Counting) -> None:
    filled(store)
    with ConsoleStore(in_process.URL, building.key("globex", "agent"), transport=transport) as other:
        assert (other.search(()), other.get(FIRST, "a"), other.list_namespaces()) == ([], None, [])


@pytest.mark.engines
def test_what_another_store_holds_is_imported_and_goes_on_here_and_elsewhere(
    store: ConsoleStore, transport: Counting, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other, file = InMemoryStore(), tmp_path / "items"
    filled(other)
    building.tenant("globex")
    items = [each.dict() for each in other.search((), limit=100)]
    file.write_text("\n".join(json.dumps({"prefix": ".".join(each["namespace"]), **each}) for each in items))
    call_command("import_memory", str(file), "--tenant", "acme", "--format", "langgraph", "--agent", "planner")
    capsys.readouterr()
    call_command("export_memory", "--tenant", "acme")
    file.write_text(capsys.readouterr().out)
    call_command("import_memory", str(file), "--tenant", "globex")
    key = building.key("globex", "agent")
    with ConsoleStore(in_process.URL, key, agent_id="planner", transport=transport) as elsewhere:
        for each in (store, elsewhere):
            for name, read in READS.items():
                assert said(read(each)) == said(read(other)), name
            each.put(FIRST, "a", {"kind": "changed"})
            each.put(FIRST, "c", {"kind": "new"})
            each.delete(SECOND, "a")
            assert [item.value["kind"] for item in each.search(FIRST, limit=2)] == ["new", "changed"]
    stranger = ConsoleStore(in_process.URL, key, agent_id="stranger", transport=transport)
    with stranger, pytest.raises(MemoryAccessError):
        stranger.put(FIRST, "a", {"kind": "theirs"})


# --- a graph ----------------------------------------------------------------------------------------------------------


class State(TypedDict):
    topic: str
    notes: list[str]


NODES = ("plan", "research", "answer")


def note(state: State, node: str) -> tuple[tuple[str, ...], str, dict[str, str]]:
    return (("notes", state["topic"]), node, {"text": f"{node} knows about {state['topic']}"})


def graph(store: ConsoleStore, saver: InMemorySaver, *, awaited: bool = False) -> Any:
    """Three nodes, each of which writes one item."""

    def writing(node: str) -> Any:
        def write(state: State) -> dict[str, Any]:
            get_store().put(*note(state, node))
            return {"notes": [*state["notes"], node]}

        async def write_async(state: State) -> dict[str, Any]:
            await get_store().aput(*note(state, node))
            return {"notes": [*state["notes"], node]}

        return write_async if awaited else write

    builder = StateGraph(State)
    for node, before in zip(NODES, (START, *NODES), strict=False):
        builder.add_node(node, writing(node))
        builder.add_edge(before, node)
    builder.add_edge(NODES[-1], END)
    return builder.compile(checkpointer=saver, store=store)


@pytest.mark.parametrize("awaited", [False, True])
def test_six_writes_of_a_graph_show_their_thread_node_and_step_and_are_found_again(
    store: ConsoleStore, transport: Counting, operator: httpx.Client, awaited: bool
) -> None:
    made = graph(store, InMemorySaver(), awaited=awaited)
    threads = {"thread-1": "refunds", "thread-2": "vouchers"}

    def work() -> None:
        for thread, topic in threads.items():
            state: State = {"topic": topic, "notes": []}
            config: Any = {"configurable": {"thread_id": thread}}
            done = asyncio.run(made.ainvoke(state, config)) if awaited else made.invoke(state, config)
            assert done["notes"] == list(NODES)

    transport.run(work)
    assert transport.sent == ["PUT /api/v1/memory"] * 6
    for thread, topic in threads.items():
        history = made.get_state_history({"configurable": {"thread_id": thread}})
        checkpoints = {each.metadata["step"]: each.config["configurable"]["checkpoint_id"] for each in history}
        for step, node in enumerate(NODES, start=1):
            [item] = store.search(("notes",), query=f"{node} {topic}", limit=1)
            assert (item.namespace, item.key) == (("notes", topic), node)
            wanted = {"threadId": thread, "nodeId": node, "system": "langgraph"}
            [entry] = operator.get("/v1/host/console/memory", params=wanted).json()["entries"]
            provenance = operator.get(f"/v1/host/console/memory/{entry['id']}").json()["provenance"]
            assert provenance["verdict"] == "stated"
            assert provenance["origin"] == {
                "system": "langgraph",
                "threadId": thread,
                "checkpointId": checkpoints[step - 1],
                "node": node,
                "step": step,
                "taskId": provenance["origin"]["taskId"],
            }
            page = operator.get(f"/memory/{entry['id']}").text
            assert all(text in page for text in ("stated by the agent", thread, f"<code>{node}</code>"))
        run = operator.get(f"/runs/{provenance['writes'][0]['runId']}").text
        for step, node in enumerate(NODES, start=1):
            assert f"<code>{node}</code>" in run
            assert f"<code>{thread}</code></a>, step <code>{step}</code>, task <code " in run


def test_a_graph_in_a_graph_states_its_own_node_and_checkpoint(store: ConsoleStore, operator: httpx.Client) -> None:
    run, saver, state = str(uuid.uuid4()), InMemorySaver(), State(topic="refunds", notes=[])
    outer = StateGraph(State)
    outer.add_node("outer", graph(store, saver))
    outer.add_edge(START, "outer")
    made = outer.compile(checkpointer=saver, store=store)
    made.invoke(state, {"configurable": {"thread_id": "deep\nthread", "run_id": run}})
    [entry] = operator.get("/v1/host/console/memory", params={"nodeId": "outer/research"}).json()["entries"]
    origin = operator.get(f"/v1/host/console/memory/{entry['id']}").json()["provenance"]["origin"]
    assert (origin["threadId"], origin["step"], origin["runId"]) == ("deepthread", 2, run)


AGENTS = ("researcher", "writer", "cleaner")


def test_agents_in_subgraphs_are_told_apart_by_the_path_of_their_node(
    store: ConsoleStore, transport: Counting, operator: httpx.Client
) -> None:
    @tool
    def remember(text: str) -> str:
        """Remember the text."""
        get_store().put(("team",), text, {"text": text})
        return "done"

    def agent(name: str) -> Any:
        def call(_: MessagesState) -> dict[str, Any]:
            call = {"name": "remember", "args": {"text": f"by {name}"}, "id": name, "type": "tool_call"}
            return {"messages": [AIMessage("", tool_calls=[call])]}

        def run(state: MessagesState) -> dict[str, Any]:
            return {"messages": [remember.invoke(each) for each in cast("AIMessage", state["messages"][-1]).tool_calls]}

        steps: Any = StateGraph(MessagesState)
        return steps.add_sequence([("model", call), ("tools", run)]).add_edge(START, "model").compile()

    team = StateGraph(MessagesState)
    for name, before in zip(AGENTS, (START, *AGENTS), strict=False):
        team.add_node(name, agent(name)).add_edge(before, name)
    made = team.compile(checkpointer=InMemorySaver(), store=store)
    transport.run(lambda: made.invoke({"messages": []}, {"configurable": {"thread_id": "talk"}}))
    entries = operator.get("/v1/host/console/memory", params={"threadId": "talk"}).json()["entries"]
    assert {each["address"]["key"]: each["origin"]["node"] for each in entries} == {
        f"by {name}": f"{name}/tools" for name in AGENTS
    }
    [found] = operator.get("/v1/host/console/memory", params={"nodeId": "writer/tools"}).json()["entries"]
    assert "<code>writer/tools</code>" in operator.get(f"/memory/{found['id']}").text


def test_a_subgraph_that_a_node_calls_twice_has_one_path(store: ConsoleStore, operator: httpx.Client) -> None:
    saver, outer = InMemorySaver(), cast("Any", StateGraph(State))
    inner = graph(store, saver)

    def twice(_: State) -> None:
        for topic in ("refunds", "vouchers"):
            inner.invoke({"topic": topic, "notes": []})

    made = outer.add_node("twice", twice).add_edge(START, "twice").compile(checkpointer=saver, store=store)
    made.invoke({"topic": "", "notes": []}, {"configurable": {"thread_id": "deep"}})
    entries = operator.get("/v1/host/console/memory", params={"threadId": "deep"}).json()["entries"]
    assert sorted(each["origin"]["node"] for each in entries) == sorted([f"twice/{node}" for node in NODES] * 2)


def test_workers_of_one_node_in_one_step_are_told_apart_by_their_tasks(
    store: ConsoleStore, transport: Counting, operator: httpx.Client
) -> None:
    def work(state: State) -> None:
        for part in ("first", "second"):
            get_store().put(("parts", state["topic"]), part, {"text": part})

    def fan(state: State) -> list[Send]:
        return [Send("work", {"topic": topic, "notes": []}) for topic in ("refunds", "vouchers")]

    steps = cast("Any", StateGraph(State)).add_node("work", work).add_conditional_edges(START, fan, ["work"])
    made = steps.compile(checkpointer=InMemorySaver(), store=store)
    transport.run(lambda: made.invoke({"topic": "", "notes": []}, {"configurable": {"thread_id": "wide"}}))
    entries = operator.get("/v1/host/console/memory", params={"nodeId": "work"}).json()["entries"]
    tasks = {(each["address"]["namespace"], each["origin"]["taskId"]) for each in entries}
    assert (len(entries), len(tasks), len({task for _, task in tasks})) == (4, 2, 2)
    page = operator.get(f"/memory/{entries[0]['id']}").text
    assert f"<code>{entries[0]['origin']['taskId']}</code>" in page


@pytest.mark.parametrize("told", [True, False], ids=["told", "not told"])
def test_each_invocation_of_a_thread_that_has_an_id_is_a_run_of_its_own(
    store: ConsoleStore, operator: httpx.Client, monkeypatch: pytest.MonkeyPatch, told: bool
) -> None:
    ids = iter([str(uuid.uuid4()), str(uuid.uuid4())])
    made = graph(store, InMemorySaver())
    runs = []
    for topic in ("refunds", "vouchers"):
        run = next(ids)
        if not told or not hasattr(langgraph.runtime, "ExecutionInfo"):  # as in versions with it, and without it
            runtime = SimpleNamespace(**{"execution_info": SimpleNamespace(run_id=run)} if told else {})
            monkeypatch.setattr("openwop_console_client.langgraph.get_runtime", lambda runtime=runtime: runtime)
        config: Any = {"configurable": {"thread_id": "talk"}, "run_id": uuid.UUID(run)}
        made.invoke({"topic": topic, "notes": []}, config)
        runs.append(run)
    entries = operator.get("/v1/host/console/memory", params={"threadId": "talk"}).json()["entries"]
    assert len(entries) == 6
    assert {each["origin"].get("runId") for each in entries} == (set(runs) if told else {None})
    shown = [operator.get(f"/v1/host/console/memory/{each['id']}").json()["provenance"] for each in entries]
    assert len({write["runId"] for each in shown for write in each["writes"]}) == (2 if told else 1)


def test_threads_with_long_ids_of_one_beginning_are_two_runs(store: ConsoleStore, operator: httpx.Client) -> None:
    made, begins = graph(store, InMemorySaver()), "t" * 128
    for end, topic in (("1", "refunds"), ("2", "vouchers")):
        made.invoke({"topic": topic, "notes": []}, {"configurable": {"thread_id": begins + end}})
    entries = operator.get("/v1/host/console/memory", params={"system": "langgraph"}).json()["entries"]
    stated = {each["origin"]["threadId"] for each in entries}
    assert len(stated) == 2
    assert all(each.startswith("t" * 111 + "~") and len(each) == 128 for each in stated)
    shown = [operator.get(f"/v1/host/console/memory/{each['id']}").json()["provenance"] for each in entries]
    assert len({write["runId"] for each in shown for write in each["writes"]}) == 2


def test_a_write_outside_of_a_graph_has_no_origin(store: ConsoleStore, operator: httpx.Client) -> None:
    store.put(FIRST, "a", {"n": 1})
    [entry] = operator.get("/v1/host/console/memory").json()["entries"]
    assert "origin" not in operator.get(f"/v1/host/console/memory/{entry['id']}").json()["provenance"]
