"""What every walk through the console in a browser begins with."""

from dataclasses import dataclass

from django.test import Client
from playwright.sync_api import Locator, Page

from tests import building

ADA = "ada@acme.example"
SKIP = "Skip to the content"
# The name of the control that has the focus.
NAME = """() => {
  const at = document.activeElement;
  return at.getAttribute("aria-label") || (at.labels?.[0] ?? at).innerText;
}"""


def type_in(page: Page, email: str, password: str) -> None:
    """The login form that stands before the page is filled in and sent."""
    page.get_by_label("Email").fill(email)
    page.get_by_label("Password", exact=True).fill(password)
    page.get_by_role("button", name="Sign in").click()


def sign_in_by_form(page: Page, url: str, path: str = "/") -> None:
    """Ada of acme is at ``path`` of the console at ``url``, having typed her password."""
    building.operator(email=ADA)
    page.goto(f"{url}{path}")
    type_in(page, ADA, building.PASSWORD)
    page.wait_for_url(f"{url}{path}")


def sign_in(page: Page, url: str, path: str = "/") -> None:
    """Ada of acme is at ``path`` of the console at ``url``, with the cookies of a login made outside the browser, which
    saves two pages."""
    building.operator(email=ADA)
    client = Client()
    answer = client.post("/login", {"login": ADA, "password": building.PASSWORD})
    assert answer.status_code == 302, answer.content.decode()
    page.context.add_cookies([{"name": name, "value": each.value, "url": url} for name, each in client.cookies.items()])
    page.goto(f"{url}{path}")


def tab_to(page: Page, name: str, *, most: int = 60) -> None:
    """Press Tab until the control of that name has the focus; fails after ``most`` times. What stands before the
    content is skipped by its link, as a person does."""
    for _ in range(most):
        page.keyboard.press("Tab")
        found = page.evaluate(NAME) or ""
        if name in found:
            return
        if found == SKIP:
            page.keyboard.press("Enter")
    raise AssertionError(f"Tab does not come to {name}")


# What else a finger on the middle of an element touches: one of 44 px; of 24 on a link within words, and
# across the link of a row, which is as wide as its words.
TOUCHED = """(wanted) => {
  const { x, y, width, height } = wanted.getBoundingClientRect();
  const labels = [...wanted.labels ?? []];
  const across = wanted.matches("a:not(.button, nav a)") ? 11 : 20;
  const along = wanted.matches(".row-link") ? 20 : across;
  return [[0, 0], [0, -along], [0, along], [-across, 0], [across, 0]].map(([right, down]) => {
    const found = document.elementFromPoint(x + width / 2 + right, y + height / 2 + down);
    return wanted.contains(found) || labels.some((label) => label.contains(found)) ? "" : found?.outerHTML.slice(0, 90);
  }).filter(Boolean);
}"""
FITS = """() => [document.documentElement, ...document.querySelectorAll(".table-region:has(> .cards)")]
  .every((each) => each.scrollWidth <= each.clientWidth)"""
FINGER = {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True}


@dataclass
class Hand:
    """A mouse, or a finger on a phone, that presses what is on a page and counts how often."""

    page: Page
    is_finger: bool = False
    presses: int = 0

    def press(self, target: Locator) -> None:
        """A finger touches nothing but ``target``, on a page and with lists no wider than their place."""
        self.presses += 1
        if not self.is_finger:
            target.click()
            return
        target.scroll_into_view_if_needed()
        others = target.evaluate(TOUCHED)
        assert others == [], f"a finger on {target} touches {others}"
        assert self.page.evaluate(FITS), f"{self.page.url} is wider than its window, or a list than its place"
        target.tap()

    def fill(self, target: Locator, words: str) -> None:
        """Type ``words`` into a field that is pressed first. That is not counted."""
        self.press(target)
        self.presses -= 1
        target.fill("")
        self.page.keyboard.type(words)

    def go(self, name: str) -> None:
        """Press an entry of the navigation, which is folded on a phone."""
        if self.is_finger:
            self.press(self.page.locator(".nav-fold > summary"))
        link = self.page.get_by_role("navigation", name="Console").get_by_role("link", name=name).first
        with self.page.expect_navigation():
            self.press(link)

    def count(self) -> int:
        """How often it has pressed since it was last asked."""
        counted, self.presses = self.presses, 0
        return counted
