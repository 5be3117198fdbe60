"""Forgetting a subject that proposals name: what is not applied goes, what is applied stays and is counted."""

import json
from typing import Any

import pytest
from django.utils import timezone

from memory.host import registry
from memory.host.erasure import Identifiers
from proposals import lifecycle, review, revisions
from proposals.drafts import Change
from proposals.erasure import PROPOSALS
from proposals.models import Proposal, Revision, Vote
from tests import building, proposing
from tests.proposing import opened

pytestmark = pytest.mark.django_db
ANA = Identifiers(("ana@x.org",))


def forget(proposal: Proposal, subject: Identifiers = ANA) -> int:
    rows = PROPOSALS.find(proposal.tenant_id, subject).erase
    return PROPOSALS.erase(proposal.tenant_id, subject, rows, ticked=False, now=timezone.now())


def everything_said(proposal: Proposal) -> str:
    tables = (Proposal, Revision, Vote)
    return json.dumps([list(table.objects.of(proposal.tenant_id).values()) for table in tables], default=str)


def test_a_proposal_that_names_the_subject_in_an_older_revision_is_blanked_and_archived() -> None:
    made = proposing.propose(text=proposing.artifact(text="Write to ana@x.org."))
    change = Change(artifact=proposing.artifact(), note="without the address")
    lifecycle.revise(building.scope(role="author"), made.id, change, now=timezone.now())
    other = proposing.propose()
    assert PROPOSALS.find(made.tenant_id, ANA).erase == (made.id,)
    assert left(made) == 1
    assert forget(made) == 1
    assert "ana@x.org" not in everything_said(made)
    assert left(made) == 0
    gone = proposing.fresh(made)
    assert (gone.state, gone.title, gone.rationale) == ("archived", "[FORGOTTEN]", "[FORGOTTEN]")
    assert all(row.sha256 == registry.digest(row.text) for row in revisions.all_of(gone))
    assert proposing.fresh(other).state == "draft"
    assert proposing.actions(made)[-1] == "proposal.forget"


@pytest.mark.parametrize(
    "said",
    [
        {"title": "About ana@x.org"},
        {"rationale": "ana@x.org asked"},
        {"text": proposing.artifact(text="x").replace('"x"', '"\\u0061na@x.org"')},
    ],
)
def test_wherever_a_proposal_names_the_subject_it_is_found(said: dict[str, Any]) -> None:
    made = proposing.propose(**said)
    assert PROPOSALS.find(made.tenant_id, ANA).erase == (made.id,)
    assert forget(made) == 1
    assert PROPOSALS.find(made.tenant_id, ANA).erase == ()


def test_a_reason_of_a_vote_is_forgotten_and_the_vote_stays() -> None:
    made = proposing.propose()
    proposing.decide(made, opened(made), decision="rejected", reason="ana@x.org would not like it")
    forget(made)
    [vote] = review.detail(building.scope(), made.id).ballots[0].votes
    assert (vote.decision, vote.reason) == ("rejected", "[FORGOTTEN]")


def test_an_open_gate_is_cancelled_with_its_run() -> None:
    made = proposing.propose(title="For ana@x.org")
    gate = opened(made)
    forget(made)
    assert proposing.advance(gate).status == "cancelled"
    assert review.detail(building.scope(), made.id).gate is None


def test_an_applied_proposal_stays_and_is_counted_with_the_reason() -> None:
    done = proposing.applied(title="For ana@x.org")
    holding = PROPOSALS.find(done.tenant_id, ANA)
    assert (holding.erase, holding.suspected, holding.stays) == ((), (), 1)
    assert "Applied proposals stay" in holding.stays_because
    assert lifecycle.forget(done.tenant_id, done.id, now=timezone.now()) is False
    assert proposing.fresh(done).title == "For ana@x.org"
    assert left(done) == 0


def test_a_name_inside_another_word_is_only_suspected() -> None:
    made = proposing.propose(title="For joana@x.org")
    holding = PROPOSALS.find(made.tenant_id, ANA)
    assert (holding.erase, holding.suspected) == ((), (made.id,))


def test_another_tenants_proposals_are_not_looked_at() -> None:
    made = proposing.propose(title="For ana@x.org")
    globex = building.tenant("globex")
    assert PROPOSALS.find(globex.id, ANA).erase == ()
    assert proposing.fresh(made).state == "draft"


def left(proposal: Proposal) -> int:
    """What a second look still finds of the subject."""
    return PROPOSALS.remains(proposal.tenant_id, ANA, chosen=frozenset(), spared=frozenset()).left
