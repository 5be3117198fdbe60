from django.apps import AppConfig


class HostConfig(AppConfig):
    name = "memory.host"
    label = "host"
    verbose_name = "Host"
