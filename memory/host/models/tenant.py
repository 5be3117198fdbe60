"""Tenants, and the principals that act for them: operators with a password, agents and programs with a key."""

from typing import ClassVar
from urllib.parse import unquote_plus
from uuid import UUID

from django.contrib.auth.base_user import AbstractBaseUser
from django.contrib.sessions.base_session import AbstractBaseSession
from django.db import models
from django.db.models.functions import Lower

from memory.host.ids import new_id
from memory.host.models.base import DIGEST, PRINCIPAL, ROLES, Guarded, GuardedManager, Personal, TenantOwned


class Tenant(Guarded):
    """The isolation boundary. A shared table with a plain key; everything that a tenant owns links to it."""

    writer = "memory.host.access"

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    slug = models.SlugField(max_length=63, unique=True)
    name = models.CharField(max_length=200)
    created_at = models.DateTimeField()
    # A sign-in with a password needs a second factor too.
    second_factor_required = models.BooleanField(default=False, db_default=False)

    objects = GuardedManager()

    def __str__(self) -> str:
        return self.slug


class OperatorManager(models.Manager["Operator"]):
    def of(self, tenant_id: UUID) -> "models.QuerySet[Operator]":
        """The people who are or were operators of one tenant."""
        return self.filter(memberships__tenant_id=tenant_id)

    def active_in(self, tenant_id: UUID) -> "models.QuerySet[Operator]":
        """The people who may sign in to one tenant now."""
        return self.filter(memberships__tenant_id=tenant_id, memberships__is_active=True)


class Operator(AbstractBaseUser):
    """A person who signs in with one password to each tenant in which they have a ``Membership``.

    Their roles are in ``RoleGrant``, under the same principal in every tenant.
    """

    writer = "memory.host.access"
    impersonal = {"password": "a slow hash"}

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    email = models.EmailField(max_length=254, unique=True)
    created_at = models.DateTimeField()

    USERNAME_FIELD = "email"
    EMAIL_FIELD = "email"
    REQUIRED_FIELDS: ClassVar[list[str]] = []
    objects = OperatorManager()

    class Meta:
        constraints = (models.CheckConstraint(condition=models.Q(email=Lower("email")), name="an_email_is_lower_case"),)


class Membership(TenantOwned):
    """A person's membership in this tenant, which never sees their other memberships.

    A session carries the ``generation`` it began under and ends when that changes: with a new role or a deactivation.
    The ``invitation`` of a person who had an account already is ``OPEN`` until they accept it, and gives no right. One
    who ``has_joined`` is or was an operator here, also while they are invited again.
    """

    OPEN, WITHDRAWN = "open", "withdrawn"
    writer = "memory.host.access"
    impersonal = {"invitation": "open, withdrawn, or nothing for a member"}

    operator = models.ForeignKey(Operator, on_delete=models.PROTECT, related_name="memberships")
    is_active = models.BooleanField(default=True)
    generation = models.PositiveIntegerField(default=0)
    # Whether the role follows the groups of the sign-in provider.
    from_groups = models.BooleanField(default=False, db_default=False)
    invitation = models.CharField(max_length=16, default="", db_default="", blank=True)
    has_joined = models.BooleanField(default=True, db_default=True)
    created_at = models.DateTimeField()

    operator_id: UUID

    class Meta:
        constraints = (
            models.UniqueConstraint(fields=("tenant", "operator"), name="a_person_is_a_member_once"),
            models.CheckConstraint(
                condition=models.Q(is_active=False) | models.Q(invitation=""), name="an_active_member_has_accepted"
            ),
        )


class OperatorSession(AbstractBaseSession):
    """A session, and its person once they have signed in. A shared table: a session can change its tenant."""

    writer = "memory.host.sessions"
    impersonal = {
        "session_key": "a random token",
        "session_data": "the operator's id and address, a digest of the password's hash, the browser's name, a network "
        "without its machine, sentences of the console; for 12 hours",
    }

    operator = models.ForeignKey(Operator, on_delete=models.CASCADE, null=True, related_name="+")

    operator_id: UUID | None

    class Meta(AbstractBaseSession.Meta):
        abstract = False
        verbose_name = "session"


class Throttle(Guarded):
    """A count of failures, and when the next try is allowed. A shared table: a try has no tenant yet.

    ``key`` is a keyed hash of what is counted by; the row is deleted after ``forget_at``.
    """

    writer = "memory.host.throttle"
    impersonal = {"key": DIGEST}

    key = models.CharField(max_length=64, primary_key=True)
    failures = models.PositiveIntegerField(default=0)
    next_at = models.DateTimeField()
    forget_at = models.DateTimeField(db_index=True)

    objects = GuardedManager()


class ApiKey(TenantOwned):
    """A program's credential. Only the SHA-256 of its secret is stored; the key itself was shown once.

    ``owner`` is the person that the key belongs to and speaks for; a key without one is a service account. ``made_by``
    is the person or service account that made it in the console or its API, ``""`` for the administrator. A key with a
    ``client_id`` is a person's grant to an OAuth client: its secret was never shown, the client uses tokens, and it
    ends when the membership has another ``generation``.
    """

    writer = "memory.host.api_keys"
    personal = Personal(
        "names and agents of keys", ("name", "agents"), unnamed=("agents",)
    )  # a key that loses its agent stays bound, to no agent
    impersonal = {"digest": DIGEST, "made_by": PRINCIPAL, "client_id": "the random id of a registered client"}

    owner = models.ForeignKey(Operator, on_delete=models.PROTECT, null=True, related_name="+", db_index=False)
    made_by = models.CharField(max_length=64, default="", blank=True)

    name = models.CharField(max_length=200, default="", blank=True)
    digest = models.CharField(max_length=64)
    agents = models.JSONField(default=list)
    created_at = models.DateTimeField()
    expires_at = models.DateTimeField(null=True)
    revoked_at = models.DateTimeField(null=True)
    rotated_at = models.DateTimeField(null=True)
    last_used_at = models.DateTimeField(null=True)  # to the minute
    client_id = models.CharField(max_length=100, default="", db_default="", blank=True)
    generation = models.IntegerField(null=True)

    owner_id: UUID | None

    class Meta:
        indexes = (models.Index(fields=("tenant", "owner"), name="host_apikey_owner"),)


class RoleGrant(TenantOwned):
    """``principal`` holds ``role`` in this tenant. Without a row there is no right."""

    writer = "memory.host.access"
    impersonal = {"principal": PRINCIPAL, "role": ROLES}

    principal = models.CharField(max_length=64)
    role = models.CharField(max_length=32)
    granted_at = models.DateTimeField()

    class Meta:
        constraints = (models.UniqueConstraint(fields=("tenant", "principal", "role"), name="a_role_is_granted_once"),)


class SavedFilter(TenantOwned):
    """A named query of a list. ``shared`` ones are for every member of the tenant who may see that list.

    ``page`` names the list; ``query`` is the query string of its address.
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
