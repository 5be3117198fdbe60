"""What webhooks are told of: written with the change itself, by tenants that have one, and by nobody else."""

from typing import Any
from uuid import UUID

import pytest
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from memory import external_runs, passes
from memory.entry_drafts import EntryDraft
from memory.forget import execution
from memory.host import event_log, ids, tenancy, webhooks
from memory.host.events import WorkspaceUpdated
from memory.host.models import OutboxEvent, Run
from memory.origins import Origin
from memory.passes import PassOrder
from openwop_console.process import webhook_sender
from openwop_console.runtime import replay, run_operations
from openwop_console.runtime.replay import ForkRequest, Overlay
from openwop_console.runtime.run_operations import RunRequest
from tests import building, hooks, proposing

pytestmark = pytest.mark.django_db
WORKFLOW = building.definition("hooked", building.remember_node("Marta prefers tea."))


def statements(write: Any) -> list[str]:
    with CaptureQueriesContext(connection) as seen:
        write()
    asked = [each["sql"].split("(")[0][:40] for each in seen.captured_queries]
    return [each for each in asked if "SAVEPOINT" not in each]


def fork(run: Run, mode: str) -> Run:
    """A fork of the run from its beginning, as far as it goes."""
    owner = tenancy.scope_without_request(run.tenant_id, run.principal, now=timezone.now())
    asked = ForkRequest(mode, 0 if mode == "branch" else None, Overlay())
    return building.advance(replay.fork(owner, run.id, asked, now=timezone.now()))


def forget(subject: str) -> UUID:
    """The id of a request by which the subject was forgotten."""
    scope, now = building.scope(), timezone.now()
    found = execution.preview(scope, [subject], now=now).request
    execution.confirm(scope, found.id, typed=subject, reason="r", ticked=set(), now=now)
    done = execution.execute(scope.tenant_id, found.id, holder="test/1", now=now, clock=timezone.now)
    assert done
    return found.id


@pytest.mark.engines
def test_a_write_of_a_tenant_without_webhooks_asks_nothing_more_and_leaves_nothing() -> None:
    scope = building.scope()
    run = building.open_run(scope)
    building.write(scope, run, "one")
    without = statements(lambda: building.write(scope, run, "two"))
    assert not [each for each in without if "webhook" in each or "outbox" in each]
    hooks.subscribe("memory.written", slug="globex")
    assert statements(lambda: building.write(scope, run, "three")) == without
    assert not OutboxEvent.objects.exists()
    hooks.subscribe("memory.written")
    more = statements(lambda: building.write(scope, run, "four"))
    assert len(more) - len(without) <= 1
    assert OutboxEvent.objects.count() == 1


@pytest.mark.engines
def test_every_type_of_a_run_s_log_is_told_as_it_stands_there() -> None:
    building.install("acme", WORKFLOW)
    everything, one = hooks.subscribe(*webhooks.TYPES), hooks.subscribe("memory.written")
    run = building.execute(building.scope(), "hooked")
    logged = event_log.read(run.tenant_id, run.id)
    made = hooks.told(everything)
    assert [each.event_id for each in made if each.event_id] == [event.event_id for event in logged]
    assert [each.type for each in made if each.announced] == ["run.ended"]
    ended = next(each.announced for each in made if each.announced)
    assert ended["data"] == {"runId": ids.wire("run", run.id), "status": "completed"}
    assert hooks.types_told(one) == ["memory.written"]
    assert not OutboxEvent.objects.exists()


def test_the_node_that_wrote_is_told_whether_this_host_saw_it_or_its_agent_says_so() -> None:
    building.install("acme", WORKFLOW)
    webhook = hooks.subscribe("memory.written")
    owner = building.scope()
    building.execute(owner, "hooked")
    origin = Origin("langgraph", "run-7", node="plan")
    external_runs.write_entry(owner, "notes", EntryDraft("Leo prefers tea."), origin, now=timezone.now())
    bodies = [webhook_sender.body_of(each, webhook) for each in hooks.told(webhook)]
    assert [(each["data"]["nodeId"], each["event"]["nodeId"]) for each in bodies] == [
        ("remember", "remember"),
        ("plan", "plan"),
    ]


@pytest.mark.engines
def test_a_change_that_is_undone_is_told_to_nobody() -> None:
    webhook = hooks.subscribe("workspace.updated")
    with transaction.atomic():
        event_log.append_to_tenant(webhook.tenant_id, WorkspaceUpdated("a.md", 1), now=timezone.now())
        transaction.set_rollback(True)
    assert hooks.told(webhook) == []
    with transaction.atomic():
        event_log.append_to_tenant(webhook.tenant_id, WorkspaceUpdated("a.md", 1), now=timezone.now())
    assert hooks.types_told(webhook) == ["workspace.updated"]


@pytest.mark.engines
def test_a_tenant_is_told_of_its_own_and_a_failed_webhook_of_nothing() -> None:
    acme, globex = hooks.subscribe("memory.written"), hooks.subscribe("memory.written", slug="globex")
    building.remember("globex", "theirs")
    assert (hooks.types_told(acme), hooks.types_told(globex)) == ([], ["memory.written"])
    webhooks.mark_failed(globex.tenant_id, globex.id, now=timezone.now())
    building.remember("globex", "theirs again")
    assert hooks.types_told(globex) == ["memory.written"]
    assert not OutboxEvent.objects.exists()


@pytest.mark.engines
def test_tags_leave_the_runs_that_have_one_of_them() -> None:
    building.install("acme", WORKFLOW)
    tagged = hooks.subscribe("run.completed", "run.ended", "workspace.updated", tags=["production", "other"])
    building.execute(building.scope(), "hooked")
    with transaction.atomic():
        event_log.append_to_tenant(tagged.tenant_id, WorkspaceUpdated("a.md", 1), now=timezone.now())
    assert hooks.types_told(tagged) == []
    asked = RunRequest("hooked", tags=["production"])
    building.advance(run_operations.create_run(building.scope(), asked, now=timezone.now()))
    assert hooks.types_told(tagged) == ["run.completed", "run.ended"]


@pytest.mark.engines
def test_a_replay_tells_nobody_and_a_branch_does() -> None:
    building.install("acme", WORKFLOW)
    run = building.execute(building.scope(), "hooked")
    webhook = hooks.subscribe("run.completed", "memory.written", "run.ended")
    replay = fork(run, "replay")
    assert event_log.length(replay.tenant_id, replay.id) == event_log.length(run.tenant_id, run.id)
    assert hooks.types_told(webhook) == []
    fork(run, "branch")
    assert hooks.types_told(webhook) == ["memory.written", "run.completed", "run.ended"]


@pytest.mark.engines
def test_a_run_that_waits_is_told_with_what_it_waits_for() -> None:
    gate = {"title": "Go on", "artifactId": "a", "artifactType": "document", "actions": ["accept", "reject"]}
    building.install("acme", building.definition("asks", building.node("gate", "core.approvalGate", gate)))
    webhook = hooks.subscribe("run.waiting")
    run = building.execute(building.scope(), "asks")
    (made,) = hooks.told(webhook)
    data = made.announced["data"]
    assert (data["runId"], data["nodeId"], data["kind"]) == (ids.wire("run", run.id), "gate", "approval")
    assert data["interruptId"].startswith("int_")


def test_a_run_that_failed_is_told_with_its_node_and_the_code() -> None:
    building.install("acme", building.definition("breaks", building.node("call", "core.fail", {"code": "no_luck"})))
    webhook = hooks.subscribe("run.ended")
    run = building.execute(building.scope(), "breaks")
    (made,) = hooks.told(webhook)
    failed = {"runId": ids.wire("run", run.id), "status": "failed", "failedNodeId": "call", "code": "no_luck"}
    assert made.announced["data"] == failed


@pytest.mark.engines
def test_a_gate_is_told_when_it_opens_and_once_when_it_is_decided() -> None:
    webhook = hooks.subscribe("gate.opened", "gate.decided")
    proposal = proposing.propose()
    gate = proposing.opened(proposal)
    proposing.decide(proposal, gate)
    opened, decided = (each.announced for each in hooks.told(webhook))
    data = {"gateId": ids.wire("gate", gate.id), "proposalId": ids.wire("prop", proposal.id), "revision": 1}
    assert (opened["type"], opened["data"]) == ("gate.opened", data | {"state": "open"})
    assert (decided["type"], decided["data"]) == ("gate.decided", data | {"state": "granted"})
    assert decided["runId"] == ids.wire("run", gate.run_id)
    proposing.advance(gate)
    assert len(hooks.told(webhook)) == 2


def test_a_pass_and_a_forget_are_told_when_they_are_over() -> None:
    webhook = hooks.subscribe("pass.finished", "forget.finished")
    tenant, now = building.tenant(), timezone.now()
    asked = passes.request(tenant.id, PassOrder("consolidate", "1", "host", "notes"), now=now)
    row = passes.claim(tenant.id, asked.id, holder="one", now=now)
    assert row
    passes.finish(row, now=now)
    (made,) = hooks.told(webhook)
    assert made.announced["data"] == {"passId": ids.wire("pass", row.id), "kind": "consolidate", "state": "done"}
    building.remember("acme", "Marta prefers tea.")
    request = forget("Marta")
    told = hooks.told(webhook)[1:]
    assert [each.type for each in told] == ["pass.finished", "forget.finished"]
    assert told[-1].announced["data"]["requestId"] == ids.wire("fgt", request)
    assert "Marta" not in str([each.announced for each in told])


def test_a_forgotten_name_in_an_address_is_gone_and_nothing_is_sent_there_any_more() -> None:
    named = hooks.subscribe("memory.written", url="https://receiver.example/for/ana.q@exquis.org", tags=["x"])
    other = hooks.subscribe("memory.written", url="https://receiver.example/for/bob")
    forget("ana.q@exquis.org")
    named.refresh_from_db()
    other.refresh_from_db()
    assert "ana" not in named.url
    assert (named.state, other.state, other.url) == ("failed", "active", "https://receiver.example/for/bob")
    building.remember("acme", "one more")
    assert (hooks.types_told(named), hooks.types_told(other)) == ([], ["memory.written"])
