"""Compaction: many entries become one that says all of them, and nothing that somebody wrote is lost (RFC 0012)."""

from datetime import timedelta
from functools import partial
from typing import Any

import pytest
from django.utils import timezone
from pytest_django.fixtures import Settings

from memory import adapter, ledger, passes, provenance
from memory.entry_drafts import EntryDraft
from memory.host import event_log, ids, runs, vault
from memory.host.errors import Invalid, NotFound
from memory.host.models import Run
from memory.host.tenancy import TenantScope
from memory.models import Pass
from memory.models.entry import MemoryEntry
from memory.passes import orders
from memory.passes.orders import RequestedPass
from tests import building

pytestmark = pytest.mark.django_db


@pytest.fixture
def ada() -> TenantScope:
    return building.scope()


@pytest.fixture
def run(ada: TenantScope) -> Run:
    return building.open_run(ada)


def compact(ada: TenantScope, memory_ref: str = "notes", *, dry_run: bool = False, **options: Any) -> Pass:
    """A compaction that was asked for and carried out."""
    wanted = RequestedPass("compact", memory_ref, options, dry_run)
    return carried_out(orders.order(ada, wanted, now=timezone.now()))


def carried_out(work: Pass) -> Pass:
    ended = orders.run_pass(work.tenant_id, work.id, holder="test/1", clock=timezone.now)
    assert ended is not None
    return ended


def events(work: Pass) -> list[tuple[str, dict[str, Any]]]:
    return [(each.type, each.payload) for each in event_log.read(work.tenant_id, work.run_id)]


def entry(ada: TenantScope, wire_id: str) -> MemoryEntry:
    found = adapter.console.find_entry(ada, ids.parse("mem", wire_id) or ids.new_id(), now=timezone.now())
    assert found is not None
    return found


def position(ada: TenantScope) -> int:
    return ledger.head.position(ada.tenant_id)


# --- what comes out ---------------------------------------------------------------------------------------------------


def test_the_entries_are_one_with_each_text_once_and_in_the_order_they_were_written(ada: TenantScope, run: Run) -> None:
    said = ["the seal was swollen", "a kit was sent", "the seal was swollen", "it was fitted at home"]
    sources = [building.write(ada, run, text).id for text in said]

    work = compact(ada)

    assert work.state == "done"
    assert building.contents(ada) == ["the seal was swollen\na kit was sent\nit was fitted at home"]
    assert work.outcome == {
        "sourceCount": 4,
        "eligibleCount": 4,
        "corpusCount": 4,
        "byteSize": 57,
        "outputId": work.outcome["outputId"],
    }
    made = entry(ada, work.outcome["outputId"])
    assert (made.derived, made.node_id, made.run_id) == ("compacted", "", work.run_id)
    rows = {row.id: row for row in MemoryEntry.objects.of(ada.tenant_id).filter(id__in=sources)}
    assert {row.retired_kind for row in rows.values()} == {"compacted"}
    assert len(rows) == 4


def test_the_log_of_the_pass_tells_of_it_without_a_word_of_what_was_said(ada: TenantScope, run: Run) -> None:
    sources = [building.write(ada, run, text, tags=("triage", "customer:ana@x.example")).id for text in ("one", "two")]

    work = compact(ada)

    made = work.outcome["outputId"]
    assert [kind for kind, _ in events(work)] == ["run.started", "memory.written", "memory.compacted", "run.completed"]
    told = dict(events(work))
    assert told["memory.written"] == {"memoryRef": "notes", "memoryId": made, "tags": ["compacted", "triage"]}
    assert told["memory.compacted"] == {
        "memoryRef": "notes",
        "outputId": made,
        "sourceCount": 2,
        "trigger": "host-managed",
        "byteSize": 7,
        "sourceIds": [ids.wire("mem", each) for each in sources],
    }


def test_the_entry_says_of_which_runs_it_comes_and_keeps_the_tags_subject_and_agent_that_all_share(
    ada: TenantScope,
) -> None:
    first, second = building.open_run(ada), building.open_run(ada)
    shared: dict[str, Any] = {"subject": "ana@x.example", "agent_id": "acme.writer"}
    building.write(ada, first, "one", tags=("a", "b"), **shared)
    building.write(ada, second, "two", tags=("b", "c"), **shared)

    made = entry(ada, compact(ada).outcome["outputId"])

    comes_from = [f"compacted-from:{ids.wire('run', each.id)}" for each in (first, second)]
    assert made.tags == ["compacted", *comes_from, "b", "a", "c"]
    assert (made.subject, made.agent_id) == ("ana@x.example", "acme.writer")


@pytest.mark.parametrize(("own", "named"), [(10, 8), (57, 6), (62, 1)])
def test_of_many_runs_as_many_are_named_as_there_is_room_for_beside_the_tags(
    ada: TenantScope, own: int, named: int
) -> None:
    for number in range(12):
        run = building.open_run(ada)
        building.write(ada, run, f"note {number}", tags=tuple(f"tag-{each}" for each in range(own)))

    made = entry(ada, compact(ada).outcome["outputId"])

    assert sum(tag.startswith("compacted-from:run_") for tag in made.tags) == named
    assert {f"tag-{each}" for each in range(own)} < set(made.tags)
    assert len(made.tags) == 1 + named + own


def test_more_than_a_hundred_sources_are_counted_and_not_named(ada: TenantScope, run: Run) -> None:
    for number in range(101):
        building.write(ada, run, f"note {number}")

    work = compact(ada)

    [fact] = [payload for kind, payload in events(work) if kind == "memory.compacted"]
    assert fact["sourceCount"] == 101
    assert "sourceIds" not in fact
    target = ids.parse("mem", work.outcome["outputId"])
    assert target is not None
    assert len(provenance.sources_of(ada.tenant_id, [target])[target]) == 101


# --- what goes in -----------------------------------------------------------------------------------------------------


def test_the_oldest_go_in_and_no_more_than_were_asked_for(ada: TenantScope, run: Run) -> None:
    for number in range(5):
        building.write(ada, run, f"note {number}")

    work = compact(ada, maxInputEntries=3)

    assert building.contents(ada) == ["note 0\nnote 1\nnote 2", "note 4", "note 3"]
    assert (work.outcome["sourceCount"], work.outcome["corpusCount"]) == (3, 5)


def test_a_text_that_finds_no_room_stays_where_it_is(ada: TenantScope, run: Run) -> None:
    for text in ("a" * 10, "b" * 30, "c" * 10, "a" * 10):
        building.write(ada, run, text)

    work = compact(ada, maxOutputBytes=25)

    assert building.contents(ada) == ["a" * 10 + "\n" + "c" * 10, "b" * 30]
    assert (work.outcome["sourceCount"], work.outcome["eligibleCount"], work.outcome["byteSize"]) == (3, 4, 21)


def test_each_window_makes_an_entry_of_at_most_8_kib_unless_more_is_asked_for(ada: TenantScope, run: Run) -> None:
    said = [f"Note {number} of the shift: {'the kettle was descaled, ' * 14}as planned." for number in range(100)]
    for text in said:
        building.write(ada, run, text)

    sizes = []
    while (work := compact(ada)).state == "done":
        sizes.append(work.outcome["byteSize"])

    assert len(sizes) >= 4
    assert all(4096 < size <= 8192 for size in sizes[:-1])
    assert "\n".join(reversed(building.contents(ada))).split("\n") == said
    distilled = carried_out(
        orders.order(ada, RequestedPass("distill", "notes", {"tokenBudget": 3000}), now=timezone.now())
    )
    assert distilled.state == "done"
    for text in said:
        building.write(ada, run, text, memory_ref="large")
    assert compact(ada, "large", maxOutputBytes=65_536).outcome["sourceCount"] == 100


def test_entries_of_which_no_two_find_room_hold_up_none_about_another_subject(ada: TenantScope, run: Run) -> None:
    for text, subject in (("a" * 5000, "ana"), ("b" * 5000, "ana"), ("bo 1", "bo"), ("bo 2", "bo")):
        building.write(ada, run, text, subject=subject)
    assert compact(ada).outcome["sourceCount"] == 2
    assert building.contents(ada) == ["bo 1\nbo 2", "b" * 5000, "a" * 5000]
    refused = compact(ada)
    assert (refused.code, refused.outcome["details"]) == ("nothing_to_compact", {"eligible": 2})


def test_what_is_protected_expires_or_was_made_by_a_pass_is_left(ada: TenantScope, run: Run) -> None:
    kept = building.write(ada, run, "protected")
    ledger.entries.protect(ada, kept.id, protected=True, now=timezone.now())
    building.write(ada, run, "expires", expires_at=timezone.now() + timedelta(days=1))
    retired = building.write(ada, run, "retired")
    ledger.retirement.retire_entry(ada, retired.id, reason="wrong", now=timezone.now())
    for kind in ("distilled", "merged"):
        made = ledger.entries.Derivation(EntryDraft(kind), kind)
        ledger.entries.write_derived(building.ref(ada, "notes"), [made], run=run, now=timezone.now())
    building.write(ada, run, "plain")
    compact(ada)
    building.write(ada, run, "one more")

    work = compact(ada)

    assert work.code == "nothing_to_compact"
    assert building.contents(ada) == ["one more", "merged\nplain", "distilled", "expires", "protected"]


def test_entries_about_two_subjects_never_become_one(ada: TenantScope, run: Run) -> None:
    for text, subject in (("alone", "x"), ("ana 1", "ana"), ("bo 1", "bo"), ("ana 2", "ana"), ("bo 2", "bo")):
        building.write(ada, run, text, subject=subject)

    compact(ada)
    assert building.contents(ada) == ["ana 1\nana 2", "bo 2", "bo 1", "alone"]
    compact(ada)
    assert building.contents(ada) == ["bo 1\nbo 2", "ana 1\nana 2", "alone"]
    assert compact(ada).code == "nothing_to_compact"


@pytest.mark.parametrize("count", [0, 1])
def test_fewer_than_two_entries_are_refused_and_nothing_changes(ada: TenantScope, run: Run, count: int) -> None:
    for number in range(count):
        building.write(ada, run, f"note {number}")
    before = position(ada)

    work = compact(ada)

    assert (work.state, work.code) == ("refused", "nothing_to_compact")
    assert position(ada) == before
    assert [kind for kind, _ in events(work)] == ["run.started", "run.failed"]


def test_two_entries_of_which_only_one_fits_are_refused(ada: TenantScope, run: Run) -> None:
    building.write(ada, run, "short")
    building.write(ada, run, "x" * 100)
    assert compact(ada, maxOutputBytes=50).code == "nothing_to_compact"
    assert compact(ada, maxOutputBytes=4).code == "nothing_to_compact"


def test_options_that_make_no_sense_are_refused_by_name(ada: TenantScope) -> None:
    for options in (
        {"maxInputEntries": 0},
        {"maxInputEntries": 1001},
        {"maxInputEntries": True},
        {"maxInputEntries": "2"},
        {"maxOutputBytes": 0},
        {"maxOutputBytes": 65_537},
        {"maxOutputBytes": 1.5},
        {"tokenBudget": 5},
    ):
        with pytest.raises(Invalid) as refused:
            compact(ada, **options)
        assert [each["field"] for each in refused.value.details["errors"]] == list(options), options


def test_a_malformed_ref_is_refused_and_a_foreign_one_is_not_found(ada: TenantScope) -> None:
    with pytest.raises(NotFound):
        compact(ada, "tenant/globex/notes")
    for ref in ("../notes", "", "x" * 257):
        with pytest.raises(Invalid):
            compact(ada, ref)


# --- secrets ----------------------------------------------------------------------------------------------------------


def test_no_secret_and_no_old_mark_comes_through_a_compaction(ada: TenantScope, run: Run) -> None:
    """Written before the vault knew the value, under the mark of another host, or with the shape of a secret."""
    aws = "AKIA" + "ABCDEFGH12345678"
    building.write(ada, run, "the key is hunter2-hunter2, use it")
    building.write(ada, run, "the old one was <REDACTED:crm-key> and is gone")
    building.write(ada, run, f"somebody pasted {aws} here")
    vault.store_secret(ada.tenant_id, "crm-token", "hunter2-hunter2", now=timezone.now())

    work = compact(ada)

    [text] = building.contents(ada)
    assert text.split("\n") == [
        "the key is [REDACTED:crm-token], use it",
        "the old one was [REDACTED:crm-key] and is gone",
        "somebody pasted [REDACTED:secret-shape] here",
    ]
    assert work.outcome["byteSize"] == len(text.encode())


def test_a_secret_that_two_texts_make_together_is_taken_out_too(ada: TenantScope, run: Run) -> None:
    vault.store_secret(ada.tenant_id, "split", "first-half\nsecond-half", now=timezone.now())
    building.write(ada, run, "it ends with first-half")
    building.write(ada, run, "second-half and goes on")
    compact(ada)
    assert building.contents(ada) == ["it ends with [REDACTED:split] and goes on"]


def test_marks_count_in_the_bytes_that_may_come_out(ada: TenantScope, run: Run) -> None:
    vault.store_secret(ada.tenant_id, "a-name-much-longer-than-its-value", "12345678", now=timezone.now())
    for text in ("12345678 a", "12345678 b", "12345678 c"):
        building.write(ada, run, text)
    work = compact(ada, maxOutputBytes=100)
    assert work.outcome["sourceCount"] == 2
    assert work.outcome["byteSize"] <= 100


def test_what_grows_only_when_it_is_put_together_loses_its_last_text_and_keeps_that_entry(
    ada: TenantScope, run: Run
) -> None:
    vault.store_secret(ada.tenant_id, "x" * 100, "half-one\nhalf-two", now=timezone.now())
    for text in ("plain", "more", "half-one", "half-two"):
        building.write(ada, run, text)
    compact(ada, maxOutputBytes=30)
    assert building.contents(ada) == ["plain\nmore\nhalf-one", "half-two"]


# --- done once, undone, and not done ----------------------------------------------------------------------------------


def test_a_dry_run_says_what_would_come_and_changes_nothing(ada: TenantScope, run: Run) -> None:
    for text in ("one", "two", "three"):
        building.write(ada, run, text)
    before = position(ada)

    work = compact(ada, dry_run=True)

    assert work.state == "done"
    assert work.outcome == {"sourceCount": 3, "eligibleCount": 3, "corpusCount": 3, "byteSize": 13}
    assert position(ada) == before
    assert [kind for kind, _ in events(work)] == ["run.started", "run.completed"]
    real = compact(ada)
    assert {**real.outcome, "outputId": ""} == {**work.outcome, "outputId": ""}


def test_a_source_can_be_restored_and_is_not_taken_again(ada: TenantScope, run: Run) -> None:
    first = building.write(ada, run, "one")
    building.write(ada, run, "two")
    compact(ada)

    ledger.retirement.restore_entry(ada, first.id, now=timezone.now())
    building.write(ada, run, "three")

    assert compact(ada).code == "nothing_to_compact"
    assert building.contents(ada) == ["three", "one\ntwo", "one"]


def test_a_run_that_had_started_still_reads_the_sources(ada: TenantScope, run: Run) -> None:
    building.write(ada, run, "one")
    building.write(ada, run, "two")
    earlier = building.open_run(ada)
    compact(ada)
    seen = building.contents(ada, view=adapter.runs.RunView.for_run(earlier))
    assert seen == ["two", "one"]


def test_lineage_is_kept_both_ways(ada: TenantScope, run: Run) -> None:
    sources = [building.write(ada, run, text).id for text in ("one", "two")]
    work = compact(ada)
    target = ids.parse("mem", work.outcome["outputId"])
    assert target is not None
    assert [row.source_id for row in provenance.sources_of(ada.tenant_id, [target])[target]] == sources
    for source in sources:
        [row] = provenance.descendants_of(ada.tenant_id, [source])[source]
        assert (row.target_id, row.kind, row.pass_id) == (target, "compacted", work.id)


def test_a_read_only_host_refuses_even_the_dry_run(ada: TenantScope, run: Run, settings: Settings) -> None:
    building.write(ada, run, "one")
    building.write(ada, run, "two")
    settings.OPENWOP_MEMORY_WRITABLE = False
    for dry_run in (True, False):
        work = compact(ada, dry_run=dry_run)
        assert (work.state, work.code) == ("refused", "capability_not_provided")
    assert building.contents(ada) == ["two", "one"]


def test_nothing_of_another_ref_or_tenant_is_touched(ada: TenantScope, run: Run) -> None:
    globex = building.scope("globex")
    theirs = building.open_run(globex)
    for text in ("one", "two"):
        building.write(ada, run, text)
        building.write(ada, run, text, memory_ref="notes/other")
        building.write(globex, theirs, text)
    before = position(globex)
    compact(ada)
    assert building.contents(ada, "notes/other") == ["two", "one"]
    assert building.contents(globex) == ["two", "one"]
    assert position(globex) == before


def test_a_pass_whose_worker_died_at_any_step_compacts_once(
    ada: TenantScope, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first worker gets as far as one of the steps of the transaction and no further; the second does it all."""
    steps = [
        (ledger.retirement, "retire_entries"),
        (ledger.entries, "write_derived"),
        (provenance, "record"),
        (event_log, "append"),
    ]
    for text in ("one", "two"):
        building.write(ada, run, text)
    work = orders.order(ada, RequestedPass("compact", "notes"), now=timezone.now())
    start = timezone.now()
    for number, (module, name) in enumerate(steps):
        at = start + number * timedelta(minutes=2)
        with monkeypatch.context() as cut:
            cut.setattr(module, name, killed)
            with pytest.raises(KeyboardInterrupt):
                orders.run_pass(work.tenant_id, work.id, holder=f"dead/{number}", clock=partial(max, at, at))
        assert building.contents(ada) == ["two", "one"]

    orders.run_pass(work.tenant_id, work.id, holder="test/2", clock=lambda: start + timedelta(hours=1))

    assert building.contents(ada, now=start + timedelta(hours=1)) == ["one\ntwo"]
    kinds = [kind for kind, _ in events(work)]
    assert kinds == ["run.started", "memory.written", "memory.compacted", "run.completed"]
    assert runs.find(work.tenant_id, work.run_id).status == "completed"


def killed(*_: Any, **__: Any) -> None:
    raise KeyboardInterrupt


def test_what_somebody_retires_between_the_look_and_the_write_is_in_no_text(
    ada: TenantScope, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    for text in ("one", "two", "three"):
        last = building.write(ada, run, text)
    progress = passes.progress

    def meanwhile(*args: Any, **options: Any) -> None:
        progress(*args, **options)
        ledger.retirement.retire_entry(ada, last.id, reason="wrong", now=timezone.now())

    monkeypatch.setattr(passes, "progress", meanwhile)
    work = compact(ada)
    assert building.contents(ada) == ["one\ntwo"]
    assert work.outcome["sourceCount"] == 2
    building.write(ada, run, "four")
    last = building.write(ada, run, "five")
    assert compact(ada).code == "nothing_to_compact"
    assert building.contents(ada) == ["four", "one\ntwo"]


def test_a_pass_that_is_asked_to_stop_changes_nothing(ada: TenantScope, run: Run) -> None:
    for text in ("one", "two"):
        building.write(ada, run, text)
    work = orders.order(ada, RequestedPass("compact", "notes"), now=timezone.now())
    held = passes.claim(work.tenant_id, work.id, holder="test/0", now=timezone.now() - timedelta(minutes=2))
    assert held is not None
    orders.stop(ada, work.id, now=timezone.now())
    assert carried_out(work).state == "cancelled"
    assert building.contents(ada) == ["two", "one"]


def test_the_same_sources_make_the_same_text_in_another_tenant(ada: TenantScope) -> None:
    texts = ["one", "two", "three", "two"]
    for slug in ("acme", "globex"):
        owner = building.scope(slug)
        run = building.open_run(owner)
        for text in texts:
            building.write(owner, run, text)
        compact(owner)
    assert building.contents(ada) == building.contents(building.scope("globex"))
