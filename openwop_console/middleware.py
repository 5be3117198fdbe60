"""Authenticate a session or key before any view, and turn refusals into a page or envelope.

Every address of a face needs a credential unless it is listed in ``PUBLIC`` or carries its own signed token
(``BY_TOKEN``). Authentication precedes existence, so a new route is closed until it is opened here.
"""

import re
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any
from urllib.parse import urlencode

from csp.middleware import CSPMiddleware
from django.contrib import messages
from django.contrib.auth.middleware import AuthenticationMiddleware
from django.contrib.messages.middleware import MessageMiddleware
from django.contrib.sessions.middleware import SessionMiddleware
from django.db import Error
from django.http import HttpRequest, HttpResponse, HttpResponsePermanentRedirect, HttpResponseRedirect
from django.http.response import HttpResponseBase
from django.middleware.gzip import GZipMiddleware
from django.urls import Resolver404, resolve
from django.utils import timezone
from django.utils.cache import patch_vary_headers
from django_htmx.middleware import HtmxMiddleware
from whitenoise.middleware import WhiteNoiseMiddleware

from memory.host import http, pages, request_ids, tenancy
from memory.host.errors import (
    Forbidden,
    MethodNotAllowed,
    NotFound,
    Refusal,
    RepeatedParameter,
    StoreUnavailable,
    Unauthenticated,
    UnknownParameter,
    UnsupportedMediaType,
)
from memory.host.http import operation_of
from memory.host.tenancy import Principal
from openwop_console import errors, health, idempotency, sign_in
from openwop_console.oauth import tokens
from openwop_console.process import bind_address
from openwop_console.templatetags.console import with_visible_bidi

EXTENSION = "/v1/host/console/"
UNSENT = "Your session ended before this form was sent. Nothing was changed; sign in and send it again."
FORMS_ONLY = "This address only receives a form, and none was sent now."
PUBLIC = ("/.well-known/", "/v1/openapi.json")
NO_FORWARDED_PROTO = (
    "This console is served over HTTPS by a proxy that sends X-Forwarded-Proto, which this request came without.\n"
)
WRONG_FORWARDED_PROTO = (
    "The browser used HTTPS, and the proxy says http in X-Forwarded-Proto. A proxy behind the one that ends TLS has to"
    " pass that one's header on.\n"
)
BY_TOKEN = re.compile(r"/v1/interrupts/[^/]+")
# Answers about what was sent, or about what is there, which are for those alone who may act.
OF_WHAT_WAS_SENT = frozenset({400, 404, 409, 410, 413, 415, 422, 428})
OF_UNCHANGED = ("ETag", "Cache-Control", "Vary", "Allow")  # the headers of a 304
GetResponse = Callable[[HttpRequest], HttpResponse]


def end_redirect_loop(get_response: GetResponse) -> GetResponse:
    """Answer 421 in place of the redirect to https where the page would redirect to itself forever.

    Either the proxy does not send ``X-Forwarded-Proto``, or it says http of a browser that uses https: browsers send
    ``Sec-Fetch-Site`` to secure origins alone.
    """

    def answer(request: HttpRequest) -> HttpResponse:
        response = get_response(request)
        if isinstance(response, HttpResponsePermanentRedirect):
            problem = ""
            if "X-Forwarded-Proto" not in request.headers:
                problem = NO_FORWARDED_PROTO
            elif "Sec-Fetch-Site" in request.headers and not request.is_secure():
                problem = WRONG_FORWARDED_PROTO
            if problem:
                return HttpResponse(problem, content_type="text/plain; charset=utf-8", status=421)
        return response

    return answer


class ConsoleMiddleware:
    """Set ``request.principal`` (None for a visitor) and answer every refusal in the shape of the face."""

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        began = time.monotonic()
        with request_ids.under_way("req"):
            response = self._answer(request)
        if (seconds := time.monotonic() - began) >= health.SLOW_S:
            _note_slow(request, response, seconds)
        return response

    def _answer(self, request: HttpRequest) -> HttpResponse:
        face = errors.face_of(request.path)
        if face == "page":
            return self._answer_in_turn(request, face)
        method = request.method
        if method == "HEAD":
            request.method = "GET"  # everything that can be read is: the server sends the head alone
        return _as_http(method, request, self._answer_in_turn(request, face))

    def _answer_in_turn(self, request: HttpRequest, face: str) -> HttpResponse:
        if not request.path.isprintable():
            return errors.answer(request, NotFound())
        request.principal = None  # type: ignore[attr-defined]
        refused: Refusal | None = request.META.get(http.REFUSED)
        try:
            if isinstance(refused, StoreUnavailable):
                raise refused  # authentication would wait for the same database
            request.principal = _principal(request, face)  # type: ignore[attr-defined]
            if refused:
                raise refused
            if face != "page":
                _require_plain_body(request)
            if face == "page" and sign_in.must_enrol(request):
                return _to(request, "/settings/second-factor")
            once = idempotency.answer_form if face == "page" else idempotency.answer
            may_go_on = partial(_may_go_on, request, face)
            response = once(request, self.get_response, may_go_on=may_go_on, clock=timezone.now)
        except (Refusal, *errors.DATABASE_FAILURES) as problem:
            response = errors.answer(request, errors.refusal_of(problem))
        if face == "page" and response.status_code == 405:
            response = _forms_only(request, allow=response["Allow"])
        if response.status_code in OF_WHAT_WAS_SENT and (denied := _denial(request)):
            response = errors.answer(request, denied)
        errors.put_on_record(request, response, now=timezone.now())
        if response.streaming:
            # The server sends a download long after this, and checks again.
            response.may_go_on = partial(_may_go_on, request, face)  # type: ignore[attr-defined]
        if face == "page":
            patch_vary_headers(response, ["HX-Request"])
            _show_bidi(response)
        if request.principal is not None and "Cache-Control" not in response:  # type: ignore[attr-defined]
            response["Cache-Control"] = "private, no-store"
        return response

    def process_view(
        self, request: HttpRequest, view: Callable[..., HttpResponse], args: object, values: object
    ) -> HttpResponse | None:
        """Refuse, by name, query parameters that the view does not read, and repeats of one that has a single value; on
        pages and on the host extension only.

        The routes of the two protocols ignore unknown parameters. Visitors are sent to sign in first.
        """
        if request.principal is None or not request.GET:  # type: ignore[attr-defined]
            return None
        if unknown := _unknown_parameters(request, view):
            problems = [{"field": name[:100], "message": "is not a parameter of this address"} for name in unknown]
            return errors.answer(request, UnknownParameter(errors=problems))
        if repeated := _repeated_parameters(request, view):
            problems = [{"field": name, "message": "is given more than once"} for name in repeated]
            return errors.answer(request, RepeatedParameter(errors=problems))
        return None

    def process_exception(self, request: HttpRequest, exception: Exception) -> HttpResponse | None:
        """Answer a refusal of a page or an outage. Visitors are sent to sign in and back; any other exception
        is left to Django to report."""
        if not isinstance(exception, Refusal) and not errors.is_outage(exception):
            return None
        if isinstance(exception, Unauthenticated) and errors.face_of(request.path) == "page":
            return _to_login(request)
        return errors.answer(request, errors.refusal_of(exception))


def _as_http(method: str | None, request: HttpRequest, response: HttpResponse) -> HttpResponse:
    """Complete the answer of a face by what HTTP says of every resource: ``Allow``, ``OPTIONS``, ``HEAD`` and
    ``If-None-Match`` (RFC 9110 9.3.2, 9.3.7, 10.2.1, 13.1.2)."""
    if "Allow" in response:
        allowed = set(response["Allow"].split(", "))
        response["Allow"] = ", ".join(sorted(allowed | ({"HEAD"} if "GET" in allowed else set())))
        if method == "OPTIONS" and response.status_code == 405:
            return _without_body(204, {"Allow": response["Allow"], "Cache-Control": "no-store"})
    is_read = request.method == "GET" and response.status_code == 200
    if is_read and "ETag" in response and http.is_known(request.headers, response["ETag"]):
        return _without_body(304, {name: response[name] for name in OF_UNCHANGED if name in response})
    if method == "HEAD" and response.streaming:
        response.close()
        return _without_body(response.status_code, dict(response.items()))
    return response


def _without_body(status: int, headers: dict[str, str]) -> HttpResponse:
    response = HttpResponse(status=status, headers={"Content-Type": "", **headers})
    if not response["Content-Type"]:
        del response["Content-Type"]
    return response


def _require_plain_body(request: HttpRequest) -> None:
    """Refuse a body in a coding that this host does not undo, such as ``gzip`` (RFC 9110 15.5.16)."""
    coding = request.headers.get("Content-Encoding", "").strip().lower()
    if coding not in {"", "identity"}:
        raise UnsupportedMediaType("Send the body as it is: this host takes no Content-Encoding.")


def _may_go_on(request: HttpRequest, face: str) -> bool:
    """Return whether the request's credential still grants what it granted when the request came in."""
    before: Principal | None = request.principal  # type: ignore[attr-defined]
    if before is None:
        return True
    if face == "page":
        after = sign_in.principal_now(request)
        return after is not None and before.scopes <= after.scopes
    return not tenancy.revoked_among([before], now=timezone.now())


def _note_slow(request: HttpRequest, response: HttpResponse, seconds: float) -> None:
    """Note a slow request, except streams and long polls, which wait by design, and 503, where the note would wait
    too. No answer fails because its note cannot be kept."""
    route = request.resolver_match.route if request.resolver_match else ""
    if not route or response.streaming or route.endswith("/poll") or response.status_code == 503:
        return
    slow = health.Slow(timezone.now(), str(request.method), route, response.status_code, round(seconds, 2))
    with suppress(Error, *errors.DATABASE_FAILURES):
        health.note_slow(slow)


def _show_bidi(response: HttpResponse) -> None:
    """Replace bidirectional controls in a page with visible marks, so that no text changes the direction of another."""
    if response.streaming or not response.get("Content-Type", "").startswith("text/html"):
        return
    shown = with_visible_bidi(response.content.decode(response.charset))
    response.content = shown.encode(response.charset)


def _denial(request: HttpRequest) -> Forbidden | None:
    """Return the refusal for a principal that lacks a permission of the address.

    It precedes every answer about what was sent or what is there: an unauthorized caller learns nothing of either.
    """
    principal: Principal | None = request.principal  # type: ignore[attr-defined]
    if principal is None or not request.path.startswith(("/v1/", "/api/")):
        return None
    try:
        view = resolve(request.path_info).func
    except Resolver404:
        return None
    asked = operation_of(view, str(request.method))
    try:
        if asked:
            asked.check(tenancy.tenant_scope(principal))
    except Forbidden as denied:
        return denied
    return None


def _unknown_parameters(request: HttpRequest, view: Callable[..., HttpResponse]) -> list[str]:
    if errors.face_of(request.path) == "page":
        return pages.undeclared(request, view)
    operation = operation_of(view, request.method or "") if request.path.startswith(EXTENSION) else None
    return sorted(set(request.GET) - operation.parameters) if operation else []


def _repeated_parameters(request: HttpRequest, view: Callable[..., HttpResponse]) -> list[str]:
    is_own = errors.face_of(request.path) == "page" or request.path.startswith(EXTENSION)
    return pages.repeated(request, view) if is_own else []


def _principal(request: HttpRequest, face: str) -> Principal | None:
    if request.path in bind_address.PROBES:
        return None
    if face == "page":
        return sign_in.session_principal(request)
    if face == "oauth" or request.path.startswith(PUBLIC) or BY_TOKEN.fullmatch(request.path):
        return None
    if face == "mcp":
        _require_own_origin(request)
        return tokens.principal_of(request, _credential(request), now=timezone.now())
    return tenancy.key_principal(_credential(request), now=timezone.now())


def _require_own_origin(request: HttpRequest) -> None:
    """Refuse a request from a page of another site, whose host name may resolve to this host (DNS rebinding)."""
    origin = request.headers.get("Origin")
    if origin is not None and origin not in {f"{request.scheme}://{request.get_host()}", pages.public_url(request)}:
        raise Forbidden("This address is not for pages of other sites.")


def _credential(request: HttpRequest) -> str:
    """Return the key from either header: both work on both faces."""
    scheme, _, token = request.headers.get("Authorization", "").partition(" ")
    if scheme.lower() == "bearer" and token:
        return token.strip()
    if key := request.headers.get("X-API-Key", ""):
        return key
    raise Unauthenticated


def _forms_only(request: HttpRequest, *, allow: str) -> HttpResponse:
    """Lead to the nearest page above an address that was opened again without a form; Django answers with nothing."""
    above = request.path
    while above := above.rpartition("/")[0]:
        with suppress(Resolver404):
            resolve(above)
            break
    response = errors.answer(request, MethodNotAllowed(FORMS_ONLY, startAgain=above or "/"))
    response["Allow"] = allow
    return response


def _to_login(request: HttpRequest) -> HttpResponse:
    """Redirect to sign in. A form that was submitted gets a warning that nothing was changed; scripts restore what was
    typed."""
    if request.method not in {"GET", "HEAD"}:
        messages.warning(request, UNSENT)
    return _to(request, "/login")


def _to(request: HttpRequest, first: str) -> HttpResponse:
    """Redirect to a page that comes first and leads back to this one; after a submitted form, to the page it was on."""
    is_read = request.method in {"GET", "HEAD"}
    back = request.get_full_path() if is_read else errors.page_of_form(request) or "/"
    target = f"{first}?{urlencode({'next': back})}"
    if request.headers.get("HX-Request"):
        response = HttpResponse(status=401)
        response["HX-Redirect"] = target
        return response
    return HttpResponseRedirect(target)


def only(middleware: Callable[[GetResponse], Any]) -> Callable[[GetResponse], GetResponse]:
    """Apply the middleware to pages only; none of those it is used for has a hook other than its call."""

    def around(get_response: GetResponse) -> GetResponse:
        of_page = middleware(get_response)

        def answer(request: HttpRequest) -> HttpResponse:
            is_page = errors.face_of(request.path) == "page"
            response: HttpResponse = of_page(request) if is_page else get_response(request)
            return response

        return answer

    return around


class HtmlCompression(GZipMiddleware):
    """Compress HTML answers to GET (docs/decisions/0073-compressed-pages.md)."""

    def process_response(self, request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
        is_html = response.get("Content-Type", "").startswith("text/html")
        return super().process_response(request, response) if is_html and request.method == "GET" else response


static_files = only(WhiteNoiseMiddleware)


compression = only(HtmlCompression)


content_policy = only(CSPMiddleware)


sessions = only(SessionMiddleware)


authentication = only(AuthenticationMiddleware)


page_messages = only(MessageMiddleware)


htmx = only(HtmxMiddleware)
