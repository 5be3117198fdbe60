"""Every error of both faces is JSON in the face's own shape; a page answers a page; nobody sees a stack trace."""

import gzip
import json
from itertools import product
from typing import Any

import pytest
from django.test import Client, RequestFactory

from memory.host import ids
from memory.host.errors import Invalid, RateLimited, StoreUnavailable
from openwop_console import errors
from openwop_console.runtime import run_operations
from tests import building
from tests.conformance import schemas
from tests.peopled import routes

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("path", ["/v1", "/v1/nothing", "/v1/runs/run_x/nothing", "/v1/webhook", "/v1/runs:nothing"])
@pytest.mark.parametrize("method", ["get", "post", "delete", "patch"])
def test_an_unrouted_openwop_address_answers_the_envelope(client: Client, path: str, method: str) -> None:
    answer = getattr(client, method)(path, **building.headers())
    assert (answer.status_code, answer.json()["error"]) == (404, "not_found")
    schemas.check("error-envelope", answer.json())


def test_a_run_that_is_active_already_says_when_to_come_back(client: Client) -> None:
    said = json.dumps({"workflowId": "conformance-cancellable", "scopeId": "import-7"})
    sent = {"content_type": "application/json", "HTTP_X_DEDUP": "enforce", **building.headers()}
    answers = [client.post("/v1/runs", said, **sent) for _ in range(2)]
    assert [answer.status_code for answer in answers] == [201, 409]
    assert int(answers[1]["Retry-After"]) == answers[1].json()["details"]["retryAfter"]


@pytest.mark.parametrize(("wait", "header"), [({"retryAfterMs": 1}, "1"), ({"retryAfterMs": 1500}, "2")])
def test_a_wait_is_said_in_whole_seconds_that_are_not_too_few(
    rf: RequestFactory, wait: dict[str, Any], header: str
) -> None:
    assert errors.answer(rf.get("/v1/runs"), RateLimited(**wait))["Retry-After"] == header


def test_an_outage_is_the_server_s_error_to_a_client_of_oauth(rf: RequestFactory) -> None:
    for refusal, code in ((StoreUnavailable(), "server_error"), (Invalid(), "invalid_request")):
        answer = errors.answer(rf.post("/oauth/token"), refusal)
        assert json.loads(answer.content)["error"] == code


@pytest.mark.parametrize("path", ["/api/v1", "/api/v1/nothing", "/api/v2/nothing"])
def test_an_unrouted_openintent_address_answers_its_flat_shape(client: Client, path: str) -> None:
    answer = client.get(path, **building.headers())
    assert answer.status_code == 404
    assert answer.json() == {
        "error": "ENTRY_NOT_FOUND",
        "message": "There is nothing here by that id.",
        "detail": "There is nothing here by that id.",
    }


@pytest.mark.parametrize("path", ["/v1/runs", "/v1/nothing", "/v1/runs/run_x", "/v1/host/console/memory"])
def test_without_a_credential_everything_is_401_before_existence(client: Client, path: str) -> None:
    answer = client.get(path)
    assert (answer.status_code, answer.json()["error"]) == (401, "unauthenticated")
    assert answer["WWW-Authenticate"] == "Bearer"


@pytest.mark.parametrize(
    "header",
    [
        "Bearer",
        "Bearer ",
        "Bearer x",
        "Basic abc",
        "Bearer owk_x_y_z",
        "Bearer owk_" + "0" * 32 + "_" + "0" * 32 + "_s",
        "\x00",
    ],
)
def test_a_key_that_is_none_is_401_and_never_says_why(client: Client, header: str) -> None:
    answer = client.get("/v1/runs/run_x", HTTP_AUTHORIZATION=header)
    assert (answer.status_code, answer.json()["error"]) == (401, "unauthenticated")
    assert answer.json()["message"] == "A valid credential is required."


def test_both_headers_carry_a_key(client: Client) -> None:
    key = building.key()
    assert client.get("/v1/workflows/conformance-noop", HTTP_X_API_KEY=key).status_code == 200
    assert client.get("/v1/workflows/conformance-noop", HTTP_AUTHORIZATION=f"Bearer {key}").status_code == 200


def test_a_session_opens_no_face(client: Client) -> None:
    client.force_login(building.operator(), backend="allauth.account.auth_backends.AuthenticationBackend")
    assert client.get("/v1/workflows/conformance-noop").status_code == 401


@pytest.mark.parametrize(
    "body",
    [
        b"{",
        b"\xff\xfe",
        b"[" * 100_000,
        b'{"workflowId": "conformance-noop", "inputs": {"a": ' + b"[" * 70 + b"]" * 70 + b"}}",
        b'{"workflowId": NaN}',
        b'{"workflowId": "\\ud800"}',
        b'{"workflowId": "a\\u0000b"}',
        b'{"workflowId": 1e999}',
        b"[]",
        b'"text"',
        b"null",
        b"{}",
    ],
)
def test_a_body_that_cannot_be_read_is_a_clear_400(client: Client, body: bytes) -> None:
    answer = client.post("/v1/runs", body, content_type="application/json", **building.headers())
    assert (answer.status_code, answer.json()["error"]) == (400, "validation_error")
    schemas.check("error-envelope", answer.json())


def test_a_body_over_the_limit_is_413_and_one_of_another_type_415(client: Client) -> None:
    headers = building.headers()
    large = client.post("/v1/runs", b'{"x":"' + b"a" * 3_000_000 + b'"}', content_type="application/json", **headers)
    assert (large.status_code, large.json()["error"]) == (413, "payload_too_large")
    typed = client.post("/v1/runs", "a=1", content_type="application/x-www-form-urlencoded", **headers)
    assert (typed.status_code, typed.json()["error"]) == (415, "unsupported_media_type")


def test_a_method_that_is_not_answered_is_405_in_the_envelope(client: Client) -> None:
    answer = client.delete("/v1/workflows/conformance-noop", **building.headers())
    assert (answer.status_code, answer.json()["error"]) == (405, "method_not_allowed")


def test_every_address_of_a_face_answers_options_and_head_wherever_it_is_read(client: Client) -> None:
    headers, wrong = building.headers(), {}
    for route in routes(faces=("v1/", "api/v1/")):
        address, methods = f"/{route.address(route.unknown())}", {*route.operations}
        told = client.options(address, **headers)
        allowed = methods | {"OPTIONS"} | ({"HEAD"} if "GET" in methods else set())
        if "GET" in methods:
            whole, head = client.get(address, **headers), client.head(address, **headers)
            if (head.status_code, head.get("Content-Type")) != (whole.status_code, whole.get("Content-Type")):
                wrong[address] = head.status_code
        if (told.status_code, set(told.get("Allow", "").split(", ")), told.content) != (204, allowed, b""):
            wrong[address, "OPTIONS"] = told.status_code
    assert wrong == {}


def test_a_head_of_a_stream_ends_with_its_head(client: Client) -> None:
    run = ids.wire("run", building.open_run(building.scope()).id)
    head = client.head(f"/v1/runs/{run}/events", HTTP_ACCEPT="text/event-stream", **building.headers())
    assert (head.status_code, head["Content-Type"], head.streaming) == (200, "text/event-stream", False)


def test_a_body_in_a_coding_is_415_and_says_so_to_who_may_send_it(client: Client) -> None:
    body = gzip.compress(b'{"workflowId": "conformance-noop"}')
    for path, role, status in (
        ("/v1/runs", "owner", 415),
        ("/api/v1/memory", "owner", 415),
        ("/v1/runs", "viewer", 403),
    ):
        sent = {"content_type": "application/json", "HTTP_CONTENT_ENCODING": "gzip", **building.headers(role=role)}
        assert client.post(path, body, **sent).status_code == status
    plain = {"content_type": "application/json", "HTTP_CONTENT_ENCODING": "identity", **building.headers()}
    assert client.post("/v1/runs", b'{"workflowId": "conformance-noop"}', **plain).status_code == 201


@pytest.mark.parametrize("query", ["lastSequence=x", "timeout=61", "timeout=-1"])
def test_a_query_that_is_none_is_400(client: Client, query: str) -> None:
    run = building.remember("acme", "x").run
    answer = client.get(f"/v1/runs/run_{run.id.hex}/events/poll?{query}", **building.headers())
    assert (answer.status_code, answer.json()["error"]) == (400, "validation_error")


def test_a_bug_tells_a_correlation_id_and_nothing_else(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*args: Any, **options: Any) -> None:
        raise ZeroDivisionError("tok-secret-1234")

    monkeypatch.setattr(run_operations, "read_workflow", broken)
    answer = client.get("/v1/workflows/conformance-noop", **building.headers())
    assert answer.status_code == 500
    assert answer.json()["error"] == "internal_error"
    assert answer.json()["details"]["correlationId"].startswith("err_")
    assert "tok-secret" not in json.dumps(answer.json())


def test_an_unknown_page_is_a_page(client: Client) -> None:
    client.force_login(building.operator(), backend="allauth.account.auth_backends.AuthenticationBackend")
    answer = client.get("/nothing-here")
    assert answer.status_code == 404
    assert answer["Content-Type"].startswith("text/html")
    assert "Traceback" not in answer.content.decode()


def test_a_crash_of_a_page_is_a_page_without_its_words(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*args: Any, **options: Any) -> None:
        raise ZeroDivisionError("tok-secret-1234")

    monkeypatch.setattr("memory.ledger_search.ledger_page", broken)
    client.raise_request_exception = False
    client.force_login(building.operator(), backend="allauth.account.auth_backends.AuthenticationBackend")
    answer = client.get("/memory")
    assert answer.status_code == 500
    assert b"tok-secret" not in answer.content


def test_a_visitor_is_sent_to_sign_in_and_back(client: Client) -> None:
    answer = client.get("/memory?q=x")
    assert answer.status_code == 302
    assert answer["Location"] == "/login?next=%2Fmemory%3Fq%3Dx"
    fragment = client.get("/memory?q=x", HTTP_HX_REQUEST="true")
    assert (fragment.status_code, fragment["HX-Redirect"]) == (401, "/login?next=%2Fmemory%3Fq%3Dx")


@pytest.mark.parametrize("path", ["/v1/workflows/%00", "/v1/host/console/artifacts/%00", "/v1/runs/%0a", "/memory/%1b"])
def test_an_address_with_a_control_character_is_not_here(client: Client, path: str) -> None:
    assert client.get(path, **building.headers()).status_code == 404


def test_what_a_credential_may_read_is_kept_in_no_cache(client: Client) -> None:
    assert client.get("/v1/workflows/conformance-noop", **building.headers())["Cache-Control"] == "private, no-store"
    client.force_login(building.operator(), backend="allauth.account.auth_backends.AuthenticationBackend")
    assert client.get("/memory")["Cache-Control"] == "private, no-store"


def test_discovery_and_health_answer_head(client: Client) -> None:
    assert client.head("/healthz").status_code == client.head("/.well-known/openwop").status_code == 200


FORM = "application/x-www-form-urlencoded"
PARTS = "multipart/form-data; boundary=x"
ONE_PART = b'--x\r\nContent-Disposition: form-data; name="%s"%s\r\n\r\n%s\r\n'
UNREADABLE = {
    "a form over 2 MiB": (FORM, b"reason=" + b"secret" * 400_000, 413),
    "a form of parts over 2 MiB": (PARTS, ONE_PART % (b"reason", b"", b"secret" * 400_000) + b"--x--\r\n", 413),
    "1,001 fields": (FORM, b"&".join(b"secret%d=" % each for each in range(1_001)), 400),
    "101 files": (PARTS, ONE_PART % (b"secret", b'; filename="f"', b"") * 101 + b"--x--\r\n", 400),
    "parts without a boundary": ("multipart/form-data", b"secret", 400),
}


def test_a_form_that_cannot_be_read_is_refused_and_one_line_of_the_log(
    client: Client, caplog: pytest.LogCaptureFixture
) -> None:
    client.force_login(building.operator())
    paths = ("/login", "/forget", "/oauth/token", "/v1/interrupts/secret.token")
    for path, (what, (kind, body, status)) in product(paths, UNREADABLE.items()):
        caplog.clear()
        answer = client.post(path, body, content_type=kind)
        # A face that takes JSON does not parse forms, and does not log them either.
        takes_forms = not path.startswith("/v1/")
        assert answer.status_code == status if takes_forms else 400 <= answer.status_code < 500, (path, what)
        _has_logged(caplog, f"refused POST {path}: " if takes_forms else "")


@pytest.mark.parametrize("path", ["/login", "/memory", "/v1/runs", "/api/v1/memory"])
def test_an_address_with_too_many_parameters_is_refused_and_one_line_of_the_log(
    client: Client, caplog: pytest.LogCaptureFixture, path: str
) -> None:
    client.force_login(building.operator())
    answer = client.get(f"{path}?{'&'.join(f'secret{each}=' for each in range(1_001))}", **building.headers())
    assert answer.status_code == 400
    _has_logged(caplog, f"refused GET {path}: TooManyFieldsSent")


def _has_logged(caplog: pytest.LogCaptureFixture, beginning: str) -> None:
    """One warning that begins like this, or nothing; no traceback, and nothing that was sent."""
    records = [each for each in caplog.records if each.levelname in {"WARNING", "ERROR", "CRITICAL"}]
    assert not [each for each in records if each.exc_info]
    assert [each.levelname for each in records] == ["WARNING"] * bool(beginning)
    assert all(each.getMessage().startswith(beginning) for each in records)
    assert "secret" not in caplog.text
