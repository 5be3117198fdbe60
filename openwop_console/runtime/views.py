"""What a page asks of runs beyond looking at them."""

from collections.abc import Callable

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils import timezone
from django.views.decorators.http import require_POST

from memory.host import ids
from memory.host.errors import Invalid
from memory.host.models import Run
from memory.host.tenancy import scope_of
from openwop_console.runtime import control, intake

STEER: dict[str, Callable[..., Run]] = {
    "cancel": intake.cancel_run,
    "pause": control.pause_run,
    "resume": control.resume_run,
}


@require_POST
def run_again(request: HttpRequest, run_id: str) -> HttpResponse:
    run = intake.run_again(scope_of(request), ids.parse("run", run_id), now=timezone.now())
    return redirect("run", run_id=ids.wire("run", run.id))


@require_POST
def run_steer(request: HttpRequest, run_id: str) -> HttpResponse:
    """The run is cancelled, paused or resumed, as the button says."""
    steer = STEER.get(request.POST.get("act", ""))
    if steer is None:
        raise Invalid("That is not something to do with a run.")
    steer(scope_of(request), ids.parse("run", run_id), now=timezone.now())
    return redirect("run", run_id=run_id)
