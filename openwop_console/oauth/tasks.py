"""The worker's task for OAuth."""

from django.utils import timezone

from openwop_console.oauth import tokens


def sweep() -> int:
    return tokens.sweep(now=timezone.now())
