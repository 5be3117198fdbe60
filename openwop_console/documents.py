"""Documents that are the same for every caller, answered from memory once the console has answered them.

Each goes through Django first, with its checks and headers, once for each host and scheme that it is asked under. A
request with a query, or of another method than GET, always goes through.
"""

import time
from collections.abc import Mapping
from dataclasses import dataclass
from math import inf

Headers = list[tuple[str, str]]

# For how many seconds an answer is given again. Discovery may be cached by clients for longer than this.
SECONDS = {"/healthz": inf, "/v1/openapi.json": inf, "/.well-known/openwop": 60.0}
OF_A_BODY = frozenset({"content-length", "content-type"})
MOST = 64
Key = tuple[str, str, str]


@dataclass(frozen=True, slots=True)
class Answer:
    """A whole answer, as it is sent."""

    status: int
    headers: Headers
    body: bytes


@dataclass(frozen=True, slots=True)
class _Kept:
    answer: Answer
    etag: str
    until: float


class Documents:
    """The answers that one process keeps."""

    def __init__(self) -> None:
        self._kept: dict[Key, _Kept] = {}

    def find(self, environ: Mapping[str, str]) -> Answer | None:
        """The answer to this request; None when it has to be computed."""
        key = _key_of(environ)
        found = self._kept.get(key) if key else None
        if found is None or time.monotonic() >= found.until:
            return None
        if found.etag and environ.get("HTTP_IF_NONE_MATCH") == found.etag:
            kept = [pair for pair in found.answer.headers if pair[0].lower() not in OF_A_BODY]
            return Answer(304, kept, b"")
        return found.answer

    def keep(self, environ: Mapping[str, str], answer: Answer) -> None:
        """Give ``answer`` again, if it is one of the documents and whole."""
        key = _key_of(environ)
        if key is None or answer.status != 200 or (key not in self._kept and len(self._kept) >= MOST):
            return
        etag = {name.lower(): value for name, value in answer.headers}.get("etag", "")
        self._kept[key] = _Kept(answer, etag, time.monotonic() + SECONDS[key[0]])


def _key_of(environ: Mapping[str, str]) -> Key | None:
    path = environ["PATH_INFO"]
    if path not in SECONDS or environ["REQUEST_METHOD"] != "GET" or environ.get("QUERY_STRING"):
        return None
    return path, environ.get("HTTP_HOST", ""), environ.get("HTTP_X_FORWARDED_PROTO", "")
