"""Interrupts of a run: the configuration of a gate, its suspension, tokens, and how an answer resolves it."""

import hashlib
import hmac
import json
from base64 import b64decode, urlsafe_b64encode
from binascii import Error as Base64Error
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from django.conf import settings
from django.db import transaction

from memory import redaction
from memory.host import access, audit, denials, ids, interrupts, json_schemas, registry, runs
from memory.host.errors import Conflict, Invalid, Unprocessable
from memory.host.events import (
    ApprovalAsk,
    ApprovalReceived,
    Ask,
    ClarificationAsk,
    CorrelationDigest,
    CustomAsk,
    ExternalEventAsk,
    Question,
)
from memory.host.interrupts import InterruptAlreadyResolved, InterruptExpired, InterruptNotFound, InterruptTokenRefused
from memory.host.json_schemas import problem_of, problems
from memory.host.json_types import JSONMapping, JSONObject
from memory.host.models import Interrupt, Run
from memory.host.node_types import Done, NodeContext, NodeFailure, Outcome, Wait, node_type
from memory.host.tenancy import TenantScope
from memory.redaction import FROM_INPUTS
from memory.wire import instant

APPROVAL_GATE, CLARIFICATION_GATE, INTERRUPT = "core.approvalGate", "core.clarificationGate", "core.interrupt"
KIND_OF = {APPROVAL_GATE: "approval", CLARIFICATION_GATE: "clarification"}
ACTIONS = ("accept", "reject", "refine", "edit-accept", "ask")
COUNTED = {"accept", "reject", "ask"}
AUTH_REQUIRED = "openwop-interrupt-auth-required"
PROFILES = ("openwop-interrupts", AUTH_REQUIRED, "openwop-interrupt-quorum", "openwop-interrupt-external-event")
LONGEST_WAIT_MS = 366 * 24 * 3_600_000
NEEDED = {
    "clarification": ("questions",),
    "external-event": ("eventType", "correlation"),
    "custom": ("customKind",),
}
NAME = {"type": "string", "minLength": 1, "maxLength": 256}
WORDS = {"type": "string", "minLength": 1, "maxLength": 2000}
QUESTION = {
    "type": "object",
    "required": ["id", "question"],
    "additionalProperties": False,
    "properties": {"id": NAME, "question": WORDS, "schema": {"type": "object"}},
}
COMMON = {
    "timeoutSec": {"type": "number", "exclusiveMinimum": 0, "maximum": LONGEST_WAIT_MS / 1000},
    "timeoutMs": {"type": "integer", "minimum": 1, "maximum": LONGEST_WAIT_MS},
    "profile": {"enum": list(PROFILES)},
    "onReject": {"enum": ["fail", "continue"]},
    "resultVariable": NAME,
}
CONFIG_BY_KIND: dict[str, JSONObject] = {
    "approval": {
        "title": WORDS,
        "description": {"type": "string", "maxLength": 10_000},
        "artifactId": NAME,
        "artifactType": NAME,
        "actions": {"type": "array", "items": {"enum": list(ACTIONS)}, "minItems": 1, "uniqueItems": True},
        "requiredApprovals": {"type": "integer", "minimum": 1, "maximum": 100},
        "rejectionPolicy": {"enum": ["single-veto", "majority"]},
        "approversList": {"type": "array", "items": NAME, "uniqueItems": True},
    },
    "clarification": {
        "questions": {"type": "array", "items": QUESTION, "minItems": 1, "maxItems": 50},
        "contextType": NAME,
    },
    "external-event": {
        "eventType": NAME,
        "correlation": {"type": "object", "minProperties": 1},
        "resumeSchema": {"type": "object"},
    },
    "custom": {"customKind": NAME, "resumeSchema": {"type": "object"}},
}
LONGEST_QUESTION = 2000
SCOPES = ("whole", "section", "items")
LEGACY = {"approved": "accept", "granted": "accept", "rejected": "reject"}
DECISIONS = {"accept": "approved", "edit-accept": "approved", "reject": "rejected", "refine": "rejected", "ask": ""}
Json = JSONObject
LIFETIME = timedelta(minutes=30)
LONGEST = 4096
RESOLVE, INSPECT = "resolve", "inspect"
ACCEPTED = {"accept", "edit-accept"}
FAILURES = {
    "reject": ("approval_rejected", "The approval was rejected."),
    "refine": ("approval_refined", "The approval asked for changes, and no edge of the workflow leads to them."),
}
NO_ANSWER = ("interrupt_timeout", "No answer came in time.")
NO_DECISION = ("approval_timeout", "No decision came in time, which counts as a rejection.")
BEARER = "token"
MAX_VOTER = 128
MAX_EXCHANGES = 100


# The config of an asking node: validation, and the question, policy and timeout derived from it.
#
# A config is checked when the workflow is installed, and again with the node's inputs merged in when the run asks.


def problems_of_node(node: JSONMapping) -> list[tuple[str, str]]:
    """Return (field, problem) pairs for the config of an asking node, as far as they are known before a run."""
    # A definition must have its own questions even if inputs replace them: the log records the definition's wording.
    given = set(node["inputs"]) & set(FROM_INPUTS) - {"questions"}
    return problems_of(node["typeId"], node["config"], given=given)


def kind_of(type_id: str, config: Mapping[str, object]) -> str:
    return KIND_OF.get(type_id) or str(config.get("kind", ""))


def problems_of(type_id: str, config: Mapping[str, object], *, given: set[str] | None = None) -> list[tuple[str, str]]:
    """Return (field, problem) pairs for the config; ``given`` are the names that inputs will supply."""
    kind = kind_of(type_id, config)
    if kind not in CONFIG_BY_KIND:
        return [("config.kind", f"must be one of {', '.join(CONFIG_BY_KIND)}")]
    missing = [name for name in NEEDED.get(kind, ()) if name not in config and name not in (given or set())]
    if missing:
        return [(f"config.{name}", "is required") for name in missing]
    schema = {"type": "object", "properties": {**COMMON, **CONFIG_BY_KIND[kind]}}
    wrong = [(each["field"], each["message"]) for each in problems(schema, dict(config), field="config")]
    return wrong or _meanings(config)


def _meanings(config: JSONMapping) -> list[tuple[str, str]]:
    """Return the config problems that a JSON Schema cannot express."""
    wrong = []
    questions = config.get("questions", [])
    if len({each["id"] for each in questions}) != len(questions):
        wrong.append(("config.questions", "two questions have one id"))
    schemas = {f"config.questions[{at}].schema": each.get("schema", {}) for at, each in enumerate(questions)}
    schemas["config.resumeSchema"] = config.get("resumeSchema", {})
    wrong += [(field, problem) for field, schema in schemas.items() if (problem := problem_of(schema))]
    if config.get("requiredApprovals", 1) > 1 and set(config.get("actions", ())) - COUNTED:
        wrong.append(("config.actions", "of an approval that several decide are accept, reject and ask"))
    if 0 < len(config.get("approversList", ())) < config.get("requiredApprovals", 1):
        wrong.append(("config.requiredApprovals", "are more than there are approvers"))
    if "timeoutSec" in config and "timeoutMs" in config:
        wrong.append(("config.timeoutMs", "cannot be combined with timeoutSec"))
    return wrong


def timeout_of(config: JSONMapping) -> timedelta | None:
    """The time until an unanswered question counts as rejected; None when it stays open as long as its run."""
    if "timeoutMs" in config:
        return timedelta(milliseconds=config["timeoutMs"])
    return timedelta(seconds=config["timeoutSec"]) if "timeoutSec" in config else None


def policy_of(kind: str, config: Mapping[str, object], *, counts_voters: bool) -> JSONObject:
    """How answers are counted and who may answer.

    A token identifies no person, so tokens are refused where votes are counted, approvers are named, or the profile
    requires authentication.
    """
    required, approvers = config.get("requiredApprovals", 1), config.get("approversList", [])
    return {
        "plain": True,
        "tokens": config.get("profile") != AUTH_REQUIRED and required == 1 and not approvers,
        **({"voters": True} if counts_voters else {}),
        **({"approversList": approvers} if approvers else {}),
        **({"resumeSchema": config["resumeSchema"]} if "resumeSchema" in config else {}),
        **({"requiredApprovals": required, "rejectionPolicy": _rejection(config)} if kind == "approval" else {}),
    }


def _rejection(config: Mapping[str, object]) -> str:
    return str(config.get("rejectionPolicy", "single-veto"))


def data_of(kind: str, config: JSONMapping, *, node_id: str) -> JSONObject:
    """The question in the shape of the contract's ``suspend-request``."""
    if kind == "approval":
        return {
            "artifactId": config.get("artifactId", node_id),
            "artifactType": config.get("artifactType", "decision"),
            "title": config.get("title", "Approval"),
            "actions": list(config.get("actions", ("accept", "reject"))),
            "requiredApprovals": config.get("requiredApprovals", 1),
            "rejectionPolicy": _rejection(config),
            **{name: config[name] for name in ("description", "artifactData", "approversList") if name in config},
        }
    names = {
        "clarification": ("questions", "contextType"),
        "external-event": ("eventType", "correlation"),
        "custom": ("customKind", "payload"),
    }
    return {name: config[name] for name in names[kind] if name in config}


# Validation of answers by kind: each check returns the value to store, or raises a refusal with field paths.


class CorrelationMismatch(Unprocessable):
    code = "correlation_mismatch"
    message = "That event is not the one this run waits for."


def checked_answer(kind: str, value: object, data: Json, policy: Json) -> Json:
    """Validate ``value`` as an answer to an interrupt of that kind and return it as stored; raise Invalid otherwise."""
    return VALUE_BY_KIND[kind](value, data, policy)


def _refused(problem: str, field: str = "resumeValue") -> Invalid:
    return Invalid("The resume value does not answer this interrupt.", errors=[{"field": field, "message": problem}])


def _approval(value: object, data: Json, policy: Json) -> Json:
    if not isinstance(value, dict):
        raise _refused("must be an object with an action")
    action = value.get("action", LEGACY.get(str(value.get("decision"))))
    if not isinstance(action, str) or action not in data["actions"]:
        raise _refused(f"must be one of {', '.join(data['actions'])}", "resumeValue.action")
    if action == "refine":
        _require_feedback(value.get("refineFeedback"))
    if action == "edit-accept" and "editedArtifactData" not in value:
        raise _refused("is required to accept an edited artifact", "resumeValue.editedArtifactData")
    if not _is_question(value.get("question", "")):
        raise _refused(f"must be a text of at most {LONGEST_QUESTION} characters", "resumeValue.question")
    rest = {name: given for name, given in value.items() if name != "voter"}
    return {**rest, "action": action, "decision": DECISIONS[action]}


def _is_question(said: object) -> bool:
    return isinstance(said, str) and len(said) <= LONGEST_QUESTION


def _require_feedback(feedback: object) -> None:
    if not isinstance(feedback, dict):
        raise _refused("must be an object with a scope", "resumeValue.refineFeedback")
    if feedback.get("scope") not in SCOPES:
        raise _refused(f"must be one of {', '.join(SCOPES)}", "resumeValue.refineFeedback.scope")


def _clarification(value: object, data: Json, policy: Json) -> Json:
    answers = _answers(value)
    schemas = {each["id"]: each.get("schema") for each in data["questions"]}
    errors = [_error(name, "is not a question of this interrupt") for name in answers if name not in schemas]
    for name, schema in schemas.items():
        if name not in answers or (schema is None and _is_empty(answers[name])):
            errors.append(_error(name, "is required"))
        elif schema is not None:
            errors += json_schemas.problems(schema, answers[name], field=f"resumeValue.answers.{name}")
    if errors:
        raise Invalid("The resume value does not answer this interrupt.", errors=errors)
    return {"answers": answers}


def _is_empty(answer: object) -> bool:
    """Whether that answers nothing: null, a blank text, an empty list or object. A question with a schema says itself
    what it takes."""
    return answer is None or answer in ([], {}) or (isinstance(answer, str) and not answer.strip())


def _error(name: str, message: str) -> dict[str, str]:
    return {"field": f"resumeValue.answers.{name[:100]}", "message": message}


def _answers(value: object) -> Json:
    """Answers by question id, from an object of answers or a list of ``{id, answer}``."""
    given = value.get("answers") if isinstance(value, dict) else value
    if isinstance(given, dict):
        return given
    if not isinstance(given, list) or not all(isinstance(each, dict) and "answer" in each for each in given):
        raise _refused("must be an object of answers by question, or a list of id and answer", "resumeValue.answers")
    names = [each.get("id") for each in given]
    if not all(isinstance(name, str) for name in names) or len(set(names)) != len(names):
        raise _refused("must name each question once", "resumeValue.answers")
    return {each["id"]: each["answer"] for each in given}


def _external_event(value: object, data: Json, policy: Json) -> Json:
    """Match the declared correlation keys against ``correlation``, or against the event's own top-level keys."""
    if not isinstance(value, dict):
        raise _refused("must be an object")
    said = value["correlation"] if isinstance(value.get("correlation"), dict) else value
    if not all(name in said and same(said[name], wanted) for name, wanted in data["correlation"].items()):
        raise CorrelationMismatch
    return {"event": _satisfying(value, policy)}


def _custom(value: object, data: Json, policy: Json) -> Json:
    return {"value": _satisfying(value, policy)}


def _satisfying(value: object, policy: Json) -> object:
    errors = json_schemas.problems(policy.get("resumeSchema", {}), value, field="resumeValue")
    if errors:
        raise Invalid("The resume value does not answer this interrupt.", errors=errors)
    return value


def same(left: object, right: object) -> bool:
    """Whether two JSON values are equal: numbers compare by value, and a boolean never equals a number."""
    if isinstance(left, bool) or isinstance(right, bool):
        return left is right
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(same(left[name], right[name]) for name in left)
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(same, left, right))
    return bool(left == right)


VALUE_BY_KIND: dict[str, Callable[[object, Json, Json], Json]] = {
    "approval": _approval,
    "clarification": _clarification,
    "external-event": _external_event,
    "custom": _custom,
}


# Signed interrupt tokens: each lets a holder without an API key answer one question, once, for a limited time.
#
# The format is ``base64url(JSON) "." base64url(HMAC-SHA256)``, under a dedicated key derived from
# ``OPENWOP_SECRET_KEY``. Tokens are not stored: an interrupt is answered once, so at most one of its tokens works.


@dataclass(frozen=True, slots=True)
class Claims:
    """The claims of a token whose signature is valid."""

    tenant_id: UUID
    run_id: UUID
    interrupt_id: UUID
    expires_at: datetime
    intent: str


def mint(interrupt: Interrupt, *, intent: str = RESOLVE, paused_at: datetime | None = None, now: datetime) -> str:
    """Sign a token that is valid for half an hour, or until the interrupt times out if that is earlier; of a run that
    is paused, as if it went on now."""
    waited = now - (paused_at or now)
    expires_at = min(now + LIFETIME, (interrupt.timeout_at or now + LIFETIME) + waited)
    claims = {
        "tenant": str(interrupt.tenant_id),
        "runId": ids.wire("run", interrupt.run_id),
        "nodeId": interrupt.node_id,
        "interruptId": ids.wire("int", interrupt.id),
        "expiresAt": instant(expires_at),
        "intent": intent,
    }
    body = _encoded(json.dumps(claims, separators=(",", ":")).encode())
    return f"{body}.{_encoded(_signature(body, settings.SECRET_KEY))}"


def read(text: str, *, now: datetime) -> Claims:
    """Return the token's claims.

    Raises InterruptNotFound alike for malformed, forged and foreign tokens; InterruptExpired for a genuine expired one.
    """
    claims = _genuine(text)
    if claims is None:
        raise InterruptNotFound
    if claims.expires_at <= now:
        raise InterruptExpired
    return claims


def answering(text: str, *, now: datetime) -> Claims | None:
    """The claims of a genuine, unexpired token that may resolve its interrupt; None for any other text."""
    claims = _genuine(text)
    return claims if claims and claims.intent == RESOLVE and claims.expires_at > now else None


def _genuine(text: str) -> Claims | None:
    body, _, signature = text.partition(".")
    if len(text) > LONGEST or not text.isascii() or not _is_signed(body, signature):
        return None
    said = json.loads(_decoded(body))
    return Claims(
        UUID(said["tenant"]),
        _id("run", said["runId"]),
        _id("int", said["interruptId"]),
        datetime.fromisoformat(said["expiresAt"]),
        said["intent"],
    )


def _id(prefix: str, text: str) -> UUID:
    found = ids.parse(prefix, text)
    if found is None:
        raise InterruptNotFound
    return found


def fingerprint(tenant_id: UUID, value: object) -> str:
    """A deterministic keyed digest of ``value`` per tenant; the log holds it instead of the value."""
    key = hmac.new(settings.SECRET_KEY.encode(), b"interrupt correlation" + tenant_id.bytes, hashlib.sha256).digest()
    return hmac.new(key, json.dumps(value, sort_keys=True).encode(), hashlib.sha256).hexdigest()


def _is_signed(body: str, signature: str) -> bool:
    given = _decoded(signature)
    keys = [settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS]
    return any(hmac.compare_digest(_signature(body, key), given) for key in keys)


def _signature(body: str, secret: str) -> bytes:
    key = hmac.new(secret.encode(), b"interrupt tokens", hashlib.sha256).digest()
    return hmac.new(key, body.encode(), hashlib.sha256).digest()


def _encoded(raw: bytes) -> str:
    return urlsafe_b64encode(raw).rstrip(b"=").decode()


def _decoded(text: str) -> bytes:
    """Decode base64url; return empty bytes when ``text`` is not valid."""
    try:
        return b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
    except Base64Error:
        return b""


# The asking node types: approvals and clarifications by people, and external events (openwop-host 3.8, 3.9).
#
# The question is asked once per run. It may contain data of the run, which is read from the interrupt; the event on the
# log carries only the wording of the workflow's definition. After a rejection the run continues if the gate says
# ``onReject: continue`` or one of its outgoing edges has a condition, which then decides. Otherwise the gate fails, so
# that no node downstream of an approval runs without one.


@node_type(APPROVAL_GATE, check=problems_of_node, logs_config=True)
def approval_gate(ctx: NodeContext) -> Outcome:
    return _gate(ctx, APPROVAL_GATE)


@node_type(CLARIFICATION_GATE, check=problems_of_node, logs_config=True)
def clarification_gate(ctx: NodeContext) -> Outcome:
    return _gate(ctx, CLARIFICATION_GATE)


@node_type(INTERRUPT, check=problems_of_node, logs_config=True)
def interrupt(ctx: NodeContext) -> Outcome:
    return _gate(ctx, INTERRUPT)


def _gate(ctx: NodeContext, type_id: str) -> Outcome:
    """Suspend with the question; when called again with an answer, return its outcome."""
    kind = kind_of(type_id, ctx.config)
    if ctx.resume_value is not None:
        return _answered(ctx, kind)
    brought = {name: ctx.inputs[name] for name in FROM_INPUTS if ctx.inputs.get(name) is not None}
    config = {**ctx.config, **brought}
    if wrong := problems_of(type_id, config):
        field, problem = wrong[0]
        raise NodeFailure("gate_invalid", f"The node cannot ask: {field} {problem}.", final=True)
    return Wait(
        kind,
        ctx.node_id,
        _question_for_log(ctx, kind, config),
        asked=data_of(kind, config, node_id=ctx.node_id),
        policy=policy_of(kind, config, counts_voters=_counts_voters(ctx, type_id)),
        timeout=timeout_of(config),
    )


def _counts_voters(ctx: NodeContext, type_id: str) -> bool:
    """Whether a resolution may name its voter: only in the host's built-in conformance fixtures."""
    workflow = ctx.run.workflow_id
    return type_id == APPROVAL_GATE and workflow.startswith("conformance-") and workflow in registry.builtin_ids()


def _question_for_log(ctx: NodeContext, kind: str, config: JSONObject) -> Ask:
    """The question as the log may hold it: only the definition's wording, and a digest of a correlation."""
    written = data_of(kind, {**ctx.config}, node_id=ctx.node_id)
    if kind == "clarification":
        return ClarificationAsk(tuple(Question(each["id"], each["question"]) for each in written["questions"]))
    if kind == "external-event":
        digest = fingerprint(ctx.run.tenant_id, config["correlation"])
        return ExternalEventAsk(ctx.config["eventType"], CorrelationDigest(digest))
    if kind == "custom":
        return CustomAsk(ctx.config["customKind"])
    return ApprovalAsk(
        artifact_id=written["artifactId"],
        artifact_type=written["artifactType"],
        title=written["title"],
        actions=tuple(written["actions"]),
        required_approvals=written["requiredApprovals"],
        rejection_policy=written["rejectionPolicy"],
    )


def _answered(ctx: NodeContext, kind: str) -> Outcome:
    answer = dict(ctx.resume_value)
    action = answer.get("action", "accept")
    if action not in ACCEPTED and not _goes_on(ctx):
        decided = FAILURES[action] if "decidedBy" in answer else NO_DECISION
        raise NodeFailure(*(decided if kind == "approval" else NO_ANSWER), final=True)
    if kind == "approval" and "artifactData" in ctx.inputs:
        answer["artifactData"] = answer.get("editedArtifactData", ctx.inputs["artifactData"])
    name = ctx.config.get("resultVariable")
    return Done(outputs=answer, variables={name: answer} if name else {})


def _goes_on(ctx: NodeContext) -> bool:
    """Whether the run continues after a rejection: by ``onReject: continue`` or a condition on an outgoing edge."""
    edges = json.loads(ctx.run.definition.text)["edges"]
    behind = [edge for edge in edges if edge["sourceNodeId"] == ctx.node_id]
    return ctx.config.get("onReject") == "continue" or any("condition" in edge for edge in behind)


# Answers to plain interrupts: the voter, validation, vote counting, and the audit record.
#
# Every decision is made under the run's row lock, so exactly one of several racing answers wins. Values are redacted
# before they are stored; the audit record names the actor and the action but never the content of the answer.


@dataclass(frozen=True, slots=True)
class Voice:
    """The author of an answer.

    ``principal`` is recorded, ``voter`` is the identity that is counted, and ``people`` are the persons it may belong
    to; ``people`` is empty for a token, and where a conformance fixture names its voter.
    """

    principal: str
    voter: str
    people: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Asked:
    """The interrupt that a genuine token opens, with its run and the token's claims."""

    run: Run
    interrupt: Interrupt
    claims: Claims


def resolve(scope: TenantScope, run: Run, node_id: str, value: object, now: datetime) -> None:
    """Answer the interrupt at ``node_id`` as the principal. A denial is recorded before it is raised."""
    interrupt = interrupts.at_node(run, node_id)
    if interrupt is None:
        scope.check(interrupts.SCOPE)
        raise InterruptNotFound
    if denied := interrupts.denial(scope, interrupt):
        target = ids.wire("int", interrupt.id)
        attempt = "interrupt.answer"
        denials.record(scope, denied, action=interrupts.SCOPE, attempt=attempt, resource=target, run_id=run.id, now=now)
        raise denied
    _settle(run, interrupt, _voice(scope, interrupt, value), value, now)


def _voice(scope: TenantScope, interrupt: Interrupt, value: object) -> Voice:
    """The authenticated principal; in a conformance fixture the answer may name a ``voter``, which is stored hashed."""
    principal = scope.principal.id
    said = value.get("voter") if isinstance(value, dict) and interrupt.policy.get("voters") else None
    if said is None:
        return Voice(principal, scope.principal.person, scope.principal.people)
    if not isinstance(said, str) or not 0 < len(said) <= MAX_VOTER:
        problem = f"must be a text of at most {MAX_VOTER} characters"
        raise Invalid(errors=[{"field": "resumeValue.voter", "message": problem}])
    return Voice(principal, f"{principal}:{hashlib.sha256(said.encode()).hexdigest()[:32]}")


def spoken_by(voter: str, run: Run, value: object) -> object:
    """Attach ``voter`` to the resume value; refused unless the run is of a conformance fixture."""
    if not voter:
        return value
    if not run.workflow_id.startswith("conformance-") or not isinstance(value, dict):
        raise Invalid(errors=[{"field": "voter", "message": "is not a field of this request"}])
    return {**value, "voter": voter}


@transaction.atomic
def _settle(run: Run, interrupt: Interrupt, voice: Voice, value: object, now: datetime) -> None:
    run = runs.locked(run.tenant_id, run.id)
    interrupt = _fresh(run.tenant_id, interrupt.id)
    interrupts.require_open(run, interrupt, now=now)
    answer = checked_answer(interrupt.kind, _redacted(run, value), interrupt.data, interrupt.policy)
    action = answer.get("action", "answer")
    if action == "ask":
        _exchange(interrupt, answer, voice, now)
        counted = True
    elif interrupt.kind == "approval":
        counted = _decide(run, interrupt, voice, answer, now)
    else:
        interrupts.answer(run, interrupt, {**answer, "decidedBy": voice.principal}, now=now)
        counted = True
    details = {"runId": ids.wire("run", run.id), "nodeId": interrupt.node_id, "kind": interrupt.kind, "action": action}
    audit.append(
        run.tenant_id,
        actor=voice.principal,
        action="interrupt.answered",
        target=ids.wire("int", interrupt.id),
        details={**details, "counted": counted},
        now=now,
    )


def _fresh(tenant_id: UUID, interrupt_id: UUID) -> Interrupt:
    found = interrupts.by_id(tenant_id, interrupt_id)
    if found is None:
        raise InterruptNotFound
    return found


def _redacted(run: Run, value: object) -> object:
    """Redact as for run inputs: the tenant's secrets and the secrets that the run has resolved."""
    return redaction.for_run(run.tenant_id, run.id).redact_json(redaction.for_tenant(run.tenant_id).redact_json(value))


def _exchange(interrupt: Interrupt, answer: JSONObject, voice: Voice, now: datetime) -> None:
    """Add a counter-question to the interrupt's exchanges, at most MAX_EXCHANGES; the run keeps waiting."""
    if len(interrupt.data.get("exchanges", [])) >= MAX_EXCHANGES:
        raise Conflict("Enough has been asked at this gate; decide.", nodeId=interrupt.node_id)
    said = {"question": answer.get("question", ""), "askedBy": voice.principal, "askedAt": instant(now)}
    interrupts.add_exchange(interrupt, said)


def _decide(run: Run, interrupt: Interrupt, voice: Voice, answer: JSONObject, now: datetime) -> bool:
    """Decide the approval or record a vote towards it; return False when this voter has already voted."""
    required, action = interrupt.policy["requiredApprovals"], answer["action"]
    decided_by: str | None = voice.principal
    if required > 1:
        _require_own_voice(interrupt, voice)
        cast = {"voter": voice.voter, "principal": voice.principal, "action": action}
        if not interrupts.add_vote(interrupt, **cast, now=now):
            return False
        decided_by = _outcome(interrupt, required, voice)
    if decided_by is None:
        runs.note(run, ApprovalReceived(interrupt.node_id, action, instant(now), voice.principal), now=now)
    else:
        received = ApprovalReceived(interrupt.node_id, action, instant(now), decided_by)
        interrupts.answer(run, interrupt, {**answer, "decidedBy": decided_by}, received, now=now)
    return True


def _require_own_voice(interrupt: Interrupt, voice: Voice) -> None:
    """Refuse a second vote by the same person, cast through a login and a key or through two keys."""
    raised = [vote.principal for vote in interrupts.votes_at(interrupt) if vote.principal != voice.principal]
    same = access.same_people(interrupt.tenant_id, voice.people, raised)
    if same:
        called = access.names_of(interrupt.tenant_id, same)
        names = ", ".join(sorted(called.get(each, each) for each in same))
        message = f"{names} has answered this request already, and is the same person."
        raise Conflict(message, nodeId=interrupt.node_id, rule="one-voice-a-person")


def _outcome(interrupt: Interrupt, required: int, last: Voice) -> str | None:
    """The decider, once there are enough grants or the rejections that the policy needs; None while undecided."""
    actions = [vote.action for vote in interrupts.votes_at(interrupt)]
    grants, rejections = actions.count("accept"), actions.count("reject")
    vetoes = required // 2 + 1 if interrupt.policy["rejectionPolicy"] == "majority" else 1
    if grants >= required:
        return f"quorum:{grants}-of-{required}"
    return last.principal if rejections >= vetoes else None


# --- tokens ---------------------------------------------------------------------------------------------------------
def tokens_for(scope: TenantScope, run: Run, asked: Iterable[Interrupt], *, now: datetime) -> dict[UUID, str]:
    """Tokens by interrupt id, for each unexpired interrupt that allows tokens and that this principal may answer."""
    return {
        interrupt.id: mint(interrupt, paused_at=run.paused_at, now=now)
        for interrupt in asked
        if interrupt.policy.get("tokens")
        and interrupts.denial(scope, interrupt) is None
        and interrupts.has_time(run, interrupt, now=now)
    }


def inspect(token: str, *, now: datetime) -> Asked:
    """Return the interrupt that the token opens, without changing the run."""
    claims = read(token, now=now)
    return _opened(claims, runs.find(claims.tenant_id, claims.run_id))


def require_genuine(token: str, *, now: datetime) -> None:
    """Refuse a malformed, forged or expired token before the rest of the request is read."""
    read(token, now=now)


@transaction.atomic
def resolve_by_token(token: str, value: object, *, now: datetime) -> Asked:
    """Answer the interrupt as the bearer of the token, recorded without a named principal."""
    claims = read(token, now=now)
    asked = _opened(claims, runs.locked(claims.tenant_id, claims.run_id))
    if asked.claims.intent != RESOLVE:
        raise InterruptTokenRefused("That token shows the interrupt, and does not answer it.")
    _settle(asked.run, asked.interrupt, Voice(BEARER, BEARER), value, now)
    return Asked(runs.find(asked.run.tenant_id, asked.run.id), asked.interrupt, asked.claims)


def _opened(claims: Claims, run: Run) -> Asked:
    """The interrupt named by genuine claims; refused when it takes no tokens, is answered, or its run is ending."""
    interrupt = interrupts.by_id(claims.tenant_id, claims.interrupt_id)
    if interrupt is None or interrupt.run_id != run.id:
        raise InterruptNotFound
    if not interrupt.policy.get("tokens"):
        raise InterruptTokenRefused("This interrupt is answered by an authenticated principal, never by a token.")
    if interrupt.resolved_at is not None or run.status in runs.ENDING:
        raise InterruptAlreadyResolved(nodeId=interrupt.node_id)
    return Asked(run, interrupt, claims)


def register() -> None:
    """Register the resolver for the runtime's own asking node types."""
    for type_id in (APPROVAL_GATE, CLARIFICATION_GATE, INTERRUPT):
        interrupts.register(type_id, interrupts.Resolver(resolve))
