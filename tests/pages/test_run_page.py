"""Runs: the list, and the trail of one with the fate of everything it wrote."""

import json

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from memory import ledger
from memory.host import ids
from openwop_console.runtime import runs
from tests import building
from tests.pages.conftest import HTMX, SignIn, body_of, standing

pytestmark = pytest.mark.django_db


def entry_ids(*wire: str) -> list[object]:
    return [ids.parse("mem", each) for each in wire]


def test_the_trail_has_a_lane_for_each_node_and_one_for_the_host(ada: Client) -> None:
    made = building.remember("acme", "alpha", "omega")
    shown = body_of(ada.get(f"/runs/{ids.wire('run', made.run.id)}"))
    lanes = [shown.index(words) for words in ("<code>remember-1</code>", "<code>remember-2</code>", "No node (host)")]
    assert lanes == sorted(lanes)
    assert shown.index("alpha") < lanes[1] < shown.index("omega")
    assert "run.completed" in shown.split("No node (host)")[1]


def test_the_fate_of_each_write_is_told_without_its_content(ada: Client) -> None:
    made = building.remember("acme", "stays", "is hidden", "is removed", tags=["secret-tag"])
    _, hidden, removed = entry_ids(*made.entries)
    ledger.retire_entry(building.scope(), hidden, reason="out of date", now=timezone.now())  # type: ignore[arg-type]
    ledger.remove_entries(made.run.tenant_id, (removed,), reason="forgotten", now=timezone.now())  # type: ignore[arg-type]
    shown = body_of(ada.get(f"/runs/{ids.wire('run', made.run.id)}"))
    assert "stays" in shown
    assert "is hidden" not in shown
    assert "out of date" in shown
    assert "is removed" not in shown
    assert made.entries[2] in shown
    assert "Its content is gone." in shown
    assert "secret-tag" not in shown.split("remember-3")[1]


def test_a_run_that_has_not_ended_is_looked_at_again_until_it_has(ada: Client) -> None:
    run = building.open_run(building.scope())
    url = f"/runs/{ids.wire('run', run.id)}"
    assert 'hx-trigger="every 1s"' in body_of(ada.get(url))
    assert ada.get(url, **HTMX).status_code == 200
    done = building.remember("acme", "x").run
    answer = ada.get(f"/runs/{ids.wire('run', done.id)}", **HTMX)
    assert answer.status_code == 286
    assert 'hx-trigger="every 1s"' not in body_of(answer)


def test_a_failed_run_says_why(ada: Client) -> None:
    run = building.execute(building.scope(), "conformance-failure")
    shown = body_of(ada.get(f"/runs/{ids.wire('run', run.id)}"))
    assert run.error["code"] in shown
    assert run.error["message"] in shown


def test_the_whole_log_as_json(ada: Client) -> None:
    run = building.remember("acme", "x").run
    found = json.loads(body_of(ada.get(f"/runs/{ids.wire('run', run.id)}?format=json")))
    assert [event["sequence"] for event in found["events"]] == list(range(found["total"]))
    assert found["events"][-1]["type"] == "run.completed"


def test_runs_page_to_the_end_and_by_workflow(ada: Client) -> None:
    owner = building.scope()
    for _ in range(52):
        building.open_run(owner)
    building.remember("acme", "x", workflow_id="mine")
    shown = body_of(ada.get("/runs"))
    assert standing(1, 50, 53, "runs") in shown
    older = shown.split(">Older")[0].rpartition('href="')[2].partition('"')[0].replace("&amp;", "&")
    assert standing(51, 53, 53, "runs") in body_of(ada.get(older))
    assert standing(1, 1, 1, "runs") in body_of(ada.get("/runs?workflow=mine"))
    assert "Nothing matches" in body_of(ada.get("/runs?workflow=none"))
    assert json.loads(body_of(ada.get("/runs?format=json")))["total"] == 53
    assert body_of(ada.get("/runs?format=csv")).count("\r\n") == 54


def test_a_longer_run_needs_no_more_queries(ada: Client) -> None:
    short, long = building.remember("acme", "a").run, building.remember("acme", *"abcdefghij").run
    ada.get(f"/runs/{ids.wire('run', short.id)}")  # the first request of a session writes its row
    with CaptureQueriesContext(connection) as few:
        ada.get(f"/runs/{ids.wire('run', short.id)}")
    with CaptureQueriesContext(connection) as many:
        ada.get(f"/runs/{ids.wire('run', long.id)}")
    assert len(many) == len(few)


@pytest.mark.parametrize("query", ["at=x", "at=-1", "at=" + "9" * 30, "format=xml"])
def test_no_value_makes_a_run_page_fail(ada: Client, query: str) -> None:
    run = building.remember("acme", "a").run
    assert ada.get(f"/runs/{ids.wire('run', run.id)}?{query}").status_code == 200


@pytest.mark.parametrize("query", ["after=run_1", "after=x", "seen=-1", "format=csv"])
def test_no_value_makes_the_list_of_runs_fail(ada: Client, query: str) -> None:
    assert ada.get(f"/runs?{query}").status_code == 200


def test_pages_of_runs_refuse_each_others_parameters_by_name(ada: Client) -> None:
    run = building.remember("acme", "a").run
    for url, name in ((f"/runs/{ids.wire('run', run.id)}", "after"), ("/runs", "at")):
        answer = ada.get(f"{url}?{name}=1")
        assert (answer.status_code, name in body_of(answer)) == (400, True)


def test_a_run_is_paused_and_resumed_and_cancelled_from_its_page(ada: Client) -> None:
    run = building.open_run(building.scope())
    url = f"/runs/{ids.wire('run', run.id)}"
    ada.post(f"{url}/steer", {"act": "pause"})
    shown = body_of(ada.get(url))
    assert "Resume the run" in shown
    assert "Pause the run" not in shown
    ada.post(f"{url}/steer", {"act": "resume"})
    assert "Pause the run" in body_of(ada.get(url))
    assert ada.post(f"{url}/steer", {"act": "explode"}).status_code == 400
    ada.post(f"{url}/steer", {"act": "cancel"})
    assert building.advance(run).status == "cancelled"
    assert ada.post(f"{url}/steer", {"act": "pause"}).status_code == 409


def test_what_happened_to_a_node_is_told_in_words(ada: Client) -> None:
    nodes = [building.node("a", "core.noop"), building.node("b", "core.noop"), building.node("c", "core.noop")]
    document = building.definition("skips", *nodes)
    document["edges"][0]["condition"] = {"type": "equals", "left": "x", "right": "never"}
    building.install("acme", document)
    run = building.execute(building.scope(), "skips")
    assert "not-taken" in body_of(ada.get(f"/runs/{ids.wire('run', run.id)}"))


def test_a_run_is_forked_from_its_page_and_the_fork_says_what_it_comes_from(ada: Client) -> None:
    source = building.remember("acme", "alpha").run
    url = f"/runs/{ids.wire('run', source.id)}"
    assert f'action="{url}/fork"' in body_of(ada.get(url))
    for mode, words in (("replay", "Replay of"), ("branch", "Branch of")):
        made = ada.post(f"{url}/fork", {"mode": mode, "from_seq": "1"})
        assert made.status_code == 302
        shown = body_of(ada.get(made["Location"]))
        assert words in shown
        assert f'href="{url}"' in shown
        assert "from event 1" in shown


@pytest.mark.parametrize("form", [{}, {"mode": "rewind", "from_seq": "0"}, {"mode": "branch", "from_seq": "-1"}])
def test_a_fork_form_that_is_none_is_refused(ada: Client, form: dict[str, str]) -> None:
    source = building.remember("acme", "alpha").run
    assert ada.post(f"/runs/{ids.wire('run', source.id)}/fork", form).status_code == 400


def test_the_reason_that_a_person_gave_stands_at_its_event(ada: Client, sign_in: SignIn) -> None:
    run = building.open_run(building.scope())
    page = f"/runs/{ids.wire('run', run.id)}"
    runs.pause_run(building.scope(), run.id, drain=False, reason="The vendor is down", now=timezone.now())
    for browser in (ada, sign_in(role="viewer")):
        assert "The vendor is down" in body_of(browser.get(page))
    assert "The vendor is down" in body_of(ada.get(f"{page}?format=json"))
