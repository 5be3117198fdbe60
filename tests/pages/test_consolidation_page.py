"""Consolidation, one pass, and retention, as an operator sees and works them."""

import csv
import io
import json
import re
from collections.abc import Callable
from datetime import datetime, timedelta
from html import unescape
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import connection, transaction
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from memory import adapter, ledger, memory_policy, passes, provenance
from memory.entry_drafts import EntryDraft
from memory.host import audit, event_log, ids, tenancy
from memory.host.errors import Invalid, TokenBudgetExceeded
from memory.host.events import MemoryConsolidated
from memory.host.models import AuditRecord
from memory.ledger.entries import Derivation
from memory.ledger.retirement import EntryToRetire
from memory.models import Archive, Pass, PassSchedule
from memory.models.entry import MemoryEntry
from memory.passes import consolidation, orders, pass_schedules
from memory.passes.orders import RequestedPass
from memory.provenance import Descent
from memory.views import passes as passes_views
from tests import archiving, building
from tests.fixtures_queue import Drain
from tests.pages.conftest import HTMX, SignIn, body_of, standing
from tests.pages.test_needs_you import counted, listed, needs

pytestmark = pytest.mark.django_db
BAD = "<script>alert(1)</script>\u202eprice"


class Merging:
    """A flow that merges what differs in case alone: as small as one can be that goes through every door."""

    KIND = "consolidate"
    names_ids = True
    refuses = False
    more = 0

    def checked_options(self, options: dict[str, Any]) -> dict[str, Any]:
        if options:
            raise Invalid("There are no options.")
        return options

    def carry_out(self, work: Pass, *, clock: Callable[[], datetime]) -> None:
        if self.refuses:
            raise TokenBudgetExceeded(budget=10, minimumRequired=40)
        scope = tenancy.memory_scope(tenancy.host_scope(work.run.tenant), work.memory_ref)
        assert scope
        now = clock()
        groups: dict[str, list[Any]] = {}
        for chunk in adapter.passes.corpus(scope, now=now):
            for entry in chunk:
                groups.setdefault(entry.content.lower(), []).append(entry)
        total = sum(map(len, groups.values()))
        many = [group for group in groups.values() if len(group) > 1]
        figures = {"inputCount": total, "outputCount": len(groups), "merged": total - len(groups)}
        if work.dry_run:
            plan = [
                {"kind": "merged", "into": None, "from": [ids.wire("mem", e.id) for e in group], "why": "same words"}
                for group in many
            ]
            passes.finish(work, outcome={**figures, "groups": plan, "groupCount": len(plan) + self.more}, now=now)
            return
        with transaction.atomic():
            gone = [entry.id for group in many for entry in group]
            ledger.retirement.retire_entries(work.tenant_id, [EntryToRetire(each, "merged") for each in gone], now=now)
            for group in many:
                made = Derivation(EntryDraft(group[0].content), "merged")
                [written] = ledger.entries.write_derived(scope, [made], run=work.run, now=now)
                ledger.entries.strengthen(work.tenant_id, [(written.id, len(group), now)])
                descents = [Descent(e.id, written.id, "merged") for e in group]
                provenance.record(work.tenant_id, descents, pass_id=work.id, now=now)
            fact = MemoryConsolidated(work.memory_ref, total, len(groups), tuple(gone) if self.names_ids else None)
            event_log.append(work.tenant_id, work.run_id, fact, now=now)
            passes.finish(work, outcome=figures, now=now)


@pytest.fixture(autouse=True)
def merging(monkeypatch: pytest.MonkeyPatch) -> Merging:
    found = Merging()
    monkeypatch.setitem(orders.KINDS, "consolidate", found)
    return found


def page(browser: Client, url: str, **headers: Any) -> str:
    answer = browser.get(url, **headers)
    assert answer.status_code == 200, url
    return body_of(answer)


def ordered(ref: str = "notes", **given: Any) -> str:
    """The id of a pass that somebody has asked for."""
    wanted = RequestedPass(**{"kind": "consolidate", "memory_ref": ref, **given})
    row = orders.order(building.scope(), wanted, now=timezone.now())
    return ids.wire("pass", row.id)


def carried_out(ref: str = "notes", **given: Any) -> str:
    pass_id = ordered(ref, **given)
    found = ids.parse("pass", pass_id)
    assert found
    orders.run_pass(building.tenant().id, found, holder="test/1", clock=timezone.now)
    return pass_id


def sources_of(shown: str) -> int:
    return shown.count("/restore")


def after_in(shown: str) -> str:
    """What the address behind "Older" says."""
    pager = shown.split('class="pager"')[1]
    return pager.split("?after=")[1].split('"', maxsplit=1)[0].replace("&amp;", "&")


# --- the list ---------------------------------------------------------------------------------------------------------


def test_a_pass_is_asked_for_watched_and_told_of_with_what_went_in_and_came_out(ada: Client, drain: Drain) -> None:
    building.remember("acme", "The door is blue", "the door is BLUE", "The lamp is old", "The lamp is new")
    assert "No passes yet" in page(ada, "/consolidation")
    answer = ada.post("/consolidation/order", {"kind": "consolidate", "ref": "notes"})
    url = answer["Location"]
    waiting = page(ada, url)
    assert "Waiting for a worker" in waiting
    assert 'hx-trigger="every 1s"' in waiting
    drain()
    polled = ada.get(url, **HTMX)
    assert polled.status_code == 286
    assert 'hx-trigger="every 1s"' not in body_of(polled)
    assert "<html" not in body_of(polled)
    shown = page(ada, "/consolidation")
    assert "4 → 3" in shown
    assert "in progress" not in shown
    assert "75 %" in shown
    assert standing(1, 1, 1, "passes") in shown


def test_more_than_half_gone_or_a_failure_is_unusual(ada: Client, merging: Merging) -> None:
    building.remember("acme", "x", "X", "x", "X", "y")
    pass_id = carried_out()
    assert "more than half of the entries are gone" in page(ada, "/consolidation")
    assert "Unusual: more than half" in page(ada, f"/passes/{pass_id}")
    broken = ordered("other")
    row = Pass.objects.get(id=building.id_of("pass", broken))
    passes.fail(row, orders.BUG, now=timezone.now())
    assert "it has failed" in page(ada, "/consolidation")


@pytest.mark.engines
def test_a_consolidation_that_lost_more_than_half_needs_who_may_undo_it_until_they_have(
    ada: Client, sign_in: SignIn, merging: Merging
) -> None:
    building.remember("acme", "x", "X", "x", "X", "y")
    building.remember("acme", "x", "X", memory_ref="halved")
    lost = [carried_out(), carried_out("halved"), carried_out("notes", dry_run=True)][0]
    assert f'href="/passes/{lost}"' in listed(ada, "losses")
    assert "Consolidation of notes left 2 of 5 entries" in listed(ada, "losses")
    assert (needs(ada)["losses"], needs(sign_in(role="viewer"))["losses"]) == (1, None)
    assert counted(ada, "/nights") == "1"
    assert needs(sign_in("globex", role="owner"))["losses"] == 0
    orders.restore_pass(building.scope(), ids.parse("pass", lost), reason="too much", now=timezone.now())
    assert needs(ada)["losses"] == 0


def test_a_loss_that_a_person_has_reviewed_leaves_needs_you(ada: Client, sign_in: SignIn, merging: Merging) -> None:
    building.remember("acme", "x", "X", "x", "X", "y")
    lost, tried = carried_out(), carried_out(dry_run=True)
    viewer = sign_in(role="viewer")
    assert "Needs the permission memory:retire" in page(viewer, f"/passes/{lost}")
    assert viewer.post(f"/passes/{lost}/review").status_code == 403
    assert ada.post(f"/passes/{tried}/review").status_code == 409
    assert needs(ada)["losses"] == 1
    assert "Mark as reviewed" in page(ada, f"/passes/{lost}")
    for _ in range(2):
        assert ada.post(f"/passes/{lost}/review").status_code == 302
    for _ in range(51):  # however much else is on record about it
        audit.append(building.tenant().id, actor="host", action="act", target=lost, now=timezone.now())
    assert ada.post(f"/passes/{lost}/review").status_code == 302
    shown = page(ada, f"/passes/{lost}")
    assert "Reviewed by" in shown
    assert "Mark as reviewed" not in shown
    assert needs(ada)["losses"] == 0
    assert AuditRecord.objects.filter(action="pass.reviewed", target=lost).count() == 1
    assert sign_in("globex", role="owner").post(f"/passes/{lost}/review").status_code == 404


@pytest.mark.usefixtures("short_pages")
def test_passes_are_filtered_paged_and_given_as_files(ada: Client) -> None:
    made = [ordered(f"ref-{number % 2}") for number in range(8)]
    shown = page(ada, "/consolidation")
    assert standing(1, 5, 8, "passes") in shown
    rest = page(ada, f"/consolidation?after={after_in(shown)}", **HTMX)
    assert standing(6, 8, 8, "passes") in rest
    assert made[0] in rest
    assert "<html" not in rest
    assert "of 4 passes" in page(ada, "/consolidation?ref=ref-1")
    assert "Nothing matches" in page(ada, "/consolidation?ref=none")
    assert "Nothing matches" in page(ada, "/consolidation?kind=distill")
    assert "of 8 passes" in page(ada, "/consolidation?kind=all")
    rows = list(csv.DictReader(io.StringIO(page(ada, "/consolidation?format=csv&ref=ref-1"))))
    assert len(rows) == 4
    assert json.loads(page(ada, "/consolidation?format=json"))["total"] == 8


def test_a_longer_list_needs_no_more_queries(ada: Client) -> None:
    ordered()
    with CaptureQueriesContext(connection) as few:
        page(ada, "/consolidation")
    for number in range(30):
        ordered(f"r{number}")
    with CaptureQueriesContext(connection) as many:
        page(ada, "/consolidation")
    assert len(many) <= len(few) <= 24


def test_the_last_repeat_over_unchanged_memory_is_told(ada: Client) -> None:
    assert "Not tested yet" in page(ada, "/consolidation")
    building.remember("acme", "x", "X")
    carried_out()
    assert "Not tested yet" in page(ada, "/consolidation")
    second = carried_out()
    shown = page(ada, "/consolidation")
    assert "It changed nothing, as it should." in shown
    assert f"/passes/{second}" in shown


# --- one pass ---------------------------------------------------------------------------------------------------------


def test_each_result_stands_beside_its_sources_with_what_differs(ada: Client) -> None:
    building.remember("acme", "The door is blue", "the door is BLUE")
    shown = page(ada, f"/passes/{carried_out()}")
    assert "strengthened" in shown
    assert "of 2 sources" in shown
    assert "<del>" in shown
    assert "<ins>" in shown
    assert "Word for word the same." in shown
    assert sources_of(shown) == 2
    assert "incl. queue" in shown
    assert standing(1, 2, 2, "sources") in shown


def test_an_archive_stands_beside_what_it_was_made_from(ada: Client) -> None:
    building.remember("acme", "The invoice of March was paid late.", "The customer asked for a refund of the fee.")
    tried = page(ada, f"/passes/{carried_out(kind='distill', options={'tokenBudget': 400}, dry_run=True)}")
    assert "Token budget" in tried
    assert tried.count("invoice of March") == 1
    shown = page(ada, f"/passes/{carried_out(kind='distill', options={'tokenBudget': 400})}")
    assert standing(1, 2, 2, "sources") in shown
    assert shown.count("invoice of March") >= 2
    assert 'href="/archives/arc_' in shown
    assert sources_of(shown) == 0
    again = page(ada, f"/passes/{carried_out(kind='distill', options={'tokenBudget': 400})}")
    assert "the same archive already existed" in again


def test_a_compacted_entry_stands_beside_its_sources(ada: Client) -> None:
    entries = building.remember("acme", "first note", "second note", "third note").entries
    tried = page(ada, f"/passes/{carried_out(kind='compact', dry_run=True)}")
    assert "3 <svg" in tried
    url = f"/passes/{carried_out(kind='compact')}"
    shown = page(ada, url)
    assert "its text is a part of it" in shown
    assert sources_of(shown) == len(entries)
    assert "3 → 1" in page(ada, "/consolidation")
    ada.post(f"/memory/{entries[0]}/restore")
    since = page(ada, url)
    assert "3 <svg" in since
    assert "</svg> 1 entry" in since
    assert "<dt>Restored since</dt><dd>1</dd>" in since
    refused = page(ada, f"/passes/{carried_out(kind='compact')}")
    assert "nothing_to_compact" in refused


def test_the_host_s_own_consolidation_is_told_the_same_way(ada: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(orders.KINDS, "consolidate", consolidation)
    fee = "The annual fee of the team plan is 49 EUR."
    building.remember("acme", fee, fee.upper(), "The annual fee of the team plan is 59 EUR.", "The pump is loud.")
    planned = page(ada, f"/passes/{carried_out(dry_run=True)}")
    assert "What would happen" in planned
    assert fee in planned
    assert len(building.contents(building.scope())) == 4
    url = f"/passes/{carried_out()}"
    shown = page(ada, url)
    assert standing(1, 2, 2, "sources") in shown
    assert "an earlier value of the same statement: amount" in shown
    assert "same statement" in shown
    assert sources_of(shown) == 2
    carried_out()
    assert "It changed nothing, as it should." in page(ada, "/consolidation")


def test_a_dry_run_that_kept_not_every_group_says_so(ada: Client, merging: Merging) -> None:
    building.remember("acme", "x", "X")
    merging.more = 300
    assert "first 1 of 301 groups" in page(ada, f"/passes/{carried_out(dry_run=True)}")


def test_a_fact_without_ids_is_told(ada: Client, merging: Merging) -> None:
    merging.names_ids = False
    building.remember("acme", "x", "X")
    assert "The host left the ids out" in page(ada, f"/passes/{carried_out()}")


def test_a_source_is_restored_from_the_page_and_no_pass_takes_it_again(ada: Client) -> None:
    (first, _) = building.remember("acme", "x", "X").entries
    pass_id = carried_out()
    assert building.contents(building.scope()) == ["x"]
    assert ada.post(f"/memory/{first}/restore").status_code == 302
    shown = page(ada, f"/passes/{pass_id}")
    assert "restored" in shown
    assert sources_of(shown) == 1
    assert "protected" in page(ada, f"/memory/{first}")
    assert sorted(building.contents(building.scope())) == ["x", "x"]


def test_whoever_restores_or_protects_from_a_pass_lands_at_the_top_of_that_page_where_the_message_is(
    ada: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(passes_views, "SOURCES", 4)
    building.remember("acme", *["x", "X"] * 3)
    url = f"/passes/{carried_out()}"
    url = f"{url}?after={after_in(page(ada, url))}"
    for verb in ("restore", "protect"):
        shown = page(ada, url)
        form = re.search(rf'<form class="cluster" action="(/memory/mem_\w+/{verb})".*?</form>', shown, re.DOTALL)
        assert form
        [back] = re.findall(r'name="next" value="([^"]+)"', form[0])
        answer = ada.post(form[1], {"next": unescape(back)})
        assert answer["Location"] == url
        if verb == "restore":
            ada.post(form[1].replace("/restore", "/protect"), {"protected": "no"})


def test_nobody_is_sent_to_another_site_from_there(ada: Client) -> None:
    [entry] = building.remember("acme", "x").entries
    ada.post(f"/memory/{entry}/retire", {"reason": ""})
    others = ["https://evil.example/", "//evil.example", "/\\evil.example", "///evil.example", "javascript:alert(1)"]
    for place in (*others, "", "passes/pass_1", "\\/evil.example", " //evil.example", "/" + "x" * 3000):
        for verb in ("restore", "protect"):
            answer = ada.post(f"/memory/{entry}/{verb}", {"next": place})
            assert answer["Location"] == f"/memory/{entry}", (place, verb)


def test_after_its_window_a_source_is_not_offered_any_more(ada: Client) -> None:
    building.remember("acme", "x", "X")
    pass_id = carried_out()
    gone = Pass.objects.get(id=building.id_of("pass", pass_id))
    window = timedelta(days=memory_policy.policy_of(gone.tenant_id).restore_days, seconds=-1)
    rows = ledger.erase.merged_away_rows(gone.tenant_id, before=timezone.now() + window)
    ledger.erase.remove_entries(gone.tenant_id, tuple(row for row, _ in rows), reason="merged", now=timezone.now())
    shown = page(ada, f"/passes/{pass_id}")
    assert sources_of(shown) == 0
    assert shown.count('<span class="muted">merged</span>') == 2


def test_a_dry_run_shows_the_plan_and_changes_nothing(ada: Client) -> None:
    building.remember("acme", "door", "Door", "lamp", "pump", "Pump")
    pass_id = carried_out(dry_run=True)
    shown = page(ada, f"/passes/{pass_id}")
    assert "nothing was changed" in shown
    assert "What would happen" in shown
    assert "same words" in shown
    assert len(building.contents(building.scope())) == 5
    told = json.loads(page(ada, f"/passes/{pass_id}?format=json"))
    groups = [[source["content"] for source in group["sources"]] for group in told["groups"]]
    assert groups == [["door", "Door"], ["pump", "Pump"]]


def test_sources_are_paged_to_their_end(ada: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(passes_views, "SOURCES", 4)
    building.remember("acme", *["x", "X"] * 5)
    for dry_run in (True, False):
        url = f"/passes/{carried_out(dry_run=dry_run)}"
        shown = page(ada, url)
        assert standing(1, 4, 10, "sources") in shown, dry_run
        second = page(ada, f"{url}?after={after_in(shown)}")
        assert standing(5, 8, 10, "sources") in second, dry_run
        assert standing(9, 10, 10, "sources") in page(ada, f"{url}?after={after_in(second)}"), dry_run
        with CaptureQueriesContext(connection) as queries:
            page(ada, url)
        assert len(queries) <= 22, dry_run


def test_what_a_pass_shows_of_hostile_memory_is_inert(ada: Client) -> None:
    building.remember("acme", BAD, BAD.upper())
    for url in (f"/passes/{carried_out(dry_run=True)}", f"/passes/{carried_out()}"):
        shown = page(ada, url)
        assert "<script>alert" not in shown
        assert "U+202E" in shown


def test_a_refused_pass_says_why_and_is_run_again(ada: Client, merging: Merging, drain: Drain) -> None:
    merging.refuses = True
    pass_id = carried_out()
    shown = page(ada, f"/passes/{pass_id}")
    assert "token_budget_exceeded" in shown
    assert "Minimum budget" in shown
    assert TokenBudgetExceeded.message in shown
    merging.refuses = False
    again = ada.post(f"/passes/{pass_id}/again")
    drain()
    assert "No duplicates found" in page(ada, again["Location"])
    assert ada.post(f"{again['Location']}/again").status_code == 409


def test_a_refused_pass_names_what_was_wrong(ada: Client, drain: Drain) -> None:
    (mem_id,) = building.remember("acme", "x", memory_ref="empty").entries
    ada.post(f"/memory/{mem_id}/retire", {"reason": "old"})
    ada.post("/archives/distill", {"ref": "empty", "budget": ""})
    drain()
    shown = page(ada, f"/passes/{ids.wire('pass', Pass.objects.get().id)}")
    assert "There is nothing to distil." in shown
    assert "holds nothing that could be distilled" in shown


def test_a_ref_that_nobody_has_comes_back_on_its_form(ada: Client) -> None:
    building.scope("globex")
    for ref in ["", "a/../b", "a\nb", "tenant/globex/notes"]:
        times = {"times-kind": "consolidate", "times-ref": ref, "times-cron": "0 3 * * *", "times-timezone": "UTC"}
        for url, form, field in (
            ("/consolidation/order", {"kind": "consolidate", "ref": ref}, "id_ref"),
            ("/consolidation/schedules", times, "id_times-ref"),
        ):
            answer = ada.post(url, form)
            shown = body_of(answer)
            assert answer.status_code == 422, url
            assert f'href="#{field}"' in shown, ref
            assert f'id="{field}_error"' in shown, ref
            assert "data-focus" in shown, ref
        assert Pass.objects.count() == PassSchedule.objects.count() == 0, ref


def test_a_pass_that_waits_is_stopped_from_its_page(ada: Client) -> None:
    url = f"/passes/{ordered()}"
    assert "Stop" in page(ada, url)
    shown = body_of(ada.post(f"{url}/stop", follow=True))
    assert "The pass is cancelled." in shown
    assert "Run it again" in shown


def test_who_may_not_run_passes_sees_why_the_buttons_are_off(sign_in: SignIn) -> None:
    building.remember("acme", "x", "X")
    done, waiting = carried_out(), ordered()
    viewer = sign_in(role="viewer")
    shown = page(viewer, "/consolidation")
    assert "Needs the permission <code>passes:run</code>" in shown
    assert "Stopping needs the permission" in page(viewer, f"/passes/{waiting}")
    assert 'title="Needs the permission memory:retire"' in page(viewer, f"/passes/{done}")
    posts = [f"/passes/{waiting}/stop", f"/passes/{waiting}/again", "/consolidation/order", "/consolidation/schedules"]
    for url in posts:
        assert viewer.post(url, {"kind": "consolidate", "ref": "notes"}).status_code in {403, 409}, url
    assert viewer.post("/retention", {}).status_code == 403


# --- schedules --------------------------------------------------------------------------------------------------------


def test_a_schedule_is_kept_shown_with_its_next_tick_and_removed(ada: Client) -> None:
    form = {
        "times-kind": "consolidate",
        "times-ref": "notes",
        "times-cron": "0 3 * * *",
        "times-timezone": "Europe/Berlin",
    }
    shown = body_of(ada.post("/consolidation/schedules", form, follow=True))
    assert "The schedule is saved." in shown
    assert "0 3 * * *" in shown
    assert "Europe/Berlin" in shown
    assert "<time" in shown.split('data-label="Next pass">')[1].split("</td>")[0]
    rests = body_of(ada.post("/consolidation/schedules", {**form, "times-rests": "on"}, follow=True))
    assert "rests" in rests
    remove = shown.split('action="/consolidation/schedules/')[1].split('"')[0]
    assert "The schedule is removed" in body_of(ada.post(f"/consolidation/schedules/{remove}", follow=True))


def test_what_the_form_does_not_show_of_a_schedule_stays_as_it_was(ada: Client) -> None:
    options = {"tokenBudget": 700, "includeArchives": True}
    wanted = pass_schedules.PassTimes("distill", "notes", "0 3 * * *", options=options)
    pass_schedules.set_schedule(building.scope(), wanted, now=timezone.now())
    form = {"times-kind": "distill", "times-ref": "notes", "times-cron": "0 4 * * *", "times-timezone": "UTC"}
    assert "700 tokens" in body_of(ada.post("/consolidation/schedules", form, follow=True))
    kept = PassSchedule.objects.get()
    assert (kept.cron, kept.options) == ("0 4 * * *", {**kept.options, **options})
    assert "800 tokens" in body_of(ada.post("/consolidation/schedules", {**form, "times-budget": "800"}, follow=True))
    assert PassSchedule.objects.get().options == {**kept.options, "tokenBudget": 800}
    for budget, kind in (("0", "distill"), ("x", "distill"), ("5", "compact")):
        refused = ada.post("/consolidation/schedules", {**form, "times-budget": budget, "times-kind": kind})
        assert (refused.status_code, 'href="#id_times-budget"' in body_of(refused)) == (422, True), budget


def test_a_schedule_that_cannot_be_is_shown_with_what_is_wrong(ada: Client) -> None:
    form = {"times-kind": "compact", "times-ref": "notes", "times-cron": "0 3 * * *", "times-timezone": "UTC"}
    for field, value in [("cron", "daily"), ("timezone", "Mars"), ("cron", ""), ("kind", "x")]:
        answer = ada.post("/consolidation/schedules", {**form, f"times-{field}": value})
        assert answer.status_code == 422, field
        assert f'href="#id_times-{field}"' in body_of(answer), field


# --- entries ----------------------------------------------------------------------------------------------------------


def test_an_entry_says_what_it_was_made_of_and_what_was_made_of_it(ada: Client) -> None:
    (first, second) = building.remember("acme", "x", "X").entries
    pass_id = carried_out()
    up = page(ada, f"/memory/{first}")
    assert "merged away" in up
    assert "Went into" in up
    assert f"/passes/{pass_id}" in up
    [made] = [row.id for row in adapter.runs.list_entries(building.ref(building.scope(), "notes"), now=timezone.now())]
    down = page(ada, f"/memory/{ids.wire('mem', made)}")
    assert "Made from" in down
    assert f"/memory/{second}" in down
    assert "merged" in page(ada, "/memory")


def test_an_entry_is_protected_and_unprotected(ada: Client, sign_in: SignIn) -> None:
    [entry] = building.remember("acme", "x").entries
    shown = body_of(ada.post(f"/memory/{entry}/protect", follow=True))
    assert "Passes will not remove the entry" in shown
    assert '<input type="hidden" name="protected" value="no">' in shown
    assert "Unprotect" in shown
    shown = body_of(ada.post(f"/memory/{entry}/protect", {"protected": "no"}, follow=True))
    assert "Protect<" in shown
    assert 'name="protected"' not in shown
    assert sign_in(role="viewer").post(f"/memory/{entry}/protect").status_code == 403


# --- retention --------------------------------------------------------------------------------------------------------


def test_one_of_a_thing_is_told_in_the_singular(ada: Client) -> None:
    building.remember("acme", "a note")
    order = RequestedPass("distill", "notes", {"tokenBudget": 2000})
    work = orders.order(building.scope(), order, now=timezone.now())
    orders.run_pass(work.tenant_id, work.id, holder="test/1", clock=timezone.now)
    form = {"archive_days": "30", "restore_days": "1", "stale_days": "90", "timezone": "UTC", "distiller": "extractive"}
    shown = body_of(ada.post("/retention", {**form, "confirmed": "on"}, follow=True))
    assert "<dd>1 archive</dd>" in shown
    assert "<dt>Restore window</dt><dd>1 day</dd>" in shown
    assert "1 entry distilled" in page(ada, "/nights")
    assert "Made from 1 of 1 entry." in page(ada, f"/archives/{ids.wire('arc', Archive.objects.get().id)}")


def test_retention_tells_what_leaves_and_what_never_does(ada: Client) -> None:
    owner = building.scope()
    run = building.open_run(owner)
    now = timezone.now()
    for hours in (2, 30, 300):
        building.write(owner, run, f"in {hours}", expires_at=now + timedelta(hours=hours), agent_id="acme.writer")
    building.write(owner, run, "for ever", agent_id="acme.writer")
    past = now - timedelta(hours=3)
    building.write(owner, run, "over", now=past, expires_at=past + timedelta(hours=1))
    building.remember("acme", "x", "X", memory_ref="twice")
    carried_out("twice")
    found = adapter.statistics.retention_figures(owner, now=timezone.now())
    assert (found.in_a_day, found.in_a_week, found.lapsed) == (1, 2, 1)
    assert found.taken_away == {"merged": 2}
    shown = page(ada, "/retention")
    assert "acme.writer" in shown
    assert "2 merged" in shown
    assert "1 entry, the first" in shown
    assert page(ada, "/retention").count('<svg class="spark"') >= 2


@pytest.mark.engines
def test_growth_counts_entries_duplicates_tokens_and_bytes_per_week(ada: Client) -> None:
    building.remember("acme", "\u00e9t\u00e9", "\u00c9T\u00c9", "other", memory_ref="notes")
    carried_out()
    rows = list(csv.DictReader(io.StringIO(page(ada, "/retention?format=csv"))))
    [agent] = [row for row in rows if row["name"] == "acme.writer" and row["entries"] != "0"]
    assert (agent["entries"], agent["duplicates"], agent["bytes"]) == ("3", "2", "15")
    assert int(agent["tokens"]) >= 3
    nodes = {row["name"] for row in rows if row["by"] == "node"}
    assert {"remember-1", "remember-2", "remember-3"} <= nodes
    assert len([row for row in rows if row["name"] == "acme.writer"]) == 8


def test_more_writers_need_no_more_queries(ada: Client) -> None:
    building.remember("acme", "x")
    with CaptureQueriesContext(connection) as few:
        page(ada, "/retention")
    owner = building.scope()
    run = building.open_run(owner)
    for number in range(30):
        building.write(owner, run, "y", agent_id=f"agent-{number}", node_id=f"node-{number}")
    with CaptureQueriesContext(connection) as many:
        shown = page(ada, "/retention")
    assert len(many) <= len(few) <= 24
    assert "20 of 31" in shown


def test_an_owner_changes_the_policy_and_what_is_wrong_stands_at_its_field(ada: Client, sign_in: SignIn) -> None:
    form = {
        "archive_days": "10",
        "restore_days": "5",
        "stale_days": "90",
        "timezone": "Europe/Berlin",
        "distiller": "extractive",
    }
    shown = body_of(ada.post("/retention", {**form, "confirmed": "on"}, follow=True))
    assert "The policy is changed." in shown
    assert "5 days" in shown
    assert memory_policy.policy_of(building.tenant().id).restore_days == 5
    for field, value in (("restore_days", "0"), ("timezone", "Mars"), ("commitment_workflow", "nobody-has-this")):
        answer = ada.post("/retention", {**form, field: value})
        assert answer.status_code == 422
        assert f'href="#id_{field}"' in body_of(answer)
    assert "Changing it needs the permission" in page(sign_in(role="operator"), "/retention")


def test_an_owner_switches_the_nights_on_and_off_and_two_pages_say_so(ada: Client) -> None:
    form = {
        "archive_days": "30",
        "restore_days": "30",
        "stale_days": "90",
        "timezone": "UTC",
        "distiller": "extractive",
    }
    assert "Nightly passes are off." in page(ada, "/consolidation")
    on = {**form, "nightly": "on", "night_at": "02:15", "distill_above": "900"}
    shown = body_of(ada.post("/retention", on, follow=True))
    assert "consolidates and distills at 02:15" in shown
    assert "more than 900 tokens" in shown
    assert memory_policy.policy_of(building.tenant().id).nightly
    assert "Every night at 02:15 (UTC)" in page(ada, "/consolidation")
    answer = ada.post("/retention", {**on, "night_at": "2:15"})
    assert answer.status_code == 422
    assert 'href="#id_night_at"' in body_of(answer)
    ada.post("/retention", {**form, "distill_above": ""})
    assert "Nightly passes are off." in page(ada, "/consolidation")
    assert memory_policy.policy_of(building.tenant().id).distill_above == 0


def test_a_shorter_policy_first_says_what_it_touches(ada: Client) -> None:
    building.remember("acme", "x", "X", memory_ref="twice")
    carried_out("twice")
    archiving.distilled("acme", "one")
    past = timezone.now() - timedelta(days=9)
    MemoryEntry.objects.written_by(ledger.head.WRITER).exclude(retired_kind="").update(retired_at=past)
    form = {"archive_days": "10", "restore_days": "5", "stale_days": "90", "timezone": "UTC", "distiller": "extractive"}
    preview = ada.post("/retention", form)
    shown = body_of(preview)
    assert preview.status_code == 200
    assert "2 entries that passes removed are removed for good at the next sweep" in shown
    assert "1 archive keeps the date that it was made with" in shown
    assert memory_policy.policy_of(building.tenant().id).restore_days == 30
    sent = dict(re.findall(r'<input type="hidden" name="([a-z_]+)" value="([^"]*)"', shown.split("policy-preview")[-1]))
    assert "The policy is changed." in body_of(ada.post("/retention", sent, follow=True))
    assert memory_policy.policy_of(building.tenant().id).restore_days == 5
    longer = {**form, "restore_days": "20", "archive_days": "11"}
    assert "The policy is changed." in body_of(ada.post("/retention", longer, follow=True))
    assert "0 entries" in body_of(ada.post("/retention", {**longer, "restore_days": "19"}))
    assert ada.post("/retention", {**longer, "restore_days": "0"}).status_code == 422


def test_a_pass_over_a_ref_without_memory_is_refused_at_every_door_and_a_schedule_for_it_is_kept(ada: Client) -> None:
    for url, form in (
        ("/consolidation/order", {"kind": "consolidate", "ref": "nothing/here"}),
        ("/archives/distill", {"ref": "nothing/here", "budget": ""}),
    ):
        answer = ada.post(url, form)
        assert answer.status_code == 422
        assert "There is no memory by that ref." in body_of(answer)
    body = {"kind": "consolidate", "memoryRef": "nothing/here"}
    key = building.headers()
    answer = Client().post("/v1/host/console/passes", body, content_type="application/json", **key)
    assert (answer.status_code, answer.json()["message"]) == (404, "There is no memory by that ref.")
    with pytest.raises(CommandError, match="There is no memory by that ref"):
        call_command("run_pass", "consolidate", tenant="acme", ref="nothing/here")
    assert Pass.objects.count() == 0
    times = pass_schedules.PassTimes("consolidate", "nothing/here", "0 3 * * *")
    assert pass_schedules.set_schedule(building.scope(), times, now=timezone.now()).enabled
