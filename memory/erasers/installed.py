"""Installed artifacts as a store of a forget: they stay, and the receipt says how many name the subject.

What is installed is what runs execute, byte for byte; it is changed by installing another version, through the gate.
"""

from collections.abc import Mapping
from uuid import UUID

from memory.host import registry
from memory.host.erasure import Holding, Identifiers, Kept
from memory.matching import is_mentioned

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


INSTALLED = InstalledArtifacts()
