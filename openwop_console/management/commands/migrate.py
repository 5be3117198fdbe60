"""``manage.py migrate``: a migration and the record that it was applied are one transaction.

Django records some migrations after the transaction in which it made their tables. Whoever ended the command in between
could not resume it: the next one met tables that were there.

The models that a migration makes one after another are rendered together. Django renders after each what is related to
it, which here is nearly every model: that was a third of the 8.6 s of CPU in which a fresh database was migrated.

A database that lacks some of the migrations that were squashed is refused: what these did to rows, such as signing
audit checkpoints again, would be left out.
"""

import contextlib
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any

from django.core.management.base import CommandError
from django.core.management.commands import migrate
from django.db import connection, transaction
from django.db.migrations import Migration
from django.db.migrations.executor import MigrationExecutor
from django.db.migrations.operations import CreateModel
from django.db.migrations.operations.base import Operation
from django.db.migrations.state import ProjectState

LOCK = 5_270_900_001


class CreateModels(Operation):
    """Several ``CreateModel``, one after another, with one rendering of the models."""

    def __init__(self, each: Sequence[Operation]) -> None:
        self.each = each

    def state_forwards(self, app_label: str, state: ProjectState) -> None:
        state.__dict__.pop("apps", None)  # all is rendered when they are all there, and not what is related after each
        state.is_delayed = False
        for operation in self.each:
            operation.state_forwards(app_label, state)

    def database_forwards(self, *given: Any) -> None:
        for operation in self.each:
            operation.database_forwards(*given)


class Whole(MigrationExecutor):
    """Applies and unapplies each migration whole, with its record, or not at all."""

    def __init__(self, *given: Any, **more: Any) -> None:
        super().__init__(*given, **more)
        there = self.loader.applied_migrations.keys()
        for squashed in self.loader.replacements.values():
            lacking = [each for each in squashed.replaces if each not in there]
            gone = [name for app, name in lacking if (app, name) not in self.loader.disk_migrations]
            if gone and len(lacking) < len(squashed.replaces):
                raise CommandError(
                    f"The database lacks {squashed.app_label}.{gone[0]}, which this release no longer has; "
                    "migrate it first with the last release that has it."
                )

    def apply_migration(
        self, state: ProjectState, migration: Migration, fake: bool = False, fake_initial: bool = False
    ) -> ProjectState:
        # With ``fake_initial``, Django looks for each table among the operations.
        with contextlib.nullcontext() if fake or fake_initial else together(migration):
            return self._whole(migration, super().apply_migration, state, migration, fake, fake_initial)

    def unapply_migration(self, state: ProjectState, migration: Migration, fake: bool = False) -> ProjectState:
        return self._whole(migration, super().unapply_migration, state, migration, fake)

    def _whole(self, migration: Migration, change: Any, *given: object) -> ProjectState:
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


@contextlib.contextmanager
def together(migration: Migration) -> Iterator[None]:
    """Within, the models that the migration makes one after another are one operation."""
    one_by_one = migration.operations
    grouped: list[Operation] = []
    for kind, consecutive in groupby(one_by_one, type):
        each = list(consecutive)
        grouped += [CreateModels(each)] if kind is CreateModel else each
    vars(migration)["operations"] = grouped
    try:
        yield
    finally:
        vars(migration)["operations"] = one_by_one


migrate.MigrationExecutor = Whole  # type: ignore[attr-defined]


class Command(migrate.Command):
    """Django's own, with this executor, which it offers no option for; two at once wait for each other."""

    def handle(self, *args: Any, **options: Any) -> None:
        with alone():
            super().handle(*args, **options)


@contextlib.contextmanager
def alone() -> Iterator[None]:
    """Within, no other host migrates the same PostgreSQL; SQLite has one writer, and a folder one console."""
    if connection.vendor != "postgresql":
        yield
        return
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_lock(%s)", [LOCK])
        try:
            yield
        finally:
            cursor.execute("SELECT pg_advisory_unlock(%s)", [LOCK])
