"""Forgetting a subject that proposals name: what is not applied goes, what is applied stays and is counted; and what
people said about it, in comments, votes and policies and in the names of filters, goes wherever it stands."""

import json
from typing import Any

import pytest
from django.utils import timezone

from memory import saved_filters
from memory.forget import execution
from memory.forget.erasers.declared import Declared
from memory.forget.erasers.special_stores import INSTALLED
from memory.host import erasure, registry
from memory.host.erasure import Identifiers
from memory.host.models import Installation, SavedFilter
from proposals import comments, lifecycle, policies, review, revisions
from proposals.drafts import Change
from proposals.erasure import PROPOSALS
from proposals.models import ApprovalPolicy, Comment, PolicyChange, Proposal, Revision, Vote
from tests import building, proposing
from tests.proposing import opened

pytestmark = pytest.mark.django_db
ANA = Identifiers(("ana@x.org",))
TABLES: tuple[Any, ...] = (Proposal, Revision, Vote, Comment, ApprovalPolicy, PolicyChange, SavedFilter)
COMMENTS, VOTES = Declared(Comment), Declared(Vote)
POLICIES, POLICY_CHANGES = Declared(ApprovalPolicy), Declared(PolicyChange)
SAVED_FILTERS = Declared(SavedFilter)


def forget(proposal: Proposal, subject: Identifiers = ANA, store: erasure.Eraser = PROPOSALS) -> int:
    rows = store.find(proposal.tenant_id, subject).erase
    return store.erase(proposal.tenant_id, subject, rows, ticked=False, now=timezone.now())


def left(proposal: Proposal, store: erasure.Eraser = PROPOSALS) -> int:
    """What a second look still finds of the subject."""
    return store.remains(proposal.tenant_id, ANA, chosen=frozenset(), spared=frozenset()).left


def everything_said(proposal: Proposal) -> str:
    return json.dumps([list(table.objects.of(proposal.tenant_id).values()) for table in TABLES], default=str)


@pytest.mark.engines
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
    assert all(row.sha256 == registry.digest(row.text) for row in revisions.list_all(gone))
    assert proposing.fresh(other).state == "draft"
    assert proposing.actions(made)[-1] == "proposal.forget"


@pytest.mark.parametrize(
    "said",
    [
        {"title": "About ana@x.org"},
        {"rationale": "ana@x.org asked"},
        {"text": proposing.artifact(text="x").replace('"x"', '"\\u0061na@x.org"')},
        {"evidence": ({"kind": "memory", "id": "customer:ana@x.org", "why": "read-often"},)},
        {"synthesizer_model": "told by ana@x.org"},
        {"agent_id": "ana@x.org"},
    ],
    ids=lambda said: next(iter(said)),
)
def test_wherever_a_proposal_names_the_subject_it_is_found_and_nothing_of_it_is_left(said: dict[str, Any]) -> None:
    made = proposing.propose(**said)
    assert PROPOSALS.find(made.tenant_id, ANA).erase == (made.id,)
    assert left(made)
    assert forget(made) == 1
    assert PROPOSALS.find(made.tenant_id, ANA).erase == ()
    assert left(made) == 0
    assert "ana@x.org" not in everything_said(made)


@pytest.mark.parametrize("said", [{"rationale": "joana@x.org asked"}, {"agent_id": "joana@x.org"}])
def test_who_decides_about_a_suspected_proposal_is_shown_what_it_is_suspected_for(said: dict[str, Any]) -> None:
    made = proposing.propose(**said)
    assert PROPOSALS.find(made.tenant_id, ANA).suspected == (made.id,)
    shown = PROPOSALS.texts(made.tenant_id, [made.id])[made.id]
    assert [text for text in shown if "ana@x.org" in text] == [*said.values()] * (2 if "rationale" in said else 1)


def test_a_ref_that_a_proposal_restates_goes_when_it_names_the_subject() -> None:
    ana = Identifiers(("anakowalska",))
    first = proposing.applied(text=proposing.artifact(templateId="anakowalska"))
    made = proposing.propose(text=proposing.artifact(templateId="other"))
    assert made.duplicate_of == "prompt:anakowalska@1.1.0"
    assert PROPOSALS.find(made.tenant_id, ana).suspected == (made.id,)
    ticked: dict[str, Any] = {"chosen": frozenset({made.id}), "spared": frozenset()}
    assert PROPOSALS.remains(made.tenant_id, ana, **ticked).left == 1
    PROPOSALS.erase(made.tenant_id, ana, (made.id,), ticked=True, now=timezone.now())
    assert proposing.fresh(made).duplicate_of is None
    assert PROPOSALS.remains(made.tenant_id, ana, **ticked).left == 0
    assert proposing.fresh(first).installed_ref == "prompt:anakowalska@1.1.0"


def test_a_reason_of_a_vote_is_forgotten_and_the_vote_stays() -> None:
    made = proposing.propose()
    proposing.decide(made, opened(made), decision="rejected", reason="ana@x.org would not like it")
    assert (left(made, VOTES), forget(made, store=VOTES), left(made, VOTES)) == (1, 1, 0)
    [vote] = review.detail(building.scope(), made.id).ballots[0].votes
    assert (vote.decision, vote.reason) == ("rejected", "[FORGOTTEN]")
    assert proposing.fresh(made).state == "draft", "who voted said it, and the proposal itself did not"


def test_a_comment_is_forgotten_alone_and_stays_in_its_place() -> None:
    done = proposing.applied()
    ada = building.scope()
    for words in ("fine", "ana@x.org called", "shorter please"):
        comments.add(ada, done.id, words, now=timezone.now())
    assert (left(done, COMMENTS), forget(done, store=COMMENTS), left(done, COMMENTS)) == (1, 1, 0)
    assert [each.text for each in comments.comments_of(done)] == ["fine", "[FORGOTTEN]", "shorter please"]
    assert proposing.fresh(done).state == "applied"


def test_what_a_person_ticked_goes_although_it_only_looks_like_the_subject() -> None:
    made = proposing.propose()
    said = comments.add(building.scope(), made.id, "joana@x.org called", now=timezone.now())
    holding = COMMENTS.find(made.tenant_id, ANA)
    assert (holding.erase, holding.suspected) == ((), (said.id,))
    assert COMMENTS.erase(made.tenant_id, ANA, (said.id,), ticked=False, now=timezone.now()) == 0
    assert COMMENTS.erase(made.tenant_id, ANA, (said.id,), ticked=True, now=timezone.now()) == 1
    assert comments.comments_of(made)[0].text == "[FORGOTTEN]"


@pytest.mark.engines
def test_the_reasons_of_policies_are_forgotten_and_the_policies_stand() -> None:
    made, ada, bea = proposing.propose(), building.scope(), building.scope()
    why: dict[str, Any] = {"reason": "ana@x.org complained", "now": timezone.now()}
    asked = policies.request_change(ada, made.kind, {"quorum": 2}, **why)
    policies.decide_change(bea, asked.id, confirmed=True, now=timezone.now())
    waiting = policies.request_change(ada, made.kind, {"quorum": 3}, **why)
    assert (left(made, POLICIES), left(made, POLICY_CHANGES)) == (1, 2)
    assert forget(made, store=POLICIES) == 1
    assert forget(made, store=POLICY_CHANGES) == 2
    assert (left(made, POLICIES), left(made, POLICY_CHANGES)) == (0, 0)
    assert "ana@x.org" not in everything_said(made)
    assert policies.policy_of_kind(made.tenant_id, made.kind).quorum == 2
    assert [each.id for each in policies.list_waiting(ada)] == [waiting.id]


@pytest.mark.parametrize(
    ("name", "query"),
    [
        ("About ana@x.org", "state=draft"),
        ("hers", "q=ana@x.org"),
        ("hers", "q=ana%40x.org&state=draft"),
        ("hers", "q=%61na%40x%2eorg"),
    ],
)
def test_a_saved_filter_that_speaks_of_the_subject_is_gone_with_its_name(name: str, query: str) -> None:
    made, ada = proposing.propose(), building.scope()
    given: dict[str, Any] = {"shared": True, "now": timezone.now()}
    saved_filters.save_filter(ada, "proposals", name=name, query=query, **given)
    saved_filters.save_filter(ada, "proposals", name="drafts", query="state=draft", **given)
    assert (left(made, SAVED_FILTERS), forget(made, store=SAVED_FILTERS), left(made, SAVED_FILTERS)) == (1, 1, 0)
    assert [each.name for each in saved_filters.list_filters(ada, "proposals")] == ["drafts"]


def test_a_name_of_two_words_is_found_in_a_query_as_a_browser_writes_it() -> None:
    made, ada = proposing.propose(), building.scope()
    saved_filters.save_filter(ada, "proposals", name="hers", query="q=Ana+Kowalska", shared=False, now=timezone.now())
    assert forget(made, Identifiers(("ana kowalska",)), SAVED_FILTERS) == 1


@pytest.mark.engines
def test_an_open_gate_is_cancelled_with_its_run() -> None:
    made = proposing.propose(title="For ana@x.org")
    gate = opened(made)
    forget(made)
    assert proposing.advance(gate).status == "cancelled"
    assert review.detail(building.scope(), made.id).gate is None


def test_an_applied_proposal_stays_and_is_counted_with_the_reason() -> None:
    done = proposing.applied(text=proposing.artifact(text="Greet ana@x.org."))
    before = everything_said(done)
    holding = PROPOSALS.find(done.tenant_id, ANA)
    assert (holding.erase, holding.suspected, holding.stays) == ((), (), 1)
    assert "Applied proposals stay" in holding.stays_because
    assert left(done) == 0
    assert everything_said(done) == before


def named_all_over(text: str, **more: Any) -> Proposal:
    """An applied proposal that names the subject wherever nobody approves a word, and installs ``text``."""
    now, why = timezone.now(), ({"kind": "memory", "id": "customer:ana@x.org", "why": "read-often"},)
    given: dict[str, Any] = {"title": "For ana@x.org", "rationale": "ana@x.org asked", "evidence": why, **more}
    made = proposing.propose(text=proposing.artifact(text="Write to ana@x.org."), **given)
    change = Change(artifact=text, note="as ana@x.org wished")
    lifecycle.revise(building.scope(role="author"), made.id, change, now=now)
    comments.add(building.scope(), made.id, "ana@x.org is glad", now=now)
    gate = opened(proposing.fresh(made))
    proposing.decide(made, gate, reason="good for ana@x.org")
    assert proposing.advance(gate).status == "completed"
    return proposing.fresh(made)


@pytest.mark.engines
def test_of_an_applied_proposal_every_word_goes_that_nobody_approved_and_the_installed_text_stays() -> None:
    text = proposing.artifact()
    done = named_all_over(text, agent_id="ana@x.org", synthesizer_model="told by ana@x.org")
    holding = PROPOSALS.find(done.tenant_id, ANA)
    assert (holding.erase, holding.stays, left(done)) == ((done.id,), 0, 3)
    assert forget(done) == 1
    assert (PROPOSALS.find(done.tenant_id, ANA).erase, left(done)) == ((), 0)
    assert "ana@x.org" not in everything_said(done)
    kept = proposing.fresh(done)
    assert (kept.state, kept.installed_ref, kept.approval_id) == ("applied", done.installed_ref, done.approval_id)
    assert (kept.title, kept.rationale, kept.evidence) == ("[FORGOTTEN]", "[FORGOTTEN]", [])
    newest, first = revisions.list_all(kept)
    assert (newest.text, newest.sha256, newest.forgotten_at) == (text, registry.digest(text), None)
    assert (newest.note, json.loads(first.text)) == ("", {"forgotten": "[FORGOTTEN]"})
    assert first.sha256 == registry.digest(first.text)
    assert registry.by_ref(done.tenant_id, str(done.installed_ref)).text == text
    assert proposing.actions(done)[-1] == "proposal.forget"


def test_an_installed_text_that_names_the_subject_stays_and_is_counted_while_the_words_around_it_go() -> None:
    text = proposing.artifact(text="Greet ana@x.org.")
    done = named_all_over(text)
    holding = PROPOSALS.find(done.tenant_id, ANA)
    assert (holding.erase, holding.stays) == ((done.id,), 1)
    assert forget(done) == 1
    again = PROPOSALS.find(done.tenant_id, ANA)
    assert (again.erase, again.suspected, again.stays, left(done)) == ((), (), 1, 0)
    assert everything_said(done).count("ana@x.org") == 1
    assert revisions.current(proposing.fresh(done)).text == text


def test_what_only_looks_like_the_subject_around_an_installed_text_is_suspected_and_goes_when_ticked() -> None:
    done = proposing.applied(title="For joana@x.org")
    holding = PROPOSALS.find(done.tenant_id, ANA)
    assert (holding.erase, holding.suspected, holding.stays) == ((), (done.id,), 0)
    assert PROPOSALS.erase(done.tenant_id, ANA, (done.id,), ticked=True, now=timezone.now()) == 1
    assert (proposing.fresh(done).title, proposing.fresh(done).state) == ("[FORGOTTEN]", "applied")


def test_a_whole_forget_of_somebody_an_applied_proposal_speaks_about_has_a_receipt() -> None:
    done, ada, now = named_all_over(proposing.artifact()), building.scope(), timezone.now()
    found = execution.preview(ada, ["ana@x.org"], now=now)
    given: dict[str, Any] = {"typed": "ana@x.org", "reason": "ticket 18", "ticked": set(), "now": now}
    asked = execution.confirm(ada, found.request.id, **given)
    ended = execution.execute(done.tenant_id, asked.id, holder="test/1", now=now, clock=timezone.now)
    assert ended is not None
    assert ended.state == "forgotten"
    assert "ana@x.org" not in everything_said(done)
    assert proposing.fresh(done).state == "applied"


def test_what_was_uninstalled_is_forgotten_as_a_proposal_and_counted_as_what_runs_have_used() -> None:
    ana = Identifiers(("anakowalska",))
    done = proposing.applied(text=proposing.artifact(templateId="anakowalska"))
    proposing.policy(uninstall_on_archive=True)
    lifecycle.archive(building.scope(), done.id, now=timezone.now())
    assert proposing.fresh(done).uninstalled_ref == "prompt:anakowalska@1.1.0"
    assert forget(done, ana) == 1
    assert "anakowalska" not in everything_said(done)
    assert PROPOSALS.remains(done.tenant_id, ana, chosen=frozenset(), spared=frozenset()).left == 0
    kept = Installation.objects.of(done.tenant_id).get()
    assert (kept.superseded_at is None, INSTALLED.find(done.tenant_id, ana).stays) == (False, 1)


def test_a_name_inside_another_word_is_only_suspected() -> None:
    made = proposing.propose(title="For joana@x.org")
    holding = PROPOSALS.find(made.tenant_id, ANA)
    assert (holding.erase, holding.suspected) == ((), (made.id,))


@pytest.mark.parametrize(
    "store", [PROPOSALS, COMMENTS, VOTES, POLICIES, POLICY_CHANGES, SAVED_FILTERS], ids=lambda store: store.store
)
@pytest.mark.engines
def test_another_tenants_rows_are_neither_found_nor_touched(store: erasure.Eraser) -> None:
    made = _full_of("ana@x.org")
    before, globex = everything_said(made), building.tenant("globex")
    theirs = store.find(made.tenant_id, ANA).erase
    assert theirs
    assert store.find(globex.id, ANA).erase == ()
    store.remains(globex.id, ANA, chosen=frozenset(), spared=frozenset())
    if store is not PROPOSALS:
        assert store.erase(globex.id, ANA, theirs, ticked=True, now=timezone.now()) == 0
    assert everything_said(made) == before


@pytest.mark.engines
def test_a_whole_forget_leaves_the_subject_in_no_store_of_the_review_and_has_a_receipt() -> None:
    made, ada, now = _full_of("ana@x.org"), building.scope(), timezone.now()
    found = execution.preview(ada, ["ana@x.org"], now=now)
    given: dict[str, Any] = {"typed": "ana@x.org", "reason": "ticket 17", "ticked": set(), "now": now}
    asked = execution.confirm(ada, found.request.id, **given)
    ended = execution.execute(made.tenant_id, asked.id, holder="test/1", now=now, clock=timezone.now)
    assert ended is not None
    assert ended.state == "forgotten"
    assert "ana@x.org" not in everything_said(made)


def _full_of(name: str) -> Proposal:
    """A proposal of Acme that names somebody everywhere, and so does what was said about it."""
    made, ada, bea = proposing.propose(title=f"For {name}"), building.scope(), building.scope()
    now = timezone.now()
    comments.add(ada, made.id, f"{name} called", now=now)
    proposing.decide(made, opened(made), decision="rejected", reason=f"{name} would not like it")
    asked = policies.request_change(ada, made.kind, {"quorum": 2}, reason=f"{name} complained", now=now)
    policies.decide_change(bea, asked.id, confirmed=True, now=now)
    saved_filters.save_filter(ada, "proposals", name="hers", query=f"q={name}", shared=True, now=now)
    return made
