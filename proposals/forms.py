"""The forms of the review page. What they ask is checked by the domain; a form only says what it looks like."""

from django import forms

REASON = forms.Textarea(attrs={"rows": 2})


class DecisionForm(forms.Form):
    """One vote, about exactly the revision and digest that its form was printed with."""

    revision = forms.IntegerField(min_value=1, max_value=2**31 - 1, widget=forms.HiddenInput)
    sha256 = forms.RegexField(r"^[0-9a-f]{64}$", widget=forms.HiddenInput)
    decision = forms.CharField(max_length=8)
    reason = forms.CharField(label="Reason", required=False, max_length=500, widget=REASON)


class AskForm(forms.Form):
    """The revision whose activation is asked for."""

    revision = forms.IntegerField(min_value=1, max_value=2**31 - 1, widget=forms.HiddenInput)


class ReasonForm(forms.Form):
    """Why a proposal is rejected for good."""

    reason = forms.CharField(
        label="Reason",
        max_length=500,
        widget=REASON,
        help_text="Everybody who reads this proposal sees it. Secrets of this tenant are redacted from it.",
    )
