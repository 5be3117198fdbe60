"""Sessions: signing in by email and password to an account that an administrator made, and the tenant it is for."""

from typing import Any

from allauth.account.adapter import DefaultAccountAdapter
from django.contrib import auth
from django.http import HttpRequest

from memory.host import access, ids, tenancy
from memory.host.models import Membership, Operator
from memory.host.tenancy import Principal

# What a session holds of its membership: the tenant, and the generation it began under.
TENANT, GENERATION = "tenant", "generation"


class SignInAdapter(DefaultAccountAdapter):  # type: ignore[misc]  # allauth is untyped
    """django-allauth, with its sign-up closed."""

    def is_open_for_signup(self, request: HttpRequest) -> bool:
        """Nobody makes an account for themselves: ``manage.py create_operator`` does."""
        return False

    def authenticate(self, request: HttpRequest, **credentials: Any) -> Operator | None:
        """The person whose password this is, if any tenant lets them in; a wrong password otherwise, in every word."""
        found: Operator | None = super().authenticate(request, **credentials)
        return found if found and access.memberships_of(found.id) else None


def session_principal(request: HttpRequest) -> Principal | None:
    """The principal of this session, in the tenant that it is signed in to; None for a visitor.

    A session whose operator has been deactivated in that tenant, or has another role there since, is over.
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
    return tenancy.member_principal(membership, operator)


def enter(request: HttpRequest, membership: Membership) -> None:
    """From now on this session is signed in to the tenant of ``membership``."""
    request.session[TENANT] = ids.wire("tenant", membership.tenant_id)
    request.session[GENERATION] = membership.generation
