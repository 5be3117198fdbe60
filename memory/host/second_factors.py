"""A person's second factors: an app, passkeys and recovery codes, for every tenant that they sign in to.

The rows are django-allauth's; their secrets are sealed, and erased when the factor is turned off or reset.
"""

import base64
from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from allauth.mfa.adapter import DefaultMFAAdapter
from allauth.mfa.models import Authenticator
from allauth.mfa.recovery_codes.internal.auth import RecoveryCodes
from allauth.mfa.totp.internal import auth as totp
from allauth.mfa.webauthn.internal import auth as webauthn
from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import F

from memory.host import access, vault
from memory.host.errors import Conflict, Invalid, NotFound
from memory.host.expiry import SKEW
from memory.host.json_types import JSONObject
from memory.host.models import Membership, Operator

APP, RECOVERY_CODE, PASSKEY = "authenticator app", "recovery code", "passkey"
PERIOD = 30  # seconds
FACTORS = (Authenticator.Type.TOTP, Authenticator.Type.WEBAUTHN)
# The binding of every secret of a factor, so that it does not open as another value of the vault.
SEALED = UUID("5b0f8f0e-5f4c-4f56-9d0c-2f7a4c0e7a11")

# What libraries raise for a passkey that is none; the last for one whose inner JSON is nested too deeply.
UNREADABLE = (ValidationError, ValueError, TypeError, KeyError, RecursionError)


class SealingAdapter(DefaultMFAAdapter):  # type: ignore[misc]  # allauth is untyped
    """django-allauth with its secrets sealed by the vault."""

    def encrypt(self, text: str) -> str:
        return base64.b64encode(vault.seal_note(SEALED, text)).decode()

    def decrypt(self, encrypted_text: str) -> str:
        return vault.open_note(SEALED, base64.b64decode(encrypted_text))


@dataclass(frozen=True, slots=True)
class SecondFactor:
    """The shown state of a person's authenticator app."""

    since: datetime
    last_used: datetime | None
    codes_left: int


def find(operator_id: UUID) -> SecondFactor | None:
    """Return the person's authenticator app, if they have one."""
    rows = {row.type: row for row in Authenticator.objects.filter(user_id=operator_id)}
    app, codes = rows.get(Authenticator.Type.TOTP), rows.get(Authenticator.Type.RECOVERY_CODES)
    if app is None:
        return None
    return SecondFactor(app.created_at, app.last_used_at, len(RecoveryCodes(codes).get_unused_codes()) if codes else 0)


def passkeys(operator_id: UUID) -> list[Authenticator]:
    """Return the passkeys of this person, oldest first."""
    return list(Authenticator.objects.filter(user_id=operator_id, type=Authenticator.Type.WEBAUTHN).order_by("id"))


def enrolled(operator_ids: Collection[UUID]) -> set[UUID]:
    """Return those of these people who have a second factor."""
    rows = Authenticator.objects.filter(user_id__in=operator_ids, type__in=FACTORS)
    return set(rows.values_list("user_id", flat=True))


def new_secret() -> str:
    """Return the secret for a new app, in the form that a person types."""
    return str(totp.generate_totp_secret())


@transaction.atomic
def enrol(operator: Operator, secret: str, code: str, *, now: datetime) -> list[str]:
    """Enrol the app with this secret as the person's second factor; return the recovery codes, shown once."""
    Operator.objects.select_for_update(no_key=True).get(id=operator.id)
    if find(operator.id):
        raise Conflict("You have an authenticator app already.")
    counter = _counter_of(secret, code, now)
    if counter is None:
        raise Invalid(errors=[{"field": "code", "message": "is not the code that the app shows now"}])
    data = {"secret": SealingAdapter().encrypt(secret), "counter": counter}
    Authenticator.objects.create(user=operator, type=Authenticator.Type.TOTP, data=data, created_at=now)
    access.record_everywhere(operator, action="operator.second_factor_enabled", now=now)
    return _renewed_codes(operator, now)


@transaction.atomic
def add_passkey(operator: Operator, credential: JSONObject, *, now: datetime) -> list[str]:
    """Add a passkey that the browser made for the challenge in its session.

    Return the recovery codes, shown once, when it is the person's first second factor.
    """
    Operator.objects.select_for_update(no_key=True).get(id=operator.id)
    first = not enrolled([operator.id])
    try:
        webauthn.complete_registration(credential)
    except UNREADABLE:
        raise Invalid(
            errors=[{"field": "credential", "message": "is not a passkey for this page; try again"}]
        ) from None
    kept = {"name": PASSKEY, "credential": credential}
    Authenticator.objects.create(user=operator, type=Authenticator.Type.WEBAUTHN, data=kept, created_at=now)
    access.record_everywhere(operator, action="operator.passkey_added", now=now)
    return _renewed_codes(operator, now) if first else []


@transaction.atomic
def remove_passkey(operator: Operator, number: int, *, now: datetime) -> None:
    """Remove the passkey; the recovery codes go with the last second factor."""
    rows = Authenticator.objects.filter(user=operator, id=number, type=Authenticator.Type.WEBAUTHN)
    if not rows.delete()[0]:
        raise NotFound("There is no passkey by that number.")
    _remove_dangling_codes(operator)
    access.record_everywhere(operator, action="operator.passkey_removed", now=now)


def check_passkey(operator: Operator, credential: JSONObject, *, now: datetime) -> Authenticator | None:
    """Return the passkey that signed the challenge in the session, if it is one of this person."""
    try:
        found = webauthn.complete_authentication(operator, credential)
    except UNREADABLE:
        return None
    Authenticator.objects.filter(id=found.id).update(last_used_at=now)
    return found


def _remove_dangling_codes(operator: Operator) -> None:
    if not enrolled([operator.id]):
        Authenticator.objects.filter(user=operator).delete()


@transaction.atomic
def renew_codes(operator: Operator, *, now: datetime) -> list[str]:
    """Replace the recovery codes and return the new ones, shown once."""
    Operator.objects.select_for_update(no_key=True).get(id=operator.id)
    if not enrolled([operator.id]):
        raise NotFound("There is no second factor.")
    access.record_everywhere(operator, action="operator.recovery_codes_renewed", now=now)
    return _renewed_codes(operator, now)


def _renewed_codes(operator: Operator, now: datetime) -> list[str]:
    Authenticator.objects.filter(user=operator, type=Authenticator.Type.RECOVERY_CODES).delete()
    data = {"seed": SealingAdapter().encrypt(RecoveryCodes.generate_seed()), "used_mask": 0}
    kept = {"user": operator, "type": Authenticator.Type.RECOVERY_CODES, "data": data, "created_at": now}
    return list(RecoveryCodes(Authenticator.objects.create(**kept)).generate_codes())


@transaction.atomic
def check_code(operator: Operator, code: str, *, now: datetime) -> str:
    """Return the factor that this code belongs to, or "" for a wrong one. A code is accepted once."""
    rows = Authenticator.objects.select_for_update(no_key=True).filter(user=operator).order_by("id")
    for row in rows.exclude(type=Authenticator.Type.WEBAUTHN):
        if row.type == Authenticator.Type.RECOVERY_CODES:
            good = RecoveryCodes(row).validate_code(code)
            row.refresh_from_db(fields=["data"])
        else:
            counter = _counter_of(SealingAdapter().decrypt(row.data["secret"]), code, now)
            last = row.data["counter"]
            was_ahead = last > (now + SKEW).timestamp() // PERIOD  # of the clock that the last code was used by
            good = counter is not None and (counter > last or was_ahead)  # RFC 6238, 5.2: at most once
            row.data["counter"] = counter if good else row.data["counter"]
        if good:
            row.last_used_at = now
            row.save(update_fields=["data", "last_used_at"])
            return RECOVERY_CODE if row.type == Authenticator.Type.RECOVERY_CODES else APP
    return ""


def _counter_of(secret: str, code: str, now: datetime) -> int | None:
    """Return the time step of this code, within one step of now."""
    step = int(now.timestamp()) // PERIOD
    for counter in (step - 1, step, step + 1):
        expected = totp.format_hotp_value(totp.hotp_value(secret, counter))
        if totp.compare_user_code(actual=code, expected=expected):
            return counter
    return None


@transaction.atomic
def turn_off(operator: Operator, *, now: datetime) -> None:
    """Remove the person's app and its secret; passkeys stay."""
    if Authenticator.objects.filter(user=operator, type=Authenticator.Type.TOTP).delete()[0]:
        _remove_dangling_codes(operator)
        access.record_everywhere(operator, action="operator.second_factor_disabled", now=now)


@transaction.atomic
def reset(operator: Operator, *, actor: str, now: datetime) -> None:
    """Remove all second factors of a person who has lost them, and end their sessions in every tenant."""
    if not Authenticator.objects.filter(user=operator).delete()[0]:
        raise NotFound("This person has no second factor.")
    rows = Membership.objects.written_by(access.WRITER).filter(operator=operator, invitation="")
    rows.update(generation=F("generation") + 1)
    access.record_everywhere(operator, action="operator.second_factor_reset", actor=actor, now=now)


@transaction.atomic
def reseal() -> int:
    """Reseal every secret under the first configured key and return the number."""
    adapter, count = SealingAdapter(), 0
    for row in Authenticator.objects.select_for_update(no_key=True).order_by("id"):
        for name in {"secret", "seed"} & row.data.keys():
            row.data[name] = adapter.encrypt(adapter.decrypt(row.data[name]))
            row.save(update_fields=["data"])
            count += 1
    return count


def qr_code(operator: Operator, secret: str) -> str:
    """Return the enrolment QR code for this secret, as a data URI."""
    adapter = SealingAdapter()
    drawn = adapter.build_totp_svg(adapter.build_totp_url(operator, secret))
    return f"data:image/svg+xml;base64,{base64.b64encode(drawn.encode()).decode()}"
