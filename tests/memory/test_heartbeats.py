"""Heartbeats: one evaluation a tick, a run on a change and on nothing else, within bounds (RFC 0060)."""

import hashlib
import json
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.conf import settings
from django.db import connection, transaction
from django.test import Client, override_settings
from django.utils import timezone

from memory import agents
from memory.forget import execution
from memory.host import access, api_keys, event_log, heartbeats, ids, registrations, vault
from memory.host.errors import Forbidden, Invalid
from memory.host.heartbeats import HeartbeatOrder
from memory.host.models import Heartbeat, Run
from memory.host.tenancy import TenantScope
from openwop_console.process import scheduler
from openwop_console.runtime import expressions, heartbeat_evaluation, tasks
from tests import building
from tests.conformance import schemas
from tests.fixtures_queue import Drain

# An evaluation looks from a thread of its own.
pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.engines]
URL = "/v1/host/console/heartbeats"
LIVE = {"observe": "memory", "memoryRef": "notes", "expression": "{busy: live > `1`}"}


def make(owner: TenantScope, name: str = "watch", **given: Any) -> Heartbeat:
    whole = {"interval_s": 60, "predicate": LIVE, "workflow_id": "conformance-noop", **given}
    order = HeartbeatOrder(name=name, principal=owner.principal.id, **whole)
    return heartbeat_evaluation.create(owner, order, now=timezone.now())


def beat(heartbeat: Heartbeat, given: dict[str, Any] | None = None, **options: Any) -> Any:
    """The verdict of one tick of the heartbeat, and whether it started a run."""
    fresh = heartbeats.find(heartbeat.tenant_id, heartbeat.name)
    options = {"clock": timezone.now, "next_at": fresh.next_at, **options}
    return heartbeat_evaluation.beat(heartbeat.tenant_id, heartbeat.id, given=given, **options)


def log(tenant_id: Any) -> list[tuple[str, dict[str, Any]]]:
    """What the tenant's own log says of heartbeats, each valid by the contract."""
    events = [(event.type, event.payload) for event in event_log.read_tenant_log(tenant_id)]
    names = {"heartbeat.evaluated": "heartbeat-evaluated", "heartbeat.stateChanged": "heartbeat-state-changed"}
    for kind, payload in events:
        if kind in names:
            schemas.check(names[kind], payload)
    return [(kind, payload) for kind, payload in events if kind in names]


def states(tenant_id: Any) -> list[tuple[str, bool]]:
    return [
        (payload["status"], payload["changed"]) for kind, payload in log(tenant_id) if kind == "heartbeat.evaluated"
    ]


def all_ended(tenant_id: Any) -> None:
    for run in Run.objects.of(tenant_id).filter(completed_at=None):
        building.advance(run)


# --- transitions ------------------------------------------------------------------------------------------------------


def test_a_run_is_started_by_a_change_and_by_nothing_else() -> None:
    acme = building.scope()
    heartbeat = make(acme, inputs={"why": "memory"})
    building.remember("acme", "one")
    seen = []
    for contents in ((), (), ("two",), ("three",), ()):
        if contents:
            building.remember("acme", *contents)
        verdict, started = beat(heartbeat)
        seen.append((verdict.evaluated.changed, started))
        all_ended(acme.tenant_id)
    assert seen == [(True, True), (False, False), (True, True), (False, False), (False, False)]
    started = Run.objects.of(acme.tenant_id).filter(workflow_id="conformance-noop")
    assert [run.inputs for run in started] == [{"why": "memory"}] * 2
    assert {run.principal for run in started} == {acme.principal.id}
    assert started[0].metadata == {"origin": {"heartbeat": "watch"}}


def test_what_is_on_the_log_is_a_transition_without_what_was_seen() -> None:
    acme = building.scope()
    heartbeat = make(acme)
    for state in ({"unread": 0}, {"unread": 0}, {"unread": 3}):
        beat(heartbeat, state)
    told = log(acme.tenant_id)
    assert [kind for kind, _ in told].count("heartbeat.evaluated") == 3
    [first] = [payload for kind, payload in told if kind == "heartbeat.stateChanged"]
    assert first["from"] == {}
    assert set(first["to"]) == {"sha256"}
    assert first["heartbeatId"] == ids.wire("hbt", heartbeat.id)
    assert "unread" not in str(told)
    assert log(building.tenant("globex").id) == []
    assert event_log.length(acme.tenant_id, heartbeat.id) == 0


def test_a_change_while_the_last_run_goes_on_is_told_and_starts_none() -> None:
    acme = building.scope()
    heartbeat = make(acme, predicate=LIVE | {"expression": "@"})
    assert [beat(heartbeat, {"n": number})[1] for number in range(3)] == [True, False, False]
    assert states(acme.tenant_id) == [("ok", True)] * 3
    assert heartbeats.find(acme.tenant_id, "watch").last_code == "run_already_active"
    all_ended(acme.tenant_id)
    assert beat(heartbeat, {"n": 9})[1]


def test_a_heartbeat_without_a_workflow_only_tells() -> None:
    acme = building.scope()
    heartbeat = make(acme, workflow_id="")
    assert [beat(heartbeat)[1], Run.objects.count()] == [False, 0]
    assert states(acme.tenant_id) == [("ok", True)]


def test_a_run_that_is_refused_is_on_record_and_the_state_has_changed() -> None:
    acme = building.scope()
    building.install("acme", building.definition("flow", building.node("a", "core.noop")))
    heartbeat = make(acme, workflow_id="flow", predicate=LIVE | {"expression": "@"})
    needs = [{"name": "who", "type": "string", "required": True}]
    document = building.definition("flow", building.node("a", "core.noop"), variables=needs, version="2.0.0")
    building.install("acme", document)
    assert [beat(heartbeat, {"n": 1})[1], beat(heartbeat, {"n": 1})[1]] == [False, False]
    assert heartbeats.find(acme.tenant_id, "watch").last_code == "validation_error"
    assert states(acme.tenant_id) == [("ok", True), ("ok", False)]


# --- bounds -----------------------------------------------------------------------------------------------------------


def test_an_evaluation_that_is_too_slow_is_given_up_and_the_state_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    acme = building.scope()
    heartbeat = make(acme)
    beat(heartbeat)
    before = heartbeats.find(acme.tenant_id, "watch").prior_state
    monkeypatch.setattr(heartbeats, "MAX_RUNTIME_MS", 100)
    began = time.monotonic()
    verdict, started = beat(heartbeat, {"live": 9}, slow_s=30)
    assert time.monotonic() - began < 5
    assert (verdict.evaluated.status, verdict.evaluated.changed, started) == ("timeout", False, False)
    after = heartbeats.find(acme.tenant_id, "watch")
    assert (after.prior_state, after.last_status, after.evaluating_until) == (before, "timeout", None)
    deadline = time.monotonic() + 5
    while "heartbeat" in {thread.name for thread in threading.enumerate()}:
        assert time.monotonic() < deadline, "the evaluation that was given up goes on"


@pytest.mark.parametrize("expression", ["|".join(["[@,@]"] * 60), "|".join(["[@,@]"] * 30) + "|to_string(@)"])
def test_an_expression_that_grows_without_end_is_an_error_and_no_failure_of_the_host(
    expression: str, caplog: pytest.LogCaptureFixture
) -> None:
    acme = building.scope()
    heartbeat = make(acme, predicate=LIVE | {"expression": expression})
    verdict, _ = beat(heartbeat, {"n": 1})
    assert (verdict.evaluated.status, verdict.evaluated.changed) == ("error", False)
    assert not caplog.records


def test_an_expression_that_is_nested_without_end_is_refused() -> None:
    with pytest.raises(Invalid):
        make(building.scope(), predicate=LIVE | {"expression": "(" * 900})


def test_what_an_expression_builds_on_its_way_counts_too() -> None:
    doubled = "|".join(["join('', [@,@])"] * 14)
    with pytest.raises(expressions.TooLarge):
        expressions.evaluate_until(f"v[*].[{doubled}][].length(@)", {"v": ["x"] * 500}, time.monotonic() + 60)
    with pytest.raises(expressions.TooLarge):
        expressions.evaluate_until("join(v[0], v)", {"v": ["x" * 300] * 300}, time.monotonic() + 60)


def test_an_expression_stops_at_its_deadline() -> None:
    with pytest.raises(expressions.TooLong):
        expressions.evaluate_until("a.b", {"a": {"b": 1}}, time.monotonic() - 1)


@pytest.mark.parametrize(
    "state", [{"text": "x" * 4096}, {"number": 2**80}, {"text": "a\x00"}, {"\\\x00": 1}, {"text": "\ud800"}]
)
def test_a_state_that_cannot_be_kept_is_an_error_and_the_one_before_stays(state: dict[str, Any]) -> None:
    acme = building.scope()
    heartbeat = make(acme, predicate=LIVE | {"expression": "@"})
    watched = [beat(heartbeat, {"n": 1}), beat(heartbeat, state), beat(heartbeat, {"n": 1})]
    assert [verdict.evaluated.status for verdict, _ in watched] == ["ok", "error", "ok"]
    assert [verdict.evaluated.changed for verdict, _ in watched] == [True, False, False]


def test_an_expression_that_does_not_fit_what_is_seen_is_an_error_and_the_state_before_stays() -> None:
    heartbeat = make(building.scope(), predicate=LIVE | {"expression": "sum(started)"})
    seen: list[dict[str, Any]] = [{"started": [1, 2]}, {"started": "x"}, {"started": [1, 2]}, {"started": [4]}]
    watched = [beat(heartbeat, each)[0].evaluated for each in seen]
    assert [each.status for each in watched] == ["ok", "error", "ok", "ok"]
    assert [each.changed for each in watched] == [True, False, False, True]


def test_a_state_is_told_under_a_digest_that_nobody_can_guess_at() -> None:
    acme = building.scope()
    heartbeat = make(acme, predicate=LIVE | {"expression": "@"})
    beat(heartbeat, {"n": 1})
    token = heartbeats.find(acme.tenant_id, "watch").prior_state
    assert token
    assert token["sha256"] != hashlib.sha256(b'{"n":1}').hexdigest()
    with override_settings(SECRET_KEY="another", SECRET_KEY_FALLBACKS=[settings.SECRET_KEY]):
        assert not beat(heartbeat, {"n": 1})[0].evaluated.changed
        assert beat(heartbeat, {"n": 2})[0].evaluated.changed


def test_a_query_that_overruns_is_ended_by_the_database(monkeypatch: pytest.MonkeyPatch) -> None:
    acme = building.scope()
    heartbeat = make(acme)
    endless = (
        "WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < 2000000000) SELECT max(n) FROM c"
    )

    def look(*args: Any, **options: Any) -> Any:
        with connection.cursor() as cursor:
            cursor.execute(endless)

    monkeypatch.setattr(heartbeat_evaluation, "observe", look)
    monkeypatch.setattr(heartbeats, "MAX_RUNTIME_MS", 200)
    assert beat(heartbeat)[0].evaluated.status == "timeout"
    deadline = time.monotonic() + 5
    while "heartbeat" in {thread.name for thread in threading.enumerate()}:
        assert time.monotonic() < deadline, "the query of the evaluation goes on"


def test_a_maker_who_may_not_look_any_more_sees_nothing() -> None:
    acme = building.scope()
    heartbeat = make(acme)
    key_id = ids.parse("key", acme.principal.id)
    assert key_id
    api_keys.revoke_api_key(acme.tenant_id, key_id, now=timezone.now())
    assert beat(heartbeat)[0].evaluated.status == "error"


# --- one at a time ----------------------------------------------------------------------------------------------------


def test_a_tick_that_comes_while_one_is_evaluated_is_skipped() -> None:
    acme = building.scope()
    heartbeat = make(acme)
    now = timezone.now()
    assert heartbeats.begin(acme.tenant_id, heartbeat.id, next_at=heartbeat.next_at, now=now)
    assert beat(heartbeat) is None
    later = heartbeats.LEASE.end(now)
    assert beat(heartbeat, clock=lambda: later)[0].evaluated.status == "ok"
    assert len(states(acme.tenant_id)) == 1


def test_an_evaluation_that_lost_its_lease_concludes_nothing() -> None:
    acme = building.scope()
    heartbeat = make(acme)
    now = timezone.now()
    slow = heartbeats.begin(acme.tenant_id, heartbeat.id, next_at=heartbeat.next_at, now=now)
    beat(heartbeat, clock=lambda: heartbeats.LEASE.end(now))
    assert slow is not None
    with transaction.atomic():
        assert heartbeats.conclude(slow, heartbeats.Finding("ok", {"stale": 1}), seen_at=now, now=now) is None
    assert len(states(acme.tenant_id)) == 1


def test_evaluations_at_once_are_one() -> None:
    acme = building.scope()
    heartbeat = make(acme)
    ready = threading.Barrier(6)

    def act(number: int) -> Any:
        try:
            ready.wait(10)
            return heartbeat_evaluation.beat(
                heartbeat.tenant_id,
                heartbeat.id,
                next_at=heartbeat.next_at,
                clock=timezone.now,
                given={"live": 5},
                slow_s=0.5,
            )
        finally:
            connection.close()

    with ThreadPoolExecutor(6) as pool:
        came = [each for each in pool.map(act, range(6)) if each]
    assert len(came) == 1
    assert [kind for kind, _ in log(acme.tenant_id)] == ["heartbeat.evaluated", "heartbeat.stateChanged"]
    assert Run.objects.of(acme.tenant_id).count() == 1


def test_the_clock_queues_each_tick_once_and_on_its_beat(drain: Drain) -> None:
    acme = building.scope()
    heartbeat = make(acme)
    due = heartbeat.next_at
    assert due
    assert scheduler.Scheduler().tick(due - timedelta(seconds=1)) == 0
    assert [tasks.enqueue_heartbeats(due + timedelta(seconds=150)) for _ in range(3)] == [1, 0, 0]
    assert heartbeats.find(acme.tenant_id, "watch").next_at == due + timedelta(seconds=180)
    drain()
    assert states(acme.tenant_id) == [("ok", True)]


def test_a_tick_that_was_overtaken_in_the_queue_is_skipped(drain: Drain) -> None:
    acme = building.scope()
    due = make(acme).next_at
    assert due
    for minutes in range(3):
        assert tasks.enqueue_heartbeats(due + timedelta(minutes=minutes)) == 1
    drain()
    assert len(states(acme.tenant_id)) == 1


# --- what is observed -------------------------------------------------------------------------------------------------


def test_runs_are_counted_since_the_last_look() -> None:
    acme = building.scope()
    everything = {"observe": "runs", "workflowId": "conformance-noop", "expression": "@"}
    heartbeat = make(acme, predicate=everything, workflow_id="")

    def seen(after: float) -> Any:
        now = timezone.now() + timedelta(seconds=after)
        assert beat(heartbeat, clock=lambda: now)[0].evaluated.status == "ok"
        return heartbeats.find(acme.tenant_id, "watch").prior_state["state"]

    none = {"started": 0, "completed": 0, "failed": 0, "cancelled": 0}
    assert seen(0) == none
    for workflow in ("conformance-noop", "conformance-noop", "conformance-failure"):
        building.execute(acme, workflow)
    building.execute(building.scope("globex"), "conformance-noop")
    assert seen(10) == {**none, "started": 2, "completed": 2}
    assert seen(20) == none


def test_runs_are_counted_a_day_back_at_most() -> None:
    acme = building.scope()
    heartbeat = make(acme, predicate={"observe": "runs", "expression": "started"}, workflow_id="")
    building.execute(acme, "conformance-noop")
    late = timezone.now() + timedelta(days=2)
    beat(heartbeat, clock=lambda: late)
    assert heartbeats.find(acme.tenant_id, "watch").prior_state["state"] == 0


def test_an_agent_that_is_degraded_is_seen() -> None:
    acme = building.scope()
    predicate = {"observe": "agent", "agentId": "vendor.acme.writer", "expression": "{bad: degraded, there: installed}"}
    heartbeat = make(acme, predicate=predicate)
    beat(heartbeat)
    assert heartbeats.find(acme.tenant_id, "watch").prior_state["state"] == {"bad": False, "there": False}
    building.install_agent("acme", {"agentId": "vendor.acme.writer", "memoryShape": {"longTerm": True}})
    assert beat(heartbeat)[0].evaluated.changed
    [entry] = agents.entries(acme, registrations.advertised_capabilities())
    seen = heartbeats.find(acme.tenant_id, "watch").prior_state["state"]
    assert seen == {"bad": entry.health == "degraded", "there": True}


def test_memory_is_counted_as_its_principal_may_read_it() -> None:
    acme = building.scope(agents=("acme.other",), role="owner")
    building.remember("acme", "one", "two", "three")
    heartbeat = make(acme, predicate=LIVE | {"expression": "live"})
    beat(heartbeat)
    assert heartbeats.find(acme.tenant_id, "watch").prior_state["state"] == 0


# --- asking for heartbeats --------------------------------------------------------------------------------------------


def body(**given: Any) -> dict[str, Any]:
    whole = {"name": "watch", "intervalSec": 300, "predicate": LIVE, "workflowId": "conformance-noop", **given}
    return {name: value for name, value in whole.items() if value is not ...}


def post(client: Client, document: Any, **headers: Any) -> Any:
    return client.post(URL, json.dumps(document), content_type="application/json", **headers)


def test_a_body_that_cannot_be_honoured_is_refused_with_its_field(client: Client) -> None:
    caller = building.headers()
    for given, field in (
        ({"name": "a b"}, "name"),
        ({"name": ...}, "name"),
        ({"intervalSec": 0}, "intervalSec"),
        ({"intervalSec": "often"}, "intervalSec"),
        ({"intervalSec": ...}, "intervalSec"),
        ({"predicate": ...}, "predicate"),
        ({"predicate": []}, "predicate"),
        ({"predicate": {"observe": "weather", "expression": "@"}}, "predicate.observe"),
        ({"predicate": {"observe": "given", "expression": "@"}}, "predicate.observe"),
        ({"predicate": {"observe": "runs"}}, "predicate.expression"),
        ({"predicate": {"observe": "runs", "expression": "[["}}, "predicate.expression"),
        ({"predicate": {"observe": "runs", "expression": "a" * 1001}}, "predicate.expression"),
        ({"predicate": {"observe": "runs", "expression": "@", "url": "http://x"}}, "predicate.url"),
        ({"predicate": {"observe": "runs", "expression": "@", "workflowId": 5}}, "predicate.workflowId"),
        ({"predicate": {"observe": "agent", "expression": "@"}}, "predicate.agentId"),
        ({"workflowId": "nobody-has-this"}, "workflowId"),
        ({"inputs": "x"}, "inputs"),
        ({"priority": 1}, "priority"),
    ):
        refused = post(client, body(**given), **caller)
        assert (refused.status_code, refused.json()["error"]) == (400, "validation_error"), (given, field)
        assert field in {error["field"] for error in refused.json()["details"]["errors"]}, (given, field)
        assert Heartbeat.objects.count() == 0, (given, field)


def test_a_heartbeat_is_made_read_changed_and_removed(client: Client) -> None:
    owner = building.headers()
    made = post(client, body(intervalSec=1), **owner)
    assert made.status_code == 201, made.content
    assert made.json()["intervalSec"] == 60
    assert client.get(f"{URL}/watch", **owner).json() == made.json()
    assert [row["name"] for row in client.get(URL, **owner).json()["heartbeats"]] == ["watch"]
    assert post(client, body(), **owner).status_code == 409

    def patch(**changes: Any) -> Any:
        text = json.dumps(changes)
        return client.patch(f"{URL}/watch", text, content_type="application/json", **owner)

    beat(heartbeats.find(building.tenant().id, "watch"))
    shown = client.get(f"{URL}/watch", **owner).json()
    assert (shown["lastStatus"], shown["lastState"]["state"]) == ("ok", {"busy": False})
    assert patch(enabled=False).json()["nextTick"] is None
    assert patch(predicate=LIVE | {"expression": "live"}, workflowId=None).json()["lastState"] is None
    assert patch(predicate={"observe": "runs"}).status_code == patch(name="other").status_code == 400
    assert client.delete(f"{URL}/watch", **owner).status_code == 204
    assert client.get(f"{URL}/watch", **owner).status_code == 404


def test_another_tenant_s_heartbeats_are_nowhere(client: Client) -> None:
    make(building.scope())
    globex = building.headers("globex")
    assert client.get(f"{URL}/watch", **globex).status_code == 404
    assert client.delete(f"{URL}/watch", **globex).status_code == 404
    assert client.get(URL, **globex).json() == {"heartbeats": [], "total": 0, "next": None}


def test_who_may_make_one_may_see_what_it_looks_at(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    refused = post(client, body(), **building.headers(role="author"))
    assert refused.json()["details"] == {"requiredScope": "schedules:manage"}
    for missing in ("memory:read", "runs:create"):
        monkeypatch.setitem(access.ROLES, "operator", access.OPERATES - {missing})
        with pytest.raises(Forbidden) as refusal:
            make(building.scope(role="operator"))
        assert refusal.value.details == {"requiredScope": missing}


def test_a_secret_is_not_kept_in_a_heartbeat() -> None:
    acme = building.scope()
    vault.store_secret(acme.tenant_id, "api-token", "s3cret-value-of-acme", now=timezone.now())
    assert make(acme, inputs={"h": "s3cret-value-of-acme"}).inputs == {"h": "[REDACTED:api-token]"}
    with pytest.raises(Invalid):
        make(acme, "other", predicate=LIVE | {"tag": "s3cret-value-of-acme"})


def test_a_forgotten_subject_is_in_no_heartbeat_any_more() -> None:
    acme, now = building.scope(), datetime(2026, 3, 2, tzinfo=UTC)
    make(acme, "list", inputs={"to": "ana@x.org"})
    make(acme, "one", predicate=LIVE | {"tag": "ana@x.org"})
    request = execution.preview(acme, ["ana@x.org"], now=now).request
    execution.confirm(acme, request.id, typed="ana@x.org", reason="asked", ticked=set(), now=now)
    execution.execute(acme.tenant_id, request.id, holder="test/1", now=now, clock=lambda: now)
    request.refresh_from_db()
    assert request.receipt is not None
    kept = [heartbeats.find(acme.tenant_id, name) for name in ("list", "one")]
    assert [row.enabled for row in kept] == [True, False]
    assert kept[0].inputs == {"to": "[FORGOTTEN]"}
