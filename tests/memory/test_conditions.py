"""Conditions on a table's own columns are added to a query without the ORM, and are the ORM's to the letter."""

from datetime import UTC, datetime
from typing import Any

import pytest
from django.apps import apps
from django.db import models
from django.db.models import Exists, F, OuterRef, Q, Value

from memory.host import ids
from memory.host.models import Run, Tenant, conditions
from memory.host.models.base import Guarded
from memory.models import Pass
from tests import building

pytestmark = [pytest.mark.django_db, pytest.mark.engines]
TENANT, RUN, NOW = ids.new_id(), ids.new_id(), datetime(2026, 11, 3, 12, tzinfo=UTC)
GUARDED = [model for model in apps.get_models() if issubclass(model, Guarded) and not model._meta.proxy]


def by_the_orm(queryset: Any, **values: object) -> Any:
    """The same filter, as Django's own queryset makes it."""
    return models.QuerySet.filter(queryset, **values)


def statement(queryset: Any) -> str:
    """What is sent to the database: psycopg's wrappers of values are equal in their words alone."""
    return repr(queryset.query.sql_with_params())


def sample(field: Any) -> Any:
    """A value of the field's column."""
    kind = field.target_field if field.is_relation else field
    by_type = {models.UUIDField: RUN, models.DateField: NOW, models.BooleanField: True}
    for of_type, value in by_type.items():
        if isinstance(kind, of_type):
            return value
    return 7 if isinstance(kind, models.IntegerField) else "text"


def test_the_condition_on_each_column_of_each_table_is_the_orm_s() -> None:
    compared = 0
    for model in GUARDED:
        columns = [each for each in model._meta.local_concrete_fields if not isinstance(each, models.BinaryField)]
        for field in columns:
            values = {each.attname: sample(each) for each in (field, columns[0])}
            quick = conditions.add_equalities(model._default_manager.all(), values)
            slow = by_the_orm(model._default_manager.all(), **values)
            assert quick is not None, field
            assert statement(quick) == statement(slow), field
            assert [type(each) for each in quick.query.where.children] == [
                type(each) for each in slow.query.where.children
            ], field
            compared += 1
    assert compared > 500


def test_a_chain_of_filters_is_the_orm_s_whatever_comes_before_and_after() -> None:
    runs, values = Run.objects.all(), {"tenant_id": TENANT, "status": "running"}

    def chains(queryset: Any, narrowed: Any) -> list[Any]:
        other = Pass.objects.filter(tenant_id=OuterRef("tenant_id"), run_id=OuterRef("id"))
        return [
            narrowed(narrowed(queryset, **values), workflow_id="w"),
            narrowed(queryset.exclude(status="failed"), **values).order_by("-id")[:3],
            narrowed(queryset.filter(Q(status="failed") | Q(status="completed")), **values),
            narrowed(queryset.filter(tenant__slug="acme"), **values),
            narrowed(queryset, **values).filter(tenant__slug="acme").select_related("tenant"),
            narrowed(queryset.annotate(passed=Exists(other)), **values).filter(passed=True),
            narrowed(queryset.values("status"), **values).annotate(many=models.Count("id")),
            narrowed(queryset.filter(Q(status="failed")) | queryset.filter(status="completed"), **values),
            narrowed(queryset, **values) & queryset.filter(workflow_id="w"),
        ]

    for ours, theirs in zip(chains(runs, type(runs).filter), chains(runs, by_the_orm), strict=True):
        assert statement(ours) == statement(theirs)


@pytest.mark.parametrize(
    "value",
    [None, F("workflow_id"), Value("x"), OuterRef("id"), ["a"], Run.objects.none()],
    ids=lambda value: type(value).__name__,
)
def test_what_is_no_plain_value_is_left_to_the_orm(value: object) -> None:
    assert conditions.add_equalities(Run.objects.all(), {"status": value}) is None


def test_what_is_no_column_or_no_plain_query_is_left_to_the_orm() -> None:
    for name in ("status__in", "tenant", "tenant__slug", "pk", "nothing"):
        assert conditions.add_equalities(Run.objects.all(), {name: "x"}) is None, name
    runs = Run.objects.all()
    for queryset in (
        runs[:3],
        runs.union(runs),
        runs.annotate(n=Value(1)),
        runs.filter(tenant__slug="acme"),
        runs.filter(status="failed") | runs.filter(status="completed"),
    ):
        assert conditions.add_equalities(queryset, {"status": "failed"}) is None
    with pytest.raises(TypeError, match="Cannot filter a query once a slice has been taken"):
        runs[:3].filter(status="failed")


def test_a_queryset_that_is_narrowed_stays_what_it_was_and_keeps_its_writer() -> None:
    acme, globex = building.tenant(), building.tenant("globex")
    everyone = Tenant.objects.all()
    narrowed = everyone.filter(slug="acme")
    assert list(narrowed) == [acme]
    assert set(everyone) == {acme, globex}
    assert Run.objects.written_by(Run.writer).filter(status="failed").update(status="failed") == 0
