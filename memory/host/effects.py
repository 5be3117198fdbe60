"""The guard at every place where a run changes anything but itself: a replay has no effects (openwop-host 3.8).

It is decided by how the run came to be, and by nothing that a node, a caller or an event says.
"""

from memory.host.errors import EffectInReplay
from memory.host.models import ForkMode, Run


def refuse_in_replay(run: Run) -> None:
    """Refuse when ``run`` is a replay. The first line of every effect of a run."""
    if is_replay(run):
        raise EffectInReplay


def is_replay(run: Run) -> bool:
    return run.fork_mode == ForkMode.REPLAY
