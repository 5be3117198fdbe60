from django.apps import AppConfig


class MemoryConfig(AppConfig):
    name = "memory"
    verbose_name = "Memory"

    def ready(self) -> None:
        """Every store of this app that keeps personal text takes part in a forget."""
        from memory.erasers import entries, event_names, installed, run_values
        from memory.host import erasure

        erasure.register(entries.ENTRIES)
        erasure.register(run_values.RUN_VALUES)
        erasure.register(installed.INSTALLED)
        erasure.register(event_names.EVENT_NAMES)
