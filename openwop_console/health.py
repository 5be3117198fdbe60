"""Whether this host can serve, and its state: database, migrations, workers, queue, disk, slow requests."""

import pkgutil
import shutil
import time
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cache
from pathlib import Path

from django.apps import apps
from django.conf import settings
from django.core.cache import caches
from django.core.cache.backends.dummy import DummyCache
from django.db import DatabaseError, connection
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder
from django.db.models import Count, Min, Q
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.utils import timezone
from django.views.decorators.http import require_safe

from memory.host import sql

HEARTBEAT = "worker-heartbeat"
HEARTBEAT_EVERY_S = 10
# Seconds without a heartbeat after which a worker counts as gone.
HEARTBEAT_LASTS_S = 45
FORGOTTEN_AFTER_S = 7 * 24 * 60 * 60

NO_DATABASE = "The database does not answer."
NO_MIGRATIONS = "The database lacks migrations of this release; run: manage.py migrate"
LOCKED = (
    "The vault was sealed with another OPENWOP_SECRET_KEY; start the console with that one, or name it in "
    "OPENWOP_SECRET_KEY_FALLBACKS."
)
NO_WORKER = f"No worker has reported in the last {HEARTBEAT_LASTS_S} seconds; start one with: manage.py console"


class WorkerStatistics(DummyCache):
    """The cache for django-q2's statistics, which its guard process writes twice a second.

    Only a heartbeat is kept of them, in the shared cache, where every host can see it.
    """

    def __init__(self, host: str, *args: object, **options: object) -> None:
        super().__init__(host, *args, **options)
        self._next = 0.0

    def set(self, key: str, value: object, *args: object, **options: object) -> None:
        if time.monotonic() >= self._next:
            self._next = time.monotonic() + HEARTBEAT_EVERY_S
            # The cache judges by the clock of each host, which may be wrong; the value is the database's time.
            caches["default"].set(HEARTBEAT, timezone.now(), FORGOTTEN_AFTER_S)


def unapplied_migrations() -> list[str]:
    """Return the last migration of each app that the database does not have."""
    applied = MigrationRecorder(connection).applied_migrations()
    if _named_migrations() <= applied.keys():
        return []
    return [f"{app}.{name}" for app, name in _last_migrations() if (app, name) not in applied]


@cache
def _named_migrations() -> set[tuple[str, str]]:
    """Return every migration by its file name alone, because importing them takes longer than most commands.

    A migration that replaces others is recorded with those that it replaces.
    """
    folders = {app.label: str(Path(app.path) / "migrations") for app in apps.get_app_configs()}
    return {(app, file.name) for app, folder in folders.items() for file in pkgutil.iter_modules([folder])}


@cache
def _last_migrations() -> list[tuple[str, str]]:
    """Return the last migration of each app."""
    return sorted(MigrationLoader(None).graph.leaf_nodes())


def is_worker_alive() -> bool:
    """Return whether any worker on this database sent a heartbeat recently; False when the cache's table is missing."""
    from openwop_console import errors  # its imports take longer than most commands

    try:
        heard = caches["default"].get(HEARTBEAT)
        return isinstance(heard, datetime) and timezone.now() - heard < timedelta(seconds=HEARTBEAT_LASTS_S)
    except DatabaseError as problem:
        if errors.is_unavailable(problem):
            raise
        return False


@require_safe
def ready(request: HttpRequest) -> HttpResponse:
    """``/readyz``: whether this host can serve, and why not."""
    checks: dict[str, bool] = {}
    reason = _first_reason(checks)
    document = {"ready": not reason, "reason": reason, "checks": checks}
    return JsonResponse(document, status=503 if reason else 200, headers={"Cache-Control": "no-store"})


def _first_reason(checks: dict[str, bool]) -> str:
    """Return why this host cannot serve, or ""; ``checks`` gets the result of each check that ran."""
    from memory.host import vault
    from openwop_console import errors

    try:
        checks["database"] = True
        checks["migrations"] = not unapplied_migrations()
        if not checks["migrations"]:
            return NO_MIGRATIONS
        checks["vault"] = not vault.is_locked()
        if not checks["vault"]:
            return LOCKED
        checks["worker"] = is_worker_alive()
        return "" if checks["worker"] else NO_WORKER
    except errors.DATABASE_FAILURES:
        checks["database"] = False
        return NO_DATABASE


# The state of this host, for people.

SLOW_S = 1.0
SLOW_KEPT, SLOW_KEPT_S = 20, 24 * 60 * 60
SLOW = "slow-requests"
LATE_S = 60


@dataclass(frozen=True, slots=True)
class Slow:
    """A request that took ``SLOW_S`` or longer: its route, never its content."""

    at: datetime
    method: str
    route: str
    status: int
    seconds: float


@dataclass(frozen=True, slots=True)
class HostState:
    """The state of the host at one moment. Sizes in bytes; ``oldest_waiting`` is when the longest waiting task was
    queued."""

    worker_alive: bool
    waiting: int
    running: int
    oldest_waiting: datetime | None
    engine: str
    database_version: str
    database_bytes: int
    disk_free: int
    disk_total: int
    unapplied: list[str]
    vault_locked: bool
    slow: list[Slow]
    now: datetime

    @property
    def is_late(self) -> bool:
        """Return whether tasks wait longer than a minute."""
        return self.oldest_waiting is not None and (self.now - self.oldest_waiting).total_seconds() > LATE_S

    @property
    def is_full(self) -> bool:
        """Return whether less than a tenth of the disk is free."""
        return _is_full(self.disk_free, self.disk_total)


def _is_full(free: int, total: int) -> bool:
    return free * 10 < total


def problems(*, now: datetime) -> list[str]:
    """Return in words what keeps this host from doing its work."""
    from django_q.models import OrmQ

    from memory.host import runs, vault

    disk, late = shutil.disk_usage(settings.OPENWOP_DATA_DIR), now - timedelta(seconds=LATE_S)
    found = {
        "No worker is running: runs and passes wait.": not is_worker_alive(),
        "The vault is locked: this is not the OPENWOP_SECRET_KEY that it was sealed with.": vault.is_locked(),
        "The workers do not keep up: tasks have waited for more than a minute.": bool(runs.due(now=late))
        or OrmQ.objects.filter(lock__lt=late).exists(),
        "Less than a tenth of the disk is free.": _is_full(disk.free, disk.total),
    }
    return [words for words, is_so in found.items() if is_so]


def host_state(*, now: datetime) -> HostState:
    """Read the state of the whole host, not of one tenant, without caching."""
    from django_q.models import OrmQ

    from memory.host import runs, vault

    tasks = OrmQ.objects.aggregate(
        waiting=Count("id", filter=Q(lock__lte=now)),
        running=Count("id", filter=Q(lock__gt=now)),
        oldest=Min("lock", filter=Q(lock__lte=now)),
    )
    of_runs = runs.backlog(now=now)
    disk = shutil.disk_usage(settings.OPENWOP_DATA_DIR)
    return HostState(
        worker_alive=is_worker_alive(),
        waiting=tasks["waiting"] + of_runs.waiting,
        running=tasks["running"] + of_runs.held,
        oldest_waiting=min(filter(None, (tasks["oldest"], of_runs.oldest)), default=None),
        engine="PostgreSQL" if sql.is_postgres() else "SQLite",
        database_version=sql.version(),
        database_bytes=sql.database_bytes(),
        disk_free=disk.free,
        disk_total=disk.total,
        unapplied=unapplied_migrations(),
        vault_locked=vault.is_locked(),
        slow=caches["default"].get(SLOW) or [],
        now=now,
    )


def note_slow(slow: Slow) -> None:
    """Add the request to the last slow ones; of two at the same moment one may be lost."""
    kept = [slow, *(caches["default"].get(SLOW) or [])][:SLOW_KEPT]
    caches["default"].set(SLOW, kept, SLOW_KEPT_S)
