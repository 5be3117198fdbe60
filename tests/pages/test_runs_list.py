"""The list of runs: its filters on the page, in its files and over the API, and how it pages."""

import json
import re
from datetime import datetime, timedelta
from functools import partial
from html import unescape
from urllib.parse import quote

import pytest
from django.db import connection, transaction
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from memory import external_runs, origins, run_search
from memory.addresses import Address, Tier
from memory.entry_drafts import EntryDraft
from memory.host import ids, registry, runs, tenancy
from memory.host.models import ArtifactKind
from memory.host.runs import RunOrder, open_run
from memory.ledger.entries import AddressedValue
from memory.models.entry import MemoryEntry
from memory.openintent import entries
from memory.openintent.access import Caller
from memory.passes import definition_of
from openwop_console.runtime import engine, run_operations
from openwop_console.runtime.run_operations import RunRequest
from tests import building
from tests.pages.conftest import SignIn, body_of, standing

pytestmark = pytest.mark.django_db


def run_of(workflow: str, *, type_id: str = "core.noop", created: datetime | None = None) -> str:
    """A run of Acme that has ended, as its address has it."""
    building.install("acme", building.definition(workflow, building.node("only", type_id)))
    run = run_operations.create_run(building.scope(), RunRequest(workflow), now=created or timezone.now())
    return ids.wire("run", building.advance(run).id)


def listed(browser: Client, query: str) -> list[str]:
    return [row["id"] for row in json.loads(body_of(browser.get(f"/runs?format=json&{query}")))["runs"]]


def over_the_api(query: str, slug: str = "acme") -> list[str]:
    answer = Client().get(f"/v1/host/console/runs?{query}", HTTP_X_API_KEY=building.key(slug))
    assert answer.status_code == 200, answer.content
    return [row["runId"] for row in answer.json()["runs"]]


@pytest.mark.engines
def test_runs_are_listed_by_status_workflow_and_time(ada: Client) -> None:
    now = timezone.now()
    old = run_of("daily", created=now - timedelta(days=9))
    begun = (now - timedelta(days=5)).replace(hour=0, minute=0, second=0, microsecond=0)
    failed = run_of("broken", type_id="core.fail", created=begun)
    other = run_of("weekly")
    day = begun.date().isoformat()
    wanted = {
        "status=failed": [failed],
        "status=completed": [other, old],
        "status=cancelled": [],
        "workflow=daily&status=completed": [old],
        "workflow=daily&status=failed": [],
        f"since={day}": [other, failed],
        f"since={day}&until={day}": [failed],
        "": [other, failed, old],
    }
    for query, found in wanted.items():
        assert listed(ada, query) == found, query
        shown = body_of(ada.get(f"/runs?{query}")).partition('id="runs"')[2]
        assert [each for each in (other, failed, old) if each in shown] == found, query
    midnight = f"{day}T00:00:00Z"
    assert over_the_api(f"status=failed&since={midnight}&workflowId=broken") == [failed]
    assert over_the_api(f"until={midnight}") == [old]
    assert over_the_api("", slug="globex") == []


@pytest.mark.engines
def test_a_part_of_the_name_of_a_workflow_is_enough(ada: Client) -> None:
    triage, second, other = run_of("support-triage"), run_of("support-summary"), run_of("night-report")
    assert listed(ada, "workflow=support") == [second, triage]
    assert listed(ada, "workflow=SUMM") == [second]
    assert listed(ada, "workflow=night-report") == [other]
    assert listed(ada, "workflow=nothing") == []
    longer = run_of("night-report-2")
    assert listed(ada, "workflow=night-report") == [other]
    assert listed(ada, "workflow=night-rep") == [longer, other]


@pytest.mark.engines
def test_runs_elsewhere_are_found_by_the_names_that_the_list_shows(
    ada: Client, sign_in: SignIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    owner, elsewhere = building.scope(), {}
    for system, ref in (("LangGraph", "t-7"), ("LangGraph", "t-8"), ("crew-summary", "r-100%")):
        stated = origins.of_document({"system": system, "runId": ref, "node": "plan"})
        written = external_runs.write_entry(owner, "notes", EntryDraft("far"), stated, now=timezone.now())
        elsewhere[ref] = ids.wire("run", MemoryEntry.objects.get(id=written.id).run_id)
    summary = run_of("support-summary")
    newest = list(reversed(elsewhere.values()))
    wanted = {
        "langgraph": newest[1:],
        "LangGraph: t-7": [elsewhere["t-7"]],
        "graph: t-": newest[1:],
        "T-8": [elsewhere["t-8"]],
        "100%": newest[:1],
        "%": newest[:1],
        "summary": [summary, newest[0]],
        "langgraph: r": [],
        "external-run": newest,
        "nothing": [],
    }
    for part, found in wanted.items():
        assert listed(ada, f"workflow={quote(part)}") == found, part
    assert listed(ada, "workflow=langgraph&status=completed") == []
    shown = body_of(ada.get("/runs?workflow=langgraph"))
    assert standing(1, 2, 2, "runs") in shown
    assert listed(sign_in("globex"), "workflow=langgraph") == []
    monkeypatch.setattr(run_search, "SEARCHED", 1)
    assert listed(ada, "workflow=langgraph: t") == newest[1:2], "of the runs elsewhere, the newest are looked at"


def test_a_run_elsewhere_whose_only_writes_are_confidential_is_found_by_those_who_may_open_them(
    ada: Client, sign_in: SignIn
) -> None:
    place = Address(tier=Tier.EPISODIC, agent_id="far", namespace="n", key="k", sensitivity="confidential")
    stated = origins.of_document({"system": "hush", "runId": "r-1"})
    caller = Caller(building.scope(), "far")
    entries.create(caller, AddressedValue(place, {"iban": 1}), origin=stated, now=timezone.now())
    assert len(listed(ada, "workflow=hush")) == 1
    assert listed(sign_in(role="viewer"), "workflow=hush") == []


@pytest.mark.engines
def test_runs_are_listed_by_agent_and_by_how_long_they_took(ada: Client) -> None:
    building.install("acme", building.definition("slow", building.node("only", "core.noop")))
    begun = timezone.now()
    by_length = {}
    for seconds, agent in ((1, "acme.one"), (20, "acme.two")):
        run = run_operations.create_run(building.scope(), RunRequest("slow", agent_id=agent), now=begun)
        moments = iter([begun + timedelta(seconds=seconds * step) for step in range(99)])
        engine.advance(run.tenant_id, run.id, holder="test/1", clock=partial(next, moments))
        by_length[seconds] = ids.wire("run", run.id)
    assert listed(ada, "agent=acme.two") == [by_length[20]]
    assert listed(ada, "agent=acme.three") == []
    assert listed(ada, "slower=10") == [by_length[20]]
    assert set(listed(ada, "slower=1")) == set(by_length.values())
    assert ada.get("/runs?slower=2").status_code == 400


@pytest.mark.engines
def test_a_run_is_of_every_agent_that_acted_in_it(
    ada: Client, sign_in: SignIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    for slug in ("acme", "globex"):
        names = [f"private.{slug}.{name}" for name in ("checker", "helper")]
        for name in names:
            building.install_agent(slug, {"agentId": name})
        nodes = [building.node(f"n{place}", "core.noop", agent={"agentId": name}) for place, name in enumerate(names)]
        building.install(slug, building.definition("both", *nodes))
        building.install(slug, building.definition("none", building.node("only", "core.noop")))
        assert building.execute(building.scope(slug), "both").status == "completed"
    (acted,) = listed(ada, "")
    own = ids.wire("run", building.execute(building.scope(), "none", agent_id="private.acme.helper").id)
    none = run_of("daily")
    stated = EntryDraft("far", agent_id="private.acme.helper")
    written = external_runs.write_entry(building.scope(), "notes", stated, None, now=timezone.now())
    elsewhere = ids.wire("run", MemoryEntry.objects.get(id=written.id).run_id)
    superseded = registry.current(building.tenant().id, ArtifactKind.AGENT, "private.acme.checker")
    assert superseded
    registry.supersede(superseded, now=timezone.now())
    assert listed(ada, "agent=private.acme.checker") == [acted]
    assert listed(ada, "agent=private.acme.helper") == [elsewhere, own, acted]
    assert listed(sign_in("globex"), "agent=private.acme.helper") == []
    assert "/runs?agent=private.acme.helper" in body_of(ada.get("/agents/private.acme.helper"))
    rows = json.loads(body_of(ada.get("/runs?format=json")))["runs"]
    both = ["private.acme.checker", "private.acme.helper"]
    assert {row["id"]: row["agents"] for row in rows} == {acted: both, own: both[1:], none: [], elsewhere: both[1:]}
    shown = body_of(ada.get("/runs?agent=private.acme.checker")).partition('id="runs"')[2]
    assert standing(1, 1, 1, "runs") in shown
    assert all(f'title="{each}"' in shown for each in both)
    monkeypatch.setattr(run_search, "SEARCHED", 2)
    assert listed(ada, "agent=private.acme.helper") == [elsewhere, own], "among the newest"


@pytest.mark.only_db("sqlite")
def test_the_runs_of_an_agent_are_told_apart_by_an_index_and_their_agents_read_at_once(ada: Client) -> None:
    building.install_agent("acme", {"agentId": "private.acme.helper"})
    node = building.node("only", "core.noop", agent={"agentId": "private.acme.helper"})
    building.install("acme", building.definition("helped", node))

    def asked() -> list[str]:
        building.execute(building.scope(), "helped")
        ada.get("/runs?agent=private.acme.helper")
        with CaptureQueriesContext(connection) as queries:
            ada.get("/runs?agent=private.acme.helper")
        return [each["sql"] for each in queries]

    once, twice = asked(), asked()
    assert len(once) == len(twice)
    read = [each for each in twice if "host_resolution" in each]
    assert len(read) == 3, "the page, its total, and the agents of its rows"
    for each in read:
        with connection.cursor() as cursor:
            plan = str(cursor.execute(f"EXPLAIN QUERY PLAN {each}").fetchall())
        assert not re.search(r"SCAN (U0|host_)", plan), plan
        assert not re.search(r"SEARCH (U0|host_resolution) USING [^(]*\(tenant_id=\?\)", plan), plan


@pytest.mark.engines
def test_runs_are_listed_by_who_started_them_and_without_the_workflows_of_the_host(ada: Client) -> None:
    building.install("acme", building.definition("daily", building.node("only", "core.noop")))
    mine = tenancy.tenant_scope(tenancy.operator_principal(building.operator(email="rosa@acme.example")))
    others, own = (
        ids.wire("run", run_operations.create_run(scope, RunRequest("daily"), now=timezone.now()).id)
        for scope in (building.scope(), mine)
    )
    order = RunOrder("host-test", definition_of("test"), "host", system=True)
    with transaction.atomic():
        by_host = ids.wire("run", open_run(mine.tenant_id, order, now=timezone.now(), ready=False).id)
    assert listed(ada, f"by={mine.principal.id}") == [own]
    assert listed(ada, "by=clients") == [own, others]
    assert by_host in listed(ada, "")
    assert by_host not in listed(ada, "status=unfinished"), "the logs of the host never end"
    assert listed(ada, "by=usr_0") == []
    shown = body_of(ada.get(f"/runs?by={mine.principal.id}"))
    assert f'<option value="{mine.principal.id}" selected>rosa@acme.example</option>' in shown
    assert "rosa@acme.example" in shown.partition('id="runs"')[2], "the list names who started a run"
    assert f"/runs?by={mine.principal.id}" in body_of(ada.get(f"/runs/{own}"))


@pytest.mark.engines
def test_the_unfinished_runs_of_a_filter_are_cancelled_together_after_a_question(ada: Client, sign_in: SignIn) -> None:
    ended, owner = run_of("daily"), building.scope()
    building.remember("acme", "x", workflow_id="mine")
    gate = {"title": "Go on", "artifactId": "a", "artifactType": "document", "actions": ["accept", "reject"]}
    building.install("acme", building.definition("asks", building.node("gate", "core.approvalGate", gate)))
    other, *mine = (ids.wire("run", building.execute(by, "asks").id) for by in (building.scope(), owner, owner))
    query = f"by={owner.principal.id}&status=unfinished"
    assert listed(ada, query) == mine[::-1]
    external_runs.write_entry(owner, "notes", EntryDraft("far"), None, now=timezone.now())
    assert listed(ada, query)[1:] == mine[::-1], "one elsewhere goes on too, and is not cancelled here"
    link = "/runs/cancel?" + query.replace("&", "&amp;")
    assert f'href="{link}"' in body_of(ada.get(f"/runs?{query}"))
    assert "/runs/cancel" not in body_of(ada.get("/runs")), "the question is about the unfinished ones alone"
    viewer = sign_in("acme", "viewer")
    assert "/runs/cancel" not in body_of(viewer.get(f"/runs?{query}"))
    assert viewer.get(f"/runs/cancel?{query}").status_code == 403
    asked = body_of(ada.get(f"/runs/cancel?{query}"))
    assert "Cancel 2 runs?" in asked
    assert "These are the newest" not in asked, "these are all"
    assert re.findall(r'name="id" value="(run_\w+)"', asked) == mine[::-1]
    assert 'name="id"' not in body_of(ada.get("/runs/cancel?status=pending")), (
        "those that wait for an answer are others"
    )
    answer = ada.post(f"/runs/cancel?{query}", {"id": [*mine, ended], "reason": "its key has leaked"}, follow=True)
    assert "2 runs are being cancelled." in body_of(answer)
    assert "1 had ended already or cannot be cancelled here." in body_of(answer)
    assert 'name="id"' not in body_of(ada.get(f"/runs/cancel?{query}")), "they are being cancelled"
    for each in mine:
        building.advance(runs.find(owner.tenant_id, ids.parse("run", each)))
    statuses = {row["id"]: row["status"] for row in json.loads(body_of(ada.get("/runs?format=json")))["runs"]}
    assert [statuses[each] for each in (*mine, ended, other)] == [
        *["cancelled"] * 2,
        "completed",
        "waiting-approval",
    ]
    assert "its key has leaked" in body_of(ada.get(f"/runs/{mine[0]}"))


def test_no_run_is_cancelled_by_a_question_without_runs_or_of_another_tenant(ada: Client, sign_in: SignIn) -> None:
    building.install("acme", building.definition("daily", building.node("only", "core.noop")))
    run = ids.wire("run", run_operations.create_run(building.scope(), RunRequest("daily"), now=timezone.now()).id)
    for sent in ({}, {"id": [run] * 101}):
        refused = ada.post("/runs/cancel", sent)
        assert (refused.status_code, "Choose 1 to 100 runs." in body_of(refused)) == (422, True)
    answer = sign_in("globex").post("/runs/cancel", {"id": run}, follow=True)
    assert "1 had ended already or cannot be cancelled here." in body_of(answer)
    assert listed(ada, "status=pending") == [run]


def test_how_many_runs_were_looked_at_is_said_where_not_all_were(ada: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_search, "SEARCHED", 2)
    old, *_ = [run_of("daily") for _ in range(4)]
    assert "Looked at the newest 2 runs" in body_of(ada.get("/runs?agent=acme.one"))
    assert "Looked at the newest" not in body_of(ada.get("/runs"))
    assert old not in listed(ada, "slower=1")


def test_a_status_that_is_none_is_refused_and_not_ignored(ada: Client) -> None:
    answer = ada.get("/runs?status=bogus")
    assert answer.status_code == 400
    assert "<code>status</code>" in body_of(answer)
    refused = Client().get("/v1/host/console/runs?status=bogus", HTTP_X_API_KEY=building.key("acme"))
    assert refused.status_code == 400
    assert refused.json()["details"]["errors"][0]["field"] == "status"


@pytest.mark.usefixtures("short_pages")
def test_older_runs_of_a_filter_follow_without_a_gap_and_files_hold_all(
    ada: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("memory.host.sql.CHUNK", 4)
    building.install("acme", building.definition("daily", building.node("only", "core.noop")))
    same = timezone.now()
    for number in range(8):
        run_operations.create_run(building.scope(), RunRequest("daily"), now=same if number % 2 else timezone.now())
    building.remember("acme", "x", workflow_id="mine")
    first = body_of(ada.get("/runs?status=pending"))
    assert standing(1, 5, 8, "runs") in first
    ways = re.search(r'<a class="button" href="([^"]+)" hx-get="([^"]+)"[^>]*>Older', first)
    assert ways
    for older in ways.groups():  # without scripts, and with them
        assert standing(6, 8, 8, "runs") in body_of(ada.get(unescape(older)))
    api, key = Client(), building.key("acme")
    page = api.get("/v1/host/console/runs?limit=5", HTTP_X_API_KEY=key).json()
    rest = api.get(f"/v1/host/console/runs?limit=5&after={page['next']}", HTTP_X_API_KEY=key).json()
    assert len({row["runId"] for row in page["runs"] + rest["runs"]}) == page["total"] == 9
    assert rest["next"] is None
    assert standing(1, 1, 1, "runs") in body_of(ada.get("/runs?workflow=mine"))
    assert "Nothing matches" in body_of(ada.get("/runs?workflow=none"))
    assert json.loads(body_of(ada.get("/runs?format=json")))["total"] == 9
    assert body_of(ada.get("/runs?format=csv")).count("\r\n") == 10


@pytest.mark.only_db("sqlite")
def test_every_filter_reads_an_index_in_the_order_of_the_list(ada: Client) -> None:
    """SQLite plans without statistics: what it does with no rows it does with a million."""
    for query in ("", "status=failed", "workflow=daily", "since=2026-01-01", "status=failed&since=2026-01-01"):
        with CaptureQueriesContext(connection) as asked:
            ada.get(f"/runs?{query}")
        (read,) = [each["sql"] for each in asked if 'FROM "host_run"' in each["sql"] and "LIMIT 51" in each["sql"]]
        with connection.cursor() as cursor:
            plan = str(cursor.execute(f"EXPLAIN QUERY PLAN {read}").fetchall())
        assert "USING INDEX host_run_" in plan, query
        assert "TEMP B-TREE" not in plan, query


def test_a_role_that_reads_no_runs_gets_none_over_the_api(sign_in: SignIn) -> None:
    answer = Client().get("/v1/host/console/runs", HTTP_X_API_KEY=building.key("acme", "auditor"))
    assert answer.status_code == 403
