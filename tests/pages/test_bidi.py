"""Bidirectional controls are marks in every text of a page: cells, titles, attributes and option labels."""

import re

import pytest
from django.test import Client
from django.utils import timezone

from memory import ledger
from memory.drafts import EntryDraft
from memory.host import tenancy
from openwop_console.templatetags.console import with_visible_bidi
from tests import building, proposing
from tests.pages.conftest import body_of

pytestmark = pytest.mark.django_db
BIDI = re.compile("[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")
CONTROLS = "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
PAGES = (
    "/",
    "/memory",
    "/proposals",
    "/consolidation",
    "/archives",
    "/settings",
    "/forget",
    "/commitments",
)


def planted() -> None:
    """A ref, a tag, a subject, an agent and a title that would turn what stands beside them."""
    owner = building.scope()
    scope = tenancy.memory_scope(owner, f"desk/{CONTROLS}")
    assert scope is not None
    draft = EntryDraft(f"a note {CONTROLS}", (f"tag{CONTROLS}",), f"subject{CONTROLS}", f"agent.{CONTROLS}")
    ledger.write_entry(scope, draft, run=building.open_run(owner), node_id=None, now=timezone.now())
    proposing.propose(building.scope(role="agent"), title=f"Shorter {CONTROLS}")


@pytest.mark.parametrize("address", PAGES)
def test_no_page_holds_a_bidirectional_control_outside_of_what_its_forms_send_back(
    client: Client, address: str
) -> None:
    planted()
    client.force_login(building.operator())
    answer = client.get(address, follow=True)
    assert answer.status_code == 200
    html = re.sub(r'<textarea.*?</textarea>|\svalue="[^"]*"', "", body_of(answer), flags=re.DOTALL)
    assert not BIDI.search(html)


def test_the_label_of_an_option_shows_marks_and_its_value_stays() -> None:
    shown = with_visible_bidi('<option value="a\u202eb" title="x\u200f">a\u202eb</option>')
    assert shown == '<option value="a\u202eb" title="x⟦RLM U+200F⟧">a⟦RLO U+202E⟧b</option>'


def test_every_control_has_a_mark_with_its_number_and_other_characters_stay() -> None:
    shown = with_visible_bidi(f"<p>{CONTROLS}</p>\u05e9\u05dc 👩\u200d💻")
    assert not BIDI.search(shown)
    assert all(f"U+{ord(control):04X}" in shown for control in CONTROLS)
    assert shown.endswith("\u05e9\u05dc 👩\u200d💻")
