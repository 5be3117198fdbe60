"""The web server's layer around Django: an event loop receives bodies and sends answers, and threads compute in
between.

While a body is received or an answer is sent, the request holds memory and perhaps a temporary file: no thread, no slot
and no database connection. A body has a largest size, and both directions have a lowest speed, so a client that stalls
is cut off and delays no other. Only an event stream keeps a thread, which sleeps (``runtime.streams``). Sign-ins are
computed one at a time, as their passwords are, so that a flood of them does not delay other requests.
"""

import asyncio
import signal
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from io import BytesIO
from typing import IO, Any, TypeVar
from urllib.parse import unquote_to_bytes
from weakref import WeakKeyDictionary

from django.conf import settings
from django.http import FileResponse, parse_cookie
from django.urls import reverse

from memory.host import errors, http, request_slots
from memory.host.errors import Refusal
from memory.host.json_types import JSONObject
from openwop_console import sign_in
from openwop_console.discovery import CompleteAnswer, Documents, Headers, encoded
from openwop_console.errors import refusal_of
from openwop_console.process import bind_address
from openwop_console.process.threads import Threads
from openwop_console.runtime import streams

T = TypeVar("T")
Scope = JSONObject
Receive = Callable[[], Awaitable[JSONObject]]
Send = Callable[[JSONObject], Awaitable[None]]
Environ = JSONObject
Application = Callable[[Environ, Any], Iterable[bytes]]

# Threads in addition to those of event streams: for requests that compute, wait for a slot, or wait for a worker.
THREADS = 64
# Threads that read the files of downloads and remove them.
FILES = 2
# Seconds that a computing thread may hold the interpreter lock, which the event loop needs a few times per request;
# the default of 5 ms would be most of the time of ``/healthz``.
SWITCH_SECONDS = 0.001
# Sign-ins that may wait for their turn in a process.
SIGN_INS = 40
IN_MEMORY = 256 * 1024
# Bytes of all bodies that are being received at the same time; each person's uploads have as many of their own.
BODIES_TOGETHER = 256 * 1024 * 1024
# Bytes of all answers in memory that are being sent; a larger one than IN_MEMORY that comes on top waits for its reader
# on the disk, as a download does. A client could otherwise fill the memory with answers that it does not take.
ANSWERS_TOGETHER = 256 * 1024 * 1024
# Bytes of all streamed answers that wait on the disk for their readers; one that comes on top is refused, unless it is
# alone. A client that orders and does not read could otherwise fill the disk, with a copy of a whole ledger each time.
DOWNLOADS_TOGETHER = 2 * 1024 * 1024 * 1024
# The lowest speed, in bytes a second, of a client that sends or reads; OPENWOP_BODY_SECONDS come on top.
SLOWEST = 16 * 1024
CHUNK = 64 * 1024
# What a form with a file has beside it.
FORM_BYTES = 64 * 1024
# Buffers empty by fits and starts: however fast a client was, it may stall for this many times OPENWOP_BODY_SECONDS.
STALLS = 3
JOINED = {"HTTP_COOKIE": "; "}
UNPREFIXED = frozenset({"CONTENT_TYPE", "CONTENT_LENGTH"})
READS = frozenset({"GET", "HEAD", "OPTIONS"})
# Seconds between checks, while a download is sent, that the client's credential still allows it.
RECHECK_SECONDS = 5.0
# A request for ``/healthz`` from this machine.
HEALTH: Scope = {
    "method": "GET",
    "raw_path": b"/healthz",
    "query_string": b"",
    "server": ("localhost", 80),
    "client": ("127.0.0.1", 0),
    "scheme": "http",
    "http_version": "1.1",
}


TOO_MANY_SIGN_INS = CompleteAnswer(
    503,
    [
        ("Content-Type", "text/plain; charset=utf-8"),
        ("Retry-After", "5"),
        ("Cache-Control", "no-store"),
        ("X-Content-Type-Options", "nosniff"),
    ],
    b"Too many people are signing in at this moment; try again in a few seconds.\n",
)


class ClientGone(Exception):
    """The client reads too slowly, or lost its permission: the rest of the answer is not sent."""


def _always() -> bool:
    return True


@dataclass(frozen=True, slots=True)
class Download:
    """A complete answer in a file; ``may_go_on`` asks the database whether the client may still read it."""

    status: int
    headers: Headers
    file: IO[bytes]
    close: Callable[[], None]
    may_go_on: Callable[[], bool] = _always


@dataclass(frozen=True, slots=True)
class Stream:
    """An answer generated while it is sent; ``close`` ends it, and ``abandon`` has it end while it waits."""

    status: int
    headers: Headers
    chunks: Iterator[bytes]
    close: Callable[[], None]
    abandon: Callable[[], None]


class Console:
    """The ASGI application in front of Django's WSGI application."""

    def __init__(self, application: Application) -> None:
        self._application = application
        self._documents = Documents()
        number = settings.OPENWOP_MAX_STREAMS + settings.OPENWOP_WEB_THREADS + THREADS
        self._in_thread = Threads(number, request_slots.use_here).compute
        self._files = ThreadPoolExecutor(FILES, thread_name_prefix="file")
        self._signing_in = asyncio.Semaphore(1)
        self._sign_ins = 0
        sys.setswitchinterval(SWITCH_SECONDS)
        # Downloads are generated one at a time, which leaves slots to the pages.
        self._preparing = threading.Lock()
        self._incoming = Counter[str]()  # by whose upload it is; "" for all other bodies
        self._outgoing = 0
        self._downloads: WeakKeyDictionary[IO[bytes], int] = WeakKeyDictionary()
        self._upload_path = reverse("memory-imports")
        self._hears_of_the_end = False
        self._keep_health()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self._hear_of_the_end()
        if messages := self._documents.find(scope):
            for message in messages:
                await send(message)
            return
        environ = environ_of(scope)
        if (
            environ["PATH_INFO"] in bind_address.PROBES
        ):  # requested by the process's address, which no host list contains
            environ["HTTP_HOST"] = bind_address.served_host()
        try:
            body = await self._body(environ, receive)
            if environ["PATH_INFO"] == settings.LOGIN_URL and environ["REQUEST_METHOD"] not in READS:
                answering = self._sign_in(environ, body)
            else:
                answering = self._in_thread(self._answer, environ, body)
            await self._sent(await answering, environ, receive, send)  # no name here keeps an answer in memory
        except ClientGone:
            pass

    def _keep_health(self) -> None:
        """Cache ``/healthz`` before the first request, so that answering it needs no thread, slot or database, which
        may all be taken."""
        for headers in ([], [(b"x-forwarded-proto", b"https")]):
            environ = environ_of({**HEALTH, "headers": headers})
            self._computed(environ | {"HTTP_HOST": bind_address.served_host(), "wsgi.input": BytesIO()})

    def _hear_of_the_end(self) -> None:
        """End the streams and polls when a signal ends this process. The loop's own handler runs as well: it gets the
        signal through the wake-up descriptor, not through this handler."""
        if self._hears_of_the_end:
            return
        self._hears_of_the_end = True
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: loop.call_soon_threadsafe(streams.end))

    async def _sign_in(self, environ: Environ, body: IO[bytes]) -> CompleteAnswer | Download | Stream:
        """Answer a sign-in when those before it are done; with more than ``SIGN_INS`` waiting, answer 503 at once."""
        if self._sign_ins > SIGN_INS:
            body.close()
            return TOO_MANY_SIGN_INS
        self._sign_ins += 1
        try:
            async with self._signing_in:
                found: CompleteAnswer | Download | Stream = await self._in_thread(self._answer, environ, body)
                return found
        finally:
            self._sign_ins -= 1

    # --- receiving --------------------------------------------------------------------------------------------------

    async def _body(self, environ: Environ, receive: Receive) -> IO[bytes]:
        """Receive the whole body, and set it in ``environ`` too. A refusal goes to ``environ[http.REFUSED]`` for the
        middleware."""
        body: IO[bytes] = tempfile.SpooledTemporaryFile(IN_MEMORY)  # noqa: SIM115  # closed with the request
        environ["wsgi.input"] = body
        sent = environ.get("CONTENT_LENGTH", "")
        if not sent and "HTTP_TRANSFER_ENCODING" not in environ:
            return body
        length = 0
        try:
            person = await self._person(environ) if environ["PATH_INFO"] == self._upload_path else ""
            most = self._largest_body(is_upload=bool(person))
            if sent.isdecimal() and int(sent[:19]) > most:
                raise errors.TooLarge(f"A body has at most {most} bytes.")
            async for chunk in self._chunks(receive, person):
                length += len(chunk)
                if length > most:
                    raise errors.TooLarge(f"A body has at most {most} bytes.")
                body.write(chunk)
            body.seek(0)
            environ["CONTENT_LENGTH"] = str(length)
        except (Refusal, OSError) as problem:
            # Without its frames: they hold ``receive`` and this environ, and the connection would stay open.
            refused = environ[http.REFUSED] = refusal_of(problem).with_traceback(None)
            refused.__context__ = None
            environ["CONTENT_LENGTH"] = ""
            if isinstance(problem, OSError):  # of the body's file, whose buffer finds no room when it is closed either
                with suppress(OSError):
                    body.close()
                body = environ["wsgi.input"] = BytesIO()
        environ.pop("HTTP_TRANSFER_ENCODING", None)
        return body

    async def _person(self, environ: Environ) -> str:
        """Return who sends this file; "" for a visitor, whose body is one like any other."""
        session_key = parse_cookie(environ.get("HTTP_COOKIE", "")).get(settings.SESSION_COOKIE_NAME)
        try:
            return (
                await self._in_thread(_asked_in_a_slot, partial(sign_in.person_of, session_key)) if session_key else ""
            )
        except Exception as problem:  # answered and logged like that of any view
            raise refusal_of(problem) from problem

    def _largest_body(self, *, is_upload: bool) -> int:
        """A file of memory may be larger than any other body; its form has further fields."""
        most: int = settings.OPENWOP_BODY_BYTES
        return max(most, settings.OPENWOP_IMPORT_BYTES + FORM_BYTES) if is_upload else most

    async def _chunks(self, receive: Receive, person: str) -> Any:
        clock = asyncio.get_running_loop().time
        patience = settings.OPENWOP_BODY_SECONDS
        late, length, more = clock() + patience, 0, True
        try:
            while more:
                try:
                    async with asyncio.timeout_at(late):
                        message = await receive()
                except TimeoutError:
                    raise errors.RequestTimeout from None
                if message["type"] != "http.request":  # a client that has only finished sending still reads
                    raise errors.Invalid("The body ended before its length.")
                chunk, more = message["body"], message["more_body"]
                length += len(chunk)
                late = min(late + len(chunk) / SLOWEST, clock() + STALLS * patience)
                self._incoming[person] += len(chunk)
                if self._incoming[person] > BODIES_TOGETHER:
                    raise errors.Busy("This host has no room for another body now.", retryAfterMs=1000)
                yield chunk
        finally:
            self._incoming[person] -= length
            if not self._incoming[person]:
                del self._incoming[person]

    # --- in a thread --------------------------------------------------------------------------------------------------

    def _answer(self, environ: Environ, body: IO[bytes]) -> CompleteAnswer | Download | Stream:
        with body:
            return self._computed(environ)

    def _computed(self, environ: Environ) -> CompleteAnswer | Download | Stream:
        started: list[Any] = []

        def start_response(status: str, headers: Headers, exc_info: object = None) -> None:
            started[:] = [int(status[:3]), list(headers)]

        with request_slots.hold_slot():
            writes = environ["REQUEST_METHOD"] not in READS
            if http.REFUSED not in environ and request_slots.waited_in_vain(writes=writes):
                environ[http.REFUSED] = errors.StoreUnavailable()
            response = self._application(environ, start_response)
            if not getattr(response, "streaming", False):
                answer = CompleteAnswer(started[0], started[1], b"".join(response))
                _close(response)
                _untie(response)
                self._documents.store(environ, answer)
                return answer
        status, headers = started
        if abandon := getattr(response, "abandon", None):
            return Stream(status, headers, iter(response), lambda: _close(response), abandon)
        if isinstance(response, FileResponse):
            file = response.file_to_stream or BytesIO()
            return Download(status, headers, file, lambda: _close(response), _may_go_on(response))
        return self._prepared(environ, status, headers, response)

    def _prepared(
        self, environ: Environ, status: int, headers: Headers, response: Iterable[bytes]
    ) -> CompleteAnswer | Download | Stream:
        """Write the whole of a streamed answer to a file, so that a failure gives a complete error answer, not half a
        file."""
        file = tempfile.SpooledTemporaryFile(IN_MEMORY)  # noqa: SIM115  # closed when it is sent
        began, may_go_on = time.monotonic(), _may_go_on(response)
        try:
            with self._preparing, request_slots.hold_slot():
                others, length = sum(list(self._downloads.values())), 0
                try:
                    for chunk in response:
                        length += file.write(chunk)
                        if others and others + length > DOWNLOADS_TOGETHER:
                            raise errors.Busy("This host has no room for another download now.", retryAfterMs=5000)
                    if time.monotonic() >= began + RECHECK_SECONDS and not may_go_on():
                        raise errors.Unauthenticated
                finally:
                    _close(response)
                self._downloads[file] = length
        except Exception as problem:  # noqa: BLE001  # answered and logged like that of any view
            file.close()
            return self._computed(environ | {http.REFUSED: refusal_of(problem)})
        file.seek(0)

        def close() -> None:
            self._downloads.pop(file, None)
            file.close()

        return Download(status, [*_without_length(headers), ("Content-Length", str(length))], file, close, may_go_on)

    # --- sending ------------------------------------------------------------------------------------------------------

    async def _sent(
        self, answer: CompleteAnswer | Download | Stream, environ: Environ, receive: Receive, send: Send
    ) -> None:
        is_large = isinstance(answer, CompleteAnswer) and len(answer.body) > IN_MEMORY
        if isinstance(answer, CompleteAnswer) and is_large and self._outgoing + len(answer.body) > ANSWERS_TOGETHER:
            try:
                answer = await self._with_file(_on_disk, answer)
            except OSError as problem:
                refused = {http.REFUSED: refusal_of(problem), "wsgi.input": BytesIO()}
                answer = await self._in_thread(self._computed, environ | refused)
        in_memory = len(answer.body) if isinstance(answer, CompleteAnswer) else 0
        self._outgoing += in_memory
        try:
            await self._send(answer, environ, receive, send)
        finally:
            self._outgoing -= in_memory

    async def _send(
        self, answer: CompleteAnswer | Download | Stream, environ: Environ, receive: Receive, send: Send
    ) -> None:
        headers = encoded(answer.headers)
        if http.REFUSED in environ:
            headers.append((b"connection", b"close"))  # the unread rest of the body is not the next request
        await send({"type": "http.response.start", "status": answer.status, "headers": headers})
        whole = isinstance(answer, CompleteAnswer) and (
            len(answer.body) <= IN_MEMORY or environ["REQUEST_METHOD"] == "HEAD"
        )
        if isinstance(answer, CompleteAnswer) and whole:
            await send({"type": "http.response.body", "body": answer.body, "more_body": False})
        elif isinstance(answer, Stream):
            await self._send_stream(answer, receive, send)
        else:
            await self._send_file(answer, environ, receive, send)

    async def _send_file(
        self, answer: CompleteAnswer | Download, environ: Environ, receive: Receive, send: Send
    ) -> None:
        """Send in chunks, as fast as the client reads.

        The connection closes before the announced length when the client reads too slowly or its credential no longer
        allows the download.
        """
        gone = asyncio.ensure_future(_wait_for_disconnect(receive))
        clock = asyncio.get_running_loop().time
        began, length = clock(), 0
        checked = began
        try:
            if environ["REQUEST_METHOD"] != "HEAD":
                async for chunk in self._parts(answer):
                    if gone.done():
                        return
                    if isinstance(answer, Download) and clock() >= checked + RECHECK_SECONDS:
                        if not await self._in_thread(_asked_in_a_slot, answer.may_go_on):
                            raise ClientGone
                        checked = clock()
                    patience = settings.OPENWOP_BODY_SECONDS
                    late = min(began + patience + length / SLOWEST, clock() + STALLS * patience)
                    async with asyncio.timeout_at(late):
                        await send({"type": "http.response.body", "body": chunk, "more_body": True})
                    length += len(chunk)
            await send({"type": "http.response.body", "body": b"", "more_body": False})
        except TimeoutError:
            raise ClientGone from None
        finally:
            gone.cancel()
            if isinstance(answer, Download):
                await self._with_file(answer.close)

    async def _parts(self, answer: CompleteAnswer | Download) -> AsyncIterator[bytes]:
        if isinstance(answer, CompleteAnswer):
            for at in range(0, len(answer.body), CHUNK):
                yield answer.body[at : at + CHUNK]
        else:
            while part := await self._with_file(answer.file.read, CHUNK):
                yield part

    async def _with_file(self, use: Callable[..., object], *given: object) -> Any:
        """Use the file in a thread other than the requests': the disk may block, above all when it frees a file's
        space."""
        return await asyncio.get_running_loop().run_in_executor(self._files, use, *given)

    async def _send_stream(self, answer: Stream, receive: Receive, send: Send) -> None:
        """Send event by event, until the client disconnects or takes nothing for ``OPENWOP_BODY_SECONDS``."""
        gone = asyncio.ensure_future(_wait_for_disconnect(receive))
        gone.add_done_callback(lambda _: answer.abandon())
        try:
            while (chunk := await self._in_thread(next, answer.chunks, None)) is not None and not gone.done():
                async with asyncio.timeout(settings.OPENWOP_BODY_SECONDS):
                    await send({"type": "http.response.body", "body": chunk, "more_body": True})
            await send({"type": "http.response.body", "body": b"", "more_body": False})
        except TimeoutError:
            raise ClientGone from None
        finally:
            gone.cancel()
            await self._in_thread(answer.close)


async def _wait_for_disconnect(receive: Receive) -> None:
    """Return when the client has disconnected."""
    with suppress(asyncio.CancelledError):
        while (await receive())["type"] != "http.disconnect":
            pass


def _on_disk(answer: CompleteAnswer) -> Download:
    file = tempfile.TemporaryFile()  # noqa: SIM115  # closed when it is sent
    try:
        file.write(answer.body)
        file.seek(0)
    except OSError:
        with suppress(OSError):  # what is left in its buffer has no room either
            file.close()
        raise
    return Download(answer.status, answer.headers, file, file.close)


def _close(response: Iterable[bytes]) -> None:
    getattr(response, "close", lambda: None)()


def _untie(response: Iterable[bytes]) -> None:
    """Take apart the cycles of an answer of REST framework: view, request and answer name each other, and megabytes
    would stay until the interpreter collects cycles, which it rarely does (``asgi``)."""
    context: dict[str, Any] = getattr(response, "renderer_context", None) or {}
    if request := context.get("request"):
        (getattr(request, "parser_context", None) or {}).clear()
    if view := context.get("view"):
        vars(view).clear()
    context.clear()


def _may_go_on(response: Iterable[bytes]) -> Callable[[], bool]:
    found: Callable[[], bool] = getattr(response, "may_go_on", _always)
    return found


def _asked_in_a_slot(question: Callable[[], T]) -> T:
    with request_slots.hold_slot():
        return question()


def _without_length(headers: Headers) -> Headers:
    return [pair for pair in headers if pair[0].lower() != "content-length"]


def environ_of(scope: Scope) -> Environ:
    """Build the WSGI environ. Headers with an underscore are dropped: they would collide with those with a hyphen."""
    environ: Environ = {
        "REQUEST_METHOD": scope["method"],
        "SCRIPT_NAME": "",
        "PATH_INFO": unquote_to_bytes(scope["raw_path"]).decode("latin-1"),
        "QUERY_STRING": scope["query_string"].decode("latin-1"),
        "SERVER_NAME": scope["server"][0],
        "SERVER_PORT": str(scope["server"][1]),
        "SERVER_PROTOCOL": f"HTTP/{scope['http_version']}",
        "REMOTE_ADDR": scope["client"][0],
        "wsgi.version": (1, 0),
        "wsgi.url_scheme": scope["scheme"],
        "wsgi.errors": sys.stderr,
        "wsgi.multithread": True,
        "wsgi.multiprocess": True,
        "wsgi.run_once": False,
    }
    for name, value in scope["headers"]:
        if b"_" in name:
            continue
        key = name.decode("latin-1").upper().replace("-", "_")
        key, text = key if key in UNPREFIXED else f"HTTP_{key}", value.decode("latin-1")
        environ[key] = f"{environ[key]}{JOINED.get(key, ',')}{text}" if key in environ else text
    return environ
