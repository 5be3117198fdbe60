"""The words of an intent's log: every ``event_type`` that the published client knows, and it refuses any other (2.2).

Those of memory itself are the host's to tell, and stand in ``memory.host.events``.
"""

VOCABULARY = """
    intent_created state_patched status_changed agent_assigned agent_unassigned constraint_added constraint_removed
    dependency_added dependency_removed lease_acquired lease_released arbitration_requested decision_recorded
    attachment_added portfolio_created added_to_portfolio removed_from_portfolio failure_recorded comment
    tool_call_started tool_call_completed tool_call_failed llm_request_started llm_request_completed
    llm_request_failed stream_started stream_chunk stream_completed stream_cancelled access_granted access_revoked
    access_expired access_requested access_request_approved access_request_denied task.created task.ready
    task.claimed task.started task.progress task.completed task.failed task.retrying task.blocked task.unblocked
    task.delegated task.escalated task.cancelled task.skipped plan.created plan.activated plan.paused plan.resumed
    plan.completed plan.failed plan.checkpoint_reached plan.checkpoint_approved plan.checkpoint_rejected
    coordinator.decision coordinator.heartbeat coordinator.paused coordinator.resumed coordinator.replaced
    coordinator.unresponsive coordinator.failed_over coordinator.handoff coordinator.plan_overridden
    coordinator.guardrails_updated coordinator.stalled coordinator.escalation_resolved governance.policy_set
    governance.policy_removed governance.approval_granted governance.approval_denied governance.violation
    tool.invoked tool.denied grant.created grant.delegated grant.revoked grant.expired grant.suspended grant.resumed
    credential.created credential.rotated credential.expired credential.revoked agent.lifecycle agent.registered
    agent.status_changed agent.dead trigger.fired trigger.skipped trigger.cascade_limit trigger.namespace_blocked
    agent.identity.registered agent.identity.rotated agent.identity.revoked agent.identity.challenge_issued
    agent.identity.verified log.checkpoint.created log.checkpoint.anchored channel.created channel.closed
    channel.message governance.approval_enforced federation.dispatched federation.received federation.callback
    federation.budget_warning federation.completed federation.failed intent.suspended intent.resumed
    intent.suspension_expired engagement.decision intent.suspension_renotified intent.suspension_escalated
    portfolio.member_suspended portfolio.member_resumed
"""
KINDS = frozenset(VOCABULARY.split())
# What this host tells itself: from an agent it would be a claim in its name. That an agent was assigned is told by the
# published client, too, when it delegates.
FACTS = """
    intent_created state_patched status_changed agent_unassigned lease_acquired lease_released access_granted
    access_revoked access_expired task.created task.progress task.delegated coordinator.paused coordinator.resumed
    coordinator.unresponsive coordinator.failed_over coordinator.handoff coordinator.heartbeat
    coordinator.guardrails_updated agent.registered agent.status_changed agent.dead
"""
OF_STATUS = {
    "pending": "task.unblocked",
    "ready": "task.ready",
    "claimed": "task.claimed",
    "running": "task.started",
    "blocked": "task.blocked",
    "completed": "task.completed",
    "failed": "task.failed",
    "cancelled": "task.cancelled",
    "skipped": "task.skipped",
}
TOLD_BY_HOST = frozenset(FACTS.split()) | frozenset(OF_STATUS.values())
