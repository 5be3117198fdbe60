"""LangGraph's store, in a database beside ours on the same engine; its packages are in requirements-bench.lock."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec
from itertools import islice
from typing import Any
from uuid import uuid4

from django.db import connection
from psycopg.conninfo import make_conninfo

from memory.host import sql

CHUNK = 1000


class NotInstalled(Exception):
    """The peer is not there to be compared with."""


@contextmanager
def langgraph_store() -> Iterator[object]:
    """The peer's store on this engine, empty and set up by itself."""
    module = f"langgraph.store.{'postgres' if sql.is_postgres() else 'sqlite'}"
    if find_spec("langgraph") is None or find_spec(module) is None:
        raise NotInstalled(
            "LangGraph's store is not installed: pip install --require-hashes -r requirements-bench.lock"
        )
    given = connection.settings_dict
    if sql.is_postgres():
        place = make_conninfo(host=given["HOST"], user=given["USER"], dbname=given["NAME"])
        opened = import_module(module).PostgresStore.from_conn_string(place)
    else:
        opened = import_module(module).SqliteStore.from_conn_string(f"{given['NAME']}.langgraph")
    with opened as store:
        store.setup()
        yield store


def fill(store: Any, texts: Iterable[str]) -> tuple[str, ...]:
    """``texts`` are items of one namespace, put there by the peer itself."""
    put, namespace, waiting = import_module("langgraph.store.base").PutOp, ("bench", uuid4().hex), iter(texts)
    while chunk := list(islice(waiting, CHUNK)):
        store.batch([put(namespace, uuid4().hex, {"content": text, "tags": ["invoice"]}) for text in chunk])
    return namespace


def newest(store: Any, namespace: tuple[str, ...], limit: int) -> object:
    """The peer's page: its items newest first."""
    return store.search(namespace, limit=limit)
