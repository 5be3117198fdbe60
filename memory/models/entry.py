"""Memory entries, their tags, the head that numbers changes, and what remains of a forgotten entry."""

import json
from contextlib import suppress
from datetime import datetime
from typing import TYPE_CHECKING, ClassVar, Self

from django.db import models
from django.db.models.lookups import Exact

from memory.addresses import PREFIX
from memory.host import expiry, tenancy
from memory.host.models import TenantFK, TenantOwned, tenant_link
from memory.host.models.base import CODE, DIGEST, NODE, PRINCIPAL, STATE, TenantManager, TenantQuerySet
from memory.host.tenancy import MemoryScope, TenantScope

if TYPE_CHECKING:
    from memory.models.address import EntryAddress
    from memory.origins import Origin

# Entries of runs and passes that are not retired and have no address. SQLite uses the index of such entries only
# where a query says the same word for word, so that the numbers are no parameters.
HEAD = models.Func("memory_ref", template=f"substr(%(expressions)s, 1, {len(PREFIX)})", output_field=models.CharField())
PLAIN = models.Q(~models.Q(Exact(HEAD, PREFIX)), retired_at=None)
# The condition of the index of entries of hosts without durable memory, word for word again.
NO_TEXT = models.Func(template="''", output_field=models.CharField())
EPHEMERAL = ~models.Q(Exact(models.F("ephemeral"), NO_TEXT))


# The longest value that a list shows in words: a longer one is cut off before they end.
SHORT = 10_000


def _in_words(value: object) -> str:
    """``{"a": {"b": [1, true]}, "c": "x"}`` as ``a: b: 1, true; c: x``."""
    if isinstance(value, dict):
        return "; ".join([f"{name}: {_in_words(each)}" for name, each in value.items()])
    if isinstance(value, list):
        return ", ".join(map(_in_words, value))
    return value if isinstance(value, str) else json.dumps(value)


class Derived(models.TextChoices):
    MERGED = "merged"
    DISTILLED = "distilled"
    COMPACTED = "compacted"


class RetiredKind(models.TextChoices):
    MERGED = "merged"
    SUPERSEDED = "superseded"
    COMPACTED = "compacted"


class EntryQuerySet(TenantQuerySet["MemoryEntry"]):
    """Entries by who may see them and when they stop being visible."""

    def in_scope(self, scope: "MemoryScope | TenantScope") -> Self:
        """The entries of a ref that passed the check, or those of the tenant that its principal may see: a key that is
        bound to agents sees what they wrote and may still read."""
        rows = self.of(scope.tenant_id)
        if isinstance(scope, tenancy.MemoryScope):
            return rows.filter(memory_ref=scope.memory_ref)
        bound = scope.principal.agent_ids
        if bound is None:
            return rows
        rows = rows.filter(agent_id__in=bound)
        for refs in tenancy.closed_refs(scope):
            rows = rows.exclude(memory_ref__in=refs)
        return rows

    def ephemeral_of(self, instance: str) -> Self:
        """Those that ``instance`` wrote while it had no durable memory, in any tenant."""
        return self.filter(EPHEMERAL, ephemeral=instance)

    def live(self, now: datetime) -> Self:
        """Neither expired nor retired."""
        return self.unexpired(now).filter(retired_at=None)

    def unexpired(self, now: datetime) -> Self:
        """Retired ones too."""
        return self.filter(expiry.unexpired(now))

    def expired(self, now: datetime) -> Self:
        """Those that housekeeping has yet to remove."""
        return self.filter(expiry.expired(now))

    def has_value(self, column: str, value: str) -> bool:
        """Whether any has this value in a column with an index of the tenant. As a range in the order of the column,
        since PostgreSQL, where it does not look at the value, would read every tenant's rows for the first with it."""
        within = {f"{column}__gte": value, f"{column}__lte": value}
        return bool(self.filter(**within).order_by(column).values_list(column)[:1])


class MemoryEntry(TenantOwned):  # type: ignore[django-manager-missing]  # the stubs miss that of addresses
    """One memory. Both protocol faces see this row; only the ledger writes it.

    ``position`` is a number of the tenant's ledger: a run that started at position p reads the entries with
    ``position <= p`` that were not retired at p (``Retirement``). ``ephemeral`` names the host without durable memory
    that wrote the entry, which is gone when that host starts again; it is empty when memory is durable.

    ``derived`` says which pass made the entry from others, and is empty for what a run wrote. ``protected`` entries are
    never merged and go first into an archive. ``retired_kind`` says why a retired entry is: a pass merged it, found it
    superseded or compacted it; empty when a person retired it. The value of a ``sealed`` entry is kept encrypted, at
    its address; ``content`` says only that there is one. ``hidden_text`` is what the texts say beyond
    ``search_text``: decoded and without diacritics, for a forget to look in. ``address`` and ``origin``
    are there when the adapter has brought them. ``principal`` is the key or person whose credential
    made the last write: of a run's or a pass's, who started it. It is empty where an earlier release did not record it.
    """

    writer = "memory.ledger"
    impersonal = {
        "derived": STATE,
        "ephemeral": "the id of a host process",
        "node_id": NODE,
        "principal": PRINCIPAL,
        "retired_kind": STATE,
        "sha256": DIGEST,
    }
    objects: ClassVar = TenantManager.from_queryset(EntryQuerySet)()
    address: "EntryAddress | None" = None
    origin: "Origin | None" = None

    memory_ref = models.CharField(max_length=256)
    content = models.TextField()
    search_text = models.TextField()
    hidden_text = models.TextField(default="", db_default="", blank=True)
    tags = models.JSONField(default=list)
    subject = models.CharField(max_length=256, default="", blank=True)
    position = models.BigIntegerField()
    run_id = models.UUIDField()
    node_id = models.CharField(max_length=256, default="", blank=True)
    agent_id = models.CharField(max_length=256, default="", blank=True)
    principal = models.CharField(max_length=64, default="", db_default="", blank=True)
    created_at = models.DateTimeField()
    expires_at = models.DateTimeField(null=True)
    retired_at = models.DateTimeField(null=True)
    retired_reason = models.CharField(max_length=500, default="", blank=True)
    tokens = models.IntegerField()
    sha256 = models.CharField(max_length=64)
    redactions = models.IntegerField(default=0)
    secret_shapes = models.IntegerField(default=0)
    ephemeral = models.CharField(max_length=64, default="", db_default="", blank=True)
    derived = models.CharField(max_length=9, choices=Derived, default="", db_default="", blank=True)
    protected = models.BooleanField(default=False, db_default=False)
    retired_kind = models.CharField(max_length=10, choices=RetiredKind, default="", db_default="", blank=True)
    sealed = models.BooleanField(default=False, db_default=False)

    run = tenant_link("host.Run", "run_id")

    @property
    def in_one_line(self) -> str:
        """The content as lists show it: an archive's text from its title on and without headings, and of a value over
        OpenIntent the words without the signs of JSON."""
        title, _, body = self.content.partition("\n")
        if self.derived == Derived.DISTILLED and title.startswith("# "):
            return " ".join([f"{title[2:]}:", *(line for line in body.split("\n") if not line.startswith("## "))])
        if self.memory_ref.startswith(PREFIX) and self.content.startswith("{") and len(self.content) <= SHORT:
            with suppress(ValueError):  # of a row that was changed past this host
                return _in_words(json.loads(self.content)) or self.content
        return self.content

    class Meta:
        constraints = (
            TenantFK(column="run_id", to="host_run", name="an_entry_was_written_by_a_run_of_its_tenant"),
            models.CheckConstraint(
                condition=models.Q(expires_at__isnull=True) | models.Q(expires_at__gt=models.F("created_at")),
                name="an_entry_expires_after_it_was_made",
            ),
        )
        indexes = (
            models.Index(fields=("tenant", "memory_ref", "id"), name="memory_entry_ref"),
            models.Index(fields=("tenant", "run_id", "id"), name="memory_entry_run"),
            models.Index(fields=("tenant", "agent_id", "id"), name="memory_entry_agent"),
            models.Index(fields=("tenant", "node_id", "id"), name="memory_entry_node"),
            models.Index(fields=("tenant", "principal", "id"), name="memory_entry_principal"),
            models.Index(
                fields=("tenant", "subject", "id"), condition=~models.Q(subject=""), name="memory_entry_subject"
            ),
            models.Index(
                fields=("tenant", "expires_at"),
                condition=models.Q(expires_at__isnull=False),
                name="memory_entry_expiry",
            ),
            models.Index(
                fields=("tenant", "ephemeral", "id"), condition=~models.Q(ephemeral=""), name="memory_entry_ephemeral"
            ),
            models.Index(fields=("tenant", "position"), name="memory_entry_position"),
            models.Index(
                fields=("tenant", "retired_at", "id"),
                condition=~models.Q(retired_kind=""),
                name="memory_entry_merged_away",
            ),
            models.Index(
                fields=("tenant", "id"), condition=models.Q(retired_at__isnull=False), name="memory_entry_retired"
            ),
            models.Index(
                fields=("tenant", "agent_id", "-created_at", "id"),
                condition=PLAIN,
                name="memory_entry_plain",
            ),
        )


class EntryTag(TenantOwned):
    """A tag of an entry, in a table of its own so that a rare tag is found without a scan.

    On SQLite it has no rowids, which a migration that makes it again has to say (decision 153).
    """

    writer = "memory.ledger"

    pk = models.CompositePrimaryKey("tenant_id", "tag", "id")
    tag = models.CharField(max_length=256)

    entry = tenant_link("memory.MemoryEntry", "id", related_name="tagged")

    class Meta:
        constraints = (
            TenantFK(
                column="id", to="memory_memoryentry", name="a_tag_is_on_an_entry_of_its_tenant", on_delete="CASCADE"
            ),
        )
        indexes = (models.Index(fields=("tenant", "id"), name="memory_entrytag_entry"),)


class Retirement(TenantOwned):
    """A span of the ledger in which an entry was retired; ``until_position`` is empty while it still is.

    A run that started inside the span does not see the entry, whatever happened to it since.
    """

    writer = "memory.ledger"

    entry_id = models.UUIDField()
    from_position = models.BigIntegerField()
    until_position = models.BigIntegerField(null=True)

    entry = tenant_link("memory.MemoryEntry", "entry_id")

    class Meta:
        constraints = (
            TenantFK(
                column="entry_id",
                to="memory_memoryentry",
                name="a_retirement_is_of_an_entry_of_its_tenant",
                on_delete="CASCADE",
            ),
            models.CheckConstraint(
                condition=models.Q(until_position=None) | models.Q(until_position__gt=models.F("from_position")),
                name="a_retirement_ends_after_it_began",
            ),
        )
        indexes = (models.Index(fields=("tenant", "entry_id", "from_position"), name="memory_retirement_entry"),)


class LedgerHead(TenantOwned):
    """The number of the tenant's last change, and its counts. One row a tenant; its lock orders the changes.

    ``removed_at`` is when something was removed or replaced last, ``erased_at`` when that was something forgotten or
    confidential: housekeeping has yet to take it out of the database's files.
    """

    writer = "memory.ledger"

    position = models.BigIntegerField(default=0)
    entries = models.BigIntegerField(default=0)
    retired = models.BigIntegerField(default=0)
    removed_at = models.DateTimeField(null=True)
    erased_at = models.DateTimeField(null=True)

    class Meta:
        constraints = (
            models.CheckConstraint(
                condition=models.Q(entries__gte=0, retired__gte=0), name="a_ledger_counts_what_is_there"
            ),
        )


class LedgerDay(TenantOwned):
    """What one node wrote for one agent on one day (UTC) and still exists: counted by the database itself.

    Triggers move these numbers with every change of an entry, in its transaction, so that no page counts entries. Every
    change of entries has locked the head of the ledger before, which protects these rows. ``live`` entries are not
    retired, ``timeless`` ones are live and never expire. A row is deleted with its last entry.
    """

    writer = "memory.ledger"
    impersonal = {
        "agent_id": "an agent that an entry names, which is forgotten there: the row goes with its last entry",
        "node_id": NODE,
    }

    pk = models.CompositePrimaryKey("tenant_id", "day", "agent_id", "node_id")
    id = None  # type: ignore[assignment]  # its key has other columns
    day = models.DateField()
    agent_id = models.CharField(max_length=256)
    node_id = models.CharField(max_length=256)
    entries = models.BigIntegerField()
    live = models.BigIntegerField()
    timeless = models.BigIntegerField()
    merged = models.BigIntegerField()
    superseded = models.BigIntegerField()
    compacted = models.BigIntegerField()
    tokens = models.BigIntegerField()
    bytes = models.BigIntegerField()


class Tombstone(TenantOwned):
    """What remains of an entry that is gone: its id, its writer and why; no content."""

    writer = "memory.ledger"
    impersonal = {"reason": CODE}
    REASONS = (
        ("forgotten", "forgotten"),
        ("expired", "expired"),
        ("ephemeral", "ephemeral"),
        ("merged", "merged"),
        ("superseded", "superseded"),
        ("compacted", "compacted"),
        ("deleted", "deleted"),
        ("evicted", "evicted"),
        ("archived", "archived"),
    )

    run_id = models.UUIDField()
    reason = models.CharField(max_length=16, choices=REASONS)
    removed_at = models.DateTimeField()

    class Meta:
        indexes = (
            models.Index(fields=("tenant", "run_id", "id"), name="memory_tombstone_run"),
            models.Index(fields=("tenant", "removed_at", "reason"), name="memory_tombstone_removed"),
        )


class Strength(TenantOwned):
    """How well an entry is corroborated: of how many sources it speaks, and when the last of them was written.

    Its key is the entry's. An entry without one speaks for itself alone.
    """

    writer = "memory.ledger"

    sources = models.PositiveIntegerField()
    last_said_at = models.DateTimeField()

    entry = tenant_link("memory.MemoryEntry", "id")

    class Meta:
        constraints = (
            TenantFK(
                column="id",
                to="memory_memoryentry",
                name="a_strength_is_of_an_entry_of_its_tenant",
                on_delete="CASCADE",
            ),
        )


def has_ephemeral_entries(instance: str) -> bool:
    """Return whether ``instance`` has entries, in any tenant, that it wrote without durable memory.

    Each start of a console asks, and rarely needs the ledger, which takes long to import.
    """
    return MemoryEntry.objects.ephemeral_of(instance).exists()
