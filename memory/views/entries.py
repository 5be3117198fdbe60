"""The pages of one entry: its provenance, lineage and reads, comparing, correcting and retiring,
also of many at once."""

import json
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl, urlencode

from django import forms
from django.contrib import messages
from django.db import transaction
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from memory import (
    adapter,
    commitments,
    corrections,
    entry_files,
    entry_selection,
    ledger,
    ledger_search,
    provenance,
    recordings,
    run_timeline,
    tasks,
)
from memory.entry_selection import Matching, Reach
from memory.forget import plans
from memory.forms import CorrectionForm, ReasonForm, RestoreForm, SelectionForm, TagForm
from memory.host import access, audit_access, exports, ids, pages, proposal_links, tenancy
from memory.host.errors import NotFound
from memory.host.events import VENDOR
from memory.host.paging import Page
from memory.host.tenancy import TenantScope
from memory.models import EntryRead, Pass
from memory.openintent import entries
from memory.passes import lookalikes, pass_reports
from memory.passes.pass_reports import Kin, Kinship
from memory.provenance import Mark, Provenance, VerdictKind
from memory.text import differences
from memory.views import ledger as ledger_pages
from memory.wire import instant

if TYPE_CHECKING:
    from memory.models.entry import MemoryEntry

WINDOW = 12
WRITES = 50
SAMPLE = 10
READS, NEAR, ACTS = 5, 5, 5
VERDICTS = {
    VerdictKind.NODE: "node",
    VerdictKind.HOST: "host",
    VerdictKind.STATED: "stated",
    VerdictKind.UNATTRIBUTED: "unattributed",
    VerdictKind.NOT_OBSERVABLE: "unobservable",
}


@dataclass(frozen=True, slots=True)
class StripEvent:
    """One event as the strip draws it."""

    sequence: int
    kind: str
    lane: str
    node: str
    label: str
    here: bool
    url: str


@pages.parameters("format")
@require_safe
def entry(request: HttpRequest, mem_id: str) -> HttpResponse:
    """The entry with its provenance."""
    scope = tenancy.scope_of(request)
    found = _entry(scope, mem_id)
    origin = provenance.provenance_of_entry(scope, found)
    if pages.file_format(request) == "json":
        now = timezone.now()
        kin = pass_reports.kinship(scope, found, now=now)
        for row in adapter.console.export_rows(
            scope, adapter.console.visible_entries(scope, now=now).filter(id=found.id)
        ):
            return exports.document(
                entry_files.document_of(row) | {"provenance": _document(origin), "lineage": _lineage(kin)}
            )
    value = ledger.entries.value_in(found.content) if found.address and not found.sealed else None
    return _page(request, found, origin, value=None if value is None else _indented(value))


def _page(
    request: HttpRequest, found: "MemoryEntry", origin: Provenance, *, value: str | None, revealed: bool = False
) -> HttpResponse:
    scope, now, mem_id = tenancy.scope_of(request), timezone.now(), ids.wire("mem", found.id)
    kin = pass_reports.kinship(scope, found, now=now)
    context = {
        "nav": "memory",
        "now": now,
        "entry": found,
        "mem_id": mem_id,
        "provenance": origin,
        "kin": kin,
        **_strip(origin),
    }
    context |= _beside(scope, found, origin, kin, now)
    context["duplicates"] = lookalikes.count(scope, entry_id=found.id, now=now)
    context["given"] = _given(scope, origin)
    context["replaced"] = entry_selection.replaced_by(scope, [found.id], now=now) if found.retired_at else None
    context |= {"value": value, "revealed": revealed, **_author(scope, origin), **_may(scope, mem_id)}
    context["can_correct"] = found.address is None and found.derived != "distilled" and found.retired_at is None
    return pages.render(request, "memory/entry.html", context)


def _beside(
    scope: TenantScope, found: "MemoryEntry", origin: Provenance, kin: Kinship, now: datetime
) -> dict[str, object]:
    """Its lineage as a drawing, which runs read it, what is like it, what stands beside it, and what was done to it."""
    reads = recordings.reads_of_entry(scope.tenant_id, found.id, size=READS)
    before, after = adapter.console.neighbours(scope, found, now=now)
    targets = [ids.wire("mem", found.id)]
    written_at = found.address.updated_at if found.address else found.created_at
    done = audit_access.list_records_about(scope, targets, limit=ACTS, now=now) if scope.can("audit:read") else []
    return {
        "drawn": draw(scope, found, origin, kin, reads),
        "reads": reads,
        "commitments": commitments.lifecycle.found_in(scope, found.id),
        "near": lookalikes.find_similar(scope, found, now=now)[:NEAR],
        "previous": before,
        "following": after,
        "acts": done,
        "audited": audit_access.last_number_at(scope, written_at) if scope.can("audit:read") else None,
        "written_at": written_at,
        "names": access.names_of(scope.tenant_id, {each.actor for each in done} | {found.principal}),
    }


def _given(scope: TenantScope, origin: Provenance) -> dict[str, object] | None:
    """What the node that wrote the entry had to write from."""
    writer = origin.writer
    if writer is None or origin.verdict != VerdictKind.NODE:
        return None
    found = run_timeline.given_to(scope, writer.run, writer.node_id, sequence=writer.sequence)
    return {"inputs": _indented(found.inputs) if found.inputs else "", "found": found} if found else None


def _author(scope: TenantScope, origin: Provenance) -> dict[str, object]:
    """Who wrote the entry as a correction, if a person did."""
    if origin.writer is None or origin.writer.run.workflow_id != corrections.WORKFLOW:
        return {}
    return {"author": origin.writer.run.principal}


def _indented(value: object) -> str:
    """A value as people read it."""
    return json.dumps(value, indent=2, ensure_ascii=False)


@require_POST
def reveal(request: HttpRequest, mem_id: str) -> HttpResponse:
    """The entry with its sealed value opened, in this answer alone; that it was is on record."""
    scope = tenancy.scope_of(request)
    found = _entry(scope, mem_id)
    value = entries.reveal(scope, found.id, now=timezone.now())
    return _page(request, found, provenance.provenance_of_entry(scope, found), value=_indented(value), revealed=True)


def _entry(scope: TenantScope, mem_id: str) -> "MemoryEntry":
    return find_entry(scope, mem_id, now=timezone.now())


def _may(scope: TenantScope, mem_id: str) -> dict[str, object]:
    """What the buttons need: whether they work, and the addresses of this page and of its other forms."""
    here = reverse("memory-entry", args=[mem_id])
    return {
        "permalink": here,
        "can_retire": scope.can("memory:retire"),
        "can_forget": scope.can("memory:forget"),
        "as_json": f"{here}?format=json",
    }


def _strip(origin: Provenance) -> dict[str, object]:
    """The events around the write, and how many the drawing leaves out; the newest of many writes."""
    here = next((place for place, mark in enumerate(origin.strip) if mark.this), 0)
    drawn = [_strip_event(mark, origin) for mark in origin.strip[max(here - WINDOW, 0) : here + WINDOW + 1]]
    return {
        "strip": drawn,
        "before": drawn[0].sequence if drawn else 0,
        "later": origin.events - drawn[-1].sequence - 1 if drawn else 0,
        "writes": origin.writes[-WRITES:],
        "verdict": VERDICTS[origin.verdict],
        "trail_url": next((event.url for event in drawn if event.here), ""),
    }


def _strip_event(mark: Mark, origin: Provenance) -> StripEvent:
    run_id = origin.writes[-1].run_id
    return StripEvent(
        sequence=mark.sequence,
        kind="write" if mark.type == provenance.FACT else "event",
        lane="node" if mark.node_id or mark.type.startswith(VENDOR) else "host",
        node=mark.node_id,
        label=f"{mark.type} {mark.node_id}".strip(),
        here=mark.this,
        url=f"{reverse('run', args=[run_id])}?at={mark.sequence}#seq-{mark.sequence}",
    )


def _document(origin: Provenance) -> dict[str, object]:
    writes = [
        {
            "runId": write.run_id,
            "workflowId": write.run.workflow_id,
            "sequence": write.sequence,
            "timestamp": instant(write.timestamp),
            "nodeId": write.node_id or None,
            "agentId": write.agent_id or None,
            "origin": write.origin.document if write.origin else None,
        }
        for write in origin.writes
    ]
    digests = {"sha256WhenWritten": origin.sha256_when_written, "sha256Now": origin.sha256_now}
    return {"verdict": str(origin.verdict), "writes": writes, **digests}


def _lineage(kin: Kinship) -> dict[str, object]:
    return {
        "archiveId": ids.wire("arc", kin.text_of.id) if kin.text_of else None,
        "madeFrom": [_kin(each) for each in kin.sources],
        "madeFromTotal": kin.sources_total,
        "wentInto": [_kin(each) for each in kin.became],
        "wentIntoTotal": kin.became_total,
    }


def _kin(each: Kin) -> dict[str, object]:
    return {"id": each.id, "kind": each.kind, "passId": ids.wire("pass", each.pass_id)}


@pages.creates()
@require_http_methods(["GET", "HEAD", "POST"])
def correct(request: HttpRequest, mem_id: str) -> HttpResponse:
    """Ask for the right text, then let a new entry take the place of this one."""
    scope = tenancy.scope_of(request)
    found = _entry(scope, mem_id)
    if corrections.refusal_of(found) == corrections.RETIRED:
        return _retired_already(request, scope, found)
    corrections.require_correctable(scope, found)
    form = CorrectionForm(request.POST if request.method == "POST" else None, initial={"content": found.content})
    conflict, status = None, 200
    if request.method == "POST":
        sent = pages.submit(form, lambda data: corrections.correct(scope, found.id, **data, now=timezone.now()))
        if sent.result:
            messages.success(request, "The entry is corrected. Runs that start from now on read the new text.")
            return redirect("memory-entry", ids.wire("mem", sent.result.id))
        conflict, status = sent.conflict, sent.status
    context = {"nav": "memory", "entry": found, "mem_id": mem_id, "form": form, "conflict": conflict}
    return pages.render(request, "memory/correct.html", context, status=status)


def _retired_already(request: HttpRequest, scope: TenantScope, entry: "MemoryEntry") -> HttpResponse:
    """Where to go with a correction of an entry that is retired: to it, and to what replaced it."""
    scope.check("memory:retire")
    last = provenance.replacement_of_entry(scope.tenant_id, entry.id)
    found = adapter.console.find_entry(scope, last, now=timezone.now()) if last else None
    replaced_by = found.id if found and not found.retired_at else None
    context = {
        "nav": "memory",
        "mem_id": ids.wire("mem", entry.id),
        "refusal": corrections.RETIRED,
        "replaced_by": ids.wire("mem", replaced_by) if replaced_by else "",
        "typed": request.POST.get("content", ""),
    }
    return pages.render(request, "memory/correct_retired.html", context, status=409)


@require_http_methods(["GET", "HEAD", "POST"])
def retire(request: HttpRequest, mem_id: str) -> HttpResponse:
    """Ask why, then hide the entry from reads that begin later."""
    scope, now = tenancy.scope_of(request), timezone.now()
    found = _entry(scope, mem_id)
    scope.check("memory:retire")
    form = ReasonForm(request.POST if request.method == "POST" else None).focus()
    if request.method == "POST":
        sent = pages.submit(
            form,
            lambda data: ledger.retirement.retire_entry(scope, found.id, reason=data["reason"], now=now),
        )
        if sent.result:
            messages.success(request, "The entry is retired. Runs that start from now on do not read it.")
            return redirect("memory-entry", mem_id)
    context = {"nav": "memory", "entry": found, "mem_id": mem_id, "form": form, "now": now}
    context |= _reach_context(scope, entry_selection.reach_of(scope, [found.id], now=now))
    return pages.render(request, "memory/retire.html", context, status=422 if form.is_bound else 200)


@pages.parameters("next")
@require_http_methods(["GET", "HEAD", "POST"])
def restore(request: HttpRequest, mem_id: str) -> HttpResponse:
    """Ask once, then let the entry be read again."""
    scope = tenancy.scope_of(request)
    found = _entry(scope, mem_id)
    scope.check("memory:retire")
    form, conflict, status = RestoreForm(request.POST if request.method == "POST" else None).focus(), None, 200
    if request.method == "POST":
        sent = pages.submit(
            form,
            lambda data: ledger.retirement.restore_entry(scope, found.id, reason=data["reason"], now=timezone.now()),
        )
        if sent.result:
            messages.success(request, "The entry is restored. Runs that start from now on read it again.")
            return redirect(pages.back(request, reverse("memory-entry", args=[mem_id])))
        conflict, status = sent.conflict, sent.status
    context = {"nav": "memory", "entry": found, "mem_id": mem_id, "form": form, "conflict": conflict}
    return pages.render(request, "memory/restore.html", context, status=status)


@pages.parameters("next")
@require_POST
def protect(request: HttpRequest, mem_id: str) -> HttpResponse:
    """No pass takes the entry away from now on; with ``protected=no`` one may again."""
    protected = request.POST.get("protected") != "no"
    scope = tenancy.scope_of(request)
    ledger.entries.protect(scope, _entry(scope, mem_id).id, protected=protected, now=timezone.now())
    said = "Passes will not remove the entry from now on." if protected else "Passes may merge the entry again."
    messages.success(request, said)
    return redirect(pages.back(request, reverse("memory-entry", args=[mem_id])))


@pages.creates()
@pages.parameters("action", "next", "all", "matching", several=("id",))
@require_http_methods(["GET", "HEAD", "POST"])
def selected(request: HttpRequest) -> HttpResponse:
    """Show the selected entries and ask why, or for a tag; then change all of them."""
    scope, now = tenancy.scope_of(request), timezone.now()
    given = request.POST if request.method == "POST" else request.GET
    action, back = given.get("action", ""), pages.back(request, reverse("memory"))
    if action == entry_selection.FORGET and request.method != "POST":
        return _subjects(request, given, back)
    if given.get("all") == "yes":
        return _all_that_match(request, action, given, back)
    chosen = entry_selection.select_entries(scope, action, given.getlist("id"), now=now)
    form, conflict, status = _selection_form(request, action), None, 200
    if request.method == "POST":
        entry_ids = [each.id for each in chosen]
        sent = pages.submit(form, lambda data: entry_selection.apply(scope, action, entry_ids, **data, now=now))
        if sent.result:
            noun = "entry is" if sent.result == 1 else "entries are"
            messages.success(request, f"{sent.result} {noun} {entry_selection.DONE[action]}.")
            return redirect(back)
        conflict, status = sent.conflict, sent.status
    context = {"nav": "memory", "now": now, "entries": chosen, "action": action, "back": back, "form": form}
    context |= {"conflict": conflict, "permalink": "", "is_tagging": action in entry_selection.TAGGING}
    if action == entry_selection.RETIRE:
        context |= _reach_context(scope, entry_selection.reach_of(scope, [each.id for each in chosen], now=now))
    return pages.render(request, "memory/selected.html", context, status=status)


def _reach_url(scope: TenantScope, query: str, now: datetime) -> str:
    """The page that says where retired entries have gone; empty when nothing has read them."""
    asked = {**dict(parse_qsl(query)), "state": "all"}
    matching = Matching.now(scope, ledger_pages.filter_of(urlencode(asked), now))
    is_empty = entry_selection.reach_of_all(scope, matching, now=now).is_empty
    return "" if is_empty else reverse("memory-reach", query=asked)


def _reach_context(scope: TenantScope, found: Reach) -> dict[str, object]:
    """Where entries have gone, and what those are called who started the runs that read them."""
    starters = {each.run.principal for each in found.readers.shown}
    return {"reach": found, "names": access.names_of(scope.tenant_id, starters) if starters else {}}


def _subjects(request: HttpRequest, given: QueryDict, back: str) -> HttpResponse:
    """Lead to the forgetting of the subject that the entries have, or let one choose among several."""
    scope, now = tenancy.scope_of(request), timezone.now()
    if given.get("all") == "yes":
        wanted = replace(ledger_pages.filter_of(given.get("matching", ""), now), order=ledger_search.NEWEST)
        found = entry_selection.subjects_of_all(scope, wanted, now=now)
    else:
        found = entry_selection.subjects_of(scope, given.getlist("id"), now=now)
    if len(found.named) == 1 and not found.unnamed and found.looked_at == found.total:
        one = ids.wire("mem", found.named[0].newest.id)
        return redirect(reverse("forget", query={"from": one}))
    context = {"nav": "memory", "now": now, "found": found, "back": back, "permalink": ""}
    return pages.render(request, "memory/selected_subjects.html", context)


def _selection_form(request: HttpRequest, action: str) -> forms.Form:
    given = request.POST if request.method == "POST" else None
    return TagForm(given) if action in entry_selection.TAGGING else SelectionForm(given).focus()


def _all_that_match(request: HttpRequest, action: str, given: QueryDict, back: str) -> HttpResponse:
    """The same with all that match a filter, as the ledger stood when the number of them was shown."""
    scope, now = tenancy.scope_of(request), timezone.now()
    entry_selection.require_possible(scope, action)
    query = given.get("matching", "")
    wanted = replace(ledger_pages.filter_of(query, now), order=ledger_search.NEWEST)
    shown = pages.as_number(given.get("upto", ""))
    form, conflict, status = _selection_form(request, action), None, 200
    if request.method == "POST" and shown is not None:
        matching = Matching(wanted, shown)
        sent = pages.submit(form, lambda data: _apply(scope, action, matching, **data, now=now))
        if isinstance(sent.result, Pass):
            return redirect("pass", ids.wire("pass", sent.result.id))
        if sent.result is not None:
            noun = "entry is" if sent.result == 1 else "entries are"
            messages.success(request, f"{sent.result} {noun} {entry_selection.DONE[action]}.")
            return redirect(_reach_url(scope, query, now) or back if action == entry_selection.RETIRE else back)
        conflict, status = sent.conflict, sent.status
    matching = Matching.now(scope, wanted)
    page = ledger_search.ledger_page(scope, wanted, size=SAMPLE, now=now)
    context = {"nav": "memory", "now": now, "entries": page.entries, "page": page, "action": action, "back": back}
    context |= {"form": form, "conflict": conflict, "permalink": "", "query": query, "upto": matching.upto}
    context |= {"is_tagging": action in entry_selection.TAGGING}
    if action == entry_selection.RETIRE:
        context |= _reach_context(scope, entry_selection.reach_of_all(scope, matching, now=now))
    return pages.render(request, "memory/selected.html", context, status=status)


@transaction.atomic
def _apply(
    scope: TenantScope, action: str, matching: Matching, *, reason: str = "", tag: str = "", now: datetime
) -> int | Pass:
    """Done, or on record and queued."""
    done = entry_selection.apply_to_all(scope, action, matching, reason=reason, tag=tag, now=now)
    if isinstance(done, Pass):
        tasks.enqueue_pass(done)
    return done


DRAWN = 5  # of one kind on one side; what is beyond stands in a list
READS_DRAWN, FORKED, CITED = 3, 2, 2
SIDES = ("sources", "results")


@dataclass(frozen=True, slots=True)
class LineageMark:
    """One box of the drawing: its text, what it is to the entry, and its page, if it has one. ``is_text`` where the
    text is of a memory."""

    text: str
    what: str
    url: str = ""
    is_text: bool = False


@dataclass(frozen=True, slots=True)
class Drawn:
    """Both sides of the drawing."""

    made_from: list[LineageMark]
    became: list[LineageMark]


def draw(scope: TenantScope, entry: "MemoryEntry", origin: Provenance, kin: Kinship, reads: Page[EntryRead]) -> Drawn:
    """The first few of each kind, and how many more there are; in three more queries at most."""
    mem_id = ids.wire("mem", entry.id)
    made_from = [_run(origin)] if origin.writer else []
    if kin.text_of:
        arc_id = ids.wire("arc", kin.text_of.id)
        made_from.append(
            LineageMark(arc_id, f"text of this archive, {kin.text_of.state}", reverse("archive", args=[arc_id]))
        )
    made_from += _side(kin.sources, kin.sources_total, mem_id, "sources")
    made_from += _receipt(scope, kin.sources)
    became = _side(kin.became, kin.became_total, mem_id, "results")
    became += [_read(each) for each in reads.rows[:READS_DRAWN]]
    if reads.total > READS_DRAWN:
        became.append(_more(reads.total - READS_DRAWN, "reads", reverse("memory-entry-reads", args=[mem_id])))
    runs = {each.run_id for each in reads.rows[:READS_DRAWN]} | ({origin.writer.run.id} if origin.writer else set())
    for run in provenance.forks_of(scope.tenant_id, runs, limit=FORKED):
        made_of = "wrote" if origin.writer and run.source_run_id == origin.writer.run.id else "read"
        url = reverse("run", args=[ids.wire("run", run.id)])
        became.append(LineageMark(run.workflow_id, f"{run.fork_mode} of a run that {made_of} it", url))
    for each in proposal_links.of_runs(scope, runs, limit=CITED):
        became.append(LineageMark(each.title or each.id, f"proposal from its runs, {each.state}", each.url))
    return Drawn(made_from, became)


def _run(origin: Provenance) -> LineageMark:
    assert origin.writer is not None, "an entry that no event tells of has no run to draw"
    write = origin.writer
    url = f"{reverse('run', args=[write.run_id])}?at={write.sequence}#seq-{write.sequence}"
    by = f"{'stated' if write.origin else 'written'} by {write.node_id}" if write.node_id else "written by this run"
    return LineageMark(write.run.workflow_id, by, url)


def _side(kin: list[Kin], total: int, mem_id: str, side: str) -> list[LineageMark]:
    shown = [_kin_lists(each) for each in kin[:DRAWN]]
    url = f"{reverse('memory-entry-lineage', args=[mem_id])}?side={side}"
    return [*shown, _more(total - DRAWN, side, url)] if total > DRAWN else shown


def _kin_lists(each: Kin) -> LineageMark:
    if each.archive:
        return LineageMark(
            each.id, f"{each.kind} into archive, {each.archive.state}", reverse("archive", args=[each.id])
        )
    if each.place and each.place.entry:
        text, url = each.place.entry.content, reverse("memory-entry", args=[each.id])
        return LineageMark(text, each.kind, url, is_text=True)
    return LineageMark(each.id, f"{each.kind}, {each.place.gone}" if each.place else each.kind)


def _more(number: int, what: str, url: str) -> LineageMark:
    return LineageMark(f"and {number:,} more", what, url)


def _read(each: EntryRead) -> LineageMark:
    run_id = ids.wire("run", each.run_id)
    return LineageMark(each.run.workflow_id, f"read by {each.node_id}", reverse("run", args=[run_id]))


def _receipt(scope: TenantScope, sources: list[Kin]) -> list[LineageMark]:
    """The receipt of the forget that took a source away, for who may see it."""
    forgotten = [each.place.gone_at for each in sources if each.place and each.place.gone == "forgotten"]
    if not forgotten or not forgotten[0] or not scope.can("memory:forget"):
        return []
    request = plans.request_that_removed(scope, forgotten[0])
    if request is None:
        return []
    forget_id = ids.wire("fgt", request.id)
    return [LineageMark(forget_id, "receipt: a source was forgotten", reverse("forget-request", args=[forget_id]))]


def find_entry(scope: TenantScope, mem_id: str, *, now: datetime) -> "MemoryEntry":
    """The unexpired entry of that id, or ``NotFound``."""
    entry_id = ids.parse("mem", mem_id)
    found = adapter.console.find_entry(scope, entry_id, now=now) if entry_id else None
    if found is None:
        raise NotFound("There is no memory entry by that id.")
    return found


@pages.parameters("side", "after", "seen")
@require_safe
def lineage(request: HttpRequest, mem_id: str) -> HttpResponse:
    """All that the entry was made from, or that it went into, oldest first."""
    scope, now = tenancy.scope_of(request), timezone.now()
    found = find_entry(scope, mem_id, now=now)
    side, cursor = pages.word_of(request, "side", SIDES) or SIDES[0], pages.Cursor.from_request(request, "lin")
    page = pass_reports.kin_page(scope, found, sources=side == "sources", after=cursor.after, size=pages.PAGE, now=now)
    context = {"nav": "memory", "now": now, "entry": found, "mem_id": mem_id, "side": side, "rows": page.rows}
    context |= {
        "total": page.total,
        "permalink": pages.canonical_address(request),
        **cursor.links(len(page.rows), page.after),
    }
    return pages.render(request, "memory/entry_lineage.html", context)


@pages.parameters("after", "seen")
@require_safe
def reads(request: HttpRequest, mem_id: str) -> HttpResponse:
    """Every node of a run that was served the entry, the newest first."""
    scope, now = tenancy.scope_of(request), timezone.now()
    scope.check("runs:read")
    found, cursor = find_entry(scope, mem_id, now=now), pages.Cursor.from_request(request, "rd")
    page = recordings.reads_of_entry(scope.tenant_id, found.id, after=cursor.after, size=pages.PAGE)
    context = {"nav": "memory", "now": now, "entry": found, "mem_id": mem_id, "reads": page.rows}
    context |= {
        "total": page.total,
        "inexact": page.total == recordings.COUNTED,
        "permalink": pages.canonical_address(request),
    }
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
    context |= {"permalink": pages.canonical_address(request)}
    return pages.render(request, "memory/entry_compare.html", context)
