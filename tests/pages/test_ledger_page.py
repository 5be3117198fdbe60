"""The memory ledger: filtered, searched, paged to the end, inert, and as a file."""

import csv
import io
import json
import re
from datetime import timedelta
from html import unescape
from typing import Any
from urllib.parse import urlencode

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from memory import ledger
from memory.host import ids
from memory.views import ledger as ledger_pages
from tests import building
from tests.pages.conftest import HTMX, SignIn, body_of, standing

pytestmark = pytest.mark.django_db
HOSTILE = '<script>alert(1)</script><img src=x hx-get="/steal" hx-trigger="load">\u202etxt.exe'


def page(browser: Client, url: str = "/memory", **headers: Any) -> str:
    answer = browser.get(url, **headers)
    assert answer.status_code == 200
    return body_of(answer)


def written(count: int) -> list[str]:
    owner = building.scope()
    run = building.open_run(owner)
    return [ids.wire("mem", building.write(owner, run, f"note {number}").id) for number in range(count)]


def test_an_entry_of_only_spaces_has_a_link_that_can_be_seen_and_named(ada: Client) -> None:
    [entry] = building.write_each(building.scope(), " \n ")
    shown = body_of(ada.get("/memory"))
    assert re.search(rf'href="/memory/{ids.wire("mem", entry)}"[^>]*><span class="muted">Only spaces</span></a>', shown)
    assert "an entry of only spaces" in shown


def test_an_empty_ledger_says_how_to_get_entries(ada: Client) -> None:
    assert "No memory entries yet" in page(ada)


def test_the_ledger_shows_who_wrote_what(ada: Client) -> None:
    made = building.remember("acme", "the pump sounds like a tractor", tags=["repair"])
    shown = page(ada)
    assert "the pump sounds like a tractor" in shown
    assert "remember-1" in shown
    assert f"/runs/{ids.wire('run', made.run.id)}" in shown
    assert standing(1, 1, 1, "entries") in shown


@pytest.mark.engines
def test_each_filter_finds_the_entry_and_its_opposite_does_not(ada: Client) -> None:
    building.remember("acme", "the pump sounds like a tractor", tags=["repair"])
    for query in ["agent=acme.writer", "node=remember-1", "tag=repair", "ref=notes", "q=TRACTOR+pump", "state=all"]:
        assert "of 1 entry" in page(ada, f"/memory?{query}"), query
        name, _, _ = query.partition("=")
        if name != "state":
            assert "Nothing matches" in page(ada, f"/memory?{name}=elsewhere"), query


def test_of_an_age_and_a_beginning_the_later_counts() -> None:
    now = timezone.now()
    for hours, begins in ((1, now - timedelta(hours=1)), (48, now - timedelta(hours=24))):
        query = urlencode({"age": "24h", "since": (now - timedelta(hours=hours)).isoformat()})
        assert ledger_pages.filter_of(query, now).since == begins


def test_the_run_filter_takes_the_id_that_the_pages_show(ada: Client) -> None:
    made = building.remember("acme", "one")
    building.remember("acme", "two")
    assert "of 1 entry" in page(ada, f"/memory?run={ids.wire('run', made.run.id)}")


def test_a_text_that_a_search_finds_is_shown_from_the_word_with_it_marked(ada: Client) -> None:
    building.remember("acme", f"{'what was said before it. ' * 20}<b>The pumps</b> sound like a tractor")
    shown = page(ada, "/memory?q=pump")
    assert ">…said before it. &lt;b&gt;The <mark>pumps</mark>&lt;/b&gt; sound like a tractor</a>" in shown
    assert "<mark>" not in page(ada)


@pytest.mark.engines
def test_a_search_for_several_words_says_that_any_counts_and_leads_to_all_of_them(ada: Client) -> None:
    building.remember("acme", "the red apple", "an apple is red", "red paint", "a pear")
    shown = page(ada, "/memory?q=red+apple+ref%3Anotes")
    said = re.search(r'<p class="small muted" data-any-word>(.*?)</p>', shown)
    assert said
    assert "3 entries with any of these words." in said[1]
    every, exact = (unescape(each) for each in re.findall(r'href="([^"]+)"', said[1]))
    assert standing(1, 2, 2, "entries") in page(ada, every)
    assert standing(1, 1, 1, "entry") in page(ada, exact)
    assert "the <mark>red</mark> <mark>apple</mark>" in page(ada, exact)
    for query in (
        "q=apple",
        "q=the+apple",
        'q="red+apple"',
        "q=red+apple&order=newest",
        "q=one@example.com",
        "q=pear+tree+zzz&ref=x",
        "",
    ):
        assert "data-any-word" not in page(ada, f"/memory?{query}"), query


def test_retired_entries_are_listed_apart(ada: Client) -> None:
    (kept, hidden) = building.remember("acme", "kept", "hidden").entries
    hidden_id = ids.parse("mem", hidden)
    assert hidden_id
    ledger.retirement.retire_entry(building.scope(), hidden_id, reason="", now=timezone.now())
    assert hidden not in page(ada)
    retired = page(ada, "/memory?state=retired")
    assert hidden in retired
    assert kept not in retired


def test_an_expired_entry_is_never_listed(ada: Client) -> None:
    owner = building.scope()
    past = timezone.now() - timedelta(hours=2)
    building.write(owner, building.open_run(owner), "gone", now=past, expires_at=past + timedelta(hours=1))
    assert "gone" not in page(ada)


def test_older_leads_to_the_end_with_a_true_total(ada: Client) -> None:
    made = written(103)
    seen, url, places = [], "/memory", []
    while url:
        shown = page(ada, url)
        places.append(re.sub("<.*?>", "", shown.split('data-announce="103 entries">')[1].split(" entries")[0]))
        seen += [each for each in made if f'href="/memory/{each}"' in shown]
        older = shown.split(">Older")[0].rpartition('href="')[2].partition('"')[0] if ">Older" in shown else ""
        url = older.replace("&amp;", "&")
    assert places == ["1\u201350 of 103", "51\u2013100 of 103", "101\u2013103 of 103"]
    assert sorted(seen) == sorted(made)


def test_htmx_gets_the_list_alone_and_the_address_without_what_is_empty(ada: Client) -> None:
    written(1)
    answer = ada.get("/memory?q=note&agent=&run=", **HTMX)
    shown = body_of(answer)
    assert shown.lstrip().startswith("<section")
    assert 'id="formats" hx-swap-oob="true"' in shown
    assert answer["HX-Push-Url"] == "/memory?q=note"
    assert "HX-Request" in answer["Vary"]


def test_a_restored_history_gets_the_whole_page(ada: Client) -> None:
    assert "<html" in page(ada, HTTP_HX_HISTORY_RESTORE_REQUEST="true", **HTMX)


def test_hostile_content_is_text_and_nothing_else(ada: Client) -> None:
    building.remember("acme", HOSTILE, tags=["<b>tag</b>"])
    shown = page(ada)
    assert "<script>alert" not in shown
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in shown
    assert "<img src=x" not in shown
    assert "⟦RLO U+202E⟧" in shown
    assert "<b>tag</b>" not in shown


def test_a_file_has_every_entry_and_honours_the_filter(ada: Client, sign_in: SignIn) -> None:
    written(60)
    building.remember("acme", "another", memory_ref="elsewhere")
    found = json.loads(page(ada, "/memory?format=json&q=note"))
    assert found["total"] == 60
    assert len(found["entries"]) == 60
    rows = list(csv.DictReader(io.StringIO(page(ada, "/memory?format=csv&q=another"))))
    assert [row["content"] for row in rows] == ["another"]
    auditor = sign_in(role="auditor")
    assert [auditor.get(f"/memory?format={each}").status_code for each in ("json", "csv")] == [403, 403]


def test_no_cell_of_a_file_is_a_formula(ada: Client) -> None:
    starts = ["=", "+", "-", "@", "\t", "\r"]
    building.remember("acme", *(f'{start}HYPERLINK("http://x.invalid")' for start in starts))
    rows = list(csv.DictReader(io.StringIO(page(ada, "/memory?format=csv"), newline="")))
    assert sorted(row["content"][:2] for row in rows) == sorted(f"'{start}" for start in starts)


def test_no_query_makes_the_page_fail(ada: Client) -> None:
    written(1)
    for query in [
        "after=mem_nonsense",
        "after=mem_" + "f" * 32,
        "seen=-1",
        "seen=" + "9" * 99,
        "q=%00%00",
        "agent=%00",
        "tag=" + "x" * 9999,
        "node=%F0%9F%92%A9",
        "run=run_1",
        "q=%ed%a0%80",
    ]:
        assert ada.get(f"/memory?{query}").status_code == 200, query


def test_a_longer_list_needs_no_more_queries(ada: Client) -> None:
    written(3)
    with CaptureQueriesContext(connection) as few:
        page(ada)
    written(40)
    with CaptureQueriesContext(connection) as many:
        page(ada)
    assert len(many) <= len(few)
    assert len(many) <= 16


@pytest.mark.engines
def test_globex_sees_none_of_it(sign_in: SignIn) -> None:
    made = building.remember("acme", "only for acme", tags=["acme-only"])
    shown = page(sign_in("globex"), "/memory")
    assert "acme" not in shown.replace("acme.example", "")
    assert "No memory entries yet" in shown
    assert made.entries[0] not in page(sign_in("globex", role="viewer"), "/memory?state=all&format=json")


def test_an_entry_with_what_looks_like_an_unknown_secret_says_so(ada: Client) -> None:
    building.remember("acme", "the key is AKIAIOSFODNN7EXAMPLE", "nothing of the kind")
    assert body_of(ada.get("/memory")).count("secret-shaped") == 1
