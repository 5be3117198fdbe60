"""Uninstalling: archiving what is applied, where the policy of its kind says so, and by who may install."""

from typing import Any

import pytest
from django.utils import timezone

from memory.host import audit, ids, registry
from memory.host.errors import Conflict, Forbidden
from memory.host.models import Installation
from proposals import artifacts, comments, lifecycle, policies
from proposals.drafts import Change
from proposals.models import Proposal
from tests import building, proposing
from tests.proposing import opened

pytestmark = pytest.mark.django_db
REF = "prompt:triage.summary@1.1.0"


def archive(proposal: Proposal, role: str = "owner", **options: Any) -> Proposal:
    return lifecycle.archive(building.scope(role=role, **options), proposal.id, reason="not wanted", now=timezone.now())


def current(proposal: Proposal) -> Installation | None:
    return registry.current(proposal.tenant_id, "prompt-template", "triage.summary")


def test_what_is_applied_is_not_archived_as_long_as_the_policy_does_not_say_so() -> None:
    done = proposing.applied()
    assert policies.policy_of_kind(done.tenant_id, done.kind).uninstall_on_archive is False
    with pytest.raises(Conflict) as refused:
        archive(done)
    assert refused.value.details == {"state": "applied", "action": "archive"}
    assert (proposing.fresh(done).state, current(done).ref) == ("applied", REF)


def test_where_it_says_so_archiving_uninstalls_and_says_what_it_was() -> None:
    done = proposing.applied()
    proposing.policy(uninstall_on_archive=True)
    gone = archive(done)
    assert (gone.state, gone.installed_ref, gone.uninstalled_ref, gone.approval_id) == ("archived", None, REF, None)
    assert gone.closing_reason == "not wanted"
    assert current(done) is None
    record = next(row for row in audit.newest(done.tenant_id) if row.action == "proposal.uninstall")
    assert (record.details["installedArtifactRef"], record.details["wasCurrent"]) == (REF, True)
    assert archive(done).uninstalled_ref == REF, "again changes nothing"


@pytest.mark.parametrize("role", ["author", "reviewer", "operator", "agent", "viewer", "auditor"])
def test_only_who_may_activate_uninstalls_and_the_denial_is_on_record(role: str) -> None:
    done = proposing.applied()
    proposing.policy(uninstall_on_archive=True)
    with pytest.raises(Forbidden) as refused:
        archive(done, role)
    assert refused.value.details == {"requiredScope": "proposals:activate"}
    denied = audit.newest(done.tenant_id, limit=1)[0]
    assert (denied.action, denied.details["action"]) == ("authorization.denied", "proposal.uninstall")
    assert current(done).ref == REF


def test_a_key_bound_to_agents_uninstalls_nothing() -> None:
    done = proposing.applied()
    proposing.policy(uninstall_on_archive=True)
    with pytest.raises(Forbidden) as refused:
        archive(done, agents=("acme.writer",))
    assert refused.value.details == {"rule": "agents-never-vote"}
    assert proposing.fresh(done).state == "applied"


def test_the_policy_of_another_kind_or_tenant_uninstalls_nothing() -> None:
    done = proposing.applied()
    proposing.policy(kind="agent-pack", uninstall_on_archive=True)
    proposing.policy(slug="globex", uninstall_on_archive=True)
    with pytest.raises(Conflict):
        archive(done)


def test_runs_that_start_now_find_nothing_and_runs_of_before_keep_their_ref() -> None:
    done, owner = proposing.applied(), building.scope()
    port = {"ticket": building.from_input("ticket")}
    say = building.node("say", "vendor.console.compose", {"template": "triage.summary"}) | {"inputs": port}
    building.install("acme", building.definition("ask", say))
    earlier = building.execute(owner, "ask", ticket="T-1")
    assert earlier.status == "completed"
    proposing.policy(uninstall_on_archive=True)
    archive(done)
    assert building.execute(owner, "ask", ticket="T-1").status == "failed"
    [use] = registry.used_by(earlier)
    assert (use.installation.ref, use.installation.text) == (REF, proposing.artifact())


def test_an_earlier_version_does_not_come_back_by_itself() -> None:
    proposing.applied(text=proposing.artifact(version="1.0.0"))
    done = proposing.applied()
    proposing.policy(uninstall_on_archive=True)
    archive(done)
    assert current(done) is None


def test_what_was_superseded_meanwhile_is_archived_and_its_successor_stays() -> None:
    done = proposing.applied()
    proposing.applied(text=proposing.artifact(version="2.0.0"))
    proposing.policy(uninstall_on_archive=True)
    assert archive(done).state == "archived"
    assert current(done).ref == "prompt:triage.summary@2.0.0"
    record = next(row for row in audit.newest(done.tenant_id) if row.action == "proposal.uninstall")
    assert record.details["wasCurrent"] is False


def test_a_rollback_brings_it_back_through_its_gate() -> None:
    done = proposing.applied()
    proposing.policy(uninstall_on_archive=True)
    archive(done)
    made = lifecycle.propose(building.scope(role="author"), REF, now=timezone.now())
    assert made.title == "Roll triage.summary back to 1.1.0"
    assert current(done) is None
    gate = opened(made)
    proposing.decide(made, gate)
    proposing.advance(gate)
    assert (current(done).ref, proposing.fresh(made).state) == (REF, "applied")
    assert proposing.fresh(done).state == "archived"


def test_a_pack_takes_its_parts_with_it_and_brings_them_back() -> None:
    done = proposing.applied(text=proposing.agent_pack(), kind="agent-pack")
    [clerk] = registry.agents(done.tenant_id)
    proposing.policy(kind="agent-pack", uninstall_on_archive=True)
    archive(done)
    assert registry.agents(done.tenant_id) == []
    made = lifecycle.propose(building.scope(role="author"), str(done.installed_ref), now=timezone.now())
    gate = opened(made)
    proposing.decide(made, gate)
    proposing.advance(gate)
    assert [each.id for each in registry.agents(done.tenant_id)] == [clerk.id]


def test_what_is_uninstalled_is_over_and_can_only_be_spoken_about() -> None:
    done, ada = proposing.applied(), building.scope()
    proposing.policy(uninstall_on_archive=True)
    archive(done)
    with pytest.raises(Conflict):
        lifecycle.ask_to_apply(ada, done.id, now=timezone.now())
    with pytest.raises(Conflict):
        lifecycle.revise(ada, done.id, Change(title="Back"), now=timezone.now())
    assert comments.add(ada, done.id, "we miss it", now=timezone.now()).text == "we miss it"
    assert current(done) is None


def test_what_is_installed_already_is_not_asked_for_again() -> None:
    done = proposing.applied()
    again = proposing.propose()
    with pytest.raises(Conflict, match="there is nothing to apply") as refused:
        opened(again)
    assert refused.value.details == {"installedArtifactRef": REF}
    assert (proposing.fresh(again).state, proposing.fresh(done).state) == ("draft", "applied")


def test_a_pack_that_has_lost_a_part_can_be_asked_for_again() -> None:
    done = proposing.applied(text=proposing.agent_pack(), kind="agent-pack")
    [clerk] = registry.agents(done.tenant_id)
    registry.supersede(clerk, now=timezone.now())
    proposing.applied(text=proposing.agent_pack(), kind="agent-pack")
    assert [each.id for each in registry.agents(done.tenant_id)] == [clerk.id]


def test_what_two_applied_proposals_have_installed_goes_with_the_last_of_them() -> None:
    first, second = proposing.propose(), proposing.propose()
    gates = [opened(first), opened(second)]
    for made, gate in zip((first, second), gates, strict=True):
        proposing.decide(made, gate)
        assert proposing.advance(gate).status == "completed"
    proposing.policy(uninstall_on_archive=True)
    assert (archive(first).state, current(first).ref) == ("archived", REF)
    record = next(row for row in audit.newest(first.tenant_id) if row.action == "proposal.uninstall")
    assert (record.details["wasCurrent"], record.details["alsoInstalledBy"]) == (False, ids.wire("prop", second.id))
    archive(second)
    assert current(second) is None
    record = next(row for row in audit.newest(first.tenant_id) if row.action == "proposal.uninstall")
    assert record.details["wasCurrent"] is True
    assert "alsoInstalledBy" not in record.details


def test_the_same_ref_of_another_tenant_keeps_nothing_installed() -> None:
    done = proposing.applied()
    theirs = proposing.propose(building.scope("globex", role="agent"))
    gate = proposing.ask(theirs, building.scope("globex", role="reviewer")).gate
    assert gate
    proposing.decide(theirs, gate, building.scope("globex", role="reviewer"))
    proposing.advance(gate)
    assert proposing.fresh(theirs).installed_ref == REF
    proposing.policy(uninstall_on_archive=True)
    archive(done)
    assert current(done) is None
    assert current(theirs).ref == REF


def test_what_was_uninstalled_is_current_again_once_the_very_bytes_are_installed() -> None:
    made = proposing.applied()
    proposing.policy(uninstall_on_archive=True)
    archive(made)
    assert current(made) is None
    there = registry.by_ref(made.tenant_id, REF)
    assert there
    artifact = artifacts.artifact_of(made.tenant_id, made.kind, there.text)
    registry.install(made.tenant_id, artifact, source="test", installed_by="host", now=timezone.now())
    assert current(made) == there
