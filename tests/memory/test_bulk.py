"""Many entries written at once: they stand in the ledger as if each had been written by itself."""

import base64
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.db import transaction
from django.utils import timezone

from memory import ledger
from memory.entry_drafts import EntryDraft
from memory.host import event_log, ids, runs, vault
from memory.host.errors import Invalid, NotFound, StreamClosed
from memory.host.models import Run
from memory.ledger_search import LedgerFilter, ledger_page
from memory.models.entry import EntryTag, LedgerHead, MemoryEntry
from tests import building

pytestmark = [pytest.mark.django_db, pytest.mark.engines]

SECRET = "tok-93fb0c1d7e-warehouse"
BROKEN = "\n".join(
    part for whole in [base64.b64encode(SECRET.encode()).decode()] for part in (whole[:12], whole[12:24], whole[24:])
)


def drafts_of(now: datetime) -> list[EntryDraft]:
    """Plain ones, some with a secret in each of the places, one that lapses, and one in another script."""
    return [
        *(
            EntryDraft(f"order {number} arrived", ("invoice", "e-mail"), "customer-7", "acme.bot")
            for number in range(60)
        ),
        EntryDraft(f"the token is {SECRET}", ("invoice",)),
        EntryDraft(f"the token is\n{BROKEN}", ("invoice",)),
        EntryDraft("plain", (f"by {SECRET}", "invoice"), "Ana"),
        EntryDraft("plain", (), f"for {SECRET}"),
        EntryDraft("ghp_" + "a" * 36, ("ü",), expires_at=now + timedelta(hours=1)),
        EntryDraft("東京 %s ana%40example.org\ttab\\n", ("ü", "ü", "")),
    ]


def written_as(run: Run, memory_ref: str) -> list[dict[str, Any]]:
    """What is stored of each entry under the ref, but for what no two entries share; and its tags."""
    rows = MemoryEntry.objects.of(run.tenant_id).filter(memory_ref=memory_ref).order_by("position").values()
    tags = EntryTag.objects.of(run.tenant_id)
    return [
        {name: value for name, value in row.items() if name not in ("id", "position", "run_id", "memory_ref")}
        | {"tags in a table": sorted(tags.filter(id=row["id"]).values_list("tag", flat=True))}
        for row in rows
    ]


def knowing_run(acme: Any) -> Run:
    run = building.open_run(acme)
    vault.resolve(run, "crm", now=timezone.now())
    return run


def test_what_is_written_at_once_is_what_each_write_stores() -> None:
    acme, now = building.scope(), timezone.now()
    vault.store_secret(acme.tenant_id, "crm", SECRET, now=now)
    one, many = knowing_run(acme), knowing_run(acme)
    drafts = drafts_of(now)
    singly = [
        ledger.entries.write_entry(building.ref(acme, "notes"), each, run=one, node_id="node", now=now)
        for each in drafts
    ]
    at_once = ledger.entries.write_entries(building.ref(acme, "notes"), drafts, run=many, node_id="node", now=now)
    told = [(each.content, each.tags, each.created_at, each.expires_at) for each in singly]
    assert [(each.content, each.tags, each.created_at, each.expires_at) for each in at_once] == told
    assert [each.position for each in at_once] == [each.position + len(drafts) for each in singly]
    stored = written_as(many, "notes")
    assert stored[len(drafts) :] == stored[: len(drafts)]
    assert SECRET not in str(stored)
    assert BROKEN not in str(stored)
    head = LedgerHead.objects.of(acme.tenant_id).get()
    assert (head.position, head.entries) == (2 * len(drafts), 2 * len(drafts))
    facts = [
        [
            (e.type, e.node_id, {k: v for k, v in e.payload.items() if k != "memoryId"})
            for e in event_log.read(acme.tenant_id, run.id)
        ]
        for run in (one, many)
    ]
    assert facts[0] == facts[1]
    last = event_log.read(acme.tenant_id, many.id)[-1]
    assert last.payload["memoryId"] == ids.wire("mem", at_once[-1].id)


def test_what_is_written_at_once_is_found_by_its_words() -> None:
    acme, now = building.scope(), timezone.now()
    run = building.open_run(acme)
    drafts = [EntryDraft(f"the needle{number} of it's hay\\stack") for number in range(300)]
    made = ledger.entries.write_entries(building.ref(acme, "notes"), drafts, run=run, node_id=None, now=now)
    for number in (0, 100, 299):
        found = ledger_page(acme, LedgerFilter(text=f"needle{number} hay\\stack", order="newest"), size=10, now=now)
        assert [row.id for row in found.entries] == [made[number].id]


def test_one_draft_that_cannot_be_stored_refuses_all() -> None:
    acme, now = building.scope(), timezone.now()
    run = building.open_run(acme)
    drafts = [EntryDraft("good"), EntryDraft("")]
    with pytest.raises(Invalid):
        ledger.entries.write_entries(building.ref(acme, "notes"), drafts, run=run, node_id="node", now=now)
    with pytest.raises(Invalid):
        ledger.entries.write_entries(
            building.ref(acme, "openintent/semantic/x"), drafts[:1], run=run, node_id="node", now=now
        )
    with pytest.raises(NotFound):
        ledger.entries.write_entries(
            building.ref(building.scope("globex"), "notes"), drafts[:1], run=run, node_id=None, now=now
        )
    assert ledger.entries.write_entries(building.ref(acme, "notes"), [], run=run, node_id="node", now=now) == []
    assert building.contents(acme) == []
    assert event_log.length(acme.tenant_id, run.id) == 1


def test_nothing_is_written_at_once_on_a_closed_log() -> None:
    acme, now = building.scope(), timezone.now()
    run = building.open_run(acme)
    with transaction.atomic():
        runs.complete(run, now=now)
    with pytest.raises(StreamClosed):
        ledger.entries.write_entries(
            building.ref(acme, "notes"), [EntryDraft("late")] * 3, run=run, node_id="node", now=now
        )
    assert building.contents(acme) == []
