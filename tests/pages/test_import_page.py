"""The page that imports memory: a file is uploaded and checked, its report read and confirmed, its entries shown."""

import json
from typing import Any

import pytest
from django.conf import settings
from django.contrib.auth import SESSION_KEY
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.utils import timezone
from pytest_django.fixtures import Settings

from memory import ledger_imports, passes, tasks
from memory.host import ids, vault
from memory.models import Pass
from memory.models.entry import MemoryEntry
from openwop_console.sign_in import person_of
from tests import building
from tests.memory.test_transfers import line
from tests.pages.conftest import HTMX, SignIn, body_of
from tests.pages.test_needs_you import counted, listed, needs

pytestmark = pytest.mark.django_db
PAGE = "/settings/import"


@pytest.fixture(autouse=True)
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ledger_imports, "AT_ONCE", 2)
    monkeypatch.setattr(ledger_imports, "HOLD_S", 0)  # each in a transaction of its own


def sent(browser: Client, *lines: str, name: str = "memory.jsonl", **form: str) -> Any:
    file = SimpleUploadedFile(name, "\n".join(lines).encode())
    return browser.post(PAGE, {"file": file, **form})


def uploaded(browser: Client, *lines: str, **form: str) -> str:
    """The address of the import."""
    answer = sent(browser, *lines, **form)
    assert answer.status_code == 302, body_of(answer)
    assert answer["Location"].startswith(f"{PAGE}/imp_")
    return str(answer["Location"])


@pytest.mark.engines
def test_only_a_session_that_is_signed_in_has_room_for_files(ada: Client, sign_in: SignIn) -> None:
    """The server asks before it reads the body; the view checks again."""

    def person(browser: Client) -> str:
        return person_of(browser.cookies[settings.SESSION_COOKIE_NAME].value)

    assert person(ada) == ada.session[SESSION_KEY]
    rosa = sign_in(role="reviewer")
    key = rosa.cookies[settings.SESSION_COOKIE_NAME].value
    rosa.logout()
    assert [person_of(each) for each in (key, "", "no-session", "x" * 5000)] == ["", "", "", ""]


def last_pass() -> Pass:
    return Pass.objects.filter(kind=ledger_imports.KIND).latest("id")


def worked() -> Pass:
    row = last_pass()
    tasks.carry_out_pass(row.tenant_id.hex, row.id.hex)
    return last_pass()


def confirmation() -> dict[str, str]:
    row = Pass.objects.filter(kind=ledger_imports.KIND, dry_run=True).latest("id")
    return {"check": ids.wire("pass", row.id), "sha256": row.options["sha256"]}


@pytest.mark.engines
def test_a_file_is_uploaded_checked_confirmed_and_its_entries_are_shown(ada: Client) -> None:
    assert f'href="{PAGE}"' in body_of(ada.get("/settings"))
    assert f'href="{PAGE}"' in body_of(ada.get("/memory"))
    hostile = '<b hx-get="/x">\u202e'
    place = uploaded(ada, line(1, content=hostile, tags=["crm"]), line(2), "not json")
    assert "Waiting for a worker" in body_of(ada.get(place))
    row = last_pass()
    work = passes.claim(row.tenant_id, row.id, holder="w/1", now=timezone.now())
    assert work is not None
    passes.progress(work, done=1, total=3, doing="checking lines", now=timezone.now())
    part = body_of(ada.get(place, **HTMX))
    assert "<strong>1 of 3</strong>" in part
    assert 'hx-trigger="every 1s"' in part
    passes.LEASE.release(row.tenant_id, row.id, holder="w/1")
    worked()
    report = ada.get(place, **HTMX)
    shown = body_of(report)
    assert report.status_code == 286
    assert "Import 2 entries" in shown
    assert "&lt;b hx-get=&quot;/x&quot;&gt;" in shown
    assert "\u202e" not in shown
    assert "The line is not JSON" in shown
    assert json.loads(body_of(ada.get(f"{place}?format=json")))["refused"][0]["line"] == 3
    assert body_of(ada.get(f"{place}?format=csv")).startswith("line,reason\r\n3,")
    assert not MemoryEntry.objects.exists()
    answer = ada.post(f"{place}/confirm", confirmation())
    assert (answer.status_code, answer["Location"]) == (302, place)
    assert "Importing" in body_of(ada.get(place)) or "Waiting for a worker" in body_of(ada.get(place))
    run = ids.wire("run", worked().run_id)
    assert f'href="/memory?run={run}"' in body_of(ada.get(place))
    assert "entry 2" in body_of(ada.get(f"/memory?run={run}"))
    assert "memory.jsonl" in body_of(ada.get(PAGE))
    [told] = json.loads(body_of(ada.get(f"{PAGE}?format=json")))["imports"]
    assert (told["file"], told["lines"], told["state"]) == ("memory.jsonl", 3, "imported")


def test_a_report_that_does_not_hold_any_more_is_a_conflict_and_can_be_made_again(ada: Client) -> None:
    place = uploaded(ada, line(1))
    worked()
    form = confirmation()
    vault.store_secret(building.tenant().id, "crm", "tok-93fb0c1d7e", now=timezone.now())
    for bad in (form, {}, {**form, "sha256": "x"}):
        answer = ada.post(f"{place}/confirm", bad)
        assert answer.status_code == 409
        assert "Nothing was imported" in body_of(answer)
    assert ada.post(f"{place}/check").status_code == 302
    worked()
    assert ada.post(f"{place}/confirm", confirmation()).status_code == 302
    assert ada.post(f"{place}/confirm", confirmation()).status_code == 302, "sent twice"
    assert worked().outcome["stored"] == 1
    assert ada.post(f"{place}/check").status_code == 409


def test_an_import_is_discarded_and_its_file_is_gone(ada: Client) -> None:
    place = uploaded(ada, line(1))
    assert ada.post(f"{place}/remove").status_code == 302
    assert "was cancelled, and the uploaded file is erased" in body_of(ada.get(place))
    place = uploaded(ada, line(2))
    worked()
    assert ada.post(f"{place}/remove").status_code == 302
    assert "The uploaded file was erased before the import" in body_of(ada.get(place))
    assert ada.post(f"{place}/confirm", confirmation()).status_code == 409


def test_what_is_wrong_with_a_file_is_said_beside_its_field(ada: Client, settings: Settings) -> None:
    settings.OPENWOP_IMPORT_BYTES = 1_000
    for answer, words in (
        (ada.post(PAGE, {}), "is required"),
        (sent(ada, ""), "is empty"),
        (sent(ada, "x" * 2_000), "at most 1,000 are imported at once"),
        (sent(ada, "PK\x03\x04"), "is a ZIP file"),
        (sent(ada, '{"a": 1}'), "is not a known format"),
        (sent(ada, line(1), memory_ref="openintent/x"), "cannot be written"),
        (sent(ada, line(1), form="xml"), "is not one of the choices"),
    ):
        assert answer.status_code == 422
        assert "Nothing was uploaded" in body_of(answer)
        assert words in body_of(answer)
    assert not Pass.objects.filter(kind=ledger_imports.KIND).exists()


@pytest.mark.engines
def test_a_second_upload_waits_for_the_import_of_the_first(ada: Client) -> None:
    place = uploaded(ada, line(1))
    worked()
    assert ada.post(f"{place}/confirm", confirmation()).status_code == 302
    answer = sent(ada, line(2))
    assert answer.status_code == 409
    assert "still running" in body_of(answer)


def test_an_import_is_seen_by_its_person_alone(ada: Client, sign_in: SignIn) -> None:
    place = uploaded(ada, line(1))
    worked()
    for other in (sign_in(role="operator"), sign_in("globex")):
        assert "memory.jsonl" not in body_of(other.get(PAGE))
        for act in ("", "/confirm", "/check", "/remove"):
            assert (other.post if act else other.get)(f"{place}{act}").status_code == 404, act
    assert ada.get(place).status_code == 200
    assert sign_in(role="author").get(place).status_code == 403


def test_a_report_says_how_many_lines_came_out_otherwise_than_in_the_dry_run(ada: Client, sign_in: SignIn) -> None:
    said, confirmed = line(1), []
    for browser in (ada, sign_in(role="operator")):
        place = uploaded(browser, said)
        worked()
        assert browser.post(f"{place}/confirm", confirmation()).status_code == 302
        confirmed.append((browser, place, last_pass()))
    reports = []
    for browser, place, row in confirmed:
        tasks.carry_out_pass(row.tenant_id.hex, row.id.hex)
        reports.append(body_of(browser.get(place)))
    assert "Differs from the dry run" not in reports[0]
    assert "<dt>Differs from the dry run</dt><dd>1</dd>" in reports[1]


@pytest.mark.engines
def test_a_value_that_is_stored_encrypted_is_not_shown(ada: Client) -> None:
    address = {"tier": "semantic", "agent_id": "bot", "namespace": "facts", "key": "k", "created_by": "bot"}
    place = uploaded(ada, line(1, value={"n": "QUAGGA"}, address={**address, "sensitivity": "restricted"}))
    worked()
    shown = body_of(ada.get(place))
    assert "encrypted when stored" in shown
    assert "QUAGGA" not in shown


def test_the_report_of_an_import_waits_for_its_person_until_it_is_answered(ada: Client, sign_in: SignIn) -> None:
    place = uploaded(ada, line(1), line(2), "not json")
    assert needs(ada)["imports"] == 0, "a worker is still checking it"
    worked()
    assert f'href="{place}"' in listed(ada, "imports")
    assert "2 of 3 entries would be stored, 1 refused" in listed(ada, "imports")
    assert (counted(ada, "/"), needs(sign_in(role="operator"))["imports"]) == ("1", 0)
    assert needs(sign_in(role="viewer"))["imports"] is None
    ada.post(f"{place}/check")
    assert needs(ada)["imports"] == 0, "a newer check is under way"
    worked()
    assert needs(ada)["imports"] == 1
    ada.post(f"{place}/confirm", confirmation())
    assert needs(ada)["imports"] == 0
    worked()
    other = uploaded(ada, line(3))
    worked()
    assert needs(ada)["imports"] == 1
    ada.post(f"{other}/remove")
    assert needs(ada)["imports"] == 0
