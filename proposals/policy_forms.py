"""The forms of the pages of approval policies. What they ask is checked by the domain."""

from typing import Any

from django import forms

from memory.host.pages import PlainForm
from proposals import policies, policy_review
from proposals.policies import OVERRIDES, VOTES, Policy, roles_with

UNITS = dict(policy_review.UNITS)
BIGGEST = 2**31 - 1


def _choices(scope: str) -> list[tuple[str, str]]:
    return [(role, role) for role in roles_with(scope)]


class PolicyForm(PlainForm):
    """The whole policy of a kind as somebody wants it; ``based_on`` is the version that the form was printed with."""

    based_on = forms.IntegerField(min_value=0, max_value=BIGGEST, widget=forms.HiddenInput)
    quorum = forms.IntegerField(
        label="Approvals needed",
        min_value=1,
        max_value=policies.MOST_GRANTS,
        help_text="Of so many different people. One rejection is enough to end the gate.",
    )
    eligible_roles = forms.MultipleChoiceField(
        label="Who votes",
        choices=_choices(VOTES),
        widget=forms.CheckboxSelectMultiple,
        help_text="Nobody votes on what they wrote or revised, and agents never vote, whatever is chosen here.",
    )
    lasts = forms.IntegerField(label="Expires after", min_value=1, max_value=BIGGEST)
    unit = forms.ChoiceField(label="Unit", choices=[(unit, f"{unit}s") for unit in UNITS])
    override_roles = forms.MultipleChoiceField(
        label="Who may override",
        required=False,
        choices=_choices(OVERRIDES),
        widget=forms.CheckboxSelectMultiple,
        help_text="With nobody chosen, no gate of this kind can be overridden.",
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
        max_length=500,
        widget=forms.Textarea(attrs={"rows": 2}),
        help_text="Stays with the change for everybody who reads it here. Secrets of this tenant are redacted from it.",
    )

    def clean(self) -> dict[str, Any]:
        given: dict[str, Any] = super().clean() or {}
        if "lasts" in given and "unit" in given:
            given["expires_s"] = given.pop("lasts") * UNITS[given.pop("unit")]
        return given


def form_of(policy: Policy) -> PolicyForm:
    """The form, filled with the policy as it stands."""
    unit, lasts = policy_review.in_units(policy.expires)
    values = {name: getattr(policy, name) for name in policies.FIELDS}
    return PolicyForm(initial={**values, "based_on": policy.number, "lasts": lasts, "unit": unit})
