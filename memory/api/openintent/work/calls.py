"""What the views of work share: in whose name, in which version, which page."""

from typing import Any

from django.utils import timezone
from rest_framework.request import Request
from rest_framework.response import Response

from memory import work
from memory.api.openintent.calling import caller_of
from memory.api.openintent.entries import version_of
from memory.api.openintent.work import serializers as wire
from memory.host.errors import PreconditionRequired
from memory.host.serializing import query_of
from memory.tiers import Caller
from memory.work import authority


def acting(request: Request, named: str | None, *, field: str) -> Caller:
    """Who calls; ``named`` in a body is that agent, or any of the tenant for an operator (R2)."""
    caller = caller_of(request, otherwise=named or "")
    if not named:
        return caller
    authority.require_own_name(caller.scope, named, caller.agent_id, field=field)
    return Caller(caller.scope, named)


def version_in(request: Request) -> int:
    """The version that is to be changed; refused when nobody says which (R44)."""
    found = version_of(request)
    if found is None:
        raise PreconditionRequired
    return found


def page_of(request: Request, asked: type[wire.Page]) -> dict[str, Any]:
    """Which page of a list is wanted, and of what."""
    filled = asked(data=query_of(request))
    filled.is_valid(raise_exception=True)
    found: dict[str, Any] = filled.validated_data
    return found


def listed(documents: list[dict[str, Any]], total: int) -> Response:
    """The bare array that the client wants; how many there are in all stands beside it."""
    return Response(documents, headers={"X-Total-Count": str(total)})


def versioned(document: dict[str, Any], *, status: int = 200) -> Response:
    """The document, with its version as ``ETag`` (R49)."""
    return Response(document, status=status, headers={"ETag": f'"{document["version"]}"'})


def require_direction(caller: Caller, intent_id: str) -> None:
    """Refuses who does not direct the intent."""
    about = work.find_intent(caller.scope, intent_id)
    authority.require_direction(caller.scope, about, caller.agent_id, now=timezone.now())


def require_part(caller: Caller, intent_id: str) -> None:
    """Refuses who neither directs the intent nor works on it."""
    about = work.find_intent(caller.scope, intent_id)
    authority.require_part(caller.scope, about, caller.agent_id, now=timezone.now())


def require_voice(caller: Caller, intent_id: str) -> None:
    """Refuses who has neither a part in the intent nor joined it."""
    about = work.find_intent(caller.scope, intent_id)
    authority.require_voice(caller.scope, about, caller.agent_id, now=timezone.now())
