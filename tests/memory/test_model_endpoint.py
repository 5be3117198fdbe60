"""The distiller behind an endpoint, against a small server of our own that speaks its protocol, well or badly."""

import contextlib
import ipaddress
import json
import logging
import socket
import ssl
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, cast

import pytest
from django.core.exceptions import ImproperlyConfigured
from django.utils import timezone
from pytest_django.fixtures import Settings

from memory import model_endpoint
from memory.host import outbound, request_slots, vault
from memory.host.errors import EndpointFailed
from memory.host.models import SecretScope
from memory.memory_policy import Policy
from openwop_console import settings as configured
from tests import awaiting, building, serving
from tests.budgets import cpu_within
from tests.serving import Answers, answers

pytestmark = pytest.mark.django_db
KEY = "key-of-the-endpoint-3f9a1c"


class Model(ThreadingHTTPServer):
    """The server: it keeps what it was asked, and answers as the test says."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Asked)
        self.asked: list[tuple[str, dict[str, str], dict[str, Any]]] = []
        self.answers: Answers = says("a short text")
        self.over = threading.Event()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/v1"


class Asked(BaseHTTPRequestHandler):
    server: Model

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.asked.append((self.path, dict(self.headers), body))
        self.server.answers(self)

    def log_message(self, *_: Any) -> None:
        """A test says nothing."""


def says(content: Any) -> Answers:
    return answers(json.dumps({"choices": [{"message": {"role": "assistant", "content": content}}]}).encode())


@pytest.fixture
def model() -> Iterator[Model]:
    server = Model()
    serving = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    serving.start()
    yield server
    server.over.set()
    server.shutdown()
    server.server_close()
    serving.join()


@pytest.fixture(autouse=True)
def this_machine_is_listed(settings: Settings) -> None:
    settings.OPENWOP_OUTBOUND_ALLOW = ["127.0.0.1/32"]


@pytest.fixture
def ask(model: Model) -> Callable[..., str]:
    """``ask()`` has the endpoint of Acme's policy distil something."""
    acme = building.tenant()
    vault.store_secret(acme.id, "model-key", KEY, now=timezone.now())

    def ask(**changes: str) -> str:
        given: dict[str, Any] = {
            "endpoint_url": model.url,
            "endpoint_model": "small",
            "endpoint_secret": "model-key",
            **changes,
        }
        return model_endpoint.distil(Policy(distiller="endpoint", **given), acme.id, "Distil this.", max_tokens=77)

    return ask


def reason_of(ask: Callable[..., str], **changes: str) -> str:
    with pytest.raises(EndpointFailed) as failed:
        ask(**changes)
    assert KEY not in str(failed.value) + json.dumps(failed.value.details)
    assert failed.value.__cause__ is None
    return str(failed.value.details["reason"])


def test_the_endpoint_is_asked_in_its_protocol_with_the_key_of_the_vault(model: Model, ask: Callable[..., str]) -> None:
    assert ask() == "a short text"
    ((path, headers, body),) = model.asked
    assert path == "/v1/chat/completions"
    assert headers["Authorization"] == f"Bearer {KEY}"
    assert body == {
        "model": "small",
        "messages": [{"role": "user", "content": "Distil this."}],
        "max_tokens": 77,
        "temperature": 0,
        "seed": 0,
        "stream": False,
    }


def test_a_base_address_with_a_slash_is_the_same_one(model: Model, ask: Callable[..., str]) -> None:
    ask(endpoint_url=f"{model.url}/")
    assert model.asked[0][0] == "/v1/chat/completions"


def test_secrets_that_the_endpoint_says_are_redacted(model: Model, ask: Callable[..., str]) -> None:
    vault.store_secret(building.tenant().id, "crm", "s3cret-value-of-the-crm", now=timezone.now())
    shaped = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    model.answers = says(f"crm: s3cret-value-of-the-crm, me: {KEY}, git: {shaped}")
    said = ask()
    assert "[REDACTED:crm]" in said
    assert "[REDACTED:model-key]" in said
    assert not [secret for secret in ("s3cret-value", KEY, shaped) if secret in said]


@pytest.mark.parametrize("status", [201, 204, 301, 307, 400, 401, 429, 500, 503])
def test_any_other_status_is_a_failure_and_no_redirect_is_followed(
    model: Model, ask: Callable[..., str], status: int
) -> None:
    model.answers = answers(b"", status, Location=f"{model.url}/elsewhere")
    assert reason_of(ask) == "status"
    assert len(model.asked) == 1


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"<html>busy</html>",
        b"null",
        b"[]",
        b"{}",
        b'{"choices": []}',
        b'{"choices": [{}]}',
        b'{"choices": [{"message": {"content": null}}]}',
        b'{"choices": [{"message": {"content": 7}}]}',
        b'{"choices": [{"message": {"content": ["a"]}}]}',
        b'{"choices": "none"}',
        b'{"choices": [{"message": {"content": "\\ud800"}}]}',
        b"\xff\xfe",
        b"[" * 100_000,
    ],
)
def test_an_answer_that_is_none_is_malformed(model: Model, ask: Callable[..., str], raw: bytes) -> None:
    model.answers = answers(raw)
    assert reason_of(ask) == "malformed"


@pytest.mark.parametrize("content", ["", " \n", "\x00"])
def test_an_answer_that_says_nothing_is_empty(model: Model, ask: Callable[..., str], content: str) -> None:
    model.answers = says(content)
    assert reason_of(ask) == "empty"


def test_what_no_database_keeps_is_left_out(model: Model, ask: Callable[..., str]) -> None:
    model.answers = says("a\x00b")
    assert ask() == "ab"


def test_an_answer_beyond_the_bound_is_too_large(model: Model, ask: Callable[..., str]) -> None:
    model.answers = says("x" * model_endpoint.MAX_BYTES)
    assert reason_of(ask) == "too_large"


def test_a_compressed_answer_that_nobody_asked_for_is_malformed(model: Model, ask: Callable[..., str]) -> None:
    model.answers = answers(b"\x1f\x8b", Content_Encoding="gzip")
    assert reason_of(ask) == "malformed"


def greets(asked: BaseHTTPRequestHandler) -> None:
    asked.wfile.write(b"220 mail.example ESMTP\r\n")


def test_a_server_that_speaks_something_else_is_malformed(model: Model, ask: Callable[..., str]) -> None:
    model.answers = greets
    assert reason_of(ask) == "malformed"


def test_an_endpoint_that_hangs_is_left(model: Model, ask: Callable[..., str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model_endpoint, "TOTAL_SECONDS", 0.3)

    def hang(_: BaseHTTPRequestHandler) -> None:
        model.over.wait(5)

    model.answers = hang
    begun = time.monotonic()
    assert reason_of(ask) == "timeout"
    assert time.monotonic() - begun < 3


def test_an_endpoint_that_drips_is_left_all_the_same(
    model: Model, ask: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(model_endpoint, "TOTAL_SECONDS", 0.5)

    def drip(asked: BaseHTTPRequestHandler) -> None:
        answers(b"{", Content_Length="10000")(asked)
        while not model.over.wait(0.05):
            asked.wfile.write(b" ")

    model.answers = drip
    begun = time.monotonic()
    assert reason_of(ask) == "timeout"
    assert time.monotonic() - begun < 3


def test_an_endpoint_that_sends_interim_answers_without_end_is_left_at_once(
    model: Model, ask: Callable[..., str]
) -> None:
    def flood(asked: BaseHTTPRequestHandler) -> None:
        with contextlib.suppress(OSError):
            while not model.over.is_set():
                asked.wfile.write(b"HTTP/1.1 103 Early Hints\r\n\r\n" * 1000)

    def hint(asked: BaseHTTPRequestHandler) -> None:
        asked.wfile.write(b"HTTP/1.1 103 Early Hints\r\n\r\n" * 3)
        says("a short text")(asked)

    for answer in (flood, answers(b"", 101, Upgrade="other", Connection="upgrade")):
        model.answers = answer
        assert reason_of(ask) == "malformed"
    model.answers = hint
    assert ask() == "a short text"


def test_an_endpoint_whose_name_server_does_not_answer_is_left_all_the_same(
    model: Model, ask: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(model_endpoint, "TOTAL_SECONDS", 0.3)
    serving.resolve_late(monkeypatch, model.over)
    begun = time.monotonic()
    assert reason_of(ask, endpoint_url="http://unanswered.example/v1") == "timeout"
    assert time.monotonic() - begun < 3


@pytest.mark.engines
@pytest.mark.django_db(transaction=True)
def test_requests_that_wait_for_an_endpoint_keep_no_other_request_waiting(
    model: Model, ask: Callable[..., str]
) -> None:
    asked, said = threading.Semaphore(0), threading.Event()

    def wait(asking: BaseHTTPRequestHandler) -> None:
        asked.release()
        said.wait(20)
        says("a short text")(asking)

    def in_a_slot(compute: Callable[[], str]) -> str:
        with request_slots.hold_slot():
            return compute()

    model.answers = wait
    with ThreadPoolExecutor(initializer=request_slots.use_here) as threads:
        waiting = [threads.submit(in_a_slot, ask) for _ in range(configured.OPENWOP_WEB_THREADS)]
        assert all(asked.acquire(timeout=20) for _ in waiting)
        try:
            assert threads.submit(in_a_slot, lambda: "another").result(timeout=5) == "another"
        finally:
            said.set()
        assert {each.result(timeout=20) for each in waiting} == {"a short text"}


def test_an_endpoint_that_is_not_there_is_refused(ask: Callable[..., str]) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        nobody = f"http://127.0.0.1:{unused.getsockname()[1]}"
        assert reason_of(ask, endpoint_url=nobody) == "refused"
    assert reason_of(ask, endpoint_url="gopher://127.0.0.1") == "refused"


def test_without_a_usable_key_nobody_is_asked(model: Model, ask: Callable[..., str]) -> None:
    acme = building.tenant()
    vault.store_secret(acme.id, "ana", KEY, scope=SecretScope.USER, owner="usr_1", now=timezone.now())
    vault.store_secret(acme.id, "split", "a key\nof two lines", now=timezone.now())
    vault.store_secret(building.tenant("globex").id, "theirs", KEY, now=timezone.now())
    for name in ("none", "ana", "split", "theirs"):
        assert reason_of(ask, endpoint_secret=name) == "refused"
    assert model.asked == []


def test_the_line_end_that_a_key_was_typed_with_is_no_part_of_it(model: Model, ask: Callable[..., str]) -> None:
    vault.store_secret(building.tenant().id, "model-key", f"{KEY}\n", now=timezone.now())
    ask()
    assert model.asked[0][1]["Authorization"] == f"Bearer {KEY}"


def test_no_log_holds_the_key_or_what_was_said(
    model: Model, ask: Callable[..., str], caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.DEBUG):
        ask()
        model.answers = answers(b"garbage", 500)
        reason_of(ask)
    assert caplog.text
    assert not [word for word in (KEY, "Distil this", "a short text") if word in caplog.text]


def test_a_line_in_as_many_pieces_as_bytes_takes_time_by_its_length() -> None:
    class Pieces:
        async def aiter_raw(self) -> AsyncIterator[bytes]:
            for _ in range(200_000):
                yield b"a"
            yield b"b\nc\r\nd"

    async def read() -> list[str]:
        return [line async for line in outbound.lines(cast("Any", Pieces()), most=1_048_576)]

    with cpu_within(1.5):
        assert awaiting.awaited(read()) == ["a" * 200_000 + "b", "c", "d"]


@pytest.mark.parametrize("host", ["xn--a", "[v1.a]", "a\u2100b"])
def test_an_address_that_no_request_can_be_made_for_is_refused(ask: Callable[..., str], host: str) -> None:
    assert reason_of(ask, endpoint_url=f"https://{host}/v1") == "refused"


# --- where requests may go ------------------------------------------------------------------------------------------

CLOSED = [
    "0.0.0.0",
    "10.0.0.1",
    "100.64.0.1",
    "127.0.0.1",
    "169.254.169.254",
    "172.16.0.1",
    "192.0.0.1",
    "192.0.0.9",
    "192.0.0.255",
    "192.88.99.1",
    "192.88.99.2",
    "192.168.1.1",
    "198.18.0.1",
    "224.0.0.1",
    "240.0.0.1",
    "255.255.255.255",
    "::",
    "::1",
    "::ffff:127.0.0.1",
    "::ffff:169.254.169.254",
    "64:ff9b::7f00:1",
    "64:ff9b:1::1",
    "2001:0:4136:e378::1",
    "2002:7f00:1::1",
    "3fff::1",
    "3fff:fff::1",
    "fd00:ec2::254",
    "fe80::1",
    "fec0::1",
    "ff02::1",
]


def test_an_address_that_is_not_public_is_refused_unless_it_is_listed(settings: Settings) -> None:
    for text in CLOSED:
        address = ipaddress.ip_address(text)
        settings.OPENWOP_OUTBOUND_ALLOW = []
        assert not outbound.may_connect("models.example", address), text
        settings.OPENWOP_OUTBOUND_ALLOW = ["other.example", "203.0.113.0/24"]
        assert not outbound.may_connect("models.example", address), text
        settings.OPENWOP_OUTBOUND_ALLOW = ["Models.Example"]
        assert outbound.may_connect("models.example.", address), text
        settings.OPENWOP_OUTBOUND_ALLOW = [str(getattr(address, "ipv4_mapped", None) or address)]
        assert outbound.may_connect("models.example", address), text


@pytest.mark.parametrize(
    "text", ["1.1.1.1", "93.184.216.34", "192.0.1.1", "192.88.98.1", "3ffe::1", "2606:4700:4700::1111"]
)
def test_a_public_address_needs_no_list(settings: Settings, text: str) -> None:
    settings.OPENWOP_OUTBOUND_ALLOW = []
    assert outbound.may_connect("models.example", ipaddress.ip_address(text))


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "2130706433", "127.1", "0x7f000001", "[::ffff:127.0.0.1]"])
def test_an_endpoint_on_this_machine_is_refused_however_it_is_written(
    model: Model, ask: Callable[..., str], settings: Settings, host: str
) -> None:
    settings.OPENWOP_OUTBOUND_ALLOW = []
    assert reason_of(ask, endpoint_url=f"http://{host}:{model.server_port}/v1") == "not_allowed"
    assert model.asked == []


def test_a_name_is_connected_to_at_the_address_that_was_checked(
    model: Model, ask: Callable[..., str], settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A name server that says a public address first and a private one then leads nowhere."""
    looked: list[str] = []
    real = socket.getaddrinfo

    def changing(host: Any, *given: Any, **named: Any) -> Any:
        if host not in {"rebound.example", b"rebound.example"}:
            return real(host, *given, **named)
        looked.append(host)
        return real("127.0.0.1", *given, **named)

    monkeypatch.setattr(socket, "getaddrinfo", changing)
    url = f"http://rebound.example:{model.server_port}/v1"
    settings.OPENWOP_OUTBOUND_ALLOW = []
    assert reason_of(ask, endpoint_url=url) == "not_allowed"
    settings.OPENWOP_OUTBOUND_ALLOW = ["rebound.example"]
    looked.clear()
    assert ask(endpoint_url=url) == "a short text"
    assert len(looked) == 1, "what was checked is what was connected to"
    assert model.asked[0][1]["Host"] == f"rebound.example:{model.server_port}"


def test_the_name_of_the_server_is_what_tls_asks_for(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    """The certificate is checked against the name, although the connection is made to an address."""
    asked: list[str | None] = []
    listening = socket.create_server(("127.0.0.1", 0))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.sni_callback = lambda _, name, __: asked.append(name)

    def serve() -> None:
        with contextlib.suppress(OSError):
            context.wrap_socket(listening.accept()[0], server_side=True)

    serving = threading.Thread(target=serve, daemon=True)
    serving.start()
    acme = building.tenant()
    vault.store_secret(acme.id, "model-key", KEY, now=timezone.now())
    url = f"https://localhost:{listening.getsockname()[1]}/v1"
    policy = Policy(distiller="endpoint", endpoint_url=url, endpoint_model="small", endpoint_secret="model-key")
    with pytest.raises(EndpointFailed):
        model_endpoint.distil(policy, acme.id, "Distil this.", max_tokens=7)
    serving.join(5)
    listening.close()
    assert asked == ["localhost"]


def test_certificates_that_cannot_be_read_are_said_and_stop_no_request(
    model: Model,
    ask: Callable[..., str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
) -> None:
    (tmp_path / "empty.pem").touch()
    for bundle in (tmp_path / "missing.pem", tmp_path / "empty.pem"):
        monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(bundle))
        outbound._ssl_context.cache_clear()
        caplog.clear()
        assert ask() == "a short text"
        assert bundle.name in caplog.text
    outbound._ssl_context.cache_clear()


@pytest.mark.parametrize("text", ["10.0.0.0/33", "http://model", "a b", "300.1.1.1", "models.example:443"])
def test_a_list_that_cannot_be_meant_stops_the_start(text: str) -> None:
    with pytest.raises(ImproperlyConfigured, match="OPENWOP_OUTBOUND_ALLOW"):
        configured._host_or_network(text)
