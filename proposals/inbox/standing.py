"""Where a proposal stands with its gates, in one word that the database can count. For this package alone.

The word is about its latest gate. One that was withdrawn, cancelled or void stands for nothing any more; one whose time
is over has expired, whether or not anybody has noticed.
"""

from datetime import datetime
from uuid import UUID

from django.db.models import Case, CharField, Exists, OuterRef, Q, QuerySet, Subquery, Value, When
from django.db.models.functions import Coalesce

from proposals.models import Gate, GateState, Vote

NONE, WAITING, GRANTED, OVERRIDDEN = "none", "waiting", "granted", "overridden"
REFUSED, EXPIRED = "refused", "expired"
STANDINGS = (WAITING, GRANTED, OVERRIDDEN, REFUSED, EXPIRED, NONE)


def latest_gate(tenant_id: UUID) -> QuerySet[Gate]:
    """The gates of the proposal that the outer query looks at, the latest first."""
    rows: QuerySet[Gate] = Gate.objects.of(tenant_id).filter(proposal_id=OuterRef("id"))
    return rows.order_by("-id")


def standing(tenant_id: UUID, *, now: datetime) -> Coalesce:
    """The word for a row of the outer query, which is one of proposals."""
    overrides = Vote.objects.of(tenant_id).filter(gate_id=OuterRef("id"), overrides=True)
    granted = Q(state=GateState.GRANTED)
    word = Case(
        When(state=GateState.OPEN, expires_at__lte=now, then=Value(EXPIRED)),
        When(state=GateState.OPEN, then=Value(WAITING)),
        When(granted & Exists(overrides), then=Value(OVERRIDDEN)),
        When(granted, then=Value(GRANTED)),
        When(state__in=(GateState.REJECTED, GateState.CHANGES_REQUESTED), then=Value(REFUSED)),
        When(state=GateState.EXPIRED, then=Value(EXPIRED)),
        default=Value(NONE),
        output_field=CharField(),
    )
    found = Subquery(latest_gate(tenant_id).annotate(word=word).values("word")[:1])
    return Coalesce(found, Value(NONE), output_field=CharField())
