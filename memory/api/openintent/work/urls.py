"""The addresses of work, as the published client spells them. An agent's id may hold slashes."""

from django.urls import URLPattern, path

from memory.api.openintent.work import agents, coordinators, tasks, views

urlpatterns: list[URLPattern] = [
    path("api/v1/intents", views.intent_list, name="openintent-intents"),
    path("api/v1/intents/<str:intent_id>", views.intent, name="openintent-intent"),
    path("api/v1/intents/<str:intent_id>/status", views.intent_status, name="openintent-intent-status"),
    path("api/v1/intents/<str:intent_id>/state", views.intent_state, name="openintent-intent-state"),
    path("api/v1/intents/<str:intent_id>/agents", views.intent_agents, name="openintent-intent-agents"),
    path("api/v1/intents/<str:intent_id>/agents/<path:agent_id>", views.intent_agent, name="openintent-intent-agent"),
    path("api/v1/intents/<str:intent_id>/tasks", tasks.intent_tasks, name="openintent-intent-tasks"),
    path(
        "api/v1/intents/<str:intent_id>/coordinators",
        coordinators.intent_coordinators,
        name="openintent-intent-coordinators",
    ),
    path("api/v1/tasks", tasks.task_list, name="openintent-tasks"),
    path("api/v1/tasks/<str:task_id>", tasks.task, name="openintent-task"),
    path("api/v1/coordinators", coordinators.coordinator_list, name="openintent-coordinators"),
    path("api/v1/coordinators/<str:coordinator_id>", coordinators.coordinator, name="openintent-coordinator"),
    path(
        "api/v1/coordinators/<str:coordinator_id>/heartbeat",
        coordinators.heartbeat,
        name="openintent-coordinator-heartbeat",
    ),
    path("api/v1/agents", agents.agent_list, name="openintent-agents"),
    path("api/v1/agents/register", agents.registration, name="openintent-agent-register"),
    path("api/v1/agents/<path:agent_id>/record", agents.record, name="openintent-agent-record"),
    path("api/v1/agents/<path:agent_id>/heartbeat", agents.heartbeat, name="openintent-agent-heartbeat"),
    path("api/v1/agents/<path:agent_id>/status", agents.status, name="openintent-agent-status"),
]
