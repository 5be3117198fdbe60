"""``manage.py migrate``: a migration and the record that it was applied are one transaction.

Django records some migrations after the transaction in which it made their tables. Whoever ended the command in between
could not resume it: the next one met tables that were there.
"""

from typing import Any

from django.core.management.commands import migrate
from django.db import transaction
from django.db.migrations import Migration
from django.db.migrations.executor import MigrationExecutor
from django.db.migrations.state import ProjectState


class Whole(MigrationExecutor):
    """Applies and unapplies each migration whole, with its record, or not at all."""

    def apply_migration(
        self, state: ProjectState, migration: Migration, fake: bool = False, fake_initial: bool = False
    ) -> ProjectState:
        return self._whole(migration, super().apply_migration, state, migration, fake, fake_initial)

    def unapply_migration(self, state: ProjectState, migration: Migration, fake: bool = False) -> ProjectState:
        return self._whole(migration, super().unapply_migration, state, migration, fake)

    def _whole(self, migration: Migration, change: Any, *given: Any) -> ProjectState:
        state: ProjectState
        if not migration.atomic:
            state = change(*given)
            return state
        # SQLite rebuilds tables without looking at foreign keys, and that can be said outside of a transaction alone.
        unchecked = self.connection.disable_constraint_checking()
        try:
            with transaction.atomic(using=self.connection.alias):
                state = change(*given)
                return state
        finally:
            if unchecked:
                self.connection.enable_constraint_checking()


migrate.MigrationExecutor = Whole  # type: ignore[attr-defined]


class Command(migrate.Command):
    """Django's own, with this executor, which it offers no option for."""
