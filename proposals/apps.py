from django.apps import AppConfig


class ProposalsConfig(AppConfig):
    name = "proposals"
    verbose_name = "Proposals"

    def ready(self) -> None:
        """The app brings the nodes of the activation run, answers its gate, and takes part in a forget."""
        from memory import event_notes
        from memory import tasks as memory_tasks
        from memory.host import erasure, installing, interrupts, runs
        from memory.host.events import ApprovalOverridden, ApprovalRejected
        from proposals import activation, gate, learning, prompts, tasks
        from proposals import erasure as proposals_erasure

        interrupts.register(gate.GATE_TYPE, activation.resolve_interrupt)
        runs.on_end(gate.run_has_ended)
        for kind in (ApprovalOverridden, ApprovalRejected):
            event_notes.on_reasons(kind.type, gate.reasons_of)
        installing.register(prompts.INSTALLER)
        memory_tasks.queues(learning.KIND, tasks.enqueue_synthesis)
        for store in proposals_erasure.STORES:
            erasure.register(store)
