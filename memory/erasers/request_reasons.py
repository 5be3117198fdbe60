"""Reasons of earlier forget requests as a store of a forget: none may name its own subject, but it may name another."""

from collections.abc import Callable
from typing import ClassVar
from uuid import UUID

from django.db import transaction

from memory.erasers.kept_values import RowByRow
from memory.host.erasure import Identifiers
from memory.matching import Rule
from memory.models import ForgetRequest


class RequestReasons(RowByRow):
    """Their writer stands on a higher floor and is handed in by ``apps``."""

    store = "reasons of forget requests"
    table = ForgetRequest
    columns: ClassVar[tuple[str, ...]] = ("reason",)

    def __init__(self, keep: Callable[..., None]) -> None:
        self._keep = keep

    @transaction.atomic
    def erase_one(self, tenant_id: UUID, row_id: UUID, subject: Identifiers, rule: Rule) -> bool:
        row = ForgetRequest.objects.of(tenant_id).select_for_update().filter(id=row_id).first()
        changed = self.cleaned(row, subject, rule) if row else {}
        if changed:
            self._keep(row, **changed)
        return bool(changed)
