"""What a new version of an artifact would change, in words and by its kind: what a reviewer reads before the lines.

Permissions and tools come first, then what is lost, what is different, and what is worth knowing. Names out of an
artifact are somebody's text; they are shortened, and shown as text.
"""

import json
from collections.abc import Callable, Iterable
from datetime import datetime
from typing import Any

from proposals.models import Kind
from proposals.summaries import agents, automations, chains, prompts
from proposals.summaries.lines import CHANGE, GAIN, LOSS, NOTE, Line, Summary, change, note, ordered

__all__ = ["CHANGE", "GAIN", "LOSS", "NOTE", "Line", "Summary", "change", "summary"]

Document = dict[str, Any]
Comparison = Callable[[Document, Document], list[Line]]

_COMPARISONS: dict[str, Comparison] = {
    Kind.PROMPT_TEMPLATE: prompts.compare,
    Kind.AGENT_PACK: agents.compare,
    Kind.WORKFLOW_CHAIN_PACK: chains.compare,
    Kind.AUTOMATION: automations.compare,
}


def summary(kind: str, old_text: str, new_text: str, *, also: Iterable[Line] = (), now: datetime) -> Summary:
    """The summary of the change from ``old_text``, empty when there is nothing yet, to ``new_text``.

    ``also`` is what is to be said beside what the texts say. ``ticks`` are the next five of what would tick. A text
    that is no artifact of its kind is said to be none.
    """
    old, new = _read(old_text), _read(new_text)
    if new is None or (old_text and old is None):
        return Summary((note("One of the two is not an artifact that can be read."),))
    try:
        lines = _COMPARISONS[kind](old or {}, new)
        ticks = automations.ticks_of(new, now) if kind == Kind.AUTOMATION else ()
    except (LookupError, TypeError, ValueError, AttributeError):
        return Summary((note("One of the two is not a valid artifact of its kind."),))
    if old_text and not lines:
        lines = [note("The two do the same.")]
    return Summary(ordered([*also, *lines]), ticks)


def _read(text: str) -> Document | None:
    try:
        document = json.loads(text) if text else {}
    except (ValueError, RecursionError):
        return None
    return document if isinstance(document, dict) else None
