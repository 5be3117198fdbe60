"""What a forget leaves behind: counts, what stays and why, signed; the subject only as a keyed hash."""

import hashlib
import hmac
from datetime import datetime
from typing import Any

import rfc8785
from django.conf import settings

from memory.host import ids
from memory.models import ForgetRequest, Pass
from memory.wire import instant

STAYS = (
    "The event log stays as it was: it holds ids and no content. A replay of a run re-reads what the log recorded, "
    "so forgetting does not alter it (RFC 0080)."
)


def document(
    request: ForgetRequest, work: Pass, residue: dict[str, int], *, audit_seq: int, now: datetime
) -> dict[str, Any]:
    """The receipt of a forget that was verified at ``now``; its signature stands beside it."""
    return {
        "id": ids.wire("fgt", request.id),
        "subjectKey": request.subject_key,
        "planSha256": request.plan_sha256,
        "requestedBy": request.requested_by,
        "confirmedAt": instant(request.confirmed_at or now),
        "verifiedAt": instant(now),
        "runId": ids.wire("run", work.run_id),
        "stores": counts(request, residue),
        "stays": STAYS,
        "auditSeq": audit_seq,
    }


def counts(request: ForgetRequest, residue: dict[str, int]) -> dict[str, Any]:
    """Per store: what was planned, what went, and what the verification still found."""
    return {
        store: {
            "planned": len(entry["erase"]) + len(entry["chosen"]),
            "erased": entry["erased"],
            "leftAfter": residue.get(store, 0),
            "spared": len(entry["spared"]),
            "stays": entry.get("stays", 0),
            "staysBecause": entry.get("staysBecause", ""),
        }
        for store, entry in request.plan.items()
    }


def signature_of(receipt: dict[str, Any]) -> str:
    """The host's signature over the JCS form of a receipt (HMAC-SHA256)."""
    return hmac.new(settings.SECRET_KEY.encode(), rfc8785.dumps(receipt), hashlib.sha256).hexdigest()


def is_genuine(request: ForgetRequest) -> bool:
    """Whether the stored receipt is the one this host signed."""
    return bool(request.receipt) and hmac.compare_digest(signature_of(request.receipt or {}), request.signature)
