"""``GET /.well-known/openwop``: what this host advertises, and it advertises only what it honours.

One document: discovery serves it, the agents' memory health is derived from it, the settings page shows it.
"""

import hashlib
import json
from typing import Any

import rfc8785
from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_safe

from memory.drafts import MAX_CONTENT_BYTES
from memory.host import access, registry
from proposals import artifacts

VERSION = "0.1.0"
CACHE_SECONDS = 300


def document() -> dict[str, Any]:
    """The capabilities of this host in this configuration."""
    families = {
        "memory": _memory(),
        "agents": _agents(),
        "authorization": _authorization(),
        "secrets": {"supported": True, "scopes": ["tenant", "user", "run"]},
    }
    return {
        "protocolVersion": "1.0",
        "implementation": {"name": "openwop-console", "version": VERSION, "vendor": "openwop-console"},
        "supportedTransports": ["rest"],
        "supportedEnvelopes": [],
        "schemaVersions": {},
        "limits": {"clarificationRounds": 0, "schemaRounds": 0, "envelopesPerTurn": 0},
        "fixtures": [name for name in registry.builtin_ids() if name.startswith("conformance-")],
        **families,
        "capabilities": families,
    }


def _memory() -> dict[str, Any]:
    return {
        "supported": True,
        "maxEntrySizeBytes": MAX_CONTENT_BYTES,
        "ttlSupported": True,
        "search": {"supported": True, "modes": ["filter"]},
        "retention": {"ttl": True, "forget": True},
        "attribution": {"supported": True, "emitsWriteEvents": True},
    }


def _agents() -> dict[str, Any]:
    """Without ``supported``: that would promise agent events and confidence escalation, which are not here yet."""
    durable = settings.OPENWOP_MEMORY_BACKEND == "long-term"
    return {
        **({"memoryBackends": ["long-term"]} if durable else {}),
        "proposals": {
            "artifactKinds": artifacts.installable_kinds(),
            "duplicationDetection": False,
            "activation": settings.OPENWOP_PROPOSALS_ACTIVATION,
        },
    }


def _authorization() -> dict[str, Any]:
    roles = [{"role": role, "scopes": sorted(scopes)} for role, scopes in access.ROLES.items()]
    return {"supported": True, "failClosed": True, "roles": roles}


@require_safe
def discovery(request: HttpRequest) -> HttpResponse:
    body = json.dumps(document(), separators=(",", ":"))
    etag = f'"{hashlib.sha256(rfc8785.dumps(document())).hexdigest()[:32]}"'
    same = request.headers.get("If-None-Match") == etag
    response = HttpResponse(status=304) if same else HttpResponse(body, content_type="application/json")
    response["ETag"] = etag
    response["Cache-Control"] = f"public, max-age={CACHE_SECONDS}"
    return response


@require_safe
def health(request: HttpRequest) -> HttpResponse:
    """``/healthz``: the process answers."""
    return HttpResponse("ok\n", content_type="text/plain")
