"""The second factor: the page that asks for it at sign-in, and its setup and removal in Settings.

Attempts are throttled like passwords (``memory.host.throttle``), and failures are recorded in the audit log.
"""

import base64
import binascii
import json
from collections.abc import Callable
from typing import Any

from allauth.account.internal.stagekit import get_pending_stage
from allauth.account.models import Login
from allauth.core import context
from allauth.mfa.base.forms import AuthenticateForm
from allauth.mfa.base.views import AuthenticateView
from allauth.mfa.webauthn.forms import AuthenticateWebAuthnForm
from allauth.mfa.webauthn.internal import auth as webauthn
from allauth.mfa.webauthn.internal import flows
from cryptography.exceptions import InvalidTag
from django import forms
from django.contrib import auth, messages
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect
from django.utils import timezone
from django.views.decorators.http import require_http_methods, require_POST, require_safe
from rest_framework.exceptions import ParseError

from memory.host import access, pages, second_factors, tenancy, throttle, vault
from memory.host.http import StrictJSONParser
from memory.host.json_types import JSONObject
from memory.host.models import Operator
from memory.host.pages import PlainForm
from openwop_console import sign_in

CODE = {"autocomplete": "one-time-code", "autocapitalize": "none", "spellcheck": "false"}


class CodeForm(AuthenticateForm):  # type: ignore[misc]  # allauth is untyped
    """A code from the authenticator app, or a recovery code."""

    def __init__(self, *given: object, **options: object) -> None:
        super().__init__(*given, **options)
        self.fields["code"].widget = forms.TextInput(attrs={**CODE, "autofocus": True})

    def clean_code(self) -> str:
        """Count the attempt before the code is checked; the factor used is recorded with the sign-in."""
        request, now, code = context.request, timezone.now(), str(self.cleaned_data["code"])
        sign_in.reserve(request, [sign_in.bucket_of_codes(request, self.user)], now=now)
        used = second_factors.check_code(self.user, code, now=now)
        if not used:
            sign_in.record_failure(request, self.user, "second factor")
            raise ValidationError("The code is not correct, or was used already.", code="incorrect_code")
        sign_in.code_accepted(request, self.user, used)
        return code

    def save(self) -> None:
        """Do nothing: ``clean_code`` has marked the code as used."""


class CredentialDecoder(json.JSONDecoder):
    """Reads the JSON of a passkey as bodies of the API are read: what is nested too deeply, or names a number that is
    too long, is no JSON."""

    def decode(self, text: str, *_: object) -> Any:
        try:
            return StrictJSONParser().parsed(text.encode(errors="replace"))
        except ParseError as problem:
            raise json.JSONDecodeError(str(problem), "", 0) from None


class PasskeyForm(AuthenticateWebAuthnForm):  # type: ignore[misc]  # allauth is untyped
    """A passkey instead of a code, throttled and recorded alike."""

    credential = forms.JSONField(widget=forms.HiddenInput, decoder=CredentialDecoder)

    def clean_credential(self) -> Any:
        request, now = context.request, timezone.now()
        sign_in.reserve(request, [sign_in.bucket_of_codes(request, self.user)], now=now)
        found = second_factors.check_passkey(self.user, self.cleaned_data["credential"] or {}, now=now)
        if found is None:
            sign_in.record_failure(request, self.user, "second factor")
            raise ValidationError("The passkey was not accepted.", code="incorrect_code")
        sign_in.code_accepted(request, self.user, second_factors.PASSKEY)
        return found

    def save(self) -> None:
        """Do nothing: ``clean_credential`` has recorded the use."""


@require_safe
def step_options(request: HttpRequest) -> HttpResponse:
    """Return the browser's passkey challenge for a person who has given the password; 404 without a pending sign-in."""
    stage = get_pending_stage(request)
    return JsonResponse(webauthn.begin_authentication(stage.login.user) if stage else {}, status=200 if stage else 404)


@pages.parameters("next")
@require_http_methods(["GET", "HEAD", "POST"])
def passkey_sign_in(request: HttpRequest) -> HttpResponse:
    """Sign in with a passkey alone, which has verified the person by finger, face or PIN: GET returns the challenge,
    POST takes the answer. Both are throttled by network."""
    now, bucket = timezone.now(), sign_in.bucket_of_network(request, "passkey")
    try:
        sign_in.reserve(request, [bucket], now=now)
    except ValidationError as early:
        messages.error(request, " ".join(early.messages))
        return JsonResponse({}, status=429) if request.method != "POST" else redirect("account_login")
    if request.method != "POST":
        return JsonResponse(webauthn.begin_authentication(None))
    try:
        credential = json.loads(request.POST.get("credential", ""), cls=CredentialDecoder)
        person = webauthn.extract_user_from_response(credential)
    except (ValidationError, ValueError, AttributeError):
        person, credential = None, {}
    found = second_factors.check_passkey(person, credential, now=now) if person else None
    if not found or not (access.memberships_of(found.user_id) or sign_in.invitation_in(request, found.user)):
        if person:
            sign_in.record_failure(request, person, "passkey" if found is None else "deactivated")
        messages.error(request, "The passkey was not accepted.")
        return redirect("account_login")
    throttle.succeeded(bucket)
    request.second_factor = second_factors.PASSKEY  # type: ignore[attr-defined]
    login = Login(user=found.user, redirect_url=pages.back(request, "/"))
    answer: HttpResponse = flows.perform_passwordless_login(request, found, login)
    return answer


class SecondStep(sign_in.WaitingMixin, AuthenticateView):  # type: ignore[misc]  # allauth is untyped
    """The second step of a sign-in, after the password."""

    form_class = CodeForm
    webauthn_form_class = PasskeyForm
    template_name = "account/second_step.html"

    def get_context_data(self, **more: object) -> dict[str, Any]:
        has_passkeys = bool(second_factors.passkeys(self.stage.login.user.id))
        return {**super().get_context_data(**more), "has_passkeys": has_passkeys, "passkey": self.webauthn_form}


class PasswordForm(PlainForm):
    """The person's password again, before a change to what protects the account."""

    current = forms.CharField(
        label="Current password",
        strip=False,
        widget=forms.PasswordInput(attrs={"autocomplete": "current-password"}),
    )


class NewPasskeyForm(PasswordForm):
    """The credential that the browser created, filled in by a script."""

    credential = forms.JSONField(
        widget=forms.HiddenInput,
        decoder=CredentialDecoder,
        error_messages={"required": "Your browser has made no passkey."},
    )
    field_order = ("credential", "current")


class EnrolForm(PasswordForm):
    """The app's first code, which proves that it has the secret; the secret is submitted sealed."""

    secret = forms.CharField(widget=forms.HiddenInput)
    code = forms.CharField(label="Code from the app", max_length=12, widget=forms.TextInput(attrs=CODE))
    field_order = ("secret", "code", "current")


@pages.parameters("next")
@require_http_methods(["GET", "HEAD", "POST"])
def second_factor(request: HttpRequest) -> HttpResponse:
    """Show the person's second factor; a POST sets one up and shows the recovery codes once."""
    tenancy.scope_of(request)
    if request.method != "POST":
        return _page(request)
    secret = _opened(request)
    if not secret:
        messages.error(request, "The form was too old. Scan the new code.")
        return _page(request)
    form = EnrolForm(request.POST)
    sent = pages.submit(form, lambda data: _confirmed(request, data, second_factors.enrol, secret, data["code"]))
    if sent.conflict:
        messages.error(request, sent.conflict.message)
        return _page(request, status=409)
    if not sent.result:
        return _page(request, form=form, secret=secret, status=422)
    return _page(request, codes=sent.result)


@pages.creates(shown_at="second-factor", words="The codes were shown then; renew them again if you missed them.")
@pages.parameters()
@require_POST
def renew_codes(request: HttpRequest) -> HttpResponse:
    """Issue new recovery codes, which the answer shows once."""
    tenancy.scope_of(request)
    form = PasswordForm(request.POST)
    sent = pages.submit(form, lambda data: _confirmed(request, data, second_factors.renew_codes))
    return _page(request, codes=sent.result) if sent.result else _page(request, change=form, status=422)


@pages.parameters()
@require_http_methods(["GET", "HEAD", "POST"])
def add_passkey(request: HttpRequest) -> HttpResponse:
    """Return the options for creating a passkey (GET), or add one (POST); the first one comes with recovery codes."""
    tenancy.scope_of(request)
    if request.method != "POST":
        return JsonResponse(webauthn.begin_registration(_person(request), passwordless=True))
    form = NewPasskeyForm(request.POST)
    sent = pages.submit(form, lambda data: (_confirmed(request, data, second_factors.add_passkey, data["credential"]),))
    if not sent.result:
        return _page(request, change=form, status=422)
    messages.success(request, "You can sign in with the passkey from now on.")
    return _page(request, codes=sent.result[0]) if sent.result[0] else redirect("second-factor")


@pages.parameters()
@require_POST
def remove_passkey(request: HttpRequest) -> HttpResponse:
    """Remove the passkey that the form names."""
    tenancy.scope_of(request)
    form, number = PasswordForm(request.POST), request.POST.get("passkey", "")
    wanted = int(number) if number.isascii() and number.isdigit() and len(number) < 16 else 0
    sent = pages.submit(form, lambda data: [_confirmed(request, data, second_factors.remove_passkey, wanted)])
    if not sent.result:
        return _page(request, change=form, status=422)
    messages.success(request, "The passkey is removed.")
    return redirect("second-factor")


@pages.parameters()
@require_POST
def turn_off(request: HttpRequest) -> HttpResponse:
    """Turn the app off; the person then signs in with the password alone."""
    tenancy.scope_of(request)
    form = PasswordForm(request.POST)
    sent = pages.submit(form, lambda data: [_confirmed(request, data, second_factors.turn_off)])
    if not sent.result:
        return _page(request, change=form, status=422)
    messages.success(request, "The authenticator app is off, and its secret is erased.")
    return redirect("second-factor")


def _confirmed(request: HttpRequest, data: JSONObject, act: Callable[..., object], *given: object) -> Any:
    now = timezone.now()
    operator = access.require_password(request.user.get_username(), data["current"], field="current", now=now)
    return act(operator, *given, now=now)


def _page(
    request: HttpRequest,
    *,
    form: EnrolForm | None = None,
    change: PasswordForm | None = None,
    secret: str = "",
    codes: list[str] | None = None,
    status: int = 200,
) -> HttpResponse:
    operator = _person(request)
    found = second_factors.find(operator.id)
    shown: dict[str, object] = {}
    if found is None:
        secret = secret or second_factors.new_secret()
        form = form or EnrolForm(initial={"secret": _sealed(operator, secret)})
        groups = " ".join(secret[at : at + 4] for at in range(0, len(secret), 4))
        shown = {"form": form, "secret": groups, "picture": second_factors.qr_code(operator, secret)}
    then = pages.back(request, "")
    page = {
        "nav": "settings",
        "now": timezone.now(),
        "found": found,
        "change": change or PasswordForm(),
        "passkeys": second_factors.passkeys(operator.id),
        "codes": codes,
        "required": getattr(request, "factor_required", False),
        "then": then,
        "action": pages.address(request, next=then),
        **shown,
    }
    response = pages.render(request, "account/second_factor.html", page, status=status)
    response["Cache-Control"] = "no-store"
    return response


def _person(request: HttpRequest) -> Operator:
    person = auth.get_user(request)
    assert isinstance(person, Operator)
    return person


def _sealed(operator: Operator, secret: str) -> str:
    """Seal the secret of an app that is not enrolled yet: this host stores it nowhere, and the form cannot choose
    one."""
    return base64.b64encode(vault.seal_note(operator.id, secret)).decode()


def _opened(request: HttpRequest) -> str:
    try:
        return vault.open_note(_person(request).id, base64.b64decode(request.POST.get("secret", ""), validate=True))
    except (vault.VaultLocked, InvalidTag, binascii.Error, ValueError):
        return ""
