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
import secrets
import time
from contextlib import suppress
from itertools import count
from typing import Any, TypeVar

import httpx

from openwop_console_client.errors import MemoryInvalidError, body_of, raise_for, raise_unless_gone
from openwop_console_client.flows import ENTRIES, SEMANTIC, Flow, Json, Request, as_stated, carry_out_async, headers_of

SYSTEM = "openai-agents"
BATCH = f"{ENTRIES}/batch"
PAGE = 1000
MAX_BYTES = 65_536  # of an item, as the server counts it
DIGITS = 32  # of the digest: 128 bits, so that no two sessions share a namespace
POSITION = 20  # digits that a key begins with: nanoseconds, or one more than those of the latest item
T = TypeVar("T")


class ConsoleSession:
    """The history of one conversation, by the SDK's ``Session`` protocol.

    ``agent_id`` is needed for a key that may act as several agents. What is added comes behind what the server has,
    whatever the clocks say; of two that add to one session at once both are kept, one behind the other.
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
        self._latest = 0  # the position of the latest item that this client knows of
        self._failed: tuple[list[Json], list[str]] | None = None  # what could not be added, and under which keys

    async def get_items(self, limit: int | None = None) -> list[Any]:
        """The items in the order they were added; the latest ``limit`` of them where one is given here or set."""
        found = await self._run(self._entries())
        most = getattr(self.session_settings, "limit", None) if limit is None else limit
        if most is not None and most >= 0:
            found = found[len(found) - min(most, len(found)) :]
        return [each["value"] for each in found]

    async def add_items(self, items: list[Any]) -> None:
        """Add the items behind those that are there; none of them when one is refused.

        An addition that failed may be repeated: the same items have the same keys again, so that none comes twice.
        """
        added = [_storable(dict(item)) for item in items]
        for item in added:
            if len(json.dumps(item, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()) > MAX_BYTES:
                raise MemoryInvalidError(f"An item has at most {MAX_BYTES} bytes. None of them is added.")
        if not added:
            return
        if self._failed is None or self._failed[0] != added:
            self._failed = None
            keys = await self._new_keys(len(added))
        else:
            keys = self._failed[1]
        sent: list[str] = []
        try:
            for key, item in zip(keys, added, strict=True):
                sent.append(key)
                await self._run(self._put(key, item))
        except BaseException as problem:
            self._failed = added, keys
            if isinstance(problem, Exception):
                with suppress(Exception):  # a server that is away keeps the items until the addition is repeated
                    for key in sent:
                        await self._run(self._take_back(key))
            raise
        self._failed = None

    async def pop_item(self) -> Any:
        """Remove the latest item and return it; None when there is none."""
        found = await self._run(self._entries())
        if not found:
            return None
        await self._run(_delete(found[-1]))
        return found[-1]["value"]

    async def clear_session(self) -> None:
        """Remove all items."""
        await self._run(self._clear())

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
        """All entries of the session by their keys, which rise in the order in which they were added. One that is added
        meanwhile moves another to the next page, where it comes again."""
        found: dict[str, Json] = {}
        for offset in count(0, PAGE):
            page = yield from self._page(PAGE, offset)
            found |= {str(each["key"]): each for each in page}
            if len(page) < PAGE:
                break
        return [found[key] for key in sorted(found)]

    def _page(self, limit: int, offset: int = 0) -> Flow[list[Json]]:
        """So many entries of the session, those first that were added last."""
        params = {"memory_type": SEMANTIC, "namespace": self._namespace, "limit": limit, "offset": offset}
        answer = yield Request("GET", ENTRIES, params=params)
        raise_for(answer)
        page: list[Json] = body_of(answer).get("entries", [])
        self._latest = max(self._latest, *(_position_of(each) for each in page), 0)
        return page

    async def _new_keys(self, number: int) -> list[str]:
        """Keys behind those of the session, which no other client chooses at the same time."""
        await self._run(self._page(1))
        self._latest = max(time.time_ns(), self._latest + 1)
        begin = f"{self._latest:0{POSITION}d}-{secrets.token_hex(4)}"
        return [f"{begin}-{place:06d}/{as_stated(self.session_id)}" for place in range(number)]

    def _put(self, key: str, item: Json) -> Flow[None]:
        body = {
            **self._address(key),
            "value": item,
            "origin": {"system": SYSTEM, "threadId": as_stated(self.session_id), **_node_of(item)},
        }
        raise_for((yield Request("PUT", ENTRIES, json=body, comes_to_the_same=True)))

    def _take_back(self, key: str) -> Flow[None]:
        raise_unless_gone((yield Request("DELETE", ENTRIES, params=self._address(key), comes_to_the_same=True)))

    def _clear(self) -> Flow[None]:
        """One request, which leaves out what this agent may not delete: the deletion of an entry that is left says so,
        or removes what was added meanwhile."""
        wanted = {"memory_type": SEMANTIC, "namespace": self._namespace}
        while True:
            raise_for((yield Request("DELETE", BATCH, json={"filter": wanted}, comes_to_the_same=True)))
            left = yield from self._page(1)
            if not left:
                break
            yield from _delete(left[0])

    def _address(self, key: str) -> Json:
        return {"memory_type": SEMANTIC, "namespace": self._namespace, "key": key}


def _position_of(entry: Json) -> int:
    digits = str(entry["key"])[:POSITION]
    return int(digits) if digits.isdecimal() else 0


def _storable(value: Any) -> Any:
    """The value with a replacement character for each NUL and each half of a surrogate pair, which no entry can hold:
    the output of a tool may be anything."""
    if isinstance(value, str):
        whole = value.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
        return whole.replace("\0", "\N{REPLACEMENT CHARACTER}")
    if isinstance(value, dict):
        return {_storable(name): _storable(each) for name, each in value.items()}
    return [_storable(each) for each in value] if isinstance(value, list | tuple) else value


def _node_of(item: Json) -> Json:
    """Who speaks in the item, or else what it is: ``user``, ``assistant``, ``function_call``."""
    node = as_stated(item.get("role") or item.get("type") or "")
    return {"node": node} if node else {}


def _delete(entry: Json) -> Flow[None]:
    raise_unless_gone((yield Request("DELETE", f"{ENTRIES}/{entry['id']}", comes_to_the_same=True)))
