"""What suspended runs wait for: asked, answered, counted, out of time; what is kept of it, and what the log holds."""

import json
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import quote

import pytest
from django.test import Client
from django.utils import timezone

from memory.forget.erasers.declared import Declared
from memory.host import audit, event_log, ids, interrupts, runs, vault
from memory.host.erasure import Identifiers
from memory.host.errors import Conflict, Forbidden, Invalid, NotFound
from memory.host.interrupts import InterruptAlreadyResolved, InterruptCancelled, InterruptExpired, InterruptNotFound
from memory.host.models import Interrupt, Run
from memory.host.tenancy import TenantScope
from memory.text.matching import search_form
from memory.wire import instant
from openwop_console.runtime import interrupt_answers, run_operations, workflows
from openwop_console.runtime.interrupt_answers import CorrelationMismatch
from openwop_console.runtime.models import Step
from tests import building
from tests.budgets import cpu_within
from tests.building import advance_at, payloads, types_of

pytestmark = pytest.mark.django_db

NOW = timezone.now()
ACCEPT = {"action": "accept"}
REJECT = {"action": "reject"}


def asking(owner: TenantScope, node: dict[str, Any], *more: dict[str, Any], **changes: Any) -> Run:
    """A run that waits at ``node``, of a workflow of its own."""
    name = f"asks-{ids.new_id().hex}"
    building.install("acme", building.definition(name, node, *more) | changes)
    return building.execute(owner, name)


def gate(node_id: str = "gate", **config: Any) -> dict[str, Any]:
    return building.node(node_id, "core.approvalGate", config)


def given(name: str) -> dict[str, Any]:
    """Inputs that bring ``name``."""
    return {name: {"type": "static", "value": "x"}}


def answer(owner: TenantScope, run: Run, value: Any, node_id: str = "gate", now: datetime | None = None) -> Run:
    run_operations.resolve_interrupt(owner, run.id, node_id, value, now=now or timezone.now())
    return building.advance(run)


def fields_of(refused: Any) -> list[str]:
    return [error["field"] for error in refused.value.details["errors"]]


# --- approvals ------------------------------------------------------------------------------------------------------


def test_an_accepted_gate_lets_the_run_go_on_and_says_who_decided() -> None:
    acme = building.scope()
    run = asking(acme, gate(resultVariable="verdict"), building.node("after", "core.noop"))
    assert (run.status, run.current_node) == ("waiting-approval", "gate")
    done = answer(acme, run, {**ACCEPT, "comment": "fine", "decidedBy": "somebody else"})
    assert done.status == "completed"
    verdict = {"action": "accept", "decision": "approved", "comment": "fine", "decidedBy": acme.principal.id}
    assert done.variables["verdict"] == verdict
    [received] = payloads(run, "approval.received")
    assert datetime.fromisoformat(received.pop("decidedAt")) <= timezone.now()
    assert received == {"nodeId": "gate", "action": "accept", "decidedBy": acme.principal.id}


def test_the_older_words_of_a_decision_are_understood() -> None:
    acme = building.scope()
    assert answer(acme, asking(acme, gate()), {"decision": "approved"}).status == "completed"
    assert answer(acme, asking(acme, gate()), {"decision": "rejected"}).status == "failed"


def test_a_rejection_that_no_edge_expects_fails_the_run_and_nothing_behind_the_gate_is_executed() -> None:
    acme = building.scope()
    document = gate() | {"settings": {"maxRetries": 3}}
    run = answer(acme, asking(acme, document, building.remember_node("approved")), REJECT)
    assert (run.status, run.error["code"]) == ("failed", "approval_rejected")
    assert building.contents(acme) == []
    assert "node.retried" not in types_of(run)


def test_a_rejection_follows_the_edges_when_they_have_conditions() -> None:
    acme = building.scope()
    nodes = [gate(), building.remember_node("yes", node_id="yes"), building.remember_node("no", node_id="no")]
    edges = [
        {
            "id": name,
            "sourceNodeId": "gate",
            "targetNodeId": name,
            "condition": {"type": "equals", "left": "action", "right": action},
        }
        for name, action in (("yes", "accept"), ("no", "reject"))
    ]
    document = building.definition("asks", *nodes) | {"edges": edges}
    building.install("acme", document)
    rejected = answer(acme, building.execute(acme, "asks"), REJECT)
    assert (rejected.status, building.contents(acme)) == ("completed", ["no"])
    answer(acme, building.execute(acme, "asks"), ACCEPT)
    assert building.contents(acme) == ["yes", "no"]


def test_a_gate_may_say_that_the_run_goes_on_after_a_rejection() -> None:
    acme = building.scope()
    run = asking(acme, gate(onReject="continue", resultVariable="verdict"), building.node("after", "core.noop"))
    done = answer(acme, run, REJECT)
    assert (done.status, done.variables["verdict"]["decision"]) == ("completed", "rejected")


def test_what_does_not_answer_an_approval_is_refused_with_its_field_and_the_run_waits_on() -> None:
    acme = building.scope()
    run = asking(acme, gate(actions=["accept", "reject", "refine", "edit-accept", "ask"]))
    for value, field in (
        ("accept", "resumeValue"),
        ([], "resumeValue"),
        (None, "resumeValue"),
        ({}, "resumeValue.action"),
        ({"action": "merge"}, "resumeValue.action"),
        ({"action": ["accept"]}, "resumeValue.action"),
        ({"decision": "perhaps"}, "resumeValue.action"),
        ({"action": "refine"}, "resumeValue.refineFeedback"),
        ({"action": "refine", "refineFeedback": {"scope": "all"}}, "resumeValue.refineFeedback.scope"),
        ({"action": "edit-accept"}, "resumeValue.editedArtifactData"),
        ({"action": "ask", "question": 7}, "resumeValue.question"),
        ({"action": "ask", "question": "x" * 2001}, "resumeValue.question"),
    ):
        with pytest.raises(Invalid) as refused:
            answer(acme, run, value)
        assert (refused.value.code, fields_of(refused)) == ("validation_error", [field]), (value, field)
        assert runs.find(run.tenant_id, run.id).status == "waiting-approval", (value, field)


def test_an_action_that_is_not_offered_is_refused() -> None:
    acme = building.scope()
    run = asking(acme, gate())
    with pytest.raises(Invalid):
        answer(acme, run, {"action": "refine", "refineFeedback": {"scope": "whole"}})


def test_what_was_edited_goes_on_instead_of_what_was_proposed() -> None:
    acme = building.scope()
    node = gate(actions=["accept", "edit-accept"], resultVariable="verdict")
    node["inputs"] = {"artifactData": {"type": "static", "value": {"text": "draft"}}}
    edited = answer(acme, asking(acme, node), {"action": "edit-accept", "editedArtifactData": {"text": "better"}})
    assert edited.variables["verdict"]["artifactData"] == {"text": "better"}
    accepted = answer(acme, asking(acme, node), ACCEPT)
    assert accepted.variables["verdict"]["artifactData"] == {"text": "draft"}


def test_a_question_back_is_kept_for_those_who_decide_and_the_run_waits_on(monkeypatch: pytest.MonkeyPatch) -> None:
    acme = building.scope()
    run = asking(acme, gate(actions=["accept", "ask"]))
    assert answer(acme, run, {"action": "ask", "question": "Which customer?"}).status == "waiting-approval"
    [asked] = interrupts.open_at(run)
    assert asked.data["exchanges"][0]["question"] == "Which customer?"
    assert "approval.received" not in types_of(run)
    assert "Which customer?" not in str(event_log.read(run.tenant_id, run.id))
    monkeypatch.setattr(interrupt_answers, "MAX_EXCHANGES", 1)
    with pytest.raises(Conflict, match="Enough has been asked"):
        answer(acme, run, {"action": "ask", "question": "Really?"})
    assert answer(acme, run, ACCEPT).status == "completed"


def test_changes_that_are_asked_for_without_an_edge_for_them_fail_the_run() -> None:
    acme = building.scope()
    run = asking(acme, gate(actions=["accept", "refine"]))
    done = answer(acme, run, {"action": "refine", "refineFeedback": {"scope": "section", "text": "shorter"}})
    assert (done.status, done.error["code"]) == ("failed", "approval_refined")


# --- quorum ---------------------------------------------------------------------------------------------------------


def quorum(policy: str = "single-veto", required: int = 2, **config: Any) -> dict[str, Any]:
    return gate(requiredApprovals=required, rejectionPolicy=policy, **config)


def test_a_quorum_is_of_distinct_principals_and_repeating_a_decision_changes_nothing() -> None:
    ada, ben = building.scope(), building.scope(role="reviewer")
    run = asking(ada, quorum())
    for _ in range(3):
        assert answer(ada, run, ACCEPT).status == "waiting-approval"
    assert len(payloads(run, "approval.received")) == 1
    audited = [row for row in audit.newest(run.tenant_id) if row.action == "interrupt.answered"]
    assert [row.details["counted"] for row in audited] == [False, False, True]
    assert answer(ben, run, ACCEPT).status == "completed"
    assert payloads(run, "approval.received")[-1]["decidedBy"] == "quorum:2-of-2"


def test_a_voice_that_is_raised_stays_raised_that_way() -> None:
    ada = building.scope()
    run = asking(ada, quorum("majority", 3))
    answer(ada, run, ACCEPT)
    with pytest.raises(Conflict, match="otherwise"):
        answer(ada, run, REJECT)


def test_one_rejection_vetoes_unless_the_majority_decides() -> None:
    ada, ben, cem = building.scope(), building.scope(role="reviewer"), building.scope(role="operator")
    assert answer(ada, asking(ada, quorum()), REJECT).status == "failed"
    run = asking(ada, quorum("majority", 3))
    assert answer(ada, run, REJECT).status == "waiting-approval"
    assert answer(ben, run, ACCEPT).status == "waiting-approval"
    rejected = answer(cem, run, REJECT)
    assert (rejected.status, rejected.error["code"]) == ("failed", "approval_rejected")


def test_a_voter_that_the_body_names_is_nobody_outside_the_fixtures() -> None:
    ada = building.scope()
    run = asking(ada, quorum())
    for name in ("one", "two", "three"):
        assert answer(ada, run, {**ACCEPT, "voter": name}).status == "waiting-approval"
    with pytest.raises(Invalid) as refused:
        run_operations.resolve_interrupt(ada, run.id, "gate", ACCEPT, voter="four", now=NOW)
    assert fields_of(refused) == ["voter"]


def test_a_workflow_of_a_tenant_does_not_become_a_fixture_by_its_name() -> None:
    ada = building.scope()
    building.install("acme", building.definition("conformance-of-mine", quorum()))
    run = building.execute(ada, "conformance-of-mine")
    for name in ("one", "two"):
        assert answer(ada, run, {**ACCEPT, "voter": name}).status == "waiting-approval"


def test_the_voters_of_a_fixture_are_counted_and_their_names_are_not_kept() -> None:
    ada = building.scope()
    run = building.execute(ada, "conformance-interrupt-quorum")
    for name in ("approver-1", "approver-1", "approver-2"):
        assert answer(ada, run, {**ACCEPT, "voter": name}).status == "waiting-approval"
    assert answer(ada, run, {**ACCEPT, "voter": "approver-3"}).status == "completed"
    kept = [*Interrupt.objects.values(), *event_log.read(run.tenant_id, run.id), *audit.newest(run.tenant_id)]
    assert "approver-" not in str(kept)


# --- clarifications, events, custom ---------------------------------------------------------------------------------


QUESTIONS: list[dict[str, Any]] = [
    {"id": "colour", "question": "Which colour?"},
    {"id": "count", "question": "How many?", "schema": {"type": "integer", "minimum": 1}},
    {"id": "code", "question": "Which code?", "schema": {"type": "string", "pattern": "^(a+)+$"}},
]
NOTHING: list[Any] = [None, "", " \n", [], {}]
ANSWERS: dict[str, Any] = {"colour": "blue", "count": 3, "code": "aa"}


def clarify(**config: Any) -> dict[str, Any]:
    return building.node("ask", "core.clarificationGate", {"questions": QUESTIONS, "resultVariable": "told", **config})


@pytest.mark.parametrize(
    "value",
    [
        {"answers": ANSWERS},
        {"answers": [{"id": name, "answer": given} for name, given in ANSWERS.items()]},
        [{"id": name, "answer": given} for name, given in ANSWERS.items()],
    ],
)
def test_answers_come_by_question_or_as_a_list(value: Any) -> None:
    acme = building.scope()
    run = asking(acme, clarify())
    assert run.status == "waiting-input"
    done = answer(acme, run, value, "ask")
    assert (done.status, done.variables["told"]["answers"]) == ("completed", ANSWERS)


def test_answers_that_are_missing_or_do_not_fit_are_refused_by_field_without_being_quoted() -> None:
    acme = building.scope()
    run = asking(acme, clarify())
    for value, field in (
        ({"answers": ANSWERS | {"count": 0}}, "resumeValue.answers.count"),
        ({"answers": ANSWERS | {"count": "3"}}, "resumeValue.answers.count"),
        ({"answers": ANSWERS | {"code": "a" * 5000 + "b"}}, "resumeValue.answers.code"),
        ({"answers": ANSWERS | {"size": 1}}, "resumeValue.answers.size"),
        ({"answers": {"colour": "blue", "code": "a"}}, "resumeValue.answers.count"),
        *(({"answers": ANSWERS | {"colour": none}}, "resumeValue.answers.colour") for none in NOTHING),
        ({"answers": "blue"}, "resumeValue.answers"),
        ({"answers": [{"id": "colour"}]}, "resumeValue.answers"),
        ({"answers": [{"id": "colour", "answer": 1}] * 2}, "resumeValue.answers"),
        ({"answers": [{"answer": 1}]}, "resumeValue.answers"),
        ({}, "resumeValue.answers"),
        (7, "resumeValue.answers"),
    ):
        with pytest.raises(Invalid) as refused:
            answer(acme, run, value, "ask")
        assert field in fields_of(refused), (value, field)
        assert "aaaa" not in str(refused.value.details), (value, field)


def external(correlation: Any = None, **config: Any) -> dict[str, Any]:
    settings = {"kind": "external-event", "eventType": "order.done", "resultVariable": "event", **config}
    return building.node("wait", "core.interrupt", settings | {"correlation": correlation or {"orderId": "o-1"}})


@pytest.mark.parametrize("value", [{"orderId": "o-1", "sum": 3}, {"correlation": {"orderId": "o-1"}, "sum": 3}])
def test_an_event_that_correlates_ends_the_wait(value: dict[str, Any]) -> None:
    acme = building.scope()
    run = asking(acme, external())
    assert run.status == "waiting-external"
    done = answer(acme, run, value, "wait")
    assert (done.status, done.variables["event"]["event"]) == ("completed", value)


def test_an_event_that_is_another_s_is_refused_and_the_run_waits_on() -> None:
    acme = building.scope()
    for correlation, value in (
        ({"orderId": "o-1"}, {"orderId": "o-2"}),
        ({"orderId": "o-1"}, {}),
        ({"orderId": "o-1"}, {"correlation": {"orderId": "o-2"}, "orderId": "o-1"}),
        ({"paid": True}, {"paid": 1}),
        ({"items": [{"n": 1}, {"n": 2}]}, {"items": [{"n": 2}, {"n": 1}]}),
        ({"item": {"n": False}}, {"item": {"n": 0}}),
        ({"item": {"n": 1}}, {"item": {"n": 1, "m": 2}}),
    ):
        with building.undone():
            run = asking(acme, external(correlation))
            with pytest.raises(CorrelationMismatch):
                answer(acme, run, value, "wait")
            assert runs.find(run.tenant_id, run.id).status == "waiting-external", (correlation, value)


def test_an_event_that_is_no_object_is_refused() -> None:
    acme = building.scope()
    run = asking(acme, external())
    with pytest.raises(Invalid) as refused:
        answer(acme, run, ["o-1"], "wait")
    assert "must be an object" in str(refused.value.details)


def test_numbers_correlate_by_value() -> None:
    assert interrupt_answers.same({"n": [1, 2.0]}, {"n": [1.0, 2]})


def test_a_question_of_another_kind_is_answered_with_what_its_schema_allows() -> None:
    acme = building.scope()
    config = {"kind": "custom", "customKind": "pick", "resumeSchema": {"enum": ["left", "right"]}}
    node = building.node("pick", "core.interrupt", config | {"resultVariable": "picked"})
    run = asking(acme, node)
    with pytest.raises(Invalid):
        answer(acme, run, "up", "pick")
    assert answer(acme, run, "left", "pick").variables["picked"]["value"] == "left"


# --- what the config may say ----------------------------------------------------------------------------------------


def test_a_gate_that_could_not_ask_is_not_installed() -> None:
    for node, field in (
        (gate(actions=["edit"]), "config.actions[0]"),
        (gate(actions=[]), "config.actions"),
        (gate(requiredApprovals=0), "config.requiredApprovals"),
        (gate(rejectionPolicy="whim"), "config.rejectionPolicy"),
        (gate(profile="another"), "config.profile"),
        (gate(timeoutMs=0), "config.timeoutMs"),
        (gate(timeoutMs=5, timeoutSec=5), "config.timeoutMs"),
        (quorum(actions=["accept", "refine"]), "config.actions"),
        (quorum(required=3, approversList=["key_a", "key_b"]), "config.requiredApprovals"),
        (clarify(questions=[]), "config.questions"),
        (clarify(questions=[{"id": "a", "question": "?"}] * 2), "config.questions"),
        (clarify(questions=[{"id": "a", "question": "?", "schema": {"type": "nope"}}]), "config.questions[0].schema"),
        (clarify(questions=[{"id": "a", "question": "?", "schema": {"$ref": "x"}}]), "config.questions[0].schema"),
        # Nested, each level would double the time that an answer takes.
        (
            clarify(questions=[{"id": "a", "question": "?", "schema": {"allOf": [{"unevaluatedProperties": True}]}}]),
            "config.questions[0].schema",
        ),
        (
            clarify(questions=[{"id": "a", "question": "?", "schema": {"anyOf": [{}] * 1_000}}]),
            "config.questions[0].schema",
        ),
        (
            clarify(questions=[{"id": "a", "question": "?", "schema": {"pattern": "(?<=a)b"}}]),
            "config.questions[0].schema",
        ),
        (building.node("ask", "core.clarificationGate"), "config.questions"),
        (building.node("wait", "core.interrupt", {"kind": "whim"}), "config.kind"),
        (building.node("wait", "core.interrupt", {"kind": "external-event", "eventType": "x"}), "config.correlation"),
        (building.node("wait", "core.interrupt", {"kind": "custom"}), "config.customKind"),
        (building.node("wait", "core.interrupt", {"kind": "custom"}, inputs=given("customKind")), "config.customKind"),
        (building.node("ask", "core.clarificationGate", inputs=given("questions")), "config.questions"),
    ):
        with pytest.raises(Invalid) as refused:
            workflows.check(building.definition("asks", node))
        assert fields_of(refused) == [f"$.nodes[0].{field}"], (node, field)


def test_what_the_run_brings_is_in_the_question_and_not_on_the_log() -> None:
    acme = building.scope()
    node = external({"orderId": "o-1"})
    node["config"].pop("correlation")
    node["inputs"] = {"correlation": {"type": "static", "value": {"customer": "ana@x.org"}}}
    run = asking(acme, node)
    assert interrupts.open_at(run)[0].data["correlation"] == {"customer": "ana@x.org"}
    assert "ana@x.org" not in str(event_log.read(run.tenant_id, run.id))


SENSITIVE: list[dict[str, Any]] = [
    {"name": "card", "type": "object", "sensitive": True},
    {"name": "plain", "type": "string"},
]


def test_a_sensitive_variable_is_masked_in_what_is_asked_and_in_what_is_left(client: Client) -> None:
    acme, headers = building.scope(), building.headers(role="viewer")
    title = {"type": "expression", "expression": "join(' ', ['Pay', card.number, plain])"}
    held = {"type": "variable", "variableName": "card"}
    ask = gate() | {"inputs": {"title": title, "artifactData": held}}
    leave = building.node("leave", "core.noop", inputs={"card": held, "note": title}, artifactType="note")
    building.install("acme", building.definition("pays", leave, ask, variables=SENSITIVE))
    run = building.execute(acme, "pays", card={"number": "4111-22", "code": 735191826473, "note": 'a"b'}, plain="now")
    address = f"/v1/runs/{ids.wire('run', run.id)}"
    snapshot = client.get(address, **headers).json()
    asked, shown = snapshot["interrupt"]["payload"], {"number": "[MASKED]", "code": "[MASKED]", "note": "[MASKED]"}
    assert (asked["title"], asked["artifactData"]) == ("Pay [MASKED] now", shown)
    [artifact] = client.get(f"{address}/artifacts", **headers).json()["artifacts"]
    assert artifact["content"] == {"card": shown, "note": "Pay [MASKED] now"}
    token = client.get(address, **building.headers()).json()["interrupt"]["interruptToken"]
    texts = [json.dumps(snapshot), client.get(f"/v1/interrupts/{token}").content.decode()]
    client.force_login(building.operator())
    texts += [client.get(page).content.decode() for page in (f"/runs/{ids.wire('run', run.id)}", "/")]
    for text in texts:
        assert "Pay [MASKED] now" in text
        assert not {secret for secret in ("4111-22", "735191826473") if secret in text}


def test_more_sensitive_values_than_can_be_looked_for_mask_all_that_is_asked(client: Client) -> None:
    """Or a client could bring so many that each page with the question takes minutes and gigabytes."""
    title = {"type": "expression", "expression": "join(' ', ['Pay', card.n7, plain])"}
    building.install("acme", building.definition("pays", gate() | {"inputs": {"title": title}}, variables=SENSITIVE))
    few, many = ({f"n{at}": f"4111-22-{at}" for at in range(number)} for number in (900, 5_000))
    for card, shown in ((few, "Pay [MASKED] now"), (many, "[MASKED]")):
        run = building.execute(building.scope(), "pays", card=card, plain="now")
        with cpu_within(1.5):
            snapshot = client.get(f"/v1/runs/{ids.wire('run', run.id)}", **building.headers(role="viewer")).json()
        assert snapshot["interrupt"]["payload"]["title"] == shown
        assert "4111" not in json.dumps(snapshot)


def test_a_gate_is_answered_at_its_address_whatever_its_node_is_called(client: Client) -> None:
    acme, caller, said = building.scope(), building.headers(), json.dumps({"resumeValue": ACCEPT})
    for node_id in (
        "a/b",
        "a:b",
        "a:pause",
        "50%2F",
        "é b",
    ):
        with building.undone():
            run = asking(acme, gate(node_id))
            address = f"/v1/runs/{ids.wire('run', run.id)}/interrupts/{quote(node_id, safe='')}"
            answered = client.post(address, said, content_type="application/json", **caller)
            assert (answered.status_code, answered.json()["nodeId"]) == (200, node_id), node_id
            assert building.advance(run).status == "completed", node_id


def test_what_the_run_brings_may_make_the_question_impossible_and_the_node_says_so() -> None:
    acme = building.scope()
    node = gate()
    node["inputs"] = {"title": {"type": "static", "value": 7}}
    run = asking(acme, node)
    assert (run.status, run.error["code"]) == ("failed", "gate_invalid")


def test_the_words_of_an_answer_are_kept_beside_the_log_and_never_on_it() -> None:
    acme = building.scope()
    run = answer(acme, asking(acme, clarify()), {"answers": ANSWERS | {"colour": "ana@x.org"}}, "ask")
    assert "ana@x.org" not in str(event_log.read(run.tenant_id, run.id)) + str(audit.newest(run.tenant_id))


def test_a_secret_in_an_answer_is_kept_as_its_mark() -> None:
    acme = building.scope()
    vault.store_secret(acme.tenant_id, "crm", "tok-123456789", now=timezone.now())
    run = answer(acme, asking(acme, clarify()), {"answers": ANSWERS | {"colour": "tok-123456789"}}, "ask")
    assert run.variables["told"]["answers"]["colour"] == "[REDACTED:crm]"
    assert "tok-123456789" not in str([*Interrupt.objects.values(), *Step.objects.values()])


def test_a_forgotten_subject_is_in_no_question_and_no_answer() -> None:
    acme = building.scope()
    node = gate(actions=["accept", "ask"])
    node["inputs"] = {"description": {"type": "static", "value": "A refund for Ana Maria"}}
    run = asking(acme, node)
    answer(acme, run, {"action": "ask", "question": "Who is Ana Maria?"})
    answer(acme, run, {**ACCEPT, "comment": "Ana Maria is right"})
    subject = Identifiers((search_form("Ana Maria"),))
    held = Declared(Interrupt).find(run.tenant_id, subject)
    assert len(held.erase) == 1
    assert Declared(Interrupt).erase(run.tenant_id, subject, held.erase, ticked=False, now=timezone.now()) == 1
    left = Declared(Interrupt).remains(run.tenant_id, subject, chosen=frozenset(held.erase), spared=frozenset())
    assert left.left == 0
    assert "Ana Maria" not in str(list(Interrupt.objects.values()))


# --- who may, and when it is over -----------------------------------------------------------------------------------


def test_without_the_permission_everything_is_one_refusal_and_what_was_there_is_on_record() -> None:
    ada, viewer = building.scope(), building.scope(role="viewer")
    run = asking(ada, gate())
    for run_id, node_id in ((run.id, "gate"), (run.id, "nowhere"), (ids.new_id(), "gate"), (None, "gate")):
        with pytest.raises(Forbidden) as refused:
            run_operations.resolve_interrupt(viewer, run_id, node_id, ACCEPT, now=timezone.now())
        assert refused.value.details == {"requiredScope": "approvals:respond"}
    [decided] = payloads(run, "authorization.decided")
    assert (decided["allowed"], decided["principal"]) == (False, viewer.principal.id)
    assert "authorization.denied" in {row.action for row in audit.newest(run.tenant_id)}
    assert runs.find(run.tenant_id, run.id).status == "waiting-approval"


def test_a_key_that_is_bound_to_agents_never_approves_and_may_explain() -> None:
    ada, bound = building.scope(), building.scope(role="reviewer", agents=("acme.writer",))
    run = asking(ada, gate())
    with pytest.raises(Forbidden) as refused:
        answer(bound, run, ACCEPT)
    assert refused.value.details["rule"] == "agents-never-decide"
    assert answer(bound, asking(ada, clarify()), {"answers": ANSWERS}, "ask").status == "completed"


def test_an_approval_that_names_who_decides_is_theirs_alone() -> None:
    ada, ben = building.scope(), building.scope(role="reviewer")
    run = asking(ada, gate(approversList=[ben.principal.id]))
    with pytest.raises(Forbidden) as refused:
        answer(ada, run, ACCEPT)
    assert refused.value.details["rule"] == "approvers-list"
    assert answer(ben, run, ACCEPT).status == "completed"


def test_what_is_not_there_is_not_found_and_nothing_of_another_tenant_is() -> None:
    ada, globex = building.scope(), building.scope("globex")
    run = asking(ada, building.node("first", "core.noop"), gate())
    for node_id in ("first", "nowhere", ""):
        with pytest.raises(InterruptNotFound):
            answer(ada, run, ACCEPT, node_id)
    with pytest.raises(NotFound):
        run_operations.resolve_interrupt(globex, run.id, "gate", ACCEPT, now=timezone.now())


def test_an_answered_interrupt_is_answered_whatever_becomes_of_its_run() -> None:
    acme = building.scope()
    run = asking(acme, gate())
    run_operations.resolve_interrupt(acme, run.id, "gate", ACCEPT, now=timezone.now())
    with pytest.raises(InterruptAlreadyResolved):
        run_operations.resolve_interrupt(acme, run.id, "gate", REJECT, now=timezone.now())
    assert building.advance(run).status == "completed"
    with pytest.raises(InterruptAlreadyResolved):
        answer(acme, run, REJECT)


def test_a_run_that_is_cancelled_or_has_failed_asks_nobody() -> None:
    acme = building.scope()
    run = asking(acme, gate())
    run_operations.cancel_run(acme, run.id, now=timezone.now())
    with pytest.raises(InterruptAlreadyResolved):
        run_operations.resolve_interrupt(acme, run.id, "gate", ACCEPT, now=timezone.now())
    assert building.advance(run).status == "cancelled"
    with pytest.raises(InterruptCancelled):
        answer(acme, run, ACCEPT)
    late = asking(acme, gate(), settings={"timeout": 1000})
    assert advance_at(late, timezone.now() + timedelta(seconds=2)).error["code"] == "run_timeout"
    with pytest.raises(InterruptAlreadyResolved):
        answer(acme, late, ACCEPT)
    assert list(interrupts.waiting(acme.tenant_id)) == []


def test_a_pause_is_on_the_log_at_its_place_in_time_though_it_was_asked_for_before() -> None:
    acme, asked = building.scope(), timezone.now() - timedelta(seconds=5)
    run = asking(acme, gate())
    paused = run_operations.pause_run(acme, run.id, drain=False, now=asked)
    run_operations.resume_run(acme, run.id, now=asked)
    times = [each.timestamp for each in event_log.read(acme.tenant_id, run.id)]
    assert times == sorted(times)
    assert paused.paused_at in times


def test_an_answer_to_a_paused_run_is_kept_until_it_is_resumed() -> None:
    acme = building.scope()
    run = asking(acme, gate())
    run_operations.pause_run(acme, run.id, drain=True, now=timezone.now())
    building.advance(run)
    assert answer(acme, run, ACCEPT).status == "paused"
    run_operations.resume_run(acme, run.id, now=timezone.now())
    assert building.advance(run).status == "completed"


def test_a_question_of_a_paused_run_stays_open_past_its_time_wherever_it_is_asked_for() -> None:
    acme, now = building.scope(), timezone.now()
    run = asking(acme, gate(timeoutSec=60))
    run_operations.pause_run(acme, run.id, now=now + timedelta(seconds=10))
    later = now + timedelta(seconds=100)
    assert [each.run_id for each in interrupts.awaiting(acme, now=later)] == [run.id]
    [token] = run_operations.read_run(acme, run.id, now=later).tokens.values()
    interrupt_answers.read(token, now=later + timedelta(seconds=49))  # it has the time that was left
    with pytest.raises(InterruptExpired):
        interrupt_answers.read(token, now=later + timedelta(seconds=51))
    interrupt_answers.resolve_by_token(token, ACCEPT, now=later)
    assert list(interrupts.awaiting(acme, now=later)) == []
    other = asking(acme, gate(timeoutSec=60))
    assert list(interrupts.awaiting(acme, now=timezone.now() + timedelta(seconds=61))) == []
    assert run_operations.read_run(acme, other.id, now=timezone.now() + timedelta(seconds=61)).tokens == {}


def test_a_run_that_waits_is_paused_at_once_and_one_with_a_node_under_way_when_that_has_ended() -> None:
    acme, now = building.scope(), timezone.now()
    waiting = asking(acme, gate())
    assert not run_operations.pause_run(acme, waiting.id, now=now).draining
    assert types_of(waiting)[-1] == "run.paused"
    busy = asking(acme, gate(), building.node("slow", "core.delay", {"delayMs": 60_000}), edges=[])
    assert run_operations.pause_run(acme, busy.id, now=now).draining
    assert "run.paused" not in types_of(busy)


def test_branches_wait_at_once_and_are_answered_in_any_order() -> None:
    acme = building.scope()
    run = asking(acme, gate("one"), gate("two"), clarify(), edges=[])
    assert [each.node_id for each in interrupts.open_at(run)] == ["one", "two", "ask"]
    assert answer(acme, run, {"answers": ANSWERS}, "ask").status == "waiting-approval"
    assert answer(acme, run, ACCEPT, "two").current_node == "one"
    assert answer(acme, run, ACCEPT, "one").status == "completed"


def test_an_answer_that_comes_while_a_worker_has_the_run_is_heard(monkeypatch: pytest.MonkeyPatch) -> None:
    acme = building.scope()
    run = asking(acme, gate("one"), building.node("slow", "core.delay", {"delayMs": 60_000}), edges=[])
    assert runs.claim(run.tenant_id, run.id, holder="w/1", now=timezone.now() + timedelta(seconds=61))
    run_operations.resolve_interrupt(acme, run.id, "one", ACCEPT, now=timezone.now())
    assert runs.find(run.tenant_id, run.id).holder == "w/1"
    assert advance_at(run, timezone.now() + timedelta(seconds=120)).status == "completed"


# --- time -----------------------------------------------------------------------------------------------------------


def test_an_approval_that_nobody_gives_in_time_is_rejected_and_says_so() -> None:
    acme = building.scope()
    run = asking(acme, gate(timeoutSec=60))
    assert payloads(run, "interrupt.requested")[0]["timeoutMs"] == 60_000
    late = timezone.now() + timedelta(seconds=61)
    assert [row[1] for row in runs.due(now=late)] == [run.id]
    with pytest.raises(InterruptAlreadyResolved):
        run_operations.resolve_interrupt(acme, run.id, "gate", ACCEPT, now=late)
    done = advance_at(run, late)
    assert (done.status, done.error["code"]) == ("failed", "approval_timeout")
    assert done.error["message"] == "No decision came in time, which counts as a rejection."
    [resolved] = payloads(run, "interrupt.resolved")
    assert (resolved["outcome"], resolved["reason"]) == ("rejected", "timeout")
    assert payloads(run, "approval.received") == [{"nodeId": "gate", "action": "timeout", "decidedAt": instant(late)}]
    with pytest.raises(InterruptAlreadyResolved):
        answer(acme, run, ACCEPT)


@pytest.mark.parametrize("node", [clarify(timeoutMs=1000), external(timeoutMs=1000)])
def test_a_question_that_nobody_answers_in_time_fails_its_node_or_follows_the_edges(node: dict[str, Any]) -> None:
    acme = building.scope()
    failed = advance_at(asking(acme, node), timezone.now() + timedelta(seconds=2))
    assert (failed.status, failed.error["code"]) == ("failed", "interrupt_timeout")
    patient = {**node, "config": node["config"] | {"onReject": "continue"}}
    assert advance_at(asking(acme, patient), timezone.now() + timedelta(seconds=2)).status == "completed"


def test_a_node_that_is_out_of_its_own_time_asks_nobody_any_more() -> None:
    acme = building.scope()
    node = gate("hasty") | {"settings": {"timeout": 1000}}
    edges = [{"id": "e", "sourceNodeId": "hasty", "targetNodeId": "end", "triggerRule": "any_failed"}]
    run = asking(acme, node, gate("patient"), building.node("end", "core.noop"), edges=edges)
    waiting = advance_at(run, timezone.now() + timedelta(seconds=2))
    assert (waiting.status, waiting.current_node) == ("waiting-approval", "patient")
    with pytest.raises(InterruptAlreadyResolved):
        answer(acme, run, ACCEPT, "hasty")


def test_a_node_that_is_executed_again_finds_the_answer_it_was_given(monkeypatch: pytest.MonkeyPatch) -> None:
    acme = building.scope()
    run = asking(acme, gate() | {"settings": {"maxRetries": 1, "retryDelayMs": 1}})
    broken = {"times": 1}
    real = interrupt_answers._answered

    def once(*given: Any) -> Any:
        if broken["times"]:
            broken["times"] -= 1
            raise KeyError("a bug")
        return real(*given)

    monkeypatch.setattr(interrupt_answers, "_answered", once)
    answer(acme, run, ACCEPT)
    assert advance_at(run, timezone.now() + timedelta(seconds=5)).status == "completed"
    assert types_of(run).count("interrupt.requested") == 1
