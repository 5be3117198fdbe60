"""The forms of the memory pages. What they ask is checked by the domain; a form only says what it looks like."""

from typing import Any

from django import forms

PLAIN = {"autocomplete": "off", "spellcheck": "false", "autocapitalize": "none"}


class ReasonForm(forms.Form):
    """Why an entry is retired."""

    reason = forms.CharField(
        label="Reason",
        required=False,
        max_length=500,
        widget=forms.Textarea(attrs={"rows": 3}),
        help_text="Stays with the entry for everybody who reads it here. Secrets of this tenant are redacted from it.",
    )


class SubjectForm(forms.Form):
    """Whom or what to forget: a name and its aliases."""

    subject = forms.CharField(
        label="Subject",
        max_length=256,
        widget=forms.TextInput(attrs=PLAIN),
        help_text="The name, address or number by which memory knows the subject; you will type it once more.",
    )
    aliases = forms.CharField(
        label="Aliases",
        required=False,
        max_length=3000,
        widget=forms.Textarea(attrs={**PLAIN, "rows": 3}),
        help_text="Other names of the same subject, one on each line; at most nine.",
    )

    @property
    def names(self) -> list[str]:
        """The subject first, then its aliases."""
        return [self.cleaned_data["subject"], *self.cleaned_data["aliases"].splitlines()]


class ConfirmForm(forms.Form):
    """The last question before a subject is forgotten."""

    typed = forms.CharField(
        label="Type the subject",
        max_length=256,
        widget=forms.TextInput(attrs=PLAIN),
        help_text="Exactly as you entered it at the first step. Pasting is fine.",
    )
    reason = forms.CharField(
        label="Reason or ticket",
        max_length=500,
        widget=forms.Textarea(attrs={"rows": 2}),
        help_text="Stays on record with the receipt, so it must not name the subject.",
    )
    ticked: Any = forms.MultipleChoiceField(required=False, widget=forms.MultipleHiddenInput)

    def __init__(self, *args: Any, suspected: list[str], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["ticked"].choices = [(row, row) for row in suspected]  # type: ignore[attr-defined]


class RangeForm(forms.Form):
    """Which records to verify; the whole log when nothing is said."""

    first = forms.IntegerField(label="From record", required=False, min_value=0, max_value=10**15)
    last = forms.IntegerField(label="To record", required=False, min_value=0, max_value=10**15)
