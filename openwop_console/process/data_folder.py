"""The data folder (``OPENWOP_DATA_DIR``): what a console keeps on its own machine.

The folder and each secret in it are readable by their owner only. When two processes create a file at the same moment,
one creates it and both read it.
"""

import errno
import fcntl
import os
import tempfile
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, cast

from django.core.exceptions import ImproperlyConfigured
from django.utils.functional import SimpleLazyObject


class FolderInUse(Exception):
    """Another console, or a remaining child of one, holds the lock on the same part of this data folder."""

    def __init__(self, holder: str) -> None:
        super().__init__(holder)
        self.holder = holder

    @property
    def holder_lives(self) -> bool:
        """Return whether that console itself still runs; if not, its last children are about to end."""
        try:
            os.kill(int(self.holder), 0)
        except ProcessLookupError:
            return False
        except (PermissionError, ValueError):
            return True
        return True


def checked_folder(folder: Path) -> Path:
    """Return ``folder`` if it exists or can be created, without creating it; raises ``ImproperlyConfigured``
    otherwise."""
    there = next(each for each in (folder, *folder.parents) if each.exists())
    if not there.is_dir() or (there != folder and not os.access(there, os.W_OK | os.X_OK)):
        raise _not_made(folder, errno.ENOTDIR if not there.is_dir() else errno.EACCES)
    return folder


def ensure(folder: Path) -> Path:
    """Create ``folder`` with mode 0700 if it does not exist."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as refused:
        raise _not_made(folder, refused.errno or 0) from refused
    return folder


def _not_made(folder: Path, why: int) -> ImproperlyConfigured:
    return ImproperlyConfigured(f"OPENWOP_DATA_DIR: the data folder {folder} cannot be created ({os.strerror(why)})")


def kept_text(file: Path, make: Callable[[], str]) -> str:
    """Return the text kept in ``file``; the first process that asks creates it, mode 0600."""
    try:
        if not file.exists():
            ensure(file.parent)
            _create_once(file, make())
        return file.read_text().strip()
    except OSError as refused:
        raise ImproperlyConfigured(f"{file} cannot be kept in the data folder ({refused.strerror})") from refused


class _Later(SimpleLazyObject):  # type: ignore[type-arg]
    """A text that is read, or created, on first use."""

    _mask_wrapped = True  # Django's settings check it on every access, which must not count as use

    def __init__(self, file: Path, make: Callable[[], str]) -> None:
        super().__init__(lambda: kept_text(file, make))
        self.__dict__["kept_in"] = file

    def __bool__(self) -> bool:
        return True


def kept_later(file: Path, make: Callable[[], str]) -> str:
    """Return a lazy ``kept_text``, which reads or creates the file on first use."""
    return cast("str", _Later(file, make))


def is_still_to_be_made(text: str) -> bool:
    """Return whether the first use of ``text``, if from ``kept_later``, would create its file."""
    return isinstance(text, _Later) and not text.kept_in.exists()


def instance_of(folder: Path) -> str:
    """Return the name of the host on ``folder``, which lasts as long as the folder."""
    return kept_text(folder / "instance", lambda: uuid.uuid4().hex)


def _create_once(file: Path, text: str) -> None:
    """Create ``file`` atomically: write a temporary file, then link it, which succeeds for the first process only."""
    descriptor, aside = tempfile.mkstemp(prefix=f".{file.name}-", dir=file.parent)
    try:
        with os.fdopen(descriptor, "w") as writing:
            writing.write(text)
            writing.flush()
            os.fsync(writing.fileno())
        os.link(aside, file)
    except FileExistsError:
        pass
    finally:
        Path(aside).unlink()


@contextmanager
def alone(folder: Path) -> Iterator[None]:
    """Hold the console's exclusive lock on ``folder`` for the block, waiting for another holder."""
    with (ensure(folder) / "console.lock").open("a+") as waiting:
        fcntl.flock(waiting, fcntl.LOCK_EX)
        yield


def lock(folder: Path, part: str) -> IO[str]:
    """Lock one ``part`` of a console, until this process and every child that inherits the file has ended.

    Raises ``FolderInUse`` with the holder's process id.
    """
    holding = (ensure(folder) / f"{part}.lock").open("a+")
    try:
        fcntl.flock(holding, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as held:
        holding.seek(0)
        holder = holding.read().strip()
        holding.close()
        raise FolderInUse(holder) from held
    holding.truncate(0)
    holding.write(str(os.getpid()))
    holding.flush()
    return holding


def is_locked(folder: Path, part: str) -> bool:
    """Return whether a console runs that part."""
    if not folder.exists():
        return False
    try:
        lock(folder, part).close()
    except FolderInUse:
        return True
    return False
