"""``manage.py import_memory FILE --tenant SLUG [--format FORM] [--memory-ref REF] [--agent ID] [--dry-run]``."""

import hashlib
from collections import Counter
from collections.abc import Iterator
from datetime import datetime
from itertools import islice
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser
from django.utils import timezone

from memory import entry_files
from memory.entry_files import REFUSED, FileForm, Seen
from memory.host import tenancy
from openwop_console.management.base import DatabaseCommand, refusals_as_errors, tenant_named

AT_ONCE = 500  # lines in one transaction: other writers wait that long
SCOPES = frozenset({"memory:read", "memory:write"})


class Command(DatabaseCommand):
    help = (
        "Import memory entries, one line of JSON each, and say of every line what became of it. An import that broke "
        "off is begun again: entries that are here already stay as they are."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", type=Path)
        parser.add_argument("--tenant", required=True, metavar="SLUG")
        parser.add_argument("--format", choices=sorted(entry_files.FORMS), default="jsonl")
        parser.add_argument(
            "--memory-ref", default="", metavar="REF", help="the ref of mem0 memories, or the one above LangGraph's"
        )
        parser.add_argument(
            "--agent",
            default="",
            metavar="ID",
            help="the agent of plain entries that name none; without --memory-ref, items of LangGraph are in its store",
        )
        parser.add_argument(
            "--dry-run", action="store_true", help="print what would become of each line, and change nothing"
        )

    def handle(self, *args: object, **options: Any) -> None:
        scope = tenancy.host_scope(tenant_named(options["tenant"]), scopes=SCOPES)
        source = FileForm(options["format"], options["memory_ref"], options["agent"])
        with refusals_as_errors():
            entry_files.check_source(scope, source)
        file, counts, seen = options["file"], Counter[str](), Seen()
        digest, lines = _digest_of(file), _lines_of(file)
        run = None if options["dry_run"] else entry_files.begin_import(scope, digest, now=_now())
        while chunk := list(islice(lines, AT_ONCE)):
            results = entry_files.import_lines(scope, run, chunk, source, now=_now())
            for result in results if run else map(seen.result_now, results):
                self.stdout.write(f"{result.number}: {result}")
                counts[result.outcome] += 1
        if run:
            entry_files.end_import(scope, run, counts, now=_now())
        summary = ", ".join(f"{count:,} {outcome}" for outcome, count in sorted(counts.items()))
        self.stderr.write(f"{summary or 'No line'}.")
        if counts[REFUSED]:
            raise CommandError(f"{counts[REFUSED]:,} lines of {file} were refused.")


def _now() -> datetime:
    return timezone.now()


def _digest_of(file: Path) -> str:
    try:
        with file.open("rb") as opened:
            return hashlib.file_digest(opened, "sha256").hexdigest()
    except OSError as problem:
        raise CommandError(f"{file} cannot be read ({problem.strerror}).") from None


def _lines_of(file: Path) -> Iterator[tuple[int, bytes]]:
    with file.open("rb") as opened:
        yield from entry_files.lines_of(opened)
