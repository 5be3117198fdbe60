"""Filters that somebody wants to come back to, for any list of the console."""

from django.db import models

from memory.host.models.base import TenantOwned


class SavedFilter(TenantOwned):
    """The query of a list under a name. ``shared`` ones are for everybody of the tenant who may see that list.

    ``page`` names the list; ``query`` is what its address says behind the question mark.
    """

    writer = "memory.host.saved_filters"

    page = models.CharField(max_length=32)
    slug = models.CharField(max_length=64)
    name = models.CharField(max_length=64)
    query = models.CharField(max_length=1000)
    owner = models.CharField(max_length=64)
    shared = models.BooleanField(default=False)
    created_at = models.DateTimeField()

    class Meta:
        constraints = (
            models.UniqueConstraint(fields=("tenant", "page", "owner", "slug"), name="a_saved_filter_has_its_own_slug"),
        )
        indexes = (models.Index(fields=("tenant", "page", "shared"), name="host_savedfilter_page"),)
