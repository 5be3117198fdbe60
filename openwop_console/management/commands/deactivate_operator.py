"""``manage.py deactivate_operator EMAIL --tenant SLUG``."""

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
    help = "End what an operator may do in a tenant: sessions, keys and sign-in; create_operator lets them in again."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("email")
        parser.add_argument("--tenant", required=True, metavar="SLUG")

    def handle(self, *args: object, **options: Any) -> None:
        tenant, email = tenant_named(options["tenant"]), options["email"]
        operator = operator_named(tenant, email)
        with refusals_as_errors():
            operators.change(administrator_scope(tenant), operator.id, active=False, now=timezone.now())
        self.stdout.write(f"Operator {email} is deactivated in {tenant.slug}.")
