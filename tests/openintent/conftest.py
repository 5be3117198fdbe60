"""One real console with two workers for all requirements, driven over HTTP, by the published client where it can."""

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import httpx
import pytest
from openintent import AsyncOpenIntentClient, OpenIntentClient

from tests.fixtures_console import ConsoleProcess, fresh_database

NUMBERS = itertools.count(1)
OPENED: list[OpenIntentClient] = []


@dataclass
class Served:
    """A console as agents see it. Keys are kept; agents have fresh names, so that tests do not collide."""

    process: ConsoleProcess
    keys: dict[tuple[str, ...], str] = field(default_factory=dict)

    @property
    def url(self) -> str:
        return self.process.url

    def key(self, role: str = "agent", *agents: str, tenant: str = "acme") -> str:
        """A key of the role, bound to these agents when any are named."""
        wanted = (tenant, role, *agents)
        if wanted not in self.keys:
            self.process.manage("create_tenant", tenant)
            bound = [word for agent in agents for word in ("--agent", agent)]
            made = self.process.manage("create_api_key", "--tenant", tenant, "--role", role, *bound)
            assert made.returncode == 0, made.stderr
            self.keys[wanted] = made.stdout.strip()
        return self.keys[wanted]

    def agent(self, name: str = "agent") -> str:
        """The name of an agent that nobody has seen yet."""
        return f"{name}-{next(NUMBERS)}"

    def client(self, agent: str, *, role: str = "agent", tenant: str = "acme", timeout: float = 30) -> OpenIntentClient:
        """The published client, acting as ``agent`` by a key that may act as any."""
        return OpenIntentClient(self.url, self.key(role, tenant=tenant), agent, timeout=timeout)

    def acting(self, agent: str, **how: Any) -> OpenIntentClient:
        """The same, which nobody has to close: it is when the test is over."""
        OPENED.append(self.client(agent, **how))
        return OPENED[-1]

    def async_client(self, agent: str, *, role: str = "agent", tenant: str = "acme") -> AsyncOpenIntentClient:
        return AsyncOpenIntentClient(self.url, self.key(role, tenant=tenant), agent)

    def http(self, agent: str = "", *, role: str = "agent", tenant: str = "acme", bound: bool = False) -> httpx.Client:
        """What the published client has no method for: plain HTTP with its headers."""
        key = self.key(role, *([agent] if bound else []), tenant=tenant)
        named = {"X-Agent-ID": agent} if agent else {}
        return httpx.Client(base_url=self.url, headers={"X-API-Key": key, **named}, timeout=30)

    def remembers(self, agent: str, key: str = "k", value: dict[str, Any] | None = None, **more: Any) -> dict[str, Any]:
        """An entry of the agent's, as the wire gives it back."""
        given = {"namespace": "ns", "key": key, "value": {"n": 1} if value is None else value, **more}
        with self.http(agent) as client:
            answer = client.post("/api/v1/memory", json=given)
        assert answer.status_code == 201, answer.text
        entry: dict[str, Any] = answer.json()
        return entry


@pytest.fixture(autouse=True)
def clients_are_closed() -> Iterator[None]:
    yield
    while OPENED:
        OPENED.pop().close()


@pytest.fixture(scope="session")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with fresh_database() as database:
        process = ConsoleProcess(tmp_path_factory.mktemp("openintent") / "data", database)
        process.start("--workers", "2")
        try:
            yield Served(process)
        finally:
            process.end()
