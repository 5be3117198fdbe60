"""What every tenant-owned table shares: the composite key, links that carry the tenant, and the write guard.

* ``(tenant_id, id)`` is the primary key, and ``TenantFK`` the database's own promise that a row never points at another
  tenant's row (design.md 3.11).
* Each model names its one ``writer``; anybody else who saves, updates or deletes gets a ``WriteGuard``.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, NoReturn, Self, TypeVar
from uuid import UUID

from django.db import models
from django.db.models.constraints import BaseConstraint

from memory.host.ids import new_id

Row_co = TypeVar("Row_co", bound="Guarded", covariant=True)
OwnedRow_co = TypeVar("OwnedRow_co", bound="TenantOwned", covariant=True)
# Why a column with text never holds a person's data.
PRINCIPAL = "the id of an operator or key"
DIGEST = "a digest"
STATE = "one of the host's own states"
NODE = "an id of the workflow's definition, which is counted under installed artifacts"
CODE = "one of the host's own codes"
HOLDER = "the id of a worker process"
KIND = "one of the host's own kinds"
TRACE = "the ids of a trace, which are random"
ERASED = "[erased]"  # what a reason reads after a forget, beside the event log and beside the audit
TIME = "a cron expression, a duration or a time zone"
ROLES = "names of roles and scopes"


@dataclass(frozen=True, slots=True)
class Personal:
    """The columns of a table that a forget looks through, and what becomes of a row that names the subject.

    Unless something else is said here, every string that names the subject is replaced as a whole, in ``columns``; when
    none is listed, in all that hold words. ``store`` is the name on previews and receipts, which stays for good.
    """

    store: str
    columns: tuple[str, ...] = ()
    # Columns of text that hold JSON, which is looked through as what it says: no escape hides a name.
    json_text: tuple[str, ...] = ()
    # The prefix of the wire id of what has a page, and the column with that id; no prefix when nothing has.
    page: tuple[str, str] = ("", "id")
    # How many rows are in memory at a time, where one may have a megabyte.
    at_once: int | None = None

    # The row goes as a whole, or stays with these values.
    deleted: bool = False
    blanked: Mapping[str, Any] = field(default_factory=dict)
    # Columns in which a value that named the subject is replaced by one that no other row has; in a list, each item.
    unnamed: tuple[str, ...] = ()
    # What named the subject is empty; a list loses the items that did.
    emptied: bool = False
    shortened: bool = False
    # Further values of a row that was changed, unless that was in ``harmless`` columns alone.
    along: Mapping[str, Any] = field(default_factory=dict)
    harmless: tuple[str, ...] = ()

    # The link to the run whose workflow declares values sensitive, which are shown to nobody; "self" for a run.
    sensitive_of: str = ""
    # The rows are changed under the lock of that run, as by everybody else.
    under_lock_of_run: bool = False
    # What a person who decides about a row is shown, where that is not the columns as they are.
    shown: Callable[[Any], list[str]] | None = None

    @property
    def goes_whole(self) -> bool:
        return self.deleted or bool(self.blanked)


class WriteGuard(RuntimeError):
    """Somebody wrote a row outside its one place."""

    def __init__(self, model: type[models.Model], attempt: str) -> None:
        writer = getattr(model, "writer", "its writer")
        super().__init__(f"{model.__name__}.{attempt}: only {writer} writes these rows; call it instead.")


class TenantFK(BaseConstraint):
    """``FOREIGN KEY (tenant_id, column) REFERENCES to (tenant_id, id)``, on SQLite and PostgreSQL alike.

    ``to`` is the name of the table: SQLite rebuilds a table without the app registry.
    """

    def __init__(self, *, column: str, to: str, name: str, on_delete: str = "NO ACTION") -> None:
        super().__init__(name=name)
        self.column, self.to, self.on_delete = column, to, on_delete

    def constraint_sql(self, model: Any, schema_editor: Any) -> str:
        quote = schema_editor.quote_name
        return (
            f"CONSTRAINT {quote(self.name)} FOREIGN KEY ({quote('tenant_id')}, {quote(self.column)}) "
            f"REFERENCES {quote(self.to)} ({quote('tenant_id')}, {quote('id')}) "
            f"ON DELETE {self.on_delete} DEFERRABLE INITIALLY DEFERRED"
        )

    def create_sql(self, model: Any, schema_editor: Any) -> str:
        if schema_editor.connection.vendor == "sqlite":
            return ""
        table = schema_editor.quote_name(model._meta.db_table)
        return f"ALTER TABLE {table} ADD {self.constraint_sql(model, schema_editor)}"

    def remove_sql(self, model: Any, schema_editor: Any) -> str:
        table, name = schema_editor.quote_name(model._meta.db_table), schema_editor.quote_name(self.name)
        return f"ALTER TABLE {table} DROP CONSTRAINT {name}"

    def validate(self, model: object, instance: object, exclude: object = None, using: str = "default") -> None:
        """The database checks this one at commit."""

    def deconstruct(self) -> Any:
        path, args, kwargs = super().deconstruct()
        return path, args, kwargs | {"column": self.column, "to": self.to, "on_delete": self.on_delete}

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TenantFK) and self.deconstruct() == other.deconstruct()

    __hash__ = BaseConstraint.__hash__


def tenant_link(
    to: str, column: str, *, null: bool = False, related_name: str = "+"
) -> "models.ForeignObject[Any, Any]":
    """The ORM side of a ``TenantFK``: joins, ``select_related`` and attribute access."""
    return models.ForeignObject(
        to,
        on_delete=models.DO_NOTHING,
        from_fields=("tenant_id", column),
        to_fields=("tenant_id", "id"),
        related_name=related_name,
        null=null,
        serialize=False,
    )


class GuardedQuerySet(models.QuerySet[Row_co]):
    """Reads freely; writes only after ``written_by`` named the model's own writer."""

    _writer: str | None = None

    def _clone(self) -> Self:
        clone: Self = super()._clone()  # type: ignore[misc]  # the stubs leave it out
        clone._writer = self._writer
        return clone

    def _require_writer(self, attempt: str) -> None:
        if self._writer != getattr(self.model, "writer", None):
            raise WriteGuard(self.model, attempt)

    def written_by(self, writer: str) -> Self:
        """A queryset that may write, for the model's one writer."""
        queryset = self.all()
        queryset._writer = writer
        queryset._require_writer("written_by()")
        return queryset

    def select_for_update(
        self, nowait: bool = False, skip_locked: bool = False, of: Sequence[str] = (), no_key: bool = True
    ) -> Self:
        """A lock that leaves links to the row alone: they are checked at the commit, behind the lock of the audit
        chain, and a check that waited for a transaction that waits for that chain would be a deadlock."""
        return super().select_for_update(nowait, skip_locked, of, no_key)

    def update(self, **values: object) -> int:
        self._require_writer("update()")
        return super().update(**values)

    def delete(self) -> tuple[int, dict[str, int]]:
        self._require_writer("delete()")
        return super().delete()

    def bulk_create(self, objs: Iterable[Row_co], *args: Any, **kwargs: Any) -> list[Row_co]:
        self._require_writer("bulk_create()")
        return super().bulk_create(objs, *args, **kwargs)

    def bulk_update(self, objs: Iterable[Row_co], *args: Any, **kwargs: Any) -> int:
        self._require_writer("bulk_update()")
        return super().bulk_update(objs, *args, **kwargs)

    def create(self, **kwargs: object) -> NoReturn:
        raise WriteGuard(self.model, "create()")

    def get_or_create(self, *args: object, **kwargs: object) -> NoReturn:
        self.create()

    def update_or_create(self, *args: object, **kwargs: object) -> NoReturn:
        self.create()


class TenantQuerySet(GuardedQuerySet[OwnedRow_co]):
    def of(self, tenant_id: UUID) -> Self:
        """Rows of one tenant, and nobody else's."""
        return self.filter(tenant_id=tenant_id)

    def in_bulk_by_id(self, wanted: Iterable[UUID]) -> dict[UUID, OwnedRow_co]:
        """Those of ``wanted`` that are there, by id, in one query."""
        return {row.id: row for row in self.filter(id__in=wanted)}


# The way to a table that has one writer, and to one whose rows have a tenant: name the tenant first.
GuardedManager = models.Manager.from_queryset(GuardedQuerySet, "GuardedManager")
TenantManager = models.Manager.from_queryset(TenantQuerySet, "TenantManager")


class Guarded(models.Model):
    """A model that only its ``writer`` saves and deletes."""

    writer: ClassVar[str]
    # The columns with text that never hold a person's data, each with the reason; all others are ``personal``.
    impersonal: ClassVar[Mapping[str, str]] = {}

    class Meta:
        abstract = True

    def save(self, *args: Any, by: str = "", **kwargs: Any) -> None:
        if by != self.writer:
            raise WriteGuard(type(self), "save()")
        super().save(*args, **kwargs)

    def delete(self, *args: Any, by: str = "", **kwargs: Any) -> tuple[int, dict[str, int]]:
        if by != self.writer:
            raise WriteGuard(type(self), "delete()")
        return super().delete(*args, **kwargs)


class TenantOwned(Guarded):
    """A row of one tenant: ``(tenant_id, id)`` is its key and every link carries the tenant."""

    pk = models.CompositePrimaryKey("tenant_id", "id")
    tenant = models.ForeignKey("host.Tenant", on_delete=models.PROTECT, related_name="+", db_index=False)
    id = models.UUIDField(default=new_id, editable=False)

    tenant_id: UUID
    objects = TenantManager()
    personal: ClassVar[Personal | None] = None

    class Meta:
        abstract = True

    def overwrite(self, **values: object) -> None:
        """Keep these values instead, in a table that declares what of it is personal. For forgetting alone."""
        if self.personal is None:
            raise WriteGuard(type(self), "overwrite()")
        for name, value in values.items():
            setattr(self, name, value)
        self.save(by=self.writer, update_fields=list(values))

    def insert(self, *, by: str) -> Self:
        """Store a new row; an id that is taken is an error, never an overwrite."""
        self.save(by=by, force_insert=True)
        return self
