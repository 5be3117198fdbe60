"""The vault: sealed at rest, resolved by scope, rotated as a whole."""

import pytest
from django.db import connection
from django.test import override_settings
from django.utils import timezone

from memory import ledger
from memory.host import audit, audit_chain, ids, vault
from memory.host.errors import Invalid, NotFound
from memory.host.models import Secret, VaultKey
from memory.host.vault import VaultLocked
from tests import building

pytestmark = [pytest.mark.django_db, pytest.mark.engines]
VALUE = "tok-very-secret-123"


def put(name: str = "crm", value: str = VALUE, **options: str) -> Secret:
    return vault.put(building.tenant().id, name, value, now=timezone.now(), **options)


def test_no_column_of_the_database_holds_the_plaintext() -> None:
    put()
    with connection.cursor() as cursor:
        cursor.execute("SELECT sealed FROM host_secret")
        sealed = bytes(cursor.fetchone()[0])
    assert VALUE.encode() not in sealed
    assert vault.unseal(Secret.objects.get()) == VALUE


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


def test_another_tenant_s_secret_is_not_there() -> None:
    put()
    with pytest.raises(NotFound):
        vault.resolve(building.open_run(building.scope("globex")), "crm", now=timezone.now())


def test_a_row_that_was_moved_or_changed_does_not_open() -> None:
    first, second = put("one"), put("two")
    second.sealed = first.sealed
    second.save(by=Secret.writer)
    with pytest.raises(VaultLocked):
        vault.unseal(Secret.objects.get(name="two"))


def test_rotation_seals_everything_under_one_fresh_key() -> None:
    put("one")
    put("two", "another secret")
    before = VaultKey.objects.get().id
    assert vault.rotate(reseal=ledger.reseal, now=timezone.now()) == (2, ())
    assert VaultKey.objects.get().id != before
    assert [vault.unseal(secret) for secret in Secret.objects.order_by("name")] == [VALUE, "another secret"]


def test_a_new_host_key_opens_the_vault_while_the_old_one_is_a_fallback_and_rotation_ends_the_need() -> None:
    put()
    with override_settings(SECRET_KEY="the new key", SECRET_KEY_FALLBACKS=["only-for-tests"]):
        assert vault.unseal(Secret.objects.get()) == VALUE
        vault.rotate(reseal=ledger.reseal, now=timezone.now())
    with override_settings(SECRET_KEY="the new key", SECRET_KEY_FALLBACKS=[]):
        assert vault.unseal(Secret.objects.get()) == VALUE
    with override_settings(SECRET_KEY="a third key", SECRET_KEY_FALLBACKS=[]), pytest.raises(VaultLocked):
        vault.unseal(Secret.objects.get())


def test_a_secret_that_was_tampered_with_is_left_with_its_key_and_the_others_are_rotated() -> None:
    put("one")
    broken = put("two")
    broken.sealed = b"\x00" * 40
    broken.save(by=Secret.writer)
    key = VaultKey.objects.get().id
    with override_settings(SECRET_KEY="the new key", SECRET_KEY_FALLBACKS=["only-for-tests"]):
        assert vault.rotate(reseal=ledger.reseal, now=timezone.now()) == (1, (key,))
    with override_settings(SECRET_KEY="the new key", SECRET_KEY_FALLBACKS=[]):
        assert vault.rotate(reseal=ledger.reseal, now=timezone.now()) == (1, (key,))
        assert vault.unseal(Secret.objects.get(name="one")) == VALUE
    assert bytes(Secret.objects.get(name="two").sealed) == b"\x00" * 40
    assert VaultKey.objects.count() == 2


def test_a_rotation_without_the_key_of_the_vault_changes_nothing() -> None:
    put()
    key = VaultKey.objects.get().id
    with override_settings(SECRET_KEY="another key", SECRET_KEY_FALLBACKS=[]), pytest.raises(VaultLocked):
        vault.rotate(reseal=ledger.reseal, now=timezone.now())
    assert VaultKey.objects.get().id == key
    assert vault.unseal(Secret.objects.get()) == VALUE


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


@pytest.mark.parametrize(
    "given",
    [
        {"name": ""},
        {"name": "a]b"},
        {"name": "x" * 129},
        {"name": "line\nbreak"},
        {"value": ""},
        {"value": "x" * 65_537},
        {"scope": "platform"},
        {"scope": "user"},
        {"owner": "usr_1"},
    ],
)
def test_what_the_vault_cannot_hold_is_refused(given: dict[str, str]) -> None:
    with pytest.raises(Invalid):
        put(**given)
    assert Secret.objects.count() == 0


def test_a_value_that_was_replaced_is_still_redacted_for_the_run_that_had_it() -> None:
    acme = building.scope()
    run = building.open_run(acme)
    put(value="the-old-value-1")
    vault.resolve(run, "crm", now=timezone.now())
    put(value="the-new-value-2")
    assert vault.resolve(building.open_run(acme), "crm", now=timezone.now()) == "the-new-value-2"
    building.write(acme, run, "said the-old-value-1")
    assert building.contents(acme) == ["said [REDACTED:crm]"]


def test_setting_removing_and_rotating_are_audited_without_the_value() -> None:
    acme = building.scope()
    before = audit_chain.total(acme.tenant_id)
    put()
    vault.rotate(reseal=ledger.reseal, now=timezone.now())
    vault.remove(acme.tenant_id, "crm", now=timezone.now())
    records = audit.newest(acme.tenant_id, limit=audit_chain.total(acme.tenant_id) - before)
    assert [record.action for record in records] == ["secret.removed", "vault.rotated", "secret.set"]
    assert VALUE not in str([record.details for record in records])


def test_a_value_beyond_a_sane_size_and_one_beyond_the_room_of_the_tenant_are_refused_in_words() -> None:
    acme, now = building.tenant(), timezone.now()
    with pytest.raises(Invalid) as refused:
        vault.put(acme.id, "big", "x" * (vault.MAX_VALUE_BYTES + 1), now=now)
    assert refused.value.details["errors"] == [{"field": "value", "message": "must be 1 to 16384 bytes"}]
    fitting = vault.MAX_TENANT_BYTES // (vault.MAX_VALUE_BYTES + 100)
    for number in range(fitting):
        vault.put(acme.id, f"s{number}", "x" * vault.MAX_VALUE_BYTES, now=now)
    with pytest.raises(Invalid) as refused:
        vault.put(acme.id, "more", "x" * vault.MAX_VALUE_BYTES, now=now)
    assert "secrets of the tenant larger than 524288 bytes" in refused.value.details["errors"][0]["message"]
    vault.put(acme.id, "s0", "y" * vault.MAX_VALUE_BYTES, now=now)
    vault.put(building.tenant("globex").id, "more", "x", now=now)
