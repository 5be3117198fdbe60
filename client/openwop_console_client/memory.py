"""``client.memory`` and ``ctx.memory``, synchronous and asynchronous (RFC-0015, "SDK Semantics").

``set`` and ``get`` track versions: an update names the version that this client last got or set, and raises
``MemoryConflictError`` when somebody else has changed the entry since.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, TypeVar

import httpx

from openwop_console_client.entries import Entries, Entry, Place, Versions
from openwop_console_client.flows import (
    DEFAULT_NAMESPACE,
    PARAMETERS,
    SEMANTIC,
    WORKING,
    Flow,
    Flows,
    Task,
    carry_out,
    carry_out_async,
)

T = TypeVar("T")
Json = dict[str, Any]
OF_THIS_RUN: ContextVar[Task | None] = ContextVar("openwop_console_client_task", default=None)


@contextmanager
def current_task(task_id: str, intent_id: str = "") -> Iterator[None]:
    """Inside the block every ``client.memory`` belongs to this task, in this thread and in what it awaits."""
    token = OF_THIS_RUN.set(Task(task_id, intent_id))
    try:
        yield
    finally:
        OF_THIS_RUN.reset(token)


class MemoryFlows:
    """What both kinds of memory do, as flows. Where no task is named, that of ``current_task`` counts, if any."""

    def __init__(self, http: object, agent_id: str = "", *, versions: Versions | None = None, task: Task | None = None):
        self.http, self._own_task = http, task
        self.versions = Versions() if versions is None else versions
        self._flows = Flows(agent_id, self.versions)

    @property
    def agent_id(self) -> str:
        """Who remembers; "" as long as only the server knows which agent the key stands for."""
        return self._flows.agent_id

    @property
    def task(self) -> Task | None:
        return self._own_task or OF_THIS_RUN.get()

    def _set(self, namespace: str, key: str, value: Json, options: Json) -> Flow[Entry]:
        memory_type, version = options.pop("memory_type"), options.pop("version")
        agent_id, tags = options.pop("agent_id") or "", options.pop("tags")
        given = {"value": value, **({} if tags is None else {"tags": list(tags)}), **options}
        place, task = Place(agent_id, namespace, key), self.task
        return (yield from self._flows.put(place, memory_type, given, version=version, task=task))

    def _put(self, namespace: str, key: str, value: Json, options: Json) -> Flow[Entry]:
        memory_type, version = options.pop("memory_type"), options.pop("version")
        place = Place(options.pop("agent_id") or "", namespace, key)
        given = {"value": value, **{name: each for name, each in options.items() if each is not None}}
        return (yield from self._flows.upsert(place, memory_type, given, version=version, task=self.task))

    def _find(self, namespace: str, key: str, memory_type: str | None, agent_id: str | None) -> Flow[Entry | None]:
        return (yield from self._flows.find(namespace, key, memory_type, agent_id or "", self.task))

    def _query(self, wanted: Json) -> Flow[Entries]:
        """Working memory is that of the task, whoever of its agents wrote it; else of the agent, or what is shared."""
        wanted = {name.replace("scope_", "scope."): value for name, value in wanted.items()}
        if unknown := sorted(wanted.keys() - PARAMETERS):
            raise TypeError(f"query() got an unexpected keyword argument {unknown[0]!r}")
        task, kind = self.task, wanted.get("memory_type")
        if task and kind is None and self._own_task:
            wanted["memory_type"] = kind = WORKING
        if task and kind == WORKING and not wanted.get("scope.task_id"):
            wanted["scope.task_id"] = task.task_id
        elif kind not in {None, SEMANTIC} and not wanted.get("scope.task_id"):
            wanted["agent_id"] = wanted.get("agent_id") or self.agent_id
        return (yield from self._flows.page(wanted))

    def _delete(self, namespace: str | None, key: str, agent_id: str | None, version: int | None) -> Flow[None]:
        entry = yield from self._flows.the_one(key, namespace, agent_id or "", self.task)
        yield from self._flows.remove(entry, version)

    def _store(self, key: str, value: object, options: Json) -> Flow[Entry]:
        memory_type, tags = options.pop("memory_type") or "episodic", options.pop("tags")
        place = Place(options.pop("agent_id") or "", options.pop("namespace") or DEFAULT_NAMESPACE, key)
        given = {"value": value if isinstance(value, dict) else {"text": value}, "tags": list(tags or []), **options}
        return (yield from self._flows.store(place, memory_type, given))

    def _pin(self, key: str, namespace: str | None, agent_id: str | None, pinned: bool) -> Flow[Entry]:
        entry = yield from self._flows.the_one(key, namespace, agent_id or "", self.task)
        return (yield from self._flows.pin(entry, pinned))


class Memory(MemoryFlows):
    """``client.memory`` of a synchronous client. One may be used by many threads."""

    def set(
        self,
        namespace: str,
        key: str,
        value: Json,
        *,
        memory_type: str | None = None,
        tags: list[str] | None = None,
        version: int | None = None,
        agent_id: str | None = None,
        **fields: Any,
    ) -> Entry:
        """The entry is as given, made or changed. ``fields`` are the wire's own: priority, ttl, sensitivity, ..."""
        given = {"memory_type": memory_type, "tags": tags, "version": version, "agent_id": agent_id, **fields}
        return self._run(self._set(namespace, key, value, given))

    def put(
        self,
        namespace: str,
        key: str,
        value: Json,
        *,
        memory_type: str | None = None,
        tags: list[str] | None = None,
        origin: Json | None = None,
        version: int | None = None,
        agent_id: str | None = None,
        **fields: Any,
    ) -> Entry:
        """The entry at this address is as given, made or changed in one request; the last write wins.

        ``origin`` says where the write comes from: ``system``, and ``threadId``, ``node``, ``step`` and the like. Only
        with a ``version`` it is refused when the entry has another one by now.
        """
        own = {"memory_type": memory_type, "tags": tags, "origin": origin, "version": version, "agent_id": agent_id}
        return self._run(self._put(namespace, key, value, {**own, **fields}))

    def get(self, namespace: str, key: str, *, memory_type: str | None = None, agent_id: str | None = None) -> Any:
        """The value, or None when there is no such entry that this agent may read."""
        found = self.entry(namespace, key, memory_type=memory_type, agent_id=agent_id)
        return None if found is None else found.value

    def entry(
        self, namespace: str, key: str, *, memory_type: str | None = None, agent_id: str | None = None
    ) -> Entry | None:
        """The whole entry, or None."""
        return self._run(self._find(namespace, key, memory_type, agent_id))

    def query(self, namespace: str | None = None, **wanted: Any) -> Entries:
        """The entries that match, the latest first; the parameters are those of RFC-0015 4.1, ``scope_task_id`` too.

        With ``q`` those that the words of ``q`` are about, the best first; with ``filter`` those whose values have
        these fields: ``{"kind": "note", "pages": {"$gt": 3}}``. Both are refused for a server that would ignore them.
        """
        return self._run(self._query({"namespace": namespace, **wanted}))

    def delete(
        self, namespace: str | None = None, key: str = "", *, agent_id: str | None = None, version: int | None = None
    ) -> None:
        """The entry is gone for good. Refused with ``MemoryNotFoundError`` when there is none."""
        self._run(self._delete(namespace, key, agent_id, version))

    def store(
        self,
        *,
        key: str,
        value: object,
        agent_id: str | None = None,
        memory_type: str | None = None,
        tags: list[str] | None = None,
        namespace: str | None = None,
        **fields: Any,
    ) -> Entry:
        """Like ``set`` without versions, for agents of the published package: the last one who writes wins."""
        own = {"agent_id": agent_id, "memory_type": memory_type, "tags": tags, "namespace": namespace}
        return self._run(self._store(key, value, {**own, **fields}))

    def pin(self, *, key: str, namespace: str | None = None, agent_id: str | None = None, pinned: bool = True) -> Entry:
        """The entry is never evicted from here on."""
        return self._run(self._pin(key, namespace, agent_id, pinned))

    def for_task(self, task_id: str, intent_id: str = "") -> "TaskMemory":
        """``ctx.memory`` of a worker on that task; versions are tracked together."""
        return TaskMemory(self, task_id, intent_id)

    def _run(self, flow: Flow[T]) -> T:
        return carry_out(self.http, flow)


class AsyncMemory(MemoryFlows):
    """The same of an asynchronous client."""

    async def set(
        self,
        namespace: str,
        key: str,
        value: Json,
        *,
        memory_type: str | None = None,
        tags: list[str] | None = None,
        version: int | None = None,
        agent_id: str | None = None,
        **fields: Any,
    ) -> Entry:
        """The entry is as given, made or changed. ``fields`` are the wire's own: priority, ttl, sensitivity, ..."""
        given = {"memory_type": memory_type, "tags": tags, "version": version, "agent_id": agent_id, **fields}
        return await self._run(self._set(namespace, key, value, given))

    async def put(
        self,
        namespace: str,
        key: str,
        value: Json,
        *,
        memory_type: str | None = None,
        tags: list[str] | None = None,
        origin: Json | None = None,
        version: int | None = None,
        agent_id: str | None = None,
        **fields: Any,
    ) -> Entry:
        """The entry at this address is as given, made or changed in one request; the last write wins.

        ``origin`` says where the write comes from: ``system``, and ``threadId``, ``node``, ``step`` and the like. Only
        with a ``version`` it is refused when the entry has another one by now.
        """
        own = {"memory_type": memory_type, "tags": tags, "origin": origin, "version": version, "agent_id": agent_id}
        return await self._run(self._put(namespace, key, value, {**own, **fields}))

    async def get(
        self, namespace: str, key: str, *, memory_type: str | None = None, agent_id: str | None = None
    ) -> Any:
        """The value, or None when there is no such entry that this agent may read."""
        found = await self.entry(namespace, key, memory_type=memory_type, agent_id=agent_id)
        return None if found is None else found.value

    async def entry(
        self, namespace: str, key: str, *, memory_type: str | None = None, agent_id: str | None = None
    ) -> Entry | None:
        """The whole entry, or None."""
        return await self._run(self._find(namespace, key, memory_type, agent_id))

    async def query(self, namespace: str | None = None, **wanted: Any) -> Entries:
        """The entries that match, the latest first; the parameters are those of RFC-0015 4.1, ``scope_task_id`` too.

        With ``q`` those that the words of ``q`` are about, the best first; with ``filter`` those whose values have
        these fields: ``{"kind": "note", "pages": {"$gt": 3}}``. Both are refused for a server that would ignore them.
        """
        return await self._run(self._query({"namespace": namespace, **wanted}))

    async def delete(
        self, namespace: str | None = None, key: str = "", *, agent_id: str | None = None, version: int | None = None
    ) -> None:
        """The entry is gone for good. Refused with ``MemoryNotFoundError`` when there is none."""
        await self._run(self._delete(namespace, key, agent_id, version))

    async def store(
        self,
        *,
        key: str,
        value: object,
        agent_id: str | None = None,
        memory_type: str | None = None,
        tags: list[str] | None = None,
        namespace: str | None = None,
        **fields: Any,
    ) -> Entry:
        """Like ``set`` without versions, for agents of the published package: the last one who writes wins."""
        own = {"agent_id": agent_id, "memory_type": memory_type, "tags": tags, "namespace": namespace}
        return await self._run(self._store(key, value, {**own, **fields}))

    async def pin(
        self, *, key: str, namespace: str | None = None, agent_id: str | None = None, pinned: bool = True
    ) -> Entry:
        """The entry is never evicted from here on."""
        return await self._run(self._pin(key, namespace, agent_id, pinned))

    def for_task(self, task_id: str, intent_id: str = "") -> "AsyncTaskMemory":
        """``ctx.memory`` of a worker on that task; versions are tracked together."""
        return AsyncTaskMemory(self, task_id, intent_id)

    async def _run(self, flow: Flow[T]) -> T:
        return await carry_out_async(self.http, flow)


class TaskMemory(Memory):
    """``ctx.memory``: working memory is that of one task (RFC-0014 11.5)."""

    def __init__(self, client: object, task_id: str, intent_id: str = "") -> None:
        memory = memory_of(client)
        super().__init__(memory.http, memory.agent_id, versions=memory.versions, task=Task(task_id, intent_id))


class AsyncTaskMemory(AsyncMemory):
    """The same for an asynchronous worker."""

    def __init__(self, client: object, task_id: str, intent_id: str = "") -> None:
        memory = memory_of(client)
        super().__init__(memory.http, memory.agent_id, versions=memory.versions, task=Task(task_id, intent_id))


def memory_of(client: object) -> "Memory | AsyncMemory":
    """The memory of a client: the one it has, or one over its own connection, whether ``httpx``'s or the published."""
    given = client if isinstance(client, MemoryFlows) else vars(client).get("memory")
    if isinstance(given, (Memory, AsyncMemory)):
        return given
    http = client if isinstance(client, (httpx.Client, httpx.AsyncClient)) else vars(client)["_client"]
    agent_id = str(getattr(client, "agent_id", "") or http.headers.get("X-Agent-ID", ""))
    return AsyncMemory(http, agent_id) if isinstance(http, httpx.AsyncClient) else Memory(http, agent_id)
