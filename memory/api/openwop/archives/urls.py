"""The addresses of archives and of the memory policy."""

from django.urls import path

from memory.api.openwop.archives import views

BASE = "v1/host/console"
urlpatterns = [
    path(f"{BASE}/archives", views.archive_list, name="api-archives"),
    path(f"{BASE}/archives/<str:archive_id>", views.archive, name="api-archive"),
    path(f"{BASE}/memory-policy", views.memory_policy, name="api-memory-policy"),
]
