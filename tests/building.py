"""Builders. Ada operates Acme; Globex must never be seen. Memory is made by runs, through the engine and the ledger."""

import json
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise
from typing import Any
from unittest import mock
from uuid import UUID

import pytest
from django.conf import settings
from django.contrib import auth
from django.db import connection, transaction
from django.test import Client
from django.utils import timezone

from memory import adapter, agents, ledger
from memory.entry_drafts import EntryDraft
from memory.host import access, api_keys, audit_chain, event_log, ids, operators, registrations, registry, runs, tenancy
from memory.host.audit_chain import Finding
from memory.host.errors import KeyExpired
from memory.host.models import ArtifactKind, Installation, Membership, Run, Tenant
from memory.host.sessions import SessionStore
from memory.host.tenancy import MemoryScope, TenantScope
from memory.ledger.entries import Written
from memory.models.entry import MemoryEntry
from openwop_console.runtime import calls, engine, run_operations, workflows
from openwop_console.runtime.run_operations import RunRequest

PASSWORD = "correct horse battery staple"


def id_of(prefix: str, text: str) -> UUID:
    """The id behind what the wire calls it."""
    found = ids.parse(prefix, text)
    assert found is not None, text
    return found


def tenant(slug: str = "acme") -> Tenant:
    """The tenant of that slug, made when it is not there."""
    return access.tenant_by_slug(slug) or access.create_tenant(slug, name=slug.title(), now=timezone.now())


def key(slug: str = "acme", role: str = "owner", **options: Any) -> str:
    """The text of a fresh API key that was used once, so that no request that a test counts writes when it was."""
    text = api_keys.create_api_key(tenant(slug), role=role, now=timezone.now(), **options).text
    with suppress(KeyExpired):
        api_keys.key_of(text, now=timezone.now())
    return text


def headers(slug: str = "acme", role: str = "owner", **options: Any) -> dict[str, Any]:
    """What Django's test client sends for a fresh key."""
    return {"HTTP_AUTHORIZATION": f"Bearer {key(slug, role, **options)}"}


def scope(slug: str = "acme", role: str = "owner", **options: Any) -> TenantScope:
    """A principal with ``role`` in the tenant, as its scope."""
    owner, now = tenant(slug), timezone.now()
    made = api_keys.create_api_key(owner, role=role, now=now, **options)
    return tenancy.scope_without_request(owner.id, ids.wire("key", made.key_id), now=now)


def operator(slug: str = "acme", role: str = "owner", email: str = "") -> Any:
    """A person who can sign in with ``PASSWORD``."""
    address = email or f"ada.{role}@{slug}.example"
    return operators.create_operator(tenant(slug), address, role=role, password=PASSWORD, now=timezone.now())


def sign_in(browser: Client, person: Any) -> None:
    """Give the browser a session of the person. Django's ``force_login`` makes the same one with three times as many
    statements: it writes a session, another in its place, and that again."""
    session = SessionStore()
    session[auth.SESSION_KEY] = str(person.pk)
    session[auth.BACKEND_SESSION_KEY] = settings.AUTHENTICATION_BACKENDS[0]
    session[auth.HASH_SESSION_KEY] = person.get_session_auth_hash()
    session.save()
    browser.cookies[settings.SESSION_COOKIE_NAME] = str(session.session_key)


def deactivate(person: Any) -> None:
    """The person is no operator of any tenant any more."""
    Membership.objects.written_by(access.WRITER).filter(operator=person).update(is_active=False)


def ref(owner: TenantScope, memory_ref: str) -> MemoryScope:
    found = tenancy.memory_scope(owner, memory_ref)
    assert found is not None
    return found


def node(node_id: str, type_id: str, config: dict[str, Any] | None = None, **more: Any) -> dict[str, Any]:
    """A node of a workflow definition."""
    return {
        "id": node_id,
        "typeId": type_id,
        "name": node_id,
        "position": {"x": 0, "y": 0},
        "config": config or {},
        "inputs": {},
        **more,
    }


def definition(
    workflow_id: str, *nodes: dict[str, Any], variables: list[dict[str, Any]] | None = None, version: str = "1.0.0"
) -> dict[str, Any]:
    """A definition whose nodes run one after another."""
    names = [each["id"] for each in nodes]
    edges = [{"id": f"{a}-{b}", "sourceNodeId": a, "targetNodeId": b} for a, b in pairwise(names)]
    return {
        "id": workflow_id,
        "name": workflow_id,
        "version": version,
        "nodes": list(nodes),
        "edges": edges,
        "triggers": [{"id": "manual", "type": "manual"}],
        "variables": variables or [],
        "metadata": {},
        "settings": {},
    }


def install(slug: str, document: dict[str, Any]) -> None:
    """The workflow is what runs of its id execute in the tenant."""
    workflows.install(tenant(slug), json.dumps(document), installed_by="host", now=timezone.now())


def install_prompt(template_id: str, text: str, *, version: str = "1.0.0") -> None:
    """The prompt template is installed in Acme in that version."""
    document = {"templateId": template_id, "version": version, "kind": "system", "text": text}
    made = registry.Artifact(ArtifactKind.PROMPT_TEMPLATE, template_id, version, json.dumps(document))
    registry.install(tenant().id, made, source="host", installed_by="host", now=timezone.now())


def remember_node(
    content: str, *, node_id: str = "remember", memory_ref: str = "notes", **config: Any
) -> dict[str, Any]:
    """A node that remembers ``content``."""
    settings = {"content": content, "memoryRef": memory_ref, **config}
    return node(node_id, "vendor.console.remember", settings, agent={"agentId": "acme.writer"})


def execute(owner: TenantScope, workflow_id: str, *, agent_id: str = "", **inputs: Any) -> Run:
    """A run of the workflow, created by ``owner`` and executed as far as it goes."""
    order = RunRequest(workflow_id, inputs=inputs, agent_id=agent_id)
    run = run_operations.create_run(owner, order, now=timezone.now())
    return advance(run)


def advance(run: Run) -> Run:
    """The run as it is after a worker had it."""
    engine.advance(run.tenant_id, run.id, holder="test/1", clock=timezone.now)
    return runs.find(run.tenant_id, run.id)


def advance_at(run: Run, now: datetime) -> Run:
    """The run as it is after a worker had it at ``now``."""
    engine.advance(run.tenant_id, run.id, holder="test/1", clock=lambda: now)
    return runs.find(run.tenant_id, run.id)


class Killed(BaseException):
    """Stands for kill -9: nothing of the process goes on."""


def killed_at_answer(run: Run, answer: int = 1) -> Run:
    """The run as it is after a worker was killed before it kept that answer of a call, and another took over."""
    now, record, kept = timezone.now(), calls.record, []

    def dies(*given: Any, **more: Any) -> None:
        kept.append(1)
        if len(kept) == answer:
            raise Killed
        record(*given, **more)

    with mock.patch.object(calls, "record", dies), pytest.raises(Killed):
        engine.advance(run.tenant_id, run.id, holder="test/1", clock=lambda: now)
    later = runs.LEASE.end(now)
    engine.advance(run.tenant_id, run.id, holder="test/2", clock=lambda: later)
    return runs.find(run.tenant_id, run.id)


def log_of(run: Run) -> list[event_log.Recorded]:
    """The events of the run, in order."""
    return event_log.read(run.tenant_id, run.id)


def types_of(run: Run) -> list[str]:
    """The types of the run's events, in order."""
    return [event.type for event in log_of(run)]


def payloads(run: Run, kind: str) -> list[dict[str, Any]]:
    """The payloads of the run's events of a type, in order."""
    return [event.payload for event in log_of(run) if event.type == kind]


def from_input(name: str) -> dict[str, Any]:
    """A port that takes the run's input of that name."""
    return {"type": "variable", "variableName": name}


@dataclass
class Remembered:
    """A run that remembers: its ``run``, and the ids of what it wrote, in order."""

    run: Run
    entries: list[str]


def remember(
    slug: str, *contents: str, workflow_id: str = "", memory_ref: str = "notes", subject: str = "", **config: Any
) -> Remembered:
    """One run with a node for each content, executed through the engine."""
    name = workflow_id or f"notes-{ids.new_id().hex}"
    inputs = {f"remember-{number}": content for number, content in enumerate(contents, 1)}
    nodes = [
        remember_node("{{content}}", node_id=node_id, memory_ref=memory_ref, subject="{{subject}}", **config)
        | {"inputs": {"content": from_input(node_id), "subject": from_input("subject")}}
        for node_id in inputs
    ]
    install(slug, definition(name, *nodes))
    owner = scope(slug)
    run = execute(owner, name, subject=subject, **inputs)
    assert run.status == "completed", run.error
    found = MemoryEntry.objects.of(run.tenant_id).filter(run_id=run.id, retired_at=None).order_by("position")
    return Remembered(run, [ids.wire("mem", row) for row in found.values_list("id", flat=True)])


def verified(tenant_id: UUID) -> Finding:
    """The whole audit chain of the tenant, recomputed."""
    return audit_chain.verify(tenant_id, first=0, last=audit_chain.end_of(tenant_id))


def open_run(owner: TenantScope) -> Run:
    """A running run that a test writes in the name of."""
    run = run_operations.create_run(owner, RunRequest("conformance-noop"), now=timezone.now())
    with transaction.atomic():
        runs.start(run, snapshot_position=ledger.head.position(owner.tenant_id), now=timezone.now())
    return runs.find(owner.tenant_id, run.id)


def write(
    owner: TenantScope,
    run: Run,
    content: str,
    *,
    memory_ref: str = "notes",
    node_id: str | None = "node",
    now: datetime | None = None,
    **draft: Any,
) -> Written:
    """An entry through the ledger, in the name of ``run``."""
    return ledger.entries.write_entry(
        ref(owner, memory_ref), EntryDraft(content, **draft), run=run, node_id=node_id, now=now or timezone.now()
    )


def write_each(owner: TenantScope, *texts: str, **draft: Any) -> list[UUID]:
    """One entry for each text, written by one run; their ids."""
    run = open_run(owner)
    return [write(owner, run, text, **draft).id for text in texts]


def contents(owner: TenantScope, memory_ref: str = "notes", **options: Any) -> list[str]:
    """What the adapter lists under a ref, newest first."""
    given = {"now": timezone.now(), **options}
    return [row.content for row in adapter.runs.list_entries(ref(owner, memory_ref), **given)]


def install_agent(slug: str, manifest: dict[str, Any]) -> Installation:
    """The agent of that manifest is installed in the tenant; what it does not say is filled in."""
    owner = tenancy.host_scope(tenant(slug), scopes=frozenset({"agents:manage"}))
    whole = {"persona": "Agent", "modelClass": "general", "systemPrompt": "You help.", **manifest}
    return agents.install(owner, whole, registrations.advertised_capabilities(), now=timezone.now())


@contextmanager
def undone() -> Iterator[None]:
    """What happens inside has not happened afterwards: one world serves many forms."""
    with transaction.atomic():
        yield
        transaction.set_rollback(True)


def at_once(act: Callable[[int], Any], times: int) -> list[Any]:
    """What ``act`` gave each time, run by eight threads with a connection each."""

    def closing(number: int) -> Any:
        try:
            return act(number)
        finally:
            connection.close()

    with ThreadPoolExecutor(8) as pool:
        return list(pool.map(closing, range(times)))
