"""``manage.py check``, which changes nothing."""

from typing import Any

from django.conf import settings
from django.core.management.commands import check
from django.core.management.utils import get_random_secret_key

from openwop_console.process import data_folder


class Command(check.Command):
    """Django's. With ``--deploy`` it looks at the secret key; one that is not there yet is not kept for that."""

    def handle(self, *args: Any, **options: object) -> None:
        if data_folder.is_still_to_be_made(settings.SECRET_KEY):
            settings.SECRET_KEY = get_random_secret_key()  # as it would be made
        super().handle(*args, **options)
