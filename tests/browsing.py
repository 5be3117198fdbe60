"""What every walk through the console in a browser begins with."""

from playwright.sync_api import Page

from tests import building

ADA = "ada@acme.example"
# The name of the control that has the focus.
NAME = """() => {
  const at = document.activeElement;
  return at.getAttribute("aria-label") || (at.labels?.[0] ?? at).innerText;
}"""


def type_in(page: Page, email: str, password: str) -> None:
    """The login form that stands before the page is filled in and sent."""
    page.get_by_label("Email").fill(email)
    page.get_by_label("Password").fill(password)
    page.get_by_role("button", name="Sign in").click()


def sign_in(page: Page, url: str, path: str = "/") -> None:
    """Ada of acme is at ``path`` of the console at ``url``, having typed her password."""
    building.operator(email=ADA)
    page.goto(f"{url}{path}")
    type_in(page, ADA, building.PASSWORD)
    page.wait_for_url(f"{url}{path}")


def tab_to(page: Page, name: str, *, most: int = 60) -> None:
    """Press Tab until the control of that name has the focus; fails after ``most`` times."""
    for _ in range(most):
        page.keyboard.press("Tab")
        found = page.evaluate(NAME)
        if name in (found or ""):
            return
    raise AssertionError(f"Tab does not come to {name}")
