"""One row of each kind, for tests that go over every address of the API.

A parameter of a route is known by the segment before it and its own name: ``runs/run_id``. Whoever adds a route with a
new one says in ``MAKERS`` who makes such a row, and in ``BODIES`` what a sound body of a new operation is.
"""

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import timedelta
from functools import cached_property
from typing import Any

from django.test import Client
from django.urls import URLResolver, get_resolver
from django.utils import timezone

from memory import memory_policy as memory_policies
from memory.forget import execution, holds
from memory.host import ids, registry, webhooks
from memory.host.http import Operation, operations_of
from memory.host.models import ArtifactKind, Interrupt, Run, WebhookDelivery
from memory.models import Commitment, CommitmentState, ForgetRequest
from memory.passes import lookalikes, orders
from memory.passes.orders import RequestedPass
from openwop_console.runtime import artifacts, commitment_firing, interrupt_answers
from proposals import policies
from proposals.models import Proposal
from tests import archiving, building, proposing

PARAMETER = re.compile(r"([A-Za-z0-9_-]+)/<(?:\w+:)?(\w+)>")
AGENT = "private.peopled.triage"
MANIFEST = {"agentId": AGENT, "persona": "Triage", "modelClass": "general", "systemPrompt": "You help."}


class World:
    """A tenant with one row of each kind, made when it is first asked for; ``browser`` acts with its owner's key."""

    def __init__(self, slug: str) -> None:
        self.slug = slug
        self.scope = building.scope(slug)
        self.key = building.key(slug)
        self.browser = Client(raise_request_exception=False)

    def ask(self, method: str, url: str, body: Any = None, **headers: Any) -> Any:
        raw = "" if body is None else json.dumps(body)
        return self.browser.generic(
            method, url, raw, content_type="application/json", HTTP_X_API_KEY=self.key, **headers
        )

    def made(self, method: str, url: str, body: Any) -> None:
        answer = self.ask(method, url, body)
        assert answer.status_code in {200, 201, 204}, answer.content

    @cached_property
    def run(self) -> Run:
        """A run that has left an artifact and waits for an approval."""
        gate = {"title": "Go on", "artifactId": "a", "artifactType": "document", "actions": ["accept", "reject"]}
        document = building.definition(
            "peopled",
            building.node("write", "vendor.console.compose", {"text": "hello"}, artifactType="document"),
            building.node("gate", "core.approvalGate", gate),
        )
        building.install(self.slug, document)
        return building.execute(self.scope, "peopled")

    @cached_property
    def entry(self) -> str:
        return building.remember(self.slug, "a note").entries[0]

    @cached_property
    def proposal(self) -> Proposal:
        return proposing.propose(building.scope(self.slug, "agent"))

    @cached_property
    def policy_change(self) -> str:
        """A change of an approval policy that waits for somebody else than who asked for it."""
        asked = policies.request_change(self.scope, "prompt-template", {"quorum": 2}, now=timezone.now())
        return ids.wire("chg", asked.id)

    @cached_property
    def secret(self) -> str:
        self.made("PUT", "/v1/host/console/secrets/crm-token", {"value": "s3cret-value"})
        return "crm-token"

    @cached_property
    def forget(self) -> str:
        found = execution.preview(self.scope, ["somebody"], now=timezone.now())
        return ids.wire("fgt", found.request.id)

    @cached_property
    def hold(self) -> str:
        """A legal hold, on another subject than that of ``forget``."""
        return ids.wire("hld", holds.place(self.scope, ["held"], reason="a court case", now=timezone.now()).id)

    @cached_property
    def file(self) -> str:
        self.made("PUT", "/v1/host/workspace/files/notes.md", {"content": "x"})
        return "notes.md"

    @cached_property
    def commitment(self) -> str:
        """An armed one, that stands in an entry."""
        building.remember(self.slug, "Remind us in 3 days to call back.")
        commitment_firing.process_commitments(self.scope.tenant_id, clock=timezone.now)
        found = Commitment.objects.of(self.scope.tenant_id).latest("created_at")
        return ids.wire("cmt", found.id)

    @cached_property
    def agent(self) -> str:
        building.install_agent(self.slug, MANIFEST)
        return AGENT

    @cached_property
    def background_pass(self) -> str:
        """A pass that was cancelled, so that it can be looked at and run again."""
        assert self.entry
        ordered = self.ask("POST", "/v1/host/console/passes", BODIES["orderPass"])
        assert ordered.status_code == 202, ordered.content
        assert self.ask("POST", f"/v1/host/console/passes/{ordered.json()['id']}/stop").status_code == 202
        return str(ordered.json()["id"])

    @cached_property
    def synthesis(self) -> str:
        ordered = self.ask("POST", "/v1/host/console/synthesis", BODIES["orderSynthesis"])
        assert ordered.status_code == 202, ordered.content
        return str(ordered.json()["id"])

    @cached_property
    def pass_schedule(self) -> str:
        kept = self.ask("PUT", "/v1/host/console/pass-schedules", BODIES["keepPassSchedule"])
        assert kept.status_code == 200, kept.content
        return str(kept.json()["id"])

    @cached_property
    def archive(self) -> str:
        return ids.wire("arc", archiving.distilled(self.slug, "a note to distil").id)

    @cached_property
    def schedule(self) -> str:
        self.made("POST", "/v1/host/console/schedules", {**BODIES["createSchedule"], "name": "nightly"})
        return "nightly"

    @cached_property
    def heartbeat(self) -> str:
        self.made("POST", "/v1/host/console/heartbeats", {**BODIES["createHeartbeat"], "name": "pulse"})
        return "pulse"

    @cached_property
    def mcp_server(self) -> str:
        self.made("PUT", "/v1/host/console/mcp-servers/tools", BODIES["putMcpServer"])
        return "tools"

    @cached_property
    def spare_key(self) -> str:
        """A key beside the one that ``ask`` comes with."""
        made = self.ask("POST", "/v1/host/console/keys", BODIES["createApiKey"])
        assert made.status_code == 201, made.content
        return str(made.json()["id"])

    @cached_property
    def webhook(self) -> str:
        made = self.ask("POST", "/v1/webhooks", BODIES["registerWebhook"])
        assert made.status_code == 201, made.content
        return str(made.json()["id"])

    @cached_property
    def delivery(self) -> str:
        """Of the world's webhook, of a run that has ended."""
        assert self.webhook
        building.remember(self.slug, "told")
        webhooks.fan_out(now=timezone.now())
        return ids.wire("dlv", WebhookDelivery.objects.of(self.scope.tenant_id).latest("created_at").id)

    @cached_property
    def operator(self) -> str:
        return ids.wire("usr", building.operator(self.slug, email=f"peopled@{self.slug}.example").id)

    @cached_property
    def openintent(self) -> dict[str, str]:
        """One row of each kind of OpenIntent's, made by an operator's key as the agent ``peopled-01``."""

        def made(address: str, **body: Any) -> dict[str, Any]:
            answer = self.ask("POST", f"/api/v1/{address}", body)
            assert answer.status_code == 201, answer.content
            document: dict[str, Any] = answer.json()
            return document

        agent = made("agents/register", agent_id="peopled-01")["agent_id"]
        intent = made("intents", title="Peopled")["id"]
        made(f"intents/{intent}/agents", agent_id=agent)
        entry = made("memory", namespace="shared", key="a", value={}, memory_type="semantic")
        return {
            "agent": agent,
            "intent": intent,
            "namespace": "shared",
            "entry": entry["id"],
            "task": made("tasks", intent_id=intent, name="One", assigned_agent=agent)["id"],
            "coordinator": made("coordinators", intent_id=intent, agent_id=agent)["id"],
            "grant": made(f"intents/{intent}/acl/entries", principal_id=agent)["id"],
        }

    @cached_property
    def external_run(self) -> str:
        """A run that an agent executes elsewhere."""
        opened = self.ask("POST", "/v1/host/console/external-runs", BODIES["openExternalRun"])
        assert opened.status_code == 201, opened.content
        return str(opened.json()["id"])

    @cached_property
    def token(self) -> str:
        asked = Interrupt.objects.of(self.run.tenant_id).get(run_id=self.run.id)
        return interrupt_answers.mint(asked, now=timezone.now())

    @cached_property
    def template(self) -> str:
        """The ref of an installed prompt template."""
        made = registry.Artifact(ArtifactKind.PROMPT_TEMPLATE, "peopled.prompt", "1.0.0", proposing.artifact())
        return registry.install(self.run.tenant_id, made, source="host", installed_by="host", now=timezone.now()).ref


MAKERS: dict[str, Callable[[World], str]] = {
    "openintent agents/agent_id": lambda world: world.openintent["agent"],
    "openintent coordinators/coordinator_id": lambda world: world.openintent["coordinator"],
    "openintent entries/entry_id": lambda world: world.openintent["grant"],
    "openintent intents/intent_id": lambda world: world.openintent["intent"],
    "openintent memory/entry_id": lambda world: world.openintent["entry"],
    "openintent namespaces/name": lambda world: world.openintent["namespace"],
    "openintent tasks/task_id": lambda world: world.openintent["task"],
    "agents/agent_id": lambda world: world.agent,
    "approval-policies/kind": lambda world: "automation",
    "archives/archive_id": lambda world: world.archive,
    "artifacts/artifact_id": lambda world: artifacts.artifact_id("write"),
    "artifacts/ref": lambda world: world.template,
    "changes/change_id": lambda world: world.policy_change,
    "commitments/commitment_id": lambda world: world.commitment,
    "external-runs/run_id": lambda world: world.external_run,
    "files/path": lambda world: world.file,
    "forget/forget_id": lambda world: world.forget,
    "holds/hold_id": lambda world: world.hold,
    "heartbeats/name": lambda world: world.heartbeat,
    "interrupts/node_id": lambda world: "gate",
    "interrupts/token": lambda world: world.token,
    "keys/key_id": lambda world: world.spare_key,
    "mcp-servers/name": lambda world: world.mcp_server,
    "memory/memory_id": lambda world: world.entry,
    "operators/operator_id": lambda world: world.operator,
    "pass-schedules/schedule_id": lambda world: world.pass_schedule,
    "passes/pass_id": lambda world: world.background_pass,
    "previews/preview_id": lambda world: world.forget,
    "proposals/proposal_id": lambda world: ids.wire("prop", world.proposal.id),
    "runs/run_id": lambda world: ids.wire("run", world.run.id),
    "schedules/name": lambda world: world.schedule,
    "secrets/name": lambda world: world.secret,
    "synthesis/pass_id": lambda world: world.synthesis,
    "deliveries/delivery_id": lambda world: world.delivery,
    "webhooks/webhook_id": lambda world: world.webhook,
    "workflows/workflow_id": lambda world: world.run.workflow_id,
}
# What goes in the place of a parameter when nothing is to be found there: of the same form, and nobody's.
UNKNOWN: dict[str, str] = {
    "openintent agents/agent_id": "nobody",
    "openintent coordinators/coordinator_id": "coord_" + "0" * 32,
    "openintent entries/entry_id": "acl_" + "0" * 32,
    "openintent intents/intent_id": "intent_" + "0" * 32,
    "openintent memory/entry_id": "mem_" + "0" * 32,
    "openintent namespaces/name": "nothing",
    "openintent tasks/task_id": "task_" + "0" * 32,
    "agents/agent_id": "private.peopled.nobody",
    "approval-policies/kind": "nothing",
    "archives/archive_id": "arc_" + "0" * 32,
    "artifacts/artifact_id": "art_" + "0" * 32,
    "artifacts/ref": "prompt-template:peopled.nothing@1.0.0",
    "changes/change_id": "chg_" + "0" * 32,
    "commitments/commitment_id": "cmt_" + "0" * 32,
    "external-runs/run_id": "run_" + "0" * 32,
    "files/path": "nothing.md",
    "forget/forget_id": "fgt_" + "0" * 32,
    "holds/hold_id": "hld_" + "0" * 32,
    "heartbeats/name": "nothing",
    "interrupts/node_id": "nothing",
    "interrupts/token": "bm90aGluZw.bm90aGluZw",
    "keys/key_id": "key_" + "0" * 32,
    "mcp-servers/name": "nothing",
    "memory/memory_id": "mem_" + "0" * 32,
    "operators/operator_id": "usr_" + "0" * 32,
    "pass-schedules/schedule_id": "psc_" + "0" * 32,
    "passes/pass_id": "pass_" + "0" * 32,
    "previews/preview_id": "fgt_" + "0" * 32,
    "proposals/proposal_id": "prop_" + "0" * 32,
    "runs/run_id": "run_" + "0" * 32,
    "schedules/name": "nothing",
    "secrets/name": "nothing",
    "synthesis/pass_id": "pass_" + "0" * 32,
    "deliveries/delivery_id": "dlv_" + "0" * 32,
    "webhooks/webhook_id": "whk_" + "0" * 32,
    "workflows/workflow_id": "nothing",
}
BODIES: dict[str, Any] = {
    "addComment": {"text": "a word"},
    "addRevision": {"title": "Yet another title"},
    "bulkCancelRuns": {"runIds": ["run_" + "0" * 32]},
    "changeApprovalPolicy": {"quorum": 3},
    "changeHeartbeat": {"enabled": False},
    "changeMemoryPolicy": {"archiveDays": 60},
    "changeOperator": {"active": True},
    "changeSchedule": {"enabled": False},
    "createApiKey": {"role": "viewer", "name": "a spare one"},
    "createHeartbeat": {
        "name": "peopled",
        "intervalSec": 60,
        "predicate": {"observe": "runs", "expression": "length(@) > `0`"},
    },
    "createProposal": {"kind": "prompt-template", "artifact": proposing.TEMPLATE, "title": "A title"},
    "createRun": {"workflowId": "conformance-noop"},
    "createSchedule": {"name": "peopled", "workflowId": "conformance-noop", "cron": "0 3 * * *"},
    "decideLookAlikes": {"decision": "keep", "pairs": [{"id": "dup_" + "0" * 32, "sha256": "0" * 64}]},
    "decideProposal": {"revision": 1, "sha256": "0" * 64, "decision": "granted"},
    "disableArtifact": {"reason": "incident"},
    "enableArtifact": {"reason": "looked into"},
    "endProposals": {"action": "reject", "ids": ["prop_" + "0" * 32], "reason": "no"},
    "endLegalHold": {"reason": "the case is closed"},
    "forkRun": {"mode": "branch", "fromSeq": 0},
    "installAgent": MANIFEST,
    "keepPassSchedule": {"kind": "consolidate", "memoryRef": "notes", "cron": "0 3 * * *"},
    "openExternalRun": {"system": "langgraph", "runId": "run-1"},
    "orderPass": {"kind": "consolidate", "memoryRef": "notes"},
    "orderSynthesis": {"dryRun": True},
    "previewForget": {"subject": "somebody"},
    "putMemory": {"namespace": "notes", "key": "put", "value": {"text": "x"}},
    "putMcpServer": {"url": "https://tools.example/mcp"},
    "putSecret": {"value": "s3cret-value"},
    "registerWebhook": {"url": "https://receiver.example/hook", "events": ["run.completed"]},
    "rejectProposal": {"reason": "no"},
    "resolveInterrupt": {"resumeValue": {"action": "accept"}},
    "resolveInterruptByToken": {"resumeValue": {"action": "accept"}},
    "setLegalHold": {"subject": "held too", "reason": "a court case"},
    "reviseProposal": {"title": "Another title"},
    "rollBackArtifact": {"rationale": "the one before was better"},
    "seamApprovalGate": {"scenario": "override", "principal": "conformance-owner-principal", "reason": "a test"},
    "seamAuthorizationDecide": {
        "principal": "conformance-unseeded-principal",
        "action": "runs:cancel",
        "resource": "r",
    },
    "seamCompactMemory": {"memoryRef": "peopled/compacted"},
    "seamConsolidateMemory": {"memoryRef": "peopled/consolidated"},
    "seamDistillMemory": {"memoryRef": "peopled/distilled", "includeSecretCanary": True},
    "seamFireCommitment": {"memoryRef": "peopled-seam", "condition": "predicate"},
    "seamHeartbeatTick": {"heartbeatId": "peopled-seam", "observedState": {"unread": 1}},
    "seamSeedMemory": {"memoryRef": "peopled/compacted", "entries": [{"id": "a", "content": "one"}]},
    "seamSchedulingTick": {"scenario": "single-tick"},
    "seamWorkspaceOp": {"tenant": "a", "workspace": "b", "op": "list"},
    "restoreMemoryEntry": {"reason": "it is true after all"},
    "retireMemoryEntry": {"reason": "it is wrong"},
    "restorePass": {"reason": "it merged too much"},
    "snoozeCommitment": {"until": (timezone.now() + timedelta(days=1)).isoformat()},
    "cancelCommitment": {"reason": "done by phone"},
    "writeMemoryEntry": {"memoryRef": "notes", "content": "x", "origin": {"system": "langgraph", "node": "plan"}},
    "writeWorkspaceFile": {"content": "y"},
    "beatAgent": {"current_load": 1},
    "changeAgentStatus": {"status": "draining"},
    "changeCoordinator": {"status": "paused"},
    "changeIntentState": {"state": {"step": 1}},
    "changeIntentStatus": {"status": "active"},
    "changeMemory": {"value": {"more": 1}},
    "changeNamespace": {"default": "read"},
    "changeTask": {"priority": "high"},
    "createMemory": {"namespace": "notes", "key": "new", "value": {"text": "x"}},
    "createIntent": {"title": "Another"},
    "deleteMemoryBatch": {"filter": {"namespace": "shared"}},
    "grantAccess": {"principal_id": "peopled-02"},
    "joinIntent": {"agent_id": "peopled-02"},
    "logIntentEvent": {"event_type": "comment", "payload": {"text": "x"}},
    "registerAgent": {"agent_id": "peopled-02"},
    "replaceAcl": {"entries": [{"principal_id": "peopled-02"}]},
    "writeMemoryBatch": {"entries": [{"namespace": "notes", "key": "batched", "value": {}}]},
}
QUERIES = {
    "pollRunEvents": "?timeout=0",
    "deleteMemoryAt": "?memory_type=semantic&namespace=shared&key=a",
}
# The version that a change of one of the world's own rows of OpenIntent names.
VERSIONED = frozenset(
    {"changeMemory", "changeNamespace", "changeTask", "changeCoordinator", "changeIntentState", "changeIntentStatus"}
)


def _vote(world: World) -> dict[str, Any]:
    """A gate of the world's proposal is open, and this is a vote at it."""
    gate = proposing.ask(world.proposal, by=building.scope(world.slug, "reviewer")).gate
    assert gate
    return {"revision": gate.revision, "sha256": gate.sha256, "decision": "granted"}


def _look_alikes(world: World) -> dict[str, Any]:
    """Two entries that look alike are offered."""
    texts = "The invoices are kept in the blue cabinet.", "Our blue cabinet in the hall holds all invoices."
    building.remember(world.slug, *texts, memory_ref="alike")
    order = orders.order(world.scope, RequestedPass("consolidate", "alike"), now=timezone.now())
    work = orders.run_pass(world.scope.tenant_id, order.id, holder="test/1", clock=timezone.now)
    assert work
    lookalikes.find_pairs(work, clock=timezone.now)
    (pair,) = lookalikes.page(world.scope, after=None, size=1, now=timezone.now()).rows
    return {"decision": "keep", "pairs": [{"id": pair.id, "sha256": pair.sha256}]}


def _doubted(world: World) -> dict[str, Any]:
    """The world's commitment is a possible one."""
    rows = Commitment.objects.written_by("memory.commitments").filter(id__in=[ids.parse("cmt", world.commitment)])
    rows.update(state=CommitmentState.POSSIBLE)
    return {}


def _first_of_two(world: World) -> None:
    """The world's forget was confirmed by the first of two people."""
    building.operator(world.slug)
    building.operator(world.slug, email=f"rosa.owner@{world.slug}.example")
    memory_policies.change(world.scope, {"forget_second_person": True}, now=timezone.now())
    request = ids.parse("fgt", world.forget)
    # The thorough fuzz of other operations takes longer than a preview lasts.
    rows = ForgetRequest.objects.written_by(execution.WRITER).filter(id__in=[request])
    rows.update(lapses_at=timezone.now() + execution.LIFETIME)
    execution.confirm(world.scope, request, typed="somebody", reason="a test", now=timezone.now())


def _superseded(world: World) -> dict[str, Any]:
    """Another version of the world's template is installed."""
    assert world.template
    newer = registry.Artifact(ArtifactKind.PROMPT_TEMPLATE, "peopled.prompt", "2.0.0", proposing.artifact())
    registry.install(world.scope.tenant_id, newer, source="host", installed_by="host", now=timezone.now())
    return {}


# What an operation needs beside a row to be about, done in the world; each gives the body.
PREPARED: dict[str, Callable[[World], Any]] = {
    "armCommitment": _doubted,
    "dismissCommitment": _doubted,
    "decideLookAlikes": _look_alikes,
    "decideProposal": _vote,
    "createTask": lambda world: {"intent_id": world.openintent["intent"], "name": "Another"},
    "createCoordinator": lambda world: {"intent_id": world.openintent["intent"], "agent_id": "peopled-02"},
    "deleteMemoryAt": lambda world: world.openintent and None,
    "endProposals": lambda world: {**BODIES["endProposals"], "ids": [ids.wire("prop", world.proposal.id)]},
    "orderPass": lambda world: world.entry and BODIES["orderPass"],
    "rollBackArtifact": _superseded,
    "withdrawForget": _first_of_two,
    "withdrawProposal": lambda world: _vote(world) and None,
}


@dataclass(frozen=True)
class Route:
    """An address of the API: its pattern, its view, and the parameters in it."""

    pattern: str
    view: Any = field(repr=False)

    @property
    def parameters(self) -> dict[str, str]:
        """Each parameter, and the name under which ``MAKERS`` knows it."""
        face = "openintent " if self.pattern.startswith("api/") else ""
        return {name: f"{face}{segment}/{name}" for segment, name in PARAMETER.findall(self.pattern)}

    @property
    def operations(self) -> dict[str, Operation]:
        """What the view has said of itself, by method."""
        told = operations_of(self.view)
        methods = sorted(set(self.view.cls().allowed_methods) - {"OPTIONS", "HEAD"})
        return {method: told.get(method) or told[""] for method in methods}

    def address(self, values: dict[str, str]) -> str:
        return re.sub(r"<(?:\w+:)?(\w+)>", lambda found: values[found[1]], self.pattern)

    def real(self, world: World) -> dict[str, str]:
        """Ids of ``world``'s own."""
        return {name: maker_of(self, known)(world) for name, known in self.parameters.items()}

    def unknown(self) -> dict[str, str]:
        return {name: UNKNOWN[known] for name, known in self.parameters.items()}


def sound_body(told: Operation, values: dict[str, str]) -> Any:
    """The body of ``BODIES``; an id in the address that the body repeats is the address's."""
    body: Any = BODIES.get(told.name)
    return {**body, "agentId": values["agent_id"]} if told.name == "installAgent" else body


def maker_of(route: Route, known: str) -> Callable[[World], str]:
    assert known in MAKERS, (
        f"/{route.pattern} has the parameter {known!r}: add to MAKERS in tests/peopled.py who makes such a row, "
        "and to UNKNOWN one of the same form that is nobody's"
    )
    return MAKERS[known]


def routes(patterns: Any = None, prefix: str = "", *, faces: tuple[str, ...] = ("v1/",)) -> Iterator[Route]:
    """Every route under ``/v1/``, or of these faces."""
    for pattern in get_resolver().url_patterns if patterns is None else patterns:
        place = prefix + str(pattern.pattern)
        if isinstance(pattern, URLResolver):
            yield from routes(pattern.url_patterns, place, faces=faces)
        elif place.startswith(faces):
            yield Route(place, pattern.callback)
