"""Whatever is sent: a quick refusal in JSON, nothing stored, and every list of the agent readable (R5, R8, R9, R18)."""

import json
import socket
import time
from itertools import product
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest

from tests.openintent.conftest import Served

QUICK_S = 10.0
MB = 1024 * 1024
LARGE = 100_000
HEAD = b'{"namespace": "ns", "key": "bad", "value": '


def entry(value: bytes, rest: bytes = b"") -> bytes:
    return HEAD + value + rest + b"}"


BODIES: dict[str, tuple[bytes, int]] = {
    "empty": (b"", 400),
    "blank": (b" \n ", 400),
    "half": (b'{"namespace": "ns"', 400),
    "null": (b"null", 400),
    "text": (b'"text"', 400),
    "list": (b"[]", 400),
    "two documents": (entry(b"{}") * 2, 400),
    "no UTF-8": (entry(b'{"a": "\xff\xfe"}'), 400),
    "UTF-16": (entry(b"{}").decode().encode("utf-16"), 400),
    "byte order mark": (b"\xef\xbb\xbf" + entry(b"{}"), 400),
    "lone surrogate": (entry(b'{"a": "\\ud800"}'), 400),
    "lone surrogate as a name": (entry(b'{"\\udfff": 1}'), 400),
    "surrogates the wrong way round": (entry(b'{"a": "\\udc00\\ud800"}'), 400),
    "surrogate in UTF-8": (entry(b'{"a": "\xed\xa0\x80"}'), 400),
    "lone surrogate in a tag": (entry(b"{}", b', "tags": ["\\ud800"]'), 400),
    "lone surrogate in a lifetime": (entry(b"{}", b', "ttl": "P1D\\ud800"'), 400),
    "lone surrogate in an unknown name": (entry(b"{}", b', "\\ud800": 1'), 400),
    "NUL": (entry(b'{"a": "\\u0000"}'), 400),
    "NUL as a name": (entry(b'{"a\\u0000": 1}'), 400),
    "NUL in a tag": (entry(b"{}", b', "tags": ["a\\u0000"]'), 400),
    "raw NUL": (entry(b'{"a": "\x00"}'), 400),
    "NaN": (entry(b'{"a": NaN}'), 400),
    "Infinity": (entry(b'{"a": -Infinity}'), 400),
    "a number that is infinite": (entry(b'{"a": 1e400}'), 400),
    "a number in disguise": (entry(b'{"a": 0x10}'), 400),
    "a number of 5,000 digits": (entry(b'{"a": ' + b"9" * 5000 + b"}"), 400),
    "a number of a million digits": (entry(b'{"a": ' + b"9" * 1_000_000 + b"}"), 400),
    "a fraction of a million digits": (entry(b'{"a": [' + b"0." + b"1" * 1_000_000 + b', {}], "a": 1}'), 400),
    "a name twice": (entry(b'{"a": 1, "a": 2}'), 400),
    "a name twice, deeper": (entry(b'{"b": [{"a": 1, "a": 1}]}'), 400),
    "a field twice": (entry(b"{}", b', "key": "k"'), 400),
    "a name twice, spelled differently": (entry(b'{"a": 1, "\\u0061": 2}'), 400),
    "depth 65": (entry(b'{"a": ' * 65 + b"1" + b"}" * 65), 400),
    "depth 10,000": (entry(b'{"a":' * 10_000 + b"1" + b"}" * 10_000), 400),
    "depth 500,000": (b"[" * 500_000, 400),
    "closed before it is open": (b"]" * 500_000, 400),
    "quotes": (b'"\\' * 500_000, 400),
    "100,000 tags": (entry(b"{}", b', "tags": [' + b'"t",' * 100_000 + b'"t"]'), 201),
    "100,000 other tags": (entry(b"{}", b', "tags": ' + json.dumps([f"{n}" for n in range(100_000)]).encode()), 400),
    "100,000 tags that are none": (entry(b"{}", b', "tags": [' + b"1," * 100_000 + b"1]"), 400),
    "50,000 unknown fields": (entry(b"{}", b", " + ", ".join(f'"f{n}": 1' for n in range(50_000)).encode()), 400),
    "a lifetime of 900 KB": (entry(b"{}", b', "ttl": "P' + b"1" * 900_000 + b'D"'), 400),
    "a time of 900 KB": (entry(b"{}", b', "expires_at": "' + b"2" * 900_000 + b'"'), 400),
    "a time before all times": (entry(b"{}", b', "expires_at": "0001-01-01T00:00:00+14:00"'), 400),
    "a time behind all times": (entry(b"{}", b', "expires_at": "9999-12-31T23:59:59-14:00"'), 400),
    "a scope that is deep": (entry(b"{}", b', "scope": {"task_id": {"a": {}}}'), 400),
    "a value of 65,537 bytes": (entry(b'{"a": "' + b"b" * 65_529 + b'"}'), 413),
    "a value of 900 KB": (entry(b'{"a": "' + b"b" * 900_000 + b'"}'), 413),
    "a body of 1 MiB and a byte": (entry(b"{}") + b" " * (MB + 1 - len(entry(b"{}"))), 413),
    "a body of 1 MiB": (entry(b"{}") + b" " * (MB - len(entry(b"{}"))), 201),
    "a body of 3 MB": (entry(b'{"a": "' + b"b" * 3_000_000 + b'"}'), 413),
}
HEADERS: dict[str, tuple[dict[str, Any], int]] = {
    "another type": ({"Content-Type": "text/plain"}, 415),
    "a form": ({"Content-Type": "application/x-www-form-urlencoded"}, 415),
    "no type": ({"Content-Type": ""}, 415),
    "a charset": ({"Content-Type": "application/json; charset=utf-8"}, 201),
    "a page is wanted": ({"Accept": "text/html"}, 201),
    "an agent that is too long": ({"X-Agent-ID": "a" * 129}, 400),
    "an agent with a tab": ({"X-Agent-ID": "a\tb"}, 400),
    "an agent in Latin-1": ({"X-Agent-ID": b"\xe1gnes"}, 400),
    "an agent in UTF-8": ({"X-Agent-ID": "\u00e1gnes".encode()}, 400),
    "an agent without a name": ({"X-Agent-ID": ""}, 400),
}
PATHS = (
    "mem_" + "g" * 32,
    "mem_",
    "%00",
    "%ff",
    "..%2f..%2fv1",
    "mem_%0a",
    "a" * 4000,
    "mem_" + "0" * 32,
    "🦤",
    "null",
    "0",
)


def is_sound(served: Served, agent: str, at_least: int = 1) -> None:
    """Every list of the agent is readable, by the published client too, and none holds what was refused."""
    began = time.monotonic()
    with served.client(agent) as client:
        found = client.list_memory(agent)
        assert len(found) >= at_least
        for each in found:
            assert client.get_memory(each.id) == each
    with served.http(agent) as client:
        page = client.get("/api/v1/memory", params={"agent_id": agent}).json()
        assert page["total"] == len(page["entries"]) == len(found)
    assert time.monotonic() - began < QUICK_S


def send(served: Served, agent: str, method: str, path: str, **request: Any) -> httpx.Response:
    """The answer, which is JSON, came quickly and is no failure of the host."""
    began = time.monotonic()
    with served.http(agent) as client:
        answer = client.request(method, path, **request)
    assert time.monotonic() - began < QUICK_S
    assert answer.status_code < 500, answer.text
    assert answer.headers["Content-Type"] == "application/json"
    if answer.status_code >= 400:
        body = answer.json()
        assert {"error", "message", "detail"} <= set(body)
        assert body["error"] != "VALIDATION_ERROR" or body["errors"]
    return answer


@pytest.fixture
def agent(served: Served) -> str:
    """An agent with one good entry: what a bad one left behind would be in its lists."""
    name = served.agent("bad")
    served.remembers(name, "good", value={"good": True}, memory_type="episodic", tags=["good"])
    return name


def test_R5_R8_R9_R18_C23_a_bad_body_is_refused(served: Served, agent: str) -> None:
    headers, wrong = {"Content-Type": "application/json"}, {}
    for what, (body, status) in BODIES.items():
        made = send(served, agent, "POST", "/api/v1/memory", content=body, headers=headers)
        if made.status_code != status:
            wrong[what] = (made.status_code, made.text[:500])
        elif status == 201:
            assert send(served, agent, "DELETE", made.headers["Location"]).status_code == 200
    assert wrong == {}
    is_sound(served, agent)


def test_a_bad_body_of_a_change_leaves_the_entry_as_it_was(served: Served, agent: str) -> None:
    good, wrong = served.remembers(agent, "changed"), {}
    headers = {"Content-Type": "application/json", "If-Match": "1"}
    for what, (body, status) in BODIES.items():
        # How much may be read of a body, and of a number or a text in it, is the same for both, and tried above.
        if status == 201 or len(body) > LARGE:
            continue
        text = body.replace(b'"namespace": "ns", "key": "bad", ', b"").ljust(len(body))
        answer = send(served, agent, "PATCH", f"/api/v1/memory/{good['id']}", content=text, headers=headers)
        if answer.status_code not in {status, 400}:
            wrong[what] = (answer.status_code, answer.text[:500])
    assert wrong == {}
    assert send(served, agent, "GET", f"/api/v1/memory/{good['id']}").json() == good
    is_sound(served, agent)


def test_a_bad_header_is_refused(served: Served, agent: str) -> None:
    for what, (headers, status) in HEADERS.items():
        sent = {"Content-Type": "application/json"} | headers
        answer = send(served, agent, "POST", "/api/v1/memory", content=entry(b"{}"), headers=sent)
        assert answer.status_code == status, (what, answer.text)
        if status == 201:
            send(served, agent, "DELETE", answer.headers["Location"])
    is_sound(served, agent)


def test_an_id_that_is_none_is_not_there(served: Served, agent: str) -> None:
    for method, path in product(("GET", "DELETE", "PATCH"), PATHS):
        more = {"json": {"value": {}}, "headers": {"If-Match": "1"}} if method == "PATCH" else {}
        assert send(served, agent, method, f"/api/v1/memory/{path}", **more).status_code == 404, (method, path)
    is_sound(served, agent)


@pytest.mark.console
def test_R18_a_body_of_50_mb_is_refused_before_it_is_read(served: Served, agent: str) -> None:
    """Only its head is sent: whoever waited for the rest would wait for ever."""
    place = urlsplit(served.url)
    head = (
        "POST /api/v1/memory HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        f"X-API-Key: {served.key()}\r\nX-Agent-ID: {agent}\r\nContent-Length: {50 * MB}\r\n\r\n"
    )
    with socket.create_connection((str(place.hostname), int(place.port or 0)), timeout=QUICK_S) as connection:
        connection.sendall(head.encode() + b'{"namespace": "ns", ')
        told = connection.recv(4096)
    assert told.startswith(b"HTTP/1.1 413"), told
    is_sound(served, agent)


@pytest.mark.console
def test_R18_a_whole_body_of_50_mb_is_answered_while_others_are(served: Served, agent: str) -> None:
    body = entry(b'{"a": "' + b"b" * (50 * MB) + b'"}')
    began = time.monotonic()
    with served.http(agent) as client:
        try:
            answer = client.post("/api/v1/memory", content=body, headers={"Content-Type": "application/json"})
            assert (answer.status_code, answer.json()["error"]) == (413, "VALUE_TOO_LARGE")
        except httpx.TransportError:
            pass  # a host that does not read on may have hung up before the client came to listen
    assert time.monotonic() - began < QUICK_S
    is_sound(served, agent)


def test_numbers_come_back_exactly_as_they_were(served: Served, agent: str) -> None:
    numbers = [2**53 + 1, 2**64, -(2**64) - 1, 10**400, 0.1, 1.7976931348623157e308, 5e-324, -0.0, 0]
    made = served.remembers(agent, "numbers", value={"n": numbers})
    read = send(served, agent, "GET", f"/api/v1/memory/{made['id']}").json()
    assert made["value"] == read["value"] == {"n": numbers}
    is_sound(served, agent)


def test_a_refusal_repeats_nothing_of_what_was_sent(served: Served, agent: str) -> None:
    body = {"namespace": "ns", "key": "k\n<script>pelican", "value": "pelican", "tags": ["pelican,"], "ttl": "pelican"}
    answer = send(served, agent, "POST", "/api/v1/memory", json=body)
    assert answer.status_code == 400
    assert "pelican" not in answer.text
    is_sound(served, agent)


@pytest.mark.console
def test_the_body_of_a_refused_request_is_no_request_of_its_own(served: Served) -> None:
    host, port = served.url.removeprefix("http://").split(":")
    body = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"
    head = (
        f"POST /api/v1/memory HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    with socket.create_connection((host, int(port)), timeout=10) as line:
        line.sendall(head.encode() + body)
        said = b"".join(iter(lambda: line.recv(4096), b"")).decode()
    assert said.startswith("HTTP/1.1 401")
    assert said.count("HTTP/1.1") == 1
    agent = served.agent()
    with served.http(agent) as client:
        refused = [client.patch("/api/v1/memory", json={"n": number}).status_code for number in range(20)]
        assert refused == [405] * 20
        assert client.get(f"/api/v1/agents/{agent}/memory").json() == []
