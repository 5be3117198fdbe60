"""Health: what an operator sees of the host at two in the morning."""

import json
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.core.cache import caches
from django.db import OperationalError, ProgrammingError, connection
from django.test import Client
from django.utils import timezone
from django_q.models import OrmQ
from pytest_django.fixtures import Settings

from memory.host import ids, runs, vault
from openwop_console import health
from openwop_console.runtime import run_operations
from openwop_console.runtime.run_operations import RunRequest
from tests import building
from tests.pages.conftest import SignIn, body_of

pytestmark = pytest.mark.django_db


def state(browser: Client) -> Any:
    return json.loads(body_of(browser.get("/health?format=json")))


def test_the_page_says_what_the_host_is_and_that_no_worker_runs_until_one_is_heard_of(ada: Client) -> None:
    shown = body_of(ada.get("/health"))
    assert "No worker has reported" in shown
    assert "not ready" in shown
    caches["default"].set(health.HEARTBEAT, timezone.now(), 45)
    assert "No worker has reported" not in body_of(ada.get("/health"))
    found = state(ada)
    assert found["workerAlive"] is True
    assert found["database"]["bytes"] > 0
    assert found["database"]["unappliedMigrations"] == []
    assert 0 < found["disk"]["freeBytes"] < found["disk"]["totalBytes"]


@pytest.mark.engines
def test_tasks_that_wait_too_long_are_said_with_their_age(ada: Client) -> None:
    now = timezone.now()
    OrmQ.objects.all().delete()
    OrmQ.objects.create(key="console", payload="x", lock=now - timedelta(minutes=5))
    OrmQ.objects.create(key="console", payload="x", lock=now + timedelta(minutes=5))
    queue = state(ada)["queue"]
    assert (queue["waiting"], queue["running"]) == (1, 1)
    assert "the workers are not keeping up" in body_of(ada.get("/health"))


@pytest.mark.engines
def test_runs_that_no_worker_has_taken_are_counted_with_the_tasks(ada: Client) -> None:
    acme, now = building.scope(), timezone.now()
    OrmQ.objects.all().delete()
    ages = [timedelta(minutes=5), timedelta(0), timedelta(0)]
    late, _, claimed = [run_operations.create_run(acme, RunRequest("conformance-noop"), now=now - age) for age in ages]
    assert runs.claim(acme.tenant_id, claimed.id, holder="a/1", now=now)
    queue = state(ada)["queue"]
    assert (queue["waiting"], queue["running"]) == (2, 1)
    keeps_up = "The workers do not keep up"
    assert any(keeps_up in problem for problem in health.problems(now=now))
    building.advance(late)
    assert not any(keeps_up in problem for problem in health.problems(now=now))


def test_a_slow_request_is_listed_by_its_route_and_never_by_what_was_asked_for(
    ada: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    caches["default"].delete(health.SLOW)
    ada.get("/memory?q=nothing-slow")
    assert state(ada)["slowRequests"] == []
    with monkeypatch.context() as patched:
        patched.setattr(health, "SLOW_S", 0.0)
        ada.get("/memory?q=a-secret-word")
    [slow] = state(ada)["slowRequests"]
    assert (slow["method"], slow["route"], slow["status"]) == ("GET", "memory", 200)
    assert "a-secret-word" not in json.dumps(state(ada))
    assert "GET /memory" in body_of(ada.get("/health"))


def test_an_answer_does_not_fail_because_its_slowness_cannot_be_noted(
    ada: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nor where the table for it is not there yet, as on a host that was just restored."""

    def refuse(execute: Callable[..., Any], sql: str, *given: Any) -> Any:
        if "console_cache" in sql:
            raise ProgrammingError('relation "console_cache" does not exist')
        return execute(sql, *given)

    with monkeypatch.context() as patched, connection.execute_wrapper(refuse):
        patched.setattr(health, "SLOW_S", 0.0)
        assert Client().get("/login").status_code == 200


def test_a_request_that_the_database_refused_does_not_wait_for_it_again_to_be_listed_as_slow(
    ada: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(execute: Callable[..., Any], sql: str, *given: Any) -> Any:
        if "memory_memoryentry" in sql:
            raise OperationalError("database is locked")
        return execute(sql, *given)

    caches["default"].delete(health.SLOW)
    with monkeypatch.context() as patched, connection.execute_wrapper(refuse):
        patched.setattr(health, "SLOW_S", 0.0)
        read, sent = ada.get("/memory?q=beans"), ada.post("/memory/views", {"name": "mine"})
    assert (read.status_code, sent.status_code) == (503, 503)
    assert '<a class="button primary" href="/memory?q=beans">Try again</a>' in body_of(read)
    assert "Try again" not in body_of(sent)
    assert "what you typed is still in the form" in body_of(sent)
    assert "Sign in" not in body_of(read), "the session goes on"
    assert state(ada)["slowRequests"] == []


def test_a_page_that_needs_the_vault_says_that_it_was_sealed_with_another_key(
    sign_in: SignIn, settings: Settings
) -> None:
    vault.set_secret(building.scope(), "crm", "first-value", kind="tenant", owner="", now=timezone.now())
    settings.SECRET_KEY, settings.SECRET_KEY_FALLBACKS = "another key", []
    browser = sign_in()
    browser.raise_request_exception = False
    answer = browser.post("/settings/secrets", {"name": "crm", "value": "second-value"})
    assert answer.status_code == 503
    assert "was sealed with another OPENWOP_SECRET_KEY" in body_of(answer)
    assert "until an administrator starts the console with its previous key" in body_of(answer)
    assert "first-value" not in body_of(answer)


@pytest.mark.engines
def test_a_vault_that_the_key_does_not_open_is_locked_and_the_page_says_what_to_do(
    ada: Client, settings: Settings
) -> None:
    caches["default"].set(health.HEARTBEAT, True, 45)
    vault.set_secret(building.scope(), "crm", "first-value", kind="tenant", owner="", now=timezone.now())
    assert state(ada)["vaultLocked"] is False
    assert "The vault is locked" not in body_of(ada.get("/health"))
    former = settings.SECRET_KEY
    settings.SECRET_KEY, settings.SECRET_KEY_FALLBACKS = "another key", []
    browser = Client()  # sessions are signed with the key as well
    browser.force_login(building.operator("acme", "owner", email="eve@acme.example"))
    assert state(browser)["vaultLocked"] is True
    ready = browser.get("/readyz")
    assert (ready.status_code, ready.json()["reason"]) == (503, health.LOCKED)
    for path in ("/v1/host/console/memory", "/api/v1/memory"):
        body = {
            "memoryRef": "notes",
            "content": "x",
            "namespace": "n",
            "key": "k",
            "memory_type": "episodic",
            "value": {},
        }
        kept = ("memoryRef", "content") if path.startswith("/v1") else ("namespace", "key", "memory_type", "value")
        refused = Client().post(
            path,
            {name: body[name] for name in kept},
            content_type="application/json",
            **building.headers(),
            HTTP_X_AGENT_ID="a",
        )
        assert (refused.status_code, refused.json()["error"].lower()) == (503, "vault_locked"), path
        assert refused["Retry-After"] == "60"
    shown = body_of(browser.get("/health"))
    for words in ("The vault is locked", "not ready", "OPENWOP_SECRET_KEY_FALLBACKS", "rotate_vault_key"):
        assert words in shown
    assert "The vault is locked" in body_of(browser.get("/"))
    settings.SECRET_KEY_FALLBACKS = [former]
    assert state(browser)["vaultLocked"] is False


def test_work_that_waits_says_that_no_worker_is_running(ada: Client) -> None:
    acme, now = building.scope(), timezone.now()
    run = run_operations.create_run(acme, RunRequest("conformance-noop"), now=now)
    pages = [f"/runs/{ids.wire('run', run.id)}", "/memory/export"]
    ada.post("/memory/export", {"format": "csv"})
    building.remember("acme", "Marta prefers mail.")
    pages.append(ada.post("/consolidation/order", {"kind": "consolidate", "ref": "notes"})["Location"])
    pages.append(ada.post("/forget", {"subject": "Marta", "aliases": ""})["Location"])
    words = "No worker is running on this host"
    caches["default"].delete(health.HEARTBEAT)
    assert [page for page in pages if words not in body_of(ada.get(page))] == []
    caches["default"].set(health.HEARTBEAT, timezone.now(), 45)
    assert [page for page in pages if words in body_of(ada.get(page))] == []


def test_the_list_of_slow_requests_keeps_the_newest_twenty(ada: Client) -> None:
    for number in range(30):
        health.note_slow(health.Slow(timezone.now(), "GET", f"route-{number}", 200, 2.0))
    listed = state(ada)["slowRequests"]
    assert [each["route"] for each in listed] == [f"route-{number}" for number in range(29, 9, -1)]


def test_a_viewer_is_told_which_permission_is_missing(sign_in: SignIn) -> None:
    answer = sign_in(role="viewer").get("/health")
    assert answer.status_code == 403
    assert "passes:run" in body_of(answer)
