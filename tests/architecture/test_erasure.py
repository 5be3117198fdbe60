"""Every text column of the database has an eraser, or is declared free of personal data."""

from collections.abc import Iterator

import pytest
from django.apps import apps
from django.db import connection, models

from memory.host import erasure

pytestmark = [pytest.mark.django_db, pytest.mark.engines]
TEXTS = (models.CharField, models.TextField, models.JSONField, models.BinaryField)
# On PostgreSQL, what holds no text; SQLite's catalog says what a column was declared as.
NO_TEXT = (
    "bigint", "integer", "smallint", "boolean", "timestamp with time zone", "uuid", "double precision", "numeric",
    "interval", "date",
)  # fmt: skip
NO_TEXT_ON_SQLITE = ("bigint", "integer", "smallint", "bool", "datetime", "char(32)", "real", "decimal", "date", "int")
# Columns with text in the tables of Django and of libraries that hold no data about people, each with the reason.
FREE: dict[str, dict[str, str]] = {
    "account_emailconfirmation": {
        "key": "a random token; no confirmation is sent by this host",
    },
    "allauth_idp_oidc_client": {
        **dict.fromkeys(
            ("cors_origins", "default_scopes", "grant_types", "response_types", "scopes", "type"),
            "words of OAuth that this host sets",
        ),
        "data": "emptied: what a client says of itself is kept nowhere",
        "id": "a random id",
        "redirect_uris": "addresses of a program",
        "secret": "a hash",
    },
    "allauth_idp_oidc_token": {
        "client_id": "a random id",
        "data": "the address that a token is for, and digests of what was presented for it",
        "hash": "a hash",
        "scopes": "words of OAuth that this host sets",
        "type": "words of OAuth that this host sets",
    },
    "mfa_authenticator": {
        "data": "a secret, sealed, and counts, or the public key of a passkey; gone when it is turned off or reset",
        "type": "one of the library's own kinds",
    },
    "socialaccount_socialaccount": {
        "extra_data": "emptied: what a provider says of a person is kept nowhere",
        "provider": "the one word for the provider of the configuration",
    },
    "socialaccount_socialapp": dict.fromkeys(
        ("client_id", "key", "name", "provider", "provider_id", "secret", "settings"),
        "empty: the provider stands in the configuration",
    ),
    "socialaccount_socialtoken": dict.fromkeys(("token", "token_secret"), "empty: no token is kept"),
    "auth_group": {
        "name": "Django's own names of permissions, models and migrations",
    },
    "auth_permission": {
        "codename": "Django's own names of permissions, models and migrations",
        "name": "Django's own names of permissions, models and migrations",
    },
    "console_cache": {
        "cache_key": "digests and ids of tenants: the audit chain, the worker's heartbeat, codes of OAuth for a minute",
        "value": "times and counts: the audit chain, the worker's heartbeat; ids of a person and a client for a minute",
    },
    "django_content_type": {
        "app_label": "Django's own names of permissions, models and migrations",
        "model": "Django's own names of permissions, models and migrations",
    },
    "django_migrations": {
        "app": "Django's own names of permissions, models and migrations",
        "name": "Django's own names of permissions, models and migrations",
    },
    "django_q_ormq": {
        "key": "the name of the queue",
        "payload": "the name of a function and ids of rows, signed; gone with the task",
    },
    "django_q_schedule": {
        "args": "empty: what time starts stands in rows of our own",
        "cluster": "empty: what time starts stands in rows of our own",
        "cron": "empty: what time starts stands in rows of our own",
        "func": "empty: what time starts stands in rows of our own",
        "hook": "empty: what time starts stands in rows of our own",
        "intended_date_kwarg": "empty: what time starts stands in rows of our own",
        "kwargs": "empty: what time starts stands in rows of our own",
        "name": "empty: what time starts stands in rows of our own",
        "schedule_type": "empty: what time starts stands in rows of our own",
        "task": "empty: what time starts stands in rows of our own",
    },
    "django_q_task": {
        "cluster": "names of functions and queues, and random names",
        "func": "names of functions and queues, and random names",
        "group": "names of functions and queues, and random names",
        "hook": "names of functions and queues, and random names",
        "id": "names of functions and queues, and random names",
        "name": "names of functions and queues, and random names",
    },
}


def catalog() -> Iterator[tuple[str, str]]:
    """Every column of the database that may hold text, whoever made it."""
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            cursor.execute(
                "SELECT c.relname, a.attname FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid "
                "JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = 'public' AND c.relkind IN ('r', 'p', "
                "'m', 'v') AND a.attnum > 0 AND NOT a.attisdropped AND NOT format_type(a.atttypid, NULL) = ANY(%s)",
                [list(NO_TEXT)],
            )
            yield from cursor.fetchall()
            return
        cursor.execute("SELECT name FROM sqlite_master WHERE type IN ('table', 'view')")
        for (table,) in cursor.fetchall():
            if table.startswith("sqlite_"):
                continue
            cursor.execute(f"PRAGMA table_info({connection.ops.quote_name(table)})")
            for _, name, kind, *_ in cursor.fetchall():
                if not kind.lower().startswith(NO_TEXT_ON_SQLITE):
                    yield table, name


def of_the_models() -> Iterator[tuple[str, str]]:
    for model in apps.get_models(include_auto_created=True):
        for field in model._meta.concrete_fields:
            if isinstance(field, TEXTS) and field.column:
                yield model._meta.db_table, field.column


def covered() -> set[tuple[str, str]]:
    return {
        (table, column)
        for eraser in erasure.registered()
        for table, columns in eraser.covers.items()
        for column in columns
    }


def declared() -> set[tuple[str, str]]:
    own = {model._meta.db_table: model.impersonal for model in apps.get_models() if hasattr(model, "impersonal")}
    return {(table, column) for table, columns in {**FREE, **own}.items() for column in columns}


def test_every_text_column_is_erased_or_declared_free_of_people_s_data() -> None:
    known = covered() | declared()
    missing = sorted({*catalog(), *of_the_models()} - known)
    named = ", ".join(f"{table}.{column}" for table, column in missing)
    assert not missing, (
        f"No eraser looks through {named}. Add the column to what its model declares as `personal`, or say in its "
        "`impersonal` why it never holds a person's data."
    )


def test_nothing_is_declared_free_that_is_not_there_or_that_an_eraser_covers() -> None:
    there = {*catalog(), *of_the_models()}
    assert not declared() - there
    assert not declared() & covered()
    assert not covered() - there
    own = [model.impersonal for model in apps.get_models() if hasattr(model, "impersonal")]
    assert all(reason.strip() for columns in [*FREE.values(), *own] for reason in columns.values())
