"""The tables of the ledger. Entries are not re-exported: only the ledger and the adapter import them."""

from memory.models import entry as entry
from memory.models.background import Pass, PassState
from memory.models.forget import ForgetRequest, ForgetState
from memory.models.kept import KeptContent, KeptRead
from memory.models.workspace import Workspace, WorkspaceFile

__all__ = [
    "ForgetRequest",
    "ForgetState",
    "KeptContent",
    "KeptRead",
    "Pass",
    "PassState",
    "Workspace",
    "WorkspaceFile",
]
