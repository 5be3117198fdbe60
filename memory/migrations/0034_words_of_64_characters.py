"""Words were cut at 32 characters for a while, and are at 64 again: the worker fills the index anew."""

from typing import Any

from django.db import migrations

EMPTY = (
    "DELETE FROM memory_searchblock",
    "DELETE FROM memory_searchstem",
    "DELETE FROM memory_searchword",
    "DELETE FROM memory_searchledger",
)


def _empty(_: Any, schema_editor: Any) -> None:
    for statement in EMPTY:
        schema_editor.execute(statement, params=None)


class Migration(migrations.Migration):
    dependencies = [("memory", "0033_look_alikes_by_meaning")]
    operations = [migrations.RunPython(_empty, migrations.RunPython.noop)]
