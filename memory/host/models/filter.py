"""Filters that somebody wants to come back to, for any list of the console."""

from urllib.parse import unquote_plus

from django.db import models

from memory.host.models.base import TenantOwned
from memory.host.models.personal import PRINCIPAL, Personal


class SavedFilter(TenantOwned):
    """The query of a list under a name. ``shared`` ones are for everybody of the tenant who may see that list.

    ``page`` names the list; ``query`` is what its address says behind the question mark.
    """

    writer = "memory.saved_filters"
    personal = Personal(
        "saved filters",
        ("name", "slug", "query"),
        deleted=True,
        shown=lambda row: [row.name, unquote_plus(row.query)],
    )
    impersonal = {"owner": PRINCIPAL, "page": "the name of a page"}

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
