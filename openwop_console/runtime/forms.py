"""The forms of the run page. What they ask is checked by the domain; a form only says what it looks like."""

from django import forms

from memory.host.errors import Invalid
from memory.host.models import ForkMode
from openwop_console.runtime.replay import ForkRequest


class ForkForm(forms.Form):
    """From which event a run is forked, and how."""

    mode = forms.ChoiceField(choices=ForkMode.choices)
    from_seq = forms.IntegerField(min_value=0, max_value=2**62)

    def order(self) -> ForkRequest:
        if not self.is_valid():
            raise Invalid(errors=[{"field": name, "message": said.as_text()} for name, said in self.errors.items()])
        return ForkRequest(self.cleaned_data["mode"], self.cleaned_data["from_seq"])
