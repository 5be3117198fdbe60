"""The second factor on pages: the step that asks for it at sign-in, and one's own, set up and turned off in Settings.

Codes are tried as passwords are: they wait by ``memory.host.throttle``, and failures are on record.
"""

import base64
import binascii
from collections.abc import Callable
from typing import Any

from allauth.core import context
from allauth.mfa.base.forms import AuthenticateForm
from allauth.mfa.base.views import AuthenticateView
from cryptography.exceptions import InvalidTag
from django import forms
from django.contrib import auth, messages
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils import timezone
from django.views.decorators.http import require_http_methods, require_POST

from memory.host import access, pages, second_factors, tenancy, vault
from memory.host.json_types import JSONObject
from memory.host.models import Operator
from memory.host.pages import PlainForm
from openwop_console import sign_in

CODE = {"autocomplete": "one-time-code", "autocapitalize": "none", "spellcheck": "false"}


class CodeForm(AuthenticateForm):  # type: ignore[misc]  # allauth is untyped
    """A code of the app, or a recovery code."""

    def __init__(self, *given: Any, **options: Any) -> None:
        super().__init__(*given, **options)
        self.fields["code"].widget = forms.TextInput(attrs={**CODE, "autofocus": True})

    def clean_code(self) -> str:
        """A try is counted before the code is looked at; which factor it was of is on record with the sign-in."""
        request, now, code = context.request, timezone.now(), str(self.cleaned_data["code"])
        sign_in.reserve(request, [sign_in.bucket_of_codes(request, self.user)], now=now)
        used = second_factors.check_code(self.user, code, now=now)
        if not used:
            sign_in.record_failure(request, self.user, "second factor")
            raise ValidationError("The code is not correct, or was used already.", code="incorrect_code")
        sign_in.code_accepted(request, self.user, used)
        return code

    def save(self) -> None:
        """``clean_code`` has noted that the code is used."""


class SecondStep(sign_in.WaitingMixin, AuthenticateView):  # type: ignore[misc]  # allauth is untyped
    """The second step of a sign-in, after the password."""

    form_class = CodeForm
    template_name = "account/second_step.html"


class PasswordForm(PlainForm):
    """One's own password once more, before what protects the account is changed."""

    current = forms.CharField(
        label="Current password",
        strip=False,
        widget=forms.PasswordInput(attrs={"autocomplete": "current-password"}),
    )


class EnrolForm(PasswordForm):
    """The first code of an app, which shows that it has the secret; the secret comes back sealed."""

    secret = forms.CharField(widget=forms.HiddenInput)
    code = forms.CharField(label="Code from the app", max_length=12, widget=forms.TextInput(attrs=CODE))
    field_order = ("secret", "code", "current")


@pages.parameters("next")
@require_http_methods(["GET", "HEAD", "POST"])
def second_factor(request: HttpRequest) -> HttpResponse:
    """The person's own second factor; a POST sets one up, and the answer shows the recovery codes once."""
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


@pages.parameters()
@require_POST
def renew_codes(request: HttpRequest) -> HttpResponse:
    """Fresh recovery codes, which the answer shows once."""
    tenancy.scope_of(request)
    form = PasswordForm(request.POST)
    sent = pages.submit(form, lambda data: _confirmed(request, data, second_factors.renew_codes))
    return _page(request, codes=sent.result) if sent.result else _page(request, change=form, status=422)


@pages.parameters()
@require_POST
def turn_off(request: HttpRequest) -> HttpResponse:
    """The person signs in with the password alone from now on."""
    tenancy.scope_of(request)
    form = PasswordForm(request.POST)
    sent = pages.submit(form, lambda data: [_confirmed(request, data, second_factors.turn_off)])
    if not sent.result:
        return _page(request, change=form, status=422)
    messages.success(request, "Your second factor is off. Its secret and the recovery codes are erased.")
    return redirect("second-factor")


def _confirmed(request: HttpRequest, data: JSONObject, act: Callable[..., Any], *given: str) -> Any:
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
    """The secret of an app that is not enrolled yet: this host keeps it nowhere, and the form cannot choose one."""
    return base64.b64encode(vault.seal_note(operator.id, secret)).decode()


def _opened(request: HttpRequest) -> str:
    try:
        return vault.open_note(_person(request).id, base64.b64decode(request.POST.get("secret", ""), validate=True))
    except (vault.VaultLocked, InvalidTag, binascii.Error, ValueError):
        return ""
