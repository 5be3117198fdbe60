"""``manage.py createsuperuser``, which this host has no use for: a right is a role in a tenant."""

from django.core.management.base import CommandError

from openwop_console.management.base import DatabaseCommand


class Command(DatabaseCommand):
    help = "Refused: create_operator makes the operators of a tenant."

    def handle(self, *args: object, **options: object) -> None:
        raise CommandError("There are no superusers here; create an operator with: manage.py create_operator")
