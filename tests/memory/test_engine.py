"""A run, step by step: what a worker's death leaves, who holds a run, how it ends."""

import json
import re
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from django.db import OperationalError, transaction
from django.utils import timezone

from memory.host import event_log, node_types, runs, vault
from memory.host.errors import Forbidden, Invalid, NotFound
from memory.host.leases import worker_name
from memory.host.models import Run
from memory.host.node_types import Done, NodeContext, NodeFailure, Outcome
from memory.models.entry import MemoryEntry
from openwop_console.process import recovery
from openwop_console.runtime import engine, graph, interrupt_answers, run_operations, workflows
from openwop_console.runtime.models import Step
from openwop_console.runtime.run_operations import RunRequest
from tests import building
from tests.budgets import cpu_within
from tests.building import types_of
from tests.fixtures_queue import Drain

pytestmark = pytest.mark.django_db
DOCUMENTS = Path(__file__).parents[2] / "docs"


def examples_of(name: str) -> list[Any]:
    return [json.loads(text) for text in re.findall(r"```json\n(.*?)```", (DOCUMENTS / name).read_text(), re.DOTALL)]


def created(workflow_id: str, **inputs: Any) -> Run:
    return run_operations.create_run(building.scope(), RunRequest(workflow_id, inputs=inputs), now=timezone.now())


def advance_at(run: Run, now: datetime, holder: str = "test/1") -> Run:
    engine.advance(run.tenant_id, run.id, holder=holder, clock=lambda: now)
    return runs.find(run.tenant_id, run.id)


def test_nodes_run_in_the_order_of_their_edges_and_the_terminal_event_is_last() -> None:
    run = building.advance(created("conformance-multi-node"))
    events = event_log.read(run.tenant_id, run.id)
    assert [event.node_id for event in events if event.type == "node.started"] == ["a", "b", "c"]
    assert events[-1].type == "run.completed"
    assert [event.sequence for event in events] == list(range(len(events)))


def test_values_flow_from_inputs_and_nodes_into_memory() -> None:
    compose = building.node("compose", "vendor.console.compose", {"text": "Ticket {{ticket}} is urgent"})
    compose["inputs"] = {"ticket": {"type": "variable", "variableName": "ticket"}}
    write = building.remember_node("{{text}}", memory_ref="acme/triage")
    write["inputs"] = {"text": {"type": "connection", "nodeId": "compose", "outputKey": "text"}}
    building.install("acme", building.definition("flow", compose, write))
    acme = building.scope()
    assert building.execute(acme, "flow", ticket="T-1").status == "completed"
    assert building.contents(acme, "acme/triage") == ["Ticket T-1 is urgent"]


def test_a_text_that_its_placeholders_would_make_too_long_fails_its_node_in_a_moment() -> None:
    compose = building.node("compose", "vendor.console.compose", {"text": "{{ticket}}" * 10_000})
    compose["inputs"] = {"ticket": {"type": "variable", "variableName": "ticket"}}
    building.install("acme", building.definition("flow", compose))
    with cpu_within(3):
        run = building.execute(building.scope(), "flow", ticket="x" * 100_000)
    assert (run.status, run.error["code"]) == ("failed", "text_too_long")
    assert building.execute(building.scope(), "flow", ticket="T-1").status == "completed"


def test_a_node_that_fails_takes_its_effects_with_it_and_the_run_says_why() -> None:
    building.install(
        "acme",
        building.definition(
            "half", building.remember_node("kept", node_id="first"), building.node("boom", "core.fail")
        ),
    )
    run = building.execute(building.scope(), "half")
    assert (run.status, run.error["code"]) == ("failed", "node_failed")
    assert types_of(run)[-2:] == ["node.failed", "run.failed"]
    failed = event_log.read(run.tenant_id, run.id)[-2]
    assert failed.payload["error"]["code"] == "node_failed"
    assert building.contents(building.scope()) == ["kept"]


@pytest.mark.engines
def test_a_bug_in_a_node_is_a_failed_run_without_its_words(monkeypatch: pytest.MonkeyPatch) -> None:
    def crash(ctx: NodeContext) -> Outcome:
        ctx.memory.write("notes", "half done")
        raise KeyError("the customer's password")

    monkeypatch.setitem(node_types._types, "core.noop", crash)
    run = building.advance(created("conformance-noop"))
    assert (run.status, run.error["code"]) == ("failed", "node_crashed")
    assert "password" not in str(event_log.read(run.tenant_id, run.id)) + str(run.error)
    assert MemoryEntry.objects.filter(memory_ref="notes").count() == 0


def test_a_worker_that_died_in_a_step_left_nothing_and_the_step_is_done_once(monkeypatch: pytest.MonkeyPatch) -> None:
    class Killed(BaseException):
        pass

    def dies(ctx: NodeContext) -> Outcome:
        ctx.memory.write("notes", "written once")
        raise Killed

    def lives(ctx: NodeContext) -> Outcome:
        ctx.memory.write("notes", "written once")
        return Done()

    run, now = created("conformance-noop"), timezone.now()
    monkeypatch.setitem(node_types._types, "core.noop", dies)
    with pytest.raises(Killed):
        advance_at(run, now)
    assert MemoryEntry.objects.filter(memory_ref="notes").count() == 0
    monkeypatch.setitem(node_types._types, "core.noop", lives)
    assert advance_at(run, now + timedelta(seconds=1), "test/2").status == "pending"  # the lease still runs
    assert advance_at(run, runs.LEASE.end(now), "test/2").status == "completed"
    assert MemoryEntry.objects.filter(memory_ref="notes").count() == 1
    assert types_of(run)[:-2] == ["run.started", "node.started", "memory.written", "node.completed"]


def test_a_run_whose_workers_keep_dying_is_given_up_with_a_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    def dies(ctx: NodeContext) -> Outcome:
        raise KeyboardInterrupt

    monkeypatch.setitem(node_types._types, "core.noop", dies)
    run, now = created("conformance-noop"), timezone.now()
    for attempt in range(runs.MAX_ATTEMPTS):
        with pytest.raises(KeyboardInterrupt):
            advance_at(run, now + attempt * runs.LEASE.lasts)
    ended = advance_at(run, now + runs.MAX_ATTEMPTS * runs.LEASE.lasts)
    assert (ended.status, ended.error["code"]) == ("failed", "worker_lost")


@pytest.mark.engines
@pytest.mark.django_db(transaction=True)
def test_a_worker_that_lost_its_run_between_two_steps_commits_nothing_more(monkeypatch: pytest.MonkeyPatch) -> None:
    now = timezone.now()

    def taken_over(ctx: NodeContext) -> Outcome:
        transaction.on_commit(lambda: release(ctx.run))
        return Done()

    def release(run: Run) -> None:
        assert runs.LEASE.release_held_by("test", now=now) == 1
        assert runs.claim(run.tenant_id, run.id, holder="other/9", now=now)

    document = building.definition("two", building.node("a", "core.noop"), building.node("b", "core.noop"))
    building.install("acme", document)
    run = created("two")
    monkeypatch.setitem(node_types._types, "core.noop", taken_over)
    left = advance_at(run, now + timedelta(seconds=1))
    assert (left.status, left.holder) == ("running", "other/9")
    assert [step.node_id for step in Step.objects.of(run.tenant_id).filter(run_id=run.id)] == ["a"]


def test_a_sleeping_run_holds_no_worker_and_wakes_in_time() -> None:
    run, now = created("conformance-delay", delayMs=20_000), timezone.now()
    asleep = advance_at(run, now)
    assert (asleep.status, asleep.holder) == ("running", "")
    assert runs.due(now=now + timedelta(seconds=19)) == []
    assert advance_at(run, now + timedelta(seconds=19)).status == "running"
    woken = now + timedelta(seconds=21)
    assert [row[1] for row in runs.due(now=woken)] == [run.id]
    assert advance_at(run, woken).status == "completed"


def test_a_sleeping_run_is_cancelled_and_ends_with_run_cancelled() -> None:
    run, now = created("conformance-cancellable"), timezone.now()
    advance_at(run, now)
    assert run_operations.cancel_run(building.scope(), run.id, now=now).status == "cancelling"
    assert advance_at(run, now + timedelta(seconds=1)).status == "cancelled"
    assert types_of(run)[-1] == "run.cancelled"
    assert run_operations.cancel_run(building.scope(), run.id, now=now).status == "cancelled"


@pytest.mark.parametrize("delay", [-1, "soon", True, 1e12])
def test_a_delay_that_is_none_fails_the_run(delay: object) -> None:
    run = building.advance(created("conformance-delay", delayMs=delay))
    assert (run.status, run.error["code"]) == ("failed", "delay_invalid")


@pytest.mark.engines
def test_a_resolved_secret_stays_out_of_outputs_and_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    def careless(ctx: NodeContext) -> Outcome:
        value = vault.resolve(ctx.run, "crm", now=ctx.now)
        return Done(outputs={"log": f"used {value}"}, variables={"seen": [value]})

    monkeypatch.setitem(node_types._types, "core.noop", careless)
    vault.store_secret(building.tenant().id, "crm", "tok-123456789", now=timezone.now())
    run = building.advance(created("conformance-noop"))
    assert run.variables == {"seen": ["[REDACTED:crm]"]}
    assert Step.objects.get().outputs == {"log": "used [REDACTED:crm]"}


def test_a_run_is_for_a_worker_as_soon_as_it_is_created(drain: Drain) -> None:
    run = created("conformance-noop")
    assert drain() == 1
    assert runs.find(run.tenant_id, run.id).status == "completed"


@pytest.mark.engines
def test_runs_of_a_dead_console_are_free_when_it_starts_again() -> None:
    run, now = created("conformance-noop"), timezone.now()
    assert runs.claim(run.tenant_id, run.id, holder="instance-a/77", now=now)
    assert recovery.recover("instance-b", now) == 0
    assert recovery.recover("instance-a", now) == 1
    assert {lease.model: lease.until for lease in recovery.leases()} == recovery.HELD
    assert [row[1] for row in runs.due(now=now)] == [run.id]


def test_one_worker_has_a_run_at_a_time() -> None:
    run, now = created("conformance-noop"), timezone.now()
    assert runs.claim(run.tenant_id, run.id, holder="a", now=now)
    assert not runs.claim(run.tenant_id, run.id, holder="b", now=now)


def taking(node_id: str, source: str, **more: Any) -> dict[str, Any]:
    """A node that takes an output of another one."""
    port = {"type": "connection", "nodeId": source, "outputKey": "text", **more}
    return building.node(node_id, "core.noop") | {"inputs": {"text": port}}


def test_an_input_from_a_node_that_may_not_have_run_is_installed_where_it_is_optional() -> None:
    workflows.check(building.definition("flow", taking("a", "b", optional=True), building.node("b", "core.noop")))


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"id": "Bad Id"}, "$.id"),
        ({"nodes": []}, "$.nodes"),
        ({"extra": 1}, "$"),
        ({"nodes": [building.node("a", "core.unknown")]}, "$.nodes[0].typeId"),
        ({"nodes": [building.node("a", "core.noop"), building.node("a", "core.noop")]}, "$.nodes"),
        ({"edges": [{"id": "e", "sourceNodeId": "a", "targetNodeId": "zz"}]}, "$.edges[0]"),
        ({"edges": [{"id": "e", "sourceNodeId": "a", "targetNodeId": "a"}]}, "$.edges"),
        ({"edges": [{"id": "e", "sourceNodeId": "a", "targetNodeId": "a", "condition": {}}]}, "$.edges[0].condition"),
        ({"nodes": [taking("a", "gone")]}, "$.nodes[0].inputs.text"),
        ({"nodes": [taking("a", "b"), building.node("b", "core.noop")]}, "$.nodes[0].inputs.text"),
        ({"nodes": [taking("a", "gone", optional=True)]}, "$.nodes[0].inputs.text"),
    ],
)
def test_a_definition_this_host_could_not_execute_is_not_installed(change: dict[str, Any], field: str) -> None:
    document = building.definition("flow", building.node("a", "core.noop")) | change
    with pytest.raises(Invalid) as refused:
        workflows.check(document)
    assert field in {error["field"] for error in refused.value.details["errors"]}


def test_a_config_that_a_node_type_does_not_have_is_not_installed() -> None:
    for type_id, config, wrong in (
        ("compose", {"text": 5}, {"config.text": "must be of type string"}),
        ("recall", {"limit": "ten"}, {"config.limit": "must be of type integer"}),
        ("recall", {"tokenBudget": 1.5}, {"config.tokenBudget": "must be of type integer"}),
        ("remember", {"tags": "canary"}, {"config.tags": "must be of type array"}),
        ("remember", {"ttlSeconds": 0}, {"config.ttlSeconds": "is less than 1"}),
        ("remember", {"ttlSeconds": 10**12}, {"config.ttlSeconds": "is more than 3153600000"}),
        ("remember", {"secrets": {"key": 5}}, {"config.secrets.key": "must be of type string"}),
        ("write-file", {"content": "canary"}, {"config.path": "is required"}),
        ("read-file", {"path": ""}, {"config.path": "is empty"}),
        ("dispatch", {"canary": 1}, {"config": "has a member that is not known here"}),
    ):
        document = building.definition("flow", building.node("a", f"vendor.console.{type_id}", config))
        found = {
            error["field"].removeprefix("$.nodes[0]."): error["message"] for error in workflows.problems_of(document)
        }
        assert found == wrong, (type_id, config)


def test_a_workflow_is_its_tenant_s_and_a_key_acts_as_its_own_agents() -> None:
    building.install("acme", building.definition("flow", building.remember_node("x")))
    with pytest.raises(NotFound):
        building.execute(building.scope("globex"), "flow")
    with pytest.raises(Forbidden, match="acts as acme"):
        building.execute(building.scope(role="agent", agents=("acme.other",)), "flow")
    assert building.execute(building.scope(role="agent", agents=("acme.writer",)), "flow").status == "completed"
    with pytest.raises(Forbidden, match="runs:create"):
        building.execute(building.scope(role="viewer"), "flow")


def test_a_worker_name_says_which_console_it_belongs_to(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENWOP_INSTANCE", "console-7")
    assert worker_name().startswith("console-7/")


def test_a_node_recalls_what_is_known_by_a_tag_from_its_inputs() -> None:
    recall = building.node("recall", "vendor.console.recall", {"memoryRef": "notes", "tag": "customer:{{who}}"})
    recall["inputs"] = {"who": building.from_input("who")}
    write = building.remember_node("Known: {{known}}", memory_ref="summaries")
    write["inputs"] = {"known": {"type": "connection", "nodeId": "recall", "outputKey": "text"}}
    building.install("acme", building.definition("flow", recall, write))
    building.remember("acme", "likes tea", tags=["customer:ana"])
    building.remember("acme", "likes coffee", tags=["customer:ben"])
    acme = building.scope()
    assert building.execute(acme, "flow", who="ana").status == "completed"
    assert building.contents(acme, "summaries") == ["Known: likes tea"]


def test_the_agent_of_the_documents_is_installed_and_the_workflow_asks_before_it_remembers() -> None:
    acme = building.scope()
    [workflow, _] = examples_of("workflows.md")
    (manifest,) = (each for each in examples_of("nodes.md") if "agentId" in each)
    building.install("acme", workflow)
    assert building.install_agent("acme", manifest).name == "private.acme.desk"
    building.write_each(acme, "Refunds take 14 days", memory_ref="desk/facts")
    run = building.execute(acme, "ticket-notes", ticket="Refund for order 17")
    assert run.status == "waiting-approval"
    interrupt_answers.resolve(acme, run, "review", {"action": "accept"}, timezone.now())
    assert building.advance(run).status == "completed"
    assert building.contents(acme, "desk/notes") == ["Refund for order 17. Known: Refunds take 14 days"]


def test_every_node_type_in_the_documents_is_one_of_this_host() -> None:
    documents = "".join((DOCUMENTS / name).read_text() for name in ("workflows.md", "nodes.md"))
    named = re.findall(r"`((?:core|vendor\.console)\.[\w.-]+)`", documents)
    assert len(named) > 15
    assert [each for each in named if node_types.function_of(each) is None] == []


def test_a_secret_that_somebody_passes_in_is_kept_as_its_mark() -> None:
    vault.store_secret(building.tenant().id, "crm", "tok-123456789", now=timezone.now())
    run = created("conformance-noop", token="tok-123456789", nested=[{"tok-123456789": 1}])
    kept = {"token": "[REDACTED:crm]", "nested": [{"[REDACTED:crm]": 1}]}
    assert (run.inputs, run.variables) == (kept, kept)


def test_a_failure_that_quotes_a_secret_is_redacted_although_its_step_is_undone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def quotes(ctx: NodeContext) -> Outcome:
        value = vault.resolve(ctx.run, "crm", now=ctx.now)
        raise NodeFailure("crm_refused", f"the CRM refused {value}")

    monkeypatch.setitem(node_types._types, "core.noop", quotes)
    vault.store_secret(building.tenant().id, "crm", "tok-123456789", now=timezone.now())
    run = building.advance(created("conformance-noop"))
    assert run.error == {"code": "crm_refused", "message": "the CRM refused [REDACTED:crm]"}
    assert "tok-123456789" not in str(event_log.read(run.tenant_id, run.id))


@pytest.mark.engines
@pytest.mark.parametrize("outputs", [{"x": {"the customer's password"}}, {"x": float("nan")}])
def test_an_outcome_that_cannot_be_kept_is_a_failed_node_without_its_words(
    outputs: dict[str, Any], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setitem(node_types._types, "core.noop", lambda ctx: Done(outputs=outputs))
    run = building.advance(created("conformance-noop"))
    assert (run.status, run.error["code"]) == ("failed", "node_crashed")
    assert "crashed" in caplog.text
    assert "password" not in caplog.text


def test_a_bug_of_the_engine_ends_the_run_at_once(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    words = "the customer's password"

    def crash(*known: Any) -> graph.Outlook:
        raise KeyError(words)

    monkeypatch.setattr(graph, "outlook", crash)
    run = building.advance(created("conformance-noop"))
    assert (run.status, run.error["code"]) == ("failed", "run_crashed")
    assert types_of(run) == ["run.failed"]
    assert "crash" in caplog.text
    assert "password" not in caplog.text


def test_a_database_that_is_away_ends_no_run(monkeypatch: pytest.MonkeyPatch) -> None:
    def away(*known: Any) -> graph.Outlook:
        raise OperationalError("the database is away")

    run, now = created("conformance-noop"), timezone.now()
    with monkeypatch.context() as patched:
        patched.setattr(graph, "outlook", away)
        with pytest.raises(OperationalError):
            advance_at(run, now)
    assert advance_at(run, runs.LEASE.end(now)).status == "completed"


def test_an_end_that_cannot_be_written_takes_nothing_of_the_last_step_with_it(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*given: object, **named: object) -> None:
        raise RuntimeError("no room")

    monkeypatch.setattr("openwop_console.runtime.engine._summarize", refuse)
    run = building.advance(created("conformance-noop"))
    assert (run.status, run.error["code"]) == ("failed", "run_crashed")
    assert [event.type for event in event_log.read(run.tenant_id, run.id)][-2:] == ["node.completed", "run.failed"]
