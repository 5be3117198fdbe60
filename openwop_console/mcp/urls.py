"""The one address of the protocol."""

from django.urls import path

from openwop_console.mcp import views

urlpatterns = [path("mcp", views.endpoint, name="mcp")]
