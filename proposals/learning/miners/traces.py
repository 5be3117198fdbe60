"""What runs leave behind, as the miners look at it; and what they find in it. Pure: plain values, no database.

Whatever of a run is somebody's text (a correction, a memory) is here because it may become part of an artifact; titles,
rationales and evidence hold none of it.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any

from memory.host.json_types import JSONObject

Document = Mapping[str, Any]


class Origin(StrEnum):
    """What started a run. ``AGENT`` is a key that is bound to agents: a program, and nobody's hand."""

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
    """A node of a run as it was executed: what its definition says of it, and how it ended.

    ``state`` is ``completed``, ``failed`` or ``skipped``; ``tools`` are those that its type uses with this config;
    ``memory_ref`` is the one that its agent brings, which counts where the config names none.
    """

    node_id: str
    type_id: str
    state: str
    config: Document = field(default_factory=dict)
    inputs: Document = field(default_factory=dict)
    agent_id: str = ""
    error_code: str = ""
    tools: tuple[str, ...] = ()
    memory_ref: str = ""


@dataclass(frozen=True, slots=True)
class RunTrace:
    """A run of the tenant's own that has ended. ``run_id`` is its wire id, ``nodes`` stand in the order of execution.

    ``edges`` are those of the definition, by node ids, and ``conditional`` those of them that a condition or a trigger
    rule of their own decides about; ``prompts`` are the names of the prompt templates it resolved, each with the node
    that did. ``agent_id`` is the agent that the run as a whole acted as; ``incomplete`` says that not all of its inputs
    may be learnt from.
    """

    run_id: str
    workflow_id: str
    definition_sha256: str
    origin: Origin
    created_at: datetime
    status: str
    nodes: tuple[NodeTrace, ...]
    edges: tuple[tuple[str, str], ...] = ()
    inputs: Document = field(default_factory=dict)
    prompts: tuple[tuple[str, str], ...] = ()
    builtin: bool = False
    conditional: tuple[tuple[str, str], ...] = ()
    agent_id: str = ""
    incomplete: bool = False


@dataclass(frozen=True, slots=True)
class Correction:
    """What a person told a run to change, at a node behind the one that used the prompt template ``prompt``.

    ``evidence_id`` is the wire id of the interrupt at which it was said.
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
    """A memory that a run read for the node that used the prompt template ``prompt``. ``memory_id`` is its wire id."""

    run_id: str
    prompt: str
    memory_id: str
    content: str
    at: datetime


@dataclass(frozen=True, slots=True)
class Firing:
    """A commitment that has fired; ``commitment_id`` is its wire id, ``workflow_id`` what it starts, maybe nothing.

    ``incomplete`` says that not all inputs of what it started may be learnt from.
    """

    commitment_id: str
    memory_ref: str
    workflow_id: str
    at: datetime
    run_id: str = ""
    inputs: Document = field(default_factory=dict)
    incomplete: bool = False


@dataclass(frozen=True, slots=True)
class InstalledAgent:
    """An agent as it is installed: its manifest, the version it is installed as, and all that it (or its pack) ever
    was."""

    manifest: Document
    version: str
    installed_at: datetime
    taken: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class InstalledPrompt:
    """A prompt template as it is installed, and all versions that ever were."""

    document: Document
    installed_at: datetime
    taken: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Standing:
    """A schedule that is there already."""

    workflow_id: str
    cron: str
    timezone: str


@dataclass(frozen=True, slots=True)
class Traces:
    """All that is looked at, each the oldest first. ``timezone`` is the tenant's."""

    runs: tuple[RunTrace, ...] = ()
    corrections: tuple[Correction, ...] = ()
    readings: tuple[Reading, ...] = ()
    firings: tuple[Firing, ...] = ()
    agents: tuple[InstalledAgent, ...] = ()
    prompts: tuple[InstalledPrompt, ...] = ()
    schedules: tuple[Standing, ...] = ()
    chains: tuple[Document, ...] = ()
    timezone: str = "UTC"


@dataclass(frozen=True, slots=True)
class Evidence:
    """One thing that led to a finding: a wire id, what it is (``run``, ``memory``, ``interrupt``, ``commitment``), and
    a fixed word for why."""

    kind: str
    id: str
    why: str


@dataclass(frozen=True, slots=True)
class Finding:
    """An artifact that would make sense, and why, in plain words without anybody's text.

    ``pattern`` says what was seen, in a form that the same sight always has; it is proposed once. ``people`` are the
    principals whose words became part of the artifact.
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
