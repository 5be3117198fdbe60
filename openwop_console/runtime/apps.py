from django.apps import AppConfig


class RuntimeConfig(AppConfig):
    name = "openwop_console.runtime"
    label = "runtime"
    verbose_name = "Runtime"

    def ready(self) -> None:
        """The runtime brings its node types and workflows, wakes workers, and takes part in a forget."""
        from memory.host import erasure, installing, runs
        from openwop_console.runtime import (  # noqa: F401
            automations,
            chains,
            definitions,
            interrupts,
            nodes,
            probes,
            steps_erasure,
            tasks,
        )
        from openwop_console.runtime.timed import schedules

        interrupts.register()
        definitions.register_builtins()
        definitions.on_install(schedules.keep_triggers)
        runs.on_ready(tasks.enqueue_run)
        erasure.register(steps_erasure.STEP_OUTPUTS)
        installing.register(chains.INSTALLER)
        installing.register(automations.INSTALLER)
