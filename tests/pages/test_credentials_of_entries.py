"""Which key wrote an entry: kept with the entry, whichever door it came through, and asked for by the ledger."""

import csv
import io
import json
from typing import Any
from urllib.parse import urlencode

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from memory.host import ids, tenancy
from memory.host.tenancy import TenantScope
from tests import building
from tests.pages.conftest import body_of

pytestmark = pytest.mark.django_db
LEDGER = "/v1/host/console/memory"


class Key:
    """A key of Acme's, at every door; all of them speak for one agent."""

    def __init__(self, client: Client, **options: Any) -> None:
        text = building.key("acme", **options)
        self.scope: TenantScope = tenancy.tenant_scope(tenancy.key_principal(text, now=timezone.now()))
        self.id = self.scope.principal.id
        self.client = client
        self.headers: dict[str, Any] = {"HTTP_AUTHORIZATION": f"Bearer {text}", "HTTP_X_AGENT_ID": "billing-01"}

    def send(self, method: str, path: str, body: Any) -> Any:
        answer = self.client.generic(method, path, json.dumps(body), content_type="application/json", **self.headers)
        assert answer.status_code in (200, 201), answer.content
        return answer.json()

    def ask(self, whose: str, **query: str) -> Any:
        """The ledger, of what that principal wrote."""
        address = f"{LEDGER}?{urlencode({'principal': whose, **query})}"
        return self.client.generic("GET", address, **self.headers).json()

    def tell(self, content: str) -> None:
        """Writes over the host extension, on the one run that the agent has elsewhere."""
        self.send("POST", LEDGER, {"memoryRef": "notes", "content": content, "origin": {"system": "x", "runId": "7"}})

    def put(self, key: str, text: str) -> None:
        """Writes over OpenIntent, on the one log of the agent."""
        place = {"namespace": "invoices", "key": key, "memory_type": "episodic"}
        self.send("PUT", "/api/v1/memory", {**place, "value": {"text": text}})

    def run(self, content: str) -> None:
        """Has a node of a run write."""
        name = f"note-{ids.new_id().hex}"
        building.install("acme", building.definition(name, building.remember_node(content)))
        assert building.execute(self.scope, name).status == "completed"


def found(reader: Key, whose: str, **query: str) -> list[str]:
    page = reader.ask(whose, **query)
    assert page["total"] == len(page["entries"])
    return sorted(each["content"] for each in page["entries"])


@pytest.mark.engines
def test_the_ledger_is_asked_for_what_a_key_wrote_through_any_door(client: Client) -> None:
    """Two keys write as one agent, on the same run elsewhere and the same log."""
    ours, leaked = Key(client), Key(client, name="leaked")
    for key, word in (ours, "ours"), (leaked, "planted"):
        key.tell(f"{word} elsewhere")
        key.put(word, f"{word} over OpenIntent")
        key.run(f"{word} by a node")
    assert found(ours, leaked.id) == ["planted by a node", "planted elsewhere", '{"text":"planted over OpenIntent"}']
    assert found(ours, ours.id) == ["ours by a node", "ours elsewhere", '{"text":"ours over OpenIntent"}']
    assert found(ours, leaked.id, q="elsewhere") == ["planted elsewhere"]
    assert found(ours, leaked.id, memoryRef="notes", state="all") == ["planted by a node", "planted elsewhere"]
    assert found(ours, "key_nobody") == []
    of_the_agent = ["planted elsewhere", '{"text":"planted over OpenIntent"}']
    assert found(Key(client, agents=("billing-01",)), leaked.id) == of_the_agent


@pytest.mark.engines
def test_an_entry_is_of_the_key_that_wrote_it_last(client: Client) -> None:
    ours, leaked = Key(client), Key(client)
    ours.put("limit", "100")
    leaked.put("limit", "100000")
    assert (found(ours, ours.id), found(ours, leaked.id)) == ([], ['{"text":"100000"}'])
    ours.put("limit", "100")
    assert (found(ours, ours.id), found(ours, leaked.id)) == (['{"text":"100"}'], [])


def test_a_key_of_another_tenant_leads_to_nothing(client: Client) -> None:
    leaked = Key(client)
    leaked.tell("a note")
    answer = client.get(LEDGER, {"principal": leaked.id}, **building.headers("globex"))
    assert (answer.status_code, answer.json()["entries"]) == (200, [])


def test_the_ledger_offers_the_keys_by_their_names_and_an_entry_leads_to_the_rest(ada: Client, client: Client) -> None:
    leaked = Key(client, name="ci-bot")
    leaked.tell("planted")
    unnamed, *alike = Key(client), Key(client, name="nightly"), Key(client, name="nightly")
    for each in (unnamed, *alike):
        each.tell("kestrel")
    shown = body_of(ada.get("/memory"))
    assert f'name="by" value="{leaked.id}"' in shown
    assert "ci-bot" in shown
    assert f"API key …{unnamed.id[-6:]}" in shown
    assert all(f"nightly …{each.id[-6:]}" in shown for each in alike), "two keys may have one name"
    narrowed = body_of(ada.get(f"/memory?by={leaked.id}"))
    assert "Key or person: ci-bot" in narrowed
    assert ("planted" in narrowed, "kestrel" in narrowed) == (True, False)
    [entry] = json.loads(body_of(ada.get(f"/memory?by={leaked.id}&format=json")))["entries"]
    assert f'href="/memory?by={leaked.id}"' in body_of(ada.get(f"/memory/{entry['id']}"))
    ada.post(f"/memory/{entry['id']}/retire")
    [row] = csv.DictReader(io.StringIO(body_of(ada.get(f"/memory?by={leaked.id}&state=all&format=csv"))))
    assert (row["principal"], row["state"], row["retiredAt"][:4]) == (leaked.id, "retired", f"{timezone.now():%Y}")
    assert f'href="/memory?by={leaked.id}"' in body_of(ada.get(reverse("keys")))


def test_who_revokes_a_key_is_shown_its_runs_that_go_on(ada: Client, client: Client) -> None:
    leaked = Key(client, name="ci-bot")
    asked = f"/settings/keys/{leaked.id}/revoke"
    leaked.put("limit", "100")
    leaked.run("planted")
    assert "Unfinished runs" not in body_of(ada.get(asked)), "one ended, and the agent's log never does"
    gate = {"title": "Go on", "artifactId": "a", "artifactType": "document", "actions": ["accept", "reject"]}
    building.install("acme", building.definition("asks", building.node("gate", "core.approvalGate", gate)))
    building.execute(leaked.scope, "asks")
    shown = body_of(ada.get(asked))
    assert "1, which continue after the key is revoked" in shown
    assert f'href="/runs?by={leaked.id}&amp;status=unfinished"' in shown, "where they are cancelled together"
    assert "Unfinished runs" not in body_of(ada.get(f"/settings/keys/{leaked.id}/rotate"))
