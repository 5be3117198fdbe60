"""Forks: a replay tells the record again and has no effects, a branch goes on from it; no source is touched."""

import time
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.db import OperationalError, connection, transaction
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from memory import ledger, workspace
from memory.entry_drafts import EntryDraft
from memory.host import audit, event_log, ids, interrupts, node_types, registry, runs, tenancy, vault
from memory.host.errors import (
    Conflict,
    EffectInReplay,
    Forbidden,
    Invalid,
    InvalidFromSeq,
    NotFound,
    ReplayMemorySnapshotUnavailable,
)
from memory.host.events import CustomAsk, NodeStarted
from memory.host.models import Interrupt, Resolution, Run, RunEvent
from memory.host.node_types import Done, NodeContext, NodeFailure, OnReplay, Outcome, Sleep, Wait
from memory.host.runs import RunOrder
from memory.host.tenancy import TenantScope
from memory.models import KeptContent, KeptRead, WorkspaceFile
from memory.models.entry import LedgerHead, MemoryEntry
from memory.workspace import FileDraft
from openwop_console.runtime import engine, replay, run_operations
from openwop_console.runtime.models import Step
from openwop_console.runtime.replay import ForkRequest, Overlay
from openwop_console.runtime.run_operations import RunRequest
from proposals import lifecycle
from tests import building
from tests.building import advance_at, log_of, node, types_of

pytestmark = pytest.mark.django_db
NEVER = {"type": "equals", "left": "nothing", "right": "something"}


def facts(run: Run) -> list[tuple]:
    """What the suite compares: the type, the node and the payload of every event."""
    return [(event.type, event.node_id, event.payload) for event in log_of(run)]


def at(run: Run, kind: str, node_id: str = "") -> int:
    """The sequence of the first event of that type, of that node."""
    return next(e.sequence for e in log_of(run) if e.type == kind and node_id in ("", e.node_id))


def forked(run: Run, mode: str, from_seq: int | None = None, **overlay: Any) -> Run:
    """A fork that the owner of the run asks for."""
    owner = tenancy.scope_without_request(run.tenant_id, run.principal, now=timezone.now())
    return forked_by(owner, run, mode, from_seq, **overlay)


def forked_by(asker: TenantScope, run: Run, mode: str, from_seq: int | None = None, **overlay: Any) -> Run:
    request = ForkRequest(mode, from_seq, Overlay(**overlay))
    return replay.fork(asker, run.id, request, now=timezone.now())


def replayed(run: Run, from_seq: int | None = None) -> Run:
    return building.advance(forked(run, "replay", from_seq))


def branched(run: Run, from_seq: int, **overlay: Any) -> Run:
    return building.advance(forked(run, "branch", from_seq, **overlay))


def executed(workflow_id: str, *nodes: dict, settings: dict | None = None, **inputs: Any) -> Run:
    building.install("acme", {**building.definition(workflow_id, *nodes), "settings": settings or {}})
    return building.execute(building.scope(), workflow_id, **inputs)


def recall(node_id: str = "recall", memory_ref: str = "notes", **config: Any) -> dict:
    return node(node_id, "vendor.console.recall", {"memoryRef": memory_ref, **config})


def connected(made: dict, **ports: tuple[str, str]) -> dict:
    inputs = {name: {"type": "connection", "nodeId": n, "outputKey": key} for name, (n, key) in ports.items()}
    return made | {"inputs": inputs}


def digest_run(*contents: str) -> Run:
    """A run that reads what is remembered and remembers it again."""
    for content in contents:
        building.remember("acme", content)
    write = connected(building.remember_node("Known: {{known}}", memory_ref="summaries"), known=("recall", "text"))
    return executed(f"digest-{ids.new_id().hex}", recall(), write)


@pytest.fixture
def typed(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """A node type for one test."""

    def register(type_id: str, function: Callable[[NodeContext], Outcome], way: OnReplay = OnReplay.CALLED) -> None:
        monkeypatch.setitem(node_types._types, type_id, function)
        monkeypatch.setitem(node_types._on_replay, type_id, way)

    return register


# --- replay: the record, told again ----------------------------------------------------------------------------------


@pytest.mark.engines
def test_a_replay_tells_the_same_facts_and_reads_what_was_read_whatever_memory_holds_now() -> None:
    source = digest_run("likes tea")
    building.remember("acme", "likes coffee")
    acme, entries = building.scope(), MemoryEntry.objects.count()
    ledger.retirement.retire_entry(
        acme, MemoryEntry.objects.get(content="likes tea").id, reason="old", now=timezone.now()
    )
    head = LedgerHead.objects.get().position
    first, second = replayed(source), replayed(source)
    assert first.status == "completed"
    assert facts(first) == facts(second) == facts(source)
    assert (MemoryEntry.objects.count(), LedgerHead.objects.get().position) == (entries, head)
    step = Step.objects.get(run_id=first.id, node_id="recall")
    assert step.outputs == Step.objects.get(run_id=source.id, node_id="recall").outputs
    assert [entry["content"] for entry in step.outputs["entries"]] == ["likes tea"]
    assert {event.event_id for event in log_of(first)}.isdisjoint(event.event_id for event in log_of(source))


@pytest.mark.parametrize("from_seq", [None, 2])
def test_a_replay_has_the_times_of_its_source_s_log(from_seq: int | None) -> None:
    """RFC 0057 D: recorded events are emitted again from the log, with their ids and times."""
    source = digest_run("likes tea")
    made = replayed(source, from_seq) if from_seq else replayed(source)
    assert "memory.written" in types_of(made)
    assert [event.timestamp for event in log_of(made)] == [event.timestamp for event in log_of(source)]


def test_a_replay_is_pinned_and_configured_as_its_source_and_says_what_it_comes_from() -> None:
    source = digest_run("likes tea")
    made = replayed(source, 2)
    same = ("workflow_id", "definition_id", "inputs", "variables", "configurable", "snapshot_position")
    assert [getattr(made, name) for name in same] == [getattr(source, name) for name in same]
    assert (made.fork_mode, made.source_run_id, made.from_seq) == ("replay", source.id, 2)
    assert audit.newest(source.tenant_id, limit=1)[0].action == "run.fork"
    assert audit.newest(source.tenant_id, limit=1)[0].details["mode"] == "replay"


def test_who_wrote_an_entry_stays_the_run_that_wrote_it() -> None:
    source = digest_run("likes tea")
    written = MemoryEntry.objects.get(run_id=source.id)
    replayed(source)
    assert [fact.stream_id for fact in event_log.list_events_about(source.tenant_id, written.id)] == [source.id]


def test_nodes_that_only_compute_are_really_called_again_and_others_are_not(typed: Callable[..., None]) -> None:
    called: list[str] = []

    def pure(ctx: NodeContext) -> Outcome:
        called.append(f"pure {ids.wire('run', ctx.run.id)}")
        return Done(outputs={"n": 1})

    def acts(ctx: NodeContext) -> Outcome:
        called.append(f"acts {ids.wire('run', ctx.run.id)}")
        return Done(outputs={"sent": True}, variables={"sent": True})

    typed("core.noop", pure)
    typed("core.fail", acts, OnReplay.RECORDED)
    source = executed("both", node("a", "core.noop"), node("b", "core.fail"))
    made = replayed(source)
    assert made.status == "completed"
    assert called == [f"{name} {ids.wire('run', run.id)}" for name, run in
                      [("pure", source), ("acts", source), ("pure", made)]]  # fmt: skip
    assert made.variables == {"sent": True}
    assert Step.objects.get(run_id=made.id, node_id="b").outputs == {"sent": True}


def test_a_type_that_says_nothing_is_not_called_again() -> None:
    assert node_types.on_replay_of("vendor.unheard.of") == OnReplay.RECORDED
    assert node_types.on_replay_of("core.openwop.governance.approvalGate") == OnReplay.RECORDED
    assert node_types.on_replay_of("vendor.console.install-artifact") == OnReplay.RECORDED


def test_a_delay_is_over_at_once_in_a_replay() -> None:
    now = timezone.now()
    run = run_operations.create_run(
        building.scope(), RunRequest("conformance-delay", inputs={"delayMs": 20_000}), now=now
    )
    advance_at(run, now)
    source = advance_at(run, now + timedelta(seconds=21))
    assert source.status == "completed"
    assert facts(replayed(source)) == facts(source)


@pytest.mark.engines
def test_a_failure_and_its_retries_are_told_again(typed: Callable[..., None]) -> None:
    def fails(ctx: NodeContext) -> Outcome:
        ctx.memory.list("notes")
        raise NodeFailure("crm_down", "The CRM is down.")

    typed("core.noop", fails)
    now = timezone.now()
    building.install(
        "acme",
        {**building.definition("retry", node("a", "core.noop")), "settings": {"maxRetries": 1, "retryDelayMs": 5}},
    )
    run = run_operations.create_run(building.scope(), RunRequest("retry"), now=now)
    advance_at(run, now)
    source = advance_at(run, now + timedelta(seconds=5))
    assert types_of(source) == ["run.started", "node.started", "node.retried", "node.failed", "run.failed"]
    made = replayed(source)
    assert (made.status, made.error) == (source.status, source.error)
    assert facts(made) == facts(source)
    step = Step.objects.get(run_id=made.id)
    assert (step.state, step.attempt, step.error["code"]) == ("failed", 2, "crm_down")
    assert KeptRead.objects.count() == 0  # what a failed attempt read is gone with it


def cancelled(workflow_id: str, *, begun: bool, **inputs: Any) -> Run:
    """A run of the workflow that was cancelled, before it began or in its first node."""
    now = timezone.now()
    run = run_operations.create_run(building.scope(), RunRequest(workflow_id, inputs=inputs), now=now)
    if begun:
        advance_at(run, now)
    run_operations.cancel_run(building.scope(), run.id, now=now)
    return advance_at(run, now)


def test_a_run_cancelled_before_it_began_logs_that_alone_at_sequence_zero() -> None:
    source = cancelled("conformance-noop", begun=False)
    assert [(event.type, event.sequence) for event in log_of(source)] == [("run.cancelled", 0)]


@pytest.mark.engines
@pytest.mark.parametrize("begun", [True, False])
def test_a_replay_of_a_cancelled_run_fails_closed_at_the_effect_that_has_no_outcome(begun: bool) -> None:
    source = cancelled("conformance-replay-side-effect", begun=begun, delayMs=30_000)
    made = replayed(source)
    assert (made.status, made.error["code"]) == ("failed", "replay_source_missing")
    told = [(event.type, event.node_id) for event in log_of(made)]
    assert told == [
        ("run.started", ""),
        ("node.started", "wait"),
        ("node.completed", "wait"),
        ("node.started", "effect"),
        ("node.failed", "effect"),
        ("run.failed", ""),
    ]
    assert log_of(made)[-2].payload["error"]["code"] == "replay_source_missing"
    assert not MemoryEntry.objects.filter(memory_ref="conformance/effects").exists()


def test_a_replay_of_a_cancelled_run_completes_when_the_rest_only_computes() -> None:
    assert replayed(cancelled("conformance-cancellable", begun=True)).status == "completed"


def test_a_replay_of_a_cancelled_run_reads_no_memory_that_its_source_has_not_read() -> None:
    building.remember("acme", "likes tea")
    building.install("acme", building.definition("later", node("slow", "core.delay", {"delayMs": 9000}), recall()))
    made = replayed(cancelled("later", begun=True))
    assert (made.status, made.error["code"]) == ("failed", "replay_source_missing")
    assert types_of(made)[-3:] == ["node.started", "node.failed", "run.failed"]


def test_a_replay_of_a_completed_effect_tells_its_outcome_and_its_write_again_and_does_not_act() -> None:
    source = building.execute(building.scope(), "conformance-replay-side-effect", delayMs=0)
    written = MemoryEntry.objects.filter(memory_ref="conformance/effects").count()
    made = replayed(source)
    assert (made.status, facts(made)) == ("completed", facts(source))
    assert "memory.written" in types_of(made)
    assert MemoryEntry.objects.filter(memory_ref="conformance/effects").count() == written == 1


@pytest.mark.engines
def test_a_run_whose_branches_went_side_by_side_is_told_in_the_order_of_its_log() -> None:
    nodes = [node(name, "core.noop") for name in ("start", "quick", "never")]
    nodes.append(node("slow", "core.delay", {"delayMs": 5000}))
    flow = building.definition("wide", *nodes)
    flow["edges"] = [
        {"id": "a", "sourceNodeId": "start", "targetNodeId": "slow"},
        {"id": "b", "sourceNodeId": "start", "targetNodeId": "quick"},
        {"id": "c", "sourceNodeId": "start", "targetNodeId": "never", "condition": NEVER},
    ]
    building.install("acme", flow)
    now = timezone.now()
    run = run_operations.create_run(building.scope(), RunRequest("wide"), now=now)
    advance_at(run, now)
    source = advance_at(run, now + timedelta(seconds=6))
    assert source.status == "completed"
    assert "node.skipped" in types_of(source)
    made = replayed(source)
    assert facts(made) == facts(source)
    states = [dict(Step.objects.filter(run_id=run.id).values_list("node_id", "state")) for run in (made, source)]
    assert states[0] == states[1]
    assert types_of(branched(source, len(log_of(source)))) == types_of(source)


def test_a_long_log_is_told_in_pieces_and_a_worker_that_died_between_two_doubles_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(replay, "CHUNK", 2)
    source = digest_run("likes tea")
    made = forked(source, "replay")
    holder, now = "test/1", timezone.now()
    assert runs.claim(made.tenant_id, made.id, holder=holder, now=now)
    engine._step(made.tenant_id, made.id, holder, timezone.now)
    assert len(log_of(made)) == 2
    runs.LEASE.release_held_by("test", now=timezone.now())
    assert facts(building.advance(made)) == facts(source)


def test_a_transaction_of_a_replay_begins_no_further_node_when_its_turn_is_over(typed: Callable[..., None]) -> None:
    """Other writers to SQLite wait for it: a node that takes long is alone in its transaction."""
    nodes = [node(each, "core.slow") for each in ("a", "b", "c")]
    typed("core.slow", lambda ctx: Done(outputs={"at": ctx.node_id}))
    source = executed("slow", *nodes)

    def slow(ctx: NodeContext) -> Outcome:
        time.sleep(replay.TURN_S)
        return Done(outputs={"at": ctx.node_id})

    typed("core.slow", slow)
    made, told = forked(source, "replay"), []
    assert runs.claim(made.tenant_id, made.id, holder="test/1", now=timezone.now())
    while engine._step(made.tenant_id, made.id, "test/1", timezone.now):
        told.append(types_of(made).count("node.completed"))
    assert told[:2] == [1, 2]
    assert facts(made) == facts(source)


@pytest.mark.engines
def test_a_replay_reads_the_values_of_no_node_but_those_that_it_comes_to(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(replay, "CHUNK", 2)
    writes = [building.remember_node(f"note {number}", node_id=f"n{number}") for number in range(4)]
    source = executed("four-notes", *writes)
    made = forked(source, "replay")
    with CaptureQueriesContext(connection) as seen:
        made = building.advance(made)
    assert (made.status, facts(made)) == ("completed", facts(source))
    reads = [each["sql"] for each in seen if '"runtime_step"."outputs"' in each["sql"].partition(" FROM ")[0]]
    assert reads
    assert [each for each in reads if '"node_id" = ' not in each and '"id" = ' not in each] == []


@pytest.mark.engines
def test_an_interrupt_is_told_with_its_own_ids_and_nobody_is_asked_again(typed: Callable[..., None]) -> None:
    typed("core.noop", asks, OnReplay.RECORDED)
    source = executed("asking", node("ask", "core.noop"))
    assert source.status == "waiting-input"
    answer(source, {"colour": "red"})
    source = building.advance(source)
    assert source.status == "completed"
    made = replayed(source)
    assert facts(made) == facts(source)
    assert Interrupt.objects.of(made.tenant_id).filter(run_id=made.id).count() == 0
    assert Step.objects.get(run_id=made.id).outputs == {"colour": "red"}


def answer(run: Run, value: dict) -> None:
    with transaction.atomic():
        locked = runs.locked(run.tenant_id, run.id)
        interrupts.answer(locked, interrupts.open_at(locked)[0], value, now=timezone.now())


def asks(ctx: NodeContext) -> Outcome:
    """A node that asks for a colour, and gives what it is answered."""
    if ctx.resume_value is None:
        return Wait("custom", "colour", CustomAsk("colour"))
    return Done(outputs=ctx.resume_value)


def prompt(version: str) -> None:
    """The prompt template ``t`` is installed in that version."""
    building.install_prompt("t", f"say {version}", version=version)


@pytest.mark.engines
def test_a_replay_uses_the_prompt_that_its_source_used() -> None:
    prompt("1.0.0")
    source = executed("prompted", node("say", "vendor.console.compose", {"template": "t"}))
    prompt("2.0.0")
    made = replayed(source)
    assert Step.objects.get(run_id=made.id).outputs == {"text": "say 1.0.0", "promptRef": "prompt:t@1.0.0"}
    assert [use.installation.ref for use in registry.used_by(made)] == ["prompt:t@1.0.0"]
    assert Resolution.objects.filter(run_id=made.id).count() == 1


def test_a_replay_opens_no_secret_and_comes_to_the_same() -> None:
    vault.store_secret(building.tenant().id, "crm", "tok-123456789", now=timezone.now())
    source = executed("secretive", building.remember_node("used {{key}}", secrets={"key": "crm"}))
    assert source.status == "completed"
    vault.remove(building.tenant().id, "crm", now=timezone.now())
    made = replayed(source)
    assert facts(made) == facts(source)


# --- whose a fork is ------------------------------------------------------------------------------------------------


def secretive(owner: TenantScope) -> Run:
    """A run of ``owner`` that has used a secret of its own, and then waited."""
    vault.store_secret(
        owner.tenant_id, "crm", "tok-of-the-source", scope="user", owner=owner.principal.id, now=timezone.now()
    )
    first = building.remember_node("first {{key}}", node_id="first", secrets={"key": "crm"})
    then = building.remember_node("then {{key}}", node_id="then", secrets={"key": "crm"})
    named = building.remember_node("it is tok-of-the-source", node_id="named")
    building.install("acme", building.definition("secretive-two", first, then, named))
    source = building.execute(owner, "secretive-two")
    assert source.status == "completed", source.error
    return source


@pytest.mark.parametrize("mode", ["replay", "branch"])
def test_a_fork_belongs_to_who_asked_for_it_and_its_log_and_page_name_both(mode: str, client: Client) -> None:
    rosa, asker = building.operator(role="owner", email="rosa@acme.example"), building.scope(name="asker")
    owner = tenancy.scope_without_request(asker.tenant_id, ids.wire("usr", rosa.id), now=timezone.now())
    source = building.execute(owner, "conformance-multi-node")
    at_the_start, later = forked_by(asker, source, mode, 0), forked_by(asker, source, mode, 3)
    for made in map(building.advance, (at_the_start, later)):
        assert (made.status, made.principal) == ("completed", asker.principal.id)
        begun = log_of(made)[0].payload
        assert begun["owner"] == {"tenant": "acme", "principal": asker.principal.id}
        assert begun["sourceOwner"] == {"tenant": "acme", "principal": owner.principal.id}
        snapshot = client.get(f"/v1/runs/{ids.wire('run', made.id)}", **building.headers()).json()
        assert (snapshot["owner"], snapshot["sourceOwner"]) == (begun["owner"], begun["sourceOwner"])
        client.force_login(rosa)
        page = client.get(f"/runs/{ids.wire('run', made.id)}").content.decode()
        assert "asker" in page
        assert "Its source was started by" in page
        assert "rosa@acme.example" in page
    own = building.advance(forked_by(owner, source, mode, 0))
    assert "sourceOwner" not in log_of(own)[0].payload
    record = audit.newest(source.tenant_id, limit=1)[0]
    assert (record.action, record.details["sourceOwner"]) == ("run.fork", owner.principal.id)


@pytest.mark.engines
def test_a_branch_opens_the_secrets_of_who_asked_and_none_of_its_source_s_owner() -> None:
    owner, asker, stranger = (building.scope(role="author") for _ in range(3))
    source = secretive(owner)
    now = timezone.now()
    vault.store_secret(asker.tenant_id, "crm", "tok-of-the-asker", scope="user", owner=asker.principal.id, now=now)
    before_then = at(source, "node.started", "then")
    made = building.advance(forked_by(asker, source, "branch", before_then))
    assert made.status == "completed", made.error
    assert [row.owner for row in vault.known_to(made.tenant_id, made.id)] == [owner.principal.id, asker.principal.id]
    written = set(MemoryEntry.objects.filter(run_id=made.id).values_list("content", flat=True))
    assert written == {"then [REDACTED:crm]", "it is [REDACTED:crm]"}, "what the source has resolved stays redacted"
    refused = building.advance(forked_by(stranger, source, "branch", before_then))
    assert (refused.status, refused.error["code"]) == ("failed", "not_found")


@pytest.mark.engines
def test_a_replay_of_another_s_run_opens_nothing_and_keeps_its_secrets_redacted() -> None:
    owner, asker = building.scope(role="author"), building.scope(role="author")
    source = secretive(owner)
    made = building.advance(forked_by(asker, source, "replay"))
    assert made.status == "completed", made.error
    assert facts(made)[1:] == facts(source)[1:]
    assert "tok-of-the-source" not in str([(step.outputs, step.variables) for step in Step.objects.all()])


def test_an_author_branches_behind_no_approval_and_is_asked_for_one_from_before_it(client: Client) -> None:
    author = building.operator(role="author")
    gate, then = node("gate", "core.approvalGate"), building.remember_node("the refund is paid", node_id="pay")
    building.install("acme", building.definition("refund", gate, then))
    source = building.execute(building.scope(role="author"), "refund")
    accept = {"action": "accept"}
    run_operations.resolve_interrupt(building.scope(role="reviewer"), source.id, "gate", accept, now=timezone.now())
    assert building.advance(source).status == "completed"
    behind = at(source, "node.started", "pay")
    client.force_login(author)
    url = f"/runs/{ids.wire('run', source.id)}/fork"
    refused = client.post(url, {"mode": "branch", "from_seq": str(behind)})
    assert refused.status_code == 403
    assert "would continue after an approval" in refused.content.decode()
    made = client.post(url, {"mode": "branch", "from_seq": "0"})
    waiting = building.advance(runs.find(source.tenant_id, building.id_of("run", made["Location"].rpartition("/")[2])))
    assert (waiting.status, waiting.principal) == ("waiting-approval", ids.wire("usr", author.id))
    assert client.post(url, {"mode": "replay", "from_seq": "0"}).status_code == 302
    assert MemoryEntry.objects.count() == 1
    by_operator = building.advance(forked_by(building.scope(role="operator"), source, "branch", behind))
    assert (by_operator.status, MemoryEntry.objects.count()) == ("completed", 2)


@pytest.mark.parametrize("action", ["reject", "accept"])
def test_a_rejected_approval_is_taken_over_without_the_permission_to_approve(action: str) -> None:
    gate = node("gate", "core.approvalGate")
    building.install("acme", building.definition("refund", gate, node("pay", "core.noop")))
    author = building.scope(role="author")
    source = building.execute(author, "refund")
    reviewer = building.scope(role="reviewer")
    run_operations.resolve_interrupt(reviewer, source.id, "gate", {"action": action}, now=timezone.now())
    building.advance(source)
    behind = at(source, "node.resumed", "gate") + 1
    if action == "reject":
        assert building.advance(forked_by(author, source, "branch", behind)).status == "failed"
    else:
        with pytest.raises(Forbidden):
            forked_by(author, source, "branch", behind)


def test_a_fork_of_a_fork_names_the_owner_of_the_run_that_it_comes_from() -> None:
    owner, second, third = (building.scope(role="author") for _ in range(3))
    source = building.execute(owner, "conformance-noop")
    between = building.advance(forked_by(second, source, "replay"))
    last = log_of(building.advance(forked_by(third, between, "replay")))[0].payload
    assert (last["owner"]["principal"], last["sourceOwner"]["principal"]) == (third.principal.id, second.principal.id)
    back = log_of(building.advance(forked_by(second, between, "replay")))[0].payload
    assert "sourceOwner" not in back


@pytest.mark.parametrize("role", ["viewer", "reviewer", "auditor"])
def test_who_may_not_run_does_not_fork(role: str) -> None:
    source = building.execute(building.scope(), "conformance-noop")
    for mode in ("replay", "branch"):
        with pytest.raises(Forbidden):
            forked_by(building.scope(role=role), source, mode, 0)


@pytest.mark.parametrize("probe", ["roundtrip", "redaction", "ttl", "cross-tenant"])
def test_the_memory_probes_are_replayed(probe: str) -> None:
    source = building.execute(building.scope(), f"conformance-agent-memory-{probe}")
    made = replayed(source)
    assert (made.status, made.variables) == ("completed", source.variables)
    assert facts(made) == facts(source)


def a_run_of_every_kind_of_reading() -> Run:
    """It has waited, used a prompt and read memory, which all stand otherwise by now."""
    prompt("1.0.0")
    building.remember("acme", "likes tea")
    now = timezone.now()
    nodes = [
        node("slow", "core.delay", {"delayMs": 20_000}),
        node("say", "vendor.console.compose", {"template": "t"}),
        recall(),
        building.remember_node("mine", memory_ref="summaries"),
    ]
    building.install("acme", building.definition("reads", *nodes))
    run = run_operations.create_run(building.scope(), RunRequest("reads"), now=now)
    advance_at(run, now)
    source = advance_at(run, now + timedelta(seconds=21))
    prompt("2.0.0")
    building.remember("acme", "likes coffee")
    return source


def test_a_replay_of_a_replay_is_the_same_again() -> None:
    source = a_run_of_every_kind_of_reading()
    assert facts(replayed(replayed(source))) == facts(source)


def test_a_branch_is_replayed_from_wherever_it_was_cut() -> None:
    source = a_run_of_every_kind_of_reading()
    for from_seq in range(at(source, "node.completed", "slow") + 1, len(log_of(source)) + 1):
        made = branched(source, from_seq)
        again = replayed(made)
        assert (made.status, again.status, again.error) == ("completed", "completed", None)
        assert facts(again) == facts(made)
        assert again.variables == made.variables


def test_what_lies_before_the_fork_is_taken_from_the_record_and_nothing_is_called(typed: Callable[..., None]) -> None:
    called: list[Any] = []

    def counts(ctx: NodeContext) -> Outcome:
        called.append(ctx.node_id)
        return Done()

    typed("core.noop", counts)
    source = executed("two", node("a", "core.noop"), node("b", "core.noop"))
    called.clear()
    assert facts(replayed(source, at(source, "node.started", "b"))) == facts(source)
    assert called == ["b"]


# --- replay: where the record ends or does not fit -------------------------------------------------------------------


def other_outputs(ctx: NodeContext) -> Outcome:
    return Done(outputs={"x": 2})


def fails(ctx: NodeContext) -> Outcome:
    raise NodeFailure("no", "It does not work any more.")


def crashes(ctx: NodeContext) -> Outcome:
    event_log.open_stream(ctx.run.tenant_id, ctx.run.id)
    return Done()


def sleeps(ctx: NodeContext) -> Outcome:
    return Sleep(ctx.now + timedelta(hours=1))


def writes(ctx: NodeContext) -> Outcome:
    ctx.memory.write("notes", "one more")
    return Done()


def test_a_write_to_another_ref_than_recorded_is_told_of(typed: Callable[..., None]) -> None:
    typed("core.noop", writes)
    source = executed("plain", node("a", "core.noop"))
    typed("core.noop", lambda ctx: Done(outputs={"id": ctx.memory.write("elsewhere", "one more")}))
    made = replayed(source)
    assert [e.payload["divergenceKind"] for e in log_of(made) if e.type == "replay.diverged"] == ["output"]
    assert types_of(made)[:3] == ["run.started", "node.started", "memory.written"]
    typed("core.noop", lambda ctx: Done())
    assert replayed(source).error["code"] == "replay_diverged"  # it wrote less than is on record


def test_a_database_that_is_away_is_no_divergence_and_the_replay_goes_on_later(typed: Callable[..., None]) -> None:
    source = executed("plain", node("a", "core.noop"))

    def away(ctx: NodeContext) -> Outcome:
        raise OperationalError

    typed("core.noop", away)
    made = forked(source, "replay")
    with pytest.raises(OperationalError):
        building.advance(made)
    typed("core.noop", lambda ctx: Done())
    runs.LEASE.release_held_by("test", now=timezone.now())
    assert facts(building.advance(made)) == facts(source)


def test_a_run_that_has_not_ended_is_not_replayed_and_may_be_branched() -> None:
    now = timezone.now()
    source = run_operations.create_run(
        building.scope(), RunRequest("conformance-delay", inputs={"delayMs": 20_000}), now=now
    )
    for status in ("pending", "running"):
        with pytest.raises(Conflict) as refused:
            forked(source, "replay")
        assert refused.value.details == {"runStatus": status}
        advance_at(source, now)
    with pytest.raises(InvalidFromSeq):
        forked(source, "replay", 99)
    assert branched(source, 0).status == "running"
    early = run_operations.create_run(building.scope(), RunRequest("conformance-noop"), now=now)
    assert branched(early, 0).status == "completed"


def effects_anyway(ctx: NodeContext) -> Outcome:
    scope = tenancy.memory_scope(tenancy.run_scope(ctx.run), "notes")
    assert scope
    ledger.entries.write_entry(scope, EntryDraft("by the side"), run=ctx.run, node_id=ctx.node_id, now=ctx.now)
    return Done()


@pytest.mark.parametrize(
    ("otherwise", "kind"),
    [
        (other_outputs, "output"),
        (fails, "output"),
        (crashes, "output"),
        (effects_anyway, "output"),
        (sleeps, "type-mismatch"),
        (writes, "extra"),
    ],
)
def test_a_node_that_comes_to_something_else_is_told_of_and_fails_the_replay(
    typed: Callable[..., None], otherwise: Callable[[NodeContext], Outcome], kind: str
) -> None:
    source = executed("plain", node("a", "core.noop"))
    typed("core.noop", otherwise)
    made = replayed(source)
    assert types_of(made) == ["run.started", "node.started", "replay.diverged", "node.failed", "run.failed"]
    assert log_of(made)[2].payload == {
        "sourceRunId": ids.wire("run", source.id),
        "atSequence": 2,
        "divergenceKind": kind,
    }
    assert made.error["code"] == "replay_diverged"
    assert MemoryEntry.objects.count() == 0


def test_of_nodes_side_by_side_only_the_one_that_diverged_fails_and_the_other_is_cancelled(
    typed: Callable[..., None],
) -> None:
    nodes = [node("slow", "core.delay", {"delayMs": 5000}), node("quick", "core.noop")]
    building.install("acme", building.definition("wide", *nodes) | {"edges": []})
    now = timezone.now()
    run = run_operations.create_run(building.scope(), RunRequest("wide"), now=now)
    advance_at(run, now)
    source = advance_at(run, now + timedelta(seconds=6))
    typed("core.noop", other_outputs)
    made = replayed(source)
    told = [(event.type, event.node_id) for event in log_of(made)]
    assert {("node.started", "slow"), ("node.started", "quick")} <= set(told)
    assert told[-4:] == [
        ("replay.diverged", ""), ("node.failed", "quick"), ("node.cancelled", "slow"), ("run.failed", ""),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("reads", "kind"),
    [
        (lambda memory: memory.list("elsewhere"), "type-mismatch"),
        (lambda memory: None, "missing"),
        (lambda memory: [memory.list("notes"), memory.list("notes")], ""),
    ],
)
def test_a_node_that_reads_otherwise_gets_nothing_of_what_memory_holds_now(
    typed: Callable[..., None], reads: Callable[[Any], Any], kind: str
) -> None:
    def as_before(ctx: NodeContext) -> Outcome:
        ctx.memory.list("notes")
        return Done()

    def otherwise(ctx: NodeContext) -> Outcome:
        reads(ctx.memory)
        return Done()

    typed("core.noop", as_before)
    source = executed("plain", node("a", "core.noop"))
    typed("core.noop", otherwise)
    made = replayed(source)
    assert made.error["code"] == ("replay_diverged" if kind else "replay_source_missing")
    assert [e.payload["divergenceKind"] for e in log_of(made) if e.type == "replay.diverged"] == [kind] * bool(kind)


@pytest.mark.engines
def test_a_text_that_is_forgotten_between_fork_and_replay_fails_the_node() -> None:
    source = digest_run("likes tea")
    made = forked(source, "replay")
    KeptContent.objects.written_by("memory.recordings").update(text=None)
    assert building.advance(made).error["code"] == "replay_source_missing"


# --- no effect of any kind -------------------------------------------------------------------------------------------


@pytest.mark.engines
def test_every_place_of_an_effect_refuses_a_replay_that_comes_to_it_directly() -> None:
    source = digest_run("likes tea")
    made = forked(source, "replay")
    acme, now = building.scope(), timezone.now()
    wait = Wait("custom", "colour", CustomAsk("colour"))
    run_scope = tenancy.run_scope(made)
    doors: list[Callable[[], Any]] = [
        lambda: building.write(acme, made, "again"),
        lambda: workspace.write_file(run_scope, "a.md", FileDraft("again"), run=made, node_id="a", now=now),
        lambda: interrupts.open_interrupt(made, "a", wait, now=now),
        lambda: interrupts.ask_answered(made, "a", wait, {}, now=now),
        lambda: runs.note(made, NodeStarted("a", "core.noop", 0), now=now),
        lambda: lifecycle.install_granted(made, now),
        made.refuse_effects,
    ]
    before = (MemoryEntry.objects.count(), WorkspaceFile.objects.count(), RunEvent.objects.count())
    for door in doors:
        with pytest.raises(EffectInReplay), transaction.atomic():
            door()
    assert (MemoryEntry.objects.count(), WorkspaceFile.objects.count(), RunEvent.objects.count()) == before
    source.refuse_effects()


def test_a_replay_is_not_paused_and_can_be_cancelled() -> None:
    made = forked(digest_run("likes tea"), "replay")
    acme, now = building.scope(), timezone.now()
    with pytest.raises(Conflict, match="cannot be paused"):
        run_operations.pause_run(acme, made.id, now=now)
    run_operations.cancel_run(acme, made.id, now=now)
    assert building.advance(made).status == "cancelled"


# --- branch ----------------------------------------------------------------------------------------------------------


def everything_of(run: Run) -> list[Any]:
    """All that a fork could touch of its source."""
    rows = [
        table.objects.of(run.tenant_id).filter(run_id=run.id).order_by("id").values()
        for table in (Step, MemoryEntry, Interrupt, KeptRead)
    ]
    return [log_of(run), Run.objects.filter(id=run.id).values()[0], *map(list, rows)]


@pytest.mark.engines
def test_a_branch_goes_on_from_what_was_done_and_leaves_its_source_alone() -> None:
    source = digest_run("likes tea")
    before = everything_of(source)
    start = at(source, "node.started", "remember")
    made = branched(source, start)
    assert made.status == "completed"
    assert facts(made)[:start] == facts(source)[:start]
    assert types_of(made) == types_of(source)
    assert everything_of(source) == before
    ours, theirs = (MemoryEntry.objects.get(run_id=run.id) for run in (made, source))
    assert ours.id != theirs.id
    assert ours.content == theirs.content == "Known: likes tea"
    assert (made.fork_mode, made.source_run_id, made.from_seq) == ("branch", source.id, start)


@pytest.mark.engines
def test_a_branch_reads_memory_as_its_source_did_and_its_own_writes(typed: Callable[..., None]) -> None:
    building.remember("acme", "old")
    nodes = [
        building.remember_node("mine", node_id="one"),
        recall("look"),
        building.remember_node("late", node_id="two"),
    ]
    source = executed("own", *nodes)
    building.remember("acme", "new")
    seen = {start: branched(source, at(source, "node.started", start)) for start in ("one", "look")}

    def looked(run: Run) -> list[str]:
        outputs = Step.objects.get(run_id=run.id, node_id="look").outputs
        return [entry["content"] for entry in outputs["entries"]]

    assert looked(source) == looked(seen["look"]) == ["mine", "old"]
    assert looked(seen["one"]) == ["mine", "old"]  # its own "mine", not its source's
    from_the_start = branched(source, 0)
    assert looked(from_the_start) == ["mine", "old"]
    of_a_branch = branched(seen["look"], at(seen["look"], "node.started", "look"))
    assert looked(of_a_branch) == ["mine", "old"]
    of_a_replay = branched(replayed(source), at(source, "node.started", "look"))
    assert looked(of_a_replay) == ["mine", "old"]


@pytest.mark.engines
def test_a_branch_does_not_see_what_its_source_wrote_behind_the_fork() -> None:
    nodes = [building.remember_node("one", node_id="one"), building.remember_node("two", node_id="two"), recall("look")]
    source = executed("later", *nodes)
    made = forked(source, "branch", at(source, "node.started", "two"))
    entries = Step.objects.get(run_id=building.advance(made).id, node_id="look").outputs["entries"]
    assert [entry["content"] for entry in entries] == ["two", "one"]
    assert len({entry["id"] for entry in entries} & {e["id"] for e in
               Step.objects.get(run_id=source.id, node_id="look").outputs["entries"]}) == 1  # fmt: skip


def test_a_branch_is_configured_by_its_overlay() -> None:
    source = building.execute(building.scope(), "conformance-multi-node")
    made = forked(source, "branch", 0, configurable={"recursionLimit": 1}, tags=["again"], metadata={"why": "test"})
    assert (made.configurable, made.tags, made.metadata) == ({"recursionLimit": 1}, ["again"], {"why": "test"})
    assert building.advance(made).error["code"] == "recursion_limit_exceeded"
    assert runs.find(source.tenant_id, source.id).configurable == {}
    with pytest.raises(Invalid):
        forked(source, "branch", 0, configurable={"recursionLimit": 0})


@pytest.mark.engines
def test_a_branch_from_behind_the_end_ends_by_itself() -> None:
    source = digest_run("likes tea")
    made = branched(source, len(log_of(source)))
    assert types_of(made) == types_of(source)
    assert MemoryEntry.objects.filter(run_id=made.id).count() == 0
    assert made.variables == source.variables


def test_a_branch_from_behind_the_end_of_a_cancelled_run_goes_on_where_that_was_stopped() -> None:
    now = timezone.now()
    run = run_operations.create_run(
        building.scope(), RunRequest("conformance-delay", inputs={"delayMs": 5000}), now=now
    )
    advance_at(run, now)
    run_operations.cancel_run(building.scope(), run.id, now=now)
    source = advance_at(run, now)
    made = branched(source, len(log_of(source)))
    assert (source.status, made.status) == ("cancelled", "running")
    assert advance_at(made, timezone.now() + timedelta(seconds=6)).status == "completed"


def test_a_branch_of_a_failed_run_tries_the_node_again(typed: Callable[..., None]) -> None:
    typed("core.noop", fails)
    source = executed("flaky", building.remember_node("first", node_id="first"), node("a", "core.noop"))
    assert source.status == "failed"
    typed("core.noop", lambda ctx: Done())
    assert branched(source, at(source, "node.failed")).status == "completed"
    assert branched(source, len(log_of(source))).error == source.error
    assert types_of(branched(source, at(source, "node.failed"))).count("node.started") == 2


def test_a_branch_keeps_nothing_of_a_step_whose_outcome_lies_behind_the_fork() -> None:
    nodes = [building.remember_node("mine", node_id="one"), recall("look")]
    source = executed("cut", *nodes)
    for from_seq in range(len(log_of(source)) + 1):
        made = branched(source, from_seq)
        assert types_of(made) == types_of(source)
        entries = Step.objects.get(run_id=made.id, node_id="look").outputs["entries"]
        assert [entry["content"] for entry in entries] == ["mine"]


def test_a_file_of_a_step_whose_outcome_lies_behind_the_fork_is_not_seen() -> None:
    write = node("write", "vendor.console.write-file", {"path": "mine.md", "content": "draft"})
    source = executed("cut", write)
    assert forked(source, "branch", at(source, "node.completed", "write")).workspace == []
    assert len(forked(source, "branch", at(source, "run.completed")).workspace) == 1


def test_a_branch_is_not_paused_because_its_source_was() -> None:
    acme, now = building.scope(), timezone.now()
    source = run_operations.create_run(acme, RunRequest("conformance-delay", inputs={"delayMs": 5000}), now=now)
    advance_at(source, now)
    run_operations.pause_run(acme, source.id, drain=False, now=now)
    run_operations.resume_run(acme, source.id, now=now)
    paused, resumed = at(source, "run.paused"), at(source, "run.resumed")
    assert "run.paused" not in types_of(forked(source, "branch", paused + 1))
    assert types_of(forked(source, "branch", resumed + 1))[-2:] == ["run.paused", "run.resumed"]


@pytest.mark.engines
def test_a_run_that_was_paused_before_it_began_is_replayed_and_branched_from_every_place() -> None:
    acme, now = building.scope(), timezone.now()
    source = run_operations.create_run(acme, RunRequest("conformance-noop"), now=now)
    run_operations.pause_run(acme, source.id, drain=False, now=now)
    run_operations.resume_run(acme, source.id, now=now)
    source = advance_at(source, now)
    assert types_of(source)[:3] == ["run.paused", "run.resumed", "run.started"]
    made = replayed(source)
    assert (made.status, facts(made)) == ("completed", facts(source))
    assert made.started_at
    for before, begins in enumerate((["run.started"], ["run.started"], ["run.paused", "run.resumed", "run.started"])):
        branch = branched(source, before)
        assert (branch.status, types_of(branch)[: len(begins)]) == ("completed", begins), before


def test_a_replay_of_a_run_that_was_paused_and_cancelled_before_it_began_goes_on_alone() -> None:
    acme, now = building.scope(), timezone.now()
    source = run_operations.create_run(acme, RunRequest("conformance-noop"), now=now)
    run_operations.pause_run(acme, source.id, drain=False, now=now)
    run_operations.cancel_run(acme, source.id, now=now)
    assert types_of(advance_at(source, now)) == ["run.paused", "run.cancelled"]
    assert types_of(replayed(source))[:2] == ["run.paused", "run.started"]


def test_what_was_asked_and_not_answered_is_asked_anew_and_an_answer_is_kept(typed: Callable[..., None]) -> None:
    typed("core.noop", asks, OnReplay.RECORDED)
    source = executed("asking", node("ask", "core.noop"))
    answer(source, {"colour": "red"})
    source = building.advance(source)
    asked = branched(source, at(source, "interrupt.resolved"))
    assert asked.status == "waiting-input"
    fresh = interrupts.open_at(asked)[0]
    assert fresh.id != Interrupt.objects.get(run_id=source.id).id
    assert types_of(asked)[-2:] == ["interrupt.requested", "node.suspended"]
    answer(asked, {"colour": "blue"})
    assert Step.objects.get(run_id=building.advance(asked).id).outputs == {"colour": "blue"}
    before_done = at(source, "node.completed")
    answered = branched(source, before_done)
    for made in (answered, branched(answered, before_done), branched(replayed(source), before_done)):
        assert made.status == "completed"
        assert Step.objects.get(run_id=made.id).outputs == {"colour": "red"}
    assert Step.objects.get(run_id=branched(asked, len(log_of(asked))).id).outputs == {"colour": "blue"}


def test_a_branch_sees_the_files_of_its_source() -> None:
    acme, now = building.scope(), timezone.now()
    workspace.write_file(acme, "plan.md", FileDraft("as it was"), now=now)
    read = node("read", "vendor.console.read-file", {"path": "plan.md"})
    write = node("write", "vendor.console.write-file", {"path": "mine.md", "content": "draft"})
    look = node("look", "vendor.console.read-file", {"path": "mine.md"})
    source = executed("files", read, write, look)
    assert source.status == "completed", source.error
    workspace.write_file(acme, "plan.md", FileDraft("as it is"), now=now)
    workspace.write_file(acme, "mine.md", FileDraft("by another"), now=now)
    made = branched(source, at(source, "node.started", "look"))
    assert Step.objects.get(run_id=made.id, node_id="look").outputs["content"] == "draft"
    assert Step.objects.get(run_id=branched(source, 0).id, node_id="read").outputs["content"] == "as it was"
    assert facts(replayed(source)) == facts(source)


def test_a_branch_does_not_see_what_another_wrote_by_the_number_of_a_version_that_is_gone() -> None:
    acme, now = building.scope(), timezone.now()
    write = node("write", "vendor.console.write-file", {"path": "mine.md", "content": "draft"})
    look = node("look", "vendor.console.read-file", {"path": "mine.md"})
    source = executed("files", write, look)
    start = at(source, "node.started", "look")
    first = forked(source, "branch", start)
    workspace.delete_file(acme, "mine.md", now=now)
    workspace.write_file(acme, "mine.md", FileDraft("by another"), now=now)
    assert branched(source, start).error["code"] == "workspace_version_gone"
    assert branched(first, start).error["code"] == "workspace_version_gone"


@pytest.mark.engines
def test_a_branch_of_a_branch_sees_files_as_they_were_where_it_was_cut() -> None:
    def write(node_id: str, content: str) -> dict:
        return node(node_id, "vendor.console.write-file", {"path": "mine.md", "content": content})

    source = executed("files", write("one", "first"), write("two", "second"), node("end", "core.noop"))
    first = branched(source, at(source, "node.started", "end"))
    versions = [
        [noted["version"] for noted in forked(first, "branch", from_seq).workspace]
        for from_seq in (0, at(first, "node.started", "two"), at(first, "node.started", "end"))
    ]
    assert versions == [[], [1], [2]]
    seen = forked(first, "branch", at(first, "node.started", "two")).workspace
    assert WorkspaceFile.objects.get(id=seen[0]["file"]).content == "first"


# --- what may be forked ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("request_", "refusal"),
    [
        (ForkRequest("branch"), Invalid),
        (ForkRequest("replay", 0, Overlay(configurable={"model": "x"})), Invalid),
        (ForkRequest("replay", 0, Overlay(tags=[])), Invalid),
        (ForkRequest("replay", 7), InvalidFromSeq),
        (ForkRequest("branch", 7), InvalidFromSeq),
    ],
)
def test_a_fork_that_cannot_be_is_refused(request_: ForkRequest, refusal: type[Exception]) -> None:
    source = building.execute(building.scope(), "conformance-noop")
    assert len(log_of(source)) == 5
    with pytest.raises(refusal):
        replay.fork(building.scope(), source.id, request_, now=timezone.now())
    assert Run.objects.count() == 1


@pytest.mark.parametrize("role", ["viewer", "reviewer", "auditor"])
def test_a_fork_needs_both_permissions(role: str) -> None:
    source = building.execute(building.scope(), "conformance-noop")
    with pytest.raises(Forbidden):
        replay.fork(building.scope(role=role), source.id, ForkRequest("replay"), now=timezone.now())


def test_a_foreign_run_is_not_there_and_a_run_of_the_host_is_not_forked() -> None:
    source = building.execute(building.scope(), "conformance-noop")
    for run_id in (source.id, ids.new_id(), None):
        with pytest.raises(NotFound):
            replay.fork(building.scope("globex"), run_id, ForkRequest("replay"), now=timezone.now())
    run = runs.open_run(building.tenant().id, RunOrder("host-test", "{}", "host", system=True), now=timezone.now())
    with pytest.raises(Conflict, match="host itself"):
        replay.fork(building.scope(), run.id, ForkRequest("replay"), now=timezone.now())


def test_a_key_forks_only_what_its_agents_may_do() -> None:
    source = digest_run("likes tea")
    with pytest.raises(Forbidden, match="acts as"):
        replay.fork(
            building.scope(role="agent", agents=("acme.other",)), source.id, ForkRequest("replay"), now=timezone.now()
        )


def test_a_replay_that_needs_a_forgotten_text_is_refused_and_says_why() -> None:
    source = digest_run("likes tea")
    KeptContent.objects.written_by("memory.recordings").update(text=None)
    with pytest.raises(ReplayMemorySnapshotUnavailable) as refused:
        forked(source, "replay")
    assert refused.value.details == {
        "fromSeq": 0, "sourceRunId": ids.wire("run", source.id), "reason": "retention_expired",
    }  # fmt: skip
    assert forked(source, "replay", at(source, "node.started", "remember")).fork_mode == "replay"
    assert branched(source, 0).status == "completed"
    with pytest.raises(InvalidFromSeq):
        forked(source, "replay", 99)


@pytest.mark.engines
def test_a_run_whose_nodes_left_no_record_is_not_replayed_and_branched_from_its_beginning_alone() -> None:
    source = digest_run("likes tea")
    Step.objects.written_by("openwop_console.runtime.steps").filter(node_id="recall").update(on_record=False)
    behind = at(source, "node.completed", "recall") + 1
    for mode, from_seq in (("replay", 0), ("replay", behind), ("branch", behind)):
        with pytest.raises(ReplayMemorySnapshotUnavailable) as refused:
            forked(source, mode, from_seq)
        assert refused.value.details["reason"] == "event_log_unavailable"
    made = branched(source, behind - 1)
    assert made.status == branched(source, 0).status == "completed"
    assert replayed(made).status == "completed"


def test_a_fork_beyond_the_log_is_told_the_last_sequence_and_one_more_is_still_good() -> None:
    source = building.execute(building.scope(), "conformance-noop")
    with pytest.raises(InvalidFromSeq, match="right behind the last one, which is maxSeq") as refused:
        forked(source, "branch", 6)
    assert refused.value.details == {"fromSeq": 6, "maxSeq": 4}
    assert forked(source, "branch", 5).from_seq == 5
