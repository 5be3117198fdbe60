"""The forms of the proposal pages. They describe fields; the domain validates the values."""

from django import forms
from django.core.exceptions import ValidationError

from memory.host.pages import Cleaned, PlainForm
from memory.reasons import MAX_REASON
from proposals import diffs, drafts, policies
from proposals.drafts import Change
from proposals.models import Revision
from proposals.policies import OVERRIDES, VOTES, Policy, roles_with

REASON = forms.Textarea(attrs={"rows": 2})
LEAST_OVERRIDE_REASON = 20
UNITS = dict(policies.UNITS)
BIGGEST = 2**31 - 1


class AboutRevision(PlainForm):
    """A form that is bound to the revision it was rendered with."""

    revision = forms.IntegerField(min_value=1, max_value=2**31 - 1, widget=forms.HiddenInput)


class DecisionForm(AboutRevision):
    """One vote, on exactly the revision and digest that the form was rendered with."""

    sha256 = forms.RegexField(r"^[0-9a-f]{64}$", widget=forms.HiddenInput)
    decision = forms.CharField(max_length=17)
    reason = forms.CharField(label="Reason", required=False, max_length=MAX_REASON, widget=REASON)


class AskForm(AboutRevision):
    """The revision whose approval is requested, or whose gate is withdrawn."""


class ReasonForm(PlainForm):
    """The reason for rejecting or archiving a proposal."""

    reason = forms.CharField(
        label="Reason",
        max_length=MAX_REASON,
        widget=REASON,
        help_text="Everyone who reads this proposal sees it. Secrets of this tenant are redacted from it.",
    )


class RejectForm(ReasonForm):
    """The reason for rejecting this revision for good; without a revision, the current one."""

    revision = forms.IntegerField(min_value=1, max_value=2**31 - 1, required=False, widget=forms.HiddenInput)


class OverrideForm(AboutRevision):
    """An override of the gate over exactly this revision and digest, with a reason and the typed proposal id."""

    sha256 = forms.RegexField(r"^[0-9a-f]{64}$", widget=forms.HiddenInput)
    reason = forms.CharField(
        label="Reason",
        min_length=LEAST_OVERRIDE_REASON,
        max_length=MAX_REASON,
        widget=forms.Textarea(attrs={"rows": 3}),
        help_text=f"At least {LEAST_OVERRIDE_REASON} characters. It stays with the proposal and in the audit for good.",
    )
    typed = forms.CharField(
        label="Type the id of the proposal",
        max_length=64,
        widget=forms.TextInput(attrs={"autocomplete": "off", "spellcheck": "false", "class": "mono"}),
        help_text="Pasting is fine.",
    )

    def __init__(self, data: object, *, prop_id: str) -> None:
        super().__init__(data)
        self.prop_id = prop_id

    def clean_typed(self) -> str:
        typed = str(self.cleaned_data["typed"])
        if typed != self.prop_id:
            raise ValidationError("That is not the id of this proposal.")
        return typed


class CommentForm(PlainForm):
    """A comment on the proposal, or on one line of a revision."""

    revision = forms.IntegerField(required=False, min_value=1, max_value=2**31 - 1, widget=forms.HiddenInput)
    line = forms.IntegerField(required=False, min_value=1, max_value=2**31 - 1, widget=forms.HiddenInput)

    text = forms.CharField(
        label="Comment",
        max_length=drafts.MAX_COMMENT,
        widget=forms.Textarea(attrs={"rows": 4}),
        help_text="Plain text, without markup. Secrets of this tenant are redacted.",
    )


class RollbackForm(PlainForm):
    """The installed version to go back to."""

    ref = forms.CharField(max_length=400, widget=forms.HiddenInput)


class RevisionForm(AboutRevision):
    """The next revision, filled with the current texts.

    A field that is not sent stays unchanged. Browsers send line breaks as CR LF, so a text that differs only in these
    counts as unchanged. The domain refuses a revision under an open gate; the browser requires the tick as well.
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
        label="Void the approval request and its votes", required=False, widget=forms.CheckboxInput({"required": True})
    )

    def __init__(self, data: object, *, standing: Revision, gate_open: bool, artifact_fixed: bool) -> None:
        self.laid_out = diffs.laid_out(standing.text)
        self.standing = standing
        now = {"title": standing.title, "rationale": standing.rationale, "artifact": self.laid_out}
        super().__init__(data, initial={**now, "revision": standing.number})
        if not gate_open:
            del self.fields["voids_gate"]
        if artifact_fixed:
            del self.fields["artifact"]

    @property
    def change(self) -> Change:
        """The changed fields; an unchanged one is None."""
        given = self.cleaned_data
        before = {"title": self.standing.title, "rationale": self.standing.rationale, "artifact": self.laid_out}
        sent = {name: _lines(given[name]) for name in before if name in given and name in self.data}
        changed = {name: text for name, text in sent.items() if text != _lines(before[name])}
        return Change(**changed, note=given["note"])

    def clean(self) -> Cleaned:
        if not self.errors and self.change.is_empty:
            raise ValidationError("Nothing was changed: title, rationale and artifact are as they were.")
        return self.cleaned_data


def _lines(text: str) -> str:
    return text.replace("\r\n", "\n")


# The forms of the inbox.


class EndForm(PlainForm):
    """The reason for rejecting or archiving all selected proposals."""

    action = forms.CharField(max_length=16, widget=forms.HiddenInput)
    chosen = forms.CharField(max_length=16_000, widget=forms.HiddenInput)
    reason = forms.CharField(
        label="Reason",
        max_length=MAX_REASON,
        widget=forms.Textarea(attrs={"rows": 2}),
        help_text="Shown with each proposal to everyone who reads it. Secrets of this tenant are redacted.",
    )


# The forms of the approval policy pages.


def _choices(scope: str) -> list[tuple[str, str]]:
    return [(role, role) for role in roles_with(scope)]


class PolicyForm(PlainForm):
    """The requested policy of a kind, complete; ``based_on`` is the version that the form was rendered with."""

    based_on = forms.IntegerField(min_value=0, max_value=BIGGEST, widget=forms.HiddenInput)
    quorum = forms.IntegerField(
        label="Approvals needed",
        min_value=1,
        max_value=policies.MOST_GRANTS,
        help_text="Number of different approvers. One rejection ends it.",
    )
    eligible_roles = forms.MultipleChoiceField(
        label="Who votes",
        choices=_choices(VOTES),
        widget=forms.CheckboxSelectMultiple,
        help_text="Authors never vote on their own proposal, and agents never vote, whichever roles are selected.",
    )
    lasts = forms.IntegerField(label="Expires after", min_value=1, max_value=BIGGEST)
    unit = forms.ChoiceField(label="Unit", choices=[(unit, f"{unit}s") for unit in UNITS])
    override_roles = forms.MultipleChoiceField(
        label="Who may override",
        required=False,
        choices=_choices(OVERRIDES),
        widget=forms.CheckboxSelectMultiple,
        help_text="With no role selected, no approval request of this kind can be overridden.",
    )
    override_bypasses_quorum = forms.BooleanField(
        label="One override is enough, however many approvals are needed", required=False
    )
    uninstall_on_archive = forms.BooleanField(
        label="Archiving what is applied uninstalls it",
        required=False,
        help_text="Otherwise what is applied cannot be archived.",
    )
    reason = forms.CharField(
        label="Reason",
        required=False,
        max_length=MAX_REASON,
        widget=forms.Textarea(attrs={"rows": 2}),
        help_text="Shown with the change to everyone who reads it here. Secrets of this tenant are redacted from it.",
    )

    def clean(self) -> Cleaned:
        given: Cleaned = super().clean() or {}
        if "lasts" in given and "unit" in given:
            given["expires_s"] = given.pop("lasts") * UNITS[given.pop("unit")]
        return given


def form_of(policy: Policy) -> PolicyForm:
    """The form, filled with the given policy."""
    unit, lasts = policies.in_units(policy.expires)
    values = {name: getattr(policy, name) for name in policies.FIELDS}
    return PolicyForm(initial={**values, "based_on": policy.number, "lasts": lasts, "unit": unit})
