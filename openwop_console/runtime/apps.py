"""The Django app "runtime" and its registrations with the lower apps."""

from django.apps import AppConfig


class RuntimeConfig(AppConfig):
    name = "openwop_console.runtime"
    label = "runtime"
    verbose_name = "Runtime"

    def ready(self) -> None:
        from memory.host import registrations

        registrations.defer(self._register)

    def _register(self) -> None:
        """Register node types (by importing their modules), workflows, installers, the run reporter and the erasers."""
        from memory import run_timeline
        from memory.forget.erasers import declared
        from memory.host import registry
        from openwop_console.runtime import (  # noqa: F401
            automations,
            chains,
            completions,
            http_requests,
            interrupt_answers,
            mcp_servers,
            node_execution,
            nodes,
            workflows,
        )

        interrupt_answers.register()
        run_timeline.register_reporter(self.label, node_execution.reports_of_run)
        workflows.register_builtins()
        declared.register_tables("runtime")
        registry.register(chains.INSTALLER)
        registry.register(automations.INSTALLER)
