"""Who may not is told so before what the body lacks: 403 comes before 400 (openwop-host 1.4)."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from uuid import UUID

from rest_framework.exceptions import APIException

from memory.host.tenancy import TenantScope
from proposals import denials


@contextmanager
def before_the_body(
    scope: TenantScope, *actions: str, proposal_id: UUID | None = None, now: datetime
) -> Iterator[None]:
    """Around the reading of a body, which may be any of ``actions``: a bad one is refused as such only to who may take
    one of them. What a good one asks for is authorized, and a denial of it recorded, by what carries it out."""
    try:
        yield
    except APIException:
        denials.authorize_one_of(scope, actions, proposal_id, now=now)
        raise
