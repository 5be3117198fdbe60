"""Proposals over HTTP: the wire of openwop-host 1.2 to 1.9, and the host extension beside it."""

import json
from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone
from jsonschema import Draft202012Validator
from pytest_django.fixtures import Settings

from memory.host import event_log, ids, registry
from memory.host.models import Run
from proposals import artifacts
from proposals.models import Gate, Proposal
from tests import building, proposing

pytestmark = pytest.mark.django_db

PROPOSALS = "/v1/host/sample/proposals"
EXTENSION = "/v1/host/console/proposals"
CONTRACTS = Path(__file__).parent.parent / "contracts"
HARD = (
    '{ "version":"1.0.0", "text":"A \\u20ac {{x}}\\n", "templateId":"hard",\n'
    '  "tags":[ ], "kind":"user", "modelHints":{"temperature":1.0, "maxTokens":1e3} }'
)


class Caller:
    """A credential and the calls it makes; every answer is JSON, and every error the one envelope."""

    def __init__(self, role: str = "owner", slug: str = "acme", **options: Any) -> None:
        self.headers = building.headers(slug, role, **options)

    def __call__(self, method: str, path: str, body: object = None, **more: Any) -> Any:
        data = body if isinstance(body, str | bytes) else "" if body is None else json.dumps(body)
        given = {"content_type": "application/json" if body is not None else "", **more, **self.headers}
        response = Client().generic(method.upper(), path, data, **given)
        answer = response.json()
        if response.status_code >= 400:
            schema("error-envelope").validate(answer)
        return response.status_code, answer


def schema(name: str) -> Draft202012Validator:
    return Draft202012Validator(json.loads((CONTRACTS / f"{name}.schema.json").read_text()))


def address(proposal: Proposal, verb: str = "") -> str:
    return f"{PROPOSALS}/{ids.wire('prop', proposal.id)}{verb}"


def submitted(caller: Caller | None = None, artifact: str = "", **more: Any) -> Any:
    """What the host extension answers to a new proposal."""
    words = "".join(f'"{name}": {json.dumps(value)}, ' for name, value in more.items())
    body = f'{{{words}"kind": "prompt-template", "artifact": {artifact or proposing.artifact()}}}'
    return (caller or Caller("agent"))("post", EXTENSION, body)


def test_an_agent_submits_and_the_answer_is_a_proposal_of_the_schema() -> None:
    sources = [ids.wire("run", building.open_run(building.scope()).id)]
    status, made = submitted(
        title="Shorter", rationale="Because", sourceRunIds=sources, synthesizerModel="host:miner/1"
    )
    assert status == 201
    schema("proposal").validate(made)
    assert (made["state"], made["activation"], made["duplicateOf"]) == ("draft", None, None)
    assert made["owner"]["tenant"] == "acme"
    assert made["provenance"] == {"sourceRunIds": sources, "synthesizerModel": "host:miner/1"}
    assert Caller("viewer")("get", f"{PROPOSALS}/{made['id']}") == (200, made)


def test_the_received_bytes_are_what_is_approved_and_installed() -> None:
    _, made = submitted(artifact=HARD)
    reviewer = Caller("reviewer")
    _, told = reviewer("get", f"{EXTENSION}/{made['id']}/revisions")
    [revision] = told["revisions"]
    assert (revision["text"], revision["sha256"]) == (HARD, registry.digest(HARD))
    status, pending = reviewer("post", f"{PROPOSALS}/{made['id']}/apply")
    assert status == 202
    assert pending == {
        "state": "pending",
        "activation": "approval-gate",
        "proposalId": made["id"],
        "approvalId": pending["approvalId"],
        "runId": pending["runId"],
        "nodeId": "gate",
    }
    assert reviewer("post", f"{PROPOSALS}/{made['id']}/apply") == (202, pending)
    assert reviewer("get", f"{PROPOSALS}/{made['id']}")[1]["activation"] is None
    run = building.advance(Run.objects.get(id=building.id_of("run", pending["runId"])))
    decision = {"resumeValue": {"decision": "granted", "reason": "ok"}}
    assert reviewer("post", f"/v1/runs/{pending['runId']}/interrupts/gate", decision)[0] == 200
    building.advance(run)
    _, applied = reviewer("get", f"{PROPOSALS}/{made['id']}")
    schema("proposal").validate(applied)
    assert applied["activation"] == {
        "approvalId": pending["approvalId"],
        "installedArtifactRef": "prompt:hard@1.0.0",
    }
    assert reviewer("post", f"{PROPOSALS}/{made['id']}/apply") == (200, {"installedArtifactRef": "prompt:hard@1.0.0"})
    _, installed = reviewer("get", "/v1/host/console/artifacts/prompt:hard@1.0.0")
    assert (installed["text"], installed["sha256"]) == (HARD, revision["sha256"])


def test_events_of_proposals_are_closed_and_as_the_schema_says() -> None:
    done = proposing.applied()
    payloads = json.loads((CONTRACTS / "run-event-payloads.schema.json").read_text())["$defs"]
    names = {
        "proposal.created": "proposalCreated",
        "proposal.activated": "proposalActivated",
        "approval.granted": "approvalGranted",
    }
    streams = {event.stream_id for event in event_log.list_events_about(done.tenant_id, done.id)}
    events = [event for stream in streams for event in event_log.read(done.tenant_id, stream)]
    found = [event for event in events if event.type in names]
    assert {event.type for event in found} == set(names)
    for event in found:
        Draft202012Validator(payloads[names[event.type]]).validate(event.payload)


def test_the_list_has_the_tenants_own_and_takes_any_filter() -> None:
    draft, applied = proposing.propose(), proposing.applied()
    viewer = Caller("viewer")
    status, everything = viewer("get", PROPOSALS)
    assert status == 200
    assert [each["id"] for each in everything["proposals"]] == [ids.wire("prop", each.id) for each in (applied, draft)]
    for each in everything["proposals"]:
        schema("proposal").validate(each)
    assert len(viewer("get", f"{PROPOSALS}?state=applied&kind=prompt-template")[1]["proposals"]) == 1
    nothing = {"proposals": [], "total": 0, "next": None}
    assert viewer("get", f"{PROPOSALS}?state=pending") == (200, nothing)
    assert Caller(slug="globex")("get", PROPOSALS) == (200, nothing)


def test_a_revision_over_the_wire_keeps_its_bytes_and_never_activates() -> None:
    made = proposing.propose()
    status, revised = Caller("author")("patch", address(made), f'{{"note": "why", "artifact": {HARD}}}')
    assert (status, revised["state"], revised["id"]) == (200, "revised", ids.wire("prop", made.id))
    schema("proposal").validate(revised)
    told = Caller("viewer")("get", f"{EXTENSION}/{revised['id']}/revisions")[1]
    assert [(each["revision"], each["note"]) for each in told["revisions"]] == [(2, "why"), (1, "")]
    assert told["revisions"][0]["text"] == HARD
    assert registry.by_ref(made.tenant_id, "prompt:hard@1.0.0") is None


def test_rejecting_and_archiving_answer_with_the_proposal() -> None:
    made = proposing.propose()
    owner = Caller()
    for body in ({"note": "no"}, {}, None):
        status, rejected = owner("post", address(made, "/reject"), body)
        assert (status, rejected["state"]) == (200, "rejected")
    assert proposing.fresh(made).closing_reason == "no"
    status, archived = owner("delete", address(made))
    assert (status, archived["state"]) == (200, "archived")
    schema("proposal").validate(archived)


def test_an_illegal_move_says_the_state_and_the_action() -> None:
    made = proposing.propose()
    owner = Caller()
    owner("delete", address(made))
    status, refused = owner("post", address(made, "/apply"))
    assert (status, refused["error"]) == (409, "conflict")
    assert refused["message"] == "Proposal is archived; apply is not allowed."
    assert refused["details"] == {"state": "archived", "action": "apply"}


def test_apply_is_forbidden_to_who_may_not_ask_whether_the_proposal_exists_or_not() -> None:
    made = proposing.propose()
    for role in ("viewer", "author", "agent"):
        for path in (address(made, "/apply"), f"{PROPOSALS}/prop_{'0' * 32}/apply", f"{PROPOSALS}/anything/apply"):
            status, refused = Caller(role)("post", path)
            assert (status, refused["error"]) == (403, "forbidden")
            assert refused["details"] == {"requiredScope": "proposals:request-activation"}


def test_a_foreign_a_missing_and_a_malformed_id_are_answered_alike() -> None:
    made = proposing.propose()
    globex = Caller(slug="globex")
    for path in (address(made), f"{PROPOSALS}/{ids.wire('prop', ids.new_id())}", f"{PROPOSALS}/prop-x"):
        answers = [
            globex("get", path),
            globex("patch", path, {"title": "x"}),
            globex("delete", path),
            globex("post", f"{path}/apply"),
            globex("post", f"{path}/reject"),
        ]
        assert {status for status, _ in answers} == {404}
        assert {json.dumps(answer) for _, answer in answers} == {
            '{"error": "not_found", "message": "There is no proposal by that id."}'
        }
    proposing.applied()
    assert globex("get", "/v1/host/console/artifacts/prompt:triage.summary@1.1.0")[0] == 404


@pytest.mark.parametrize(
    "body",
    [
        {"state": "applied"},
        {"owner": {"tenant": "globex"}},
        {"artifact": "text"},
        {"artifact": None},
        {"artifact": [1]},
        {"title": 5},
        {},
        [],
        '{"title": "x", "artifact": {}, "artifact": {"a": 1}}',
        '{"artifact": {"a": 1, "a": 2}}',
        '{"artifact": {"a": NaN}}',
        '{"artifact": ' + "[" * 900 + "]" * 900 + "}",
        '{"artifact": {"a": ' + "1" * 5000 + "}}",
        '{"artifact": {"a": "\\ud800"}}',
        "no json",
        b"\xff\xfe",
    ],
    ids=str,
)
def test_a_body_of_another_shape_is_400_and_changes_nothing(body: object) -> None:
    made = proposing.propose()
    status, refused = Caller("author")("patch", address(made), body)
    assert (status, refused["error"]) == (400, "validation_error")
    assert proposing.fresh(made).revision == 1


def test_an_artifact_that_is_not_of_its_kind_is_422_with_paths_and_without_its_words() -> None:
    made = proposing.propose()
    sample = {"template": "canary", "variables": ["week"]}
    status, refused = Caller("author")("patch", address(made), {"artifact": sample})
    assert (status, refused["error"], refused["details"]["kind"]) == (422, "validation_error", "prompt-template")
    assert "artifact.variables[0]" in [error["field"] for error in refused["details"]["errors"]]
    assert "canary" not in json.dumps(refused)
    status, refused = Caller("agent")("post", EXTENSION, {"kind": "automation", "artifact": {}})
    assert (status, refused["details"]["kind"]) == (422, "automation")


def test_what_is_too_large_is_413() -> None:
    made = proposing.propose()
    for size in (artifacts.MAX_BYTES, 2 * artifacts.MAX_BYTES):
        large = proposing.artifact(description="x" * size)
        status, refused = Caller("author")("patch", address(made), f'{{"artifact": {large}}}')
        assert (status, refused["error"]) == (413, "payload_too_large")


def test_another_media_type_is_415_and_another_method_405() -> None:
    made = proposing.propose()
    assert Caller("author")("patch", address(made), "title=x", content_type="text/plain")[0] == 415
    assert Caller()("put", address(made), {})[0] == 405
    assert Caller()("get", EXTENSION)[0] == 405


def interrupt(run_id: str, node: str = "gate") -> str:
    return f"/v1/runs/{run_id}/interrupts/{node}"


def test_the_interrupt_of_a_gate_is_answered_once_by_who_may_and_with_a_decision() -> None:
    made = proposing.propose()
    run_id = ids.wire("run", proposing.opened(made).run_id)
    reviewer, granted = Caller("reviewer"), {"resumeValue": {"decision": "granted"}}
    assert Caller("author")("post", interrupt(run_id), granted)[0] == 403
    for value in (
        {"decision": "maybe"},
        {},
        {"decision": "granted", "override": "yes"},
        {"decision": "granted", "reason": 1},
    ):
        status, refused = reviewer("post", interrupt(run_id), {"resumeValue": value})
        assert (status, refused["error"]) == (400, "INVALID_RESUME_VALUE")
    assert reviewer("post", interrupt(run_id, "install"), granted)[1]["error"] == "interrupt_not_found"
    assert Caller(slug="globex")("post", interrupt(run_id), granted)[0] == 404
    assert reviewer("post", interrupt(run_id), granted)[0] == 200
    status, refused = Caller("operator")("post", interrupt(run_id), granted)
    assert (status, refused["error"]) == (409, "interrupt_already_resolved")


def test_the_host_without_gates_installs_at_once(settings: Settings) -> None:
    settings.OPENWOP_PROPOSALS_ACTIVATION = "direct-rbac"
    made = proposing.propose()
    assert Caller("operator")("post", address(made, "/apply"))[1]["details"] == {"requiredScope": "proposals:activate"}
    assert Caller()("post", address(made, "/apply")) == (200, {"installedArtifactRef": "prompt:triage.summary@1.1.0"})
    activation = Caller()("get", address(made))[1]["activation"]
    assert activation == {"approvalId": None, "installedArtifactRef": "prompt:triage.summary@1.1.0"}


def test_reviewers_read_who_voted_what_about_which_digest() -> None:
    made = proposing.propose()
    gate = proposing.opened(made)
    proposing.decide(made, gate, decision="rejected", reason="too long")
    [told] = Caller("viewer")("get", f"{EXTENSION}/{ids.wire('prop', made.id)}/revisions")[1]["gates"]
    assert (told["state"], told["approvalId"], told["sha256"]) == ("rejected", ids.wire("gate", gate.id), gate.sha256)
    [vote] = told["votes"]
    assert (vote["decision"], vote["reason"], vote["revision"], vote["sha256"]) == (
        "rejected",
        "too long",
        1,
        gate.sha256,
    )


def test_the_host_advertises_all_four_kinds_because_it_installs_them_and_a_real_detector_of_duplicates() -> None:
    document = Client().get("/.well-known/openwop").json()
    advertised = document["agents"]["proposals"]
    assert advertised == {
        "artifactKinds": ["agent-pack", "automation", "prompt-template", "workflow-chain-pack"],
        "duplicationDetection": True,
        "activation": "approval-gate",
    }
    assert advertised["artifactKinds"] == artifacts.installable_kinds()
    assert document["capabilities"]["agents"]["proposals"] == advertised


TEXTS: dict[str, str] = {
    "prompt-template": proposing.artifact(),
    "agent-pack": proposing.agent_pack(),
    "workflow-chain-pack": proposing.chain_pack(),
    "automation": proposing.automation(),
}


@pytest.mark.parametrize("kind", TEXTS)
def test_a_proposal_of_each_kind_goes_its_way_by_the_schema(kind: str) -> None:
    agent, viewer = Caller("agent"), Caller("viewer")
    status, made = agent("post", EXTENSION, f'{{"kind": "{kind}", "artifact": {TEXTS[kind]}}}')
    assert (status, made["kind"], made["artifact"]) == (201, kind, json.loads(TEXTS[kind]))
    schema("proposal").validate(made)
    proposal = Proposal.objects.get(id=building.id_of("prop", made["id"]))
    gate = proposing.opened(proposal)
    proposing.decide(proposal, gate)
    run = proposing.advance(gate)
    assert run.status == "completed", run.error
    _, applied = viewer("get", f"{PROPOSALS}/{made['id']}")
    schema("proposal").validate(applied)
    assert applied["activation"]["approvalId"] == ids.wire("gate", gate.id)
    ref = applied["activation"]["installedArtifactRef"]
    assert viewer("get", f"/v1/host/console/artifacts/{ref}")[1]["text"] == TEXTS[kind]
    assert [each["id"] for each in viewer("get", f"{PROPOSALS}?kind={kind}")[1]["proposals"]] == [made["id"]]


MALFORMED: dict[str, tuple[Any, str]] = {
    "prompt-template": ({**proposing.TEMPLATE, "version": "canary"}, "artifact.version"),
    "agent-pack": ({**json.loads(TEXTS["agent-pack"]), "engines": "canary"}, "artifact.engines"),
    "workflow-chain-pack": ({**json.loads(TEXTS["workflow-chain-pack"]), "chains": ["canary"]}, "artifact.chains[0]"),
    "automation": ({**json.loads(TEXTS["automation"]), "timezone": 5, "note": "canary"}, "artifact.timezone"),
}


@pytest.mark.parametrize("kind", MALFORMED)
def test_what_is_malformed_for_its_kind_is_422_with_the_kind_and_its_paths_wherever_it_is_sent(kind: str) -> None:
    artifact, path = MALFORMED[kind]
    made = proposing.propose(kind=kind, text=TEXTS[kind])
    answers = [
        Caller("agent")("post", EXTENSION, {"kind": kind, "artifact": artifact}),
        Caller("author")("patch", address(made), {"artifact": artifact}),
        Caller("author")("post", f"{EXTENSION}/{ids.wire('prop', made.id)}/revisions", {"artifact": artifact}),
    ]
    for status, refused in answers:
        assert (status, refused["error"], refused["details"]["kind"]) == (422, "validation_error", kind)
        assert path in [error["field"] for error in refused["details"]["errors"]]
        assert "canary" not in json.dumps(refused)
    assert proposing.fresh(made).revision == 1


def test_what_has_become_impossible_is_422_at_apply_and_nothing_is_installed() -> None:
    building.install("acme", building.definition("nightly", building.node("a", "core.noop")))
    text = proposing.automation(workflowId="nightly")
    made = proposing.propose(kind="automation", text=text)
    nightly = registry.current(made.tenant_id, "workflow", "nightly")
    assert nightly
    registry.supersede(nightly, now=timezone.now())
    status, refused = Caller("reviewer")("post", address(made, "/apply"))
    assert (status, refused["details"]["kind"]) == (422, "automation")
    assert [error["field"] for error in refused["details"]["errors"]] == ["artifact.workflowId"]
    assert (proposing.fresh(made).state, Gate.objects.of(made.tenant_id).exists()) == ("draft", False)


def test_a_restatement_names_what_it_restates_on_the_wire_and_on_the_log() -> None:
    done = proposing.applied()
    renamed = {**proposing.TEMPLATE, "templateId": "another.name", "version": "7.0.0"}
    _, made = Caller("agent")("post", EXTENSION, {"kind": "prompt-template", "artifact": renamed})
    schema("proposal").validate(made)
    assert made["duplicateOf"] == done.installed_ref
    [fact] = event_log.list_events_about(done.tenant_id, Proposal.objects.get(id=building.id_of("prop", made["id"])).id)
    payload("proposalCreated").validate(fact.payload)
    assert fact.payload["duplicateOf"] == done.installed_ref
    status, _ = Caller("reviewer")("post", f"{PROPOSALS}/{made['id']}/apply")
    assert status == 202, "a duplicate is a signal and no block"
    other = {**proposing.TEMPLATE, "templateId": "third", "text": "Something else."}
    assert Caller("agent")("post", EXTENSION, {"kind": "prompt-template", "artifact": other})[1]["duplicateOf"] is None


def payload(name: str) -> Draft202012Validator:
    payloads = json.loads((CONTRACTS / "run-event-payloads.schema.json").read_text())["$defs"]
    return Draft202012Validator(payloads[name])


def test_the_events_of_every_way_a_gate_ends_are_closed_and_hold_no_word() -> None:
    names = {"approval.rejected": "approvalRejected", "approval.overridden": "approvalOverridden"}
    rejected, overridden = proposing.propose(title="canary"), proposing.propose(title="canary")
    gate = proposing.opened(rejected)
    proposing.advance(gate)
    proposing.decide(rejected, gate, decision="rejected", reason="canary")
    told = proposing.opened(overridden)
    proposing.advance(told)
    seen = {"revision": 1, "sha256": told.sha256, "decision": "granted", "override": True, "reason": "canary"}
    assert Caller()("post", f"{EXTENSION}/{ids.wire('prop', overridden.id)}/decisions", seen)[0] == 200
    found = [event for each in (gate, told) for event in event_log.read(each.tenant_id, each.run_id)]
    assert {event.type for event in found} >= set(names)
    assert "approval.requested" not in {event.type for event in found}
    for event in found:
        assert "canary" not in json.dumps(event.payload)
        if event.type in names:
            payload(names[event.type]).validate(event.payload)


@pytest.mark.parametrize("body", [None, "", {}], ids=str)
def test_apply_takes_no_body_or_an_empty_one(body: object) -> None:
    made = proposing.propose()
    status, pending = Caller("reviewer")("post", address(made, "/apply"), body)
    assert (status, pending["state"]) == (202, "pending")
    assert "installedArtifactRef" not in pending


@pytest.mark.parametrize("body", [[], "no json", {"reason": "x"}], ids=str)
def test_apply_with_another_body_asks_for_nothing(body: object) -> None:
    made = proposing.propose()
    assert Caller("reviewer")("post", address(made, "/apply"), body)[0] == 400
    assert not Gate.objects.exists()
    assert Caller("viewer")("post", address(made, "/apply"), body)[0] == 403


def test_delete_answers_200_with_the_proposal_and_again_the_same() -> None:
    made = proposing.propose()
    first, again = (Caller("author")("delete", address(made)) for _ in range(2))
    assert first == again
    assert (first[0], first[1]["state"], first[1]["activation"]) == (200, "archived", None)


def test_an_open_gate_bars_a_revision_and_ends_with_the_review() -> None:
    made = proposing.propose()
    gate = proposing.opened(made)
    status, refused = Caller("author")("patch", address(made), {"title": "x"})
    assert (status, refused["details"]["state"], refused["details"]["action"]) == (409, "draft", "revise")
    assert Caller("reviewer")("post", address(made, "/reject"), {"reason": "no"})[1]["state"] == "rejected"
    assert proposing.advance(gate).status == "cancelled"


def test_the_order_of_refusals_is_credential_permission_existence_state_kind() -> None:
    missing, made = f"{PROPOSALS}/prop_{'0' * 32}", proposing.propose()
    bad = {"artifact": {"template": "x"}}
    assert Client().patch(missing, "{}", "application/json").status_code == 401
    assert Caller("viewer")("patch", missing, bad)[0] == 403
    assert Caller("author")("patch", missing, bad)[0] == 404
    Caller("owner")("delete", address(made))
    assert Caller("viewer")("patch", address(made), bad)[0] == 403
    assert Caller("author")("patch", address(made), bad)[0] == 409
    assert Caller("author")("patch", address(proposing.propose()), bad)[0] == 422
