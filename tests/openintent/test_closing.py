"""An entry that becomes confidential: what it said in the open is nowhere in clear from then on (RFC-0015 9.2; R93)."""

from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection
from django.utils import timezone

from memory import adapter, ledger, provenance, recordings
from memory.addresses import Address, Tier
from memory.host import audit, event_log
from memory.host.errors import Unprocessable
from memory.ledger.entries import AddressedValue
from memory.models import Archive, KeptContent, Pass
from memory.models.address import EntryAddress
from memory.models.entry import MemoryEntry
from memory.openintent import batches, entries
from memory.openintent.access import Caller
from memory.openintent.batches import Item
from memory.passes import archives, distillation, orders
from memory.passes.orders import RequestedPass
from openwop_console.runtime.node_execution import NodeMemory
from tests import building

pytestmark = pytest.mark.django_db
REF = "openintent/semantic/shared"
WORDS = "the pelican nests in April"


def caller() -> Caller:
    return Caller(building.scope(), "billing-01")


def remembered(key: str, text: str, **more: Any) -> EntryAddress:
    place = {"tier": Tier.SEMANTIC, "agent_id": "billing-01", "namespace": "shared", "key": key, **more}
    return entries.create(caller(), AddressedValue(Address(**place), {"note": text}), now=timezone.now())


def raised(row: EntryAddress, sensitivity: str = "confidential", version: int = 1) -> EntryAddress:
    return entries.update(caller(), row.id, version, {"sensitivity": sensitivity}, now=timezone.now())


def raised_in_a_batch(row: EntryAddress, sensitivity: str) -> EntryAddress:
    item = Item(entry_id=row.id, version=1, named={"sensitivity": sensitivity})
    return batches.write(caller(), [item], now=timezone.now()).rows[0]


def passed(kind: str, **options: Any) -> Pass:
    work = orders.order(building.scope(), RequestedPass(kind, REF, options), now=timezone.now())
    done = orders.run_pass(work.tenant_id, work.id, holder="test/1", clock=timezone.now)
    assert done is not None
    assert done.state == "done", done.code
    return done


def read_by_a_run() -> tuple[Any, list[str]]:
    """What a node of a run reads under the ref, kept with its step."""
    run = building.open_run(building.scope())
    memory = NodeMemory(run, "reader", "billing-01", timezone.now())
    found = memory.list(REF)
    recordings.record_reads(run, "reader", memory.reads, again=False, now=timezone.now())
    return run, [each["content"] for each in found]


def tables_with(word: str) -> list[str]:
    """Every table of the database, those of the full-text index too, some column of which has the word."""
    with connection.cursor() as cursor:
        found = []
        for table in connection.introspection.table_names(cursor):
            cursor.execute(f"SELECT * FROM {connection.ops.quote_name(table)}")
            cells = [bytes(v) if isinstance(v, memoryview) else v for row in cursor.fetchall() for v in row]
            found += [table] if any(word in str(each).lower() for each in cells) else []
    return found


@pytest.mark.engines
@pytest.mark.parametrize(
    ("before", "sensitivity", "raised"),
    [("", "restricted", raised), ("public", "confidential", raised), ("internal", "confidential", raised_in_a_batch)],
)
def test_R93_what_becomes_confidential_is_in_no_table_in_clear(
    before: str, sensitivity: str, raised: Callable[..., EntryAddress]
) -> None:
    first = remembered("a", WORDS, sensitivity=before)
    other = remembered("b", "the heron fishes in May")
    passed("compact")
    compacted = MemoryEntry.objects.get(derived="compacted").id
    ledger.retirement.restore_entry(building.scope(), first.id, now=timezone.now())
    distilled = passed("distill", tokenBudget=500)
    archive = Archive.objects.get()
    run, texts = read_by_a_run()
    assert sum("pelican" in each for each in texts) == 3
    archives.cache_answer(building.ref(building.scope(), REF), "0" * 64, WORDS, now=timezone.now())
    if connection.vendor == "sqlite":
        ledger.index.catch_up(first.tenant_id)
    assert {"memory_memoryentry", "memory_archive", "memory_keptcontent", "memory_distillate"} <= {
        *tables_with("pelican")
    }
    changed = raised(first, sensitivity)
    assert tables_with("pelican") == []
    assert ledger.entries.value_of(changed) == {"note": WORDS}
    assert archive.entry_id
    assert not adapter.passes.stored_ids(first.tenant_id, [compacted, archive.entry_id])
    left = archives.get_archive(building.scope(), archive.id)
    assert (left.state, left.withdrawn_because, distilled.state) == ("withdrawn", "sealed", "done")
    assert not recordings.can_serve(run.tenant_id, run.id, ["reader"])
    assert [
        row.id for row in adapter.console.visible_entries(building.scope(), now=timezone.now()).filter(id=other.id)
    ] == [other.id]


@pytest.mark.engines
def test_R93_what_else_a_pass_had_put_there_is_read_again_and_distilled_anew() -> None:
    first, second, third = remembered("a", WORDS), remembered("b", "the heron"), remembered("c", "the gull")
    passed("compact")
    ledger.retirement.restore_entry(building.scope(), first.id, now=timezone.now())
    successor = remembered("c", "a gull of today")
    passed("distill", tokenBudget=500)
    raised(first)
    there = {
        row.id: adapter.openintent.is_live(row, timezone.now()) for row in EntryAddress.objects.select_related("entry")
    }
    assert there == {first.id: True, second.id: True, third.id: False, successor.id: True}
    waiting = Pass.objects.get(state="waiting")
    assert (waiting.kind, waiting.memory_ref) == ("distill", REF)
    done = orders.run_pass(waiting.tenant_id, waiting.id, holder="test/1", clock=timezone.now)
    assert done is not None
    body = bytes(Archive.objects.get(state="current").body).decode()
    assert ("heron" in body, "pelican" in body) == (True, False)
    assert "memory.restored" in [each.action for each in audit.export_records(first.tenant_id)]


@pytest.mark.engines
def test_R93_what_stays_open_or_was_sealed_already_takes_nothing_with_it() -> None:
    row = remembered("a", WORDS)
    passed("distill", tokenBudget=500)
    read_by_a_run()
    raised(row, "internal")
    assert Archive.objects.get().state == "current"
    sealed = remembered("sealed", "the owl", sensitivity="confidential")
    raised(sealed, "restricted")
    assert Archive.objects.get().state == "current"
    assert KeptContent.objects.exclude(text=None).count() == KeptContent.objects.count() > 0


@pytest.mark.engines
def test_R93_an_archive_of_what_is_sealed_while_it_is_made_is_not_stored(monkeypatch: pytest.MonkeyPatch) -> None:
    row, store = remembered("a", WORDS), distillation.store

    def overtaken(*given: Any, **more: Any) -> None:
        if EntryAddress.objects.get(id=row.id).version == 1:
            raised(row)
        store(*given, **more)

    monkeypatch.setattr(distillation, "store", overtaken)
    remembered("b", "the heron")
    passed("distill", tokenBudget=500)
    assert ("pelican" in bytes(Archive.objects.get().body).decode(), tables_with("pelican")) == (False, [])
    told = [each.type for each in event_log.read(row.tenant_id, row.entry.run_id)]
    assert "openintent.memory.updated" in told


# --- passes over memory of OpenIntent ---------------------------------------------------------------------------------

KINDS: dict[str, dict[str, Any]] = {"distill": {"tokenBudget": 1000}, "compact": {}, "consolidate": {}}
SAME = ("The Pro plan includes weekly reports",) * 2


@pytest.mark.engines
@pytest.mark.parametrize("kind", KINDS)
def test_R93_a_pass_over_shared_memory_takes_what_is_open_and_nothing_that_is_sealed(kind: str) -> None:
    opened = [remembered(f"open {number}", text) for number, text in enumerate(SAME)]
    sealed = [remembered(f"sealed {n}", text, sensitivity="restricted") for n, text in enumerate(SAME)]
    done = passed(kind, **KINDS[kind])
    taken = {each.source_id for each in provenance.lineage_of_pass(done.tenant_id, done.id, limit=100)}
    assert bool(taken) == (kind != "consolidate"), "each of these stands at a key of its own"
    assert taken <= {each.id for each in opened}
    there = MemoryEntry.objects.filter(id__in=[each.id for each in sealed], retired_at=None)
    assert there.count() == len(sealed)
    assert not MemoryEntry.objects.exclude(derived="").filter(content__contains="sealed").exists()
    assert all("sealed" not in bytes(each.body).decode() for each in Archive.objects.all())


@pytest.mark.parametrize("kind", KINDS)
def test_R93_what_is_sealed_while_a_pass_looks_at_it_is_in_nothing_that_the_pass_makes(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [remembered(f"k{number}", text) for number, text in enumerate((*SAME, WORDS, WORDS))]
    corpus = adapter.passes.corpus
    read: list[Any] = []

    def then_sealed(*given: Any, **more: Any) -> Any:
        chunks = list(corpus(*given, **more))
        if not read:
            read.append([raised(row) for row in rows[2:]])
        return iter(chunks)

    monkeypatch.setattr(adapter.passes, "corpus", then_sealed)
    passed(kind, **KINDS[kind])
    assert len(read) == 1
    assert tables_with("pelican") == []


@pytest.mark.parametrize("kind", KINDS)
def test_no_pass_goes_over_working_memory(kind: str) -> None:
    wanted = RequestedPass(kind, "openintent/working/billing-01/-", KINDS[kind])
    remembered("k", WORDS, tier=Tier.WORKING)
    with pytest.raises(Unprocessable):
        orders.order(building.scope(), wanted, now=timezone.now())
    standing = orders.order_for(
        building.tenant().id, building.scope().principal.id, wanted, window="night", now=timezone.now()
    )
    assert (standing.state, Pass.objects.count()) == ("refused", 1)
