"""``manage.py install_agent FILE --tenant SLUG``."""

from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser
from django.utils import timezone

from memory import agents
from memory.host import registrations, tenancy
from openwop_console.management.base import DatabaseCommand, read_json, refusals_as_errors, tenant_named


class Command(DatabaseCommand):
    help = "Install an agent from its manifest (JSON); nodes act as it from now on."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", type=Path)
        parser.add_argument("--tenant", required=True, metavar="SLUG")

    def handle(self, *args: object, **options: Any) -> None:
        tenant, document = tenant_named(options["tenant"]), registrations.advertised_capabilities()
        scope = tenancy.host_scope(tenant, scopes=frozenset({"agents:manage"}))
        with refusals_as_errors():
            manifest = read_json(options["file"])
            installed = agents.install(scope, manifest, document, now=timezone.now())
        entry = agents.entry_of(installed, document)
        lacks = [*entry.degraded, *(entry.degraded_dimensions or ())]
        lacking = f"; degraded: {', '.join(lacks)}" if lacks else ""
        self.stdout.write(f"{installed.ref} is installed in {tenant.slug} (sha256 {installed.sha256}){lacking}.")
