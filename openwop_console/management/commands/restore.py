"""``manage.py restore FILE [--without-journal | --accept-cut-journal]``."""

import contextlib
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import Error
from django.utils import timezone

from openwop_console import backups
from openwop_console.management.base import refusals_as_errors
from openwop_console.process import data_folder


class Command(BaseCommand):
    requires_system_checks: list[str] = []  # they import every view, a third of the time of restoring a small host
    help = "Restore a backup into an empty data folder or database, and forget again what was forgotten since."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", type=Path)
        journal = parser.add_mutually_exclusive_group()
        journal.add_argument(
            "--without-journal", action="store_true", help="accept that what was forgotten after the copy comes back"
        )
        journal.add_argument(
            "--accept-cut-journal", action="store_true", help="leave out the last line of the journal if it is cut off"
        )

    def handle(self, *args: object, **options: Any) -> None:
        try:
            with refusals_as_errors(), contextlib.ExitStack() as held:
                for part in ("web", "worker"):
                    held.enter_context(data_folder.lock(settings.OPENWOP_DATA_DIR, part))
                manifest, forgotten = backups.restore(
                    options["file"],
                    with_journal=not options["without_journal"],
                    accept_cut_journal=options["accept_cut_journal"],
                    clock=timezone.now,
                )
        except data_folder.FolderInUse as used:
            raise CommandError(f"A console (process {used.holder}) runs on this data folder; end it first.") from None
        except backups.BackupRefused as refused:
            raise CommandError(str(refused)) from None
        except Error as problem:
            raise CommandError(f"The database cannot be used: {' '.join(str(problem).split())}") from problem
        rows = sum(manifest["tables"].values())
        self.stdout.write(
            f"Restored {rows:,} rows of {manifest['createdAt']}; audit chains and receipts are verified."
            f" Forgotten again: {forgotten}."
            + (
                " It was restored without the erasure journal: what was forgotten after the copy is back."
                if options["without_journal"]
                else ""
            )
        )
