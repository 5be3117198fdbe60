"""What a page asks of runs beyond looking at them."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils import timezone
from django.views.decorators.http import require_POST

from memory.host import ids
from memory.host.tenancy import scope_of
from openwop_console.runtime import intake


@require_POST
def run_again(request: HttpRequest, run_id: str) -> HttpResponse:
    run = intake.run_again(scope_of(request), ids.parse("run", run_id), now=timezone.now())
    return redirect("run", run_id=ids.wire("run", run.id))


@require_POST
def run_cancel(request: HttpRequest, run_id: str) -> HttpResponse:
    intake.cancel_run(scope_of(request), ids.parse("run", run_id), now=timezone.now())
    return redirect("run", run_id=run_id)
