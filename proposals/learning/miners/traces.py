"""The input and output of the miners: traces of runs, and findings. Pure: plain values, no database.

Traces hold texts by people (a correction, a memory) because these may become part of an artifact; titles, rationales
and evidence never hold them.
"""

from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from memory.host.json_types import JSONMapping, JSONObject


class Origin(StrEnum):
    """What started a run. ``AGENT`` is a key that is bound to agents: a program, not a person."""

    PERSON = "person"
    KEY = "key"
    AGENT = "agent"
    SCHEDULE = "schedule"
    HEARTBEAT = "heartbeat"
    COMMITMENT = "commitment"
    FORK = "fork"
    HOST = "host"


@dataclass(frozen=True, slots=True)
class NodeTrace:
    """An executed node of a run: its definition, and how it ended.

    ``state`` is ``completed``, ``failed`` or ``skipped``; ``tools`` are those that its type uses with this config;
    ``memory_ref`` is its agent's, which applies where the config names none.
    """

    node_id: str
    type_id: str
    state: str
    config: JSONMapping = field(default_factory=dict)
    inputs: JSONMapping = field(default_factory=dict)
    agent_id: str = ""
    error_code: str = ""
    tools: tuple[str, ...] = ()
    memory_ref: str = ""


@dataclass(frozen=True, slots=True)
class RunTrace:
    """An ended run of the tenant's own. ``run_id`` is its wire id, ``nodes`` are in the order of execution.

    ``edges`` are pairs of node ids of the definition, and ``conditional`` those with a condition or a trigger rule of
    their own; ``prompts`` are pairs of a resolved template's name and the node that resolved it. ``agent_id`` is the
    agent that the run as a whole acted as; ``incomplete`` when some inputs were withheld from learning.
    """

    run_id: str
    workflow_id: str
    origin: Origin
    created_at: datetime
    status: str
    nodes: tuple[NodeTrace, ...]
    edges: tuple[tuple[str, str], ...] = ()
    inputs: JSONMapping = field(default_factory=dict)
    prompts: tuple[tuple[str, str], ...] = ()
    builtin: bool = False
    conditional: tuple[tuple[str, str], ...] = ()
    agent_id: str = ""
    incomplete: bool = False


@dataclass(frozen=True, slots=True)
class Correction:
    """A change that a person requested of a run, at a node downstream of the one that used the template ``prompt``.

    ``evidence_id`` is the wire id of the interrupt that was answered.
    """

    run_id: str
    node_id: str
    prompt: str
    text: str
    by: str
    at: datetime
    evidence_id: str


@dataclass(frozen=True, slots=True)
class Reading:
    """A memory that a run read upstream of the node that used the template ``prompt``; ``memory_id`` is a wire id."""

    run_id: str
    prompt: str
    memory_id: str
    content: str
    at: datetime


@dataclass(frozen=True, slots=True)
class Firing:
    """A fired commitment; ``commitment_id`` is its wire id, ``workflow_id`` the workflow it started or "".

    ``incomplete`` when some inputs of the started run were withheld from learning.
    """

    commitment_id: str
    memory_ref: str
    workflow_id: str
    at: datetime
    run_id: str = ""
    inputs: JSONMapping = field(default_factory=dict)
    incomplete: bool = False


@dataclass(frozen=True, slots=True)
class InstalledAgent:
    """An installed agent: its manifest and version; ``taken`` are all versions that it or its pack ever had."""

    manifest: JSONMapping
    version: str
    installed_at: datetime
    taken: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class InstalledPrompt:
    """An installed prompt template; ``taken`` are all versions that it ever had."""

    document: JSONMapping
    installed_at: datetime
    taken: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class InstalledSchedule:
    """An existing cron schedule."""

    workflow_id: str
    cron: str
    timezone: str


@dataclass(frozen=True, slots=True)
class Traces:
    """The whole input of the miners, each list oldest first. ``timezone`` is the tenant's."""

    runs: tuple[RunTrace, ...] = ()
    corrections: tuple[Correction, ...] = ()
    readings: tuple[Reading, ...] = ()
    firings: tuple[Firing, ...] = ()
    agents: tuple[InstalledAgent, ...] = ()
    prompts: tuple[InstalledPrompt, ...] = ()
    schedules: tuple[InstalledSchedule, ...] = ()
    chains: tuple[JSONMapping, ...] = ()
    timezone: str = "UTC"


@dataclass(frozen=True, slots=True)
class Evidence:
    """One source of a finding: its kind (``run``, ``memory``, ``interrupt``, ``commitment``), its wire id, and a fixed
    word for the reason."""

    kind: str
    id: str
    why: str


@dataclass(frozen=True, slots=True)
class Finding:
    """An artifact to propose, with a title and a rationale that hold no text by people.

    ``pattern`` identifies the observation: equal observations have equal patterns, and each is proposed once.
    ``people`` are the principals whose words became part of the artifact.
    """

    kind: str
    title: str
    rationale: str
    artifact: JSONObject
    pattern: str
    source_run_ids: tuple[str, ...]
    evidence: tuple[Evidence, ...]
    agent_id: str = ""
    people: tuple[str, ...] = ()
