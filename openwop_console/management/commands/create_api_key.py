"""``manage.py create_api_key --tenant SLUG --role ROLE [--agent ID ...] [--name TEXT] [--for EMAIL]
[--expires WHEN]``."""

from typing import Any

from django.core.management.base import CommandParser
from django.db import transaction
from django.utils import timezone

from memory.host import access, key_management
from openwop_console.management.base import (
    DatabaseCommand,
    administrator_scope,
    check_agent_ids,
    expiry_of,
    refusals_as_errors,
    tenant_named,
)


class Command(DatabaseCommand):
    help = "Create an API key. It is printed once, as the only line on standard output, and stored hashed."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--tenant", required=True, metavar="SLUG")
        parser.add_argument("--role", required=True, choices=list(access.ROLES))
        parser.add_argument("--agent", action="append", default=[], metavar="ID", help="act as this agent and no other")
        parser.add_argument("--name", default="", help="what the key is for")
        parser.add_argument(
            "--expires", default="", metavar="WHEN", help="90d, 12h or 2027-01-31T00:00:00Z; no expiry without it"
        )
        parser.add_argument(
            "--for", dest="person", default="", metavar="EMAIL", help="whose key it is; a service account's without it"
        )

    def handle(self, *args: object, **options: Any) -> None:
        tenant, now = tenant_named(options["tenant"]), timezone.now()
        check_agent_ids(options["agent"])
        # A key that could not be printed is not made: nobody would know its text.
        with transaction.atomic(), refusals_as_errors():
            key = key_management.create(
                administrator_scope(tenant),
                role=options["role"],
                agents=tuple(options["agent"]),
                name=options["name"],
                person=options["person"],
                expires_at=expiry_of(options["expires"], now) if options["expires"] else None,
                now=now,
            )
            self.stdout.write(key.text)
            self.stdout.flush()
