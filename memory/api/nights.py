"""The night report over HTTP: the console's extension of the OpenWOP face."""

from django.urls import path
from django.utils import timezone
from rest_framework import serializers
from rest_framework.decorators import api_view
from rest_framework.request import Request
from rest_framework.response import Response

from memory.api.passes import PASS, pass_document
from memory.host.http import After, Closed, checked, query_of
from memory.host.json_types import JSONObject
from memory.host.operations import COUNT, TEXT, TIME, closed, listed, nullable, operation
from memory.host.paging import DEFAULT_LIMIT, cursor
from memory.host.tenancy import scope_of
from memory.passes import nights
from memory.passes.nights import PASSES, Figures, Night
from memory.passes.pass_reports import Summary
from memory.wire import instant

TAKEN = {"removed": COUNT, "restored": COUNT, "restorable": COUNT}
NIGHT = closed(
    "Night",
    night=TEXT,
    begins=TIME,
    ends=TIME,
    timezone=TEXT,
    passes=COUNT,
    merged=COUNT,
    superseded=COUNT,
    compacted=COUNT,
    archives=COUNT,
    distilled=COUNT,
    failed=COUNT,
    unfinished=COUNT,
    fired=COUNT,
    expired=COUNT,
    purged=COUNT,
)
PASS_OF_NIGHT = closed("PassOfNight", **{"pass": PASS}, reason=nullable(TEXT), **TAKEN)
PASSES_OF_NIGHT = closed("PassesOfNight", night=NIGHT, passes=listed(PASS_OF_NIGHT), total=COUNT, next=nullable(TEXT))


class NightQuery(Closed):
    """The night that begins on a day, the last one when none is named, and the passes behind one of its figures."""

    night = serializers.DateField(required=False)
    show = serializers.ChoiceField(choices=sorted(PASSES), required=False)
    limit = serializers.IntegerField(required=False, min_value=1, max_value=1000)
    after = After("pass")


def night_document(night: Night, figures: Figures) -> JSONObject:
    """The figures of one night."""
    return {
        "night": night.day.isoformat(),
        "begins": instant(night.begins),
        "ends": instant(night.ends),
        "timezone": night.timezone,
        **{name: getattr(figures, name) for name in Figures.__slots__},
    }


def _row(row: Summary) -> JSONObject:
    return {
        "pass": pass_document(row.work),
        "reason": row.reason or None,
        "removed": row.taken.entries,
        "restored": row.taken.restored,
        "restorable": row.taken.restorable,
    }


@operation("getNight", scope="memory:read", query=NightQuery, gives={200: PASSES_OF_NIGHT}, tag="passes")
@api_view(["GET"])
def night(request: Request) -> Response:
    """What one night did, and its passes, the newest first."""
    scope, now = scope_of(request), timezone.now()
    given = checked(NightQuery, query_of(request)).validated_data
    found = nights.night_of(scope, given.get("night"), now=now)
    after, size = given.get("after"), given.get("limit", DEFAULT_LIMIT)
    page = nights.page_of_passes(scope, found, given.get("show", "passes"), after=after, size=size, now=now)
    return Response(
        {
            "night": night_document(found, nights.figures(scope, found)),
            "passes": [_row(each) for each in page.rows],
            "total": page.total,
            "next": cursor("pass", page.after),
        }
    )


urlpatterns = [path("v1/host/console/nights", night, name="api-night")]
