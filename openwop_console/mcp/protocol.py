"""JSON-RPC 2.0 as MCP has it over HTTP: one message a body, the versions that are spoken, and the errors."""

from dataclasses import dataclass, field
from typing import Any

from memory.host import trace_context
from memory.host.errors import Invalid
from memory.host.json_types import JSONObject

# The newest first; a client that asks for another is offered that.
VERSIONS = ("2025-11-25", "2025-06-18")
VERSION_HEADER = "MCP-Protocol-Version"
PARSE_ERROR = -32700
INVALID_REQUEST = -32600
METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
RESOURCE_NOT_FOUND = -32002
LONGEST_ID = 128


class RpcError(Exception):
    """An answer to a request that is not carried out; ``data`` holds no content."""

    def __init__(self, code: int, message: str, **data: object) -> None:
        self.code, self.message, self.data = code, message, data
        super().__init__(message)


@dataclass(frozen=True, slots=True)
class Message:
    """A request, or a notification where ``id`` is None."""

    method: str
    params: JSONObject = field(default_factory=dict)
    id: str | int | None = None

    @property
    def traceparent(self) -> str:
        """The trace that the request belongs to, as its ``_meta`` says; empty when that says none."""
        return trace_context.accepted(self._meta(trace_context.HEADER))

    def _meta(self, name: str) -> Any:
        meta = self.params.get("_meta")
        return meta.get(name) if isinstance(meta, dict) else None

    @property
    def progress_token(self) -> str | int | None:
        """What the client wants to know progress by, if it does."""
        token = self._meta("progressToken")
        return token if isinstance(token, str | int) and not isinstance(token, bool) else None


def message_of(body: object) -> Message | None:
    """The message in a body, None for the answer of a client to a request that this host never makes."""
    if isinstance(body, list):
        raise RpcError(INVALID_REQUEST, "A body holds one message; batches are not part of this protocol.")
    if not isinstance(body, dict) or body.get("jsonrpc") != "2.0":
        raise RpcError(INVALID_REQUEST, "The body is not a JSON-RPC 2.0 message.")
    if "method" not in body and ("result" in body or "error" in body):
        return None
    message_id, params = body.get("id"), body.get("params", {})
    if not isinstance(body.get("method"), str) or not _is_id(message_id, "id" in body):
        raise RpcError(INVALID_REQUEST, "The body is not a JSON-RPC 2.0 request.")
    if not isinstance(params, dict):
        raise RpcError(INVALID_PARAMS, "params must be an object.")
    return Message(body["method"], params, message_id)


def id_of(body: object) -> str | int | None:
    """The id to which a body that is no message is answered."""
    found = body.get("id") if isinstance(body, dict) else None
    return found if _is_id(found, True) else None


def _is_id(value: object, given: bool) -> bool:
    if not given:
        return True
    return (isinstance(value, int) and not isinstance(value, bool)) or (
        isinstance(value, str) and len(value) <= LONGEST_ID
    )


def require_version(named: str | None) -> None:
    """Refuse a version in the header that is not spoken here; a client may leave the header out."""
    if named is not None and named not in VERSIONS:
        message = f"must be one of {', '.join(VERSIONS)}"
        raise Invalid(
            "This host does not support that version of the protocol.", errors=[_problem(VERSION_HEADER, message)]
        )


def _problem(name: str, message: str) -> dict[str, str]:
    return {"field": name, "message": message}


def answer(message_id: str | int | None, result: JSONObject) -> JSONObject:
    return {"jsonrpc": "2.0", "id": message_id, "result": result}


def error(message_id: str | int | None, code: int, message: str, data: object = None) -> JSONObject:
    problem = {"code": code, "message": message} | ({"data": data} if data else {})
    return {"jsonrpc": "2.0", "id": message_id, "error": problem}


def notification(method: str, params: JSONObject) -> JSONObject:
    return {"jsonrpc": "2.0", "method": method, "params": params}
