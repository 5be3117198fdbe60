"""The registration point of installers: what it means that an artifact of some kind is what runs resolve.

A kind without an installer is not installable, and not advertised. The floors above bring them from their ``apps.py``;
``proposals.installation`` asks here. An artifact itself is stored as it was approved; its parts are worked out from it.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from memory.host.models import Installation
from memory.host.registry import Artifact

Document = Mapping[str, Any]
Problems = list[tuple[str, str]]


def _no_problems(_tenant_id: UUID, _document: Document) -> Problems:
    return []


def _nothing_untimely(_document: Document, _now: datetime) -> Problems:
    return []


def _no_parts(_document: Document) -> Sequence[Artifact]:
    return ()


def _nothing(_installation: Installation, _now: datetime) -> None:
    """Nothing is to be done beside the rows of the registry."""


@dataclass(frozen=True, slots=True)
class Installer:
    """What a kind brings. ``named`` is the name and the version of a document that is valid by its schema.

    ``problems`` are what this host could not carry out in that tenant, each a path inside the artifact
    (``$.chains[0]``) and a sentence without a word of the artifact; ``untimely`` are those that only a time has.
    ``parts`` is what runs resolve of it, when that is not the artifact itself. ``came`` and ``went`` are called, in the
    transaction, when a version becomes current or is enabled again, and when it ceases to be current; ``stopped``
    when it is disabled.
    """

    kind: str
    named: Callable[[Document], tuple[str, str]]
    problems: Callable[[UUID, Document], Problems] = _no_problems
    parts: Callable[[Document], Sequence[Artifact]] = _no_parts
    came: Callable[[Installation, datetime], None] = _nothing
    went: Callable[[Installation, datetime], None] = _nothing
    stopped: Callable[[Installation, datetime], None] = _nothing
    untimely: Callable[[Document, datetime], Problems] = _nothing_untimely


_installers: dict[str, Installer] = {}


def register(installer: Installer) -> None:
    """Artifacts of this kind are installable from now on."""
    _installers[installer.kind] = installer


def installer_of(kind: str) -> Installer | None:
    """Who installs artifacts of this kind, or None: then nobody does."""
    return _installers.get(kind)


def kinds() -> list[str]:
    """The kinds that are really installed, in the order of their names."""
    return sorted(_installers)
