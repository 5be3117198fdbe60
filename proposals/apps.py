"""The app "proposals": what it registers with the floors below."""

from django.apps import AppConfig


class ProposalsConfig(AppConfig):
    name = "proposals"
    verbose_name = "Proposals"

    def ready(self) -> None:
        from memory.host import registrations

        registrations.when_read(self._register)

    def _register(self) -> None:
        """The app brings the nodes of the activation run, answers its gate, and takes part in a forget."""
        from memory import provenance
        from memory.forget.erasers import declared
        from memory.host import erasure, interrupts, registry
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
