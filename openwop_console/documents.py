"""Documents that are the same for every caller, sent from memory once the console has answered them.

They say what settings, code and signing keys say, all of which a process reads when it starts; nothing that is stored
is in them. Each goes through Django first, with its checks and headers, once for each host and scheme that it is asked
under. A request with a query, with a header twice, or of another method than GET, always goes through.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from memory.host.json_types import JSONObject

Headers = list[tuple[str, str]]
Messages = tuple[JSONObject, JSONObject]

HEALTH = "/healthz"
PATHS = frozenset(
    {
        HEALTH,
        "/v1/openapi.json",
        "/.well-known/openwop",
        "/.well-known/openintent.json",
        "/.well-known/openintent-compat.json",
    }
)
RAW_PATHS = frozenset(path.encode() for path in PATHS)
OF_A_BODY = frozenset({b"content-length", b"content-type"})
MOST = 64
Key = tuple[bytes, bytes, bytes]


@dataclass(frozen=True, slots=True)
class Answer:
    """A whole answer."""

    status: int
    headers: Headers
    body: bytes


@dataclass(frozen=True, slots=True)
class _Kept:
    """What is sent of a document, and what to a client that has it already."""

    etag: bytes
    whole: Messages
    unchanged: Messages


class Documents:
    """The answers that one process keeps."""

    def __init__(self) -> None:
        self._kept: dict[Key, _Kept] = {}

    def find(self, scope: JSONObject) -> Messages | None:
        """What to send to this request; None when its answer has to be computed."""
        path = scope["raw_path"]
        if path not in RAW_PATHS or scope["method"] != "GET" or scope["query_string"]:
            return None
        pairs = scope["headers"]
        headers = dict(pairs)
        if len(headers) != len(pairs):
            return None
        found = self._kept.get(_key(path, headers.get(b"host", b""), headers.get(b"x-forwarded-proto", b"")))
        if found and found.etag and headers.get(b"if-none-match") == found.etag:
            return found.unchanged
        return found.whole if found else None

    def keep(self, environ: Mapping[str, str], answer: Answer) -> None:
        """Send ``answer`` again, if it is one of the documents and whole."""
        path = environ["PATH_INFO"]
        if path not in PATHS or environ["REQUEST_METHOD"] != "GET" or environ.get("QUERY_STRING"):
            return
        names = ("HTTP_HOST", "HTTP_X_FORWARDED_PROTO")
        host, scheme = (environ.get(name, "").encode("latin-1") for name in names)
        key = _key(path.encode(), host, scheme)
        if answer.status != 200 or (key not in self._kept and len(self._kept) >= MOST):
            return
        headers = encoded(answer.headers)
        without_body = [pair for pair in headers if pair[0] not in OF_A_BODY]
        etag = dict(headers).get(b"etag", b"")
        self._kept[key] = _Kept(etag, _messages(200, headers, answer.body), _messages(304, without_body, b""))


def encoded(headers: Headers) -> list[tuple[bytes, bytes]]:
    """``headers`` as they are sent."""
    return [(name.lower().encode("latin-1"), value.strip().encode("latin-1")) for name, value in headers]


def _key(path: bytes, host: bytes, scheme: bytes) -> Key:
    """Health is asked by the address of the process, which no list of hosts can name."""
    return path, b"" if path == HEALTH.encode() else host, scheme


def _messages(status: int, headers: list[tuple[bytes, bytes]], body: bytes) -> Messages:
    start = {"type": "http.response.start", "status": status, "headers": headers}
    return start, {"type": "http.response.body", "body": body, "more_body": False}
