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
        from memory.erasers import (
            archives,
            credentials,
            entries,
            failed_tasks,
            installed,
            interrupt_values,
            kept_reads,
            log_names,
            pass_values,
            policy,
            request_reasons,
            run_values,
            saved_filters,
            signatures,
            stored_answers,
            timed,
            workspace,
        )
        from memory.erasers import commitments as commitment_rows
        from memory.host import erasure

        self._fill_in()
        stores: tuple[erasure.Eraser, ...] = (
            archives.ARCHIVES, archives.DISTILLATES, entries.ENTRIES, kept_reads.KEPT_READS, signatures.SIGNATURES,
            run_values.RUN_VALUES, interrupt_values.INTERRUPT_VALUES, installed.INSTALLED, installed.STOP_REASONS,
            log_names.EVENT_NAMES, workspace.WORKSPACE_FILES,
            log_names.AUDIT_NAMES, stored_answers.STORED_ANSWERS, timed.SCHEDULE_VALUES,
            timed.HEARTBEAT_VALUES, pass_values.PASS_VALUES, policy.POLICY_VALUES,
            saved_filters.SAVED_FILTERS, *self._of_openintent(),
            pass_values.PassScheduleValues(pass_schedules.erase_kept),
            commitment_rows.CommitmentRows(commitments.remove), interrupt_values.VOTERS, credentials.SECRET_NAMES,
            credentials.KEY_NAMES, credentials.OPERATOR_ACCOUNTS, failed_tasks.FAILED_TASKS,
            request_reasons.RequestReasons(forgetting.erase_kept), entries.RETIRED_REASONS,
        )  # fmt: skip
        for store in stores:
            erasure.register(store)

    def _of_openintent(self) -> "tuple[erasure.Eraser, ...]":
        """What RFC-0015 keeps beside its entries, and the work that they belong to."""
        from memory import namespaces
        from memory.erasers import addresses, event_notes, sealed_values, work
        from memory.work import rows

        own = (addresses.NAMES_BESIDE_ENTRIES, sealed_values.SEALED_VALUES, event_notes.EVENT_NOTES)
        return (*own, *work.stores(rows.erase_kept, namespaces.erase_kept))

    def _fill_in(self) -> None:
        """Lower floors have what they need of upper ones."""
        from memory import agent_packs, event_notes, ledger, work
        from memory.agent_memory import archival, refs
        from memory.host import installing, runs, tenancy, vault

        runs.on_reasoned(event_notes.attach_reason)
        installing.register(agent_packs.INSTALLER)
        vault.on_rotate(ledger.reseal)
        tenancy.on_ref(refs.RULE)
        work.on_end(archival.archive)
