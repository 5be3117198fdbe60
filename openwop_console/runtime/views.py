"""Page requests that act on runs: start again, fork, steer, answer, and cancel several."""

from collections.abc import Callable
from uuid import UUID

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_http_methods, require_POST

from memory import interrupt_forms, run_search, run_timeline
from memory.forms import SelectionForm
from memory.host import access, ids, pages
from memory.host.errors import Conflict, Invalid, Refusal
from memory.host.models import ForkMode, Run, RunStatus
from memory.host.tenancy import scope_of
from memory.interrupt_forms import AnswerForm
from memory.views import runs
from memory.views.runs import render_run
from openwop_console.errors import answer_of
from openwop_console.runtime import replay, run_operations
from openwop_console.runtime.replay import ForkRequest
from openwop_console.runtime.run_operations import MAX_RUN_IDS, Cancelled

# How a run is that was just cancelled: at once, or when its node has ended.
STOPPED = frozenset({RunStatus.CANCELLED, RunStatus.CANCELLING})
STEER: dict[str, Callable[..., Run]] = {
    "cancel": run_operations.cancel_run,
    "pause": run_operations.pause_run,
    "resume": run_operations.resume_run,
}


@pages.creates()
@require_POST
def run_again(request: HttpRequest, run_id: str) -> HttpResponse:
    """Start another run like this one; why that is refused stands on the page of the run, beside the button."""
    scope, now = scope_of(request), timezone.now()
    made = pages.attempt(lambda: run_operations.run_again(scope, ids.parse("run", run_id), now=now))
    return _opened(request, run_id, made, "again")


def _opened(request: HttpRequest, run_id: str, made: Run | Refusal, act: str) -> HttpResponse:
    """The new run, or the page of the old one with the reason why there is none."""
    if isinstance(made, Run):
        return redirect("run", run_id=ids.wire("run", made.id))
    timeline = run_timeline.build_timeline(scope_of(request), ids.parse("run", run_id), now=timezone.now())
    return render_run(request, timeline, failed={"act": act, "refusal": made}, status=answer_of(type(made)).status)


@pages.parameters(*runs.FILTERS)
@require_http_methods(["GET", "HEAD", "POST"])
def runs_cancel(request: HttpRequest) -> HttpResponse:
    """Ask before the unfinished runs of the list are cancelled; a POST cancels those that the page has shown."""
    scope, now = scope_of(request), timezone.now()
    scope.check("runs:cancel")
    back = reverse("runs", query=request.GET)
    form = SelectionForm(request.POST if request.method == "POST" else None).focus()
    sent = pages.submit(form, lambda given: _cancel(request, given["reason"])) if form.is_bound else None
    if sent and sent.result:
        return redirect(back)
    found, total = run_search.cancellable(scope, runs.filter_of(request), most=MAX_RUN_IDS)
    context = {
        "nav": "runs",
        "now": now,
        "runs": found,
        "total": total,
        "form": form,
        "back": back,
        "here": request.get_full_path(),
        "people": access.names_of(scope.tenant_id, {run.principal for run in found}),
    }
    return pages.render(request, "memory/runs_cancel.html", context, status=sent.status if sent else 200)


def _cancel(request: HttpRequest, reason: str) -> list[Cancelled]:
    chosen = request.POST.getlist("id")
    if not 0 < len(chosen) <= MAX_RUN_IDS:
        raise Invalid(f"Choose 1 to {MAX_RUN_IDS} runs.")
    outcomes = run_operations.cancel_runs(scope_of(request), chosen, reason=reason, now=timezone.now())
    done = [each for each in outcomes if not each.code and each.status in STOPPED]
    if done:
        messages.success(request, f"{len(done)} {'run is' if len(done) == 1 else 'runs are'} being cancelled.")
    if len(done) < len(outcomes):
        messages.info(request, f"{len(outcomes) - len(done)} had ended already or cannot be cancelled here.")
    return outcomes


@pages.creates()
@require_POST
def run_fork(request: HttpRequest, run_id: str) -> HttpResponse:
    scope, now = scope_of(request), timezone.now()
    scope.check("runs:create")
    made = pages.attempt(lambda: replay.fork(scope, ids.parse("run", run_id), ForkForm(request.POST).order(), now=now))
    return _opened(request, run_id, made, "fork")


@require_POST
def run_steer(request: HttpRequest, run_id: str) -> HttpResponse:
    """Cancel, pause or resume the run, by the form field ``act``."""
    scope = scope_of(request)
    scope.check("runs:cancel")
    steer = STEER.get(request.POST.get("act", ""))
    if steer is None:
        raise Invalid("Choose cancel, pause or resume.")
    steer(scope, ids.parse("run", run_id), now=timezone.now())
    return redirect("run", run_id=run_id)


@require_http_methods(["GET", "HEAD", "POST"])
def run_answer(request: HttpRequest, run_id: str, interrupt_id: str) -> HttpResponse:
    """Show an interrupt's answer form. A valid answer redirects to the run, an invalid one is shown on its page."""
    scope, run = scope_of(request), ids.parse("run", run_id)
    interrupt = run_operations.read_interrupt(scope, run, ids.parse("int", interrupt_id))
    form = AnswerForm(interrupt, request.POST if request.method == "POST" else None)
    if request.method == "POST":
        sent = pages.submit(form, lambda _: _answer(request, form, run))
        if sent.result:
            now_is = run_operations.read_interrupt(scope, run, interrupt.id)
            messages.success(request, interrupt_forms.receipt(sent.result, now_is, form.cleaned_data["action"]))
            return redirect("run", run_id=run_id)
        timeline = run_timeline.build_timeline(scope, run, now=timezone.now())
        return render_run(request, timeline, refused=form, conflict=sent.conflict, status=sent.status)
    shown = interrupt_forms.question_for(scope, run_timeline.question_of(interrupt), form)
    context = {
        "nav": "runs",
        "now": timezone.now(),
        "run_id": run_id,
        "each": shown,
        "names": runs.names_in(scope, shown.answer.people if shown.answer else ()),
    }
    return pages.render(request, "memory/run_answer.html", context)


def _answer(request: HttpRequest, form: AnswerForm, run_id: UUID | None) -> Run:
    scope, node_id, now = scope_of(request), form.interrupt.node_id, timezone.now()
    mine = interrupt_forms.vote_of(scope, run_timeline.question_of(form.interrupt))
    if mine:
        said = {"accept": "approved", "reject": "rejected"}.get(mine.action, "answered")
        raise Conflict(f"You {said} this already. Your answer counts once; it was not recorded again.")
    return run_operations.resolve_interrupt(scope, run_id, node_id, form.resume_value(), now=now)


class ForkForm(forms.Form):
    """The mode and first event of a fork."""

    mode = forms.ChoiceField(choices=ForkMode.choices)
    from_seq = forms.IntegerField(min_value=0, max_value=2**62)

    def order(self) -> ForkRequest:
        if not self.is_valid():
            raise Invalid(errors=[{"field": name, "message": said.as_text()} for name, said in self.errors.items()])
        return ForkRequest(self.cleaned_data["mode"], self.cleaned_data["from_seq"])
