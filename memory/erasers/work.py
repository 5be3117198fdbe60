"""Agents, intents, tasks, coordinators, grants and namespaces as stores of a forget: every text that they keep.

A row stays what it is to the others: an id that named the subject is replaced by one that nobody else has, and a list
loses the item. Their writers stand on a higher floor and are handed in by ``apps``.
"""

from collections.abc import Callable
from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models import CharField, JSONField, TextField

from memory.erasers.kept_values import RowByRow
from memory.host.erasure import Identifiers
from memory.matching import Rule, mentioned_in
from memory.models import Agent, Assignment, Coordinator, Grant, Intent, Namespace, Task

Keep = Callable[..., None]
IDS = frozenset({"agent_id", "assigned_agent", "created_by", "granted_by"})
STORES = (
    ("agents", Agent),
    ("assignments", Assignment),
    ("coordinators", Coordinator),
    ("grants", Grant),
    ("intents", Intent),
    ("namespaces", Namespace),
    ("tasks", Task),
)


class WorkValues(RowByRow):
    """One of these tables, in all columns that hold words."""

    def __init__(self, store: str, table: Any, keep: Keep) -> None:
        fields = [each for each in table._meta.concrete_fields if isinstance(each, CharField | TextField | JSONField)]
        self.store = store
        self.table = table  # type: ignore[misc]  # one class for seven tables
        self.columns = tuple(each.attname for each in fields if not each.choices)  # type: ignore[misc]
        self._keep = keep

    @transaction.atomic
    def erase_one(self, tenant_id: UUID, row_id: UUID, subject: Identifiers, rule: Rule) -> bool:
        row = self.table.objects.of(tenant_id).select_for_update().filter(id=row_id).first()
        changed = self.cleaned(row, subject, rule) if row else {}
        for name in changed:
            before = getattr(row, name)
            if self._is_id(name):
                changed[name] = f"forgotten-{row.id.hex}"
            elif isinstance(before, list):
                changed[name] = [each for each in before if not mentioned_in(subject.terms, each, rule)]
        if changed:
            self._keep(row, **changed)
        return bool(changed)

    def _is_id(self, name: str) -> bool:
        return name in IDS or (self.table is Namespace and name == "name")


def stores(keep_work: Keep, keep_namespace: Keep) -> list[WorkValues]:
    """One store for each table."""
    return [WorkValues(store, table, keep_namespace if table is Namespace else keep_work) for store, table in STORES]
