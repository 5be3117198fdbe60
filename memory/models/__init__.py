"""The tables of the ledger. Entries and addresses are not re-exported: only the ledger and the adapter import them."""

from memory.models import address as address
from memory.models import entry as entry
from memory.models.archive import Archive, ArchiveState
from memory.models.commitment import Commitment, CommitmentState, CommitmentWatch, Condition, Firing
from memory.models.entry import has_ephemeral_entries
from memory.models.forget import Decision, ForgetHold, ForgetRequest, ForgetState, Suspect
from memory.models.kept import CallState, EntryRead, EventNote, KeptCall, KeptContent, KeptRead
from memory.models.origin import EntryOrigin, ExternalRun
from memory.models.passes import (
    Distillate,
    ExportPart,
    Lineage,
    LineageKind,
    LookAlike,
    MemoryPolicy,
    Pass,
    PassSchedule,
    PassState,
    Reconciled,
    Trigger,
    UploadPart,
    Verb,
)
from memory.models.vectors import VectorSpace
from memory.models.work import Agent, Assignment, Coordinator, Grant, Intent, Namespace, Task
from memory.models.workspace import Workspace, WorkspaceFile

__all__ = [
    "Agent",
    "Archive",
    "ArchiveState",
    "Assignment",
    "CallState",
    "Commitment",
    "CommitmentState",
    "CommitmentWatch",
    "Condition",
    "Coordinator",
    "Decision",
    "Distillate",
    "EntryOrigin",
    "EntryRead",
    "EventNote",
    "ExportPart",
    "ExternalRun",
    "Firing",
    "ForgetHold",
    "ForgetRequest",
    "ForgetState",
    "Grant",
    "Intent",
    "KeptCall",
    "KeptContent",
    "KeptRead",
    "Lineage",
    "LineageKind",
    "LookAlike",
    "MemoryPolicy",
    "Namespace",
    "Pass",
    "PassSchedule",
    "PassState",
    "Reconciled",
    "Suspect",
    "Task",
    "Trigger",
    "UploadPart",
    "VectorSpace",
    "Verb",
    "Workspace",
    "WorkspaceFile",
    "has_ephemeral_entries",
]
