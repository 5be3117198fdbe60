"""A distillation: one archive, its entry, its index and its fact, or nothing (RFC 0062)."""

import hashlib
import json
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, timedelta
from threading import Event
from typing import Any
from uuid import UUID

import pytest
import rfc8785
from django.db import connection, transaction
from django.utils import timezone
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from memory import adapter, ledger, memory_policy, model_endpoint, passes, provenance, workspace
from memory.entry_drafts import EntryDraft
from memory.host import event_log, ids, runs, vault
from memory.host.errors import EndpointFailed, Invalid
from memory.host.tenancy import TenantScope
from memory.ledger.entries import Derivation
from memory.ledger.retirement import EntryToRetire
from memory.models import Archive, ArchiveState, Distillate, Pass, WorkspaceFile
from memory.passes import archives, distillation, orders
from memory.passes.archives import withdraw_expired
from memory.passes.orders import RequestedPass
from memory.text import token_budget
from memory.text.encodings import forms_of
from openwop_console.runtime import run_operations
from openwop_console.runtime.run_operations import RunRequest
from tests import archiving, building
from tests.budgets import tries

pytestmark = pytest.mark.django_db

CONTENTS = ("Invoices of Acme must go to Berlin.", "Acme decided to renew for 24 months.", "Never call before 9.")
SECRET = "tok-9f8e7d6c5b4a"


def distil(owner: TenantScope, memory_ref: str = "notes", *, dry_run: bool = False, **options: Any) -> Pass:
    """A distillation as a worker left it."""
    wanted = RequestedPass("distill", memory_ref, options, dry_run)
    work = orders.order(owner, wanted, now=timezone.now())
    found = orders.run_pass(owner.tenant_id, work.id, holder="test/1", clock=timezone.now)
    assert found
    return found


def remember(owner: TenantScope, *contents: str, memory_ref: str = "notes") -> list[Any]:
    run = building.open_run(owner)
    return [building.write(owner, run, content, memory_ref=memory_ref) for content in contents]


def parsed(wire_id: str) -> UUID:
    found = ids.parse("mem", wire_id)
    assert found
    return found


def archive_of(work: Pass) -> Archive:
    return Archive.objects.of(work.tenant_id).get(id=building.id_of("arc", work.outcome["archiveId"]))


def document_of(work: Pass) -> dict[str, Any]:
    return json.loads(bytes(archive_of(work).body))


def facts_of(work: Pass) -> list[tuple[str, dict[str, Any]]]:
    return [(fact.type, fact.payload) for fact in event_log.read(work.tenant_id, work.run_id)]


def index_of(owner: TenantScope) -> dict[str, Any]:
    return json.loads(workspace.read_file(owner, "MEMORY-INDEX.json").content)


def left_behind(owner: TenantScope) -> list[int]:
    rows = (Archive.objects.of(owner.tenant_id), WorkspaceFile.objects.of(owner.tenant_id))
    distilled = [row for row in building.contents(owner) if row.startswith("# ")]
    return [len(distilled), *(found.count() for found in rows)]


def test_a_ref_becomes_an_archive_that_agents_read_and_the_log_names() -> None:
    acme = building.scope()
    written = remember(acme, *CONTENTS)
    work = distil(acme, tokenBudget=8000)
    assert work.state == "done", work.code
    archive, document, outcome = archive_of(work), document_of(work), work.outcome
    assert archive.sha256 == outcome["archiveChecksum"] == hashlib.sha256(bytes(archive.body)).hexdigest()
    assert bytes(archive.body) == rfc8785.dumps(document)
    assert (archive.source_count, archive.corpus_count, archive.state) == (3, 3, "current")
    assert document["coverage"]["text"] == "3 of 3 entries"
    assert document["tokensUsed"] == outcome["tokensUsed"] <= document["tokenBudget"] == 8000
    assert {each["id"] for each in document["sources"]} == {ids.wire("mem", each.id) for each in written}
    entry = adapter.runs.get_entry(building.ref(acme, "notes"), parsed(outcome["outputId"]), now=timezone.now())
    assert entry.content == document["text"]
    assert entry.tags == ("distilled",)
    assert entry.expires_at == archive.keep_until
    kinds = [kind for kind, _ in facts_of(work)]
    assert kinds == [
        "run.started",
        "memory.written",
        "workspace.updated",
        "workspace.updated",
        "memory.compacted",
        "run.completed",
    ]
    assert facts_of(work)[4][1] == {
        "memoryRef": "notes",
        "outputId": outcome["outputId"],
        "sourceCount": 3,
        "trigger": "host-managed",
        "byteSize": len(entry.content.encode()),
        "sourceIds": [ids.wire("mem", each.id) for each in written],
        "distillation": {"tokenBudget": 8000, "tokensUsed": outcome["tokensUsed"], "indexUpdated": True},
    }
    descents = provenance.sources_of(acme.tenant_id, [archive.id])[archive.id]
    assert [each.source_id for each in descents] == [each.id for each in written]
    assert {each.pass_id for each in descents} == {work.id}


@pytest.mark.engines
def test_a_relative_time_is_told_with_the_day_on_which_its_entry_was_written() -> None:
    acme = building.scope()
    (entry,) = remember(acme, "Ben moved to Porto last week.")
    day = entry.created_at.astimezone(UTC).date().isoformat()
    text = document_of(distil(acme, tokenBudget=8000))["text"]
    assert text.endswith(f"\n[{day}] Ben moved to Porto last week.")
    again = document_of(distil(acme, tokenBudget=8000, includeArchives=True))
    assert again["text"].count(f"[{day}]") == 1
    vault.store_secret(acme.tenant_id, "day", day, now=timezone.now())
    assert day not in document_of(distil(acme, tokenBudget=8000))["text"]


def test_what_an_openintent_value_says_is_read_and_its_entry_is_the_source() -> None:
    acme = building.scope()
    value = '{"text":"Depot 1 is in Lyon.\\nIt has \\"four\\" gates.","status":"open"}'
    (entry,) = remember(acme, value)
    document = document_of(distil(acme, tokenBudget=8000))
    said = [each for section in document["sections"] for each in section["sentences"]]
    assert [each["text"] for each in said] == ["status: open", "Depot 1 is in Lyon.", 'It has "four" gates.']
    assert {source for each in said for source in each["sources"]} == {ids.wire("mem", entry.id)}
    assert document["sources"] == [
        {"id": ids.wire("mem", entry.id), "sha256": hashlib.sha256(value.encode()).hexdigest()}
    ]


def test_the_same_work_again_is_the_same_archive_and_its_fact_is_told_again() -> None:
    acme = building.scope()
    remember(acme, *CONTENTS)
    first, second = distil(acme, tokenBudget=500), distil(acme, tokenBudget=500)
    assert second.state == "done", second.code
    assert second.outcome == first.outcome
    assert Archive.objects.of(acme.tenant_id).count() == 1
    assert facts_of(second)[-2] == facts_of(first)[-2]
    assert "memory.written" not in dict(facts_of(second))


def test_work_that_was_superseded_and_is_done_again_is_current_again() -> None:
    acme = building.scope()
    remember(acme, *CONTENTS)
    first = distil(acme, tokenBudget=500)
    other = distil(acme, tokenBudget=600)
    assert archive_of(first).state == "superseded"
    again = distil(acme, tokenBudget=500)
    assert again.outcome["archiveId"] == first.outcome["archiveId"] != other.outcome["archiveId"]
    assert archive_of(first).state == "current"
    assert archive_of(other).state == "superseded"
    assert [line["archiveId"] for line in index_of(acme)["archives"]] == [first.outcome["archiveId"]]


def test_an_archive_that_agents_can_read_no_more_is_made_anew_with_the_same_bytes() -> None:
    acme = building.scope()
    remember(acme, *CONTENTS)
    first = distil(acme)
    ledger.retirement.retire_entry(acme, parsed(first.outcome["outputId"]), reason="", now=timezone.now())
    second = distil(acme)
    assert second.outcome["archiveId"] != first.outcome["archiveId"]
    assert second.outcome["archiveChecksum"] == first.outcome["archiveChecksum"]


def test_given_sources_count_by_their_content_alone() -> None:
    acme, globex = building.scope(), building.scope("globex")
    first = distil(acme, sources=[CONTENTS[0], {"content": CONTENTS[1], "tags": ["crm"]}, CONTENTS[2]])
    turned = distil(acme, sources=[CONTENTS[2], {"content": CONTENTS[1], "tags": ["crm"], "id": 7}, CONTENTS[0]])
    elsewhere = distil(globex, sources=[CONTENTS[2], {"content": CONTENTS[1], "tags": ["crm"]}, CONTENTS[0]])
    assert first.outcome == turned.outcome
    assert first.outcome["archiveChecksum"] == elsewhere.outcome["archiveChecksum"]
    digest = hashlib.sha256(CONTENTS[0].encode()).hexdigest()
    assert {"id": f"sha256:{digest}", "sha256": digest} in document_of(first)["sources"]
    assert "sourceIds" not in facts_of(first)[-2][1]


def test_these_bytes_are_those_of_every_engine_and_every_start() -> None:
    work = distil(building.scope(), "conformance-distill", sources=list(CONTENTS), tokenBudget=8000)
    assert work.outcome["archiveChecksum"] == "8b9becac55a6f8d72a0767b83d03302b7fb28b3b40aad94eb496dee07560facc"


def test_an_archive_has_a_quarter_of_what_there_was_to_read_unless_the_policy_or_the_pass_says_otherwise() -> None:
    acme = building.scope()
    texts = [f"Customer {n} is served by team {n % 7} from {n % 28 + 1} May on." for n in range(60)]
    remember(acme, *texts)
    read = sum(map(token_budget.count, texts))
    usual = distil(acme)
    assert usual.outcome["targetTokens"] == document_of(usual)["targetTokens"] == read // 4
    assert read // 5 < usual.outcome["outputTokens"] <= read // 4
    assert usual.outcome["sourceCount"] == 60
    memory_policy.change(acme, {"target_tokens": 150}, now=timezone.now())
    assert 100 < distil(acme).outcome["outputTokens"] <= 150
    asked = distil(acme, targetTokens=80)
    assert asked.outcome["outputTokens"] <= asked.outcome["targetTokens"] == 80
    assert asked.outcome["archiveChecksum"] != usual.outcome["archiveChecksum"]
    with pytest.raises(Invalid):
        memory_policy.change(acme, {"target_tokens": 100_001}, now=timezone.now())


def test_a_budget_that_cannot_be_met_leaves_nothing_behind_and_its_minimum_is_enough() -> None:
    acme = building.scope()
    remember(acme, *CONTENTS)
    work = distil(acme, tokenBudget=1)
    assert (work.state, work.code) == ("refused", "token_budget_exceeded")
    assert work.outcome["details"]["budget"] == 1
    assert left_behind(acme) == [0, 0, 0]
    assert [kind for kind, _ in facts_of(work)] == ["run.started", "run.failed"]
    minimum = work.outcome["details"]["minimumRequired"]
    assert distil(acme, tokenBudget=minimum - 1).code == "token_budget_exceeded"
    enough = distil(acme, tokenBudget=minimum)
    assert enough.state == "done"
    assert enough.outcome["tokensUsed"] == minimum
    assert (enough.outcome["sourceCount"], enough.outcome["corpusCount"]) == (1, 3)


def test_what_fails_at_the_very_end_leaves_nothing_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    acme = building.scope()
    remember(acme, *CONTENTS)

    def broken(*_: Any, **__: Any) -> None:
        raise RuntimeError("the disk is full")

    with monkeypatch.context() as patching:
        patching.setattr(passes, "finish", broken)
        work = distil(acme)
    assert (work.state, work.code) == ("failed", "internal_error")
    assert left_behind(acme) == [0, 0, 0]


def test_a_pass_that_is_taken_over_after_a_crash_tells_everything_once(monkeypatch: pytest.MonkeyPatch) -> None:
    acme = building.scope()
    remember(acme, *CONTENTS)
    work = orders.order(acme, RequestedPass("distill", "notes"), now=timezone.now())

    class Killed(BaseException):
        """The process is gone."""

    def killed(*_: Any, **__: Any) -> None:
        raise Killed

    with monkeypatch.context() as patching, pytest.raises(Killed):
        patching.setattr(passes, "finish", killed)
        orders.run_pass(acme.tenant_id, work.id, holder="dead/1", clock=timezone.now)

    def later() -> Any:
        return timezone.now() + passes.LEASE.lasts * 2

    done = orders.run_pass(acme.tenant_id, work.id, holder="test/2", clock=later)
    assert done
    assert done.state == "done"
    assert left_behind(acme) == [1, 1, 2]
    assert [kind for kind, _ in facts_of(done)].count("memory.compacted") == 1


def test_a_worker_that_lost_its_pass_writes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    acme = building.scope()
    remember(acme, *CONTENTS)
    work = orders.order(acme, RequestedPass("distill", "notes"), now=timezone.now())
    write = ledger.entries.write_derived

    def overtaken(*given: Any, **named: Any) -> Any:
        passes.claim(acme.tenant_id, work.id, holder="other/1", now=timezone.now() + passes.LEASE.lasts * 2)
        return write(*given, **named)

    monkeypatch.setattr(ledger.entries, "write_derived", overtaken)
    assert orders.run_pass(acme.tenant_id, work.id, holder="test/1", clock=timezone.now) is None
    assert left_behind(acme) == [0, 0, 0]


def test_nothing_to_distil_is_refused() -> None:
    acme = building.scope()
    assert distil(acme, "empty").code == "validation_error"
    remember(acme, "...", memory_ref="dots")
    assert distil(acme, "dots").code == "validation_error"


def test_a_dry_run_tells_what_would_be_covered_and_writes_nothing() -> None:
    acme = building.scope()
    remember(acme, *CONTENTS)
    planned = distil(acme, dry_run=True)
    assert planned.state == "done"
    assert left_behind(acme) == [0, 0, 0]
    done = distil(acme)
    for figure in ("sourceCount", "corpusCount", "tokenBudget", "tokensUsed", "outputTokens"):
        assert planned.outcome[figure] == done.outcome[figure]
    assert "archiveId" not in planned.outcome
    assert distil(acme, dry_run=True, tokenBudget=1).code == "token_budget_exceeded"


def test_without_an_index_none_is_written_and_none_is_claimed() -> None:
    acme = building.scope()
    remember(acme, *CONTENTS)
    work = distil(acme, indexEmitted=False)
    assert work.outcome["indexUpdated"] is False
    assert facts_of(work)[-2][1]["distillation"]["indexUpdated"] is False
    assert left_behind(acme) == [1, 1, 0]


def test_the_index_lists_the_current_archive_of_every_ref_without_content() -> None:
    acme, globex = building.scope(), building.scope("globex")
    remember(acme, *CONTENTS)
    remember(acme, "The depot of Acme is in Bremen.", memory_ref="depots|north")
    remember(globex, "Globex must never be seen.")
    done = {"notes": distil(acme), "depots|north": distil(acme, "depots|north")}
    distil(globex)
    index = index_of(acme)
    assert index["version"] == 1
    assert index["archiveChecksum"] == done["depots|north"].outcome["archiveChecksum"]
    assert (index["entryCount"], index["archiveCount"]) == (1, 2)
    assert index["archives"] == [
        {
            "memoryRef": memory_ref,
            "archiveId": work.outcome["archiveId"],
            "archiveChecksum": work.outcome["archiveChecksum"],
            "covered": work.outcome["sourceCount"],
            "of": work.outcome["corpusCount"],
            "topics": document_of(work)["coverage"]["topics"],
        }
        for memory_ref, work in sorted(done.items())
    ]
    readable = workspace.read_file(acme, "MEMORY-INDEX.md").content
    assert "| notes | 3 of 3 entries |" in readable
    assert "depots\\|north" in readable
    for text in (json.dumps(index), readable):
        assert "Bremen" not in text
        assert "Berlin" not in text
        assert "globex" not in text.casefold()


@pytest.mark.engines
@pytest.mark.django_db(transaction=True)
def test_passes_that_end_together_lose_no_line_of_the_index() -> None:
    acme = building.scope()
    refs = [f"notes/{number}" for number in range(6)]
    for memory_ref in refs:
        remember(acme, *CONTENTS, memory_ref=memory_ref)

    def distilled(memory_ref: str) -> Pass:
        try:
            return distil(acme, memory_ref)
        finally:
            connection.close()

    with ThreadPoolExecutor(3) as pool:
        done = [*pool.map(distilled, refs)]
        done += pool.map(distilled, refs)
    assert {work.state for work in done} == {"done"}
    assert [line["memoryRef"] for line in index_of(acme)["archives"]] == refs
    assert Archive.objects.of(acme.tenant_id).count() == len(refs)


def test_the_index_counts_topics_and_knows_archives_that_do_not_say() -> None:
    acme = building.scope()
    remember(acme, *(f"The invoice of depot {n} must be paid." for n in range(6)))
    work = distil(acme)
    assert index_of(acme)["archives"][0]["topics"] == document_of(work)["coverage"]["topics"] > 0
    archiving.distilled("acme", "An older archive.", memory_ref="older")
    distil(acme)
    assert [line["topics"] > 0 for line in index_of(acme)["archives"]] == [True, False]


@pytest.mark.engines
def test_no_secret_of_the_vault_is_in_anything_that_a_distillation_leaves() -> None:
    acme = building.scope()
    remember(acme, f"The CRM key is {SECRET}.", "Old mark <REDACTED:crm> stays.", "Ask Ana about the key.")
    vault.store_secret(acme.tenant_id, "crm", SECRET, now=timezone.now())
    work = distil(acme)
    given = distil(acme, "given", sources=[f"the key must be {SECRET}", {"content": "x y z", "tags": [SECRET]}])
    assert "[REDACTED:crm]" in document_of(work)["text"]
    assert "<REDACTED" not in document_of(work)["text"]
    texts = [bytes(archive_of(each).body).decode() for each in (work, given)]
    texts += [file.content for file in WorkspaceFile.objects.of(acme.tenant_id)]
    texts += building.contents(acme, "given") + [row for row in building.contents(acme) if row.startswith("# ")]
    texts += [str(facts_of(each)) + str(each.outcome) for each in (work, given)]
    assert not [text for text in texts if SECRET in text]


@tries(15, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.text(st.characters(min_codepoint=33, max_codepoint=0x17F, exclude_characters="]"), min_size=8, max_size=30),
    st.lists(st.sampled_from(["Acme", "must", "\n- ", ". ", "pay", '"', "42", "<REDACTED:old>"]), max_size=12),
)
def test_whatever_the_secret_and_whatever_is_around_it_no_form_of_it_is_left(secret, around) -> None:
    with transaction.atomic():
        acme = building.scope()
        forms = sorted(forms_of(secret))
        texts = [" ".join([*around, form, "is the key", *around]) for form in forms]
        remember(acme, *texts)
        vault.store_secret(acme.tenant_id, "crm", secret, now=timezone.now())
        work = distil(acme)
        assert work.state == "done"
        text = document_of(work)["text"]
        assert not [form for form in forms if form in text.replace("[REDACTED:crm]", "")]
        assert "REDACTED:crm" in text
        transaction.set_rollback(True)


def test_a_secret_that_arrives_while_the_archive_is_made_is_not_in_it(monkeypatch: pytest.MonkeyPatch) -> None:
    acme = building.scope()
    remember(acme, f"The CRM key is {SECRET}.")
    gather = distillation.gather

    def then_kept(*given: Any) -> Any:
        found = gather(*given)
        vault.store_secret(acme.tenant_id, "crm", SECRET, now=timezone.now())
        return found

    monkeypatch.setattr(distillation, "gather", then_kept)
    work = distil(acme)
    assert work.state == "done"
    assert SECRET not in bytes(archive_of(work).body).decode()


def test_what_is_forgotten_while_the_archive_is_made_is_not_in_it(monkeypatch: pytest.MonkeyPatch) -> None:
    acme = building.scope()
    gone, _ = remember(acme, "Marta must be called on Monday.", CONTENTS[0])
    gather = distillation.gather

    def then_forgotten(*given: Any) -> Any:
        found = gather(*given)
        ledger.erase.remove_entries(acme.tenant_id, (gone.id,), reason="forgotten", now=timezone.now())
        return found

    monkeypatch.setattr(distillation, "gather", then_forgotten)
    work = distil(acme)
    assert work.state == "done"
    assert "Marta" not in bytes(archive_of(work).body).decode()
    assert left_behind(acme) == [1, 1, 2]


def during(monkeypatch: pytest.MonkeyPatch, act: Callable[[], object]) -> list[int]:
    """``act`` happens once, when an archive was made and is not stored yet; the length of what is returned says how
    often one was made."""
    build, made = distillation.build_archive, list[int]()

    def then_act(*given: Any) -> Any:
        found = build(*given)
        made.append(len(made))
        if len(made) == 1:
            act()
        return found

    monkeypatch.setattr(distillation, "build_archive", then_act)
    return made


def retire(owner: TenantScope, entry_id: UUID) -> None:
    ledger.retirement.retire_entry(owner, entry_id, reason="planted", now=timezone.now())


def withdraw(owner: TenantScope, archive_id: UUID, *, distil_anew: bool) -> list[Pass]:
    return archives.withdraw_for_person(
        owner, archive_id, reason="planted", distil_anew=distil_anew, now=timezone.now()
    )


def texts_of_archives() -> str:
    return "".join(bytes(row.body).decode() for row in Archive.objects.all())


@pytest.mark.engines
@pytest.mark.parametrize("how", ["retired", "deleted"])
def test_what_is_taken_back_while_the_archive_is_made_is_not_in_it(monkeypatch: pytest.MonkeyPatch, how: str) -> None:
    acme = building.scope()
    gone, _ = remember(acme, "PELICAN must be the password.", CONTENTS[0])
    ways: dict[str, Callable[[], object]] = {
        "retired": lambda: retire(acme, gone.id),
        "deleted": lambda: ledger.erase.remove_entries(
            acme.tenant_id, (gone.id,), reason="deleted", now=timezone.now()
        ),
    }
    made = during(monkeypatch, ways[how])
    work = distil(acme)
    assert (work.state, len(made)) == ("done", 2)
    assert "PELICAN" not in texts_of_archives()
    assert archives.sources_of(bytes(archive_of(work).body)) != []
    assert left_behind(acme) == [1, 1, 2]


@pytest.mark.engines
def test_what_was_retired_and_withdrawn_meanwhile_does_not_come_back(monkeypatch: pytest.MonkeyPatch) -> None:
    acme = building.scope()
    first = archiving.distilled("acme", CONTENTS[0], "PELICAN must be the password.")
    _, planted = archives.sources_of(bytes(first.body))
    ordered: list[Pass] = []

    def take_back() -> None:
        retire(acme, planted)
        ordered.extend(withdraw(acme, first.id, distil_anew=True))

    during(monkeypatch, take_back)
    assert distil(acme).state == "done"
    (anew,) = ordered
    done = orders.run_pass(acme.tenant_id, anew.id, holder="test/2", clock=timezone.now)
    assert done
    assert done.state == "done"
    assert "PELICAN" not in texts_of_archives()
    assert Archive.objects.filter(state=ArchiveState.CURRENT).count() == 1


@pytest.mark.engines
def test_an_archive_that_was_withdrawn_meanwhile_is_no_source_of_the_next_one(monkeypatch: pytest.MonkeyPatch) -> None:
    acme = building.scope()
    first = archiving.archive("acme", [("PELICAN must be the password.", [])])
    remember(acme, CONTENTS[0])
    made = during(monkeypatch, lambda: withdraw(acme, first.id, distil_anew=False))
    work = distil(acme, includeArchives=True)
    assert (work.state, len(made)) == ("done", 2)
    assert "PELICAN" not in texts_of_archives()


def test_an_archive_of_what_was_retired_meanwhile_is_not_made_current_again(monkeypatch: pytest.MonkeyPatch) -> None:
    acme = building.scope()
    gone, *_ = remember(acme, "PELICAN must be the password.", *CONTENTS)
    first = distil(acme)
    republish = distillation.republish

    def then_retired(*given: Any, **named: Any) -> None:
        retire(acme, gone.id)
        republish(*given, **named)

    monkeypatch.setattr(distillation, "republish", then_retired)
    second = distil(acme)
    assert second.state == "done"
    assert second.outcome["archiveId"] != first.outcome["archiveId"]
    assert "PELICAN" not in bytes(archive_of(second).body).decode()


@pytest.mark.parametrize("how", ["expired", "merged"])
def test_a_source_that_expires_or_is_merged_meanwhile_does_not_begin_the_pass_anew(
    monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    acme = building.scope()
    gone, *_ = remember(acme, *CONTENTS)
    ways: dict[str, Callable[[], object]] = {
        "expired": lambda: ledger.erase.remove_entries(
            acme.tenant_id, (gone.id,), reason="expired", now=timezone.now()
        ),
        "merged": lambda: ledger.retirement.retire_entries(
            acme.tenant_id, [EntryToRetire(gone.id, "merged")], now=timezone.now()
        ),
    }
    made = during(monkeypatch, ways[how])
    work = distil(acme)
    assert (work.state, len(made)) == ("done", 1)
    assert gone.id in archives.sources_of(bytes(archive_of(work).body))


@pytest.mark.engines
@pytest.mark.django_db(transaction=True)
def test_a_source_that_is_being_retired_when_the_archive_is_stored_is_not_in_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    acme = building.scope()
    gone, _ = remember(acme, "PELICAN must be the password.", CONTENTS[0])
    is_made, is_retired = Event(), Event()

    def wait() -> None:
        is_made.set()
        assert is_retired.wait(30)

    during(monkeypatch, wait)

    def distilled() -> Pass:
        try:
            return distil(acme)
        finally:
            connection.close()

    with ThreadPoolExecutor(1) as pool:
        work = pool.submit(distilled)
        assert is_made.wait(30)
        with transaction.atomic():
            retire(acme, gone.id)
            is_retired.set()
            time.sleep(0.3)  # the pass waits for the head of the ledger by then
        assert work.result(30).state == "done"
    assert "PELICAN" not in texts_of_archives()


def test_a_source_that_keeps_going_ends_the_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    acme = building.scope()
    remember(acme, *CONTENTS)
    monkeypatch.setattr(adapter.forget, "closed_entries", lambda *_: {ids.new_id()})
    work = distil(acme)
    assert (work.state, work.code) == ("refused", "conflict")
    assert left_behind(acme) == [0, 0, 0]


def test_an_archive_that_is_withdrawn_in_between_is_made_again(monkeypatch: pytest.MonkeyPatch) -> None:
    acme = building.scope()
    remember(acme, *CONTENTS)
    first = distil(acme)
    tell_again = distillation.republish

    def withdrawn(*given: Any, **named: Any) -> None:
        archives.withdraw(acme.tenant_id, [archive_of(first).id], "retention", now=timezone.now())
        tell_again(*given, **named)

    monkeypatch.setattr(distillation, "republish", withdrawn)
    second = distil(acme)
    assert second.state == "done"
    assert second.outcome["archiveId"] != first.outcome["archiveId"]


def test_archives_are_distilled_again_only_when_asked() -> None:
    acme = building.scope()
    remember(acme, *(f"The invoice of depot {n} must be paid." for n in range(4)))
    first = distil(acme, tokenBudget=1000)
    assert distil(acme, tokenBudget=1000).outcome == first.outcome
    deeper = distil(acme, includeArchives=True, tokenBudget=1000)
    document = document_of(deeper)
    assert deeper.outcome["corpusCount"] == 5
    assert first.outcome["outputId"] in {each["id"] for each in document["sources"]}
    said = [sentence for section in document["sections"] for sentence in section["sentences"]]
    assert len(said) == 4
    assert all(first.outcome["outputId"] in sentence["sources"] for sentence in said)


def test_what_passes_made_is_taken_and_what_is_strong_is_known() -> None:
    acme = building.scope()
    run = building.open_run(acme)
    now = timezone.now()
    made = [Derivation(EntryDraft(text), kind) for text, kind in (("Merged.", "merged"), ("Compacted.", "compacted"))]
    merged, _ = ledger.entries.write_derived(building.ref(acme, "notes"), made, run=run, now=now)
    before = distil(acme)
    ledger.entries.strengthen(acme.tenant_id, [(merged.id, 5, now + timedelta(minutes=1))])
    after = distil(acme)
    assert before.outcome["sourceCount"] == after.outcome["sourceCount"] == 2
    assert before.outcome["archiveId"] != after.outcome["archiveId"]


@pytest.mark.engines
def test_what_another_tenant_remembers_is_in_no_archive() -> None:
    acme, globex = building.scope(), building.scope("globex")
    remember(acme, *CONTENTS)
    remember(globex, "Globex must never be seen.")
    work = distil(acme)
    assert "Globex" not in bytes(archive_of(work).body).decode()
    assert not Archive.objects.of(globex.tenant_id).exists()


def test_a_pass_that_is_cancelled_while_it_weighs_leaves_nothing_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    acme = building.scope()
    remember(acme, *CONTENTS)
    work = orders.order(acme, RequestedPass("distill", "notes"), now=timezone.now())
    gather = distillation.gather

    def then_stopped(*given: Any) -> Any:
        found = gather(*given)
        orders.stop(acme, work.id, now=timezone.now())
        return found

    monkeypatch.setattr(distillation, "gather", then_stopped)
    assert orders.run_pass(acme.tenant_id, work.id, holder="test/1", clock=timezone.now).state == "cancelled"
    assert left_behind(acme) == [0, 0, 0]


def test_options_that_make_no_sense_are_refused_by_their_names() -> None:
    for options, field in (
        ({"tokenBudget": 0}, "tokenBudget"),
        ({"tokenBudget": True}, "tokenBudget"),
        ({"tokenBudget": "many"}, "tokenBudget"),
        ({"targetTokens": 0}, "targetTokens"),
        ({"targetTokens": 2.5}, "targetTokens"),
        ({"indexEmitted": "yes"}, "indexEmitted"),
        ({"includeArchives": 1}, "includeArchives"),
        ({"includeExpiring": "yes"}, "includeExpiring"),
        ({"surprise": 1}, "surprise"),
        ({"sources": []}, "sources"),
        ({"sources": "text"}, "sources"),
        ({"sources": [7]}, "sources[0]"),
        ({"sources": ["a", ""]}, "sources[1]"),
        ({"sources": [{"content": "a\x00"}]}, "sources[0].content"),
        ({"sources": ["ü" * 40_000]}, "sources[0]"),
        ({"sources": [{"content": "a", "tags": "crm"}]}, "sources[0].tags"),
        ({"sources": [{"content": "a", "tags": ["x" * 300]}]}, "sources[0].tags"),
    ):
        with pytest.raises(Invalid) as refused:
            distillation.checked_options(options)
        assert [error["field"] for error in refused.value.details["errors"]] == [field], (options, field)


def test_a_budget_is_clamped_and_what_is_left_open_is_filled_in() -> None:
    flags = {"indexEmitted": True, "includeArchives": False, "includeExpiring": False}
    assert distillation.checked_options({}) == {"tokenBudget": 100_000, **flags}
    assert distillation.checked_options({"tokenBudget": 10**9})["tokenBudget"] == 100_000
    whole = distillation.checked_options({"sources": ["a", {"content": "b", "tags": ["x", "x"]}]})
    assert distillation.checked_options(whole) == whole


def test_archives_whose_time_is_over_are_withdrawn() -> None:
    acme = building.scope()
    remember(acme, *CONTENTS)
    work = distil(acme)
    kept_until = archive_of(work).keep_until
    assert kept_until
    assert withdraw_expired(now=kept_until - timedelta(seconds=1)) == 0
    assert withdraw_expired(now=kept_until) == 1
    assert archive_of(work).state == ArchiveState.WITHDRAWN


def endpoint_policy(owner: TenantScope) -> None:
    vault.store_secret(owner.tenant_id, "llm", "key-of-the-endpoint", now=timezone.now())
    changes = {
        "distiller": "endpoint",
        "endpoint_url": "http://127.0.0.1:9/v1",
        "endpoint_model": "small",
        "endpoint_secret": "llm",
    }
    memory_policy.change(owner, changes, now=timezone.now())


def test_an_endpoint_is_asked_once_for_the_same_sources_and_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    acme = building.scope()
    endpoint_policy(acme)
    prompts: list[str] = []
    transactions = len(connection.savepoint_ids)

    def answer(policy: Any, tenant_id: Any, prompt: str, *, max_tokens: int) -> str:
        assert len(connection.savepoint_ids) == transactions, "an endpoint is asked outside of every transaction"
        prompts.append(prompt)
        return f"Acme renews for {24 + len(prompts) - 1} months. Invoices go to Berlin."

    monkeypatch.setattr(model_endpoint, "distil", answer)
    remember(acme, *CONTENTS)
    first = distil(acme, tokenBudget=500)
    assert first.state == "done", first.code
    archives.withdraw(acme.tenant_id, [archive_of(first).id], "retention", now=timezone.now())
    second = distil(acme, tokenBudget=500)
    assert len(prompts) == 1
    assert all(content in prompts[0] for content in CONTENTS)
    assert second.outcome["archiveId"] != first.outcome["archiveId"]
    assert second.outcome["archiveChecksum"] == first.outcome["archiveChecksum"]
    document = document_of(second)
    assert (document["distiller"], document["model"]) == ("endpoint/1", "small")
    assert document["text"].endswith("\nAcme renews for 24 months.\nInvoices go to Berlin.")
    assert len(document["sources"]) == 3


@pytest.mark.engines
def test_an_endpoint_that_fails_leaves_nothing_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    acme = building.scope()
    endpoint_policy(acme)
    remember(acme, *CONTENTS)

    def fails(*_: Any, **__: Any) -> str:
        raise EndpointFailed(reason="timeout")

    monkeypatch.setattr(model_endpoint, "distil", fails)
    work = distil(acme)
    assert (work.state, work.code) == ("refused", "distiller_unavailable")
    monkeypatch.setattr(model_endpoint, "distil", lambda *_, **__: " -- ")
    assert distil(acme).outcome["details"] == {"reason": "empty"}
    assert left_behind(acme) == [0, 0, 0]
    assert not Distillate.objects.of(acme.tenant_id).exists()


def test_a_dry_run_asks_no_endpoint(monkeypatch: pytest.MonkeyPatch) -> None:
    acme = building.scope()
    endpoint_policy(acme)
    remember(acme, *CONTENTS)
    monkeypatch.setattr(model_endpoint, "distil", lambda *_, **__: pytest.fail("the endpoint was asked"))
    assert distil(acme, dry_run=True).state == "done"


def test_a_run_may_be_configured_with_a_budget_for_distillation() -> None:
    acme = building.scope()
    order = RunRequest("conformance-noop", configurable={"distillation.tokenBudget": 8000})
    run = run_operations.create_run(acme, order, now=timezone.now())
    assert runs.find(acme.tenant_id, run.id).configurable["distillation.tokenBudget"] == 8000
