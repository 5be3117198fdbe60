"""``/v1/host/console/commitments`` and the seam that fires one: shapes, permissions, nothing of memory on the log."""

import json
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone
from pytest_django.fixtures import Settings

from memory import ledger
from memory.host import ids, tenancy
from memory.host.models import RunEvent
from memory.models import Commitment, Firing
from openwop_console.runtime import commitment_firing
from tests import building
from tests.conformance import schemas

pytestmark = pytest.mark.django_db
PLACE = "/v1/host/console/commitments"
SEAM = "/v1/host/sample/commitment/fire"


class Caller:
    """One key at the door of commitments."""

    def __init__(self, client: Client, slug: str = "acme", role: str = "owner", **options: Any) -> None:
        self.client, self.headers = client, building.headers(slug, role, **options)

    def get(self, path: str = "", **query: Any) -> Any:
        return self.client.get(f"{PLACE}{path}", query, **self.headers)

    def post(self, path: str, body: Any) -> Any:
        return self.client.post(f"{PLACE}{path}", json.dumps(body), content_type="application/json", **self.headers)

    def fire(self, **body: Any) -> Any:
        return self.client.post(SEAM, json.dumps(body), content_type="application/json", **self.headers)


@pytest.fixture
def acme(client: Client) -> Caller:
    return Caller(client)


@pytest.fixture
def seamed(settings: Settings) -> None:
    settings.OPENWOP_TEST_SEAM_ENABLED = True


def remembered(*texts: str, slug: str = "acme") -> list[str]:
    """The wire ids of the commitments that come of these texts, the newest first."""
    building.remember(slug, *texts)
    commitment_firing.process_commitments(building.tenant(slug).id, clock=timezone.now)
    rows = Commitment.objects.of(building.tenant(slug).id).order_by("-id")
    return [ids.wire("cmt", row.id) for row in rows]


def test_commitments_are_listed_newest_first_and_paged(acme: Caller) -> None:
    known = remembered("Call Ana in 3 days.", "Every Friday send the report.", "When the invoice clears, tell finance.")
    first = acme.get(limit=2).json()
    assert ([each["id"] for each in first["commitments"]], first["total"]) == (known[:2], 3)
    rest = acme.get(limit=2, after=first["next"]).json()
    assert ([each["id"] for each in rest["commitments"]], rest["next"]) == (known[2:], None)


def test_a_commitment_says_what_it_waits_for_and_reads_its_intention_from_memory(acme: Caller) -> None:
    (known,) = remembered("Ana was angry. When the invoice clears, tell finance.")
    found = acme.get(f"/{known}").json()
    assert (found["intention"], found["condition"]) == ("When the invoice clears, tell finance.", "predicate")
    assert (found["words"], found["state"], found["agentId"]) == (["invoic", "clear"], "armed", "acme.writer")
    assert (found["fireCount"], found["fireLimit"], found["firings"]) == (0, None, [])
    (other,) = set(remembered("Let Jonas know when his badge is printed.")) - {known}
    assert acme.get(f"/{other}").json()["words"] == ["badg", "print"], "whose it is need not be said"
    tenant = building.tenant()
    entry = ids.parse("mem", found["memoryId"])
    assert entry is not None
    ledger.erase.remove_entries(tenant.id, (entry,), reason="expired", now=timezone.now())
    assert acme.get(f"/{known}").json()["intention"] is None


def test_a_list_is_of_one_state_or_ref_when_it_is_named(acme: Caller) -> None:
    known = remembered("Call Ana in 3 days.", "When the invoice clears, tell finance.")
    acme.post(f"/{known[0]}/cancel", {"reason": "no"})
    assert [each["id"] for each in acme.get(state="cancelled").json()["commitments"]] == known[:1]
    assert [each["id"] for each in acme.get(state="armed", memoryRef="notes").json()["commitments"]] == known[1:]
    assert acme.get(memoryRef="other").json()["total"] == 0
    assert acme.get(state="odd").status_code == 400


def test_a_commitment_is_put_off_and_cancelled_with_a_reason(acme: Caller) -> None:
    (known,) = remembered("Call Ana in 3 days.")
    until = (timezone.now() + timedelta(days=5)).replace(microsecond=0)
    put_off = acme.post(f"/{known}/snooze", {"until": until.isoformat()}).json()
    assert put_off["state"] == "snoozed"
    assert (
        put_off["snoozedUntil"] == put_off["dueAt"] == until.isoformat(timespec="milliseconds").replace("+00:00", "Z")
    )
    cancelled = acme.post(f"/{known}/cancel", {"reason": "done by phone"}).json()
    assert (cancelled["state"], cancelled["reason"], cancelled["dueAt"]) == ("cancelled", "done by phone", None)
    again = acme.post(f"/{known}/cancel", {"reason": "once more"})
    assert (again.status_code, again.json()["details"]["state"]) == (409, "cancelled")


def test_nothing_is_cancelled_without_a_reason(acme: Caller) -> None:
    (known,) = remembered("Call Ana in 3 days.")
    bodies: list[Any] = [{}, {"reason": ""}, {"reason": " \n"}, {"reason": 5}, {"reason": None}, []]
    for body in bodies:
        answer = acme.post(f"/{known}/cancel", body)
        assert (answer.status_code, answer.json()["error"]) == (400, "validation_error"), body
    assert acme.get(f"/{known}").json()["state"] == "armed"


def test_a_time_to_put_it_off_to_lies_ahead_and_has_an_offset(acme: Caller) -> None:
    (known,) = remembered("Call Ana in 3 days.")
    for until in ("soon", "2020-01-01T00:00:00Z", "2999-01-01T00:00:00Z", "2026-12-01T00:00:00", 7, None):
        answer = acme.post(f"/{known}/snooze", {"until": until})
        assert (answer.status_code, answer.json()["error"]) == (400, "validation_error"), until


def test_another_tenant_and_a_key_of_another_agent_find_nothing(client: Client) -> None:
    (known,) = remembered("Call Ana in 3 days.")
    for other in (Caller(client, "globex"), Caller(client, role="agent", agents=("acme.other",))):
        assert other.get().json()["total"] == 0
        assert other.get(f"/{known}").status_code == 404
    assert Caller(client, "globex").post(f"/{known}/cancel", {"reason": "no"}).status_code == 404
    assert Caller(client, role="agent", agents=("acme.writer",)).get(f"/{known}").status_code == 200


def test_who_may_read_memory_may_not_change_a_commitment(client: Client) -> None:
    (known,) = remembered("Call Ana in 3 days.")
    viewer = Caller(client, role="viewer")
    assert viewer.get(f"/{known}").status_code == 200
    assert viewer.post(f"/{known}/cancel", {"reason": "no"}).status_code == 403


# --- the seam ---------------------------------------------------------------------------------------------------------


@pytest.mark.engines
@pytest.mark.usefixtures("seamed")
@pytest.mark.parametrize("condition", ["time", "predicate"])
def test_the_seam_fires_a_commitment_that_it_first_lets_be_inferred_and_only_once(acme: Caller, condition: str) -> None:
    wanted = {"memoryRef": "mem://conformance/commitments", "condition": condition, "includeIntentionCanary": True}
    first, again = acme.fire(**wanted), acme.fire(**wanted)
    assert first.status_code == 200, first.content
    told = first.json()
    schemas.check_payload("commitmentFired", told["event"])
    assert set(told["event"]) == {"commitmentId", "memoryRef", "condition", "memoryId"}
    assert (told["event"]["condition"], told["fireCount"]) == (condition, 1)
    assert told["intentionCanary"].startswith("INTENT-CANARY-")
    assert told["intentionCanary"] not in json.dumps(told["event"])
    assert again.json() == told
    assert Firing.objects.count() == 1


@pytest.mark.engines
@pytest.mark.usefixtures("seamed")
def test_nothing_of_the_intention_is_on_any_log(acme: Caller) -> None:
    told = acme.fire(memoryRef="a", condition="predicate", includeIntentionCanary=True).json()
    tenant = building.tenant()
    kinds = ("run.started", "memory.written", "commitment.fired", "run.completed")
    every = list(RunEvent.objects.of(tenant.id).filter(type__in=kinds).values_list("payload", flat=True))
    assert len(every) >= 8
    assert told["intentionCanary"] not in json.dumps(every)


@pytest.mark.engines
@pytest.mark.usefixtures("seamed")
def test_the_seam_satisfies_a_commitment_that_is_there(acme: Caller) -> None:
    known = remembered("Call Ana in 3 days.", "Tell me if the server is no longer reachable.")
    fired = acme.fire(memoryRef="notes", condition="predicate").json()
    timed = acme.fire(memoryRef="notes", condition="time").json()
    assert [fired["event"]["commitmentId"], timed["event"]["commitmentId"]] == known
    assert "intentionCanary" not in fired


@pytest.mark.usefixtures("seamed")
def test_the_seam_refuses_other_conditions_and_refs_that_no_tenant_of_the_caller_has(acme: Caller) -> None:
    odd = acme.fire(memoryRef="a", condition="mood")
    assert (odd.status_code, odd.json()["error"]) == (400, "validation_error")
    assert acme.fire(memoryRef="tenant/globex/a", condition="time").status_code == 404
    for ref in ("a/../b", "a\x01b", "x" * 257):
        assert acme.fire(memoryRef=ref, condition="time").status_code == 400, ref
    assert tenancy.memory_scope(building.scope(), "a") is not None
