"""The inbox: lists of proposals with their filters and counts. Reads only; ``review`` reads a single proposal.

The number of queries does not depend on the length of a list, and every list has a total.
"""

import re
from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from itertools import islice
from typing import Any
from uuid import UUID

from django.db.models import Case, CharField, Count, Exists, F, OuterRef, Q, QuerySet, Subquery, TextField, Value, When
from django.db.models.functions import Cast, Coalesce, Replace
from django.urls import reverse

from memory.host import access, ids
from memory.host.expiry import expired, unexpired
from memory.host.paging import Page, behind, cut
from memory.host.proposal_links import Citation
from memory.host.tenancy import TenantScope
from proposals import diffs, impact, rules
from proposals.impact import Places
from proposals.models import UNDER_REVIEW, Decision, Gate, GateState, Proposal, Revision, Vote

NONE, WAITING, GRANTED, OVERRIDDEN = "none", "waiting", "granted", "overridden"
REFUSED, EXPIRED = "refused", "expired"
STANDINGS = (WAITING, GRANTED, OVERRIDDEN, REFUSED, EXPIRED, NONE)
ALL, NEEDS_ME, MINE = "all", "needs-me", "mine"
SHOWS = (NEEDS_ME, MINE, ALL)
OLDER = "older"
SEARCHED = 500  # newest proposals searched for a source run
AGES: dict[str, timedelta] = {"24h": timedelta(days=1), "7d": timedelta(days=7), "30d": timedelta(days=30)}
DUPLICATES = {"yes": False, "no": True}
# The synthesizer facet's value for proposals without a model: written by a person, a key or an agent.
NO_MODEL = "-"
NOTHING = Q(id__in=())
PART_OF_AN_ID = re.compile(r"[0-9a-f]{4,32}")
FACETS = ("gate", "state", "kind", "age", "synthesizer", "duplicate", "purpose")
# Synthesizers offered by name, those with the most proposals first.
EXPORTED = 50  # at a time: their texts are read for the sizes of changes
LISTED = 20
PAGE = 50
UNREAD = ("rationale", "evidence")


# The gate standing of a proposal: one word that the database can filter and count. Used in this package only.
#
# It describes the latest gate. A withdrawn, cancelled or void gate counts as none; an open gate past its expiry counts
# as expired, even before a worker has closed it.


def latest_gate(tenant_id: UUID) -> QuerySet[Gate]:
    """The gates of the outer query's proposal, latest first."""
    rows: QuerySet[Gate] = Gate.objects.of(tenant_id).filter(proposal_id=OuterRef("id"))
    return rows.order_by("-id")


def standing_expression(tenant_id: UUID, *, now: datetime) -> Coalesce:
    """An expression for the standing (one of ``STANDINGS``) of each proposal in the outer query."""
    overrides = Vote.objects.of(tenant_id).filter(gate_id=OuterRef("id"), overrides=True)
    granted = Q(state=GateState.GRANTED)
    word = Case(
        When(expired(now), state=GateState.OPEN, then=Value(EXPIRED)),
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


# The filter of the inbox and its conditions. Only the filter itself is used outside this package.


@dataclass(frozen=True, slots=True)
class InboxFilter:
    """What to show; an empty facet matches everything. Values of one facet are ORed, facets are ANDed.

    An unknown value matches nothing.
    """

    show: str = ALL
    gates: tuple[str, ...] = ()
    states: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()
    age: str = ""
    synthesizers: tuple[str, ...] = ()
    duplicates: tuple[str, ...] = ()
    purposes: tuple[str, ...] = ()
    text: str = ""
    agent: str = ""


def matching(scope: TenantScope, wanted: InboxFilter, *, now: datetime, besides: str = "") -> QuerySet[Proposal]:
    """The proposals that ``wanted`` describes; the facet ``besides`` is ignored."""
    asked = {facet: each for facet, each in _conditions(wanted, now).items() if each and facet != besides}
    rows = _filter_by_tab(scope, wanted.show, now)
    # Each of the two takes the ORM as long as the rest of the query, so neither is added where no condition needs it.
    if "gate" in asked:
        rows = rows.alias(standing=standing_expression(scope.tenant_id, now=now))
    if "text" in asked:
        rows = rows.alias(wire=_wire())
    return rows.filter(*asked.values())


def ids_matching(scope: TenantScope, wanted: InboxFilter, *, limit: int, now: datetime) -> list[UUID]:
    """The ids of the newest ``limit`` proposals that match, newest first."""
    scope.check("proposals:read")
    return list(matching(scope, wanted, now=now).order_by("-id").values_list("id", flat=True)[:limit])


def citing_runs(scope: TenantScope, run_ids: Collection[UUID], limit: int) -> list[Citation]:
    """Of the last ``SEARCHED`` proposals, the newest ``limit`` that name one of these runs as a source.

    Empty without ``proposals:read``.
    """
    if not scope.can("proposals:read"):
        return []
    wanted = {ids.wire("run", each) for each in run_ids}
    rows = Proposal.objects.of(scope.tenant_id).order_by("-id").values_list("id", "title", "state", "source_run_ids")
    named = (row for row in rows[:SEARCHED] if wanted.intersection(row[3]))
    return [_citation(row_id, title, state) for row_id, title, state, _ in islice(named, limit)]


def count_pending(scope: TenantScope) -> dict[str, int]:
    """How many proposals of each agent are under review. Empty without ``proposals:read``."""
    if not scope.can("proposals:read"):
        return {}
    rows = Proposal.objects.of(scope.tenant_id).filter(state__in=UNDER_REVIEW).exclude(agent_id="")
    return _by("agent_id", rows)


def newest_of_agent(scope: TenantScope, agent_id: str, limit: int) -> list[Citation]:
    """The newest proposals of the agent. Empty without ``proposals:read``."""
    if not scope.can("proposals:read"):
        return []
    rows = Proposal.objects.of(scope.tenant_id).filter(agent_id=agent_id).order_by("-id")
    return [_citation(*row) for row in rows.values_list("id", "title", "state")[:limit]]


def of_activation(scope: TenantScope, run_id: UUID) -> Citation | None:
    """The proposal of the gate that this run belongs to. None without one, and without ``proposals:read``."""
    if not scope.can("proposals:read"):
        return None
    gates = Gate.objects.of(scope.tenant_id).filter(run_id=run_id)
    row = gates.values_list("proposal_id", "proposal__title", "proposal__state").first()
    return _citation(*row) if row else None


def _citation(row_id: UUID, title: str, state: str) -> Citation:
    wire_id = ids.wire("prop", row_id)
    return Citation(wire_id, title, state, reverse("proposal", args=[wire_id]))


def titles_of(scope: TenantScope, wire_ids: Collection[str]) -> dict[str, str]:
    """Return the titles of the proposals among these ids. Empty without ``proposals:read``."""
    wanted = [found for each in wire_ids if (found := ids.parse("prop", each))]
    if not wanted or not scope.can("proposals:read"):
        return {}
    rows = Proposal.objects.of(scope.tenant_id).filter(id__in=wanted).exclude(title="")
    return {ids.wire("prop", row_id): title for row_id, title in rows.values_list("id", "title")}


def _wire() -> Replace:
    """The id as 32 hex digits on every database engine, without the hyphens that some add."""
    return Replace(Cast("id", CharField()), Value("-"), Value(""))


def _conditions(wanted: InboxFilter, now: datetime) -> dict[str, Q]:
    """The condition of each facet; an empty ``Q`` for a facet that is not set."""
    return {
        "gate": _any_of("standing", wanted.gates),
        "state": _any_of("state", wanted.states),
        "kind": _any_of("kind", wanted.kinds),
        "age": proposed_within(wanted.age, now) if wanted.age else Q(),
        "synthesizer": _any_of("synthesizer_model", _models(wanted.synthesizers)),
        "duplicate": _duplicates(wanted.duplicates),
        "purpose": _any_of("purpose", wanted.purposes),
        "text": _text(wanted.text),
        "agent": Q(agent_id=wanted.agent) if wanted.agent else Q(),
    }


def _any_of(field: str, values: tuple[str, ...]) -> Q:
    return Q(**{f"{field}__in": values}) if values else Q()


def _duplicates(words: tuple[str, ...]) -> Q:
    absent = {DUPLICATES[word] for word in words if word in DUPLICATES}
    if not words or len(absent) == len(DUPLICATES):
        return Q()
    return Q(duplicate_of__isnull=absent.pop()) if absent else NOTHING


def proposed_within(age: str, now: datetime) -> Q:
    """Proposed within that age; ``older`` means before all ``AGES``, an unknown age matches nothing."""
    if age == OLDER:
        return Q(created_at__lte=now - max(AGES.values()))
    return Q(created_at__gt=now - AGES[age]) if age in AGES else NOTHING


def _models(synthesizers: tuple[str, ...]) -> tuple[str, ...]:
    return tuple({model for each in synthesizers for model in ({each, ""} if each == NO_MODEL else {each})})


def _text(text: str) -> Q:
    """The title contains every word of ``text`` in any case; or the id contains ``text``.

    Not every database folds case beyond ASCII, so the usual spellings of such a word are matched.
    """
    asked = Q()
    for word in text.split():
        spelled = sorted({word, word.lower(), word.upper(), word.capitalize()} if not word.isascii() else {word})
        asked &= Q(title__iregex="|".join(map(re.escape, spelled)))
    digits = text.lower().removeprefix("prop_").replace("-", "")
    return asked | Q(wire__contains=digits) if PART_OF_AN_ID.fullmatch(digits) else asked


def _filter_by_tab(scope: TenantScope, show: str, now: datetime) -> QuerySet[Proposal]:
    rows: QuerySet[Proposal] = Proposal.objects.of(scope.tenant_id)
    if show == NEEDS_ME:
        return _awaiting(scope, rows, now)
    if show == MINE:
        return rows.alias(wrote=Cast("contributors", TextField())).filter(_names("wrote", scope.principal.person))
    return rows if show == ALL else rows.none()


def _awaiting(scope: TenantScope, rows: QuerySet[Proposal], now: datetime) -> QuerySet[Proposal]:
    """Proposals with an open gate at which ``rules`` lets this principal vote and its person has not voted."""
    if not scope.can(rules.scope_for("decide")) or scope.principal.agent_ids is not None:
        return rows.none()
    voted = Vote.objects.of(scope.tenant_id).filter(gate_id=OuterRef("id"), person=scope.principal.person)
    gates = Gate.objects.of(scope.tenant_id).filter(proposal_id=OuterRef("id"), state=GateState.OPEN, closed_at=None)
    gates = gates.filter(unexpired(now), ~Exists(voted))
    for_me = Q(roles="[]")
    for role in access.roles_of(scope.tenant_id, scope.principal.id):
        for_me |= _names("roles", role)
    gates = gates.alias(roles=Cast("eligible_roles", TextField())).filter(for_me)
    return rows.alias(wrote=Cast("contributors", TextField())).filter(
        Exists(gates), ~_names("wrote", scope.principal.person), state__in=UNDER_REVIEW
    )


def awaiting_vote(scope: TenantScope, *, now: datetime) -> QuerySet[Proposal]:
    """The proposals that wait for this principal's vote."""
    scope.check("proposals:read")
    return _awaiting(scope, Proposal.objects.of(scope.tenant_id), now)


def with_expiry(scope: TenantScope, rows: QuerySet[Proposal]) -> QuerySet[Proposal]:
    """Annotate ``expires_at``, the deadline of the open gate; None when there is none."""
    gates = Gate.objects.of(scope.tenant_id).filter(proposal_id=OuterRef("id"), state=GateState.OPEN, closed_at=None)
    return rows.annotate(expires_at=Subquery(gates.values("expires_at")[:1]))


def drafts(scope: TenantScope) -> QuerySet[Proposal]:
    """Proposals under review whose approval has not been requested; empty when this principal may not request it."""
    settled = Q(last=None) | ~Q(last=GateState.CHANGES_REQUESTED) | Q(revision__gt=F("last_revision"))
    return _without_gate(scope).filter(settled) if _may(scope, "apply") else _nothing(scope)


def changes_requested(scope: TenantScope) -> QuerySet[Proposal]:
    """Proposals with a request for changes to the current revision; empty when this principal may not revise."""
    asked = Q(last=GateState.CHANGES_REQUESTED, revision=F("last_revision"))
    return _without_gate(scope).filter(asked) if _may(scope, "revise") else _nothing(scope)


def _may(scope: TenantScope, action: str) -> bool:
    return scope.can("proposals:read") and scope.can(rules.scope_for(action)) and scope.principal.agent_ids is None


def _nothing(scope: TenantScope) -> QuerySet[Proposal]:
    rows: QuerySet[Proposal] = Proposal.objects.of(scope.tenant_id)
    return rows.none()


def _without_gate(scope: TenantScope) -> QuerySet[Proposal]:
    """Proposals under review without an activation, with ``last`` (state) and ``last_revision`` of the last gate."""
    rows: QuerySet[Proposal] = Proposal.objects.of(scope.tenant_id).filter(state__in=UNDER_REVIEW)
    gates = latest_gate(scope.tenant_id)
    under_way = Gate.objects.of(scope.tenant_id).filter(proposal_id=OuterRef("id"), closed_at=None)
    return rows.filter(~Exists(under_way)).alias(
        last=Subquery(gates.values("state")[:1]), last_revision=Subquery(gates.values("revision")[:1])
    )


def _names(column: str, name: str) -> Q:
    """A JSON list of names, as text, contains ``name``; safe because no name contains a quotation mark."""
    return Q(**{f"{column}__contains": f'"{name}"'})


# The count of proposals for each choice of the inbox.


@dataclass(frozen=True, slots=True)
class Counts:
    """``shows`` counts each scope unfiltered; ``facets`` counts each value with all other facets applied.

    ``synthesizers`` is the number of distinct ones, listed or not.
    """

    shows: dict[str, int]
    facets: dict[str, dict[str, int]]
    synthesizers: int


def counts(scope: TenantScope, wanted: InboxFilter, *, now: datetime) -> Counts:
    """Count the proposals for each choice; a value that is missing counts 0."""
    scope.check("proposals:read")
    shows = {show: matching(scope, InboxFilter(show), now=now).count() for show in SHOWS}
    all_set, is_set = matching(scope, wanted, now=now), _conditions(wanted, now)
    among = {facet: matching(scope, wanted, now=now, besides=facet) if is_set[facet] else all_set for facet in FACETS}
    gates = among["gate"].annotate(word=standing_expression(scope.tenant_id, now=now))
    models = _synthesizers(among["synthesizer"])
    facets = {
        "gate": _by("word", gates),
        "state": _by("state", among["state"]),
        "kind": _by("kind", among["kind"]),
        "age": _count_each({age: proposed_within(age, now) for age in (*AGES, OLDER)}, among["age"]),
        "synthesizer": dict(models.most_common(LISTED)),
        "duplicate": _count_each(
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
        found[model or NO_MODEL] += number
    return found


def _count_each(conditions: dict[str, Q], rows: QuerySet[Proposal]) -> dict[str, int]:
    """Count the rows that meet each condition, in one query; a row may meet several."""
    counted = {f"number_{at}": Count("id", filter=each) for at, each in enumerate(conditions.values())}
    found = rows.aggregate(**counted)
    return {word: found[f"number_{at}"] for at, word in enumerate(conditions)}


# The rows of the inbox: one page, all that match, or a selection.


@dataclass(frozen=True, slots=True)
class Row:
    """A row of the inbox: the proposal, the size of its change, and its latest gate with its standing.

    ``grants`` counts the grants at that gate; ``overridden`` says whether one of them is an override. The change is the
    one that the page of the proposal opens with; its size and the digest are left out of a selection (``chosen``), and
    so is ``overtaken_by``: the ref that was installed under its name after the revision was written.
    """

    proposal: Proposal
    gate: Gate | None = None
    standing: str = NONE
    grants: int = 0
    overridden: bool = False
    added: int = 0
    removed: int = 0
    sha256: str = ""
    overtaken_by: str = ""

    @property
    def word(self) -> str:
        """The state of the latest gate as every page and file calls it: that of the API, but ``waiting`` for an open
        one and ``overridden``; ``none`` without a gate."""
        return str(self.gate.state) if self.gate and self.standing in (NONE, REFUSED) else self.standing

    @property
    def under_way(self) -> Gate | None:
        """The gate of the current activation, or None."""
        return self.gate if self.gate and self.gate.closed_at is None else None

    @property
    def under_review(self) -> bool:
        return self.proposal.state in UNDER_REVIEW


@dataclass(frozen=True, slots=True)
class InboxPage:
    """One page; ``total`` counts all that match, ``after`` is the cursor of the next page or None."""

    rows: list[Row]
    total: int
    first: int
    after: UUID | None

    @property
    def last(self) -> int:
        return self.first + len(self.rows) - 1


def page(
    scope: TenantScope,
    wanted: InboxFilter,
    *,
    after: UUID | None = None,
    seen: int = 0,
    size: int = PAGE,
    now: datetime,
) -> InboxPage:
    """The next ``size`` proposals after the cursor ``after``, newest first; ``seen`` counts those on earlier pages."""
    scope.check("proposals:read")
    found = matching(scope, wanted, now=now)
    rows, more = _behind(scope, found, after, size, now)
    return InboxPage(rows, found.count(), seen + 1, more)


def export_rows(scope: TenantScope, wanted: InboxFilter, *, now: datetime) -> Iterator[Row]:
    """Every proposal that matches, newest first; the permission is checked at the call, not at the first row."""
    scope.check("proposals:read")
    return _to_the_end(scope, matching(scope, wanted, now=now), now)


def chosen(scope: TenantScope, proposal_ids: Collection[UUID], *, now: datetime) -> list[Row]:
    """The proposals of this tenant with these ids, newest first; unknown ids are skipped."""
    scope.check("proposals:read")
    found = Proposal.objects.of(scope.tenant_id).filter(id__in=proposal_ids)
    return _lines(scope.tenant_id, found.order_by("-id"), len(proposal_ids), now)


def list_matching(scope: TenantScope, wanted: InboxFilter, *, now: datetime) -> list[Revision]:
    """The current revision of every proposal that matches, newest proposal first, with ``proposal`` loaded."""
    scope.check("proposals:read")
    return list(_standing_of(scope, matching(scope, wanted, now=now)))


def list_rows(
    scope: TenantScope, wanted: InboxFilter, *, after: UUID | None = None, limit: int, now: datetime
) -> Page[Revision]:
    """One page of ``list_matching``: at most ``limit`` revisions, after the proposal ``after``."""
    scope.check("proposals:read")
    found = matching(scope, wanted, now=now)
    rows, last = cut(list(_standing_of(scope, behind(found, after))[: limit + 1]), limit)
    return Page(rows, found.count(), last.proposal_id if last else None)


def _standing_of(scope: TenantScope, found: QuerySet[Proposal]) -> QuerySet[Revision]:
    rows: QuerySet[Revision] = Revision.objects.of(scope.tenant_id).select_related("proposal__tenant")
    return rows.filter(proposal_id__in=found.values("id"), number=F("proposal__revision")).order_by("-proposal_id")


def _to_the_end(scope: TenantScope, found: QuerySet[Proposal], now: datetime) -> Iterator[Row]:
    after: UUID | None = None
    while True:
        rows, after = _behind(scope, found, after, EXPORTED, now)
        yield from rows
        if after is None:
            return


def _behind(
    scope: TenantScope, found: QuerySet[Proposal], after: UUID | None, size: int, now: datetime
) -> tuple[list[Row], UUID | None]:
    """The next ``size`` rows, and the cursor of the page after them or None."""
    lines, last = cut(_lines(scope.tenant_id, behind(found, after), size + 1, now), size)
    return _with_sizes(scope.tenant_id, lines), last.proposal.id if last else None


def _lines(tenant_id: UUID, found: QuerySet[Proposal], limit: int, now: datetime) -> list[Row]:
    """The first ``limit`` proposals as rows, in three queries."""
    gate_id = Subquery(latest_gate(tenant_id).values("id")[:1])
    rows: list[Any] = list(
        found.annotate(stands=standing_expression(tenant_id, now=now), gate_id=gate_id).defer(*UNREAD)[:limit]
    )
    gates = Gate.objects.of(tenant_id).in_bulk_by_id([row.gate_id for row in rows if row.gate_id])
    votes = _votes(tenant_id, list(gates))
    return [_line(row, gates.get(row.gate_id), votes.get(row.gate_id, (0, False))) for row in rows]


def _line(row: Any, gate: Gate | None, votes: tuple[int, bool]) -> Row:
    grants, overridden = votes
    return Row(row, gate, row.stands, grants, overridden)


def _votes(tenant_id: UUID, gates: list[UUID]) -> dict[UUID, tuple[int, bool]]:
    """By gate: the number of grants, and whether one of them is an override."""
    cast: dict[UUID, tuple[int, bool]] = {}
    granted = Vote.objects.of(tenant_id).filter(gate_id__in=gates, decision=Decision.GRANTED)
    for gate_id, overrides in granted.values_list("gate_id", "overrides"):
        grants, overridden = cast.get(gate_id, (0, False))
        cast[gate_id] = (grants + 1, overridden or overrides)
    return cast


def _with_sizes(tenant_id: UUID, rows: list[Row]) -> list[Row]:
    """The rows with the digests of their current revisions and the sizes of their changes."""
    mine = [row.proposal.id for row in rows]
    current = Revision.objects.of(tenant_id).filter(proposal_id__in=mine, number=F("proposal__revision"))
    made = {each.proposal_id: each for each in current.defer("title", "rationale", "note")}
    places = impact.places_of(tenant_id, [(row.proposal, made[row.proposal.id].text) for row in rows])
    return [_with_size(row, made[row.proposal.id], places[row.proposal.id]) for row in rows]


def _with_size(row: Row, made: Revision, place: Places) -> Row:
    """Compare with what the page compares with: production, else the previous revision, else nothing."""
    before, newer = place.in_production, place.overtaking(made)
    if before or made.number == 1:
        added, removed = diffs.remembered_size(before.text if before else "", made.text)
    else:  # the texts of a forgotten proposal are all the same
        added, removed = (0, 0) if made.forgotten_at else (made.lines_added, made.lines_removed)
    return replace(row, added=added, removed=removed, sha256=made.sha256, overtaken_by=newer.ref if newer else "")
