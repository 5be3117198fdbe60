"""``manage.py create_tenant SLUG [--name TEXT]``."""

from typing import Any

from django.core.management.base import CommandParser
from django.utils import timezone

from openwop_console.management.base import DatabaseCommand, new_tenant, refusals_as_errors


class Command(DatabaseCommand):
    help = "Create a tenant, whose memory is consolidated and distilled every night."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("slug")
        parser.add_argument("--name", default="", help="shown in the header of every page")

    def handle(self, *args: object, **options: Any) -> None:
        with refusals_as_errors():
            tenant = new_tenant(options["slug"], name=options["name"], now=timezone.now())
        self.stdout.write(f"Tenant {tenant.slug} created.")
