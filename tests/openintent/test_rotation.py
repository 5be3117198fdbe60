"""The vault's key is rotated while others write: in parts, and gone on with after a kill."""

import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from django.db import connection, transaction
from django.utils import timezone

from memory import adapter, ledger
from memory.host import vault
from memory.host.models import Secret, VaultKey
from memory.models.address import EntryAddress
from tests import building
from tests.openintent.test_secrecy import remembered

pytestmark = [pytest.mark.engines, pytest.mark.django_db(transaction=True)]
MANY = 5
WAITS = 0.5


class Killed(BaseException):
    """The process was ended."""


@pytest.fixture
def in_parts(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[int], None]], None]:
    """Two values in a part, and what happens in the pause behind each."""

    def with_pauses(happens: Callable[[int], None]) -> None:
        pauses: list[float] = []

        def pause(seconds: float) -> None:
            pauses.append(seconds)
            happens(len(pauses))

        monkeypatch.setattr(vault, "AT_ONCE", 2)
        monkeypatch.setattr("memory.host.vault.time.sleep", pause)

    return with_pauses


@pytest.fixture
def sealed() -> list[EntryAddress]:
    """Secrets and confidential entries, all under one key."""
    tenant = building.tenant()
    for number in range(MANY):
        vault.store_secret(tenant.id, f"s{number}", f"secret {number}", now=timezone.now())
    made = [remembered(f"k{number}", {"n": number}, sensitivity="restricted") for number in range(MANY)]
    assert VaultKey.objects.count() == 1
    return made


def read_all(made: list[EntryAddress]) -> None:
    for number in range(MANY):
        assert vault.unseal(Secret.objects.select_related("key").get(name=f"s{number}")) == f"secret {number}"
    for number, row in enumerate(made):
        found = EntryAddress.objects.select_related("entry", "vault_key").get(id=row.id)
        assert ledger.entries.value_of(found) == {"n": number}


def beside(act: Callable[[], None]) -> None:
    """In another thread, with a connection of its own that waits for no lock longer than a request does."""
    failed: list[BaseException] = []

    def work() -> None:
        try:
            with connection.cursor() as cursor:
                patience = "busy_timeout = 500" if connection.vendor == "sqlite" else None
                cursor.execute(f"PRAGMA {patience}" if patience else "SET lock_timeout = 500")
            act()
        except BaseException as problem:  # noqa: BLE001  # shown by the test's own thread
            failed.append(problem)
        finally:
            connection.close()

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert not failed, failed


def test_others_write_and_read_every_value_between_the_parts_of_a_rotation(
    in_parts: Callable[[Any], None], sealed: list[EntryAddress]
) -> None:
    tenant, pauses, written = building.tenant(), [], []

    def work(pause: int) -> None:
        vault.store_secret(tenant.id, f"meanwhile {pause}", "another secret", now=timezone.now())
        written.append(remembered(f"meanwhile {pause}", {"w": pause}, sensitivity="restricted"))
        read_all(sealed)

    def happens(pause: int) -> None:
        pauses.append(pause)
        beside(lambda: work(pause))

    in_parts(happens)
    done = vault.rotate(reseal=ledger.entries.reseal, now=timezone.now())
    assert done == (2 * MANY, ())
    assert len(pauses) == 4
    key = VaultKey.objects.get()
    assert {row.key_id for row in Secret.objects.all()} == {key.id}
    assert {row.vault_key_id for row in EntryAddress.objects.all()} == {key.id}
    assert Secret.objects.count() == EntryAddress.objects.count() == MANY + len(pauses)
    read_all(sealed)


def test_who_reads_an_entry_while_its_key_is_rotated_away_reads_it_again_under_the_other(
    sealed: list[EntryAddress], monkeypatch: pytest.MonkeyPatch
) -> None:
    has_all_keys = adapter.openintent._has_all_keys
    rotations: list[object] = []

    def behind_a_rotation(found: Sequence[EntryAddress]) -> bool:
        if not rotations:
            rotations.append(vault.rotate(reseal=ledger.entries.reseal, now=timezone.now()))
        return has_all_keys(found)

    monkeypatch.setattr(adapter.openintent, "_has_all_keys", behind_a_rotation)
    row = adapter.openintent.addressed_row(building.tenant().id, sealed[0].id)
    assert row is not None
    assert ledger.entries.value_of(row) == {"n": 0}
    assert rotations == [(2 * MANY, ())]


def test_a_rotation_that_was_killed_is_gone_on_with_by_the_next(
    in_parts: Callable[[Any], None], sealed: list[EntryAddress]
) -> None:
    def happens(pause: int) -> None:
        if pause == 3:
            raise Killed

    in_parts(happens)
    with pytest.raises(Killed):
        vault.rotate(reseal=ledger.entries.reseal, now=timezone.now())
    _, fresh = VaultKey.objects.order_by("id")
    read_all(sealed)
    in_parts(lambda pause: None)
    assert vault.rotate(reseal=ledger.entries.reseal, now=timezone.now()) == (MANY - 2, ())
    assert VaultKey.objects.get().id == fresh.id
    read_all(sealed)


def test_a_rotation_that_was_cut_off_long_ago_is_begun_anew(
    in_parts: Callable[[Any], None], sealed: list[EntryAddress]
) -> None:
    def happens(pause: int) -> None:
        raise Killed

    in_parts(happens)
    with pytest.raises(Killed):
        vault.rotate(reseal=ledger.entries.reseal, now=timezone.now())
    before = set(VaultKey.objects.values_list("id", flat=True))
    in_parts(lambda pause: None)
    assert vault.rotate(reseal=ledger.entries.reseal, now=timezone.now() + 2 * vault.TAKEN_UP) == (2 * MANY, ())
    assert VaultKey.objects.get().id not in before
    read_all(sealed)


def test_who_seals_while_a_rotation_begins_seals_under_the_fresh_key(sealed: list[EntryAddress]) -> None:
    """One holds the old key, the rotation waits for it, and a third waits behind both, and takes its time then."""
    tenant, failed = building.tenant(), []

    def run(act: Callable[[], object]) -> threading.Thread:
        def work() -> None:
            try:
                act()
            except BaseException as problem:  # noqa: BLE001  # shown by the test's own thread
                failed.append(problem)
            finally:
                connection.close()

        thread = threading.Thread(target=work)
        thread.start()
        thread.join(WAITS)
        return thread

    def seal() -> None:
        with transaction.atomic():
            vault.store_secret(tenant.id, "third", "a third secret", now=timezone.now())
            time.sleep(2 * WAITS)

    with transaction.atomic():
        vault.store_secret(tenant.id, "first", "a first secret", now=timezone.now())
        others = [run(lambda: vault.rotate(reseal=ledger.entries.reseal, now=timezone.now())), run(seal)]
    for each in others:
        each.join()
    assert not failed, failed
    assert {row.key_id for row in Secret.objects.all()} == {VaultKey.objects.get().id}
    for name in ("first", "third"):
        assert vault.unseal(Secret.objects.select_related("key").get(name=name)) == f"a {name} secret"
    read_all(sealed)
