"""What a node of a replay sees: the memory that its source run was given, and the ids of what it wrote.

Nothing here reads the ledger and nothing writes it. What the record does not hold is an error, never a guess.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from memory import kept_reads
from memory.adapter import Injection
from memory.host import event_log
from memory.host.events import MemoryWritten
from memory.host.models import ForkMode, Run
from memory.kept_reads import Served
from openwop_console.runtime.run_memory import getting, listing


class SourceMissing(Exception):
    """The record does not hold, or not any more, what the node needs."""


class Diverged(Exception):
    """The node did something else than its source run has on record; ``kind`` is one of the contract's four words."""

    def __init__(self, kind: str) -> None:
        self.kind = kind
        super().__init__(kind)


def is_told(run: Run, sequence: int) -> bool:
    """Whether the fact is one that ``run`` was told: it happened in the run that ``run`` comes from, and what its node
    read and resolved is kept with that one."""
    return run.fork_mode == ForkMode.REPLAY or sequence < (run.from_seq or 0)


@dataclass(slots=True)
class RecordedMemory:
    """``ctx.memory`` of a replay: each read is answered as it was, and each write is the one on the source's log."""

    served: list[Served]
    written: list[dict[str, Any]]
    reads: int = 0
    writes: int = 0

    @classmethod
    def of(cls, source: Run, node_id: str, *, before: int) -> "RecordedMemory":
        """What the source run's node was given and wrote before it was done, at the sequence ``before``."""
        facts = event_log.of_node(source.tenant_id, source.id, node_id, MemoryWritten.type, before=before)
        return cls(kept_reads.of_node(source.tenant_id, source.id, node_id), facts)

    def list(
        self,
        memory_ref: str,
        *,
        limit: int = 0,
        tag: str = "",
        token_budget: int = 0,
        rank: str = "",
        query: str = "",
    ) -> Sequence[dict[str, Any]]:
        return self._answer(listing(memory_ref, limit=limit, tag=tag, wanted=Injection(token_budget, rank, query)))

    def get(self, memory_ref: str, memory_id: str) -> dict[str, Any] | None:
        found = self._answer(getting(memory_ref, memory_id))
        return found[0] if found else None

    def _answer(self, request: str) -> Sequence[dict[str, Any]]:
        if self.reads == len(self.served):
            raise SourceMissing
        read = self.served[self.reads]
        if read.request_sha256 != request:
            raise Diverged("type-mismatch")
        if read.documents is None:
            raise SourceMissing
        self.reads += 1
        return read.documents

    def write(
        self,
        memory_ref: str,
        content: str,
        *,
        tags: Sequence[str] = (),
        subject: str = "",
        expires_at: datetime | None = None,
        now: datetime | None = None,
    ) -> str:
        """The id of what the source run wrote; nothing is written."""
        if self.writes == len(self.written):
            raise Diverged("extra")
        fact = self.written[self.writes]
        if fact["memoryRef"] != memory_ref:
            raise Diverged("output")
        self.writes += 1
        return str(fact["memoryId"])

    def require_all_done(self) -> None:
        """Refuse a node that read or wrote less than its source run has on record."""
        if self.writes < len(self.written) or self.reads < len(self.served):
            raise Diverged("missing")
