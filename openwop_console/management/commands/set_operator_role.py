"""``manage.py set_operator_role EMAIL --tenant SLUG --role ROLE``."""

from typing import Any

from django.core.management.base import CommandParser
from django.utils import timezone

from memory.host import access, operators
from openwop_console.management.base import (
    DatabaseCommand,
    administrator_scope,
    operator_named,
    refusals_as_errors,
    tenant_named,
)


class Command(DatabaseCommand):
    help = "Give an operator this role and no other; their sessions in the tenant end."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("email")
        parser.add_argument("--tenant", required=True, metavar="SLUG")
        parser.add_argument("--role", required=True, choices=list(access.ROLES))

    def handle(self, *args: object, **options: Any) -> None:
        tenant, email, role = tenant_named(options["tenant"]), options["email"], options["role"]
        operator = operator_named(tenant, email)
        with refusals_as_errors():
            operators.change(administrator_scope(tenant), operator.id, role=role, now=timezone.now())
        self.stdout.write(f"Operator {email} is {role} in {tenant.slug}.")
