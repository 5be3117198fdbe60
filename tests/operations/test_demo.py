"""The demo: two tenants whose memory runs and agents have written, and what an operator finds in it."""

import io
import json
import re
import socket
from base64 import b64encode
from collections import Counter
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta
from itertools import count
from typing import Any

import httpx
import pytest
from django.contrib.auth.hashers import check_password
from django.core.management import CommandError, call_command
from django.db import connection, transaction
from django.test import override_settings
from django.utils import timezone

from memory import adapter, agents, ledger, memory_policy, provenance, workspace
from memory.commitments import inference
from memory.forget import execution
from memory.host import access, event_log, ids, registry, runs, tenancy, vault
from memory.host.models import ApiKey, ArtifactKind, AuditRecord, Operator, Run, RunEvent, Schedule, Secret
from memory.models import Archive, Commitment, ForgetRequest, Intent, Pass, Task
from memory.models.address import EntryAddress
from memory.provenance import VerdictKind
from openwop_console import discovery
from openwop_console.demo import model, seeding, story
from openwop_console.runtime import commitment_firing, run_operations
from proposals import installation, lifecycle, rules
from proposals.models import Gate, Kind, Proposal, Revision
from tests.budgets import THOROUGH
from tests.conformance import schemas

pytestmark = pytest.mark.django_db

MARTA = "marta.kowalska@example.com"
ACME, GLOBEX = story.stories()


@pytest.fixture(scope="module")
def folder(django_db_setup, django_db_blocker, tmp_path_factory):
    """The data folder of a demo that was seeded once for all tests here, and is gone behind the last of them."""
    folder = tmp_path_factory.mktemp("demo")
    with django_db_blocker.unblock(), transaction.atomic():
        seeding.seed([ACME, GLOBEX], folder, clock=timezone.now)
        yield folder
        transaction.set_rollback(True)


@pytest.fixture(scope="module")
def spoken(django_db_setup, django_db_blocker, tmp_path_factory):
    """The data folder of a small demo that the command has made, and what it said."""
    folder = tmp_path_factory.mktemp("spoken")
    with django_db_blocker.unblock(), transaction.atomic():
        with in_a_small_demo("spoken", folder):
            said = said_by_the_command()
        yield folder, said
        transaction.set_rollback(True)


@pytest.fixture
def acme(folder):
    return access.tenant_by_slug("acme")


@pytest.fixture
def globex(folder):
    return access.tenant_by_slug("globex")


def seed(folder, *stories, clock=timezone.now):
    return seeding.seed(list(stories) or [ACME, GLOBEX], folder, clock=clock)


def signed_in(email):
    return tenancy.tenant_scope(tenancy.operator_principal(Operator.objects.get(email=email)))


def entries(tenant):
    """What nodes of runs wrote, retired or not."""
    written = [entry for entry in every_entry(tenant) if not entry.derived]
    return [entry for entry in written if not entry.memory_ref.startswith(("openintent/", "shop/"))]


def every_entry(tenant):
    """And what passes made of it."""
    reader = tenancy.host_scope(tenant, scopes=frozenset({"memory:read"}))
    return list(adapter.console.visible_entries(reader, now=timezone.now()).order_by("id"))


def errand_runs(tenant):
    return {run.metadata["demo"]: run for run in Run.objects.of(tenant.id).filter(system=False)}


def everything():
    """Every row of every table."""
    with connection.cursor() as cursor:
        tables = {}
        for table in connection.introspection.table_names(cursor):
            cursor.execute(f"SELECT * FROM {connection.ops.quote_name(table)}")
            rows = [tuple(bytes(cell) if isinstance(cell, memoryview) else cell for cell in row) for row in cursor]
            tables[table] = sorted(map(repr, rows))
    return tables


# --- what there is ----------------------------------------------------------------------------------------------------


def test_there_are_many_runs_of_several_nodes_one_that_failed_and_one_that_asks(acme, globex):
    ordered = errand_runs(acme)

    assert len(ordered) >= 36
    assert Counter(run.status for run in ordered.values()) == {
        "completed": len(ordered) - 2,
        "failed": 1,
        "waiting-input": 1,
    }
    assert all(len(json.loads(run.definition.text)["nodes"]) >= 2 for run in ordered.values())
    assert len({run.inputs["email"] for run in ordered.values() if "email" in run.inputs}) >= 14
    assert [run.status for run in errand_runs(globex).values()] == ["completed"] * 13


@pytest.mark.parametrize("slug", ["acme", "globex"])
def test_each_entry_was_written_by_a_node_of_its_run_and_the_log_says_so(folder, slug):
    tenant = access.tenant_by_slug(slug)
    kept = entries(tenant)
    assert kept

    for entry in kept:
        run = runs.find(tenant.id, entry.run_id)
        nodes = {node["id"]: node for node in json.loads(run.definition.text)["nodes"]}
        [fact] = event_log.list_events_about(tenant.id, entry.id)
        assert (fact.type, fact.stream_id) == ("memory.written", entry.run_id)
        assert fact.payload["nodeId"] == entry.node_id
        acts = nodes[entry.node_id].get("agent", {"agentId": run.agent_id})
        assert acts["agentId"] == fact.payload["agentId"] == entry.agent_id


def test_each_run_was_started_by_a_key_that_opens_nothing_any_more(acme, globex):
    for tenant, told in ((acme, ACME), (globex, GLOBEX)):
        keys = ApiKey.objects.of(tenant.id).filter(name=told.key)
        assert {run.principal for run in errand_runs(tenant).values()} <= {f"key_{key.id.hex}" for key in keys}
        assert all(key.revoked_at for key in keys)


def test_a_run_that_failed_shows_which_node_and_why(acme):
    failed = errand_runs(acme)["refund-01"]

    told = [(event.type, event.node_id) for event in event_log.read(acme.id, failed.id)]

    assert failed.error["code"] == "payment_provider_gone"
    assert ("memory.written", "note-request") in told
    assert ("node.failed", "compare-payment") in told
    assert told[-1][0] == "run.failed"
    assert "remember-decision" not in {node for _, node in told}


def test_a_ticket_that_tries_to_be_a_program_is_kept_as_it_was_written(acme):
    ticket = next(errand for errand in ACME.errands if "<script>" in errand.inputs.get("message", ""))

    [summary] = [entry for entry in entries(acme) if "<script>" in entry.content]

    assert ticket.inputs["message"] in summary.content
    assert summary.content.startswith("=HYPERLINK(")
    assert "\u202e" in summary.content
    assert "{{crmKey}}" in summary.content


def test_a_case_tells_of_its_own_customer_alone(acme):
    others = {errand.inputs["email"] for errand in ACME.errands if "email" in errand.inputs}
    cases = [entry for entry in entries(acme) if entry.memory_ref.startswith("support/")]
    assert cases
    for case in cases:
        words = set(case.content.replace("<", " ").replace(">", " ").replace("(", " ").replace(")", " ").split())
        assert words & others == {case.subject}


def test_the_month_before_now_is_told_in_its_order(acme):
    now, ordered = timezone.now(), Run.objects.of(acme.id).filter(system=False).order_by("id")
    begun = list(ordered.values_list("created_at", flat=True))
    assert begun == sorted(begun)
    assert now - timedelta(days=30) < begun[0] < now - timedelta(days=28)
    assert len({at.date() for at in begun}) >= 20
    [failed] = [run for run in ordered if run.status == "failed"]
    assert now - failed.created_at < timedelta(days=7)

    written = [entry.created_at for entry in every_entry(acme)]
    assert written == sorted(written)
    assert len({at.date() for at in written}) >= 20
    assert written[-1] <= now
    recorded = list(AuditRecord.objects.of(acme.id).order_by("seq").values_list("occurred_at", flat=True))
    assert recorded == sorted(recorded)
    passes = Pass.objects.of(acme.id).exclude(kind="import").values_list("finished_at", flat=True)
    assert {(at.hour, now - at < timedelta(days=1)) for at in passes} == {(3, True)}


def test_some_entries_expire_and_the_digests_are_tagged(acme):
    kept = entries(acme)

    assert {entry.memory_ref for entry in kept if entry.expires_at} == {
        "support/crm",
        "research/questions",
        "refunds/requests",
    }
    digests = [entry for entry in kept if entry.agent_id == "private.acme.nightly"]
    assert len(digests) == 4
    assert all("nightly" in digest.tags and "marta.kowalska" in digest.content for digest in digests)


def test_the_page_of_an_entry_names_its_node(acme):
    entry = entries(acme)[0]

    found = provenance.provenance_of_entry(signed_in("ada@acme.example"), entry)

    assert found.verdict == VerdictKind.NODE


def test_every_agent_has_a_valid_manifest_and_one_says_nothing_about_its_memory(acme, globex):
    for tenant in (acme, globex):
        for installed in registry.agents(tenant.id):
            manifest = json.loads(installed.text)
            assert manifest.pop("packName").startswith("private.")
            assert manifest.pop("packVersion") == installed.version
            schemas.check("agent-manifest", manifest)
    rows = agents.agent_rows(signed_in("ada@acme.example"), discovery.document(), now=timezone.now())

    assert {row.entry.agent_id: row.entry.health for row in rows} == {
        "private.acme.nightly": "satisfied",
        "private.acme.refund-checker": "degraded",
        "private.acme.researcher": "satisfied",
        "private.acme.support-triage": "satisfied",
    }
    [silent] = [row.entry for row in rows if row.entry.degraded_dimensions is None]
    assert (silent.agent_id, silent.degraded) == ("private.acme.refund-checker", ("aiProviders.toolCalling",))


def test_agents_of_acme_work_over_openintent_too_and_none_of_globex(acme, globex):
    [intent] = Intent.objects.of(acme.id)
    tasks = {task.name: task for task in Task.objects.of(acme.id)}
    remembered = [entry for entry in every_entry(acme) if entry.memory_ref.startswith("openintent/")]

    assert {task.status for task in tasks.values()} == {"completed", "running"}
    kept = Counter((row.tier, row.agent_id.rpartition(".")[2]) for row in EntryAddress.objects.of(acme.id))
    assert kept == {
        ("working", "support-triage"): 2,
        ("episodic", "support-triage"): 2,
        ("episodic", "researcher"): 1,
        ("semantic", "researcher"): 2,
    }
    assert len(remembered) == kept.total()
    assert not Intent.objects.of(globex.id).exists()
    assert not EntryAddress.objects.of(globex.id).exists()
    told = event_log.read(acme.id, intent.id)
    [archived] = [event for event in told if event.type == "openintent.memory.archived"]
    assert archived.payload["entriesArchived"] == 2
    assert archived.payload["agentId"] == "private.acme.researcher"


def test_what_an_agent_calls_confidential_is_sealed(acme):
    [row] = EntryAddress.objects.of(acme.id).exclude(sealed=None).select_related("entry", "vault_key")
    assert (row.key, row.entry.content) == ("roastery-north-terms", '{"sealed": "confidential"}')
    assert ledger.entries.value_of(row)["discount_percent"] == 18


# --- what must not be there -------------------------------------------------------------------------------------------


def test_the_crm_key_is_nowhere_but_sealed(acme):
    secret = Secret.objects.of(acme.id).get(name="crm-api-key")
    plain = vault.unseal(secret)
    forms = [plain, b64encode(plain.encode()).decode(), json.dumps(plain)[1:-1]]

    rows = [row for table in everything().values() for row in table]

    assert [row for row in rows if any(form in row for form in forms)] == []
    marked = [entry for entry in entries(acme) if "[REDACTED:crm-api-key]" in entry.content]
    assert len(marked) == 25


def test_acme_and_globex_share_no_entry_run_or_agent_and_both_know_marta(acme, globex):
    ours, theirs = entries(acme), entries(globex)

    assert {entry.id for entry in ours} & {entry.id for entry in theirs} == set()
    assert {entry.agent_id for entry in ours} & {entry.agent_id for entry in theirs} == set()
    assert [entry for entry in ours if "piano" in entry.content] == []
    assert [entry for entry in theirs if "Verona" in entry.content] == []
    assert any(entry.subject == MARTA for entry in ours)
    assert any(entry.subject == MARTA for entry in theirs)


# --- what the passes made of it ---------------------------------------------------------------------------------------


def test_the_desk_s_facts_are_consolidated_and_the_newest_price_stands(acme, globex):
    for tenant, old, new in ((acme, "2,490 EUR", "2,650 EUR"), (globex, "640 EUR", "675 EUR")):
        facts = [entry for entry in every_entry(tenant) if entry.memory_ref == "desk/facts" and not entry.derived]
        assert [entry.retired_kind != "" for entry in facts if old in entry.content] == [True, True]
        assert any(entry.retired_kind == "superseded" for entry in facts if old in entry.content)
        read = [
            entry.content
            for entry in every_entry(tenant)
            if entry.memory_ref == "desk/facts" and not entry.retired_at and entry.derived != "distilled"
        ]
        assert sum(new in content for content in read) == 1
        assert not [content for content in read if old in content]
        assert len(read) == len(facts) - 3


def test_there_are_archives_with_an_index_and_they_hold_no_price_of_yesterday(acme, globex):
    for tenant, old, refs in (
        (acme, "2,490", ["desk/facts", "research/findings", "support/customers"]),
        (globex, "640 EUR", ["desk/facts"]),
    ):
        found = list(Archive.objects.of(tenant.id).exclude(state="withdrawn").order_by("id"))
        assert [archive.memory_ref for archive in found] == refs
        assert all(archive.state == "current" and archive.tokens_used <= archive.token_budget for archive in found)
        assert not [archive for archive in found if old in bytes(archive.body).decode()]
        index = workspace.read_file(tenancy.host_scope(tenant), "MEMORY-INDEX.json")
        assert found[-1].sha256 in index.content


def test_each_pass_is_done_and_was_asked_for_by_the_host(acme, globex):
    for tenant, told in ((acme, ACME), (globex, GLOBEX)):
        rows = list(Pass.objects.of(tenant.id).filter(window=seeding.WINDOW).order_by("id"))
        assert [(row.kind, row.memory_ref) for row in rows] == [(each.kind, each.memory_ref) for each in told.passes]
        assert {(row.state, row.requested_by, row.trigger) for row in rows} == {("done", "host", "host-managed")}


def test_what_was_to_be_done_some_day_becomes_commitments_that_fire_when_they_are_due(acme, globex):
    for tenant, states in (
        (acme, [("time", "armed"), ("predicate", "armed"), ("time", "possible")]),
        (globex, [("time", "armed")]),
    ):
        while inference.read_next(tenant.id, now=timezone.now()):
            pass
        found = Commitment.objects.of(tenant.id).filter(memory_ref="desk/facts").order_by("id")
        assert [(row.condition, row.state) for row in found] == states
        due = max(row.due_at for row in found if row.due_at)
        fired = commitment_firing.process_commitments(tenant.id, clock=lambda due=due: due)
        assert RunEvent.objects.of(tenant.id).filter(type="commitment.fired").count() == fired
        assert Commitment.objects.of(tenant.id).get(id=found[0].id).state == "fired"


# --- what the model has said, and what was forgotten ------------------------------------------------------------------


def test_the_words_of_an_agent_are_what_the_model_answered(acme, globex):
    for tenant, told in ((acme, ACME), (globex, GLOBEX)):
        ordered, asked = errand_runs(tenant), [errand for errand in told.errands if errand.answer]
        assert len(asked) == (35 if tenant == acme else 5)
        for errand in asked:
            run = ordered[errand.key]
            types = Counter(event.type for event in event_log.read(tenant.id, run.id))
            assert (types["console.call.sent"], types["console.call.answered"], types["provider.usage"]) == (1, 1, 1)
            written = [entry.content for entry in entries(tenant) if entry.run_id == run.id]
            assert any(errand.answer in content for content in written) == (errand.key != "ticket-00")


def test_the_page_of_a_night_was_kept_by_a_tool_that_the_model_used(acme):
    night = errand_runs(acme)["night-01"]
    used = [event.payload for event in event_log.read(acme.id, night.id) if event.type == "agent.toolReturned"]
    assert [(each["toolName"], each["status"]) for each in used][-1] == ("openwop:memory.write", "ok")
    [page] = [entry for entry in entries(acme) if entry.run_id == night.id]
    assert (page.node_id, page.tags, page.memory_ref) == ("write-digest", ["nightly"], "nightly/digests")
    assert page.content.startswith("Digest for the first night")


def test_a_customer_was_forgotten_with_a_receipt_and_what_was_distilled_from_them_is_withdrawn(acme):
    [request] = ForgetRequest.objects.of(acme.id)
    assert (request.state, request.receipt["stores"]["memory entries"]["erased"]) == ("forgotten", 3)
    gone, anew = Archive.objects.of(acme.id).filter(memory_ref="support/customers").order_by("id")
    assert (gone.state, gone.withdrawn_because, anew.state) == ("withdrawn", "forgotten", "current")
    assert [each["id"] for each in request.receipt["archivesWithdrawn"]] == [ids.wire("arc", gone.id)]
    assert [row for table in everything().values() for row in table if "harper.lindqvist" in row.lower()] == []


def test_every_thing_that_can_happen_in_a_month_has_a_page_of_the_demo_that_shows_it(acme, client):
    gone = Archive.objects.of(acme.id).get(state="withdrawn")
    client.force_login(Operator.objects.get(email="ada@acme.example"))

    def shown(path, link=""):
        """The text of the page, or of the one that its first link of that kind leads to."""
        text = client.get(path).content.decode()
        if not link:
            return text
        found = re.search(rf'href="({link}[^"?#]+)"', text.partition("<main")[2])
        assert found, f"{path} has no {link}"
        return shown(found[1])

    passed = Pass.objects.of(acme.id).get(window=seeding.WINDOW, kind="consolidate")
    merged = shown(f"/passes/{ids.wire('pass', passed.id)}")
    assert "Word for word the same." in merged
    assert "an earlier value of the same statement: amount" in merged
    wanted = (
        (f"/archives/{ids.wire('arc', gone.id)}", "", "A subject was forgotten."),
        ("/agents", "", "degraded (1)"),
        ("/agents/private.acme.refund-checker", "", "aiProviders.toolCalling"),
        ("/runs?status=failed", "/runs/run_", "payment_provider_gone"),
        ("/runs?status=waiting-approval", "/runs/run_", "waiting"),
        ("/runs?status=waiting-input", "/runs/run_", "In which condition did it come back?"),
        ("/proposals?gate=waiting", "/proposals/prop_", "0 of 1"),
        ("/forget", "/forget/fgt_", "Forgotten and verified"),
        ("/forget/holds", "/forget/holds/hld_", "Evidence in a fraud case"),
        ("/consolidation", "", "no-op"),
        ("/consolidation/duplicates", "", "of the words in common"),
        ("/proposals?state=revised&gate=waiting", "/proposals/prop_", '>Discussion <span class="count">2<'),
        ("/settings/import", "/settings/import/imp_", "memory is missing"),
        ("/memory?q=receipt&ref=shop/notes", "/memory/mem_", "Returns without a receipt go to the workshop first."),
    )
    assert [path for path, link, words in wanted if words not in shown(path, link)] == []


def test_an_endpoint_that_an_operator_has_chosen_stays(acme, folder):
    ada = signed_in("ada@acme.example")
    theirs = {"endpoint_url": "https://models.example/v1", "endpoint_model": "large"}
    memory_policy.change(ada, theirs, now=timezone.now())
    seed(folder)
    assert memory_policy.policy_of(acme.id).endpoint_url == theirs["endpoint_url"]


def test_the_model_is_where_it_was_and_elsewhere_when_its_port_is_taken(tmp_path):
    with model.running(tmp_path) as first, model.running(tmp_path) as there_already:
        assert there_already == first
    with model.running(tmp_path) as again:
        assert again == first
    with socket.create_server((model.HOST, model.port_of(tmp_path))), model.running(tmp_path) as elsewhere:
        assert elsewhere != first
        answer = httpx.post(f"{elsewhere}/chat/completions", json={"messages": [{"role": "user", "content": "a; b"}]})
    assert answer.json()["choices"][0]["message"]["content"] == "a"


# --- proposals --------------------------------------------------------------------------------------------------------


def proposal(tenant, title):
    """The proposal whose title begins like that."""
    return Proposal.objects.of(tenant.id).get(title__startswith=title)


def waiting(tenant):
    """The proposal that a human is to decide about first, and its gate."""
    found = proposal(tenant, "Say what was promised")
    return found, Gate.objects.of(tenant.id).select_related("run").get(proposal_id=found.id)


def test_there_are_proposals_of_every_kind_and_in_every_state_that_a_review_comes_to(acme, globex):
    gates = {gate.proposal_id: gate.run.status for gate in Gate.objects.of(acme.id).select_related("run")}
    found = Proposal.objects.of(acme.id).order_by("id")

    assert [(each.kind, each.state, gates.get(each.id, "")) for each in found] == [
        ("workflow-chain-pack", "applied", "completed"),
        ("prompt-template", "revised", "waiting-approval"),
        ("prompt-template", "draft", ""),
        ("prompt-template", "rejected", ""),
        ("agent-pack", "revised", ""),
        ("automation", "draft", "waiting-approval"),
    ]
    assert {each.kind for each in found} == set(registry.kinds()) == set(Kind.values)
    assert all(each.rationale and each.source_run_ids for each in found)
    assert proposal(acme, "Answer simple tickets").closing_reason
    corrected = {f"run_{run.id.hex}" for run in errand_runs(acme).values() if "corrected" in run.tags}
    assert set(waiting(acme)[0].source_run_ids) == corrected
    assert [each.state for each in Proposal.objects.of(globex.id)] == ["draft"]


def test_what_is_applied_has_had_its_effect_and_the_rest_has_none(acme):
    applied = proposal(acme, "Make the three steps of the desk card")
    card = errand_runs(acme)["card-01"]

    pack = registry.by_ref(acme.id, applied.installed_ref)

    assert pack.text == Revision.objects.of(acme.id).get(proposal_id=applied.id).text
    [part] = registry.parts_of(pack)
    assert [use.run_id for use in registry.uses_of(acme.id, [part.id])] == [card.id]
    [kept] = [entry for entry in entries(acme) if entry.memory_ref == "desk/cards"]
    assert (kept.run_id, kept.agent_id) == (card.id, "private.acme.researcher")
    assert kept.content.startswith("The Doppio on show")
    assert "2,650 EUR" in kept.content
    assert registry.current(acme.id, ArtifactKind.AGENT, "private.acme.researcher").version == "1.1.0"
    assert not Schedule.objects.of(acme.id).exists()


def test_what_the_agents_propose_could_be_applied_as_it_stands(acme, globex):
    for tenant in (acme, globex):
        for each in Proposal.objects.of(tenant.id).filter(state__in=["draft", "revised"]):
            revision = Revision.objects.of(tenant.id).get(proposal_id=each.id, number=each.revision)
            assert installation.require_installable(each, revision.text).sha256 == revision.sha256


def test_ada_may_vote_and_then_a_later_run_uses_what_she_approved(acme, folder):
    ada, (found, gate) = signed_in("ada@acme.example"), waiting(acme)
    assert rules.refusal_to("decide", ada, found, gate, now=timezone.now()) is None
    before = registry.by_ref(acme.id, "prompt:triage.summary@1.0.0")
    assert registry.count_uses(acme.id, [before.id]) == 26

    now = timezone.now()
    lifecycle.decide(ada, found.id, revision=2, sha256=gate.sha256, decision="granted", now=now)
    seeding.to_rest(acme.id, gate.run_id, timezone.now)
    again = run_operations.run_again(ada, errand_runs(acme)["ticket-02"].id, now=timezone.now())
    with seeding.with_the_model(folder):
        seeding.to_rest(acme.id, again.id, timezone.now)

    after = registry.by_ref(acme.id, "prompt:triage.summary@1.1.0")
    assert after.text == Revision.objects.of(acme.id).get(proposal_id=found.id, number=2).text
    assert [use.run_id for use in registry.uses_of(acme.id, [after.id])] == [again.id]
    assert registry.count_uses(acme.id, [before.id]) == 26
    summary = next(entry for entry in entries(acme) if entry.run_id == again.id and "triage" in entry.tags)
    assert "What we promised: a seal kit by post" in summary.content


def test_neither_the_author_nor_the_viewer_may_vote(acme):
    found, gate = waiting(acme)

    for email in ("sam@acme.example", "vera@acme.example"):
        assert rules.refusal_to("decide", signed_in(email), found, gate, now=timezone.now())


# --- seeding again ----------------------------------------------------------------------------------------------------


def test_seeding_again_changes_not_one_row(folder):
    before = everything()

    seeded = seed(folder)

    assert not seeded.changed
    assert everything() == before


def test_seeding_again_leaves_a_later_forget_of_the_same_subject_to_who_asked_for_it(acme, folder):
    execution.preview(signed_in("ada@acme.example"), [ACME.forgets.subject], now=timezone.now())
    before = everything()

    assert not seed(folder).changed

    assert everything() == before


def test_marta_is_found_in_several_runs_and_after_her_forget_and_an_approval_seeding_again_brings_nothing_back(
    acme, folder
):
    ada = signed_in("ada@acme.example")
    _, gate = waiting(acme)
    lifecycle.decide(ada, gate.proposal_id, revision=2, sha256=gate.sha256, decision="granted", now=timezone.now())
    seeding.to_rest(acme.id, gate.run_id, timezone.now)
    kept = {entry.id: entry for entry in every_entry(acme)}
    preview = execution.preview(ada, [MARTA, "Marta Kowalska"], now=timezone.now())
    held, request = next(each for each in preview.holdings if each.store == "memory entries"), preview.request
    hers = [kept[row] for row in held.erase]
    assert (len(hers) >= 12, len({entry.run_id for entry in hers}) >= 6) == (True, True)
    namesakes = {f"{MARTA}.au", f"anna-{MARTA}"}
    assert namesakes <= {kept[row].subject for row in held.suspected}, "suspected, and not found"
    assert not namesakes & {entry.subject for entry in hers}
    execution.confirm(ada, request.id, typed=MARTA, reason="asked for", ticked=set(), now=timezone.now())
    execution.execute(acme.id, request.id, holder="test/1", now=timezone.now(), clock=timezone.now)
    before = everything()

    assert not seed(folder).changed

    assert everything() == before
    left = {entry.subject for entry in entries(acme)}
    assert (MARTA in left, namesakes <= left) == (False, True)
    assert registry.current(acme.id, ArtifactKind.PROMPT_TEMPLATE, "triage.summary").version == "1.1.0"


def small(slug: str) -> story.Story:
    """Acme's story made short, for a tenant of its own."""
    kept = {"ticket-00", "ticket-02", "night-01", "refund-01", "fact-01", "fact-04", "fact-06", "card-01"}
    errands = [errand for errand in ACME.errands if errand.key in kept]
    people = {
        role: f"{name}@{slug}.example" for name, role in (("sam", "author"), ("rosa", "reviewer"), ("ada", "owner"))
    }
    revision: dict[str, Any] = {**(ACME.suggestions[0].revision or {}), "by": people["author"]}
    comments = [{**each, "by": people["reviewer"]} for each in ACME.suggestions[0].comments]
    asked: dict[str, Any] = {"revision": revision, "comments": comments, "asked_by": people["reviewer"]}
    waits = replace(ACME.suggestions[0], source_runs=["ticket-02"], **asked)
    [card] = [each for each in ACME.suggestions if each.approved_by]
    applied = replace(card, source_runs=["fact-01"], asked_by=people["reviewer"], approved_by=people["owner"])
    operators = {email: role for role, email in people.items()}
    made: dict[str, Any] = {"errands": errands, "suggestions": [waits, applied], "passes": ACME.passes[:2]}
    for name in ("forgets", "holds", "imports"):
        made[name] = replace(getattr(ACME, name), by=people["owner"])
    return replace(ACME, slug=slug, operators=operators, **made)


def bare(told: story.Story) -> story.Story:
    """The story without what comes after its runs and proposals: passes, work over OpenIntent, a forget and a hold."""
    return replace(told, passes=[], endeavours=[], forgets=None, holds=None, imports=None)


def picture(slug):
    """What a tenant holds, without the ids and times that differ from one seeding to the next."""
    tenant = access.tenant_by_slug(slug)
    ordered = errand_runs(tenant)
    return {
        "runs": sorted((key, run.workflow_id, run.status) for key, run in ordered.items()),
        "all runs": Run.objects.of(tenant.id).count(),
        "entries": [(entry.memory_ref, entry.node_id, entry.content) for entry in entries(tenant)],
        "operators": Operator.objects.of(tenant.id).count(),
        "secrets": Secret.objects.of(tenant.id).count(),
        "usable keys": ApiKey.objects.of(tenant.id).filter(revoked_at=None).count(),
        "proposals": [(row.title, row.state, row.revision) for row in Proposal.objects.of(tenant.id).order_by("id")],
        "passes": [(row.kind, row.state) for row in Pass.objects.of(tenant.id).order_by("id")],
        "forgotten": [(row.state, erased(row)) for row in ForgetRequest.objects.of(tenant.id) if row.receipt],
        "tasks": [(row.name, row.status, row.assigned_agent) for row in Task.objects.of(tenant.id).order_by("id")],
        "read": [(entry.derived, entry.content) for entry in every_entry(tenant) if not entry.retired_at],
        "applied": [use.installation.ref for use in registry.used_by(ordered["card-01"])]
        if "card-01" in ordered
        else [],
        "gates": [
            (gate.state, gate.run.status) for gate in Gate.objects.of(tenant.id).order_by("id").select_related("run")
        ],
    }


def erased(request):
    """What a forget counted, but for the calls: one that was cut off is kept as lost, and made again."""
    return {store: counts for store, counts in request.receipt["stores"].items() if store != "calls of nodes"}


def test_a_seeding_interrupted_anywhere_is_completed_by_the_next_and_nothing_is_there_twice(spoken, tmp_path):
    """Each seeding is cut off a few looks at the clock after what the earlier ones have done, each time four looks
    later, since a pass that was begun five times is given up."""
    (complete, _), looks = spoken, count()
    seed(complete, small("spoken"), clock=lambda: (next(looks), timezone.now())[1])
    whole, finds_all_there = picture("spoken"), next(looks)
    assert whole["gates"] == [("granted", "completed"), ("open", "waiting-approval")]
    assert "workflow:desk-card@1.0.0" in whole["applied"]

    for first in range(12 if THOROUGH else 1):
        told, folder = small(f"cut-{first}"), tmp_path / str(first)
        folder.mkdir()
        for cuts in count():
            try:
                seed(folder, told, clock=stopping_after(finds_all_there + first + 4 * cuts))
                break
            except KeyboardInterrupt:
                continue
        assert cuts > 9  # else four looks are too many for this seeding
        assert picture(told.slug) == whole, f"interrupted {first} looks further each time"
        assert not seed(folder, told).changed


def stopping_after(looks):
    left = count(looks, -1)

    def clock():
        if next(left) <= 0:
            raise KeyboardInterrupt
        return timezone.now()

    return clock


def test_two_seedings_at_once_order_a_run_and_make_a_proposal_once(acme):
    with seeding.with_a_key(acme, ACME, timezone.now) as scope:
        again = seeding.order(scope, ACME.errands[0], now=timezone.now())
        made = seeding.propose(scope, acme, ACME.suggestions[0], {}, now=timezone.now())

    assert again.id == errand_runs(acme)[ACME.errands[0].key].id
    assert made is False


def test_a_run_that_a_worker_has_already_is_waited_for(tmp_path, monkeypatch):
    told = small("busy")
    seed(tmp_path, replace(bare(told), errands=[], suggestions=[]))
    tenant = access.tenant_by_slug("busy")
    with seeding.with_a_key(tenant, told, timezone.now) as scope:
        run = seeding.order(scope, told.errands[0], now=timezone.now())
    assert runs.claim(tenant.id, run.id, holder="worker/1", now=timezone.now())

    def workers_end(seconds: float) -> None:
        runs.LEASE.release_held_by("worker", now=timezone.now())

    monkeypatch.setattr(seeding, "sleep", workers_end)

    with seeding.with_the_model(tmp_path):
        assert seeding.to_rest(tenant.id, run.id, timezone.now)
    assert runs.find(tenant.id, run.id).status == "completed"


def test_on_a_host_without_gates_nothing_is_asked_for_and_what_is_to_be_applied_is(tmp_path, settings):
    settings.OPENWOP_PROPOSALS_ACTIVATION = "direct-rbac"
    told, needed = bare(small("direct")), {"ticket-02", "fact-01", "card-01"}

    seed(tmp_path, replace(told, errands=[errand for errand in told.errands if errand.key in needed]))

    assert picture("direct")["gates"] == []
    assert [state for _, state, _ in picture("direct")["proposals"]] == ["applied", "revised"]
    assert "workflow:desk-card@1.0.0" in picture("direct")["applied"]


# --- the command and the logins ---------------------------------------------------------------------------------------


# What the whole demo holds is asked on one engine: all that its seeding calls is tested on both where it is defined.
@pytest.mark.engines
def test_the_command_says_what_it_made_and_the_second_time_that_nothing_was(spoken):
    (folder, first), made = spoken, everything()

    with in_a_small_demo("spoken", folder):
        second, third = said_by_the_command(), said_by_the_command(verbosity=0)

    assert everything() == made
    assert first[0] == (
        "Demo made: tenants 1, operators 3, secrets 2, installations 12, runs 8, proposals 2, gates 2, intents 1, "
        "passes 3, receipts 1, holds 1, imports 1."
    )
    assert second[0] == "Demo: complete, nothing was changed."
    assert first[1:] == second[1:] == logins_in(folder)
    assert third == second[:1]


@contextmanager
def in_a_small_demo(slug, folder):
    """The command plays the short story of that tenant, in this data folder."""
    with override_settings(OPENWOP_DATA_DIR=folder), pytest.MonkeyPatch.context() as patched:
        patched.setattr(story, "stories", lambda: [small(slug)])
        yield


def said_by_the_command(**options):
    out = io.StringIO()
    call_command("seed_demo", stdout=out, **options)
    return out.getvalue().splitlines()


def logins_in(folder):
    return (folder / story.LOGINS_FILE).read_text().splitlines()


def test_a_run_that_gets_nowhere_ends_the_command_with_one_sentence(tmp_path, monkeypatch):
    monkeypatch.setattr(seeding, "PATIENCE", -timedelta(seconds=1))

    with (
        in_a_small_demo("stalled", tmp_path),
        pytest.raises(CommandError, match=r"^The demo is not complete: run [0-9a-f-]{36} is pending\.$"),
    ):
        call_command("seed_demo")


def test_the_logins_open_the_door_and_are_kept_for_the_owner_of_the_folder_alone(folder):
    kept = json.loads((folder / story.PASSWORDS_FILE).read_text())

    seeded = seed(folder)
    text = story.write_login_file(folder, seeded.logins)

    assert set(kept) == {
        "ada@acme.example",
        "rosa@acme.example",
        "sam@acme.example",
        "vera@acme.example",
        "gil@globex.example",
    }
    for email, password in kept.items():
        assert check_password(password, Operator.objects.get(email=email).password)
        assert email in text
        assert password in text
    assert (folder / story.LOGINS_FILE).read_text() == text
    assert {(folder / name).stat().st_mode & 0o777 for name in (story.PASSWORDS_FILE, story.LOGINS_FILE)} == {0o600}


def test_a_password_that_is_not_the_kept_one_is_left_alone_and_not_shown(folder, tmp_path):
    text = story.write_login_file(tmp_path, seed(tmp_path).logins)

    assert text.count(story.ANOTHER) == 5
    for password in json.loads((tmp_path / story.PASSWORDS_FILE).read_text()).values():
        assert password not in text


def test_what_is_shown_follows_what_is_true(folder, tmp_path):
    there = seed(folder).logins
    story.write_login_file(tmp_path, there)

    changed = story.write_login_file(tmp_path, [replace(login, password="") for login in there])

    assert (tmp_path / story.LOGINS_FILE).read_text() == changed
    assert [login for login in there if login.password in changed] == []
