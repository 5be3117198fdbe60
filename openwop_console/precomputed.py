"""Documents that are the same for everybody for as long as a process lives, answered from memory (row B1).

The first request of each host goes through Django, with all its checks and headers; what it answered is given again,
byte for byte, to every later one. A request with a query, or of another method, always goes through.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

Application = Callable[[dict[str, Any], Any], Iterable[bytes]]
Headers = list[tuple[str, str]]
DOCUMENTS = frozenset({"/.well-known/openwop", "/v1/openapi.json"})
OF_A_BODY = frozenset({"content-length", "content-type"})
MOST = 64


@dataclass(frozen=True, slots=True)
class Answered:
    """A whole answer as it was given."""

    headers: Headers
    body: bytes
    etag: str


def answering_again(application: Application, documents: frozenset[str] = DOCUMENTS) -> Application:
    """The same application, which computes each of ``documents`` once for each host it is asked by."""
    kept: dict[tuple[str, str], Answered] = {}

    def answer(environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        path = environ.get("PATH_INFO", "")
        if path not in documents or environ["REQUEST_METHOD"] != "GET" or environ.get("QUERY_STRING"):
            return application(environ, start_response)
        key = (environ.get("HTTP_HOST", ""), path)
        if found := kept.get(key):
            return _again(found, environ, start_response)
        answered, status, headers = _captured(application, environ)
        etag = {name.lower(): value for name, value in headers}.get("etag", "")
        if status.startswith("200") and etag and len(kept) < MOST:
            kept[key] = Answered(headers, answered, etag)
        start_response(status, headers)
        return [answered]

    return answer


def _captured(application: Application, environ: dict[str, Any]) -> tuple[bytes, str, Headers]:
    told: list[Any] = []
    answer = application(environ, lambda status, headers, exc_info=None: told.extend((status, list(headers))))
    try:
        body = b"".join(answer)
    finally:
        getattr(answer, "close", lambda: None)()
    return body, told[0], told[1]


def _again(found: Answered, environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
    if environ.get("HTTP_IF_NONE_MATCH") == found.etag:
        start_response("304 Not Modified", [pair for pair in found.headers if pair[0].lower() not in OF_A_BODY])
        return []
    start_response("200 OK", found.headers)
    return [found.body]
