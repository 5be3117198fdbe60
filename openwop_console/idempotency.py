"""Honour ``Idempotency-Key`` on every mutating address of ``/v1/``, once credential or token is checked; and carry out
a page's form that creates something once, however often the same form is sent.

The view and the storing of its answer share one transaction. It commits everything the view recorded, refusals
included, and rolls back when the host failed. A view that waits for another process commits as it goes, and its answer
is stored afterwards. A request that has waited for the first one goes on only while its credential grants what it did.
"""

import hashlib
import json
import time
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass
from datetime import datetime
from urllib.parse import urlsplit
from uuid import UUID

from django.contrib import messages
from django.core.exceptions import SuspiciousOperation
from django.core.handlers.exception import response_for_exception
from django.db import transaction
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.http.multipartparser import MultiPartParserError
from django.urls import Resolver404, resolve, reverse

from memory.host import http, idempotency_keys, ids, pages, request_slots
from memory.host.clock import Clock
from memory.host.errors import IdempotencyInFlight, Unauthenticated
from memory.host.http import Operation, operation_of
from memory.host.idempotency_keys import KeyClaim, KeyedRequest, StoredAnswer
from memory.host.json_types import JSONObject
from memory.host.pages import Creation
from memory.host.tenancy import TenantScope, tenant_scope
from openwop_console.runtime import interrupt_answers

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
WAIT_S = 2.0
LOOK_EVERY_S = 0.05
RETRY_AFTER_S = 1
TOKEN = "csrfmiddlewaretoken"  # noqa: S105  # the name of a field
Stored = Callable[[HttpResponse], StoredAnswer | None]
GetResponse = Callable[[HttpRequest], HttpResponse]
MayGoOn = Callable[[], bool]


@dataclass(frozen=True, slots=True)
class Caller:
    """The caller and the address: a principal with its permissions, or the holder of a token, which has none."""

    tenant_id: UUID
    principal: str
    path: str
    scope: TenantScope | None = None


def answer(request: HttpRequest, get_response: GetResponse, *, may_go_on: MayGoOn, clock: Clock) -> HttpResponse:
    """Return the view's answer; with an ``Idempotency-Key``, the answer to the first request."""
    key = request.headers.get("Idempotency-Key")
    if key is None or request.method not in MUTATING or not request.path.startswith("/v1/"):
        return get_response(request)
    view, named = _route(request)
    caller = _caller(request, named.get("token", ""), clock())
    if caller is None:
        return get_response(request)
    found = _claimed(_read_request(caller, request, key, view), may_go_on, clock)
    asked = operation_of(view, str(request.method))
    if isinstance(found, StoredAnswer):
        return _replay(caller, asked, found)
    waits, shown_once = (asked.waits, asked.shown_once) if asked else (False, ())
    return _carry_out(request, get_response, found, lambda response: _stored(response, shown_once), waits=waits)


def answer_form(request: HttpRequest, get_response: GetResponse, *, may_go_on: MayGoOn, clock: Clock) -> HttpResponse:
    """Return the page's answer; for a form that creates something and was sent before, where the first answer led.

    The token against forgery is masked anew for each rendering of a page, so the same token, address and fields are the
    same form, and other fields another one. Only a digest of them is stored, and of the answer only the path.
    """
    principal = getattr(request, "principal", None)
    creation = pages.creation_of(_route(request)[0]) if request.method == "POST" and principal else None
    if principal is None or creation is None:
        return get_response(request)
    try:
        token = request.POST.get(TOKEN)
    except (SuspiciousOperation, MultiPartParserError) as refused:
        return response_for_exception(request, refused)  # as where the check against forgery is the first to read it
    if not token:
        return get_response(request)
    asked = idempotency_keys.request_of(
        principal.tenant_id, principal.id, key=_digest(request), method="POST", path=request.path, query="", body=b""
    )
    found = _claimed(asked, may_go_on, clock)
    if isinstance(found, StoredAnswer):
        messages.info(request, creation.words)
        return HttpResponseRedirect(found.headers["Location"])
    return _carry_out(request, get_response, found, lambda response: _stored_place(creation, response))


def _digest(request: HttpRequest) -> str:
    """Return the digest of the query and of all fields and files, which tells nothing of them without the token."""
    digest = hashlib.sha256(repr((request.META.get("QUERY_STRING", ""), sorted(request.POST.lists()))).encode())
    for name, files in sorted(request.FILES.lists()):
        for each in files:
            digest.update(repr((name, each.name, each.size)).encode())
            for chunk in each.chunks():
                digest.update(chunk)
            each.seek(0)
    return digest.hexdigest()


def _stored_place(creation: Creation, response: HttpResponse) -> StoredAnswer | None:
    """Return where a form that was carried out leads, without the query, which may hold text that a person typed.

    None for a form that was refused, or only looked at.
    """
    if isinstance(response, HttpResponseRedirect):
        place = urlsplit(response.url)._replace(query="").geturl()
    elif response.status_code == 200 and creation.shown_at:
        place = reverse(creation.shown_at)
    else:
        return None
    return StoredAnswer(302, {"Location": place}, "")


def _route(request: HttpRequest) -> tuple[object, JSONObject]:
    try:
        found = resolve(request.path_info)
    except Resolver404:
        return None, {}
    request.resolver_match = found  # so that the refusal of a form that cannot be read is logged with its route
    return found.func, found.kwargs


def _caller(request: HttpRequest, token: str, now: datetime) -> Caller | None:
    """Return the caller, or None when there is neither principal nor valid token. The stored path omits the token."""
    if principal := getattr(request, "principal", None):
        scope = tenant_scope(principal)
        return Caller(scope.tenant_id, principal.id, request.path, scope)
    claims = interrupt_answers.answering(token, now=now)
    if claims is None:
        return None
    return Caller(claims.tenant_id, f"token:{ids.wire('int', claims.interrupt_id)}", "/v1/interrupts/{token}")


def _read_request(caller: Caller, request: HttpRequest, key: str, view: object) -> KeyedRequest:
    body = http.parser_of(view).read(request)
    request._body = body  # noqa: SLF001  # where the view's parser looks
    said = {"method": str(request.method), "path": caller.path, "query": request.META.get("QUERY_STRING", "")}
    return idempotency_keys.request_of(caller.tenant_id, caller.principal, key=key, body=body, **said)


def _claimed(asked: KeyedRequest, may_go_on: MayGoOn, clock: Clock) -> KeyClaim | StoredAnswer:
    """Return the claim or the stored answer; wait up to ``WAIT_S``, without a slot, while the first request is in
    flight.

    Raises ``IdempotencyInFlight`` when it is still in flight then, and ``Unauthenticated`` when the credential was lost
    meanwhile.
    """
    deadline = time.monotonic() + WAIT_S
    while True:
        found = idempotency_keys.claim(asked, now=clock())
        if found is not None:
            return found
        if time.monotonic() >= deadline:
            raise IdempotencyInFlight(retryAfter=RETRY_AFTER_S)
        with request_slots.aside():
            time.sleep(LOOK_EVERY_S)
        if not may_go_on():
            raise Unauthenticated


def _replay(caller: Caller, asked: Operation | None, stored: StoredAnswer) -> HttpResponse:
    """Return the stored answer, once the caller's permissions are checked again."""
    if caller.scope and asked:
        asked.check(caller.scope)
    response = HttpResponse(stored.body, status=stored.status, headers=stored.headers)
    response["openwop-Idempotent-Replay"] = "true"
    return response


def _carry_out(
    request: HttpRequest, get_response: GetResponse, claim: KeyClaim, stored: Stored, *, waits: bool = False
) -> HttpResponse:
    """Run the view and store its answer if final; when the host fails, roll back and release the claim."""
    final = None
    try:
        with nullcontext() if waits else transaction.atomic():
            response = get_response(request)
            final = stored(response)
            if final:
                idempotency_keys.store_answer(claim, final)
            elif response.status_code >= 500 and not waits:
                transaction.set_rollback(True)
        return response
    finally:
        if final is None:
            idempotency_keys.release(claim)


def _is_final(response: HttpResponse) -> bool:
    """Return whether a retry would get the same answer. An answer with ``Retry-After`` is not final."""
    if response.streaming or response.status_code in NOT_FINAL or "Retry-After" in response:
        return False
    return 200 <= response.status_code < 300 or 400 <= response.status_code < 500


def _stored(response: HttpResponse, shown_once: tuple[str, ...]) -> StoredAnswer | None:
    if not _is_final(response):
        return None
    headers = {name: value for name, value in response.items() if name.lower() not in NOT_STORED}
    body = response.content.decode()
    if shown_once and 200 <= response.status_code < 300:
        body = json.dumps({**json.loads(body), **dict.fromkeys(shown_once)})
    return StoredAnswer(response.status_code, headers, body)
