"""The worker's task for OAuth."""

from django.utils import timezone

from openwop_console.oauth import server


def sweep() -> int:
    return server.sweep(now=timezone.now())
