"""Archives as a page tells of them: the list with the nights that failed, and one with what became of its sources.

Reads only. Texts are those of the archive itself; a source is shown by its id and its state.
"""

import json
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from uuid import UUID

from django.db.models import QuerySet

from memory import adapter, passes, workspace
from memory.host import ids, paging
from memory.host.json_types import JSONObject
from memory.host.tenancy import TenantScope
from memory.models import Archive, Pass, PassState, WorkspaceFile
from memory.passes import archives
from memory.text import differences
from memory.text.differences import Diff

MISSED = (PassState.REFUSED, PassState.FAILED)
REFS_OFFERED = 200
REFERENCES = 8
EXPORTED = 500


@dataclass(frozen=True, slots=True)
class ArchiveOutcome:
    """One line of the list: an archive, or a distillation that was refused or failed, with the agents that wrote last
    under its ref; ``title`` of an archive when it was looked up and its text is kept."""

    id: UUID
    archive: Archive | None = None
    missed: Pass | None = None
    agents: Sequence[str] = ()
    title: str = ""

    @property
    def memory_ref(self) -> str:
        row = self.archive or self.missed
        return row.memory_ref if row else ""

    @property
    def minimum(self) -> int | None:
        """The smallest budget that would have done, when that was what it failed for."""
        details = self.missed.outcome.get("details", {}) if self.missed else {}
        found: int | None = details.get("minimumRequired")
        return found


@dataclass(frozen=True, slots=True)
class Reference:
    """A source by its number in the archive: its wire id, its digest when it was read, and what became of it."""

    number: int
    id: str
    sha256: str
    state: str

    @property
    def is_there(self) -> bool:
        return self.state in {"live", "retired"}


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence of the archive and the first entries that say it; ``more`` do as well. ``said_on`` is the day from
    which it counts a time, if it does."""

    text: str
    references: list[Reference]
    more: int
    said_on: str = ""


@dataclass(frozen=True, slots=True)
class Section:
    topic: str
    sentences: list[Sentence]


@dataclass(frozen=True, slots=True)
class Report:
    """An archive with its bytes, read: ``states`` counts its sources by what became of them."""

    archive: Archive
    document: JSONObject
    sections: list[Section]
    references: list[Reference]
    states: dict[str, int]
    previous: Archive | None
    diff: Diff | None

    @property
    def title(self) -> str:
        return title_of(self.document.get("text", ""))


def title_of(text: str) -> str:
    """The heading that an archive's text begins with; blank when it begins otherwise."""
    first, _, _ = text.partition("\n")
    return first.removeprefix("# ").strip() if first.startswith("# ") else ""


def list_archives(
    scope: TenantScope, *, memory_ref: str = "", before: UUID | None = None, limit: int
) -> paging.Page[Archive]:
    """Archives without their bytes, the newest first; of one ref when it is named."""
    return paging.read_page(_archives(scope, memory_ref), before, limit)


def list_outcomes(
    scope: TenantScope,
    *,
    memory_ref: str = "",
    among: Collection[str] | None = None,
    before: UUID | None = None,
    limit: int,
) -> paging.Page[ArchiveOutcome]:
    """Archives, and distillations that were refused or failed, in one list, newest first: of one ref when it is named,
    or of the refs ``among`` which they are to be."""
    kept, missed = _archives(scope, memory_ref), _missed(scope, memory_ref)
    if among is not None:
        kept, missed = kept.filter(memory_ref__in=among), missed.filter(memory_ref__in=among)
    found = [*_newest(kept, before, limit), *_newest(missed, before, limit)]
    found.sort(key=lambda night: night.id, reverse=True)
    shown, last = paging.cut(found, limit)
    agents = adapter.console.agents_of_refs(scope, {night.memory_ref for night in shown}) if shown else {}
    shown = [replace(night, agents=agents.get(night.memory_ref, ())) for night in shown]
    return paging.Page(shown, kept.count() + missed.count(), last.id if last else None)


def count_outcomes(scope: TenantScope, *, among: Collection[str]) -> int:
    """How many there are of these refs."""
    return sum(rows.filter(memory_ref__in=among).count() for rows in (_archives(scope, ""), _missed(scope, "")))


def with_titles(scope: TenantScope, page: paging.Page[ArchiveOutcome], *, now: datetime) -> paging.Page[ArchiveOutcome]:
    """The page with the titles of its archives, read from the entries under which agents read them."""
    read_as = [night.archive.entry_id for night in page.rows if night.archive and night.archive.entry_id]
    rows = adapter.console.visible_entries(scope, now=now).filter(id__in=read_as, sealed=False)
    titles = {row.id: title_of(row.content) for row in rows.only("id", "content")} if read_as else {}
    shown = [
        replace(night, title=titles.get(night.archive.entry_id, ""))
        if night.archive and night.archive.entry_id
        else night
        for night in page.rows
    ]
    return replace(page, rows=shown)


def export_outcomes(scope: TenantScope, *, memory_ref: str = "") -> Iterator[ArchiveOutcome]:
    """All of them, newest first, for a file."""
    page = list_outcomes(scope, memory_ref=memory_ref, limit=EXPORTED)
    yield from page.rows
    while page.after:
        page = list_outcomes(scope, memory_ref=memory_ref, before=page.after, limit=EXPORTED)
        yield from page.rows


def refs_of(scope: TenantScope) -> list[str]:
    """The first refs, by name, that have archives."""
    rows = archives.visible_archives(scope).order_by("memory_ref").values_list("memory_ref", flat=True).distinct()
    return list(rows[:REFS_OFFERED])


def _archives(scope: TenantScope, memory_ref: str) -> QuerySet[Archive]:
    rows = archives.visible_archives(scope).defer("body")
    return rows.filter(memory_ref=memory_ref) if memory_ref else rows


def _missed(scope: TenantScope, memory_ref: str) -> QuerySet[Pass]:
    rows = Pass.objects.of(scope.tenant_id).filter(kind=archives.DISTILL, state__in=MISSED, dry_run=False)
    rows = rows if scope.principal.agent_ids is None else rows.none()
    return rows.filter(memory_ref=memory_ref) if memory_ref else rows


def _newest(rows: QuerySet[Pass] | QuerySet[Archive], before: UUID | None, limit: int) -> list[ArchiveOutcome]:
    found: Iterable[Pass | Archive] = paging.behind(rows, before)[: limit + 1]
    return [
        ArchiveOutcome(row.id, archive=row) if isinstance(row, Archive) else ArchiveOutcome(row.id, missed=row)
        for row in found
    ]


def report_archive(scope: TenantScope, row: Archive, *, now: datetime) -> Report:
    """What the archive says, what became of each of its sources, and how it differs from the one before."""
    document = json.loads(bytes(row.body))
    references = _references(scope, document.get("sources", []), now)
    known = {each.id: each for each in references}
    sections = [_section(each, known) for each in document.get("sections", [])]
    previous = archives.predecessor_of(row)
    diff = differences.diff_lines(_lines(previous), _lines(row)) if previous else None
    states = dict(Counter(each.state for each in references).most_common())
    return Report(row, document, sections, references, states, previous, diff)


def _references(scope: TenantScope, sources: Sequence[JSONObject], now: datetime) -> list[Reference]:
    parsed = [ids.parse("mem", str(each["id"])) for each in sources]
    states = adapter.console.entry_states(scope, [each for each in parsed if each], now=now)
    return [
        Reference(
            number, str(each["id"]), str(each.get("sha256", "")), states.get(found, "unknown") if found else "given"
        )
        for number, (each, found) in enumerate(zip(sources, parsed, strict=True), start=1)
    ]


def _section(section: JSONObject, known: dict[str, Reference]) -> Section:
    return Section(section.get("topic", ""), [_sentence(each, known) for each in section.get("sentences", [])])


def _sentence(sentence: JSONObject, known: dict[str, Reference]) -> Sentence:
    said_by = [known[each] for each in sentence.get("sources", []) if each in known]
    return Sentence(
        sentence["text"], said_by[:REFERENCES], max(len(said_by) - REFERENCES, 0), sentence.get("saidOn", "")
    )


def _lines(row: Archive) -> list[str]:
    text: str = json.loads(bytes(row.body)).get("text", "")
    return text.split("\n")


@dataclass(frozen=True, slots=True)
class MemoryIndex:
    """The index file in its newest version, and its JSON one member a line."""

    file: WorkspaceFile
    text: str


def index_of(scope: TenantScope) -> MemoryIndex | None:
    """The current memory index, for principals who may read the workspace."""
    if not scope.can("workspace:read"):
        return None
    found = [row for row in workspace.list_files(scope, prefix=archives.INDEX) if row.path == archives.INDEX]
    file = workspace.by_id(scope, found[0].id) if found else None
    return MemoryIndex(file, _pretty(file.content)) if file else None


def _pretty(text: str) -> str:
    """A JSON text with one member a line; any other text as it is, for a run may write that file too."""
    try:
        return json.dumps(json.loads(text), indent=2, ensure_ascii=False)
    except (ValueError, RecursionError):
        return text


@dataclass(frozen=True, slots=True)
class Withdrawn:
    """An archive that a receipt names, and as far as there is one yet, what its ref was distilled to instead."""

    id: str
    sha256: str
    pass_id: str = ""
    pass_state: str = ""
    made: Archive | None = None

    @property
    def made_id(self) -> str:
        return ids.wire("arc", self.made.id) if self.made else ""


def withdrawn_by_receipt(tenant_id: UUID, receipt: JSONObject | None) -> list[Withdrawn]:
    """The archives of a receipt, in its order, each with its current replacement; not signed, since that changes."""
    signed_receipt = receipt or {}
    signed = {
        row: each for each in signed_receipt.get("archivesWithdrawn", []) if (row := ids.parse("arc", each["id"]))
    }
    asked = [row for each in signed_receipt.get("distilledAnewBy", []) if (row := ids.parse("pass", each))]
    by_ref = {work.memory_ref: work for work in passes.find_many(tenant_id, asked)}
    made = {ref: row for ref, work in by_ref.items() if (row := ids.parse("arc", work.outcome.get("archiveId", "")))}
    rows = archives.find_archives(tenant_id, [*signed, *made.values()])
    return [
        _replacements(each, by_ref.get(ref := rows[row].memory_ref), rows, made.get(ref))
        for row, each in signed.items()
    ]


def _replacements(signed: dict[str, str], work: Pass | None, rows: dict[UUID, Archive], made: UUID | None) -> Withdrawn:
    if work is None:
        return Withdrawn(signed["id"], signed["sha256"])
    anew = rows.get(made) if made else None
    return Withdrawn(signed["id"], signed["sha256"], ids.wire("pass", work.id), work.state, anew)
