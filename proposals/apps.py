"""The app "proposals" and its registrations with the lower apps."""

from django.apps import AppConfig


class ProposalsConfig(AppConfig):
    name = "proposals"
    verbose_name = "Proposals"

    def ready(self) -> None:
        from memory.host import registrations

        registrations.defer(self._register)

    def _register(self) -> None:
        """Register the activation nodes, the gate's resolver, the prompt installer, erasers and what pages of
        lower floors show of proposals."""
        from memory.forget.erasers import declared
        from memory.host import erasure, interrupts, proposal_links, registry
        from memory.host.events import ApprovalOverridden, ApprovalRejected
        from memory.host.interrupts import Resolver
        from memory.host.proposal_links import ProposalReader
        from proposals import activation, gate, inbox, installation
        from proposals.erasure import PROPOSALS

        reasons = {kind.type: gate.reasons_of for kind in (ApprovalOverridden, ApprovalRejected)}
        interrupts.register(gate.GATE_TYPE, Resolver(activation.resolve_interrupt, gate.run_has_ended, reasons))
        registry.register(installation.INSTALLER)
        declared.register_tables("proposals")
        erasure.register(PROPOSALS)
        source = ProposalReader(
            inbox.citing_runs, inbox.newest_of_agent, inbox.of_activation, inbox.count_pending, inbox.titles_of
        )
        proposal_links.register(self.name, source)
