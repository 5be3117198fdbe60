"""The programs of ``examples/``, run as a reader of them would: against a console, with an address and a key."""

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import httpx
import pytest
from django.conf import settings

from tests.fixtures_console import ConsoleProcess
from tools import screenshots

FOLDER = Path(settings.BASE_DIR) / "examples"
MOST = 40
# What each states of its writes, and what it prints of what it found again.
STATED: dict[str, tuple[str, list[Any], str]] = {
    "plain.py": ("plain-python", ["read", "check", "decide"], "decide Kestrel gets a second reminder"),
    "langgraph_store.py": ("langgraph", ["plan", "research", "answer"] * 2, "('desk', 'vouchers') answer"),
    "agents_session.py": (
        "openai-agents",
        ["user", "assistant"] * 2,
        "I know 3 messages; the first was: My voucher has expired",
    ),
    "mcp_client.py": ("mcp-client", ["note"], "Marlow prefers letters"),
    "curl.sh": ("shell", ["verify"], "The backup of Tuesday is complete"),
}


def test_each_program_is_short_and_is_run_here() -> None:
    programs = {path.name: path.read_text() for path in FOLDER.iterdir() if path.is_file()}
    guide = programs.pop("README.md")
    assert programs.keys() == STATED.keys()
    systems = {name: system for name, (system, *_) in STATED.items()}
    assert [name for name in systems if f"{name}` | `/memory?system={systems[name]}` | [picture]" not in guide] == []
    pictures = re.findall(r"\]\((\S+\.png)\)", guide)
    assert pictures == [f"../docs/example-{system}.png" for system in systems.values()]
    assert all((FOLDER / each).is_file() for each in pictures)
    assert systems == screenshots.EXAMPLES
    lengths = {name: sum(1 for line in text.splitlines() if line.strip()) for name, text in programs.items()}
    assert {name: length for name, length in lengths.items() if length > MOST} == {}


@pytest.mark.console
def test_each_program_writes_with_its_origin_and_finds_it_again(shared_console: ConsoleProcess) -> None:
    key = shared_console.key("acme-examples", "owner")
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("OPENWOP_")}
    environment = inherited | {
        "OPENWOP_URL": shared_console.url,
        "OPENWOP_API_KEY": key,
        "PYTHONPATH": str(FOLDER.parent / "client"),
    }
    with httpx.Client(base_url=shared_console.url, headers={"X-API-Key": key}, timeout=60) as http:
        for name, (system, nodes, found) in STATED.items():
            command = ["sh" if name.endswith(".sh") else sys.executable, str(FOLDER / name)]
            done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=120)
            assert done.returncode == 0, f"{name}: {done.stderr}"
            assert found in done.stdout, name
            entries = http.get("/v1/host/console/memory", params={"system": system}).json()["entries"]
            shown = [http.get(f"/v1/host/console/memory/{each['id']}").json()["provenance"] for each in entries]
            assert {each["verdict"] for each in shown} == {"stated"}
            assert sorted(map(str, nodes)) == sorted(str(each["origin"].get("node")) for each in shown)
            assert all(each["origin"]["threadId"] for each in shown)
