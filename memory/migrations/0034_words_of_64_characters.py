"""Words were cut at 32 characters for a while, and are at 64 again: the worker fills the index anew where one was."""

from typing import Any

from django.db import migrations

EMPTY = (
    """DELETE FROM memory_searchblock WHERE word IN (SELECT number FROM memory_searchword WHERE ledger IN
        (SELECT ledger FROM memory_searchword WHERE length(word) = 32))""",
    """DELETE FROM memory_searchstem WHERE ledger IN
        (SELECT ledger FROM memory_searchword WHERE length(word) = 32)""",
    """DELETE FROM memory_searchledger WHERE number IN
        (SELECT ledger FROM memory_searchword WHERE length(word) = 32)""",
    "DELETE FROM memory_searchword WHERE ledger NOT IN (SELECT number FROM memory_searchledger)",
)


def _empty(_: Any, schema_editor: Any) -> None:
    for statement in EMPTY:
        schema_editor.execute(statement, params=None)


class Migration(migrations.Migration):
    dependencies = [("memory", "0033_look_alikes_by_meaning")]
    operations = [migrations.RunPython(_empty, migrations.RunPython.noop)]
