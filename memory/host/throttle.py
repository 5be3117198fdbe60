"""Throttles costly operations that may fail: a few tries at once, then one after each wait.

A try is counted before it is made and taken back when it succeeds, under the locks of its rows, so concurrent tries get
no more than sequential ones. The rows hold keyed hashes and expire a quarter of an hour after their last try.
"""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import F
from django.utils.crypto import salted_hmac

from memory.host.expiry import SKEW
from memory.host.models import Throttle

WRITER = "memory.host.throttle"
LONGEST = timedelta(seconds=30)
KEPT = timedelta(minutes=15)


@dataclass(frozen=True, slots=True)
class Bucket:
    """A counter of tries; after ``free`` failures each further one waits 1 s, doubling to 30 s."""

    key: str
    free: int


def bucket(*words: str, free: int) -> Bucket:
    """Return the bucket of these words, of which only a keyed hash is stored."""
    return Bucket(salted_hmac("openwop.throttle", "\0".join(words), algorithm="sha256").hexdigest(), free)


@transaction.atomic
def reserve(buckets: Collection[Bucket], *, now: datetime) -> timedelta:
    """Count a try and return zero when it may be made; otherwise return the wait, and count nothing."""
    rows = Throttle.objects.written_by(WRITER)
    keys = [each.key for each in buckets]
    if wait := _wait(rows.filter(key__in=keys), now):  # a refused try leaves no row, so names cannot fill the table
        return wait
    fresh = [Throttle(key=each.key, failures=0, next_at=now, forget_at=now + KEPT) for each in buckets]
    rows.bulk_create(sorted(fresh, key=lambda row: row.key), ignore_conflicts=True)
    free = {each.key: each.free for each in buckets}
    found = list(Throttle.objects.select_for_update().filter(key__in=free).order_by("key"))
    if wait := _wait(found, now):
        return wait
    for row in found:
        row.failures = row.failures + 1 if _counts(row, now) else 1
        over = row.failures - free[row.key]
        row.next_at = now if over < 0 else now + min(timedelta(seconds=2 ** min(over, 5)), LONGEST)
        row.forget_at = now + KEPT
        row.save(by=WRITER, update_fields=["failures", "next_at", "forget_at"])
    return timedelta()


def _wait(rows: Iterable[Throttle], now: datetime) -> timedelta:
    waits = (row.next_at - now for row in rows if _counts(row, now) and row.next_at > now)
    return max(waits, default=timedelta())


def _counts(row: Throttle, now: datetime) -> bool:
    """Whether the row has not expired; one that does so later than any can was written while the clock was ahead."""
    return now < row.forget_at <= now + KEPT + SKEW


@transaction.atomic
def succeeded(own: Bucket, *shared: Bucket) -> None:
    """Take the counted try back: ``own`` is reset, each of ``shared`` loses one failure."""
    rows = Throttle.objects.written_by(WRITER)
    if shared:
        rows.filter(key__in=[each.key for each in shared], failures__gt=0).update(failures=F("failures") - 1)
    rows.filter(key=own.key).delete()


def purge(*, now: datetime) -> int:
    """Delete expired rows and return the number."""
    gone: int = Throttle.objects.written_by(WRITER).filter(forget_at__lte=now).delete()[0]
    return gone
