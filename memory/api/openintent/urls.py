"""The addresses of OpenIntent. Fixed words stand before ids, and no address redirects."""

from django.urls import URLPattern, path

from memory.api.openintent import batches, discovery, entries, events, grants, namespaces, queries
from memory.api.openintent.work import urls as work

urlpatterns: list[URLPattern] = [
    path("api/v1/memory", entries.memory, name="openintent-memory"),
    *batches.urlpatterns,
    *namespaces.urlpatterns,
    *grants.urlpatterns,
    path("api/v1/memory/<str:entry_id>", entries.entry, name="openintent-entry"),
    *queries.urlpatterns,
    *work.urlpatterns,
    path("api/v1/intents/<str:intent_id>/events", events.intent_events, name="openintent-intent-events"),
    path("api/v1/agents/<path:agent_id>/events", events.agent_events, name="openintent-agent-events"),
    path("api/v1/server/config", discovery.server_config, name="openintent-server-config"),
    path(".well-known/openintent.json", discovery.discovered, name="openintent-discovery"),
    path(".well-known/openintent-compat.json", discovery.compared, name="openintent-compatibility"),
]
