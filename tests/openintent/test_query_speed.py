"""What a list asks of the database: the same number of queries however long it is, and always led by an index.

SQLite keeps no statistics, so the plan there is the plan, whatever the size; PostgreSQL is asked not to read whole
tables, which it rightly does while they are small.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import timedelta
from functools import partial
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from memory import adapter
from memory.addresses import Address, Tier
from memory.host import sql, vault
from memory.host.errors import KeyExists
from memory.ledger.entries import AddressedValue
from memory.models.address import EntryAddress
from memory.models.entry import MemoryEntry
from memory.openintent import batches, entries, queries
from memory.openintent.access import Caller
from memory.openintent.batches import Item
from memory.openintent.entries import entry_document
from memory.openintent.queries import Wanted
from tests import building

pytestmark = pytest.mark.django_db
HOUR = timedelta(hours=1)
ME, TASK, INTENT = "reader", "task_1", "intent_1"
WHOLE = ("TEMP B-TREE", "SCAN memory_", "Seq Scan", "(tenant_id=?)")


@pytest.fixture
def caller() -> Caller:
    return Caller(building.scope(role="agent"), ME)


@pytest.fixture
def remember(caller: Caller) -> Callable[..., None]:
    def made(count: int, tier: Tier = Tier.WORKING, **more: Any) -> None:
        for number in range(count):
            key = f"{tier}-{number}-{more.get('task_id', '')}"
            place = Address(tier, ME, "ns", key, **more)
            entries.create(
                caller, AddressedValue(place, {"n": number}, ("common", f"tag-{number}")), now=timezone.now()
            )

    return made


def asked(caller: Caller, wanted: Wanted) -> list[str]:
    """The statements of one page, as they were sent."""
    with CaptureQueriesContext(connection) as sent:
        queries.page(caller, wanted, now=timezone.now())
    return [each["sql"] for each in sent.captured_queries]


@pytest.fixture
def plans() -> Iterator[Callable[[list[str]], list[str]]]:
    """How the engine would go about each statement that looks for entries."""
    with connection.cursor() as cursor:
        explain = "EXPLAIN QUERY PLAN" if connection.vendor == "sqlite" else "EXPLAIN"
        if sql.is_postgres():
            cursor.execute("SET LOCAL enable_seqscan = off")
            cursor.execute("SET LOCAL enable_bitmapscan = off")
            cursor.execute("SET LOCAL enable_sort = off")  # which is right on tables just seen empty

        def plan(statement: str) -> str:
            cursor.execute(f"{explain} {statement}")
            return "; ".join(str(row[-1]) for row in cursor.fetchall())

        yield lambda statements: [plan(each) for each in statements if "memory_entryaddress" in each]


@pytest.mark.parametrize(
    "wanted",
    [
        Wanted(agent_id=ME),
        Wanted(agent_id=ME, memory_type=Tier.EPISODIC),
        Wanted(agent_id=ME, tags=("common",)),
        Wanted(agent_id=ME, tags=("common", "tag-0")),
        Wanted(),
        Wanted(q="working"),
    ],
)
def test_a_longer_list_takes_no_more_queries(caller: Caller, remember: Callable[..., None], wanted: Wanted) -> None:
    remember(2)
    remember(2, Tier.EPISODIC)
    few = len(asked(caller, wanted))
    remember(12, task_id=TASK)
    remember(12, Tier.EPISODIC, task_id=TASK)
    assert len(asked(caller, wanted)) == few <= (13 if wanted.q else 11)


def test_a_statement_that_one_reader_s_list_was_written_for_serves_another_s(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Agents may be called what a statement says by itself, and what a tag or another agent is called."""
    monkeypatch.setattr(sql, "_statements", {})
    scope, now = building.scope(role="agent"), timezone.now()
    names = ("semantic", "working", "s", "reader", "episodic", "none")
    for name in names:
        for tier in (Tier.WORKING, Tier.EPISODIC):
            given = AddressedValue(Address(tier, name, "ns", f"{tier} of {name}"), {}, (name, "common"))
            entries.create(Caller(scope, name), given, now=now)
    for wanted in (
        lambda name: Wanted(agent_id=name, memory_type=Tier.WORKING),
        lambda name: Wanted(agent_id=name, memory_type=Tier.WORKING, tags=("common", name)),
        lambda name: Wanted(agent_id=name, memory_type=Tier.WORKING, tags_any=("nowhere", name)),
        lambda name: Wanted(agent_id=name, namespace="ns", updated_before=now + HOUR, memory_type=Tier.WORKING),
    ):
        for name in (*names, *reversed(names)):
            page = queries.page(Caller(scope, name), wanted(name), now=now)
            assert [row.key for row in page.rows] == [f"working of {name}"], (name, page.rows)
            assert page.total == 1


@pytest.mark.engines
def test_a_list_of_fifty_takes_seven_queries_over_http(client: Client, caller: Caller, remember: Any) -> None:
    remember(60)
    headers = building.headers(role="agent") | {"HTTP_X_AGENT_ID": ME}
    for path in (f"/api/v1/agents/{ME}/memory?limit=50", f"/api/v1/agents/{ME}/memory?limit=50&tags=common,tag-1"):
        client.get(path, **headers)
        with CaptureQueriesContext(connection) as sent:
            assert client.get(path, **headers).status_code == 200
        assert len(sent) == 7, [each["sql"] for each in sent]


def test_an_entry_is_read_in_two_queries(client: Client) -> None:
    headers = building.headers(role="agent") | {"HTTP_X_AGENT_ID": ME}
    body = {"namespace": "ns", "key": "k", "value": {}}
    made = client.post("/api/v1/memory", body, content_type="application/json", **headers).json()
    with CaptureQueriesContext(connection) as sent:
        assert client.get(f"/api/v1/memory/{made['id']}", **headers).json() == made
    assert len(sent) == 2, [each["sql"] for each in sent]


@pytest.mark.engines
@pytest.mark.parametrize(("tier", "sqlite", "postgres"), [("working", 12, 6), ("episodic", 15, 9)])
def test_a_post_asks_who_calls_and_for_secrets_once_and_stores_all_in_as_few_statements_as_the_engine_can(
    client: Client, tier: str, sqlite: int, postgres: int
) -> None:
    headers = building.headers(role="agent") | {"HTTP_X_AGENT_ID": ME}

    def post(key: str) -> list[str]:
        body = {"namespace": "ns", "key": key, "value": {}, "tags": ["a", "b"], "memory_type": tier}
        with CaptureQueriesContext(connection) as sent:
            answer = client.post("/api/v1/memory", body, content_type="application/json", **headers)
        assert answer.status_code == 201
        return [each["sql"] for each in sent]

    post("first")  # which makes the agent
    sent = post("second")
    assert len(sent) == (sqlite if connection.vendor == "sqlite" else postgres), sent
    for table in ("host_apikey", "host_secret", "memory_agent"):
        assert len([each for each in sent if f'FROM "{table}"' in each or f"FROM {table}" in each]) == 1, table


@pytest.mark.engines
def test_a_key_with_a_secret_in_it_is_taken_by_what_is_kept_of_it(caller: Caller) -> None:
    vault.store_secret(caller.tenant_id, "pin", "hunter2-hunter2", now=timezone.now())
    given = AddressedValue(Address(Tier.WORKING, ME, "ns", "of hunter2-hunter2"), {}, ())
    assert entries.create(caller, given, now=timezone.now()).key == "of [REDACTED:pin]"
    with pytest.raises(KeyExists) as refused:
        entries.create(caller, given, now=timezone.now())
    assert refused.value.details["current"]["version"] == 1


def test_the_episodic_entries_of_an_agent_are_counted_by_their_own_index(
    caller: Caller, remember: Callable[..., None], plans: Any
) -> None:
    remember(4)
    remember(4, Tier.EPISODIC)
    with CaptureQueriesContext(connection) as sent:
        remember(1, Tier.EPISODIC, task_id=TASK)
    [counted] = [each["sql"] for each in sent if "COUNT(*) FROM memory_entryaddress" in each["sql"]]
    if connection.vendor == "sqlite":  # PostgreSQL chooses by how many there are
        assert "memory_address_eviction" in plans([counted])[0]


def test_a_summary_takes_no_more_queries_for_more_memory(caller: Caller, remember: Callable[..., None]) -> None:
    def taken() -> int:
        with CaptureQueriesContext(connection) as sent:
            queries.summarize_agent(caller, ME, now=timezone.now())
        return len(sent)

    remember(1)
    few = taken()
    remember(5, task_id=TASK)
    remember(5, Tier.EPISODIC)
    remember(2, Tier.SEMANTIC)
    assert taken() == few <= 10


def taken(work: Callable[[], Any]) -> int:
    """How many statements it sends."""
    with CaptureQueriesContext(connection) as sent:
        work()
    return len(sent)


@pytest.mark.parametrize("tier", list(Tier))
def test_a_longer_batch_takes_hardly_more_queries(caller: Caller, remember: Callable[..., None], tier: Tier) -> None:
    remember(1, tier)
    now, made = timezone.now(), dict[int, list[EntryAddress]]()

    def new(count: int) -> None:
        items = [
            Item(AddressedValue(Address(tier, ME, "ns", f"{count}-{number}"), {"n": 1}, ("a",)))
            for number in range(count)
        ]
        made[count] = batches.write(caller, items, now=now).rows

    def change(count: int) -> None:
        items = [Item(entry_id=row.id, version=1, named={"value": {"n": 2}, "tags": ("b",)}) for row in made[count]]
        assert {row.version for row in batches.write(caller, items, now=now).rows} == {2}

    for work, most in ((new, 1), (change, 3)):
        few, many = (taken(partial(work, count)) for count in (10, 100))
        assert (many - few) / 90 <= most, (few, many)
        assert few < 60


@pytest.mark.engines
@pytest.mark.parametrize("tier", list(Tier))
def test_one_entry_takes_so_many_queries(caller: Caller, remember: Callable[..., None], tier: Tier) -> None:
    remember(1, tier)
    now, place = timezone.now(), Address(tier, ME, "ns", "one")
    assert taken(lambda: entries.create(caller, AddressedValue(place, {"n": 1}, ("a",)), now=now)) <= 18
    row = EntryAddress.objects.get(key="one")
    assert taken(lambda: entries.update(caller, row.id, 1, {"value": {"n": 2}}, now=now)) <= 25
    assert taken(lambda: entries.delete(caller, row.id, 2, now=now)) <= 28


@pytest.mark.engines
@pytest.mark.parametrize(
    ("wanted", "index"),
    [
        (Wanted(agent_id=ME, limit=2), "memory_address_agent"),
        (Wanted(agent_id=ME, memory_type=Tier.WORKING, limit=2), "memory_address_agent"),
        (Wanted(agent_id=ME, task_id=TASK, limit=2), "memory_address_task"),
        (Wanted(task_id=TASK, limit=2), "memory_address_task"),
        (Wanted(intent_id=INTENT, memory_type=Tier.SEMANTIC, limit=2), "memory_address_intent"),
        (Wanted(memory_type=Tier.SEMANTIC, limit=2), "memory_address_updated"),
        (Wanted(memory_type=Tier.SEMANTIC, namespace="ns", limit=2), "memory_address_shared"),
        (Wanted(agent_id=ME, namespace="ns", key="working-1-", limit=2), "an_agent_has_a_key_once"),
    ],
)
def test_the_order_of_a_list_is_that_of_an_index(
    caller: Caller, remember: Callable[..., None], plans: Any, wanted: Wanted, index: str
) -> None:
    remember(4)
    remember(4, task_id=TASK, intent_id=INTENT)
    remember(4, Tier.SEMANTIC, intent_id=INTENT)
    found = plans(asked(caller, wanted))
    of_one_address = index == "an_agent_has_a_key_once"  # one or two entries, put in order when they are found
    if connection.vendor == "postgresql":  # of a dozen rows any index that keeps the order may be the cheapest
        assert found
        assert of_one_address or "Sort" not in "".join(found), found
    else:
        assert any(index in plan for plan in found), found
        led = [part for plan in found for part in plan.split("; ") if "memory_entryaddress" in part]
        assert not [part for part in led if "SCAN" in part], found
        assert of_one_address or "TEMP B-TREE FOR ORDER BY" not in "".join(found), found


@pytest.mark.engines
@pytest.mark.parametrize("tags", [("tag-1", "common"), ("common", "tag-1", "nowhere"), ("nowhere",)])
def test_a_rare_tag_leads_to_its_entries_and_to_no_others(
    caller: Caller, remember: Callable[..., None], plans: Any, tags: tuple[str, ...]
) -> None:
    remember(4)
    found = plans(asked(caller, Wanted(agent_id=ME, tags=tags)))
    assert not [plan for plan in found if "memory_address_" in plan], found
    assert all("entrytag" in plan.lower() or "entryaddress" in plan for plan in found), found


@pytest.mark.engines
def test_a_rare_tag_is_asked_for_beside_an_address_and_a_search_too(
    caller: Caller, remember: Callable[..., None]
) -> None:
    remember(2)
    besides: tuple[dict[str, Any], ...] = ({"namespace": "ns", "key": "working-0-"}, {"q": "0"})
    for beside in besides:
        for tag, keys in {"tag-0": ["working-0-"], "tag-1": [], "nowhere": []}.items():
            for wanted in (Wanted(agent_id=ME, tags=(tag,)), Wanted(agent_id=ME, tags_any=(tag,))):
                page = queries.page(caller, replace(wanted, **beside), now=timezone.now())
                assert ([row.key for row in page.rows], page.total) == (keys, len(keys)), (beside, tag)
    named = Wanted(agent_id=ME, namespace="ns", key="working-0-", tags=("tag-1",))
    assert not queries.ids_matching(caller, named, now=timezone.now())


@pytest.mark.engines
@pytest.mark.parametrize(
    "wanted",
    [Wanted(), Wanted(agent_id=ME, tags=("common",)), Wanted(task_id=TASK), Wanted(agent_id=ME, namespace="n*")],
)
def test_a_search_looks_at_what_its_words_lead_to_and_at_nothing_else(
    caller: Caller, remember: Callable[..., None], plans: Any, wanted: Wanted
) -> None:
    remember(4, task_id=TASK)
    remember(4, Tier.SEMANTIC)
    found = plans(asked(caller, replace(wanted, q="working")))
    if connection.vendor == "sqlite":
        assert not [plan for plan in found if "memory_address_" in plan or "SCAN memory_" in plan], found
    page = queries.page(caller, replace(wanted, q="working"), now=timezone.now())
    assert (len(page.rows), page.total) == (4, 4)


@pytest.mark.engines
def test_a_tag_that_many_have_is_looked_up_along_the_agent_s_index(
    caller: Caller, remember: Callable[..., None], plans: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("memory.adapter.openintent.FEW", (1, 2))
    remember(4)
    found = plans(asked(caller, Wanted(agent_id=ME, tags=("common",), limit=2)))
    assert any("memory_address_agent" in plan for plan in found), found
    page = queries.page(caller, Wanted(agent_id=ME, tags=("common",), limit=2), now=timezone.now())
    assert (len(page.rows), page.total) == (2, 4)


@pytest.mark.engines
def test_a_total_is_counted_so_far_and_is_larger_than_what_was_shown_while_there_is_more(
    client: Client, caller: Caller, remember: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("memory.adapter.openintent.FEW", (1, 1))
    remember(9)
    remember(2, Tier.SEMANTIC)
    headers = building.headers(role="agent") | {"HTTP_X_AGENT_ID": ME}

    def total(**asked: str | int) -> tuple[int, bool]:
        body = client.get("/api/v1/memory", {"limit": 2, **asked}, **headers).json()
        return body["total"], body.get("total_is_exact", True)

    lists: list[dict[str, str | int]] = [{}, {"tags": "common"}, {"tags_any": "common,tag-0"}]
    for asked in ({"agent_id": ME, **each} for each in lists):
        monkeypatch.setattr("memory.adapter.openintent.COUNTED", 11)
        monkeypatch.setattr("memory.adapter.openintent.LOOKED_AT", 11)
        assert [total(**asked, offset=offset) for offset in (0, 8, 12)] == [(11, True)] * 3
        monkeypatch.setattr("memory.adapter.openintent.COUNTED", 4)
        counted = [total(**asked, offset=offset) for offset in (0, 2, 6, 8, 10, 30)]
        assert counted == [(4, False), (5, False), (9, False), (11, False), (11, True), (4, False)]
    monkeypatch.setattr("memory.adapter.openintent.COUNTED", 11)
    monkeypatch.setattr("memory.adapter.openintent.LOOKED_AT", 5)
    assert [total(agent_id=ME, tags="common", offset=offset) for offset in (0, 6)] == [(6, False), (9, False)]
    assert total(agent_id=ME) == (11, True)
    monkeypatch.setattr("memory.adapter.openintent.COUNTED", 1)
    assert total() == (3, False)
    listed = client.get(f"/api/v1/agents/{ME}/memory", {"limit": 2}, **headers)
    assert (listed.headers["X-Total-Count"], listed.headers["X-Total-Is-Exact"]) == ("3", "false")


@pytest.mark.engines
def test_rows_read_by_hand_are_those_of_the_orm(caller: Caller, remember: Callable[..., None]) -> None:
    remember(2, task_id=TASK, intent_id=INTENT)
    remember(1, Tier.EPISODIC, pinned=True, priority="high", sensitivity="restricted")
    rows = EntryAddress.objects.of(caller.tenant_id).select_related("entry", "vault_key")
    expected = {row.id: row for row in rows}
    found = adapter.openintent.addressed_rows(caller.tenant_id, list(expected))
    assert len(found) == 3
    for entry_id, row in expected.items():
        mine = found[entry_id]
        assert mine == row
        for field in EntryAddress._meta.concrete_fields:
            assert getattr(mine, field.attname) == getattr(row, field.attname), field
        for name in ("memory_ref", "content", "tags", "run_id", "node_id", "agent_id", "expires_at", "retired_at"):
            assert getattr(mine.entry, name) == getattr(row.entry, name), name
        assert mine.vault_key == row.vault_key
        assert entry_document(mine) == entry_document(row)
        assert mine.entry.search_text == row.entry.search_text


@pytest.mark.engines
def test_a_forget_finds_each_name_beside_entries_once_by_the_indexes(
    caller: Caller, remember: Callable[..., None], plans: Any
) -> None:
    remember(2, task_id="task_2", intent_id=INTENT)
    remember(1, task_id=TASK)
    remember(1, Tier.SEMANTIC)
    building.remember("acme", "of a run")
    with CaptureQueriesContext(connection) as sent:
        found = adapter.forget.all_names(caller.tenant_id)
    columns = ("agent_id", "created_by", "curated_by", "task_id", "intent_id", "entry__agent_id")
    rows = EntryAddress.objects.of(caller.tenant_id)
    written = MemoryEntry.objects.of(caller.tenant_id).values_list("agent_id", flat=True)
    expected = {*written, *(name for column in columns for name in rows.values_list(column, flat=True))}
    assert found - {""} == expected - {""} >= {ME, TASK, "task_2", INTENT}
    steps = [plan for plan in plans([each["sql"] for each in sent]) if "each_name" in plan]
    assert len(steps) == 3
    if connection.vendor == "sqlite":
        led = ("memory_address_agent", "memory_address_task", "memory_address_intent")
        assert all(index in plan for plan, index in zip(steps, led, strict=True)), steps
        assert not [plan for plan in steps if "SCAN memory_" in plan or "(tenant_id=?)" in plan.split("RECURSIVE")[1]]
