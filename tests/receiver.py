"""A receiver of webhooks: a small server of our own that keeps what it was sent, and answers as the test says."""

import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import orjson

Answers = Callable[[BaseHTTPRequestHandler], None]


class Receiver(ThreadingHTTPServer):
    """Listening from the beginning, and serving until it is closed."""

    daemon_threads = True
    request_queue_size = 64

    def __init__(self, answers: Answers | None = None) -> None:
        super().__init__(("127.0.0.1", 0), _Received)
        self.received: list[Received] = []
        self.answers = answers or answer(204)
        self.over = threading.Event()
        self._serving = threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        self._serving.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/hook?team=7"

    def close(self) -> None:
        self.over.set()
        self.shutdown()
        self.server_close()
        self._serving.join()


class Received:
    """One request: its headers, and its body as it came."""

    def __init__(self, path: str, headers: dict[str, str], raw: bytes) -> None:
        self.path, self.headers, self.raw = path, headers, raw

    @property
    def body(self) -> Any:
        return orjson.loads(self.raw)


class _Received(BaseHTTPRequestHandler):
    server: Receiver

    def do_POST(self) -> None:
        raw = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.received.append(Received(self.path, dict(self.headers), raw))
        self.server.answers(self)

    def log_message(self, *_: Any) -> None:
        """A test says nothing."""


def answer(status: int, **headers: str) -> Answers:
    def say(asked: BaseHTTPRequestHandler) -> None:
        asked.send_response(status)
        for name, value in headers.items():
            asked.send_header(name, value)
        asked.end_headers()

    return say


def hang(asked: BaseHTTPRequestHandler) -> None:
    """Answer nothing until the receiver is closed."""
    asked.server.over.wait(60)  # type: ignore[attr-defined]
