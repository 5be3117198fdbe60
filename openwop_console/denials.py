"""What a door answers with 403 is put on record there, unless the domain has recorded it already.

Called by the middleware behind every view of every face, so a page, an endpoint and a seam leave the same trace. What
cannot be recorded is logged, and the answer stays what it was.
"""

import logging
from datetime import datetime
from typing import TypeGuard

from django.http import HttpRequest, HttpResponse
from django.urls import resolve

from memory.host import denials, ids
from memory.host.errors import Forbidden
from memory.host.tenancy import scope_of

log = logging.getLogger(__name__)


def put_on_record(request: HttpRequest, response: HttpResponse, *, now: datetime) -> None:
    """A denial among the answers, of an authenticated principal, is on record once."""
    refusal = getattr(response, "refusal", None)
    if getattr(request, "principal", None) is None or not is_denial(refusal):
        return
    try:
        _record(request, refusal, now)
    except Exception:
        log.exception("a denial could not be put on record; it stays a denial")


def is_denial(refusal: object) -> TypeGuard[Forbidden]:
    """Whether this says that a principal lacks a permission or is barred by a rule, and is not on record yet."""
    if not isinstance(refusal, Forbidden) or refusal.on_record:
        return False
    return "requiredScope" in refusal.details or "rule" in refusal.details


def _record(request: HttpRequest, refusal: Forbidden, now: datetime) -> None:
    """The action is the method and the name of the route; a resource is an id, never a word somebody typed."""
    route = request.resolver_match or resolve(request.path_info)
    named = {name: value for name, value in route.kwargs.items() if ids.is_wire(value)}
    denials.record(
        scope_of(request),
        refusal,
        action=f"{request.method} {route.view_name}",
        resource=next(iter(named.values()), ""),
        run_id=ids.parse("run", named.get("run_id", "")),
        now=now,
    )
