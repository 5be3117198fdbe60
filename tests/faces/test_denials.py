"""Every denial is on record, once, whichever door it was met at; and the answer stays a denial."""

from typing import Any

import pytest
from django.db import DatabaseError, connection
from django.test import Client
from django.utils import timezone

from memory.host import access, audit, denials, event_log, ids, runs, sql
from memory.host.event_log import Recorded
from memory.host.models import AuditRecord, Operator
from memory.host.runs import RunOrder
from openwop_console.errors import is_denial
from tests import building, proposing

pytestmark = pytest.mark.django_db


def denied(slug: str = "acme") -> list[AuditRecord]:
    """The denials that the tenant's audit log holds, oldest first."""
    return [each for each in audit.export_records(building.tenant(slug).id) if each.action == "authorization.denied"]


def told(slug: str = "acme") -> list[Recorded]:
    """The tenant's own log."""
    return event_log.read_tenant_log(building.tenant(slug).id)


def browser(role: str, slug: str = "acme") -> tuple[Client, Operator]:
    client, operator = Client(), building.operator(slug, role)
    client.force_login(operator, backend="allauth.account.auth_backends.AuthenticationBackend")
    return client, operator


def test_a_key_without_the_scope_leaves_an_audit_record_and_an_event(client: Client) -> None:
    answer = client.post(
        "/v1/runs", {"workflowId": "conformance-noop"}, "application/json", **building.headers(role="viewer")
    )
    assert (answer.status_code, answer.json()["details"]) == (403, {"requiredScope": "runs:create"})
    (record,), (event,) = denied(), told()
    assert record.actor.startswith("key_")
    assert record.details == {"action": "POST api-runs", "reason": "missing-scope", "requiredScope": "runs:create"}
    assert (event.type, event.payload) == (
        "authorization.decided",
        {
            "principal": record.actor,
            "action": "POST api-runs",
            "resource": "acme",
            "allowed": False,
            "reason": "missing-scope",
        },
    )


def test_a_page_that_is_denied_leaves_the_same_trace_and_a_bound_key_its_rule(client: Client) -> None:
    gus, operator = browser("viewer")
    assert gus.get("/forget").status_code == 403
    headers = building.headers(role="agent", agents=("acme.writer",))
    body = {"workflowId": "conformance-noop", "agentId": "acme.other"}
    assert client.post("/v1/runs", body, "application/json", **headers).status_code == 403
    page, bound = denied()
    assert (page.actor, page.details["action"]) == (ids.wire("usr", operator.id), "GET forget")
    assert (bound.details["action"], bound.details["reason"]) == ("POST api-runs", "agent-binding")


def test_the_log_of_an_open_run_tells_of_a_denial_about_it_and_that_of_another_tenant_never(client: Client) -> None:
    run = building.open_run(building.scope())
    run_id = ids.wire("run", run.id)
    for slug in ("acme", "globex"):
        answer = client.post(
            f"/v1/runs/{run_id}/cancel", {}, "application/json", **building.headers(slug, role="viewer")
        )
        assert answer.status_code == 403
    last = event_log.read(run.tenant_id, run.id)[-1]
    assert (last.type, last.payload["resource"]) == ("authorization.decided", run_id)
    assert event_log.length(run.tenant_id, run.id) == 2
    assert (told(), len(told("globex"))) == ([], 1)
    assert [each.target for each in denied()] == [run_id]


@pytest.mark.parametrize("ended", [True, False])
def test_a_run_that_has_ended_or_not_begun_takes_no_event_so_the_tenant_s_log_does(client: Client, ended: bool) -> None:
    building.install("acme", building.definition("w", building.remember_node("x")))
    run = building.execute(building.scope(), "w") if ended else building.remember("acme", "x").run
    if not ended:
        run = runs.open_run(run.tenant_id, RunOrder("w", run.definition.text, "usr_1"), now=timezone.now())
    before = event_log.length(run.tenant_id, run.id)
    answer = client.post(
        f"/v1/runs/{ids.wire('run', run.id)}/cancel", {}, "application/json", **building.headers(role="viewer")
    )
    assert answer.status_code == 403
    assert event_log.length(run.tenant_id, run.id) == before
    assert told()[-1].payload["resource"] == ids.wire("run", run.id)


def test_what_the_domain_has_recorded_no_door_records_again(client: Client) -> None:
    made = proposing.propose()
    gate = proposing.opened(made)
    url = f"/v1/host/sample/proposals/{ids.wire('prop', made.id)}/reject"
    assert client.post(url, {}, "application/json", **building.headers(role="author")).status_code == 403
    (record,) = denied()
    assert record.details["action"] == "proposal.reject"
    assert record.target == ids.wire("prop", made.id)
    assert [each.payload["action"] for each in told()] == ["approvals:respond"], "the activation has not begun"
    proposing.advance(gate)
    assert client.post(url, {}, "application/json", **building.headers(role="author")).status_code == 403
    assert event_log.read(gate.tenant_id, gate.run_id)[-1].type == "authorization.decided"
    assert len(told()) == 1


def test_a_flood_is_one_record_a_minute_and_another_act_another(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    headers = building.headers(role="viewer")
    for _ in range(5):
        client.post("/v1/runs", {}, "application/json", **headers)
        client.post("/v1/runs", {"workflowId": "x"}, "application/json", **headers)
        client.get("/v1/audit/verify", **headers)
    assert [each.details["action"] for each in denied()] == ["POST api-runs", "GET api-audit-verify"]
    assert len(told()) == 2
    monkeypatch.setattr(denials, "ONCE_IN", denials.ONCE_IN * 0)
    client.get("/v1/audit/verify", **headers)
    assert len(denied()) == len(told()) == 3


def test_two_doors_that_meet_the_same_denial_at_once_leave_one_record_and_one_event(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    headers = building.headers(role="viewer")
    client.get("/v1/audit/verify", **headers)
    monkeypatch.setattr(audit, "is_on_record", lambda *_, **__: False)
    assert client.get("/v1/audit/verify", **headers).status_code == 403
    assert (len(denied()), len(told())) == (1, 1)


def test_a_denial_that_cannot_be_recorded_stays_a_denial_and_is_logged(
    client: Client, monkeypatch: pytest.MonkeyPatch, caplog: Any
) -> None:
    def broken(*args: Any, **options: Any) -> None:
        raise DatabaseError("disk full")

    monkeypatch.setattr(audit, "append_once", broken)
    answer = client.get("/v1/audit/verify", **building.headers(role="viewer"))
    assert (answer.status_code, answer.json()["error"]) == (403, "forbidden")
    assert "could not be put on record" in caplog.text
    assert told() == [], "the event went with the record"


def test_words_of_a_caller_are_in_no_record_of_a_denial(client: Client) -> None:
    for path in ("/v1/host/console/artifacts/canary-word", "/v1/workflows/canary-word", "/v1/runs/run_canary"):
        assert client.get(path, **building.headers(role="auditor")).status_code == 403
    assert len(denied()) == 3
    assert "canary" not in str([(each.target, each.details) for each in denied()])
    assert {each.payload["resource"] for each in told()} == {"acme"}


@pytest.mark.engines
def test_a_replayed_answer_that_its_key_may_not_have_any_more_is_a_denial_on_record(client: Client) -> None:
    headers = building.headers(role="author") | {"HTTP_IDEMPOTENCY_KEY": "once"}
    run_id = ids.wire("run", building.open_run(building.scope()).id)
    assert client.post(f"/v1/runs/{run_id}/cancel", {}, "application/json", **headers).status_code == 200
    with connection.cursor() as cursor:
        cursor.execute("UPDATE host_rolegrant SET role = 'viewer' WHERE role = 'author'")
    answer = client.post(f"/v1/runs/{run_id}/cancel", {}, "application/json", **headers)
    assert (answer.status_code, answer.json()["details"]) == (403, {"requiredScope": "runs:cancel"})
    assert [each.target for each in denied()] == [run_id]


def test_visitors_unknown_addresses_and_forged_forms_are_no_denials(client: Client) -> None:
    assert client.get("/v1/audit/verify").status_code == 401
    assert client.get("/forget").status_code == 302
    forging = Client(enforce_csrf_checks=True)
    forging.force_login(building.operator(), backend="allauth.account.auth_backends.AuthenticationBackend")
    assert forging.post("/audit/verify").status_code == 403
    assert client.get("/v1/nothing", **building.headers(role="viewer")).status_code == 404
    assert (denied(), told()) == ([], [])
    assert not is_denial(None)


@pytest.mark.engines
@pytest.mark.parametrize("failing", ["error", "unknown role", "no role"])
def test_roles_that_cannot_be_established_open_nothing(
    client: Client, monkeypatch: pytest.MonkeyPatch, failing: str
) -> None:
    headers = building.headers()
    ada, _ = browser("owner")
    if failing == "error":
        rows = sql.rows

        def broken(statement: str, parameters: Any) -> Any:
            if "host_rolegrant" in statement:
                raise DatabaseError("the roles are gone")
            return rows(statement, parameters)

        monkeypatch.setattr(sql, "rows", broken)
    else:
        statement = (
            "UPDATE host_rolegrant SET role = 'emperor'" if failing == "unknown role" else "DELETE FROM host_rolegrant"
        )
        with connection.cursor() as cursor:
            cursor.execute(statement)
    for path in ("/v1/workflows/conformance-noop", "/v1/host/console/memory", "/v1/audit/verify"):
        answer = client.get(path, **headers)
        assert (answer.status_code, answer.json()["error"]) == (403, "forbidden"), path
    for page in ("/", "/memory", "/audit", "/settings"):
        assert ada.get(page).status_code == 403, page


def test_the_auditor_reads_the_audit_log_and_nothing_else(client: Client) -> None:
    headers, (cato, _) = building.headers(role="auditor"), browser("auditor")
    for path in ("/v1/audit/verify", "/v1/host/console/audit", "/v1/host/console/audit/checkpoints"):
        assert client.get(path, **headers).status_code == 200, path
    assert client.get("/v1/host/console/events", **headers).status_code == 200
    for page in ("/memory", "/runs", "/agents", "/proposals", "/forget", "/settings", "/archives", "/commitments"):
        assert cato.get(page).status_code == 403, page
    landed = cato.get("/")
    assert (landed.status_code, landed["Location"]) == (302, "/audit")
    shown = cato.get("/audit").content.decode()
    assert 'href="/audit"' in shown
    for hidden in ("/memory", "/settings", "/proposals"):
        assert f'href="{hidden}"' not in shown
    assert access.ROLES["auditor"] == {"audit:read"}


def test_signing_in_leads_the_auditor_to_the_audit_log() -> None:
    operator = building.operator(role="auditor")
    cato = Client()
    answer = cato.post("/login", {"login": operator.email, "password": building.PASSWORD, "next": "/"}, follow=True)
    assert answer.redirect_chain[-1][0] == "/audit"
    assert answer.status_code == 200


@pytest.mark.parametrize("kind", ["memory", "archives", "commitments"])
def test_who_may_not_read_is_told_so_whatever_the_id(client: Client, kind: str) -> None:
    for row_id in ("x", "mem_x", ids.wire("mem", ids.new_id())):
        answer = client.get(f"/v1/host/console/{kind}/{row_id}", **building.headers(role="auditor"))
        assert (answer.status_code, answer.json()["error"]) == (403, "forbidden"), row_id
