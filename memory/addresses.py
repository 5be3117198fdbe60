"""Where an entry of RFC-0015 has its place: tier, agent, namespace and key; what may stand there, and its form.

The memory_ref of such an entry follows from its address, and its content is the canonical JSON of its
value. No run and no pass writes under these refs except through an address.
"""

import json
from dataclasses import dataclass
from enum import StrEnum

import rfc8785

from memory.host.json_types import JSONObject

PREFIX = "openintent/"
MAX_AGENT = 128
MAX_NAME = 255
MAX_SHARED_NAMESPACE = 200
MAX_SCOPE_ID = 100
MAX_VALUE_BYTES = 65_536
NOWHERE = "-"
TASK_LIFETIME = "task_lifetime"
AGENT_ID = f"must be 1 to {MAX_AGENT} printable characters, with no blank at either end"
PRIORITIES = ("low", "normal", "high")


class Tier(StrEnum):
    """RFC-0015 2."""

    WORKING = "working"
    EPISODIC = "episodic"
    SEMANTIC = "semantic"


class Sensitivity(StrEnum):
    """RFC-0015 9.2."""

    PUBLIC = "public"
    INTERNAL = "internal"
    CONFIDENTIAL = "confidential"
    RESTRICTED = "restricted"


SEALED = frozenset({Sensitivity.CONFIDENTIAL, Sensitivity.RESTRICTED})


def _segment(text: str) -> str:
    """Escape the text as one segment of a ref, so that addresses of different agents have different refs."""
    return text.replace("%", "%25").replace("/", "%2F")


NEVER_AN_ID = "holds a secret of the vault, which no id may"


def is_agent_id(text: str) -> bool:
    """Whether an agent may be called so: what a header and a line of a form hold as it is."""
    return 0 < len(text) <= MAX_AGENT and text.isprintable() and text == text.strip()


def is_addressed(ref: str) -> bool:
    """Whether entries under the ref have an address; what passes make of them there has none."""
    return ref.startswith(PREFIX)


def owner_of(ref: str) -> str | None:
    """Return the agent that owns the memory under an OpenIntent ref; None when agents share it."""
    tier, _, rest = ref.removeprefix(PREFIX).partition("/")
    owner = rest.rpartition("/")[0] if tier == Tier.WORKING else rest
    return None if tier == Tier.SEMANTIC else owner


def is_working(ref: str) -> bool:
    """Whether the ref holds the state of work in progress, which changes while a pass reads it."""
    return ref.startswith(f"{PREFIX}{Tier.WORKING}/")


def unique_key(tier: str, agent_id: str, namespace: str, key: str) -> tuple[str, str, str]:
    """What no other live entry of the tenant has: the key in its namespace, or in that of its agent."""
    return "" if tier == Tier.SEMANTIC else agent_id, namespace, key


@dataclass(frozen=True, slots=True)
class Address:
    """The place of one entry, and what RFC-0015 says of it besides its value.

    ``agent_id`` owns it; of a semantic one it is the creator. ``task_id`` and ``intent_id`` are the scope as it was
    sent, of this host or not. ``ttl`` is ``task_lifetime``, ``duration:<ISO 8601>`` or empty.
    """

    tier: Tier
    agent_id: str
    namespace: str
    key: str
    task_id: str = ""
    intent_id: str = ""
    pinned: bool = False
    priority: str = "normal"
    sensitivity: str = ""
    ttl: str = ""
    created_by: str = ""
    curated_by: str = ""

    @property
    def unique(self) -> tuple[str, str, str]:
        return unique_key(self.tier, self.agent_id, self.namespace, self.key)

    @property
    def memory_ref(self) -> str:
        if self.tier == Tier.SEMANTIC:
            return f"{PREFIX}semantic/{self.namespace}"
        if self.tier == Tier.EPISODIC:
            return f"{PREFIX}episodic/{self.agent_id}"
        return f"{PREFIX}working/{self.agent_id}/{_segment(self.task_id) or NOWHERE}"

    @property
    def is_sealed(self) -> bool:
        """Whether its value is stored encrypted only (RFC-0015 9.2)."""
        return self.sensitivity in SEALED


def canonical(value: JSONObject) -> str:
    """Return the stored form of the value: RFC 8785, with the numbers that it cannot hold written out exactly."""
    try:
        return rfc8785.dumps(value).decode()
    except rfc8785.CanonicalizationError:
        return json.dumps(value, ensure_ascii=False, allow_nan=False, sort_keys=True, separators=(",", ":"))


def size_of(value: JSONObject) -> int:
    """Return the bytes of the value in compact JSON, which is what limits count (R18, R76)."""
    return len(json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode())


def kept_form(address: Address, value: JSONObject) -> str:
    """Return the content of the entry's row; for a sealed value only a sign that there is one."""
    return json.dumps({"sealed": address.sensitivity}) if address.is_sealed else canonical(value)
