"""What may be answered to what is asked, by kind: the value as it is kept, or a refusal with field paths. Pure."""

from collections.abc import Callable
from typing import Any

from memory.host.errors import Invalid, Unprocessable
from openwop_console.runtime import json_schemas

LONGEST_QUESTION = 2000
SCOPES = ("whole", "section", "items")
LEGACY = {"approved": "accept", "granted": "accept", "rejected": "reject"}
DECISIONS = {"accept": "approved", "edit-accept": "approved", "reject": "rejected", "refine": "rejected", "ask": ""}

Json = dict[str, Any]


class CorrelationMismatch(Unprocessable):
    code = "correlation_mismatch"
    message = "That event is not the one this run waits for."


def checked(kind: str, value: Any, data: Json, policy: Json) -> Json:
    """``value`` as the answer to an interrupt of that kind; refused when it is none."""
    return BY_KIND[kind](value, data, policy)


def _refused(problem: str, field: str = "resumeValue") -> Invalid:
    return Invalid("The resume value does not answer this interrupt.", errors=[{"field": field, "message": problem}])


def _approval(value: Any, data: Json, policy: Json) -> Json:
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


def _is_question(said: Any) -> bool:
    return isinstance(said, str) and len(said) <= LONGEST_QUESTION


def _require_feedback(feedback: Any) -> None:
    if not isinstance(feedback, dict):
        raise _refused("must be an object with a scope", "resumeValue.refineFeedback")
    if feedback.get("scope") not in SCOPES:
        raise _refused(f"must be one of {', '.join(SCOPES)}", "resumeValue.refineFeedback.scope")


def _clarification(value: Any, data: Json, policy: Json) -> Json:
    answers = _answers(value)
    schemas = {each["id"]: each.get("schema") for each in data["questions"]}
    errors = [_error(name, "is not a question of this interrupt") for name in answers if name not in schemas]
    for name, schema in schemas.items():
        if answers.get(name) is None and (name not in answers or schema is None):
            errors.append(_error(name, "is required"))
        elif schema is not None:
            errors += json_schemas.problems(schema, answers[name], field=f"resumeValue.answers.{name}")
    if errors:
        raise Invalid("The resume value does not answer this interrupt.", errors=errors)
    return {"answers": answers}


def _error(name: str, message: str) -> dict[str, str]:
    return {"field": f"resumeValue.answers.{name[:100]}", "message": message}


def _answers(value: Any) -> Json:
    """By question: an object of answers, or a list of ``{id, answer}``."""
    given = value.get("answers") if isinstance(value, dict) else value
    if isinstance(given, dict):
        return given
    if not isinstance(given, list) or not all(isinstance(each, dict) and "answer" in each for each in given):
        raise _refused("must be an object of answers by question, or a list of id and answer", "resumeValue.answers")
    names = [each.get("id") for each in given]
    if not all(isinstance(name, str) for name in names) or len(set(names)) != len(names):
        raise _refused("must name each question once", "resumeValue.answers")
    return {each["id"]: each["answer"] for each in given}


def _external_event(value: Any, data: Json, policy: Json) -> Json:
    """The declared keys are looked for under ``correlation``, or beside each other in the event itself."""
    if not isinstance(value, dict):
        raise _refused("must be an object")
    said = value["correlation"] if isinstance(value.get("correlation"), dict) else value
    if not all(name in said and same(said[name], wanted) for name, wanted in data["correlation"].items()):
        raise CorrelationMismatch
    return {"event": _satisfying(value, policy)}


def _custom(value: Any, data: Json, policy: Json) -> Json:
    return {"value": _satisfying(value, policy)}


def _satisfying(value: Any, policy: Json) -> Any:
    errors = json_schemas.problems(policy.get("resumeSchema", {}), value, field="resumeValue")
    if errors:
        raise Invalid("The resume value does not answer this interrupt.", errors=errors)
    return value


def same(left: Any, right: Any) -> bool:
    """Whether two JSON values are equal: numbers by value, and no number is a truth value."""
    if isinstance(left, bool) or isinstance(right, bool):
        return left is right
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(same(left[name], right[name]) for name in left)
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(same, left, right))
    return bool(left == right)


BY_KIND: dict[str, Callable[[Any, Json, Json], Json]] = {
    "approval": _approval,
    "clarification": _clarification,
    "external-event": _external_event,
    "custom": _custom,
}
