"""The addresses of passes and of their schedules."""

from django.urls import path

from memory.api.openwop.passes import views

BASE = "v1/host/console"
urlpatterns = [
    path(f"{BASE}/passes", views.pass_list, name="api-passes"),
    path(f"{BASE}/passes/<str:pass_id>", views.one_pass, name="api-pass"),
    path(f"{BASE}/passes/<str:pass_id>/stop", views.stop, name="api-pass-stop"),
    path(f"{BASE}/passes/<str:pass_id>/again", views.again, name="api-pass-again"),
    path(f"{BASE}/pass-schedules", views.schedule_list, name="api-pass-schedules"),
    path(f"{BASE}/pass-schedules/<str:schedule_id>", views.schedule, name="api-pass-schedule"),
]
