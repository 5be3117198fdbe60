"""Bulk rejection and archiving of inbox proposals: a selection by id, or all that match a filter.

Pages carry a selection as a signed text, so that exactly what was confirmed is done. A selection by filter is refused
when the filter matches other proposals by then.
"""

import base64
from collections.abc import Collection, Iterable
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.core import signing

from memory.host import ids
from memory.host.errors import Conflict, Unprocessable
from memory.host.json_types import JSONObject
from memory.host.tenancy import TenantScope
from proposals import inbox, lifecycle, rules
from proposals.inbox import InboxFilter, Row
from proposals.models import Proposal

SALT = "proposals.selection"
ACTIONS = ("reject", "archive")
MOST = lifecycle.MOST_AT_ONCE
CHANGED = "The matching proposals have changed since you selected them. Nothing was changed."


@dataclass(frozen=True, slots=True)
class Selection:
    """The selected proposals; ``wanted`` is the filter they were selected by, or None."""

    ids: tuple[UUID, ...]
    wanted: InboxFilter | None = None


@dataclass(frozen=True, slots=True)
class Drift:
    """The proposals that a selection's filter now matches in addition (``came``) and no longer (``went``)."""

    came: list[UUID]
    went: list[UUID]

    def __bool__(self) -> bool:
        return bool(self.came or self.went)


@dataclass(frozen=True, slots=True)
class Plan:
    """The rows to end, the obstacles to some of them by id, and the ids that do not exist (``missing``)."""

    rows: list[Row]
    obstacles: dict[UUID, str]
    missing: list[UUID]

    @property
    def possible(self) -> list[UUID]:
        return [row.proposal.id for row in self.rows if row.proposal.id not in self.obstacles]

    @property
    def stands(self) -> bool:
        return not self.obstacles and not self.missing


def select_ids(texts: Iterable[str]) -> Selection:
    """The proposals with these wire ids, each once."""
    found = [ids.parse("prop", text) for text in texts]
    if None in found:
        raise Unprocessable("That is not a selection of proposals.", errors=[{"field": "id", "message": "is no id"}])
    return _bounded(tuple(dict.fromkeys(each for each in found if each)))


def all_matching(scope: TenantScope, wanted: InboxFilter, *, now: datetime) -> Selection | None:
    """Select every proposal that matches now; None for no match, and for more than ``MOST``."""
    found = inbox.ids_matching(scope, wanted, limit=MOST + 1, now=now)
    return Selection(tuple(found), wanted) if 0 < len(found) <= MOST else None


def _bounded(chosen: tuple[UUID, ...]) -> Selection:
    if not chosen:
        raise Unprocessable("Choose at least one proposal.", errors=[{"field": "id", "message": "is not given"}])
    if len(chosen) > MOST:
        message = f"At most {MOST} proposals are ended at once. Narrow the filter, or choose fewer."
        raise Unprocessable(message, errors=[{"field": "id", "message": f"must be 1 to {MOST}"}])
    return Selection(chosen)


def seal(scope: TenantScope, selection: Selection) -> str:
    """The selection as a signed text that only this principal can unseal."""
    packed = base64.b64encode(b"".join(each.bytes for each in selection.ids)).decode()
    wanted = asdict(selection.wanted) if selection.wanted else None
    return signing.dumps({"for": _owner(scope), "ids": packed, "wanted": wanted}, salt=SALT, compress=True)


def unseal(scope: TenantScope, text: str) -> Selection:
    """The selection in a sealed text; refused when it was sealed for another principal or tampered with."""
    document = _read(text)
    if document.get("for") != _owner(scope):
        errors = [{"field": "chosen", "message": "is not as this console signed it for you"}]
        raise Unprocessable("That is not your selection. Choose again.", errors=errors)
    packed = base64.b64decode(document["ids"])
    chosen = tuple(UUID(bytes=packed[at : at + 16]) for at in range(0, len(packed), 16))
    return Selection(chosen, _filter(document["wanted"]) if document["wanted"] else None)


def _read(text: str) -> JSONObject:
    try:
        document: JSONObject = signing.loads(text, salt=SALT)
    except signing.BadSignature:
        return {}
    return document


def _filter(document: JSONObject) -> InboxFilter:
    fields: dict[str, Any] = {name: tuple(each) if isinstance(each, list) else each for name, each in document.items()}
    return InboxFilter(**fields)


def _owner(scope: TenantScope) -> str:
    return f"{scope.tenant_id.hex}/{scope.principal.id}"


def drift(scope: TenantScope, selection: Selection, *, now: datetime) -> Drift:
    """The change in the filter's matches since the selection was made; a selection by id does not drift."""
    if selection.wanted is None:
        return Drift([], [])
    found = inbox.ids_matching(scope, selection.wanted, limit=2 * MOST, now=now)
    return Drift(_without(found, selection.ids), _without(selection.ids, found))


def _without(some: Iterable[UUID], others: Collection[UUID]) -> list[UUID]:
    left_out = set(others)
    return [each for each in some if each not in left_out]


def plan(scope: TenantScope, action: str, selection: Selection, *, now: datetime) -> Plan:
    """Plan the action without changing anything; refuses an action other than reject or archive."""
    if action not in ACTIONS:
        errors = [{"field": "action", "message": "must be reject or archive"}]
        raise Unprocessable("Only rejecting and archiving is done in bulk.", errors=errors)
    scope.check(rules.scope_for(action))
    rows = inbox.chosen(scope, selection.ids, now=now)
    refused = {row.proposal.id: _refusal(scope, action, row, now) for row in rows}
    obstacles = {each: why for each, why in refused.items() if why}
    return Plan(rows, obstacles, _without(selection.ids, [row.proposal.id for row in rows]))


def _refusal(scope: TenantScope, action: str, row: Row, now: datetime) -> str:
    refusal = rules.refusal_to(action, scope, row.proposal, row.under_way, now=now)
    return refusal.message if refusal else ""


def end(scope: TenantScope, action: str, selection: Selection, *, reason: str, now: datetime) -> list[Proposal]:
    """Reject or archive all of the selection or none; refused when its filter now matches other proposals."""
    changed = drift(scope, selection, now=now)
    if changed:
        came, went = ([ids.wire("prop", each) for each in some] for some in (changed.came, changed.went))
        raise Conflict(CHANGED, action=action, came=came, went=went)
    return lifecycle.end_many(scope, action, selection.ids, reason=reason, now=now)
