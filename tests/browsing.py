"""What every walk through the console in a browser begins with."""

from playwright.sync_api import Page

from tests import building

ADA = "ada@acme.example"


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
