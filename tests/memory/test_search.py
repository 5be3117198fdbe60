"""Search, the best first or the newest first: one answer on both engines; what is forgotten stays in no index."""

import gc
from collections import Counter
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

import numpy as np
import pytest
from django.db import connection
from django.test import Client
from django.utils import timezone
from hypothesis import given
from hypothesis import strategies as st

from memory import adapter, ledger, ledger_search, tasks
from memory.adapter import fulltext
from memory.entry_drafts import EntryDraft
from memory.host import ids, sql
from memory.host.tenancy import TenantScope
from memory.ledger import index as ledger_index
from memory.ledger_search import LedgerPage
from memory.models.entry import MemoryEntry
from memory.models.search_index import BLOCK, MARK, MOST_TIMES, OFFSET, POSTING, TIMES
from memory.text import search_words
from memory.text.matching import search_form
from memory.text.search_words import sought, stems_of, words_of
from memory.wire import instant
from tests import building
from tests.budgets import tries
from tests.building import write_each

pytestmark = [pytest.mark.django_db, pytest.mark.engines]
only_sqlite = pytest.mark.only_db("sqlite")


@pytest.fixture(params=["waiting", "indexed"])
def index(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Every entry waits behind the mark, or every one is indexed as it is written."""
    monkeypatch.setattr(ledger_index, "BATCH", 1 if request.param == "indexed" else 10**9)
    return str(request.param)


def page(owner: TenantScope, text: str, **options: Any) -> LedgerPage:
    """A page newest first, unless another order is asked for."""
    options = {"order": ledger_search.NEWEST} | options
    paging = {name: options.pop(name) for name in ("after", "seen", "size") if name in options}
    return ledger_search.ledger_page(
        owner, ledger_search.LedgerFilter(text=text, **options), now=timezone.now(), **paging
    )


def found(owner: TenantScope, text: str, **options: Any) -> list[str]:
    """The contents found, all pages."""
    contents: list[str] = []
    after: UUID | None = None
    while True:
        part = page(owner, text, after=after, seen=len(contents), **options)
        contents += [row.content for row in part.entries]
        if (after := part.after) is None:
            return contents


@pytest.mark.usefixtures("index")
def test_every_word_of_a_query_begins_a_word_of_the_entry() -> None:
    acme = building.scope()
    text = "It's a Refund of 49.90 for Müller (marta.kowalska@example.com), 東京都庁で อ่านหนังสือ 🎉"
    write_each(acme, text, tags=("vip",), subject="Bob", memory_ref="support/customer:7")
    write_each(acme, "something else")
    for query, expected in (
        ("refund", True),
        ("REF", True),
        ("r", True),
        ("ef", False),
        ("fund", False),
        ("refund müller", True),
        ("refund nobody", False),
        ("marta.kow", True),
        ("marta@", True),
        ("kowalska.marta", False),
        ("49.9", True),
        ("90.49", False),
        ("(refund),", True),
        ("\uff52\uff45\uff46", True),
        ("京都", True),
        ("東京都庁", True),
        ("東都", False),
        ("หนังสือ", True),
        ("สือ", True),
        ("🎉", True),
        ("vip", True),
        ("customer:7", True),
        ("bob", True),
        ("support/", True),
        ("!!! ?", False),
        ("it's", True),
        ("z' | 'b", False),
        ("17 OR 18", False),
        ("%", False),
    ):
        assert found(acme, query) == ([text] if expected else []), query


def test_a_text_of_white_space_is_no_filter_and_one_of_signs_finds_nothing() -> None:
    acme = building.scope()
    write_each(acme, "one", "two")
    assert (page(acme, " \n ").total, page(acme, "- -").total) == (2, 0)


@pytest.mark.usefixtures("index")
def test_what_is_found_is_newest_first_paged_to_the_end_with_a_true_total() -> None:
    acme = building.scope()
    write_each(acme, *[f"order {number} of {'apples' if number % 3 else 'pears'}" for number in range(30)])
    expected = [f"order {number} of apples" for number in reversed(range(30)) if number % 3]
    first = page(acme, "apple order", size=7)
    assert (first.total, first.total_is_exact, first.is_partial) == (20, True, False)
    assert found(acme, "apple order", size=7) == expected
    last = page(acme, "apple order", size=20)
    assert ([row.content for row in last.entries], last.after) == (expected, None)
    wanted = ledger_search.LedgerFilter(text="apple order", order=ledger_search.NEWEST)
    everything = ledger_search.export_entries(acme, wanted, now=timezone.now())
    assert [row.content for row in everything] == expected


@pytest.mark.usefixtures("index")
def test_every_filter_holds_for_what_is_found() -> None:
    acme = building.scope()
    for content, draft in (
        ("apple one", {"tags": ("fruit",)}),
        ("apple two", {"agent_id": "acme.bot"}),
        ("apple three", {"memory_ref": "elsewhere"}),
    ):
        write_each(acme, content, **draft)
    now = timezone.now()
    write_each(acme, "apple expired", now=now - timedelta(hours=2), expires_at=now - timedelta(hours=1))
    (hidden,) = write_each(acme, "apple hidden")
    ledger.retirement.retire_entry(acme, hidden, reason="", now=now)
    assert found(acme, "apple") == ["apple three", "apple two", "apple one"]
    assert found(acme, "apple", tag="fruit") == ["apple one"]
    assert found(acme, "apple", agent="acme.bot") == ["apple two"]
    assert found(acme, "apple", memory_ref="elsewhere") == ["apple three"]
    assert found(acme, "apple", state="retired") == ["apple hidden"]
    assert found(building.scope(agents=("acme.bot",)), "apple") == ["apple two"]


@pytest.mark.usefixtures("index")
def test_a_tenant_finds_nothing_of_another() -> None:
    acme, globex = building.scope("acme"), building.scope("globex")
    write_each(acme, "shared word of acme")
    write_each(globex, "shared word of globex")
    assert found(acme, "shared") == ["shared word of acme"]
    assert found(globex, "shared") == ["shared word of globex"]
    assert found(globex, "acme") == []


@pytest.mark.usefixtures("index")
def test_a_search_that_looked_at_enough_says_so_and_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fulltext, "LOOKED", 10)
    monkeypatch.setattr(fulltext, "UNINDEXED_LOOKED", 10)
    monkeypatch.setattr(fulltext, "FIRST_BLOCKS", 1)
    monkeypatch.setattr(fulltext, "MOST_BLOCKS", 1)
    for module in (fulltext, ledger_index):
        monkeypatch.setattr(module, "BLOCK", 3)
        monkeypatch.setattr(module, "IN_BLOCK", 7)
    acme = building.scope()
    write_each(acme, "needle apple", tags=("rare",))
    write_each(acme, *["apple"] * 35)
    first = page(acme, "apple", tag="rare", size=5)
    assert (first.entries, first.is_partial, first.total_is_exact) == ([], True, False)
    assert first.after is not None
    assert found(acme, "apple", tag="rare", size=5) == ["needle apple"]
    assert found(acme, "needle", size=5) == ["needle apple"]
    assert found(acme, "absent", size=5) == []
    assert len(found(acme, "apple", size=5)) == 36


def test_the_page_offers_to_search_what_it_has_not_looked_at(monkeypatch: pytest.MonkeyPatch, client: Client) -> None:
    monkeypatch.setattr(fulltext, "UNINDEXED_LOOKED", 10)
    client.force_login(building.operator())
    acme = building.scope()
    write_each(acme, "needle in the hay", *["hay"] * 20, tags=())
    write_each(acme, "more hay")
    shown = client.get("/memory", {"q": "hay", "node": "elsewhere", "order": "newest"}).content.decode()
    assert "Nothing among the newer entries" in shown
    assert "Search older" in shown


def test_a_page_goes_on_where_the_entry_it_ended_with_was_removed() -> None:
    acme = building.scope()
    written = write_each(acme, *[f"apple {number}" for number in range(6)])
    first = page(acme, "apple", size=2)
    assert first.after == written[4]
    ledger.erase.remove_entries(acme.tenant_id, (written[4],), reason="forgotten", now=timezone.now())
    rest = page(acme, "apple", after=first.after, size=10)
    assert [row.content for row in rest.entries] == [f"apple {number}" for number in (3, 2, 1, 0)]
    assert page(acme, "apple", after=ids.first_of(timezone.now() - timedelta(days=1))).entries == []


@pytest.mark.usefixtures("index")
def test_what_a_pass_derives_is_found() -> None:
    acme = building.scope()
    run = building.open_run(acme)
    made = [ledger.entries.Derivation(EntryDraft(f"summary number {number}"), "distilled") for number in range(3)]
    ledger.entries.write_derived(building.ref(acme, "notes"), made, run=run, now=timezone.now())
    assert found(acme, "summ num") == [f"summary number {number}" for number in (2, 1, 0)]


def test_the_sum_of_a_common_word_is_exact_up_to_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("memory.adapter.console.COUNTED", 5)
    acme = building.scope()
    write_each(acme, *["apple"] * 7)
    first = page(acme, "apple", size=3)
    assert (first.total, first.total_is_exact, len(first.entries)) == (5, False, 3)


# By relevance.


def ranked(owner: TenantScope, text: str, **options: Any) -> list[str]:
    return found(owner, text, order=ledger_search.RELEVANCE, **options)


@pytest.mark.usefixtures("index")
def test_a_question_finds_what_answers_it_in_other_forms_of_its_words() -> None:
    acme = building.scope()
    answer = "Marta pays the invoices of the printers in cash"
    write_each(acme, "Is the printer here?", answer, "nothing of it", "who did what and when")
    assert ranked(acme, "Who is paying for the printer invoice?") == [answer, "Is the printer here?"]
    assert ranked(acme, "who") == ["who did what and when"]


@pytest.mark.usefixtures("index")
def test_rare_words_count_more_and_so_do_short_entries() -> None:
    acme = building.scope()
    long = "a zeppelin with a list of all that came with it and of much that did not"
    write_each(acme, *[f"order {number}" for number in range(8)], "a zeppelin", long)
    assert ranked(acme, "order zeppelin")[:3] == ["a zeppelin", long, "order 7"]
    assert ranked(acme, "zeppelins") == ["a zeppelin", long]


@pytest.mark.usefixtures("index")
def test_an_entry_that_says_a_word_more_often_comes_before_one_as_long() -> None:
    acme = building.scope()
    write_each(acme, "zeppelin, zeppelin", "zeppelin, airship", "nothing of it")
    assert ranked(acme, "zeppelin") == ["zeppelin, zeppelin", "zeppelin, airship"]


@pytest.mark.usefixtures("index")
def test_words_are_stemmed_in_the_language_of_the_query() -> None:
    acme = building.scope()
    texts = ("Rechnung bezahlt Müller", "La factura la paga Beatriz", "Fakturę opłaca Jan", "東京都庁で会う")
    write_each(acme, *texts, "билет купила Анна", "Muellerstrasse 7", "the bill is settled")
    for query, expected in (
        ("Wer bezahlt die Rechnungen?", ["Rechnung bezahlt Müller"]),
        ("¿Quién paga las facturas?", ["La factura la paga Beatriz"]),
        ("Kto płaci za faktury?", ["Fakturę opłaca Jan"]),
        ("東京", ["東京都庁で会う"]),
        ("кто платит за билеты", ["билет купила Анна"]),
        ("muell", ["Muellerstrasse 7"]),
        ("xyz", []),
    ):
        assert ranked(acme, query) == expected, (query, expected)


@pytest.mark.usefixtures("index")
def test_what_is_in_quotes_and_what_names_a_field_filters() -> None:
    acme = building.scope()
    write_each(acme, "a red apple", "an apple so red", "red paint", tags=("fruit box",))
    write_each(acme, "red apple elsewhere", memory_ref="other")
    assert ranked(acme, '"red apple"') == ["red apple elsewhere", "a red apple"]
    assert ranked(acme, 'red "red apple" ref:notes') == ["a red apple"]
    assert ranked(acme, 'paint tag:"fruit box"') == ["red paint"]
    assert ranked(acme, "ref:other") == ["red apple elsewhere"]
    assert ranked(acme, "apple ref:nowhere") == []


@pytest.mark.usefixtures("index")
def test_one_word_with_signs_inside_is_taken_as_typed_by_relevance_too() -> None:
    acme = building.scope()
    marta, omar = "Marta is marta.kowalska@example.com", "Omar is omar@example.com"
    amount, version = "The fee is 49.90 EUR", "Release 2.4.1 is out, 2.5 waits"
    write_each(acme, marta, omar, amount, version, "49 of 90 chairs", "a t shirt, an e-mail", memory_ref="desk/facts")
    write_each(acme, "facts about a desk", "東京 と 大阪")
    for query, expected in (
        ("marta.kowalska@example.com", [marta]),
        ("zzz@example.com", []),
        ("<omar@example.com>,", [omar]),
        ("marta.kow", [marta]),
        ("49.90", [amount]),
        ("2.4.1", [version]),
        ("2.4.1 ref:desk/facts", [version]),
        ("5.5", []),
        ("chairs/shirts", ["49 of 90 chairs", "a t shirt, an e-mail"]),
        ("chairs-90", ["49 of 90 chairs", amount]),
        ("t-shirt", ["a t shirt, an e-mail"]),
        ("shirt's", ["a t shirt, an e-mail"]),
        ("shirt,chairs", ["a t shirt, an e-mail", "49 of 90 chairs"]),
        ("東京、神戸", ["東京 と 大阪"]),
        ("what is omar@example.com", [omar, marta]),
    ):
        assert sorted(ranked(acme, query)) == sorted(expected), query
    assert ranked(acme, "who is marta.kowalska@example.com")[0] == marta


@pytest.mark.usefixtures("index")
def test_what_is_ranked_is_paged_to_its_end_and_filtered() -> None:
    acme = building.scope()
    write_each(acme, *[f"apple {number}{' pie' * (number % 2)}" for number in range(20)])
    (hidden,) = write_each(acme, "apple apple")
    ledger.retirement.retire_entry(acme, hidden, reason="", now=timezone.now())
    first = page(acme, "apple pie", size=7, order="")
    assert (first.total, first.total_is_exact, first.is_ranked) == (20, True, True)
    everything = ranked(acme, "apple pie", size=7)
    assert everything == [f"apple {n} pie" for n in range(19, 0, -2)] + [f"apple {n}" for n in range(18, -1, -2)]
    exported = ledger_search.export_entries(acme, ledger_search.LedgerFilter(text="apple pie"), now=timezone.now())
    assert [row.content for row in exported] == everything


def test_many_candidates_are_filtered_a_part_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fulltext, "CHUNK", 4)
    acme = building.scope()
    write_each(acme, *["apple"] * 20)
    write_each(acme, "apple elsewhere", "apple there", memory_ref="elsewhere")
    assert page(acme, "apple", size=3, order="", memory_ref="notes").total_is_exact is False
    assert len(ranked(acme, "apple", size=3, memory_ref="notes")) == 20
    monkeypatch.setattr(fulltext, "NARROW", 3)
    assert ranked(acme, "apple", memory_ref="elsewhere") == ["apple there", "apple elsewhere"]
    assert len(ranked(acme, "apple", size=3, memory_ref="notes")) == 20


def test_a_very_common_word_only_ranks_what_rarer_ones_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ledger_index, "BATCH", 1)
    monkeypatch.setattr(fulltext, "POSTINGS", 12)
    acme = building.scope()
    write_each(acme, *["common"] * 30, "rare zebra", "common rare", "rare ones")
    assert ranked(acme, "common rare") == ["common rare", "rare ones", "rare zebra"]
    assert page(acme, "common rare", order="").total_is_exact is False
    assert len(ranked(acme, "common")) > 0


def test_the_words_of_another_tenant_do_not_weigh() -> None:
    acme, globex = building.scope("acme"), building.scope("globex")
    write_each(acme, "refund zebra", "order lion", "refund", "refund")
    before = ranked(acme, "order refund")
    write_each(globex, *["order"] * 40)
    ledger_search.index_words()
    assert ranked(acme, "order refund") == before == ["order lion", "refund", "refund", "refund zebra"]


def test_what_stands_beside_an_entry_counts_in_a_context() -> None:
    acme = building.scope()
    write_each(acme, "nothing", "far away", "Where is the zeppelin?", "Behind the barn.", "Fine weather", "and so on")
    wanted = adapter.runs.Injection(rank="relevance", query="where is that zeppelin")
    assert building.contents(acme, wanted=wanted)[:2] == ["Where is the zeppelin?", "Behind the barn."]


# The index.


def test_entries_are_indexed_in_batches_and_a_long_one_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ledger_index, "BATCH", 4)
    acme = building.scope()
    write_each(acme, "one", "two", "three")
    assert marked(acme) == -1
    write_each(acme, "four")
    assert marked(acme) == 4
    write_each(acme, "five " * 2000)
    assert marked(acme) == 5
    assert found(acme, "t") == ["three", "two"]


def test_a_batch_is_indexed_as_its_entries_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = [f"{word} and {word} {'again ' * number}" for number, word in enumerate(("refund", "zebra", "apple"))]
    indexed = []
    for tenant, batch in (("acme", 10**9), ("globex", 1)):
        monkeypatch.setattr(ledger_index, "BATCH", batch)
        owner = building.scope(tenant)
        write_each(owner, *texts, "!!!" + " again" * 20)
        ledger_index.catch_up(owner.tenant_id)
        statement = (
            "SELECT w.word, b.block, b.postings FROM memory_searchword w JOIN memory_searchblock b "
            "ON b.word = w.number WHERE w.ledger = %s"
        )
        indexed.append(sorted((word, block, bytes(postings)) for word, block, postings in rows_of(owner, statement)))
        assert max(indexed_positions(owner)) == 4
    assert indexed[0] == indexed[1] != []
    [again] = [np.frombuffer(postings, POSTING) for word, _, postings in indexed[0] if word == "again"]
    assert [int(each) >> TIMES & MOST_TIMES for each in again] == [1, 2, 15], "how often each has it, to the most"


def test_an_entry_without_a_word_is_indexed_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ledger_index, "BATCH", 1)
    acme = building.scope()
    building.write(acme, building.open_run(acme), "!!!", memory_ref="-")
    assert marked(acme) == 1
    assert words_kept(acme) == {}


def test_the_worker_indexes_what_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    acme = building.scope()
    write_each(acme, "one", "two", "three")
    monkeypatch.setattr(ledger_search, "INDEXED_AT_ONCE", 2)
    assert tasks.index_words() == 3
    assert (marked(acme), tasks.index_words()) == (3, 0)
    assert found(acme, "two") == ["two"]


@pytest.mark.usefixtures("index")
def test_a_word_that_too_many_words_begin_with_is_looked_for_in_the_texts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fulltext, "MANY_FORMS", 3)
    acme = building.scope()
    write_each(acme, *[f"order{number}" for number in range(10)], "orchid", "disorder")
    assert len(found(acme, "orde")) == 10
    assert found(acme, "order7") == ["order7"]


def test_what_is_removed_leaves_the_index_and_its_words_for_good(index: str) -> None:
    acme = building.scope()
    gone = write_each(acme, "Marta Kowalska wrote", "marta again")
    write_each(acme, "somebody wrote")
    ledger.erase.remove_entries(acme.tenant_id, tuple(gone), reason="forgotten", now=timezone.now())
    assert found(acme, "marta") == []
    assert found(acme, "wrote") == ["somebody wrote"]
    kept = {"somebody", "wrote", "notes"} if index == "indexed" else set()
    assert set(words_kept(acme)) == kept
    assert stems_kept(acme) == {stem for word in kept for stem in search_words.stems_of(word)}
    assert indexed_positions(acme) == ([3] * 3 if index == "indexed" else [])


def test_what_a_removal_leaves_is_in_the_index_entry_by_entry(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ledger_index, "BLOCK", 3)
    monkeypatch.setattr(ledger_index, "IN_BLOCK", 7)
    acme = building.scope()
    written = write_each(
        acme, *[f"again refund{number} {'even' * (number % 2)} day{number // 4}" for number in range(30)]
    )
    ledger_index.catch_up(acme.tenant_id)
    gone = tuple(row for number, row in enumerate(written) if number % 3 == 0 or 8 <= number < 16)
    ledger.erase.remove_entries(acme.tenant_id, gone, reason="forgotten", now=timezone.now())
    statement = (
        "SELECT w.word, b.block, b.postings, w.entries FROM memory_searchword w JOIN memory_searchblock b "
        "ON b.word = w.number WHERE w.ledger = %s"
    )
    rows = rows_of(acme, statement)
    indexed = [
        (word, block << 3 | int(each) >> OFFSET)
        for word, block, postings, _ in rows
        for each in np.frombuffer(bytes(postings), POSTING)
    ]
    left = MemoryEntry.objects.of(acme.tenant_id).values_list("search_text", "position")
    expected = [(word, position) for text, position in left for word in set(search_words.every_word_of(text))]
    assert sorted(indexed) == sorted(expected) != []
    assert {word: entries for word, _, _, entries in rows} == Counter(word for word, _ in expected)


@only_sqlite
@pytest.mark.django_db(transaction=True)
def test_no_page_of_the_database_s_file_holds_a_forgotten_word(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ledger_index, "BATCH", 1)
    acme = building.scope()
    name = f"zyx{ids.new_id().hex[:12]}"
    gone = write_each(acme, *[f"{name} and {name}owska number {number}" for number in range(50)])
    settle()
    assert name.encode() in file_of_the_database()
    ledger.erase.remove_entries(acme.tenant_id, tuple(gone), reason="forgotten", now=timezone.now())
    settle()
    assert name.encode() not in file_of_the_database()
    assert not any(word.startswith("zyx") for word in words_kept(acme))


@only_sqlite
@pytest.mark.django_db(transaction=True)
def test_a_vacuum_leaves_every_entry_where_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ledger_index, "BATCH", 1)
    acme = building.scope()
    written = write_each(acme, *[f"apple {number}" for number in range(6)])
    ledger.erase.remove_entries(acme.tenant_id, tuple(written[:3]), reason="forgotten", now=timezone.now())
    with connection.cursor() as cursor:
        cursor.execute("VACUUM")
    assert found(acme, "apple") == ["apple 5", "apple 4", "apple 3"]
    assert found(acme, "4") == ["apple 4"]


def settle() -> None:
    """Everything is in the file, and nothing in the log beside it."""
    gc.collect()
    with connection.cursor() as cursor:
        cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def file_of_the_database() -> bytes:
    return Path(connection.settings_dict["NAME"]).read_bytes()


def marked(owner: TenantScope) -> int:
    return int(([row[1] for row in sql.rows(MARK, [sql.key(owner.tenant_id)])] or [-1])[0])


def rows_of(owner: TenantScope, statement: str) -> list[Any]:
    return sql.rows(statement, [row[0] for row in sql.rows(MARK, [sql.key(owner.tenant_id)])] or [0])


def words_kept(owner: TenantScope) -> dict[str, int]:
    return dict(rows_of(owner, "SELECT word, entries FROM memory_searchword WHERE ledger = %s"))


def stems_kept(owner: TenantScope) -> set[str]:
    return {stem for (stem,) in rows_of(owner, "SELECT stem FROM memory_searchstem WHERE ledger = %s")}


def indexed_positions(owner: TenantScope) -> list[int]:
    """The position of every place of a word in the index."""
    statement = (
        "SELECT b.block, b.postings FROM memory_searchblock b JOIN memory_searchword w ON w.number = b.word "
        "WHERE w.ledger = %s"
    )
    found = [(block, np.frombuffer(postings, POSTING)) for block, postings in rows_of(owner, statement)]
    return [(block << BLOCK) + int(offset) for block, part in found for offset in part >> OFFSET]


# Words.

TEXTS = st.text(alphabet=st.sampled_from("aAbÜßé1.9-@ \n東京都สื🎉'\"*&|!:()_"), max_size=40)


@tries()
@given(TEXTS, st.data())
def test_a_stretch_of_a_text_that_begins_with_a_word_is_found_in_it(text: str, data: Any) -> None:
    folded = search_form(text)
    starts = [at for at in range(len(folded)) if words_of(folded[at:]) and not words_of(folded[max(at - 1, 0) : at])]
    if starts:
        start = data.draw(st.sampled_from(starts))
        asked = sought(folded[start : data.draw(st.integers(start + 1, len(folded)))])
        assert asked.is_in(folded)
        assert all(literal in folded for literal in asked.literals)


@tries()
@given(TEXTS)
def test_words_stand_in_their_text_and_hold_no_sign(text: str) -> None:
    folded = search_form(text)
    for word in words_of(folded):
        assert word in folded
        assert not set(word) & set(" .-@'\"*&|!:()_")


def test_words_that_differ_late_are_two_and_the_longest_are_cut() -> None:
    first, second = "a" * 40 + "b", "a" * 40 + "c"
    assert words_of(f"{first} {second}") == [first, second]
    assert words_of("x" * 100) == ["x" * 64]
    assert stems_of("x" * 33) == {}


def test_a_very_long_word_is_found_by_its_beginning_and_as_a_whole() -> None:
    acme = building.scope()
    write_each(acme, "x" * 200, "x" * 100)
    assert len(found(acme, "x" * 64)) == 2
    assert found(acme, "x" * 150) == ["x" * 200]


@pytest.mark.engines
def test_a_file_has_what_the_orm_would_have_read() -> None:
    acme, run = building.scope(), building.open_run(building.scope())
    for micro in (0, 120_000, 123_456):
        at = timezone.now().replace(microsecond=micro) - timedelta(hours=1)
        building.write(acme, run, f"at {micro}", tags=["a", "b c"], now=at, expires_at=at + timedelta(days=1))
    rows = list(ledger_search.export_entries(acme, ledger_search.LedgerFilter(memory_ref="notes"), now=timezone.now()))
    page = ledger_search.ledger_page(acme, ledger_search.LedgerFilter(memory_ref="notes"), now=timezone.now())
    assert [
        (ids.wire("mem", each.id), each.content, each.tags, ids.wire("run", each.run_id), each.node_id, each.agent_id)
        for each in page.entries
    ] == [(row.id, row.content, row.tags, row.run_id, row.node_id, row.agent_id) for row in rows]
    assert [(instant(each.created_at), instant(each.expires_at)) for each in page.entries if each.expires_at] == [
        (row.created_at, row.expires_at) for row in rows
    ]
    assert [row.created_at[-4:] for row in rows] == ["123Z", "120Z", "000Z"]
    assert {row.retired_at for row in rows} == {""}


def test_a_field_that_is_filtered_already_is_not_named_again_in_the_text() -> None:
    acme = building.scope()
    building.write_each(acme, "of the writer", agent_id="acme.writer")
    building.write_each(acme, "of the reader", agent_id="acme.reader")
    for filtered, found in (("", ["of the reader"]), ("acme.writer", [])):
        wanted = ledger_search.LedgerFilter(text="agent:acme.reader", agent=filtered)
        rows = ledger_search.ledger_page(acme, wanted, now=timezone.now()).entries
        assert [row.content for row in rows] == found, filtered
