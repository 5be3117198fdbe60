"""What agents that run elsewhere state: where a write came from, and the runs that they speak of."""

from django.db import models
from django.db.models import Q

from memory import origins
from memory.host.json_types import JSONObject
from memory.host.models import Personal, TenantFK, TenantOwned, tenant_link
from memory.host.models.base import PRINCIPAL, STATE
from memory.origins import MAX_TEXT, Origin


class EntryOrigin(TenantOwned):
    """One write of an entry in the words of the agent that made it. ``run_id`` and ``sequence`` locate its
    ``memory.written``; ``current`` is the last write of the entry. ``more`` has the fields that no list filters by.

    Most entries have none, which is why these are no columns of the entry.
    """

    writer = "memory.ledger"
    personal = Personal(
        "stated origins of entries", ("system", "run_ref", "thread_id", "node", "more"), page=("mem", "entry_id")
    )

    entry_id = models.UUIDField()
    run_id = models.UUIDField()
    sequence = models.BigIntegerField()
    current = models.BooleanField(default=True)
    system = models.CharField(max_length=MAX_TEXT)
    run_ref = models.CharField(max_length=MAX_TEXT, default="", blank=True)
    thread_id = models.CharField(max_length=MAX_TEXT, default="", blank=True)
    node = models.CharField(max_length=MAX_TEXT, default="", blank=True)
    more = models.JSONField(default=dict)

    entry = tenant_link("memory.MemoryEntry", "entry_id", related_name="origins")

    @property
    def origin(self) -> Origin:
        members = {"system": self.system, "runId": self.run_ref, "threadId": self.thread_id, "node": self.node}
        return origins.of_document(members | self.more)

    class Meta:
        constraints = (
            models.UniqueConstraint(fields=("tenant", "run_id", "sequence"), name="a_write_has_one_origin"),
            models.UniqueConstraint(
                fields=("tenant", "entry_id"), condition=Q(current=True), name="an_entry_has_one_last_origin"
            ),
            TenantFK(
                column="entry_id",
                to="memory_memoryentry",
                name="an_origin_is_of_an_entry_of_its_tenant",
                on_delete="CASCADE",
            ),
            TenantFK(column="run_id", to="host_run", name="an_origin_stands_on_a_run_of_its_tenant"),
        )
        indexes = (
            models.Index(fields=("tenant", "entry_id", "id"), name="memory_origin_entry"),
            *(
                models.Index(
                    fields=("tenant", name, "entry_id"), condition=Q(current=True), name=f"memory_origin_{name}"
                )
                for name in ("system", "run_ref", "thread_id", "node")
            ),
        )


class ExternalRun(TenantOwned):
    """A run that an agent executes elsewhere, as it states; its key is that of the run here that has its log.

    ``ref`` is the agent system's own id of the run, or of the thread where no run was named (``by_thread``); both are
    empty where neither was. ``ended_by`` is empty while the run is open: one run of an agent, a system and a ref is.
    ``principal`` is set where neither an agent nor a ref was stated: the writes of two keys are two runs then.
    ``due_at`` is when to check next whether it has gone silent.
    """

    writer = "memory.external_runs"
    personal = Personal(
        "runs of agents elsewhere",
        ("agent_id", "system", "ref", "thread_id"),
        page=("run", "id"),
        unnamed=("agent_id", "system", "ref", "thread_id"),  # two open runs never come to look the same
    )
    impersonal = {"ended_by": STATE, "principal": PRINCIPAL}
    ENDED_BY = (("agent", "agent"), ("silence", "silence"))

    agent_id = models.CharField(max_length=256, default="", blank=True)
    system = models.CharField(max_length=MAX_TEXT, default="", blank=True)
    ref = models.CharField(max_length=MAX_TEXT, default="", blank=True)
    by_thread = models.BooleanField(default=False)
    thread_id = models.CharField(max_length=MAX_TEXT, default="", blank=True)
    principal = models.CharField(max_length=64, default="", db_default="", blank=True)
    ended_by = models.CharField(max_length=8, choices=ENDED_BY, default="", blank=True)
    due_at = models.DateTimeField()

    run = tenant_link("host.Run", "id")

    @property
    def name(self) -> str:
        """What lists call the run: the system, and its own id of the run or thread."""
        return ": ".join(filter(None, (self.system, self.ref))) or "An agent elsewhere"

    @property
    def document(self) -> JSONObject:
        """The run as its agent names it, without what was not said."""
        thread_id = self.thread_id or (self.ref if self.by_thread else "")
        said = {"system": self.system, "runId": "" if self.by_thread else self.ref, "threadId": thread_id}
        return {name: text for name, text in said.items() if text}

    class Meta:
        constraints = (
            TenantFK(column="id", to="host_run", name="an_external_run_is_a_run_of_its_tenant"),
            models.UniqueConstraint(
                fields=("tenant", "agent_id", "system", "ref", "by_thread", "principal"),
                condition=Q(ended_by=""),
                name="a_run_elsewhere_is_open_once",
            ),
        )
        indexes = (models.Index(fields=("tenant", "due_at"), condition=Q(ended_by=""), name="memory_external_due"),)
