"""Checks, bounds and redacts the texts of a proposal before they are stored (SR-1)."""

from dataclasses import dataclass
from uuid import UUID

from memory import redaction
from memory.host import ids
from memory.host.errors import Invalid
from memory.host.models import Run
from memory.text.redactor import Redactor
from memory.text.storable import UNSTORABLE_IN_LABEL, UNSTORABLE_IN_TEXT
from proposals import artifacts
from proposals.artifacts import Problem, Sealed
from proposals.models import Purpose

MAX_TITLE = 200
MAX_RATIONALE = 4_000
MAX_NOTE = 500
MAX_COMMENT = 4_000
MAX_LABEL = 128
MAX_AGENT = 256
MAX_SOURCES = 50
MAX_UNDER_REVIEW = 5_000


@dataclass(frozen=True, slots=True)
class ProposalDraft:
    """A new proposal. ``artifact`` is JSON text, stored unchanged; ``source_run_ids`` are wire ids of runs.

    Only the synthesis sets ``pattern`` and ``evidence``: the digest of the finding, and ``{"kind", "id", "why"}`` of
    each thing that led to it, where ``why`` is a fixed word. ``contributors`` are the principals whose words became
    part of the artifact; they may not vote on it. ``purpose`` is set for rollbacks only.
    """

    kind: str
    artifact: str
    title: str = ""
    rationale: str = ""
    source_run_ids: tuple[str, ...] = ()
    synthesizer_model: str = ""
    agent_id: str = ""
    pattern: str = ""
    evidence: tuple[dict[str, str], ...] = ()
    contributors: tuple[str, ...] = ()
    purpose: str = Purpose.INSTALL


@dataclass(frozen=True, slots=True)
class Change:
    """The changes of a revision; None leaves a field unchanged. ``note`` says why."""

    artifact: str | None = None
    title: str | None = None
    rationale: str | None = None
    note: str = ""

    @property
    def is_empty(self) -> bool:
        return self == Change()


@dataclass(frozen=True, slots=True)
class Texts:
    """The texts around an artifact, redacted for storage."""

    title: str
    rationale: str
    note: str = ""


def seal(tenant_id: UUID, kind: str, artifact: str) -> Sealed:
    """Redact and validate an artifact with the secrets of this tenant."""
    return artifacts.seal(tenant_id, kind, artifact, redaction.for_tenant(tenant_id))


def texts(tenant_id: UUID, *, title: str, rationale: str, note: str = "") -> Texts:
    """Strip and redact the texts; refuses what is too long or holds characters that cannot be stored."""
    redactor = redaction.for_tenant(tenant_id)
    stored = Texts(*(redactor.redact(text.strip()).text for text in (title, rationale, note)))
    limits = (("title", stored.title, MAX_TITLE), ("rationale", stored.rationale, MAX_RATIONALE))
    _refuse([problem for limit in (*limits, ("note", stored.note, MAX_NOTE)) for problem in _text_problems(*limit)])
    return stored


def comment(tenant_id: UUID, given: str) -> str:
    """Strip and redact a comment; refuses what ``texts`` refuses."""
    stored = redaction.for_tenant(tenant_id).redact(given.strip()).text
    _refuse(_text_problems("text", stored, MAX_COMMENT))
    return stored


def require_origin(tenant_id: UUID, draft: ProposalDraft) -> None:
    """Refuse a draft whose labels cannot be stored, or hold a secret, or whose source runs are not this tenant's."""
    redactor = redaction.for_tenant(tenant_id)
    _refuse(
        [
            *_label_problems(redactor, "synthesizerModel", draft.synthesizer_model, MAX_LABEL),
            *_label_problems(redactor, "agentId", draft.agent_id, MAX_AGENT),
            *_source_problems(tenant_id, draft.source_run_ids),
        ]
    )


def _label_problems(redactor: Redactor, field: str, label: str, limit: int) -> list[Problem]:
    """The problems of a label. A secret is refused, not redacted: a redacted label would name another author."""
    if redactor.redact(label).count:
        return [{"field": field, "message": "holds a secret"}]
    return _text_problems(field, label, limit, lines=False)


def _source_problems(tenant_id: UUID, sources: tuple[str, ...]) -> list[Problem]:
    if len(sources) > MAX_SOURCES:
        return [{"field": "sourceRunIds", "message": f"are more than {MAX_SOURCES}"}]
    wanted = [ids.parse("run", source) for source in sources]
    known = set(Run.objects.of(tenant_id).filter(id__in=[run for run in wanted if run]).values_list("id", flat=True))
    return [
        {"field": f"sourceRunIds[{at}]", "message": "is not a run of this tenant"}
        for at, run in enumerate(wanted)
        if run not in known
    ]


def _text_problems(field: str, text: str, limit: int, *, lines: bool = True) -> list[Problem]:
    if len(text) > limit:
        return [{"field": field, "message": f"is longer than {limit} characters"}]
    unfit = (UNSTORABLE_IN_TEXT if lines else UNSTORABLE_IN_LABEL).search(text)
    return [{"field": field, "message": "holds a character that cannot be stored"}] if unfit else []


def _refuse(problems: list[Problem]) -> None:
    if problems:
        raise Invalid("The proposal cannot be stored like this.", errors=problems)
