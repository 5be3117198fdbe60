"""Proposals in the browser: the inbox, the review, and a decision about exactly what was read."""

import json
import re
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from memory.host import ids, runs, tenancy
from proposals import lifecycle, revisions
from proposals.drafts import Change
from proposals.models import Gate, Proposal
from tests import building, proposing
from tests.pages.conftest import HTMX, SignIn, body_of, standing
from tests.proposing import page_of

pytestmark = pytest.mark.django_db


def revise(proposal: Proposal, **changes: Any) -> Proposal:
    change = Change(artifact=proposing.artifact(**changes), note="clearer")
    return lifecycle.revise(building.scope(role="author"), proposal.id, change, now=timezone.now())


def vote(browser: Client, proposal: Proposal, **more: Any) -> Any:
    fresh = proposing.fresh(proposal)
    sha256 = revisions.current_with_tenant(fresh).sha256
    form = {"revision": fresh.revision, "sha256": sha256, "decision": "granted", **more}
    return browser.post(f"{page_of(proposal)}/decide", form)


def test_the_inbox_has_true_counts_and_four_kinds_of_nothing(ada: Client) -> None:
    assert "No proposals yet" in body_of(ada.get("/proposals"))
    assert "Nothing waits for your vote" in body_of(ada.get("/proposals?show=needs-me"))
    assert "You have proposed nothing" in body_of(ada.get("/proposals?show=mine"))
    proposing.propose()
    assert "Nothing matches" in body_of(ada.get("/proposals?state=applied"))
    assert standing(1, 1, 1, "proposals") in body_of(ada.get("/proposals?state=draft&kind=prompt-template"))


def test_what_awaits_my_vote_is_on_the_first_page_and_in_my_inbox(ada: Client) -> None:
    made = proposing.propose(title="Shorter summaries")
    proposing.opened(made)
    for url in ("/", "/proposals?show=needs-me"):
        shown = body_of(ada.get(url))
        assert "Shorter summaries" in shown
        assert page_of(made) in shown


def test_a_longer_inbox_needs_no_more_queries(ada: Client) -> None:
    proposing.propose()
    with CaptureQueriesContext(connection) as few:
        ada.get("/proposals")
    for number in range(5):
        proposing.propose(text=proposing.artifact(templateId=f"t{number}"))
    with CaptureQueriesContext(connection) as many:
        ada.get("/proposals")
    assert len(many) <= len(few)


def test_the_review_shows_the_difference_from_the_revision_before(ada: Client) -> None:
    made = revise(proposing.propose(), text="Summarise {{ticket}} in one sentence.")
    shown = body_of(ada.get(page_of(made)))
    assert "revision 1" in shown
    assert "<del>" in shown
    assert "<ins>" in shown
    assert set(re.findall(r"<mark>(.*?)</mark>", shown)) == {"two", "sentences", "one", "sentence"}
    assert "clearer" in shown
    sides = body_of(ada.get(f"{page_of(made)}?from=nothing&to=1&mode=side"))
    assert "diff-side" in sides
    assert "<del>" not in sides
    assert "These two are the same" in body_of(ada.get(f"{page_of(made)}?from=2&to=2"))


def test_a_new_version_is_compared_with_what_is_installed(ada: Client) -> None:
    proposing.applied()
    made = proposing.propose(text=proposing.artifact(version="1.2.0"))
    assert "installed prompt:triage.summary@1.1.0" in body_of(ada.get(page_of(made)))


def test_every_tab_is_an_address_of_its_own(ada: Client) -> None:
    run_id, other = (ids.wire("run", building.remember("acme", text).run.id) for text in ("x", "y"))
    made = proposing.propose(source_run_ids=(run_id, other), rationale="<b>because</b>")
    assert "The exact bytes" in body_of(ada.get(f"{page_of(made)}/artifact"))
    evidence = body_of(ada.get(f"{page_of(made)}/evidence"))
    assert run_id in evidence
    assert "&lt;b&gt;because&lt;/b&gt;" in evidence
    assert "Approval has not been requested yet" in body_of(ada.get(f"{page_of(made)}/history"))
    document = json.loads(ada.get(f"{page_of(made)}?format=json").content)
    assert (document["sourceRunIds"], document["revisions"][0]["number"]) == ([run_id, other], 1)


def test_from_asking_to_the_installed_digest(ada: Client, sign_in: SignIn) -> None:
    made = proposing.propose()
    answer = ada.post(f"{page_of(made)}/ask", {"revision": 1}, follow=True)
    assert "Approval requested. A vote decides." in body_of(answer)
    assert vote(sign_in(role="reviewer"), made, reason="fine").status_code == 302
    shown = body_of(ada.get(page_of(made)))
    assert "A worker is installing revision 1" in shown
    assert "decision-bar" not in shown, "nothing is left to decide"
    assert 'hx-trigger="every 1s"' in shown
    assert ada.get(page_of(made), **HTMX).status_code == 200
    gate = proposing.ask(made).gate
    assert gate
    building.advance(runs.find(gate.tenant_id, gate.run_id))
    over = ada.get(page_of(made), **HTMX)
    assert over.status_code == 286
    shown = body_of(over)
    assert "prompt:triage.summary@1.1.0" in shown
    assert "Digests match" in shown
    assert "No run has resolved it yet" in body_of(ada.get(f"{page_of(made)}/effect"))
    assert "decision-bar" not in shown


def test_the_proof_names_the_runs_that_used_it_and_those_that_did_not(ada: Client) -> None:
    compose = building.node(
        "compose",
        "vendor.console.compose",
        {"template": "triage.summary"},
        inputs={"ticket": {"type": "static", "value": "late"}},
    )
    proposing.applied(text=proposing.artifact(version="1.0.0"))
    building.install("acme", building.definition("triage", compose))
    before = building.execute(building.scope(), "triage")
    made = proposing.applied()
    after = building.execute(building.scope(), "triage")
    shown = body_of(ada.get(f"{page_of(made)}/effect"))
    used, _, others = shown.partition("Runs that used another version")
    assert ids.wire("run", after.id) in used
    assert ids.wire("run", before.id) in others
    installing = Gate.objects.get(proposal_id=made.id).run_id
    assert f'href="{page_of(made)}"' in body_of(ada.get(f"/runs/{ids.wire('run', installing)}"))
    assert "hx-disable>prompt:triage.summary@1.0.0</code></td>" in others
    assert "hx-disable>prompt:triage.summary@1.1.0</code></td>" not in used, "all of them resolved it"
    assert "prompt:triage.summary@1.1.0" in body_of(ada.get(f"/runs/{ids.wire('run', after.id)}"))
    assert "prompt:triage.summary@1.0.0" in body_of(ada.get(f"/runs/{ids.wire('run', before.id)}"))


def test_a_decision_about_another_revision_is_a_conflict_that_says_what_changed(ada: Client) -> None:
    made = proposing.propose()
    before = revisions.current_with_tenant(made).sha256
    proposing.opened(revise(made, text="Summarise {{ticket}} at once."))
    answer = ada.post(f"{page_of(made)}/decide", {"revision": 1, "sha256": before, "decision": "granted"})
    shown = body_of(answer)
    assert answer.status_code == 409
    assert "Revision 2 arrived" in shown
    assert "No vote and no change was recorded" in shown
    assert "No votes yet." in shown


def test_a_tampered_form_records_nothing(ada: Client) -> None:
    made = proposing.propose()
    proposing.opened(made)
    assert vote(ada, made, sha256="x").status_code == 422
    assert vote(ada, made, revision="").status_code == 422
    assert vote(ada, made, decision="maybe").status_code == 422
    assert "No votes yet." in body_of(ada.get(page_of(made)))


def test_a_vote_against_it_leaves_the_proposal_under_review(ada: Client) -> None:
    made = proposing.propose()
    proposing.opened(made)
    vote(ada, made, decision="rejected", reason="too long")
    shown = body_of(ada.get(page_of(made)))
    assert "too long" in shown
    assert "Approval refused" in shown
    assert "Request approval" in shown


def test_rejecting_needs_a_reason_and_ends_the_review(ada: Client) -> None:
    made = proposing.propose()
    assert "Reject" in body_of(ada.get(f"{page_of(made)}/reject"))
    assert ada.post(f"{page_of(made)}/reject", {"reason": ""}).status_code == 422
    answer = ada.post(f"{page_of(made)}/reject", {"reason": "not needed", "revision": 1}, follow=True)
    assert "not needed" in body_of(answer)
    assert "decision-bar" not in body_of(answer)
    applied = proposing.applied()
    assert ada.post(f"{page_of(applied)}/reject", {"reason": "late", "revision": 1}).status_code == 409


def test_a_button_that_does_not_work_says_why(sign_in: SignIn) -> None:
    made = proposing.propose()
    shown = body_of(sign_in(role="viewer").get(page_of(made)))
    assert "approvals:respond" in shown
    assert "proposals:request-activation" in shown


def test_who_wrote_a_proposal_sees_that_somebody_else_votes_on_it(client: Client) -> None:
    operator = building.operator(role="operator")
    client.force_login(operator)
    author = tenancy.tenant_scope(tenancy.operator_principal(operator))
    made = proposing.propose(author)
    proposing.opened(made)
    assert "you authored revision 1" in body_of(client.get(page_of(made)))
    assert vote(client, made).status_code == 403
    lifecycle.withdraw(author, made.id, now=timezone.now())
    lifecycle.revise(author, made.id, Change(title="Another"), now=timezone.now())
    proposing.opened(made)
    assert "you authored revisions 1 and 2" in body_of(client.get(page_of(made)))


def test_no_value_makes_the_review_fail(ada: Client) -> None:
    made = proposing.propose()
    for query in ["from=9", "from=x", "to=99999999999999999999", "to=-1", "mode=x", "from=%00"]:
        assert ada.get(f"{page_of(made)}?{query}").status_code == 200, query
        answer = ada.get(f"/proposals?{query}")
        assert (answer.status_code, query.partition("=")[0] in body_of(answer)) == (400, True), query


def test_a_vote_without_a_gate_and_one_about_other_bytes_are_conflicts(ada: Client) -> None:
    made = proposing.propose()
    answer = vote(ada, made)
    assert answer.status_code == 409
    assert "No approval is requested now" in body_of(answer)
    proposing.opened(made)
    answer = vote(ada, made, sha256="0" * 64)
    assert answer.status_code == 409
    assert "not for the bytes you decided on" in body_of(answer)


def test_the_inbox_as_a_file_and_to_its_end(ada: Client) -> None:
    for number in range(51):
        proposing.propose(title=f"=formula {number}", text=proposing.artifact(templateId=f"t{number}"))
    found = json.loads(body_of(ada.get("/proposals?format=json")))
    assert found["total"] == 51
    assert body_of(ada.get("/proposals?format=csv&kind=prompt-template")).count(",'=formula") == 51
    shown = body_of(ada.get("/proposals"))
    older = shown.split(">Older")[0].rpartition('href="')[2].partition('"')[0].replace("&amp;", "&")
    assert standing(51, 51, 51, "proposals") in body_of(ada.get(older))
