"""The registration point of the discovery document: what this host advertises, for pages that explain it.

The top floor composes the document and provides it here; a page below shows that very document, so both are one.
"""

from collections.abc import Callable, Mapping
from typing import Any

Document = Mapping[str, Any]

_provided: list[Callable[[], Document]] = []


def provide(function: Callable[[], Document]) -> None:
    """``function`` gives the document from now on; called once, from the ``apps.py`` of the top floor."""
    _provided[:] = [function]


def document() -> Document:
    """What the host advertises; empty before anybody provided it, and then nothing is claimed."""
    return _provided[0]() if _provided else {}
