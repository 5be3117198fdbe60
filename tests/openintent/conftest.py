"""The console as agents of OpenIntent see it, driven over HTTP, by the published client where it can.

It is the application in the test's own process. Where a test is about processes (streams, races, the asynchronous
client, what a socket alone can carry) its module or the test is marked ``console``, and the same fixture leads to a
real console with two workers, the one that tests share.
"""

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from types import SimpleNamespace
from typing import Any

import httpx
import openintent.client
import pytest
from openintent import AsyncOpenIntentClient, OpenIntentClient

from openwop_console_client import attaching
from tests import building, in_process
from tests.fixtures_console import ConsoleProcess

NUMBERS = itertools.count(1)
OPENED: list[OpenIntentClient] = []


@dataclass
class Served:
    """A console as agents see it. Keys are kept; agents have fresh names, so that tests do not collide."""

    url: str
    console: ConsoleProcess | None = None
    transport: httpx.BaseTransport | None = None
    keys: dict[tuple[str, ...], str] = field(default_factory=dict)

    @property
    def process(self) -> ConsoleProcess:
        """The processes of a real console."""
        assert self.console
        return self.console

    def key(self, role: str = "agent", *agents: str, tenant: str = "acme") -> str:
        """A key of the role, bound to these agents when any are named."""
        wanted = (tenant, role, *agents)
        if wanted not in self.keys:
            made = self._key_by_command if self.console else building.key
            self.keys[wanted] = made(tenant, role, agents=agents)
        return self.keys[wanted]

    def _key_by_command(self, tenant: str, role: str, *, agents: tuple[str, ...]) -> str:
        self.process.manage("create_tenant", tenant)
        bound = [word for agent in agents for word in ("--agent", agent)]
        made = self.process.manage("create_api_key", "--tenant", tenant, "--role", role, *bound)
        assert made.returncode == 0, made.stderr
        return made.stdout.strip()

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
        """The published asynchronous client, which needs a real console."""
        return AsyncOpenIntentClient(self.process.url, self.key(role, tenant=tenant), agent)

    def plain(self, **headers: str) -> httpx.Client:
        """Plain HTTP with these headers alone."""
        return httpx.Client(base_url=self.url, headers=headers, timeout=30, transport=self.transport)

    def http(self, agent: str = "", *, role: str = "agent", tenant: str = "acme", bound: bool = False) -> httpx.Client:
        """What the published client has no method for: plain HTTP with its headers."""
        key = self.key(role, *([agent] if bound else []), tenant=tenant)
        named = {"X-Agent-ID": agent} if agent else {}
        return self.plain(**{"X-API-Key": key, **named})

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


@pytest.fixture
def served(request: pytest.FixtureRequest) -> Served:
    name = "served_by_console" if request.node.get_closest_marker("console") else "served_in_process"
    found: Served = request.getfixturevalue(name)
    return found


@pytest.fixture
def served_in_process(application: in_process.Application, monkeypatch: pytest.MonkeyPatch) -> Served:
    """Clients make their HTTP client as they always do; it has our transport."""
    with_transport = SimpleNamespace(**vars(httpx) | {"Client": partial(httpx.Client, transport=application)})
    for module in (openintent.client, attaching):
        monkeypatch.setattr(module, "httpx", with_transport)
    return Served(in_process.URL, transport=application)


@pytest.fixture(scope="session")
def served_by_console(shared_console: ConsoleProcess) -> Served:
    return Served(shared_console.url, shared_console)
