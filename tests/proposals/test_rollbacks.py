"""Going back to an earlier version: a change like any other, through its gate, of exactly the bytes there were."""

import json
import re
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from memory.host import audit, ids, registry
from memory.host.errors import Conflict, Forbidden, NotFound
from memory.host.models import Installation
from proposals import installation, lifecycle, review, revisions
from proposals.drafts import Change
from proposals.models import Proposal
from tests import building, proposing
from tests.proposing import opened

pytestmark = pytest.mark.django_db
FIRST, SECOND = "prompt:triage.summary@1.0.0", "prompt:triage.summary@2.0.0"
ODD = '{ "version":"1.0.0",\n\t"text":"caf\\u00e9 \\u20ac",  "templateId":"triage.summary","kind":"user","tags":[ ] }'


def versions(first: str = ODD) -> Proposal:
    """Two versions were applied, one after the other; the proposal of the first."""
    done = proposing.applied(text=first)
    proposing.applied(text=proposing.artifact(version="2.0.0"))
    return done


def current(proposal: Proposal) -> Installation:
    found = registry.current(proposal.tenant_id, "prompt-template", "triage.summary")
    assert found is not None
    return found


def back(ref: str = FIRST, **more: Any) -> Proposal:
    return lifecycle.propose(building.scope(role="author"), ref, now=timezone.now(), **more)


def carried_out(made: Proposal) -> Proposal:
    gate = opened(made)
    proposing.decide(made, gate)
    run = proposing.advance(gate)
    assert run.status == "completed", run.error
    return proposing.fresh(made)


def test_a_rollback_is_a_draft_that_changes_nothing_until_its_gate_is_granted() -> None:
    done = versions()
    made = back(rationale="the new one is too long")
    assert (made.state, made.purpose, made.kind) == ("draft", "rollback", "prompt-template")
    assert made.title == "Roll triage.summary back from 2.0.0 to 1.0.0"
    assert current(done).ref == SECOND
    gate = opened(made)
    assert current(done).ref == SECOND
    proposing.decide(made, gate, decision="rejected")
    assert proposing.advance(gate).status == "failed"
    assert current(done).ref == SECOND


def test_it_installs_the_very_bytes_of_before_as_the_very_version_of_before() -> None:
    done = versions()
    before = registry.by_ref(done.tenant_id, FIRST)
    made = carried_out(back())
    now = current(done)
    assert (now.id, now.ref, now.text, now.superseded_at) == (before.id, FIRST, ODD, None)
    assert (made.state, made.installed_ref) == ("applied", FIRST)
    assert revisions.current(made).sha256 == registry.digest(ODD) == now.sha256
    assert registry.by_ref(done.tenant_id, SECOND).superseded_at is not None
    assert [row.action for row in audit.newest(done.tenant_id, limit=1)] == ["proposal.install"]
    again = carried_out(back(SECOND))
    assert (current(done).ref, again.installed_ref) == (SECOND, SECOND)


def test_a_rollback_is_the_act_of_the_one_who_approved_it_and_who_installed_the_version_first_stays_so() -> None:
    done = versions()
    first = current(done)
    before = registry.by_ref(done.tenant_id, FIRST)
    made = back()
    asker, ada = building.scope(role="reviewer"), building.scope(role="reviewer")
    gate = proposing.ask(made, by=asker).gate
    assert gate
    proposing.decide(made, gate, by=ada)
    proposing.advance(gate)
    again = current(done)
    assert (again.ref, again.installed_by) == (FIRST, before.installed_by)
    assert first.ref == SECOND
    assert proposing.fresh(made).closed_by == ada.principal.id
    [record] = audit.newest(done.tenant_id, limit=1)
    assert (record.action, record.actor) == ("proposal.install", ada.principal.id)
    assert record.facts["requestedBy"] == asker.principal.id


def test_runs_resolve_it_again_and_those_of_before_keep_what_they_had() -> None:
    done = versions()
    owner = building.scope()
    port = {"ticket": building.from_input("ticket")}
    say = building.node("say", "vendor.console.compose", {"template": "triage.summary"}) | {"inputs": port}
    building.install("acme", building.definition("ask", say))
    earlier = building.execute(owner, "ask", ticket="T-1")
    carried_out(back())
    later = building.execute(owner, "ask", ticket="T-1")
    assert [use.installation.ref for use in registry.used_by(earlier)] == [SECOND]
    assert [use.installation.ref for use in registry.used_by(later)] == [FIRST]
    assert review.detail(owner, done.id).effect.uses_total == 1


@pytest.mark.engines
def test_its_page_counts_the_runs_since_it_came_into_force_again_apart_from_those_of_before(client: Client) -> None:
    first = proposing.applied(text=ODD)
    owner = building.scope()
    port = {"ticket": building.from_input("ticket")}
    say = building.node("say", "vendor.console.compose", {"template": "triage.summary"}) | {"inputs": port}
    building.install("acme", building.definition("ask", say))
    for _ in range(2):
        building.execute(owner, "ask", ticket="T-1")
    assert used_by(client, first) == "2 runs since"
    proposing.applied(text=proposing.artifact(version="2.0.0"))
    made = carried_out(back())
    for page in (made, first):
        assert used_by(client, page) == "2 runs, 0 of them since it came into force again"
    building.execute(owner, "ask", ticket="T-2")
    assert used_by(client, made) == "3 runs, 1 of them since it came into force again"
    effect = client.get(f"{proposing.page_of(made)}/effect").content.decode()
    assert "Used by 3 of 3 runs since it was first installed." in effect
    assert "1 run used it since it came into force again" in effect


def used_by(client: Client, made: Proposal) -> str:
    """What the page of the proposal says before it names the newest runs."""
    if "_auth_user_id" not in client.session:
        client.force_login(building.operator())
    shown = client.get(proposing.page_of(made)).content.decode()
    fact = shown.partition("<dt>Used by</dt>")[2].partition("</dd>")[0]
    return " ".join(re.sub(r"<[^>]+>", "", fact).partition(":")[0].split())


def test_its_page_says_who_approved_it_and_how_soon_it_was_in_force(client: Client) -> None:
    versions()
    made = carried_out(back())
    client.force_login(building.operator())
    shown = client.get(proposing.page_of(made)).content.decode()
    assert re.search(r"<dt>Approved</dt><dd>by .*\(installed [0-9]+ (ms|s) later\)", shown, re.DOTALL)


def test_its_artifact_is_no_matter_of_revising_and_its_words_are() -> None:
    versions()
    made, ben = back(), building.scope(role="author")
    with pytest.raises(Conflict, match="exactly what was installed before"):
        lifecycle.revise(ben, made.id, Change(artifact=proposing.artifact(version="3.0.0")), now=timezone.now())
    with pytest.raises(Conflict):
        lifecycle.revise(ben, made.id, Change(artifact=ODD), now=timezone.now())
    revised = lifecycle.revise(ben, made.id, Change(rationale="said better"), now=timezone.now())
    assert (revised.revision, revisions.current(revised).text) == (2, ODD)
    assert carried_out(revised).installed_ref == FIRST


def test_the_author_of_a_rollback_does_not_vote_on_it() -> None:
    versions()
    ada = building.scope(role="operator")
    made = lifecycle.propose(ada, FIRST, now=timezone.now())
    with pytest.raises(Forbidden) as refused:
        proposing.decide(made, opened(made), by=ada)
    assert refused.value.details == {"rule": "separation-of-duties"}


def test_what_is_current_unknown_or_a_foreigner_s_is_not_rolled_back_to() -> None:
    versions()
    with pytest.raises(Conflict) as refused:
        back(SECOND)
    assert refused.value.details == {"installedArtifactRef": SECOND}
    for unknown in ("prompt:triage.summary@9.9.9", "nothing", ""):
        with pytest.raises(NotFound):
            back(unknown)
    with pytest.raises(NotFound):
        lifecycle.propose(building.scope("globex"), FIRST, now=timezone.now())
    with pytest.raises(Forbidden) as denied:
        lifecycle.propose(building.scope(role="viewer"), FIRST, now=timezone.now())
    assert denied.value.details == {"requiredScope": "proposals:create"}


def test_what_no_proposal_installs_no_proposal_rolls_back() -> None:
    flow = building.definition("flow", building.node("a", "core.noop"))
    building.install("acme", flow)
    building.install("acme", {**flow, "version": "2.0.0"})
    with pytest.raises(NotFound, match="No proposal could install that"):
        back("workflow:flow@1.0.0")


def test_it_is_no_duplicate_of_what_it_restates_on_purpose() -> None:
    versions()
    proposing.applied(text=proposing.artifact(templateId="other", version="1.0.0"))
    assert back().duplicate_of is None


def test_two_rollbacks_to_one_version_install_it_once() -> None:
    done = versions()
    first, second = back(), back()
    carried_out(first)
    gate = opened(second)
    proposing.decide(second, gate)
    assert proposing.advance(gate).status == "completed"
    assert current(done).ref == FIRST
    assert Installation.objects.of(done.tenant_id).filter(superseded_at=None).count() == 1


def test_a_version_that_was_rolled_back_to_stays_as_long_as_one_proposal_of_it_is_applied() -> None:
    done = versions()
    made = carried_out(back())
    proposing.policy(uninstall_on_archive=True)
    lifecycle.archive(building.scope(), done.id, now=timezone.now())
    assert current(done).ref == FIRST
    lifecycle.archive(building.scope(), made.id, now=timezone.now())
    assert registry.current(done.tenant_id, "prompt-template", "triage.summary") is None


def test_an_ordinary_proposal_does_not_bring_a_superseded_version_back() -> None:
    versions()
    made = proposing.propose(text=ODD)
    with pytest.raises(Conflict, match="has been installed already"):
        opened(made)


def test_every_version_is_listed_with_who_installed_it_the_latest_first() -> None:
    done = versions()
    carried_out(back())
    rows = registry.versions(done.tenant_id, "prompt-template", "triage.summary")
    assert [(row.ref, row.superseded_at is None) for row in rows] == [(SECOND, False), (FIRST, True)]
    page = installation.list_installed(building.scope(role="viewer"), kind="prompt-template", limit=1)
    assert ([row.ref for row in page.rows], page.total) == ([SECOND], 2)
    rest = installation.list_installed(
        building.scope(role="viewer"), kind="prompt-template", before=page.after, limit=1
    )
    assert ([row.ref for row in rest.rows], rest.after) == ([FIRST], None)
    assert installation.list_installed(building.scope("globex"), limit=9).total == 0
    with pytest.raises(Forbidden):
        installation.list_installed(building.scope(role="auditor"), limit=1)


def pack(version: str, *agents: str) -> str:
    members = [{"agentId": each, "systemPrompt": f"You are {version}."} for each in agents]
    return proposing.agent_pack(*members, version=version)


def test_a_pack_comes_back_with_its_parts_and_what_only_the_newer_one_had_goes() -> None:
    clerk, extra = "private.acme.clerk", "private.acme.extra"
    done = proposing.applied(text=pack("1.0.0", clerk), kind="agent-pack")
    proposing.applied(text=pack("2.0.0", clerk, extra), kind="agent-pack")
    name = proposing.PACK["name"]
    assert {each.name for each in registry.agents(done.tenant_id)} == {clerk, extra}
    made = carried_out(back(f"agent-pack:{name}@1.0.0"))
    assert made.installed_ref == f"agent-pack:{name}@1.0.0"
    [there] = registry.agents(done.tenant_id)
    assert (there.ref, json.loads(there.text)["systemPrompt"]) == (f"agent:{clerk}@1.0.0", "You are 1.0.0.")
    assert there.part_of.ref == made.installed_ref


def test_a_part_alone_is_not_rolled_back_to() -> None:
    clerk = "private.acme.clerk"
    proposing.applied(text=pack("1.0.0", clerk), kind="agent-pack")
    proposing.applied(text=pack("2.0.0", clerk), kind="agent-pack")
    with pytest.raises(NotFound):
        back(f"agent:{clerk}@1.0.0")


def test_a_version_that_was_rolled_back_to_says_since_when_it_is_in_force_again(client: Client) -> None:
    first = versions()
    carried = carried_out(back())
    client.force_login(building.operator("acme"))
    for proposal in (first, carried):
        shown = client.get(f"/proposals/{ids.wire('prop', proposal.id)}").content.decode()
        assert "First installed" in shown
        again = shown.partition("<dt>In force again</dt>")[2].partition("</dd>")[0]
        assert carried.closed_at
        assert carried.closed_at.strftime("%Y-%m-%dT%H:%M:%S") in again
