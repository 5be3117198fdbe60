"""How an ``Idempotency-Key`` is honoured: around every mutating address of ``/v1/``, behind the credential.

The view runs inside one transaction with the storing of its answer. It commits whatever the view has put on record,
refusals too, and rolls back when the host failed. A view that waits for another process commits as it goes, and its
answer is stored behind that.
"""

import time
from collections.abc import Callable
from contextlib import nullcontext
from datetime import datetime

from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.urls import Resolver404, resolve

from memory.host import idempotency
from memory.host.errors import IdempotencyInFlight, TooLarge
from memory.host.idempotency import Asked, Claim, StoredAnswer
from memory.host.operations import Operation, operation_of
from memory.host.tenancy import TenantScope, tenant_scope
from openwop_console import turns

MUTATING = frozenset({"POST", "PUT", "PATCH", "DELETE"})
NOT_FINAL = frozenset({400, 401, 403, 429})
NOT_STORED = frozenset(
    {
        "connection",
        "content-length",
        "date",
        "keep-alive",
        "proxy-authenticate",
        "proxy-connection",
        "set-cookie",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
    }
)
MOST_BYTES = 16 * 1024 * 1024
WAIT_S = 2.0
LOOK_EVERY_S = 0.05
RETRY_AFTER_S = 1
Clock = Callable[[], datetime]
GetResponse = Callable[[HttpRequest], HttpResponse]


def answer(request: HttpRequest, get_response: GetResponse, *, clock: Clock) -> HttpResponse:
    """What the view answers; with an ``Idempotency-Key``, what it answered the first time."""
    key = request.headers.get("Idempotency-Key")
    principal = getattr(request, "principal", None)
    if key is None or principal is None or request.method not in MUTATING or not request.path.startswith("/v1/"):
        return get_response(request)
    scope = tenant_scope(principal)
    found = _claimed(_asked(scope, request, key), clock)
    asked = _operation(request)
    if isinstance(found, StoredAnswer):
        return _replay(scope, asked, found)
    return _carry_out(request, get_response, found, alone=asked is not None and asked.waits)


def _operation(request: HttpRequest) -> Operation | None:
    try:
        return operation_of(resolve(request.path_info).func, str(request.method))
    except Resolver404:
        return None


def _asked(scope: TenantScope, request: HttpRequest, key: str) -> Asked:
    body = request.read(MOST_BYTES + 1)
    if len(body) > MOST_BYTES:
        raise TooLarge(f"A body has at most {MOST_BYTES} bytes.")
    request._body = body  # noqa: SLF001  # where the view's parser looks; each parser has its own, lower limit
    query = request.META.get("QUERY_STRING", "")
    return idempotency.asked(scope, key=key, method=str(request.method), path=request.path, query=query, body=body)


def _claimed(asked: Asked, clock: Clock) -> Claim | StoredAnswer:
    """The claim or the stored answer; who finds the request under way waits a little for its answer, aside."""
    deadline = time.monotonic() + WAIT_S
    while True:
        found = idempotency.claim(asked, now=clock())
        if found is not None:
            return found
        if time.monotonic() >= deadline:
            raise IdempotencyInFlight(retryAfter=RETRY_AFTER_S)
        with turns.aside():
            time.sleep(LOOK_EVERY_S)


def _replay(scope: TenantScope, asked: Operation | None, stored: StoredAnswer) -> HttpResponse:
    """The stored answer, for a principal that may still ask."""
    for needed in (asked.scope if asked and asked.scope else "").split():
        scope.check(needed)
    response = HttpResponse(stored.body, status=stored.status, headers=stored.headers)
    response["openwop-Idempotent-Replay"] = "true"
    return response


def _carry_out(request: HttpRequest, get_response: GetResponse, claim: Claim, *, alone: bool) -> HttpResponse:
    """The view's own answer, stored when it is final; nothing is left of a request that the host failed to answer."""
    final = False
    try:
        with nullcontext() if alone else transaction.atomic():
            response = get_response(request)
            final = _is_final(response)
            if final:
                idempotency.keep(claim, _stored(response))
            elif response.status_code >= 500 and not alone:
                transaction.set_rollback(True)
        return response
    finally:
        if not final:
            idempotency.release(claim)


def _is_final(response: HttpResponse) -> bool:
    """Whether asking again could bring nothing else. An answer that names a time to come back is not final."""
    if response.streaming or response.status_code in NOT_FINAL or "Retry-After" in response:
        return False
    return 200 <= response.status_code < 300 or 400 <= response.status_code < 500


def _stored(response: HttpResponse) -> StoredAnswer:
    headers = {name: value for name, value in response.items() if name.lower() not in NOT_STORED}
    return StoredAnswer(response.status_code, headers, response.content.decode())
