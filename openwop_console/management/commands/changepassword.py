"""``manage.py changepassword EMAIL [--password-env VAR]``, in place of Django's, which leaves no audit record."""

from typing import Any

from django.core.management.base import CommandError, CommandParser
from django.utils import timezone

from memory.host import access
from openwop_console.management.base import DatabaseCommand, new_password, refusals_as_errors


class Command(DatabaseCommand):
    help = "Set the password of a person, in every tenant; their sessions end."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("email")
        parser.add_argument("--password-env", default="", metavar="VAR", help="the variable that holds the password")

    def handle(self, *args: object, **options: Any) -> None:
        email, now = options["email"], timezone.now()
        operator = access.operator_by_email(email)
        if operator is None:
            raise CommandError(f"There is no operator {email!r}.")
        with refusals_as_errors():
            encoded = access.encode_password(operator, new_password(options["password_env"]))
            access.store_password(operator, encoded, action="operator.password_changed", actor="host", now=now)
        self.stdout.write(f"The password of {operator.email} is changed; their sessions have ended.")
