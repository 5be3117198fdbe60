"""An embeddings endpoint of our own: it turns words into vectors, the same for words that mean the same."""

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from hashlib import shake_256
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import numpy as np
from django.core.cache import caches
from django.utils import timezone

from memory import memory_policy
from memory.host import vault
from tests import building

KEY = "key-of-the-embeddings-77ab12"
NUMBERS = 256
# Words that mean the same.
SAME = {
    "automobile": "car",
    "vehicle": "car",
    "repaired": "mend",
    "fixing": "mend",
    "physician": "doctor",
    "surgeon": "doctor",
}
Answer = tuple[int, bytes]


def vector_of(text: str, model: str = "small", numbers: int = NUMBERS) -> list[float]:
    """The sum of the vectors of the words, each of which is drawn from the word's digest."""
    words = [SAME.get(word, word) for word in text.lower().replace(".", " ").replace("?", " ").split()]
    drawn = [np.frombuffer(shake_256(f"{model} {word}".encode()).digest(numbers), np.int8) for word in words]
    found: list[float] = sum((each.astype(np.float64) for each in drawn), np.zeros(numbers)).tolist()
    return found


def vectors(body: dict[str, Any]) -> Answer:
    """What a sound endpoint answers."""
    data = [{"index": n, "embedding": vector_of(text, body["model"])} for n, text in enumerate(body["input"])]
    return 200, json.dumps({"data": data[::-1]}).encode()


class Endpoint(ThreadingHTTPServer):
    """It keeps what it was asked, and answers as the test says."""

    daemon_threads = True

    def handle_error(self, *_: Any) -> None:
        """Whoever asked may have gone."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Asked)
        self.asked: list[dict[str, Any]] = []
        self.answers: Callable[[dict[str, Any]], Answer] = vectors
        self.over = threading.Event()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/v1"

    @property
    def texts(self) -> list[str]:
        return [text for body in self.asked for text in body["input"]]


class _Asked(BaseHTTPRequestHandler):
    server: Endpoint

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        assert (self.path, self.headers["Authorization"]) == ("/v1/embeddings", f"Bearer {KEY}")
        self.server.asked.append(body)
        status, raw = self.server.answers(body)
        self.send_response(status)
        self.send_header("Content-Length", str(len(raw)))
        self.send_header("Location", f"{self.server.url}/embeddings")
        self.end_headers()
        self.wfile.write(raw)

    def log_message(self, *_: Any) -> None:
        """A test says nothing."""


@contextmanager
def serving() -> Iterator[Endpoint]:
    server = Endpoint()
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    caches["process"].clear()
    yield server
    server.over.set()
    server.shutdown()
    server.server_close()
    thread.join()


def switch_on(slug: str, endpoint: Endpoint, model: str = "small") -> None:
    """The tenant's policy names the endpoint."""
    now = timezone.now()
    vault.store_secret(building.tenant(slug).id, "embedding-key", KEY, now=now)
    named = {"embedding_url": endpoint.url, "embedding_model": model, "embedding_secret": "embedding-key"}
    memory_policy.change(building.scope(slug), named, now=now)
