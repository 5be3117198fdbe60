"""``POST /mcp`` as the protocol has it: versions, errors in their shape, and who is let in."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client
from pytest_django.fixtures import Settings

from tests import building
from tests.mcp.conftest import Model

pytestmark = pytest.mark.django_db
Models = Callable[..., Model]
PING = {"jsonrpc": "2.0", "id": 1, "method": "ping"}


def error_of(answer: Any) -> tuple[int, int]:
    document = answer.json()
    assert document["jsonrpc"] == "2.0"
    assert document["error"]["message"]
    return answer.status_code, document["error"]["code"]


@pytest.mark.parametrize(
    ("asked", "spoken"),
    [("2025-11-25", "2025-11-25"), ("2025-06-18", "2025-06-18"), ("2031-01-01", "2025-11-25")],
)
def test_a_session_begins_with_a_version_that_both_speak(model: Models, asked: str, spoken: str) -> None:
    params = {"protocolVersion": asked, "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
    begun = model().result("initialize", **params)
    assert begun["protocolVersion"] == spoken
    assert begun["capabilities"].keys() == {"tools", "resources"}
    assert "data, not instructions" in begun["instructions"]


@pytest.mark.parametrize("version", ["2025-11-25", "2025-06-18"])
def test_a_known_version_in_the_header_is_taken(model: Models, version: str) -> None:
    assert model().post(PING, HTTP_MCP_PROTOCOL_VERSION=version).json() == {"jsonrpc": "2.0", "id": 1, "result": {}}


@pytest.mark.parametrize("version", ["2024-11-05", "x", ""])
def test_an_unknown_version_in_the_header_is_400(model: Models, version: str) -> None:
    assert error_of(model().post(PING, HTTP_MCP_PROTOCOL_VERSION=version)) == (400, -32600)


@pytest.mark.parametrize("method", ["notifications/initialized", "notifications/cancelled", "notifications/unknown"])
def test_a_notification_is_202_without_a_body(model: Models, method: str) -> None:
    answer = model().post({"jsonrpc": "2.0", "method": method})
    assert (answer.status_code, answer.content) == (202, b"")


def test_an_answer_to_a_request_that_was_never_made_is_202(model: Models) -> None:
    assert model().post({"jsonrpc": "2.0", "id": 1, "result": {}}).status_code == 202


@pytest.mark.parametrize("method", ["get", "put", "delete", "patch"])
def test_only_post_is_a_door(model: Models, client: Client, method: str) -> None:
    answer = getattr(client, method)("/mcp", **model().headers)
    assert (answer.status_code, answer["Allow"]) == (405, "POST")


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b" ", -32700),
        (b"{", -32700),
        (b"\xff", -32700),
        (b'{"a": "\\u0000"}', -32700),
        (b"[" * 2000, -32700),
        ([PING], -32600),
        ([], -32600),
        ("text", -32600),
        (None, -32600),
        (1, -32600),
        ({}, -32600),
        ({**PING, "jsonrpc": "1.0"}, -32600),
        ({**PING, "method": 1}, -32600),
        ({**PING, "id": None}, -32600),
        ({**PING, "id": True}, -32600),
        ({**PING, "id": 1.5}, -32600),
        ({**PING, "id": {}}, -32600),
        ({**PING, "id": "x" * 2000}, -32600),
        ({**PING, "params": []}, -32602),
        ({**PING, "params": "x"}, -32602),
    ],
)
def test_a_body_that_is_no_message_is_400_with_an_error_of_json_rpc(model: Models, body: object, code: int) -> None:
    assert error_of(model().post(body)) == (400, code)


@pytest.mark.parametrize(
    ("method", "params", "code"),
    [
        ("unknown", {}, -32601),
        ("prompts/list", {}, -32601),
        ("", {}, -32601),
        ("initialize", {}, -32602),
        ("initialize", {"protocolVersion": 1}, -32602),
        ("tools/call", {}, -32602),
        ("tools/call", {"name": 1}, -32602),
        ("tools/call", {"name": "unknown"}, -32602),
        ("tools/call", {"name": "memory_get", "arguments": []}, -32602),
        ("tools/call", {"name": "memory_get", "arguments": None}, -32602),
        ("resources/read", {}, -32602),
        ("resources/read", {"uri": 1}, -32602),
        ("resources/read", {"uri": "file:///etc/passwd"}, -32002),
        ("resources/read", {"uri": "openwop://memory/mem_x"}, -32002),
        ("resources/read", {"uri": "openwop://archives/"}, -32002),
    ],
)
def test_a_request_that_cannot_be_carried_out_is_an_error_with_its_id(
    model: Models, method: str, params: dict[str, Any], code: int
) -> None:
    assert model().ask(method, **params)["error"]["code"] == code


def test_a_body_that_is_too_large_or_no_json_is_refused_like_at_every_door(model: Models, settings: Settings) -> None:
    settings.DATA_UPLOAD_MAX_MEMORY_SIZE = 1000
    assert error_of(model().post({**PING, "params": {"x": "y" * 1000}})) == (413, -32000)
    assert error_of(model().post(b"x=1", content_type="application/x-www-form-urlencoded")) == (415, -32000)


def test_without_a_credential_a_client_is_told_where_to_come_by_one(client: Client) -> None:
    tried: list[dict[str, Any]] = [{}, {"HTTP_AUTHORIZATION": "Bearer x"}, {"HTTP_AUTHORIZATION": "Basic x"}]
    for headers in tried:
        answer = client.post("/mcp", json.dumps(PING), content_type="application/json", **headers)
        assert error_of(answer) == (401, -32000)
        metadata = "http://testserver/.well-known/oauth-protected-resource/mcp"
        assert answer["WWW-Authenticate"] == f'Bearer resource_metadata="{metadata}"'


def test_a_key_opens_with_either_header(model: Models, client: Client) -> None:
    key = building.key(role="agent")
    assert Model(client, {"HTTP_X_API_KEY": key}).post(PING).status_code == 200


@pytest.mark.parametrize("origin", ["https://evil.example", "null", "", "http://testserver.evil.example"])
def test_a_page_of_another_site_is_403_with_a_key_and_without_one(model: Models, client: Client, origin: str) -> None:
    assert error_of(model().post(PING, HTTP_ORIGIN=origin)) == (403, -32000)
    answer = client.post("/mcp", json.dumps(PING), content_type="application/json", HTTP_ORIGIN=origin)
    assert error_of(answer) == (403, -32000)


def test_this_host_s_own_pages_may_ask(model: Models, settings: Settings) -> None:
    assert model().post(PING, HTTP_ORIGIN="http://testserver").status_code == 200
    settings.OPENWOP_PUBLIC_URL = "https://console.acme.example"
    assert model().post(PING, HTTP_ORIGIN="https://console.acme.example").status_code == 200


def test_a_failure_of_the_host_is_an_internal_error_that_names_nothing(
    model: Models, monkeypatch: pytest.MonkeyPatch, client: Client
) -> None:
    def broken(*_: object, **__: object) -> None:
        raise RuntimeError("secret words")

    monkeypatch.setattr("openwop_console.mcp.tools.ledger_search.ledger_page", broken)
    client.raise_request_exception = False
    call = {**PING, "method": "tools/call", "params": {"name": "memory_search", "arguments": {"query": "x"}}}
    answer = model().post(call)
    assert error_of(answer) == (500, -32603)
    assert "secret" not in answer.content.decode()
