"""The audit page: a range is verified, checkpoints are shown and taken away, and looking leaves a trace."""

import csv
import hashlib
import io
import json
import re
from contextvars import copy_context
from datetime import timedelta
from html import unescape
from typing import Any

import pytest
import rfc8785
from django.core.management import call_command
from django.db import connection
from django.test import Client
from django.utils import timezone

from memory import ledger
from memory.host import access, audit, audit_chain, ids, pages
from memory.host.models import AuditRecord, Interrupt
from memory.host.models.audit import RESULTS
from memory.models import Namespace
from memory.openintent import namespaces
from memory.openintent.access import Caller
from memory.openintent.namespaces import Permissions
from openwop_console.management.commands.qcluster import _begin_task
from tests import building, proposing
from tests.memory.test_forgetting import MARTA, forget
from tests.pages.conftest import SignIn, body_of, standing
from tests.tampering import tamper

pytestmark = pytest.mark.django_db


def verify(browser: Client, **given: object) -> str:
    return body_of(browser.post("/audit/verify", given, follow=True))


def grow(number: int) -> None:
    for _ in range(number):
        audit.append(building.tenant().id, actor="host", action="act", now=timezone.now())


def test_a_range_is_verified_and_the_whole_is_what_the_header_remembers(ada: Client) -> None:
    grow(9)
    audit_chain.make_checkpoint(building.tenant().id, now=timezone.now())
    shown = verify(ada, first=2, last=5)
    assert "The chain is intact: 4 records were read and every hash fits." in shown
    assert "Chain not verified" in shown
    shown = verify(ada)
    assert "and 1 signed checkpoint covers them" in shown
    assert "Chain verified" in shown


def test_a_break_in_the_range_names_the_record_and_both_hashes(ada: Client) -> None:
    grow(9)
    before = AuditRecord.objects.of(building.tenant().id).get(seq=4).entry_hash
    tamper("UPDATE host_auditrecord SET actor = 'mallory' WHERE seq = 4")
    shown = verify(ada, first=2, last=5)
    assert "The chain breaks at record 4. Expected" in shown
    assert f"found {before}" in shown
    assert "Chain broken" in shown
    assert "The chain is intact" in verify(ada, first=6, last=8)


UNREADABLE = {
    "": ["occurred_at = '20000-01-01 00:00:00+00'", "details = '[1]'", "details = 'null'"],
    "sqlite": [
        "occurred_at = 'x'",
        "actor = X'ff'",
        "actor = CAST(X'ff' AS TEXT)",
        "entry_hash = X'ff'",
        """details = '{"a": "\\ud800"}'""",
        """details = '{"a": 1e999}'""",
        "id = 'none'",
    ],
    "postgresql": ["occurred_at = 'infinity'", "details = ('[' || repeat('[', 5000) || repeat(']', 5001))::jsonb"],
}


@pytest.mark.engines
def test_a_record_that_cannot_be_read_is_shown_as_such_and_hides_no_other(ada: Client) -> None:
    broken: dict[int, str] = {}
    for change in (*UNREADABLE[""], *UNREADABLE[connection.vendor]):
        grow(3)
        at = audit_chain.total(building.tenant().id) - 2
        tamper(f"UPDATE host_auditrecord SET {change} WHERE seq = {at}")
        broken[at] = change
        assert ada.get("/audit").status_code == 200, change
    for path in ("/audit?group=request", "/audit?actor=host", *(f"/audit?actor=host&before={at}" for at in broken)):
        assert ada.get(path).status_code == 200, path
    page = body_of(ada.get("/audit"))
    records = {each["seq"]: each for each in json.loads(body_of(ada.get("/audit?format=json")))["records"]}
    rows = csv.DictReader(io.StringIO(body_of(ada.get("/audit?format=csv"))))
    results = {int(each["seq"]): each["result"] for each in rows}
    told = ada.get("/v1/host/console/audit?limit=50", **building.headers()).json()["records"]
    assert {each["seq"] for each in told if "unreadable" in each} == set(broken)
    for at, change in broken.items():
        row = page.split(f'id="record-{at}"')[1].split("</tr>")[0]
        assert "can't be read" in row, change
        assert records[at].get("unreadable") is True, change
        assert (results[at], results[at - 1], results[at + 1]) == ("unreadable", "allowed", "allowed"), change
        assert f"The chain breaks at record {at}" in verify(ada, first=at, last=at), change
    if connection.vendor == "sqlite":  # whose numbers have no greatest
        tamper("UPDATE host_auditrecord SET seq = 1e300 WHERE seq = 1")
        assert len(body_of(ada.get("/audit?format=csv")).splitlines()) > len(broken)


@pytest.mark.engines
def test_records_are_found_by_their_result_on_the_page_in_files_and_over_the_api(ada: Client) -> None:
    tenant, acts = building.tenant().id, ("run.cancel", "x.denied", "sign_in.failed", "webhook_failed", "mcp.call")
    for action in acts:
        for details in (
            {},
            {"outcome": None},
            {"outcome": "ok"},
            {"outcome": "forbidden"},
            {"outcome": "invalid"},
            {"other": 1},
        ):
            audit.append(tenant, actor="host", action=action, details=details, now=timezone.now())
    program, place = Client(headers={"X-API-Key": building.key("acme", "auditor")}), "/v1/host/console/audit"
    assert [ada.get("/audit").status_code, program.get(place).status_code] == [200, 200]  # looking is on record once
    for result in RESULTS:
        every = AuditRecord.objects.of(tenant).order_by("-seq")
        expected = [record.seq for record in every if record.result == result]
        assert [record.seq for record in audit.newest(tenant, audit.AuditFilter(result=result), limit=99)] == expected
        number = len(expected)
        assert standing(1, number, number, "records") in body_of(ada.get(f"/audit?result={result}"))
        answer = program.get(f"{place}?result={result}&limit=99").json()
        assert [record["seq"] for record in answer["records"]] == expected
    rows = csv.DictReader(io.StringIO(body_of(ada.get("/audit?result=denied&format=csv"))))
    assert {row["result"] for row in rows} == {"denied"}
    assert ada.get("/audit?result=refused").status_code == 400
    assert program.get(f"{place}?result=refused").status_code == 400


def test_a_forged_checkpoint_is_said_to_be_nobody_s(ada: Client) -> None:
    audit_chain.make_checkpoint(building.tenant().id, now=timezone.now())
    tamper("UPDATE host_auditcheckpoint SET signature = 'AAAA'", table="host_auditcheckpoint")
    assert "1 checkpoints carry no signature of this host" in verify(ada)


def test_a_range_that_is_none_stands_on_the_form_with_what_is_wrong(ada: Client) -> None:
    grow(9)
    for given, said in [
        ({"first": 5, "last": 2}, "Record 5 is behind the end of the range, which is 2"),
        ({"first": "x"}, "must be a whole number"),
        ({"first": "-1"}, "must be at least 0"),
    ]:
        answer = ada.post("/audit/verify", given)
        shown = body_of(answer)
        assert answer.status_code == 422, given
        assert "Nothing was verified" in shown, given
        assert said in shown, given


def test_checkpoints_are_shown_and_taken_away_as_a_file_and_that_is_on_record(ada: Client) -> None:
    assert "No checkpoint yet" in body_of(ada.get("/audit"))
    made = audit_chain.make_checkpoint(building.tenant().id, now=timezone.now())
    assert made
    shown = body_of(ada.get("/audit"))
    assert made.merkle_root in shown
    assert "No checkpoint was exported yet" in shown
    answer = ada.get("/audit/checkpoints")
    assert "audit-checkpoints.json" in answer["Content-Disposition"]
    (kept,) = json.loads(answer.content)["checkpoints"]
    assert (kept["merkleRoot"], kept["signature"]) == (made.merkle_root, made.signature)
    shown = body_of(ada.get("/audit"))
    assert "audit.exported" in shown
    assert f"(up to record {made.at_seq})" in shown


def test_every_export_of_the_records_is_its_own_last_line(ada: Client) -> None:
    for format_ in ["json", "csv"]:
        for _ in range(2):
            lines = body_of(ada.get(f"/audit?format={format_}")).strip().splitlines()
            assert "audit.exported" in lines[-1 if format_ == "csv" else -2], format_


def test_the_audit_s_own_doors_are_shut_to_others(sign_in: SignIn) -> None:
    gus = sign_in(role="operator")
    for answer in (
        gus.get("/audit/checkpoints"),
        gus.post("/audit/verify", {}),
        gus.post("/audit/verify", {"first": "x"}),
    ):
        assert answer.status_code == 403
        assert "audit:read" in body_of(answer)
    assert AuditRecord.objects.filter(action__in=["audit.viewed", "audit.exported"]).count() == 0


@pytest.mark.engines
def test_the_log_is_filtered_by_action_and_time_on_the_page_in_its_files_and_over_the_api(ada: Client) -> None:
    tenant, now = building.tenant(), timezone.now().replace(hour=0, minute=0, second=0, microsecond=0)
    for days, action in ((9, "old.act"), (5, "mid.act"), (5, "other.act"), (1, "mid.act")):
        audit.append(tenant.id, actor="host", action=action, now=now - timedelta(days=days))
    day = (now - timedelta(days=5)).date().isoformat()
    shown = body_of(ada.get("/audit?action=mid.act")).partition('id="records"')[2]
    assert (shown.count("<code>mid.act</code>"), shown.count("<code>old.act</code>")) == (2, 0)
    assert standing(1, 2, 2, "records") in shown
    shown = body_of(ada.get(f"/audit?since={day}&until={day}")).partition('id="records"')[2]
    assert (shown.count("<code>mid.act</code>"), shown.count("<code>other.act</code>")) == (1, 1)
    rows = list(csv.DictReader(io.StringIO(body_of(ada.get(f"/audit?action=mid.act&until={day}&format=csv")))))
    assert [row["action"] for row in rows] == ["mid.act"]
    api, key = Client(), building.key("acme")
    url = f"/v1/host/console/audit?action=mid.act&since={day}T00:00:00Z&limit=1"
    found = api.get(url, HTTP_X_API_KEY=key).json()
    assert (len(found["records"]), found["total"], found["totalIsExact"]) == (1, 2, True)
    rest = api.get(f"{url}&before={found['next']}", HTTP_X_API_KEY=key).json()
    assert rest["records"][0]["occurredAt"] < found["records"][0]["occurredAt"]
    before = f"/v1/host/console/audit?action=mid.act&until={day}T00:00:00Z"
    assert api.get(before, HTTP_X_API_KEY=key).json()["total"] == 0, "it was done at midnight, and not before"
    assert "Nothing matches" in body_of(ada.get("/audit?action=none"))


@pytest.mark.engines
def test_a_word_before_a_dot_finds_every_action_that_begins_with_it(ada: Client, sign_in: SignIn) -> None:
    tenant, now = building.tenant(), timezone.now()
    acts = (
        "deed.done",
        "deed.done",
        "deed.undone",
        "deed",
        "deeds.done",
        "indeed.done",
        "deed.done.denied",
        "Deed.done",
    )
    for minutes, action in enumerate(acts):
        audit.append(tenant.id, actor="host", action=action, target=f"t{minutes}", now=now - timedelta(minutes=minutes))
    audit.append(building.tenant("globex").id, actor="host", action="deed.elsewhere", now=now)

    def actions(query: str) -> list[str]:
        shown = body_of(ada.get(f"/audit?{query}")).partition('id="records"')[2]
        return re.findall(r"<code>((?:in)?deeds?[a-z.]*)</code>", shown, re.IGNORECASE)

    family = ["deed.done", "deed.done", "deed.undone", "deed", "deed.done.denied"]
    assert actions("action=deed") == family
    assert actions("action=deed.") == [each for each in family if each != "deed"]
    assert actions("action=deed.done") == ["deed.done"] * 2
    assert actions("action=deed&target=t2") == ["deed.undone"]
    assert actions("action=dee") == []
    assert standing(1, 5, 5, "records") in body_of(ada.get("/audit?action=deed"))
    rows = json.loads(body_of(ada.get("/audit?action=deed&format=json")))["records"]
    assert [row["action"] for row in rows] == family, "in the order of the chain"
    api, key = Client(), building.key("acme")
    seen: list[str] = []
    place: str | None = ""
    while place is not None:
        url = f"/v1/host/console/audit?action=deed&limit=2{place and f'&before={place}'}"
        part = api.get(url, HTTP_X_API_KEY=key).json()
        seen += [each["action"] for each in part["records"]]
        place = part["next"]
    assert seen == family


def test_a_time_that_is_none_is_refused_by_its_name(ada: Client) -> None:
    for query in [
        "since=yesterday",
        "until=2026-13-01",
        "since=2026-01-01T25:00",
        "since=20260131",
        "since=2026-01-31T17",
    ]:
        for url in ("/audit", "/runs"):
            answer = ada.get(f"{url}?{query}")
            assert answer.status_code == 400, query
            assert f"<code>{query.partition('=')[0]}</code>" in body_of(answer), query


@pytest.mark.engines
def test_the_csv_of_the_log_has_details_as_json_and_names_beside_ids(ada: Client) -> None:
    person = building.scope().principal
    details = {"note": "a, b", "list": [1, None]}
    audit.append(person.tenant_id, actor=person.id, action="act", target=person.id, details=details, now=timezone.now())
    rows = csv.DictReader(io.StringIO(body_of(ada.get("/audit?action=act&format=csv"))))
    (row,) = rows
    assert json.loads(row["details"]) == details
    assert row["actor"] == row["target"] == person.id
    assert row["actorName"] == row["targetName"] != ""


def test_a_record_says_whether_the_act_was_allowed_denied_or_failed(ada: Client) -> None:
    person = building.scope().principal
    told: list[tuple[str, dict[str, str], str]] = [
        ("key.created", {}, "allowed"), ("mcp.call", {"outcome": "ok"}, "allowed"),
        ("mcp.call", {"outcome": "forbidden"}, "denied"), ("authorization.denied", {}, "denied"),
        ("mcp.call", {"outcome": "not_found"}, "failed"), ("operator.sign_in_failed", {}, "failed"),
        ("webhook.failed", {}, "failed"),
    ]  # fmt: skip
    first = audit_chain.end_of(person.tenant_id) + 1
    for action, details, _ in told:
        audit.append(person.tenant_id, actor=person.id, action=action, details=details, now=timezone.now())
    lines = list(csv.DictReader(io.StringIO(body_of(ada.get("/audit?format=csv")))))
    results = {int(line["seq"]): line["result"] for line in lines}
    shown = body_of(ada.get("/audit"))
    for seq, (_, _, result) in enumerate(told, first):
        assert results[seq] == result
        row = shown.partition(f'id="record-{seq}"')[2].partition("</tr>")[0]
        assert result in row.partition('data-label="Action"')[2].partition("</td>")[0]


@pytest.mark.engines
@pytest.mark.usefixtures("short_pages")
def test_older_records_of_a_filter_follow_without_a_gap(ada: Client) -> None:
    grow(8)
    first = body_of(ada.get("/audit?action=act"))
    older = unescape(first.rpartition('hx-get="/audit?')[2].partition('"')[0])
    assert standing(6, 8, 8, "records") in body_of(ada.get(f"/audit?{older}"))


@pytest.mark.engines
def test_the_log_is_filtered_by_who_acted_and_on_what_on_the_page_in_its_files_and_over_the_api(ada: Client) -> None:
    tenant, now = building.tenant(), timezone.now()
    wanted, other = f"mem_{'a' * 32}", f"mem_{'b' * 32}"
    for actor, target in (("host", wanted), ("key_1", wanted), ("key_1", other), ("key_1", wanted)):
        audit.append(tenant.id, actor=actor, action=f"act.of.{actor}", target=target, now=now)
    shown = body_of(ada.get(f"/audit?target={wanted}")).partition('id="records"')[2]
    assert standing(1, 3, 3, "records") in shown
    shown = body_of(ada.get("/audit?actor=key_1")).partition('id="records"')[2]
    assert standing(1, 3, 3, "records") in shown
    assert "act.of.host" not in shown
    (row,) = csv.DictReader(io.StringIO(body_of(ada.get(f"/audit?actor=host&target={wanted}&format=csv"))))
    assert (row["actor"], row["target"]) == ("host", wanted)
    url, key = f"/v1/host/console/audit?actor=key_1&target={wanted}&limit=1", building.key("acme")
    found = Client().get(url, HTTP_X_API_KEY=key).json()
    assert (len(found["records"]), found["total"]) == (1, 2)
    rest = Client().get(f"{url}&before={found['next']}", HTTP_X_API_KEY=key).json()["records"]
    assert [each["seq"] for each in rest] == [found["next"] - 2]
    assert ada.get("/audit?object=x").status_code == 400


def test_a_person_is_called_by_name_in_the_filter_and_wherever_a_record_names_them(ada: Client) -> None:
    person = building.scope().principal
    audit.append(person.tenant_id, actor=person.id, action="act", target=person.id, now=timezone.now())
    name = access.names_of(person.tenant_id, [person.id])[person.id]
    shown = body_of(ada.get(f"/audit?actor={person.id}&action=act"))
    assert f'<option value="{person.id}" selected>{name}</option>' in shown
    listed = shown.partition('id="records"')[2]
    assert listed.count(f'<span title="{person.id}">{name}</span>') == 2
    assert f'href="/audit?target={person.id}"' in listed


def test_a_person_or_key_in_the_details_of_a_record_is_called_by_name(ada: Client) -> None:
    person, key = building.operator(email="rosa@acme.example"), building.scope(name="ci-bot").principal
    details = {"for": ids.wire("usr", person.id), "votes": [{"by": key.id}], "rows": 3}
    audit.append(key.tenant_id, actor="host", action="act", details=details, now=timezone.now())
    listed = body_of(ada.get("/audit?action=act")).partition('id="records"')[2]
    assert f'title="{details["for"]}">rosa@acme.example</dd>' in listed
    assert "ci-bot" in listed
    assert "by: &#x27;key_" not in listed.replace("&#39;", "&#x27;")
    assert json.loads(body_of(ada.get("/audit?action=act&format=json")))["records"][0]["details"] == details


def test_an_entry_a_run_and_a_proposal_lead_to_their_records_who_may_read_them(ada: Client, sign_in: SignIn) -> None:
    scope, now = building.scope(), timezone.now()
    run = building.open_run(scope)
    entry = building.write(scope, run, "alpha")
    made = proposing.propose()
    ledger.retirement.retire_entry(scope, entry.id, reason="wrong", now=now)
    pages = {
        ids.wire("mem", entry.id): "/memory/{}",
        ids.wire("run", run.id): "/runs/{}",
        ids.wire("prop", made.id): "/proposals/{}/history",
    }
    gus = sign_in(role="operator")
    for wire_id, page in pages.items():
        link = f'href="/audit?target={wire_id}"'
        assert link in body_of(ada.get(page.format(wire_id))), page
        assert link not in body_of(gus.get(page.format(wire_id))), page
    shown = body_of(ada.get(f"/audit?target={ids.wire('mem', entry.id)}"))
    assert "<code>memory.retired</code>" in shown


@pytest.mark.engines
def test_the_records_of_a_run_are_those_of_its_questions_too(ada: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    building.install("acme", building.definition("asks", building.node("gate", "core.approvalGate")))
    runs = [ids.wire("run", building.execute(building.scope(), "asks").id) for _ in range(2)]
    for run in runs:
        asked = Interrupt.objects.get(run_id=building.id_of("run", run))
        ada.post(f"/runs/{run}/answer/{ids.wire('int', asked.id)}", {"action": "accept", "words": ""})
    for number in range(2):
        audit.append(building.tenant().id, actor="host", action=f"act.{number}", target=runs[1], now=timezone.now())
    shown = body_of(ada.get(f"/audit?target={runs[1]}"))
    assert "Includes the records of the questions this run asked." in shown
    assert standing(1, 3, 3, "records") in shown
    records = json.loads(body_of(ada.get(f"/audit?target={runs[1]}&format=json")))["records"]
    assert [each["action"] for each in records] == ["interrupt.answered", "act.0", "act.1"]
    assert {each["details"].get("runId", runs[1]) for each in records} == {runs[1]}
    monkeypatch.setattr(pages, "PAGE", 2)
    older = unescape(body_of(ada.get(f"/audit?target={runs[1]}")).rpartition('hx-get="/audit?')[2].partition('"')[0])
    assert standing(3, 3, 3, "records") in body_of(ada.get(f"/audit?{older}"))
    assert "Includes the records" not in body_of(ada.get(f"/audit?target={ids.wire('int', asked.id)}"))


def test_a_record_shows_its_reason_or_its_decision_in_the_row(ada: Client) -> None:
    tenant, now = building.tenant(), timezone.now()
    audit.append(tenant.id, actor="host", action="act", details={"revision": 1}, reason="it was wrong", now=now)
    audit.append(tenant.id, actor="host", action="act", details={"decision": "granted"}, now=now)
    audit.append(tenant.id, actor="host", action="act", details={"revision": 2}, now=now)
    audit.append(tenant.id, actor="host", action="act", details={"runId": "run_1", "planSha256": "00"}, now=now)
    shown = body_of(ada.get("/audit?action=act"))
    for words in ("it was wrong", "granted", "revision 2", "Details"):
        assert f'<span dir="auto">{words}</span><span class="visually-hidden">, details of record' in shown


def test_what_a_forget_did_to_each_store_is_on_its_record_in_lines(ada: Client) -> None:
    building.remember("acme", f"{MARTA} prefers mail.")
    forget(building.scope(), MARTA)
    shown = body_of(ada.get("/audit?action=forget.completed"))
    assert "<li>memory entries: erased 1, planned 1</li>" in shown
    assert re.search(r"\d\d more with nothing", shown)
    assert "{&#x27;" not in shown
    assert "<dt>plan sha256</dt>" in body_of(ada.get("/audit?action=forget.confirmed"))


def test_a_proposal_among_the_targets_is_called_by_its_title_by_who_may_read_it(ada: Client, sign_in: SignIn) -> None:
    made = proposing.propose(title="Shorter summary")
    wire_id = ids.wire("prop", made.id)
    link = f'<a href="/proposals/{wire_id}" title="{wire_id}" dir="auto">Shorter summary</a>'
    assert link in body_of(ada.get("/audit?action=proposal.create"))
    assert "Shorter summary" not in body_of(sign_in(role="auditor").get("/audit?action=proposal.create"))
    assert "Shorter summary" not in body_of(ada.get("/audit?format=csv")), "a file outlives a forget of the title"


def test_an_artifact_and_a_namespace_among_the_targets_are_called_by_their_names(ada: Client, sign_in: SignIn) -> None:
    namespaces.change(Caller(building.scope(), "ada"), "prices", Permissions("read", []), now=timezone.now())
    made = Namespace.objects.get()
    for target in ("agent:acme.writer@1.1.0", ids.wire("ns", made.id)):
        audit.append(made.tenant_id, actor="host", action="act", target=target, now=timezone.now())
    shown = body_of(ada.get("/audit?action=act"))
    assert 'href="/artifacts/agent:acme.writer@1.1.0" title="agent:acme.writer@1.1.0"' in shown
    assert ">prices</span>" in shown
    assert ">prices<" not in body_of(sign_in(role="auditor").get("/audit?action=act"))


def requests_of(browser: Client, query: str = "") -> list[tuple[str, str]]:
    """Action and request of each record in the file, oldest first."""
    rows = csv.DictReader(io.StringIO(body_of(browser.get(f"/audit?format=csv&{query}"))))
    return [(row["action"], row["requestId"]) for row in rows if not row["action"].startswith("audit.")]


@pytest.mark.engines
def test_records_of_one_request_have_its_id_are_grouped_by_it_and_found_by_it(ada: Client) -> None:
    grow(1)
    made = building.remember("acme", "first", "second")
    ids_of_both = [each for each in made.entries if each]
    given = {"id": ids_of_both, "action": "retire", "reason": "wrong", "confirm": "yes"}
    assert ada.post("/memory/selected", given).status_code == 302
    ada.post(f"/memory/{ids_of_both[0]}/restore", {"reason": "right after all"})
    acts = requests_of(ada)
    assert ("act", "") in acts, "outside of any request"
    both, restored = [each for each in acts if "retire" in each[0]], [each for each in acts if "restore" in each[0]]
    assert (len(both), len(restored)) == (2, 1), acts
    assert len({request for _, request in both}) == 1
    request = both[0][1]
    assert ids.parse("req", request)
    assert restored[0][1] != request
    assert requests_of(ada, f"request={request}") == both
    shown = body_of(ada.get("/audit?group=request"))
    group = shown.split('scope="rowgroup"')
    assert [each.count("data-item") for each in group if f"request={request}" in each] == [2]
    assert "Request not on record" in shown
    listed = json.loads(body_of(ada.get(f"/audit?format=json&request={request}")))["records"]
    assert {each["requestId"] for each in listed} == {request}
    assert "The chain is intact" in verify(ada)


def test_the_request_is_hashed_and_a_record_without_one_keeps_its_form(ada: Client) -> None:
    """A verifier hashes all members but ``entryHash`` and those that are said to be unhashed."""
    grow(1)
    ada.get("/audit")
    records = json.loads(body_of(ada.get("/audit?format=json")))["records"]
    assert {each["action"]: "requestId" in each for each in records} == {
        "operator.created": False,
        "act": False,
        "audit.viewed": True,
        "audit.exported": True,
    }
    for record in records:
        hashed = {name: value for name, value in record.items() if name != "entryHash"}
        assert hashlib.sha256(rfc8785.dumps(hashed)).hexdigest() == record["entryHash"]
    tamper("UPDATE host_auditrecord SET request_id = 'req_of_another' WHERE action = 'audit.viewed'")
    assert "The chain breaks at record 2" in verify(ada)


def test_a_command_and_a_task_have_ids_of_their_own() -> None:
    call_command("create_api_key", tenant=building.tenant().slug, role="viewer", stdout=io.StringIO())
    copy_context().run(_append_in_a_task, {"name": "run_" + "0" * 32, "id": "1" * 32})
    copy_context().run(_append_in_a_task, {"name": "seven-red-otters", "id": "1" * 32})
    by_command, *by_tasks = AuditRecord.objects.of(building.tenant().id).order_by("seq")
    assert ids.parse("cmd", by_command.request_id)
    assert [each.request_id for each in by_tasks] == ["run_" + "0" * 32, "task_" + "1" * 32]


def _append_in_a_task(task: dict[str, Any]) -> None:
    _begin_task("django_q", None, task)
    grow(1)
