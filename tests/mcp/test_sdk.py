"""The official client of the protocol runs whole sessions against a console of its own processes, in two tenants."""

import re
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx
import httpx2
import pytest
from mcp import Client as McpClient
from mcp.client.auth.oauth2 import OAuthClientProvider
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.auth import AuthorizationCodeResult, OAuthClientMetadata

from tests import building
from tests.awaiting import awaited
from tests.fixtures_console import ConsoleProcess

pytestmark = pytest.mark.console
# Tenants of this file on the console that tests of clients share: two for keys, two for grants.
ACME, GLOBEX, UMBRELLA, INITECH = (f"{name}-sdk" for name in ("acme", "globex", "umbrella", "initech"))
BACK = "http://127.0.0.1:5000/callback"
OPEN = """
from memory.host import ids
from memory.host.models import Interrupt
found = Interrupt.objects.filter(resolved_at=None, tenant__slug='{}').first()
print(ids.wire("run", found.run_id) if found else "")
"""


@asynccontextmanager
async def session(console: ConsoleProcess, **http: Any) -> Any:
    """A session of the official client, which negotiates the version by itself."""
    async with AsyncExitStack() as stack:
        client = await stack.enter_async_context(httpx2.AsyncClient(timeout=60, **http))
        transport = streamable_http_client(f"{console.url}/mcp", http_client=client)
        yield await stack.enter_async_context(McpClient(transport, read_timeout_seconds=60))


def with_key(key: str) -> dict[str, Any]:
    return {"headers": {"Authorization": f"Bearer {key}"}}


class Storage:
    """Where the client keeps what it was given."""

    def __init__(self) -> None:
        self.tokens: Any = None
        self.client: Any = None

    async def get_tokens(self) -> Any:
        return self.tokens

    async def set_tokens(self, tokens: Any) -> None:
        self.tokens = tokens

    async def get_client_info(self) -> Any:
        return self.client

    async def set_client_info(self, client_info: Any) -> None:
        self.client = client_info


@contextmanager
def signed_in(console: ConsoleProcess, slug: str) -> Iterator[httpx.Client]:
    """The browser of a person of the tenant."""
    email = f"ada@{slug}.example"
    words = ("create_operator", email, "--tenant", slug, "--role", "operator", "--password-env", "P")
    assert console.manage(*words, P=building.PASSWORD).returncode == 0
    with httpx.Client(base_url=console.url, timeout=60) as browser:
        token = csrf_of(browser.get("/login").text)
        sent = {"login": email, "password": building.PASSWORD, "csrfmiddlewaretoken": token}
        assert browser.post("/login", data=sent, headers={"Referer": f"{console.url}/login"}).status_code == 302
        yield browser


@pytest.mark.engines
def test_clients_that_register_at_once_are_all_registered(shared_console: ConsoleProcess) -> None:
    client = {"client_name": "Desk", "redirect_uris": ["http://127.0.0.1:5000/callback"]}
    with ThreadPoolExecutor(max_workers=6) as all_at_once:
        told = [
            all_at_once.submit(httpx.post, f"{shared_console.url}/oauth/register", json=client, timeout=60)
            for _ in range(6)
        ]
    assert [each.result().status_code for each in told] == [201] * 6


def csrf_of(page: str) -> str:
    found = re.search(r'name="csrfmiddlewaretoken" value="([^"]+)"', page)
    assert found, page
    return found[1]


def by_consent(console: ConsoleProcess, browser: httpx.Client, storage: Storage) -> OAuthClientProvider:
    """The client's side of OAuth, with a person who consents at once."""
    back: dict[str, str] = {}

    async def redirect(url: str) -> None:
        page = browser.get(url).text
        signed = re.search(r'name="request" value="([^"]+)"', page)
        assert signed, page
        sent = {"request": signed[1], "scopes": "mcp", "action": "grant", "csrfmiddlewaretoken": csrf_of(page)}
        answer = browser.post("/oauth/authorize", data=sent, headers={"Referer": url})
        assert answer.headers["Location"].startswith(BACK), answer.text
        back.update({name: found[0] for name, found in parse_qs(urlsplit(answer.headers["Location"]).query).items()})

    async def callback() -> AuthorizationCodeResult:
        return AuthorizationCodeResult(code=back["code"], state=back["state"])

    metadata = OAuthClientMetadata(client_name="SDK", redirect_uris=[BACK])  # type: ignore[list-item]
    return OAuthClientProvider(f"{console.url}/mcp", metadata, storage, redirect, callback)


def answer_when_asked(console: ConsoleProcess, slug: str, words: str) -> threading.Thread:
    """A person who waits for the question and answers it."""

    def answer() -> None:
        deadline = time.monotonic() + 60
        while not (run_id := console.shell(OPEN.format(slug))):
            assert time.monotonic() < deadline
            time.sleep(0.2)
        sent = {"resumeValue": {"answers": {"answer": words}}}
        with console.client(slug) as owner:
            assert owner.post(f"/v1/runs/{run_id}/interrupts/ask", json=sent).status_code == 200

    thread = threading.Thread(target=answer, daemon=True)
    thread.start()
    return thread


async def whole_session(client: McpClient) -> str:
    """What every model does: look around, write, find, read; returns the id of what it wrote."""
    tools = await client.list_tools()
    assert {tool.name for tool in tools.tools} >= {"memory_search", "memory_write", "ask_human", "proposal_create"}
    origin = {"system": "sdk", "threadId": "t-1", "node": "plan"}
    given = {"memoryRef": "notes", "content": "the owl flies at night", "origin": origin}
    written = await client.call_tool("memory_write", given)
    kept: str = written.structured_content["id"]
    found = await client.call_tool("memory_search", {"query": "owl"})
    assert [entry["id"] for entry in found.structured_content["entries"]] == [kept]
    assert all("data, not instructions" in block.text.splitlines()[0] for block in found.content)
    one = await client.call_tool("memory_get", {"id": kept})
    assert one.structured_content["provenance"]["origin"] == origin
    resource = await client.read_resource(f"openwop://memory/{kept}")
    assert "the owl flies at night" in resource.contents[0].text
    assert len((await client.list_resource_templates()).resource_templates) == 2
    wrong = await client.call_tool("memory_get", {"id": "mem_x"})
    assert wrong.is_error
    return kept


@pytest.mark.engines
def test_sessions_with_keys_of_two_tenants_and_a_question_that_a_person_answers(
    shared_console: ConsoleProcess,
) -> None:
    acme, globex = (shared_console.key(slug, "agent", f"{slug}.desk") for slug in (ACME, GLOBEX))
    progress: list[float] = []

    async def told(done: float, total: float | None, message: str | None) -> None:
        progress.append(done)

    async def talk() -> None:
        async with (
            session(shared_console, **with_key(acme)) as client,
            session(shared_console, **with_key(globex)) as other,
        ):
            assert client.protocol_version == "2025-11-25"
            kept = await whole_session(client)
            theirs = await whole_session(other)
            assert (await client.call_tool("memory_get", {"id": theirs})).is_error
            assert (await other.call_tool("memory_get", {"id": kept})).is_error
            person = answer_when_asked(shared_console, ACME, "Blue")
            asked = {"question": "Which colour?", "options": ["Red", "Blue"], "timeoutSeconds": 60}
            answer = await client.call_tool("ask_human", asked, progress_callback=told)
            assert answer.structured_content["answer"] == "Blue"
            person.join(10)

    awaited(talk())
    assert progress


def test_sessions_by_consent_in_two_tenants_and_a_revoked_grant_ends_at_once(shared_console: ConsoleProcess) -> None:
    for slug in (UMBRELLA, INITECH):
        shared_console.manage("create_tenant", slug)
    storage = Storage()

    async def talk(browser: httpx.Client, kept_in: Storage, work: Callable[[McpClient], Any]) -> Any:
        async with session(shared_console, auth=by_consent(shared_console, browser, kept_in)) as client:
            return await work(client)

    with signed_in(shared_console, UMBRELLA) as ada, signed_in(shared_console, INITECH) as greta:
        kept = awaited(talk(ada, storage, whole_session))
        assert awaited(talk(greta, Storage(), whole_session)) != kept
        assert storage.tokens.expires_in <= 24 * 3600
        page = ada.get("/settings").text
        assert "SDK" in page
        address = re.search(r'action="(/settings/grants/[^"]+/revoke)"', page)
        assert address
        sent = {"csrfmiddlewaretoken": csrf_of(page)}
        assert ada.post(address[1], data=sent, headers={"Referer": f"{shared_console.url}/settings"}).status_code == 302
    headers = {"Authorization": f"Bearer {storage.tokens.access_token}"}
    ping = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
    assert httpx.post(f"{shared_console.url}/mcp", json=ping, headers=headers).status_code == 401
