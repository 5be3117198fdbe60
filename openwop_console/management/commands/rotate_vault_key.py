"""``manage.py rotate_vault_key``."""

from django.core.management.base import CommandError
from django.db import transaction
from django.utils import timezone

from memory import ledger
from memory.host import second_factors, vault
from memory.host.vault import VaultLocked
from openwop_console.management.base import DatabaseCommand


class Command(DatabaseCommand):
    help = "Seal every secret and sealed value under a fresh data key, wrapped by OPENWOP_SECRET_KEY."

    def handle(self, *args: object, **options: object) -> None:
        try:
            with transaction.atomic():
                done = vault.rotate(reseal=ledger.entries.reseal, now=timezone.now())
                factors = second_factors.reseal()
        except VaultLocked as problem:
            raise CommandError(f"{problem}. Set OPENWOP_SECRET_KEY_FALLBACKS to the key it was sealed with.") from None
        self.stdout.write(f"{done.sealed + factors} secrets are sealed under a fresh key.")
        if done.broken:
            self.stderr.write(
                f"{len(done.broken)} were tampered with and do not open; they stay as they are under their old key."
            )
