"""The app "host", the lowest layer, which registers nothing."""

from django.apps import AppConfig


class HostConfig(AppConfig):
    name = "memory.host"
    label = "host"
    verbose_name = "Host"
