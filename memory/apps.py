from django.apps import AppConfig


class MemoryConfig(AppConfig):
    name = "memory"
    verbose_name = "Memory"

    def ready(self) -> None:
        """Every store of this app that keeps personal text takes part in a forget; packs of agents are installable."""
        from memory import agent_packs, commitments, pass_schedules
        from memory.erasers import (
            archives,
            audit_names,
            entries,
            event_names,
            installed,
            interrupt_values,
            kept_reads,
            pass_values,
            policy,
            run_values,
            saved_filters,
            signatures,
            stored_answers,
            timed,
            workspace,
        )
        from memory.erasers import commitments as commitment_rows
        from memory.host import erasure, installing

        installing.register(agent_packs.INSTALLER)
        stores: tuple[erasure.Eraser, ...] = (
            archives.ARCHIVES, archives.DISTILLATES, entries.ENTRIES, kept_reads.KEPT_READS, signatures.SIGNATURES,
            run_values.RUN_VALUES, interrupt_values.INTERRUPT_VALUES, installed.INSTALLED, event_names.EVENT_NAMES,
            workspace.WORKSPACE_FILES, audit_names.AUDIT_NAMES, stored_answers.STORED_ANSWERS, timed.SCHEDULE_VALUES,
            timed.HEARTBEAT_VALUES, pass_values.PASS_VALUES, policy.POLICY_VALUES,
            saved_filters.SAVED_FILTERS,
            pass_values.PassScheduleValues(pass_schedules.erase_kept),
            commitment_rows.CommitmentRows(commitments.remove),
        )  # fmt: skip
        for store in stores:
            erasure.register(store)
