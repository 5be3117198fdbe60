"""Tables of sealed secrets. No column of this database holds plaintext."""

from django.db import models

from memory.host.ids import new_id
from memory.host.models.base import KIND, Guarded, GuardedManager, Personal, TenantFK, TenantOwned, tenant_link


class VaultKey(Guarded):
    """A data key of the vault, wrapped by the key derived from ``OPENWOP_SECRET_KEY``. Shared table."""

    writer = "memory.host.vault"
    impersonal = {"wrapped": "a key, wrapped"}

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    wrapped = models.BinaryField()
    created_at = models.DateTimeField()

    objects = GuardedManager()


class SecretScope(models.TextChoices):
    TENANT = "tenant"
    USER = "user"
    RUN = "run"
    WEBHOOK = "webhook"


# Scopes whose values people set; the host itself makes the others.
GIVEN_SCOPES = (SecretScope.TENANT, SecretScope.USER, SecretScope.RUN)


class Secret(TenantOwned):
    """A sealed value. ``owner`` is a user secret's principal, a run's or a webhook's id, and empty for a tenant's."""

    writer = "memory.host.vault"
    personal = Personal("names of secrets", ("name", "owner"), unnamed=("name", "owner"))
    impersonal = {
        "scope": KIND,
        "sealed": "a credential, sealed; it is replaced or removed, and no more read than shown",
    }

    name = models.CharField(max_length=128)
    scope = models.CharField(max_length=8, choices=SecretScope)
    owner = models.CharField(max_length=64, default="", blank=True)
    key = models.ForeignKey(VaultKey, on_delete=models.PROTECT, related_name="+")
    sealed = models.BinaryField()
    version = models.PositiveIntegerField(default=1)
    updated_at = models.DateTimeField()

    class Meta:
        constraints = (
            models.UniqueConstraint(fields=("tenant", "scope", "owner", "name"), name="a_secret_has_one_value"),
        )


class SecretResolution(TenantOwned):
    """A run has resolved a secret, so everything the run writes is redacted for it, in every process."""

    writer = "memory.host.vault"

    run_id = models.UUIDField()
    secret_id = models.UUIDField()
    resolved_at = models.DateTimeField()

    secret = tenant_link("host.Secret", "secret_id")

    class Meta:
        constraints = (
            models.UniqueConstraint(fields=("tenant", "run_id", "secret_id"), name="a_resolution_is_noted_once"),
            TenantFK(column="run_id", to="host_run", name="a_resolution_belongs_to_a_run_of_its_tenant"),
            TenantFK(column="secret_id", to="host_secret", name="a_resolution_names_a_secret_of_its_tenant"),
        )
        indexes = (models.Index(fields=("tenant", "secret_id", "resolved_at"), name="host_resolution_of_secret"),)
