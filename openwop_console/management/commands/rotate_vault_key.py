"""``manage.py rotate_vault_key``."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from memory.host import vault
from memory.host.vault import VaultLocked


class Command(BaseCommand):
    help = "Seal every secret under a fresh data key, wrapped by OPENWOP_SECRET_KEY. All or nothing."

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            count = vault.rotate(now=timezone.now())
        except VaultLocked as problem:
            raise CommandError(f"{problem}. Set OPENWOP_SECRET_KEY_FALLBACKS to the key it was sealed with.") from None
        self.stdout.write(f"{count} secrets are sealed under a fresh key.")
