from django.apps import AppConfig


class RuntimeConfig(AppConfig):
    name = "openwop_console.runtime"
    label = "runtime"
    verbose_name = "Runtime"

    def ready(self) -> None:
        """The runtime brings its node types and workflows, and takes part in a forget."""
        from memory.host import erasure, installing
        from openwop_console.runtime import (  # noqa: F401
            automations,
            chains,
            interrupts,
            nodes,
            probes,
            steps_erasure,
            workflows,
        )

        interrupts.register()
        workflows.register_builtins()
        erasure.register(steps_erasure.STEP_OUTPUTS)
        installing.register(chains.INSTALLER)
        installing.register(automations.INSTALLER)
