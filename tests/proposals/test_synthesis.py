"""Findings become proposals of the host: once a pattern, told on the pass, and nothing else changes."""

import json
import threading
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from django.db import IntegrityError, connection, connections
from django.test import Client
from django.utils import timezone
from pytest_django.fixtures import Settings

from memory import memory_policy, passes
from memory import model_endpoint as asking
from memory import tasks as memory_tasks
from memory.host import event_log, ids, runs, vault
from memory.host.errors import Conflict, Forbidden, Invalid, NotFound
from memory.host.models import Installation, Run
from memory.models import Pass
from memory.passes import orders
from openwop_console.runtime import replay
from openwop_console.runtime.replay import ForkRequest
from proposals import learning as synthesis
from proposals import lifecycle, tasks
from proposals.learning import findings, wording
from proposals.learning.miners.traces import Evidence
from proposals.models import Proposal, Revision
from tests import building, learning
from tests import proposing as builders
from tests.fixtures_queue import Drain
from tests.memory.test_model_endpoint import Model, model, says
from tests.proposals.test_synthesis_reading import forget
from tests.serving import answers

pytestmark = pytest.mark.django_db
__all__ = ["model"]
URL = "/v1/host/console/synthesis"


def types_on(row: Pass) -> list[str]:
    return [event.type for event in event_log.read(row.tenant_id, row.run_id)]


# --- from a finding to a proposal -----------------------------------------------------------------------------------


@pytest.mark.engines
def test_a_finding_is_a_draft_of_the_host_with_its_evidence_and_is_told_on_the_pass(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    sources = tuple(ids.wire("run", building.execute(building.scope(), "conformance-noop").id) for _ in range(2))
    seen = Evidence("interrupt", "int_" + "1" * 32, "correction")
    learning.rules_that_find(monkeypatch, learning.finding(source_run_ids=sources, evidence=(seen,)))
    row = learning.carried_out()
    made = Proposal.objects.get()
    assert (made.kind, made.state, made.title) == ("prompt-template", "draft", "A shorter summary")
    assert (made.author, made.synthesizer_model) == ("host", "host:rule-miner/1")
    assert made.pattern == findings.digest_of(learning.finding())
    assert len(made.pattern) == 64
    assert (made.source_run_ids, made.evidence) == (
        list(sources),
        [{"kind": "interrupt", "id": "int_" + "1" * 32, "why": "correction"}],
    )
    assert json.loads(Revision.objects.get().text) == builders.TEMPLATE
    outcome = learning.ending_with(row)
    assert outcome["proposed"] == [ids.wire("prop", made.id)]
    assert (outcome["found"], outcome["seenBefore"], outcome["refused"]) == (1, 0, {})
    assert types_on(row) == ["run.started", "proposal.created", "run.completed"]
    [told] = [event.payload for event in event_log.read(row.tenant_id, row.run_id) if event.type == "proposal.created"]
    assert told == {"proposalId": ids.wire("prop", made.id), "kind": "prompt-template",
                    "sourceRunIds": list(sources)}  # fmt: skip
    assert Installation.objects.count() == 0


def test_at_most_fifty_source_runs_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    run = ids.wire("run", building.execute(building.scope(), "conformance-noop").id)
    learning.rules_that_find(monkeypatch, learning.finding(source_run_ids=(run,) * 60))
    learning.ending_with(learning.carried_out())
    assert len(Proposal.objects.get().source_run_ids) == 50


def test_a_pattern_is_proposed_once_also_when_it_was_rejected(monkeypatch: pytest.MonkeyPatch) -> None:
    learning.rules_that_find(monkeypatch, learning.finding(), learning.finding())
    first = learning.ending_with(learning.carried_out())
    assert (len(first["proposed"]), first["seenBefore"]) == (1, 1)
    lifecycle.reject(building.scope(), Proposal.objects.get().id, reason="no", now=timezone.now())
    again = learning.ending_with(learning.carried_out())
    assert (again["found"], again["proposed"], again["seenBefore"]) == (2, [], 2)
    assert Proposal.objects.count() == 1


@pytest.mark.engines
def test_what_another_tenant_was_proposed_is_no_reason_not_to_propose_it_here(monkeypatch: pytest.MonkeyPatch) -> None:
    shown = learning.rules_that_find(monkeypatch, learning.finding())
    for slug in ("acme", "globex"):
        learning.install_triage(slug)
        learning.corrected(building.scope(slug), f"As {slug} says.")
        learning.ending_with(learning.carried_out(learning.ordered(building.scope(slug, "operator"))))
    assert sorted(made.tenant.slug for made in Proposal.objects.all()) == ["acme", "globex"]
    assert "globex" not in repr(shown[0])
    assert "acme" not in repr(shown[1].corrections)


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"artifact": {"templateId": "x"}}, "validation_error"),
        ({"kind": "rule"}, "validation_error"),
        ({"title": "t" * 201}, "validation_error"),
        ({"source_run_ids": ("run_" + "0" * 32,)}, "validation_error"),
        ({"artifact": {**builders.TEMPLATE, "templateId": learning.PROMPT, "version": "1.0.0"}}, "conflict"),
    ],
)
def test_what_cannot_be_installed_is_counted_with_its_code_and_the_others_are_proposed(
    changes: dict[str, Any], code: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    learning.install_prompt(text="Another text.", variables=[])
    learning.rules_that_find(
        monkeypatch, learning.finding("wrong", **changes), learning.finding("right", title="The right one")
    )
    row = learning.carried_out()
    outcome = learning.ending_with(row)
    assert (len(outcome["proposed"]), outcome["refused"]) == (1, {code: 1})
    assert Proposal.objects.get().title == "The right one"
    assert types_on(row).count("proposal.created") == 1


@pytest.mark.engines
def test_a_secret_never_reaches_a_draft(monkeypatch: pytest.MonkeyPatch) -> None:
    vault.store_secret(building.tenant().id, "crm", "tok-4f9a8b7c6d", now=timezone.now())
    artifact = {**builders.TEMPLATE, "text": "Say tok-4f9a8b7c6d.", "variables": []}
    learning.rules_that_find(
        monkeypatch, learning.finding(artifact=artifact, title="tok-4f9a8b7c6d", rationale="It is tok-4f9a8b7c6d.")
    )
    dry = learning.ending_with(learning.carried_out(dry_run=True))
    learning.ending_with(learning.carried_out())
    rows = [*Proposal.objects.values(), *Revision.objects.values(), *Pass.objects.values(), dry]
    assert "tok-4f9a8b7c6d" not in repr(rows)
    assert "[REDACTED:crm]" in Revision.objects.get().text


@pytest.mark.engines
def test_what_the_database_refuses_for_another_reason_is_no_sight_seen_before(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*given: Any, **more: Any) -> Any:
        raise IntegrityError

    learning.rules_that_find(monkeypatch, learning.finding())
    monkeypatch.setattr(lifecycle, "create", refused)
    row = learning.carried_out()
    assert (row.state, row.code) == ("failed", "internal_error")


def test_a_bug_in_a_rule_fails_the_pass_and_leaves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("proposals.learning.miners.mine", lambda traces, now: 1 / 0)
    row = learning.carried_out()
    assert (row.state, row.code) == ("failed", "internal_error")
    assert types_on(row)[-1] == "run.failed"


# --- a pass ---------------------------------------------------------------------------------------------------------


def test_a_dry_run_tells_what_it_would_propose_and_proposes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    learning.rules_that_find(
        monkeypatch, learning.finding(), learning.finding("worse", artifact={}), learning.finding("b", title="Another")
    )
    row = learning.carried_out(dry_run=True)
    outcome = learning.ending_with(row)
    assert outcome["wouldPropose"] == [
        {"kind": "prompt-template", "title": "A shorter summary"},
        {"kind": "prompt-template", "title": "Another"},
    ]
    assert (outcome["found"], outcome["proposed"], outcome["refused"]) == (3, [], {"validation_error": 1})
    assert Proposal.objects.count() == 0
    assert types_on(row) == ["run.started", "run.completed"]
    assert len(learning.ending_with(learning.carried_out())["proposed"]) == 2


def test_a_dry_run_refuses_what_comes_too_late_as_a_pass_does(monkeypatch: pytest.MonkeyPatch) -> None:
    past = {"workflowId": "conformance-noop", "fireAt": "2020-01-01T00:00:00Z"}
    learning.rules_that_find(monkeypatch, learning.finding(kind="automation", artifact=past))
    dry = learning.ending_with(learning.carried_out(dry_run=True))
    assert (dry["wouldPropose"], dry["refused"]) == ([], {"validation_error": 1})
    assert learning.ending_with(learning.carried_out())["refused"] == dry["refused"]


@pytest.mark.engines
def test_a_pass_that_is_taken_over_goes_on_where_it_stood_and_doubles_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    learning.rules_that_find(monkeypatch, *(learning.finding(f"pattern {each}") for each in range(3)))
    row = learning.ordered()
    honest = findings.propose

    def dies_at_the_second(*given: Any, **more: Any) -> Any:
        if Proposal.objects.count() == 1:
            raise KeyboardInterrupt
        return honest(*given, **more)

    monkeypatch.setattr(findings, "propose", dies_at_the_second)
    with pytest.raises(KeyboardInterrupt):
        tasks.carry_out(row.tenant_id, row.id)
    assert tasks.carry_out(row.tenant_id, row.id) is None
    monkeypatch.setattr(findings, "propose", honest)
    Pass.objects.written_by(passes.WRITER).update(lease_until=timezone.now())
    outcome = learning.ending_with(learning.carried_out(row))
    assert (outcome["found"], len(outcome["proposed"]), outcome["seenBefore"]) == (3, 3, 0)
    assert len(set(outcome["proposed"])) == Proposal.objects.count() == 3
    assert types_on(row).count("proposal.created") == 3


@pytest.mark.engines
def test_a_worker_that_has_lost_the_pass_proposes_nothing_more(monkeypatch: pytest.MonkeyPatch) -> None:
    row = learning.ordered()

    def mine(traces: Any, now: Any) -> Any:
        Pass.objects.written_by(passes.WRITER).update(holder="another/1")
        return [learning.finding()]

    monkeypatch.setattr("proposals.learning.miners.mine", mine)
    assert tasks.carry_out(row.tenant_id, row.id) is None
    assert Proposal.objects.count() == 0


def test_a_pass_that_is_stopped_keeps_what_it_has_proposed(monkeypatch: pytest.MonkeyPatch) -> None:
    learning.rules_that_find(monkeypatch, *(learning.finding(f"pattern {each}") for each in range(3)))
    row = learning.ordered()
    honest = findings.propose

    def stops_behind_the_first(*given: Any, **more: Any) -> Any:
        made = honest(*given, **more)
        passes.request_stop(row.tenant_id, row.id, now=timezone.now())
        return made

    monkeypatch.setattr(findings, "propose", stops_behind_the_first)
    ended = learning.carried_out(row)
    assert (ended.state, len(ended.outcome["proposed"])) == ("cancelled", 1)
    assert Proposal.objects.count() == 1


@pytest.mark.engines
def test_a_pass_whose_workers_die_again_and_again_has_failed(monkeypatch: pytest.MonkeyPatch) -> None:
    row = learning.ordered()
    Pass.objects.written_by(passes.WRITER).update(attempts=passes.MAX_ATTEMPTS)
    ended = learning.carried_out(row)
    assert (ended.state, ended.code) == ("failed", "worker_lost")


def test_a_synthesis_whose_queue_row_was_lost_is_queued_again(monkeypatch: pytest.MonkeyPatch, drain: Drain) -> None:
    learning.rules_that_find(monkeypatch, learning.finding())
    row = learning.ordered()
    assert memory_tasks.enqueue_unattended() == 1
    drain()
    learning.ending_with(Pass.objects.get(id=row.id))
    assert Proposal.objects.count() == 1


def test_the_run_of_a_synthesis_is_the_host_s_and_is_not_forked(monkeypatch: pytest.MonkeyPatch) -> None:
    learning.rules_that_find(monkeypatch, learning.finding())
    row = learning.carried_out()
    assert runs.find(row.tenant_id, row.run_id).system
    for mode in ("replay", "branch"):
        with pytest.raises(Conflict, match="not forked"):
            replay.fork(building.scope(), row.run_id, ForkRequest(mode, 0), now=timezone.now())
    assert Proposal.objects.count() == 1


def test_only_who_may_run_passes_orders_one_and_each_tenant_sees_its_own() -> None:
    with pytest.raises(Forbidden):
        learning.ordered(building.scope(role="author"))
    row = learning.ordered()
    assert synthesis.find(building.scope(role="viewer"), row.id).id == row.id
    assert synthesis.latest(building.scope(role="viewer")) == row
    assert synthesis.latest(building.scope("globex", "viewer")) is None
    for scope, wanted in ((building.scope("globex"), row.id), (building.scope(), None)):
        with pytest.raises(NotFound):
            synthesis.find(scope, wanted)
    with pytest.raises(Forbidden):
        synthesis.latest(building.scope(role="auditor"))
    with pytest.raises(NotFound):
        orders.find(building.scope(), row.id)


def test_an_option_that_a_synthesis_does_not_have_is_refused() -> None:
    assert synthesis.checked_options({"endpoint": True}) == {"endpoint": True}
    for options in ({"full": True}, {"endpoint": "yes"}):
        with pytest.raises(Invalid):
            synthesis.checked_options(options)


# --- by itself, once a day ------------------------------------------------------------------------------------------


@pytest.mark.engines
def test_a_tenant_is_looked_at_once_a_day_when_its_runs_have_left_something(
    monkeypatch: pytest.MonkeyPatch, drain: Drain
) -> None:
    learning.rules_that_find(monkeypatch, learning.finding())
    building.tenant("globex")
    assert tasks.order_syntheses() == 0
    building.execute(building.scope(), "conformance-noop")
    assert (tasks.order_syntheses(), tasks.order_syntheses()) == (1, 0)
    drain()
    row = Pass.objects.get()
    today = f"day/{timezone.now():%Y-%m-%d}"
    assert (row.state, row.trigger, row.window, row.requested_by) == ("done", "host-managed", today, "host")
    assert (row.tenant.slug, row.options) == ("acme", {})
    tomorrow = timezone.now() + timedelta(days=1)
    assert synthesis.tenants_due(now=tomorrow) == []
    assert synthesis.order_daily(row.tenant_id, endpoint=False, now=tomorrow) is None
    monkeypatch.setattr(synthesis, "tenants_due", lambda now: [row.tenant_id])
    assert tasks.order_syntheses() == 0
    monkeypatch.undo()
    building.execute(building.scope(), "conformance-noop")
    assert synthesis.tenants_due(now=timezone.now()) == []
    assert synthesis.tenants_due(now=tomorrow) == [row.tenant_id]


def test_a_tenant_that_cannot_be_looked_at_holds_up_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    owners = [building.scope(slug).tenant_id for slug in ("acme", "globex")]
    for slug in ("acme", "globex"):
        building.execute(building.scope(slug), "conformance-noop")
    order = synthesis.order_daily

    def fails_once(tenant_id: UUID, **options: Any) -> Pass | None:
        if tenant_id == owners[0]:
            raise OSError("its miner is broken")
        return order(tenant_id, **options)

    monkeypatch.setattr(synthesis, "tenants_due", lambda now: owners)
    monkeypatch.setattr(synthesis, "order_daily", fails_once)
    assert tasks.order_syntheses() == 1
    assert [row.tenant_id for row in Pass.objects.all()] == owners[1:]


@pytest.mark.engines
def test_a_look_that_failed_has_seen_nothing(monkeypatch: pytest.MonkeyPatch, drain: Drain) -> None:
    monkeypatch.setattr("proposals.learning.miners.mine", lambda traces, now: 1 / 0)
    building.execute(building.scope(), "conformance-noop")
    assert tasks.order_syntheses() == 1
    drain()
    row = Pass.objects.get()
    assert row.state == "failed"
    assert synthesis.tenants_due(now=timezone.now()) == []
    assert synthesis.tenants_due(now=timezone.now() + timedelta(days=1)) == [row.tenant_id]


@pytest.mark.engines
def test_runs_of_the_host_are_no_reason_to_look() -> None:
    learning.carried_out(dry_run=True)
    assert Run.objects.filter(system=True).exists()
    assert tasks.order_syntheses() == 0


# --- an endpoint's words --------------------------------------------------------------------------------------------


@pytest.fixture
def endpoint(model: Model, settings: Settings) -> Model:
    """Acme's policy names this endpoint."""
    settings.OPENWOP_OUTBOUND_ALLOW = ["127.0.0.1"]
    vault.store_secret(building.tenant().id, "model-key", "key-of-the-endpoint-3f9a1c", now=timezone.now())
    named = {"endpoint_url": model.url, "endpoint_model": "small", "endpoint_secret": "model-key"}
    memory_policy.change(building.scope(), named, now=timezone.now())
    return model


def worded(answer: Any, endpoint: Model, monkeypatch: pytest.MonkeyPatch, **changes: Any) -> dict[str, Any]:
    """What came of a synthesis with one finding that the endpoint was asked to word, and answered like this."""
    endpoint.answers = says(answer if isinstance(answer, str) else json.dumps(answer))
    learning.rules_that_find(monkeypatch, learning.finding(**changes))
    return learning.ending_with(learning.carried_out(endpoint=True))


def test_an_endpoint_is_asked_only_when_the_order_says_so(endpoint: Model, monkeypatch: pytest.MonkeyPatch) -> None:
    learning.rules_that_find(monkeypatch, learning.finding())
    assert "endpoint" not in learning.ending_with(learning.carried_out())
    assert endpoint.asked == []


def test_an_endpoint_words_what_a_rule_has_found(endpoint: Model, monkeypatch: pytest.MonkeyPatch) -> None:
    artifact = {**builders.TEMPLATE, "text": "In two sentences: {{ticket}}."}
    said = {"title": "Be brief", "rationale": "People asked for it.", "artifact": artifact}
    outcome = worded(f"Here it is:\n{json.dumps(said)}", endpoint, monkeypatch)
    assert outcome["endpoint"] == {"worded": 1, "unworded": {}}
    made = Proposal.objects.get()
    assert (made.title, made.rationale, made.synthesizer_model) == (
        "Be brief",
        "People asked for it.",
        "endpoint:small",
    )
    assert json.loads(Revision.objects.get().text) == artifact
    ((_, _, body),) = endpoint.asked
    assert all(part in body["messages"][0]["content"] for part in ("prompt-template", "corrected alike", "{{ticket}}"))


MORE_THAN_WORDS: list[tuple[Any, str]] = [
    ("no object", "malformed"),
    ("{", "malformed"),
    ({}, "malformed"),
    ({"title": 5}, "malformed"),
    ({"title": "Be brief", "tools": ["all"]}, "malformed"),
    ({"artifact": "text"}, "changes_more_than_words"),
    ({"artifact": {**builders.TEMPLATE, "templateId": "another"}}, "changes_more_than_words"),
    ({"artifact": {**builders.TEMPLATE, "version": "9.0.0"}}, "changes_more_than_words"),
    ({"artifact": {**builders.TEMPLATE, "tags": ["x"]}}, "changes_more_than_words"),
    ({"artifact": {**builders.TEMPLATE, "text": ["x"]}}, "changes_more_than_words"),
    ({"artifact": {**builders.TEMPLATE, "text": "{{ticket}} {{secret}}"}}, "changes_more_than_words"),
    ({"artifact": {**builders.TEMPLATE, "text": "x" * 65_537}}, "validation_error"),
    ({"title": "t" * 201}, "validation_error"),
    ({"title": "Greet Marta first"}, "may_quote_people"),
    ({"rationale": "They wrote to marta@customer.example."}, "may_quote_people"),
    ({"rationale": "Runs were told 'mind the gap'.", "artifact": builders.TEMPLATE}, "may_quote_people"),
]


def test_an_answer_that_is_more_than_words_leaves_the_rule_s_own_draft(
    endpoint: Model, monkeypatch: pytest.MonkeyPatch
) -> None:
    for answer, why in MORE_THAN_WORDS:
        with building.undone():
            outcome = worded(answer, endpoint, monkeypatch)
            assert outcome["endpoint"] == {"worded": 0, "unworded": {why: 1}}, answer
            made = Proposal.objects.get()
            assert (made.title, made.synthesizer_model) == ("A shorter summary", "host:rule-miner/1"), answer
            assert json.loads(Revision.objects.get().text) == builders.TEMPLATE, answer


def test_an_endpoint_gives_no_agent_a_tool_and_changes_no_node_of_a_chain() -> None:
    agent = {"agents": [{"agentId": "a", "persona": "A", "systemPrompt": "Help.", "toolAllowlist": ["x"]}]}
    chain = {"chains": [{"chainId": "c", "label": "C", "nodes": [{"config": {"description": "d", "n": 1}}]}]}
    kinder = {"agents": [{"agentId": "a", "persona": "Ann", "systemPrompt": "Help, please.", "toolAllowlist": ["x"]}]}
    assert wording._says_the_same("agent-pack", agent, kinder)
    changes: list[dict[str, Any]] = [{"toolAllowlist": ["x", "y"]}, {"agentId": "b"}, {"modelClass": "large"}]
    for change in [*changes, {"toolAllowlist": []}]:
        assert not wording._says_the_same("agent-pack", agent, {"agents": [{**agent["agents"][0], **change}]})
    assert wording._says_the_same(
        "workflow-chain-pack", chain, {"chains": [{**chain["chains"][0], "label": "Call back"}]}
    )
    for config in ({"description": "e", "n": 1}, {"description": "d", "n": True}):
        changed = {"chains": [{**chain["chains"][0], "nodes": [{"config": config}]}]}
        assert not wording._says_the_same("workflow-chain-pack", chain, changed)


def test_an_endpoint_that_cannot_be_reached_is_not_asked_again(
    endpoint: Model, monkeypatch: pytest.MonkeyPatch
) -> None:
    endpoint.answers = answers(b"", status=503)
    learning.rules_that_find(monkeypatch, *(learning.finding(f"pattern {each}") for each in range(3)))
    outcome = learning.ending_with(learning.carried_out(endpoint=True))
    assert outcome["endpoint"] == {"worded": 0, "unworded": {"distiller_unavailable": 1, "not_asked": 2}}
    assert (len(outcome["proposed"]), len(endpoint.asked)) == (3, 1)


@pytest.mark.engines
@pytest.mark.django_db(transaction=True)
def test_no_transaction_is_open_while_an_endpoint_is_asked(endpoint: Model, monkeypatch: pytest.MonkeyPatch) -> None:
    open_then: list[bool] = []
    honest = asking.distil

    def distil(*given: Any, **more: Any) -> str:
        open_then.append(connection.in_atomic_block)
        return honest(*given, **more)

    monkeypatch.setattr(asking, "distil", distil)
    worded({"title": "Be brief"}, endpoint, monkeypatch)
    assert open_then == [False]


def test_what_an_endpoint_says_is_redacted_and_so_is_what_it_is_asked(
    endpoint: Model, monkeypatch: pytest.MonkeyPatch
) -> None:
    vault.store_secret(building.tenant().id, "crm", "tok-4f9a8b7c6d", now=timezone.now())
    said = {"title": "tok-4f9a8b7c6d", "rationale": "tok-4f9a8b7c6d"}
    worded(said, endpoint, monkeypatch, rationale="It is tok-4f9a8b7c6d.")
    assert "tok-4f9a8b7c6d" not in repr(endpoint.asked)
    made = Proposal.objects.get()
    assert (made.title, made.rationale) == ("[REDACTED:crm]", "[REDACTED:crm]")


def test_a_tenant_without_an_endpoint_cannot_order_one_and_its_daily_look_goes_without() -> None:
    with pytest.raises(Invalid) as refused:
        learning.ordered(endpoint=True)
    assert refused.value.details["errors"][0]["field"] == "options.endpoint"
    building.execute(building.scope(), "conformance-noop")
    row = synthesis.order_daily(building.tenant().id, endpoint=True, now=timezone.now())
    assert row is not None
    assert row.options == {}


def test_the_daily_look_asks_the_endpoint_where_the_host_was_told_to(
    endpoint: Model, monkeypatch: pytest.MonkeyPatch, settings: Settings, drain: Drain
) -> None:
    settings.OPENWOP_SYNTHESIS_ENDPOINT = True
    endpoint.answers = says('{"title": "Be brief"}')
    learning.rules_that_find(monkeypatch, learning.finding())
    building.execute(building.scope(), "conformance-noop")
    assert tasks.order_syntheses() == 1
    drain()
    assert Proposal.objects.get().title == "Be brief"


def test_a_policy_that_names_no_endpoint_any_more_leaves_the_drafts_as_they_are(
    endpoint: Model, monkeypatch: pytest.MonkeyPatch
) -> None:
    learning.rules_that_find(monkeypatch, learning.finding("a"), learning.finding("b"))
    row = learning.ordered(endpoint=True)
    memory_policy.change(building.scope(), {"endpoint_url": ""}, now=timezone.now())
    outcome = learning.ending_with(learning.carried_out(row))
    assert outcome["endpoint"] == {"worded": 0, "unworded": {"no_endpoint": 1, "not_asked": 1}}
    assert endpoint.asked == []


# --- what is forgotten ----------------------------------------------------------------------------------------------


def test_a_forget_reaches_what_was_synthesized_and_it_is_not_learnt_again(monkeypatch: pytest.MonkeyPatch) -> None:
    marta = "marta.kowalska@example.com"
    acme = building.scope()
    learning.install_triage()
    learning.corrected(acme, f"Greet {marta} first.")
    text = f"Greet {marta} first. {{{{ticket}}}}"
    shown = learning.rules_that_find(
        monkeypatch, learning.finding(artifact={**builders.TEMPLATE, "text": text}, title=f"For {marta}")
    )
    learning.ending_with(learning.carried_out())
    learning.ending_with(learning.carried_out(dry_run=True))
    assert marta in repr(shown[0].corrections)
    forget(marta)
    made = Proposal.objects.get()
    assert (made.state, made.evidence) == ("archived", [])
    assert marta not in repr([*Proposal.objects.values(), *Revision.objects.values(), *Pass.objects.values()])
    outcome = learning.ending_with(learning.carried_out())
    assert (outcome["proposed"], outcome["seenBefore"]) == ([], 1)
    assert shown[-1].corrections == ()


def test_what_people_said_again_and_again_is_proposed_by_the_rules_until_it_is_forgotten() -> None:
    marta, acme = "marta.kowalska@example.com", building.scope()
    learning.install_triage()
    for _ in range(3):
        learning.corrected(acme, f"Always greet {marta} first.")
    learning.ending_with(learning.carried_out())
    made = Proposal.objects.get()
    revision = Revision.objects.get()
    assert f"Always greet {marta} first." in revision.text
    assert marta not in made.title + made.rationale + json.dumps(made.evidence)
    assert len(made.source_run_ids) == 3
    forget(marta)
    assert marta not in repr([*Proposal.objects.values(), *Revision.objects.values()])
    outcome = learning.ending_with(learning.carried_out())
    assert (outcome["found"], outcome["lookedAt"]["corrections"]) == (0, 0)
    learning.corrected(acme, f"Always greet {marta} first.")
    assert learning.ending_with(learning.carried_out())["found"] == 0


# --- doors ----------------------------------------------------------------------------------------------------------


def test_a_program_orders_a_synthesis_and_watches_it(
    client: Client, monkeypatch: pytest.MonkeyPatch, drain: Drain
) -> None:
    learning.rules_that_find(monkeypatch, learning.finding())
    headers = building.headers(role="operator")
    sent = client.post(URL, "{}", content_type="application/json", **headers)
    assert sent.status_code == 202
    row = sent.json()
    assert (row["state"], row["dryRun"], row["options"]) == ("waiting", False, {})
    drain()
    done = client.get(f"{URL}/{row['id']}", **headers).json()
    assert (done["state"], done["outcome"]["found"], len(done["outcome"]["proposed"])) == ("done", 1, 1)
    assert client.get(f"{URL}/{row['id']}", **building.headers("globex")).status_code == 404
    assert client.get(f"/v1/runs/{done['runId']}", **headers).json()["status"] == "completed"


def test_a_program_stops_a_synthesis_that_nobody_has_begun(client: Client) -> None:
    headers, row = building.headers(role="operator"), learning.ordered()
    at = f"{URL}/{ids.wire('pass', row.id)}/stop"

    def stop(headers: dict[str, Any]) -> Any:
        return client.post(at, "{}", content_type="application/json", **headers)

    assert stop(building.headers(role="author")).status_code == 403
    assert stop(building.headers("globex")).status_code == 404
    stopped = stop(headers)
    assert (stopped.status_code, stopped.json()["state"]) == (202, "cancelled")
    assert stop(headers).status_code == 409
    assert tasks.carry_out(row.tenant_id, row.id) is None


@pytest.mark.parametrize(
    ("body", "role", "status"),
    [
        ({"dryRun": True}, "operator", 202),
        (None, "operator", 202),
        ({"dryRun": "yes"}, "operator", 400),
        ({"dryRun": 1}, "operator", 400),
        ({"window": "mine"}, "operator", 400),
        ({"options": {"full": True}}, "operator", 400),
        ({"options": {"endpoint": "yes"}}, "operator", 400),
        ({"options": {"endpoint": True}}, "operator", 400),
        ({}, "author", 403),
        ({}, "agent", 403),
    ],
)
def test_an_order_is_closed_and_needs_its_permission(body: Any, role: str, status: int, client: Client) -> None:
    raw = "" if body is None else json.dumps(body)
    sent = client.post(URL, raw, content_type="application/json", **building.headers(role=role))
    assert sent.status_code == status, sent.content
    assert Pass.objects.count() == (status == 202)
    if status == 403:
        assert sent.json()["details"]["requiredScope"] == "passes:run"


# --- two at once ----------------------------------------------------------------------------------------------------


@pytest.mark.engines
@pytest.mark.django_db(transaction=True)
def test_two_workers_at_once_propose_a_pattern_once(monkeypatch: pytest.MonkeyPatch) -> None:
    learning.rules_that_find(monkeypatch, *(learning.finding(f"pattern {each}") for each in range(4)))
    waiting = [learning.ordered(), learning.ordered()]
    together, failed = threading.Barrier(2), []
    honest = findings.seen_among

    def seen_among(*given: Any, **more: Any) -> set[str]:
        found = honest(*given, **more)
        if connection.in_atomic_block is False and not more:
            together.wait(10)
        return found

    monkeypatch.setattr(findings, "seen_among", seen_among)

    def work(row: Pass) -> None:
        try:
            tasks.carry_out(row.tenant_id, row.id)
        except Exception as problem:  # noqa: BLE001
            failed.append(problem)
        finally:
            connections.close_all()

    workers = [threading.Thread(target=work, args=(row,)) for row in waiting]
    for each in workers:
        each.start()
    for each in workers:
        each.join(60)
    assert failed == []
    told = [learning.ending_with(Pass.objects.get(id=row.id)) for row in waiting]
    assert Proposal.objects.count() == 4
    assert sum(len(each["proposed"]) for each in told) == 4
    assert sum(each["seenBefore"] for each in told) == 4
    assert [each["refused"] for each in told] == [{}, {}]
