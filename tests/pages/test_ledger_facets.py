"""What can be chosen of the ledger: when entries were written, and their values, each with how many stand behind it."""

import json
import re
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from memory import external_runs, ledger, ledger_search, origins
from memory.adapter.console import Sampled
from memory.api.serializers import MemoryQuery
from memory.entry_drafts import EntryDraft
from memory.host import ids
from memory.ledger_search import LedgerFilter
from tests import building
from tests.pages.conftest import HTMX, SignIn, body_of

pytestmark = pytest.mark.django_db
NOW = timezone.now()
HOUR = timedelta(hours=1)


def written(*texts: str, ago: timedelta = timedelta(), **draft: Any) -> list[str]:
    owner = building.scope()
    run = building.open_run(owner)
    return [ids.wire("mem", building.write(owner, run, text, now=timezone.now() - ago, **draft).id) for text in texts]


def texts(**wanted: Any) -> list[str]:
    return [
        each.content for each in ledger_search.ledger_page(building.scope(), LedgerFilter(**wanted), now=NOW).entries
    ]


def behind(shown: str, name: str) -> dict[str, str]:
    """The values of a facet on the page, with their counts."""
    options = re.findall(rf'name="{name}" value="([^"]*)"[^>]*>.*?</label>', shown)
    counts = [
        "".join(re.findall(r"<output>(.*?)</output>", option))
        for option in re.findall(rf'<input id="facet-{name}-\d+".*?</label>', shown)
    ]
    return dict(zip(options, counts, strict=True))


@pytest.mark.engines
def test_the_ledger_is_asked_for_what_was_written_in_a_time(ada: Client) -> None:
    written("yesterday's", ago=30 * HOUR)
    written("the morning's", ago=3 * HOUR)
    written("just now")
    now = timezone.now()
    for query, expected in (
        ("age=1h", {"just now"}),
        ("age=24h", {"just now", "the morning's"}),
        (f"until={(now - 2 * HOUR).isoformat()}".replace("+", "%2B"), {"the morning's", "yesterday's"}),
        (f"since={(now - 4 * HOUR):%Y-%m-%dT%H:%M:%SZ}&until={(now - 2 * HOUR):%Y-%m-%dT%H:%M:%SZ}", {"the morning's"}),
        (f"since={(now - 4 * HOUR):%Y-%m-%dT%H:%M}&until={(now - 2 * HOUR):%Y-%m-%dT%H:%M}", {"the morning's"}),
        (
            f"since={now - 48 * HOUR:%Y-%m-%d}",
            {"just now", "the morning's", "yesterday's"},
        ),
        (f"until={now:%Y-%m-%d}", {"just now", "the morning's", "yesterday's"}),
        ("since=0001-01-01&until=9999-12-30", {"just now", "the morning's", "yesterday's"}),
        ("since=0001-01-01T00:00:00Z&until=0001-01-02T00:00:00Z", set()),
    ):
        shown = body_of(ada.get(f"/memory?{query}"))
        listed = {each for each in ("just now", "the morning's", "yesterday's") if each.replace("'", "&#x27;") in shown}
        assert listed == expected, query


@pytest.mark.engines
def test_a_time_is_a_filter_beside_every_other() -> None:
    for hours in (50, 30, 10, 1):
        written(f"note {hours}", ago=hours * HOUR, tags=("t",), agent_id="a")
    between: dict[str, Any] = {"since": NOW - 40 * HOUR, "until": NOW - 5 * HOUR}
    filters: list[dict[str, Any]] = [{}, {"tag": "t"}, {"agent": "a"}, {"text": "note"}]
    for leading in (*filters, {"text": "note", "order": "newest"}):
        assert sorted(texts(**leading, **between)) == ["note 10", "note 30"], leading
        found = ledger_search.ledger_page(building.scope(), LedgerFilter(**leading, **between), now=NOW)
        assert found.total == 2, leading


@pytest.mark.engines
def test_an_entry_is_in_the_order_of_when_it_was_written_whenever_that_was_said() -> None:
    """Ids rise with the time that an entry names, which a clock other than this machine's may have told."""
    written("second", ago=20 * HOUR)
    written("first", ago=40 * HOUR)
    written("third")
    assert texts() == ["third", "second", "first"]


def test_a_time_that_cannot_be_read_is_refused_in_words(ada: Client) -> None:
    for query in ("since=soon", "until=2026-13-01", "age=2h", "sinse=2026-01-01"):
        answer = ada.get(f"/memory?{query}")
        assert answer.status_code in {400, 422}, query
        assert query.partition("=")[0] in body_of(answer)


@pytest.mark.engines
def test_a_subject_is_a_filter(ada: Client) -> None:
    written("about marta", subject="customer:marta")
    written("about nobody")
    assert "of 1 entry" in body_of(ada.get("/memory?subject=customer:marta"))
    assert texts(text="subject:customer:marta") == ["about marta"]


@pytest.mark.engines
def test_each_value_says_how_many_entries_have_it_under_the_filter(ada: Client) -> None:
    made = written("one", "two", tags=("red", "big"), agent_id="a", subject="s-1")
    written("three", tags=("red",), agent_id="b", memory_ref="elsewhere", ago=3 * HOUR)
    ledger.retirement.retire_entry(building.scope(), building.id_of("mem", made[0]), reason="", now=timezone.now())
    shown = body_of(ada.get("/memory"))
    assert behind(shown, "state") == {"": "2", "retired": "1", "all": "3"}
    assert behind(shown, "tag") == {"": "", "red": "2", "big": "1"}
    assert behind(shown, "subject") == {"": "", "s-1": "1"}
    assert behind(shown, "age") == {"": "", "1h": "1", "24h": "2", "7d": "2", "30d": "2"}
    chosen = body_of(ada.get("/memory?agent=b"))
    assert behind(chosen, "agent") == {"": "", "a": "1", "b": "1"}
    assert behind(chosen, "tag") == {"": "", "red": "1"}
    assert behind(chosen, "ref") == {"": "", "elsewhere": "1"}
    found = body_of(ada.get("/memory?q=two&state=all"))
    assert behind(found, "tag") == {"": "", "big": "1", "red": "1"}


def test_many_values_that_say_less_than_they_mean_are_a_menu(ada: Client) -> None:
    tag = '<select class="facet-menu" id="facet-agent"'
    for number in range(8):
        written("x", agent_id=f"acme.writer-{number}")
    assert tag not in body_of(ada.get("/memory")), "eight are a list"
    written("x", agent_id="acme.writer-8")
    menu = body_of(ada.get("/memory?agent=acme.writer-3")).partition(tag)[2]
    assert menu.startswith(' name="agent">')
    assert re.findall(r'value="([^"]*)"', menu.partition("</select>")[0]) == [
        "",
        *(f"acme.writer-{n}" for n in range(9)),
    ]


def test_a_chosen_value_that_no_entry_has_stays_on_offer(ada: Client) -> None:
    written("one", tags=("red",))
    assert behind(body_of(ada.get("/memory?tag=blue")), "tag") == {"": "", "blue": "0", "red": "1"}


def test_what_is_counted_of_a_part_says_that_there_may_be_more(ada: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ledger_search, "SAMPLED", 3)
    written("old", "older", agent_id="early")
    written(*(f"note {number}" for number in range(5)), tags=("red",))
    shown = body_of(ada.get("/memory"))
    assert behind(shown, "tag") == {"": "", "red": "3+"}
    assert behind(shown, "age")["1h"] == "3+"
    assert behind(shown, "state")["retired"] == "", "none among the newest is not none at all"
    assert behind(body_of(ada.get("/memory?agent=early")), "agent")["early"] == "2", "what the list itself has"


def test_the_choices_come_with_the_list_and_are_left_as_they_are_by_an_older_page(ada: Client) -> None:
    made = written("one", "two", tags=("red",))
    assert 'id="ledger-facets" hx-swap-oob="morph"' in body_of(ada.get("/memory?tag=red", **HTMX))
    assert "ledger-facets" not in body_of(ada.get(f"/memory?after={made[1]}&seen=1", **HTMX))


@pytest.mark.engines
def test_no_value_of_another_tenant_is_offered(sign_in: SignIn) -> None:
    written("theirs", tags=("acme-only",), subject="acme-subject", agent_id="acme-agent")
    shown = body_of(sign_in("globex").get("/memory?state=all"))
    assert all(each not in shown for each in ("acme-only", "acme-subject", "acme-agent"))


@pytest.mark.engines
def test_the_origin_that_an_agent_states_is_counted(ada: Client) -> None:
    owner = building.scope()
    for system in ("langgraph", "langgraph", "agno"):
        stated = origins.of_document({"system": system, "node": "plan"})
        external_runs.write_entry(owner, "notes", EntryDraft(f"of {system}"), stated, now=timezone.now())
    written("of this host")
    shown = body_of(ada.get("/memory"))
    assert behind(shown, "system") == {"": "", "langgraph": "2", "agno": "1"}
    assert "of 1 entry" in body_of(ada.get("/memory?system=agno"))


@pytest.mark.engines
def test_what_an_agent_states_is_a_filter_of_the_page_and_of_its_files(ada: Client) -> None:
    stated = origins.of_document({"system": "agno", "threadId": "t-7", "runId": "r-7", "node": "plan"})
    draft = EntryDraft("far away")
    external_runs.write_entry(building.scope(), "notes", draft, stated, now=timezone.now())
    written("of this host")
    origin = r'title="agno, stated by the agent[^>]*><code><svg[^>]* aria-label="stated by the agent: ".*plan</code>'
    for query in ("thread=t-7", "node=plan", "run=r-7", "system=agno"):
        shown = body_of(ada.get(f"/memory?{query}"))
        assert "of 1 entry" in shown, query
        assert re.search(origin, shown)
        assert "far away" in shown
        assert "far away" in body_of(ada.get(f"/memory?{query}&q=far"))
        file = json.loads(body_of(ada.get(f"/memory?{query}&format=json")))
        assert [each["content"] for each in file["entries"]] == ["far away"]
        assert "Nothing matches" in body_of(ada.get(f"/memory?{query.partition('=')[0]}=elsewhere"))


def test_each_field_of_the_filter_can_be_chosen_on_the_page_and_asked_for_over_the_api(ada: Client) -> None:
    """One declaration on ``LedgerFilter`` is enough for addresses, chips, saved views and the API."""
    shown = body_of(ada.get("/memory"))
    asked = MemoryQuery().get_fields()
    for name, declared in ledger_search.FIELDS.items():
        if name in ledger_search.FACETS:
            assert declared.column in (*Sampled._fields, ""), name
        else:
            assert f'name="{declared.parameter}"' in shown, name
        assert not declared.wire or declared.wire in asked, name
        value = declared.words[1] if declared.words else "retired"
        chips = body_of(ada.get(f"/memory?{declared.parameter}={value}")).casefold()
        assert f"{declared.label}: {value}".casefold() in chips, name
