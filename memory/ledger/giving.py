"""What somebody gives for an entry with an address, made fit to be stored: without a secret, in its place (SR-1).

What is text is redacted. What names an agent, a task or an intent is an id that must not change, and is refused.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any
from uuid import UUID

from memory import addresses, harness, redaction
from memory.addresses import Address
from memory.drafts import EntryDraft
from memory.host import tenancy
from memory.host.errors import Invalid
from memory.host.tenancy import MemoryScope, TenantScope
from memory.redaction import Redactor

ACTOR = "X-Agent-ID"
# The columns that name somebody or something, and the fields in which a client says so.
NAMES = {
    "agent_id": "agent_id",
    "task_id": "scope.task_id",
    "intent_id": "scope.intent_id",
    "created_by": ACTOR,
    "curated_by": ACTOR,
}


@dataclass(frozen=True, slots=True)
class Given:
    """An entry as somebody wants it: all of it, at creation and after a change alike."""

    address: Address
    value: dict[str, Any]
    tags: tuple[str, ...] = ()
    expires_at: datetime | None = None


class _Counting:
    """A redactor that counts what it has replaced."""

    def __init__(self, redactor: Redactor) -> None:
        self._redactor, self.count = redactor, 0

    def text(self, text: str) -> str:
        found = self._redactor.redact(text)
        self.count += found.count
        return found.text


def redacted(redactor: Redactor, given: Given, *, actor: str, names: bool) -> tuple[Given, int]:
    """Without any secret of the tenant, and how many places were replaced: no run stands behind the entry that could
    say which ones it knows. Refuses an ``actor``, and with ``names`` an address, that names somebody by a secret."""
    _require_plain(redactor, ACTOR, actor)
    for name, field in NAMES.items() if names else ():
        _require_plain(redactor, field, getattr(given.address, name))
    counting = _Counting(redactor)
    namespace, key = (counting.text(text) for text in (given.address.namespace, given.address.key))
    address = replace(given.address, namespace=namespace, key=key)
    tags = tuple(counting.text(tag) for tag in given.tags)
    value = redaction.in_strings(given.value, counting.text)
    return replace(given, address=address, value=value, tags=tags), counting.count


def kept_addresses(tenant_id: UUID, given: Sequence[Address]) -> list[Address]:
    """Where entries given there stand: their names without any secret of the tenant."""
    redactor = harness.for_tenant(tenant_id)
    return [
        replace(each, namespace=redactor.redact(each.namespace).text, key=redactor.redact(each.key).text)
        for each in given
    ]


def has_mark(given: Given) -> bool:
    """Whether something of it was replaced earlier."""
    texts = (addresses.canonical(given.value), given.address.namespace, given.address.key, *given.tags)
    return any(redaction.MARK in text for text in texts)


def _require_plain(redactor: Redactor, field: str, name: str) -> None:
    """Refuse a secret as a name; which one it is is not said again."""
    if redactor.redact(name).count:
        problem = {"field": field, "message": "holds a secret of the vault, which no id may"}
        raise Invalid("The memory entry cannot be stored.", errors=[problem])


def place_of(scope: TenantScope, address: Address) -> MemoryScope:
    """Where it stands among all that is remembered; refused when its names do not fit there."""
    if max(len(address.namespace), len(address.key)) > addresses.MAX_NAME:
        message = f"is longer than {addresses.MAX_NAME} characters once its secrets are replaced"
        raise Invalid("The memory entry cannot be stored.", errors=[{"field": "key", "message": message}])
    place = tenancy.place_of(scope, address.memory_ref)
    if place is None:
        problem = {"field": "namespace", "message": "cannot be part of a memory ref"}
        raise Invalid("The memory entry cannot be stored.", errors=[problem])
    return place


def draft_of(given: Given) -> EntryDraft:
    """The entry as the ledger stores all entries."""
    address = given.address
    return EntryDraft(
        content=addresses.kept_form(address, given.value),
        tags=given.tags,
        agent_id=address.agent_id,
        expires_at=given.expires_at,
        findable=(address.namespace, address.key),
    )
