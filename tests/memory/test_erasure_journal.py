"""What was forgotten is kept, sealed, outside of the database: for the restore of a backup that still has it."""

import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from django.utils import timezone
from pytest_django.fixtures import Settings

from memory.forget import execution
from memory.forget import journal as erasure_journal
from memory.forget.journal import JournalBroken, JournalCut, JournalUnavailable, Mark
from memory.host import ids
from memory.models import ForgetRequest, ForgetState
from openwop_console import backups
from tests import building

pytestmark = pytest.mark.django_db
MARTA = "marta.kowalska@example.com"
BEGINNING = Mark(0, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855")


@pytest.fixture(autouse=True)
def journal(settings: Settings, tmp_path: Path) -> Path:
    settings.OPENWOP_ERASURE_JOURNAL = tmp_path / "erasures"
    return tmp_path / "erasures"


def confirm(name: str = MARTA) -> ForgetRequest:
    owner = building.scope()
    found = execution.preview(owner, [name], now=timezone.now())
    return execution.confirm(owner, found.request.id, typed=name, reason="ticket 17", ticked=set(), now=timezone.now())


def record(name: str = MARTA) -> None:
    """What confirming a forget writes into the journal, and no more of one."""
    erasure_journal.record(ForgetRequest(tenant_id=building.tenant().id, id=ids.new_id()), [name], [])


@pytest.mark.engines
def test_a_forget_is_in_the_journal_once_sealed_and_for_its_owner_alone(
    journal: Path, django_capture_on_commit_callbacks: Any
) -> None:
    with django_capture_on_commit_callbacks(execute=True):
        asked = confirm()
    first = journal.read_bytes()
    execution.execute(asked.tenant_id, asked.id, holder="test/1", now=timezone.now(), clock=timezone.now)

    assert [each.terms for each in erasure_journal.read(BEGINNING)] == [(MARTA,)]
    assert journal.read_bytes() == first
    assert b"kowalska" not in first
    assert stat.S_IMODE(journal.stat().st_mode) == 0o600


def test_a_line_that_was_taken_out_or_changed_is_noticed(journal: Path) -> None:
    for name in ("ada lovelace", "grace hopper", "jean bartik"):
        record(name)
    lines = journal.read_bytes().splitlines(keepends=True)
    assert len(erasure_journal.read(BEGINNING)) == 3

    for damaged in (lines[0] + lines[2], lines[1] + lines[2], lines[0] + lines[1][:-9] + b"AAAAAAA=\n" + lines[2]):
        journal.write_bytes(damaged)
        with pytest.raises(JournalBroken):
            erasure_journal.read(BEGINNING)


def test_a_journal_that_ends_before_the_backup_was_made_is_not_its_own(journal: Path) -> None:
    record("ada lovelace")
    record("grace hopper")
    mark = erasure_journal.mark()
    journal.write_bytes(journal.read_bytes().splitlines(keepends=True)[0])

    with pytest.raises(JournalBroken, match="not the one"):
        erasure_journal.read(mark)


def test_a_journal_begun_anew_is_not_that_of_the_backup_however_long_it_is(journal: Path) -> None:
    record("ada lovelace")
    mark = erasure_journal.mark()
    journal.unlink()
    with pytest.raises(JournalBroken, match="cannot be read"):
        erasure_journal.read(mark)
    record("grace hopper")
    record("jean bartik")

    with pytest.raises(JournalBroken, match="not the one"):
        erasure_journal.read(mark)


def test_hosts_that_write_to_one_journal_at_once_lose_no_line_and_break_no_chain() -> None:
    owner = building.scope()
    requests = [ForgetRequest(tenant_id=owner.tenant_id, id=ids.new_id()) for _ in range(60)]

    def record(number: int) -> None:  # each opens the file for itself, as another host does
        erasure_journal.record(requests[number % 60], [f"name {number % 60}"], [])

    with ThreadPoolExecutor(12) as hosts:
        list(hosts.map(record, range(120)))
    found = erasure_journal.read(BEGINNING)
    assert sorted(each.request_id for each in found) == sorted(each.id.hex for each in requests)


@pytest.mark.engines
def test_lines_of_another_database_in_the_same_journal_forget_nothing_of_this_one() -> None:
    elsewhere = ForgetRequest(tenant_id=ids.new_id(), id=ids.new_id())
    erasure_journal.record(elsewhere, [MARTA], [])
    building.write_each(building.scope(), f"{MARTA} is ours")
    assert [backups._forget_again(each, timezone.now) for each in erasure_journal.read(BEGINNING)] == [False]
    assert building.contents(building.scope()) == [f"{MARTA} is ours"]


@pytest.mark.engines
def test_what_earlier_restores_forgot_again_is_repeated_once_by_the_next() -> None:
    acme, asked = building.scope(), confirm("ada lovelace")
    execution.execute(asked.tenant_id, asked.id, holder="test/1", now=timezone.now(), clock=timezone.now)
    for number in range(4):  # confirmed on the lost host, and by three restores with an earlier release
        request = ForgetRequest(tenant_id=acme.tenant_id, id=ids.new_id())
        erasure_journal.record(request, [MARTA], [str(number) * 32])
    building.write_each(acme, f"{MARTA} is back")

    wanted = backups._to_repeat(erasure_journal.read(BEGINNING))
    assert [(each.terms, each.chosen) for each in wanted] == [
        ((MARTA,), tuple(str(number) * 32 for number in range(4)))
    ]
    assert [backups._forget_again(each, timezone.now) for each in wanted] == [True]
    assert building.contents(acme) == []
    assert len(erasure_journal.read(BEGINNING)) == 5, "what a restore repeats is in it already"


def test_a_journal_under_another_secret_key_says_so(settings: Settings) -> None:
    record()
    settings.SECRET_KEY = "another key"

    with pytest.raises(JournalBroken, match="OPENWOP_SECRET_KEY"):
        erasure_journal.read(BEGINNING)


def test_a_line_that_a_crash_cut_off_is_replaced_by_the_next(journal: Path) -> None:
    record("ada lovelace")
    whole = journal.read_bytes()
    journal.write_bytes(whole + b"0123 half a li")
    record("grace hopper")

    assert journal.read_bytes().startswith(whole)
    assert [each.terms[0] for each in erasure_journal.read(BEGINNING)] == ["ada lovelace", "grace hopper"]


def test_a_journal_whose_last_line_is_cut_off_is_read_only_when_that_is_accepted(journal: Path) -> None:
    record("ada lovelace")
    record("grace hopper")
    whole = journal.read_bytes()
    first = len(whole.splitlines(keepends=True)[0])

    for end in (first + 1, first + 40, len(whole) - 1):
        journal.write_bytes(whole[:end])
        with pytest.raises(JournalCut, match="cut off"):
            erasure_journal.read(BEGINNING)
        assert [each.terms[0] for each in erasure_journal.read(BEGINNING, accept_cut=True)] == ["ada lovelace"]
        manifest = {"journal": {"lines": BEGINNING.lines, "head": BEGINNING.head}}
        with pytest.raises(backups.BackupRefused, match=r"whole copy of the journal.*--accept-cut-journal"):
            backups._erasures(manifest, accept_cut=False)
    journal.write_bytes(whole)
    assert len(erasure_journal.read(BEGINNING)) == 2


def test_nothing_is_forgotten_that_the_journal_cannot_hold(settings: Settings) -> None:
    settings.OPENWOP_ERASURE_JOURNAL = "/dev/null/erasures"

    with pytest.raises(JournalUnavailable):
        confirm()

    assert ForgetRequest.objects.get().state == ForgetState.PREVIEWED


def test_the_rows_that_a_person_chose_are_in_the_journal(journal: Path) -> None:
    owner = building.scope()
    building.write_each(building.scope(), "martakowalska went home", "unrelated")
    found = execution.preview(owner, ["kowalska"], now=timezone.now())
    suspected = {row.hex for holding in found.holdings for row in holding.suspected}
    asked = execution.confirm(
        owner, found.request.id, typed="kowalska", reason="ticket 17", ticked=suspected, now=timezone.now()
    )
    execution.execute(asked.tenant_id, asked.id, holder="test/1", now=timezone.now(), clock=timezone.now)

    [written] = erasure_journal.read(BEGINNING)
    assert suspected
    assert set(written.chosen) == suspected
