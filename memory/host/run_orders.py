"""What a new run is to be, before it is one."""

from dataclasses import dataclass, field
from uuid import UUID

from memory.host.json_types import JSONObject


@dataclass(frozen=True, slots=True)
class Fork:
    """What a fork comes from, by the names under which a run keeps it.

    A branch reads the ledger at ``snapshot_position``, as its source did, and what its source wrote up to
    ``inherits_until``, which is None when the source had not begun.
    """

    fork_mode: str
    source_run_id: UUID
    from_seq: int
    snapshot_position: int = 0
    inherits_until: int | None = None


@dataclass(frozen=True, slots=True)
class RunOrder:
    """What a new run is to be."""

    workflow_id: str
    definition: str
    principal: str
    agent_id: str = ""
    system: bool = False
    scope_id: str = ""
    inputs: JSONObject = field(default_factory=dict)
    variables: JSONObject = field(default_factory=dict)
    configurable: JSONObject = field(default_factory=dict)
    tags: list[str] = field(default_factory=list)
    metadata: JSONObject = field(default_factory=dict)
    workspace: list[JSONObject] = field(default_factory=list)
    fork: Fork | None = None
