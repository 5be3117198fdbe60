"""A host for all scenarios, driven black-box over HTTP with one bearer key, as the public suite does.

It is the application in the test's own process. Where a scenario is about processes (streams, races, a power cut) its
module or test is marked ``console``, and the same fixtures lead to a real console.
"""

import time
from dataclasses import dataclass, replace
from typing import Any

import httpx
import pytest

from tests import building, in_process
from tests.fixtures_console import ConsoleProcess


@dataclass
class Host:
    """A host as a client sees it."""

    url: str
    keys: dict[str, str]
    process: ConsoleProcess | None = None
    transport: httpx.BaseTransport | None = None

    @property
    def stranger(self) -> httpx.Client:
        """A client without a key."""
        return httpx.Client(base_url=self.url, timeout=30, transport=self.transport)

    def client(self, name: str = "acme/owner") -> httpx.Client:
        client = self.stranger
        client.headers["Authorization"] = f"Bearer {self.keys[name]}"
        return client

    def run(self, workflow_id: str, *, key: str = "acme/owner", **body: Any) -> dict[str, Any]:
        """The snapshot of a fresh run once it is over, polled as the suite polls."""
        with self.client(key) as client:
            created = client.post("/v1/runs", json={"workflowId": workflow_id, **body})
            assert created.status_code == 201, created.text
            return self.finished(client, created.json()["runId"])

    def finished(self, client: httpx.Client, run_id: str, seconds: float = 15) -> dict[str, Any]:
        deadline = time.monotonic() + seconds
        while True:
            snapshot: dict[str, Any] = client.get(f"/v1/runs/{run_id}").json()
            if snapshot["status"] in {"completed", "failed", "cancelled"}:
                return snapshot
            assert time.monotonic() < deadline, snapshot
            time.sleep(0.05)

    def events(self, run_id: str, key: str = "acme/owner") -> list[dict[str, Any]]:
        with self.client(key) as client:
            answer: list[dict[str, Any]] = client.get(f"/v1/runs/{run_id}/events").json()["events"]
            return answer


class MadeWhenUsed(dict[str, str]):
    """Keys in process: most scenarios use one of them, and each takes twenty statements."""

    def __missing__(self, name: str) -> str:
        self[name] = building.key(*name.split("/"))
        return self[name]


@pytest.fixture
def host(request: pytest.FixtureRequest) -> Host:
    """A console with two tenants, and a key for each role that the scenarios need."""
    if request.node.get_closest_marker("console"):
        found: Host = request.getfixturevalue("console_host")
        return found
    return Host(in_process.URL, MadeWhenUsed(), transport=request.getfixturevalue("application"))


@pytest.fixture
def seamed(host: Host, application: in_process.Application) -> Host:
    """The same, in process, with its seams open."""
    return replace(host, transport=application.with_settings(OPENWOP_TEST_SEAM_ENABLED=True))


@pytest.fixture(scope="session")
def console_host(shared_console: ConsoleProcess) -> Host:
    keys = {name: key_of(shared_console, *name.split("/")) for name in KEYS}
    return Host(shared_console.url, keys, shared_console)


# All that scenarios use; a console's own processes have them from the start.
KEYS = ("acme/owner", "acme/viewer", "acme/author", "acme/auditor", "globex/owner")


def key_of(process: ConsoleProcess, tenant: str, role: str) -> str:
    process.manage("create_tenant", tenant)
    made = process.manage("create_api_key", "--tenant", tenant, "--role", role)
    assert made.returncode == 0, made.stderr
    assert made.stdout.count("\n") == 1, "the key is the only line on standard output"
    return made.stdout.strip()
