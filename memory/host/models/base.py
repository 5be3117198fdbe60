"""The base of every tenant-owned table: the composite key, links that carry the tenant, and the write guard.

``(tenant_id, id)`` is the primary key, and ``TenantFK`` makes the database refuse a link to another tenant's row. The
tenant comes first, so that tables can be partitioned or distributed by it. Each model names its one ``writer``; a save,
update or delete by other code raises ``WriteGuard``.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, ClassVar, NoReturn, Self, TypeVar
from uuid import UUID

from django.db import DEFAULT_DB_ALIAS, DatabaseError, connection, models, transaction
from django.db.models.constraints import BaseConstraint
from django.db.models.fields.related_lookups import RelatedExact
from django.db.models.sql.where import AND

from memory.host.ids import new_id

Row_co = TypeVar("Row_co", bound="Guarded", covariant=True)
OwnedRow_co = TypeVar("OwnedRow_co", bound="TenantOwned", covariant=True)
# Reasons why a text column never holds a person's data.
PRINCIPAL = "the id of an operator or key"
DIGEST = "a digest"
STATE = "one of the host's own states"
NODE = "an id of the workflow's definition, which is counted under installed artifacts"
CODE = "one of the host's own codes"
HOLDER = "the id of a worker process"
KIND = "one of the host's own kinds"
TRACE = "the ids of a trace, which are random"
ERASED = "[erased]"  # replaces a forgotten reason, in the event notes and in the audit reasons
TIME = "a cron expression, a duration or a time zone"
ROLES = "names of roles and scopes"


@dataclass(frozen=True, slots=True)
class Personal:
    """The columns of a table that a forget searches, and what happens to a row that names the subject.

    By default every string that names the subject is replaced as a whole, in ``columns``; when none is listed, in all
    text columns. ``store`` is the name on previews and receipts, which never changes.
    """

    store: str
    columns: tuple[str, ...] = ()
    # Text columns that hold JSON, which is searched decoded, so that no escape hides a name.
    json_text: tuple[str, ...] = ()
    # The prefix of the wire id of the object that has a page, and the column with its id; an empty prefix for none.
    page: tuple[str, str] = ("", "id")
    # How many rows are in memory at a time, where a row may have a megabyte.
    at_once: int | None = None

    # The row is deleted as a whole, or kept with these values.
    deleted: bool = False
    blanked: Mapping[str, object] = field(default_factory=dict)
    # Columns in which a value that names the subject is replaced by a unique one; in a list, each such item.
    unnamed: tuple[str, ...] = ()
    # A value that names the subject is emptied; a list loses the items that do.
    emptied: bool = False
    shortened: bool = False
    # Further values for a changed row, unless only ``harmless`` columns changed.
    along: Mapping[str, object] = field(default_factory=dict)
    harmless: tuple[str, ...] = ()

    # The link to the run whose workflow declares sensitive values, which are never shown; "self" for a run.
    sensitive_of: str = ""
    # The rows are changed under the lock of that run, as in all other code.
    under_lock_of_run: bool = False
    # The text of a row for the person who decides about it, where that differs from the columns.
    shown: Callable[[Any], list[str]] | None = None

    @property
    def goes_whole(self) -> bool:
        return self.deleted or bool(self.blanked)


class WriteGuard(RuntimeError):
    """A row was written outside its model's writer."""

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

    def constraint_sql(self, model: object, schema_editor: Any) -> str:
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
        """Does nothing: the database checks this constraint at commit."""

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
    """Reads freely; writes only after ``written_by`` has named the model's writer."""

    _writer: str | None = None

    def _clone(self) -> Self:
        clone: Self = super()._clone()  # type: ignore[misc]  # the stubs leave it out
        clone._writer = self._writer
        return clone

    def _require_writer(self, attempt: str) -> None:
        if self._writer != getattr(self.model, "writer", None):
            raise WriteGuard(self.model, attempt)

    def written_by(self, writer: str) -> Self:
        """Return a queryset that may write; raises ``WriteGuard`` for any but the model's writer."""
        queryset = self.all()
        queryset._writer = writer
        queryset._require_writer("written_by()")
        return queryset

    def select_for_update(
        self, nowait: bool = False, skip_locked: bool = False, of: Sequence[str] = (), no_key: bool = True
    ) -> Self:
        """Lock with NO KEY UPDATE, which does not block links to the row.

        Links are checked at commit, after the lock of the audit chain is taken; a check that waited for a transaction
        that waits for that chain would be a deadlock.
        """
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


class TenantQuerySet(GuardedQuerySet[OwnedRow_co]):
    def of(self, tenant_id: UUID) -> Self:
        """Return the rows of one tenant: ``filter(tenant_id=tenant_id)``, which takes the ORM four times as long."""
        rows = self.all()
        tenant: Any = rows.model._meta.get_field("tenant")
        rows.query.where.add(RelatedExact(tenant.get_col(rows.query.get_initial_alias()), tenant_id), AND)
        return rows

    def in_bulk_by_id(self, wanted: Iterable[UUID]) -> dict[UUID, OwnedRow_co]:
        """Return the existing rows among ``wanted`` by id, in one query."""
        return {row.id: row for row in self.filter(id__in=wanted)}


# Managers for a table with one writer, and for one whose rows belong to a tenant.
GuardedManager = models.Manager.from_queryset(GuardedQuerySet, "GuardedManager")
TenantManager = models.Manager.from_queryset(TenantQuerySet, "TenantManager")


class Guarded(models.Model):
    """A model that only its ``writer`` saves and deletes."""

    writer: ClassVar[str]
    # Text columns that never hold a person's data, each with the reason; all others are ``personal``.
    impersonal: ClassVar[Mapping[str, str]] = {}

    class Meta:
        abstract = True

    @classmethod
    def require_writer(cls, by: str, attempt: str) -> None:
        """Raise ``WriteGuard`` for any but the model's writer."""
        if by != cls.writer:
            raise WriteGuard(cls, attempt)

    def save(self, *args: Any, by: str = "", **kwargs: Any) -> None:
        self.require_writer(by, "save()")
        if args or not write_row(self, **kwargs):
            super().save(*args, **kwargs)

    def delete(self, *args: Any, by: str = "", **kwargs: Any) -> tuple[int, dict[str, int]]:
        self.require_writer(by, "delete()")
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
        """Overwrite these values, in a table that declares personal columns. For forgetting only."""
        if self.personal is None:
            raise WriteGuard(type(self), "overwrite()")
        for name, value in values.items():
            setattr(self, name, value)
        self.save(by=self.writer, update_fields=list(values))

    def insert(self, *, by: str) -> Self:
        """Store a new row; an id that is taken raises an error and never overwrites."""
        self.save(by=by, force_insert=True)
        return self


# How a row is saved: with a statement that is built once for its model and columns. The ORM builds it anew each time,
# which takes it five to ten times as long as the database takes to carry it out. Values go through their fields, and an
# expression or a column that the database fills in is left to the ORM.

Statement = tuple[str, tuple[Any, ...]]
KEPT = 1000
TEXTS = (models.CharField, models.TextField)
NOT_STORED = "Save with update_fields did not affect any rows."  # in the ORM's words


def write_row(
    row: models.Model, *, update_fields: Sequence[str] = (), force_insert: bool = False, **others: object
) -> bool:
    """Do what ``save`` with these arguments does; False, with nothing done, when the ORM has to do it."""
    if others or force_insert == bool(update_fields):
        return False
    statement, fields = _insert_of(type(row)) if force_insert else _update_of(type(row), tuple(update_fields))
    values = _values(row, fields, adding=force_insert)
    if values is None:
        return False
    if _execute(statement, values) == 0:
        raise DatabaseError(NOT_STORED)
    row._state.db, row._state.adding = DEFAULT_DB_ALIAS, False  # as ``save`` leaves them
    return True


def _execute(statement: str, values: list[Any]) -> int:
    with transaction.mark_for_rollback_on_error(DEFAULT_DB_ALIAS), connection.cursor() as cursor:
        cursor.execute(statement, values)
        return int(cursor.rowcount)


def _values(row: Any, fields: Sequence[Any], *, adding: bool) -> list[Any] | None:
    """The values as the database takes them; None when there is an expression among them, or no statement."""
    values: list[Any] = []
    for each in fields:
        value = each.pre_save(row, adding)
        if value is None or (type(value) is str and isinstance(each, TEXTS)):
            values.append(value)
        elif hasattr(value, "resolve_expression"):
            return None
        else:
            values.append(each.get_db_prep_save(value, connection))
    return values or None


@lru_cache(KEPT)
def _insert_of(model: type[models.Model]) -> Statement:
    fields = tuple(model._meta.concrete_fields)
    if model._meta.auto_field or any(map(_is_special, fields)):
        return "", ()
    columns, places = ", ".join(map(_quoted, fields)), ", ".join(["%s"] * len(fields))
    return f"INSERT INTO {_table(model)} ({columns}) VALUES ({places})", fields  # noqa: S608


@lru_cache(KEPT)
def _update_of(model: type[models.Model], names: tuple[str, ...]) -> Statement:
    fields, keys = tuple(model._meta.get_field(name) for name in names), tuple(model._meta.pk_fields)
    if any(map(_is_special, (*fields, *keys))) or {*fields} & {*keys}:
        return "", ()
    values, key = ", ".join(_set(fields)), " AND ".join(_set(keys))
    return f"UPDATE {_table(model)} SET {values} WHERE {key}", (*fields, *keys)  # noqa: S608


def _is_special(field: Any) -> bool:
    """Whether the database fills the column in, or the field has a placeholder of its own."""
    return field.column is None or field.generated or hasattr(field, "get_placeholder")


def _set(fields: Sequence[Any]) -> list[str]:
    return [f"{_quoted(field)} = %s" for field in fields]


def _quoted(field: Any) -> str:
    return connection.ops.quote_name(field.column)


def _table(model: type[models.Model]) -> str:
    return connection.ops.quote_name(model._meta.db_table)
