"""The passwords of the demo's operators: random, and kept in the data folder for its owner alone."""

import json
import secrets
from dataclasses import dataclass
from pathlib import Path

from openwop_console.demo.story import Story
from openwop_console.process import data_folder

KEPT = "demo_login.json"
SHOWN = "demo-login.txt"
LETTERS = "abcdefghjkmnpqrstuvwxyz23456789"
GROUPS, GROUP = 3, 5
ANOTHER = "(another password by now)"


@dataclass(frozen=True, slots=True)
class Login:
    """An operator of the demo. ``password`` is empty when the one that is kept does not open the door."""

    email: str
    password: str
    role: str
    tenant: str

    def __str__(self) -> str:
        return f"  {self.email:<20} {self.password or ANOTHER:<19} {self.role} of {self.tenant}"


def passwords(folder: Path, stories: list[Story]) -> dict[str, str]:
    """The password of each operator by e-mail, the same whenever this data folder is asked."""
    kept = data_folder.kept_text(folder / KEPT, lambda: _made_for(stories))
    return dict(json.loads(kept))


def _made_for(stories: list[Story]) -> str:
    return json.dumps({email: _password() for story in stories for email in story.operators}, indent=2)


def _password() -> str:
    return "-".join("".join(secrets.choice(LETTERS) for _ in range(GROUP)) for _ in range(GROUPS))


def show(folder: Path, logins: list[Login]) -> str:
    """Who may sign in with what, for people; the same text is in the data folder, where the console finds it."""
    text = "\n".join(["Demo logins:", *map(str, logins)])
    file = folder / SHOWN
    if not file.exists() or file.read_text() != text:
        file.unlink(missing_ok=True)
        data_folder.kept_text(file, lambda: text)
    return text
