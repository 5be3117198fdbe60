"""Answering what a run waits for, on its page: what is asked, the form, who may, and what is refused."""

import re
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from memory.host import access, ids, runs
from memory.host.models import Interrupt, Run
from openwop_console.runtime import replay, run_operations
from openwop_console.runtime.replay import ForkRequest
from tests import building
from tests.memory.test_forgetting import MARTA, forget
from tests.pages.conftest import HTMX, SignIn, body_of

pytestmark = pytest.mark.django_db


def asking(type_id: str, config: dict[str, Any], **node: Any) -> tuple[Run, str]:
    """A run of Acme that waits, and the address where it is answered."""
    name = f"asks-{ids.new_id().hex}"
    building.install("acme", building.definition(name, building.node("gate", type_id, config, **node)))
    run = building.execute(building.scope(), name)
    asked = Interrupt.objects.of(run.tenant_id).get(run_id=run.id)
    return run, f"{page_of(run)}/answer/{ids.wire('int', asked.id)}"


def page_of(run: Run) -> str:
    return f"/runs/{ids.wire('run', run.id)}"


def outcome(run: Run) -> Any:
    building.advance(run)
    return Interrupt.objects.of(run.tenant_id).get(run_id=run.id).resume_value


APPROVAL = ("core.approvalGate", {"title": "Refund of order 7", "actions": ["accept", "reject", "refine", "ask"]})
QUESTIONS = [
    {"id": "name", "question": "What is it called?"},
    {"id": "count", "question": "How many?", "schema": {"type": "integer", "minimum": 1}},
    {"id": "size", "question": "Which size?", "schema": {"enum": ["small", "large"]}},
    {"id": "rush", "question": "Is it urgent?", "schema": {"type": "boolean"}},
    {"id": "share", "question": "Which share?", "schema": {"type": "number"}},
    {"id": "more", "question": "Anything else?", "schema": {"type": "array"}},
]
CLARIFICATION = ("core.clarificationGate", {"questions": QUESTIONS})


def field(name: str) -> str:
    return f"resumeValue.answers.{name}"


SENT = {field("name"): "Ana", field("count"): "3", field("size"): "large", field("rush"): "no", field("share"): "0.5"}
ANSWERS = {"name": "Ana", "count": 3, "size": "large", "rush": False, "share": 0.5, "more": [1]}


def test_the_page_of_a_waiting_run_asks_and_is_answered_by_the_button_that_is_pressed(ada: Client) -> None:
    run, url = asking(*APPROVAL)
    shown = body_of(ada.get(page_of(run)))
    assert "Refund of order 7" in shown
    assert 'name="action" value="accept"' in shown
    assert "Accept as edited" not in shown
    assert f'action="{url}"' in shown
    answer = ada.post(url, {"action": "accept", "words": "in time"})
    assert (answer.status_code, answer["Location"]) == (302, page_of(run))
    kept = outcome(run)
    assert (kept["action"], kept["reason"]) == ("accept", "in time")
    assert runs.find(run.tenant_id, run.id).status == "completed"


def test_a_waiting_run_looks_again_by_itself_and_keeps_the_form_of_who_fills_it_in(
    ada: Client, sign_in: SignIn
) -> None:
    run, url = asking(*APPROVAL)
    shown = body_of(ada.get(page_of(run), **HTMX))
    assert 'hx-trigger="every 3s"' in shown
    assert "data-keep>" in shown
    assert "Waiting for your answer." in shown
    assert "Waiting for an answer." in body_of(sign_in(role="viewer").get(page_of(run), **HTMX))
    sign_in(role="reviewer").post(url, {"action": "accept"})
    building.advance(run)
    again = ada.get(page_of(run), **HTMX)
    assert again.status_code == 286
    assert "data-keep" not in body_of(again)


def test_changes_and_questions_go_with_their_words(ada: Client) -> None:
    run, url = asking(*APPROVAL)
    assert ada.post(url, {"action": "ask", "words": "Which customer?"}).status_code == 302
    assert "Which customer?" in body_of(ada.get(page_of(run)))
    assert ada.post(url, {"action": "refine", "words": "shorter"}).status_code == 302
    assert outcome(run)["refineFeedback"] == {"scope": "whole", "text": "shorter"}


def test_what_is_to_be_approved_is_shown_and_may_be_edited(ada: Client) -> None:
    config = {"actions": ["accept", "edit-accept"]}
    inputs = {"artifactData": {"type": "static", "value": {"body": "Dear <b>Ana</b>"}}}
    run, url = asking("core.approvalGate", config, inputs=inputs)
    shown = body_of(ada.get(url))
    assert "Dear &lt;b&gt;Ana" in shown
    refused = ada.post(url, {"action": "edit-accept", "resumeValue.editedArtifactData": "{", "words": ""})
    assert refused.status_code == 422
    assert "Invalid JSON" in body_of(refused)
    assert ada.post(url, {"action": "edit-accept", "resumeValue.editedArtifactData": '{"body": 1}'}).status_code == 302
    assert outcome(run)["editedArtifactData"] == {"body": 1}


def test_data_that_laid_out_would_be_many_times_as_long_is_shown_in_one_line(ada: Client) -> None:
    nested: Any = [0] * 20_000
    for _ in range(50):
        nested = [nested]
    given = {"artifactData": {"type": "static", "value": {"x": nested}}}
    _, url = asking("core.approvalGate", {}, inputs=given)
    shown = ada.get(url).content
    assert b"0, 0, 0" in shown
    assert len(shown) < 500_000


def test_json_on_a_page_is_as_strict_as_in_the_api(ada: Client) -> None:
    _, url = asking("core.interrupt", {"kind": "custom", "customKind": "pick"})
    for text in ["NaN", '"\\u0000"', "[" * 100 + "]" * 100, '{"a":']:
        assert ada.post(url, {"resumeValue": text}).status_code == 422, text


def test_each_question_has_a_field_that_fits_it(ada: Client) -> None:
    run, url = asking(*CLARIFICATION)
    shown = body_of(ada.get(page_of(run)))
    for each in QUESTIONS:
        assert str(each["question"]) in shown
    assert ada.post(url, SENT | {field("more"): "[1]"}).status_code == 302
    assert outcome(run)["answers"] == ANSWERS


def test_an_answer_that_does_not_fit_stands_at_its_field_and_the_rest_is_kept(ada: Client) -> None:
    _, url = asking(*CLARIFICATION)
    for change in [{field("count"): "0"}, {field("count"): "many"}, {field("name"): ""}]:
        refused = ada.post(url, SENT | {field("more"): "[1]"} | change)
        shown = body_of(refused)
        assert refused.status_code == 422, change
        assert "The run was not answered" in shown, change
        assert 'id="waterfall-head"' in shown, change  # the page of the run itself
        assert f'id="{url.rpartition("/")[2]}_{next(iter(change))}_error"' in shown, change
        assert 'value="0.5"' in shown, change


def test_an_event_that_is_another_s_is_said_to_be_so(ada: Client) -> None:
    config = {"kind": "external-event", "eventType": "order.done", "correlation": {"order": "o-1"}}
    run, url = asking("core.interrupt", config)
    assert "o-1" in body_of(ada.get(url))
    refused = ada.post(url, {"resumeValue": '{"order": "o-2"}'})
    assert refused.status_code == 422
    assert "not the one this run waits for" in body_of(refused)
    assert ada.post(url, {"resumeValue": '{"correlation": {"order": "o-1"}}'}).status_code == 302
    assert outcome(run)["event"] == {"correlation": {"order": "o-1"}}


def test_who_may_not_answer_reads_who_may(sign_in: SignIn) -> None:
    run, url = asking(*APPROVAL)
    viewer = sign_in(role="viewer")
    shown = body_of(viewer.get(page_of(run)))
    assert "Refund of order 7" in shown
    assert "approvals:respond" in shown
    assert url not in shown
    assert viewer.post(url, {"action": "accept", "words": ""}).status_code == 403
    assert sign_in("globex").get(url).status_code == 404


def test_who_may_not_answer_reads_the_questions_all_the_same(sign_in: SignIn) -> None:
    run, _ = asking(*CLARIFICATION)
    shown = body_of(sign_in(role="viewer").get(page_of(run)))
    for each in QUESTIONS:
        assert str(each["question"]) in shown


def test_two_questions_on_one_page_share_no_id(ada: Client) -> None:
    nodes = [building.node(name, "core.approvalGate") for name in ("one", "two")]
    building.install("acme", building.definition("both", *nodes) | {"edges": []})
    shown = body_of(ada.get(page_of(building.execute(building.scope(), "both"))))
    ids_there = re.findall(r' id="([^"]+)"', shown)
    assert len(ids_there) == len(set(ids_there))


def test_an_answered_question_is_not_answered_again(ada: Client) -> None:
    _, url = asking(*APPROVAL)
    assert ada.post(url, {"action": "accept", "words": ""}).status_code == 302
    late = ada.post(url, {"action": "reject", "words": ""})
    assert late.status_code == 409
    assert "answered already" in body_of(late)
    assert ada.get(url).status_code == 200


def test_a_quorum_says_how_far_it_is(ada: Client) -> None:
    run, url = asking("core.approvalGate", {"requiredApprovals": 2, "rejectionPolicy": "majority"})
    assert "0 of 2 approvals, 0 rejections" in body_of(ada.get(page_of(run)))
    ada.post(url, {"action": "accept", "words": ""})
    assert "1 of 2 approvals, 0 rejections; you approved" in body_of(ada.get(page_of(run)))


def test_after_my_vote_the_run_waits_for_others_and_a_second_answer_is_refused_in_words(
    ada: Client, sign_in: SignIn
) -> None:
    run, url = asking("core.approvalGate", {"requiredApprovals": 2, "actions": ["accept", "reject"]})
    ben = sign_in(role="reviewer")
    assert page_of(run) in body_of(ada.get("/"))
    ada.post(url, {"action": "accept", "words": ""})
    shown = body_of(ada.get(page_of(run)))
    assert "Waiting for 1 more approval." in shown
    assert re.findall(r"</svg>(suspended|received)</span>", shown) == ["suspended"], "a vote is no state of the node"
    assert 'name="action"' not in shown.partition('id="int_')[2].partition("</section>")[0]
    for action in ("accept", "reject"):
        again = ada.post(url, {"action": action, "words": ""})
        assert again.status_code == 409
        assert "You approved this already. Your answer counts once; it was not recorded again." in body_of(again)
    assert page_of(run) not in body_of(ada.get("/")).partition('id="answers"')[2].partition("</section>")[0]
    assert ada.get("/?format=json").json()["answers"] == 0
    assert ben.get("/?format=json").json()["answers"] == 1
    assert "you approved" not in body_of(ben.get(page_of(run)))
    assert ben.post(url, {"action": "accept", "words": ""}).status_code == 302
    assert outcome(run)["decidedBy"] == "quorum:2-of-2"


def test_a_question_that_names_its_approvers_waits_for_them_alone(ada: Client, sign_in: SignIn) -> None:
    ben = sign_in(role="reviewer")
    asking("core.approvalGate", {"approversList": ["usr_" + "0" * 32]})
    assert [each.get("/?format=json").json()["answers"] for each in (ada, ben)] == [0, 0]


def test_an_address_of_no_question_is_not_found(ada: Client) -> None:
    run, url = asking(*APPROVAL)
    asked = url.rpartition("/")[2]
    for address in ["/runs/{run}/answer/int_x", "/runs/run_x/answer/{asked}", "/runs/x/answer/y"]:
        assert ada.get(address.format(run=ids.wire("run", run.id), asked=asked)).status_code == 404, address


def test_needs_you_lists_the_runs_that_wait_and_none_of_another_tenant(ada: Client, sign_in: SignIn) -> None:
    run, url = asking(*APPROVAL)
    assert page_of(run) in body_of(ada.get("/"))
    assert ada.get("/?format=json").json()["answers"] == 1
    assert sign_in("globex").get("/?format=json").json()["answers"] == 0
    ada.post(url, {"action": "accept", "words": ""})
    assert ada.get("/?format=json").json()["answers"] == 0


NAME = "ada.owner@acme.example"


def told(browser: Client, url: str, **sent: str) -> str:
    """The messages of the page that an answer leads to."""
    answer = browser.post(url, {"words": "", **sent}, follow=True)
    return body_of(answer).partition('class="messages"')[2].partition("</div></div>")[0]


def test_who_answers_is_told_what_becomes_of_the_answer(ada: Client, sign_in: SignIn) -> None:
    _, url = asking(*APPROVAL)
    assert "Your question is recorded." in told(ada, url, action="ask", words="Which customer?")
    assert "Your answer is recorded. The run goes on." in told(ada, url, action="accept")
    assert "Your answer is recorded.</div>" in told(ada, asking(*APPROVAL)[1], action="reject") + "</div>"
    _, url = asking("core.approvalGate", {"requiredApprovals": 2})
    assert "The run waits for more answers." in told(ada, url, action="accept")
    assert "The run goes on." in told(sign_in(role="reviewer"), url, action="accept")
    run, url = asking(*CLARIFICATION)
    run_operations.pause_run(building.scope(), run.id, now=timezone.now())
    assert "goes on when it is resumed" in told(ada, url, **SENT, **{field("more"): "[1]"})


def test_who_comes_too_late_is_told_who_answered_what(ada: Client, sign_in: SignIn) -> None:
    _, url = asking(*APPROVAL)
    told(sign_in(role="reviewer"), url, action="reject")
    late = ada.post(url, {"words": "", "action": "accept"})
    assert late.status_code == 409
    notice = texts_of(body_of(late).partition('role="alert"')[2].partition("</p>")[0])
    assert re.search(r"answered already\. It ended just now : rejected by ada.reviewer@acme.example \.", notice), notice
    assert "Your answer was not recorded." in notice


def node_of(browser: Client, run: Run) -> tuple[str, str]:
    """The row of the gate in the timeline of the run: its summary, and what it holds."""
    shown = body_of(browser.get(page_of(run))).partition('class="waterfall"')[2]
    row = shown.partition("<code>gate</code>")[2].partition("</section>")[0]
    summary, _, rest = row.partition("</summary>")
    return texts_of(summary), texts_of(rest)


def texts_of(html: str) -> str:
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", html))


@pytest.mark.engines
def test_the_timeline_says_what_was_asked_and_who_answered_what(
    ada: Client, sign_in: SignIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    run, url = asking(*CLARIFICATION)
    ada.post(url, SENT | {field("more"): "[1]"})
    building.advance(run)
    answered = f"Answered by {NAME}"
    summary, shown = node_of(ada, run)
    assert answered in summary
    assert answered in shown
    assert shown.count("What is it called?") == 2, "at the question, and at its answer"
    assert "Ana" in shown
    monkeypatch.setitem(access.ROLES, "viewer", access.ROLES["viewer"] - {"memory:read"})
    summary, shown = node_of(sign_in(role="viewer"), run)
    assert answered in summary
    assert "Ana" not in shown


def test_the_timeline_says_who_decided_an_approval_and_with_which_comment(ada: Client, sign_in: SignIn) -> None:
    run, url = asking(*APPROVAL)
    ada.post(url, {"action": "accept", "words": "in <b>time</b>"})
    summary, shown = node_of(ada, run)
    assert f"Approved by {NAME}" in summary
    assert shown.count(NAME) == 1
    assert f"Approved by {NAME}" in shown
    assert "Refund of order 7" in shown
    assert "Comment in &lt;b&gt;time" in shown
    run, url = asking("core.approvalGate", {"requiredApprovals": 2})
    ada.post(url, {"action": "accept", "words": ""})
    assert f"Approved by {NAME}" in node_of(ada, run)[1], "one of two"
    sign_in(role="reviewer").post(url, {"action": "accept", "words": ""})
    assert f"Approved by {NAME} , ada.reviewer@acme.example" in node_of(ada, run)[0]


@pytest.mark.engines
def test_a_fork_says_who_answered_its_source_and_masks_what_that_holds_sensitive(ada: Client) -> None:
    name = "asks-for-a-secret"
    gate = building.node("gate", *CLARIFICATION[:1], {"questions": QUESTIONS[:1], "resultVariable": "said"})
    document = building.definition(name, gate) | {"variables": [{"name": "said", "type": "object", "sensitive": True}]}
    building.install("acme", document)
    run = building.execute(building.scope(), name)
    asked = Interrupt.objects.of(run.tenant_id).get(run_id=run.id)
    ada.post(f"{page_of(run)}/answer/{ids.wire('int', asked.id)}", {field("name"): "Anastasia"})
    building.advance(run)
    forked = replay.fork(building.scope(), run.id, ForkRequest("replay", 0), now=timezone.now())
    building.advance(forked)
    for each in (run, forked):
        summary, shown = node_of(ada, each)
        assert f"Answered by {NAME}" in summary
        assert "What is it called?" in shown
        assert "Anastasia" not in shown


def test_a_run_with_more_questions_asks_the_database_as_often(ada: Client) -> None:
    def cost(number: int) -> int:
        nodes = [building.node(f"gate-{each}", "core.approvalGate", {"requiredApprovals": 2}) for each in range(number)]
        building.install("acme", building.definition(f"asks-{number}", *nodes) | {"edges": []})
        run = building.execute(building.scope(), f"asks-{number}")
        for asked in Interrupt.objects.of(run.tenant_id).filter(run_id=run.id):
            ada.post(f"{page_of(run)}/answer/{ids.wire('int', asked.id)}", {"action": "reject", "words": ""})
        building.advance(run)
        ada.get(page_of(run))
        with CaptureQueriesContext(connection) as queries:
            ada.get(page_of(run))
        return len(queries)

    assert cost(1) == cost(3)


def test_the_page_of_an_answered_question_says_what_is_true(ada: Client) -> None:
    run, url = asking("core.clarificationGate", {"questions": QUESTIONS[:1], "timeoutSec": 3600})
    page = body_of(ada.get(url))
    assert "<title>Answer a run" in page
    assert "Then it closes without an answer" in page
    ada.post(url, {field("name"): "Ana"})
    page = body_of(ada.get(url))
    assert "<title>A question of a run" in page
    shown = texts_of(page.partition('class="panel question"')[2])
    assert "The run asked 1 question" in shown
    assert f"Answered by {NAME}" in shown
    assert shown.count("What is it called?") == 1
    assert "Ana" in shown
    for untrue in ("The run asks", "Until", "counts as rejected"):
        assert untrue not in shown
    run, url = asking("core.approvalGate", {"timeoutSec": 3600})
    run_operations.cancel_run(building.scope(), run.id, now=timezone.now())
    building.advance(run)
    shown = texts_of(body_of(ada.get(url)).partition('class="panel question"')[2])
    assert "The run ended without an answer" in shown
    assert "counts as rejected" not in shown


@pytest.mark.engines
def test_what_a_forget_has_taken_of_an_answer_is_not_shown(ada: Client) -> None:
    run, url = asking(*CLARIFICATION)
    ada.post(url, SENT | {field("more"): "[1]", field("name"): MARTA})
    building.advance(run)
    forget(building.scope())
    summary, shown = node_of(ada, run)
    assert f"Answered by {NAME}" in summary
    assert MARTA not in shown
