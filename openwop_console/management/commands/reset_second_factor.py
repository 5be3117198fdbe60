"""``manage.py reset_second_factor EMAIL``."""

from typing import Any

from django.core.management.base import CommandError, CommandParser
from django.utils import timezone

from memory.host import access, second_factors
from openwop_console.management.base import DatabaseCommand, refusals_as_errors


class Command(DatabaseCommand):
    help = "Remove the second factor of a person who has lost it, in every tenant; their sessions end."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("email")

    def handle(self, *args: object, **options: Any) -> None:
        email = options["email"]
        operator = access.operator_by_email(email)
        if operator is None:
            raise CommandError(f"There is no operator {email!r}.")
        with refusals_as_errors():
            second_factors.reset(operator, actor="host", now=timezone.now())
        self.stdout.write(f"The second factor of {email} is removed.")
