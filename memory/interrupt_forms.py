"""The form that answers an interrupt, made from its question. The domain validates the answer.

Fields have the domain's names for the parts of the answer, so that its errors appear at the field.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import orjson
from django import forms

from memory import redaction, run_timeline
from memory.host import ids, interrupts
from memory.host.errors import Forbidden
from memory.host.http import MAX_DEPTH, depth_of
from memory.host.json_types import JSONObject, indented
from memory.host.models import Interrupt, InterruptVote, Run, RunStatus
from memory.host.tenancy import TenantScope
from memory.run_timeline import Answer, Question

EDITED = "resumeValue.editedArtifactData"
WHOLE = "resumeValue"
ANSWERS = "resumeValue.answers."
LONG = forms.Textarea(attrs={"rows": 3})
UNCHOSEN, YES_OR_NO = ("", "Choose one"), (("yes", "Yes"), ("no", "No"))
CODE = {"rows": 6, "spellcheck": "false", "class": "code"}
LABELS = {
    "accept": "Accept",
    "edit-accept": "Accept as edited",
    "refine": "Request changes",
    "ask": "Ask a question",
    "reject": "Reject",
}


# After these it depends on the workflow whether the run goes on.
REFUSALS = frozenset({"reject", "refine"})
# How a question ended, as a page says it.
ENDED = {
    "accept": "Approved",
    "edit-accept": "Approved as edited",
    "refine": "Changes requested",
    "ask": "Asked back",
    "reject": "Rejected",
    "answer": "Answered",
    "timeout": "No answer came in time",
    "run-ended": "The run ended without an answer",
}


class JsonField(forms.CharField):
    """A JSON value, typed; as strict as the bodies of the API."""

    def __init__(self, **options: Any) -> None:
        super().__init__(widget=forms.Textarea(attrs=CODE), help_text="As JSON.", **options)

    def prepare_value(self, value: object) -> str | None:
        return value if value is None or isinstance(value, str) else indented(value)

    def to_python(self, value: object) -> Any:
        text = super().to_python(value) or ""
        try:
            if "\\u0000" in text or depth_of(text) > MAX_DEPTH:
                raise ValueError
            return orjson.loads(text) if text else None
        except ValueError:
            raise forms.ValidationError("Invalid JSON") from None


class AnswerForm(forms.Form):
    """What one interrupt can be answered with; an approval is answered by the button that is pressed."""

    action = forms.CharField(required=False, max_length=20, widget=forms.HiddenInput)

    def __init__(self, interrupt: Interrupt, sent: Mapping[str, object] | None = None) -> None:
        super().__init__(sent, auto_id=f"{ids.wire('int', interrupt.id)}_%s")
        self.interrupt = interrupt
        self.fields.update(_fields_of(interrupt.kind, redaction.mask_of_run(interrupt.run).data(interrupt.data)))

    @property
    def input_fields(self) -> list[forms.BoundField]:
        """The fields to fill in."""
        return [field for field in self if field.name != "action"]

    @property
    def buttons(self) -> list[tuple[str, str]]:
        """The actions of an approval, and how the buttons call them."""
        offered = self.interrupt.data.get("actions", [])
        return [(action, label) for action, label in LABELS.items() if action in offered]

    def resume_value(self) -> Any:
        """The answer as a client of the API would send it."""
        given = self.cleaned_data
        if self.interrupt.kind == "approval":
            return _decision(given)
        if self.interrupt.kind == "clarification":
            named = {each["id"]: f"{ANSWERS}{each['id']}" for each in self.interrupt.data["questions"]}
            said = {name: given.get(field) for name, field in named.items()}  # an id that is masked has no field
            return {"answers": {name: answer for name, answer in said.items() if answer is not None}}
        return given[WHOLE]


def _decision(given: JSONObject) -> JSONObject:
    action, words = given["action"], given["words"]
    said: dict[str, JSONObject] = {
        "refine": {"refineFeedback": {"scope": "whole", "text": words}},
        "ask": {"question": words},
        "edit-accept": {"editedArtifactData": given.get(EDITED)},
    }
    return {"action": action, **said.get(action, {"reason": words} if words else {})}


def _fields_of(kind: str, data: JSONObject) -> dict[str, forms.Field]:
    if kind == "approval":
        return _approval(data)
    if kind == "clarification":
        questions = data["questions"]
        return {f"{ANSWERS}{each['id']}": _question(each["question"], each.get("schema", {})) for each in questions}
    wanted = {"correlation": data["correlation"]} if "correlation" in data else {}
    return {WHOLE: JsonField(label="The event" if wanted else "The answer", initial=wanted)}


def _approval(data: JSONObject) -> dict[str, forms.Field]:
    help_text = "Kept with the run, not in its event log."
    words = forms.CharField(
        label="Comment (optional)", required=False, max_length=4000, widget=LONG, help_text=help_text
    )
    if "edit-accept" not in data["actions"]:
        return {"words": words}
    return {EDITED: JsonField(label="As edited", required=False, initial=data.get("artifactData")), "words": words}


def _question(label: str, schema: JSONObject) -> forms.Field:
    """Return the field that fits the schema of a question; a text field where nothing fits better."""
    kind, choices = schema.get("type"), schema.get("enum")
    if choices and all(isinstance(choice, str) for choice in choices):
        return forms.ChoiceField(label=label, choices=[UNCHOSEN, *((choice, choice) for choice in choices)])
    if kind == "boolean":
        return forms.TypedChoiceField(label=label, choices=[UNCHOSEN, *YES_OR_NO], coerce=lambda said: said == "yes")
    if kind == "integer":
        return forms.IntegerField(label=label, min_value=-(2**53), max_value=2**53)
    if kind == "number":
        return forms.FloatField(label=label)
    if kind in ("object", "array") or (schema and kind != "string"):
        return JsonField(label=label)
    return forms.CharField(label=label, max_length=4000, widget=LONG)


@dataclass(frozen=True, slots=True)
class ShownInterrupt:
    """A question as a page shows it: with the form of its answer, or why this principal may not give one.

    ``mine`` is the vote of the reader's person, where several decide; there is no form after it.
    """

    interrupt: Interrupt
    data: JSONObject
    form: AnswerForm | None
    denied: Forbidden | None
    votes: list[InterruptVote]
    mine: InterruptVote | None
    answer: Answer | None = None

    @property
    def ended(self) -> str:
        """How the question ended, in words; empty while it is open."""
        return ENDED.get(self.answer.action, "Answered") if self.answer else ""

    @property
    def attached(self) -> str:
        """What the question is about, as text; empty when it comes with nothing."""
        found = self.data.get("artifactData", self.data.get("payload"))
        return "" if found is None else indented(found)

    @property
    def required(self) -> int:
        return int(self.interrupt.policy.get("requiredApprovals", 1))

    @property
    def grants(self) -> int:
        return sum(vote.action == "accept" for vote in self.votes)

    @property
    def rejections(self) -> int:
        return sum(vote.action == "reject" for vote in self.votes)

    @property
    def missing(self) -> int:
        """How many approvals are still needed."""
        return max(0, self.required - self.grants)


def question_for(scope: TenantScope, question: Question, form: AnswerForm | None = None) -> ShownInterrupt:
    """Return the question as this principal sees it."""
    interrupt = question.interrupt
    denied, mine = interrupts.denial(scope, interrupt), vote_of(scope, question)
    given = None if denied or mine else form or AnswerForm(interrupt)
    data = redaction.mask_of_run(interrupt.run).data(interrupt.data)
    answer = next(iter(run_timeline.answers_to(scope, [interrupt]).values()), None)
    return ShownInterrupt(interrupt, data, given, denied, question.votes, mine, answer)


def receipt(run: Run, interrupt: Interrupt, action: str) -> str:
    """What to tell the person who answered; ``run`` and ``interrupt`` are as they are now that it is recorded."""
    if action == "ask":
        return "Your question is recorded. The run waits until someone decides."
    if interrupt.resolved_at is None:
        return "Your answer is recorded. The run waits for more answers."
    if run.status == RunStatus.PAUSED:
        return "Your answer is recorded. The run is paused, and goes on when it is resumed."
    return "Your answer is recorded." if action in REFUSALS else "Your answer is recorded. The run goes on."


def vote_of(scope: TenantScope, question: Question) -> InterruptVote | None:
    """Return the vote of the principal's person on the question, by whichever login or key it was cast."""
    return next((vote for vote in question.votes if vote.voter == scope.principal.person), None)
