"""The wire forms that every endpoint of OpenIntent shares."""

import json
from collections.abc import Mapping
from typing import Any

import orjson
from django.http import HttpResponse

from memory.agent_memory.documents import entry_document, instant

__all__ = ["entry_document", "instant", "json_bytes", "json_response"]


def json_response(document: Any, *, status: int = 200, headers: Mapping[str, str] | None = None) -> HttpResponse:
    """The document as plain JSON bytes: that is most of what a page of entries takes, and no serializer has a part in
    it."""
    return HttpResponse(json_bytes(document), status=status, headers=headers, content_type="application/json")


def json_bytes(document: Any) -> bytes:
    """The document as JSON, with integers of any size."""
    try:
        return orjson.dumps(document)
    except TypeError:  # an integer of more than 64 bits, which stays what it was (R5)
        return json.dumps(document, ensure_ascii=False, separators=(",", ":")).encode()
