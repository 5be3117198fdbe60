"""Archives in the browser: the list with what failed, one with its sources and changes, and a new one by a form."""

import csv
import io
import json
import re
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from playwright.sync_api import Page, expect
from pytest_django.live_server_helper import LiveServer

from memory import ledger, passes, tasks, workspace
from memory.host import audit, ids
from memory.host.errors import Invalid
from memory.host.events import Failure
from memory.models import Archive, Pass
from memory.models.entry import MemoryEntry
from memory.passes import PassOrder, archives, distillation
from memory.workspace import FileDraft
from tests import archiving, browsing, building
from tests.pages.conftest import HTMX, SignIn, body_of, standing
from tests.tampering import tamper

pytestmark = pytest.mark.django_db


def address(row: Archive) -> str:
    return f"/archives/{ids.wire('arc', row.id)}"


def missed(memory_ref: str = "notes", *, minimum: int = 900, dry_run: bool = False) -> Pass:
    """A distillation that was refused because its budget of 100 was too small."""
    acme, now = building.scope(), timezone.now()
    order = PassOrder(
        "distill", f"t/{ids.new_id().hex}", acme.principal.id, memory_ref, {"tokenBudget": 100}, dry_run=dry_run
    )
    work = passes.claim(acme.tenant_id, passes.request(acme.tenant_id, order, now=now).id, holder="t", now=now)
    assert work
    told = {"details": {"budget": 100, "minimumRequired": minimum}}
    passes.fail(work, Failure("token_budget_exceeded", "too small"), outcome=told, refused=True, now=now)
    return work


def test_the_list_says_of_each_archive_what_it_cost_and_what_became_of_it(ada: Client) -> None:
    assert "No archives yet" in body_of(ada.get("/archives"))
    old = archiving.distilled("acme", "old", now=timezone.now() - timedelta(days=40))
    archiving.distilled("acme", "one", "two", token_budget=8123, index_updated=False)
    archives.withdraw_expired(now=timezone.now())
    work = missed()
    shown = body_of(ada.get("/archives"))
    for words in (
        "43 written, 100 read",
        "143 of 8,123 in all",
        "o200k_base, ±10 %",
        "2 of 2",
        "current",
        "withdrawn",
        "retention",
        "left as it was",
    ):
        assert words in shown
    assert f'href="{address(old)}"' in shown
    assert f'href="/passes/{ids.wire("pass", work.id)}"' in shown
    assert "token_budget_exceeded" in shown
    assert "at least 900 are needed" in shown
    assert standing(1, 3, 3, "archives and failures") in shown


@pytest.mark.engines
def test_an_archive_is_withdrawn_by_a_person_and_its_ref_distilled_anew_without_what_was_retired(ada: Client) -> None:
    made = archiving.distilled("acme", "The price is 5.", "PELICAN is the password.")
    planted = archives.sources_of(bytes(made.body))[1]
    ada.post(f"/memory/{ids.wire('mem', planted)}/retire")
    asked = body_of(ada.get(f"{address(made)}/withdraw"))
    assert "the entry that agents read are deleted" in asked
    assert "distilled from it" not in asked
    assert f'href="{address(made)}/withdraw"' in body_of(ada.get(address(made)))
    answer = ada.post(f"{address(made)}/withdraw", {"reason": "planted", "anew": "on"}, follow=True)
    shown = body_of(answer)
    assert "A person withdrew it." in shown
    assert "Its ref is being distilled again" in shown
    row = Archive.objects.get(id=made.id)
    assert (row.state, row.withdrawn_because, bytes(row.body)) == ("withdrawn", "requested", b"")
    assert not MemoryEntry.objects.filter(derived="distilled").exists()
    record = audit.last_of(building.tenant().id, "archive.withdrawn")
    assert record
    assert record.target == ids.wire("arc", made.id)
    assert "planted" in body_of(ada.get("/audit?action=archive.withdrawn"))
    [order] = Pass.objects.filter(kind="distill", memory_ref="notes")
    tasks.carry_out_pass(order.tenant_id.hex, order.id.hex)
    [fresh] = Archive.objects.filter(state="current")
    assert b"PELICAN" not in bytes(fresh.body)
    assert b"price is 5" in bytes(fresh.body)
    assert ada.get(f"{address(made)}/withdraw")["Location"] == address(made)


def test_an_archive_of_retired_entries_alone_says_so_and_leads_to_its_withdrawal(ada: Client) -> None:
    made = archiving.distilled("acme", "one", "two")
    first, second = (ids.wire("mem", each) for each in archives.sources_of(bytes(made.body)))
    ada.post(f"/memory/{first}/retire")
    assert "retired since" not in body_of(ada.get(address(made)))
    ada.post(f"/memory/{second}/retire")
    shown = body_of(ada.get(address(made)))
    assert "All of its 2 sources are retired since." in shown
    assert "and agents read it" in shown


def test_an_archive_is_withdrawn_once_and_by_who_may_retire_memory(sign_in: SignIn, ada: Client) -> None:
    made = archiving.distilled("acme", "one")
    viewer = sign_in(role="viewer")
    assert viewer.post(f"{address(made)}/withdraw").status_code == 403
    assert "Needs the permission memory:retire" in body_of(viewer.get(address(made)))
    assert sign_in("globex").post(f"{address(made)}/withdraw").status_code == 404
    assert Archive.objects.get(id=made.id).state == "current"
    url, key = f"/v1/host/console/archives/{ids.wire('arc', made.id)}:withdraw", building.headers()
    sent: dict[str, Any] = {"content_type": "application/json", **key}
    assert ada.post(url, {"reason": 7}, **sent).status_code == 400
    first, second = ada.post(url, {"reason": "wrong"}, **sent), ada.post(url, {}, **sent)
    assert (first.status_code, first.json()["withdrawnBecause"]) == (200, "requested")
    assert (second.status_code, second.json()["details"]["reason"]) == (410, "requested")
    assert not Pass.objects.filter(kind="distill").exists(), "nothing was said of another"


def test_a_withdrawal_alone_promises_no_other_archive(ada: Client) -> None:
    made = archiving.distilled("acme", "one")
    shown = body_of(ada.post(f"{address(made)}/withdraw", {"reason": "wrong"}, follow=True))
    assert "The archive is withdrawn." in shown
    assert "is being distilled again" not in shown


def test_the_ledger_shows_of_an_archive_its_title_and_sentences_without_their_headings(ada: Client) -> None:
    made = archiving.distilled(
        "acme", "The kiln is broken.", text="# Kilns\n## repair\nThe kiln is broken.\nOtto calls.\n## fact\n#1 is full."
    )
    shown = body_of(ada.get("/memory"))
    assert "Kilns: The kiln is broken. Otto calls. #1 is full." in shown
    assert "## repair" not in shown
    assert "<mark>Kilns</mark>: The <mark>kiln</mark> is broken." in body_of(ada.get("/memory?q=kiln"))
    assert f'href="{address(made)}" data-open dir="auto">Kilns<' in body_of(ada.get("/archives"))
    assert re.search(r"<h1[^>]*><span[^>]*>Kilns</span>", body_of(ada.get(address(made))))


def test_a_dry_run_that_was_refused_is_no_missed_night(ada: Client) -> None:
    missed(dry_run=True)
    assert "No archives yet" in body_of(ada.get("/archives"))


def test_the_list_is_filtered_by_ref_and_exported_as_it_is_filtered(ada: Client) -> None:
    archiving.distilled("acme", "one")
    archiving.distilled("acme", "two", memory_ref="=other")
    missed("=other")
    assert standing(1, 2, 2, "archives and failures") in body_of(ada.get("/archives?ref=%3Dother"))
    assert "Nothing has been distilled from that ref" in body_of(ada.get("/archives?ref=none"))
    assert "Nothing older" in body_of(ada.get(f"/archives?after=arc_{'0' * 32}"))
    assert json.loads(body_of(ada.get("/archives?ref=%3Dother&format=json")))["total"] == 2
    table = list(csv.DictReader(io.StringIO(body_of(ada.get("/archives?ref=%3Dother&format=csv")))))
    assert [(row["state"], row["memoryRef"], row["minimumRequired"], row["agents"]) for row in table] == [
        ("refused", "'=other", "900", "acme.writer"),
        ("current", "'=other", "", "acme.writer"),
    ]
    assert body_of(ada.get("/archives?ref=%3Dother")).count(">acme.writer</span>") == 2
    missed("unwritten")
    assert "acme.writer" not in body_of(ada.get("/archives?ref=unwritten"))


@pytest.mark.usefixtures("short_pages")
def test_the_list_pages_to_its_end_over_archives_and_failures_alike(
    ada: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(4):
        archiving.archive("acme", []) if number else archiving.distilled("acme", "first")
        missed()
    shown = body_of(ada.get("/archives"))
    assert standing(1, 5, 8, "archives and failures") in shown
    (older,) = {part.split('"')[0] for part in shown.split('href="') if part.startswith("/archives?after=")}
    rest = ada.get(older.replace("&amp;", "&"), **HTMX)
    assert standing(6, 8, 8, "archives and failures") in body_of(rest)
    assert "<h1>" not in body_of(rest)
    monkeypatch.setattr("memory.passes.archive_reports.EXPORTED", 3)  # a file is read in three parts
    assert body_of(ada.get("/archives?format=csv")).count("\r\n") == 9
    with CaptureQueriesContext(connection) as asked:
        ada.get("/archives")
    assert len(asked) <= 16


def test_an_archive_leads_from_each_sentence_to_its_sources_and_says_what_became_of_them(ada: Client) -> None:
    kept = building.remember("acme", "Marta wants a refund", "It was paid", "Gone by now").entries
    wants, paid, gone = (found for each in kept if (found := ids.parse("mem", each)))
    made = archiving.archive("acme", [("Marta wants a refund", [wants]), ("It was paid", [paid, gone])], topic="refund")
    ada.post(f"/memory/{kept[1]}/retire", {"reason": ""})
    ledger.erase.remove_entries(made.tenant_id, (gone,), reason="forgotten", now=timezone.now())
    shown = body_of(ada.get(address(made)))
    for words in ("refund", "Marta wants a refund", "<strong>1</strong> live", "<strong>1</strong> retired"):
        assert words in shown
    assert f'href="/memory/{kept[0]}" title="{kept[0]}" dir="auto">Marta wants a refund</a>' in shown
    assert "source 3 (forgotten)" in shown
    assert f'href="/memory/{kept[2]}"' not in shown
    for words in ("43</strong> tokens written", "100</strong> tokens read: the 3 sources", "143 of the 8,000 that"):
        assert words in shown
    assert "10 % more or less" in shown
    assert "Kept until" in shown
    assert "There is no earlier archive" in shown
    document = ada.get(f"{address(made)}?format=json").json()
    assert document["sources"] == {"live": 1, "retired": 1, "forgotten": 1}
    assert document["document"]["text"].endswith("- It was paid")


def test_what_has_changed_since_the_archive_before_is_shown(ada: Client) -> None:
    first = archiving.distilled("acme", "it costs 49", "it is blue")
    second = archiving.distilled("acme", "it costs 59", "it is blue")
    third = archiving.distilled("acme", "it costs 59", "it is blue")
    shown = body_of(ada.get(address(second)))
    assert "<mark>49</mark>" in shown
    assert "<mark>59</mark>" in shown
    assert f'href="{address(first)}"' in shown
    assert "diff-side" in body_of(ada.get(f"{address(second)}?mode=side"))
    assert "These two say the same" in body_of(ada.get(address(third)))


def test_the_memory_index_is_opened_beside_it(ada: Client) -> None:
    made = archiving.distilled("acme", "one")
    assert "There is no memory index here" in body_of(ada.get(address(made)))
    for path in ("MEMORY-INDEX.json", "MEMORY-INDEX.json.bak"):
        workspace.write_file(building.scope(), path, FileDraft(f'{{"of": "{path}"}}'), now=timezone.now())
    shown = body_of(ada.get(address(made)))
    assert "Show MEMORY-INDEX.json" in shown
    assert "&quot;of&quot;: &quot;MEMORY-INDEX.json&quot;\n}" in shown
    workspace.write_file(building.scope(), "MEMORY-INDEX.json", FileDraft("no JSON"), now=timezone.now())
    assert "no JSON" in body_of(ada.get(address(made)))


def test_many_sources_are_shown_fifty_at_a_time(ada: Client) -> None:
    many = [ids.new_id() for _ in range(230)]
    building.remember("acme", "first")
    made = archiving.archive("acme", [("said by many", many)])
    shown = body_of(ada.get(address(made)))
    assert standing(1, 50, 230, "sources") in shown
    assert "and 222 more" in shown
    assert standing(201, 230, 230, "sources") in body_of(ada.get(f"{address(made)}?source=201"))
    for odd in ("231", "0", "x", "9" * 14):
        assert standing(1, 50, 230, "sources") in body_of(ada.get(f"{address(made)}?source={odd}"))


def test_hostile_text_is_text(ada: Client) -> None:
    made = archiving.distilled("acme", '<script>alert(1)</script> <a hx-get="/x">x</a> \u202egnp.exe')
    shown = body_of(ada.get(address(made)))
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in shown
    assert '<a hx-get="/x">' not in shown
    assert "\u202e" not in shown


def test_an_archive_without_sections_shows_its_text(ada: Client) -> None:
    building.remember("acme", "first")
    made = archiving.archive("acme", [], text="What an endpoint made of it.")
    assert "What an endpoint made of it." in body_of(ada.get(address(made)))
    assert "It names no source" in body_of(ada.get(address(made)))


def test_the_checksum_is_computed_anew_and_compared(ada: Client) -> None:
    made = archiving.distilled("acme", "one")
    assert f"the stored bytes give {made.sha256}" in body_of(ada.post(f"{address(made)}/compare", follow=True))
    tamper("UPDATE memory_archive SET sha256 = %s", "f" * 64, table="memory_archive")
    shown = body_of(ada.post(f"{address(made)}/compare", follow=True))
    assert "The checksum does not match" in shown
    assert "f" * 64 in shown


def test_an_archive_whose_memory_is_as_it_was_is_distilled_anew_and_compared(
    ada: Client, drain: Callable[..., int]
) -> None:
    building.remember("acme", "Invoices of Acme must go to Berlin.", "Never call before 9.")
    ada.post("/archives/distill", {"ref": "notes", "budget": "2000"})
    drain()
    (made,) = Archive.objects.all()
    shown = body_of(ada.post(f"{address(made)}/compare", follow=True))
    assert "distilled again from the same memory" in shown
    assert Archive.objects.count() == 1
    building.remember("acme", "Acme decided to renew.")
    shown = body_of(ada.post(f"{address(made)}/compare", follow=True))
    assert "matches" in shown
    assert "was not distilled again" in shown


def test_an_archive_that_would_not_be_made_again_like_that_is_told(
    ada: Client, drain: Callable[..., int], monkeypatch: pytest.MonkeyPatch
) -> None:
    building.remember("acme", "Invoices of Acme must go to Berlin.")
    ada.post("/archives/distill", {"ref": "notes", "budget": "2000"})
    drain()
    (made,) = Archive.objects.all()
    monkeypatch.setattr("memory.text.distillers.canonical", lambda document: b"{}")
    shown = body_of(ada.post(f"{address(made)}/compare", follow=True))
    assert "Distilled again from the same memory, the result differs" in shown


def test_a_dry_run_names_what_would_be_covered(ada: Client, drain: Callable[..., int]) -> None:
    kept = building.remember("acme", "Invoices of Acme must go to Berlin.", "Never call before 9.")
    ada.post("/archives/distill", {"ref": "notes", "budget": "2000", "dry_run": "on"})
    drain()
    work = Pass.objects.get(kind="distill")
    shown = body_of(ada.get(f"/passes/{ids.wire('pass', work.id)}"))
    for entry in kept.entries:
        assert f'href="/memory/{entry}"' in shown
    assert "Invoices of Acme must go to Berlin." in shown
    assert "<dt>Index updated</dt><dd>would be</dd>" in shown
    (group,) = work.outcome["groups"]
    assert (group["into"], sorted(group["from"])) == (None, sorted(kept.entries))
    assert work.done == work.total > 0


def test_a_page_behind_the_end_of_a_list_counts_no_rows_on_it(ada: Client) -> None:
    made = archiving.distilled("acme", "one")
    shown = body_of(ada.get(f"/archives?after={ids.wire('arc', made.id)}&seen=1"))
    assert "Nothing older" in shown
    assert "0 of 1 archive" in " ".join(re.sub("<[^>]+>", "", shown).split())


def test_a_long_archive_is_folded(ada: Client) -> None:
    made = archiving.distilled("acme", *(f"Sentence number {number}." for number in range(60)))
    assert "Show 40 more" in body_of(ada.get(address(made)))
    other = archiving.distilled("acme", "long " * 400, memory_ref="other")
    assert "Show all 2,000 characters" in body_of(ada.get(address(other)))


def test_a_withdrawn_archive_says_why_and_what_came_after(ada: Client) -> None:
    old, new = archiving.distilled("acme", "of nobody"), archiving.distilled("acme", "new")
    lapsed = archiving.distilled("acme", "lapsed", memory_ref="other", now=timezone.now() - timedelta(days=40))
    archives.withdraw(old.tenant_id, [old.id], archives.FORGOTTEN, now=timezone.now())
    archives.withdraw_expired(now=timezone.now())
    shown = body_of(ada.get(address(old)))
    assert "A subject was forgotten" in shown
    assert f'href="{address(new)}"' in shown
    assert "of nobody" not in shown
    assert "Expired." in body_of(ada.get(address(lapsed)))
    assert ada.get(f"{address(old)}?format=json").json()["withdrawnBecause"] == "forgotten"
    assert ada.post(f"{address(old)}/compare").status_code == 410


def test_distilling_is_asked_for_by_a_form_and_leads_to_its_pass(ada: Client) -> None:
    building.remember("acme", "one")
    assert 'type="submit"' in body_of(ada.get("/archives")).split('action="/archives"')[1].split("</form>")[0]
    form = body_of(ada.get("/archives/distill?ref=notes"))
    assert 'value="notes"' in form
    answer = ada.post("/archives/distill", {"ref": "notes", "budget": "500", "dry_run": "on"})
    work = Pass.objects.get(kind="distill")
    assert answer["Location"] == f"/passes/{ids.wire('pass', work.id)}"
    assert (work.memory_ref, work.options["tokenBudget"], work.dry_run) == ("notes", 500, True)
    ada.post("/archives/distill", {"ref": "notes", "budget": ""})
    assert Pass.objects.filter(kind="distill", dry_run=False).count() == 1


def test_a_form_that_makes_no_sense_says_so_and_asks_for_nothing(ada: Client) -> None:
    building.scope("globex")
    for field, form in [
        ("ref", {"ref": ""}),
        ("ref", {"ref": "a/../b"}),
        ("ref", {"ref": "a\nb"}),
        ("ref", {"ref": "tenant/globex/notes"}),
        ("budget", {"ref": "notes", "budget": "0"}),
        ("budget", {"ref": "notes", "budget": "x"}),
        ("budget", {"ref": "notes", "budget": str(2**31)}),
    ]:
        answer = ada.post("/archives/distill", form)
        shown = body_of(answer)
        assert answer.status_code == 422, field
        assert 'id="error-summary"' in shown, field
        assert f'href="#id_{field}"' in shown, field
        assert "data-focus" in shown, field
        assert f'id="id_{field}_error"' in shown, field
        assert Pass.objects.count() == 0, field


def test_what_the_domain_says_of_the_budget_stands_at_its_field(ada: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuses(options: dict[str, Any]) -> dict[str, Any]:
        raise Invalid("no", errors=[{"field": "tokenBudget", "message": "is more than this host honors"}])

    monkeypatch.setattr(distillation, "checked_options", refuses)
    answer = ada.post("/archives/distill", {"ref": "notes", "budget": "7"})
    assert answer.status_code == 422
    assert 'href="#id_budget">Token budget: is more than this host honors' in body_of(answer)


def test_what_a_pass_was_asked_for_is_carried_out_by_a_worker(ada: Client, drain: Callable[..., int]) -> None:
    building.remember("acme", *(f"Customer number {number} pays {number} euros a month." for number in range(12)))
    ada.post("/archives/distill", {"ref": "notes", "budget": "2000"})
    drain()
    (made,) = Archive.objects.all()
    shown = body_of(ada.get(address(made)))
    assert "Customer number" in shown
    assert "Show MEMORY-INDEX.json" in shown
    assert "matches" in body_of(ada.post(f"{address(made)}/compare", follow=True))


def test_who_may_not_distil_is_told_so(sign_in: SignIn) -> None:
    gus = sign_in(role="viewer")
    assert "Needs the permission passes:run" in body_of(gus.get("/archives"))
    for answer in (gus.get("/archives/distill"), gus.post("/archives/distill", {"ref": "notes"})):
        assert answer.status_code == 403
        assert "passes:run" in body_of(answer)


def test_archives_of_acme_are_not_there_for_globex(sign_in: SignIn) -> None:
    made, gil = archiving.distilled("acme", "one"), sign_in("globex")
    assert "No archives yet" in body_of(gil.get("/archives"))
    assert gil.get(address(made)).status_code == 404
    assert gil.post(f"{address(made)}/compare").status_code == 404
    assert gil.get("/archives/arc_1").status_code == 404


@pytest.mark.django_db(transaction=True)
def test_archives_are_walked_without_scripts(plain: Page, live_server: LiveServer, drain: Callable[..., int]) -> None:
    building.remember("acme", *(f"Customer number {number} pays {number} euros a month." for number in range(12)))
    browsing.sign_in(plain, live_server.url, "/archives")
    plain.get_by_role("link", name="Distill now").click()
    plain.get_by_label("Memory ref").fill("notes")
    plain.get_by_label("Target tokens").fill("500")
    plain.get_by_role("button", name="Distill").click()
    drain()
    plain.goto(f"{live_server.url}/archives")
    plain.locator("a.row-link").click()
    plain.get_by_role("button", name="Recompute and compare checksum").click()
    expect(plain.locator(".messages")).to_contain_text("The checksum matches")
    plain.get_by_role("link", name="source 1", exact=True).first.click()
    expect(plain.locator("main")).to_contain_text("Customer number")
