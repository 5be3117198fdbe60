"""The app "memory": what it registers with the ground floor."""

from collections.abc import Callable
from typing import TYPE_CHECKING
from uuid import UUID

from django.apps import AppConfig

if TYPE_CHECKING:
    from memory.host.vault import Versions


class MemoryConfig(AppConfig):
    name = "memory"
    verbose_name = "Memory"

    def ready(self) -> None:
        from memory.host import registrations, vault

        registrations.defer(self._register)
        vault.provide_finder(_find_secrets)

    def _register(self) -> None:
        """Every store of this app and of the ground floor that keeps personal text takes part in a forget; packs of
        agents are installable; the refs of OpenIntent have their own rule."""
        from memory import agents, commitments
        from memory.forget.erasers import declared, entries, special_stores
        from memory.forget.erasers.special_stores import CommitmentRows
        from memory.host import erasure, registry, tenancy
        from memory.models import Archive, Commitment, EventNote, ForgetHold, WorkspaceFile
        from memory.openintent import access

        declared.register_tables("host")
        declared.register_tables(
            "memory",
            otherwise={
                Archive: entries.Archives,
                Commitment: lambda _: CommitmentRows(commitments.lifecycle.remove),
                EventNote: special_stores.EventNotes,
                ForgetHold: special_stores.LegalHolds,
                WorkspaceFile: special_stores.WorkspaceFiles,
            },
        )
        for store in (*entries.STORES, *special_stores.STORES):
            erasure.register(store)
        registry.register(agents.INSTALLER)
        tenancy.add_ref_rule(access.REF_RULE)


def _find_secrets(tenant_id: UUID, versions: "Versions") -> Callable[[str], bool]:
    """The rules of texts are imported for a tenant that has secrets."""
    from memory import redaction

    return redaction.finder_for(tenant_id, versions)
