"""How a client gets its memory: attached to one object, mixed into a class, or a client that has nothing else."""

from typing import Any, TypeVar

import httpx

from openwop_console_client.flows import headers_of
from openwop_console_client.memory import AsyncMemory, Memory, memory_of

C = TypeVar("C")


def install(client: C) -> C:
    """The same client, which has a ``memory`` from here on; no other client and no class is changed."""
    client.memory = memory_of(client)  # type: ignore[attr-defined]
    return client


class WithMemory:
    """To be mixed into the published synchronous client: ``class Client(WithMemory, OpenIntentClient): ...``."""

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        install(self)

    memory: Memory


class WithAsyncMemory:
    """To be mixed into the published asynchronous client."""

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        install(self)

    memory: AsyncMemory


class Client:
    """A client of a server's memory and of nothing else, over ``httpx`` alone; to be closed, or used with ``with``."""

    def __init__(self, server_url: str, api_key: str, agent_id: str = "", timeout: float = 30.0) -> None:
        self.agent_id = agent_id
        self._client = httpx.Client(base_url=server_url, headers=headers_of(api_key, agent_id), timeout=timeout)
        self.memory = Memory(self._client, agent_id)

    def close(self) -> None:
        self._client.close()

    def __enter__(self) -> "Client":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class AsyncClient:
    """The same for asynchronous code."""

    def __init__(self, server_url: str, api_key: str, agent_id: str = "", timeout: float = 30.0) -> None:
        self.agent_id = agent_id
        self._client = httpx.AsyncClient(base_url=server_url, headers=headers_of(api_key, agent_id), timeout=timeout)
        self.memory = AsyncMemory(self._client, agent_id)

    async def close(self) -> None:
        await self._client.aclose()

    async def __aenter__(self) -> "AsyncClient":
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()
