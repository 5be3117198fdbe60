"""What pages of lower floors show of proposals: which cite a run, which come from an agent, and how they are called."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from uuid import UUID

from memory.host.registrations import Registrations
from memory.host.tenancy import TenantScope


@dataclass(frozen=True, slots=True)
class Citation:
    """A proposal that names a run as its source: what it is called, its state in a word, and its page."""

    id: str
    title: str
    state: str
    url: str


@dataclass(frozen=True, slots=True)
class ProposalReader:
    """What an app finds: its newest proposals made from one of these runs, and by one agent; the one that a run
    installs; how many are under review, by agent; the titles of those wire ids that have one and that the principal may
    read."""

    of_runs: Callable[[TenantScope, Collection[UUID], int], list[Citation]]
    of_agent: Callable[[TenantScope, str, int], list[Citation]]
    of_activation: Callable[[TenantScope, UUID], Citation | None]
    count_pending: Callable[[TenantScope], Mapping[str, int]]
    titles_of: Callable[[TenantScope, Collection[str]], dict[str, str]]


_sources: Registrations[str, ProposalReader] = Registrations()


def register(name: str, source: ProposalReader) -> None:
    """Called from the ``apps.py`` of the app ``name``."""
    _sources[name] = source


def of_runs(scope: TenantScope, run_ids: Collection[UUID], *, limit: int) -> list[Citation]:
    """Return the newest proposals that were made from one of these runs."""
    return [each for found in _sources.values() for each in found.of_runs(scope, run_ids, limit)] if run_ids else []


def of_agent(scope: TenantScope, agent_id: str, *, limit: int) -> list[Citation]:
    """Return the newest proposals of the agent."""
    return [each for found in _sources.values() for each in found.of_agent(scope, agent_id, limit)]


def of_activation(scope: TenantScope, run_id: UUID) -> Citation | None:
    """Return the proposal whose approval this run waits for, or has waited for."""
    return next((cited for found in _sources.values() if (cited := found.of_activation(scope, run_id))), None)


def count_pending(scope: TenantScope) -> dict[str, int]:
    """Return how many proposals of each agent are under review."""
    return {agent_id: count for found in _sources.values() for agent_id, count in found.count_pending(scope).items()}


def titles_of(scope: TenantScope, targets: Collection[str]) -> dict[str, str]:
    """Return what targets are called on a page; files of the log, which outlive a forget, have no titles."""
    return {target: title for found in _sources.values() for target, title in found.titles_of(scope, targets).items()}
