"""The review over HTTP: what the closed Proposal cannot hold, and every step of it, with the refusals in words."""

import json
from typing import Any

import pytest
from django.utils import timezone

from memory.host import ids, registry
from proposals import comments, lifecycle
from proposals.models import Proposal, Vote
from tests import building, proposing
from tests.faces.test_proposals_api import Caller, schema
from tests.proposing import opened

pytestmark = pytest.mark.django_db
CONSOLE = "/v1/host/console/proposals"
ARTIFACTS = "/v1/host/console/artifacts"


def address(proposal: Proposal, verb: str = "") -> str:
    return f"{CONSOLE}/{ids.wire('prop', proposal.id)}{verb}"


def seen(caller: Caller, proposal: Proposal) -> dict[str, Any]:
    """The revision and digest as the review shows them."""
    status, told = caller("get", address(proposal))
    assert status == 200
    return {name: told[name] for name in ("revision", "sha256")}


def test_a_review_says_what_the_proposal_object_cannot() -> None:
    why = ({"kind": "run", "id": "run_x", "why": "repeated"},)
    made = proposing.propose(evidence=why)
    comments.add(building.scope(), made.id, "fine", now=timezone.now())
    gate = opened(made)
    status, told = Caller("reviewer")("get", address(made))
    assert status == 200
    assert (told["revision"], told["sha256"], told["purpose"], told["comments"]) == (1, gate.sha256, "install", 1)
    assert (told["artifactName"], told["artifactVersion"]) == ("triage.summary", "1.1.0")
    assert told["pendingApprovalId"] == told["gate"]["approvalId"] == ids.wire("gate", gate.id)
    assert told["gate"]["policy"]["eligibleRoles"] == ["reviewer", "operator", "owner"]
    assert told["gate"]["quorum"] == {"granted": 0, "required": 1}
    assert told["policy"]["uninstallOnArchive"] is False
    assert told["evidence"] == list(why)
    assert told["uninstalledRef"] is None


def test_each_action_is_allowed_or_refused_in_words_for_the_one_who_asks() -> None:
    made = proposing.propose()
    opened(made)
    actions = Caller("reviewer")("get", address(made))[1]["actions"]
    assert {name for name, told in actions.items() if told["allowed"]} == {
        "apply", "decide", "withdraw", "reject", "comment",
    }  # fmt: skip
    assert actions["override"]["refusal"] == {
        "code": "forbidden",
        "message": "This needs the permission approvals:override.",
        "requiredScope": "approvals:override",
    }
    assert Caller(agents=("acme.clerk",))("get", address(made))[1]["actions"]["decide"]["refusal"]["rule"] == (
        "agents-never-vote"
    )
    revise = Caller("author")("get", address(made))[1]["actions"]["revise"]["refusal"]
    assert (revise["code"], revise["message"]) == (
        "conflict",
        "Approval of revision 1 is requested; cancel the request first.",
    )


def test_what_archiving_an_applied_one_needs_follows_from_the_policy() -> None:
    done = proposing.applied()
    assert Caller("operator")("get", address(done))[1]["actions"]["archive"]["refusal"]["code"] == "conflict"
    proposing.policy(uninstall_on_archive=True)
    assert Caller("operator")("get", address(done))[1]["actions"]["archive"]["refusal"]["requiredScope"] == (
        "proposals:activate"
    )
    owner = Caller()
    assert owner("get", address(done))[1]["actions"]["archive"]["allowed"] is True
    owner("delete", f"/v1/host/sample/proposals/{ids.wire('prop', done.id)}")
    assert owner("get", address(done))[1]["uninstalledRef"] == "prompt:triage.summary@1.1.0"


@pytest.mark.parametrize(
    ("decision", "state"), [("granted", "granted"), ("rejected", None), ("changes-requested", None)]
)
def test_a_vote_is_about_the_bytes_that_were_seen(decision: str, state: str | None) -> None:
    made = proposing.propose()
    opened(made)
    reviewer = Caller("reviewer")
    vote = {**seen(reviewer, made), "decision": decision, "reason": "looked at"}
    stale = {**vote, "sha256": "0" * 64}
    status, refused = reviewer("post", address(made, "/decisions"), stale)
    assert (status, refused["details"]["revision"]) == (409, 1)
    assert not Vote.objects.of(made.tenant_id).exists()
    status, told = reviewer("post", address(made, "/decisions"), vote)
    assert (status, told["gate"] and told["gate"]["state"], told["state"]) == (200, state, "draft")
    assert Vote.objects.of(made.tenant_id).get().decision == decision


OF_ANOTHER_SHAPE: list[dict[str, Any]] = [
    {"decision": "maybe"},
    {"decision": "rejected", "override": True},
    {"decision": "granted", "override": True, "reason": " "},
    {"decision": "changes-requested", "reason": ""},
    {"revision": "1"},
    {"revision": 0},
    {"sha256": 5},
    {"voter": "somebody"},
    {"override": "yes"},
    {"reason": "x" * 501},
    {"reason": "a\u0000b"},
]


def test_a_decision_of_another_shape_is_400_and_no_vote() -> None:
    made = proposing.propose()
    opened(made)
    owner = Caller()
    sound = {**seen(owner, made), "decision": "granted", "reason": "ok"}
    for change in OF_ANOTHER_SHAPE:
        status, refused = owner("post", address(made, "/decisions"), {**sound, **change})
        assert (status, refused["error"]) == (400, "validation_error"), change
    assert not Vote.objects.of(made.tenant_id).exists()


def test_an_override_is_marked_and_withdrawing_ends_the_gate() -> None:
    made = proposing.propose()
    opened(made)
    owner = Caller()
    given = {**seen(owner, made), "decision": "granted", "override": True, "reason": "incident 42"}
    status, told = owner("post", address(made, "/decisions"), given)
    assert (status, told["gate"]["votes"][0]["override"]) == (200, True)
    other = proposing.propose()
    opened(other)
    status, told = Caller("reviewer")("post", address(other, "/withdraw"))
    assert (status, told["gate"], told["pendingApprovalId"]) == (200, None, None)
    assert Caller("reviewer")("post", address(other, "/withdraw"))[0] == 409


def test_a_revision_says_which_one_it_read_and_whether_it_voids_the_gate() -> None:
    made, hard = proposing.propose(), '{ "templateId":"hard", "version":"1.0.0",\n"kind":"user","text":"\\u20ac" }'
    author = Caller("author")
    status, told = author("post", address(made, "/revisions"), f'{{"expectedRevision": 1, "artifact": {hard}}}')
    assert (status, told["revision"], told["sha256"]) == (201, 2, registry.digest(hard))
    status, refused = author("post", address(made, "/revisions"), {"expectedRevision": 1, "title": "late"})
    assert (status, refused["details"]["revision"]) == (409, 2)
    gate = opened(made)
    assert author("post", address(made, "/revisions"), {"title": "Third"})[0] == 409
    assert author("patch", f"/v1/host/sample/proposals/{ids.wire('prop', made.id)}", {"title": "Third"})[0] == 409
    status, told = author("post", address(made, "/revisions"), {"title": "Third", "voidGate": True})
    assert (status, told["revision"], told["gate"]) == (201, 3, None)
    gate.refresh_from_db()
    assert gate.state == "void"


def test_comments_are_listed_the_oldest_first_and_belong_to_a_revision() -> None:
    made, author = proposing.propose(), Caller("author")
    status, said = author("post", address(made, "/comments"), {"text": "  too long? "})
    assert (status, said["text"], said["revision"]) == (201, "too long?", 1)
    author("post", address(made, "/comments"), {"text": "<b>no</b>"})
    status, told = Caller("viewer")("get", address(made, "/comments"))
    assert (status, told["total"]) == (200, 2)
    assert [each["text"] for each in told["comments"]] == ["too long?", "<b>no</b>"]
    assert author("post", address(made, "/comments"), {"text": " "})[0] == 400
    assert author("post", address(made, "/comments"), {})[0] == 400
    assert Caller("viewer")("post", address(made, "/comments"), {"text": "x"})[0] == 403


def test_a_diff_is_lines_between_any_two_sides() -> None:
    done = proposing.applied()
    made = proposing.propose(text=proposing.artifact(version="2.0.0"))
    author, viewer = Caller("author"), Caller("viewer")
    author("post", address(made, "/revisions"), {"artifact": {**proposing.TEMPLATE, "version": "3.0.0"}})
    status, told = viewer("get", address(made, "/diff"))
    assert (status, told["older"]["label"], told["newer"]["label"]) == (200, "revision 1", "revision 2")
    assert (told["added"], told["removed"]) == (1, 1)
    [changed] = [line for hunk in told["hunks"] for line in hunk["lines"] if line["kind"] == "changed"]
    assert (changed["old"].strip(" ,"), changed["new"].strip(" ,")) == ('"version": "2.0.0"', '"version": "3.0.0"')
    assert viewer("get", address(made, "/diff?from=installed&to=1"))[1]["older"]["ref"] == done.installed_ref
    nothing = viewer("get", address(made, "/diff?from=nothing&to=1"))[1]
    assert (nothing["older"]["label"], nothing["removed"]) == ("nothing", 0)
    assert viewer("get", address(made, "/diff?from=7"))[0] == 404
    for bad in ("?from=0", "?from=-1", "?from=all", "?to=x", "?mode=side", "?from=1&to=99999999999"):
        assert viewer("get", address(made, f"/diff{bad}"))[0] == 400, bad


def test_a_pack_is_compared_with_the_agents_that_stand_in_its_place() -> None:
    manifest = json.loads(proposing.agent_pack())["agents"][0]
    building.install_agent("acme", {**manifest, "packVersion": "0.9.0"})
    made = proposing.propose(text=proposing.agent_pack(), kind="agent-pack")
    status, told = Caller("viewer")("get", address(made, "/diff"))
    older = told["older"]
    assert (status, older["label"]) == (200, f"installed agent:{manifest['agentId']}@0.9.0")
    assert (older["ref"], older["sha256"]) == (None, None)
    new = [line["new"] for hunk in told["hunks"] for line in hunk["lines"] if line["old"] != line["new"]]
    assert any("private.acme.office" in line for line in new)
    assert not any(manifest["systemPrompt"] in line for line in new), "the agent is there already"


@pytest.mark.parametrize(("action", "state"), [("reject", "rejected"), ("archive", "archived")])
def test_ending_several_is_all_or_nothing(action: str, state: str) -> None:
    first, second, done = proposing.propose(), proposing.propose(), proposing.applied()
    owner = Caller()
    named = [ids.wire("prop", each.id) for each in (first, second)]
    body: dict[str, Any] = {"action": action, "ids": [*named, ids.wire("prop", done.id)], "reason": "spring clean"}
    status, refused = owner("post", f"{CONSOLE}/bulk", body)
    assert (status, [each["id"] for each in refused["details"]["problems"]]) == (409, [ids.wire("prop", done.id)])
    assert {proposing.fresh(each).state for each in (first, second)} == {"draft"}
    status, told = owner("post", f"{CONSOLE}/bulk", {**body, "ids": named})
    assert (status, {each["state"] for each in told["proposals"]}) == (200, {state})
    assert {each["proposalId"] for each in told["proposals"]} == set(named)


def test_a_bulk_that_is_not_sound_changes_nothing_and_a_foreign_id_is_an_unknown_one() -> None:
    made, owner = proposing.propose(), Caller()
    mine = ids.wire("prop", made.id)
    sound: dict[str, Any] = {"action": "reject", "ids": [mine], "reason": "x"}
    unsound: list[dict[str, Any]] = [
        {"action": "apply"},
        {"ids": []},
        {"ids": [mine, "prop_x"]},
        {"ids": mine},
        {"reason": " "},
    ]
    for change in unsound:
        assert owner("post", f"{CONSOLE}/bulk", sound | change)[0] == 400, change
    assert owner("post", f"{CONSOLE}/bulk", sound | {"ids": [mine] * 201})[0] in {200, 400}
    other = ids.wire("prop", proposing.propose().id)
    answers = [
        Caller(slug="globex")("post", f"{CONSOLE}/bulk", sound | {"ids": [each]})
        for each in (other, "prop_" + "0" * 32)
    ]
    assert {status for status, _ in answers} == {409}
    assert {json.dumps(told["details"]["problems"][0]["message"]) for _, told in answers} == {
        '"There is no proposal by that id."'
    }


def test_installed_versions_are_paged_and_a_rollback_is_a_proposal() -> None:
    proposing.applied(text=proposing.artifact(version="1.0.0"))
    proposing.applied(text=proposing.artifact(version="2.0.0"))
    viewer = Caller("viewer")
    status, told = viewer("get", f"{ARTIFACTS}?kind=prompt-template&name=triage.summary&limit=1")
    assert (status, told["total"], [each["ref"] for each in told["artifacts"]]) == (
        200, 2, ["prompt:triage.summary@2.0.0"],
    )  # fmt: skip
    [first] = viewer("get", f"{ARTIFACTS}?kind=prompt-template&limit=1&after={told['next']}")[1]["artifacts"]
    assert (first["ref"], first["current"], first["partOf"]) == ("prompt:triage.summary@1.0.0", False, None)
    assert viewer("get", f"{ARTIFACTS}?kind=nothing")[1]["total"] == 0
    assert viewer("get", f"{ARTIFACTS}?after=x")[0] == 400
    status, made = Caller("author")("post", f"{ARTIFACTS}/{first['ref']}/rollback", {"rationale": "shorter"})
    assert status == 201
    schema("proposal").validate(made)
    assert (made["state"], made["rationale"]) == ("draft", "shorter")
    assert Caller("viewer")("get", f"{CONSOLE}/{made['id']}")[1]["purpose"] == "rollback"
    assert Caller("author")("post", f"{ARTIFACTS}/prompt:triage.summary@2.0.0/rollback")[0] == 409
    assert Caller("author")("post", f"{ARTIFACTS}/prompt:nothing@1.0.0/rollback", {})[0] == 404


def test_a_create_that_is_repeated_with_its_key_makes_one() -> None:
    made, author = proposing.propose(), Caller("author")
    for verb, body in (("/comments", {"text": "once"}), ("/revisions", {"title": "Once"})):
        first = author("post", address(made, verb), body, HTTP_IDEMPOTENCY_KEY=f"k{verb}")
        again = author("post", address(made, verb), body, HTTP_IDEMPOTENCY_KEY=f"k{verb}")
        assert (first[0], first) == (201, again), verb
    assert len(comments.comments_of(made)) == 1
    assert proposing.fresh(made).revision == 2


def test_a_foreign_a_missing_and_a_malformed_id_are_answered_alike_at_every_address() -> None:
    made, globex = proposing.propose(), Caller(slug="globex")
    vote = {"revision": 1, "sha256": "0" * 64, "decision": "granted"}
    calls: list[tuple[str, str, Any]] = [
        ("get", "", None), ("get", "/diff", None), ("get", "/comments", None), ("get", "/revisions", None),
        ("post", "/decisions", vote), ("post", "/withdraw", None), ("post", "/comments", {"text": "x"}),
        ("post", "/revisions", {"title": "x"}),
    ]  # fmt: skip
    for method, verb, body in calls:
        named = (ids.wire("prop", made.id), "prop_" + "0" * 32, "prop-x")
        answers = [globex(method, f"{CONSOLE}/{each}{verb}", body) for each in named]
        assert {status for status, _ in answers} == {404}, verb
        assert len({json.dumps(told) for _, told in answers}) == 1, verb


def test_a_missing_permission_comes_before_the_question_what_is_there() -> None:
    viewer = Caller("viewer")
    lifecycle.archive(building.scope(), proposing.propose().id, now=timezone.now())
    for verb, body, scope in (
        ("/decisions", {"revision": 1, "sha256": "0" * 64, "decision": "granted"}, "approvals:respond"),
        ("/withdraw", None, "proposals:request-activation"),
        ("/revisions", {"title": "x"}, "proposals:revise"),
        ("/comments", {"text": "x"}, "proposals:comment"),
    ):
        status, refused = viewer("post", f"{CONSOLE}/prop_{'0' * 32}{verb}", body)
        assert (status, refused["details"]) == (403, {"requiredScope": scope})
