"""The model of the demo's agents: a local chat-completions server with fixed answers.

A question from ``data/`` gets its answer from there; any other prompt is answered with the beginning of each line. The
console runs it as ``python -m openwop_console.demo.model PORT``; while the demo is seeded, the seeding process serves
it.
"""

import contextlib
import http.client
import json
import re
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from memory.host.json_types import JSONObject

HOST = "127.0.0.1"
NAME = "demo-small"
SECRET = "model-key"  # noqa: S105  # a name in the vault
KEPT = "demo-model-port"
DATA = Path(__file__).parent / "data"
COMPLETIONS, MODELS = "/v1/chat/completions", "/v1/models"
WRITE = "memory_write"
KEEP = re.compile(rf"\n\nKeep the page with {WRITE}, tagged (\w+)\.$")
ENDED = b"data: [DONE]\n\n"


def answers() -> dict[str, str]:
    """Return the answers to the questions and messages of the demo's runs."""
    errands = (
        each for file in sorted(DATA.glob("*/runs.json")) for each in json.loads(file.read_text(encoding="utf-8"))
    )
    return {
        each["inputs"].get("question") or each["inputs"]["message"]: each["answer"]
        for each in errands
        if "answer" in each
    }


def reply(known: dict[str, str], asked: JSONObject) -> JSONObject:
    """Return the model's message; it calls the memory tool where the prompt ends with the request to keep the page."""
    messages = asked["messages"]
    if messages[-1]["role"] == "tool":
        return {"role": "assistant", "content": "It is kept."}
    prompt = next(each["content"] for each in reversed(messages) if each["role"] == "user")
    keep = KEEP.search(prompt)
    if keep and any(each["function"]["name"] == WRITE for each in asked.get("tools", ())):
        written = json.dumps({"content": _beginnings(prompt[: keep.start()]), "tags": [keep[1]]})
        call = {"index": 0, "id": "call-1", "type": "function", "function": {"name": WRITE, "arguments": written}}
        return {"role": "assistant", "content": "", "tool_calls": [call]}
    text = next((answer for about, answer in known.items() if about in prompt), None) or _beginnings(prompt)
    return {"role": "assistant", "content": text}


def _beginnings(prompt: str) -> str:
    return "\n".join(line.partition(";")[0] for line in prompt.splitlines())


class Server(ThreadingHTTPServer):
    """Serve on ``port``, or on any free one when it is 0; raises ``OSError`` when it is in use."""

    daemon_threads = True

    def __init__(self, port: int) -> None:
        super().__init__((HOST, port), _Handler)
        self.known = answers()


class _Handler(BaseHTTPRequestHandler):
    server: Server

    def do_GET(self) -> None:
        if self.path == MODELS:
            self._send(200, {"object": "list", "data": [{"id": NAME, "object": "model"}]})
        else:
            self._send(404, {"error": {"message": "There is nothing at that address."}})

    def do_POST(self) -> None:
        if self.path != COMPLETIONS:
            self._send(404, {"error": {"message": "There is nothing at that address."}})
            return
        try:
            asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            message = reply(self.server.known, asked)
        except (ValueError, LookupError, TypeError, AttributeError, StopIteration):
            self._send(400, {"error": {"message": "The request is not one for a chat completion."}})
            return
        finish = "tool_calls" if "tool_calls" in message else "stop"
        spent, said = json.dumps(asked["messages"]), json.dumps(message)
        usage = {"prompt_tokens": len(spent.split()), "completion_tokens": len(said.split())}
        if not asked.get("stream"):
            choice = {"index": 0, "message": message, "finish_reason": finish}
            self._send(200, {"object": "chat.completion", "choices": [choice], "usage": usage})
            return
        self._start(200, "text/event-stream")
        for piece in _pieces(message):
            self._send_chunk([{"index": 0, "delta": piece, "finish_reason": None}])
        self._send_chunk([{"index": 0, "delta": {}, "finish_reason": finish}])
        self._send_chunk([], usage=usage)
        self.wfile.write(ENDED)

    def _start(self, status: int, content_type: str) -> None:
        self.send_response(status)
        self.send_header("Content-Type", content_type)
        self.end_headers()

    def _send(self, status: int, document: JSONObject) -> None:
        self._start(status, "application/json")
        self.wfile.write(json.dumps(document).encode())

    def _send_chunk(self, choices: list[JSONObject], **more: object) -> None:
        document = {"object": "chat.completion.chunk", "model": NAME, "choices": choices, **more}
        self.wfile.write(f"data: {json.dumps(document)}\n\n".encode())

    def log_message(self, *_: object) -> None:
        """Log nothing: requests contain what agents ask."""


def _pieces(message: JSONObject) -> Iterator[JSONObject]:
    """Split a message into stream deltas, one sentence each."""
    for text in re.findall(r".+?(?:[.;:\n]\s*|$)", message["content"], re.DOTALL):
        yield {"content": text}
    if "tool_calls" in message:
        yield {"tool_calls": message["tool_calls"]}


@contextlib.contextmanager
def running(folder: Path) -> Iterator[str]:
    """Yield the model's address, serving it for the block unless another process of this demo does.

    The port is kept per data folder, and changes only when it is in use.
    """
    port = port_of(folder)
    if port and _is_served(port):
        yield address(port)
        return
    try:
        server = Server(port)
    except OSError:
        server = Server(0)
    (folder / KEPT).write_text(str(server.server_port))
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, name="model", daemon=True)
    thread.start()
    try:
        yield address(server.server_port)
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def address(port: int) -> str:
    return f"http://{HOST}:{port}/v1"


def port_of(folder: Path) -> int:
    """Return the port kept in the data folder; 0 when there is none."""
    kept = folder / KEPT
    return int(kept.read_text()) if kept.exists() else 0


def _is_served(port: int) -> bool:
    """Return whether a model of the demo answers there."""
    there = http.client.HTTPConnection(HOST, port, timeout=1)
    try:
        there.request("GET", MODELS)
        return any(each["id"] == NAME for each in json.loads(there.getresponse().read())["data"])
    except (OSError, http.client.HTTPException, ValueError, LookupError, TypeError):
        return False
    finally:
        there.close()


if __name__ == "__main__":
    Server(int(sys.argv[1])).serve_forever()
