"""What memory does, request by request, for whoever carries them out: the synchronous client and the asynchronous.

A flow is a generator: it yields requests, is sent the answers, and returns what came of it.
"""

import asyncio
import hashlib
import json
import time
from collections.abc import Generator
from dataclasses import dataclass, field
from itertools import count
from typing import Any, TypeVar
from urllib.parse import quote

import httpx

from openwop_console_client.entries import Entries, Entry, Place, Seen, Versions
from openwop_console_client.errors import (
    MemoryConflictError,
    MemoryInvalidError,
    MemoryNotFoundError,
    body_of,
    conflict,
    raise_for,
    retry_after,
)

ENTRIES = "/api/v1/memory"
DISCOVERY = "/.well-known/openintent.json"
# What a server has to advertise before it is asked by one of these: another would ignore it and answer with everything.
ADVERTISED = {"q": "memory-search", "filter": "memory-filter"}
WORKING, SEMANTIC = "working", "semantic"
DEFAULT_NAMESPACE = "default"
ATTEMPTS = 5
# A request is sent so many times more while the store is busy, after the seconds that the server says or these.
SENT_AGAIN, LONGEST_WAIT = 2, 5
REPEATABLE = frozenset({"GET", "PUT", "DELETE"})
# What the server itself says when it has refused a request, of any kind, before it changed anything.
UNCHANGED = frozenset({"STORE_UNAVAILABLE", "BUSY"})
# A connection that broke, and the seconds before a request whose answer was lost with it is sent again.
BROKEN, PAUSE = (httpx.NetworkError, httpx.RemoteProtocolError), 0.2
LONGEST_STATED, DIGITS = 128, 16
LONGEST_AGENT = 128
# What a list is asked by (RFC-0015 4.1), and ``q`` and ``filter``, which are additions of this console.
PARAMETERS = frozenset(
    (
        "agent_id", "namespace", "key", "memory_type", "tags", "tags_any", "scope.task_id", "scope.intent_id", "pinned",
        "updated_after", "updated_before", "limit", "offset", "q", "filter",
    )
)  # fmt: skip

T = TypeVar("T")
Json = dict[str, Any]


@dataclass(frozen=True)
class Request:
    """One request to the server."""

    method: str
    path: str
    params: Json | None = None
    json: Json | None = None
    headers: dict[str, str] = field(default_factory=dict)
    comes_to_the_same: bool = False  # when the server has carried it out already, and its answer was lost


Flow = Generator[Request, httpx.Response, T]


def carry_out(http: Any, flow: Flow[T]) -> T:
    """What comes of the flow, whose requests are sent by ``http``: an ``httpx.Client``, or what has its ``request``.

    A request is sent again when the server says that it is busy and has changed nothing, and one that comes to the same
    when it comes twice also when the connection breaks.
    """
    try:
        request = next(flow)
        while True:
            request = flow.send(_send(http, request))
    except StopIteration as end:
        result: T = end.value
        return result


def _send(http: Any, request: Request) -> httpx.Response:
    for sent in count(1):
        try:
            answer: httpx.Response = http.request(**_call(request))
        except BROKEN:
            if sent > SENT_AGAIN or not _comes_to_the_same(request):
                raise
            time.sleep(PAUSE)
            continue
        wait = _seconds_until_again(request, answer)
        if wait is None or sent > SENT_AGAIN:
            break
        time.sleep(wait)
    return answer


async def carry_out_async(http: Any, flow: Flow[T]) -> T:
    """The same, by an ``httpx.AsyncClient``."""
    try:
        request = next(flow)
        while True:
            request = flow.send(await _send_async(http, request))
    except StopIteration as end:
        result: T = end.value
        return result


async def _send_async(http: Any, request: Request) -> httpx.Response:
    for sent in count(1):
        try:
            answer: httpx.Response = await http.request(**_call(request))
        except BROKEN:
            if sent > SENT_AGAIN or not _comes_to_the_same(request):
                raise
            await asyncio.sleep(PAUSE)
            continue
        wait = _seconds_until_again(request, answer)
        if wait is None or sent > SENT_AGAIN:
            break
        await asyncio.sleep(wait)
    return answer


def _comes_to_the_same(request: Request) -> bool:
    return request.method == "GET" or request.comes_to_the_same


def _seconds_until_again(request: Request, answer: httpx.Response) -> int | None:
    """When the server will take the request again; None for one that it answered, or that must not come twice."""
    wait = retry_after(answer)
    if wait is None:
        return None
    if answer.status_code == 429:
        return wait if wait <= LONGEST_WAIT else None
    is_repeatable = request.method in REPEATABLE and not request.headers
    if answer.status_code == 503 and (is_repeatable or body_of(answer).get("error") in UNCHANGED):
        return min(wait, LONGEST_WAIT)
    return None


def _call(request: Request) -> Json:
    given: Json = {"method": request.method, "url": request.path}
    for name in ("params", "json", "headers"):
        if (value := getattr(request, name)) or (name == "json" and value is not None):
            given[name] = value
    return given


@dataclass(frozen=True)
class Task:
    """The task that working memory belongs to."""

    task_id: str
    intent_id: str = ""

    @property
    def scope(self) -> Json:
        return {"task_id": self.task_id, **({"intent_id": self.intent_id} if self.intent_id else {})}


class Flows:
    """The flows of one agent. ``agent_id`` is "" until it is known who that is."""

    def __init__(self, agent_id: str, versions: Versions) -> None:
        self.agent_id, self.versions, self._advertised = agent_id, versions, frozenset[str]()

    # --- reading -----------------------------------------------------------------------------------------------------

    def find(
        self, namespace: str | None, key: str, memory_type: str | None, agent_id: str, task: Task | None
    ) -> Flow[Entry | None]:
        """The entry, or None; its version is tracked from here on, when this agent could change it."""
        found: Entry | None = None
        if task and memory_type in {None, WORKING}:
            wanted = {"scope.task_id": task.task_id, "key": key, "namespace": namespace, "memory_type": WORKING}
            found = self._pick((yield from self.page(wanted)), namespace, key, agent_id)
        if found is None and not (task and memory_type == WORKING):
            wanted = {"key": key, "namespace": namespace, "memory_type": memory_type}
            wanted["agent_id"] = agent_id or (self.agent_id if memory_type not in {None, SEMANTIC} else "")
            page = yield from self.page(wanted)
            found = self._pick([each for each in page if not (task and _is_working(each))], namespace, key, agent_id)
        return found

    def page(self, wanted: Json) -> Flow[Entries]:
        """The entries that match, at most ``limit`` of them from ``offset`` on, and how many there are."""
        params = {name: _spelled(value) for name, value in wanted.items() if value not in (None, "", [], ())}
        for name in ADVERTISED:
            if wanted.get(name) is not None:
                yield from self._require_advertised(name)
                params[name] = _spelled(wanted[name])  # an empty one, too: without it the answer would be everything
        answer = yield Request("GET", ENTRIES, params=params)
        raise_for(answer)
        body = body_of(answer)
        page = Entries(Entry(each) for each in body.get("entries", []))
        page.total = int(body.get("total", len(page)))
        if not {"agent_id", "scope.task_id"} & params.keys():
            self.agent_id = self.agent_id or next((str(each["agent_id"]) for each in page if not each.is_shared), "")
        for entry in page:
            self._note(entry)
        return page

    def _require_advertised(self, name: str) -> Flow[None]:
        if ADVERTISED[name] not in self._advertised:
            answer = yield Request("GET", DISCOVERY)
            self._advertised = frozenset(body_of(answer).get("capabilities") or ())
        if ADVERTISED[name] not in self._advertised:
            raise MemoryInvalidError(f"This server does not have {ADVERTISED[name]}: it would ignore {name}.")

    def _pick(self, page: list[Entry], namespace: str | None, key: str, agent_id: str) -> Entry | None:
        """One's own entry, or else what one may read: another agent's of the task, an inherited or a shared one."""
        found = [each for each in page if each.get("key") == key and namespace in {None, each.get("namespace")}]
        owner = agent_id or self.agent_id
        found.sort(key=lambda each: (each.get("agent_id") != owner, each.is_shared, "inherited_from" in each))
        return found[0] if found else None

    # --- writing -----------------------------------------------------------------------------------------------------

    def put(
        self,
        place: Place,
        memory_type: str | None,
        given: Json,
        *,
        version: int | None = None,
        task: Task | None = None,
    ) -> Flow[Entry]:
        """The entry is as given: changed at the version last seen, or at ``version``, or made when there is none.

        What was never seen is made; when it turns out to be there, it is changed at the version that the server tells.
        """
        known = self._known(place, memory_type, task)
        if version is not None:
            entry_id = known.id if known else (yield from self._required(place, memory_type, task)).id
            return (yield from self.change(entry_id, version, given))
        if known:
            try:
                return (yield from self.change(known.id, known.version, given))
            except MemoryNotFoundError:
                self._drop(place, known.id)
        return (yield from self._make(place, memory_type, given, task))

    def upsert(
        self,
        place: Place,
        memory_type: str | None,
        given: Json,
        *,
        version: int | None = None,
        task: Task | None = None,
    ) -> Flow[Entry]:
        """The entry is as given, in one request: made or changed by the server, and the last one who writes wins; or
        changed only at ``version``."""
        headers = {} if version is None else {"If-Match": str(version)}
        answer = yield Request("PUT", ENTRIES, json=_new(place, memory_type, given, task), headers=headers)
        raise_for(answer)
        return self._note(Entry(body_of(answer)))

    def store(self, place: Place, memory_type: str, given: Json) -> Flow[Entry]:
        """Like ``put``, for who has no use for versions: the last one who writes wins."""
        version = None
        for _ in range(ATTEMPTS):
            try:
                return (yield from self.put(place, memory_type, given, version=version))
            except MemoryConflictError as problem:
                kind = (problem.current or {}).get("memory_type", memory_type)
                if problem.current_version is None or kind != memory_type:
                    raise
                version = problem.current_version
        return (yield from self.put(place, memory_type, given, version=version))

    def change(self, entry_id: str, version: int, given: Json) -> Flow[Entry]:
        """The entry as changed. Refused with ``MemoryConflictError`` when it has another version by now."""
        path, condition = f"{ENTRIES}/{quote(entry_id, safe='')}", {"If-Match": str(version)}
        answer = yield Request("PATCH", path, json=given, headers=condition)
        raise_for(answer)
        return self._note(Entry(body_of(answer)))

    def pin(self, entry: Entry, pinned: bool) -> Flow[Entry]:
        """The entry is pinned, or is not any more, whatever its version is by now."""
        version = entry.version
        for _ in range(ATTEMPTS):
            try:
                return (yield from self.change(entry.id, version, {"pinned": pinned}))
            except MemoryConflictError as problem:
                if problem.current_version is None:
                    raise
                version = problem.current_version
        return (yield from self.change(entry.id, version, {"pinned": pinned}))

    def remove(self, entry: Entry, version: int | None) -> Flow[None]:
        """The entry is gone for good; with a ``version``, only if it still has that one."""
        headers = {} if version is None else {"If-Match": str(version)}
        answer = yield Request("DELETE", f"{ENTRIES}/{quote(entry.id, safe='')}", headers=headers)
        self.versions.forget(_place_of(entry), entry.id)
        raise_for(answer)

    def the_one(self, key: str, namespace: str | None, agent_id: str, task: Task | None) -> Flow[Entry]:
        """The entry of that key that is the agent's own; of no namespace in particular when None is named."""
        if namespace is not None:
            return (yield from self._required(Place(agent_id, namespace, key), None, task))
        page = yield from self.page({"key": key, "agent_id": agent_id or self.agent_id})
        found = [each for each in page if each.get("key") == key]
        usual = [each for each in found if each.get("namespace") == DEFAULT_NAMESPACE]
        if not found:
            raise MemoryNotFoundError("There is no memory entry under that key.", status_code=404)
        if len(found) > 1 and not usual:
            raise ValueError("Entries of several namespaces have that key: say which namespace is meant.")
        return (usual or found)[0]

    # --- parts -------------------------------------------------------------------------------------------------------

    def _make(self, place: Place, memory_type: str | None, given: Json, task: Task | None) -> Flow[Entry]:
        """A new entry; or, when the key turns out to be taken, the one that is there, changed."""
        answer = yield Request("POST", ENTRIES, json=_new(place, memory_type, given, task))
        said = body_of(answer)
        if answer.status_code == 409 and said.get("error") == "KEY_EXISTS":
            there = self._there(said, memory_type, task)
            return (yield from self.change(there.id, there.version, given))
        raise_for(answer)
        made = Entry(said)
        if not made.is_shared and not place.agent_id:
            self.agent_id = self.agent_id or str(made.get("agent_id", ""))
        return self._note(made)

    def _there(self, said: Json, memory_type: str | None, task: Task | None) -> Entry:
        """The entry that has the key, when it is one that ``set`` may change; otherwise that is a conflict."""
        current = Entry(said.get("current") or {})
        message = str(said.get("message") or "The key is taken.")
        if current and memory_type not in {None, current.get("memory_type")}:
            message = f"The key is taken by {current.get('memory_type')} memory."
        elif current and task and _is_working(current) and current.task_id != task.task_id:
            message = "The key is taken by another task of this agent."
        elif current.id:
            return current
        raise conflict(message, said, status_code=409, response=said)

    def _known(self, place: Place, memory_type: str | None, task: Task | None) -> Seen | None:
        """What was last seen under the key, when it is what ``set`` would change."""
        own, shared = place._replace(agent_id=place.agent_id or self.agent_id), place._replace(agent_id="")
        kinds = {None: (own, shared), SEMANTIC: (shared,)}.get(memory_type, (own,))
        for each in kinds:
            seen = self.versions.seen(each)
            alien = seen and task and seen.memory_type == WORKING and seen.task_id != task.task_id
            if seen and not alien and memory_type in {None, seen.memory_type}:
                return seen
        return None

    def _required(self, place: Place, memory_type: str | None, task: Task | None) -> Flow[Entry]:
        found = yield from self.find(place.namespace, place.key, memory_type, place.agent_id, task)
        if found is None:
            raise MemoryNotFoundError("There is no memory entry under that key.", status_code=404)
        return found

    def _note(self, entry: Entry) -> Entry:
        if entry.id and "inherited_from" not in entry:
            self.versions.note(_place_of(entry), entry)
        return entry

    def _drop(self, place: Place, entry_id: str) -> None:
        for agent_id in (place.agent_id or self.agent_id, ""):
            self.versions.forget(place._replace(agent_id=agent_id), entry_id)


def _new(place: Place, memory_type: str | None, given: Json, task: Task | None) -> Json:
    """The body that makes the entry."""
    body = {"namespace": place.namespace, "key": place.key, "memory_type": memory_type or WORKING, **given}
    if place.agent_id:
        body["agent_id"] = place.agent_id
    if task and body["memory_type"] == WORKING:
        body.setdefault("scope", task.scope)
    return body


def _place_of(entry: Entry) -> Place:
    owner = "" if entry.is_shared else str(entry.get("agent_id", ""))
    return Place(owner, str(entry.get("namespace", "")), str(entry.get("key", "")))


def _is_working(entry: Entry) -> bool:
    return entry.get("memory_type") == WORKING


def _spelled(value: object) -> object:
    """A parameter as the wire has it: tags with commas, truths in lower case, moments in ISO 8601, objects in JSON."""
    if isinstance(value, dict):
        return json.dumps(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (list, tuple, set, frozenset)):
        return ",".join(map(str, value))
    return value.isoformat() if hasattr(value, "isoformat") else value


def as_stated(value: object) -> str:
    """The text as an origin may have it; of a longer one the beginning, and a digest that tells it from others."""
    text = "".join(letter for letter in str(value) if letter.isprintable())
    if len(text) <= LONGEST_STATED:
        return text
    digest = hashlib.sha256(str(value).encode("utf-8", "surrogatepass")).hexdigest()[:DIGITS]
    return f"{text[: LONGEST_STATED - DIGITS - 1]}~{digest}"


def headers_of(api_key: str, agent_id: str | None) -> dict[str, str]:
    """What a client sends with every request. Raises ``ValueError`` for what no header can hold."""
    if not (api_key.isascii() and api_key.isprintable()):
        raise ValueError("api_key must be printable characters of ASCII.")
    if not agent_id:
        return {"X-API-Key": api_key}
    is_plain = agent_id.isascii() and agent_id.isprintable() and agent_id == agent_id.strip()
    if not is_plain or len(agent_id) > LONGEST_AGENT:
        rule = f"1 to {LONGEST_AGENT} printable characters of ASCII, with no blank at either end"
        raise ValueError(f"agent_id must be {rule}: {agent_id[:LONGEST_AGENT]!r}")
    return {"X-API-Key": api_key, "X-Agent-ID": agent_id}
