"""The least that a Python server can be asked to do: one answer of so many bytes, whatever is asked."""

import os
from collections.abc import Awaitable, Callable

BODY = b"x" * int(os.environ.get("TRIVIAL_BYTES", "0"))
HEADERS = [("content-type", "application/json"), ("content-length", str(len(BODY)))]
START = {
    "type": "http.response.start",
    "status": 200,
    "headers": [(name.encode(), value.encode()) for name, value in HEADERS],
}
END = {"type": "http.response.body", "body": BODY, "more_body": False}


def wsgi(environ: dict[str, object], start_response: Callable[..., object]) -> list[bytes]:
    start_response("200 OK", HEADERS)
    return [BODY]


async def asgi(scope: dict[str, object], receive: object, send: Callable[[dict[str, object]], Awaitable[None]]) -> None:
    await send(START)
    await send(END)
