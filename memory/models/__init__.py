"""The tables of the ledger. Entries are not re-exported: only the ledger and the adapter import them."""

from memory.models import entry as entry
from memory.models.background import Pass, PassState
from memory.models.forget import ForgetRequest, ForgetState

__all__ = [
    "ForgetRequest",
    "ForgetState",
    "Pass",
    "PassState",
]
