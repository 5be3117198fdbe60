"""``/v1/host/console/passes`` and ``.../pass-schedules``: asked for by programs, carried out by a worker."""

import json
from typing import Any

import pytest
from django.test import Client

from memory.models import Pass
from tests import building
from tests.fixtures_queue import Drain
from tests.memory.test_passes import Counting, flow

pytestmark = pytest.mark.django_db
URL, SCHEDULES = "/v1/host/console/passes", "/v1/host/console/pass-schedules"
__all__ = ["flow"]


@pytest.fixture
def consolidating(flow: Counting, monkeypatch: pytest.MonkeyPatch) -> Counting:
    """The small flow of the tests takes the place of consolidation, and there is memory for it."""
    building.remember("acme", "a note")
    monkeypatch.setattr("memory.passes.orders.KINDS", {"consolidate": flow, "distill": flow})
    return flow


def send(client: Client, method: str, url: str, body: Any = None, **headers: Any) -> Any:
    raw = "" if body is None else json.dumps(body)
    return client.generic(method, url, raw, content_type="application/json", **headers)


def order(client: Client, headers: Any, **given: Any) -> Any:
    return send(client, "POST", URL, {"kind": "consolidate", "memoryRef": "notes", **given}, **headers)


def test_a_pass_is_accepted_carried_out_and_tells_what_came_of_it(
    client: Client, consolidating: Counting, drain: Drain
) -> None:
    headers = building.headers(role="operator")
    ordered = order(client, headers)
    assert ordered.status_code == 202
    row = ordered.json()
    assert (row["state"], row["kind"], row["memoryRef"], row["trigger"]) == (
        "waiting",
        "consolidate",
        "notes",
        "on-demand",
    )
    assert row["finishedAt"] is None
    drain()
    done = client.get(f"{URL}/{row['id']}", **headers).json()
    assert (done["state"], done["outcome"], done["total"]) == ("done", {"counted": 2}, 2)
    assert done["finishedAt"]
    run = client.get(f"/v1/runs/{done['runId']}", **headers).json()
    assert run["status"] == "completed"


@pytest.mark.engines
def test_the_same_idempotency_key_is_one_pass(client: Client, consolidating: Counting) -> None:
    headers = building.headers() | {"HTTP_IDEMPOTENCY_KEY": "once"}
    first, second = order(client, headers).json(), order(client, headers).json()
    assert first["id"] == second["id"]
    assert Pass.objects.count() == 1


SENSELESS: list[tuple[dict[str, Any], str]] = [
    ({"kind": "forget"}, "kind"),
    ({"memoryRef": 5}, "memoryRef"),
    ({"dryRun": "perhaps"}, "dryRun"),
    ({"dryRun": "true"}, "dryRun"),
    ({"dryRun": 1}, "dryRun"),
    ({"options": {"tokenBudget": "5"}}, "options.tokenBudget"),
    ({"options": {"tokenBudget": 5.0}}, "options.tokenBudget"),
    ({"options": {"tokenBudget": True}}, "options.tokenBudget"),
    ({"options": {"indexEmitted": "yes"}}, "options.indexEmitted"),
    ({"options": {"includeExpiring": "yes"}}, "options.includeExpiring"),
    ({"options": {"tokenBudget": 0}}, "options.tokenBudget"),
    ({"options": {"budget": 10}}, "options.budget"),
    ({"options": []}, "options"),
    ({"window": "mine"}, "window"),
]


def test_an_order_that_makes_no_sense_names_its_field(client: Client, consolidating: Counting) -> None:
    headers = building.headers()
    for body, field in SENSELESS:
        refused = order(client, headers, **body)
        assert refused.status_code == 400, body
        named = [error["field"] for error in refused.json()["details"]["errors"]]
        assert any(each == field or each.startswith(f"{field}.") for each in named), (body, named)


@pytest.mark.parametrize("given", [True, False])
def test_what_expires_is_distilled_when_it_is_asked_for(client: Client, given: bool) -> None:
    building.remember("acme", "a note")
    made = order(client, building.headers(), kind="distill", options={"includeExpiring": given})
    assert made.status_code == 202
    assert made.json()["options"]["includeExpiring"] is given


@pytest.mark.parametrize("ref", ["../notes", "a\u0007b", "x" * 257])
def test_a_pass_over_a_malformed_ref_is_refused(client: Client, consolidating: Counting, ref: str) -> None:
    refused = order(client, building.headers(), memoryRef=ref)
    assert (refused.status_code, refused.json()["error"]) == (400, "validation_error")


def test_a_pass_over_a_foreign_ref_is_not_found(client: Client, consolidating: Counting) -> None:
    refused = order(client, building.headers(), memoryRef="tenant/globex/notes")
    assert (refused.status_code, refused.json()["error"]) == (404, "not_found")


@pytest.mark.parametrize("role", ["viewer", "author", "agent", "reviewer"])
def test_who_may_not_run_passes_may_look_at_them(client: Client, consolidating: Counting, role: str) -> None:
    made = order(client, building.headers()).json()
    headers = building.headers(role=role)
    refused = order(client, headers)
    assert (refused.status_code, refused.json()["details"]["requiredScope"]) == (403, "passes:run")
    assert send(client, "POST", f"{URL}/{made['id']}/stop", **headers).status_code == 403
    assert client.get(f"{URL}/{made['id']}", **headers).status_code == 200
    assert client.get(URL, **headers).json()["total"] == 1


def test_passes_are_paged_to_their_end_by_kind_and_ref(client: Client, consolidating: Counting) -> None:
    headers = building.headers()
    for ref in ("ref-0", "ref-1"):
        building.remember("acme", "a note", memory_ref=ref)
    made = [order(client, headers, memoryRef=f"ref-{number % 2}").json()["id"] for number in range(5)]
    order(client, headers, kind="distill", memoryRef="ref-0")

    def page(**query: Any) -> Any:
        return client.get(URL, query, **headers).json()

    first = page(kind="consolidate", limit=3)
    rest = page(kind="consolidate", limit=3, after=first["next"])
    assert [row["id"] for row in first["passes"] + rest["passes"]] == made[::-1]
    assert (first["total"], rest["next"]) == (5, None)
    assert page(memoryRef="ref-1")["total"] == 2
    assert page(memoryRef="ref-0", kind="distill")["total"] == 1


def test_a_stopped_pass_is_run_again_by_hand_and_a_finished_one_is_not(
    client: Client, consolidating: Counting, drain: Drain
) -> None:
    headers = building.headers()
    first = order(client, headers).json()
    stopped = send(client, "POST", f"{URL}/{first['id']}/stop", **headers)
    assert (stopped.status_code, stopped.json()["state"], stopped.json()["code"]) == (
        202,
        "cancelled",
        "pass_cancelled",
    )
    assert send(client, "POST", f"{URL}/{first['id']}/stop", **headers).status_code == 409
    drain()
    second = send(client, "POST", f"{URL}/{first['id']}/again", **headers)
    assert second.status_code == 202
    drain()
    assert client.get(f"{URL}/{second.json()['id']}", **headers).json()["state"] == "done"
    assert send(client, "POST", f"{URL}/{second.json()['id']}/again", **headers).status_code == 409
    assert consolidating.finished == 1


def test_a_body_where_none_is_taken_is_refused(client: Client, consolidating: Counting) -> None:
    headers = building.headers()
    made = order(client, headers).json()["id"]
    for verb in ("stop", "again"):
        bodies: list[Any] = [{"surprise": 1}, [], "again", 0]
        for body in bodies:
            refused = send(client, "POST", f"{URL}/{made}/{verb}", body, **headers)
            assert (refused.status_code, refused.json()["error"]) == (400, "validation_error"), (verb, body)
        assert Pass.objects.count() == 1
        assert send(client, "POST", f"{URL}/{made}/{verb}", {}, **headers).status_code == 202, verb


@pytest.mark.parametrize("verb", ["stop", "again"])
def test_who_may_not_run_passes_is_not_told_their_state(client: Client, consolidating: Counting, verb: str) -> None:
    headers = building.headers()
    made = order(client, headers).json()["id"]
    if verb == "stop":
        send(client, "POST", f"{URL}/{made}/stop", **headers)
    refused = send(client, "POST", f"{URL}/{made}/{verb}", **building.headers(role="viewer"))
    assert (refused.status_code, refused.json()["details"]["requiredScope"]) == (403, "passes:run")


@pytest.mark.parametrize("place", ["passes", "pass-schedules", "archives", "commitments", "memory"])
@pytest.mark.parametrize("after", ["zzz", f"run_{'0' * 32}", f"pass_{'0' * 31}", "\x00"])
def test_a_cursor_that_is_none_is_refused_by_its_name(client: Client, place: str, after: str) -> None:
    refused = client.get(f"/v1/host/console/{place}", {"after": after}, **building.headers())
    assert (refused.status_code, refused.json()["error"]) == (400, "validation_error")
    assert [error["field"] for error in refused.json()["details"]["errors"]] == ["after"]


@pytest.mark.engines
def test_a_schedule_is_kept_changed_listed_and_removed(client: Client, consolidating: Counting) -> None:
    headers = building.headers(role="operator")
    body = {"kind": "consolidate", "memoryRef": "notes", "cron": "0 3 * * *", "timezone": "Europe/Berlin"}
    kept = send(client, "PUT", SCHEDULES, body, **headers)
    assert kept.status_code == 200
    schedule = kept.json()
    assert (schedule["cron"], schedule["enabled"], len(schedule["nextTicks"])) == ("0 3 * * *", True, 5)
    changed = send(client, "PUT", SCHEDULES, body | {"enabled": False}, **headers).json()
    assert (changed["id"], changed["nextTick"]) == (schedule["id"], None)
    other = send(client, "PUT", SCHEDULES, body | {"kind": "distill"}, **headers).json()
    listed = client.get(SCHEDULES, {"limit": 1}, **headers).json()
    assert (listed["schedules"], listed["total"]) == ([changed], 2)
    assert client.get(SCHEDULES, {"after": listed["next"]}, **headers).json()["schedules"] == [other]
    assert client.get(SCHEDULES, {"kind": "distill"}, **headers).json()["total"] == 1
    of_refs = [client.get(SCHEDULES, {"memoryRef": ref}, **headers).json()["total"] for ref in ("notes", "elsewhere")]
    assert of_refs == [2, 0]
    assert client.get(f"{SCHEDULES}/{schedule['id']}", **headers).json() == changed
    assert send(client, "DELETE", f"{SCHEDULES}/{schedule['id']}", **headers).status_code == 204
    assert client.get(f"{SCHEDULES}/{schedule['id']}", **headers).status_code == 404


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"cron": "daily"}, "cron"),
        ({"timezone": "Mars"}, "timezone"),
        ({"kind": "none"}, "kind"),
        ({"at": 1}, "at"),
        ({"enabled": "no"}, "enabled"),
        ({"options": {"includeArchives": 0}}, "options.includeArchives"),
    ],
)
def test_a_schedule_that_cannot_be_honoured_is_refused_with_its_field(
    client: Client, consolidating: Counting, given: dict[str, Any], field: str
) -> None:
    body = {"kind": "consolidate", "memoryRef": "notes", "cron": "0 3 * * *", **given}
    refused = send(client, "PUT", SCHEDULES, body, **building.headers())
    assert refused.status_code == 400
    assert [error["field"] for error in refused.json()["details"]["errors"]] == [field]
