"""Schedules: when they tick, that each tick is one run, what an outage leaves, and who may ask for them (RFC 0052)."""

import json
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from itertools import islice
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from django.db import connection, transaction
from django.test import Client
from django.utils import timezone

from memory.forget import execution
from memory.host import access, api_keys, audit, cron, ids, scheduling, tenancy, vault
from memory.host.errors import Conflict, Forbidden, Invalid, NotFound, ScheduleHorizonExceeded
from memory.host.models import ApiKey, RoleGrant, Run, Schedule, ScheduleTick
from memory.host.scheduling import ScheduleOrder
from memory.host.tenancy import TenantScope
from openwop_console.process import scheduler
from openwop_console.runtime import schedules
from tests import building

pytestmark = pytest.mark.django_db
NOW = datetime(2026, 3, 2, 12, 0, 30, tzinfo=UTC)
URL = "/v1/host/console/schedules"
EVERY_MINUTE = {"cron": "* * * * *"}


def make(owner: TenantScope, name: str = "nightly", *, now: datetime = NOW, **given: Any) -> Schedule:
    time = {} if given.keys() & {"cron", "at"} else EVERY_MINUTE
    order = {"workflow_id": "conformance-noop", "principal": owner.principal.id, **time, **given}
    return schedules.create(owner, ScheduleOrder(name=name, **order), now=now)


def minutes(count: float) -> datetime:
    """The middle of the minute ``count`` minutes from now."""
    return NOW + timedelta(minutes=count)


def outcomes(schedule: Schedule) -> list[tuple[str, int]]:
    """The minute of each tick, oldest first, and how many were missed before it."""
    rows = ScheduleTick.objects.of(schedule.tenant_id).filter(schedule_id=schedule.id).order_by("tick_at")
    return [(row.tick_at.strftime("%H:%M"), row.missed) for row in rows]


# --- when it ticks ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("expression", "zone", "after", "expected"),
    [
        # Autumn: the hour comes twice, the tick once.
        ("30 2 * * *", "Europe/Berlin", "2026-10-24T12:00", ["2026-10-25T02:30+02:00", "2026-10-26T02:30+01:00"]),
        ("30 1 * * *", "America/New_York", "2026-10-31T12:00", ["2026-11-01T01:30-04:00", "2026-11-02T01:30-05:00"]),
        ("0,30 2 * * *", "Europe/Berlin", "2026-10-25T00:15", ["2026-10-25T02:30+02:00", "2026-10-26T02:00+01:00"]),
        ("50 2 * * *", "Europe/Berlin", "2026-10-25T01:40", ["2026-10-26T02:50+01:00", "2026-10-27T02:50+01:00"]),
        # Spring: the hour is jumped over, the tick comes at the jump, once.
        ("30 2 * * *", "Europe/Berlin", "2026-03-28T12:00", ["2026-03-29T03:00+02:00", "2026-03-30T02:30+02:00"]),
        ("30 2 * * *", "America/New_York", "2026-03-07T12:00", ["2026-03-08T03:00-04:00", "2026-03-09T02:30-04:00"]),
        # A clock that jumps by half an hour.
        ("15 2 * * *", "Australia/Lord_Howe", "2026-10-03T12:00", ["2026-10-04T02:30+11:00", "2026-10-05T02:15+11:00"]),
        # Days that are not in every year or month.
        ("0 0 29 2 *", "UTC", "2026-03-01T00:00", ["2028-02-29T00:00+00:00", "2032-02-29T00:00+00:00"]),
        ("0 9 31 * *", "Asia/Tokyo", "2026-03-31T12:00", ["2026-05-31T09:00+09:00", "2026-07-31T09:00+09:00"]),
    ],
)
def test_a_fixed_time_ticks_once_whatever_the_clock_does(
    expression: str, zone: str, after: str, expected: list[str]
) -> None:
    found = islice(cron.ticks_after(expression, zone, datetime.fromisoformat(f"{after}+00:00")), 2)
    assert [tick.astimezone(ZoneInfo(zone)).isoformat(timespec="minutes") for tick in found] == expected


@pytest.mark.parametrize(
    ("expression", "after", "expected"),
    [
        ("*/30 * * * *", "2026-10-25T00:15", ["02:30+0200", "02:00+0100", "02:30+0100", "03:00+0100"]),
        ("0 * * * *", "2026-10-24T23:30", ["02:00+0200", "02:00+0100", "03:00+0100", "04:00+0100"]),
        ("*/30 2 * * *", "2026-10-24T12:00", ["02:00+0200", "02:30+0200", "02:00+0100", "02:30+0100"]),
        ("*/20 * * * *", "2026-03-29T00:30", ["01:40+0100", "03:00+0200", "03:20+0200", "03:40+0200"]),
        ("0 */2 * * *", "2026-03-28T22:30", ["00:00+0100", "04:00+0200", "06:00+0200", "08:00+0200"]),
    ],
)
def test_a_wildcard_ticks_whenever_the_clock_shows_a_time_that_matches(
    expression: str, after: str, expected: list[str]
) -> None:
    berlin = "Europe/Berlin"
    found = islice(cron.ticks_after(expression, berlin, datetime.fromisoformat(f"{after}+00:00")), 4)
    assert [tick.astimezone(ZoneInfo(berlin)).strftime("%H:%M%z") for tick in found] == expected


@pytest.mark.parametrize(
    ("wall", "expected"),
    [("2026-03-29T02:30", "03:00+0200"), ("2026-03-29T01:59", "01:59+0100"), ("2026-10-25T02:30", "02:30+0200")],
)
def test_a_time_that_clocks_skip_is_when_they_go_on_and_one_that_comes_twice_is_the_first(
    wall: str, expected: str
) -> None:
    found = cron.instant_of(datetime.fromisoformat(wall), "Europe/Berlin")
    assert found.astimezone(ZoneInfo("Europe/Berlin")).strftime("%H:%M%z") == expected


def test_a_day_that_no_month_has_never_ticks_and_is_told_from_a_mistake() -> None:
    assert cron.problem_of("0 0 30 2 *") == ""
    assert cron.next_after("0 0 30 2 *", "UTC", NOW) is None
    assert cron.problem_of("0 0 1 13 *") != ""


@pytest.mark.parametrize(
    ("zone", "first", "now", "last", "missed", "following"),
    [
        ("UTC", "2026-03-02T12:01", "2026-03-02T12:05:30", "2026-03-02T12:05", 4, "2026-03-02T12:06"),
        ("UTC", "2026-03-02T12:01", "2027-03-02T12:05:30", "2027-03-02T12:05", 1000, "2027-03-02T12:06"),
        # In the hour that comes again time goes on.
        ("Europe/Berlin", "2026-10-25T00:00", "2026-10-25T01:30:00", "2026-10-25T01:30", 90, "2026-10-25T01:31"),
    ],
)
def test_after_an_outage_the_latest_tick_stands_for_all(
    zone: str, first: str, now: str, last: str, missed: int, following: str
) -> None:
    instants = [datetime.fromisoformat(f"{text}+00:00") for text in (first, now, last, following)]
    found = cron.due("* * * * *", zone, instants[0], instants[1])
    assert (found.tick_at, found.missed, found.next_at) == (instants[2], missed, instants[3])


# --- firing -----------------------------------------------------------------------------------------------------------


@pytest.mark.engines
def test_a_tick_is_one_run_that_acts_as_its_maker_however_often_one_looks() -> None:
    acme = building.scope()
    schedule = make(acme, inputs={"greeting": "hello"})
    assert scheduler.Scheduler().tick(NOW) == schedules.fire_due(minutes(0.25)) == 0
    assert [schedules.fire(acme.tenant_id, schedule.id, now=minutes(1)) for _ in range(3)] == [True, False, False]
    run = Run.objects.of(acme.tenant_id).get()
    assert (run.principal, run.workflow_id, run.inputs) == (
        acme.principal.id,
        "conformance-noop",
        {"greeting": "hello"},
    )
    assert run.metadata == {"origin": {"schedule": "nightly", "tickAt": "2026-03-02T12:01:00.000Z"}}
    tick = ScheduleTick.objects.of(acme.tenant_id).get()
    assert (tick.run_id, tick.code, tick.missed) == (run.id, "", 0)


def test_of_a_cron_expression_each_second_tick_may_be_meant_in_step_with_the_first() -> None:
    first = datetime(2026, 11, 27, 9, tzinfo=UTC)
    assert cron.next_after("0 9 * * 5", "UTC", first, every=2) == first + timedelta(days=14)
    late = cron.due("0 9 * * 5", "UTC", first, first + timedelta(days=30), every=2)
    assert (late.tick_at, late.missed, late.next_at) == (first + timedelta(days=28), 2, first + timedelta(days=42))
    early = cron.due("0 9 * * 5", "UTC", first, first + timedelta(days=7), every=2)
    assert (early.tick_at, early.missed) == (first, 0)


def test_the_clock_of_the_console_fires_what_is_due_of_every_tenant() -> None:
    for slug in ("acme", "globex"):
        make(building.scope(slug))
    scheduler.Scheduler().tick(minutes(1))
    assert [Run.objects.of(building.tenant(slug).id).count() for slug in ("acme", "globex")] == [1, 1]


@pytest.mark.parametrize(
    ("policy", "at", "expected", "runs"),
    [
        ("fire-once", 5, [("12:05", 4)], 1),
        ("skip", 5, [("12:05", 4)], 1),  # the latest tick is on time; those before it are not made up for
    ],
)
def test_an_outage_is_one_run_at_most(policy: str, at: float, expected: list[tuple[str, int]], runs: int) -> None:
    acme = building.scope()
    schedule = make(acme, missed=policy)
    for late in (at, at + 0.1, at + 0.2):
        schedules.fire_due(minutes(late))
    assert outcomes(schedule) == expected
    assert Run.objects.of(acme.tenant_id).count() == runs


@pytest.mark.parametrize(("policy", "runs", "code"), [("fire-once", 1, ""), ("skip", 0, "skipped")])
def test_a_tick_that_was_missed_is_caught_up_with_once_or_skipped(policy: str, runs: int, code: str) -> None:
    acme = building.scope()
    schedule = make(acme, cron="0 13 * * *", missed=policy)
    schedules.fire_due(NOW + timedelta(days=3))
    tick = ScheduleTick.objects.of(acme.tenant_id).get()
    assert (tick.tick_at, tick.fired_at) == (datetime(2026, 3, 4, 13, tzinfo=UTC), NOW + timedelta(days=3))
    assert (tick.code, tick.missed, Run.objects.of(acme.tenant_id).count()) == (code, 2, runs)
    assert scheduling.find(acme.tenant_id, schedule.name).next_at == datetime(2026, 3, 5, 13, tzinfo=UTC)


@pytest.mark.parametrize(("late", "policy", "runs"), [(0, "skip", 1), (600, "fire-once", 1), (600, "skip", 0)])
def test_a_one_shot_is_over_after_its_tick(late: int, policy: str, runs: int) -> None:
    acme = building.scope()
    schedule = make(acme, at=minutes(3), missed=policy)
    for _ in range(3):
        schedules.fire_due(minutes(3) + timedelta(seconds=late))
    fresh = scheduling.find(acme.tenant_id, schedule.name)
    assert (fresh.next_at, Run.objects.of(acme.tenant_id).count()) == (None, runs)
    assert ScheduleTick.objects.of(acme.tenant_id).count() == 1


def _revoked(owner: TenantScope) -> None:
    key_id = ids.parse("key", owner.principal.id)
    assert key_id
    api_keys.revoke_api_key(owner.tenant_id, key_id, now=NOW)


def _expired(owner: TenantScope) -> None:
    rows = ApiKey.objects.written_by(api_keys.WRITER).filter(id=building.id_of("key", owner.principal.id))
    rows.update(expires_at=NOW)


def _without_role(owner: TenantScope) -> None:
    RoleGrant.objects.written_by(access.WRITER).filter(principal=owner.principal.id).delete()


@pytest.mark.engines
@pytest.mark.parametrize(
    ("loses", "code"), [(_revoked, "key_revoked"), (_expired, "key_expired"), (_without_role, "forbidden")]
)
def test_a_maker_who_may_not_any_more_starts_nothing_and_stops_nobody(loses: Any, code: str) -> None:
    acme, other = building.scope(), building.scope()
    schedule = make(acme)
    make(other, "other")
    loses(acme)
    assert schedules.fire_due(minutes(1)) == 1
    [tick] = scheduling.ticks_of(schedule, size=10).rows
    assert (tick.run_id, tick.code) == (None, code)
    assert Run.objects.of(acme.tenant_id).get().principal == other.principal.id


@pytest.mark.engines
def test_an_operator_who_was_locked_out_starts_nothing() -> None:
    operator = building.operator()
    acme = tenancy.tenant_scope(tenancy.operator_principal(operator))
    schedule = make(acme)
    assert schedules.fire_due(minutes(1)) == 1
    building.deactivate(operator)
    assert schedules.fire_due(minutes(2)) == 0
    assert [tick.code for tick in scheduling.ticks_of(schedule, size=10).rows] == ["unauthenticated", ""]


def test_a_workflow_that_asks_for_more_by_now_is_refused_on_record() -> None:
    acme = building.scope()
    building.install("acme", building.definition("flow", building.node("a", "core.noop")))
    schedule = make(acme, workflow_id="flow")
    needs = [{"name": "who", "type": "string", "required": True}]
    building.install(
        "acme", building.definition("flow", building.node("a", "core.noop"), variables=needs, version="2.0.0")
    )
    assert schedules.fire_due(minutes(1)) == 0
    assert [tick.code for tick in scheduling.ticks_of(schedule, size=10).rows] == ["validation_error"]


def _spoiled(schedule: Schedule, **values: Any) -> None:
    Schedule.objects.written_by(scheduling.WRITER).filter(id=schedule.id).update(**values)


@pytest.mark.engines
@pytest.mark.parametrize(
    ("spoil", "next_at"),
    [
        ({"cron": "not a cron"}, None),
        ({"timezone": "Mars/Olympus"}, None),
        ({"inputs": ["not an object"]}, datetime(2026, 3, 2, 12, 2, tzinfo=UTC)),
    ],
)
def test_a_bad_row_is_on_record_and_the_others_go_on(spoil: dict[str, Any], next_at: datetime | None) -> None:
    acme = building.scope()
    bad = make(acme, "bad")
    make(acme, "good")
    _spoiled(bad, **spoil)
    assert schedules.fire_due(minutes(1)) == 1
    assert schedules.fire_due(minutes(1)) == 0
    assert [tick.code for tick in scheduling.ticks_of(bad, size=10).rows] == ["internal_error"]
    assert scheduling.find(acme.tenant_id, "bad").next_at == next_at


@pytest.mark.engines
def test_a_schedule_set_back_to_a_tick_that_fired_does_not_fire_it_again() -> None:
    acme = building.scope()
    schedule = make(acme)
    schedules.fire_due(minutes(1))
    _spoiled(schedule, next_at=minutes(1).replace(second=0))
    assert schedules.fire_due(minutes(1.1)) == 0
    assert Run.objects.of(acme.tenant_id).count() == 1
    assert scheduling.find(acme.tenant_id, "nightly").next_at == minutes(2).replace(second=0)


@pytest.mark.engines
@pytest.mark.django_db(transaction=True)
def test_ten_who_look_at_once_make_one_run() -> None:
    acme = building.scope()
    made = [make(acme, f"s{number}") for number in range(4)]

    def look(number: int) -> int:
        try:
            return schedules.fire_due(minutes(1))
        finally:
            connection.close()

    with ThreadPoolExecutor(10) as pool:
        list(pool.map(look, range(10)))
    assert Run.objects.of(acme.tenant_id).count() == 4
    assert [outcomes(schedule) for schedule in made] == [[("12:01", 0)]] * 4


@pytest.mark.engines
def test_a_firing_that_dies_leaves_nothing_and_is_made_again() -> None:
    acme = building.scope()
    schedule = make(acme)
    with pytest.raises(RuntimeError), transaction.atomic():
        assert schedules.fire(acme.tenant_id, schedule.id, now=minutes(1))
        raise RuntimeError("the process died before the commit")
    assert Run.objects.of(acme.tenant_id).count() == ScheduleTick.objects.of(acme.tenant_id).count() == 0
    assert schedules.fire(acme.tenant_id, schedule.id, now=minutes(1))


# --- asking for schedules ---------------------------------------------------------------------------------------------

IN_91_DAYS = {"at": (timezone.now() + timedelta(days=91)).isoformat()}
NOT_BEFORE_A_YEAR = {"cron": f"0 0 {(timezone.now() - timedelta(days=2)).strftime('%d %m')} *"}


def body(**given: Any) -> dict[str, Any]:
    time = {} if given.keys() & {"cron", "at"} else {"cron": "0 3 * * *", "timezone": "Europe/Berlin"}
    whole = {"name": "nightly", "workflowId": "conformance-noop", **time, **given}
    return {name: value for name, value in whole.items() if value is not ...}


def post(client: Client, document: Any, **headers: Any) -> Any:
    return client.post(URL, json.dumps(document), content_type="application/json", **headers)


def test_a_body_that_cannot_be_honoured_is_refused_with_its_field(client: Client) -> None:
    caller = building.headers()
    for given, field in (
        ({"cron": "* * * *"}, "cron"),
        ({"cron": "61 * * * *"}, "cron"),
        ({"cron": "* * * * * *"}, "cron"),
        ({"cron": "@daily"}, "cron"),
        ({"cron": "R * * * *"}, "cron"),
        ({"cron": "0 0 31 2 *"}, "cron"),
        ({"cron": 5}, "cron"),
        ({"cron": "* * * * *", "timezone": "Europe/Atlantis"}, "timezone"),
        ({"cron": "* * * * *", "timezone": "../../etc/passwd"}, "timezone"),
        ({"cron": "* * * * *", "at": "2999-01-01T00:00:00Z"}, "cron"),
        ({"cron": ...}, "cron"),
        ({"at": "2020-01-01T00:00:00Z"}, "at"),
        ({"at": "2999-01-01T00:00:00"}, "at"),
        ({"at": "tomorrow"}, "at"),
        ({"at": (timezone.now() + timedelta(days=30)).strftime("%Y%m%dT%H%M%SZ")}, "at"),
        ({"at": (timezone.now() + timedelta(days=30)).strftime("%G-W%V-%uT%H:%M:%SZ")}, "at"),
        ({"workflowId": "nobody-has-this"}, "workflowId"),
        ({"workflowId": ...}, "workflowId"),
        ({"missedFirePolicy": "fire-all"}, "missedFirePolicy"),
        ({"name": "a/b"}, "name"),
        ({"name": ""}, "name"),
        ({"name": "x" * 129}, "name"),
        ({"inputs": []}, "inputs"),
        ({"enabled": "perhaps"}, "enabled"),
        ({"priority": 1}, "priority"),
    ):
        refused = post(client, body(**given), **caller)
        assert (refused.status_code, refused.json()["error"]) == (400, "validation_error"), (given, field)
        assert field in {error["field"] for error in refused.json()["details"]["errors"]}, (given, field)
        assert Schedule.objects.count() == 0, (given, field)


def test_why_the_backlog_is_never_fired_is_said(client: Client) -> None:
    refused = post(client, body(missedFirePolicy="fire-all"), **building.headers())
    assert "never the backlog" in refused.json()["details"]["errors"][0]["message"]


@pytest.mark.parametrize("given", [IN_91_DAYS, NOT_BEFORE_A_YEAR])
def test_what_lies_beyond_the_horizon_is_refused_with_it(client: Client, given: dict[str, Any]) -> None:
    refused = post(client, body(**given), **building.headers())
    assert (refused.status_code, refused.json()["error"]) == (400, "schedule_horizon_exceeded")
    assert refused.json()["details"]["maxFutureHorizon"] == "P90D"


@pytest.mark.engines
def test_a_schedule_is_made_read_changed_and_removed(client: Client) -> None:
    owner = building.headers()
    made = post(client, body(inputs={"a": 1}), **owner)
    assert made.status_code == 201, made.content
    assert made.json()["nextTick"] == made.json()["nextTicks"][0]
    assert len(made.json()["nextTicks"]) == 5
    assert client.get(f"{URL}/nightly", **owner).json() == made.json()
    assert post(client, body(), **owner).status_code == 409

    def patch(**changes: Any) -> Any:
        text = json.dumps(changes)
        return client.patch(f"{URL}/nightly", text, content_type="application/json", **owner)

    assert patch(enabled=False).json()["nextTick"] is None
    assert patch(enabled=True).json()["nextTick"] == made.json()["nextTick"]
    at = (timezone.now() + timedelta(days=1)).replace(microsecond=0)
    once = patch(at=at.isoformat()).json()
    assert ("cron" in once, once["nextTicks"]) == (False, [once["at"]])
    assert patch(cron="*/5 * * * *").json().get("at") is None
    assert patch(cron="nonsense").status_code == patch(name="other").status_code == 400
    assert client.delete(f"{URL}/nightly", **owner).status_code == 204
    assert client.get(f"{URL}/nightly", **owner).status_code == 404
    acts = [row.action for row in audit.newest(building.tenant().id) if row.action.startswith("schedule.")]
    assert set(acts) == {"schedule.created", "schedule.changed", "schedule.removed"}


def test_a_change_of_what_is_run_leaves_the_next_tick_and_takes_over_the_acting() -> None:
    acme, other = building.scope(), building.scope()
    before = make(acme)
    changed = schedules.change(other, before.name, {"inputs": {"a": 1}}, now=minutes(2))
    assert (changed.next_at, changed.principal) == (before.next_at, other.principal.id)
    switched = schedules.change(acme, before.name, {"enabled": False}, now=minutes(2))
    assert switched.principal == other.principal.id


@pytest.mark.engines
def test_lists_go_by_name_page_by_page_and_ticks_backwards(client: Client) -> None:
    acme, owner = building.scope(), building.headers()
    for name in "dbac":
        make(acme, name)
    first = client.get(URL, {"limit": 3}, **owner).json()
    rest = client.get(URL, {"limit": 3, "after": first["next"]}, **owner).json()
    assert [[row["name"] for row in page["schedules"]] for page in (first, rest)] == [["a", "b", "c"], ["d"]]
    assert (first["total"], rest["total"], rest["next"]) == (4, 4, None)

    for minute in (1, 2, 3):
        schedules.fire_due(minutes(minute))
    first = client.get(f"{URL}/a/ticks", {"limit": 2}, **owner).json()
    rest = client.get(f"{URL}/a/ticks", {"limit": 2, "before": first["next"]}, **owner).json()
    shown = [tick["tickAt"][11:16] for tick in first["ticks"] + rest["ticks"]]
    assert (shown, first["total"], rest["next"]) == (["12:03", "12:02", "12:01"], 3, None)
    assert {tick["outcome"] for tick in first["ticks"]} == {"fired"}
    run_id = first["ticks"][0]["runId"]
    assert client.get(f"/v1/runs/{run_id}", **owner).json()["workflowId"] == "conformance-noop"


@pytest.mark.parametrize(
    ("role", "reads", "makes"), [("viewer", 200, 403), ("author", 200, 403), ("auditor", 403, 403)]
)
def test_who_may_read_and_who_may_make(client: Client, role: str, reads: int, makes: int) -> None:
    headers = building.headers(role=role)
    assert client.get(URL, **headers).status_code == reads
    refused = post(client, body(), **headers)
    assert (refused.status_code, refused.json()["details"]["requiredScope"]) == (makes, "schedules:manage")
    assert client.get(URL).status_code == 401


def test_who_may_not_start_a_run_may_not_have_it_started(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(access.ROLES, "operator", access.OPERATES - {"runs:create"})
    with pytest.raises(Forbidden) as refused:
        make(building.scope(role="operator"))
    assert refused.value.details == {"requiredScope": "runs:create"}
    with pytest.raises(Forbidden):
        make(building.scope(agents=("acme.writer",)), agent_id="acme.other")


def test_another_tenant_s_schedules_are_nowhere(client: Client) -> None:
    schedule = make(building.scope())
    globex = building.headers("globex")
    for path in ("nightly", "nightly/ticks"):
        foreign = client.get(f"{URL}/{path}", **globex)
        assert (foreign.status_code, foreign.json()) == (404, client.get(f"{URL}/none", **globex).json())
    assert client.delete(f"{URL}/nightly", **globex).status_code == 404
    assert client.get(URL, **globex).json() == {"schedules": [], "total": 0, "next": None}
    assert not schedules.fire(building.tenant("globex").id, schedule.id, now=minutes(1))


def test_a_secret_is_not_kept_in_a_schedule() -> None:
    acme = building.scope()
    vault.store_secret(acme.tenant_id, "api-token", "s3cret-value-of-acme", now=NOW)
    schedule = make(acme, inputs={"header": "Bearer s3cret-value-of-acme"})
    assert schedule.inputs == {"header": "Bearer [REDACTED:api-token]"}
    with pytest.raises(Invalid):
        make(acme, "s3cret-value-of-acme")


# --- the triggers of workflows ----------------------------------------------------------------------------------------


def with_triggers(*triggers: dict[str, Any], version: str = "1.0.0", **given: Any) -> dict[str, Any]:
    document = building.definition("flow", building.node("a", "core.noop"), version=version, **given)
    return document | {"triggers": [{"id": "manual", "type": "manual"}, *triggers]}


def daily(trigger_id: str = "daily", **config: Any) -> dict[str, Any]:
    settings = {"cron": "0 3 * * *", "timezone": "Europe/Berlin", "missedFirePolicy": "skip", **config}
    return {"id": trigger_id, "type": "schedule", "config": settings}


def names() -> list[str]:
    return [row.name for row in scheduling.page(building.tenant().id, size=100).rows]


def test_a_workflow_brings_its_schedules_changes_them_and_takes_them_away(client: Client) -> None:
    building.install("acme", with_triggers(daily("a"), daily("b")))
    assert names() == ["workflow/flow/a", "workflow/flow/b"]
    kept = scheduling.find(building.tenant().id, "workflow/flow/a")
    assert (kept.principal, kept.missed, kept.timezone) == ("host", "skip", "Europe/Berlin")
    assert kept.next_at
    assert schedules.fire(kept.tenant_id, kept.id, now=kept.next_at + timedelta(seconds=1))
    assert Run.objects.of(kept.tenant_id).get().workflow_id == "flow"

    building.install("acme", with_triggers(daily("a", cron="30 4 * * *"), version="2.0.0"))
    assert names() == ["workflow/flow/a"]
    assert scheduling.find(kept.tenant_id, "workflow/flow/a").id == kept.id
    owner = building.headers()
    shown = client.get(f"{URL}/workflow/flow/a", **owner).json()
    assert shown["cron"] == "30 4 * * *"
    assert client.get(f"{URL}/workflow/flow/a/ticks", **owner).json()["total"] == 1
    assert client.delete(f"{URL}/workflow/flow/a", **owner).status_code == 409

    building.install("acme", with_triggers(version="3.0.0"))
    assert names() == []


def test_a_workflow_s_schedule_is_switched_off_by_hand_and_not_changed() -> None:
    acme = building.scope()
    building.install("acme", with_triggers(daily("a")))
    off = schedules.change(acme, "workflow/flow/a", {"enabled": False}, now=NOW)
    assert (off.enabled, off.principal) == (False, "host")
    with pytest.raises(Conflict):
        schedules.change(acme, "workflow/flow/a", {"cron": "* * * * *"}, now=NOW)


def test_a_trigger_that_cannot_be_honoured_keeps_its_workflow_out() -> None:
    for trigger, field in (
        (daily(cron="never"), "$.triggers[1].config.cron"),
        (daily(cron="0 0 31 2 *"), "$.triggers[1].config.cron"),
        (daily(cron=None), "$.triggers[1].config.cron"),
        (daily(timezone="Mars/Olympus"), "$.triggers[1].config.timezone"),
        (daily(missedFirePolicy="fire-all"), "$.triggers[1].config.missedFirePolicy"),
        (daily(at="2030-01-01T00:00:00Z"), "$.triggers[1].config"),
        (daily("a b"), "$.triggers[1].id"),
        ({"id": "bare", "type": "schedule"}, "$.triggers[1].config.cron"),
    ):
        with pytest.raises(Invalid) as refused:
            building.install("acme", with_triggers(trigger))
        assert [error["field"] for error in refused.value.details["errors"]] == [field], (trigger, field)
        with pytest.raises(Invalid):
            make(building.scope(), workflow_id="flow")
        assert names() == [], (trigger, field)


def test_a_trigger_gives_the_inputs_that_its_workflow_requires() -> None:
    needs = [{"name": "who", "type": "string", "required": True}]
    with pytest.raises(Invalid) as refused:
        building.install("acme", with_triggers(daily(), variables=needs))
    assert refused.value.details["errors"][0]["field"] == "$.triggers[1].config.inputs.who"
    building.install("acme", with_triggers(daily(inputs={"who": "Ada"}), variables=needs))
    assert scheduling.find(building.tenant().id, "workflow/flow/daily").inputs == {"who": "Ada"}


def test_a_trigger_beyond_the_horizon_keeps_its_workflow_out() -> None:
    with pytest.raises(ScheduleHorizonExceeded):
        building.install("acme", with_triggers(daily(**NOT_BEFORE_A_YEAR)))


# --- forgetting -------------------------------------------------------------------------------------------------------


def test_a_forgotten_subject_is_in_no_schedule_any_more() -> None:
    acme = building.scope()
    make(acme, "marta.kowalska")
    make(acme, "list", inputs={"to": ["marta.kowalska", "ana"]})
    request = execution.preview(acme, ["marta.kowalska"], now=NOW).request
    execution.confirm(acme, request.id, typed="marta.kowalska", reason="asked", ticked=set(), now=NOW)
    execution.execute(acme.tenant_id, request.id, holder="test/1", now=NOW, clock=lambda: NOW)
    request.refresh_from_db()
    assert request.receipt is not None
    kept = {row.name: row for row in scheduling.page(acme.tenant_id, size=10).rows}
    assert kept["list"].inputs == {"to": ["[FORGOTTEN]", "ana"]}
    assert kept["list"].enabled
    [renamed] = kept.keys() - {"list"}
    assert renamed.startswith("forgotten-")
    assert not kept[renamed].enabled
    with pytest.raises(NotFound):
        scheduling.find(acme.tenant_id, "marta.kowalska")


@pytest.mark.parametrize(
    ("expression", "words"),
    [
        ("0 9 * * 1-5", "At 09:00 on Monday through Friday"),
        ("*/5 * * * *", "Every fifth minute of every hour"),
        ("0 9 * * 5#3", "At 09:00 on the third Friday of the month"),
        ("0 22 * * 7", "At 22:00 on Sunday"),
        ("no expression at all", "no expression at all"),
        ("", ""),
    ],
)
def test_a_cron_expression_is_said_in_words_or_stays_itself(expression: str, words: str) -> None:
    assert cron.in_words(expression) == words
