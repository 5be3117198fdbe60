"""Load ``data/``: the demo's tenants, and what happens to them, in order.

Also the passwords of their operators: random, kept in the data folder for its owner only.
"""

import json
import secrets
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from memory.host.json_types import JSONObject
from memory.models import Trigger
from memory.passes.orders import RequestedPass
from openwop_console.process import data_folder

FOLDER = Path(__file__).parent / "data"
TENANTS = ("acme", "globex")

PASSWORDS_FILE = "demo_login.json"
LOGINS_FILE = "demo-login.txt"
LETTERS = "abcdefghjkmnpqrstuvwxyz23456789"
GROUPS, GROUP = 3, 5
ANOTHER = "(another password by now)"


@dataclass(frozen=True, slots=True)
class Errand:
    """A run of the story. ``key`` marks it in the run's metadata, so that it is ordered only once.

    A ``learned`` errand runs once the proposals are as far as the story takes them. ``answer`` is what the demo's model
    answers to its question or message.
    """

    key: str
    workflow: str
    inputs: JSONObject
    tags: list[str] = field(default_factory=list)
    metadata: JSONObject = field(default_factory=dict)
    agent: str = ""
    learned: bool = False
    answer: str = ""


@dataclass(frozen=True, slots=True)
class Suggestion:
    """A proposal and its progress: revised, discussed, submitted, approved or rejected, each by an operator, or none of
    these. An approved one is applied."""

    title: str
    kind: str
    rationale: str
    agent_id: str
    synthesizer_model: str
    source_runs: list[str]
    artifact: JSONObject
    revision: JSONObject | None
    comments: list[JSONObject]
    asked_by: str
    approved_by: str
    rejection: JSONObject | None


@dataclass(frozen=True, slots=True)
class Endeavour:
    """An intent of OpenIntent: its tasks, each of one agent, and what is remembered in them and outside of them."""

    title: str
    description: str
    by: str
    agents: list[str]
    tasks: list[JSONObject]
    remembers: list[JSONObject]


@dataclass(frozen=True, slots=True)
class Erasure:
    """A subject that an operator forgets or puts on hold, and the reason."""

    subject: str
    by: str
    reason: str


@dataclass(frozen=True, slots=True)
class Import:
    """A file of memory that an operator uploads and confirms."""

    file: str
    by: str
    memory_ref: str
    path: Path


@dataclass(frozen=True, slots=True)
class Story:
    """One tenant of the demo. ``operators`` are their roles by e-mail; ``key`` names the key its agents run with."""

    slug: str
    name: str
    operators: dict[str, str]
    key: str
    secrets: list[str]
    agents: list[JSONObject]
    prompt_templates: list[JSONObject]
    workflows: list[JSONObject]
    errands: list[Errand]
    suggestions: list[Suggestion]
    passes: list[RequestedPass]
    endeavours: list[Endeavour] = field(default_factory=list)
    forgets: Erasure | None = None
    holds: Erasure | None = None
    imports: Import | None = None


def stories() -> list[Story]:
    """Return the story of every tenant."""
    return [_story(FOLDER / slug) for slug in TENANTS]


def _story(folder: Path) -> Story:
    tenant = _read(folder / "tenant.json")
    return Story(
        slug=tenant["slug"],
        name=tenant["name"],
        operators={each["email"]: each["role"] for each in tenant["operators"]},
        key=tenant["key"],
        secrets=tenant["secrets"],
        agents=_read(folder / "agents.json"),
        prompt_templates=_read(folder / "prompt-templates.json"),
        workflows=_read(folder / "workflows.json"),
        errands=[Errand(**each) for each in _read(folder / "runs.json")],
        suggestions=[_suggestion(each) for each in _read(folder / "proposals.json")],
        passes=[_pass_request(each) for each in _read(folder / "passes.json")],
        endeavours=[Endeavour(**each) for each in _read(folder / "intents.json")],
        forgets=Erasure(**tenant["forgets"]) if "forgets" in tenant else None,
        holds=Erasure(**tenant["holds"]) if "holds" in tenant else None,
        imports=Import(**tenant["imports"], path=folder / tenant["imports"]["file"]) if "imports" in tenant else None,
    )


def _suggestion(given: JSONObject) -> Suggestion:
    return Suggestion(
        title=given["title"],
        kind=given["kind"],
        rationale=given["rationale"],
        agent_id=given["agentId"],
        synthesizer_model=given["synthesizerModel"],
        source_runs=given["sourceRuns"],
        artifact=given["artifact"],
        revision=given.get("revision"),
        comments=given.get("comments", []),
        asked_by=given.get("askedBy", ""),
        approved_by=given.get("approvedBy", ""),
        rejection=given.get("rejection"),
    )


def _pass_request(given: JSONObject) -> RequestedPass:
    return RequestedPass(given["kind"], given["memoryRef"], given.get("options", {}), trigger=Trigger.HOST_MANAGED)


def _read(file: Path) -> Any:
    return json.loads(file.read_text(encoding="utf-8"))


def text_of(document: JSONObject) -> str:
    """Return a document as the text that is installed or proposed."""
    return json.dumps(document, ensure_ascii=False, indent=2)


@dataclass(frozen=True, slots=True)
class Login:
    """An operator of the demo. ``password`` is empty when the kept one is no longer valid."""

    email: str
    password: str
    role: str
    tenant: str

    def __str__(self) -> str:
        return f"  {self.email:<20} {self.password or ANOTHER:<19} {self.role} of {self.tenant}"


def demo_passwords(folder: Path, stories: list[Story]) -> dict[str, str]:
    """Return the password of each operator by e-mail, fixed for the lifetime of the data folder."""
    kept = data_folder.kept_text(folder / PASSWORDS_FILE, lambda: _draw_passwords(stories))
    return dict(json.loads(kept))


def _draw_passwords(stories: list[Story]) -> str:
    return json.dumps({email: _draw_password() for story in stories for email in story.operators}, indent=2)


def _draw_password() -> str:
    return "-".join("".join(secrets.choice(LETTERS) for _ in range(GROUP)) for _ in range(GROUPS))


def write_login_file(folder: Path, logins: list[Login]) -> str:
    """Write the logins to the data folder, where the console finds them, and return the text."""
    text = "\n".join(["Demo logins:", *map(str, logins)])
    file = folder / LOGINS_FILE
    if not file.exists() or file.read_text() != text:
        file.unlink(missing_ok=True)
        data_folder.kept_text(file, lambda: text)
    return text
