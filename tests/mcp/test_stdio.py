"""``openwop-console mcp``: messages over standard input and output, passed on to the console."""

import io
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import httpx
import pytest
from django.conf import settings as configuration

from openwop_console_client import stdio
from tests import building
from tests.in_process import Application

pytestmark = pytest.mark.django_db
INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 0,
    "method": "initialize",
    "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}},
}


def spoken(transport: httpx.BaseTransport, *messages: object, key: str = "") -> list[dict[str, Any]]:
    """What the program says to these messages, in the thread of the test."""
    output = io.StringIO()
    proxy = stdio.Proxy("http://console.test/", key or building.key(role="agent"), output, transport=transport)
    for message in messages:
        proxy.pass_on(message)
    return [json.loads(line) for line in output.getvalue().splitlines()]


def test_requests_are_answered_and_notifications_are_not(application: Application) -> None:
    seen: list[str | None] = []

    class Watched(httpx.BaseTransport):
        def handle_request(self, request: httpx.Request) -> httpx.Response:
            seen.append(request.headers.get("MCP-Protocol-Version"))
            return application.handle_request(request)

    ready, tools = {"jsonrpc": "2.0", "method": "notifications/initialized"}, {"jsonrpc": "2.0", "id": "b"}
    begun, listed = spoken(Watched(), INITIALIZE, ready, {**tools, "method": "tools/list"})
    assert begun["result"]["protocolVersion"] == "2025-06-18"
    assert (listed["id"], len(listed["result"]["tools"])) == ("b", 6)
    assert seen == [None, "2025-06-18", "2025-06-18"]


def test_a_refusal_of_the_whole_request_is_the_answer_to_it(application: Application) -> None:
    [refused] = spoken(application, {"jsonrpc": "2.0", "id": 7, "method": "ping"}, key="owk_x")
    assert (refused["id"], refused["error"]["data"]["error"]) == (7, "unauthenticated")


def test_a_console_that_does_not_answer_and_an_answer_that_is_none_are_errors() -> None:
    def fail(request: httpx.Request) -> httpx.Response:
        raise httpx.ConnectError("no")

    ping = {"jsonrpc": "2.0", "id": 7, "method": "ping"}
    for transport in (httpx.MockTransport(fail), httpx.MockTransport(lambda _: httpx.Response(502, text="<html>"))):
        [answer] = spoken(transport, ping, {"jsonrpc": "2.0", "method": "notifications/initialized"})
        assert (answer["id"], answer["error"]["code"]) == (7, -32000)


def test_a_stream_is_passed_on_message_by_message() -> None:
    body = (
        b':keepalive\n\nevent: message\ndata: {"method": "notifications/progress"}\n\ndata: {"id": 7, "result": {}}\n\n'
    )
    answer = httpx.Response(200, headers={"Content-Type": "text/event-stream"}, content=body)
    ping = {"jsonrpc": "2.0", "id": 7, "method": "tools/call"}
    assert spoken(httpx.MockTransport(lambda _: answer), ping) == [
        {"method": "notifications/progress"},
        {"id": 7, "result": {}},
    ]


def test_lines_come_in_and_go_out_until_the_client_closes_its_end() -> None:
    output = io.StringIO()
    echo = httpx.MockTransport(lambda request: httpx.Response(200, json={"id": json.loads(request.content)["id"]}))
    proxy = stdio.Proxy("http://console.test/mcp", "k", output, transport=echo)
    proxy.run(iter(["\n", "{\n", *(json.dumps({"id": number, "method": "ping"}) for number in range(20))]))
    told = [json.loads(line) for line in output.getvalue().splitlines()]
    assert told[0]["error"]["code"] == -32700
    assert {each["id"] for each in told[1:]} == set(range(20))


def test_the_program_says_what_it_needs() -> None:
    folder = Path(configuration.BASE_DIR) / "client"
    environment = {name: value for name, value in os.environ.items() if not name.startswith("OPENWOP_")}
    run = "import sys; from openwop_console_client.stdio import main; sys.exit(main())"
    done = subprocess.run(
        [sys.executable, "-c", run, "mcp"], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert "OPENWOP_URL and OPENWOP_API_KEY not set" in done.stderr


def test_the_program_says_what_is_wrong_with_how_it_was_called(capsys: pytest.CaptureFixture[str]) -> None:
    both = {"OPENWOP_URL": "http://console.test", "OPENWOP_API_KEY": "k"}
    for words, environment, told in (
        (["mcp"], {"OPENWOP_URL": "http://console.test"}, "OPENWOP_API_KEY not set"),
        (["mcp"], both | {"OPENWOP_URL": "console.test:8000"}, "OPENWOP_URL must begin with http:// or https://"),
        (["serve"], both, "the one command is mcp"),
        ([], both, "the one command is mcp"),
    ):
        assert stdio.main(words, environment) == 2
        said = capsys.readouterr()
        assert told in said.err
        assert said.out == ""
    assert stdio.main(["mcp", "--help"], {}) == 0
    assert "usage: openwop-console mcp" in capsys.readouterr().out
