"""The checksum of an archive computed anew, and the archive itself where its sources are as they were (RFC 0062 B.4).

Nothing is written. An endpoint is not asked again, and a large ref is not read again while somebody waits.
"""

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

import rfc8785

from memory import adapter, archives, passes, policies
from memory.distillation import gathering, making
from memory.distillation.making import Commission
from memory.distillation.options import Asked
from memory.host import tenancy
from memory.host.tenancy import MemoryScope, TenantScope
from memory.models import Archive
from memory.policies import ENDPOINT
from memory.text import distillers

MOST = 2_000


@dataclass(frozen=True, slots=True)
class Comparison:
    """The checksum on record beside the one of the bytes as they are; ``canonical`` when they are RFC 8785's form.

    ``anew`` is that of the same sources distilled once more; None when they are not the same any more, or it was not
    tried.
    """

    recorded: str
    computed: str
    canonical: bool
    anew: str | None

    @property
    def agrees(self) -> bool:
        return self.recorded == self.computed and self.canonical

    @property
    def comes_out_again(self) -> bool:
        return self.anew in (None, self.recorded)


def compare(scope: TenantScope, archive_id: UUID | None, *, clock: Callable[[], datetime]) -> Comparison:
    """The archive's checksum, computed of the stored bytes, and of the same work done anew where that is possible."""
    row = archives.find(scope, archive_id)
    body = bytes(row.body)
    canonical = rfc8785.dumps(json.loads(body)) == body
    return Comparison(row.sha256, hashlib.sha256(body).hexdigest(), canonical, _anew(row, clock))


def _anew(row: Archive, clock: Callable[[], datetime]) -> str | None:
    work = passes.of_run(row.tenant_id, row.run_id)
    scope = tenancy.memory_scope(tenancy.host_scope(work.run.tenant), work.memory_ref) if work else None
    policy = policies.policy_of(row.tenant_id)
    if work is None or scope is None or row.keep_until is None or policy.distiller == ENDPOINT:
        return None
    if not _is_small(scope, row, clock()):
        return None
    asked = Asked.of(work.options)
    gathered = gathering.read(None, scope, asked, row.keep_until, clock)
    commission = Commission(work, scope, gathered, asked, policy, row.keep_until)
    if commission.sources_sha256 != row.sources_sha256:
        return None
    plan = distillers.distil(gathered.sources, asked.budget)
    return hashlib.sha256(making.body(commission, plan)).hexdigest()


def _is_small(scope: MemoryScope, row: Archive, now: datetime) -> bool:
    return row.corpus_count <= MOST and adapter.counts_of(scope, now=now).entries <= MOST
