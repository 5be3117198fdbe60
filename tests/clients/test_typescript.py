"""The official clients from npm, run by node: a whole session of the MCP SDK, and the reference library of webhooks."""

import hashlib
import json
import os
import re
import shutil
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest
from django.conf import settings
from django.utils import timezone
from pytest_django.fixtures import Settings

from memory.host import event_log, vault, webhooks
from memory.host.events import WorkspaceUpdated
from openwop_console.process.webhook_sender import WebhookSender
from tests import hooks
from tests.fixtures_console import ConsoleProcess
from tests.mcp.test_sdk import answer_when_asked, csrf_of, signed_in
from tests.receiver import Receiver

FOLDER = Path(settings.BASE_DIR) / "tests" / "clients" / "typescript"
FILES = ("package.json", "package-lock.json", "session.mjs", "webhooks.mjs")
KEPT = Path(settings.BASE_DIR) / ".pytest_cache" / "npm"
SECONDS = 120
# Tenants of this file on the console that tests of clients share.
ACME, GLOBEX = "acme-npm", "globex-npm"


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The programs of the folder with what they need, as the lock file says. Without node the tests are skipped; where
    CI is set they fail, so that no green hides it."""
    if not (shutil.which("node") and shutil.which("npm")):
        missing = "node and npm are not there: apt-get install nodejs npm"
        (pytest.fail if os.environ.get("CI") == "true" else pytest.skip)(missing)
    folder = tmp_path_factory.mktemp("typescript")
    for name in FILES:
        shutil.copy(FOLDER / name, folder)
    (folder / "node_modules").symlink_to(_installed(folder) / "node_modules")
    return folder


def _installed(folder: Path) -> Path:
    """What the lock file of the folder says, installed once and kept for later test runs as the migrated database is:
    npm takes 5 s of CPU for it."""
    over = hashlib.sha256((folder / "package-lock.json").read_bytes())
    over.update(subprocess.run(["node", "--version"], capture_output=True, check=True).stdout)
    kept = KEPT / over.hexdigest()
    if not kept.exists():
        for other in KEPT.glob("*"):
            if not other.name.startswith(kept.name):
                shutil.rmtree(other, ignore_errors=True)
        made = KEPT / f"{kept.name}.{os.getpid()}"
        made.mkdir(parents=True, exist_ok=True)
        for name in FILES[:2]:
            shutil.copy(folder / name, made)
        words = ["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--prefer-offline"]
        done = subprocess.run(words, cwd=made, capture_output=True, text=True, check=False, timeout=300)
        assert done.returncode == 0, done.stderr
        try:
            made.rename(kept)  # another test run sees all of it or nothing
        except OSError:  # one that ran at the same time was first
            if not kept.exists():
                raise
            shutil.rmtree(made)
    return kept


class Session:
    """The program ``session.mjs``, which is told one thing a line and says one thing a line."""

    def __init__(self, program: subprocess.Popen[str]) -> None:
        self._program = program

    def hear(self) -> Any:
        assert self._program.stdout
        line = self._program.stdout.readline()
        assert line, self._program.stderr and self._program.stderr.read()
        return json.loads(line)

    def say(self, line: str) -> None:
        print(line, file=self._program.stdin, flush=True)

    def call(self, tool: str, **given: Any) -> Any:
        self.say(json.dumps({"tool": tool, "given": given}))
        return self.hear()


@contextmanager
def session(package: Path, console: ConsoleProcess, key: str = "") -> Iterator[Session]:
    """A session that goes on while the block lasts, and has ended well behind it."""
    environment = os.environ | {"OPENWOP_URL": console.url, "OPENWOP_API_KEY": key}
    with subprocess.Popen(
        ["node", "session.mjs"],
        cwd=package,
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as program:
        stop = threading.Timer(SECONDS, program.kill)
        stop.start()
        try:
            yield Session(program)
            assert program.stdin
            program.stdin.close()
            assert program.wait() == 0, program.stderr and program.stderr.read()
        finally:
            stop.cancel()
            program.kill()


def consented(browser: httpx.Client, address: str) -> str:
    """The code with which a person who consents sends the client back."""
    page = browser.get(address).text
    signed = re.search(r'name="request" value="([^"]+)"', page)
    assert signed, page
    sent = {"request": signed[1], "scopes": "mcp", "action": "grant", "csrfmiddlewaretoken": csrf_of(page)}
    answer = browser.post("/oauth/authorize", data=sent, headers={"Referer": address})
    return parse_qs(urlsplit(answer.headers["Location"]).query)["code"][0]


@pytest.mark.console
def test_sessions_of_the_typescript_sdk_with_keys_and_by_consent_in_two_tenants(
    package: Path, shared_console: ConsoleProcess
) -> None:
    acme, globex = (shared_console.key(slug, "agent", f"{slug}.desk") for slug in (ACME, GLOBEX))
    with session(package, shared_console, acme) as ours, session(package, shared_console, globex) as theirs:
        kept, foreign = ours.hear()["kept"], theirs.hear()["kept"]
        assert ours.call("memory_get", id=foreign)["isError"]
        assert theirs.call("memory_get", id=kept)["isError"]
        person = answer_when_asked(shared_console, ACME, "Blue")
        answered = ours.call("ask_human", question="Which colour?", options=["Red", "Blue"], timeoutSeconds=60)
        assert answered["answer"]["answer"] == "Blue"
        assert answered["told"] > 0
        person.join(10)

    with (
        signed_in(shared_console, ACME) as ada,
        signed_in(shared_console, GLOBEX) as gustav,
        session(package, shared_console) as ours,
        session(package, shared_console) as theirs,
    ):
        ours.say(consented(ada, ours.hear()["authorize"]))
        by_ada = ours.hear()["kept"]
        theirs.say(consented(gustav, theirs.hear()["authorize"]))
        by_gustav = theirs.hear()["kept"]
        sides = (ours, (kept, by_ada), (foreign, by_gustav)), (theirs, (foreign, by_gustav), (kept, by_ada))
        for granted, own, others in sides:
            refused = [granted.call("memory_get", id=each)["isError"] for each in (*own, *others)]
            assert refused == [False, False, True, True]
            found = granted.call("memory_search", query="owl")["answer"]["entries"]
            assert sorted(each["id"] for each in found) == sorted(own)
        (revoke,) = grants_of(gustav)
        assert grants_of(ada) != [revoke]
        # Another tenant's grant cannot be revoked.
        assert press(ada, revoke).status_code == 404
        assert theirs.call("memory_get", id=by_gustav)["isError"] is False
        assert press(gustav, revoke).is_redirect
        # Its access token opens nothing any more, and the client that refreshes it is told that the grant is gone.
        assert theirs.call("memory_get", id=by_gustav) == {"refused": "InvalidGrantError"}
        assert theirs.call("memory_search", query="owl") == {"refused": "InvalidGrantError"}
        assert ours.call("memory_get", id=by_ada)["isError"] is False
        assert press(ada, *grants_of(ada)).is_redirect
        assert ours.call("memory_get", id=by_ada) == {"refused": "InvalidGrantError"}
        assert grants_of(ada) == []


def grants_of(browser: httpx.Client) -> list[str]:
    """Where the grants of the SDK's clients that the person may see are revoked."""
    page = browser.get("/settings").text
    found = re.findall(r'action="(/settings/grants/[^"]+/revoke)"', page)
    assert "TypeScript SDK" in page or not found
    return found


def press(browser: httpx.Client, address: str) -> httpx.Response:
    """The answer to the button at that address, in the person's settings."""
    settings_page = browser.get("/settings")
    sent = {"csrfmiddlewaretoken": csrf_of(settings_page.text)}
    return browser.post(address, data=sent, headers={"Referer": str(settings_page.url)})


@pytest.mark.django_db
def test_the_reference_library_of_javascript_verifies_a_delivery_and_no_other(
    package: Path, settings: Settings
) -> None:
    settings.OPENWOP_OUTBOUND_ALLOW = ["127.0.0.1/32"]
    receiver, sender = Receiver(), WebhookSender(timezone.now)
    webhook = hooks.subscribe("workspace.updated", url=receiver.url)
    event_log.append_to_tenant(webhook.tenant_id, WorkspaceUpdated("notes/ä.md", 1), now=timezone.now())
    hooks.send_all(sender)
    sender.close()
    receiver.close()
    (delivery,) = receiver.received
    secret = vault.open_webhook_secrets(webhook.tenant_id, webhooks.wire_id(webhook))["current"]
    payload = delivery.raw.decode()
    given = {"secret": secret, "payload": payload, "headers": dict(delivery.headers)}
    verified = verify(package, given)
    assert json.loads(verified.stdout) == delivery.body
    for wrong in ({"payload": f"{payload} "}, {"secret": f"whsec_{'A' * 43}="}):
        refused = verify(package, given | wrong)
        assert (refused.returncode, refused.stdout) == (1, "")
        assert "WebhookVerificationError" in refused.stderr


def verify(package: Path, given: dict[str, Any]) -> subprocess.CompletedProcess[str]:
    words = ["node", "webhooks.mjs"]
    return subprocess.run(
        words, cwd=package, input=json.dumps(given), capture_output=True, text=True, check=False, timeout=SECONDS
    )
