"""The app "proposals" and its registrations with the lower apps."""

from django.apps import AppConfig


class ProposalsConfig(AppConfig):
    name = "proposals"
    verbose_name = "Proposals"

    def ready(self) -> None:
        from memory.host import registrations

        registrations.when_read(self._register)

    def _register(self) -> None:
        """Register the activation nodes, the gate's resolver, the prompt installer, erasers, citations, titles and the
        proposals of agents."""
        from memory import agents, provenance
        from memory.forget.erasers import declared
        from memory.host import audit_log, erasure, interrupts, registry
        from memory.host.events import ApprovalOverridden, ApprovalRejected
        from memory.host.interrupts import Resolver
        from proposals import activation, gate, inbox, installation
        from proposals.erasure import PROPOSALS

        reasons = {kind.type: gate.reasons_of for kind in (ApprovalOverridden, ApprovalRejected)}
        interrupts.register(gate.GATE_TYPE, Resolver(activation.resolve_interrupt, gate.run_has_ended, reasons))
        registry.register(installation.INSTALLER)
        declared.register_tables("proposals")
        erasure.register(PROPOSALS)
        provenance.register_citing(inbox.citing_runs)
        agents.register_proposing(agents.Proposing(inbox.count_pending, inbox.newest_of_agent))
        audit_log.register_titles("proposals", inbox.titles_of)
