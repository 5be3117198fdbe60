"""Signing in: by email and password, to an account that an administrator made."""

from allauth.account.adapter import DefaultAccountAdapter
from django.http import HttpRequest


class SignInAdapter(DefaultAccountAdapter):  # type: ignore[misc]  # allauth is untyped
    """django-allauth, with its sign-up closed."""

    def is_open_for_signup(self, request: HttpRequest) -> bool:
        """Nobody makes an account for themselves: ``manage.py create_operator`` does."""
        return False
