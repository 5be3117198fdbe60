"""Serve ``GET /.well-known/openwop``: the capabilities of this host, limited to those it honours.

One document: discovery serves it, the agents' memory health is derived from it, the settings page shows it.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass

import rfc8785
from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_safe

from memory import workspace
from memory.entry_drafts import MAX_CONTENT_BYTES
from memory.forget import receipts
from memory.host import access, audit_access, audit_chain, heartbeats, registry, runs, scheduling, webhooks
from memory.host.http import public_document
from memory.host.json_types import JSONObject
from memory.host.models import ForkMode
from memory.memory_policy import Policy
from memory.models import Condition
from memory.passes import compaction, distillation
from memory.text import token_budget
from memory.workspace import MAX_FILE_BYTES
from openwop_console import VERSION
from openwop_console.runtime import run_operations
from proposals import artifacts

Headers = list[tuple[str, str]]
Messages = tuple[JSONObject, JSONObject]
HEALTH = "/healthz"
PATHS = frozenset(
    {
        HEALTH,
        "/v1/openapi.json",
        "/.well-known/openwop",
        "/.well-known/openintent.json",
        "/.well-known/openintent-compat.json",
    }
)
RAW_PATHS = frozenset(path.encode() for path in PATHS)
OF_A_BODY = frozenset({b"content-length", b"content-type"})
MOST = 64
Key = tuple[bytes, bytes, bytes]


def document() -> JSONObject:
    """Return the capabilities of this host in this configuration."""
    families = {
        "memory": _memory(),
        "agents": _agents(),
        "authorization": _authorization(),
        "auth": _auth(),
        "workspace": _workspace(),
        "secrets": {"supported": True, "scopes": ["tenant", "user", "run"], "resolution": "host-managed"},
        "scheduling": _scheduling(),
        "heartbeat": _heartbeat(),
        "runs": {"pauseResume": {"supported": True, "drainPolicies": list(runs.DRAIN_POLICIES)}},
        "webhooks": {"supported": True, "signatureAlgorithms": [webhooks.ALGORITHM]},
        "replay": {"supported": True, "modes": list(ForkMode.values), "sideEffectSuppression": "recorded-outcome"},
    }
    return {
        "protocolVersion": "1.0",
        "implementation": {"name": "openwop-console", "version": VERSION, "vendor": "openwop-console"},
        "supportedTransports": ["rest"],
        "supportedEnvelopes": ["clarification.request"],
        "schemaVersions": {"clarification.request": 1},
        "limits": _limits(),
        "fixtures": _fixtures(),
        "x-host-openwop-console-forgetReceipts": {
            "signatureAlgorithm": "ed25519",
            "canonicalization": receipts.CANONICALIZATION,
            "publicKeys": receipts.public_keys(),
        },
        **families,
        "capabilities": families,
    }


def _limits() -> dict[str, int]:
    return {
        "clarificationRounds": 1,
        "schemaRounds": 0,
        "envelopesPerTurn": 0,
        "maxNodeExecutions": run_operations.MAX_NODE_EXECUTIONS,
        "maxRunDurationMs": run_operations.MAX_RUN_DURATION_MS,
    }


def _fixtures() -> list[str]:
    """Return the conformance fixtures; those of memory write what they read, so a read-only host omits them."""
    found = [name for name in registry.builtin_ids() if name.startswith("conformance-")]
    writable = settings.OPENWOP_MEMORY_WRITABLE
    return [name for name in found if writable or not name.startswith("conformance-agent-memory-")]


def _memory() -> JSONObject:
    """Describe memory; an absent ``writable`` means true (RFC 0080 A)."""
    return {
        "supported": True,
        **(_passes() if settings.OPENWOP_MEMORY_WRITABLE else {"writable": False}),
        "maxEntrySizeBytes": MAX_CONTENT_BYTES,
        "ttlSupported": True,
        "search": {"supported": True, "modes": ["filter"]},
        "injectionBudget": {"supported": True, "tokenCounter": token_budget.TOKENIZER},
        "retention": {"ttl": True, "forget": True},
        "attribution": {"supported": True, "emitsWriteEvents": True},
    }


def _passes() -> JSONObject:
    """Describe the passes that condense memory.

    A read-only host has none. An ephemeral host has no distillation, because its archives would outlive its memory.
    """
    condenses = {"compaction": {"supported": True, "trigger": compaction.TRIGGER, **compaction.LIMITS}}
    return condenses | ({"distillation": _distillation()} if _is_durable() else {})


def _is_durable() -> bool:
    return bool(settings.OPENWOP_MEMORY_BACKEND == "long-term")


def _distillation() -> JSONObject:
    return {
        "supported": True,
        "maxTokenBudget": distillation.MAX_TOKEN_BUDGET,
        "scheduled": True,
        "indexEmitted": True,
        "tokenizerName": token_budget.TOKENIZER,
        "archiveRetention": f"P{Policy().archive_days}D",
    }


def _agents() -> JSONObject:
    """Describe agents, without ``supported``: it would promise escalation by confidence, and this host asks no model
    for a confidence."""
    durable = _is_durable()
    consolidates = durable and settings.OPENWOP_MEMORY_WRITABLE
    return {
        **({"memoryBackends": ["long-term"]} if durable else {}),
        **({"memoryConsolidation": {"supported": True, "schedule": "on-demand"}} if consolidates else {}),
        **({"commitments": {"supported": True, "fireConditions": list(Condition.values)}} if consolidates else {}),
        "manifestRuntime": {"supported": True, "installScope": "tenant"},
        "proposals": {
            "artifactKinds": artifacts.installable_kinds(),
            "duplicationDetection": True,
            "activation": settings.OPENWOP_PROPOSALS_ACTIVATION,
        },
    }


def _workspace() -> JSONObject:
    return {
        "supported": True,
        "versioned": True,
        "maxFileBytes": MAX_FILE_BYTES,
        "maxFiles": workspace.MAX_FILES,
        "maxVersions": workspace.MAX_VERSIONS,
    }


def _auth() -> JSONObject:
    """Describe the audit chain's profile; earlier signing keys are published with the exported checkpoints."""
    return {
        "profiles": ["openwop-audit-log-integrity"],
        "auditLogIntegrity": {
            "hashChain": True,
            "checkpointSignatureAlgorithm": "ed25519",
            "checkpointPublicKey": audit_access.public_keys()[0]["publicKey"],
            "checkpointIntervalEntries": audit_chain.EVERY_ENTRIES,
            "checkpointIntervalSeconds": audit_chain.EVERY_SECONDS,
        },
    }


def _scheduling() -> JSONObject:
    return {"supported": True, "cron": True, "delayed": True, "maxFutureHorizon": scheduling.HORIZON_TEXT}


def _heartbeat() -> JSONObject:
    return {
        "supported": True,
        "minIntervalSec": heartbeats.MIN_INTERVAL_S,
        "maxRuntimeMs": heartbeats.MAX_RUNTIME_MS,
    }


def _authorization() -> JSONObject:
    roles = [{"role": role, "scopes": sorted(scopes)} for role, scopes in access.ROLES.items()]
    return {"supported": True, "failClosed": True, "roles": roles}


@csrf_exempt
@require_safe
def discovery(request: HttpRequest) -> HttpResponse:
    found = document()
    body = json.dumps(found, separators=(",", ":"))
    etag = f'"{hashlib.sha256(rfc8785.dumps(found)).hexdigest()[:32]}"'
    return public_document(request.headers, body, etag)


@require_safe
def health(request: HttpRequest) -> HttpResponse:
    """``/healthz``: the process answers."""
    return HttpResponse("ok\n", content_type="text/plain")


@dataclass(frozen=True, slots=True)
class CompleteAnswer:
    """A complete response."""

    status: int
    headers: Headers
    body: bytes


@dataclass(frozen=True, slots=True)
class _Kept:
    """The messages to send for a document: in full, and as 304 when the client has it already."""

    etag: bytes
    whole: Messages
    unchanged: Messages


class Documents:
    """The cached answers of one process."""

    def __init__(self) -> None:
        self._kept: dict[Key, _Kept] = {}

    def find(self, scope: JSONObject) -> Messages | None:
        """Return the messages for this request, or None when its answer must be computed."""
        path = scope["raw_path"]
        if path not in RAW_PATHS or scope["method"] != "GET" or scope["query_string"]:
            return None
        pairs = scope["headers"]
        headers = dict(pairs)
        if len(headers) != len(pairs):
            return None
        found = self._kept.get(_key(path, headers.get(b"host", b""), headers.get(b"x-forwarded-proto", b"")))
        if not found or b"if-none-match" not in headers:
            return found.whole if found else None
        return found.unchanged if headers[b"if-none-match"] == found.etag else None

    def store(self, environ: Mapping[str, str], answer: CompleteAnswer) -> None:
        """Cache ``answer`` if it is complete and for one of the documents; at most ``MOST`` answers are kept."""
        path = environ["PATH_INFO"]
        if path not in PATHS or environ["REQUEST_METHOD"] != "GET" or environ.get("QUERY_STRING"):
            return
        names = ("HTTP_HOST", "HTTP_X_FORWARDED_PROTO")
        host, scheme = (environ.get(name, "").encode("latin-1") for name in names)
        key = _key(path.encode(), host, scheme)
        if answer.status != 200 or (key not in self._kept and len(self._kept) >= MOST):
            return
        headers = encoded(answer.headers)
        without_body = [pair for pair in headers if pair[0] not in OF_A_BODY]
        etag = dict(headers).get(b"etag", b"")
        self._kept[key] = _Kept(etag, _messages(200, headers, answer.body), _messages(304, without_body, b""))


def encoded(headers: Headers) -> list[tuple[bytes, bytes]]:
    """Encode the headers for ASGI."""
    return [(name.lower().encode("latin-1"), value.strip().encode("latin-1")) for name, value in headers]


def _key(path: bytes, host: bytes, scheme: bytes) -> Key:
    """Return the cache key. Health ignores the host: it is requested by the process's address, which no host list
    contains."""
    return path, b"" if path == HEALTH.encode() else host, scheme


def _messages(status: int, headers: list[tuple[bytes, bytes]], body: bytes) -> Messages:
    start = {"type": "http.response.start", "status": status, "headers": headers}
    return start, {"type": "http.response.body", "body": body, "more_body": False}
