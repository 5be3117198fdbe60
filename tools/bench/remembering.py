"""Entries of RFC-0015 in bulk: of an agent, in working memory, with tags of every rarity."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from itertools import islice
from typing import Any

from django.db import connection, transaction
from django.utils import timezone

from memory.addresses import canonical
from memory.host import ids, sql
from memory.host.models import Run
from tools.bench import ground

ADDRESSES = (
    "tenant_id, id, tier, agent_id, namespace, key, version, task_id, intent_id, pinned, priority, sensitivity, ttl, "
    "created_by, curated_by, created_at, updated_at, accessed_at, size, hidden"
)
TAGS = "tenant_id, id, tag"
CHUNK = 20_000
# A tag of every entry, of every second, of every hundredth and of the oldest ones alone.
COMMON, HALF, RARE, OLDEST = "invoice", "paid", "disputed", "first"
FIRST = RARITY = 100


def entries(agent_id: str, size: int) -> Iterator[dict[str, Any]]:
    """So many entries as a client would send them, the oldest first."""
    return (entry(agent_id, number) for number in range(size))


def entry(agent_id: str, number: int) -> dict[str, Any]:
    """The entry of that number."""
    marks = [HALF] * (number % 2 == 0) + [RARE] * (number % RARITY == 0) + [OLDEST] * (number < FIRST)
    return {
        "agent_id": agent_id,
        "namespace": "invoices",
        "key": f"order-{number}",
        "value": {"number": number, "text": ground.TEXT.format(number=number)},
        "memory_type": "working",
        "tags": [COMMON, *marks],
    }


def fill(run: Run, agent_id: str, size: int) -> str:
    """They are remembered, put there in bulk behind the ledger's back; the wire id of the middle one."""
    began, waiting, number, middle = timezone.now() - timedelta(days=1), entries(agent_id, size), 0, ""
    while chunk := list(islice(waiting, CHUNK)):
        rows = [_rows(run, given, number + place, began) for place, given in enumerate(chunk)]
        number += len(chunk)
        with transaction.atomic(), connection.cursor() as cursor:
            for table, columns, part in (
                (ground.ENTRIES, ground.COLUMNS, [entry for entry, _, _ in rows]),
                ("memory_entryaddress", ADDRESSES, [address for _, address, _ in rows]),
                ("memory_entrytag", TAGS, [tag for _, _, tags in rows for tag in tags]),
            ):
                ground.put(cursor, table, columns, part)
        middle = rows[len(rows) // 2][0][1]
    if sql.is_postgres():  # which does so by itself, but later
        with connection.cursor() as cursor:
            cursor.execute("VACUUM ANALYZE")
    return ids.wire("mem", sql.as_uuid(middle))


def _rows(run: Run, given: dict[str, Any], number: int, began: datetime) -> tuple[list[Any], list[Any], list[Any]]:
    """The rows of one entry, as the ledger would have stored them."""
    at, agent, value = began + timedelta(milliseconds=number), given["agent_id"], given["value"]
    entry = ground.row(run, f"openintent/working/{agent}/-", number, at)
    entry[3:6] = [canonical(value), canonical(value).casefold(), sql.document(given["tags"])]
    entry[10] = agent
    tenant, key, moment = entry[0], entry[1], sql.time_parameter(at)
    place = [tenant, key, "working", agent, given["namespace"], given["key"], 1, "", "", False, 1, "", "", agent, ""]
    return entry, [*place, moment, moment, moment, 120, False], [[tenant, key, tag] for tag in given["tags"]]
