"""``core.mcp.tool``: a tool of a server that speaks MCP, the official one among them, and the servers of a tenant."""

import asyncio
import json
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from typing import Any

import pytest
from django.utils import timezone
from pytest_django.fixtures import Settings

from memory.host import vault
from memory.host.errors import Conflict, Forbidden, Invalid, NotFound
from memory.host.models import AuditRecord, Run
from memory.models import KeptCall
from openwop_console.runtime import mcp_servers, replay, run_operations
from openwop_console.runtime.models import McpServer, Step
from openwop_console.runtime.replay import ForkRequest
from openwop_console.runtime.run_operations import RunRequest
from tests import building, serving
from tests.building import types_of
from tests.serving import Server

pytestmark = pytest.mark.django_db
TOKEN = "token-of-the-tools-51be77"
CONFIG = {"server": "tools", "tool": "add", "arguments": {"a": "{{a}}", "b": 2}}


@pytest.fixture(autouse=True)
def this_machine_is_listed(settings: Settings) -> None:
    settings.OPENWOP_OUTBOUND_ALLOW = ["127.0.0.1/32"]


@pytest.fixture
def server() -> Iterator[Server]:
    with serving.serving() as found:
        found.answers = speaks()
        yield found


def speaks(result: Any = None, *, stream: bool = False, version: str = "2025-11-25", error: Any = None) -> Any:
    """A server that speaks the protocol, as far as one call needs it."""
    found = {"content": [{"type": "text", "text": "3"}], "structuredContent": {"sum": 3}} if result is None else result

    def answer(asked: BaseHTTPRequestHandler) -> None:
        server: Any = asked.server
        if asked.command == "DELETE":
            return serving.answers(b"", 200)(asked)
        message = server.asked[-1].json
        if "id" not in message:
            return serving.answers(b"", 202)(asked)
        if message["method"] == "initialize":
            said: Any = {"result": {"protocolVersion": version, "capabilities": {}, "serverInfo": {"name": "s"}}}
        else:
            said = {"error": error} if error else {"result": found}
        raw = json.dumps({"jsonrpc": "2.0", "id": message["id"], **said}).encode()
        note = json.dumps({"jsonrpc": "2.0", "method": "notifications/message", "params": {}}).encode()
        if stream:
            raw = b"event: message\ndata: " + note + b"\n\n: alive\n\nevent: message\ndata: " + raw + b"\n\n"
        kind = "text/event-stream" if stream else "application/json"
        return serving.answers(raw, Content_Type=kind, Mcp_Session_Id="session-1")(asked)

    return answer


def put(url: str, *, slug: str = "acme", **more: Any) -> None:
    mcp_servers.put_server(building.scope(slug), "tools", url, now=timezone.now(), **more)


def install(config: dict[str, Any] | None = None, **options: Any) -> None:
    node = building.node("use", "core.mcp.tool", config or CONFIG, **options) | {
        "inputs": {"a": building.from_input("a")}
    }
    building.install("acme", building.definition("using", node))


def executed(config: dict[str, Any] | None = None, **options: Any) -> Run:
    install(config, **options)
    return building.execute(building.scope(), "using", a=1)


def outputs_of(run: Run) -> Any:
    return Step.objects.of(run.tenant_id).get(run_id=run.id).outputs


def code_of(run: Run) -> Any:
    assert run.status == "failed"
    return run.error["code"]


@pytest.fixture
def official() -> Iterator[str]:
    """The address of a server made with the official package, in a thread of this process."""
    package, uvicorn = pytest.importorskip("mcp.server"), pytest.importorskip("uvicorn")
    tools = package.MCPServer("tools")

    @tools.tool()  # type: ignore[untyped-decorator]
    def add(a: int, b: int) -> int:
        """Add two numbers."""
        return a + b

    served = uvicorn.Server(uvicorn.Config(tools.streamable_http_app(), port=0, log_level="error"))
    thread = threading.Thread(target=lambda: asyncio.run(served.serve()), daemon=True)
    thread.start()
    while not served.started:
        time.sleep(0.01)
    port = served.servers[0].sockets[0].getsockname()[1]
    yield f"http://127.0.0.1:{port}/mcp"
    served.should_exit = True
    thread.join()


def test_a_tool_of_the_official_server_is_called(official: str) -> None:
    put(official)
    run = executed()
    assert run.status == "completed", run.error
    assert outputs_of(run)["text"] == "3"
    assert outputs_of(run)["structuredContent"] == {"result": 3}


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("version", ["2025-11-25", "2025-06-18"])
def test_a_session_is_opened_used_and_ended_with_the_key_of_the_vault(
    server: Server, stream: bool, version: str
) -> None:
    vault.store_secret(building.tenant().id, "tools-key", TOKEN, now=timezone.now())
    server.answers = speaks(stream=stream, version=version)
    put(f"{server.url}/mcp", secret="tools-key")
    run = executed()
    assert run.status == "completed", run.error
    assert outputs_of(run) == {
        "text": "3",
        "content": [{"type": "text", "text": "3"}],
        "structuredContent": {"sum": 3},
    }
    opened, noted, called, ended = server.asked
    assert opened.json["params"]["protocolVersion"] == "2025-11-25"
    assert noted.json == {"jsonrpc": "2.0", "method": "notifications/initialized"}
    assert called.json["params"] == {"name": "add", "arguments": {"a": 1, "b": 2}}
    assert (called.headers["mcp-session-id"], called.headers["mcp-protocol-version"]) == ("session-1", version)
    assert "idempotency-key" in called.headers
    assert "idempotency-key" not in opened.headers
    assert ended.method == "DELETE"
    assert {asked.headers["authorization"] for asked in server.asked} == {f"Bearer {TOKEN}"}
    kept = KeptCall.objects.of(run.tenant_id).get()
    assert TOKEN not in json.dumps([kept.request, kept.answer])


def test_what_a_tool_says_of_the_key_is_redacted(server: Server) -> None:
    vault.store_secret(building.tenant().id, "tools-key", TOKEN, now=timezone.now())
    server.answers = speaks({"content": [{"type": "text", "text": f"sent {TOKEN}"}]})
    put(server.url, secret="tools-key")
    assert outputs_of(executed())["text"] == "sent [REDACTED:tools-key]"


def test_an_answer_that_cannot_be_used_fails_the_node_with_its_code(server: Server) -> None:
    put(server.url)
    for answer, code in (
        (speaks({"content": [{"type": "text", "text": "no"}], "isError": True}), "tool_error"),
        (speaks(error={"code": -32602, "message": "unknown tool"}), "tool_error"),
        (speaks({"content": "text"}), "malformed"),
        (speaks({"content": [{"type": "text", "text": "x" * 1_100_000}]}), "too_large"),
        (speaks({"content": [{"type": "text", "text": "x" * 1_100_000}]}, stream=True), "too_large"),
        (speaks(version="1999-01-01"), "malformed"),
        (serving.answers(b"", 401), "status"),
        (serving.answers(b"", 307, Location="/elsewhere"), "status"),
        (serving.answers(b"<html>", Content_Type="text/html"), "malformed"),
        (serving.answers(b"[]", Content_Type="application/json"), "malformed"),
        (speaks("text"), "malformed"),
        (serving.answers(b": nothing\n\n", Content_Type="text/event-stream"), "malformed"),
        (serving.answers(b"{}", Content_Type="application/json", Mcp_Session_Id="session-\xe9"), "malformed"),
    ):
        with building.undone():
            server.answers = answer
            assert code_of(executed()) == code, (answer, code)


def test_a_call_that_cannot_be_sent_is_not_sent(server: Server) -> None:
    vault.store_secret(building.tenant().id, "tools-key", "two\nlines-of-51be77", now=timezone.now())
    put(server.url, secret="tools-key")
    assert code_of(executed()) == "refused"
    put(server.url)
    assert code_of(building.execute(building.scope(), "using", a="x" * mcp_servers.MAX_BYTES)) == "too_large"
    assert server.asked == []


def test_a_tenant_has_so_many_servers_and_no_more(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mcp_servers, "MAX_SERVERS", 1)
    put(server.url)
    put(server.url)
    with pytest.raises(Conflict):
        mcp_servers.put_server(building.scope(), "others", server.url, now=timezone.now())


def test_a_server_that_hangs_is_left_in_time(server: Server) -> None:
    server.answers = lambda asked: asked.server.over.wait(5)  # type: ignore[attr-defined]
    put(server.url)
    began = time.monotonic()
    assert code_of(executed(settings={"timeout": 300})) == "timeout"
    assert time.monotonic() - began < 3


def test_a_name_without_a_server_and_a_server_of_another_tenant_are_none(server: Server) -> None:
    put(server.url, slug="globex")
    assert code_of(executed()) == "server_missing"
    assert server.asked == []


def test_an_agent_needs_the_tool_of_that_server_on_its_allowlist(server: Server) -> None:
    put(server.url)
    building.install_agent("acme", {"agentId": "private.acme.user", "toolAllowlist": ["mcp:tools.subtract"]})
    assert code_of(executed(agent={"agentId": "private.acme.user"})) == "tool_not_allowed"
    building.install_agent(
        "acme", {"agentId": "private.acme.user", "toolAllowlist": ["mcp:tools.add"], "packVersion": "1.1.0"}
    )
    assert building.execute(building.scope(), "using", a=1).status == "completed"


def test_a_killed_worker_s_call_is_made_again_and_a_replay_makes_none(
    server: Server,
) -> None:
    put(server.url)
    install()
    run = run_operations.create_run(building.scope(), RunRequest("using", inputs={"a": 1}), now=timezone.now())
    building.killed_at_answer(run)
    made = [asked.headers["idempotency-key"] for asked in server.asked if b"tools/call" in asked.body]
    assert (len(made), len(set(made))) == (2, 1)
    again = building.advance(replay.fork(building.scope(), run.id, ForkRequest("replay"), now=timezone.now()))
    assert again.status == "completed", again.error
    assert len([asked for asked in server.asked if b"tools/call" in asked.body]) == 2
    assert types_of(again).count("console.call.answered") == 1


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"server": "Tools!"}, "config.server"),
        ({"arguments": []}, "config.arguments"),
        ({"timeout": 3}, "config"),
    ],
)
def test_a_config_that_cannot_be_honoured_is_refused_by_field(change: dict[str, Any], field: str) -> None:
    with pytest.raises(Invalid) as refused:
        install({**CONFIG, **change})
    assert [each["field"] for each in refused.value.details["errors"]] == [f"$.nodes[0].{field}"]


# The servers of a tenant.


@pytest.mark.engines
def test_servers_are_kept_listed_and_removed_by_name_and_each_change_is_audited(client: Any) -> None:
    owner = building.headers()
    vault.store_secret(building.tenant().id, "tools-key", TOKEN, now=timezone.now())
    address, body = "/v1/host/console/mcp-servers/tools", {"url": "https://tools.example/mcp", "secret": "tools-key"}

    def ask(method: str, path: str = address, body: Any = None, given: Any = owner) -> Any:
        return client.generic(method, path, json.dumps(body) if body else "", "application/json", **given)

    made = ask("PUT", body=body)
    assert (made.status_code, made.json()["secret"]) == (201, "tools-key")
    assert ask("PUT", body={"url": "https://tools.example/v2"}).status_code == 200
    listed = ask("GET", "/v1/host/console/mcp-servers").json()
    assert [(each["url"], each["secret"]) for each in listed["servers"]] == [("https://tools.example/v2", None)]
    assert ask("GET", "/v1/host/console/mcp-servers", given=building.headers("globex")).json()["total"] == 0
    assert ask("DELETE", given=building.headers("globex")).status_code == 404
    assert ask("DELETE", given=building.headers(role="author")).status_code == 403
    assert ask("DELETE").status_code == 204
    assert ask("DELETE").status_code == 404
    acts = AuditRecord.objects.of(building.tenant().id).filter(action__startswith="mcp_server").order_by("seq")
    assert [row.action for row in acts] == ["mcp_server.set", "mcp_server.set", "mcp_server.removed"]


def test_a_server_that_could_not_be_asked_is_refused() -> None:
    acme = building.scope()
    for name, url, field in (
        ("tools", "ftp://tools.example", "url"),
        ("tools", "http://tools.example", "url"),
        ("tools", "https://me:pw@tools.example", "url"),
        ("tools", "http://[", "url"),
        ("tools", "http://[::1", "url"),
        ("tools", "http://a\u2100b/", "url"),
        ("tools", "https://xn--a/", "url"),
        ("tools", "https://tools.example:99999/", "url"),
        ("tools", "https://tools.example/\x7f", "url"),
        ("tools", "https://tools.example/\ud800", "url"),
        ("Tools", "https://tools.example", "name"),
    ):
        with pytest.raises(Invalid) as refused:
            mcp_servers.put_server(acme, name, url, now=timezone.now())
        assert [each["field"] for each in refused.value.details["errors"]] == [field], (name, url, field)


def test_an_operator_keeps_servers_and_names_no_secret() -> None:
    vault.store_secret(building.tenant().id, "tools-key", TOKEN, now=timezone.now())
    operator = building.scope(role="operator")
    mcp_servers.put_server(operator, "tools", "https://tools.example", now=timezone.now())
    with pytest.raises(Forbidden):
        mcp_servers.put_server(operator, "tools", "https://x.example", secret="tools-key", now=timezone.now())
    with pytest.raises(Invalid):
        mcp_servers.put_server(building.scope(), "tools", "https://x.example", secret="none", now=timezone.now())
    assert McpServer.objects.of(operator.tenant_id).get().url == "https://tools.example"


def test_a_server_that_is_not_there_is_not_removed() -> None:
    with pytest.raises(NotFound):
        mcp_servers.remove_server(building.scope(), "tools", now=timezone.now())
