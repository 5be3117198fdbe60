"""The wire form of a synthesis; camelCase stops here."""

from typing import Any

from memory.host import ids
from memory.host.serializing import Closed, Flag
from memory.models import Pass
from memory.wire import instant


class SynthesisOptions(Closed):
    """``endpoint``: the drafts are worded by the one that the tenant's memory policy names."""

    endpoint = Flag(required=False)


class OrderSynthesis(Closed):
    """The closed body of an order, which may be empty."""

    dryRun = Flag(required=False)
    options = SynthesisOptions(required=False)

    def wanted(self) -> dict[str, bool]:
        given = self.validated_data
        return {"dry_run": given.get("dryRun", False), "endpoint": given.get("options", {}).get("endpoint", False)}


class Nothing(Closed):
    """No body, or an empty one."""


def synthesis_document(row: Pass) -> dict[str, Any]:
    """A synthesis, whatever became of it. ``outcome`` is numbers, codes and ids; of a dry run, titles too."""
    return {
        "id": ids.wire("pass", row.id),
        "state": row.state,
        "trigger": row.trigger,
        "dryRun": row.dry_run,
        "options": row.options,
        "done": row.done,
        "total": row.total,
        "doing": row.doing,
        "code": row.code or None,
        "outcome": row.outcome,
        "runId": ids.wire("run", row.run_id),
        "requestedBy": row.requested_by,
        "createdAt": instant(row.created_at),
        "finishedAt": instant(row.finished_at) if row.finished_at else None,
    }
