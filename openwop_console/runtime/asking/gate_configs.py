"""What the config of a node that asks may say, and what it comes to: the question, its policy, its patience. Pure.

A config is checked when the workflow is installed and again, with the node's inputs in it, when the run asks.
"""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from memory.masking import FROM_INPUTS
from openwop_console.runtime.json_schemas import problem_of, problems

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
BY_KIND: dict[str, dict[str, Any]] = {
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


def problems_of_node(node: Mapping[str, Any]) -> list[tuple[str, str]]:
    """What is wrong with the config of a node that asks, as far as it can be known before a run."""
    return problems_of(node["typeId"], node["config"], given=set(node["inputs"]) & set(FROM_INPUTS))


def kind_of(type_id: str, config: Mapping[str, Any]) -> str:
    return KIND_OF.get(type_id) or str(config.get("kind", ""))


def problems_of(type_id: str, config: Mapping[str, Any], *, given: set[str] | None = None) -> list[tuple[str, str]]:
    """Fields of the config, and what is wrong with each; ``given`` are names that inputs will bring."""
    kind = kind_of(type_id, config)
    if kind not in BY_KIND:
        return [("config.kind", f"must be one of {', '.join(BY_KIND)}")]
    missing = [name for name in NEEDED.get(kind, ()) if name not in config and name not in (given or set())]
    if missing:
        return [(f"config.{name}", "is required") for name in missing]
    schema = {"type": "object", "properties": {**COMMON, **BY_KIND[kind]}}
    wrong = [(each["field"], each["message"]) for each in problems(schema, dict(config), field="config")]
    return wrong or _meanings(config)


def _meanings(config: Mapping[str, Any]) -> list[tuple[str, str]]:
    """What a schema does not say of the config."""
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
        wrong.append(("config.timeoutMs", "stands beside timeoutSec; say one of them"))
    return wrong


def timeout_of(config: Mapping[str, Any]) -> timedelta | None:
    """How long the question stands before it counts as rejected; None when it stands as long as its run."""
    if "timeoutMs" in config:
        return timedelta(milliseconds=config["timeoutMs"])
    return timedelta(seconds=config["timeoutSec"]) if "timeoutSec" in config else None


def policy_of(kind: str, config: Mapping[str, Any], *, counts_voters: bool) -> dict[str, Any]:
    """How answers are counted and who may give them.

    A token stands for nobody, so none opens an approval that is counted, names its approvers, or asks for a person.
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


def _rejection(config: Mapping[str, Any]) -> str:
    return str(config.get("rejectionPolicy", "single-veto"))


def data_of(kind: str, config: Mapping[str, Any], *, node_id: str) -> dict[str, Any]:
    """All that is asked, as the contract's ``suspend-request`` has it."""
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
