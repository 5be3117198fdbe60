"""``manage.py install_workflow FILE --tenant SLUG``."""

import json
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser
from django.utils import timezone

from openwop_console.management.base import DatabaseCommand, refusals_as_errors, tenant_named
from openwop_console.runtime import workflows


class Command(DatabaseCommand):
    help = "Install a workflow definition (JSON); runs of its id execute it from now on."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", type=Path)
        parser.add_argument("--tenant", required=True, metavar="SLUG")

    def handle(self, *args: object, **options: Any) -> None:
        tenant = tenant_named(options["tenant"])
        text = _text_of(options["file"])
        with refusals_as_errors():
            installed = workflows.install(tenant, text, installed_by="host", now=timezone.now())
        self.stdout.write(f"{installed.ref} is installed in {tenant.slug} (sha256 {installed.sha256}).")


def _text_of(file: Path) -> str:
    """The file's text, which is JSON; one line when it cannot be read or is not."""
    try:
        text = file.read_text()
        json.loads(text)
    except OSError as problem:
        raise CommandError(f"{file} cannot be read ({problem.strerror}).") from None
    except (ValueError, RecursionError):
        raise CommandError(f"{file} is not JSON.") from None
    return text
