"""The registration point of erasers: each store says what it holds of a subject, and removes it.

``memory.forget.forgetting`` drives them; an app that keeps personal text registers its eraser from its ``apps.py``.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Protocol
from uuid import UUID

from memory.host.registrations import Registrations

ENTRIES = "memory entries"


@dataclass(frozen=True, slots=True)
class EarlierLook:
    """What a look at the entries found when the ledger's last change was ``position``: a later one goes through what
    was written since, and sees what is still there of this."""

    position: int
    exact: tuple[UUID, ...]
    suspected: tuple[UUID, ...]


@dataclass(frozen=True, slots=True)
class Identifiers:
    """The names of one subject, each casefolded and NFKC-normalised by ``memory.forget.forgetting``.

    One instance stands for one look: stores that need the same search keep its result in ``seen``, by the name of what
    was searched, so that a large table is gone through once a look and not once a store.
    """

    terms: tuple[str, ...]
    earlier: EarlierLook | None = None
    seen: dict[str, Any] = field(default_factory=dict, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Holding:
    """What a store holds: rows to erase, rows to choose from, and what stays, with the reason in words."""

    store: str
    erase: tuple[UUID, ...] = ()
    suspected: tuple[UUID, ...] = ()
    stays: int = 0
    stays_because: str = ""


@dataclass(frozen=True, slots=True)
class Remains:
    """What a second look found: rows that had to go and are ``left``, and suspected ones nobody has decided about."""

    left: int = 0
    undecided: int = 0
    stays: int | None = None  # how many stay, when that was counted anew
    stays_because: str = ""


class Eraser(Protocol):
    """One store. ``remains`` looks by another path than ``find``, and is what a receipt rests on."""

    store: str

    @property
    def covers(self) -> Mapping[str, tuple[str, ...]]:
        """The columns with text that it looks through, by table."""

    def find(self, tenant_id: UUID, subject: Identifiers) -> Holding: ...

    def texts(self, tenant_id: UUID, rows: Sequence[UUID]) -> dict[UUID, list[str]]:
        """What these rows say, for a person who decides about them; nothing of what is shown to nobody."""

    def found_in(self, tenant_id: UUID, rows: Sequence[UUID]) -> dict[UUID, str]:
        """The wire ids of what these rows are or belong to, as far as that has a page."""

    def erase(
        self, tenant_id: UUID, subject: Identifiers, rows: tuple[UUID, ...], *, ticked: bool, now: datetime
    ) -> int:
        """``rows`` name the subject no more; how many were changed or are gone. Of ``ticked`` ones every mention
        goes."""

    def remains(
        self, tenant_id: UUID, subject: Identifiers, *, chosen: frozenset[UUID], spared: frozenset[UUID]
    ) -> Remains: ...


class Kept(ABC):
    """The part of a store of which nothing is erased; its ``find`` counts what stays, and says why."""

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
        """Counted anew: what was written since the preview stays as well."""
        found = self.find(tenant_id, subject)
        return Remains(stays=found.stays, stays_because=found.stays_because)


def find_going(eraser: Eraser, tenant_id: UUID, subject: Identifiers) -> Holding:
    """What may go of a store. Nothing goes of a kept one, which may be as long as the event log: it is not gone
    through."""
    return Holding(eraser.store) if isinstance(eraser, Kept) else eraser.find(tenant_id, subject)


_erasers: Registrations[str, Eraser] = Registrations()


def register(eraser: Eraser) -> None:
    """``eraser`` takes part in every forget from now on."""
    _erasers[eraser.store] = eraser


def registered() -> list[Eraser]:
    """Every eraser, in the order of the stores' names."""
    return [_erasers[store] for store in sorted(_erasers)]
