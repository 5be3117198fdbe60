"""The main job from end to end: a fresh console with its demo, a real worker, a real browser, an operator of Acme.

Before it, every page of that demo is looked at for faults, as ``make screenshots`` does.
"""

import re
import time
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from playwright.sync_api import Browser, Page, StorageState, expect

from tests.browsing import type_in
from tests.budgets import THOROUGH
from tests.fixtures_console import ConsoleProcess, fresh_database
from tools import screenshots

MARTA = "marta.kowalska@example.com"
BESIDE_THE_LOG = {"request", "answer", "inputs", "outcome", "chunk"}
TOTAL = re.compile(r"of ([\d,]+)")


def password_of(console: ConsoleProcess, email: str) -> str:
    return next(line for line in console.output.splitlines() if email in line).split()[1]


def sign_in(page: Page, console: ConsoleProcess, email: str) -> None:
    """The operator signs in with what the console printed."""
    page.goto(f"{console.url}/")
    type_in(page, email, password_of(console, email))
    expect(page.get_by_role("heading", level=1)).to_have_text("Needs you")


def total(page: Page) -> int:
    found = TOTAL.search(page.locator(".pager").inner_text())
    assert found
    return int(found[1].replace(",", ""))


def rows(page: Page) -> int:
    return page.locator("[data-item]").count()


def filtered(page: Page, console: ConsoleProcess, query: str) -> int:
    """What the ledger says for a filter, and that every row it shows is counted."""
    page.goto(f"{console.url}/memory?{query}")
    assert 0 < rows(page) <= total(page)
    return total(page)


def key_of(console: ConsoleProcess, tenant: str) -> httpx.Client:
    made = console.manage("create_api_key", "--tenant", tenant, "--role", "owner")
    return httpx.Client(base_url=console.url, headers={"X-API-Key": made.stdout.strip()}, timeout=30)


def log_of(client: httpx.Client, run_ids: list[str]) -> list[Any]:
    """The logs, without what was asked and answered in a call: that is kept beside the log, and goes with a subject."""
    logs = [client.get(f"/v1/runs/{run_id}/events").json() for run_id in run_ids]
    for event in (event for log in logs for event in log["events"]):
        event["payload"] = {name: said for name, said in event["payload"].items() if name not in BESIDE_THE_LOG}
    return logs


# What the workers of the demo have begun and not ended yet.
UNDER_WAY = """
from django_q.models import OrmQ
from memory.models import Pass
print(OrmQ.objects.count() + Pass.objects.filter(state="claimed").count())
"""


@pytest.fixture(scope="module")
def console(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ConsoleProcess]:
    """Its demo has been played to the end: nothing changes any more but what is asked for."""
    with fresh_database() as url:
        process = ConsoleProcess(tmp_path_factory.mktemp("demo") / "data", url)
        process.start("--demo")
        deadline = time.monotonic() + 120
        while process.shell(UNDER_WAY) != "0":
            assert time.monotonic() < deadline, "the demo does not end"
            time.sleep(0.5)
        yield process
        process.end()


@pytest.fixture(scope="module")
def signed_in(console: ConsoleProcess, browser: Browser) -> StorageState:
    """The session of the owner of Acme."""
    return screenshots.sign_in(browser, console.url, password_of(console, screenshots.OWNER))


@pytest.fixture(scope="module")
def addresses(console: ConsoleProcess, browser: Browser, signed_in: StorageState) -> list[str]:
    """Of every page of the demo, before anything is changed."""
    window = browser.new_context(storage_state=signed_in)

    def read(path: str) -> tuple[int, str, str]:
        answer = window.request.get(f"{console.url}{path}", max_redirects=0)
        return answer.status, answer.headers.get("content-type", ""), answer.text()

    found = screenshots.find_addresses(read, of_a_route=2 if THOROUGH else 1)
    window.close()
    assert len(found) > 40
    return found


# A quick run looks at each page once, at the first of many alike: in one of the two views that differ in everything;
# at the navigation of the first page in each; and at the contrast of the first element of each look.
@pytest.mark.parametrize("number", range(len(screenshots.VIEWS) if THOROUGH else 2))
def test_no_page_is_too_wide_complains_or_hinders_by_axe(
    console: ConsoleProcess, browser: Browser, signed_in: StorageState, addresses: list[str], number: int
) -> None:
    width, theme = screenshots.VIEWS[number]
    window = screenshots.open_window(browser, signed_in, width, theme)
    opened, faults = window.new_page(), []
    looks: set[str] | None = None if THOROUGH else set()
    for place, path in enumerate(addresses if THOROUGH else addresses[number::2]):
        shell = THOROUGH or place == 0
        found = screenshots.open_page(opened, f"{console.url}{path}", sample=not THOROUGH, shell=shell, looks=looks)
        faults += [f"{path}: {fault}" for fault in found]
    window.close()
    assert faults == []


def test_the_five_steps_of_the_main_job(console: ConsoleProcess, page: Page) -> None:
    sign_in(page, console, "ada@acme.example")  # 1. log in and land on "Needs you"
    with key_of(console, "acme") as acme, key_of(console, "globex") as globex:
        everything = browse_the_ledger(page, console)
        entry_path, run_path = follow_an_entry_to_its_node(page, console)
        proposal_path, run_before = approve_a_proposal_and_see_its_effect(page, console)
        forget_path = forget_marta(page, console, acme, everything)

        foreign = [entry_path, run_path, run_before, proposal_path, forget_path]
        globex_sees_nothing(page, console, acme, globex, foreign)


def browse_the_ledger(page: Page, console: ConsoleProcess) -> int:
    """2. Filter by agent, run, node and tag, search the text, page to the end with a true total."""
    page.get_by_role("link", name="Memory", exact=True).first.click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Memory")
    everything = total(page)
    seen = rows(page)
    older = page.locator(".pager").get_by_role("link", name="Older")
    while older.count():
        before = page.url
        older.click()
        page.wait_for_function("before => location.href !== before", arg=before)
        page.wait_for_load_state("networkidle")
        seen += rows(page)
        assert total(page) == everything
    assert seen == everything > 40

    by_agent = filtered(page, console, "agent=private.acme.support-triage")
    by_node = filtered(page, console, "agent=private.acme.support-triage&node=remember-summary")
    by_tag = filtered(page, console, "tag=triage")
    assert by_node < by_agent < everything
    assert by_tag < everything
    run_id = (page.locator('a[href*="/runs/run_"]').first.get_attribute("href") or "").split("/runs/")[1].split("#")[0]
    assert filtered(page, console, f"run={run_id}") < by_agent

    page.goto(f"{console.url}/memory")
    page.get_by_label("Search this list").fill("Kowalska")
    page.wait_for_url(re.compile("q=Kowalska"))
    expect(page.locator(".pager")).not_to_contain_text(f"of {everything}")
    assert 0 < total(page) < everything
    return everything


def follow_an_entry_to_its_node(page: Page, console: ConsoleProcess) -> tuple[str, str]:
    """3. The entry's Provenance tab names the node of the run; the run trail shows that node's write."""
    page.goto(f"{console.url}/memory?node=remember-summary")
    page.locator("a.row-link").first.click()
    expect(page.locator(".verdict")).to_contain_text("Node remember-summary of run")
    entry_path = page.url.removeprefix(console.url)
    memory_id = entry_path.split("/memory/")[1].split("/")[0].split("?")[0]
    page.get_by_role("link", name="Open in run").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("Run")
    lane = page.locator(".lane").filter(has=page.locator("h3", has_text="remember-summary"))
    expect(lane.locator(f'a[href*="{memory_id}"]').first).to_be_visible()
    expect(lane).to_contain_text("memory.written")
    return f"/memory/{memory_id}", page.url.removeprefix(console.url).split("#")[0]


def approve_a_proposal_and_see_its_effect(page: Page, console: ConsoleProcess) -> tuple[str, str]:
    """4. The diff, the exact digest, the installation; a later run uses it, and a run before did not."""
    page.goto(f"{console.url}/runs?workflow=support-triage")
    page.locator("a.row-link").first.click()
    run_before = page.url.removeprefix(console.url)
    expect(page.locator("#trail")).to_contain_text("prompt:triage.summary@1.0.0")

    page.goto(f"{console.url}/")
    page.get_by_role("link", name="Say what was promised").first.click()
    expect(page.locator("main")).to_contain_text("revision 1")
    assert page.locator("ins").count() > 0
    assert page.locator("del").count() > 0
    bar = page.locator(".decision-bar")
    expect(bar).to_contain_text("You are deciding revision 2")
    digest = bar.locator('input[name="sha256"]').get_attribute("value")
    assert digest
    proposal_path = page.url.removeprefix(console.url)
    bar.get_by_role("button", name="Approve").click()
    expect(page.get_by_role("heading", name="Installed")).to_be_visible(timeout=30_000)
    expect(page.locator("main")).to_contain_text("prompt:triage.summary@1.1.0")
    with key_of(console, "acme") as client:
        installed = client.get("/v1/host/console/artifacts/prompt:triage.summary@1.1.0").json()
    assert installed["sha256"] == digest

    page.goto(f"{console.url}{run_before}")
    page.get_by_role("button", name="Run again").click()
    expect(page.get_by_text("completed").first).to_be_visible(timeout=30_000)
    expect(page.locator("#trail")).to_contain_text("prompt:triage.summary@1.1.0")
    assert run_before not in page.url
    page.goto(f"{console.url}{run_before}")
    expect(page.locator("#trail")).to_contain_text("prompt:triage.summary@1.0.0")
    expect(page.locator("#trail")).not_to_contain_text("prompt:triage.summary@1.1.0")
    return proposal_path, run_before


def forget_marta(page: Page, console: ConsoleProcess, acme: httpx.Client, everything: int) -> str:
    """5. Preview, confirm by typing, watch it run, get a verified receipt; the log is as it was."""
    listed = acme.get("/v1/host/console/memory", params={"q": f'"{MARTA}"', "limit": 1000, "state": "all"}).json()
    ids = [entry["id"] for entry in listed["entries"]]
    found = [acme.get(f"/v1/host/console/memory/{memory_id}").json() for memory_id in ids]
    run_ids = sorted({entry["provenance"]["writes"][0]["runId"] for entry in found})
    before = log_of(acme, run_ids)

    page.goto(f"{console.url}/forget")
    page.get_by_label("Subject").fill(MARTA)
    page.get_by_role("button", name="Preview", exact=True).click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Erasure preview", timeout=30_000)
    expect(page.locator("main")).to_contain_text("memory entries")
    expect(page.locator("main")).to_contain_text("event log stays")
    page.get_by_role("button", name="Keep all undecided").click()
    expect(page.locator("main")).to_contain_text("0 undecided")
    page.get_by_role("button", name="Continue to confirm").click()
    page.get_by_label("Type the subject").fill("somebody else")
    page.get_by_label("Reason or ticket").fill("ticket 4711")
    page.get_by_label("Your password").fill(password_of(console, "ada@acme.example"))
    page.get_by_role("button", name="Forget for good").click()
    expect(page.locator(".error-summary")).to_contain_text("is not the subject")
    page.get_by_label("Type the subject").fill(MARTA)
    page.get_by_label("Your password").fill(password_of(console, "ada@acme.example"))
    page.get_by_role("button", name="Forget for good").click()
    expect(page.get_by_role("heading", name="Forgotten and verified")).to_be_visible(timeout=30_000)
    forget_path = page.url.removeprefix(console.url)

    receipt = acme.get(f"/v1/host/console/forget/{forget_path.split('/forget/')[1]}").json()["receipt"]
    counts = receipt["stores"]["memory entries"]
    assert counts["erased"] >= counts["planned"] > 3
    assert all(store["leftAfter"] == 0 for store in receipt["stores"].values())
    assert log_of(acme, run_ids) == before
    after = acme.get("/v1/host/console/memory", params={"q": f'"{MARTA}"', "limit": 1000, "state": "all"}).json()
    assert after["total"] == counts["spared"]
    page.goto(f"{console.url}/memory")
    assert total(page) < everything + 20
    page.goto(f"{console.url}/runs/{run_ids[0]}")
    expect(page.locator("main")).to_contain_text("forgotten")
    return forget_path


def globex_sees_nothing(
    page: Page, console: ConsoleProcess, acme: httpx.Client, globex: httpx.Client, foreign: list[str]
) -> None:
    """By any page or call, another tenant's things are not there."""
    page.get_by_role("link", name="Memory", exact=True).first.click()
    page.context.clear_cookies()
    sign_in(page, console, "gil@globex.example")
    for path in foreign:
        assert page.request.get(f"{console.url}{path}").status == 404, path
    ours = {entry["id"] for entry in acme.get("/v1/host/console/memory", params={"limit": 1000}).json()["entries"]}
    theirs = {entry["id"] for entry in globex.get("/v1/host/console/memory", params={"limit": 1000}).json()["entries"]}
    assert ours
    assert theirs
    assert not ours & theirs
    for path in foreign:
        kind, name = path.strip("/").split("/")[:2]
        call = {
            "memory": "host/console/memory",
            "runs": "runs",
            "proposals": "host/sample/proposals",
            "forget": "host/console/forget",
        }
        assert globex.get(f"/v1/{call[kind]}/{name.split('?')[0]}").status_code == 404
