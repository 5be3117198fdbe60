"""``ask_human``: a question that stands on Needs you, and the answer of a person, waited for with progress."""

import json
import re
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.core.signals import request_finished
from django.db import close_old_connections
from django.test import Client
from django.utils import timezone
from pytest_django.fixtures import Settings

from memory.host import api_keys, audit, ids, vault
from memory.host.errors import MOST_PROBLEMS
from memory.host.models import Interrupt, Run
from openwop_console.runtime import engine, streams
from tests import building
from tests.budgets import cpu_within
from tests.fixtures_queue import Drain
from tests.mcp.conftest import Model, texts
from tests.mcp.test_oauth import granted
from tests.pages.conftest import body_of

pytestmark = pytest.mark.django_db
Models = Callable[..., Model]
Acts = Callable[..., None]


@pytest.fixture
def ada(client: Client) -> Client:
    """A browser in which Ada, who operates Acme, is signed in."""
    browser = Client()
    browser.force_login(building.operator("acme", "operator"))
    return browser


@pytest.fixture
def meanwhile(monkeypatch: pytest.MonkeyPatch, drain: Drain) -> Iterator[Acts]:
    """``meanwhile(act, ...)``: a worker, and then each act in its turn, while the host waits for the answer."""
    monkeypatch.setattr(streams, "_tell_until_nobody_waits", lambda: None)
    monkeypatch.setattr(streams, "_threads", [])

    def prepare(*acts: Callable[[], object]) -> None:
        turns = iter(acts)

        def wait(place: streams.Place, *, seen: int, seconds: float) -> bool:
            drain()
            next(turns, lambda: pytest.fail("the host waits on"))()
            drain()
            return True

        monkeypatch.setattr(streams, "wait", wait)

    yield prepare
    assert not streams._places, "whoever waited gave its place back"


def hang_up(answer: Any) -> None:
    """The client goes away. The connection to the database is the test's own, and stays."""
    request_finished.disconnect(close_old_connections)
    answer.close()
    request_finished.connect(close_old_connections)


def asked() -> Interrupt:
    return Interrupt.objects.of(building.tenant().id).select_related("run").get(resolved_at=None)


def answer_as(browser: Client, words: str) -> Any:
    question = asked()
    address = f"/runs/{ids.wire('run', question.run_id)}/answer/{ids.wire('int', question.id)}"
    return browser.post(address, {"resumeValue.answers.answer": words})


def frames(answer: Any) -> Iterator[dict[str, Any]]:
    for chunk in answer.streaming_content:
        for line in chunk.decode().splitlines():
            if line.startswith("data: "):
                yield json.loads(line.removeprefix("data: "))


def ask(
    model: Model, *, token: object = None, accept: str = "application/json, text/event-stream", **given: Any
) -> Any:
    meta = {} if token is None else {"_meta": {"progressToken": token}}
    params = {"name": "ask_human", "arguments": given, **meta}
    message = {"jsonrpc": "2.0", "id": "q1", "method": "tools/call", "params": params}
    return model.post(message, HTTP_ACCEPT=accept)


def test_a_question_stands_on_needs_you_and_its_answer_comes_back_after_progress(
    model: Models, ada: Client, meanwhile: Acts
) -> None:
    seen: list[str] = []
    meanwhile(
        lambda: seen.append(body_of(ada.get("/"))),
        lambda: seen.append(body_of(ada.get(f"/runs/{ids.wire('run', asked().run_id)}"))),
        lambda: answer_as(ada, "Blue"),
    )
    answer = ask(model(agents=("acme.writer",)), token="t", question="Which colour?", options=["Red", "Blue"])
    assert answer["Content-Type"] == "text/event-stream"
    *progress, last = frames(answer)
    assert "Which colour?" in seen[0]
    assert all(option in seen[1] for option in ("Red", "Blue"))
    told = [(each["method"], each["params"]["progressToken"], each["params"]["total"]) for each in progress]
    assert told == [("notifications/progress", "t", 300)] * 3
    assert sorted(each["params"]["progress"] for each in progress) == [each["params"]["progress"] for each in progress]
    result = last["result"]
    assert (last["id"], result["isError"], texts(result)) == ("q1", False, ["A person answered: Blue"])
    found = result["structuredContent"]
    run = Run.objects.of(building.tenant().id).get()
    assert (found["outcome"], found["answer"], found["runId"]) == ("answered", "Blue", ids.wire("run", run.id))
    assert found["answeredBy"].startswith("usr_")
    assert (run.status, run.agent_id) == ("completed", "acme.writer")


def test_without_a_token_the_stream_says_that_it_lives_and_without_a_stream_the_answer_is_json(
    model: Models, ada: Client, meanwhile: Acts
) -> None:
    meanwhile(lambda: answer_as(ada, "yes"))
    chunks = list(ask(model(), question="Shall I?").streaming_content)
    assert chunks[0] == b":keepalive\n\n"
    meanwhile(lambda: answer_as(ada, "no"))
    answer = ask(model(), question="Shall I?", accept="application/json")
    assert answer["Content-Type"] == "application/json"
    sign_of_life, *_ = chunks = list(answer.streaming_content)
    assert sign_of_life == b"\n"
    assert json.loads(b"".join(chunks))["result"]["structuredContent"]["answer"] == "no"


def test_nobody_answers_in_time_and_the_result_says_so(
    model: Models, meanwhile: Acts, monkeypatch: pytest.MonkeyPatch
) -> None:
    def time_is_up() -> None:
        run = asked().run
        engine.advance(run.tenant_id, run.id, holder="w/1", clock=lambda: timezone.now() + timedelta(seconds=61))

    meanwhile(time_is_up)
    *_, last = frames(ask(model(), question="Shall I?", timeoutSeconds=60))
    assert last["result"]["structuredContent"]["outcome"] == "timeout"
    assert last["result"]["isError"] is False
    assert "No answer came in time" in texts(last["result"])[0]
    assert Run.objects.of(building.tenant().id).get().status == "completed"


def test_a_question_whose_run_is_cancelled_is_withdrawn(model: Models, ada: Client, meanwhile: Acts) -> None:
    headers = building.headers()
    meanwhile(lambda: ada.post(f"/v1/runs/{ids.wire('run', asked().run_id)}/cancel", {}, "application/json", **headers))
    *_, last = frames(ask(model(), question="Shall I?"))
    assert last["result"]["structuredContent"]["outcome"] == "withdrawn"


def test_the_end_of_the_process_and_the_loss_of_the_key_end_the_wait(
    model: Models, meanwhile: Acts, monkeypatch: pytest.MonkeyPatch
) -> None:
    meanwhile(lambda: monkeypatch.setattr(streams, "is_ending", lambda: True))
    *_, last = frames(ask(model(), question="Shall I?"))
    assert last["result"]["structuredContent"]["outcome"] == "interrupted"


def test_an_answer_that_comes_after_the_key_was_revoked_is_not_handed_out(
    model: Models, ada: Client, meanwhile: Acts
) -> None:
    def revoke_and_answer() -> None:
        key = ids.parse("key", asked().run.principal)
        assert key
        api_keys.revoke_api_key(building.tenant().id, key, now=timezone.now())
        answer_as(ada, "TEAL")

    meanwhile(revoke_and_answer)
    *_, last = frames(ask(model(), question="Which colour?"))
    assert last["result"]["structuredContent"]["outcome"] == "interrupted"
    assert "TEAL" not in str(last)
    assert "your access has changed" in texts(last["result"])[0]


def test_a_grant_that_a_person_revokes_meanwhile_ends_the_wait_of_its_client(ada: Client, meanwhile: Acts) -> None:
    program = granted(ada, "Desk of Ada")

    def revoke() -> None:
        address = re.search(r'action="(/settings/grants/[^"]+/revoke)"', body_of(ada.get("/settings")))
        assert address
        assert ada.post(address[1]).status_code == 302
        answer_as(ada, "TEAL")

    meanwhile(revoke)
    *_, last = frames(ask(program.model, question="Which colour?"))
    assert last["result"]["structuredContent"]["outcome"] == "interrupted"
    assert "TEAL" not in str(last)
    assert program.status() == 401


def test_whoever_waits_gives_its_place_back(model: Models, ada: Client, meanwhile: Acts, settings: Settings) -> None:
    settings.OPENWOP_MAX_STREAMS = 1
    meanwhile(lambda: answer_as(ada, "yes"))
    first = ask(model(), question="Shall I?")
    full = ask(model(), question="And I?")
    assert (full["Content-Type"], full.json()["result"]["structuredContent"]["error"]) == ("application/json", "busy")
    assert Run.objects.of(building.tenant().id).count() == 1, "who cannot wait asks nobody"
    assert list(frames(first))
    hang_up(first)
    for accept in ("text/event-stream", "application/json"):
        hang_up(ask(model(), question="And I?", accept=accept))


def test_only_who_may_start_runs_asks_and_the_words_are_on_no_record(model: Models, meanwhile: Acts) -> None:
    meanwhile()
    refused = model(role="viewer").call("ask_human", question="Shall I?")
    assert (refused["isError"], refused["structuredContent"]["requiredScope"]) == (True, "runs:create")
    for wrong in ({}, {"question": ""}, {"question": "x", "options": ["a"]}, {"question": "x", "timeoutSeconds": 0}):
        assert model().call("ask_human", **wrong)["structuredContent"]["error"] == "validation_error"
    hang_up(ask(model(), question="Shall I go to the owl?"))
    records = audit.newest(building.tenant().id, audit.AuditFilter(action="mcp.call"))
    assert records[0].target == ids.wire("run", Run.objects.of(building.tenant().id).get().id)
    assert not any("owl" in str(record.details) for record in records)


def test_options_without_number_are_refused_in_a_moment(model: Models) -> None:
    """Or a body of two megabytes would keep a web process for hours."""
    with cpu_within(4):
        for options in ([{"at": at} for at in range(4_000)], [0] * 40_000):
            refused = model().call("ask_human", question="Which?", options=options)
            assert (refused["isError"], refused["structuredContent"]["error"]) == (True, "validation_error")
            assert 1 < len(refused["structuredContent"]["errors"]) <= MOST_PROBLEMS


def test_a_person_of_another_tenant_is_not_asked(model: Models, meanwhile: Acts) -> None:
    browser = Client()
    browser.force_login(building.operator("globex", "operator"))
    seen: list[str] = []
    meanwhile(
        lambda: seen.append(body_of(browser.get("/"))),
        lambda: seen.append(str(answer_as(browser, "x").status_code)),
    )
    waiting = ask(model(), question="Which colour?")
    next(iter(waiting.streaming_content))
    streams.wait(None, seen=0, seconds=0)  # type: ignore[arg-type]
    streams.wait(None, seen=0, seconds=0)  # type: ignore[arg-type]
    hang_up(waiting)
    assert "Which colour?" not in seen[0]
    assert seen[1] == "404"


def test_a_secret_that_a_model_puts_into_a_question_is_shown_to_nobody(
    model: Models, ada: Client, meanwhile: Acts
) -> None:
    place = {"kind": "tenant", "owner": ""}
    vault.set_secret(building.scope(), "token", "hunter2-hunter2", now=timezone.now(), **place)
    seen: list[str] = []
    meanwhile(lambda: seen.append(body_of(ada.get("/"))), lambda: answer_as(ada, "it is hunter2-hunter2"))
    *_, last = frames(ask(model(), question="Is it hunter2-hunter2?"))
    assert "Is it [REDACTED:token]?" in seen[0]
    assert last["result"]["structuredContent"]["answer"] == "it is [REDACTED:token]"
