"""Vectors of entries, with pgvector where the database has it and lets us; elsewhere as numbers that numpy reads."""

from typing import Any

import django.db.models.deletion
from django.db import DatabaseError, migrations, models, transaction

import memory.host.ids

VECTOR = "CREATE TABLE memory_vector (tenant_id {uuid} NOT NULL, position bigint NOT NULL, vector {vector} NOT NULL, PRIMARY KEY (tenant_id, position))"
SIGNS = "CREATE TABLE memory_vectorsign (tenant_id {uuid} NOT NULL, block bigint NOT NULL, signs {signs} NOT NULL, PRIMARY KEY (tenant_id, block))"
NUMBERS = {
    "sqlite": {"uuid": "char(32)", "vector": "blob", "signs": "blob"},
    "postgresql": {"uuid": "uuid", "vector": "bytea", "signs": "bytea"},
}
PGVECTOR = {"uuid": "uuid", "vector": "halfvec", "signs": "bit(512)"}
DROP = ("DROP TABLE memory_vector", "DROP TABLE memory_vectorsign")


def create(schema_editor: Any, types: dict[str, str]) -> None:
    for statement in (VECTOR, SIGNS):
        schema_editor.execute(statement.format(**types), params=None)
    if schema_editor.connection.vendor == "postgresql":  # numbers, of which compression saves nothing
        schema_editor.execute("ALTER TABLE memory_vector ALTER vector SET STORAGE EXTERNAL", params=None)


def offers_pgvector(connection: Any) -> bool:
    """Whether the extension is there, or could be added just now, in a version with halfvec."""
    try:
        with transaction.atomic(connection.alias), connection.cursor() as cursor:
            cursor.execute("CREATE EXTENSION IF NOT EXISTS vector")
            cursor.execute("SELECT to_regtype('halfvec') IS NOT NULL")
            return bool(cursor.fetchone()[0])
    except DatabaseError:  # it is not on that server, or is not ours to add
        return False


def _forward(apps: Any, schema_editor: Any) -> None:
    vendor = schema_editor.connection.vendor
    with_pgvector = vendor == "postgresql" and offers_pgvector(schema_editor.connection)
    create(schema_editor, PGVECTOR if with_pgvector else NUMBERS[vendor])


def _back(apps: Any, schema_editor: Any) -> None:
    for statement in DROP:
        schema_editor.execute(statement, params=None)


class Migration(migrations.Migration):

    dependencies = [
        ('host', '0002_host_timer'),
        ('memory', '0012_replaced_values'),
    ]

    operations = [
        migrations.AddField(
            model_name='memorypolicy',
            name='embedding_model',
            field=models.CharField(blank=True, default='', max_length=128),
        ),
        migrations.AddField(
            model_name='memorypolicy',
            name='embedding_secret',
            field=models.CharField(blank=True, default='', max_length=128),
        ),
        migrations.AddField(
            model_name='memorypolicy',
            name='embedding_url',
            field=models.CharField(blank=True, default='', max_length=500),
        ),
        migrations.CreateModel(
            name='VectorSpace',
            fields=[
                ('pk', models.CompositePrimaryKey('tenant_id', 'id', blank=True, editable=False, primary_key=True, serialize=False)),
                ('id', models.UUIDField(default=memory.host.ids.new_id, editable=False)),
                ('source', models.CharField(max_length=64)),
                ('dimension', models.PositiveIntegerField(default=0)),
                ('position', models.BigIntegerField(default=-1)),
                ('next_at', models.DateTimeField()),
                ('failures', models.PositiveIntegerField(default=0)),
                ('reason', models.CharField(blank=True, default='', max_length=16)),
                ('tenant', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='host.tenant')),
            ],
            options={
                'abstract': False,
            },
        ),
        migrations.RunPython(_forward, _back),
    ]
