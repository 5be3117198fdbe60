"""The fixtures themselves: the queue is drained in the test, tables are emptied between tests, the browser is real."""

import pytest
from django.apps import apps
from django.contrib.auth import get_user_model
from django.core.management import call_command
from django.db import DatabaseError, connection, transaction
from django_q.models import Failure, OrmQ
from django_q.tasks import async_task

from tests import building, plugin, templates

pytestmark = pytest.mark.engines


def remember_a_word(table: str, word: str) -> None:
    """A task: one row."""
    with connection.cursor() as cursor:
        cursor.execute(f"INSERT INTO {table} (word) VALUES (%s)", [word])


def remember_another_later(table: str) -> None:
    """A task that queues a task."""
    async_task(remember_a_word, table, "later")


def fail() -> None:
    raise ValueError("failed on purpose")


@pytest.fixture
def words(db):
    with connection.cursor() as cursor:
        cursor.execute("CREATE TABLE word_of_a_test (word varchar(20))")
    return "word_of_a_test"


def _rows(table: str) -> list[str]:
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT word FROM {table} ORDER BY word")
        return [word for (word,) in cursor.fetchall()]


def test_drain_runs_what_is_queued_and_what_that_queues(words, drain):
    async_task(remember_a_word, words, "first")
    async_task(remember_another_later, words)

    assert drain() == 3

    assert _rows(words) == ["first", "later"]
    assert OrmQ.objects.count() == 0
    assert drain() == 0


def test_a_task_that_fails_under_drain_fails_the_test_unless_it_may(db, drain):
    async_task(fail)
    with pytest.raises(AssertionError, match="failed on purpose"):
        drain()

    async_task(fail)
    assert drain(may_fail=True) == 1

    assert Failure.objects.count() == 2
    assert OrmQ.objects.count() == 0


def test_a_task_queued_in_a_transaction_that_rolls_back_is_not_queued(db, drain):
    with transaction.atomic():
        async_task(fail)
        transaction.set_rollback(True)

    assert drain() == 0


@pytest.mark.only_db("sqlite")
@pytest.mark.django_db(transaction=True)
def test_the_triggers_of_sqlite_are_as_they_were_after_a_flush():
    _flush()
    before = _triggers()
    assert before

    _flush()

    assert _triggers() == before


def _flush() -> None:
    connection.ops.execute_sql_flush([])


def _triggers() -> list[tuple[str, str]]:
    with connection.cursor() as cursor:
        cursor.execute("SELECT name, sql FROM sqlite_master WHERE type = 'trigger' ORDER BY name")
        return list(cursor.fetchall())


@pytest.mark.django_db(transaction=True)
def test_history_cannot_be_deleted_after_a_flush_any_more_than_before():
    _flush()
    _make_append_only()
    try:
        with connection.cursor() as cursor:
            cursor.execute("INSERT INTO kept (word) VALUES ('one')")
        connection.ops.execute_sql_flush(['DELETE FROM "kept"'])
        assert _rows("kept") == []

        with connection.cursor() as cursor:
            cursor.execute("INSERT INTO kept (word) VALUES ('two')")
        with pytest.raises(DatabaseError, match="kept for ever"), connection.cursor() as cursor:
            cursor.execute("DELETE FROM kept")
    finally:
        with connection.cursor() as cursor:
            cursor.execute("DROP TABLE kept")
            if plugin.engine() == plugin.POSTGRES:
                cursor.execute("DROP FUNCTION keep")


def _make_append_only() -> None:
    postgres = [
        "CREATE FUNCTION keep() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'kept for ever'; END $$",
        "CREATE TRIGGER keep BEFORE DELETE ON kept FOR EACH ROW EXECUTE FUNCTION keep()",
    ]
    sqlite = ["CREATE TRIGGER keep BEFORE DELETE ON kept BEGIN SELECT RAISE(ABORT, 'kept for ever'); END"]
    with connection.cursor() as cursor:
        cursor.execute("CREATE TABLE kept (word varchar(20))")
        for statement in sqlite if plugin.engine() == plugin.SQLITE else postgres:
            cursor.execute(statement)


@pytest.mark.django_db(transaction=True)
def test_a_flush_leaves_no_row_in_any_table_of_a_model():
    building.remember("acme", "a note")

    call_command("flush", verbosity=0, interactive=False, reset_sequences=False)

    assert [model.__name__ for model in apps.get_models() if model._base_manager.exists()] == []


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("time", ["first", "second"])
def test_a_transactional_test_finds_an_empty_database(time):
    assert get_user_model().objects.count() == 0


@pytest.mark.only_db("sqlite")
def test_tables_are_migrated_anew_once_a_migration_or_what_it_imports_has_changed(tmp_path, settings):
    settings.BASE_DIR = tmp_path
    files = {
        "memory/migrations/0001_initial.py": "from memory.host.rules import keep",
        "memory/host/rules.py": "keep = 1",
        "memory/host/names.py": "",
        "requirements-dev.lock": "django==5.2",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)

    def digest_after_a_change_of(name: str) -> str:
        (tmp_path / name).write_text(files[name] + "  # changed")
        changed = templates.digest()
        (tmp_path / name).write_text(files[name])
        return changed

    changed = {name for name in files if digest_after_a_change_of(name) != templates.digest()}

    assert changed == set(files) - {"memory/host/names.py"}


@pytest.mark.only_db("sqlite")  # health asks no database
def test_the_browser_opens_a_page_of_the_console(live_server, page):
    answer = page.goto(f"{live_server.url}/healthz")

    assert answer
    assert answer.status == 200


@pytest.mark.only_db("sqlite")  # nor does a picture
def test_what_a_test_left_in_a_page_is_gone_in_the_next(live_server, windows, browser_context_args):
    mine = """() => [localStorage.length, sessionStorage.length, document.cookie, innerWidth,
      matchMedia("(prefers-color-scheme: dark)").matches]"""
    for _ in range(2):
        with windows.window(**browser_context_args) as page:
            page.goto(f"{live_server.url}/static/favicon.svg")
            assert page.evaluate(mine) == [0, 0, "", 1280, False]
            page.evaluate("localStorage.a = sessionStorage.a = document.cookie = 'a=1'")
            page.emulate_media(color_scheme="dark")
            page.set_viewport_size({"width": 390, "height": 800})
            page.context.new_page()
            assert page.evaluate(mine) == [1, 1, "a=1", 390, True]
    assert len(page.context.pages) == 1
