"""Runs: the list, and the trail of one with the fate of everything it wrote."""

import itertools
import json
import re
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection, transaction
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from pytest_django.fixtures import Settings

from memory import external_runs, ledger, run_timeline
from memory.entry_drafts import EntryDraft
from memory.host import access, audit, event_log, ids, sql
from memory.host.events import NodeCompleted
from memory.host.models import Run
from memory.origins import Origin
from memory.text.matching import FORGOTTEN
from openwop_console.runtime import engine, replay, run_operations
from openwop_console.runtime.models import Step
from openwop_console.runtime.replay import ForkRequest
from openwop_console.runtime.run_operations import RunRequest
from tests import building
from tests.pages.conftest import HTMX, SignIn, body_of
from tests.tampering import tamper

pytestmark = pytest.mark.django_db


def entry_ids(*wire: str) -> list[object]:
    return [ids.parse("mem", each) for each in wire]


def lanes_of(answer: Any) -> dict[str, str]:
    """The rows of the waterfall by the name of their node, in order."""
    rows = body_of(answer).split('<li class="lane')[1:]
    return {
        re.sub(r"<[^>]+>", "", row.partition("<h3")[2].partition("</h3>")[0]).partition(">")[2]: row for row in rows
    }


def test_the_waterfall_begins_with_the_host_and_has_a_row_for_each_node(ada: Client) -> None:
    made = building.remember("acme", "alpha", "omega")
    lanes = lanes_of(ada.get(f"/runs/{ids.wire('run', made.run.id)}"))
    assert list(lanes) == ["No node (host)", "remember-1", "remember-2"]
    assert "run.completed" in lanes["No node (host)"]
    assert ("alpha" in lanes["remember-1"], "omega" in lanes["remember-1"]) == (True, False)


def test_a_node_says_when_it_began_how_long_it_took_and_what_share_that_is(ada: Client) -> None:
    """The clock of this run goes on by 100 ms each time that it is read, twice a step."""
    building.install("acme", building.definition("slow", *(building.node(each, "core.noop") for each in "abc")))
    begun = timezone.now()
    readings = itertools.count()
    run = run_operations.create_run(building.scope(), RunRequest("slow"), now=begun)
    engine.advance(
        run.tenant_id, run.id, holder="test/1", clock=lambda: begun + timedelta(milliseconds=100 * next(readings))
    )
    _, *rows = lanes_of(ada.get(f"/runs/{ids.wire('run', run.id)}")).values()
    assert len(rows) == 3
    for row in rows:
        assert "took </span>100 ms" in row
        assert re.search(r'<rect class="work" x="[0-9.]+" y="1" width="[0-9]+\.[0-9]"', row)
        assert re.search(r"[1-9][0-9] %<span", row)


def test_the_time_in_which_a_node_waited_is_drawn_apart(ada: Client) -> None:
    asked = building.execute(building.scope(), "conformance-approval")
    (row,) = [
        each for name, each in lanes_of(ada.get(f"/runs/{ids.wire('run', asked.id)}")).items() if "host" not in name
    ]
    assert 'class="wait"' in row
    assert "until now" in row


def test_the_pause_before_a_node_is_tried_again_is_drawn_as_a_wait(ada: Client, settings: Settings) -> None:
    settings.OPENWOP_OUTBOUND_ALLOW = ["127.0.0.1/32"]
    asking = {"url": "http://127.0.0.1:1/", "method": "GET"}  # where nobody listens
    retries = {"maxRetries": 1, "retryDelayMs": 30}
    building.install(
        "acme", building.definition("ask", building.node("ask", "core.http.request", asking, settings=retries))
    )
    run = building.advance_at(building.execute(building.scope(), "ask"), timezone.now() + timedelta(minutes=1))
    assert run.status == "failed"
    row = lanes_of(ada.get(f"/runs/{ids.wire('run', run.id)}"))["ask"]
    assert row.count('class="wait"') == 1


def test_a_row_has_the_inputs_the_prompt_and_the_reads_of_its_node(ada: Client) -> None:
    building.remember("acme", "The parcel is late")
    building.install_prompt("greeting", "Dear {{name}}, as you know:")
    building.install(
        "acme",
        building.definition(
            "letter",
            building.node("greet", "vendor.console.compose", {"template": "greeting"})
            | {"inputs": {"name": building.from_input("customer")}},
            building.node("look", "vendor.console.recall", {"memoryRef": "notes"}),
        ),
    )
    run = building.execute(building.scope(), "letter", customer="Marta")
    answer = ada.get(f"/runs/{ids.wire('run', run.id)}")
    lanes = lanes_of(answer)
    assert 'href="/artifacts/prompt:greeting@1.0.0"' in body_of(answer)
    assert "&quot;name&quot;: &quot;Marta&quot;" in lanes["greet"]
    assert "Dear {{name}}, as you know:" in lanes["greet"]
    assert "Dear Marta, as you know:" in lanes["greet"]
    assert 'class="node-read"' not in lanes["greet"]
    assert "The parcel is late" in lanes["look"].partition('class="node-read"')[2].partition("</li>")[0]


def test_what_a_node_read_is_shown_as_retired_like_the_entry_and_not_at_all_once_it_is_gone(ada: Client) -> None:
    kept = building.remember("acme", "The parcel is late").entries[0]
    recall = building.node("look", "vendor.console.recall", {"memoryRef": "notes"})
    building.install("acme", building.definition("looks", recall))
    run = building.execute(building.scope(), "looks")
    ledger.retirement.retire_entry(building.scope(), building.id_of("mem", kept), reason="", now=timezone.now())
    row = lanes_of(ada.get(f"/runs/{ids.wire('run', run.id)}"))["look"]
    read = row.partition('class="node-read"')[2].partition("</li>")[0]
    assert ("The parcel is late" in read, "retired" in read) == (True, True)
    ledger.erase.remove_entries(run.tenant_id, [building.id_of("mem", kept)], reason="deleted", now=timezone.now())
    row = lanes_of(ada.get(f"/runs/{ids.wire('run', run.id)}"))["look"]
    assert 'class="node-read"' in row
    assert "The parcel is late" not in row


def test_sensitive_inputs_of_a_node_are_masked(ada: Client) -> None:
    document = building.definition(
        "masked",
        building.node("only", "core.noop") | {"inputs": {"pin": building.from_input("pin")}},
        variables=[{"name": "pin", "type": "string", "sensitive": True}],
    )
    building.install("acme", document)
    run = building.execute(building.scope(), "masked", pin="4711-0815")
    shown = body_of(ada.get(f"/runs/{ids.wire('run', run.id)}"))
    assert "4711-0815" not in shown
    assert "[MASKED]" in shown


def test_who_may_not_read_memory_sees_no_inputs(sign_in: SignIn, monkeypatch: pytest.MonkeyPatch) -> None:
    made = building.remember("acme", "alpha")
    monkeypatch.setitem(access.ROLES, "viewer", access.ROLES["viewer"] - {"memory:read"})
    shown = body_of(sign_in(role="viewer").get(f"/runs/{ids.wire('run', made.run.id)}"))
    assert "remember-1" in shown
    assert "alpha" not in shown


def test_nodes_of_a_run_are_filtered_by_id_and_by_agent(ada: Client) -> None:
    nodes = [
        building.node("a", "core.noop", agent={"agentId": "acme.one"}),
        building.node("b", "core.noop", agent={"agentId": "acme.two"}),
    ]
    building.install("acme", building.definition("two", *nodes))
    url = f"/runs/{ids.wire('run', building.execute(building.scope(), 'two').id)}"
    assert list(lanes_of(ada.get(f"{url}?node=b"))) == ["b"]
    assert list(lanes_of(ada.get(f"{url}?agent=acme.one"))) == ["a"]
    assert "Nothing matches" in body_of(ada.get(f"{url}?node=b&agent=acme.one"))


def test_a_step_is_chosen_to_fork_from_by_its_link(ada: Client) -> None:
    made = building.remember("acme", "alpha", "omega").run
    url = f"/runs/{ids.wire('run', made.id)}"
    link = re.search(r'href="([^"]+fork=[^"]+)"', lanes_of(ada.get(url))["remember-2"])
    assert link
    shown = body_of(ada.get(link[1].partition("#")[0]))
    assert "Fork from <code>remember-2</code>" in shown
    sequence = re.search(r'name="from_seq"[^>]*value="([0-9]+)"', shown)
    assert sequence
    branch = ada.post(f"{url}/fork", {"mode": "branch", "from_seq": sequence[1]})["Location"]
    run = building.advance(Run.objects.get(id=building.id_of("run", branch.rpartition("/")[2])))
    assert run.status == "completed"
    assert len(body_of(ada.get(branch)).split("memory.written")) == 3


def test_an_external_run_is_drawn_by_the_nodes_that_its_agent_states(ada: Client) -> None:
    scope = building.scope(role="agent")
    for node in ("plan", "act"):
        origin = Origin("langgraph", run_ref="r1", node=node)
        external_runs.write_entry(
            scope, "notes", EntryDraft(f"by {node}", agent_id="acme.far"), origin, now=timezone.now()
        )
    run = Run.objects.get(external=True)
    lanes = lanes_of(ada.get(f"/runs/{ids.wire('run', run.id)}"))
    assert {"plan", "act"} <= lanes.keys()
    assert "by plan" in lanes["plan"]
    assert "thread <a" not in lanes["plan"], "none was stated"
    assert '<rect class="mark"' in lanes["plan"]


def test_an_external_run_is_shown_as_stated_and_offers_nothing_that_is_refused(ada: Client) -> None:
    scope, now = building.scope(role="agent"), timezone.now()
    for origin in (Origin("langgraph", thread_id="t-7", node="plan"), Origin("langgraph", thread_id="t-7"), None):
        draft = EntryDraft("stated", agent_id="acme.far")
        external_runs.write_entry(scope, "notes", draft, origin, now=now)
    named, unnamed = (f"/runs/{ids.wire('run', each.id)}" for each in Run.objects.filter(external=True).order_by("id"))
    shown = body_of(ada.get(named))
    assert "<span>Run of <bdi>langgraph</bdi>, stated by the agent</span>" in shown
    assert 'href="/memory?thread=t-7"' in shown
    assert "this host does not observe it" in shown
    assert "after 1 h" in shown
    assert "Open: it ends when its agent says so" in shown
    assert "No node stated" in lanes_of(ada.get(named))
    assert "Run of an agent elsewhere" in body_of(ada.get(unnamed))
    external_runs.end(scope, building.id_of("run", named.rpartition("/")[2]), "completed", now=now)
    ended = body_of(ada.get(named))
    for page in (shown, ended):
        for offer in ("Run again", "Pause the run", "Cancel the run", "Fork", "(host)", "Memory snapshot"):
            assert offer not in page, offer
    listed = body_of(ada.get("/runs"))
    assert "langgraph: t-7" in listed
    assert "An agent elsewhere" in listed


def test_what_is_stated_of_a_run_whose_entries_are_confidential_is_for_who_may_open_them(
    ada: Client, sign_in: SignIn
) -> None:
    body: dict[str, Any] = {"namespace": "n", "key": "k", "memory_type": "episodic", "value": {}}
    body |= {"sensitivity": "confidential", "origin": {"system": "sys-of-marta", "threadId": "thread-of-marta"}}
    headers = building.headers() | {"HTTP_X_AGENT_ID": "billing-01"}
    assert Client().put("/api/v1/memory", body, content_type="application/json", **headers).status_code == 201
    run = f"/runs/{ids.wire('run', Run.objects.get(external=True).id)}"
    vera = sign_in(role="viewer")
    for url in ("/runs", run):
        assert "-of-marta" in body_of(ada.get(url))
        assert "-of-marta" not in body_of(vera.get(url))


def test_the_fate_of_each_write_is_told_without_its_content(ada: Client) -> None:
    made = building.remember("acme", "stays", "is hidden", "is removed", tags=["secret-tag"])
    _, hidden, removed = entry_ids(*made.entries)
    ledger.retirement.retire_entry(building.scope(), hidden, reason="out of date", now=timezone.now())  # type: ignore[arg-type]
    ledger.erase.remove_entries(made.run.tenant_id, (removed,), reason="forgotten", now=timezone.now())  # type: ignore[arg-type]
    # The inputs of the run have these texts too, so the writes are looked at by themselves.
    lanes = lanes_of(ada.get(f"/runs/{ids.wire('run', made.run.id)}"))
    shown = "".join(lane.partition("<h4>Events</h4>")[2] for lane in lanes.values())
    assert "stays" in shown
    assert "is hidden" not in shown
    assert "out of date" in shown
    assert "is removed" not in shown
    assert made.entries[2] in shown
    assert "Its content is gone." in shown
    assert "secret-tag" not in lanes["remember-3"]


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
    assert f"Failed at <code>{run.current_node}</code>: <code>{run.error['code']}</code>" in shown


def test_the_whole_log_as_json(ada: Client) -> None:
    run = building.remember("acme", "x").run
    found = json.loads(body_of(ada.get(f"/runs/{ids.wire('run', run.id)}?format=json")))
    assert [event["sequence"] for event in found["events"]] == list(range(found["total"]))
    assert found["events"][-1]["type"] == "run.completed"


def test_a_longer_run_needs_no_more_queries(ada: Client) -> None:
    short, long = building.remember("acme", "a").run, building.remember("acme", *"abcdefghij").run
    ada.get(f"/runs/{ids.wire('run', short.id)}")  # the first request of a session writes its row
    with CaptureQueriesContext(connection) as few:
        ada.get(f"/runs/{ids.wire('run', short.id)}")
    with CaptureQueriesContext(connection) as many:
        ada.get(f"/runs/{ids.wire('run', long.id)}")
    assert len(many) == len(few)


def test_no_value_makes_a_run_page_fail(ada: Client) -> None:
    run = building.remember("acme", "a").run
    for query in ["at=x", "at=-1", "at=" + "9" * 30]:
        assert ada.get(f"/runs/{ids.wire('run', run.id)}?{query}").status_code == 200, query


def test_no_value_makes_the_list_of_runs_fail(ada: Client) -> None:
    for query in ["after=run_1", "after=x", "seen=-1", "format=csv"]:
        assert ada.get(f"/runs?{query}").status_code == 200, query


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


def forked(ada: Client, source: Run, mode: str, sequence: int) -> str:
    """The address of the comparison of a fork that has ended."""
    url = f"/runs/{ids.wire('run', source.id)}"
    made = ada.post(f"{url}/fork", {"mode": mode, "from_seq": str(sequence)})["Location"]
    building.advance(Run.objects.get(id=building.id_of("run", made.rpartition("/")[2])))
    assert f'href="{made}/compare"' in body_of(ada.get(made))
    assert f'href="{made}/compare"' in body_of(ada.get(url))
    return f"{made}/compare"


def rows_of(answer: Any) -> dict[str, str]:
    """The rows of a comparison by node."""
    rows = body_of(answer).partition("<tbody>")[2].partition("</tbody>")[0].split("<tr>")[1:]
    return {row.partition("<code>")[2].partition("</code>")[0]: row for row in rows}


def test_a_replay_that_came_to_the_same_is_said_to_be_the_same(ada: Client) -> None:
    made = building.remember("acme", "alpha", "omega")
    answer = ada.get(forked(ada, made.run, "replay", 0))
    assert "All 2 nodes are the same." in body_of(answer)
    assert all("> same" in row or ">same" in row for row in rows_of(answer).values())


def test_a_branch_is_compared_with_its_source_by_output_and_by_what_it_wrote(ada: Client) -> None:
    building.install_prompt("greeting", "Hello 1.0.0")
    building.install(
        "acme",
        building.definition(
            "letter",
            building.node("wait", "core.noop"),
            building.node("greet", "vendor.console.compose", {"template": "greeting"}),
            building.remember_node("{{content}}", node_id="keep")
            | {"inputs": {"content": {"type": "connection", "nodeId": "greet", "outputKey": "text"}}},
        ),
    )
    source = building.execute(building.scope(), "letter")
    building.install_prompt("greeting", "Hello 2.0.0", version="2.0.0")
    answer = ada.get(forked(ada, source, "branch", 3))
    rows = rows_of(answer)
    assert "Nothing" in rows["wait"]
    assert "prompt, output" in rows["greet"]
    assert "inputs, output, writes" in rows["keep"]
    kept = re.sub(r"<[^>]+>", "", rows["keep"])
    assert "Hello 1.0.0" in kept
    assert "Hello 2.0.0" in kept
    assert "2 of 3 nodes differ." in body_of(answer)


def test_a_branch_that_wrote_the_same_differs_once_one_of_the_two_entries_is_gone(ada: Client) -> None:
    made = building.remember("acme", "alpha", "omega")
    [second] = [each.sequence for each in building.log_of(made.run) if each.payload.get("nodeId") == "remember-2"][:1]
    compared = forked(ada, made.run, "branch", second)
    assert "writes" not in rows_of(ada.get(compared))["remember-2"]
    entry = building.id_of("mem", made.entries[1])
    ledger.erase.remove_entries(made.run.tenant_id, (entry,), reason="expired", now=timezone.now())
    assert "writes" in rows_of(ada.get(compared))["remember-2"]


def facts_of(shown: str) -> str:
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", shown.partition("<dt>Writes</dt>")[2].partition("</dd>")[0]))


def test_a_fork_counts_the_writes_of_its_source_apart(ada: Client) -> None:
    source = building.remember("acme", "alpha", "omega").run
    (second,) = [each.sequence for each in building.log_of(source) if each.payload.get("nodeId") == "remember-2"][:1]
    replay = forked(ada, source, "replay", 0).removesuffix("/compare")
    branch = forked(ada, source, "branch", second).removesuffix("/compare")
    told = {replay: "0 and 2 of its source, not repeated", branch: "1 and 1 of its source, not repeated"}
    for url, words in told.items():
        shown = body_of(ada.get(url))
        assert facts_of(shown).strip() == words
        assert "1 write of the source" in lanes_of(ada.get(url))["remember-1"]
        assert len(json.loads(body_of(ada.get(f"/memory?run={url.rpartition('/')[2]}&format=json")))["entries"]) == int(
            words[0]
        ), "as its Entries say"
    assert ">1 write</span>" in lanes_of(ada.get(branch))["remember-2"]
    assert "source" not in facts_of(body_of(ada.get(f"/runs/{ids.wire('run', source.id)}")))
    assert "1 write of the source" in rows_of(ada.get(f"{replay}/compare"))["remember-1"]


def test_a_node_that_a_fork_has_not_come_to_is_missing(ada: Client) -> None:
    made = building.remember("acme", "alpha", "omega")
    url = f"/runs/{ids.wire('run', made.run.id)}"
    branch = ada.post(f"{url}/fork", {"mode": "branch", "from_seq": "1"})["Location"]
    assert ">missing" in rows_of(ada.get(f"{branch}/compare"))["remember-2"].replace("</svg>", ">")


def test_a_run_that_is_no_fork_is_compared_with_nothing(ada: Client, sign_in: SignIn) -> None:
    made = building.remember("acme", "alpha")
    url = f"/runs/{ids.wire('run', made.run.id)}"
    assert ada.get(f"{url}/compare").status_code == 404
    fork = ada.post(f"{url}/fork", {"mode": "replay", "from_seq": "0"})["Location"]
    assert sign_in("globex").get(f"{fork}/compare").status_code == 404


def test_a_fork_form_that_is_none_is_refused(ada: Client) -> None:
    source = building.remember("acme", "alpha").run
    for form in [{}, {"mode": "rewind", "from_seq": "0"}, {"mode": "branch", "from_seq": "-1"}]:
        assert ada.post(f"/runs/{ids.wire('run', source.id)}/fork", form).status_code == 400, form


def test_a_button_of_a_run_that_is_refused_says_why_on_the_page_of_the_run(ada: Client) -> None:
    """What the source read was forgotten, and its workflow is gone."""
    source = building.execute(building.scope(), "conformance-noop")
    url = f"/runs/{ids.wire('run', source.id)}"
    past = ada.post(f"{url}/fork", {"mode": "replay", "from_seq": "99"})
    assert past.status_code == 422
    fork = body_of(past).partition('id="fork"')[2].partition("</form>")[0]
    assert "The run was not forked." in fork
    assert "at the latest, right behind the last." in fork
    assert 'value="99"' in fork
    Step.objects.written_by(Step.writer).filter(run_id=source.id).update(on_record=False)
    gone = ada.post(f"{url}/fork", {"mode": "replay", "from_seq": "0"})
    assert gone.status_code == 422
    assert "can no longer be served" in body_of(gone)
    assert "An outcome of its nodes was forgotten" in body_of(gone)
    Run.objects.written_by(Run.writer).filter(id=source.id).update(inputs={"who": FORGOTTEN})
    nameless = ada.post(f"{url}/again")
    assert nameless.status_code == 422
    assert "A subject was forgotten from the inputs of this run." in body_of(nameless)
    Run.objects.written_by(Run.writer).filter(id=source.id).update(workflow_id="gone", inputs={})
    again = ada.post(f"{url}/again")
    assert again.status_code == 404
    assert "The run was not started again." in body_of(again)
    assert f'action="{url}/again"' in body_of(again)


def test_the_reason_that_a_person_gave_stands_at_its_event(ada: Client, sign_in: SignIn) -> None:
    run = building.open_run(building.scope())
    page = f"/runs/{ids.wire('run', run.id)}"
    run_operations.pause_run(building.scope(), run.id, drain=False, reason="The vendor is down", now=timezone.now())
    for browser in (ada, sign_in(role="viewer")):
        assert "The vendor is down" in body_of(browser.get(page))
    assert "The vendor is down" in body_of(ada.get(f"{page}?format=json"))


@pytest.mark.engines
def test_a_run_is_verified_on_its_page_and_what_does_not_hold_is_named(ada: Client) -> None:
    made = building.remember("acme", "first", "second")
    audit.append(made.run.tenant_id, actor="host", action="act", now=made.run.created_at)
    url, run_id = f"/runs/{ids.wire('run', made.run.id)}", made.run.id
    assert f'action="{url}/verify"' in body_of(ada.get(url))
    told = body_of(ada.post(f"{url}/verify", follow=True))
    length = event_log.length(made.run.tenant_id, run_id)
    assert f"This run is intact: {length} events without a gap, 2 entries with the text that was written" in told
    assert "the audit chain of that time unbroken at record " in told
    digest = sql.key(ids.parse("mem", made.entries[1] or ""))
    with connection.cursor() as cursor:
        cursor.execute("UPDATE memory_memoryentry SET content = 'other' WHERE id = %s", [digest])
    tamper("DELETE FROM host_runevent WHERE stream_id = %s AND sequence = 3", sql.key(run_id), table="host_runevent")
    tamper("UPDATE host_auditrecord SET actor = 'mallory' WHERE action = 'act'")
    told = body_of(ada.post(f"{url}/verify", follow=True))
    assert "This run is not intact: event 3 is missing" in told
    assert f"the text of {made.entries[1]} was changed" in told
    assert "the audit chain breaks at record" in told


def test_the_last_event_of_a_run_is_missed_too(ada: Client) -> None:
    made = building.remember("acme", "first")
    last = event_log.length(made.run.tenant_id, made.run.id) - 1
    taken = (sql.key(made.run.id), last)
    tamper("DELETE FROM host_runevent WHERE stream_id = %s AND sequence = %s", *taken, table="host_runevent")
    told = body_of(ada.post(f"/runs/{ids.wire('run', made.run.id)}/verify", follow=True))
    assert f"This run is not intact: event {last} is missing" in told


def test_a_run_is_intact_whose_writers_waited_for_each_other(ada: Client) -> None:
    """The one that appended last read the clock first."""
    run, now = building.open_run(building.scope()), timezone.now()
    for at in (now, now - timedelta(seconds=2)):
        with transaction.atomic():
            event_log.append(run.tenant_id, run.id, NodeCompleted("write"), now=at)
    told = body_of(ada.post(f"/runs/{ids.wire('run', run.id)}/verify", follow=True))
    assert "This run is intact" in told


def test_a_run_is_verified_without_what_a_role_may_not_read(sign_in: SignIn) -> None:
    made = building.remember("acme", "first")
    url = f"/runs/{ids.wire('run', made.run.id)}"
    told = body_of(sign_in(role="viewer").post(f"{url}/verify", follow=True))
    assert "This run is intact" in told
    assert "audit chain of that time" not in told
    assert sign_in("globex").post(f"{url}/verify").status_code == 404


@pytest.mark.parametrize(("mode", "from_seq"), [("replay", 0), ("branch", 3)])
def test_a_fork_of_an_old_run_is_drawn_as_long_as_it_takes(mode: str, from_seq: int) -> None:
    long_ago = timezone.now() - timedelta(days=9)
    building.install("acme", building.definition("daily", *(building.node(each, "core.noop") for each in "abc")))
    made = run_operations.create_run(building.scope(), RunRequest("daily"), now=long_ago)
    source = building.advance_at(made, long_ago)
    fork = replay.fork(building.scope(), source.id, ForkRequest(mode, from_seq), now=timezone.now())
    building.advance(fork)
    shown = run_timeline.build_timeline(building.scope(), fork.id, now=timezone.now())
    assert shown.span.length < timedelta(minutes=1)
    assert all(lane.bar.offset < timedelta(minutes=1) for lane in shown.lanes)
    assert [event.timestamp for event in shown.events[:from_seq]] == [long_ago] * from_seq, "the log keeps the times"
