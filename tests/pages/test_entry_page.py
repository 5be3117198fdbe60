"""One entry: its text, the four verdicts on who wrote it, and retiring it."""

import json
from datetime import timedelta

import pytest
from django.db import connection, transaction
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from memory import provenance
from memory.host import ids, runs
from memory.host.runs import RunOrder
from memory.models import Archive
from memory.passes import archives, definition_of
from memory.provenance import Descent
from tests import archiving, building
from tests.pages.conftest import SignIn, body_of

pytestmark = pytest.mark.django_db


def page(browser: Client, mem_id: str) -> str:
    answer = browser.get(f"/memory/{mem_id}")
    assert answer.status_code == 200
    return body_of(answer)


def written(**options: object) -> str:
    owner = building.scope()
    run = building.open_run(owner)
    return ids.wire("mem", building.write(owner, run, "content", **options).id)  # type: ignore[arg-type]


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


def test_integrity_and_the_sentence_about_reads_are_there(ada: Client) -> None:
    shown = page(ada, building.remember("acme", "x").entries[0])
    assert "unchanged" in shown
    assert "Reads aren&#x27;t logged." in shown or "Reads aren't logged." in shown


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


@pytest.mark.parametrize("kind", ["merged", "superseded", "compacted"])
def test_an_entry_that_a_pass_took_and_what_it_went_into_lead_to_each_other(ada: Client, kind: str) -> None:
    owner = building.scope()
    run = building.open_run(owner)
    old, new = (building.write(owner, run, text) for text in ("old", "new"))
    provenance.record(owner.tenant_id, [Descent(old.id, new.id, kind)], pass_id=None, now=timezone.now())
    for here, there in ((old, new), (new, old)):
        shown = derived_part(ada, ids.wire("mem", here.id))
        assert f"/memory/{ids.wire('mem', there.id)}" in shown
        assert kind in shown
        assert NOT_DERIVED not in shown


def test_only_an_entry_without_lineage_says_that_no_pass_touched_it(ada: Client) -> None:
    assert NOT_DERIVED in derived_part(ada, building.remember("acme", "x").entries[0])


def test_what_a_lineage_costs_does_not_grow_with_its_sources(ada: Client) -> None:
    def cost(count: int) -> int:
        made = archiving.distilled("acme", *(f"{count} {number}" for number in range(count)))
        with CaptureQueriesContext(connection) as queries:
            page(ada, text_of(made))
        return len(queries)

    cost(2)  # the first page of a session also loads what every later one has
    assert cost(3) == cost(40)
