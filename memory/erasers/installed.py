"""Installed artifacts as a store of a forget: they stay, and the receipt says how many name the subject. Why one is
disabled is erased.

What is installed is what runs execute, byte for byte; it is changed by installing another version, through the gate.
"""

from collections.abc import Mapping
from typing import ClassVar
from uuid import UUID

from django.db import transaction

from memory.erasers.kept_values import RowByRow
from memory.host import registry
from memory.host.erasure import Holding, Identifiers, Kept
from memory.host.models import Installation
from memory.matching import Rule, is_mentioned

BECAUSE = (
    "Installed workflows, agents and prompts are what runs execute; install a version without the subject instead."
)


class InstalledArtifacts(Kept):
    """Workflows, agents and prompt templates; nothing of them is erased."""

    store = "installed artifacts"
    covers: Mapping[str, tuple[str, ...]] = {"host_installation": ("text",), "host_definition": ("text",)}

    def find(self, tenant_id: UUID, subject: Identifiers) -> Holding:
        texts = registry.texts_of(tenant_id)
        stays = sum(1 for text in texts if is_mentioned(subject.terms, text))
        return Holding(self.store, stays=stays, stays_because=BECAUSE if stays else "")


class StopReasons(RowByRow):
    """Why installed artifacts are disabled; they stay disabled."""

    store = "reasons of disabled artifacts"
    table = Installation
    columns: ClassVar[tuple[str, ...]] = ("disabled_reason",)

    @transaction.atomic
    def erase_one(self, tenant_id: UUID, row_id: UUID, subject: Identifiers, rule: Rule) -> bool:
        row: Installation | None = Installation.objects.of(tenant_id).select_for_update().filter(id=row_id).first()
        changed = self.cleaned(row, subject, rule) if row else {}
        if row and changed:
            registry.blank_stop_reason(row, str(changed["disabled_reason"]))
        return bool(changed)


INSTALLED, STOP_REASONS = InstalledArtifacts(), StopReasons()
