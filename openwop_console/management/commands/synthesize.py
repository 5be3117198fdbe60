"""``manage.py synthesize --tenant SLUG [--dry-run] [--endpoint]``: the host looks at a tenant's traces, now."""

import json
import time
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils import timezone

from memory import passes
from memory.host import tenancy
from memory.host.models import Tenant
from memory.models import Pass, PassState
from openwop_console.commanding import refusals_as_errors, tenant_named
from proposals import synthesis, tasks

SCOPES = frozenset({"passes:run"})
LOOK_EVERY = 0.2


class Command(BaseCommand):
    help = "Propose what a tenant's own traces suggest; what came of it is printed as JSON."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--tenant", required=True, metavar="SLUG")
        parser.add_argument("--dry-run", action="store_true", help="tell what would be proposed and propose nothing")
        parser.add_argument("--endpoint", action="store_true", help="let the tenant's endpoint word the proposals")

    def handle(self, *args: Any, **options: Any) -> None:
        tenant = tenant_named(options["tenant"])
        with refusals_as_errors():
            ended = _carry_out(tenant, dry_run=options["dry_run"], endpoint=options["endpoint"])
        if ended.state != PassState.DONE:
            error = ended.run.error or {}
            raise CommandError(f"{ended.state}: {ended.code}: {error.get('message', '')}")
        self.stdout.write(json.dumps(ended.outcome, sort_keys=True))


def _carry_out(tenant: Tenant, **wanted: bool) -> Pass:
    """The synthesis as it ended, whoever carried it out."""
    scope = tenancy.host_scope(tenant, scopes=SCOPES)
    row = synthesis.order(scope, **wanted, now=timezone.now())
    while row.state not in passes.OVER:
        ended = tasks.carry_out(tenant.id, row.id)
        if ended is None:
            time.sleep(LOOK_EVERY)
        row = ended or passes.find(tenant.id, row.id) or row
    return row
