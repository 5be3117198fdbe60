"""Installed workflows, agents, prompt templates and other artifacts: all that a run may resolve.

An installation is the approved text, byte for byte, with its digest. What a run has resolved is recorded, so that it
resolves the same version again and the console can show the effect of an installation.
"""

import hashlib
import json
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from uuid import UUID

from django.db import IntegrityError, transaction
from django.db.models import F, Q, QuerySet

from memory.host import sql
from memory.host.errors import Conflict, NotFound
from memory.host.json_types import JSONMapping
from memory.host.models import ArtifactKind, Definition, Installation, Resolution, Run
from memory.host.registrations import Registrations

WRITER = "memory.host.registry"
REF_PREFIX: dict[str, str] = {
    ArtifactKind.WORKFLOW: "workflow",
    ArtifactKind.AGENT: "agent",
    ArtifactKind.PROMPT_TEMPLATE: "prompt",
    ArtifactKind.AGENT_PACK: "agent-pack",
    ArtifactKind.CHAIN_PACK: "chain-pack",
    ArtifactKind.AUTOMATION: "automation",
}
PROPOSALS = "/v1/host/console/proposals"
OF_A_PROPOSAL = "proposal"  # the source of what was approved at a gate, or directly on a host without gates
Problems = list[tuple[str, str]]


def is_ref(text: str) -> bool:
    """Whether it reads as the ref of an artifact: ``agent:NAME@VERSION``. No wire id does."""
    kind, _, rest = text.partition(":")
    return kind in REF_PREFIX.values() and "@" in rest


class ArtifactDisabled(Conflict):
    """The artifact was disabled, and no run uses it until it is enabled again."""

    code = "artifact_disabled"
    message = "This artifact is disabled; nothing uses it until it is enabled again."


_builtin_workflows: Registrations[str, str] = Registrations()


@dataclass(frozen=True, slots=True)
class Artifact:
    """An artifact to install; ``text`` is stored unchanged."""

    kind: str
    name: str
    version: str
    text: str

    @property
    def ref(self) -> str:
        return f"{REF_PREFIX[self.kind]}:{self.name}@{self.version}"

    @property
    def sha256(self) -> str:
        return digest(self.text)


def digest(text: str) -> str:
    """Return the SHA-256 over the UTF-8 bytes, in lower-case hex."""
    return hashlib.sha256(text.encode()).hexdigest()


@transaction.atomic
def install(
    tenant_id: UUID,
    artifact: Artifact,
    *,
    source: str,
    installed_by: str,
    part_of_id: UUID | None = None,
    now: datetime,
) -> Installation:
    """Make ``artifact`` the current version of its name; ``part_of_id`` is the pack that brings it.

    The same bytes again change nothing, unless they were removed: then they are restored. Other bytes under an
    installed ref are refused, because a ref that runs have used never changes its meaning.
    """
    there = Installation.objects.of(tenant_id).filter(ref=artifact.ref).first()
    if there:
        return _back_if_removed(_same_or_refuse(there, artifact))
    _require_own_spelling(tenant_id, artifact)
    rows = Installation.objects.of(tenant_id).select_for_update()
    before: Installation | None = rows.filter(kind=artifact.kind, name=artifact.name, superseded_at=None).first()
    if before and before.disabled_at and source != OF_A_PROPOSAL:
        raise disabled(before)
    if before:
        supersede(before, now=now)
    given = {"kind": artifact.kind, "name": artifact.name, "version": artifact.version, "ref": artifact.ref}
    given |= {"text": artifact.text, "sha256": artifact.sha256, "source": source, "installed_by": installed_by}
    fresh = Installation(tenant_id=tenant_id, installed_at=now, part_of_id=part_of_id, **given)
    try:
        with transaction.atomic():
            return fresh.insert(by=WRITER)
    except IntegrityError:
        raise Conflict(f"Another version of {artifact.name} was installed at the same moment.") from None


def _require_own_spelling(tenant_id: UUID, artifact: Artifact) -> None:
    """Refuse a name that differs from an installed one only in case, since people would confuse the two."""
    rows = Installation.objects.of(tenant_id).filter(kind=artifact.kind, name__iexact=artifact.name)
    there: Installation | None = rows.exclude(name=artifact.name).first()
    if there:
        message = f"{there.name} is installed, and {artifact.name} differs from it only in capitals; use another name."
        raise Conflict(message, installedArtifactRef=there.ref)


def _same_or_refuse(there: Installation, artifact: Artifact) -> Installation:
    if there.sha256 != artifact.sha256:
        raise Conflict(
            f"{artifact.ref} is installed with other bytes; give the artifact a new version.",
            installedArtifactRef=there.ref,
            installedSha256=there.sha256,
        )
    return there


def _back_if_removed(there: Installation) -> Installation:
    """Make the version current again when no other is current."""
    if there.superseded_at and current(there.tenant_id, there.kind, there.name) is None:
        there.superseded_at = None
        there.save(by=WRITER, update_fields=["superseded_at"])
    return there


@transaction.atomic
def restore(installation: Installation, *, now: datetime) -> Installation | None:
    """Make the version current again, enable it, and return the version that it replaces."""
    rows = Installation.objects.of(installation.tenant_id).select_for_update()
    there: Installation | None = rows.filter(kind=installation.kind, name=installation.name, superseded_at=None).first()
    if there and there.id == installation.id:
        mark_enabled(installation)
        return None
    if there:
        supersede(there, now=now)
    installation.superseded_at = None
    mark_enabled(installation)
    installation.save(by=WRITER, update_fields=["superseded_at"])
    return there


def mark_disabled(installation: Installation, *, by: str, reason: str, now: datetime) -> None:
    """Stop every use of the version by runs; it stays the current one of its name."""
    installation.disabled_at, installation.disabled_by, installation.disabled_reason = now, by, reason
    installation.save(by=WRITER, update_fields=["disabled_at", "disabled_by", "disabled_reason"])


def mark_enabled(installation: Installation) -> None:
    """Allow runs to use the version again, when it is the current one."""
    installation.disabled_at, installation.disabled_by, installation.disabled_reason = None, "", ""
    installation.save(by=WRITER, update_fields=["disabled_at", "disabled_by", "disabled_reason"])


def disabled(installation: Installation) -> ArtifactDisabled:
    """Return the refusal to use a disabled installation."""
    ref = installation.ref if installation.disabled_at else installation.part_of.ref
    return ArtifactDisabled(f"{ref} is disabled; it has to be enabled again first.", installedArtifactRef=ref)


def require_enabled(installation: Installation) -> None:
    """Refuse to use what is disabled, by itself or with its pack."""
    if installation.is_disabled:
        raise disabled(installation)


def proposed(tenant_id: UUID, kind: str, name: str) -> Installation | None:
    """Return the last installation of this name by a proposal, directly or with a pack, current or not."""
    rows = Installation.objects.of(tenant_id).filter(kind=kind, name=name).select_related("part_of")
    through = Q(source=OF_A_PROPOSAL) | Q(part_of_id__isnull=False)
    found: Installation | None = rows.filter(through).order_by("-id").first()
    return found


def require_not_proposed(tenant_id: UUID, kind: str, name: str) -> None:
    """Refuse to change a name under which a proposal ever installed something, other than by a proposal."""
    gated = proposed(tenant_id, kind, name)
    if gated:
        owner = gated.part_of if gated.part_of_id else gated
        raise _by_proposal(f"{name} belongs to {owner.ref}, which a proposal installed", owner)


def require_unused(installation: Installation) -> None:
    """Refuse to change a name that runs of the tenant have used, other than by a proposal."""
    same = {"installation__kind": installation.kind, "installation__name": installation.name}
    if Resolution.objects.of(installation.tenant_id).filter(**same).exists():
        raise _by_proposal(f"Runs of this tenant use {installation.name}", installation)


def _by_proposal(why: str, there: Installation) -> Conflict:
    message = f"{why}; it is changed by a proposal: POST {PROPOSALS}."
    return Conflict(message, rule="proposal-required", proposalRoute=PROPOSALS, installedArtifactRef=there.ref)


def supersede(installation: Installation, *, now: datetime) -> None:
    """Stop new runs from resolving this version; versions that runs have used stay readable by ref."""
    if installation.superseded_at is None:
        installation.superseded_at = now
        installation.save(by=WRITER, update_fields=["superseded_at"])


def parts_of(installation: Installation) -> list[Installation]:
    """Return the parts of the pack by kind and name, current or not."""
    rows = Installation.objects.of(installation.tenant_id).filter(part_of_id=installation.id)
    return list(rows.order_by("kind", "name", "id"))


def versions(tenant_id: UUID, kind: str, name: str) -> list[Installation]:
    """Return every version of ``name`` ever installed, the latest first."""
    return list(Installation.objects.of(tenant_id).filter(kind=kind, name=name).order_by("-id"))


def current(tenant_id: UUID, kind: str, name: str) -> Installation | None:
    """Return the version of ``name`` that a run started now would use."""
    return next(iter(_current().fetch(sql.key(tenant_id), str(kind), name)), None)


@cache
def _current() -> sql.PositionalQuery[Installation]:
    """A run needs it at each of its steps."""
    rows = Installation.objects.of(UUID(int=0)).filter(kind="").filter(name="").filter(superseded_at=None)
    return sql.PositionalQuery(rows.select_related("part_of").order_by("id")[:1])


def by_ref(tenant_id: UUID, ref: str) -> Installation | None:
    """Return an installed version by its ref, current or superseded."""
    return next(iter(_by_ref().fetch(sql.key(tenant_id), ref)), None)


@cache
def _by_ref() -> sql.PositionalQuery[Installation]:
    rows = Installation.objects.of(UUID(int=0)).filter(ref="").select_related("part_of")
    return sql.PositionalQuery(rows.order_by("id")[:1])


def resolve(run: Run, kind: str, name: str, *, node_id: str = "", now: datetime) -> Installation:
    """Return the version of ``name`` for this run: the one it resolved before, else the current one; record the use.

    A replay uses what its source has used, whatever was installed since.
    """
    found = _used(run.tenant_id, run.id, kind, name)
    if found:
        _require_usable(run, found)
        return found
    if run.is_replay and run.source_run_id:
        installation = _used(run.tenant_id, run.source_run_id, kind, name)
    else:
        installation = current(run.tenant_id, kind, name)
    if installation is None:
        raise NotFound(f"Nothing is installed as {REF_PREFIX[kind]}:{name}.")
    _require_usable(run, installation)
    note_use(run, installation, node_id=node_id, now=now)
    return installation


def _require_usable(run: Run, installation: Installation) -> None:
    """Refuse a disabled version, except to a replay: it uses what its source has used, and has no effects."""
    if not run.is_replay:
        require_enabled(installation)


def require_own_enabled(run: Run) -> None:
    """Refuse to continue a run whose workflow, or the pack that brought it, is disabled."""
    if run.workflow_id in _builtin_workflows or run.is_replay:
        return
    there = current(run.tenant_id, ArtifactKind.WORKFLOW, run.workflow_id)
    if there:
        require_enabled(there)


def note_use(run: Run, installation: Installation, *, node_id: str = "", now: datetime) -> None:
    """Record that the run has used this version, once per run."""
    if not _use().fetch(sql.key(run.tenant_id), sql.key(run.id), sql.key(installation.id)):
        mine = {"tenant_id": run.tenant_id, "run_id": run.id, "installation_id": installation.id}
        Resolution(**mine, node_id=node_id, resolved_at=now).insert(by=WRITER)


@cache
def _use() -> sql.PositionalQuery[Resolution]:
    """A run asks for it at each step of an installed agent."""
    anyone = UUID(int=0)
    return sql.PositionalQuery(Resolution.objects.of(anyone).filter(run_id=anyone).filter(installation_id=anyone))


def _used(tenant_id: UUID, run_id: UUID, kind: str, name: str) -> Installation | None:
    found = _first_use().fetch(sql.key(tenant_id), sql.key(run_id), str(kind), name)
    return found[0].installation if found else None


@cache
def _first_use() -> sql.PositionalQuery[Resolution]:
    anyone = UUID(int=0)
    rows = Resolution.objects.of(anyone).filter(run_id=anyone)
    rows = rows.filter(installation__kind="").filter(installation__name="")
    return sql.PositionalQuery(rows.select_related("installation__part_of").order_by("id")[:1])


def uses_of(tenant_id: UUID, installation_ids: Collection[UUID], *, limit: int = 50) -> list[Resolution]:
    """Return the runs that resolved one of these installations, newest first."""
    rows = Resolution.objects.of(tenant_id).select_related("run", "installation")
    return list(rows.filter(installation_id__in=list(installation_ids)).order_by("-id")[:limit])


def uses_of_agent(tenant_id: UUID, name: str) -> QuerySet[Resolution]:
    """Return the uses of any version of the agent by runs."""
    rows: QuerySet[Installation] = Installation.objects.of(tenant_id).filter(kind=ArtifactKind.AGENT, name=name)
    return Resolution.objects.of(tenant_id).filter(installation_id__in=list(rows.values_list("id", flat=True)))


def agents_used_by(tenant_id: UUID, run_ids: Collection[UUID]) -> list[tuple[UUID, str]]:
    """Return each of these runs with the agents that it has used, in order of use.

    Sorted here: to keep that order, SQLite would read every use in the tenant.
    """
    rows = Resolution.objects.of(tenant_id).filter(run_id__in=list(run_ids), installation__kind=ArtifactKind.AGENT)
    found = sorted(rows.values_list("id", "run_id", "installation__name"))
    return [(run_id, name) for _, run_id, name in found]


def used_by(run: Run) -> list[Resolution]:
    """Return what this run has resolved, in order."""
    rows = Resolution.objects.of(run.tenant_id).select_related("installation").filter(run_id=run.id)
    return list(rows.order_by("id"))


def count_uses(tenant_id: UUID, installation_ids: Collection[UUID], *, since: datetime | None = None) -> int:
    """Count the runs that resolved one of these installations, ever or at ``since`` and later."""
    rows = Resolution.objects.of(tenant_id).filter(installation_id__in=list(installation_ids))
    rows = rows.filter(resolved_at__gte=since) if since else rows
    return int(rows.values("run_id").distinct().count())


def register_builtin(text: str) -> None:
    """Register a workflow of the host itself, which every tenant resolves."""
    _builtin_workflows[json.loads(text)["id"]] = text


def builtin_ids() -> list[str]:
    return sorted(_builtin_workflows)


def workflow_text(tenant_id: UUID, workflow_id: str) -> str | None:
    """Return the definition that a run of ``workflow_id`` would pin now; None when the tenant has none."""
    if workflow_id in _builtin_workflows:
        return _builtin_workflows[workflow_id]
    installation = current(tenant_id, ArtifactKind.WORKFLOW, workflow_id)
    return installation.text if installation else None


def pin(tenant_id: UUID, text: str) -> Definition:
    """Return the definition row for ``text``; there is one per digest, however many runs use it."""
    sha256 = digest(text)
    if found := _definition().fetch(sql.key(tenant_id), sha256):
        return found[0]
    fresh = Definition(tenant_id=tenant_id, sha256=sha256, text=text)
    rows = Definition.objects.written_by(WRITER)
    rows.bulk_create([fresh], ignore_conflicts=True)
    [kept] = _definition().fetch(sql.key(tenant_id), sha256)
    return kept


@cache
def _definition() -> sql.PositionalQuery[Definition]:
    return sql.PositionalQuery(Definition.objects.of(UUID(int=0)).filter(sha256=""))


def names_of(tenant_id: UUID, definition_ids: Collection[UUID]) -> dict[UUID, str]:
    """Return the ``name`` in each of these pinned definitions."""
    texts = Definition.objects.of(tenant_id).filter(id__in=list(definition_ids)).values_list("id", "text")
    return {definition: str(json.loads(text).get("name", "")) for definition, text in texts}


def texts_of(tenant_id: UUID) -> Iterator[str]:
    """Yield the text of everything installed, superseded versions included, and of every pinned definition."""
    for table in (Installation, Definition):
        yield from table.objects.of(tenant_id).values_list("text", flat=True).iterator(chunk_size=200)


def last(tenant_id: UUID, kind: str, name: str) -> Installation | None:
    """Return the current version of ``name``, or else the one that was current last, with its ``superseded_at``."""
    return next(iter(_last().fetch(sql.key(tenant_id), str(kind), name)), None)


@cache
def _last() -> sql.PositionalQuery[Installation]:
    """A run needs it at each step of an agent."""
    rows = Installation.objects.of(UUID(int=0)).filter(kind="").filter(name="").select_related("part_of")
    return sql.PositionalQuery(rows.order_by(F("superseded_at").desc(nulls_first=True))[:1])


def agents(tenant_id: UUID) -> list[Installation]:
    """Return the tenant's installed agents, disabled ones too, sorted in Python to be the same on every database."""
    rows = Installation.objects.of(tenant_id).select_related("part_of")
    rows = rows.filter(kind=ArtifactKind.AGENT, superseded_at=None)
    return sorted(rows, key=lambda row: row.name)


def _no_problems(_tenant_id: UUID, _document: JSONMapping) -> Problems:
    return []


def _nothing_untimely(_document: JSONMapping, _now: datetime) -> Problems:
    return []


def _no_parts(_document: JSONMapping) -> Sequence[Artifact]:
    return ()


def _nothing(_installation: Installation, _now: datetime) -> None:
    """The default callback: the rows of the registry are all there is to change."""


@dataclass(frozen=True, slots=True)
class Installer:
    """The callbacks for one kind of artifact. ``named`` gives name and version of a schema-valid document.

    ``problems`` are what this host could not carry out in that tenant, each a path inside the artifact
    (``$.chains[0]``) and a sentence without a word of the artifact; ``untimely`` are those that depend on the time.
    ``parts`` is what runs resolve of it, when that is not the artifact itself. Called in the transaction are
    ``on_current`` when a version becomes current or is enabled again, ``on_superseded`` when it ceases to be current,
    and ``on_disabled`` when it is disabled.
    """

    kind: str
    named: Callable[[JSONMapping], tuple[str, str]]
    problems: Callable[[UUID, JSONMapping], Problems] = _no_problems
    parts: Callable[[JSONMapping], Sequence[Artifact]] = _no_parts
    on_current: Callable[[Installation, datetime], None] = _nothing
    on_superseded: Callable[[Installation, datetime], None] = _nothing
    on_disabled: Callable[[Installation, datetime], None] = _nothing
    untimely: Callable[[JSONMapping, datetime], Problems] = _nothing_untimely


_installers: Registrations[str, Installer] = Registrations()


def register(installer: Installer) -> None:
    """Make artifacts of this kind installable."""
    _installers[installer.kind] = installer


def installer_of(kind: str) -> Installer | None:
    """Return the installer of this kind, or None: then it cannot be installed."""
    return _installers.get(kind)


def kinds() -> list[str]:
    """Return the kinds that can be installed, sorted."""
    return sorted(_installers)
