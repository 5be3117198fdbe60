"""Forget requests, and the plan of each: the names to look for, what each store holds, and the digest of the plan."""

import hashlib
import hmac
import json
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

import rfc8785
from django.conf import settings
from django.db.models import Count, Exists, OuterRef, QuerySet

from memory import ledger, redaction
from memory.host import audit, erasure, vault
from memory.host.erasure import EarlierLook, Holding, Identifiers, Rechecked
from memory.host.errors import Conflict, Invalid, NotFound
from memory.host.json_types import JSONObject
from memory.host.paging import Page, behind, cut, read_page
from memory.host.tenancy import TenantScope
from memory.models import Decision, ForgetRequest, ForgetState, Suspect
from memory.text import encodings
from memory.text.matching import Mention, marks, mention, name_form, search_form

MAX_TERMS = 10
AROUND, REDACTED_AROUND = 120, 2000
OVERLAP = timedelta(minutes=1)  # between the clocks of two processes
GOING = ("erase", "suspected", "rowsSha256")
SHORTEST_TERM, LONGEST_TERM = 3, 256
ORDER = {Mention.SUSPECTED: 0, Mention.EXACT: 1, Mention.NONE: 2}


@dataclass(frozen=True, slots=True)
class Excerpt:
    """Where a text mentions the subject, with some words around it; ``mention`` is empty when its form there cannot be
    marked, or when nothing of the text is shown. ``is_decoded`` when it is only found in the decoded text."""

    before: str = ""
    mention: str = ""
    after: str = ""
    is_decoded: bool = False


def excerpt(terms: tuple[str, ...], texts: Sequence[str], redact: Callable[[str], str]) -> Excerpt:
    """The first suspected mention in ``texts`` with its context, redacted before it is cut; a whole name, which needs
    no decision, only when there is no other."""
    pattern = marks({*terms, *map(encodings.bare, terms)})
    ordered = sorted(texts, key=lambda text: ORDER[mention(terms, text)])
    for text in ordered:
        for reading, is_decoded in _readings(text):
            if hit := pattern.search(reading):
                around = redact(reading[max(0, hit.start() - REDACTED_AROUND) : hit.end() + REDACTED_AROUND])
                if shown := pattern.search(around):
                    before, after = around[: shown.start()], around[shown.end() :]
                    return Excerpt(_end_of(before), shown[0], _beginning_of(after), is_decoded)
    said = redact(next(iter(ordered), "")[: 2 * REDACTED_AROUND])
    return Excerpt(after=_beginning_of(said))


def _readings(text: str) -> Iterator[tuple[str, bool]]:
    """The readings of ``text``, and whether each differs from what is written: as is, normalised, and decoded."""
    yield from ((text, False), (unicodedata.normalize("NFKC", text), False), (search_form(text), False))
    for reading in encodings.readings(text):
        yield reading, True
        yield encodings.bare(search_form(reading)), True


@dataclass(frozen=True, slots=True)
class InContext:
    """A row of a preview with where it mentions the subject, and the wire id of what it is found in."""

    suspect: Suspect
    excerpt: Excerpt
    found_in: str


def suspects_in_context(request: ForgetRequest, terms: tuple[str, ...], rows: Sequence[Suspect]) -> list[InContext]:
    """The rows in their order; their texts are read for this and kept nowhere."""
    redact = redaction.for_tenant(request.tenant_id).redact
    texts: dict[tuple[str, UUID], list[str]] = {}
    places: dict[tuple[str, UUID], str] = {}
    for eraser in erasure.registered():
        wanted = [each.row_id for each in rows if each.store == eraser.store]
        if wanted:
            texts |= {(eraser.store, row): said for row, said in eraser.texts(request.tenant_id, wanted).items()}
            places |= {(eraser.store, row): of for row, of in eraser.found_in(request.tenant_id, wanted).items()}
    return [
        InContext(
            each,
            excerpt(terms, texts.get((each.store, each.row_id), ()), lambda text: redact(text).text),
            places.get((each.store, each.row_id), ""),
        )
        for each in rows
    ]


def _end_of(text: str) -> str:
    return text if len(text) <= AROUND else f"…{text[-AROUND:].partition(' ')[2] or text[-AROUND:]}"


def _beginning_of(text: str) -> str:
    return text if len(text) <= AROUND else f"{text[:AROUND].rpartition(' ')[0] or text[:AROUND]}…"


def terms_of(names: list[str]) -> tuple[str, ...]:
    """The names as they are looked for, once each; refuses what cannot be."""
    terms = tuple(dict.fromkeys(name_form(name) for name in names if name.strip()))
    problem = ""
    if not terms:
        problem = "name the subject"
    elif len(terms) > MAX_TERMS:
        problem = f"at most {MAX_TERMS} names at a time"
    elif any(_width(term) < SHORTEST_TERM or len(term) > LONGEST_TERM for term in terms):
        problem = (
            f"each name has {SHORTEST_TERM} to {LONGEST_TERM} characters (a wide one counts twice); shorter ones would "
            "match half the ledger"
        )
    elif any(not term.isprintable() for term in terms):
        problem = "a name holds no control characters"
    if problem:
        raise Invalid("The subject cannot be looked for.", errors=[{"field": "subject", "message": problem}])
    return terms


def open_terms(request: ForgetRequest) -> tuple[str, ...]:
    """The names that an open request looks for; refuses one that is over."""
    if not request.sealed_terms:
        raise Conflict("This request has ended; its subject is no longer stored here.", state=request.state)
    return tuple(json.loads(vault.open_note(request.id, bytes(request.sealed_terms))))


def subject_key(tenant_id: UUID, term: str) -> str:
    """The keyed hash under which a subject is remembered after it was forgotten."""
    key = settings.SECRET_KEY.encode() + tenant_id.bytes
    return hmac.new(key, name_form(term).encode(), hashlib.sha256).hexdigest()


REMEMBERED = 1000  # requests whose subjects are known again


@dataclass(frozen=True, slots=True)
class Returned:
    """A subject that was forgotten by ``request``, and how many of the entries that were looked at are about it."""

    request: ForgetRequest
    subject: str
    entries: int


def returned(scope: TenantScope, subjects: Iterable[str]) -> list[Returned]:
    """Return those of ``subjects`` that were forgotten, by the keyed hashes of their names, which outlive them."""
    scope.check("memory:forget")
    counted = Counter(filter(None, subjects))
    if not counted:
        return []
    done = ForgetRequest.objects.of(scope.tenant_id).filter(state=ForgetState.FORGOTTEN).order_by("-id")[:REMEMBERED]
    forgotten = {key: request for request in reversed(done) for key in {request.subject_key, *request.term_keys}}
    found = ((forgotten.get(subject_key(scope.tenant_id, name)), name, number) for name, number in counted.items())
    return [Returned(request, name, number) for request, name, number in found if request]


def _width(term: str) -> int:
    """How many letters there are; a Chinese, Japanese or Korean one counts twice, and a mark without its letter is
    none."""
    return sum(2 if unicodedata.east_asian_width(letter) in "WF" else 1 for letter in encodings.bare(term))


def holdings_of(tenant_id: UUID, subject: Identifiers) -> Iterator[Holding]:
    """What every store holds of the subject now, store by store, in one search."""
    return (eraser.find(tenant_id, subject) for eraser in erasure.registered())


def going_of(tenant_id: UUID, subject: Identifiers) -> Iterator[Holding]:
    """The same of what may go: what stays is no part of a plan's digest, and is counted again for the receipt."""
    return (erasure.find_going(eraser, tenant_id, subject) for eraser in erasure.registered())


def encode_matches(position: int, holdings: Iterable[Holding]) -> bytes:
    """The matches among the entries, to be stored with the request: ids alone."""
    found = next(each for each in holdings if each.store == erasure.ENTRIES)
    rows = b"".join(row.bytes for row in (*found.erase, *found.suspected))
    return position.to_bytes(8) + len(found.erase).to_bytes(8) + rows


def subject_of(request: ForgetRequest, terms: tuple[str, ...]) -> Identifiers:
    """The subject of a request, with what its preview has found among the entries.

    Without it, so that all of them are searched again, when tags were changed since: an entry keeps its position then.
    """
    kept = bytes(request.found)
    if not kept or _have_tags_changed(request):
        return Identifiers(terms)
    position, exact, rows = int.from_bytes(kept[:8]), int.from_bytes(kept[8:16]), kept[16:]
    found = tuple(UUID(bytes=rows[at : at + 16]) for at in range(0, len(rows), 16))
    return Identifiers(terms, EarlierLook(position, found[:exact], found[exact:]))


def _have_tags_changed(request: ForgetRequest) -> bool:
    since = request.created_at - OVERLAP
    records = (audit.last_of(request.tenant_id, action) for action in ledger.entries.TAG_ACTIONS.values())
    return any(record is not None and record.occurred_at >= since for record in records)


def plan_of(holdings: Iterable[Holding]) -> JSONObject:
    """The holdings as the document that is frozen and hashed: how many rows, and a digest of which."""
    return {
        holding.store: {
            "erase": len(holding.erase),
            "suspected": len(holding.suspected),
            "rowsSha256": _digest_of_rows(holding),
            "stays": holding.stays,
            "staysBecause": holding.stays_because,
        }
        for holding in holdings
    }


def plan_now(request: ForgetRequest, terms: tuple[str, ...]) -> JSONObject:
    """What may go now, as a plan to compare with that of the preview: a store that can tell that it holds the same is
    not searched again."""
    subject = subject_of(request, terms)
    plan: JSONObject = {}
    for eraser in erasure.registered():
        before = request.plan.get(eraser.store, {})
        is_same = (
            isinstance(eraser, Rechecked)
            and before.get("looked")
            and eraser.is_as_found(request.tenant_id, subject, before["looked"])
        )
        plan |= {eraser.store: before} if is_same else plan_of([erasure.find_going(eraser, request.tenant_id, subject)])
    return plan


def _digest_of_rows(holding: Holding) -> str:
    """One digest of both lists; a row that moves from one to the other changes it."""
    found = hashlib.sha256()
    for kind, rows in ((b"erase", holding.erase), (b"suspected", holding.suspected)):
        found.update(kind)
        for row in sorted(rows):
            found.update(row.bytes)
    return found.hexdigest()


def count_decisions(request: ForgetRequest) -> dict[tuple[str, str], int]:
    """How many suspects of each store were decided how."""
    rows = Suspect.objects.of(request.tenant_id).filter(request_id=request.id).order_by()
    counts = rows.values("store", "decision").annotate(rows=Count("id")).values_list("store", "decision", "rows")
    return {(store, decision): number for store, decision, number in counts}


def digest_of(plan: JSONObject) -> str:
    """SHA-256 over the JCS form (RFC 8785) of what would go; what stays is counted anew for the receipt."""
    going = {store: {name: entry[name] for name in GOING} for store, entry in plan.items()}
    return hashlib.sha256(rfc8785.dumps(going)).hexdigest()


def find(scope: TenantScope, request_id: UUID | None) -> ForgetRequest:
    """The request of this tenant, or ``NotFound``."""
    scope.check("memory:forget")
    rows = ForgetRequest.objects.of(scope.tenant_id).select_related("background")
    row: ForgetRequest | None = rows.filter(id=request_id).first() if request_id else None
    if row is None:
        raise NotFound("There is no forget request by that id.")
    return row


def suspects(
    request: ForgetRequest, *, after: UUID | None = None, limit: int = 50
) -> tuple[list[Suspect], UUID | None]:
    """The rows after ``after`` to decide about, store by store, and the last of them when there are more. The plan has
    the total."""
    rows = Suspect.objects.of(request.tenant_id).filter(request_id=request.id)
    shown, last = cut(list(behind(rows, after, "id")[: limit + 1]), limit)
    return shown, last.id if last else None


def newest(scope: TenantScope, *, before: UUID | None = None, limit: int = 50) -> Page[ForgetRequest]:
    """The tenant's requests, newest first, without those that were only previewed; ``before`` is the last one seen."""
    return read_page(_confirmed(scope), before, limit)


def export_requests(scope: TenantScope) -> Iterator[ForgetRequest]:
    """All of them, newest first, for a file."""
    yield from _confirmed(scope).order_by("-id").iterator(chunk_size=500)


def request_that_removed(scope: TenantScope, moment: datetime) -> ForgetRequest | None:
    """The request that was carried out when an entry was forgotten; None when more than one was, or none."""
    rows = _confirmed(scope).filter(confirmed_at__lte=moment, finished_at__gte=moment)
    found: list[ForgetRequest] = list(rows.order_by("id")[:2])
    return found[0] if len(found) == 1 else None


def unfinished(scope: TenantScope) -> QuerySet[ForgetRequest]:
    """The requests in progress or with residue, oldest first."""
    rows = _confirmed(scope).filter(state__in=(ForgetState.CONFIRMED, ForgetState.RESIDUE))
    return rows.order_by("id")


def awaiting_second(scope: TenantScope, *, now: datetime) -> QuerySet[ForgetRequest]:
    """The requests that another person confirmed and that wait for this one, oldest first."""
    rows = _confirmed(scope).filter(state=ForgetState.AWAITING, lapses_at__gt=now)
    return rows.exclude(first_confirmed_by=scope.principal.person).order_by("id")


def with_undecided(scope: TenantScope) -> QuerySet[ForgetRequest]:
    """The finished requests with suspects that are without a decision, oldest first."""
    return _confirmed(scope).filter(state=ForgetState.FORGOTTEN, undecided__gt=0).order_by("id")


def previews_to_decide(scope: TenantScope, *, now: datetime) -> QuerySet[ForgetRequest]:
    """The previews that can still be confirmed and have suspects without a decision, oldest first."""
    scope.check("memory:forget")
    rows = ForgetRequest.objects.of(scope.tenant_id).defer("plan", "found")
    suspects = Suspect.objects.of(scope.tenant_id).filter(request_id=OuterRef("id"), decision=Decision.UNDECIDED)
    return rows.filter(Exists(suspects), state=ForgetState.PREVIEWED, lapses_at__gt=now).order_by("id")


def _confirmed(scope: TenantScope) -> QuerySet[ForgetRequest]:
    scope.check("memory:forget")
    rows = ForgetRequest.objects.of(scope.tenant_id).defer("plan", "found")
    return rows.filter(confirmed_at__isnull=False)
