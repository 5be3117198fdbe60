"""Tables of what runs may resolve: installed artifacts, byte for byte, and their use."""

from django.db import models

from memory.host.models.base import DIGEST, KIND, NODE, PRINCIPAL, Personal, TenantFK, TenantOwned, tenant_link


class ArtifactKind(models.TextChoices):
    WORKFLOW = "workflow"
    AGENT = "agent"
    PROMPT_TEMPLATE = "prompt-template"
    AGENT_PACK = "agent-pack"
    CHAIN_PACK = "workflow-chain-pack"
    AUTOMATION = "automation"


class Installation(TenantOwned):
    """One installed version. ``text`` is what was approved, ``sha256`` its digest; both never change.

    ``part_of`` is the pack that brought it: runs resolve the parts of a pack, which become current and cease to be with
    it. A disabled version stays current, but no run uses it, nor the parts of a disabled pack.
    """

    writer = "memory.host.registry"
    personal = Personal("reasons of disabled artifacts", ("disabled_reason",))
    impersonal = {
        "installed_by": PRINCIPAL,
        "disabled_by": PRINCIPAL,
        "kind": KIND,
        "name": "a part of the text, which is counted",
        "ref": "the name and version in the text, which is counted",
        "sha256": DIGEST,
        "source": "the id of a proposal, or host",
        "version": "the version in the text, which is counted",
    }

    kind = models.CharField(max_length=32, choices=ArtifactKind)
    name = models.CharField(max_length=256)
    version = models.CharField(max_length=64)
    ref = models.CharField(max_length=400)
    text = models.TextField()
    sha256 = models.CharField(max_length=64)
    source = models.CharField(max_length=64)
    installed_by = models.CharField(max_length=64)
    installed_at = models.DateTimeField()
    superseded_at = models.DateTimeField(null=True)
    part_of_id = models.UUIDField(null=True)
    disabled_at = models.DateTimeField(null=True)
    disabled_by = models.CharField(max_length=64, default="", blank=True)
    disabled_reason = models.CharField(max_length=500, default="", blank=True)

    part_of = tenant_link("host.Installation", "part_of_id", null=True)

    class Meta:
        constraints = (
            models.UniqueConstraint(fields=("tenant", "ref"), name="an_installed_version_is_installed_once"),
            models.UniqueConstraint(
                fields=("tenant", "kind", "name"),
                condition=models.Q(superseded_at__isnull=True),
                name="one_version_of_an_artifact_is_current",
            ),
            TenantFK(column="part_of_id", to="host_installation", name="a_part_belongs_to_a_pack_of_its_tenant"),
        )
        indexes = (
            models.Index(
                fields=("tenant", "part_of_id"),
                condition=models.Q(part_of_id__isnull=False),
                name="host_installation_parts",
            ),
        )

    @property
    def is_disabled(self) -> bool:
        """Whether it was disabled, by itself or with its pack."""
        return self.disabled_at is not None or (self.part_of_id is not None and self.part_of.disabled_at is not None)


class Resolution(TenantOwned):
    """A run has used an installation; the page of a proposal shows its effect from these rows."""

    writer = "memory.host.registry"
    impersonal = {"node_id": NODE}

    run_id = models.UUIDField()
    installation_id = models.UUIDField()
    node_id = models.CharField(max_length=256, default="", blank=True)
    resolved_at = models.DateTimeField()

    installation = tenant_link("host.Installation", "installation_id")
    run = tenant_link("host.Run", "run_id")

    class Meta:
        constraints = (
            models.UniqueConstraint(
                fields=("tenant", "run_id", "installation_id"), name="a_run_notes_an_installation_once"
            ),
            TenantFK(column="run_id", to="host_run", name="a_use_belongs_to_a_run_of_its_tenant"),
            TenantFK(
                column="installation_id", to="host_installation", name="a_use_names_an_installation_of_its_tenant"
            ),
        )
        indexes = (models.Index(fields=("tenant", "installation_id", "id"), name="host_resolution_installed"),)
