"""The search of the header: it goes to what an id, an agent or a node names, and searches memory otherwise."""

import pytest
from django.test import Client
from django.utils import timezone

from memory.forget import execution
from memory.host import api_keys, ids, webhooks
from memory.passes import orders
from memory.passes.orders import RequestedPass
from tests import archiving, building, hooks, proposing
from tests.pages.conftest import SignIn, body_of

pytestmark = pytest.mark.django_db


def goes_to(browser: Client, words: str) -> str:
    answer = browser.get("/search", {"q": words})
    assert answer.status_code == 302
    return str(answer["Location"])


def places() -> dict[str, str]:
    """Ids of Acme, each with the address of its page."""
    made, archive, proposal = building.remember("acme", "x"), archiving.distilled("acme", "y"), proposing.propose()
    work = orders.order(building.scope(), RequestedPass("consolidate", "notes"), now=timezone.now())
    asked = execution.preview(building.scope(), ["somebody"], now=timezone.now())
    found = {
        "memory": made.entries[0],
        "runs": ids.wire("run", made.run.id),
        "proposals": ids.wire("prop", proposal.id),
        "passes": ids.wire("pass", work.id),
        "archives": ids.wire("arc", archive.id),
        "forget": ids.wire("fgt", asked.request.id),
    }
    return {wire_id: f"/{section}/{wire_id}" for section, wire_id in found.items()}


@pytest.mark.engines
def test_an_id_leads_to_its_page_and_another_tenant_s_id_is_a_search_without_hits(sign_in: SignIn) -> None:
    ada, gil = sign_in(), sign_in("globex")
    for wire_id, page in places().items():
        assert goes_to(ada, wire_id) == page
        assert goes_to(ada, f"  {wire_id.upper()} ") == page
        assert ada.get(page).status_code == 200
        unknown = f"{wire_id.partition('_')[0]}_{'0' * 32}"
        assert goes_to(gil, wire_id) == f"/memory?q={wire_id}"
        assert goes_to(ada, unknown) == f"/memory?q={unknown}"


@pytest.mark.engines
def test_the_id_of_a_key_a_person_or_a_webhook_leads_to_it_alone(ada: Client, sign_in: SignIn) -> None:
    building.key(name="another")
    made = api_keys.create_api_key(building.tenant(), role="agent", name="mine", now=timezone.now())
    person = building.operator(email="mine@acme.example")
    hook = webhooks.wire_id(hooks.subscribe("run.completed"))
    key, usr = ids.wire("key", made.key_id), ids.wire("usr", person.id)
    gil, viewer = sign_in("globex"), sign_in(role="viewer")
    for wire_id, page, own, other in (
        (key, f"/settings/keys?id={key}", "mine", "another"),
        (usr, f"/settings/operators?id={usr}", person.email, "ada.viewer@acme.example"),
        (hook, f"/settings/webhooks/{hook}", "receiver.example", "no other"),
    ):
        assert goes_to(ada, wire_id) == page
        shown = body_of(ada.get(page))
        assert own in shown
        assert other not in shown
        assert goes_to(gil, wire_id) == goes_to(viewer, wire_id) == f"/memory?q={wire_id}"
    assert ada.get(f"/settings/keys?id=key_{'0' * 32}").status_code == 404
    assert ada.get("/settings/operators?id=nobody").status_code == 404


def test_an_id_that_the_role_may_not_read_is_a_search_too(sign_in: SignIn) -> None:
    asked = execution.preview(building.scope(), ["somebody"], now=timezone.now())
    wire_id = ids.wire("fgt", asked.request.id)
    assert goes_to(sign_in(role="viewer"), wire_id) == f"/memory?q={wire_id}"


@pytest.mark.engines
def test_an_agent_and_a_node_are_found_by_their_ids(ada: Client, sign_in: SignIn) -> None:
    building.install_agent("acme", {"agentId": "private.acme.triage"})
    building.remember("acme", "x")
    assert goes_to(ada, "private.acme.triage") == "/agents/private.acme.triage"
    assert goes_to(ada, "remember-1") == "/memory?node=remember-1"
    gil = sign_in("globex")
    assert goes_to(gil, "private.acme.triage") == "/memory?q=private.acme.triage"
    assert goes_to(gil, "remember-1") == "/memory?q=remember-1"


def test_a_ref_leads_to_its_entries_and_another_tenant_s_is_a_search(ada: Client, sign_in: SignIn) -> None:
    building.write(building.scope(), building.open_run(building.scope()), "alpha", memory_ref="desk/facts")
    assert ada.get("/search?q=desk/facts")["Location"] == "/memory?ref=desk%2Ffacts"
    assert sign_in("globex").get("/search?q=desk/facts")["Location"] == "/memory?q=desk%2Ffacts"


def test_words_are_searched_for_in_memory_and_nothing_leads_to_the_ledger(ada: Client) -> None:
    building.remember("acme", "the red bicycle")
    assert goes_to(ada, "red bicycle") == "/memory?q=red+bicycle"
    assert "bicycle" in body_of(ada.get("/search?q=red+bicycle", follow=True))
    assert goes_to(ada, "") == "/memory?q="
    assert 'action="/search"' in body_of(ada.get("/"))
