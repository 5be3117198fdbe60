"""Take a picture of every page of the demo, on a desk and on a phone, in both themes, and look for faults.

Run by ``make screenshots``. Starts a console with a fresh demo, signs in as its owner, follows the links of each page
to two addresses of every route, and writes ``NAME-WIDTH-THEME.png`` for each into a folder. Prints each fault: an
answer other than 200, an error in the browser's console, a page wider than its window, and what axe-core calls moderate
or worse. Status 1 if there is one.
"""

import argparse
import html
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Literal
from urllib.parse import urljoin, urlsplit

import django
from axe_playwright_python.base import AXE_SCRIPT  # type: ignore[import-untyped]
from django.urls import Resolver404, resolve
from playwright.sync_api import (
    Browser,
    BrowserContext,
    ConsoleMessage,
    Error,
    Page,
    StorageState,
    ViewportSize,
    sync_playwright,
)

OWNER = "ada@acme.example"
HEIGHT = 800
# Narrower windows are those of phones.
PHONE = 600
Theme = Literal["light", "dark"]
VIEWS: tuple[tuple[int, Theme], ...] = ((1280, "light"), (390, "dark"), (390, "light"), (1280, "dark"))
# Every picture that a document shows: its name in docs/, and the address it is of, or one with what to click there.
IN_DOCUMENTS = {
    "needs-you": ("/", ""),
    "ledger": ("/memory", ""),
    "entry": ("/memory?node=file-crm-case", "a.row-link"),
    "run": ("/runs?workflow=support-triage&status=completed", 'main a[href^="/runs/run_"]'),
    "review": ("/", 'main a[href^="/proposals/prop_"]'),
}
# What each program of examples/ leaves behind: the system that it names, of which docs/example-NAME.png is.
EXAMPLES = {
    "plain.py": "plain-python",
    "langgraph_store.py": "langgraph",
    "agents_session.py": "openai-agents",
    "mcp_client.py": "mcp-client",
    "curl.sh": "shell",
}
LINK = re.compile(r'<a\b[^>]*?\bhref="([^"]+)"')
GRAVE = {"moderate", "serious", "critical"}
# What a look at a sample of a page looks at: rows of tables and of what is folded, what it unfolds of neighbours, and
# of all.
ROWS, FOLDED, UNFOLDED = 3, 1, 5
SHELL = ".nav-fold, dialog"
UNFOLD = """([folded, most]) => {
  const found = [...document.querySelectorAll(folded)];
  const step = Math.ceil(found.length / most);
  found.filter((_, place) => place % step === 0).forEach((each) => { each.open = each.dataset.folded = true; });
}"""
TWICE = """() => {
  const ids = [...document.querySelectorAll("[id]")].map((each) => each.id);
  return ids.filter((id, place) => ids.indexOf(id) !== place);
}"""

# Every element that shows text, and of each what decides its contrast: the names and grounds of all that it stands in,
# its own colour, and its type.
LOOKS = """() => {
  const grounds = new Map([[null, ""]]);
  const groundOf = (at) => {
    if (!grounds.has(at)) {
      const { backgroundColor, backgroundImage, opacity } = getComputedStyle(at);
      const name = [at.localName, ...at.classList].join(".");
      grounds.set(at, [groundOf(at.parentElement), name, backgroundColor, backgroundImage, opacity].join(" "));
    }
    return grounds.get(at);
  };
  const hasText = (at) => [...at.childNodes].some((each) => each.nodeType === Node.TEXT_NODE && each.data.trim());
  window.withText = [...document.body.querySelectorAll("*")].filter((at) =>
    at.checkVisibility({ visibilityProperty: true }) && (hasText(at) || at.matches("input, select, textarea")));
  return window.withText.map((at) => {
    const { color, fontSize, fontWeight } = getComputedStyle(at);
    const isDisabled = Boolean(at.closest(":disabled, [aria-disabled=true]"));
    return [groundOf(at), color, fontSize, fontWeight, isDisabled].join(" ");
  });
}"""
ONLY_THESE = """(places) => {
  places.forEach((place) => { window.withText[place].dataset.look = ""; });
  axe.configure({ rules: [{ id: "color-contrast", selector: "[data-look]" }] });
}"""
# To build and to hand over what passed takes as long as many a rule.
VIOLATIONS = "axe.run({ reporter: 'no-passes' }).then((found) => found.violations)"


def find_addresses(read: Callable[[str], tuple[int, str, str]], *, of_a_route: int) -> list[str]:
    """Paths of pages in the order in which links lead to them from "/", at most ``of_a_route`` of each route.

    ``read`` gives the status, the content type and the text of a path. A path that does not answer 200 is among them.
    """
    found: list[str] = []
    routes: dict[str, int] = {}
    waiting, seen = ["/"], {"/"}
    while waiting:
        path = waiting.pop(0)
        try:
            route = resolve(path).route
        except Resolver404:
            route = ""
        if routes.get(route, 0) == of_a_route:
            continue
        status, kind, text = read(path)
        if status == 200 and not kind.startswith("text/html"):
            continue
        routes[route] = routes.get(route, 0) + 1
        found.append(path)
        for link in LINK.findall(text):
            target = urlsplit(urljoin(path, html.unescape(link)))
            if not target.netloc and not target.query and target.path not in seen:
                seen.add(target.path)
                waiting.append(target.path)
    return found


def open_page(
    page: Page, url: str, *, sample: bool = False, shell: bool = True, looks: set[str] | None = None
) -> list[str]:
    """The faults of the page at ``url``, which is open afterwards, a line each; axe-core comes into the page by
    ``bring_axe``. In a ``sample``, only the first of many
    alike are looked at, and the others are gone afterwards: axe-core reads what it is not asked for as well, and the
    operations on the page of the API alone take longer than all other pages. Without ``shell``, nor are the navigation
    and the dialogs, which are the same on each page. The contrast of an element whose look is among ``looks`` is known;
    those of this page are added to them."""
    folded = "details:not([open])" + (f":nth-of-type(-n+{FOLDED})" if sample else "")
    alike = f"tr:nth-child(n+{ROWS + 1}), details:not([open]):nth-of-type(n+{ROWS + 1})"
    others = f"{alike}, details:not([open]) > :not(summary)" + ("" if shell else f", {SHELL}")
    faults: list[str] = []

    def complain(message: ConsoleMessage) -> None:
        if message.type == "error":
            faults.append(message.text)

    def crash(error: Error) -> None:
        faults.append(str(error))

    page.on("console", complain)
    page.on("pageerror", crash)
    answer = page.goto(url)
    if answer is None or answer.status != 200:
        faults.append(f"status {answer and answer.status}")
    if page.evaluate("document.documentElement.scrollWidth > innerWidth"):
        faults.append("wider than its window")
    # What is folded is looked at as well, and folded again for the picture.
    page.evaluate(UNFOLD, [folded, UNFOLDED if sample else 10_000])
    if twice := page.evaluate(TWICE):
        faults.append(f"ids that stand for two elements: {twice}")
    if sample:
        page.evaluate(f"document.querySelectorAll('{others}').forEach(each => each.remove())")
    if looks is not None:
        page.evaluate(ONLY_THESE, _find_new(page.evaluate(LOOKS), looks))
    found = page.evaluate(VIOLATIONS)
    page.evaluate("document.querySelectorAll('[data-folded]').forEach(each => each.open = false)")
    for violation in found:
        if violation["impact"] in GRAVE:
            places = ", ".join(" ".join(node["target"]) for node in violation["nodes"][:3])
            faults.append(f"{violation['id']} ({violation['impact']}): {violation['help']}: {places}")
    page.remove_listener("console", complain)
    page.remove_listener("pageerror", crash)
    return faults


def _find_new(shown: list[str], looks: set[str]) -> list[int]:
    """The places of the first of each look that is not among ``looks`` yet; from then on it is."""
    first = {look: place for place, look in reversed([*enumerate(shown)]) if look not in looks}
    looks.update(first)
    return sorted(first.values())


def name_of(path: str) -> str:
    """A file's name for a path: ``/memory/mem_1`` becomes ``memory-mem_1``."""
    return re.sub(r"[^\w.@]+", "-", path).strip("-") or "needs-you"


@contextmanager
def demo_console() -> Iterator[tuple[str, str]]:
    """The address of a console with a fresh demo, and the owner's password."""
    with tempfile.TemporaryDirectory() as folder, socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{free.getsockname()[1]}"
        free.close()
        command = [sys.executable, "manage.py", "console", "--demo", "--bind", address]
        environment = os.environ | {"OPENWOP_DATA_DIR": f"{folder}/data"}
        with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as process:  # noqa: S603  # our own
            try:
                assert process.stdout
                password = next(line.split()[1] for line in process.stdout if OWNER in line)
                yield f"http://{address}", password
            finally:
                process.terminate()


def sign_in(browser: Browser, base: str, password: str) -> StorageState:
    """The owner's session, for new windows."""
    page = browser.new_page()
    page.goto(f"{base}/login")
    page.get_by_label("Email").fill(OWNER)
    page.get_by_label("Password", exact=True).fill(password)
    page.get_by_role("button", name="Sign in").click()
    page.wait_for_url(f"{base}/")
    state = page.context.storage_state()
    page.close()
    return state


def open_window(browser: Browser, state: StorageState, width: int, theme: Theme) -> BrowserContext:
    """A window with a mouse; a narrow one is a phone's, with a finger. axe-core is in each of its pages."""
    size: ViewportSize = {"width": width, "height": HEIGHT}
    window = browser.new_context(storage_state=state, color_scheme=theme, viewport=size, has_touch=width < PHONE)
    bring_axe(window)
    return window


def bring_axe(to: BrowserContext | Page) -> AbstractContextManager[object]:
    """From now on, and until the end of the context that is returned, axe-core is in every page that is opened. To send
    it to each page when it is there takes twice as long."""
    return to.add_init_script(AXE_SCRIPT)


def picture_documents(page: Page, base: str) -> None:
    """The pictures of IN_DOCUMENTS are in docs/, each of the first screen, light."""
    page.set_viewport_size({"width": VIEWS[0][0], "height": HEIGHT})
    for name, (path, selector) in IN_DOCUMENTS.items():
        page.goto(f"{base}{path}")
        if selector:
            page.locator(selector).first.click()
            page.wait_for_load_state("networkidle")
        page.screenshot(path=f"docs/{name}.png")


def picture_examples(page: Page, base: str) -> None:
    """Run each program of examples/ with a fresh key; the pictures of what it wrote are in docs/."""
    page.goto(f"{base}/connect")
    page.locator('main [name="name"]').fill("examples")
    page.get_by_role("button", name="Create key").click()
    page.get_by_text("Copy the key now").wait_for()
    key = re.search(r"OPENWOP_API_KEY=(\S+)", page.locator("main").inner_text())
    if key is None:
        raise SystemExit("The page has made no key.")
    environment = os.environ | {"OPENWOP_URL": base, "OPENWOP_API_KEY": key[1], "PYTHONPATH": "client"}
    for program, system in EXAMPLES.items():
        command = "sh" if program.endswith(".sh") else sys.executable
        subprocess.run([command, f"examples/{program}"], env=environment, check=True, stdout=subprocess.DEVNULL)  # noqa: S603  # our own
        page.goto(f"{base}/memory?system={system}")
        page.screenshot(path=f"docs/example-{system}.png")


def main() -> int:
    parser = argparse.ArgumentParser(prog="make screenshots", description=__doc__.splitlines()[0])
    parser.add_argument("--folder", type=Path, default=Path("var/screenshots"), help="where to (default: %(default)s)")
    parser.add_argument("--only", metavar="PREFIX", default="/", help="only pages whose path begins so")
    parser.add_argument("--docs", action="store_true", help="only write the pictures of the documents into docs/")
    chosen = parser.parse_args()
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "openwop_console.settings")
    django.setup()
    faulty = 0
    chromium = os.environ.get("CHROMIUM") or shutil.which("chromium-headless-shell") or shutil.which("chromium")
    with demo_console() as (base, password), sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        state = sign_in(browser, base, password)

        def read(path: str) -> tuple[int, str, str]:
            answer = context.request.get(f"{base}{path}", max_redirects=0)
            return answer.status, answer.headers.get("content-type", ""), answer.text()

        context = browser.new_context(storage_state=state)
        if chosen.docs:
            page = context.new_page()
            picture_documents(page, base)
            picture_examples(page, base)
            return 0
        wanted = {name_of(path): path for path in find_addresses(read, of_a_route=2) if path.startswith(chosen.only)}
        chosen.folder.mkdir(parents=True, exist_ok=True)
        for width, theme in VIEWS:
            window = open_window(browser, state, width, theme)
            page = window.new_page()
            for name, path in wanted.items():
                faults = open_page(page, f"{base}{path}")
                page.screenshot(path=chosen.folder / f"{name}-{width}-{theme}.png", full_page=True)
                faulty += bool(faults)
                for fault in faults:
                    sys.stdout.write(f"{path} {width} {theme}: {fault}\n")
            window.close()
        browser.close()
    sys.stdout.write(f"{len(wanted)} pages, {faulty} views with faults; the pictures are in {chosen.folder}\n")
    return min(faulty, 1)


if __name__ == "__main__":
    sys.exit(main())
