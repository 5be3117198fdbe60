"""What pages have and faces have not: sessions, forgery tokens, a policy for markup. Other headers are shared."""

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from tests import building

pytestmark = pytest.mark.django_db
FACES = ("/v1/host/console/memory", "/api/v1/memory")


@pytest.mark.parametrize("path", FACES)
def test_a_session_is_no_credential_of_a_face_and_is_not_even_looked_at(client: Client, path: str) -> None:
    client.force_login(building.operator(), backend="allauth.account.auth_backends.AuthenticationBackend")
    with CaptureQueriesContext(connection) as sent:
        answer = client.get(path)
    assert answer.status_code == 401
    assert not sent.captured_queries
    assert not answer.cookies


@pytest.mark.parametrize("path", FACES)
def test_an_answer_of_a_face_has_the_headers_that_every_answer_has(client: Client, path: str) -> None:
    answer = client.get(path, **building.headers(role="owner"))
    assert answer.status_code == 200
    for name, value in {
        "X-Content-Type-Options": "nosniff",
        "X-Frame-Options": "DENY",
        "Referrer-Policy": "same-origin",
        "Cross-Origin-Opener-Policy": "same-origin",
        "Cache-Control": "private, no-store",
    }.items():
        assert answer[name] == value
    assert "Content-Security-Policy" not in answer


def test_a_page_has_its_policy_and_its_session(client: Client) -> None:
    client.force_login(building.operator(), backend="allauth.account.auth_backends.AuthenticationBackend")
    answer = client.get("/memory")
    assert answer.status_code == 200
    assert "default-src 'self'" in answer["Content-Security-Policy"]
    assert Client(enforce_csrf_checks=True).post("/login", {}).status_code == 403


def test_a_host_that_is_not_ours_is_refused_at_a_face_too(client: Client) -> None:
    answer = client.get("/api/v1/memory", **building.headers(role="owner") | {"HTTP_HOST": "elsewhere.example"})
    assert (answer.status_code, answer.json()["error"]) == (400, "VALIDATION_ERROR")
    assert "OPENWOP_ALLOWED_HOSTS" in answer.json()["message"], "whoever serves it under a new name is told what to do"
