"""``manage.py list_api_keys --tenant SLUG``."""

from typing import Any

from django.core.management.base import CommandParser
from django.utils import timezone

from memory.host import ids, key_management
from openwop_console.management.base import DatabaseCommand, administrator_scope, table, tenant_named

MOST = 10_000


class Command(DatabaseCommand):
    help = "List the keys of a tenant, the newest first; their texts are stored nowhere."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--tenant", required=True, metavar="SLUG")

    def handle(self, *args: object, **options: Any) -> None:
        tenant, now = tenant_named(options["tenant"]), timezone.now()
        page = key_management.list_keys(administrator_scope(tenant), limit=MOST, now=now)
        rows = [
            (
                ids.wire("key", each.row.id),
                each.state,
                ", ".join(each.roles),
                each.person or "-",
                ", ".join(each.row.agents) or "any agent",
                f"{each.row.expires_at:%Y-%m-%d %H:%M}" if each.row.expires_at else "never",
                f"{each.row.last_used_at:%Y-%m-%d %H:%M}" if each.row.last_used_at else "never",
                each.row.name or "-",
            )
            for each in page.rows
        ]
        self.stdout.write(
            table(("id", "state", "role", "person", "acts as", "expires (UTC)", "last used (UTC)", "name"), rows)
        )
        if page.after:
            self.stdout.write(f"The newest {len(rows)} of {page.total}; the API lists the others.")
