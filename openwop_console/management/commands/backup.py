"""``manage.py backup FILE``."""

from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser
from django.db import Error
from django.utils import timezone

from openwop_console import backups
from openwop_console.management.base import DatabaseCommand, expiry_of, refusals_as_errors


class Command(DatabaseCommand):
    help = "Copy the database as it is at this moment into FILE; the console may go on running."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", type=Path)
        parser.add_argument(
            "--expires",
            default="",
            metavar="WHEN",
            help="when FILE will be deleted: 90d, 12h or 2027-01-31T00:00:00Z; the preview of a forget says so",
        )

    def handle(self, *args: object, **options: Any) -> None:
        try:
            with refusals_as_errors():
                now = timezone.now()
                expires_at = expiry_of(options["expires"], now) if options["expires"] else None
                manifest = backups.make(options["file"], now=now)
                backups.put_on_record(expires_at=expires_at, now=now)
        except backups.BackupRefused as refused:
            raise CommandError(str(refused)) from None
        except Error as problem:
            raise CommandError(f"The database cannot be copied: {' '.join(str(problem).split())}") from problem
        rows = sum(manifest["tables"].values())
        self.stdout.write(f"{options['file']} holds {rows:,} rows of {len(manifest['tables'])} tables.")
