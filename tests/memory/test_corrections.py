"""A person corrects the text of an entry: a new one stands in its place, and the old one is kept."""

import json
import re
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from memory import corrections, ledger, provenance
from memory.addresses import Address, Tier
from memory.host import audit, event_log, ids, vault
from memory.host.errors import Conflict, Forbidden, Invalid, NotFound
from memory.host.models import AuditRecord
from memory.ledger.entries import AddressedValue
from memory.models.entry import MemoryEntry
from memory.openintent import entries
from memory.openintent.access import Caller
from memory.provenance import VerdictKind
from tests import archiving, building

pytestmark = pytest.mark.django_db


def written(text: str = "The price is 49 euros.", **options: Any) -> Any:
    owner = building.scope()
    return building.write(owner, building.open_run(owner), text, **options)


def correct(entry: Any, content: str = "The price is 59 euros.", **options: Any) -> Any:
    scope = options.pop("scope", None) or building.scope()
    return corrections.correct(scope, entry.id, content=content, now=timezone.now(), **options)


@pytest.mark.engines
def test_a_corrected_text_is_a_new_entry_and_the_old_one_is_kept() -> None:
    until = timezone.now() + timedelta(days=3)
    old = written(tags=("price",), subject="acme", expires_at=until)
    new = correct(old)
    assert building.contents(building.scope()) == ["The price is 59 euros."]
    before, after = MemoryEntry.objects.get(id=old.id), MemoryEntry.objects.get(id=new.id)
    assert before.content == "The price is 49 euros."
    assert before.retired_at is not None
    assert (after.tags, after.subject, after.memory_ref) == (["price"], "acme", before.memory_ref)
    assert after.expires_at == before.expires_at
    ledger.retirement.restore_entry(building.scope(), old.id, now=timezone.now())
    assert len(building.contents(building.scope())) == 2


@pytest.mark.engines
def test_who_corrected_is_on_record_and_the_text_is_not() -> None:
    old = written()
    scope = building.scope()
    new = correct(old, reason="the list changed", scope=scope)
    [record] = [each for each in audit.newest(scope.tenant_id) if each.action == "memory.corrected"]
    assert record.actor == scope.principal.id
    assert record.target == ids.wire("mem", new.id)
    assert (record.details, record.reason) == ({"replaces": ids.wire("mem", old.id)}, "the list changed")
    told = provenance.provenance_of_entry(building.scope(), MemoryEntry.objects.get(id=new.id))
    assert told.verdict == VerdictKind.HOST
    assert told.writer is not None
    assert told.writer.run.principal == record.actor
    assert told.writer.run.status == "completed"
    assert not re.search(
        r"\b59\b", json.dumps([fact.payload for fact in event_log.list_events_about(building.tenant().id, new.id)])
    )


@pytest.mark.engines
def test_a_secret_in_a_correction_is_a_mark() -> None:
    vault.store_secret(building.tenant().id, "crm", "tok-8h3k-q7w9-aa11", now=timezone.now())
    correct(written(), "The key is tok-8h3k-q7w9-aa11.")
    assert building.contents(building.scope()) == ["The key is [REDACTED:crm]."]


@pytest.mark.engines
def test_the_lineage_leads_both_ways() -> None:
    old = written()
    new = correct(old)
    tenant = building.tenant().id
    assert [row.target_id for row in provenance.descendants_of(tenant, [old.id])[old.id]] == [new.id]
    assert [row.source_id for row in provenance.sources_of(tenant, [new.id])[new.id]] == [old.id]


@pytest.mark.engines
def test_a_text_that_is_none_or_the_same_changes_nothing() -> None:
    old = written()
    for content in ("", "  \n", "The price is 49 euros.", "x" * 70_000, "a\x00b"):
        with pytest.raises(Invalid):
            correct(old, content)
    assert building.contents(building.scope()) == ["The price is 49 euros."]
    assert not AuditRecord.objects.filter(action="memory.corrected").exists()


@pytest.mark.engines
def test_what_is_not_a_persons_to_change_is_refused() -> None:
    old, now = written(), timezone.now()
    with pytest.raises(NotFound):
        correct(old, scope=building.scope("globex"))
    with pytest.raises(Forbidden):
        correct(old, scope=building.scope("acme", "reviewer"))
    ledger.retirement.retire_entry(building.scope(), old.id, reason="", now=now)
    with pytest.raises(Conflict, match="Restore it first"):
        correct(old)
    ledger.erase.remove_entries(building.tenant().id, [old.id], reason="forgotten", now=now)
    with pytest.raises(NotFound):
        correct(old)


@pytest.mark.engines
def test_an_entry_with_an_address_and_the_text_of_an_archive_are_not_corrected_here() -> None:
    owner, now = building.scope(), timezone.now()
    place = Address(tier=Tier.EPISODIC, agent_id="billing-01", namespace="invoices", key="progress")
    told = entries.create(Caller(owner, "billing-01"), AddressedValue(place, {"total": 47}, ()), now=now)
    hidden = Address(
        tier=Tier.EPISODIC, agent_id="billing-01", namespace="invoices", key="pin", sensitivity="confidential"
    )
    sealed = entries.create(Caller(owner, "billing-01"), AddressedValue(hidden, {"pin": 4711}, ()), now=now)
    for each in (told, sealed):
        with pytest.raises(Conflict, match="OpenIntent"):
            correct(each)
    archive = archiving.distilled("acme", "one", "two")
    assert archive.entry_id is not None
    with pytest.raises(Conflict, match="archive"):
        correct(MemoryEntry.objects.get(id=archive.entry_id))
    assert not AuditRecord.objects.filter(action="memory.corrected").exists()


def test_the_page_offers_it_and_leads_to_the_new_entry(client: Client) -> None:
    ada = building.operator()
    client.force_login(ada)
    old = written("first line\nsecond line")
    url = f"/memory/{ids.wire('mem', old.id)}"
    assert f'href="{url}/correct"' in client.get(url).content.decode()
    assert "second line</textarea>" in client.get(f"{url}/correct").content.decode()
    same = client.post(f"{url}/correct", {"content": "first line\r\nsecond line"})
    assert same.status_code == 422
    assert "is what the entry says already" in same.content.decode()
    done = client.post(f"{url}/correct", {"content": "first line\r\nother line", "reason": "wrong"})
    shown = client.get(done["Location"]).content.decode()
    assert "first line\nother line" in shown
    assert "Corrected by" in shown
    assert ada.email in shown.partition("Corrected by")[2].partition("</p>")[0]
    assert "superseded by a correction" in shown
    assert "superseded by a correction" in client.get(url).content.decode()
    again = client.post(f"{url}/correct", {"content": "first line\nyet another"})
    for refused in (client.get(f"{url}/correct"), again):
        assert refused.status_code == 409
        assert "This entry is retired" in refused.content.decode()
        assert f'href="{url}"' in refused.content.decode().split('id="conflict"')[1]
        assert f'href="{done["Location"]}"' in refused.content.decode().split('id="conflict"')[1]
    assert "yet another" in again.content.decode(), "what was typed is not lost"
    assert f'href="{url}/correct"' not in client.get(url).content.decode()
