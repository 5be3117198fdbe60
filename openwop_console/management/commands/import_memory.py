"""``manage.py import_memory FILE --tenant SLUG [--format jsonl|mem0|langgraph] [--dry-run]``."""

import hashlib
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser
from django.utils import timezone

from memory import transfers
from memory.host import tenancy
from memory.host.models import Run
from memory.host.tenancy import TenantScope
from memory.transfers import Incoming
from openwop_console.management.base import DatabaseCommand, refusal_of, tenant_named

AT_ONCE = 500  # lines in one transaction: other writers wait that long
LONGEST = 1_000_000
SCOPES = frozenset({"memory:read", "memory:write"})
REFUSED = "refused"


class Command(DatabaseCommand):
    help = (
        "Import memory entries, one line of JSON each, and say of every line what became of it. An import that broke "
        "off is begun again: entries that are here already stay as they are."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", type=Path)
        parser.add_argument("--tenant", required=True, metavar="SLUG")
        parser.add_argument("--format", choices=sorted(transfers.FORMS), default="jsonl")
        parser.add_argument(
            "--dry-run", action="store_true", help="print what would become of each line, and change nothing"
        )

    def handle(self, *args: object, **options: Any) -> None:
        scope = tenancy.host_scope(tenant_named(options["tenant"]), scopes=SCOPES)
        file, form, counts = options["file"], options["format"], Counter[str]()
        digest, lines = _digest_of(file), enumerate(_lines_of(file), start=1)
        importing = ImportProgress(
            scope, None if options["dry_run"] else transfers.begin_import(scope, digest, now=_now())
        )
        while chunk := list(islice(lines, AT_ONCE)):
            for number, outcome in importing.import_lines(chunk, form):
                self.stdout.write(f"{number}: {outcome}")
                counts[outcome.partition(":")[0]] += 1
        if importing.run:
            transfers.end_import(scope, importing.run, counts, now=_now())
        told = ", ".join(f"{count:,} {outcome}" for outcome, count in sorted(counts.items()))
        self.stderr.write(f"{told or 'No line'}.")
        if counts[REFUSED]:
            raise CommandError(f"{counts[REFUSED]:,} lines of {file} were refused.")


@dataclass(frozen=True, slots=True)
class ImportProgress:
    """An import under way; without a run it is tried and nothing is changed."""

    scope: TenantScope
    run: Run | None

    def import_lines(self, lines: list[tuple[int, str]], form: str) -> list[tuple[int, str]]:
        """What became of each line. They are imported together; when one is refused, each by itself."""
        now, said, read = _now(), dict[int, str](), dict[int, Incoming]()

        def take(number: int, line: str) -> None:
            read[number] = transfers.read_line(line, form, now=now)

        def bring(numbers: list[int]) -> None:
            said.update(self._outcomes({number: read[number] for number in numbers}, now))

        for number, line in lines:
            said[number] = _refusal(partial(take, number, line))
        if refusal_of(partial(bring, list(read))):
            for number in read:
                said[number] = _refusal(partial(bring, [number])) or said[number]
        return sorted(said.items())

    def _outcomes(self, read: dict[int, Incoming], now: datetime) -> dict[int, str]:
        incoming = list(read.values())
        if self.run:
            outcomes = transfers.import_entries(self.scope, self.run, incoming, now=now)
        else:
            outcomes = transfers.try_entries(self.scope, incoming, now=now)
        return dict(zip(read, outcomes, strict=True))


def _refusal(act: Callable[[], None]) -> str:
    refused = refusal_of(act)
    return f"{REFUSED}: {refused}" if refused else ""


def _now() -> datetime:
    return timezone.now()


def _digest_of(file: Path) -> str:
    try:
        with file.open("rb") as opened:
            return hashlib.file_digest(opened, "sha256").hexdigest()
    except OSError as problem:
        raise CommandError(f"{file} cannot be read ({problem.strerror}).") from None


def _lines_of(file: Path) -> Iterator[str]:
    """The lines that say anything; bytes that are no text make no entry, so they are refused as a line."""
    with file.open("rb") as opened:
        while line := opened.readline(LONGEST):
            yield line.decode(errors="replace")
