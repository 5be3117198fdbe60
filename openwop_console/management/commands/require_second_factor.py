"""``manage.py require_second_factor --tenant SLUG [--off]``."""

from typing import Any

from django.core.management.base import CommandParser
from django.utils import timezone

from memory.host import operators
from openwop_console.management.base import DatabaseCommand, administrator_scope, tenant_named


class Command(DatabaseCommand):
    help = "Require a second factor of everyone who signs in to a tenant with a password; --off ends that."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--tenant", required=True, metavar="SLUG")
        parser.add_argument("--off", action="store_true", help="each person decides for themselves")

    def handle(self, *args: object, **options: Any) -> None:
        tenant, required = tenant_named(options["tenant"]), not options["off"]
        operators.require_second_factor(administrator_scope(tenant), required=required, now=timezone.now())
        self.stdout.write(f"A second factor is {'required' if required else 'optional'} in {tenant.slug}.")
