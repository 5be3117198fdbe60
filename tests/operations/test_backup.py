"""Backup and restore, as an administrator does them: a copy of a running console, and a new host made from it."""

import json
import stat
import time
import zipfile
from collections.abc import Iterator
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import httpx
import pytest

from tests.fixtures_console import ConsoleProcess, fresh_database

pytestmark = pytest.mark.engines

MARTA = "marta.kowalska@example.com"
KEY = "a-key-that-both-hosts-have-and-that-is-long-enough"
LOOK = """
import json
from django.db import connection
from django.utils import timezone
from memory import receipts
from memory.host import checkpoints
from memory.host.models import Tenant
from memory.models import ForgetRequest
from openwop_console import backups
named = {}
with connection.cursor() as cursor:
    for table in backups._tables():
        cursor.execute(f'SELECT * FROM "{table}"')
        for row in cursor.fetchall():
            held = [bytes(v).decode("latin-1") if isinstance(v, (bytes, memoryview)) else v for v in row]
            if "kowalska" in str(held):
                named[table] = named.get(table, 0) + 1
tenants = list(Tenant.objects.all())
print(json.dumps({
    "named": named,
    "chain": all(checkpoints.verify(t.id, first=0, last=checkpoints.end_of(t.id)).intact for t in tenants),
    "receipts": [receipts.is_genuine(row) for row in ForgetRequest.objects.filter(state="forgotten")],
    "counts": backups._counts(),
}))
"""


class Hosts:
    """A host that runs, and another one that nothing has begun on; both on databases of their own."""

    def __init__(self, first: ConsoleProcess, second: ConsoleProcess, folder: Path) -> None:
        self.first, self.second, self.file = first, second, folder / "copy.zip"

    def restore(self, *words: str, file: Path | None = None, **environment: str) -> CompletedProcess[str]:
        """On the second host, with the journal of the first one."""
        return self.second.manage("restore", str(file or self.file), *words, **environment)

    def look(self, host: ConsoleProcess) -> dict[str, Any]:
        done = host.manage("shell", "-c", LOOK)
        assert done.returncode == 0, done.stderr
        found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
        return found


@pytest.fixture
def hosts(tmp_path: Path) -> Iterator[Hosts]:
    with fresh_database() as one, fresh_database(empty=True) as other:
        pair = [ConsoleProcess(tmp_path / "one", one), ConsoleProcess(tmp_path / "two", other, empty=True)]
        for host in pair:
            host.environment["OPENWOP_SECRET_KEY"] = KEY
            host.environment["OPENWOP_ERASURE_JOURNAL"] = str(tmp_path / "one.erasures")
        yield Hosts(pair[0], pair[1], tmp_path)
        for host in pair:
            host.end()


def _remember(client: httpx.Client, key: str, text: str) -> None:
    body = {"namespace": "notes", "key": key, "value": {"text": text}}
    answer = client.post("/api/v1/memory", json=body, headers={"X-Agent-ID": "billing-01"})
    assert answer.status_code == 201, answer.text


def _forget(client: httpx.Client) -> None:
    preview = client.post("/v1/host/console/forget/previews", json={"subject": MARTA}).json()
    while preview.get("state") == "building":
        time.sleep(0.2)
        preview = client.get(f"/v1/host/console/forget/previews/{preview['previewId']}").json()
    body = {"previewId": preview["previewId"], "subject": MARTA, "reason": "ticket 17"}
    asked = client.post("/v1/host/console/forget", json=body)
    assert asked.status_code == 202, asked.text
    deadline = time.monotonic() + 60
    while (done := client.get(f"/v1/host/console/forget/{asked.json()['forgetId']}").json())["state"] != "forgotten":
        assert time.monotonic() < deadline, done
        time.sleep(0.2)


def test_what_was_forgotten_after_a_backup_is_forgotten_again_before_the_restored_host_opens(hosts: Hosts) -> None:
    hosts.first.start()
    hosts.first.manage("create_tenant", "acme")
    key = hosts.first.manage("create_api_key", "--tenant", "acme", "--role", "owner").stdout.strip()
    with httpx.Client(base_url=hosts.first.url, headers={"X-API-Key": key}, timeout=20) as client:
        _remember(client, "m", f"{MARTA} is on the Gold plan")
        _remember(client, "g", "The Gold plan costs 40 euros")
        made = hosts.first.manage("backup", str(hosts.file))
        assert made.returncode == 0, made.stderr
        copied = json.loads(zipfile.ZipFile(hosts.file).read("manifest.json"))["manifest"]["tables"]
        _forget(client)
    hosts.first.terminate()

    without = hosts.restore(OPENWOP_ERASURE_JOURNAL=str(hosts.second.data_folder / "nowhere"))
    restored = hosts.restore()
    again = hosts.restore()

    assert stat.S_IMODE(hosts.file.stat().st_mode) == 0o600
    assert (without.returncode, "cannot be read" in without.stderr, len(without.stderr.splitlines())) == (1, True, 1)
    assert restored.returncode == 0, restored.stderr
    assert "Forgotten again: 1." in restored.stdout
    assert (again.returncode, "not empty" in again.stderr) == (1, True)
    found = hosts.look(hosts.second)
    assert found["named"] == {}
    assert (found["chain"], found["receipts"]) == (True, [True])
    assert copied["memory_memoryentry"] == 2
    assert found["counts"]["memory_memoryentry"] == 1
    assert found["counts"]["host_apikey"] == copied["host_apikey"]
    if (file := hosts.second.data_folder / "console.sqlite3").exists():
        assert b"kowalska" not in file.read_bytes()
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
    hosts.second.start()
    with httpx.Client(base_url=hosts.second.url, headers={"X-API-Key": key}, timeout=20) as client:
        listed = client.get("/v1/host/console/memory").json()
        _remember(client, "n", "written on the restored host")
    assert ("Gold plan costs" in json.dumps(listed), MARTA in json.dumps(listed)) == (True, False)


def test_a_restore_refuses_what_is_no_whole_backup_of_this_host_and_writes_nothing(
    hosts: Hosts, tmp_path: Path
) -> None:
    migrated = hosts.first.manage("migrate")
    hosts.first.manage("create_tenant", "acme")
    made = hosts.first.manage("backup", str(hosts.file))
    assert (migrated.returncode, made.returncode) == (0, 0), made.stderr
    whole = hosts.file.read_bytes()
    (cut := tmp_path / "cut.zip").write_bytes(whole[: len(whole) // 2])
    (foreign := tmp_path / "foreign.zip").write_bytes(b"")
    with zipfile.ZipFile(foreign, "w") as archive:
        archive.writestr("notes.txt", "no backup")

    refusals = {
        "no such file": hosts.restore(file=tmp_path / "missing.zip"),
        "cut off": hosts.restore(file=cut),
        "no backup of a console": hosts.restore(file=foreign),
        "tenant": hosts.restore(file=_rewritten(hosts.file, tmp_path / "row.zip", _change_a_row)),
        "does not carry its signature": hosts.restore(file=_rewritten(hosts.file, tmp_path / "m.zip", _change_a_count)),
        "another OPENWOP_SECRET_KEY": hosts.restore(OPENWOP_SECRET_KEY="another-key-that-is-also-long-enough-for-it"),
    }
    over = hosts.first.manage("backup", str(hosts.file))
    nowhere = hosts.first.manage("backup", str(tmp_path / "no" / "folder.zip"))
    unkept = hosts.first.manage("backup", str(tmp_path / "other.zip"), OPENWOP_ERASURE_JOURNAL="/dev/null/journal")

    for says, refused in refusals.items():
        assert refused.returncode == 1, says
        assert len(refused.stderr.splitlines()) == 1, refused.stderr
        assert says in refused.stderr or says == "tenant", refused.stderr
    assert "changed or damaged" in refusals["tenant"].stderr
    assert (over.returncode, "never overwritten" in over.stderr) == (1, True)
    assert (nowhere.returncode, "no such file" in nowhere.stderr) == (1, True)
    assert (unkept.returncode, "cannot be written" in unkept.stderr) == (1, True)
    assert not (tmp_path / "other.zip").exists()
    assert hosts.file.read_bytes() == whole
    assert hosts.restore().returncode == 0  # the database stayed empty through all of that


def _rewritten(file: Path, other: Path, change: Any) -> Path:
    """The backup with one member changed, as a whole zip."""
    with zipfile.ZipFile(file) as source, zipfile.ZipFile(other, "w") as target:
        for name in source.namelist():
            target.writestr(name, change(name, source.read(name)))
    return other


def _change_a_row(name: str, content: bytes) -> bytes:
    return content.replace(b"acme", b"evil")


def _change_a_count(name: str, content: bytes) -> bytes:
    return content.replace(b'"host_tenant": 1', b'"host_tenant": 2')
