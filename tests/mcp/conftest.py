"""A client of ``/mcp`` with one key, that says what the answers mean."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
from django.test import Client

from tests import building


@dataclass
class Model:
    """A model's side of the protocol."""

    client: Client
    headers: dict[str, Any]

    def post(self, body: object, **headers: Any) -> Any:
        """The answer of HTTP to a body, which is sent as it is when it is bytes."""
        raw = body if isinstance(body, bytes) else json.dumps(body).encode()
        given = {"HTTP_ACCEPT": "application/json, text/event-stream", **self.headers, **headers}
        return self.client.post("/mcp", raw, content_type=given.pop("content_type", "application/json"), **given)

    def ask(self, method: str, **params: Any) -> dict[str, Any]:
        """The whole answer of JSON-RPC to a request."""
        answer = self.post({"jsonrpc": "2.0", "id": 7, "method": method, "params": params})
        assert answer.status_code == 200, answer.content
        document: dict[str, Any] = answer.json()
        assert document["id"] == 7
        return document

    def result(self, method: str, **params: Any) -> dict[str, Any]:
        answer = self.ask(method, **params)
        assert "result" in answer, answer
        found: dict[str, Any] = answer["result"]
        return found

    def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """What a tool answers."""
        return self.result("tools/call", name=tool, arguments=arguments)


@pytest.fixture
def model(client: Client) -> Callable[..., Model]:
    """``model(slug, role)``: a model with a fresh key."""

    def made(slug: str = "acme", role: str = "agent", **options: Any) -> Model:
        return Model(client, building.headers(slug, role, **options))

    return made


def texts(result: dict[str, Any]) -> list[str]:
    return [block["text"] for block in result["content"]]
