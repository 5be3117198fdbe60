"""What apps above plug into the ground floor, imported when something first reads any of it.

A command that reads none of it, as one that lists keys, does without the engine, the passes and the forms: half of its
CPU time. The processes of a console complete it before they serve or fork.
"""

from collections.abc import Callable, Iterator, Mapping, MutableMapping
from threading import RLock
from typing import Any, TypeVar

K = TypeVar("K")
V = TypeVar("V")

_waiting: list[Callable[[], None]] = []
_completing = RLock()
Document = Mapping[str, Any]

_provided: list[Callable[[], Document]] = []


def when_read(register: Callable[[], None]) -> None:
    """``register`` imports what an app brings and registers it, at the latest before anything registered is read."""
    _waiting.append(register)


def complete() -> None:
    """Everything that apps bring is registered."""
    if _waiting:
        with _completing:  # another thread waits until all of it is there; this one reads what is there so far
            while _waiting:
                _waiting.pop(0)()


class Registrations(MutableMapping[K, V]):
    """Registered things by name. To read them completes them first; ``so_far`` are those that are there already."""

    def __init__(self) -> None:
        self.so_far: dict[K, V] = {}

    def __setitem__(self, key: K, value: V) -> None:
        self.so_far[key] = value

    def __delitem__(self, key: K) -> None:
        del self.so_far[key]

    def __getitem__(self, key: K) -> V:
        complete()
        return self.so_far[key]

    def __iter__(self) -> Iterator[K]:
        complete()
        return iter(self.so_far)

    def __len__(self) -> int:
        complete()
        return len(self.so_far)


def provide_capabilities(function: Callable[[], Document]) -> None:
    """``function`` gives the document from now on; called once, from the ``apps.py`` of the top floor."""
    _provided[:] = [function]


def advertised_capabilities() -> Document:
    """What the host advertises; empty before anybody provided it, and then nothing is claimed."""
    return _provided[0]() if _provided else {}
