"""Workflow files in the browser: looked at first, with every problem at its line, then imported; and what was made."""

from collections.abc import Sequence
from dataclasses import dataclass

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.utils import timezone
from django.views.decorators.http import require_http_methods, require_safe

from memory.forms import WorkflowFileForm
from memory.host import exports, ids, pages, tenancy
from memory.host.json_types import JSONObject
from memory.host.pages import Cleaned
from memory.host.tenancy import TenantScope
from memory.models import Task
from memory.openintent import workflow_file
from memory.openintent.workflow_file import ImportedIntent, ImportPlan, Parsed, Problem, Workflow

LISTED = 100
TASKS_SHOWN = 500
LONGEST_LINE = 160


@dataclass(frozen=True, slots=True)
class Spot:
    """A problem, and the line of the file that it is on."""

    problem: Problem
    line: str


@pages.creates()
@require_http_methods(["GET", "HEAD", "POST"])
def import_page(request: HttpRequest) -> HttpResponse:
    """The upload, the preview of what it would make, its problems; and, once that is confirmed, the import."""
    scope = tenancy.scope_of(request)
    scope.check(workflow_file.SCOPE)
    if request.method != "POST":
        return _page(request, WorkflowFileForm())
    form = WorkflowFileForm(request.POST, request.FILES)
    if not form.is_valid():
        return _page(request, form, status=422)
    raw = _bytes_of(form)
    parsed = workflow_file.parse_for(scope, raw)
    form.data = {"text": _text_of(raw)}
    if parsed.workflow is None:
        return _page(request, form, parsed, status=422)
    return _brought(request, scope, form, parsed, parsed.workflow)


def _bytes_of(form: WorkflowFileForm) -> bytes:
    """What was chosen, or what was pasted; never more than shows that it is too much."""
    chosen, most = form.cleaned_data["file"], workflow_file.MAX_BYTES + 1
    raw: bytes = chosen.read(most) if chosen else form.cleaned_data["text"].encode("utf-8", "replace")[:most]
    return raw.replace(b"\r\n", b"\n")


def _text_of(raw: bytes) -> str:
    """The text to be corrected; nothing when there is none that could be."""
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError:
        return ""
    return "" if "\x00" in text or len(raw) > workflow_file.MAX_BYTES else text


def _brought(
    request: HttpRequest, scope: TenantScope, form: WorkflowFileForm, parsed: Parsed, workflow: Workflow
) -> HttpResponse:
    """The preview; or, when that was confirmed, the import."""

    def act(_: Cleaned) -> ImportPlan:
        if "confirmed" in request.POST:
            return workflow_file.import_workflow(scope, workflow, now=timezone.now())
        return workflow_file.plan_import(scope, workflow)

    sent = pages.submit(form, act)
    if sent.result and sent.result.intent_id:
        messages.success(request, "The workflow is imported.")
        return redirect("workflow-file", sent.result.intent_id)
    return _page(request, form, parsed, sent.result, status=200 if sent.result else 422)


def _page(
    request: HttpRequest,
    form: WorkflowFileForm,
    parsed: Parsed | None = None,
    brought: ImportPlan | None = None,
    *,
    status: int = 200,
) -> HttpResponse:
    lines = workflow_file.lines_of(str(form.data.get("text", ""))) if parsed else []
    context = {
        "nav": "settings",
        "form": form,
        "problems": _spots(parsed.problems if parsed else (), lines),
        "problem_count": len(parsed.problems) if parsed else 0,
        "warnings": _spots(parsed.warnings if parsed else (), lines),
        "warning_count": len(parsed.warnings) if parsed else 0,
        "brought": brought,
        "document": workflow_file.document(brought) if brought else None,
        "policy": _policy_words(brought.workflow.memory_policy) if brought else "",
        "steps": _steps(brought) if brought else [],
    }
    return pages.render(request, "memory/workflow_files.html", context, status=status)


def _spots(found: Sequence[Problem], lines: list[str]) -> list[Spot]:
    """The first of them, each with its line, cut so that the place itself is seen."""
    return [
        Spot(each, _cut(lines[each.line - 1], each.column) if each.line <= len(lines) else "")
        for each in found[:LISTED]
    ]


def _cut(line: str, column: int) -> str:
    begin = max(0, min(column - LONGEST_LINE // 2, len(line) - LONGEST_LINE))
    piece = line[begin : begin + LONGEST_LINE]
    return ("…" if begin else "") + piece + ("…" if begin + LONGEST_LINE < len(line) else "")


def _steps(brought: ImportPlan) -> list[dict[str, object]]:
    return [{"step": each, "policy": _policy_words(each.memory_policy)} for each in brought.workflow.steps]


def _policy_words(policy: JSONObject) -> str:
    """The memory policy of a task in words."""
    ends = {True: "archived when the task ends", False: "cleared when the task ends, not archived", None: ""}
    parts = [
        ends[policy.get("archive_on_completion")],
        "reads its parent's memory" if policy.get("inherit_from_parent") else "",
        f"at most {policy['max_entries']:,} entries" if policy.get("max_entries") is not None else "",
        f"at most {policy['max_total_size_kb']:,} KB" if policy.get("max_total_size_kb") is not None else "",
    ]
    return ", ".join(part for part in parts if part)


# --- what was made ---------------------------------------------------------------------------------------------------


@pages.parameters("format")
@require_safe
def imported(request: HttpRequest, intent_id: str) -> HttpResponseBase:
    """An intent with its tasks, as they are now."""
    found = workflow_file.imported_intent(tenancy.scope_of(request), intent_id, tasks=TASKS_SHOWN)
    if pages.file_format(request) == "json":
        return exports.document(_intent_document(found))
    names = {ids.wire("task", each.id): each.name for each in found.tasks}
    context = {
        "nav": "settings",
        "now": timezone.now(),
        "intent": found.intent,
        "intent_id": intent_id,
        "by": found.by,
        "policy": _policy_words(found.intent.policy),
        "tasks": [_row(each, names) for each in found.tasks],
        "total": found.total,
        **pages.files(request, "json"),
    }
    return pages.render(request, "memory/workflow_file.html", context)


def _row(task: Task, names: dict[str, str]) -> dict[str, object]:
    needs = [names.get(each, each) for each in task.record.get("depends_on", [])]
    return {
        "task": task,
        "id": ids.wire("task", task.id),
        "needs": needs,
        "policy": _policy_words(task.memory_policy or {}),
    }


def _intent_document(found: ImportedIntent) -> dict[str, object]:
    intent = found.intent
    return {
        "intent_id": ids.wire("intent", intent.id),
        "title": intent.title,
        "status": intent.status,
        "memory_policy": intent.policy,
        "agents": intent.agents,
        "total": found.total,
        "tasks": [
            {
                "id": ids.wire("task", each.id),
                "name": each.name,
                "status": each.status,
                "assigned_agent": each.assigned_agent or None,
                "depends_on": each.record.get("depends_on", []),
                "memory_policy": each.memory_policy,
            }
            for each in found.tasks
        ],
    }
