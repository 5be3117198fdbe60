"""What may be stored of work, whichever door it came through: no secret, no bottomless text, no word nobody knows."""

import json
from collections.abc import Collection
from typing import Any

from memory import addresses, harness
from memory.host.errors import Invalid
from memory.host.tenancy import TenantScope

MAX_TEXT = 65_536
MAX_NAME = 500
MAX_OBJECT = 65_536
MAX_WORDS = 200
MAX_BOUND = 1_000_000_000
LIMITS = ("max_entries", "max_total_size_kb")
FLAGS = ("archive_on_completion", "inherit_from_parent")


def refuse(field: str, message: str) -> Invalid:
    """The refusal that says what is wrong with one field."""
    return Invalid("The request is not valid.", errors=[{"field": field, "message": message}])


def name(scope: TenantScope, field: str, text: str, *, most: int = MAX_NAME, empty: bool = False) -> str:
    """The text as it is stored: redacted, and still short enough."""
    found = harness.for_tenant(scope.tenant_id).redact(text).text
    if not found.strip() and not empty:
        raise refuse(field, "must not be empty")
    if len(found) > most:
        raise refuse(field, f"must be at most {most} characters, marks of secrets included")
    return found


def agent_name(field: str, text: str) -> str:
    """An agent's id, which stands on the log and is therefore no free text."""
    if not addresses.is_agent_id(text):
        raise refuse(field, addresses.AGENT_ID)
    return text


def document(scope: TenantScope, field: str, value: Any, *, most: int = MAX_OBJECT) -> Any:
    """The JSON value as it is stored: redacted, keys too, and not larger than a value of memory."""
    found = harness.for_tenant(scope.tenant_id).redact_json(value)
    try:
        size = len(json.dumps(found, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode())
    except ValueError:
        raise refuse(field, "holds a number or a character that JSON has not") from None
    if size > most:
        raise refuse(field, f"must be at most {most} bytes of JSON, and has {size}")
    return found


def record(scope: TenantScope, given: dict[str, Any]) -> dict[str, Any]:
    """The fields that are kept and not interpreted, each checked under its own name."""
    return {field: document(scope, field, value) for field, value in given.items()}


def one_of(field: str, word: str, words: Collection[str]) -> str:
    if word not in words:
        raise refuse(field, f"must be one of {', '.join(words)}")
    return word


def memory_policy(given: dict[str, Any] | None) -> dict[str, Any] | None:
    """A task's memory policy as it was given (RFC-0015 6.5, R72); refused when it says what nobody understands."""
    for field, value in (given or {}).items():
        path = f"memory_policy.{field}"
        if field in FLAGS:
            _flag(path, value)
        elif field in LIMITS:
            _bound(path, value)
        else:
            raise refuse(path[:100], "is not a field of a memory policy")
    return given


def guardrails(scope: TenantScope, given: dict[str, Any] | None) -> dict[str, Any] | None:
    """Guardrails as they were given (RFC-0013, RFC-0015 6.6); those of memory have to make sense."""
    if given is None:
        return None
    for field in ("max_working_memory_per_task", "max_episodic_memory_per_agent"):
        _bound(f"guardrails.{field}", given.get(field))
    for field in ("allowed_semantic_namespaces", "denied_semantic_namespaces"):
        _words(f"guardrails.{field}", given.get(field))
    _flag("guardrails.memory_archive_required", given.get("memory_archive_required", True))
    one_of("guardrails.on_exceed", str(given.get("on_exceed", "fail")), ON_EXCEED)
    kept: dict[str, Any] = document(scope, "guardrails", given)
    return kept


ON_EXCEED = ("pause", "escalate", "pause_and_escalate", "fail")


def _flag(field: str, value: Any) -> None:
    if not isinstance(value, bool):
        raise refuse(field, "must be true or false")


def _bound(field: str, value: Any) -> None:
    whole = isinstance(value, int) and not isinstance(value, bool)
    if value is not None and not (whole and 0 <= value <= MAX_BOUND):
        raise refuse(field, f"must be null or a whole number from 0 to {MAX_BOUND}")


def _words(field: str, value: Any) -> None:
    texts = isinstance(value, list) and len(value) <= MAX_WORDS and all(isinstance(each, str) for each in value)
    if value is not None and not texts:
        raise refuse(field, f"must be null or a list of at most {MAX_WORDS} strings")
