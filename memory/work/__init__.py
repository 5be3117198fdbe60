"""The work that memory belongs to (RFC-0015 6): agents, intents, tasks, coordinators and grants. Their only writer.

The row of a task, and that of an agent, is the lock under which memory of theirs is counted, written and cleared.
"""

from memory.work.agents import (
    agent_heartbeat,
    configure_agent,
    find_agent,
    list_agents,
    register_agent,
    update_agent_status,
)
from memory.work.authority import directs, operates, stands_for_any
from memory.work.coordinators import (
    create_coordinator,
    find_coordinator,
    heartbeat,
    lapse,
    of_intent,
    require_coordinator_change,
    update_coordinator,
)
from memory.work.drafts import CoordinatorChange, NewAgent, NewCoordinator, NewIntent, NewTask, TaskChange
from memory.work.intents import (
    assign_agent,
    create_intent,
    find_intent,
    list_intents,
    log_event,
    set_status,
    unassign_agent,
    update_state,
)
from memory.work.parts import at_work, coordinated_by, in_force, in_time, live_tasks_of, overseen_by
from memory.work.policies import (
    Policy,
    Rails,
    capacity_of,
    heirs_of,
    inherits,
    policy_of,
    rails_of,
    rails_over,
    rails_over_each,
)
from memory.work.rows import agent, intent, locked_agent, open_log, task
from memory.work.tasks import create_task, find_task, list_tasks, on_end, require_open, require_task_change, update_task

__all__ = [
    "CoordinatorChange",
    "NewAgent",
    "NewCoordinator",
    "NewIntent",
    "NewTask",
    "Policy",
    "Rails",
    "TaskChange",
    "agent",
    "agent_heartbeat",
    "assign_agent",
    "at_work",
    "capacity_of",
    "configure_agent",
    "coordinated_by",
    "create_coordinator",
    "create_intent",
    "create_task",
    "directs",
    "find_agent",
    "find_coordinator",
    "find_intent",
    "find_task",
    "heartbeat",
    "heirs_of",
    "in_force",
    "in_time",
    "inherits",
    "intent",
    "lapse",
    "list_agents",
    "list_intents",
    "list_tasks",
    "live_tasks_of",
    "locked_agent",
    "log_event",
    "of_intent",
    "on_end",
    "open_log",
    "operates",
    "overseen_by",
    "policy_of",
    "rails_of",
    "rails_over",
    "rails_over_each",
    "register_agent",
    "require_coordinator_change",
    "require_open",
    "require_task_change",
    "set_status",
    "stands_for_any",
    "task",
    "unassign_agent",
    "update_agent_status",
    "update_coordinator",
    "update_state",
    "update_task",
]
