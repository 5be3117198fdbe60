"""Imports of an uploaded file: tried by a worker, confirmed as they were tried, and erased behind it."""

import io
import json
from collections.abc import Callable
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from django.utils import timezone

from memory import entry_files, ledger, ledger_imports, passes, tasks
from memory.entry_files import FileForm, LineResult
from memory.forget import execution
from memory.host import access, erasure, ids, operators, request_slots, tenancy, vault
from memory.host.errors import Conflict, Forbidden, Invalid, NotFound
from memory.host.models import AuditRecord, Operator, Tenant
from memory.host.tenancy import TenantScope
from memory.ledger_imports import Upload
from memory.models import ForgetState, Pass, PassState, UploadPart
from memory.models.entry import MemoryEntry
from tests import building
from tests.memory.test_forgetting import carry_out
from tests.memory.test_transfers import line

pytestmark = pytest.mark.django_db
ANA = "ana.q@exquis.org"
DETECTED = FileForm("")


@pytest.fixture
def ada() -> TenantScope:
    building.tenant("globex")
    return operator_scope()


@pytest.fixture(autouse=True)
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ledger_imports, "AT_ONCE", 2)
    monkeypatch.setattr(ledger_imports, "HOLD_S", 0)  # each in a transaction of its own


def operator_scope(slug: str = "acme", role: str = "operator") -> TenantScope:
    person: Operator = building.operator(slug, role, email=f"{ids.new_id().hex}@{slug}.example")
    return tenancy.scope_without_request(building.tenant(slug).id, ids.wire("usr", person.id), now=timezone.now())


def uploaded(scope: TenantScope, *lines: str | bytes, source: FileForm = DETECTED, name: str = "memory.jsonl") -> Pass:
    body = b"\n".join(each.encode() if isinstance(each, str) else each for each in lines)
    return ledger_imports.upload(scope, io.BytesIO(body), source, name, now=timezone.now())


def carried_out(row: Pass) -> Pass:
    """The pass as a worker left it."""
    tasks.carry_out_pass(row.tenant_id.hex, row.id.hex)
    return Pass.objects.get(id=row.id)


def found(scope: TenantScope, row: Pass) -> Upload:
    return ledger_imports.find(scope, UUID(hex=row.options["upload"]), now=timezone.now())


def confirmed(scope: TenantScope, check: Pass) -> Pass:
    told = {"check": ids.wire("pass", check.id), "sha256": check.options["sha256"]}
    return ledger_imports.confirm(scope, UUID(hex=check.options["upload"]), **told, now=timezone.now())


def contents(slug: str = "acme") -> list[str]:
    return list(MemoryEntry.objects.of(building.tenant(slug).id).order_by("position").values_list("content", flat=True))


def bodies() -> list[bytes]:
    return [bytes(each) for each in UploadPart.objects.values_list("body", flat=True) if each]


@pytest.mark.engines
def test_a_dry_run_tells_what_the_import_then_does_and_only_then_is_anything_stored(ada: TenantScope) -> None:
    lines = [line(number) for number in range(5)]
    there = entry_files.read_line(lines[1].encode(), FileForm(), now=timezone.now())
    entry_files.import_entries(ada, building.open_run(ada), [there], now=timezone.now())
    check = carried_out(uploaded(ada, *lines, "not json", lines[0], "", line(9, content="")))
    assert (check.state, check.done, check.total, check.dry_run) == (PassState.DONE, 8, 8, True)
    expected = {"stored": 4, "here": 2, "gone": 0, "refused": 2}
    assert {name: check.outcome[name] for name in expected} == expected
    assert contents() == ["entry 1"]
    told = [(each.line, each.reason.partition(":")[0]) for each in ledger_imports.refusals(ada, found(ada, check))]
    assert told == [(6, "The line is not JSON"), (9, "The memory entry cannot be stored. (content is empty)")]
    first = ledger_imports.first_entries(ada, found(ada, check), most=5, now=timezone.now())
    assert [each.memory_ref for each in first] == ["notes", "notes"], "those of the first part"
    done = carried_out(confirmed(ada, check))
    assert {name: done.outcome[name] for name in (*expected, "changed")} == expected | {"changed": 0}
    assert contents() == ["entry 1", "entry 0", "entry 2", "entry 3", "entry 4"]
    assert bodies() == [], "nothing is left of the file"
    written_by = set(MemoryEntry.objects.exclude(content="entry 1").values_list("run_id", flat=True))
    assert written_by == {done.run_id}
    records = list(AuditRecord.objects.filter(actor=ada.principal.id).order_by("seq").values_list("action", "details"))
    assert [action for action, _ in records] == ["import.uploaded", "import.confirmed", "memory.imported"]
    assert records[-1][1] == expected | {"sha256": check.options["sha256"]}
    assert "entry" not in str([details for _, details in records])


@pytest.mark.engines
def test_the_same_file_is_one_upload_and_confirming_twice_is_one_import(ada: TenantScope) -> None:
    lines = [line(1), line(2)]
    row = uploaded(ada, *lines)
    assert uploaded(ada, *lines).id == row.id
    check = carried_out(row)
    assert uploaded(ada, *lines).id == row.id
    assert UploadPart.objects.count() == 1
    work = confirmed(ada, check)
    assert confirmed(ada, check).id == work.id
    with pytest.raises(Conflict, match="still running"):
        uploaded(ada, line(3))
    carried_out(work)
    again = carried_out(uploaded(ada, *lines))
    assert (again.outcome["stored"], again.outcome["here"]) == (0, 2)


def test_a_dry_run_under_way_is_not_confirmed_and_not_asked_for_twice(ada: TenantScope) -> None:
    row = uploaded(ada, line(1))
    with pytest.raises(Conflict, match="not done yet"):
        confirmed(ada, row)
    assert ledger_imports.check_again(ada, found(ada, row).id, now=timezone.now()).id == row.id


def test_where_a_file_goes_is_no_secret_of_the_vault(ada: TenantScope) -> None:
    vault.store_secret(ada.tenant_id, "crm", "tok-93fb0c1d7e", now=timezone.now())
    with pytest.raises(Invalid) as refused:
        uploaded(ada, line(1), source=FileForm("mem0", "notes-of-tok-93fb0c1d7e"))
    assert refused.value.details["errors"] == [
        {"field": "memoryRef", "message": "and the agent hold no secret of the tenant"}
    ]
    assert not UploadPart.objects.exists()


def test_a_confirmation_is_refused_when_the_report_would_be_another_one(ada: TenantScope) -> None:
    lines = [line(1), line(2)]
    check = carried_out(uploaded(ada, *lines))
    building.write_each(building.scope(), "something else")
    newer = carried_out(ledger_imports.check_again(ada, found(ada, check).id, now=timezone.now()))
    with pytest.raises(Conflict, match="newer dry run"):
        confirmed(ada, check)
    with pytest.raises(Conflict, match="newer dry run"):
        confirmed(ada, Pass(id=newer.id, options={**newer.options, "sha256": "0" * 64}))
    vault.store_secret(ada.tenant_id, "crm", "tok-93fb0c1d7e", now=timezone.now())
    with pytest.raises(Conflict, match="Secrets of the vault changed"):
        confirmed(ada, newer)
    newer = carried_out(ledger_imports.check_again(ada, found(ada, check).id, now=timezone.now()))
    read = entry_files.read_line(lines[0].encode(), FileForm(), now=timezone.now())
    entry_files.import_entries(ada, building.open_run(ada), [read], now=timezone.now())
    with pytest.raises(Conflict, match="since the dry run"):
        confirmed(ada, newer)
    newer = carried_out(ledger_imports.check_again(ada, found(ada, check).id, now=timezone.now()))
    building.write_each(building.scope(), "what has nothing to do with it")
    assert carried_out(confirmed(ada, newer)).outcome["stored"] == 1


@pytest.mark.engines
def test_who_is_overtaken_while_they_wait_for_the_tenant_does_not_act_on_what_they_read(
    ada: TenantScope, monkeypatch: pytest.MonkeyPatch
) -> None:
    lock = access.lock_tenant

    def overtaken_by(act: Callable[[], Pass]) -> list[Pass]:
        done: list[Pass] = []

        def late(tenant_id: UUID) -> Tenant:
            monkeypatch.setattr(access, "lock_tenant", lock)
            done.append(act())
            return lock(tenant_id)

        monkeypatch.setattr(access, "lock_tenant", late)
        return done

    def check_again() -> Pass:
        return ledger_imports.check_again(ada, UUID(hex=check.options["upload"]), now=timezone.now())

    check = carried_out(uploaded(ada, line(1)))
    overtaken_by(check_again)  # undone with what is refused: both are of one connection
    with pytest.raises(Conflict, match="newer dry run"):
        confirmed(ada, check)
    work = overtaken_by(lambda: confirmed(ada, check))
    assert confirmed(ada, check).id == work[0].id
    assert AuditRecord.objects.filter(action="import.confirmed").count() == 1
    carried_out(work[0])
    check = carried_out(uploaded(ada, line(2)))
    overtaken_by(lambda: confirmed(ada, check))
    with pytest.raises(Conflict):
        check_again()


def killed_at_the_second_part(row: Pass, monkeypatch: pytest.MonkeyPatch) -> None:
    imports, parts = entry_files.import_lines, iter(range(9))

    def die(*given: Any, **named: Any) -> list[LineResult]:
        if next(parts):
            raise KeyboardInterrupt
        return imports(*given, **named)

    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
        patched.setattr(entry_files, "import_lines", die)
        carried_out(row)


def taken_over(row: Pass) -> Pass:
    """The pass as the next worker left it."""
    passes.LEASE.release_held_by(Pass.objects.get(id=row.id).holder.partition("/")[0], now=timezone.now())
    [left] = [each for each in passes.unclaimed(now=timezone.now()) if each.kind == ledger_imports.KIND]
    return carried_out(left)


@pytest.mark.engines
def test_a_worker_that_was_killed_is_followed_by_one_that_goes_on_where_it_was(
    ada: TenantScope, monkeypatch: pytest.MonkeyPatch
) -> None:
    check = carried_out(uploaded(ada, *(line(number) for number in range(6))))
    row = confirmed(ada, check)
    killed_at_the_second_part(row, monkeypatch)
    assert Pass.objects.get(id=row.id).state == PassState.CLAIMED
    assert (len(contents()), len(bodies())) == (2, 2), "what is imported is erased with it"
    assert carried_out(row).state == PassState.CLAIMED, "the dead worker's lease still holds"
    done = taken_over(row)
    assert (done.state, done.outcome["stored"], done.outcome["here"], done.attempts) == (PassState.DONE, 6, 0, 2)
    assert sorted(contents()) == [f"entry {number}" for number in range(6)]


def test_an_import_is_cancelled_between_two_parts_and_keeps_what_is_imported(
    ada: TenantScope, monkeypatch: pytest.MonkeyPatch
) -> None:
    waiting = uploaded(ada, line(1))
    for _ in range(2):
        ledger_imports.remove(ada, found(ada, waiting).id, now=timezone.now())
    assert AuditRecord.objects.filter(action="import.removed").count() == 1, "sent twice"
    assert (Pass.objects.get(id=waiting.id).state, bodies()) == (PassState.CANCELLED, [])
    row = confirmed(ada, carried_out(uploaded(ada, *(line(number) for number in range(6)))))
    imports = entry_files.import_lines

    def cancel(*given: Any, **named: Any) -> list[LineResult]:
        results = imports(*given, **named)
        passes.request_stop(row.tenant_id, row.id, now=timezone.now())
        return results

    monkeypatch.setattr(entry_files, "import_lines", cancel)
    assert carried_out(row).state == PassState.CANCELLED
    assert (len(contents()), bodies()) == (2, [])


@pytest.mark.parametrize("change", [{"role": "viewer"}, {"active": False}])
def test_an_import_ends_at_the_next_part_when_the_rights_of_its_person_are_taken_back(
    ada: TenantScope, monkeypatch: pytest.MonkeyPatch, change: dict[str, Any]
) -> None:
    row = confirmed(ada, carried_out(uploaded(ada, *(line(number) for number in range(6)))))
    imports, person = entry_files.import_lines, ids.parse("usr", ada.principal.id)

    def take_back(*given: Any, **named: Any) -> list[LineResult]:
        results = imports(*given, **named)
        operators.change(building.scope(), person, **change, now=timezone.now())
        return results

    monkeypatch.setattr(entry_files, "import_lines", take_back)
    assert carried_out(row).state == PassState.REFUSED
    assert (len(contents()), bodies()) == (2, [])


def test_an_import_needs_both_permissions_and_is_seen_by_its_person_alone(ada: TenantScope) -> None:
    for role in ("viewer", "author", "reviewer", "agent", "auditor"):
        with pytest.raises(Forbidden):
            uploaded(building.scope(role=role), line(1))
    check = carried_out(uploaded(ada, line(1)))
    upload_id, now = found(ada, check).id, timezone.now()
    for other in (operator_scope(), operator_scope("globex", "owner")):
        for act in (ledger_imports.find, ledger_imports.check_again, ledger_imports.remove):
            with pytest.raises(NotFound):
                act(other, upload_id, now=now)
        with pytest.raises(NotFound):
            confirmed(other, check)
    person = Operator.objects.get(email=ada.principal.display_name)
    row = confirmed(ada, check)
    building.deactivate(person)
    assert carried_out(row).state == PassState.REFUSED
    assert (contents(), bodies()) == ([], [])


def test_what_is_stored_of_an_upload_is_sealed_and_has_no_secret(ada: TenantScope) -> None:
    vault.store_secret(ada.tenant_id, "crm", "tok-93fb0c1d7e", now=timezone.now())
    hidden = line(2, content="it is tok-93fb0c1d7e").replace("tok-", "\\u0074ok-")
    bad = [b'{"not json: tok-93fb0c1d7e', b"tok-93fb0c1d7e \xff"]
    check = carried_out(uploaded(ada, line(1, tags=["tok-93fb0c1d7e"]), hidden, *bad, name="tok-93fb0c1d7e.jsonl"))
    assert check.options["file"] == "[REDACTED:crm].jsonl"
    stored = "\n".join(text for _, text in ledger_imports.texts(ada.tenant_id))
    assert "tok-93" not in stored
    assert stored.count("[REDACTED:crm]") == 3
    assert [reason.reason for reason in ledger_imports.refusals(ada, found(ada, check))][1] == (
        "The line is not UTF-8 from its byte 16 on."
    )
    assert not any(b"entry 1" in each for each in bodies())
    carried_out(confirmed(ada, check))
    assert contents() == ["entry 1", "it is [REDACTED:crm]"]


def test_a_file_that_is_none_of_lines_of_entries_is_refused_at_once(ada: TenantScope) -> None:
    for body, words in (
        (b"", "is empty"),
        (b"\n \n", "is empty"),
        (b"\x1f\x8bxyz", "is compressed"),
        (b"PK\x03\x04", "ZIP"),
        (b"\xff\xfe{\x00", "UTF-16"),
        (b"abc\x00", "is no text"),
        (b'[{"memory": 1}]', "is one JSON document"),
        (b'{"results": []}', "is one JSON document"),
        (b"id,memoryRef,agentId\r\n", "CSV export"),
        (b'{"a": 1}', "is not a known format"),
    ):
        with pytest.raises(Invalid) as refused:
            uploaded(ada, body)
        assert words in str(refused.value.details), (body, words)
        assert not Pass.objects.filter(kind=ledger_imports.KIND).exists(), (body, words)


def test_lines_of_other_stores_are_known_by_their_members_and_go_where_it_was_said(ada: TenantScope) -> None:
    memory = {"id": "1", "memory": "Likes tea", "created_at": "2025-01-02T03:04:05Z"}
    check = carried_out(uploaded(ada, json.dumps(memory), source=FileForm("", "crm/notes", "acme.bot")))
    assert check.options["format"] == "mem0"
    carried_out(confirmed(ada, check))
    assert MemoryEntry.objects.values_list("memory_ref", "agent_id").get() == ("crm/notes", "acme.bot")
    for source in (FileForm("", "openintent/x"), FileForm("", "../x"), FileForm("xml")):
        with pytest.raises(Invalid):
            uploaded(ada, json.dumps(memory), source=source)


def test_a_dry_run_gives_up_on_a_file_of_which_too_many_lines_are_refused(
    ada: TenantScope, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ledger_imports, "MOST_REFUSED", 3)
    row = carried_out(uploaded(ada, *["x"] * 9, source=FileForm("jsonl")))
    assert (row.state, bodies()) == (PassState.REFUSED, [])
    assert len(list(ledger_imports.refusals(ada, found(ada, row)))) == 4
    monkeypatch.setattr(ledger_imports, "MOST_LINES", 3)
    with pytest.raises(Invalid):
        uploaded(ada, *["x"] * 9, source=FileForm("jsonl"))
    assert bodies() == []


@pytest.mark.engines
def test_an_upload_is_gone_after_a_day(ada: TenantScope) -> None:
    check = carried_out(uploaded(ada, *(line(number) for number in range(4))))
    later = timezone.now() + timedelta(hours=25)
    assert ledger_imports.sweep(now=timezone.now()) == 0
    assert not ledger_imports.find(ada, found(ada, check).id, now=later).is_there
    assert ledger_imports.sweep(now=later) == 2
    with pytest.raises(Conflict, match="no longer exists"):
        confirmed(ada, check)


def forgotten(scope: TenantScope) -> Any:
    asked = execution.preview(scope, [ANA], now=timezone.now()).request
    return carry_out(execution.confirm(scope, asked.id, typed=ANA, reason="ticket 17", now=timezone.now()))


@pytest.mark.engines
def test_a_forget_erases_every_upload_of_its_tenant_and_no_other(ada: TenantScope) -> None:
    gil = operator_scope("globex")
    carried_out(uploaded(gil, line(1)))
    carried_out(uploaded(operator_scope(), line(2, content="she likes tea")))
    check = carried_out(uploaded(ada, line(1, content=f"{ANA} likes tea")))
    foreseen = execution.preview(building.scope(), [ANA], now=timezone.now())
    assert [len(each.erase) for each in foreseen.holdings if each.store == "uploaded imports"] == [2]
    done = forgotten(building.scope())
    assert (done.state, done.receipt["stores"]["uploaded imports"]["erased"]) == (ForgetState.FORGOTTEN, 2)
    assert [upload for upload, _ in ledger_imports.texts(ada.tenant_id)] == []
    assert len(bodies()) == 1
    with pytest.raises(Conflict, match="no longer exists"):
        confirmed(ada, check)
    stores = [each.store for each in erasure.registered()]
    assert stores.index("uploaded imports") > stores.index(erasure.ENTRIES)


def test_no_reason_of_a_refused_line_repeats_a_name_in_it(ada: TenantScope) -> None:
    """The reasons outlast the upload, and no forget looks through them."""
    origin = {"system": "langgraph", ANA: 1}
    place = {"tier": "semantic", "agent_id": ANA * 30, "namespace": ANA * 30, "key": ANA, ANA: ANA}
    wrong: dict[str, object] = dict.fromkeys(("id", "memoryRef", "createdAt", "expiresAt", "agentId"), f"\0{ANA}")
    lines = [line(1, **{member: said}) for member, said in wrong.items()]
    lines += [line(1, origin=origin), line(1, origin={ANA: origin}), line(1, address=place, value={ANA: 1})]
    lines += [line(1, tags={ANA: 1}), line(1, content={ANA: 1}), line(1, content="", **{ANA: 1}), f'{{"{ANA}": 1', ANA]
    check = carried_out(uploaded(ada, *lines, source=FileForm("jsonl")))
    told = [each.reason for each in ledger_imports.refusals(ada, found(ada, check))]
    assert (check.outcome["refused"], [reason for reason in told if ANA in reason]) == (len(lines), [])


@pytest.mark.engines
def test_an_import_under_way_stores_nothing_of_a_subject_that_is_forgotten_meanwhile(
    ada: TenantScope, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = [line(number, content=f"{number} {ANA}") for number in range(6)]
    row = confirmed(ada, carried_out(uploaded(ada, *lines)))
    killed_at_the_second_part(row, monkeypatch)
    assert len(contents()) == 2
    assert forgotten(building.scope()).state == ForgetState.FORGOTTEN
    done = taken_over(row)
    assert (done.state, done.run.error["message"]) == (PassState.REFUSED, ledger_imports.ERASED)
    assert contents() == []


@pytest.mark.engines
def test_what_is_imported_of_a_file_that_named_a_forgotten_subject_stays_away(ada: TenantScope) -> None:
    """A ref that named the subject is erased from the pass; the import does not write under what stands there then."""
    row = uploaded(
        ada, json.dumps({"id": "1", "memory": "x", "created_at": "2025-01-02"}), source=FileForm("", f"crm/{ANA}")
    )
    UploadPart.objects.written_by(ledger_imports.WRITER).update(expires_at=timezone.now() + timedelta(days=2))
    forgotten(building.scope())
    assert carried_out(row).state == PassState.REFUSED


@pytest.mark.engines
def test_the_ids_of_a_ledger_that_moved_are_compared_and_not_its_position_alone(ada: TenantScope) -> None:
    check = carried_out(uploaded(ada, line(1)))
    before = ledger.head.position(ada.tenant_id)
    building.write_each(building.scope(), "x")
    assert ledger.head.position(ada.tenant_id) > before
    assert carried_out(confirmed(ada, check)).outcome["stored"] == 1


@pytest.mark.engines
def test_a_dry_run_refuses_an_address_that_an_earlier_line_has_also_after_its_worker_died(
    ada: TenantScope, monkeypatch: pytest.MonkeyPatch
) -> None:
    def at(number: int, tier: str, agent: str, key: str) -> str:
        address = {"tier": tier, "agent_id": agent, "created_by": agent, "namespace": "facts", "key": key}
        return line(number, memoryRef="", value={"n": number}, address=address)

    shared, own, plain = ("semantic", "bot", "k"), ("episodic", "bot", "k"), line(3)
    others = [at(4, "episodic", "ann", "k"), at(5, *own), at(6, "semantic", "ann", "k")]
    row = uploaded(ada, at(1, *shared), at(2, *own), plain, *others, plain)
    killed_at_the_second_part(row, monkeypatch)
    check = taken_over(row)
    assert [check.outcome[each] for each in ("stored", "here", "refused")] == [4, 1, 2]
    told = [(each.line, each.reason) for each in ledger_imports.refusals(ada, found(ada, check))]
    assert told == [(5, "There is already an entry with that key."), (6, "There is already an entry with that key.")]
    done = carried_out(confirmed(ada, check))
    assert [done.outcome[each] for each in ("stored", "here", "refused", "changed")] == [4, 1, 2, 0]


def test_blank_lines_and_long_ones_keep_their_numbers(ada: TenantScope) -> None:
    long = b'"' + b"x" * entry_files.LONGEST
    check = carried_out(uploaded(ada, b"", line(1), b"", b"", b"", b"", long, b"x", source=FileForm("jsonl")))
    assert [each.line for each in ledger_imports.refusals(ada, found(ada, check))] == [7, 8]
    assert check.total == 3


def test_a_line_is_the_same_wherever_the_blocks_that_are_read_begin(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(entry_files, "LONGEST", 20)
    body = b"\xef\xbb\xbffirst\r\n\n \t\n\nfifth" + b"\n" * 9 + b"x" * 50 + b"\n\nlast"
    for size in (3, 7, 20, 1000):
        monkeypatch.setattr(entry_files, "BLOCK", size)
        read = [(number, text[:21]) for number, text in entry_files.lines_of(io.BytesIO(body))]
        assert read == [(1, b"first"), (5, b"fifth"), (14, b"x" * 21), (16, b"last")]


def test_an_upload_lets_other_requests_go_first_behind_every_part(
    ada: TenantScope, monkeypatch: pytest.MonkeyPatch
) -> None:
    breaths: list[int] = []
    monkeypatch.setattr(request_slots, "breathe", lambda: breaths.append(1))
    assert uploaded(ada, *map(line, range(5))).options["parts"] == len(breaths) == 3


@pytest.mark.engines
def test_a_line_that_no_database_keeps_is_refused_and_the_others_are_imported(ada: TenantScope) -> None:
    vault.store_secret(ada.tenant_id, "crm", "tok-93fb0c1d7e", now=timezone.now())
    place = {"tier": "semantic", "agent_id": "scout", "namespace": "n", "key": "k"}
    nested = line(1, address=place, value={"a": 1}).replace('"a": 1', '"a": ' + "[" * 900 + "]" * 900)
    reasons = {
        line(1, content="cut in an emoji \ud83d"): "half a surrogate pair",
        line(1, address=place, value={"\udc00": 1}): "half a surrogate pair",
        line(1, address=place, value={"a": float("nan")}): "a number that is not finite",
        line(1, address=place, value={"a": "x" * 70_000}): "at most 65536 bytes",
        nested: "nested deeper than 65 levels",
        line(1, createdAt="0001-01-01T00:00:00+14:00"): "createdAt is not a time",
        line(1, expiresAt="9999-12-31T23:59:59-14:00"): "expiresAt is not a time",
    }
    check = carried_out(uploaded(ada, line(0, content="whole \U0001f600"), *reasons, line(2), source=FileForm("jsonl")))
    assert (check.state, check.outcome["stored"]) == (PassState.DONE, 2)
    told = [each.reason for each in ledger_imports.refusals(ada, found(ada, check))]
    assert [expected for expected, said in zip(reasons.values(), told, strict=True) if expected not in said] == []
    assert carried_out(confirmed(ada, check)).outcome["stored"] == 2
    memory = {"id": "1", "memory": "x", "created_at": "2025-01-02"}
    odd = [json.dumps(memory | {"user_id": 5}), json.dumps(memory | {"agent_id": ["a"]}), json.dumps(memory)]
    check = carried_out(uploaded(ada, *odd, source=FileForm("mem0")))
    assert (check.state, check.outcome["stored"], check.outcome["refused"]) == (PassState.DONE, 1, 2)


def test_lines_between_blank_ones_are_no_more_parts(ada: TenantScope, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file of a few megabytes would be as many rows as it has lines."""
    apart = [each for number in range(6) for each in (line(number), "", "", "")]
    check = carried_out(uploaded(ada, *apart, "7"))
    assert (check.options["lines"], check.options["parts"], check.outcome["stored"]) == (7, 4, 6)
    assert [each.line for each in ledger_imports.refusals(ada, found(ada, check))] == [25]
    monkeypatch.setattr(ledger_imports, "APART", 4)
    assert uploaded(ada, *apart).options["parts"] == 6, "and a part has no more blank lines than that"
