"""How the database is opened: the options that were measured (performance.md, section 2)."""

from pathlib import Path
from typing import Any

from django.core.exceptions import ImproperlyConfigured

SQLITE = {
    "transaction_mode": "IMMEDIATE",
    "timeout": 20,
    "init_command": (
        "PRAGMA busy_timeout=20000;"
        "PRAGMA journal_mode=WAL;"
        "PRAGMA synchronous=NORMAL;"
        "PRAGMA secure_delete=ON;"
        "PRAGMA cache_size=-20000;"
    ),
}
POSTGRES = {"server_side_binding": True, "prepare_threshold": 3, "connect_timeout": 5}
# The web process alone: django-q2 forks, and its children would share the pool's sockets.
POOL = {"min_size": 1, "max_size": 8, "timeout": 10}


def sqlite_file(folder: Path) -> dict[str, Any]:
    """The database of a host that was given none."""
    return {"ENGINE": "django.db.backends.sqlite3", "NAME": str(folder / "console.sqlite3")}


def with_options(given: dict[str, Any], *, base: Path, folder: Path, is_web: bool) -> dict[str, Any]:
    """The settings of the database ``given``. In the web process its many threads share a few connections."""
    if given["NAME"] == ":memory:":
        raise ImproperlyConfigured("DATABASE_URL: web and worker share the database, so SQLite must be a file")
    if given["ENGINE"] == "django.db.backends.sqlite3":
        return given | {
            "NAME": str(base / given["NAME"]),  # the same file whatever folder a process is started in
            "CONN_MAX_AGE": None,
            "OPTIONS": SQLITE | given.get("OPTIONS", {}),
            # A file for tests too: the in-memory default shares its cache, and threads get "table is locked" at once.
            "TEST": {"NAME": str(folder / "test.sqlite3")},
        }
    if given["ENGINE"] == "django.db.backends.postgresql":
        options = POSTGRES | ({"pool": POOL} if is_web else {}) | given.get("OPTIONS", {})
        return given | {"CONN_MAX_AGE": 0 if is_web else 60, "CONN_HEALTH_CHECKS": True, "OPTIONS": options}
    raise ImproperlyConfigured("DATABASE_URL must begin with sqlite:// or postgresql://")
