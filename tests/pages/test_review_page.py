"""The review of a proposal, tab by tab and act by act: what it says, what it refuses, what it is about."""

import json
import re
from datetime import timedelta
from html import unescape
from typing import Any

import pytest
from django.conf import LazySettings
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from memory.host import audit, ids, runs, tenancy
from memory.host.errors import Invalid
from memory.host.models import AuditRecord, Interrupt
from memory.host.tenancy import TenantScope
from proposals import comments, diffs, gate, lifecycle, revisions
from proposals.comments import Spot
from proposals.drafts import Change
from proposals.models import Comment, Gate, Proposal, Vote
from tests import building, proposing
from tests.budgets import cpu_within
from tests.pages.conftest import HTMX, SignIn, body_of
from tests.proposing import page_of

pytestmark = pytest.mark.django_db
WHY = "Incident 4711: the queue has been stuck since midnight"
HOSTILE = "<script>alert(1)</script> <b hx-get='/x'>b</b> \u202eevil"
TABS = ("", "/artifact", "/evidence", "/discussion", "/history", "/effect")


def person(role: str, name: str) -> TenantScope:
    """Somebody of Acme who can sign in, as a scope."""
    return tenancy.tenant_scope(tenancy.operator_principal(building.operator(role=role, email=f"{name}@acme.example")))


def revise(proposal: Proposal, by: TenantScope | None = None, **changes: Any) -> Proposal:
    change = Change(artifact=proposing.artifact(**changes), note="clearer")
    writer = by or building.scope(role="author")
    return lifecycle.revise(writer, proposal.id, change, voids_gate=True, now=timezone.now())


def seen(proposal: Proposal, **more: Any) -> dict[str, Any]:
    """What the forms of the page were printed with."""
    standing = revisions.current_with_tenant(proposing.fresh(proposal))
    return {"revision": standing.number, "sha256": standing.sha256, **more}


def overridden(proposal: Proposal) -> Gate:
    opened = proposing.opened(proposal)
    return lifecycle.override(
        building.scope(), proposal.id, revision=opened.revision, sha256=opened.sha256, reason=WHY, now=timezone.now()
    )


# What the tabs say


def test_the_change_is_told_in_words_of_its_kind_before_its_lines(ada: Client) -> None:
    made = revise(proposing.propose(), variables=[])
    shown = body_of(ada.get(page_of(made)))
    words, lines = shown.index('id="summary"'), shown.index("diff-region")
    assert words < lines
    assert "summary-loss" in shown[words:lines]
    assert ">Removed<" in shown[words:lines]
    assert "ticket" in shown[words:lines]


def test_any_two_revisions_what_is_installed_and_nothing_can_be_compared(ada: Client) -> None:
    proposing.applied(text=proposing.artifact(version="1.0.0", text="Installed before."))
    made = revise(revise(proposing.propose(text=proposing.artifact(text="First."))), text="Third.")
    first = body_of(ada.get(f"{page_of(made)}?from=1&to=3"))
    assert "First" in first
    assert "Third" in first
    assert "Installed" in body_of(ada.get(f"{page_of(made)}?from=installed&to=1"))
    assert "<del>" not in body_of(ada.get(f"{page_of(made)}?from=nothing"))


def test_an_applied_proposal_is_compared_with_what_it_replaced(ada: Client) -> None:
    proposing.applied(text=proposing.artifact(version="1.0.0"))
    made = proposing.applied(text=proposing.artifact(version="1.1.0"))
    shown = body_of(ada.get(page_of(made)))
    assert "prompt:triage.summary@1.0.0, which it replaced" in shown
    assert "<del>" in shown


def test_the_artifact_tab_says_that_it_could_be_installed_now_or_why_not(ada: Client) -> None:
    made = proposing.propose(text=proposing.artifact(version="1.0.0"))
    assert "installable now" in body_of(ada.get(f"{page_of(made)}/artifact"))
    assert "vertaken" not in body_of(ada.get(page_of(made)))
    taken = proposing.applied(text=proposing.artifact(version="1.0.0", text="Taken."))
    shown = body_of(ada.get(page_of(made)))
    assert "Overtaken: <code hx-disable>prompt:triage.summary@1.0.0</code> was installed after revision 1" in shown
    assert "It cannot be installed as it is." in shown
    assert (
        "<strong>Approve, Request approval, Override:</strong> prompt:triage.summary@1.0.0 has been installed" in shown
    )
    assert "vertaken" not in body_of(ada.get(page_of(taken)))
    assert body_of(ada.get("/proposals")).count("overtaken</span>") == 1
    listed = json.loads(body_of(ada.get("/proposals?format=json")))["proposals"]
    assert [each["overtakenBy"] for each in listed] == [None, "prompt:triage.summary@1.0.0"]
    shown = body_of(ada.get(f"{page_of(made)}/artifact"))
    assert "could not be installed now" in shown
    assert "give the artifact a new version" in shown


def test_what_could_not_be_installed_is_not_offered_to_be_approved_and_changes_may_be_requested(ada: Client) -> None:
    made = proposing.propose(text=proposing.artifact(version="1.0.0"))
    proposing.ask(made)
    assert 'value="granted" formnovalidate data-key="a" data-aim>' in body_of(ada.get(page_of(made)))
    proposing.applied(text=proposing.artifact(version="1.0.0", text="Taken."))
    shown = body_of(ada.get(page_of(made)))
    assert 'value="granted" formnovalidate data-key="a" data-aim disabled' in shown
    assert 'value="changes-requested" data-key="c">' in shown
    assert "<strong>Approve, Override:</strong> prompt:triage.summary@1.0.0 has been installed already" in shown


def test_an_artifact_that_is_too_long_laid_out_is_cut_which_is_said_and_its_bytes_are_whole(
    ada: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    address = f"{page_of(proposing.propose())}/artifact"
    assert "too long for a page" not in body_of(ada.get(address))
    monkeypatch.setattr("proposals.views.review.MOST_LAID_OUT", 40)
    shown = body_of(ada.get(address))
    assert "too long for a page" in shown
    assert proposing.artifact() in unescape(shown)


def test_the_download_is_the_exact_bytes_of_the_revision(ada: Client) -> None:
    text = '{ "templateId":"a.b","version":"1.0.0","kind":"user","text":"\u00e9 \\u00e9 1.0" }'
    made = revise(proposing.propose(text=text))
    answer = ada.get(f"{page_of(made)}/artifact/download?revision=1")
    assert answer.content == text.encode()
    assert answer["Content-Disposition"] == f'attachment; filename="{ids.wire("prop", made.id)}-r1.json"'
    assert ada.get(f"{page_of(made)}/artifact/download").content == proposing.artifact().encode()


def test_evidence_opens_and_a_question_opens_the_run_that_asked_it(ada: Client) -> None:
    source = building.remember("acme", "x")
    run_id, activation = ids.wire("run", source.run.id), proposing.opened(proposing.propose())
    asked = building.advance(runs.find(activation.tenant_id, activation.run_id))
    question = ids.wire("int", Interrupt.objects.of(asked.tenant_id).get(run_id=asked.id).id)
    evidence = (
        {"kind": "run", "id": run_id, "why": "corrected"},
        {"kind": "memory", "id": source.entries[0], "why": "read-again"},
        {"kind": "interrupt", "id": question, "why": "corrected"},
    )
    made = proposing.propose(
        text=proposing.artifact(templateId="e.e"), source_run_ids=(run_id,), evidence=evidence, pattern="a" * 64
    )
    shown = body_of(ada.get(f"{page_of(made)}/evidence"))
    assert f'href="/runs/{run_id}"' in shown
    assert f'href="/memory/{source.entries[0]}"' in shown
    assert f'href="/runs/{ids.wire("run", asked.id)}"' in shown
    assert "completed" in shown


def test_a_duplicate_is_named_and_the_difference_from_it_is_a_link_away(ada: Client) -> None:
    first = proposing.applied(text=proposing.artifact(templateId="one.name"))
    made = proposing.propose(text=proposing.artifact(templateId="other.name"))
    assert made.duplicate_of
    shown = body_of(ada.get(f"{page_of(made)}/evidence"))
    assert f'href="{page_of(first)}"' in shown
    assert f"{page_of(made)}?from=duplicate" in shown
    assert "one.name" in body_of(ada.get(f"{page_of(made)}?from=duplicate"))


def test_the_proof_of_inertness_counts_runs_and_becomes_the_effect(ada: Client) -> None:
    made = proposing.propose()
    building.remember("acme", "x")
    shown = body_of(ada.get(f"{page_of(made)}/effect"))
    assert "1 run since it was proposed; none of them resolved it." in shown
    assert "no installation has the digest of any of its 1 revision" in shown
    proposing.decide(made, proposing.opened(made))
    proposing.advance(Gate.objects.get())
    assert "No runs since it was installed." in body_of(ada.get(f"{page_of(made)}/effect"))


def test_what_a_pack_brought_is_listed_as_its_parts(ada: Client) -> None:
    made = proposing.applied(text=proposing.agent_pack(), kind="agent-pack")
    shown = body_of(ada.get(f"{page_of(made)}/effect"))
    assert "agent:private.acme.clerk@1.0.0" in shown


def test_history_says_what_the_lines_of_each_revision_are_compared_with(ada: Client) -> None:
    building.install_agent("acme", {"agentId": "private.acme.clerk", "packVersion": "0.9.0"})
    made = proposing.propose(text=proposing.agent_pack(), kind="agent-pack")
    change = Change(artifact=proposing.agent_pack({"persona": "Porter"}))
    lifecycle.revise(building.scope(role="author"), made.id, change, now=timezone.now())
    first = revisions.get_by_number(made, 1)
    assert first.lines_removed, "the agent that was installed on its own is what the pack would replace"
    shown = body_of(ada.get(f"{page_of(made)}/history"))
    second, _, first_row = shown.partition('id="revisions"')[2].partition("from revision 1")
    assert "+1</span>" in second
    assert f"+{first.lines_added}</span>" in first_row
    assert "from what was in force then" in first_row
    assert f'href="{page_of(made)}?from=1&amp;to=2">Compare with 1' in shown


def test_history_has_the_audit_for_those_who_may_read_it(ada: Client, sign_in: SignIn) -> None:
    made = revise(proposing.propose())
    proposing.decide(made, proposing.opened(made))
    shown = body_of(ada.get(f"{page_of(made)}/history"))
    for action in ("proposal.create", "proposal.revise", "proposal.gate.open", "proposal.vote"):
        assert action in shown
    others = body_of(sign_in(role="reviewer").get(f"{page_of(made)}/history"))
    assert "proposal.vote" not in others
    assert "audit:read" in others


# The aside


def test_the_aside_says_the_policy_of_the_gate_in_words_and_that_it_has_changed_since(ada: Client) -> None:
    made = proposing.propose()
    proposing.policy(quorum=2, eligible_roles=("owner", "reviewer"), override_roles=(), expires_s=7200)
    proposing.opened(made)
    proposing.policy(quorum=3)
    shown = body_of(ada.get(page_of(made)))
    assert "2 approvals by reviewers or owners who did not write or revise it." in shown
    assert "No role may override it." in shown
    assert "in 1 h" in shown
    assert "The current version is 2" in shown
    assert "waiting 0 of 2" in shown


def test_the_aside_names_who_may_vote_and_why_the_others_may_not(ada: Client) -> None:
    ben, cleo = person("operator", "ben"), person("reviewer", "cleo")
    person("viewer", "victor")
    made = revise(proposing.propose(), by=ben)
    proposing.policy(quorum=2)
    proposing.decide(made, proposing.opened(made), by=cleo, reason="fine")
    shown = body_of(ada.get(page_of(made)))
    may, _, others = shown.partition("Who may vote")[2].partition("Why 3 others can't vote")
    assert "ada.owner@acme.example" in may
    assert "ben@acme.example" not in may
    assert "authored revision 2" in others
    assert "has voted: granted" in others
    assert "has the role viewer" in others
    assert "as reviewer" in shown


def test_a_void_vote_stays_and_is_marked_as_void(ada: Client) -> None:
    made = proposing.propose()
    proposing.policy(quorum=2)
    proposing.decide(made, proposing.opened(made), reason="seen as it was")
    revise(made, text="Other.")
    shown = body_of(ada.get(page_of(made)))
    assert "seen as it was" in shown
    assert 'class="vote void"' in shown
    assert "Approval request void, and its votes with it" in shown
    assert "saw revision 1" in shown


def test_neighbours_stand_in_the_order_of_the_inbox_and_are_of_this_tenant(ada: Client) -> None:
    first, second, third = (proposing.propose(text=proposing.artifact(templateId=f"t{n}")) for n in range(3))
    building.tenant("globex")
    foreign = proposing.propose(building.scope("globex", role="agent"))
    shown = body_of(ada.get(page_of(second)))
    assert f'href="{page_of(third)}" rel="prev"' in shown
    assert f'href="{page_of(first)}" rel="next"' in shown
    assert page_of(foreign) not in body_of(ada.get(page_of(third)))


# Why a button does not work


def test_each_reason_is_said_in_words(ada: Client, sign_in: SignIn) -> None:
    made = proposing.propose()
    assert "no approval is requested; request it first" in body_of(ada.get(page_of(made)))
    proposing.policy(eligible_roles=("operator",), override_roles=())
    opened = proposing.opened(made)
    shown = body_of(ada.get(page_of(made)))
    assert "only operators can vote" in shown
    assert "the policy allows no override" in shown
    operator = sign_in(role="operator")
    assert "approvals:override" in body_of(operator.get(page_of(made)))
    past = opened.opened_at - timedelta(hours=1)
    Gate.objects.written_by(gate.WRITER).filter(id=opened.id).update(expires_at=past)
    shown = body_of(operator.get(page_of(made)))
    assert "the approval request has expired" in shown
    assert "Request approval" in shown


def test_the_button_says_that_the_last_approval_installs_and_who_has_voted_is_told_so(
    ada: Client, sign_in: SignIn
) -> None:
    made = proposing.propose()
    assert "Approve</button>" in body_of(ada.get(page_of(made)))
    proposing.policy(quorum=2)
    proposing.opened(made)
    assert "Approve</button>" in body_of(ada.get(page_of(made)))
    ada.post(f"{page_of(made)}/decide", seen(made, decision="granted"))
    shown = body_of(ada.get(page_of(made)))
    assert "you have approved revision 1 already" in shown
    assert "waiting 1 of 2" in shown
    shown = body_of(sign_in(role="reviewer").get(page_of(made)))
    assert "Approve and install</button>" in shown
    assert "Approve</button>" not in shown


# Acts


def test_requesting_changes_needs_a_reason_and_keeps_the_proposal_under_review(ada: Client) -> None:
    made = proposing.propose()
    proposing.opened(made)
    answer = ada.post(f"{page_of(made)}/decide", seen(made, decision="changes-requested"))
    assert answer.status_code == 422
    assert 'href="#decision-reason"' in body_of(answer)
    ada.post(f"{page_of(made)}/decide", seen(made, decision="changes-requested", reason=HOSTILE))
    shown = body_of(ada.get(page_of(made)))
    assert "&lt;script&gt;" in shown
    assert "\u202e" not in shown
    assert "Approval ended with a request for changes" in shown
    assert proposing.fresh(made).state == "draft"


def test_a_vote_on_what_was_revised_meanwhile_is_a_conflict_with_the_difference_and_keeps_the_reason(
    ada: Client,
) -> None:
    made = proposing.propose()
    proposing.opened(made)
    read = seen(made, decision="granted", reason="I read it twice")
    proposing.opened(revise(made, text="Somebody was faster."))
    answer = ada.post(f"{page_of(made)}/decide", read)
    shown = body_of(answer)
    assert answer.status_code == 409
    assert "Revision 2 arrived while you read revision 1" in shown
    assert f'href="{page_of(made)}?from=1&amp;to=2">Compare revision 1 with 2</a>' in shown
    assert "I read it twice" in shown
    assert not Vote.objects.exists()


def test_a_vote_on_what_another_has_ended_says_who_did_what_and_that_it_was_not_recorded(
    ada: Client, sign_in: SignIn
) -> None:
    made = proposing.propose()
    proposing.opened(made)
    read = seen(made, decision="granted", reason="fine")
    rosa = sign_in(role="reviewer")
    assert rosa.post(f"{page_of(made)}/withdraw", seen(made)).status_code == 302
    assert rosa.post(f"{page_of(made)}/reject", {"revision": 1, "reason": "not now"}).status_code == 302
    answer = ada.post(f"{page_of(made)}/decide", read)
    told = re.sub(r"<[^>]+>", "", body_of(answer).partition('id="conflict-title"')[2].partition("</section>")[0])
    assert answer.status_code == 409
    assert "The proposal is rejected now" in told
    assert re.search(r"What happened last, just now: \w+ by\s+ada.reviewer@acme.example", told), told
    assert "No vote and no change was recorded." in told


def test_rejecting_what_was_revised_meanwhile_rejects_nothing(ada: Client) -> None:
    made = revise(proposing.propose())
    assert "Revision 2 arrived" in body_of(ada.get(f"{page_of(made)}/reject?revision=1"))
    answer = ada.post(f"{page_of(made)}/reject", {"revision": 1, "reason": "no"})
    assert answer.status_code == 409
    assert "Nothing was rejected" in body_of(answer)
    assert "<title>Conflict: Reject" in body_of(answer)
    assert proposing.fresh(made).state == "revised"


def test_what_has_left_the_review_says_who_did_it_and_loses_no_second_reason_in_silence(ada: Client) -> None:
    for verb, state in [("reject", "rejected"), ("archive", "archived")]:
        made = proposing.propose()
        url = f"{page_of(made)}/{verb}"
        assert ada.post(url, {"revision": 1, "reason": "the first reason"}).status_code == 302, verb
        shown = body_of(ada.get(url))
        assert f"This proposal is already {state}." in shown, verb
        assert "ada.owner@acme.example" in shown, verb
        assert "the first reason" in shown, verb
        assert 'name="reason"' not in shown, verb
        answer = ada.post(url, {"revision": 1, "reason": "the second reason"})
        assert answer.status_code == 409, verb
        assert "your reason was not recorded" in body_of(answer), verb
        assert proposing.fresh(made).closing_reason == "the first reason", verb


@pytest.mark.parametrize("end", ["archive", "apply"])
def test_what_is_archived_or_applied_cannot_be_rejected_and_says_since_when(ada: Client, end: str) -> None:
    made = proposing.applied() if end == "apply" else proposing.propose()
    if end == "archive":
        ada.post(f"{page_of(made)}/archive", {"reason": "old"})
    shown = body_of(ada.get(f"{page_of(made)}/reject"))
    assert f"This proposal is already {proposing.fresh(made).state}." in shown
    assert 'name="reason"' not in shown


def test_every_missing_member_is_a_problem_that_leads_to_the_artifact(ada: Client) -> None:
    made = proposing.propose()
    answer = ada.post(f"{page_of(made)}/revise", {**form_of(ada, made), "artifact": '{"templateId": 3}'})
    summary = body_of(answer).partition('id="error-summary"')[2].partition("</div>")[0]
    for words in ("kind is required", "text is required", "version is required", "templateId must be of type string"):
        assert summary.count(f'<a href="#id_artifact">Artifact: {words}</a>') == 1
    assert summary.count("<li>") == 4


def test_without_the_right_revising_and_overriding_say_so_alike_and_once(sign_in: SignIn) -> None:
    made, viewer = proposing.propose(), sign_in(role="viewer")
    proposing.opened(made)
    for verb, scope in (("revise", "proposals:revise"), ("override", "approvals:override")):
        answer = viewer.get(f"{page_of(made)}/{verb}")
        seen_words = re.sub(r"<[^>]*>", "", body_of(answer).partition('class="error-page"')[2])
        assert answer.status_code == 403, verb
        assert seen_words.count(scope) == 1, verb


def test_a_reason_too_short_is_told_in_plain_words(ada: Client) -> None:
    made = proposing.propose()
    proposing.opened(made)
    typed = ids.wire("prop", made.id)
    shown = body_of(ada.post(f"{page_of(made)}/override", seen(made, reason="short", typed=typed)))
    assert "Reason: must have at least 20 characters; it has 5" in shown
    assert "Reason: is required" in body_of(ada.post(f"{page_of(made)}/archive", {"reason": ""}))


def test_archiving_says_what_is_uninstalled_or_why_it_cannot_be(ada: Client) -> None:
    made = proposing.applied(text=proposing.agent_pack(), kind="agent-pack")
    shown = body_of(ada.get(f"{page_of(made)}/archive"))
    assert "does not uninstall on archiving" in shown
    instead = shown.partition("To take it out of use, disable it or roll it back")[2].partition("</p>")[0]
    assert f'href="/artifacts/{made.installed_ref}"' in instead
    refused = ada.post(f"{page_of(made)}/archive", {"reason": "old"})
    assert (refused.status_code, "<title>Conflict: Archive" in body_of(refused)) == (409, True)
    proposing.policy("agent-pack", uninstall_on_archive=True)
    page = body_of(ada.get(f"{page_of(made)}/archive"))
    assert "This uninstalls" in page
    assert "agent:private.acme.clerk@1.0.0" in page
    shown = body_of(ada.post(f"{page_of(made)}/archive", {"reason": "old"}, follow=True))
    assert "was uninstalled with it" in shown
    assert "Roll back" in shown


def test_archiving_a_draft_changes_nothing_that_runs_resolve(ada: Client) -> None:
    made = proposing.propose()
    assert "What runs use does not change" in body_of(ada.get(f"{page_of(made)}/archive"))
    assert ada.post(f"{page_of(made)}/archive", {"reason": ""}).status_code == 422
    assert "decision-bar" not in body_of(ada.post(f"{page_of(made)}/archive", {"reason": "done"}, follow=True))


def test_a_roll_back_opens_the_proposal_that_goes_back(ada: Client) -> None:
    first = proposing.applied(text=proposing.artifact(version="1.0.0"))
    made = proposing.applied(text=proposing.artifact(version="1.1.0"))
    assert "Roll back" in body_of(ada.get(page_of(made)))
    answer = ada.post(f"{page_of(made)}/roll-back", {"ref": first.installed_ref}, follow=True)
    shown = body_of(answer)
    assert "Roll triage.summary back from 1.1.0 to 1.0.0" in shown
    assert "a rollback" in shown
    assert ada.post(f"{page_of(made)}/roll-back", {"ref": made.installed_ref}).status_code == 409
    assert ada.post(f"{page_of(made)}/roll-back", {"ref": "prompt:nothing@1.0.0"}).status_code == 404
    assert Proposal.objects.count() == 3


def test_an_installation_that_failed_says_so_with_the_way_on(ada: Client) -> None:
    made = proposing.propose(text=proposing.artifact(version="1.0.0"))
    opened = proposing.opened(made)
    proposing.applied(text=proposing.artifact(version="1.0.0", text="Faster."))
    proposing.decide(made, opened)
    assert proposing.advance(opened).status == "failed"
    shown = body_of(ada.get(page_of(made)))
    assert "Approved, and not installed" in shown
    assert "Request approval" in shown


# Revising


def form_of(browser: Client, proposal: Proposal) -> dict[str, Any]:
    """What a browser would send of the page as it was printed."""
    form = browser.get(f"{page_of(proposal)}/revise").context["form"]
    return {field.name: str(field.value() or "").replace("\n", "\r\n") for field in form if field.value()}


def test_a_revision_by_form_keeps_the_artifact_byte_for_byte_unless_it_was_changed(ada: Client) -> None:
    made = proposing.propose()
    answer = ada.post(f"{page_of(made)}/revise", {**form_of(ada, made), "title": "Another title"}, follow=True)
    assert "Revision 2 is saved" in body_of(answer)
    one, two = revisions.list_all(made)[::-1]
    assert (two.title, two.text) == ("Another title", one.text)
    form = form_of(ada, made)
    changed = {**form, "artifact": form["artifact"].replace("two sentences", "one sentence"), "note": "shorter"}
    ada.post(f"{page_of(made)}/revise", changed)
    three = revisions.list_all(made)[0]
    assert "one sentence" in three.text
    assert "\r" not in three.text
    assert three.note == "shorter"


def test_a_revision_that_is_not_valid_says_where_and_keeps_what_was_typed(ada: Client) -> None:
    made = proposing.propose()
    form = form_of(ada, made)
    answer = ada.post(f"{page_of(made)}/revise", {**form, "artifact": form["artifact"].replace("string", "lorry")})
    shown = body_of(answer)
    assert answer.status_code == 422
    assert "variables[0].type must be one of" in shown
    assert "lorry" in shown
    assert ada.post(f"{page_of(made)}/revise", {**form, "artifact": "{"}).status_code == 422
    assert "Nothing was changed" in body_of(ada.post(f"{page_of(made)}/revise", form))
    assert proposing.fresh(made).revision == 1


def test_a_revision_of_what_moved_on_keeps_what_was_typed_and_can_be_sent_again(ada: Client) -> None:
    made = proposing.propose()
    typed = {**form_of(ada, made), "title": "What Ada typed"}
    revise(made, text="Somebody was faster.")
    answer = ada.post(f"{page_of(made)}/revise", typed)
    shown = body_of(answer)
    assert answer.status_code == 409
    assert "Revision 2 arrived while you read revision 1" in shown
    assert "<title>Conflict: Revise" in shown
    assert "What Ada typed" in shown
    assert 'name="revision" value="2"' in shown
    assert ada.post(f"{page_of(made)}/revise", {**typed, "revision": 2}).status_code == 302
    assert proposing.fresh(made).title == "What Ada typed"


def test_revising_under_a_gate_needs_the_tick_and_voids_it(ada: Client) -> None:
    made = proposing.propose()
    opened = proposing.opened(made)
    assert "revising voids it" in body_of(ada.get(f"{page_of(made)}/revise"))
    typed = {**form_of(ada, made), "title": "Another title"}
    assert ada.post(f"{page_of(made)}/revise", typed).status_code == 409
    assert Gate.objects.get(id=opened.id).state == "open"
    assert ada.post(f"{page_of(made)}/revise", {**typed, "voids_gate": "on"}).status_code == 302
    assert Gate.objects.get(id=opened.id).state == "void"


def test_the_form_to_revise_says_how_many_votes_it_voids(ada: Client) -> None:
    proposing.policy(quorum=2)
    made = proposing.propose()
    opened = proposing.opened(made)
    assert "Approval of revision 1 is under way." in body_of(ada.get(f"{page_of(made)}/revise"))
    proposing.decide(made, opened)
    assert "Approval of revision 1 is under way, with 1 vote." in body_of(ada.get(f"{page_of(made)}/revise"))


def test_a_rollback_offers_no_artifact_to_revise(ada: Client) -> None:
    proposing.applied(text=proposing.artifact(version="1.0.0"))
    proposing.applied(text=proposing.artifact(version="1.1.0"))
    made = lifecycle.propose(building.scope(), "prompt:triage.summary@1.0.0", now=timezone.now())
    page = body_of(ada.get(f"{page_of(made)}/revise"))
    assert 'name="artifact"' not in page
    assert "nothing of it to revise" in page


@pytest.mark.parametrize(
    "text",
    [
        '{"b":1.0,"a":[1e5,-0,{}],"c":[],"d":"x, {y}: \\" [z]","e":null}',
        "{}",
        '{"a":"\\u00e9\\n"}',
        '{"n":12345678901}',
    ],
)
def test_laying_out_changes_white_space_alone(text: str) -> None:
    laid = diffs.laid_out(text)
    assert json.loads(laid) == json.loads(text)
    assert diffs.TOKEN.findall(laid) == diffs.TOKEN.findall(text)
    assert diffs.laid_out(laid) == laid


# Overriding


def test_an_override_asks_for_a_reason_and_the_id_and_marks_the_proposal_for_good(ada: Client) -> None:
    made = proposing.propose()
    opened = proposing.opened(made)
    url, prop_id = f"{page_of(made)}/override", ids.wire("prop", made.id)
    short = ada.post(url, seen(made, reason="because", typed=prop_id))
    assert short.status_code == 422
    assert ada.post(url, seen(made, reason=WHY, typed="prop_x")).status_code == 422
    assert not Vote.objects.exists()
    shown = body_of(ada.post(url, seen(made, reason=WHY, typed=prop_id), follow=True))
    assert "The proposal stays marked as overridden" in shown
    assert any(record.action == lifecycle.OVERRIDE for record in audit.newest(made.tenant_id))
    proposing.advance(opened)
    for tab in TABS:
        shown = body_of(ada.get(f"{page_of(made)}{tab}"))
        assert WHY in shown
        assert "The approval was overridden." in shown


def test_without_the_permission_the_override_page_says_which(sign_in: SignIn) -> None:
    made = proposing.propose()
    proposing.opened(made)
    answer = sign_in(role="operator").get(f"{page_of(made)}/override")
    assert answer.status_code == 403
    assert "approvals:override" in body_of(answer)


def test_an_override_of_what_moved_on_is_a_conflict(ada: Client) -> None:
    made = proposing.propose()
    assert "There is nothing to override" in body_of(ada.get(f"{page_of(made)}/override"))
    proposing.opened(made)
    read = seen(made, reason=WHY, typed=ids.wire("prop", made.id))
    proposing.opened(revise(made))
    answer = ada.post(f"{page_of(made)}/override", read)
    assert answer.status_code == 409
    assert "Nothing was overridden" in body_of(answer)
    assert not Vote.objects.exists()


# Discussing


def test_a_comment_stands_at_its_revision_and_its_line_as_text_and_without_secrets(ada: Client) -> None:
    made = proposing.propose()
    for text in ("  ", "long " * 900):
        answer = ada.post(f"{page_of(made)}/comment", {"text": text})
        assert answer.status_code == 422
    assert "long long" in body_of(answer), "it is kept in the form"
    for spot in (Spot(1, 0), Spot(1, 9_999), Spot(2, 1)):
        with pytest.raises(Invalid):
            comments.add(building.scope(), made.id, "Which date?", spot=spot, now=timezone.now())
    assert not Comment.objects.exists()

    link = re.search(r'href="([^"]+line=4)#remark"', body_of(ada.get(page_of(made))))
    assert link
    asked = body_of(ada.get(unescape(link[1])))
    assert 'name="line" value="4"' in asked
    form = {"revision": "1", "line": "4", "text": f"Which date? {HOSTILE}"}
    answer = ada.post(f"{page_of(made)}/comment", form)
    assert answer["Location"] == f"{page_of(made)}?to=1#line-4"
    shown = body_of(ada.get(page_of(made)))
    at_line = shown.partition('id="line-4"')[2].partition("</tr>")[0]
    assert "Which date?" in at_line
    assert "<script>" not in at_line
    assert "Commented on line 4" in shown
    discussion = body_of(ada.get(f"{page_of(made)}/discussion"))
    assert f'href="{page_of(made)}?to=1#line-4">line 4</a>' in discussion
    record = AuditRecord.objects.of(made.tenant_id).get(action="proposal.comment")
    assert (record.details["line"], "Which" in json.dumps(record.details)) == (4, False)
    assert proposing.fresh(made).state == "draft"

    revise(made, text="Other {{ticket}}.")
    assert "Which date?" not in body_of(ada.get(page_of(made)))
    assert "Which date?" in body_of(ada.get(f"{page_of(made)}?to=1"))
    shown = body_of(ada.post(f"{page_of(made)}/comment", {"text": HOSTILE}, follow=True))
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in shown
    assert "\u202e" not in shown
    assert "at revision 2" in shown
    revise(made, text="Later.")
    assert "which is not the current one" in body_of(ada.get(f"{page_of(made)}/discussion"))


def test_a_comment_on_a_line_by_a_key_is_no_person_s_and_a_forget_takes_both(ada: Client) -> None:
    made = proposing.propose()
    comments.add(building.scope(), made.id, "Which date?", spot=Spot(1, 4), now=timezone.now())
    person = tenancy.tenant_scope(tenancy.operator_principal(building.operator(email="mia@acme.example")))
    comments.add(person, made.id, "This one.", spot=Spot(1, 4), now=timezone.now())
    authors = set(Comment.objects.of(made.tenant_id).values_list("author", flat=True))
    assert {each for each in authors if each.startswith("usr_")} == {person.principal.id}
    comments.blank(made)
    shown = body_of(ada.get(page_of(made))).partition('id="line-4"')[2].partition("</tr>")[0]
    assert "This one." not in shown


def test_who_may_not_comment_is_told_which_permission_is_missing(sign_in: SignIn) -> None:
    made = proposing.propose()
    viewer = sign_in(role="viewer")
    assert "proposals:comment" in body_of(viewer.get(f"{page_of(made)}/discussion"))
    assert 'name="line"' not in body_of(viewer.get(f"{page_of(made)}?from=nothing&to=1&line=1"))
    assert viewer.post(f"{page_of(made)}/comment", {"text": "x"}).status_code == 403


# What holds for all of it


def test_no_content_of_a_proposal_is_markup_on_any_tab(ada: Client) -> None:
    made = proposing.propose(text=proposing.artifact(text=HOSTILE), title=HOSTILE[:60], rationale=HOSTILE)
    comments.add(building.scope(), made.id, HOSTILE, now=timezone.now())
    for tab in (*TABS, "/revise", "/reject", "/archive"):
        shown = body_of(ada.get(f"{page_of(made)}{tab}"))
        assert "<script>alert" not in shown, tab
        assert "<b hx-get" not in shown, tab
        assert "\u202e" not in shown or tab == "/revise", tab


def test_a_longer_history_needs_no_more_queries(ada: Client) -> None:
    made = proposing.propose()
    proposing.policy(quorum=3)
    proposing.decide(made, proposing.opened(made))
    comments.add(building.scope(), made.id, "one", now=timezone.now())
    few = {tab: queries_of(ada, f"{page_of(made)}{tab}") for tab in TABS}
    for number in range(4):
        revise(made, text=f"Revision {number}.")
        opened = proposing.opened(made)
        for _ in range(2):
            proposing.decide(made, opened)
        comments.add(building.scope(), made.id, f"more {number}", now=timezone.now())
        person("reviewer", f"reviewer{number}")
    for tab in TABS:
        assert queries_of(ada, f"{page_of(made)}{tab}") <= few[tab], tab


def queries_of(browser: Client, url: str) -> int:
    browser.get(url)
    with CaptureQueriesContext(connection) as asked:
        assert browser.get(url).status_code == 200
    return len(asked)


def test_nothing_of_it_is_there_for_another_tenant_and_it_changes_nothing(sign_in: SignIn) -> None:
    gil, made = sign_in("globex"), proposing.propose()
    applied = proposing.applied(text=proposing.artifact(templateId="another.name"))
    proposing.opened(made)
    votes = Vote.objects.count()
    for tab in (*TABS, "/artifact/download", "/revise", "/override", "/reject", "/archive"):
        assert gil.get(f"{page_of(made)}{tab}").status_code == 404, tab
    for act in ("decide", "ask", "withdraw", "revise", "override", "reject", "archive", "comment"):
        about = applied if act == "archive" else made
        form = seen(about, decision="granted", reason=WHY, text="x", title="t", typed=ids.wire("prop", about.id))
        assert gil.post(f"{page_of(about)}/{act}", form).status_code == 404, act
    assert not Comment.objects.exists()
    assert Vote.objects.count() == votes
    assert [proposing.fresh(each).state for each in (made, applied)] == ["draft", "applied"]


def test_a_host_without_gates_applies_on_a_word_and_says_so(ada: Client, settings: LazySettings) -> None:
    settings.OPENWOP_PROPOSALS_ACTIVATION = "direct-rbac"
    made = proposing.propose()
    shown = body_of(ada.get(page_of(made)))
    assert "Apply</button>" in shown
    assert "Approve</button>" not in shown
    assert "installs directly, without approval" in shown
    assert "prompt:triage.summary@1.1.0" in body_of(ada.post(f"{page_of(made)}/ask", seen(made), follow=True))


def test_an_overridden_gate_that_still_waits_says_how_much_is_missing(ada: Client) -> None:
    proposing.policy(quorum=2)
    made = proposing.propose()
    overridden(made)
    assert "which is still open with 1 of 2" in body_of(ada.get(page_of(made)))


def test_the_reason_of_a_proposal_stands_above_its_change(ada: Client) -> None:
    shown = body_of(ada.get(page_of(proposing.propose(rationale="Customers ask twice for the same date."))))
    assert 0 < shown.index("Customers ask twice for the same date.") < shown.index("diff-region")


def test_an_installed_proposal_says_who_approved_it_how_soon_it_was_installed_and_who_uses_it(ada: Client) -> None:
    building.install(
        "acme",
        building.definition(
            "says",
            building.node("say", "vendor.console.compose", {"template": "triage.summary"})
            | {"inputs": {"ticket": building.from_input("ticket")}},
        ),
    )
    made = proposing.applied()
    run = building.execute(building.scope(), "says", ticket="late")
    shown = body_of(ada.get(page_of(made)))
    facts = shown.partition('id="installed"')[2].partition("</dl>")[0]
    assert re.search(r"<dt>Approved</dt><dd>by .*\(installed [0-9]+ (ms|s) later\)", facts, re.DOTALL)
    assert f'href="/runs/{ids.wire("run", run.id)}"' in facts


def test_an_installation_is_said_to_be_by_the_one_whose_approval_installed_it(ada: Client) -> None:
    operators = {name: building.operator(email=f"{name}@acme.example") for name in ("rosa", "vera")}
    rosa, vera = (building.scope(owner=operators[name]) for name in ("rosa", "vera"))
    made = proposing.propose()
    gate = proposing.ask(made, by=rosa).gate
    assert gate
    proposing.decide(made, gate, by=vera)
    proposing.advance(gate)
    timeline = body_of(ada.get(page_of(made))).partition('class="timeline"')[2].partition("</ol>")[0]
    told = re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", timeline))
    assert "Approval requested by rosa@acme.example" in told
    assert "Installed by vera@acme.example" in told
    version = body_of(ada.get(f"/artifacts/{proposing.fresh(made).installed_ref}"))
    installed = version.partition("<dt>Installed</dt>")[2].partition("</dd>")[0]
    assert "vera@acme.example" in installed


def test_the_chains_of_a_pack_are_drawn_and_listed_with_what_is_new_marked(ada: Client) -> None:
    nodes = [*proposing.CHAIN["dag"]["nodes"], {"id": "third", "typeId": "core.noop", "config": {}}]
    edges = [*proposing.CHAIN["dag"]["edges"], {"from": "keep", "to": "third"}]
    proposing.applied(text=proposing.chain_pack(), kind="workflow-chain-pack")
    longer = proposing.chain_pack({"dag": {"nodes": nodes, "edges": edges}, "version": "1.1.0"}, version="1.1.0")
    shown = body_of(ada.get(page_of(proposing.propose(text=longer, kind="workflow-chain-pack"))))
    graph = shown.partition('class="chain-graph"')[2].partition("</section>")[0]
    assert graph.count('class="arrow"') == 2
    assert graph.count('class="step') == 3
    assert graph.count('class="step new"') == 1
    assert "<code>keep</code> → <code>third</code>" in graph


def test_a_prompt_is_filled_in_by_a_source_run_before_and_after(ada: Client, sign_in: SignIn) -> None:
    proposing.applied(text=proposing.artifact(version="1.0.0", text="Summarise {{ticket}} in two sentences."))
    node = building.node("say", "vendor.console.compose", {"template": "triage.summary"})
    building.install("acme", building.definition("says", node | {"inputs": {"ticket": building.from_input("ticket")}}))
    run = building.execute(building.scope(), "says", ticket="parcel 7 is late")
    text = proposing.artifact(version="1.1.0", text="Summarise {{ticket}} in one sentence.")
    made = proposing.propose(text=text, source_run_ids=(ids.wire("run", run.id),))
    shown = body_of(ada.get(page_of(made))).partition('id="rendered-head"')[2]
    told = re.findall(r"<(?:del|ins)>(.*?)</(?:del|ins)>", shown, re.DOTALL)
    lines = [re.sub(r"<[^>]+>", "", each).strip() for each in told]
    assert lines == ["Summarise parcel 7 is late in two sentences.", "Summarise parcel 7 is late in one sentence."]
    bare = proposing.propose(text=proposing.artifact(version="1.2.0"))
    assert 'id="rendered-head"' not in body_of(ada.get(page_of(bare)))


def test_a_prompt_that_a_source_run_would_make_too_long_is_not_filled_in(ada: Client) -> None:
    proposing.applied(text=proposing.artifact(version="1.0.0", text="Summarise {{ticket}} in two sentences."))
    node = building.node("say", "vendor.console.compose", {"template": "triage.summary"})
    building.install("acme", building.definition("says", node | {"inputs": {"ticket": building.from_input("ticket")}}))
    run = building.execute(building.scope(), "says", ticket="parcel 7 is late " * 3_000)
    text = proposing.artifact(version="1.1.0", text="{{ticket}}" * 6_000)
    made = proposing.propose(text=text, source_run_ids=(ids.wire("run", run.id),))
    with cpu_within(3):
        assert 'id="rendered-head"' not in body_of(ada.get(page_of(made)))


# What production gains and loses


BOTH = {"toolAllowlist": ["openwop:memory.read", "openwop:memory.write"]}


def alone() -> None:
    """The clerk is installed by itself, and may write."""
    building.install_agent("acme", {"agentId": "private.acme.clerk", **BOTH})


def test_a_pack_says_which_tools_its_agents_lose_that_are_installed_by_themselves(ada: Client) -> None:
    alone()
    made = proposing.propose(text=proposing.agent_pack(), kind="agent-pack")
    shown = body_of(ada.get(page_of(made)))
    short = shown[shown.index('id="summary"') : shown.index("diff-region")]
    assert "Compared with installed agent:private.acme.clerk@1.0.0" in short
    lost = short.partition('class="summary-loss"')[2]
    assert "Tools of private.acme.clerk: openwop:memory.write" in lost
    assert "Replaces agent:private.acme.clerk@1.0.0, which was installed on its own (not in a pack)" in short
    assert 'value="installed" selected' in shown


def test_a_pack_that_takes_the_place_of_other_agents_warns_of_each_by_name(ada: Client) -> None:
    alone()
    warned = body_of(ada.get(page_of(proposing.propose(text=proposing.agent_pack(), kind="agent-pack"))))
    warning = warned.partition('class="notice bad" role="alert"')[2].partition("</div></div>")[0]
    assert "agent:private.acme.clerk@1.0.0" in warning
    assert "installed on its own" in warning
    other = {"agentId": "private.acme.porter"}
    calm = proposing.propose(text=proposing.agent_pack(other, name="private.acme.porters"), kind="agent-pack")
    assert 'role="alert"' not in body_of(ada.get(page_of(calm)))


def test_a_pack_that_replaced_an_agent_says_so_and_that_no_proposal_goes_back(ada: Client) -> None:
    building.install_agent("acme", {"agentId": "private.acme.clerk", **BOTH, "packVersion": "0.9.0"})
    made = proposing.applied(text=proposing.agent_pack(), kind="agent-pack")
    shown = body_of(ada.get(page_of(made)))
    assert "First version of its name" not in shown
    assert "agent:private.acme.clerk@0.9.0" in shown.partition("Undo")[2].partition("</section>")[0]
    assert "manage.py install_agent" in shown
    assert "Replaced agent:private.acme.clerk@0.9.0, which was installed on its own (not in a pack)" in shown


def test_after_a_revision_what_production_loses_is_told_before_what_the_revision_changed(ada: Client) -> None:
    proposing.applied(text=proposing.artifact(version="1.0.0"))
    made = revise(proposing.propose(text=proposing.artifact(variables=[])), variables=[], text="Other {{ticket}}.")
    for _ in range(2):
        whole = body_of(ada.get(page_of(made)))
        assert 'value="installed" selected' in whole
        assert "Compared with revision 1" not in whole
        shown = body_of(ada.get(f"{page_of(made)}?from=1"))
        assert 'value="1" selected' in shown
        short = shown[shown.index('id="summary"') : shown.index("diff-region")]
        installed, _, revised = short.partition("Compared with revision 1")
        assert "Compared with installed prompt:triage.summary@1.0.0" in installed
        assert "Variables: ticket" in installed.partition("summary-loss")[2]
        assert "Variables: ticket" not in revised
        assert "Text:" in revised
        proposing.opened(made)
        lifecycle.withdraw(building.scope(), made.id, now=timezone.now())


def test_without_an_installed_version_production_gains_everything(ada: Client) -> None:
    made = revise(proposing.propose(), text="Other {{ticket}}.")
    short = body_of(ada.get(page_of(made))).partition('id="summary"')[2]
    assert "New: nothing installed yet" in short
    assert "Variables: ticket" in short.partition("Compared with revision 1")[0]


def test_the_runs_of_an_automation_are_foretold_for_what_is_or_may_become_installed(ada: Client) -> None:
    made = proposing.propose(text=proposing.automation(), kind="automation")
    shown = body_of(ada.get(page_of(made)))
    assert "Its next 5 runs, once it is installed" in shown
    elsewhere = proposing.propose(text=proposing.automation(timezone="Asia/Tokyo"), kind="automation")
    assert [" JST)</span>" in each for each in (shown, body_of(ada.get(page_of(elsewhere))))] == [False, True]
    ada.post(f"{page_of(made)}/archive", {"reason": "old"})
    assert "Its next" not in body_of(ada.get(page_of(made)))
    done = proposing.applied(text=proposing.automation(), kind="automation")
    shown = body_of(ada.get(page_of(done)))
    assert "Its next 5 runs" in shown
    assert "once it is installed" not in shown


# What a poll brings along, and what is said of gates without votes


def test_a_poll_brings_the_state_above_the_tabs_along(ada: Client) -> None:
    made = proposing.propose()
    opened = proposing.opened(made)
    proposing.decide(made, opened)
    proposing.advance(opened)
    fragment = body_of(ada.get(page_of(made), **HTMX))
    lede = fragment.partition('id="review-lede" hx-swap-oob="morph"')[2]
    assert "applied" in lede.partition("</div>")[0]
    assert 'id="review-steps" hx-swap-oob="morph"' in fragment
    whole = body_of(ada.get(page_of(made)))
    assert whole.count('id="review-lede"') == whole.count('id="review-steps"') == 1
    assert "hx-swap-oob" not in whole


def test_a_withdrawn_gate_says_who_withdrew_it_and_leaves_the_proposal_as_it_was(ada: Client, sign_in: SignIn) -> None:
    made, cleo = proposing.propose(), Client()
    cleo.force_login(building.operator(role="operator", email="cleo@acme.example"))
    run_page = body_of(ada.get(f"/runs/{ids.wire('run', proposing.opened(made).run_id)}"))
    assert f'<dt>Proposal</dt><dd><a href="{page_of(made)}"' in run_page
    answer = cleo.post(f"{page_of(made)}/withdraw", seen(made), follow=True)
    assert "The approval request is cancelled" in body_of(answer)
    assert (Gate.objects.get().state, proposing.fresh(made).state) == ("cancelled", "draft")
    assert cleo.post(f"{page_of(made)}/withdraw", seen(made)).status_code == 409
    for browser in (ada, sign_in(role="reviewer")):
        shown = body_of(browser.get(page_of(made)))
        empty = shown.partition("No vote came on revision 1 before")[2].partition("</p>")[0]
        assert "cleo@acme.example" in empty
        assert "cancelled it." in empty
        assert "cleo@acme.example" in shown.partition("Approval request cancelled by")[2].partition("</li>")[0]
        assert ">cancelled</span>" in shown
    assert "cleo@acme.example" in body_of(ada.get(f"{page_of(made)}/history")).partition(">cancelled</span>")[2]


def test_a_gate_that_ended_without_a_vote_says_how(ada: Client) -> None:
    made = proposing.propose()
    proposing.opened(made)
    revise(made, text="Other.")
    assert "No vote came on revision 1 before it became void." in body_of(ada.get(page_of(made)))
    opened = proposing.opened(made)
    past = opened.opened_at - timedelta(hours=1)
    Gate.objects.written_by(gate.WRITER).filter(id=opened.id).update(expires_at=past)
    shown = body_of(ada.get(page_of(made)))
    assert "No vote came before the request expired." in shown
    assert "No votes yet." not in shown


def test_an_override_stands_in_the_list_of_what_happened_as_such(ada: Client) -> None:
    made = proposing.propose()
    overridden(made)
    assert "Approval overridden by" in body_of(ada.get(page_of(made)))


def test_a_reason_without_a_field_left_for_it_stands_beside_the_conflict(ada: Client) -> None:
    made = proposing.propose()
    proposing.opened(made)
    read = seen(made, decision="changes-requested", reason="I read it twice")
    revise(made, text="Somebody was faster.")
    answer = ada.post(f"{page_of(made)}/decide", read)
    shown = body_of(answer)
    assert answer.status_code == 409
    assert "1 line added, 1 removed" in shown or "(1 line added" in shown
    assert "I read it twice" in shown


# Evidence and the artifact


def test_what_is_cited_twice_is_listed_once_with_its_whys(ada: Client) -> None:
    run_id = ids.wire("run", building.remember("acme", "x").run.id)
    other = building.remember("acme", "y").entries[0]
    evidence = tuple(
        {"kind": kind, "id": cited, "why": why}
        for kind, cited in (("run", run_id), ("memory", other))
        for why in ("corrected", "read-again")
    )
    made = proposing.propose(source_run_ids=(run_id,), evidence=evidence, pattern="a" * 64)
    shown = body_of(ada.get(f"{page_of(made)}/evidence"))
    assert shown.count(f'href="/runs/{run_id}"') == 1
    assert shown.count(f'href="/memory/{other}"') == 1
    assert shown.count("corrected, read-again") == 2


def test_a_duplicate_says_whether_it_has_the_same_bytes_or_only_does_the_same(ada: Client) -> None:
    proposing.applied(text=proposing.artifact(templateId="one.name"))
    twin = proposing.propose(text=proposing.artifact(templateId="one.name"))
    alike = proposing.propose(text=proposing.artifact(templateId="other.name"))
    assert "It has the same bytes." in body_of(ada.get(f"{page_of(twin)}/evidence"))
    assert "under another name" in body_of(ada.get(f"{page_of(alike)}/evidence"))


def test_an_automation_whose_time_has_passed_could_not_be_installed_now(ada: Client) -> None:
    soon = timezone.now().replace(microsecond=0) + timedelta(minutes=1)
    made = proposing.propose(text=proposing.automation(fireAt=soon.isoformat()), kind="automation")
    assert "installable now" in body_of(ada.get(f"{page_of(made)}/artifact"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("proposals.views.review.timezone.now", lambda: soon + timedelta(seconds=1))
        shown = body_of(ada.get(f"{page_of(made)}/artifact"))
    assert "could not be installed now" in shown


def test_the_help_of_a_review_names_j_and_k_once(ada: Client) -> None:
    shown = body_of(ada.get(page_of(proposing.propose())))
    assert shown.count("<kbd>j</kbd>") == 1


def test_an_override_at_a_gate_of_one_grants_the_one_that_is_needed(ada: Client) -> None:
    made = proposing.propose()
    proposing.opened(made)
    assert "the one approval that is needed" in body_of(ada.get(f"{page_of(made)}/override"))
