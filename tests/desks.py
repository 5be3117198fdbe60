"""A desk at which a test writes entries and has passes carried out over them."""

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import pytest
from django.utils import timezone

from memory.host import event_log
from memory.models import Pass, PassState
from memory.passes import consolidation, orders
from tests import building


class Desk:
    """Ada at Acme, with a run to write in the name of; entries are a second apart."""

    def __init__(self, slug: str = "acme") -> None:
        self.owner = building.scope(slug)
        self.run = building.open_run(self.owner)
        self.start = timezone.now()
        self.now = self.start - timedelta(hours=1)

    def say(self, *texts: str, **draft: Any) -> list[UUID]:
        return [self._say(text, **draft) for text in texts]

    def _say(self, text: str, **draft: Any) -> UUID:
        self.now += timedelta(seconds=1)
        return building.write(self.owner, self.run, text, now=self.now, **draft).id

    def work(self, row: Pass, clock: Callable[[], datetime] = timezone.now) -> Pass:
        """The pass as it is after a worker had it."""
        done = orders.run_pass(row.tenant_id, row.id, holder="test/1", clock=clock)
        assert done is not None
        return done


def told(done: Pass) -> list[dict[str, Any]]:
    """The payloads of the consolidation on the log of the pass."""
    found = event_log.read(done.tenant_id, done.run_id)
    return [event.payload for event in found if event.type == "agent.memory.consolidated"]


def counts(done: Pass, state: PassState = PassState.DONE) -> tuple[int, int]:
    """How many entries a pass that ended so read, and how many are left."""
    assert done.state == state, done.outcome
    return done.outcome["inputCount"], done.outcome["outputCount"]


def interrupted_at(monkeypatch: pytest.MonkeyPatch, call: int, act: Callable[[], Any]) -> None:
    """Before the part of that number is made, something happens; once."""
    make, calls = consolidation.ChangeWriter._make, [0]

    def wrapped(self: consolidation.ChangeWriter, part: Any, now: datetime) -> None:
        calls[0] += 1
        if calls[0] == call:
            act()
        make(self, part, now)

    monkeypatch.setattr(consolidation.ChangeWriter, "_make", wrapped)
