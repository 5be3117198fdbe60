"""B8: one committed write with all that belongs to it, against one committed row of the driver."""

from collections.abc import Iterator
from itertools import count

from django.utils import timezone

from memory import ledger
from memory.entry_drafts import EntryDraft
from memory.host import vault
from tools.bench import ground, rounds
from tools.bench.ground import RawDriver
from tools.bench.outcomes import Outcome
from tools.bench.plan import Plan

SECRETS = ("crm", "mailbox", "warehouse")
TAGS = ("invoice", "e-mail")


def written(plan: Plan) -> Iterator[Outcome]:
    """Redaction, shape scan, tokens, entry, tags, search text and event; then the commit."""
    owner = ground.tenant()
    run = ground.running_run(owner)
    for name in SECRETS:
        vault.store_secret(owner.id, name, f"{name}-93fb0c1d7e", now=timezone.now())
        vault.resolve(run, name, now=timezone.now())
    scope, raw, numbers = ground.fill(run, "bench/write", min(10_000, plan.sizes[-1])), RawDriver(), count()
    statement, _ = raw.prepared((ground.insert_statement(), []))

    def ours() -> None:
        draft = EntryDraft(ground.TEXT.format(number=next(numbers)), TAGS, "customer-7", "bench.agent")
        ledger.entries.write_entry(scope, draft, run=run, node_id="node", now=timezone.now())

    def theirs() -> None:
        raw.execute((statement, ground.row(run, "bench/raw", next(numbers), timezone.now())))

    measured = rounds.ratio(ours, theirs, rounds=plan.rounds, calls=plan.calls)
    raw.close()
    goal = 2.5 if raw.is_postgres else 8
    yield Outcome("B8", "one write, against one row of the driver; both commit", plan.engine, measured, goal)
