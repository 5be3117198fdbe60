"""How many proposals stand behind each choice of the inbox."""

from collections import Counter
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Count, Q, QuerySet

from memory.host.tenancy import TenantScope
from proposals.inbox.filters import AGES, DUPLICATES, NOBODY, OLDER, SHOWS, InboxFilter, matching, of_age
from proposals.inbox.standing import standing
from proposals.models import Proposal

FACETS = ("gate", "state", "kind", "age", "synthesizer", "duplicate", "purpose")
# So many synthesizers are offered by name, those with the most proposals first.
LISTED = 20


@dataclass(frozen=True, slots=True)
class Counts:
    """``shows`` counts each scope in all; ``facets`` each value of a facet among what the other facets leave.

    ``synthesizers`` is how many different ones there are, listed or not.
    """

    shows: dict[str, int]
    facets: dict[str, dict[str, int]]
    synthesizers: int


def counts(scope: TenantScope, wanted: InboxFilter, *, now: datetime) -> Counts:
    """The number behind each choice; what is not named stands behind none."""
    scope.check("proposals:read")
    shows = {show: matching(scope, InboxFilter(show), now=now).count() for show in SHOWS}
    among = {facet: matching(scope, wanted, now=now, besides=facet) for facet in FACETS}
    gates = among["gate"].annotate(word=standing(scope.tenant_id, now=now))
    models = _synthesizers(among["synthesizer"])
    facets = {
        "gate": _by("word", gates),
        "state": _by("state", among["state"]),
        "kind": _by("kind", among["kind"]),
        "age": _each({age: of_age(age, now) for age in (*AGES, OLDER)}, among["age"]),
        "synthesizer": dict(models.most_common(LISTED)),
        "duplicate": _each(
            {word: Q(duplicate_of__isnull=absent) for word, absent in DUPLICATES.items()}, among["duplicate"]
        ),
        "purpose": _by("purpose", among["purpose"]),
    }
    return Counts(shows, facets, len(models))


def _by(field: str, rows: QuerySet[Proposal]) -> dict[str, int]:
    return dict(rows.order_by().values_list(field).annotate(number=Count("id")))


def _synthesizers(rows: QuerySet[Proposal]) -> Counter[str]:
    found: Counter[str] = Counter()
    for model, number in sorted(_by("synthesizer_model", rows).items()):
        found[model or NOBODY] += number
    return found


def _each(conditions: dict[str, Q], rows: QuerySet[Proposal]) -> dict[str, int]:
    """How many rows meet each condition, in one query; a row may meet several."""
    counted = {f"number_{at}": Count("id", filter=each) for at, each in enumerate(conditions.values())}
    found = rows.aggregate(**counted)
    return {word: found[f"number_{at}"] for at, word in enumerate(conditions)}
