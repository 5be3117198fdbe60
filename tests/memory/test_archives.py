"""Archives: bytes that never change, found by whoever may, gone when their time is over or a subject is forgotten."""

import hashlib
import json
from collections.abc import Callable
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from django.db import DatabaseError, connection, transaction
from django.utils import timezone

from memory import adapter, ledger, memory_policy, tasks, workspace
from memory.forget import execution, receipts
from memory.forget.erasers.entries import ENTRIES, Archives
from memory.host import audit, event_log, ids, vault
from memory.host.erasure import Identifiers
from memory.host.errors import Conflict, Forbidden, Gone, NotFound
from memory.host.models import WriteGuard
from memory.host.tenancy import TenantScope
from memory.models import Archive, ArchiveState, Distillate, ForgetRequest, ForgetState, Pass
from memory.models.entry import MemoryEntry, Tombstone
from memory.passes import archive_reports, archives, orders
from memory.passes.orders import RequestedPass
from tests import archiving, building
from tests.memory.test_forgetting import everything_stored

pytestmark = pytest.mark.django_db
MARTA = "marta.kowalska@example.com"


def fresh(row: Archive) -> Archive:
    found: Archive = Archive.objects.of(row.tenant_id).get(id=row.id)
    return found


def forget(owner: TenantScope, *, ticked: frozenset[str] = frozenset(), name: str = MARTA) -> ForgetRequest:
    found = execution.preview(owner, [name], now=timezone.now())
    asked = execution.confirm(
        owner, found.request.id, typed=name, reason="ticket 17", ticked=set(ticked), now=timezone.now()
    )
    done = execution.execute(owner.tenant_id, asked.id, holder="test/1", now=timezone.now(), clock=timezone.now)
    assert done is not None
    return done


def planned(owner: TenantScope, name: str = MARTA) -> dict[str, Any]:
    holdings = execution.preview(owner, [name], now=timezone.now()).holdings
    return {
        each.store: {"erase": [row.hex for row in each.erase], "suspected": [row.hex for row in each.suspected]}
        for each in holdings
    }


# --- kept and found -------------------------------------------------------------------------------------------------


@pytest.mark.engines
def test_a_stored_archive_is_current_and_the_one_before_superseded() -> None:
    first, second = archiving.distilled("acme", "one"), archiving.distilled("acme", "two")
    elsewhere = archiving.distilled("acme", "three", memory_ref="other")
    assert [fresh(row).state for row in (first, second, elsewhere)] == ["superseded", "current", "current"]
    assert archives.predecessor_of(second) == first
    assert archives.successor_of(fresh(first)) == second
    assert second.sha256 == hashlib.sha256(bytes(fresh(second).body)).hexdigest()


def test_the_same_work_is_recognised_in_its_ref_until_it_is_withdrawn() -> None:
    made = archiving.distilled("acme", "one")
    acme = building.scope()
    notes, other = building.ref(acme, "notes"), building.ref(acme, "other")
    assert archives.find_same_work(notes, made.sources_sha256) == made
    assert archives.find_same_work(other, made.sources_sha256) is None
    assert archives.find_same_work(notes, "0" * 64) is None
    archives.withdraw(made.tenant_id, [made.id], archives.RETENTION, now=timezone.now())
    assert archives.find_same_work(notes, made.sources_sha256) is None


@pytest.mark.engines
def test_the_database_refuses_to_change_empty_or_delete_an_archive() -> None:
    made = archiving.distilled("acme", "one")
    changes = ("body = %s", "state = 'withdrawn', body = %s", "state = 'superseded', body = %s")
    for statement, given in (
        *((f"UPDATE memory_archive SET {change}", [b"{}"]) for change in changes),
        ("UPDATE memory_archive SET body = %s", [b""]),
        ("DELETE FROM memory_archive", []),
    ):
        with pytest.raises(DatabaseError, match="kept"), transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(statement, given)
        assert bytes(fresh(made).body) == bytes(made.body), statement

    archives.withdraw(made.tenant_id, [made.id], archives.RETENTION, now=timezone.now())
    for statement, given in (
        ("UPDATE memory_archive SET body = %s", [bytes(made.body)]),
        ("DELETE FROM memory_archive", []),
    ):
        with pytest.raises(DatabaseError, match="kept"), transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(statement, given)
        assert bytes(fresh(made).body) == b"", statement
    with pytest.raises(WriteGuard, match=r"memory\.passes\.archives"):
        made.delete()


def test_an_archive_whose_work_is_asked_for_again_is_current_again() -> None:
    first, second = archiving.distilled("acme", "one"), archiving.distilled("acme", "two")
    archives.reinstate(first)
    assert [fresh(row).state for row in (first, second)] == ["current", "superseded"]
    archives.withdraw(first.tenant_id, [second.id], archives.RETENTION, now=timezone.now())
    with pytest.raises(Conflict):
        archives.reinstate(second)
    assert [fresh(row).state for row in (first, second)] == ["current", "withdrawn"]


def test_what_is_foreign_or_none_is_not_found() -> None:
    made = archiving.distilled("acme", "one")
    assert archives.find(building.scope(), made.id) == made
    for owner, row in ((building.scope("globex"), made.id), (building.scope(), ids.new_id()), (building.scope(), None)):
        with pytest.raises(NotFound):
            archives.find(owner, row)


def test_a_key_bound_to_agents_is_shown_no_archive_and_one_without_the_scope_is_refused() -> None:
    made = archiving.distilled("acme", "one")
    with pytest.raises(NotFound):
        archives.find(building.scope("acme", "agent", agents=("acme.writer",)), made.id)
    with pytest.raises(Forbidden):
        archives.find(building.scope("acme", "auditor"), made.id)


@pytest.mark.engines
def test_a_run_of_another_tenant_stores_nothing() -> None:
    acme, globex = building.scope(), building.scope("globex")
    made = archiving.draft(archiving.document([]))
    foreign, at = building.open_run(globex), timezone.now()
    with pytest.raises(NotFound):
        archives.store(
            building.ref(acme, "notes"),
            made,
            archive_id=ids.new_id(),
            entry_id=None,
            run=foreign,
            keep_until=at,
            now=at,
        )
    assert Archive.objects.count() == 0


def test_an_archive_is_not_made_of_what_was_forgotten_meanwhile() -> None:
    acme = building.scope()
    kept = building.remember("acme", f"from {MARTA}", "unrelated").entries
    sources = [found for each in kept if (found := ids.parse("mem", each))]
    forget(acme)
    with pytest.raises(Conflict) as refused:
        archiving.archive("acme", [("from her", sources)])
    assert refused.value.details == {"reason": "forgotten"}
    assert Archive.objects.count() == 0


def test_an_archive_that_is_stored_while_its_source_is_being_withdrawn_goes_with_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    acme = building.scope()
    first = archiving.archive("acme", [("PELICAN is the password", [])])
    remove, late = ledger.erase.remove_entries, list[Archive]()

    def stored_before(*given: Any, **named: Any) -> int:
        if not late:
            late.append(archiving.archive("acme", [("PELICAN is it", [UUID(str(first.entry_id))])]))
        return remove(*given, **named)

    monkeypatch.setattr(ledger.erase, "remove_entries", stored_before)
    archives.withdraw_for_person(acme, first.id, reason="planted", distil_anew=False, now=timezone.now())
    assert [fresh(row).state for row in (first, *late)] == ["withdrawn", "withdrawn"]
    assert not MemoryEntry.objects.filter(id__in=[first.entry_id, late[0].entry_id]).exists()
    taken = audit.newest(acme.tenant_id, audit.AuditFilter(action="archive.withdrawn"))
    assert {row.target for row in taken} == {ids.wire("arc", row.id) for row in (first, *late)}


def test_of_two_who_withdraw_an_archive_at_once_the_later_is_told_and_not_recorded(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    acme, now = building.scope(), timezone.now()
    made, withdraw = archiving.archive("acme", [("PELICAN is the password", [])]), archives.withdraw

    def withdrawn_before(*given: Any, **named: Any) -> int:
        withdraw(*given, **{**named, "now": now - timedelta(seconds=1)})
        return withdraw(*given, **named)

    monkeypatch.setattr(archives, "withdraw", withdrawn_before)
    with pytest.raises(Gone):
        archives.withdraw_for_person(acme, made.id, reason="planted", distil_anew=False, now=now)
    assert audit.newest(acme.tenant_id, audit.AuditFilter(action="archive.withdrawn")) == []


def test_what_an_endpoint_made_for_a_ref_goes_with_its_archive_and_another_tenant_s_stays() -> None:
    made, now = archiving.archive("acme", [("PELICAN is the password", [])]), timezone.now()
    for slug in ("acme", "globex"):
        archives.cache_answer(building.ref(building.scope(slug), "notes"), "a" * 64, "made", now=now)
    archives.withdraw(made.tenant_id, [made.id], archives.REQUESTED, now=now)
    assert archives.cached_answer(made.tenant_id, "a" * 64) is None
    assert archives.cached_answer(building.tenant("globex").id, "a" * 64) == "made"


# --- the end of their time ------------------------------------------------------------------------------------------


def test_an_archive_whose_time_is_over_is_withdrawn_and_says_so() -> None:
    now = timezone.now()
    old = archiving.distilled("acme", "old", now=now - timedelta(days=40))
    archiving.distilled("acme", "middle", now=now - timedelta(days=5))
    young = archiving.distilled("acme", "young", now=now - timedelta(days=3))
    foreign = archiving.distilled("globex", "theirs", now=now - timedelta(days=31))
    assert archives.withdraw_expired(now=now) == 2
    assert archives.withdraw_expired(now=now) == 0
    assert [fresh(row).withdrawn_because for row in (old, young, foreign)] == ["retention", "", "retention"]
    assert (bytes(fresh(old).body), fresh(old).withdrawn_at) == (b"", now)
    with pytest.raises(Gone) as gone:
        archives.find(building.scope(), old.id)
    assert gone.value.details == {"reason": "retention", "successor": ids.wire("arc", young.id)}
    with pytest.raises(Gone) as gone:
        archives.find(building.scope("globex"), foreign.id)
    assert gone.value.details == {"reason": "retention"}


@pytest.mark.engines
def test_what_agents_read_of_an_archive_outlives_its_retention() -> None:
    made = archiving.distilled("acme", "old", now=timezone.now() - timedelta(days=40))
    archives.withdraw_expired(now=timezone.now())
    assert made.entry_id
    assert MemoryEntry.objects.filter(id=made.entry_id).exists()


@pytest.mark.engines
def test_endpoint_texts_go_when_archives_of_their_day_would() -> None:
    now, acme = timezone.now(), building.scope()
    archives.cache_answer(building.ref(acme, "notes"), "a" * 64, "kept", now=now)
    assert archives.withdraw_expired(now=now + timedelta(days=29)) == 0
    assert archives.cached_answer(acme.tenant_id, "a" * 64) == "kept"
    archives.withdraw_expired(now=now + timedelta(days=31))
    assert archives.cached_answer(acme.tenant_id, "a" * 64) is None


# --- the memory index ------------------------------------------------------------------------------------------------

INDEX = ("MEMORY-INDEX.json", "MEMORY-INDEX.md")


def distil(owner: TenantScope, memory_ref: str, **options: Any) -> Archive:
    """The archive of a distillation as a worker left it."""
    work = orders.order(owner, RequestedPass("distill", memory_ref, options), now=timezone.now())
    done = orders.run_pass(owner.tenant_id, work.id, holder="test/1", clock=timezone.now)
    assert done
    return Archive.objects.of(owner.tenant_id).get(id=building.id_of("arc", done.outcome["archiveId"]))


def index_of(owner: TenantScope) -> tuple[dict[str, Any], str]:
    """Both files of the index as they stand."""
    told, readable = (workspace.read_file(owner, path).content for path in INDEX)
    return json.loads(told), readable


def named_in(owner: TenantScope, row: Archive) -> bool:
    whole = json.dumps(index_of(owner))
    return ids.wire("arc", row.id) in whole or row.sha256 in whole


def told_of_the_index(owner: TenantScope) -> list[dict[str, Any]]:
    return [each.payload for each in event_log.read_tenant_log(owner.tenant_id) if each.type == "workspace.updated"]


def test_the_index_names_no_archive_that_was_withdrawn() -> None:
    acme = building.scope()
    building.write_each(acme, f"{MARTA} pays 99 euros a month.")
    building.write_each(acme, "The depot is in Bremen.", memory_ref="depots")
    gone, kept = distil(acme, "notes"), distil(acme, "depots")
    before = index_of(acme)
    assert named_in(acme, gone)
    for because in (archives.FORGOTTEN, archives.RETENTION):
        with building.undone():
            if because == archives.FORGOTTEN:
                assert forget(acme).receipt["distilledAnewBy"] == []
            else:
                archives.withdraw(acme.tenant_id, [gone.id], because, now=timezone.now())
            document, readable = index_of(acme)
            assert [line["archiveId"] for line in document["archives"]] == [ids.wire("arc", kept.id)], because
            assert (document["archiveCount"], document["entryCount"]) == (1, 1)
            assert document["archiveChecksum"] == kept.sha256
            assert not named_in(acme, gone)
            assert "1 of 1 archives" in readable
            assert told_of_the_index(acme) == [{"path": path, "version": 3} for path in INDEX], because
        assert (index_of(acme), fresh(gone).state) == (before, ArchiveState.CURRENT), "a withdrawal that is undone"
    archives.withdraw_expired(now=timezone.now() + timedelta(days=31))
    document, _ = index_of(acme)
    assert (document["archives"], document["archiveCount"]) == ([], 0)
    assert (document["archiveChecksum"], document["entryCount"]) == (None, 0)
    assert not named_in(acme, gone)


def test_the_index_says_of_how_many_entries_an_archive_covers_how_many() -> None:
    acme = building.scope()
    entry, _ = building.write_each(acme, "The depot is in Bremen.", "It opens at 8.")
    archiving.archive("acme", [("The depot is in Bremen.", [entry])], memory_ref="depots", corpus_count=5)
    distil(acme, "notes")
    document, readable = index_of(acme)
    found = {line["memoryRef"]: (line["covered"], line["of"]) for line in document["archives"]}
    assert found == {"depots": (1, 5), "notes": (2, 2)}
    assert "| depots | 1 of 5 entries |" in readable


def test_an_archive_that_the_index_never_learned_was_superseded_leaves_it_as_well() -> None:
    acme = building.scope()
    building.write_each(acme, "The depot is in Bremen.")
    old = distil(acme, "notes")
    new = distil(acme, "notes", tokenBudget=500, indexEmitted=False)
    assert (named_in(acme, old), named_in(acme, new)) == (True, False)
    archives.withdraw(acme.tenant_id, [old.id], archives.RETENTION, now=timezone.now())
    assert (named_in(acme, old), named_in(acme, new)) == (False, True)


def test_an_index_that_names_none_of_the_withdrawn_stays_as_it_is() -> None:
    acme, globex = building.scope(), building.scope("globex")
    for owner in ("acme", "globex"):
        building.remember(owner, "The depot is in Bremen.")
    old, theirs = distil(acme, "notes"), distil(globex, "notes")
    distil(acme, "notes", tokenBudget=500)
    before = index_of(acme), index_of(globex)
    archives.withdraw(acme.tenant_id, [old.id], archives.RETENTION, now=timezone.now())
    assert (index_of(acme), index_of(globex)) == before
    assert told_of_the_index(acme) == []
    assert named_in(globex, theirs)


def test_a_tenant_without_an_index_gets_none() -> None:
    acme = building.scope()
    building.write_each(acme, f"{MARTA} pays 99 euros a month.")
    distil(acme, "notes", indexEmitted=False)
    assert forget(acme).state == ForgetState.FORGOTTEN
    assert workspace.list_files(acme) == []
    assert told_of_the_index(acme) == []


# --- what an endpoint made ------------------------------------------------------------------------------------------


def test_the_first_answer_to_a_request_is_the_one_that_is_kept() -> None:
    acme = building.scope()
    notes = building.ref(acme, "notes")
    assert archives.cached_answer(acme.tenant_id, "a" * 64) is None
    for text in ("first", "second"):
        archives.cache_answer(notes, "a" * 64, text, now=timezone.now())
    assert archives.cached_answer(acme.tenant_id, "a" * 64) == "first"
    assert archives.cached_answer(building.scope("globex").tenant_id, "a" * 64) is None


def test_a_kept_answer_holds_no_secret() -> None:
    acme = building.scope()
    vault.store_secret(acme.tenant_id, "crm", "s3cret-value-of-the-crm", now=timezone.now())
    archives.cache_answer(building.ref(acme, "notes"), "a" * 64, "it is s3cret-value-of-the-crm", now=timezone.now())
    assert archives.cached_answer(acme.tenant_id, "a" * 64) == "it is [REDACTED:crm]"


# --- forgetting -----------------------------------------------------------------------------------------------------


@pytest.mark.engines
def test_an_archive_that_names_the_subject_is_withdrawn_and_its_ref_distilled_anew() -> None:
    acme = building.scope()
    made = archiving.distilled("acme", f"{MARTA} wants a refund", "unrelated", token_budget=777)
    clean = archiving.distilled("acme", "nothing of her", memory_ref="other")
    alone = archiving.distilled("acme", f"all there is: {MARTA}", memory_ref="alone")
    archives.cache_answer(building.ref(acme, "notes"), "a" * 64, f"cached: {MARTA}", now=timezone.now())
    assert "wants a refund" in Archives(Archive).texts(acme.tenant_id, [made.id])[made.id][0], "the preview opens it"
    assert json.loads(bytes(fresh(made).body))["memoryRef"] == "notes"
    done = forget(acme)
    counts = done.receipt["stores"]
    assert (done.state, fresh(alone).state) == (ForgetState.FORGOTTEN, ArchiveState.WITHDRAWN)
    assert (counts["archives"]["planned"], counts["archives"]["erased"]) == (2, 2)
    assert counts["memory entries"]["planned"] == counts["memory entries"]["erased"] == 4, (
        "what agents read of them too"
    )
    assert audit.newest(acme.tenant_id, limit=1)[0].details["counts"] == counts
    with pytest.raises(Gone) as gone:
        archives.find(acme, made.id)
    assert gone.value.details == {"reason": "forgotten"}
    assert made.entry_id
    assert Tombstone.objects.of(acme.tenant_id).get(id=made.entry_id).reason == "forgotten"
    assert fresh(clean).state == ArchiveState.CURRENT
    again = Pass.objects.of(acme.tenant_id).get(kind="distill")
    assert (again.memory_ref, again.window, again.options, again.trigger, again.requested_by) == (
        "notes",
        f"redistil/{made.id.hex}",
        {"tokenBudget": 777},
        "host-managed",
        "host",
    )
    assert done.receipt["distilledAnewBy"] == [ids.wire("pass", again.id)]
    assert receipts.is_genuine(done)
    assert MARTA not in everything_stored().casefold()


def test_a_receipt_signs_what_was_withdrawn_and_what_is_made_anew_stands_beside_it(drain: Callable[..., int]) -> None:
    acme = building.scope()
    rest = [f"Customer number {number} pays {number} euros a month." for number in range(12)]
    building.write_each(acme, f"{MARTA} pays 99 euros a month.", *rest)
    old = distil(acme, "notes", tokenBudget=2000)
    assert MARTA in bytes(old.body).decode()
    alone = archiving.distilled("acme", f"all there is: {MARTA}", memory_ref="alone")
    unrelated = archiving.distilled("acme", "unrelated", memory_ref="other")
    archives.withdraw(acme.tenant_id, [unrelated.id], archives.RETENTION, now=timezone.now())
    done = forget(acme)
    signed = json.dumps(done.receipt)
    withdrawn = [{"id": ids.wire("arc", row.id), "sha256": row.sha256} for row in (old, alone)]
    assert done.receipt["archivesWithdrawn"] == withdrawn
    [pass_id] = done.receipt["distilledAnewBy"]
    first, second = archive_reports.withdrawn_by_receipt(acme.tenant_id, done.receipt)
    assert (first.id, first.sha256, first.pass_id, first.pass_state, first.made) == (
        *withdrawn[0].values(), pass_id, "waiting", None
    )  # fmt: skip
    assert (second.id, second.pass_id, second.made) == (withdrawn[1]["id"], "", None)
    tasks.enqueue_unattended()
    drain()
    new = Archive.objects.get(memory_ref="notes", state="current")
    assert new.sha256 != old.sha256
    assert (new.token_budget, new.source_count) == (2000, 12)
    assert MARTA not in bytes(new.body).decode()
    with pytest.raises(Gone) as gone:
        archives.find(acme, old.id)
    assert gone.value.details == {"reason": "forgotten", "successor": ids.wire("arc", new.id)}
    again = orders.find(acme, ids.parse("pass", pass_id))
    assert (again.state, again.outcome["archiveId"]) == ("done", ids.wire("arc", new.id))
    first, second = archive_reports.withdrawn_by_receipt(acme.tenant_id, done.receipt)
    assert (first.pass_state, first.made, second.made) == ("done", new, None)
    assert first.made_id == ids.wire("arc", new.id)
    done.refresh_from_db()
    assert json.dumps(done.receipt, sort_keys=True) == json.dumps(json.loads(signed), sort_keys=True)
    assert receipts.is_genuine(done)


def test_a_receipt_of_before_archives_were_named_names_none() -> None:
    acme = building.scope()
    assert archive_reports.withdrawn_by_receipt(acme.tenant_id, None) == []
    assert archive_reports.withdrawn_by_receipt(acme.tenant_id, {"stores": {}}) == []


def test_an_archive_goes_with_a_source_of_it_although_it_does_not_name_the_subject() -> None:
    acme = building.scope()
    entry = ids.parse("mem", building.remember("acme", f"{MARTA} lives in Bonn").entries[0])
    building.write_each(acme, "somebody else")
    assert entry
    made = archiving.archive("acme", [("A customer lives in Bonn", [entry])])
    upon = archiving.archive("acme", [("Somebody lives in Bonn", [UUID(str(made.entry_id))])])
    assert set(planned(acme)["archives"]["erase"]) == {made.id.hex, upon.id.hex}
    done = forget(acme)
    assert [fresh(row).withdrawn_because for row in (made, upon)] == ["forgotten", "forgotten"]
    read_as = [UUID(str(made.entry_id)), UUID(str(upon.entry_id))]
    assert adapter.forget.forgotten_entries(acme.tenant_id, read_as) == set(read_as)
    assert len(done.receipt["distilledAnewBy"]) == 1


def test_an_archive_that_is_stored_just_before_its_source_is_erased_goes_with_it() -> None:
    """No look found it: the source is erased later in the same forget."""
    acme = building.scope()
    (entry,) = building.write_each(acme, f"{MARTA} lives in Bonn")
    made = archiving.archive("acme", [("A customer lives in Bonn", [entry])])
    ENTRIES.erase(acme.tenant_id, Identifiers((MARTA,)), (entry,), ticked=False, now=timezone.now())
    assert (fresh(made).withdrawn_because, bytes(fresh(made).body)) == ("forgotten", b"")


def test_a_source_that_a_person_ticks_takes_its_archive_along() -> None:
    acme = building.scope()
    entry = ids.parse("mem", building.remember("acme", f"ana{MARTA} lives in Bonn").entries[0])
    assert entry
    made = archiving.archive("acme", [("A customer lives in Bonn", [entry])])
    plan = planned(acme)
    assert (plan["archives"]["erase"], plan["archives"]["suspected"]) == ([], [made.id.hex])
    spared = forget(acme)
    assert (spared.state, fresh(made).state) == (ForgetState.FORGOTTEN, ArchiveState.CURRENT)
    done = forget(acme, ticked=frozenset({entry.hex}))
    assert (done.state, fresh(made).withdrawn_because) == (ForgetState.FORGOTTEN, "forgotten")


def test_an_archive_that_went_for_another_reason_meanwhile_is_not_distilled_anew_by_a_forget() -> None:
    acme, now = building.scope(), timezone.now()
    lost = archiving.distilled("acme", f"{MARTA} called")
    withdrawn = archiving.distilled("acme", "nothing of her", memory_ref="other")
    building.write_each(acme, "somebody else")
    building.write_each(acme, "somebody else", memory_ref="other")
    found = execution.preview(acme, [MARTA], now=now)
    asked = execution.confirm(acme, found.request.id, typed=MARTA, reason="ticket 17", ticked=set(), now=now)
    archives.withdraw_for_person(acme, withdrawn.id, reason="wrong", distil_anew=False, now=timezone.now())
    done = execution.execute(acme.tenant_id, asked.id, holder="test/1", now=timezone.now(), clock=timezone.now)
    assert done
    assert (fresh(lost).state, fresh(withdrawn).state) == ("withdrawn", "withdrawn")
    assert [each["id"] for each in done.receipt["archivesWithdrawn"]] == [ids.wire("arc", lost.id)]
    assert len(done.receipt["distilledAnewBy"]) == 1
    assert [row.memory_ref for row in Pass.objects.filter(kind=archives.DISTILL)] == ["notes"]


def test_an_earlier_archive_that_goes_leaves_the_current_one_as_it_is() -> None:
    acme = building.scope()
    old = archiving.distilled("acme", f"once {MARTA} called")
    new = archiving.distilled("acme", "nothing of her")
    assert forget(acme).receipt["distilledAnewBy"] == []
    assert [fresh(row).state for row in (old, new)] == ["withdrawn", "current"]


@pytest.mark.engines
def test_a_ref_that_names_the_subject_is_said_by_no_archive_any_more() -> None:
    acme = building.scope()
    made = archiving.distilled("acme", "a note", memory_ref=f"customers/{MARTA}")
    archives.cache_answer(building.ref(acme, f"customers/{MARTA}"), "a" * 64, "cached", now=timezone.now())
    done = forget(acme)
    assert (done.state, fresh(made).memory_ref, fresh(made).state) == ("forgotten", "[FORGOTTEN]", "withdrawn")
    assert Distillate.objects.count() == 0
    assert done.receipt["distilledAnewBy"] == []


def test_a_name_inside_a_longer_one_is_suspected_in_an_archive_and_in_what_an_endpoint_made() -> None:
    acme = building.scope()
    building.write_each(acme, "unrelated")
    made = archiving.archive("acme", [(f"ana{MARTA} called", [])])
    archives.cache_answer(building.ref(acme, "notes"), "a" * 64, f"ana{MARTA}", now=timezone.now())
    cached = Distillate.objects.get()
    plan = planned(acme)
    assert plan["archives"]["suspected"] == [made.id.hex]
    assert plan["distillation cache"]["suspected"] == [cached.id.hex]
    forget(acme, ticked=frozenset({cached.id.hex}))
    assert (Distillate.objects.count(), fresh(made).state) == (0, ArchiveState.CURRENT)
    forget(acme, ticked=frozenset({made.id.hex}))
    assert fresh(made).state == ArchiveState.WITHDRAWN


def test_an_archive_that_still_rests_on_something_forgotten_is_residue(monkeypatch: pytest.MonkeyPatch) -> None:
    acme = building.scope()
    entry = ids.parse("mem", building.remember("acme", f"{MARTA} lives in Bonn").entries[0])
    assert entry
    archiving.archive("acme", [("A customer lives in Bonn", [entry])])
    monkeypatch.setattr("memory.passes.archives.withdraw", lambda *_, **__: 0)
    left = forget(acme)
    assert (left.state, left.receipt["residue"]["archives"]) == (ForgetState.RESIDUE, 1)
    monkeypatch.undo()
    again = execution.retry(acme, left.id, now=timezone.now())
    done = execution.execute(acme.tenant_id, again.id, holder="test/2", now=timezone.now(), clock=timezone.now)
    assert done is not None
    assert done.state == ForgetState.FORGOTTEN


def test_a_policy_with_the_subject_in_it_loses_that_and_asks_no_endpoint_any_more(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    acme = building.scope()
    monkeypatch.setattr("memory.host.vault.has_secret", lambda *named: True)  # there then, and removed since
    endpoint = {
        "endpoint_url": "https://models.example/v1",
        "endpoint_model": "small",
        "endpoint_secret": f"of {MARTA}",
    }
    memory_policy.change(acme, {"distiller": "endpoint", "stale_days": 7, **endpoint}, now=timezone.now())
    assert forget(acme).receipt["stores"]["memory policy"]["erased"] == 1
    left = memory_policy.policy_of(acme.tenant_id)
    assert (left.distiller, left.endpoint_secret, left.endpoint_model, left.stale_days) == (
        "extractive",
        "",
        "small",
        7,
    )
    assert MARTA not in everything_stored().casefold()
