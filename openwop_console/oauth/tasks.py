"""What the worker does of OAuth by itself."""

from django.utils import timezone

from openwop_console.oauth import server


def sweep() -> int:
    return server.sweep(now=timezone.now())
