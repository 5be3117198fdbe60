"""What a page says when somebody was faster: what is different from what the operator read, and where to see it."""

from dataclasses import dataclass
from urllib.parse import urlencode

from django.urls import reverse

from memory.host import ids
from memory.host.errors import Conflict
from proposals.models import GateState
from proposals.review import Detail


@dataclass(frozen=True, slots=True)
class News:
    """The refusal in words, what has changed since, and the address of the difference ("" when there is none)."""

    title: str
    changes: list[str]
    compare_url: str
    compare: str


def news(conflict: Conflict, told: Detail, *, read: int) -> News:
    """What came since revision ``read`` was read."""
    changes = [
        f"Revision {each.number} arrived ({_lines(each.lines_added)} added, {each.lines_removed} removed), "
        f"with the digest {each.sha256}."
        for each in reversed(told.revisions)
        if each.number > read
    ]
    moved = read < told.current.number
    url = reverse("proposal", args=[ids.wire("prop", told.proposal.id)])
    query = urlencode({"from": read, "to": told.current.number})
    return News(
        _title(conflict, told, read),
        [*changes, *_of_gate(told, read)],
        f"{url}?{query}" if moved else "",
        f"Compare revision {read} with {told.current.number}" if moved else "",
    )


def _lines(count: int) -> str:
    return f"{count:,} line{'' if count == 1 else 's'}"


def _title(conflict: Conflict, told: Detail, read: int) -> str:
    if read < told.current.number:
        return f"Revision {told.current.number} arrived while you read revision {read}"
    return conflict.message


def _of_gate(told: Detail, read: int) -> list[str]:
    if not told.under_review:
        return [f"The proposal is {told.proposal.state} now."]
    gate = told.gate
    if gate is None:
        void = told.last is not None and told.last.gate.state == GateState.VOID
        return ["No gate is under way now." + (" The last one is void." if void else "")]
    return [f"The gate is about revision {gate.revision}."] if gate.revision != read else []
