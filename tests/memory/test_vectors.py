"""Search by meaning: vectors that an endpoint makes, found in whatever words; and by words alone where it fails."""

import gc
import importlib
import json
import logging
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from django.conf import settings
from django.core.cache import caches
from django.db import connection, transaction
from django.test import Client
from django.utils import timezone
from pytest_django.fixtures import Settings

from memory import adapter, embeddings, ledger, ledger_search, memory_policy, tasks
from memory.adapter import vectors as nearest_vectors
from memory.addresses import Address, Sensitivity, Tier
from memory.host import audit, sql, vault
from memory.host.errors import Invalid
from memory.host.tenancy import TenantScope
from memory.ledger import vectors as stored_vectors
from memory.ledger.addressed import NewAddressedEntry
from memory.ledger.entries import AddressedValue
from memory.ledger_search import LedgerPage
from memory.models import vector_signs
from memory.models import vectors as layout
from tests import building, embedding
from tests.building import write_each
from tests.embedding import Endpoint, switch_on, vector_of

pytestmark = pytest.mark.django_db
migration = importlib.import_module("memory.migrations.0013_vectors")
ANSWER, QUESTION = "The car was repaired by Olga on Monday", "Who did the fixing of that automobile?"


@pytest.fixture
def endpoint(settings: Settings) -> Iterator[Endpoint]:
    settings.OPENWOP_OUTBOUND_ALLOW = ["127.0.0.1/32"]
    with embedding.serving() as found:
        yield found


@pytest.fixture(params=["as migrated", "without pgvector"])
def storage(request: pytest.FixtureRequest) -> Iterator[str]:
    """The tables as the migration made them, with pgvector on PostgreSQL; and there as they are without it."""
    if request.param == "without pgvector":
        if not sql.is_postgres():
            pytest.skip("SQLite knows one form")
        with connection.schema_editor() as editor:
            migration._back(None, editor)
            migration.create(editor, migration.NUMBERS["postgresql"])
    layout.has_pgvector.cache_clear()
    yield str(request.param)
    layout.has_pgvector.cache_clear()


def write_addressed(owner: TenantScope, said: str, sensitivity: str = "") -> Any:
    """An entry of OpenIntent, at an address."""
    new = NewAddressedEntry(given(said, sensitivity), building.open_run(owner).id, "node")
    return ledger.addressed.write_addressed(owner, [new], actor="bot", now=timezone.now())[0]


def given(said: str, sensitivity: str = "") -> AddressedValue:
    return AddressedValue(Address(Tier.EPISODIC, "bot", "facts", "k", sensitivity=sensitivity), {"said": said})


def page(owner: TenantScope, text: str, **options: Any) -> LedgerPage:
    return ledger_search.ledger_page(owner, ledger_search.LedgerFilter(text=text, **options), now=timezone.now())


def found(owner: TenantScope, text: str, **options: Any) -> list[str]:
    return [row.content for row in page(owner, text, **options).entries]


def stored(owner: TenantScope) -> tuple[set[int], set[int]]:
    """The positions that have a vector, and those that have signs."""
    tenant = [sql.key(owner.tenant_id)]
    rows = sql.rows("SELECT position FROM memory_vector WHERE tenant_id = %s", tenant)
    signs: set[int] = set()
    for block, part in sql.rows("SELECT block, signs FROM memory_vectorsign WHERE tenant_id = %s", tenant):
        if layout.has_pgvector():
            signs.add(block)
        else:
            signs |= {
                (block << vector_signs.BLOCK) + int(each) for each in np.frombuffer(part, vector_signs.SIGNED)["offset"]
            }
    return {position for (position,) in rows}, signs


def positions(owner: TenantScope) -> set[int]:
    return {position for position, _ in adapter.vectors.texts_after(owner.tenant_id, -1, 100)}


# What is found.


@pytest.mark.engines
@pytest.mark.usefixtures("storage")
def test_an_answer_is_found_that_shares_no_word_with_the_question(endpoint: Endpoint) -> None:
    acme = building.scope()
    write_each(acme, ANSWER, "Lunch is at noon", "The printer needs toner")
    assert found(acme, QUESTION) == []
    switch_on("acme", endpoint)
    assert tasks.embed_entries() == 3
    shown = page(acme, QUESTION)
    assert [row.content for row in shown.entries] == [ANSWER]
    assert (shown.is_ranked, shown.meaning) == (True, embeddings.meaning_of(acme.tenant_id, QUESTION))
    assert shown.meaning is not None
    assert shown.meaning.ranking == "hybrid"


@pytest.mark.engines
@pytest.mark.usefixtures("storage")
def test_both_orders_are_made_one_and_filters_hold(endpoint: Endpoint) -> None:
    acme = building.scope()
    write_each(acme, "the doctor called", "physician of the family", "surgeon surgeon", "family dinner")
    write_each(acme, "physician elsewhere", memory_ref="other")
    switch_on("acme", endpoint)
    tasks.embed_entries()
    assert found(acme, "family doctor")[0] == "physician of the family"
    assert set(found(acme, "family doctor")) == {
        "the doctor called",
        "physician of the family",
        "surgeon surgeon",
        "family dinner",
        "physician elsewhere",
    }
    assert found(acme, "doctor", memory_ref="other") == ["physician elsewhere"]
    assert found(acme, 'doctor "of the family"') == ["physician of the family"]
    assert found(building.scope(agents=("acme.nobody",)), "doctor") == []
    exported = ledger_search.export_entries(acme, ledger_search.LedgerFilter(text="family doctor"), now=timezone.now())
    assert [row.content for row in exported] == found(acme, "family doctor")


@pytest.mark.engines
def test_the_best_of_either_order_comes_before_what_is_in_the_middle_of_both(endpoint: Endpoint) -> None:
    acme = building.scope()
    write_each(acme, "car mend", *(f"automobile item{number}" for number in range(20)))
    switch_on("acme", endpoint)
    tasks.embed_entries()
    assert "car mend" in found(acme, "automobile fixing")[:10]


@pytest.mark.engines
@pytest.mark.usefixtures("storage")
def test_a_context_takes_what_the_query_means(endpoint: Endpoint) -> None:
    acme = building.scope()
    write_each(acme, ANSWER, *[f"chatter number {number} about lunch" for number in range(6)])
    wanted = adapter.runs.Injection(token_budget=12, rank="relevance", query=QUESTION)
    assert ANSWER not in [
        row.content for row in ledger_search.within_budget(acme, "notes", wanted, now=timezone.now()).entries
    ]
    switch_on("acme", endpoint)
    tasks.embed_entries()
    assert ledger_search.within_budget(acme, "notes", wanted, now=timezone.now()).entries[0].content == ANSWER


@pytest.mark.engines
@pytest.mark.usefixtures("storage")
def test_of_many_vectors_the_nearest_are_found_by_their_signs(
    endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(nearest_vectors, "CANDIDATES", 5)
    monkeypatch.setattr(nearest_vectors, "READ_AT_ONCE", 1)
    monkeypatch.setattr(stored_vectors, "BLOCK", 3)
    monkeypatch.setattr(stored_vectors, "IN_BLOCK", 7)
    monkeypatch.setattr(nearest_vectors, "BLOCK", 3)
    monkeypatch.setattr(nearest_vectors, "IN_BLOCK", 7)
    acme = building.scope()
    write_each(acme, ANSWER, *[f"note {number} of day {number}" for number in range(40)], "a vehicle came")
    switch_on("acme", endpoint)
    tasks.embed_entries()
    assert set(found(acme, "automobile")) == {ANSWER, "a vehicle came"}
    assert set(found(acme, "automobile", memory_ref="notes")) == {ANSWER, "a vehicle came"}
    assert found(acme, "automobile", memory_ref="none") == []


@pytest.mark.engines
@pytest.mark.usefixtures("storage")
def test_a_tenant_meets_no_vector_of_another(endpoint: Endpoint) -> None:
    acme, globex = building.scope("acme"), building.scope("globex")
    write_each(globex, ANSWER)
    write_each(acme, "Lunch is at noon")
    for slug in ("acme", "globex"):
        switch_on(slug, endpoint)
    assert tasks.embed_entries() == 2
    assert (found(acme, QUESTION), found(globex, QUESTION)) == ([], [ANSWER])


# Where vectors come from.


def test_only_redacted_texts_leave_the_host_and_no_sealed_value(endpoint: Endpoint) -> None:
    acme = building.scope()
    write_each(acme, "the old password is hunter2-of-the-crm")
    vault.store_secret(acme.tenant_id, "crm", "hunter2-of-the-crm", now=timezone.now())
    hidden = write_addressed(acme, "sealed words", Sensitivity.CONFIDENTIAL)
    switch_on("acme", endpoint)
    assert tasks.embed_entries() == 2
    assert endpoint.texts == ["the old password is [REDACTED:crm]"]
    assert hidden.entry.position not in stored(acme)[0]
    found(acme, "hunter2-of-the-crm")
    assert endpoint.texts[1] == "[REDACTED:crm]"


@pytest.mark.engines
def test_entries_are_embedded_in_batches_and_those_that_come_later_as_well(
    endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(embeddings, "BATCH", 2)
    acme = building.scope()
    write_each(acme, "one", "two", "three")
    switch_on("acme", endpoint)
    assert (tasks.embed_entries(), [len(body["input"]) for body in endpoint.asked]) == (3, [2, 1])
    assert tasks.embed_entries() == 0
    write_each(acme, "four")
    assert tasks.embed_entries() == 1
    assert stored(acme) == (positions(acme), positions(acme))


@pytest.mark.engines
def test_a_worker_that_died_is_succeeded_where_it_was(endpoint: Endpoint) -> None:
    acme = building.scope()
    write_each(acme, "one", "two")
    switch_on("acme", endpoint)
    now = timezone.now()
    ledger.vectors.begin_vectors(acme.tenant_id, embeddings.source_of(memory_policy.policy_of(acme.tenant_id)), now=now)
    space = ledger.vectors.vector_space(acme.tenant_id)
    assert space is not None
    assert ledger.vectors.claim_vectors(space, now=now)
    assert embeddings.embed_entries(clock=lambda: now + timedelta(minutes=2)) == 0
    assert embeddings.embed_entries(clock=lambda: now + timedelta(minutes=4)) == 2
    assert not ledger.vectors.store_vectors(space, {}, last=1, now=now), "the dead one comes too late"


def test_an_endpoint_that_fails_is_asked_again_ever_later(endpoint: Endpoint) -> None:
    acme = building.scope()
    write_each(acme, "one")
    switch_on("acme", endpoint)
    endpoint.answers = lambda _: (503, b"")
    now = timezone.now()
    assert embeddings.embed_entries(clock=lambda: now) == 0
    assert "answered with an error" in embeddings.progress_of(acme.tenant_id, memory_policy.policy_of(acme.tenant_id))
    for seconds, asked in ((29, 1), (31, 2), (60, 2), (120, 3)):
        embeddings.embed_entries(clock=partial(now.__add__, timedelta(seconds=seconds)))
        assert len(endpoint.asked) == asked
    endpoint.answers = embedding.vectors
    assert embeddings.embed_entries(clock=lambda: now + timedelta(hours=1)) == 1
    assert (
        embeddings.progress_of(acme.tenant_id, memory_policy.policy_of(acme.tenant_id)) == "Every entry has its vector."
    )


@pytest.mark.engines
def test_a_text_that_is_not_taken_keeps_no_other_from_its_vector(endpoint: Endpoint) -> None:
    acme = building.scope()
    write_each(acme, "one", "two", "poison", "three", "four")

    def answer(body: dict[str, Any]) -> embedding.Answer:
        return (400, b"") if "poison" in body["input"] else embedding.vectors(body)

    endpoint.answers = answer
    switch_on("acme", endpoint)
    assert tasks.embed_entries() == 5
    assert len(stored(acme)[0]) == 4
    assert found(acme, "three")


def test_an_endpoint_that_slowly_takes_no_text_is_left_within_a_minute_and_asked_again_later(
    endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A task that takes longer is killed with its worker, and nothing would say that the endpoint failed."""
    assert embeddings.ROUND_SECONDS + embeddings.BATCH_SECONDS < settings.TASK_TIMEOUT
    monkeypatch.setattr(embeddings, "ROUND_SECONDS", 0.2)
    monkeypatch.setattr(embeddings, "BATCH_SECONDS", 2.0)
    acme = building.scope()
    write_each(acme, *map(str, range(32)))
    endpoint.answers = lambda _: (endpoint.over.wait(0.2), (400, b""))[1]
    switch_on("acme", endpoint)
    began = time.monotonic()
    assert embeddings.embed_entries(clock=timezone.now) == 0
    assert time.monotonic() - began < 4
    assert len(endpoint.asked) > 2
    assert "did not answer in time" in embeddings.progress_of(acme.tenant_id, memory_policy.policy_of(acme.tenant_id))


def test_vectors_that_do_not_fit_those_before_and_no_vector_at_all_are_a_failure(endpoint: Endpoint) -> None:
    acme = building.scope()
    write_each(acme, "one")
    switch_on("acme", endpoint)
    assert tasks.embed_entries() == 1
    write_each(acme, "two")
    policy, now = memory_policy.policy_of(acme.tenant_id), timezone.now()
    assert "is making vectors" in embeddings.progress_of(acme.tenant_id, policy)
    short = {"data": [{"index": 0, "embedding": [0.5] * 7}]}
    for hours, answer in ((1, (200, json.dumps(short).encode())), (2, (400, b""))):
        endpoint.answers = lambda _, answer=answer: answer  # type: ignore[misc]
        assert embeddings.embed_entries(clock=partial(now.__add__, timedelta(hours=hours))) == 0
        assert "will ask again" in embeddings.progress_of(acme.tenant_id, policy)
    assert len(stored(acme)[0]) == 1


@pytest.mark.engines
@pytest.mark.usefixtures("storage")
def test_another_model_has_every_entry_embedded_anew(endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stored_vectors, "DROPPED_AT_ONCE", 2)
    acme = building.scope()
    write_each(acme, ANSWER, "two", "three", "four", "five")
    switch_on("acme", endpoint)
    tasks.embed_entries()
    switch_on("acme", endpoint, model="large")
    shown = page(acme, QUESTION)
    assert shown.meaning is not None
    assert (shown.entries, shown.meaning.reason) == ([], "not_ready")
    assert tasks.embed_entries() == 5
    assert [body["model"] for body in endpoint.asked] == ["small", "large"]
    assert found(acme, QUESTION) == [ANSWER]


@pytest.mark.engines
@pytest.mark.usefixtures("storage")
def test_what_is_switched_off_leaves_no_vector(endpoint: Endpoint) -> None:
    acme = building.scope()
    write_each(acme, ANSWER)
    switch_on("acme", endpoint)
    tasks.embed_entries()
    memory_policy.change(acme, {"embedding_url": ""}, now=timezone.now())
    shown = page(acme, QUESTION)
    assert (shown.entries, shown.meaning) == ([], embeddings.Meaning())
    tasks.embed_entries()
    assert (stored(acme), ledger.vectors.vector_space(acme.tenant_id)) == ((set(), set()), None)


# What goes.


@pytest.mark.engines
@pytest.mark.usefixtures("storage")
def test_a_removed_entry_has_no_vector_and_no_signs(endpoint: Endpoint) -> None:
    acme = building.scope()
    gone = write_each(acme, ANSWER, "the doctor")
    kept = write_each(acme, "the surgeon")
    switch_on("acme", endpoint)
    tasks.embed_entries()
    ledger.erase.remove_entries(acme.tenant_id, gone, reason="forgotten", now=timezone.now())
    assert stored(acme) == (positions(acme), positions(acme))
    assert len(positions(acme)) == len(kept)
    ledger.erase.remove_entries(acme.tenant_id, kept, reason="expired", now=timezone.now())
    assert stored(acme) == (set(), set())


@pytest.mark.engines
def test_an_entry_that_goes_while_it_is_told_gets_no_vector(endpoint: Endpoint) -> None:
    acme = building.scope()
    gone, _ = write_each(acme, ANSWER, "two")
    switch_on("acme", endpoint)
    now = timezone.now()
    ledger.vectors.begin_vectors(acme.tenant_id, embeddings.source_of(memory_policy.policy_of(acme.tenant_id)), now=now)
    space = ledger.vectors.vector_space(acme.tenant_id)
    assert space is not None
    made = {each: np.ones(4, np.float32) / 2 for each in positions(acme)}
    ledger.erase.remove_entries(acme.tenant_id, [gone], reason="forgotten", now=now)
    assert ledger.vectors.store_vectors(space, made, last=max(made), now=now)
    assert stored(acme) == (positions(acme), positions(acme))
    assert len(made) == 2


@pytest.mark.only_db("postgres")
@pytest.mark.django_db(transaction=True)
def test_an_entry_that_is_being_removed_while_its_vector_comes_gets_none(endpoint: Endpoint) -> None:
    acme, now = building.scope(), timezone.now()
    gone, _ = write_each(acme, ANSWER, "two")
    switch_on("acme", endpoint)
    ledger.vectors.begin_vectors(acme.tenant_id, embeddings.source_of(memory_policy.policy_of(acme.tenant_id)), now=now)
    space = ledger.vectors.vector_space(acme.tenant_id)
    assert space is not None
    made = {each: np.ones(4, np.float32) / 2 for each in positions(acme)}

    def store() -> bool:
        try:
            return ledger.vectors.store_vectors(space, made, last=max(made), now=now)
        finally:
            connection.close()

    with ThreadPoolExecutor(1) as worker:
        with transaction.atomic():
            ledger.erase.remove_entries(acme.tenant_id, [gone], reason="forgotten", now=now)
            storing = worker.submit(store)
            with pytest.raises(TimeoutError):
                storing.result(timeout=0.3)
        assert storing.result()
    assert stored(acme) == (positions(acme), positions(acme))


@pytest.mark.engines
def test_a_changed_value_is_embedded_anew_and_a_sealed_one_not_at_all(endpoint: Endpoint) -> None:
    acme = building.scope()
    row = write_addressed(acme, "the car")
    switch_on("acme", endpoint)
    tasks.embed_entries()
    before = stored(acme)
    row = ledger.addressed.rewrite(acme, row, given("the doctor"), actor="bot", now=timezone.now())
    assert stored(acme) == (set(), set())
    tasks.embed_entries()
    assert stored(acme) == ({row.entry.position}, {row.entry.position}) != before
    sealed = given("the doctor", Sensitivity.RESTRICTED)
    ledger.addressed.rewrite(acme, row, sealed, actor="bot", now=timezone.now())
    tasks.embed_entries()
    assert stored(acme) == (set(), set())


@pytest.mark.engines
@pytest.mark.django_db(transaction=True)
def test_no_byte_of_a_forgotten_vector_is_in_the_database_s_files(endpoint: Endpoint) -> None:
    acme = building.scope()
    gone = write_each(acme, *[f"the car of day {number}" for number in range(20)])
    write_each(acme, "Lunch is at noon")
    switch_on("acme", endpoint)
    tasks.embed_entries()
    unit = np.array(vector_of("the car of day 7"))
    canary = (unit / np.linalg.norm(unit)).astype(np.float32).astype("<f2").tobytes()
    settle()
    assert canary in files()
    ledger.erase.remove_entries(acme.tenant_id, gone, reason="forgotten", now=timezone.now())
    until = time.monotonic() + 20  # PostgreSQL keeps what another who reads may still see, until the next rewrite
    settle()
    while canary in files() and time.monotonic() < until:
        time.sleep(0.2)
        settle()
    assert canary not in files()
    assert len(stored(acme)[0]) == 1


def settle() -> None:
    """What was removed is in no page and not in the log beside it."""
    gc.collect()
    with connection.cursor() as cursor:
        if not sql.is_postgres():
            cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            return
    for table in ("memory_vector", "memory_vectorsign"):
        sql.vacuum(table, rewrite=True, patience_ms=5_000)
    with connection.cursor() as cursor:
        cursor.execute("CHECKPOINT")


def files() -> bytes:
    if not sql.is_postgres():
        return Path(connection.settings_dict["NAME"]).read_bytes()
    tables = sql.rows(
        "SELECT pg_relation_filepath(c.oid), pg_relation_filepath(c.reltoastrelid) FROM pg_class c "
        "WHERE relname IN ('memory_vector', 'memory_vectorsign')",
        [],
    )
    paths = [path for row in tables for path in row if path]
    return b"".join(bytes(sql.rows("SELECT pg_read_binary_file(%s)", [path])[0][0]) for path in paths)


# Where it fails.

SOUND = [0.5] * embedding.NUMBERS


def constant(answer: embedding.Answer, _: dict[str, Any]) -> embedding.Answer:
    return answer


def data(*embedded: Any) -> bytes:
    rows = [{"index": number, "embedding": each} for number, each in enumerate(embedded)]
    return json.dumps({"data": rows}).encode()


RUBBISH = [
    ("status", 500, b""),
    ("status", 302, b""),
    ("malformed", 200, b"<html>"),
    ("malformed", 200, b"[" * 100_000),
    ("malformed", 200, b"{}"),
    ("malformed", 200, b'{"data": 7}'),
    ("malformed", 200, data()),
    ("malformed", 200, data(SOUND, SOUND)),
    ("malformed", 200, data([])),
    ("malformed", 200, data("0.5")),
    ("malformed", 200, data([True] * 256)),
    ("malformed", 200, data(["0.5"] * 256)),
    ("malformed", 200, data([0.0] * 256)),
    ("malformed", 200, data([1e300] * 256)),
    ("malformed", 200, data([10**400])),
    ("malformed", 200, data([float("nan")] * 256)),
    ("malformed", 200, data([0.5] * 5_000)),
    ("malformed", 200, data([[0.5]] * 256)),
    ("malformed", 200, data([-1.234567890123456e-05] * 5_000)),
    ("dimension", 200, data([0.5] * 255)),
    ("too_large", 200, b" " * 230_000),
]


def test_an_answer_that_is_none_leaves_the_order_by_words(endpoint: Endpoint) -> None:
    acme = building.scope()
    write_each(acme, "apple pie", ANSWER)
    switch_on("acme", endpoint)
    tasks.embed_entries()
    write_each(acme, "later")
    for reason, status, raw in RUBBISH:
        caches["process"].clear()
        endpoint.asked.clear()
        endpoint.answers = partial(constant, (status, raw))
        shown = page(acme, "apple automobile")
        assert [row.content for row in shown.entries] == ["apple pie"], raw[:50]
        assert shown.meaning == embeddings.Meaning(reason=reason), raw[:50]
        page(acme, "another query")
        assert len(endpoint.asked) == 1, "an endpoint that failed is left alone for a while"
        assert embeddings.embed_entries(clock=lambda: timezone.now() + timedelta(days=1)) == 0, raw[:50]
        assert len(stored(acme)[0]) == 2, "what cannot be read makes no vectors either"


def test_a_slow_endpoint_and_one_at_a_private_address_leave_the_order_by_words(
    endpoint: Endpoint, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    acme = building.scope()
    write_each(acme, "apple pie", ANSWER)
    switch_on("acme", endpoint)
    tasks.embed_entries()
    monkeypatch.setattr(embeddings, "QUERY_SECONDS", 0.5)
    endpoint.answers = lambda _: (endpoint.over.wait(5), (200, b""))[1]
    assert page(acme, "apple").meaning == embeddings.Meaning(reason="timeout")
    caches["process"].clear()
    settings.OPENWOP_OUTBOUND_ALLOW = []
    shown = page(acme, "apple")
    assert (shown.meaning, [row.content for row in shown.entries]) == (
        embeddings.Meaning(reason="not_allowed"),
        ["apple pie"],
    )
    write_each(acme, "later")
    assert tasks.embed_entries() == 0


def test_a_query_is_asked_for_once_and_not_for_the_newest_first(endpoint: Endpoint) -> None:
    acme = building.scope()
    write_each(acme, "one")
    switch_on("acme", endpoint)
    tasks.embed_entries()
    endpoint.asked.clear()
    for order in ("", "relevance", "newest"):
        page(acme, "two", order=order)
    assert endpoint.texts == ["two"]


def test_no_log_and_no_audit_record_holds_a_text(endpoint: Endpoint, caplog: pytest.LogCaptureFixture) -> None:
    acme = building.scope()
    write_each(acme, ANSWER)
    with caplog.at_level(logging.DEBUG):
        switch_on("acme", endpoint)
        tasks.embed_entries()
        found(acme, QUESTION)
        endpoint.answers = lambda _: (500, b"rubbish")
        found(acme, f"{QUESTION} again")
    told = caplog.text + "".join(str(row.details) for row in audit.newest(acme.tenant_id, limit=50))
    assert caplog.text
    assert not [word for word in (ANSWER, "fixing", embedding.KEY, "rubbish") if word in told]


# Faces.


def test_every_face_says_how_it_ranked(endpoint: Endpoint, client: Client) -> None:
    acme, key = building.scope(), building.headers()
    write_each(acme, ANSWER, agent_id="acme.bot")
    ask = {"q": QUESTION}
    of_bot = "/api/v1/agents/acme.bot/memory"
    injected = {"memoryRef": "notes", "rank": "relevance", "query": QUESTION}
    assert client.get("/v1/host/console/memory", ask, **key).json()["ranking"] == "lexical"
    switch_on("acme", endpoint)
    tasks.embed_entries()
    for query in (ask, injected):
        answer = client.get("/v1/host/console/memory", query, **key).json()
        assert ([each["content"] for each in answer["entries"]], answer["ranking"]) == ([ANSWER], "hybrid")
        assert "rankingReason" not in answer
    array = client.get(of_bot, ask, **key)
    assert ([each["value"]["content"] for each in array.json()], array["X-Ranking"]) == ([ANSWER], "hybrid")
    listed = client.get("/api/v1/memory", {**ask, "agent_id": "acme.bot"}, **key).json()
    assert (listed["total"], listed["ranking"]) == (1, "hybrid")
    client.force_login(building.operator())
    assert "car was" in client.get("/memory", ask).content.decode()
    endpoint.answers = lambda _: (500, b"")
    other = {"q": "Something else to ask"}
    answer = client.get("/v1/host/console/memory", other, **key).json()
    assert (answer["ranking"], answer["rankingReason"], answer["entries"]) == ("lexical", "status", [])
    array = client.get(of_bot, other, **key)
    assert (array["X-Ranking"], array["X-Ranking-Reason"], array.json()) == ("lexical", "status", [])
    said = client.get("/memory", other).content.decode()
    assert "Ranked by words alone: the embeddings endpoint answered with an error." in said
    assert "ranking" not in client.get("/v1/host/console/memory", **key).json()


def test_the_policy_says_who_makes_vectors_and_that_it_is_whole(endpoint: Endpoint, client: Client) -> None:
    acme = building.scope()
    with pytest.raises(Invalid) as refused:
        memory_policy.change(
            acme, {"embedding_url": "https://me:pw@models.example", "embedding_secret": "none"}, now=timezone.now()
        )
    assert {each["field"] for each in refused.value.details["errors"]} == {
        "embedding_url",
        "embedding_model",
        "embedding_secret",
    }
    switch_on("acme", endpoint)
    client.force_login(building.operator())
    shown = client.get("/retention").content.decode()
    assert endpoint.url in shown
    assert "No entry has its vector yet" in shown
    form = {name: value for name, value in asdict(memory_policy.policy_of(acme.tenant_id)).items() if value}
    assert client.post("/retention", {**form, "embedding_model": "larger"}).status_code == 302
    assert memory_policy.policy_of(acme.tenant_id).embedding_model == "larger"
    client.post("/retention", {**form, "embedding_url": ""})
    assert not memory_policy.policy_of(acme.tenant_id).embeds
