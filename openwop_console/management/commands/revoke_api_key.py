"""``manage.py revoke_api_key ID``."""

from typing import Any

from django.core.management.base import CommandParser
from django.utils import timezone

from memory.host import key_management
from openwop_console.management.base import DatabaseCommand, key_named, refusals_as_errors


class Command(DatabaseCommand):
    help = "Revoke an API key: it stops working at once."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("id", help="key_..., as list_api_keys shows it")

    def handle(self, *args: object, **options: Any) -> None:
        scope, key_id = key_named(options["id"])
        with refusals_as_errors():
            key_management.revoke(scope, key_id, now=timezone.now())
        self.stdout.write(f"Key {options['id']} is revoked.")
