"""Entries that look alike over HTTP: listed with both texts, and decided all or none."""

import json
from typing import Any

import pytest
from django.test import Client

from memory.host import ids
from tests import building
from tests.memory.test_look_alikes import HELD, KEPT, Desk

pytestmark = pytest.mark.django_db
URL = "/v1/host/console/look-alikes"


@pytest.fixture
def desk() -> Desk:
    found = Desk()
    found.say(KEPT, HELD)
    assert len(found.look()) == 1
    return found


def decide(client: Client, body: Any, **options: Any) -> Any:
    return client.post(
        f"{URL}/decisions", json.dumps(body), content_type="application/json", **building.headers(**options)
    )


def test_a_pair_is_listed_with_what_both_say_and_who_wrote_it(client: Client, desk: Desk) -> None:
    answer = client.get(URL, **building.headers(role="viewer")).json()
    (found,) = answer["lookAlikes"]
    (pair,) = desk.pairs()
    assert (answer["total"], answer["next"]) == (1, None)
    assert [found[side]["content"] for side in ("older", "newer")] == [KEPT, HELD]
    assert found["older"]["runId"] == ids.wire("run", desk.run.id)
    assert (found["older"]["nodeId"], found["memoryRef"]) == ("node", "notes")
    assert (found["sha256"], found["mergedInto"]) == (pair.sha256, ids.wire("mem", pair.newer.id))


def test_the_list_is_narrowed_to_a_ref_or_an_entry_and_paged(client: Client, desk: Desk) -> None:
    def total(query: str) -> int:
        return int(client.get(f"{URL}?{query}", **building.headers()).json()["total"])

    mem = ids.wire("mem", desk.pairs()[0].older.id)
    assert [total(query) for query in ("memoryRef=notes", f"memoryId={mem}")] == [1, 1]
    assert [total(query) for query in ("memoryRef=else", "memoryId=mem_" + "0" * 32)] == [0, 0]
    desk.say("Basil waters the big fern on Mondays.", "On Mondays the big fern gets water from Basil.")
    desk.look()
    first = client.get(f"{URL}?limit=1", **building.headers()).json()
    rest = client.get(f"{URL}?limit=1&after={first['next']}", **building.headers()).json()
    assert len({each["id"] for each in first["lookAlikes"] + rest["lookAlikes"]}) == 2
    assert rest["next"] is None


def test_a_decision_is_a_pass_of_whoever_decided(client: Client, desk: Desk) -> None:
    (pair,) = desk.pairs()
    pairs = [{"id": pair.id, "sha256": pair.sha256}]
    answer = decide(client, {"decision": "merge", "pairs": pairs})
    assert answer.status_code == 200
    told = answer.json()
    assert (told["decision"], told["decided"]) == ("merge", 1)
    (passed,) = told["passIds"]
    work = client.get(f"/v1/host/console/passes/{passed}", **building.headers()).json()
    assert (work["state"], work["outcome"]["merged"], work["requestedBy"][:4]) == ("done", 1, "key_")
    again = decide(client, {"decision": "merge", "pairs": pairs})
    assert again.status_code == 409
    assert again.json()["details"]["problems"][0]["id"] == pair.id


def test_what_is_no_decision_is_refused(client: Client, desk: Desk) -> None:
    (pair,) = desk.pairs()
    pairs = [{"id": pair.id, "sha256": pair.sha256}]
    for body in (
        {},
        {"decision": "burn", "pairs": pairs},
        {"decision": "merge", "pairs": []},
        {"decision": "merge", "pairs": pairs * 51},
        {"decision": "merge", "pairs": [{"id": pair.id}]},
        {"decision": "merge", "pairs": pairs, "why": "x"},
    ):
        assert decide(client, body).status_code == 400, body
    assert client.get(f"{URL}?colour=red", **building.headers()).status_code == 400
    assert decide(client, {"decision": "merge", "pairs": pairs}, role="viewer").status_code == 403
    assert decide(client, {"decision": "merge", "pairs": pairs}, slug="globex").status_code == 409
    assert client.get(URL, **building.headers("globex")).json()["lookAlikes"] == []
    assert len(desk.pairs()) == 1


def test_an_agent_s_key_sees_and_decides_only_pairs_of_its_own(client: Client, desk: Desk) -> None:
    (pair,) = desk.pairs()
    mine: dict[str, Any] = {"role": "operator", "agents": ["private.acme.other"]}
    assert client.get(URL, **building.headers(**mine)).json()["total"] == 0
    body = {"decision": "keep", "pairs": [{"id": pair.id, "sha256": pair.sha256}]}
    assert decide(client, body, **mine).status_code == 409
