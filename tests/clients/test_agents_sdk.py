"""The session for the OpenAI Agents SDK, run by the real package with a model of this process."""

import asyncio
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Any

import httpx
import pytest

from openwop_console_client import MemoryInvalidError, agents
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


def session_of(transport: in_process.Crossing, session_id: str = "talk-7", slug: str = "acme") -> ConsoleSession:
    return ConsoleSession(session_id, in_process.URL, building.key(slug, "agent"), agent_id="desk", transport=transport)


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
