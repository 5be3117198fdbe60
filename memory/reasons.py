"""The reason that a person gives for an act: one check and one bound for all of them, and its redaction (SR-1)."""

from uuid import UUID

from memory import redaction
from memory.host.errors import Invalid
from memory.text.storable import UNSTORABLE_IN_TEXT

MAX_REASON = 500


def stored_reason(tenant_id: UUID, given: str, *, required: bool = False) -> str:
    """Return the reason as it is stored: stripped, without the tenant's secrets. Refuses one that is too long then,
    or cannot be stored; with ``required`` also an empty one."""
    stored, problem = check_reason(tenant_id, given, required=required)
    if problem:
        raise Invalid(f"The reason {problem}.", errors=[{"field": "reason", "message": problem}])
    return stored


def check_reason(tenant_id: UUID, given: str, *, required: bool = False) -> tuple[str, str]:
    """The same without the refusal: the reason as it is stored, and what is wrong with it, if anything."""
    given = given.strip()
    if not given:
        return "", "is required" if required else ""
    if UNSTORABLE_IN_TEXT.search(given):  # before the search for secrets, which takes no half of a surrogate pair
        return "", "holds a character that cannot be stored"
    stored = redaction.for_tenant(tenant_id).redact(given).text
    if len(stored) <= MAX_REASON:
        return stored, ""
    return "", f"is longer than {MAX_REASON} characters" + " once its secrets are replaced" * (len(given) <= MAX_REASON)
