"""Map every refusal to a status and to a code per face; framework errors are converted to refusals here as well.

A face always answers JSON in its own shape; a page answers a page. An exception in neither table is a bug: a 500 that
shows only a correlation id.
"""

import errno
import logging
import sqlite3
import sys
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypeGuard
from urllib.parse import urlsplit

import psycopg
from django.core.exceptions import DisallowedHost, PermissionDenied, RequestDataTooBig, SuspiciousOperation
from django.db import InterfaceError, OperationalError
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.template.loader import render_to_string
from django.urls import resolve
from django.utils.http import url_has_allowed_host_and_scheme
from psycopg.errors import DeadlockDetected, LockNotAvailable
from rest_framework import exceptions as drf
from rest_framework.response import Response
from rest_framework.settings import api_settings

from memory.host import denials, errors, ids, pages, request_slots
from memory.host.errors import MOST_PROBLEMS, Forbidden, Refusal
from memory.host.http import NulInBody
from memory.host.json_types import JSONObject
from memory.host.tenancy import scope_of
from memory.host.vault import SealTampered, VaultLocked

log = logging.getLogger(__name__)
VALIDATION = "VALIDATION_ERROR"


@dataclass(frozen=True, slots=True)
class StatusRow:
    """A row of the table: the status and the OpenIntent code. The OpenWOP code is the refusal's own.

    ``openintent_status`` is set where OpenIntent's clients expect another status (R106).
    """

    status: int
    openintent: str
    openintent_status: int = 0

    def status_at(self, face: str) -> int:
        return (self.openintent_status if face == "openintent" else 0) or self.status


TABLE: dict[type[Refusal], StatusRow] = {
    errors.Unauthenticated: StatusRow(401, "UNAUTHENTICATED"),
    errors.Forbidden: StatusRow(403, "ACCESS_DENIED"),
    errors.NotFound: StatusRow(404, "ENTRY_NOT_FOUND"),
    errors.MethodNotAllowed: StatusRow(405, "METHOD_NOT_ALLOWED"),
    errors.RequestTimeout: StatusRow(408, "REQUEST_TIMEOUT"),
    errors.Conflict: StatusRow(409, "CONFLICT"),
    errors.Gone: StatusRow(410, "GONE"),
    errors.TooLarge: StatusRow(413, "VALUE_TOO_LARGE"),
    errors.UnsupportedMediaType: StatusRow(415, "UNSUPPORTED_MEDIA_TYPE"),
    errors.Unprocessable: StatusRow(422, VALIDATION, openintent_status=400),
    errors.Invalid: StatusRow(400, VALIDATION),
    errors.RateLimited: StatusRow(429, "RATE_LIMITED"),
    errors.CapabilityNotProvided: StatusRow(501, "NOT_SUPPORTED"),
    errors.EndpointFailed: StatusRow(502, "UPSTREAM_FAILED"),
    errors.Busy: StatusRow(503, "BUSY"),
    errors.StoreUnavailable: StatusRow(503, "STORE_UNAVAILABLE"),
    errors.VaultUnavailable: StatusRow(503, "VAULT_LOCKED"),
    errors.KeyExists: StatusRow(409, "KEY_EXISTS"),
    errors.VersionMismatch: StatusRow(409, "VERSION_MISMATCH"),
    errors.TaskClosed: StatusRow(409, "TASK_CLOSED"),
    errors.PreconditionRequired: StatusRow(428, "PRECONDITION_REQUIRED"),
    errors.CapacityExceeded: StatusRow(429, "CAPACITY_EXCEEDED"),
    errors.GuardrailViolation: StatusRow(403, "GUARDRAIL_VIOLATION"),
    errors.Internal: StatusRow(500, "INTERNAL_ERROR"),
}


FRAMEWORK: dict[type[Exception], type[Refusal]] = {
    Http404: errors.NotFound,
    PermissionDenied: errors.Forbidden,
    RequestDataTooBig: errors.TooLarge,
    SuspiciousOperation: errors.Invalid,
    drf.NotAuthenticated: errors.Unauthenticated,
    drf.AuthenticationFailed: errors.Unauthenticated,
    drf.PermissionDenied: errors.Forbidden,
    drf.NotFound: errors.NotFound,
    drf.MethodNotAllowed: errors.MethodNotAllowed,
    drf.UnsupportedMediaType: errors.UnsupportedMediaType,
    drf.Throttled: errors.RateLimited,
}


# Raised when a database is down, locked, full or out of connections, by Django or by its driver directly; a pool's
# timeout is a psycopg error.
DATABASE_FAILURES = (
    OperationalError,
    InterfaceError,
    sqlite3.OperationalError,
    psycopg.OperationalError,
    psycopg.InterfaceError,
)


# What the system says when a file cannot grow.
DISK_FULL = frozenset({errno.ENOSPC, errno.EDQUOT})
FULL = "The disk of this host is full; try again in a moment."
LOCKED = "Other changes held the database for too long; try again in a moment."
OTHER_HOST = "The console does not answer under this host name. OPENWOP_ALLOWED_HOSTS lists the names that it has."
REMEDY = "Pages that redact secrets are unavailable until an administrator starts the console with its previous key."

FACES = {
    "/v1/": "openwop",
    "/.well-known/openwop": "openwop",
    "/api/": "openintent",
    "/.well-known/openintent": "openintent",
    "/mcp": "mcp",
    "/.well-known/oauth-": "oauth",
    "/oauth/token": "oauth",
    "/oauth/register": "oauth",
    "/oauth/revoke": "oauth",
}
# JSON-RPC codes by status for a refusal of ``/mcp`` as a whole; any other status gets the host's own code.
RPC_CODES = {400: -32600, 500: -32603}
RPC_REFUSED = -32000
# The metadata from which a client of ``/mcp`` without a credential learns how to obtain one (RFC 9728).
RESOURCE_METADATA = "/.well-known/oauth-protected-resource/mcp"


TITLES = {
    400: "Invalid request",
    401: "Sign in first",
    403: "Not allowed",
    404: "Not found",
    405: "Method not allowed",
    408: "Request timed out",
    409: "Something has changed",
    410: "No longer here",
    413: "Too large",
    422: "Invalid input",
    428: "Version required",
    429: "Too many requests",
    500: "Server error",
    501: "Not supported by this host",
    502: "An upstream service failed",
    503: "Not available now",
}


def face_of(path: str) -> str:
    """Return ``openwop``, ``openintent``, ``mcp``, ``oauth`` or ``page``."""
    whole = f"{path}/" if path == "/v1" else path  # /api is the page that describes the APIs
    return next((face for prefix, face in FACES.items() if whole.startswith(prefix)), "page")


def status_of(refusal: Refusal, face: str = "openwop") -> int:
    return answer_of(type(refusal)).status_at(face)


def answer_of(kind: type[Refusal]) -> StatusRow:
    """Return the row of the nearest ancestor in the table."""
    return next(TABLE[ancestor] for ancestor in kind.__mro__ if ancestor in TABLE)


def answer(request: HttpRequest, refusal: Refusal) -> HttpResponse:
    """Render the refusal in the shape of the requested face, and attach it to the response for the audit record."""
    response = _dressed(request, refusal)
    response.refusal = refusal  # type: ignore[attr-defined]
    return response


def _dressed(request: HttpRequest, refusal: Refusal) -> HttpResponse:
    face = face_of(request.path)
    status = status_of(refusal, face)
    if face == "page":
        return _page(request, refusal, status)
    headers = _headers(refusal, status)
    if face == "mcp" and status == 401:
        headers["WWW-Authenticate"] = f'Bearer resource_metadata="{pages.public_url(request)}{RESOURCE_METADATA}"'
    return JsonResponse(_body(face, refusal), status=status, headers=headers)


def _headers(refusal: Refusal, status: int) -> dict[str, str]:
    """Return ``WWW-Authenticate`` for 401, and ``Retry-After`` where the refusal names a wait."""
    details = refusal.details
    wait = details["retryAfter"] * 1000 if "retryAfter" in details else details.get("retryAfterMs")
    return {
        **({"WWW-Authenticate": "Bearer"} if status == 401 else {}),
        **({"Retry-After": str(max(1, -(-int(wait) // 1000)))} if wait is not None else {}),
    }


def _body(face: str, refusal: Refusal) -> JSONObject:
    if face == "openwop":
        details = {"details": refusal.details} if refusal.details else {}
        return {"error": refusal.code, "message": refusal.message, **details}
    if face == "mcp":
        number, data = RPC_CODES.get(status_of(refusal), RPC_REFUSED), {"error": refusal.code, **refusal.details}
        return {"jsonrpc": "2.0", "id": None, "error": {"code": number, "message": refusal.message, "data": data}}
    if face == "oauth":
        is_ours = status_of(refusal) >= 500
        return {"error": "server_error" if is_ours else "invalid_request", "error_description": refusal.message}
    code = answer_of(type(refusal)).openintent
    fields = {"errors": [{"field": "body", "message": refusal.message}]} if code == VALIDATION else {}
    return {"error": code, "message": refusal.message, "detail": refusal.message, **fields, **refusal.details}


def _page(request: HttpRequest, refusal: Refusal, status: int) -> HttpResponse:
    context = {
        "status": status,
        "title": TITLES.get(status, "Refused"),
        "message": refusal.message,
        "required_scope": refusal.details.get("requiredScope", ""),
        "errors": refusal.details.get("errors", []),
        "known_address": _known_address(request, refusal) if isinstance(refusal, errors.UnknownParameter) else "",
        "start_again": refusal.details.get("startAgain", ""),
        "correlation_id": refusal.details.get("correlationId", ""),
        "again": request.get_full_path() if status >= 500 and request.method == "GET" else "",
    }
    if isinstance(refusal, errors.VaultUnavailable):
        context |= {"title": "Vault locked", "remedy": REMEDY}
    if isinstance(refusal, errors.StoreUnavailable):
        # Render without the request: its context processors would query the database.
        page = render_to_string("errors/page.html", context)
        return HttpResponse(page, status=status, headers=_headers(refusal, status))
    return render(request, "errors/page.html", context | {"chain": pages.chain_of(request)}, status=status)


def _known_address(request: HttpRequest, refusal: Refusal) -> str:
    """Return the address without the unknown parameters."""
    query = request.GET.copy()
    for error in refusal.details["errors"]:
        query.pop(error["field"], None)
    return f"{request.path}?{query.urlencode()}" if query else request.path


def refusal_of(problem: Exception) -> Refusal:
    """Convert an exception of ours, of Django or of the REST framework to a refusal."""
    if isinstance(problem, Refusal):
        return problem
    if isinstance(problem, drf.ValidationError):
        return errors.Invalid(errors=_field_errors(problem.detail)[:MOST_PROBLEMS])
    if isinstance(problem, NulInBody):
        return errors.Invalid(str(problem.detail), errors=[{"field": problem.field, "message": "holds a NUL"}])
    if isinstance(problem, drf.ParseError):
        return errors.Invalid(str(problem.detail))
    if _is_vault_locked(problem):
        log.error("the vault is locked: %s", problem)
        return errors.VaultUnavailable()
    if _is_disk_full(problem):
        log.error("a file cannot be written: %s", problem)
        return errors.StoreUnavailable(FULL)
    if is_unavailable(problem):
        source = problem.__cause__ or problem
        is_locked = _is_locked(source)
        words = "a lock of the database was not free" if is_locked else "the database does not answer"
        log.warning("%s: %s", words, " ".join(str(problem).split()))
        request_slots.database_failed(for_reads=isinstance(source, psycopg.Error) and source.sqlstate is None)
        return errors.StoreUnavailable(LOCKED) if is_locked else errors.StoreUnavailable()
    kind = next((refusal for framework, refusal in FRAMEWORK.items() if isinstance(problem, framework)), None)
    return kind() if kind else _bug(problem)


def is_outage(problem: BaseException | None) -> bool:
    """Return whether the host is at fault, not its code: its database cannot be used now, or its vault is locked."""
    return is_unavailable(problem) or _is_vault_locked(problem)


def _is_vault_locked(problem: BaseException | None) -> bool:
    return isinstance(problem, VaultLocked) and not isinstance(problem, SealTampered)


def _is_locked(problem: BaseException) -> bool:
    """Return whether the database answers, and another transaction held what this one had to change."""
    code = getattr(problem, "sqlite_errorcode", None)
    is_sqlite_lock = code is not None and code & 0xFF in {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}
    return is_sqlite_lock or isinstance(problem, (LockNotAvailable, DeadlockDetected))


def _is_disk_full(problem: BaseException | None) -> bool:
    return isinstance(problem, OSError) and problem.errno in DISK_FULL


def is_unavailable(problem: BaseException | None) -> bool:
    """Return whether the database cannot be used now, or the disk has no room for what is sent.

    SQLite raises ``OperationalError`` for a faulty statement too; that is a bug, not an outage.
    """
    if _is_disk_full(problem):
        return True
    if not isinstance(problem, DATABASE_FAILURES):
        return False
    source = problem.__cause__ if isinstance(problem, OperationalError) else problem
    primary_code = getattr(source, "sqlite_errorcode", sqlite3.SQLITE_BUSY) & 0xFF
    return primary_code != sqlite3.SQLITE_ERROR


def _bug(problem: Exception) -> Refusal:
    correlation_id = ids.wire("err", ids.new_id())
    log.error("unexpected failure %s", correlation_id, exc_info=problem)
    return errors.Internal(correlationId=correlation_id)


def _field_errors(detail: object, path: str = "") -> list[dict[str, str]]:
    """Flatten the REST framework's nested error lists to field paths."""
    if isinstance(detail, dict):
        named = [("" if key == api_settings.NON_FIELD_ERRORS_KEY else key, value) for key, value in detail.items()]
        return [row for key, value in named for row in _field_errors(value, f"{path}.{key}".strip("."))]
    if isinstance(detail, list):
        return [row for value in detail for row in _field_errors(value, path)]
    return [{"field": path or "body", "message": str(detail)}]


def drf_exception_handler(problem: Exception, context: dict[str, Any]) -> Response:
    """Convert an exception of an API view to a response; registered as ``EXCEPTION_HANDLER``."""
    request = context["request"]
    refusal, face = refusal_of(problem), face_of(request.path)
    status = status_of(refusal, face)
    response = Response(_body(face, refusal), status=status, headers=_headers(refusal, status))
    response.refusal = refusal  # type: ignore[attr-defined]
    return response


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Answer a request that Django refuses to read, and log one line without content.

    Requests for other hosts are not logged: scanners send many.
    """
    if isinstance(exception, DisallowedHost):
        return answer(request, errors.Invalid(OTHER_HOST, errors=[{"field": "Host", "message": OTHER_HOST}]))
    route = request.resolver_match.route if request.resolver_match else ""
    log.warning("refused %s /%s: %s", request.method, route, type(exception).__name__)
    return answer(request, errors.TooLarge() if isinstance(exception, RequestDataTooBig) else errors.Invalid())


def permission_denied(request: HttpRequest, exception: Exception) -> HttpResponse:
    return answer(request, errors.Forbidden())


def not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    return answer(request, errors.NotFound())


def server_error(request: HttpRequest) -> HttpResponse:
    """Answer an exception that a middleware outside of ours raised; Django calls this while it handles the
    exception."""
    problem = sys.exc_info()[1]
    if isinstance(problem, Exception) and is_outage(problem):
        return answer(request, refusal_of(problem))
    refusal = errors.Internal(correlationId=ids.wire("err", ids.new_id()))
    log.error("unexpected failure %s: %s", refusal.details["correlationId"], type(problem).__name__)
    return answer(request, refusal)


def csrf_failure(request: HttpRequest, reason: str = "") -> HttpResponse:
    return answer(request, errors.CrossSiteForgery(startAgain=page_of_form(request)))


def page_of_form(request: HttpRequest) -> str:
    """Return the path of the referring page of this console, or nothing."""
    before = request.headers.get("Referer", "")
    if not url_has_allowed_host_and_scheme(before, {request.get_host()}, require_https=request.is_secure()):
        return ""
    found = urlsplit(before)
    path = f"/{found.path.lstrip('/')}"
    return f"{path}?{found.query}" if found.query else path


def put_on_record(request: HttpRequest, response: HttpResponse, *, now: datetime) -> None:
    """Record a denial of an authenticated principal once; a failure to record it is logged and does not change the
    answer."""
    refusal = getattr(response, "refusal", None)
    if getattr(request, "principal", None) is None or not is_denial(refusal):
        return
    try:
        _record(request, refusal, now)
    except Exception:
        log.exception("a denial could not be put on record; it stays a denial")


def is_denial(refusal: object) -> TypeGuard[Forbidden]:
    """Return whether a principal lacks a permission or a rule bars it, and the denial is not on record yet."""
    if not isinstance(refusal, Forbidden) or refusal.on_record:
        return False
    return "requiredScope" in refusal.details or "rule" in refusal.details


def _record(request: HttpRequest, refusal: Forbidden, now: datetime) -> None:
    """Record the denial: the action is the method and the route name, and the resource is an id, never free text."""
    route = request.resolver_match or resolve(request.path_info)
    named = {name: value for name, value in route.kwargs.items() if ids.is_wire(value)}
    denials.record(
        scope_of(request),
        refusal,
        action=f"{request.method} {route.view_name}",
        resource=next(iter(named.values()), ""),
        run_id=ids.parse("run", named.get("run_id", "")),
        now=now,
    )
