"""A session for the OpenAI Agents SDK whose items are entries of the console.

    session = ConsoleSession("conversation-7", "http://localhost:8000", KEY)
    await Runner.run(agent, "Hello", session=session)

Each item is an entry of a shared namespace of the session's own, with the session as the thread of its origin, and who
speaks in it, or else what it is, as the node: the SDK does not tell a session which agent it is that adds. The
namespace is on the event log, which is never erased, so it has a digest of the id; the id stands in the keys.
"""

import asyncio
import hashlib
import json
import time
from itertools import count
from typing import Any, TypeVar

import httpx

from openwop_console_client.errors import MemoryInvalidError, body_of, raise_for
from openwop_console_client.flows import ENTRIES, SEMANTIC, Flow, Json, Request, as_stated, carry_out_async, headers_of

SYSTEM = "openai-agents"
PAGE = 1000
MAX_BYTES = 65_536  # of an item, as the server counts it
DIGITS = 32  # of the digest: 128 bits, so that no two sessions share a namespace
T = TypeVar("T")


class ConsoleSession:
    """The history of one conversation, by the SDK's ``Session`` protocol.

    ``agent_id`` is needed for a key that may act as several agents. Two that add to one session at once are both kept,
    in the order of their clocks.
    """

    session_settings: Any = None

    def __init__(
        self,
        session_id: str,
        base_url: str,
        api_key: str,
        *,
        agent_id: str | None = None,
        timeout: float = 30.0,
        **options: Any,
    ) -> None:
        self.session_id = session_id
        digest = hashlib.sha256(session_id.encode()).hexdigest()[:DIGITS]
        self._namespace = f"sessions/{digest}/"
        self._options = {
            "base_url": base_url,
            "headers": headers_of(api_key, agent_id),
            "timeout": timeout,
            **options,
        }
        self._http: tuple[asyncio.AbstractEventLoop, httpx.AsyncClient] | None = None
        self._added = count()

    async def get_items(self, limit: int | None = None) -> list[Any]:
        """The items in the order they were added; the latest ``limit`` of them where one is given here or set."""
        found = await self._run(self._entries())
        most = getattr(self.session_settings, "limit", None) if limit is None else limit
        if most is not None and most >= 0:
            found = found[len(found) - min(most, len(found)) :]
        return [each["value"] for each in found]

    async def add_items(self, items: list[Any]) -> None:
        """Add the items behind those that are there; none of them when one is too long."""
        added = [dict(item) for item in items]
        for item in added:
            if len(json.dumps(item, ensure_ascii=False, separators=(",", ":")).encode()) > MAX_BYTES:
                raise MemoryInvalidError(f"An item has at most {MAX_BYTES} bytes. None of them is added.")
        for item in added:
            await self._run(self._add(item))

    async def pop_item(self) -> Any:
        """Remove the latest item and return it; None when there is none."""
        found = await self._run(self._entries())
        if not found:
            return None
        await self._run(_delete(found[-1]))
        return found[-1]["value"]

    async def clear_session(self) -> None:
        """Remove all items."""
        for each in await self._run(self._entries()):
            await self._run(_delete(each))

    async def close(self) -> None:
        if self._http is not None and self._http[0] is asyncio.get_running_loop():
            await self._http[1].aclose()

    async def __aenter__(self) -> "ConsoleSession":
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def _run(self, flow: Flow[T]) -> T:
        loop = asyncio.get_running_loop()
        if self._http is None or self._http[0] is not loop:  # ``Runner.run_sync`` may have another loop each time
            self._http = (loop, httpx.AsyncClient(**self._options))
        return await carry_out_async(self._http[1], flow)

    def _entries(self) -> Flow[list[Json]]:
        """All entries of the session by their keys, which rise with the time they were added. One that is added
        meanwhile moves another to the next page, where it comes again."""
        found: dict[str, Json] = {}
        for offset in count(0, PAGE):
            params = {"memory_type": SEMANTIC, "namespace": self._namespace, "limit": PAGE, "offset": offset}
            answer = yield Request("GET", ENTRIES, params=params)
            raise_for(answer)
            page: list[Json] = body_of(answer).get("entries", [])
            found |= {str(each["key"]): each for each in page}
            if len(page) < PAGE:
                break
        return [found[key] for key in sorted(found)]

    def _add(self, item: Json) -> Flow[None]:
        thread = as_stated(self.session_id)
        body = {
            "memory_type": SEMANTIC,
            "namespace": self._namespace,
            "key": f"{time.time_ns():020d}-{next(self._added):06d}/{thread}",
            "value": item,
            "origin": {"system": SYSTEM, "threadId": thread, **_node_of(item)},
        }
        raise_for((yield Request("PUT", ENTRIES, json=body)))


def _node_of(item: Json) -> Json:
    """Who speaks in the item, or else what it is: ``user``, ``assistant``, ``function_call``."""
    node = as_stated(item.get("role") or item.get("type") or "")
    return {"node": node} if node else {}


def _delete(entry: Json) -> Flow[None]:
    answer = yield Request("DELETE", f"{ENTRIES}/{entry['id']}")
    if answer.status_code != httpx.codes.NOT_FOUND:  # another client was faster
        raise_for(answer)
