"""Fills the demo: what is missing is made, what is there stays, wherever an earlier seeding was interrupted.

Memory is written by nodes of runs and by agents over OpenIntent, proposals are made by a key of the tenant and moved on
by its operators; nothing here writes a row that the product would not have written.
"""

import secrets
from collections import Counter
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from django.contrib.auth.hashers import check_password

from memory import agent_manifests, passes
from memory.host import access, advertised, registry, runs, tenancy, vault
from memory.host.models import ArtifactKind, Operator, Secret, SecretScope, Tenant
from memory.host.registry import Artifact
from openwop_console.demo import dreaming, logins, proposing, remembering, running
from openwop_console.demo.logins import Login
from openwop_console.demo.running import Clock
from openwop_console.demo.story import Document, Story, text_of
from openwop_console.runtime import definitions
from proposals import artifacts

BY = "host"

Made = Counter[str]


@dataclass(frozen=True, slots=True)
class Seeded:
    """How many of what were made, and who may sign in."""

    made: Made = field(default_factory=Made)
    logins: list[Login] = field(default_factory=list)

    @property
    def changed(self) -> bool:
        return self.made.total() > 0


def seed(stories: list[Story], folder: Path, *, clock: Clock) -> Seeded:
    """Every story is complete. What was made is nothing when they were complete before."""
    seeded = Seeded()
    passwords = logins.passwords(folder, stories)
    runs.release_held_by(running.INSTANCE, now=clock())
    passes.release_held_by(running.INSTANCE, now=clock())
    for story in stories:
        tenant = _tenant(story, seeded.made, now=clock())
        seeded.logins.extend(_operators(tenant, story, passwords, seeded.made, clock))
        _secrets(tenant, story, seeded.made, now=clock())
        _installations(tenant, story, seeded.made, now=clock())
        running.revoke_keys(tenant, story, clock)
        _errands(tenant, story, seeded.made, clock, learned=False)
        _suggestions(tenant, story, seeded.made, clock)
        _errands(tenant, story, seeded.made, clock, learned=True)
        _endeavours(tenant, story, seeded.made, clock)
        for wanted in story.passes:
            seeded.made["passes"] += dreaming.carry_out(tenant, wanted, clock)
    return seeded


def _tenant(story: Story, made: Made, *, now: datetime) -> Tenant:
    there = access.tenant_by_slug(story.slug)
    made["tenants"] += there is None
    return there or access.create_tenant(story.slug, name=story.name, now=now)


def _operators(tenant: Tenant, story: Story, passwords: dict[str, str], made: Made, clock: Clock) -> list[Login]:
    """Everybody can sign in. Who was there before keeps the password they have, whatever is kept here."""
    stored = dict(Operator.objects.of(tenant.id).values_list("email", "password"))
    found = []
    for email, role in story.operators.items():
        password = passwords[email]
        if email not in stored:
            access.create_operator(tenant, email, role=role, password=password, now=clock())
            made["operators"] += 1
        elif not check_password(password, stored[email]):
            password = ""
        found.append(Login(email, password, role, tenant.name))
    return found


def _secrets(tenant: Tenant, story: Story, made: Made, *, now: datetime) -> None:
    there = set(Secret.objects.of(tenant.id).filter(scope=SecretScope.TENANT).values_list("name", flat=True))
    for name in story.secrets:
        if name not in there:
            vault.put(tenant.id, name, secrets.token_urlsafe(30), now=now)
            made["secrets"] += 1


def _installations(tenant: Tenant, story: Story, made: Made, *, now: datetime) -> None:
    """Every version that was ever installed stays as it is, superseded or not."""
    for manifest in story.agents:
        _install_agent(tenant, manifest, made, now)
    for template in story.prompt_templates:
        _install(tenant, artifacts.artifact_of(tenant.id, ArtifactKind.PROMPT_TEMPLATE, text_of(template)), made, now)
    for definition in story.workflows:
        _install_workflow(tenant, definition, made, now)


def _install(tenant: Tenant, artifact: Artifact, made: Made, now: datetime) -> None:
    if registry.by_ref(tenant.id, artifact.ref) is None:
        registry.install(tenant.id, artifact, source=BY, installed_by=BY, now=now)
        made["installations"] += 1


def _install_agent(tenant: Tenant, manifest: Document, made: Made, now: datetime) -> None:
    ref = f"agent:{manifest['agentId']}@{manifest['packVersion']}"
    if registry.by_ref(tenant.id, ref) is None:
        scope = tenancy.host_scope(tenant, scopes=frozenset({"agents:manage"}))
        agent_manifests.install(scope, manifest, advertised.document(), now=now)
        made["installations"] += 1


def _install_workflow(tenant: Tenant, definition: Document, made: Made, now: datetime) -> None:
    artifact = Artifact(ArtifactKind.WORKFLOW, definition["id"], definition["version"], text_of(definition))
    if registry.by_ref(tenant.id, artifact.ref) is None:
        definitions.install(tenant, artifact.text, installed_by=BY, now=now)
        made["installations"] += 1


def _errands(tenant: Tenant, story: Story, made: Made, clock: Clock, *, learned: bool) -> None:
    """Each run is over before the next is ordered, so that it may read what the one before it wrote."""
    there = running.happened(tenant.id, story.errands)
    over = {key for key, run in there.items() if run.status in running.RESTS}
    pending = [errand for errand in story.errands if errand.learned == learned and errand.key not in over]
    if pending:
        with running.with_a_key(tenant, story, clock) as scope:
            for errand in pending:
                run = running.order(scope, errand, now=clock())
                made["runs"] += running.to_rest(tenant.id, run.id, clock)


def _suggestions(tenant: Tenant, story: Story, made: Made, clock: Clock) -> None:
    missing = proposing.missing(tenant.id, story.suggestions)
    if missing:
        sources = running.happened(tenant.id, story.errands)
        with running.with_a_key(tenant, story, clock) as scope:
            for suggestion in missing:
                made["proposals"] += proposing.propose(scope, tenant, suggestion, sources, now=clock())
    for run_id in proposing.under_way(tenant.id):
        made["gates"] += running.to_rest(tenant.id, run_id, clock)


def _endeavours(tenant: Tenant, story: Story, made: Made, clock: Clock) -> None:
    missing = remembering.missing(tenant.id, story.endeavours)
    if missing:
        with running.with_a_key(tenant, story, clock) as scope:
            for each in missing:
                made["intents"] += remembering.carry_out(scope, each, clock)
