from django.apps import AppConfig


class MemoryConfig(AppConfig):
    name = "memory"
    verbose_name = "Memory"

    def ready(self) -> None:
        """Every store of this app that keeps personal text takes part in a forget."""
        from memory.erasers import (
            audit_names,
            entries,
            event_names,
            installed,
            interrupt_values,
            kept_reads,
            run_values,
            stored_answers,
            timed,
            workspace,
        )
        from memory.host import erasure

        erasure.register(entries.ENTRIES)
        erasure.register(kept_reads.KEPT_READS)
        erasure.register(run_values.RUN_VALUES)
        erasure.register(interrupt_values.INTERRUPT_VALUES)
        erasure.register(installed.INSTALLED)
        erasure.register(event_names.EVENT_NAMES)
        erasure.register(workspace.WORKSPACE_FILES)
        erasure.register(audit_names.AUDIT_NAMES)
        erasure.register(stored_answers.STORED_ANSWERS)
        erasure.register(timed.SCHEDULE_VALUES)
        erasure.register(timed.HEARTBEAT_VALUES)
