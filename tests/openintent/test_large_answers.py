"""No answer grows with what agents have left: pages of events (C20)."""

from typing import Any

import pytest
from django.utils import timezone

from memory.host.tenancy import TenantScope
from memory.openintent import events, work
from memory.openintent.access import Caller
from memory.openintent.events import EventQuery
from memory.openintent.work.rows import NewIntent
from tests import building

pytestmark = pytest.mark.django_db
AGENT = "billing-01"
LONG = {"text": "HERON " * 1_000}


@pytest.fixture
def acme() -> TenantScope:
    return building.scope()


def a_log(scope: TenantScope, *payloads: dict[str, Any]) -> str:
    """An intent on whose log an agent has told each of these."""
    now = timezone.now()
    intent_id = f"intent_{work.intents.create_intent(scope, NewIntent('Invoices'), actor=AGENT, now=now).id.hex}"
    for payload in payloads:
        work.intents.log_event(scope, intent_id, "comment", payload, actor=AGENT, now=now)
    return intent_id


def comments(scope: TenantScope, intent_id: str, **asked: Any) -> list[dict[str, Any]]:
    log = events.intent_log(Caller(scope, AGENT), intent_id, now=timezone.now())
    told = events.page(log, EventQuery("comment", **asked))
    assert told.total == 5
    return [each["data"] for each in told.events]


def test_R65_a_page_of_events_has_all_that_were_asked_for_and_leaves_out_what_it_has_no_room_for(
    acme: TenantScope, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody who goes on by the number or the time of what came loses an event; and alone each is whole."""
    intent_id = a_log(acme, LONG, LONG, LONG, {"text": "short"}, LONG)
    assert comments(acme, intent_id) == [LONG, LONG, LONG, {"text": "short"}, LONG]
    monkeypatch.setattr(events, "MOST_TOLD", 15_000)
    omitted = {"omitted": True}
    assert comments(acme, intent_id) == [LONG, LONG, omitted, {"text": "short"}, omitted]
    assert comments(acme, intent_id, offset=2) == [LONG, {"text": "short"}, LONG]
    monkeypatch.setattr(events, "MOST_TOLD", 1)
    assert comments(acme, intent_id, offset=4, limit=1) == [LONG]
