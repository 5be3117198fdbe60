"""Whether this host can serve: the database answers, its migrations are applied, and a worker is alive."""

import time
from functools import cache

from django.core.cache import caches
from django.core.cache.backends.dummy import DummyCache
from django.db import DatabaseError, connection
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.views.decorators.http import require_safe

HEARTBEAT = "worker-heartbeat"
HEARTBEAT_EVERY_S = 10
# A worker that was not heard of for so long is gone.
HEARTBEAT_LASTS_S = 45

NO_DATABASE = "The database does not answer."
NO_MIGRATIONS = "The database lacks migrations of this release; run: manage.py migrate"
NO_WORKER = f"No worker was heard of in the last {HEARTBEAT_LASTS_S} seconds; start one with: manage.py console"


class WorkerStatistics(DummyCache):
    """What django-q2 is given to keep its statistics in: twice a second from the process that guards the workers.

    Only that they come is kept, where every host can see it.
    """

    def __init__(self, host: str, *args: object, **options: object) -> None:
        super().__init__(host, *args, **options)
        self._next = 0.0

    def set(self, key: str, value: object, *args: object, **options: object) -> None:
        if time.monotonic() >= self._next:
            self._next = time.monotonic() + HEARTBEAT_EVERY_S
            caches["default"].set(HEARTBEAT, True, HEARTBEAT_LASTS_S)


def unapplied_migrations() -> list[str]:
    """The last migration of each app that the database does not have."""
    applied = MigrationRecorder(connection).applied_migrations()
    return [f"{app}.{name}" for app, name in _last_migrations() if (app, name) not in applied]


@cache
def _last_migrations() -> list[tuple[str, str]]:
    return sorted(MigrationLoader(None).graph.leaf_nodes())


def is_worker_alive() -> bool:
    """Whether any worker on this database was heard of lately. Without the cache's table none ever was."""
    from openwop_console import errors  # what it imports takes longer than most commands

    try:
        return caches["default"].get(HEARTBEAT) is not None
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
    """Why this host cannot serve; empty when it can. ``checks`` is filled as far as it was looked."""
    from openwop_console import errors

    try:
        checks["database"] = True
        checks["migrations"] = not unapplied_migrations()
        if not checks["migrations"]:
            return NO_MIGRATIONS
        checks["worker"] = is_worker_alive()
        return "" if checks["worker"] else NO_WORKER
    except errors.DATABASE_FAILURES:
        checks["database"] = False
        return NO_DATABASE
