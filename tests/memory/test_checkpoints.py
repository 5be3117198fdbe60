"""The audit chain under its checkpoints: what was changed, removed or put in another order is found."""

import base64
import hashlib
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest
import rfc8785
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import load_der_public_key
from django.core.management import CommandError, call_command
from django.db import DatabaseError, connection, transaction
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder
from django.test import Client, override_settings
from django.utils import timezone
from pytest_django.fixtures import Settings

from memory import tasks
from memory.host import audit, audit_access, audit_chain, event_log, ids, request_slots, signing, sql, vault
from memory.host.errors import Forbidden, Invalid
from memory.host.events import AuthorizationDecided, RunCompleted
from memory.host.models import AuditChain, AuditCheckpoint, AuditRecord, Stream, WriteGuard
from openwop_console import discovery
from openwop_console.process import scheduler
from tests import building
from tests.tampering import merkle_root, tamper

pytestmark = pytest.mark.django_db
NOW = datetime(2026, 11, 20, 9, 0, tzinfo=UTC)


@pytest.fixture
def acme() -> UUID:
    """A tenant with ten audit records and nothing else on its chain."""
    tenant_id: UUID = building.tenant().id
    grow(tenant_id, 10)
    return tenant_id


def grow(tenant_id: UUID, number: int) -> None:
    for _ in range(number):
        audit.append(tenant_id, actor="ada", action="act", target="prop_1", details={"n": 1}, now=NOW)


def hashes_fit(tenant_id: UUID) -> bool:
    """Whether each hash is that of its record and the one before it; what checkpoints say is left out."""
    last = audit_chain.end_of(tenant_id)
    return not any(step.broken for step in audit_chain.walk(tenant_id, first=0, last=last))


def verify(tenant_id: UUID, first: int = 0, last: int | None = None) -> audit_chain.Finding:
    return audit_chain.verify(
        tenant_id, first=first, last=audit_chain.expected_end(tenant_id) if last is None else last
    )


def mint(tenant_id: UUID) -> AuditCheckpoint:
    made = audit_chain.make_checkpoint(tenant_id, now=NOW)
    assert made
    return made


def leaves_of(tenant_id: UUID, first: int, last: int) -> list[str]:
    records = AuditRecord.objects.of(tenant_id).filter(seq__gte=first, seq__lte=last).order_by("seq")
    return [hashlib.sha256(rfc8785.dumps(audit_chain.form_of(record))).hexdigest() for record in records]


# --- the tree and the signature ---------------------------------------------------------------------------------------

VECTOR_KEY = "MCowBQYDK2VwAyEA11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo="
VECTOR_LEAVES = (
    "2bb3eb03f572491c7334c1a5a12a43e5786663fd4df773b0beb9d05a5d1b496e",
    "66892fdd522ad21a99968866d05cb92f4c1db98ddfebf747817891d744060fda",
    "5873ed119eb591fa8c4af1d7d9d947662c78ca5569c57733ebab3d2b399da6fb",
    "4e48e5dd88bf081edfdbb176a89cfb75697fd4adec954272d65f804ce5643518",
    "9930634e696476f67dce8ea69bd89e6ef1d77dbe3279ec694e47e7dacda47f8a",
    "eda0c73fa14541ca52f2fa9446f07f319a3192c54e66a9a23a48fe22f5c5316f",
    "5d2e74535536c835517898427b6e152fcdd5ed79751d165ffe736d66529ea2c0",
    "ebe7b92183a8fe2712cb524d7b5ebf052ef85b1c0cffd8b9a977a33d80cb8a4c",
    "6c3648ec20243c855823056e5ae63b52e7d3e570feef5f6d7a182e084bde6c08",
    "740826be7291e62cd84199d8702eb7b32db57f12376a6bc13f680acdaba61bce",
    "31d04cd504983f8c9c740128167063a6c4708139e9a9d1b9891e8933792390e4",
    "213f18d0c231ca4206f7aba10ed4b5a11a7b51f71d77dd4c4f04455a24238fe1",
)
VECTORS = {  # previous atSequence, atSequence: merkleRoot, signature
    (0, 1): (
        "2bb3eb03f572491c7334c1a5a12a43e5786663fd4df773b0beb9d05a5d1b496e",
        "+O3og3Lozimsu+l0X6NZ3bTpFhvE6bFdVNqOUpAeHGoRSgeAyuufmXPKwoHcnAr4SqxdUtaXhjiyp4jicjYnAg==",
    ),
    (1, 3): (
        "42750e6edbe7a4e7f10f5af0ebc0a25c45db6f89193dd2688cca5cc405d95b32",
        "9Yo8N2iXAYLIXIlysqH0OfLkSlgzX4Za4fM/S/1MtIdS1khdBUZ6kTDAYT2Z0XhH0/Qq/KMJA4qjfJekx4oHDg==",
    ),
    (3, 7): (
        "5e277e32a11f6a3ae377850cdf199e6726daa32e0d83873b698f07aa3096c3e2",
        "rcjz09tb2ltcoaMYUKjZbp7iY2AHo0WXrJyOPny8T5u/uryyYIgVyzBaEZ3BT3kbAT1y+x7MHtStEt1sIsn2Dw==",
    ),
    (7, 12): (
        "44a4232543a863aa7fc48477ceb0872e5513dd18db568201990b1b83b4fbbf96",
        "axFFc3cFhUONP0Y7Is1vWMg12nNvEiT1aZV54XBcj7LN58VbVqGSWQS5jJ5fdzYM0DjfdPJK1x+pKR4KAuCfCg==",
    ),
}
VECTOR_ENTRY: dict[str, Any] = {  # the fifth, whose details are more than ASCII
    "action": "run.created",
    "actor": "key:vector-1",
    "atSequence": 5,
    "details": {"note": "ünïcode ✓", "votes": [1, 2]},
    "occurredAt": "2026-09-27T00:00:05.000Z",
    "prevHash": VECTOR_LEAVES[3],
    "target": "run-5",
}


def root_of(leaves: Iterable[str]) -> str:
    tree = audit_chain.MerkleTree()
    for leaf in leaves:
        tree.add(leaf)
    return tree.root()


def test_the_public_vectors_of_rfc_0218_have_their_roots_and_signatures() -> None:
    key = load_der_public_key(base64.b64decode(VECTOR_KEY))
    assert isinstance(key, Ed25519PublicKey)
    for (previous, last), (root, signature) in VECTORS.items():
        assert root_of(VECTOR_LEAVES[previous:last]) == root == merkle_root(list(VECTOR_LEAVES[previous:last]))
        key.verify(base64.b64decode(signature), bytes.fromhex(root))
    assert hashlib.sha256(rfc8785.dumps(VECTOR_ENTRY)).hexdigest() == VECTOR_LEAVES[4]


def test_the_root_is_built_level_by_level_for_every_size() -> None:
    leaves = [hashlib.sha256(str(number).encode()).hexdigest() for number in range(70)]
    for size in range(1, 71):
        assert root_of(leaves[:size]) == merkle_root(leaves[:size])


@pytest.mark.engines
def test_a_stranger_verifies_checkpoints_with_what_the_host_publishes(acme: UUID) -> None:
    made = [mint(acme)]
    grow(acme, 5)
    made.append(mint(acme))
    assert [each.at_seq for each in made] == [9, 14]
    block = discovery.document()["auth"]
    assert block["profiles"] == ["openwop-audit-log-integrity"]
    key = load_der_public_key(base64.b64decode(block["auditLogIntegrity"]["checkpointPublicKey"]))
    assert isinstance(key, Ed25519PublicKey)
    for each, (first, last) in zip(made, [(0, 9), (10, 14)], strict=True):
        assert each.merkle_root == merkle_root(leaves_of(acme, first, last))
        key.verify(base64.b64decode(each.signature), bytes.fromhex(each.merkle_root))


def test_the_keys_of_checkpoints_of_receipts_and_of_another_host_are_three() -> None:
    ours = {signing.public_keys(purpose)[0].text for purpose in (signing.CHECKPOINTS, signing.RECEIPTS)}
    with override_settings(SECRET_KEY="another"):
        assert len(ours | {signing.public_keys(signing.CHECKPOINTS)[0].text}) == 3


def test_a_host_with_a_new_key_stands_by_what_the_one_before_signed_as_long_as_it_is_named(acme: UUID) -> None:
    before = signing.public_keys(signing.CHECKPOINTS)[0]
    made = mint(acme)
    with override_settings(SECRET_KEY="another", SECRET_KEY_FALLBACKS=["only-for-tests"]):
        assert verify(acme).intact
        assert before in signing.public_keys(signing.CHECKPOINTS)[1:]
        grow(acme, 1)
        assert mint(acme).key_id != made.key_id
        assert verify(acme).intact
    with override_settings(SECRET_KEY="a third", SECRET_KEY_FALLBACKS=[]):
        assert verify(acme).forged == {9, 10}


def test_an_act_that_another_request_records_meanwhile_is_recorded_once_and_later_again(
    acme: UUID, monkeypatch: pytest.MonkeyPatch
) -> None:
    act: dict[str, Any] = {"actor": "ada", "action": "seen.once"}
    within, lock = timedelta(minutes=5), audit._locked_chain

    def record_before(tenant_id: UUID) -> AuditChain:
        monkeypatch.setattr(audit, "_locked_chain", lock)
        audit.append(acme, **act, now=NOW)
        return lock(tenant_id)

    monkeypatch.setattr(audit, "_locked_chain", record_before)
    assert audit.append_once(acme, within=within, **act, now=NOW) is None
    assert audit.append_once(acme, within=within, **act, now=NOW + within)
    assert AuditRecord.objects.filter(action="seen.once").count() == 2


@pytest.mark.engines
def test_after_a_change_of_the_key_valid_checkpoints_are_signed_anew_once_and_on_record_and_forged_ones_are_not(
    acme: UUID, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Then every checkpoint verifies under the one key that discovery names, and the former key can go."""
    globex: UUID = building.tenant("globex").id
    for tenant_id in (acme, globex):
        grow(tenant_id, 2)
        mint(tenant_id)
        grow(tenant_id, 1)
    forged = mint(acme)
    nobodys = base64.b64encode(bytes(64)).decode()
    tamper(
        "UPDATE host_auditcheckpoint SET signature = %s WHERE id = %s",
        nobodys,
        sql.key(forged.id),
        table="host_auditcheckpoint",
    )
    former = signing.public_keys(signing.CHECKPOINTS)[0].key_id
    roots = list(AuditCheckpoint.objects.order_by("id").values_list("at_seq", "merkle_root", "created_at"))
    monkeypatch.setattr(audit_chain, "PAGE", 1)
    with override_settings(SECRET_KEY_FALLBACKS=["only-for-tests"]):
        assert audit.sign_checkpoints_anew(now=NOW) == 0, "the same key twice"
    sign = audit_chain.sign_anew

    def fail_for_acme(tenant_id: UUID, **named: Any) -> Any:
        assert tenant_id != acme, "this tenant's chain cannot be read"
        return sign(tenant_id, **named)

    with override_settings(SECRET_KEY="another", SECRET_KEY_FALLBACKS=["only-for-tests", "another"]):
        monkeypatch.setattr(audit_chain, "sign_anew", fail_for_acme)
        assert audit.sign_checkpoints_anew(now=NOW) == 1, "the other tenant's, all the same"
        monkeypatch.setattr(audit_chain, "sign_anew", sign)
        assert audit.sign_checkpoints_anew(now=NOW) == 1
        assert audit.sign_checkpoints_anew(now=NOW) == 0
    with override_settings(SECRET_KEY="another", SECRET_KEY_FALLBACKS=[]):
        current = signing.public_keys(signing.CHECKPOINTS)[0].key_id
        assert verify(globex).intact
        assert verify(acme).forged == {forged.at_seq}
    assert set(AuditCheckpoint.objects.values_list("id", "key_id")) >= {(forged.id, former)}
    assert AuditCheckpoint.objects.filter(key_id=current).count() == 2
    assert roots == list(AuditCheckpoint.objects.order_by("id").values_list("at_seq", "merkle_root", "created_at"))
    record = audit.last_of(globex, "audit.checkpoints_signed_anew")
    assert record
    assert (record.actor, record.details) == ("host", {"checkpoints": 1, "firstAtSeq": 1, "lastAtSeq": 1})


def test_a_signature_over_canonical_json_is_none_over_the_root(acme: UUID) -> None:
    made = mint(acme)
    over_json = signing.sign(signing.CHECKPOINTS, audit_chain.checkpoint_statement(made))
    tamper("UPDATE host_auditcheckpoint SET signature = %s", over_json.text, table="host_auditcheckpoint")
    assert verify(acme).forged == {made.at_seq}


@pytest.mark.parametrize(
    "lacking", ["0016_checkpoints_signed_over_their_root", "0020_checkpoints_cover_what_came_since"]
)
def test_a_database_whose_older_checkpoints_were_not_signed_again_is_refused(lacking: str) -> None:
    """This one, what was squashed behind it, and all that came afterwards."""
    replaced = [name for _, name in MigrationLoader(None).replacements["host", "0001_initial"].replaces]
    assert lacking in replaced
    earlier = [name for name in replaced if name < lacking]
    applied = MigrationRecorder(connection).migration_qs
    applied.exclude(app="host", name__in=earlier).filter(app__in=("host", "memory", "proposals")).delete()
    with pytest.raises(CommandError, match=f"lacks host.{lacking}"):
        call_command("migrate", verbosity=0)


@pytest.mark.parametrize("text", ["", "!", "AAAA", "é", base64.b64encode(b"0" * 64).decode()])
def test_what_is_no_signature_verifies_nothing(text: str) -> None:
    assert not signing.verifies(signing.CHECKPOINTS, {}, text)


# --- when there is one ------------------------------------------------------------------------------------------------


def test_behind_every_thousandth_record_the_chain_is_checkpointed(acme: UUID, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(audit_chain, "EVERY_ENTRIES", 8)
    grow(acme, 15)
    assert [each.at_seq for each in audit_chain.all_checkpoints(acme)] == [7, 15, 23]
    assert verify(acme).intact
    assert discovery.document()["auth"]["auditLogIntegrity"]["checkpointIntervalEntries"] == 8


def test_every_five_minutes_each_tenant_that_has_something_new_gets_one(acme: UUID) -> None:
    (recurring,) = [each for each in scheduler.TIMERS if each.name == "checkpoints"]
    assert (recurring.task, recurring.minutes) == ("memory.tasks.checkpoint_audit", 5)
    globex = building.tenant("globex").id
    grow(globex, 3)
    assert tasks.checkpoint_audit() == 2
    assert tasks.checkpoint_audit() == 0
    grow(globex, 1)
    assert tasks.checkpoint_audit() == 1
    assert [each.at_seq for each in audit_chain.all_checkpoints(globex)] == [2, 3]
    assert [each.at_seq for each in audit_chain.all_checkpoints(acme)] == [9]


def test_a_host_with_another_key_signs_nothing_that_would_stay(acme: UUID, settings: Settings) -> None:
    """Its checkpoint cannot be deleted, and the chain would not verify under the right key any more."""
    mint(acme)
    grow(acme, 3)
    own = settings.SECRET_KEY
    settings.SECRET_KEY = "another key"
    building.tenant("globex")
    grow(building.tenant("globex").id, 2)
    assert audit_chain.make_due_checkpoints(now=NOW) == 0
    assert list(audit_chain.all_checkpoints(building.tenant("globex").id)) == []
    settings.SECRET_KEY, settings.SECRET_KEY_FALLBACKS = "a new key", [own]
    assert audit_chain.make_due_checkpoints(now=NOW) == 2
    assert verify(acme).intact


def test_a_tenant_without_records_has_nothing_to_checkpoint() -> None:
    assert audit_chain.make_checkpoint(building.tenant().id, now=NOW) is None


def test_two_hosts_that_checkpoint_at_once_make_one(acme: UUID, monkeypatch: pytest.MonkeyPatch) -> None:
    walk = audit_chain.walk

    def raced(tenant_id: UUID, **between: Any) -> Any:
        monkeypatch.setattr(audit_chain, "walk", walk)
        mint(tenant_id)
        grow(tenant_id, 3)
        return walk(tenant_id, **between)

    monkeypatch.setattr(audit_chain, "walk", raced)
    assert audit_chain.make_checkpoint(acme, now=NOW) is None
    assert [each.at_seq for each in audit_chain.all_checkpoints(acme)] == [9]
    assert mint(acme).at_seq == 12
    assert verify(acme).intact


@pytest.mark.engines
def test_a_chain_that_does_not_hold_gets_no_checkpoint_and_goes_on(acme: UUID, monkeypatch: pytest.MonkeyPatch) -> None:
    tamper("UPDATE host_auditrecord SET actor = 'mallory' WHERE seq = 4")
    assert audit_chain.make_checkpoint(acme, now=NOW) is None
    monkeypatch.setattr(audit_chain, "EVERY_ENTRIES", 11)
    grow(acme, 1)
    assert audit_chain.total(acme) == 11
    assert AuditCheckpoint.objects.count() == 0


@pytest.mark.engines
@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE host_auditcheckpoint SET at_seq = 1",
        "UPDATE host_auditcheckpoint SET merkle_root = 'x'",
        "DELETE FROM host_auditcheckpoint",
    ],
)
def test_the_database_keeps_checkpoints(acme: UUID, statement: str) -> None:
    made = mint(acme)
    with pytest.raises(DatabaseError, match="are kept"), transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(statement)
    with pytest.raises(WriteGuard, match=r"memory\.host\.audit_chain"):
        made.save()


# --- what a verification finds ----------------------------------------------------------------------------------------


def test_an_intact_chain_is_intact_in_every_range(acme: UUID) -> None:
    mint(acme)
    grow(acme, 10)
    mint(acme)
    grow(acme, 3)
    for first, last in [(0, 22), (0, 0), (22, 22), (9, 10), (10, 19), (5, 15), (20, 22)]:
        found = verify(acme, first, last)
        assert found.intact, (first, last)
        assert found.checked == last - first + 1
        assert [each.at_seq for each in found.checkpoints] == [at for at in (9, 19) if first <= at <= last]


def test_a_changed_record_breaks_at_itself_and_unfits_the_checkpoint_above_it(acme: UUID) -> None:
    mint(acme)
    tamper("UPDATE host_auditrecord SET actor = 'mallory' WHERE seq = 4")
    found = verify(acme)
    assert (found.broken_at, found.unfit, found.forged) == (4, frozenset({9}), frozenset())
    assert [each.at_seq for each in found.breaks] == [4, 5]
    assert found.breaks[1].actual != found.breaks[1].expected


@pytest.mark.engines
def test_a_change_that_rewrote_its_own_hash_breaks_where_the_next_record_does_not_continue_it(acme: UUID) -> None:
    rewrite(acme, 4)
    assert [each.at_seq for each in verify(acme).breaks] == [5]
    assert verify(acme, 0, 3).intact
    assert [each.at_seq for each in verify(acme, 0, 4).breaks] == [4]


def rewrite(tenant_id: UUID, seq: int, prev_hash: str | None = None) -> str:
    """The record is another one now, with a hash that fits it; returns that hash."""
    record = AuditRecord.objects.of(tenant_id).get(seq=seq)
    record.actor, record.prev_hash = "mallory", record.prev_hash if prev_hash is None else prev_hash
    own = audit_chain.hash_of(record)
    statement = "UPDATE host_auditrecord SET actor = 'mallory', prev_hash = %s, entry_hash = %s WHERE seq = %s"
    tamper(statement, record.prev_hash, own, seq)
    return own


@pytest.mark.engines
def test_a_chain_rewritten_to_its_head_is_found_by_the_checkpoint_alone(acme: UUID) -> None:
    made = mint(acme)
    own: str | None = None
    for seq in range(4, 10):
        own = rewrite(acme, seq, own)
    tamper("UPDATE host_auditchain SET head_hash = %s", own)
    assert hashes_fit(acme)
    found = verify(acme)
    assert (found.intact, found.unfit) == (False, frozenset({9}))
    assert [(each.at_seq, each.expected) for each in found.breaks] == [(9, made.merkle_root)]


@pytest.mark.engines
def test_removed_records_are_a_gap_at_their_first_number(acme: UUID) -> None:
    mint(acme)
    tamper("DELETE FROM host_auditrecord WHERE seq IN (3, 4)")
    found = verify(acme)
    assert (found.broken_at, found.checked, found.unfit) == (3, 8, frozenset({9}))
    assert found.breaks[0].actual == ""


def test_a_checkpoint_whose_own_record_was_removed_does_not_fit_and_the_next_one_is_compared(acme: UUID) -> None:
    mint(acme)
    grow(acme, 5)
    mint(acme)
    tamper("DELETE FROM host_auditrecord WHERE seq = 9")
    found = verify(acme)
    assert (found.broken_at, found.unfit) == (9, frozenset({9}))


@pytest.mark.engines
def test_records_in_another_order_do_not_fit(acme: UUID) -> None:
    tamper("UPDATE host_auditrecord SET seq = 100 WHERE seq = 3")
    tamper("UPDATE host_auditrecord SET seq = 3 WHERE seq = 4")
    tamper("UPDATE host_auditrecord SET seq = 4 WHERE seq = 100")
    assert verify(acme).broken_at == 3


@pytest.mark.engines
def test_a_removed_end_is_seen_by_the_head_and_with_the_head_set_back_by_the_checkpoint(acme: UUID) -> None:
    mint(acme)
    tamper("DELETE FROM host_auditrecord WHERE seq > 6")
    assert verify(acme).broken_at == 7
    left = AuditRecord.objects.of(acme).get(seq=6)
    tamper("UPDATE host_auditchain SET next_seq = 7, head_hash = %s", left.entry_hash)
    assert hashes_fit(acme)
    found = verify(acme)
    assert (found.last, found.broken_at, found.unfit) == (9, 7, frozenset({9}))


@pytest.mark.engines
def test_a_head_that_is_gone_or_set_back_breaks_the_end(acme: UUID) -> None:
    tamper("UPDATE host_auditchain SET next_seq = 5", table="host_auditrecord")
    assert verify(acme).broken_at == 9
    tamper("DELETE FROM host_auditchain")
    assert verify(acme).broken_at == 9


@pytest.mark.engines
def test_a_record_put_in_by_hand_behind_the_end_does_not_fit(acme: UUID) -> None:
    tamper(
        "INSERT INTO host_auditrecord (tenant_id, id, seq, occurred_at, actor, action, target, details, prev_hash,"
        " entry_hash) SELECT tenant_id, %s, 10, occurred_at, 'mallory', action, target, details, entry_hash, entry_hash"
        " FROM host_auditrecord WHERE seq = 9",
        ids.new_id() if connection.vendor == "postgresql" else ids.new_id().hex,
    )
    assert verify(acme).broken_at == 10


@pytest.mark.engines
@pytest.mark.parametrize(
    ("column", "forged"),
    [("merkle_root", "0" * 64), ("merkle_root", "no hex"), ("signature", base64.b64encode(b"0" * 64).decode())],
)
def test_a_checkpoint_that_was_changed_is_forged_and_nothing_is_read_on_from_it(
    acme: UUID, column: str, forged: str
) -> None:
    made = mint(acme)
    grow(acme, 5)
    tamper(f"UPDATE host_auditcheckpoint SET {column} = %s", forged, table="host_auditcheckpoint")
    found = verify(acme)
    assert (found.intact, found.forged) == (False, frozenset({made.at_seq}))
    assert verify(acme, 10).intact
    after = mint(acme)
    assert verify(acme, 10, after.at_seq).intact


@pytest.mark.engines
def test_a_checkpoint_that_was_removed_unfits_the_one_behind_it(acme: UUID) -> None:
    for _ in range(2):
        grow(acme, 5)
        mint(acme)
    assert verify(acme).intact
    tamper("DELETE FROM host_auditcheckpoint WHERE at_seq = 14", table="host_auditcheckpoint")
    found = verify(acme)
    assert (found.unfit, found.broken_at) == (frozenset({19}), 19)


@pytest.mark.engines
def test_what_fails_at_one_tenant_fails_no_act_and_no_other_tenant(acme: UUID, monkeypatch: pytest.MonkeyPatch) -> None:
    globex = building.tenant("globex").id
    grow(globex, 1)
    extend = audit_chain._extend

    def broken(tenant_id: UUID, *rest: Any) -> Any:
        return extend(tenant_id, *rest) if tenant_id == globex else 1 / 0

    monkeypatch.setattr(audit_chain, "_extend", broken)
    monkeypatch.setattr(audit_chain, "EVERY_ENTRIES", 11)
    grow(acme, 1)
    assert audit_chain.total(acme) == 11
    assert tasks.checkpoint_audit() == 1
    assert list(audit_chain.all_checkpoints(acme)) == []


@pytest.mark.engines
def test_a_record_without_a_canonical_form_breaks_at_itself(acme: UUID) -> None:
    mint(acme)
    before = AuditRecord.objects.of(acme).get(seq=4).entry_hash
    tamper("""UPDATE host_auditrecord SET details = '{"n": 9007199254740993}' WHERE seq = 4""")
    found = verify(acme)
    assert [(each.at_seq, each.actual) for each in found.breaks] == [(4, before)]
    assert (found.checked, found.unfit) == (9, frozenset({9}))
    assert [each.at_seq for each in verify(acme, 5).breaks] == [9]
    grow(acme, 1)
    assert audit_chain.make_checkpoint(acme, now=NOW) is not None
    grow(acme, 1)
    tamper("""UPDATE host_auditrecord SET details = '{"n": 9007199254740993}' WHERE seq = 11""")
    assert audit_chain.make_checkpoint(acme, now=NOW) is None


@pytest.mark.engines
def test_a_record_that_cannot_be_read_breaks_at_itself(acme: UUID) -> None:
    before = AuditRecord.objects.of(acme).get(seq=4).entry_hash
    tamper("UPDATE host_auditrecord SET occurred_at = '20000-01-01 00:00:00+00' WHERE seq = 4")
    found = verify(acme)
    assert ([(each.at_seq, each.actual) for each in found.breaks], found.checked) == ([(4, before)], 9)
    assert audit_chain.make_checkpoint(acme, now=NOW) is None
    assert [each.at_seq for each in verify(acme, 5).breaks] == []


@pytest.mark.engines
@pytest.mark.parametrize("number", [8, 10, 9007199254740993])
def test_a_checkpoint_that_was_moved_does_not_fit_although_its_root_is_signed(acme: UUID, number: int) -> None:
    mint(acme)
    grow(acme, 5)
    tamper(f"UPDATE host_auditcheckpoint SET at_seq = {number}", table="host_auditcheckpoint")
    found = verify(acme)
    assert (set(found.unfit), found.intact) == ({number}, False)


def test_a_long_walk_lets_others_go_first_behind_every_page(acme: UUID, monkeypatch: pytest.MonkeyPatch) -> None:
    breaths: list[int] = []
    monkeypatch.setattr(request_slots, "breathe", lambda: breaths.append(1))
    monkeypatch.setattr(audit_chain, "PAGE", 4)
    assert (verify(acme).checked, len(breaths)) == (10, 2)


def walked(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many records are read from now on, walk by walk."""
    seen: list[int] = []
    walk = audit_chain.walk

    def counted(tenant_id: UUID, *, first: int, last: int) -> Any:
        seen.append(0)
        for step in walk(tenant_id, first=first, last=last):
            seen[-1] += 1
            yield step

    monkeypatch.setattr(audit_chain, "walk", counted)
    return seen


def test_an_append_reads_no_more_than_lies_close_behind_it(acme: UUID, monkeypatch: pytest.MonkeyPatch) -> None:
    tamper("UPDATE host_auditrecord SET actor = 'mallory' WHERE seq = 9")
    monkeypatch.setattr(audit_chain, "EVERY_ENTRIES", 6)
    seen = walked(monkeypatch)
    grow(acme, 40)
    assert [number <= 2 * audit_chain.EVERY_ENTRIES for number in seen] == [True, True]
    assert audit_chain.total(acme) == 50


@pytest.mark.engines
def test_a_chain_far_behind_catches_up_piece_by_piece_past_what_is_forged(
    acme: UUID, monkeypatch: pytest.MonkeyPatch
) -> None:
    grow(acme, 40)
    mint(acme)
    tamper("UPDATE host_auditcheckpoint SET at_seq = 19, signature = 'AAAA'", table="host_auditcheckpoint")
    monkeypatch.setattr(audit_chain, "EVERY_ENTRIES", 1)
    seen = walked(monkeypatch)
    assert [tasks.checkpoint_audit() for _ in range(3)] == [1, 1, 0]
    assert [each.at_seq for each in audit_chain.all_checkpoints(acme)] == list(range(19, 50))
    assert max(seen) <= 21
    assert verify(acme, 20).intact


def test_checkpoints_are_exported_page_by_page_and_each_says_where_the_next_begins(acme: UUID) -> None:
    scope = building.scope()
    for _ in range(3):
        grow(acme, 2)
        mint(acme)
    every = [each.at_seq for each in audit_chain.all_checkpoints(acme)]
    whole = audit_access.proofs(scope, now=NOW)
    assert ([each["atSequence"] for each in whole["checkpoints"]], whole["next"]) == (every, None)
    first = audit_access.proofs(scope, limit=2, now=NOW)
    rest = audit_access.proofs(scope, after=first["next"], limit=2, now=NOW)
    assert [each["atSequence"] for each in first["checkpoints"] + rest["checkpoints"]] == every
    assert (first["next"], rest["next"], rest["total"]) == (every[1], None, 3)


def test_a_program_is_given_the_first_checkpoint_of_a_tenant_without_asking_where_to_begin(client: Client) -> None:
    globex = building.tenant("globex").id
    grow(globex, 1)
    first = mint(globex)
    assert first.at_seq <= 1
    answer = client.get("/v1/host/console/audit/checkpoints", **building.headers("globex", role="auditor"))
    assert [each["atSequence"] for each in answer.json()["checkpoints"]] == [first.at_seq]


def test_a_break_before_the_range_is_not_in_it_but_the_checkpoint_inside_does_not_fit(acme: UUID) -> None:
    mint(acme)
    tamper("UPDATE host_auditrecord SET actor = 'mallory' WHERE seq = 2")
    assert verify(acme, 5, 8).intact
    found = verify(acme, 5)
    assert (found.unfit, found.broken_at) == (frozenset({9}), 9)


def test_another_tenant_s_records_and_checkpoints_are_not_ours(acme: UUID) -> None:
    globex = building.tenant("globex").id
    grow(globex, 2)
    mint(globex)
    tamper("UPDATE host_auditrecord SET actor = 'mallory' WHERE seq = 9")
    assert verify(globex).intact
    assert not verify(acme).intact
    assert verify(acme).checkpoints == []


# --- who may look, and that it is on record ---------------------------------------------------------------------------


@pytest.mark.parametrize("role", ["viewer", "author", "agent", "reviewer", "operator"])
def test_nobody_but_auditors_and_owners_looks(role: str) -> None:
    scope = building.scope(role=role)
    for look in (
        lambda: audit_access.view(scope, limit=1, now=NOW),
        lambda: audit_access.export(scope, now=NOW),
        lambda: audit_access.proofs(scope, now=NOW),
        lambda: audit_access.verify(scope),
        lambda: audit_access.events(scope, limit=1),
    ):
        with pytest.raises(Forbidden):
            look()


def test_looking_is_on_record_once_in_ten_minutes_and_every_export_each_time() -> None:
    scope, other = building.scope(role="auditor"), building.scope(role="auditor")
    for minutes in (0, 9):
        audit_access.view(scope, limit=1, now=NOW + timedelta(minutes=minutes))
    assert viewed(scope.tenant_id) == [scope.principal.id]
    audit_access.view(other, limit=1, now=NOW)
    audit_access.view(scope, limit=1, now=NOW + timedelta(minutes=11))
    assert viewed(scope.tenant_id) == [scope.principal.id, other.principal.id, scope.principal.id]
    for _ in range(2):
        assert list(audit_access.export(scope, now=NOW))[-1]["action"] == "audit.exported"
    audit_access.proofs(scope, now=NOW)
    exported = AuditRecord.objects.of(scope.tenant_id).filter(action="audit.exported").order_by("seq")
    assert [each.details["what"] for each in exported] == ["records", "records", "checkpoints"]


def viewed(tenant_id: UUID) -> list[str]:
    return [each.actor for each in audit.export_records(tenant_id) if each.action == "audit.viewed"]


def test_an_act_on_record_since_a_moment_ago_is_not_recorded_again_however_close_the_two_were(
    acme: UUID, monkeypatch: pytest.MonkeyPatch
) -> None:
    once: dict[str, Any] = {"within": timedelta(seconds=60), "actor": "ada", "action": "look", "now": NOW}
    assert audit.append_once(acme, **once)
    assert audit.append_once(acme, **once) is None
    assert audit.append_once(acme, **once, details={"other": 1})
    asked: list[object] = []
    seen = audit._is_on_record

    def late(*given: Any) -> bool:
        asked.append(1)
        return len(asked) > 1 and seen(*given)

    monkeypatch.setattr(audit, "_is_on_record", late)
    assert audit.append_once(acme, **once) is None, "the first look saw nothing; the one under the lock did"
    assert len(asked) == 2


@pytest.mark.parametrize(("first", "last"), [(3, 2), (11, None), (99, 99)])
def test_a_range_that_is_none_is_refused(first: int, last: int | None) -> None:
    scope = building.scope(role="auditor")
    grow(scope.tenant_id, 10 - audit_chain.total(scope.tenant_id))
    with pytest.raises(Invalid):
        audit_access.verify(scope, first=first, last=last)


@pytest.mark.engines
def test_a_log_without_records_holds() -> None:
    building.tenant()
    scope = building.scope(role="auditor")
    tamper("DELETE FROM host_auditrecord")
    tamper("DELETE FROM host_auditchain")
    found = audit_access.verify(scope)
    assert (found.intact, found.first, found.last, found.checked) == (True, 0, 0, 0)
    assert audit_access.verify(scope, first=0, last=100).intact


def test_a_range_that_ends_beyond_the_newest_record_ends_with_it() -> None:
    scope = building.scope(role="auditor")
    grow(scope.tenant_id, 10 - audit_chain.total(scope.tenant_id))
    found = audit_access.verify(scope, first=2, last=10**6)
    assert (found.intact, found.first, found.last, found.checked) == (True, 2, 9, 8)


# --- the tenant's own log ---------------------------------------------------------------------------------------------


def decided(reason: str = "missing-scope") -> AuthorizationDecided:
    return AuthorizationDecided("usr_1", "runs:cancel", "run_1", allowed=False, reason=reason)


@pytest.mark.engines
def test_the_tenant_s_log_is_opened_by_its_first_event_and_stays_open() -> None:
    tenant_id = building.tenant().id
    assert event_log.read_tenant_log(tenant_id) == []
    with transaction.atomic():
        assert event_log.append_to_tenant(tenant_id, decided(), now=NOW) == 0
        assert event_log.append_to_tenant(tenant_id, decided("a"), decided("b"), now=NOW) == 2
    assert [each.payload["reason"] for each in event_log.read_tenant_log(tenant_id, after=0)] == ["a", "b"]
    assert len(event_log.read_tenant_log(tenant_id, limit=1)) == 1
    assert event_log.tenant_log_length(tenant_id) == 3
    assert Stream.objects.of(tenant_id).get().closed_at is None
    assert event_log.read_tenant_log(building.tenant("globex").id) == []


@pytest.mark.engines
def test_two_first_events_at_once_open_one_log(monkeypatch: pytest.MonkeyPatch) -> None:
    tenant_id = building.tenant().id
    event_log.open_stream(tenant_id, tenant_id)
    monkeypatch.setattr(event_log, "exists", lambda *_: False)
    with transaction.atomic():
        assert event_log.append_to_tenant(tenant_id, decided(), now=NOW) == 0


def test_nothing_ends_the_tenant_s_log() -> None:
    with pytest.raises(RuntimeError, match="does not end"):
        event_log.append_to_tenant(building.tenant().id, RunCompleted(), now=timezone.now())


def test_the_signing_key_is_not_the_vault_s() -> None:
    seed = signing._derived(signing.CHECKPOINTS, "only-for-tests").private_bytes_raw()
    with override_settings(SECRET_KEY="only-for-tests", SECRET_KEY_FALLBACKS=[]):
        assert seed not in vault.wrapping_keys()
