"""The night report: what a night did, each figure with its list, an earlier night, and undoing a pass from there."""

import csv
import io
import json
import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from html import unescape
from typing import Any

import pytest
import time_machine
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from memory import ledger, memory_policy
from memory.host import audit, ids, sql
from memory.host.events import Failure
from memory.host.models import Operator
from memory.models import Commitment, Firing, Pass
from memory.models.entry import MemoryEntry
from memory.passes import PassOrder, decline, nights, orders
from memory.passes.orders import RequestedPass
from openwop_console.runtime import commitment_firing
from tests import building
from tests.pages.conftest import SignIn, body_of

pytestmark = pytest.mark.django_db
DOOR = "The door of hall 4 is blue."


def page(browser: Client, url: str = "/nights") -> str:
    answer = browser.get(url)
    assert answer.status_code == 200, url
    return body_of(answer)


def carried_out(row: Pass) -> Pass:
    ended = orders.run_pass(row.tenant_id, row.id, holder="test/1", clock=timezone.now)
    assert ended
    return ended


def ordered(kind: str = "consolidate", now: datetime | None = None, **options: Any) -> Pass:
    return orders.order(building.scope(), RequestedPass(kind, "notes", options), now=now or timezone.now())


def night() -> None:
    """Acme's night has come, with its passes carried out."""
    made: list[Pass] = []
    memory_policy.change(
        building.scope(), {"nightly": True, "distill_above": 10}, now=timezone.now() - timedelta(days=2)
    )
    nights.order_nights(queue=made.append, now=timezone.now())
    assert [carried_out(row).state for row in made] == ["done", "done"]


def figure(shown: str, label: str) -> tuple[str, str]:
    """What stands beside ``label``, and where it leads."""
    found = re.search(rf'<dt>{label}</dt><dd><a href="([^"]+)">([^<]+)</a>', shown)
    assert found, label
    return found[2], unescape(found[1])


def test_the_first_page_leads_to_what_the_last_night_did_and_each_figure_to_its_list(ada: Client) -> None:
    building.remember("acme", DOOR, DOOR, "The lamp costs 40 euros.", "The lamp costs 45 euros.")
    night()
    assert 'href="/nights"' in page(ada, "/")
    shown = page(ada)
    assert re.search(r"<h1[^>]*>\s*Since 03:00 (today|yesterday)", shown)
    assert figure(shown, "Merged")[0] == "1 entry"
    assert figure(shown, "Replaced by newer values")[0] == "1 entry"
    words, url = figure(shown, "Distilled")
    assert words == "2 entries into 1 archive"
    assert "2 entries distilled" in page(ada, url)
    assert "consolidate" not in page(ada, url).split('id="night-list"')[1]
    assert "2 removed" in page(ada, figure(shown, "Merged")[1])
    assert figure(shown, "Passes")[0] == "2"


def test_all_of_a_pass_is_restored_from_the_night_in_two_clicks_and_the_outcome_stays_what_it_was(ada: Client) -> None:
    building.remember("acme", DOOR, DOOR, DOOR)
    work = carried_out(ordered())
    url = f"/passes/{ids.wire('pass', work.id)}"
    assert "<dt>Entries after</dt><dd>1</dd>" in page(ada, url)
    asks = re.search(r'href="(/passes/\w+/undo\?next=[^"]+)"', page(ada))
    assert asks
    form = page(ada, unescape(asks[1]))
    assert "Restore 2 entries" in form
    assert "autofocus" in form.partition("<textarea")[2].partition(">")[0]
    [back] = re.findall(r'name="next" value="([^"]+)"', form)
    refused = ada.post(f"{url}/undo", {"reason": "", "next": back})
    assert "autofocus" not in body_of(refused).partition("<textarea")[2].partition(">")[0], "the summary has the focus"
    assert (refused.status_code, MemoryEntry.objects.filter(retired_at=None).count()) == (422, 1)
    answer = ada.post(f"{url}/undo", {"reason": "not the same door", "next": back})
    assert answer["Location"] == "/nights"
    shown = body_of(ada.get("/nights"))
    assert "2 entries restored." in shown
    assert "2 restored since" in shown
    assert "/undo" not in shown
    after = page(ada, url)
    assert re.search(r"<dt>Entries after</dt><dd>1</dd></div>\s*<div><dt>Restored since</dt><dd>2</dd>", after)
    assert "<dt>Strengthened</dt><dd>1</dd>" in after
    assert "of 3 sources, 2 restored since" in after
    assert "strengthened" not in after
    again = ada.post(f"{url}/undo", {"reason": "again"})
    assert (again.status_code, again["Location"]) == (302, url)
    assert "nothing left to restore" in page(ada, f"{url}/undo")


def test_one_entry_is_restored_with_its_reason_on_record(ada: Client) -> None:
    building.remember("acme", DOOR, DOOR)
    work = carried_out(ordered())
    shown = page(ada, f"/passes/{ids.wire('pass', work.id)}")
    form = re.search(r'<form class="cluster" action="(/memory/mem_\w+/restore)".*?</form>', shown, re.DOTALL)
    assert form
    assert 'name="reason"' in form[0]
    ada.post(form[1], {"reason": "another door"})
    [told] = [each for each in audit.export_records(work.tenant_id) if each.action == "memory.restored"]
    assert (told.details, told.reason) == ({}, "another door")
    assert "1 restored since" in page(ada, f"/passes/{ids.wire('pass', work.id)}")


@pytest.mark.engines
def test_what_was_refused_or_failed_stands_there_with_its_reason(ada: Client) -> None:
    building.remember("acme", DOOR)
    tenant, now = building.tenant(), timezone.now()
    order = PassOrder("distill", "night/x", "host", "notes")
    decline(tenant.id, order, Failure("worker_lost", "The workers of this pass died."), refused=False, now=now)
    shown = page(ada)
    words, url = figure(shown, "Refused, failed or stopped")
    assert words == "1 pass"
    assert "The workers of this pass died." in page(ada, url)


@pytest.mark.engines
def test_what_left_memory_for_good_is_counted_by_its_reason_and_listed(ada: Client) -> None:
    expiring, merged = building.remember("acme", "one", "two").entries
    tenant, now = building.tenant(), timezone.now()
    ledger.erase.remove_entries(tenant.id, (building.id_of("mem", expiring),), reason="expired", now=now)
    ledger.erase.remove_entries(tenant.id, (building.id_of("mem", merged),), reason="merged", now=now)
    shown = page(ada)
    for label, entry in (("Expired", expiring), ("Purged after the restore window", merged)):
        words, url = figure(shown, label)
        assert words == "1 entry deleted"
        assert f'href="/memory/{entry}"' in page(ada, url)
    assert page(ada, f"/nights?night={timezone.now().date() - timedelta(days=3)}").count("0 entries deleted") == 2


@pytest.mark.engines
def test_a_night_begins_at_its_time_of_day_and_an_earlier_one_is_chosen(ada: Client) -> None:
    building.remember("acme", DOOR)
    memory_policy.change(building.scope(), {"timezone": "Europe/Berlin", "night_at": "02:30"}, now=timezone.now())
    inside = datetime(2026, 3, 3, 1, 30, tzinfo=UTC)
    for at in (inside - timedelta(milliseconds=1), inside, inside + timedelta(hours=23, minutes=59)):
        ordered(now=at)
    counted = {day: figure(page(ada, f"/nights?night=2026-03-0{day}"), "Passes")[0] for day in (2, 3, 4)}
    assert counted == {2: "1", 3: "2", 4: "0"}
    assert "/nights?night=2026-03-02" in page(ada, "/nights?night=2026-03-03")
    for wrong in ("2026-13-01", "soon", "2999-01-01", "0001-01-01"):
        assert ada.get(f"/nights?night={wrong}").status_code == 400
    assert ada.get("/nights?show=everything").status_code == 400


def test_the_title_says_since_when_and_a_pass_who_ordered_it(ada: Client) -> None:
    building.remember("acme", DOOR, DOOR)
    memory_policy.change(building.scope(), {"timezone": "Pacific/Auckland", "night_at": "12:00"}, now=timezone.now())
    ada.post("/consolidation/order", {"kind": "consolidate", "ref": "notes"})
    noon, evening = datetime(2026, 3, 3, 0, 30, tzinfo=UTC), datetime(2026, 3, 3, 20, 0, tzinfo=UTC)  # 13:30, 09:00
    for at, expected in ((noon, True), (evening, False)):
        assert nights.night_of(building.scope(), None, now=at).began_today == expected
    shown = page(ada)
    assert "Last night" not in shown
    assert "Since 12:00 " in shown
    assert re.search(r'on-demand</span><span class="sub">ordered by\s*<span title="usr_\w+">[^<]+@', shown)
    assert "24 hours from 2026-03-02, 12:00" in page(ada, "/nights?night=2026-03-02")


def test_a_dry_run_and_the_passes_of_another_tenant_are_in_no_night(ada: Client, sign_in: SignIn) -> None:
    building.remember("acme", DOOR, DOOR)
    carried_out(orders.order(building.scope(), RequestedPass("consolidate", "notes", dry_run=True), now=timezone.now()))
    ordered()
    assert figure(page(ada), "Passes")[0] == "1"
    assert figure(page(sign_in("globex")), "Passes")[0] == "0"


def test_a_viewer_reads_the_night_and_is_refused_the_undoing(ada: Client, sign_in: SignIn) -> None:
    building.remember("acme", DOOR, DOOR)
    url = f"/passes/{ids.wire('pass', carried_out(ordered()).id)}/undo"
    viewer = sign_in(role="viewer")
    assert "/undo" not in page(viewer)
    assert viewer.get(url).status_code == viewer.post(url, {"reason": "x"}).status_code == 403
    assert sign_in("globex").post(url, {"reason": "x"}).status_code == 404


def test_the_report_and_the_undoing_over_the_api(client: Client) -> None:
    building.remember("acme", DOOR, DOOR)
    work = carried_out(ordered())
    owner, viewer = building.headers(), building.headers(role="viewer")
    told = client.get("/v1/host/console/nights", **owner).json()
    assert (told["night"]["merged"], told["total"], told["passes"][0]["restorable"]) == (1, 1, 1)
    assert client.get("/v1/host/console/nights?show=failed", **owner).json()["passes"] == []
    url = f"/v1/host/console/passes/{ids.wire('pass', work.id)}/restore"
    given: dict[str, Any] = {"data": {"reason": "no"}, "content_type": "application/json"}
    assert client.post(url, **given, **viewer).status_code == 403
    assert client.post(url, data={}, content_type="application/json", **owner).status_code == 400
    assert client.post(url, **given, **owner).json() == {
        "restoredNow": 1, "removed": 1, "restored": 1, "restorable": 0, "lost": 0,
    }  # fmt: skip
    assert client.post(url, **given, **owner).json()["restoredNow"] == 0
    assert client.post(url, **given, **building.headers("globex")).status_code == 404


def test_the_page_as_json_has_the_figures(ada: Client) -> None:
    building.remember("acme", DOOR, DOOR)
    carried_out(ordered())
    assert json.loads(page(ada, "/nights?format=json"))["merged"] == 1


@pytest.mark.engines
def test_the_rows_behind_each_figure_are_given_as_a_file(ada: Client) -> None:
    building.remember("acme", DOOR, DOOR)
    made = ids.wire("pass", carried_out(ordered()).id)
    for show in nights.SHOWS:
        assert [row.get("id") for row in file_of(ada, show)] == ([made] if show in ("passes", "merged") else []), show
        answer = ada.get(f"/nights?show={show}&format=csv")
        assert f"-{show}.csv" in answer["Content-Disposition"]


def test_the_files_of_what_fired_and_of_what_left_for_good_have_its_rows(ada: Client) -> None:
    tenant, now = building.tenant(), timezone.now()
    gone = building.remember("acme", "one")
    building.remember("acme", "Call Ana in 3 days.")
    commitment_firing.process_commitments(tenant.id, clock=timezone.now)
    row = Commitment.objects.get()
    with time_machine.travel(now + timedelta(days=5)):
        ledger.erase.remove_entries(
            tenant.id, (building.id_of("mem", gone.entries[0]),), reason="expired", now=timezone.now()
        )
        commitment_firing.process_commitments(tenant.id, clock=timezone.now)
        ada.force_login(Operator.objects.get())
        [fired], [left] = (file_of(ada, show) for show in ("fired", "expired"))
    assert (fired["commitmentId"], fired["runId"]) == (
        ids.wire("cmt", row.id),
        ids.wire("run", Firing.objects.get().run_id),
    )
    assert (left["id"], left["reason"], left["runId"]) == (gone.entries[0], "expired", ids.wire("run", gone.run.id))


def test_a_commitment_whose_run_was_refused_says_the_code_of_the_refusal(ada: Client) -> None:
    needs = [{"name": "who", "type": "string", "required": True}]
    building.install("acme", building.definition("remind", building.remember_node("x"), variables=needs))
    memory_policy.change(building.scope(), {"commitment_workflow": "remind"}, now=timezone.now())
    building.remember("acme", "Call Ana in 3 days.")
    commitment_firing.process_commitments(building.tenant().id, clock=timezone.now)
    with time_machine.travel(timezone.now() + timedelta(days=5)):
        commitment_firing.process_commitments(building.tenant().id, clock=timezone.now)
        ada.force_login(Operator.objects.get())
        assert 'refused: <code class="small">validation_error</code>' in page(ada, "/nights?show=fired")


def file_of(browser: Client, show: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(body_of(browser.get(f"/nights?show={show}&format=csv")))))


@pytest.fixture
def plan() -> Iterator[Any]:
    with connection.cursor() as cursor:
        if sql.is_postgres():
            cursor.execute("ANALYZE")
            for way in ("seqscan", "bitmapscan"):
                cursor.execute(f"SET LOCAL enable_{way} = off")
        explain = "EXPLAIN" if sql.is_postgres() else "EXPLAIN QUERY PLAN"

        def planned(statement: str) -> str:
            cursor.execute(f"{explain} {statement}")
            return "\n".join(str(row[-1]) for row in cursor.fetchall())

        yield planned


GROWING = (
    "memory_pass", "memory_firing", "memory_tombstone", "memory_lineage", "memory_memoryentry", "memory_commitment",
)  # fmt: skip


@pytest.mark.engines
def test_a_night_costs_as_many_queries_whatever_it_did_and_reads_by_an_index(ada: Client, plan: Any) -> None:
    urls, counted = [f"/nights?show={show}" for show in ("passes", "merged", "fired", "expired")], []
    for number in (2, 6):
        for _ in range(number):
            building.remember("acme", DOOR, DOOR)
            carried_out(ordered())
        asked = {url: asked_by(ada, url) for url in urls}
        counted.append({url: len(statements) for url, statements in asked.items()})
    assert counted[0] == counted[1]
    for url, statements in asked.items():
        for statement in statements:
            if statement.startswith(("SELECT", "WITH")) and any(f'"{table}"' in statement for table in GROWING):
                lines = plan(statement).splitlines()
                wide = [line for line in lines if re.search(rf"(SCAN|Seq Scan on) ({'|'.join(GROWING)})\b", line)]
                assert wide == [], (url, statement)


def asked_by(ada: Client, url: str) -> list[str]:
    """The statements of a page that was shown before."""
    ada.get(url)
    with CaptureQueriesContext(connection) as asked:
        ada.get(url)
    return [each["sql"] for each in asked.captured_queries]
