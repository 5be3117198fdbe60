from typing import TYPE_CHECKING

from django.apps import AppConfig

if TYPE_CHECKING:
    from memory.host import erasure


class MemoryConfig(AppConfig):
    name = "memory"
    verbose_name = "Memory"

    def ready(self) -> None:
        """Every store of this app that keeps personal text takes part in a forget; packs of agents are installable."""
        from memory import commitments, forgetting, pass_schedules
        from memory.erasers import commitments as commitment_rows
        from memory.erasers import entries, records, values
        from memory.host import erasure

        self._fill_in()
        stores: tuple[erasure.Eraser, ...] = (
            entries.ARCHIVES, entries.DISTILLATES, entries.ENTRIES, records.KEPT_READS, entries.SIGNATURES,
            values.RUN_VALUES, values.INTERRUPT_VALUES, records.INSTALLED, records.STOP_REASONS,
            records.EVENT_NAMES, records.WORKSPACE_FILES,
            records.AUDIT_NAMES, records.STORED_ANSWERS, values.SCHEDULE_VALUES,
            values.HEARTBEAT_VALUES, values.PASS_VALUES, values.POLICY_VALUES,
            records.SAVED_FILTERS, *self._of_openintent(),
            values.PassScheduleValues(pass_schedules.erase_kept),
            commitment_rows.CommitmentRows(commitments.remove), values.VOTERS, records.SECRET_NAMES,
            records.KEY_NAMES, records.OPERATOR_ACCOUNTS, records.FAILED_TASKS,
            records.RequestReasons(forgetting.erase_kept), entries.RETIRED_REASONS,
        )  # fmt: skip
        for store in stores:
            erasure.register(store)

    def _of_openintent(self) -> "tuple[erasure.Eraser, ...]":
        """What RFC-0015 keeps beside its entries, and the work that they belong to."""
        from memory.erasers import entries, records, values
        from memory.openintent import namespaces
        from memory.openintent.work import rows

        own = (entries.NAMES_BESIDE_ENTRIES, entries.SEALED_VALUES, records.EVENT_NOTES)
        return (*own, *values.stores(rows.erase_kept, namespaces.erase_kept))

    def _fill_in(self) -> None:
        """Lower floors have what they need of upper ones."""
        from memory import agents
        from memory.host import installing, tenancy
        from memory.openintent import refs

        installing.register(agents.INSTALLER)
        tenancy.on_ref(refs.RULE)
