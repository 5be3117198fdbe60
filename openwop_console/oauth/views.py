"""The pages and addresses of OAuth: metadata, registration, consent, tokens."""

import json
import re
from collections.abc import Callable
from functools import wraps
from typing import Any
from urllib.parse import urlencode, urlsplit

from allauth.core.internal import httpkit
from allauth.idp.oidc import views as idp
from allauth.idp.oidc.internal.oauthlib.server import get_server
from allauth.idp.oidc.internal.oauthlib.utils import extract_params
from allauth.idp.oidc.internal.resources import get_resources
from allauth.idp.oidc.models import Client
from django.core.exceptions import ValidationError
from django.core.signing import BadSignature, Signer
from django.db import transaction
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.utils import timezone
from django.views.decorators.csrf import csrf_exempt
from django.views.generic.edit import FormView
from oauthlib.oauth2.rfc6749 import errors as oauth_errors
from rest_framework.decorators import api_view
from rest_framework.exceptions import ParseError
from rest_framework.request import Request
from rest_framework.response import Response

from memory.host import access, key_management, pages
from memory.host.errors import Conflict, Forbidden, Invalid
from memory.host.http import STRING, TEXT, StrictJSONParser, closed, listed, operation
from memory.host.json_types import JSONObject
from memory.host.tenancy import scope_of
from memory.text.storable import UNSTORABLE
from openwop_console.oauth import tokens

MAY = {
    "memory:read": "search, list and read memory",
    "memory:write": "write memory",
    "runs:create": "ask people questions, which appear on Needs you",
    "proposals:create": "propose changes, which people review before anything is installed",
}
# Characters that no database stores, and an incomplete percent-escape.
BROKEN_ESCAPE = re.compile("%(?![0-9A-Fa-f]{2})")
ADDRESSES = ("redirect_uri", "resource")
LISTS = ("redirect_uris", "post_logout_redirect_uris", "grant_types", "response_types")
PROTECTED_RESOURCE = closed(
    "ProtectedResource",
    resource=TEXT,
    resource_name=STRING,
    authorization_servers=listed(TEXT),
    bearer_methods_supported=listed(TEXT),
    scopes_supported=listed(TEXT),
)
AUTHORIZATION_SERVER = closed(
    "AuthorizationServer",
    issuer=TEXT,
    authorization_endpoint=TEXT,
    token_endpoint=TEXT,
    registration_endpoint=TEXT,
    revocation_endpoint=TEXT,
    scopes_supported=listed(TEXT),
    response_types_supported=listed(TEXT),
    grant_types_supported=listed(TEXT),
    code_challenge_methods_supported=listed(TEXT),
    token_endpoint_auth_methods_supported=listed(TEXT),
)


@operation("describeProtectedResource", scope=None, gives={200: PROTECTED_RESOURCE}, tag="mcp")
@api_view(["GET"])
def protected_resource(request: Request) -> Response:
    """Where a client of ``/mcp`` comes by a token (RFC 9728)."""
    return Response(_resource_metadata(request))


@operation("describeMcpResource", scope=None, gives={200: PROTECTED_RESOURCE}, tag="mcp")
@api_view(["GET"])
def mcp_resource(request: Request) -> Response:
    """The same at the address that RFC 9728 derives from that of ``/mcp`` (section 3.1)."""
    return Response(_resource_metadata(request))


@operation("describeAuthorizationServer", scope=None, gives={200: AUTHORIZATION_SERVER}, tag="mcp")
@api_view(["GET"])
def authorization_server(request: Request) -> Response:
    """What this host does as an authorization server (RFC 8414)."""
    base = pages.public_url(request._request)  # noqa: SLF001  # Django's own
    return Response(
        {
            "issuer": base,
            "authorization_endpoint": f"{base}/oauth/authorize",
            "token_endpoint": f"{base}/oauth/token",
            "registration_endpoint": f"{base}/oauth/register",
            "revocation_endpoint": f"{base}/oauth/revoke",
            "scopes_supported": [tokens.SCOPE],
            "response_types_supported": ["code"],
            "grant_types_supported": [str(each) for each in tokens.GRANTS],
            "code_challenge_methods_supported": ["S256"],
            "token_endpoint_auth_methods_supported": ["none", "client_secret_basic", "client_secret_post"],
        }
    )


def require_readable(request: HttpRequest) -> None:
    """Refuse parameters that the library or the database would fail on (``invalid_request``, RFC 6749 5.2)."""
    if BROKEN_ESCAPE.search(request.META.get("QUERY_STRING", "")):
        raise Invalid("The query has a % that is not followed by two hexadecimal digits.")
    for sent in (request.GET, request.POST):
        for name, values in sent.lists():
            if any(map(UNSTORABLE.search, (name, *values))):
                raise Invalid("A parameter holds a NUL character or half a surrogate pair.")
            if name in ADDRESSES and not all(map(_is_address, values)):
                raise Invalid(f"{name} is not an address.")
    if any(map(UNSTORABLE.search, filter(None, httpkit.extract_basic_auth(request.headers)))):
        raise Invalid("The credentials hold a NUL character or half a surrogate pair.")


def _is_address(text: str) -> bool:
    try:
        urlsplit(text).port  # noqa: B018  # raises when it is not a port
    except ValueError:
        return False
    return True


def readable(view: Callable[..., HttpResponse]) -> Callable[..., HttpResponse]:
    """Call the view only when the request's parameters are readable."""

    @wraps(view)
    def checked(request: HttpRequest) -> HttpResponse:
        require_readable(request)
        return view(request)

    return checked


class Consent(idp.AuthorizationView):  # type: ignore[misc]  # allauth is untyped
    """The page on which a person grants a client access to the tenant that they are signed in to."""

    template_name = "oauth/consent.html"

    def get(self, request: HttpRequest, *args: object, **kwargs: object) -> HttpResponse:
        """Show the page; the client and its redirect address are validated before anything is sent there."""
        scope_of(request)
        require_readable(request)
        try:
            self._scopes, self._request_info = get_server().validate_authorization_request(*extract_params(request))
            self._request_info["resources"] = get_resources(request)
        except (oauth_errors.FatalClientError, ValidationError) as problem:
            raise Invalid(_sentence_of(problem)) from None
        except oauth_errors.OAuth2Error as problem:
            tokens.require_registered(request.GET.get("client_id", ""), problem.redirect_uri or "")
            return _back(problem.in_uri(problem.redirect_uri))
        tokens.require_registered(self._request_info["client_id"], self._request_info["redirect_uri"])
        if self._request_info.get("code_challenge_method") != "S256":
            missing = oauth_errors.InvalidRequestError(
                description="PKCE with code_challenge_method S256 is required.", state=self._request_info["state"]
            )
            return _back(missing.in_uri(self._request_info["redirect_uri"]))
        if "none" in request.GET.get("prompt", "").split():
            asks = oauth_errors.OAuth2Error(state=self._request_info["state"])
            asks.error = "interaction_required"
            return _back(asks.in_uri(self._request_info["redirect_uri"]))
        response: Any = FormView.get(self, request)
        response.render()
        # Browsers apply the page's policy to a form's redirects too: allow this client's address and no other.
        response._csp_update = {"form-action": [tokens.form_target(self._request_info["redirect_uri"])]}  # noqa: SLF001
        return response  # type: ignore[no-any-return]

    def post(self, request: HttpRequest, *args: object, **kwargs: object) -> HttpResponse:
        scope_of(request)
        require_readable(request)
        if not request.POST.get("request"):
            raise Invalid("That form is not this host's.")
        self._require_shown_to_them(request)
        answer: HttpResponse = super().post(request)
        return answer

    def get_initial(self) -> dict[str, object]:
        """Add to the signed request the person and tenant the page is shown to, and its address."""
        self._request_info["shown_to"] = _shown_to(self.request)
        self._request_info.setdefault("shown_at", self.request.get_full_path())
        initial: dict[str, object] = super().get_initial()
        return initial

    def _require_shown_to_them(self, request: HttpRequest) -> None:
        """Refuse a page that was shown to another person, or before the tenant was switched."""
        try:
            _, shown = Signer().unsign_object(request.POST["request"])
        except BadSignature:
            raise Forbidden("That form is not this host's.") from None
        if shown.get("shown_to") != _shown_to(request):
            raise Conflict(
                "This page was shown for another tenant or person than you are signed in as now. Nothing was"
                " granted. Start again, and read what the page says now.",
                startAgain=shown.get("shown_at", ""),
            )

    def _login_required(self, request: HttpRequest) -> None:
        """Do nothing: a visitor has already been sent to sign in."""

    def form_valid(self, form: object) -> HttpResponse:
        for ours in ("shown_to", "shown_at"):
            self._request_info.pop(ours)
        with transaction.atomic():
            tokens.grant(scope_of(self.request), self._client(), now=timezone.now())
            answer: HttpResponse = super().form_valid(form)
        return answer

    def get_context_data(self, **kwargs: object) -> dict[str, object]:
        scope, client = scope_of(self.request), self._client()
        allowed = access.ROLES[key_management.GRANTED] & scope.principal.scopes
        return {
            **super().get_context_data(**kwargs),
            "client_name": tokens.name_of(client),
            "target": tokens.form_target(self._request_info["redirect_uri"]),
            "may": [words for needed, words in MAY.items() if needed in allowed],
            "tenants": f"/tenants?{_next(self.request)}",
        }

    def _client(self) -> object:
        return Client.objects.get(id=self._request_info["client_id"])


authorize = pages.parameters("*")(Consent.as_view())


class TokenView(idp.TokenView):  # type: ignore[misc]  # allauth is untyped
    """Issue tokens for a code or refresh token with a valid grant.

    Either may be presented once; a second time ends the tokens issued from it.
    """

    def post(self, request: HttpRequest) -> HttpResponse:
        now = timezone.now()
        refresh = request.POST.get("refresh_token", "")
        presented = refresh or request.POST.get("code", "")
        client_id = _client_of(request)
        if refresh and not tokens.may_refresh(refresh, now=now):
            return _refused("invalid_grant")
        try:
            with transaction.atomic():
                tokens.lock_client(client_id)
                before = tokens.spent_before(refresh)
                answer: HttpResponse = super().post(request)
                good = answer.status_code == 200
                if good and not tokens.settle(json.loads(answer.content), presented, before, now=now):
                    return _refused("invalid_grant")
                if presented and not good:
                    tokens.end_if_spent(client_id, presented)
        except ValidationError:
            return _refused("invalid_target")
        return answer


class RevokeView(idp.RevokeView):  # type: ignore[misc]  # allauth is untyped
    """End a token for the client that it was issued to (RFC 7009), and with a refresh token its access tokens."""

    def post(self, request: HttpRequest) -> HttpResponse:
        found = tokens.find_token(request.POST.get("token", ""))
        if found and found.client_id != _client_of(request):
            return _refused("invalid_grant", "The token was issued to another client.")
        with transaction.atomic():
            answer: HttpResponse = super().post(request)
            if found and answer.status_code == 200:
                tokens.revoke_token(found)
        return answer


def _client_of(request: HttpRequest) -> str:
    """The client that the request authenticates as: that of the header, where there is one, as the library takes it."""
    return httpkit.extract_basic_auth(request.headers)[0] or request.POST.get("client_id") or ""


@csrf_exempt
def register(request: HttpRequest) -> HttpResponse:
    """Register a client (RFC 7591); unreadable metadata is ``invalid_client_metadata`` (3.2.2)."""
    if request.method == "POST":
        try:
            metadata = StrictJSONParser().parsed(request.body)
        except ParseError as problem:
            return _refused("invalid_client_metadata", str(problem.detail))
        if not isinstance(metadata, dict):
            return _refused("invalid_client_metadata", "The body is not a JSON object.")
        if wrong := [name for name in LISTS if not isinstance(metadata.get(name, []), list)]:
            return _refused("invalid_client_metadata", f"{wrong[0]} must be an array of strings.")
        if not tokens.has_room(now=timezone.now()):
            full = {"error": "temporarily_unavailable", "error_description": "Too many clients have registered."}
            return JsonResponse(full, status=503, headers={"Retry-After": "600"})
    answer: HttpResponse = idp.client_registration(request)
    if answer.status_code == 429:
        answer.headers.setdefault("Retry-After", "60")
    return answer


token = readable(TokenView.as_view())
revoke = readable(RevokeView.as_view())


def _refused(error: str, description: str = "") -> JsonResponse:
    return JsonResponse({"error": error, **({"error_description": description} if description else {})}, status=400)


def _back(uri: str) -> HttpResponse:
    """Redirect to the client, whose scheme may be a program's own."""
    return HttpResponse(status=302, headers={"Location": uri})


def _sentence_of(problem: Exception) -> str:
    explanation = getattr(problem, "description", "") or " ".join(getattr(problem, "messages", []))
    return f"The client asked for access in a way that this host does not know: {explanation}".rstrip(": ")


def _shown_to(request: HttpRequest) -> list[str]:
    scope = scope_of(request)
    return [scope.principal.id, scope.tenant_id.hex]


def _next(request: HttpRequest) -> str:
    return urlencode({"next": request.get_full_path()})


def _resource_metadata(request: Request) -> JSONObject:
    base = pages.public_url(request._request)  # noqa: SLF001  # Django's own
    return {
        "resource": f"{base}{tokens.RESOURCE}",
        "resource_name": "OpenWOP operator console",
        "authorization_servers": [base],
        "bearer_methods_supported": ["header"],
        "scopes_supported": [tokens.SCOPE],
    }
