"""Passwords cost time and memory; what else a process does goes on meanwhile."""

import os
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from django.conf import settings
from django.contrib.auth.hashers import Argon2PasswordHasher, check_password, make_password
from django.db import connection
from django.test import Client
from django.utils import timezone

from memory.host import operators, request_slots
from memory.host.errors import Busy
from openwop_console import passwords
from tests import building

KEPT = ["openwop_console.passwords.PasswordHasher"]


@pytest.fixture
def slow(monkeypatch: pytest.MonkeyPatch, settings: object) -> Iterator[threading.Event]:
    """Passwords are computed once this is set."""
    settings.PASSWORD_HASHERS = KEPT  # type: ignore[attr-defined]
    go_on = threading.Event()
    verify: Callable[..., bool] = Argon2PasswordHasher.verify
    monkeypatch.setattr(Argon2PasswordHasher, "verify", lambda *given: go_on.wait(20) and verify(*given))
    yield go_on
    go_on.set()


def test_a_password_is_computed_on_one_core_and_behind_whatever_else_wants_it(
    settings: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.PASSWORD_HASHERS = KEPT  # type: ignore[attr-defined]
    verify, priorities = Argon2PasswordHasher.verify, []

    def noted(*given: Any) -> bool:
        priorities.append(os.getpriority(os.PRIO_PROCESS, threading.get_native_id()))
        return bool(verify(*given))

    monkeypatch.setattr(Argon2PasswordHasher, "verify", noted)
    kept = make_password("a right password")
    assert ",p=1$" in kept
    assert check_password("a right password", kept)
    own = os.getpriority(os.PRIO_PROCESS, threading.get_native_id())
    assert sys.platform != "linux" or priorities == [min(own + passwords.GIVES_WAY, 19)]


def in_a_slot(compute: Callable[[], bool]) -> bool:
    with request_slots.hold_slot():
        return compute()


def test_requests_go_on_while_passwords_are_computed_and_too_many_tries_are_refused(
    slow: threading.Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert passwords.WAITING == 40
    monkeypatch.setattr(passwords, "WAITING", 3)
    monkeypatch.setattr(passwords, "_room", threading.BoundedSemaphore(passwords.WAITING))
    kept = make_password("a right password")
    with ThreadPoolExecutor(passwords.WAITING + 8, initializer=request_slots.use_here) as threads:
        try:
            tries = [
                threads.submit(in_a_slot, lambda: check_password("a right password", kept))
                for _ in range(passwords.WAITING)
            ]
            others = [threads.submit(in_a_slot, lambda: True) for _ in range(3 * settings.OPENWOP_WEB_THREADS)]
            assert all(each.result(timeout=10) for each in others)
            with pytest.raises(Busy):
                threads.submit(in_a_slot, lambda: check_password("one too many", kept)).result(timeout=10)
        finally:
            slow.set()
        assert all(each.result(timeout=60) for each in tries)


@pytest.mark.engines
@pytest.mark.django_db(transaction=True)
def test_a_password_is_computed_in_no_transaction_for_which_writers_would_wait(
    settings: object, monkeypatch: pytest.MonkeyPatch, client: Client
) -> None:
    settings.PASSWORD_HASHERS = KEPT  # type: ignore[attr-defined]
    behind_others, within = passwords._behind_others, []

    def noted(compute: Callable[[], object]) -> object:
        within.append(connection.in_atomic_block)
        return behind_others(compute)

    monkeypatch.setattr(passwords, "_behind_others", noted)
    person = building.operator()
    client.force_login(person)
    again = {"current": building.PASSWORD, "password": building.PASSWORD[::-1], "again": building.PASSWORD[::-1]}
    assert client.post("/settings/password", again).status_code == 302
    invitation = operators.invite(building.scope(), "rosa@acme.example", role="viewer", now=timezone.now())
    operators.set_first_password(invitation.operator.id, invitation.token, building.PASSWORD, now=timezone.now())
    assert within == [False] * 4, "one to create, one to check and one to change, and one by the link"
