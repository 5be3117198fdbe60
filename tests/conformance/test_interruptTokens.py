"""Signed tokens: what opens, what does not, and for how long (openwop-host 3.8). With a moved clock, in one process."""

import json
from base64 import urlsafe_b64decode, urlsafe_b64encode
from datetime import timedelta
from typing import Any

import pytest
import time_machine
from django.test import Client
from django.utils import timezone
from pytest_django.fixtures import Settings

from memory.host import ids, runs
from memory.host.models import Interrupt, Run
from openwop_console.runtime import interrupt_answers, run_operations
from tests import building
from tests.conformance import schemas

pytestmark = pytest.mark.django_db

ACCEPT = {"resumeValue": {"action": "accept"}}


def asking(workflow_id: str = "conformance-approval") -> tuple[Run, Interrupt]:
    run = building.execute(building.scope(), workflow_id)
    return run, Interrupt.objects.of(run.tenant_id).get(run_id=run.id)


def token_of(interrupt: Interrupt, **options: Any) -> str:
    return interrupt_answers.mint(interrupt, now=timezone.now(), **options)


def post(token: str, body: Any = ACCEPT, **headers: Any) -> tuple[int, Any]:
    answer = Client().post(f"/v1/interrupts/{token}", json.dumps(body), content_type="application/json", **headers)
    return answer.status_code, answer.json()


def refusal(token: str, body: Any = ACCEPT) -> tuple[int, str]:
    status, document = post(token, body)
    schemas.check("error-envelope", document)
    return status, document["error"]


def snapshot(run: Run, role: str = "owner") -> dict[str, Any]:
    answer = Client().get(f"/v1/runs/{ids.wire('run', run.id)}", **building.headers(role=role))
    found: dict[str, Any] = answer.json()
    return found


def claims_of(token: str) -> dict[str, Any]:
    body = token.partition(".")[0]
    claims: dict[str, Any] = json.loads(urlsafe_b64decode(body + "=" * (-len(body) % 4)))
    return claims


def forged(token: str, **changes: Any) -> str:
    """The token with other claims under the signature it had."""
    body = urlsafe_b64encode(json.dumps(claims_of(token) | changes).encode()).rstrip(b"=").decode()
    return f"{body}.{token.partition('.')[2]}"


def test_a_token_says_what_it_is_for_and_for_how_long() -> None:
    run, interrupt = asking()
    claims = claims_of(snapshot(run)["interrupt"]["interruptToken"])
    assert claims["runId"] == ids.wire("run", run.id)
    assert (claims["nodeId"], claims["interruptId"]) == ("gate", ids.wire("int", interrupt.id))
    assert claims["intent"] == "resolve"


def test_only_who_may_answer_sees_a_token() -> None:
    run, _ = asking()
    assert "interruptToken" in snapshot(run)["interrupt"]
    assert "interruptToken" in snapshot(run)["interrupts"][0]
    shown = snapshot(run, "viewer")["interrupt"]
    assert not {"interruptToken", "callbackUrl"} & set(shown)
    assert shown["payload"]["title"]
    bound = building.headers(role="operator", agents=("acme.writer",))
    found = Client().get(f"/v1/runs/{ids.wire('run', run.id)}", **bound).json()
    assert "interruptToken" not in found["interrupt"]


def test_a_token_shows_what_is_asked_without_a_key_and_changes_nothing() -> None:
    run, interrupt = asking()
    answer = Client().get(f"/v1/interrupts/{token_of(interrupt)}")
    document = answer.json()
    assert answer.status_code == 200
    assert (document["kind"], document["nodeId"], document["runId"]) == ("approval", "gate", ids.wire("run", run.id))
    assert document["data"]["actions"] == ["accept", "reject"]
    assert "no-store" in answer["Cache-Control"]
    assert runs.find(run.tenant_id, run.id).status == "waiting-approval"


def test_a_token_answers_once_and_so_does_every_other_of_the_same_interrupt() -> None:
    run, interrupt = asking()
    first, second = token_of(interrupt), snapshot(run)["interrupt"]["interruptToken"]
    assert post(first)[0] == 200
    assert refusal(first) == refusal(second) == (409, "interrupt_already_resolved")
    assert building.advance(run).status == "completed"
    assert refusal(first) == (409, "interrupt_already_resolved")
    interrupt.refresh_from_db()
    assert interrupt.resume_value["decidedBy"] == "token"


def test_a_token_lasts_half_an_hour() -> None:
    with time_machine.travel(timezone.now(), tick=False) as clock:
        _, interrupt = asking()
        token = token_of(interrupt)
        clock.shift(timedelta(minutes=30) - timedelta(milliseconds=1))
        assert Client().get(f"/v1/interrupts/{token}").status_code == 200
        clock.shift(timedelta(milliseconds=1))
        assert refusal(token) == (410, "interrupt_expired")
        assert Client().get(f"/v1/interrupts/{token}").status_code == 410
        assert post(token_of(interrupt))[0] == 200


def test_a_token_never_outlasts_the_question() -> None:
    with time_machine.travel(timezone.now(), tick=False) as clock:
        node = building.node("gate", "core.approvalGate", {"timeoutSec": 60})
        building.install("acme", building.definition("hasty", node))
        run, interrupt = asking("hasty")
        token = token_of(interrupt)
        clock.shift(timedelta(seconds=60))
        assert refusal(token) == (410, "interrupt_expired")
        assert "interruptToken" not in snapshot(run)["interrupt"]


def test_a_run_that_has_ended_is_not_answered_by_token() -> None:
    run, interrupt = asking()
    token = token_of(interrupt)
    run_operations.cancel_run(building.scope(), run.id, now=timezone.now())
    assert refusal(token) == (409, "interrupt_already_resolved")
    assert building.advance(run).status == "cancelled"
    assert refusal(token) == (409, "interrupt_already_resolved")


def test_a_token_for_looking_does_not_answer() -> None:
    run, interrupt = asking()
    token = token_of(interrupt, intent="inspect")
    assert Client().get(f"/v1/interrupts/{token}").status_code == 200
    assert refusal(token) == (403, "forbidden")
    assert runs.find(run.tenant_id, run.id).status == "waiting-approval"


@pytest.mark.parametrize("workflow", ["conformance-interrupt-auth-required", "conformance-interrupt-quorum"])
def test_a_gate_that_needs_a_person_refuses_a_genuine_token(workflow: str) -> None:
    run, interrupt = asking(workflow)
    assert refusal(token_of(interrupt)) == (403, "forbidden")
    assert Client().get(f"/v1/interrupts/{token_of(interrupt)}").status_code == 403
    assert runs.find(run.tenant_id, run.id).status == "waiting-approval"


def test_nothing_that_this_host_did_not_sign_opens_anything() -> None:
    _, interrupt = asking()
    token = token_of(interrupt)
    body, _, signature = token.partition(".")
    later = (timezone.now() + timedelta(days=1)).isoformat()
    wrong = [
        forged(token, expiresAt=later),
        forged(token, intent="resolve "),
        f"{body}.{signature[:-2]}",
        f"{body}.",
        body,
        f".{signature}",
        f"{body}.{signature}.{signature}",
        "x",
        "not-a-token",
        "\u00e9.\u00e9",
        "a" * 5000,
        f"{body}A.{signature}",
    ]
    for text in wrong:
        assert refusal(text) == (404, "interrupt_not_found"), text
        assert Client().get(f"/v1/interrupts/{text}").status_code == 404
    assert post(token)[0] == 200


def test_a_key_that_was_rotated_away_still_opens_while_it_is_a_fallback(settings: Settings) -> None:
    _, interrupt = asking()
    token, before = token_of(interrupt), settings.SECRET_KEY
    settings.SECRET_KEY = "another"
    assert refusal(token)[0] == 404
    settings.SECRET_KEY_FALLBACKS = [before]
    assert post(token)[0] == 200


def test_the_body_is_closed_and_a_value_that_is_no_answer_leaves_the_token_good() -> None:
    _, interrupt = asking()
    token = token_of(interrupt)
    bodies: list[Any] = [{}, {"resumeValue": {"action": "merge"}}, {**ACCEPT, "voter": "approver-1"}, []]
    for body in bodies:
        assert refusal(token, body)[0] == 400
    assert post(token)[0] == 200


@pytest.mark.parametrize("path", ["/v1/interrupts", "/v1/interrupts/", "/v1/interrupts/a/b", "/v1/interruptsx"])
def test_no_other_address_is_open_without_a_key(path: str) -> None:
    assert Client().get(path).status_code == 401


def test_a_token_is_for_its_own_tenant_whoever_sends_it_and_is_audited_as_nobody_s() -> None:
    run, interrupt = asking()
    assert post(token_of(interrupt), **building.headers("globex"))[0] == 200
    assert runs.find(run.tenant_id, run.id).status == "running"
