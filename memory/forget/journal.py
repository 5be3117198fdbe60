"""The erasure journal: what was forgotten, kept outside of the database and of every backup of it.

A restored backup knows nothing of the forgets that were confirmed after it was made; the journal does, and the restore
carries them out again. It is a file (``OPENWOP_ERASURE_JOURNAL``) of one line a forget, appended only. A line is
sealed under ``OPENWOP_SECRET_KEY`` and bound to the line before it, so none can be changed, moved or taken out.
"""

import base64
import binascii
import contextlib
import fcntl
import hashlib
import json
import logging
import os
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO

from cryptography.exceptions import InvalidTag
from django.conf import settings

from memory.host import vault
from memory.host.errors import Busy
from memory.models import ForgetRequest
from memory.wire import instant

log = logging.getLogger(__name__)


class JournalUnavailable(Busy):
    """The journal cannot be written. A forget that it does not hold would come back with a backup, so there is none."""

    code = "erasure_journal_unavailable"
    message = "Nothing can be forgotten now: the erasure journal of this host cannot be written."

    def __init__(self) -> None:
        super().__init__(retryAfterMs=60_000)


class JournalBroken(Exception):
    """The journal is missing, does not open, or is not the one that a backup was made with."""


class JournalCut(JournalBroken):
    """The last line has no end. A crash may have cut off a forget that was not confirmed yet; a copy, one that was."""


@dataclass(frozen=True, slots=True)
class Erasure:
    """A forget as it was confirmed: the names of the subject, and the suspected rows that were to go (hex)."""

    tenant_id: str
    request_id: str
    terms: tuple[str, ...]
    chosen: tuple[str, ...]
    confirmed_at: str


@dataclass(frozen=True, slots=True)
class Mark:
    """How far the journal went at a moment: its lines, and the SHA-256 of the last one."""

    lines: int
    head: str


def file() -> Path:
    """Where the journal is."""
    return Path(settings.OPENWOP_ERASURE_JOURNAL)


def require_writable() -> None:
    """Raises ``JournalUnavailable`` when no line can be added."""
    with _opened():
        pass


def record(request: ForgetRequest, terms: Iterable[str], chosen: Iterable[str]) -> None:
    """The confirmed request is in the journal, on disk, once."""
    known = request.id.hex.encode()
    with _opened() as journal:
        lines = _lines(journal.read())
        if any(line.startswith(known) for line in lines):
            return
        written = Erasure(
            tenant_id=request.tenant_id.hex,
            request_id=request.id.hex,
            terms=tuple(terms),
            chosen=tuple(sorted(chosen)),
            confirmed_at=instant(request.confirmed_at) if request.confirmed_at else "",
        )
        text = json.dumps(asdict(written)).encode()
        sealed = vault.seal(vault.wrapping_keys()[0], text, _digest(lines))
        journal.truncate(sum(len(line) + 1 for line in lines))  # a line that a crash cut off
        journal.seek(0, os.SEEK_END)
        journal.write(known + b" " + base64.b64encode(sealed) + b"\n")
        journal.flush()
        os.fsync(journal.fileno())
    if not lines:
        _sync_folder(file().parent)


def _sync_folder(folder: Path) -> None:
    """A file that was made in ``folder`` is still there after a power cut."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def mark() -> Mark:
    """How far the journal goes now; it is there afterwards."""
    with _opened() as journal:
        lines = _lines(journal.read())
    return Mark(len(lines), _digest(lines).hex())


def read(since: Mark, *, accept_cut: bool = False) -> list[Erasure]:
    """Everything in the journal, which must go on from where it was at ``since``; raises ``JournalBroken``.

    A last line without its end raises ``JournalCut``; with ``accept_cut`` it is left out.
    """
    try:
        content = file().read_bytes()
    except OSError as problem:
        raise JournalBroken(f"The erasure journal {file()} cannot be read ({problem.strerror}).") from problem
    lines = _lines(content)
    if len(lines) < since.lines or _digest(lines[: since.lines]).hex() != since.head:
        raise JournalBroken(f"The erasure journal {file()} is not the one that this backup was made beside.")
    if not accept_cut and content and not content.endswith(b"\n"):
        raise JournalCut(f"The last line of the erasure journal {file()} is cut off.")
    keys = vault.wrapping_keys()
    return [_opened_line(line, _digest(lines[:number]), keys, number + 1) for number, line in enumerate(lines)]


def _opened_line(line: bytes, binding: bytes, keys: list[bytes], number: int) -> Erasure:
    for key in keys:
        with contextlib.suppress(InvalidTag, binascii.Error, ValueError):
            sealed = base64.b64decode(line.partition(b" ")[2], validate=True)
            found = json.loads(vault.opened(key, sealed, binding))
            return Erasure(**{**found, "terms": tuple(found["terms"]), "chosen": tuple(found["chosen"])})
    raise JournalBroken(
        f"Line {number} of the erasure journal {file()} was changed, or was sealed with another OPENWOP_SECRET_KEY:"
        " name that key in OPENWOP_SECRET_KEY_FALLBACKS."
    )


def _lines(content: bytes) -> list[bytes]:
    """The whole lines, without their ends."""
    return content.split(b"\n")[:-1]


def _digest(lines: list[bytes]) -> bytes:
    """What the next line is bound to."""
    return hashlib.sha256(lines[-1] if lines else b"").digest()


@contextlib.contextmanager
def _opened() -> Iterator[IO[bytes]]:
    """The journal, for this process alone; made for its owner alone when it is not there yet."""
    try:
        descriptor = os.open(file(), os.O_RDWR | os.O_CREAT, 0o600)
        with os.fdopen(descriptor, "r+b") as journal:
            fcntl.flock(journal, fcntl.LOCK_EX)
            yield journal
    except OSError as problem:
        log.error("the erasure journal %s cannot be written (%s)", file(), problem.strerror)
        raise JournalUnavailable from problem
