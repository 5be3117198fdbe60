"""What the host looks at before it proposes: its own runs as they were, and nothing that was hidden or gone."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from memory import ledger, memory_policy
from memory.forget import execution
from memory.host import api_keys, ids, scheduling, tenancy, vault
from memory.host.models import Interrupt, Run
from memory.host.scheduling import ScheduleOrder
from memory.host.tenancy import TenantScope
from memory.models import Commitment, KeptContent
from openwop_console.runtime import commitment_firing, replay, run_operations, schedules
from openwop_console.runtime.replay import ForkRequest
from openwop_console.runtime.run_operations import RunRequest
from proposals.learning import run_traces
from proposals.learning.miners.traces import Origin, Traces
from tests import building, learning

pytestmark = pytest.mark.django_db
MARTA = "marta.kowalska@example.com"


def traces(slug: str = "acme", **later: Any) -> Traces:
    return run_traces.traces_of(building.tenant(slug).id, now=timezone.now() + timedelta(**later))


def person(email: str = "ada@acme.example") -> TenantScope:
    return tenancy.tenant_scope(tenancy.operator_principal(building.operator(email=email)))


def forget(subject: str) -> None:
    owner = building.scope()
    found = execution.preview(owner, [subject], now=timezone.now())
    ticked = {row.hex for held in found.holdings for row in held.suspected}
    request = execution.confirm(
        owner, found.request.id, typed=subject, reason="GDPR-7", ticked=ticked, now=timezone.now()
    )
    done = execution.execute(owner.tenant_id, request.id, holder="test/1", now=timezone.now(), clock=timezone.now)
    assert done is not None
    assert done.state == "forgotten", done.receipt


# --- runs -----------------------------------------------------------------------------------------------------------


@pytest.mark.engines
def test_a_run_is_seen_as_it_was_executed() -> None:
    nodes = [
        building.node("first", "core.noop"),
        building.remember_node("a note", node_id="second"),
        building.node("third", "core.fail", {"code": "crm_away"}),
        building.node("fourth", "core.noop"),
    ]
    building.install("acme", building.definition("flow", *nodes))
    run = building.execute(building.scope(), "flow", customer="C-1")
    [seen] = traces().runs
    assert (seen.run_id, seen.workflow_id, seen.status) == (ids.wire("run", run.id), "flow", "failed")
    assert (seen.origin, seen.builtin, seen.inputs) == (Origin.KEY, False, {"customer": "C-1"})
    assert [(node.node_id, node.state, node.error_code) for node in seen.nodes] == [
        ("first", "completed", ""),
        ("second", "completed", ""),
        ("third", "failed", "crm_away"),
    ]
    assert seen.edges == (("first", "second"), ("second", "third"), ("third", "fourth"))
    remembering = seen.nodes[1]
    assert (remembering.agent_id, remembering.tools) == ("acme.writer", ("openwop:memory.write",))
    assert remembering.config == {"content": "a note", "memoryRef": "notes"}


def test_runs_of_the_host_replays_old_ones_and_those_under_way_are_not_looked_at() -> None:
    acme = building.scope()
    ended = building.execute(acme, "conformance-noop")
    run_operations.create_run(acme, RunRequest("conformance-noop"), now=timezone.now())
    replayed = replay.fork(acme, ended.id, ForkRequest("replay"), now=timezone.now())
    assert building.advance(replayed).status == "completed"
    learning.carried_out()
    [seen] = traces().runs
    assert (seen.run_id, seen.builtin) == (ids.wire("run", ended.id), True)
    assert traces(days=30, seconds=30).runs == ()


@pytest.mark.engines
def test_what_started_a_run_is_known() -> None:
    now, ada, acme = timezone.now(), person(), building.scope()
    building.execute(ada, "conformance-noop")
    building.execute(acme, "conformance-noop")
    building.execute(building.scope(agents=("acme.writer",)), "conformance-noop")
    order = ScheduleOrder("often", "conformance-noop", ada.principal.id, cron="* * * * *")
    kept = scheduling.create_schedule(acme.tenant_id, order, now=now - timedelta(minutes=5))
    assert schedules.fire(acme.tenant_id, kept.id, now=now)
    building.advance(Run.objects.get(metadata__origin__schedule="often"))
    beating = RunRequest("conformance-noop", metadata={"origin": {"heartbeat": "pulse"}})
    building.advance(run_operations.create_run(acme, beating, now=now))
    hosts = tenancy.host_scope(building.tenant(), scopes=tenancy.RUN_SCOPES | {"runs:create"})
    building.advance(run_operations.create_run(hosts, RunRequest("conformance-noop"), now=now))
    branch = replay.fork(ada, Run.objects.earliest("id").id, ForkRequest("branch", 0), now=now)
    building.advance(branch)
    assert [seen.origin for seen in traces().runs] == [
        "person",
        "key",
        "agent",
        "schedule",
        "heartbeat",
        "host",
        "fork",
    ]
    assert {(each.workflow_id, each.cron, each.timezone) for each in traces().schedules} == {
        ("conformance-noop", "* * * * *", "UTC")
    }


def test_a_key_of_an_agent_is_a_program_also_when_it_is_good_no_more() -> None:
    bound = building.scope(agents=("acme.writer",))
    building.execute(bound, "conformance-noop", agent_id="acme.writer")
    building.execute(building.scope("globex", agents=("acme.writer",)), "conformance-noop")
    key_id = ids.parse("key", bound.principal.id)
    assert key_id
    api_keys.revoke_api_key(bound.tenant_id, key_id, now=timezone.now())
    [seen] = traces().runs
    assert (seen.origin, seen.agent_id) == (Origin.AGENT, "acme.writer")


def test_the_newest_runs_are_looked_at_and_how_many_there_were_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    acme = building.scope()
    made = [ids.wire("run", building.execute(acme, "conformance-noop").id) for _ in range(4)]
    monkeypatch.setattr(run_traces, "MOST_RUNS", 3)
    assert [seen.run_id for seen in traces().runs] == made[1:]
    assert run_traces.count_of(acme.tenant_id, now=timezone.now()) == 4
    looked = learning.ending_with(learning.carried_out())["lookedAt"]
    assert (looked["runs"], looked["runsInAll"]) == (3, 4)


def test_how_many_queries_it_takes_does_not_depend_on_how_many_runs_there_are() -> None:
    acme = building.scope()
    learning.install_triage()
    building.remember("acme", "Refunds take five days.")

    def queries() -> int:
        with CaptureQueriesContext(connection) as counted:
            found = traces()
        assert found.corrections
        assert found.readings
        return len(counted)

    learning.corrected(acme)
    of_one = queries()
    for number in range(7):
        learning.corrected(acme, f"Please keep it to {number} sentences.")
    assert queries() == of_one
    assert of_one < 30


# --- corrections ----------------------------------------------------------------------------------------------------


@pytest.mark.engines
def test_what_a_person_asks_to_be_changed_behind_a_prompt_is_a_correction() -> None:
    ada = person()
    learning.install_triage()
    run = learning.corrected(ada)
    interrupt = Interrupt.objects.get(run_id=run.id)
    [said] = traces().corrections
    assert (said.run_id, said.node_id, said.prompt) == (ids.wire("run", run.id), "ask", learning.PROMPT)
    assert (said.text, said.by) == (learning.WORDY, ada.principal.id)
    assert (said.at, said.evidence_id) == (interrupt.resolved_at, ids.wire("int", interrupt.id))
    assert traces().runs[0].prompts == ((learning.PROMPT, "compose"),)


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ({"action": "accept", "reason": "fine"}, []),
        ({"action": "reject", "reason": "too long"}, ["too long"]),
        ({"action": "reject"}, []),
        ({"action": "edit-accept", "editedArtifactData": {"text": "x"}, "feedback": "shorter"}, ["shorter"]),
        ({"action": "refine", "refineFeedback": {"scope": "whole", "text": " ", "more": "x"}}, []),
    ],
)
def test_only_words_that_ask_for_something_else_are_corrections(value: dict[str, Any], said: list[str]) -> None:
    acme = building.scope()
    learning.install_triage()
    learning.answered(acme, learning.asked(acme), value)
    assert [each.text for each in traces().corrections] == said


def test_an_answer_to_a_question_behind_a_prompt_is_a_correction_unless_a_program_gave_it() -> None:
    questions = [{"id": "tone", "question": "How should it sound?"}]
    learning.install_triage(kind="core.clarificationGate", questions=questions, actions=None)
    bound = building.scope(role="owner", agents=("acme.writer",))
    for by, text in ((building.scope(), "Kinder, please."), (bound, "As a program wants it.")):
        learning.answered(by, learning.asked(building.scope()), {"answers": {"tone": text}})
    assert [each.text for each in traces().corrections] == ["Kinder, please."]


def test_what_is_said_without_a_prompt_before_it_corrects_none() -> None:
    acme = building.scope()
    learning.install_prompt()
    compose = building.node("compose", "vendor.console.compose", {"template": learning.PROMPT})
    compose["inputs"] = {"ticket": building.from_input("ticket")}
    gate = building.node("ask", "core.approvalGate", {"actions": ["accept", "reject"]})
    building.install("acme", building.definition(learning.WORKFLOW, gate, compose))
    learning.answered(acme, learning.asked(acme), {"action": "reject", "reason": "no"})
    learning.answered(acme, learning.asked(acme), {"action": "accept"})
    assert traces().corrections == ()


@pytest.mark.engines
def test_a_correction_that_a_branch_has_taken_over_counts_once() -> None:
    acme = building.scope()
    learning.install_triage(onReject="continue")
    run = learning.corrected(acme)
    assert len(traces().corrections) == 1
    last = replay.fork(acme, run.id, ForkRequest("branch", run_length(run) - 2), now=timezone.now())
    assert building.advance(last).status in ("completed", "failed")
    assert Interrupt.objects.filter(resume_value__isnull=False).count() == 2
    assert len(traces().corrections) == 1


def run_length(run: Run) -> int:
    return len(run_operations.read_events(building.scope(), run, after=-1)[0])


# --- memory ---------------------------------------------------------------------------------------------------------


@pytest.mark.engines
def test_a_memory_that_was_read_on_the_way_to_a_prompt_is_a_reading_once_a_run() -> None:
    acme = building.scope()
    learning.install_triage()
    [entry] = building.remember("acme", "Refunds take five days.").entries
    run = learning.corrected(acme)
    [read] = traces().readings
    assert (read.run_id, read.prompt, read.memory_id) == (ids.wire("run", run.id), learning.PROMPT, entry)
    assert (read.content, read.at) == ("Refunds take five days.", run.created_at)


def retire(entry: str) -> None:
    known = ids.parse("mem", entry)
    assert known
    ledger.retirement.retire_entry(building.scope(), known, reason="wrong", now=timezone.now())


def blank(_: str) -> None:
    KeptContent.objects.written_by("memory.recordings").update(text=None)


@pytest.mark.parametrize("hide", [retire, blank])
def test_a_memory_that_is_retired_or_blanked_is_not_learnt_from(hide: Callable[[str], None]) -> None:
    learning.install_triage()
    [entry] = building.remember("acme", "Refunds take five days.").entries
    learning.corrected(building.scope())
    hide(entry)
    assert traces().readings == ()


def test_a_memory_that_has_expired_is_not_learnt_from() -> None:
    learning.install_triage()
    building.remember("acme", "Refunds take five days.", ttlSeconds=3600)
    learning.corrected(building.scope())
    assert len(traces().readings) == 1
    assert traces(hours=2).readings == ()


# --- what is hidden -------------------------------------------------------------------------------------------------


def test_nothing_in_which_a_secret_stands_is_learnt_from() -> None:
    acme = building.scope()
    learning.install_triage()
    building.remember("acme", "The key is tok-4f9a8b7c6d.")
    learning.corrected(acme, "Say tok-4f9a8b7c6d first.", note="tok-4f9a8b7c6d", plain="x")
    learning.corrected(acme, "Write password=hunter2-hunter2 below.")
    assert len(traces().corrections) == 1
    assert len(traces().readings) == 2
    vault.store_secret(acme.tenant_id, "crm", "tok-4f9a8b7c6d", now=timezone.now())
    seen = traces()
    assert "tok-4f9a8b7c6d" not in repr(seen)
    assert "hunter2" not in repr(seen)
    assert (seen.corrections, seen.readings) == ((), ())
    assert seen.runs[-2].inputs == {"ticket": "T-1", "plain": "x"}
    assert [run.incomplete for run in seen.runs[-2:]] == [True, False]
    assert all("[REDACTED" not in repr(each) for each in (seen.corrections, seen.readings, seen.runs))


def test_a_run_of_a_workflow_in_which_a_secret_stands_is_left_out() -> None:
    acme = building.scope()
    building.install("acme", building.definition("flow", building.remember_node("tok-4f9a8b7c6d")))
    building.execute(acme, "flow")
    assert len(traces().runs) == 1
    vault.store_secret(acme.tenant_id, "crm", "tok-4f9a8b7c6d", now=timezone.now())
    assert traces().runs == ()


@pytest.mark.engines
def test_what_was_forgotten_is_not_learnt_from() -> None:
    acme = building.scope()
    learning.install_triage()
    building.remember("acme", f"{MARTA} pays late.")
    learning.corrected(acme, f"Greet {MARTA} by name.", customer=MARTA)
    seen = traces()
    assert (len(seen.corrections), len(seen.readings)) == (1, 1)
    forget(MARTA)
    seen = traces()
    assert (seen.corrections, seen.readings) == ((), ())
    assert "FORGOTTEN" not in repr(seen)
    assert MARTA not in repr(seen)


def test_another_tenant_s_traces_are_never_looked_at() -> None:
    for slug in ("acme", "globex"):
        learning.install_triage(slug)
        building.remember(slug, f"{slug} remembers this.")
        learning.corrected(building.scope(slug), f"As {slug} says.")
    seen = traces()
    assert "globex" not in repr(seen)
    assert (len(seen.corrections), len(seen.readings), len(seen.prompts)) == (1, 1, 1)
    assert "acme" not in repr(traces("globex").corrections)


# --- what stands ----------------------------------------------------------------------------------------------------


@pytest.mark.engines
def test_a_firing_is_seen_with_the_run_that_it_started_until_its_commitment_is_cancelled() -> None:
    acme = building.scope()
    memory_policy.change(
        acme, {"commitment_workflow": "conformance-noop", "timezone": "Europe/Prague"}, now=timezone.now()
    )
    building.remember("acme", "Remind us in 3 days to call back.")
    commitment_firing.process_commitments(acme.tenant_id, clock=timezone.now)
    commitment = Commitment.objects.get()
    assert commitment.due_at
    then = commitment.due_at + timedelta(seconds=1)
    assert commitment_firing.fire(acme.tenant_id, commitment.id, now=then)
    seen = traces(days=4)
    [fired] = seen.firings
    started = Run.objects.get(metadata__origin__commitment=ids.wire("cmt", commitment.id))
    assert (fired.commitment_id, fired.memory_ref) == (ids.wire("cmt", commitment.id), "notes")
    assert (fired.workflow_id, fired.run_id) == ("conformance-noop", ids.wire("run", started.id))
    assert (fired.at, fired.inputs) == (then, started.inputs)
    assert seen.timezone == "Europe/Prague"
    entry = ids.wire("mem", commitment.entry_id)
    retire(entry)
    assert traces(days=4).firings == ()


def test_what_is_installed_is_seen_in_its_current_version() -> None:
    building.install_agent("acme", {"agentId": "private.acme.triage", "toolAllowlist": ["openwop:memory.read"]})
    learning.install_prompt()
    seen = traces()
    [agent], [prompt] = seen.agents, seen.prompts
    assert (agent.manifest["agentId"], agent.manifest["toolAllowlist"]) == (
        "private.acme.triage",
        ["openwop:memory.read"],
    )
    assert prompt.document["templateId"] == learning.PROMPT
    assert seen.chains == ()
