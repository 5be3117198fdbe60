"""What this host honours of OpenIntent, and nothing else (contract 2.2): public, and the same for every tenant.

``openwop_console.discovery`` does the same for OpenWOP. A test calls the addresses behind each word that stands here.
"""

import hashlib
import json

from django.conf import settings
from django.http import HttpResponse
from rest_framework.decorators import api_view
from rest_framework.request import Request
from rest_framework.response import Response

from memory import addresses
from memory.addresses import SEALED, Sensitivity, Tier
from memory.host.http import Status, operation, public_document
from memory.host.json_types import JSONObject
from memory.host.tenancy import scope_of
from memory.openintent import queries
from memory.openintent.api import schemas
from memory.openintent.api.http import described

PROTOCOL, PROTOCOL_VERSION = "OpenIntent Coordination Protocol", "0.1"
READS = (
    "memory",
    "memory-query",
    "memory-search",
    "memory-filter",
    "memory-namespaces",
    "memory-summary",
    "intents",
    "tasks",
    "agents",
    "coordinators",
    "events",
    "event-streams",
    "optimistic-concurrency",
)
WRITES = ("memory-batch",)
RFC_0015 = "RFC-0015"
DOCUMENT = {"type": "object"}
ANSWERS: dict[Status, object] = {200: DOCUMENT, 304: None}


def document() -> JSONObject:
    """``/.well-known/openintent.json`` in this configuration."""
    return {
        "protocol": PROTOCOL,
        "version": PROTOCOL_VERSION,
        "capabilities": [*READS, *(WRITES if settings.OPENWOP_MEMORY_WRITABLE else ())],
        "authentication": {"headers": ["X-API-Key", "Authorization"], "agentHeader": "X-Agent-ID"},
        "memory": {
            "rfc": RFC_0015,
            "tiers": [tier.value for tier in Tier],
            "writable": settings.OPENWOP_MEMORY_WRITABLE,
            "durable": settings.OPENWOP_MEMORY_BACKEND == "long-term",
            "maxValueBytes": addresses.MAX_VALUE_BYTES,
            "maxLimit": queries.MAX_LIMIT,
            "sensitivities": [each.value for each in Sensitivity],
            "encryptedAtRest": sorted(SEALED),
        },
    }


def compatibility() -> JSONObject:
    """``/.well-known/openintent-compat.json``: RFC-0015 whole, and of the others what its tiers rest on."""
    around = ("RFC-0001", "RFC-0011", "RFC-0012", "RFC-0013")
    whole = "full" if settings.OPENWOP_MEMORY_WRITABLE else "partial"
    return {
        "implementation": "openwop-console",
        "protocolVersion": PROTOCOL_VERSION,
        "rfcCompliance": {RFC_0015: whole, **dict.fromkeys(around, "partial")},
        "features": dict.fromkeys(document()["capabilities"], True),
    }


@operation("discoverOpenIntent", scope=None, gives=ANSWERS, headers=("If-None-Match",), tag="host")
@api_view(["GET"])
def discovered(request: Request) -> HttpResponse:
    """What this host honours of OpenIntent."""
    return _public(request, document())


@operation("compareWithOpenIntent", scope=None, gives=ANSWERS, headers=("If-None-Match",), tag="host")
@api_view(["GET"])
def compared(request: Request) -> HttpResponse:
    """Which RFCs of OpenIntent this host follows."""
    return _public(request, compatibility())


@described("getServerConfig", scope="", gives={200: schemas.SERVER})
@api_view(["GET"])
def server_config(request: Request) -> Response:
    """What the published client asks a server about itself. This host suspends no intents, so it has no policy."""
    scope_of(request)
    return Response({"protocol_version": PROTOCOL_VERSION, "suspension": {"default_retry_policy": None}})


def _public(request: Request, said: JSONObject) -> HttpResponse:
    body = json.dumps(said, separators=(",", ":")).encode()
    etag = f'"{hashlib.sha256(body).hexdigest()[:32]}"'
    return public_document(request.headers, body, etag)
