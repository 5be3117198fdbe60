"""The inbox as an operator gets it: facets with true counts, saved filters, and several ended at once or none."""

import csv
import io
import json
import re
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import urlencode

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from memory import saved_filters
from memory.host import ids, registrations, tenancy
from memory.host.models import Operator, SavedFilter
from memory.host.tenancy import TenantScope
from memory.models import Pass
from proposals import bulk_actions, inbox, lifecycle, rules, tasks
from proposals.drafts import Change
from proposals.inbox import InboxFilter
from proposals.models import Gate, Kind, Proposal
from tests import building, inboxes, proposing
from tests.pages.conftest import HTMX, SignIn, body_of

pytestmark = pytest.mark.django_db
MINE_NOW = Change(title="Mine now")
ROW = re.compile(r'data-open dir="auto">([^<]*)</a>')


def rows(body: str) -> list[str]:
    return ROW.findall(body)


def listed(browser: Client, **query: Any) -> list[str]:
    """The titles that the inbox shows for a query."""
    answer = browser.get("/proposals", query)
    assert answer.status_code == 200
    return rows(body_of(answer))


def count_of(body: str, facet: str, value: str) -> int:
    """The number that stands beside a choice of a facet."""
    found = re.search(
        rf'name="{facet}" value="{re.escape(value)}"[^>]*><span[^>]*>[^<]*</span>'
        r"(?:<small>[^<]*</small>)?<output>([\d,]+)</output>",
        body,
    )
    assert found, f"{facet}={value} is not on offer"
    return int(found[1].replace(",", ""))


def wire(*proposals: Proposal) -> list[str]:
    return [ids.wire("prop", each.id) for each in proposals]


def states(*proposals: Proposal) -> list[str]:
    return [proposing.fresh(each).state for each in proposals]


def scope_of(email: str = "ada.owner@acme.example") -> TenantScope:
    return tenancy.tenant_scope(tenancy.operator_principal(Operator.objects.get(email=email)))


@pytest.mark.parametrize("role", ["owner", "operator", "reviewer", "author", "viewer"])
def test_what_needs_me_is_exactly_what_the_rules_let_me_vote_on(role: str) -> None:
    now = timezone.now()
    me = building.scope(role=role)
    inboxes.policy(Kind.AUTOMATION, eligible_roles=("owner",), now=now)
    everybody, owners = inboxes.at(1, now), inboxes.at(2, now, kind=Kind.AUTOMATION)
    lapsed, mine = inboxes.at(3, now - timedelta(days=40)), inboxes.at(4, now, building.scope(role="author"))
    if me.can("proposals:revise"):
        mine = lifecycle.revise(me, mine.id, MINE_NOW, now=now)
    for each in (everybody, owners, mine):
        inboxes.gate_over(each, now=now)
    inboxes.gate_over(lapsed, now=now - timedelta(days=39))
    shown = {row.proposal.id for row in inbox.page(me, InboxFilter("needs-me"), now=now).rows}
    allowed = {
        row.proposal.id
        for row in inbox.export_rows(me, InboxFilter(), now=now)
        if row.under_way and rules.refusal_to("decide", me, row.proposal, row.under_way, now=now) is None
    }
    assert shown == allowed
    assert (owners.id in shown) == (role == "owner")
    assert lapsed.id not in shown


def test_an_agents_key_is_never_asked_for_a_vote_and_one_vote_is_enough() -> None:
    now = timezone.now()
    inboxes.policy(Kind.PROMPT_TEMPLATE, quorum=2, now=now)
    made = inboxes.at(1, now)
    gate = inboxes.gate_over(made, now=now)
    bound, ada = building.scope(role="owner", agents=("acme.writer",)), building.scope()
    assert inbox.page(bound, InboxFilter("needs-me"), now=now).total == 0
    assert inbox.page(ada, InboxFilter("needs-me"), now=now).total == 1
    proposing.decide(made, gate, by=ada)
    assert inbox.page(ada, InboxFilter("needs-me"), now=now).total == 0
    assert inbox.page(building.scope(), InboxFilter("needs-me"), now=now).total == 1


def test_mine_is_what_i_wrote_or_ever_revised() -> None:
    now, ada = timezone.now(), building.scope()
    made = inboxes.at(1, now)
    lifecycle.revise(ada, made.id, MINE_NOW, now=now)
    lifecycle.revise(building.scope(role="author"), made.id, MINE_NOW, now=now)
    assert [row.proposal.id for row in inbox.page(ada, InboxFilter("mine"), now=now).rows] == [made.id]


def test_every_facet_counts_what_it_shows_and_shows_what_it_counts(ada: Client) -> None:
    inboxes.crowded(30)
    body = body_of(ada.get("/proposals"))
    choices = re.findall(r'<input id="facet-[^"]*" type="[^"]*" name="([a-z]+)" value="([^"]+)"', body)
    assert {facet for facet, _ in choices} == {"gate", "state", "kind", "age", "synthesizer", "duplicate", "purpose"}
    for facet, value in choices:
        told = json.loads(body_of(ada.get("/proposals", {facet: value, "format": "json"})))
        assert count_of(body, facet, value) == told["total"], f"{facet}={value}"
    assert all(count_of(body, "gate", each) for each in inbox.STANDINGS if each != "granted")
    assert {"host:rule-miner/1", "-"} <= {value for facet, value in choices if facet == "synthesizer"}


def _granted(made: Proposal, gate: Gate, now: datetime) -> None:
    inboxes.vote(made, gate, now=now)
    inboxes.vote(made, gate, now=now)


def _overridden(made: Proposal, gate: Gate, now: datetime) -> None:
    inboxes.vote(made, gate, now=now)
    inboxes.overridden(made, gate, now=now)


ENDINGS: dict[str, Callable[[Proposal, Gate, datetime], Any]] = {
    "waiting": lambda made, gate, now: inboxes.vote(made, gate, now=now),
    "granted": _granted,
    "overridden": _overridden,
    "refused": lambda made, gate, now: inboxes.vote(made, gate, "changes-requested", reason="shorter", now=now),
    "expired": lambda made, gate, now: None,
    "withdrawn": lambda made, gate, now: lifecycle.withdraw(building.scope(), made.id, now=now),
}
VOTES = ("gateState", "votes", "quorum", "overridden")


def test_a_gate_is_told_in_one_word_whatever_became_of_it(ada: Client) -> None:
    now = timezone.now()
    inboxes.policy(Kind.PROMPT_TEMPLATE, quorum=2, now=now)
    inboxes.at(0, now, title="none")
    for number, (word, end) in enumerate(ENDINGS.items(), 1):
        made = inboxes.at(number, now, title=word)
        end(made, inboxes.gate_over(made, now=now - timedelta(days=30) if word == "expired" else now), now)
    for word in ("waiting", "granted", "overridden", "refused", "expired"):
        assert listed(ada, gate=word) == [word]
    assert listed(ada, gate="none") == ["withdrawn", "none"]
    assert listed(ada, gate=["refused", "expired"]) == ["expired", "refused"]
    shown = body_of(ada.get("/proposals"))
    assert 'value="expired"' in shown
    assert 'value="granted"><span title="approved">approved</span>' in shown
    assert 'value="rejected"' not in shown, "none is rejected"
    assert 'value="rejected" checked' in body_of(ada.get("/proposals?state=rejected"))
    assert "waiting 1 of 2" in shown
    told = {each["title"]: each for each in json.loads(body_of(ada.get("/proposals?format=json")))["proposals"]}
    [row] = [each for each in shown.split("<tr")[1:] if f"/proposals/{told['overridden']['id']}" in each]
    assert row.count("</svg>overridden</span>") == 1, "one badge says it"
    assert "changes requested</span>" in shown, "in the words of the page of the proposal"
    assert "cancelled</span>" in shown
    page = body_of(ada.get(f"/proposals/{told['refused']['id']}"))
    assert "changes requested</span>" in page
    assert [told[name]["gateState"] for name in ("refused", "withdrawn")] == ["changes-requested", "cancelled"]
    assert [told["overridden"][name] for name in VOTES] == ["overridden", 2, 2, True]
    assert [told["none"][name] for name in VOTES] == ["none", None, None, False]


def test_ages_synthesizers_duplicates_and_purposes_are_told_apart(ada: Client) -> None:
    now = timezone.now()
    for number, days in enumerate((40, 20, 3, 0), 1):
        inboxes.at(
            number, now - timedelta(days=days, minutes=1), title=f"{days} days", synthesizer_model="-" * (days == 3)
        )
    assert listed(ada, age="24h") == ["0 days"]
    assert listed(ada, age="7d") == ["0 days", "3 days"]
    assert listed(ada, age="30d") == ["0 days", "3 days", "20 days"]
    assert listed(ada, age="older") == ["40 days"]
    inboxes.rolled_back(now=now)
    inboxes.at(9, now, synthesizer_model="acme/drafter", title="drafted")
    assert listed(ada, synthesizer="acme/drafter") == ["drafted"]
    assert "3 days" in listed(ada, synthesizer="-")
    assert listed(ada, purpose="rollback") == ["Roll triage.summary back from 1.1.0 to 1.0.0"]
    inboxes.restated(now=now)
    assert "The same again" in listed(ada, duplicate="yes", state="draft")
    assert "The same again" not in listed(ada, duplicate="no")
    assert len(listed(ada, duplicate=["yes", "no"])) == len(listed(ada))


def test_facets_hold_together_and_each_counts_what_the_others_leave(ada: Client) -> None:
    now = timezone.now()
    for number in range(1, 4):
        inboxes.at(number, now, kind=Kind.AUTOMATION if number == 1 else Kind.PROMPT_TEMPLATE, title=f"p{number}")
    lifecycle.reject(building.scope(), inboxes.at(4, now, title="p4").id, reason="no", now=now)
    body = body_of(ada.get("/proposals?kind=prompt-template&state=draft"))
    assert rows(body) == ["p3", "p2"]
    assert count_of(body, "state", "rejected") == 1
    assert count_of(body, "kind", "automation") == 1
    assert count_of(body, "gate", "none") == 2


def test_what_is_set_stands_as_chips_and_each_comes_off_alone(ada: Client) -> None:
    inboxes.at(1, timezone.now())
    body = body_of(ada.get("/proposals?show=mine&gate=waiting&gate=none&age=7d&q=a+%26+b&state=%3Cb%3E"))
    chips = dict(re.findall(r'<a class="chip" href="([^"]*)"[^>]*><span>([^<]*)</span>', body))
    words = {label: href.replace("&amp;", "&") for href, label in chips.items()}
    assert words["Approval: none"] == "/proposals?show=mine&gate=waiting&state=%3Cb%3E&age=7d&q=a+%26+b"
    assert words["Age: Last 7 days"] == "/proposals?show=mine&gate=waiting&gate=none&state=%3Cb%3E&q=a+%26+b"
    assert words["Text: a &amp; b"] == "/proposals?show=mine&gate=waiting&gate=none&state=%3Cb%3E&age=7d"
    assert "State: &lt;b&gt;" in words
    assert 'href="/proposals?show=mine">Clear all' in body


@pytest.mark.engines
def test_the_search_finds_every_word_in_the_title_as_it_stands(ada: Client) -> None:
    for number, title in enumerate(("über alles", "Straße", "100% sure"), 1):
        inboxes.at(number, timezone.now(), title=title)
    for text, found in [
        ("straße", ["Straße"]),
        ("ÜBER", ["über alles"]),
        ("alles über", ["über alles"]),
        ("100%", ["100% sure"]),
        (".*", []),
        ("_", []),
    ]:
        assert listed(ada, q=text) == found, text


@pytest.mark.engines
def test_the_search_finds_an_id_and_a_part_of_it(ada: Client) -> None:
    made = inboxes.at(1, timezone.now(), title="this one")
    inboxes.at(2, timezone.now(), title="not this one")
    [whole] = wire(made)
    assert listed(ada, q=whole) == listed(ada, q=made.id.hex[-9:]) == listed(ada, q=str(made.id)) == ["this one"]


def test_an_unknown_word_matches_nothing_and_can_be_taken_off(ada: Client) -> None:
    inboxes.at(1, timezone.now())
    for query in ["gate=x", "age=x", "duplicate=maybe", "synthesizer=nobody", "purpose=fun", "kind=%00rule"]:
        body = body_of(ada.get(f"/proposals?{query}"))
        assert rows(body) == [], query
        assert "Nothing matches" in body, query
        assert 'class="chip"' in body, query


@pytest.mark.engines
def test_no_query_makes_the_inbox_fail(ada: Client) -> None:
    inboxes.at(1, timezone.now())
    for query in ["q=%00", "q=" + "x" * 5000, "after=prop_1", "seen=-1", "kind=x&kind=y", "q=%ff%fe"]:
        assert ada.get(f"/proposals?{query}").status_code == 200, query


def test_a_list_of_the_inbox_that_does_not_exist_is_refused(ada: Client) -> None:
    assert ada.get("/proposals?show=x").status_code == 400


def test_a_row_says_how_big_the_change_is_who_made_it_and_what_it_restates(ada: Client) -> None:
    now = timezone.now()
    made = inboxes.at(1, now, agent_id="private.acme.triage", synthesizer_model="host:rule-miner/1")
    inboxes.at(2, now, synthesizer_model="host:rule-miner/1")
    inboxes.restated(now=now)
    [told] = [row for row in inbox.export_rows(building.scope(), InboxFilter(), now=now) if row.proposal.id == made.id]
    shown = body_of(ada.get("/proposals"))
    assert f'+{told.added}</span> <span class="diff-removed">−0' in shown  # noqa: RUF001
    assert 'agent <code title="private.acme.triage">…triage</code>' in shown
    assert "by <code>host:rule-miner/1</code>" in shown
    assert "duplicate of prompt:tri" in shown


def change_shown(browser: Client, made: Proposal) -> tuple[str, str]:
    """The change of the proposal in the list, and above the difference on its page."""
    row = body_of(browser.get("/proposals")).partition(f'href="{proposing.page_of(made)}" data-open')[2]
    page = body_of(browser.get(proposing.page_of(made))).partition('class="diff-head"')[2]
    return lines_of(row), lines_of(page)


def lines_of(shown: str) -> str:
    found = re.search(r'diff-added">\+([0-9,]+).*?diff-removed">\u2212([0-9,]+)', shown, re.DOTALL)
    assert found
    return f"+{found[1]} -{found[2]}"


def revised(made: Proposal, text: str) -> Proposal:
    """The proposal with another text of its artifact."""
    return lifecycle.revise(building.scope(role="author"), made.id, Change(artifact=text), now=timezone.now())


@pytest.mark.engines
def test_a_row_and_the_page_of_its_proposal_say_one_size_of_the_change(ada: Client) -> None:
    building.install_agent("acme", {"agentId": "private.acme.clerk", "packVersion": "0.9.0"})
    pack = proposing.propose(text=proposing.agent_pack(), kind="agent-pack")
    porters = proposing.agent_pack({"agentId": "private.acme.porter"}, name="private.acme.porters")
    first_pack = proposing.applied(text=porters, kind="agent-pack")
    first = proposing.applied(text=proposing.artifact(version="1.0.0", text="One.\nTwo.\nThree."))
    second = proposing.applied(text=proposing.artifact(version="2.0.0", text="Two."))
    older = proposing.propose(text=proposing.artifact(version="3.0.0", text="One."))
    revised(older, proposing.artifact(version="3.0.0", text="Four.\nFive."))
    new = proposing.propose(text=proposing.artifact(templateId="desk.new", text="New."))
    revised(new, proposing.artifact(templateId="desk.new", text="Newer.\nNewest."))
    back = lifecycle.propose(building.scope(role="author"), str(first.installed_ref), now=timezone.now())
    for made in (pack, first_pack, first, second, older, new, back):
        listed, shown = change_shown(ada, made)
        assert listed == shown, made.title
    assert change_shown(ada, pack)[0] != change_shown(ada, first_pack)[0], "the clerk was installed on its own already"
    told = json.loads(body_of(ada.get("/proposals?format=json&kind=agent-pack")))["proposals"]
    [row] = [each for each in told if each["id"] == ids.wire("prop", pack.id)]
    assert f"+{row['linesAdded']} -{row['linesRemoved']}" == change_shown(ada, pack)[0]
    few = queries(ada, "/proposals")
    for number in range(3, 6):
        proposing.applied(text=proposing.artifact(version=f"{number}.0.0", text=f"Number {number}."))
        proposing.propose(text=proposing.agent_pack(name=f"private.acme.pack{number}"), kind="agent-pack")
    assert queries(ada, "/proposals") <= few


def test_the_change_of_a_row_follows_what_comes_into_force_meanwhile(ada: Client) -> None:
    made = proposing.propose(text=proposing.artifact(version="2.0.0", text="Two."))
    before = change_shown(ada, made)
    proposing.applied(text=proposing.artifact(version="1.0.0", text="Two."))
    assert change_shown(ada, made) == ("+1 -1", "+1 -1") != before


def test_a_fuller_inbox_needs_no_more_queries_page_file_or_confirmation(ada: Client) -> None:
    inboxes.crowded(10)
    urls = ["/proposals", "/proposals?show=needs-me", "/proposals?gate=waiting&q=a", "/proposals?format=csv"]
    confirm = "/proposals/end?action=reject&" + urlencode({"id": wire(*Proposal.objects.all()[:2])}, doseq=True)
    few = [queries(ada, url) for url in [*urls, confirm]]
    inboxes.crowded(20, quorum=3)
    confirm = "/proposals/end?action=reject&" + urlencode({"id": wire(*Proposal.objects.all()[:20])}, doseq=True)
    many = [queries(ada, url) for url in [*urls, confirm]]
    assert all(more <= fewer for more, fewer in zip(many, few, strict=True)), (few, many)
    assert max(many) <= 35


def queries(browser: Client, url: str) -> int:
    with CaptureQueriesContext(connection) as asked:
        body_of(browser.get(url))
    return len(asked)


def test_the_list_pages_to_its_end_within_its_filter(ada: Client) -> None:
    now = timezone.now()
    for number in range(53):
        inboxes.at(number, now, kind=Kind.AUTOMATION, title=f"a{number}")
    inboxes.at(60, now, title="another kind")
    body = body_of(ada.get("/proposals?kind=automation"))
    assert "<strong>1\u201350</strong> of 53 proposals" in body
    older = re.search(r'class="button" href="([^"]*)"[^>]*>Older', body)
    assert older
    second = body_of(ada.get(older[1].replace("&amp;", "&")))
    assert "<strong>51\u201353</strong> of 53 proposals" in second
    assert rows(second) == ["a2", "a1", "a0"]


def test_the_files_honour_the_filter_and_hold_no_formula(ada: Client) -> None:
    now = timezone.now()
    inboxes.at(1, now, title="=1+1", synthesizer_model="@evil")
    inboxes.at(2, now, kind=Kind.AUTOMATION)
    answer = ada.get("/proposals?kind=prompt-template&format=csv")
    [row] = csv.DictReader(io.StringIO(body_of(answer)))
    assert (row["title"], row["synthesizer"], row["gateState"]) == ("'=1+1", "'@evil", "none")
    assert {"votes", "quorum", "overridden", "linesAdded", "linesRemoved", "duplicateOf"} <= set(row)
    assert json.loads(body_of(ada.get("/proposals?kind=automation&format=json")))["total"] == 1


def test_a_fragment_is_the_list_with_its_filters_and_says_where_it_is(ada: Client) -> None:
    inboxes.at(1, timezone.now())
    answer = ada.get("/proposals?gate=none&q=&age=&show=all", **HTMX)
    body = body_of(answer)
    assert answer["HX-Push-Url"] == "/proposals?gate=none"
    assert "<html" not in body
    assert 'id="inbox"' in body
    assert 'id="formats" hx-swap-oob="true"' in body
    assert 'data-announce="1 proposal"' in body


def test_hostile_words_are_text_wherever_they_stand(ada: Client) -> None:
    now = timezone.now()
    made = [
        inboxes.at(number, now, title=title, synthesizer_model=title[:128].replace("\u202e", ""), agent_id="<i>x</i>")
        for number, title in enumerate(inboxes.HOSTILE, 1)
    ]
    saved_filters.save_filter(scope_of(), "proposals", name="<b>bold</b>", query="state=draft", shared=True, now=now)
    chosen = urlencode({"id": wire(*made), "action": "reject"}, doseq=True)
    for url in ("/proposals", "/proposals?saved=bboldb", f"/proposals/end?{chosen}", "/proposals?q=<script>"):
        body = body_of(ada.get(url))
        assert "<script>alert" not in body
        assert "<img src=x" not in body
        assert "<i>x</i>" not in body
        assert "<b>bold</b>" not in body
        assert "\u202e" not in body
    assert "⟦RLO U+202E⟧" in body_of(ada.get("/proposals"))


def test_four_kinds_of_nothing(ada: Client, sign_in: SignIn, monkeypatch: pytest.MonkeyPatch) -> None:
    shown = body_of(ada.get("/proposals"))
    assert "No proposals yet" in shown
    assert '<details class="facets" hidden>' in shown, "there is nothing to choose"
    assert "Nothing matches" in body_of(ada.get("/proposals?kind=automation"))
    assert "Nothing waits for your vote" in body_of(ada.get("/proposals?show=needs-me"))
    silent = body_of(sign_in(role="author").get("/proposals?show=needs-me"))
    assert "You have no vote here" in silent
    assert "approvals:respond" in silent
    answer = sign_in(role="auditor").get("/proposals")
    assert answer.status_code == 403
    assert "proposals:read" in body_of(answer)
    monkeypatch.setattr(registrations, "_provided", [lambda: {"agents": {}}])
    assert "agents.proposals" in body_of(ada.get("/proposals"))


def save(browser: Client, **form: Any) -> Any:
    return browser.post("/proposals/filters", {"name": "Stale ones", "query": "gate=expired&state=draft", **form})


def test_a_saved_filter_is_kept_shown_by_its_slug_and_removed(ada: Client) -> None:
    now = timezone.now()
    inboxes.gate_over(inboxes.at(1, now - timedelta(days=30), title="late"), now=now - timedelta(days=29))
    inboxes.at(2, now)
    asked = body_of(ada.get("/proposals/filters?gate=expired&state=draft"))
    assert "Approval: expired" in asked
    assert save(ada)["Location"] == "/proposals?saved=stale-ones"
    body = body_of(ada.get("/proposals?saved=stale-ones"))
    assert rows(body) == ["late"]
    assert "yours alone" in body
    assert 'href="/proposals?saved=stale-ones" aria-current="page"' in body
    assert json.loads(body_of(ada.get("/proposals?saved=stale-ones&format=json")))["total"] == 1
    kept = SavedFilter.objects.get()
    gone = ada.post(f"/proposals/filters/flt_{kept.id.hex}/remove", {"next": "/proposals?gate=expired"})
    assert gone["Location"] == "/proposals?gate=expired"
    assert not SavedFilter.objects.exists()
    assert ada.get("/proposals?saved=stale-ones").status_code == 404


def test_a_shared_filter_is_used_by_others_and_removed_by_its_owner_alone(ada: Client, sign_in: SignIn) -> None:
    ben, stranger = sign_in(role="viewer"), sign_in("globex")
    save(ada, shared="on")
    save(ada, name="Hers alone")
    body = body_of(ben.get("/proposals?saved=stale-ones"))
    assert "ada.owner@acme.example" in body
    assert "Remove the saved filter" not in body
    assert "Hers alone" not in body
    assert ben.get("/proposals?saved=hers-alone").status_code == 404
    shared, alone = (SavedFilter.objects.get(name=name) for name in ("Stale ones", "Hers alone"))
    assert ben.post(f"/proposals/filters/flt_{shared.id.hex}/remove").status_code == 403
    assert ben.post(f"/proposals/filters/flt_{alone.id.hex}/remove").status_code == 404
    assert stranger.get("/proposals?saved=stale-ones").status_code == 404
    assert stranger.post(f"/proposals/filters/flt_{shared.id.hex}/remove").status_code == 404
    assert ben.post("/proposals/filters/flt_x/remove").status_code == 404
    assert SavedFilter.objects.count() == 2


def test_of_two_filters_with_one_slug_each_is_reached(ada: Client, sign_in: SignIn) -> None:
    ben = sign_in(role="viewer")
    save(ada, shared="on", query="state=draft")
    save(ben, query="state=applied")
    body = body_of(ben.get("/proposals"))
    assert 'href="/proposals?saved=stale-ones"' in body
    assert 'href="/proposals?state=draft"' in body
    assert "State: applied" in body_of(ben.get("/proposals?saved=stale-ones"))


def test_a_filter_that_cannot_be_saved_says_why(ada: Client) -> None:
    for form, words in [
        ({"name": ""}, "Name: is required"),
        ({"name": "x" * 65}, "at most 64 characters"),
        ({"name": "!!!"}, "needs a letter or a digit"),
        ({"name": "a\x00b"}, "holds a NUL"),
        ({"query": ""}, "There is no filter to save"),
        ({"query": "show=all&after=prop_1&format=csv"}, "There is no filter to save"),
        ({"query": urlencode({"synthesizer": ["m" * 100 + str(n) for n in range(12)]}, doseq=True)}, "too long"),
    ]:
        answer = save(ada, **form)
        assert answer.status_code == 422, form
        assert words in body_of(answer), form
        assert not SavedFilter.objects.exists(), form


def test_a_name_in_any_alphabet_makes_a_slug_and_the_same_name_replaces(ada: Client) -> None:
    save(ada, name="Überfällig")
    answer = save(ada, name="überfällig", query="gate=waiting")
    assert answer.status_code == 302
    assert SavedFilter.objects.get().query == "gate=waiting"
    assert ada.get(answer["Location"]).status_code == 200


def test_nobody_keeps_filters_without_end(ada: Client) -> None:
    me = scope_of()
    for number in range(saved_filters.MOST):
        saved_filters.save_filter(
            me, "proposals", name=f"f{number}", query="state=draft", shared=False, now=timezone.now()
        )
    answer = save(ada, name="one more")
    assert answer.status_code == 422
    assert "remove one first" in body_of(answer)


def test_several_are_rejected_after_a_page_that_says_what_happens(ada: Client) -> None:
    now = timezone.now()
    made = [inboxes.at(number, now, title=f"p{number}") for number in range(1, 4)]
    gate = inboxes.gate_over(made[0], now=now)
    page = ada.get("/proposals/end", {"action": "reject", "id": wire(*made)})
    shown = body_of(page)
    assert "Reject 3 proposals" in shown
    assert "the approval request for revision 1 is cancelled" in shown
    assert states(*made) == ["draft"] * 3
    form = page.context["form"].initial
    refused = ada.post("/proposals/end", form | {"reason": ""})
    assert (refused.status_code, "<title>Error: Reject 3 proposals" in body_of(refused)) == (422, True)
    assert states(*made) == ["draft"] * 3
    answer = ada.post("/proposals/end", form | {"reason": "not this quarter"}, follow=True)
    assert "3 proposals are rejected" in body_of(answer)
    assert states(*made) == ["rejected"] * 3
    assert {proposing.fresh(each).closing_reason for each in made} == {"not this quarter"}
    gate.refresh_from_db()
    assert gate.state == "cancelled"


def test_all_or_none_and_each_that_stands_in_the_way_says_why(ada: Client) -> None:
    now = timezone.now()
    fine, other = inboxes.at(1, now, title="fine"), inboxes.at(2, now, title="other")
    page = ada.get("/proposals/end", {"action": "reject", "id": wire(fine, other)})
    lifecycle.archive(building.scope(), other.id, reason="old", now=now)
    answer = ada.post("/proposals/end", page.context["form"].initial | {"reason": "no"})
    shown = body_of(answer)
    assert answer.status_code == 409
    assert "Nothing was changed" in shown
    assert "Proposal is archived; reject is not allowed." in shown
    assert states(fine, other) == ["draft", "archived"]
    left = re.search(r'href="(/proposals/end[^"]*)">Leave this one out', shown)
    assert left
    fewer = ada.get(left[1].replace("&amp;", "&"))
    assert ada.post("/proposals/end", fewer.context["form"].initial | {"reason": "no"}).status_code == 302
    assert states(fine, other) == ["rejected", "archived"]


def test_the_page_before_says_so_too_and_offers_those_that_can_be(ada: Client) -> None:
    now = timezone.now()
    fine, applied = inboxes.at(1, now, title="fine"), proposing.applied()
    missing = ids.wire("prop", ids.new_id())
    page = ada.get("/proposals/end", {"action": "archive", "id": [*wire(fine, applied), missing]})
    shown = body_of(page)
    assert "Go on with the 1 that can be" in shown
    assert "Proposal is applied; archive is not allowed." in shown
    assert "There is no proposal by that id." in shown
    assert 'name="reason"' not in shown


def test_all_that_match_are_carried_as_they_were_and_a_changed_world_is_a_conflict(ada: Client) -> None:
    now = timezone.now()
    made = [inboxes.at(number, now, title=f"p{number}") for number in range(53)]
    body = body_of(ada.get("/proposals?state=draft"))
    assert "All 53 that match instead" in body
    every = re.search(r'name="every" value="([^"]+)"', body)
    assert every
    page = ada.get("/proposals/end", {"action": "archive", "every": every[1], "id": wire(made[0])})
    assert "Archive 53 proposals" in body_of(page)
    came = inboxes.at(99, now, title="a newcomer")
    lifecycle.reject(building.scope(), made[0].id, reason="no", now=now)
    for answer in (
        ada.post("/proposals/end", page.context["form"].initial | {"reason": "old"}),
        ada.get("/proposals/end", {"action": "archive", "every": every[1]}),
    ):
        shown = body_of(answer)
        assert answer.status_code == 409
        assert "a newcomer" in shown
        assert "matches now, and was not among those you chose" in shown
        assert "was chosen, and does not match any more" in shown
    assert Proposal.objects.filter(state="archived").count() == 0
    again = re.search(r'href="(/proposals/end[^"]*)">Take the 53 that match now', shown)
    assert again
    page = ada.get(again[1].replace("&amp;", "&"))
    done = ada.post("/proposals/end", page.context["form"].initial | {"reason": "old"})
    assert done["Location"] == "/proposals?state=draft"
    assert states(came, made[0], made[1]) == ["archived", "rejected", "archived"]


def test_the_same_number_but_others_is_a_changed_world_too() -> None:
    now, ada = timezone.now(), building.scope()
    first = inboxes.at(1, now)
    chosen = bulk_actions.all_matching(ada, InboxFilter(states=("draft",)), now=now)
    assert chosen
    lifecycle.archive(ada, first.id, reason="x", now=now)
    second = inboxes.at(2, now)
    drift = bulk_actions.drift(ada, chosen, now=now)
    assert (drift.came, drift.went) == ([second.id], [first.id])


def test_more_than_can_be_ended_at_once_is_said_in_words(ada: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    now = timezone.now()
    made = [inboxes.at(number, now) for number in range(52)]
    monkeypatch.setattr(bulk_actions, "MOST", 51)
    body = body_of(ada.get("/proposals"))
    assert "52 match; at most 51 are ended at once." in body
    assert 'name="every"' not in body
    answer = ada.get("/proposals/end", {"action": "reject", "id": wire(*made)})
    assert answer.status_code == 422
    assert "At most 51 proposals are ended at once" in body_of(answer)


def test_a_selection_that_is_none_is_refused(ada: Client) -> None:
    [made] = wire(inboxes.at(1, timezone.now()))
    for query in [
        {"id": "x"},
        {"id": "run_1"},
        {"chosen": "forged"},
        {"every": "a:b:c"},
        {"chosen": bulk_actions.seal(scope_of(), bulk_actions.select_ids([made])), "action": "apply"},
        {"action": "apply"},
        {"action": ""},
    ]:
        given = {"action": "reject", **({"id": made} if "action" in query else {}), **query}
        assert ada.get("/proposals/end", given).status_code == 422, query
        assert ada.post("/proposals/end", given | {"reason": "x"}).status_code == 422, query


def test_with_nothing_chosen_the_list_one_came_from_says_so(ada: Client) -> None:
    inboxes.at(1, timezone.now())
    for place, back in [
        ("/proposals?kind=automation&after=x", "/proposals?kind=automation&after=x"),
        ("https://evil.example/proposals", "/proposals"),
        ("//evil.example", "/proposals"),
        ("", "/proposals"),
    ]:
        for send in (ada.get, ada.post):
            answer = send("/proposals/end", {"action": "reject", "next": place}, follow=True)
            assert answer.redirect_chain == [(back, 302)], place
            assert "Choose at least one proposal." in body_of(answer), place
        assert 'name="next" value="/proposals?kind=prompt-template"' in body_of(
            ada.get("/proposals?kind=prompt-template")
        ), place


def test_facets_and_chips_call_things_by_the_words_of_rows_and_of_the_api(ada: Client) -> None:
    inboxes.at(1, timezone.now())
    shown = body_of(ada.get("/proposals?kind=prompt-template&state=draft"))
    assert ">prompt-template</span><small>prompts</small>" in shown
    assert "<span>Kind: prompt-template</span>" in shown
    assert "<span>State: draft</span>" in shown
    assert "Synthesizer" in shown
    assert "Synthesiser" not in shown


def test_a_selection_is_its_owners_and_tenants_alone(ada: Client, sign_in: SignIn) -> None:
    made = inboxes.at(1, timezone.now())
    sealed = bulk_actions.seal(scope_of(), bulk_actions.select_ids(wire(made)))
    form = {"action": "reject", "chosen": sealed, "reason": "mine now"}
    assert sign_in(role="operator").post("/proposals/end", form).status_code == 422
    globex = sign_in("globex")
    assert globex.post("/proposals/end", form).status_code == 422
    answer = globex.get("/proposals/end", {"action": "reject", "id": wire(made)})
    assert "There is no proposal by that id." in body_of(answer)
    assert body_of(globex.get("/proposals")).count("data-item") == 0
    assert states(made) == ["draft"]


def test_who_may_not_end_proposals_has_no_boxes_and_is_refused(sign_in: SignIn) -> None:
    made = inboxes.at(1, timezone.now())
    viewer, author = sign_in(role="viewer"), sign_in(role="author")
    assert "data-check" not in body_of(viewer.get("/proposals"))
    shown = body_of(author.get("/proposals"))
    assert 'value="archive"' in shown
    assert 'value="reject"' not in shown
    query = {"action": "reject", "id": wire(made)}
    assert author.get("/proposals/end", query).status_code == 403
    sealed = bulk_actions.seal(scope_of("ada.author@acme.example"), bulk_actions.select_ids(wire(made)))
    assert author.post("/proposals/end", {"action": "reject", "chosen": sealed, "reason": "x"}).status_code == 403
    assert states(made) == ["draft"]


def test_the_host_looks_for_proposals_when_asked_and_says_what_came(ada: Client, sign_in: SignIn) -> None:
    assert "No scan of the runs yet" in body_of(ada.get("/proposals"))
    assert ada.post("/proposals/look").status_code == 302
    assert Pass.objects.get().kind == "synthesize"
    shown = body_of(ada.get("/proposals"))
    assert "waiting for a worker" in shown
    assert ada.get("/proposals/look", **HTMX).status_code == 200
    assert ada.get("/proposals/look").status_code == 302
    carried_out()
    over = ada.get("/proposals/look", **HTMX)
    assert over.status_code == 286
    assert "0 new" in body_of(over)
    viewer = sign_in(role="viewer")
    assert "Scan runs" not in body_of(viewer.get("/proposals"))
    assert viewer.post("/proposals/look").status_code == 403


def carried_out() -> None:
    work = Pass.objects.get()
    tasks.synthesize(work.tenant_id.hex, work.id.hex)
