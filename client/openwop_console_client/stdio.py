"""``openwop-console mcp``: a program that speaks MCP over standard input and output, passed on to a console.

For desktop clients that start a program instead of connecting to an address. It reads ``OPENWOP_URL`` and
``OPENWOP_API_KEY``. A message is a line of JSON; each request waits in a thread of its own, since the answer of a
person may take minutes.
"""

import json
import os
import sys
import threading
from collections.abc import Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import Any, TextIO

import httpx

URL, KEY = "OPENWOP_URL", "OPENWOP_API_KEY"
USAGE = f"usage: openwop-console mcp, with the environment variables {URL} and {KEY}\n"
HELP = ("-h", "--help")
VERSION_HEADER = "MCP-Protocol-Version"
FAILED = -32000
PARSE_ERROR = -32700
AT_ONCE = 32
# A console says every few seconds that a request is alive.
PATIENCE = httpx.Timeout(60, connect=10)
# How long answers that are on their way are waited for when the client has closed its end.
LAST_SECONDS = 10.0
Message = dict[str, Any]


class Proxy:
    """Passes messages to the console at ``url`` and its answers to ``output``, a line each."""

    def __init__(self, url: str, key: str, output: TextIO, *, transport: httpx.BaseTransport | None = None) -> None:
        self._url = url.rstrip("/").removesuffix("/mcp") + "/mcp"
        headers = {"Authorization": f"Bearer {key}", "Accept": "application/json, text/event-stream"}
        self._http = httpx.Client(headers=headers, timeout=PATIENCE, transport=transport)
        self._output, self._lock = output, threading.Lock()
        self._version: dict[str, str] = {}

    def run(self, lines: Iterator[str]) -> None:
        """Until the client closes its end."""
        pool, pending = ThreadPoolExecutor(AT_ONCE, thread_name_prefix="mcp"), set[Future[None]]()
        for line in lines:
            if not line.strip():
                continue
            try:
                message = json.loads(line)
            except ValueError:
                self._tell(_error(None, PARSE_ERROR, "The line is not JSON."))
                continue
            if isinstance(message, dict) and message.get("method") == "initialize":
                self.pass_on(message)  # what it says of the version goes with everything behind it
            else:
                pending = {each for each in pending if not each.done()} | {pool.submit(self.pass_on, message)}
        wait(pending, timeout=LAST_SECONDS)
        pool.shutdown(wait=False, cancel_futures=True)

    def pass_on(self, message: Any) -> None:
        """What the console answers to the message is told; a request always has an answer."""
        message_id = message.get("id") if isinstance(message, dict) else None
        try:
            for answer in self._answers(message):
                if isinstance(answer.get("result"), dict) and "protocolVersion" in answer["result"]:
                    self._version = {VERSION_HEADER: answer["result"]["protocolVersion"]}
                self._tell(answer)
        except httpx.HTTPError as problem:
            self._fail(message_id, f"The console at {self._url} does not answer: {type(problem).__name__}.")
        except ValueError:
            self._fail(message_id, f"What {self._url} answers is not MCP.")

    def _answers(self, message: Any) -> Iterator[Message]:
        with self._http.stream("POST", self._url, json=message, headers=self._version) as response:
            if response.headers.get("Content-Type", "").startswith("text/event-stream"):
                for line in response.iter_lines():
                    if line.startswith("data:"):
                        yield json.loads(line.removeprefix("data:"))
                return
            response.read()
            if response.status_code == 202:
                return
            answer = response.json()
            if not isinstance(answer, dict):
                raise ValueError
            if "error" in answer and answer.get("id") is None and isinstance(message, dict):
                answer["id"] = message.get("id")  # a refusal of the whole request
            yield answer

    def _fail(self, message_id: Any, text: str) -> None:
        if message_id is None:
            sys.stderr.write(f"{text}\n")
        else:
            self._tell(_error(message_id, FAILED, text))

    def _tell(self, message: Message) -> None:
        with self._lock:
            self._output.write(json.dumps(message, ensure_ascii=False) + "\n")
            self._output.flush()


def _error(message_id: Any, code: int, text: str) -> Message:
    return {"jsonrpc": "2.0", "id": message_id, "error": {"code": code, "message": text}}


def _problem(words: list[str], url: str, key: str) -> str:
    """Why the program cannot begin, or nothing."""
    if words != ["mcp"]:
        return "the one command is mcp"
    if missing := [name for name, value in ((URL, url), (KEY, key)) if not value]:
        return f"{' and '.join(missing)} not set"
    return "" if url.startswith(("http://", "https://")) else f"{URL} must begin with http:// or https://"


def main(words: list[str] | None = None, environment: Mapping[str, str] = os.environ) -> int:
    url, key = environment.get(URL, ""), environment.get(KEY, "")
    words = sys.argv[1:] if words is None else words
    if any(word in HELP for word in words):
        sys.stdout.write(USAGE)
        return 0
    if problem := _problem(words, url, key):
        sys.stderr.write(f"openwop-console: {problem}\n{USAGE}")
        return 2
    Proxy(url, key, sys.stdout).run(iter(sys.stdin))
    sys.stdout.flush()
    os._exit(0)  # a question that a person has not answered keeps no program alive
