"""kill -9 of a console while commitments are inferred and fired: each is armed once, fires once, and starts one run."""

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests import building
from tests.fixtures_console import ConsoleProcess

URL = "/v1/host/console/commitments"
PARTS, IN_ONE = 4, 20
ALL = PARTS * IN_ONE
POLICY = """
from django.utils import timezone
from memory import policies
from memory.host import access, tenancy
scope = tenancy.host_scope(access.tenant_by_slug("acme"), scopes=frozenset({"policies:manage"}))
policies.change(scope, {"commitment_workflow": "conformance-noop"}, now=timezone.now())
"""


@pytest.fixture
def client(console_process: ConsoleProcess, tmp_path: Path) -> Iterator[httpx.Client]:
    console_process.start()
    console_process.manage("create_tenant", "acme")
    node = building.remember_node("{{content}}", node_id="say") | {"inputs": {"content": building.from_input("text")}}
    file = tmp_path / "say.json"
    file.write_text(json.dumps(building.definition("say", node)))
    assert console_process.manage("install_workflow", str(file), "--tenant", "acme").returncode == 0
    assert console_process.manage("shell", "--no-imports", "-c", POLICY).returncode == 0
    key = console_process.manage("create_api_key", "--tenant", "acme", "--role", "owner").stdout.strip()
    with httpx.Client(base_url=console_process.url, headers={"X-API-Key": key}, timeout=30) as client:
        yield client


def say(client: httpx.Client, sentence: str) -> None:
    """Entries with the sentence for each of so many invoices."""
    for part in range(PARTS):
        text = "\n".join(sentence.format(f"INV{part}X{number}") for number in range(IN_ONE))
        made = client.post("/v1/runs", json={"workflowId": "say", "inputs": {"text": text}})
        assert made.status_code == 201, made.text


def count(client: httpx.Client, **query: Any) -> int:
    found: int = client.get(URL, params={"limit": 1, **query}).json()["total"]
    return found


def until(client: httpx.Client, wanted: int, seconds: float = 60, **query: Any) -> None:
    deadline = time.monotonic() + seconds
    while (found := count(client, **query)) < wanted:
        assert time.monotonic() < deadline, found
        time.sleep(0.01)


def started(console_process: ConsoleProcess) -> int:
    question = "from memory.host.models import Run; print(Run.objects.filter(workflow_id='conformance-noop').count())"
    answer = console_process.manage("shell", "--no-imports", "-c", question)
    assert answer.returncode == 0, answer.stderr
    return int(answer.stdout.split()[-1])


def test_kills_in_the_middle_lose_no_commitment_and_no_firing_and_double_none(
    console_process: ConsoleProcess, client: httpx.Client
) -> None:
    say(client, "When invoice {} clears, tell finance.")
    until(client, 1)
    console_process.kill()
    console_process.start()
    until(client, ALL)

    say(client, "Invoice {} cleared.")
    until(client, 1, state="fired")
    console_process.kill()
    assert 0 < started(console_process) < ALL, "the kill came too late to prove anything"
    console_process.start()
    until(client, ALL, state="fired")

    assert count(client) == ALL
    known = client.get(URL, params={"limit": 1000}).json()["commitments"]
    assert {each["fireCount"] for each in known} == {1}
    assert len({each["lastRunId"] for each in known}) == started(console_process) == ALL


def test_an_intention_is_a_commitment_about_a_second_after_it_was_written(client: httpx.Client) -> None:
    begun = time.monotonic()
    say(client, "When invoice {} clears, tell finance.")
    until(client, ALL)
    assert time.monotonic() - begun < 10
