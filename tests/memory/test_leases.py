"""Leases: one holder at a time, taken over when its time is up, and nothing written by one that was overtaken."""

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest
from django.db import connection

from memory import commitments, passes
from memory.commitments import lifecycle
from memory.host import heartbeats, idempotency_keys, runs
from memory.host.heartbeats import HeartbeatOrder
from memory.host.leases import Lease
from memory.passes import PassOrder
from tests import building

pytestmark = pytest.mark.django_db
NOW = datetime(2026, 3, 2, 12, 0, tzinfo=UTC)
MOMENT = timedelta(milliseconds=1)
LEASES: dict[str, Lease[Any]] = {
    "run": runs.LEASE,
    "pass": passes.LEASE,
    "heartbeat": heartbeats.LEASE,
    "commitments": lifecycle.LEASE,
    "request": idempotency_keys.LEASE,
}


def free_row(kind: str) -> tuple[UUID, UUID]:
    """A row of the table that is free at ``NOW``, by its key."""
    acme = building.scope()
    tenant_id, before = acme.tenant_id, NOW - timedelta(hours=1)
    if kind == "run":
        return tenant_id, building.execute(acme, "conformance-noop").id
    if kind == "pass":
        return tenant_id, passes.request(tenant_id, PassOrder("compact", "w", "test"), now=NOW).id
    if kind == "heartbeat":
        return tenant_id, heartbeats.create_heartbeat(tenant_id, HeartbeatOrder("beat", "usr", 60, {}), now=NOW).id
    if kind == "commitments":
        commitments.lifecycle.lease_watch(tenant_id, "old/1", now=before)
        return tenant_id, tenant_id
    asked = idempotency_keys.request_of(tenant_id, "usr", key="k", method="POST", path="/v1/runs", query="", body=b"")
    claimed = idempotency_keys.claim(asked, now=before)
    assert isinstance(claimed, idempotency_keys.KeyClaim)
    return tenant_id, claimed.record_id


@pytest.mark.parametrize("kind", LEASES)
def test_a_row_has_one_holder_until_its_lease_ends_and_is_then_taken_over(kind: str) -> None:
    row, lease = free_row(kind), LEASES[kind]
    assert lease.claim(*row, holder="a/1", now=NOW)
    assert not lease.claim(*row, holder="b/1", now=lease.end(NOW) - MOMENT)
    assert lease.renew(*row, holder="a/1", now=lease.end(NOW) - MOMENT)
    assert not lease.claim(*row, holder="b/1", now=lease.end(NOW))
    assert lease.claim(*row, holder="b/1", now=lease.end(lease.end(NOW)))


@pytest.mark.parametrize("kind", LEASES)
def test_a_holder_that_was_overtaken_writes_nothing_any_more(kind: str) -> None:
    row, lease = free_row(kind), LEASES[kind]
    assert lease.claim(*row, holder="a/1", now=NOW)
    assert lease.claim(*row, holder="b/1", now=lease.end(NOW))
    assert not lease.renew(*row, holder="a/1", now=lease.end(NOW))
    assert not lease.while_held(*row, holder="a/1").exists()
    assert lease.while_held(*row, holder="b/1").exists()


@pytest.mark.parametrize("kind", LEASES)
def test_the_rows_of_a_dead_instance_are_free_at_once_and_no_others(kind: str) -> None:
    row, lease = free_row(kind), LEASES[kind]
    assert lease.claim(*row, holder="instance-a/7", now=NOW)
    assert lease.release_held_by("instance", now=NOW) == lease.release_held_by("instance-b", now=NOW) == 0
    assert lease.release_held_by("instance-a", now=NOW) == 1
    assert not lease.renew(*row, holder="instance-a/7", now=NOW)
    assert lease.claim(*row, holder="instance-b/1", now=NOW)


@pytest.mark.engines
@pytest.mark.parametrize("kind", LEASES)
@pytest.mark.django_db(transaction=True)
def test_of_ten_who_claim_at_once_one_has_the_row(kind: str) -> None:
    row, lease = free_row(kind), LEASES[kind]

    def claim(number: int) -> bool:
        try:
            return lease.claim(*row, holder=f"worker/{number}", now=NOW)
        finally:
            connection.close()

    with ThreadPoolExecutor(10) as pool:
        assert sum(pool.map(claim, range(10))) == 1
