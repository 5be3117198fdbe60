"""What a run keeps of each of its nodes beside the log: what it was given and what it came to. Who executes runs knows
it and registers here."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from memory.host.event_log import Recorded
from memory.host.json_types import JSONObject
from memory.host.models import Resolution, Run
from memory.host.registrations import Registrations


@dataclass(frozen=True, slots=True)
class NodeReport:
    """One node: who it acted as, what its ports held, the installed template that it filled, and its outputs.

    What the workflow declares sensitive is masked. ``inputs`` is None when they cannot be told any more.
    """

    agent_id: str = ""
    inputs: JSONObject | None = None
    template_name: str = ""
    template_ref: str = ""
    template: str = ""
    outputs: JSONObject = field(default_factory=dict)

    @property
    def rendered(self) -> str:
        """What the template came to."""
        return str(self.outputs.get("text", "")) if self.template else ""


Reporter = Callable[[Run, Sequence[Recorded], Sequence[Resolution]], Mapping[str, NodeReport]]
_reporters: Registrations[str, Reporter] = Registrations()


def register(name: str, reporter: Reporter) -> None:
    """``reporter`` says what is kept of the nodes of a run, by its events and by what it has used."""
    _reporters[name] = reporter


def reports_of(run: Run, events: Sequence[Recorded], uses: Sequence[Resolution]) -> dict[str, NodeReport]:
    """The reports by node id; nothing of a run that is executed elsewhere."""
    return {node_id: report for each in _reporters.values() for node_id, report in each(run, events, uses).items()}
