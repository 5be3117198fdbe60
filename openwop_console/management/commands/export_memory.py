"""``manage.py export_memory --tenant SLUG``."""

from typing import Any

from django.core.management.base import CommandParser
from django.utils import timezone

from memory import entry_files
from memory.host import tenancy
from openwop_console.management.base import DatabaseCommand, refusals_as_errors, tenant_named


class Command(DatabaseCommand):
    help = "Print every readable memory entry as a line of JSON, for import_memory on another host."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--tenant", required=True, metavar="SLUG")

    def handle(self, *args: object, **options: Any) -> None:
        scope = tenancy.host_scope(tenant_named(options["tenant"]), scopes=frozenset({"memory:read"}))
        written = left = 0
        with refusals_as_errors():
            for entry_id, line in entry_files.export_lines(scope, now=timezone.now()):
                if line:
                    written += 1
                    self.stdout.write(line.decode(), ending="")
                else:
                    left += 1
                    self.stderr.write(f"{entry_id}: left out, its value is kept encrypted")
            entry_files.record_export(scope, {"entries": written, "leftOut": left}, now=timezone.now())
        self.stderr.write(f"{written:,} entries, {left:,} left out.")
