"""Keys and operators over HTTP: who may give what to whom, and that what was taken back opens nothing."""

import json
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from memory.host import access, ids, tenancy
from memory.host.models import ApiKey, AuditRecord, IdempotencyRecord
from tests import building

pytestmark = pytest.mark.django_db
KEYS, OPERATORS = "/v1/host/console/keys", "/v1/host/console/operators"


def ask(method: str, url: str, headers: dict[str, Any], body: Any = None, **more: Any) -> Any:
    raw = json.dumps(body) if body is not None else ""
    return Client().generic(method, url, raw, content_type="application/json", **headers, **more)


def test_an_owner_creates_lists_rotates_and_revokes_a_key_that_is_shown_once() -> None:
    rosa = building.operator(role="reviewer", email="rosa@acme.example")
    owner = building.headers()
    body = {"role": "reviewer", "name": "ci", "person": "Rosa@acme.example", "expiresAt": "2099-01-31T00:00:00Z"}
    made = ask("POST", KEYS, owner, body)
    assert made.status_code == 201, made.content
    document = made.json()
    first = document.pop("key")
    principal = tenancy.key_principal(first, now=timezone.now())
    assert (principal.id, principal.person) == (document["id"], ids.wire("usr", rosa.id))
    assert (document["person"], document["state"]) == ("rosa@acme.example", "active")
    listed = ask("GET", f"{KEYS}?limit=1", owner).json()
    assert (document.pop("lastUsedAt"), listed["keys"][0].pop("lastUsedAt")[:2]) == (None, "20")
    assert (listed["keys"], listed["total"], listed["next"]) == ([document], 2, document["id"])
    assert ask("GET", f"{KEYS}?after={document['id']}", owner).json()["next"] is None
    second = ask("POST", f"{KEYS}/{document['id']}:rotate", owner).json()["key"]
    assert ask("GET", "/v1/agents", {"HTTP_X_API_KEY": first}).status_code == 401
    assert ask("GET", "/v1/agents", {"HTTP_X_API_KEY": second}).status_code == 200
    for _ in range(2):
        assert ask("DELETE", f"{KEYS}/{document['id']}", owner).status_code == 204
    assert ask("GET", "/v1/agents", {"HTTP_X_API_KEY": second}).json()["error"] == "key_revoked"
    assert ask("POST", f"{KEYS}/{document['id']}:rotate", owner).status_code == 409
    ended = ask("GET", KEYS, owner).json()["keys"][0]
    assert (ended["id"], ended["state"]) == (document["id"], "revoked")
    told = AuditRecord.objects.filter(target=document["id"]).order_by("seq").values_list("action", flat=True)
    assert list(told) == ["key.created", "key.rotated", "key.revoked"]


def test_a_key_over_the_api_belongs_to_its_maker_unless_somebody_is_named() -> None:
    ada = building.operator(role="owner", email="ada@acme.example")
    own, service = building.headers(owner=ada), building.headers()
    assert ask("POST", KEYS, own, {"role": "viewer"}).json()["person"] == "ada@acme.example"
    assert ask("POST", KEYS, service, {"role": "viewer"}).json()["person"] is None
    assert ask("POST", KEYS, service, {"role": "viewer", "person": "gil@globex.example"}).status_code == 400


def test_a_key_of_a_person_who_is_no_operator_any_more_opens_nothing_although_it_was_not_revoked() -> None:
    rosa = building.operator(role="viewer", email="rosa@acme.example")
    headers = building.headers(role="viewer", owner=rosa)
    assert ask("GET", "/v1/agents", headers).status_code == 200
    building.deactivate(rosa)
    answer = ask("GET", "/v1/agents", headers)
    assert (answer.status_code, answer.json()["error"]) == (401, "key_revoked")


def test_a_key_that_another_made_for_its_person_makes_and_rotates_no_key() -> None:
    ada, ben = (building.operator(role="owner", email=f"{name}@acme.example") for name in ("ada", "ben"))
    own = building.headers(owner=ada)
    made = ask("POST", KEYS, own, {"role": "owner", "person": ben.email}).json()
    of_ben = {"HTTP_X_API_KEY": made["key"]}
    for address in (KEYS, f"{KEYS}/{made['id']}:rotate"):
        answer = ask("POST", address, of_ben, {"role": "viewer"} if address == KEYS else None)
        assert (answer.status_code, answer.json()["details"]) == (403, {"rule": "made-by-another"}), address


def test_nobody_gives_more_than_they_have_and_a_bound_key_gives_nothing() -> None:
    building.operator(role="viewer", email="rosa@acme.example")
    owner = building.headers()
    refused = ask("POST", KEYS, owner, {"role": "owner", "person": "rosa@acme.example"})
    assert (refused.status_code, refused.json()["details"]["errors"][0]["field"]) == (400, "role")
    bound = building.headers(agents=("acme.bot",))
    for method, url, body in [
        ("POST", KEYS, {"role": "viewer"}),
        ("PATCH", f"{OPERATORS}/usr_{'0' * 32}", {"role": "viewer"}),
    ]:
        answer = ask(method, url, bound, body)
        assert answer.status_code in {403, 404}, answer.content
    assert ask("POST", KEYS, bound, {"role": "viewer"}).json()["details"]["rule"] == "agent-binding"


@pytest.mark.parametrize("role", sorted(set(access.ROLES) - {"owner"}))
def test_only_owners_manage_keys_and_operators_and_are_refused_before_the_form_is_judged(role: str) -> None:
    person = ids.wire("usr", building.operator(email="ada@acme.example").id)
    headers = building.headers(role=role)
    asked = [("GET", KEYS), ("POST", KEYS), ("GET", OPERATORS), ("PATCH", f"{OPERATORS}/{person}")]
    for method, url in [*asked, ("DELETE", f"{KEYS}/key_{'0' * 32}"), ("POST", f"{KEYS}/key_{'0' * 32}:rotate")]:
        answer = ask(method, url, headers, {"nonsense": 1} if method != "GET" else None)
        assert (answer.status_code, answer.json()["error"]) == (403, "forbidden"), (method, url)


def test_an_operator_is_re_roled_deactivated_and_activated_again_on_record() -> None:
    owner, gil = building.headers(), building.operator("globex", email="gil@globex.example")
    rosa = building.operator(role="viewer", email="rosa@acme.example")
    listed = ask("GET", OPERATORS, owner).json()
    assert [each["email"] for each in listed["operators"]] == ["rosa@acme.example"]
    url = f"{OPERATORS}/{ids.wire('usr', rosa.id)}"
    assert ask("PATCH", url, owner, {"role": "author"}).json()["roles"] == ["author"]
    assert ask("PATCH", url, owner, {"active": False}).json()["active"] is False
    assert ask("PATCH", url, owner, {"active": False}).json()["active"] is False
    assert ask("PATCH", url, owner, {"active": True, "role": "reviewer"}).json()["roles"] == ["reviewer"]
    for bad in ({}, {"active": "yes"}, {"active": None}, {"role": "king"}, {"password": "x"}):
        assert ask("PATCH", url, owner, bad).status_code == 400, bad
    assert ask("PATCH", f"{OPERATORS}/{ids.wire('usr', gil.id)}", owner, {"active": False}).status_code == 404
    told = AuditRecord.objects.filter(target=ids.wire("usr", rosa.id)).order_by("seq").values_list("action", flat=True)
    assert list(told) == [
        "operator.created",
        "operator.role_changed",
        "operator.deactivated",
        "operator.role_changed",
        "operator.activated",
    ]


def test_the_last_owner_of_a_tenant_stays_one() -> None:
    ada = building.operator(role="owner", email="ada@acme.example")
    answer = ask("PATCH", f"{OPERATORS}/{ids.wire('usr', ada.id)}", building.headers(), {"active": False})
    assert (answer.status_code, answer.json()["error"]) == (409, "last_owner")


def test_an_answer_kept_for_a_retry_does_not_keep_the_key() -> None:
    owner, retry = building.headers(), {"HTTP_IDEMPOTENCY_KEY": "once"}
    first = ask("POST", KEYS, owner, {"role": "viewer"}, **retry)
    again = ask("POST", KEYS, owner, {"role": "viewer"}, **retry)
    assert (first.status_code, again.status_code, ApiKey.objects.count()) == (201, 201, 2)
    text = first.json()["key"]
    assert again.json() == {**first.json(), "key": None}
    assert text.split("_", 3)[3] not in "".join(IdempotencyRecord.objects.values_list("body", flat=True))
