"""The forms of the inbox. What they ask is checked by the domain; a form only says what it looks like."""

from django import forms

from memory.host.pages import PlainForm

LONGEST_QUERY = 1000


class EndForm(PlainForm):
    """Why the chosen proposals leave the review, all of them."""

    action = forms.CharField(max_length=16, widget=forms.HiddenInput)
    chosen = forms.CharField(max_length=16_000, widget=forms.HiddenInput)
    reason = forms.CharField(
        label="Reason",
        max_length=500,
        widget=forms.Textarea(attrs={"rows": 2}),
        help_text="It stands with each of them, for everybody who reads it. Secrets of this tenant are redacted.",
    )


class SavedFilterForm(PlainForm):
    """The name of a filter, and whether it is for everybody. ``query`` is what it filters by."""

    name = forms.CharField(
        label="Name",
        max_length=64,
        widget=forms.TextInput(attrs={"autocomplete": "off"}),
        help_text="One of yours that has this name already is replaced.",
    )
    shared = forms.BooleanField(
        label="Share it", required=False, help_text="Everybody of this tenant who sees proposals can use it."
    )
    query = forms.CharField(
        required=False,
        widget=forms.HiddenInput,
        max_length=LONGEST_QUERY,
        error_messages={"max_length": "This filter is too long to be saved. Choose fewer values."},
    )

    def clean_query(self) -> str:
        query = str(self.cleaned_data["query"])
        if not query:
            raise forms.ValidationError("There is no filter to save: everything is shown.")
        return query
