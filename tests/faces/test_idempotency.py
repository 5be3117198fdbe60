"""``Idempotency-Key``: a request is carried out once, and answered alike for a day (openwop-host 4.4)."""

import hashlib
import json
import time
from datetime import timedelta
from types import SimpleNamespace
from typing import Any

import pytest
import rfc8785
from django.conf import settings
from django.db import connection
from django.test import Client, override_settings
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from memory.forget import execution
from memory.host import access, api_keys, audit, idempotency_keys, ids, key_management, runs, tenancy
from memory.host.errors import IdempotencyInFlight
from memory.host.idempotency_keys import KeyClaim, StoredAnswer
from memory.host.models import ApiKey, IdempotencyRecord, Interrupt, RoleGrant, Run
from openwop_console import idempotency as replayed_answers
from openwop_console.runtime import interrupt_answers, run_operations
from tests import building, proposing
from tests.conformance import schemas

pytestmark = pytest.mark.django_db
REPLAY = "openwop-Idempotent-Replay"
NOOP = {"workflowId": "conformance-noop"}


class Caller:
    """A key of Acme's, and what it sends."""

    def __init__(self, role: str = "owner", slug: str = "acme") -> None:
        self.key = building.key(slug, role)
        self.browser = Client()

    def send(
        self,
        path: str,
        body: Any = None,
        *,
        key: str | None = "k-1",
        method: str = "POST",
        raw: Any = "",
        **more: Any,
    ) -> Any:
        headers: dict[str, Any] = {
            **more,
            "HTTP_X_API_KEY": self.key,
            **({"HTTP_IDEMPOTENCY_KEY": key} if key is not None else {}),
        }
        said = raw or ("" if body is None else json.dumps(body))
        return self.browser.generic(method, path, said, content_type="application/json", **headers)

    @property
    def scope(self) -> tenancy.TenantScope:
        return tenancy.tenant_scope(tenancy.key_principal(self.key, now=timezone.now()))


@pytest.fixture
def ada() -> Caller:
    return Caller()


def refused(answer: Any, status: int, code: str) -> dict[str, Any]:
    assert (answer.status_code, answer.json()["error"]) == (status, code)
    schemas.check("error-envelope", answer.json())
    body: dict[str, Any] = answer.json()
    return body


def kept() -> list[IdempotencyRecord]:
    return list(IdempotencyRecord.objects.all())


def test_the_second_request_is_answered_like_the_first_and_says_so(ada: Caller) -> None:
    first, second = ada.send("/v1/runs", NOOP), ada.send("/v1/runs", NOOP)
    assert (first.status_code, second.status_code) == (201, 201)
    assert first.content == second.content
    assert REPLAY not in first
    assert second[REPLAY] == "true"
    assert second["Content-Type"] == first["Content-Type"]
    assert Run.objects.count() == 1


def test_another_body_or_query_under_one_key_is_a_mismatch_without_a_run(ada: Caller) -> None:
    ada.send("/v1/runs", NOOP)
    body = refused(ada.send("/v1/runs", {**NOOP, "tags": ["x"]}), 409, "idempotency_key_mismatch")
    assert "runId" not in json.dumps(body)
    refused(ada.send("/v1/runs?x=1", NOOP), 409, "idempotency_key_mismatch")
    refused(ada.send("/v1/runs", raw="{"), 409, "idempotency_key_mismatch")


def test_a_key_is_its_endpoint_s_and_its_principal_s_own(ada: Caller) -> None:
    first = ada.send("/v1/runs", NOOP).json()["runId"]
    cancelled = ada.send(f"/v1/runs/{first}/cancel")
    assert (cancelled.status_code, REPLAY in cancelled) == (200, False)
    others = [Caller(), Caller("author"), Caller(slug="globex")]
    found = [other.send("/v1/runs", NOOP).json()["runId"] for other in others]
    assert len({first, *found}) == 4
    again = [caller.send("/v1/runs", NOOP) for caller in (ada, *others)]
    assert [answer.json()["runId"] for answer in again] == [first, *found]
    assert {answer[REPLAY] for answer in again} == {"true"}


@pytest.mark.engines
def test_who_may_not_any_more_reads_no_stored_answer(ada: Caller) -> None:
    assert ada.send("/v1/runs", NOOP).status_code == 201
    RoleGrant.objects.written_by(access.WRITER).filter(principal=ada.scope.principal.id).delete()
    body = refused(ada.send("/v1/runs", NOOP), 403, "forbidden")
    assert body["details"] == {"requiredScope": "runs:create"}
    key_id = ids.parse("key", ada.scope.principal.id)
    assert key_id
    api_keys.revoke_api_key(building.tenant().id, key_id, now=timezone.now())
    refused(ada.send("/v1/runs", NOOP), 401, "key_revoked")


def test_a_body_is_as_large_with_a_key_as_it_is_without(ada: Caller) -> None:
    file = {"content": "\x01" * 500_000, "contentType": "text/plain"}
    written = [ada.send("/v1/host/workspace/files/big.txt", file, method="PUT") for _ in range(2)]
    assert [answer.json()["version"] for answer in written] == [1, 1], "3 MB of JSON"
    for path, method, size in (("/v1/host/workspace/files/big.txt", "PUT", 7_000_000), ("/v1/runs", "POST", 2_100_000)):
        plain, keyed = (ada.send(path, raw=" " * size, method=method, key=key) for key in (None, "k-2"))
        assert (keyed.status_code, keyed.json()) == (413, plain.json())
    assert len(kept()) == 1


def test_a_body_is_kept_as_a_digest_that_nobody_can_guess_at(ada: Caller) -> None:
    ada.send("/v1/runs", NOOP)
    assert kept()[0].body_digest != hashlib.sha256(rfc8785.dumps(NOOP)).hexdigest()
    with override_settings(SECRET_KEY="another", SECRET_KEY_FALLBACKS=[settings.SECRET_KEY]):
        assert ada.send("/v1/runs", NOOP)[REPLAY] == "true"


@pytest.mark.engines
def test_an_answer_by_token_is_given_once_and_answered_alike() -> None:
    run = building.execute(building.scope(), "conformance-approval")
    asked = Interrupt.objects.of(run.tenant_id).get(run_id=run.id)

    def post(token: str) -> Any:
        body = json.dumps({"resumeValue": {"action": "accept"}})
        path = f"/v1/interrupts/{token}"
        return Client().post(path, body, content_type="application/json", HTTP_IDEMPOTENCY_KEY="k-1")

    token = interrupt_answers.mint(asked, now=timezone.now())
    assert post(token[:-4]).status_code == 404
    assert post(interrupt_answers.mint(asked, intent=interrupt_answers.INSPECT, now=timezone.now())).status_code == 403
    assert kept() == []
    first, second = post(token), post(token)
    assert (first.status_code, second.status_code, second.content) == (200, 200, first.content)
    assert (REPLAY in first, second[REPLAY]) == (False, "true")
    (record,) = kept()
    assert record.principal == f"token:{ids.wire('int', asked.id)}"
    assert token not in record.endpoint


def test_many_runs_are_cancelled_before_the_audit_chain_is_taken(ada: Caller) -> None:
    building.install("acme", building.definition("gate", building.node("a", "core.approvalGate")))
    made = [ada.send("/v1/runs", {"workflowId": "gate"}, key=f"r{number}").json()["runId"] for number in range(3)]
    with CaptureQueriesContext(connection) as queries:
        answer = ada.send("/v1/runs:bulk-cancel", {"runIds": made[::-1]})
    assert [each["runId"] for each in answer.json()["results"]] == made[::-1]
    said = [each["sql"] for each in queries.captured_queries]
    cancelled = [at for at, sql in enumerate(said) if sql.startswith('UPDATE "host_run"')]
    chained = [at for at, sql in enumerate(said) if '"host_auditchain"' in sql]
    assert len(cancelled) == 3
    assert max(cancelled) < min(chained)


def test_a_read_ignores_the_key(ada: Caller) -> None:
    for key in ("k", "", "x" * 300):
        answer = ada.send("/v1/workflows/conformance-noop", method="GET", key=key)
        assert (answer.status_code, REPLAY in answer) == (200, False)
    assert kept() == []


@pytest.mark.parametrize("key", ["", " ", "a b", "a" * 256, "é", "a\tb", "%00", '"k"'])
def test_a_key_that_could_not_stand_in_a_url_is_400(ada: Caller, key: str) -> None:
    refused(ada.send("/v1/runs", NOOP, key=key), 400, "validation_error")
    assert Run.objects.count() == 0


def test_neither_the_key_nor_a_header_of_the_connection_is_kept(ada: Caller) -> None:
    ada.send("/v1/runs", NOOP, key="a-key-of-mine")
    (record,) = kept()
    assert "a-key-of-mine" not in json.dumps(
        [str(getattr(record, field.attname)) for field in record._meta.concrete_fields]
    )
    assert not {name.lower() for name in record.headers} & replayed_answers.NOT_STORED


@pytest.mark.parametrize("role", ["viewer", "auditor"])
def test_a_refusal_for_want_of_permission_is_not_kept_and_stays_on_record(ada: Caller, role: str) -> None:
    made = proposing.propose()
    path = f"/v1/host/sample/proposals/{ids.wire('prop', made.id)}/apply"
    caller = Caller(role)
    for _ in range(2):
        answer = caller.send(path)
        assert (answer.status_code, REPLAY in answer) == (403, False)
    assert kept() == []
    denied = [record for record in audit.newest(made.tenant_id) if record.action == "authorization.denied"]
    assert denied


def test_a_request_that_could_not_be_read_is_not_kept(ada: Caller) -> None:
    refused(ada.send("/v1/runs", {}), 400, "validation_error")
    assert ada.send("/v1/runs", NOOP).status_code == 201


def test_a_final_refusal_is_kept(ada: Caller) -> None:
    first = ada.send("/v1/runs", {"workflowId": "later"})
    refused(first, 404, "workflow_not_found")
    building.install("acme", building.definition("later", building.node("a", "core.noop")))
    second = ada.send("/v1/runs", {"workflowId": "later"})
    assert (second.status_code, second.content, second[REPLAY]) == (404, first.content, "true")
    assert ada.send("/v1/runs", {"workflowId": "later"}, key="k-2").status_code == 201


def test_a_failure_of_the_host_leaves_nothing_and_the_retry_is_carried_out(
    ada: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    create = run_operations.create_run

    def broken(*args: Any, **options: Any) -> Any:
        create(*args, **options)
        raise ZeroDivisionError

    with monkeypatch.context() as patching:
        patching.setattr(run_operations, "create_run", broken)
        refused(ada.send("/v1/runs", NOOP), 500, "internal_error")
    assert Run.objects.count() == 0
    assert kept() == []
    answer = ada.send("/v1/runs", NOOP)
    assert (answer.status_code, REPLAY in answer) == (201, False)
    assert ada.send("/v1/runs", NOOP)[REPLAY] == "true"


def test_a_refusal_that_says_when_to_come_back_is_not_the_answer_to_who_comes_back(ada: Caller) -> None:
    dedup, body = {"HTTP_X_DEDUP": "enforce"}, {**NOOP, "scopeId": "one-at-a-time"}
    first = ada.send("/v1/runs", body, key=None, **dedup)
    assert "Retry-After" in ada.send("/v1/runs", body, **dedup)
    building.advance(runs.find(ada.scope.tenant_id, ids.parse("run", first.json()["runId"])))
    assert ada.send("/v1/runs", body, **dedup).status_code == 201


def under_way(caller: Caller, body: Any, *, key: str = "k-1") -> KeyClaim:
    """The claim of a request that another process is carrying out."""
    asked = idempotency_keys.request_of(
        caller.scope.tenant_id,
        caller.scope.principal.id,
        key=key,
        method="POST",
        path="/v1/runs",
        query="",
        body=json.dumps(body).encode(),
    )
    claim = idempotency_keys.claim(asked, now=timezone.now())
    assert isinstance(claim, KeyClaim)
    return claim


def test_a_request_under_way_is_told_when_to_come_back(ada: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(replayed_answers, "WAIT_S", 0.1)
    claim = under_way(ada, NOOP)
    waiting = ada.send("/v1/runs", NOOP)
    body = refused(waiting, 409, "idempotency_in_flight")
    assert int(waiting["Retry-After"]) == body["details"]["retryAfter"] > 0
    refused(ada.send("/v1/runs", {"workflowId": "x"}), 409, "idempotency_key_mismatch")
    idempotency_keys.store_answer(claim, StoredAnswer(201, {"Content-Type": "application/json"}, '{"runId":"run_1"}'))
    answer = ada.send("/v1/runs", NOOP)
    assert (answer.status_code, answer.json(), answer[REPLAY]) == (201, {"runId": "run_1"}, "true")


def test_a_request_that_waited_is_refused_when_its_key_was_revoked_meanwhile(
    ada: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    claim = under_way(ada, NOOP)

    def wait(_: float) -> None:
        key_management.revoke(building.scope(), ids.parse("key", ada.scope.principal.id), now=timezone.now())
        idempotency_keys.release(claim)

    monkeypatch.setattr(replayed_answers, "time", SimpleNamespace(monotonic=time.monotonic, sleep=wait))
    assert ada.send("/v1/runs", NOOP).status_code == 401
    assert not Run.objects.filter(workflow_id=NOOP["workflowId"]).exists()


@pytest.mark.engines
def test_a_claim_whose_holder_died_is_taken_over_by_one_and_the_late_holder_keeps_nothing(ada: Caller) -> None:
    asked = idempotency_keys.request_of(
        ada.scope.tenant_id, ada.scope.principal.id, key="k", method="POST", path="/v1/runs", query="", body=b"{}"
    )
    started = timezone.now()
    dead = idempotency_keys.claim(asked, now=started)
    assert isinstance(dead, KeyClaim)
    assert idempotency_keys.claim(asked, now=idempotency_keys.LEASE.end(started) - timedelta(seconds=1)) is None
    taken = idempotency_keys.claim(asked, now=idempotency_keys.LEASE.end(started))
    assert isinstance(taken, KeyClaim)
    assert idempotency_keys.claim(asked, now=idempotency_keys.LEASE.end(started) + timedelta(seconds=1)) is None
    with pytest.raises(IdempotencyInFlight):
        idempotency_keys.store_answer(dead, StoredAnswer(200, {}, ""))
    idempotency_keys.release(dead)
    idempotency_keys.store_answer(taken, StoredAnswer(200, {}, "x"))
    assert idempotency_keys.claim(asked, now=started) == StoredAnswer(200, {}, "x")


@pytest.mark.engines
def test_an_answer_is_kept_for_a_day_and_swept_after_it(ada: Caller) -> None:
    first = ada.send("/v1/runs", NOOP).json()["runId"]
    asked_at = kept()[0].created_at
    assert idempotency_keys.sweep(now=asked_at + timedelta(hours=24) - timedelta(seconds=1)) == 0
    assert ada.send("/v1/runs", NOOP).json()["runId"] == first
    assert idempotency_keys.sweep(now=asked_at + timedelta(hours=24)) == 1
    assert kept() == []


def test_a_record_of_yesterday_that_is_not_swept_yet_is_used_anew(ada: Caller) -> None:
    asked = idempotency_keys.request_of(
        ada.scope.tenant_id, ada.scope.principal.id, key="k", method="POST", path="/v1/runs", query="", body=b"{}"
    )
    other = idempotency_keys.request_of(
        ada.scope.tenant_id, ada.scope.principal.id, key="k", method="POST", path="/v1/runs", query="", body=b"[]"
    )
    now = timezone.now()
    first = idempotency_keys.claim(asked, now=now)
    assert isinstance(first, KeyClaim)
    idempotency_keys.store_answer(first, StoredAnswer(200, {}, "old"))
    assert isinstance(idempotency_keys.claim(other, now=now + timedelta(days=1)), KeyClaim)


def test_applying_twice_with_one_key_is_one_gate(ada: Caller) -> None:
    path = f"/v1/host/sample/proposals/{ids.wire('prop', proposing.propose().id)}/apply"
    first, second = ada.send(path), ada.send(path)
    assert (first.status_code, second.status_code, second[REPLAY]) == (202, 202, "true")
    assert first.json() == second.json()


def test_a_change_is_made_once_and_so_is_a_deletion(ada: Caller) -> None:
    made = proposing.propose()
    path = f"/v1/host/sample/proposals/{ids.wire('prop', made.id)}"
    first, second = (ada.send(path, {"note": "why", "title": "Anew"}, method="PATCH") for _ in range(2))
    assert (first.status_code, second.status_code, second.headers.get(REPLAY)) == (200, 200, "true")
    made.refresh_from_db()
    assert made.revision == 2
    first, second = (ada.send(path, method="DELETE") for _ in range(2))
    assert (first.status_code, second.status_code, second.headers.get(REPLAY)) == (200, 200, "true")


def test_an_answer_without_a_body_is_replayed_without_one(ada: Caller) -> None:
    path = "/v1/host/console/secrets/crm-token"
    for _ in range(2):
        answer = ada.send(path, {"value": "s3cret-value"}, method="PUT")
        assert (answer.status_code, answer.content) == (204, b"")
    assert answer[REPLAY] == "true"
    assert "s3cret-value" not in kept()[0].body


def test_a_long_address_and_a_body_that_is_no_json_are_recognised(ada: Caller) -> None:
    path = "/v1/runs/" + "r" * 600 + "/cancel"
    for body in ("", "{", "\ud800", "[" * 900 + "]" * 900):
        key = f"k-{len(body)}"
        first = ada.send(path, raw=body.encode("utf-8", "surrogatepass"), key=key)
        second = ada.send(path, raw=body.encode("utf-8", "surrogatepass"), key=key)
        assert first.content == second.content
    large = ada.send("/v1/runs", raw='{"x":"' + "a" * 3_000_000 + '"}', key="large")
    refused(large, 413, "payload_too_large")


def test_a_forgotten_subject_is_in_no_stored_answer(ada: Caller) -> None:
    body = {"kind": "prompt-template", "title": "About\nana@x.org", "artifact": proposing.TEMPLATE}
    assert ada.send("/v1/host/console/proposals", body).status_code == 201
    ada.send("/v1/host/console/secrets/ana@x.org", {"value": "s3cret-value"}, method="PUT")
    ada.send("/v1/runs", NOOP)
    owner, now = building.scope(), timezone.now()
    found = execution.preview(owner, ["ana@x.org"], now=now)
    held = {each.store: each for each in found.holdings}["idempotency cache"]
    assert (len(held.erase), len(kept())) == (2, 3)
    request = execution.confirm(owner, found.request.id, typed="ana@x.org", reason="r", ticked=set(), now=now)
    done = execution.execute(request.tenant_id, request.id, holder="test/1", now=now, clock=timezone.now)
    assert done
    assert done.receipt["stores"]["idempotency cache"]["erased"] == 2
    assert [record.endpoint for record in kept()] == ["POST /v1/runs"]


@pytest.mark.engines
def test_a_key_of_another_principal_is_never_told_what_the_first_was(ada: Caller) -> None:
    ada.send("/v1/runs", NOOP)
    other = Caller("viewer")
    answer = other.send("/v1/runs", NOOP)
    refused(answer, 403, "forbidden")
    assert ApiKey.objects.count() == 2


def test_a_run_is_deduplicated_by_its_scope_and_not_without_one(client: Client) -> None:
    headers = {**building.headers(), "HTTP_X_DEDUP": "enforce"}
    answer = client.post("/v1/runs", NOOP, content_type="application/json", **headers)
    assert (answer.status_code, answer.json()["details"]["errors"][0]["field"]) == (400, "scopeId")
