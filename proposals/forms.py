"""The forms of the review page. What they ask is checked by the domain; a form only says what it looks like."""

from typing import Any

from django import forms
from django.core.exceptions import ValidationError

from memory.host.pages import PlainForm
from proposals import drafts, layouts
from proposals.drafts import Change
from proposals.models import Revision

REASON = forms.Textarea(attrs={"rows": 2})
LEAST_OVERRIDE_REASON = 20


class AboutRevision(PlainForm):
    """What is said about exactly the revision that its form was printed with."""

    revision = forms.IntegerField(min_value=1, max_value=2**31 - 1, widget=forms.HiddenInput)


class DecisionForm(AboutRevision):
    """One vote, about exactly the revision and digest that its form was printed with."""

    sha256 = forms.RegexField(r"^[0-9a-f]{64}$", widget=forms.HiddenInput)
    decision = forms.CharField(max_length=17)
    reason = forms.CharField(label="Reason", required=False, max_length=drafts.MAX_NOTE, widget=REASON)


class AskForm(AboutRevision):
    """The revision whose activation is asked for, or whose gate is withdrawn."""


class ReasonForm(PlainForm):
    """Why a proposal leaves the review."""

    reason = forms.CharField(
        label="Reason",
        max_length=drafts.MAX_NOTE,
        widget=REASON,
        help_text="Everybody who reads this proposal sees it. Secrets of this tenant are redacted from it.",
    )


class RejectForm(ReasonForm):
    """Why exactly this revision is rejected for good; without a revision, whichever stands."""

    revision = forms.IntegerField(min_value=1, max_value=2**31 - 1, required=False, widget=forms.HiddenInput)


class OverrideForm(AboutRevision):
    """An override of the gate over exactly this revision and digest, on purpose and with a reason."""

    sha256 = forms.RegexField(r"^[0-9a-f]{64}$", widget=forms.HiddenInput)
    reason = forms.CharField(
        label="Reason",
        min_length=LEAST_OVERRIDE_REASON,
        max_length=drafts.MAX_NOTE,
        widget=forms.Textarea(attrs={"rows": 3}),
        help_text=f"At least {LEAST_OVERRIDE_REASON} characters. It stays with the proposal and in the audit for good.",
    )
    typed = forms.CharField(
        label="Type the id of the proposal",
        max_length=64,
        widget=forms.TextInput(attrs={"autocomplete": "off", "spellcheck": "false", "class": "mono"}),
        help_text="Pasting is fine.",
    )

    def __init__(self, data: Any, *, prop_id: str) -> None:
        super().__init__(data)
        self.prop_id = prop_id

    def clean_typed(self) -> str:
        typed = str(self.cleaned_data["typed"])
        if typed != self.prop_id:
            raise ValidationError("That is not the id of this proposal.")
        return typed


class CommentForm(PlainForm):
    """Something to say about the proposal."""

    text = forms.CharField(
        label="Comment",
        max_length=drafts.MAX_COMMENT,
        widget=forms.Textarea(attrs={"rows": 4}),
        help_text="Text alone, without markup. Secrets of this tenant are redacted from it.",
    )


class RollbackForm(PlainForm):
    """The installed version to go back to."""

    ref = forms.CharField(max_length=400, widget=forms.HiddenInput)


class RevisionForm(AboutRevision):
    """The next revision, as whoever writes it sees it: everything as it stands, to be changed.

    What is not sent stays as it is. Browsers send line breaks as CR LF, so a text that differs in nothing else counts
    as unchanged. Whether a gate stands in the way is for the domain to say; the tick is asked for by the browser too.
    """

    title = forms.CharField(label="Title", required=False, max_length=drafts.MAX_TITLE)
    rationale = forms.CharField(
        label="Rationale", required=False, max_length=drafts.MAX_RATIONALE, widget=forms.Textarea(attrs={"rows": 4})
    )
    artifact = forms.CharField(
        label="Artifact",
        required=False,
        strip=False,
        widget=forms.Textarea(attrs={"class": "tall", "spellcheck": "false", "autocomplete": "off", "wrap": "off"}),
        help_text="JSON. What you send is stored byte for byte, and its digest is what reviewers decide about.",
    )
    note = forms.CharField(
        label="Note", required=False, max_length=drafts.MAX_NOTE, help_text="What you changed, and why."
    )
    voids_gate = forms.BooleanField(
        label="Void the gate and the votes cast at it", required=False, widget=forms.CheckboxInput({"required": True})
    )

    def __init__(self, data: Any, *, standing: Revision, gate_open: bool, artifact_fixed: bool) -> None:
        self.laid_out = layouts.laid_out(standing.text)
        self.standing = standing
        now = {"title": standing.title, "rationale": standing.rationale, "artifact": self.laid_out}
        super().__init__(data, initial={**now, "revision": standing.number})
        if not gate_open:
            del self.fields["voids_gate"]
        if artifact_fixed:
            del self.fields["artifact"]

    @property
    def change(self) -> Change:
        """What was changed; what stands as it stood is None."""
        given = self.cleaned_data
        before = {"title": self.standing.title, "rationale": self.standing.rationale, "artifact": self.laid_out}
        sent = {name: _lines(given[name]) for name in before if name in given and name in self.data}
        changed = {name: text for name, text in sent.items() if text != _lines(before[name])}
        return Change(**changed, note=given["note"])

    def clean(self) -> dict[str, Any]:
        if not self.errors and self.change.is_empty:
            raise ValidationError("Nothing was changed: title, rationale and artifact are as they were.")
        return self.cleaned_data


def _lines(text: str) -> str:
    return text.replace("\r\n", "\n")
