from typing import Any

from django.db import migrations

from memory.words import words_of

CHUNK = 500
NUMBERED = "number INTEGER PRIMARY KEY AUTOINCREMENT"
SQLITE = (
    f"CREATE TABLE memory_searchledger ({NUMBERED}, tenant_id char(32) NOT NULL UNIQUE, position bigint NOT NULL)",
    f"CREATE TABLE memory_searchword ({NUMBERED}, ledger bigint NOT NULL, word text NOT NULL, entries bigint NOT NULL)",
    "CREATE UNIQUE INDEX memory_searchword_word ON memory_searchword (ledger, word)",
    "CREATE VIRTUAL TABLE memory_search USING fts5(words, content='', columnsize=0, detail='none', tokenize='ascii')",
)
SQLITE_BACK = ("DROP TABLE memory_search", "DROP TABLE memory_searchword", "DROP TABLE memory_searchledger")
POSTGRES = ("ALTER TABLE memory_memoryentry ADD COLUMN words tsvector NOT NULL DEFAULT ''",)
POSTGRES_BACK = ("ALTER TABLE memory_memoryentry DROP COLUMN words",)


def index(apps: Any, schema_editor: Any) -> None:
    """SQLite indexes what is there little by little, behind its mark, as it does what is written from here on."""
    sqlite = schema_editor.connection.vendor == "sqlite"
    for statement in SQLITE if sqlite else POSTGRES:
        schema_editor.execute(statement, params=None)
    if not sqlite:
        _fill(schema_editor.connection)


def _fill(connection: Any) -> None:
    """PostgreSQL: every entry has its words, in chunks by the key."""
    after: tuple[Any, Any] = ("00000000-0000-0000-0000-000000000000",) * 2
    with connection.cursor() as cursor:
        while True:
            cursor.execute(
                "SELECT tenant_id, id, search_text FROM memory_memoryentry WHERE (tenant_id, id) > (%s, %s) "
                "ORDER BY tenant_id, id LIMIT %s",
                [*after, CHUNK],
            )
            rows = cursor.fetchall()
            if not rows:
                return
            cursor.executemany(
                "UPDATE memory_memoryentry SET words = array_to_tsvector(%s::text[]) WHERE tenant_id = %s AND id = %s",
                [[words_of(text), tenant_id, entry_id] for tenant_id, entry_id, text in rows],
            )
            after = rows[-1][:2]


def unindex(apps: Any, schema_editor: Any) -> None:
    for statement in SQLITE_BACK if schema_editor.connection.vendor == "sqlite" else POSTGRES_BACK:
        schema_editor.execute(statement, params=None)


class Migration(migrations.Migration):
    """Full text: FTS5 over numbered words on SQLite, a column of lexemes on PostgreSQL.

    The tables of the index are no models: nothing but the ledger and the adapter knows them, and PostgreSQL has none.
    """

    dependencies = (("memory", "0009_archives_keep_their_bytes"),)
    operations = (migrations.RunPython(index, unindex),)
