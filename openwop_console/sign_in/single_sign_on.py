"""Sign in by OpenID Connect through one configured provider, whose groups give the roles.

django-allauth speaks the protocol (authorization code, state, PKCE). Checked here: signature and subject of the
answers, that the address is verified, and that a group of the person has a role. Claims are not stored.
"""

import asyncio
import logging
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from io import BytesIO
from typing import Any, Self
from urllib.parse import urlencode, urlsplit

import requests
from allauth.core.exceptions import ImmediateHttpResponse
from allauth.socialaccount.adapter import DefaultSocialAccountAdapter
from allauth.socialaccount.internal import jwtkit
from allauth.socialaccount.models import SocialAccount, SocialApp
from allauth.socialaccount.providers.oauth2.client import OAuth2Error
from allauth.socialaccount.providers.oauth2.views import OAuth2CallbackView
from allauth.socialaccount.providers.openid_connect.provider import OpenIDConnectProvider
from allauth.socialaccount.providers.openid_connect.views import OpenIDConnectOAuth2Adapter
from django.conf import settings
from django.contrib import messages
from django.core.cache import caches
from django.core.exceptions import ImproperlyConfigured, ValidationError
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_safe
from requests import RequestException

from memory.host import access, operators, outbound, pages, request_slots, throttle
from memory.host.errors import NotFound
from memory.host.json_types import JSONObject
from memory.host.models import Operator, Tenant
from openwop_console import sign_in

log = logging.getLogger(__name__)
PROVIDER = "oidc"
METADATA_KEPT = 600  # seconds
# Of one request to the provider: seconds in all, and bytes of its answer.
SECONDS = 5.0
MAX_BYTES = 1_048_576
NO_ROLE = "None of your groups has a role in this console. Ask your administrator."
UNVERIFIED = "The provider does not say that your email address is verified, so it opens no account here."
TAKEN = "An account with your email address signs in with a password. Ask your administrator."
ANOTHERS = "Your email address belongs to another account of the provider here. Ask your administrator."
NO_ADDRESS = "The provider did not send your email address."
FAILED = "The sign-in did not complete. Try again."
UNREACHABLE = "The sign-in provider does not answer. Try again later."


class _Refused(Exception):
    """The provider's person is not admitted: a sentence for them, and a code for the audit record."""

    def __init__(self, sentence: str, code: str, account: Operator | None = None) -> None:
        super().__init__(sentence)
        self.sentence, self.code, self.account = sentence, code, account


class _Session:
    """The part of a session of ``requests`` that django-allauth uses, on the outbound guard.

    So neither redirects nor proxies of the environment are followed, and time and size are bounded. The issuer's own
    host may be on a private network; the other endpoints that its metadata name are connected to as any host.
    """

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Nothing is left open."""

    def get(self, url: str, **given: object) -> requests.Response:
        return self.request("GET", url, **given)

    def request(self, method: str, url: str, **given: Any) -> requests.Response:
        prepared = requests.Request(method, url, **given).prepare()
        # The caller's thread may have a running loop, and serves a request: others compute while it waits.
        with request_slots.aside(), ThreadPoolExecutor(max_workers=1) as thread:
            return thread.submit(lambda: asyncio.run(_sent(prepared))).result()


async def _sent(prepared: requests.PreparedRequest) -> requests.Response:
    """The provider's whole answer; raises ``RequestException`` when there is none."""
    body = prepared.body.encode() if isinstance(prepared.body, str) else prepared.body
    headers = {name: value for name, value in prepared.headers.items() if name.lower() != "content-length"}
    issuer = urlsplit(settings.OPENWOP_OIDC_ISSUER).hostname or ""
    found = requests.Response()
    try:
        request = outbound.request_to(str(prepared.method), str(prepared.url), headers=headers, content=body)
        async with outbound.exchange(request, seconds=SECONDS, listed=issuer) as answer:
            found.status_code, found.url = answer.status_code, str(prepared.url)
            found.headers.update(answer.headers)
            found.raw = BytesIO(await outbound.read(answer, most=MAX_BYTES))
    except outbound.OutboundFailed as failed:
        raise RequestException(failed.reason) from None
    if answer.is_redirect:
        raise RequestException("redirect")
    return found


class Adapter(DefaultSocialAccountAdapter):  # type: ignore[misc]  # allauth is untyped
    """Configure django-allauth with the one provider of the settings, and this host's rules of admission."""

    def get_app(self, request: HttpRequest, provider: str, client_id: str | None = None) -> SocialApp:
        if not settings.OPENWOP_OIDC_ISSUER:
            raise NotFound
        return SocialApp(
            provider=OpenIDConnectProvider.id,
            provider_id=PROVIDER,
            name=settings.OPENWOP_OIDC_NAME,
            client_id=settings.OPENWOP_OIDC_CLIENT_ID,
            secret=settings.OPENWOP_OIDC_CLIENT_SECRET,
            settings={
                "server_url": settings.OPENWOP_OIDC_ISSUER,
                "scope": settings.OPENWOP_OIDC_SCOPES,
                "oauth_pkce_enabled": True,
            },
        )

    def get_provider(self, request: HttpRequest, provider: str, client_id: str | None = None) -> Any:
        found = OpenIDConnectProvider(request, app=self.get_app(request, provider))
        found.oauth2_adapter_class = Connection
        return found

    def get_requests_session(self) -> "_Session":
        return _Session()

    def authenticate_by_email(self, sociallogin: object) -> None:
        """Do nothing: ``pre_social_login`` decides whether an address is linked to an account."""

    def pre_social_login(self, request: HttpRequest, sociallogin: Any) -> None:
        """Find or create the person, and give them the roles of their groups, before the session begins."""
        linked = sociallogin.user if sociallogin.account.pk else None
        claims, sociallogin.token = sociallogin.claims, None  # so that a stored session holds no token
        try:
            sociallogin.user = _admit(sociallogin.account, linked, claims, now=timezone.now())
        except _Refused as refused:
            raise ImmediateHttpResponse(_turn_away(request, refused)) from None

    def on_authentication_error(self, request: HttpRequest, provider: object, **found: object) -> None:
        problem = found.get("exception")
        log.warning("a sign-in by OpenID Connect failed: %s", type(problem).__name__ if problem else found.get("error"))
        messages.error(request, UNREACHABLE if isinstance(problem, RequestException) else FAILED)
        raise ImmediateHttpResponse(redirect("account_login"))


class Connection(OpenIDConnectOAuth2Adapter):  # type: ignore[misc]  # allauth is untyped
    """The provider's endpoints: metadata cached for ``METADATA_KEPT``, signatures always verified, one subject in all
    answers."""

    @property
    def openid_config(self) -> JSONObject:
        address = self.get_provider().server_url
        found: dict[str, object] | None = caches["process"].get(address)
        if found is None:
            found = super().openid_config
            if str(found.get("issuer", "")).rstrip("/") != settings.OPENWOP_OIDC_ISSUER:
                raise OAuth2Error("The metadata is of another issuer")
            caches["process"].set(address, found, METADATA_KEPT)
        return found

    def get_callback_url(self, request: HttpRequest, app: object) -> str:
        return f"{pages.public_url(request)}{reverse('single-sign-on-callback')}"

    def complete_login(self, request: HttpRequest, app: Any, token: Any, **kwargs: Any) -> object:
        config = self.openid_config
        claims = jwtkit.verify_and_decode(
            credential=kwargs["response"].get("id_token"),
            keys_url=config["jwks_uri"],
            issuer=config["issuer"],
            audience=app.client_id,
            lookup_kid=jwtkit.lookup_kid_jwk,
        )
        if config.get("userinfo_endpoint"):
            more = self._fetch_user_info(token.token)
            if more.get("sub") != claims["sub"]:
                raise OAuth2Error("The answers are of two people")  # OpenID Connect Core 5.3.2
            claims = {**more, **claims}
        login = self.get_provider().sociallogin_from_response(request, {"sub": str(claims["sub"])})
        login.account.extra_data, login.claims = {}, claims
        return login


@pages.parameters("next")
@require_safe
def start(request: HttpRequest) -> HttpResponse:
    """Redirect to the provider, to return to ``next`` after the sign-in.

    Reached by a link, not a form: a form's policy would have to name every host that the provider itself redirects to.
    """
    provider, then = Adapter(request).get_provider(request, PROVIDER), pages.back(request, "/")
    try:
        sign_in.reserve(request, [sign_in.bucket_of_network(request, PROVIDER)], now=timezone.now())
    except ValidationError as early:
        return _back(request, " ".join(early.messages))
    try:
        response: HttpResponse = provider.redirect(request, process="login", next_url=then)
    except (OAuth2Error, RequestException, ValueError) as problem:
        log.warning("the OpenID Connect provider does not answer: %s", type(problem).__name__)
        return _back(request, UNREACHABLE)
    return response


@pages.parameters("*")
@require_safe
def callback(request: HttpRequest) -> HttpResponse:
    """Complete the sign-in, or show why it failed."""
    view = OAuth2CallbackView.adapter_view(Connection(request, PROVIDER))
    try:
        answer: HttpResponse = view(request)
    except (ImproperlyConfigured, KeyError, ValueError) as problem:  # a malformed answer
        log.warning("a sign-in by OpenID Connect failed: %s", type(problem).__name__)
        return _back(request, FAILED)
    if request.user.is_authenticated:
        throttle.succeeded(sign_in.bucket_of_network(request, PROVIDER))
    return answer


def _back(request: HttpRequest, sentence: str) -> HttpResponse:
    messages.error(request, sentence)
    then = pages.back(request, "")
    return redirect(f"{reverse('account_login')}{'?' + urlencode({'next': then}) if then else ''}")


def _turn_away(request: HttpRequest, refused: _Refused) -> HttpResponse:
    if refused.account:
        sign_in.record_failure(request, refused.account, refused.code)
    messages.error(request, refused.sentence)
    return redirect("account_login")


def _admit(account: SocialAccount, linked: Operator | None, claims: dict[str, object], *, now: datetime) -> Operator:
    """Return the person of these claims, with the roles of their groups; raises ``_Refused`` without any membership.

    An account is linked only to a person who comes in by it.
    """
    wanted = _roles(claims.get(settings.OPENWOP_OIDC_GROUPS_CLAIM))
    with transaction.atomic():
        person = linked or _person(claims, wanted, now)
        operators.follow_groups(person, wanted, now=now)
        if account.pk is None and not access.memberships_of(person.id):
            raise _Refused(NO_ROLE, "groups", person)
        if account.pk is None:
            account.user = person
            account.save(force_insert=True)
            access.record_everywhere(person, action="operator.linked", actor="host", now=now)
    if not access.memberships_of(person.id):
        raise _Refused(NO_ROLE, "groups", person)
    return person


def _person(claims: dict[str, object], wanted: dict[Tenant, str], now: datetime) -> Operator:
    """Return the person with the address of the claims, if the provider has verified it; raises ``_Refused`` otherwise.

    A new person is created when their groups have a role. An existing account is linked where the settings allow it,
    without what opened it before: another may have made it, and know its password. One that is linked already is not,
    since the provider may have given the address of a person who left to another.
    """
    email = claims.get("email")
    if not isinstance(email, str) or not email.strip():
        raise _Refused(NO_ADDRESS, "address")
    known = access.operator_by_email(email)
    if claims.get("email_verified") is not True:
        raise _Refused(UNVERIFIED, "address", known)
    if known and not settings.OPENWOP_OIDC_LINK:
        raise _Refused(TAKEN, "not linked", known)
    if known and SocialAccount.objects.filter(user=known).exists():
        raise _Refused(ANOTHERS, "linked to another", known)
    if known:
        operators.renew_login(known, now=now)
        return known
    for tenant, role in wanted.items():
        return operators.join_by_groups(tenant, email, role=role, now=now)
    raise _Refused(NO_ROLE, "groups")


def _roles(groups: object) -> dict[Tenant, str]:
    """Return the role that these groups give in each tenant; of several, the one that the settings name first."""
    named = {groups} if isinstance(groups, str) else set(map(str, groups)) if isinstance(groups, list) else set()
    found = {}
    for slug, table in settings.OPENWOP_OIDC_ROLES.items():
        role = next((role for group, role in table.items() if group in named), "")
        tenant = access.tenant_by_slug(slug) if role else None
        if tenant:
            found[tenant] = role
    return found
