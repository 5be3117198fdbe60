"""The forms of the memory pages. What they ask is checked by the domain; a form only says what it looks like."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from django import forms
from django.conf import settings

from memory import entry_drafts, saved_filters
from memory.addresses import MAX_AGENT, is_agent_id
from memory.entry_drafts import MAX_LABEL
from memory.host import access, events, webhooks
from memory.host.pages import Cleaned, PlainForm
from memory.reasons import MAX_REASON

PLAIN = {"autocomplete": "off", "spellcheck": "false", "autocapitalize": "none"}


class PlainField(forms.CharField):
    """A text that a browser neither completes nor corrects."""

    widget = forms.TextInput(attrs=PLAIN)


class RefField(PlainField):
    """A memory ref, with those that there are as suggestions."""

    widget = forms.TextInput(attrs={**PLAIN, "list": "refs"})

    def __init__(self) -> None:
        super().__init__(label="Memory ref", max_length=256, strip=False)


class ReasonForm(PlainForm):
    """Why an entry is retired."""

    reason = forms.CharField(
        label="Reason",
        required=False,
        max_length=MAX_REASON,
        widget=forms.Textarea(attrs={"rows": 3}),
        help_text="Shown to everyone who can read this entry. Secrets are redacted.",
    )


class CancelForm(ReasonForm):
    """Why a commitment is cancelled."""

    def __init__(self, *given: Any, **options: Any) -> None:
        super().__init__(*given, **options)
        reason, where = self.fields["reason"], "Shown to everyone who can read this commitment."
        reason.required = True
        reason.help_text = f"{where} Secrets are redacted."


class RestoreForm(ReasonForm):
    """Why an entry is restored."""

    def __init__(self, *given: Any, **options: Any) -> None:
        super().__init__(*given, **options)
        self.fields["reason"].help_text = "Kept in the audit log. Secrets are redacted."


class SelectionForm(ReasonForm):
    """Why several entries are retired or restored, all of them."""

    def __init__(self, *given: Any, **options: Any) -> None:
        super().__init__(*given, **options)
        self.fields["reason"].help_text = "Kept with each of them. Secrets are redacted."


class TagForm(PlainForm):
    """The tag that several entries get or lose."""

    tag = forms.CharField(
        label="Tag",
        max_length=entry_drafts.MAX_LABEL,
        widget=forms.TextInput(attrs={"autofocus": True}),
        help_text="Upper and lower case are different tags.",
    )


class CorrectionForm(RestoreForm):
    """What an entry is to say instead. A browser sends line ends that no entry has."""

    content = forms.CharField(
        label="Text",
        strip=False,
        max_length=entry_drafts.MAX_CONTENT_BYTES,
        widget=forms.Textarea(attrs={"rows": 12, "class": "tall"}),
        help_text="Secrets are redacted.",
    )
    field_order = ("content", "reason")

    def clean_content(self) -> str:
        return str(self.cleaned_data["content"]).replace("\r\n", "\n")


class AuditedForm(RestoreForm):
    """Why a pass is undone, or an installed artifact is disabled or enabled again."""

    def __init__(self, *given: object, **options: object) -> None:
        super().__init__(*given, **options)
        self.fields["reason"].required = True
        self.fields["reason"].widget.attrs["data-key"] = "d"


class SnoozeForm(PlainForm):
    """For how long a commitment is put off."""

    hours = forms.TypedChoiceField(
        label="Snooze for",
        coerce=int,
        choices=((1, "an hour"), (24, "a day"), (72, "three days"), (168, "a week"), (720, "30 days")),
        initial=24,
    )


class SubjectForm(PlainForm):
    """Whom or what to forget: a name and its aliases."""

    subject = PlainField(
        label="Subject",
        max_length=256,
        widget=forms.TextInput(attrs={**PLAIN, "data-key": "n"}),
        help_text="The name, address or number of the subject as memory has it. You will type it again to confirm.",
    )
    aliases = forms.CharField(
        label="Aliases",
        required=False,
        max_length=3000,
        widget=forms.Textarea(attrs={**PLAIN, "rows": 3}),
        help_text="Other names of the same subject, one per line, up to nine.",
    )

    @property
    def names(self) -> list[str]:
        """The subject first, then its aliases."""
        return [self.cleaned_data["subject"], *self.cleaned_data["aliases"].splitlines()]


class HoldForm(SubjectForm):
    """Whom or what not to forget, and why not."""

    reason = forms.CharField(
        label="Reason",
        max_length=MAX_REASON,
        widget=forms.Textarea(attrs={"rows": 2}),
        help_text="Shown when a forget of the subject is refused, and kept in the audit log. Secrets are redacted.",
    )

    def __init__(self, *given: Any, **options: Any) -> None:
        super().__init__(*given, **options)
        self.fields["subject"].help_text = "The name, address or number that a forget of the subject would look for."


class EndHoldForm(ReasonForm):
    """Why a legal hold is over."""

    def __init__(self, *given: Any, **options: Any) -> None:
        super().__init__(*given, **options)
        self.fields["reason"].required = True
        self.fields["reason"].widget.attrs["data-key"] = "d"
        self.fields["reason"].help_text = "Kept with the hold and in the audit log. Secrets are redacted."


class ConfirmForm(PlainForm):
    """The last question before a subject is forgotten."""

    typed = PlainField(
        label="Type the subject",
        max_length=256,
        help_text="Exactly as you entered it in step 1. You can paste it.",
    )
    reason = forms.CharField(
        label="Reason or ticket",
        max_length=MAX_REASON,
        widget=forms.Textarea(attrs={"rows": 2}),
        help_text="Kept with the receipt, so it must not name the subject.",
    )
    password = forms.CharField(
        label="Your password",
        strip=False,
        widget=forms.PasswordInput(attrs={"autocomplete": "current-password"}),
        help_text="Asked again because nothing that is erased comes back.",
    )


class RangeForm(PlainForm):
    """Which records to verify; the whole log when nothing is said."""

    first = forms.IntegerField(label="From record", required=False, min_value=0, max_value=10**15)
    last = forms.IntegerField(label="To record", required=False, min_value=0, max_value=10**15)


class PassForm(PlainForm):
    """A pass to be carried out now."""

    kind = forms.ChoiceField(
        label="Kind", choices=[("consolidate", "Consolidate"), ("compact", "Compact")], initial="consolidate"
    )
    ref = RefField()
    dry_run = forms.BooleanField(
        label="Dry run", required=False, initial=True, help_text="Shows what would happen and changes nothing."
    )


class PassScheduleForm(PlainForm):
    """A pass that comes by the clock. A ref has one schedule of a kind; keeping it again changes it."""

    prefix = "times"

    kind = forms.ChoiceField(
        label="Kind",
        choices=[("consolidate", "Consolidate"), ("compact", "Compact"), ("distill", "Distill")],
        initial="consolidate",
    )
    ref = RefField()
    cron = PlainField(
        label="Cron",
        max_length=120,
        help_text="Five fields: minute, hour, day, month, weekday. 0 3 * * * is every night at three.",
    )
    timezone = PlainField(
        label="Time zone",
        required=False,
        max_length=64,
        initial="UTC",
        help_text="An IANA name such as Europe/Berlin.",
    )
    budget = forms.IntegerField(
        label="Token budget",
        required=False,
        min_value=1,
        max_value=2**31 - 1,
        help_text="Distillation only. Empty = current value, or the host default.",
    )
    target = forms.IntegerField(
        label="Target tokens",
        required=False,
        min_value=1,
        max_value=2**31 - 1,
        help_text="Distillation only: length of the archive. Empty = current value.",
    )
    rests = forms.BooleanField(label="Paused", required=False, help_text="Saved, but runs no passes.")


class PolicyForm(PlainForm):
    """How the tenant's memory is kept. What makes sense is the policy's own business."""

    archive_days = forms.IntegerField(label="Archives are kept for (days)")
    restore_days = forms.IntegerField(
        label="Restore window (days)", help_text="How long removed entries can be restored."
    )
    stale_days = forms.IntegerField(label="Commitments go stale after (days)")
    timezone = PlainField(label="Time zone", max_length=64)
    commitment_workflow = PlainField(label="Workflow that a fired commitment starts", required=False, max_length=128)
    distiller = forms.ChoiceField(
        label="Distiller",
        choices=[("extractive", "Extractive, on this host"), ("endpoint", "OpenAI-compatible endpoint")],
    )
    target_tokens = forms.IntegerField(
        label="Tokens of an archive",
        required=False,
        help_text="Left empty, a quarter of what there is to read.",
    )
    endpoint_url = PlainField(label="Endpoint", required=False, max_length=500)
    endpoint_model = PlainField(label="Model", required=False, max_length=128)
    endpoint_secret = PlainField(
        label="Secret with its key",
        required=False,
        max_length=128,
        help_text="The name of a secret of the vault, never its value.",
    )
    embedding_url = PlainField(
        label="Embeddings endpoint",
        required=False,
        max_length=500,
        help_text="Texts of entries and queries go there, redacted. Left empty, a search goes by words alone.",
    )
    embedding_model = PlainField(label="Embeddings model", required=False, max_length=128)
    embedding_secret = PlainField(
        label="Secret with its key",
        required=False,
        max_length=128,
        help_text="The name of a secret of the vault, never its value.",
    )
    nightly = forms.BooleanField(
        label="Consolidate and distill every night",
        required=False,
        help_text="What is new in a memory is consolidated, and a memory that has grown is distilled.",
    )
    night_at = PlainField(
        label="Nightly passes start at",
        required=False,
        max_length=5,
        help_text="For example 03:00, in the time zone above. Left empty, 03:00.",
    )
    distill_above = forms.IntegerField(
        label="Distill after this many tokens",
        required=False,
        help_text="Written to a memory since its last archive. Left empty or 0, the night distills nothing.",
    )
    forget_second_person = forms.BooleanField(
        label="A second person confirms each forget",
        required=False,
        help_text="Needs two active owners. Requests that already await a second person keep waiting for one.",
    )

    def clean_target_tokens(self) -> int:
        return self.cleaned_data["target_tokens"] or 0

    def clean_night_at(self) -> str:
        return self.cleaned_data["night_at"] or "03:00"

    def clean_distill_above(self) -> int:
        return self.cleaned_data["distill_above"] or 0


class WithdrawForm(ReasonForm):
    """Why an archive is withdrawn, and whether another takes its place."""

    anew = forms.BooleanField(
        label="Distill the ref again",
        required=False,
        initial=True,
        help_text="From the entries that are active now, within the same budget. If none is, nothing is made.",
    )

    def __init__(self, *given: Any, **options: Any) -> None:
        super().__init__(*given, **options)
        self.fields["reason"].help_text = "Kept in the audit log. Secrets are redacted."


class DistillForm(PlainForm):
    """A distillation to be carried out now."""

    ref = RefField()
    budget = forms.IntegerField(
        label="Token budget",
        required=False,
        min_value=1,
        max_value=2**31 - 1,
        help_text="What is read and what is written, counted together. Left empty, it is the most the host allows.",
    )
    target = forms.IntegerField(
        label="Target tokens",
        required=False,
        min_value=1,
        max_value=2**31 - 1,
        help_text="How long the archive may be. Left empty, it is what the memory policy says.",
    )
    dry_run = forms.BooleanField(
        label="Dry run",
        required=False,
        help_text="Says which entries would be covered and how many tokens it would take, and writes nothing.",
    )


class PermissionsForm(PlainForm):
    """Who may do what in a namespace, in the version that was read."""

    ACCESS = ("none", "read", "write", "admin")

    default = forms.ChoiceField(
        label="Default", choices=[(each, each) for each in ACCESS], help_text="What agents without a rule may do."
    )
    allow = forms.CharField(
        label="Rules",
        required=False,
        max_length=100_000,
        widget=forms.Textarea(attrs={**PLAIN, "rows": 6}),
        help_text="One agent a line, and what it may do: none, read, write or admin. A rule overrides the default.",
    )
    version = forms.IntegerField(min_value=1, max_value=10**9, widget=forms.HiddenInput)

    def clean_allow(self) -> list[dict[str, str]]:
        """The rules; refused when a line is none, or an agent has two."""
        lines = [line.rsplit(None, 1) for line in self.cleaned_data["allow"].splitlines() if line.strip()]
        wrong = [number for number, line in enumerate(lines, 1) if len(line) != 2 or not self._is_rule(*line)]
        if wrong:
            raise forms.ValidationError(f"has no agent and access in rule {wrong[0]}")
        if len({agent.strip() for agent, _ in lines}) < len(lines):
            raise forms.ValidationError("names an agent twice")
        return [{"agent": agent.strip(), "access": access} for agent, access in lines]

    def _is_rule(self, agent: str, access: str) -> bool:
        return access in self.ACCESS and is_agent_id(agent.strip())


class WorkflowFileForm(PlainForm):
    """A workflow file, chosen or pasted. A chosen file wins over the pasted text."""

    file = forms.FileField(
        label="File",
        required=False,
        allow_empty_file=True,
        widget=forms.FileInput(attrs={"accept": ".yaml,.yml,text/yaml,text/plain"}),
        help_text="YAML in UTF-8, at most 256 KiB.",
    )
    text = forms.CharField(
        label="Or its text",
        required=False,
        strip=False,
        widget=forms.Textarea(attrs={**PLAIN, "rows": 18, "class": "tall", "wrap": "off"}),
        help_text="Used when no file is chosen.",
    )

    def clean(self) -> Cleaned:
        given: dict[str, object] = self.cleaned_data
        if not given.get("file") and not given.get("text") and not self.errors:
            self.add_error("file", "Choose a file, or paste its text below.")
        return given


class ExportForm(PlainForm):
    """In which format the entries are exported."""

    format = forms.ChoiceField(
        label="Format",
        initial="csv",
        choices=(("csv", "CSV, for a spreadsheet"), ("jsonl", "JSON lines, to import on another host")),
        widget=forms.RadioSelect,
    )


class ImportForm(PlainForm):
    """A file of memory, what it is, and where its entries go when it does not say so."""

    file = forms.FileField(
        label="File",
        allow_empty_file=True,
        widget=forms.FileInput(attrs={"accept": ".jsonl,.ndjson,.json,.txt,application/jsonl,text/plain"}),
    )
    form = forms.ChoiceField(
        label="Format",
        required=False,
        choices=(
            ("", "Detect it"),
            ("jsonl", "Export of a console (JSON lines)"),
            ("mem0", "mem0, one memory a line"),
            ("langgraph", "LangGraph store, one item a line"),
        ),
    )
    memory_ref = forms.CharField(
        label="Memory ref",
        required=False,
        max_length=MAX_LABEL,
        widget=forms.TextInput(attrs={**PLAIN, "placeholder": "mem0, or langgraph"}),
        help_text="The ref of mem0 memories, and the first part of LangGraph namespaces. An export has its own.",
    )
    agent_id = forms.CharField(
        label="Agent",
        required=False,
        max_length=MAX_AGENT,
        widget=forms.TextInput(attrs=PLAIN),
        help_text="The agent of entries that name none.",
    )

    def __init__(self, *given: object, **options: object) -> None:
        super().__init__(*given, **options)
        most = settings.OPENWOP_IMPORT_BYTES
        self.fields["file"].help_text = f"UTF-8, one JSON object a line, at most {most // 2**20:,} MiB."

    def clean_file(self) -> Any:
        file, most = self.cleaned_data["file"], settings.OPENWOP_IMPORT_BYTES
        if file.size > most:
            raise forms.ValidationError(f"has {file.size:,} bytes; at most {most:,} are imported at once")
        return file


class ImportConfirmForm(PlainForm):
    """Which dry run, over which bytes, a person has read."""

    check = forms.CharField(required=False, widget=forms.HiddenInput)
    sha256 = forms.CharField(required=False, widget=forms.HiddenInput)


class SavedFilterForm(PlainForm):
    """The name of a filter, and whether it is for everybody. ``query`` is what it filters by."""

    name = forms.CharField(
        label="Name",
        max_length=64,
        widget=forms.TextInput(attrs={"autocomplete": "off"}),
        help_text="Replaces yours of this name, if there is one.",
    )
    shared = forms.BooleanField(
        label="Share it", required=False, help_text="Everyone in this tenant who sees the list can use it."
    )
    query = forms.CharField(
        required=False,
        widget=forms.HiddenInput,
        max_length=saved_filters.LONGEST,
        error_messages={"max_length": "This filter is too long to be saved. Choose fewer values."},
    )

    def clean_query(self) -> str:
        query = str(self.cleaned_data["query"])
        if not query:
            raise forms.ValidationError("There is no filter to save: everything is shown.")
        return query


class RoleForm(PlainForm):
    """A form with one of the ``roles`` that its sender may give."""

    role = forms.ChoiceField(label="Role")

    def __init__(self, *given: object, roles: Sequence[str], **options: object) -> None:
        super().__init__(*given, **options)
        field: Any = self.fields["role"]
        field.choices = [(role, role) for role in roles]


class KeyForm(RoleForm):
    """A new API key."""

    name = forms.CharField(label="Name", max_length=access.MAX_NAME, help_text="What it is for, e.g. night-agent.")
    agents = PlainField(
        label="Agents",
        required=False,
        help_text="Agent ids separated by spaces. A key bound to agents acts only as these; empty: as any agent.",
    )
    person = forms.EmailField(
        label="Belongs to", required=False, help_text="The operator whose key it is. Empty: yours."
    )
    expires_at = forms.DateField(
        label="Expires on",
        required=False,
        widget=forms.DateInput(attrs={"type": "date"}),
        help_text="In UTC. Empty: never.",
    )
    field_order = ("name", "role", "agents", "person", "expires_at")

    def clean_agents(self) -> tuple[str, ...]:
        agents = tuple(dict.fromkeys(self.cleaned_data["agents"].replace(",", " ").split()))
        if any(not is_agent_id(each) for each in agents):
            raise forms.ValidationError("must be agent ids separated by spaces")
        return agents

    def clean_expires_at(self) -> datetime | None:
        day = self.cleaned_data["expires_at"]
        return datetime(day.year, day.month, day.day, tzinfo=UTC) if day else None


class InviteForm(RoleForm):
    """An invitation of an operator."""

    email = forms.EmailField(label="Email", max_length=254, widget=forms.EmailInput(attrs={"autocomplete": "off"}))
    field_order = ("email", "role")


class SecretForm(PlainForm):
    """A secret that runs resolve by its name."""

    name = PlainField(label="Name", max_length=128)
    value = forms.CharField(
        label="Value",
        strip=False,
        widget=forms.PasswordInput(attrs={"autocomplete": "off"}),
        help_text="Sealed in the vault. No page and no answer shows it again.",
    )


class WebhookForm(PlainForm):
    """A webhook to create or change."""

    url = forms.CharField(
        label="Address",
        max_length=webhooks.MAX_URL,
        widget=forms.URLInput(attrs=PLAIN),
        help_text="Begins with https:// and leads to a public host, unless the administrator lists it.",
    )
    tags = PlainField(
        label="Only runs with one of these tags",
        required=False,
        max_length=1000,
        help_text="Separated by commas.",
    )
    events = forms.MultipleChoiceField(
        label="Events",
        choices=[
            ("The console", [(each, each) for each in webhooks.CONSOLE_TYPES]),
            ("The log", [(each, each) for each in events.TYPES]),
        ],
        widget=forms.CheckboxSelectMultiple,
    )

    def clean_tags(self) -> list[str]:
        return [found for each in self.cleaned_data["tags"].split(",") if (found := each.strip())]
