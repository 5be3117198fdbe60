"""Conditions on addresses, asked in the database: whether one entry meets one, which rule of a list is an agent's."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db.models import CharField, Count, F, Func, Q, QuerySet, TextField, Value
from django.db.models.functions import Cast, Concat, Replace

from memory.host import sql
from memory.models.address import EntryAddress


def wire(prefix: str, column: str) -> Concat:
    """The id in ``column`` as it stands on the wire, and so in the scope of an address."""
    digits = Replace(Cast(column, TextField()), Value("-"), Value(""), output_field=TextField())
    return Concat(Value(f"{prefix}_"), digits, output_field=TextField())


class AccessOf(Func):
    """The access that a list of ``{"agent", "access"}`` gives one agent; null when no rule names it."""

    output_field = CharField()

    def __init__(self, rules: str, agent_id: str) -> None:
        super().__init__(F(rules), Value(agent_id, output_field=TextField()))

    def as_sqlite(self, compiler: Any, connection: Any, **more: Any) -> tuple[str, tuple[str | int, ...]]:
        return self.as_sql(
            compiler,
            connection,
            template="(SELECT json_extract(rule.value, '$.access') FROM json_each(%(expressions)s LIMIT 1)",
            arg_joiner=") AS rule WHERE json_extract(rule.value, '$.agent') = ",
            **more,
        )

    def as_postgresql(self, compiler: Any, connection: Any, **more: Any) -> tuple[str, tuple[str | int, ...]]:
        return self.as_sql(
            compiler,
            connection,
            template="(SELECT rule.value ->> 'access' FROM jsonb_array_elements(%(expressions)s LIMIT 1)",
            arg_joiner=") AS rule(value) WHERE rule.value ->> 'agent' = ",
            **more,
        )


def meets(row: EntryAddress, condition: Q) -> bool:
    """Whether the entry is among those that the condition is true of."""
    return bool(EntryAddress.objects.of(row.tenant_id).filter(condition, id=row.id).exists())


def meeting(tenant_id: UUID, entries: Sequence[UUID], condition: Q) -> list[UUID]:
    """Those of the entries that the condition is true of, in their order."""
    rows = EntryAddress.objects.of(tenant_id).filter(condition)
    found = {row for part in sql.in_chunks(entries) for row in rows.filter(id__in=part).values_list("id", flat=True)}
    return [row for row in entries if row in found]


def shared_counts(tenant_id: UUID, names: "QuerySet[Any] | Sequence[str]", *, now: datetime) -> dict[str, int]:
    """How many live entries each of these namespaces of semantic memory holds; one that holds none is left out."""
    rows = EntryAddress.objects.of(tenant_id).live(now).filter(tier="semantic", namespace__in=names)
    return dict(rows.values("namespace").annotate(entries=Count("id")).values_list("namespace", "entries"))
