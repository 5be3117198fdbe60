"""``manage.py synthesize --tenant SLUG [--dry-run] [--endpoint]``: the host looks at a tenant's traces, now."""

from typing import Any

from django.core.management.base import CommandParser
from django.utils import timezone

from memory.host import tenancy
from openwop_console.management.base import DatabaseCommand, refusals_as_errors, seen_through, tenant_named
from proposals import learning, tasks

SCOPES = frozenset({"passes:run"})


class Command(DatabaseCommand):
    help = "Create proposals from patterns in a tenant's own runs; the outcome is printed as JSON."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--tenant", required=True, metavar="SLUG")
        parser.add_argument("--dry-run", action="store_true", help="print what would be proposed, and propose nothing")
        parser.add_argument(
            "--endpoint", action="store_true", help="have the tenant's model endpoint write the texts of the proposals"
        )

    def handle(self, *args: object, **options: Any) -> None:
        scope = tenancy.host_scope(tenant_named(options["tenant"]), scopes=SCOPES)
        wanted = {name: options[name] for name in ("dry_run", "endpoint")}
        with refusals_as_errors():
            row = learning.order(scope, **wanted, now=timezone.now())
            self.stdout.write(seen_through(row, tasks.carry_out))
