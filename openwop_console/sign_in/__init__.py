"""Sessions: sign in by email and password to an account that an administrator created, and the session's tenant.

Attempts are throttled (``memory.host.throttle``) by account and network together, and by network alone. A browser that
has signed in to an account before is counted separately, so attempts by others cannot lock its person out.
"""

import ipaddress
import re
import secrets
from collections.abc import Callable
from contextlib import suppress
from datetime import datetime, timedelta
from math import ceil
from typing import Any
from urllib.parse import urlencode

from allauth.account.adapter import DefaultAccountAdapter
from allauth.account.auth_backends import AuthenticationBackend
from allauth.account.internal.flows.login import get_authentication_records
from allauth.account.internal.stagekit import clear_login
from allauth.account.views import LoginView
from django import forms
from django.conf import settings
from django.contrib import auth, messages
from django.core import signing
from django.core.exceptions import ImproperlyConfigured, PermissionDenied, ValidationError
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import redirect
from django.utils import timezone
from django.views.decorators.http import require_http_methods

from memory.host import access, audit, ids, operators, pages, second_factors, sessions, tenancy, throttle
from memory.host.errors import NotFound
from memory.host.models import Membership, Operator
from memory.host.pages import Cleaned, PlainForm
from memory.host.sessions import BEGAN, GENERATION, TENANT
from memory.host.tenancy import Principal
from memory.host.throttle import Bucket

# Session key: signed in by a provider, which asks for second factors by its own rules.
BY_PROVIDER = "by_provider"
# The signed cookie that lists the accounts that signed in from a browser; sent to the sign-in page only.
DEVICE_COOKIE, DEVICE_SALT = "openwop_device", "openwop.device"
DEVICE_AGE = timedelta(days=400)  # what browsers keep at most
ACCOUNTS_OF_A_DEVICE = 5
LINK = re.compile(r"/set-password/(?P<person>[^/?#]+)/(?P<token>[^/?#]+)")
FREE_OF_ACCOUNT, FREE_OF_NETWORK, FREE_STARTS = 5, 50, 20
FAILURE_ONCE_IN = timedelta(seconds=60)
# Pages open to a person without a second factor in a tenant that requires one.
WITHOUT_FACTOR = (
    "/settings/second-factor",
    "/settings/second-factor/passkeys",
    "/settings/password",
    "/tenants",
    "/logout",
)


class WaitingMixin:
    """A sign-in page that answers a throttled attempt at once, with 429 and the seconds to wait."""

    request: HttpRequest

    def form_invalid(self, form: object) -> HttpResponse:
        response: HttpResponse = super().form_invalid(form)  # type: ignore[misc]
        if wait := getattr(self.request, "sign_in_wait", 0):
            response.status_code = 429
            response["Retry-After"] = str(wait)
        return response


class SignIn(WaitingMixin, LoginView):  # type: ignore[misc]  # allauth is untyped
    """The sign-in page, which drops a pending second step so that another person can sign in."""

    def _redirect_to_pending_stage(self, request: HttpRequest, stage: object) -> None:
        clear_login(request)

    def get_context_data(self, **more: object) -> dict[str, object]:
        then = urlencode({"next": self.request.GET["next"]}) if self.request.GET.get("next") else ""
        provider = settings.OPENWOP_OIDC_NAME if settings.OPENWOP_OIDC_ISSUER else ""
        return {**super().get_context_data(**more), "provider": provider, "then": then}


class SignInAdapter(DefaultAccountAdapter):  # type: ignore[misc]  # allauth is untyped
    """Configure django-allauth: sign-up closed, one throttle, and sign-ins and sign-outs in the audit log."""

    def is_open_for_signup(self, request: HttpRequest) -> bool:
        """Return False: accounts come from ``manage.py create_operator``."""
        return False

    def is_safe_url(self, url: str | None) -> bool:
        """Return whether a sign-in may lead to ``url``: not to what cannot be read as an address (``http://[``)."""
        with suppress(ValueError):
            return bool(super().is_safe_url(url))
        return False

    def authenticate(self, request: HttpRequest, **credentials: object) -> Operator | None:
        """Return the operator with this password and an active membership, or the link of an invitation to one, else
        None, indistinguishable from a wrong password."""
        now, written = timezone.now(), str(credentials.get("email", ""))
        account, network = access.operator_by_email(written), network_of(self, request)
        email = account.email if account else access.email_form(written)  # one throttle for all spellings
        own, *shared = _buckets(request, email, account, network)
        reserve(request, [own, *shared], now=now)
        AuthenticationBackend.unstash_authenticated_user()
        found = auth.authenticate(request, **{**credentials, "email": email})
        if found != account:  # an address that only the database considers equal would have its own throttle
            found = None
        if isinstance(found, Operator) and (access.memberships_of(found.id) or invitation_in(request, found)):
            throttle.succeeded(own, *shared)
            return found
        if account:
            record_failure(request, account, "password" if found is None else "deactivated")
        else:  # a write and a commit here too, so that the time of the answer does not reveal whether an account exists
            throttle.reserve([throttle.bucket("unknown", email, network, free=1)], now=now)
        return None

    def post_login(self, request: HttpRequest, user: Operator, **options: object) -> HttpResponse:
        """Enter the first tenant and record the sign-in; with several tenants, ask which. Then remember the browser."""
        response: HttpResponse = super().post_login(request, user, **options)
        known, now = user.id.hex in _device(request)[1], timezone.now()
        by_provider = [each["method"] for each in get_authentication_records(request, user)][-1:] == ["socialaccount"]
        request.session[BY_PROVIDER] = by_provider
        request.session[BEGAN] = {
            "at": now.isoformat(),
            "browser": sessions.browser_of(request.headers.get("User-Agent", "")),
            "network": _network_text(network_of(self, request)),
        }
        memberships = access.memberships_of(user.id)
        if not memberships and (token := invitation_in(request, user, getattr(response, "url", ""))):
            memberships = [operators.accept(user, token, now=now)]
            response = redirect("/")
        if memberships:
            details = {"network": network_of(self, request), "browser": "known" if known else "new"}
            if used := getattr(request, "second_factor", ""):
                details["secondFactor"] = used
            if by_provider:
                details["by"] = "OpenID Connect"
            enter(request, memberships[0])
            _record(memberships[0], "operator.signed_in", details, append=audit.append, now=now)
        if len(memberships) > 1 and isinstance(response, HttpResponseRedirect):
            response = redirect(f"/tenants?{urlencode({'next': response.url})}")
        _remember_device(request, response, user)
        return response

    def logout(self, request: HttpRequest) -> None:
        principal: Principal | None = getattr(request, "principal", None)
        if principal:
            who, tenant_id = principal.id, principal.tenant_id
            audit.append(tenant_id, actor=who, action="operator.signed_out", target=who, now=timezone.now())
        super().logout(request)


def invitation_in(request: HttpRequest, person: Operator, target: str = "") -> str:
    """Return the token of the person's invitation that they sign in to accept, else "".

    ``target`` is where the sign-in leads, or else the request says. Without another tenant there is no session to
    accept it in, and so the sign-in itself does.
    """
    found = LINK.fullmatch(target or request.POST.get("next") or request.GET.get("next") or "")
    if found is None or ids.parse("usr", found["person"]) != person.id:
        return ""
    return found["token"] if operators.open_invitation(person.id, found["token"]) else ""


def network_of(adapter: DefaultAccountAdapter, request: HttpRequest) -> str:
    """Return the network of the request: an IPv4 address, or the /64 of an IPv6 address."""
    try:
        address = ipaddress.ip_address(adapter.get_client_ip(request))
    except (ImproperlyConfigured, PermissionDenied, ValueError):
        return "unknown"
    if isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped:
        address = address.ipv4_mapped
    return str(ipaddress.ip_network((address, 64 if address.version == 6 else 32), strict=False))


def _buckets(request: HttpRequest, email: str, account: Operator | None, network: str) -> list[Bucket]:
    """Return the throttle buckets of an attempt: its own first, then those shared with others."""
    device, accounts = _device(request)
    if account and account.id.hex in accounts:
        return [throttle.bucket("device", device, email, free=FREE_OF_ACCOUNT)]
    return [
        throttle.bucket("account", email, network, free=FREE_OF_ACCOUNT),
        throttle.bucket("network", _site_of(network), free=FREE_OF_NETWORK),
    ]


def _site_of(network: str) -> str:
    """Return what one subscriber may have all of: an IPv4 address, or the /48 of an IPv6 network."""
    return _widened(network, {4: 32, 6: 48})


def _device(request: HttpRequest) -> tuple[str, list[str]]:
    """Return the browser's name and the accounts that signed in from it; an unknown browser has no name."""
    try:
        found = signing.loads(request.COOKIES.get(DEVICE_COOKIE, ""), salt=DEVICE_SALT, max_age=DEVICE_AGE)
        return str(found["device"]), [str(each) for each in found["accounts"]]
    except (signing.BadSignature, LookupError, TypeError):
        return "", []


def _remember_device(request: HttpRequest, response: HttpResponse, operator: Operator) -> None:
    device, accounts = _device(request)
    known = [operator.id.hex, *(each for each in accounts if each != operator.id.hex)][:ACCOUNTS_OF_A_DEVICE]
    value = {"device": device or secrets.token_urlsafe(16), "accounts": known}
    response.set_cookie(
        DEVICE_COOKIE,
        signing.dumps(value, salt=DEVICE_SALT),
        max_age=DEVICE_AGE,
        path=settings.LOGIN_URL,
        secure=settings.SESSION_COOKIE_SECURE,
        httponly=True,
        samesite="Lax",
    )


def reserve(request: HttpRequest, buckets: list[Bucket], *, now: datetime) -> None:
    """Count an attempt to sign in; raises ``ValidationError`` with the time to wait when it is throttled."""
    if wait := ceil(throttle.reserve(buckets, now=now).total_seconds()):
        request.sign_in_wait = wait  # type: ignore[attr-defined]
        seconds = "1 second" if wait == 1 else f"{wait} seconds"
        raise ValidationError(f"Too many failed attempts. Try again in {seconds}.", code="too_many_login_attempts")


def bucket_of_codes(request: HttpRequest, operator: Operator) -> Bucket:
    """Return the throttle bucket for second-factor codes: by account, because each attempt follows the right password,
    whatever its network."""
    device, accounts = _device(request)
    known = device if operator.id.hex in accounts else ""
    return throttle.bucket("code", operator.id.hex, known, free=FREE_OF_ACCOUNT)


def bucket_of_network(request: HttpRequest, way: str) -> Bucket:
    """Return the bucket that throttles this ``way`` of signing in by network, where no password is tried."""
    return throttle.bucket(way, network_of(SignInAdapter(request), request), free=FREE_STARTS)


def code_accepted(request: HttpRequest, operator: Operator, used: str) -> None:
    """Reset the throttle and note the factor, which the sign-in's audit record names."""
    throttle.succeeded(bucket_of_codes(request, operator))
    request.second_factor = used  # type: ignore[attr-defined]


def record_failure(request: HttpRequest, account: Operator, reason: str) -> None:
    """Record a failed sign-in in each tenant of the account, the same one at most once a minute; never what was
    typed."""
    network = network_of(SignInAdapter(request), request)

    def append(*given: Any, **named: Any) -> None:
        audit.append_once(*given, within=FAILURE_ONCE_IN, **named)

    for membership in Membership.objects.filter(operator=account, invitation=""):
        details = {"network": network, "reason": reason}
        _record(membership, "operator.sign_in_failed", details, append=append, now=timezone.now())


def _record(
    membership: Membership, action: str, details: dict[str, str], *, append: Callable[..., object], now: datetime
) -> None:
    """Append the audit record; the network is stored without the part that identifies one machine."""
    who = ids.wire("usr", membership.operator_id)
    actor = "visitor" if action == "operator.sign_in_failed" else who
    shown = {**details, "network": _network_text(details["network"])}
    append(membership.tenant_id, actor=actor, action=action, target=who, details=shown, now=now)


def _network_text(network: str) -> str:
    return _widened(network, {4: 24, 6: 48})


def _widened(network: str, prefixes: dict[int, int]) -> str:
    """Return the network around ``network`` with the prefix of its version; a text that is no network as it is."""
    try:
        found = ipaddress.ip_network(network)
    except ValueError:
        return network
    return str(found.supernet(new_prefix=prefixes[found.version]))


def session_principal(request: HttpRequest) -> Principal | None:
    """Return the principal of this session in its tenant; None for a visitor.

    A session ends when its operator is deactivated in that tenant or gets another role there.
    """
    if not request.user.is_authenticated:
        return None
    operator = request.user
    tenant_id = ids.parse("tenant", request.session.get(TENANT, ""))
    if tenant_id is None:
        membership = next(iter(access.memberships_of(operator.id)), None)
        if membership:
            enter(request, membership)
    else:
        membership = access.membership_of(tenant_id, operator.id)
    if not membership or not membership.is_active or membership.generation != request.session.get(GENERATION):
        auth.logout(request)
        return None
    request.has_other_tenants = getattr(membership, "has_others", False)  # type: ignore[attr-defined]
    request.factor_required = membership.tenant.second_factor_required  # type: ignore[attr-defined]
    return tenancy.member_principal(membership, operator)


def principal_now(request: HttpRequest) -> Principal | None:
    """Return the session's principal from the current database state, long after the request was answered."""
    again = HttpRequest()
    again.session = type(request.session)(request.session.session_key)
    again.user = auth.get_user(again)
    return session_principal(again)


def person_of(session_key: str) -> str:
    """Return the id of the person who is signed in with this session; "" for a visitor."""
    request = HttpRequest()
    request.session = sessions.SessionStore(session_key)
    person = auth.get_user(request)
    return str(person.pk) if person.is_authenticated else ""


def must_enrol(request: HttpRequest) -> bool:
    """Return whether the person must set up a second factor before this page, because the tenant requires one."""
    if not getattr(request, "factor_required", False) or request.path in WITHOUT_FACTOR:
        return False
    if request.session.get(BY_PROVIDER):
        return False
    return isinstance(request.user, Operator) and not second_factors.enrolled([request.user.id])


def switch(request: HttpRequest, membership: Membership) -> None:
    """Move the session to another tenant of the same person under a new session key, recorded in that tenant."""
    if request.session.get(TENANT) == ids.wire("tenant", membership.tenant_id):
        return
    request.session.cycle_key()
    enter(request, membership)
    details = {"network": network_of(SignInAdapter(request), request), "browser": "known"}
    _record(membership, "operator.signed_in", details, append=audit.append, now=timezone.now())


def enter(request: HttpRequest, membership: Membership) -> None:
    """Sign this session in to the tenant of ``membership``."""
    request.session[TENANT] = ids.wire("tenant", membership.tenant_id)
    request.session[GENERATION] = membership.generation


# Passwords: set the first one by an invitation link, and change one's own.


class NewPasswordForm(PlainForm):
    """A password, typed twice."""

    password = forms.CharField(
        label="New password",
        strip=False,
        widget=forms.PasswordInput(attrs={"autocomplete": "new-password"}),
        help_text="At least 10 characters, and no common password.",
    )
    again = forms.CharField(
        label="New password again", strip=False, widget=forms.PasswordInput(attrs={"autocomplete": "new-password"})
    )

    def clean(self) -> Cleaned:
        given = super().clean() or {}
        if given.get("password") and given.get("again") and given["password"] != given["again"]:
            self.add_error("again", "does not match the new password")
        return given


class ChangePasswordForm(NewPasswordForm):
    """A new password, confirmed with the current one."""

    current = forms.CharField(
        label="Current password",
        strip=False,
        widget=forms.PasswordInput(attrs={"autocomplete": "current-password"}),
    )
    field_order = ("current", "password", "again")


@require_http_methods(["GET", "HEAD", "POST"])
def set_password(request: HttpRequest, operator_id: str, token: str) -> HttpResponse:
    """Set the first password through an invitation link; who has a password, or is known elsewhere, accepts instead.

    A used or expired link answers 404 with a sentence that says so.
    """
    wanted = ids.parse("usr", operator_id)
    found, offered = operators.invited(wanted, token), operators.open_invitation(wanted, token)
    if offered:
        return _accept(request, offered, token)
    if found is None:
        raise NotFound(operators.LINK_IS_OVER)
    form = NewPasswordForm(request.POST if request.method == "POST" else None)
    if form.is_bound:
        sent = pages.submit(
            form,
            lambda data: operators.set_first_password(found.id, token, data["password"], now=timezone.now()),
        )
        if sent.result:
            messages.success(request, "Your password is set. Sign in with it.")
            return redirect("account_login")
    context = {"form": form, "email": found.email, "link": request.path}
    return _unstored(pages.render(request, "account/set_password.html", context, status=422 if form.errors else 200))


def _accept(request: HttpRequest, offered: Membership, token: str) -> HttpResponse:
    """Show what is offered; a POST of the person, signed in, accepts it and moves the session to that tenant."""
    person = offered.operator
    is_signed_in = request.user.is_authenticated and request.user.pk == person.id
    if request.method == "POST":
        if not is_signed_in:
            return _unstored(redirect(f"{settings.LOGIN_URL}?{urlencode({'next': request.path})}"))
        switch(request, operators.accept(person, token, now=timezone.now()))
        messages.success(request, f"You are an operator of {offered.tenant.name} now.")
        return _unstored(redirect("/"))
    context = {
        "email": person.email,
        "tenant": offered.tenant.name,
        "roles": access.roles_of(offered.tenant_id, ids.wire("usr", person.id)),
        "is_signed_in": is_signed_in,
        "other": "" if is_signed_in or not request.user.is_authenticated else request.user.get_username(),
        "link": request.path,
        "then": urlencode({"next": request.path}),
    }
    return _unstored(pages.render(request, "account/invitation.html", context))


def _unstored(response: HttpResponse) -> HttpResponse:
    """Keep the address, which has a token, out of caches and of other sites."""
    response["Referrer-Policy"] = "no-referrer"
    response["Cache-Control"] = "no-store"
    return response


@require_http_methods(["GET", "HEAD", "POST"])
def change_password(request: HttpRequest) -> HttpResponse:
    """Change the person's own password, given the current one; every other session of theirs ends."""
    tenancy.scope_of(request)
    form = ChangePasswordForm(request.POST if request.method == "POST" else None)
    sent = pages.submit(form, lambda data: _changed(request, data)) if form.is_bound else None
    if sent and sent.result:
        messages.success(request, "Your password is changed. Your other sessions have ended.")
        return redirect("password")
    context = {"nav": "settings", "form": form}
    return pages.render(request, "account/change_password.html", context, status=sent.status if sent else 200)


def _changed(request: HttpRequest, data: Cleaned) -> bool:
    now = timezone.now()
    operator = access.require_password(request.user.get_username(), data["current"], field="current", now=now)
    encoded = access.encode_password(operator, data["password"])
    access.store_password(operator, encoded, action="operator.password_changed", now=now)
    auth.update_session_auth_hash(request, operator)
    return True
