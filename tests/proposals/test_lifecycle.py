"""A proposal's life: what each step leaves, what each state refuses, and whom it refuses."""

import pytest
from django.utils import timezone
from pytest_django.fixtures import Settings

from memory.host import audit, event_log, ids, registry, runs
from memory.host.errors import Conflict, Forbidden, Invalid, NotFound
from memory.host.models import WriteGuard
from proposals import inbox, lifecycle, review, revisions
from proposals.drafts import Change
from proposals.models import Revision
from tests import building, proposing
from tests.building import types_of
from tests.proposing import actions, opened

pytestmark = pytest.mark.django_db


def test_a_new_proposal_is_a_draft_that_nothing_resolves() -> None:
    made = proposing.propose()
    assert (made.state, made.revision, revisions.current(made).text) == ("draft", 1, proposing.artifact())
    assert registry.current(made.tenant_id, "prompt-template", "triage.summary") is None
    assert actions(made) == ["proposal.create"]


def test_creating_is_told_on_a_small_run_of_its_own_that_ends_behind_it() -> None:
    made = proposing.propose(source_run_ids=())
    fact = event_log.list_events_about(made.tenant_id, made.id)[0]
    run = runs.find(made.tenant_id, fact.stream_id)
    assert (run.system, run.status, types_of(run)) == (
        True,
        "completed",
        ["run.started", "proposal.created", "run.completed"],
    )
    assert fact.payload == {"proposalId": ids.wire("prop", made.id), "kind": "prompt-template", "sourceRunIds": []}


def test_a_node_that_submits_has_the_fact_on_its_own_run() -> None:
    author = building.scope(role="agent")
    run = building.open_run(author)
    made = lifecycle.create(author, proposing.draft(), run=run, now=timezone.now())
    assert types_of(run) == ["run.started", "proposal.created"]
    assert [event.stream_id for event in event_log.list_events_about(made.tenant_id, made.id)] == [run.id]


def test_source_runs_must_be_runs_of_the_tenant() -> None:
    own = building.open_run(building.scope(role="agent"))
    foreign = building.open_run(building.scope("globex", role="agent"))
    made = proposing.propose(source_run_ids=(ids.wire("run", own.id),))
    assert made.source_run_ids == [ids.wire("run", own.id)]
    for unknown in (ids.wire("run", foreign.id), ids.wire("run", ids.new_id()), "run_a1"):
        with pytest.raises(Invalid) as refused:
            proposing.propose(source_run_ids=(ids.wire("run", own.id), unknown))
        assert [error["field"] for error in refused.value.details["errors"]] == ["sourceRunIds[1]"]


def test_revising_keeps_the_revision_before_it() -> None:
    made = proposing.propose()
    ben = building.scope(role="author")
    newer = proposing.artifact(version="1.2.0")
    revised = lifecycle.revise(ben, made.id, Change(artifact=newer, note="shorter"), now=timezone.now())
    assert (revised.state, revised.revision, revised.last_reviser) == ("revised", 2, ben.principal.id)
    kept = revisions.list_all(revised)
    assert [(each.number, each.text) for each in kept] == [(2, newer), (1, proposing.artifact())]
    record = next(row for row in audit.newest(made.tenant_id) if row.action == "proposal.revise")
    assert (record.details["sha256Before"], record.details["sha256"]) == (kept[1].sha256, kept[0].sha256)


def test_a_revision_without_an_artifact_keeps_the_bytes() -> None:
    made = proposing.propose(text='{ "templateId":"a", "version":"1.0.0",\n"kind":"user", "text":"caf\\u00e9" }')
    ben = building.scope(role="author")
    revised = lifecycle.revise(ben, made.id, Change(title="New title"), now=timezone.now())
    first, second = reversed(revisions.list_all(revised))
    assert (second.text, second.sha256, second.title) == (first.text, first.sha256, "New title")


def test_a_revision_of_nothing_is_refused() -> None:
    made = proposing.propose()
    with pytest.raises(Invalid):
        lifecycle.revise(building.scope(role="author"), made.id, Change(), now=timezone.now())
    assert proposing.fresh(made).revision == 1


def test_who_read_an_older_revision_is_told_which_one_is_current() -> None:
    made = proposing.propose()
    ben = building.scope(role="author")
    lifecycle.revise(ben, made.id, Change(title="Second"), expected=1, now=timezone.now())
    with pytest.raises(Conflict) as refused:
        lifecycle.revise(ben, made.id, Change(title="Third"), expected=1, now=timezone.now())
    assert refused.value.details["revision"] == 2
    with pytest.raises(Conflict):
        lifecycle.ask_to_apply(building.scope(role="reviewer"), made.id, expected=1, now=timezone.now())


def test_applying_again_installs_nothing_again() -> None:
    done = proposing.applied()
    assert proposing.ask(done).installed_ref == "prompt:triage.summary@1.1.0"
    told = [event.type for event in event_log.list_events_about(done.tenant_id, done.id)]
    assert told.count("proposal.activated") == 1


@pytest.mark.engines
def test_an_owner_installs_directly_where_the_host_has_no_gates(settings: Settings) -> None:
    settings.OPENWOP_PROPOSALS_ACTIVATION = "direct-rbac"
    made = proposing.propose()
    with pytest.raises(Forbidden) as refused:
        proposing.ask(made, by=building.scope(role="reviewer"))
    assert refused.value.details == {"requiredScope": "proposals:activate"}
    with pytest.raises(Forbidden):
        proposing.ask(made, by=building.scope(role="owner", agents=("acme.writer",)))
    owner = building.scope(role="owner")
    activation = proposing.ask(made, by=owner)
    assert (activation.gate, activation.installed_ref) == (None, "prompt:triage.summary@1.1.0")
    assert proposing.fresh(made).closed_by == owner.principal.id
    [record] = audit.newest(made.tenant_id, limit=1)
    assert (record.action, record.actor) == ("proposal.install", owner.principal.id)
    assert "requestedBy" not in record.facts
    fact = event_log.list_events_about(made.tenant_id, made.id)[-1]
    assert fact.payload["installedArtifactRef"] == activation.installed_ref
    assert "approvalId" not in fact.payload
    run = runs.find(made.tenant_id, fact.stream_id)
    assert types_of(run) == ["run.started", "node.started", "proposal.activated", "node.completed", "run.completed"]


def test_another_tenants_proposal_is_not_there_for_anybody() -> None:
    made = proposing.propose()
    globex = building.scope("globex")
    for act in (lifecycle.ask_to_apply, lifecycle.reject, lifecycle.archive):
        with pytest.raises(NotFound):
            act(globex, made.id, now=timezone.now())
    with pytest.raises(NotFound):
        lifecycle.revise(globex, made.id, Change(title="Ours now"), now=timezone.now())
    with pytest.raises(NotFound):
        proposing.decide(made, opened(made), by=building.scope("globex", role="reviewer"))
    with pytest.raises(NotFound):
        review.detail(globex, made.id)
    assert inbox.page(globex, inbox.InboxFilter(), now=timezone.now()).total == 0
    with pytest.raises(NotFound):
        lifecycle.create(globex, proposing.draft(), run=building.open_run(building.scope()), now=timezone.now())


def test_a_missing_permission_is_refused_before_anybody_looks_whether_the_proposal_exists() -> None:
    viewer = building.scope(role="viewer")
    for proposal_id in (proposing.propose().id, ids.new_id(), None):
        for act in (lifecycle.ask_to_apply, lifecycle.reject, lifecycle.archive):
            with pytest.raises(Forbidden):
                act(viewer, proposal_id, now=timezone.now())


def test_a_proposal_names_a_bounded_number_of_source_runs() -> None:
    with pytest.raises(Invalid) as refused:
        proposing.propose(source_run_ids=("run_x",) * 51)
    assert [error["field"] for error in refused.value.details["errors"]] == ["sourceRunIds"]


def test_only_the_lifecycle_writes_a_proposal() -> None:
    made = proposing.propose()
    with pytest.raises(WriteGuard, match=r"proposals\.lifecycle"):
        made.save()
    with pytest.raises(WriteGuard, match=r"proposals\.revisions"):
        Revision.objects.of(made.tenant_id).update(text="{}")
