"""The addresses of OpenIntent. Fixed words stand before ids, and no address redirects.

Those of work are spelled as the published client spells them. An agent's id may hold slashes."""

from django.urls import URLPattern, path

from memory.openintent.api import discovery, entries, intents, namespaces

urlpatterns: list[URLPattern] = [
    path("api/v1/memory", entries.memory, name="openintent-memory"),
    *entries.batch_urls,
    *namespaces.urlpatterns,
    *namespaces.acl_patterns,
    path("api/v1/memory/<str:entry_id>", entries.entry, name="openintent-entry"),
    *entries.urlpatterns,
    path("api/v1/intents", intents.intent_list, name="openintent-intents"),
    path("api/v1/intents/<str:intent_id>", intents.intent, name="openintent-intent"),
    path("api/v1/intents/<str:intent_id>/status", intents.intent_status, name="openintent-intent-status"),
    path("api/v1/intents/<str:intent_id>/state", intents.intent_state, name="openintent-intent-state"),
    path("api/v1/intents/<str:intent_id>/agents", intents.intent_agents, name="openintent-intent-agents"),
    path("api/v1/intents/<str:intent_id>/agents/<path:agent_id>", intents.intent_agent, name="openintent-intent-agent"),
    path("api/v1/intents/<str:intent_id>/tasks", intents.intent_tasks, name="openintent-intent-tasks"),
    path(
        "api/v1/intents/<str:intent_id>/coordinators",
        intents.intent_coordinators,
        name="openintent-intent-coordinators",
    ),
    path("api/v1/tasks", intents.task_list, name="openintent-tasks"),
    path("api/v1/tasks/<str:task_id>", intents.task, name="openintent-task"),
    path("api/v1/coordinators", intents.coordinator_list, name="openintent-coordinators"),
    path("api/v1/coordinators/<str:coordinator_id>", intents.coordinator, name="openintent-coordinator"),
    path(
        "api/v1/coordinators/<str:coordinator_id>/heartbeat",
        intents.coordinator_heartbeat,
        name="openintent-coordinator-heartbeat",
    ),
    path("api/v1/agents", intents.agent_list, name="openintent-agents"),
    path("api/v1/agents/register", intents.agent_registration, name="openintent-agent-register"),
    path("api/v1/agents/<path:agent_id>/record", intents.agent_record, name="openintent-agent-record"),
    path("api/v1/agents/<path:agent_id>/heartbeat", intents.agent_heartbeat, name="openintent-agent-heartbeat"),
    path("api/v1/agents/<path:agent_id>/status", intents.agent_status, name="openintent-agent-status"),
    path("api/v1/intents/<str:intent_id>/events", intents.intent_events, name="openintent-intent-events"),
    path("api/v1/agents/<path:agent_id>/events", intents.agent_events, name="openintent-agent-events"),
    path("api/v1/server/config", discovery.server_config, name="openintent-server-config"),
    path(".well-known/openintent.json", discovery.discovered, name="openintent-discovery"),
    path(".well-known/openintent-compat.json", discovery.compared, name="openintent-compatibility"),
]
