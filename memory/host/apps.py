"""The app "host": the ground floor, which fills in no registration point."""

from django.apps import AppConfig


class HostConfig(AppConfig):
    name = "memory.host"
    label = "host"
    verbose_name = "Host"
