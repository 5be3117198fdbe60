"""What higher apps register with the ground floor, imported when any of it is first read.

A command that reads none of it, such as one that lists keys, does not load the engine, the passes and the forms, which
is half of its CPU time. The processes of a console complete it before they serve or fork.
"""

from collections.abc import Callable, Iterator, MutableMapping
from threading import RLock
from typing import TypeVar

from memory.host.json_types import JSONMapping

K = TypeVar("K")
V = TypeVar("V")

_waiting: list[Callable[[], None]] = []
_completing = RLock()

_provided: list[Callable[[], JSONMapping]] = []


def defer(register: Callable[[], None]) -> None:
    """Call ``register`` before anything registered is first read; it imports and registers what an app brings."""
    _waiting.append(register)


def complete() -> None:
    """Run all pending registrations."""
    if _waiting:
        with _completing:  # other threads wait for completion; this thread reads what is registered by then
            while _waiting:
                _waiting.pop(0)()


class Registrations(MutableMapping[K, V]):
    """Registered values by name. Reading completes the registrations first; ``registered`` holds those made already."""

    def __init__(self) -> None:
        self.registered: dict[K, V] = {}

    def __setitem__(self, key: K, value: V) -> None:
        self.registered[key] = value

    def __delitem__(self, key: K) -> None:
        del self.registered[key]

    def __getitem__(self, key: K) -> V:
        complete()
        return self.registered[key]

    def __iter__(self) -> Iterator[K]:
        complete()
        return iter(self.registered)

    def __len__(self) -> int:
        complete()
        return len(self.registered)


def provide_capabilities(function: Callable[[], JSONMapping]) -> None:
    """Set the function that returns the capability document; called once, from the top app's ``apps.py``."""
    _provided[:] = [function]


def advertised_capabilities() -> JSONMapping:
    """Return the advertised capabilities; empty, claiming nothing, when none were provided."""
    return _provided[0]() if _provided else {}
