"""Entries of OpenIntent on the console's pages: where they have their place, who wrote them, and what stays sealed."""

import csv
import io
import json
import re
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from memory import external_runs, origins
from memory.addresses import Address, Tier
from memory.commitments import inference
from memory.entry_drafts import EntryDraft
from memory.host import ids, sql
from memory.host.models import AuditRecord, Run
from memory.ledger.entries import AddressedValue
from memory.models import Commitment
from memory.openintent import entries, work
from memory.openintent.access import Caller
from memory.openintent.work.rows import NewIntent, NewTask, TaskChange
from memory.passes import orders
from tests import building
from tests.pages.conftest import HTMX, SignIn, body_of
from tests.tampering import tamper

pytestmark = pytest.mark.django_db
PROTECTED = 'title="No pass removes it"'
SECRET = "PELICAN-4711"


def remember(
    key: str = "progress",
    value: dict[str, Any] | None = None,
    *,
    slug: str = "acme",
    tags: tuple[str, ...] = (),
    **more: Any,
) -> str:
    """The id of an entry that billing-01 has made over OpenIntent."""
    place = {"tier": Tier.EPISODIC, "agent_id": "billing-01", "namespace": "invoices", "key": key, **more}
    given = AddressedValue(Address(**place), {"total": 47} if value is None else value, tags)
    made = entries.create(Caller(building.scope(slug), place["agent_id"]), given, now=timezone.now())
    return ids.wire("mem", made.id)


def page(browser: Client, mem_id: str) -> str:
    answer = browser.get(f"/memory/{mem_id}")
    assert answer.status_code == 200
    return body_of(answer)


def rows_of(browser: Client, query: str = "") -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(body_of(browser.get(f"/memory?format=json&{query}")))["entries"]
    return found


def test_the_list_says_tier_namespace_key_version_and_what_is_special(ada: Client) -> None:
    remember(pinned=True, priority="high", sensitivity="internal")
    shown = body_of(ada.get("/memory"))
    for word in ("episodic", "v1", "pinned", "high priority", "internal", "billing-01", "over OpenIntent"):
        assert word in shown, word
    assert "<bdi>invoices</bdi>&nbsp;/&nbsp;<bdi>progress</bdi>" in shown
    assert "sealed" not in shown.split("<tbody>")[1]
    remember(key="usual")
    assert "normal priority" not in body_of(ada.get("/memory"))


def test_the_list_shows_a_value_in_words_and_what_is_not_one_as_it_is_stored(ada: Client) -> None:
    remember("order", value={"b": [1, {"deep": "<x>"}], "a": 'due "soon"'})
    remember("empty", value={})
    shown = body_of(ada.get("/memory"))
    assert "a: due &quot;soon&quot;; b: 1, deep: &lt;x&gt;" in shown
    assert ">{}</a>" in shown
    tamper("UPDATE memory_memoryentry SET content = '{not json' WHERE content = '{}'", table="memory_memoryentry")
    assert "{not json" in body_of(ada.get("/memory"))


@pytest.mark.engines
def test_an_entry_whose_stored_value_is_none_any_more_is_shown_as_changed_everywhere(ada: Client) -> None:
    changed, whole = remember(), remember("other")
    headers = building.headers() | {"HTTP_X_AGENT_ID": "billing-01"}
    in_a_list = "/api/v1/memory?namespace=invoices&tier=episodic"
    for stored in ("{", "", "[1]", '{"a": "\\ud800"}', "[" * 100_000):
        row_id = sql.key(building.id_of("mem", changed))
        tamper("UPDATE memory_memoryentry SET content = %s WHERE id = %s", stored, row_id, table="memory_memoryentry")
        assert "it was changed in the database" in page(ada, changed)
        for path in (f"/api/v1/memory/{changed}", f"/api/v1/memory/{whole}", in_a_list):
            assert ada.get(path, **headers).status_code == 200, (path, stored[:9])
        listed = json.loads(body_of(ada.get(in_a_list, **headers)))["entries"]
        assert {each["id"]: "value_unreadable" in each for each in listed} == {changed: True, whole: False}


def test_an_entry_of_a_run_has_none_of_these_badges(ada: Client) -> None:
    building.remember("acme", "plain")
    shown = body_of(ada.get("/memory")).split("<tbody>")[1]
    assert "over OpenIntent" not in shown
    assert 'class="badge' not in shown.split("</td>")[0].replace('class="badges"', "")


def test_a_row_of_one_line_tells_an_agent_and_a_stated_node_from_a_node_of_this_host(ada: Client) -> None:
    owner, now = building.scope(), timezone.now()
    stated = origins.of_document({"system": "crew", "node": "plan"})
    made = {
        "": ids.wire("mem", building.write(owner, building.open_run(owner), "observed", node_id="triage").id),
        "agent, over OpenIntent: ": remember(),
        "stated by the agent: ": ids.wire(
            "mem", external_runs.write_entry(owner, "notes", EntryDraft("elsewhere"), stated, now=now).id
        ),
    }
    for url in ("/memory", "/memory/selected?action=retire&" + "&".join(f"id={each}" for each in made.values())):
        shown = body_of(ada.get(url))
        for (mark, mem_id), name in zip(made.items(), ("triage", "billing-01", "plan"), strict=True):
            row = next(each for each in shown.split("<tr data-item") if f"/memory/{mem_id}" in each)
            cell = row.partition('data-label="Written by">')[2].partition("</td>")[0]
            said = re.search(r"<code>(.*?)</code>", cell)
            assert said is not None, (url, name)
            assert re.sub(r'<svg[^>]* aria-label="([^"]*)".*?</svg>', r"\1", said[1]) == f"{mark}{name}", url
    openintent = page(ada, made["agent, over OpenIntent: "])
    assert '<span class="faint">none: over OpenIntent</span>' in openintent
    assert '<text x="0" y="26">agent</text>' in openintent
    assert '<text x="0" y="26">node stated</text>' in page(ada, made["stated by the agent: "])
    assert '<text x="0" y="26">node</text>' in page(ada, made[""])


def test_the_list_is_narrowed_by_what_an_address_says(ada: Client) -> None:
    building.remember("acme", "of a run")
    remember("own")
    remember("secret", sensitivity="restricted")
    remember("shared", tier=Tier.SEMANTIC, namespace="prices")
    for query, found in [
        ("tier=semantic", {"shared"}),
        ("tier=episodic", {"own", "secret"}),
        ("namespace=prices", {"shared"}),
        ("sensitivity=restricted", {"secret"}),
        ("tier=episodic&namespace=invoices&sensitivity=restricted", {"secret"}),
        ("tier=working", set()),
        ("tier=nonsense", set()),
    ]:
        assert {row["address"]["key"] for row in rows_of(ada, query)} == found, query
        shown = body_of(ada.get(f"/memory?{query}"))
        assert all(f"<bdi>{key}</bdi>" in shown for key in found), query
        assert "of a run" not in shown, query


def test_the_filters_are_on_offer_and_the_shared_namespaces_with_them(ada: Client) -> None:
    remember("shared", tier=Tier.SEMANTIC, namespace="prices")
    shown = body_of(ada.get("/memory?tier=semantic&sensitivity=public&namespace=prices"))
    assert '<option value="prices"></option>' in shown
    assert 'name="tier" value="semantic" checked' in shown
    assert 'name="sensitivity" value="public" checked' in shown
    assert 'name="namespace" value="prices"' in shown


def test_files_have_the_address_and_a_table_has_it_in_columns(ada: Client) -> None:
    mem_id = remember(priority="low", sensitivity="confidential", value={"iban": SECRET})
    building.remember("acme", "of a run")
    of_a_run, row = rows_of(ada)
    assert "address" not in of_a_run
    assert (row["id"], row["content"]) == (mem_id, '{"sealed": "confidential"}')
    expected = {"tier": "episodic", "key": "progress", "version": 1, "priority": "low", "sealed": True, "pinned": False}
    assert row["address"].items() >= {**expected, "namespace": "invoices", "sensitivity": "confidential"}.items()
    table = list(csv.DictReader(io.StringIO(body_of(ada.get("/memory?format=csv")))))
    assert [each["tier"] for each in table] == ["", "episodic"]
    assert table[1]["key"] == "progress"
    assert SECRET not in json.dumps(table)


def test_the_entry_shows_its_value_indented_and_as_it_is_stored(ada: Client) -> None:
    shown = page(ada, remember(value={"b": [1, {"deep": "x"}], "a": "<b>bold</b> \u202ertl"}))
    assert "&quot;b&quot;: [\n    1,\n" in shown
    assert "&lt;b&gt;bold&lt;/b&gt; ⟦RLO U+202E⟧rtl" in shown
    assert "<b>bold" not in shown
    assert "As it is stored" in shown
    assert "{&quot;a&quot;:&quot;&lt;b&gt;bold" in shown


def test_the_entry_tells_its_address_and_which_agent_wrote_it(ada: Client) -> None:
    shown = page(ada, remember(ttl="task_lifetime", task_id="T-1", tier=Tier.WORKING))
    assert "verdict-agent" in shown
    assert "Agent <code>billing-01</code>, over OpenIntent" in shown
    assert "Host writer" not in shown
    facts = shown.split('id="address"')[1]
    for word in ("working", "invoices", "progress", "T-1", "task_lifetime"):
        assert word in facts, word


def test_after_a_change_the_last_writer_is_named_and_the_text_is_unchanged_since(ada: Client) -> None:
    mem_id = remember()
    caller = Caller(building.scope(), "helper-02")
    entries.update(caller, ids.parse("mem", mem_id), 1, {"value": {"total": 48}}, now=timezone.now())
    shown = page(ada, mem_id)
    assert "Agent <code>helper-02</code>, over OpenIntent" in shown
    assert "The last of 2 writes" in shown
    assert ">v2<" in shown
    assert "unchanged" in shown


def test_a_long_history_is_cut_on_the_page_and_whole_in_the_file(ada: Client) -> None:
    mem_id, caller = remember(), Caller(building.scope(), "billing-01")
    for version in range(1, 60):
        entries.update(caller, ids.parse("mem", mem_id), version, {"value": {"n": version}}, now=timezone.now())
    shown = page(ada, mem_id)
    assert "The last 50 of 60" in shown
    told = json.loads(ada.get(f"/memory/{mem_id}?format=json").content)["provenance"]
    assert len(told["writes"]) == 60


def test_a_sealed_value_is_on_no_page_and_in_no_file(ada: Client) -> None:
    mem_id = remember(value={"iban": SECRET}, sensitivity="confidential")
    run_id = ids.wire("run", Run.objects.get(system=True, workflow_id="openintent-agent").id)
    for url in (f"/memory/{mem_id}", "/memory", "/memory?format=csv", "/memory?format=json", f"/runs/{run_id}"):
        assert SECRET not in body_of(ada.get(url)), url
    shown = page(ada, mem_id)
    assert "Show the value" in shown
    assert "its writer marked it confidential" in shown


def test_no_search_finds_a_sealed_value_but_its_key(ada: Client) -> None:
    mem_id = remember("account", value={"iban": SECRET}, sensitivity="confidential")
    assert rows_of(ada, f"q={SECRET}") == []
    assert [row["id"] for row in rows_of(ada, "q=account")] == [mem_id]


def test_who_may_retire_is_shown_the_value_once_and_it_is_on_record(ada: Client) -> None:
    mem_id = remember(value={"iban": SECRET}, sensitivity="restricted")
    answer = ada.post(f"/memory/{mem_id}/reveal")
    assert answer.status_code == 200
    assert SECRET in body_of(answer)
    assert answer["Cache-Control"] == "private, no-store"
    record = AuditRecord.objects.get(action="memory.revealed")
    assert (record.target, record.details) == (mem_id, {})
    assert SECRET not in page(ada, mem_id)


def test_nobody_else_is_shown_it_and_the_page_says_why(sign_in: SignIn) -> None:
    mem_id = remember(value={"iban": SECRET}, sensitivity="restricted")
    for role in ["viewer", "author", "reviewer", "auditor"]:
        browser = sign_in(role=role)
        answer = browser.post(f"/memory/{mem_id}/reveal")
        assert answer.status_code == 403, role
        assert SECRET not in body_of(answer), role
        assert not AuditRecord.objects.filter(action="memory.revealed").exists(), role
        shown = browser.get(f"/memory/{mem_id}")
        assert shown.status_code == 403 or "Needs the permission" in body_of(shown), role


def test_a_value_is_not_shown_by_a_link_nor_to_another_tenant(ada: Client, sign_in: SignIn) -> None:
    mem_id = remember(value={"iban": SECRET}, sensitivity="restricted")
    assert ada.get(f"/memory/{mem_id}/reveal").status_code == 405
    gil = sign_in("globex")
    assert gil.post(f"/memory/{mem_id}/reveal").status_code == 404
    assert gil.get(f"/memory/{mem_id}").status_code == 404
    assert rows_of(gil, "tier=episodic") == []


def test_a_restored_entry_whose_key_is_taken_says_so_on_the_page(ada: Client) -> None:
    mem_id = remember()
    ada.post(f"/memory/{mem_id}/retire", {"reason": "wrong"})
    remember()
    answer = ada.post(f"/memory/{mem_id}/restore")
    assert answer.status_code == 409
    assert "Another entry has its key" in body_of(answer)
    assert rows_of(ada, "state=retired")[0]["id"] == mem_id


def test_it_is_retired_restored_and_protected_like_any_other(ada: Client) -> None:
    mem_id = remember()
    ada.post(f"/memory/{mem_id}/retire", {"reason": "wrong"})
    assert [row["id"] for row in rows_of(ada, "state=retired")] == [mem_id]
    assert "released" in page(ada, mem_id)
    ada.post(f"/memory/{mem_id}/restore")
    assert PROTECTED not in page(ada, mem_id)
    ada.post(f"/memory/{mem_id}/protect")
    assert PROTECTED in page(ada, mem_id)


def queries_of(browser: Client, url: str) -> int:
    browser.get(url)
    with CaptureQueriesContext(
        connection,
    ) as asked:
        body_of(browser.get(url))
    return len(asked)


def test_pages_ask_the_same_number_of_questions_however_many_entries_they_show(ada: Client) -> None:
    mem_id = remember("0")
    run_id = ids.wire("run", Run.objects.get(system=True, workflow_id="openintent-agent").id)
    urls = ("/memory", f"/runs/{run_id}", "/runs", f"/memory/{mem_id}", "/memory?tier=episodic")
    before = [queries_of(ada, url) for url in urls]
    for number in range(1, 20):
        remember(str(number))
        remember("k", agent_id=f"agent-{number}")
    assert [queries_of(ada, url) for url in urls] == before


def test_the_log_of_an_agent_has_a_name_and_tells_what_happened(ada: Client, sign_in: SignIn) -> None:
    mem_id = remember(tags=("batch",))
    leaked = building.scope()
    entries.delete(Caller(leaked, "billing-01"), ids.parse("mem", remember("other")), None, now=timezone.now())
    run_id = ids.wire("run", Run.objects.get(system=True, workflow_id="openintent-agent").id)
    assert "Agent billing-01, over OpenIntent" in body_of(ada.get("/runs"))
    shown = body_of(ada.get(f"/runs/{run_id}"))
    assert "Agent billing-01, over OpenIntent" in shown
    for word in ("openintent.memory.created", "openintent.memory.deleted", "<bdi>invoices</bdi>", "<bdi>other</bdi>"):
        assert word in shown, word
    assert f'href="/memory/{mem_id}"' in shown
    assert shown.count("with</span>") == 3, "each of the three was done with a key"
    assert f'href="/memory?by={leaked.principal.id}"' in shown, "what else it wrote is a link away"
    assert "every 1s" not in shown
    assert "In progress." not in shown
    ada.post(f"/memory/{mem_id}/retire", {"reason": "out of date"})
    retired = body_of(ada.get(f"/runs/{run_id}"))
    assert "out of date" in retired
    assert retired.count("with</span>") == 3, "who retires an entry acts with no key"
    assert sign_in("globex").get(f"/runs/{run_id}").status_code == 404


def test_the_log_of_a_key_that_names_no_agent_has_the_name_of_the_key(ada: Client) -> None:
    text = building.key("acme", "agent", name="ci-bot")
    body = json.dumps({"namespace": "ns", "key": "k", "value": {"a": 1}})
    answer = Client().post("/api/v1/memory", body, content_type="application/json", HTTP_X_API_KEY=text)
    assert answer.status_code == 201
    assert "ci-bot, over OpenIntent" in body_of(ada.get("/runs"))


def test_an_earlier_write_is_not_shown_with_what_a_later_one_says(ada: Client) -> None:
    mem_id = remember(value={"text": "pay the baker"})
    caller = Caller(building.scope(name="leaked"), "billing-01")
    entries.update(caller, ids.parse("mem", mem_id), 1, {"value": {"text": "pay Zebra Trading"}}, now=timezone.now())
    run_id = ids.wire("run", Run.objects.get(system=True, workflow_id="openintent-agent").id)
    shown = body_of(ada.get(f"/runs/{run_id}"))
    assert (shown.count("pay Zebra Trading"), shown.count("Written again since")) == (1, 1)
    assert shown.index("Written again since") < shown.index("pay Zebra Trading")


def test_a_fragment_of_the_list_has_the_badges_too(ada: Client) -> None:
    remember()
    assert "over OpenIntent" in body_of(ada.get("/memory?tier=episodic", **HTMX))


def test_what_a_pass_takes_away_is_hidden_and_restoring_gives_the_key_back(ada: Client) -> None:
    value = {"text": "The refund of Acme Labs takes five working days after the approval."}
    both = {remember("first", value), remember("second", value)}
    order = {"kind": "compact", "ref": "openintent/episodic/billing-01"}
    answer = ada.post("/consolidation/order", order)
    assert answer.status_code == 302
    pass_id = ids.parse("pass", answer["Location"].rpartition("/")[2])
    tenant_id = building.scope().tenant_id
    assert pass_id is not None
    done = orders.run_pass(tenant_id, pass_id, holder="test/1", clock=timezone.now)
    assert done
    assert done.state == "done"
    taken = {row["id"] for row in rows_of(ada, "state=retired")}
    assert taken == both
    away = taken.pop()
    assert ada.post(f"/memory/{away}/restore").status_code == 302
    assert away in {row["id"] for row in rows_of(ada, "tier=episodic")}


def test_no_page_lets_a_pass_go_over_working_memory(ada: Client) -> None:
    remember(tier=Tier.WORKING)
    for url, body in [
        ("/consolidation/order", {"kind": "consolidate"}),
        ("/consolidation/order", {"kind": "compact"}),
        ("/consolidation/schedules", {"times-kind": "consolidate", "times-cron": "0 3 * * *"}),
        ("/archives/distill", {}),
    ]:
        name = "times-ref" if "schedules" in url else "ref"
        answer = ada.post(url, {**body, name: "openintent/working/billing-01/-"})
        assert answer.status_code == 422, url
        assert "working memory of OpenIntent" in body_of(answer), url


def test_what_an_agent_intends_in_a_text_of_its_value_becomes_a_commitment() -> None:
    remember("count", value={"todo": 9, "at": "2026-12-01"})
    tenant_id = building.scope().tenant_id
    inference.read_next(tenant_id, now=timezone.now())
    assert not Commitment.objects.of(tenant_id).exists()
    remember("todo", value={"todo": "Remind Ana tomorrow at nine to call the bank."})
    inference.read_next(tenant_id, now=timezone.now())
    assert Commitment.objects.of(tenant_id).count() == 1


def test_the_page_of_a_log_links_to_what_was_archived_and_to_what_is_long(ada: Client, sign_in: SignIn) -> None:
    """A page of 2,000 events would be as many megabytes otherwise."""
    scope, now = building.scope(), timezone.now()
    intent = work.intents.create_intent(scope, NewIntent("Invoices"), actor="billing-01", now=now)
    log = ids.wire("intent", intent.id)
    work.intents.log_event(scope, log, "comment", {"text": "HERON " * 1_000}, actor="billing-01", now=now)
    work.intents.log_event(scope, log, "comment", {"text": "a short word"}, actor="billing-01", now=now)
    task = work.tasks.create_task(scope, NewTask(log, "Send"), actor="billing-01", now=now)
    for status in ("running", "completed"):
        change = TaskChange(status=status, assigned_agent="billing-01")
        task = work.tasks.update_task(
            scope, ids.wire("task", task.id), change, version=task.version, actor="billing-01", now=now
        )
        if status == "running":
            remember("k", {"v": "BITTERN"}, tier=Tier.WORKING, task_id=ids.wire("task", task.id), intent_id=log)
    url = f"/runs/{ids.wire('run', intent.id)}"
    shown = body_of(ada.get(url))
    assert "a short word" in shown
    assert "HERON" not in shown
    assert "BITTERN" not in shown
    links = re.findall(rf'href="({url}/events/\d+)"', shown)
    assert len(links) == 2
    assert [("HERON" in told, "BITTERN" in told) for told in (body_of(ada.get(link)) for link in links)] == [
        (True, False),
        (False, True),
    ]
    assert ada.get(f"{links[1]}?format=json").json()["note"]["snapshot"][0]["value"] == {"v": "BITTERN"}
    assert "1 entry, as they were" in body_of(ada.get(links[1]))
    assert ada.get(f"{url}/events/99").status_code == 404
    assert sign_in("globex").get(links[0]).status_code == 404


def test_a_sealed_value_is_called_so_in_the_list_and_on_the_log(ada: Client) -> None:
    remember("iban", {"iban": SECRET}, sensitivity="confidential")
    run_id = ids.wire("run", Run.objects.get(system=True, workflow_id="openintent-agent").id)
    for url in ("/memory", f"/runs/{run_id}"):
        shown = body_of(ada.get(url))
        assert "A sealed value" in shown
        assert "{&quot;sealed" not in shown
