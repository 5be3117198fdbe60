"""Recordings and notes kept with the log: memory reads, outside calls, texts of events of RFC-0015.

The log holds ids alone and cannot be erased; a forget reaches what is here.
"""

from django.db import models

from memory.host.models import Personal, TenantFK, TenantOwned, tenant_link
from memory.host.models.base import DIGEST, KIND, NODE, STATE


class KeptContent(TenantOwned):
    """A text that some run read; one row a digest. ``text`` is null when it was forgotten: the digest stays."""

    writer = "memory.recordings"
    personal = Personal(
        "recorded reads", ("text",), json_text=("text",), blanked={"text": None}
    )  # a replay that needs the text is refused from then on
    impersonal = {"sha256": DIGEST}

    sha256 = models.CharField(max_length=64)
    text = models.TextField(null=True)
    kept_at = models.DateTimeField()

    class Meta:
        constraints = (models.UniqueConstraint(fields=("tenant", "sha256"), name="a_text_is_kept_once"),)


class KeptRead(TenantOwned):
    """One read of one node of one run: what was asked, by digest, and what was answered, by digest and in order."""

    writer = "memory.recordings"
    impersonal = {"contents": "digests of kept texts", "node_id": NODE, "request_sha256": DIGEST}

    run_id = models.UUIDField()
    node_id = models.CharField(max_length=256)
    ordinal = models.PositiveIntegerField()
    request_sha256 = models.CharField(max_length=64)
    contents = models.JSONField(default=list)

    run = tenant_link("host.Run", "run_id")

    class Meta:
        constraints = (
            models.UniqueConstraint(
                fields=("tenant", "run_id", "node_id", "ordinal"), name="a_read_of_a_node_is_kept_once"
            ),
            TenantFK(column="run_id", to="host_run", name="a_read_belongs_to_a_run_of_its_tenant"),
        )


class EntryRead(TenantOwned):
    """A node of a run was served this entry, once or more. Ids alone, which rise with the time of the first read.

    Lives as long as the run: the entry may be gone.
    """

    writer = "memory.recordings"
    impersonal = {"node_id": NODE}

    entry_id = models.UUIDField()
    run_id = models.UUIDField()
    node_id = models.CharField(max_length=256)
    read_at = models.DateTimeField()

    run = tenant_link("host.Run", "run_id")

    class Meta:
        constraints = (
            models.UniqueConstraint(
                fields=("tenant", "run_id", "node_id", "entry_id"), name="a_node_reads_an_entry_once"
            ),
            TenantFK(column="run_id", to="host_run", name="a_read_entry_is_of_a_run_of_its_tenant"),
        )
        indexes = (models.Index(fields=("tenant", "entry_id", "id"), name="memory_entryread_entry"),)


class EventNote(TenantOwned):
    """The text of an event of RFC-0015, kept apart from the log and joined when the event is read.

    Namespaces, keys, tags, and the values of an archive may name a person, and the log cannot be erased: a forget
    blanks ``body`` here.
    """

    writer = "memory.event_notes"
    personal = Personal(
        "notes beside the event log",
        ("body",),
        page=("run", "stream_id"),
        at_once=16,  # a snapshot may have a megabyte
    )

    stream_id = models.UUIDField()
    sequence = models.BigIntegerField()
    body = models.JSONField(default=dict)

    stream = tenant_link("host.Stream", "stream_id")

    class Meta:
        constraints = (
            models.UniqueConstraint(fields=("tenant", "stream_id", "sequence"), name="an_event_has_one_note"),
            TenantFK(column="stream_id", to="host_stream", name="a_note_is_on_a_stream_of_its_tenant"),
        )


class CallState(models.TextChoices):
    SENT = "sent"
    DONE = "done"
    FAILED = "failed"
    LOST = "lost"


class KeptCall(TenantOwned):
    """One call of one node of one run, each time that it was sent: the request and the answer.

    ``ordinal`` is the number of the call within the node. A call whose worker died is ``lost``; the repeated call has
    another id.
    """

    writer = "memory.recordings"
    personal = Personal("calls of nodes", ("request", "answer"), page=("run", "run_id"), sensitive_of="run", at_once=16)
    impersonal = {"node_id": NODE, "kind": KIND, "state": STATE}

    run_id = models.UUIDField()
    node_id = models.CharField(max_length=256)
    ordinal = models.PositiveSmallIntegerField()
    kind = models.CharField(max_length=32)
    state = models.CharField(max_length=6, choices=CallState)
    request = models.JSONField(default=dict)
    answer = models.JSONField(null=True)

    run = tenant_link("host.Run", "run_id")

    class Meta:
        constraints = (
            models.UniqueConstraint(
                fields=("tenant", "run_id", "node_id", "ordinal"),
                condition=models.Q(state=CallState.DONE),
                name="a_call_of_a_node_is_answered_once",
            ),
            TenantFK(column="run_id", to="host_run", name="a_call_belongs_to_a_run_of_its_tenant"),
        )
        indexes = (models.Index(fields=("tenant", "run_id", "node_id"), name="calls_of_a_node"),)
