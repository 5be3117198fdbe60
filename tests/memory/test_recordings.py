"""What runs read is kept beside the log: once a text, with the step, and within the reach of a forget."""

from collections.abc import Callable
from datetime import datetime, timedelta
from functools import partial
from typing import Any

import pytest
from django.utils import timezone

from memory import recordings, retention_sweep
from memory.forget import execution
from memory.forget.erasers.declared import Declared
from memory.host import event_log, ids, node_types
from memory.host.erasure import Identifiers
from memory.host.errors import ReplayMemorySnapshotUnavailable
from memory.host.models import Run
from memory.host.node_types import Done, NodeContext, NodeFailure, Outcome, Sleep
from memory.models import ForgetState, KeptContent, KeptRead
from memory.recordings import Read
from openwop_console.runtime import engine, run_operations
from openwop_console.runtime import replay as runtime_replay
from openwop_console.runtime.models import Step
from openwop_console.runtime.replay import ForkRequest
from openwop_console.runtime.run_operations import RunRequest
from tests import building

pytestmark = pytest.mark.django_db
MARTA = "marta.kowalska@example.com"


def recalled(*, memory_ref: str = "notes", **config: Any) -> Run:
    """A run with one node that recalls."""
    name = f"recall-{ids.new_id().hex}"
    settings = {"memoryRef": memory_ref, **config}
    building.install("acme", building.definition(name, building.node("recall", "vendor.console.recall", settings)))
    return building.execute(building.scope(), name)


def kept_of(run: Run) -> list[KeptRead]:
    return list(KeptRead.objects.of(run.tenant_id).filter(run_id=run.id).order_by("node_id", "ordinal"))


def replay(run: Run) -> Run:
    made = runtime_replay.fork(building.scope(), run.id, ForkRequest("replay"), now=timezone.now())
    return building.advance(made)


def test_a_text_is_kept_once_however_many_runs_read_it_and_reads_say_in_which_order() -> None:
    building.remember("acme", "one", "two")
    first, second = recalled(), recalled()
    assert KeptContent.objects.count() == 2
    [read], [same] = kept_of(first), kept_of(second)
    assert read.contents == same.contents
    assert (read.node_id, read.ordinal) == ("recall", 0)
    [served] = recordings.reads_of_node(first.tenant_id, first.id, "recall")
    assert [document["content"] for document in served.documents] == ["two", "one"]
    assert served.documents == first_outputs(first)


def first_outputs(run: Run) -> list[dict]:
    entries: list[dict] = Step.objects.get(run_id=run.id).outputs["entries"]
    return entries


@pytest.mark.engines
def test_a_read_that_found_nothing_is_a_read_too() -> None:
    run = recalled(memory_ref="nothing/here")
    assert [read.contents for read in kept_of(run)] == [[]]
    assert kept_of(recalled(memory_ref="tenant/globex/notes"))[0].contents == []
    assert KeptContent.objects.count() == 0


@pytest.mark.engines
def test_tenants_share_no_text() -> None:
    for slug in ("acme", "globex"):
        building.remember(slug, "the same words")
        settings = {"memoryRef": "notes"}
        document = building.definition("look", building.node("recall", "vendor.console.recall", settings))
        building.install(slug, document)
        building.execute(building.scope(slug), "look")
    assert KeptContent.objects.count() == 2
    globex = building.tenant("globex").id
    assert recordings.reads_of_node(globex, Run.objects.of(building.tenant().id).last().id, "recall") == []


@pytest.mark.engines
def test_what_a_node_asked_is_kept_as_a_digest_alone() -> None:
    run = recalled(tag=f"customer:{MARTA}")
    row = KeptRead.objects.filter(run_id=run.id).values()[0]
    assert MARTA not in str(row)


def test_a_node_that_is_called_again_is_kept_anew_and_a_failed_attempt_leaves_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    building.remember("acme", "one", memory_ref="first")
    building.remember("acme", "two", memory_ref="second")

    def wakes(ctx: NodeContext) -> Outcome:
        if ctx.now < ctx.started_at + timedelta(seconds=5):
            ctx.memory.list("first")
            ctx.memory.list("first")
            return Sleep(ctx.started_at + timedelta(seconds=5))
        ctx.memory.list("second")
        if ctx.attempt == 1:
            raise NodeFailure("not_yet", "Not yet.")
        return Done()

    monkeypatch.setitem(node_types._types, "core.noop", wakes)
    document = building.definition("wakes", building.node("a", "core.noop"))
    building.install("acme", {**document, "settings": {"maxRetries": 1, "retryDelayMs": 1000}})
    now = timezone.now()
    run = run_operations.create_run(building.scope(), RunRequest("wakes"), now=now)
    kept = []
    for at in (now + timedelta(seconds=seconds) for seconds in (0, 6, 10)):
        engine.advance(run.tenant_id, run.id, holder="t/1", clock=partial(datetime.fromisoformat, at.isoformat()))
        kept.append([len(read.contents) for read in kept_of(run)])
    assert kept == [[1, 1], [1, 1], [1]]
    assert Run.objects.get(id=run.id).status == "completed"
    made = runtime_replay.fork(building.scope(), run.id, ForkRequest("replay"), now=timezone.now())
    assert building.advance(made).status == "completed"


@pytest.mark.parametrize("count", [0, 3])
def test_reading_costs_the_same_number_of_statements_whatever_is_read(
    count: int, django_assert_num_queries: Callable[[int], Any]
) -> None:
    run = building.open_run(building.scope())
    documents = [{"id": f"mem_{number}", "content": "x" * number} for number in range(count)]
    with django_assert_num_queries(3 if count else 1):
        recordings.record_reads(run, "a", [Read("0" * 64, documents)], again=False, now=timezone.now())
    with django_assert_num_queries(0):
        recordings.record_reads(run, "b", [], again=False, now=timezone.now())


def test_an_entry_that_expired_was_retired_or_swept_is_replayed_all_the_same() -> None:
    building.remember("acme", "short-lived", ttlSeconds=3600)
    run = recalled()
    later = timezone.now() + timedelta(hours=2)
    retention_sweep.sweep(now=later)
    made = replay(run)
    assert made.status == "completed"
    assert [e["content"] for e in first_outputs(made)] == ["short-lived"]


@pytest.mark.engines
def test_a_forgotten_text_is_blanked_its_digest_stays_and_a_replay_of_it_is_refused() -> None:
    building.remember("acme", f"Call {MARTA}", "unrelated")
    run, other = recalled(), recalled(memory_ref="elsewhere")
    acme = building.scope()
    before = event_log.read(run.tenant_id, run.id)
    found = execution.preview(acme, [MARTA], now=timezone.now())
    holding = next(each for each in found.holdings if each.store == "recorded reads")
    assert (len(holding.erase), len(holding.suspected)) == (1, 0)
    request = execution.confirm(
        acme, found.request.id, typed=MARTA, reason="ticket 17", ticked=set(), now=timezone.now()
    )
    done = execution.execute(acme.tenant_id, request.id, holder="t/1", now=timezone.now(), clock=timezone.now)
    assert done.state == ForgetState.FORGOTTEN
    assert done.receipt["stores"]["recorded reads"]["erased"] == 1
    assert sorted(content.text is None for content in KeptContent.objects.all()) == [False, True]
    assert event_log.read(run.tenant_id, run.id) == before
    with pytest.raises(ReplayMemorySnapshotUnavailable):
        replay(run)
    assert replay(other).status == "completed"


@pytest.mark.engines
def test_a_part_of_another_name_is_suspected_and_goes_only_when_ticked() -> None:
    building.remember("acme", f"x{MARTA}")
    run = recalled()
    subject = Identifiers((MARTA,))
    holding = Declared(KeptContent).find(run.tenant_id, subject)
    assert (holding.erase, len(holding.suspected)) == ((), 1)
    rows = holding.suspected
    look = {"chosen": frozenset(rows), "spared": frozenset[Any]()}
    assert Declared(KeptContent).erase(run.tenant_id, subject, rows, ticked=False, now=timezone.now()) == 0
    assert Declared(KeptContent).remains(run.tenant_id, subject, **look).left == 1
    assert Declared(KeptContent).erase(run.tenant_id, subject, rows, ticked=True, now=timezone.now()) == 1
    assert Declared(KeptContent).remains(run.tenant_id, subject, **look).left == 0
    assert KeptContent.objects.get().text is None


def test_a_name_across_a_line_break_is_found_in_a_kept_text() -> None:
    building.remember("acme", "signed: Marta\nKowalska, Example")
    run = recalled()
    subject = Identifiers(("marta kowalska",))
    holding = Declared(KeptContent).find(run.tenant_id, subject)
    assert len(holding.erase) == 1
    look = {"chosen": frozenset[Any](), "spared": frozenset[Any]()}
    assert Declared(KeptContent).remains(run.tenant_id, subject, **look).left == 1


def test_a_run_whose_inputs_were_forgotten_is_replayed_from_what_is_on_record() -> None:
    document = building.definition("echo", building.node("say", "vendor.console.compose", {"text": "hello {{mail}}"}))
    document["nodes"][0]["inputs"] = {"mail": building.from_input("mail")}
    building.install("acme", document)
    run = building.execute(building.scope(), "echo", mail=MARTA)
    acme = building.scope()
    found = execution.preview(acme, [MARTA], now=timezone.now())
    request = execution.confirm(acme, found.request.id, typed=MARTA, reason="x 17", ticked=set(), now=timezone.now())
    execution.execute(acme.tenant_id, request.id, holder="t/1", now=timezone.now(), clock=timezone.now)
    made = replay(run)
    assert made.status == "completed"
    assert made.inputs == {"mail": "[FORGOTTEN]"}
