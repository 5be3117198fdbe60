"""What holds for every page: tenants are apart, permissions are named, visitors sign in, and no method is a door."""

import json
import re
from collections.abc import Iterator
from datetime import timedelta
from html import unescape
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import resolve
from django.utils import timezone
from pytest_django.fixtures import Settings

from memory import workspace
from memory.forget import execution, holds
from memory.host import audit, audit_chain, ids
from memory.host.models import ApiKey, AuditRecord, ForkMode, Interrupt, SavedFilter
from memory.models import EventNote
from memory.passes import orders, pass_schedules
from memory.passes.orders import RequestedPass
from memory.passes.pass_schedules import PassTimes
from memory.views.agents import PARTS
from memory.workspace import FileDraft
from openwop_console.runtime import replay
from openwop_console.runtime.replay import ForkRequest
from proposals.models import Proposal
from tests import archiving, building, peopled, proposing
from tests.faces.test_query_parameters import page_routes, sample
from tests.memory.test_transfers import line
from tests.pages.conftest import SignIn, body_of, standing
from tests.peopled import World
from tests.proposals.doors import undrawn
from tests.tampering import tamper

pytestmark = pytest.mark.django_db
# How many statements each page, by the name of its route, may send, with those of who is asking and of the navigation.
STATEMENTS = {
    9: "api connect glossary go-to memory-view password proposals-filter workflow-files",
    10: (
        "archives-distill memory-entry-correct memory-entry-restore memory-imports "
        "memory-view-rename webhook-remove workspace"
    ),
    11: "forget-hold look-alikes memory-entry-compare secrets secret-remove sessions tenants webhooks",
    12: (
        "commitment-cancel forget-holds key-rotate keys memory-entry-reads pass-undo run-note second-factor "
        "workspace-file"
    ),
    13: (
        "archive-withdraw commitment memory-entry-lineage memory-import namespaces "
        "run-answer runs-cancel webhook workflow-file"
    ),
    14: "key-revoke memory-export namespace operator-deactivate operators",
    15: "agent agents forget forget-confirm operator-sessions",
    16: "archive archives runs consolidation memory-entry-retire settings",
    17: "forget-request commitments memory memory-selected needs-you pass",
    18: "artifact installed",
    19: "agent-tab nights",
    20: "proposal-revise run",
    21: "audit host-health proposal-archive proposal-reject retention",
    22: "proposal-override",
    26: "approval-policy memory-reach",
    27: "proposals run-compare",
    33: "proposal proposal-discussion proposal-effect proposal-evidence",
    34: "proposal-artifact",
    37: "proposal-history",
    40: "memory-entry",
}
QUERIES = {name: number for number, names in STATEMENTS.items() for name in names.split()}
# What else answers GET.
NOT_COUNTED = {
    "before one is signed in": (
        "account_login account_logout mfa_authenticate passkey-add passkey-options passkey-sign-in set-password "
        "single-sign-on"
    ),
    "files and redirects": "audit-checkpoints proposal-download proposals-end proposals-look search",
}
TYPES = {"JSON": "application/json", "CSV": "text/csv"}
LISTS = [
    "/",
    "/agents",
    "/memory",
    "/memory/reach?state=all",
    "/workspace",
    "/runs",
    "/runs/cancel",
    "/installed",
    "/proposals",
    "/forget",
    "/forget/holds",
    "/audit",
    "/settings",
    "/api",
    "/glossary",
    "/tenants",
]
LISTS += [
    "/memory/export",
    "/consolidation",
    "/nights",
    "/consolidation/duplicates",
    "/commitments",
    "/retention",
    "/archives",
    "/archives/distill",
    "/settings/approval/automation",
    "/connect",
    "/settings/keys",
    "/settings/operators",
    "/settings/sessions",
    "/settings/secrets",
    "/settings/password",
    "/settings/second-factor",
    "/go-to",
    "/health",
    "/settings/webhooks",
    "/settings/import",
    "/workflow-files",
    "/namespaces",
]
# Pages that agents fill: empty, they lead to the tenant's address and a key.
CONNECTED = {f"/{each}" for each in ["agents", "archives", "commitments", "consolidation", "installed"]}
CONNECTED |= {f"/{each}" for each in ["memory", "namespaces", "proposals", "runs", "workspace"]}
EMPTY_LINK = re.compile(r'<a class="button" href="([^"]+)"')
FORMS = ["/memory/views", "/proposals/filters"]
MANIFEST = {"agentId": "private.acme.triage", "persona": "Triage", "modelClass": "general"}


def objects(world: World) -> list[str]:
    """The address of one object of each kind, all Acme's."""
    made = building.remember("acme", "x")
    proposal = proposing.propose()
    preview = execution.preview(building.scope(), ["somebody"], now=timezone.now())
    held = holds.place(building.scope(), ["held"], reason="a court case", now=timezone.now())
    building.install_agent("acme", MANIFEST)
    workspace.write_file(building.scope(), "notes/a.md", FileDraft("x"), now=timezone.now())
    prop = f"/proposals/{ids.wire('prop', proposal.id)}"
    ordered = orders.order(building.scope(), RequestedPass("consolidate", "notes"), now=timezone.now())
    key = ids.wire("key", ApiKey.objects.of(world.run.tenant_id).latest("created_at").id)
    archive = f"/archives/{ids.wire('arc', archiving.distilled('acme', 'x').id)}"
    return [
        archive,
        f"{archive}?format=json",
        f"{archive}/withdraw",
        f"/passes/{ids.wire('pass', ordered.id)}",
        f"/passes/{ids.wire('pass', ordered.id)}?format=json",
        f"/passes/{ids.wire('pass', ordered.id)}/undo",
        f"/memory/{made.entries[0]}",
        f"/memory/{made.entries[0]}/lineage?side=results",
        f"/memory/{made.entries[0]}/reads",
        f"/memory/{made.entries[0]}/compare?with={made.entries[0]}",
        f"/memory/{made.entries[0]}/correct",
        f"/memory/{made.entries[0]}/retire",
        f"/memory/{made.entries[0]}/restore",
        f"/memory/{made.entries[0]}?format=json",
        f"/runs/{ids.wire('run', made.run.id)}",
        f"/runs/{ids.wire('run', made.run.id)}?format=json",
        f"/agents/{MANIFEST['agentId']}",
        *(f"/agents/{MANIFEST['agentId']}/{tab}" for tab in PARTS),
        "/workspace/notes/a.md",
        "/workspace/notes/a.md?version=1",
        "/workspace/notes/a.md?format=json",
        prop,
        f"{prop}/artifact",
        f"{prop}/evidence",
        f"{prop}/history",
        *(f"{prop}/{part}" for part in ("discussion", "effect", "reject", "revise", "archive")),
        f"/forget/{ids.wire('fgt', preview.request.id)}",
        f"/forget/{ids.wire('fgt', preview.request.id)}/confirm",
        f"/forget/holds/{ids.wire('hld', held.id)}",
        f"/memory/selected?action=retire&id={made.entries[0]}",
        f"/artifacts/{world.template}",
        f"/commitments/{world.commitment}",
        f"/commitments/{world.commitment}/cancel",
        f"/settings/webhooks/{world.webhook}",
        f"/settings/webhooks/{world.webhook}/remove",
        *(f"/settings/keys/{key}/{verb}" for verb in ("revoke", "rotate")),
        f"/settings/secrets/remove?name={world.secret}&scope=tenant",
        f"/settings/operators/{world.operator}/deactivate",
        f"/settings/operators/{world.operator}/sessions",
        f"/workflow-files/{world.openintent['intent']}",
        f"/namespaces/{world.openintent['namespace']}",
    ]


def steps(world: World, ada: Client) -> list[str]:
    """The address of each page that asks for one more step: an answer, an override, a confirmation, another name."""
    now = timezone.now()
    run = ids.wire("run", world.run.id)
    asked = Interrupt.objects.of(world.run.tenant_id).get(run_id=world.run.id)
    proposing.opened(world.proposal)
    uploaded = ada.post("/settings/import", {"file": SimpleUploadedFile("m.jsonl", line(1).encode())})["Location"]
    ada.post("/memory/views", {"name": "Red", "query": "tag=red"})
    branch = replay.fork(world.scope, building.remember("acme", "x").run.id, ForkRequest(ForkMode.REPLAY), now=now)
    world.made("POST", f"/api/v1/intents/{world.openintent['intent']}/events", peopled.BODIES["logIntentEvent"])
    note = EventNote.objects.of(world.scope.tenant_id).latest("sequence")
    return [
        f"/runs/{run}/answer/{ids.wire('int', asked.id)}",
        f"/runs/{ids.wire('run', branch.id)}/compare",
        f"/runs/{ids.wire('run', note.stream_id)}/events/{note.sequence}",
        f"/proposals/{ids.wire('prop', world.proposal.id)}/override",
        uploaded,
        f"/memory/views/{ids.wire('flt', SavedFilter.objects.get().id)}/rename",
    ]


def addresses(world: World, ada: Client) -> Iterator[str]:
    """Of every page; what waits for a step is made once the others were seen."""
    yield from [*LISTS, *FORMS, *objects(world)]
    yield from steps(world, ada)


def test_globex_gets_404_for_every_object_of_acme(sign_in: SignIn) -> None:
    """Acme gets 200 for each of them in ``test_no_page_asks_the_database_more_often_than_it_may``."""
    world, gil = World("acme"), sign_in("globex")
    for url in [*objects(world), *steps(world, sign_in())]:
        assert gil.get(url).status_code == 404, url


def test_globex_changes_nothing_of_acme(sign_in: SignIn) -> None:
    gil = sign_in("globex")
    made = building.remember("acme", "x")
    proposal = proposing.propose()
    gate = proposing.opened(proposal)
    preview = execution.preview(building.scope(), ["somebody"], now=timezone.now())
    prop, fgt = f"/proposals/{ids.wire('prop', proposal.id)}", f"/forget/{ids.wire('fgt', preview.request.id)}"
    ordered = orders.order(building.scope(), RequestedPass("consolidate", "notes"), now=timezone.now())
    kept = pass_schedules.set_schedule(
        building.scope(), PassTimes("consolidate", "notes", "0 3 * * *"), now=timezone.now()
    )
    vote = {"revision": 1, "sha256": gate.sha256, "decision": "granted"}
    posts: list[tuple[str, dict[str, Any]]] = [
        (f"/memory/{made.entries[0]}/correct", {"content": "y"}),
        (f"/memory/{made.entries[0]}/retire", {"reason": ""}),
        (f"/memory/{made.entries[0]}/restore", {}),
        (f"/memory/{made.entries[0]}/protect", {}),
        (f"/passes/{ids.wire('pass', ordered.id)}/stop", {}),
        (f"/passes/{ids.wire('pass', ordered.id)}/again", {}),
        (f"/passes/{ids.wire('pass', ordered.id)}/undo", {"reason": "no"}),
        (f"/consolidation/schedules/{ids.wire('psc', kept.id)}/remove", {}),
        (f"{prop}/decide", vote),
        (f"{prop}/ask", {"revision": 1}),
        (f"{prop}/reject", {"reason": "no"}),
        (f"{fgt}/confirm", {"typed": "somebody", "reason": "r"}),
        (f"{fgt}/copy", {}),
        (f"{fgt}/again", {}),
        (f"{fgt}/retry", {}),
    ]
    for url, form in posts:
        assert gil.post(url, form).status_code == 404, url
    assert building.contents(building.scope()) == ["x"]
    assert proposing.fresh(proposal).state == "draft"


def test_an_id_that_is_none_is_not_found(ada: Client) -> None:
    objects = "memory/mem_1 memory/x runs/run_zz passes/pass_1 archives/arc_1 commitments/cmt_1 agents/none"
    more = "workspace/none.md proposals/prop_ forget/fgt_0 forget/holds/hld_0 memory/%00"
    for path in f"{objects} {more}".split():
        assert ada.get(f"/{path}").status_code == 404, path


def test_an_address_that_only_takes_a_form_leads_to_the_page_above_it(ada: Client) -> None:
    """Where a form was refused, its address is in the browser: a click on it and Enter asks for it without the form."""
    entry = building.remember("acme", "a note").entries[0]
    for address, above in (
        (f"/memory/{entry}/protect", f"/memory/{entry}"),
        ("/consolidation/duplicates/decide", "/consolidation/duplicates"),
        ("/settings/grants/key_x/revoke", "/settings"),
    ):
        answer = ada.get(address)
        assert (answer.status_code, answer["Allow"]) == (405, "POST")
        assert "This address only receives a form, and none was sent now." in body_of(answer)
        assert f'<a class="button primary" href="{above}">Open its page</a>' in body_of(answer)
        assert ada.get(above).status_code == 200


def test_a_format_that_a_page_does_not_have_is_refused_by_name(ada: Client) -> None:
    read = 0
    for address in sorted({url.partition("?")[0] for url in LISTS}):
        refused = ada.get(address, {"format": "xml"})
        assert refused.status_code in {400, 302}, address
        has_formats = b"is not a parameter of this address" not in refused.content
        assert refused.status_code == 302 or not has_formats or b"is not a format of this page" in refused.content
        read += has_formats
    assert read > 10
    assert ada.get("/agents/none", {"format": "csv"}).status_code == 404


def test_each_file_that_a_page_offers_is_there(ada: Client) -> None:
    offered = set()
    for url in LISTS:
        for link, form in re.findall(
            r'<a href="([^"]+)" title="This (?:page|list) as (JSON|CSV)"', body_of(ada.get(url))
        ):
            file = ada.get(unescape(link))
            assert (file.status_code, file["Content-Type"].split(";")[0]) == (200, TYPES[form]), link
            offered.add((form, link.partition("?")[0]))
    assert {form for form, address in offered if address == "/"} == {"JSON"}
    assert len({address for form, address in offered if form == "CSV"}) > 10


def test_a_visitor_signs_in_and_comes_back(client: Client) -> None:
    for url in LISTS:
        answer = client.get(url)
        assert answer.status_code == 302, url
        assert answer["Location"].startswith("/login?next="), url


def test_each_list_is_whole_varies_by_who_asks_and_leads_on_where_it_is_empty(ada: Client) -> None:
    led = {}
    for url in LISTS:
        answer = ada.get(url)
        shown = body_of(answer)
        assert answer.status_code == 200, url
        assert shown.count("<h1>") == 1, url
        assert "HX-Request" in answer["Vary"], url
        assert 'role="status"' in shown, url
        assert "Permalink" in shown, url
        for empty in shown.split('class="empty empty-none-yet"')[1:]:
            link = EMPTY_LINK.search(empty.partition("</div>\n")[0])
            assert link, f"{url} says no way on"
            led[url] = link[1]
            if led[url].startswith("#"):
                assert f'id="{led[url][1:]}"' in shown, url
            else:
                assert ada.get(led[url]).status_code == 200, url
    assert {url for url, way in led.items() if way == "/connect"} == CONNECTED
    assert led.keys() - CONNECTED == {
        "/nights",
        "/consolidation/duplicates",
        "/forget",
        "/forget/holds",
        "/settings/keys",
        "/settings/secrets",
        "/settings/webhooks",
    }


def test_each_page_is_complete_and_begins_without_a_refusal(ada: Client) -> None:
    """``body_of`` reads whether it is complete; who may do all lacks no permission."""
    for url in [
        *addresses(World("acme"), ada),
        *tabs(proposing.applied(proposing.artifact(templateId="triage.other"))),
    ]:
        answer = ada.get(url)
        if "text/html" not in answer["Content-Type"]:
            continue
        shown = body_of(answer)
        main = shown.partition("<main")[2].partition("</main>")[0]
        assert not re.search("needs? the permission", main), url
        assert "<title>Error" not in shown, url
        assert "data-focus" not in main, url
        assert "Nothing was changed" not in main, url


def tabs(proposal: Proposal) -> list[str]:
    """The page of a proposal and its other parts."""
    prop = f"/proposals/{ids.wire('prop', proposal.id)}"
    return [prop, *(f"{prop}/{part}" for part in ("artifact", "evidence", "history", "discussion", "effect"))]


# What a role may not see: the page, and the permission that is missing.
MISSING = {
    "viewer": {"/forget": "memory:forget", "/audit": "audit:read"},
    "operator": {"/audit": "audit:read", "/settings/webhooks": "webhooks:manage"},
    "author": {"/settings/import": "memory:write"},
    "auditor": {
        "/memory": "memory:read",
        "/runs": "runs:read",
        "/agents": "agents:read",
        "/workspace": "workspace:read",
        "/proposals": "proposals:read",
        "/settings/approval/automation": "proposals:read",
        "/consolidation": "memory:read",
        "/consolidation/duplicates": "memory:read",
        "/archives": "memory:read",
        "/commitments": "memory:read",
        "/forget/holds": "memory:forget",
        "/settings/webhooks": "webhooks:manage",
        "/retention": "memory:read",
    },
}


def test_who_may_not_is_told_which_permission_is_missing(sign_in: SignIn) -> None:
    for role, pages in MISSING.items():
        browser = sign_in(role=role)
        for url, scope in pages.items():
            for suffix in ("", "?format=json"):
                answer = browser.get(url + suffix)
                assert answer.status_code == 403, (role, url, suffix)
                assert scope in body_of(answer), (role, url, suffix)
        way = '<a class="button" href="/audit">Audit</a>'
        assert (way in body_of(browser.get(next(iter(pages))))) == (role == "auditor"), role


def test_needs_you_and_settings_are_for_everybody_but_the_auditor(sign_in: SignIn) -> None:
    for role in ("viewer", "author", "agent", "reviewer", "operator", "owner"):
        browser = sign_in(role=role)
        assert role in body_of(browser.get("/settings"))
        for url in ("/", "/?format=json", "/settings?format=json"):
            assert browser.get(url).status_code == 200, (role, url)


UNSUPPORTED = {
    "/archives": "memory.distillation",
    "/consolidation": "agents.memoryConsolidation",
    "/commitments": "agents.commitments",
}


def test_what_the_host_does_not_support_names_the_missing_flag(ada: Client, settings: Settings) -> None:
    for url in UNSUPPORTED:
        assert "Not supported by this host" not in body_of(ada.get(url)), url
    settings.OPENWOP_MEMORY_WRITABLE = False
    for url, capability in UNSUPPORTED.items():
        shown = body_of(ada.get(url))
        assert "Not supported by this host" in shown, url
        assert capability in shown, url


def test_the_audit_log_lists_names_and_links_and_can_be_verified(ada: Client) -> None:
    assert "operator.created" in body_of(ada.get("/audit"))
    made = proposing.propose()
    shown = body_of(ada.get("/audit"))
    assert "proposal.create" in shown
    assert f'href="/proposals/{ids.wire("prop", made.id)}"' in shown
    assert "Chain not verified" in shown
    shown = body_of(ada.post("/audit/verify", follow=True))
    assert f"The chain is intact: {audit_chain.total(made.tenant_id)} records were read" in shown
    assert "Chain verified" in shown


def test_a_broken_chain_is_red_everywhere(ada: Client) -> None:
    proposing.propose()
    tamper("UPDATE host_auditrecord SET actor = 'mallory' WHERE seq = 0")
    shown = body_of(ada.post("/audit/verify", follow=True))
    assert "The chain breaks at record 0" in shown
    assert "Chain broken" in shown
    assert "The audit chain breaks at record 0" in body_of(ada.get("/"))
    assert "Chain broken" in body_of(ada.get("/memory/mem_x")), "a page of an error says so too"


@pytest.mark.engines
@pytest.mark.usefixtures("short_pages")
def test_the_audit_log_pages_to_its_beginning(ada: Client) -> None:
    tenant = building.tenant()
    ada.get("/audit")  # looking is on record itself, once in a while
    for number in range(audit_chain.total(tenant.id), 8):
        audit.append(tenant.id, actor="host", action=f"act.{number}", now=timezone.now())
    shown = body_of(ada.get("/audit"))
    assert standing(1, 5, 8, "records") in shown
    assert standing(6, 8, 8, "records") in body_of(ada.get("/audit?before=3"))
    assert "Nothing older" in body_of(ada.get("/audit?before=0"))
    assert ada.get("/audit?before=x").status_code == 200
    assert body_of(ada.get("/audit?format=csv")).count("\r\n") == AuditRecord.objects.of(tenant.id).count() + 1
    with CaptureQueriesContext(connection) as many:
        ada.get("/audit")
    assert len(many) <= 20  # one of them brings the reasons that stand beside the records


def test_agents_show_their_health_and_the_eight_dimensions(ada: Client) -> None:
    assert "No agents yet" in body_of(ada.get("/agents"))
    building.install_agent("acme", MANIFEST)
    shape = {"agentId": "private.acme.brain", "memoryShape": {"longTerm": True}}
    building.install_agent("acme", {**MANIFEST, **shape})
    shown = body_of(ada.get("/agents"))
    assert "unknown" in shown
    assert "satisfied" in shown
    unknown = body_of(ada.get("/agents/private.acme.triage"))
    assert "unknown is not healthy" in unknown
    known = body_of(ada.get("/agents/private.acme.brain"))
    for dimension in ("read", "write", "search", "long-term-durability", "compaction", "attribution", "retention"):
        assert dimension in known
    assert ada.get("/agents/private.acme.brain?format=json").json()["health"] == "satisfied"
    assert "private.acme.brain" in body_of(ada.get("/agents?format=csv"))


def test_an_agent_shows_its_pack_its_tools_and_the_capabilities_it_runs_without(ada: Client) -> None:
    more = {"packName": "private.acme.desk", "packVersion": "3.1.4", "toolAllowlist": ["mcp:find-it"]}
    building.install_agent("acme", {**MANIFEST, **more, "requiresCapabilities": ["host.telepathy"]})
    assert "host.telepathy" in body_of(ada.get("/agents"))
    shown = body_of(ada.get("/agents/private.acme.triage"))
    for told in ("private.acme.desk 3.1.4", "mcp:find-it", "host.telepathy"):
        assert told in shown
    assert ada.get("/agents/private.acme.triage?format=json").json()["degraded"] == ["host.telepathy"]
    building.install_agent("acme", {**MANIFEST, "packVersion": "4.0.0"})
    assert "a node that acts as this agent and uses a tool fails" in body_of(ada.get("/agents/private.acme.triage"))


def test_an_agent_that_lacks_what_it_asks_for_needs_somebody(ada: Client, settings: Settings) -> None:
    settings.OPENWOP_MEMORY_BACKEND = "ephemeral"
    building.install_agent("acme", {**MANIFEST, "memoryShape": {"longTerm": True}})
    shown = body_of(ada.get("/"))
    assert "missing: long-term-durability" in shown
    told = body_of(ada.get("/agents/private.acme.triage")).split('class="notice warn"')[1].split("</section>")[0]
    for words in (
        "memory is lost when the host restarts",
        "OPENWOP_MEMORY_BACKEND=long-term",
        "Degraded since this version",
    ):
        assert words in told
    building.install_agent("acme", {**MANIFEST, "agentId": "private.acme.a", "memoryShape": {"scratchpad": True}})
    listed = body_of(ada.get("/agents"))
    assert listed.index(">private.acme.triage ") < listed.index(">private.acme.a "), "what lacks something comes first"


def test_the_first_page_draws_what_agents_wrote(ada: Client) -> None:
    assert "Nothing was written in this period" in body_of(ada.get("/"))
    building.remember("acme", "a", "b")
    owner = building.scope()
    run = building.open_run(owner)
    for number in range(10):
        building.write(owner, run, "x", agent_id=f"agent.{number}")
    shown = body_of(ada.get("/"))
    assert "acme.writer" in shown
    assert "3 other agents" in shown
    assert "By agent" in shown


def test_the_first_page_says_when_an_agent_writes_far_more_than_it_did(ada: Client) -> None:
    owner, now = building.scope(), timezone.now()
    run = building.open_run(owner)
    for days, number in ((3, 2), (2, 4), (1, 2), (0, 49)):
        for _ in range(number):
            building.write(owner, run, "x", agent_id="acme.loud", now=now - timedelta(days=days))
            building.write(owner, run, "x", agent_id="acme.new" if days == 0 else "acme.even", now=now)
    assert "times the usual" not in body_of(ada.get("/")), "fewer than 50 are none"
    for agent in ("acme.loud", "acme.new"):
        building.write(owner, run, "x", agent_id=agent, now=now)
    shown = body_of(ada.get("/"))
    assert "50 entries of acme.loud</a>, 25 times the usual 2 a day" in shown
    assert shown.count("times the usual") == 1


def test_a_workspace_file_is_shown_with_every_version_that_is_kept(ada: Client) -> None:
    assert "No files yet" in body_of(ada.get("/workspace"))
    acme, run = building.scope(), building.open_run(building.scope())
    for content in ("first", "<script>alert(1)</script> \u202egnp.exe"):
        workspace.write_file(acme, "notes/a.md", FileDraft(content), now=timezone.now())
    workspace.write_file(acme, "b.md", FileDraft(""), run=run, node_id="n", now=timezone.now())
    listed = body_of(ada.get("/workspace"))
    assert 'href="/workspace/notes/a.md"' in listed
    assert f"/runs/{ids.wire('run', run.id)}" in listed
    assert "b.md" not in body_of(ada.get("/workspace?prefix=notes/"))
    assert "Nothing matches" in body_of(ada.get("/workspace?prefix=none"))
    shown = body_of(ada.get("/workspace/notes/a.md"))
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in shown
    assert "\u202e" not in shown
    assert 'href="/workspace/notes/a.md?version=1"' in shown
    earlier = body_of(ada.get("/workspace/notes/a.md?version=1"))
    assert "first" in earlier
    assert "This is an earlier version" in earlier
    assert ada.get("/workspace/notes/a.md?format=json").json()["version"] == 2
    assert [row["path"] for row in json.loads(body_of(ada.get("/workspace?format=json")))["files"]] == [
        "b.md",
        "notes/a.md",
    ]
    assert body_of(ada.get("/workspace?format=csv")).startswith("path,contentType,version,bytes,etag,updatedAt")
    assert "The file is empty" in body_of(ada.get("/workspace/b.md"))
    for missing in ("?version=3", "?version=x", "?version=0", "?version=99999999999999"):
        assert ada.get(f"/workspace/notes/a.md{missing}").status_code == 404


@pytest.mark.engines
def test_no_page_asks_the_database_more_often_than_it_may(ada: Client) -> None:
    def statements(url: str) -> int:
        with CaptureQueriesContext(connection) as found:
            assert ada.get(url).status_code == 200, url
        return sum("SAVEPOINT" not in each["sql"] for each in found.captured_queries)

    asked: dict[str, int] = {}
    for url in addresses(World("acme"), ada):
        name = str(resolve(url.partition("?")[0]).url_name)
        number = statements(url)
        # The first time may look up what is looked up once per process.
        number = min(number, statements(url)) if number > QUERIES[name] else number
        asked[name] = max(number, asked.get(name, 0))
    assert {name: number for name, number in asked.items() if number > QUERIES[name]} == {}


def test_a_page_has_a_number_of_statements_or_stands_with_those_that_have_none(
    ada: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    for render in ("openwop_console.errors.render", "django.shortcuts.render"):
        monkeypatch.setattr(render, undrawn)
    found = set()
    for pattern in page_routes():
        if ada.get(sample(pattern)).status_code != 405:
            found.add(resolve(sample(pattern)).url_name)
    assert found == {*QUERIES, *" ".join(NOT_COUNTED.values()).split()}
