"""A LangGraph store whose items are entries of the console: each write says which thread, node and step made it.

    graph = builder.compile(checkpointer=saver, store=ConsoleStore("http://localhost:8000", KEY))

The items of the namespace ``("users", "u1")`` are entries of the shared namespace ``users.u1.`` of semantic memory.
"""

import asyncio
import json
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any

import httpx
from langgraph.config import get_config
from langgraph.runtime import get_runtime
from langgraph.store.base import (
    BaseStore,
    GetOp,
    Item,
    ListNamespacesOp,
    MatchCondition,
    Op,
    PutOp,
    Result,
    SearchItem,
    SearchOp,
)

from openwop_console_client.errors import body_of, raise_for, raise_unless_gone
from openwop_console_client.flows import (
    ENTRIES,
    SEMANTIC,
    Flow,
    Json,
    Request,
    as_stated,
    carry_out,
    carry_out_async,
    headers_of,
)

SYSTEM = "langgraph"
NAMESPACES = f"{ENTRIES}/namespaces"
ANY_LABEL = "*"
# Between the names of a node's path: that of a node in the subgraph ``researcher`` is ``researcher/tools``.
PATH = "/"
# Behind every label, so that a prefix ends where a label ends. No label of a namespace has one.
SEPARATOR = "."
PAGE = 1000
LONGEST_QUERY = 2000  # characters, as the server counts them


class ConsoleStore(BaseStore):
    """A ``BaseStore``, synchronous and asynchronous, over one key of a console.

    Searches and filters run on the server: a search with a ``query`` is ranked by its words (and by meaning where the
    tenant has that), any other has the latest change first. ``index`` is ignored, since the server indexes every value.
    ``agent_id`` is needed for a key that may act as several agents. Errors are those of ``client.memory``.
    """

    supports_ttl = False

    def __init__(
        self, base_url: str, api_key: str, *, agent_id: str | None = None, timeout: float = 30.0, **options: Any
    ) -> None:
        self._options = {
            "base_url": base_url,
            "headers": headers_of(api_key, agent_id),
            "timeout": timeout,
            **options,
        }
        self._http = httpx.Client(**self._options)
        self._async_http: tuple[asyncio.AbstractEventLoop, httpx.AsyncClient] | None = None

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """What comes of each operation; all that read come first."""
        return carry_out(self._http, _batch(list(ops)))

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """The same, awaited."""
        loop = asyncio.get_running_loop()
        if self._async_http is None or self._async_http[0] is not loop:  # connections belong to one loop
            self._async_http = (loop, httpx.AsyncClient(**self._options))
        return await carry_out_async(self._async_http[1], _batch(list(ops)))

    def close(self) -> None:
        """Close the connections; an event loop that is running closes its own in its next turn."""
        self._http.close()
        if self._async_http is not None and self._async_http[0].is_running():
            loop, http = self._async_http
            asyncio.run_coroutine_threadsafe(http.aclose(), loop)

    async def aclose(self) -> None:
        self._http.close()
        if self._async_http is not None and self._async_http[0] is asyncio.get_running_loop():
            await self._async_http[1].aclose()

    def __enter__(self) -> "ConsoleStore":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    async def __aenter__(self) -> "ConsoleStore":
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()


def origin_of_graph() -> Json | None:
    """Where in a graph this is called; None outside of one. Asynchronous nodes are told from Python 3.11 on.

    The node is its path where it lies in a subgraph; the task tells those of one node in one step apart (``Send``).
    """
    try:
        config: Any = get_config()
    except RuntimeError:
        return None
    metadata, configurable = config.get("metadata") or {}, config.get("configurable") or {}
    graph, _, _ = str(configurable.get("checkpoint_ns") or "").rpartition("|")
    found = {
        "runId": configurable.get("run_id") or metadata.get("run_id") or (_run_id() if configurable else None),
        "threadId": configurable.get("thread_id"),
        "checkpointId": (configurable.get("checkpoint_map") or {}).get(graph),
        "node": _path_of_node(metadata),
        "taskId": _namespace(metadata).rpartition(":")[2],
    }
    step = metadata.get("langgraph_step")
    named = {name: as_stated(value) for name, value in found.items() if value is not None and as_stated(value)}
    return {"system": SYSTEM, **named, **({} if step is None else {"step": step})}


def _path_of_node(metadata: Json) -> str | None:
    """``tools``, or ``researcher/tools`` in a subgraph. The namespace of a task, ``researcher:<task>|1|tools:<task>``,
    has a number where a node calls a subgraph again."""
    names = [part.partition(":")[0] for part in _namespace(metadata).split("|") if not part.isdigit()]
    return PATH.join(names) or metadata.get("langgraph_node")


def _namespace(metadata: Json) -> str:
    return str(metadata.get("langgraph_checkpoint_ns") or "")


def _run_id() -> str | None:
    """The ``run_id`` of the invocation: later versions of LangGraph tell it, to nodes of the outermost graph alone."""
    info: Any = getattr(get_runtime(), "execution_info", None)
    return getattr(info, "run_id", None)


def _batch(ops: Sequence[Op]) -> Flow[list[Result]]:
    results: list[Result] = [None] * len(ops)
    puts: dict[tuple[tuple[str, ...], str], PutOp] = {}
    for place, op in enumerate(ops):
        if isinstance(op, GetOp):
            results[place] = yield from _get(op)
        elif isinstance(op, SearchOp):
            results[place] = yield from _search(op)
        elif isinstance(op, ListNamespacesOp):
            results[place] = yield from _list_namespaces(op)
        elif isinstance(op, PutOp):
            puts[op.namespace, op.key] = op
        else:
            raise ValueError(f"Unknown operation type: {type(op)}")
    origin = origin_of_graph() if puts else None
    for op in puts.values():
        yield from _put(op, origin)
    return results


def _name(namespace: Iterable[str]) -> str:
    return "".join(f"{label}{SEPARATOR}" for label in namespace)


def _labels(name: str) -> tuple[str, ...]:
    return tuple(name.removesuffix(SEPARATOR).split(SEPARATOR))


def _address(namespace: Iterable[str], key: str) -> Json:
    return {"memory_type": SEMANTIC, "namespace": _name(namespace), "key": key}


def _entries(**wanted: Any) -> Flow[list[Json]]:
    answer = yield Request("GET", ENTRIES, params={"memory_type": SEMANTIC, **wanted})
    raise_for(answer)
    entries: list[Json] = body_of(answer).get("entries", [])
    return entries


def _entry(namespace: Iterable[str], key: str) -> Flow[Json | None]:
    found = yield from _entries(namespace=_name(namespace), key=key, limit=1)
    return found[0] if found else None


def _get(op: GetOp) -> Flow[Item | None]:
    entry = yield from _entry(op.namespace, op.key)
    return Item(**_item(entry)) if entry else None


def _item(entry: Json) -> Json:
    return {
        "namespace": _labels(entry["namespace"]),
        "key": entry["key"],
        "value": entry["value"],
        "created_at": _moment(entry["created_at"]),
        "updated_at": _moment(entry["updated_at"]),
    }


def _moment(text: str) -> datetime:
    return datetime.fromisoformat(text.replace("Z", "+00:00"))  # noqa: FURB162  # Python 3.10 reads no Z


def _search(op: SearchOp) -> Flow[list[SearchItem]]:
    query = _shortened(op.query or "")
    if query and not any(letter.isalnum() for letter in query):
        return []
    params: Json = {"q": query} if query else {}
    if op.filter:
        params["filter"] = json.dumps(op.filter)
    # Without a prefix there are entries of no store among those that the server lists: they are left out here.
    mixed = not op.namespace_prefix
    if not mixed:
        params["namespace"] = f"{_name(op.namespace_prefix)}*"
    found: list[Json] = []
    offset, wanted = (0, op.offset + op.limit) if mixed else (op.offset, op.limit)
    while len(found) < wanted:
        page = yield from _entries(**params, limit=min(wanted - len(found), PAGE), offset=offset)
        found += [entry for entry in page if entry["namespace"].endswith(SEPARATOR)]
        offset += len(page)
        if not page:
            break
    part = found[op.offset :] if mixed else found
    return [SearchItem(**_item(entry), score=entry.get("score")) for entry in part]


def _shortened(query: str) -> str:
    """The query, or of a longer one than the server takes the beginning, to the end of a word where there is one."""
    part, behind = query[:LONGEST_QUERY], query[LONGEST_QUERY : LONGEST_QUERY + 1]
    return part.rsplit(maxsplit=1)[0] if behind and not behind.isspace() and not part[-1].isspace() else part


def _put(op: PutOp, origin: Json | None) -> Flow[None]:
    """One request, whether there is a value or the entry goes; what is not there is gone already."""
    if op.value is None:
        raise_unless_gone((yield Request("DELETE", ENTRIES, params=_address(op.namespace, op.key))))
        return
    body = {**_address(op.namespace, op.key), "value": op.value, **({"origin": origin} if origin else {})}
    raise_for((yield Request("PUT", ENTRIES, json=body)))


def _list_namespaces(op: ListNamespacesOp) -> Flow[list[tuple[str, ...]]]:
    """One request for up to ``PAGE`` of them; the server matches, cuts, sorts and counts off."""
    prefix, suffix = (_path(op.match_conditions or (), name) for name in ("prefix", "suffix"))
    if prefix is None or suffix is None:
        return []
    params: Json = {"prefix": SEPARATOR.join(prefix or [ANY_LABEL])}
    params |= {"suffix": SEPARATOR.join(suffix)} if suffix else {}
    params |= {} if op.max_depth is None else {"max_depth": op.max_depth}
    found: list[tuple[str, ...]] = []
    while len(found) < op.limit:
        page = {"limit": min(op.limit - len(found), PAGE), "offset": op.offset + len(found)}
        answer = yield Request("GET", NAMESPACES, params={**params, **page})
        raise_for(answer)
        body = body_of(answer)
        found += [_labels(each["namespace"]) for each in body.get("namespaces", [])]
        if not body.get("namespaces") or op.offset + len(found) >= int(body.get("total", 0)):
            break
    return found


def _path(conditions: Iterable[MatchCondition], match_type: str) -> list[str] | None:
    """All conditions of that kind as one, or None when no namespace can meet them: a label is not empty and has no
    ``SEPARATOR``."""
    step = 1 if match_type == "prefix" else -1
    found: list[str] = []
    for path in (list(each.path)[::step] for each in conditions if each.match_type == match_type):
        for place, label in enumerate(path):
            known = found[place] if place < len(found) else ANY_LABEL
            if not label or SEPARATOR in label or (ANY_LABEL not in (known, label) and known != label):
                return None
            found[place : place + 1] = [label if known == ANY_LABEL else known]
    return found[::step]
