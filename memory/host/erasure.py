"""The registry of erasers, one per store: each finds what it holds of a subject, and erases it.

``memory.forget.execution`` runs them; an app that stores personal text registers its eraser from its ``apps.py``.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Protocol, runtime_checkable
from uuid import UUID

from memory.host.registrations import Registrations

ENTRIES = "memory entries"


@dataclass(frozen=True, slots=True)
class EarlierLook:
    """The result of an earlier search of the entries, at the ledger's change ``position``.

    A later one searches what was written since, and checks which of these rows still exist.
    """

    position: int
    exact: tuple[UUID, ...]
    suspected: tuple[UUID, ...]


@dataclass(frozen=True, slots=True)
class Identifiers:
    """The names of one subject, each casefolded and NFKC-normalised by ``memory.forget.plans``.

    Each search has its own instance: stores that need the same scan share its result in ``seen``, by the name of what
    was scanned, so that a large table is scanned once per search and not once per store.
    """

    terms: tuple[str, ...]
    earlier: EarlierLook | None = None
    seen: dict[str, Any] = field(default_factory=dict, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Holding:
    """What a store holds: rows to erase, rows to choose from, and the number of rows that stay, with the reason.

    ``looked`` is what a store can tell by, without another search, that it still holds the same (``Rechecked``).
    """

    store: str
    erase: tuple[UUID, ...] = ()
    suspected: tuple[UUID, ...] = ()
    stays: int = 0
    stays_because: str = ""
    looked: tuple[tuple[str, ...], ...] = ()


@dataclass(frozen=True, slots=True)
class Remains:
    """The result of a second search: rows that should be gone and are ``left``, and suspected rows without a
    decision."""

    left: int = 0
    undecided: int = 0
    stays: int | None = None  # how many stay, when they were counted again
    stays_because: str = ""


class Eraser(Protocol):
    """One store. ``remains`` searches by another path than ``find``, and is the evidence for a receipt."""

    store: str

    @property
    def covers(self) -> Mapping[str, tuple[str, ...]]:
        """The text columns that it searches, by table."""

    def find(self, tenant_id: UUID, subject: Identifiers) -> Holding: ...

    def texts(self, tenant_id: UUID, rows: Sequence[UUID]) -> dict[UUID, list[str]]:
        """Return the text of these rows for the person who decides about them, without values that are never shown."""

    def found_in(self, tenant_id: UUID, rows: Sequence[UUID]) -> dict[UUID, str]:
        """Return the wire ids of the objects that these rows belong to, where those have a page."""

    def erase(
        self, tenant_id: UUID, subject: Identifiers, rows: tuple[UUID, ...], *, ticked: bool, now: datetime
    ) -> int:
        """Remove the subject from ``rows`` and return how many were changed or deleted.

        In ``ticked`` rows every mention is removed.
        """

    def remains(
        self, tenant_id: UUID, subject: Identifiers, *, chosen: frozenset[UUID], spared: frozenset[UUID]
    ) -> Remains: ...


@runtime_checkable
class Rechecked(Protocol):
    """A store that compares what it holds with an earlier search, exactly and in less time than another search."""

    def is_as_found(self, tenant_id: UUID, subject: Identifiers, looked: Sequence[Sequence[str]]) -> bool: ...


@runtime_checkable
class Portioned(Protocol):
    """A store in which neighbouring rows share what their removal rewrites."""

    def portion(self, tenant_id: UUID, rows: Sequence[UUID]) -> int:
        """Return how many of ``rows`` to erase in one transaction that has no room for the last."""


class Kept(ABC):
    """The base of stores that erase nothing; ``find`` counts the rows that stay, with the reason."""

    @abstractmethod
    def find(self, tenant_id: UUID, subject: Identifiers) -> Holding: ...

    def texts(self, tenant_id: UUID, rows: Sequence[UUID]) -> dict[UUID, list[str]]:
        return {}

    def found_in(self, tenant_id: UUID, rows: Sequence[UUID]) -> dict[UUID, str]:
        return {}

    def erase(
        self, tenant_id: UUID, subject: Identifiers, rows: tuple[UUID, ...], *, ticked: bool, now: datetime
    ) -> int:
        return 0

    def remains(
        self, tenant_id: UUID, subject: Identifiers, *, chosen: frozenset[UUID], spared: frozenset[UUID]
    ) -> Remains:
        """Count again, since rows written after the preview stay as well."""
        found = self.find(tenant_id, subject)
        return Remains(stays=found.stays, stays_because=found.stays_because)


def find_going(eraser: Eraser, tenant_id: UUID, subject: Identifiers) -> Holding:
    """Return what may be erased of a store. A ``Kept`` one, which may be as long as the event log, is not searched."""
    return Holding(eraser.store) if isinstance(eraser, Kept) else eraser.find(tenant_id, subject)


_erasers: Registrations[str, Eraser] = Registrations()


def register(eraser: Eraser) -> None:
    """Include ``eraser`` in every forget."""
    _erasers[eraser.store] = eraser


def registered() -> list[Eraser]:
    """Return every eraser, by store name."""
    return [_erasers[store] for store in sorted(_erasers)]
