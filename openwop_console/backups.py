"""Back up the database as a snapshot in one signed file, and restore such a file into an empty database.

The file is a zip. Its manifest lists the database's migrations and the row count of each table, holds the SHA-256 of
each member, and is signed under ``OPENWOP_SECRET_KEY``. SQLite is one member, the file itself; PostgreSQL is one member
per table, in the text form of COPY. Sessions and the cache are left out: after a restore everyone signs in again.
"""

import contextlib
import errno
import fcntl
import hashlib
import json
import os
import shutil
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import IO, Any

import psycopg
from django.core.management import call_command
from django.db import connection, transaction
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder
from psycopg import sql

from memory.forget import consequences, execution, holds, receipts
from memory.forget import journal as erasure_journal
from memory.forget.journal import Erasure, JournalBroken, JournalCut, Mark
from memory.host import audit, audit_chain, signing, tenancy, vault
from memory.host.clock import Clock
from memory.host.json_types import JSONObject
from memory.host.models import Operator, Tenant, VaultKey
from memory.host.vault import VaultLocked
from memory.models import ForgetRequest, ForgetState
from memory.text.matching import is_mentioned, search_form
from memory.wire import instant
from openwop_console import VERSION, health
from openwop_console.databases import SQLITE_SUFFIXES
from openwop_console.process.recovery import recover

FORMAT = "openwop-console backup"
FORMAT_VERSION = 1
MANIFEST = "manifest.json"
COPY = ".copying.sqlite3"  # suffix of SQLite's temporary copy, in the backup's folder
SQLITE_MEMBER = "database.sqlite3"
PART = 1024 * 1024
LARGEST_MANIFEST = 16 * PART
# Tables that a restored console recreates; sessions of the time of the copy do not survive.
LEFT_OUT = ("host_operatorsession", "console_cache")
# Left out on PostgreSQL only, and recreated: with pgvector they have another form than without it.
VECTORS = ("memory_vectorspace", "memory_vectorsign", "memory_vector")
REASON = "Forgotten again after a restore"
FORGET = frozenset({"memory:forget"})
Manifest = JSONObject


class BackupRefused(Exception):
    """A backup cannot be made or restored; the message says why in one sentence, and nothing was changed."""


# --- backup ---------------------------------------------------------------------------------------------------------


def make(file: Path, *, now: datetime) -> Manifest:
    """Write a snapshot of the database to ``file``, which must not exist yet; the console may run meanwhile.

    Raises ``BackupRefused``, and leaves no partial file.
    """
    _require_own_key()
    try:
        with _private(file) as target:
            try:
                return _write(target, file, now)
            except BaseException:
                file.unlink()
                raise
    except FileExistsError:
        raise BackupRefused(f"{file} exists already; a backup is never overwritten.") from None
    except OSError as problem:
        raise BackupRefused(f"{file} cannot be written ({_reason(problem)}).") from problem


@transaction.atomic
def put_on_record(*, expires_at: datetime | None, now: datetime) -> None:
    """Each tenant's audit log records that a backup was made, and when it is to be deleted; None when that is not
    known. The backup itself does not have the record."""
    consequences.record_backup(
        Tenant.objects.order_by("id").values_list("id", flat=True), expires_at=expires_at, now=now
    )


def _require_own_key() -> None:
    """Refuse a file that the host's own key would not restore."""
    foreign = audit_chain.signed_elsewhere()
    if not foreign and not vault.is_locked():
        return
    about = f"the audit chain of {Tenant.objects.get(id=foreign).slug}" if foreign else "the vault"
    raise BackupRefused(
        f"No configured key has signed or sealed {about} last. Put the key that did into OPENWOP_SECRET_KEY_FALLBACKS."
    )


def _reason(problem: OSError) -> str:
    return "no space is left" if problem.errno == errno.ENOSPC else str(problem.strerror).lower()


def _write(target: IO[bytes], file: Path, now: datetime) -> Manifest:
    manifest = _described(erasure_journal.mark(), now)
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        write = _write_sqlite if connection.vendor == "sqlite" else _write_postgres
        manifest["tables"], manifest["members"] = write(archive, file)
        signature = signing.sign(signing.BACKUPS, manifest)
        signed = {"manifest": manifest, "signature": signature.text, "keyId": signature.key_id}
        archive.writestr(MANIFEST, json.dumps(signed, indent=1))
    return manifest


@contextlib.contextmanager
def _private(file: Path) -> Iterator[IO[bytes]]:
    """Create a file with mode 0600, hold an exclusive lock on it, and sync it to disk at the end."""
    descriptor = os.open(file, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w+b") as opened:
        fcntl.flock(opened, fcntl.LOCK_EX)
        yield opened
        opened.flush()
        os.fsync(opened.fileno())


def _described(journal: Mark, now: datetime) -> Manifest:
    applied = sorted(f"{app}.{name}" for app, name in MigrationRecorder(connection).applied_migrations())
    return {
        "format": FORMAT,
        "formatVersion": FORMAT_VERSION,
        "release": VERSION,
        "engine": connection.vendor,
        "createdAt": instant(now),
        "migrations": applied,
        "journal": {"lines": journal.lines, "head": journal.head},
    }


def _write_sqlite(archive: zipfile.ZipFile, file: Path) -> tuple[dict[str, int], JSONObject]:
    """Add a copy made by ``VACUUM INTO``, which reads one snapshot and copies nothing of deleted rows."""
    _remove_left_behind(file.parent)
    copy = file.with_name(f".{file.name}{COPY}")
    try:
        copy.touch(0o600)
        with connection.cursor() as cursor:
            cursor.execute("VACUUM INTO %s", [str(copy)])
        with _other_file(copy):
            with connection.cursor() as cursor:
                for table in set(LEFT_OUT) & set(_tables()):
                    cursor.execute(f'DELETE FROM "{table}"')  # noqa: S608  # names of our own
            counts = _counts()
        with copy.open("rb") as source:
            return counts, {SQLITE_MEMBER: _write_member(archive, SQLITE_MEMBER, iter(lambda: source.read(PART), b""))}
    finally:
        _remove(copy)


def _remove_left_behind(folder: Path) -> None:
    """Remove the copies of backups that were killed: those whose backup file no process has locked."""
    for copy in folder.glob(f".*{COPY}"):
        with contextlib.suppress(BlockingIOError):
            with contextlib.suppress(FileNotFoundError), copy.with_name(copy.name[1 : -len(COPY)]).open("rb") as owner:
                fcntl.flock(owner, fcntl.LOCK_SH | fcntl.LOCK_NB)
            _remove(copy)


def _write_postgres(archive: zipfile.ZipFile, file: Path) -> tuple[dict[str, int], JSONObject]:
    """Add every table, read in one REPEATABLE READ snapshot."""
    counts, members = {}, {}
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
        for table in _tables():
            columns = sql.SQL(", ").join(map(sql.Identifier, _columns(table)))
            statement = sql.SQL("COPY {} ({}) TO STDOUT").format(sql.Identifier(table), columns)
            with cursor.copy(statement) as rows:
                member = f"tables/{table}"
                members[member] = _write_member(archive, member, (bytes(part) for part in rows))
        counts = _counts()
    return counts, members


def _write_member(archive: zipfile.ZipFile, name: str, parts: Iterator[bytes]) -> JSONObject:
    """Write the parts as a member of the archive; return its size and SHA-256."""
    size, digest = 0, hashlib.sha256()
    with archive.open(name, "w", force_zip64=True) as member:
        for part in parts:
            member.write(part)
            digest.update(part)
            size += len(part)
    return {"bytes": size, "sha256": digest.hexdigest()}


# --- tables ---------------------------------------------------------------------------------------------------------


def _tables() -> list[str]:
    """Return the names of the tables that are copied, sorted."""
    with connection.cursor() as cursor:
        if connection.vendor == "sqlite":
            cursor.execute(
                "SELECT name FROM pragma_table_list"
                " WHERE schema = 'main' AND type = 'table' AND name NOT LIKE 'sqlite_%'"
            )
            return sorted(name for (name,) in cursor.fetchall())
        cursor.execute(
            "SELECT relname FROM pg_class WHERE relnamespace = current_schema()::regnamespace"
            " AND relkind IN ('r', 'p') AND NOT relispartition"
        )
        return sorted(name for (name,) in cursor.fetchall() if name not in {*LEFT_OUT, *VECTORS, "django_migrations"})


def _columns(table: str) -> list[str]:
    """Return the columns of a PostgreSQL table, without generated ones."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT attname FROM pg_attribute WHERE attrelid = %s::regclass AND attnum > 0 AND NOT attisdropped"
            " AND attgenerated = '' ORDER BY attnum",
            [f'"{table}"'],
        )
        return [name for (name,) in cursor.fetchall()]


def _counts() -> dict[str, int]:
    counts = {}
    with connection.cursor() as cursor:
        for table in _tables():
            cursor.execute(f'SELECT count(*) FROM "{table}"')  # noqa: S608  # names of the catalog
            counts[table] = cursor.fetchone()[0]
    return counts


@contextlib.contextmanager
def _other_file(file: Path) -> Iterator[None]:
    """Connect to another SQLite file inside the block."""
    before = connection.settings_dict["NAME"]
    connection.close()
    connection.settings_dict["NAME"] = str(file)
    try:
        yield
    finally:
        connection.close()
        connection.settings_dict["NAME"] = before


# --- restore --------------------------------------------------------------------------------------------------------


def restore(file: Path, *, with_journal: bool, accept_cut_journal: bool = False, clock: Clock) -> tuple[Manifest, int]:
    """Verify ``file``, restore it, and repeat the forgets made since the copy; return the manifest and their number.

    Everything that can be checked is checked before anything is written, and the database stays empty when a later
    check fails.
    """
    with _opened(file) as archive:
        manifest = _verified(archive, file)
        erasures = _erasures(manifest, accept_cut=accept_cut_journal) if with_journal else []
        _require_empty()
        if connection.vendor == "sqlite":
            return manifest, _restore_sqlite(archive, manifest, erasures, clock)
        return manifest, _restore_postgres(archive, manifest, erasures, clock)


@contextlib.contextmanager
def _opened(file: Path) -> Iterator[zipfile.ZipFile]:
    try:
        with zipfile.ZipFile(file) as archive:
            yield archive
    except zipfile.BadZipFile:
        raise BackupRefused(f"{file} is not a backup of a console, or is cut off.") from None
    except OSError as problem:
        raise BackupRefused(f"{problem.filename or file} cannot be used ({_reason(problem)}).") from problem


def _verified(archive: zipfile.ZipFile, file: Path) -> Manifest:
    """Return the manifest of a complete backup that this host, with its keys, may restore into this engine."""
    signed = _manifest_of(archive, file)
    manifest: Manifest = signed["manifest"]
    if signed["keyId"] not in {key.key_id for key in signing.public_keys(signing.BACKUPS)}:
        raise BackupRefused(
            f"{file} was made under another OPENWOP_SECRET_KEY; set the key of that host, or name it in"
            " OPENWOP_SECRET_KEY_FALLBACKS."
        )
    if not signing.verifies(signing.BACKUPS, manifest, signed["signature"], signed["keyId"]):
        raise BackupRefused(f"{file} was changed after it was made: its manifest does not carry its signature.")
    if manifest["formatVersion"] != FORMAT_VERSION:
        raise BackupRefused(f"{file} has a form that this release does not know; restore it with a newer one.")
    _require_same_state(manifest, file)
    for name, expected in manifest["members"].items():
        if _digest_of(archive, name, file) != expected["sha256"]:
            raise BackupRefused(f"{file} was changed or damaged after it was made: {name} is not what was copied.")
    return manifest


def _manifest_of(archive: zipfile.ZipFile, file: Path) -> JSONObject:
    try:
        with archive.open(MANIFEST) as member:
            signed = json.loads(member.read(LARGEST_MANIFEST))
        if signed["manifest"]["format"] == FORMAT and isinstance(signed["signature"], str):
            return {**signed, "keyId": str(signed["keyId"])}
    except (KeyError, TypeError, ValueError, RecursionError, zipfile.BadZipFile):
        pass
    raise BackupRefused(f"{file} is not a backup of a console.")


def _require_same_state(manifest: Manifest, file: Path) -> None:
    if manifest["engine"] != connection.vendor:
        raise BackupRefused(f"{file} is of {manifest['engine']}, and this host's database is {connection.vendor}.")
    loader, theirs = MigrationLoader(None), set(manifest["migrations"])
    graph = loader.graph
    ours = {f"{app}.{name}" for app, name in graph.nodes}
    for (app, name), squashed in loader.replacements.items():
        replaced = {f"{app}.{name}" for app, name in squashed.replaces}
        ours |= replaced
        theirs |= {f"{app}.{name}"} if replaced <= theirs else set()
    if theirs - ours:
        raise BackupRefused(
            f"{file} was made by a newer release ({manifest['release']}, with {min(theirs - ours)});"
            " restore it with that one."
        )
    if {f"{app}.{name}" for app, name in graph.leaf_nodes()} - theirs:
        raise BackupRefused(
            f"{file} was made by an older release ({manifest['release']}); restore it with that, and then migrate."
        )


def _digest_of(archive: zipfile.ZipFile, name: str, file: Path) -> str:
    digest = hashlib.sha256()
    try:
        with archive.open(name) as member:
            while part := member.read(PART):
                digest.update(part)
    except (KeyError, EOFError, ValueError, zipfile.BadZipFile, zlib.error):
        raise BackupRefused(f"{file} was changed or damaged after it was made: {name} cannot be read.") from None
    return digest.hexdigest()


def _erasures(manifest: Manifest, *, accept_cut: bool) -> list[Erasure]:
    try:
        found = erasure_journal.read(Mark(**manifest["journal"]), accept_cut=accept_cut)
    except JournalCut as problem:
        raise BackupRefused(
            f"{problem} Its forget would come back; give the restore a whole copy of the journal, or leave that line"
            " out with --accept-cut-journal."
        ) from None
    except JournalBroken as problem:
        raise BackupRefused(
            f"{problem} What was forgotten after the copy would come back; set OPENWOP_ERASURE_JOURNAL, or accept that"
            " with --without-journal."
        ) from None
    return list({(each.tenant_id, each.terms, each.chosen): each for each in found}.values()) if found else []


def _require_empty() -> None:
    """Refuse a database that holds other tables, tenants or operators, or the remains of a killed restore."""
    if "host_tenant" in _tables() and (Tenant.objects.exists() or Operator.objects.exists()):
        raise BackupRefused("The database is not empty; a backup is restored into an empty data folder or database.")
    if "host_tenant" not in _tables() and set(_tables()) - {"django_migrations"}:
        raise BackupRefused("The database holds tables of something else; give the restore an empty one.")
    if "host_tenant" in _tables() and health.unapplied_migrations():
        raise BackupRefused(
            "The database has only some tables of this release, as a restore that was killed leaves it; drop it and"
            " give the restore an empty one."
        )


def _restore_sqlite(archive: zipfile.ZipFile, manifest: Manifest, erasures: list[Erasure], clock: Clock) -> int:
    """Restore into a temporary file in the database's folder, verify and complete it there, then rename it into
    place."""
    target = Path(str(connection.settings_dict["NAME"]))
    aside = target.with_name(f"{target.name}.restoring")
    try:
        _remove(aside)
        with archive.open(SQLITE_MEMBER) as source, _private(aside) as copy:
            shutil.copyfileobj(source, copy, PART)
        with _other_file(aside):
            with connection.cursor() as cursor:
                # quick_check of SQLite 3.40 reports NULL in every row of a table without rowids whose key has its
                # columns in another order, as that of tags has.
                cursor.execute("PRAGMA integrity_check(1)")
                if cursor.fetchone()[0] != "ok":
                    raise BackupRefused("The database in the backup is damaged.")
            applied = _checked_and_forgotten(manifest, erasures, clock)
            with connection.cursor() as cursor:
                cursor.execute("VACUUM")
                cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        connection.close()
        _remove(target, SQLITE_SUFFIXES[1:])
        aside.replace(target)
        return applied
    finally:
        _remove(aside)


def _remove(file: Path, suffixes: tuple[str, ...] = SQLITE_SUFFIXES) -> None:
    for suffix in suffixes:
        file.with_name(file.name + suffix).unlink(missing_ok=True)


def _restore_postgres(archive: zipfile.ZipFile, manifest: Manifest, erasures: list[Erasure], clock: Clock) -> int:
    """Load every table in one transaction: on any failure the tables stay empty."""
    if "host_tenant" not in _tables():
        call_command("migrate", interactive=False, verbosity=0)
    with transaction.atomic():
        with connection.cursor() as cursor:
            links = _drop_links(cursor)
            tables = [sql.Identifier(table) for table in _tables()]
            for table in tables:
                cursor.execute(sql.SQL("ALTER TABLE {} DISABLE TRIGGER USER").format(table))
            cursor.execute(sql.SQL("TRUNCATE {}").format(sql.SQL(", ").join(tables)))
            for name in _tables():
                _load(cursor, archive, name)
            for statement in links:
                cursor.execute(statement)
            for table in tables:
                cursor.execute(sql.SQL("ALTER TABLE {} ENABLE TRIGGER USER").format(table))
        applied = _checked_and_forgotten(manifest, erasures, clock)
    with connection.cursor() as cursor:
        cursor.execute("VACUUM ANALYZE")
    return applied


def _drop_links(cursor: Any) -> list[sql.Composed]:
    """Drop all foreign keys, and return the statements that add them again, which check every row."""
    cursor.execute(
        "SELECT relname, conname, pg_get_constraintdef(c.oid) FROM pg_constraint c JOIN pg_class t ON t.oid = conrelid"
        " WHERE contype = 'f' AND conparentid = 0 AND relnamespace = current_schema()::regnamespace"
    )
    found = cursor.fetchall()
    for table, name, _ in found:
        cursor.execute(sql.SQL("ALTER TABLE {} DROP CONSTRAINT {}").format(sql.Identifier(table), sql.Identifier(name)))
    return [
        sql.SQL("ALTER TABLE {} ADD CONSTRAINT {} {}").format(
            sql.Identifier(table), sql.Identifier(name), sql.SQL(definition)
        )
        for table, name, definition in found
    ]


def _load(cursor: Any, archive: zipfile.ZipFile, table: str) -> None:
    """Load the rows of a table, and set its sequences past the last of them."""
    columns = _columns(table)
    named = sql.SQL(", ").join(map(sql.Identifier, columns))
    statement = sql.SQL("COPY {} ({}) FROM STDIN").format(sql.Identifier(table), named)
    try:
        with archive.open(f"tables/{table}") as rows, cursor.copy(statement) as loading:
            while part := rows.read(PART):
                loading.write(part)
    except psycopg.Error as problem:
        raise BackupRefused(f"The rows of {table} cannot be loaded: {' '.join(str(problem).split())}.") from problem
    for column in columns:
        cursor.execute("SELECT pg_get_serial_sequence(%s, %s)", [f'"{table}"', column])
        [sequence] = cursor.fetchone()
        if sequence:
            last = sql.SQL("SELECT setval({}, coalesce(max({}), 0) + 1, false) FROM {}").format(
                sql.Literal(sequence), sql.Identifier(column), sql.Identifier(table)
            )
            cursor.execute(last)


# --- checks and repeated forgets ------------------------------------------------------------------------------------


def _checked_and_forgotten(manifest: Manifest, erasures: list[Erasure], clock: Clock) -> int:
    """Check the restored rows against the manifest, vault, audit chains and receipts, then repeat the forgets made
    since.

    Returns the number of forgets. Leases held at the time of the copy are released first, or a forget in progress would
    block its turn until its lease ends. Each tenant's audit log records the restore.
    """
    if _counts() != manifest["tables"]:
        raise BackupRefused("The restored tables do not have as many rows as were copied.")
    _require_vault_opens()
    for tenant in Tenant.objects.order_by("id"):
        if not audit_chain.verify(tenant.id, first=0, last=audit_chain.expected_end(tenant.id)).intact:
            raise BackupRefused(f"The audit chain of {tenant.slug} does not hold in the backup.")
    for request in ForgetRequest.objects.filter(state=ForgetState.FORGOTTEN).iterator(chunk_size=100):
        if not receipts.is_genuine(request):
            raise BackupRefused(
                f"No configured key signed the receipt of the forget of {instant(request.created_at)};"
                " name the key that did in OPENWOP_SECRET_KEY_FALLBACKS."
            )
    recover(None, clock())  # or a forget in progress at the time of the copy would keep its turn until its lease ends
    applied = sum(_forget_again(each, clock) for each in _to_repeat(erasures))
    for tenant in Tenant.objects.order_by("id"):
        details = {"copiedAt": manifest["createdAt"], "forgottenAgain": applied}
        audit.append(tenant.id, actor="host", action="host.restored", details=details, now=clock())
    return applied


def _require_vault_opens() -> None:
    for key in VaultKey.objects.all():
        try:
            vault.unwrap(key)
        except VaultLocked as problem:
            raise BackupRefused(
                f"The secrets in the backup do not open: {problem}; name that key in OPENWOP_SECRET_KEY_FALLBACKS."
            ) from None


def _to_repeat(erasures: list[Erasure]) -> list[Erasure]:
    """The forgets that the copy does not have, those of the same names as one, with all rows that were chosen.

    Earlier releases put a repeated forget into the journal too.
    """
    found: dict[tuple[str, tuple[str, ...]], Erasure] = {}
    for each in erasures:
        if not _is_done(each):
            before = found.get((each.tenant_id, each.terms), each)
            found[each.tenant_id, each.terms] = replace(each, chosen=tuple(sorted({*before.chosen, *each.chosen})))
    return list(found.values())


def _is_done(erasure: Erasure) -> bool:
    asked = ForgetRequest.objects.filter(tenant_id=erasure.tenant_id, id=erasure.request_id)
    return bool(asked.filter(state=ForgetState.FORGOTTEN).exists())


def _forget_again(erasure: Erasure, clock: Clock) -> bool:
    """Repeat a forget with its own request and receipt; False when it is of another database."""
    tenant = Tenant.objects.filter(id=erasure.tenant_id).first()
    if tenant is None:
        return False
    scope = tenancy.host_scope(tenant, scopes=FORGET)
    # The reason stays on record, so it must not name the subject.
    reason = "—" if is_mentioned(erasure.terms, search_form(REASON)) else REASON
    holds.end_for_restore(tenant.id, erasure.terms, now=clock())
    found = execution.preview(scope, list(erasure.terms), now=clock())
    suspected = {row.hex for holding in found.holdings for row in holding.suspected}
    asked = execution.confirm(
        scope,
        found.request.id,
        typed=erasure.terms[0],
        reason=reason,
        ticked=suspected.intersection(erasure.chosen),
        now=clock(),
    )
    ended = execution.execute(tenant.id, asked.id, holder="restore", now=clock(), clock=clock)
    if ended is None or ended.state != ForgetState.FORGOTTEN:
        raise BackupRefused("What was forgotten after the copy could not be forgotten again completely.")
    return True
