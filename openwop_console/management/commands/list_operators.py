"""``manage.py list_operators --tenant SLUG``."""

from typing import Any

from django.core.management.base import CommandParser

from memory.host import operators
from openwop_console.management.base import DatabaseCommand, administrator_scope, table, tenant_named

MOST = 10_000


class Command(DatabaseCommand):
    help = "List the operators of a tenant in the order in which they joined."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--tenant", required=True, metavar="SLUG")

    def handle(self, *args: object, **options: Any) -> None:
        page = operators.list_operators(administrator_scope(tenant_named(options["tenant"])), limit=MOST)
        rows = [
            (
                each.email,
                ", ".join(each.roles) or "-",
                each.state,
                each.principal,
            )
            for each in page.rows
        ]
        self.stdout.write(table(("email", "role", "state", "id"), rows))
        if page.after:
            self.stdout.write(f"The first {len(rows)} of {page.total}; the API lists the others.")
