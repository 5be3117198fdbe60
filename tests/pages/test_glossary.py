"""The glossary, and the words of other pages that lead to it."""

import re
from pathlib import Path

import pytest
from django.conf import settings
from django.test import Client
from django.utils.text import slugify

from tests import building
from tests.pages.conftest import SignIn, body_of

pytestmark = pytest.mark.django_db
TERM = re.compile(r'{% term "([^"]+)"')


def anchors_of(browser: Client) -> list[str]:
    return re.findall(r'id="term-([^"]+)"', body_of(browser.get("/glossary")))


def test_each_word_of_the_document_stands_once_on_the_page(ada: Client) -> None:
    words = re.findall(r"^\| (\*\*.+?) \|", (settings.BASE_DIR / "docs/glossary.md").read_text(), re.MULTILINE)
    anchors = anchors_of(ada)
    assert len(anchors) == sum(line.count("**") // 2 for line in words) == len(set(anchors))
    shown = body_of(ada.get("/glossary"))
    assert "<code>[REDACTED:&lt;secretId&gt;]</code>" in shown
    assert "**" not in shown
    assert "`" not in shown


def test_each_word_that_a_page_explains_is_in_the_glossary(ada: Client) -> None:
    templates = [each.read_text() for each in Path(settings.BASE_DIR / "templates").rglob("*.html")]
    used = {slugify(word) for text in templates for word in TERM.findall(text)}
    assert "gate" in used
    assert used <= set(anchors_of(ada))


def test_a_word_of_a_page_says_what_it_means_and_leads_there(ada: Client) -> None:
    shown = body_of(ada.get(f"/memory/{building.remember('acme', 'x').entries[0]}"))
    link = re.search(r'<a class="term" href="/glossary#term-([^"]+)" title="([^"]+)">Ref</a>', shown)
    assert link
    assert link[2] == "The name of a collection of entries, such as desk/facts."
    assert link[1] in anchors_of(ada)


def test_who_reads_nothing_but_the_audit_log_may_read_it_too(sign_in: SignIn) -> None:
    assert anchors_of(sign_in(role="auditor"))
    assert Client().get("/glossary").status_code == 302
