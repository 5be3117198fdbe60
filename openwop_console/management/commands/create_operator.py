"""``manage.py create_operator EMAIL --tenant SLUG --role ROLE [--password-env VAR]``."""

import getpass
import os
import sys
from typing import Any

from django.core.management.base import CommandError, CommandParser
from django.utils import timezone

from memory.host import access
from openwop_console.management.base import DatabaseCommand, refusals_as_errors, tenant_named


class Command(DatabaseCommand):
    help = "Create an operator who signs in with a password; a person who has one already joins this tenant too."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("email")
        parser.add_argument("--tenant", required=True, metavar="SLUG")
        parser.add_argument("--role", required=True, choices=list(access.ROLES))
        parser.add_argument("--password-env", default="", metavar="VAR", help="the variable that holds the password")

    def handle(self, *args: object, **options: Any) -> None:
        tenant, email, role = tenant_named(options["tenant"]), options["email"], options["role"]
        has_password = access.operator_by_email(email) is not None
        password = "" if has_password else _password(options["password_env"])
        with refusals_as_errors():
            access.create_operator(tenant, email, role=role, password=password, now=timezone.now())
        kept = " They sign in with the password they have." if has_password else ""
        self.stdout.write(f"Operator {email} created in {tenant.slug} as {role}.{kept}")


def _password(variable: str) -> str:
    """From the variable, or asked for twice at the terminal."""
    if variable:
        if not os.environ.get(variable):
            raise CommandError(f"The environment variable {variable} is not set.")
        return os.environ[variable]
    if not sys.stdin.isatty():
        raise CommandError("There is no terminal to ask for a password at; use --password-env VAR.")
    first = getpass.getpass("Password: ")
    if first != getpass.getpass("Again: "):
        raise CommandError("The two passwords differ.")
    return first
