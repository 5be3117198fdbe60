"""The app "proposals" and its registrations with the lower apps."""

from django.apps import AppConfig


class ProposalsConfig(AppConfig):
    name = "proposals"
    verbose_name = "Proposals"

    def ready(self) -> None:
        from memory.host import registrations

        registrations.when_read(self._register)

    def _register(self) -> None:
        """Register the activation nodes, the gate's resolver, the prompt installer, erasers and what pages of
        lower floors show of proposals."""
        from memory.forget.erasers import declared
        from memory.host import citations, erasure, interrupts, registry
        from memory.host.citations import Source
        from memory.host.events import ApprovalOverridden, ApprovalRejected
        from memory.host.interrupts import Resolver
        from proposals import activation, gate, inbox, installation
        from proposals.erasure import PROPOSALS

        reasons = {kind.type: gate.reasons_of for kind in (ApprovalOverridden, ApprovalRejected)}
        interrupts.register(gate.GATE_TYPE, Resolver(activation.resolve_interrupt, gate.run_has_ended, reasons))
        registry.register(installation.INSTALLER)
        declared.register_tables("proposals")
        erasure.register(PROPOSALS)
        source = Source(inbox.citing_runs, inbox.newest_of_agent, inbox.count_pending, inbox.titles_of)
        citations.register(self.name, source)
