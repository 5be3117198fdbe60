"""JSON values and texts beside the log as stores of a forget: of runs, interrupts, passes, schedules and work."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, ClassVar
from uuid import UUID

from django.db import transaction
from django.db.models import CharField, JSONField, TextField

from memory import masking, passes, policies
from memory.host import heartbeats, ids, interrupts, runs, scheduling, sql
from memory.host.erasure import Holding, Identifiers, Remains
from memory.host.models import Heartbeat, Interrupt, InterruptVote, Run, Schedule
from memory.models import (
    Agent,
    Assignment,
    Coordinator,
    Grant,
    Intent,
    MemoryPolicy,
    Namespace,
    Pass,
    PassSchedule,
    Task,
)
from memory.text.matching import Rule, is_exact, judged, mentioned_in, rule_for, texts_in, whole_text, without_subject

GOES_ON = frozenset({"inputs", "prior_state"})
Keep = Callable[..., None]
IDS = frozenset({"agent_id", "assigned_agent", "created_by", "granted_by"})
STORES = (
    ("agents", Agent),
    ("assignments", Assignment),
    ("coordinators", Coordinator),
    ("grants", Grant),
    ("intents", Intent),
    ("namespaces", Namespace),
    ("tasks", Task),
)


# Stores of a forget that keep JSON values beside the log: rows of a table, some columns of which may name the subject.
#
# A string that names the subject is replaced as a whole. The second look goes over the columns of every row as one
# text. It leaves out the other columns of the table: they belong to another store, or hold the host's own words, which
# would stay undecided for ever where a name is a part of them (Ted of "completed").


class KeptValues:
    """What such stores share; each brings its table, its columns, and how one row is written.

    ``opens`` is the prefix of what has a page, and the column that holds its id; no prefix when nothing has.
    """

    store: str
    table: ClassVar[Any]
    columns: ClassVar[tuple[str, ...]]
    chunk: ClassVar[int] = sql.CHUNK
    opens: ClassVar[tuple[str, str]] = ("", "id")

    # Whether a row that names the subject goes as a whole, or loses the values that do.
    goes_whole: ClassVar[bool] = False

    @property
    def covers(self) -> Mapping[str, tuple[str, ...]]:
        """The columns that it looks through, by table."""
        return {self.table._meta.db_table: self.columns}

    def find(self, tenant_id: UUID, subject: Identifiers) -> Holding:
        """A row with an exact and a suspected mention is both, when the second would still be there without the first:
        then a person decides about it."""
        exact, suspected = [], []
        for row, values in self._mentions(tenant_id, subject):
            rest = values
            if mentioned_in(subject.terms, values, is_exact):
                exact.append(row)
                rest = self.left_of(values, subject)
            if mentioned_in(subject.terms, rest):
                suspected.append(row)
        return Holding(self.store, tuple(exact), tuple(suspected))

    def left_of(self, values: list[Any], subject: Identifiers) -> Any:
        """What is left of a row's values when the exact mentions have gone."""
        return [] if self.goes_whole else without_subject(subject.terms, values, is_exact)

    def _mentions(self, tenant_id: UUID, subject: Identifiers) -> Iterable[tuple[UUID, list[Any]]]:
        rows = self.table.objects.of(tenant_id).order_by("id").values_list("id", *self.columns)
        for row, *values in rows.iterator(chunk_size=self.chunk):
            if mentioned_in(subject.terms, values):
                yield row, values

    def texts(self, tenant_id: UUID, rows: Sequence[UUID]) -> dict[UUID, list[str]]:
        found = self.table.objects.of(tenant_id).filter(id__in=rows).values_list("id", *self.columns)
        return {row: list(texts_in(values)) for row, *values in found}

    def found_in(self, tenant_id: UUID, rows: Sequence[UUID]) -> dict[UUID, str]:
        prefix, column = self.opens
        if not prefix:
            return {}
        found = self.table.objects.of(tenant_id).filter(id__in=rows).values_list("id", column)
        return {row: ids.wire(prefix, of) for row, of in found}

    def remains(
        self, tenant_id: UUID, subject: Identifiers, *, chosen: frozenset[UUID], spared: frozenset[UUID]
    ) -> Remains:
        """Over all columns of every row, as one text."""
        rows = self.table.objects.of(tenant_id).order_by("id").values_list("id", *self.columns)
        texts = ((row, whole_text(values)) for row, *values in rows.iterator(chunk_size=self.chunk))
        return judged(subject.terms, texts, chosen, spared)

    def cleaned(self, row: Any, subject: Identifiers, rule: Rule) -> dict[str, Any]:
        """The columns of ``row`` that have to change, with the values they are to have."""
        before = {name: getattr(row, name) for name in self.columns}
        after = {name: without_subject(subject.terms, value, rule) for name, value in before.items()}
        return {name: value for name, value in after.items() if value != before[name]}


class RowByRow(KeptValues, ABC):
    """Those of which each row is written by itself, in a transaction of its own."""

    def erase(
        self, tenant_id: UUID, subject: Identifiers, rows: tuple[UUID, ...], *, ticked: bool, now: datetime
    ) -> int:
        rule = rule_for(ticked=ticked)
        return sum(self.erase_one(tenant_id, row, subject, rule) for row in rows)

    @abstractmethod
    def erase_one(self, tenant_id: UUID, row_id: UUID, subject: Identifiers, rule: Rule) -> int:
        """The row names the subject no more; how many rows were changed for it, or are gone."""


# Runs as a store of a forget: the inputs, variables, options and labels that are kept beside the log.
#
# The event log itself is content-free and stays as it was (RFC 0080).


class RunValues(RowByRow):
    """Values that runs keep."""

    store = "run inputs and variables"
    table = Run
    columns = ("inputs", "variables", "metadata", "configurable", "tags", "workspace", "scope_id", "agent_id", "error")
    opens = ("run", "id")

    def texts(self, tenant_id: UUID, rows: Sequence[UUID]) -> dict[UUID, list[str]]:
        """Without what the workflow declares sensitive, as on the page of the run."""
        found = Run.objects.of(tenant_id).filter(id__in=rows).select_related("definition")
        return {
            row.id: list(texts_in([masking.of_run(row).value(getattr(row, name)) for name in self.columns]))
            for row in found
        }

    def erase_one(self, tenant_id: UUID, row_id: UUID, subject: Identifiers, rule: Rule) -> bool:
        with transaction.atomic():
            if not Run.objects.of(tenant_id).filter(id=row_id).exists():
                return False
            run = runs.locked(tenant_id, row_id)
            changed = self.cleaned(run, subject, rule)
            if changed:
                runs.erase_kept(run, **changed)
        return bool(changed)


RUN_VALUES = RunValues()


# Interrupts as a store of a forget: what was asked, what was answered, and who was named to decide.
#
# The event log holds ids and the words of workflow definitions alone, and stays as it was (RFC 0080).


class InterruptValues(RowByRow):
    """Questions and answers of runs."""

    store = "questions and answers of runs"
    table = Interrupt
    columns = ("data", "resume_value", "policy")
    opens = ("run", "run_id")

    def texts(self, tenant_id: UUID, rows: Sequence[UUID]) -> dict[UUID, list[str]]:
        """Without what the workflow declares sensitive, as on the page of the run."""
        found = Interrupt.objects.of(tenant_id).filter(id__in=rows).select_related("run__definition")
        return {
            row.id: list(texts_in([masking.of_run(row.run).value(getattr(row, name)) for name in self.columns]))
            for row in found
        }

    @transaction.atomic
    def erase_one(self, tenant_id: UUID, row_id: UUID, subject: Identifiers, rule: Rule) -> bool:
        """Under the lock of the run, as every change of an interrupt."""
        found: Interrupt | None = Interrupt.objects.of(tenant_id).filter(id=row_id).first()
        if found is None:
            return False
        runs.locked(tenant_id, found.run_id)
        interrupt: Interrupt = Interrupt.objects.of(tenant_id).get(id=row_id)
        changed = self.cleaned(interrupt, subject, rule)
        if changed:
            interrupts.erase_kept(interrupt, **changed)
        return bool(changed)


class Voters(RowByRow):
    """Whose voices were counted: persons by their ids, and names that a test of the protocol gave."""

    store = "voices at questions of runs"
    table = InterruptVote
    columns = ("voter",)

    @transaction.atomic
    def erase_one(self, tenant_id: UUID, row_id: UUID, subject: Identifiers, rule: Rule) -> bool:
        vote: InterruptVote | None = InterruptVote.objects.of(tenant_id).select_for_update().filter(id=row_id).first()
        changed = self.cleaned(vote, subject, rule) if vote else {}
        if vote and changed:
            interrupts.erase_voter(vote, f"forgotten-{vote.id.hex}")
        return bool(changed)


INTERRUPT_VALUES, VOTERS = InterruptValues(), Voters()


# Passes and their schedules as stores of a forget: the ref they go over, what they were asked, and what they told.
#
# A pass that was over a ref with the subject's name stays on record, over a ref that nobody has; a schedule of it
# rests.


class PassValues(KeptValues):
    """Values that passes keep."""

    store = "passes"
    table: ClassVar[Any] = Pass
    columns: ClassVar[tuple[str, ...]] = ("memory_ref", "options", "outcome", "doing")

    def erase(
        self, tenant_id: UUID, subject: Identifiers, rows: tuple[UUID, ...], *, ticked: bool, now: datetime
    ) -> int:
        rule = rule_for(ticked=ticked)
        with transaction.atomic():
            locked = self.table.objects.of(tenant_id).select_for_update().filter(id__in=rows).order_by("id")
            found = [(row, self.cleaned(row, subject, rule)) for row in locked]
            changed = [(row, values) for row, values in found if values]
            for row, values in changed:
                self.write(row, self._renamed(row, values))
        return len(changed)

    def _renamed(self, row: Any, values: dict[str, Any]) -> dict[str, Any]:
        """A ref that had to go is replaced by one that no other row has."""
        return {**values, "memory_ref": f"forgotten-{row.id.hex}"} if "memory_ref" in values else values

    def write(self, row: Any, values: dict[str, Any]) -> None:
        passes.erase_kept(row, **values)


class PassScheduleValues(PassValues):
    """Values that schedules of passes keep. Their writer stands on a higher floor and is handed in by ``apps``."""

    store = "pass schedules"
    table = PassSchedule
    columns = ("memory_ref", "options")

    def __init__(self, keep: Callable[..., None]) -> None:
        self._keep = keep

    def write(self, row: Any, values: dict[str, Any]) -> None:
        self._keep(row, **values, enabled=False, next_at=None)


PASS_VALUES = PassValues()


# Schedules and heartbeats as stores of a forget: what they are called, what they start runs with, what was seen.
#
# One whose name, workflow or predicate spoke of the subject is not what it was any more, and stands still.


class Timed(KeptValues, ABC):
    """What both share: the rows are locked, and a name that had to go is replaced by one that nobody else has."""

    def erase(
        self, tenant_id: UUID, subject: Identifiers, rows: tuple[UUID, ...], *, ticked: bool, now: datetime
    ) -> int:
        with transaction.atomic():
            locked = self.table.objects.of(tenant_id).select_for_update().filter(id__in=rows).order_by("id")
            found = [(row, self._changes(row, subject, rule_for(ticked=ticked))) for row in locked]
            changed = [(row, values) for row, values in found if values]
            for row, values in changed:
                self.write(row, values)
        return len(changed)

    def _changes(self, row: Any, subject: Identifiers, rule: Rule) -> dict[str, Any]:
        changes = self.cleaned(row, subject, rule)
        if "name" in changes:
            changes["name"] = f"forgotten-{row.id.hex}"
        return changes | ({"enabled": False, "next_at": None} if changes.keys() - GOES_ON else {})

    @abstractmethod
    def write(self, row: Any, values: dict[str, Any]) -> None:
        """The locked row has these values from here on."""


class ScheduleValues(Timed):
    """Values that schedules keep."""

    store = "schedules"
    table = Schedule
    columns = ("name", "workflow_id", "agent_id", "inputs")

    def write(self, row: Any, values: dict[str, Any]) -> None:
        scheduling.erase_kept(row, **values)


class HeartbeatValues(Timed):
    """Values that heartbeats keep."""

    store = "heartbeats"
    table = Heartbeat
    columns = ("name", "workflow_id", "predicate", "inputs", "prior_state")

    def write(self, row: Any, values: dict[str, Any]) -> None:
        heartbeats.erase_kept(row, **values)


SCHEDULE_VALUES = ScheduleValues()


HEARTBEAT_VALUES = HeartbeatValues()


# The memory policy as a store of a forget: a workflow, an address, a model or a secret may be called after somebody.
#
# What named the subject is empty then; an endpoint that lost a part of itself distils no more.


class PolicyValues(KeptValues):
    """Values that the policy keeps."""

    store = "memory policy"
    table = MemoryPolicy
    columns = ("commitment_workflow", "endpoint_url", "endpoint_model", "endpoint_secret")

    def erase(
        self, tenant_id: UUID, subject: Identifiers, rows: tuple[UUID, ...], *, ticked: bool, now: datetime
    ) -> int:
        found = MemoryPolicy.objects.of(tenant_id).filter(id__in=rows).first()
        named = set(self.cleaned(found, subject, rule_for(ticked=ticked))) if found else set()
        return policies.clear(tenant_id, named) if named else 0


POLICY_VALUES = PolicyValues()


# Agents, intents, tasks, coordinators, grants and namespaces as stores of a forget: every text that they keep.
#
# A row stays what it is to the others: an id that named the subject is replaced by one that nobody else has, and a list
# loses the item. Their writers stand on a higher floor and are handed in by ``apps``.


class WorkValues(RowByRow):
    """One of these tables, in all columns that hold words."""

    def __init__(self, store: str, table: Any, keep: Keep) -> None:
        fields = [each for each in table._meta.concrete_fields if isinstance(each, CharField | TextField | JSONField)]
        self.store = store
        self.table = table  # type: ignore[misc]  # one class for seven tables
        self.columns = tuple(each.attname for each in fields if not each.choices)  # type: ignore[misc]
        self._keep = keep

    @transaction.atomic
    def erase_one(self, tenant_id: UUID, row_id: UUID, subject: Identifiers, rule: Rule) -> bool:
        row = self.table.objects.of(tenant_id).select_for_update().filter(id=row_id).first()
        changed = self.cleaned(row, subject, rule) if row else {}
        for name in changed:
            before = getattr(row, name)
            if self._is_id(name):
                changed[name] = f"forgotten-{row.id.hex}"
            elif isinstance(before, list):
                changed[name] = [each for each in before if not mentioned_in(subject.terms, each, rule)]
        if changed:
            self._keep(row, **changed)
        return bool(changed)

    def _is_id(self, name: str) -> bool:
        return name in IDS or (self.table is Namespace and name == "name")


def stores(keep_work: Keep, keep_namespace: Keep) -> list[WorkValues]:
    """One store for each table."""
    return [WorkValues(store, table, keep_namespace if table is Namespace else keep_work) for store, table in STORES]
