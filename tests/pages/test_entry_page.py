"""One entry: its text, the four verdicts on who wrote it, and retiring it."""

import html
import json
import re
from datetime import timedelta
from unittest import mock

import pytest
from django.db import connection, transaction
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from memory import corrections, external_runs, provenance, run_timeline
from memory.entry_drafts import EntryDraft
from memory.forget import execution
from memory.host import ids, pages, runs
from memory.host.models import Run
from memory.host.runs import RunOrder
from memory.models import Archive
from memory.models.entry import MemoryEntry
from memory.passes import archives, definition_of
from memory.provenance import Descent
from openwop_console.runtime import replay
from openwop_console.runtime.replay import ForkRequest
from tests import archiving, building, proposing
from tests.pages.conftest import SignIn, body_of, standing

pytestmark = pytest.mark.django_db


def page(browser: Client, mem_id: str) -> str:
    answer = browser.get(f"/memory/{mem_id}")
    assert answer.status_code == 200
    return body_of(answer)


def written(**options: object) -> str:
    owner = building.scope()
    run = building.open_run(owner)
    return ids.wire("mem", building.write(owner, run, "content", **options).id)  # type: ignore[arg-type]


def test_the_table_of_the_events_around_a_write_says_which_are_of_a_node(ada: Client) -> None:
    shown = page(ada, building.remember("acme", "x").entries[0])
    rows = re.findall(r'<td class="num">\d+</td><td>([^<]+)</td><td><a [^>]*>([^<]+)</a>', shown)
    assert {event.split()[0]: lane for lane, event in rows} == {
        "run.started": "no node (host)",
        "node.started": "node",
        "memory.written": "node",
        "node.completed": "node",
        "run.completed": "no node (host)",
    }


def test_the_verdict_names_the_node_and_leads_to_its_write_in_the_trail(ada: Client) -> None:
    made = building.remember("acme", "first", "second")
    run_id = ids.wire("run", made.run.id)
    shown = page(ada, made.entries[1])
    assert "verdict-node" in shown
    assert "<code>remember-2</code>" in shown
    link = shown.split("Open in run")[0].rpartition('href="')[2].partition('"')[0]
    assert link.startswith(f"/runs/{run_id}?at=")
    trail = body_of(ada.get(link.partition("#")[0]))
    assert 'aria-current="true"' in trail
    assert made.entries[1] in trail
    assert "<code>remember-1</code>" in shown.split("Node before")[1]


def test_a_write_of_the_host_has_no_node_by_design(ada: Client) -> None:
    owner = building.scope()
    order = RunOrder("host-test", definition_of("test"), "host", system=True)
    with transaction.atomic():
        run = runs.open_run(owner.tenant_id, order, now=timezone.now(), ready=False)
        runs.start(run, snapshot_position=0, now=timezone.now())
    made = building.write(owner, run, "summary", node_id=None)
    shown = page(ada, ids.wire("mem", made.id))
    assert "Host writer" in shown
    assert "No node, by design" in shown


def test_a_write_that_named_no_node_is_unattributed(ada: Client) -> None:
    assert "this write named no node" in page(ada, written(node_id=None))


def test_the_tag_of_a_run_summary_does_not_make_another_writer_the_host(ada: Client) -> None:
    owner, now = building.scope(), timezone.now()
    building.execute(owner, "conformance-noop")
    summary = MemoryEntry.objects.get(memory_ref="runs/conformance-noop")
    by_node = building.remember("acme", "by a node", tags=list(summary.tags)).entries[0]
    draft = EntryDraft("by an agent elsewhere", tuple(summary.tags))
    elsewhere = ids.wire("mem", external_runs.write_entry(owner, "notes", draft, None, now=now).id)
    corrected = corrections.correct(owner, summary.id, content="Better words.", now=now)
    shown = {
        by_node: "<code>remember-1</code>",
        elsewhere: "this write named no node",
        ids.wire("mem", corrected.id): "Host writer: correction by a person",
    }
    assert len(re.findall(r'class="event[^"]* here"', page(ada, by_node))) == 1, "its own write alone is marked"
    for mem_id, writer in shown.items():
        assert writer in page(ada, mem_id), writer
        assert "at the end of that run" not in page(ada, mem_id), writer
    assert "unattributed" in body_of(ada.get("/memory?ref=notes&q=elsewhere"))


def test_integrity_is_there(ada: Client) -> None:
    assert "unchanged" in page(ada, building.remember("acme", "x").entries[0])


def recalled(name: str) -> Run:
    node = building.node("recall", "vendor.console.recall", {"memoryRef": "notes"})
    building.install("acme", building.definition(name, node))
    return building.execute(building.scope(), name)


def test_the_runs_that_were_served_the_entry_are_named_with_node_and_time_and_so_is_a_replay(ada: Client) -> None:
    (mem_id,) = building.remember("acme", "price is 5").entries
    assert "No run has read it" in page(ada, mem_id)
    source = recalled("pricing")
    made = replay.fork(building.scope(), source.id, ForkRequest("replay"), now=timezone.now())
    building.advance(made)
    shown = page(ada, mem_id).partition('aria-labelledby="reads"')[2].partition("</section>")[0]
    assert f"/runs/{ids.wire('run', source.id)}" in shown
    assert shown.count("<code>recall</code>") == 1
    drawn = page(ada, mem_id).partition('class="chain-graph')[2].partition("</svg>")[0]
    assert 'aria-label="pricing: read by recall"' in drawn
    assert 'aria-label="pricing: replay of a run that read it"' in drawn
    assert f'href="/runs/{ids.wire("run", made.id)}"' in drawn


def test_every_read_of_an_entry_is_listed_page_by_page(ada: Client) -> None:
    (mem_id,) = building.remember("acme", "price is 5").entries
    runs = [recalled("pricing") for _ in range(6)]
    assert f"/memory/{mem_id}/reads" in page(ada, mem_id)
    whole = page(ada, mem_id)
    panel = whole.partition('aria-labelledby="reads"')[2].partition("</section>")[0]
    assert panel.count("<code>recall</code>") == 5
    assert "and 3 more" in whole.partition('class="chain-graph')[2].partition("</svg>")[0]
    shown = body_of(ada.get(f"/memory/{mem_id}/reads"))
    assert [shown.count(f"/runs/{ids.wire('run', run.id)}") for run in runs] == [1] * 6
    with mock.patch.object(pages, "PAGE", 4):
        older = body_of(ada.get(f"/memory/{mem_id}/reads"))
        assert standing(1, 4, 6, "reads") in older
        link = html.unescape(older.partition("/reads?after=")[2].partition('"')[0])
        rest = body_of(ada.get(f"/memory/{mem_id}/reads?after={link}"))
    assert standing(5, 6, 6, "reads") in rest


@pytest.mark.usefixtures("short_pages")
def test_a_wide_fan_is_drawn_in_part_and_listed_whole(ada: Client) -> None:
    owner = building.scope()
    run = building.open_run(owner)
    whole = building.write(owner, run, "all of them together")
    parts = [building.write(owner, run, f"part number {number}") for number in range(8)]
    found = [Descent(part.id, whole.id, "merged") for part in parts]
    provenance.record(owner.tenant_id, found, pass_id=None, now=timezone.now())
    mem_id = ids.wire("mem", whole.id)
    shown = page(ada, mem_id)
    drawn = shown.partition('class="chain-graph')[2].partition("</svg>")[0]
    assert "and 3 more" in drawn
    assert drawn.count("part number") == 5 * 3  # the name of the link, its title and its text
    assert f'href="/memory/{mem_id}/lineage?side=sources"' in drawn
    listed = body_of(ada.get(f"/memory/{mem_id}/lineage?side=sources"))
    assert listed.count("part number") == 5 * 2
    assert standing(1, 5, 8, "entries") in listed
    back = body_of(ada.get(f"/memory/{ids.wire('mem', parts[0].id)}/lineage?side=results"))
    assert "all of them together" in back
    assert ada.get(f"/memory/{mem_id}/lineage?side=nowhere").status_code == 400


def test_near_duplicates_lead_to_a_comparison_with_the_words_that_differ(ada: Client) -> None:
    made = building.remember(
        "acme",
        "Marta prefers her weekly reports on Monday mornings by email",
        "Marta prefers weekly reports on Monday mornings by email please",
        "The warehouse in Gdansk closes at noon",
    )
    shown = page(ada, made.entries[0]).partition('aria-labelledby="near"')[2].partition("</section>")[0]
    assert f'href="/memory/{made.entries[0]}/compare?with={made.entries[1]}"' in shown
    assert "Gdansk" not in shown
    compared = body_of(ada.get(f"/memory/{made.entries[0]}/compare?with={made.entries[1]}"))
    assert "<mark>" in compared or "<ins>" in compared
    assert "please" in compared
    for one, other in (made.entries[:2], made.entries[1::-1]):
        found = body_of(ada.get(f"/memory/{one}/compare?with={other}"))
        sides = re.findall(r'<dt>(Older|Newer)</dt><dd><a href="/memory/(\w+)"', found)
        assert sides == [("Older", made.entries[0]), ("Newer", made.entries[1])]
    assert ada.get(f"/memory/{made.entries[0]}/compare?with=mem_nothing").status_code == 404


def test_previous_and_next_are_of_the_same_ref_in_the_order_of_the_ledger(ada: Client) -> None:
    first, second, third = building.remember("acme", "one", "two", "three").entries
    building.remember("acme", "elsewhere", memory_ref="other")
    shown = page(ada, second)
    links = [part.partition('href="')[2].partition('"')[0] for part in shown.split('<a class="button"')[1:]]
    assert f"/memory/{first}" in links
    assert f"/memory/{third}" in links
    assert "Next entry" not in page(ada, third)


def test_what_was_done_to_the_entry_is_shown_to_who_may_read_the_audit_log(ada: Client, sign_in: SignIn) -> None:
    (mem_id,) = building.remember("acme", "x").entries
    ada.post(f"/memory/{mem_id}/retire", {"reason": "old"})
    shown = page(ada, mem_id).partition('aria-labelledby="acts"')[2].partition("</section>")[0]
    assert "memory.retired" in shown
    assert 'aria-labelledby="acts"' not in page(sign_in(role="viewer"), mem_id)


def test_a_proposal_made_from_the_run_that_wrote_the_entry_stands_in_its_lineage(ada: Client) -> None:
    made = building.remember("acme", "x")
    proposal = proposing.propose(source_run_ids=(ids.wire("run", made.run.id),))
    drawn = page(ada, made.entries[0]).partition('class="chain-graph')[2].partition("</svg>")[0]
    assert f"/proposals/{ids.wire('prop', proposal.id)}" in drawn


def test_expiry_is_shown_both_ways(ada: Client) -> None:
    shown = page(ada, written(expires_at=timezone.now() + timedelta(hours=3, minutes=1)))
    assert "in 3 h" in shown
    assert "expiring soon" in shown


def test_the_entry_as_json_carries_its_provenance(ada: Client) -> None:
    made = building.remember("acme", "x")
    found = json.loads(ada.get(f"/memory/{made.entries[0]}?format=json").content)
    assert found["id"] == made.entries[0]
    assert found["provenance"]["verdict"] == "node"
    assert found["provenance"]["writes"][0]["nodeId"] == "remember-1"


def test_hostile_content_stays_text_with_htmx_switched_off(ada: Client) -> None:
    shown = page(ada, building.remember("acme", '<a hx-get="/x">\u202e{{ 7|add:7 }}').entries[0])
    assert "&lt;a hx-get=&quot;/x&quot;&gt;⟦RLO U+202E⟧{{ 7|add:7 }}" in shown
    assert 'dir="auto" hx-disable' in shown


def test_long_content_is_folded(ada: Client) -> None:
    assert "Show all 5,000 characters" in page(ada, building.remember("acme", "x" * 5000).entries[0])


def test_retiring_asks_why_and_restoring_brings_it_back(ada: Client) -> None:
    (mem_id,) = building.remember("acme", "old").entries
    assert "Retire this entry" in body_of(ada.get(f"/memory/{mem_id}/retire"))
    answer = ada.post(f"/memory/{mem_id}/retire", {"reason": "out of date"}, follow=True)
    assert "out of date" in body_of(answer)
    assert building.contents(building.scope()) == []
    assert "Restore this entry" in body_of(ada.get(f"/memory/{mem_id}/restore"))
    ada.post(f"/memory/{mem_id}/restore")
    assert building.contents(building.scope()) == ["old"]


def test_an_entry_that_expires_can_be_restored_until_then(ada: Client) -> None:
    (mem_id,) = building.remember("acme", "old").entries
    assert "You can restore it at any time." in body_of(ada.get(f"/memory/{mem_id}/retire"))
    expires = timezone.now() + timedelta(days=30)
    owner = building.scope()
    [until] = building.write_each(owner, "passing", expires_at=expires)
    shown = body_of(ada.get(f"/memory/{ids.wire('mem', until)}/retire"))
    assert "at any time" not in shown
    assert "You can restore it until it expires" in shown
    assert f"{expires:%Y-%m-%d %H:%M}" in shown


def test_a_reason_that_cannot_be_stored_is_said_on_the_form(ada: Client) -> None:
    (mem_id,) = building.remember("acme", "old").entries
    answer = ada.post(f"/memory/{mem_id}/retire", {"reason": "x" * 501})
    assert answer.status_code == 422
    assert "error-summary" in body_of(answer)
    assert building.contents(building.scope()) == ["old"]


def test_a_viewer_sees_the_buttons_and_why_they_do_not_work(sign_in: SignIn) -> None:
    (mem_id,) = building.remember("acme", "x").entries
    viewer = sign_in(role="viewer")
    shown = page(viewer, mem_id)
    assert "memory:retire" in shown
    assert "memory:forget" in shown
    assert "memory:retire" in body_of(viewer.post(f"/memory/{mem_id}/retire", {"reason": ""}))
    assert building.contents(building.scope()) == ["x"]


NOT_DERIVED = "Not merged, distilled or superseded."


def derived_part(browser: Client, mem_id: str) -> str:
    return page(browser, mem_id).partition('id="derived"')[2].partition("</section>")[0]


def text_of(made: Archive) -> str:
    assert made.entry_id
    return ids.wire("mem", made.entry_id)


def test_an_entry_and_the_archive_it_went_into_lead_to_each_other(ada: Client) -> None:
    made = archiving.distilled("acme", "one", "two")
    arc_id, text_id = ids.wire("arc", made.id), text_of(made)
    of_text = derived_part(ada, text_id)
    sources = archives.sources_of(bytes(made.body))
    assert NOT_DERIVED not in of_text
    assert f"/archives/{arc_id}" in of_text
    assert all(f"/memory/{ids.wire('mem', each)}" in of_text for each in sources)
    assert f"text of this archive, {made.state}" in page(ada, text_id)
    of_source = derived_part(ada, ids.wire("mem", sources[0]))
    assert NOT_DERIVED not in of_source
    assert f"/archives/{arc_id}" in of_source
    assert f"/memory/{text_id}" in of_source
    of_archive = body_of(ada.get(f"/archives/{arc_id}"))
    assert all(f"/memory/{ids.wire('mem', each)}" in of_archive for each in sources)
    assert f"/memory/{text_id}" in of_archive


def test_the_entry_as_json_names_its_archive_and_its_sources(ada: Client) -> None:
    made = archiving.distilled("acme", "one", "two")
    found = json.loads(ada.get(f"/memory/{text_of(made)}?format=json").content)["lineage"]
    assert found["archiveId"] == ids.wire("arc", made.id)
    assert found["madeFromTotal"] == 2
    assert {each["kind"] for each in found["madeFrom"]} == {"distilled"}
    (into,) = json.loads(ada.get(f"/memory/{found['madeFrom'][0]['id']}?format=json").content)["lineage"]["wentInto"]
    assert into == {"id": ids.wire("arc", made.id), "kind": "distilled", "passId": None}


def test_an_entry_that_a_pass_took_and_what_it_went_into_lead_to_each_other(ada: Client) -> None:
    owner = building.scope()
    run = building.open_run(owner)
    for kind in ["merged", "superseded", "compacted"]:
        old, new = (building.write(owner, run, text) for text in ("old", "new"))
        provenance.record(owner.tenant_id, [Descent(old.id, new.id, kind)], pass_id=None, now=timezone.now())
        for here, there in ((old, new), (new, old)):
            shown = derived_part(ada, ids.wire("mem", here.id))
            assert f"/memory/{ids.wire('mem', there.id)}" in shown, kind
            assert kind in shown, kind
            assert NOT_DERIVED not in shown, kind


def test_an_entry_whose_source_was_forgotten_leads_an_owner_to_the_receipt(ada: Client, sign_in: SignIn) -> None:
    owner, now = building.scope(), timezone.now()
    old, new = (building.write(owner, building.open_run(owner), text) for text in ("marta@x.org", "new"))
    provenance.record(owner.tenant_id, [Descent(old.id, new.id, "superseded")], pass_id=None, now=now)
    asked = execution.preview(owner, ["marta@x.org"], now=now).request
    execution.confirm(owner, asked.id, typed="marta@x.org", reason="ticket 17", now=now)
    execution.execute(owner.tenant_id, asked.id, holder="test/1", now=timezone.now(), clock=timezone.now)
    mem_id, receipt = ids.wire("mem", new.id), f'href="/forget/{ids.wire("fgt", asked.id)}"'
    assert "superseded, forgotten" in derived_part(ada, mem_id)
    assert receipt in derived_part(ada, mem_id)
    assert receipt not in derived_part(sign_in(role="viewer"), mem_id)


def test_only_an_entry_without_lineage_says_that_no_pass_touched_it(ada: Client) -> None:
    assert NOT_DERIVED in derived_part(ada, building.remember("acme", "x").entries[0])


def test_what_a_lineage_costs_does_not_grow_with_its_sources(ada: Client) -> None:
    def cost(count: int) -> int:
        made = archiving.distilled("acme", *(f"{count} {number}" for number in range(count)))
        with CaptureQueriesContext(connection) as queries:
            page(ada, text_of(made))
        return len(queries)

    cost(2)  # the first page of a session also loads what every later one has
    assert cost(25) == cost(40)


def test_a_node_without_inputs_wrote_from_nothing_that_is_shown(ada: Client) -> None:
    building.install("acme", building.definition("note", building.remember_node("The parcel is late")))
    run = building.execute(building.scope(), "note")
    entry = MemoryEntry.objects.of(run.tenant_id).get(content="The parcel is late")
    assert 'id="given"' not in page(ada, ids.wire("mem", entry.id))


@pytest.mark.engines
def test_the_inputs_and_the_prompt_that_a_node_wrote_from_stand_behind_the_verdict(ada: Client) -> None:
    building.remember("acme", "The parcel is late")
    building.install_prompt("greeting", "Dear <{{name}}>,")
    building.install(
        "acme",
        building.definition(
            "letter",
            building.node("look", "vendor.console.recall", {"memoryRef": "notes"}),
            building.node("greet", "vendor.console.compose", {"template": "greeting"})
            | {"inputs": {"name": building.from_input("customer")}},
            building.remember_node("{{content}}", node_id="keep")
            | {"inputs": {"content": {"type": "connection", "nodeId": "greet", "outputKey": "text"}}},
        ),
    )
    run = building.execute(building.scope(), "letter", customer="Marta")
    entry = MemoryEntry.objects.of(run.tenant_id).get(content__startswith="Dear")
    shown = page(ada, ids.wire("mem", entry.id)).partition('id="given"')[2].partition("</section>")[0]
    assert "&quot;content&quot;: &quot;Dear" in shown
    assert "prompt:greeting@1.0.0" in shown
    assert "Dear &lt;Marta&gt;," in shown, "escaped once"
    assert "1 entry at look" in shown
    assert f"/runs/{ids.wire('run', run.id)}?node=keep" in shown
    with mock.patch.object(run_timeline, "EXPLAINED", 1):
        assert 'id="given"' not in page(ada, ids.wire("mem", entry.id))
