"""What an update makes of an entry (RFC-0015 3.2, R47): the fields that it names are replaced whole, the rest stays."""

from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

from memory import addresses, ledger
from memory.addresses import PRIORITIES, Address, Tier
from memory.agent_memory import lifetimes
from memory.host.errors import Invalid
from memory.ledger import Given

if TYPE_CHECKING:
    from memory.models.address import EntryAddress

MUTABLE = ("value", "tags", "pinned", "priority", "sensitivity", "ttl", "expires_at")
OF_ADDRESS = ("pinned", "priority", "sensitivity", "ttl")


def given_of(row: "EntryAddress") -> Given:
    """The entry as it stands, in the form in which somebody would give it."""
    address = Address(
        tier=Tier(row.tier),
        agent_id=row.agent_id,
        namespace=row.namespace,
        key=row.key,
        task_id=row.task_id,
        intent_id=row.intent_id,
        pinned=row.pinned,
        priority=PRIORITIES[row.priority],
        sensitivity=row.sensitivity,
        ttl=row.ttl,
        created_by=row.created_by,
        curated_by=row.curated_by,
    )
    return Given(address, ledger.value_of(row), tuple(row.entry.tags), row.entry.expires_at)


def applied(before: Given, named: dict[str, Any], *, created_at: datetime, now: datetime) -> Given:
    """The entry with the ``named`` ones of ``MUTABLE`` in the place of its own."""
    address = replace(before.address, **{name: named[name] for name in OF_ADDRESS if name in named})
    return Given(
        address,
        named.get("value", before.value),
        tuple(named.get("tags", before.tags)),
        _end(before, named, address.ttl, created_at, now),
    )


def same(one: Given, other: Given) -> bool:
    """Whether nothing is different to a reader of JSON: ``1`` and ``true`` are two values, ``1`` and ``1.0`` one."""
    alike = addresses.canonical(one.value) == addresses.canonical(other.value)
    return alike and replace(one, value={}) == replace(other, value={})


def _end(before: Given, named: dict[str, Any], ttl: str, created_at: datetime, now: datetime) -> datetime | None:
    """When the entry ends: as it is told; else by its ``ttl``, which begins anew when it is given anew (C13)."""
    if named.get("expires_at"):
        end: datetime = named["expires_at"]
        return end
    if "ttl" in named and ("expires_at" in named or _ends_by_itself(before)):
        return lifetimes.end_of(ttl, now)
    return _by_itself(ttl, created_at, now) if "expires_at" in named else before.expires_at


def _by_itself(ttl: str, created_at: datetime, now: datetime) -> datetime | None:
    """The end by a lifetime that counts from the beginning; refused when that is over, and only a told end held it."""
    end = lifetimes.end_of(ttl, created_at)
    if end is not None and end <= now:
        message = "has run out since the entry was made; it counts from now when it is given again"
        raise Invalid("The entry would end at once.", errors=[{"field": "ttl", "message": message}])
    return end


def _ends_by_itself(given: Given) -> bool:
    """Whether no end was told beside the lifetime, as far as one can see."""
    return given.expires_at is None or given.address.ttl.startswith(lifetimes.DURATION)
