"""The page that exports the ledger: begins a file, shows how far it is, and gives it to who asked."""

from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from memory import passes, tasks
from memory.models import Pass
from tests import building
from tests.pages.conftest import HTMX, SignIn, body_of

pytestmark = pytest.mark.django_db
PAGE = "/memory/export"


@pytest.fixture(autouse=True)
def entries() -> None:
    building.remember("acme", "apple", "pear", "plum")


def begun(browser: Client, url: str = PAGE, **form: str) -> Pass:
    answer = browser.post(url, {"format": "csv", **form})
    assert (answer.status_code, answer["Location"]) == (302, url)
    found: Pass = Pass.objects.filter(kind="export").latest("id")
    return found


def carried_out(row: Pass) -> None:
    tasks.carry_out_pass(row.tenant_id.hex, row.id.hex)


def shown(browser: Client, **headers: Any) -> str:
    return body_of(browser.get(PAGE, **headers))


def test_the_ledger_leads_to_an_export_of_what_it_shows(ada: Client) -> None:
    ledger = body_of(ada.get("/memory?q=apple&after=x&order=newest"))
    assert '"/memory/export?q=apple&amp;order=newest"' in ledger
    page = body_of(ada.get("/memory/export?q=apple&order=newest"))
    assert "<strong>1 entry</strong>" in page
    carried_out(begun(ada, "/memory/export?q=apple&order=newest"))
    text = body_of(ada.post(f"{PAGE}/file"))
    assert ("apple" in text, "pear" in text) == (True, False)


@pytest.mark.engines
def test_the_page_says_how_far_the_file_is_until_it_can_be_downloaded(ada: Client) -> None:
    row = begun(ada)
    assert "waiting for a worker" in shown(ada)
    work = passes.claim(row.tenant_id, row.id, holder="w/1", now=timezone.now())
    assert work is not None
    passes.progress(work, done=2, total=3, doing="writing the file", now=timezone.now())
    part = shown(ada, **HTMX)
    assert "<strong>2 of 3</strong>" in part
    assert 'hx-trigger="every 1s"' in part
    passes.LEASE.release(row.tenant_id, row.id, holder="w/1")
    carried_out(row)
    answer = ada.get(PAGE, **HTMX)
    assert answer.status_code == 286
    assert "3 entries" in body_of(answer)
    file = ada.post(f"{PAGE}/file")
    assert file["Content-Disposition"] == f'attachment; filename="entries-{row.created_at:%Y-%m-%d}.csv"'
    assert file["Cache-Control"] == "no-store"
    assert body_of(file).count("\r\n") == 4
    assert ada.get(f"{PAGE}/file").status_code == 405


def test_nobody_else_is_shown_or_given_the_file(ada: Client, sign_in: SignIn) -> None:
    carried_out(begun(ada))
    for other in (sign_in(role="viewer"), sign_in("globex")):
        assert "Your last export" not in shown(other)
        assert other.post(f"{PAGE}/file").status_code == 404
        assert other.post(f"{PAGE}/remove").status_code == 404
    assert ada.post(f"{PAGE}/file").status_code == 200
    assert sign_in(role="auditor").get(PAGE).status_code == 403


@pytest.mark.engines
def test_a_second_export_waits_until_the_first_is_cancelled(ada: Client) -> None:
    row = begun(ada)
    answer = ada.post(PAGE, {"format": "csv"})
    assert answer.status_code == 409
    assert "still being made" in body_of(answer)
    assert ada.post(f"{PAGE}/remove").status_code == 302
    assert "The export was cancelled" in shown(ada)
    carried_out(row)
    assert ada.post(f"{PAGE}/file").status_code == 410
    carried_out(begun(ada))
    assert ada.post(f"{PAGE}/remove", {"next": PAGE}).status_code == 302
    assert "The file was deleted" in shown(ada)


def test_what_cannot_be_exported_is_said_beside_the_format(ada: Client) -> None:
    assert "Nothing was exported" in body_of(ada.post(PAGE, {}))
    answer = ada.post(f"{PAGE}?state=retired", {"format": "jsonl"})
    assert answer.status_code == 422
    assert "is of active entries" in body_of(answer)
