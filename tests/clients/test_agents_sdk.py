"""The session for the OpenAI Agents SDK, run by the real package with a model of this process."""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import httpx
import pytest

from openwop_console_client import MemoryAccessError, MemoryInvalidError, MemoryUnavailableError, agents, flows
from openwop_console_client.agents import ConsoleSession
from tests import building, in_process
from tests.awaiting import awaited

# Tests import the package: that takes 1.6 s of CPU, and each worker of pytest-xdist imports this module.
if TYPE_CHECKING:
    from agents import Model, ModelResponse

pytestmark = pytest.mark.django_db


def echo() -> "Model":
    """A model that says how many items it was given, and the last of them."""
    from agents import Model, ModelResponse, Usage
    from openai.types.responses import ResponseOutputMessage, ResponseOutputText

    class Echo(Model):
        async def get_response(self, system_instructions: Any, *given: Any, **named: Any) -> "ModelResponse":
            items = given[0] if given else named["input"]
            text = ResponseOutputText(text=f"{len(items)} {items[-1]['content']}", type="output_text", annotations=[])
            said = ResponseOutputMessage(id="m", content=[text], role="assistant", status="completed", type="message")
            return ModelResponse(output=[said], usage=Usage(), response_id=None)

        def stream_response(self, *_: Any, **__: Any) -> AsyncIterator[Any]:
            raise NotImplementedError

    return Echo()


@pytest.fixture
def transport(application: in_process.Application) -> in_process.Crossing:
    return in_process.Crossing(application)


def session_of(
    transport: in_process.Crossing, session_id: str = "talk-7", slug: str = "acme", agent_id: str = "desk"
) -> ConsoleSession:
    key = building.key(slug, "agent")
    return ConsoleSession(session_id, in_process.URL, key, agent_id=agent_id, transport=transport)


def test_a_conversation_goes_on_where_it_stopped_and_shows_its_thread(transport: in_process.Crossing) -> None:
    from agents import Agent, RunConfig, Runner
    from agents.memory import Session

    agent = Agent(name="desk", model=echo())
    first, second = session_of(transport), session_of(transport)

    def ask(text: str, session: ConsoleSession) -> str:
        done = asyncio.run(Runner.run(agent, text, session=session, run_config=RunConfig(tracing_disabled=True)))
        return str(done.final_output)

    assert isinstance(first, Session)
    told = transport.run(lambda: [ask("a refund", first), ask("a voucher", first), ask("and now?", second)])
    assert told == ["1 a refund", "3 a voucher", "5 and now?"]
    headers = {"X-API-Key": building.key(role="viewer")}
    with httpx.Client(base_url=in_process.URL, headers=headers, transport=transport) as operator:
        wanted = {"threadId": "talk-7", "system": "openai-agents"}
        entries = operator.get("/v1/host/console/memory", params=wanted).json()["entries"]
        assert len(entries) == 6
        found = operator.get(f"/v1/host/console/memory/{entries[0]['id']}").json()["provenance"]
        assert (found["verdict"], found["origin"]["threadId"]) == ("stated", "talk-7")


async def used(session: Any) -> list[Any]:
    """What a session says at each step."""
    from agents import SessionSettings

    said: list[Any] = [await session.get_items(), await session.pop_item()]
    await session.add_items([])
    await session.add_items([{"role": "user", "content": f"{number}"} for number in range(12)])
    said += [await session.get_items(), await session.pop_item()]
    said += [await session.get_items(limit) for limit in (3, 0, -1, 100)]
    session.session_settings = SessionSettings(limit=2)
    said += [await session.get_items(), await session.get_items(4)]
    session.session_settings = None
    await session.clear_session()
    await session.add_items([{"role": "user", "content": "again"}])
    said.append(await session.get_items())
    await session.clear_session()
    return said


def test_it_answers_as_the_session_of_the_package(transport: in_process.Crossing) -> None:
    from agents import SQLiteSession

    other = SQLiteSession("talk-7")
    session = session_of(transport)
    ours = transport.run(lambda: asyncio.run(used(session)))
    theirs = awaited(used(other))
    other.close()
    assert ours == theirs


def test_sessions_and_tenants_do_not_see_each_other(transport: in_process.Crossing) -> None:
    sessions = [session_of(transport), session_of(transport, "talk-70"), session_of(transport, slug="globex")]

    async def talk() -> list[Any]:
        await sessions[0].add_items([{"role": "user", "content": "mine"}])
        found = [await each.get_items() for each in sessions]
        for each in sessions:
            await each.close()
        return found

    assert [len(each) for each in transport.run(lambda: asyncio.run(talk()))] == [1, 0, 0]


def test_a_session_of_any_id_is_a_conversation_of_its_own(transport: in_process.Crossing) -> None:
    ids = ["Ünïcode / % ..", "x" * 300, "x" * 301, "two\nlines"]
    sessions = [session_of(transport, each) for each in ids]

    async def talk() -> list[Any]:
        for number, each in enumerate(sessions):
            await each.add_items([{"role": "user", "content": str(number)}])
        found = [await each.get_items() for each in sessions]
        for each in sessions:
            await each.close()
        return found

    found = transport.run(lambda: asyncio.run(talk()))
    assert [[item["content"] for item in items] for items in found] == [["0"], ["1"], ["2"], ["3"]]


def test_with_an_item_that_is_too_long_none_is_added(transport: in_process.Crossing) -> None:
    session = session_of(transport)

    async def talk() -> list[Any]:
        fits, too_long = ({"role": "tool", "content": "é" * size} for size in (32_750, 32_760))
        await session.add_items([fits])
        with pytest.raises(MemoryInvalidError, match="65536 bytes"):
            await session.add_items([{"role": "user", "content": "kept with it"}, too_long])
        found = await session.get_items()
        await session.close()
        return found

    assert [each["role"] for each in transport.run(lambda: asyncio.run(talk()))] == ["tool"]


def test_it_is_closed_behind_its_block_and_in_a_later_loop(transport: in_process.Crossing) -> None:
    async def read(session: ConsoleSession) -> list[Any]:
        async with session as opened:
            return await opened.get_items()

    first, second = session_of(transport), session_of(transport)
    assert transport.run(lambda: [asyncio.run(read(first)), asyncio.run(second.get_items())]) == [[], []]
    transport.run(lambda: asyncio.run(second.close()))  # its loop has ended with its connections
    assert first._http
    assert first._http[1].is_closed


def test_an_item_that_is_added_between_two_pages_makes_none_come_twice(
    transport: in_process.Crossing, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(agents, "PAGE", 2)
    session, other = session_of(transport), session_of(transport)

    async def talk() -> list[str]:
        await session.add_items([{"role": "user", "content": str(number)} for number in range(5)])
        flow = session._entries()  # the pages, one by one
        assert session._http is not None
        request, answers = next(flow), 0
        try:
            while True:
                answer = await session._http[1].request(request.method, request.path, params=request.params)
                answers += 1
                if answers == 1:
                    await other.add_items([{"role": "user", "content": "meanwhile"}])
                request = flow.send(answer)
        except StopIteration as end:
            found = [str(each["value"]["content"]) for each in end.value]
        for each in (session, other):
            await each.close()
        return found

    assert transport.run(lambda: asyncio.run(talk())) == ["0", "1", "2", "3", "4"]


# --- the order of the items, and what fails on its way ----------------------------------------------------------------


def said(text: str) -> dict[str, str]:
    return {"role": "user", "content": text}


def talked(transport: in_process.Crossing, work: Callable[[], Awaitable[Any]], *sessions: ConsoleSession) -> Any:
    """What ``work`` comes to in a loop of its own, which closes the sessions."""

    async def talk() -> Any:
        try:
            return await work()
        finally:
            for each in sessions:
                await each.close()

    return transport.run(lambda: asyncio.run(talk()))


@pytest.mark.parametrize("reads", [True, False], ids=["after a look", "blindly"])
def test_turns_from_hosts_whose_clocks_differ_stay_in_their_order(
    transport: in_process.Crossing, monkeypatch: pytest.MonkeyPatch, reads: bool
) -> None:
    hosts = [session_of(transport), session_of(transport)]
    behind, now = 3_000_000_000, time.time_ns()

    async def talk() -> Any:
        for turn in range(4):
            clock = now + turn - (turn % 2) * behind
            monkeypatch.setattr(agents, "time", SimpleNamespace(time_ns=lambda clock=clock: clock))
            if reads:
                await hosts[turn % 2].get_items()
            await hosts[turn % 2].add_items([said(f"question {turn}"), said(f"answer {turn}")])
        whole, latest = await hosts[0].get_items(), await hosts[1].get_items(2)
        return whole, latest, await hosts[0].pop_item()

    whole, latest, popped = talked(transport, talk, *hosts)
    turns = [said(f"{kind} {turn}") for turn in range(4) for kind in ("question", "answer")]
    assert (whole, latest, popped) == (turns, turns[-2:], turns[-1])


def test_the_items_of_an_earlier_client_come_first(transport: in_process.Crossing) -> None:
    session, ahead = session_of(transport), time.time_ns() + 60 * 1_000_000_000

    async def talk() -> Any:
        await session.get_items()
        assert session._http
        for place in range(2):
            body = {"memory_type": "semantic", "namespace": session._namespace, "value": said(f"earlier {place}")}
            key = f"{ahead + place:020d}-{place:06d}/talk-7"
            assert (await session._http[1].put("/api/v1/memory", json={**body, "key": key})).status_code == 201
        await session.add_items([said("new")])
        return await session.get_items()

    assert talked(transport, talk, session) == [said("earlier 0"), said("earlier 1"), said("new")]


def test_the_output_of_a_tool_may_be_no_text(transport: in_process.Crossing) -> None:
    session = session_of(transport)
    turn: list[dict[str, Any]] = [
        said("read it"),
        {"type": "function_call_output", "call_id": "c", "output": "bin\0ary \udcff", "more": [{"\0": "\ud83d\ude00"}]},
    ]

    async def talk() -> Any:
        await session.add_items(turn)
        return await session.get_items()

    clean = {"output": "bin\ufffdary \ufffd", "more": [{"\ufffd": "\U0001f600"}]}
    assert talked(transport, talk, session) == [turn[0], {**turn[1], **clean}]


class Faulty(in_process.Crossing):
    """The console behind a line that loses answers, after the requests were carried out, or that answers itself."""

    def __init__(self, application: in_process.Application) -> None:
        super().__init__(application)
        self.sent: list[str] = []
        self.faults: list[tuple[str, Exception | httpx.Response]] = []

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        self.sent.append(f"{request.method} {request.url.path}")
        is_due = bool(self.faults) and self.faults[0][0] == request.method
        fault = self.faults.pop(0)[1] if is_due else None
        if isinstance(fault, httpx.Response):
            return fault
        answer = await super().handle_async_request(request)
        if fault:
            raise fault
        return answer


@pytest.fixture
def line(application: in_process.Application, monkeypatch: pytest.MonkeyPatch) -> Faulty:
    monkeypatch.setattr(flows, "PAUSE", 0)
    return Faulty(application)


CUT = httpx.RemoteProtocolError("Server disconnected without sending a response.")
SILENT = httpx.ReadTimeout("No answer.")
TURN = [said("one"), said("two"), said("three")]


def busy() -> httpx.Response:
    return httpx.Response(503, headers={"Retry-After": "0"}, json={"error": "BUSY", "message": "Try again."})


def test_a_turn_whose_answer_was_lost_is_added_once(line: Faulty) -> None:
    session = session_of(line)
    line.faults = [("PUT", CUT), ("PUT", busy()), ("DELETE", CUT)]

    async def talk() -> Any:
        await session.add_items(TURN)
        return await session.get_items(), await session.pop_item(), await session.get_items()

    assert talked(line, talk, session) == (TURN, TURN[-1], TURN[:-1])
    assert line.faults == []


@pytest.mark.parametrize("is_away", [False, True], ids=["back soon", "away for a while"])
def test_a_turn_that_failed_leaves_nothing_behind_and_may_be_added_again(line: Faulty, is_away: bool) -> None:
    session = session_of(line)

    async def talk() -> Any:
        await session.add_items([said("before")])
        line.faults = [("PUT", SILENT)] + ([("DELETE", httpx.Response(502))] if is_away else [])
        with pytest.raises(httpx.ReadTimeout):
            await session.add_items(TURN)
        left = await session.get_items()
        await session.add_items(TURN)
        await session.add_items(TURN)  # said again, which is no repetition
        return left, await session.get_items()

    left, whole = talked(line, talk, session)
    assert left == [said("before"), *(TURN[:1] if is_away else [])]
    assert whole == [said("before"), *TURN, *TURN]


def test_with_an_item_that_the_server_refuses_none_is_added(line: Faulty) -> None:
    session = session_of(line)
    deep: Any = "x"
    for _ in range(70):
        deep = [deep]

    async def talk() -> Any:
        with pytest.raises(MemoryInvalidError, match="deeper"):
            await session.add_items([*TURN, {"role": "tool", "content": deep}])
        with pytest.raises(ValueError, match="JSON"):
            await session.add_items([*TURN, {"role": "tool", "content": float("nan")}])
        return await session.get_items()

    assert talked(line, talk, session) == []


def test_a_session_is_cleared_by_one_request_also_while_the_store_is_busy(line: Faulty) -> None:
    session, other = session_of(line), session_of(line, "talk-8")

    async def talk() -> Any:
        await other.add_items(TURN)
        await session.add_items([said(str(number)) for number in range(25)])
        line.sent.clear()
        line.faults = [("DELETE", busy()), ("DELETE", CUT)]
        await session.clear_session()
        return list(line.sent), await session.get_items(), await other.get_items()

    sent, left, of_other = talked(line, talk, session, other)
    assert sent == ["DELETE /api/v1/memory/batch"] * 3 + ["GET /api/v1/memory"]
    assert (left, of_other) == ([], TURN)


def test_a_session_that_stays_busy_or_is_another_agent_s_is_not_cleared(line: Faulty) -> None:
    session, reader = session_of(line), session_of(line, agent_id="reader")

    async def talk() -> Any:
        await session.add_items(TURN)
        with pytest.raises(MemoryAccessError):
            await reader.clear_session()
        line.faults = [("DELETE", busy()) for _ in range(3)]
        with pytest.raises(MemoryUnavailableError) as raised:
            await session.clear_session()
        return raised.value.retry_after, await reader.get_items()

    assert talked(line, talk, session, reader) == (0, TURN)
