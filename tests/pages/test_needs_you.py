"""Needs you: what waits for this operator, what it leaves out, the counts in the navigation, and what they cost."""

import re
from datetime import timedelta
from typing import Any

import pytest
from django.core.cache import caches
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from django_q.models import OrmQ

from memory.forget import execution, plans
from memory.host import access, ids, sql, tenancy
from memory.host.models import Run
from memory.models import ForgetRequest
from openwop_console import health, needs_you
from openwop_console.runtime import replay
from openwop_console.runtime.replay import ForkRequest
from proposals import lifecycle
from proposals.drafts import Change
from proposals.models import Proposal
from tests import building, inboxes, proposing
from tests.budgets import THOROUGH
from tests.memory.test_forgetting import MARTA, forget
from tests.memory.test_look_alikes import HELD, KEPT, Desk
from tests.pages.conftest import HTMX, SignIn, body_of
from tests.pages.test_commitments_page import remembered
from tests.proposing import page_of

pytestmark = pytest.mark.django_db


def needs(browser: Client) -> Any:
    return browser.get("/?format=json").json()


def listed(browser: Client, name: str) -> str:
    return body_of(browser.get("/")).partition(f'<tbody id="{name}"')[2].partition("</tbody>")[0]


def counted(browser: Client, section: str) -> str:
    """The count beside a section of the navigation."""
    link = re.search(rf'<a href="{section}"[^>]*>(.*?)</a>', body_of(browser.get("/settings")), re.DOTALL)
    assert link
    found = re.search(r'class="count">([^<]*)', link[1])
    return found[1] if found else ""


def failed_run(slug: str = "acme") -> Run:
    building.install(slug, building.definition("broken", building.node("only", "core.fail", {"code": "no_route"})))
    return building.execute(building.scope(slug), "broken")


def test_a_draft_waits_until_its_approval_is_requested_and_again_when_changes_are(ada: Client, sign_in: SignIn) -> None:
    made, viewer = proposing.propose(), sign_in(role="viewer")
    assert page_of(made) in listed(ada, "drafts")
    assert (needs(ada)["drafts"], needs(viewer)["drafts"]) == (1, None)
    gate = proposing.opened(made)
    assert needs(ada)["drafts"] == needs(ada)["changes"] == 0
    proposing.decide(made, gate, decision="changes-requested", reason="name the tool")
    assert page_of(made) in listed(ada, "changes")
    assert (needs(ada)["drafts"], needs(ada)["changes"]) == (0, 1)
    activation = Run.objects.filter(workflow_id="host-activation")
    assert [building.advance(each).status for each in activation] == ["failed"]
    assert needs(ada)["failed"] == 0, "that is what was asked for"
    lifecycle.revise(building.scope(role="author"), made.id, Change(title="Clearer"), now=timezone.now())
    assert (needs(ada)["drafts"], needs(ada)["changes"]) == (1, 0)


def test_a_failed_run_waits_for_who_may_start_runs_until_it_is_branched(ada: Client, sign_in: SignIn) -> None:
    run, viewer = failed_run(), sign_in(role="viewer")
    failed_run("globex")
    assert f"/runs/{ids.wire('run', run.id)}" in listed(ada, "failed")
    assert "no_route" in listed(ada, "failed")
    assert (needs(ada)["failed"], needs(viewer)["failed"]) == (1, None)
    replay.fork(building.scope(), run.id, ForkRequest("branch", 0), now=timezone.now())
    assert needs(ada)["failed"] == 0


@pytest.mark.engines
def test_a_replay_of_a_failed_run_waits_for_nobody_and_the_run_itself_still_does(ada: Client) -> None:
    run = failed_run()
    replayed = building.advance(replay.fork(building.scope(), run.id, ForkRequest("replay", 0), now=timezone.now()))
    assert replayed.status == "failed"
    assert needs(ada)["failed"] == 1
    assert counted(ada, "/") == "1"
    assert f"/runs/{ids.wire('run', run.id)}" in listed(ada, "failed")
    branch = building.advance(replay.fork(building.scope(), run.id, ForkRequest("branch", 0), now=timezone.now()))
    assert f"/runs/{ids.wire('run', branch.id)}" in listed(ada, "failed")
    assert needs(ada)["failed"] == 1


def test_a_receipt_with_undecided_suspects_waits_for_who_may_forget(ada: Client, sign_in: SignIn) -> None:
    now, acme = timezone.now(), building.scope()
    request = ForgetRequest(
        tenant_id=acme.tenant_id, subject_key=plans.subject_key(acme.tenant_id, MARTA), state="forgotten", plan={},
        plan_sha256="", requested_by="host", created_at=now, lapses_at=now, confirmed_at=now, finished_at=now,
        undecided=3,
    ).insert(by="memory.forget.execution")  # fmt: skip
    assert ids.wire("fgt", request.id) in listed(ada, "suspects")
    assert "3 undecided" in listed(ada, "suspects")
    assert (needs(ada)["suspects"], needs(sign_in(role="operator"))["suspects"]) == (1, None)
    assert counted(ada, "/forget") == "1"
    forget(acme)
    assert needs(ada)["suspects"] == 0


def test_an_open_preview_with_undecided_suspects_waits_for_who_may_forget(ada: Client, sign_in: SignIn) -> None:
    now, acme = timezone.now(), building.scope()
    assert needs(ada)["previews"] == 0
    building.remember("acme", f"a note of {MARTA}", f"and of jo{MARTA}")
    request = execution.preview(acme, [MARTA, "M. Kowalska"], now=now).request
    assert f"/forget/{ids.wire('fgt', request.id)}" in listed(ada, "previews")
    assert f">{MARTA}, m. kowalska<" in listed(ada, "previews"), "whoever may decide sees what it is about"
    others = (sign_in(role="operator"), sign_in("globex", role="owner"))
    assert not any(MARTA in body_of(browser.get("/")) for browser in others)
    assert (needs(ada)["previews"], needs(others[0])["previews"]) == (1, None)
    assert MARTA not in ada.get("/?format=json").content.decode()
    assert counted(ada, "/forget") == "1"
    request.lapses_at = now
    request.save(by="memory.forget.execution")
    assert needs(ada)["previews"] == 0
    assert counted(ada, "/forget") == ""


def test_the_navigation_counts_what_waits_and_stops_counting_at_ninety_nine(ada: Client, sign_in: SignIn) -> None:
    assert counted(ada, "/") == counted(ada, "/proposals") == ""
    proposing.propose()
    failed_run()
    assert (counted(ada, "/"), counted(ada, "/proposals")) == ("2", "1")
    assert counted(sign_in(role="viewer"), "/") == ""
    first = Proposal.objects.get()
    for _ in range(100):
        first.pk = (first.tenant_id, ids.new_id())
        first._state.adding = True
        first.insert(by="proposals.lifecycle")
    assert (counted(ada, "/"), counted(ada, "/proposals")) == ("99+", "99+")
    assert needs(ada)["drafts"] == 99


def test_the_most_urgent_stands_first_in_one_list_and_a_quiet_tenant_says_so(
    ada: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(health, "problems", lambda *, now: [])
    assert "Nothing needs you" in body_of(ada.get("/"))
    failed_run()
    proposing.propose()
    building.remember("acme", f"of jo{MARTA}")
    remembered("Maybe I'll call Bob in 3 days.")
    desk = Desk()
    desk.say(KEPT, HELD)
    desk.look()
    execution.preview(building.scope(), [MARTA], now=timezone.now())
    shown = body_of(ada.get("/"))
    assert "Nothing needs you" not in shown
    assert re.findall(r'<tbody id="(\w+)"', shown) == ["previews", "failed", "drafts", "possible", "duplicates"]
    assert (
        '<span class="count">2</span>'
        in body_of(ada.get("/nights")).partition('href="/nights"')[2].partition("</a>")[0]
    )


def test_what_is_wrong_with_the_host_stands_first_for_who_may_see_its_health(ada: Client, sign_in: SignIn) -> None:
    caches["default"].delete(health.HEARTBEAT)
    OrmQ.objects.create(key="console", payload="x", lock=timezone.now() - timedelta(minutes=5))
    shown = body_of(ada.get("/")).partition('aria-label="Condition of this host"')[2].partition("</section>")[0]
    assert 'href="/health"' in shown
    assert "No worker is running" in shown
    assert "tasks have waited for more than a minute" in shown
    assert "Nothing needs you" not in body_of(ada.get("/"))
    assert counted(ada, "/") == "", "the navigation counts the rows of the list, and this is none"
    assert "No worker is running" not in body_of(sign_in(role="viewer").get("/"))
    caches["default"].set(health.HEARTBEAT, timezone.now(), 45)
    OrmQ.objects.all().delete()
    assert "Condition of this host" not in body_of(ada.get("/"))


def test_a_vote_says_when_its_time_ends(ada: Client) -> None:
    proposing.opened(proposing.propose())
    assert re.search(r"expires <time.*>in 1[34] d<", listed(ada, "votes"))


def test_an_erasure_says_when_it_is_due_and_one_with_residue_stands_in_one_place(ada: Client) -> None:
    now, acme = timezone.now(), building.scope()

    def request(state: str, days: int) -> str:
        at = now - timedelta(days=days)
        row = ForgetRequest(
            tenant_id=acme.tenant_id, subject_key="", state=state, plan={}, plan_sha256="", requested_by="host",
            created_at=at, lapses_at=at, confirmed_at=at,
        ).insert(by="memory.forget.execution")  # fmt: skip
        return f"/forget/{ids.wire('fgt', row.id)}"

    left, begun = request("residue", 31), request("confirmed", 2)
    assert body_of(ada.get("/")).count(left) == body_of(ada.get("/")).count(begun) == 1
    assert left in listed(ada, "residue")
    assert "overdue" in listed(ada, "residue")
    assert begun in listed(ada, "erasures")
    assert re.search(r"due <time.*>in 2[78] d<", listed(ada, "erasures"))


def test_an_agent_that_runs_without_what_it_needs_is_degraded_on_every_page(ada: Client) -> None:
    whole = {
        "agentId": "vendor.acme.whole",
        "memoryShape": {"longTerm": True},
        "requiresCapabilities": ["memory.search"],
    }
    lacking = {
        **whole,
        "agentId": "vendor.acme.lacking",
        "requiresCapabilities": ["memory.search", "no.such.thing"],
    }
    silent = {"agentId": "vendor.acme.silent"}
    for each in (whole, lacking, silent):
        building.install_agent("acme", each)
    shown = listed(ada, "degraded")
    assert "missing: no.such.thing<" in shown
    assert [name for name in ("whole", "lacking", "silent") if f"/agents/vendor.acme.{name}" in shown] == ["lacking"]
    for path in ("/", "/agents", "/agents/vendor.acme.lacking"):
        assert "degraded (1)" in body_of(ada.get(path)), path
    told = {name: ada.get(f"/agents/vendor.acme.{name}?format=json").json() for name in ("whole", "lacking", "silent")}
    assert {name: each["health"] for name, each in told.items()} == {
        "whole": "satisfied",
        "lacking": "degraded",
        "silent": "unknown",
    }
    assert told["lacking"]["degradedMemoryDimensions"] == []
    assert ada.get("/?format=json").json()["degradedAgents"] == ["vendor.acme.lacking"]
    assert (counted(ada, "/"), counted(ada, "/agents")) == ("1", "1")


@pytest.mark.engines
def test_the_navigation_counts_what_the_page_lists_an_override_and_a_degraded_agent_too(ada: Client) -> None:
    building.install_agent("acme", {"agentId": "vendor.acme.lacking", "requiresCapabilities": ["no.such.thing"]})
    made = proposing.propose()
    inboxes.overridden(made, proposing.opened(made), now=timezone.now())
    failed_run()
    rows = re.findall(r"<tr data-item>", body_of(ada.get("/")))
    assert "was overridden" in listed(ada, "overridden")
    assert counted(ada, "/") == str(len(rows)) == "3"


def test_the_chart_has_one_axis_and_the_highest_day_is_its_end(ada: Client) -> None:
    building.remember("acme", "one", "two", "three")
    shown = body_of(ada.get("/"))
    assert "Entries written per day: at most 3 in a day" in shown
    assert shown.count("<svg viewBox") == 1


def test_what_the_navigation_costs_is_fixed_and_a_fragment_pays_none_of_it(ada: Client) -> None:
    def cost(**headers: Any) -> int:
        with CaptureQueriesContext(connection) as asked:
            ada.get("/runs", **headers)
        return len(asked)

    failed_run()
    cost()
    before = cost()
    for _ in range(3):
        failed_run()
        proposing.propose()
    assert cost() == before
    assert before - cost(**HTMX) <= 6, "four of the frame, one for degraded agents, one for who started runs"


def test_of_two_with_the_same_permissions_each_is_counted_the_votes_that_its_own_roles_have() -> None:
    proposing.policy(eligible_roles=("reviewer",))
    proposing.opened(proposing.propose())
    one, both = building.scope(), building.scope()
    access.grant_role(both.tenant_id, both.principal.id, "reviewer", now=timezone.now())
    assert one.principal.scopes == both.principal.scopes
    votes = [needs_you.counted(each, now=timezone.now())["votes"] for each in (one, both, one)]
    assert votes == [(0, False), (1, False), (0, False)]


@pytest.mark.engines
def test_the_statement_that_the_navigation_keeps_counts_what_the_lists_say(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is written once for a shape of rights, and asked for other tenants, principals and times: in a quick run for
    one time of three, and in the other tenant for the next one."""
    monkeypatch.setattr(sql, "_of_shape", {})
    later = timezone.now() + timedelta(days=2)
    times = (timezone.now(), later, later + timedelta(days=30))
    for first, (slug, failures) in enumerate((("acme", 1), ("globex", 2))):
        made = proposing.propose(building.scope(slug, "agent"))
        if slug == "acme":
            proposing.opened(proposing.propose(building.scope(slug, "agent")))
            proposing.decide(made, proposing.opened(made), decision="changes-requested", reason="name the tool")
        for _ in range(failures):
            failed_run(slug)
        person = tenancy.operator_principal(building.operator(slug))
        scopes = [
            *(building.scope(slug, role) for role in access.ROLES),
            building.scope(slug, agents=("acme.writer",)),
            building.scope(slug, owner=building.operator(slug, email=f"own@{slug}.example")),
            tenancy.tenant_scope(person),
        ]
        for turn, scope in enumerate(scopes, first):
            for now in times if THOROUGH else (times[turn % len(times)],):
                lists = needs_you.waiting_lists(scope, now=now)
                written = {name: query().count() for name, query in lists.items() if query}
                seen = needs_you.nav_counts(scope, now=now)
                assert seen == needs_you.nav_counts(scope, now=now)
                for section in ("proposals", "forget"):
                    told = sum(written[name] for name in needs_you.SECTIONS[section] if name in written)
                    assert seen[section] == str(told or ""), (slug, section, scope)
                needing = sum(written[name] for name in needs_you.SECTIONS["needs_you"] if name in written)
                assert seen["needs_you"] == str(needing or "")
    assert len(sql._of_shape) < 2 * len(access.ROLES)
