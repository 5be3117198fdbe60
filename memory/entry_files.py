"""Entries as files: JSON and CSV exports, and the JSON lines that another host imports with the same ids.

A line is one entry. The command and the page import through ``import_lines``. Imported entries are written by a run of
the host, or on the log of their agent, without a node: this host did not see which run wrote them, and an origin that
their agent stated stays a statement. An entry that exists here, or existed and was removed, is skipped, so an
interrupted import can be started again. Exports are made from raw rows, in parts.
"""

import codecs
import hashlib
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from itertools import chain
from typing import IO, TYPE_CHECKING, Any, TypeVar
from uuid import UUID

import orjson
from django.db import transaction

from memory import adapter, addresses, external_runs, ledger, origins, redaction
from memory.adapter.console import Exported
from memory.addresses import Address, Sensitivity, Tier
from memory.entry_drafts import EntryDraft
from memory.host import audit, event_log, exports, ids, leases, runs, sql, tenancy
from memory.host.errors import Gone, Invalid, KeyExists, Refusal
from memory.host.http import MAX_DEPTH, depth_of
from memory.host.json_types import JSONMapping, JSONObject
from memory.host.models import Run, Tenant
from memory.host.models.run import IMPORT, RunStatus
from memory.host.runs import RunOrder
from memory.host.tenancy import MemoryScope, TenantScope
from memory.ledger.entries import AddressedValue, ImportedEntry
from memory.openintent import namespaces, work
from memory.openintent.entries import require_size
from memory.origins import Origin
from memory.text.storable import ESCAPED_SURROGATE
from memory.wire import address_document

if TYPE_CHECKING:
    from memory.models.address import EntryAddress

SCOPE = "import"  # what the scopes of the runs of commands begin with
DEFINITION = runs.host_definition(IMPORT, "An import of memory", version="1.0")
STORED, THERE, WOULD_BE_STORED, REFUSED = "stored", "already here", "would be stored", "refused"
LONGEST = 1_000_000  # bytes of a line
BLOCK = 256 * 1024  # bytes read at a time
DEEPEST = MAX_DEPTH + 1  # levels of a line: those of a value, and its own
NO_ENTRY = "The line is not an entry of this form."
Kind = TypeVar("Kind")


# Out.


def export_lines(scope: TenantScope, *, now: datetime) -> Iterator[tuple[str, bytes]]:
    """Yield the id and the line of every live entry, oldest first; the line is empty for an entry that is left out."""
    for chunk in adapter.console.export_all(scope, now=now):
        for entry in chunk:
            yield entry.id, json_line(entry)


def record_export(scope: TenantScope, counts: Mapping[str, int], *, now: datetime) -> None:
    """Audit how many entries were exported."""
    with transaction.atomic():
        audit.append(scope.tenant_id, actor=scope.principal.id, action="memory.exported", details=dict(counts), now=now)


# In.

MOST = {
    "namespace": addresses.MAX_NAME,
    "key": addresses.MAX_NAME,
    "task_id": addresses.MAX_SCOPE_ID,
    "intent_id": addresses.MAX_SCOPE_ID,
}


@dataclass(frozen=True, slots=True)
class FileForm:
    """What a file is a file of: its form, one of ``FORMS``, and where entries go of which it does not say so.

    ``memory_ref`` takes the place of ``mem0`` and of the ``langgraph`` before a prefix; ``agent_id`` is the agent of
    plain entries that name none, and of items of LangGraph, whose store it is then.
    """

    form: str = "jsonl"
    memory_ref: str = ""
    agent_id: str = ""


@dataclass(frozen=True, slots=True)
class Incoming:
    """An entry read from a line, with its ref when it has no address."""

    entry: ImportedEntry
    memory_ref: str

    @property
    def address(self) -> Address | None:
        return self.entry.what.address if isinstance(self.entry.what, AddressedValue) else None


@dataclass(frozen=True, slots=True)
class LineResult:
    """Of a line: ``STORED``, why it was skipped, or ``REFUSED``, with a ``reason`` that repeats none of it."""

    number: int
    outcome: str
    reason: str = ""
    entry_id: UUID | None = None
    address: Address | None = None

    def __str__(self) -> str:
        return f"{self.outcome}: {self.reason}" if self.reason else self.outcome


@dataclass(frozen=True, slots=True)
class Seen:
    """What a dry run would have stored by now: ids, and addresses that no other entry may have. Each of its
    transactions is undone, and knows nothing of those before."""

    ids: set[UUID] = field(default_factory=set)
    addresses: set[tuple[str, str, str]] = field(default_factory=set)

    def result_now(self, found: LineResult) -> LineResult:
        """Return the result after that; that of a line which would be stored has its id and address from now on."""
        if found.entry_id is None or found.outcome != WOULD_BE_STORED:
            return found
        if found.entry_id in self.ids:
            return replace(found, outcome=THERE)
        if found.address is not None:
            if found.address.unique in self.addresses:
                return LineResult(found.number, REFUSED, KeyExists.message)
            self.addresses.add(found.address.unique)
        self.ids.add(found.entry_id)
        return found


def lines_of(file: IO[bytes]) -> Iterator[tuple[int, bytes]]:
    """Yield the lines that are not blank, with their numbers; of a longer one ``LONGEST`` bytes and one more."""
    number, begun = 1, b""
    for block in chain(iter(partial(file.read, BLOCK), b""), [b"\n"]):
        rest, *others = block.split(b"\n")
        begun = (begun + rest)[: LONGEST + 1]
        if not others:
            continue
        begun = begun.removeprefix(codecs.BOM_UTF8) if number == 1 else begun
        # A file may have millions of blank lines, which are only counted.
        for at, line in enumerate((begun, *others[:-1]), number):
            if line and not line.isspace():
                yield at, line.rstrip(b"\r\n")
        number, begun = number + len(others), others[-1]


def check_source(scope: TenantScope, source: FileForm) -> None:
    """Refuse an unknown form, and a ref or an agent under which no entry can be written."""
    problems = {"format": "" if source.form in FORMS else f"must be one of {', '.join(sorted(FORMS))}"}
    if source.memory_ref:
        place = tenancy.memory_scope(scope, source.memory_ref)
        is_plain = place is not None and not source.memory_ref.startswith(addresses.PREFIX)
        problems["memoryRef"] = "" if is_plain else "cannot be written"
    if source.agent_id and not addresses.is_agent_id(source.agent_id):
        problems["agentId"] = "is not an id of an agent"
    if errors := [{"field": field, "message": message} for field, message in problems.items() if message]:
        raise Invalid("Nothing can be imported this way.", errors=errors)


def read_line(line: bytes, source: FileForm, *, now: datetime) -> Incoming:
    """Parse a line of a file; raises ``Invalid`` for a line that is no entry."""
    said = _parsed(line)
    try:
        return FORMS[source.form](said, source, now)
    except (KeyError, TypeError, ValueError, AttributeError, RecursionError):
        raise Invalid(NO_ENTRY) from None


def _parsed(line: bytes) -> JSONObject:
    if len(line) > LONGEST:
        raise Invalid(f"The line has more than {LONGEST:,} bytes.")
    try:
        text = line.decode()
        said = json.loads(text)
        if ESCAPED_SURROGATE.search(text):
            json.dumps(said, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        raise Invalid("The line holds half a surrogate pair.") from None
    except UnicodeDecodeError as problem:
        raise Invalid(f"The line is not UTF-8 from its byte {problem.start + 1:,} on.") from None
    except json.JSONDecodeError as problem:
        why = "it holds a NUL" if "\0" in text else f"{problem.msg} at character {problem.pos + 1:,}"
        raise Invalid(f"The line is not JSON: {why}.") from None
    except (ValueError, RecursionError):
        raise Invalid("The line is not JSON that this host reads.") from None
    if not isinstance(said, dict):
        raise Invalid("The line is not a JSON object.")
    if text.count("{") + text.count("[") > DEEPEST and depth_of(text) > DEEPEST:
        raise Invalid(f"The line is nested deeper than {DEEPEST} levels.")
    return said


def _of_ours(said: JSONObject, source: FileForm, now: datetime) -> Incoming:
    entry_id = ids.parse("mem", _text(said, "id"))
    if entry_id is None:
        raise _wrong("id", "is not the id of an entry")
    created_at, expires_at = _time(said, "createdAt", now), _time(said, "expiresAt") if said.get("expiresAt") else None
    if not ids.first_of(created_at, off=-ids.NEAR) <= entry_id < ids.first_of(created_at, off=ids.NEAR):
        raise _wrong("id", "is of another time than createdAt")  # lists are in the order of ids
    tags = _texts(said, "tags")
    origin = _origin(said["origin"]) if "origin" in said else None
    if "address" in said:
        given = AddressedValue(_address(_object(said, "address")), _value(said), tags, expires_at)
        return Incoming(ImportedEntry(entry_id, created_at, given, origin), "")
    agent_id = _text(said, "agentId", "") or source.agent_id
    draft = EntryDraft(_text(said, "content"), tags, _text(said, "subject", ""), agent_id, expires_at)
    return Incoming(ImportedEntry(entry_id, created_at, draft, origin), _text(said, "memoryRef"))


def _of_mem0(said: JSONObject, source: FileForm, now: datetime) -> Incoming:
    """A memory of mem0, as ``get_all`` answers it."""
    metadata = said.get("metadata") or {}
    tags = _texts(said if said.get("categories") else metadata, "categories")
    agent_id = _text(said, "agent_id") if said.get("agent_id") else source.agent_id
    user_id = _text(said, "user_id") if said.get("user_id") else ""
    draft = EntryDraft(_text(said, "memory"), tags, user_id, agent_id)
    created_at = _time(said, "created_at", now)
    entry_id = _id_of(created_at, "mem0", _text(said, "id"))
    return Incoming(ImportedEntry(entry_id, created_at, draft), source.memory_ref or "mem0")


def _of_langgraph(said: JSONObject, source: FileForm, now: datetime) -> Incoming:
    """An item of a store of LangGraph. Of an agent, and under no other ref, it is at the address where the client's
    store finds it; else its value is the content of a plain entry, and its key a tag."""
    key, value, created_at = _text(said, "key"), _value(said), _time(said, "created_at", now)
    if said.get("prefix") is None:
        raise _wrong("prefix", "is not a namespace of LangGraph")
    parts = said["prefix"].split(".") if isinstance(said.get("prefix"), str) else _texts(said, "prefix")
    entry_id = _id_of(created_at, "langgraph", "/".join(("langgraph", *parts)), key)
    if source.agent_id and not source.memory_ref:
        made_by = dict.fromkeys(("agent_id", "created_by", "curated_by"), source.agent_id)
        if not parts or any(not each or "." in each for each in parts):
            raise _wrong("prefix", "is not a namespace of LangGraph")
        place = {"tier": Tier.SEMANTIC, "namespace": "".join(f"{each}." for each in parts), "key": key}
        return Incoming(ImportedEntry(entry_id, created_at, AddressedValue(_address(place | made_by), value)), "")
    draft = EntryDraft(addresses.canonical(value), (key,), "", source.agent_id)
    return Incoming(ImportedEntry(entry_id, created_at, draft), "/".join((source.memory_ref or "langgraph", *parts)))


FORMS: Mapping[str, Callable[[JSONObject, FileForm, datetime], Incoming]] = {
    "jsonl": _of_ours,
    "mem0": _of_mem0,
    "langgraph": _of_langgraph,
}
# The members by which a line is known to be of a form.
KNOWN_BY = {"langgraph": {"prefix", "key", "value"}, "mem0": {"memory"}, "jsonl": {"createdAt"}}


def detect_form(lines: Iterable[bytes]) -> str:
    """Return the form of the first of the lines that has one; refuses lines of which none has, by the first."""
    problem = ""
    for line in lines:
        try:
            members = _parsed(line).keys()
        except Refusal as refusal:
            problem = problem or refusal.message
            continue
        if found := next((form for form, known_by in KNOWN_BY.items() if known_by <= members), ""):
            return found
    why = problem or "A line is neither an entry of an export, nor a memory of mem0, nor an item of LangGraph."
    raise Invalid(errors=[{"field": "format", "message": f"is not a known format. {why}"}])


def read_entries(lines: Iterable[bytes], source: FileForm, *, now: datetime) -> Iterator[Incoming]:
    """Yield the entries of the lines, without those that are refused."""
    for line in lines:
        try:
            yield read_line(line, source, now=now)
        except Refusal:
            continue


def _id_of(created_at: datetime, *names: str) -> UUID:
    """Return an id that every import of the entry gets, sorted by the entry's time (RFC 9562: UUIDv8 laid out like
    v7)."""
    digest = int.from_bytes(hashlib.sha256(json.dumps(names).encode()).digest()[:10])
    milliseconds = int(created_at.timestamp() * 1000)
    return UUID(int=(milliseconds << 80 | digest) & ~(0xF << 76 | 0x3 << 62) | 8 << 76 | 2 << 62)


def _origin(said: object) -> Origin:
    """Parse the origin; a member of it that is unknown is not named, as reasons are stored beyond a forget."""
    if isinstance(said, dict) and said.keys() - set(origins.MEMBERS):
        raise _wrong("origin", "has a field that is not one of an origin")
    return origins.parse(said)


def _address(said: JSONObject) -> Address:
    texts = {name: _text(said, name, "") for name in ADDRESS if name not in ("tier", "pinned")}
    priority, sensitivity = _text(said, "priority", "normal"), _text(said, "sensitivity", "")
    fits = all(len(text) <= MOST.get(name, addresses.MAX_AGENT) and text.isprintable() for name, text in texts.items())
    if priority not in addresses.PRIORITIES or not addresses.is_agent_id(texts["agent_id"]) or not fits:
        raise _wrong("address", "is not one that an entry can have")
    return Address(
        Tier(said["tier"]),
        pinned=said.get("pinned", False) is True,
        priority=priority,
        sensitivity=Sensitivity(sensitivity) if sensitivity else "",
        **texts,
    )


def _wrong(member: str, message: str) -> Invalid:
    return Invalid(NO_ENTRY, errors=[{"field": member, "message": message}])


def _text(said: JSONObject, member: str, otherwise: str | None = None) -> str:
    return _member(said, member, str, "a text", otherwise)


def _object(said: JSONObject, member: str) -> JSONObject:
    return _member(said, member, dict, "a JSON object")


def _value(said: JSONObject) -> JSONObject:
    value = _object(said, "value")
    try:
        require_size(value)
    except ValueError:
        raise _wrong("value", "holds a number that is not finite") from None
    return value


def _texts(said: JSONObject, member: str) -> tuple[str, ...]:
    found = said.get(member) or []
    if not isinstance(found, list) or not all(isinstance(each, str) for each in found):
        raise _wrong(member, "is not a list of texts")
    return tuple(found)


def _member(said: JSONObject, member: str, kind: type[Kind], words: str, otherwise: Kind | None = None) -> Kind:
    """Return the member, or what it is ``otherwise``, where it may be missing; refuses one of another kind."""
    found: Any = said.get(member, otherwise)
    if isinstance(found, kind):
        return found
    raise _wrong(member, f"is not {words}" if member in said else "is missing")


def _time(said: JSONObject, member: str, until: datetime | None = None) -> datetime:
    """Parse a time in a file, in UTC when it has no zone; refuses one after ``until``, the present."""
    try:
        found = datetime.fromisoformat(_text(said, member))
        found = found if found.tzinfo else found.replace(tzinfo=UTC)
        is_ahead = until is not None and found > until
        found.astimezone(UTC)  # in which it is stored; may lie outside of the calendar
    except (ValueError, OverflowError):
        raise _wrong(member, "is not a time") from None
    if is_ahead:
        raise _wrong(member, "is in the future")
    return found


def import_lines(
    scope: TenantScope,
    run: Run | None,
    lines: Iterable[tuple[int, bytes]],
    source: FileForm,
    *,
    dry_run: bool = False,
    now: datetime,
) -> list[LineResult]:
    """Import the lines, with their numbers, and return the result of each; in a dry run, which needs no run, the result
    that it would have, and nothing is stored.

    They are imported together; where one is refused, the halves are, down to that line alone.
    """

    def act(incoming: Sequence[Incoming]) -> list[str]:
        if dry_run or run is None:
            return try_entries(scope, incoming, run=run, now=now)
        return import_entries(scope, run, incoming, now=now)

    read: dict[int, Incoming] = {}
    refused: list[LineResult] = []
    for number, line in lines:
        try:
            read[number] = read_line(line, source, now=now)
        except Refusal as refusal:
            refused.append(LineResult(number, REFUSED, refusal.in_words))
    return sorted([*refused, *_results(act, list(read.items()))], key=lambda each: each.number)


def _results(
    act: Callable[[Sequence[Incoming]], list[str]], read: Sequence[tuple[int, Incoming]]
) -> Iterator[LineResult]:
    if not read:
        return
    try:
        outcomes = act([each for _, each in read])
    except Refusal as refusal:
        if len(read) == 1:
            yield LineResult(read[0][0], REFUSED, refusal.in_words)
            return
        half = len(read) // 2
        yield from _results(act, read[:half])
        yield from _results(act, read[half:])
        return
    for (number, each), outcome in zip(read, outcomes, strict=True):
        yield LineResult(number, outcome, entry_id=each.entry.entry_id, address=each.address)


@transaction.atomic
def begin_import(scope: TenantScope, digest: str, *, now: datetime) -> Run:
    """Open the run that writes the file with this digest, or return the run of an import that was interrupted."""
    leases.decide_in_turn(scope.tenant_id, IMPORT)
    scope_id = f"{SCOPE}:{digest}"
    there = runs.active_in(scope.tenant_id, scope_id)
    if there is None:
        order = RunOrder(IMPORT, DEFINITION, scope.principal.id, system=True, scope_id=scope_id)
        there = runs.open_running(
            scope.tenant_id, order, snapshot_position=ledger.head.position(scope.tenant_id), now=now
        )
    return runs.find(scope.tenant_id, there.id)


@transaction.atomic
def import_entries(scope: TenantScope, run: Run, incoming: Sequence[Incoming], *, now: datetime) -> list[str]:
    """Write the entries and return the result of each: ``STORED``, or why it was skipped. One that cannot be stored
    refuses them all."""
    if run.scope_id.startswith(f"{SCOPE}:") and runs.locked(scope.tenant_id, run.id).status == RunStatus.CANCELLED:
        raise Gone("This import was ended. Import the file again; what is here already stays as it is.")
    leases.decide_in_turn(scope.tenant_id, IMPORT)  # of entries that two imports have, one stores each
    known = ledger.entries.known_ids(scope.tenant_id, [each.entry.entry_id for each in incoming])
    outcomes: list[str] = []
    wanted: dict[UUID, Incoming] = {}
    for each in incoming:
        entry_id = each.entry.entry_id
        if entry_id in known or entry_id in wanted:
            reason = known.get(entry_id)
            outcomes.append(f"was here and is gone ({reason})" if reason else THERE)
            continue
        wanted[entry_id] = each
        outcomes.append(STORED)
    addressed = [each.entry for each in wanted.values() if isinstance(each.entry.what, AddressedValue)]
    _import_addressed(scope, run, addressed, now)
    plain = [each for each in wanted.values() if not isinstance(each.entry.what, AddressedValue)]
    places = {ref: _place(scope, ref) for ref in dict.fromkeys(each.memory_ref for each in plain)}
    ledger.entries.import_drafts([(places[each.memory_ref], each.entry) for each in plain], run=run, now=now)
    return outcomes


def _place(scope: TenantScope, memory_ref: str) -> MemoryScope:
    tenancy.require_well_formed(memory_ref)
    place = tenancy.memory_scope(scope, memory_ref)
    if place is None:
        raise Invalid("There is no such place.", errors=[{"field": "memoryRef", "message": "cannot be written"}])
    return place


def try_entries(
    scope: TenantScope, incoming: Sequence[Incoming], *, run: Run | None = None, now: datetime
) -> list[str]:
    """Return the result that each entry would have, written by ``run`` or by one of its own; stores nothing."""
    with transaction.atomic():
        outcomes = import_entries(scope, run or begin_import(scope, "", now=now), incoming, now=now)
        transaction.set_rollback(True)
    return [WOULD_BE_STORED if each == STORED else each for each in outcomes]


def _import_addressed(scope: TenantScope, run: Run, entries: Sequence[ImportedEntry], now: datetime) -> None:
    """Write entries with an address, with their events on their agent's log: it never closes, so they can be changed
    and removed after the import."""
    if not entries:
        return
    given = [each.what for each in entries if isinstance(each.what, AddressedValue)]
    redact = redaction.for_tenant(scope.tenant_id).redact
    agents = sorted({each.address.agent_id for each in given})
    logs = {
        name: work.rows.agent(scope.tenant_id, redact(name).text, by=scope.principal.id, now=now).run_id
        for name in agents
    }
    shared = [each.address for each in given if each.address.tier == Tier.SEMANTIC]
    first = {each.namespace: redact(each.created_by or each.agent_id).text for each in reversed(shared)}
    for name in sorted(first):
        namespaces.redacted_name(scope, name)
        made = namespaces.ensure_readable(scope.tenant_id, name, (), scope.principal.id, now, writer=first[name])
        namespaces.audit_changes(made, actor=scope.principal.id, now=now)
    ledger.addressed.import_addressed(scope, entries, run=run, logs=logs, now=now)


@transaction.atomic
def end_import(scope: TenantScope, run: Run, counts: Mapping[str, int], *, now: datetime) -> None:
    """Complete the run and audit the number of lines by result. Another import of the same file may have completed it:
    the two share it."""
    found = runs.locked(scope.tenant_id, run.id)
    if found.status not in runs.ENDS:
        runs.complete(found, now=now)
    record_import(scope, run.id, counts, now=now)


def end_interrupted(*, now: datetime) -> int:
    """Cancel the import runs of commands that have written nothing for as long as an external run may; return how many.

    The same file imported again opens another run: its entries that are here stay as they are.
    """
    return sum(_end_interrupted(tenant_id, now) for tenant_id in Tenant.objects.values_list("id", flat=True))


def _end_interrupted(tenant_id: UUID, now: datetime) -> int:
    active = Run.objects.of(tenant_id).exclude(scope_id="").filter(completed_at=None)
    # The name of the index' range, in the order of bytes; ";" follows ":".
    found = active.filter(scope_id__gte=f"{SCOPE}:", scope_id__lt=f"{SCOPE};", workflow_id=IMPORT)
    return sum(_end_if_silent(tenant_id, run_id, now) for run_id in found.values_list("id", flat=True))


@transaction.atomic
def _end_if_silent(tenant_id: UUID, run_id: UUID, now: datetime) -> bool:
    run = runs.locked(tenant_id, run_id)
    last = event_log.read(tenant_id, run_id, after=event_log.length(tenant_id, run_id) - 2, limit=1)[-1]
    if run.status in runs.ENDS or last.timestamp + external_runs.silence() > now:
        return False
    run.cancelled_by = "host"
    runs.cancel(run, now=now)
    return True


def record_import(scope: TenantScope, run_id: UUID, details: JSONMapping, *, now: datetime) -> None:
    """Audit what the run has imported: the number of lines by result."""
    audit.append(
        scope.tenant_id,
        actor=scope.principal.id,
        action="memory.imported",
        target=ids.wire("run", run_id),
        details=dict(details),
        now=now,
    )


OF_ADDRESS = ("tier", "namespace", "key", "version", "pinned", "priority", "sensitivity", "sealed")
COLUMNS = (
    "id", "memoryRef", "agentId", "nodeId", "runId", "content", "tags", "createdAt", "expiresAt", "state",
    *OF_ADDRESS, *(f"origin.{name}" for name in origins.MEMBERS), "principal", "retiredAt",
)  # fmt: skip
NOTHING_MORE = "," * (len(OF_ADDRESS) + len(origins.MEMBERS) - 1)
# What another host takes of an address.
ADDRESS = ("tier", "agent_id", "namespace", "key", "task_id", "intent_id", "pinned", "ttl", "created_by", "curated_by")
# What makes a cell quoted (RFC 4180).
QUOTED = re.compile('[",\r\n]')


def document_of(entry: Exported) -> JSONObject:
    """Return the entry as JSON files and APIs show it: the fields of the protocol and those of the console."""
    expires = {"expiresAt": entry.expires_at} if entry.ends_at else {}
    retired = {"retiredAt": entry.retired_at} if entry.hidden_at else {}
    return {
        "id": entry.id,
        "content": entry.content,
        "tags": entry.tags,
        "createdAt": entry.created_at,
        **expires,
        "memoryRef": entry.memory_ref,
        "runId": entry.run_id,
        "nodeId": entry.node_id or None,
        "agentId": entry.agent_id or None,
        "principal": entry.principal or None,
        "state": "retired" if entry.hidden_at else "present",
        **retired,
        **address_document(entry.address),
        **({"origin": entry.origin.document} if entry.origin else {}),
    }


# CSV. The lines are put together here: the module of the standard library takes twice as long for the same.


class Cells(dict[str, str]):
    """A cache of CSV cells by text, for texts that many rows share. Used for one part of a file."""

    def __missing__(self, text: str) -> str:
        self[text] = cell = _cell(text)
        return cell


def csv_parts(chunks: Iterable[Sequence[Exported]]) -> Iterator[str]:
    """Yield the header and the lines of each chunk; the parts of an address and of an origin have columns of their
    own."""
    yield ",".join(COLUMNS) + "\r\n"
    yield from map(_csv_lines, chunks)


def _csv_lines(rows: Sequence[Exported]) -> str:
    cells, instant = Cells(), sql.wire_instant
    tags = {text: _cell(" ".join(sql.as_document(text))) for text in {row.tag_list for row in rows}}
    return "".join(
        f"{own},{cells[ref]},{cells[agent]},{cells[node]},{run},{_cell(content)},{tags[labels]},{instant(made)},"
        f"{instant(ends) if ends else ''},{'retired' if hidden else 'present'},"
        f"{_more_cells(address, origin) if address or origin else NOTHING_MORE},"
        f"{by},{instant(hidden) if hidden else ''}\r\n"
        for own, run, labels, made, ends, hidden, ref, content, _, node, agent, by, _, _, address, origin in rows
    )


def _cell(value: object) -> str:
    text = exports.cell(value)
    return '"' + text.replace('"', '""') + '"' if QUOTED.search(text) else text


def _more_cells(address: "EntryAddress | None", origin: Origin | None) -> str:
    place = address_document(address)["address"] if address else {}
    stated = origin.document if origin else {}
    values = [*map(place.get, OF_ADDRESS), *map(stated.get, origins.MEMBERS)]
    return ",".join(map(_cell, values))


# JSON lines.


def json_line(entry: Exported) -> bytes:
    """Return the line that ``import_memory`` reads; empty for an entry whose value is encrypted, which is only revealed
    on request and audited."""
    if entry.sealed:
        return b""
    line: dict[str, object] = {
        "id": entry.id,
        "memoryRef": entry.memory_ref,
        "tags": entry.tags,
        "subject": entry.subject,
        "agentId": entry.agent_id,
        "createdAt": _in_full(entry.made_at),
        "expiresAt": _in_full(entry.ends_at) if entry.ends_at else None,
    }
    if entry.origin:
        line["origin"] = entry.origin.document
    if entry.address is None:
        line["content"] = entry.content
    else:
        line["value"] = orjson.Fragment(entry.content)
        own = {name: getattr(entry.address, name) for name in ADDRESS}
        line["address"] = own | {"priority": entry.address.priority_word}
    return orjson.dumps(line, option=orjson.OPT_APPEND_NEWLINE)


def _in_full(text: str) -> str:
    """Return a time that the database cast to text, in UTC with microseconds."""
    time = text[11:].partition("+")[0]
    return f"{text[:10]}T{f'{time:0<15}' if '.' in time else time}+00:00"
