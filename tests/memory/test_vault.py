"""The vault: sealed at rest, resolved by scope, rotated as a whole."""

import logging
from collections.abc import Callable

import pytest
from django.db import connection
from django.test import override_settings
from django.utils import timezone

from memory import ledger
from memory.host import audit, audit_chain, ids, key_management, operators, tenancy, vault
from memory.host.errors import Invalid, NotFound
from memory.host.models import Secret, VaultKey
from memory.host.tenancy import TenantScope
from memory.host.vault import VaultLocked
from openwop_console.runtime import run_operations
from openwop_console.runtime.run_operations import RunRequest
from tests import building

pytestmark = pytest.mark.django_db
VALUE = "tok-very-secret-123"


def put(name: str = "crm", value: str = VALUE, **options: str) -> Secret:
    return vault.store_secret(building.tenant().id, name, value, now=timezone.now(), **options)


@pytest.mark.engines
def test_no_column_of_the_database_holds_the_plaintext() -> None:
    put()
    with connection.cursor() as cursor:
        cursor.execute("SELECT sealed FROM host_secret")
        sealed = bytes(cursor.fetchone()[0])
    assert VALUE.encode() not in sealed
    assert vault.unseal(Secret.objects.get()) == VALUE


@pytest.mark.engines
def test_a_run_resolves_its_own_then_its_principal_s_then_the_tenant_s() -> None:
    acme = building.scope()
    run = building.open_run(acme)
    put(value="of the tenant")
    assert vault.resolve(run, "crm", now=timezone.now()) == "of the tenant"
    put(value="of the user", scope="user", owner=run.principal)
    assert vault.resolve(run, "crm", now=timezone.now()) == "of the user"
    put(value="of the run", scope="run", owner=ids.wire("run", run.id))
    assert vault.resolve(run, "crm", now=timezone.now()) == "of the run"
    assert len(vault.known_to(run.tenant_id, run.id)) == 3


def deactivate(who: str) -> None:
    operators.change(building.scope(), ids.parse("usr", who), active=False, now=timezone.now())


def make_viewer(who: str) -> None:
    operators.change(building.scope(), ids.parse("usr", who), role="viewer", now=timezone.now())


def revoke(who: str) -> None:
    key_management.revoke(building.scope(), ids.parse("key", who), now=timezone.now())


def of_person() -> TenantScope:
    rosa = building.operator(role="author", email="rosa@acme.example")
    return tenancy.scope_without_request(building.tenant().id, ids.wire("usr", rosa.id), now=timezone.now())


def of_key() -> TenantScope:
    return building.scope(role="author")


@pytest.mark.parametrize(
    ("made", "taken"),
    [(of_person, deactivate), (of_person, make_viewer), (of_key, revoke)],
    ids=["deactivated", "may start no run", "key revoked"],
)
def test_a_run_opens_no_secret_of_a_principal_who_could_not_start_it_any_more(
    made: Callable[[], TenantScope], taken: Callable[[str], None], caplog: pytest.LogCaptureFixture
) -> None:
    owner = made()
    secret = put(scope="user", owner=owner.principal.id)
    put(value="of the tenant, which does not take its place")
    put("shared", "of the tenant alone")
    steps = [building.remember_node("{{key}}", node_id=name, secrets={"key": name}) for name in ("shared", "crm")]
    building.install("acme", building.definition("two-secrets", *steps))
    waiting = [run_operations.create_run(owner, RunRequest("two-secrets"), now=timezone.now()) for _ in range(2)]
    assert building.advance(waiting[0]).status == "completed"
    taken(owner.principal.id)
    with caplog.at_level(logging.WARNING):
        run = building.advance(waiting[1])
    assert run.status == "failed"
    assert run.error["code"] == "not_found"
    assert run.error["message"] == "The vault holds no secret by that name for this run."
    assert building.contents(building.scope()).count("[REDACTED:shared]") == 2, "the tenant's own open as before"
    assert str(secret.id) in caplog.text
    assert ids.wire("run", run.id) in caplog.text
    assert VALUE not in caplog.text


@pytest.mark.engines
def test_another_tenant_s_secret_is_not_there() -> None:
    put()
    with pytest.raises(NotFound):
        vault.resolve(building.open_run(building.scope("globex")), "crm", now=timezone.now())


@pytest.mark.engines
def test_a_row_that_was_moved_or_changed_does_not_open() -> None:
    first, second = put("one"), put("two")
    second.sealed = first.sealed
    second.save(by=Secret.writer)
    with pytest.raises(VaultLocked):
        vault.unseal(Secret.objects.get(name="two"))


@pytest.mark.engines
def test_rotation_seals_everything_under_one_fresh_key() -> None:
    put("one")
    put("two", "another secret")
    before = VaultKey.objects.get().id
    assert vault.rotate(reseal=ledger.entries.reseal, now=timezone.now()) == (2, ())
    assert VaultKey.objects.get().id != before
    assert [vault.unseal(secret) for secret in Secret.objects.order_by("name")] == [VALUE, "another secret"]


@pytest.mark.engines
def test_a_new_host_key_opens_the_vault_while_the_old_one_is_a_fallback_and_rotation_ends_the_need() -> None:
    put()
    with override_settings(SECRET_KEY="the new key", SECRET_KEY_FALLBACKS=["only-for-tests"]):
        assert vault.unseal(Secret.objects.get()) == VALUE
        vault.rotate(reseal=ledger.entries.reseal, now=timezone.now())
    with override_settings(SECRET_KEY="the new key", SECRET_KEY_FALLBACKS=[]):
        assert vault.unseal(Secret.objects.get()) == VALUE
    with override_settings(SECRET_KEY="a third key", SECRET_KEY_FALLBACKS=[]), pytest.raises(VaultLocked):
        vault.unseal(Secret.objects.get())


def test_what_an_earlier_release_sealed_still_opens() -> None:
    sealed = bytes.fromhex(
        "000102030405060708090a0bc6be4f45205ea2702899427c03477c1c5e27431d48f0f51eda49e451b0804b96703d1d"
    )
    with override_settings(SECRET_KEY="a key of an earlier release", SECRET_KEY_FALLBACKS=[]):
        (key,) = vault.wrapping_keys()
    assert vault.opened(key, sealed, b"row") == VALUE.encode()
    again = {vault.seal(key, VALUE.encode(), b"row") for _ in range(3)}
    assert {len(each) for each in again} == {len(sealed)}
    assert len({each[:12] for each in again}) == 3, "no nonce is used twice"


@pytest.mark.engines
def test_a_secret_that_was_tampered_with_is_left_with_its_key_and_the_others_are_rotated() -> None:
    put("one")
    broken = put("two")
    broken.sealed = b"\x00" * 40
    broken.save(by=Secret.writer)
    key = VaultKey.objects.get().id
    with override_settings(SECRET_KEY="the new key", SECRET_KEY_FALLBACKS=["only-for-tests"]):
        assert vault.rotate(reseal=ledger.entries.reseal, now=timezone.now()) == (1, (key,))
    with override_settings(SECRET_KEY="the new key", SECRET_KEY_FALLBACKS=[]):
        assert vault.rotate(reseal=ledger.entries.reseal, now=timezone.now()) == (1, (key,))
        assert vault.unseal(Secret.objects.get(name="one")) == VALUE
    assert bytes(Secret.objects.get(name="two").sealed) == b"\x00" * 40
    assert VaultKey.objects.count() == 2


@pytest.mark.engines
def test_a_rotation_without_the_key_of_the_vault_changes_nothing() -> None:
    put()
    key = VaultKey.objects.get().id
    with override_settings(SECRET_KEY="another key", SECRET_KEY_FALLBACKS=[]), pytest.raises(VaultLocked):
        vault.rotate(reseal=ledger.entries.reseal, now=timezone.now())
    assert VaultKey.objects.get().id == key
    assert vault.unseal(Secret.objects.get()) == VALUE


@pytest.mark.engines
def test_a_removed_secret_opens_for_nobody_and_still_redacts_for_the_run_that_had_it() -> None:
    acme = building.scope()
    run = building.open_run(acme)
    put()
    vault.resolve(run, "crm", now=timezone.now())
    assert vault.remove(acme.tenant_id, "crm", now=timezone.now()) is True
    with pytest.raises(NotFound):
        vault.resolve(building.open_run(acme), "crm", now=timezone.now())
    building.write(acme, run, f"still {VALUE}")
    assert building.contents(acme) == ["still [REDACTED:crm]"]
    assert vault.remove(acme.tenant_id, "crm", now=timezone.now()) is False


@pytest.mark.engines
def test_what_the_vault_cannot_hold_is_refused() -> None:
    for given in (
        {"name": ""},
        {"name": "a]b"},
        {"name": "x" * 129},
        {"name": "line\nbreak"},
        {"value": ""},
        {"value": "x" * 65_537},
        {"scope": "platform"},
        {"scope": "user"},
        {"owner": "usr_1"},
    ):
        with pytest.raises(Invalid):
            put(**given)
        assert Secret.objects.count() == 0, given


def test_a_name_holds_no_value_that_is_long_enough_to_be_looked_for() -> None:
    assert put("pin of 1234567", "1234567").name == "pin of 1234567"
    with pytest.raises(Invalid):
        put("pin of 12345678", "12345678")
    put("crm", "12345678")
    with pytest.raises(Invalid):
        put("once 12345678", VALUE)


@pytest.mark.engines
def test_a_value_that_was_replaced_is_still_redacted_for_the_run_that_had_it() -> None:
    acme = building.scope()
    run = building.open_run(acme)
    put(value="the-old-value-1")
    vault.resolve(run, "crm", now=timezone.now())
    put(value="the-new-value-2")
    assert vault.resolve(building.open_run(acme), "crm", now=timezone.now()) == "the-new-value-2"
    building.write(acme, run, "said the-old-value-1")
    assert building.contents(acme) == ["said [REDACTED:crm]"]


@pytest.mark.engines
def test_setting_removing_and_rotating_are_audited_without_the_value() -> None:
    acme = building.scope()
    before = audit_chain.total(acme.tenant_id)
    put()
    vault.rotate(reseal=ledger.entries.reseal, now=timezone.now())
    vault.remove(acme.tenant_id, "crm", now=timezone.now())
    records = audit.newest(acme.tenant_id, limit=audit_chain.total(acme.tenant_id) - before)
    assert [record.action for record in records] == ["secret.removed", "vault.rotated", "secret.set"]
    assert VALUE not in str([record.details for record in records])


@pytest.mark.engines
def test_a_value_beyond_a_sane_size_and_one_beyond_the_room_of_the_tenant_are_refused_in_words() -> None:
    acme, now = building.tenant(), timezone.now()
    with pytest.raises(Invalid) as refused:
        vault.store_secret(acme.id, "big", "x" * (vault.MAX_VALUE_BYTES + 1), now=now)
    assert refused.value.details["errors"] == [{"field": "value", "message": "must be 1 to 16384 bytes"}]
    fitting = vault.MAX_TENANT_BYTES // (vault.MAX_VALUE_BYTES + 100)
    for number in range(fitting):
        vault.store_secret(acme.id, f"s{number}", "x" * vault.MAX_VALUE_BYTES, now=now)
    with pytest.raises(Invalid) as refused:
        vault.store_secret(acme.id, "more", "x" * vault.MAX_VALUE_BYTES, now=now)
    assert "secrets of the tenant larger than 524288 bytes" in refused.value.details["errors"][0]["message"]
    vault.store_secret(acme.id, "s0", "y" * vault.MAX_VALUE_BYTES, now=now)
    vault.store_secret(building.tenant("globex").id, "more", "x", now=now)
