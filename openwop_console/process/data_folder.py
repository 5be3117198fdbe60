"""The data folder (``OPENWOP_DATA_DIR``): what a console keeps on its own machine.

The folder is made for its owner alone, and so is each secret in it. A file that two processes want to create at the
same moment is created by one of them and read by both.
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
    """Another console, or what is left of one, runs the same part on this data folder."""

    def __init__(self, holder: str) -> None:
        super().__init__(holder)
        self.holder = holder

    @property
    def holder_lives(self) -> bool:
        """Whether that console itself still runs; if not, the last of its children are about to go."""
        try:
            os.kill(int(self.holder), 0)
        except ProcessLookupError:
            return False
        except (PermissionError, ValueError):
            return True
        return True


def checked(folder: Path) -> Path:
    """``folder``, when it is there or can be made. Nothing is made before something is kept in it."""
    there = next(each for each in (folder, *folder.parents) if each.exists())
    if not there.is_dir() or (there != folder and not os.access(there, os.W_OK | os.X_OK)):
        raise _not_made(folder, errno.ENOTDIR if not there.is_dir() else errno.EACCES)
    return folder


def ensure(folder: Path) -> Path:
    """``folder`` exists."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as refused:
        raise _not_made(folder, refused.errno or 0) from refused
    return folder


def _not_made(folder: Path, why: int) -> ImproperlyConfigured:
    return ImproperlyConfigured(f"OPENWOP_DATA_DIR: the data folder {folder} cannot be created ({os.strerror(why)})")


def kept_text(file: Path, make: Callable[[], str]) -> str:
    """The text kept in ``file``; made and kept, mode 0600, by the first of all processes that ask."""
    try:
        if not file.exists():
            ensure(file.parent)
            _create_once(file, make())
        return file.read_text().strip()
    except OSError as refused:
        raise ImproperlyConfigured(f"{file} cannot be kept in the data folder ({refused.strerror})") from refused


class _Later(SimpleLazyObject):  # type: ignore[type-arg]
    """A text that is there, although it was not read yet."""

    _mask_wrapped = True  # Django's settings ask for it whenever they give the text: that is no use of it

    def __init__(self, file: Path, make: Callable[[], str]) -> None:
        super().__init__(lambda: kept_text(file, make))
        self.__dict__["kept_in"] = file

    def __bool__(self) -> bool:
        return True


def kept_later(file: Path, make: Callable[[], str]) -> str:
    """``kept_text`` that is read, or made, when it is first used."""
    return cast("str", _Later(file, make))


def is_still_to_be_made(text: str) -> bool:
    """Whether the first use of ``text``, which is kept later, would make its file."""
    return isinstance(text, _Later) and not text.kept_in.exists()


def instance_of(folder: Path) -> str:
    """The name of the host that lives on ``folder``, the same as long as the folder is."""
    return kept_text(folder / "instance", lambda: uuid.uuid4().hex)


def _create_once(file: Path, text: str) -> None:
    """``file`` is whole from its first moment: written aside, then linked, which fails for all but the first."""
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
    """No other console is at this point on ``folder``; one that is is waited for."""
    with (ensure(folder) / "console.lock").open("a+") as waiting:
        fcntl.flock(waiting, fcntl.LOCK_EX)
        yield


def lock(folder: Path, part: str) -> IO[str]:
    """The lock on one ``part`` of a console, held until this process and every child given the file has ended."""
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
    """Whether a console runs that part."""
    if not folder.exists():
        return False
    try:
        lock(folder, part).close()
    except FolderInUse:
        return True
    return False
