"""Every door through which memory is written leads to the one ledger: what holds for one door holds for all of them."""

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypedDict
from uuid import UUID

import httpx
import pytest
from django.core.management import call_command
from django.utils import timezone
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.config import get_store
from langgraph.graph import START, StateGraph

from memory.host import event_log, ids, vault
from memory.models import ForgetState
from memory.models.entry import MemoryEntry
from memory.provenance import FACT
from openwop_console_client.agents import ConsoleSession
from openwop_console_client.langgraph import ConsoleStore
from openwop_console_client.memory import Memory
from tests import building, in_process
from tests.faces.test_origins import forget
from tests.memory.test_forgetting import everything_stored

pytestmark = [pytest.mark.django_db, pytest.mark.engines]
PERSON, SECRET = "marta.kowalska@example.com", "tok-123456789"
CONTENT, STORED = f"{SECRET} opens it", "[REDACTED:crm] opens it"
NAMED, SHOWN = f"{PERSON} has {SECRET}", f"{PERSON} has [REDACTED:crm]"
TEXTS = ("system", "runId", "threadId", "checkpointId", "node", "step")
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
        """A batch takes no origin, and says so."""
        given = addressed("batch", memory_type="working")
        refused = self.http.post(f"{OPENINTENT}/batch", json={"entries": [given]})
        assert (refused.status_code, refused.json()["errors"][0]["field"]) == (400, "entries.0.origin")
        del given["origin"]
        self.send("POST", f"{OPENINTENT}/batch", {"entries": [given]})

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
        file.write_text(json.dumps({**entry, **own, "createdAt": timezone.now().isoformat()}))
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
    Caller.agents_sdk: {"system": "openai-agents", "threadId": PERSON},
    Caller.openintent_batch: None,
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
        stated = {
            name: value for name, value in found.get("origin", {}).items() if name != "checkpointId" or value == SHOWN
        }
        assert (found["verdict"], stated) == (("stated", origin) if origin else ("node", {})), door
        assert acme.reads(wire)[CONSOLE], door
        assert not any(globex.reads(wire).values()), door
    assert written("globex") == set()
    for path in (CONSOLE, OPENINTENT):
        assert globex.http.get(path).json()["total"] == 0
        assert acme.http.get(path).json()["total"] > 0
    assert SECRET not in everything_stored()


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


def test_a_person_whom_every_origin_names_is_forgotten_but_for_a_ref_on_the_log(made: dict[str, UUID]) -> None:
    assert PERSON in everything_stored()
    done = forget("acme", PERSON)
    assert done.state == ForgetState.FORGOTTEN
    # A session's id is the name of its namespace: its entry goes whole, and the ref stays where RFC 0057 has it.
    left = [each for each in everything_stored().splitlines() if "kowalska" in each.lower()]
    assert [f'"openintent/semantic/sessions/{PERSON}/"' in each for each in left] == [True], left
    assert done.receipt["stores"]["names on the event log"]["stays"] == 1
    assert set(made.values()) - written("acme") == {made["agents_sdk"]}
