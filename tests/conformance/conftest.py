"""One real console for all scenarios, driven black-box over HTTP with one bearer key, as the public suite does."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.fixtures_console import ConsoleProcess, fresh_database


@dataclass
class Host:
    """A host as a client sees it."""

    url: str
    keys: dict[str, str]
    process: ConsoleProcess | None = None

    def client(self, name: str = "acme/owner") -> httpx.Client:
        return httpx.Client(base_url=self.url, headers={"Authorization": f"Bearer {self.keys[name]}"}, timeout=30)

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


@pytest.fixture(scope="session")
def host(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Host]:
    """A console with two tenants, and a key for each role that the scenarios need."""
    with a_console(tmp_path_factory.mktemp("conformance")) as found:
        yield found


@pytest.fixture(scope="session")
def seamed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Host]:
    """The same with its seams open."""
    with a_console(tmp_path_factory.mktemp("seamed"), OPENWOP_TEST_SEAM_ENABLED="true") as found:
        yield found


@contextmanager
def a_console(folder: Path, **environment: str) -> Iterator[Host]:
    with fresh_database() as database:
        process = ConsoleProcess(folder / "data", database)
        process.start(**environment)
        try:
            yield Host(process.url, {name: key_of(process, *name.split("/")) for name in KEYS}, process)
        finally:
            process.end()


KEYS = ("acme/owner", "acme/viewer", "acme/author", "acme/auditor", "globex/owner")


def key_of(process: ConsoleProcess, tenant: str, role: str) -> str:
    process.manage("create_tenant", tenant)
    made = process.manage("create_api_key", "--tenant", tenant, "--role", role)
    assert made.returncode == 0, made.stderr
    assert made.stdout.count("\n") == 1, "the key is the only line on standard output"
    return made.stdout.strip()
