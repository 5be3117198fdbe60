"""The audit log: what was done, by whom, in a chain that every reader of it can verify."""

from dataclasses import dataclass

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.utils import timezone
from django.views.decorators.http import require_POST, require_safe

from memory.forms import RangeForm
from memory.host import access, audit_access, exports, pages, proposal_links, registry, tenancy
from memory.host.audit import AuditFilter
from memory.host.audit_access import AuditPage
from memory.host.audit_chain import Finding
from memory.host.models import AuditRecord
from memory.host.models.audit import RESULTS
from memory.host.tenancy import TenantScope
from memory.openintent import namespaces
from memory.text.matching import texts_in

COLUMNS = (
    "seq", "occurredAt", "actor", "actorName", "action", "result", "target", "targetName", "details",
    "requestId", "unhashed", "prevHash", "entryHash", "tenant",
)  # fmt: skip


@pages.parameters(
    "actor", "action", "target", "request", "result", "group", "since", "until", "before", "seen", "format"
)
@require_safe
def audit(request: HttpRequest) -> HttpResponseBase:
    """The records, newest first."""
    if file_format := pages.file_format(request):
        scope = tenancy.scope_of(request)
        rows = audit_access.export(scope, _read_filter(request), now=timezone.now())
        rows = audit_access.with_names(scope, rows) if file_format == "csv" else rows
        return exports.listing(file_format, "records", rows, columns=COLUMNS)
    return _page(request, RangeForm())


def _read_filter(request: HttpRequest) -> AuditFilter:
    return AuditFilter(
        actor=pages.text_of(request, "actor"),
        action=pages.text_of(request, "action"),
        target=pages.text_of(request, "target"),
        request_id=pages.text_of(request, "request"),
        result=pages.word_of(request, "result", RESULTS),
        since=pages.moment_of(request, "since"),
        until=pages.moment_of(request, "until", end=True),
    )


def _page(request: HttpRequest, form: RangeForm, *, status: int = 200) -> HttpResponse:
    scope, now = tenancy.scope_of(request), timezone.now()
    wanted, before = _read_filter(request), pages.number_of(request, "before")
    grouped = pages.word_of(request, "group", ("request",)) == "request"
    found = audit_access.view(scope, wanted, before=before, limit=pages.PAGE, now=now)
    context = {
        "nav": "audit",
        "now": now,
        "form": form,
        "found": found,
        "records": found.records,
        "groups": _groups(found.records) if grouped else [Group("", found.records)],
        "grouped": grouped,
        "other_grouping": pages.address(request, group="" if grouped else "request"),
        "total": found.total,
        "wanted": wanted,
        "results": RESULTS,
        "since": pages.text_of(request, "since"),
        "until": pages.text_of(request, "until"),
        "filtered": not wanted.is_empty,
        "with_questions": bool(wanted.target and {each.target for each in found.records} - {wanted.target}),
    }
    called = {text for record in found.records for text in (record.actor, record.target, *texts_in(record.facts))}
    if not pages.wants_fragment(request):
        offered = audit_access.list_filter_choices(scope)
        context |= {"actions": sorted(offered.actions), "actors": sorted({*offered.actors, wanted.actor} - {""})}
        called |= {*offered.actors, wanted.actor, wanted.target}
    context["names"] = access.names_of(scope.tenant_id, called) | _titles(
        scope, {each.target for each in found.records}
    )
    place = _place(request, found, wanted)
    return pages.render(request, "memory/audit.html", context | place, fragment="memory/audit_list.html", status=status)


def _titles(scope: TenantScope, targets: set[str]) -> dict[str, str]:
    """What targets other than principals are called: an artifact by its ref."""
    artifacts = {target: target for target in targets if registry.is_ref(target)}
    return artifacts | namespaces.titles_of(scope, targets) | proposal_links.titles_of(scope, targets)


@dataclass(frozen=True, slots=True)
class Group:
    """Records of a page that one request, task or command has appended; "" where that is not on record."""

    request_id: str
    records: list[AuditRecord]


def _groups(records: list[AuditRecord]) -> list[Group]:
    """Those of each request together, in the order of the newest of each; a record without a request stays alone."""
    found: dict[str, Group] = {}
    for record in records:
        found.setdefault(record.request_id or str(record.seq), Group(record.request_id, [])).records.append(record)
    return list(found.values())


def _place(request: HttpRequest, found: AuditPage, wanted: AuditFilter) -> dict[str, object]:
    """Where the page stands. Numbers have no gap: without a filter, that of a record says how many are newer."""
    seen = pages.number_of(request, "seen") or 0 if "before" in request.GET else 0
    if found.records and wanted.is_empty:
        seen = found.total - found.records[0].seq - 1
    last, oldest = seen + len(found.records), found.records[-1].seq if found.records else 0
    has_older = last < found.total or (found.inexact and len(found.records) == pages.PAGE)
    return {
        "first": seen + 1 if found.records else 0,
        "last": last,
        "older": pages.address(request, before=oldest, seen=last) if found.records and has_older else "",
        "newest": pages.address(request) if "before" in request.GET else "",
        **pages.files(request),
    }


@require_safe
def checkpoints(request: HttpRequest) -> HttpResponse:
    """Every checkpoint with the keys that verify it, as a file to keep elsewhere."""
    answer = exports.document(audit_access.proofs(tenancy.scope_of(request), now=timezone.now()))
    answer["Content-Disposition"] = 'attachment; filename="audit-checkpoints.json"'
    return answer


@require_POST
def verify(request: HttpRequest) -> HttpResponse:
    """Recompute a range or the whole chain and say what was found; the header of every page remembers the whole."""
    scope, form = tenancy.scope_of(request), RangeForm(request.POST)
    sent = pages.submit(form, lambda given: audit_access.verify(scope, **given))
    if sent.result is None:
        return _page(request, form, status=sent.status)
    found, whole = sent.result, not any(form.cleaned_data.values())
    if whole or not found.intact:
        pages.remember_finding(scope.tenant_id, found, now=timezone.now())
    _show_finding(request, found)
    return redirect("audit")


def _show_finding(request: HttpRequest, found: Finding) -> None:
    if found.intact:
        read, signed = found.checked, len(found.checkpoints)
        were = "record was" if read == 1 else "records were"
        covered = f", and {signed:,} signed checkpoint{'s cover' if signed > 1 else ' covers'} them" if signed else ""
        messages.success(
            request,
            f"The chain is intact: {read:,} {were} read and every hash fits{covered}.",
        )
        return
    broken = found.breaks[0] if found.breaks else None
    hashes = f" Expected {broken.expected or 'nothing'}, found {broken.actual or 'nothing'}." if broken else ""
    forged = f" {len(found.forged):,} checkpoints carry no signature of this host." if found.forged else ""
    messages.error(request, f"The chain breaks at record {found.broken_at:,}.{hashes}{forged}")
