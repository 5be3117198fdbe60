"""``manage.py run_pass KIND --tenant SLUG --ref REF [--budget N] [--dry-run] [--option NAME=VALUE ...]``."""

import json
from typing import Any

from django.core.management.base import CommandError, CommandParser
from django.utils import timezone

from memory import tasks
from memory.host import tenancy
from memory.passes import orders
from memory.passes.orders import RequestedPass
from openwop_console.management.base import DatabaseCommand, refusals_as_errors, seen_through, tenant_named

SCOPES = frozenset({"memory:read", "passes:run"})


class Command(DatabaseCommand):
    help = "Run a pass over a memory ref now; the outcome is printed as JSON."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("kind", choices=sorted(orders.KINDS))
        parser.add_argument("--tenant", required=True, metavar="SLUG")
        parser.add_argument("--ref", required=True, metavar="REF", help="the memory_ref to run it over")
        parser.add_argument("--budget", type=int, metavar="N", help="tokens that a distillation may use")
        parser.add_argument("--dry-run", action="store_true", help="print what would change, and change nothing")
        parser.add_argument("--option", action="append", default=[], metavar="NAME=VALUE", help="VALUE is JSON")

    def handle(self, *args: object, **options: Any) -> None:
        tenant = tenant_named(options["tenant"])
        given = dict(_option(each) for each in options["option"])
        if options["budget"] is not None:
            given["tokenBudget"] = options["budget"]
        wanted = RequestedPass(options["kind"], options["ref"], given, options["dry_run"])
        scope = tenancy.host_scope(tenant, scopes=SCOPES)
        with refusals_as_errors():
            row = orders.order_now(scope, wanted, now=timezone.now())
            self.stdout.write(seen_through(row, tasks.carry_out))


def _option(text: str) -> tuple[str, Any]:
    """The name and the value of one option; what is no JSON is a text."""
    name, mark, value = text.partition("=")
    if not (name and mark):
        raise CommandError(f"--option {text!r} is not NAME=VALUE")
    try:
        return name, json.loads(value)
    except (ValueError, RecursionError):
        return name, value
