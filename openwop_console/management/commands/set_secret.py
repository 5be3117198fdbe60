"""``manage.py set_secret NAME --tenant SLUG [--scope tenant|user|run] [--principal ID]``."""

import sys
from typing import Any

from django.core.management.base import CommandParser
from django.utils import timezone

from memory.host import vault
from memory.host.models import GIVEN_SCOPES, SecretScope
from openwop_console.management.base import DatabaseCommand, refusals_as_errors, tenant_named


class Command(DatabaseCommand):
    help = "Read a secret's value from standard input into the vault, sealed. A trailing line break is not part of it."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("name")
        parser.add_argument("--tenant", required=True, metavar="SLUG")
        parser.add_argument("--scope", choices=[str(each) for each in GIVEN_SCOPES], default=SecretScope.TENANT)
        parser.add_argument("--principal", default="", metavar="ID", help="the usr_, key_ or run_ it belongs to")

    def handle(self, *args: object, **options: Any) -> None:
        tenant = tenant_named(options["tenant"])
        value = sys.stdin.read().rstrip("\r\n")
        with refusals_as_errors():
            vault.store_secret(
                tenant.id,
                options["name"],
                value,
                scope=options["scope"],
                owner=options["principal"],
                now=timezone.now(),
            )
        self.stdout.write(f"Secret {options['name']} is in the vault of {tenant.slug}.")
