"""Every door through which memory is written leads to the one ledger: what holds for one door holds for all of them."""

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypedDict
from uuid import UUID

import httpx
import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.config import get_store
from langgraph.graph import START, StateGraph

from memory.host import event_log, ids, vault
from memory.models import ForgetState
from memory.models.entry import MemoryEntry
from memory.provenance import FACT
from openwop_console_client.agents import ConsoleSession
from openwop_console_client.errors import MemoryConflictError, MemoryInvalidError
from openwop_console_client.langgraph import ConsoleStore
from openwop_console_client.memory import Memory
from tests import building, in_process
from tests.faces.test_origins import TRACE, forget
from tests.memory.test_forgetting import everything_stored

pytestmark = pytest.mark.django_db
PERSON, SECRET = "marta.kowalska@example.com", "tok-123456789"
CONTENT, STORED = f"{SECRET} opens it", "[REDACTED:crm] opens it"
NAMED, SHOWN = f"{PERSON} has {SECRET}", f"{PERSON} has [REDACTED:crm]"
TEXTS = ("system", "runId", "threadId", "checkpointId", "node", "taskId", "step")
ORIGIN = {**dict.fromkeys(TEXTS, NAMED), "sourceIds": [NAMED]}
EVERY_TEXT = {**dict.fromkeys(TEXTS, SHOWN), "sourceIds": [SHOWN]}
CONSOLE, OPENINTENT = "/v1/host/console/memory", "/api/v1/memory"


class State(TypedDict):
    topic: str


class Caller:
    """An agent of one tenant: plain HTTP, and the packages over the same transport."""

    def __init__(self, transport: in_process.Crossing, slug: str, folder: Path) -> None:
        self.slug, self.transport, self.folder = slug, transport, folder
        self.key = building.key(slug)
        headers = {"X-API-Key": self.key, "X-Agent-ID": "desk", "Accept": "application/json"}
        self.http = httpx.Client(base_url=in_process.URL, headers=headers, transport=transport)

    def send(self, method: str, path: str, body: Any, **headers: str) -> Any:
        answer = self.http.request(method, path, json=body, headers=headers)
        assert answer.is_success, answer.text
        return answer.json()

    def call(self, tool: str, **given: Any) -> Any:
        call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": tool, "arguments": given}}
        return self.send("POST", "/mcp", call)["result"]

    def console(self) -> None:
        self.send("POST", CONSOLE, {"memoryRef": "notes", "content": CONTENT, "origin": ORIGIN})

    def mcp(self) -> None:
        assert not self.call("memory_write", memoryRef="notes", content=CONTENT, origin=ORIGIN).get("isError")

    def openintent_post(self) -> None:
        self.send("POST", OPENINTENT, addressed("post"))

    def openintent_put(self) -> None:
        self.send("PUT", OPENINTENT, addressed("put", memory_type="semantic"))

    def openintent_patch(self) -> None:
        made = self.send("POST", OPENINTENT, {**addressed("patch"), "value": {}})["id"]
        self.send("PATCH", f"{OPENINTENT}/{made}", {"value": {"text": CONTENT}, "origin": ORIGIN}, **{"If-Match": "1"})

    def openintent_batch(self) -> None:
        self.send("POST", f"{OPENINTENT}/batch", {"entries": [addressed("batch", memory_type="working")]})

    def client(self) -> None:
        Memory(self.http, "desk").put("facts", "client", {"text": CONTENT}, origin=ORIGIN)

    def langgraph(self) -> None:
        store = ConsoleStore(in_process.URL, self.key, agent_id="desk", transport=self.transport)

        def remember(state: State) -> State:
            get_store().put(("facts",), "langgraph", {"text": CONTENT})
            return state

        graph = StateGraph(State)
        graph.add_node(NAMED, remember)
        graph.add_edge(START, NAMED)
        made = graph.compile(checkpointer=InMemorySaver(), store=store)
        config: Any = {"configurable": {"thread_id": NAMED, "run_id": NAMED}}
        self.transport.run(lambda: made.invoke(State(topic="x"), config))

    def agents_sdk(self) -> None:
        session = ConsoleSession(PERSON, in_process.URL, self.key, agent_id="desk", transport=self.transport)
        self.transport.run(lambda: asyncio.run(session.add_items([{"role": "user", "content": CONTENT}])))

    def run(self) -> None:
        building.remember(self.slug, CONTENT)

    def imported(self) -> None:
        self.load({"memoryRef": "notes", "content": CONTENT})

    def imported_with_an_address(self) -> None:
        names = {"agent_id": "desk", "created_by": "desk", "namespace": "facts", "key": "imported"}
        self.load({"address": {"tier": "episodic", **names}, "value": {"text": CONTENT}})

    def load(self, entry: dict[str, Any]) -> None:
        file, own = self.folder / "memory.jsonl", {"id": ids.wire("mem", ids.new_id()), "origin": ORIGIN}
        file.write_text(json.dumps({**own, **entry, "createdAt": timezone.now().isoformat()}))
        call_command("import_memory", str(file), "--tenant", self.slug)

    def reads(self, memory_id: str) -> dict[str, bool]:
        """Whether each door that gives an entry by its id gives this one."""
        given = {path: self.http.get(f"{path}/{memory_id}").status_code == 200 for path in (CONSOLE, OPENINTENT)}
        return {**given, "mcp": not self.call("memory_get", id=memory_id).get("isError")}


def addressed(key: str, memory_type: str = "episodic") -> dict[str, Any]:
    task = {"scope": {"task_id": "t-1"}} if memory_type == "working" else {}
    place = {"namespace": "facts", "key": key, "memory_type": memory_type, **task}
    return {**place, "value": {"text": CONTENT}, "origin": ORIGIN}


# What each door shows of the origin. A checkpoint that LangGraph makes has an id of its own; a run's node is observed.
DOORS: dict[Callable[[Caller], None], dict[str, Any] | None] = {
    Caller.console: EVERY_TEXT,
    Caller.mcp: EVERY_TEXT,
    Caller.openintent_post: EVERY_TEXT,
    Caller.openintent_put: EVERY_TEXT,
    Caller.openintent_patch: EVERY_TEXT,
    Caller.client: EVERY_TEXT,
    Caller.imported: EVERY_TEXT,
    Caller.imported_with_an_address: EVERY_TEXT,
    Caller.langgraph: {"system": "langgraph", "runId": SHOWN, "threadId": SHOWN, "node": SHOWN, "step": 1},
    Caller.agents_sdk: {"system": "openai-agents", "threadId": PERSON, "node": "user"},
    Caller.openintent_batch: EVERY_TEXT,
    Caller.run: None,
}


@pytest.fixture
def callers(application: in_process.Application, tmp_path: Path) -> dict[str, Caller]:
    transport = in_process.Crossing(application)
    made = {slug: Caller(transport, slug, tmp_path) for slug in ("acme", "globex")}
    vault.store_secret(building.tenant("acme").id, "crm", SECRET, now=timezone.now())
    return made


def written(slug: str) -> set[UUID]:
    return set(MemoryEntry.objects.of(building.tenant(slug).id).values_list("id", flat=True))


@pytest.fixture
def made(callers: dict[str, Caller]) -> dict[str, UUID]:
    """The one entry of Acme that each door has made, by the door's name."""
    found = {}
    for write in DOORS:
        before = written("acme")
        write(callers["acme"])
        [found[write.__name__]] = written("acme") - before
    return found


@pytest.mark.engines
def test_every_write_is_on_record_without_secrets_and_is_seen_by_its_own_tenant_alone(
    callers: dict[str, Caller], made: dict[str, UUID]
) -> None:
    acme, globex = callers["acme"], callers["globex"]
    for write, origin in DOORS.items():
        door, entry_id, wire = write.__name__, made[write.__name__], ids.wire("mem", made[write.__name__])
        shown = acme.http.get(f"{CONSOLE}/{wire}").json()
        assert STORED in shown["entry"]["content"], door
        facts = [each for each in event_log.list_events_about(building.tenant().id, entry_id) if each.type == FACT]
        found = shown["provenance"]
        on_log = [(ids.wire("run", each.stream_id), each.sequence) for each in facts]
        assert on_log == [(each["runId"], each["sequence"]) for each in found["writes"]], door
        assert len(on_log) == (2 if write is Caller.openintent_patch else 1), door
        told = found.get("origin", {}).items()
        stated = {name: value for name, value in told if name not in {"checkpointId", "taskId"} or value == SHOWN}
        assert (found["verdict"], stated) == (("stated", origin) if origin else ("node", {})), door
        assert acme.reads(wire)[CONSOLE], door
        assert not any(globex.reads(wire).values()), door
    assert written("globex") == set()
    for path in (CONSOLE, OPENINTENT):
        assert globex.http.get(path).json()["total"] == 0
        assert acme.http.get(path).json()["total"] > 0
    assert SECRET not in everything_stored()


@pytest.mark.engines
def test_what_no_database_keeps_is_written_through_every_door_when_an_encoding_names_it(
    callers: dict[str, Caller], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The text itself has no NUL; what it decodes to, which is stored beside it, would have one."""
    half = "xn--half-jg9t"  # names U+D800
    monkeypatch.setattr(f"{__name__}.CONTENT", f"{PERSON.replace('@', '%40')} has %00, \\u0000, =00 and {half}")
    for write in DOORS:
        write(callers["acme"])
    assert len(written("acme")) == len(DOORS)
    assert forget("acme", PERSON).receipt["stores"]["memory entries"]["erased"] == len(DOORS)


@pytest.mark.engines
def test_a_person_whom_every_origin_names_is_forgotten_and_stands_nowhere(made: dict[str, UUID]) -> None:
    assert PERSON in everything_stored()
    done = forget("acme", PERSON)
    assert done.state == ForgetState.FORGOTTEN
    assert [each for each in everything_stored().splitlines() if "kowalska" in each.lower()] == []
    assert done.receipt["stores"]["names on the event log"]["stays"] == 0
    # The id of a session stands in the keys of its items: the conversation of a person goes whole.
    assert set(made.values()) - written("acme") == {made["agents_sdk"]}


class Refused:
    """What each door where an origin is stated says to one that it does not take: its status or code, and fields."""

    def __init__(self, caller: Caller) -> None:
        self.caller = caller
        self.entry = caller.send("POST", OPENINTENT, {**addressed("changed"), "origin": {"system": "x"}})["id"]

    def by_each(self, origin: dict[str, Any]) -> dict[str, tuple[object, list[str]]]:
        place = {"namespace": "facts", "key": "refused", "memory_type": "semantic", "value": {}}
        note = {"memoryRef": "notes", "content": "refused"}
        changed = (f"{OPENINTENT}/{self.entry}", {"value": {"n": 2}})
        return {
            "console": self.answered("POST", CONSOLE, {**note, "origin": origin}),
            "post": self.answered("POST", OPENINTENT, {**place, "origin": origin}),
            "put": self.answered("PUT", OPENINTENT, {**place, "origin": origin}),
            "patch": self.answered("PATCH", changed[0], {**changed[1], "origin": origin}),
            "batch": self.by_batch({**place, "origin": origin}),
            "mcp": self.by_mcp({**note, "origin": origin}),
            "client": self.by_client(origin),
        }

    def answered(self, method: str, path: str, body: Any) -> tuple[object, list[str]]:
        answer = self.caller.http.request(method, path, json=body, headers={"If-Match": "1"} if "/mem_" in path else {})
        document = answer.json()
        return answer.status_code, fields_of(document.get("errors") or document.get("details", {}).get("errors", []))

    def by_batch(self, item: dict[str, Any]) -> tuple[object, list[str]]:
        status, fields = self.answered("POST", f"{OPENINTENT}/batch", {"entries": [item]})
        return status, [name for each in fields if (name := each.removeprefix("entries.0").removeprefix("."))]

    def by_mcp(self, arguments: dict[str, Any]) -> tuple[object, list[str]]:
        result = self.caller.call("memory_write", **arguments)
        assert result["isError"]
        problem = result["structuredContent"]
        status = {"validation_error": 400, "conflict": 409}[problem["error"]]
        return status, fields_of(problem.get("errors", []))

    def by_client(self, origin: dict[str, Any]) -> tuple[object, list[str]]:
        with pytest.raises((MemoryInvalidError, MemoryConflictError)) as refused:
            Memory(self.caller.http, "desk").put("facts", "refused", {}, origin=origin)
        said = refused.value.response or {}
        return refused.value.status_code, fields_of(said.get("errors", []))


def fields_of(errors: list[dict[str, str]]) -> list[str]:
    return [each["field"] for each in errors]


LONGEST: dict[str, Any] = {**{name: name.ljust(128, "x") for name in TEXTS}, "traceparent": TRACE}
LONGEST["sourceIds"] = [f"{number}".ljust(128, "x") for number in range(32)]
BEYOND: dict[str, Any] = {
    **{name: f"{value}x" for name, value in LONGEST.items() if name != "sourceIds"},
    "sourceIds": [*LONGEST["sourceIds"], "x"],
    "surprise": "x",
}


@pytest.mark.engines
def test_an_origin_of_the_greatest_lengths_is_taken_by_every_door_and_shown_as_it_was_given(
    callers: dict[str, Caller], monkeypatch: pytest.MonkeyPatch
) -> None:
    acme = callers["acme"]
    monkeypatch.setattr("tests.faces.test_write_doors.ORIGIN", LONGEST)
    for write, stated in DOORS.items():
        if stated is EVERY_TEXT:
            before = written("acme")
            write(acme)
            [entry_id] = written("acme") - before
            shown = acme.http.get(f"{CONSOLE}/{ids.wire('mem', entry_id)}").json()
            assert shown["provenance"]["origin"] == LONGEST, write.__name__


def test_what_no_origin_has_is_refused_by_its_name_at_every_door(callers: dict[str, Caller]) -> None:
    acme = callers["acme"]
    refused, before = Refused(acme), written("acme")
    for member, beyond in BEYOND.items():
        origin = {"system": "x", member: beyond}
        expected = (400, [f"origin.{member}"])
        assert {door: said for door, said in refused.by_each(origin).items() if said != expected} == {}, member
        with pytest.raises(CommandError):
            acme.load({"memoryRef": "notes", "content": "x"} | {"origin": origin})
    assert written("acme") == before


def test_a_run_that_has_ended_takes_no_write_through_any_door(callers: dict[str, Caller]) -> None:
    acme = callers["acme"]
    told = {"system": "langgraph", "runId": "run-7"}
    refused = Refused(acme)
    opened = acme.send("POST", "/v1/host/console/external-runs", told)["id"]
    ended = acme.send("POST", f"/v1/host/console/external-runs/{opened}:end", {})
    assert ended == {"id": opened, "status": "completed"}
    executed = building.remember("acme", "by a node of this host").run
    before = written("acme")
    for run_id in (opened, ids.wire("run", executed.id)):
        answers = refused.by_each({"system": "langgraph", "runId": run_id})
        assert {door: said for door, said in answers.items() if said != (409, [])} == {}
    assert written("acme") == before
