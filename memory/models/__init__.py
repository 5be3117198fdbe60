"""The tables of the ledger. Entries are not re-exported: only the ledger and the adapter import them."""

from memory.models import entry as entry
from memory.models.archive import Archive, ArchiveState
from memory.models.background import (
    Distillate,
    MemoryPolicy,
    Pass,
    PassSchedule,
    PassState,
    Reconciled,
    Trigger,
)
from memory.models.commitment import Commitment, CommitmentState, CommitmentWatch, Condition, Firing
from memory.models.forget import ForgetRequest, ForgetState
from memory.models.kept import KeptContent, KeptRead
from memory.models.lineage import Lineage, LineageKind
from memory.models.workspace import Workspace, WorkspaceFile

__all__ = [
    "Archive",
    "ArchiveState",
    "Commitment",
    "CommitmentState",
    "CommitmentWatch",
    "Condition",
    "Distillate",
    "Firing",
    "ForgetRequest",
    "ForgetState",
    "KeptContent",
    "KeptRead",
    "Lineage",
    "LineageKind",
    "MemoryPolicy",
    "Pass",
    "PassSchedule",
    "PassState",
    "Reconciled",
    "Trigger",
    "Workspace",
    "WorkspaceFile",
]
