"""``manage.py import_workflow FILE --tenant SLUG [--as EMAIL] [--dry-run]``."""

import json
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser
from django.utils import timezone

from memory.host import tenancy
from memory.host.json_types import JSONObject
from memory.host.models import Tenant
from memory.host.tenancy import TenantScope
from memory.openintent import workflow_file
from memory.openintent.workflow_file import Workflow
from openwop_console.management.base import DatabaseCommand, acting_as, operator_scope, tenant_named

SCOPES = frozenset({"agents:manage", "memory:read", "memory:write"})


class Command(DatabaseCommand):
    help = "Import an OpenIntent workflow file (YAML); what was created is printed as JSON."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", type=Path)
        parser.add_argument("--tenant", required=True, metavar="SLUG")
        parser.add_argument("--as", dest="operator", default="", metavar="EMAIL", help="the operator who imports it")
        parser.add_argument("--dry-run", action="store_true", help="print what would be created, and change nothing")

    def handle(self, *args: object, **options: Any) -> None:
        tenant, now = tenant_named(options["tenant"]), timezone.now()
        scope = _scope(tenant, options["operator"])
        workflow, warnings = self._workflow(scope, options["file"])
        with acting_as(scope, "import_workflow", now=now):
            if options["dry_run"]:
                brought = workflow_file.plan_import(scope, workflow)
            else:
                brought = workflow_file.import_workflow(scope, workflow, now=now)
        document = {**workflow_file.document(brought), "warnings": warnings}
        self.stdout.write(json.dumps(document, ensure_ascii=False, indent=2))

    def _workflow(self, scope: TenantScope, file: Path) -> tuple[Workflow, list[JSONObject]]:
        """What the file says. What is wrong with it goes to standard error, a line for each thing, and ends this."""
        parsed = workflow_file.parse_for(scope, _bytes_of(file))
        for severity, found in (("", parsed.problems), ("warning: ", parsed.warnings)):
            for each in found:
                self.stderr.write(f"{file}:{each.line}:{each.column}: {severity}{each.sentence}", self.style.NOTICE)
        if parsed.workflow is None:
            count = len(parsed.problems)
            raise CommandError(f"{file} has {count:,} problem{'' if count == 1 else 's'}; nothing was made.")
        return parsed.workflow, [each.document for each in parsed.warnings]


def _scope(tenant: Tenant, email: str) -> TenantScope:
    return operator_scope(tenant, email) if email else tenancy.host_scope(tenant, scopes=SCOPES)


def _bytes_of(file: Path) -> bytes:
    """The file as far as it would be read at all."""
    try:
        with file.open("rb") as opened:
            return opened.read(workflow_file.MAX_BYTES + 1)
    except OSError as problem:
        raise CommandError(f"{file} cannot be read ({problem.strerror}).") from None
