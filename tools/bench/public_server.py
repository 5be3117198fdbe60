"""The public OpenIntent server, on a database beside ours on the same engine; its packages are in
requirements-bench.lock.

It checks no access, keeps one version of a key or several, writes no event, and passes over tags.
"""

import http.client
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec
from time import monotonic, sleep
from uuid import uuid4

from django.conf import settings
from django.db import connection

from memory.host import sql
from openwop_console.process.bind_address import Address
from tools.bench.peers import NotInstalled

KEY = "bench-key"
SECONDS_TO_START = 60


@contextmanager
def running(entries: list[dict[str, object]]) -> Iterator[tuple[Address, str]]:
    """The server with these entries, and the id of one of them; gone afterwards."""
    if find_spec("sqlalchemy") is None:
        raise NotInstalled(
            "The public server is not installed: pip install --require-hashes -r requirements-bench.lock"
        )
    place = _place()
    wanted = _fill(place, entries)
    with socket.create_server(("127.0.0.1", 0)) as free:
        address = Address("127.0.0.1", free.getsockname()[1])
    options = ["--host", address.host, "--port", str(address.port), "--database-url", place, "--api-keys", KEY]
    process = subprocess.Popen(  # noqa: S603  # our own interpreter, our own arguments
        [sys.executable, "-m", "openintent.server", *options, "--log-level", "error"],
        cwd=settings.OPENWOP_DATA_DIR,
        stdout=subprocess.DEVNULL,
    )
    try:
        _wait_for(address)
        yield address, wanted
    finally:
        process.terminate()
        process.wait()


def _place() -> str:
    given = connection.settings_dict
    if sql.is_postgres():
        return f"postgresql+psycopg://{given['USER']}@/{given['NAME']}?host={given['HOST']}"
    return f"sqlite:///{given['NAME']}.public"


def _fill(place: str, entries: list[dict[str, object]]) -> str:
    """The entries are in its database, put there in bulk by its own models; the id of the middle one."""
    database = import_module("openintent.server.database")
    store = database.Database(place)
    store.create_tables()
    rows = [{"id": str(uuid4()), "version": 1, "priority": "normal", "pinned": False, **entry} for entry in entries]
    with store.get_session() as session:
        session.bulk_insert_mappings(database.MemoryEntryModel, rows)
        session.commit()
    store.engine.dispose()
    return str(rows[len(rows) // 2]["id"])


def _wait_for(address: Address) -> None:
    until = monotonic() + SECONDS_TO_START
    while True:
        try:
            asked = http.client.HTTPConnection(address.host, address.port, timeout=5)
            asked.request("GET", "/.well-known/openintent.json")
            asked.getresponse().read()
            asked.close()
            return
        except OSError:
            if monotonic() > until:
                raise
            sleep(0.2)
