"""Backup and restore, as an administrator does them: a copy of a host, and a new host made from it. That a host is
copied while its console runs is in test_serving.py.
"""

import json
import sqlite3
import stat
import subprocess
import sys
import time
import zipfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any, LiteralString

import psycopg
import pytest
from django.conf import settings
from django.db import connection, connections, transaction
from django.db.migrations.loader import MigrationLoader
from django.utils import timezone

from memory.forget.journal import Mark
from memory.host import signing
from memory.host.models import RunEvent
from memory.models.entry import MemoryEntry
from openwop_console import backups
from tests import building, plugin, templates
from tests.fixtures_console import ConsoleProcess, fresh_database

pytestmark = pytest.mark.engines

MARTA = "marta.kowalska@example.com"
KEY = "a-key-that-both-hosts-have-and-that-is-long-enough"
LOOK = """
import json
from django.db import connection
from django.utils import timezone
from memory.forget import receipts
from memory.host import audit_chain
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
    "chain": all(audit_chain.verify(t.id, first=0, last=audit_chain.expected_end(t.id)).intact for t in tenants),
    "receipts": [receipts.is_genuine(row) for row in ForgetRequest.objects.filter(state="forgotten")],
    "counts": backups._counts(),
}))
"""


REMEMBER = f"""
from tests import building
building.remember("acme", "{MARTA} is on the Gold plan", "The Gold plan costs 40 euros", tags=["plans"])
"""
FORGET = f"""
from django.utils import timezone
from memory.forget import execution
from tests import building
acme, now = building.scope(), timezone.now()
request = execution.preview(acme, ["{MARTA}"], now=now).request
request = execution.confirm(acme, request.id, typed="{MARTA}", reason="ticket 17", now=now)
print(execution.execute(acme.tenant_id, request.id, holder="first/1", now=now, clock=timezone.now).state)
"""
# As an owner asks the restored host, with the key from before.
OPEN = """
import json
from django.test import Client
client = Client(SERVER_NAME="localhost", headers={{"X-API-Key": {key!r}, "X-Agent-ID": "billing-01"}})
listed = client.get("/v1/host/console/memory").json()
body = {{"namespace": "notes", "key": "n", "value": {{"text": "written on the restored host"}}, "tags": ["plans"]}}
print(json.dumps([listed, client.post("/api/v1/memory", body, content_type="application/json").status_code]))
"""


@dataclass(frozen=True)
class Kept:
    """A host, the backup made of it, and the key of its owner. What the backup has of Marta was forgotten since."""

    host: ConsoleProcess
    file: Path
    key: str


@dataclass(frozen=True)
class Hosts:
    """The host that was copied, and another one that is empty when a test begins; both on databases of their own."""

    first: ConsoleProcess
    second: ConsoleProcess
    file: Path
    key: str

    def restore(self, *words: str, file: Path | None = None, **environment: str) -> CompletedProcess[str]:
        """On the second host, with the journal of the first one."""
        return self.second.manage("restore", str(file or self.file), *words, **environment)

    def look(self, host: ConsoleProcess) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(host.shell(LOOK))
        return found


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kept]:
    """One for all tests of this file, which restore it to another host."""
    folder = tmp_path_factory.mktemp("kept")
    with fresh_database() as url:
        host, file = _host(folder, "one", url), folder / "copy.zip"
        try:
            host.make_tables()
            key = host.key("acme", "owner")
            host.shell(REMEMBER)
            made = host.manage("backup", str(file))
            assert made.returncode == 0, made.stderr
            assert host.shell(FORGET) == "forgotten"
            yield Kept(host, file, key)
        finally:
            host.end()


@pytest.fixture(scope="module")
def _both(kept: Kept, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hosts]:
    """PostgreSQL has the tables already, and no row in them: to make them takes longer than to restore."""
    with fresh_database() as url:
        second = _host(tmp_path_factory.mktemp("restored"), "two", url, empty=True)
        second.environment["OPENWOP_ERASURE_JOURNAL"] = kept.host.environment["OPENWOP_ERASURE_JOURNAL"]
        yield Hosts(kept.host, second, kept.file, kept.key)
        second.end()


@pytest.fixture
def hosts(_both: Hosts) -> Iterator[Hosts]:
    """The second one is empty again after each test; its commands go on in the same process."""
    yield _both
    _empty(_both.second)


def _empty(host: ConsoleProcess, *, tables: bool = True) -> None:
    if url := host.environment.get("DATABASE_URL"):
        templates.empty_database(url, tables=tables)
    for path in host.data_folder.glob("*"):
        path.unlink()


@pytest.fixture
def hosts_and_nothing(hosts: Hosts) -> Hosts:
    """The second host begins on a database without tables, as a new machine's; on SQLite it always does."""
    _empty(hosts.second, tables=False)
    return hosts


def _host(folder: Path, name: str, url: str | None, *, empty: bool = False) -> ConsoleProcess:
    host = ConsoleProcess(folder / name, url, empty=empty)
    host.environment |= {"OPENWOP_SECRET_KEY": KEY, "OPENWOP_ERASURE_JOURNAL": str(folder / f"{name}.erasures")}
    return host


def test_what_was_forgotten_after_a_backup_is_forgotten_again_before_the_restored_host_opens(
    hosts_and_nothing: Hosts,
) -> None:
    hosts = hosts_and_nothing
    copied = json.loads(zipfile.ZipFile(hosts.file).read("manifest.json"))["manifest"]["tables"]
    journal = Path(hosts.first.environment["OPENWOP_ERASURE_JOURNAL"])
    before = journal.read_bytes()

    restored = hosts.restore()
    again = hosts.restore()

    assert journal.read_bytes() == before, "what is repeated was not asked for again: later copies keep what came since"

    assert stat.S_IMODE(hosts.file.stat().st_mode) == 0o600
    assert restored.returncode == 0, restored.stderr
    assert "Forgotten again: 1." in restored.stdout
    assert (again.returncode, "not empty" in again.stderr) == (1, True)
    found = hosts.look(hosts.second)
    assert found["named"] == {}
    assert (found["chain"], found["receipts"]) == (True, [True])
    assert copied["memory_memoryentry"] == 2
    assert found["counts"]["memory_memoryentry"] == 1
    assert found["counts"]["host_apikey"] == copied["host_apikey"]
    assert (copied["memory_entrytag"], found["counts"]["memory_entrytag"]) == (2, 1)
    if (file := hosts.second.data_folder / "console.sqlite3").exists():
        assert b"kowalska" not in file.read_bytes()
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
    listed, written = json.loads(hosts.second.shell(OPEN.format(key=hosts.key)))
    assert written == 201
    assert ("Gold plan costs" in json.dumps(listed), MARTA in json.dumps(listed)) == (True, False)


# A worker has begun to carry out a forget, and holds it for the next minute.
BEGIN_TO_FORGET = f"""
from django.utils import timezone
from memory import passes
from memory.forget import execution
from tests import building
acme, now = building.scope(), timezone.now()
building.remember("acme", "{MARTA} is on the Gold plan")
request = execution.preview(acme, ["{MARTA}"], now=now).request
request = execution.confirm(acme, request.id, typed="{MARTA}", reason="ticket 18", now=now)
print(passes.claim(acme.tenant_id, request.pass_id, holder="first/1", now=now) is not None)
"""


def test_a_copy_from_the_middle_of_a_forget_is_restored_at_once_and_the_subject_is_forgotten(
    hosts: Hosts, tmp_path: Path
) -> None:
    file, host = tmp_path / "midway.zip", hosts.second
    if plugin.engine() == plugin.SQLITE:
        host.data_folder.mkdir(mode=0o700, exist_ok=True)
        templates.copy_file(host.data_folder / "console.sqlite3")
    assert host.shell(BEGIN_TO_FORGET) == "True"
    made = host.manage("backup", str(file))
    assert made.returncode == 0, made.stderr
    assert hosts.look(host)["named"]["memory_memoryentry"] == 1
    _empty(host)

    restored = hosts.restore(file=file)

    assert restored.returncode == 0, restored.stderr
    assert "Forgotten again: 1." in restored.stdout
    assert hosts.look(hosts.second)["named"] == {}


def test_a_restore_refuses_what_is_no_whole_backup_of_this_host_and_writes_nothing(
    hosts: Hosts, tmp_path: Path
) -> None:
    whole = hosts.file.read_bytes()
    (cut := tmp_path / "cut.zip").write_bytes(whole[: len(whole) // 2])
    (foreign := tmp_path / "foreign.zip").write_bytes(b"")
    with zipfile.ZipFile(foreign, "w") as archive:
        archive.writestr("notes.txt", "no backup")

    refusals = {
        "no such file": hosts.restore(file=tmp_path / "missing.zip"),
        "cut off": hosts.restore(file=cut),
        "not a backup of a console": hosts.restore(file=foreign),
        "tenant": hosts.restore(file=_rewritten(hosts.file, tmp_path / "row.zip", _change_a_row)),
        "does not carry its signature": hosts.restore(file=_rewritten(hosts.file, tmp_path / "m.zip", _change_a_count)),
        "another OPENWOP_SECRET_KEY": hosts.restore(OPENWOP_SECRET_KEY="another-key-that-is-also-long-enough-for-it"),
    }
    over = hosts.first.manage("backup", str(hosts.file))
    nowhere = hosts.first.manage("backup", str(tmp_path / "no" / "folder.zip"))
    with _without_journal(hosts) as journal:
        journal.mkdir()
        unkept = hosts.first.manage("backup", str(tmp_path / "other.zip"))
        journal.rmdir()

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


@pytest.mark.django_db(transaction=True)
def test_a_backup_holds_one_moment_although_others_write_meanwhile(tmp_path: Path) -> None:
    """Each write is an entry and an event; another connection writes before each statement of the backup."""
    acme, file = building.scope(), tmp_path / "busy.zip"
    run = building.open_run(acme)
    events = RunEvent.objects.count() - MemoryEntry.objects.count()

    def write_beside(execute: Any, *given: Any) -> Any:
        writer.submit(building.write, acme, run, "written meanwhile").result()
        return execute(*given)

    with ThreadPoolExecutor(1) as writer:
        writer.submit(building.write, acme, run, "written before").result()
        with connection.execute_wrapper(write_beside):
            tables = backups.make(file, now=timezone.now())["tables"]
        writer.submit(connections.close_all).result()
    assert 1 <= tables["memory_memoryentry"] < MemoryEntry.objects.count()
    assert tables["host_runevent"] - tables["memory_memoryentry"] == events
    for table in ("host_runevent", "memory_memoryentry"):
        assert _rows_in(file, table, tmp_path) == tables[table], table


def _rows_in(file: Path, table: str, folder: Path) -> int:
    with zipfile.ZipFile(file) as archive:
        if backups.SQLITE_MEMBER not in archive.namelist():
            return archive.read(f"tables/{table}").count(b"\n")
        with closing(sqlite3.connect(archive.extract(backups.SQLITE_MEMBER, folder))) as copy:
            return int(copy.execute(f"SELECT count(*) FROM {table}").fetchone()[0])


def test_a_file_whose_manifest_has_another_form_is_no_backup(tmp_path: Path) -> None:
    whole = {"manifest": {"format": backups.FORMAT}, "signature": "c2ln", "keyId": "k"}
    forms = [7, [], {}, *({**whole, name: 7} for name in ("manifest", "signature")), {**whole, "manifest": {}}]
    for form in (*map(json.dumps, forms), "{", "[" * 100_000):
        with zipfile.ZipFile(file := tmp_path / "other.zip", "w") as archive:
            archive.writestr(backups.MANIFEST, form)
        with pytest.raises(backups.BackupRefused, match="is not a backup of a console"):
            backups.restore(file, with_journal=False, clock=timezone.now)


@pytest.mark.django_db
def test_a_backup_of_another_migration_state_is_refused_by_the_side_that_is_behind(tmp_path: Path) -> None:
    described = backups._described(Mark(0, ""), timezone.now())

    def refusal(**changes: Any) -> str:
        manifest = {**described, "members": {}, "tables": {}, **changes}
        signature = signing.sign(signing.BACKUPS, manifest)
        file = tmp_path / "signed.zip"
        with zipfile.ZipFile(file, "w") as archive:
            signed = {"manifest": manifest, "signature": signature.text, "keyId": signature.key_id}
            archive.writestr(backups.MANIFEST, json.dumps(signed))
        with pytest.raises(backups.BackupRefused) as refused:
            backups.restore(file, with_journal=False, clock=timezone.now)
        return str(refused.value)

    building.tenant()  # so that a state that is accepted goes no further than this database
    loader = MigrationLoader(None)
    squashed = {f"{app}.{name}" for app, name in loader.replacements}
    ours = set(described["migrations"])
    assert "not empty" in refusal()
    assert "not empty" in refusal(migrations=sorted(ours - squashed)), "all that was squashed is the same state"
    older = sorted(ours - {".".join(node) for node in loader.graph.leaf_nodes("memory")})
    assert "made by an older release" in refusal(migrations=older)
    assert "made by a newer release" in refusal(migrations=[*described["migrations"], "memory.9999_later"])
    assert "memory.9999_later" in refusal(migrations=[*described["migrations"], "memory.9999_later"])
    other = "postgresql" if described["engine"] == "sqlite" else "sqlite"
    assert f"is of {other}" in refusal(engine=other)
    assert "a form that this release does not know" in refusal(formatVersion=99)


@pytest.mark.django_db
@pytest.mark.engines
@pytest.mark.skipif(plugin.engine() == plugin.SQLITE, reason="SQLite's backup is the file itself, not rows")
def test_rows_that_postgresql_does_not_take_are_refused_in_a_sentence(tmp_path: Path) -> None:
    file = tmp_path / "rows.zip"
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("tables/host_tenant", "no\trows\n")
    with zipfile.ZipFile(file) as archive, transaction.atomic(), connection.cursor() as cursor:
        with pytest.raises(backups.BackupRefused, match="The rows of host_tenant cannot be loaded") as refused:
            backups._load(cursor, archive, "host_tenant")
        transaction.set_rollback(True)
    assert "\n" not in str(refused.value)


def test_a_disk_that_is_full_leaves_no_half_backup_and_no_half_host(hosts: Hosts, tmp_path: Path) -> None:
    with _limited(hosts.first):
        full = hosts.first.manage("backup", str(tmp_path / "full.zip"))
    assert (full.returncode, len(full.stderr.splitlines())) == (1, 1), full.stderr
    assert [path.name for path in tmp_path.iterdir() if "full" in path.name] == []

    assert hosts.first.manage("backup", str(tmp_path / "full.zip")).returncode == 0
    if plugin.engine() == plugin.SQLITE:  # PostgreSQL writes on its own disk, not under this process's limit
        with _limited(hosts.second):
            unfit = hosts.restore()
        assert (unfit.returncode, len(unfit.stderr.splitlines())) == (1, 1), unfit.stderr
        assert [path.name for path in hosts.second.data_folder.iterdir() if "restoring" in path.name] == []
    assert hosts.restore().returncode == 0


@contextmanager
def _limited(host: ConsoleProcess) -> Iterator[None]:
    """Inside the block commands of the host may write no file of more than 8 KiB."""
    limit = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, ({}, resource.RLIM_INFINITY))"
    host.shell(limit.format(8192))
    try:
        yield
    finally:
        host.shell(limit.format("resource.RLIM_INFINITY"))


def test_without_the_journal_a_restore_says_what_it_leaves_out_and_what_was_forgotten_is_back(
    hosts: Hosts,
) -> None:
    with _without_journal(hosts):
        refused = hosts.restore()
        restored = hosts.restore("--without-journal")

    assert (refused.returncode, len(refused.stderr.splitlines())) == (1, 1), refused.stderr
    assert "cannot be read" in refused.stderr
    assert "--without-journal" in refused.stderr
    assert restored.returncode == 0, restored.stderr
    assert "without the erasure journal" in restored.stdout
    found = hosts.look(hosts.second)
    assert (found["chain"], found["named"]["memory_memoryentry"]) == (True, 1)


@contextmanager
def _without_journal(hosts: Hosts) -> Iterator[Path]:
    """Inside the block the journal of both hosts is moved away."""
    journal = Path(hosts.first.environment["OPENWOP_ERASURE_JOURNAL"])
    aside = journal.rename(journal.with_suffix(".aside"))
    try:
        yield journal
    finally:
        if journal.is_dir():
            journal.rmdir()
        journal.unlink(missing_ok=True)
        aside.rename(journal)


# Whether a restore is writing rows into PostgreSQL.
WRITES_ROWS = """
SELECT count(*) > 20 FROM pg_locks WHERE mode = 'AccessExclusiveLock' AND granted AND relation > 16384
"""


def test_a_kill_in_the_middle_leaves_what_the_next_try_puts_right(hosts: Hosts, tmp_path: Path) -> None:
    other = tmp_path / "other.zip"

    in_sqlite = plugin.engine() == plugin.SQLITE
    copy = other.with_name(".other.zip.copying.sqlite3")
    _kill_when(hosts.first, copy.exists if in_sqlite else other.exists, "backup", str(other))
    again = hosts.first.manage("backup", str(other))
    assert hosts.first.manage("backup", str(tmp_path / "next.zip")).returncode == 0
    cut = hosts.restore(file=other)
    aside = hosts.second.data_folder / "console.sqlite3.restoring"
    if in_sqlite:
        _kill_when(hosts.second, aside.exists, "restore", str(hosts.file))
    else:
        with _asking(hosts.second, WRITES_ROWS) as writes_rows:
            _kill_when(hosts.second, writes_rows, "restore", str(hosts.file))
    restored = hosts.restore()

    assert (again.returncode, "exists already" in again.stderr) == (1, True)
    assert (cut.returncode, "not a backup of a console, or is cut off" in cut.stderr) == (1, True), cut.stderr
    assert restored.returncode == 0, restored.stderr
    assert not aside.exists()
    left = [path.name for path in tmp_path.iterdir() if path.name.startswith(".")]
    assert left == [], "what a killed backup was copying to is removed by the next"


@pytest.mark.only_db("postgres")
def test_a_kill_while_the_tables_are_made_leaves_a_database_that_the_next_try_says_to_drop(
    hosts_and_nothing: Hosts,
) -> None:
    hosts = hosts_and_nothing
    with _asking(hosts.second, "SELECT to_regclass('host_tenant') IS NOT NULL") as is_there:
        _kill_when(hosts.second, is_there, "restore", str(hosts.file))

    restored = hosts.restore()

    assert (restored.returncode, len(restored.stderr.splitlines())) == (1, 1), restored.stderr
    assert "only some tables of this release" in restored.stderr


@contextmanager
def _asking(host: ConsoleProcess, question: LiteralString) -> Iterator[Callable[[], bool]]:
    """Asks the PostgreSQL of the host, over one connection: to make one takes longer than the question."""
    with psycopg.connect(host.environment["DATABASE_URL"], autocommit=True) as watching:
        yield lambda: watching.execute(question).fetchone() == (True,)


def _kill_when(host: ConsoleProcess, happened: Callable[[], bool], *words: str) -> None:
    running = subprocess.Popen(
        [sys.executable, "manage.py", *words], cwd=settings.BASE_DIR, env=host.environment, stderr=subprocess.DEVNULL
    )
    while not happened():
        assert running.poll() is None, "it was over before it could be killed"
        time.sleep(0.001)
    running.kill()
    running.wait()


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
