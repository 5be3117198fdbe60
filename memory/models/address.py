"""The address of an entry: what RFC-0015 has in addition to its value. One row per entry, with the entry's key."""

from datetime import datetime
from typing import ClassVar, Self

from django.db import models
from django.db.models import Q

from memory.addresses import PRIORITIES, SEALED, Sensitivity, Tier, unique_key
from memory.host import expiry
from memory.host.models import TenantFK, TenantOwned, tenant_link
from memory.host.models.base import STATE, TIME, TenantManager, TenantQuerySet


def in_order(column: str) -> models.Func:
    """A tier, a namespace or a sensitivity as the indexes know it that have the order of the ledger: they serve nothing
    but a query that says the same word for word, and so no list of OpenIntent, which has an order of its own."""
    return models.Func(column, template="(%(expressions)s || '')", output_field=models.CharField())


class AddressQuerySet(TenantQuerySet["EntryAddress"]):
    def live(self, now: datetime) -> Self:
        """Those whose entry is neither expired nor retired."""
        return self.unexpired(now).filter(hidden=False)

    def unexpired(self, now: datetime) -> Self:
        return self.filter(expiry.unexpired(now, "entry__expires_at"))


class EntryAddress(TenantOwned):
    """An entry's tier, owner, namespace and key, its version, and its classification (RFC-0015 1.1).

    ``agent_id`` owns the entry; of a semantic one it is the creator. ``task_id`` and ``intent_id`` are the scope as it
    was sent. ``priority`` is an index into ``PRIORITIES``. ``hidden`` follows the entry's retirement, so that a key is
    free while its entry cannot be read. ``sealed`` is the value of a confidential or restricted entry, under ``key_id``
    of the vault; null for all others. ``size`` is the value's bytes in compact JSON.
    ``is_stated`` is known of one that was locked or read alone: whether its last write has an origin.
    """

    writer = "memory.ledger"
    impersonal = {"sensitivity": STATE, "tier": STATE, "ttl": TIME}
    objects: ClassVar = TenantManager.from_queryset(AddressQuerySet)()
    is_stated: bool = False

    tier = models.CharField(max_length=8, choices=[(each.value, each.value) for each in Tier])
    agent_id = models.CharField(max_length=128)
    namespace = models.CharField(max_length=255)
    key = models.CharField(max_length=255)
    version = models.PositiveIntegerField(default=1)
    task_id = models.CharField(max_length=128, default="", blank=True)
    intent_id = models.CharField(max_length=128, default="", blank=True)
    pinned = models.BooleanField(default=False)
    priority = models.PositiveSmallIntegerField(default=PRIORITIES.index("normal"))
    sensitivity = models.CharField(
        max_length=12, choices=[(each.value, each.value) for each in Sensitivity], default="", blank=True
    )
    ttl = models.CharField(max_length=128, default="", blank=True)
    created_by = models.CharField(max_length=128, default="", blank=True)
    curated_by = models.CharField(max_length=128, default="", blank=True)
    created_at = models.DateTimeField()
    updated_at = models.DateTimeField()
    accessed_at = models.DateTimeField()
    size = models.PositiveIntegerField()
    hidden = models.BooleanField(default=False)
    sealed = models.BinaryField(null=True)
    vault_key = models.ForeignKey(
        "host.VaultKey", null=True, on_delete=models.PROTECT, related_name="+", db_index=False
    )

    entry = tenant_link("memory.MemoryEntry", "id", related_name="addressed")

    @property
    def unique(self) -> tuple[str, str, str]:
        return unique_key(self.tier, self.agent_id, self.namespace, self.key)

    @property
    def priority_word(self) -> str:
        return PRIORITIES[self.priority]

    @property
    def is_sealed(self) -> bool:
        """Whether its value is kept encrypted; said of one whose value was not read, too."""
        return self.sensitivity in SEALED

    class Meta:
        constraints = (
            TenantFK(
                column="id",
                to="memory_memoryentry",
                name="an_address_is_of_an_entry_of_its_tenant",
                on_delete="CASCADE",
            ),
            models.UniqueConstraint(
                fields=("tenant", "agent_id", "namespace", "key"),
                condition=~Q(tier="semantic") & Q(hidden=False),
                name="an_agent_has_a_key_once",
            ),
            models.UniqueConstraint(
                fields=("tenant", "namespace", "key"),
                condition=Q(tier="semantic", hidden=False),
                name="a_namespace_has_a_key_once",
            ),
            models.CheckConstraint(condition=Q(version__gte=1), name="an_entry_has_a_version"),
            models.CheckConstraint(
                condition=Q(sealed__isnull=True, vault_key__isnull=True)
                | Q(sealed__isnull=False, vault_key__isnull=False),
                name="a_sealed_value_names_its_key",
            ),
        )
        indexes = (
            models.Index(
                fields=("tenant", "agent_id", "-updated_at", "id", "hidden", "tier"), name="memory_address_agent"
            ),
            models.Index(
                fields=("tenant", "-updated_at", "id", "hidden", "tier"),
                condition=Q(tier="semantic"),
                name="memory_address_updated",
            ),
            models.Index(
                fields=("tenant", "agent_id", "pinned", "priority", "accessed_at", "id"),
                condition=Q(tier="episodic"),
                name="memory_address_eviction",
            ),
            models.Index(
                fields=("tenant", "task_id", "-updated_at", "id"),
                condition=~Q(task_id=""),
                name="memory_address_task",
            ),
            models.Index(
                fields=("tenant", "intent_id", "-updated_at", "id"),
                condition=~Q(intent_id=""),
                name="memory_address_intent",
            ),
            models.Index(
                fields=("tenant", "namespace", "-updated_at", "id", "hidden", "tier"),
                condition=Q(tier="semantic"),
                name="memory_address_shared",
            ),
            models.Index("tenant", in_order("tier"), "id", name="memory_address_tier_order"),
            models.Index("tenant", in_order("namespace"), "id", name="memory_address_name_order"),
            models.Index(
                "tenant",
                in_order("sensitivity"),
                "id",
                condition=Q(sensitivity__gt=""),
                name="memory_address_class_order",
            ),
            models.Index(
                fields=("tenant", "vault_key", "id"),
                condition=Q(vault_key__isnull=False),
                name="memory_address_sealed_under",
            ),
        )
