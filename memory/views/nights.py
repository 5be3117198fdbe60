"""One night: what its passes did, what fired and what left memory, each figure with the list behind it."""

from datetime import date, datetime
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_safe

from memory import commitments
from memory.api.nights import night_document
from memory.host import exports, pages, tenancy
from memory.host.errors import Invalid
from memory.host.json_types import JSONObject
from memory.host.paging import Page
from memory.host.tenancy import TenantScope
from memory.passes import night_reports
from memory.passes.night_reports import REMOVALS, SHOWS, Night
from memory.policies import policy_of

PREFIXES = {"fired": "fir"} | dict.fromkeys(REMOVALS, "mem")


@pages.parameters("night", "show", *pages.LIST)
@require_safe
def nights(request: HttpRequest) -> HttpResponse:
    """The night that begins on the day ``night``, or the last one; ``show`` says which list stands below."""
    scope, now = tenancy.scope_of(request), timezone.now()
    scope.check("memory:read")
    night = night_reports.night_of(scope, _day(request), now=now)
    figures = night_reports.figures(scope, night)
    if request.GET.get("format") == "json":
        return exports.document(night_document(night, figures))
    show = pages.word_of(request, "show", SHOWS) or "passes"
    cursor = pages.Cursor.of(request, PREFIXES.get(show, "pass"))
    context: JSONObject = {
        "nav": "nights",
        "now": now,
        "night": night,
        "figures": figures,
        "show": show,
        "policy": policy_of(scope.tenant_id),
        "can_retire": scope.can("memory:retire"),
        "url": f"{reverse('nights')}?night={night.day}",
        "as_json": pages.address(request, format="json"),
        "here": pages.here(request),
    }
    context |= _listed(scope, night, show, cursor, now)
    return pages.render(request, "memory/nights.html", context, fragment="memory/nights_list.html")


def _listed(scope: TenantScope, night: Night, show: str, cursor: pages.Cursor, now: datetime) -> JSONObject:
    """The rows behind the figure ``show``, and the pages around them."""
    after, size = cursor.after, pages.PAGE
    page: Page[Any]
    if show == "fired":
        page = night_reports.page_of_firings(scope, night, after=after, size=size)
        told = commitments.find_many(scope, {each.commitment_id for each in page.rows}, now=now)
        page = page.of([(each, told.get(each.commitment_id)) for each in page.rows])
    elif show in REMOVALS:
        page = night_reports.page_of_removed(scope, night, show, after=after, size=size)
    else:
        page = night_reports.page_of_passes(scope, night, show, after=after, size=size, now=now)
    return {"rows": page.rows, "total": page.total, **cursor.links(len(page.rows), page.after)}


def _day(request: HttpRequest) -> date | None:
    text = pages.text_of(request, "night")
    try:
        return date.fromisoformat(text) if text else None
    except ValueError:
        raise Invalid(errors=[{"field": "night", "message": "must be a day (2026-01-31)"}]) from None
