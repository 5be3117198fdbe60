"""How long entries live: what a ``ttl`` may say, when it ends, and that nothing of what has lapsed is seen."""

import time
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.utils import timezone
from openintent.exceptions import NotFoundError, ValidationError

from memory import retention_sweep
from memory.addresses import Address, Tier
from memory.host import event_log
from memory.host.errors import Invalid
from memory.ledger.entries import AddressedValue
from memory.models.address import EntryAddress
from memory.models.entry import MemoryEntry, Tombstone
from memory.openintent import entries
from memory.openintent.access import Caller
from openwop_console.process import scheduler
from tests import building
from tests.openintent.conftest import Served

START = datetime(2026, 1, 31, 10, 0, 0, 123456, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("task_lifetime", "task_lifetime"),
        ("duration:PT24H", "duration:PT24H"),
        ("P7D", "duration:P7D"),
        ("PT1H", "duration:PT1H"),
        ("duration:P1Y2M3DT4H5M6.5S", "duration:P1Y2M3DT4H5M6.5S"),
    ],
)
def test_R9_a_lifetime_is_kept_in_one_spelling(text: str, kept: str) -> None:
    assert entries.parse(text) == kept
    assert entries.parse(kept) == kept


@pytest.mark.parametrize(
    "text",
    [
        "", " ", "forever", "TASK_LIFETIME", "duration:", "duration:duration:P1D", "24h", "3600", "P", "PT", "P1DT",
        "1D", "P1", "P1H", "PT1D", "P1D1Y", "PT1S1H", "-P1D", "P-1D", "+P1D", "PT-1S", "P1.5Y", "P0.5M", "PT1.5H30M",
        "P.5D", "P1.D", "PT1H ", " PT1H", "PT1H\n", "pt1h", "P\uff11D", "PT1H/P1D", "P0D", "PT0S", "P0Y0M0DT0H0M0S",
        "PT0.0000001S", "P1001Y", "P12001M", "P999999999999D", "PT99999999999999999999S", "P" + "9" * 5000 + "Y",
        "P1e3D", "PTNaNS",
        "P1Y" + "0" * 100, "P2026-01-01T00:00:00", "PT1H\x00", "PT∞S",
    ],
)  # fmt: skip
def test_R9_what_is_no_lifetime_is_refused_by_its_field(text: str) -> None:
    with pytest.raises(Invalid) as refused:
        entries.parse(text)
    assert [each["field"] for each in refused.value.details["errors"]] == ["ttl"]


@pytest.mark.parametrize(
    ("ttl", "end"),
    [
        ("duration:PT24H", START + timedelta(hours=24)),
        ("duration:P2W", START + timedelta(days=14)),
        ("duration:P1W1D", START + timedelta(days=8)),
        ("duration:PT0.5S", START + timedelta(milliseconds=500)),
        ("duration:PT0,5S", START + timedelta(milliseconds=500)),
        ("duration:P0.5D", START + timedelta(hours=12)),
        ("duration:PT90M", START + timedelta(minutes=90)),
        ("duration:P1M", START.replace(month=2, day=28)),
        ("duration:P25M", START.replace(year=2028, month=2, day=29)),
        ("duration:P11M", START.replace(month=12)),
        ("duration:P1Y1MT1H", START.replace(year=2027, month=2, day=28) + timedelta(hours=1)),
        ("duration:P1000Y", START.replace(year=3026)),
        ("task_lifetime", None),
        ("", None),
    ],
)
def test_R12_the_end_of_a_duration_is_reckoned_by_calendar_and_clock(ttl: str, end: datetime | None) -> None:
    if ttl.startswith("duration:"):
        assert entries.parse(ttl) == ttl
    assert entries.end_of(ttl, START) == end


def test_R12_an_absolute_end_wins_over_a_duration() -> None:
    sooner = START + timedelta(minutes=1)
    assert entries.expiry("duration:PT24H", sooner, since=START) == sooner
    assert entries.expiry("duration:PT24H", None, since=START) == START + timedelta(hours=24)


def test_R9_a_client_says_how_long_and_reads_it_in_one_spelling(served: Served) -> None:
    agent = served.agent()
    with served.client(agent) as client:
        made = client.create_memory(agent, "ns", "k", {}, ttl="PT1H")
        assert made.ttl == "duration:PT1H"
        assert client.create_memory(agent, "ns", "t", {}, ttl="task_lifetime").expires_at is None
        with pytest.raises(ValidationError) as refused:
            client.create_memory(agent, "ns", "bad", {}, ttl="P0D")
        assert [each["field"] for each in refused.value.errors] == ["ttl"]


def test_R12_the_end_is_reckoned_shown_and_outranked_by_an_absolute_one(served: Served) -> None:
    agent = served.agent()
    with served.client(agent) as client:
        made = client.create_memory(agent, "ns", "k", {}, ttl="duration:PT24H")
        assert made.expires_at == made.created_at + timedelta(hours=24)
        soon = (made.created_at + timedelta(minutes=5)).isoformat()
        told = client.create_memory(agent, "ns", "both", {}, ttl="duration:PT24H", expires_at=soon)
        assert told.expires_at == made.created_at + timedelta(minutes=5)
        with pytest.raises(ValidationError):
            client.create_memory(agent, "ns", "past", {}, expires_at="2001-01-01T00:00:00Z")
        kept = client.update_memory(made.id, 1, value={"n": 2})
        assert kept.expires_at == made.expires_at
        begun_anew = client.update_memory(made.id, 2, ttl="duration:PT1H")
        assert begun_anew.expires_at == begun_anew.updated_at + timedelta(hours=1)


@pytest.mark.django_db
def test_C13_without_its_told_end_an_entry_ends_by_a_lifetime_that_counts_from_its_beginning() -> None:
    caller, far = Caller(building.scope(), "owner"), START + timedelta(days=9)

    def made(key: str) -> EntryAddress:
        place = Address(Tier.WORKING, "owner", "ns", key, ttl="duration:PT1H")
        return entries.create(caller, AddressedValue(place, {}, (), far), now=START)

    soon, late = START + timedelta(minutes=20), START + timedelta(hours=2)
    in_time = entries.update(caller, made("in-time").id, 1, {"expires_at": None}, now=soon)
    assert in_time.entry.expires_at == START + timedelta(hours=1)
    row = made("late")
    with pytest.raises(Invalid) as refused:
        entries.update(caller, row.id, 1, {"expires_at": None}, now=late)
    assert [each["field"] for each in refused.value.details["errors"]] == ["ttl"]
    again = entries.update(caller, row.id, 1, {"expires_at": None, "ttl": "duration:PT1H"}, now=late)
    assert again.entry.expires_at == late + timedelta(hours=1)
    assert (
        entries.update(caller, made("none").id, 1, {"expires_at": None, "ttl": ""}, now=late).entry.expires_at is None
    )


@pytest.mark.django_db
def test_C13_an_entry_that_had_no_end_ends_by_the_lifetime_that_it_is_given_later() -> None:
    caller, later = Caller(building.scope(), "owner"), START + timedelta(hours=3)
    for ttl in ("", "task_lifetime"):
        place = Address(Tier.EPISODIC, "owner", "ns", f"k-{ttl}", ttl=ttl)
        row = entries.create(caller, AddressedValue(place, {"n": 1}), now=START)
        assert row.entry.expires_at is None
        changed = entries.update(caller, row.id, 1, {"ttl": "duration:PT1H"}, now=later)
        assert changed.entry.expires_at == later + timedelta(hours=1), ttl


def test_R62_a_lapsed_entry_is_nowhere_before_anything_has_removed_it(served: Served) -> None:
    agent = served.agent()
    with served.client(agent) as client:
        made = client.create_memory(agent, "ns", "k", {}, ttl="PT1S")
        time.sleep(1.2)
        assert client.list_memory(agent) == []
        for touch in (
            lambda: client.get_memory(made.id),
            lambda: client.update_memory(made.id, 1, value={"n": 2}),
            lambda: client.delete_memory(made.id),
        ):
            with pytest.raises(NotFoundError):
                touch()
        assert client.create_memory(agent, "ns", "k", {}).version == 1
    with served.http(agent) as http:
        assert http.get("/api/v1/memory", params={"agent_id": agent, "memory_type": "working"}).json()["total"] == 1


@pytest.mark.engines
@pytest.mark.django_db
def test_R95_the_sweep_of_every_minute_removes_what_has_lapsed_and_tells_it() -> None:
    caller, now = Caller(building.scope(), "billing-01"), timezone.now()
    given: dict[str, Any] = {"tier": Tier.EPISODIC, "agent_id": caller.agent_id, "namespace": "ns"}
    ends = now + timedelta(hours=1)
    brief = entries.create(caller, AddressedValue(Address(**given, key="brief"), {"t": "x"}, ("tag",), ends), now=now)
    entries.create(caller, AddressedValue(Address(**given, key="lasting"), {}), now=now)
    entries.create(caller, AddressedValue(Address(**given, key="bound", ttl="task_lifetime"), {}), now=now)
    assert retention_sweep.sweep(now=ends - timedelta(milliseconds=1)) == 0
    assert retention_sweep.sweep(now=ends + timedelta(days=9000)) == 1
    assert set(EntryAddress.objects.values_list("key", flat=True)) == {"lasting", "bound"}
    assert MemoryEntry.objects.count() == 2
    assert Tombstone.objects.get(id=brief.id).reason == "expired"
    assert event_log.read(caller.tenant_id, brief.entry.run_id)[-1].type == "openintent.memory.expired"
    assert any(timer.task == "memory.tasks.sweep" for timer in scheduler.TIMERS)
