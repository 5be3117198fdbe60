"""Webhook subscriptions over HTTP: who may make one, of what, and that the secret is shown once."""

import base64
import hashlib
import json
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone
from pytest_django.fixtures import Settings

from memory.host import access, ids, vault, webhooks
from memory.host.errors import Forbidden, NotFound
from memory.host.models import AuditRecord, IdempotencyRecord, Secret, Webhook
from tests import building, hooks

pytestmark = pytest.mark.django_db
WEBHOOKS, CONSOLE = "/v1/webhooks", "/v1/host/console/webhooks"
BODY = {"url": "https://receiver.example/hook?team=7", "events": ["run.completed", "gate.opened"]}


def ask(method: str, url: str, headers: dict[str, Any], body: Any = None, **more: Any) -> Any:
    raw = json.dumps(body) if body is not None else ""
    return Client().generic(method, url, raw, content_type="application/json", **headers, **more)


def errors_of(answer: Any) -> list[str]:
    return [each["field"] for each in answer.json()["details"]["errors"]]


@pytest.mark.engines
def test_a_subscription_is_made_read_listed_and_removed_and_its_secret_shown_once() -> None:
    owner = building.headers()
    made = ask("POST", WEBHOOKS, owner, BODY | {"tenantId": "acme", "tags": ["production"]})
    assert made.status_code == 201, made.content
    told = made.json()
    secret = told["secret"]
    assert len(base64.b64decode(secret.removeprefix("whsec_"), validate=True)) == 32
    assert told == {
        "id": told["webhookId"],
        "webhookId": told["id"],
        "secret": secret,
        "secretFingerprint": hashlib.sha256(secret.encode()).hexdigest()[:8],
        "signatureAlgorithm": "v1",
    }
    read = ask("GET", f"{CONSOLE}/{told['id']}", owner).json()
    wanted = {"events": BODY["events"], "tags": ["production"], "state": "active", "url": BODY["url"]}
    assert wanted.items() <= read.items()
    listed = ask("GET", CONSOLE, owner).json()
    assert (listed["webhooks"], listed["total"], listed["next"]) == ([read], 1, None)
    assert secret not in json.dumps([read, listed])
    assert ask("DELETE", f"{WEBHOOKS}/{told['id']}", owner).status_code == 204
    gone = ask("DELETE", f"{WEBHOOKS}/{told['id']}", owner)
    assert (gone.status_code, gone.json()["error"]) == (404, "subscription_not_found")
    assert not Secret.objects.filter(scope="webhook").exists()
    records = AuditRecord.objects.filter(target=told["id"]).order_by("seq")
    assert [each.action for each in records] == ["webhook.created", "webhook.removed"]
    assert "receiver.example" not in str([each.details for each in records])


def test_the_secret_is_sealed_in_the_vault_and_no_run_and_no_other_door_opens_or_sets_it() -> None:
    owner = building.headers()
    told = ask("POST", WEBHOOKS, owner, BODY).json()
    row = Secret.objects.get(scope="webhook")
    assert told["secret"].encode() not in bytes(row.sealed)
    assert vault.open_webhook_secrets(row.tenant_id, told["id"]) == {"current": told["secret"]}
    taken = {"value": "mine", "scope": "webhook", "principal": told["id"]}
    assert ask("PUT", "/v1/host/console/secrets/current", owner, taken).status_code == 400
    with pytest.raises(NotFound):
        vault.remove_secret(building.scope(), "current", kind="webhook", owner=told["id"], now=timezone.now())
    vault.rotate(reseal=lambda *keys: vault.Resealed(0), now=timezone.now())
    assert vault.open_webhook_secrets(row.tenant_id, told["id"]) == {"current": told["secret"]}


def test_a_rotation_gives_a_new_secret_and_keeps_the_one_before_for_a_while() -> None:
    owner = building.headers()
    first = ask("POST", WEBHOOKS, owner, BODY).json()
    second = ask("POST", f"{CONSOLE}/{first['id']}:rotate-secret", owner).json()
    held = vault.open_webhook_secrets(building.tenant().id, first["id"])
    assert held == {"current": second["secret"], "previous": first["secret"]}
    row = Webhook.objects.get()
    assert row.fingerprint == second["secretFingerprint"] != first["secretFingerprint"]
    assert row.overlap_until is not None
    third = ask("POST", f"{CONSOLE}/{first['id']}:rotate-secret", owner).json()
    held = vault.open_webhook_secrets(building.tenant().id, first["id"])
    assert held == {"current": third["secret"], "previous": second["secret"]}
    actions = AuditRecord.objects.filter(target=first["id"]).order_by("seq").values_list("action", flat=True)
    assert list(actions) == ["webhook.created", "webhook.secret_rotated", "webhook.secret_rotated"]


def test_an_answer_kept_for_a_retry_does_not_keep_the_secret() -> None:
    owner, retry = building.headers(), {"HTTP_IDEMPOTENCY_KEY": "once"}
    first, again = (ask("POST", WEBHOOKS, owner, BODY, **retry) for _ in range(2))
    assert (first.status_code, again.status_code, Webhook.objects.count()) == (201, 201, 1)
    assert again.json() == {**first.json(), "secret": None}
    assert first.json()["secret"] not in "".join(IdempotencyRecord.objects.values_list("body", flat=True))


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"events": []}, "events"),
        ({"events": ["run.completed", "no.such"]}, "events"),
        ({"events": "run.completed"}, "events"),
        ({"events": [1]}, "events"),
        ({"events": None}, "events"),
        ({"url": 7}, "url"),
        ({"url": None}, "url"),
        ({"tags": [True]}, "tags"),
        ({"tags": ["x"] * 21}, "tags"),
        ({"tags": "x"}, "tags"),
        ({"tenantId": 3}, "tenantId"),
        ({"secret": "mine"}, "secret"),
    ],
    ids=str,
)
def test_a_bad_body_is_refused_and_names_the_field(change: dict[str, Any], field: str) -> None:
    answer = ask("POST", WEBHOOKS, building.headers(), BODY | change)
    assert answer.status_code == 400, answer.content
    assert errors_of(answer)[0].startswith(field)
    assert not Webhook.objects.exists()


UNSENDABLE = [
    "http://receiver.example/hook",
    "ftp://receiver.example/hook",
    "https://ada:secret@receiver.example/hook",
    "https://receiver.example/hook#here",
    "https:///hook",
    "https://receiver.example:0/",
    "https://receiver.example:99999/",
    "https://[::1/",
    "https://receiver.example/a b",
    "https://reçeiver.example/",
    f"https://receiver.example/{'x' * 2000}",
    "https://2130706433/hook",
    "https://0x7f.1/hook",
    "https://[::ffff:10.0.0.1]/hook",
    "https://console.localhost./hook",
    "https://127.0.0.1./hook",
    "receiver.example",
]


def test_an_address_that_nothing_is_sent_to_is_refused() -> None:
    headers = building.headers()
    for url in UNSENDABLE:
        answer = ask("POST", WEBHOOKS, headers, BODY | {"url": url})
        assert (answer.status_code, answer.json()["error"]) == (400, "webhook_url_rejected"), (url, answer.content)
        assert errors_of(answer) == ["url"], url


def test_plain_http_goes_to_hosts_that_the_administrator_lists_and_to_no_other(settings: Settings) -> None:
    settings.OPENWOP_OUTBOUND_ALLOW = [
        "receiver.internal",
        "10.1.0.0/16",
        "b\u00fccher.internal",
        "xn--mnchen-3ya.internal",
    ]
    owner = building.headers()
    for url, status in [
        ("http://receiver.internal/hook", 201),
        ("http://10.1.2.3:8080/hook", 201),
        ("http://xn--bcher-kva.internal/hook", 201),
        ("http://XN--mnchen-3ya.internal/hook", 201),
        ("http://bucher.internal/hook", 400),
        ("https://10.1.2.3/hook", 201),
        ("http://10.2.0.1/hook", 400),
        ("http://other.internal/hook", 400),
        ("gopher://receiver.internal/hook", 400),
    ]:
        assert ask("POST", WEBHOOKS, owner, BODY | {"url": url}).status_code == status, url


@pytest.mark.parametrize("role", sorted(set(access.ROLES) - {"owner"}))
def test_only_owners_manage_webhooks_and_are_refused_before_the_form_is_judged(role: str) -> None:
    headers, nobody = building.headers(role=role), f"whk_{'0' * 32}"
    asked = [("POST", WEBHOOKS), ("DELETE", f"{WEBHOOKS}/{nobody}"), ("GET", CONSOLE), ("GET", f"{CONSOLE}/{nobody}")]
    for method, url in [*asked, ("POST", f"{CONSOLE}/{nobody}:rotate-secret")]:
        answer = ask(method, url, headers, {"nonsense": 1} if method == "POST" else None)
        assert (answer.status_code, answer.json()["details"]["requiredScope"]) == (403, "webhooks:manage"), url


def test_another_tenant_and_a_key_that_is_bound_to_agents_are_refused() -> None:
    building.tenant("globex")
    owner, bound = building.headers(), building.headers(agents=("acme.bot",))
    assert ask("POST", WEBHOOKS, bound, BODY).json()["details"]["rule"] == "agent-binding"
    made = ask("POST", WEBHOOKS, owner, BODY).json()
    for method, url, body in [
        ("POST", WEBHOOKS, BODY | {"tenantId": "globex"}),
        ("DELETE", f"{WEBHOOKS}/{made['id']}?tenantId=globex", None),
    ]:
        answer = ask(method, url, owner, body)
        assert (answer.status_code, answer.json()["details"]["rule"]) == (403, "tenant"), url
    assert ask("DELETE", f"{WEBHOOKS}/{made['id']}?tenantId=acme", owner).status_code == 204


def test_a_tenant_has_a_bounded_number_of_subscriptions(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(webhooks, "MAX_WEBHOOKS", 2)
    owner = building.headers()
    assert [ask("POST", WEBHOOKS, owner, BODY).status_code for _ in range(3)] == [201, 201, 409]
    assert ask("POST", WEBHOOKS, building.headers("globex"), BODY).status_code == 201


def test_the_domain_itself_refuses_who_may_not() -> None:
    reader = building.scope(role="viewer")
    with pytest.raises(Forbidden):
        webhooks.create_webhook(reader, BODY["url"], ["run.completed"], tags=[], now=timezone.now())  # type: ignore[arg-type]


def test_the_log_of_deliveries_is_paged_and_a_delivery_is_sent_again() -> None:
    owner, globex = building.headers(), building.headers("globex")
    webhook = hooks.subscribe("memory.written", "run.ended")
    building.remember("acme", "Marta prefers tea.")
    older, newer = (ids.wire("dlv", each.id) for each in hooks.told(webhook))
    log = f"{CONSOLE}/{webhooks.wire_id(webhook)}/deliveries"
    first = ask("GET", f"{log}?limit=1", owner).json()
    assert ([each["id"] for each in first["deliveries"]], first["total"], first["next"]) == ([newer], 2, newer)
    second = ask("GET", f"{log}?after={newer}", owner).json()
    assert ([each["id"] for each in second["deliveries"]], second["next"]) == ([older], None)
    line = second["deliveries"][0]
    assert (line["type"], line["state"], line["attempts"], line["code"]) == ("memory.written", "pending", 0, None)
    assert line["messageId"] == older.replace("dlv_", "msg_")
    assert "Marta" not in json.dumps([first, second])
    again = ask("POST", f"{log}/{older}:redeliver", owner)
    assert (again.status_code, again.json()["id"], again.json()["state"]) == (200, older, "pending")
    assert webhooks.claim(hooks.told(webhook)[0], holder="sender", now=timezone.now())
    again = ask("POST", f"{log}/{older}:redeliver", owner)
    assert again.json()["attempts"] == 1, "an attempt that is under way is not made twice"
    assert ask("GET", log, globex).status_code == 404
    assert ask("POST", f"{log}/{older}:redeliver", globex).status_code == 404
    assert ask("POST", f"{log}/dlv_{'0' * 32}:redeliver", owner).status_code == 404
    for role in ("viewer", "operator"):
        headers = building.headers(role=role)
        assert ask("GET", log, headers).status_code == 403
        assert ask("POST", f"{log}/{older}:redeliver", headers).status_code == 403
