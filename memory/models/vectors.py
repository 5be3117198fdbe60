"""How far the vectors of a tenant's entries are, and whether the database has pgvector; their form is in
``vector_signs``, without which most commands do."""

from functools import cache

from django.db import models

from memory.host import sql
from memory.host.models import TenantOwned
from memory.host.models.base import CODE, DIGEST


class VectorSpace(TenantOwned):
    """The vectors of a tenant: of which endpoint and model (``source``), of which dimension, and of the entries up to
    which ``position``. One row per tenant, with the tenant's own id; it exists from before the first vector to the
    last.

    Until ``next_at`` no worker requests more: one is under way, or the endpoint failed ``failures`` times in a row, for
    ``reason``.
    """

    writer = "memory.ledger"
    impersonal = {"source": DIGEST, "reason": CODE}

    source = models.CharField(max_length=64)
    dimension = models.PositiveIntegerField(default=0)
    position = models.BigIntegerField(default=-1)
    next_at = models.DateTimeField()
    failures = models.PositiveIntegerField(default=0)
    reason = models.CharField(max_length=16, default="", blank=True)


@cache
def has_pgvector() -> bool:
    """Whether the tables of vectors were made with pgvector; a process has one database for as long as it lives."""
    return sql.is_postgres() and sql.column_type("memory_vectorsign", "signs") == "bit"
