"""What pages read: the inbox with true counts, one proposal with everything about it, and never more queries."""

from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries

from memory.host import access, ids, proposal_links, runs, tenancy
from memory.host.errors import Forbidden, NotFound
from memory.host.tenancy import TenantScope
from proposals import inbox, lifecycle, review
from proposals.drafts import Change
from proposals.inbox import MINE, NEEDS_ME, InboxFilter
from tests import building, proposing
from tests.proposing import opened

pytestmark = pytest.mark.django_db


def several(count: int) -> list[Any]:
    author = building.scope(role="author")
    return [
        proposing.propose(author=author, text=proposing.artifact(templateId=f"t{number}")) for number in range(count)
    ]


def shown(scope: TenantScope, **wanted: Any) -> list[Any]:
    return [row.proposal.id for row in inbox.page(scope, InboxFilter(**wanted), now=timezone.now()).rows]


def test_the_inbox_pages_to_the_end_with_a_true_total() -> None:
    made = several(5)
    ada = building.scope()
    now = timezone.now()
    first = inbox.page(ada, InboxFilter(), size=2, now=now)
    second = inbox.page(ada, InboxFilter(), size=2, after=first.after, seen=2, now=now)
    third = inbox.page(ada, InboxFilter(), size=2, after=second.after, seen=4, now=now)
    pages = [first, second, third]
    found = [row.proposal.id for page in pages for row in page.rows]
    assert found == [each.id for each in reversed(made)]
    assert [(page.first, page.last, page.total) for page in pages] == [(1, 2, 5), (3, 4, 5), (5, 5, 5)]
    assert third.after is None


def test_needs_me_is_what_waits_for_my_vote_and_nothing_i_wrote_or_voted_on() -> None:
    ada, ben = building.scope(role="operator"), building.scope(role="operator")
    waits, mine, quiet = proposing.propose(), proposing.propose(author=ada), proposing.propose()
    revised = lifecycle.revise(ada, proposing.propose().id, Change(title="Mine now"), now=timezone.now())
    gates = {each.id: opened(each) for each in (waits, mine, revised)}
    assert shown(ada, show=NEEDS_ME) == [waits.id]
    assert set(shown(ben, show=NEEDS_ME)) == {waits.id, mine.id, revised.id}
    proposing.decide(waits, gates[waits.id], by=ada)
    assert shown(ada, show=NEEDS_ME) == []
    assert waits.id not in shown(ben, show=NEEDS_ME)
    assert set(shown(ada, show=MINE)) == {mine.id, revised.id}
    for nobody in (building.scope(role="viewer"), building.scope(role="owner", agents=("acme.writer",))):
        assert shown(nobody, show=NEEDS_ME) == []
    assert quiet.id in shown(ben)
    assert [row.id for row in inbox.awaiting_vote(ben, now=timezone.now()).order_by("id")] == [mine.id, revised.id]


def test_filters_hold_together_and_an_unknown_word_matches_nothing() -> None:
    draft, applied = proposing.propose(), proposing.applied()
    ada = building.scope()
    assert shown(ada, states=("applied",), kinds=("prompt-template",)) == [applied.id]
    assert shown(ada, states=("draft",)) == [draft.id]
    assert shown(ada, states=("pending",)) == shown(ada, kinds=("automation",)) == shown(ada, show="everything") == []
    counts = inbox.counts(ada, InboxFilter(), now=timezone.now())
    assert (counts.facets["state"], counts.facets["kind"]) == ({"draft": 1, "applied": 1}, {"prompt-template": 2})
    assert counts.shows == {"needs-me": 0, "mine": 0, "all": 2}


def test_a_row_shows_its_gate_and_its_grants() -> None:
    made = proposing.propose()
    gate = opened(made)
    [row] = inbox.page(building.scope(), InboxFilter(), now=timezone.now()).rows
    assert row.gate
    assert (row.gate.id, row.grants) == (gate.id, 0)
    proposing.decide(made, gate)
    assert inbox.page(building.scope(), InboxFilter(), now=timezone.now()).rows[0].grants == 1


def test_the_number_of_queries_does_not_grow(django_assert_num_queries: DjangoAssertNumQueries) -> None:
    ada = building.scope()
    for each in several(2):
        proposing.decide(each, opened(each))
    with django_assert_num_queries(6):
        inbox.page(ada, InboxFilter(), now=timezone.now())
    for each in several(4):
        opened(each)
    with django_assert_num_queries(6):
        inbox.page(ada, InboxFilter(), now=timezone.now())
    with django_assert_num_queries(1):
        assert len(inbox.list_matching(ada, InboxFilter(), now=timezone.now())) == 6


def test_a_page_of_one_proposal_has_its_whole_story(django_assert_num_queries: DjangoAssertNumQueries) -> None:
    ada = building.scope()
    made = proposing.propose()
    proposing.decide(made, opened(made), decision="rejected", reason="too short")
    lifecycle.revise(building.scope(role="author"), made.id, Change(title="Second"), now=timezone.now())
    with CaptureQueriesContext(connection) as queries:
        first = review.detail(ada, made.id)
    again = opened(made)
    with django_assert_num_queries(len(queries)):
        told = review.detail(ada, made.id)
    assert [revision.number for revision in told.revisions] == [2, 1]
    assert (told.current.number, told.revision(1), told.revision(9)) == (2, told.revisions[1], None)
    assert told.gate
    assert (told.gate.id, first.gate, told.under_review) == (again.id, None, True)
    assert [(ballot.gate.state, len(ballot.votes), ballot.grants) for ballot in told.ballots] == [
        ("open", 0, 0),
        ("rejected", 1, 0),
    ]


def compose(template: str) -> dict[str, Any]:
    return building.node("compose", "vendor.console.compose", {"template": template})


def test_a_later_run_uses_what_was_installed_and_an_earlier_one_did_not() -> None:
    ada = building.scope()
    plain = {"variables": [], "text": "Old words."}
    proposing.applied(text=proposing.artifact(version="1.0.0", **plain))
    building.install("acme", building.definition("triage", compose("triage.summary")))
    made = proposing.propose(text=proposing.artifact(version="2.0.0", **plain | {"text": "New words."}))
    before = building.execute(ada, "triage")
    inert = review.detail(ada, made.id).effect
    assert (inert.installation, inert.uses_total, inert.other_uses_total, inert.runs_since_created) == (None, 0, 1, 1)
    assert inert.installed_now
    assert inert.installed_now.ref == "prompt:triage.summary@1.0.0"
    gate = opened(made)
    proposing.decide(made, gate)
    proposing.advance(gate)
    after = building.execute(ada, "triage")
    effect = review.detail(ada, made.id).effect
    assert effect.installation
    assert (effect.installation.ref, effect.installation.sha256) == ("prompt:triage.summary@2.0.0", gate.sha256)
    assert [use.run_id for use in effect.uses] == [after.id]
    assert [use.run_id for use in effect.other_uses] == [before.id]
    assert (effect.uses_total, effect.other_uses_total, effect.runs_since_created) == (1, 1, 2)


def test_reading_needs_the_permission_and_an_id_of_the_tenant() -> None:
    made = proposing.propose()
    auditor = building.scope(role="auditor")
    for read in (
        lambda: inbox.page(auditor, InboxFilter(), now=timezone.now()),
        lambda: inbox.counts(auditor, InboxFilter(), now=timezone.now()),
        lambda: inbox.list_matching(auditor, InboxFilter(), now=timezone.now()),
        lambda: inbox.awaiting_vote(auditor, now=timezone.now()),
        lambda: review.detail(auditor, made.id),
    ):
        with pytest.raises(Forbidden):
            read()
    with pytest.raises(NotFound):
        review.detail(building.scope(), None)


def test_who_may_not_read_proposals_sees_none_of_them_on_the_pages_of_agents_runs_and_records() -> None:
    acme, viewer = building.tenant(), building.scope(role="viewer")
    made = proposing.propose(agent_id="acme.writer")
    run = runs.find(acme.id, opened(made).run_id)
    wire_id = ids.wire("prop", made.id)

    def told(scope: TenantScope) -> list[Any]:
        of_agent = proposal_links.of_agent(scope, "acme.writer", limit=5)
        return [
            [each.id for each in of_agent],
            proposal_links.of_activation(scope, run.id),
            proposal_links.count_pending(scope),
            proposal_links.titles_of(scope, [wire_id]),
        ]

    cited = proposal_links.Citation(wire_id, made.title, made.state, f"/proposals/{wire_id}")
    assert told(viewer) == [[wire_id], cited, {"acme.writer": 1}, {wire_id: made.title}]
    others = tenancy.host_scope(acme, scopes=access.ROLES["owner"] - {"proposals:read"})
    assert told(others) == [[], None, {}, {}]
    assert told(building.scope("globex")) == [[], None, {}, {}]
