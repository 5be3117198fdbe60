"""The upload of a workflow file: looked at, put right, imported; by form and link alone, and only by who may."""

import json
import re
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.utils import timezone
from playwright.sync_api import FilePayload, Page, expect
from pytest_django.live_server_helper import LiveServer

from memory.host import ids, vault
from memory.host.models import AuditRecord
from memory.models import Agent, Intent, Namespace, Task
from memory.openintent import workflow_file
from tests import browsing, building
from tests.openintent.test_workflow_file import SEED
from tests.pages.conftest import SignIn, body_of

URL, SECRET = "/workflow-files", "PELICAN-4711-XYZ"


def upload(raw: bytes) -> dict[str, Any]:
    return {"file": SimpleUploadedFile("workflow.yaml", raw), "text": ""}


@pytest.mark.django_db
def test_a_file_is_looked_at_before_anything_is_made(ada: Client) -> None:
    answer = ada.post(URL, upload(SEED.encode()))
    shown = body_of(answer)
    assert answer.status_code == 200
    for expected in (">Preview<", "quarterly-compliance", "company_policies", "room for 200 episodic entries"):
        assert expected in shown
    assert "pins what it writes in learned_patterns" in shown
    assert "archived when the task ends, at most 100 entries" in shown
    assert not Intent.objects.exists()


@pytest.mark.django_db
def test_a_confirmed_file_is_imported_and_what_was_made_has_an_address(ada: Client) -> None:
    answer = ada.post(URL, {"text": SEED.replace("\n", "\r\n"), "confirmed": "on"})
    intent_id = ids.wire("intent", Intent.objects.get().id)
    assert answer["Location"] == f"{URL}/{intent_id}"
    page = body_of(ada.get(answer["Location"]))
    assert "The workflow is imported." in page
    assert "gather-financial-data" in page
    assert len(re.findall(r'data-label="Memory">\w', page)) == 2, "each task says which memory it keeps"
    told = ada.get(f"{URL}/{intent_id}?format=json").json()
    assert [each["name"] for each in told["tasks"]] == ["gather-financial-data", "process-billing"]
    assert told["tasks"][1]["depends_on"] == [told["tasks"][0]["id"]]
    policies = dict(Task.objects.values_list("name", "memory_policy"))
    assert {each["name"]: each["memory_policy"] for each in told["tasks"]} == policies
    assert told["memory_policy"] not in policies.values()
    assert AuditRecord.objects.filter(action="workflow-file.imported", target=intent_id).count() == 1
    again = body_of(ada.post(URL, {"text": SEED}))
    assert "1 intent of this name is there already" in again
    assert "there already" in again


@pytest.mark.django_db
def test_every_problem_stands_beside_its_line_and_the_text_is_kept(ada: Client) -> None:
    answer = ada.post(
        URL, upload(SEED.replace("lru", "<b>fifo</b>").replace("agent: data-agent", "agent: no").encode())
    )
    shown = body_of(answer)
    assert answer.status_code == 422
    assert "2 problems: nothing was imported" in shown
    assert "memory.episodic_memory.eviction_policy must be lru" in shown
    assert '<code dir="auto">    eviction_policy: &lt;b&gt;fifo&lt;/b&gt;</code>' in shown
    assert "<b>fifo" not in shown
    assert "quarterly-compliance" in shown
    assert "<title>Error: " in shown


@pytest.mark.django_db
def test_no_upload_is_too_bad(ada: Client) -> None:
    for raw in [
        b"",
        b"\0" * 100,
        b"\xff\xd8\xff\xe0 JFIF",
        b"name: \xe2\x80\xae\n",
        b"#" * (workflow_file.MAX_BYTES + 1),
        b"x" * 3_000_000,
        b"[" * 100_000,
        b"memory:\n" + b"".join(b" k%d: 1\n" % number for number in range(9_000)),
        b"name: 'a\n",
    ]:
        answer = ada.post(URL, upload(raw))
        assert answer.status_code == 422, raw
        assert "nothing was imported" in body_of(answer).lower(), raw
        assert not Intent.objects.exists(), raw


@pytest.mark.django_db
def test_no_form_is_too_bad(ada: Client) -> None:
    for form in [{}, {"text": ""}, {"text": "a\0b"}, {"text": "\u202e: ["}, {"confirmed": "on"}]:
        answer = ada.post(URL, form)
        assert answer.status_code == 422, form
        assert "\u202e" not in body_of(answer).split("<textarea")[0], form
        assert ada.post(URL, b"--x", content_type="multipart/form-data; boundary=y").status_code in {400, 422}, form


@pytest.mark.django_db
def test_a_list_of_problems_says_how_many_there_are(ada: Client) -> None:
    raw = b"name: x\nmemory:\n" + b"".join(b" k%d: 1\n" % number for number in range(150))
    shown = body_of(ada.post(URL, upload(raw)))
    assert "150 problems: nothing was imported" in shown
    assert "100 of 150, the first ones" in shown


@pytest.mark.django_db
def test_of_a_long_line_the_part_with_the_problem_is_shown(ada: Client) -> None:
    raw = f"name: x\nmemory: {{{', '.join(f'k{number}: 1' for number in range(100, 199))}}}\n"
    shown = re.findall('<code dir="auto">(.*?)</code>', body_of(ada.post(URL, upload(raw.encode()))))
    first, middle, last = shown[0], shown[50], shown[-1]
    assert (first[:9], first[-1]) == ("memory: {", "…")
    assert (middle[0], "k150" in middle, middle[-1]) == ("…", True, "…")
    assert (last[0], last[-8:]) == ("…", "k198: 1}")


@pytest.mark.django_db
def test_a_secret_of_the_tenant_does_not_get_in_by_a_file(ada: Client) -> None:
    vault.store_secret(building.tenant().id, "token", SECRET, now=timezone.now())
    text = SEED.replace("quarterly", SECRET).replace("gather", SECRET).replace("learned_patterns", SECRET)
    text = text.replace("financial_summary", SECRET).replace("billing_domain", SECRET)
    assert ada.post(URL, {"text": text, "confirmed": "on"}).status_code == 302
    rows = [*Intent.objects.values("title"), *Task.objects.values("name", "record")]
    rows += [*Namespace.objects.values("name"), *Agent.objects.values("pinned_namespaces", "record")]
    rows += [*AuditRecord.objects.values("details", "target")]
    assert SECRET not in json.dumps(rows)
    assert "REDACTED" in json.dumps(rows)


@pytest.mark.django_db
def test_who_does_not_manage_agents_is_refused_in_the_shape_of_a_page(sign_in: SignIn) -> None:
    for role in ["viewer", "agent", "auditor", "reviewer"]:
        browser = sign_in(role=role)
        for answer in (browser.get(URL), browser.post(URL, {"text": SEED, "confirmed": "on"}), browser.get(f"{URL}/x")):
            shown = body_of(answer)
            assert answer.status_code == 403, role
            assert "agents:manage" in shown, role
            assert "<h1" in shown, role
        assert not Intent.objects.exists(), role


@pytest.mark.django_db
def test_an_operator_imports_visitors_sign_in_and_globex_sees_nothing(sign_in: SignIn, client: Client) -> None:
    olga, gil = sign_in(role="operator"), sign_in("globex")
    made = olga.post(URL, {"text": SEED, "confirmed": "on"})["Location"]
    assert olga.get(made).status_code == 200
    assert 'href="/workflow-files"' in body_of(olga.get("/settings"))
    assert gil.get(made).status_code == 404
    assert gil.get(f"{URL}/intent_zz").status_code == 404
    assert client.get(URL)["Location"].startswith("/login?next=")
    assert URL not in body_of(sign_in(role="viewer").get("/settings"))


@pytest.mark.django_db
def test_a_form_from_elsewhere_is_refused(ada: Client) -> None:
    strict = Client(enforce_csrf_checks=True)
    strict.cookies = ada.cookies
    assert strict.post(URL, {"text": SEED, "confirmed": "on"}).status_code == 403
    assert not Intent.objects.exists()


# --- in a browser ----------------------------------------------------------------------------------------------------


def file_with(text: str) -> FilePayload:
    return {"name": "w.yaml", "mimeType": "text/yaml", "buffer": text.encode()}


FITS = "document.documentElement.scrollWidth <= window.innerWidth"


@pytest.mark.django_db(transaction=True)
def test_without_scripts_a_file_is_chosen_put_right_and_imported(plain: Page, live_server: LiveServer) -> None:
    browsing.sign_in(plain, live_server.url, URL)
    plain.get_by_label("File", exact=True).set_input_files(file_with(SEED.replace("lru", "fifo")))
    plain.get_by_role("button", name="Preview").click()
    expect(plain.get_by_role("heading", name="1 problem: nothing was imported")).to_be_visible()
    assert plain.evaluate(FITS)
    text = plain.get_by_label("Or its text")
    text.fill(text.input_value().replace("fifo", "lru"))
    plain.get_by_role("button", name="Preview").click()
    expect(plain.get_by_role("heading", name="Preview", exact=True)).to_be_visible()
    assert plain.evaluate(FITS)
    plain.get_by_role("button", name="Import it").click()
    expect(plain.get_by_role("heading", level=1)).to_have_text("quarterly-compliance")
    expect(plain.locator("main")).to_contain_text("process-billing")
    assert plain.evaluate(FITS)
    assert Task.objects.count() == 2


@pytest.mark.django_db(transaction=True)
def test_a_file_is_pasted_and_imported_by_keyboard_alone(page: Page, live_server: LiveServer) -> None:
    browsing.sign_in(page, live_server.url, URL)
    page.get_by_label("File", exact=True).focus()
    page.keyboard.press("Tab")
    expect(page.get_by_label("Or its text")).to_be_focused()
    page.keyboard.insert_text(SEED)
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(page.locator("#preview")).to_be_focused()
    button = page.get_by_role("button", name="Import it")
    while not button.evaluate("button => button === document.activeElement"):
        page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_have_text("quarterly-compliance")


@pytest.mark.django_db(transaction=True)
def test_on_a_phone_a_file_is_chosen_put_right_and_imported_and_no_page_is_too_wide(
    page: Page, live_server: LiveServer
) -> None:
    page.set_viewport_size({"width": 390, "height": 800})
    browsing.sign_in(page, live_server.url, URL)
    assert page.evaluate(FITS)
    page.get_by_label("File", exact=True).set_input_files(file_with(SEED.replace("lru", "f" * 200)))
    page.get_by_role("button", name="Preview").click()
    expect(page.get_by_role("heading", name="1 problem: nothing was imported")).to_be_visible()
    assert page.evaluate(FITS)
    page.get_by_label("Or its text").fill(SEED)
    page.get_by_role("button", name="Preview").click()
    expect(page.get_by_role("heading", name="Preview", exact=True)).to_be_visible()
    assert page.evaluate(FITS)
    page.get_by_role("button", name="Import it").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("quarterly-compliance")
    expect(page.locator("main")).to_contain_text("process-billing")
    assert page.evaluate(FITS)
    assert Task.objects.count() == 2
