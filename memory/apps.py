from django.apps import AppConfig


class MemoryConfig(AppConfig):
    name = "memory"
    verbose_name = "Memory"

    def ready(self) -> None:
        """Every store of this app that keeps personal text takes part in a forget."""
        from memory import ledger_erasure, log_erasure, registry_erasure, run_erasure
        from memory.host import erasure

        erasure.register(ledger_erasure.ENTRIES)
        erasure.register(run_erasure.RUN_VALUES)
        erasure.register(registry_erasure.INSTALLED)
        erasure.register(log_erasure.EVENT_LOG)
