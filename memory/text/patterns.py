"""Patterns that are compiled when they are first used.

A large one takes up to a third of a second of CPU and 150 small ones 90 ms, and most processes read no text that needs
one. Together they were a third of the start of a web process, a worker or a command that loads the passes.
"""

import re
from typing import Any, cast


def late(pattern: str, flags: int = 0) -> re.Pattern[str]:
    """The same as ``re.compile``, which it calls at the first use."""
    return cast("re.Pattern[str]", _Late(pattern, flags))


class _Late:
    """Takes each attribute of the compiled pattern over when it is first asked for."""

    def __init__(self, *source: Any) -> None:
        self._source = source

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        if name == "_compiled":
            found: Any = re.compile(*self._source)
        else:
            found = getattr(self._compiled, name)
        setattr(self, name, found)
        return found
