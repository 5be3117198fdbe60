"""Entries as the server gives them back, and which versions of them this client has seen."""

from collections import OrderedDict
from threading import Lock
from typing import Any, NamedTuple

MOST_TRACKED = 10_000


class Entry(dict[str, Any]):
    """A memory entry: the wire's own object, with its commonest parts by name."""

    @property
    def id(self) -> str:
        return str(self.get("id", ""))

    @property
    def version(self) -> int:
        return int(self.get("version", 0))

    @property
    def value(self) -> dict[str, Any]:
        return dict(self.get("value") or {})

    @property
    def task_id(self) -> str:
        return str((self.get("scope") or {}).get("task_id") or "")

    @property
    def is_shared(self) -> bool:
        """Whether it is semantic, and so nobody's alone."""
        return self.get("memory_type") == "semantic"


class Entries(list[Entry]):
    """A page of entries; ``total`` is how many there are on all pages, or fewer in a long list."""

    total: int = 0


class Place(NamedTuple):
    """Where an entry is unique (RFC-0015 1.2): the agent is "" for semantic ones."""

    agent_id: str
    namespace: str
    key: str


class Seen(NamedTuple):
    """An entry as it was last got or set."""

    id: str
    version: int
    memory_type: str
    task_id: str


class Versions:
    """What was last seen at each place: of the latest used ones, from any thread."""

    def __init__(self, most: int = MOST_TRACKED) -> None:
        self._most, self._lock = most, Lock()
        self._seen: OrderedDict[Place, Seen] = OrderedDict()

    def __len__(self) -> int:
        return len(self._seen)

    def seen(self, place: Place) -> Seen | None:
        with self._lock:
            found = self._seen.get(place)
            if found:
                self._seen.move_to_end(place)
            return found

    def note(self, place: Place, entry: Entry) -> None:
        """The entry was got or set; of two answers about one entry the later version holds."""
        fresh = Seen(entry.id, entry.version, str(entry.get("memory_type", "")), entry.task_id)
        with self._lock:
            known = self._seen.get(place)
            if known and known.id == fresh.id and known.version > fresh.version:
                return
            self._seen[place] = fresh
            self._seen.move_to_end(place)
            while len(self._seen) > self._most:
                self._seen.popitem(last=False)

    def forget(self, place: Place, entry_id: str) -> None:
        """That entry is gone."""
        with self._lock:
            known = self._seen.get(place)
            if known and known.id == entry_id:
                del self._seen[place]
