"""Namespaces of semantic memory, and who may do what in each (RFC-0015 2.3)."""

from django.db import models

from memory.host.models import Personal, TenantOwned


class Namespace(TenantOwned):
    """A namespace that agents share. ``allow`` is a list of ``{"agent", "access"}``, which overrides ``default``."""

    writer = "memory.openintent.namespaces"
    personal = Personal("namespaces", unnamed=("name", "created_by"), shortened=True)
    impersonal = {"default": "a right"}
    ACCESS = ("none", "read", "write", "admin")

    name = models.CharField(max_length=200)
    default = models.CharField(max_length=5, choices=[(each, each) for each in ACCESS], default="read")
    allow = models.JSONField(default=list)
    version = models.PositiveIntegerField(default=1)
    created_by = models.CharField(max_length=128)
    created_at = models.DateTimeField()
    updated_at = models.DateTimeField()

    class Meta:
        constraints = (models.UniqueConstraint(fields=("tenant", "name"), name="a_namespace_has_one_name"),)
