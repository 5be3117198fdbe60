"""What people say that is no fact: unrelated talk, no two lines about the same."""

from random import Random

from tools.bench.quality import slots
from tools.bench.quality.facts import Registry, filled, pieces, rendered


def line(registry: Registry, rng: Random) -> str:
    """A line about something not mentioned before."""
    parts = slots.data("chatter")
    while True:
        text = rng.choice(parts["middle"])
        said = rendered(pieces(text, filled(text, rng)))
        if registry.claim("chatter", said):
            return f"{rng.choice(parts['opening'])} {said}{rng.choice(parts['ending'])}"
