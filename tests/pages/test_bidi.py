"""Bidirectional controls are marks in every text of a page: cells, titles, attributes and option labels."""

import re

import pytest
from django.test import Client
from django.utils import timezone

from memory import artifact_stops, ledger
from memory.entry_drafts import EntryDraft
from memory.host import ids, tenancy
from openwop_console.templatetags.console import with_visible_bidi
from tests import building, proposing
from tests.pages.conftest import body_of
from tests.pages.test_every_page import LISTS
from tests.peopled import World

pytestmark = pytest.mark.django_db
BIDI = re.compile("[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")
CONTROLS = "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"


def planted() -> list[str]:
    """A ref, a tag, a subject, an agent and a title that would turn what stands beside them."""
    owner = building.scope()
    scope = tenancy.memory_scope(owner, f"desk/{CONTROLS}")
    assert scope is not None
    draft = EntryDraft(f"a note {CONTROLS}", (f"tag{CONTROLS}",), f"subject{CONTROLS}", f"agent.{CONTROLS}")
    run = building.open_run(owner)
    entry = ledger.entries.write_entry(scope, draft, run=run, node_id=None, now=timezone.now())
    made = proposing.propose(building.scope(role="agent"), title=f"Shorter {CONTROLS}")
    artifact_stops.disable(owner, World("acme").template, reason=f"incident {CONTROLS}", now=timezone.now())
    proposal = f"/proposals/{ids.wire('prop', made.id)}"
    about = [f"/memory/{ids.wire('mem', entry.id)}", f"/runs/{ids.wire('run', run.id)}", proposal]
    return [*about, *(f"{proposal}/{tab}" for tab in ("artifact", "evidence", "discussion", "history"))]


def test_no_page_holds_a_bidirectional_control_outside_of_what_its_forms_send_back(client: Client) -> None:
    about, marked = planted(), set()
    client.force_login(building.operator())
    for address in [*LISTS, *about]:  # the other pages show nothing of what was planted
        answer = client.get(address, follow=True)
        assert answer.status_code == 200, address
        if "text/html" not in answer.headers["Content-Type"]:
            continue
        html = re.sub(r'<textarea.*?</textarea>|\svalue="[^"]*"', "", body_of(answer), flags=re.DOTALL)
        assert not BIDI.search(html), address
        marked |= {address} if "\u27e6RLO U+202E\u27e7" in html else set()
    assert marked >= {"/memory", "/proposals", "/audit", *about[:2]}


def test_the_label_of_an_option_shows_marks_and_its_value_stays() -> None:
    shown = with_visible_bidi('<option value="a\u202eb" title="x\u200f">a\u202eb</option>')
    assert shown == '<option value="a\u202eb" title="x⟦RLM U+200F⟧">a⟦RLO U+202E⟧b</option>'


def test_every_control_has_a_mark_with_its_number_and_other_characters_stay() -> None:
    shown = with_visible_bidi(f"<p>{CONTROLS}</p>\u05e9\u05dc 👩\u200d💻")
    assert not BIDI.search(shown)
    assert all(f"U+{ord(control):04X}" in shown for control in CONTROLS)
    assert shown.endswith("\u05e9\u05dc 👩\u200d💻")
