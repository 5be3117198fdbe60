"""The environment says what a host is; what it cannot mean stops the start with one sentence."""

import os
import stat
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from io import StringIO
from pathlib import Path

import pytest
from django.conf import settings
from django.core.management import call_command, get_commands, load_command_class

from openwop_console.management.base import DatabaseCommand
from openwop_console.process import data_folder

# The database has no part in this.
pytestmark = [pytest.mark.only_db("sqlite"), pytest.mark.engines]

# Read by a fresh interpreter, since settings are read once.
SHOW = "from openwop_console import settings; print(({}))"


@pytest.fixture
def fresh(tmp_path: Path):
    """Runs Python in the project with nothing of ours in its environment but what is given."""

    def run(*words: str, **environment: str) -> subprocess.CompletedProcess[str]:
        clean = {key: value for key, value in os.environ.items() if not key.startswith(("OPENWOP_", "DJANGO_"))}
        clean.pop("DATABASE_URL", None)
        return subprocess.run(
            [sys.executable, *words],
            cwd=settings.BASE_DIR,
            env=clean | {"OPENWOP_DATA_DIR": str(tmp_path / "data")} | environment,
            capture_output=True,
            text=True,
            check=False,
        )

    return run


@pytest.fixture
def refusal(fresh):
    """The one line on stderr with which ``manage.py check`` refuses to start."""

    def read(**environment: str) -> str:
        done = fresh("manage.py", "check", **environment)
        assert done.returncode == 1
        assert done.stdout == ""
        assert len(done.stderr.splitlines()) == 1, done.stderr
        return done.stderr

    return read


@pytest.mark.parametrize(
    ("name", "value", "says"),
    [
        ("OPENWOP_ENV", "prod", "development, production, test"),
        ("OPENWOP_MEMORY_BACKEND", "forever", "long-term, ephemeral"),
        ("OPENWOP_PROPOSALS_ACTIVATION", "yes", "approval-gate, direct-rbac"),
        ("OPENWOP_SYNTHESIS_ENDPOINT", "perhaps", "OPENWOP_SYNTHESIS_ENDPOINT"),
        ("OPENWOP_TEST_SEAM_ENABLED", "perhaps", "OPENWOP_TEST_SEAM_ENABLED"),
        ("OPENWOP_WORKERS", "0", "OPENWOP_WORKERS"),
        ("OPENWOP_ALLOWED_HOSTS", "memory.example,http://x", "'http://x'"),
        ("OPENWOP_ERASURE_JOURNAL", "/dev/null", "must be a file"),
        ("OPENWOP_DATA_DIR", "/dev/null/data", "/dev/null/data cannot be created"),
        ("DATABASE_URL", "mysql://host/name", "sqlite:// or postgresql://"),
        ("DATABASE_URL", "sqlite://:memory:", "must be a file"),
    ],
)
def test_a_value_that_cannot_be_meant_is_refused_in_one_line_that_names_its_variable(refusal, name, value, says):
    line = refusal(**{name: value})

    assert name in line
    assert says in line


PROCESSES = SHOW.format("settings.OPENWOP_WEB_PROCESSES, settings.OPENWOP_WEB_THREADS")


def test_web_processes_and_threads_are_settings_with_defaults_by_cores_and_engine(fresh) -> None:
    cores = len(os.sched_getaffinity(0))
    server = {"DATABASE_URL": "postgresql://nobody@127.0.0.1:1/none"}
    assert fresh("-c", PROCESSES).stdout.strip() == f"({max(2, min(cores, 4))}, 2)"
    assert fresh("-c", PROCESSES, **server).stdout.strip() == f"({max(2, min(cores, 16))}, 4)"
    given = {"OPENWOP_WEB_PROCESSES": "3", "OPENWOP_WEB_THREADS": "7"}
    assert fresh("-c", PROCESSES, **given).stdout.strip() == "(3, 7)"


def test_an_empty_former_key_is_none(fresh) -> None:
    given = {"OPENWOP_SECRET_KEY_FALLBACKS": "the-key-before,"}
    assert fresh("-c", SHOW.format("settings.SECRET_KEY_FALLBACKS"), **given).stdout.strip() == "['the-key-before']"


def test_production_needs_a_secret_key_from_its_operator(refusal, tmp_path):
    assert "OPENWOP_SECRET_KEY must be set" in refusal(OPENWOP_ENV="production")
    assert not (tmp_path / "data" / "secret_key").exists()


def test_production_refuses_a_secret_key_that_is_short_in_one_sentence(refusal):
    assert refusal(OPENWOP_ENV="production", OPENWOP_SECRET_KEY="k" * 31) == (
        "Settings: OPENWOP_SECRET_KEY must have at least 32 characters when OPENWOP_ENV is production\n"
    )


@pytest.mark.parametrize(
    ("name", "value"), [("OPENWOP_TRUSTED_PROXIES", "0"), ("OPENWOP_PUBLIC_URL", "http://memory.acme.example")]
)
def test_production_refuses_what_would_redirect_its_pages_for_ever_or_lose_its_cookies(refusal, name, value):
    assert name in refusal(OPENWOP_ENV="production", OPENWOP_SECRET_KEY="k" * 32, **{name: value})


def test_production_trusts_one_proxy_unless_it_is_given_another_number(fresh):
    shown = SHOW.format("settings.OPENWOP_TRUSTED_PROXIES, settings.SECURE_PROXY_SSL_HEADER")

    done = fresh("-c", shown, OPENWOP_ENV="production", OPENWOP_SECRET_KEY="k" * 32)

    assert done.stdout == "(1, ('HTTP_X_FORWARDED_PROTO', 'https'))\n"


def test_a_command_on_an_empty_database_says_that_it_must_be_migrated_first(fresh):
    done = fresh("manage.py", "create_tenant", "acme")

    assert done.returncode == 1
    assert done.stderr == (
        "CommandError: The database lacks migrations of this release; run this first: manage.py migrate\n"
    )


def test_every_command_that_works_on_the_tables_looks_for_them_first():
    elsewhere = {"check", "console", "migrate", "restore"}  # which need no tables, make their own, or migrate
    ours = [name for name, app in get_commands().items() if app == "openwop_console" and name not in elsewhere]

    assert ours
    for name in ours:
        assert isinstance(load_command_class("openwop_console", name), DatabaseCommand), name


@pytest.mark.django_db
def test_no_administrator_is_told_that_models_lack_migrations():
    out = StringIO()

    call_command("makemigrations", check_changes=True, dry_run=True, stdout=out)

    assert out.getvalue() == "No changes detected\n"


def test_no_command_but_migrate_imports_every_view_to_check_it_first():
    ours = [name for name, app in get_commands().items() if app == "openwop_console"]

    checking = {name for name in ours if load_command_class("openwop_console", name).requires_system_checks}

    assert checking == {"migrate"}


@pytest.mark.parametrize(
    ("sent", "status", "location"),
    [
        ({}, 421, None),  # through a proxy that does not say it, or past the proxy
        ({"HTTP_X_FORWARDED_PROTO": "http"}, 301, "https://memory.acme.example/login"),
        ({"HTTP_X_FORWARDED_PROTO": "https"}, 200, None),
        # A proxy behind the one that ends TLS, which says what itself was spoken to in.
        ({"HTTP_X_FORWARDED_PROTO": "http", "HTTP_SEC_FETCH_SITE": "none"}, 421, None),
        ({"HTTP_X_FORWARDED_PROTO": "https", "HTTP_SEC_FETCH_SITE": "none"}, 200, None),
    ],
)
@pytest.mark.django_db
def test_a_page_never_redirects_to_itself_behind_a_proxy(client, settings, sent, status, location):
    settings.SECURE_SSL_REDIRECT = True
    settings.SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
    settings.ALLOWED_HOSTS = ["memory.acme.example"]

    answer = client.get("/login", HTTP_HOST="memory.acme.example", **sent)

    assert (answer.status_code, answer.headers.get("Location")) == (status, location)


@pytest.mark.django_db
def test_no_program_that_speaks_clear_text_is_redirected_and_every_browser_is(client, settings):
    settings.SECURE_SSL_REDIRECT = True
    settings.SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")

    def redirected(path):
        answer = client.get(path, HTTP_HOST="localhost", HTTP_X_FORWARDED_PROTO="http")
        return answer.status_code == 301 and answer["Location"] == f"https://localhost{path}"

    of_programs = (
        "/.well-known/openwop", "/.well-known/openintent.json", "/.well-known/oauth-authorization-server",
        "/v1/runs", "/api/v1/agents", "/mcp", "/oauth/token", "/oauth/register", "/oauth/revoke", "/healthz", "/readyz",
    )  # fmt: skip
    assert [path for path in of_programs if redirected(path)] == []
    of_browsers = ("/", "/login", "/memory", "/oauth/authorize", "/mcpx", "/healthz/x")
    assert [path for path in of_browsers if not redirected(path)] == []


def test_production_sends_cookies_over_tls_alone_and_asks_browsers_for_it(fresh):
    shown = SHOW.format("settings.SESSION_COOKIE_SECURE, settings.CSRF_COOKIE_SECURE, settings.SECURE_SSL_REDIRECT")

    production = fresh("-c", shown, OPENWOP_ENV="production", OPENWOP_SECRET_KEY="k" * 32)
    development = fresh("-c", shown)

    assert production.stdout == "(True, True, True)\n"
    assert development.stdout == "(False, False, False)\n"


def test_a_command_that_keeps_nothing_makes_no_file_and_no_folder(fresh, tmp_path):
    for words in (["help"], ["check", "--deploy", "--tag", "security"]):
        done = fresh("manage.py", *words)

        assert done.returncode == 0, done.stderr
        assert list(tmp_path.iterdir()) == []


def test_a_database_in_a_folder_that_is_not_there_is_refused_and_the_folder_not_made(fresh, tmp_path):
    nowhere = f"sqlite:///{tmp_path}/nowhere/console.sqlite3"

    done = fresh("manage.py", "migrate", "--skip-checks", DATABASE_URL=nowhere)

    assert done.returncode == 1
    assert not (tmp_path / "nowhere").exists()


def test_outside_production_the_secret_key_is_made_once_and_kept_for_the_owner_alone(fresh, tmp_path):
    shown = SHOW.format("settings.SECRET_KEY")

    with ThreadPoolExecutor() as together:
        keys = {run.stdout for run in together.map(lambda _: fresh("-c", shown), range(4))}

    kept = tmp_path / "data" / "secret_key"
    assert keys == {kept.read_text() + "\n"}
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    assert stat.S_IMODE(kept.parent.stat().st_mode) == 0o700


def test_a_check_leaves_the_secret_key_that_is_there(fresh, tmp_path):
    fresh("-c", SHOW.format("str(settings.SECRET_KEY)"))
    kept = (tmp_path / "data" / "secret_key").read_text()

    done = fresh("manage.py", "check", "--deploy", "--tag", "security")

    assert done.returncode == 0, done.stderr
    assert [each.name for each in (tmp_path / "data").iterdir()] == ["secret_key"]
    assert (tmp_path / "data" / "secret_key").read_text() == kept


def test_of_many_who_make_a_kept_text_at_the_same_moment_all_get_the_first(tmp_path):
    file = tmp_path / "kept"

    with ThreadPoolExecutor(16) as together:
        texts = list(together.map(lambda number: data_folder.kept_text(file, lambda: str(number)), range(64)))

    assert set(texts) == {file.read_text()}
    assert list(tmp_path.iterdir()) == [file]


def test_one_process_at_a_time_prepares_a_data_folder(tmp_path):
    with data_folder.alone(tmp_path):
        assert data_folder.is_locked(tmp_path, "console")
    assert not data_folder.is_locked(tmp_path, "console")


def test_the_public_address_is_a_host_that_is_served_and_an_origin_that_is_trusted(fresh):
    shown = SHOW.format("settings.ALLOWED_HOSTS, settings.CSRF_TRUSTED_ORIGINS")

    done = fresh("-c", shown, OPENWOP_PUBLIC_URL="https://memory.acme.example/", OPENWOP_ALLOWED_HOSTS="10.0.0.7")

    assert done.stdout == "(['10.0.0.7', 'memory.acme.example'], ['https://memory.acme.example'])\n"


def test_a_public_address_that_is_none_is_refused(refusal):
    assert "OPENWOP_PUBLIC_URL" in refusal(OPENWOP_PUBLIC_URL="memory.acme.example")


def test_the_deployment_check_has_no_complaint_and_makes_no_file(fresh, tmp_path):
    key = "no-host-has-this-key-it-is-long-only-because-check-asks-for-it"

    done = fresh(
        *("manage.py", "check", "--deploy", "--fail-level", "WARNING"),
        OPENWOP_ENV="production",
        OPENWOP_SECRET_KEY=key,
    )

    assert done.returncode == 0, done.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_web_process_imports_no_closed_seam_and_the_collector_passes_over_what_is_imported(fresh):
    shown = "print(gc.isenabled(), gc.get_freeze_count() > {} * len(gc.get_objects()))"
    setup = f"import gc, django; gc.disable(); django.setup(); {shown.format(10)}"
    # A web process imports every view.
    served = f"import sys; from openwop_console import asgi; {shown.format(20)}"
    seams = "print([name for name in sys.modules if name.startswith('openwop_console.test_seams')])"
    done = fresh(
        *("-c", f"{setup}; gc.unfreeze(); gc.disable(); {served}; {seams}"),
        DJANGO_SETTINGS_MODULE="openwop_console.settings",
        OPENWOP_TEST_SEAM_ENABLED="false",
    )
    assert done.stdout == "True True\nTrue True\n[]\n"
