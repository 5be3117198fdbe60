"""The commitments page: the board, one commitment, putting it off, cancelling it; hostile memory stays text."""

import csv
import io
import json
import re
from datetime import timedelta
from typing import Any

import pytest
import time_machine
from django.test import Client
from django.utils import timezone
from pytest_django.fixtures import Settings

from memory import commitments, ledger
from memory.host import ids
from memory.host.models import Operator
from memory.models import Commitment, CommitmentState
from memory.models.entry import MemoryEntry
from openwop_console.runtime import commitment_firing
from openwop_console.templatetags import console
from tests import building
from tests.pages.conftest import HTMX, SignIn, body_of, standing

pytestmark = pytest.mark.django_db
HOSTILE = 'Call <script>alert(1)</script> <b hx-get="/x">Ana</b> \u202eback in 3 days'


def remembered(*texts: str) -> list[str]:
    """The wire ids of the commitments of Acme that come of these texts, the newest first."""
    building.remember("acme", *texts)
    tenant = building.tenant()
    commitment_firing.process_commitments(tenant.id, clock=timezone.now)
    return [ids.wire("cmt", row.id) for row in Commitment.objects.of(tenant.id).order_by("-id")]


def test_the_board_shows_what_each_waits_for_and_where_it_came_from(ada: Client) -> None:
    remembered("Call Ana in 3 days.", "Every Friday send the report.", "When the invoice clears, tell finance.")
    shown = body_of(ada.get("/commitments"))
    for text in ("Call Ana in 3 days.", "0 9 * * 5", ">the invoice clears</q>", "0 of 1", ">each time<"):
        assert text in shown, text
    assert re.findall(r'data-label="Fired">(\d[^<]*)', shown) == ["0", "0", "0 of 1"], "and no number for each time"
    assert standing(1, 3, 3, "commitments") in shown
    assert "records of this console" in shown
    due = Commitment.objects.get(repeats="", due_at__isnull=False).due_at
    assert f"once, {console.time(due, show='absolute')}" in shown
    assert shown.count(">Snooze a day<") == shown.count(">Cancel</a>") == 3
    places = re.findall(r'name="next" value="/commitments#next-(\d+)"', shown)
    assert places == ["1", "2", "3"], "a key leaves the focus where it was"
    assert shown.count('class="button small"') == 6, "not bare links: a button can be hit"


def test_possible_ones_stand_above_the_others_with_their_sentence_and_are_armed_or_dismissed_by_one_key(
    ada: Client,
) -> None:
    first, second, _ = remembered(
        "Call Ana in 3 days.", "Maybe I'll call Bob in 3 days.", "We might call Eve in a week."
    )
    shown = body_of(ada.get("/commitments"))
    section = shown.split('aria-labelledby="possible"')[1].split("</section>")[0]
    assert ("call Bob" in section, "call Eve" in section, "call Ana" in section) == (True, True, False)
    assert section.count('data-key="a"') == section.count('data-key="d"') == 2
    assert "Possible <span" in shown
    assert shown.count("call Bob") == 1, "it is listed once, where it is decided"
    assert standing(1, 3, 3, "commitments") in shown
    for known, verb, state in ((first, "arm", "armed"), (second, "dismiss", "cancelled")):
        here = next(re.finditer(rf'{known}/{verb}".*?name="next" value="([^"]+)"', shown), None)
        next_row = here[1] if here else "/commitments"
        answer = ada.post(f"/commitments/{known}/{verb}", {"next": next_row})
        assert (answer.status_code, answer["Location"]) == (302, next_row)
        assert Commitment.objects.get(id=building.id_of("cmt", known)).state == state
    assert 'aria-labelledby="possible"' not in body_of(ada.get("/commitments"))
    ada.post(f"/commitments/{second}/arm")
    assert "only a possible one is armed" in body_of(ada.get(f"/commitments/{second}"))


def test_a_possible_one_is_decided_on_its_own_page_and_on_the_first_page_it_waits(ada: Client, sign_in: SignIn) -> None:
    (known,) = remembered("Maybe I'll call Bob in 3 days.")
    page = body_of(ada.get(f"/commitments/{known}"))
    assert f'action="/commitments/{known}/arm"' in page
    assert f'action="/commitments/{known}/snooze"' not in page
    waits = body_of(ada.get("/")).split('<tbody id="possible"')[1].split("</tbody>")[0]
    assert "call Bob" in waits
    viewer, gil = sign_in(role="viewer"), sign_in("globex")
    assert "call Bob" not in body_of(viewer.get("/"))
    for verb in ("arm", "dismiss"):
        assert viewer.post(f"/commitments/{known}/{verb}").status_code == 403
        assert gil.post(f"/commitments/{known}/{verb}").status_code == 404
    assert "/arm" not in body_of(viewer.get(f"/commitments/{known}"))


def test_hostile_memory_stays_text(ada: Client) -> None:
    (known,) = remembered(HOSTILE)
    for url in ("/commitments", f"/commitments/{known}", f"/commitments/{known}/cancel"):
        shown = body_of(ada.get(url))
        assert "<script>alert" not in shown
        assert "<b hx-get" not in shown
        assert "\u202e" not in shown


def test_a_state_a_ref_and_an_agent_choose_which_are_shown(ada: Client) -> None:
    known = remembered("Call Ana in 3 days.", "Call Bob in 3 days.")
    commitments.lifecycle.cancel(building.scope(), ids.parse("cmt", known[0]), reason="", now=timezone.now())
    shown = body_of(ada.get("/commitments?state=cancelled"))
    assert "Call Bob" in shown
    assert "Call Ana" not in shown
    assert "Nothing matches" in body_of(ada.get("/commitments?ref=other"))
    assert "Call Ana" in body_of(ada.get("/commitments?agent=acme.writer&state=armed"))
    assert "Nothing matches" in body_of(ada.get("/commitments?agent=other"))


def test_the_list_is_paged_and_a_fragment_of_it_is_no_whole_page(ada: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    from memory.host import pages

    monkeypatch.setattr(pages, "PAGE", 2)
    remembered(*[f"Call customer {number} in 3 days." for number in range(5)])
    first = ada.get("/commitments", **HTMX)
    assert b"<html" not in first.content
    assert standing(1, 2, 5, "commitments") in body_of(first)
    page = commitments.lifecycle.page(
        building.scope(), commitments.lifecycle.CommitmentFilter(), size=2, now=timezone.now()
    )
    assert page.after is not None
    second = body_of(ada.get(f"/commitments?after={ids.wire('cmt', page.after)}&seen=2"))
    assert standing(3, 4, 5, "commitments") in second


def test_the_tabs_count_what_the_other_filters_leave(ada: Client) -> None:
    remembered("Call Ana in 3 days.", "Every Friday send the report.")
    building.remember("acme", "Call Bob in 3 days.", memory_ref="other")
    commitment_firing.process_commitments(building.tenant().id, clock=timezone.now)
    tabs = body_of(ada.get("/commitments?ref=other")).partition('aria-label="State"')[2].partition("</nav>")[0]
    assert tabs.count('<span class="count">') == tabs.count("<a "), tabs
    assert re.findall(r"\d+", re.sub(r"<[^>]+>", " ", tabs))[:2] == ["1", "0"], tabs


def test_the_page_of_an_entry_leads_to_the_commitments_in_it(ada: Client) -> None:
    (known,) = remembered("Call Ana in 3 days.")
    entry = ids.wire("mem", Commitment.objects.get().entry_id)
    lineage = body_of(ada.get(f"/memory/{entry}")).partition('id="derived"')[2].partition("</section>")[0]
    assert f'href="/commitments/{known}"' in lineage
    assert "armed" in lineage
    assert "Not merged" not in lineage


def test_a_firing_names_what_made_its_condition_true(ada: Client) -> None:
    (known,) = remembered("When the invoice clears, tell finance.")
    building.remember("acme", "The invoice cleared.")
    commitment_firing.process_commitments(building.tenant().id, clock=timezone.now)
    entry = ids.wire("mem", MemoryEntry.objects.latest("position").id)
    firings = body_of(ada.get(f"/commitments/{known}")).partition('id="firings"')[2]
    assert f'href="/memory/{entry}"' in firings
    [firing] = ada.get(f"/v1/host/console/commitments/{known}", **building.headers()).json()["firings"]
    assert (firing["causeMemoryId"], firing["causeRunId"]) == (entry, None)


def test_one_is_put_off_and_cancelled_without_scripts(ada: Client) -> None:
    (known,) = remembered("Call Ana in 3 days.")
    answer = ada.post(f"/commitments/{known}/snooze", {"hours": "168"})
    assert (answer.status_code, answer["Location"]) == (302, f"/commitments/{known}")
    assert "not before" in body_of(ada.get(f"/commitments/{known}"))
    listed = "/commitments?state=snoozed"
    answer = ada.post(f"/commitments/{known}/snooze", {"hours": "24", "next": listed}, follow=True)
    assert answer.redirect_chain[0][0] == listed
    row = Commitment.objects.get()
    assert f"It does not fire before {row.snoozed_until:%Y-%m-%d %H:%M} UTC" in body_of(answer)
    due, until = row.due_at, row.snoozed_until
    assert due
    assert until
    assert due > until
    assert "not before" not in body_of(ada.get(f"/commitments/{known}")), "it is due later than that"
    assert ada.post(f"/commitments/{known}/snooze", {"hours": "5"}).status_code == 422
    for nothing in ({}, {"reason": ""}, {"reason": "  "}):
        refused = ada.post(f"/commitments/{known}/cancel", nothing)
        assert (refused.status_code, "Reason: is required" in body_of(refused)) == (422, True)
    assert ada.post(f"/commitments/{known}/cancel", {"reason": "done by phone"}).status_code == 302
    shown = body_of(ada.get(f"/commitments/{known}"))
    assert "done by phone" in shown
    assert "can't be snoozed" in shown
    assert ada.post(f"/commitments/{known}/cancel", {"reason": "once more"}).status_code == 409
    assert ada.post(f"/commitments/{known}/snooze", {"hours": "24"}).status_code == 409


def test_a_firing_is_shown_with_its_log(ada: Client) -> None:
    (known,) = remembered("When the invoice clears, tell finance.")
    remembered("The invoice cleared.")
    shown = body_of(ada.get(f"/commitments/{known}"))
    assert "turn/1" in shown
    assert "no workflow is chosen" in shown
    assert "each time" in shown


def test_a_single_one_that_has_fired_or_is_over_still_says_its_time(ada: Client) -> None:
    cancelled, fired = remembered("Call Ana in 3 days.", "Call Bob in 2 days.")[::-1][:2]
    due = {row.id: row.due_at for row in Commitment.objects.all() if row.due_at}
    ada.post(f"/commitments/{cancelled}/cancel", {"reason": "not needed"})
    with time_machine.travel(due[building.id_of("cmt", fired)] + timedelta(minutes=2)):
        commitment_firing.process_commitments(building.tenant().id, clock=timezone.now)
        ada.force_login(Operator.objects.get())
        for known, state in ((cancelled, "cancelled"), (fired, "fired")):
            row = Commitment.objects.get(id=building.id_of("cmt", known))
            assert (row.state, row.due_at) == (state, None)
            for url in ("/commitments", f"/commitments/{known}"):
                assert f"once, {console.time(due[row.id], show='absolute')}" in body_of(ada.get(url)), (url, state)


def test_more_firings_than_there_were_occasions_are_a_warning(ada: Client) -> None:
    (known,) = remembered("Call Ana in 3 days.")
    Commitment.objects.written_by(commitments.lifecycle.WRITER).update(fired_count=2, state=CommitmentState.FIRED)
    assert "fired twice" in body_of(ada.get("/commitments"))
    assert "That should never happen" in body_of(ada.get(f"/commitments/{known}"))


def test_an_intention_whose_entry_is_gone_is_not_shown_any_more(ada: Client) -> None:
    (known,) = remembered("Call Ana in 3 days.")
    row = Commitment.objects.get()
    ledger.erase.remove_entries(row.tenant_id, (row.entry_id,), reason="expired", now=timezone.now())
    for url in ("/commitments", f"/commitments/{known}"):
        shown = body_of(ada.get(url))
        assert "Call Ana" not in shown
        assert "gone" in shown


def test_what_is_waited_for_is_shown_in_the_words_of_the_text_and_never_as_stems(ada: Client) -> None:
    remembered("When the invoice clears, tell finance.", "We might call Rosa when the crates arrive.")
    page = body_of(ada.get("/commitments"))
    assert ">the invoice clears</q>" in page
    assert ">the crates arrive</q>" in page
    for row in Commitment.objects.all():
        ledger.erase.remove_entries(row.tenant_id, (row.entry_id,), reason="expired", now=timezone.now())
    page = body_of(ada.get("/commitments"))
    assert page.count("what the sentence waits for") == 2
    assert "invoic</code>" not in page


def test_the_list_is_json_and_csv_without_formulas(ada: Client) -> None:
    known = remembered("Call Ana in 3 days.", "TODO: call Bob in 3 days.")
    document: dict[str, Any] = json.loads(body_of(ada.get("/commitments?format=json")))
    assert ([each["id"] for each in document["commitments"]], document["total"]) == (known, 2)
    rows = list(csv.DictReader(io.StringIO(body_of(ada.get("/commitments?format=csv&state=armed")))))
    assert [row["intention"] for row in rows] == ["TODO: call Bob in 3 days.", "Call Ana in 3 days."]
    assert json.loads(body_of(ada.get(f"/commitments/{known[0]}?format=json")))["id"] == known[0]


def test_a_condition_and_what_came_again_and_is_over_have_no_time_of_their_own(ada: Client) -> None:
    known = remembered("When the invoice clears, tell finance.", "Every Friday, call Ana.")
    for each in known:
        ada.post(f"/commitments/{each}/cancel", {"reason": "not needed"})
    rows = json.loads(body_of(ada.get("/commitments?format=json")))["commitments"]
    assert [(row["condition"], bool(row["cron"]), row["dueAt"]) for row in rows] == [
        ("time", True, None),
        ("predicate", False, None),
    ]


def test_another_tenant_finds_none_and_a_viewer_changes_none(sign_in: SignIn) -> None:
    (known,) = remembered("Call Ana in 3 days.")
    gil, viewer = sign_in("globex"), sign_in(role="viewer")
    for path in ("", "/cancel"):
        assert gil.get(f"/commitments/{known}{path}").status_code == 404
    assert gil.post(f"/commitments/{known}/snooze", {"hours": "24"}).status_code == 404
    shown = viewer.get(f"/commitments/{known}")
    assert shown.status_code == 200
    assert "Wrong?" not in body_of(shown) + body_of(viewer.get("/commitments"))
    assert viewer.post(f"/commitments/{known}/cancel", {"reason": ""}).status_code == 403
    assert viewer.post(f"/commitments/{known}/snooze", {"hours": "24"}).status_code == 403
    assert Commitment.objects.get().state == CommitmentState.ARMED


def test_a_host_without_lasting_memory_names_the_flag_that_is_missing(ada: Client, settings: Settings) -> None:
    settings.OPENWOP_MEMORY_WRITABLE = False
    shown = body_of(ada.get("/commitments"))
    assert "Not supported by this host" in shown
    assert "agents.commitments" in shown
