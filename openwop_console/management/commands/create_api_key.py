"""``manage.py create_api_key --tenant SLUG --role ROLE [--agent ID ...] [--name TEXT] [--for EMAIL]``."""

from typing import Any

from django.core.management.base import CommandParser
from django.utils import timezone

from memory.host import access
from openwop_console.commanding import DatabaseCommand, refusals_as_errors, tenant_named


class Command(DatabaseCommand):
    help = "Create an API key. It is printed once, as the only line on standard output, and stored hashed."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--tenant", required=True, metavar="SLUG")
        parser.add_argument("--role", required=True, choices=list(access.ROLES))
        parser.add_argument("--agent", action="append", default=[], metavar="ID", help="act as this agent and no other")
        parser.add_argument("--name", default="", help="what the key is for")
        parser.add_argument(
            "--for", dest="person", default="", metavar="EMAIL", help="whose key it is; a service account's without"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        tenant = tenant_named(options["tenant"])
        with refusals_as_errors():
            key = access.create_api_key(
                tenant,
                role=options["role"],
                agents=tuple(options["agent"]),
                name=options["name"],
                owner=access.active_operator(tenant, options["person"]) if options["person"] else None,
                now=timezone.now(),
            )
        self.stdout.write(key.text)
