"""Actions on many chosen entries: chosen one by one, or all that match a filter.

Those chosen one by one are changed all or not at all. Up to ``AT_ONCE`` that match a filter are changed together; more
are changed by a worker, in short transactions, as a pass with progress. Of those that match, one that cannot be changed
by then is skipped, and entries written after the filter was shown are not touched.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import chain, islice
from typing import TYPE_CHECKING
from uuid import UUID

from django.db import transaction

from memory import adapter, ledger, ledger_search, passes, provenance, recordings, redaction
from memory.entry_drafts import MAX_TAGS
from memory.host import api_keys, ids, pages, sql, tenancy
from memory.host.errors import Conflict, KeyExists, NotFound, Unprocessable
from memory.host.json_types import JSONObject
from memory.host.tenancy import TenantScope
from memory.ledger_search import LedgerFilter, Match
from memory.models import Archive, Pass
from memory.passes import PassOrder, archives
from memory.reasons import stored_reason
from memory.recordings import Reader, Readers
from memory.text.matching import FORGOTTEN

if TYPE_CHECKING:
    from memory.models.entry import MemoryEntry

KIND = passes.SELECTED
MOST = pages.PAGE
AT_ONCE, STEP = 100, 25
RETIRE = "retire"
DONE = {
    RETIRE: "retired",
    "restore": "restored",
    "protect": "protected",
    "unprotect": "no longer protected",
    "tag": "tagged",
    "untag": "no longer tagged",
}
TAGGING = ("tag", "untag")
# Leads to the page that forgets a subject; nothing is done with the entries themselves.
FORGET = "forget"
LOOKED_AT = 500
NAMED = 20  # runs that read an entry


def select_entries(scope: TenantScope, action: str, texts: Iterable[str], *, now: datetime) -> "list[MemoryEntry]":
    """Return the entries with these wire ids, each once; refuses an unknown id, and fewer than 1 or more than
    ``MOST``."""
    require_possible(scope, action)
    return _entries(scope, texts, now)


def _entries(scope: TenantScope, texts: Iterable[str], now: datetime) -> "list[MemoryEntry]":
    chosen = list(dict.fromkeys(ids.parse("mem", text) for text in texts))
    if not 1 <= len(chosen) <= MOST:
        message = f"Select 1 to {MOST} entries."
        raise Unprocessable(message, errors=[_error("id", f"must be 1 to {MOST}")])
    found = adapter.console.entries_with_writers(scope, [each for each in chosen if each], now=now)
    if len(found) < len(chosen):
        raise NotFound("Not all of these entries exist.")
    return [found[each] for each in chosen if each]


@dataclass(slots=True)
class Subject:
    """A subject that selected entries are about, its number of them, and one of these."""

    name: str
    entries: int
    newest: "MemoryEntry"


@dataclass(frozen=True, slots=True)
class Subjects:
    """The subjects of selected entries, those of most entries first, and the entries without one; ``total`` match, of
    which the newest ``LOOKED_AT`` were read."""

    named: list[Subject]
    unnamed: "list[MemoryEntry]"
    looked_at: int
    total: int


def subjects_of(scope: TenantScope, texts: Iterable[str], *, now: datetime) -> Subjects:
    """Return what the entries with these wire ids are about."""
    scope.check("memory:forget")
    found = _entries(scope, texts, now)
    return _by_subject(found, len(found))


def subjects_of_all(scope: TenantScope, wanted: LedgerFilter, *, now: datetime) -> Subjects:
    """Return what the entries that match are about."""
    scope.check("memory:forget")
    page = ledger_search.ledger_page(scope, wanted, size=LOOKED_AT, now=now)
    return _by_subject(page.entries, page.total)


def _by_subject(found: "Iterable[MemoryEntry]", total: int) -> Subjects:
    named: dict[str, Subject] = {}
    unnamed, looked_at = [], 0
    for entry in found:
        looked_at += 1
        if not entry.subject:
            unnamed.append(entry)
        elif entry.subject in named:
            named[entry.subject].entries += 1
        else:
            named[entry.subject] = Subject(entry.subject, 1, entry)
    most_first = sorted(named.values(), key=lambda each: (-each.entries, each.name))
    return Subjects(most_first, unnamed, looked_at, total)


def require_possible(scope: TenantScope, action: str) -> None:
    """Refuse a principal without the permission, and an action that is not for several entries."""
    scope.check("memory:retire")
    if action not in DONE:
        message = f"must be one of {', '.join(DONE)}"
        raise Unprocessable("That is not done with several entries at once.", errors=[_error("action", message)])


def _error(field: str, message: str) -> dict[str, str]:
    return {"field": field, "message": message}


@transaction.atomic
def apply(
    scope: TenantScope,
    action: str,
    entry_ids: Iterable[UUID],
    *,
    reason: str = "",
    tag: str = "",
    skipping: bool = False,
    now: datetime,
) -> int:
    """Apply the action to every entry, each with its audit record; return their number. Entries already in that state
    stay as they are.

    One that is gone, whose key another entry has, or whose tags cannot be changed, refuses it for all; with
    ``skipping``, it is left out and not counted. Locks the entries, in the order of their ids, before the first change
    moves the head of the ledger.
    """
    scope.check("memory:retire")
    act: Callable[[UUID], object] = {
        "retire": lambda each: ledger.retirement.retire_entry(scope, each, reason=reason, now=now),
        "restore": lambda each: ledger.retirement.restore_entry(scope, each, reason=reason, now=now),
        "protect": lambda each: ledger.entries.protect(scope, each, protected=True, now=now),
        "unprotect": lambda each: ledger.entries.protect(scope, each, protected=False, now=now),
        "tag": lambda each: ledger.entries.tag_entry(scope, each, tag, tagged=True, now=now),
        "untag": lambda each: ledger.entries.tag_entry(scope, each, tag, tagged=False, now=now),
    }[action]
    ordered = sorted(entry_ids)
    held = ledger.head.lock_entries(scope.tenant_id, entries=ordered)
    if skipping:
        ordered = sorted(_possible(scope, action, held, tag=tag, now=now))
    changed = 0
    for each in ordered:
        try:
            act(each)
        except (NotFound, KeyExists):  # a key is no entry's to lock: another write can take it after it was looked for
            if not skipping:
                raise
        else:
            changed += 1
    return changed


# All that match a filter.


@dataclass(frozen=True, slots=True)
class Matching:
    """The entries that match ``wanted`` and were in the ledger at position ``upto``."""

    wanted: LedgerFilter
    upto: int

    @classmethod
    def now(cls, scope: TenantScope, wanted: LedgerFilter) -> "Matching":
        return cls(wanted, ledger.head.position(scope.tenant_id))

    @property
    def document(self) -> JSONObject:
        return {"filter": self.wanted.document, "upto": self.upto}

    @classmethod
    def from_document(cls, document: JSONObject) -> "Matching":
        return cls(LedgerFilter.of_document(document["filter"]), document["upto"])


@dataclass(frozen=True, slots=True)
class Replaced:
    """Retired entries in whose place others came, the newest first; not all of them where it is not exact."""

    entries: "list[MemoryEntry]"
    is_exact: bool = True

    @property
    def at_once(self) -> "list[MemoryEntry]":
        """As many as are restored in one go."""
        return self.entries[:MOST]


@dataclass(frozen=True, slots=True)
class Reach:
    """Where the content of entries has gone, from where retiring them does not call it back: the runs that read any of
    them, the archives that keep their text, and the live entries that they were merged into. ``replaced`` are retired
    entries in whose place they came, and which stay retired.

    Only the newest ``looked_at`` entries were looked at; without ``is_all`` there are more.
    """

    readers: Readers
    archives: list[Archive]
    merged: "list[MemoryEntry]"
    replaced: Replaced
    looked_at: int
    is_all: bool = True

    @property
    def is_empty(self) -> bool:
        """Whether nothing was found, although all entries were looked at."""
        found = self.readers.total or self.archives or self.merged or self.replaced.entries
        return self.is_all and not found


def reach_of(scope: TenantScope, entry_ids: Sequence[UUID], *, whose: str = "", now: datetime) -> Reach:
    """Return where these entries, all of the principal ``whose`` if one is named, have gone."""
    scope.check("runs:read")
    made = archives.all_dependent_archives(scope.tenant_id, (), entry_ids)
    rows = archives.visible_archives(scope).defer("body").filter(id__in=made).order_by("-id")
    return Reach(
        recordings.readers_of(scope.tenant_id, entry_ids, size=NAMED),
        list(rows),
        _merged_into(scope, entry_ids, now),
        replaced_by(scope, entry_ids, whose=whose, now=now),
        len(entry_ids),
    )


def reach_of_all(scope: TenantScope, matching: Matching, *, now: datetime) -> Reach:
    """``reach_of`` for the newest ``LOOKED_AT`` entries that match."""
    found = list(islice(chain.from_iterable(_every(scope, matching, now)), LOOKED_AT + 1))
    reach = reach_of(scope, found[:LOOKED_AT], whose=matching.wanted.principal, now=now)
    return replace(reach, is_all=len(found) <= LOOKED_AT)


def every_reader(scope: TenantScope, matching: Matching, *, now: datetime) -> Iterator[Reader]:
    """Yield every run that read any entry that matches, the last reader first."""
    scope.check("runs:read")
    return recordings.every_reader(scope.tenant_id, _every(scope, matching, now))


def _every(scope: TenantScope, matching: Matching, now: datetime) -> Iterator[list[UUID]]:
    return ledger_search.every_match(scope, matching.wanted, upto=matching.upto, now=now)


def _merged_into(scope: TenantScope, entry_ids: Sequence[UUID], now: datetime) -> "list[MemoryEntry]":
    """Return the live entries that a pass made of some of these, which are not among them, the newest first."""
    made = provenance.merged_into(scope.tenant_id, entry_ids, most=LOOKED_AT)
    known = adapter.console.entries_by_id(scope, list(made), now=now)
    return sorted((each for each in known.values() if not each.retired_at), key=lambda each: each.id, reverse=True)


def replaced_by(scope: TenantScope, entry_ids: Sequence[UUID], *, whose: str = "", now: datetime) -> Replaced:
    """Return the retired entries that these took the place of, by a pass or a correction, and that can be restored.

    What the principal ``whose`` wrote is left out, and what a key that is revoked wrote, if some of these are of that
    key: what was there before it is looked for in its place.
    """
    passed = adapter.console.principals_of(scope, entry_ids, now=now)
    passed = ({whose} | api_keys.revoked_keys(scope.tenant_id, passed)) - {""}
    before, is_all = provenance.replaced_before(scope.tenant_id, entry_ids, most=LOOKED_AT)
    sources = {source for found in before.values() for source in found} - set(entry_ids)
    known = adapter.console.entries_by_id(scope, list(sources), now=now) if sources else {}
    found, seen, behind = dict[UUID, "MemoryEntry"](), set(entry_ids), list(entry_ids)
    while behind:
        for source in set(before.get(behind.pop(), ())) - seen:
            seen.add(source)
            row = known.get(source)
            if row is None or row.principal in passed:
                behind.append(source)
            elif row.retired_at:
                found[source] = row
    return Replaced(sorted(found.values(), key=lambda each: each.id, reverse=True), is_all)


def apply_to_all(
    scope: TenantScope, action: str, matching: Matching, *, reason: str = "", tag: str = "", now: datetime
) -> int | Pass:
    """Apply the action to all that match and return the number of those it was applied to; for more than ``AT_ONCE``,
    store a pass and return it for the caller to queue. Skips what ``carry_out`` skips."""
    require_possible(scope, action)
    every = chain.from_iterable(ledger_search.every_match(scope, matching.wanted, upto=matching.upto, now=now))
    found = list(islice(every, AT_ONCE + 1))
    if len(found) <= AT_ONCE:
        return apply(scope, action, found, reason=reason, tag=tag, skipping=True, now=now)
    wanted = {"action": action, "reason": stored_reason(scope.tenant_id, reason), "tag": tag, **matching.document}
    options = redaction.for_tenant(scope.tenant_id).redact_json(wanted)
    if options["filter"] != wanted["filter"]:
        raise Unprocessable("The filter names a secret.", errors=[_error("filter", "names a secret of this tenant")])
    if options["tag"] != tag:
        raise Unprocessable("The tag is a secret.", errors=[_error("tag", "holds a secret")])
    order = PassOrder(KIND, f"asked/{ids.new_id().hex}", scope.principal.id, options=options)
    return passes.request(scope.tenant_id, order, now=now)


@dataclass(frozen=True, slots=True)
class Done:
    """What a pass has done, stored with each part: how many entries it looked at and changed, and the last of these."""

    looked: int = 0
    changed: int = 0
    behind: Match | None = None

    @property
    def document(self) -> JSONObject:
        last = {"id": ids.wire("mem", self.behind.id), "position": self.behind.position} if self.behind else None
        return {"looked": self.looked, "changed": self.changed, "last": last}

    @classmethod
    def from_document(cls, document: JSONObject) -> "Done":
        last = document.get("last") or {}
        entry_id = ids.parse("mem", last.get("id", ""))
        if entry_id is None:
            return cls()
        return cls(document["looked"], document["changed"], Match(entry_id, last["position"]))


def carry_out(work: Pass, *, clock: Callable[[], datetime]) -> None:
    """Carry out the pass, ``STEP`` entries per transaction, each with the permissions that its principal has then.

    An entry that is gone, whose key another entry has by now, or whose tags cannot be changed, is skipped and counted.
    A worker that takes over goes on behind the last entry of the one before it, whatever has become of those.
    """
    matching, action, reason = Matching.from_document(work.options), work.options["action"], work.options["reason"]
    tag = work.options.get("tag", "")
    if FORGOTTEN in (tag, *work.options["filter"].values()):
        raise Conflict("The filter or the tag named a subject that was forgotten.")
    scope = tenancy.scope_without_request(work.tenant_id, work.requested_by, now=clock())
    done = Done.from_document(work.outcome)
    every = ledger_search.matches_behind(scope, matching.wanted, done.behind, upto=matching.upto, now=clock())
    found = list(chain.from_iterable(every))
    total = done.looked + len(found)
    for part in sql.in_chunks(found, STEP):
        scope = tenancy.scope_without_request(work.tenant_id, work.requested_by, now=clock())
        passes.progress(work, done=done.looked, total=total, doing=action, now=clock())
        with transaction.atomic():
            chosen = [each.id for each in part]
            changed = apply(scope, action, chosen, reason=reason, tag=tag, skipping=True, now=clock())
            done = Done(done.looked + len(part), done.changed + changed, part[-1])
            passes.store_note(work, done.document)
    work.total = total
    passes.finish(work, outcome={"changed": done.changed, "left": total - done.changed}, now=clock())


def _possible(scope: TenantScope, action: str, part: list[UUID], *, tag: str, now: datetime) -> list[UUID]:
    found = adapter.console.entries_by_id(scope, part, now=now)
    if action in TAGGING:
        return [each.id for each in found.values() if _is_taggable(each, tag)]
    there = list(found)
    return ledger.addressed.without_occupied_keys(scope.tenant_id, there) if action == "restore" else there


def _is_taggable(entry: "MemoryEntry", tag: str) -> bool:
    """Whether a person may change its tags, and it has room for one more, or has this one already."""
    has_room = tag in entry.tags or len(entry.tags) < MAX_TAGS
    return entry.address is None and entry.derived != "distilled" and has_room
