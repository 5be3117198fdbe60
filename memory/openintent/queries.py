"""Lists of memory (RFC-0015 4; R37, R43, R50 to R63, R74): the parameters, the filter over values, and the page.

Visibility is ``access`` and part of the query: nothing is filtered afterwards, so totals count visible entries only. An
agent's list also has the entries that it wrote through OpenWOP: they are episodic, and read-only here.

The filter over values (``filter``, this host's addition) has the form of LangGraph's stores: each field names a value
or an object of operators. An object without operators is matched by the fields that it names, a list as a whole, and
null by an absent field.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from math import ceil
from typing import TYPE_CHECKING, Any
from uuid import UUID

from django.conf import settings
from django.http import QueryDict

from memory import adapter, addresses, embeddings, ledger
from memory.adapter.openintent import Counted, Listing, Seen, Selection
from memory.adapter.statistics import TierFigures
from memory.addresses import MAX_NAME, Tier
from memory.embeddings import Meaning
from memory.host import ids, sql
from memory.host.errors import Forbidden, Invalid
from memory.host.json_types import JSONMapping, JSONObject
from memory.models import Agent
from memory.openintent import access, entries, work
from memory.openintent.access import READ, Caller
from memory.openintent.entries import openintent_time
from memory.text.matching import is_number
from memory.text.search_words import Sought, sought
from memory.text.storable import UNSTORABLE

if TYPE_CHECKING:
    from memory.models.address import EntryAddress

MAX_LENGTH, MAX_DEPTH, MAX_FIELDS = 4096, 8, 64
EXACT = 2**53  # whole numbers below it are written in one way
COMPARED: dict[str, Callable[[float, float], bool]] = {
    "$gt": lambda one, other: one > other,
    "$gte": lambda one, other: one >= other,
    "$lt": lambda one, other: one < other,
    "$lte": lambda one, other: one <= other,
}
OPERATORS = ("$eq", "$ne", *COMPARED)


def parse_filter(text: str) -> JSONObject | str:
    """The filter, or what is wrong with it."""
    if len(text) > MAX_LENGTH:
        return f"is longer than {MAX_LENGTH} characters"
    try:
        found = json.loads(text, parse_constant=_refused)
    except (ValueError, RecursionError):
        return "must be a JSON object"
    if not isinstance(found, dict) or not found:
        return "must be a JSON object that names a field"
    if any(name.startswith("$") for name in found):
        return "must name a field before an operator"
    conditions = list(_conditions(found, 1))
    if len(conditions) > MAX_FIELDS:
        return f"names more than {MAX_FIELDS} fields"
    return next((problem for problem in conditions if problem), found)


def _refused(word: str) -> None:
    raise ValueError(word)


def _conditions(wanted: JSONObject, depth: int) -> Iterator[str]:
    """For each condition what is wrong with it, which is mostly nothing."""
    if depth > MAX_DEPTH:
        yield f"is nested deeper than {MAX_DEPTH} objects"
        return
    operators = [name for name in wanted if name.startswith("$")]
    for name, value in wanted.items():
        if operators and name not in OPERATORS:
            yield f"has {', '.join(OPERATORS)} as operators, and nothing beside them"
        elif name in COMPARED and not is_number(value):
            yield f"compares by {name} with a number"
        elif isinstance(value, dict) and not operators:
            yield from _conditions(value, depth + 1)
        else:
            yield ""


def matches(value: object, wanted: object) -> bool:
    """Whether the value matches the filter."""
    if isinstance(wanted, dict):
        if any(name.startswith("$") for name in wanted):
            return all(_satisfies(value, name, operand) for name, operand in wanted.items())
        return isinstance(value, dict) and all(matches(value.get(name), each) for name, each in wanted.items())
    if isinstance(wanted, list):
        if not isinstance(value, list) or len(value) != len(wanted):
            return False
        return all(matches(one, other) for one, other in zip(value, wanted, strict=True))
    return _same(value, wanted)


def _satisfies(value: object, operator: str, operand: Any) -> bool:
    if operator == "$eq":
        return _same(value, operand)
    if operator == "$ne":
        return not _same(value, operand)
    return is_number(value) and COMPARED[operator](value, operand)


def _same(one: object, other: object) -> bool:
    """Whether two values of JSON are one: a boolean is no number."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_same(one[name], other[name]) for name in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_same, one, other))
    return isinstance(one, bool) == isinstance(other, bool) and one == other


def anchors(wanted: JSONObject) -> tuple[str, ...]:
    """Texts contained in the canonical form of every value that matches: a database can search for them first."""
    return tuple(dict.fromkeys(_anchors(wanted)))


def _anchors(wanted: JSONObject) -> Iterator[str]:
    for name, value in wanted.items():
        if isinstance(value, dict) and not any(each.startswith("$") for each in value):
            yield from _anchors(value)
            continue
        exact = value.get("$eq") if isinstance(value, dict) else value
        if isinstance(exact, str | bool) or (isinstance(exact, int) and abs(exact) < EXACT):
            yield addresses.canonical({name: exact})[1:-1]


DEFAULT_LIMIT, MAX_LIMIT = 100, 1000
FARTHEST = 2**31 - 1
MAX_TAGS, MAX_TAG = 64, 256
MAX_QUERY = 2000
OWNED = (Tier.WORKING, Tier.EPISODIC)
# Up to here lists are read from their beginning to be put into one order; further on it is asked first which are empty.
DEEP = 5000
# So many values a filter looks at.
LOOKED_THROUGH = 10_000
KB = 1024


# What a list of memory was asked for: the thirteen parameters of RFC-0015 4.1 (R50 to R59), and ``q`` and ``filter``,
# which are ours; understood or refused.
#
# They come from a query string, where all are texts, or from the JSON filter of a batch delete, which may nest
# ``scope`` and list its tags, and where a number is a number and a boolean a boolean. Parameters that the RFC does not
# know are ignored (R63).


@dataclass(frozen=True, slots=True)
class Wanted:
    """The parameters as they hold; empty and None ask for nothing. ``listed`` is the list of the agent in the path."""

    agent_id: str = ""
    namespace: str = ""
    key: str = ""
    memory_type: Tier | None = None
    tags: tuple[str, ...] = ()
    tags_any: tuple[str, ...] = ()
    task_id: str = ""
    intent_id: str = ""
    pinned: bool | None = None
    updated_after: datetime | None = None
    updated_before: datetime | None = None
    limit: int = DEFAULT_LIMIT
    offset: int = 0
    listed: bool = False
    q: str = ""
    filter: JSONObject = field(default_factory=dict)

    @property
    def narrows(self) -> bool:
        """Whether anything is asked for but a page."""
        return Wanted(limit=self.limit, offset=self.offset, listed=self.listed) != self


@dataclass
class _Reading:
    """Parameters while they are read, with what is wrong with them."""

    given: JSONMapping
    is_json: bool = False
    errors: list[dict[str, str]] = field(default_factory=list)

    def refuse(self, name: str, message: str) -> None:
        self.errors.append({"field": name, "message": message})

    def text(self, name: str, *, longest: int = MAX_NAME) -> str:
        value = self._value(name)
        if value is None:
            return ""
        if not isinstance(value, str) or not value:
            self.refuse(name, "must be a text that is not empty")
        elif len(value) > longest or UNSTORABLE.search(value):
            self.refuse(name, f"must be at most {longest} characters that can be stored")
        else:
            return value
        return ""

    def query(self, name: str) -> str:
        """A text to search for; one without a word would find nothing, and is a mistake."""
        found = self.text(name, longest=MAX_QUERY)
        if found and not sought(found).asked:
            self.refuse(name, "must have a letter or a digit")
        return found

    def filter(self, name: str) -> JSONObject:
        """A filter over the fields of values; a JSON text."""
        value = self._value(name)
        found = {} if value is None else parse_filter(value) if isinstance(value, str) else "must be a JSON object"
        if isinstance(found, str):
            self.refuse(name, found)
            return {}
        return found

    def tags(self, name: str) -> tuple[str, ...]:
        value = self._value(name)
        if value is None:
            return ()
        parts = value.split(",") if isinstance(value, str) else value
        if not isinstance(parts, list | tuple) or not all(isinstance(part, str) for part in parts):
            self.refuse(name, "must be tags separated by commas")
            return ()
        found = tuple(dict.fromkeys(part for part in parts if part))
        if not 0 < len(found) <= MAX_TAGS or not all(
            len(tag) <= MAX_TAG and not UNSTORABLE.search(tag) for tag in found
        ):
            self.refuse(name, f"must be 1 to {MAX_TAGS} tags of at most {MAX_TAG} characters")
            return ()
        return found

    def tier(self, name: str) -> Tier | None:
        value = self._value(name)
        if value is None:
            return None
        if value not in [each.value for each in Tier]:
            self.refuse(name, f"must be one of {', '.join(Tier)}")
            return None
        return Tier(value)

    def flag(self, name: str) -> bool | None:
        value = self._value(name)
        if value is None or (self.is_json and isinstance(value, bool)):
            return value
        known = {"true": True, "false": False}
        if self.is_json or not isinstance(value, str) or value.lower() not in known:
            self.refuse(name, "must be true or false")
            return None
        return known[value.lower()]

    def moment(self, name: str) -> datetime | None:
        value = self._value(name)
        if value is None:
            return None
        found = parse_moment(value) if isinstance(value, str) else None
        if found is None:
            self.refuse(name, "must be a time in ISO 8601")
        return found

    def number(self, name: str, default: int, *, least: int, most: int) -> int:
        """A whole number; one that is too large is the largest there is (R59)."""
        value = self._value(name)
        if value is None:
            return default
        kind = int if self.is_json else str
        digits = str(value) if isinstance(value, kind) and not isinstance(value, bool) else ""
        if not (digits.isascii() and digits.isdigit()) or (len(digits) < 20 and int(digits) < least):
            self.refuse(name, f"must be a whole number of at least {least}")
            return default
        return most if len(digits) >= 20 else min(int(digits), most)

    def _value(self, name: str) -> object:
        """As it was given: a list of texts for what came as a list."""
        group, _, inner = name.partition(".")
        nested = self.given.get(group) if inner else None
        return nested.get(inner) if isinstance(nested, Mapping) and name not in self.given else self.given.get(name)


def parse(given: Mapping[str, object], *, agent_id: str = "", is_json: bool = False) -> Wanted:
    """The parameters, or a refusal that names each one that makes no sense. ``agent_id`` is the agent of the path."""
    named = {"agent_id": agent_id} if agent_id else {}
    texts = {name: given.get(name) for name in given}
    if isinstance(given, QueryDict):  # tags that are repeated narrow as those with commas between them do
        texts |= {name: ",".join(given.getlist(name)) for name in ("tags", "tags_any") if name in given}
    reading = _Reading({**texts, **named}, is_json)
    wanted = Wanted(
        agent_id=reading.text("agent_id"),
        namespace=reading.text("namespace", longest=MAX_NAME + 1),
        key=reading.text("key"),
        memory_type=reading.tier("memory_type"),
        tags=reading.tags("tags"),
        tags_any=reading.tags("tags_any"),
        task_id=reading.text("scope.task_id"),
        intent_id=reading.text("scope.intent_id"),
        pinned=reading.flag("pinned"),
        updated_after=reading.moment("updated_after"),
        updated_before=reading.moment("updated_before"),
        limit=reading.number("limit", DEFAULT_LIMIT, least=1, most=MAX_LIMIT),
        offset=reading.number("offset", 0, least=0, most=FARTHEST),
        listed=bool(agent_id),
        q=reading.query("q"),
        filter=reading.filter("filter"),
    )
    if wanted.memory_type in OWNED and not wanted.agent_id and not wanted.task_id:
        reading.refuse("agent_id", f"is needed for {wanted.memory_type} memory, or scope.task_id")
    if reading.errors:
        raise Invalid("The query cannot be understood.", errors=reading.errors)
    return wanted


def parse_moment(text: str) -> datetime | None:
    """The time in ISO 8601, or None. Without an offset it is UTC; a space before one was a ``+`` in a query string."""
    for form in (text, "+".join(text.rsplit(" ", 1))):
        try:
            found = datetime.fromisoformat(form)
            return found.replace(tzinfo=UTC) if found.tzinfo is None else found.astimezone(UTC)
        except (ValueError, OverflowError):
            continue
    return None


@dataclass(frozen=True, slots=True)
class Page:
    """A part of a list, and how long all of it is, or at least is unless ``total_is_exact``. Those of its rows that are
    of ``inherited_from``, a task, are seen through a task under it. ``meaning`` is by what a search was ranked, and
    ``scores`` what each of its rows got there: the more, the better, within one search."""

    rows: "list[EntryAddress]"
    total: int
    limit: int
    offset: int
    inherited_from: str = ""
    meaning: Meaning | None = None
    scores: Mapping[UUID, float] = field(default_factory=dict)
    total_is_exact: bool = True


def page(caller: Caller, wanted: Wanted, *, now: datetime) -> Page:
    """The entries that the caller may see and that fit, the latest change first, or those of a search the best first;
    the owner has accessed them (R37)."""
    caller = replace(caller, agent_id=sql.Text(caller.agent_id))
    parent = _parent_of(caller, wanted)
    selections = _selections(caller, wanted, parent, now)
    plain, first, meaning, words = _plain(caller, wanted, selections[0]), wanted.offset, None, None
    is_exact, scores = True, dict[UUID, float]()
    if wanted.q:
        meaning = embeddings.meaning_of(caller.tenant_id, wanted.q)
        words = replace(sought(wanted.q), meaning=meaning.vector)
    if wanted.filter:
        found, scores, total = _filtered(caller, wanted, words, selections, plain, now)
    elif words:
        scores, total = adapter.openintent.search_listed(
            selections, plain, words, first=first, last=first + wanted.limit, now=now
        )
        found = list(scores)
    else:
        lapsing = adapter.console.has_lapsed_entries(caller.tenant_id, now=now)
        listings = [adapter.openintent.list_addressed(each, lapsing=lapsing, now=now) for each in selections]
        listings += [adapter.openintent.list_plain(plain, lapsing=lapsing, now=now)] if plain is not None else []
        keys, (total, is_exact) = _merged(listings, first, wanted.limit)
        found = [entry_id for _, entry_id in keys]
    rows = _rows(caller.tenant_id, found, plain is not None)
    entries.refresh(caller, [row for row in rows if not adapter.openintent.is_plain(row)], now=now)
    return Page(rows, total, wanted.limit, wanted.offset, parent, meaning, scores, is_exact)


def _filtered(
    caller: Caller,
    wanted: Wanted,
    words: Sought | None,
    selections: list[Selection],
    plain: Selection | None,
    now: datetime,
) -> tuple[list[UUID], dict[UUID, float], int]:
    """The part of the list whose values fit the filter, what each was ranked with, and how many there are. The database
    looks for what is to be equal; of what that leaves each value is looked at here, and more than ``LOOKED_THROUGH``
    are refused."""
    selections = [replace(each, holding=anchors(wanted.filter)) for each in selections]
    most, scores = LOOKED_THROUGH + 1, dict[UUID, float]()
    if words:
        scores, _ = adapter.openintent.search_listed(selections, plain, words, first=0, last=most, now=now)
        found = list(scores)
    else:
        listings = [adapter.openintent.list_addressed(each, now=now) for each in selections]
        listings += [adapter.openintent.list_plain(plain, now=now)] if plain is not None else []
        found = [entry_id for _, entry_id in _merged(listings, 0, most)[0]]
    if len(found) > LOOKED_THROUGH:
        message = f"would have to look through more than {LOOKED_THROUGH} entries; narrow the list by something else"
        raise Invalid("The query cannot be answered.", errors=[{"field": "filter", "message": message}])
    fitting = [
        row.id
        for part in sql.in_chunks(found)
        for row in _rows(caller.tenant_id, list(part), plain is not None)
        if matches(ledger.entries.value_or_none(row), wanted.filter)
    ]
    return fitting[wanted.offset : wanted.offset + wanted.limit], scores, len(fitting)


def ids_matching(caller: Caller, wanted: Wanted, *, now: datetime) -> list[UUID]:
    """Every entry that the caller sees and that matches, ignoring the page: without those lent by a parent's task, and
    without OpenWOP's, which cannot be changed here."""
    found = [adapter.openintent.list_addressed(each, now=now) for each in _selections(caller, wanted, "", now)]
    return [entry_id for listing in found for entry_id in listing.ids()]


def _selections(caller: Caller, wanted: Wanted, parent: str, now: datetime) -> list[Selection]:
    """What is asked of addressed entries, as selections that have no entry in common."""
    if not (wanted.agent_id or wanted.task_id or wanted.memory_type):  # one's own, and what is shared
        own = replace(_selection(caller, replace(wanted, agent_id=caller.agent_id), now), owned=True)
        return [own, _selection(caller, replace(wanted, memory_type=Tier.SEMANTIC), now)]
    whole = _selection(caller, wanted, now)
    if not parent:
        return [whole]
    lent = replace(wanted, memory_type=Tier.WORKING, agent_id="", task_id=parent)
    return [whole, _selection(caller, lent, now)]


def _selection(caller: Caller, wanted: Wanted, now: datetime) -> Selection:
    caller.scope.check(READ)
    own, tier = wanted.agent_id == caller.agent_id, wanted.memory_type or ""
    shared = wanted.listed and own and wanted.memory_type == Tier.SEMANTIC
    begins = wanted.namespace.endswith("*")
    fence = None if own and tier in OWNED else access.fence_of(caller, now=now)
    # Who is under guardrails is shown what they leave: of as many shapes as there are names.
    form = None if fence and fence != access.Fence() else (caller.operates, caller.looks_on, own, tier)
    return Selection(
        tenant_id=caller.tenant_id,
        seen=Seen(
            partial(access.visible, caller, tier=tier, own=own, fence=fence, now=now),
            form and (*form, settings.OPENWOP_TASK_CONSENT),
            caller.agent_id,
        ),
        tier=tier,
        agent_id="" if shared else wanted.agent_id,  # R43: all that this agent may read
        task_id=wanted.task_id,
        intent_id=wanted.intent_id,
        namespace="" if begins else wanted.namespace,
        prefix=wanted.namespace[:-1] if begins else "",
        key=wanted.key,
        pinned=wanted.pinned,
        after=wanted.updated_after,
        before=wanted.updated_before,
        tags=wanted.tags,
        tags_any=wanted.tags_any,
        rare=adapter.openintent.rare_tags(caller.tenant_id, wanted.tags, wanted.tags_any),
    )


def _plain(caller: Caller, wanted: Wanted, addressed: Selection) -> Selection | None:
    """What is asked of the entries that the agent wrote through OpenWOP, when it asks that of ``addressed`` ones; None
    when none of them can fit."""
    agent_id = wanted.agent_id or caller.agent_id
    named = wanted.agent_id or not (wanted.task_id or wanted.memory_type)
    fits = wanted.memory_type in (None, Tier.EPISODIC) and not (wanted.task_id or wanted.intent_id or wanted.pinned)
    if not (named and fits and (caller.operates or agent_id == caller.agent_id)):
        return None
    if not adapter.openintent.has_plain(caller.tenant_id, agent_id):
        return None
    # They have no tier, no task and no pin, and are the agent's own.
    return replace(
        addressed, seen=Seen(), tier="", owned=False, agent_id=agent_id, task_id="", intent_id="", pinned=None
    )


def _parent_of(caller: Caller, wanted: Wanted) -> str:
    """The task whose working memory the task of the query inherits (RFC-0015 6.5); "" when there is none to be seen."""
    if not wanted.task_id or wanted.memory_type not in (None, Tier.WORKING):
        return ""
    task = work.rows.task(caller.tenant_id, wanted.task_id) if wanted.agent_id in ("", caller.agent_id) else None
    parent_id = task.parent_task_id if task else None
    return ids.wire("task", parent_id) if task and parent_id and work.tasks.inherits(task) else ""


def _merged(listings: Sequence[Listing], offset: int, limit: int) -> tuple[list[tuple[datetime, UUID]], Counted]:
    """A part of all the lists in one order, and how long they are together: more than was shown while there is more."""
    last = offset + limit
    filled = [each for each in listings if each.keys(0, 1)] if last > DEEP else listings
    if len(filled) == 1:
        found = filled[0].keys(offset, last + 1)
        ends = len(found) <= limit and bool(found or not offset)
        there = offset + len(found) if found else 0
        return found[:limit], Counted(offset + len(found)) if ends else _at_least(there, filled[0].count())
    heads = [each.keys(0, last + 1) for each in filled]
    counts = [
        Counted(len(head)) if len(head) <= last else each.count() for each, head in zip(filled, heads, strict=True)
    ]
    together = sorted((key for head in heads for key in head), key=lambda key: key[1])
    together.sort(key=lambda key: key[0], reverse=True)
    counted = Counted(sum(each.entries for each in counts), all(each.is_exact for each in counts))
    return together[offset:last], _at_least(min(len(together), last + 1), counted)


def _at_least(shown: int, counted: Counted) -> Counted:
    """As many as were counted, or as were found, of which there may be more."""
    return counted if counted.is_exact else Counted(max(shown, counted.entries), is_exact=False)


def _rows(tenant_id: UUID, wanted: list[UUID], with_plain: bool) -> "list[EntryAddress]":
    """The entries of these ids in their order; one that has gone meanwhile is left out."""
    found = adapter.openintent.addressed_rows(tenant_id, wanted)
    missing = [entry_id for entry_id in wanted if entry_id not in found]
    if with_plain and missing:
        found |= adapter.openintent.plain_rows(tenant_id, missing)
    return [found[entry_id] for entry_id in wanted if entry_id in found]


# What an agent remembers, in numbers (RFC-0015, Agent Memory Summary; R105).


@dataclass(frozen=True, slots=True)
class Summary:
    """The numbers of one agent. ``plain`` is how many entries it wrote through OpenWOP, which take none of its
    capacity; None for who may not list them."""

    agent_id: str
    working: TierFigures
    tasks: list[str]
    episodic: TierFigures
    capacity: int
    namespaces: list[str]
    plain: int | None

    def document(self) -> JSONObject:
        """RFC-0015's form; entries written through OpenWOP are counted apart."""
        working, episodic = self.working, self.episodic
        document: JSONObject = {
            "agent_id": self.agent_id,
            "working": {
                "entry_count": working.entries,
                "total_size_kb": ceil(working.size / KB),
                "tasks_with_memory": self.tasks,
            },
            "episodic": {
                "entry_count": episodic.entries,
                "capacity": self.capacity,
                "pinned_count": episodic.pinned,
                "total_size_kb": ceil(episodic.size / KB),
                "oldest_entry": openintent_time(episodic.oldest),
                "newest_entry": openintent_time(episodic.newest),
            },
            "semantic_namespaces_accessible": self.namespaces,
        }
        return document | ({} if self.plain is None else {"openwop": {"entry_count": self.plain}})


def summarize_agent(caller: Caller, agent_id: str, *, now: datetime) -> Summary:
    """The agent's numbers, for itself, for who coordinates a task under way that it took up, and for operators."""
    _require_reader(caller, agent_id, now)
    tenant_id = caller.tenant_id
    seen = Agent.objects.of(tenant_id).filter(agent_id=agent_id).first()
    agent = seen or Agent(tenant_id=tenant_id, agent_id=agent_id)
    figures = adapter.statistics.tier_figures(tenant_id, agent_id, now=now)
    own = caller.operates or caller.agent_id == agent_id
    itself = Caller(caller.scope, agent_id, alone=True)
    return Summary(
        agent_id=agent_id,
        working=figures.get(Tier.WORKING, TierFigures()),
        tasks=adapter.statistics.tasks_with_memory(tenant_id, agent_id, now=now),
        episodic=figures.get(Tier.EPISODIC, TierFigures()),
        capacity=work.tasks.capacity_of(agent, now=now),
        namespaces=sorted(access.namespaces_with(itself, "read", now=now).values_list("name", flat=True)),
        plain=adapter.statistics.count_plain(tenant_id, agent_id, now=now) if own else None,
    )


def _require_reader(caller: Caller, agent_id: str, now: datetime) -> None:
    caller.scope.check(READ)
    if caller.operates or caller.agent_id == agent_id:
        return
    if not work.rows.overseen_by(caller.tenant_id, caller.agent_id, now=now).filter(agent_id=agent_id).exists():
        raise Forbidden("This agent may not see what that one remembers.", rule="memory-tier")
