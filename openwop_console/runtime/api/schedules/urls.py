"""Schedules and heartbeats. The schedule of a workflow's trigger is named ``workflow/<workflow>/<trigger>``, that of an
automation ``automation/<name>``."""

from django.urls import path, register_converter

from openwop_console.runtime.api.schedules import views


class ScheduleName:
    """A name of one part, or of those that the schedule of a workflow or an automation has."""

    regex = r"workflow/[^/]+/[^/]+|automation/[^/]+|[^/]+"

    def to_python(self, value: str) -> str:
        return value

    def to_url(self, value: str) -> str:
        return value


register_converter(ScheduleName, "schedule_name")

BASE = "v1/host/console"
urlpatterns = [
    path(f"{BASE}/schedules", views.schedule_list, name="api-schedules"),
    path(f"{BASE}/schedules/<schedule_name:name>", views.schedule, name="api-schedule"),
    path(f"{BASE}/schedules/<schedule_name:name>/ticks", views.schedule_ticks, name="api-schedule-ticks"),
    path(f"{BASE}/heartbeats", views.heartbeat_list, name="api-heartbeats"),
    path(f"{BASE}/heartbeats/<str:name>", views.heartbeat, name="api-heartbeat"),
]
