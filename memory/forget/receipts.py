"""The receipt of a forget: counts, what stays and why, signed; the subject only as a keyed hash."""

import base64
import hashlib
import hmac
from datetime import datetime

import rfc8785
from django.conf import settings

from memory.host import access, audit, ids, signing, sql
from memory.host.audit import AuditFilter
from memory.host.erasure import Remains
from memory.host.json_types import JSONObject
from memory.models import Archive, ForgetRequest, Pass
from memory.wire import instant

BEYOND = (
    "Beyond this host's reach: replicas keep it until they have applied the same changes, archives of the write-ahead "
    "log and backups of this database until they expire or are deleted."
)
ON_SQLITE = (
    "SQLite: within about two minutes the file and its log are rebuilt without what was erased, up to 256 MB and "
    "while the disk has room for two copies; otherwise its bytes stay in the file until VACUUM is run by hand. "
)
ON_POSTGRES = (
    "PostgreSQL: within about two minutes every table is vacuumed and analysed, so no index, statistic or query "
    "reaches what was erased, and tables of up to 8 MB are rewritten; later while a transaction from before is open. "
    "In larger ones its bytes may stay in the free space of their pages until that is used again or VACUUM FULL is run "
    "by hand; in the write-ahead log until the server recycles it. "
)
# The audit records of a first confirmation, where two people confirm, and of the one that starts the forget.
CONFIRMED = FIRST_CONFIRMED, LAST_CONFIRMED = ("forget.first-confirmed", "forget.confirmed")
ALGORITHM, CANONICALIZATION = "Ed25519", "RFC 8785"
STAYS = (
    "The event log stays as it was: it holds ids, refs and labels, and no content. A replay re-reads what it recorded, "
    "so forgetting does not alter it (RFC 0080)."
)


def document(
    request: ForgetRequest,
    work: Pass,
    remains: dict[str, Remains],
    gone: list[Archive],
    anew: list[Pass],
    *,
    audit_seq: int,
    now: datetime,
) -> JSONObject:
    """The receipt of a forget that was verified at ``now``; the signature is kept apart. It names the host by its
    signing key, and by its address where the administrator has configured one.

    ``gone`` are the archives that were withdrawn, ``anew`` the passes that distil again from what remains.
    """
    return {
        "id": ids.wire("fgt", request.id),
        "tenant": {"id": ids.wire("tenant", request.tenant_id), "slug": request.tenant.slug},
        "host": {"address": settings.OPENWOP_PUBLIC_URL or None, "keyId": public_keys()[0]["keyId"]},
        "subjectKey": request.subject_key,
        "planSha256": request.plan_sha256,
        "requestedBy": request.requested_by,
        "confirmations": confirmations(request),
        "confirmedAt": instant(request.confirmed_at or now),
        "verifiedAt": instant(now),
        "runId": ids.wire("run", work.run_id),
        "stores": counts(request, remains),
        "archivesWithdrawn": [{"id": ids.wire("arc", each.id), "sha256": each.sha256} for each in gone],
        "distilledAnewBy": [ids.wire("pass", each.id) for each in anew],
        "stays": STAYS,
        "storage": (ON_POSTGRES if sql.is_postgres() else ON_SQLITE) + BEYOND,
        "auditSeq": audit_seq,
    }


def confirmations(request: ForgetRequest) -> list[JSONObject]:
    """Who confirmed the request, in order, from the audit log: the person, the login or key it was done with, and when.

    Two where the policy asked for a second person.
    """
    about, tenant_id = ids.wire("fgt", request.id), request.tenant_id
    records = [
        found
        for action in CONFIRMED
        for found in audit.newest(tenant_id, AuditFilter(action=action, target=about), limit=1)
        if found.is_readable
    ]
    return [
        {
            "person": access.person_of(tenant_id, each.actor),
            "principal": each.actor,
            "at": instant(each.occurred_at),
            "auditSeq": each.seq,
        }
        for each in records
    ]


def counts(request: ForgetRequest, remains: dict[str, Remains]) -> JSONObject:
    """Per store: what was planned, what went, and what the verification still found."""
    return {
        store: {
            "planned": entry["erase"] + entry["chosen"],
            "erased": entry["erased"],
            "leftAfter": remains[store].left,
            "undecided": remains[store].undecided,
            "spared": entry["spared"],
            **_staying(entry, remains[store]),
        }
        for store, entry in request.plan.items()
    }


def _staying(entry: JSONObject, found: Remains) -> JSONObject:
    """What stays of a store, counted with the verification where the store can."""
    if found.stays is None:
        return {"stays": entry.get("stays", 0), "staysBecause": entry.get("staysBecause", "")}
    return {"stays": found.stays, "staysBecause": found.stays_because}


def signature_of(receipt: JSONObject) -> str:
    """The host's Ed25519 signature over the JCS form of a receipt."""
    return signing.sign(signing.RECEIPTS, receipt).text


def is_genuine(request: ForgetRequest) -> bool:
    """Whether the stored receipt is one this host signed, with its key or one it had before."""
    if not request.receipt or not request.signature:
        return False
    return signing.verifies(signing.RECEIPTS, request.receipt, request.signature) or _is_sealed(request)


def _signed_bytes(request: ForgetRequest) -> bytes:
    """The JCS form of the receipt; nothing when it has none, so that it was not this host that wrote it."""
    try:
        return rfc8785.dumps(request.receipt)
    except ValueError:
        return b""


def _is_sealed(request: ForgetRequest) -> bool:
    """Whether it is a receipt of before the host had signing keys, under HMAC-SHA256."""
    body = _signed_bytes(request)
    keys = [settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS]
    seals = [hmac.new(key.encode(), body, hashlib.sha256).hexdigest() for key in keys]
    return any(hmac.compare_digest(seal, request.signature) for seal in seals)


def proof(request: ForgetRequest) -> JSONObject:
    """The receipt, its signature, the very bytes that are signed and the keys that verify it; nothing before the
    subject is forgotten. A receipt of before the host had signing keys has a seal that the host alone can check."""
    if not request.signature:
        return {}
    sealed = _is_sealed(request)
    return {
        "receipt": request.receipt,
        "signature": request.signature,
        "algorithm": "HMAC-SHA256" if sealed else ALGORITHM,
        "canonicalization": CANONICALIZATION,
        "signedBytes": base64.b64encode(_signed_bytes(request)).decode(),
        "publicKeys": [] if sealed else public_keys(),
    }


def public_keys() -> list[dict[str, str]]:
    """The keys that receipts of this host are signed with: SPKI in DER, base64; the current one first."""
    return [{"keyId": key.key_id, "publicKey": key.spki} for key in signing.public_keys(signing.RECEIPTS)]
