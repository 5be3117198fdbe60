"""``manage.py end_sessions EMAIL --tenant SLUG``."""

from typing import Any

from django.core.management.base import CommandParser
from django.utils import timezone

from memory.host import operators
from openwop_console.management.base import (
    DatabaseCommand,
    administrator_scope,
    operator_named,
    refusals_as_errors,
    tenant_named,
)


class Command(DatabaseCommand):
    help = "Sign an operator out of a tenant in every browser; they can sign in again."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("email")
        parser.add_argument("--tenant", required=True, metavar="SLUG")

    def handle(self, *args: object, **options: Any) -> None:
        tenant, email = tenant_named(options["tenant"]), options["email"]
        operator = operator_named(tenant, email)
        with refusals_as_errors():
            operators.end_sessions(administrator_scope(tenant), operator.id, now=timezone.now())
        self.stdout.write(f"The sessions of {email} in {tenant.slug} have ended.")
