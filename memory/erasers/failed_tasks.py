"""Tasks that failed in a worker as a store of a forget: what they were given, and the error as it was said."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from django_q.models import Task

from memory.host.erasure import Holding, Identifiers, Remains
from memory.matching import Mention, counted, mention


class FailedTasks:
    """An error may quote what it stumbled over. One that names the subject goes whole. The queue has no tenants, so
    those of a tenant are the ones that were given its id. One that was given nothing did the work of every tenant: it
    goes when it certainly names the subject, and is shown to no tenant."""

    store = "failed tasks"
    covers: Mapping[str, tuple[str, ...]] = {"django_q_task": ("args", "kwargs", "result")}

    def find(self, tenant_id: UUID, subject: Identifiers) -> Holding:
        found = {row: how for row, how in _mentions(tenant_id, subject) if how}
        exact = tuple(row for row, how in found.items() if how is Mention.EXACT)
        return Holding(self.store, exact, tuple(row for row in found if row not in exact))

    def texts(self, tenant_id: UUID, rows: Sequence[UUID]) -> dict[UUID, list[str]]:
        wanted = set(rows)
        return {row: [said] for row, said, is_own in _said(tenant_id) if row in wanted and is_own}

    def found_in(self, tenant_id: UUID, rows: Sequence[UUID]) -> dict[UUID, str]:
        return {}

    def erase(
        self, tenant_id: UUID, subject: Identifiers, rows: tuple[UUID, ...], *, ticked: bool, now: datetime
    ) -> int:
        return int(Task.objects.filter(id__in=[row.hex for row in rows]).delete()[0])

    def remains(
        self, tenant_id: UUID, subject: Identifiers, *, chosen: frozenset[UUID], spared: frozenset[UUID]
    ) -> Remains:
        return counted(_mentions(tenant_id, subject), chosen, spared)


def _mentions(tenant_id: UUID, subject: Identifiers) -> Iterable[tuple[UUID, Mention]]:
    for row, said, is_own in _said(tenant_id):
        how = mention(subject.terms, said)
        yield row, how if is_own or how is Mention.EXACT else Mention.NONE


def _said(tenant_id: UUID) -> Iterable[tuple[UUID, str, bool]]:
    """What every task of the tenant and of none says, and whether it is the tenant's own."""
    rows: Iterable[Any] = Task.objects.order_by("id").values_list("id", "args", "kwargs", "result").iterator()
    for row, args, kwargs, result in rows:
        is_own = tenant_id.hex in map(str, args or ())
        if is_own or not args:
            yield UUID(hex=row), f"{args} {kwargs} {result}", is_own


FAILED_TASKS = FailedTasks()
