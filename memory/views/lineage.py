"""The lineage of an entry as a drawing, the lists that it stands for, its reads by runs, and two entries compared."""

from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_safe

from memory import adapter, provenance, recordings
from memory.forget import plans
from memory.host import ids, pages, tenancy
from memory.host.errors import NotFound
from memory.host.paging import Page
from memory.host.tenancy import TenantScope
from memory.models import EntryRead
from memory.passes import pass_reports
from memory.passes.pass_reports import Kin, Kinship
from memory.provenance import Provenance
from memory.text import differences

if TYPE_CHECKING:
    from memory.models.entry import MemoryEntry

DRAWN = 5  # of one kind on one side; what is beyond stands in a list
READS, FORKED, CITED = 3, 2, 2
SIDES = ("sources", "results")


@dataclass(frozen=True, slots=True)
class Mark:
    """One box of the drawing: its text, what it is to the entry, and its page, if it has one. ``is_text`` where the
    text is of a memory."""

    text: str
    what: str
    url: str = ""
    is_text: bool = False


@dataclass(frozen=True, slots=True)
class Drawn:
    """Both sides of the drawing."""

    made_from: list[Mark]
    became: list[Mark]


def draw(scope: TenantScope, entry: "MemoryEntry", told: Provenance, kin: Kinship, reads: Page[EntryRead]) -> Drawn:
    """The first few of each kind, and how many more there are; in three more queries at most."""
    mem_id = ids.wire("mem", entry.id)
    made_from = [_run(told)] if told.writer else []
    if kin.text_of:
        arc_id = ids.wire("arc", kin.text_of.id)
        made_from.append(Mark(arc_id, f"text of this archive, {kin.text_of.state}", reverse("archive", args=[arc_id])))
    made_from += _side(kin.sources, kin.sources_total, mem_id, "sources")
    made_from += _receipt(scope, kin.sources)
    became = _side(kin.became, kin.became_total, mem_id, "results")
    became += [_read(each) for each in reads.rows[:READS]]
    if reads.total > READS:
        became.append(_more(reads.total - READS, "reads", reverse("memory-entry-reads", args=[mem_id])))
    runs = {each.run_id for each in reads.rows[:READS]} | ({told.writer.run.id} if told.writer else set())
    for run in provenance.forks_of(scope.tenant_id, runs, limit=FORKED):
        made_of = "wrote" if told.writer and run.source_run_id == told.writer.run.id else "read"
        url = reverse("run", args=[ids.wire("run", run.id)])
        became.append(Mark(run.workflow_id, f"{run.fork_mode} of a run that {made_of} it", url))
    for each in provenance.citations_of(scope, runs, limit=CITED):
        became.append(Mark(each.title or each.id, f"proposal from its runs, {each.state}", each.url))
    return Drawn(made_from, became)


def _run(told: Provenance) -> Mark:
    assert told.writer is not None, "an entry that no event tells of has no run to draw"
    write = told.writer
    url = f"{reverse('run', args=[write.run_id])}?at={write.sequence}#seq-{write.sequence}"
    return Mark(write.run.workflow_id, f"written by {write.node_id}" if write.node_id else "written by this run", url)


def _side(kin: list[Kin], total: int, mem_id: str, side: str) -> list[Mark]:
    shown = [_kin(each) for each in kin[:DRAWN]]
    url = f"{reverse('memory-entry-lineage', args=[mem_id])}?side={side}"
    return [*shown, _more(total - DRAWN, side, url)] if total > DRAWN else shown


def _kin(each: Kin) -> Mark:
    if each.archive:
        return Mark(each.id, f"{each.kind} into archive, {each.archive.state}", reverse("archive", args=[each.id]))
    if each.place and each.place.entry:
        text, url = each.place.entry.content, reverse("memory-entry", args=[each.id])
        return Mark(text, each.kind, url, is_text=True)
    return Mark(each.id, f"{each.kind}, {each.place.gone}" if each.place else each.kind)


def _more(number: int, what: str, url: str) -> Mark:
    return Mark(f"and {number:,} more", what, url)


def _read(each: EntryRead) -> Mark:
    run_id = ids.wire("run", each.run_id)
    return Mark(each.run.workflow_id, f"read by {each.node_id}", reverse("run", args=[run_id]))


def _receipt(scope: TenantScope, sources: list[Kin]) -> list[Mark]:
    """The receipt of the forget that took a source away, for who may see it."""
    forgotten = [each.place.gone_at for each in sources if each.place and each.place.gone == "forgotten"]
    if not forgotten or not forgotten[0] or not scope.can("memory:forget"):
        return []
    request = plans.request_that_removed(scope, forgotten[0])
    if request is None:
        return []
    forget_id = ids.wire("fgt", request.id)
    return [Mark(forget_id, "receipt: a source was forgotten", reverse("forget-request", args=[forget_id]))]


def find_entry(scope: TenantScope, mem_id: str, *, now: datetime) -> "MemoryEntry":
    """The unexpired entry of that id, or ``NotFound``."""
    entry_id = ids.parse("mem", mem_id)
    found = adapter.find_entry(scope, entry_id, now=now) if entry_id else None
    if found is None:
        raise NotFound("There is no memory entry by that id.")
    return found


@pages.parameters("side", "after", "seen")
@require_safe
def lineage(request: HttpRequest, mem_id: str) -> HttpResponse:
    """All that the entry was made from, or that it went into, oldest first."""
    scope, now = tenancy.scope_of(request), timezone.now()
    found = find_entry(scope, mem_id, now=now)
    side, cursor = pages.word_of(request, "side", SIDES) or SIDES[0], pages.Cursor.of(request, "lin")
    page = pass_reports.kin_page(scope, found, sources=side == "sources", after=cursor.after, size=pages.PAGE, now=now)
    context = {"nav": "memory", "now": now, "entry": found, "mem_id": mem_id, "side": side, "rows": page.rows}
    context |= {"total": page.total, "permalink": pages.here(request), **cursor.links(len(page.rows), page.after)}
    return pages.render(request, "memory/entry_lineage.html", context)


@pages.parameters("after", "seen")
@require_safe
def reads(request: HttpRequest, mem_id: str) -> HttpResponse:
    """Every node of a run that was served the entry, the newest first."""
    scope, now = tenancy.scope_of(request), timezone.now()
    scope.check("runs:read")
    found, cursor = find_entry(scope, mem_id, now=now), pages.Cursor.of(request, "rd")
    page = recordings.reads_of_entry(scope.tenant_id, found.id, after=cursor.after, size=pages.PAGE)
    context = {"nav": "memory", "now": now, "entry": found, "mem_id": mem_id, "reads": page.rows}
    context |= {"total": page.total, "inexact": page.total == recordings.COUNTED, "permalink": pages.here(request)}
    return pages.render(request, "memory/entry_reads.html", context | cursor.links(len(page.rows), page.after))


@pages.parameters("with")
@require_safe
def compare(request: HttpRequest, mem_id: str) -> HttpResponse:
    """Two entries side by side, with what differs; the older one is the one that is compared with."""
    scope, now = tenancy.scope_of(request), timezone.now()
    both = [find_entry(scope, each, now=now) for each in (mem_id, pages.text_of(request, "with"))]
    older, newer = sorted(both, key=lambda each: each.id)
    diff = differences.diff_lines(older.content.splitlines(), newer.content.splitlines())
    context = {"nav": "memory", "now": now, "mem_id": mem_id, "older": older, "newer": newer, "diff": diff}
    context |= {"permalink": pages.here(request)}
    return pages.render(request, "memory/entry_compare.html", context)
