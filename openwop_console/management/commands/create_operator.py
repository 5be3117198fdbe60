"""``manage.py create_operator EMAIL --tenant SLUG --role ROLE [--password-env VAR]``."""

from typing import Any

from django.core.management.base import CommandParser
from django.utils import timezone

from memory.host import access, operators
from openwop_console.management.base import DatabaseCommand, new_password, refusals_as_errors, tenant_named


class Command(DatabaseCommand):
    help = "Create an operator who signs in with a password; a person who has one already joins this tenant too."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("email")
        parser.add_argument("--tenant", required=True, metavar="SLUG")
        parser.add_argument("--role", required=True, choices=list(access.ROLES))
        parser.add_argument("--password-env", default="", metavar="VAR", help="the variable that holds the password")

    def handle(self, *args: object, **options: Any) -> None:
        tenant, email, role = tenant_named(options["tenant"]), options["email"], options["role"]
        known = access.operator_by_email(email)
        comes_in = known is not None and access.can_sign_in(known)
        password = "" if comes_in else new_password(options["password_env"])
        with refusals_as_errors():
            operators.create_operator(tenant, email, role=role, password=password, now=timezone.now())
        way = "with the password they have" if known and known.has_usable_password() else "by the sign-in provider"
        kept = f" They sign in {way}." if comes_in else ""
        self.stdout.write(f"Operator {email} created in {tenant.slug} as {role}.{kept}")
