"""Agents: what each has in memory, what was last done to that, and what of it waits, with a tab for each."""

import json
import re
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from memory import artifact_stops
from memory.host import ids
from memory.models import Agent, Pass
from memory.openintent import work
from memory.openintent.work.rows import NewAgent, NewIntent, NewTask
from memory.passes import orders
from memory.passes.orders import RequestedPass
from tests import building, proposing
from tests.pages.conftest import SignIn, body_of

pytestmark = pytest.mark.django_db
TRIAGE, BILLING = "private.acme.triage", "private.acme.billing"
TABS = ("memory", "archives", "commitments", "proposals", "audit")


def carried_out(kind: str, ref: str, *, dry_run: bool = False) -> Pass:
    ordered = orders.order(building.scope(), RequestedPass(kind, ref, dry_run=dry_run), now=timezone.now())
    done = orders.run_pass(ordered.tenant_id, ordered.id, holder="test/1", clock=timezone.now)
    assert done is not None
    return done


def listed(browser: Client) -> dict[str, dict[str, Any]]:
    return {each["agentId"]: each for each in json.loads(body_of(browser.get("/agents?format=json")))["agents"]}


def test_agents_that_registered_over_openintent_are_listed_with_their_state_and_their_tasks(
    ada: Client, sign_in: SignIn
) -> None:
    assert "Over OpenIntent" not in body_of(ada.get("/agents"))
    acme = building.scope(role="agent")
    work.coordinators.register_agent(acme, NewAgent("desk-7", {"name": "Desk"}), actor="desk-7", now=timezone.now())
    work.coordinators.agent_heartbeat(acme, "desk-7", load=1, tasks=[], now=timezone.now())
    intent = work.intents.create_intent(acme, NewIntent("Close"), actor="desk-7", now=timezone.now())
    task = NewTask(ids.wire("intent", intent.id), "gather", assigned_agent="desk-7")
    work.tasks.create_task(acme, task, actor="desk-7", now=timezone.now())
    work.coordinators.update_agent_status(acme, "desk-7", "unhealthy", actor="desk-7", now=timezone.now())
    shown = body_of(ada.get("/agents")).partition('id="registered"')[2]
    row = Agent.objects.get(agent_id="desk-7")
    for words in (
        f'/runs/{ids.wire("run", row.run_id)}"',
        "desk-7",
        "Desk",
        "unhealthy",
        'under way">1<',
        "?agent=desk-7",
    ):
        assert words in shown, words
    assert "desk-7" not in body_of(sign_in("globex").get("/agents"))


@pytest.mark.engines
def test_the_list_says_what_was_last_done_to_the_memory_of_each_agent_and_what_waits(ada: Client) -> None:
    acme = building.scope()
    for agent in (TRIAGE, BILLING):
        building.install_agent("acme", {"agentId": agent})
    run = building.open_run(acme)
    building.write(acme, run, "A refund takes 14 days.", memory_ref="old", agent_id=TRIAGE)
    for number in range(21):
        building.write(acme, run, f"A refund of order {number} was late.", memory_ref="support", agent_id=TRIAGE)
    building.write(acme, run, "The invoice is open.", memory_ref="bills", agent_id=BILLING)
    first, merged = carried_out("distill", "support"), carried_out("consolidate", "support")
    last = carried_out("distill", "support")
    carried_out("distill", "support", dry_run=True)
    carried_out("distill", "old")
    proposing.propose(agent_id=TRIAGE)
    proposing.applied(agent_id=TRIAGE)
    found = listed(ada)
    assert first.id != last.id
    assert found[TRIAGE]["lastDistillation"] == ids.wire("pass", last.id), "nor that of a memory it left"
    assert found[TRIAGE]["lastConsolidation"] == ids.wire("pass", merged.id)
    assert (found[BILLING]["lastDistillation"], found[BILLING]["lastConsolidation"]) == (None, None)
    assert [found[each]["proposalsPending"] for each in (TRIAGE, BILLING)] == [1, 0]
    shown = body_of(ada.get("/agents"))
    assert f"/passes/{ids.wire('pass', last.id)}" in shown
    assert "never" in shown


@pytest.mark.engines
def test_the_list_asks_as_much_for_many_agents_and_entries_as_for_one(ada: Client) -> None:
    acme, run = building.scope(), building.open_run(building.scope())

    def asked() -> int:
        ada.get("/agents")
        with CaptureQueriesContext(connection) as sent:
            assert ada.get("/agents").status_code == 200
        return len(sent)

    building.install_agent("acme", {"agentId": TRIAGE})
    building.write(acme, run, "x", agent_id=TRIAGE)
    carried_out("distill", "notes")
    alone = asked()
    for number in range(8):
        building.install_agent("acme", {"agentId": f"private.acme.a{number}"})
        building.write(acme, run, f"y {number}", agent_id=f"private.acme.a{number}", memory_ref=f"ref-{number}")
    carried_out("distill", "ref-1")
    assert asked() == alone <= 16


def test_each_tab_of_an_agent_shows_what_belongs_to_it(ada: Client) -> None:
    acme = building.scope()
    installed = building.install_agent("acme", {"agentId": TRIAGE})
    run = building.open_run(acme)
    mine = building.write(acme, run, "Mine: a refund takes 14 days.", agent_id=TRIAGE)
    building.write(acme, run, "Of another.", agent_id=BILLING, memory_ref="bills")
    carried_out("distill", "notes")
    carried_out("distill", "bills")
    artifact_stops.disable(acme, installed.ref, reason="It promises refunds.", now=timezone.now())
    proposed = proposing.propose(agent_id=TRIAGE, title="Fewer promises")
    proposing.propose(title="Of a person")
    shown = {tab: body_of(ada.get(f"/agents/{TRIAGE}/{tab}")) for tab in TABS}
    assert ids.wire("mem", mine.id) in shown["memory"]
    assert "Of another." not in shown["memory"]
    assert "<code>notes</code>" in shown["archives"]
    assert "bills" not in shown["archives"]
    assert "No commitments of this agent" in shown["commitments"]
    assert ids.wire("prop", proposed.id) in shown["proposals"]
    assert "Of a person" not in shown["proposals"]
    assert "It promises refunds." in shown["audit"]
    for tab in TABS:
        assert f'href="/agents/{TRIAGE}/{tab}" aria-current="page"' in shown[tab], tab
    counts = re.findall(r'href="/agents/[^"]+/(\w+)"[^>]*>\w+ <span class="count">(\d+)<', shown["memory"])
    assert counts == [("memory", "1"), ("archives", "1"), ("commitments", "0"), ("proposals", "1")]
    assert ada.get(f"/agents/{TRIAGE}/nothing").status_code == 404
    of_agent = json.loads(body_of(ada.get(f"/proposals?agent={TRIAGE}&format=json")))
    assert [each["title"] for each in of_agent["proposals"]] == ["Fewer promises"]


def test_a_tab_that_a_role_may_not_read_is_not_offered_and_names_the_permission(sign_in: SignIn) -> None:
    building.install_agent("acme", {"agentId": TRIAGE})
    viewer = sign_in(role="viewer")
    assert f"/agents/{TRIAGE}/audit" not in body_of(viewer.get(f"/agents/{TRIAGE}"))
    answer = viewer.get(f"/agents/{TRIAGE}/audit")
    assert (answer.status_code, "audit:read" in body_of(answer)) == (403, True)
