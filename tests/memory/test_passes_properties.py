"""What holds of every pass over any corpus: nothing leaks, nothing is lost or told twice, and nothing else is touched.

Each example is a corpus of its own in one ref, beside another ref and another tenant that hold the same; all of it is
undone at its end.
"""

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.db import transaction
from django.utils import timezone
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from memory import adapter, ledger, provenance
from memory.entry_drafts import EntryDraft
from memory.host import event_log, vault
from memory.host.tenancy import TenantScope
from memory.ledger.entries import Derivation
from memory.models import Archive, Lineage, Pass
from memory.models.entry import LedgerHead, MemoryEntry
from memory.passes import orders
from memory.passes.orders import RequestedPass
from memory.text.encodings import forms_of
from tests import building
from tests.budgets import tries
from tests.building import undone

pytestmark = pytest.mark.django_db
KINDS = ("compact", "consolidate", "distill")
SECRET = "tr0ub4dor-and-3"
START = datetime.fromisoformat("2026-03-01T12:00:00+00:00")

NAMES = st.sampled_from(["Ana Torres", "Ana Torvald", "Bo Lind", "Café Lumière", "陳美玲"])
AMOUNTS = st.sampled_from(["$49", "$59", "49.00 EUR", "17%", "2026-03-04"])
VERBS = st.sampled_from(["prefers", "no longer prefers", "pays", "does not pay", "asked for"])
THINGS = st.sampled_from(["the Pro plan", "calls in the morning", "an invoice by post", "the loan machine"])
SENTENCES = st.builds("{} {} {} at {}.".format, NAMES, VERBS, THINGS, AMOUNTS)
SPOKEN = st.sampled_from([f"The till opens with {SECRET}.", "Filed with <REDACTED:crm-key> at noon.", "a", " \n "])
SPOKEN_TWICE = [
    EntryDraft(f"{mark}The till of the shop in Leipzig opens with {SECRET} in the morning.", (tag,))
    for mark in ("", "Filed with <REDACTED:crm-key> at noon. ")
    for tag in ("a", "b")
]
ODD = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), min_size=1, max_size=60)
TEXTS = st.one_of(SENTENCES, SENTENCES, SENTENCES, SPOKEN, ODD)
ENTRIES = st.builds(
    EntryDraft,
    TEXTS,
    tags=st.lists(st.sampled_from(["a", "b", "customer:ana@x.example"]), max_size=2).map(tuple),
    subject=st.sampled_from(["", "", "ana@x.example"]),
)
CORPORA = st.lists(ENTRIES, min_size=1, max_size=14).flatmap(
    lambda some: st.lists(st.sampled_from(some), max_size=6).map(lambda again: [*some, *again])
)

few = tries(12, database=None, derandomize=True, suppress_health_check=list(HealthCheck))


class World:
    """Acme's ref with a corpus, and what stands beside it."""

    def __init__(self, corpus: list[EntryDraft]) -> None:
        self.acme, self.globex = building.scope("acme"), building.scope("globex")
        for scope, ref in ((self.acme, "notes"), (self.acme, "notes/other"), (self.globex, "notes")):
            write(scope, ref, corpus)
        for scope in (self.acme, self.globex):
            vault.store_secret(scope.tenant_id, "till", SECRET, now=timezone.now())

    def carried_out(self, kind: str, *, dry_run: bool = False) -> Pass:
        options = {"targetTokens": 5000} if kind == "distill" else {}
        work = orders.order(self.acme, RequestedPass(kind, "notes", options, dry_run), now=timezone.now())
        ended = orders.run_pass(work.tenant_id, work.id, holder="test/1", clock=timezone.now)
        assert ended is not None
        assert ended.state in {"done", "refused"}, ended.code
        return ended

    def rows(self) -> list[MemoryEntry]:
        """Every row of the ref, hidden ones too."""
        return list(MemoryEntry.objects.of(self.acme.tenant_id).filter(memory_ref="notes").order_by("id"))

    def live(self) -> list[MemoryEntry]:
        return [row for row in self.rows() if row.retired_at is None]

    def beside(self) -> list[Any]:
        """Everything that the pass has no business with."""
        other = MemoryEntry.objects.of(self.acme.tenant_id).filter(memory_ref="notes/other").order_by("id")
        theirs = MemoryEntry.objects.of(self.globex.tenant_id).order_by("id")
        heads = LedgerHead.objects.of(self.globex.tenant_id)
        return [list(rows.values()) for rows in (other, theirs, heads)]


def write(scope: TenantScope, ref: str, corpus: list[EntryDraft]) -> None:
    """The corpus as a run wrote it, one entry a minute."""
    run = building.open_run(scope)
    for number, draft in enumerate(corpus):
        at = START + timedelta(minutes=number)
        ledger.entries.write_entry(building.ref(scope, ref), draft, run=run, node_id="node", now=at)


def of_any(kinds: tuple[str, ...] = KINDS) -> Callable[[Any], Any]:
    return pytest.mark.parametrize("kind", kinds)


@of_any()
@few
@given(corpus=CORPORA)
def test_no_secret_of_the_vault_and_no_old_mark_is_in_any_derived_text(kind: str, corpus: list[EntryDraft]) -> None:
    with undone():
        world = World([*SPOKEN_TWICE, *corpus])
        work = world.carried_out(kind)
        derived = [row for row in world.rows() if row.derived]
        assert [row for row in derived if "[REDACTED:till]" in row.content], "no pass has written what it might leak"
        texts = [text for row in derived for text in (row.content, row.search_text, *row.tags)]
        texts += [bytes(row.body).decode() for row in Archive.objects.of(world.acme.tenant_id)]
        texts += [str(event.payload) for event in event_log.read(work.tenant_id, work.run_id)]
        texts += [str(work.options), str(work.outcome)]
        for form in {*forms_of(SECRET), "<REDACTED:"}:
            assert not [text for text in texts if form in text]


@pytest.mark.engines
@of_any()
@few
@given(corpus=CORPORA)
def test_every_entry_is_still_read_or_has_come_into_one_that_is_and_nothing_else_is_touched(
    kind: str, corpus: list[EntryDraft]
) -> None:
    """What is hidden says why, can be restored, and has its descent on record; nothing has vanished; the counts add
    up; and the other ref and the other tenant are as they were."""
    with undone():
        world = World(corpus)
        beside, before, was_live = world.beside(), {row.id for row in world.rows()}, len(world.live())
        work = world.carried_out(kind)
        assert world.beside() == beside
        rows = {row.id: row for row in world.rows()}
        hidden = {row.id for row in rows.values() if row.retired_at}
        _adds_up(world, work, was_live=was_live, hidden=len(hidden))
        assert before <= rows.keys()
        assert hidden <= before
        assert all(rows[each].retired_kind for each in hidden)
        came_of = provenance.descendants_of(world.acme.tenant_id, hidden)
        assert came_of.keys() == hidden
        assert all(descent.pass_id == work.id for found in came_of.values() for descent in found)
        for each in hidden:
            ledger.retirement.restore_entry(world.acme, each, now=timezone.now())
        assert before <= {row.id for row in world.live()}


def _adds_up(world: World, work: Pass, *, was_live: int, hidden: int) -> None:
    """The heads, the rows and the events agree."""
    live, made = world.live(), [row for row in world.live() if row.derived]
    head = LedgerHead.objects.of(world.acme.tenant_id).get()
    everything = MemoryEntry.objects.of(world.acme.tenant_id)
    assert head.entries == everything.filter(retired_at=None).count()
    assert head.retired == everything.exclude(retired_at=None).count()
    assert len(live) == was_live - hidden + len(made)
    told = [event.payload for event in event_log.read(work.tenant_id, work.run_id)]
    assert len([each for each in told if "memoryId" in each]) == len(made)
    if work.state == "done":
        _agrees(work.kind, work, before=was_live, after=len(live), hidden=hidden)


def _agrees(kind: str, work: Pass, *, before: int, after: int, hidden: int) -> None:
    """The event says what the rows say."""
    names = {"compact": "memory.compacted", "distill": "memory.compacted", "consolidate": "agent.memory.consolidated"}
    events = event_log.read(work.tenant_id, work.run_id)
    [fact] = [event.payload for event in events if event.type == names[kind]]
    if kind == "consolidate":
        assert (fact["inputCount"], fact["outputCount"]) == (before, after)
        assert len(fact["mergedIds"]) == hidden
    elif kind == "compact":
        assert fact["sourceCount"] == hidden == len(fact["sourceIds"])
    else:
        assert hidden == 0
        assert 1 <= fact["sourceCount"] <= before
        assert fact["distillation"]["tokensUsed"] <= fact["distillation"]["tokenBudget"]
    assert events[-1].type == "run.completed"


@of_any()
@few
@given(corpus=CORPORA)
def test_a_dry_run_leaves_no_trace_but_its_own_pass(kind: str, corpus: list[EntryDraft]) -> None:
    with undone():
        world = World(corpus)
        before = list(MemoryEntry.objects.of(world.acme.tenant_id).order_by("id").values())
        work = world.carried_out(kind, dry_run=True)
        assert list(MemoryEntry.objects.of(world.acme.tenant_id).order_by("id").values()) == before
        assert not Archive.objects.of(world.acme.tenant_id).exists()
        assert not Lineage.objects.of(world.acme.tenant_id).exists()
        told = {event.type for event in event_log.read(work.tenant_id, work.run_id)}
        assert told <= {"run.started", "run.completed", "run.failed"}


@few
@given(corpus=CORPORA)
def test_a_second_consolidation_has_nothing_to_do(corpus: list[EntryDraft]) -> None:
    with undone():
        world = World(corpus)
        first = world.carried_out("consolidate")
        before = [(row.id, row.content, row.retired_at) for row in world.rows()]
        second = world.carried_out("consolidate")
        assert second.outcome["inputCount"] == second.outcome["outputCount"] == first.outcome["outputCount"]
        assert [(row.id, row.content, row.retired_at) for row in world.rows()] == before


@few
@given(corpus=CORPORA)
def test_the_same_corpus_distilled_again_makes_the_same_bytes(corpus: list[EntryDraft]) -> None:
    with undone():
        world = World(corpus)
        first, second = world.carried_out("distill"), world.carried_out("distill")
        assert first.state == second.state
        if first.state == "done":
            assert first.outcome["archiveChecksum"] == second.outcome["archiveChecksum"]


@few
@given(corpus=CORPORA)
def test_compaction_goes_on_until_nothing_is_left_to_do_and_keeps_every_text(corpus: list[EntryDraft]) -> None:
    with undone():
        world = World(corpus)
        clean = building_clean(world)
        said = {clean(row.content) for row in world.live()}
        while world.carried_out("compact").state == "done":
            pass
        kept = "\n".join(row.content for row in world.live())
        assert all(text in clean(kept) for text in said)
        plain = [row.subject for row in world.live() if row.derived == ""]
        assert len(plain) == len(set(plain))


def building_clean(world: World) -> Callable[[str], str]:
    """What the ledger makes of a derived text, as it stands for somebody who reads it later."""
    run = building.open_run(world.acme)

    def clean(text: str) -> str:
        made = [Derivation(EntryDraft(text), "compacted")]
        with transaction.atomic():
            [written] = ledger.entries.write_derived(
                building.ref(world.acme, "scratch"), made, run=run, now=timezone.now()
            )
            transaction.set_rollback(True)
        return written.content

    return clean


@few
@given(corpus=CORPORA, order=st.randoms(use_true_random=False))
def test_the_order_of_writing_changes_nothing_but_which_came_last(corpus: list[EntryDraft], order: Any) -> None:
    """As many entries remain of a corpus, whatever came first; and one that is compacted has the same texts."""
    shuffled = order.sample(corpus, len(corpus))
    remaining, texts = [], []
    for each in (corpus, shuffled):
        with undone():
            world = World(each)
            remaining.append(world.carried_out("consolidate").outcome["outputCount"])
        with undone():
            world = World([draft for draft in each if draft.subject == ""])
            world.carried_out("compact")
            texts.append(sorted("\n".join(row.content for row in world.live()).split("\n")))
    assert remaining[0] == remaining[1]
    assert texts[0] == texts[1]


@pytest.mark.engines
def test_a_live_entry_is_what_the_adapter_reads(django_user_model: Any) -> None:
    """Or else the counts above would be of something else."""
    with undone():
        world = World([EntryDraft("one"), EntryDraft("two")])
        counted = adapter.passes.count_live(building.ref(world.acme, "notes"), now=timezone.now()).entries
        assert counted == len(world.live()) == 2
