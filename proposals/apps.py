from django.apps import AppConfig


class ProposalsConfig(AppConfig):
    name = "proposals"
    verbose_name = "Proposals"

    def ready(self) -> None:
        """The app brings the nodes of the activation run, answers its gate, and takes part in a forget."""
        from memory.host import erasure, interrupts, runs
        from proposals import activation, gate
        from proposals import erasure as proposals_erasure

        interrupts.register(gate.GATE_TYPE, activation.resolve_interrupt)
        runs.on_end(gate.run_has_ended)
        erasure.register(proposals_erasure.PROPOSALS)
