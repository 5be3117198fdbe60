"""A small server of our own, for what this host asks of others: it keeps what it was asked, and answers as told."""

import contextlib
import json
import socket
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

Answers = Callable[[BaseHTTPRequestHandler], None]


@dataclass(frozen=True)
class Asked:
    """One request as it came in; the names of its headers are in small letters."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


class Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, host: str) -> None:
        super().__init__((host, 0), _Handler)
        self.host = host
        self.asked: list[Asked] = []
        self.answers: Answers = answers(b"fine", Content_Type="text/plain")
        self.over = threading.Event()

    @property
    def url(self) -> str:
        return f"http://{self.host}:{self.server_port}"


class _Handler(BaseHTTPRequestHandler):
    server: Server
    protocol_version = "HTTP/1.1"

    def _answer(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        named = {name.lower(): value for name, value in self.headers.items()}
        self.server.asked.append(Asked(self.command, self.path, named, body))
        self.close_connection = True
        with contextlib.suppress(ConnectionError):
            self.server.answers(self)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("do_"):
            return self._answer
        raise AttributeError(name)

    def log_message(self, *_: Any) -> None:
        """A test says nothing."""


def answers(raw: bytes, status: int = 200, **headers: str) -> Answers:
    """An answer with these bytes; ``Content_Type`` is the header ``Content-Type``."""

    def answer(asked: BaseHTTPRequestHandler) -> None:
        asked.send_response(status)
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        for name, value in {"Content-Length": str(len(raw)), **named}.items():
            asked.send_header(name, value)
        asked.end_headers()
        asked.wfile.write(raw)

    return answer


def says(value: Any, status: int = 200) -> Answers:
    """An answer that is JSON."""
    return answers(json.dumps(value).encode(), status, Content_Type="application/json")


def one_by_one(*each: Answers) -> Answers:
    """Each of these once, in order; the last one whenever it is asked again."""
    left = list(each)
    guard = threading.Lock()

    def answer(asked: BaseHTTPRequestHandler) -> None:
        with guard:
            chosen = left.pop(0) if len(left) > 1 else left[0]
        chosen(asked)

    return answer


@contextlib.contextmanager
def serving(host: str = "127.0.0.1") -> Iterator[Server]:
    """The server, listening on this machine while the block lasts."""
    server = Server(host)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.over.set()
        server.shutdown()
        server.server_close()
        thread.join()


def streams(*deltas: Any, finish: str = "stop", usage: tuple[int, int] | None = (11, 7), pause: Any = None) -> Answers:
    """A chat completion as a stream of server-sent events: a text a piece, or a whole delta; ``pause`` is called behind
    each."""

    def document(choices: list[Any], **more: Any) -> bytes:
        return f"data: {json.dumps({'choices': choices, **more})}\n\n".encode()

    def answer(asked: BaseHTTPRequestHandler) -> None:
        asked.send_response(200)
        asked.send_header("Content-Type", "text/event-stream")
        asked.end_headers()
        for delta in deltas:
            piece = {"content": delta} if isinstance(delta, str) else delta
            asked.wfile.write(document([{"index": 0, "delta": piece, "finish_reason": None}]))
            asked.wfile.flush()
            if pause:
                pause()
        asked.wfile.write(document([{"index": 0, "delta": {}, "finish_reason": finish}]))
        if usage:
            asked.wfile.write(document([], usage={"prompt_tokens": usage[0], "completion_tokens": usage[1]}))
        asked.wfile.write(b"data: [DONE]\n\n")

    return answer


def uses(*tools: tuple[str, Any], text: str = "") -> Answers:
    """A chat completion that asks for tools: the name of each with its arguments, in two pieces."""
    begun, rest = [], []
    for at, (name, arguments) in enumerate(tools):
        written = arguments if isinstance(arguments, str) else json.dumps(arguments)
        function = {"name": name, "arguments": written[:5]}
        begun.append({"index": at, "id": f"call-{at}", "type": "function", "function": function})
        rest.append({"index": at, "function": {"arguments": written[5:]}})
    return streams({"content": text, "tool_calls": begun}, {"tool_calls": rest}, finish="tool_calls")


def resolve_late(patch: pytest.MonkeyPatch, over: threading.Event) -> None:
    """Names below ``unanswered.example`` have no name server that answers: the system gives up when ``over`` is set, or
    after a while."""
    known = socket.getaddrinfo

    def wait(host: Any, *given: Any, **named: Any) -> Any:
        if not str(host).endswith("unanswered.example"):
            return known(host, *given, **named)
        over.wait(6)
        raise socket.gaierror(socket.EAI_AGAIN, "Temporary failure in name resolution")

    patch.setattr(socket, "getaddrinfo", wait)
